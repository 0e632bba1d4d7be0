/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Timeouts of pods that are not ready, the back-off before a workload is queued again, and the order in which the
   reasons to end an admission are considered. Source: pkg/controller/core/workload_controller.go and
   pkg/workload/workload.go of kubernetes-sigs/kueue. */

#include "policies/kueue/ready.h"

/* ---- Readiness ---- */

enum hr__kueue_ready_cause hr__kueue_ready_countdown(const struct hr__kueue_ready_rules *rules,
                                                     const struct hr__kueue_readiness *readiness, int64_t now_us,
                                                     int64_t *remaining_us) {
  *remaining_us = 0;
  if (!readiness->admitted || readiness->ready) return HR__KUEUE_NOT_COUNTING;
  int64_t limit = readiness->was_ready ? rules->recovery_timeout_us : rules->timeout_us;
  if (limit == HR__KUEUE_NO_TIME) return HR__KUEUE_NOT_COUNTING;
  int64_t left = limit - (now_us - (readiness->was_ready ? readiness->changed_us : readiness->admitted_us));
  if (left > 0) *remaining_us = left;
  return readiness->was_ready ? HR__KUEUE_WAIT_FOR_RECOVERY : HR__KUEUE_WAIT_FOR_START;
}

int64_t hr__kueue_backoff(const struct hr__kueue_ready_rules *rules, int64_t count) {
  int64_t delay = rules->backoff_base_us;
  for (int64_t i = 1; i < count && delay < rules->backoff_max_us; i++)
    delay = delay > INT64_MAX / 2 ? INT64_MAX : 2 * delay;
  return delay < rules->backoff_max_us ? delay : rules->backoff_max_us;
}

/* ---- State of requeuing ---- */

bool hr__kueue_requeue_delay(struct hr__kueue_requeue_state *state, int64_t wait_until_us, bool count) {
  bool changed = false;
  if (wait_until_us > state->at_us) {
    state->at_us = wait_until_us;
    changed = true;
  }
  if (!count) return changed;
  state->count = state->count < 0 ? 1 : state->count + 1;
  return true;
}

bool hr__kueue_requeue_timeout(const struct hr__kueue_ready_rules *rules, struct hr__kueue_requeue_state *state,
                               int64_t now_us) {
  int64_t count = state->count < 0 ? 1 : state->count + 1;
  if (rules->backoff_limit >= 0 && count > rules->backoff_limit) return false;
  state->count = count;
  int64_t at = now_us + hr__kueue_backoff(rules, count);
  if (at > state->at_us) state->at_us = at;
  return true;
}

/* ---- Steps ---- */

static struct hr__kueue_step step_of(enum hr__kueue_step_kind kind, enum hr__kueue_end end) {
  return (struct hr__kueue_step){.kind = kind, .end = end};
}

/* A workload whose condition Requeued is false waits for the end of what it names. */
static struct hr__kueue_step step_of_requeued(struct hr__kueue_life *life, int64_t now_us) {
  enum hr__kueue_end reason = life->requeued_reason;
  if (reason == HR__KUEUE_END_QUEUE_STOPPED || reason == HR__KUEUE_END_LOCAL_STOPPED) {
    bool stopped = reason == HR__KUEUE_END_QUEUE_STOPPED ? life->queue_stop : life->local_stop;
    return step_of(stopped ? HR__KUEUE_STEP_NONE : HR__KUEUE_STEP_REQUEUE, reason);
  }
  if (life->requeue.at_us > now_us) {
    struct hr__kueue_step step = step_of(HR__KUEUE_STEP_WAIT, reason);
    step.wait_us = life->requeue.at_us - now_us;
    return step;
  }
  life->requeue.at_us = HR__KUEUE_NO_TIME;
  return step_of(HR__KUEUE_STEP_REQUEUE, reason);
}

static struct hr__kueue_step step_of_pods(const struct hr__kueue_ready_rules *rules, struct hr__kueue_life *life,
                                          int64_t now_us) {
  struct hr__kueue_step step = step_of(HR__KUEUE_STEP_NONE, HR__KUEUE_END_NONE);
  int64_t left;
  step.cause = hr__kueue_ready_countdown(rules, &life->readiness, now_us, &left);
  if (step.cause == HR__KUEUE_NOT_COUNTING || left > 0 || life->evicted) return step;
  bool within_limit = hr__kueue_requeue_timeout(rules, &life->requeue, now_us);
  step.kind = within_limit ? HR__KUEUE_STEP_EVICT : HR__KUEUE_STEP_DEACTIVATE;
  step.end = within_limit ? HR__KUEUE_END_TIMEOUT : HR__KUEUE_END_LIMIT;
  return step;
}

struct hr__kueue_step hr__kueue_life_step(const struct hr__kueue_ready_rules *rules, struct hr__kueue_life *life,
                                          int64_t now_us) {
  if (!life->active)
    return step_of(life->evicted ? HR__KUEUE_STEP_NONE : HR__KUEUE_STEP_EVICT, HR__KUEUE_END_DEACTIVATED);
  if (life->deactivating) return step_of(HR__KUEUE_STEP_SWITCH_OFF, HR__KUEUE_END_DEACTIVATED);
  if (life->requeued == HR__KUEUE_REQUEUED_FALSE) return step_of_requeued(life, now_us);
  if (!life->reserved || life->evicted) return step_of(HR__KUEUE_STEP_NONE, HR__KUEUE_END_NONE);
  if (life->local_stop == HR__KUEUE_HOLD_AND_DRAIN) return step_of(HR__KUEUE_STEP_EVICT, HR__KUEUE_END_LOCAL_STOPPED);
  if (life->queue_stop == HR__KUEUE_HOLD_AND_DRAIN) return step_of(HR__KUEUE_STEP_EVICT, HR__KUEUE_END_QUEUE_STOPPED);
  if (life->check_rejected) return step_of(HR__KUEUE_STEP_DEACTIVATE, HR__KUEUE_END_CHECK);
  if (life->check_retry) return step_of(HR__KUEUE_STEP_EVICT, HR__KUEUE_END_CHECK);
  return step_of_pods(rules, life, now_us);
}
