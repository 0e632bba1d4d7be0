/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Chooses flavors for the resources of a workload. Pod sets are processed in order, those of one group together. For
 * each resource in order of names, the flavors of its resource group are tried from the bookmark of the last attempt
 * on, and the chosen flavor serves all requested resources of the group.
 *
 * Layout: scratch arrays by resource hold what is requested and what is chosen. Invariant: the usage of the assignment
 * is the sum of the requests of its pod sets over the chosen flavors, and later pod sets see it.
 *
 * Source: pkg/scheduler/flavorassigner/flavorassigner.go of kubernetes-sigs/kueue.
 */

#include "policies/kueue/flavor.h"

#include "policies/kueue/flavor_steps.h"
#include "policies/kueue/quota.h"
#include "policies/kueue/workload.h"

#include <string.h>

/* ---- Memory ---- */

bool hr__kueue_assigner_begin(struct hr__kueue_assigner *self, struct hr_arena *arena, struct hr__kueue_world *world) {
  *self = (struct hr__kueue_assigner){.world = world};
  size_t n = (size_t)world->n_resources + 1, pod_sets = (size_t)world->max_pod_sets + 1;
  self->sums = hr_arena_alloc(arena, n * sizeof *self->sums);
  self->wanted = hr_arena_alloc(arena, n * sizeof *self->wanted);
  self->chosen = hr_arena_alloc(arena, n * sizeof *self->chosen);
  self->trial = hr_arena_alloc(arena, n * sizeof *self->trial);
  self->best = hr_arena_alloc(arena, n * sizeof *self->best);
  self->attempts = hr_arena_alloc(arena, ((size_t)world->n_flavors + 1) * sizeof *self->attempts);
  self->considered = hr_arena_alloc(arena, ((size_t)world->n_flavors + 1) * sizeof *self->considered);
  self->members = hr_arena_alloc(arena, pod_sets * sizeof *self->members);
  self->placements.found = hr_arena_alloc(arena, pod_sets * sizeof *self->placements.found);
  self->placements.tried = hr_arena_alloc(arena, pod_sets * sizeof *self->placements.tried);
  return self->sums && self->wanted && self->chosen && self->trial && self->best && self->attempts &&
         self->considered && self->members && self->placements.found && self->placements.tried;
}

bool hr__kueue_assignment_begin(struct hr__kueue_assignment *assignment, struct hr_arena *arena,
                                const struct hr__kueue_world *world) {
  size_t n = (size_t)world->n_resources + 1, pod_sets = (size_t)world->max_pod_sets + 1;
  *assignment = (struct hr__kueue_assignment){0};
  assignment->usage = hr_arena_alloc(arena, n * pod_sets * sizeof *assignment->usage);
  assignment->pod_sets = hr_arena_alloc(arena, pod_sets * sizeof *assignment->pod_sets);
  if (!assignment->usage || !assignment->pod_sets) return false;
  for (size_t i = 0; i < pod_sets; i++) {
    struct hr__kueue_pod_set_assignment *row = &assignment->pod_sets[i];
    row->requests = hr_arena_alloc(arena, n * sizeof *row->requests);
    row->choices = hr_arena_alloc(arena, n * sizeof *row->choices);
    row->attempts = hr_arena_alloc(arena, ((size_t)world->n_flavors + 1) * sizeof *row->attempts);
    if (!row->requests || !row->choices || !row->attempts) return false;
  }
  return true;
}

/* ---- Requests ---- */

static void set_request(struct hr__kueue_pod_set_assignment *row, uint32_t resource, int64_t amount) {
  uint32_t at = 0;
  while (at < row->n_requests && row->requests[at].resource < resource) at++;
  if (at == row->n_requests || row->requests[at].resource != resource) {
    memmove(&row->requests[at + 1], &row->requests[at], (row->n_requests - at) * sizeof *row->requests);
    row->n_requests++;
  }
  row->requests[at] = (struct hr__kueue_amount){resource, amount};
}

