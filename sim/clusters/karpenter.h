/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTERS_KARPENTER_H
#define HR_SIM_CLUSTERS_KARPENTER_H

/*
 * Karpenter's rules, as pure functions: what a disruption costs, how many nodes a budget lets go, which nodes are
 * deleted or replaced by a cheaper one, and which are bought. Prices are $ an hour. Instance types, nodes
 * and pods are dense indices; all arrays belong to the caller.
 *
 * Source: kubernetes-sigs/karpenter, pkg/controllers/disruption, pkg/apis/v1/nodepool.go, pkg/utils/disruption, at
 * 22664681; github.com/robfig/cron for schedules.
 */

#include "sim/clusters/amounts.h"

/* ---- Costs of a disruption ------------------------------------------------------------------------------- */

/* Cost of evicting a pod, from -10 to 10; a plain pod has 1. */
double hr__karpenter_eviction_cost(double priority, double deletion_cost);
/* Disruption of a node without pods; each pod adds its eviction cost if that is positive. */
#define HR__KARPENTER_NODE_DISRUPTION 1.0
/* What a node saves per disruption. Candidates are tried in falling order. */
static inline double hr__karpenter_savings_ratio(double price, double disruption) {
  return price / disruption;
}

/* ---- The balanced policy --------------------------------------------------------------------------------- */

struct hr__karpenter_totals {
  double cost, disruption; /* sums over the nodes of a pool */
};

struct hr__karpenter_score {
  bool is_approved;
  double
      score; /* (savings / cost of the pool) / (disruption / disruption of the pool); INFINITY: nothing is disturbed */
};

/* Scores a move of one pool. It is approved if the score is at least 1 / k. */
struct hr__karpenter_score hr__karpenter_score(double savings, double disruption, struct hr__karpenter_totals pool,
                                               double k);

/* The part of a move that concerns one pool. */
struct hr__karpenter_part {
  bool is_balanced;        /* the pool has the balanced policy; others approve every move */
  double cost, disruption; /* of the nodes that go */
  struct hr__karpenter_totals pool;
  double k;
};
/* Scores a move over several pools. Each pool with the balanced policy must approve its share of the savings. Returns
   the lowest score. A move without nodes is not approved. */
struct hr__karpenter_score hr__karpenter_score_move(double savings, const struct hr__karpenter_part *parts,
                                                    uint32_t n_parts);

/* ---- Schedules and budgets ------------------------------------------------------------------------------- */

/* A cron schedule in UTC: bit i is set if the field may be i. */
struct hr__cron {
  uint64_t minutes, hours, days, months, weekdays;
  bool any_day, any_weekday; /* written as a star; otherwise one of both days suffices */
  int64_t every_s;           /* "@every": a constant interval from each instant; 0: the fields above */
};
/* Reads five fields or @yearly, @monthly, @weekly, @daily, @hourly, @every DURATION. Returns false if it is wrong. */
bool hr__cron_read(const char *text, struct hr__cron *cron);
/* Returns whether the schedule has an instant after `after_s` and not after `until_s` (seconds since 1970 UTC). */
bool hr__cron_hits(const struct hr__cron *cron, int64_t after_s, int64_t until_s);
/* Returns the first instant after `after_s`; INT64_MAX: none in nine years. Not for "@every". */
int64_t hr__cron_next(const struct hr__cron *cron, int64_t after_s);

enum hr__karpenter_reason { HR__KARPENTER_EMPTY, HR__KARPENTER_UNDERUTILIZED, HR__KARPENTER_DRIFTED };

struct hr__karpenter_budget {
  int64_t nodes; /* or percent of the nodes of the pool */
  bool is_percent;
  bool is_wrong;    /* it could not be read, so it lets nothing go */
  uint32_t reasons; /* bit of each reason; 0: all */
  bool is_always;   /* without a schedule */
  struct hr__cron schedule;
  int64_t duration_s;
};
/* Reads "10" or "10%". */
bool hr__karpenter_read_nodes(const char *text, struct hr__karpenter_budget *budget);

