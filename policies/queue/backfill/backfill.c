/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The backfills `strict`, `skip` and `easy`.
 *
 * Strict order: the first job that does not fit stops the pass. It still does not fit until capacity comes free or
 * another job comes first, so passes until then have nothing to do.
 */

#include "policies/queue/dispatch.h"

static enum hr_status pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__shape *waiting = hr__active_shape(&queue->waiting, 0);
  if (!queue->freed && queue->blocked.id == waiting->head.job.id) return HR_OK;
  enum hr_status status = hr__queue_start_in_order(queue, view, moves, &waiting);
  queue->blocked = waiting ? waiting->head.job : (hr_job){HR_NONE};
  queue->freed = false;
  return status;
}

const struct hr__backfill hr__backfill_strict = {.pass = pass};

/* Skip: jobs that do not fit are passed. Starting jobs only takes capacity away, so a shape that does not fit is out
   for the rest of the pass, and the next job to start is the first among the heads of the shapes that fit. */

/* Returns the fitting shape with the first head in order, and its placement; NULL if none fits. */
static struct hr__shape *first_fitting(const struct hr__queue *queue, struct hr_placement *placement) {
  struct hr__shape *first = NULL;
  for (uint32_t i = 0; i < queue->waiting.n_active; i++) {
    struct hr__shape *shape = hr__active_shape(&queue->waiting, i);
    if (first && !hr__entry_before(shape->head, first->head)) continue;
    struct hr_placement unused;
    if (hr__fits(queue, shape->gpus, shape->kind, &unused)) first = shape;
  }
  if (first) hr__fits(queue, first->gpus, first->kind, placement);
  return first;
}

static enum hr_status skip_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  enum hr_status status = HR_OK;
  struct hr_placement placement;
  struct hr__shape *shape;
  while (status == HR_OK && (shape = first_fitting(queue, &placement))) {
    bool in_order = hr__waiting_first(&queue->waiting) == shape;
    status = hr__queue_start(queue, view, moves, shape, shape->head, &placement,
                             in_order ? HR_REASON_IN_ORDER : HR_REASON_BACKFILL);
  }
  return status;
}

const struct hr__backfill hr__backfill_skip = {.by_shape = true, .passes_over = true, .pass = skip_pass};

/*
 * EASY backfilling (Lifka, "The ANL/IBM SP Scheduling System", JSSPP 1995; Mu'alem and Feitelson, TPDS 2001). The first
 * job that does not fit, the head, gets a reservation: the earliest time T at which it fits, by the limits of running
 * jobs. A later job that fits now starts if it ends by T by its own limit, or if the head still fits at T while it
 * runs.
 *
 * Jobs of one shape differ only in their limits, so there are two questions per shape: does it fit now, and may a long
 * job of it run beyond T. The next candidate is the shape's first job in order (long ones allowed) or its first one
 * with a limit that is small enough. As in a plain walk over the queue, each job is considered once: candidates come
 * after the one started last.
 */

struct backfill_candidate {
  struct hr__shape *shape;
  struct hr_job_entry entry;
};

/* Finds the shape's next job after `last` that may start now. */
static bool next_in_shape(struct hr__queue *queue, struct hr__shape *shape, const struct hr__shape *head,
                          struct hr_job_entry last, int64_t reserved_us, int64_t now_us, struct hr_job_entry *entry) {
  struct hr_job_entry first;
  struct hr_placement placement;
  int64_t window_us = reserved_us - now_us;
  if (!hr__waiting_next(&queue->waiting, shape, last, INT64_MAX, &first)) return false;
  if (!hr__fits(queue, shape->gpus, shape->kind, &placement)) return false;
  *entry = first;
  if (first.value <= window_us) return true;
  if (hr__locality_allows(queue, shape, &placement, head, reserved_us, now_us)) return true;
  return hr__waiting_next(&queue->waiting, shape, last, window_us, entry);
}

static struct backfill_candidate next_candidate(struct hr__queue *queue, const struct hr__shape *head,
                                                struct hr_job_entry last, int64_t reserved_us, int64_t now_us) {
  struct backfill_candidate best = {0};
  for (uint32_t i = 0; i < queue->waiting.n_active; i++) {
    struct hr__shape *shape = hr__active_shape(&queue->waiting, i);
    struct hr_job_entry entry;
    if (shape == head) continue; /* jobs of the head's shape do not fit either */
    if (!next_in_shape(queue, shape, head, last, reserved_us, now_us, &entry)) continue;
    if (!best.shape || hr__entry_before(entry, best.entry)) best = (struct backfill_candidate){shape, entry};
  }
  return best;
}

static enum hr_status easy_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__shape *head;
  enum hr_status status = hr__queue_start_in_order(queue, view, moves, &head);
  if (status != HR_OK || !head || queue->waiting.n_active == 1) return status;
  int64_t reserved_us = hr__locality_earliest(queue, view, head);
  queue->head = head->head.job;
  queue->reserved_us = reserved_us;
  struct hr_job_entry last = head->head;
  while (status == HR_OK) {
    struct backfill_candidate candidate = next_candidate(queue, head, last, reserved_us, view->now_us);
    if (!candidate.shape) break;
    struct hr_placement placement;
    hr__fits(queue, candidate.shape->gpus, candidate.shape->kind, &placement);
    last = candidate.entry;
    bool is_short = last.value <= reserved_us - view->now_us;
    if (queue->gpu_calendar && !is_short &&
        !hr__locality_allows(queue, candidate.shape, &placement, head, reserved_us, view->now_us))
      continue; /* a placement rule that draws has found another placement */
    status = hr__queue_start(queue, view, moves, candidate.shape, last, &placement, HR_REASON_BACKFILL);
  }
  return status;
}

const struct hr__backfill hr__backfill_easy = {
    .by_shape = true, .needs_calendar = true, .value = hr_trace_limit_us, .pass = easy_pass};
