/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The tree of topology domains, and the search that places pod sets in it.
 *
 * A search counts what fits, selects domains at one level (tas_select.c), and then goes down level by level. Above the
 * level of the slices, the children of all selected domains form one list. At this level and below it, each domain
 * distributes its own pods over its children. Domains of a list are used in their order until one suffices for the
 * remaining pods. Then the smallest domain that suffices is used, or, if hr__tas_least_free, the first. A placement is
 * a list of leaves. Invariant: after each level, the pods of the domains in `fit` add up to the pods of the goal.
 *
 * Source: kubernetes-sigs/kueue, pkg/cache/scheduler/tas_flavor_snapshot.go (findTopologyAssignment).
 */

#include "base/containers.h"
#include "policies/kueue/kueue.h"
#include "policies/kueue/tas.h"

#include <stdlib.h>
#include <string.h>

/* The label with the name of the host. */
#define HOST_LABEL "kubernetes.io/hostname"

/* ---- The tree --------------------------------------------------------------------------------------- */

/*
 * The nodes are sorted by their values; a new domain begins at each level at which the values differ from those of the
 * previous node. Domains are then numbered level by level. Invariant: the children of a domain are consecutive, and
 * numbers ascend with the values.
 *
 * Source: kubernetes-sigs/kueue, pkg/cache/scheduler/tas_topology_tree.go; pkg/util/tas.
 */

/* A node to be sorted. */
struct row {
  const char *const *values;
  uint32_t n_levels, node;
};

/* Returns the first level at which two rows differ; n_levels if they are equal. */
static uint32_t first_difference(const struct row *a, const struct row *b) {
  uint32_t level = 0;
  while (level < a->n_levels && !strcmp(a->values[level], b->values[level])) level++;
  return level;
}

static int compare_nodes(const struct row *a, const struct row *b) {
  return (a->node > b->node) - (a->node < b->node);
}

static int compare_rows(const void *left, const void *right) {
  const struct row *a = left, *b = right;
  uint32_t level = first_difference(a, b);
  return level < a->n_levels ? strcmp(a->values[level], b->values[level]) : compare_nodes(a, b);
}

static int compare_hosts(const void *left, const void *right) {
  const struct row *a = left, *b = right;
  int order = strcmp(a->values[a->n_levels - 1], b->values[b->n_levels - 1]);
  return order ? order : compare_nodes(a, b);
}

/* Collects one row for each leaf: the first of its nodes. Nodes without values are left out. Nodes are of one leaf if
   their host names are equal (`by_host`), otherwise if all their values are equal. Sets alias[node] to the first node
   of the same leaf. Returns the number of rows. */
static uint32_t collect_rows(struct row *rows, uint32_t *alias, const char *const *values, uint32_t n_nodes,
                             uint32_t n_levels, bool by_host) {
  uint32_t count = 0, kept = 0;
  for (uint32_t node = 0; node < n_nodes; node++) {
    alias[node] = HR_NONE;
    if (values[(size_t)node * n_levels]) rows[count++] = (struct row){values + (size_t)node * n_levels, n_levels, node};
  }
  qsort(rows, count, sizeof *rows, by_host ? compare_hosts : compare_rows);
  for (uint32_t i = 0; i < count; i++) {
    const struct row *first = kept ? &rows[kept - 1] : NULL;
    bool is_same = first && (by_host ? !strcmp(first->values[n_levels - 1], rows[i].values[n_levels - 1])
                                     : first_difference(first, &rows[i]) == n_levels);
    alias[rows[i].node] = is_same ? first->node : rows[i].node;
    if (!is_same) rows[kept++] = rows[i];
  }
  if (by_host) qsort(rows, kept, sizeof *rows, compare_rows);
  return kept;
}

/* Sets tree->first and the numbers of domains and leaves from the sorted distinct rows. */
static void count_domains(struct hr__tas_tree *tree, const struct row *rows, uint32_t n_rows) {
  uint32_t per_level[HR__TAS_MAX_LEVELS] = {0};
  for (uint32_t i = 0; i < n_rows; i++)
    for (uint32_t level = i ? first_difference(&rows[i - 1], &rows[i]) : 0; level < tree->n_levels; level++)
      per_level[level]++;
  tree->first[0] = 0;
  for (uint32_t level = 0; level < tree->n_levels; level++)
    tree->first[level + 1] = tree->first[level] + per_level[level];
  tree->n_domains = tree->first[tree->n_levels];
  tree->n_leaves = n_rows;
}

static void create_domains(struct hr__tas_tree *tree, const struct row *rows, uint32_t n_rows) {
  uint32_t next[HR__TAS_MAX_LEVELS];
  memcpy(next, tree->first, sizeof next);
  for (uint32_t i = 0; i < n_rows; i++) {
    for (uint32_t level = i ? first_difference(&rows[i - 1], &rows[i]) : 0; level < tree->n_levels; level++) {
      struct hr__tas_domain *domain = &tree->domains[next[level]];
      *domain = (struct hr__tas_domain){
          .parent = level ? next[level - 1] - 1 : HR_NONE, .level = level, .value = rows[i].values[level]};
      if (level + 1 < tree->n_levels) domain->first_child = domain->end_child = next[level + 1];
      if (level) tree->domains[domain->parent].end_child = next[level] + 1;
      next[level]++;
    }
    tree->node_leaf[rows[i].node] = next[tree->n_levels - 1] - 1 - tree->first[tree->n_levels - 1];
  }
}

