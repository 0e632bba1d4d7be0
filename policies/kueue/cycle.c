/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs scheduling cycles: nominates the heads, decides about them in order, and releases the quota and nodes that the
 * cycle reserved for them.
 *
 * Layout: one entry per head with its own assignment; the targets of all entries are in one array. Invariant: after a
 * cycle, the usage of quotas and nodes is as before.
 *
 * Source: pkg/scheduler/scheduler.go of kubernetes-sigs/kueue (schedule, nominate, getAssignments).
 */

#include "policies/kueue/cycle.h"

#include "policies/kueue/kueue.h"

#include <string.h>

/* ---- Creation --------------------------------------------------------------------------------------- */

static bool allocate_entries(struct hr__kueue_cycle *self, uint32_t max_heads) {
  const struct hr__kueue_world *world = self->world;
  size_t held = ((size_t)world->n_resources + 1) * ((size_t)world->max_pod_sets + 1);
  self->capacity = max_heads;
  if (!HR__ARENA_ARRAY(self->arena, self->entries, max_heads) ||
      !HR__ARENA_ARRAY(self->arena, self->order, max_heads) || !HR__ARENA_ARRAY(self->arena, self->next_of, max_heads))
    return false;
  for (uint32_t i = 0; i < max_heads; i++)
    if (!HR__ARENA_ARRAY(self->arena, self->entries[i].held, held) ||
        !hr__kueue_assignment_begin(&self->entries[i].assignment, self->arena, world))
      return false;
  return true;
}

bool hr__kueue_cycle_begin(struct hr__kueue_cycle *self, struct hr_arena *arena, struct hr__kueue_world *world,
                           uint32_t max_heads) {
  *self = (struct hr__kueue_cycle){.world = world, .arena = arena};
  uint32_t pod_sets = world->max_pod_sets, workloads = world->n_workloads, nodes = world->tree.n_nodes;
  if (!hr__kueue_assigner_begin(&self->assigner, arena, world) ||
      !hr__kueue_preemptor_begin(&self->preemptor, arena, world) ||
      !hr__kueue_assignment_begin(&self->trial, arena, world) ||
      !hr__kueue_assignment_begin(&self->pinned, arena, world) || !allocate_entries(self, max_heads))
    return false;
  self->assigner.simulate = hr__kueue_preempt_simulate;
  self->assigner.simulation = &self->preemptor;
  return HR__ARENA_ARRAY(arena, self->is_victim, workloads) && HR__ARENA_ARRAY(arena, self->victims, workloads) &&
         HR__ARENA_ARRAY(arena, self->full, pod_sets) && HR__ARENA_ARRAY(arena, self->minimum, pod_sets) &&
         HR__ARENA_ARRAY(arena, self->counts, pod_sets) && HR__ARENA_ARRAY(arena, self->shares, nodes) &&
         HR__ARENA_ARRAY(arena, self->borrows, nodes) && HR__ARENA_ARRAY(arena, self->winners, nodes) &&
         HR__ARENA_ARRAY(arena, self->first_of, nodes);
}

/* ---- Assignment and targets of an entry ------------------------------------------------------------- */

/* Copies the targets of the last preemption to the entry. */
static void keep_targets(struct hr__kueue_cycle *self, struct hr__kueue_entry *entry) {
  entry->first_target = self->n_targets;
  entry->n_targets = 0;
  for (uint32_t i = 0; i < self->preemptor.n_targets; i++) {
    if (!HR__ARENA_HAS_ROOM(self->arena, self->targets, self->n_targets, self->targets_capacity)) {
      self->no_memory = true;
      return;
    }
    self->targets[self->n_targets++] = self->preemptor.targets[i];
    entry->n_targets++;
  }
}

struct partial {
  struct hr__kueue_cycle *cycle;
  const struct hr__kueue_workload *workload;
};

static bool try_counts(void *argument, const int64_t *counts) {
  struct hr__kueue_cycle *self = ((struct partial *)argument)->cycle;
  const struct hr__kueue_workload *workload = ((struct partial *)argument)->workload;
  hr__kueue_preempt_forget(&self->preemptor);
  hr__kueue_assign(&self->assigner, workload, counts, &self->trial);
  self->preemptor.n_targets = 0;
  if (self->trial.mode == HR__KUEUE_FIT) return true;
  return self->trial.mode == HR__KUEUE_PREEMPT && hr__kueue_preempt(&self->preemptor, workload, &self->trial) > 0;
}

