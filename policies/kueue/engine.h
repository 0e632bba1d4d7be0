/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KUEUE_ENGINE_H
#define HR_POLICIES_KUEUE_ENGINE_H

/*
 * The state of the policy `kueue`: the world of Kueue, the jobs that wait or have quota, and the events of these jobs
 * at known times.
 *
 * A submitted job gets a slot, which is also the number of its workload; slots of finished jobs are used again, so that
 * memory depends on the number of jobs at a time. Jobs with equal requests share a class. A job with quota whose pods
 * have no nodes yet is held. Held jobs of one class that may use the same pools form a group. They are interchangeable
 * for the search for nodes, so one failed search per group and pass is enough.
 *
 * Invariant: a workload is listed in the world exactly while its slot is in a phase after HR__KUEUE_QUEUED.
 */

#include "base/containers.h"
#include "headroom/policy.h"
#include "headroom/policy_kit.h"
#include "headroom/unstable/capacity.h"
#include "headroom/unstable/systems/kueue.h"
#include "policies/kit/jobs.h"
#include "policies/kueue/cycle.h"
#include "policies/kueue/kueue.h"
#include "policies/kueue/tas.h"

/* A pod requests at most GPUs (or MIG instances), CPU and memory; the queue may count `pods`, too. */
enum { HR__KUEUE_MAX_REQUESTS = 4 };

enum hr__kueue_phase {
  HR__KUEUE_NO_JOB,
  HR__KUEUE_QUEUED,   /* waits for quota, or for the end of its back-off */
  HR__KUEUE_CHECKING, /* has quota, and waits for admission checks */
  HR__KUEUE_HELD,     /* is admitted, and waits for nodes */
  HR__KUEUE_STARTED,
  HR__KUEUE_LEAVING /* is evicted, and leaves after its grace period */
};

/* The values by which classes are found, see class_of in engine_jobs.c. */
enum { HR__KUEUE_CLASS_KEYS = 8 };
struct hr__kueue_class_key {
  uint64_t values[HR__KUEUE_CLASS_KEYS];
};

/* Jobs with equal requests. */
struct hr__kueue_class {
  struct hr_need need;
  bool needs_no_node;
  int64_t pods, fewest; /* fewest: minimum number for an admission; -1: all */
  uint32_t task_gpus;
  struct hr__kueue_amounts requests; /* per pod */
  const bool *suits;                 /* by flavor: some pool of the flavor can have the pods */
  const bool *accepts;               /* by pool: it can have the pods */
};

/* The data by which kueue_policy.c decides whether a cycle could admit a workload: its priority, and the amount that
   its pods request if they request a single resource. */
struct hr__kueue_shape {
  int64_t priority, amount; /* amount: of the fewest pods that may be admitted */
  int64_t full;             /* the amount of all pods */
  uint32_t resource;        /* HR_NONE: it requests several resources, or none */
};

/* A placement of topology-aware scheduling with its memory. The memory is used again with the slot. */
struct hr__kueue_memory {
  struct hr__kueue_placement placement;
  struct hr__kueue_domain *domains;
  const char **values;
  uint32_t domains_capacity, values_capacity;
};

struct hr__kueue_slot {
  uint32_t job, class_, group;
  uint32_t full_class;          /* the class of all its pods; `class_`: of the pods that were admitted */
  uint32_t next, previous;      /* in the list of the group; `next` also links unused slots, and evicted ones */
  uint8_t phase;                /* enum hr__kueue_phase */
  bool was_ready;               /* its pods have run since the admission */
  bool has_started;             /* its pods ran when it was evicted */
  enum hr__kueue_reason reason; /* why it had no quota after the last cycle */
  uint32_t n_targets;           /* number of workloads that it preempted in the last cycle */
  int64_t since_us;             /* time of the last of these: admission, loss of its nodes, start */
  int64_t timer_us;             /* time of the slot's entry in `timers`; HR_NEVER_US: none */
  struct hr__kueue_history history;
  struct hr__kueue_requeue_state requeue;
  uint8_t n_repeated; /* consecutive evictions soon after a quota reservation (delay_repeated) */
  uint8_t n_losses;   /* preemptions, if preempted jobs lose work */
  bool has_bookmarks;
  int64_t bookmark_generation, bookmark_cycle;
  int32_t *bookmarks;              /* [n_resources] */
  struct hr__kueue_assigned *room; /* [HR__KUEUE_MAX_REQUESTS] */
  struct hr__kueue_memory memory;  /* of its placement */
};