/* Sorts the leaves by host name, which is their own value. */
static void order_hosts(struct hr__tas_tree *tree, struct row *rows) {
  for (uint32_t leaf = 0; leaf < tree->n_leaves; leaf++)
    rows[leaf] = (struct row){(const char *const *)&tree->domains[hr__tas_leaf_domain(tree, leaf)].value, 1, leaf};
  qsort(rows, tree->n_leaves, sizeof *rows, compare_rows);
  for (uint32_t i = 0; i < tree->n_leaves; i++) tree->host_order[i] = rows[i].node;
}

bool hr__tas_tree_build(struct hr__tas_tree *tree, struct hr_arena *arena, const char *const *values, uint32_t n_nodes,
                        uint32_t n_levels, bool by_host) {
  *tree = (struct hr__tas_tree){.n_levels = n_levels, .by_host = by_host};
  struct row *rows = malloc((n_nodes + (size_t)1) * sizeof *rows);
  uint32_t *alias = malloc((n_nodes + (size_t)1) * sizeof *alias);
  bool ok = rows && alias && HR__ARENA_ARRAY(arena, tree->node_leaf, n_nodes);
  if (ok) {
    uint32_t n_rows = collect_rows(rows, alias, values, n_nodes, n_levels, by_host);
    count_domains(tree, rows, n_rows);
    ok = HR__ARENA_ARRAY(arena, tree->domains, tree->n_domains) &&
         HR__ARENA_ARRAY(arena, tree->host_order, tree->n_leaves);
    if (ok) {
      create_domains(tree, rows, n_rows);
      for (uint32_t node = 0; node < n_nodes; node++)
        tree->node_leaf[node] = alias[node] == HR_NONE ? HR_NONE : tree->node_leaf[alias[node]];
      if (by_host) order_hosts(tree, rows);
    }
  }
  free(rows);
  free(alias);
  return ok;
}

/* Returns the domain with this value among the consecutive domains first .. end - 1 of one parent or, with `hosts`,
   among the leaves hosts[first .. end - 1]. HR_NONE: not found. */
static uint32_t find_domain(const struct hr__tas_tree *tree, const uint32_t *hosts, uint32_t first, uint32_t end,
                            const char *value) {
  while (first < end) {
    uint32_t middle = first + (end - first) / 2;
    uint32_t domain = hosts ? hr__tas_leaf_domain(tree, hosts[middle]) : middle;
    int order = strcmp(tree->domains[domain].value, value);
    if (!order) return domain;
    if (order < 0)
      first = middle + 1;
    else
      end = middle;
  }
  return HR_NONE;
}

uint32_t hr__tas_leaf_find(const struct hr__tas_tree *tree, const char *const *values, uint32_t n_values) {
  for (uint32_t i = 0; i < n_values; i++)
    if (!values[i]) return HR_NONE;
  if (n_values != (tree->by_host ? 1 : tree->n_levels)) return HR_NONE;
  uint32_t domain = tree->by_host ? find_domain(tree, tree->host_order, 0, tree->n_leaves, values[0])
                                  : find_domain(tree, NULL, 0, tree->first[1], values[0]);
  for (uint32_t level = 1; level < n_values && domain != HR_NONE; level++)
    domain = find_domain(tree, NULL, tree->domains[domain].first_child, tree->domains[domain].end_child, values[level]);
  return domain == HR_NONE ? HR_NONE : domain - tree->first[tree->n_levels - 1];
}

static int compare_parts(const void *left, const void *right) {
  const struct hr__tas_part *a = left, *b = right;
  return (a->leaf > b->leaf) - (a->leaf < b->leaf);
}

uint32_t hr__tas_merge(const struct hr__tas_part *a, uint32_t n_a, const struct hr__tas_part *b, uint32_t n_b,
                       struct hr__tas_part *out) {
  if (n_a && a != out) memcpy(out, a, n_a * sizeof *out);
  if (n_b) memcpy(out + n_a, b, n_b * sizeof *out);
  qsort(out, n_a + n_b, sizeof *out, compare_parts);
  uint32_t count = 0;
  for (uint32_t i = 0; i < n_a + n_b; i++) {
    if (count && out[count - 1].leaf == out[i].leaf)
      out[count - 1].count += out[i].count;
    else
      out[count++] = out[i];
  }
  return count;
}

uint32_t hr__tas_truncate(struct hr__tas_part *parts, uint32_t n_parts, int64_t count) {
  uint32_t kept = 0;
  for (; kept < n_parts && count > 0; kept++) {
    if (parts[kept].count > count) parts[kept].count = count;
    count -= parts[kept].count;
  }
  return kept;
}

/* ---- Objects of Kueue ------------------------------------------------------------------------------- */

/*
 * Translates between the objects of Kueue and topologies in terms of leaves.
 *
 * If the lowest level is the host name, a leaf is a host, pods are matched with the labels and taints of its first
 * node, and placements name the host only. Otherwise a leaf is a set of nodes, all leaves are eligible, and placements
 * name all levels.
 *
 * Source: kubernetes-sigs/kueue, pkg/cache/scheduler (tas_nodes_cache.go, tas_topology_tree.go, simulator/default.go).
 */

/* Sets the values of the levels of a node; NULL values if the flavor does not select it. */
static void read_values(const struct hr__tas_node *node, const struct hr__tas_flavor *flavor, bool selected,
                        const char **values) {
  for (uint32_t level = 0; level < flavor->n_levels; level++) {
    values[level] = hr__kueue_label_get(&node->labels, flavor->levels[level]);
    if (!values[level]) selected = false;
  }
  if (!selected) values[0] = NULL;
}

