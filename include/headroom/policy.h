/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_POLICY_H
#define HEADROOM_POLICY_H

/*
 * What a scheduling policy sees and does.
 *
 * A policy is told what happened (`observe`) and is asked once per instant what to do (`decide`). It reads
 * the `view` and answers with moves on the `plan`; it never touches the engine's memory. A move is checked
 * as it is made; one that breaks a rule (a job that is not waiting, GPUs that are not free) ends the run and
 * names the time, the job, the policy and the rule.
 *
 * Everything in this header belongs to the engine and is valid during the call that hands it over, except
 * the trace, the cluster's shape and memory from the policy's arena, which live as long as the policy.
 */

#include "headroom/base.h"
#include "headroom/cluster.h"
#include "headroom/gpu_inventory.h"
#include "headroom/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Why a job that waits does not start: what holds it back from one instant to the next. */

/* Of several that hold at once, the one that would keep the job back if it came first in order; the queue's rules
   (order, reservation) only where it would fit. The last column is for sentences: "waited 20 min, ...". */
#define HR_WAIT_REASON_TABLE(X)                                                                                        \
  X(HR_WAIT_REASON_NONE, "", "not waiting")                                                                            \
  X(HR_WAIT_REASON_POLICY, "policy", "for a reason that the policy does not tell")                                     \
  X(HR_WAIT_REASON_CAPACITY, "capacity", "for free GPUs")                                                              \
  X(HR_WAIT_REASON_FRAGMENTS, "fragments", "for a place: enough GPUs were free, but scattered")                        \
  X(HR_WAIT_REASON_NODE_RESOURCES, "node-resources", "for CPU or memory of nodes that had free GPUs")                  \
  X(HR_WAIT_REASON_TOPOLOGY, "topology", "for a place near together")                                                  \
  X(HR_WAIT_REASON_ORDER, "order", "behind others in the queue that nobody may pass")                                  \
  X(HR_WAIT_REASON_RESERVATION, "reservation", "behind the reservations of others in the queue")                       \
  X(HR_WAIT_REASON_QUOTA, "quota", "for room in a quota")                                                              \
  X(HR_WAIT_REASON_PREEMPTION, "preemption", "for jobs that were told to leave")                                       \
  X(HR_WAIT_REASON_BOOTING, "booting", "for nodes that were booting")                                                  \
  X(HR_WAIT_REASON_MARKET, "market", "for the market rule to ask for nodes")                                           \
  X(HR_WAIT_REASON_TURN, "turn", "for a turn")

enum hr_wait_reason_kind {
#define HR_WAIT_REASON_NAME(name, text, words) name,
  HR_WAIT_REASON_TABLE(HR_WAIT_REASON_NAME)
#undef HR_WAIT_REASON_NAME
      HR_N_HOLDS
};
HR_API const char *hr_wait_reason_name(enum hr_wait_reason_kind reason);
HR_API const char *hr_wait_reason_words(enum hr_wait_reason_kind reason);

/* In the place of a quota's node: those of no node of their own, and all that there is. */
#define HR_QUOTA_FALLBACK (HR_NONE - 1)
#define HR_QUOTA_ROOT (HR_NONE - 2)

/* What holds a job back now. */
struct hr_wait_reason {
  enum hr_wait_reason_kind reason;
  hr_job behind;    /* of order, reservations and preemption: the job that it waits for; HR_NONE: not known */
  uint32_t quota;   /* of quotas: the place in hr_quota_spec's nodes of the tenant or cohort that is at its limit,
                       HR_QUOTA_FALLBACK or HR_QUOTA_ROOT; else HR_NONE */
  int64_t until_us; /* the start promised to `behind`, or when the turn or the patience ends; HR_NEVER_US: not known */
  uint64_t free_milli;  /* the most free GPUs of a pool that it accepts, in thousandths */
  uint64_t asked_milli; /* that it asks for */
};

struct hr_view;
/* Asks the policy why a waiting job does not start, in the state that a pass has left: to be asked by a fold, after a
   pass (on_instant), and by nobody else. Where the policy does not say, the engine tells want of room (hr_view_lacks),
   and HR_WAIT_REASON_POLICY for all else. HR_WAIT_REASON_NONE for a job that does not wait. Changes nothing. */
