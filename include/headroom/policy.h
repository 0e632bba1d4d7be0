/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_POLICY_H
#define HEADROOM_POLICY_H

/*
 * The interface between a scheduling policy and the engine.
 *
 * The engine notifies a policy of events (`observe`) and asks it once per instant for decisions (`decide`). The policy
 * reads the view and makes moves on `moves`; it never writes to the engine's memory. A move is checked when it is made.
 * A move that breaks a rule (a job that does not wait, GPUs that are not free) ends the run with HR_BAD_POLICY; the
 * error names time, job, policy and rule.
 *
 * Life cycle: `create` for each run; then `observe` for each event and `decide` after the events of an instant; then
 * `destroy`. Pointers that the engine passes to a call are valid during that call, except the trace, the shape of the
 * cluster and memory from the policy's arena, which are valid until `destroy`.
 */

#include "headroom/base.h"
#include "headroom/cluster.h"
#include "headroom/gpu_inventory.h"
#include "headroom/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Reasons for waiting ---- */

/* Why a waiting job does not start between two instants. If several reasons apply, it is the one that would remain
   if the job were first in order; rules of the queue (order, reservation) count only if the job would fit. The last
   column completes "waited 20 min ...". */
#define HR_WAIT_REASON_TABLE(X)                                                                                        \
  X(HR_WAIT_REASON_NONE, "", "not waiting")                                                                            \
  X(HR_WAIT_REASON_POLICY, "policy", "for a reason that the policy does not report")                                   \
  X(HR_WAIT_REASON_CAPACITY, "capacity", "for free GPUs")                                                              \
  X(HR_WAIT_REASON_FRAGMENTS, "fragments", "for a placement: enough GPUs were free, but fragmented")                   \
  X(HR_WAIT_REASON_NODE_RESOURCES, "node-resources", "for CPU or memory of nodes that had free GPUs")                  \
  X(HR_WAIT_REASON_TOPOLOGY, "topology", "for a placement within the required locality")                               \
  X(HR_WAIT_REASON_ORDER, "order", "behind jobs that must start first")                                                \
  X(HR_WAIT_REASON_RESERVATION, "reservation", "behind reservations of other jobs")                                    \
  X(HR_WAIT_REASON_QUOTA, "quota", "for quota")                                                                        \
  X(HR_WAIT_REASON_PREEMPTION, "preemption", "for jobs that have notice to leave")                                     \
  X(HR_WAIT_REASON_BOOTING, "booting", "for nodes that were booting")                                                  \
  X(HR_WAIT_REASON_MARKET, "market", "for the market rule to request nodes")                                           \
  X(HR_WAIT_REASON_TURN, "turn", "for a turn")

enum hr_wait_reason_kind {
#define HR_WAIT_REASON_NAME(name, text, words) name,
  HR_WAIT_REASON_TABLE(HR_WAIT_REASON_NAME)
#undef HR_WAIT_REASON_NAME
      HR_N_WAIT_REASONS
};

/* The name of a reason in files, "capacity"; and the words of the table above. */
HR_API const char *hr_wait_reason_name(enum hr_wait_reason_kind reason);
HR_API const char *hr_wait_reason_words(enum hr_wait_reason_kind reason);

/* Instead of the index of a quota's node: the shared quota of tenants without a node of their own, and the whole
   cluster. */
#define HR_QUOTA_FALLBACK (HR_NONE - 1)
#define HR_QUOTA_ROOT (HR_NONE - 2)

/* The present reason of a waiting job. */
struct hr_wait_reason {
  enum hr_wait_reason_kind reason;
  hr_job behind; /* order, reservation, preemption: the job that it waits for; HR_NONE: unknown */
  /* quota: the tenant or cohort at its limit, as an index into the nodes of hr_quota_spec, HR_QUOTA_FALLBACK or
     HR_QUOTA_ROOT; else HR_NONE */
  uint32_t quota;
  /* the start promised to `behind`, or when the turn or the wait for a topology ends; HR_NEVER_US: unknown */
  int64_t until_us;
  uint64_t free_milli;  /* the most free milli-GPUs in any pool that the job accepts */
  uint64_t asked_milli; /* milli-GPUs that it requests */
};

struct hr_view;
/* Asks why a waiting job does not start: the policy if it explains, otherwise the engine, which recognises lack of
   room. HR_WAIT_REASON_POLICY if neither knows; HR_WAIT_REASON_NONE if the job does not wait. Only
   observers may call this, after a pass (on_instant). Changes nothing. */
