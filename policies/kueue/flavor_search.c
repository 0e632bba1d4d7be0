/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search over the flavors of one resource group, and the placement of the chosen flavors. A flavor is as good as
   the worst of its resources. The search stops at the first flavor that is good enough for the fungibility of the
   queue; otherwise the best flavor is taken, the first of equally good ones. Source:
   pkg/scheduler/flavorassigner/flavorassigner.go and flavor_assigner_attempts.go of kubernetes-sigs/kueue. */

#include "policies/kueue/cycle.h"
#include "policies/kueue/kueue.h"

#include <string.h>

bool hr__kueue_is_preferred(struct hr__kueue_outcome a, struct hr__kueue_outcome b, bool preemption_first) {
  if (a.fit == HR__KUEUE_FIT_NONE || b.fit == HR__KUEUE_FIT_NONE) return a.fit != HR__KUEUE_FIT_NONE;
  bool a_hopeless = a.fit == HR__KUEUE_FIT_NO_CANDIDATES, b_hopeless = b.fit == HR__KUEUE_FIT_NO_CANDIDATES;
  if (a_hopeless != b_hopeless) return b_hopeless;
  if (preemption_first) return a.level != b.level ? a.level < b.level : a.fit > b.fit;
  return a.fit != b.fit ? a.fit > b.fit : a.level < b.level;
}

/* ---- Labels ---- */

/* Node affinity, as far as it names keys that the flavor labels. A term without such a key matches everything. */
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
  for (uint32_t i = 0; i < pod_set->selector.labels.count; i++) {
    const struct hr__kueue_label *wanted = &pod_set->selector.labels.items[i];
    const char *value = hr__kueue_label_get(&flavor->labels, wanted->key);
    if (value && strcmp(value, wanted->value) != 0) return false;
  }
  return affinity_matches(&pod_set->selector, &flavor->labels);
}

/* Whether a recomputation may use the flavor: some member of the group of pod sets had it. */
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

/* ---- One flavor ---- */

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

/* The slice that the workload replaces has another flavor for this resource. Otherwise its amount is subtracted. */
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

/* ---- All flavors of a group ---- */

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

/* Sets the bookmark of the best choices: the last flavor that was tried, or -1 if it was the last of the group. */
static void set_bookmark(struct hr__kueue_assigner *self, uint32_t last, uint32_t n_flavors) {
  for (uint32_t i = 0; i < self->world->n_resources; i++)
    if (self->best[i].flavor != HR_NONE) self->best[i].tried = last + 1 == n_flavors ? -1 : (int32_t)last;
}

struct hr__kueue_outcome hr__kueue_flavor_search(struct hr__kueue_assigner *self,
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

void hr__kueue_attempts_merge(struct hr__kueue_assigner *self, const struct hr__kueue_group *group) {
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

/* ---- Topology ---- */

/* The flavor with a topology among the flavors of a pod set. Marks the pod set as failed if there are two. */
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
    if (flavor == HR_NONE) row->failed = true; /* it requests nothing, so no flavor was chosen */
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

/* The pod set does not fit even into empty nodes. */
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

void hr__kueue_assign_topology(struct hr__kueue_assigner *self, const struct hr__kueue_workload *workload,
                               struct hr__kueue_assignment *out) {
  const struct hr__kueue_topology_calls *topology = &self->world->topology;
  if (has_contradiction(self, workload, out) || !topology->find) {
    hr__kueue_assignment_settle(self->world, workload, out);
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
    hr__kueue_assignment_settle(self->world, workload, out);
  }
  if (out->mode != HR__KUEUE_PREEMPT || workload->n_unhealthy_nodes) return;
  topology->find(topology->self, self->world, workload, out, true, placements);
  if (placements->failed != HR_NONE)
    mark_misplaced(self, out);
  else
    for (uint32_t i = 0; i < out->n_pod_sets; i++)
      if (placements->tried[out->pod_sets[i].pod_set]) set_mode(&out->pod_sets[i], HR__KUEUE_PREEMPT);
  hr__kueue_assignment_settle(self->world, workload, out);
}
