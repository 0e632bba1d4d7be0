/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Orders by attained service: least attained service (las) and the Gittins index (gittins).
 *
 * The attained service of a job is the time for which it has run, multiplied by its number of GPUs, including
 * fractions. Thresholds of service divide jobs into service queues (Gu et al., "Tiresias: A GPU Cluster Manager for
 * Distributed Deep Learning", NSDI'19). A running job enters the next service queue in the microsecond in which its
 * service reaches the threshold. This event is called a crossing.
 */

#include "base/containers.h"
#include "headroom/policy_kit.h"
#include "policies/queue/dispatch.h"
#include "policies/queue/preemption/preemption.h"

/* The service of one job. */
struct hr__standing {
  int64_t entered_us;  /* time at which the job entered its service queue */
  int64_t held_us;     /* time for which the job ran in completed attempts since its service was last reset to 0 */
  int64_t crossing_us; /* of a running job: time at which it enters the next service queue; HR_NEVER_US: never */
  uint32_t queue;
  uint32_t place; /* index in the heap of its service queue, if it has a crossing */
};

/* A crossing of a running job. */
struct hr__crossing {
  int64_t at_us;
  uint32_t job;
};

/* The jobs of one service queue. */
struct hr__service_queue {
  struct hr__crossing *crossings; /* heap of the running jobs, by time and job */
  uint32_t n_crossings, capacity, n_waiting;
  int64_t max_milli; /* upper bound for the GPUs of the jobs in `crossings`, in thousandths of a GPU */
};

enum { MAX_SERVICE_QUEUES = 14 };

/* The service of all jobs: the state of the order las, and the beginning of the state of gittins. */
struct hr__service {
  /* [n_thresholds]: GPU-microseconds, in non-decreasing order, at most INT64_MAX / 1000 */
  int64_t threshold_us[MAX_SERVICE_QUEUES - 1];
  uint32_t n_thresholds;
  uint32_t rank[MAX_SERVICE_QUEUES]; /* by service queue: its place in the order */
  struct hr__standing *jobs;
  struct hr_arena *arena;
  struct hr__service_queue queues[MAX_SERVICE_QUEUES]; /* [n_thresholds + 1]; jobs of the last one do not cross */
  double promote;                                      /* only for las */
  int64_t *promotion_us;         /* by job: time at which it is promoted if it still waits; NULL without promotion */
  struct hr_job_tree promotions; /* waiting jobs, sorted by promotion_us */
};

/*
 * The next crossing of a job is computed when the job starts, and after each crossing. A crossing is applied in the
 * first pass after it, but with the time at which it occurred. A wake-up at that time is therefore only needed if a
 * waiting job depends on the crossing. A waiting job may preempt running jobs in service queues that are later in order
 * than its own queue. It therefore depends on a crossing if the running job enters such a queue from a queue that is
 * not later than that of the waiting job.
 */

static inline bool crosses_before(const void *self, struct hr__crossing a, struct hr__crossing b) {
  (void)self;
  return a.at_us != b.at_us ? a.at_us < b.at_us : a.job < b.job;
}

static inline void put_crossing(const void *self, struct hr__crossing *heap, uint32_t at,
                                struct hr__crossing crossing) {
  const struct hr__service *service = self;
  heap[at] = crossing;
  service->jobs[crossing.job].place = at;
}

HR__HEAP_PLACED(crossing_heap, struct hr__crossing, crosses_before, put_crossing)

enum { MOMENT_BITS = 58 };
#define LAST_MOMENT ((INT64_C(1) << MOMENT_BITS) - 1)

/* service_key returns the key of a job that entered a service queue at `entered_us`; `rank` (0 to 15) is the position
   of that queue in the order. service_end_of returns the largest key with the same rank as `key`. */
static int64_t service_key(uint32_t rank, int64_t entered_us) {
  return (int64_t)rank << MOMENT_BITS | (entered_us < LAST_MOMENT ? entered_us : LAST_MOMENT);
}

static int64_t service_end_of(int64_t key) {
  return key | LAST_MOMENT;
}

/* Creates the state of the order, which begins with the service of all jobs and has `bytes` bytes. The caller sets the
   thresholds. NULL: out of memory. */
static void *create_state(struct hr__queue *queue, size_t bytes, uint32_t n_thresholds) {
  struct hr__service *service = queue->order_state = hr_arena_alloc(queue->arena, bytes);
  if (!service) return NULL;
  service->n_thresholds = n_thresholds;
  service->arena = queue->arena;
  for (uint32_t i = 0; i < MAX_SERVICE_QUEUES; i++) service->rank[i] = i;
  return HR__ARENA_ARRAY_BY_JOB(queue->arena, service->jobs, queue->trace->n_jobs) ? service : NULL;
}

/* Sets the service of a job to 0, and puts the job into the first service queue. */
static void service_begin(struct hr__service *service, hr_job job, int64_t now_us) {
  service->jobs[job.id] = (struct hr__standing){.entered_us = now_us, .crossing_us = HR_NEVER_US};
}

/* Returns the time at which a job that has been running since `from_us` enters the next service queue; HR_NEVER_US:
   never. `milli`: GPUs of the job, in thousandths of a GPU. */
static int64_t crossing_us(const struct hr__service *service, const struct hr__standing *standing, int64_t milli,
                           int64_t from_us) {
  if (standing->queue == service->n_thresholds || milli == 0) return HR_NEVER_US;
  int64_t threshold =
      service->threshold_us[standing->queue] * HR_WHOLE_GPU_MILLI; /* in thousandths of a GPU x microseconds */
  int64_t whole_us = threshold / milli + (threshold % milli != 0);
  return from_us + (whole_us > standing->held_us ? whole_us - standing->held_us : 0);
}

/* Computes the next crossing of a running job, and adds it to the crossings of its service queue. `now_us`: start of
   the attempt. False: out of memory. */
static bool service_start(struct hr__service *service, const struct hr__queue *queue, hr_job job, int64_t now_us) {
  struct hr__standing *standing = &service->jobs[job.id];
  int64_t milli = (int64_t)hr__counted_milli(queue, job);
  standing->crossing_us = crossing_us(service, standing, milli, now_us);
  if (standing->crossing_us == HR_NEVER_US) return true;
  struct hr__service_queue *in = &service->queues[standing->queue];
  if (in->n_crossings == 0 || milli > in->max_milli) in->max_milli = milli;
  if (!HR__ARENA_HAS_ROOM(service->arena, in->crossings, in->n_crossings, in->capacity)) return false;
  crossing_heap_rise(in->crossings, in->n_crossings++, (struct hr__crossing){standing->crossing_us, job.id}, service);
  return true;
}

/* Removes the crossing of a job. */
static void remove_crossing(struct hr__service *service, const struct hr__standing *standing) {
  struct hr__service_queue *in = &service->queues[standing->queue];
  uint32_t at = standing->place;
  in->n_crossings--;
  if (at < in->n_crossings)
    crossing_heap_refill(in->crossings, in->n_crossings, at, in->crossings[in->n_crossings], service);
}

/* Moves a running job into the next service queue. If two thresholds are equal, the next crossing of the job is at the
   same time. */
static bool cross(struct hr__service *service, const struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct hr__standing *standing = &service->jobs[job.id];
  remove_crossing(service, standing);
  standing->entered_us = standing->crossing_us;
  standing->queue++;
  return service_start(service, queue, job, view->attempt_us[job.id]);
}

/* Moves one running job with a due crossing into the next service queue. `*job`: that job; HR_NONE: no crossing is due.
   False: out of memory. */
static bool service_cross(struct hr__service *service, const struct hr__queue *queue, const struct hr_view *view,
                          hr_job *job) {
  struct hr__crossing due = {view->now_us, HR_NONE};
  for (uint32_t i = 0; i < service->n_thresholds; i++) {
    const struct hr__service_queue *from = &service->queues[i];
    if (from->n_crossings && crosses_before(NULL, from->crossings[0], due)) due = from->crossings[0];
  }
  *job = (hr_job){due.job};
  return due.job == HR_NONE || cross(service, queue, view, *job);
}

/* Updates the service of a job that stops: applies its crossings until now. False: out of memory. */
static bool service_stop(struct hr__service *service, const struct hr__queue *queue, const struct hr_view *view,
                         hr_job job) {
  struct hr__standing *standing = &service->jobs[job.id];
  while (standing->crossing_us <= view->now_us)
    if (!cross(service, queue, view, job)) return false;
  if (standing->crossing_us != HR_NEVER_US) remove_crossing(service, standing);
  standing->held_us += view->now_us - view->attempt_us[job.id];
  standing->crossing_us = HR_NEVER_US;
  return true;
}

/* A job begins to wait, or no longer waits, in its service queue. */
static void service_wait(struct hr__service *service, hr_job job) {
  service->queues[service->jobs[job.id].queue].n_waiting++;
}

static void service_leave(struct hr__service *service, hr_job job) {
  service->queues[service->jobs[job.id].queue].n_waiting--;
}

/* Returns whether each crossing needs a pass. There are three possible reasons: plans are made again in each pass, lost
   work changes with time, or other parts of the policy may decide something in any pass. */
static bool all_need_passes(const struct hr__queue *queue) {
  bool has_other_parts = queue->quota || queue->market || queue->carbon || queue->elastic || queue->locality;
  bool by_lost_work = queue->preemptor && queue->preemptor->terms.victims == HR__VICTIMS_LEAST_LOST;
  return queue->backfill == &hr__backfill_conservative || by_lost_work || has_other_parts;
}

/* Returns a time before which no crossing needs a pass; HR_NEVER_US: none does. All due crossings must have been
   applied. `rank`: position of each service queue in the order.

   If all_need_passes returns true, each crossing needs a pass; otherwise only the crossings on which a waiting job
   depends. For the jobs in service queue i, let `needed` be the first queue from i on with crossings that need a pass.
   No job of queue i leaves queue `needed` before the first crossing of queue i, plus the time that the job with the
   most GPUs takes for the service between the upper thresholds of the two queues. */
static int64_t service_next_us(const struct hr__service *service, const struct hr__queue *queue) {
  const uint32_t *rank = service->rank;
  bool all = all_need_passes(queue);
  int64_t next_us = HR_NEVER_US;
  uint32_t waiting = 0; /* bit mask of the ranks with waiting jobs */
  for (uint32_t i = 0; i <= service->n_thresholds; i++)
    if (service->queues[i].n_waiting) waiting |= UINT32_C(1) << rank[i];
  uint32_t needed = service->n_thresholds; /* the first queue from i on with crossings that need a pass */
  for (uint32_t i = service->n_thresholds; i-- > 0;) {
    uint32_t ranks = rank[i] < rank[i + 1] ? (UINT32_C(1) << rank[i + 1]) - (UINT32_C(1) << rank[i]) : 0;
    if (all || waiting & ranks) needed = i;
    const struct hr__service_queue *from = &service->queues[i];
    if (needed == service->n_thresholds || !from->n_crossings || from->crossings[0].at_us >= next_us) continue;
    int64_t service_us = service->threshold_us[needed] - service->threshold_us[i];
    int64_t first_us = from->crossings[0].at_us, more_us = service_us * HR_WHOLE_GPU_MILLI / from->max_milli;
    if (more_us < next_us - first_us) next_us = first_us + more_us;
  }
  return next_us;
}

/*
 * Least attained service, discretized (Tiresias, NSDI'19). Jobs are in three service queues. The queue with less
 * service is first. Within a queue, running jobs precede waiting jobs. Of two running or two waiting jobs, the one that
 * entered the queue earlier is first.
 *
 * If `las_promote` is positive, a job is promoted after it has waited for `las_promote` times its run time since its
 * last promotion, if any: its service is reset to 0, and it returns to the first queue.
 */

enum { N_THRESHOLDS = 2 };

/* longer than any wait, in microseconds */
#define NEVER_WAITED 4e18

static enum hr_status create(struct hr__queue *queue, const struct hr_policy_env *env, struct hr_error *error) {
  struct hr__service *las = create_state(queue, sizeof *las, N_THRESHOLDS);
  if (!las) return HR_NO_MEMORY;
  las->threshold_us[0] = hr__queue_param_us(env, "las_threshold_1_s");
  las->threshold_us[1] = hr__queue_param_us(env, "las_threshold_2_s");
  if (las->threshold_us[1] < las->threshold_us[0])
    return hr_fail(error, HR_BAD_INPUT, "parameter 'las_threshold_2_s': must be at least 'las_threshold_1_s'");
  las->promote = hr__queue_param(env, "las_promote")->real;
  las->promotions.store = queue->waiting.store;
  if (las->promote <= 0) return HR_OK;
  return HR__ARENA_ARRAY_BY_JOB(env->arena, las->promotion_us, env->jobs->n_jobs) ? HR_OK : HR_NO_MEMORY;
}

static int64_t running_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  const struct hr__service *service = queue->order_state;
  const struct hr__standing *standing = &service->jobs[job.id];
  return service_key(service->rank[standing->queue], standing->entered_us);
}

