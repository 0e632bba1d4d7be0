/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_POLICY_H
#define HEADROOM_POLICY_H

/*
 * The interface between a scheduling policy and the engine.
 *
 * The engine notifies a policy of events (`observe`) and asks it for decisions after the events of each instant
 * (`decide`). One call of `decide` is a pass. The policy reads the state of the run in a struct hr_view, and makes its
 * moves with the functions hr_moves_*; it never writes to the engine's memory. Each move is checked when it is made. A
 * move that breaks a rule, such as the start of a job that does not wait, ends the run with HR_BAD_POLICY; the error
 * names the time, job, policy and rule.
 *
 * Life cycle: The engine calls `create` once per run, then `observe` for each event and `decide` after the events of
 * each instant, and finally `destroy`. Pointers that the engine passes to a call are valid during that call. The trace,
 * the description of the cluster and memory from the policy's arena are valid until `destroy`.
 *
 * This header also declares what observers (headroom/sim.h) may read: the reasons for which jobs wait.
 */

#include "headroom/base.h"
#include "headroom/cluster.h"
#include "headroom/gpu_inventory.h"
#include "headroom/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Reasons for waiting ---- */

/* Why a job waits between two instants. If several reasons apply, the reported reason is the one that would remain if
   the job were first in the queue. HR_WAIT_REASON_ORDER and HR_WAIT_REASON_RESERVATION are therefore reported only if
   the job fits on the free GPUs. The columns: enumerator, name in files, text that follows "waited 20 min" in a
   sentence. */
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
  X(HR_WAIT_REASON_TURN, "turn", "for a turn")                                                                         \
  X(HR_WAIT_REASON_REPAIR, "repair", "for nodes that were out of order")                                               \
  X(HR_WAIT_REASON_MAINTENANCE, "maintenance", "for the end of a maintenance of nodes")                                \
  X(HR_WAIT_REASON_CARBON, "carbon", "for electricity with less carbon")                                               \
  X(HR_WAIT_REASON_EXCLUDED, "excluded", "for nodes other than those that failed under it")                            \
  X(HR_WAIT_REASON_POWER, "power", "for the power budget of the cluster")                                              \
  X(HR_WAIT_REASON_SCALE_UP, "scale-up", "for the autoscaler to request nodes")                                        \
  X(HR_WAIT_REASON_PROVIDER, "provider", "for the provider to give nodes")                                             \
  X(HR_WAIT_REASON_DATA, "data", "for nodes near its data")

enum hr_wait_reason_kind {
#define HR_WAIT_REASON_NAME(name, text, words) name,
  HR_WAIT_REASON_TABLE(HR_WAIT_REASON_NAME)
#undef HR_WAIT_REASON_NAME
      HR_N_WAIT_REASONS
};

/* hr_wait_reason_name returns the name of a reason in files, such as "capacity". hr_wait_reason_words returns the text
   in the last column of the table above. */
HR_API const char *hr_wait_reason_name(enum hr_wait_reason_kind reason);
HR_API const char *hr_wait_reason_words(enum hr_wait_reason_kind reason);

/* Values of the member `quota` of struct hr_wait_reason that are not indices of quota nodes. HR_QUOTA_FALLBACK:
   `fallback` of hr_quota_spec. HR_QUOTA_ROOT: the root of the quota tree, that is the whole cluster. */
#define HR_QUOTA_FALLBACK (HR_NONE - 1)
#define HR_QUOTA_ROOT (HR_NONE - 2)

/* The present reason for which a job waits. */
struct hr_wait_reason {
  enum hr_wait_reason_kind reason;
  /* for the reasons order, reservation and preemption: the job that must start or leave first; HR_NONE: unknown */
  hr_job behind;
  /* for the reason quota: the tenant or cohort that has reached its limit, as an index into the nodes of hr_quota_spec,
     HR_QUOTA_FALLBACK or HR_QUOTA_ROOT. For the reason maintenance: pool.id * HR_MAINTENANCE_WINDOWS + index of the
     maintenance of the pool (headroom/unstable/faults.h). For other reasons: HR_NONE */
  uint32_t quota;
  /* the time at which the reason is expected to end, such as the planned start of `behind`, the end of the present
     turn, or the end of the requirement on locality; HR_NEVER_US: unknown */
  int64_t until_us;
  uint64_t free_milli;  /* free milli-GPUs of the acceptable pool that has the most */
  uint64_t asked_milli; /* milli-GPUs that the job requests */
};

struct hr_view;
/* Sets `*wait` to the reason for which a job waits. First, the engine calls `explain` of the policy. If the policy has
   no such function, or reports HR_WAIT_REASON_POLICY, the engine checks whether the job fits into the free capacity. If
   the job does not fit, hr_view_lack determines the reason. If it fits, the reason remains HR_WAIT_REASON_POLICY, which
   means that the reason is unknown. HR_WAIT_REASON_NONE means that the job does not wait. Only observers may call this
   function, and only in on_instant. The call does not affect the run. */
HR_API void hr_view_wait_reason(const struct hr_view *view, hr_job job, struct hr_wait_reason *wait);
/* Writes the reason in the words of the scheduler that the policy models. Writes "" if the policy models no scheduler
   or the job does not wait. Only observers may call this function, and only in on_instant. */
enum { HR_WAIT_DESCRIPTION_BYTES = 400 };
HR_API void hr_view_wait_description(const struct hr_view *view, hr_job job, char text[HR_WAIT_DESCRIPTION_BYTES]);
/* Returns the abilities that the policy declared, a set of HR_POLICY_PREEMPTS and others. Only observers may call this
   function. */
