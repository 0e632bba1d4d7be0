/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The counts over time. An instant may have several passes (a job without run time ends where it starts): a row
 * waits until time has moved on, so that times never repeat.
 */

#include "report/csv_out.h"

#include "headroom/report.h"

#include <stdlib.h>

struct counts {
  uint64_t waiting, running, allocated_milli, total_milli;
};

struct hr_timeline {
  struct hr__csv_out csv;
  int64_t clock_us, at_us; /* added to a time to show it; when `pending` began to hold */
  struct counts written, pending;
  bool any_written, any_pending;
};

enum hr_status hr_timeline_create(const char *path, const struct hr_trace *trace, struct hr_timeline **timeline,
                                  struct hr_error *error) {
  struct hr_timeline *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  fresh->clock_us = trace->dated ? 0 : trace->origin_us;
  enum hr_status status = hr__csv_open(&fresh->csv, path, "time_s,waiting,running,gpus_allocated,gpus_total", error);
  if (status != HR_OK) {
    free(fresh);
    return status;
  }
  *timeline = fresh;
  return HR_OK;
}

static bool same(const struct counts *a, const struct counts *b) {
  return a->waiting == b->waiting && a->running == b->running && a->allocated_milli == b->allocated_milli &&
         a->total_milli == b->total_milli;
}

static void write_pending(struct hr_timeline *timeline) {
  const struct counts *counts = &timeline->pending;
  bool news = timeline->any_pending && !(timeline->any_written && same(counts, &timeline->written));
  timeline->any_pending = false;
  if (!news) return;
  hr__csv_seconds(&timeline->csv, timeline->at_us + timeline->clock_us);
  hr__csv_u64(&timeline->csv, counts->waiting);
  hr__csv_u64(&timeline->csv, counts->running);
  hr__csv_milli(&timeline->csv, counts->allocated_milli);
  hr__csv_milli(&timeline->csv, counts->total_milli);
  hr__csv_end_row(&timeline->csv);
  timeline->written = *counts;
  timeline->any_written = true;
}

static void on_instant(void *self, const struct hr_view *view) {
  struct hr_timeline *timeline = self;
  if (view->now_us != timeline->at_us) write_pending(timeline);
  timeline->at_us = view->now_us;
  timeline->pending = (struct counts){view->n_waiting, view->n_running, view->allocated_milli, view->total_milli};
  timeline->any_pending = true;
}

struct hr_fold hr_timeline_fold(struct hr_timeline *timeline) {
  return (struct hr_fold){.self = timeline, .on_instant = on_instant};
}

enum hr_status hr_timeline_finish(struct hr_timeline *timeline, struct hr_error *error) {
  write_pending(timeline);
  return hr__csv_commit(&timeline->csv, error);
}

void hr_timeline_destroy(struct hr_timeline *timeline) {
  if (!timeline) return;
  hr__csv_abandon(&timeline->csv);
  free(timeline);
}
