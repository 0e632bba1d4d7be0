/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tree of topology domains, placements as lists of leaves, and their translation to the objects of Kueue. */

#include "policies/kueue/tas.h"

#include "policies/kueue/kueue.h"

#include <stdlib.h>
#include <string.h>

/* ---- The tree ------------------------------------------------------------------------------------------ */

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

/* Collects the nodes with values; among nodes of the same host only the first. Sets `alias` to the first node of the
   same host. Returns the number of rows. */
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

/* Sets `first` and the number of domains from the sorted distinct rows. */
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
  tree->node_leaf = hr_arena_alloc(arena, (n_nodes + (size_t)1) * sizeof *tree->node_leaf);
  bool ok = rows && alias && tree->node_leaf;
  if (ok) {
    uint32_t n_rows = collect_rows(rows, alias, values, n_nodes, n_levels, by_host);
    count_domains(tree, rows, n_rows);
    tree->domains = hr_arena_alloc(arena, (tree->n_domains + (size_t)1) * sizeof *tree->domains);
    tree->host_order = hr_arena_alloc(arena, (tree->n_leaves + (size_t)1) * sizeof *tree->host_order);
    ok = tree->domains && tree->host_order;
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

/* Returns the domain with a value among the consecutive domains first .. end - 1 of one parent. */
static uint32_t find_child(const struct hr__tas_tree *tree, uint32_t first, uint32_t end, const char *value) {
  while (first < end) {
    uint32_t middle = first + (end - first) / 2;
    int order = strcmp(tree->domains[middle].value, value);
    if (!order) return middle;
    if (order < 0)
      first = middle + 1;
    else
      end = middle;
  }
  return HR_NONE;
}

static uint32_t find_host(const struct hr__tas_tree *tree, const char *host) {
  uint32_t first = 0, end = tree->n_leaves;
  while (first < end) {
    uint32_t middle = first + (end - first) / 2;
    int order = strcmp(tree->domains[hr__tas_leaf_domain(tree, tree->host_order[middle])].value, host);
    if (!order) return tree->host_order[middle];
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
  if (tree->by_host) return n_values == 1 ? find_host(tree, values[0]) : HR_NONE;
  if (n_values != tree->n_levels) return HR_NONE;
  uint32_t domain = find_child(tree, 0, tree->first[1], values[0]);
  for (uint32_t level = 1; level < n_values && domain != HR_NONE; level++)
    domain = find_child(tree, tree->domains[domain].first_child, tree->domains[domain].end_child, values[level]);
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

/* ---- Objects of Kueue ---------------------------------------------------------------------------------- */

/*
 * Translates between the objects of Kueue and topologies in terms of leaves.
 *
 * If the lowest level is the host name, a leaf is a node, pods are matched with its labels and taints, and placements
 * name the host only. Otherwise a leaf is a set of nodes, all nodes are eligible, and placements name all levels.
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
        nodes->of_flavor ? nodes->of_flavor[number][i] : hr__kueue_labels_include(&node->labels, &from->labels);
    read_values(node, flavor, node->usable && selected, values + (size_t)i * n_levels);
  }
  bool by_host = !strcmp(levels[n_levels - 1], HR__TAS_HOST_LABEL);
  bool ok = hr__tas_tree_build(&flavor->tree, arena, values, nodes->count, n_levels, by_host) &&
            hr__tas_snapshot_init(&flavor->snapshot, arena, &flavor->tree, nodes->n_resources, nodes->pods);
  free(values);
  if (!ok) return false;
  flavor->leaf_nodes = hr_arena_alloc(arena, (flavor->tree.n_leaves + (size_t)1) * sizeof *flavor->leaf_nodes);
  if (nodes->part)
    flavor->leaf_part = hr_arena_alloc(arena, (flavor->tree.n_leaves + (size_t)1) * sizeof *flavor->leaf_part);
  if (!flavor->leaf_nodes || (nodes->part && !flavor->leaf_part)) return false;
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

/* Whether a node has the labels that pods ask for. A label that it may have from its flavor was compared before. */
static bool has_labels(const struct hr__tas_flavor *flavor, const struct hr__kueue_labels *labels,
                       const struct hr__kueue_labels *wanted) {
  if (!flavor->has_other_labels) return hr__kueue_labels_include(labels, wanted);
  for (uint32_t i = 0; i < wanted->count; i++) {
    const char *value = hr__kueue_label_get(labels, wanted->items[i].key);
    if (value && strcmp(value, wanted->items[i].value) != 0) return false;
  }
  return true;
}

static enum hr__tas_exclusion exclusion_of(const struct hr__tas_flavor *flavor, const struct hr__tas_node *node,
                                           const struct hr__kueue_selector *selector) {
  if (hr__kueue_untolerated(&node->taints, &selector->tolerations, &flavor->tolerations)) return HR__TAS_TAINT;
  if (!has_labels(flavor, &node->labels, &selector->labels)) return HR__TAS_SELECTOR;
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
  struct hr__kueue_domain *domains = hr_arena_alloc(arena, (count + (size_t)1) * sizeof *domains);
  const char **values = hr_arena_alloc(arena, ((size_t)count * n_levels + 1) * sizeof *values);
  if (!placement || !domains || !values) return NULL;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t domain = hr__tas_leaf_domain(tree, parts[i].leaf);
    for (uint32_t level = n_levels; level-- > 0; domain = tree->domains[domain].parent)
      values[(size_t)i * n_levels + level] = tree->domains[domain].value;
    domains[i] = (struct hr__kueue_domain){values + (size_t)i * n_levels, parts[i].count};
  }
  *placement = (struct hr__kueue_placement){flavor->levels + flavor->n_levels - n_levels, n_levels, count, domains};
  return placement;
}
