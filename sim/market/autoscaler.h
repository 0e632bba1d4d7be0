/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_MARKET_AUTOSCALER_H
#define HR_SIM_MARKET_AUTOSCALER_H

/*
 * The autoscaler of a cluster in a run: its state, the demand of waiting jobs, and the interface to the rules of each
 * kind of autoscaler. The rules of Kubernetes' cluster autoscaler are in node_scans.c, and the rules of Karpenter in
 * karpenter_loop.c. Both use the decision functions of sim/clusters/node_autoscalers.h.
 */

#include "base/containers.h"
#include "headroom/unstable/clusters.h"
#include "sim/clusters/node_autoscalers.h"
#include "sim/engine/engine.h"

/* A kind of jobs: all jobs with equal requests. */
struct hr__pod_kind {
  uint32_t accept_class, gpus;
  uint32_t request; /* index in the table of requests; HR_NONE in counted allocation */
  bool fits_node;   /* some accepted pool has nodes with at least `gpus` GPUs */
  /* the following members, except `cpu_m` and `memory`, are those of the present scan */
  /* n_jobs: waiting jobs that are not held by a rule (is_held). n_left: number of these jobs that fit on no node */
  uint32_t n_jobs, n_left;
  uint32_t n_seen;       /* scratch */
  uint32_t next;         /* the next kind of the list of kinds; HR_NONE: none */
  bool is_blocked;       /* a job of the kind waits although nodes seem to have room for it */
  bool is_linked;        /* the kind is in the list of kinds */
  int32_t priority;      /* the highest priority of its waiting jobs */
  int64_t cpu_m, memory; /* the largest request of a pod over all suitable pools, in milli-CPUs and bytes */
  /* part_pool: a pool in which the oldest of the n_left jobs has reserved room for some of its pods; HR_NONE: none.
     part_left[i]: number of its pods in row i that lack room */
  uint32_t part_pool, part_left[2];
};

/* The pods of a job in a pool: up to two rows of equal pods. */
struct hr__pod_row {
  struct hr__node_amounts request;
  uint32_t count;
};
struct hr__pod_rows {
  struct hr__pod_row row[2];
  uint32_t n_rows;
};

/* A waiting job: an element of the list of all waiting jobs, in the order in which they began to wait. */
struct hr__waiting_job {
  int64_t since_us; /* when the job began to wait */
  uint32_t kind;
  uint32_t before, after; /* job id + 1; 0: none */
  bool is_held;           /* in the present scan: a rule such as a quota holds the job, so more nodes would not help */
};

/* The room of a node for pods. If not `is_usable`, no pod may be placed on the node. */
struct hr__node_room {
  struct hr__node_amounts free;
  bool is_usable, boots;
  bool is_needed; /* a waiting job would use the node */
};

/* The room of a node before a change that may be undone. */
struct hr__room_change {
  uint32_t node;
  struct hr__node_room before;
};

struct hr__scaled_pool {
  bool is_scaled;
  struct hr__node_amounts node; /* capacity of one node */
  struct hr__ca_backoff backoff;
  uint32_t n_requests; /* number of requests for a node, including failed requests */
};

/* The maximum number of rows of pods that a kind has in a scale-up: two rows for the job that has room for some of its
   pods, and two rows for all other jobs. struct hr__pods_of describes one of these rows. */
enum { HR__KIND_ROWS = 4 };
struct hr__pods_of {
  uint32_t kind, per_job; /* per_job: pods of one job in this row */
  /* in the first row of a job or of several equal jobs: the number of their rows; 0 in the second row */
  uint32_t n_rows;
};

/* Changes of jobs and nodes that are reported to the rules of an autoscaler. The first two are changes of a job, the
   others of a node. */
enum hr__change_kind {
  HR__CHANGE_JOB_WAITS,  /* a job begins to wait */
  HR__CHANGE_JOB_LEAVES, /* a job has ended, was rejected, or has left the cluster */
  HR__CHANGE_NODE_JOBS,  /* a job has started or stopped on a node */
  HR__CHANGE_NODE_UP,
  HR__CHANGE_NODE_DOWN
};

