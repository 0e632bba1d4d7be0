/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Three observers that record a run for the exports. The history records attempts with their placements, and changes of
 * nodes. The counts record the numbers of jobs and GPUs over time, and rejections. The averages record the timeline for
 * charts.
 *
 * The history has three append-only arrays: attempts, the slices of all attempts, and node changes. `last` stores the
 * last attempt of each job, and each attempt stores the index of the previous attempt of its job. The accounting of a
 * job accumulates over all its attempts. The accounting of one attempt is therefore the accounting of its job at the
 * end of the attempt minus that at its start.
 */

#include "base/containers.h"
#include "base/output_file.h"
#include "headroom/unstable/exports.h"
#include "report/metrics/metrics.h"

#include <stdio.h>
#include <stdlib.h>

struct hr_history {
  const struct hr_trace *trace;
  struct hr_attempt *attempts;
  struct hr_slice *slices;
  struct hr_node_change *changes;
  uint32_t *last; /* [n_jobs]: index of the last attempt; HR_NONE if the job never started */
  uint32_t n_attempts, attempts_capacity, n_slices, slices_capacity, n_changes, changes_capacity;
  int64_t end_us;
  bool failed;
};

struct hr_history *hr_history_create(const struct hr_trace *trace) {
  struct hr_history *history = calloc(1, sizeof *history);
  if (!history) return NULL;
  history->trace = trace;
  history->last = malloc(((size_t)trace->n_jobs + 1) * sizeof *history->last);
  if (!history->last) {
    free(history);
    return NULL;
  }
  for (uint32_t i = 0; i < trace->n_jobs; i++) history->last[i] = HR_NONE;
  return history;
}

void hr_history_destroy(struct hr_history *history) {
  if (!history) return;
  free(history->attempts);
  free(history->slices);
  free(history->changes);
  free(history->last);
  free(history);
}

/* ---- History: attempts ----------------------------------------------------------------------------- */

static void add_accounting(struct hr_attempt *attempt, const struct hr_job_accounting *accounting, int64_t sign) {
  attempt->kept_us += sign * accounting->kept_us;
  attempt->lost_us += sign * accounting->lost_us;
  attempt->saving_us += sign * accounting->saving_us;
  attempt->restarting_us += sign * accounting->restarting_us;
  attempt->data_us += sign * accounting->data_us;
}

static bool add_slices(struct hr_history *history, const struct hr_placement *placement) {
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    if (!HR__ARRAY_HAS_ROOM(history->slices, history->n_slices, history->slices_capacity)) return false;
    history->slices[history->n_slices++] = placement->slices[i];
  }
  return true;
}

static void begin_attempt(struct hr_history *history, const struct hr_view *view, const struct hr_event *event) {
  const struct hr_placement *placement = event->placement;
  uint32_t job = event->job.id, previous = history->last[job], first_slice = history->n_slices;
  if (!HR__ARRAY_HAS_ROOM(history->attempts, history->n_attempts, history->attempts_capacity) ||
      !add_slices(history, placement)) {
    history->failed = true;
    return;
  }
  struct hr_attempt *attempt = &history->attempts[history->n_attempts];
  *attempt = (struct hr_attempt){.job = event->job,
                                 .pool = placement->pool,
                                 .number = previous == HR_NONE ? 0 : history->attempts[previous].number + 1,
                                 .previous = previous,
                                 .gpu_milli = (uint32_t)hr_placement_milli(placement, history->trace, event->job),
                                 .n_slices = placement->n_slices,
                                 .first_slice = first_slice,
                                 .start_reason = (uint8_t)event->reason,
                                 .begin_us = event->at_us,
                                 .end_us = HR_NEVER_US};
  if (view->accounts) {
    struct hr_job_accounting account = hr_view_accounting(view, event->job);
    add_accounting(attempt, &account, -1);
  }
  history->last[job] = history->n_attempts++;
}

/* Completes the last attempt of a job. `accounting` is NULL in runs in which no job can be interrupted; then the whole
   time of the attempt was useful. */
static void end_attempt(struct hr_history *history, hr_job job, int64_t at_us,
                        const struct hr_job_accounting *accounting, enum hr_attempt_end end, enum hr_reason reason) {
  if (history->last[job.id] == HR_NONE) return;
  struct hr_attempt *attempt = &history->attempts[history->last[job.id]];
  attempt->end_us = at_us;
  attempt->end = (uint8_t)end;
  attempt->end_reason = (uint8_t)reason;
  if (accounting)
    add_accounting(attempt, accounting, 1);
  else
    attempt->kept_us = at_us - attempt->begin_us;
}

