/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Integrals over time of waiting jobs, allocated GPUs and GPUs that are there, and of what is idle and of little use
 * where GPUs are told apart. Between two passes nothing changes, so each pass adds one rectangle. The sums are kept as
 * they stood at the last submit and at the last end, the two moments up to which utilization is asked for.
 */

#include "report/usage.h"

#include <stdlib.h>

struct hr_usage *hr_usage_create(const struct hr_trace *trace) {
  struct hr_usage *usage = calloc(1, sizeof *usage);
  if (usage && trace->n_jobs) usage->last_submit_us = trace->submit_us[trace->n_jobs - 1];
  return usage;
}

void hr_usage_destroy(struct hr_usage *usage) {
  if (!usage) return;
  hr__fragments_destroy(usage->fragments);
  hr__by_pool_destroy(usage->by_pool);
  free(usage);
}

/* The first pass finds all nodes as they are, later ones what events changed. */
static void begin(struct hr_usage *usage, const struct hr_view *view) {
  usage->begun = true;
  if (!view->cluster) return;
  if (hr_cluster_pools(view->cluster) > 1) {
    usage->by_pool = hr__by_pool_create(view->cluster, view->jobs->n_jobs);
    usage->out_of_memory = !usage->by_pool;
  }
  if (!hr_cluster_stock(view->cluster)) return;
  usage->fragments = hr__fragments_create(view->cluster);
  usage->out_of_memory |= !usage->fragments;
  usage->least_gang = UINT64_MAX;
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr_usage *usage = self;
  if (!usage->begun) begin(usage, view);
  if (event->kind == HR_EVENT_END) usage->ended = true;
  if (usage->by_pool) hr__by_pool_note(usage->by_pool, view->jobs, event);
  if (usage->fragments) hr__fragments_note(usage->fragments, event);
}

static void advance(struct hr_usage *usage, int64_t now_us) {
  uint64_t passed_us = (uint64_t)(now_us - usage->now.until_us);
  usage->now.waiting += (hr__wide)usage->waiting * passed_us;
  usage->now.allocated_milli += (hr__wide)usage->allocated_milli * passed_us;
  usage->now.total_milli += (hr__wide)usage->total_milli * passed_us;
  usage->now.fragment += usage->counts.fragment * passed_us;
  usage->now.stranded_milli += (hr__wide)usage->counts.stranded_milli * passed_us;
  usage->now.largest_gang += (hr__wide)usage->counts.largest_gang * passed_us;
  usage->now.until_us = now_us;
}

/* Shares are compared as products, whole numbers both. */
static void count_fragments(struct hr_usage *usage) {
  usage->counts = hr__fragments_count(usage->fragments);
  struct hr__fragment_share *most = &usage->most, now = {usage->counts.fragment, usage->total_milli};
  if (now.total_milli > 0 &&
      (most->total_milli == 0 || now.fragment * most->total_milli > most->fragment * now.total_milli))
    *most = now;
  if (usage->least_gang > usage->counts.largest_gang) usage->least_gang = usage->counts.largest_gang;
}

static void on_instant(void *self, const struct hr_view *view) {
  struct hr_usage *usage = self;
  advance(usage, view->now_us);
  if (!usage->submits_over && view->now_us >= usage->last_submit_us) {
    usage->at_last_submit = usage->now;
    usage->submits_over = true;
  }
  if (usage->ended) usage->at_last_end = usage->now;
  usage->ended = false;
  usage->waiting = view->n_waiting;
  usage->allocated_milli = view->allocated_milli;
  usage->total_milli = view->total_milli;
  if (usage->max_waiting < view->n_waiting) usage->max_waiting = view->n_waiting;
  if (!usage->begun) begin(usage, view);
  if (usage->fragments) count_fragments(usage);
}

struct hr_fold hr_usage_fold(struct hr_usage *usage) {
  return (struct hr_fold){.self = usage, .on_event = on_event, .on_instant = on_instant};
}
