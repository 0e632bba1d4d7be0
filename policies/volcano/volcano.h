/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_VOLCANO_VOLCANO_H
#define HR_POLICIES_VOLCANO_VOLCANO_H

/*
 * The model of the Volcano scheduler: a function from a snapshot (nodes, queues, jobs, tasks) and a configuration
 * (actions, tiers of plug-ins) to decisions (which tasks are bound, which are evicted, and which wait for resources of
 * a node).
 *
 * A snapshot consists of arrays; items refer to each other by index. A job is a PodGroup, and a task is a pod. The
 * tasks of a job are consecutive. A session is created from a snapshot, which it does not change, and runs the actions
 * in order. All memory of a session comes from one arena; the actions allocate nothing.
 *
 * Not modelled: network topology (HyperNodes), sharding, DRA, affinity between pods, and plug-ins that
 * HR__VOLCANO_PLUGINS does not list. Source: volcano-sh/volcano, pkg/scheduler.
 */

#include "headroom/base.h"
#include "headroom/unstable/systems/systems.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- Resources (session.c) -------------------------------------------------------------------------- */

/*
 * Resource vectors of Volcano. Dimension 0 is the CPU in milli-cores, 1 the memory in bytes, 2 the number of pods; the
 * caller numbers the others, in thousandths of a unit. A dimension other than CPU and memory may be absent; some
 * comparisons treat absent dimensions differently from 0.
 *
 * Amounts are double because Volcano uses float64: the same operations in the same order round in the same way. Whole
 * amounts are exact up to 2^53.
 *
 * Invariant: amount[i] is 0 for absent dimensions and for i >= width; `present` always includes CPU and memory. Source:
 * volcano-sh/volcano, pkg/scheduler/api/resource_info.go.
 */

enum {
  HR__VOLCANO_CPU,
  HR__VOLCANO_MEMORY,
  HR__VOLCANO_PODS,
  HR__VOLCANO_FIRST_OTHER,
  HR__VOLCANO_MAX_DIMENSIONS = 16
};

/* Amounts below this value count as 0, and comparisons have this tolerance. */
#define HR__VOLCANO_TOLERANCE 0.1
/* The amount of an unlimited dimension. */
#define HR__VOLCANO_UNLIMITED 1.7976931348623157e308

struct hr__volcano_vector {
  double amount[HR__VOLCANO_MAX_DIMENSIONS];
  uint32_t present; /* bit i: dimension i is present */
  uint32_t width;   /* 1 + the highest present dimension */
};

/* Makes a vector of zeros in which only CPU and memory are present. */
void hr__volcano_clear(struct hr__volcano_vector *vector);

/* Sets one dimension, which is present afterwards. */
static inline void hr__volcano_set(struct hr__volcano_vector *vector, uint32_t dimension, double amount) {
  vector->amount[dimension] = amount;
  vector->present |= (uint32_t)1 << dimension;
  if (vector->width <= dimension) vector->width = dimension + 1;
}

static inline bool hr__volcano_has(const struct hr__volcano_vector *vector, uint32_t dimension) {
  return vector->present >> dimension & 1;
}

/* Whether the amount counts as more than 0. */
static inline bool hr__volcano_is_positive(const struct hr__volcano_vector *vector, uint32_t dimension) {
  return vector->amount[dimension] >= HR__VOLCANO_TOLERANCE;
}

/* Whether no dimension counts as more than 0. Pods are ignored. */
static inline bool hr__volcano_is_empty(const struct hr__volcano_vector *vector) {
  for (uint32_t i = 0; i < vector->width; i++)
    if (i != HR__VOLCANO_PODS && hr__volcano_is_positive(vector, i)) return false;
  return true;
}

void hr__volcano_add(struct hr__volcano_vector *to, const struct hr__volcano_vector *what);
/* Subtracts. If `from` has no dimensions except CPU and memory, only these are subtracted. */
void hr__volcano_subtract(struct hr__volcano_vector *from, const struct hr__volcano_vector *what);
/* Adds the request (`add`), or subtracts it. */
void hr__volcano_change(struct hr__volcano_vector *vector, const struct hr__volcano_vector *request, bool add);

static inline void hr__volcano_multiply(struct hr__volcano_vector *vector, double factor) {
  for (uint32_t i = 0; i < vector->width; i++) vector->amount[i] *= factor;
}

/* Reduces each present dimension to at most the amount in `limit`. A dimension that is absent in `limit` becomes 0 or,
   with `absent_is_unlimited`, is unchanged. */
void hr__volcano_limit(struct hr__volcano_vector *vector, const struct hr__volcano_vector *limit,
                       bool absent_is_unlimited);

/* Raises each dimension to at least the amount in `floor`. */
static inline void hr__volcano_raise(struct hr__volcano_vector *vector, const struct hr__volcano_vector *floor) {
  for (uint32_t i = 0; i < floor->width; i++)
    if (hr__volcano_has(floor, i) && (!hr__volcano_has(vector, i) || floor->amount[i] > vector->amount[i]))
      hr__volcano_set(vector, i, floor->amount[i]);
}

/* max(0, left - right). CPU, memory, and the dimensions in which the result is above 0 are present. */
struct hr__volcano_vector hr__volcano_exceeding(const struct hr__volcano_vector *left,
                                                const struct hr__volcano_vector *right);

/* Whether both have the same dimensions with the same amounts, without tolerance. */
static inline bool hr__volcano_same(const struct hr__volcano_vector *left, const struct hr__volcano_vector *right) {
  if (left->present != right->present) return false;
  for (uint32_t i = 0; i < left->width; i++)
    if (left->amount[i] != right->amount[i]) return false;
  return true;
}

/* ---- Comparisons; absent dimensions are 0 ---- */

/* Whether left <= right in every dimension that is present in `left`. Differences below HR__VOLCANO_TOLERANCE are
   ignored. */
