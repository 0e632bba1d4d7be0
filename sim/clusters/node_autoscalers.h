/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTERS_NODE_AUTOSCALERS_H
#define HR_SIM_CLUSTERS_NODE_AUTOSCALERS_H

/*
 * The rules of two node autoscalers, Cluster Autoscaler and Karpenter, as pure functions. Node groups, instance types,
 * nodes and pods are indices into arrays. All arrays belong to the caller, except those that struct hr__karpenter_plan
 * allocates.
 */

#include "headroom/base.h"

/* ---- Amounts of resources --------------------------------------------------------------------------- */

/* Amounts of the resources that node autoscalers count: of a node, or requested by a pod. */

enum hr__amount { HR__CPU_M, HR__MEMORY_BYTES, HR__GPUS, HR__N_AMOUNTS };

struct hr__node_amounts {
  /* thousandths of a core, bytes, GPUs. The unit of GPUs is that of the caller: the simulated autoscalers use
     thousandths of a GPU */
  int64_t of[HR__N_AMOUNTS];
};

static inline void hr__amounts_add(struct hr__node_amounts *sum, const struct hr__node_amounts *more, int64_t times) {
  for (int i = 0; i < HR__N_AMOUNTS; i++) sum->of[i] += times * more->of[i];
}

/* Returns whether a request fits. A resource that is not requested is not compared. */
static inline bool hr__amounts_fit(const struct hr__node_amounts *request, const struct hr__node_amounts *room) {
  for (int i = 0; i < HR__N_AMOUNTS; i++)
    if (request->of[i] > 0 && request->of[i] > room->of[i]) return false;
  return true;
}

/* ---- Cluster Autoscaler ----------------------------------------------------------------------------- */

/*
 * These functions determine which node group grows, by how many nodes, and which nodes are removed. They draw no random
 * numbers: if the original chooses among candidates at random, all candidates are returned.
 *
 * Source: kubernetes/autoscaler, cluster-autoscaler/ (core, estimator, expander, processors/nodegroupset, simulator,
 * utils/backoff) at f7bb0c36.
 */

/* ---- Cluster Autoscaler: expanders: which of the options is chosen ---------------------------------- */

/* An option: the growth of one node group. */
struct hr__ca_option {
  int64_t nodes;                /* nodes to add */
  int64_t n_pods;               /* pods that fit on these nodes */
  struct hr__node_amounts node; /* capacity of one node */
  struct hr__node_amounts pods; /* requests of all these pods */
  double node_usd_h;            /* price of a node, $ an hour; NAN: unknown */
  double pods_usd_h;            /* price of the requests of all these pods, $ an hour */
  bool has_gpus;                /* the nodes have GPUs */
  bool is_new_group;            /* the group does not exist yet */
  bool has_priority;            /* a pattern of the priority expander matches the group */
  int64_t priority;             /* the highest priority that has a matching pattern */
};

enum hr__ca_expander {
  HR__CA_RANDOM,
  HR__CA_MOST_PODS,
  HR__CA_LEAST_NODES,
  HR__CA_LEAST_WASTE, /* of CPU and memory; GPUs do not count */
  HR__CA_PRICE,
  HR__CA_PRIORITY
};

struct hr__ca_price_settings {
  int64_t preferred_cpu_m;    /* CPU of the preferred node (hr__ca_preferred_cores) */
  double stabilization_usd_h; /* price of a pod of half a core and 500 MiB */
};

/* Reduces `kept` (indices of options) to the options that are the best for an expander. Options without a score are
   removed. Returns the number of remaining options; equally good options all remain. The priority expander keeps all
   options if no pattern matches. `price`: used only with HR__CA_PRICE. `scores`: scratch, by index of an option. */
uint32_t hr__ca_expand(enum hr__ca_expander expander, const struct hr__ca_option *options,
                       const struct hr__ca_price_settings *price, double *scores, uint32_t *kept, uint32_t n_kept);

/* A filter of a chain. `keep` removes options from `kept` and returns the number of remaining options. */
struct hr__ca_filter {
  uint32_t (*keep)(const void *self, uint32_t *kept, uint32_t n_kept);
  const void *self;
};
/* Calls the filters in order, until only one option is left. Returns the number of remaining options. */
uint32_t hr__ca_chain(const struct hr__ca_filter *filters, uint32_t n_filters, uint32_t *kept, uint32_t n_kept);

