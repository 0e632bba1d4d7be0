/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Topology domains in a search: their orders, what fits into them, and the selection at the requested level.
 *
 * Source: kubernetes-sigs/kueue, pkg/cache/scheduler/tas_flavor_snapshot.go and tas_balanced_placement.go.
 */

#include "base/containers.h"
#include "policies/kueue/tas.h"

#include <math.h>
#include <string.h>

/* ---- Orders ----------------------------------------------------------------------------------------- */

/*
 * The orders in which topology domains are used, and the choice of the last domain that is used (hr__tas_best_fit).
 *
 * Invariant: every order is total, because domains with equal counts are ordered by number, which is the order of their
 * values. So the results do not depend on the order of the input.
 */

/* Returns whether domain a precedes domain b. `self` is passed through. */
typedef bool precedes(const void *self, uint32_t a, uint32_t b);

static void sift_down(uint32_t *domains, size_t root, size_t count, precedes *before, const void *self) {
  for (size_t child; (child = 2 * root + 1) < count; root = child) {
    if (child + 1 < count && before(self, domains[child], domains[child + 1])) child++;
    if (!before(self, domains[root], domains[child])) return;
    uint32_t moved = domains[root];
    domains[root] = domains[child];
    domains[child] = moved;
  }
}

static void sort_domains(uint32_t *domains, size_t count, precedes *before, const void *self) {
  for (size_t root = count / 2; root-- > 0;) sift_down(domains, root, count, before, self);
  for (size_t end = count; end-- > 1;) {
    uint32_t last = domains[0];
    domains[0] = domains[end];
    domains[end] = last;
    sift_down(domains, 0, end, before, self);
  }
}

/* An order by counts. */
struct domain_order {
  const struct hr__tas_search *search;
  bool least_free, with_leader;
};

static bool precedes_by_counts(const void *self, uint32_t a, uint32_t b) {
  const struct domain_order *order = self;
  const struct hr__tas_state *left = &order->search->state[a], *right = &order->search->state[b];
  if (order->with_leader && left->leaders != right->leaders) return left->leaders > right->leaders;
  if (order->search->gates.affinity_preferred && left->affinity != right->affinity)
    return left->affinity > right->affinity;
  int64_t more_slices = hr__tas_units(left, true, order->with_leader) - hr__tas_units(right, true, order->with_leader);
  if (more_slices) return (more_slices < 0) == order->least_free;
  int64_t more_pods = hr__tas_units(left, false, order->with_leader) - hr__tas_units(right, false, order->with_leader);
  return more_pods ? more_pods < 0 : a < b;
}

void hr__tas_sort(const struct hr__tas_search *search, uint32_t *domains, uint32_t count, bool unconstrained,
                  bool with_leader) {
  struct domain_order order = {search, hr__tas_least_free(search, unconstrained), with_leader};
  sort_domains(domains, count, precedes_by_counts, &order);
}

/* The entropy of the distribution of pods over the children of a domain, in bits. */
static double entropy_of(const struct hr__tas_search *search, uint32_t number) {
  const struct hr__tas_domain *domain = &search->tree->domains[number];
  int64_t total = 0;
  for (uint32_t child = domain->first_child; child < domain->end_child; child++) total += search->state[child].pods;
  double entropy = 0;
  for (uint32_t child = domain->first_child; total && child < domain->end_child; child++) {
    if (search->state[child].pods <= 0) continue;
    double share = (double)search->state[child].pods / (double)total;
    entropy -= share * log2(share);
  }
  return entropy;
}

static bool precedes_by_entropy(const void *self, uint32_t a, uint32_t b) {
  const struct hr__tas_search *search = self;
  const struct hr__tas_state *left = &search->state[a], *right = &search->state[b];
  if (left->leaders != right->leaders) return left->leaders > right->leaders;
  if (left->slices_with_leader != right->slices_with_leader)
    return left->slices_with_leader > right->slices_with_leader;
  if (search->entropy[a] > search->entropy[b]) return true;
  if (search->entropy[a] < search->entropy[b]) return false;
  return a < b;
}

void hr__tas_sort_by_entropy(struct hr__tas_search *search, uint32_t *domains, uint32_t count) {
  if (!HR__ARRAY_HAS_ROOM_FOR(search->entropy, search->tree->n_domains, search->entropy_capacity)) {
    search->no_memory = true;
    return;
  }
  for (uint32_t i = 0; i < count; i++) search->entropy[domains[i]] = entropy_of(search, domains[i]);
  sort_domains(domains, count, precedes_by_entropy, search);
}

