/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Quasi-shortest-service-first (Hu et al., "Characterization and Prediction of Deep Learning Workloads in Large-Scale
 * GPU Datacenters", SC'21): the job with the smallest predicted GPU time is first.
 *
 * If the job has an estimate of its run time, the estimate is used. Otherwise the run time is predicted from finished
 * jobs, with more weight on those that finished later. The prediction uses the first of these sets that is not empty:
 * the user's jobs with the same name (the trace's `model`); the user's jobs with the most similar name, if it is
 * similar enough; all jobs of the user; all jobs. If no job has finished yet, the limit of the job is used.
 */

#include "policies/queue/dispatch.h"
#include "policies/queue/params.h"

#include <math.h>
#include <string.h>

/* A weighted mean of run times. The weight of each value is `decay` times the weight of the next value. */
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

static enum hr_status create(struct hr__queue *queue, const struct hr_policy_env *env, struct hr_error *error) {
  (void)error;
  struct qssf *qssf = hr_arena_alloc(env->arena, sizeof *qssf);
  if (!qssf) return HR_NO_MEMORY;
  queue->order_state = qssf;
  qssf->decay = hr__queue_param(env, "qssf_decay")->real;
  qssf->similarity = hr__queue_param(env, "qssf_similarity")->real;
  qssf->users = hr_arena_alloc(env->arena, ((size_t)env->jobs->users.count + 1) * sizeof *qssf->users);
  qssf->key = hr_arena_alloc_by_job(env->arena, env->jobs->n_jobs, sizeof *qssf->key);
  return qssf->users && qssf->key ? HR_OK : HR_NO_MEMORY;
}

static uint32_t user_of(const struct hr__queue *queue, hr_job job) {
  uint32_t user = queue->trace->user ? queue->trace->user[job.id] : HR_NONE;
  return user == HR_NONE ? queue->trace->users.count : user;
}

static uint32_t name_of(const struct hr__queue *queue, hr_job job) {
  return queue->trace->model ? queue->trace->model[job.id] : HR_NONE;
}

/* ---- Similarity ----------------------------------------------------------------------------------- */

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

/* Returns the user's habit with the most similar name; NULL if no name is similar enough. */
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

/* ---- Prediction ----------------------------------------------------------------------------------- */

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

static enum hr_status job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  struct qssf *qssf = queue->order_state;
  int64_t estimate_us = queue->trace->estimate_us ? queue->trace->estimate_us[job.id] : HR_UNKNOWN_US;
  double run_us = estimate_us >= 0 ? (double)estimate_us : predicted_us(queue, job);
  qssf->key[job.id] = llround(fmin(run_us * hr__counted_gpus(queue, job), 0x1p62));
  return HR_OK;
}

static int64_t key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  const struct qssf *qssf = queue->order_state;
  return qssf->key[job.id];
}

/* ---- Learning ------------------------------------------------------------------------------------- */

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
  if (qssf->n_habits == qssf->habits_capacity) {
    struct habit *habits = hr_arena_grown(queue->arena, qssf->habits, &qssf->habits_capacity, sizeof *habits);
    if (!habits) return HR_NONE;
    qssf->habits = habits;
  }
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

static const struct hr__listener listener = {.job_waits = job_waits, .job_stops = job_stops};

const struct hr__order hr__order_qssf = {.key = key, .create = create, .listener = &listener};