/* Returns the number of cores of the node that the price expander prefers in a cluster of this size. */
int64_t hr__ca_preferred_cores(int64_t cluster_nodes);
/* Returns the ratio of the numbers of cores of a node and of the preferred node: the larger number divided by the
   smaller one. */
double hr__ca_unfitness(int64_t preferred_cpu_m, int64_t node_cpu_m);

/* ---- Cluster Autoscaler: limits of one scale-up; 0: no limit, negative: nothing may be added -------- */

int64_t hr__ca_smaller_limit(int64_t a, int64_t b);
int64_t hr__ca_cluster_limit(int64_t max_nodes, int64_t nodes);
/* hr__ca_room_limit: `room` is the sum of hr__ca_room over a group and its similar groups. */
static inline int64_t hr__ca_room(int64_t max, int64_t size) {
  return max > size ? max - size : 0;
}
static inline int64_t hr__ca_room_limit(int64_t room) {
  return room > 0 ? room : -1;
}

/* ---- Cluster Autoscaler: packing pods on new nodes of one group ------------------------------------- */

enum hr__ca_spread { HR__CA_NO_SPREAD, HR__CA_SPREAD_HOSTS, HR__CA_SPREAD_ZONES };
enum { HR__CA_MAX_ZONES = 64, HR__CA_MAX_PORTS = 64 };

/* Equal pods of one owner. */
struct hr__ca_pods {
  struct hr__node_amounts request;
  uint32_t count;
  uint32_t host_port; /* 1 to HR__CA_MAX_PORTS; 0: none. Two pods with the same port exclude each other on a node */
  enum hr__ca_spread spread;
  /* largest allowed difference between the pods of this owner in a domain and in the emptiest domain */
  int64_t max_skew;
  int64_t min_domains; /* with fewer domains, the emptiest domain counts as having no pods */
  uint32_t placed;     /* result */
};

struct hr__ca_node {
  struct hr__node_amounts free;
  int64_t pods_left; /* pods that the node may still have */
  uint32_t zone;     /* below HR__CA_MAX_ZONES */
  uint64_t ports;    /* the set of used host ports: bit p - 1 is port p */
  uint32_t own;      /* number of pods of the owner whose pods are being placed */
  bool has_pods;     /* a pod was placed on the node */
};

struct hr__ca_packing {
  struct hr__ca_node fresh; /* an empty node of the group */
  /* The existing nodes, followed by the new nodes. The array must have room for n_present + max_new nodes; if max_new
     is 0, for n_present + (number of pods) + 1 nodes. */
  struct hr__ca_node *nodes;
  uint32_t n_present, n_nodes;
  int64_t max_new; /* maximum number of new nodes; 0: no limit, negative: no node may be added */
  uint32_t *order; /* [n_groups], scratch */
  /* results */
  uint32_t n_used; /* nodes that got pods */
  uint32_t n_placed;
};

/* Packs groups of pods on new nodes. Groups are packed in falling order of (CPU of a pod / CPU of a node + memory of a
   pod / memory of a node). Sets `placed` of each group. Only pods that are spread over hosts can also be placed on
   existing nodes. As in the original, existing nodes that got such pods then count as used. */
void hr__ca_pack(struct hr__ca_packing *packing, struct hr__ca_pods *groups, uint32_t n_groups);

/* ---- Cluster Autoscaler: a scale-up ----------------------------------------------------------------- */

enum hr__ca_refusal {
  HR__CA_NOT_REFUSED,
  HR__CA_AT_MAXIMUM,
  HR__CA_NODE_COUNT, /* of the cluster */
  HR__CA_CPU_QUOTA,
  HR__CA_MEMORY_QUOTA,
  HR__CA_GPU_QUOTA,
  HR__CA_NO_POD_FITS
};