/* Searches for smaller counts of pods that fit, or for which targets are found. If there are such counts, sets the
   assignment and the targets of the entry, and returns true. */
static bool admit_partially(struct hr__kueue_cycle *self, struct hr__kueue_entry *entry) {
  const struct hr__kueue_workload *workload = &self->world->workloads[entry->workload];
  if (!hr__kueue_has_gate(self->world, HR__KUEUE_BIT_PARTIAL_ADMISSION)) return false;
  for (uint32_t i = 0; i < workload->n_pod_sets; i++) {
    self->full[i] = workload->pod_sets[i].count;
    self->minimum[i] = workload->pod_sets[i].min_count;
  }
  struct partial partial = {self, workload};
  if (!hr__kueue_reduce(self->full, self->minimum, workload->n_pod_sets, self->counts, try_counts, &partial))
    return false;
  struct hr__kueue_assignment found = self->trial;
  self->trial = entry->assignment;
  entry->assignment = found;
  keep_targets(self, entry);
  return true;
}

static void assign_quota(struct hr__kueue_cycle *self, struct hr__kueue_entry *entry) {
  const struct hr__kueue_workload *workload = &self->world->workloads[entry->workload];
  hr__kueue_preempt_forget(&self->preemptor);
  hr__kueue_assign(&self->assigner, workload, NULL, &entry->assignment);
  entry->n_targets = 0;
  if (entry->assignment.mode == HR__KUEUE_FIT) return;
  if (entry->assignment.mode == HR__KUEUE_PREEMPT &&
      hr__kueue_preempt(&self->preemptor, workload, &entry->assignment)) {
    keep_targets(self, entry);
    return;
  }
  admit_partially(self, entry);
}

static void change_targets(struct hr__kueue_cycle *self, const struct hr__kueue_entry *entry, int sign) {
  for (uint32_t i = 0; i < entry->n_targets; i++)
    hr__kueue_change_usage(self->world, self->targets[entry->first_target + i].workload, sign);
}

static bool asks_for_topology(const struct hr__kueue_workload *workload) {
  for (uint32_t i = 0; i < workload->n_pod_sets; i++)
    if (workload->pod_sets[i].topology.mode != HR__KUEUE_NO_TOPOLOGY) return true;
  return false;
}

/* Chooses the nodes that are reserved for a workload that needs preemption. With targets, these are nodes that are free
   after the targets have left. Without targets, the search ignores the usage of nodes. */
static void place_for_preemption(struct hr__kueue_cycle *self, struct hr__kueue_entry *entry) {
  const struct hr__kueue_topology_calls *topology = &self->world->topology;
  const struct hr__kueue_workload *workload = &self->world->workloads[entry->workload];
  if (!topology->find || entry->assignment.mode != HR__KUEUE_PREEMPT ||
      !hr__kueue_has_gate(self->world, HR__KUEUE_BIT_TOPOLOGY) || topology->has_failed_node(topology->self, workload) ||
      !(asks_for_topology(workload) || topology->only(topology->self, self->world, workload->queue)))
    return;
  struct hr__kueue_placements *placements = &self->assigner.placements;
  change_targets(self, entry, -1);
  topology->find(topology->self, self->world, workload, &entry->assignment, entry->n_targets == 0, placements);
  change_targets(self, entry, 1);
  hr__kueue_assignment_place(&entry->assignment, placements);
}

/* Computes the assignment and the targets of an entry. */
static void assign(struct hr__kueue_cycle *self, struct hr__kueue_entry *entry) {
  assign_quota(self, entry);
  place_for_preemption(self, entry);
  entry->nominated = entry->keeps_bookmark = true;
}

/* ---- One entry -------------------------------------------------------------------------------------- */

/*
 * Decides about one entry of a cycle. The cycle holds (reserves) quota and nodes for earlier entries that were admitted
 * or wait for preemptions. So an entry must fit in addition to them, after the targets of all these entries have left.
 *
 * Source: pkg/scheduler/scheduler.go of kubernetes-sigs/kueue (processEntry and what it calls).
 */

/* ---- One entry: holding ----------------------------------------------------------------------------- */

