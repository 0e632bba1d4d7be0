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

extern const struct hr__order hr__order_fifo, hr__order_sjf, hr__order_smallest, hr__order_largest, hr__order_priority;
extern const struct hr__order hr__order_srtf, hr__order_las, hr__order_gittins, hr__order_edf, hr__order_f1;
extern const struct hr__order hr__order_wfp3, hr__order_qssf, hr__order_fair_share, hr__order_multifactor,
    hr__order_drf;

#endif
