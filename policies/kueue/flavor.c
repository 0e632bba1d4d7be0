/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Chooses flavors for the resources of a workload. Pod sets are processed in order, those of one group together. For
 * each resource in order of names, the flavors of its resource group are tried from the bookmark of the last attempt
 * on, and the chosen flavor serves all requested resources of the group.
 *
 * Layout: scratch arrays by resource hold the requests and the choices. Invariant: the usage of the assignment
 * is the sum of the requests of its pod sets over the chosen flavors, and later pod sets see it.
 *
 * Source: pkg/scheduler/flavorassigner/flavorassigner.go of kubernetes-sigs/kueue.
 */

#include "policies/kueue/kueue.h"

#include "policies/kueue/cycle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Amounts ------------------------------------------------------------------------------------------- */

/* Quantities of Kubernetes, and arithmetic on lists of amounts. The lists are in ascending order of resources.
   Source: k8s.io/apimachinery/pkg/api/resource (quantity.go), pkg/resources/requests.go and
   pkg/util/admissionfairsharing of kubernetes-sigs/kueue. */

/* ---- Quantities ---- */

/* A number: mantissa * 10^exponent. `huge`: the mantissa does not fit. */
struct quantity {
  uint64_t mantissa;
  int exponent;
  bool huge;
};

static const char *read_digits(const char *at, struct quantity *number, bool fraction) {
  for (; *at >= '0' && *at <= '9'; at++) {
    if (number->mantissa > (UINT64_MAX - 9) / 10) {
      if (!fraction) number->huge = true;
      continue;
    }
    number->mantissa = number->mantissa * 10 + (uint64_t)(*at - '0');
    if (fraction) number->exponent--;
  }
  return at;
}

/* Reads the suffix. `shift` is the power of two. Returns false if it is unknown. */
static bool read_suffix(const char *text, int *exponent, unsigned *shift) {
  static const char decimal[] = "numkMGTPE", binary[] = "KMGTPE";
  static const int powers[] = {-9, -6, -3, 3, 6, 9, 12, 15, 18};
  *shift = 0;
  if (!*text) return true;
  const char *found = strchr(binary, *text);
  if (text[1] == 'i' && !text[2] && found) {
    *shift = 10 * ((unsigned)(found - binary) + 1);
    return true;
  }
  found = strchr(decimal, *text);
  if (found && !text[1]) {
    *exponent += powers[found - decimal];
    return true;
  }
  if (*text != 'e' && *text != 'E') return false;
  char *end;
  long power = strtol(text + 1, &end, 10);
  if (end == text + 1 || *end || power < -100 || power > 100) return false;
  *exponent += (int)power;
  return true;
}

static uint64_t scale(struct quantity number, unsigned shift) {
  uint64_t value = number.mantissa;
  if (number.huge || (shift && value > UINT64_MAX >> shift)) return UINT64_MAX;
  value <<= shift;
  bool rest = false;
  for (; number.exponent > 0 && value; number.exponent--) {
    if (value > UINT64_MAX / 10) return UINT64_MAX;
    value *= 10;
  }
  for (; number.exponent < 0 && value; number.exponent++) {
    rest |= value % 10 != 0;
    value /= 10;
  }
  return value + rest;
}

bool hr__kueue_quantity(const char *text, bool thousandths, int64_t *value) {
  struct quantity number = {0};
  bool negative = *text == '-';
  const char *start = *text == '-' || *text == '+' ? text + 1 : text;
  const char *at = read_digits(start, &number, false);
  bool digits = at > start;
  if (*at == '.') {
    const char *fraction = at + 1;
    at = read_digits(fraction, &number, true);
    digits |= at > fraction;
  }
  unsigned shift;
  if (!digits || !read_suffix(at, &number.exponent, &shift)) return false;
  if (thousandths) number.exponent += 3;
  uint64_t size = scale(number, shift);
  if (negative)
    *value = size > (uint64_t)INT64_MAX ? INT64_MIN : -(int64_t)size;
  else
    *value = size > (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)size;
  return true;
}

/* ---- Requests ---- */

static int64_t amount_of(const struct hr__kueue_amounts *amounts, uint32_t resource) {
  for (uint32_t i = 0; amounts && i < amounts->count; i++)
    if (amounts->items[i].resource == resource) return amounts->items[i].amount;
  return 0;
}

int64_t hr__kueue_count_in(const struct hr__kueue_amounts *requests, const struct hr__kueue_amounts *capacity,
                           uint32_t *limiting) {
  int64_t least = 0;
  uint32_t resource = HR_NONE;
  for (uint32_t i = 0; i < requests->count; i++) {
    int64_t request = requests->items[i].amount, room = amount_of(capacity, requests->items[i].resource);
    int64_t count = INT32_MAX;
    if (request != 0 && (request != -1 || room != INT64_MIN)) count = room / request;
    if (count > INT32_MAX) count = INT32_MAX;
    if (count < 0) count = 0;
    if (resource != HR_NONE && count >= least) continue;
    least = count;
    resource = requests->items[i].resource;
  }
  if (limiting) *limiting = resource;
  return least;
}

/* ---- Admission fair sharing ---- */

static double weighted(const struct hr__kueue_amounts *amounts, const double *weights, uint32_t cpu) {
  double sum = 0;
  for (uint32_t i = 0; amounts && i < amounts->count; i++) {
    double amount = (double)amounts->items[i].amount / (amounts->items[i].resource == cpu ? 1000.0 : 1.0);
    sum += weights[amounts->items[i].resource] * amount;
  }
  return sum;
}

double hr__kueue_local_usage(const struct hr__kueue_amounts *consumed, const struct hr__kueue_amounts *penalty,
                             const double *weights, double queue_weight, uint32_t cpu) {
  if (queue_weight <= 0) return (double)INFINITY;
  return (weighted(consumed, weights, cpu) + weighted(penalty, weights, cpu)) / queue_weight;
}

/* ---- Reduced requests ---------------------------------------------------------------------------------- */

/* Partial admission: a binary search for the largest numbers of pods that fit. Candidate k of 0 .. sum of (full -
   minimum) takes away the k-th part of each pod set's difference. Source:
   pkg/scheduler/flavorassigner/podset_reducer.go of kubernetes-sigs/kueue. */

static int64_t least(int64_t full, int64_t minimum) {
  return minimum < 0 ? full : minimum;
}

static void fill(const int64_t *full, const int64_t *minimum, uint32_t n, int64_t step, int64_t total,
                 int64_t *counts) {
  for (uint32_t i = 0; i < n; i++) {
    int64_t delta = full[i] - least(full[i], minimum[i]);
    counts[i] = full[i] - delta * step / total;
  }
}

bool hr__kueue_reduce(const int64_t *full, const int64_t *minimum, uint32_t n, int64_t *counts,
                      hr__kueue_try_counts *fits, void *self) {
  int64_t total = 0;
  for (uint32_t i = 0; i < n; i++) total += full[i] - least(full[i], minimum[i]);
  if (total <= 0) return false;
  int64_t low = 0, high = total + 1; /* the first candidate that fits is in low .. high; high: none */
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    fill(full, minimum, n, middle, total, counts);
    if (middle <= total && fits(self, counts))
      high = middle;
    else
      low = middle + 1;
  }
  if (low > total) return false;
  fill(full, minimum, n, low, total, counts);
  return fits(self, counts);
}

/* ---- Flavors ------------------------------------------------------------------------------------------- */

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

/* Starts the row of a pod set: its count and its requests. A pod set with quota requests the amounts with which it was
   admitted. */
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

/* The usage of the replaced slice of the job must not count twice. */
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
