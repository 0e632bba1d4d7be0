/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_ORDER_ORDER_H
#define HR_POLICIES_QUEUE_ORDER_ORDER_H

/* Orders of waiting jobs. */

#include "headroom/policy_kit.h"
#include "policies/queue/waiting.h"

struct hr__queue;
struct hr__listener;

struct hr__order {
  /* The key of a job when it begins to wait. The smallest key goes first; ties are broken by id, the order of
     (submit, row). */
  int64_t (*key)(struct hr__queue *queue, const struct hr_view *view, hr_job job);

  /* For orders with keys that change while jobs wait; both are NULL in other orders. Jobs with keys that change
     together share a subqueue, in which the order never changes. */
  uint64_t (*subqueue)(const struct hr__queue *queue, hr_job job);
  hr__full_key *full_key; /* `self`: the queue */
  bool keys_only_grow;    /* subqueues need to be ranked again only when they come first */

  /* The key of a running job, if it differs from its key while waiting, and the key above which running jobs come after
     a waiting one. Such orders preempt by default. Both are NULL in other orders. */
  int64_t (*running_key)(struct hr__queue *queue, const struct hr_view *view, hr_job job);
  int64_t (*running_bound)(struct hr__queue *queue, const struct hr_view *view, struct hr_job_entry waiting);

  /* Whether a waiting job precedes all but finitely many future arrivals. NULL: no. */
  bool (*ages)(const struct hr__queue *queue);

  /* For orders with state. Each may be NULL. */
  enum hr_status (*create)(struct hr__queue *queue, const struct hr_policy_env *env, struct hr_error *error);
  const struct hr__listener *listener;
  /* Before a pass: updates what depends on time. */
  enum hr_status (*begin_pass)(struct hr__queue *queue, const struct hr_view *view);
  /* After a job started or stopped: ranks the subqueues with changed keys again. */
  enum hr_status (*refresh)(struct hr__queue *queue, const struct hr_view *view);
  /* After a pass: requests a wake-up for the next time at which the order changes. */
  enum hr_status (*end_pass)(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);
  /* For orders in which all keys change (hr__line_of; `self`: the queue). Used unless subqueues are walked. */
  hr__line_of *line_of;
};

/* All orders: the text in a scenario, the suffix of the object's name, and the help text. A policy of the same name
   stands for `queue` with this order. A new order is one line here, its object in a file of this folder, and its name
   in the scenario schema. */
#define HR__ORDERS(X)                                                                                                  \
  X("fifo", fifo, "submit time")                                                                                       \
  X("sjf", sjf, "estimated run time")                                                                                  \
  X("smallest", smallest, "fewest GPUs")                                                                               \
  X("largest", largest, "most GPUs")                                                                                   \
  X("priority", priority, "priority, optionally with aging")                                                           \
  X("srtf", srtf, "remaining run time")                                                                                \
  X("las", las, "attained service")                                                                                    \
  X("gittins", gittins, "Gittins index")                                                                               \
  X("edf", edf, "deadline")                                                                                            \
  X("f1", f1, "the learned function F1")                                                                               \
  X("wfp3", wfp3, "(wait / run time)^3 x GPUs")                                                                        \
  X("qssf", qssf, "predicted GPU time")                                                                                \
  X("fair-share", fair_share, "usage relative to the tenant's share")                                                  \
  X("drf", drf, "dominant share of the tenant")                                                                        \
  X("multifactor", multifactor, "weighted sum of factors, as in Slurm")

#define HR__DECLARE_ORDER(text, name, help) extern const struct hr__order hr__order_##name;
HR__ORDERS(HR__DECLARE_ORDER)
#undef HR__DECLARE_ORDER

#endif
