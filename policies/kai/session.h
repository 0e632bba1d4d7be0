/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KAI_SESSION_H
#define HR_POLICIES_KAI_SESSION_H

/*
 * The cluster as one session of KAI sees it, and the state that the session changes.
 *
 * The caller owns the arrays of the description (nodes, queues, jobs, pod sets, groups, pods). They must outlive the
 * session. Ids are indices of these arrays. The state is stored in cells of type int64_t, so that a statement can
 * record each change and undo it (solver.h). All memory comes from one arena and is allocated when the session is
 * created; later, only lists that exceed their capacity are allocated again.
 */

#include "base/containers.h"
#include "headroom/unstable/systems/systems.h"

#include <math.h>

/* ---- Fair shares (session.c) ------------------------------------------------------------------------ */

/*
 * Queues of KAI and their shares of CPU, memory and GPUs.
 *
 * Amounts are whole numbers: thousandths of a core, bytes, and millionths of a GPU. In a quota (`deserved`), a limit or
 * a fair share, -1 means unlimited. The queues are an array; `parent` is an index into it.
 */

enum { HR__KAI_CPU, HR__KAI_MEM, HR__KAI_GPU, HR__KAI_RESOURCES };
enum { HR__KAI_UNLIMITED = -1, HR__KAI_GPU_UNIT = 1000000 };

#define HR__KAI_NONE UINT32_MAX

struct hr__kai_amounts {
  int64_t of[HR__KAI_RESOURCES];
};

/* One queue's share of one resource. */
struct hr__kai_share {
  int64_t deserved, limit;           /* quota and limit of the configuration */
  int64_t fair;                      /* result of the division */
  int64_t allocated;                 /* to active pods of the whole subtree (HR__KAI_ACTIVE) */
  int64_t allocated_non_preemptible; /* the part of non-preemptible jobs */
  int64_t request;                   /* at the start of the session: allocated, plus the requests of pending pods */
  double weight;                     /* in the division of the amount that is left after the quotas */
  double usage;                      /* past usage, as a fraction of the cluster */
};

struct hr__kai_queue {
  struct hr__kai_share share[HR__KAI_RESOURCES];
  uint32_t parent; /* HR__KAI_NONE: a top queue */
  uint32_t n_children;
  uint32_t name_rank; /* position of the name among the sorted names */
  int32_t priority;
  int64_t created;                                        /* smaller: older */
  int64_t preempt_min_runtime_us, reclaim_min_runtime_us; /* -1: not set */
};

/* ---- Amounts ---- */

static inline void hr__kai_add(struct hr__kai_amounts *to, const struct hr__kai_amounts *amounts) {
  for (int r = 0; r < HR__KAI_RESOURCES; r++) to->of[r] += amounts->of[r];
}

static inline void hr__kai_subtract(struct hr__kai_amounts *from, const struct hr__kai_amounts *amounts) {
  for (int r = 0; r < HR__KAI_RESOURCES; r++) from->of[r] -= amounts->of[r];
}

/* Whether `a` is at most `b` in every resource. The amount -1 (unlimited) exceeds every other amount. */
static inline bool hr__kai_at_most(const struct hr__kai_amounts *a, const struct hr__kai_amounts *b) {
  for (int r = 0; r < HR__KAI_RESOURCES; r++)
    if (b->of[r] != HR__KAI_UNLIMITED && (a->of[r] == HR__KAI_UNLIMITED || a->of[r] > b->of[r])) return false;
  return true;
}

/* ---- Shares ---- */

/* The request of a queue, at most its limit. */
static inline int64_t hr__kai_requestable(const struct hr__kai_share *share) {
  if (share->limit == HR__KAI_UNLIMITED || share->request < share->limit) return share->request;
  return share->limit;
}

/* The allocatable amount: the amount that a queue may hold before other queues may reclaim from it. It is the larger of
   quota and fair share, at most the limit. */
static inline int64_t hr__kai_allocatable(const struct hr__kai_share *share) {
  if (share->deserved == HR__KAI_UNLIMITED) return share->limit;
  int64_t amount = share->deserved > share->fair ? share->deserved : share->fair;
  return share->limit != HR__KAI_UNLIMITED && share->limit < amount ? share->limit : amount;
}

static inline struct hr__kai_amounts hr__kai_allocatable_of(const struct hr__kai_queue *queue) {
  struct hr__kai_amounts amounts;
  for (int r = 0; r < HR__KAI_RESOURCES; r++) amounts.of[r] = hr__kai_allocatable(&queue->share[r]);
  return amounts;
}

static inline struct hr__kai_amounts hr__kai_allocated_of(const struct hr__kai_queue *queue) {
  struct hr__kai_amounts amounts;
  for (int r = 0; r < HR__KAI_RESOURCES; r++) amounts.of[r] = queue->share[r].allocated;
  return amounts;
}