struct hr__ca_group {
  struct hr__node_amounts node;
  int64_t size, max; /* target size and maximum */
  int64_t max_pods;  /* per node */
  bool zero_or_max;  /* grows to the maximum or not at all */
  bool is_fixed;     /* not managed by the autoscaler, but its nodes count */
  bool is_unready;   /* unhealthy, or in back-off */
  /* results */
  enum hr__ca_refusal refusal;
  int64_t option_nodes; /* nodes of the option; 0: the group is not an option */
  int64_t grow;         /* nodes to add */
};

enum hr__ca_pending { HR__CA_NO_GROUP_FITS, HR__CA_ANOTHER_FITS, HR__CA_TRIGGERED };

#define HR__CA_ALL_GROUPS UINT32_MAX

/* A limit on the sum of an amount over the nodes of one group, of all groups, or of some groups. INT64_MAX: no
   limit. */
struct hr__ca_quota {
  uint32_t group; /* or HR__CA_ALL_GROUPS */
  struct hr__node_amounts limit;
  /* [n_groups]; only with HR__CA_ALL_GROUPS: the groups to which the limit applies; NULL: all groups */
  const bool *groups;
};

struct hr__ca_scale_up {
  struct hr__ca_group *groups;
  uint32_t n_groups;
  struct hr__ca_pods *pods;    /* pending, by owner */
  enum hr__ca_pending *states; /* [n_pods], result */
  uint32_t n_pods;
  const struct hr__ca_quota *quotas;
  uint32_t n_quotas;
  int64_t max_nodes;         /* of the cluster; 0: no limit */
  bool balances;             /* new nodes are divided among similar groups */
  struct hr__ca_node *nodes; /* scratch, with room as in struct hr__ca_packing */
  uint32_t *order;           /* [max(n_pods, n_groups)], scratch */
};

/* Finds the options, which are the groups with option_nodes > 0. Sets `refusal` and `option_nodes` of all groups, and
   the states of the pods. */
void hr__ca_find_options(struct hr__ca_scale_up *self);
/* Grows the chosen option within the limits, and sets `grow` of the groups and the states of the pods. If no growth is
   possible, sets only `refusal` of the chosen group. */
void hr__ca_grow(struct hr__ca_scale_up *self, uint32_t chosen);

struct hr__ca_size {
  int64_t size, max;
};
/* Adds nodes one by one to the smallest group below its maximum. Returns the number of nodes added. */
int64_t hr__ca_balance(struct hr__ca_size *groups, uint32_t n_groups, int64_t add);

/* ---- Cluster Autoscaler: back-off of a group -------------------------------------------------------- */

/* first_us, longest_us: lengths of the first and of the longest back-off. A failure after the end of a back-off doubles
   the length. forget_us: if no failure occurs for longer than this time, the next back-off is a first one again. */
struct hr__ca_backoff_spec {
  int64_t first_us, longest_us, forget_us;
};
struct hr__ca_backoff {
  bool has_failed;
  int64_t length_us, until_us, last_us; /* last_us: last failure */
};
/* Begins a back-off, or extends the present one, after a failure. */
void hr__ca_fail(const struct hr__ca_backoff_spec *spec, struct hr__ca_backoff *self, int64_t now_us);
/* Resets the back-off if the last failure is longer ago than forget_us. */
void hr__ca_forget(const struct hr__ca_backoff_spec *spec, struct hr__ca_backoff *self, int64_t now_us);
static inline bool hr__ca_is_backed_off(const struct hr__ca_backoff *self, int64_t now_us) {
  return self->has_failed && self->until_us >= now_us;
}

/* ---- Cluster Autoscaler: scale-down ----------------------------------------------------------------- */

struct hr__ca_use {
  struct hr__node_amounts containers; /* requests of the containers, and of init containers that continue to run */
  struct hr__node_amounts init;       /* largest init container that ends */
  bool is_daemon, is_mirror;
  bool is_overdue; /* the pod is being deleted, and its grace period has been over for some time */
};

/* A pool of devices of a node: all devices, and those that pods have claimed. */
struct hr__ca_devices {
  int64_t total, claimed;
};

struct hr__ca_used_node {
  struct hr__node_amounts allocatable; /* CPU or memory 0: unknown */
  bool has_gpus;                       /* the node is of a kind with GPUs, ready or not */
  const struct hr__ca_use *pods;
  uint32_t n_pods;
  const struct hr__ca_devices *devices;
  uint32_t n_devices; /* number of pools of devices; 0 also if device claims are switched off */
  bool skips_daemons, skips_mirrors;
};