HR_API uint32_t hr_view_abilities(const struct hr_view *view);

/* Sets the reason in `*wait` for a job that has no placement now. For use in the `explain` functions of policies. The
   function compares only numbers of GPUs: `free_milli` and `asked_milli` of `*wait`, which the engine sets before
   `explain`, and the GPUs of nodes that are not up. It does not check that the job has no placement. Each reason has a
   condition. The function sets the first reason of this list whose condition is true for an acceptable pool:
     HR_WAIT_REASON_BOOTING      (free GPUs + GPUs of booting nodes) suffice for the job
     HR_WAIT_REASON_PROVIDER     (free GPUs + GPUs of booting nodes + GPUs of requested nodes that the provider has not
                                 delivered) suffice for the job
     HR_WAIT_REASON_SCALE_UP     the autoscaler may add nodes for the job
     HR_WAIT_REASON_FRAGMENTS    the free GPUs suffice for the job
     HR_WAIT_REASON_MAINTENANCE  (free GPUs + GPUs of nodes in maintenance) suffice for the job; `quota` is set, too
     HR_WAIT_REASON_REPAIR       (free GPUs + GPUs of failed nodes) suffice for the job
     HR_WAIT_REASON_POWER        (free GPUs + GPUs of nodes that the power budget keeps closed) suffice for the job
     HR_WAIT_REASON_CAPACITY     always
   Exception: if one pool has the condition of REPAIR and another pool has that of POWER, the last of these pools
   determines the reason. */
HR_API void hr_view_lack(const struct hr_view *view, hr_job job, struct hr_wait_reason *wait);

/* The version of this interface. Headroom refuses policies that were compiled for another version. */
#define HR_POLICY_ABI 4u

/* The events of jobs and capacity. At one instant, events that release or remove capacity are handled first, then
   events that add capacity, then submissions, then timers. The policy's moves, which also cause events, are last. The
   columns: enumerator, name in files, code in digests. A code never changes. */
#define HR_EVENT_TABLE(X)                                                                                              \
  X(HR_EVENT_END, "end", 0)             /* a job completed its work */                                                 \
  X(HR_EVENT_SAVED, "saved", 5)         /* a running job completed a checkpoint; see `kept_us` of struct hr_view */    \
  X(HR_EVENT_INTERRUPT, "interrupt", 6) /* a running job was stopped and waits again */                                \
  X(HR_EVENT_NODE_DOWN, "node-down", 7) /* a node went down; its jobs were interrupted before */                       \
  X(HR_EVENT_NOTICE, "notice", 8)       /* a node was closed: no job may start on it; usually it will go down */       \
  X(HR_EVENT_OFFER, "offer", 9)         /* the number of nodes that can be requested from a pool changed */            \
  X(HR_EVENT_NODE_UP, "node-up", 10)    /* jobs may start on a node: it has booted, was repaired, or opened again */   \
  X(HR_EVENT_SUBMIT, "submit", 1)       /* a job was submitted and waits */                                            \
  X(HR_EVENT_TIMER, "timer", 2)         /* a wake-up time that the policy or the engine requested */                   \
  X(HR_EVENT_START, "start", 3)         /* move: a job starts */                                                       \
  X(HR_EVENT_REJECT, "reject", 4)       /* move, or at submission: a job will never run */                             \
  X(HR_EVENT_PREEMPT, "preempt", 11)    /* move: a job was stopped and waits again */                                  \
  X(HR_EVENT_ACQUIRE, "acquire", 12)    /* a node begins to boot: it was delivered (billed from now on) or woken */    \
  X(HR_EVENT_RELEASE, "release", 13)    /* a node was released; it is not billed any more */                           \
  X(HR_EVENT_WITHDRAW, "withdraw", 14)  /* only for the policy: it should reject a waiting job (see below) */          \
  X(HR_EVENT_RESIZE, "resize", 15)      /* only for the policy: the engine changed the GPUs of a running job */

/* HR_EVENT_WITHDRAW: a waiting job must not run (any more), for example a replica of a service that is not needed, or a
   job that a failure has stopped and that must not be requeued. The policy removes the job from its data and, in the
   next pass, which is at the same instant, rejects it with HR_REASON_WITHDRAWN (hr_moves_reject). */

enum hr_event_kind {
#define HR_EVENT_NAME(name, text, code) name,
  HR_EVENT_TABLE(HR_EVENT_NAME)
#undef HR_EVENT_NAME
};

/* Why a job was started, rejected or stopped, or why a node was opened, closed or went down. The columns: enumerator,
   name in files. */
