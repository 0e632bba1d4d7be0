/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The orders in which topology domains are used, and the choice of the last domain.
 *
 * Invariant: every order is total, because domains with equal counts are ordered by number, which is the order of their
 * values. The orders therefore do not depend on the order of the input.
 *
 * Source: kubernetes-sigs/kueue, pkg/cache/scheduler/tas_flavor_snapshot.go and tas_balanced_placement.go.
 */

#include "base/array.h"
#include "policies/kueue/tas_search.h"

#include <math.h>
#include <string.h>

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

/* Heap sort. The orders are total, so the result is unique. */
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
  bool least_free;
};

static bool precedes_by_counts(const void *self, uint32_t a, uint32_t b) {
  const struct domain_order *order = self;
  const struct hr__tas_state *left = &order->search->state[a], *right = &order->search->state[b];
  if (order->search->gates.affinity_preferred && left->affinity != right->affinity)
    return left->affinity > right->affinity;
  if (left->slices != right->slices) return (left->slices < right->slices) == order->least_free;
  if (left->pods != right->pods) return left->pods < right->pods;
  return a < b;
}

static bool precedes_with_leader(const void *self, uint32_t a, uint32_t b) {
  const struct domain_order *order = self;
  const struct hr__tas_state *left = &order->search->state[a], *right = &order->search->state[b];
  if (left->leaders != right->leaders) return left->leaders > right->leaders;
  if (order->search->gates.affinity_preferred && left->affinity != right->affinity)
    return left->affinity > right->affinity;
  if (left->slices_with_leader != right->slices_with_leader)
    return (left->slices_with_leader < right->slices_with_leader) == order->least_free;
  if (left->pods_with_leader != right->pods_with_leader) return left->pods_with_leader < right->pods_with_leader;
  return a < b;
}

void hr__tas_sort(const struct hr__tas_search *search, uint32_t *domains, uint32_t count, bool unconstrained) {
  struct domain_order order = {search, hr__tas_least_free(search, unconstrained)};
  sort_domains(domains, count, precedes_by_counts, &order);
}

void hr__tas_sort_with_leader(const struct hr__tas_search *search, uint32_t *domains, uint32_t count,
                              bool unconstrained) {
  struct domain_order order = {search, hr__tas_least_free(search, unconstrained)};
  sort_domains(domains, count, precedes_with_leader, &order);
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

uint32_t hr__tas_best_fit(const struct hr__tas_search *search, const uint32_t *domains, uint32_t count, int64_t needed,
                          int64_t leaders, bool slices) {
  uint32_t best = 0;
  int64_t least = INT32_MAX;
  for (uint32_t i = 0; i < count; i++) {
    const struct hr__tas_state *state = &search->state[domains[i]];
    if (search->gates.affinity_preferred && state->affinity != search->state[domains[0]].affinity) break;
    if (state->leaders < leaders) continue;
    int64_t fits = slices ? (leaders > 0 ? state->slices_with_leader : state->slices)
                          : (leaders > 0 ? state->pods_with_leader : state->pods);
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
  for (uint32_t i = 0; i < count; i++)
    available += slices ? search->state[domains[i]].slices : search->state[domains[i]].pods;
  for (uint32_t i = 0; i < count; i++) {
    const struct hr__tas_state *state = &search->state[domains[i]];
    int64_t lost = slices ? state->slices - state->slices_with_leader : state->pods - state->pods_with_leader;
    if (state->leaders < leaders || available - lost < needed) continue;
    uint32_t first = domains[i];
    memmove(domains + 1, domains, i * sizeof *domains);
    domains[0] = first;
    return;
  }
}