static inline struct hr__kai_amounts hr__kai_non_preemptible_of(const struct hr__kai_queue *queue) {
  struct hr__kai_amounts amounts;
  for (int r = 0; r < HR__KAI_RESOURCES; r++) amounts.of[r] = queue->share[r].allocated_non_preemptible;
  return amounts;
}

static inline struct hr__kai_amounts hr__kai_deserved_of(const struct hr__kai_queue *queue) {
  struct hr__kai_amounts amounts;
  for (int r = 0; r < HR__KAI_RESOURCES; r++) amounts.of[r] = queue->share[r].deserved;
  return amounts;
}

static inline struct hr__kai_amounts hr__kai_fair_of(const struct hr__kai_queue *queue) {
  struct hr__kai_amounts amounts;
  for (int r = 0; r < HR__KAI_RESOURCES; r++) amounts.of[r] = queue->share[r].fair;
  return amounts;
}

/* The dominant share: the largest ratio, over the resources, of `allocated` to the allocatable amount
   (hr__kai_allocatable). `total` replaces an unlimited allocatable amount. If the allocatable amount is 0, the ratio is
   1000 times the allocated units (whole GPUs, thousandths of a core, bytes). */
double hr__kai_dominant_share(const struct hr__kai_queue *queue, const struct hr__kai_amounts *allocated,
                              const struct hr__kai_amounts *total);

/* ---- Division ---- */

/* Adds to the fair share of each of the `n` sibling queues `ids` its quota, at most its request and its limit. Returns
   the rest of `total`, which may be negative. */
int64_t hr__kai_divide_quotas(struct hr__kai_queue *queues, const uint32_t *ids, uint32_t n, int resource,
                              int64_t total);
/* Divides `total`, the amount that is left after the quotas, by priority, weight and past usage, and adds the parts to
   the fair shares. `k` is the weight of past usage. `remainders` is scratch memory for `n` numbers. Returns the rest of
   `total`. */
int64_t hr__kai_divide_rest(struct hr__kai_queue *queues, const uint32_t *ids, uint32_t n, int resource, int64_t total,
                            double k, double *remainders);

/* Assigns the quotas, then divides the rest. Returns the rest of `total`, at least 0. */
static inline int64_t hr__kai_divide(struct hr__kai_queue *queues, const uint32_t *ids, uint32_t n, int resource,
                                     int64_t total, double k, double *remainders) {
  const int64_t rest = hr__kai_divide_quotas(queues, ids, n, resource, total);
  return rest > 0 ? hr__kai_divide_rest(queues, ids, n, resource, rest, k, remainders) : 0;
}

/* Divides `total` among the top queues, and the fair share of each queue among its children. `ids` is scratch memory
   for `n` ids, `remainders` for `n` numbers. */
void hr__kai_divide_tree(struct hr__kai_queue *queues, uint32_t n, const struct hr__kai_amounts *total, double k,
                         uint32_t *ids, double *remainders);

/* ---- Rules of queues (job_order.c, session.c) ------------------------------------------------------- */

/* The rules of KAI that compare queues: their order, their limits, and what may be reclaimed. */

/* One side of a comparison of two queues: a queue, and the amounts that are to be added to it or removed from it. */
struct hr__kai_side {
  const struct hr__kai_queue *queue;
  struct hr__kai_amounts job;     /* request of the next pods of its first pending job; 0 if victims are ordered */
  struct hr__kai_amounts victims; /* held by its victims so far and the next one; 0 if pending jobs are ordered */
};

/* Returns a negative number if the queue `l` comes first, a positive number if `r` does. Never returns 0: if all
   criteria are equal, the age included, `r` comes first. */
int hr__kai_compare_queues(const struct hr__kai_side *l, const struct hr__kai_side *r,
                           const struct hr__kai_amounts *total);

/* The number of queues above a queue. */
static inline uint32_t hr__kai_depth_of(const struct hr__kai_queue *queues, uint32_t queue) {
  uint32_t depth = 0;
  while ((queue = queues[queue].parent) != HR__KAI_NONE) depth++;
  return depth;
}

/* Whether `request` would bring the queue above its limit in a resource that is requested. */
bool hr__kai_over_limit(const struct hr__kai_queue *queue, const struct hr__kai_amounts *request);
/* Whether `request` would bring the allocation of non-preemptible jobs above the quota, in a resource that is
   requested. */
bool hr__kai_over_quota(const struct hr__kai_queue *queue, const struct hr__kai_amounts *request);

