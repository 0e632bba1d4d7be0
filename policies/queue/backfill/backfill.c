/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The backfills `strict`, `skip` and `easy`.
 *
 * strict: the first job that does not fit ends the pass. Until capacity becomes free or another job becomes the first
 * in order, no job can start, so passes do nothing.
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

/* skip: jobs that do not fit are skipped. Starts only reduce free capacity, so a shape that does not fit once need not
   be tried again in the pass. The next job to start is found among the first jobs of all shapes that fit: it is the one
   that is first in order. */

/* Compares the first jobs of the shapes that fit, and returns the shape of the job that is first in order, and its
   placement; NULL if no shape fits. */
static struct hr__shape *first_fitting(const struct hr__queue *queue, struct hr_placement *placement) {
  struct hr__shape *first = NULL;
  for (uint32_t i = 0; i < queue->waiting.n_active; i++) {
    struct hr__shape *shape = hr__active_shape(&queue->waiting, i);
    if (first && !hr__entry_before(shape->head, first->head)) continue;
    struct hr_placement unused;
    if (hr__shape_fits(queue, shape, &unused)) first = shape;
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
 * EASY backfilling (Lifka, "The ANL/IBM SP Scheduling System", JSSPP 1995; Mu'alem and Feitelson, TPDS 2001). The head
 * is the first job that does not fit. It gets a reservation at T, the earliest time at which it fits if running jobs
 * end at their limits. A later job that fits now starts in two cases: its limit ends by T, or the head would fit at T
 * even if the later job still ran.
 *
 * Jobs of one shape differ only in their limits. Therefore two checks per shape are sufficient: whether the shape fits
 * now, and whether a job of the shape may run beyond T. If it may, the next candidate is the first job of the shape;
 * otherwise it is the first job of the shape with a limit that ends by T. A candidate must come after the previous
 * candidate in order, so each job is considered once, as in a simple walk over the queue.
 */

struct backfill_candidate {
  struct hr__shape *shape;
  struct hr_job_entry entry;
};

/* Returns whether the shape has a job after `last` that may start now, and writes the first such job. */
static bool next_in_shape(struct hr__queue *queue, struct hr__shape *shape, const struct hr__shape *head,
                          struct hr_job_entry last, int64_t reserved_us, int64_t now_us, struct hr_job_entry *entry) {
  struct hr_job_entry first;
  struct hr_placement placement;
  int64_t window_us = reserved_us - now_us;
  /* Whether counted GPUs suffice is decided faster than which job is next. The order of these two checks matters if the
     placement rule draws random numbers, or if the search parks subqueues. */
  bool counted = !queue->by_gpu && !queue->quota;
  if (counted && !hr__shape_fits(queue, shape, &placement)) return false;
  if (!hr__waiting_next(&queue->waiting, shape, last, INT64_MAX, &first)) return false;
  if (!counted && !hr__shape_fits(queue, shape, &placement)) return false;
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
    if (shape == head) continue; /* these jobs have the same request as the head, so they do not fit either */
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
      /* this placement would delay the head; the check before allowed the job because a random placement rule found
         another placement */
      continue;
    status = hr__queue_start(queue, view, moves, candidate.shape, last, &placement, HR_REASON_BACKFILL);
  }
  return status;
}

const struct hr__backfill hr__backfill_easy = {
    .by_shape = true, .needs_calendar = true, .value = hr_trace_limit_us, .pass = easy_pass};
