/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The end of admissions: preemption with its delays, and pods that are not ready in time.
 *
 * An evicted workload is in the phase HR__KUEUE_LEAVING and keeps its quota until it has left. Without a grace period
 * it leaves when the cycles of the instant have settled (hr__kueue_finish_evictions); until then it is in a list,
 * linked by `next`. Invariant: the list is empty between passes.
 *
 * Source: pkg/scheduler/preemption/preemption.go and pkg/controller/core/workload_controller.go of
 * kubernetes-sigs/kueue.
 */

#include "policies/kueue/engine.h"

/* The least time from an eviction until the next one of the same workload. Kueue queues inadmissible workloads again in
   batches of this period. */
#define EVICTION_US HR_SECOND_US
enum { MAX_REPEATED = 12 }; /* doublings of this time */
/* How often a workload may lose its work without a delay, and doublings of this time after further losses. */
enum { MAX_LOSSES = 8, MAX_LOSS_DOUBLINGS = 20 };

/* ---- Preemption ----------------------------------------------------------------------------------------- */

void hr__kueue_queue_evicted(struct hr__kueue_engine *self, uint32_t slot) {
  hr__kueue_release(self, slot);
  if (!hr__kueue_queue_again(self, slot)) self->status = HR_NO_MEMORY;
}

void hr__kueue_stop(struct hr__kueue_engine *self, uint32_t slot) {
  hr_job job = {self->slots[slot].job};
  struct hr_slice one;
  struct hr_placement placement = hr_view_placement(self->view, job, &one);
  self->status = self->keeps_work ? hr_moves_preempt(self->moves, job, HR_REASON_PREEMPTED)
                                  : hr_moves_requeue(self->moves, job, HR_REASON_PREEMPTED);
  if (self->status != HR_OK) return;
  if (!hr__kueue_pods_left(self, job, &placement)) self->status = HR_NO_MEMORY;
  if (self->status == HR_OK) hr__kueue_queue_evicted(self, slot);
}

/* A started job leaves at once, or after its grace period. A job that was started at this instant leaves with the next
   one. */
static void leave(struct hr__kueue_engine *self, uint32_t slot) {
  struct hr__kueue_slot *at = &self->slots[slot];
  bool is_new = at->since_us == self->world.now_us;
  if (self->grace_us == 0 && !is_new) {
    hr__kueue_stop(self, slot);
    return;
  }
  at->phase = HR__KUEUE_LEAVING;
  self->world.workloads[slot].evicted = true;
  if (is_new)
    self->status = hr__kueue_timer_set(self, slot, self->world.now_us + 1) ? HR_OK : HR_NO_MEMORY;
  else
    self->status =
        hr_moves_notice(self->moves, (hr_job){at->job}, self->world.now_us + self->grace_us, self->keeps_work);
}

/* Evictions take no time here, so a cycle of evictions would be repeated for ever (such cycles exist with Kueue's fair
   sharing). A workload that had quota for less than a second before it is evicted again waits for a second until it is
   queued. Both times double with each repetition, and are reset when it had quota for longer. */
static void delay_repeated(const struct hr__kueue_engine *self, uint32_t slot) {
  struct hr__kueue_slot *at = &self->slots[slot];
  int64_t period_us = EVICTION_US << at->n_repeated, now_us = self->world.now_us;
  if (at->history.preempted_us == HR__KUEUE_NO_TIME || now_us - self->world.workloads[slot].reserved_us >= period_us) {
    at->n_repeated = 0;
    return;
  }
  hr__kueue_requeue_delay(&at->requeue, now_us + period_us, false);
  if (at->n_repeated < MAX_REPEATED) at->n_repeated++;
}

/* If preempted jobs lose their work, preemptions cause further preemptions in a crowded cluster: a job that starts
   again needs quota for longer, and preempts other jobs. Kueue has no back-off for this. Here a workload that was
   preempted MAX_LOSSES times waits for a second after the next preemption, and twice as long after each further one. So
   the number of preemptions grows with the logarithm of time, and every run ends. */
static void delay_losing(const struct hr__kueue_engine *self, uint32_t slot) {
  struct hr__kueue_slot *at = &self->slots[slot];
  if (self->keeps_work) return;
  if (at->n_losses >= MAX_LOSSES)
    hr__kueue_requeue_delay(&at->requeue, self->world.now_us + (EVICTION_US << (at->n_losses - MAX_LOSSES)), false);
  if (at->n_losses < MAX_LOSSES + MAX_LOSS_DOUBLINGS) at->n_losses++;
}

bool hr__kueue_evict(struct hr__kueue_engine *self, const struct hr__kueue_target *target) {
  uint32_t slot = target->workload;
  struct hr__kueue_slot *at = &self->slots[slot];
  if (at->phase == HR__KUEUE_LEAVING) return false;
  delay_repeated(self, slot);
  delay_losing(self, slot);
  at->history.preempted_us = at->history.evicted_us = self->world.now_us;
  at->history.evicted_by_timeout = false;
  at->history.reclaimed_while_borrowing = target->cause == HR__KUEUE_RECLAIM_WHILE_BORROWING;
  at->has_started = at->phase == HR__KUEUE_STARTED;
  if (at->has_started && self->grace_us > 0) {
    leave(self, slot);
    return true;
  }
  if (at->phase == HR__KUEUE_HELD) hr__kueue_unhold(self, slot);
  at->phase = HR__KUEUE_LEAVING;
  self->world.workloads[slot].evicted = true;
  at->next = HR_NONE;
  *(self->first_leaving == HR_NONE ? &self->first_leaving : &self->slots[self->last_leaving].next) = slot;
  self->last_leaving = slot;
  return true;
}

void hr__kueue_finish_evictions(struct hr__kueue_engine *self) {
  if (self->first_leaving == HR_NONE) return;
  for (uint32_t slot = self->first_leaving, next; slot != HR_NONE && self->status == HR_OK; slot = next) {
    next = self->slots[slot].next;
    if (self->slots[slot].has_started)
      leave(self, slot);
    else
      hr__kueue_queue_evicted(self, slot);
  }
  self->first_leaving = HR_NONE;
  self->evicted = self->changed = true;
}

/* ---- Timeouts ------------------------------------------------------------------------------------------- */

void hr__kueue_time_out(struct hr__kueue_engine *self, uint32_t slot) {
  struct hr__kueue_slot *at = &self->slots[slot];
  struct hr__kueue_life life = {.active = true,
                                .reserved = true,
                                .readiness = {.admitted = true,
                                              .was_ready = at->was_ready,
                                              .admitted_us = at->since_us,
                                              .changed_us = at->since_us},
                                .requeue = at->requeue};
  struct hr__kueue_step step = hr__kueue_life_step(&self->ready, &life, self->world.now_us);
  at->requeue = life.requeue;
  hr__kueue_unhold(self, slot);
  at->history.evicted_us = self->world.now_us;
  at->history.evicted_by_timeout = true;
  if (step.kind == HR__KUEUE_STEP_EVICT) {
    hr__kueue_queue_evicted(self, slot);
    return;
  }
  hr__kueue_release(self, slot);
  self->status = hr_moves_reject(self->moves, (hr_job){at->job}, HR_REASON_POLICY);
  hr__kueue_job_remove(self, slot);
}