/* ---- Promotion ------------------------------------------------------------------------------------ */

/* Computes when the waiting job will be promoted, and adds it to las->promotions. A job that has never run is not
   promoted, and a job that has not run since its last promotion is not promoted again. False: out of memory. */
static bool plan_promotion(struct hr__service *las, const struct hr_view *view, hr_job job) {
  double patience_us = las->promote * (double)las->jobs[job.id].held_us;
  las->promotion_us[job.id] = HR_NEVER_US;
  if (patience_us <= 0 || patience_us + (double)view->now_us > NEVER_WAITED) return true;
  las->promotion_us[job.id] = view->now_us + (int64_t)patience_us + 1;
  return hr_job_tree_insert(&las->promotions, (struct hr_job_entry){las->promotion_us[job.id], job, 0});
}

static void cancel_promotion(struct hr__service *las, hr_job job) {
  if (las->promotion_us && las->promotion_us[job.id] != HR_NEVER_US)
    hr_job_tree_remove(&las->promotions, las->promotion_us[job.id], job);
}

/* Called when a waiting job starts, is promoted or is rejected. */
static void stop_waiting(struct hr__service *service, hr_job job) {
  cancel_promotion(service, job);
  service_leave(service, job);
}

static enum hr_status promote(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct hr__service *las = queue->order_state;
  int64_t old_key = running_key(queue, view, job);
  stop_waiting(las, job);
  las->promotion_us[job.id] = HR_NEVER_US;
  service_begin(las, job, view->now_us);
  service_wait(las, job);
  return hr__queue_rekey(queue, view, job, old_key);
}