HR_API void hr_view_wait_reason(const struct hr_view *view, hr_job job, struct hr_wait_reason *wait);
/* The abilities that the policy declared, HR_POLICY_PREEMPTS and others. Only observers may call this. */
HR_API uint32_t hr_view_abilities(const struct hr_view *view);

/* For policies that explain their decisions: sets the reason of a job that is known to have no placement: capacity,
   booting (nodes that would suffice are booting) or fragments. Does not look at nodes. */
HR_API void hr_view_lack(const struct hr_view *view, hr_job job, struct hr_wait_reason *wait);

#define HR_POLICY_ABI 3u

/* Events of jobs and capacity, in the order in which they are handled at one instant: events that free or remove
   capacity come before those that request it; moves come last. The last column is the code in digests, which never
   changes. */
#define HR_EVENT_TABLE(X)                                                                                              \
  X(HR_EVENT_END, "end", 0)             /* a job completed its work */                                                 \
  X(HR_EVENT_SAVED, "saved", 5)         /* all work of a job so far is in a checkpoint */                              \
  X(HR_EVENT_INTERRUPT, "interrupt", 6) /* a running job was stopped and waits again */                                \
  X(HR_EVENT_NODE_DOWN, "node-down", 7) /* a node is gone; its jobs were interrupted before */                         \
  X(HR_EVENT_NOTICE, "notice", 8)       /* a node will go down; no job may start on it */                              \
  X(HR_EVENT_OFFER, "offer", 9)         /* the number of available nodes of a pool changed */                          \
  X(HR_EVENT_NODE_UP, "node-up", 10)    /* a requested node is up */                                                   \
  X(HR_EVENT_SUBMIT, "submit", 1)       /* a job was submitted and waits */                                            \
  X(HR_EVENT_TIMER, "timer", 2)         /* a wake-up time that the policy requested */                                 \
  X(HR_EVENT_START, "start", 3)         /* move: the job runs */                                                       \
  X(HR_EVENT_REJECT, "reject", 4)       /* the job will never run */                                                   \
  X(HR_EVENT_PREEMPT, "preempt", 11)    /* move: the job was stopped and waits again */                                \
  X(HR_EVENT_ACQUIRE, "acquire", 12)    /* move: a node was requested; it is billed from now on */                     \
  X(HR_EVENT_RELEASE, "release", 13)    /* move: a node was released */

enum hr_event_kind {
#define HR_EVENT_NAME(name, text, code) name,
  HR_EVENT_TABLE(HR_EVENT_NAME)
#undef HR_EVENT_NAME
};

/* Why a job was started, rejected or stopped, or why a node is gone. */
#define HR_REASON_TABLE(X)                                                                                             \
  X(HR_REASON_NONE, "")                                                                                                \
  X(HR_REASON_IN_ORDER, "in-order")               /* it was the first in order and fits */                             \
  X(HR_REASON_BACKFILL, "backfill")               /* started before a job that precedes it in order */                 \
  X(HR_REASON_TOO_LARGE, "too-large")             /* requests more GPUs than any acceptable pool has */                \
  X(HR_REASON_NO_GPU_TYPE, "no-such-gpu-type")    /* no pool has an acceptable GPU type */                             \
  X(HR_REASON_SPOT_ONLY, "only-spot")             /* only spot capacity is acceptable, which the job must not use */   \
  X(HR_REASON_POLICY, "policy")                   /* decided by the policy */                                          \
  X(HR_REASON_RECLAIMED, "reclaimed")             /* the provider reclaimed the node */                                \
  X(HR_REASON_SAVED, "saved")                     /* the job left a node that will be reclaimed, after a checkpoint */ \
  X(HR_REASON_RESERVATION_END, "reservation-end") /* the node's reservation ended */                                   \
  X(HR_REASON_NO_REGION, "no-such-region")        /* no acceptable pool is in an acceptable region */                  \
  X(HR_REASON_PREEMPTED, "preempted")             /* stopped for another job */                                        \
  X(HR_REASON_KILLED, "killed")                   /* stopped for another job, permanently */                           \
  X(HR_REASON_NO_CLASS_POOL, "no-pool-for-class") /* such pools serve other job classes only */                        \
  X(HR_REASON_OVER_QUOTA, "over-quota")           /* requests more GPUs than its tenant may ever use */                \
  X(HR_REASON_GPU_MEMORY, "gpu-memory")           /* requests more GPU memory than such GPUs have */                   \
  X(HR_REASON_NODE_TOO_SMALL, "node-too-small")   /* a task requests more than any acceptable node has */              \
  X(HR_REASON_MIG_PROFILE, "no-such-mig-profile") /* no acceptable pool has suitable MIG instances */                  \
  X(HR_REASON_NO_GROUP, "no-such-group")          /* no acceptable group of the required tier is large enough */