/* Holds the first `n` amounts of `entry->held`. A workload with quota needs no more. */
static void hold_quota(struct hr__kueue_cycle *self, struct hr__kueue_entry *entry, uint32_t n) {
  const struct hr__kueue_workload *workload = &self->world->workloads[entry->workload];
  if (workload->reserved) return;
  entry->n_held = n;
  hr__kueue_change_amounts(&self->world->tree, workload->queue, entry->held, n, true);
}

static void hold_nodes(struct hr__kueue_cycle *self, struct hr__kueue_entry *entry) {
  const struct hr__kueue_topology_calls *topology = &self->world->topology;
  if (!topology->reserve || !hr__kueue_has_gate(self->world, HR__KUEUE_BIT_TOPOLOGY)) return;
  topology->reserve(topology->self, self->world, &self->world->workloads[entry->workload], &entry->assignment, 1);
  entry->holds_nodes = true;
}

uint32_t hr__kueue_reserve(const struct hr__kueue_world *world, uint32_t queue,
                           const struct hr__kueue_assignment *assignment, struct hr__kueue_usage *out) {
  const struct hr__kueue_tree *tree = &world->tree;
  for (uint32_t i = 0; i < assignment->n_usage; i++) {
    struct hr__kueue_usage usage = assignment->usage[i];
    size_t at = hr__kueue_cell(tree, queue, usage.pair);
    int64_t limit = tree->nominal[at];
    if (assignment->mode == HR__KUEUE_PREEMPT && assignment->borrowing > 0) {
      limit = hr__kueue_minus(hr__kueue_plus(limit, tree->borrowing[at]), tree->usage[at]);
      if (tree->borrowing[at] != HR__KUEUE_UNLIMITED && limit < usage.amount) usage.amount = limit;
    } else if (assignment->mode == HR__KUEUE_PREEMPT) {
      limit = hr__kueue_minus(limit, tree->usage[at]);
      if (limit < usage.amount) usage.amount = limit;
      if (usage.amount < 0) usage.amount = 0;
    }
    out[i] = usage;
  }
  return assignment->n_usage;
}

/* Holds quota and nodes for an entry that needs preemption but has no targets. Has no effect if the queue of the entry
   can always reclaim its quota later. */
static void reserve(struct hr__kueue_cycle *self, struct hr__kueue_entry *entry) {
  const struct hr__kueue_workload *workload = &self->world->workloads[entry->workload];
  if (hr__kueue_can_always_reclaim(&self->world->queues[workload->queue])) return;
  hold_quota(self, entry, hr__kueue_reserve(self->world, workload->queue, &entry->assignment, entry->held));
  hold_nodes(self, entry);
}

/* ---- One entry: fit --------------------------------------------------------------------------------- */

enum cycle_fit { FIT_NO_QUOTA, FIT_NO_NODES, FIT_OK };

static const struct hr__kueue_target *targets_of(const struct hr__kueue_cycle *self,
                                                 const struct hr__kueue_entry *entry) {
  return entry->n_targets ? &self->targets[entry->first_target] : NULL;
}

/* Removes (sign -1) or adds (1) the usage of the victims of the cycle and of the targets of the entry. A workload that
   is both is counted once. */
static void change_victims(struct hr__kueue_cycle *self, const struct hr__kueue_entry *entry, int sign) {
  const struct hr__kueue_target *targets = targets_of(self, entry);
  for (uint32_t i = 0; i < self->n_victims; i++) hr__kueue_change_usage(self->world, self->victims[i], sign);
  for (uint32_t i = 0; i < entry->n_targets; i++)
    if (!self->is_victim[targets[i].workload]) hr__kueue_change_usage(self->world, targets[i].workload, sign);
}

static enum cycle_fit check_fit(struct hr__kueue_cycle *self, const struct hr__kueue_entry *entry) {
  const struct hr__kueue_workload *workload = &self->world->workloads[entry->workload];
  const struct hr__kueue_topology_calls *topology = &self->world->topology;
  enum cycle_fit fit = FIT_OK;
  change_victims(self, entry, -1);
  for (uint32_t i = 0; !workload->reserved && i < entry->assignment.n_usage; i++) {
    const struct hr__kueue_usage *usage = &entry->assignment.usage[i];
    if (usage->amount > hr__kueue_available(&self->world->tree, workload->queue, usage->pair)) fit = FIT_NO_QUOTA;
  }
  if (fit == FIT_OK && topology->fits && hr__kueue_has_gate(self->world, HR__KUEUE_BIT_TOPOLOGY) &&
      !topology->fits(topology->self, self->world, workload, &entry->assignment))
    fit = FIT_NO_NODES;
  change_victims(self, entry, 1);
  return fit;
}