/* Whether the queue and all queues above it allow the request. */
static inline bool hr__kai_within_limits(const struct hr__kai_queue *queues, uint32_t queue,
                                         const struct hr__kai_amounts *request) {
  for (uint32_t q = queue; q != HR__KAI_NONE; q = queues[q].parent)
    if (hr__kai_over_limit(&queues[q], request)) return false;
  return true;
}

static inline bool hr__kai_within_quotas(const struct hr__kai_queue *queues, uint32_t queue,
                                         const struct hr__kai_amounts *request) {
  for (uint32_t q = queue; q != HR__KAI_NONE; q = queues[q].parent)
    if (hr__kai_over_quota(&queues[q], request)) return false;
  return true;
}

/* A job that wants to reclaim. */
struct hr__kai_reclaimer {
  struct hr__kai_amounts request;
  uint32_t queue;
  unsigned involved; /* bit r: the request counts for resource r (GPUs in MIG instances do not) */
  bool preemptible;
};

/* Pods of one victim job that are evicted together. */
struct hr__kai_taken {
  struct hr__kai_amounts amounts;
  uint32_t queue;
  unsigned involved;
};

/* Whether the queue of the job, with the request, stays within its fair share. If the job is non-preemptible, its
   queue's non-preemptible jobs must also stay within the quota. */
bool hr__kai_may_reclaim(const struct hr__kai_queue *queues, const struct hr__kai_reclaimer *reclaimer);

/* Returns whether the queue may lose a victim because it holds too much: in some resource, the amount that it still
   holds (`remaining`) exceeds hr__kai_allocatable. The name is from KAI (MaintainFairShareStrategy). */
static inline bool hr__kai_maintains_fair_share(const struct hr__kai_queue *reclaimee,
                                                const struct hr__kai_amounts *remaining) {
  const struct hr__kai_amounts allocatable = hr__kai_allocatable_of(reclaimee);
  return !hr__kai_at_most(remaining, &allocatable);
}

/* Returns whether the queue `reclaimee` may lose a victim because of quotas. This is so if the queue `reclaimer` stays
   within its quota with the request, and `reclaimee` exceeds its quota. `remaining` is the amount that `reclaimee`
   still holds. The name is from KAI (GuaranteeDeservedQuotaStrategy). */
bool hr__kai_guarantees_quota(const struct hr__kai_queue *reclaimer, const struct hr__kai_amounts *request,
                              const struct hr__kai_queue *reclaimee, const struct hr__kai_amounts *remaining);

/* Scratch memory of hr__kai_reclaimable for all queues. */
struct hr__kai_remaining {
  struct hr__kai_amounts amounts;
  unsigned involved;
  bool touched;
};

/* Whether a queue may lose a first victim for the reclaimer. If not, the reclaimer cannot evict any victim of this
   queue. */
bool hr__kai_may_lose(const struct hr__kai_queue *queues, const struct hr__kai_reclaimer *reclaimer, uint32_t queue);
/* Whether all victims may be evicted for the reclaimer. Victims of one queue are considered in their order. The
   saturation of a queue is its allocated amount, divided by its fair share. The saturation of the reclaimer's queue,
   and of each queue above it, is multiplied by `saturation` (at least 1). `remaining` has one entry per queue. */
bool hr__kai_reclaimable(const struct hr__kai_queue *queues, uint32_t n_queues,
                         const struct hr__kai_reclaimer *reclaimer, const struct hr__kai_taken *victims,
                         uint32_t n_victims, double saturation, struct hr__kai_remaining *remaining);

/* The time for which a job of the queue `victim` may not be preempted after its start. `fallback_us`: the result if
   neither the queue nor a queue above it has a minimum run time. */
static inline int64_t hr__kai_preempt_min_runtime(const struct hr__kai_queue *queues, uint32_t victim,
                                                  int64_t fallback_us) {
  for (uint32_t q = victim; q != HR__KAI_NONE; q = queues[q].parent)
    if (queues[q].preempt_min_runtime_us >= 0) return queues[q].preempt_min_runtime_us;
  return fallback_us;
}

/* The time for which no resources may be reclaimed from a job of the queue `victim` after its start, for a job of the
   queue `reclaimer`. `fallback_us`: the result if the queue that `method` selects, and the queues above it, have no
   minimum run time. */
int64_t hr__kai_reclaim_min_runtime(const struct hr__kai_queue *queues, uint32_t reclaimer, uint32_t victim,
                                    enum hr_kai_reclaim_method method, int64_t fallback_us);

/* ---- The session --------------------------------------------------------------------------------------- */

/* The dimensions of a vector of node resources. Further dimensions are MIG profiles. */
enum { HR__KAI_DIM_CPU, HR__KAI_DIM_MEM, HR__KAI_DIM_PODS, HR__KAI_DIM_GPUS, HR__KAI_DIM_MIG };