enum hr_reason {
#define HR_REASON_NAME(name, text) name,
  HR_REASON_TABLE(HR_REASON_NAME)
#undef HR_REASON_NAME
};

/* The name of an event or a reason in files; "" for HR_REASON_NONE. */
HR_API const char *hr_event_name(enum hr_event_kind kind);
HR_API const char *hr_reason_name(enum hr_reason reason);
/* Why a job was rejected, to complete a sentence: "no pool has an acceptable GPU type". */
HR_API const char *hr_rejection_words(enum hr_reason reason);

enum hr_job_state {
  HR_JOB_FUTURE, /* not submitted yet; 0, since finished jobs of a streamed run may read as this */
  HR_JOB_WAITING,
  HR_JOB_RUNNING,
  HR_JOB_COMPLETED,
  HR_JOB_REJECTED
};

/* The nodes and GPUs of a job: slices on nodes of one pool. Without slices, only the number of GPUs in the pool is
   reserved. In per-GPU allocation (hr_cluster_gpu_inventory) there is one slice per task. */
struct hr_placement {
  hr_pool pool;
  uint32_t n_slices;
  const struct hr_slice *slices;
};

/* The milli-GPUs of a job at a placement; without slices, all that it requests. */
static inline uint64_t hr_placement_milli(const struct hr_placement *placement, const struct hr_trace *trace,
                                          hr_job job) {
  uint64_t sum_milli = placement->n_slices ? 0 : (uint64_t)trace->gpus[job.id] * 1000;
  for (uint32_t i = 0; i < placement->n_slices; i++) sum_milli += placement->slices[i].gpu_milli;
  return sum_milli;
}

struct hr_event {
  int64_t at_us;
  enum hr_event_kind kind;
  enum hr_reason reason;                /* of moves, interruptions and lost nodes */
  hr_job job;                           /* HR_NONE for events of nodes and pools */
  const struct hr_placement *placement; /* of START, END, INTERRUPT, PREEMPT and SAVED; else NULL */
  hr_pool pool;                         /* of OFFER and events of nodes; else HR_NONE */
  hr_node node;                         /* of events of nodes; else HR_NONE */
};

/* ---- Free capacity ---- */

/* The nodes of a pool by free whole GPUs: for each count 0 .. gpus_per_node, the set of nodes with that many free
   GPUs. Each query takes a few bit scans, whatever the number of nodes. Nodes are numbered within the pool from 0.
   The engine maintains one index per pool; a policy may create its own to examine other states. */
struct hr_free_index;
/* Creates an index in which all nodes are empty. In the arena; NULL if memory is exhausted. */
HR_API struct hr_free_index *hr_free_index_create(struct hr_arena *arena, uint32_t n_nodes, uint32_t gpus_per_node);
/* Sets the number of free GPUs of a node, at most gpus_per_node. */
HR_API void hr_free_index_set(struct hr_free_index *index, uint32_t node, uint32_t gpus);
/* The number of nodes, and of GPUs per node. */
HR_API uint32_t hr_free_index_nodes(const struct hr_free_index *index);
HR_API uint32_t hr_free_index_gpus_per_node(const struct hr_free_index *index);
/* The number of free whole GPUs of a node. */
HR_API uint32_t hr_free_index_get(const struct hr_free_index *index, uint32_t node);
/* The lowest count >= `gpus` that some node has free; HR_NONE if none exists. */
HR_API uint32_t hr_free_index_lowest(const struct hr_free_index *index, uint32_t gpus);
/* The highest count that some node has free. */
HR_API uint32_t hr_free_index_highest(const struct hr_free_index *index);
/* The first node >= `from` with exactly `gpus` free GPUs; HR_NONE if none exists. */
HR_API uint32_t hr_free_index_node(const struct hr_free_index *index, uint32_t gpus, uint32_t from);
/* The number of nodes with exactly `gpus` free GPUs. */
HR_API uint32_t hr_free_index_count(const struct hr_free_index *index, uint32_t gpus);

/* Of the groups of `nodes_per_group` consecutive nodes (the last one may be smaller), the one with the least room among
   those that a gang fits, on empty nodes and one more for its remainder; the first of equal ones. HR_NONE if it fits in
   none, or if the engine does not maintain such groups: it does for the tiers that jobs must be in
   (hr_cluster_locality), racks and zones that are smaller than their pool. Takes a few bit scans. */
