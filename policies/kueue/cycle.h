/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KUEUE_CYCLE_H
#define HR_POLICIES_KUEUE_CYCLE_H

/*
 * One scheduling cycle (RULES 1.8): the first workloads of all queues are nominated, ordered and processed, and each is
 * admitted, waits for preemptions, or is queued again.
 *
 * Life cycle: begin once per world; run once per cycle. After a run the world is as before: what the cycle held of
 * quotas and nodes is released. The caller then carries out the decisions in `entries`.
 */

#include "policies/kueue/flavor.h"
#include "policies/kueue/preempt.h"
#include "policies/kueue/share.h"

enum hr__kueue_status {
  HR__KUEUE_NOT_NOMINATED, /* not admitted; also while it waits for preemptions */
  HR__KUEUE_SKIPPED,
  HR__KUEUE_PREEMPTION_GATED,
  HR__KUEUE_EVICTED, /* no replacement of its failed nodes was found */
  HR__KUEUE_ADMITTED
};

/* Why a workload is queued again. */
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

/* What came of new targets for an entry whose targets an earlier entry preempts. */
enum hr__kueue_recomputation {
  HR__KUEUE_NOT_RECOMPUTED,
  HR__KUEUE_NEW_TARGETS,
  HR__KUEUE_DEFERRED, /* fits when the targets of earlier entries are gone */
  HR__KUEUE_STILL_OVERLAPPING
};

struct hr__kueue_entry {
  uint32_t workload;
  bool nominated; /* an assignment was computed */
  enum hr__kueue_status status;
  enum hr__kueue_requeue requeue;
  enum hr__kueue_reason reason; /* why there is no quota reservation */
  struct hr__kueue_assignment assignment;
  bool keeps_bookmark;              /* the bookmarks of the assignment count for the next attempt */
  uint32_t first_target, n_targets; /* in `targets` of the cycle */
  bool preempts;                    /* the targets are evicted */
  bool skipped_preemption;          /* counts in Kueue's metric of skipped preemptions */
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

/* What is reserved for a workload that needs preemption but finds no targets (RULES 1.8). Writes up to n_usage entries
   to `out` and returns their number. */
uint32_t hr__kueue_reserve(const struct hr__kueue_world *world, uint32_t queue,
                           const struct hr__kueue_assignment *assignment, struct hr__kueue_usage *out);
/* Whether the bookmarks of the last attempt no longer count. `known_shapes`: both shapes are known. */
bool hr__kueue_bookmark_is_outdated(hr__kueue_gates gates, int64_t last_generation, int64_t generation,
                                    int64_t last_cycle, int64_t cycle, bool known_shapes, bool same_shape);

/* Copies the bookmarks of an assignment to a row of n_pod_sets * n_resources entries (see hr__kueue_workload.tried). */
void hr__kueue_bookmarks_save(const struct hr__kueue_world *world, const struct hr__kueue_workload *workload,
                              const struct hr__kueue_assignment *assignment, int32_t *row);

/* ---- Steps, for cycle*.c ---- */

/* Compares workloads in the classical order of entries: negative if `a` comes first. */
int hr__kueue_entry_order(const struct hr__kueue_world *world, const struct hr__kueue_workload *a, int32_t a_borrowing,
                          const struct hr__kueue_workload *b, int32_t b_borrowing);
/* Whether entry `a` comes before entry `b` in a round of the tournament. */
bool hr__kueue_fair_before(const struct hr__kueue_world *world, const struct hr__kueue_workload *a,
                           const struct hr__kueue_share *a_share, bool a_borrows, const struct hr__kueue_workload *b,
                           const struct hr__kueue_share *b_share, bool b_borrows);
/* Puts the nominated entries in the classical order. */
void hr__kueue_order_classical(struct hr__kueue_cycle *self);
/* Prepares the tournament, and returns the next entry; HR_NONE: all are processed. */
void hr__kueue_tournament_begin(struct hr__kueue_cycle *self);
uint32_t hr__kueue_tournament_next(struct hr__kueue_cycle *self);
/* Computes the assignment and the targets of an entry. */
void hr__kueue_entry_assign(struct hr__kueue_cycle *self, struct hr__kueue_entry *entry);
/* Decides about an entry. */
void hr__kueue_entry_process(struct hr__kueue_cycle *self, struct hr__kueue_entry *entry);

#endif