/* The rules of a kind of autoscaler. */
struct hr__scaling_rules {
  bool (*create)(struct hr__engine *engine);          /* allocates the state of the rules; false: out of memory */
  enum hr_status (*begin)(struct hr__engine *engine); /* NULL: the rules begin with the first job */
  void (*note)(struct hr__engine *engine, enum hr__change_kind kind, uint32_t entity); /* a job or node has changed */
  enum hr_status (*advance)(struct hr__engine *engine, uint32_t entity);               /* an HR__PENDING_SCAN is due */
  /* Called at the end of each instant, after the pass if there is one. Sets `has_acted` if it has changed nodes. */
  enum hr_status (*after_pass)(struct hr__engine *engine);
  /* Returns whether a pool must not grow now because of failures. */
  bool (*backs_off)(struct hr__engine *engine, uint32_t pool);
  /* Returns whether jobs of `kind` are placed before jobs of `other`, although `other` has an older job. */
  bool (*precedes)(const struct hr__pod_kind *kind, const struct hr__pod_kind *other);
  void (*close)(struct hr__engine *engine); /* frees memory that the arena does not own; may be NULL */
};
extern const struct hr__scaling_rules hr__cluster_autoscaler_rules, hr__karpenter_rules;
struct hr__karpenter_loop;

struct hr__autoscaler {
  const struct hr_autoscaler_spec *spec;
  const struct hr__scaling_rules *rules;
  struct hr__scaled_pool *pools; /* by pool */

  struct hr__waiting_job *waiting; /* by job; valid while the job waits */
  uint32_t first, last;            /* job id + 1; 0: none */
  struct hr__pod_kind *kinds;
  uint32_t n_kinds, capacity;
  struct hr__hash kind_at;
  uint32_t first_kind; /* of the present scan */
  struct hr__node_room *room;
  uint32_t *log; /* scratch: the nodes on which the pods of one job were placed */
  uint32_t n_log, log_capacity;
  struct hr__room_change *changes; /* scratch: the changes of `room` since hr__node_demand_begin */
  uint32_t n_changes, changes_capacity;
  bool records_changes; /* changes of `room` are added to `changes` */
  uint32_t *n_tasks;    /* by node: number of slices of running jobs */
  /* by node: the time at which it last became empty; valid only while the node is up without a job. -1: the node has
     not been up since it was requested */
  int64_t *empty_since_us;
  /* has_acted: the rules have changed nodes at the end of this instant. lacks_memory: memory is exhausted, and the run
     ends with an error */
  bool has_acted, lacks_memory;

  struct hr__karpenter_loop *karpenter; /* the state of Karpenter; NULL for the cluster autoscaler */

  /* the members below are used by the cluster autoscaler only */
  struct hr__ca_group *groups;       /* by pool */
  struct hr__ca_pods *pods;          /* [HR__KIND_ROWS * capacity] */
  struct hr__pods_of *pods_of;       /* by row */
  enum hr__ca_pending *states;       /* by row */
  uint32_t *order;                   /* [HR__KIND_ROWS * capacity + n_pools] */
  struct hr__ca_node *packed;        /* [n_nodes + 2] */
  struct hr__ca_option *options;     /* [n_pools]; the first elements are the options of the present scale-up */
  uint32_t *option_pool, *kept;      /* by pool */
  double *scores;                    /* by pool */
  struct hr__ca_deletion *deletions; /* by pool */
  struct hr__ca_quota *quotas;       /* [spec->n_quotas] */

  int64_t *unneeded_since_us; /* by node; -1: needed */
  bool *is_unneeded;          /* by node: scratch */

  bool is_due;              /* a scan follows the present pass */
  int64_t next_us, last_us; /* next_us: the next scan, HR_NEVER_US: none; last_us: the last scan, -1: none */
  int64_t due_us; /* the earliest time at which a scan may decide differently although no job or node has changed */
  int64_t added_us, deleted_us, failed_us; /* times of the last scale-up, removal and failure; INT64_MIN / 4: none */
  uint32_t n_draws;                        /* number of random choices among options so far */
};

/* Returns the target size of a pool: the number of its nodes that are not off. */
static inline int64_t hr__scaled_size(const struct hr__pool *pool) {
  return (int64_t)pool->spec->nodes - pool->n_in[HR_NODE_OFF];
}

/* ---- autoscaler.c: requests for nodes ---- */

/* Requests and launches a node of a pool. Sets `*node` to the node, or to HR_NONE if the provider has no capacity. */
enum hr_status hr__node_request(struct hr__engine *engine, uint32_t pool, hr_node *node);
/* Returns the number of nodes by which a pool may grow. The limits are the maximum of the pool, the maximum of the
   cluster, and the quotas. */
int64_t hr__nodes_allowed(const struct hr__engine *engine, uint32_t pool);

/* ---- autoscaler.c: demand of waiting jobs ---- */

/* hr__pod_kind_suits returns whether jobs of the kind can be placed in the pool. hr__pod_kind_rows returns the pods of
   such a job in this pool. */