/* Starts the row of a pod set: its count and its requests. A pod set with quota requests what it was admitted with. */
static void start_row(const struct hr__kueue_assigner *self, const struct hr__kueue_workload *workload, uint32_t index,
                      const int64_t *counts, struct hr__kueue_pod_set_assignment *row) {
  const struct hr__kueue_pod_set *pod_set = &workload->pod_sets[index];
  row->pod_set = index;
  row->n_requests = row->n_choices = row->n_attempts = 0;
  row->imperfect = row->failed = row->placement_pending = row->placement_ready = false;
  row->reason = HR__KUEUE_NO_REASON;
  row->placement = NULL;
  row->count = counts ? counts[index] : hr__kueue_pods_needed(pod_set);
  if (workload->reserved && pod_set->n_assigned) {
    if (pod_set->admitted_count < row->count) row->count = pod_set->admitted_count;
    for (uint32_t i = 0; i < pod_set->n_assigned; i++)
      set_request(row, pod_set->assigned[i].resource, hr__kueue_assigned_amount(pod_set, &pod_set->assigned[i]));
    row->placement = pod_set->placement;
    row->placement_pending = pod_set->placement_pending;
  } else {
    for (uint32_t i = 0; i < pod_set->requests.count; i++)
      set_request(row, pod_set->requests.items[i].resource,
                  hr__kueue_times(pod_set->requests.items[i].amount, row->count));
  }
  uint32_t pods = self->world->pods;
  if (pods != HR_NONE && hr__kueue_group_of(&self->world->queues[workload->queue], pods))
    set_request(row, pods, row->count);
}

/* ---- One group of pod sets ---- */

/* Collects the members of the group of pod set `first` and the sums of their requests. The rows of the members follow
   each other in `out`. */
static void collect_group(struct hr__kueue_assigner *self, const struct hr__kueue_workload *workload, uint32_t first,
                          const int64_t *counts, struct hr__kueue_assignment *out) {
  uint32_t group = workload->pod_sets[first].group, n = self->world->n_resources;
  memset(self->wanted, 0, n * sizeof *self->wanted);
  self->n_members = 0;
  for (uint32_t i = 0; i < n; i++) self->chosen[i].flavor = HR_NONE;
  for (uint32_t i = 0; i < self->world->n_flavors; i++) self->attempts[i].flavor = HR_NONE;
  for (uint32_t i = first; i < workload->n_pod_sets; i++) {
    if (i != first && (group == HR_NONE || workload->pod_sets[i].group != group)) continue;
    struct hr__kueue_pod_set_assignment *row = &out->pod_sets[out->n_pod_sets + self->n_members];
    self->members[self->n_members++] = i;
    start_row(self, workload, i, counts, row);
    for (uint32_t k = 0; k < row->n_requests; k++) {
      uint32_t resource = row->requests[k].resource;
      self->sums[resource] = hr__kueue_plus(self->wanted[resource] ? self->sums[resource] : 0, row->requests[k].amount);
      self->wanted[resource] = true;
    }
    const struct hr__kueue_pod_set *pod_set = &workload->pod_sets[i];
    for (uint32_t k = 0; workload->reserved && k < pod_set->n_assigned; k++)
      self->chosen[pod_set->assigned[k].resource] = (struct hr__kueue_choice){
          .resource = pod_set->assigned[k].resource, .flavor = pod_set->assigned[k].flavor, .mode = HR__KUEUE_FIT};
  }
}

/* Chooses flavors for all resources of the group. Returns false if there is none for some resource; `reason` is then
   set if no flavor was tried. Sets `imperfect` if some flavor does not simply fit. */