static void add_capacity(struct hr__tas_flavor *flavor, const struct hr__tas_nodes *nodes) {
  for (uint32_t i = nodes->count; i-- > 0;) {
    uint32_t leaf = flavor->tree.node_leaf[i];
    if (leaf == HR_NONE) continue;
    flavor->leaf_nodes[leaf] = &nodes->items[i];
    if (flavor->leaf_part && nodes->part) flavor->leaf_part[leaf] = nodes->part[i];
    int64_t *free = flavor->snapshot.free + (size_t)leaf * nodes->n_resources;
    for (uint32_t r = 0; r < nodes->n_resources; r++) free[r] += nodes->items[i].free[r];
  }
}

bool hr__tas_flavor_build(struct hr__tas_flavor *flavor, struct hr_arena *arena, const struct hr__tas_nodes *nodes,
                          const char *const *levels, uint32_t n_levels, const struct hr__kueue_flavor *from,
                          uint32_t number) {
  *flavor = (struct hr__tas_flavor){.levels = levels,
                                    .n_levels = n_levels,
                                    .tolerations = from->tolerations,
                                    .has_other_labels = nodes->of_flavor != NULL};
  const char **values = calloc((size_t)nodes->count * n_levels + 1, sizeof *values);
  if (!values) return false;
  for (uint32_t i = 0; i < nodes->count; i++) {
    const struct hr__tas_node *node = &nodes->items[i];
    bool selected =
        nodes->of_flavor ? nodes->of_flavor[number][i] : hr__kueue_labels_include(&node->labels, &from->labels, false);
    read_values(node, flavor, node->usable && selected, values + (size_t)i * n_levels);
  }
  bool by_host = !strcmp(levels[n_levels - 1], HOST_LABEL);
  bool ok = hr__tas_tree_build(&flavor->tree, arena, values, nodes->count, n_levels, by_host) &&
            hr__tas_snapshot_init(&flavor->snapshot, arena, &flavor->tree, nodes->n_resources, nodes->pods);
  free(values);
  if (!ok) return false;
  if (!HR__ARENA_ARRAY(arena, flavor->leaf_nodes, flavor->tree.n_leaves) ||
      (nodes->part && !HR__ARENA_ARRAY(arena, flavor->leaf_part, flavor->tree.n_leaves)))
    return false;
  add_capacity(flavor, nodes);
  return true;
}

/* Returns the number of a level; HR__TAS_UNKNOWN_LEVEL if the topology does not have it. */
static uint32_t flavor_level(const struct hr__tas_flavor *flavor, const char *key) {
  for (uint32_t level = 0; level < flavor->n_levels; level++)
    if (!strcmp(flavor->levels[level], key)) return level;
  return HR__TAS_UNKNOWN_LEVEL;
}

void hr__tas_flavor_request(const struct hr__tas_flavor *flavor, const struct hr__kueue_topology_request *topology,
                            struct hr__tas_request *request) {
  request->required = request->preferred = HR_NONE;
  request->unconstrained = topology->mode == HR__KUEUE_UNCONSTRAINED;
  if (topology->mode == HR__KUEUE_REQUIRED) request->required = flavor_level(flavor, topology->level);
  if (topology->mode == HR__KUEUE_PREFERRED) request->preferred = flavor_level(flavor, topology->level);
  request->n_slices = 0;
  for (uint32_t i = 0; i < topology->n_slices && i < HR__TAS_MAX_SLICES; i++)
    request->slices[request->n_slices++] =
        (struct hr__tas_slice){flavor_level(flavor, topology->slices[i].level), topology->slices[i].size};
}

static enum hr__tas_exclusion exclusion_of(const struct hr__tas_flavor *flavor, const struct hr__tas_node *node,
                                           const struct hr__kueue_selector *selector) {
  if (hr__kueue_untolerated(&node->taints, &selector->tolerations, &flavor->tolerations)) return HR__TAS_TAINT;
  /* If nodes also have the labels of their flavor, these were compared with the selector before. */
  if (!hr__kueue_labels_include(&node->labels, &selector->labels, flavor->has_other_labels)) return HR__TAS_SELECTOR;
  for (uint32_t i = 0; i < selector->n_required; i++)
    if (hr__kueue_term_matches(&selector->required[i], &node->labels)) return HR__TAS_ELIGIBLE;
  return selector->n_required ? HR__TAS_AFFINITY : HR__TAS_ELIGIBLE;
}

void hr__tas_flavor_match(const struct hr__tas_flavor *flavor, const struct hr__kueue_selector *selector,
                          uint8_t *excluded, int64_t *affinity) {
  memset(excluded, HR__TAS_ELIGIBLE, flavor->tree.n_leaves);
  for (uint32_t leaf = 0; flavor->tree.by_host && leaf < flavor->tree.n_leaves; leaf++) {
    const struct hr__tas_node *node = flavor->leaf_nodes[leaf];
    excluded[leaf] = (uint8_t)exclusion_of(flavor, node, selector);
    affinity[leaf] = 0;
    for (uint32_t i = 0; i < selector->n_preferred; i++)
      if (hr__kueue_term_matches(&selector->preferred[i], &node->labels))
        affinity[leaf] += selector->preferred[i].weight;
  }
}

