/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "headroom/exports.h"
#include "sim/grow.h"

#include <stdlib.h>

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

static bool same(const struct hr_count_change *a, const struct hr_count_change *b) {
  return a->waiting == b->waiting && a->running == b->running && a->allocated_milli == b->allocated_milli &&
         a->total_milli == b->total_milli;
}

/* An instant may have several passes; what holds after the last one counts. */
static void on_instant(void *self, const struct hr_view *view) {
  struct hr_counts *counts = self;
  const struct hr_count_change change = {view->now_us, view->n_waiting, view->n_running, view->allocated_milli,
                                         view->total_milli};
  if (counts->n_changes && counts->changes[counts->n_changes - 1].at_us == view->now_us) counts->n_changes--;
  if (counts->n_changes && same(&counts->changes[counts->n_changes - 1], &change)) return;
  if (counts->n_changes == counts->changes_capacity) {
    struct hr_count_change *grown = hr__grown(counts->changes, &counts->changes_capacity, sizeof *grown);
    counts->out_of_memory |= !grown;
    if (!grown) return;
    counts->changes = grown;
  }
  counts->changes[counts->n_changes++] = change;
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr_counts *counts = self;
  (void)view;
  if (event->kind != HR_EVENT_REJECT) return;
  if (counts->n_rejections == counts->rejections_capacity) {
    struct hr_rejection *grown = hr__grown(counts->rejections, &counts->rejections_capacity, sizeof *grown);
    counts->out_of_memory |= !grown;
    if (!grown) return;
    counts->rejections = grown;
  }
  counts->rejections[counts->n_rejections++] = (struct hr_rejection){event->at_us, event->job, (uint8_t)event->reason};
}

struct hr_fold hr_counts_fold(struct hr_counts *counts) {
  return (struct hr_fold){.self = counts, .on_event = on_event, .on_instant = on_instant};
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
