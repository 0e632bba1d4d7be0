/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KUEUE_CYCLE_H
#define HR_POLICIES_KUEUE_CYCLE_H

/* The scheduling cycle of Kueue: flavors, preemption, readiness of pods, the cycle, and pending workloads. */

#include "base/containers.h"
#include "policies/kueue/kueue.h"

/* ---- Flavors (flavor.c) -------------------------------------------------------------------------------- */

/* Flavor assignment: chooses a flavor for each resource of a workload, and smaller counts of pods if the
   full ones do not fit. */

/* How a flavor can provide a resource, from the worst to the best. */
enum hr__kueue_fit {
  HR__KUEUE_FIT_NONE,
  HR__KUEUE_FIT_NO_CANDIDATES, /* preemption is allowed, but finds no targets */
  HR__KUEUE_FIT_PREEMPT,       /* preempts workloads of the same queue */
  HR__KUEUE_FIT_RECLAIM,       /* preempts workloads of other queues only */
  HR__KUEUE_FIT_FREE
};

struct hr__kueue_outcome {
  enum hr__kueue_fit fit;
  int32_t level; /* borrow level (hr__kueue_borrow_level) */
};

/* Whether outcome `a` is better than `b`. `preemption_first`: the borrow level is compared before the fit. */
bool hr__kueue_is_preferred(struct hr__kueue_outcome a, struct hr__kueue_outcome b, bool preemption_first);

/* Simulates the preemption for an amount of one pair. Returns HR__KUEUE_FIT_NO_CANDIDATES, HR__KUEUE_FIT_PREEMPT or
   HR__KUEUE_FIT_RECLAIM. Sets `*level` to the borrow level after the preemption. */
typedef enum hr__kueue_fit hr__kueue_simulate(void *self, struct hr__kueue_world *world,
                                              const struct hr__kueue_workload *workload, uint32_t pair, int64_t amount,
                                              int32_t *level);

/* An assigner with its scratch memory. It can be used for any workload of the world. */
struct hr__kueue_assigner {
  struct hr__kueue_world *world;
  hr__kueue_simulate *simulate;
  void *simulation; /* first argument of `simulate` */
  /* An earlier assignment of the same workload, whose flavors must be used again; NULL: any flavor. */
  const struct hr__kueue_assignment *pinned;
  /* Scratch memory by resource. `sums`: the requests of a group of pod sets. `chosen`: the choices so far. `trial`: the
     choices with the flavor that is tried. `best`: those with the best flavor. The flavor HR_NONE means that none is
     chosen. */
  int64_t *sums;
  bool *wanted;
  struct hr__kueue_choice *chosen, *trial, *best;
  struct hr__kueue_attempt *attempts; /* by flavor, of the group of pod sets; flavor HR_NONE: not tried */
  struct hr__kueue_attempt *considered;
  uint32_t *members; /* pod sets of the group */
  uint32_t n_members, n_considered;
  struct hr__kueue_placements placements;
};

/* Allocates the scratch memory. Returns false if memory is exhausted. */
bool hr__kueue_assigner_begin(struct hr__kueue_assigner *self, struct hr_arena *arena, struct hr__kueue_world *world);
/* Allocates an assignment for any workload of the world. Returns false if memory is exhausted. */
bool hr__kueue_assignment_begin(struct hr__kueue_assignment *assignment, struct hr_arena *arena,
                                const struct hr__kueue_world *world);
/* Assigns flavors to `workload` in its queue. `counts` are the numbers of pods by pod set; NULL: all. */
void hr__kueue_assign(struct hr__kueue_assigner *self, const struct hr__kueue_workload *workload, const int64_t *counts,
                      struct hr__kueue_assignment *out);
/* Copies the placements that were found to an assignment. */
void hr__kueue_assignment_place(struct hr__kueue_assignment *assignment, const struct hr__kueue_placements *placements);

/* The resource group of a queue that covers a resource; NULL: none. */
static inline const struct hr__kueue_group *hr__kueue_group_of(const struct hr__kueue_queue *queue, uint32_t resource) {
  for (uint32_t i = 0; i < queue->n_groups; i++)
    for (uint32_t k = 0; k < queue->groups[i].n_resources; k++)
      if (queue->groups[i].resources[k] == resource) return &queue->groups[i];
  return NULL;
}