/* The order of the values of domains. */
static bool precedes_by_number(const void *self, uint32_t a, uint32_t b) {
  (void)self;
  return a < b;
}

uint32_t hr__tas_best_fit(const struct hr__tas_search *search, const uint32_t *domains, uint32_t count, int64_t needed,
                          int64_t leaders, bool slices) {
  uint32_t best = 0;
  int64_t least = INT32_MAX;
  for (uint32_t i = 0; i < count; i++) {
    const struct hr__tas_state *state = &search->state[domains[i]];
    if (search->gates.affinity_preferred && state->affinity != search->state[domains[0]].affinity) break;
    if (state->leaders < leaders) continue;
    int64_t fits = hr__tas_units(state, slices, leaders > 0);
    if (fits < needed || fits >= least) continue;
    best = i;
    least = fits;
  }
  return best;
}

void hr__tas_leader_first(const struct hr__tas_search *search, uint32_t *domains, uint32_t count, int64_t pods,
                          int64_t leaders, int64_t slice_size, bool slices) {
  if (!leaders || count < 2) return;
  int64_t needed = slices ? pods / slice_size : pods, available = 0;
  for (uint32_t i = 0; i < count; i++) available += hr__tas_units(&search->state[domains[i]], slices, false);
  for (uint32_t i = 0; i < count; i++) {
    const struct hr__tas_state *state = &search->state[domains[i]];
    int64_t lost = hr__tas_units(state, slices, false) - hr__tas_units(state, slices, true);
    if (state->leaders < leaders || available - lost < needed) continue;
    uint32_t first = domains[i];
    memmove(domains + 1, domains, i * sizeof *domains);
    domains[0] = first;
    return;
  }
}

/* ---- Counts ----------------------------------------------------------------------------------------- */

/*
 * How many pods, slices and leaders fit into each topology domain.
 *
 * The counts of a leaf follow from its free amounts; those of other domains are sums over their children. If there is a
 * leader, the capacity of a domain is reduced by the smallest loss that a leader causes in one of its children. If
 * inner slices are requested at the level of the children, the pods of each child are rounded down to whole inner
 * slices.
 *
 * Source: kubernetes-sigs/kueue, pkg/cache/scheduler/tas_flavor_snapshot.go (fillInCounts); pkg/resources/requests.go.
 */

bool hr__tas_snapshot_init(struct hr__tas_snapshot *snapshot, struct hr_arena *arena, const struct hr__tas_tree *tree,
                           uint32_t n_resources, uint32_t pods) {
  size_t amounts = (size_t)tree->n_leaves * n_resources;
  *snapshot = (struct hr__tas_snapshot){.tree = tree, .n_resources = n_resources, .pods = pods};
  return HR__ARENA_ARRAY(arena, snapshot->free, amounts) && HR__ARENA_ARRAY(arena, snapshot->usage, amounts);
}

