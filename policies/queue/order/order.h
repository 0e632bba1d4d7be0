/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_ORDER_ORDER_H
#define HR_POLICIES_QUEUE_ORDER_ORDER_H

/* Orders of waiting jobs: the interface and the list of all orders. */

#include "headroom/policy_kit.h"
#include "policies/queue/waiting.h"

struct hr__queue;
struct hr__listener;

struct hr__order {
  /* Returns the key of a job when it begins to wait. The smallest key is first. Ties are broken by id, which is the
     order of (submit, row). */
  int64_t (*key)(struct hr__queue *queue, const struct hr_view *view, hr_job job);

  /* Used by orders with keys that change while jobs wait; NULL in other orders. `subqueue` returns the name (a number)
     of the job's subqueue. The relative order of the jobs of a subqueue never changes, although their keys change. */
  uint64_t (*subqueue)(const struct hr__queue *queue, hr_job job);
  hr__full_key *full_key; /* `self`: the queue */
  /* keys never decrease, so the key of a subqueue needs to be computed again only when the subqueue is the first of its
     list */
  bool keys_only_grow;

  /* Used by orders in which the keys of running jobs differ from those of waiting jobs; NULL in other orders.
     `running_key` returns the key of a running job. `running_bound` returns a bound for a waiting job: running jobs
     with keys above the bound come after the waiting job. With such orders, preemption is by default by order. */
  int64_t (*running_key)(struct hr__queue *queue, const struct hr_view *view, hr_job job);
  int64_t (*running_bound)(struct hr__queue *queue, const struct hr_view *view, struct hr_job_entry waiting);

  /* Returns whether only a finite number of later submitted jobs can precede a waiting job, so that it is finally the
     first. NULL: no. */
  bool (*ages)(const struct hr__queue *queue);

  /* Functions of orders with state. Each may be NULL. */
  enum hr_status (*create)(struct hr__queue *queue, const struct hr_policy_env *env, struct hr_error *error);
  const struct hr__listener *listener;
  /* Called before a pass: updates what depends on time. */
  enum hr_status (*begin_pass)(struct hr__queue *queue, const struct hr_view *view);
  /* Called after a job started or stopped: ranks the subqueues with changed keys. */
  enum hr_status (*refresh)(struct hr__queue *queue, const struct hr_view *view);
  /* Called after a pass: requests a wake-up for the next time at which the order changes. */
  enum hr_status (*end_pass)(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);
  /* Used by orders in which all keys change (see hr__line_of; `self`: the queue). Not used if the backfill, quotas or
     preemption need walks over subqueues. */
  hr__line_of *line_of;
};

/* Orders that consist of a key that is fixed at submission: name in a scenario, suffix of the name of the object
   (hr__order_...), help text, and the key as an expression of `queue` and `job`. order.c defines their objects. */
#define HR__KEY_ORDERS(X)                                                                                              \
  X("sjf", sjf, "estimated run time", hr_trace_estimate_us(queue->trace, job))                                         \
  X("smallest", smallest, "fewest GPUs", (int64_t)hr__counted_milli(queue, job))                                       \
  X("largest", largest, "most GPUs", -(int64_t)hr__counted_milli(queue, job))

/* All orders: name, suffix and help text. The name of an order can also be used as the name of a policy, which is
   `queue` with this order. A new order needs one line in HR__KEY_ORDERS, or one line here and its object in a file of
   this folder. */
#define HR__ORDERS(X)                                                                                                  \
  X("fifo", fifo, "submit time")                                                                                       \
  HR__KEY_ORDERS(X)                                                                                                    \
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

#define HR__DECLARE_ORDER(text, name, ...) extern const struct hr__order hr__order_##name;
HR__ORDERS(HR__DECLARE_ORDER)
#undef HR__DECLARE_ORDER

#endif
