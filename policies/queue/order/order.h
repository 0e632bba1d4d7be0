/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_ORDER_ORDER_H
#define HR_POLICIES_QUEUE_ORDER_ORDER_H

/* Which waiting job comes first. */

#include "policies/queue/waiting.h"

struct hr__queue;
struct hr__listener;

struct hr__order {
  /* The key that a job begins to wait with: the least goes first, ties by (submit, row), which is its id. */
  int64_t (*key)(struct hr__queue *queue, const struct hr_view *view, hr_job job);

  /* Where keys change while jobs wait; both NULL in other orders. Jobs whose keys change together are in one lane, in
     which the order never changes. */
  uint64_t (*subqueue)(const struct hr__queue *queue, hr_job job);
  hr__full_key *full_key; /* `self`: the queue */
  bool keys_only_grow;    /* then lanes need be ranked anew only when they seem to come first */

  /* Where a running job's key is another than its own when it waits: that, and the one above which running jobs come
     after a waiting one. Such orders preempt unless they are told not to; both NULL in others. */
  int64_t (*running_key)(struct hr__queue *queue, const struct hr_view *view, hr_job job);
  int64_t (*running_bound)(struct hr__queue *queue, const struct hr_view *view, struct hr_job_entry waiting);

  /* Whether a job that waits comes before all but finitely many that may yet arrive; NULL: it may not. */
  bool (*ages)(const struct hr__queue *queue);

  /* An order with a memory; each may be NULL. */
  enum hr_status (*create)(struct hr__queue *queue, const struct hr_policy_env *env, struct hr_error *error);
  const struct hr__listener *listener;
  /* Before a pass: what time has changed. */
  enum hr_status (*begin_pass)(struct hr__queue *queue, const struct hr_view *view);
  /* After a job started or stopped: ranks lanes anew whose keys that has changed. */
  enum hr_status (*refresh)(struct hr__queue *queue, const struct hr_view *view);
  /* After a pass: asks to be woken when time changes something that matters. */
  enum hr_status (*end_pass)(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);
  /* Where all keys move: see hr__line_of; `self`: the queue. Used where lanes need not be walked. */
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
