/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KUEUE_READY_H
#define HR_POLICIES_KUEUE_READY_H

/* waitForPodsReady, back-off, and the steps that end an admission (RULES 1.9). */

#include "policies/kueue/kueue.h"

/* The setting waitForPodsReady. */
struct hr__kueue_ready_rules {
  int64_t timeout_us;          /* HR__KUEUE_NO_TIME: none */
  int64_t recovery_timeout_us; /* HR__KUEUE_NO_TIME: none */
  int64_t backoff_limit;       /* requeuingStrategy.backoffLimitCount; -1: none */
  int64_t backoff_base_us, backoff_max_us;
};

enum hr__kueue_ready_cause { HR__KUEUE_NOT_COUNTING, HR__KUEUE_WAIT_FOR_START, HR__KUEUE_WAIT_FOR_RECOVERY };

/* What is known about the pods of an admitted workload. */
struct hr__kueue_readiness {
  bool admitted, ready; /* conditions Admitted and PodsReady */
  bool was_ready;       /* lost its readiness */
  int64_t admitted_us, changed_us;
};

/* Returns what the workload waits for, and sets the time that remains until its timeout (at least 0). */
enum hr__kueue_ready_cause hr__kueue_ready_countdown(const struct hr__kueue_ready_rules *rules,
                                                     const struct hr__kueue_readiness *readiness, int64_t now_us,
                                                     int64_t *remaining_us);

/* The back-off before attempt number `count` (from 1). */
int64_t hr__kueue_backoff(const struct hr__kueue_ready_rules *rules, int64_t count);

/* The state of requeuing: how often, and when the workload may be queued again. */
struct hr__kueue_requeue_state {
  int64_t count; /* -1: not counted yet */
  int64_t at_us; /* HR__KUEUE_NO_TIME: at once */
};

/* Delays the workload until `wait_until_us`, if that is later, and counts the attempt if `count`. Returns whether the
   state has changed. */
bool hr__kueue_requeue_delay(struct hr__kueue_requeue_state *state, int64_t wait_until_us, bool count);
/* Counts a timeout: delays the workload by its back-off. Returns false if the limit is exceeded: the workload is then
   deactivated, and the state is unchanged. */
bool hr__kueue_requeue_timeout(const struct hr__kueue_ready_rules *rules, struct hr__kueue_requeue_state *state,
                               int64_t now_us);

/* ---- What happens to a workload that does not run normally ---- */

enum hr__kueue_requeued { HR__KUEUE_REQUEUED_UNSET, HR__KUEUE_REQUEUED_TRUE, HR__KUEUE_REQUEUED_FALSE };
enum hr__kueue_stop { HR__KUEUE_RUNS, HR__KUEUE_HOLD, HR__KUEUE_HOLD_AND_DRAIN };

/* Why a workload is not queued, or is evicted. */
enum hr__kueue_end {
  HR__KUEUE_END_NONE,
  HR__KUEUE_END_TIMEOUT,       /* PodsReadyTimeout */
  HR__KUEUE_END_CHECK,         /* AdmissionCheck */
  HR__KUEUE_END_QUEUE_STOPPED, /* ClusterQueueStopped */
  HR__KUEUE_END_LOCAL_STOPPED, /* LocalQueueStopped */
  HR__KUEUE_END_DEACTIVATED,   /* Deactivated */
  HR__KUEUE_END_LIMIT          /* RequeuingLimitExceeded */
};

struct hr__kueue_life {
  bool active, reserved, evicted, deactivating;
  enum hr__kueue_requeued requeued;
  enum hr__kueue_end requeued_reason;
  bool check_retry, check_rejected;
  enum hr__kueue_stop queue_stop, local_stop;
  struct hr__kueue_readiness readiness;
  struct hr__kueue_requeue_state requeue;
};

enum hr__kueue_step_kind {
  HR__KUEUE_STEP_NONE,
  HR__KUEUE_STEP_WAIT,       /* until its back-off is over */
  HR__KUEUE_STEP_REQUEUE,    /* may be queued again */
  HR__KUEUE_STEP_SWITCH_OFF, /* set inactive */
  HR__KUEUE_STEP_DEACTIVATE, /* will be set inactive because of `end` */
  HR__KUEUE_STEP_EVICT       /* evicted because of `end` */
};

struct hr__kueue_step {
  enum hr__kueue_step_kind kind;
  enum hr__kueue_end end;
  enum hr__kueue_ready_cause cause; /* of a timeout */
  int64_t wait_us;
};

/* The next step of a workload. A timeout updates `life->requeue`. */
struct hr__kueue_step hr__kueue_life_step(const struct hr__kueue_ready_rules *rules, struct hr__kueue_life *life,
                                          int64_t now_us);

#endif