/* ---- Events of both orders ------------------------------------------------------------------------- */

static enum hr_status job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct hr__service *service = queue->order_state;
  bool is_new = view->attempt_us[job.id] == HR_NEVER_US;
  if (is_new) service_begin(service, job, view->now_us);
  service_wait(service, job);
  return !service->promotion_us || plan_promotion(service, view, job) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status job_rejected(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  stop_waiting(queue->order_state, job);
  return HR_OK;
}

static enum hr_status job_starts(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                 const struct hr_placement *placement) {
  (void)placement;
  stop_waiting(queue->order_state, job);
  return service_start(queue->order_state, queue, job, view->now_us) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  return service_stop(queue->order_state, queue, view, event->job) ? HR_OK : HR_NO_MEMORY;
}

/* ---- Passes of both orders ------------------------------------------------------------------------- */

static enum hr_status begin_pass(struct hr__queue *queue, const struct hr_view *view) {
  struct hr__service *service = queue->order_state;
  struct hr_job_entry due;
  enum hr_status status = HR_OK;
  hr_job job;
  for (;;) {
    if (!service_cross(service, queue, view, &job)) return HR_NO_MEMORY;
    if (job.id == HR_NONE) break;
    status = hr__preemption_rekey(queue, view, job, running_key(queue, view, job));
    if (status != HR_OK) return status;
  }
  while (status == HR_OK && hr_job_tree_first(&service->promotions, &due) && due.key <= view->now_us)
    status = promote(queue, view, due.job);
  return status;
}