/* Held jobs of one class that may use the same pools, in the order in which they are served. */
struct hr__kueue_held {
  uint32_t class_, pools; /* pools: number of a set of pools */
  uint32_t first, last, count;
  uint32_t at; /* position in `active`, if it has jobs */
  bool placed; /* topologies place its pods, so that its jobs are not interchangeable */
  bool failed; /* no nodes were found, and none became free since */
};

/* The queue of a job: a LocalQueue, or only a ClusterQueue. HR_NONE: none. */
struct hr__kueue_destination {
  uint32_t local_queue, queue;
};

/* The usage of the workloads with quota of a queue, by priority and pair. With more than HR__KUEUE_MAX_PRIORITIES
   priorities, the table is not used. */
enum { HR__KUEUE_MAX_PRIORITIES = 16 };
struct hr__kueue_priorities {
  uint32_t count; /* above the maximum: unknown */
  int64_t priority[HR__KUEUE_MAX_PRIORITIES];
  int64_t *amounts; /* [HR__KUEUE_MAX_PRIORITIES][n_pairs] */
};

/* A job that the next pass rejects. */
struct hr__kueue_reject {
  uint32_t job;
  enum hr_reason reason;
};

/* Nodes of a pool that held jobs need. */
struct hr__kueue_wanted {
  uint64_t milli;       /* GPUs of jobs that fit on one node */
  uint32_t nodes, jobs; /* nodes of gangs; jobs that need any node */
};

/* ---- Topologies ---- */

/* The nodes of a leaf of a topology. */
struct hr__kueue_leaf {
  uint32_t first, n_nodes;
};

struct hr__kueue_topologies {
  struct hr__tas_world *world;
  struct hr__tas_nodes nodes;
  bool *is_up;           /* by node */
  const char **level_of; /* [queue][HR_N_TIERS]: label of the level for a tier of locality requirements; NULL: none */
  bool *of_queue;        /* by queue: some flavor has a topology */
  struct hr__kueue_leaf **leaves; /* [flavor][leaf] */
  struct hr__kueue_slice *slices; /* by local queue */
  struct hr_node_share *shares;
  uint32_t shares_capacity;
  struct hr__kueue_assignment assignment; /* of a workload with quota */
  struct hr__kueue_placements found;
  int64_t *amounts; /* by resource */
};

