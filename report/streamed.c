/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A fold that sees each job once when it starts and once when it ends, and forgets it: waits and completion times go
 * into sketches, the state between passes into integrals. These are kept as they stood at the last end and at the last
 * submission, up to which utilization is asked for.
 */

#include "headroom/streamed.h"

#include "report/goodput.h"
#include "report/sketch.h"

#include <stdlib.h>

#define SHORT_RUN_US (10 * HR_SECOND_US) /* below which a run time does not blow slowdown up */

/* Over time, up to `until_us`. */
struct integrals {
  int64_t until_us;
  hr__wide waiting, allocated_milli, total_milli;
};

struct hr_streamed {
  const struct hr_trace *trace;
  struct hr__sketch wait, jct, slowdown; /* the last in millionths */
  uint64_t waiting, allocated_milli, total_milli, queue_max;
  uint64_t ended_with[HR_N_OUTCOMES];
  struct integrals now, at_last_end, at_last_submit;
};

struct hr_streamed *hr_streamed_create(const struct hr_trace *trace) {
  struct hr_streamed *streamed = calloc(1, sizeof *streamed);
  if (streamed) streamed->trace = trace;
  return streamed;
}

void hr_streamed_destroy(struct hr_streamed *streamed) {
  free(streamed);
}

static void advance(struct hr_streamed *streamed, int64_t now_us) {
  struct integrals *now = &streamed->now;
  uint64_t passed_us = (uint64_t)(now_us - now->until_us);
  now->waiting += (hr__wide)streamed->waiting * passed_us;
  now->allocated_milli += (hr__wide)streamed->allocated_milli * passed_us;
  now->total_milli += (hr__wide)streamed->total_milli * passed_us;
  now->until_us = now_us;
}

/* As report/groups.c has it, rounded to a millionth. */
static int64_t slowdown_ppm(int64_t jct_us, int64_t work_us) {
  uint64_t run_us = (uint64_t)(work_us > SHORT_RUN_US ? work_us : SHORT_RUN_US);
  hr__wide slowdown = ((hr__wide)jct_us * 1000000 + run_us / 2) / run_us;
  return slowdown > 1000000 ? (int64_t)slowdown : 1000000;
}

static void note_end(struct hr_streamed *streamed, hr_job job, int64_t jct_us) {
  const struct hr_trace *trace = streamed->trace;
  hr__sketch_add(&streamed->jct, jct_us);
  hr__sketch_add(&streamed->slowdown, slowdown_ppm(jct_us, trace->work_us[job.id]));
  if (trace->outcome) streamed->ended_with[trace->outcome[job.id]]++;
  streamed->at_last_end = streamed->now;
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr_streamed *streamed = self;
  (void)view;
  advance(streamed, event->at_us);
  if (event->kind == HR_EVENT_SUBMIT) streamed->at_last_submit = streamed->now;
  if (event->kind != HR_EVENT_START && event->kind != HR_EVENT_END) return;
  int64_t since_us = event->at_us - streamed->trace->submit_us[event->job.id];
  if (event->kind == HR_EVENT_START)
    hr__sketch_add(&streamed->wait, since_us);
  else
    note_end(streamed, event->job, since_us);
}

static void on_instant(void *self, const struct hr_view *view) {
  struct hr_streamed *streamed = self;
  advance(streamed, view->now_us);
  streamed->waiting = view->n_waiting;
  streamed->allocated_milli = view->allocated_milli;
  streamed->total_milli = view->total_milli;
  if (streamed->waiting > streamed->queue_max) streamed->queue_max = streamed->waiting;
}

struct hr_fold hr_streamed_fold(struct hr_streamed *streamed) {
  return (struct hr_fold){.self = streamed, .on_event = on_event, .on_instant = on_instant};
}

/* Of all GPUs, over the time up to when the integrals stand. */
static double utilization(const struct integrals *span) {
  return span->total_milli ? (double)span->allocated_milli / (double)span->total_milli : 0;
}

static double seconds_of(int64_t us) {
  return (double)us / (double)HR_SECOND_US;
}

struct hr_streamed_figures hr_streamed_close(const struct hr_streamed *streamed, const struct hr_result *result) {
  bool finished = result->n_completed + result->n_rejected == streamed->trace->n_jobs;
  bool all_came = result->n_submitted == streamed->trace->n_jobs;
  const struct integrals *span = finished ? &streamed->at_last_end : &streamed->now;
  const struct integrals *submits = all_came ? &streamed->at_last_submit : &streamed->now;
  struct hr_streamed_figures figures = {.jobs_submitted = result->n_submitted,
                                        .jobs_completed = result->n_completed,
                                        .jobs_rejected = result->n_rejected,
                                        .jobs_unfinished = result->n_waiting + result->n_running,
                                        .jobs_backfilled = result->n_backfilled,
                                        .outcome_failed = streamed->ended_with[HR_OUTCOME_FAILED],
                                        .outcome_cancelled = streamed->ended_with[HR_OUTCOME_CANCELLED],
                                        .wait_s = hr__sketch_distribution(&streamed->wait),
                                        .jct_s = hr__sketch_distribution(&streamed->jct),
                                        .slowdown = hr__sketch_distribution(&streamed->slowdown),
                                        .makespan_s = seconds_of(span->until_us),
                                        .submit_window_s = seconds_of(submits->until_us),
                                        .utilization_makespan = utilization(span),
                                        .utilization_submit_window = utilization(submits),
                                        .gpu_hours = hr__gpu_hours((hr_amount)streamed->now.allocated_milli),
                                        .queue_max = streamed->queue_max,
                                        .n_events = result->n_events,
                                        .n_passes = result->n_passes,
                                        .digest = result->digest};
  if (span->until_us) figures.queue_mean = (double)span->waiting / (double)span->until_us;
  return figures;
}