HR_API void hr_view_wait_reason(const struct hr_view *view, hr_job job, struct hr_wait_reason *hold);
/* What the policy does and promises: HR_POLICY_PREEMPTS and its like, as it told them. Likewise. */
HR_API uint32_t hr_view_abilities(const struct hr_view *view);

/* For policies that explain themselves. Whether no place is left for the job, whatever the placement rule, and then
   why: capacity, booting nodes that would do, or fragments. Costs a few bit scans for each pool; where GPUs are told
   apart a look at each node, for one task of the job. */
HR_API bool hr_view_lacks(const struct hr_view *view, hr_job job, struct hr_wait_reason *hold);
/* Why a job finds no place that is known to find none; likewise, without looking at nodes. */
HR_API void hr_view_lack(const struct hr_view *view, hr_job job, struct hr_wait_reason *hold);

#define HR_POLICY_ABI 3u

/* What happens to a job or to capacity. The order is the order in which things at one instant are applied: all that
   frees capacity or takes it away comes before all that asks for it; moves come last. The last column is the event's
   number in digests, which never changes. */
#define HR_EVENT_TABLE(X)                                                                                              \
  X(HR_EVENT_END, "end", 0)             /* a job's work is done */                                                     \
  X(HR_EVENT_SAVED, "saved", 5)         /* a job's work so far is safe in a checkpoint */                              \
  X(HR_EVENT_INTERRUPT, "interrupt", 6) /* a running job loses its place and waits again */                            \
  X(HR_EVENT_NODE_DOWN, "node-down", 7) /* a node is gone; its jobs were interrupted before */                         \
  X(HR_EVENT_NOTICE, "notice", 8)       /* a node will be gone soon; nothing more starts on it */                      \
  X(HR_EVENT_OFFER, "offer", 9)         /* more or fewer nodes of a pool can be had than before */                     \
  X(HR_EVENT_NODE_UP, "node-up", 10)    /* a node that was asked for is there */                                       \
  X(HR_EVENT_SUBMIT, "submit", 1)       /* a job arrives and waits */                                                  \
  X(HR_EVENT_TIMER, "timer", 2)         /* a time that the policy asked to be woken at */                              \
  X(HR_EVENT_START, "start", 3)         /* a move: the job runs now */                                                 \
  X(HR_EVENT_REJECT, "reject", 4)       /* the job will never run */                                                   \
  X(HR_EVENT_PREEMPT, "preempt", 11)    /* a move: the job stops, its work kept, and waits again */                    \
  X(HR_EVENT_ACQUIRE, "acquire", 12)    /* a move: a node is asked for, and paid for from now on */                    \
  X(HR_EVENT_RELEASE, "release", 13)    /* a move: a node is given back */

enum hr_event_kind {
#define HR_EVENT_NAME(name, text, code) name,
  HR_EVENT_TABLE(HR_EVENT_NAME)
#undef HR_EVENT_NAME
};

/* Why a job was started, rejected or stopped, or why a node is gone. */
#define HR_REASON_TABLE(X)                                                                                             \
  X(HR_REASON_NONE, "")                                                                                                \
  X(HR_REASON_IN_ORDER, "in-order")               /* its turn, and it fits */                                          \
  X(HR_REASON_BACKFILL, "backfill")               /* ahead of a job that is before it in order */                      \
  X(HR_REASON_TOO_LARGE, "too-large")             /* more GPUs than any acceptable pool has */                         \
  X(HR_REASON_NO_GPU_TYPE, "no-such-gpu-type")    /* no pool has an acceptable GPU type */                             \
  X(HR_REASON_SPOT_ONLY, "only-spot")             /* only spot capacity is acceptable, and the job may not go there */ \
  X(HR_REASON_POLICY, "policy")                   /* the policy refuses it, or stops it */                             \
  X(HR_REASON_RECLAIMED, "reclaimed")             /* the market took the node */                                       \
  X(HR_REASON_SAVED, "saved")                     /* the job left a node that is to be reclaimed, its work saved */    \
  X(HR_REASON_RESERVATION_END, "reservation-end") /* the time that the node was reserved for is over */                \
  X(HR_REASON_NO_REGION, "no-such-region")        /* no pool with an acceptable GPU type is in an acceptable region */ \
  X(HR_REASON_PREEMPTED, "preempted")             /* the policy stopped it for another job */                          \
  X(HR_REASON_KILLED, "killed")                   /* likewise, for good */                                             \
  X(HR_REASON_NO_CLASS_POOL, "no-pool-for-class") /* such pools are for jobs of other classes */                       \
  X(HR_REASON_OVER_QUOTA, "over-quota")           /* more GPUs than its tenant may ever use */                         \
  X(HR_REASON_GPU_MEMORY, "gpu-memory")           /* more memory of a GPU than such GPUs have */                       \
  X(HR_REASON_NODE_TOO_SMALL, "node-too-small")   /* a task asks for more than any acceptable node has */              \
  X(HR_REASON_MIG_PROFILE,                                                                                             \
    "no-such-mig-profile")               /* no acceptable pool's GPUs are split into instances that will do */         \
  X(HR_REASON_NO_GROUP, "no-such-group") /* no acceptable rack, or whatever it must be within, is so large */