/* The columns: name, word. */
#define HR__KAI_STATUSES(X)                                                                                            \
  X(PENDING, "Pending")                                                                                                \
  X(GATED, "Gated")                                                                                                    \
  X(ALLOCATED, "Allocated")                                                                                            \
  X(PIPELINED, "Pipelined")                                                                                            \
  X(BINDING, "Binding")                                                                                                \
  X(BOUND, "Bound")                                                                                                    \
  X(RUNNING, "Running")                                                                                                \
  X(RELEASING, "Releasing")                                                                                            \
  X(SUCCEEDED, "Succeeded")                                                                                            \
  X(FAILED, "Failed")                                                                                                  \
  X(UNKNOWN, "Unknown")                                                                                                \
  X(DELETED, "Deleted")

#define HR__KAI_STATUS_NAME(name, word) HR__KAI_##name,
enum hr__kai_status { HR__KAI_STATUSES(HR__KAI_STATUS_NAME) HR__KAI_N_STATUSES };
#undef HR__KAI_STATUS_NAME

/* Sets of statuses, as bit masks. */
enum {
  HR__KAI_HOLDING = 1 << HR__KAI_ALLOCATED | 1 << HR__KAI_BINDING | 1 << HR__KAI_BOUND | 1 << HR__KAI_RUNNING,
  HR__KAI_ACTIVE = HR__KAI_HOLDING | 1 << HR__KAI_PIPELINED, /* placed, or waits for resources that are released */
  HR__KAI_USED = HR__KAI_ACTIVE | 1 << HR__KAI_RELEASING,
  HR__KAI_ALIVE = HR__KAI_ACTIVE | 1 << HR__KAI_PENDING | 1 << HR__KAI_GATED
};

static inline bool hr__kai_is(int64_t status, int set) {
  return set >> status & 1;
}

enum hr__kai_mig { HR__KAI_MIG_NONE, HR__KAI_MIG_SINGLE, HR__KAI_MIG_MIXED, HR__KAI_MIG_UNNAMED };

struct hr__kai_node {
  const int64_t *allocatable; /* [n_dims] */
  int64_t gpu_mib;            /* memory of each GPU */
  int64_t n_gpus;             /* physical GPUs, also if they are divided into MIG instances */
  uint32_t name_rank;
  enum hr__kai_mig mig;
};

enum hr__kai_request { HR__KAI_WHOLE, HR__KAI_FRACTION, HR__KAI_MEMORY, HR__KAI_INSTANCE };

struct hr__kai_pod {
  const int64_t *request;       /* [n_dims]; GPUs only if they are whole */
  const uint8_t *allowed_nodes; /* [n_nodes] 1: may run there; NULL: everywhere */
  struct hr__kai_amounts quota; /* counted for the quota before the pod has a node; GPU memory counts 0 */
  int64_t gpus;                 /* GPUs without MIG instances, in millionths; GPU memory counts 0 */
  int64_t gpu_mib;              /* requested memory of each GPU */
  double portion;               /* fraction of each GPU that is requested */
  uint32_t n_devices;           /* GPUs of which a part is requested */
  enum hr__kai_request kind;
  uint32_t job, pod_set;
  uint32_t order; /* position among the pods of the job: by task priority, then by name */
  bool legacy_mig;
};

/* Whether the pod requests parts of GPUs, which it shares with other pods. */
static inline bool hr__kai_takes_parts(const struct hr__kai_pod *pod) {
  return pod->kind == HR__KAI_FRACTION || pod->kind == HR__KAI_MEMORY;
}

static inline bool hr__kai_wants_gpus(const struct hr__kai_pod *pod) {
  return pod->gpus > 0 || pod->kind == HR__KAI_MEMORY || pod->kind == HR__KAI_INSTANCE;
}

/* A topology constraint. Levels count from 1 (outermost); 0: none. -1: a level that the topology does not have. */
struct hr__kai_constraint {
  uint32_t topology; /* HR__KAI_NONE: no constraint. At least `n_topologies`: unknown, which nothing satisfies */
  int32_t required, preferred;
};

/* Pods of a job. At least `min_available` of them must run together. */
struct hr__kai_pod_set {
  struct hr__kai_constraint constraint;
  uint32_t job, group;        /* group: its parent, an index of `groups` */
  uint32_t first_pod, n_pods; /* in `pods_of_sets`, by the order of tasks */
  uint32_t min_available;
  uint32_t name_rank;
};

/* An inner node of the tree of a job's pod sets. The root comes first. */
struct hr__kai_group {
  struct hr__kai_constraint constraint;
  uint32_t job, parent; /* HR__KAI_NONE: the root */
  uint32_t name_rank;
};