#define HR_REASON_TABLE(X)                                                                                             \
  X(HR_REASON_NONE, "")                                                                                                \
  X(HR_REASON_IN_ORDER, "in-order")            /* the job was first in order and fits */                               \
  X(HR_REASON_BACKFILL, "backfill")            /* the job started before a waiting job that precedes it */             \
  X(HR_REASON_TOO_LARGE, "too-large")          /* the job requests more GPUs than any pool that it accepts has */      \
  X(HR_REASON_NO_GPU_TYPE, "no-such-gpu-type") /* no pool has a GPU type that the job accepts */                       \
  X(HR_REASON_SPOT_ONLY, "only-spot") /* only spot pools are suitable, but the job or the policy does not use them */  \
  X(HR_REASON_POLICY, "policy")       /* decided by the policy */                                                      \
  X(HR_REASON_RECLAIMED, "reclaimed") /* the provider reclaimed the node */                                            \
  X(HR_REASON_SAVED, "saved")         /* the job wrote a checkpoint and left its node before the end of a notice */    \
  X(HR_REASON_RESERVATION_END, "reservation-end") /* the reservation of the node ended */                              \
  X(HR_REASON_NO_REGION, "no-such-region")        /* no acceptable pool is in a region that the job accepts */         \
  X(HR_REASON_PREEMPTED, "preempted")             /* stopped for another job */                                        \
  X(HR_REASON_KILLED, "killed")                   /* stopped for another job; the job does not run again */            \
  X(HR_REASON_NO_CLASS_POOL, "no-pool-for-class") /* all acceptable pools serve other job classes only */              \
  X(HR_REASON_OVER_QUOTA, "over-quota")           /* the job requests more GPUs than its tenant may ever use */        \
  X(HR_REASON_GPU_MEMORY, "gpu-memory")           /* the job requests more GPU memory than acceptable GPUs have */     \
  X(HR_REASON_NODE_TOO_SMALL, "node-too-small")   /* a task requests more than any acceptable node has */              \
  X(HR_REASON_MIG_PROFILE, "no-such-mig-profile") /* no acceptable pool has suitable MIG instances */                  \
  X(HR_REASON_NO_GROUP, "no-such-group")          /* no acceptable group of the required tier is large enough */       \
  X(HR_REASON_ONLY_MIG, "only-mig")               /* only MIG pools are acceptable, and the job names no profile */    \
  X(HR_REASON_NO_QUEUE, "no-such-queue")          /* the job's queue does not exist, or admits no jobs */              \
  X(HR_REASON_WITHDRAWN, "withdrawn")             /* the job must not run any more (HR_EVENT_WITHDRAW) */              \
  X(HR_REASON_FAILED, "failed")                   /* the node failed */                                                \
  X(HR_REASON_REPAIRED, "repaired")               /* the node was repaired */                                          \
  X(HR_REASON_MAINTENANCE, "maintenance")         /* the node begins or ends its maintenance */                        \
  X(HR_REASON_REQUEUES, "requeue-limit")          /* the job was stopped by a failure and must not run again */        \
  X(HR_REASON_RESIZED, "resized")                 /* the job continues with a different number of GPUs */              \
  X(HR_REASON_ASLEEP, "asleep")                   /* the node was idle and sleeps */                                   \
  X(HR_REASON_AWAKE, "awake")                     /* the node has been woken */                                        \
  X(HR_REASON_POWER_BUDGET, "power-budget")       /* the power budget closes or opens the node */                      \
  X(HR_REASON_SCALED_DOWN, "scaled-down")         /* the autoscaler removed the node */                                \
  X(HR_REASON_NOT_PROVISIONED, "not-provisioned") /* the autoscaler removed the node, which did not boot in time */

enum hr_reason {
#define HR_REASON_NAME(name, text) name,
  HR_REASON_TABLE(HR_REASON_NAME)
#undef HR_REASON_NAME
};

/* hr_event_name and hr_reason_name return the name of an event or a reason in files; "" for HR_REASON_NONE. */
HR_API const char *hr_event_name(enum hr_event_kind kind);
HR_API const char *hr_reason_name(enum hr_reason reason);
/* Returns why a job was rejected, as a part of a sentence: "no pool has an acceptable GPU type". */
HR_API const char *hr_rejection_words(enum hr_reason reason);

/* The states of a job. */
enum hr_job_state {
  /* not submitted yet; the value is 0 because finished jobs of a streamed run may read as this state */
  HR_JOB_FUTURE,
  HR_JOB_WAITING,
  HR_JOB_RUNNING,
  HR_JOB_COMPLETED,
  HR_JOB_REJECTED
};

/* The nodes and GPUs of a job: slices on nodes of one pool. In per-GPU allocation (hr_cluster_gpu_inventory) there is
   one slice per task, in counted allocation one slice per node. In counted allocation a placement may also have no
   slices: the job then has GPUs of the pool, but no specific nodes. The owner of the placement owns the slices. */
struct hr_placement {
  hr_pool pool;
  uint32_t n_slices;
  const struct hr_slice *slices;
};

/* Returns the milli-GPUs of a job at a placement: the sum over its slices. Without slices, it is the number of GPUs
   that the job requests. */
static inline uint64_t hr_placement_milli(const struct hr_placement *placement, const struct hr_trace *trace,
                                          hr_job job) {
  uint64_t sum_milli = placement->n_slices ? 0 : (uint64_t)trace->gpus[job.id] * 1000;
  for (uint32_t i = 0; i < placement->n_slices; i++) sum_milli += placement->slices[i].gpu_milli;
  return sum_milli;
}

/* An event. The kind determines which members are set. Observers are notified of a resize by two events of one instant,
   PREEMPT and START, both with the reason HR_REASON_RESIZED. */
struct hr_event {
  int64_t at_us;
  enum hr_event_kind kind;
  enum hr_reason reason; /* reason of a move, an interruption, or a change of a node */
  hr_job job;            /* HR_NONE for events of nodes and pools, and for timers */
  /* set for START, END, INTERRUPT, PREEMPT, SAVED and RESIZE; otherwise NULL. For RESIZE it is the placement before the
     resize */
  const struct hr_placement *placement;
  hr_pool pool; /* set for OFFER and for events of nodes; otherwise HR_NONE */
  hr_node node; /* set for events of nodes; otherwise HR_NONE */
};

