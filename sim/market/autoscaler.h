/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_MARKET_AUTOSCALER_H
#define HR_SIM_MARKET_AUTOSCALER_H

/*
 * The autoscaler of a cluster in a run: its state, the demand of waiting jobs, and the rules of each kind of
 * autoscaler, also those of Karpenter. The rules of Kubernetes' cluster autoscaler are in node_scans.c, which uses the
 * decisions of sim/clusters/node_autoscalers.h.
 */

#include "base/containers.h"
#include "headroom/unstable/clusters.h"
#include "sim/clusters/node_autoscalers.h"
#include "sim/engine/engine.h"

/* Waiting jobs with equal requests. */
struct hr__pod_kind {
  uint32_t accept_class, gpus;
  uint32_t request; /* HR_NONE in counted allocation */
  bool fits_node;   /* in counted allocation: some accepted pool has nodes that are large enough */
  /* of the present scan */
  /* n_jobs: waiting jobs that are not held by a rule (is_held); n_left: those of them that fit on no node */
  uint32_t n_jobs, n_left;
  uint32_t n_seen; /* scratch */
  uint32_t next;   /* the next kind; HR_NONE: the last one */
  bool is_blocked; /* a job of the kind waits although nodes seem to have room for it */
  bool is_linked;
  int32_t priority;      /* the highest priority of its jobs */
  int64_t cpu_m, memory; /* the largest request of a pod over all suitable pools */
  /* the oldest of the n_left jobs has room for some of its pods on nodes of this pool, and lacks room for part_left[i]
     pods of row i; HR_NONE: no such pool */
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
  int64_t since_us;
  uint32_t kind;
  uint32_t before, after; /* job id + 1; 0: none */
  bool is_held;           /* in the present scan: a rule such as a quota holds the job, so more nodes would not help */
};

/* The room of a node for pods. */
struct hr__node_room {
  struct hr__node_amounts free;
  bool is_usable, boots;
  bool is_needed; /* a waiting job would use it */
};

struct hr__scaled_pool {
  bool is_scaled;
  struct hr__node_amounts node; /* of one node */
  struct hr__ca_backoff backoff;
  uint32_t n_requests; /* number of requested nodes, including failed requests */
};

/* The maximum number of rows of pods that a kind has in a scale-up: two rows of the job that has room for some of its
   pods, and two rows of the other jobs. */
enum { HR__KIND_ROWS = 4 };
struct hr__pods_of {
  uint32_t kind, per_job; /* per_job: pods of one job in this row */
  uint32_t n_rows;        /* in the first row of these jobs: the number of their rows; in the other rows: 0 */
};

/* Changes of jobs and nodes that are reported to the rules of an autoscaler. */
enum hr__change_kind {
  HR__CHANGE_JOB_WAITS,  /* a job begins to wait */
  HR__CHANGE_JOB_LEAVES, /* a job has ended or was rejected */
  HR__CHANGE_NODE_JOBS,  /* a job has started or stopped on a node */
  HR__CHANGE_NODE_UP,
  HR__CHANGE_NODE_DOWN
};
struct hr__scaling_change {
  enum hr__change_kind kind;
  uint32_t job, node; /* one of the two, depending on the kind; the other one is HR_NONE */
};

/* The rules of a kind of autoscaler. */
struct hr__scaling_rules {
  bool (*create)(struct hr__engine *engine); /* allocates their state; false: out of memory */
  enum hr_status (*begin)(struct hr__engine *engine);
  void (*note)(struct hr__engine *engine, const struct hr__scaling_change *change);
  enum hr_status (*advance)(struct hr__engine *engine, uint32_t entity); /* an HR__PENDING_SCAN is due */
  /* Called after each pass. Sets `has_acted` if it has changed nodes. */
  enum hr_status (*after_pass)(struct hr__engine *engine);
  /* Returns whether a pool must not grow now because of failures. */
  bool (*backs_off)(struct hr__engine *engine, uint32_t pool);
  /* Returns whether jobs of a kind are placed before those of another kind that has an older job. */
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
  uint32_t *log; /* nodes on which pods of a job were placed */
  uint32_t n_log, log_capacity;
  uint32_t *n_tasks; /* by node: slices of running jobs */
  /* by node: the time since which it has no job; valid only while the node is up without a job */
  int64_t *empty_since_us;
  bool has_acted, lacks_memory;