HR_API uint32_t hr_free_index_group(const struct hr_free_index *index, uint32_t nodes_per_group, uint32_t gpus);

struct hr_cluster;
/* The description of the cluster, without jobs. */
HR_API const struct hr_cluster_spec *hr_cluster_spec_of(const struct hr_cluster *cluster);
/* The state of each GPU, in per-GPU allocation (hr_cluster_spec_by_gpu); NULL in counted allocation. */
HR_API const struct hr_gpu_inventory *hr_cluster_gpu_inventory(const struct hr_cluster *cluster);
/* The distinct requests of jobs, in per-GPU allocation; NULL in counted allocation. */
HR_API const struct hr_requests *hr_cluster_requests(const struct hr_cluster *cluster);
/* The milli-GPUs that a job requests; whole GPUs in counted allocation. */
HR_API uint64_t hr_cluster_asked_milli(const struct hr_cluster *cluster, hr_job job);
/* The number of pools. */
HR_API uint32_t hr_cluster_pools(const struct hr_cluster *cluster);
/* The description of a pool. */
HR_API const struct hr_pool_spec *hr_cluster_pool_spec(const struct hr_cluster *cluster, hr_pool pool);
/* The id of the first node of the pool; its other nodes follow without gaps. */
HR_API hr_node hr_cluster_first_node(const struct hr_cluster *cluster, hr_pool pool);
/* The milli-GPUs of the pool's nodes that are present; and those of them that are free on nodes where jobs may
   start. */
HR_API uint64_t hr_cluster_total_milli(const struct hr_cluster *cluster, hr_pool pool);
HR_API uint64_t hr_cluster_free_milli(const struct hr_cluster *cluster, hr_pool pool);
/* The free index of the pool. In it, nodes on which no job may start have no free GPUs. */
HR_API const struct hr_free_index *hr_cluster_free_index(const struct hr_cluster *cluster, hr_pool pool);
/* The accept class of a job: jobs with the same number accept the same pools. */
HR_API uint32_t hr_cluster_accept_class(const struct hr_cluster *cluster, hr_job job);
/* Whether jobs of an accept class accept the pool. */
HR_API bool hr_cluster_accepts(const struct hr_cluster *cluster, uint32_t accept_class, hr_pool pool);
/* The narrowest tier that has all of a placement in one group; HR_TIER_POOL without slices. O(slices). */
HR_API enum hr_tier hr_cluster_span(const struct hr_cluster *cluster, const struct hr_placement *placement);
/* The network links of that tier. */
HR_API enum hr_network hr_cluster_links(const struct hr_cluster *cluster, const struct hr_placement *placement);

/* A requirement on locality: the placement must be within one group of `tier`, or of a narrower one, until
   `until_us`; later this is only preferred. HR_TIER_ANY: no requirement. HR_NEVER_US: the requirement never ends. */
struct hr_locality {
  enum hr_tier tier;
  int64_t until_us;
};

/* The requirement of a job. */
HR_API struct hr_locality hr_cluster_locality(const struct hr_cluster *cluster, hr_job job);
/* Whether any job of the trace has such a requirement. Then the policy must declare HR_POLICY_KEEPS_WITHIN, and
   starts that break a requirement are refused. */
HR_API bool hr_cluster_any_within(const struct hr_cluster *cluster);

/* ---- Markets ---- */

/* Nodes of elastic pools (on-demand, spot) are off until they are requested; then they boot, and then they are up. A
   node that has notice is closing. Nodes of other pools are up while the pool exists. */
enum hr_node_state { HR_NODE_UP, HR_NODE_OFF, HR_NODE_BOOTING, HR_NODE_CLOSING };
/* Whether some pool has nodes that come and go. */
HR_API bool hr_cluster_changes(const struct hr_cluster *cluster);
/* The state of a node. */
HR_API enum hr_node_state hr_cluster_node_state(const struct hr_cluster *cluster, hr_node node);
/* When the node was requested; 0 for nodes that are always there. */
HR_API int64_t hr_cluster_node_since_us(const struct hr_cluster *cluster, hr_node node);
/* The number of nodes of the pool in a state. */
HR_API uint32_t hr_cluster_nodes_in(const struct hr_cluster *cluster, hr_pool pool, enum hr_node_state state);
/* The number of nodes of the pool that can be requested now. */
HR_API uint32_t hr_cluster_offer(const struct hr_cluster *cluster, hr_pool pool);
/* The mean rate at which a node of the pool is reclaimed, per hour that it is up, from its market's model or record. */
HR_API double hr_cluster_reclaims_per_h(const struct hr_cluster *cluster, hr_pool pool);
/* The price of a GPU-hour of the pool at `now_us`, in micro-dollars. */
HR_API int64_t hr_cluster_price_uusd_h(const struct hr_cluster *cluster, hr_pool pool, int64_t now_us);