static bool overlaps(const struct hr__kueue_cycle *self, const struct hr__kueue_entry *entry) {
  const struct hr__kueue_target *targets = targets_of(self, entry);
  for (uint32_t i = 0; i < entry->n_targets; i++)
    if (self->is_victim[targets[i].workload]) return true;
  return false;
}

/* Computes the assignment again, with the flavors that were chosen when the entry was nominated. */
static void assign_again(struct hr__kueue_cycle *self, struct hr__kueue_entry *entry) {
  struct hr__kueue_workload *workload = &self->world->workloads[entry->workload];
  struct hr__kueue_assignment nominated = entry->assignment;
  const int32_t *tried = workload->tried;
  entry->assignment = self->pinned; /* swaps the memory, since the old assignment is still in use */
  self->pinned = nominated;
  workload->tried = NULL;
  self->assigner.pinned = &self->pinned;
  assign(self, entry);
  self->assigner.pinned = NULL;
  workload->tried = tried;
}

/* Called if an earlier entry evicts targets of this entry. Searches for other targets, as if the victims of the cycle
   had left. */
static void find_other_targets(struct hr__kueue_cycle *self, struct hr__kueue_entry *entry) {
  for (uint32_t i = 0; i < self->n_victims; i++) hr__kueue_unlist(self->world, self->victims[i]);
  assign_again(self, entry);
  for (uint32_t i = self->n_victims; i-- > 0;) hr__kueue_list(self->world, self->victims[i]);
  if (entry->assignment.mode == HR__KUEUE_FIT) {
    entry->assignment.mode = HR__KUEUE_DEFERRED_FIT;
    entry->recomputation = HR__KUEUE_DEFERRED;
  } else if (entry->n_targets) {
    entry->recomputation = overlaps(self, entry) ? HR__KUEUE_STILL_OVERLAPPING : HR__KUEUE_NEW_TARGETS;
  }
}

static enum cycle_fit update(struct hr__kueue_cycle *self, struct hr__kueue_entry *entry) {
  enum cycle_fit fit = check_fit(self, entry);
  if (fit == FIT_NO_NODES && hr__kueue_has_gate(self->world, HR__KUEUE_BIT_TOPOLOGY_RECOMPUTE)) {
    assign_again(self, entry);
    fit = check_fit(self, entry);
  }
  if (overlaps(self, entry) && hr__kueue_has_gate(self->world, HR__KUEUE_BIT_RECOMPUTE_ON_OVERLAP)) {
    find_other_targets(self, entry);
    fit = check_fit(self, entry);
  }
  return fit;
}

/* ---- One entry: variants of a workload -------------------------------------------------------------- */

/* The position of a flavor in the order of the queue. HR_NONE: the queue does not have the flavor. */
static uint32_t flavor_rank(const struct hr__kueue_queue *queue, uint32_t flavor) {
  uint32_t rank = 0;
  for (uint32_t i = 0; i < queue->n_groups; i++)
    for (uint32_t k = 0; k < queue->groups[i].n_flavors; k++, rank++)
      if (queue->groups[i].flavors[k] == flavor) return rank;
  return HR_NONE;
}

/* The position of the first flavor that a variant may use. */
static uint32_t variant_rank(const struct hr__kueue_world *world, const struct hr__kueue_workload *workload) {
  uint32_t first = HR_NONE;
  for (uint32_t i = 0; i < workload->n_allowed; i++) {
    uint32_t rank = flavor_rank(&world->queues[workload->queue], workload->allowed[i]);
    if (rank < first) first = rank;
  }
  return first;
}

/* Whether a variant may replace another variant that has a less favorable flavor. */
static bool may_migrate(const struct hr__kueue_world *world, const struct hr__kueue_workload *workload) {
  const struct hr__kueue_queue *queue = &world->queues[workload->queue];
  if (queue->least_preferred == HR_NONE) return true;
  return variant_rank(world, workload) <= flavor_rank(queue, queue->least_preferred);
}

/* Another variant of the same workload that has quota; its first flavor comes before (`more_favorable`) or after the
   first flavor of this variant. HR_NONE: no such variant. */