/* ---- Partial admission ---- */

/* Tries counts of pods; returns whether they fit. */
typedef bool hr__kueue_try_counts(void *self, const int64_t *counts);
/* Searches for the largest counts between the minimum and the full counts for which `fits` returns true. `counts` has
   room for n entries and receives the result. A minimum of -1 means the full count. Returns false if no such counts
   fit, or if all minima are the full counts. */
bool hr__kueue_reduce(const int64_t *full, const int64_t *minimum, uint32_t n, int64_t *counts,
                      hr__kueue_try_counts *fits, void *self);

/* Whether the labels, taints and topology of a flavor match a pod set. */
bool hr__kueue_flavor_matches(const struct hr__kueue_world *world, uint32_t queue,
                              const struct hr__kueue_pod_set *pod_set, uint32_t flavor);

/* ---- Preemption (preempt.c) ---------------------------------------------------------------------------- */

/* Preemption: which workloads with quota are evicted so that another one fits, in the classical way or
   by fair sharing. */

enum hr__kueue_cause {
  HR__KUEUE_IN_QUEUE,               /* InClusterQueue */
  HR__KUEUE_RECLAIM,                /* InCohortReclamation */
  HR__KUEUE_FAIR_SHARE,             /* InCohortFairSharing */
  HR__KUEUE_RECLAIM_WHILE_BORROWING /* InCohortReclaimWhileBorrowing */
};

struct hr__kueue_target {
  uint32_t workload;
  enum hr__kueue_cause cause;
};

struct hr__kueue_candidate {
  uint32_t workload;
  uint32_t ancestor; /* cohort at which it was collected; HR_NONE: the queue of the preemptor */
  enum hr__kueue_cause cause;
  bool only_without_borrowing; /* it may be preempted only if the preemptor does not borrow afterwards */
  bool hierarchy;              /* the preemptor has the hierarchical advantage, see preempt.c */
  uint32_t next;               /* in the list of its queue (fair sharing) */
};

/* The workload that needs room. */
struct hr__kueue_demand {
  const struct hr__kueue_workload *workload;
  const struct hr__kueue_usage *usage; /* amounts that must fit */
  uint32_t n_usage;
  const struct hr__kueue_assignment *assignment; /* its placements must fit, too; NULL: only quota matters */
  const uint32_t *pairs;                         /* pairs that need preemption */
  uint32_t n_pairs;
};

/* The last simulation. Its targets are those of a preemption for the same demand. */
struct hr__kueue_simulated {
  const struct hr__kueue_workload *workload; /* NULL: none, or something may have changed since */
  uint32_t pair, n_targets;
  int64_t amount;
};

/* The scratch memory of preemptions in a world. */
struct hr__kueue_preemptor {
  struct hr__kueue_world *world;
  struct hr__kueue_demand demand; /* of the preemption in progress */
  struct hr__kueue_candidate *candidates, *spare;
  uint32_t n_candidates;
  struct hr__kueue_target *targets; /* the result; room for all workloads */
  uint32_t n_targets;
  uint32_t *pairs, n_pairs;
  struct hr__kueue_usage *rest; /* requests that do not fit into the quota of the nodes visited so far */
  uint32_t *heads;              /* first candidate of each queue (fair sharing) */
  bool *pruned;                 /* by node */
  uint32_t *retry, n_retry;     /* candidates for the second strategy */
  struct hr__kueue_placements placements;
  struct hr__kueue_simulated simulated;
};

/* Allocates the scratch memory. Returns false if memory is exhausted. */
bool hr__kueue_preemptor_begin(struct hr__kueue_preemptor *self, struct hr_arena *arena, struct hr__kueue_world *world);
/* Finds the targets for an assignment with the mode HR__KUEUE_PREEMPT. They are in `targets`. Returns their number; 0
   if the workload cannot fit. The world is unchanged. */
uint32_t hr__kueue_preempt(struct hr__kueue_preemptor *self, const struct hr__kueue_workload *workload,
                           const struct hr__kueue_assignment *assignment);
/* A hr__kueue_simulate function; `self` is a hr__kueue_preemptor. */
hr__kueue_simulate hr__kueue_preempt_simulate;

/* Discards the last simulation. Must be called after changes, before flavors are assigned. */
static inline void hr__kueue_preempt_forget(struct hr__kueue_preemptor *self) {
  self->simulated.workload = NULL;
}

