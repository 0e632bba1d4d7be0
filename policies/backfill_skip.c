/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs that do not fit are passed over. Starting jobs only takes capacity away, so within a pass a shape that does
 * not fit stays out, and the next job to start is the first among the heads of shapes that fit.
 */

#include "policies/dispatch.h"

/* The fitting shape whose head comes first, and its placement; NULL when none fits. */
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

static enum hr_status pass(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  enum hr_status status = HR_OK;
  struct hr_placement placement;
  struct hr__shape *shape;
  while (status == HR_OK && (shape = first_fitting(queue, &placement))) {
    bool in_order = hr__waiting_first(&queue->waiting) == shape;
    status = hr__queue_start(queue, view, plan, shape, shape->head, &placement,
                             in_order ? HR_REASON_IN_ORDER : HR_REASON_BACKFILL);
  }
  return status;
}

const struct hr__backfill hr__backfill_skip = {.by_shape = true, .passes_over = true, .pass = pass};