struct hr__kueue_engine {
  struct hr_arena *arena;
  const struct hr_trace *jobs;
  const struct hr_cluster *cluster;
  const struct hr_kueue_config *config;
  struct hr_capacity_set *capacities;
  struct hr_capacity *capacity; /* the present state */
  /* Parameters */
  bool keeps_work, manages, plain;
  bool reduces; /* jobs may be admitted with fewer pods, as their `min_gpus` permit */
  int64_t grace_us, idle_release_us;
  struct hr__kueue_ready_rules ready;
  /* The world. Only its workloads and their usage change. */
  struct hr__kueue_world world;
  uint32_t gpu, cpu, memory;                                /* resources; HR_NONE: no job requests it */
  uint32_t *mig;                                            /* by MIG profile of the trace: resource */
  bool *is_excluded;                                        /* by resource: it needs no quota */
  const struct hr_kueue_local_queue_config **local_configs; /* by local queue of the world */
  struct hr__kueue_selector *selectors;                     /* by local queue of the world */
  const struct hr_kueue_cluster_queue **queue_configs;      /* by queue of the world */
  struct hr__pair_map destination_at;                       /* by names of queue and tenant of the trace */
  struct hr__kueue_destination *destinations;
  uint32_t n_destinations, destinations_capacity;
  uint64_t *flavor_pools; /* [flavor][pool_words] */
  uint32_t n_pools, pool_words;
  struct hr__kueue_topologies *topologies; /* NULL: no flavor has a topology */
  /* Classes */
  struct hr__kueue_class *classes;
  struct hr__kueue_class_key *class_keys; /* zeros for classes of jobs with fewer pods */
  struct hr__hash class_at;
  uint32_t n_classes, classes_capacity, class_keys_capacity;
  struct hr__pair_map reduced; /* by class and number of pods: the class with fewer pods */
  struct hr__pair_map shapes;
  struct hr__kueue_shape *shape_of; /* by shape */
  uint32_t shapes_capacity;
  /* Slots */
  struct hr__kueue_slot *slots;
  uint32_t n_slots, first_free;
  uint32_t *slot_of;         /* by job: slot + 1; 0: none */
  struct hr_job_tree timers; /* key: time; job: slot */
  /* Held jobs */
  struct hr__kueue_held *groups;
  uint32_t n_groups, groups_capacity;
  uint32_t *active, n_active, active_capacity; /* groups with jobs, in no order */
  struct hr__pair_map group_at;
  uint64_t *pool_sets; /* [set][pool_words] */
  uint32_t n_pool_sets, pool_sets_capacity;
  uint32_t n_held;
  bool freed; /* since the last search for nodes, nodes may have become free or a job became held */
  /* Market */
  int64_t *idle_us; /* by node: since when it has no job */
  struct hr__deadline_fifo idle;
  struct hr__kueue_wanted *wanted; /* by pool */
  /* Cycles */
  struct hr__kueue_cycle cycle;
  struct hr__kueue_pending pending;
  uint32_t *heads;
  uint32_t *root;               /* by queue: root of its tree */
  bool *is_freed;               /* by node of the tree of quotas: quota of the tree with this root was freed */
  bool some_freed;              /* some entry is set */
  bool *is_filled, some_filled; /* is_filled: by root, like is_freed: quota was taken since parked workloads returned;
                                   some_filled: some entry is set */
  bool evicted;                 /* evictions have ended since the last cycle */
  uint32_t first_leaving, last_leaving;    /* list of evicted workloads that lose their quota after the cycles */
  struct hr__kueue_priorities *priorities; /* by queue */
  int64_t n_cycles;
  bool changed;    /* something changed since the last cycle */
  bool blocked;    /* an admission waits until all admitted jobs have started */
  int64_t wake_us; /* last requested wake-up */
  /* Admission fair sharing */
  double *consumed, *penalty; /* [local queue][resource] */
  double *weights;            /* by resource */
  int64_t sampled_us;
  struct hr__kueue_reject *rejects;
  uint32_t n_rejects, rejects_capacity;
  /* The pass */
  const struct hr_view *view;
  struct hr_moves *moves;
  enum hr_status status;
};

/* ---- The world (engine_world.c) ------------------------------------------------------------------------ */

/* Builds the world from the configuration and the trace. */
enum hr_status hr__kueue_world_build(struct hr__kueue_engine *self);
/* Finds the queue of a job. If the configuration does not have the queue that the job names, it is the default queue;
   without a default queue, destination->queue is HR_NONE. Returns false if memory is exhausted. */
bool hr__kueue_destination_of(struct hr__kueue_engine *self, uint32_t job, struct hr__kueue_destination *destination);
/* The priority of a job: that of the priority class that it names, else that of the trace. */
int64_t hr__kueue_priority_of(const struct hr__kueue_engine *self, uint32_t job);

/* The number of nodes of the cluster. */
static inline uint32_t hr__kueue_count_nodes(const struct hr__kueue_engine *self) {
  uint32_t count = 0;
  for (uint32_t p = 0; p < self->n_pools; p++) count += hr_cluster_pool_spec(self->cluster, (hr_pool){p})->nodes;
  return count;
}

static inline bool hr__kueue_pool_is_elastic(const struct hr__kueue_engine *self, uint32_t pool) {
  return hr_market_is_elastic(hr_cluster_pool_spec(self->cluster, (hr_pool){pool})->market.market);
}

static inline bool hr__kueue_flavor_has_pool(const struct hr__kueue_engine *self, uint32_t flavor, uint32_t pool) {
  return self->flavor_pools[(size_t)flavor * self->pool_words + pool / 64] >> pool % 64 & 1;
}

/* ---- Queues of jobs in the configuration (engine_world.c) ------------------------------------------- */

/* Returns whether this queue admits jobs at all. */
bool hr__kueue_is_open(const struct hr_kueue_config *config, struct hr__kueue_destination destination);
/* Returns whether the queue of a job exists and admits jobs. A run rejects other jobs. */
bool hr__kueue_takes(const struct hr_kueue_config *config, const struct hr_trace *jobs, hr_job job);