enum hr_reason {
#define HR_REASON_NAME(name, text) name,
  HR_REASON_TABLE(HR_REASON_NAME)
#undef HR_REASON_NAME
};
HR_API const char *hr_event_name(enum hr_event_kind kind);
HR_API const char *hr_reason_name(enum hr_reason reason);
/* Why a job was rejected, as the end of a sentence: "no pool has a GPU type they accept". */
HR_API const char *hr_rejection_words(enum hr_reason reason);

enum hr_job_state {
  HR_JOB_FUTURE, /* not submitted yet; 0, which one that is over may read as where the run is streamed */
  HR_JOB_WAITING,
  HR_JOB_RUNNING,
  HR_JOB_COMPLETED,
  HR_JOB_REJECTED
};

/* Where a job sits: slices on nodes of one pool, or, with no slice, only a count of the pool's GPUs. Where GPUs are
   told apart (hr_cluster_gpu_inventory), there is one slice for each of its tasks. */
struct hr_placement {
  hr_pool pool;
  uint32_t n_slices;
  const struct hr_slice *slices;
};

/* The thousandths of GPUs that a job has at a placement; without slices, all that it asks for. */
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
  hr_job job;                           /* HR_NONE for what happens to no job */
  const struct hr_placement *placement; /* of what starts, ends or stops a job, else NULL */
  hr_pool pool;                         /* of offers and of what happens to a node, else HR_NONE */
  hr_node node;                         /* of what happens to a node, else HR_NONE */
};

/* ---- Free capacity ---------------------------------------------------------------------------------- */

/* The nodes of a pool by free whole GPUs: for each count 0..gpus_per_node the set of nodes with exactly that
   many free, and the set of counts that some node has. Every query costs a few bit scans, whatever the number
   of nodes. Nodes are numbered within the pool from 0. The engine keeps one per pool; a policy may make its own
   to ask about another state than the present one. */
struct hr_free_index;
/* All nodes wholly free; NULL when out of memory. */
HR_API struct hr_free_index *hr_free_index_create(struct hr_arena *arena, uint32_t n_nodes, uint32_t gpus_per_node);
HR_API void hr_free_index_set(struct hr_free_index *index, uint32_t node, uint32_t gpus);
HR_API uint32_t hr_free_index_nodes(const struct hr_free_index *index);
HR_API uint32_t hr_free_index_gpus_per_node(const struct hr_free_index *index);
/* Free whole GPUs of a node. */
HR_API uint32_t hr_free_index_get(const struct hr_free_index *index, uint32_t node);
/* The lowest count >= `gpus` that some node has free, HR_NONE if none has. */
HR_API uint32_t hr_free_index_lowest(const struct hr_free_index *index, uint32_t gpus);
/* The highest count that some node has free. */
HR_API uint32_t hr_free_index_highest(const struct hr_free_index *index);
/* The lowest node >= `from` with exactly `gpus` free, HR_NONE if there is none. */
HR_API uint32_t hr_free_index_node(const struct hr_free_index *index, uint32_t gpus, uint32_t from);
/* How many nodes have exactly `gpus` free. */
HR_API uint32_t hr_free_index_count(const struct hr_free_index *index, uint32_t gpus);