/* Whether a candidate may be preempted under a policy. */
bool hr__kueue_policy_allows(enum hr__kueue_policy policy, const struct hr__kueue_workload *preemptor,
                             const struct hr__kueue_workload *candidate);

/* Whether the queue can always reclaim its nominal quota. */
static inline bool hr__kueue_can_always_reclaim(const struct hr__kueue_queue *queue) {
  return queue->preemption.reclaim == HR__KUEUE_POLICY_ANY;
}

/* The name of a cause in Kueue. */
const char *hr__kueue_cause_name(enum hr__kueue_cause cause);

void hr__kueue_candidates_sort(struct hr__kueue_preemptor *self);

/* Returns whether a node on the path from the queue to the root has a sibling that borrows and whose share is not below
   that of the node. If the result is false, and no workload of the queue itself is preempted, no strategy allows a
   first target. Both strategies require a target whose share is at least that of the preemptor, and preemptions only
   lower the shares of other nodes. */
bool hr__kueue_fair_reaches(const struct hr__kueue_world *world, uint32_t queue);
/* Starts the iteration over queues under fair sharing. `candidates` must be sorted. */
void hr__kueue_fair_begin(struct hr__kueue_preemptor *self);
/* The next queue to preempt from; HR_NONE: not found. The caller then pops a candidate or drops the queue. */
uint32_t hr__kueue_fair_next(struct hr__kueue_preemptor *self);

static inline uint32_t hr__kueue_fair_pop(struct hr__kueue_preemptor *self, uint32_t queue) {
  uint32_t at = self->heads[queue];
  self->heads[queue] = self->candidates[at].next;
  return self->candidates[at].workload;
}

static inline void hr__kueue_fair_drop(struct hr__kueue_preemptor *self, uint32_t queue) {
  self->pruned[queue] = true;
}

/* ---- Readiness (pending.c) ----------------------------------------------------------------------------- */

/* waitForPodsReady, back-off, and the steps that end an admission. */

/* The setting waitForPodsReady. */
struct hr__kueue_ready_rules {
  int64_t timeout_us;          /* HR__KUEUE_NO_TIME: none */
  int64_t recovery_timeout_us; /* HR__KUEUE_NO_TIME: none */
  int64_t backoff_limit;       /* requeuingStrategy.backoffLimitCount; -1: none */
  int64_t backoff_base_us, backoff_max_us;
};

enum hr__kueue_ready_cause { HR__KUEUE_NOT_COUNTING, HR__KUEUE_WAIT_FOR_START, HR__KUEUE_WAIT_FOR_RECOVERY };

/* Facts about the pods of an admitted workload. */
struct hr__kueue_readiness {
  bool admitted, ready; /* conditions Admitted and PodsReady */
  bool was_ready;       /* lost its readiness */
  int64_t admitted_us, changed_us;
};

/* Returns which timeout of the workload runs, and sets `*remaining_us` to the time until it ends (at least 0; 0 if none
   runs). */
enum hr__kueue_ready_cause hr__kueue_ready_countdown(const struct hr__kueue_ready_rules *rules,
                                                     const struct hr__kueue_readiness *readiness, int64_t now_us,
                                                     int64_t *remaining_us);

/* The state of requeuing: how often the workload was requeued, and when it may be queued again. */
struct hr__kueue_requeue_state {
  int64_t count; /* -1: not counted yet */
  int64_t at_us; /* HR__KUEUE_NO_TIME: at once */
};

/* Delays the workload until `wait_until_us`. If it is delayed until a later time already, this time does not change.
   Counts the attempt if `count` is set. Returns whether the state has changed. */
bool hr__kueue_requeue_delay(struct hr__kueue_requeue_state *state, int64_t wait_until_us, bool count);

/* ---- What happens to a workload that does not run normally ---- */

enum hr__kueue_requeued { HR__KUEUE_REQUEUED_UNSET, HR__KUEUE_REQUEUED_TRUE, HR__KUEUE_REQUEUED_FALSE };
enum hr__kueue_stop { HR__KUEUE_RUNS, HR__KUEUE_HOLD, HR__KUEUE_HOLD_AND_DRAIN };

