/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The orders with keys that do not change while a job waits: fifo, sjf, smallest, largest, priority, edf, f1, srtf
   (remaining run time) and qssf (predicted GPU time). Also wfp3, an order with keys that change with time. */

#include "policies/queue/dispatch.h"

#include "headroom/policy_kit.h"

#include <math.h>
#include <string.h>

static int64_t fifo_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  /* equal keys are ordered by id; ids increase with the submit time, except those of replicas, which the run adds */
  return queue->trace->n_added ? queue->trace->submit_us[job.id] : 0;
}

#define KEY_ORDER(text, name, help, expression)                                                                        \
  static int64_t name##_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {                         \
    (void)view;                                                                                                        \
    return expression;                                                                                                 \
  }                                                                                                                    \
  const struct hr__order hr__order_##name = {.key = name##_key};
HR__KEY_ORDERS(KEY_ORDER)

/* Without aging, returns the negated priority. With aging, the priorities of all waiting jobs increase at the same
   rate. The key is then the time at which the aged priority of the job is, or would have been, 0; this time does not
   change while the job waits. */
static int64_t priority_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  const int64_t *aging_us = queue->order_state;
  const int32_t *priority = queue->trace->priority;
  if (!priority) return 0;
  if (*aging_us == 0) return -(int64_t)priority[job.id];
  const int64_t maximum = INT64_MAX / 4 / *aging_us;
  int64_t bounded = priority[job.id] > maximum ? maximum : priority[job.id] < -maximum ? -maximum : priority[job.id];
  return queue->trace->submit_us[job.id] - bounded * *aging_us;
}

static enum hr_status create_priority(struct hr__queue *queue, const struct hr_policy_env *env,
                                      struct hr_error *error) {
  (void)error;
  int64_t *aging_us = hr_arena_alloc(env->arena, sizeof *aging_us);
  if (!aging_us) return HR_NO_MEMORY;
  *aging_us = hr__queue_param_us(env, "aging_s");
  queue->order_state = aging_us;
  return HR_OK;
}

/* Returns the deadline. Jobs without a deadline are last. */
static int64_t edf_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  int64_t deadline_us = queue->trace->deadline_us ? queue->trace->deadline_us[job.id] : HR_UNKNOWN_US;
  return deadline_us == HR_UNKNOWN_US ? INT64_MAX : deadline_us;
}

/* F1 of Carastan-Santos and de Camargo, "Obtaining Dynamic Scheduling Policies with Simulation and Machine Learning",
   SC'17: log10(r) n + 870 log10(s) with run time r, number of processors n and submit time s, in seconds. The smallest
   value is first. Times below one second count as one second. The key is in millionths. */
static int64_t f1_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  double run_s = (double)hr_trace_estimate_us(queue->trace, job) / (double)HR_SECOND_US;
  double submit_s = (double)queue->trace->submit_us[job.id] / (double)HR_SECOND_US;
  double value = log10(fmax(run_s, 1)) * hr__counted_gpus(queue, job) + 870 * log10(fmax(submit_s, 1));
  return llround(value * 1e6);
}

static bool always(const struct hr__queue *queue) {
  (void)queue;
  return true;
}

static bool when_aging(const struct hr__queue *queue) {
  const int64_t *aging_us = queue->order_state;
  return *aging_us > 0;
}

const struct hr__order hr__order_fifo = {.key = fifo_key, .ages = always};
const struct hr__order hr__order_priority = {.key = priority_key, .create = create_priority, .ages = when_aging};
const struct hr__order hr__order_edf = {.key = edf_key};
const struct hr__order hr__order_f1 = {.key = f1_key};

/* Shortest remaining time first, where remaining time is the true work minus the work done. The remaining time of a
   running job decreases with time, so the key of a running job is its end; overheads and speeds are ignored. A waiting
   job precedes the running jobs that end later than the waiting job would end if it started now. */

static int64_t left_us(const struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  return queue->trace->work_us[job.id] - (view->kept_us ? view->kept_us[job.id] : 0);
}

static int64_t key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  return left_us(queue, view, job);
}

static int64_t running_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  return view->attempt_us[job.id] + left_us(queue, view, job);
}

