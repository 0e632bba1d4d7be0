/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_WAIT_REASON_H
#define HEADROOM_WAIT_REASON_H

/* Why a job that waits does not start: what holds it back from one instant to the next. */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of several that hold at once, the one that would keep the job back if it came first in order; the queue's rules
   (order, reservation) only where it would fit. The last column is for sentences: "waited 20 min, ...". */
#define HR_WAIT_REASON_TABLE(X)                                                                                               \
  X(HR_WAIT_REASON_NONE, "", "not waiting")                                                                                   \
  X(HR_WAIT_REASON_POLICY, "policy", "for a reason that the policy does not tell")                                            \
  X(HR_WAIT_REASON_CAPACITY, "capacity", "for free GPUs")                                                                     \
  X(HR_WAIT_REASON_FRAGMENTS, "fragments", "for a place: enough GPUs were free, but scattered")                               \
  X(HR_WAIT_REASON_NODE_RESOURCES, "node-resources", "for CPU or memory of nodes that had free GPUs")                         \
  X(HR_WAIT_REASON_TOPOLOGY, "topology", "for a place near together")                                                         \
  X(HR_WAIT_REASON_ORDER, "order", "behind others in the queue that nobody may pass")                                         \
  X(HR_WAIT_REASON_RESERVATION, "reservation", "behind the reservations of others in the queue")                              \
  X(HR_WAIT_REASON_QUOTA, "quota", "for room in a quota")                                                                     \
  X(HR_WAIT_REASON_PREEMPTION, "preemption", "for jobs that were told to leave")                                              \
  X(HR_WAIT_REASON_BOOTING, "booting", "for nodes that were booting")                                                         \
  X(HR_WAIT_REASON_MARKET, "market", "for the market rule to ask for nodes")                                                  \
  X(HR_WAIT_REASON_TURN, "turn", "for a turn")

enum hr_wait_reason_kind {
#define HR_WAIT_REASON_NAME(name, text, words) name,
  HR_WAIT_REASON_TABLE(HR_WAIT_REASON_NAME)
#undef HR_WAIT_REASON_NAME
      HR_N_HOLDS
};
HR_API const char *hr_wait_reason_name(enum hr_wait_reason_kind reason);
HR_API const char *hr_wait_reason_words(enum hr_wait_reason_kind reason);

/* In the place of a quota's node: those of no node of their own, and all that there is. */
#define HR_QUOTA_FALLBACK (HR_NONE - 1)
#define HR_QUOTA_ROOT (HR_NONE - 2)

/* What holds a job back now. */
struct hr_wait_reason {
  enum hr_wait_reason_kind reason;
  hr_job behind;    /* of order, reservations and preemption: the job that it waits for; HR_NONE: not known */
  uint32_t quota;   /* of quotas: the place in hr_quota_spec's nodes of the tenant or cohort that is at its limit,
                       HR_QUOTA_FALLBACK or HR_QUOTA_ROOT; else HR_NONE */
  int64_t until_us; /* the start promised to `behind`, or when the turn or the patience ends; HR_NEVER_US: not known */
  uint64_t free_milli;  /* the most free GPUs of a pool that it accepts, in thousandths */
  uint64_t asked_milli; /* that it asks for */
};

struct hr_view;
/* Asks the policy why a waiting job does not start, in the state that a pass has left: to be asked by a fold, after a
   pass (on_instant), and by nobody else. Where the policy does not say, the engine tells want of room (hr_view_lacks),
   and HR_WAIT_REASON_POLICY for all else. HR_WAIT_REASON_NONE for a job that does not wait. Changes nothing. */
HR_API void hr_view_wait_reason(const struct hr_view *view, hr_job job, struct hr_wait_reason *hold);
/* What the policy does and promises: HR_POLICY_PREEMPTS and its like, as it told them. Likewise. */
HR_API uint32_t hr_view_abilities(const struct hr_view *view);

/* For policies that explain themselves. Whether no place is left for the job, whatever the placement rule, and then
   why: capacity, booting nodes that would do, or fragments. Costs a few bit scans for each pool; where GPUs are told
   apart a look at each node, for one task of the job. */
HR_API bool hr_view_lacks(const struct hr_view *view, hr_job job, struct hr_wait_reason *hold);
/* Why a job finds no place that is known to find none; likewise, without looking at nodes. */
HR_API void hr_view_lack(const struct hr_view *view, hr_job job, struct hr_wait_reason *hold);

#ifdef __cplusplus
}
#endif
#endif
