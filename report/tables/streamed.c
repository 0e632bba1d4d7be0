/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A fold that sees each job once when it starts and once when it ends, and forgets it: waits and completion times go
 * into sketches, the state between passes into integrals. These are kept as they stood at the last end and at the last
 * submission, up to which utilization is asked for.
 */

#include "headroom/unstable/streamed.h"
#include "report/costs/costs.h"
#include "report/metrics/goodput.h"
#include "report/metrics/quantiles.h"
#include "report/tables/run_notes.h"

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
  uint64_t ended_with[HR_N_OUTCOMES], deadlines, missed_deadlines, oom_kills, oom_jobs;
  bool stoppable;
  struct hr_gpu_times milli_us; /* of jobs that are over, where they could be stopped */
  struct hr__rejections rejections;
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

static bool has_deadline(const struct hr_trace *trace, hr_job job) {
  return trace->deadline_us && trace->deadline_us[job.id] != HR_UNKNOWN_US;
}

/* The job is over; what it held is booked. */
static void note_over(struct hr_streamed *streamed, const struct hr_view *view, const struct hr_event *event) {
  const struct hr_trace *trace = streamed->trace;
  bool rejected = event->kind == HR_EVENT_REJECT;
  if (has_deadline(trace, event->job))
    streamed->missed_deadlines += rejected || event->at_us > trace->deadline_us[event->job.id];
  if (rejected) hr__rejections_add(&streamed->rejections, trace, event->job, event->reason);
  if (!view->accounting) return;
  const struct hr_job_accounting *accounting = &view->accounting[event->job.id];
  streamed->oom_kills += accounting->oom_kills;
  streamed->oom_jobs += accounting->oom_kills > 0;
  hr__add_gpu_times(&streamed->milli_us, &accounting->milli_us);
}

static void note_end(struct hr_streamed *streamed, hr_job job, int64_t jct_us) {
  const struct hr_trace *trace = streamed->trace;
  hr__sketch_add(&streamed->jct, jct_us);
  hr__sketch_add(&streamed->slowdown, slowdown_ppm(jct_us, trace->work_us[job.id]));
  if (trace->outcome) streamed->ended_with[trace->outcome[job.id]]++;
  streamed->at_last_end = streamed->now;
}

static void note_submit(struct hr_streamed *streamed, hr_job job) {
  streamed->at_last_submit = streamed->now;
  streamed->deadlines += has_deadline(streamed->trace, job);
}

/* The first of its starts. */
static void note_start(struct hr_streamed *streamed, const struct hr_view *view, const struct hr_event *event) {
  if (view->accounting && view->accounting[event->job.id].attempts) return;
  hr__sketch_add(&streamed->wait, event->at_us - streamed->trace->submit_us[event->job.id]);
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr_streamed *streamed = self;
  advance(streamed, event->at_us);
  if (event->kind == HR_EVENT_SUBMIT) note_submit(streamed, event->job);
  if (event->kind == HR_EVENT_START) note_start(streamed, view, event);
  if (event->kind == HR_EVENT_END)
    note_end(streamed, event->job, event->at_us - streamed->trace->submit_us[event->job.id]);
  if (event->kind == HR_EVENT_END || event->kind == HR_EVENT_REJECT) note_over(streamed, view, event);
}

static void on_instant(void *self, const struct hr_view *view) {
  struct hr_streamed *streamed = self;
  streamed->stoppable = view->accounting != NULL;
  advance(streamed, view->now_us);
  streamed->waiting = view->n_waiting;
  streamed->allocated_milli = view->allocated_milli;
  streamed->total_milli = view->total_milli;
  if (streamed->waiting > streamed->queue_max) streamed->queue_max = streamed->waiting;
}

struct hr_observer hr_streamed_observer(struct hr_streamed *streamed) {
  return (struct hr_observer){.self = streamed, .on_event = on_event, .on_instant = on_instant};
}

/* Of all GPUs, over the time up to when the integrals stand. */
static double utilization(const struct integrals *span) {
  return span->total_milli ? (double)span->allocated_milli / (double)span->total_milli : 0;
}

static double seconds_of(int64_t us) {
  return (double)us / (double)HR_SECOND_US;
}

enum hr_status hr_streamed_notes(const struct hr_streamed *streamed, struct hr_notes *notes) {
  return hr__rejections_note(&streamed->rejections, notes);
}

/* Without fates all that was allocated was of use. */
static struct hr_gpu_times gpu_times(const struct hr_streamed *streamed, const struct hr_result *result) {
  if (!streamed->stoppable) return (struct hr_gpu_times){.kept = (hr_amount)streamed->now.allocated_milli};
  struct hr_gpu_times times = streamed->milli_us;
  hr__add_gpu_times(&times, &result->left.milli_us);
  return times;
}

static void fill_fates(const struct hr_streamed *streamed, const struct hr_cluster_spec *cluster,
                       const struct hr_result *result, struct hr_streamed_figures *figures) {
  struct hr_gpu_times times = gpu_times(streamed, result);
  figures->stoppable = streamed->stoppable;
  figures->goodput = hr__goodput_figures(&times);
  figures->spot = hr__spot_figures(cluster, result);
  figures->oom = (struct hr_oom_figures){.known = streamed->stoppable && hr__can_kill(cluster),
                                         .kills = streamed->oom_kills + result->left.oom_kills,
                                         .jobs = streamed->oom_jobs + result->left.oom_jobs};
  if (figures->oom.known) figures->oom.back_off_gpu_hours = hr__back_off_gpu_hours(cluster, result);
}

struct hr_streamed_figures hr_streamed_close(const struct hr_streamed *streamed, const struct hr_cluster_spec *cluster,
                                             const struct hr_result *result) {
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
                                        .deadlines = streamed->deadlines,
                                        .missed_deadlines = streamed->missed_deadlines + result->left.missed_deadlines,
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
  fill_fates(streamed, cluster, result, &figures);
  return figures;
}

enum hr_status hr_streamed_cost(const struct hr_streamed *streamed, const struct hr_cluster_spec *cluster,
                                const struct hr_result *result, const struct hr_cost_basis *basis,
                                struct hr_streamed_figures *figures, struct hr_error *error) {
  struct hr_gpu_times times = gpu_times(streamed, result);
  enum hr_status status = hr__costs_make(streamed->trace, cluster, result, basis, times.kept, &figures->costs);
  return status == HR_OK ? HR_OK : hr__cannot_sum(streamed->trace, status, error);
}

void hr_streamed_figures_finish(struct hr_streamed_figures *figures) {
  hr__costs_destroy(figures->costs);
  figures->costs = NULL;
}
