/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_MARKET_KARPENTER_NODES_H
#define HR_SIM_MARKET_KARPENTER_NODES_H

/*
 * Karpenter in a run. Its decisions are those of sim/clusters/node_autoscalers.h. Each elastic
 * pool is an option: one instance type in one region and market.
 */

#include "sim/clusters/node_autoscalers.h"
#include "sim/market/autoscaler.h"

/* Entities of HR__PENDING_SCAN. */
enum {
  HR__KARPENTER_BATCH,    /* a batch of new jobs ends */
  HR__KARPENTER_RETRY,    /* jobs that still wait are looked at again */
  HR__KARPENTER_PASS,     /* of the loop that removes nodes */
  HR__KARPENTER_VALIDATE, /* a command is checked again, and carried out */
  HR__KARPENTER_SETTLE,   /* a node that replaces others has booted, or does not exist any more */
  HR__KARPENTER_NODE      /* this + node: the node expires, or has not booted in time */
};

struct hr__karpenter_loop {
  uint32_t *node_pool;                    /* by pool; HR_NONE: it is not managed */
  int64_t *unavailable_until_us;          /* by pool */
  struct hr__karpenter_option *options;   /* by pool */
  struct hr__karpenter_pods *pods;        /* by pool: scratch */
  struct hr__karpenter_node_pool *limits; /* by node pool: how much may be added */
  struct hr__karpenter_budget *budgets;   /* of all node pools */
  uint32_t *first_budget;                 /* by node pool, and the end */

  struct hr__karpenter_batch batch;
  int64_t looked_us, retry_us; /* the last look at waiting jobs, -1: none; the next one without a new job */
  int64_t acted_us;            /* the last time for looks and passes: a look at that time precedes what they change */
  bool is_retry_due, is_look_due;

  int64_t *touched_us; /* by node: when a job last started or stopped on it, or it booted */
  /* The loop that removes nodes. A command is executed if it is still valid after some time. Passes are at base_us plus
   * multiples of the period; the next one, HR_NEVER_US: none; the last one, -1: none */
  int64_t base_us, pass_us, passed_us;
  bool is_pass_due;
  int64_t validate_us; /* HR_NEVER_US: no command is pending */
  bool is_validation_due;
  uint32_t *command; /* [n_nodes]: the nodes that go */
  uint32_t n_command;
  enum hr__karpenter_reason reason;
  enum hr__karpenter_action action;
  bool *sent, sends_spot; /* to replace them: the pools of the new node, [n_pools] */
  uint32_t *awaits;       /* by node: the node that will replace it + 1; 0: none */
  uint32_t n_awaiting;
  int64_t due_us; /* of the present pass: the earliest time at which it may decide otherwise without a change */

  struct hr__karpenter_node *nodes;     /* [n_nodes]: nodes of the present question */
  uint32_t *node_id, *order;            /* [n_nodes] */
  bool *leaves;                         /* [n_nodes] */
  struct hr__node_amounts *free, *left; /* [n_nodes], [n_pools] */
  struct hr__karpenter_type *types;     /* by pool: each pool is a type with one offering */
  struct hr__karpenter_offering *offerings;
  uint32_t *types_sent;             /* [n_pools] */
  struct hr__node_amounts *by_type; /* from malloc: [capacity], rows of n_pools for each job on a candidate */
  uint32_t by_type_capacity;
  int64_t *budget_left; /* by node pool */
};

/* Returns the price of a node of a pool, $ an hour. */
double hr__karpenter_price(const struct hr__engine *engine, uint32_t pool);
/* Sets options and limits to the present state. */
void hr__karpenter_set_options(struct hr__engine *engine);
/* Requests a node that may be any of some options (by pool). Sets `node`, to HR_NONE if no pool has capacity. */
enum hr_status hr__karpenter_launch(struct hr__engine *engine, const bool *may, hr_node *node);

/* Finds nodes to remove (karpenter_removal.c). Returns whether there is a command, which is then stored. */
bool hr__karpenter_find_command(struct hr__engine *engine);
/* Executes the stored command for the nodes for which it is still valid. Sets `any` if there was such a node. */
enum hr_status hr__karpenter_carry_out(struct hr__engine *engine, bool *any);
/* Removes each node whose replacement has booted. Reopens each node whose replacement no longer exists. */
enum hr_status hr__karpenter_settle(struct hr__engine *engine);

#endif