static int64_t running_bound(struct hr__queue *queue, const struct hr_view *view, struct hr_job_entry waiting) {
  (void)queue;
  return view->now_us + waiting.key;
}

const struct hr__order hr__order_srtf = {.key = key, .running_key = running_key, .running_bound = running_bound};

/* WFP3 (Tang, Lan, Desai and Buettner, "Fault-aware, utility-based job scheduling on Blue Gene/P systems", CLUSTER'09):
   the job with the largest (wait / estimated run time)^3 x GPUs is first. Jobs with equal run times and equal GPUs keep
   their relative order, so they form a subqueue. The cube root of the value, (wait / run time) x GPUs^(1/3), grows
   linearly with time, so subqueues can be compared in a kinetic tournament. */

struct wfp3 {
  struct hr__pair_map kinds; /* index of the kind with a certain (estimated run time, thousandths of a GPU) */
  uint32_t *kind_of;         /* by job: index of its kind */
};

static enum hr_status create(struct hr__queue *queue, const struct hr_policy_env *env, struct hr_error *error) {
  (void)error;
  struct wfp3 *wfp3 = hr_arena_alloc(env->arena, sizeof *wfp3);
  if (!wfp3) return HR_NO_MEMORY;
  queue->order_state = wfp3;
  return HR__ARENA_ARRAY_BY_JOB(env->arena, wfp3->kind_of, env->jobs->n_jobs) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  struct wfp3 *wfp3 = queue->order_state;
  struct hr__pair kind = {(uint64_t)hr_trace_estimate_us(queue->trace, job), hr__counted_milli(queue, job)};
  wfp3->kind_of[job.id] = hr__pair_map_intern(&wfp3->kinds, queue->arena, kind);
  return wfp3->kind_of[job.id] == HR_NONE ? HR_NO_MEMORY : HR_OK;
}

static uint64_t subqueue(const struct hr__queue *queue, hr_job job) {
  const struct wfp3 *wfp3 = queue->order_state;
  return wfp3->kind_of[job.id];
}

static double run_us(const struct hr__queue *queue, hr_job job) {
  return fmax((double)hr_trace_estimate_us(queue->trace, job), 1);
}

/* Returns the line (struct hr__line) of the cube root of a job's value. The value of a job without GPUs is always 0; it
   is approximated by a line with a very large slowness. */
static struct hr__line line_of(void *self, const struct hr__subqueue *subqueue, struct hr_job_entry entry) {
  (void)subqueue;
  const struct hr__queue *queue = self;
  double gpus = hr__counted_gpus(queue, entry.job);
  double slowness = gpus > 0 ? run_us(queue, entry.job) / cbrt(gpus) : 0x1p300;
  return (struct hr__line){queue->trace->submit_us[entry.job.id], slowness};
}

/* Returns a key that decreases when the value increases. It is made of the bits of the value: the bits of non-negative
   doubles, read as integers, have the same order as the doubles. */
static int64_t full_key(void *self, const struct hr__subqueue *subqueue, struct hr_job_entry entry) {
  (void)subqueue;
  const struct hr__queue *queue = self;
  double waited = (double)(queue->waiting.now_us - queue->trace->submit_us[entry.job.id]);
  double value = pow(waited / run_us(queue, entry.job), 3) * hr__counted_gpus(queue, entry.job);
  int64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return -bits;
}

static int64_t wfp3_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)job;
  queue->waiting.now_us = view->now_us;
  return 0;
}

static enum hr_status begin_pass(struct hr__queue *queue, const struct hr_view *view) {
  hr__waiting_advance(&queue->waiting, view->now_us);
  return queue->waiting.line_of ? HR_OK : hr__waiting_rerank_all(&queue->waiting);
}

static const struct hr__listener listener = {.job_waits = job_waits};

const struct hr__order hr__order_wfp3 = {.key = wfp3_key,
                                         .subqueue = subqueue,
                                         .full_key = full_key,
                                         .create = create,
                                         .listener = &listener,
                                         .begin_pass = begin_pass,
                                         .line_of = line_of};

/* ---- Quasi-shortest service first ------------------------------------------------------------------- */