/* ---- Jobs (engine_jobs.c) ------------------------------------------------------------------------------ */

/* Queues a submitted job. Sets `*reason` if the job can never be admitted; it then gets no slot. Returns false if
   memory is exhausted. */
bool hr__kueue_job_add(struct hr__kueue_engine *self, uint32_t job, enum hr_reason *reason);
/* Sets the class of a job with quota to that of the pods that were admitted. Returns false if memory is exhausted. */
bool hr__kueue_set_admitted_class(struct hr__kueue_engine *self, uint32_t slot);
/* The fewest pods of a pod set that can be admitted. */
static inline int64_t hr__kueue_fewest(const struct hr__kueue_pod_set *pod_set) {
  return pod_set->min_count > 0 ? pod_set->min_count : pod_set->count;
}
/* Frees the slot of a job without a listed workload. */
void hr__kueue_job_remove(struct hr__kueue_engine *self, uint32_t slot);
/* Sets the time of the next event of a job; HR_NEVER_US: none. Returns false if memory is exhausted. */
bool hr__kueue_timer_set(struct hr__kueue_engine *self, uint32_t slot, int64_t at_us);
/* Removes the quota of a workload, and lets inadmissible workloads try again. */
void hr__kueue_release(struct hr__kueue_engine *self, uint32_t slot);

/* Called when the back-off of a queued workload, or the time for which its locality requirement applies, has ended.
   Returns false if memory is exhausted. */
bool hr__kueue_wait_over(struct hr__kueue_engine *self, uint32_t slot);

/* Sets the usage of a local queue from its consumption and its penalties. */
void hr__kueue_usage_refresh(struct hr__kueue_engine *self, uint32_t local_queue);
/* Takes a sample of the usage of local queues if it is time. */
void hr__kueue_sample(struct hr__kueue_engine *self);
/* The time of the next sample; HR_NEVER_US: usage is not measured, or nothing is to be measured. */
int64_t hr__kueue_next_sample(const struct hr__kueue_engine *self);

/* The slot of a job; HR_NONE: none. */
static inline uint32_t hr__kueue_slot_of(const struct hr__kueue_engine *self, hr_job job) {
  return self->slot_of[job.id] - 1;
}

/* ---- Topologies (engine_topology.c) -------------------------------------------------------------------- */

/* Builds the topologies of the flavors that have one. Returns false if memory is exhausted. */
bool hr__kueue_topology_build(struct hr__kueue_engine *self, const struct hr_kueue_config *config);

/* ---- Placements (engine_topology.c) ----------------------------------------------------------------- */

/* If no flavor has a topology, these functions have no effect; hr__kueue_topology_request and hr__kueue_topology_keep
   then return true. */

/* Sets the current topology request of the pods of a workload. Returns false if no topology of its queue has the level.
 */
bool hr__kueue_topology_request(struct hr__kueue_engine *self, uint32_t slot);
/* Copies the placement of an assignment to the slot. Returns false if memory is exhausted. */
bool hr__kueue_topology_keep(struct hr__kueue_engine *self, uint32_t slot, struct hr__kueue_assignment *assignment);

enum hr__kueue_nodes {
  HR__KUEUE_NODES_READY,
  HR__KUEUE_NODES_AWAITED, /* they are not up, or not provisioned yet */
  HR__KUEUE_NODES_LOST     /* some have failed and are not replaced: the workload is evicted */
};
/* Prepares the nodes of a workload with quota. If its placement is pending, its nodes are chosen. If a node of its
   placement has failed, another node replaces this node. Returns the state of the nodes. */
enum hr__kueue_nodes hr__kueue_topology_prepare(struct hr__kueue_engine *self, uint32_t slot);
/* Whether the pods of a workload that has quota are placed by a topology. */
bool hr__kueue_topology_places(const struct hr__kueue_engine *self, uint32_t slot);
/* Finds the nodes and GPUs of a placement. Returns false if they are not free. */
bool hr__kueue_topology_nodes(struct hr__kueue_engine *self, uint32_t slot, const struct hr_need *need,
                              struct hr_placement *placement);