  struct hr__karpenter_loop *karpenter; /* of Karpenter; otherwise NULL */

  /* of the cluster autoscaler */
  struct hr__ca_group *groups;       /* by pool */
  struct hr__ca_pods *pods;          /* [HR__KIND_ROWS * capacity] */
  struct hr__pods_of *pods_of;       /* by row */
  enum hr__ca_pending *states;       /* by row */
  uint32_t *order;                   /* [HR__KIND_ROWS * capacity + n_pools] */
  struct hr__ca_node *packed;        /* [n_nodes + 2] */
  struct hr__ca_option *options;     /* by pool; only the first elements are used: the options */
  uint32_t *option_pool, *kept;      /* by pool */
  double *scores;                    /* by pool */
  struct hr__ca_deletion *deletions; /* by pool */
  struct hr__ca_quota *quotas;       /* [spec->n_quotas] */

  int64_t *unneeded_since_us; /* by node; -1: needed */
  bool *is_unneeded;          /* by node: scratch */

  bool is_due;                             /* a scan follows the present pass */
  int64_t next_us, last_us;                /* the next scan; HR_NEVER_US: none. The last scan; -1: none */
  int64_t due_us;                          /* of the present scan: the earliest time at which anything may change */
  int64_t added_us, deleted_us, failed_us; /* the last scale-up, removal, failure; INT64_MIN / 4: none */
  uint32_t n_draws;
};

/* Returns the target size of a pool. */
static inline int64_t hr__scaled_size(const struct hr__pool *pool) {
  return (int64_t)pool->spec->nodes - pool->n_in[HR_NODE_OFF];
}

/* ---- autoscaler.c: requests for nodes ---- */

/* Requests a node of a pool. Sets `*node` to the node, or to HR_NONE if the provider has no capacity. */
enum hr_status hr__node_request(struct hr__engine *engine, uint32_t pool, hr_node *node);
/* Returns by how many nodes a pool may grow within its maximum, that of the cluster, and the quotas. */
int64_t hr__nodes_allowed(const struct hr__engine *engine, uint32_t pool);

/* ---- autoscaler.c: demand of waiting jobs ---- */

/* hr__pod_kind_suits returns whether jobs of the kind may be placed in the pool. hr__pod_kind_rows returns the pods
   that such a job has there. */
bool hr__pod_kind_suits(const struct hr__engine *engine, const struct hr__pod_kind *kind, uint32_t pool);
struct hr__pod_rows hr__pod_kind_rows(const struct hr__engine *engine, const struct hr__pod_kind *kind, uint32_t pool);
/* Places the waiting jobs on nodes that are up or booting, and sets n_left of all kinds. Returns whether any job fits
   on no node. */
bool hr__node_demand_find(struct hr__engine *engine);
/* Returns when the oldest job that fits on no node began to wait; HR_NEVER_US: no such job. With `with_gpus`, only jobs
   with GPUs count. */
int64_t hr__node_demand_oldest_us(struct hr__engine *engine, bool with_gpus);
/* Places the pods of one job on nodes of a pool, except the node `except`. Returns false, and changes nothing, if they
   do not fit. */
bool hr__node_demand_place(struct hr__engine *engine, const struct hr__pod_kind *kind, uint32_t pool, uint32_t except);
/* Returns the kind of a running or waiting job. */
const struct hr__pod_kind *hr__node_demand_kind(const struct hr__engine *engine, hr_job job);

/* ---- Karpenter -------------------------------------------------------------------------------------- */

/*
 * Karpenter in a run (karpenter_loop.c). Its decisions are those of
 * sim/clusters/node_autoscalers.h. Each elastic pool is an option: one instance type in one region and market.
 */

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

#endif