enum hr__ca_measure { HR__CA_BY_CPU, HR__CA_BY_MEMORY, HR__CA_BY_GPU, HR__CA_BY_DEVICES };

struct hr__ca_utilization {
  double share, cpu, memory; /* `cpu` and `memory` are set only if they were examined */
  enum hr__ca_measure by;
  uint32_t pool; /* HR__CA_BY_DEVICES: the pool */
};

/* Writes the utilization that decides about the removal of a node, and returns true:
   - If the node is of a kind with GPUs, the utilization of the GPUs; 0 without a ready GPU.
   - Otherwise, if the node has pools of devices, the highest utilization of these pools.
   - Otherwise the larger of the utilizations of CPU and memory. If the node has no CPU or no memory, returns false. */
bool hr__ca_utilization(const struct hr__ca_used_node *node, struct hr__ca_utilization *utilization);

enum hr__ca_reason {
  HR__CA_NO_REASON,
  HR__CA_BEING_DELETED,
  HR__CA_DISABLED,
  HR__CA_UNEXPECTED,
  HR__CA_NOT_AUTOSCALED,
  HR__CA_UNREADY_DISABLED,
  HR__CA_NOT_UNDERUTILIZED,
  HR__CA_NOT_UNNEEDED_LONG,
  HR__CA_NOT_UNREADY_LONG,
  HR__CA_MIN_SIZE,
  HR__CA_MIN_RESOURCES,
  HR__CA_N_REASONS
};
/* The reasons in the words of Kubernetes. */
extern const char *const hr__ca_reasons[HR__CA_N_REASONS];

struct hr__ca_candidate {
  bool is_being_deleted, is_disabled, is_ready;
  bool has_group;
  bool keeps_unready; /* nodes that are not ready are never removed */
  double threshold;   /* of the utilization */
  /* The following members are for hr__ca_removable. */
  int64_t since_us;                /* time since which the node has been unneeded */
  int64_t unneeded_us, unready_us; /* times for which a ready, or an unready, node must have been unneeded */
  int64_t group_size, group_min;   /* group_size: the target size, minus the nodes that are being deleted */
  /* amounts that can still be removed until a minimum of the cluster is reached; INT64_MAX: no minimum */
  struct hr__node_amounts cluster_left;
  int64_t cluster_nodes_left; /* number of nodes that can still be removed until this minimum is reached */
};

/* Returns why a node is not considered for removal; HR__CA_NO_REASON: it is considered. */
enum hr__ca_reason hr__ca_eligible(const struct hr__ca_candidate *candidate, const struct hr__ca_used_node *node);
/* Returns why an unneeded node must not be removed now; HR__CA_NO_REASON: it may be removed. */
enum hr__ca_reason hr__ca_removable(const struct hr__ca_candidate *candidate, const struct hr__node_amounts *node,
                                    int64_t now_us);
/* Records which nodes are unneeded in this loop. `since_us` is -1 for a node that is needed. */
void hr__ca_note_unneeded(int64_t *since_us, const bool *is_unneeded, uint32_t n_nodes, int64_t now_us);
/* Returns how many of `wanted` nodes of a group may be removed. `left`: target size minus the nodes that are being
   deleted or were chosen for removal. */
static inline int64_t hr__ca_above_minimum(int64_t wanted, int64_t left, int64_t minimum) {
  const int64_t room = hr__ca_room(left, minimum);
  return wanted < room ? wanted : room;
}

/* Nodes of a group that may be deleted. */
struct hr__ca_deletion {
  bool is_atomic;                 /* the group is removed as a whole or not at all */
  int64_t target, registered;     /* size of the group, and number of its existing nodes; atomic groups only */
  int64_t empty, drain;           /* candidates */
  int64_t take_empty, take_drain; /* results */
};

struct hr__ca_budget {
  int64_t all;   /* deletions that may still start */
  int64_t drain; /* of nodes with pods */
};

