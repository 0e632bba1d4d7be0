/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Translates between the objects of Kueue and topologies in terms of leaves.
 *
 * If the lowest level is the host name, a leaf is a node, pods are matched with its labels and taints, and placements
 * name the host only. Otherwise a leaf is a set of nodes, all nodes are eligible, and placements name all levels.
 *
 * Source: kubernetes-sigs/kueue, pkg/cache/scheduler (tas_nodes_cache.go, tas_topology_tree.go, simulator/default.go).
 */

#include "policies/kueue/tas_flavor.h"

#include "policies/kueue/labels.h"

#include <stdlib.h>
#include <string.h>

/* Sets the values of the levels of a node; NULL values if the flavor does not select it. */
static void read_values(const struct hr__tas_node *node, const struct hr__tas_flavor *flavor,
                        const struct hr__kueue_labels *labels, const char **values) {
  bool selected = node->usable && hr__kueue_labels_include(&node->labels, labels);
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
    int64_t *free = flavor->snapshot.free + (size_t)leaf * nodes->n_resources;
    for (uint32_t r = 0; r < nodes->n_resources; r++) free[r] += nodes->items[i].free[r];
  }
}

bool hr__tas_flavor_build(struct hr__tas_flavor *flavor, struct hr_arena *arena, const struct hr__tas_nodes *nodes,
                          const char *const *levels, uint32_t n_levels, const struct hr__kueue_labels *labels,
                          struct hr__kueue_tolerations tolerations) {
  *flavor = (struct hr__tas_flavor){.levels = levels, .n_levels = n_levels, .tolerations = tolerations};
  const char **values = malloc(((size_t)nodes->count * n_levels + 1) * sizeof *values);
  if (!values) return false;
  for (uint32_t i = 0; i < nodes->count; i++)
    read_values(&nodes->items[i], flavor, labels, values + (size_t)i * n_levels);
  bool by_host = !strcmp(levels[n_levels - 1], HR__TAS_HOST_LABEL);
  bool ok = hr__tas_tree_build(&flavor->tree, arena, values, nodes->count, n_levels, by_host) &&
            hr__tas_snapshot_init(&flavor->snapshot, arena, &flavor->tree, nodes->n_resources, nodes->pods);
  free(values);
  if (!ok) return false;
  flavor->leaf_nodes = hr_arena_alloc(arena, (flavor->tree.n_leaves + (size_t)1) * sizeof *flavor->leaf_nodes);
  if (!flavor->leaf_nodes) return false;
  add_capacity(flavor, nodes);
  return true;
}

uint32_t hr__tas_flavor_level(const struct hr__tas_flavor *flavor, const char *key) {
  for (uint32_t level = 0; level < flavor->n_levels; level++)
    if (!strcmp(flavor->levels[level], key)) return level;
  return HR__TAS_UNKNOWN_LEVEL;
}

void hr__tas_flavor_request(const struct hr__tas_flavor *flavor, const struct hr__kueue_topology_request *topology,
                            struct hr__tas_request *request) {
  request->required = request->preferred = HR_NONE;
  request->unconstrained = topology->mode == HR__KUEUE_UNCONSTRAINED;
  if (topology->mode == HR__KUEUE_REQUIRED) request->required = hr__tas_flavor_level(flavor, topology->level);
  if (topology->mode == HR__KUEUE_PREFERRED) request->preferred = hr__tas_flavor_level(flavor, topology->level);
  request->n_slices = 0;
  for (uint32_t i = 0; i < topology->n_slices && i < HR__TAS_MAX_SLICES; i++)
    request->slices[request->n_slices++] =
        (struct hr__tas_slice){hr__tas_flavor_level(flavor, topology->slices[i].level), topology->slices[i].size};
}

static enum hr__tas_exclusion exclusion_of(const struct hr__tas_flavor *flavor, const struct hr__tas_node *node,
                                           const struct hr__kueue_selector *selector) {
  if (hr__kueue_untolerated(&node->taints, &selector->tolerations, &flavor->tolerations)) return HR__TAS_TAINT;
  if (!hr__kueue_labels_include(&node->labels, &selector->labels)) return HR__TAS_SELECTOR;
  for (uint32_t i = 0; i < selector->n_required; i++)
    if (hr__kueue_term_matches(&selector->required[i], &node->labels)) return HR__TAS_ELIGIBLE;
  return selector->n_required ? HR__TAS_AFFINITY : HR__TAS_ELIGIBLE;
}

void hr__tas_flavor_match(const struct hr__tas_flavor *flavor, const struct hr__kueue_selector *selector,
                          uint8_t *excluded, int64_t *affinity) {
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