/* ---- Free capacity ---- */

/* The free index: the nodes of a pool, indexed by their number of free whole GPUs. For each number 0 .. gpus_per_node,
   the index has the set of nodes with this number of free GPUs. A query takes a few bit scans; its cost hardly depends
   on the number of nodes. Nodes are numbered within the pool from 0. The engine maintains one index per pool; a policy
   may create other indices, for example for planned states. */
struct hr_free_index;
/* Creates an index in the arena. At first, all GPUs of all nodes are free. Returns NULL if memory is exhausted. */
HR_API struct hr_free_index *hr_free_index_create(struct hr_arena *arena, uint32_t n_nodes, uint32_t gpus_per_node);
/* Sets the number of free GPUs of a node, at most gpus_per_node. */
HR_API void hr_free_index_set(struct hr_free_index *index, uint32_t node, uint32_t gpus);
/* hr_free_index_nodes returns the number of nodes of the index, hr_free_index_gpus_per_node the number of GPUs per
   node. */
HR_API uint32_t hr_free_index_nodes(const struct hr_free_index *index);
HR_API uint32_t hr_free_index_gpus_per_node(const struct hr_free_index *index);
/* Returns the number of free whole GPUs of a node. */
HR_API uint32_t hr_free_index_get(const struct hr_free_index *index, uint32_t node);
/* Among the nodes with at least `gpus` free GPUs, returns the minimum number of free GPUs; HR_NONE if no such node
   exists. */
HR_API uint32_t hr_free_index_lowest(const struct hr_free_index *index, uint32_t gpus);
/* Returns the maximum number of free GPUs over all nodes; HR_NONE if the index has no nodes. */
HR_API uint32_t hr_free_index_highest(const struct hr_free_index *index);
/* Returns the first node >= `from` with exactly `gpus` free GPUs; HR_NONE if no such node exists. */
HR_API uint32_t hr_free_index_node(const struct hr_free_index *index, uint32_t gpus, uint32_t from);
/* Returns the number of nodes with exactly `gpus` free GPUs. */
HR_API uint32_t hr_free_index_count(const struct hr_free_index *index, uint32_t gpus);

/* Returns the index of a group with room for a gang of `gpus` GPUs: the group with the least room that suffices; of
   equal groups, the first. Returns HR_NONE if no group has enough room, or if the index has no groups of this size. The
   nodes of the pool are divided into groups of `nodes_per_group` consecutive nodes; the last group may be smaller. The
   room of a group is the maximum size of a gang that fits: the GPUs of all its nodes without jobs, plus the free GPUs
   of one more node. Takes a few bit scans.

   If jobs of the trace require racks or zones (hr_cluster_locality), the indices of the engine have the groups of these
   tiers. This applies only in counted allocation, and only to groups that are smaller than the pool. */
HR_API uint32_t hr_free_index_group(const struct hr_free_index *index, uint32_t nodes_per_group, uint32_t gpus);

/* Adds groups of `nodes_per_group` consecutive nodes to an index, for hr_free_index_group. Later changes of the index
   update the groups. Returns false if memory is exhausted. No effect if the index has these groups already. */
HR_API bool hr_free_index_add_groups(struct hr_arena *arena, struct hr_free_index *index, uint32_t nodes_per_group);

/* The state of the cluster, which the functions below read. */
struct hr_cluster;
/* Returns the description of the cluster. */
HR_API const struct hr_cluster_spec *hr_cluster_spec_of(const struct hr_cluster *cluster);
/* Returns the state of each GPU in per-GPU allocation (hr_cluster_spec_by_gpu); NULL in counted allocation. */
HR_API const struct hr_gpu_inventory *hr_cluster_gpu_inventory(const struct hr_cluster *cluster);
/* Updates a policy's own inventory of the cluster after a node came up (HR_EVENT_NODE_UP), if the node has no tasks
   there. The GPUs of the node get the MIG layouts that they have in the engine: the initial ones, unless the node only
   opened again. If the node is not up yet, they get the initial layouts. */
HR_API void hr_cluster_copy_layouts(const struct hr_cluster *cluster, struct hr_gpu_inventory *inventory, hr_node node);
/* Returns the distinct requests of all jobs in per-GPU allocation; NULL in counted allocation. */
HR_API const struct hr_requests *hr_cluster_requests(const struct hr_cluster *cluster);
/* Returns the milli-GPUs that a job requests; a multiple of 1000 in counted allocation. */
HR_API uint64_t hr_cluster_asked_milli(const struct hr_cluster *cluster, hr_job job);
/* The numbers of GPUs that an elastic job may have: the multiples of `step` from `min` to `max`. A job is resized by
   whole tasks, so `step` is the number of GPUs of a task. Exception: in counted allocation, `step` is 1 for a job with
   one task. For a job that is not elastic, `min` and `max` are the number of GPUs that it requests. */
struct hr_sizes {
  uint32_t min, max, step;
};
/* Returns the sizes of a job, from its fields `min_gpus` and `max_gpus`. Only a policy with the ability
   HR_POLICY_RESIZES may use sizes other than the requested one. */
