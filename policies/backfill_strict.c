/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strict order: the first job that does not fit stops the pass. */

#include "policies/queue.h"

static enum hr_status pass(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  struct hr__shape *blocked;
  return hr__queue_start_in_order(queue, view, plan, &blocked);
}

const struct hr__backfill hr__backfill_strict = {.pass = pass};