bool hr__volcano_less_equal(const struct hr__volcano_vector *left, const struct hr__volcano_vector *right);

/* Whether used <= limit, without tolerance, in all dimensions for which the request is more than 0. Pods are
   ignored. */
static inline bool hr__volcano_within(const struct hr__volcano_vector *used, const struct hr__volcano_vector *limit,
                                      const struct hr__volcano_vector *request) {
  for (uint32_t i = 0; i < request->width; i++)
    if (i != HR__VOLCANO_PODS && request->amount[i] > 0 && used->amount[i] > limit->amount[i]) return false;
  return true;
}

/* Whether used <= limit, with tolerance, in at least one requested dimension. Pods, and dimensions in which neither
   `used` nor `limit` is positive, are ignored. */
bool hr__volcano_within_partly(const struct hr__volcano_vector *used, const struct hr__volcano_vector *limit,
                               const struct hr__volcano_vector *request);
/* Whether used > limit, without tolerance, in at least one requested dimension other than pods. CPU and memory count
   only if the limit is positive there, and every other dimension only if it is present in the limit. */
bool hr__volcano_exceeds_partly(const struct hr__volcano_vector *used, const struct hr__volcano_vector *limit,
                                const struct hr__volcano_vector *request);

/* Whether some dimension counts as more than 0 in both vectors. `ignore_pods`: the dimension of pods is not considered.
 */
static inline bool hr__volcano_intersects(const struct hr__volcano_vector *a, const struct hr__volcano_vector *b,
                                          bool ignore_pods) {
  for (uint32_t i = 0; i < a->width && i < b->width; i++)
    if (!(ignore_pods && i == HR__VOLCANO_PODS) && hr__volcano_is_positive(a, i) && hr__volcano_is_positive(b, i))
      return true;
  return false;
}

/* amount / of; 0 / 0 is 0, and x / 0 is 1. */
static inline double hr__volcano_share(double amount, double of) {
  if (of != 0) return amount / of;
  return amount == 0 ? 0 : 1;
}

/* The largest ratio of `used` to `of`, over the dimensions in which `of` counts as more than 0. */
double hr__volcano_dominant_share(const struct hr__volcano_vector *used, const struct hr__volcano_vector *of);

/* ---- Objects ------------------------------------------------------------------------------------------- */

/* No such item; for the parent of a queue: the queue has no parent. */
#define HR__VOLCANO_NONE UINT32_MAX
/* The parent of a queue if its parent does not exist. */
#define HR__VOLCANO_MISSING (UINT32_MAX - 1)

/* ---- Snapshot ---- */

struct hr__volcano_node {
  struct hr__volcano_vector allocatable; /* pods: the maximum number of pods */
  uint32_t group;                        /* node group; HR__VOLCANO_NONE: none */
  uint32_t zone;                         /* revocable zone; HR__VOLCANO_NONE: not revocable */
  /* Measured load, in percent. `usage_is_fresh`: measured during the last five minutes. */
  bool usage_is_fresh, has_cpu_usage, has_memory_usage;
  double cpu_usage, memory_usage;
};

struct hr__volcano_id_list {
  const uint32_t *ids;
  uint32_t n_ids;
};

/* The resources that a queue may use in one node group. Dimensions that are absent in `limit` are unlimited. */
struct hr__volcano_group_limit {
  uint32_t group;
  bool limits_cpu, limits_memory;
  struct hr__volcano_vector limit;
};

/* The node groups of a queue (plug-in nodegroup). */
struct hr__volcano_node_groups {
  struct hr__volcano_id_list required, preferred, anti_required, anti_preferred;
};

struct hr__volcano_queue {
  const char *name; /* orders queues of equal age */
  int64_t created_us;
  uint32_t parent;
  int32_t weight, priority;
  bool is_open, reclaimable;
  bool has_capability;                                       /* false: unlimited */
  struct hr__volcano_vector capability, deserved, guarantee; /* zeros if not set */
  const char *hierarchy, *hierarchy_weights; /* path and weights for hierarchical DRF, such as "root/eng" and "1/2" */
  const struct hr__volcano_node_groups *groups; /* NULL: no affinity */
  const struct hr__volcano_group_limit *group_limits;
  uint32_t n_group_limits;
  bool group_limits_are_invalid;
};

enum hr__volcano_phase {
  HR__VOLCANO_PHASE_PENDING, /* not yet admitted by the action enqueue */
  HR__VOLCANO_PHASE_INQUEUE,
  HR__VOLCANO_PHASE_RUNNING,
  HR__VOLCANO_PHASE_OTHER
};

/* The number of tasks that a job may lose (plug-in tdm): a number, or a percentage of all tasks, rounded up. */
struct hr__volcano_budget {
  bool is_set, is_percent;
  int32_t value;
};

struct hr__volcano_job {
  const char *uid;                /* orders jobs of equal age */
  int64_t created_us, waiting_us; /* waiting_us: maximum wait until it is enqueued in any case (sla); 0: not set */
  uint32_t queue, name_space;     /* HR__VOLCANO_NONE: the queue does not exist */
  int32_t priority, min_available;
  /* Roles are numbered within the job. role_min[r]: minimum number of tasks; the sum is `role_min_total`. */
  const int32_t *role_min;
  const bool *role_has_name; /* false: later tasks are tried even if a task of the role failed */
  uint32_t n_roles;
  int32_t role_min_total;
  bool has_min_resources, preemptable;
  struct hr__volcano_vector min_resources;
  enum hr__volcano_phase phase;
  struct hr__volcano_budget max_unavailable, min_available_budget;
  uint32_t first_task, n_tasks;
  /* Sub-jobs: gangs within the job. At least policy_min[p] sub-jobs of policy p must be complete. NULL: none. */
  const struct hr__volcano_subjob *subjobs;
  const int32_t *policy_min;
  uint32_t n_subjobs, n_policies;
};

