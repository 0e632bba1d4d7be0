/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why a job waits that is placed by its deadline: for nodes of its own to boot; for the rule, which has it wait for
   spot capacity while on-demand nodes are to be had, and does not put it beside others; or for want of nodes. */

#include "policies/deadlines_state.h"

/* Jobs come in order of their ids, and keep it. */
static const struct hr__dated *find(const struct hr__deadlines *self, hr_job job) {
  uint32_t from = 0, to = self->count;
  while (from < to) {
    uint32_t middle = from + (to - from) / 2;
    if (self->jobs[middle].job.id < job.id)
      from = middle + 1;
    else
      to = middle;
  }
  return from < self->count && self->jobs[from].job.id == job.id ? &self->jobs[from] : NULL;
}

void hr__deadlines_explain(const struct hr__queue *queue, const struct hr_view *view, hr_job job,
                           struct hr_hold *hold) {
  const struct hr__dated *dated = find(queue->deadlines, job);
  hr_view_lack(view, job, hold);
  if (!dated) return;
  bool may_hurry = hr__deadlines_offer(queue, dated, HR_MARKET_ON_DEMAND, view->now_us) != HR_NONE;
  if (dated->pool != HR_NONE)
    hold->reason = HR_HOLD_BOOTING;
  else if (may_hurry || hold->reason != HR_HOLD_CAPACITY)
    hold->reason = HR_HOLD_MARKET;
}