static enum hr_status end_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  const struct hr__service *service = queue->order_state;
  struct hr_job_entry due;
  if (!hr__waiting_any(&queue->waiting)) return HR_OK;
  int64_t next_us = queue->preemptor ? service_next_us(service, queue) : HR_NEVER_US;
  if (hr_job_tree_first(&service->promotions, &due) && due.key < next_us) next_us = due.key;
  return hr__queue_wake(queue, view, moves, next_us);
}

static int64_t running_bound(struct hr__queue *queue, const struct hr_view *view, struct hr_job_entry waiting) {
  (void)queue;
  (void)view;
  return service_end_of(waiting.key);
}

static const struct hr__listener listener = {
    .job_waits = job_waits, .job_starts = job_starts, .job_rejected = job_rejected, .job_stops = job_stops};

const struct hr__order hr__order_las = {.key = running_key,
                                        .running_key = running_key,
                                        .running_bound = running_bound,
                                        .create = create,
                                        .listener = &listener,
                                        .begin_pass = begin_pass,
                                        .end_pass = end_pass};

/*
 * The two-dimensional Gittins index (Tiresias, NSDI'19; Gittins, "Bandit processes and dynamic allocation indices",
 * 1979). Let a be the attained service of a job, and S the service of a random job among the finished ones. The index
 * is
 *
 *   G(a) = sup over d of P(S - a <= d | S > a) / E[min(S - a, d) | S > a],
 *
 * the probability that the job ends within d, relative to the expected service until then. The job with the largest
 * index is first.
 *
 * Service is divided into levels. Each level except the first and the last ends at four times the service at which it
 * begins. Only boundaries of levels are considered as values of a and a + d, so per level only the number and the total
 * service of finished jobs are stored. Levels that no finished job has reached are last in order. Until FIRST_FINISHED
 * jobs have finished, the order is by level. Indices are computed again when the number of finished jobs has grown by
 * more than an eighth.
 *
 * Within a level, running jobs precede waiting jobs. Of two running or two waiting jobs, the one that entered the level
 * earlier is first.
 */