struct hr__volcano_subjob {
  const char *name;  /* orders sub-jobs that are otherwise equal */
  uint32_t policy;   /* HR__VOLCANO_NONE: tasks that no policy selects */
  int32_t min_tasks; /* the sub-job is complete with this number of tasks */
};

/* A topology spread constraint. */
struct hr__volcano_spread {
  const uint32_t *domain;  /* [n_nodes] by the value of the label; HR__VOLCANO_NONE: no such label */
  const uint64_t *matches; /* bit set of the tasks that count */
  uint32_t n_domains;
  int32_t max_skew, min_domains;
  bool is_required, matches_itself;
  bool is_by_node; /* each node is a domain of its own */
};

enum hr__volcano_state {
  HR__VOLCANO_PENDING,
  HR__VOLCANO_ALLOCATED, /* placed in this session, not yet bound */
  HR__VOLCANO_PIPELINED, /* placed on resources that are being released */
  HR__VOLCANO_BINDING,
  HR__VOLCANO_BOUND,
  HR__VOLCANO_RUNNING,
  HR__VOLCANO_RELEASING,
  HR__VOLCANO_SUCCEEDED,
  HR__VOLCANO_FAILED,
  HR__VOLCANO_N_STATES
};

struct hr__volcano_task {
  const char *uid; /* orders tasks that are otherwise equal */
  int64_t created_us;
  const struct hr__volcano_vector *request; /* includes one pod */
  uint32_t job, role;                       /* job: HR__VOLCANO_NONE for a pod that belongs to no job */
  uint32_t node;                            /* HR__VOLCANO_NONE: none */
  enum hr__volcano_state state;
  int32_t priority;                        /* 1 unless set */
  int32_t pod_priority;                    /* 0 unless set */
  int64_t index;                           /* the number at the end of the pod's name; -1: none */
  const uint64_t *nodes;                   /* bit set of the nodes that the pod accepts; NULL: all nodes */
  const int64_t *preference;               /* score of each node from preferred node affinity; NULL: zeros */
  const int64_t *avoidance;                /* 0 to 100: how much it avoids each node because of taints; NULL: zeros */
  const struct hr__volcano_spread *spread; /* [n_spread] */
  uint32_t n_spread, subjob;               /* subjob: within the job, 0 if it has none */
  bool preemptable, never_preempts, gated;
  bool uses_revocable_zones;
  bool is_critical; /* of a system-critical priority class or of the namespace kube-system */
  /* 1 to n_tasks: tasks with the same value have equal requests, nodes, queue and zones. If one of them fits on no
     node, the others are not tried until resources are released. 0: unknown. */
  uint32_t equivalence;
};

/* A limit on the sum of the minimum resources of enqueued jobs of a namespace. Absent dimensions are unlimited. */
struct hr__volcano_namespace_quota {
  uint32_t name_space;
  bool limits_cpu, limits_memory;
  struct hr__volcano_vector hard, used;
};

struct hr__volcano_snapshot {
  const struct hr__volcano_node *nodes;
  const struct hr__volcano_queue *queues;
  const struct hr__volcano_job *jobs;
  const struct hr__volcano_task *tasks;
  const struct hr__volcano_namespace_quota *quotas;
  uint32_t n_nodes, n_queues, n_jobs, n_tasks, n_quotas, n_namespaces, n_groups, n_zones;
  uint32_t root_queue;    /* the queue named "root"; HR__VOLCANO_NONE: none */
  uint32_t gpu_dimension; /* of nvidia.com/gpu, for balanced scores; HR__VOLCANO_NONE: none */
};

/* ---- Configuration ---- */

/* The plug-ins, callbacks and actions of the model. Those that a scenario may name come first, with the same ids as in
   the public header. The additional ones are needed only to run the tests of Volcano on the model. */
#define HR__VOLCANO_PLUGINS(X)                                                                                         \
  HR_VOLCANO_PLUGIN_TABLE(X)                                                                                           \
  X(RESOURCE_STRATEGY_FIT, "resource-strategy-fit")                                                                    \
  X(USAGE, "usage")                                                                                                    \
  X(NODEGROUP, "nodegroup")                                                                                            \
  X(TDM, "tdm")                                                                                                        \
  X(RESOURCEQUOTA, "resourcequota")
#define HR__VOLCANO_CALLBACKS(X)                                                                                       \
  HR_VOLCANO_CALLBACK_TABLE(X)                                                                                         \
  X(VICTIM, "victim")                                                                                                  \
  X(HIERARCHY, "hierarchy")                                                                                            \
  X(SUBJOB_READY, "subJobReady")                                                                                       \
  X(SUBJOB_PIPELINED, "subJobPipelined")                                                                               \
  X(SUBJOB_ORDER, "subJobOrder")
#define HR__VOLCANO_ACTIONS(X)                                                                                         \
  HR_VOLCANO_ACTION_TABLE(X)                                                                                           \
  X(SHUFFLE, "shuffle")

#define HR__VOLCANO_ID(name, text) HR__VOLCANO_##name,
enum hr__volcano_plugin_id { HR__VOLCANO_PLUGINS(HR__VOLCANO_ID) HR__VOLCANO_N_PLUGINS };
enum hr__volcano_callback { HR__VOLCANO_CALLBACKS(HR__VOLCANO_ID) HR__VOLCANO_N_CALLBACKS };
enum hr__volcano_action { HR__VOLCANO_ACTIONS(HR__VOLCANO_ID) HR__VOLCANO_N_ACTIONS };
#undef HR__VOLCANO_ID

/* The names in the order of the ids. */
extern const char *const hr__volcano_plugin_names[HR__VOLCANO_N_PLUGINS];
extern const char *const hr__volcano_callback_names[HR__VOLCANO_N_CALLBACKS];
extern const char *const hr__volcano_action_names[HR__VOLCANO_N_ACTIONS];