/* ---- View and moves ---- */

struct hr_job_accounting; /* headroom/sim.h */
/* The state that a policy reads. In a streamed run the columns of finished jobs are lost, as with
   hr_arena_alloc_by_job. */
struct hr_view {
  uint32_t size; /* of this struct; it only grows at its end */
  uint32_t n_waiting, n_running;
  int64_t now_us;
  const struct hr_trace *jobs;
  const struct hr_cluster *cluster;
  const uint8_t *state;                  /* by job: enum hr_job_state */
  const int64_t *start_us;               /* by job: first start; HR_NEVER_US before */
  uint64_t allocated_milli, total_milli; /* of the whole cluster; total: of nodes that are up */
  const int64_t *attempt_us;             /* by job: when its present or last attempt began */
  const int64_t *kept_us;                /* by job: work that an interruption would not lose; NULL: none is ever kept */
  const struct hr_job_accounting *accounting; /* by job, so far; NULL if jobs cannot be interrupted */
};

/* The work that a job has completed so far, kept or not, in microseconds of its recorded run time. Time of restarts
   and checkpoints does not count. */
HR_API int64_t hr_view_done_us(const struct hr_view *view, hr_job job);

/* The placement of a running job. `one` is storage for a single slice. Valid until the next move. */
HR_API struct hr_placement hr_view_placement(const struct hr_view *view, hr_job job, struct hr_slice *one);

/* The speed of the job in the pool, in ppm: microseconds of its recorded run time completed per second. 0: it cannot
   run there. 1,000,000 in runs without speeds. */
HR_API uint32_t hr_view_speed_ppm(const struct hr_view *view, hr_job job, hr_pool pool);

struct hr_moves;
/* Starts a waiting job now. The placement is copied. */
HR_API enum hr_status hr_moves_start(struct hr_moves *moves, hr_job job, const struct hr_placement *placement,
                                     enum hr_reason reason);
/* Rejects a waiting job permanently. */
HR_API enum hr_status hr_moves_reject(struct hr_moves *moves, hr_job job, enum hr_reason reason);
/* Requests a pass at a later time even if no event happens then. */
HR_API enum hr_status hr_moves_wake_at(struct hr_moves *moves, int64_t at_us);
/* Stops a running job, which then waits again. All its work is kept; the restart overhead of its class accounts for
   saving and loading it. Its capacity is free at once. */
HR_API enum hr_status hr_moves_preempt(struct hr_moves *moves, hr_job job, enum hr_reason reason);
/* Stops a running job as if its nodes were reclaimed without notice: work since its last checkpoint is lost. Its
   capacity is free at once. */
HR_API enum hr_status hr_moves_requeue(struct hr_moves *moves, hr_job job, enum hr_reason reason);
/* Gives notice to a running job: at `at_us` it will be stopped and wait again. If `keeps` is set, all its work is
   kept; otherwise it may write a checkpoint and leave earlier, as after notice from the provider. HR_EVENT_INTERRUPT
   follows, unless the job completes first. */
HR_API enum hr_status hr_moves_notice(struct hr_moves *moves, hr_job job, int64_t at_us, bool keeps);
/* Requests `nodes` more nodes of an elastic pool, at most hr_cluster_offer. Nodes that boot in no time are up at
   once. */
HR_API enum hr_status hr_moves_acquire(struct hr_moves *moves, hr_pool pool, uint32_t nodes);
/* Releases a node of an elastic pool that is booting, or up without jobs. */
HR_API enum hr_status hr_moves_release(struct hr_moves *moves, hr_node node);
/* A mark, and rollback to it: undoes the moves made since, the last one first, as if they had not been made. */
HR_API uint32_t hr_moves_mark(const struct hr_moves *moves);
HR_API void hr_moves_rollback(struct hr_moves *moves, uint32_t mark);

/* ---- Policies ---- */

enum hr_param_type { HR_PARAM_CHOICE, HR_PARAM_INTEGER, HR_PARAM_REAL, HR_PARAM_BOOLEAN };

