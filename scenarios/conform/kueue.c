/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the test vectors of Kueue against its model: looks up the function for the kind of a case. Source of the cases:
   table tests of kubernetes-sigs/kueue (../shared/vectors/README.md). */

#include "scenarios/conform/kueue_objects.h"

#include <string.h>

/* The columns: kind, function in kueue_*.c that runs a case. */
#define KINDS(X)                                                                                                       \
  X("quota.available", quota_available)                                                                                \
  X("quota.lendable", quota_lendable)                                                                                  \
  X("quota.usageAfterOps", quota_usage)                                                                                \
  X("fairSharing.share", share)                                                                                        \
  X("fairSharing.borrowingOn", borrowing_on)                                                                           \
  X("fairSharing.preciseShare", precise_share)                                                                         \
  X("flavor.assign", assign)                                                                                           \
  X("flavor.isPreferred", is_preferred)                                                                                \
  X("flavor.noFitReason", no_fit_reason)                                                                               \
  X("flavor.totalRequests", total_requests)                                                                            \
  X("flavor.lastTried", last_tried)                                                                                    \
  X("partialAdmission.search", reduce)                                                                                 \
  X("preemption", preempt)                                                                                             \
  X("preemption.candidateOrder", candidate_order)                                                                      \
  X("preemption.fairTargetOrder", fair_order)                                                                          \
  X("preemption.policy", policy)                                                                                       \
  X("cycle", cycle)                                                                                                    \
  X("cycle.tas", cycle)                                                                                                \
  X("cycle.multi", multi)                                                                                              \
  X("cycle.entryOrder", entry_order)                                                                                   \
  X("cycle.fairEntryLess", fair_less)                                                                                  \
  X("cycle.reserve", reserve)                                                                                          \
  X("cycle.lastAssignment", outdated)                                                                                  \
  X("cycle.lastAssignmentState", bookmarks)                                                                            \
  X("podsReady.countdown", countdown)                                                                                  \
  X("podsReady.requeue", reconcile)                                                                                    \
  X("eviction.reconcile", reconcile)                                                                                   \
  X("queue.setRequeueState", requeue_state)                                                                            \
  X("queue.onHold", on_hold)                                                                                           \
  X("queue.strictFIFO", queue_order)                                                                                   \
  X("queue.orderTimestamp", order_time)                                                                                \
  X("queue.admissionFairSharing", local_order)                                                                         \
  X("queue.bestEffortRequeue", requeue_by_reason)                                                                      \
  X("queue.strictRequeue", requeue_by_reason)                                                                          \
  X("queue.inadmissibleHash", shape_reason)                                                                            \
  X("queue.noFitReason", no_fit_known)                                                                                 \
  X("queue.backoff", backoff)                                                                                          \
  X("queue.requeueAfterCycle", after_cycle)                                                                            \
  X("queue.ops", queue_ops)                                                                                            \
  X("queue.requeueCohort", requeue_cohort)                                                                             \
  X("queue.requeueStrict", requeue_strict)                                                                             \
  X("queue.addWorkload", add_workload)                                                                                 \
  X("queue.heads", heads)                                                                                              \
  X("queue.secondPass", second_pass)                                                                                   \
  X("requests.countIn", requests)                                                                                      \
  X("requests.countInLimiting", requests)                                                                              \
  X("requests.greaterKeys", greater_keys)                                                                              \
  X("resources.amountFromQuantity", quantity)                                                                          \
  X("resources.clamp", quantity)                                                                                       \
  X("resources.floorToZero", floor)                                                                                    \
  X("afs.usage", local_usage)                                                                                          \
  X("afs.usageZeroWeight", local_usage)                                                                                \
  X("afs.weight", local_weight)                                                                                        \
  X("workload.usage", workload_usage)                                                                                  \
  X("workload.executionTime", execution_time)                                                                          \
  X("workload.reclaimable", reclaimable)                                                                               \
  X("priority", priority)                                                                                              \
  X("priority.boost", priority)                                                                                        \
  X("priority.effective", priority)                                                                                    \
  X("priority.parseEffective", priority)

#define DECLARE(kind, function) hr__conform_run_case hr__kueue_case_##function;
KINDS(DECLARE)
#undef DECLARE

static const struct {
  const char *kind;
  hr__conform_run_case *run;
} rows[] = {
#define ROW(kind, function) {kind, hr__kueue_case_##function},
    KINDS(ROW)
#undef ROW
};

void hr__conform_kueue(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(rows[i].kind, kind) != 0) continue;
    rows[i].run(whole, kind, verdict);
    return;
  }
  if (strncmp(kind, "tas.", 4) == 0 && hr__conform_kueue_tas(whole, kind, verdict)) return;
  hr__verdict_unsupported(verdict, kind);
}