HR_API struct hr_sizes hr_cluster_sizes(const struct hr_cluster *cluster, hr_job job);
/* Returns the number of pools. */
HR_API uint32_t hr_cluster_pools(const struct hr_cluster *cluster);
/* Returns the description of a pool. */
HR_API const struct hr_pool_spec *hr_cluster_pool_spec(const struct hr_cluster *cluster, hr_pool pool);
/* Returns the id of the first node of a pool. The ids of its other nodes follow without gaps. */
HR_API hr_node hr_cluster_first_node(const struct hr_cluster *cluster, hr_pool pool);
/* hr_cluster_total_milli returns the milli-GPUs of the nodes of the pool that are up or closing. hr_cluster_free_milli
   returns the free milli-GPUs of the nodes that are up, which are the nodes on which jobs may start. */
HR_API uint64_t hr_cluster_total_milli(const struct hr_cluster *cluster, hr_pool pool);
HR_API uint64_t hr_cluster_free_milli(const struct hr_cluster *cluster, hr_pool pool);
/* Returns the free index of the pool. In this index, nodes on which no job may start have no free GPUs. */
HR_API const struct hr_free_index *hr_cluster_free_index(const struct hr_cluster *cluster, hr_pool pool);
/* Returns the accept class of a job. Jobs of one accept class accept the same pools. */
HR_API uint32_t hr_cluster_accept_class(const struct hr_cluster *cluster, hr_job job);
/* Returns whether jobs of an accept class accept the pool. */
HR_API bool hr_cluster_accepts(const struct hr_cluster *cluster, uint32_t accept_class, hr_pool pool);
/* Returns the span of a placement: the narrowest tier such that one group of the tier contains all GPUs of the
   placement. HR_TIER_POOL for a placement without slices. In counted allocation, HR_TIER_ISLAND for a placement on one
   node, because its GPUs are unknown. Takes O(slices). */
HR_API enum hr_tier hr_cluster_span(const struct hr_cluster *cluster, const struct hr_placement *placement);
/* Returns the class of the network links that join the GPUs of a placement. This is the network of the span
   (hr_cluster_span) or, if the pool does not have this tier (hr_topology_has), of the next wider tier that the pool
   has. HR_NETWORK_NONE if the topology does not specify this network. */
HR_API enum hr_network hr_cluster_links(const struct hr_cluster *cluster, const struct hr_placement *placement);

/* A requirement on locality. If the job starts before `until_us`, all its GPUs must be within one group of `tier`. If
   it starts later, such a placement is only preferred. HR_TIER_ANY: no requirement. `until_us` HR_NEVER_US: the
   requirement never ends. */
struct hr_locality {
  enum hr_tier tier;
  int64_t until_us;
};

/* Returns the requirement of a job: that of the trace or, if the trace has none for the job, that of its class. Jobs
   that cannot extend over several groups, such as jobs with one GPU, have none. */
HR_API struct hr_locality hr_cluster_locality(const struct hr_cluster *cluster, hr_job job);
/* Returns whether any job of the trace has a requirement on locality. If so, the policy must declare
   HR_POLICY_KEEPS_WITHIN, and the engine refuses starts that break a requirement. */
HR_API bool hr_cluster_any_within(const struct hr_cluster *cluster);

/* ---- Markets ---- */

/* The states of a node. Jobs may start on a node only while it is up. A node of an elastic pool (on-demand, spot) is
   off until it is requested. Then it is HR_NODE_BOOTING, even before the provider has delivered it, and then it is up.
   A node of any other pool is normally up. It is off before and after its reservation, while it is a spare, while its
   failure is repaired, and while it is in maintenance or sleeps. A sleeping node that is woken is HR_NODE_BOOTING
   before it is up. HR_NODE_CLOSING: no job may start on the node, but jobs may still run there, for example after a
   notice or during a failure that is not detected yet. */
enum hr_node_state { HR_NODE_UP, HR_NODE_OFF, HR_NODE_BOOTING, HR_NODE_CLOSING };
/* Returns whether the state of any node can change. If not, all nodes are always up. */
HR_API bool hr_cluster_changes(const struct hr_cluster *cluster);
/* Returns the state of a node. */
HR_API enum hr_node_state hr_cluster_node_state(const struct hr_cluster *cluster, hr_node node);
/* Returns the time at which the node was last requested or woken; 0 if that never happened. With queued provisioning,
   returns the time at which the provider delivers the node, which may be in the future. */
HR_API int64_t hr_cluster_node_since_us(const struct hr_cluster *cluster, hr_node node);
/* Returns the number of nodes of the pool in a state. */
HR_API uint32_t hr_cluster_nodes_in(const struct hr_cluster *cluster, hr_pool pool, enum hr_node_state state);
/* Returns the number of nodes of the pool that can be requested now. */
HR_API uint32_t hr_cluster_offer(const struct hr_cluster *cluster, hr_pool pool);
/* Returns the mean number of reclaims of a node per hour in which the node is up. It is computed from the parameters of
   the spot model or, for HR_SPOT_TRACE, from the record. 0 for pools in other markets. */
HR_API double hr_cluster_reclaims_per_h(const struct hr_cluster *cluster, hr_pool pool);
/* Returns the price of a GPU-hour of the pool at `now_us`, in micro-dollars. */
HR_API int64_t hr_cluster_price_uusd_h(const struct hr_cluster *cluster, hr_pool pool, int64_t now_us);

/* ---- View and moves ---- */

struct hr_job_accounting; /* headroom/sim.h */
struct hr_energy;         /* headroom/power.h */
struct hr__accounts;
struct hr__job_energy;
/* The state that a policy reads. Columns have one entry per job. In a streamed run the entries of finished jobs may be
   lost, see hr_arena_alloc_by_job. */