uint32_t hr__tas_flavor_leaf(const struct hr__tas_flavor *flavor, const struct hr__kueue_placement *placement,
                             uint32_t domain) {
  uint32_t n_values = placement->n_levels;
  const char *const *values = placement->domains[domain].values;
  if (flavor->tree.by_host && n_values > 1) { /* written with all levels: the last one is the host */
    values += n_values - 1;
    n_values = 1;
  }
  return n_values ? hr__tas_leaf_find(&flavor->tree, values, n_values) : HR_NONE;
}

const struct hr__kueue_placement *hr__tas_flavor_placement(const struct hr__tas_flavor *flavor, struct hr_arena *arena,
                                                           const struct hr__tas_part *parts, uint32_t count) {
  const struct hr__tas_tree *tree = &flavor->tree;
  uint32_t n_levels = tree->by_host ? 1 : tree->n_levels;
  struct hr__kueue_placement *placement = hr_arena_alloc(arena, sizeof *placement);
  struct hr__kueue_domain *domains;
  const char **values;
  if (!placement || !HR__ARENA_ARRAY(arena, domains, count) ||
      !HR__ARENA_ARRAY(arena, values, (size_t)count * n_levels))
    return NULL;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t domain = hr__tas_leaf_domain(tree, parts[i].leaf);
    for (uint32_t level = n_levels; level-- > 0; domain = tree->domains[domain].parent)
      values[(size_t)i * n_levels + level] = tree->domains[domain].value;
    domains[i] = (struct hr__kueue_domain){values + (size_t)i * n_levels, parts[i].count};
  }
  *placement = (struct hr__kueue_placement){flavor->levels + flavor->n_levels - n_levels, n_levels, count, domains};
  return placement;
}

/* ---- Memory of a search ----------------------------------------------------------------------------- */

void hr__tas_search_finish(struct hr__tas_search *search) {
  free(search->state);
  free(search->parts);
  free(search->saved);
  free(search->best);
  free(search->fit.items);
  free(search->next.items);
  free(search->sorted.items);
  free(search->spare.items);
  free(search->entropy);
  free(search->room);
  free(search->selections);
  for (uint32_t i = 0; i < search->by_size_capacity; i++) free(search->by_size[i].items);
  free(search->by_size);
  *search = (struct hr__tas_search){.gates = search->gates};
}

bool hr__tas_list_clear(struct hr__tas_search *search, struct hr__tas_list *list, uint32_t capacity) {
  list->count = 0;
  if (HR__ARRAY_HAS_ROOM_FOR(list->items, capacity + (size_t)1, list->capacity)) return true;
  search->no_memory = true;
  return false;
}

/* ---- Distribution of pods over a list of domains ---------------------------------------------------- */

/* The slices or pods, and the leaders, that must still be distributed. */
struct rest {
  int64_t units; /* slices, or pods */
  int64_t leaders;
  int64_t unit_size;
  bool slices;
};

/* Assigns units and leaders to one domain of the list. Returns the domain. This is the first domain of the list. With
   `best_fit`, if the first domain suffices, it is the smallest domain that suffices. */
static uint32_t give(struct hr__tas_search *search, const uint32_t *domains, uint32_t count, bool best_fit,
                     struct rest *rest) {
  struct hr__tas_state *state = &search->state[domains[0]];
  uint32_t domain = domains[0];
  bool leads = rest->leaders > 0;
  if (best_fit && hr__tas_units(state, rest->slices, leads) >= rest->units && state->leaders >= rest->leaders)
    domain = domains[hr__tas_best_fit(search, domains, count, rest->units, rest->leaders, rest->slices)];
  state = &search->state[domain];
  int64_t units = hr__tas_units(state, rest->slices, leads);
  if (units > rest->units) units = rest->units;
  if (state->leaders > rest->leaders) state->leaders = rest->leaders;
  if (rest->slices) state->slices = units;
  state->pods = units * rest->unit_size;
  rest->units -= units;
  rest->leaders -= state->leaders;
  return domain;
}

/* Distributes pods and leaders over a sorted list, which may be reordered, and appends the used domains to `out`. The
   counts of a used domain are set to what it gets. If the list does not suffice, which is a contradiction in the
   counts, nothing is appended. */
static void distribute(struct hr__tas_search *search, uint32_t *domains, uint32_t count, struct rest rest,
                       struct hr__tas_list *out) {
  bool best_fit = !hr__tas_least_free(search, search->goal.unconstrained);
  uint32_t before = out->count;
  hr__tas_leader_first(search, domains, count, rest.units, rest.leaders, rest.unit_size, rest.slices);
  if (rest.slices)
    rest.units /= rest.unit_size;
  else
    rest.unit_size = 1;
  for (uint32_t i = 0; i < count; i++) {
    out->items[out->count++] = give(search, domains + i, count - i, best_fit, &rest);
    if (rest.units <= 0 && rest.leaders <= 0) return;
  }
  out->count = before;
}

/* ---- Descent ---------------------------------------------------------------------------------------- */

static void swap_lists(struct hr__tas_search *search) {
  struct hr__tas_list fit = search->fit;
  search->fit = search->next;
  search->next = fit;
}

/* Collects the children of domains into `sorted`, and sorts them in the order of use. */
static void sort_children(struct hr__tas_search *search, const uint32_t *domains, uint32_t count) {
  search->sorted.count = 0;
  for (uint32_t i = 0; i < count; i++) {
    const struct hr__tas_domain *domain = &search->tree->domains[domains[i]];
    for (uint32_t child = domain->first_child; child < domain->end_child; child++)
      search->sorted.items[search->sorted.count++] = child;
  }
  hr__tas_sort(search, search->sorted.items, search->sorted.count, search->goal.unconstrained, false);
}

