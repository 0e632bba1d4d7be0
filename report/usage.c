/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Integrals over time of waiting jobs, allocated GPUs and GPUs that are there. Between two passes nothing changes, so
 * each pass adds one rectangle. The sums are kept as they stood at the last submit and at the last end, the two moments
 * up to which utilization is asked for.
 */

#include "report/usage.h"

#include <stdlib.h>

struct hr_usage *hr_usage_create(const struct hr_trace *trace) {
  struct hr_usage *usage = calloc(1, sizeof *usage);
  if (usage && trace->n_jobs) usage->last_submit_us = trace->submit_us[trace->n_jobs - 1];
  return usage;
}

void hr_usage_destroy(struct hr_usage *usage) {
  free(usage);
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr_usage *usage = self;
  (void)view;
  if (event->kind == HR_EVENT_END) usage->ended = true;
}

static void advance(struct hr_usage *usage, int64_t now_us) {
  uint64_t passed_us = (uint64_t)(now_us - usage->now.until_us);
  usage->now.waiting += (hr__wide)usage->waiting * passed_us;
  usage->now.allocated_milli += (hr__wide)usage->allocated_milli * passed_us;
  usage->now.total_milli += (hr__wide)usage->total_milli * passed_us;
  usage->now.until_us = now_us;
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
}

struct hr_fold hr_usage_fold(struct hr_usage *usage) {
  return (struct hr_fold){.self = usage, .on_event = on_event, .on_instant = on_instant};
}