/* Groups of neighbouring nodes, the last one with what is left. The engine keeps those that jobs ask to be within
   (hr_cluster_locality), of racks and zones that are smaller than their pool. */
struct hr_group_index;
/* Those of so many nodes; NULL: nobody keeps them. */
HR_API const struct hr_group_index *hr_free_index_groups(const struct hr_free_index *index, uint32_t nodes_per_group);
/* Of the groups that a gang fits, on wholly free nodes and with its rest on one more, the one that has the least room:
   the lowest number among equals, HR_NONE if it fits none. Costs a few bit scans. */
HR_API uint32_t hr_group_index_tightest(const struct hr_group_index *groups, uint32_t gpus);

struct hr_cluster;
/* As it is without jobs. */
HR_API const struct hr_cluster_spec *hr_cluster_spec_of(const struct hr_cluster *cluster);
/* What is free GPU by GPU, where some pool shares its GPUs or parts those of its nodes, or the cluster says so; NULL
   where GPUs are not told apart. */
HR_API const struct hr_gpu_inventory *hr_cluster_gpu_inventory(const struct hr_cluster *cluster);
/* Likewise: what jobs ask for. */
HR_API const struct hr_requests *hr_cluster_requests(const struct hr_cluster *cluster);
/* Thousandths of GPUs that a job asks for: of whole ones where GPUs are not told apart. */
HR_API uint64_t hr_cluster_asked_milli(const struct hr_cluster *cluster, hr_job job);
HR_API uint32_t hr_cluster_pools(const struct hr_cluster *cluster);
HR_API const struct hr_pool_spec *hr_cluster_pool_spec(const struct hr_cluster *cluster, hr_pool pool);
/* The id of the pool's first node; its nodes follow without a gap. */
HR_API hr_node hr_cluster_first_node(const struct hr_cluster *cluster, hr_pool pool);
HR_API uint64_t hr_cluster_total_milli(const struct hr_cluster *cluster, hr_pool pool);
HR_API uint64_t hr_cluster_free_milli(const struct hr_cluster *cluster, hr_pool pool);
HR_API const struct hr_free_index *hr_cluster_free_index(const struct hr_cluster *cluster, hr_pool pool);
/* A number for the set of pools that a job accepts: jobs with the same number accept the same pools. */
HR_API uint32_t hr_cluster_accept_class(const struct hr_cluster *cluster, hr_job job);
HR_API bool hr_cluster_accepts(const struct hr_cluster *cluster, uint32_t accept_class, hr_pool pool);
/* The narrowest tier that holds all of a placement: what is in one group of it. One without slices is in its pool.
   Costs a look at each slice. */
HR_API enum hr_tier hr_cluster_span(const struct hr_cluster *cluster, const struct hr_placement *placement);
/* The links that join it, of that tier. */
HR_API enum hr_network hr_cluster_links(const struct hr_cluster *cluster, const struct hr_placement *placement);

/* How near together a job is to be: its placement spans this tier or a narrower one, until a time on the run's clock;
   from then on that is only preferred. HR_TIER_ANY: it may be anywhere. HR_NEVER_US: it must not be elsewhere at any
   time. */
struct hr_locality {
  enum hr_tier tier;
  int64_t until_us;
};
HR_API struct hr_locality hr_cluster_locality(const struct hr_cluster *cluster, hr_job job);
/* Whether a job of the trace asks for it. Only policies that say HR_POLICY_KEEPS_WITHIN are run then; a start that
   breaks it is refused. */
HR_API bool hr_cluster_any_within(const struct hr_cluster *cluster);

/* ---- Markets ---------------------------------------------------------------------------------------- */

/* Nodes of elastic pools (on-demand, spot) are off until they are asked for, then boot, then are up; a node that has
   notice is closing. The nodes of other pools are up while the pool exists. */
