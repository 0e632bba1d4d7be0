/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Waiting jobs in order, each started where it fits, or where others can be stopped for it. Where the order says it all
   and only the count of GPUs matters, the whole pass is one walk (preempt_count.c). */

#include "policies/preempt_pass.h"
#include "policies/preempt_count.h"
#include "policies/preempt_victims.h"
#include "policies/quota.h"

/* Who may start next: the first job of a shape, or of a lane whose shape's first job was refused, as others may be
   stopped for it; or of one that quotas hold back. */
struct next {
  struct hr__shape *shape; /* NULL: nobody */
  struct hr_job_entry entry;
  struct hr__lane *lane; /* NULL where there are none */
};

static void consider(struct next *next, struct hr__shape *shape, struct hr_job_entry entry, struct hr__lane *lane) {
  if (next->shape && !hr__entry_before(entry, next->entry)) return;
  *next = (struct next){shape, entry, lane};
}

static void consider_shape(const struct hr__queue *queue, struct hr__shape *shape, struct next *next) {
  uint32_t pass = queue->preemptor->n_passes;
  struct hr__lane *lane = hr__waiting_first_lane(&queue->waiting, shape);
  if (shape->refused != pass) {
    consider(next, shape, shape->head, lane);
    return;
  }
  while (lane && lane->refused == pass) lane = hr__waiting_next_lane(&queue->waiting, lane);
  if (lane) consider(next, shape, lane->listed, lane);
}

/* Lanes that are parked come in order, too: those whose turn it is, and those behind the first job of a shape that was
   refused. */
static bool may_be_next(const struct hr__queue *queue, const struct hr__lane *lane) {
  const struct hr__shape *shape = lane->shape;
  uint32_t pass = queue->preemptor->n_passes;
  if (lane->refused == pass) return false;
  if (hr__quota_is_turn(queue, lane->head.job)) return true;
  bool is_active = shape->active_at[queue->waiting.preferred_only] != HR_NONE;
  return is_active && shape->refused == pass && hr__entry_before(shape->head, lane->listed);
}

static struct next next_in_order(struct hr__queue *queue) {
  const struct hr__waiting *waiting = &queue->waiting;
  struct next next = {0};
  for (uint32_t i = 0; i < waiting->n_active; i++) consider_shape(queue, hr__active_shape(waiting, i), &next);
  for (uint32_t i = 0; i < waiting->n_parked; i++) {
    struct hr__lane *lane = waiting->parked[i];
    if (may_be_next(queue, lane)) consider(&next, lane->shape, lane->listed, lane);
  }
  return next;
}

/* Starts a job, or stops others for it. */
static enum hr_status try_job(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan,
                              const struct next *next, enum hr_reason reason, bool allowed, bool *started) {
  hr_job job = next->entry.job;
  struct hr_placement placement;
  *started = allowed && hr__fits(queue, hr__gpus(queue, job), hr__kind(queue, job), &placement);
  if (!*started) return hr__preempt_victims(queue, view, plan, next->shape, next->entry, reason, started);
  return hr__queue_start(queue, view, plan, next->shape, next->entry, &placement, reason);
}

static enum hr_status pass_on_nodes(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  struct hr__preemptor *preemptor = queue->preemptor;
  enum hr_status status = HR_OK;
  enum hr_reason reason = HR_REASON_IN_ORDER;
  preemptor->n_passes++;
  for (struct next next; status == HR_OK && (next = next_in_order(queue)).shape;) {
    bool started, allowed = hr__quota_allows(queue, next.entry.job);
    status = try_job(queue, view, plan, &next, reason, allowed, &started);
    if (hr__preemption_holds(queue)) break;
    if (started) continue;
    if (next.lane) next.lane->refused = preemptor->n_passes;
    if (allowed) next.shape->refused = preemptor->n_passes;
    if (allowed && !queue->backfill->passes_over) break;
    reason = HR_REASON_BACKFILL;
  }
  return status;
}

static enum hr_status keep_promise(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  struct hr__preemptor *preemptor = queue->preemptor;
  hr_job job = preemptor->promised;
  struct hr_placement placement;
  if (job.id == HR_NONE) return HR_OK;
  bool fits = hr__quota_allows(queue, job) && hr__fits(queue, hr__gpus(queue, job), hr__kind(queue, job), &placement);
  if (fits || preemptor->n_leaving == 0) preemptor->promised = (hr_job){HR_NONE};
  return fits ? hr__queue_start_job(queue, view, plan, job, &placement, HR_REASON_IN_ORDER) : HR_OK;
}

enum hr_status hr__preempt_begin_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  enum hr_status status = hr__preemption_end_sparing(queue, view);
  return status == HR_OK ? keep_promise(queue, view, plan) : status;
}

enum hr_status hr__preempt_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  const struct hr__preemption_terms *terms = &queue->preemptor->terms;
  bool by_count = terms->rule->by_order && queue->rule == HR_PLACE_POOL && !queue->quota && terms->grace_us == 0;
  if (view->n_waiting == 0) return HR_OK;
  return by_count ? hr__preempt_by_count(queue, view, plan) : pass_on_nodes(queue, view, plan);
}