/*
 * Quasi-shortest-service-first (Hu et al., "Characterization and Prediction of Deep Learning Workloads in Large-Scale
 * GPU Datacenters", SC'21): the job with the smallest predicted GPU time is first.
 *
 * If the job has an estimate of its run time, the estimate is used. Otherwise the run time is predicted from finished
 * jobs, with more weight on those that finished later. The prediction uses the first of these sets that is not empty:
 * the user's jobs with the same name (the trace's `model`); the user's jobs with the most similar name, if it is
 * similar enough; all jobs of the user; all jobs. If no job has finished yet, the limit of the job is used; without a
 * limit, the prediction is 0.
 */

/* A weighted mean of run times, sum_us / weight. The weight of each value is `decay` times the weight of the value that
   was added after it. */
struct mean {
  double sum_us, weight;
};

/* A habit: the finished jobs of one user that have the same name. */
struct habit {
  struct mean mean;
  uint32_t name;
  uint32_t next; /* next habit in the user's list: index + 1; 0: none. The habit that was added last is first. */
};

struct user {
  struct mean mean;
  uint32_t first; /* first habit in the user's list: index + 1; 0: none */
};

struct qssf {
  double decay, similarity;
  struct mean all;
  int64_t *key;       /* by job: its key while it waits */
  struct user *users; /* by user; the last element is for jobs without a user */
  struct habit *habits;
  uint32_t n_habits, habits_capacity;
  struct hr__pair_map numbers; /* index of the habit of (user, name) */
};

/* MAX_COMPARED: maximum number of habits with which a new name is compared. NAME_LENGTH: number of characters that are
   compared. */
enum { MAX_COMPARED = 32, NAME_LENGTH = 64 };

static enum hr_status qssf_create(struct hr__queue *queue, const struct hr_policy_env *env, struct hr_error *error) {
  (void)error;
  struct qssf *qssf = hr_arena_alloc(env->arena, sizeof *qssf);
  if (!qssf) return HR_NO_MEMORY;
  queue->order_state = qssf;
  qssf->decay = hr__queue_param(env, "qssf_decay")->real;
  qssf->similarity = hr__queue_param(env, "qssf_similarity")->real;
  return HR__ARENA_ARRAY(env->arena, qssf->users, (size_t)env->jobs->users.count + 1) &&
                 HR__ARENA_ARRAY_BY_JOB(env->arena, qssf->key, env->jobs->n_jobs)
             ? HR_OK
             : HR_NO_MEMORY;
}

static uint32_t user_of(const struct hr__queue *queue, hr_job job) {
  uint32_t user = queue->trace->user ? queue->trace->user[job.id] : HR_NONE;
  return user == HR_NONE ? queue->trace->users.count : user;
}

static uint32_t name_of(const struct hr__queue *queue, hr_job job) {
  return queue->trace->model ? queue->trace->model[job.id] : HR_NONE;
}

/* ---- Quasi-shortest service first: similarity ------------------------------------------------------- */