/* Levels begin at 0, 64, 256, ... GPU-seconds. */
enum { N_LEVELS = MAX_SERVICE_QUEUES, FIRST_BITS = 6, BITS_PER_LEVEL = 2, FIRST_FINISHED = 8 };

struct gittins {
  struct hr__service service;
  double count[N_LEVELS], sum_s[N_LEVELS]; /* finished jobs by level: number, and sum of service in GPU-seconds */
  uint64_t n_finished, next_update;
};

static double begin_s(uint32_t level) {
  return level ? (double)(INT64_C(1) << (FIRST_BITS + BITS_PER_LEVEL * (level - 1))) : 0;
}

static enum hr_status gittins_create(struct hr__queue *queue, const struct hr_policy_env *env, struct hr_error *error) {
  (void)error;
  (void)env;
  struct gittins *gittins = create_state(queue, sizeof *gittins, N_LEVELS - 1);
  if (!gittins) return HR_NO_MEMORY;
  gittins->next_update = FIRST_FINISHED;
  for (uint32_t i = 1; i < N_LEVELS; i++) gittins->service.threshold_us[i - 1] = (int64_t)begin_s(i) * HR_SECOND_US;
  return HR_OK;
}

/* ---- The index ------------------------------------------------------------------------------------ */

/* Returns the index of a job with a service equal to the lower boundary of the level; negative if no finished job has
   reached the level. */