enum hr_node_state { HR_NODE_UP, HR_NODE_OFF, HR_NODE_BOOTING, HR_NODE_CLOSING };
/* Whether there is a pool whose nodes come and go. */
HR_API bool hr_cluster_changes(const struct hr_cluster *cluster);
HR_API enum hr_node_state hr_cluster_node_state(const struct hr_cluster *cluster, hr_node node);
/* When the node was asked for; 0 for one that was always there. */
HR_API int64_t hr_cluster_node_since_us(const struct hr_cluster *cluster, hr_node node);
/* Nodes of a pool in a state. */
HR_API uint32_t hr_cluster_nodes_in(const struct hr_cluster *cluster, hr_pool pool, enum hr_node_state state);
/* How many more nodes of the pool can be asked for now. */
HR_API uint32_t hr_cluster_offer(const struct hr_cluster *cluster, hr_pool pool);
/* How often a node of the pool is reclaimed, per hour that it is up, as its market's model or record has it. */
HR_API double hr_cluster_reclaims_per_h(const struct hr_cluster *cluster, hr_pool pool);
/* The price of a GPU-hour of the pool now, in micro-dollars. */
HR_API int64_t hr_cluster_price_uusd_h(const struct hr_cluster *cluster, hr_pool pool, int64_t now_us);

/* ---- View and plan ---------------------------------------------------------------------------------- */

struct hr_job_accounting; /* headroom/sim.h */
/* What its columns say of a job that is over is lost where the run is streamed, as with hr_arena_alloc_by_job. */
struct hr_view {
  uint32_t size; /* of this struct; it only grows at its end */
  uint32_t n_waiting, n_running;
  int64_t now_us;
  const struct hr_trace *jobs;
  const struct hr_cluster *cluster;
  const uint8_t *state;                  /* enum hr_job_state, by job */
  const int64_t *start_us;               /* by job; HR_NEVER_US until it starts */
  uint64_t allocated_milli, total_milli; /* GPUs of the whole cluster; in total: of the nodes that are up */
  const int64_t *attempt_us;             /* by job; when its present or last attempt began */
  const int64_t *kept_us;                /* by job; work that an interruption would not lose; NULL: nothing is kept */
  const struct hr_job_accounting *accounting; /* by job, as booked so far; NULL where no job could be interrupted */
};

/* Work that a job has done so far, saved or not; as the run ends by its own clock, what it does not count is time that
   it restarts or saves. */
HR_API int64_t hr_view_done_us(const struct hr_view *view, hr_job job);

/* Where a running job sits; `one` is where a single slice is written. Valid until the next move. */
HR_API struct hr_placement hr_view_placement(const struct hr_view *view, hr_job job, struct hr_slice *one);

/* How fast the job works in the pool, in millionths: the work that it does in a second there, which has a recorded run
   time of as many microseconds. 0: it cannot run there. 1,000,000 wherever the run has no speeds. */
HR_API uint32_t hr_view_speed_ppm(const struct hr_view *view, hr_job job, hr_pool pool);

struct hr_moves;
/* Starts a waiting job now. The placement is copied. */
HR_API enum hr_status hr_moves_start(struct hr_moves *plan, hr_job job, const struct hr_placement *placement,
                                     enum hr_reason reason);
/* Gives a waiting job up for good. */
HR_API enum hr_status hr_moves_reject(struct hr_moves *plan, hr_job job, enum hr_reason reason);
/* Asks for a pass at a later time even if nothing happens then. */
HR_API enum hr_status hr_moves_wake_at(struct hr_moves *plan, int64_t at_us);
/* Stops a running job, which waits again with its work kept; what it takes to save and load it is its class's restart
   time. Its capacity is free at once. */
HR_API enum hr_status hr_moves_preempt(struct hr_moves *plan, hr_job job, enum hr_reason reason);
/* Likewise, but as if its nodes had been reclaimed without notice: what is not safe in a checkpoint is lost. */
HR_API enum hr_status hr_moves_requeue(struct hr_moves *plan, hr_job job, enum hr_reason reason);
/* Tells a running job that it will be stopped at `at_us`, and then waits again: with all its work if it `keeps` it,
   else as after a reclaim with notice, for which it may save and leave sooner. An HR_EVENT_INTERRUPT comes of it,
   unless it ends before. */
HR_API enum hr_status hr_moves_notice(struct hr_moves *plan, hr_job job, int64_t at_us, bool keeps);
/* Asks for `nodes` more nodes of an elastic pool, at most hr_cluster_offer. Those that boot in no time are up at once.
 */