/* Distributes the pods of each selected domain over its own children. */
static void descend_by_parent(struct hr__tas_search *search, uint32_t level) {
  const struct hr__tas_goal *goal = &search->goal;
  int64_t size = goal->slice_size;
  if (level >= goal->slice_level) size = goal->inner[level + 1] ? goal->inner[level + 1] : 1;
  search->next.count = 0;
  for (uint32_t i = 0; i < search->fit.count; i++) {
    uint32_t domain = search->fit.items[i];
    sort_children(search, &domain, 1);
    for (uint32_t j = 0; size > 1 && j < search->sorted.count; j++) {
      struct hr__tas_state *state = &search->state[search->sorted.items[j]];
      state->slices = state->pods / size;
      state->slices_with_leader = state->pods_with_leader / size;
    }
    struct rest rest = {search->state[domain].pods, search->state[domain].leaders, size, size > 1};
    distribute(search, search->sorted.items, search->sorted.count, rest, &search->next);
  }
  swap_lists(search);
}

/* Distributes the pods from the selected domains of a level down to the leaves. Returns false if memory is exhausted.
   `is_balanced`: the domains were selected by balanced placement. */
static bool descend(struct hr__tas_search *search, uint32_t level, bool is_balanced) {
  const struct hr__tas_goal *goal = &search->goal;
  uint32_t last = search->tree->n_levels - 1, capacity = search->tree->n_domains;
  struct rest all = {goal->count, goal->leaders, goal->slice_size, true};
  if (!hr__tas_list_clear(search, &search->next, capacity) || !hr__tas_list_clear(search, &search->sorted, capacity))
    return false;
  distribute(search, search->fit.items, search->fit.count, all, &search->next);
  swap_lists(search);
  for (; !is_balanced && level < last && level < goal->slice_level; level++) {
    if (!hr__tas_list_clear(search, &search->next, capacity)) return false;
    sort_children(search, search->fit.items, search->fit.count);
    distribute(search, search->sorted.items, search->sorted.count, all, &search->next);
    swap_lists(search);
  }
  for (; level < last; level++) {
    if (!hr__tas_list_clear(search, &search->next, capacity)) return false;
    descend_by_parent(search, level);
  }
  return true;
}

/* ---- Requests --------------------------------------------------------------------------------------- */

/* Returns the level at which pods are placed: HR_NONE if nothing is requested, HR__TAS_UNKNOWN_LEVEL if the topology
   does not have the level. */
static uint32_t request_level(const struct hr__tas_request *request, uint32_t n_levels) {
  if (request->required != HR_NONE) return request->required;
  if (request->preferred != HR_NONE) return request->preferred;
  if (request->n_slices) return 0;
  return request->unconstrained || request->implied ? n_levels - 1 : HR_NONE;
}

bool hr__tas_has_levels(const struct hr__tas_request *request, uint32_t n_levels) {
  struct hr__tas_request explicit = *request;
  explicit.implied = false;
  uint32_t level = request_level(&explicit, n_levels);
  if (level == HR_NONE || level == HR__TAS_UNKNOWN_LEVEL) return false;
  for (uint32_t i = 0; i < request->n_slices; i++)
    if (request->slices[i].level == HR__TAS_UNKNOWN_LEVEL) return false;
  return true;
}

/* Sets the sizes of inner slices by level. A size also applies to the levels between two layers. Returns HR__TAS_FITS,
   or why a size or level is invalid. */
static enum hr__tas_failure_kind set_inner_slices(const struct hr__tas_request *request, struct hr__tas_goal *goal) {
  int64_t size = goal->slice_size;
  uint32_t level = goal->slice_level;
  for (uint32_t i = 1; i < request->n_slices; i++) {
    const struct hr__tas_slice *inner = &request->slices[i];
    if (inner->level == HR__TAS_UNKNOWN_LEVEL) return HR__TAS_INNER_SLICE_LEVEL;
    if (inner->level <= level) return HR__TAS_INNER_SLICE_ABOVE;
    if (inner->size <= 0 || size % inner->size) return HR__TAS_INNER_SLICE_SIZE;
    while (level < inner->level) goal->inner[++level] = inner->size;
    size = inner->size;
    goal->layered = true;
  }
  return HR__TAS_FITS;
}

/* Translates a request into a goal. Returns HR__TAS_FITS, or why the request is invalid. */
static enum hr__tas_failure_kind set_goal(const struct hr__tas_request *request, bool has_leader, uint32_t n_levels,
                                          struct hr__tas_goal *goal) {
  bool only_slices = request->required == HR_NONE && request->preferred == HR_NONE && request->n_slices;
  *goal = (struct hr__tas_goal){.count = request->count,
                                .slice_size = request->n_slices ? request->slices[0].size : 1,
                                .leaders = has_leader,
                                .level = request_level(request, n_levels),
                                .slice_level = request->n_slices ? request->slices[0].level : n_levels - 1,
                                .required = request->required != HR_NONE,
                                .unconstrained = request->unconstrained || request->implied || only_slices};
  if (goal->slice_size <= 0) return HR__TAS_SLICE_SIZE;
  if (goal->level == HR_NONE) return HR__TAS_NO_LEVEL;
  if (goal->level == HR__TAS_UNKNOWN_LEVEL) return HR__TAS_LEVEL_UNKNOWN;
  if (goal->slice_level == HR__TAS_UNKNOWN_LEVEL) return HR__TAS_SLICE_LEVEL;
  if (goal->level > goal->slice_level) return HR__TAS_SLICE_ABOVE;
  return set_inner_slices(request, goal);
}