static uint32_t min_u32(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

/* Returns the similarity of two names, 0 to 1: 1 minus the edit distance (Levenshtein) divided by the length of the
   longer name. */
static double similarity(const char *a, const char *b) {
  uint32_t row[NAME_LENGTH + 1];
  uint32_t length_a = (uint32_t)strnlen(a, NAME_LENGTH), length_b = (uint32_t)strnlen(b, NAME_LENGTH);
  uint32_t longer = length_a > length_b ? length_a : length_b;
  if (longer == 0) return 1;
  for (uint32_t k = 0; k <= length_b; k++) row[k] = k;
  for (uint32_t i = 1; i <= length_a; i++) {
    uint32_t diagonal = row[0];
    row[0] = i;
    for (uint32_t k = 1; k <= length_b; k++) {
      uint32_t above = row[k], changed = diagonal + (a[i - 1] != b[k - 1]);
      row[k] = min_u32(changed, min_u32(above, row[k - 1]) + 1);
      diagonal = above;
    }
  }
  return 1 - (double)row[length_b] / longer;
}

/* Returns the user's habit with the most similar name, among the MAX_COMPARED habits that were added last; NULL if no
   name is similar enough. */
static const struct habit *most_similar(const struct hr__queue *queue, const struct user *user, uint32_t name) {
  const struct qssf *qssf = queue->order_state;
  const struct habit *best = NULL;
  double best_likeness = 0;
  uint32_t at = user->first;
  for (uint32_t i = 0; qssf->habits && at && i < MAX_COMPARED; i++, at = qssf->habits[at - 1].next) {
    const struct habit *habit = &qssf->habits[at - 1];
    if (habit->name == HR_NONE) continue;
    double likeness = similarity(queue->trace->models.text[name], queue->trace->models.text[habit->name]);
    if (likeness < qssf->similarity || likeness <= best_likeness) continue;
    best = habit;
    best_likeness = likeness;
  }
  return best;
}

/* ---- Quasi-shortest service first: prediction ------------------------------------------------------- */

/* Returns the predicted run time of a job without an estimate. */
static double predicted_us(const struct hr__queue *queue, hr_job job) {
  const struct qssf *qssf = queue->order_state;
  const struct user *user = &qssf->users[user_of(queue, job)];
  uint32_t name = name_of(queue, job);
  uint32_t number = hr__pair_map_find(&qssf->numbers, (struct hr__pair){user_of(queue, job), name});
  const struct habit *habit = number == HR_NONE ? NULL : &qssf->habits[number];
  if (!habit && name != HR_NONE) habit = most_similar(queue, user, name);
  const struct mean *mean = habit ? &habit->mean : user->mean.weight > 0 ? &user->mean : &qssf->all;
  if (mean->weight > 0) return mean->sum_us / mean->weight;
  int64_t limit_us = queue->trace->limit_us ? queue->trace->limit_us[job.id] : HR_UNKNOWN_US;
  return limit_us >= 0 ? (double)limit_us : 0;
}

static enum hr_status qssf_job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  struct qssf *qssf = queue->order_state;
  int64_t estimate_us = queue->trace->estimate_us ? queue->trace->estimate_us[job.id] : HR_UNKNOWN_US;
  double run_us = estimate_us >= 0 ? (double)estimate_us : predicted_us(queue, job);
  qssf->key[job.id] = llround(fmin(run_us * hr__counted_gpus(queue, job), 0x1p62));
  return HR_OK;
}

static int64_t qssf_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  const struct qssf *qssf = queue->order_state;
  return qssf->key[job.id];
}

/* ---- Quasi-shortest service first: learning --------------------------------------------------------- */

/* Adds a value to a weighted mean. */
static void learn(struct mean *mean, double decay, double value_us) {
  mean->sum_us = mean->sum_us * decay + value_us;
  mean->weight = mean->weight * decay + 1;
}

static uint32_t habit_for(struct hr__queue *queue, hr_job job) {
  struct qssf *qssf = queue->order_state;
  struct hr__pair pair = {user_of(queue, job), name_of(queue, job)};
  uint32_t number = hr__pair_map_find(&qssf->numbers, pair);
  if (number != HR_NONE) return number;
  if (!HR__ARENA_HAS_ROOM(queue->arena, qssf->habits, qssf->n_habits, qssf->habits_capacity)) return HR_NONE;
  if (!hr__pair_map_add(&qssf->numbers, queue->arena, pair, qssf->n_habits)) return HR_NONE;
  struct user *user = &qssf->users[pair.a];
  qssf->habits[qssf->n_habits] = (struct habit){.name = (uint32_t)pair.b, .next = user->first};
  user->first = qssf->n_habits + 1;
  return qssf->n_habits++;
}

static enum hr_status job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  (void)view;
  if (event->kind != HR_EVENT_END) return HR_OK;
  struct qssf *qssf = queue->order_state;
  double run_us = (double)queue->trace->work_us[event->job.id];
  uint32_t habit = habit_for(queue, event->job);
  if (habit == HR_NONE) return HR_NO_MEMORY;
  learn(&qssf->habits[habit].mean, qssf->decay, run_us);
  learn(&qssf->users[user_of(queue, event->job)].mean, qssf->decay, run_us);
  learn(&qssf->all, qssf->decay, run_us);
  return HR_OK;
}

static const struct hr__listener qssf_listener = {.job_waits = qssf_job_waits, .job_stops = job_stops};

const struct hr__order hr__order_qssf = {.key = qssf_key, .create = qssf_create, .listener = &qssf_listener};