struct hr_view {
  uint32_t size;                 /* size of this struct in bytes; later versions add members at the end only */
  uint32_t n_waiting, n_running; /* numbers of jobs */
  int64_t now_us;
  const struct hr_trace *jobs;
  const struct hr_cluster *cluster;
  const uint8_t *state;    /* enum hr_job_state */
  const int64_t *start_us; /* time of the first start; HR_NEVER_US: not started */
  /* milli-GPUs of the whole cluster: those of running jobs, and those of the nodes that are up or closing */
  uint64_t allocated_milli, total_milli;
  const int64_t *attempt_us; /* time at which the present or last attempt began; HR_NEVER_US: none */
  /* saved work, which an interruption does not lose, in microseconds of run time; NULL if nothing in the run can stop
     jobs */
  const int64_t *kept_us;
  const struct hr__accounts *accounts; /* see hr_view_accounting; NULL if nothing in the run can stop jobs */
  const struct hr__job_energy *energy; /* see hr_view_energy; NULL if no pool has a known power */
};

/* Returns the accounting of a job: times, work and GPU time of its attempts that have ended. Must not be called if
   `accounts` of the view is NULL. */
HR_API struct hr_job_accounting hr_view_accounting(const struct hr_view *view, hr_job job);
/* Returns the energy of all attempts of a job that have ended. Must not be called if `energy` of the view is NULL. */
HR_API struct hr_energy hr_view_energy(const struct hr_view *view, hr_job job);

/* Returns whether a node of an owned or reserved pool has failed and is not repaired. This includes failures that are
   not detected yet. */
HR_API bool hr_view_node_failed(const struct hr_view *view, hr_node node);

/* Returns the data set that a job of the trace reads (headroom/unstable/data.h), as an index; HR_NONE: none. */
HR_API uint32_t hr_view_data_set(const struct hr_view *view, hr_job job);
/* Returns whether jobs with `gpus` GPUs have the data set `set` near a node. If the pool has caches, this means that
   the cache of the node has the part of the set that such a job stores on each of its nodes. Without caches, it means
   that a storage system at the location of the pool has the set, so jobs need no link between locations to read it.
   During a pass, the function uses the contents of caches at the begin of the pass. The run must have data sets. */
HR_API bool hr_view_has_data(const struct hr_view *view, uint32_t set, uint32_t gpus, hr_pool pool, hr_node node);
/* Returns a number that changes whenever results of hr_view_has_data may have changed. */
HR_API uint64_t hr_view_data_changes(const struct hr_view *view);

/* The present power of all pools, and the carbon that pools with a known carbon intensity emit. Batteries affect only
   the carbon, which is computed from the power from the grid. */
struct hr_power_now {
  /* power without the facility and with the facility, in nanowatts; carbon in milligrams per hour */
  int64_t it_nw, site_nw, carbon_mg_h;
};
/* Sets `*now`. Returns false if no pool has a known power. */
HR_API bool hr_view_power(const struct hr_view *view, struct hr_power_now *now);

/* The present state of all batteries. */
struct hr_battery_now {
  int64_t grid_nw;  /* power that all pools take from the grid, in nanowatts, with the facility and batteries */
  hr_amount stored; /* energy in the batteries, in nanowatts * microseconds */
};
/* Sets `*now`. Returns false if no pool has a battery. */
HR_API bool hr_view_battery(const struct hr_view *view, struct hr_battery_now *now);

/* Returns the work that a job has completed, in microseconds of its recorded run time. It includes work that an
   interruption would lose, but not the time for restarts and checkpoints. */
HR_API int64_t hr_view_done_us(const struct hr_view *view, hr_job job);

/* Returns the placement of a running job. The placement is valid until the next move. `one`: memory of the caller, in
   which the slice is stored if the placement has exactly one slice. */
HR_API struct hr_placement hr_view_placement(const struct hr_view *view, hr_job job, struct hr_slice *one);

/* Returns the time in which a running job completes `work_us` microseconds of its recorded run time with its present
   number of GPUs. The speed of its pool is ignored. For a job with the number of GPUs that it requests, the result is
   `work_us`. */
HR_API int64_t hr_view_time_for_us(const struct hr_view *view, hr_job job, int64_t work_us);

/* Returns the speed of the job in the pool, in ppm: how many microseconds of its recorded run time it completes per
   second. 0: the job cannot run in the pool. In runs without speeds, all jobs have the speed 1,000,000. */
HR_API uint32_t hr_view_speed_ppm(const struct hr_view *view, hr_job job, hr_pool pool);

/* The time that a job needs in addition to its work. */
struct hr_job_overhead {
  /* restart_us: when the job starts again after a stop.
     interval_us: work between two checkpoints; HR_NEVER_US: the job writes no checkpoints at intervals.
     write_us: for each checkpoint; longer if several jobs write to a shared storage at the same time. */
  int64_t restart_us, interval_us, write_us;
};
/* Returns the overhead of a job in a pool. */
HR_API struct hr_job_overhead hr_view_overhead(const struct hr_view *view, hr_job job, hr_pool pool);

/* The moves of one pass. A move that breaks a rule returns HR_BAD_POLICY; a move for which memory is exhausted returns
   HR_NO_MEMORY. After either error the engine ends the run, even if `decide` returns HR_OK. */