HR_API enum hr_status hr_moves_acquire(struct hr_moves *plan, hr_pool pool, uint32_t nodes);
/* Gives a node of an elastic pool back that is booting, or up without a job. */
HR_API enum hr_status hr_moves_release(struct hr_moves *plan, hr_node node);
/* Moves made since the mark are undone, last first, as if they had not been made. */
HR_API uint32_t hr_moves_mark(const struct hr_moves *plan);
HR_API void hr_moves_rollback(struct hr_moves *plan, uint32_t mark);

/* ---- The policy itself ------------------------------------------------------------------------------ */

enum hr_param_type { HR_PARAM_CHOICE, HR_PARAM_INTEGER, HR_PARAM_REAL, HR_PARAM_BOOLEAN };

struct hr_param {
  const char *key;
  enum hr_param_type type;
  const char *fallback;       /* the default, as text */
  double min, max;            /* of numbers, both ends allowed */
  const char *const *choices; /* of a choice, NULL-terminated */
  const char *help;
  bool aside; /* of a special case: a table for a person tells it only where it is not at its default */
};

/* A parameter's value, in the place of its hr_param in the policy's table. */
struct hr_param_value {
  int64_t integer; /* also a boolean, and a choice's index */
  double real;
};

struct hr_policy_env {
  uint32_t size; /* of this struct; it only grows at its end */
  struct hr_arena *arena;
  const struct hr_trace *jobs;
  const struct hr_cluster *cluster;
  const struct hr_param_value *params; /* one for each entry of the policy's table */
  uint64_t seed;
  const struct hr_class_spec *classes; /* [HR_N_CLASSES]; NULL: nothing is said of any */
  const struct hr_quota_spec *quotas;  /* NULL where the scenario has none */
};

enum {
  HR_POLICY_PREEMPTS = 1,
  HR_POLICY_MANAGES_CAPACITY = 2,
  HR_POLICY_STARVES_NOBODY = 4, /* a promise: no job that fits the cluster waits for ever while others come and go */
  HR_POLICY_KEEPS_WITHIN = 8,   /* it looks at how near together jobs are to be */
  /* Of `explain`. Jobs that ask for the same (the same GPUs, request, pools and tier to be within) are held back for
     the same reason at any time; unless of different tenants; unless each may have a reason of its own. */
  HR_POLICY_HOLDS_BY_TENANT = 16,
  HR_POLICY_HOLDS_BY_JOB = 32
};

struct hr_policy_ops {
  uint32_t abi;  /* HR_POLICY_ABI */
  uint32_t size; /* sizeof (struct hr_policy_ops); it only grows at its end, and what is beyond a policy's is NULL */
  const char *name, *summary;
  const struct hr_param *params; /* ended by a NULL key; may be NULL */
  /* Makes one policy for one run. */
  enum hr_status (*create)(const struct hr_policy_env *env, void **self, struct hr_error *error);
  /* Frees what `create` made outside the arena; may be NULL. */
  void (*destroy)(void *self);
  /* Told of each event, the policy's own moves not included; may be NULL. */
  enum hr_status (*observe)(void *self, const struct hr_view *view, const struct hr_event *event);
  /* Once per instant, after all events of that instant. */
  enum hr_status (*decide)(void *self, const struct hr_view *view, struct hr_moves *plan);
  /* What this policy will do beyond starting and rejecting jobs (HR_POLICY_PREEMPTS, HR_POLICY_MANAGES_CAPACITY,
     HR_POLICY_KEEPS_WITHIN), and what it promises (HR_POLICY_STARVES_NOBODY). Asked once, after `create`; NULL: nothing
     of it. Who does not manage capacity gets all nodes that can be had, as soon as they can be had. */
  uint32_t (*abilities)(void *self);
  /* Why a waiting job does not start, asked after a pass in the state that it left: sets the reason of `hold`, and who
     is before the job, which quota, or until when, if it can tell. HR_WAIT_REASON_POLICY, free and asked GPUs are set
     before. It must not change what will be decided. NULL: it does not say. */
  void (*explain)(void *self, const struct hr_view *view, hr_job job, struct hr_wait_reason *hold);
};

/*
 * Defines the one policy of a file: HR_POLICY(name) = {HR_POLICY_HEAD, .name = ..., ...}; compiled as a shared object
 * it is what Headroom finds in it; compiled with HR_POLICY_BUILT_IN it is the object hr__policy_NAME.
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
