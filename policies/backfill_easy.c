/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * EASY backfilling (Lifka, "The ANL/IBM SP Scheduling System", JSSPP 1995; Mu'alem and Feitelson, TPDS 2001). The
 * first job that does not fit, the head, gets a reservation: the earliest time T at which, by the limits of what
 * runs, it fits. A later job that fits now starts if it ends by T by its own limit, or if the head still fits at T
 * while it runs on.
 *
 * Jobs of one shape differ only in their limits, so per shape there are two questions: does the shape fit now, and may
 * a long job of it run on beyond T. The next candidate is then the shape's first job in order (long ones allowed) or
 * its first with a limit small enough. As in a plain walk down the queue, each job is looked at once: candidates
 * come after the one started last.
 */

#include "policies/dispatch.h"

struct candidate {
  struct hr__shape *shape;
  struct hr_job_entry entry;
};

/* The shape's next job after `last` that may start now, by the rule above. */
static bool next_in_shape(struct hr__queue *queue, struct hr__shape *shape, const struct hr__shape *head,
                          struct hr_job_entry last, int64_t reserved_us, int64_t now_us, struct hr_job_entry *entry) {
  struct hr_job_entry first;
  struct hr_placement placement;
  int64_t window_us = reserved_us - now_us;
  if (!hr__waiting_next(&queue->waiting, shape, last, INT64_MAX, &first)) return false;
  if (!hr__fits(queue, shape->gpus, shape->kind, &placement)) return false;
  *entry = first;
  if (first.value <= window_us) return true;
  if (hr__within_allows(queue, shape, &placement, head, reserved_us, now_us)) return true;
  return hr__waiting_next(&queue->waiting, shape, last, window_us, entry);
}

static struct candidate next_candidate(struct hr__queue *queue, const struct hr__shape *head, struct hr_job_entry last,
                                       int64_t reserved_us, int64_t now_us) {
  struct candidate best = {0};
  for (uint32_t i = 0; i < queue->waiting.n_active; i++) {
    struct hr__shape *shape = hr__active_shape(&queue->waiting, i);
    struct hr_job_entry entry;
    if (shape == head) continue; /* what does not fit for the head does not fit for its like */
    if (!next_in_shape(queue, shape, head, last, reserved_us, now_us, &entry)) continue;
    if (!best.shape || hr__entry_before(entry, best.entry)) best = (struct candidate){shape, entry};
  }
  return best;
}

static enum hr_status pass(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  struct hr__shape *head;
  enum hr_status status = hr__queue_start_in_order(queue, view, plan, &head);
  if (status != HR_OK || !head || queue->waiting.n_active == 1) return status;
  int64_t reserved_us = hr__within_earliest(queue, view, head);
  queue->head = head->head.job;
  queue->reserved_us = reserved_us;
  struct hr_job_entry last = head->head;
  while (status == HR_OK) {
    struct candidate candidate = next_candidate(queue, head, last, reserved_us, view->now_us);
    if (!candidate.shape) break;
    struct hr_placement placement;
    hr__fits(queue, candidate.shape->gpus, candidate.shape->kind, &placement);
    last = candidate.entry;
    bool is_short = last.value <= reserved_us - view->now_us;
    if (queue->outlook && !is_short &&
        !hr__within_allows(queue, candidate.shape, &placement, head, reserved_us, view->now_us))
      continue; /* a rule that draws has found another place than before */
    status = hr__queue_start(queue, view, plan, candidate.shape, last, &placement, HR_REASON_BACKFILL);
  }
  return status;
}

const struct hr__backfill hr__backfill_easy = {
    .by_shape = true, .needs_releases = true, .value = hr_trace_limit_us, .pass = pass};