/* The reason why a workload is not queued, or is evicted. */
enum hr__kueue_end {
  HR__KUEUE_END_NONE,
  HR__KUEUE_END_TIMEOUT,       /* PodsReadyTimeout */
  HR__KUEUE_END_CHECK,         /* AdmissionCheck */
  HR__KUEUE_END_QUEUE_STOPPED, /* ClusterQueueStopped */
  HR__KUEUE_END_LOCAL_STOPPED, /* LocalQueueStopped */
  HR__KUEUE_END_DEACTIVATED,   /* Deactivated */
  HR__KUEUE_END_LIMIT          /* RequeuingLimitExceeded */
};

struct hr__kueue_life {
  bool active, reserved, evicted, deactivating, finished;
  enum hr__kueue_requeued requeued;
  enum hr__kueue_end requeued_reason;
  bool check_retry, check_rejected;
  enum hr__kueue_stop queue_stop, local_stop;
  struct hr__kueue_readiness readiness;
  struct hr__kueue_requeue_state requeue;
};

enum hr__kueue_step_kind {
  HR__KUEUE_STEP_NONE,
  HR__KUEUE_STEP_WAIT,       /* until its back-off is over */
  HR__KUEUE_STEP_REQUEUE,    /* may be queued again */
  HR__KUEUE_STEP_SWITCH_OFF, /* set inactive */
  HR__KUEUE_STEP_DEACTIVATE, /* will be set inactive because of `end` */
  HR__KUEUE_STEP_EVICT       /* evicted because of `end` */
};

struct hr__kueue_step {
  enum hr__kueue_step_kind kind;
  enum hr__kueue_end end;
  enum hr__kueue_ready_cause cause; /* of a timeout */
  int64_t wait_us;                  /* for HR__KUEUE_STEP_WAIT */
};

/* The next step of a workload. A timeout updates `life->requeue`. */
struct hr__kueue_step hr__kueue_life_step(const struct hr__kueue_ready_rules *rules, struct hr__kueue_life *life,
                                          int64_t now_us);

/* ---- The cycle (cycle.c) ------------------------------------------------------------------------------- */

/*
 * One scheduling cycle: the first workloads of all queues are nominated, ordered and processed, and each is admitted,
 * waits for preemptions, or is queued again.
 *
 * Life cycle: begin once per world; run once per cycle. A run releases the quotas and nodes that it reserved for
 * entries, so the world is afterwards as before. The caller then carries out the decisions in `entries`.
 */

enum hr__kueue_status {
  HR__KUEUE_NOT_NOMINATED, /* none of the following; also for an entry that waits for preemptions */
  HR__KUEUE_SKIPPED,
  HR__KUEUE_PREEMPTION_GATED,
  HR__KUEUE_EVICTED, /* no replacement of its failed nodes was found */
  HR__KUEUE_ADMITTED
};

/* The reason for which a workload is queued again. */
enum hr__kueue_requeue {
  HR__KUEUE_REQUEUE_GENERIC,
  HR__KUEUE_REQUEUE_FAILED_AFTER_NOMINATION,
  HR__KUEUE_REQUEUE_NAMESPACE_MISMATCH,
  HR__KUEUE_REQUEUE_PENDING_PREEMPTION,
  HR__KUEUE_REQUEUE_PENDING_MIGRATION,
  HR__KUEUE_REQUEUE_PREEMPTION_GATED,
  HR__KUEUE_REQUEUE_PREEMPTION_FAILED,
  HR__KUEUE_REQUEUE_NO_FIT,
  HR__KUEUE_REQUEUE_NO_CANDIDATES
};

/* The result of a second search for targets. This search is made if an earlier entry of the cycle preempts a target of
   this entry. */
enum hr__kueue_recomputation {
  HR__KUEUE_NOT_RECOMPUTED,
  HR__KUEUE_NEW_TARGETS,
  HR__KUEUE_DEFERRED, /* needs no targets: it fits after the targets of earlier entries have left */
  HR__KUEUE_STILL_OVERLAPPING
};