struct hr_moves;
/* Starts a waiting job now. The placement and its slices are copied. */
HR_API enum hr_status hr_moves_start(struct hr_moves *moves, hr_job job, const struct hr_placement *placement,
                                     enum hr_reason reason);
/* Rejects a waiting job permanently. */
HR_API enum hr_status hr_moves_reject(struct hr_moves *moves, hr_job job, enum hr_reason reason);
/* Requests a pass at the time `at_us` in the future, even if no event happens then. */
HR_API enum hr_status hr_moves_wake_at(struct hr_moves *moves, int64_t at_us);
/* Stops a running job, which then waits again. All its work is kept, unless one of its nodes has failed. The
   restart overhead of its class includes the time to save and to load the work. The GPUs of the job are free
   immediately. Needs HR_POLICY_PREEMPTS. The job must not have been started or resized in this pass. */
HR_API enum hr_status hr_moves_preempt(struct hr_moves *moves, hr_job job, enum hr_reason reason);
/* Stops a running job as if its nodes were reclaimed without notice: work since its last checkpoint is lost. The job
   then waits again. Its GPUs are free immediately. Needs HR_POLICY_PREEMPTS. The job must not have been started or
   resized in this pass. */
HR_API enum hr_status hr_moves_requeue(struct hr_moves *moves, hr_job job, enum hr_reason reason);
/* Gives notice to a running job: at the time `at_us`, which is in the future, the job will be stopped and wait again.
   If `keeps` is true, all its work is kept. Otherwise the job may write a checkpoint and then stop before `at_us`, as
   it does if its node gets notice from the provider. When the job stops, HR_EVENT_INTERRUPT follows. If the job
   completes before, this event does not follow. Needs HR_POLICY_PREEMPTS. The job must not have been started or resized
   in this pass. */
HR_API enum hr_status hr_moves_notice(struct hr_moves *moves, hr_job job, int64_t at_us, bool keeps);
/* Changes the GPUs of a running elastic job to `placement`, which replaces its present placement and may overlap it.
   The placement has slices; they must not be those that hr_view_placement returned. A job must not be resized while it
   waits for GPU memory (HR_GPU_MEMORY_FIRST_COME), or while it writes a checkpoint to leave its nodes. Needs
   HR_POLICY_RESIZES. With this ability, hr_moves_start and hr_moves_resize accept all sizes of the job
   (hr_cluster_sizes); a start with a size other than the requested one also needs slices.

   All work of the job is kept, unless one of its nodes has failed. After the resize, the job needs the restart time of
   its class before it works again. Its speed is proportional to its number of GPUs, or follows from the table of
   scaling (struct hr_scaling_table). If a job is started or resized several times in a pass, only the last placement
   takes effect. */
HR_API enum hr_status hr_moves_resize(struct hr_moves *moves, hr_job job, const struct hr_placement *placement);
/* Requests `nodes` additional nodes of an elastic pool, at most hr_cluster_offer. The nodes boot when the provider has
   delivered them. If they are delivered at once and have no boot time, they are up in the next pass, which is at the
   same time. Needs HR_POLICY_MANAGES_CAPACITY. */
HR_API enum hr_status hr_moves_acquire(struct hr_moves *moves, hr_pool pool, uint32_t nodes);
/* Releases a node of an elastic pool. The node must be booting, or up and without jobs, and must not have been
   requested in this pass. Needs HR_POLICY_MANAGES_CAPACITY. */
HR_API enum hr_status hr_moves_release(struct hr_moves *moves, hr_node node);
/* hr_moves_mark returns a mark of the present state. hr_moves_rollback undoes all moves of the pass that were made
   after the mark; the state is then the same as when the mark was made. */
HR_API uint32_t hr_moves_mark(const struct hr_moves *moves);
HR_API void hr_moves_rollback(struct hr_moves *moves, uint32_t mark);

/* ---- Policies ---- */

/* The type of a parameter. */
enum hr_param_type { HR_PARAM_CHOICE, HR_PARAM_INTEGER, HR_PARAM_REAL, HR_PARAM_BOOLEAN };

/* A parameter of a policy. Strings are constants. */
struct hr_param {
  const char *key;
  enum hr_param_type type;
  const char *fallback;       /* the default value as text */
  double min, max;            /* of HR_PARAM_INTEGER and HR_PARAM_REAL; inclusive */
  const char *const *choices; /* of HR_PARAM_CHOICE; NULL-terminated */
  const char *help;
  /* a parameter for special cases; tables omit it if it has its default value */
  bool advanced;
};

/* The value of a parameter. Its index is the index of the hr_param in the policy's table. */
struct hr_param_value {
  int64_t integer; /* value of an integer; 0 or 1 for a boolean; index of a choice */
  double real;
};

/* A receiver of values that a modelled scheduler computes during a run, such as priorities. Each call passes one row of
   a table; the first row of a table is its header. `cells` and its texts are valid during the call. */
struct hr_values {
  void *self;
  void (*row)(void *self, const char *table, const char *const *cells, uint32_t count);
};

/* The input of a policy. The struct is valid during `create`; everything to which it points is borrowed and valid until
   `destroy`. */