struct hr__volcano_nodeorder_arguments {
  int32_t least_requested, most_requested, balanced_resource, node_affinity, taint_toleration, topology_spread;
};

/* Weight of a dimension in a score; dimensions without weight are ignored. */
struct hr__volcano_binpack_arguments {
  int32_t weight;
  uint32_t weighted; /* bit set of dimensions */
  int32_t dimension_weight[HR__VOLCANO_MAX_DIMENSIONS];
};

struct hr__volcano_strategy_arguments {
  int32_t weight;
  uint32_t weighted, most_allocated; /* bit sets of dimensions; the others are scored by least allocated */
  int32_t dimension_weight[HR__VOLCANO_MAX_DIMENSIONS];
  /* Scarce resources (sra): tasks that do not need them avoid nodes that have them. */
  int32_t scarce_weight;
  uint32_t scarce; /* bit set */
  int32_t scarce_dimension_weight[HR__VOLCANO_MAX_DIMENSIONS], scarce_weight_sum;
  /* For each idle unit of a proportional resource, this amount of CPU (cores) and memory (10^9 bytes) is kept free. */
  bool is_proportional;
  uint32_t proportional; /* bit set */
  double proportional_cpu[HR__VOLCANO_MAX_DIMENSIONS], proportional_memory[HR__VOLCANO_MAX_DIMENSIONS];
};

struct hr__volcano_usage_arguments {
  int32_t weight, cpu_weight, memory_weight;
  double cpu_threshold, memory_threshold;
};

/* A daily window in which the nodes of a revocable zone may be used, in minutes of the day. */
struct hr__volcano_zone_window {
  uint32_t zone;
  bool is_invalid;
  int32_t start_min, end_min; /* an end that is not after the start is on the next day */
};

struct hr__volcano_tdm_arguments {
  const struct hr__volcano_zone_window *windows;
  uint32_t n_windows;
};

struct hr__volcano_nodegroup_arguments {
  bool is_strict, preferred_in_order;
};

struct hr__volcano_plugin {
  enum hr__volcano_plugin_id id;
  uint32_t tier;    /* plug-ins are sorted by tier */
  uint32_t enabled; /* bit set of callbacks */
  union {
    int32_t ancestor_reclaim_level; /* capacity */
    double overcommit_factor;       /* overcommit */
    int64_t waiting_us;             /* sla; 0: not set */
    struct hr__volcano_nodeorder_arguments nodeorder;
    struct hr__volcano_binpack_arguments binpack;
    struct hr__volcano_strategy_arguments strategy;
    struct hr__volcano_usage_arguments usage;
    struct hr__volcano_tdm_arguments tdm;
    struct hr__volcano_nodegroup_arguments nodegroup;
  } arguments;
};

struct hr__volcano_config {
  const struct hr__volcano_plugin *plugins;
  const enum hr__volcano_action *actions;
  uint32_t n_plugins, n_actions;
  int64_t now_us;        /* on the scale of `created_us` */
  int32_t minute_of_day; /* 0 to 1439; for revocable zones */
  bool topology_aware_preemption;
  /* The number of nodes that topology-aware preemption compares: a percentage of all nodes, a minimum and a maximum. */
  int32_t candidate_percent, min_candidates, max_candidates;
  /* Volcano chooses among equal nodes at random. The model chooses the last one if this is true, else the first one. */
  bool prefers_last_node;
};

/* Sets the arguments of a plug-in to their defaults. */
void hr__volcano_default_arguments(struct hr__volcano_plugin *plugin);

/* A configuration without actions and plug-ins. */
static inline struct hr__volcano_config hr__volcano_default_config(void) {
  return (struct hr__volcano_config){.candidate_percent = 10, .min_candidates = 1, .max_candidates = 100};
}

/* ---- Session ---- */

struct hr__volcano_session;

/* Opens a session. Snapshot and configuration must outlive it. Returns NULL if memory is exhausted. */
struct hr__volcano_session *hr__volcano_open(struct hr_arena *arena, const struct hr__volcano_snapshot *snapshot,
                                             const struct hr__volcano_config *config);
/* Runs the actions. */
void hr__volcano_run(struct hr__volcano_session *session);

/* ---- Single rules, for tests ---- */

enum hr__volcano_verdict {
  HR__VOLCANO_FITS = 0,
  HR__VOLCANO_UNSCHEDULABLE = 2,         /* evictions may help */
  HR__VOLCANO_UNSCHEDULABLE_FOR_GOOD = 3 /* evictions do not help */
};

/* Checks whether the enabled plug-ins accept the task on the node. Resources are not checked. `*reason` is set to the
   reason of a rejection, a text with static lifetime; NULL: none. `reason` may be NULL. */
enum hr__volcano_verdict hr__volcano_predicate(const struct hr__volcano_session *session, uint32_t task, uint32_t node,
                                               const char **reason);
/* The sum of the scores of the enabled plug-ins. */
double hr__volcano_score(const struct hr__volcano_session *session, uint32_t task, uint32_t node);
bool hr__volcano_job_precedes(const struct hr__volcano_session *session, uint32_t left, uint32_t right);
bool hr__volcano_is_enqueueable(struct hr__volcano_session *session, uint32_t job);
/* Writes the tasks that plug-ins evict without a preemptor to `victims`, which has room for all tasks. Returns their
   number. */
uint32_t hr__volcano_victims(const struct hr__volcano_session *session, uint32_t *victims);
/* Reduces `tasks` to those that may be preempted for `preemptor` (HR__VOLCANO_NONE: unknown). Returns their number. */
uint32_t hr__volcano_preemptable(struct hr__volcano_session *session, uint32_t preemptor, uint32_t *tasks,
                                 uint32_t n_tasks);