struct hr__kai_job {
  uint32_t queue;
  int32_t priority;
  int64_t created; /* smaller: older */
  uint32_t name_rank;
  uint32_t first_pod, n_pods;
  uint32_t first_set, n_sets;
  uint32_t first_group, n_groups; /* at least one */
  int64_t last_start_us;          /* INT64_MIN: never started */
  int64_t stale_since_us;         /* since when the gang is known to run below its minimum; INT64_MIN: none */
  bool preemptible;
};

/* A topology: node n is in the domain `domain_of[level * n_nodes + n]`, HR__KAI_NONE if the node is outside. */
struct hr__kai_topology {
  uint32_t n_levels;         /* without the root, which is level 0 and has domain 0 only */
  const uint32_t *domain_of; /* [(n_levels + 1) * n_nodes] */
  uint32_t n_domains;
  const uint32_t *id_ranks; /* [n_domains] positions among the sorted names of the domains */
};

enum hr__kai_placement { HR__KAI_NO_PLACEMENT, HR__KAI_BINPACK, HR__KAI_SPREAD };

/* The actions of a session of KAI. */

/* The columns: name, word in the configuration. */
#define HR__KAI_ACTIONS(X)                                                                                             \
  X(ALLOCATE, "allocate")                                                                                              \
  X(CONSOLIDATE, "consolidation")                                                                                      \
  X(RECLAIM_ACTION, "reclaim")                                                                                         \
  X(PREEMPT, "preempt")                                                                                                \
  X(EVICT_STALE, "stalegangeviction")

#define HR__KAI_ACTION_NAME(name, word) HR__KAI_##name,
enum hr__kai_action { HR__KAI_ACTIONS(HR__KAI_ACTION_NAME) HR__KAI_N_ACTIONS };
#undef HR__KAI_ACTION_NAME

/* The settings of the actions, the enabled plug-ins and their arguments. */
struct hr__kai_config {
  uint32_t depth[HR__KAI_N_ACTIONS]; /* maximum number of jobs of a queue that an action tries; 0: all */
  bool proportion, priority, elastic, predicates, node_availability, gpu_sharing_order, gpu_pack, gpu_spread;
  bool resource_type, pod_set_order, task_order, topology, min_runtime;
  bool allow_consolidating_reclaim;
  enum hr__kai_placement gpu_placement, cpu_placement;
  enum hr_kai_reclaim_method reclaim_method;
  int64_t preempt_min_runtime_us, reclaim_min_runtime_us;
  int64_t max_consolidation_victims; /* -1: no limit; 0: no consolidation */
  int64_t stale_grace_us;            /* negative: stale gangs are never evicted */
  int64_t min_gpu_mib;               /* the smallest GPU memory of any node */
  double k_value, saturation_multiplier;
  bool signatures; /* skip jobs that are not easier to place than a job that failed in the same action */
};

/* The default configuration of KAI. */
struct hr__kai_config hr__kai_default_config(void);

/* Waiting jobs of a queue. */
struct hr__kai_leaf_list {
  uint32_t *jobs;
  uint32_t n, capacity;
};

struct hr__kai_cluster {
  const struct hr__kai_node *nodes;
  struct hr__kai_queue *queues; /* quotas are read; shares are computed */
  struct hr__kai_job *jobs;     /* the times of starts are written */
  const struct hr__kai_pod *pods;
  const struct hr__kai_pod_set *sets;
  const struct hr__kai_group *groups;
  const struct hr__kai_topology *topologies;
  const uint32_t *pods_of_sets;
  const uint32_t *start_order; /* [n_pods] the order in which nodes count pods at the start; NULL: by id */
  uint32_t n_nodes, n_queues, n_jobs, n_pods, n_sets, n_groups, n_topologies, n_dims;
  /* For sessions to which jobs are added later. The entries of these jobs are empty when the session is created (job
     HR__KAI_NONE, status HR__KAI_DELETED). Maximum numbers: `room_pods_of_job`, pods of an added job; `room_devices`,
     shared GPUs that all pods request together; `room_shared`, shared GPUs that exist at the same time.
     `jobs_in_queue`: the number of jobs by queue; NULL: no jobs are added later. */
  uint32_t room_pods_of_job, room_devices, room_shared;
  const uint32_t *jobs_in_queue;
  /* `waiting`: the jobs that may have pending pods. `running`: the jobs that may have active pods. Jobs are examined in
     the order of the lists. The caller updates the lists between actions. NULL: all jobs. */
  const uint32_t *waiting, *running;
  const uint8_t *is_running; /* [n_jobs] in `running` */
  uint32_t n_waiting, n_running;
  /* If `waiting` and `running` are set: the waiting jobs of each queue, in their order within the queue, and the class
     of each job. Jobs of one class are in one queue and have equal requests, so if one of them fails, the others fail,
     too. NULL: no such lists. */
  const struct hr__kai_leaf_list *leaves;
  const uint32_t *class_of, *jobs_of_class;
  const uint32_t *classes_in_queue; /* [n_queues] the classes with waiting jobs */
  uint32_t n_classes, room_classes;
  const int64_t *mig_slices; /* [n_dims] of a MIG profile; 0 for other dimensions */
  struct hr__kai_config config;
  int64_t now_us;
};

