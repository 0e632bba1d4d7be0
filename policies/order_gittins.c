/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The two-dimensional Gittins index (Tiresias, NSDI'19; Gittins, "Bandit processes and dynamic allocation indices",
 * 1979). For a job with attained service a, and S the service of a job like those that have finished,
 *
 *   G(a) = sup over d of P(S - a <= d | S > a) / E[min(S - a, d) | S > a]:
 *
 * how likely it is to be done for the service that it takes to find out. The greatest index comes first. Service is
 * counted in levels, each four times as long as all before it; a and a + d are where levels begin, and of the finished
 * jobs only number and sum per level are kept. What has outlived all history comes last; while there is none, less
 * service comes first. The indices are worked out anew whenever the history has grown by an eighth.
 *
 * Among jobs of one level what runs comes before what waits, then who came into the level first.
 */

#include "policies/preemption.h"
#include "policies/service.h"

/* The levels begin at 0, 64, 256, ... GPU-seconds. */
enum { N_LEVELS = 14, FIRST_BITS = 6, BITS_PER_LEVEL = 2, FIRST_FINISHED = 8 };

struct gittins {
  struct hr__service service;
  int64_t threshold_us[N_LEVELS - 1];
  double count[N_LEVELS], sum_s[N_LEVELS]; /* of finished jobs: number, service in GPU-seconds */
  uint64_t n_finished, next_update;
  uint32_t rank[N_LEVELS];
};

static double begin_s(uint32_t level) {
  return level ? (double)(INT64_C(1) << (FIRST_BITS + BITS_PER_LEVEL * (level - 1))) : 0;
}

static enum hr_status create(struct hr__queue *queue, const struct hr_policy_env *env, struct hr_error *error) {
  (void)error;
  struct gittins *gittins = hr_arena_alloc(env->arena, sizeof *gittins);
  if (!gittins) return HR_NO_MEMORY;
  queue->order_state = gittins;
  gittins->next_update = FIRST_FINISHED;
  for (uint32_t i = 0; i < N_LEVELS; i++) gittins->rank[i] = i;
  for (uint32_t i = 1; i < N_LEVELS; i++) gittins->threshold_us[i - 1] = (int64_t)begin_s(i) * HR_SECOND_US;
  return hr__service_init(&gittins->service, queue, gittins->threshold_us, N_LEVELS - 1) ? HR_OK : HR_NO_MEMORY;
}

/* ---- The index -------------------------------------------------------------------------------------- */

/* Of a job whose service is where the level begins; negative: none has finished beyond that. */
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

/* Whether any rank has changed. Equal indices: the lower level first. */
static bool work_out_ranks(struct gittins *gittins) {
  double index[N_LEVELS];
  bool changed = false;
  for (uint32_t i = 0; i < N_LEVELS; i++) index[i] = index_of(gittins, i);
  for (uint32_t i = 0; i < N_LEVELS; i++) {
    uint32_t rank = 0;
    for (uint32_t k = 0; k < N_LEVELS; k++) rank += index[k] > index[i] || (index[k] == index[i] && k < i);
    changed = changed || gittins->rank[i] != rank;
    gittins->rank[i] = rank;
  }
  return changed;
}

static void learn(struct gittins *gittins, const struct hr__queue *queue, hr_job job) {
  const struct hr__standing *standing = &gittins->service.jobs[job.id];
  gittins->count[standing->queue]++;
  gittins->sum_s[standing->queue] += (double)standing->held_us / (double)HR_SECOND_US * hr__counted_gpus(queue, job);
  gittins->n_finished++;
}

/* ---- What happens ----------------------------------------------------------------------------------- */

static enum hr_status job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct gittins *gittins = queue->order_state;
  if (view->attempt_us[job.id] == HR_NEVER_US) hr__service_begin(&gittins->service, job, view->now_us);
  return HR_OK;
}

static enum hr_status job_starts(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                 const struct hr_placement *placement) {
  (void)placement;
  struct gittins *gittins = queue->order_state;
  return hr__service_start(&gittins->service, queue, job, view->now_us) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  struct gittins *gittins = queue->order_state;
  if (!hr__service_stop(&gittins->service, queue, view, event->job)) return HR_NO_MEMORY;
  if (event->kind == HR_EVENT_END) learn(gittins, queue, event->job);
  return HR_OK;
}

/* ---- The pass --------------------------------------------------------------------------------------- */

static int64_t running_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  const struct gittins *gittins = queue->order_state;
  const struct hr__standing *standing = &gittins->service.jobs[job.id];
  return hr__service_key(gittins->rank[standing->queue], standing->entered_us);
}

static enum hr_status rank_anew(struct hr__queue *queue, const struct hr_view *view) {
  struct gittins *gittins = queue->order_state;
  gittins->next_update = gittins->n_finished + gittins->n_finished / 8 + 1;
  if (!work_out_ranks(gittins)) return HR_OK;
  enum hr_status status = hr__waiting_rerank_all(&queue->waiting);
  return status == HR_OK && queue->preemptor ? hr__preemption_rekey_all(queue, view) : status;
}

static enum hr_status begin_pass(struct hr__queue *queue, const struct hr_view *view) {
  struct gittins *gittins = queue->order_state;
  enum hr_status status = HR_OK;
  hr_job job;
  for (;;) {
    if (!hr__service_cross(&gittins->service, queue, view, &job)) return HR_NO_MEMORY;
    if (job.id == HR_NONE) break;
    status = hr__preemption_rekey(queue, view, job, running_key(queue, view, job));
    if (status != HR_OK) return status;
  }
  return gittins->n_finished >= gittins->next_update ? rank_anew(queue, view) : HR_OK;
}

static enum hr_status end_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  const struct gittins *gittins = queue->order_state;
  if (!hr__waiting_any(&queue->waiting) || !queue->preemptor) return HR_OK;
  return hr__queue_wake(queue, view, plan, hr__service_next_us(&gittins->service));
}

/* A lane is a level. */
static uint64_t lane(const struct hr__queue *queue, hr_job job) {
  const struct gittins *gittins = queue->order_state;
  return gittins->service.jobs[job.id].queue;
}

static int64_t full_key(void *self, const struct hr__lane *lane, struct hr_job_entry entry) {
  const struct hr__queue *queue = self;
  const struct gittins *gittins = queue->order_state;
  return hr__service_key(gittins->rank[lane->name], entry.key);
}

static int64_t key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  const struct gittins *gittins = queue->order_state;
  return gittins->service.jobs[job.id].entered_us;
}

static int64_t running_bound(struct hr__queue *queue, const struct hr_view *view, struct hr_job_entry waiting) {
  (void)view;
  const struct gittins *gittins = queue->order_state;
  return hr__service_end_of(gittins->rank[gittins->service.jobs[waiting.job.id].queue]);
}

static const struct hr__listener listener = {.job_waits = job_waits, .job_starts = job_starts, .job_stops = job_stops};

const struct hr__order hr__order_gittins = {.key = key,
                                            .lane = lane,
                                            .full_key = full_key,
                                            .running_key = running_key,
                                            .running_bound = running_bound,
                                            .create = create,
                                            .listener = &listener,
                                            .begin_pass = begin_pass,
                                            .end_pass = end_pass};