static uint32_t find_variant(const struct hr__kueue_world *world, const struct hr__kueue_workload *workload,
                             bool more_favorable) {
  if (!hr__kueue_has_gate(world, HR__KUEUE_BIT_CONCURRENT_ADMISSION) || workload->variant_of == HR_NONE) return HR_NONE;
  uint32_t rank = variant_rank(world, workload);
  for (uint32_t id = world->queues[workload->queue].first_admitted; id != HR_NONE;
       id = world->workloads[id].next_admitted) {
    const struct hr__kueue_workload *other = &world->workloads[id];
    if (other == workload || other->variant_of != workload->variant_of) continue;
    uint32_t other_rank = variant_rank(world, other);
    if (more_favorable ? other_rank < rank : other_rank > rank) return id;
  }
  return HR_NONE;
}

/* ---- One entry: decisions --------------------------------------------------------------------------- */

static void skip(struct hr__kueue_entry *entry, enum hr__kueue_reason reason) {
  entry->status = HR__KUEUE_SKIPPED;
  entry->reason = reason;
  entry->keeps_bookmark = false;
}

static void requeue(struct hr__kueue_entry *entry, enum hr__kueue_requeue why, enum hr__kueue_reason reason) {
  entry->requeue = why;
  entry->reason = reason;
}

/* Returns whether the mode of the entry alone decides about it. If so, sets the decision. */
static bool is_done_by_mode(struct hr__kueue_cycle *self, struct hr__kueue_entry *entry) {
  const struct hr__kueue_world *world = self->world;
  const struct hr__kueue_workload *workload = &world->workloads[entry->workload];
  enum hr__kueue_mode mode = entry->assignment.mode;
  if (mode != HR__KUEUE_FIT && hr__kueue_has_gate(world, HR__KUEUE_BIT_TOPOLOGY_REPLACEMENT_FAIL_FAST) &&
      world->topology.has_failed_node && world->topology.has_failed_node(world->topology.self, workload)) {
    entry->status = HR__KUEUE_EVICTED;
    return true;
  }
  if (mode == HR__KUEUE_NO_FIT) {
    requeue(entry, HR__KUEUE_REQUEUE_NO_FIT, entry->assignment.reason);
    return true;
  }
  if (mode != HR__KUEUE_PREEMPT) return false;
  if (!entry->n_targets) {
    requeue(entry, HR__KUEUE_REQUEUE_NO_CANDIDATES, HR__KUEUE_WAITING_FOR_QUOTA);
    reserve(self, entry);
    return true;
  }
  bool gates = hr__kueue_has_gate(world, HR__KUEUE_BIT_CONCURRENT_ADMISSION) ||
               hr__kueue_has_gate(world, HR__KUEUE_BIT_ORCHESTRATED_PREEMPTION);
  if (!gates || !workload->gated) return false;
  entry->status = HR__KUEUE_PREEMPTION_GATED;
  entry->keeps_bookmark = false;
  requeue(entry, HR__KUEUE_REQUEUE_PREEMPTION_GATED, HR__KUEUE_GATED);
  return true;
}

static void take_victims(struct hr__kueue_cycle *self, const struct hr__kueue_entry *entry) {
  const struct hr__kueue_target *targets = targets_of(self, entry);
  for (uint32_t i = 0; i < entry->n_targets; i++) {
    if (self->is_victim[targets[i].workload]) continue;
    self->is_victim[targets[i].workload] = true;
    self->victims[self->n_victims++] = targets[i].workload;
  }
}

static void admit(struct hr__kueue_cycle *self, struct hr__kueue_entry *entry) {
  const struct hr__kueue_workload *workload = &self->world->workloads[entry->workload];
  if (self->not_all_ready && !workload->reserved) {
    entry->waits_for_pods_ready = true;
    requeue(entry, HR__KUEUE_REQUEUE_FAILED_AFTER_NOMINATION, HR__KUEUE_WAITING_FOR_PODS_READY);
    return;
  }
  uint32_t other = find_variant(self->world, workload, false);
  if (other != HR_NONE && !may_migrate(self->world, workload)) {
    skip(entry, HR__KUEUE_PENDING_EVALUATION);
    return;
  }
  if (other != HR_NONE) {
    entry->migrated = other;
    entry->keeps_bookmark = false;
    requeue(entry, HR__KUEUE_REQUEUE_PENDING_MIGRATION, HR__KUEUE_WAITING_FOR_PREEMPTED);
    return;
  }
  entry->status = HR__KUEUE_ADMITTED;
}

