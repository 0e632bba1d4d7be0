/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The counts over time. An instant may have several passes (a job without run time ends where it starts): a row
 * waits until time has moved on, so that times never repeat.
 */

#include "report/csv_out.h"

#include "report/usage.h"

#include <stdlib.h>

struct counts {
  uint64_t waiting, running, allocated_milli, total_milli;
  bool tells_fragments; /* the rest is known */
  uint64_t fragmented_milli, stranded_milli, largest_gang;
};

struct hr_timeline {
  struct hr__csv_out csv;
  const struct hr_usage *usage; /* may be NULL */
  int64_t clock_us, at_us;      /* added to a time to show it; when `pending` began to hold */
  struct counts written, pending;
  bool any_written, any_pending;
};

static const char header[] =
    "time_s,waiting,running,gpus_allocated,gpus_total,fragmented_gpus,stranded_gpus,largest_gang";

enum hr_status hr_timeline_create(const char *path, const struct hr_trace *trace, const struct hr_usage *usage,
                                  struct hr_timeline **timeline, struct hr_error *error) {
  struct hr_timeline *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  fresh->clock_us = trace->dated ? 0 : trace->origin_us;
  fresh->usage = usage;
  enum hr_status status = hr__csv_open(&fresh->csv, path, header, error);
  if (status != HR_OK) {
    free(fresh);
    return status;
  }
  *timeline = fresh;
  return HR_OK;
}

static bool same(const struct counts *a, const struct counts *b) {
  return a->waiting == b->waiting && a->running == b->running && a->allocated_milli == b->allocated_milli &&
         a->total_milli == b->total_milli && a->tells_fragments == b->tells_fragments &&
         a->fragmented_milli == b->fragmented_milli && a->stranded_milli == b->stranded_milli &&
         a->largest_gang == b->largest_gang;
}

static void put_fragments(struct hr__csv_out *csv, const struct counts *counts) {
  for (int column = 0; !counts->tells_fragments && column < 3; column++) hr__csv_empty(csv);
  if (!counts->tells_fragments) return;
  hr__csv_milli(csv, counts->fragmented_milli);
  hr__csv_milli(csv, counts->stranded_milli);
  hr__csv_u64(csv, counts->largest_gang);
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
  put_fragments(&timeline->csv, counts);
  hr__csv_end_row(&timeline->csv);
  timeline->written = *counts;
  timeline->any_written = true;
}

static void add_fragments(struct counts *counts, const struct hr_usage *usage) {
  uint64_t pods = hr__fragments_pods(usage->fragments);
  counts->tells_fragments = true;
  counts->fragmented_milli = (uint64_t)((usage->counts.fragment + pods / 2) / pods);
  counts->stranded_milli = usage->counts.stranded_milli;
  counts->largest_gang = usage->counts.largest_gang;
}

static void on_instant(void *self, const struct hr_view *view) {
  struct hr_timeline *timeline = self;
  if (view->now_us != timeline->at_us) write_pending(timeline);
  timeline->at_us = view->now_us;
  timeline->pending = (struct counts){.waiting = view->n_waiting,
                                      .running = view->n_running,
                                      .allocated_milli = view->allocated_milli,
                                      .total_milli = view->total_milli};
  if (timeline->usage && timeline->usage->fragments) add_fragments(&timeline->pending, timeline->usage);
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
