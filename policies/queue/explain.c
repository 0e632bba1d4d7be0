/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A waiting job is asked about in the order in which the pass would meet what holds it: a quota, whatever is free; want
 * of a place (there is none either where quotas leave nothing because all is in use); and where it has one, the job
 * that nobody may pass, or whose start was promised.
 */

#include "policies/queue/explain.h"

#include "policies/deadline/deadlines.h"
#include "policies/queue/market/market_plan.h"
#include "policies/queue/preemption/preemption.h"
#include "policies/queue/quota/quota.h"

/* ---- Who is before it ------------------------------------------------------------------------------- */

/* Who stopped the pass; under orders whose keys change with each start it need not be the first in order any more. */
static hr_job head_of(struct hr__queue *queue, const struct hr_view *view) {
  hr_job blocked = queue->blocked;
  bool stopped_pass = blocked.id != HR_NONE && view->state[blocked.id] == HR_JOB_WAITING;
  if (!queue->backfill->by_shape && stopped_pass) return blocked;
  if (queue->head.id != HR_NONE) return queue->head;
  const struct hr__shape *shape = hr__waiting_first(&queue->waiting);
  if (shape) queue->head = shape->head.job;
  return queue->head;
}

/* The first job of its lane where that is held back and it is not; HR_NONE. */
static hr_job held_before_it(const struct hr__queue *queue, hr_job job) {
  const struct hr__waiting *waiting = &queue->waiting;
  const struct hr__subqueue *subqueue = waiting->subqueue_of ? waiting->subqueues[waiting->subqueue_of[job.id]] : NULL;
  bool is_held = subqueue && subqueue->parked_at && subqueue->head.job.id != job.id;
  return is_held ? subqueue->head.job : (hr_job){HR_NONE};
}

/* It would fit. */
static void explain_turn(struct hr__queue *queue, const struct hr_view *view, hr_job job, struct hr_wait_reason *hold) {
  hr_job held = held_before_it(queue, job), first = held.id != HR_NONE ? held : head_of(queue, view);
  if (queue->preemptor && hr__preemption_holds(queue)) {
    hold->reason = HR_WAIT_REASON_PREEMPTION;
    hold->behind = queue->preemptor->promised;
    return;
  }
  if (queue->backfill->passes_over || first.id == HR_NONE || first.id == job.id) return;
  bool is_order = held.id != HR_NONE || !queue->backfill->by_shape;
  hold->reason = is_order ? HR_WAIT_REASON_ORDER : HR_WAIT_REASON_RESERVATION;
  hold->behind = first;
  if (!is_order) hold->until_us = queue->reserved_us;
}

/* ---- Places ----------------------------------------------------------------------------------------- */

/* Whether it would fit now. A rule that draws draws as if it had not been asked. */
static bool fits(const struct hr__queue *queue, uint32_t gpus, uint32_t kind) {
  struct hr_placement unused;
  uint64_t finds = queue->allocator ? hr__gpu_allocator_finds(queue->allocator) : 0;
  bool found = hr__fits(queue, gpus, kind, &unused);
  if (queue->allocator) hr__gpu_allocator_rewind(queue->allocator, finds);
  return found;
}

static bool fits_elsewhere(const struct hr__queue *queue, uint32_t gpus, uint32_t kind) {
  uint64_t finds = queue->allocator ? hr__gpu_allocator_finds(queue->allocator) : 0;
  bool found = queue->within && hr__locality_keeps_out(queue, gpus, kind);
  if (queue->allocator) hr__gpu_allocator_rewind(queue->allocator, finds);
  return found;
}

static void explain_room(struct hr__queue *queue, const struct hr_view *view, hr_job job, uint32_t kind,
                         struct hr_wait_reason *hold) {
  hr_view_lack(view, job, hold);
  if (hold->reason == HR_WAIT_REASON_BOOTING) return;
  if (fits_elsewhere(queue, hr__gpus(queue, job), kind))
    hold->reason = HR_WAIT_REASON_TOPOLOGY;
  else if (queue->market && hr__market_could_ask(queue, job)) {
    hold->reason = HR_WAIT_REASON_MARKET;
    hold->until_us = hr__market_patience_us(queue, job);
  } else if (queue->allocator && hold->reason == HR_WAIT_REASON_FRAGMENTS && hr__gpu_allocator_lacks_node(queue, job))
    hold->reason = HR_WAIT_REASON_NODE_RESOURCES;
}

/* ---- The whole -------------------------------------------------------------------------------------- */

void hr__queue_explain(struct hr__queue *queue, const struct hr_view *view, hr_job job, struct hr_wait_reason *hold) {
  if (queue->deadlines) {
    hr__deadlines_explain(queue, view, job, hold);
    return;
  }
  uint32_t kind = hr__kind(queue, job);
  if (queue->preemptor && queue->preemptor->promised.id == job.id)
    hold->reason = HR_WAIT_REASON_PREEMPTION;
  else if (hr__quota_holds(queue, job, &hold->quota) && hold->quota != HR_QUOTA_ROOT)
    hold->reason = HR_WAIT_REASON_QUOTA;
  else if (!fits(queue, hr__gpus(queue, job), kind))
    explain_room(queue, view, job, kind, hold);
  else if (hold->quota == HR_QUOTA_ROOT)
    hold->reason = HR_WAIT_REASON_QUOTA;
  else
    explain_turn(queue, view, job, hold);
  if (hold->reason != HR_WAIT_REASON_QUOTA) hold->quota = HR_NONE;
}

uint32_t hr__queue_explains_by(const struct hr__queue *queue) {
  bool by_promise = queue->preemptor && queue->preemptor->terms.grace_us > 0;
  bool by_wait = queue->within && hr__locality_lapses(queue);
  if (queue->deadlines || by_promise || by_wait) return HR_POLICY_HOLDS_BY_JOB;
  return queue->quota ? HR_POLICY_HOLDS_BY_TENANT : 0;
}