struct hr__ca_deletions {
  struct hr__ca_deletion *groups;
  /* indices of the groups with empty candidates, and of those with candidates to drain, in the order of deletion */
  const uint32_t *empty, *drain;
  uint32_t n_empty, n_drain;
};

/* Chooses nodes for removal within the budget: sets take_empty and take_drain. Atomic groups are first, and the first
   of them may exceed the budget. */
void hr__ca_take(struct hr__ca_deletions *self, struct hr__ca_budget budget);

/* ---- Karpenter -------------------------------------------------------------------------------------- */

/*
 * These functions determine the costs of disruptions, how many nodes a budget allows to be disrupted, which nodes are
 * deleted or replaced by a cheaper node, and which nodes are bought. Prices are in $ an hour.
 *
 * Source: kubernetes-sigs/karpenter, pkg/controllers/disruption, pkg/apis/v1/nodepool.go, pkg/utils/disruption, at
 * 22664681; github.com/robfig/cron for schedules.
 */

/* ---- Karpenter: costs of a disruption --------------------------------------------------------------- */

/* Returns the cost of evicting a pod, from -10 to 10; it is 1 for a pod without priority and deletion cost. */
double hr__karpenter_eviction_cost(double priority, double deletion_cost);
/* The disruption of a node without pods. Each pod adds its eviction cost, if this is positive. */
#define HR__KARPENTER_NODE_DISRUPTION 1.0
/* Returns the savings per disruption of a node. Candidates are tried in falling order of this ratio. */
static inline double hr__karpenter_savings_ratio(double price, double disruption) {
  return price / disruption;
}

/* ---- Karpenter: the balanced policy ----------------------------------------------------------------- */

struct hr__karpenter_totals {
  double cost, disruption; /* sums over the nodes of a pool */
};

struct hr__karpenter_score {
  bool is_approved;
  double
      score; /* (savings / cost of the pool) / (disruption / disruption of the pool); INFINITY: nothing is disturbed */
};

/* Scores a move of one pool. The move is approved if the score is at least 1 / k. It is not approved if it saves
   nothing or if the pool costs nothing. */
struct hr__karpenter_score hr__karpenter_score(double savings, double disruption, struct hr__karpenter_totals pool,
                                               double k);

/* The part of a move that concerns one pool. */
struct hr__karpenter_part {
  bool is_balanced;        /* the pool has the balanced policy; others approve every move */
  double cost, disruption; /* of the nodes of the pool that the move removes */
  struct hr__karpenter_totals pool;
  double k;
};
/* Scores a move of nodes of several pools. The savings are divided among the pools in proportion to the costs of their
   removed nodes. The move is approved if each pool with the balanced policy approves it with its share of the savings.
   The score is the lowest score of these pools; INFINITY: no such pool. A move without parts is not approved. */
struct hr__karpenter_score hr__karpenter_score_move(double savings, const struct hr__karpenter_part *parts,
                                                    uint32_t n_parts);

/* ---- Karpenter: schedules and budgets --------------------------------------------------------------- */

/* A cron schedule in UTC: bit i is set if the field may be i. */
struct hr__cron {
  uint64_t minutes, hours, days, months, weekdays;
  /* the field is a star. If neither field is a star, a day matches if its day of the month or its weekday matches;
     otherwise both must match */
  bool any_day, any_weekday;
  int64_t every_s; /* "@every": time from each instant of the schedule to the next; 0: the fields above apply */
};
/* Reads five fields or @yearly, @monthly, @weekly, @daily, @hourly, @every DURATION. Returns false if the text is not a
   valid schedule. */
bool hr__cron_read(const char *text, struct hr__cron *cron);
/* Returns whether the schedule has an instant after `after_s` and not after `until_s` (seconds since 1970 UTC). With
   "@every", the instants are counted from `after_s`. */
bool hr__cron_hits(const struct hr__cron *cron, int64_t after_s, int64_t until_s);
/* Returns the first instant after `after_s`; INT64_MAX: none in nine years. Not for "@every". */
int64_t hr__cron_next(const struct hr__cron *cron, int64_t after_s);

enum hr__karpenter_reason { HR__KARPENTER_EMPTY, HR__KARPENTER_UNDERUTILIZED, HR__KARPENTER_DRIFTED };