/* Verifies the invariants of the session: no operation is open, the totals of each node and of each job equal the sums
   over their tasks, and the bound tasks pass hr__volcano_check_binds. Returns a text with static lifetime that names
   the first violation; NULL: none. */
const char *hr__volcano_check(const struct hr__volcano_session *session);
/* Verifies only the tasks that were bound in this session. With the plug-in gang, their jobs must be complete, unless
   tasks were evicted. With the plug-in capacity, their queues must be within their capability. */
const char *hr__volcano_check_binds(const struct hr__volcano_session *session);

/* ---- The state of a session ------------------------------------------------------------------------- */

/*
 * The state of a session, and the interface between its modules:
 *   session.c     states of tasks, resources of nodes, the log of changes
 *   callbacks.c   calls the plug-ins in the order of their tiers and combines their votes; counts of a job's tasks;
 *                 plug-ins gang, priority, conformance, proportion, overcommit, sla, resourcequota
 *   shares.c      plug-ins drf and capacity
 *   nodes.c       plug-ins that accept nodes or score them
 *   actions.c     actions enqueue, allocate, backfill, preempt, reclaim, shuffle
 *
 * Changes are logged. A statement of Volcano is the part of the log that follows a mark. A statement is committed,
 * undone, or forgotten. If it is forgotten, its changes of the session remain, but no tasks are bound or evicted.
 */

/* The resources of a node. future idle = idle + releasing - pipelined. */
struct hr__volcano_node_state {
  struct hr__volcano_vector idle, used, releasing, pipelined;
  uint32_t first_task; /* list of the tasks on the node, newest last */
  uint32_t last_task;
  uint32_t n_pods;     /* tasks on the node that are not being released */
  uint32_t n_changing; /* tasks that are being released or are pipelined */
};

/* The sums over the jobs of a queue, which the owner of a lasting session computes. */
struct hr__volcano_queue_sums {
  /* request: of all jobs with pods; inqueue: minimum resources of enqueued jobs; elastic: allocations above the minimum
     of each job */
  struct hr__volcano_vector allocated, request, inqueue, elastic;
  uint32_t n_jobs;
};

/* Functions of the owner that a lasting session (see hr__volcano_refresh) calls. They may be NULL. */
struct hr__volcano_owner {
  void *self;
  const struct hr__volcano_queue_sums *sums; /* by queue */
  /* Returns whether the task can be placed on the node. Its request fits there. */
  bool (*accepts)(void *self, uint32_t task, uint32_t node);
  /* `placed` is called after a task was placed, `withdrawn` before a placed task is removed from its node. */
  void (*placed)(void *self, uint32_t task, uint32_t node);
  void (*withdrawn)(void *self, uint32_t task);
  /* `evicted` is called after a task was evicted, `restored` after an eviction was undone. */
  void (*evicted)(void *self, uint32_t task);
  void (*restored)(void *self, uint32_t task);
  /* Returns a waiting job of the same kind as `job`, which was just served; HR__VOLCANO_NONE: none. */
  uint32_t (*successor)(void *self, uint32_t job);
};

/* The data of a queue in the plug-ins proportion and capacity. */
struct hr__volcano_queue_state {
  bool takes_part; /* proportion and flat capacity: the queue has a job */
  struct hr__volcano_vector deserved, allocated, request, elastic, inqueue, capability, real_capability, guarantee;
  double share;
  /* Hierarchical capacity. `depth`: number of ancestors; 0 for the root queue. */
  uint32_t parent, depth, n_children;
};

/* A node of the tree of hierarchical DRF. Leaves are jobs. */
struct hr__volcano_drf_node {
  const char *name; /* [name_length], not terminated; NULL for a job */
  uint32_t name_length, job;
  uint32_t parent, first_child, next_sibling;
  double weight, share;
  bool is_saturated;
  struct hr__volcano_vector allocated;
};

enum hr__volcano_operation_kind { HR__VOLCANO_EVICTED, HR__VOLCANO_PLACED, HR__VOLCANO_WAITS };

struct hr__volcano_operation {
  enum hr__volcano_operation_kind kind;
  uint32_t task;
};

/* A heap of ids (HR__HEAP in base/containers.h). The memory of the session has room for all items. */
struct hr__volcano_heap {
  uint32_t *items;
  uint32_t count, capacity; /* capacity: only for heaps from the pool */
};