struct hr_param {
  const char *key;
  enum hr_param_type type;
  const char *fallback;       /* the default, as text */
  double min, max;            /* of numbers, inclusive */
  const char *const *choices; /* of a choice, NULL-terminated */
  const char *help;
  bool advanced; /* for special cases: tables show it only if it is not at its default */
};

/* The value of a parameter, at the index of its hr_param in the policy's table. */
struct hr_param_value {
  int64_t integer; /* also of a boolean, and the index of a choice */
  double real;
};

struct hr_policy_env {
  uint32_t size; /* of this struct; it only grows at its end */
  struct hr_arena *arena;
  const struct hr_trace *jobs;
  const struct hr_cluster *cluster;
  const struct hr_param_value *params; /* one per entry of the policy's table */
  uint64_t seed;
  const struct hr_class_spec *classes; /* [HR_N_CLASSES]; NULL: no settings */
  const struct hr_quota_spec *quotas;  /* NULL: no quotas */
};

enum {
  HR_POLICY_PREEMPTS = 1,
  HR_POLICY_MANAGES_CAPACITY = 2,
  HR_POLICY_STARVES_NOBODY = 4, /* a promise: no job that fits on the cluster waits forever while others come and go */
  HR_POLICY_KEEPS_WITHIN = 8,   /* it satisfies requirements on locality */
  /* Of `explain`. By default, jobs with the same request (GPUs, accept class, locality) wait for the same reason at
     any time. HOLDS_BY_TENANT: if they also have the same tenant. HOLDS_BY_JOB: each job may have a reason of its
     own. */
  HR_POLICY_HOLDS_BY_TENANT = 16,
  HR_POLICY_HOLDS_BY_JOB = 32
};

struct hr_policy_ops {
  uint32_t abi; /* HR_POLICY_ABI */
  /* sizeof (struct hr_policy_ops); it only grows at its end, and members that a policy does not have count as NULL */
  uint32_t size;
  const char *name, *summary;
  const struct hr_param *params; /* terminated by a NULL key; may be NULL */
  /* Creates a policy for one run. `*self` is passed to the other functions. On failure it writes `error` and returns
     another status than HR_OK. */
  enum hr_status (*create)(const struct hr_policy_env *env, void **self, struct hr_error *error);
  /* Frees what `create` allocated outside the arena. May be NULL. */
  void (*destroy)(void *self);
  /* Notifies the policy of an event, other than its own moves. May be NULL. */
  enum hr_status (*observe)(void *self, const struct hr_view *view, const struct hr_event *event);
  /* Called once per instant, after all events of that instant. */
  enum hr_status (*decide)(void *self, const struct hr_view *view, struct hr_moves *moves);
  /* What this policy does beyond starting and rejecting jobs (HR_POLICY_PREEMPTS, HR_POLICY_MANAGES_CAPACITY,
     HR_POLICY_KEEPS_WITHIN), and what it promises (HR_POLICY_STARVES_NOBODY). Called once, after `create`. NULL:
     none. For policies that do not manage capacity the engine requests all available nodes as soon as they are
     available. */
  uint32_t (*abilities)(void *self);
  /* Why a waiting job does not start, in the state after a pass: sets the reason and, if known, the job ahead, the
     quota or the time. HR_WAIT_REASON_POLICY, free and requested GPUs are set before the call. Must not change later
     decisions. NULL: the policy does not explain. */
  void (*explain)(void *self, const struct hr_view *view, hr_job job, struct hr_wait_reason *wait);
};

/*
 * Defines the policy of a file: HR_POLICY(name) = {HR_POLICY_HEAD, .name = ..., ...}. Compiled as a shared object, this
 * is what Headroom loads from it; compiled with HR_POLICY_BUILT_IN, it is the object hr__policy_NAME.
 */
#define HR_POLICY_HEAD .abi = HR_POLICY_ABI, .size = sizeof(struct hr_policy_ops)
#ifdef HR_POLICY_BUILT_IN
#define HR_POLICY(id) const struct hr_policy_ops hr__policy_##id
#else
#define HR_POLICY(id)                                                                                                  \
  extern const struct hr_policy_ops hr__policy_##id;                                                                   \
  HR_API const struct hr_policy_ops *headroom_policy(void);                                                            \
  const struct hr_policy_ops *headroom_policy(void) {                                                                  \
    return &hr__policy_##id;                                                                                           \
  }                                                                                                                    \
  const struct hr_policy_ops hr__policy_##id
#endif

#ifdef __cplusplus
}
#endif
#endif