static void end_attempt_now(struct hr_history *history, const struct hr_view *view, const struct hr_event *event,
                            enum hr_attempt_end end) {
  struct hr_job_accounting account = {0};
  if (view->accounts) account = hr_view_accounting(view, event->job);
  end_attempt(history, event->job, event->at_us, view->accounts ? &account : NULL, end, event->reason);
}

/* ---- History: nodes -------------------------------------------------------------------------------- */

static void change_node(struct hr_history *history, const struct hr_view *view, const struct hr_event *event) {
  if (!HR__ARRAY_HAS_ROOM(history->changes, history->n_changes, history->changes_capacity)) {
    history->failed = true;
    return;
  }
  uint32_t offered = 0; /* nodes that the market offers in total: acquired nodes, and nodes that could be acquired */
  if (event->kind == HR_EVENT_OFFER)
    offered = hr_cluster_offer(view->cluster, event->pool) + hr__acquired_nodes(view->cluster, event->pool);
  history->changes[history->n_changes++] = (struct hr_node_change){.at_us = event->at_us,
                                                                   .node = event->node,
                                                                   .pool = event->pool,
                                                                   .offer = offered,
                                                                   .kind = (uint8_t)event->kind,
                                                                   .reason = (uint8_t)event->reason};
}

/* ---- History: observer ----------------------------------------------------------------------------- */

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr_history *history = self;
  if (history->failed) return;
  switch (event->kind) {
  case HR_EVENT_START:
    begin_attempt(history, view, event);
    break;
  case HR_EVENT_END:
    end_attempt_now(history, view, event, HR_ATTEMPT_COMPLETED);
    break;
  case HR_EVENT_INTERRUPT:
    end_attempt_now(history, view, event, HR_ATTEMPT_INTERRUPTED);
    break;
  case HR_EVENT_PREEMPT:
    end_attempt_now(history, view, event, HR_ATTEMPT_PREEMPTED);
    break;
  case HR_EVENT_NODE_DOWN:
  case HR_EVENT_NOTICE:
  case HR_EVENT_OFFER:
  case HR_EVENT_NODE_UP:
  case HR_EVENT_ACQUIRE:
  case HR_EVENT_RELEASE:
    change_node(history, view, event);
    break;
  default:
    break;
  }
}

struct hr_observer hr_history_observer(struct hr_history *history) {
  return (struct hr_observer){.self = history, .on_event = on_event};
}

enum hr_status hr_history_close(struct hr_history *history, const struct hr_result *result) {
  if (history->failed) return HR_NO_MEMORY;
  history->end_us = result->end_us;
  for (uint32_t i = 0; i < result->n_jobs; i++) {
    if (result->state[i] != HR_JOB_RUNNING) continue;
    struct hr_job_accounting account = {0};
    if (result->account) account = hr_result_accounting(result, (hr_job){i});
    end_attempt(history, (hr_job){i}, result->end_us, result->account ? &account : NULL, HR_ATTEMPT_RUNNING,
                HR_REASON_NONE);
  }
  return HR_OK;
}

size_t hr_history_attempts(const struct hr_history *history, const struct hr_attempt **attempts) {
  *attempts = history->attempts;
  return history->n_attempts;
}

const struct hr_slice *hr_history_slices(const struct hr_history *history, const struct hr_attempt *attempt) {
  return history->slices + attempt->first_slice;
}

size_t hr_history_changes(const struct hr_history *history, const struct hr_node_change **changes) {
  *changes = history->changes;
  return history->n_changes;
}

uint32_t hr_history_last(const struct hr_history *history, hr_job job) {
  return history->last[job.id];
}

int64_t hr_history_end_us(const struct hr_history *history) {
  return history->end_us;
}

/* ---- Counts ---------------------------------------------------------------------------------------- */

struct hr_counts {
  struct hr_count_change *changes;
  struct hr_rejection *rejections;
  uint32_t n_changes, changes_capacity, n_rejections, rejections_capacity;
  bool out_of_memory;
};

struct hr_counts *hr_counts_create(void) {
  return calloc(1, sizeof(struct hr_counts));
}

