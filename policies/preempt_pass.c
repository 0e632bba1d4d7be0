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

static struct next next_in_order(struct hr__queue *queue) {
  const struct hr__waiting *waiting = &queue->waiting;
  uint32_t pass = queue->preemptor->n_passes;
  struct next next = {0};
  for (uint32_t i = 0; i < waiting->n_active; i++) {
    consider_shape(queue, hr__active_shape(waiting, i), &next);
  }
  for (uint32_t i = 0; i < waiting->n_parked; i++) {
    struct hr__lane *lane = waiting->parked[i];
    if (lane->refused != pass && lane->jobs.count && hr__quota_is_turn(queue, lane->head.job))
      consider(&next, lane->shape, lane->listed, lane);
  }
  return next;
}

/* Starts a job, or stops others for it; while one waits for others to leave nobody else is stopped. */
static enum hr_status try_job(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan,
                              const struct next *next, enum hr_reason reason, bool allowed, bool *started) {
  struct hr__preemptor *preemptor = queue->preemptor;
  hr_job job = next->entry.job;
  struct hr_placement placement;
  uint32_t accept_class = hr_cluster_accept_class(queue->cluster, job);
  *started = allowed && hr__shape_fits(queue, hr__gpus(queue, job), accept_class, &placement);
  if (!*started && hr__preemption_holds(queue)) return HR_OK;
  if (!*started) return hr__preempt_victims(queue, view, plan, next->shape, next->entry, reason, started);
  if (preemptor->promised.id == job.id) preemptor->promised = (hr_job){HR_NONE};
  return hr__queue_start(queue, view, plan, next->shape, next->entry, &placement, reason);
}

static int32_t priority_of(const struct hr__queue *queue, hr_job job) {
  return queue->trace->priority ? queue->trace->priority[job.id] : 0;
}

/* Whether a job could have been stopped for the one that others have left for, or leave for: it does not take what
   they left, even where it is before that one in order. */
static bool must_give_way(const struct hr__queue *queue, hr_job job) {
  hr_job promised = queue->preemptor->promised;
  if (promised.id == HR_NONE || queue->preemptor->terms.rule != &hr__preemption_priority) return false;
  return priority_of(queue, job) < priority_of(queue, promised);
}

static enum hr_status pass_on_nodes(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  struct hr__preemptor *preemptor = queue->preemptor;
  enum hr_status status = HR_OK;
  enum hr_reason reason = HR_REASON_IN_ORDER;
  preemptor->n_passes++;
  for (struct next next; status == HR_OK && (next = next_in_order(queue)).shape;) {
    bool started = false, allowed = hr__quota_allows(queue, next.entry.job);
    bool gives_way = must_give_way(queue, next.entry.job);
    if (!gives_way) status = try_job(queue, view, plan, &next, reason, allowed, &started);
    if (started) continue;
    if (next.entry.job.id == preemptor->promised.id && hr__preemption_holds(queue))
      break; /* nobody behind it takes what it waits for */
    if (next.lane) next.lane->refused = preemptor->n_passes;
    if (allowed) next.shape->refused = preemptor->n_passes;
    if (allowed && !gives_way && !queue->backfill->passes_over) break;
    reason = HR_REASON_BACKFILL;
  }
  return status;
}

enum hr_status hr__preempt_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  const struct hr__preemption_terms *terms = &queue->preemptor->terms;
  bool by_count = terms->rule->by_order && queue->rule == HR_PLACE_POOL && !queue->quota && terms->grace_us == 0;
  enum hr_status status = hr__preemption_end_sparing(queue, view);
  if (status != HR_OK || view->n_waiting == 0) return status;
  return by_count ? hr__preempt_by_count(queue, view, plan) : pass_on_nodes(queue, view, plan);
}