static bool choose_flavors(struct hr__kueue_assigner *self, const struct hr__kueue_workload *workload,
                           const struct hr__kueue_assignment *out, bool *imperfect, enum hr__kueue_reason *reason) {
  const struct hr__kueue_world *world = self->world;
  const struct hr__kueue_queue *queue = &world->queues[workload->queue];
  for (uint32_t resource = 0; resource < world->n_resources; resource++) {
    if (!self->wanted[resource]) continue;
    const struct hr__kueue_group *group = hr__kueue_group_of(queue, resource);
    bool undeclared_allowed = world->ignore_undeclared && hr__kueue_has_gate(world, HR__KUEUE_BIT_QUOTA_CHECK_STRATEGY);
    if (!group && (self->sums[resource] == 0 || undeclared_allowed)) continue;
    if (self->chosen[resource].flavor != HR_NONE) continue; /* chosen with another resource of its group */
    struct hr__kueue_outcome outcome = {HR__KUEUE_FIT_NONE, 0};
    if (!group)
      *reason = HR__KUEUE_NO_MATCHING_FLAVOR;
    else
      outcome = hr__kueue_flavor_search(self, workload, group, resource, out);
    if (group) hr__kueue_attempts_merge(self, group);
    if (outcome.fit == HR__KUEUE_FIT_NONE) return false;
    for (uint32_t i = 0; i < world->n_resources; i++)
      if (self->best[i].flavor != HR_NONE) self->chosen[i] = self->best[i];
    *imperfect |= outcome.fit != HR__KUEUE_FIT_FREE;
  }
  return true;
}

/* A pod set without requests, such as a leader, is placed with the flavors of its group that have a topology. */
static void inherit_topology(const struct hr__kueue_assigner *self, struct hr__kueue_pod_set_assignment *row) {
  for (uint32_t i = 0; i < self->world->n_resources; i++) {
    uint32_t flavor = self->chosen[i].flavor;
    if (flavor != HR_NONE && self->world->flavors[flavor].topology) row->choices[row->n_choices++] = self->chosen[i];
  }
}

/* Finishes the row of a member of the group, and adds its requests to the usage. */
static void finish_row(const struct hr__kueue_assigner *self, const struct hr__kueue_workload *workload,
                       struct hr__kueue_assignment *out, bool found) {
  struct hr__kueue_pod_set_assignment *row = &out->pod_sets[out->n_pod_sets++];
  for (uint32_t i = 0; i < self->world->n_flavors; i++)
    if (self->attempts[i].flavor != HR_NONE) row->attempts[row->n_attempts++] = self->attempts[i];
  if (found && !row->n_requests && workload->pod_sets[row->pod_set].group != HR_NONE) inherit_topology(self, row);
  for (uint32_t i = 0; found && i < row->n_requests; i++) {
    uint32_t resource = row->requests[i].resource;
    const struct hr__kueue_choice *choice = &self->chosen[resource];
    if (choice->flavor == HR_NONE) continue;
    row->choices[row->n_choices++] = *choice;
    if (choice->borrow > out->borrowing) out->borrowing = choice->borrow;
    hr__kueue_usage_add(out->usage, &out->n_usage, hr__kueue_pair(self->world, choice->flavor, resource),
                        row->requests[i].amount);
  }
}

/* What the replaced slice of the job uses does not count twice. */
static void subtract_replaced(const struct hr__kueue_world *world, const struct hr__kueue_workload *replaced,
                              struct hr__kueue_assignment *out) {
  for (uint32_t i = 0; i < out->n_usage; i++)
    for (uint32_t k = 0; k < replaced->n_usage; k++)
      if (out->usage[i].pair == replaced->usage[k].pair && world)
        out->usage[i].amount = hr__kueue_minus(out->usage[i].amount, replaced->usage[k].amount);
}

void hr__kueue_assign(struct hr__kueue_assigner *self, const struct hr__kueue_workload *workload, const int64_t *counts,
                      struct hr__kueue_assignment *out) {
  out->n_pod_sets = out->n_usage = 0;
  out->borrowing = 0;
  bool complete = true;
  for (uint32_t i = 0; i < workload->n_pod_sets && complete; i++) {
    uint32_t group = workload->pod_sets[i].group;
    if (group != HR_NONE && group != i) continue; /* done with the first pod set of its group */
    bool imperfect = false;
    enum hr__kueue_reason reason = HR__KUEUE_NO_REASON;
    collect_group(self, workload, i, counts, out);
    bool found = choose_flavors(self, workload, out, &imperfect, &reason);
    for (uint32_t k = 0; k < self->n_members; k++) {
      struct hr__kueue_pod_set_assignment *row = &out->pod_sets[out->n_pod_sets];
      finish_row(self, workload, out, found);
      row->imperfect = imperfect || !found;
      row->reason = reason;
      if (row->imperfect && row->n_requests && !row->n_choices) complete = false;
    }
  }
  if (workload->replaced) subtract_replaced(self->world, workload->replaced, out);
  hr__kueue_assignment_settle(self->world, workload, out);
  if (complete && out->mode != HR__KUEUE_NO_FIT && hr__kueue_has_gate(self->world, HR__KUEUE_BIT_TOPOLOGY))
    hr__kueue_assign_topology(self, workload, out);
}