struct hr__kueue_entry {
  uint32_t workload;
  bool nominated; /* an assignment was computed */
  enum hr__kueue_status status;
  enum hr__kueue_requeue requeue;
  enum hr__kueue_reason reason; /* why no quota is reserved */
  struct hr__kueue_assignment assignment;
  bool keeps_bookmark;              /* the bookmarks of the assignment count for the next attempt */
  uint32_t first_target, n_targets; /* in `targets` of the cycle */
  bool preempts;                    /* the targets are evicted */
  bool skipped_preemption;          /* counted by Kueue's metric of skipped preemptions */
  bool waits_for_pods_ready;        /* admission waits until all admitted workloads are ready */
  uint32_t migrated;                /* variant that is evicted in favor of this one; HR_NONE: none */
  enum hr__kueue_recomputation recomputation;
  struct hr__kueue_usage *held; /* quota that the cycle holds for it */
  uint32_t n_held;
  bool holds_nodes;
};

struct hr__kueue_cycle {
  struct hr__kueue_world *world;
  struct hr_arena *arena;
  struct hr__kueue_assigner assigner;
  struct hr__kueue_preemptor preemptor;
  struct hr__kueue_entry *entries; /* one per head, in the order of the heads */
  uint32_t n_entries, capacity;
  uint32_t *order; /* entries in the order in which they were processed */
  uint32_t n_order;
  struct hr__kueue_target *targets;
  uint32_t n_targets, targets_capacity;
  bool *is_victim; /* by workload: an entry of this cycle preempts it */
  uint32_t *victims, n_victims;
  struct hr__kueue_assignment trial; /* of a partial admission */
  struct hr__kueue_assignment pinned;
  int64_t *full, *minimum, *counts; /* by pod set, for partial admission */
  struct hr__kueue_share *shares;   /* by node, of the tournament */
  bool *borrows;                    /* by node */
  uint32_t *winners;                /* by node: entry; HR_NONE: none */
  uint32_t *first_of, *next_of;     /* entries of each queue that are not processed yet */
  bool not_all_ready; /* set by the caller: some admitted workload is not ready, and admissions are blocked */
  bool no_memory;     /* memory was exhausted; the decisions are not valid */
};

/* Allocates the memory for cycles with up to `max_heads` heads. Returns false if memory is exhausted. */
bool hr__kueue_cycle_begin(struct hr__kueue_cycle *self, struct hr_arena *arena, struct hr__kueue_world *world,
                           uint32_t max_heads);
/* Runs a cycle with these heads. Returns false if memory is exhausted. */
bool hr__kueue_cycle_run(struct hr__kueue_cycle *self, const uint32_t *heads, uint32_t n_heads);

/* Computes the quota that the cycle reserves for a workload that needs preemption but finds no targets: its usage, at
   most the amount that its queue may still use. Writes assignment->n_usage entries to `out` and returns their
   number. */
uint32_t hr__kueue_reserve(const struct hr__kueue_world *world, uint32_t queue,
                           const struct hr__kueue_assignment *assignment, struct hr__kueue_usage *out);
/* Whether the bookmarks of the last attempt have become invalid. `generation`: that of the queue (hr__kueue_queue).
   `cycle`: number of heads that the queue had. `last_...`: the values at the last attempt. `known_shapes`: the shapes
   of the workload are known, then and now. */
bool hr__kueue_bookmark_is_outdated(hr__kueue_gates gates, int64_t last_generation, int64_t generation,
                                    int64_t last_cycle, int64_t cycle, bool known_shapes, bool same_shape);

/* Copies the bookmarks of an assignment to a row of n_pod_sets * n_resources entries (see hr__kueue_workload.tried). */
void hr__kueue_bookmarks_save(const struct hr__kueue_world *world, const struct hr__kueue_workload *workload,
                              const struct hr__kueue_assignment *assignment, int32_t *row);

/* ---- Orders of entries (cycle.c) ---- */

/* Compares workloads in the classical order of entries: negative if `a` comes first. */
int hr__kueue_entry_order(const struct hr__kueue_world *world, const struct hr__kueue_workload *a, int32_t a_borrowing,
                          const struct hr__kueue_workload *b, int32_t b_borrowing);
/* Whether entry `a` comes before entry `b` in a round of the tournament. `a_borrows`, `b_borrows`: whether the entry
   borrows quota. */
bool hr__kueue_fair_before(const struct hr__kueue_world *world, const struct hr__kueue_workload *a,
                           const struct hr__kueue_share *a_share, bool a_borrows, const struct hr__kueue_workload *b,
                           const struct hr__kueue_share *b_share, bool b_borrows);

