/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How many pods, slices and leaders fit into each topology domain.
 *
 * The counts of a leaf follow from its free amounts; those of other domains are sums over their children. If a leader
 * takes part, a domain loses the capacity that the cheapest of its children loses to the leader. Children at a level of
 * inner slices contribute whole slices only. Invariant: after hr__tas_fill_counts the state of every domain is set.
 *
 * Source: kubernetes-sigs/kueue, pkg/cache/scheduler/tas_flavor_snapshot.go (fillInCounts); pkg/resources/requests.go.
 */

#include "policies/kueue/tas_search.h"

#include <string.h>

bool hr__tas_snapshot_init(struct hr__tas_snapshot *snapshot, struct hr_arena *arena, const struct hr__tas_tree *tree,
                           uint32_t n_resources, uint32_t pods) {
  size_t amounts = (size_t)tree->n_leaves * n_resources + 1;
  *snapshot = (struct hr__tas_snapshot){.tree = tree,
                                        .n_resources = n_resources,
                                        .pods = pods,
                                        .free = hr_arena_alloc(arena, amounts * sizeof *snapshot->free),
                                        .usage = hr_arena_alloc(arena, amounts * sizeof *snapshot->usage)};
  return snapshot->free && snapshot->usage;
}

void hr__tas_add_pods(const struct hr__tas_snapshot *snapshot, int64_t *amounts, const int64_t *pod, int64_t count) {
  for (uint32_t r = 0; r < snapshot->n_resources; r++) amounts[r] += pod[r] * count;
  amounts[snapshot->pods] += count;
}

int64_t hr__tas_count(const struct hr__tas_snapshot *snapshot, const int64_t *amounts, const int64_t *pod) {
  int64_t least = INT32_MAX;
  for (uint32_t r = 0; r < snapshot->n_resources; r++) {
    int64_t request = pod[r] + (r == snapshot->pods);
    if (!request) continue;
    int64_t count = amounts[r] / request;
    if (count < least) least = count;
  }
  return least > 0 ? least : 0;
}

/* Returns whether a leaf can run the pods, and counts it as excluded if not. */
static bool is_eligible(struct hr__tas_search *search, const struct hr__tas_demand *demand, uint32_t leaf) {
  struct hr__tas_exclusions *exclusions = &search->exclusions;
  exclusions->leaves++;
  switch (search->tree->by_host && demand->excluded ? demand->excluded[leaf] : HR__TAS_ELIGIBLE) {
  case HR__TAS_TAINT:
    exclusions->taint++;
    return false;
  case HR__TAS_SELECTOR:
    exclusions->selector++;
    return false;
  case HR__TAS_AFFINITY:
    exclusions->affinity++;
    return false;
  default:
    break;
  }
  if (demand->within == HR_NONE) return true;
  uint32_t level = search->tree->domains[demand->within].level;
  if (hr__tas_ancestor(search->tree, hr__tas_leaf_domain(search->tree, leaf), level) == demand->within) return true;
  exclusions->domain++;
  return false;
}

static void fill_leaf(struct hr__tas_search *search, const struct hr__tas_demand *demand, uint32_t leaf) {
  const struct hr__tas_snapshot *snapshot = search->snapshot;
  struct hr__tas_state *state = &search->state[hr__tas_leaf_domain(search->tree, leaf)];
  if (!is_eligible(search, demand, leaf)) return;
  size_t row = (size_t)leaf * snapshot->n_resources;
  int64_t *room = search->room;
  for (uint32_t r = 0; r < snapshot->n_resources; r++)
    room[r] = snapshot->free[row + r] - (demand->empty ? 0 : snapshot->usage[row + r]) -
              (demand->assumed ? demand->assumed[row + r] : 0);
  state->pods = hr__tas_count(snapshot, room, demand->pod);
  if (!state->pods) search->exclusions.resource++;
  if (demand->leader && hr__tas_count(snapshot, room, demand->leader) > 0) {
    state->leaders = 1;
    hr__tas_add_pods(snapshot, room, demand->leader, -1);
  }
  state->pods_with_leader = hr__tas_count(snapshot, room, demand->pod);
}

/* The sums over the children of a domain. */
struct sums {
  struct hr__tas_state state;
  int64_t least_pods_lost, least_slices_lost; /* to a leader */
  bool can_lead;
};

static void add_child(struct sums *sums, const struct hr__tas_state *child, int64_t inner, bool needs_leader) {
  int64_t pods = child->pods, pods_with_leader = child->pods_with_leader;
  if (inner) {
    pods -= pods % inner;
    pods_with_leader -= pods_with_leader % inner;
  }
  sums->state.pods += pods;
  sums->state.slices += child->slices;
  if (!needs_leader || child->leaders > 0) {
    int64_t pods_lost = pods - pods_with_leader, slices_lost = child->slices - child->slices_with_leader;
    if (!sums->can_lead || pods_lost < sums->least_pods_lost) sums->least_pods_lost = pods_lost;
    if (!sums->can_lead || slices_lost < sums->least_slices_lost) sums->least_slices_lost = slices_lost;
    sums->can_lead = true;
  }
  if (child->leaders > sums->state.leaders) sums->state.leaders = child->leaders;
  sums->state.affinity += child->affinity;
}

/* Sets the counts of a domain whose children are counted. */
static void sum_domain(struct hr__tas_search *search, uint32_t number, const int64_t *inner) {
  const struct hr__tas_domain *domain = &search->tree->domains[number];
  const struct hr__tas_goal *goal = &search->goal;
  struct hr__tas_state *state = &search->state[number];
  bool is_slice_level = domain->level == goal->slice_level;
  if (domain->first_child < domain->end_child) {
    struct sums sums = {.can_lead = false};
    for (uint32_t child = domain->first_child; child < domain->end_child; child++)
      add_child(&sums, &search->state[child], inner ? inner[domain->level + 1] : 0, goal->leaders > 0);
    *state = sums.state;
    if (sums.can_lead) {
      state->pods_with_leader = state->pods - sums.least_pods_lost;
      state->slices_with_leader = state->slices - sums.least_slices_lost;
    }
  }
  if (is_slice_level) {
    state->slices = state->pods / goal->slice_size;
    state->slices_with_leader = state->pods_with_leader / goal->slice_size;
  }
}

void hr__tas_fill_counts(struct hr__tas_search *search, const struct hr__tas_demand *demand) {
  const struct hr__tas_tree *tree = search->tree;
  if (!tree->n_domains) return;
  memset(search->state, 0, tree->n_domains * sizeof *search->state);
  for (uint32_t leaf = 0; leaf < tree->n_leaves; leaf++) {
    fill_leaf(search, demand, leaf);
    if (search->gates.affinity_preferred && demand->affinity && tree->by_host)
      search->state[hr__tas_leaf_domain(tree, leaf)].affinity =
          demand->excluded && demand->excluded[leaf] ? 0 : demand->affinity[leaf];
  }
  for (uint32_t domain = tree->n_domains; domain-- > 0;) sum_domain(search, domain, search->goal.inner);
}

void hr__tas_sum_counts(struct hr__tas_search *search, uint32_t domain, const int64_t *inner) {
  const struct hr__tas_domain *row = &search->tree->domains[domain];
  for (uint32_t child = row->first_child; child < row->end_child; child++) hr__tas_sum_counts(search, child, inner);
  sum_domain(search, domain, inner);
}