struct hr_policy_env {
  uint32_t size;          /* size of this struct in bytes; later versions add members at the end only */
  struct hr_arena *arena; /* memory that is freed after the run */
  const struct hr_trace *jobs;
  const struct hr_cluster *cluster;
  const struct hr_param_value *params; /* [number of entries of the policy's table] */
  uint64_t seed;
  const struct hr_class_spec *classes; /* [HR_N_CLASSES]; NULL: no settings */
  const struct hr_quota_spec *quotas;  /* NULL: no quotas */
  const struct hr_systems *systems;    /* configuration of modelled schedulers (unstable); NULL: none */
  const struct hr_values *values;      /* NULL: values are not written */
};

/* The abilities and promises of a policy. `abilities` of struct hr_policy_ops returns a set of these flags. */
enum {
  HR_POLICY_PREEMPTS = 1,         /* the policy stops running jobs */
  HR_POLICY_MANAGES_CAPACITY = 2, /* the policy requests and releases nodes of elastic pools */
  /* a promise: a job that fits on the cluster does not wait forever while other jobs start and end */
  HR_POLICY_STARVES_NOBODY = 4,
  HR_POLICY_KEEPS_WITHIN = 8, /* the policy satisfies requirements on locality (struct hr_locality) */
  /* The next two flags define which waiting jobs always have the same reason for waiting. `explain` is called only once
     for these jobs. Without either flag, these are the jobs with the same request (GPUs, accept class, locality). */
  HR_POLICY_REASONS_BY_TENANT = 16, /* jobs with the same request and the same tenant */
  HR_POLICY_REASONS_BY_JOB = 32,    /* no jobs: each job may have a reason of its own */
  /* The run does not end before the last wake-up that the policy requested. Without this flag, the run may end with its
     last job. For policies that keep, and pay for, nodes after the last job. */
  HR_POLICY_HOLDS_RUN = 64,
  HR_POLICY_RESIZES = 128, /* the policy starts elastic jobs with fewer or more GPUs, or resizes them */
  /* If a node of a running elastic job goes down and the job's other GPUs are at least its minimum, the job is not
     stopped: the engine resizes the job and notifies the policy by HR_EVENT_RESIZE. Only with HR_POLICY_RESIZES. */
  HR_POLICY_SHRINKS = 256,
  /* The policy stops jobs by hr_moves_preempt only, which keeps all work. If nothing else in the run can stop jobs,
     jobs then write no checkpoints. Only with HR_POLICY_PREEMPTS. */
  HR_POLICY_KEEPS_WORK = 512
};

/* A policy: its name, parameters and functions. The struct is immutable; runs and threads share it. The state of the
   policy in a run is separate, see `create`. */
struct hr_policy_ops {
  uint32_t abi; /* HR_POLICY_ABI */
  /* sizeof (struct hr_policy_ops). Later versions add members at the end only; members beyond `size` count as NULL. */
  uint32_t size;
  const char *name, *summary;
  const struct hr_param *params; /* terminated by a NULL key; may be NULL */
  /* Creates the state of the policy for one run, and sets `*self` to it. `*self` is passed to the other functions. On
     failure, writes `error` and returns HR_BAD_INPUT or HR_BAD_POLICY; HR_NO_MEMORY needs no message. */
  enum hr_status (*create)(const struct hr_policy_env *env, void **self, struct hr_error *error);
  /* Frees what `create` allocated outside the arena. May be NULL. */
  void (*destroy)(void *self);
  /* Notifies the policy of an event. The policy is not notified of its own moves. May be NULL. A status other than
     HR_OK ends the run. */
  enum hr_status (*observe)(void *self, const struct hr_view *view, const struct hr_event *event);
  /* Makes the moves of an instant. Before this call, the policy is notified of all events of the instant. A status
     other than HR_OK ends the run. */
  enum hr_status (*decide)(void *self, const struct hr_view *view, struct hr_moves *moves);
  /* Returns the abilities and promises of the policy, a set of HR_POLICY_PREEMPTS and the other flags above. A policy
     without abilities can only start and reject jobs. Called once, after `create`. NULL: no abilities and no promises.
     If the policy does not manage capacity and the cluster has no autoscaler, the engine requests each node as soon as
     the node is available. */
  uint32_t (*abilities)(void *self);
  /* Reports why a job still waits after a pass. Sets the reason in `*wait` and, if known, `behind`, `quota` and
     `until_us`. Before the call, the engine has set the reason to HR_WAIT_REASON_POLICY, and has set `free_milli` and
     `asked_milli`. The function must not affect later decisions. NULL: the engine determines the reason. */
  void (*explain)(void *self, const struct hr_view *view, hr_job job, struct hr_wait_reason *wait);
  /* Describes why a job waits in the words of the scheduler that the policy models, such as "0/8 nodes are available: 8
     Insufficient nvidia.com/gpu". Writes the description to `text`, which has `size` bytes and is "" before the call.
     NULL: the policy models no scheduler. */
  void (*describe)(void *self, const struct hr_view *view, hr_job job, char *text, size_t size);
  /* Returns the maximum number of nodes of a pool that jobs use at the same time under this policy with these
     parameters. Called before `create`. A job that does not fit on this number of empty nodes is rejected when it is
     submitted. NULL: all nodes of each pool. */
  uint32_t (*usable_nodes)(const struct hr_param_value *params, const struct hr_cluster_spec *cluster, hr_pool pool);
};

/*
 * Defines the policy of a source file: HR_POLICY(name) = {HR_POLICY_HEAD, .name = ..., ...}. If the file is compiled as
 * a shared object, Headroom loads the policy from it. If the file is compiled with HR_POLICY_BUILT_IN, the macro
 * defines the object hr__policy_NAME.
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
