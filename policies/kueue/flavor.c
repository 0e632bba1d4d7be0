/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Amounts of resources, and the choice of flavors for the resources of a workload.
 *
 * Pod sets are processed in order, those of one group together. Resources are processed in the order of their names.
 * For each resource, the flavors of its resource group are tried, beginning after the bookmark of the last attempt
 * (`tried` of hr__kueue_workload). The chosen flavor serves all requested resources of the group.
 *
 * Layout: scratch arrays by resource hold the requests and the choices. Invariant: the usage of the assignment is the
 * sum of the requests of the pod sets for which flavors were chosen. The requests of a later pod set must fit in
 * addition to it.
 *
 * Source: pkg/scheduler/flavorassigner/flavorassigner.go of kubernetes-sigs/kueue.
 */

#include "policies/kueue/kueue.h"

#include "policies/kueue/cycle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Amounts ---------------------------------------------------------------------------------------- */

/* Quantities of Kubernetes, and arithmetic on lists of amounts. The lists are in ascending order of resources.
   Source: k8s.io/apimachinery/pkg/api/resource (quantity.go), pkg/resources/requests.go and
   pkg/util/admissionfairsharing of kubernetes-sigs/kueue. */

/* ---- Amounts: quantities ---------------------------------------------------------------------------- */

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

/* ---- Amounts: requests ------------------------------------------------------------------------------ */

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

/* ---- Amounts: admission fair sharing ---------------------------------------------------------------- */

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

/* ---- Reduced requests ------------------------------------------------------------------------------- */

/* Partial admission: a binary search for the largest numbers of pods that fit. The difference of a pod set is full -
   minimum, and `total` is the sum of the differences. Candidate k (0 .. total) reduces each pod set by k / total of its
   difference, rounded down. Source: pkg/scheduler/flavorassigner/podset_reducer.go of kubernetes-sigs/kueue. */

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

/* ---- Mode and reason -------------------------------------------------------------------------------- */

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

/* The mildest reason of the flavors of a resource group that do not fit. If all flavors fit, the result is
   HR__KUEUE_GATED, which no flavor has as its reason. */
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

/* Returns the most severe of the reasons of the resource groups, because the pod set needs a flavor of each group. */
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