/* A list of jobs, in the order in which they are examined. */
struct hr__kai_job_list {
  const uint32_t *jobs; /* NULL: all from 0 */
  uint32_t n;
};

static inline uint32_t hr__kai_listed(const struct hr__kai_job_list *list, uint32_t i) {
  return list->jobs ? list->jobs[i] : i;
}

static inline struct hr__kai_job_list hr__kai_waiting(const struct hr__kai_cluster *cluster) {
  return (struct hr__kai_job_list){cluster->waiting, cluster->waiting ? cluster->n_waiting : cluster->n_jobs};
}

static inline struct hr__kai_job_list hr__kai_running(const struct hr__kai_cluster *cluster) {
  return (struct hr__kai_job_list){cluster->running, cluster->running ? cluster->n_running : cluster->n_jobs};
}

/* Where a pod is before the session starts. `gpus` are ids of shared GPUs; each id means one GPU. */
struct hr__kai_start {
  enum hr__kai_status status;
  uint32_t node;        /* HR__KAI_NONE: none */
  const uint32_t *gpus; /* [n_gpus] */
  uint32_t n_gpus;
};

/* A change that a statement can undo: a cell of the state, and its former value. */
struct hr__kai_change {
  int64_t *cell, before;
};

enum hr__kai_operation_kind { HR__KAI_EVICT, HR__KAI_PIPELINE, HR__KAI_BIND };

/* What a statement did to a pod. It becomes final when the statement is committed. */
struct hr__kai_operation {
  enum hr__kai_operation_kind kind;
  uint32_t pod, node;
  int64_t status_before, virtual_before;
  int64_t valid; /* 0: undone */
};

/* The maximum number of nodes that count one pod: those from which it was evicted, and the one on which it waits. */
enum { HR__KAI_ENTRIES = 4 };

/* The state of a pod. */
struct hr__kai_pod_state {
  int64_t status, node;                    /* node -1: none */
  int64_t is_virtual;                      /* the status was set by a statement that is not committed */
  int64_t accepted_gpus;                   /* counted for the quota on its last node, in millionths */
  bool accepted;                           /* it is or was on a node */
  bool is_logged;                          /* it has an operation in the log */
  int64_t n_gpus;                          /* shared GPUs in list 0 */
  int64_t on_node[HR__KAI_ENTRIES];        /* the nodes that count it; -1: none */
  int64_t status_on_node[HR__KAI_ENTRIES]; /* the statuses with which they count it */
  int64_t n_gpus_on_node[HR__KAI_ENTRIES]; /* shared GPUs in lists 1, 2, ... */
};

/* The state of a pod set. */
struct hr__kai_set_state {
  int64_t count[HR__KAI_N_STATUSES]; /* pods by status */
  int64_t n_active, n_used, n_alive;
};

/* The state of a job. */
struct hr__kai_job_state {
  struct hr__kai_amounts allocated; /* requests of its pods that hold resources (HR__KAI_HOLDING) */
  int64_t n_pending, n_succeeded, n_active, n_used;
  bool is_hopeful;                /* in `hopeful` of the session */
  int64_t is_cached;              /* the following members are valid */
  struct hr__kai_amounts request; /* of its next pods, see hr__kai_request_of */
  int elastic;                    /* -1: below its minimum, 0: at it, 1: above it */
};

/* A shared GPU. The first three members are MiB. */
struct hr__kai_shared_gpu {
  int64_t used, releasing, allocated;
  int64_t has_allocated; /* some pod was placed on it, not only pipelined */
  int64_t is_releasing;  /* counts as a releasing whole GPU */
  int64_t next;          /* next shared GPU of the node; -1: none */
  bool reserved;         /* it existed before this session */
  int32_t physical;      /* number of the GPU of the node, for the caller; -1: not set */
};

struct hr__kai_session {
  struct hr_arena *arena;
  const struct hr__kai_cluster *cluster;
  struct hr__kai_amounts total; /* of all nodes */
  uint64_t n_divisions;         /* changes of `total`, or of fair shares */
  bool no_memory;