void hr_counts_destroy(struct hr_counts *counts) {
  if (!counts) return;
  free(counts->changes);
  free(counts->rejections);
  free(counts);
}

static bool same_counts(const struct hr_count_change *a, const struct hr_count_change *b) {
  return a->waiting == b->waiting && a->running == b->running && a->allocated_milli == b->allocated_milli &&
         a->total_milli == b->total_milli;
}

/* Records the counts if they changed since the previous instant. An instant may have several passes; only the counts
   after its last pass remain recorded. */
static void on_counts_instant(void *self, const struct hr_view *view) {
  struct hr_counts *counts = self;
  const struct hr_count_change change = {view->now_us, view->n_waiting, view->n_running, view->allocated_milli,
                                         view->total_milli};
  if (counts->n_changes && counts->changes[counts->n_changes - 1].at_us == view->now_us) counts->n_changes--;
  if (counts->n_changes && same_counts(&counts->changes[counts->n_changes - 1], &change)) return;
  if (HR__ARRAY_HAS_ROOM(counts->changes, counts->n_changes, counts->changes_capacity))
    counts->changes[counts->n_changes++] = change;
  else
    counts->out_of_memory = true;
}

static void counts_on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr_counts *counts = self;
  (void)view;
  if (event->kind != HR_EVENT_REJECT) return;
  const struct hr_rejection rejection = {event->at_us, event->job, (uint8_t)event->reason};
  if (HR__ARRAY_HAS_ROOM(counts->rejections, counts->n_rejections, counts->rejections_capacity))
    counts->rejections[counts->n_rejections++] = rejection;
  else
    counts->out_of_memory = true;
}

struct hr_observer hr_counts_observer(struct hr_counts *counts) {
  return (struct hr_observer){.self = counts, .on_event = counts_on_event, .on_instant = on_counts_instant};
}

bool hr_counts_complete(const struct hr_counts *counts) {
  return !counts->out_of_memory;
}

size_t hr_counts_changes(const struct hr_counts *counts, const struct hr_count_change **changes) {
  *changes = counts->changes;
  return counts->n_changes;
}

size_t hr_counts_rejections(const struct hr_counts *counts, const struct hr_rejection **rejections) {
  *rejections = counts->rejections;
  return counts->n_rejections;
}

/* ---- Averages -------------------------------------------------------------------------------------- */

/*
 * Means of the timeline of a run over intervals of equal length, for charts.
 *
 * The end of a run, and therefore the length of an interval, is known only when the run has ended. Until then the
 * observer records the counts after each instant at which they changed: 32 bytes, at the same instants as the rows of
 * the timeline. After the run, each record adds number x duration to the intervals that it covers. Sums are doubles,
 * added in the order of the records.
 */

enum { N_COLUMNS = 4, NUMBER_BYTES = 32 };
static const char *const names[N_COLUMNS] = {"waiting", "running", "gpus_allocated", "gpus_total"};

struct hr_averages {
  struct hr__out out;
  int64_t clock_us; /* added to every time, so that times match those of the input */
  uint32_t count;
  struct hr_counts counts;
};

/* The sums of an interval are at index `interval` of each list. */
struct interval_sums {
  uint32_t count;
  double begin_s, end_s, width_s;
  double *sum;  /* [N_COLUMNS][count]: value x seconds */
  double *most; /* [count]: largest number of waiting jobs */
};

enum hr_status hr_averages_create(const char *path, const struct hr_trace *trace, uint32_t count,
                                  struct hr_averages **averages, struct hr_error *error) {
  struct hr_averages *created = calloc(1, sizeof *created);
  if (!created) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  created->clock_us = hr_trace_clock_us(trace);
  created->count = count;
  if (count < 1) created->count = 1;
  if (count > HR_MAX_AVERAGES) created->count = HR_MAX_AVERAGES;
  enum hr_status status = hr__out_open(&created->out, path, error);
  if (status != HR_OK) {
    free(created);
    return status;
  }
  *averages = created;
  return HR_OK;
}

static void on_averages_instant(void *self, const struct hr_view *view) {
  struct hr_averages *averages = self;
  on_counts_instant(&averages->counts, view);
}

struct hr_observer hr_averages_observer(struct hr_averages *averages) {
  return (struct hr_observer){.self = averages, .on_instant = on_averages_instant};
}

/* ---- Averages: means ------------------------------------------------------------------------------- */