/* Decides about an entry. */
static void process(struct hr__kueue_cycle *self, struct hr__kueue_entry *entry) {
  const struct hr__kueue_workload *workload = &self->world->workloads[entry->workload];
  if (find_variant(self->world, workload, true) != HR_NONE) {
    skip(entry, HR__KUEUE_PENDING_EVALUATION);
    return;
  }
  enum cycle_fit fit = update(self, entry);
  if (is_done_by_mode(self, entry)) return;
  if (overlaps(self, entry) || fit != FIT_OK) {
    entry->skipped_preemption = overlaps(self, entry) || entry->assignment.mode == HR__KUEUE_PREEMPT;
    skip(entry, HR__KUEUE_WAITING_FOR_QUOTA);
    return;
  }
  take_victims(self, entry);
  for (uint32_t i = 0; i < entry->assignment.n_usage; i++) entry->held[i] = entry->assignment.usage[i];
  hold_quota(self, entry, entry->assignment.n_usage);
  hold_nodes(self, entry);
  if (entry->assignment.mode == HR__KUEUE_FIT) {
    admit(self, entry);
    return;
  }
  entry->preempts = entry->assignment.mode == HR__KUEUE_PREEMPT;
  entry->keeps_bookmark = false;
  requeue(entry, HR__KUEUE_REQUEUE_PENDING_PREEMPTION, HR__KUEUE_WAITING_FOR_PREEMPTED);
}

/* ---- One entry: bookmarks --------------------------------------------------------------------------- */

bool hr__kueue_bookmark_is_outdated(hr__kueue_gates gates, int64_t last_generation, int64_t generation,
                                    int64_t last_cycle, int64_t cycle, bool known_shapes, bool same_shape) {
  if (hr__kueue_gate_is_on(gates, HR__KUEUE_BIT_PRESERVE_SCAN_PROGRESS)) {
    if (known_shapes && !same_shape) return true;
    if (cycle - last_cycle <= 1) return false;
  }
  return generation > last_generation;
}

void hr__kueue_bookmarks_save(const struct hr__kueue_world *world, const struct hr__kueue_workload *workload,
                              const struct hr__kueue_assignment *assignment, int32_t *row) {
  for (uint32_t i = 0; i < workload->n_pod_sets * world->n_resources; i++) row[i] = -1;
  for (uint32_t i = 0; i < assignment->n_pod_sets; i++) {
    const struct hr__kueue_pod_set_assignment *pod_set = &assignment->pod_sets[i];
    for (uint32_t k = 0; k < pod_set->n_choices; k++)
      row[pod_set->pod_set * world->n_resources + pod_set->choices[k].resource] = pod_set->choices[k].tried;
  }
}

/* ---- Nomination ------------------------------------------------------------------------------------- */

static void start_entry(struct hr__kueue_entry *entry, uint32_t workload) {
  struct hr__kueue_assignment assignment = entry->assignment;
  struct hr__kueue_usage *held = entry->held;
  *entry = (struct hr__kueue_entry){.workload = workload, .assignment = assignment, .held = held, .migrated = HR_NONE};
}

static void nominate(struct hr__kueue_cycle *self, uint32_t workload_id) {
  struct hr__kueue_entry *entry = &self->entries[self->n_entries++];
  const struct hr__kueue_workload *workload = &self->world->workloads[workload_id];
  start_entry(entry, workload_id);
  if (workload->obstacle == HR__KUEUE_FAILED_CHECKS)
    entry->reason = HR__KUEUE_PENDING_EVALUATION;
  else if (workload->queue == HR_NONE)
    entry->reason = HR__KUEUE_MISCONFIGURED;
  else if (self->world->queues[workload->queue].inactive)
    entry->reason = HR__KUEUE_SUSPENDED;
  else if (workload->obstacle != HR__KUEUE_NO_OBSTACLE)
    entry->reason = HR__KUEUE_MISCONFIGURED;
  else
    assign(self, entry);
  if (!entry->nominated && workload->obstacle == HR__KUEUE_NAMESPACE_MISMATCH)
    entry->requeue = HR__KUEUE_REQUEUE_NAMESPACE_MISMATCH;
}

