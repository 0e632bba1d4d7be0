/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A second implementation of the preemptive orders: srtf, las (Gu et al., Tiresias, NSDI'19) and gittins.
 *
 * Data layout: one record per job, updated at each instant with an event, and one array of the jobs that wait or run.
 * There is no event queue. The next instant is found by a scan of all running jobs.
 */

#include "naive_preemptive.h"
#include "naive_history.h"

#include <stdlib.h>

struct job {
  bool running;
  int64_t attained; /* time for which the job has run */
  int64_t entered;  /* when the job entered its service queue */
  uint32_t queue;   /* number of thresholds that its service has reached */
};

struct state {
  const struct naive_preemptive_input *in;
  struct job *job;
  struct naive_outcome *outcome;
  /* waiting and running jobs: first those that were sorted by the last pass, then new jobs */
  uint32_t *active, n_active;
  uint32_t next_job; /* first job that has not been submitted */
  int64_t now;
  int64_t *finished_service;        /* GPUs x time of each finished job, in any order */
  uint32_t n_finished, next_update; /* next_update: value of n_finished at which the indices are updated next */
  double index[NAIVE_LEVELS];       /* for gittins: by level, the Gittins index as of the last update */
};

static void *calloc_or_abort(size_t count, size_t size) {
  void *memory = calloc(count ? count : 1, size);
  if (!memory) abort();
  return memory;
}

/* ---- Time ----------------------------------------------------------------------------------------------- */

/* Returns the number of service thresholds of the order; 0 for srtf. */
static uint32_t n_thresholds(const struct state *s) {
  return s->in->order == NAIVE_PREEMPTIVE_GITTINS ? NAIVE_LEVELS - 1 : s->in->order == NAIVE_LAS ? NAIVE_THRESHOLDS : 0;
}

static int64_t threshold(const struct state *s, uint32_t k) {
  return s->in->order == NAIVE_PREEMPTIVE_GITTINS ? naive_level_begin(k + 1) : s->in->thresholds[k];
}

/* Returns the run time at which the service of a job reaches `threshold` (GPUs x time), rounded up. */
static int64_t run_time_at_crossing(int64_t threshold, uint32_t gpus) {
  return threshold / gpus + (threshold % gpus != 0);
}

/* Returns the time until a running job ends or its service reaches a threshold. */
static int64_t time_to_next_event(const struct state *s, uint32_t job) {
  int64_t attained = s->job[job].attained, time = s->in->work[job] - attained;
  for (uint32_t k = 0; k < n_thresholds(s) && s->in->gpus[job] > 0; k++) {
    int64_t to_crossing = run_time_at_crossing(threshold(s, k), s->in->gpus[job]) - attained;
    if (to_crossing > 0 && to_crossing < time) time = to_crossing;
  }
  return time;
}

/* Returns the next instant at which a job is submitted, ends or reaches a threshold; INT64_MAX: none. */
static int64_t next_instant(const struct state *s) {
  int64_t next = s->next_job < s->in->n_jobs ? s->in->submit[s->next_job] : INT64_MAX;
  for (uint32_t i = 0; i < s->n_active; i++) {
    uint32_t job = s->active[i];
    if (s->job[job].running && s->now + time_to_next_event(s, job) < next) next = s->now + time_to_next_event(s, job);
  }
  return next;
}

static void advance_to(struct state *s, int64_t instant) {
  for (uint32_t i = 0; i < s->n_active; i++)
    if (s->job[s->active[i]].running) s->job[s->active[i]].attained += instant - s->now;
  s->now = instant;
}

/* ---- Events --------------------------------------------------------------------------------------------- */

static void end_job(struct state *s, uint32_t job) {
  s->outcome[job].end = s->now;
  s->finished_service[s->n_finished++] = s->in->work[job] * s->in->gpus[job];
}

static void end_due_jobs(struct state *s) {
  uint32_t n_kept = 0;
  for (uint32_t i = 0; i < s->n_active; i++) {
    uint32_t job = s->active[i];
    if (s->job[job].running && s->job[job].attained == s->in->work[job])
      end_job(s, job);
    else
      s->active[n_kept++] = job;
  }
  s->n_active = n_kept;
}

/* Moves each job whose service has reached a threshold to the queue that begins at the threshold. */
static void apply_crossings(struct state *s) {
  for (uint32_t i = 0; i < s->n_active; i++) {
    struct job *job = &s->job[s->active[i]];
    uint32_t queue = 0;
    while (queue < n_thresholds(s) && s->in->gpus[s->active[i]] * job->attained >= threshold(s, queue)) queue++;
    if (queue != job->queue) job->entered = s->now;
    job->queue = queue;
  }
}

/* Updates the Gittins indices if enough jobs have finished since the last update. At the first call no job has
   finished, and the indices are set such that lower levels are first. */
static void update_indices(struct state *s) {
  if (s->n_finished < s->next_update) return;
  for (uint32_t i = 0; i < NAIVE_LEVELS; i++)
    s->index[i] = s->n_finished > 0 ? naive_gittins_index(i, s->finished_service, s->n_finished) : -(double)i;
  s->next_update = naive_next_update(s->n_finished);
}

static void submit(struct state *s, uint32_t job) {
  if (s->in->gpus[job] > s->in->capacity) return;
  s->job[job].entered = s->now;
  s->active[s->n_active++] = job;
}

/* ---- The pass ------------------------------------------------------------------------------------------- */

/* Returns whether job a is before job b. */
static bool precedes(const struct state *s, uint32_t a, uint32_t b) {
  const struct naive_preemptive_input *in = s->in;
  const struct job *x = &s->job[a], *y = &s->job[b];
  int64_t remaining_a = in->work[a] - x->attained, remaining_b = in->work[b] - y->attained;
  if (!in->preempts && x->running != y->running) return x->running;
  if (in->order == NAIVE_SRTF && remaining_a != remaining_b) return remaining_a < remaining_b;
  if (in->order == NAIVE_PREEMPTIVE_GITTINS && s->index[x->queue] != s->index[y->queue])
    return s->index[x->queue] > s->index[y->queue];
  if (in->order != NAIVE_SRTF && x->queue != y->queue) return x->queue < y->queue;
  if (x->running != y->running) return x->running;
  if (in->order == NAIVE_SRTF && in->submit[a] != in->submit[b]) return in->submit[a] < in->submit[b];
  if (in->order != NAIVE_SRTF && x->entered != y->entered) return x->entered < y->entered;
  return a < b;
}

static void sort_active(struct state *s) {
  for (uint32_t i = 1; i < s->n_active; i++) {
    uint32_t job = s->active[i], position = i;
    for (; position > 0 && precedes(s, job, s->active[position - 1]); position--)
      s->active[position] = s->active[position - 1];
    s->active[position] = job;
  }
}

static void start(struct state *s, uint32_t job) {
  if (s->outcome[job].starts++ == 0) s->outcome[job].start = s->now;
}

static void pass(struct state *s) {
  uint32_t free_gpus = s->in->capacity;
  sort_active(s);
  for (uint32_t i = 0; i < s->n_active; i++) {
    uint32_t job = s->active[i];
    bool fits = s->in->gpus[job] <= free_gpus;
    if (fits) free_gpus -= s->in->gpus[job];
    if (fits && !s->job[job].running) start(s, job);
    if (!fits && s->job[job].running) s->outcome[job].preemptions++;
    s->job[job].running = fits;
  }
}

struct naive_outcome *naive_preemptive_run(const struct naive_preemptive_input *input) {
  uint32_t n = input->n_jobs;
  struct state s = {.in = input,
                    .job = calloc_or_abort(n, sizeof *s.job),
                    .outcome = calloc_or_abort(n, sizeof *s.outcome),
                    .active = calloc_or_abort(n, sizeof *s.active),
                    .finished_service = calloc_or_abort(n, sizeof *s.finished_service)};
  for (uint32_t job = 0; job < n; job++) s.outcome[job].start = s.outcome[job].end = -1;
  for (int64_t instant; (instant = next_instant(&s)) < INT64_MAX;) {
    advance_to(&s, instant);
    end_due_jobs(&s);
    apply_crossings(&s);
    while (s.next_job < n && input->submit[s.next_job] == s.now) submit(&s, s.next_job++);
    update_indices(&s);
    pass(&s);
  }
  free(s.job);
  free(s.finished_service);
  free(s.active);
  return s.outcome;
}