static double seconds_of(const struct hr_averages *averages, uint32_t point) {
  return (double)(averages->counts.changes[point].at_us + averages->clock_us) / 1e6;
}

/* A time, and the index of the interval that contains it. */
struct chart_time {
  double s;
  uint32_t interval;
};

static struct chart_time chart_time_of(const struct interval_sums *sums, double time_s) {
  double at = (time_s - sums->begin_s) / sums->width_s;
  return (struct chart_time){time_s, at >= (double)sums->count ? sums->count - 1 : (uint32_t)at};
}

/* Adds a point with counts that are valid from `begin` to `end`. */
static void add(struct interval_sums *sums, const struct hr_count_change *point, struct chart_time begin,
                struct chart_time end) {
  const double waiting = point->waiting;
  const double value[N_COLUMNS] = {waiting, point->running, (double)point->allocated_milli / 1000,
                                   (double)point->total_milli / 1000};
  for (uint32_t i = begin.interval; i <= end.interval; i++) {
    double from = i == begin.interval ? begin.s : sums->begin_s + (double)i * sums->width_s;
    double to = i == end.interval ? end.s : sums->begin_s + (double)(i + 1) * sums->width_s;
    if (!(to > from)) continue;
    for (int k = 0; k < N_COLUMNS; k++) sums->sum[(size_t)k * sums->count + i] += value[k] * (to - from);
    if (waiting > sums->most[i]) sums->most[i] = waiting;
  }
}

/* Adds all points except the last one, which only marks the end of the run. */
static void add_points(const struct hr_averages *averages, struct interval_sums *sums) {
  if (sums->count == 0) return;
  struct chart_time begin = chart_time_of(sums, seconds_of(averages, 0));
  for (uint32_t i = 0; i + 1 < averages->counts.n_changes; i++) {
    struct chart_time end = chart_time_of(sums, seconds_of(averages, i + 1));
    if (end.s > begin.s) add(sums, &averages->counts.changes[i], begin, end);
    begin = end;
  }
}

/* ---- Averages: writing ----------------------------------------------------------------------------- */

static void put_list(struct hr__out *out, const char *name, const double *values, uint32_t count, double divisor) {
  char text[NUMBER_BYTES];
  hr__out_text(out, ",\"");
  hr__out_text(out, name);
  hr__out_text(out, "\":[");
  for (uint32_t i = 0; i < count; i++) {
    snprintf(text, sizeof text, "%s%.6g", i ? "," : "", values[i] / divisor);
    hr__out_text(out, text);
  }
  hr__out_byte(out, ']');
}

static void put(struct hr__out *out, const struct interval_sums *sums) {
  char text[2 * NUMBER_BYTES + sizeof "{\"begin_s\":,\"end_s\":"];
  snprintf(text, sizeof text, "{\"begin_s\":%.15g,\"end_s\":%.15g", sums->begin_s, sums->end_s);
  hr__out_text(out, text);
  for (int k = 0; k < N_COLUMNS; k++)
    put_list(out, names[k], sums->sum + (size_t)k * sums->count, sums->count, sums->width_s);
  put_list(out, "most_waiting", sums->most, sums->count, 1);
  hr__out_text(out, "}\n");
}

enum hr_status hr_averages_finish(struct hr_averages *averages, struct hr_error *error) {
  const uint32_t n = averages->counts.n_changes;
  const double begin_s = n ? seconds_of(averages, 0) : 0, end_s = n ? seconds_of(averages, n - 1) : 0;
  struct interval_sums sums = {.count = end_s > begin_s ? averages->count : 0,
                               .begin_s = begin_s,
                               .end_s = end_s,
                               .width_s = (end_s - begin_s) / averages->count};
  sums.sum = calloc((size_t)N_COLUMNS * averages->count, sizeof *sums.sum);
  sums.most = calloc(averages->count, sizeof *sums.most);
  bool ready = sums.sum && sums.most && !averages->counts.out_of_memory;
  if (ready) add_points(averages, &sums);
  if (ready) put(&averages->out, &sums);
  free(sums.sum);
  free(sums.most);
  if (!ready) return hr_fail(error, HR_NO_MEMORY, "out of memory for the averages of the run");
  return hr__out_commit(&averages->out, error);
}

void hr_averages_destroy(struct hr_averages *averages) {
  if (!averages) return;
  hr__out_abandon(&averages->out);
  free(averages->counts.changes);
  free(averages);
}