/* ---- Order ------------------------------------------------------------------------------------------ */

/*
 * The order in which the entries of a cycle are processed. Without fair sharing, they are sorted once. With fair
 * sharing, a tournament over the tree of quotas selects one entry after the other. Each child of a cohort proposes an
 * entry. The cohort compares the shares that its children would have with these entries.
 *
 * Source: pkg/scheduler/scheduler.go (makeClassicalIterator) and fair_sharing_iterator.go of kubernetes-sigs/kueue.
 */

/* ---- Order: classical ------------------------------------------------------------------------------- */

int hr__kueue_entry_order(const struct hr__kueue_world *world, const struct hr__kueue_workload *a, int32_t a_borrowing,
                          const struct hr__kueue_workload *b, int32_t b_borrowing) {
  if (a->reserved != b->reserved) return a->reserved ? -1 : 1;
  if (hr__kueue_has_gate(world, HR__KUEUE_BIT_PRIORITIZE_PREEMPTORS) && a->preemptor != b->preemptor)
    return a->preemptor ? -1 : 1;
  if (a_borrowing != b_borrowing) return a_borrowing < b_borrowing ? -1 : 1;
  if (hr__kueue_has_gate(world, HR__KUEUE_BIT_PRIORITY_SORTING) && a->priority != b->priority)
    return a->priority > b->priority ? -1 : 1;
  return (a->queue_us > b->queue_us) - (a->queue_us < b->queue_us);
}

/* Puts the nominated entries in the classical order. */
static void order_classical(struct hr__kueue_cycle *self) {
  for (uint32_t i = 0; i < self->n_entries; i++) {
    const struct hr__kueue_entry *entry = &self->entries[i];
    if (!entry->nominated) continue;
    uint32_t at = self->n_order++;
    for (; at > 0; at--) { /* insertion: there is about one entry per queue */
      const struct hr__kueue_entry *other = &self->entries[self->order[at - 1]];
      if (hr__kueue_entry_order(self->world, &self->world->workloads[other->workload], other->assignment.borrowing,
                                &self->world->workloads[entry->workload], entry->assignment.borrowing) <= 0)
        break;
      self->order[at] = self->order[at - 1];
    }
    self->order[at] = i;
  }
}

/* ---- Order: tournament ------------------------------------------------------------------------------ */

bool hr__kueue_fair_before(const struct hr__kueue_world *world, const struct hr__kueue_workload *a,
                           const struct hr__kueue_share *a_share, bool a_borrows, const struct hr__kueue_workload *b,
                           const struct hr__kueue_share *b_share, bool b_borrows) {
  if (hr__kueue_has_gate(world, HR__KUEUE_BIT_FAIR_NON_BORROWING_FIRST) && a_borrows != b_borrows) return b_borrows;
  int order = hr__kueue_share_compare(a_share, b_share);
  if (order) return order < 0;
  if (hr__kueue_has_gate(world, HR__KUEUE_BIT_PRIORITY_SORTING) && a->priority != b->priority)
    return a->priority > b->priority;
  return a->queue_us < b->queue_us;
}

/* Prepares the tournament. */
static void tournament_begin(struct hr__kueue_cycle *self) {
  for (uint32_t i = 0; i < self->world->tree.n_queues; i++) self->first_of[i] = HR_NONE;
  /* Workloads with quota come first in their queue. */
  for (int pass = 0; pass < 2; pass++) {
    for (uint32_t i = self->n_entries; i-- > 0;) {
      const struct hr__kueue_workload *workload = &self->world->workloads[self->entries[i].workload];
      if (!self->entries[i].nominated || workload->reserved != (pass == 1)) continue;
      self->next_of[i] = self->first_of[workload->queue];
      self->first_of[workload->queue] = i;
    }
  }
}

/* Adds or removes the quota that an entry would take. A workload with quota needs no more. */
static void change_usage(struct hr__kueue_cycle *self, const struct hr__kueue_entry *entry, bool add) {
  const struct hr__kueue_workload *workload = &self->world->workloads[entry->workload];
  const struct hr__kueue_assignment *assignment = &entry->assignment;
  if (workload->reserved) return;
  hr__kueue_change_amounts(&self->world->tree, workload->queue, assignment->usage, assignment->n_usage, add);
}

