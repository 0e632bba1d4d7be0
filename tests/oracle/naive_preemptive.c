/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of a job is in its own record and is updated at each instant. Nothing is predicted except the next instant,
   found by a scan of all running jobs. */

#include "naive_preemptive.h"
#include "naive_history.h"

#include <stdlib.h>

struct job {
  bool running;
  int64_t attained; /* run time so far */
  int64_t entered;  /* when it came into its queue */
  uint32_t queue;
};

struct state {
  const struct naive_preemptive_input *in;
  struct job *job;
  struct naive_fate *accounting;
  uint32_t *present, n_present; /* who waits or runs, as the last pass ordered them, arrivals after them */
  uint32_t next_job;
  int64_t now;
  int64_t *served; /* by INDEX: the services of those that have finished */
  uint32_t n_finished, next_indices;
  double index[NAIVE_LEVELS]; /* as last worked out */
};

static void *grab(size_t count, size_t size) {
  void *memory = calloc(count ? count : 1, size);
  if (!memory) abort();
  return memory;
}

/* ---- Time ----------------------------------------------------------------------------------------------- */

static uint32_t n_thresholds(const struct state *s) {
  return s->in->order == NAIVE_INDEX ? NAIVE_LEVELS - 1 : s->in->order == NAIVE_LAS ? NAIVE_THRESHOLDS : 0;
}

static int64_t threshold(const struct state *s, uint32_t k) {
  return s->in->order == NAIVE_INDEX ? naive_begin_of_level(k + 1) : s->in->thresholds[k];
}

/* The run time at which a job has had `threshold`. */
static int64_t crossing(int64_t threshold, uint32_t gpus) {
  return threshold / gpus + (threshold % gpus != 0);
}

/* How long the running job goes on until something happens to it. */
static int64_t time_to_next(const struct state *s, uint32_t job) {
  int64_t attained = s->job[job].attained, wait = s->in->work[job] - attained;
  for (uint32_t k = 0; k < n_thresholds(s) && s->in->gpus[job] > 0; k++) {
    int64_t until = crossing(threshold(s, k), s->in->gpus[job]) - attained;
    if (until > 0 && until < wait) wait = until;
  }
  return wait;
}

/* The next instant at which a job arrives, ends or crosses a threshold, INT64_MAX when there is none. */
static int64_t next_instant(const struct state *s) {
  int64_t next = s->next_job < s->in->n_jobs ? s->in->submit[s->next_job] : INT64_MAX;
  for (uint32_t i = 0; i < s->n_present; i++) {
    uint32_t job = s->present[i];
    if (s->job[job].running && s->now + time_to_next(s, job) < next) next = s->now + time_to_next(s, job);
  }
  return next;
}

static void advance_to(struct state *s, int64_t instant) {
  for (uint32_t i = 0; i < s->n_present; i++)
    if (s->job[s->present[i]].running) s->job[s->present[i]].attained += instant - s->now;
  s->now = instant;
}

/* ---- What happens --------------------------------------------------------------------------------------- */

static void finish(struct state *s, uint32_t job) {
  s->accounting[job].end = s->now;
  s->served[s->n_finished++] = s->in->work[job] * s->in->gpus[job];
}

static void end_all_due(struct state *s) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < s->n_present; i++) {
    uint32_t job = s->present[i];
    if (s->job[job].running && s->job[job].attained == s->in->work[job])
      finish(s, job);
    else
      s->present[kept++] = job;
  }
  s->n_present = kept;
}

static void cross_all_due(struct state *s) {
  for (uint32_t i = 0; i < s->n_present; i++) {
    struct job *job = &s->job[s->present[i]];
    uint32_t queue = 0;
    while (queue < n_thresholds(s) && s->in->gpus[s->present[i]] * job->attained >= threshold(s, queue)) queue++;
    if (queue != job->queue) job->entered = s->now;
    job->queue = queue;
  }
}

/* Until enough have finished, less service is better. */
static void work_out_indices(struct state *s) {
  if (s->n_finished < s->next_indices) return;
  for (uint32_t i = 0; i < NAIVE_LEVELS; i++)
    s->index[i] = s->n_finished > 0 ? naive_index(i, s->served, s->n_finished) : -(double)i;
  s->next_indices = naive_next_indices(s->n_finished);
}

static void arrive(struct state *s, uint32_t job) {
  if (s->in->gpus[job] > s->in->capacity) return;
  s->job[job].entered = s->now;
  s->present[s->n_present++] = job;
}

/* ---- The pass ------------------------------------------------------------------------------------------- */

static bool goes_before(const struct state *s, uint32_t a, uint32_t b) {
  const struct naive_preemptive_input *in = s->in;
  const struct job *x = &s->job[a], *y = &s->job[b];
  int64_t left_a = in->work[a] - x->attained, left_b = in->work[b] - y->attained;
  if (!in->preempts && x->running != y->running) return x->running;
  if (in->order == NAIVE_SRTF && left_a != left_b) return left_a < left_b;
  if (in->order == NAIVE_INDEX && s->index[x->queue] != s->index[y->queue])
    return s->index[x->queue] > s->index[y->queue];
  if (in->order != NAIVE_SRTF && x->queue != y->queue) return x->queue < y->queue;
  if (x->running != y->running) return x->running;
  if (in->order == NAIVE_SRTF && in->submit[a] != in->submit[b]) return in->submit[a] < in->submit[b];
  if (in->order != NAIVE_SRTF && x->entered != y->entered) return x->entered < y->entered;
  return a < b;
}

static void sort_present(struct state *s) {
  for (uint32_t i = 1; i < s->n_present; i++) {
    uint32_t job = s->present[i], place = i;
    for (; place > 0 && goes_before(s, job, s->present[place - 1]); place--) s->present[place] = s->present[place - 1];
    s->present[place] = job;
  }
}

static void start(struct state *s, uint32_t job) {
  if (s->accounting[job].starts++ == 0) s->accounting[job].start = s->now;
}

static void pass(struct state *s) {
  uint32_t left = s->in->capacity;
  sort_present(s);
  for (uint32_t i = 0; i < s->n_present; i++) {
    uint32_t job = s->present[i];
    bool fits = s->in->gpus[job] <= left;
    if (fits) left -= s->in->gpus[job];
    if (fits && !s->job[job].running) start(s, job);
    if (!fits && s->job[job].running) s->accounting[job].preemptions++;
    s->job[job].running = fits;
  }
}

struct naive_fate *naive_preemptive_run(const struct naive_preemptive_input *input) {
  uint32_t n = input->n_jobs;
  struct state s = {.in = input,
                    .job = grab(n, sizeof *s.job),
                    .accounting = grab(n, sizeof *s.accounting),
                    .present = grab(n, sizeof *s.present),
                    .served = grab(n, sizeof *s.served)};
  for (uint32_t job = 0; job < n; job++) s.accounting[job].start = s.accounting[job].end = -1;
  for (int64_t instant; (instant = next_instant(&s)) < INT64_MAX;) {
    advance_to(&s, instant);
    end_all_due(&s);
    cross_all_due(&s);
    while (s.next_job < n && input->submit[s.next_job] == s.now) arrive(&s, s.next_job++);
    work_out_indices(&s);
    pass(&s);
  }
  free(s.job);
  free(s.served);
  free(s.present);
  return s.accounting;
}