/* ---- Search ----------------------------------------------------------------------------------------- */

/* Prepares the working memory for a snapshot. */
static bool begin(struct hr__tas_search *search, const struct hr__tas_snapshot *snapshot) {
  search->snapshot = snapshot;
  search->tree = snapshot->tree;
  search->no_memory = !HR__ARRAY_HAS_ROOM_FOR(search->state, snapshot->tree->n_domains, search->state_capacity) ||
                      !HR__ARRAY_HAS_ROOM_FOR(search->room, snapshot->n_resources, search->room_capacity);
  return !search->no_memory;
}

/* Appends the pods of the selected leaves to the results, in the order of leaves. With `leaders`, appends the leaders
   instead of the other pods. Returns false if memory is exhausted. */
static bool append_parts(struct hr__tas_search *search, bool leaders, struct hr__tas_result *result) {
  uint32_t first_leaf = search->tree->first[search->tree->n_levels - 1];
  size_t needed = search->n_parts + (size_t)search->fit.count;
  if (!HR__ARRAY_HAS_ROOM_FOR(search->parts, needed, search->parts_capacity)) return false;
  *result = (struct hr__tas_result){.first = search->n_parts, .placed = true};
  for (uint32_t i = 0; i < search->fit.count; i++) {
    const struct hr__tas_state *state = &search->state[search->fit.items[i]];
    int64_t count = leaders ? state->leaders : state->pods;
    if (count > 0) search->parts[search->n_parts++] = (struct hr__tas_part){search->fit.items[i] - first_leaf, count};
  }
  result->count = search->n_parts - result->first;
  result->count = hr__tas_merge(search->parts + result->first, result->count, NULL, 0, search->parts + result->first);
  search->n_parts = result->first + result->count;
  return true;
}

/* Places workers and their leader (NULL: none), in the domain `demand.within` (HR_NONE: anywhere). If they do not fit,
   `result->failure` is the reason. Returns false if memory is exhausted. */
static bool find(struct hr__tas_search *search, const struct hr__tas_request *workers,
                 const struct hr__tas_request *leader, struct hr__tas_demand demand, struct hr__tas_result *result,
                 struct hr__tas_result *leader_result) {
  *result = (struct hr__tas_result){.first = search->n_parts};
  result->failure.kind = set_goal(workers, leader != NULL, search->tree->n_levels, &search->goal);
  if (result->failure.kind == HR__TAS_FITS) {
    search->exclusions = (struct hr__tas_exclusions){0};
    demand.pod = workers->pod;
    demand.leader = leader ? leader->pod : NULL;
    demand.excluded = workers->excluded;
    demand.affinity = workers->affinity;
    hr__tas_fill_counts(search, &demand);
    uint32_t level = 0;
    bool is_balanced = search->gates.balanced && !search->goal.required && !search->goal.unconstrained &&
                       hr__tas_select_balanced(search, &level);
    if (!is_balanced) result->failure = hr__tas_select_level(search, &level);
    if (search->no_memory) return false;
    if (result->failure.kind == HR__TAS_FITS) {
      if (!descend(search, level, is_balanced)) return false;
      if (leader && !append_parts(search, true, leader_result)) return false;
      return append_parts(search, false, result);
    }
  }
  if (leader) leader_result->failure = result->failure;
  return true;
}

/* Adds the pods of `count` parts to the assumed usage (NULL: does nothing). */
static void assume(const struct hr__tas_snapshot *snapshot, int64_t *assumed, const struct hr__tas_part *parts,
                   uint32_t count, const int64_t *pod) {
  for (uint32_t i = 0; assumed && i < count; i++)
    if (parts[i].leaf != HR_NONE)
      hr__tas_add_pods(snapshot, assumed + (size_t)parts[i].leaf * snapshot->n_resources, pod, parts[i].count);
}

static void assume_result(struct hr__tas_search *search, int64_t *assumed, const struct hr__tas_result *result,
                          const int64_t *pod) {
  assume(search->snapshot, assumed, search->parts + result->first, result->count, pod);
}

/* ---- Workload slices -------------------------------------------------------------------------------- */

static bool is_stale(const struct hr__tas_part *parts, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (parts[i].leaf == HR_NONE) return true;
  return false;
}

static int64_t count_pods(const struct hr__tas_part *parts, uint32_t count) {
  int64_t pods = 0;
  for (uint32_t i = 0; i < count; i++) pods += parts[i].count;
  return pods;
}

/* Returns whether the previous placement is kept, so that only the difference is placed or removed. */
static bool is_elastic(const struct hr__tas_search *search, const struct hr__tas_request *workers,
                       const struct hr__tas_request *leader) {
  if (!search->gates.elastic || !workers->has_previous || is_stale(workers->previous, workers->n_previous))
    return false;
  if (leader && leader->has_previous && is_stale(leader->previous, leader->n_previous)) return false;
  int64_t size = workers->n_slices ? workers->slices[0].size : 1;
  return size <= 1 || (count_pods(workers->previous, workers->n_previous) % size == 0 && workers->count % size == 0);
}