/* Computes the share that a node would have with the usage of its nominee, and whether it would borrow. */
static void measure(struct hr__kueue_cycle *self, uint32_t node, uint32_t nominee) {
  const struct hr__kueue_entry *entry = &self->entries[nominee];
  change_usage(self, entry, true);
  self->shares[node] = hr__kueue_share_of(self->world, node, NULL, 0);
  self->borrows[node] = hr__kueue_borrows_on(self->world, node, entry->assignment.usage, entry->assignment.n_usage);
  change_usage(self, entry, false);
}

/* Returns the entry that a node proposes; HR_NONE: none. Children that are cohorts are compared before queues. */
static uint32_t run_tournament(struct hr__kueue_cycle *self, uint32_t node) {
  const struct hr__kueue_tree *tree = &self->world->tree;
  if (node < tree->n_queues) return self->first_of[node];
  uint32_t best = HR_NONE;
  for (int queues = 0; queues < 2; queues++) {
    for (uint32_t i = tree->child_start[node]; i < tree->child_start[node + 1]; i++) {
      uint32_t child = tree->children[i];
      if ((child < tree->n_queues) != (queues == 1)) continue;
      uint32_t nominee = self->winners[child] = run_tournament(self, child);
      if (nominee == HR_NONE) continue;
      measure(self, child, nominee);
      if (best != HR_NONE &&
          !hr__kueue_fair_before(self->world, &self->world->workloads[self->entries[nominee].workload],
                                 &self->shares[child], self->borrows[child],
                                 &self->world->workloads[self->entries[self->winners[best]].workload],
                                 &self->shares[best], self->borrows[best]))
        continue;
      best = child;
    }
  }
  return best == HR_NONE ? HR_NONE : self->winners[best];
}

/* Returns the next entry of the tournament; HR_NONE: all are processed. */
static uint32_t tournament_next(struct hr__kueue_cycle *self) {
  const struct hr__kueue_tree *tree = &self->world->tree;
  for (uint32_t queue = 0; queue < tree->n_queues; queue++) {
    if (self->first_of[queue] == HR_NONE) continue;
    uint32_t winner = run_tournament(self, hr__kueue_root(tree, queue));
    self->first_of[self->world->workloads[self->entries[winner].workload].queue] = self->next_of[winner];
    return winner;
  }
  return HR_NONE;
}

/* ---- The cycle -------------------------------------------------------------------------------------- */

static void process_all(struct hr__kueue_cycle *self) {
  if (!self->world->fair_sharing) {
    order_classical(self);
    for (uint32_t i = 0; i < self->n_order; i++) process(self, &self->entries[self->order[i]]);
    return;
  }
  tournament_begin(self);
  for (uint32_t next; (next = tournament_next(self)) != HR_NONE;) {
    self->order[self->n_order++] = next;
    process(self, &self->entries[next]);
  }
}

/* Releases the quota and nodes that the entries hold, and clears the victims. */
static void release(struct hr__kueue_cycle *self) {
  struct hr__kueue_world *world = self->world;
  for (uint32_t i = self->n_order; i-- > 0;) {
    struct hr__kueue_entry *entry = &self->entries[self->order[i]];
    const struct hr__kueue_workload *workload = &world->workloads[entry->workload];
    hr__kueue_change_amounts(&world->tree, workload->queue, entry->held, entry->n_held, false);
    if (entry->holds_nodes) world->topology.reserve(world->topology.self, world, workload, &entry->assignment, -1);
  }
  for (uint32_t i = 0; i < self->n_victims; i++) self->is_victim[self->victims[i]] = false;
  self->n_victims = 0;
}

bool hr__kueue_cycle_run(struct hr__kueue_cycle *self, const uint32_t *heads, uint32_t n_heads) {
  self->n_entries = self->n_order = self->n_targets = self->n_victims = 0;
  self->no_memory = n_heads > self->capacity;
  for (uint32_t i = 0; i < n_heads && !self->no_memory; i++) nominate(self, heads[i]);
  if (!self->no_memory) process_all(self);
  release(self);
  for (uint32_t i = 0; i < self->n_entries; i++) {
    struct hr__kueue_entry *entry = &self->entries[i];
    if (entry->status != HR__KUEUE_NOT_NOMINATED && entry->requeue == HR__KUEUE_REQUEUE_GENERIC)
      entry->requeue = HR__KUEUE_REQUEUE_FAILED_AFTER_NOMINATION;
  }
  return !self->no_memory;
}