bool hr__karpenter_is_active(const struct hr__karpenter_budget *budget, int64_t now_s);
/* Returns a time after `now_s` before which the budget does not begin or cease to be active; INT64_MAX: it does not. */
int64_t hr__karpenter_constant_until(const struct hr__karpenter_budget *budget, int64_t now_s);
/* The nodes that may go; INT64_MAX: no limit. Percentages are rounded up. */
int64_t hr__karpenter_allowed(const struct hr__karpenter_budget *budget, int64_t pool_nodes, int64_t now_s);
int64_t hr__karpenter_allowed_for(const struct hr__karpenter_budget *budgets, uint32_t n_budgets,
                                  enum hr__karpenter_reason reason, int64_t pool_nodes, int64_t now_s);
/* The rest of it. `leaving`: nodes of the pool that are being deleted or are not ready. */
static inline int64_t hr__karpenter_left(int64_t allowed, int64_t leaving) {
  return allowed == INT64_MAX ? allowed : allowed > leaving ? allowed - leaving : 0;
}

/* ---- Consolidation ------------------------------------------------------------------------- */

#define HR__KARPENTER_ANY UINT32_MAX
#define HR__KARPENTER_TOO_LARGE (INT64_C(1) << 44)
enum {
  HR__KARPENTER_SPOT_TYPES = 15,     /* cheaper types that a spot node needs before another spot node replaces it */
  HR__KARPENTER_MAX_CANDIDATES = 100 /* of one command */
};

struct hr__karpenter_offering {
  double price;
  uint32_t zone;
  bool is_spot, is_available;
};

struct hr__karpenter_type {
  struct hr__node_amounts size;
  uint32_t first, n; /* its offerings */
};

struct hr__karpenter_node {
  double price;
  uint32_t type;
  bool is_spot;
  bool is_candidate;
  double disruption;
  struct hr__node_amounts free; /* what its pods leave */
  uint32_t first, n;            /* its pods */
};

struct hr__karpenter_world {
  const struct hr__karpenter_type *types;
  const struct hr__karpenter_offering *offerings;
  const struct hr__karpenter_node *nodes;
  const struct hr__node_amounts *pods; /* requests */
  /* [n_types] for each pod: its request on nodes of each type; HR__KARPENTER_TOO_LARGE GPUs: it may not be there. NULL:
     `pods` on all types */
  const struct hr__node_amounts *by_type;
  uint32_t n_types, n_nodes;
  /* what a new node may be */
  bool allows_spot, allows_on_demand;
  uint32_t zone;      /* or HR__KARPENTER_ANY */
  bool spot_to_spot;  /* the feature gate */
  bool any_price;     /* the nodes are not removed for their price, so their replacement may cost more */
  uint32_t min_types; /* fewest types of a request; 0: no minimum */
  /* scratch and results of the caller */
  struct hr__node_amounts *free; /* [n_nodes] */
  struct hr__node_amounts *left; /* [n_types], with `by_type`: requests of the pods that need a new node */
  bool *leaves;                  /* [n_nodes] */
  uint32_t *order;               /* [n_nodes] candidates, the best first */
  uint32_t *sent;                /* [n_types] result: the types of the replacement, the cheapest first */
};

enum hr__karpenter_action { HR__KARPENTER_NOTHING, HR__KARPENTER_DELETE, HR__KARPENTER_REPLACE };

struct hr__karpenter_command {
  enum hr__karpenter_action action;
  uint32_t first, n_nodes; /* the nodes order[first], ... go */
  uint32_t n_sent;
  bool is_spot; /* the replacement must be a spot node */
};

/* The price of a running node of a type: its cheapest offering, available or not. NAN: none. */
double hr__karpenter_node_price(const struct hr__karpenter_offering *offerings, uint32_t n_offerings, uint32_t zone,
                                bool is_spot);
/* Sorts the candidates by savings ratio, falling. Returns their number. */
uint32_t hr__karpenter_order(const struct hr__karpenter_world *world);
/* What to do with nodes order[first], ...: one command for all of them. */
struct hr__karpenter_command hr__karpenter_try(const struct hr__karpenter_world *world, uint32_t first,
                                               uint32_t n_nodes);
/* The longest prefix of the first `n` nodes in `order`, at least 2, that binary search finds. */
struct hr__karpenter_command hr__karpenter_try_several(const struct hr__karpenter_world *world, uint32_t n);
/* Several nodes first, then single ones. */
struct hr__karpenter_command hr__karpenter_consolidate(const struct hr__karpenter_world *world);