  int64_t *idle, *releasing; /* [n_nodes * n_dims] */
  int64_t *used_gpus;        /* [n_nodes] whole GPUs */
  int64_t *first_shared;     /* [n_nodes] first shared GPU; -1: none */
  struct hr__kai_shared_gpu *shared;
  int64_t n_shared;
  uint32_t max_shared;
  struct hr__kai_pod_state *pods;
  uint32_t *first_gpu; /* [n_pods] start of a pod's lists in `gpus`: 1 + HR__KAI_ENTRIES lists of `n_devices` */
  int64_t *gpus;       /* ids of shared GPUs */
  struct hr__kai_set_state *sets;
  struct hr__kai_job_state *jobs;

  struct hr__kai_change *changes;
  size_t n_changes;
  struct hr__kai_operation *operations;
  int64_t n_operations;
  uint32_t max_changes, max_operations;

  /* The part of the pending job that the solver examines: its first pods. part_job HR__KAI_NONE: no part. */
  uint32_t part_job, part_n;
  const uint32_t *part_pods;

  uint32_t n_bound, n_evicted, n_pipelined; /* committed operations */
  int64_t free_shared;                      /* first free entry of `shared`; -1: none */
  uint32_t n_devices;                       /* of all pods */
  uint8_t *is_recounted;                    /* [n_nodes] scratch memory of hr__kai_settle */
  uint32_t *ids;                            /* [n_queues] scratch memory */
  double *remainders;                       /* [n_queues] scratch memory */
  uint32_t *hopeful, n_hopeful;  /* jobs that do not run, with pods that were pipelined since hr__kai_settle */
  struct hr__kai_operation *log; /* the first committed operation of each pod since hr__kai_settle */
  size_t n_log;
  uint32_t max_log;
};

/* Creates a session. `start` has the initial status and node of each pod. Returns NULL if memory is exhausted. */
struct hr__kai_session *hr__kai_session_create(struct hr_arena *arena, const struct hr__kai_cluster *cluster,
                                               const struct hr__kai_start *start);

/* ---- A session that lasts (statement.c) ---- */

/* Initializes the state of a job that was described after the session was created. Its pods have the status
   HR__KAI_DELETED. `is_new`: the entries of its pods were never used before. Returns whether there is room. */
bool hr__kai_session_extend(struct hr__kai_session *session, uint32_t job, bool is_new);
/* Changes the status of a pod between two sessions, and the sums that depend on it. `node` HR__KAI_NONE: none; shared
   GPUs must be in list 0 of the pod. */
void hr__kai_put(struct hr__kai_session *session, uint32_t pod, enum hr__kai_status status, uint32_t node);
/* Changes the capacity of a node. `allocatable` must outlive the session. */
void hr__kai_set_allocatable(struct hr__kai_session *session, struct hr__kai_node *node, const int64_t *allocatable);
/* Computes the fair shares of all queues again. */
void hr__kai_divide_again(struct hr__kai_session *session);
/* Ends a session: bound pods become running, evicted pods become releasing on their nodes, and pipelined pods become
   pending again. */
void hr__kai_settle(struct hr__kai_session *session);

/* Adds to the capacity of a node in one dimension, and to the total capacity. */
void hr__kai_add_capacity(struct hr__kai_session *session, uint32_t node, uint32_t dim, int64_t more);
/* Between two sessions, adds the allocation or the request of a pod to its queues (`sign` 1), or subtracts it (`sign`
   -1). */
void hr__kai_count_share(struct hr__kai_session *session, uint32_t pod, int64_t sign);

/* The idle and releasing amount of a resource of a node. */
static inline int64_t hr__kai_free_on(const struct hr__kai_session *session, uint32_t node, uint32_t dim) {
  const size_t cell = (size_t)node * session->cluster->n_dims + dim;
  return session->idle[cell] + session->releasing[cell];
}

/* The request of a pod, as it counts for quotas. Requested GPU memory counts as a fraction of the memory of the
   cluster's smallest GPU. */
struct hr__kai_amounts hr__kai_request_of(const struct hr__kai_cluster *cluster, uint32_t pod);

/* The amounts that a pod counts for quotas; 0 if it was never on a node. */
static inline struct hr__kai_amounts hr__kai_accepted_of(const struct hr__kai_session *session, uint32_t pod) {
  struct hr__kai_amounts amounts = session->cluster->pods[pod].quota;
  amounts.of[HR__KAI_GPU] = session->pods[pod].accepted_gpus;
  return session->pods[pod].accepted ? amounts : (struct hr__kai_amounts){{0}};
}

/* The fraction `mib` / `gpu_mib` of a GPU in hundredths, rounded up as KAI does; 0 without GPUs. */
static inline int64_t hr__kai_hundredths(int64_t mib, int64_t gpu_mib) {
  return mib > 0 && gpu_mib > 0 ? (int64_t)ceil((double)mib / (double)gpu_mib * 100) : 0;
}