struct hr__volcano_session {
  const struct hr__volcano_snapshot *snapshot;
  const struct hr__volcano_config *config;
  const struct hr__volcano_owner *owner;                          /* NULL: not a lasting session */
  const struct hr__volcano_plugin *plugin[HR__VOLCANO_N_PLUGINS]; /* NULL: not configured */
  struct hr__volcano_vector total;                                /* allocatable, of all nodes */
  /* Tasks. */
  enum hr__volcano_state *task_state;
  uint32_t *task_node, *task_next, *task_previous; /* lists of a node */
  bool *is_best_effort;                            /* requests nothing but one pod */
  uint32_t *task_epoch;                            /* by equivalence: 1 + the epoch in which no node fit */
  /* Jobs. */
  uint32_t (*job_count)[HR__VOLCANO_N_STATES]; /* tasks by state */
  uint32_t *job_pending_best_effort;
  struct hr__volcano_vector *job_allocated;
  enum hr__volcano_phase *job_phase;
  struct hr__volcano_vector *drf_allocated; /* plug-in drf: includes pipelined tasks, unlike job_allocated */
  double *job_share;
  bool **role_failed; /* [n_jobs][n_roles]: no node accepted a task of the role */
  /* Nodes and queues. */
  struct hr__volcano_node_state *nodes;
  struct hr__volcano_queue_state *proportion, *capacity; /* NULL: the plug-in is not configured */
  bool capacity_is_ready, capacity_is_hierarchical;
  /* Plug-ins. */
  struct hr__volcano_drf_node *drf_nodes;      /* [0] is the root; NULL: no hierarchical DRF */
  uint32_t n_drf_nodes, *drf_leaf, *drf_inner; /* drf_leaf: leaf of a job; drf_inner: inner node of a queue */
  struct hr__volcano_drf_node *drf_copy;
  struct hr__volcano_vector drf_total_allocated;
  struct hr__volcano_vector overcommit_idle, overcommit_inqueue;
  struct hr__volcano_vector *namespace_pending; /* plug-in resourcequota */
  struct hr__volcano_vector *group_allocated;   /* [n_queues][n_groups], plug-in nodegroup */
  /* The log, and the decisions. */
  struct hr__volcano_operation *log;
  uint32_t n_log;
  uint32_t *binds, n_binds, *evictions, n_evictions;
  uint32_t epoch; /* increases whenever resources become free */
  /* Scratch memory of the actions. */
  struct hr__volcano_heap queue_heap, *job_heaps, *task_heaps; /* by queue, by job */
  struct hr__volcano_heap victim_heap;
  uint32_t victim_heap_preemptor;
  uint32_t *candidates, *victims, *filtered; /* [n_tasks] */
  struct hr__volcano_heap pool;              /* unused memory for heaps of an action */
  uint32_t *pool_start;
  uint32_t *node_list;                /* [n_nodes] */
  double *node_scores;                /* [n_nodes] */
  double *spread_scores;              /* [n_nodes] result of hr__volcano_spread_prepare */
  uint32_t *spread_counts;            /* [n_nodes] pods by domain */
  struct hr__volcano_vector *scratch; /* [max(n_queues, n_jobs)] allocations during the choice of victims */
  uint32_t *scratch_stamp, stamp;     /* scratch[i] is valid if scratch_stamp[i] == stamp */
};

/* The tasks that were bound and evicted, in this order. */
static inline struct hr__volcano_id_list hr__volcano_binds(const struct hr__volcano_session *session) {
  return (struct hr__volcano_id_list){session->binds, session->n_binds};
}

static inline struct hr__volcano_id_list hr__volcano_evictions(const struct hr__volcano_session *session) {
  return (struct hr__volcano_id_list){session->evictions, session->n_evictions};
}

static inline enum hr__volcano_state hr__volcano_task_state(const struct hr__volcano_session *session, uint32_t task) {
  return session->task_state[task];
}

static inline uint32_t hr__volcano_task_node(const struct hr__volcano_session *session, uint32_t task) {
  return session->task_node[task];
}

static inline enum hr__volcano_phase hr__volcano_job_phase(const struct hr__volcano_session *session, uint32_t job) {
  return session->job_phase[job];
}

/* The sum of the requests of the allocated tasks of a job (hr__volcano_is_allocated). */
static inline const struct hr__volcano_vector *hr__volcano_job_allocated(const struct hr__volcano_session *session,
                                                                         uint32_t job) {
  return &session->job_allocated[job];
}

static inline bool hr__volcano_enables(const struct hr__volcano_plugin *plugin, enum hr__volcano_callback callback) {
  return plugin->enabled >> callback & 1;
}

/* Whether a task is allocated in this session, binding, bound or running. */
static inline bool hr__volcano_is_allocated(enum hr__volcano_state state) {
  return state == HR__VOLCANO_ALLOCATED || state == HR__VOLCANO_BINDING || state == HR__VOLCANO_BOUND ||
         state == HR__VOLCANO_RUNNING;
}

static inline const struct hr__volcano_vector *hr__volcano_request(const struct hr__volcano_session *session,
                                                                   uint32_t task) {
  return session->snapshot->tasks[task].request;
}

/* ---- Changes of a session (session.c) --------------------------------------------------------------- */

struct hr__volcano_vector hr__volcano_future_idle(const struct hr__volcano_session *session, uint32_t node);

/* Whether the request of the task fits the idle resources of the node. hr__volcano_fits_future also counts the
   resources that are being released, minus those for which pipelined tasks wait. */
static inline bool hr__volcano_fits_idle(const struct hr__volcano_session *session, uint32_t task, uint32_t node) {
  return hr__volcano_less_equal(hr__volcano_request(session, task), &session->nodes[node].idle);
}

/* Whether the owner of a lasting session accepts the task on the node. */
static inline bool hr__volcano_owner_accepts(const struct hr__volcano_session *session, uint32_t task, uint32_t node) {
  return !session->owner || !session->owner->accepts || session->owner->accepts(session->owner->self, task, node);
}

static inline bool hr__volcano_fits_future(const struct hr__volcano_session *session, uint32_t task, uint32_t node) {
  if (session->nodes[node].n_changing == 0) return hr__volcano_fits_idle(session, task, node);
  struct hr__volcano_vector future = hr__volcano_future_idle(session, node);
  return hr__volcano_less_equal(hr__volcano_request(session, task), &future);
}

/*
 * A lasting session is used for many runs. Its snapshot has room for later jobs and tasks: a job without a queue
 * (HR__VOLCANO_NONE) and a task without a job are unused entries. Between two runs, the owner changes the snapshot and
 * calls these functions. hr__volcano_join adds the tasks of a job, and hr__volcano_part removes them.
 * hr__volcano_settle makes the binding tasks of a job running, and its pipelined tasks pending. hr__volcano_drop makes
 * an evicted task pending. hr__volcano_set_node sets the capacity of a node without tasks. hr__volcano_refresh prepares
 * the next run. It does the same as hr__volcano_open, but with the sums of the owner.
 */
void hr__volcano_join(struct hr__volcano_session *session, uint32_t job);
void hr__volcano_part(struct hr__volcano_session *session, uint32_t job);
void hr__volcano_settle(struct hr__volcano_session *session, uint32_t job);
void hr__volcano_drop(struct hr__volcano_session *session, uint32_t task);
void hr__volcano_set_node(struct hr__volcano_session *session, uint32_t node);
void hr__volcano_refresh(struct hr__volcano_session *session);

