/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Computes the planned times of maintenance from the description of a pool. The maintenance of group g of a window
 * begins at start + g (lead + duration) and takes `duration`. The span of a window covers all its groups, each with its
 * lead time. In a window that repeats, all times recur after each period.
 *
 * Source of the rule for jobs: a job may start on nodes of a MAINT reservation only if its time limit ends before the
 * reservation begins (doc/html/reservations of SchedMD/slurm).
 */

#include "headroom/cluster.h"
#include "headroom/unstable/faults.h"

#include <stdlib.h>

static uint32_t groups_of(const struct hr_maintenance *window, uint32_t nodes) {
  return nodes ? (nodes - 1) / window->group_nodes + 1 : 0;
}

int64_t hr_maintenance_span_us(const struct hr_maintenance *window, uint32_t nodes) {
  return (int64_t)groups_of(window, nodes) * (window->lead_us + window->duration_us);
}

static struct hr_maintenance_time next_of(const struct hr_maintenance *window, uint32_t node, int64_t after_us) {
  int64_t begin_us = window->start_us + (node / window->group_nodes) * (window->lead_us + window->duration_us);
  int64_t late_us = after_us - (begin_us + window->duration_us);
  if (late_us >= 0 && !window->repeat_us) return (struct hr_maintenance_time){HR_NEVER_US, HR_NEVER_US, 0};
  if (late_us >= 0) begin_us += (late_us / window->repeat_us + 1) * window->repeat_us;
  return (struct hr_maintenance_time){begin_us, begin_us + window->duration_us, 0};
}

struct hr_maintenance_time hr_maintenance_next(const struct hr_pool_spec *pool, uint32_t node, int64_t after_us) {
  struct hr_maintenance_time first = {HR_NEVER_US, HR_NEVER_US, 0};
  for (uint32_t i = 0; i < pool->n_maintenance; i++) {
    struct hr_maintenance_time next = next_of(&pool->maintenance[i], node, after_us);
    if (next.begin_us >= first.begin_us) continue;
    first = next;
    first.window = i;
  }
  return first;
}

struct hr_maintenance_time hr_maintenance_ahead(const struct hr_pool_spec *pool, uint32_t node, int64_t now_us,
                                                int64_t limit_us) {
  struct hr_maintenance_time first = {HR_NEVER_US, HR_NEVER_US, 0};
  for (uint32_t i = 0; i < pool->n_maintenance; i++) {
    const struct hr_maintenance *window = &pool->maintenance[i];
    if (window->repeat_us && limit_us > window->repeat_us - window->duration_us) continue;
    struct hr_maintenance_time next = next_of(window, node, now_us);
    if (next.begin_us >= first.begin_us || next.begin_us - now_us >= limit_us) continue;
    first = next;
    first.window = i;
  }
  return first;
}

/* ---- Overlaps ---- */

static int64_t common_divisor(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* Whether two intervals, each with a begin and a length, overlap: `once`, and `other` or one of its repetitions.
   `repeat_us`: the period of the repetitions; 0: none. */
static bool meets(int64_t once_at, int64_t once_us, int64_t other_at, int64_t other_us, int64_t repeat_us) {
  int64_t last = 0; /* the last repetition that begins before the end of `once` */
  if (repeat_us && once_at + once_us > other_at) last = (once_at + once_us - 1 - other_at) / repeat_us;
  other_at += last * repeat_us;
  return other_at < once_at + once_us && once_at < other_at + other_us;
}

static bool overlap(const struct hr_maintenance *a, const struct hr_maintenance *b, uint32_t nodes) {
  int64_t a_us = hr_maintenance_span_us(a, nodes), b_us = hr_maintenance_span_us(b, nodes);
  int64_t a_at = a->start_us - a->lead_us, b_at = b->start_us - b->lead_us;
  if (!a->repeat_us) return meets(a_at, a_us, b_at, b_us, b->repeat_us);
  if (!b->repeat_us) return meets(b_at, b_us, a_at, a_us, a->repeat_us);
  int64_t period = common_divisor(a->repeat_us, b->repeat_us), ahead = (b_at - a_at) % period;
  if (ahead < 0) ahead += period;
  return ahead < a_us || period - ahead < b_us;
}

uint32_t hr_maintenance_overlap(const struct hr_pool_spec *pool, uint32_t *other) {
  for (uint32_t i = 0; i < pool->n_maintenance; i++) {
    const struct hr_maintenance *window = &pool->maintenance[i];
    *other = i;
    if (window->repeat_us && hr_maintenance_span_us(window, pool->nodes) > window->repeat_us) return i;
    for (*other = 0; *other < i; ++*other)
      if (overlap(window, &pool->maintenance[*other], pool->nodes)) return i;
  }
  return HR_NONE;
}

/* ---- Memory and names ---- */

void hr_maintenance_destroy(struct hr_maintenance *windows, uint32_t n_windows) {
  for (uint32_t i = 0; windows && i < n_windows; i++) free(windows[i].name);
  free(windows);
}