/* Returns how many pods fit into the amounts: 0 to INT32_MAX. Each pod needs one of the resource that counts pods. */
static int64_t count_fitting(const struct hr__tas_snapshot *snapshot, const int64_t *amounts, const int64_t *pod) {
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
  switch (demand->excluded ? demand->excluded[leaf] : HR__TAS_ELIGIBLE) {
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
  state->pods = count_fitting(snapshot, room, demand->pod);
  if (!state->pods) search->exclusions.resource++;
  if (demand->leader && count_fitting(snapshot, room, demand->leader) > 0) {
    state->leaders = 1;
    hr__tas_add_pods(snapshot, room, demand->leader, -1);
  }
  state->pods_with_leader = count_fitting(snapshot, room, demand->pod);
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

/* Sets the counts of a domain from those of its children. */
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

/* Computes the counts of a domain and of all domains below it again, from the counts of their leaves. */
static void sum_counts(struct hr__tas_search *search, uint32_t domain, const int64_t *inner) {
  const struct hr__tas_domain *row = &search->tree->domains[domain];
  for (uint32_t child = row->first_child; child < row->end_child; child++) sum_counts(search, child, inner);
  sum_domain(search, domain, inner);
}

/* ---- Selection -------------------------------------------------------------------------------------- */

/*
 * Selection of topology domains at the requested level, without balanced placement.
 *
 * If a single domain can have all slices, the smallest such domain is selected. Otherwise a required level fails, and a
 * preferred level is replaced by the level above. At the highest level, and at any level without constraint, several
 * domains are selected, as few as possible. Invariant: `fit` contains domains of one level, and the selection does not
 * change their counts.
 *
 * Source: kubernetes-sigs/kueue, pkg/cache/scheduler/tas_flavor_snapshot.go (findLevelWithFitDomains).
 */

/* Returns how many slices of a size fit into the domains of a level below a domain. */
static int64_t count_slices(const struct hr__tas_search *search, uint32_t domain, uint32_t level, int64_t size) {
  const struct hr__tas_domain *row = &search->tree->domains[domain];
  if (row->level == level) return search->state[domain].pods / size;
  int64_t total = 0;
  for (uint32_t child = row->first_child; child < row->end_child; child++)
    total += count_slices(search, child, level, size);
  return total;
}

static struct hr__tas_failure not_enough(const struct hr__tas_search *search, uint32_t level, int64_t fits) {
  const struct hr__tas_goal *goal = &search->goal;
  struct hr__tas_failure failure = {.kind = HR__TAS_INSUFFICIENT,
                                    .fits = fits,
                                    .of = goal->count / goal->slice_size,
                                    .slices = goal->layered || goal->slice_size != 1,
                                    .exclusions = search->exclusions};
  if (goal->layered) { /* counts the outermost slices in the domain that fits the most slices */
    uint32_t best = search->tree->first[level];
    for (uint32_t domain = best; domain < search->tree->first[level + 1]; domain++)
      if (search->state[domain].slices > search->state[best].slices) best = domain;
    failure.fits = count_slices(search, best, goal->slice_level, goal->slice_size);
  }
  return failure;
}

static bool has_all(const struct hr__tas_search *search, const struct hr__tas_state *state) {
  return state->slices_with_leader >= search->goal.count / search->goal.slice_size &&
         state->leaders >= search->goal.leaders;
}

static void select_one(struct hr__tas_search *search, uint32_t domain) {
  search->fit.items[0] = domain;
  search->fit.count = 1;
}

/* Selects the least free domain that can have everything. Returns whether such a domain exists. */
static bool select_least_free(struct hr__tas_search *search) {
  const struct hr__tas_goal *goal = &search->goal;
  for (uint32_t i = 0; i < search->sorted.count; i++) {
    const struct hr__tas_state *state = &search->state[search->sorted.items[i]];
    if (state->leaders < goal->leaders) continue;
    if (hr__tas_units(state, true, goal->leaders) < goal->count / goal->slice_size) continue;
    select_one(search, search->sorted.items[i]);
    return true;
  }
  return false;
}

/* Selects the domains for the leaders; returns how many of the sorted domains were considered. `best_fit`: if one
   domain suffices for the rest, the smallest such domain is selected. */
static uint32_t select_for_leaders(struct hr__tas_search *search, bool best_fit, int64_t *slices, int64_t *leaders) {
  const uint32_t *sorted = search->sorted.items;
  uint32_t i = 0;
  for (; *leaders > 0 && i < search->sorted.count && search->state[sorted[i]].leaders > 0; i++) {
    uint32_t domain = sorted[i];
    if (best_fit && search->state[domain].slices_with_leader >= *slices)
      domain = sorted[i + hr__tas_best_fit(search, sorted + i, search->sorted.count - i, *slices, *leaders, true)];
    search->fit.items[search->fit.count++] = domain;
    *leaders -= search->state[domain].leaders;
    *slices -= search->state[domain].slices_with_leader;
  }
  return i;
}

/* Selects several domains, first for the leaders and then for the remaining slices. The kind of the result is
   HR__TAS_FITS, or the reason of a failure. */
static struct hr__tas_failure select_several(struct hr__tas_search *search, uint32_t level) {
  const struct hr__tas_goal *goal = &search->goal;
  bool best_fit = !hr__tas_least_free(search, goal->unconstrained);
  int64_t slices = goal->count / goal->slice_size, leaders = goal->leaders, wanted = slices;
  uint32_t *sorted = search->sorted.items;
  search->fit.count = 0;
  hr__tas_leader_first(search, sorted, search->sorted.count, goal->count, leaders, goal->slice_size, true);
  uint32_t used = select_for_leaders(search, best_fit, &slices, &leaders);
  if (leaders > 0) return not_enough(search, level, goal->leaders - leaders);
  sorted += used;
  uint32_t count = search->sorted.count - used;
  hr__tas_sort(search, sorted, count, goal->unconstrained, false);
  for (uint32_t i = 0; slices > 0 && i < count; i++) {
    uint32_t domain = sorted[i];
    if (best_fit && search->state[domain].slices >= slices)
      domain = sorted[i + hr__tas_best_fit(search, sorted + i, count - i, slices, 0, true)];
    search->fit.items[search->fit.count++] = domain;
    slices -= search->state[domain].slices;
  }
  if (slices > 0) return not_enough(search, level, wanted - slices);
  return (struct hr__tas_failure){.kind = HR__TAS_FITS};
}

/* Selects at a required level if the first domain does not suffice. Later domains are tried only if node preferences
   are on, because otherwise no later domain has more slices. The kind of the result is HR__TAS_FITS, or the reason of a
   failure. */
static struct hr__tas_failure select_required(struct hr__tas_search *search, uint32_t level) {
  const uint32_t *sorted = search->sorted.items;
  int64_t slices = search->goal.count / search->goal.slice_size;
  for (uint32_t i = 1; search->gates.affinity_preferred && i < search->sorted.count; i++) {
    if (!has_all(search, &search->state[sorted[i]])) continue;
    uint32_t best = hr__tas_best_fit(search, sorted + i, search->sorted.count - i, slices, search->goal.leaders, true);
    select_one(search, sorted[i + best]);
    return (struct hr__tas_failure){.kind = HR__TAS_FITS};
  }
  return not_enough(search, level, search->state[sorted[0]].slices);
}

/* Selects at one level in one pass, without sorting: the smallest domain that suffices, or the first of several equal
   ones. The result is that of select_at. Returns false if select_at must be called: with leaders or preferences, or if
   several domains must be selected. */
static bool select_in_one_pass(struct hr__tas_search *search, uint32_t level, bool *climb,
                               struct hr__tas_failure *failure) {
  const struct hr__tas_goal *goal = &search->goal;
  int64_t needed = goal->count / goal->slice_size, total = 0, most = 0;
  uint32_t best = HR_NONE;
  if (goal->leaders || search->gates.affinity_preferred || (goal->required && goal->unconstrained)) return false;
  for (uint32_t domain = search->tree->first[level]; domain < search->tree->first[level + 1]; domain++) {
    const struct hr__tas_state *state = &search->state[domain];
    total += state->slices;
    if (state->slices > most) most = state->slices;
    if (state->slices < needed) continue;
    const struct hr__tas_state *other = best == HR_NONE ? NULL : &search->state[best];
    if (!other || state->slices < other->slices || (state->slices == other->slices && state->pods < other->pods))
      best = domain;
  }
  *failure = (struct hr__tas_failure){.kind = HR__TAS_FITS};
  *climb = best == HR_NONE && !goal->required && level > 0 && !goal->unconstrained;
  if (best != HR_NONE) {
    select_one(search, best);
    return true;
  }
  if (*climb) return true;
  if (!goal->required && total >= needed) return false;
  *failure = not_enough(search, level, goal->required ? most : total);
  return true;
}

/* Selects at one level. The kind of the result is HR__TAS_FITS, or the reason of a failure. If the level above must be
   tried instead, sets *climb. */
static struct hr__tas_failure select_at(struct hr__tas_search *search, uint32_t level, bool *climb) {
  const struct hr__tas_goal *goal = &search->goal;
  struct hr__tas_failure fits = {.kind = HR__TAS_FITS};
  const uint32_t *sorted = search->sorted.items;
  uint32_t count = search->sorted.count;
  hr__tas_sort(search, search->sorted.items, count, goal->unconstrained, true);
  if (hr__tas_least_free(search, goal->unconstrained)) {
    if (select_least_free(search)) return fits;
    if (goal->required) return not_enough(search, level, search->state[sorted[count - 1]].pods);
  }
  if (has_all(search, &search->state[sorted[0]])) {
    uint32_t best = 0;
    if (!hr__tas_least_free(search, goal->unconstrained))
      best = hr__tas_best_fit(search, sorted, count, goal->count / goal->slice_size, goal->leaders, true);
    select_one(search, sorted[best]);
    return fits;
  }
  if (goal->required) return select_required(search, level);
  *climb = level > 0 && !goal->unconstrained;
  return *climb ? fits : select_several(search, level);
}

struct hr__tas_failure hr__tas_select_level(struct hr__tas_search *search, uint32_t *level) {
  const struct hr__tas_tree *tree = search->tree;
  struct hr__tas_failure failure = {.kind = HR__TAS_NO_DOMAINS};
  for (uint32_t at = search->goal.level;; at--) {
    uint32_t count = tree->first[at + 1] - tree->first[at];
    if (!count) return failure;
    if (!hr__tas_list_clear(search, &search->sorted, count) || !hr__tas_list_clear(search, &search->fit, count))
      return failure;
    bool climb = false;
    if (!select_in_one_pass(search, at, &climb, &failure)) {
      for (uint32_t i = 0; i < count; i++) search->sorted.items[i] = tree->first[at] + i;
      search->sorted.count = count;
      failure = select_at(search, at, &climb);
    }
    *level = at;
    if (!climb) return failure;
  }
}

/* ---- Balanced placement ----------------------------------------------------------------------------- */

/*
 * Balanced placement: each selected topology domain gets about the same number of slices.
 *
 * 1. A parent is a domain above the requested level. For each parent, a greedy selection determines how many domains
 *    below it are needed. The threshold is the number of slices divided by this number of domains, but at most the
 *    number of slices that the last selected domain can have.
 * 2. The capacity of domains that cannot have `threshold` slices is set to 0. The remaining domains must still suffice.
 * 3. The parent with the highest threshold is selected; of equal thresholds, the one that needs the fewest domains.
 * 4. Dynamic programming selects a set of its domains: as few as the greedy selection needs, and with the least excess.
 * 5. Each domain of the set gets `threshold` slices; the remaining slices are distributed in order.
 *
 * Layout: A selection is a set of domains, stored as its last domain and the selection without it. by_size[k] has the
 * selections of k domains, one for each pair (leaders, pods) still to be placed, in the order of these pairs.
 * Invariant: only the counts of the domains below the selected parent are changed. If balanced placement is not
 * possible, no counts are changed.
 *
 * Source: kubernetes-sigs/kueue, pkg/cache/scheduler/tas_balanced_placement.go.
 */

/* What a greedy selection uses. */
struct greedy {
  uint32_t domains;                /* number of domains */
  uint32_t last, last_with_leader; /* the last domains without and with leader; HR_NONE: none */
};

/* Selects domains for the leaders, and then, the largest first, for the remaining slices. Returns whether the domains
   suffice. */
static bool select_greedily(struct hr__tas_search *search, const uint32_t *domains, uint32_t count, int64_t slices,
                            int64_t leaders, struct greedy *greedy) {
  *greedy = (struct greedy){0, HR_NONE, HR_NONE};
  if (!hr__tas_list_clear(search, &search->sorted, count)) return false;
  uint32_t *sorted = search->sorted.items, i = 0;
  if (count) memcpy(sorted, domains, count * sizeof *sorted);
  if (leaders > 0) {
    hr__tas_sort(search, sorted, count, false, true);
    for (; leaders > 0 && i < count && search->state[sorted[i]].leaders > 0; i++) {
      greedy->domains++;
      greedy->last_with_leader = sorted[i];
      leaders -= search->state[sorted[i]].leaders;
      slices -= search->state[sorted[i]].slices_with_leader;
    }
  }
  if (leaders > 0) return false;
  hr__tas_sort(search, sorted + i, count - i, false, false);
  for (; slices > 0 && i < count && search->state[sorted[i]].slices > 0; i++) {
    greedy->domains++;
    greedy->last = sorted[i];
    slices -= search->state[sorted[i]].slices;
  }
  return slices <= 0;
}

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* ---- Balanced placement: threshold ------------------------------------------------------------------ */

/* Consecutive domains of one level. */
struct range {
  uint32_t first, end;
};

static struct range children_of(const struct hr__tas_tree *tree, struct range range) {
  if (range.first == range.end) return range;
  return (struct range){tree->domains[range.first].first_child, tree->domains[range.end - 1].end_child};
}

/* Copies the counts of domains and of everything below them. */
static void copy_counts(const struct hr__tas_tree *tree, struct hr__tas_state *to, const struct hr__tas_state *from,
                        struct range range) {
  while (range.first < range.end) {
    memcpy(to + range.first, from + range.first, (range.end - range.first) * sizeof *to);
    range = children_of(tree, range);
  }
}

static void clear_counts(struct hr__tas_search *search, uint32_t domain) {
  const struct hr__tas_domain *row = &search->tree->domains[domain];
  search->state[domain] = (struct hr__tas_state){.affinity = search->state[domain].affinity};
  for (uint32_t child = row->first_child; child < row->end_child; child++) clear_counts(search, child);
}

static void clear_leaders(struct hr__tas_search *search, uint32_t domain) {
  const struct hr__tas_domain *row = &search->tree->domains[domain];
  struct hr__tas_state *state = &search->state[domain];
  state->pods_with_leader = state->slices_with_leader = state->leaders = 0;
  for (uint32_t child = row->first_child; child < row->end_child; child++) clear_leaders(search, child);
}

/* Empties a domain that cannot have `threshold` slices, or forbids the leader in it. */
static void prune_domain(struct hr__tas_search *search, uint32_t domain, int64_t threshold) {
  const struct hr__tas_state *state = &search->state[domain];
  if (state->slices < threshold)
    clear_counts(search, domain);
  else if (search->goal.leaders > 0 && state->leaders > 0 && state->slices_with_leader < threshold)
    clear_leaders(search, domain);
}

/* Selects among the domains of a range, as select_greedily does, for the whole goal. */
static bool select_in_range(struct hr__tas_search *search, struct range range, struct greedy *greedy) {
  if (!hr__tas_list_clear(search, &search->spare, range.end - range.first)) return false;
  for (uint32_t domain = range.first; domain < range.end; domain++) search->spare.items[search->spare.count++] = domain;
  return select_greedily(search, search->spare.items, search->spare.count, search->goal.count / search->goal.slice_size,
                         search->goal.leaders, greedy);
}

/* Prunes domains and their children. Returns whether the remaining capacity suffices. */
static bool prune(struct hr__tas_search *search, struct range range, int64_t threshold, uint32_t *n_domains) {
  struct range children = children_of(search->tree, range);
  for (uint32_t child = children.first; child < children.end; child++) prune_domain(search, child, threshold);
  for (uint32_t domain = range.first; domain < range.end; domain++) {
    sum_counts(search, domain, NULL);
    prune_domain(search, domain, threshold);
  }
  struct greedy greedy = {0};
  bool fits = select_in_range(search, range, &greedy);
  *n_domains = greedy.domains;
  return fits;
}

/* The best parent so far. */
struct balance {
  int64_t threshold;
  uint32_t n_domains;
  struct range range;
};

/* Returns the threshold of the domains `range` of one parent; 0: they do not suffice. Sets `*with_leader` to the
   threshold that applies if the leader is in the last domain. */
static int64_t threshold_of(struct hr__tas_search *search, struct range range, int64_t *with_leader) {
  const struct hr__tas_goal *goal = &search->goal;
  struct range lower = goal->level < goal->slice_level ? children_of(search->tree, range) : range;
  struct greedy greedy;
  if (!select_in_range(search, lower, &greedy) || !greedy.domains) return 0;
  int64_t threshold = goal->count / goal->slice_size / greedy.domains;
  if (greedy.last_with_leader != HR_NONE)
    threshold = smaller(threshold, search->state[greedy.last_with_leader].slices_with_leader);
  if (greedy.last != HR_NONE) threshold = smaller(threshold, search->state[greedy.last].slices);
  *with_leader = threshold;
  if (goal->leaders > 0 && greedy.last != HR_NONE)
    *with_leader = smaller(threshold, search->state[greedy.last].slices_with_leader);
  return threshold;
}

/* If the domains `range` of one parent are better than those of `best`, sets `best` and search->best to them.
   search->state is unchanged afterwards. */
static void consider(struct hr__tas_search *search, struct range range, struct balance *best) {
  int64_t with_leader = 0, threshold = threshold_of(search, range, &with_leader);
  uint32_t n_domains = 0;
  if (threshold <= 0 || threshold < best->threshold) return;
  copy_counts(search->tree, search->saved, search->state, range);
  bool fits = prune(search, range, threshold, &n_domains);
  if (!fits && with_leader < threshold && with_leader > 0 && with_leader >= best->threshold) {
    threshold = with_leader;
    copy_counts(search->tree, search->state, search->saved, range);
    fits = prune(search, range, threshold, &n_domains);
  }
  if (fits && (threshold > best->threshold || (threshold == best->threshold && n_domains < best->n_domains))) {
    *best = (struct balance){threshold, n_domains, range};
    copy_counts(search->tree, search->best, search->state, range);
  }
  copy_counts(search->tree, search->state, search->saved, range);
}

int64_t hr__tas_balance_threshold(struct hr__tas_search *search) {
  const struct hr__tas_tree *tree = search->tree;
  struct balance best = {0};
  if (!HR__ARRAY_HAS_ROOM_FOR(search->saved, tree->n_domains, search->saved_capacity) ||
      !HR__ARRAY_HAS_ROOM_FOR(search->best, tree->n_domains, search->best_capacity)) {
    search->no_memory = true;
    return 0;
  }
  uint32_t level = search->goal.level;
  if (!level) consider(search, (struct range){0, tree->first[1]}, &best);
  for (uint32_t parent = level ? tree->first[level - 1] : 0; level && parent < tree->first[level]; parent++)
    consider(search, (struct range){tree->domains[parent].first_child, tree->domains[parent].end_child}, &best);
  if (!best.threshold || !hr__tas_list_clear(search, &search->fit, best.range.end - best.range.first)) return 0;
  copy_counts(tree, search->saved, search->state, best.range);
  copy_counts(tree, search->state, search->best, best.range);
  for (uint32_t domain = best.range.first; domain < best.range.end; domain++)
    search->fit.items[search->fit.count++] = domain;
  return best.threshold;
}

/* ---- Balanced placement: optimal set ---------------------------------------------------------------- */

/* Returns the position of (leaders, pods) among the selections of one size, or where it belongs. */
static uint32_t position_of(const struct hr__tas_search *search, const struct hr__tas_list *list, int64_t leaders,
                            int64_t pods) {
  uint32_t first = 0, end = list->count;
  while (first < end) {
    uint32_t middle = first + (end - first) / 2;
    const struct hr__tas_selection *selection = &search->selections[list->items[middle]];
    if (selection->leaders < leaders || (selection->leaders == leaders && selection->pods < pods))
      first = middle + 1;
    else
      end = middle;
  }
  return first;
}

/* Adds a selection unless one with the same pair exists. Returns false if memory is exhausted. */
static bool add_selection(struct hr__tas_search *search, struct hr__tas_list *list, struct hr__tas_selection added) {
  uint32_t at = position_of(search, list, added.leaders, added.pods);
  if (at < list->count) {
    const struct hr__tas_selection *present = &search->selections[list->items[at]];
    if (present->leaders == added.leaders && present->pods == added.pods) return true;
  }
  if (!HR__ARRAY_HAS_ROOM(search->selections, search->n_selections, search->selections_capacity) ||
      !HR__ARRAY_HAS_ROOM(list->items, list->count, list->capacity)) {
    search->no_memory = true;
    return false;
  }
  memmove(list->items + at + 1, list->items + at, (list->count - at) * sizeof *list->items);
  list->items[at] = search->n_selections;
  list->count++;
  search->selections[search->n_selections++] = added;
  return true;
}

/* Extends the selections of one size by a domain, with and without a leader in it. Returns false if memory is
   exhausted. */
static bool extend_selections(struct hr__tas_search *search, uint32_t size, uint32_t domain) {
  const struct hr__tas_state *state = &search->state[domain];
  for (uint32_t i = 0; i < search->by_size[size - 1].count; i++) {
    uint32_t number = search->by_size[size - 1].items[i];
    struct hr__tas_selection before = search->selections[number], after = {.domain = domain, .before = number};
    if (before.leaders <= 0 && before.pods <= 0) continue;
    if (before.leaders > 0 && state->leaders > 0) {
      after.leaders = before.leaders - state->leaders;
      after.pods = before.pods - state->pods_with_leader;
      if (!add_selection(search, &search->by_size[size], after)) return false;
    }
    if (state->slices > 0) {
      after.leaders = before.leaders;
      after.pods = before.pods - state->pods;
      if (!add_selection(search, &search->by_size[size], after)) return false;
    }
  }
  return true;
}

/* Prepares empty lists for selections of 0 to n_domains domains. Returns false if memory is exhausted. */
static bool clear_selections(struct hr__tas_search *search, uint32_t n_domains) {
  uint32_t old = search->by_size_capacity;
  search->n_selections = 0;
  if (!HR__ARRAY_HAS_ROOM_FOR(search->by_size, n_domains + (size_t)1, search->by_size_capacity)) {
    search->no_memory = true;
    return false;
  }
  if (search->by_size_capacity > old)
    memset(search->by_size + old, 0, (search->by_size_capacity - old) * sizeof *search->by_size);
  for (uint32_t size = 0; size <= n_domains; size++) search->by_size[size].count = 0;
  return true;
}

/* Replaces the list by the complete selection with the least excess. Returns false if no selection is complete. */
static bool take_selection(const struct hr__tas_search *search, uint32_t n_domains, struct hr__tas_list *domains) {
  const struct hr__tas_list *list = &search->by_size[n_domains];
  uint32_t best = HR_NONE;
  for (uint32_t i = 0; i < list->count; i++) {
    const struct hr__tas_selection *selection = &search->selections[list->items[i]];
    if (!selection->leaders && selection->pods <= 0) best = list->items[i];
  }
  if (best == HR_NONE) return false;
  domains->count = n_domains;
  for (uint32_t i = n_domains; i-- > 0; best = search->selections[best].before)
    domains->items[i] = search->selections[best].domain;
  return true;
}

bool hr__tas_select_optimal(struct hr__tas_search *search, struct hr__tas_list *domains, int64_t slices,
                            int64_t leaders, int64_t slice_size, bool by_entropy) {
  struct greedy greedy;
  if (!select_greedily(search, domains->items, domains->count, slices, leaders, &greedy)) return false;
  if (!hr__tas_list_clear(search, &search->sorted, domains->count) || !clear_selections(search, greedy.domains))
    return false;
  uint32_t *ordered = search->sorted.items, count = domains->count;
  if (count) memcpy(ordered, domains->items, count * sizeof *ordered);
  if (by_entropy)
    hr__tas_sort_by_entropy(search, ordered, count);
  else
    sort_domains(ordered, count, precedes_by_number, NULL);
  struct hr__tas_selection none = {leaders, slices * slice_size, HR_NONE, HR_NONE};
  if (search->no_memory || !add_selection(search, &search->by_size[0], none)) return false;
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t size = greedy.domains; size > 0; size--)
      if (!extend_selections(search, size, ordered[i])) return false;
  return take_selection(search, greedy.domains, domains);
}

/* ---- Balanced placement: distribution --------------------------------------------------------------- */

bool hr__tas_distribute(struct hr__tas_search *search, struct hr__tas_list *domains, int64_t slices, int64_t leaders,
                        int64_t slice_size, int64_t threshold) {
  if (!hr__tas_select_optimal(search, domains, slices, leaders, slice_size, false)) return false;
  int64_t extra = slices - domains->count * threshold;
  if (extra < 0) return false;
  hr__tas_sort(search, domains->items, domains->count, false, true);
  for (uint32_t i = 0; i < domains->count; i++) {
    struct hr__tas_state *state = &search->state[domains->items[i]];
    int64_t taken = 0;
    if (leaders > 0)
      taken = smaller(state->slices_with_leader - threshold, extra);
    else if (extra > 0)
      taken = smaller(state->slices - threshold, extra);
    state->leaders = leaders > 0;
    leaders -= state->leaders;
    state->slices = state->slices_with_leader = threshold + taken;
    state->pods = state->slices * slice_size;
    state->pods_with_leader = state->pods - state->leaders;
    extra -= taken;
  }
  return extra <= 0 && leaders <= 0;
}

/* Selects the domains of the level that gets the slices, and distributes them. Returns false if this is not possible.
 */
static bool apply(struct hr__tas_search *search, int64_t threshold, uint32_t *level) {
  const struct hr__tas_goal *goal = &search->goal;
  int64_t slices = goal->count / goal->slice_size;
  *level = goal->level;
  if (goal->level < goal->slice_level) {
    if (!hr__tas_select_optimal(search, &search->fit, slices, goal->leaders, goal->slice_size, true)) return false;
    if (!hr__tas_list_clear(search, &search->next, search->tree->n_domains)) return false;
    for (uint32_t i = 0; i < search->fit.count; i++) {
      const struct hr__tas_domain *domain = &search->tree->domains[search->fit.items[i]];
      for (uint32_t child = domain->first_child; child < domain->end_child; child++)
        search->next.items[search->next.count++] = child;
    }
    struct hr__tas_list children = search->next;
    search->next = search->fit;
    search->fit = children;
    ++*level;
  }
  return hr__tas_distribute(search, &search->fit, slices, goal->leaders, goal->slice_size, threshold);
}

bool hr__tas_select_balanced(struct hr__tas_search *search, uint32_t *level) {
  int64_t threshold = hr__tas_balance_threshold(search);
  if (threshold <= 0) return false;
  const struct hr__tas_tree *tree = search->tree;
  struct range range = {search->fit.items[0], search->fit.items[search->fit.count - 1] + 1};
  if (apply(search, threshold, level)) return true;
  copy_counts(tree, search->state, search->saved, range);
  return false;
}