/* ---- Provisioning (karpenter_provisioning.c) -------------------------------------------------------- */

/*
 * Karpenter's rules for new nodes, as functions of a plan: pods are packed on planned nodes. A planned node may be
 * bought as any of several options; each pod that is added narrows them. An option is an instance type in a zone as
 * spot or on-demand capacity. Prices are $ an hour of a node. All arrays belong to the caller, except those of the
 * plan.
 *
 * Source: kubernetes-sigs/karpenter, pkg/controllers/provisioning, at 22664681; aws/karpenter-provider-aws,
 * pkg/providers/instance, at 1d927085.
 */

struct hr__karpenter_option {
  struct hr__node_amounts size;
  double price;
  uint32_t node_pool; /* HR_NONE: it is not used */
  bool is_spot, is_available;
  int64_t room; /* nodes that may be added */
};

/* A node pool: which options are tried first, and what its limits leave; INT64_MAX: no limit. */
struct hr__karpenter_node_pool {
  uint32_t weight;
  struct hr__node_amounts left;
  int64_t nodes_left;
};

/* Pods of one job that differ by option, because nodes have different sizes: up to two rows of equal pods. */
struct hr__karpenter_pods {
  struct hr__node_amounts request[2];
  uint32_t count[2]; /* 0 in both rows: the option does not suit */
};

struct hr__karpenter_planned {
  uint32_t node_pool, n_pods;
};

/* Begin with the arrays and numbers of options and node pools, and all other members 0. */
struct hr__karpenter_plan {
  const struct hr__karpenter_option *options;
  uint32_t n_options;
  struct hr__karpenter_node_pool *node_pools; /* their limits fall as nodes are planned */
  uint32_t n_node_pools;
  /* result: planned nodes, from malloc */
  struct hr__karpenter_planned *nodes;
  uint32_t n_nodes, capacity;
  bool *may;                     /* [capacity * n_options]: the options of each node */
  struct hr__node_amounts *used; /* [capacity * n_options]: what its pods request */
  struct hr__node_amounts *trial;
  uint32_t *trial_pods, *trial_node; /* scratch */
  uint32_t trial_capacity;
  bool lacks_memory;
};

void hr__karpenter_plan_finish(struct hr__karpenter_plan *plan);
/* Places a pod: on the planned node with the fewest pods that can have it, or on a new node of the first node pool, by
   weight, whose options and limits allow one. A limit is reduced by the largest of the options of the new node.
   `pods`: [n_options], one row each. Returns whether it was placed. */
bool hr__karpenter_place_pod(struct hr__karpenter_plan *plan, const struct hr__karpenter_pods *pods);
/* Places all pods of a job on nodes of one option, or none of them. The node pool is the first one, by weight, that
   allows these nodes; the option is the one whose new nodes cost least. */
bool hr__karpenter_place_job(struct hr__karpenter_plan *plan, const struct hr__karpenter_pods *pods);

/* Returns whether one of the options is bought as spot capacity: spot is preferred unless on-demand is cheaper. */
bool hr__karpenter_buys_spot(const struct hr__karpenter_option *options, const bool *may, uint32_t n_options);
/* Returns the cheapest option that is available and has room, of spot or of on-demand capacity; HR_NONE: none. */
uint32_t hr__karpenter_cheapest(const struct hr__karpenter_option *options, const bool *may, uint32_t n_options,
                                bool is_spot);

/* ---- Batches ---------------------------------------------------------------------------------------------- */

/* The window in which new pods are collected. It ends idle_us after the last new pod, and max_us after the first. */
struct hr__karpenter_batch {
  int64_t idle_us, max_us;
  bool is_open;
  int64_t first_us, end_us;
};
static inline void hr__karpenter_batch_add(struct hr__karpenter_batch *batch, int64_t now_us) {
  if (!batch->is_open) batch->first_us = now_us;
  batch->is_open = true;
  batch->end_us = now_us + batch->idle_us;
  if (batch->end_us > batch->first_us + batch->max_us) batch->end_us = batch->first_us + batch->max_us;
}

#endif