/* Appends parts as a result. Returns false if memory is exhausted. */
static bool append_copy(struct hr__tas_search *search, const struct hr__tas_part *parts, uint32_t count,
                        struct hr__tas_result *result) {
  if (!HR__ARRAY_HAS_ROOM_FOR(search->parts, search->n_parts + (size_t)count, search->parts_capacity)) return false;
  *result = (struct hr__tas_result){.first = search->n_parts, .count = count, .placed = true};
  if (count) memcpy(search->parts + search->n_parts, parts, count * sizeof *parts);
  search->n_parts += count;
  return true;
}

/* Places the pods that were added to the previous placement, which is kept. Returns false if memory is exhausted. */
static bool grow(struct hr__tas_search *search, const struct hr__tas_request *workers,
                 const struct hr__tas_request *leader, struct hr__tas_demand demand, int64_t *assumed,
                 struct hr__tas_result *result, struct hr__tas_result *leader_result) {
  const struct hr__tas_snapshot *snapshot = search->snapshot;
  struct hr__tas_request added = *workers;
  added.count -= count_pods(workers->previous, workers->n_previous);
  bool keeps_leader = leader && leader->has_previous;
  assume(snapshot, assumed, workers->previous, workers->n_previous, workers->pod);
  if (keeps_leader) assume(snapshot, assumed, leader->previous, leader->n_previous, leader->pod);
  struct hr__tas_result found, found_leader = {0};
  if (!find(search, &added, keeps_leader ? NULL : leader, demand, &found, &found_leader)) return false;
  *result = found;
  if (found.failure.kind != HR__TAS_FITS) return true;
  assume_result(search, assumed, &found, workers->pod);
  if (keeps_leader && !append_copy(search, leader->previous, leader->n_previous, leader_result)) return false;
  if (leader && !keeps_leader) {
    *leader_result = found_leader;
    assume_result(search, assumed, &found_leader, leader->pod);
  }
  size_t room = search->n_parts + (size_t)found.count + workers->n_previous;
  if (!HR__ARRAY_HAS_ROOM_FOR(search->parts, room, search->parts_capacity)) return false;
  result->first = search->n_parts;
  result->count = hr__tas_merge(search->parts + found.first, found.count, workers->previous, workers->n_previous,
                                search->parts + search->n_parts);
  search->n_parts += result->count;
  return true;
}

/* Keeps the first `workers->count` pods of the previous placement, and the leader. Returns false if memory is
   exhausted. */
static bool keep(struct hr__tas_search *search, const struct hr__tas_request *workers,
                 const struct hr__tas_request *leader, int64_t *assumed, struct hr__tas_result *result,
                 struct hr__tas_result *leader_result) {
  if (!append_copy(search, workers->previous, workers->n_previous, result)) return false;
  result->count = hr__tas_truncate(search->parts + result->first, result->count, workers->count);
  search->n_parts = result->first + result->count;
  assume_result(search, assumed, result, workers->pod);
  if (!leader) return true;
  if (!append_copy(search, leader->previous, leader->n_previous, leader_result)) return false;
  leader_result->placed = leader->has_previous;
  assume_result(search, assumed, leader_result, leader->pod);
  return true;
}

/* ---- Workloads -------------------------------------------------------------------------------------- */

/* Places one pod set, or a leader and its workers. Returns false if memory is exhausted. `empty`: the usage of placed
   pods is ignored. */
static bool place_group(struct hr__tas_search *search, const struct hr__tas_request *workers,
                        const struct hr__tas_request *leader, bool empty, int64_t *assumed,
                        struct hr__tas_result *result, struct hr__tas_result *leader_result) {
  struct hr__tas_demand demand = {.assumed = assumed, .within = HR_NONE, .empty = empty};
  if (is_elastic(search, workers, leader)) {
    int64_t previous = count_pods(workers->previous, workers->n_previous);
    return workers->count > previous ? grow(search, workers, leader, demand, assumed, result, leader_result)
                                     : keep(search, workers, leader, assumed, result, leader_result);
  }
  if (!find(search, workers, leader, demand, result, leader_result)) return false;
  if (result->failure.kind != HR__TAS_FITS) return true;
  assume_result(search, assumed, result, workers->pod);
  if (leader) assume_result(search, assumed, leader_result, leader->pod);
  return true;
}

/* Returns the next pod set of the same group after `i`; HR_NONE: not found. */
static uint32_t next_of_group(const struct hr__tas_request *requests, uint32_t count, uint32_t i) {
  for (uint32_t j = i + 1; requests[i].group != HR_NONE && j < count; j++)
    if (requests[j].group == requests[i].group) return j;
  return HR_NONE;
}

static bool is_later_of_group(const struct hr__tas_request *requests, uint32_t i) {
  for (uint32_t j = 0; requests[i].group != HR_NONE && j < i; j++)
    if (requests[j].group == requests[i].group) return true;
  return false;
}

bool hr__tas_place(struct hr__tas_search *search, const struct hr__tas_snapshot *snapshot,
                   const struct hr__tas_request *requests, uint32_t count, bool empty, int64_t *assumed,
                   struct hr__tas_result *results) {
  if (!begin(search, snapshot)) return false;
  search->n_parts = 0;
  for (uint32_t i = 0; i < count; i++) results[i] = (struct hr__tas_result){0};
  for (uint32_t i = 0; i < count; i++) {
    if (is_later_of_group(requests, i)) continue;
    uint32_t workers = i, leader = next_of_group(requests, count, i);
    if (leader != HR_NONE && requests[leader].count > requests[i].count) {
      workers = leader;
      leader = i;
    }
    struct hr__tas_result unused;
    if (!place_group(search, &requests[workers], leader == HR_NONE ? NULL : &requests[leader], empty, assumed,
                     &results[workers], leader == HR_NONE ? &unused : &results[leader]))
      return false;
    if (results[workers].failure.kind != HR__TAS_FITS) return true;
  }
  return true;
}