static double index_of(const struct gittins *gittins, uint32_t level) {
  double beyond = 0, done = 0, spent_s = 0, best = -1, from_s = begin_s(level);
  for (uint32_t i = level; i < N_LEVELS; i++) beyond += gittins->count[i];
  for (uint32_t i = level; i < N_LEVELS && beyond > 0; i++) {
    done += gittins->count[i];
    spent_s += gittins->sum_s[i] - gittins->count[i] * from_s;
    double rest_s = i + 1 < N_LEVELS ? (beyond - done) * (begin_s(i + 1) - from_s) : 0;
    double value = done / (spent_s + rest_s + 1e-9);
    if (value > best) best = value;
  }
  return best;
}

/* Ranks the levels by decreasing Gittins index; of levels with equal indices, the lower one is first. Returns whether
   the rank of some level has changed. */
static bool compute_ranks(struct gittins *gittins) {
  double index[N_LEVELS];
  bool changed = false;
  for (uint32_t i = 0; i < N_LEVELS; i++) index[i] = index_of(gittins, i);
  for (uint32_t i = 0; i < N_LEVELS; i++) {
    uint32_t rank = 0;
    for (uint32_t k = 0; k < N_LEVELS; k++) rank += index[k] > index[i] || (index[k] == index[i] && k < i);
    changed = changed || gittins->service.rank[i] != rank;
    gittins->service.rank[i] = rank;
  }
  return changed;
}

/* Adds a finished job to the history. */
static void learn(struct gittins *gittins, const struct hr__queue *queue, hr_job job) {
  const struct hr__standing *standing = &gittins->service.jobs[job.id];
  gittins->count[standing->queue]++;
  gittins->sum_s[standing->queue] += (double)standing->held_us / (double)HR_SECOND_US * hr__counted_gpus(queue, job);
  gittins->n_finished++;
}

/* ---- Events and passes ------------------------------------------------------------------------------- */

static enum hr_status gittins_job_stops(struct hr__queue *queue, const struct hr_view *view,
                                        const struct hr_event *event) {
  enum hr_status status = job_stops(queue, view, event);
  if (status == HR_OK && event->kind == HR_EVENT_END) learn(queue->order_state, queue, event->job);
  return status;
}

static enum hr_status update_ranks(struct hr__queue *queue, const struct hr_view *view) {
  struct gittins *gittins = queue->order_state;
  gittins->next_update = gittins->n_finished + gittins->n_finished / 8 + 1;
  if (!compute_ranks(gittins)) return HR_OK;
  enum hr_status status = hr__waiting_rerank_all(&queue->waiting);
  return status == HR_OK && queue->preemptor ? hr__preemption_rekey_all(queue, view) : status;
}

static enum hr_status gittins_begin_pass(struct hr__queue *queue, const struct hr_view *view) {
  const struct gittins *gittins = queue->order_state;
  enum hr_status status = begin_pass(queue, view);
  return status == HR_OK && gittins->n_finished >= gittins->next_update ? update_ranks(queue, view) : status;
}

/* The jobs of one level form a subqueue. */
static uint64_t subqueue(const struct hr__queue *queue, hr_job job) {
  const struct hr__service *service = queue->order_state;
  return service->jobs[job.id].queue;
}

static int64_t full_key(void *self, const struct hr__subqueue *subqueue, struct hr_job_entry entry) {
  const struct hr__queue *queue = self;
  const struct hr__service *service = queue->order_state;
  return service_key(service->rank[subqueue->name], entry.key);
}

static int64_t gittins_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  const struct hr__service *service = queue->order_state;
  return service->jobs[job.id].entered_us;
}

static const struct hr__listener gittins_listener = {
    .job_waits = job_waits, .job_starts = job_starts, .job_rejected = job_rejected, .job_stops = gittins_job_stops};

const struct hr__order hr__order_gittins = {.key = gittins_key,
                                            .subqueue = subqueue,
                                            .full_key = full_key,
                                            .running_key = running_key,
                                            .running_bound = running_bound,
                                            .create = gittins_create,
                                            .listener = &gittins_listener,
                                            .begin_pass = gittins_begin_pass,
                                            .end_pass = end_pass};