/* Each of these functions changes the session, notifies the plug-ins and appends to the log. */
void hr__volcano_evict(struct hr__volcano_session *session, uint32_t task);
void hr__volcano_place(struct hr__volcano_session *session, uint32_t task, uint32_t node);
void hr__volcano_pipeline(struct hr__volcano_session *session, uint32_t task, uint32_t node);
/* Undoes an eviction: the task is running again. The caller removes the eviction from the log. */
void hr__volcano_restore(struct hr__volcano_session *session, uint32_t task);
/* Removes a pipelined or placed task from its node; it is pending again. The caller removes the placement from the
   log. */
void hr__volcano_withdraw(struct hr__volcano_session *session, uint32_t task);
/* Commits, undoes or forgets the operations after the mark. */
void hr__volcano_commit(struct hr__volcano_session *session, uint32_t mark);
void hr__volcano_undo(struct hr__volcano_session *session, uint32_t mark);
static inline void hr__volcano_forget(struct hr__volcano_session *session, uint32_t mark) {
  session->n_log = mark;
}
/* Binds a task that was placed. */
void hr__volcano_bind(struct hr__volcano_session *session, uint32_t task);

/* Returns a heap with memory for `capacity` ids from the pool. The pool is reset at the begin of each action. */
static inline struct hr__volcano_heap hr__volcano_pool_heap(struct hr__volcano_session *session, uint32_t capacity) {
  struct hr__volcano_heap heap = {session->pool.items, 0, capacity};
  session->pool.items += capacity;
  return heap;
}

/* ---- Votes of plug-ins (callbacks.c) ---------------------------------------------------------------- */

bool hr__volcano_overused(const struct hr__volcano_session *session, uint32_t queue);
bool hr__volcano_allocatable(const struct hr__volcano_session *session, uint32_t queue, uint32_t task);
bool hr__volcano_preemptive(const struct hr__volcano_session *session, uint32_t queue, uint32_t task);
bool hr__volcano_job_is_valid(const struct hr__volcano_session *session, uint32_t job);
bool hr__volcano_job_is_ready(const struct hr__volcano_session *session, uint32_t job);
bool hr__volcano_job_is_pipelined(const struct hr__volcano_session *session, uint32_t job);
/* Whether all plug-ins that are enabled for the callback find the sub-job complete; true if there are none. */
bool hr__volcano_subjob_votes(const struct hr__volcano_session *session, uint32_t job, uint32_t subjob,
                              enum hr__volcano_callback callback);
/* Whether the sub-job `left` of a job is served before `right`. */
bool hr__volcano_subjob_precedes(const struct hr__volcano_session *session, uint32_t job, uint32_t left,
                                 uint32_t right);
bool hr__volcano_job_is_starving(const struct hr__volcano_session *session, uint32_t job);
/* Notifies the plug-ins that the job was enqueued. */
void hr__volcano_job_enqueued(struct hr__volcano_session *session, uint32_t job);
/* Chooses the victims among session->candidates [n], and writes them to session->victims. Returns their number. */
uint32_t hr__volcano_choose_victims(struct hr__volcano_session *session, enum hr__volcano_callback callback,
                                    uint32_t preemptor, uint32_t n);
/* Notifies the plug-ins that a task was allocated (true), or that its resources were released. */
void hr__volcano_notify(struct hr__volcano_session *session, uint32_t task, bool allocated);

/* Heaps in the order of the callbacks. The first item is at index 0. */
void hr__volcano_push_queue(struct hr__volcano_session *session, struct hr__volcano_heap *heap, uint32_t item);
void hr__volcano_push_job(struct hr__volcano_session *session, struct hr__volcano_heap *heap, uint32_t item);
void hr__volcano_push_task(struct hr__volcano_session *session, struct hr__volcano_heap *heap, uint32_t item);
uint32_t hr__volcano_pop_queue(struct hr__volcano_session *session, struct hr__volcano_heap *heap);
uint32_t hr__volcano_pop_job(struct hr__volcano_session *session, struct hr__volcano_heap *heap);
uint32_t hr__volcano_pop_task(struct hr__volcano_session *session, struct hr__volcano_heap *heap);
void hr__volcano_push_victim(struct hr__volcano_session *session, struct hr__volcano_heap *heap, uint32_t item);
uint32_t hr__volcano_pop_victim(struct hr__volcano_session *session, struct hr__volcano_heap *heap);
/* The heap of victims, in the order in which they are evicted for the preemptor. */
void hr__volcano_victims_begin(struct hr__volcano_session *session, uint32_t preemptor, const uint32_t *victims,
                               uint32_t n_victims);

/* ---- Gangs (callbacks.c) ---------------------------------------------------------------------------- */

uint32_t hr__volcano_ready_tasks(const struct hr__volcano_session *session, uint32_t job);
bool hr__volcano_gang_is_valid(const struct hr__volcano_session *session, uint32_t job);
/* Whether enough tasks of the job are ready or, `with_pipelined`, ready or pipelined. */
bool hr__volcano_gang_is_ready(const struct hr__volcano_session *session, uint32_t job, bool with_pipelined);

/* Whether enough tasks of the sub-job are ready or, `with_pipelined`, ready or pipelined. */
bool hr__volcano_subjob_is_ready(const struct hr__volcano_session *session, uint32_t job, uint32_t subjob,
                                 bool with_pipelined);

int hr__volcano_gang_compare_jobs(const struct hr__volcano_session *session, uint32_t left, uint32_t right);
uint32_t hr__volcano_gang_victims(struct hr__volcano_session *session, uint32_t preemptor, const uint32_t *candidates,
                                  uint32_t n, uint32_t *victims);