/* ---- Mode and reason ---- */

static enum hr__kueue_mode row_mode(const struct hr__kueue_pod_set_assignment *row) {
  if (row->failed) return HR__KUEUE_NO_FIT;
  if (!row->imperfect) return HR__KUEUE_FIT;
  enum hr__kueue_mode mode = row->n_choices ? HR__KUEUE_FIT : HR__KUEUE_NO_FIT;
  for (uint32_t i = 0; i < row->n_choices; i++)
    if (row->choices[i].mode < mode) mode = row->choices[i].mode;
  return mode;
}

static enum hr__kueue_reason worse(enum hr__kueue_reason a, enum hr__kueue_reason b) {
  return a >= b ? a : b;
}

/* The mildest reason among the flavors of a resource group that do not fit; HR__KUEUE_GATED, which is none of them, if
   there is no such flavor. */
static enum hr__kueue_reason group_reason(const struct hr__kueue_pod_set_assignment *row,
                                          const struct hr__kueue_group *group) {
  enum hr__kueue_reason mildest = HR__KUEUE_GATED;
  for (uint32_t i = 0; i < row->n_attempts; i++) {
    if (row->attempts[i].mode != HR__KUEUE_NO_FIT) continue;
    for (uint32_t k = 0; k < group->n_flavors; k++)
      if (group->flavors[k] == row->attempts[i].flavor && row->attempts[i].reason < mildest)
        mildest = row->attempts[i].reason;
  }
  return mildest;
}

/* One flavor of each resource group is needed, so the most severe of the groups' mildest reasons counts. */
static enum hr__kueue_reason row_reason(const struct hr__kueue_queue *queue,
                                        const struct hr__kueue_pod_set_assignment *row) {
  if (!row->n_attempts) return HR__KUEUE_NO_MATCHING_FLAVOR;
  enum hr__kueue_reason reason = row->reason;
  for (uint32_t i = 0; i < queue->n_groups; i++) {
    enum hr__kueue_reason mildest = group_reason(row, &queue->groups[i]);
    if (mildest != HR__KUEUE_GATED) reason = worse(reason, mildest);
  }
  return reason;
}

void hr__kueue_assignment_settle(const struct hr__kueue_world *world, const struct hr__kueue_workload *workload,
                                 struct hr__kueue_assignment *assignment) {
  const struct hr__kueue_queue *queue = &world->queues[workload->queue];
  assignment->mode = assignment->n_pod_sets ? HR__KUEUE_FIT : HR__KUEUE_NO_FIT;
  assignment->reason = HR__KUEUE_NO_REASON;
  for (uint32_t i = 0; i < assignment->n_pod_sets; i++) {
    enum hr__kueue_mode mode = row_mode(&assignment->pod_sets[i]);
    if (mode < assignment->mode) assignment->mode = mode;
    if (mode == HR__KUEUE_NO_FIT)
      assignment->reason = worse(assignment->reason, row_reason(queue, &assignment->pod_sets[i]));
  }
}

void hr__kueue_assignment_place(struct hr__kueue_assignment *assignment,
                                const struct hr__kueue_placements *placements) {
  for (uint32_t i = 0; i < assignment->n_pod_sets; i++) {
    struct hr__kueue_pod_set_assignment *row = &assignment->pod_sets[i];
    if (!placements->tried[row->pod_set]) continue;
    row->placement = placements->found[row->pod_set];
    if (row->placement && row->placement_pending) {
      row->placement_pending = false;
      row->placement_ready = true;
    }
  }
}
