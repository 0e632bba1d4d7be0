/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Balanced placement: each selected topology domain gets about the same number of slices.
 *
 * For each domain above the requested level, a greedy selection shows how many domains below it are needed and how many
 * slices each of them can have at least (the threshold). Domains that cannot have so many are emptied; what remains
 * must still suffice. The parent with the highest threshold wins. Dynamic programming then selects the smallest set of
 * domains with the least excess, and the slices beyond the threshold are handed out in order.
 *
 * Layout: A selection is a set of domains, stored as its last domain and the selection without it. by_size[k] has the
 * selections of k domains, one for each pair (leaders, pods) still to be placed, in the order of these pairs.
 *
 * Invariant: the counts of domains below all other parents are not changed; if balanced placement is not possible, all
 * counts are as before.
 *
 * Source: kubernetes-sigs/kueue, pkg/cache/scheduler/tas_balanced_placement.go.
 */

#include "base/containers.h"
#include "policies/kueue/tas.h"

#include <string.h>

/* What a greedy selection uses. */
struct greedy {
  uint32_t domains;                /* number of domains */
  uint32_t last, last_with_leader; /* the last domains without and with leader; HR_NONE: none */
};

/* Returns whether the domains suffice. */
static bool select_greedily(struct hr__tas_search *search, const uint32_t *domains, uint32_t count, int64_t slices,
                            int64_t leaders, struct greedy *greedy) {
  *greedy = (struct greedy){0, HR_NONE, HR_NONE};
  if (!hr__tas_list_clear(search, &search->sorted, count)) return false;
  uint32_t *sorted = search->sorted.items, i = 0;
  if (count) memcpy(sorted, domains, count * sizeof *sorted);
  if (leaders > 0) {
    hr__tas_sort_with_leader(search, sorted, count, false);
    for (; leaders > 0 && i < count && search->state[sorted[i]].leaders > 0; i++) {
      greedy->domains++;
      greedy->last_with_leader = sorted[i];
      leaders -= search->state[sorted[i]].leaders;
      slices -= search->state[sorted[i]].slices_with_leader;
    }
  }
  if (leaders > 0) return false;
  hr__tas_sort(search, sorted + i, count - i, false);
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

/* ---- Threshold ---- */

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

/* Prunes domains and their children. Returns whether the remaining capacity suffices. */
static bool prune(struct hr__tas_search *search, struct range range, int64_t threshold, uint32_t *n_domains) {
  struct range children = children_of(search->tree, range);
  for (uint32_t child = children.first; child < children.end; child++) prune_domain(search, child, threshold);
  for (uint32_t domain = range.first; domain < range.end; domain++) {
    hr__tas_sum_counts(search, domain, NULL);
    prune_domain(search, domain, threshold);
  }
  if (!hr__tas_list_clear(search, &search->spare, range.end - range.first)) return false;
  for (uint32_t domain = range.first; domain < range.end; domain++) search->spare.items[search->spare.count++] = domain;
  struct greedy greedy;
  bool fits = select_greedily(search, search->spare.items, search->spare.count,
                              search->goal.count / search->goal.slice_size, search->goal.leaders, &greedy);
  *n_domains = greedy.domains;
  return fits;
}

/* The best parent so far. */
struct balance {
  int64_t threshold;
  uint32_t n_domains;
  struct range range;
};

/* Returns the thresholds of the domains `range` of one parent: without and with the leader on the last domain. 0: they
   do not suffice. */
static int64_t threshold_of(struct hr__tas_search *search, struct range range, int64_t *with_leader) {
  const struct hr__tas_goal *goal = &search->goal;
  struct range lower = goal->level < goal->slice_level ? children_of(search->tree, range) : range;
  if (!hr__tas_list_clear(search, &search->spare, lower.end - lower.first)) return 0;
  for (uint32_t domain = lower.first; domain < lower.end; domain++) search->spare.items[search->spare.count++] = domain;
  struct greedy greedy;
  int64_t slices = goal->count / goal->slice_size;
  if (!select_greedily(search, search->spare.items, search->spare.count, slices, goal->leaders, &greedy) ||
      !greedy.domains)
    return 0;
  int64_t threshold = slices / greedy.domains;
  if (greedy.last_with_leader != HR_NONE)
    threshold = smaller(threshold, search->state[greedy.last_with_leader].slices_with_leader);
  if (greedy.last != HR_NONE) threshold = smaller(threshold, search->state[greedy.last].slices);
  *with_leader = threshold;
  if (goal->leaders > 0 && greedy.last != HR_NONE)
    *with_leader = smaller(threshold, search->state[greedy.last].slices_with_leader);
  return threshold;
}

/* Compares the domains of one parent with the best ones so far. Leaves the counts unchanged. */
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

/* ---- Optimal set ---- */

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

/* Adds a selection unless one with the same pair exists. */
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

/* Extends the selections of one size by a domain, with and without a leader in it. */
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

/* Prepares empty lists for selections of 0 to n_domains domains. */
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

/* Replaces the list by the complete selection with the least excess. */
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
    hr__tas_sort_by_number(ordered, count);
  struct hr__tas_selection none = {leaders, slices * slice_size, HR_NONE, HR_NONE};
  if (search->no_memory || !add_selection(search, &search->by_size[0], none)) return false;
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t size = greedy.domains; size > 0; size--)
      if (!extend_selections(search, size, ordered[i])) return false;
  return take_selection(search, greedy.domains, domains);
}

/* ---- Distribution ---- */

bool hr__tas_distribute(struct hr__tas_search *search, struct hr__tas_list *domains, int64_t slices, int64_t leaders,
                        int64_t slice_size, int64_t threshold) {
  if (!hr__tas_select_optimal(search, domains, slices, leaders, slice_size, false)) return false;
  int64_t extra = slices - domains->count * threshold;
  if (extra < 0) return false;
  hr__tas_sort_with_leader(search, domains->items, domains->count, false);
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

/* Selects the domains of the level that gets the slices, and distributes them. */
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