uint32_t hr__volcano_priority_victims(struct hr__volcano_session *session, uint32_t preemptor,
                                      const uint32_t *candidates, uint32_t n, uint32_t *victims);
uint32_t hr__volcano_conformance_victims(struct hr__volcano_session *session, uint32_t preemptor,
                                         const uint32_t *candidates, uint32_t n, uint32_t *victims);
/* Whether later tasks of the job should be tried although no node accepted a task. */
bool hr__volcano_may_continue(const struct hr__volcano_session *session, uint32_t job);

/* ---- Proportional shares (callbacks.c) -------------------------------------------------------------- */

static inline struct hr__volcano_vector hr__volcano_queue_capability(const struct hr__volcano_queue *queue) {
  struct hr__volcano_vector result = queue->capability;
  for (uint32_t i = HR__VOLCANO_CPU; i <= HR__VOLCANO_MEMORY; i++)
    if (result.amount[i] <= 0) result.amount[i] = HR__VOLCANO_UNLIMITED;
  return result;
}

/* The minimum resources of the job without those of its gated tasks. */
struct hr__volcano_vector hr__volcano_minimum(const struct hr__volcano_session *session, uint32_t job);
/* Whether the queue has room for the minimum resources of the job. */
bool hr__volcano_has_room(const struct hr__volcano_queue_state *queue, const struct hr__volcano_vector *minimum);
/* Adds the sums over the jobs of each queue to the state of the queue and of its ancestors, for the plug-ins proportion
   and capacity. */
void hr__volcano_sum_queues(struct hr__volcano_session *session, struct hr__volcano_queue_state *queues);
void hr__volcano_proportion_open(struct hr__volcano_session *session);

static inline void hr__volcano_proportion_share(struct hr__volcano_queue_state *queue) {
  queue->share = hr__volcano_dominant_share(&queue->allocated, &queue->deserved);
}

uint32_t hr__volcano_proportion_victims(struct hr__volcano_session *session, uint32_t preemptor,
                                        const uint32_t *candidates, uint32_t n, uint32_t *victims);

/* ---- The plug-in capacity (shares.c) ---------------------------------------------------------------- */

bool hr__volcano_capacity_open(struct hr__volcano_session *session);
int hr__volcano_capacity_compare(const struct hr__volcano_session *session, uint32_t left, uint32_t right);
/* Negative: `left` loses tasks before `right` for the queue `preemptor`; 0: no difference. */
int hr__volcano_capacity_compare_victims(const struct hr__volcano_session *session, uint32_t left, uint32_t right,
                                         uint32_t preemptor);
bool hr__volcano_capacity_allocatable(const struct hr__volcano_session *session, uint32_t queue, uint32_t task);
bool hr__volcano_capacity_preemptive(const struct hr__volcano_session *session, uint32_t queue, uint32_t task);
bool hr__volcano_capacity_enqueueable(const struct hr__volcano_session *session, uint32_t job);

void hr__volcano_capacity_notify(struct hr__volcano_session *session, uint32_t task, bool allocated);
uint32_t hr__volcano_capacity_victims(struct hr__volcano_session *session, uint32_t reclaimer,
                                      const uint32_t *candidates, uint32_t n, uint32_t *victims);

/* ---- The plug-in drf (shares.c) --------------------------------------------------------------------- */

/* Returns false if memory is exhausted. */
bool hr__volcano_drf_open(struct hr__volcano_session *session, struct hr_arena *arena);
void hr__volcano_drf_notify(struct hr__volcano_session *session, uint32_t task, bool allocated);
int hr__volcano_drf_compare_queues(const struct hr__volcano_session *session, const struct hr__volcano_drf_node *nodes,
                                   uint32_t left, uint32_t right);
uint32_t hr__volcano_drf_victims(struct hr__volcano_session *session, uint32_t preemptor, const uint32_t *candidates,
                                 uint32_t n, uint32_t *victims);
uint32_t hr__volcano_hdrf_victims(struct hr__volcano_session *session, uint32_t reclaimer, const uint32_t *candidates,
                                  uint32_t n, uint32_t *victims);

/* ---- Admission (callbacks.c) ------------------------------------------------------------------------ */

void hr__volcano_admission_open(struct hr__volcano_session *session);
bool hr__volcano_overcommit_allows(const struct hr__volcano_session *session, uint32_t job);
bool hr__volcano_quota_allows(const struct hr__volcano_session *session, uint32_t job);

bool hr__volcano_sla_is_over(const struct hr__volcano_session *session, uint32_t job);
int hr__volcano_sla_compare(const struct hr__volcano_session *session, uint32_t left, uint32_t right);

/* ---- Nodes (nodes.c) -------------------------------------------------------------------------------- */

void hr__volcano_nodegroup_notify(struct hr__volcano_session *session, uint32_t task, bool allocated);

uint32_t hr__volcano_tdm_victims(struct hr__volcano_session *session, uint32_t preemptor, const uint32_t *candidates,
                                 uint32_t n, uint32_t *victims);

/* ---- Topology spread constraints (nodes.c) ---------------------------------------------------------- */

/* Computes session->spread_scores for the nodes [n] from which one is chosen for the task. */
void hr__volcano_spread_prepare(struct hr__volcano_session *session, uint32_t task, const uint32_t *nodes, uint32_t n);

/* ---- Actions (actions.c) ---------------------------------------------------------------------------- */

void hr__volcano_run_enqueue(struct hr__volcano_session *session);
void hr__volcano_run_allocate(struct hr__volcano_session *session);
void hr__volcano_run_backfill(struct hr__volcano_session *session);
void hr__volcano_run_preempt(struct hr__volcano_session *session);
void hr__volcano_run_reclaim(struct hr__volcano_session *session);
void hr__volcano_run_shuffle(struct hr__volcano_session *session);

#endif