bool hr__pod_kind_suits(const struct hr__engine *engine, const struct hr__pod_kind *kind, uint32_t pool);
struct hr__pod_rows hr__pod_kind_rows(const struct hr__engine *engine, const struct hr__pod_kind *kind, uint32_t pool);
/* Computes where the waiting jobs fit: places them on the free room of nodes that are up or booting, and sets n_left of
   all kinds. The cluster itself does not change. Returns whether any job fits on no node. */
bool hr__node_demand_find(struct hr__engine *engine);
/* Returns when the oldest job that fits on no node began to wait; HR_NEVER_US: no such job. With `with_gpus`, only jobs
   with GPUs count. */
int64_t hr__node_demand_oldest_us(struct hr__engine *engine, bool with_gpus);
/* Reserves room for the pods of one job on nodes of a pool, except the node `except` (HR_NONE: no exception). Returns
   false, and changes nothing, if not all pods fit. Must follow hr__node_demand_find. */
bool hr__node_demand_place(struct hr__engine *engine, const struct hr__pod_kind *kind, uint32_t pool, uint32_t except);
/* hr__node_demand_begin starts to record reservations. hr__node_demand_end stops this. Unless `keeps`, it also cancels
   all reservations since the start. Returns `keeps`. */
void hr__node_demand_begin(struct hr__engine *engine);
bool hr__node_demand_end(struct hr__engine *engine, bool keeps);
/* Returns the kind of a running or waiting job. */
const struct hr__pod_kind *hr__node_demand_kind(const struct hr__engine *engine, hr_job job);

/* ---- Karpenter -------------------------------------------------------------------------------------- */

/*
 * Karpenter in a run (karpenter_loop.c). It uses the decision functions of sim/clusters/node_autoscalers.h. Each
 * elastic pool is an option of Karpenter: one instance type in one region and market. The first loop examines the
 * waiting jobs and requests nodes; one such examination is called a look. The second loop removes nodes in passes.
 */

struct hr__karpenter_loop {
  uint32_t *node_pool;                    /* by pool: its node pool; HR_NONE: the pool is not managed */
  int64_t *unavailable_until_us;          /* by pool */
  struct hr__karpenter_option *options;   /* by pool */
  struct hr__karpenter_pods *pods;        /* by pool: scratch */
  struct hr__karpenter_node_pool *limits; /* by node pool: how much capacity may be added */
  struct hr__karpenter_budget *budgets;   /* the budgets of all node pools, one node pool after the other */
  uint32_t *first_budget; /* [n_node_pools + 1]: the first budget of each node pool; the last element is the number of
                             budgets */

  struct hr__karpenter_batch batch;
  int64_t looked_us, retry_us; /* looked_us: the last look, -1: none; retry_us: the next look at jobs that still wait,
                                  HR_NEVER_US: none */
  /* the last instant at the end of which the loops ran or could run. A change that follows at this instant is examined
     at a later instant */
  int64_t acted_us;
  bool is_retry_due, is_look_due;

  int64_t *touched_us; /* by node: the last time at which a job started or stopped on the node, or the node booted */
  /* The loop that removes nodes. A pass can find a command. A command for drift is executed at once; any other command
     is executed after some time if it is then still valid. Passes are at base_us plus multiples of the period. pass_us:
     the next pass, HR_NEVER_US: none. passed_us: the last pass, -1: none */
  int64_t base_us, pass_us, passed_us;
  bool is_pass_due;
  int64_t validate_us; /* the time at which the stored command is validated; HR_NEVER_US: no command is pending */
  bool is_validation_due;
  uint32_t *command; /* [n_nodes]: the nodes that the command removes */
  uint32_t n_command;
  enum hr__karpenter_reason reason;
  enum hr__karpenter_action action;
  /* sent: [n_pools], the pools from which the replacement may be requested. sends_spot: the replacement must be a spot
     node */
  bool *sent, sends_spot;
  uint32_t *awaits; /* by node: id of the node that will replace it + 1; 0: none */
  uint32_t n_awaiting;
  int64_t due_us; /* the earliest time at which a pass may decide differently although no job or node has changed */

  struct hr__karpenter_node *nodes;     /* [n_nodes]: the nodes that the present call of hr__karpenter_try considers */
  uint32_t *node_id, *order;            /* [n_nodes] */
  bool *leaves;                         /* [n_nodes] */
  struct hr__node_amounts *free, *left; /* [n_nodes], [n_pools] */
  struct hr__karpenter_type *types;     /* by pool: each pool is an instance type with one offering */
  struct hr__karpenter_offering *offerings;
  uint32_t *types_sent; /* [n_pools] */
  /* from malloc: for each job on a candidate node, a row with its request in each pool, [n_pools] */
  struct hr__node_amounts *by_type;
  uint32_t by_type_capacity;
  int64_t *budget_left; /* by node pool */
};

#endif