struct hr__karpenter_budget {
  int64_t nodes; /* or percent of the nodes of the pool */
  bool is_percent;
  bool is_wrong;    /* it could not be read, so it allows no disruption */
  uint32_t reasons; /* bit of each reason; 0: all */
  bool is_always;   /* without a schedule */
  struct hr__cron schedule;
  int64_t duration_s;
};
/* Reads "10" or "10%". */
bool hr__karpenter_read_nodes(const char *text, struct hr__karpenter_budget *budget);

static inline bool hr__karpenter_is_active(const struct hr__karpenter_budget *budget, int64_t now_s) {
  return budget->is_always || hr__cron_hits(&budget->schedule, now_s - budget->duration_s, now_s);
}
/* Returns a time after `now_s` before which the budget neither becomes active nor stops being active; INT64_MAX: it
   never does. */
int64_t hr__karpenter_constant_until(const struct hr__karpenter_budget *budget, int64_t now_s);
/* Returns the number of nodes of a pool that a budget allows to be disrupted at the same time; INT64_MAX: no limit.
   Percentages are rounded up. hr__karpenter_allowed_for returns the minimum over the budgets that apply to the
   reason. */
int64_t hr__karpenter_allowed(const struct hr__karpenter_budget *budget, int64_t pool_nodes, int64_t now_s);
int64_t hr__karpenter_allowed_for(const struct hr__karpenter_budget *budgets, uint32_t n_budgets,
                                  enum hr__karpenter_reason reason, int64_t pool_nodes, int64_t now_s);
/* Returns how many of the `allowed` nodes are left. `leaving`: nodes of the pool that are being deleted or are not
   ready. */
static inline int64_t hr__karpenter_left(int64_t allowed, int64_t leaving) {
  return allowed == INT64_MAX ? allowed : allowed > leaving ? allowed - leaving : 0;
}

/* ---- Karpenter: consolidation ----------------------------------------------------------------------- */

#define HR__KARPENTER_ANY UINT32_MAX

struct hr__karpenter_offering {
  double price;
  uint32_t zone;
  bool is_spot, is_available;
};

struct hr__karpenter_type {
  struct hr__node_amounts size;
  uint32_t first, n; /* its offerings: index of the first one, and their number */
};

struct hr__karpenter_node {
  double price;
  uint32_t type;
  bool is_spot;
  bool is_candidate;
  double disruption;
  struct hr__node_amounts free; /* capacity that its pods do not request */
  uint32_t first, n;            /* its pods: index of the first one, and their number */
};

struct hr__karpenter_world {
  const struct hr__karpenter_type *types;
  const struct hr__karpenter_offering *offerings;
  const struct hr__karpenter_node *nodes;
  const struct hr__node_amounts *pods; /* requests */
  /* [n_types] for each pod: its request on nodes of each type. If it may not run on a type, it requests a number of
     GPUs that no node has. NULL: the requests are `pods` on all types */
  const struct hr__node_amounts *by_type;
  uint32_t n_types, n_nodes;
  /* the kinds of nodes that a new node may have */
  bool allows_spot, allows_on_demand;
  uint32_t zone;     /* or HR__KARPENTER_ANY */
  bool spot_to_spot; /* the feature gate */
  /* the nodes are removed for another reason than their price, so their replacement may cost more */
  bool any_price;
  uint32_t min_types; /* minimum number of types in the request for a replacement; 0: no minimum */
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
  uint32_t first, n_nodes; /* the nodes order[first], ..., order[first + n_nodes - 1] are removed */
  uint32_t n_sent;
  bool is_spot; /* the replacement must be a spot node */
};

/* Returns the price of a running node of a type: that of the cheapest offering in the zone, available or not. NAN: no
   offering exists. */
double hr__karpenter_node_price(const struct hr__karpenter_offering *offerings, uint32_t n_offerings, uint32_t zone,
                                bool is_spot);
/* Sorts the candidates by savings ratio, the highest ratio first. Returns their number. */
uint32_t hr__karpenter_order(const struct hr__karpenter_world *world);
/* Returns one command for the nodes order[first], ..., order[first + n_nodes - 1]. */
struct hr__karpenter_command hr__karpenter_try(const struct hr__karpenter_world *world, uint32_t first,
                                               uint32_t n_nodes);