/* ---- Pending workloads (pending.c) --------------------------------------------------------------------- */

/* The workloads that wait in the ClusterQueues. Each queue has a heap. The first workload of the heap is the head of
   the queue in the next cycle. Workloads that a cycle found inadmissible are parked, not in the heap, until quota or
   nodes may be free. The turn of a workload is the cycle in which it is the head. */

enum hr__kueue_place {
  HR__KUEUE_NOT_QUEUED,
  HR__KUEUE_IN_HEAP,
  HR__KUEUE_PARKED,
  HR__KUEUE_IN_CYCLE /* was the head of a queue, and is not queued again yet */
};

/* A binary heap of workloads. */
struct hr__kueue_pending_heap {
  uint32_t *items;
  uint32_t count, capacity;
};

/* The workloads of one shape in one queue. Workloads have the same shape if their requests and priorities are equal. */
struct hr__kueue_bucket {
  uint32_t queue, shape;
  struct hr__kueue_pending_heap half[2];
  uint8_t active;          /* index of the half whose workloads can be a head; the other half is parked */
  bool is_listed;          /* is in the list of buckets with parked workloads */
  uint32_t at;             /* position in the heap of its queue; HR_NONE: no workload can be a head */
  uint32_t next, previous; /* in the list */
  uint32_t stayed;         /* `epoch` of its queue when it last stayed parked while other buckets returned */
};

struct hr__kueue_pending_queue {
  uint32_t *heap; /* buckets, by their first workloads */
  uint32_t n_buckets, capacity, n_known;
  uint32_t first_parked; /* list of buckets with parked workloads */
  uint32_t first_alone;  /* list of parked workloads that are in no bucket (is_alone in pending.c) */
  uint32_t n_heap, n_parked;
  int64_t cycle;       /* counts heads that were taken */
  int64_t freed_cycle; /* `cycle` when parked workloads returned last; -1: never */
  /* When parked workloads return, a bucket stays parked if a cycle would certainly park it again. In Kueue, the cycle
     would examine the first workload of the bucket in vain. So the bucket uses up one turn of its queue. */
  uint32_t epoch;               /* counts the returns */
  uint32_t n_stayed, n_skipped; /* buckets that stayed; turns that they have used up */
  uint32_t counted, n_before;   /* a head, and the number of buckets that stayed and precede it */
};

struct hr__kueue_pending {
  struct hr__kueue_world *world;
  struct hr_arena *arena;
  struct hr__kueue_pending_queue *queues;
  struct hr__kueue_bucket *buckets;
  uint32_t n_buckets, buckets_capacity;
  bool no_memory;                /* memory was exhausted: some workload is in no queue */
  struct hr__pair_map bucket_at; /* by queue and shape */
  uint8_t *place;                /* by workload: enum hr__kueue_place; HR__KUEUE_IN_HEAP also if parked in a bucket */
  uint32_t *bucket;              /* by workload */
  uint8_t *half;                 /* by workload: half of its bucket */
  uint32_t *position;            /* by workload: in the heap of the half */
  uint32_t *next, *previous;     /* by workload: list of workloads that are parked alone */
  int64_t *requeue_us;           /* by workload: end of its back-off; HR__KUEUE_NO_TIME: none */
  bool *held;                    /* by workload: its condition Requeued is false, so it stays parked */
  uint32_t *shape;               /* by workload; equal shapes mean equal requests and priority; HR_NONE: unknown */
  enum hr__kueue_requeue *why;   /* by workload: why it was parked, unless it was parked with its shape */
};

/* Where a workload is. */
enum hr__kueue_place hr__kueue_pending_place(const struct hr__kueue_pending *self, uint32_t workload);
/* Allocates empty queues. Returns false if memory is exhausted. */
bool hr__kueue_pending_begin(struct hr__kueue_pending *self, struct hr_arena *arena, struct hr__kueue_world *world);
/* Makes room for more workloads, after their number in the world has risen from `before`. Returns false if memory is
   exhausted. */
bool hr__kueue_pending_grow(struct hr__kueue_pending *self, uint32_t before);
/* Adds a workload to its queue: to the heap, or parked if its back-off is not over or if it is held. Returns false if
   memory is exhausted. */
