/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Selection of topology domains at the requested level, without balanced placement.
 *
 * One domain that can have all slices is best: the smallest one that can. If there is none, a required level fails; a
 * preferred level is replaced by the level above; at the highest level, and without constraint, several domains are
 * used, as few as possible. Invariant: `fit` contains domains of one level, whose counts have not been changed.
 *
 * Source: kubernetes-sigs/kueue, pkg/cache/scheduler/tas_flavor_snapshot.go (findLevelWithFitDomains).
 */

#include "policies/kueue/tas_search.h"

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
  if (goal->layered) { /* of the outermost slices, in the domain with most slices */
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

/* Selects the least free domain that can have everything. */
static bool select_least_free(struct hr__tas_search *search) {
  const struct hr__tas_goal *goal = &search->goal;
  for (uint32_t i = 0; i < search->sorted.count; i++) {
    const struct hr__tas_state *state = &search->state[search->sorted.items[i]];
    if (state->leaders < goal->leaders) continue;
    if ((goal->leaders ? state->slices_with_leader : state->slices) < goal->count / goal->slice_size) continue;
    select_one(search, search->sorted.items[i]);
    return true;
  }
  return false;
}

/* Selects the domains for the leaders; returns how many of the sorted domains were considered. */
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

/* Selects several domains, first for the leaders and then for the remaining slices. */
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
  hr__tas_sort(search, sorted, count, goal->unconstrained);
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

/* A required level, none of whose first choices suffices: with preferences, later domains are tried. */
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

/* Selects at one level. Sets *climb if the level above is to be tried. */
static struct hr__tas_failure select_at(struct hr__tas_search *search, uint32_t level, bool *climb) {
  const struct hr__tas_goal *goal = &search->goal;
  struct hr__tas_failure fits = {.kind = HR__TAS_FITS};
  const uint32_t *sorted = search->sorted.items;
  uint32_t count = search->sorted.count;
  hr__tas_sort_with_leader(search, search->sorted.items, count, goal->unconstrained);
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
    for (uint32_t i = 0; i < count; i++) search->sorted.items[i] = tree->first[at] + i;
    search->sorted.count = count;
    bool climb = false;
    failure = select_at(search, at, &climb);
    *level = at;
    if (!climb) return failure;
  }
}