/* Searches, by binary search, for the largest k from 2 to min(n, 100) such that there is a command for the first k
   nodes of `order`. Returns this command. */
struct hr__karpenter_command hr__karpenter_try_several(const struct hr__karpenter_world *world, uint32_t n);
/* Sorts the candidates. Returns a command for several of them; if no such command exists, the first command for a
   single candidate. */
struct hr__karpenter_command hr__karpenter_consolidate(const struct hr__karpenter_world *world);

/* ---- Karpenter: provisioning ------------------------------------------------------------------------ */

/*
 * Karpenter's rules for new nodes, as functions of a plan: pods are packed on planned nodes. A planned node may be
 * bought as any of several options; each pod that is added can exclude some of these options. An option is an instance
 * type in a zone as spot or on-demand capacity. Prices are in $ an hour of a node. The plan allocates its planned nodes
 * and its scratch arrays. All other arrays belong to the caller.
 *
 * Source: kubernetes-sigs/karpenter, pkg/controllers/provisioning, at 22664681; aws/karpenter-provider-aws,
 * pkg/providers/instance, at 1d927085.
 */

struct hr__karpenter_option {
  struct hr__node_amounts size;
  double price;
  uint32_t node_pool; /* HR_NONE: the option is not used */
  bool is_spot, is_available;
  int64_t room; /* number of nodes of this option that may be added */
};

/* A node pool. Options of the pool with the largest weight are tried first. `left` and `nodes_left`: what may still be
   added before a limit of the pool is reached; INT64_MAX: no limit. */
struct hr__karpenter_node_pool {
  uint32_t weight;
  struct hr__node_amounts left;
  int64_t nodes_left;
};

/* The pods of one job on nodes of one option. As nodes have different sizes, the division of a job into pods depends on
   the option. There are up to two rows of equal pods. */
struct hr__karpenter_pods {
  struct hr__node_amounts request[2];
  uint32_t count[2]; /* 0 in both rows: the option does not suit */
};

struct hr__karpenter_planned {
  uint32_t node_pool, n_pods;
};

/* The caller sets the arrays and numbers of options and node pools, and all other members to 0. */
struct hr__karpenter_plan {
  const struct hr__karpenter_option *options;
  uint32_t n_options;
  struct hr__karpenter_node_pool *node_pools; /* their limits are reduced when nodes are planned */
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
/* Places a pod on the planned node with the fewest pods among those with room for it. If no planned node has room,
   places it on a new node of the first node pool, by weight, with options and limits that allow such a node. Then
   `nodes_left` of the pool is reduced by 1, and `left` by the largest amounts among the options of the new node.
   `pods`: [n_options], one row each. Returns whether the pod was placed; if memory is exhausted, sets
   plan->lacks_memory. */
bool hr__karpenter_place_pod(struct hr__karpenter_plan *plan, const struct hr__karpenter_pods *pods);
/* Places all pods of a job on nodes of one option, or none of them. The node pool is the first one, by weight, that
   allows these nodes. Among its options, the one with the lowest total price of the new nodes is chosen. `pods`:
   [n_options]. Returns whether the job was placed. */
bool hr__karpenter_place_job(struct hr__karpenter_plan *plan, const struct hr__karpenter_pods *pods);

/* Returns whether spot capacity is bought for a node with these options: spot is preferred, unless on-demand is
   cheaper. */
bool hr__karpenter_buys_spot(const struct hr__karpenter_option *options, const bool *may, uint32_t n_options);
/* Returns the cheapest option that is available and has room, of spot or of on-demand capacity; HR_NONE: none. */
uint32_t hr__karpenter_cheapest(const struct hr__karpenter_option *options, const bool *may, uint32_t n_options,
                                bool is_spot);

/* ---- Karpenter: batches ----------------------------------------------------------------------------- */

/* The window in which new pods are collected. It ends idle_us after the last new pod, but at the latest max_us after
   the first. */
struct hr__karpenter_batch {
  int64_t idle_us, max_us;
  bool is_open;
  int64_t first_us, end_us;
};

#endif