bool hr__kueue_pending_add(struct hr__kueue_pending *self, uint32_t workload);
/* Removes a workload from its queue, whether it is in the heap or parked. */
void hr__kueue_pending_remove(struct hr__kueue_pending *self, uint32_t workload);
/* Takes the head of the queue `id`; HR_NONE: the heap is empty. */
uint32_t hr__kueue_pending_pop(struct hr__kueue_pending *self, uint32_t id);
/* The head that hr__kueue_pending_pop would take; HR_NONE: none. */
uint32_t hr__kueue_pending_head(const struct hr__kueue_pending *self, uint32_t id);
/* Takes the head of a queue, and parks it and all workloads of its shape as inadmissible. The queue must have a head.
   Has no effect if the head has no shape. Returns whether the head was parked. */
bool hr__kueue_pending_park_head(struct hr__kueue_pending *self, uint32_t id);
/* Puts a workload into the heap again after a cycle, or parks it if `why` means that it is inadmissible.
   `has_bookmark`: flavors are left to try, so it is not parked. Returns whether its place has changed. */
bool hr__kueue_pending_requeue(struct hr__kueue_pending *self, uint32_t workload, enum hr__kueue_requeue why,
                               bool has_bookmark);
/* Like hr__kueue_pending_requeue, but the caller decides: with `at_once`, the workload is put into the heap, otherwise
   it is parked. */
bool hr__kueue_pending_requeue_as(struct hr__kueue_pending *self, uint32_t workload, bool at_once,
                                  enum hr__kueue_requeue why);
/* Restores the order of the heap of a queue after the usage of its local queues has changed. */
void hr__kueue_pending_reorder(struct hr__kueue_pending *self, uint32_t id);
/* Records that capacity may be free in the tree of `queue`: a workload of the tree that is queued again before the next
   head of its queue is taken is not parked. The caller must also call hr__kueue_pending_return before the next cycle,
   unless all parked workloads would be parked again. */
void hr__kueue_pending_freed(struct hr__kueue_pending *self, uint32_t queue);
/* Returns the parked workloads of all queues of the tree of `queue` to their heaps, as capacity may be free. Returns
   their number. */
uint32_t hr__kueue_pending_return(struct hr__kueue_pending *self, uint32_t queue);
/* Returns true if a cycle would certainly park all workloads of `shape` in `queue` again. `workload` is one of
   these. */
typedef bool hr__kueue_stays_parked(void *self, uint32_t queue, uint32_t shape, uint32_t workload);
/* Like hr__kueue_pending_return, but for one queue, and the workloads of a shape stay parked if `stays` returns true.
   Each such shape still uses up one turn (hr__kueue_pending_skip). */
uint32_t hr__kueue_pending_return_some(struct hr__kueue_pending *self, uint32_t id, hr__kueue_stays_parked *stays,
                                       void *argument);
/* Checks the workloads of a queue that stayed parked and have not used up their turns. A workload returns if `stays`
   returns false for its shape now. */
void hr__kueue_pending_recheck(struct hr__kueue_pending *self, uint32_t id, hr__kueue_stays_parked *stays,
                               void *argument);
/* Uses up the turn of a workload that stayed parked and is ordered before the head of the queue. Returns true in this
   case; the head then waits for the next cycle. If the queue has no head, uses up the turn of a workload that stayed
   parked, and returns false. Otherwise returns false without effect. */
bool hr__kueue_pending_skip(struct hr__kueue_pending *self, uint32_t id);

/* Uses up all turns of workloads that stayed parked. Call it if no cycle follows until the next event. */
void hr__kueue_pending_settled(struct hr__kueue_pending *self);

/* Whether this reason of an inadmissible workload implies that no workload of its shape fits. */
static inline bool hr__kueue_requeue_counts_for_shape(enum hr__kueue_requeue why) {
  return why == HR__KUEUE_REQUEUE_NO_FIT || why == HR__KUEUE_REQUEUE_NO_CANDIDATES;
}

/* Whether flavors are left to try: some bookmark of the assignment is not -1. */
static inline bool hr__kueue_has_bookmark(const struct hr__kueue_assignment *assignment) {
  for (uint32_t i = 0; i < assignment->n_pod_sets; i++)
    for (uint32_t k = 0; k < assignment->pod_sets[i].n_choices; k++)
      if (assignment->pod_sets[i].choices[k].tried != -1) return true;
  return false;
}

#endif
