/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Strict order: the first job that does not fit stops the pass. Until capacity comes free or another job comes first,
 * it goes on not to fit, and there is nothing to do.
 */

#include "policies/dispatch.h"

static enum hr_status pass(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  struct hr__shape *waiting = hr__active_shape(&queue->waiting, 0);
  if (!queue->freed && queue->blocked.id == waiting->head.job.id) return HR_OK;
  enum hr_status status = hr__queue_start_in_order(queue, view, plan, &waiting);
  queue->blocked = waiting ? waiting->head.job : (hr_job){HR_NONE};
  queue->freed = false;
  return status;
}

const struct hr__backfill hr__backfill_strict = {.pass = pass};
