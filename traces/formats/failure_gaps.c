/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Intervals of a log of failures. The events of a group are sorted, once by time for gaps of the system and once by
 * node and time for gaps of a node. Then the intervals of each group, and of all groups, are sorted by length.
 */

#include "traces/formats/failure_gaps.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double hour_us = 3600e6;

bool hr__failure_sample_add(struct hr_failure_sample *sample, double hours) {
  if (!(hours > 0)) {
    sample->zeros++;
    return true;
  }
  if (!HR__ARRAY_HAS_ROOM(sample->hours, sample->count, sample->capacity)) return false;
  sample->hours[sample->count++] = hours;
  return true;
}

static int by_time(const void *a, const void *b) {
  const struct hr__failure_event *x = a, *y = b;
  if (x->group != y->group) return x->group < y->group ? -1 : 1;
  return (x->start_us > y->start_us) - (x->start_us < y->start_us);
}

static int by_node(const void *a, const void *b) {
  const struct hr__failure_event *x = a, *y = b;
  if (x->group != y->group) return x->group < y->group ? -1 : 1;
  if (x->node != y->node) return x->node < y->node ? -1 : 1;
  if (x->start_us != y->start_us) return x->start_us < y->start_us ? -1 : 1;
  return (x->end_us > y->end_us) - (x->end_us < y->end_us);
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static int by_count(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x < y) - (x > y);
}

static double top_share(uint32_t *counts, uint32_t n_counts, uint32_t nodes) {
  uint32_t sum = 0, top = 0, n_top = nodes < 20 ? 1 : (nodes + 10) / 20;
  qsort(counts, n_counts, sizeof *counts, by_count);
  for (uint32_t i = 0; i < n_counts; i++) {
    sum += counts[i];
    if (i < n_top) top += counts[i];
  }
  return sum ? (double)top / sum : (double)NAN;
}

/* Adds the gaps between failures of the system, from events[0 .. n] of one group, which are sorted by time. */
static bool add_system_gaps(struct hr_failure_group *group, const struct hr__failure_event *events, uint32_t n) {
  group->failures = n;
  group->span_days = (double)(events[n - 1].start_us - events[0].start_us) / (24 * hour_us);
  for (uint32_t i = 1; i < n; i++)
    if (!hr__failure_sample_add(&group->samples[HR_FAILURE_SYSTEM_GAP],
                                (double)(events[i].start_us - events[i - 1].start_us) / hour_us))
      return false;
  return true;
}

/* Adds the gaps between failures of a node; the events are sorted by node and time. */
static bool add_node_gaps(struct hr_failure_group *group, const struct hr__failure_event *events, uint32_t n) {
  uint32_t n_nodes = 0;
  uint32_t *counts = calloc((size_t)n + 1, sizeof *counts);
  bool added = counts != NULL;
  for (uint32_t i = 0; added && i < n && events[i].node != HR_NONE; i++) {
    bool same = i > 0 && events[i].node == events[i - 1].node;
    n_nodes += !same;
    counts[n_nodes - 1]++;
    group->duplicates +=
        same && events[i].start_us == events[i - 1].start_us && events[i].end_us == events[i - 1].end_us;
    if (same)
      added = hr__failure_sample_add(&group->samples[HR_FAILURE_NODE_GAP],
                                     (double)(events[i].start_us - events[i - 1].start_us) / hour_us);
  }
  if (n_nodes > group->nodes) group->nodes = n_nodes;
  if (added && n_nodes) group->top_share = top_share(counts, n_nodes, group->nodes);
  free(counts);
  return added;
}

static bool add_gaps(struct hr_failure_log *log, struct hr__failure_event *all, uint32_t n_all,
                     int (*order)(const void *, const void *),
                     bool (*add)(struct hr_failure_group *, const struct hr__failure_event *, uint32_t)) {
  if (n_all) qsort(all, n_all, sizeof *all, order);
  for (uint32_t first = 0, next; first < n_all; first = next) {
    const struct hr__failure_event *events = all + first;
    for (next = first; next < n_all && all[next].group == events->group;) next++;
    if (!add(&log->groups[events->group], events, next - first)) return false;
  }
  return true;
}

/* Adds the figures and intervals of a group to those of all groups. */
static bool add_to_all(struct hr_failure_group *all, const struct hr_failure_group *group) {
  all->nodes += group->nodes;
  all->failures += group->failures;
  all->dropped += group->dropped;
  all->duplicates += group->duplicates;
  for (unsigned kind = 0; kind < HR_N_FAILURE_INTERVALS; kind++) {
    const struct hr_failure_sample *from = &group->samples[kind];
    struct hr_failure_sample *to = &all->samples[kind];
    to->zeros += from->zeros;
    if (from->count == 0) continue;
    if (!HR__ARRAY_RESIZE(to->hours, (size_t)to->count + from->count)) return false;
    memcpy(to->hours + to->count, from->hours, from->count * sizeof *to->hours);
    to->count += from->count;
  }
  return true;
}

static void sort_samples(struct hr_failure_group *group) {
  for (unsigned kind = 0; kind < HR_N_FAILURE_INTERVALS; kind++) {
    struct hr_failure_sample *sample = &group->samples[kind];
    if (sample->count) qsort(sample->hours, sample->count, sizeof *sample->hours, by_size);
  }
}

bool hr__failure_groups_finish(struct hr_failure_log *log, struct hr__failure_event *events, uint32_t n_events) {
  const bool gaps = add_gaps(log, events, n_events, by_time, add_system_gaps) &&
                    add_gaps(log, events, n_events, by_node, add_node_gaps);
  log->all = (struct hr_failure_group){.name = strdup("all"), .top_share = (double)NAN};
  bool added = log->all.name != NULL;
  for (uint32_t i = 0; i < log->n_groups && added; i++) {
    sort_samples(&log->groups[i]);
    added = add_to_all(&log->all, &log->groups[i]);
  }
  sort_samples(&log->all);
  return gaps && added;
}