/* ---- Replacement of a failed node ------------------------------------------------------------------- */

/* Returns the first domain at the level of the slices in which the remaining pods and the lost pods together are whole
   slices; HR_NONE: none. */
static uint32_t incomplete_domain(const struct hr__tas_tree *tree, const struct hr__tas_part *parts, uint32_t count,
                                  int64_t lost, struct hr__tas_slice slice) {
  if (slice.level == HR__TAS_UNKNOWN_LEVEL) return HR_NONE;
  uint32_t found = HR_NONE;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t domain = hr__tas_ancestor(tree, hr__tas_leaf_domain(tree, parts[i].leaf), slice.level);
    int64_t pods = lost;
    for (uint32_t j = 0; j < count; j++)
      if (hr__tas_ancestor(tree, hr__tas_leaf_domain(tree, parts[j].leaf), slice.level) == domain)
        pods += parts[j].count;
    if (pods % slice.size == 0 && domain < found) found = domain;
  }
  return found;
}

/* Returns the domain in which lost pods must be replaced; HR_NONE: anywhere. If the lost pods are not whole slices,
   this is the domain of the incomplete slice. Otherwise, it is the domain of the placement at the required level. */
static uint32_t replacement_domain(const struct hr__tas_tree *tree, const struct hr__tas_request *request,
                                   const struct hr__tas_part *parts, uint32_t count, int64_t lost) {
  uint32_t level = request_level(request, tree->n_levels);
  if (level == HR_NONE || level == HR__TAS_UNKNOWN_LEVEL || !count) return HR_NONE;
  if (request->n_slices && lost % request->slices[0].size) {
    for (uint32_t i = request->n_slices; i-- > 1;)
      if (lost % request->slices[i].size) return incomplete_domain(tree, parts, count, lost, request->slices[i]);
    return incomplete_domain(tree, parts, count, lost, request->slices[0]);
  }
  if (request->required == HR_NONE) return HR_NONE;
  return hr__tas_ancestor(tree, hr__tas_leaf_domain(tree, parts[0].leaf), level);
}

/* Reduces the slices of a request to one layer: the innermost layer with a size that divides request->count, which is
   the number of lost pods. */
static void reduce_slices(struct hr__tas_request *request) {
  struct hr__tas_slice kept = {.size = 0};
  for (uint32_t i = request->n_slices; i-- > 0 && !kept.size;)
    if (request->count % request->slices[i].size == 0) kept = request->slices[i];
  request->n_slices = kept.size != 0;
  request->slices[0] = kept;
}

static bool has_bad_size(const struct hr__tas_request *request) {
  for (uint32_t i = 0; i < request->n_slices; i++)
    if (request->slices[i].size <= 0) return true;
  return false;
}

/* Places the lost pods (request.count) again. search->parts has the `kept` parts that remain. Returns false if memory
   is exhausted. */
static bool replace_lost(struct hr__tas_search *search, struct hr__tas_request request, uint32_t kept, int64_t *assumed,
                         struct hr__tas_result *result) {
  struct hr__tas_demand demand = {.assumed = assumed, .within = HR_NONE};
  demand.within = replacement_domain(search->tree, &request, search->parts, kept, request.count);
  if (request.n_slices && demand.within != HR_NONE && request.count % request.slices[0].size) reduce_slices(&request);
  struct hr__tas_result found;
  if (!find(search, &request, NULL, demand, &found, NULL)) return false;
  *result = found;
  if (found.failure.kind != HR__TAS_FITS) return true;
  if (!found.count) {
    *result = (struct hr__tas_result){.failure = {.kind = HR__TAS_NO_REPLACEMENT}};
    return true;
  }
  assume_result(search, assumed, &found, request.pod);
  size_t room = search->n_parts + (size_t)found.count + kept;
  if (!HR__ARRAY_HAS_ROOM_FOR(search->parts, room, search->parts_capacity)) return false;
  result->first = search->n_parts;
  result->count =
      hr__tas_merge(search->parts + found.first, found.count, search->parts, kept, search->parts + search->n_parts);
  search->n_parts += result->count;
  return true;
}

bool hr__tas_replace(struct hr__tas_search *search, const struct hr__tas_snapshot *snapshot,
                     const struct hr__tas_request *request, const struct hr__tas_part *parts, uint32_t count,
                     uint32_t lost, int64_t *assumed, struct hr__tas_result *result) {
  if (!begin(search, snapshot)) return false;
  struct hr__tas_request changed = *request;
  changed.count = lost == HR_NONE ? 0 : parts[lost].count;
  if (!HR__ARRAY_HAS_ROOM_FOR(search->parts, (size_t)count + 1, search->parts_capacity)) return false;
  search->n_parts = 0;
  for (uint32_t i = 0; i < count; i++)
    if (i != lost) search->parts[search->n_parts++] = parts[i];
  *result = (struct hr__tas_result){0};
  if (is_stale(search->parts, search->n_parts))
    result->failure.kind = HR__TAS_STALE;
  else if (has_bad_size(request))
    result->failure.kind = HR__TAS_SLICE_SIZE;
  else
    return replace_lost(search, changed, search->n_parts, assumed, result);
  return true;
}