/* ---- Pods on nodes (statement.c) -------------------------------------------------------------------- */

/* The resources of nodes that pods use, among them whole GPUs, MIG instances and parts of shared GPUs. */

/* Sets a cell of the state and records its former value, so that the change can be undone. */
void hr__kai_set(struct hr__kai_session *session, int64_t *cell, int64_t value);

/* The index of the pod's entry for the node (`on_node`); -1: none. */
static inline int hr__kai_entry_on(const struct hr__kai_session *session, uint32_t pod, uint32_t node) {
  for (int i = 0; i < HR__KAI_ENTRIES; i++)
    if (session->pods[pod].on_node[i] == (int64_t)node) return i;
  return -1;
}

/* The shared GPUs of a pod: of its last placement (list 0), or of a node entry (list 1 + entry). */
static inline int64_t *hr__kai_gpus_of(const struct hr__kai_session *session, uint32_t pod, int list) {
  return session->gpus + session->first_gpu[pod] + (uint32_t)list * session->cluster->pods[pod].n_devices;
}

/* Adds a shared GPU that no pod uses to the free entries. Their list is sorted by id, so that the ids of later GPUs do
   not depend on the order in which GPUs were freed. */
void hr__kai_free_gpu(struct hr__kai_session *session, int64_t gpu);
/* Opens a new shared GPU on a node. Returns its id; -1: memory is exhausted. `reserved`: the GPU was shared before this
   session. */
int64_t hr__kai_open_gpu(struct hr__kai_session *session, uint32_t node, bool reserved);

/* Counts a pod with its status on a node, in a free entry of the pod. If no entry is free, the last one is overwritten,
   and the node of that entry continues to count the pod. */
void hr__kai_count_on(struct hr__kai_session *session, uint32_t pod, uint32_t node);

/* ---- Pods on nodes: fit ----------------------------------------------------------------------------- */

/* The memory, in MiB, that the pod takes of each of its GPUs on a node. */
static inline int64_t hr__kai_mib_on(const struct hr__kai_session *session, uint32_t pod, uint32_t node) {
  const struct hr__kai_pod *described = &session->cluster->pods[pod];
  if (described->gpu_mib > 0) return described->gpu_mib;
  return (int64_t)(described->portion * (double)session->cluster->nodes[node].gpu_mib);
}

/* Whether the pod fits on the idle capacity; with `releasing`, also on capacity that is being released. */
bool hr__kai_fits(const struct hr__kai_session *session, uint32_t pod, uint32_t node, bool releasing);
/* Whether the pod fits on the idle capacity. A pod with a negligible request always fits. */
bool hr__kai_fits_now(const struct hr__kai_session *session, uint32_t pod, uint32_t node);

/* Whether `mib` fit on the idle and releasing memory of a shared GPU, and not all of its pods are releasing. */
static inline bool hr__kai_fits_shared(const struct hr__kai_session *session, int64_t mib, uint32_t node, int64_t gpu) {
  const struct hr__kai_shared_gpu *shared = &session->shared[gpu];
  const int64_t free = session->cluster->nodes[node].gpu_mib - shared->allocated + shared->releasing;
  return shared->used != 0 && free >= mib && shared->allocated != shared->releasing;
}

/* Whether a shared GPU has at least `mib` of idle memory. */
static inline bool hr__kai_idle_on_shared(const struct hr__kai_session *session, int64_t mib, uint32_t node,
                                          int64_t gpu) {
  const struct hr__kai_shared_gpu *shared = &session->shared[gpu];
  return shared->has_allocated && session->cluster->nodes[node].gpu_mib - shared->allocated >= mib;
}

/* The number of shared GPUs of a node on which `mib` fit. */
static inline int64_t hr__kai_count_fitting(const struct hr__kai_session *session, int64_t mib, uint32_t node) {
  int64_t n = 0;
  for (int64_t gpu = session->first_shared[node]; gpu >= 0; gpu = session->shared[gpu].next)
    n += hr__kai_fits_shared(session, mib, node, gpu);
  return n;
}

/* The GPUs of a node that are idle (`gpus[0]`) and that are being released (`gpus[1]`), and the GPU memory of both in
   MiB. Parts of shared GPUs are included. */
void hr__kai_free_gpus(const struct hr__kai_session *session, uint32_t node, double gpus[2], int64_t *mib);

/* ---- Pods on nodes: invariants (session.c) ---------------------------------------------------------- */

/* Invariants of a session, for checked mode. */

/* Computes all sums again from the pods and compares them. Returns NULL, or the text of the invariant that is violated.
   There must be no uncommitted statement. */
const char *hr__kai_check(const struct hr__kai_session *session);

#endif