/* Computes the mode and the reason again after the modes of choices have changed. */
static void assignment_settle(const struct hr__kueue_world *world, const struct hr__kueue_workload *workload,
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

/* ---- Search ----------------------------------------------------------------------------------------- */

/* The search over the flavors of one resource group, and the placement of the chosen flavors. A flavor is as good as
   the worst of its resources. The search stops at the first flavor that satisfies the rules of the queue
   (flavorFungibility). If no flavor does, the best flavor is chosen, or the first of several equally good ones. Source:
   pkg/scheduler/flavorassigner/flavorassigner.go and flavor_assigner_attempts.go of kubernetes-sigs/kueue. */

bool hr__kueue_is_preferred(struct hr__kueue_outcome a, struct hr__kueue_outcome b, bool preemption_first) {
  if (a.fit == HR__KUEUE_FIT_NONE || b.fit == HR__KUEUE_FIT_NONE) return a.fit != HR__KUEUE_FIT_NONE;
  bool a_hopeless = a.fit == HR__KUEUE_FIT_NO_CANDIDATES, b_hopeless = b.fit == HR__KUEUE_FIT_NO_CANDIDATES;
  if (a_hopeless != b_hopeless) return b_hopeless;
  if (preemption_first) return a.level != b.level ? a.level < b.level : a.fit > b.fit;
  return a.fit != b.fit ? a.fit > b.fit : a.level < b.level;
}

/* ---- Search: labels --------------------------------------------------------------------------------- */

/* Whether the required node affinity matches the labels of a flavor. Expressions with keys that the flavor does not
   label are ignored. A term that has only such expressions matches. */
static bool affinity_matches(const struct hr__kueue_selector *selector, const struct hr__kueue_labels *labels) {
  if (!selector->n_required) return true;
  bool some = false;
  for (uint32_t i = 0; i < selector->n_required; i++) {
    const struct hr__kueue_term *term = &selector->required[i];
    bool matches = true, relevant = false;
    for (uint32_t k = 0; k < term->n_expressions; k++) {
      if (!hr__kueue_label_get(labels, term->expressions[k].key)) continue;
      struct hr__kueue_term one = {.expressions = &term->expressions[k], .n_expressions = 1};
      relevant = true;
      matches &= hr__kueue_term_matches(&one, labels);
    }
    if (!relevant) return true;
    some |= matches;
  }
  return some;
}

bool hr__kueue_flavor_matches(const struct hr__kueue_world *world, uint32_t queue,
                              const struct hr__kueue_pod_set *pod_set, uint32_t id) {
  const struct hr__kueue_flavor *flavor = &world->flavors[id];
  if (!flavor->exists) return false;
  if (hr__kueue_has_gate(world, HR__KUEUE_BIT_TOPOLOGY)) {
    if (world->topology.matches) {
      if (!world->topology.matches(world->topology.self, world, queue, pod_set, id)) return false;
    } else if (pod_set->topology.mode != HR__KUEUE_NO_TOPOLOGY && !flavor->topology) {
      return false;
    }
  }
  if (hr__kueue_untolerated(&flavor->taints, &pod_set->selector.tolerations, &flavor->tolerations)) return false;
  return hr__kueue_labels_include(&flavor->labels, &pod_set->selector.labels, true) &&
         affinity_matches(&pod_set->selector, &flavor->labels);
}

/* Whether a recomputation may use the flavor: some member of the group of pod sets had it for the resource. Without
   `pinned`, all flavors may be used. */
static bool is_pinned(const struct hr__kueue_assigner *self, uint32_t flavor, uint32_t resource) {
  if (!self->pinned) return true;
  for (uint32_t i = 0; i < self->pinned->n_pod_sets; i++) {
    const struct hr__kueue_pod_set_assignment *row = &self->pinned->pod_sets[i];
    bool member = false;
    for (uint32_t k = 0; k < self->n_members; k++) member |= self->members[k] == row->pod_set;
    for (uint32_t k = 0; member && k < row->n_choices; k++)
      if (row->choices[k].resource == resource && row->choices[k].flavor == flavor) return true;
  }
  return false;
}

/* Whether a variant of a workload may use the flavor. */
static bool is_allowed(const struct hr__kueue_world *world, const struct hr__kueue_workload *workload,
                       uint32_t flavor) {
  if (!hr__kueue_has_gate(world, HR__KUEUE_BIT_CONCURRENT_ADMISSION) || !workload->allowed) return true;
  for (uint32_t i = 0; i < workload->n_allowed; i++)
    if (workload->allowed[i] == flavor) return true;
  return false;
}

static bool members_match(const struct hr__kueue_assigner *self, const struct hr__kueue_workload *workload,
                          uint32_t flavor) {
  if (workload->suits && !workload->suits[flavor]) return false;
  for (uint32_t i = 0; i < self->n_members; i++)
    if (!hr__kueue_flavor_matches(self->world, workload->queue, &workload->pod_sets[self->members[i]], flavor))
      return false;
  return true;
}

/* ---- Search: one flavor ----------------------------------------------------------------------------- */

static bool may_preempt_while_borrowing(const struct hr__kueue_world *world, const struct hr__kueue_queue *queue) {
  return queue->preemption.borrow || (world->fair_sharing && queue->preemption.reclaim != HR__KUEUE_POLICY_NEVER);
}

/* Returns how one pair can provide `amount`, which includes the amounts of earlier pod sets of the workload. */
static struct hr__kueue_outcome fit_pair(struct hr__kueue_assigner *self, const struct hr__kueue_workload *workload,
                                         uint32_t pair, int64_t amount, enum hr__kueue_reason *reason) {
  struct hr__kueue_world *world = self->world;
  uint32_t queue = workload->queue;
  *reason = HR__KUEUE_EXCEEDS_MAX_QUOTA;
  if (amount > hr__kueue_potential(&world->tree, queue, pair)) return (struct hr__kueue_outcome){HR__KUEUE_FIT_NONE, 0};
  bool may_reclaim;
  int32_t level = (int32_t)hr__kueue_borrow_level(&world->tree, queue, pair, amount, &may_reclaim);
  *reason = HR__KUEUE_NO_REASON;
  if (amount <= hr__kueue_available(&world->tree, queue, pair))
    return (struct hr__kueue_outcome){HR__KUEUE_FIT_FREE, level};
  if (world->tree.nominal[hr__kueue_cell(&world->tree, queue, pair)] >= amount || may_reclaim ||
      may_preempt_while_borrowing(world, &world->queues[queue])) {
    int32_t after = 0;
    enum hr__kueue_fit fit = self->simulate(self->simulation, world, workload, pair, amount, &after);
    return (struct hr__kueue_outcome){fit, after};
  }
  *reason = HR__KUEUE_WAITING_FOR_QUOTA;
  return (struct hr__kueue_outcome){HR__KUEUE_FIT_NONE, level};
}

static int64_t used(const struct hr__kueue_assignment *out, uint32_t pair) {
  for (uint32_t i = 0; i < out->n_usage; i++)
    if (out->usage[i].pair == pair) return out->usage[i].amount;
  return 0;
}

/* Returns whether the slice that the workload replaces has another flavor for this resource. If not, the amount of the
   slice is subtracted from `*amount`. */
static bool replaced_differs(const struct hr__kueue_assigner *self, const struct hr__kueue_workload *workload,
                             uint32_t flavor, uint32_t resource, int64_t *amount) {
  if (!workload->replaced) return false;
  for (uint32_t i = 0; i < self->n_members; i++) {
    const struct hr__kueue_pod_set *old = &workload->replaced->pod_sets[self->members[i]];
    bool same = false;
    for (uint32_t k = 0; k < old->n_assigned; k++) {
      if (old->assigned[k].resource != resource || old->assigned[k].flavor != flavor) continue;
      same = true;
      *amount = hr__kueue_minus(*amount, old->assigned[k].amount);
    }
    if (!same) return true;
  }
  return false;
}

static enum hr__kueue_mode mode_of(enum hr__kueue_fit fit) {
  if (fit == HR__KUEUE_FIT_NONE) return HR__KUEUE_NO_FIT;
  return fit == HR__KUEUE_FIT_FREE ? HR__KUEUE_FIT : HR__KUEUE_PREEMPT;
}

/* Tries one flavor for all requested resources of its group. Leaves the choices in `trial`. */
static struct hr__kueue_outcome try_flavor(struct hr__kueue_assigner *self, const struct hr__kueue_workload *workload,
                                           const struct hr__kueue_group *group, uint32_t flavor,
                                           const struct hr__kueue_assignment *out) {
  const struct hr__kueue_queue *queue = &self->world->queues[workload->queue];
  struct hr__kueue_outcome worst = {HR__KUEUE_FIT_FREE, 0};
  struct hr__kueue_attempt *attempt = &self->considered[self->n_considered++];
  *attempt = (struct hr__kueue_attempt){.flavor = flavor};
  for (uint32_t i = 0; i < self->world->n_resources; i++) self->trial[i].flavor = HR_NONE;
  for (uint32_t i = 0; i < group->n_resources; i++) {
    uint32_t resource = group->resources[i];
    if (!self->wanted[resource]) continue;
    uint32_t pair = hr__kueue_pair(self->world, flavor, resource);
    int64_t amount = self->sums[resource];
    enum hr__kueue_reason reason = HR__KUEUE_NO_MATCHING_FLAVOR;
    struct hr__kueue_outcome outcome = {HR__KUEUE_FIT_NONE, 0};
    bool differs = replaced_differs(self, workload, flavor, resource, &amount);
    if (!differs) outcome = fit_pair(self, workload, pair, hr__kueue_plus(used(out, pair), amount), &reason);
    if (reason > attempt->reason) attempt->reason = reason;
    if (outcome.level > attempt->borrow) attempt->borrow = outcome.level;
    if (hr__kueue_is_preferred(worst, outcome, queue->fungibility.preemption_first)) worst = outcome;
    if (worst.fit == HR__KUEUE_FIT_NONE) break;
    self->trial[resource] = (struct hr__kueue_choice){
        .resource = resource, .flavor = flavor, .mode = mode_of(outcome.fit), .borrow = outcome.level};
  }
  attempt->mode = mode_of(worst.fit);
  return worst;
}

/* ---- Search: all flavors of a group ----------------------------------------------------------------- */

static bool tries_next(struct hr__kueue_outcome outcome, const struct hr__kueue_fungibility *fungibility) {
  if (outcome.fit == HR__KUEUE_FIT_NONE || outcome.fit == HR__KUEUE_FIT_NO_CANDIDATES) return true;
  if (outcome.fit != HR__KUEUE_FIT_FREE && fungibility->preempt_next) return true;
  return outcome.level > 0 && fungibility->borrow_next;
}

static void keep_best(struct hr__kueue_assigner *self) {
  struct hr__kueue_choice *best = self->best;
  self->best = self->trial;
  self->trial = best;
}

/* Sets the bookmark of the best choices to the last flavor that was tried; to -1 if this was the last flavor of the
   group. */
static void set_bookmark(struct hr__kueue_assigner *self, uint32_t last, uint32_t n_flavors) {
  for (uint32_t i = 0; i < self->world->n_resources; i++)
    if (self->best[i].flavor != HR_NONE) self->best[i].tried = last + 1 == n_flavors ? -1 : (int32_t)last;
}

/* Tries the flavors of the resource group of `resource` for the group of pod sets of the assigner. Leaves the choices
   in `best` and the flavors that were tried in `considered`. Returns the outcome of the best flavor;
   HR__KUEUE_FIT_NONE: no flavor fits. */
static struct hr__kueue_outcome search_flavors(struct hr__kueue_assigner *self,
                                               const struct hr__kueue_workload *workload,
                                               const struct hr__kueue_group *group, uint32_t resource,
                                               const struct hr__kueue_assignment *out) {
  const struct hr__kueue_fungibility *fungibility = &self->world->queues[workload->queue].fungibility;
  bool fungible = hr__kueue_has_gate(self->world, HR__KUEUE_BIT_FLAVOR_FUNGIBILITY);
  struct hr__kueue_outcome best = {HR__KUEUE_FIT_NONE, INT32_MAX};
  uint32_t at = 0, last = 0;
  if (fungible && workload->tried)
    at = (uint32_t)(workload->tried[self->members[0] * self->world->n_resources + resource] + 1);
  self->n_considered = 0;
  for (uint32_t i = 0; i < self->world->n_resources; i++) self->best[i].flavor = HR_NONE;
  for (; at < group->n_flavors; at++) {
    uint32_t flavor = group->flavors[last = at];
    if (!is_pinned(self, flavor, resource) || !is_allowed(self->world, workload, flavor)) continue;
    if (!members_match(self, workload, flavor)) {
      self->considered[self->n_considered++] =
          (struct hr__kueue_attempt){.flavor = flavor, .reason = HR__KUEUE_NO_MATCHING_FLAVOR};
      continue;
    }
    struct hr__kueue_outcome outcome = try_flavor(self, workload, group, flavor, out);
    bool stop = fungible ? !tries_next(outcome, fungibility) : outcome.fit == HR__KUEUE_FIT_FREE;
    bool better =
        fungible ? hr__kueue_is_preferred(outcome, best, fungibility->preemption_first) : outcome.fit > best.fit;
    if (stop || better) {
      best = outcome;
      keep_best(self);
    }
    if (stop) break;
  }
  if (fungible) set_bookmark(self, last, group->n_flavors);
  return best;
}

/* Adds `considered` to the attempts of the group of pod sets. */
static void attempts_merge(struct hr__kueue_assigner *self, const struct hr__kueue_group *group) {
  for (uint32_t i = 0; i < self->n_considered; i++) {
    const struct hr__kueue_attempt *now = &self->considered[i];
    struct hr__kueue_attempt *attempt = &self->attempts[now->flavor];
    if (attempt->flavor == HR_NONE) {
      *attempt = *now;
      continue;
    }
    if (now->mode < attempt->mode) attempt->mode = now->mode;
    if (now->borrow > attempt->borrow) attempt->borrow = now->borrow;
    if (now->reason > attempt->reason) attempt->reason = now->reason;
  }
  if (!self->n_considered) return;
  for (uint32_t i = 0; i < group->n_flavors; i++) { /* tried for another resource, but not for this one */
    bool tried = false;
    for (uint32_t k = 0; k < self->n_considered; k++) tried |= self->considered[k].flavor == group->flavors[i];
    struct hr__kueue_attempt *attempt = &self->attempts[group->flavors[i]];
    if (tried || attempt->flavor == HR_NONE) continue;
    attempt->mode = HR__KUEUE_NO_FIT;
    attempt->reason = HR__KUEUE_NO_MATCHING_FLAVOR;
  }
}

/* ---- Search: topology ------------------------------------------------------------------------------- */

/* The flavor with a topology among the flavors of a pod set; HR_NONE: no flavor has one. Marks the pod set as failed if
   two different flavors have topologies. */
static uint32_t topology_flavor(const struct hr__kueue_world *world, struct hr__kueue_pod_set_assignment *row) {
  uint32_t flavor = HR_NONE;
  for (uint32_t k = 0; k < row->n_choices; k++) {
    uint32_t other = row->choices[k].flavor;
    if (!world->flavors[other].topology) continue;
    if (flavor != HR_NONE && other != flavor) row->failed = true;
    flavor = other;
  }
  return flavor;
}

/* Marks pod sets that need a placement but have flavors of two topologies, and pod sets that are placed in the second
   pass. Returns whether some pod set has failed. */
static bool has_contradiction(const struct hr__kueue_assigner *self, const struct hr__kueue_workload *workload,
                              struct hr__kueue_assignment *out) {
  const bool *delays = self->world->queues[workload->queue].delays;
  const struct hr__kueue_topology_calls *topology = &self->world->topology;
  bool only = topology->only && topology->only(topology->self, self->world, workload->queue), failed = false;
  for (uint32_t i = 0; i < out->n_pod_sets; i++) {
    struct hr__kueue_pod_set_assignment *row = &out->pod_sets[i];
    if (workload->pod_sets[row->pod_set].topology.mode == HR__KUEUE_NO_TOPOLOGY && !only) continue;
    uint32_t flavor = topology_flavor(self->world, row);
    if (flavor == HR_NONE)
      row->failed = true; /* no flavor with a topology was chosen, for example because it requests nothing */
    failed |= row->failed;
    if (flavor != HR_NONE && delays && delays[flavor] && !workload->reserved) row->placement_pending = true;
  }
  return failed;
}

static struct hr__kueue_pod_set_assignment *row_of(struct hr__kueue_assignment *out, uint32_t pod_set) {
  for (uint32_t i = 0; i < out->n_pod_sets; i++)
    if (out->pod_sets[i].pod_set == pod_set) return &out->pod_sets[i];
  return NULL;
}

static void set_mode(struct hr__kueue_pod_set_assignment *row, enum hr__kueue_mode mode) {
  row->imperfect = true;
  for (uint32_t i = 0; i < row->n_choices; i++) row->choices[i].mode = mode;
}

/* Marks the pod set that does not fit even on empty nodes. */
static void mark_misplaced(struct hr__kueue_assigner *self, struct hr__kueue_assignment *out) {
  struct hr__kueue_pod_set_assignment *row = row_of(out, self->placements.failed);
  if (!row) return;
  for (uint32_t i = 0; i < row->n_attempts; i++) {
    if (row->attempts[i].flavor != self->placements.failed_flavor) continue;
    row->attempts[i].mode = HR__KUEUE_NO_FIT;
    row->attempts[i].reason = HR__KUEUE_TOPOLOGY_FAILED;
  }
  set_mode(row, HR__KUEUE_NO_FIT);
}

/* Looks for placements of an assignment for which quota is available, at least with preemption. If only the placement
   does not fit now, the mode becomes HR__KUEUE_PREEMPT. If it does not even fit on empty nodes, the mode becomes
   HR__KUEUE_NO_FIT. */
static void assign_topology(struct hr__kueue_assigner *self, const struct hr__kueue_workload *workload,
                            struct hr__kueue_assignment *out) {
  const struct hr__kueue_topology_calls *topology = &self->world->topology;
  if (has_contradiction(self, workload, out) || !topology->find) {
    assignment_settle(self->world, workload, out);
    return;
  }
  struct hr__kueue_placements *placements = &self->placements;
  if (out->mode == HR__KUEUE_FIT) {
    topology->find(topology->self, self->world, workload, out, false, placements);
    struct hr__kueue_pod_set_assignment *row = row_of(out, placements->failed);
    if (row)
      set_mode(row, HR__KUEUE_PREEMPT);
    else
      hr__kueue_assignment_place(out, placements);
    assignment_settle(self->world, workload, out);
  }
  if (out->mode != HR__KUEUE_PREEMPT || workload->n_unhealthy_nodes) return;
  topology->find(topology->self, self->world, workload, out, true, placements);
  if (placements->failed != HR_NONE)
    mark_misplaced(self, out);
  else
    for (uint32_t i = 0; i < out->n_pod_sets; i++)
      if (placements->tried[out->pod_sets[i].pod_set]) set_mode(&out->pod_sets[i], HR__KUEUE_PREEMPT);
  assignment_settle(self->world, workload, out);
}

/* ---- Assignment ------------------------------------------------------------------------------------- */

bool hr__kueue_assigner_begin(struct hr__kueue_assigner *self, struct hr_arena *arena, struct hr__kueue_world *world) {
  *self = (struct hr__kueue_assigner){.world = world};
  uint32_t n = world->n_resources, pod_sets = world->max_pod_sets;
  return HR__ARENA_ARRAY(arena, self->sums, n) && HR__ARENA_ARRAY(arena, self->wanted, n) &&
         HR__ARENA_ARRAY(arena, self->chosen, n) && HR__ARENA_ARRAY(arena, self->trial, n) &&
         HR__ARENA_ARRAY(arena, self->best, n) && HR__ARENA_ARRAY(arena, self->attempts, world->n_flavors) &&
         HR__ARENA_ARRAY(arena, self->considered, world->n_flavors) &&
         HR__ARENA_ARRAY(arena, self->members, pod_sets) && HR__ARENA_ARRAY(arena, self->placements.found, pod_sets) &&
         HR__ARENA_ARRAY(arena, self->placements.tried, pod_sets);
}

bool hr__kueue_assignment_begin(struct hr__kueue_assignment *assignment, struct hr_arena *arena,
                                const struct hr__kueue_world *world) {
  size_t n = (size_t)world->n_resources + 1, pod_sets = (size_t)world->max_pod_sets + 1;
  *assignment = (struct hr__kueue_assignment){0};
  if (!HR__ARENA_ARRAY(arena, assignment->usage, n * pod_sets) ||
      !HR__ARENA_ARRAY(arena, assignment->pod_sets, pod_sets))
    return false;
  for (size_t i = 0; i < pod_sets; i++) {
    struct hr__kueue_pod_set_assignment *row = &assignment->pod_sets[i];
    if (!HR__ARENA_ARRAY(arena, row->requests, n) || !HR__ARENA_ARRAY(arena, row->choices, n) ||
        !HR__ARENA_ARRAY(arena, row->attempts, world->n_flavors))
      return false;
  }
  return true;
}

/* ---- Assignment: requests --------------------------------------------------------------------------- */

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

/* ---- Assignment: one group of pod sets -------------------------------------------------------------- */

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

/* Chooses flavors for all requested resources of the group of pod sets. Returns false if no flavor is found for some
   resource. Sets `*reason` if no resource group of the queue covers the resource. Sets `*imperfect` if some flavor fits
   only with preemption. */
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
      outcome = search_flavors(self, workload, group, resource, out);
    if (group) attempts_merge(self, group);
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

/* Finishes the row of a member of the group, and adds its requests to the usage. `found`: flavors were found;
   otherwise, only the attempts are stored. */
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

/* Subtracts the usage of the replaced slice of the job, which is in the tree already. */
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
  assignment_settle(self->world, workload, out);
  if (complete && out->mode != HR__KUEUE_NO_FIT && hr__kueue_has_gate(self->world, HR__KUEUE_BIT_TOPOLOGY))
    assign_topology(self, workload, out);
}