/* Records that a node came up (`is_up`), or that it has an interruption notice or is gone. */
void hr__kueue_topology_node(struct hr__kueue_engine *self, hr_node node, bool is_up);
/* Records that workloads of all queues with topologies may fit now. */
void hr__kueue_topology_freed(struct hr__kueue_engine *self);
/* Subtracts pods that no topology places from the free amounts of their nodes (sign 1), or adds them again (-1). */
void hr__kueue_topology_count(struct hr__kueue_engine *self, uint32_t slot, const struct hr_placement *placement,
                              int sign);

/* The reason for which a flavor has no placement for a workload. */
struct hr__kueue_lack {
  const char *topology;
  int64_t fits, of;
  bool slices;               /* the unit is slices, not pods */
  uint32_t leaves, selector; /* leaves: all leaves of the topology; selector: number of leaves that labels exclude */
};
/* Returns false if the flavor has a placement, or no topology. */
bool hr__kueue_topology_lack(struct hr__kueue_engine *self, uint32_t slot, uint32_t flavor,
                             struct hr__kueue_lack *lack);
/* The number of leaves that cannot run one pod because of a resource. */
uint32_t hr__kueue_topology_lacking(const struct hr__kueue_engine *self, uint32_t slot, uint32_t flavor,
                                    uint32_t resource);

/* ---- Evictions (engine_jobs.c) ---------------------------------------------------------------------- */

/* Evicts a workload for another one. Without a grace period, the evicted workload has its quota until
   hr__kueue_finish_evictions is called. Returns false if the workload is already being evicted. */
bool hr__kueue_evict(struct hr__kueue_engine *self, const struct hr__kueue_target *target);
/* Removes the quota of workloads that were evicted without a grace period. The preemptors are the heads of the next
   cycle; parked workloads return after this cycle. */
void hr__kueue_finish_evictions(struct hr__kueue_engine *self);
/* Removes the quota of an evicted workload, and queues it again. */
void hr__kueue_queue_evicted(struct hr__kueue_engine *self, uint32_t slot);
/* Stops the job of an evicted workload now. */
void hr__kueue_stop(struct hr__kueue_engine *self, uint32_t slot);
/* Evicts or deactivates the workload of a held job whose time limit has passed. */
void hr__kueue_time_out(struct hr__kueue_engine *self, uint32_t slot);

/* ---- Explanation (engine_explain.c) -------------------------------------------------------------------- */

/* The functions `explain` and `describe` of the policy. */
void hr__kueue_explain(void *state, const struct hr_view *view, hr_job job, struct hr_wait_reason *wait);
void hr__kueue_describe(void *state, const struct hr_view *view, hr_job job, char *text, size_t size);

/* ---- Prospects (kueue_policy.c) --------------------------------------------------------------------- */

/* Adds the usage of a workload that has received quota (sign 1), or removes that of a workload that loses it (-1). */
void hr__kueue_prospects_count(struct hr__kueue_engine *self, uint32_t slot, int sign);

/* ---- Pods (engine_pods.c) ------------------------------------------------------------------------------ */

/* Holds an admitted workload until its pods get nodes. `front`: before others of its group. Returns false if memory is
   exhausted. */
bool hr__kueue_hold(struct hr__kueue_engine *self, uint32_t slot, bool front);
/* Removes a workload that is evicted while its pods wait for nodes. */
void hr__kueue_unhold(struct hr__kueue_engine *self, uint32_t slot);
/* Starts held jobs that find nodes. */
void hr__kueue_place_all(struct hr__kueue_engine *self);
/* Requests nodes of elastic pools for held jobs, and releases nodes that have been idle for the minimum time. */
void hr__kueue_scale(struct hr__kueue_engine *self);
/* Records that the pods of a job have left their nodes. Returns false if memory is exhausted. */
bool hr__kueue_pods_left(struct hr__kueue_engine *self, hr_job job, const struct hr_placement *placement);
/* Records that a node came up, has an interruption notice, or is gone. Returns false if memory is exhausted. */
bool hr__kueue_node_changed(struct hr__kueue_engine *self, const struct hr_event *event);
/* The current needs of the pods of a job. */
struct hr_need hr__kueue_need_of(const struct hr__kueue_engine *self, uint32_t slot);

#endif
