/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Builds the topologies of flavors from the nodes of the cluster, for topology-aware scheduling in runs.
 *
 * Layout: the nodes of topologies are those of the cluster, with the same numbers; a part is a pool, since all pods of
 * a job are in one pool. A node has the labels of the levels; their values contain the pool and a number with leading
 * zeros, so that the order of names is the order of numbers. Invariant: the nodes of a leaf are consecutive.
 *
 * Nodes that are not up have no free amounts, but remain in the topology.
 */

#include "policies/kueue/engine.h"

#include <stdio.h>
#include <string.h>

#define MIB INT64_C(1048576)

#define ALLOC(self, count, type) ((type *)hr_arena_alloc((self)->arena, ((size_t)(count) + 1) * sizeof(type)))

/* ---- Labels of nodes ------------------------------------------------------------------------------------ */

/* The distinct levels of all topologies. */
struct level_list {
  struct hr__kueue_label *labels; /* of one node */
  const struct hr_kueue_level **items;
  uint32_t count;
};

static const struct hr_kueue_topology *topology_named(const struct hr_kueue_config *config, const char *name) {
  for (uint32_t i = 0; name && i < config->n_topologies; i++)
    if (strcmp(config->topologies[i].name, name) == 0) return &config->topologies[i];
  return NULL;
}

static bool collect_levels(struct hr__kueue_engine *self, const struct hr_kueue_config *config,
                           struct level_list *list) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < config->n_topologies; i++) most += config->topologies[i].n_levels;
  if (!(list->items = ALLOC(self, most, const struct hr_kueue_level *))) return false;
  for (uint32_t i = 0; i < config->n_topologies; i++)
    for (uint32_t k = 0; k < config->topologies[i].n_levels; k++) {
      const struct hr_kueue_level *level = &config->topologies[i].levels[k];
      uint32_t at = 0;
      while (at < list->count && strcmp(list->items[at]->node_label, level->node_label) != 0) at++;
      if (at == list->count) list->items[list->count++] = level;
    }
  return true;
}

/* The name of a group of nodes: "POOL", "POOL/rack-03" or "POOL-007". NULL if memory is exhausted. */
static const char *name_of_group(struct hr__kueue_engine *self, const struct hr_pool_spec *spec, enum hr_tier tier,
                                 uint32_t group) {
  enum { MAX_DIGITS = 10 };
  uint32_t last = (spec->nodes - 1) / hr_topology_nodes(&spec->topology, tier, spec->nodes);
  size_t bytes = strlen(spec->name) + 32;
  char *text = hr_arena_alloc(self->arena, bytes), number[MAX_DIGITS + 1];
  if (!text) return NULL;
  snprintf(number, sizeof number, "%010u", (unsigned)group);
  const char *digits = number + MAX_DIGITS - 1;
  for (; last > 9; last /= 10) digits--;
  if (tier == HR_TIER_POOL)
    snprintf(text, bytes, "%s", spec->name);
  else if (tier == HR_TIER_NODE)
    snprintf(text, bytes, "%s-%s", spec->name, digits);
  else
    snprintf(text, bytes, "%s/%s-%s", spec->name, hr_tier_name(tier), digits);
  return text;
}

/* Sets the labels of the nodes of a pool. A label that names the group of the node before is used again. */
static bool label_pool(struct hr__kueue_engine *self, const struct level_list *list, hr_pool pool) {
  const struct hr_pool_spec *spec = hr_cluster_pool_spec(self->cluster, pool);
  struct hr__tas_node *nodes = self->topologies->nodes.items + hr_cluster_first_node(self->cluster, pool).id;
  struct hr__kueue_label *labels = ALLOC(self, (size_t)spec->nodes * list->count, struct hr__kueue_label);
  if (!labels) return false;
  for (uint32_t node = 0; node < spec->nodes; node++, labels += list->count) {
    for (uint32_t i = 0; i < list->count; i++) {
      enum hr_tier tier = (enum hr_tier)list->items[i]->tier;
      uint32_t group = hr_topology_group(&spec->topology, tier, spec->nodes, node);
      bool is_new = node == 0 || group != hr_topology_group(&spec->topology, tier, spec->nodes, node - 1);
      const char *value = is_new ? name_of_group(self, spec, tier, group) : nodes[node - 1].labels.items[i].value;
      if (!value) return false;
      labels[i] = (struct hr__kueue_label){list->items[i]->node_label, value};
    }
    nodes[node].labels = (struct hr__kueue_labels){labels, list->count};
    nodes[node].usable = true;
  }
  return true;
}

/* ---- What nodes have ------------------------------------------------------------------------------------ */

/* The instances of a MIG profile on the GPUs of a node; without a fixed layout, the most that are possible. */
static int64_t count_instances(const struct hr_pool_spec *spec, const char *name) {
  const struct hr_mig_spec *mig = spec->mig;
  struct hr_error unused;
  uint32_t profile, count = 0;
  if (!mig || hr_mig_profile_parse(&mig->type, name, &profile, &unused) != HR_OK) return 0;
  for (uint32_t gpu = 0; gpu < spec->gpus_per_node; gpu++) {
    const struct hr_mig_gpu none = {{0}, 0, 0, false};
    if (mig->mode == HR_MIG_STATIC)
      count += (uint32_t)__builtin_popcount(mig->layouts[mig->layout_of_gpu[gpu]].starts[profile]);
    else
      count += hr_mig_room(&mig->type, &none, profile);
  }
  return count;
}

/* The amounts of the nodes of a pool. Resources that the engine does not account get a large amount, such that sums
   over all nodes do not overflow. */
static int64_t *amounts_of_pool(struct hr__kueue_engine *self, const struct hr_pool_spec *spec) {
  const struct hr__tas_nodes *nodes = &self->topologies->nodes;
  int64_t plenty = INT64_MAX / (2 * ((int64_t)nodes->count + 1));
  int64_t *amounts = ALLOC(self, nodes->n_resources, int64_t);
  if (!amounts) return NULL;
  for (uint32_t i = 0; i < nodes->n_resources; i++) amounts[i] = plenty;
  if (self->gpu != HR_NONE) amounts[self->gpu] = (int64_t)spec->gpus_per_node * HR_WHOLE_GPU_MILLI;
  if (self->cpu != HR_NONE && spec->cpu_milli_per_node) amounts[self->cpu] = spec->cpu_milli_per_node;
  if (self->memory != HR_NONE && spec->mem_mib_per_node)
    amounts[self->memory] = hr__kueue_times((int64_t)spec->mem_mib_per_node, MIB);
  for (uint32_t i = 0; i < self->jobs->mig_profiles.count; i++)
    if (self->mig[i] != HR_NONE) amounts[self->mig[i]] = count_instances(spec, self->jobs->mig_profiles.text[i]);
  return amounts;
}

/* ---- Construction --------------------------------------------------------------------------------------- */

static bool pool_is_used(const struct hr__kueue_engine *self, uint32_t pool) {
  for (uint32_t i = 0; i < self->world.n_flavors; i++)
    if (self->world.flavors[i].topology && hr__kueue_flavor_has_pool(self, i, pool)) return true;
  return false;
}

static uint32_t count_nodes(const struct hr__kueue_engine *self) {
  hr_pool last = {self->n_pools - 1};
  return self->n_pools
             ? hr_cluster_first_node(self->cluster, last).id + hr_cluster_pool_spec(self->cluster, last)->nodes
             : 0;
}

/* Describes the nodes of the cluster. Nodes of pools without topology have no labels. */
static bool build_nodes(struct hr__kueue_engine *self, const struct hr_kueue_config *config) {
  struct hr__tas_nodes *nodes = &self->topologies->nodes;
  struct level_list list = {0};
  nodes->count = count_nodes(self);
  nodes->pods = hr__tas_pods_resource(&self->world, &nodes->n_resources);
  nodes->n_parts = self->n_pools;
  nodes->items = ALLOC(self, nodes->count, struct hr__tas_node);
  uint32_t *part = ALLOC(self, nodes->count, uint32_t);
  self->topologies->is_up = ALLOC(self, nodes->count, bool);
  self->topologies->amounts = ALLOC(self, nodes->n_resources, int64_t);
  if (!nodes->items || !part || !self->topologies->is_up || !self->topologies->amounts ||
      !collect_levels(self, config, &list))
    return false;
  nodes->part = part;
  for (uint32_t p = 0; p < self->n_pools; p++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(self->cluster, (hr_pool){p});
    int64_t *amounts = amounts_of_pool(self, spec);
    uint32_t first = hr_cluster_first_node(self->cluster, (hr_pool){p}).id;
    if (!amounts || (pool_is_used(self, p) && spec->nodes && !label_pool(self, &list, (hr_pool){p}))) return false;
    for (uint32_t i = 0; i < spec->nodes; i++) {
      nodes->items[first + i].free = amounts;
      part[first + i] = p;
    }
  }
  return true;
}

/* Sets which nodes belong to a flavor. */
static bool select_nodes(struct hr__kueue_engine *self) {
  struct hr__tas_nodes *nodes = &self->topologies->nodes;
  const bool **rows = ALLOC(self, self->world.n_flavors, const bool *);
  if (!rows) return false;
  for (uint32_t i = 0; i < self->world.n_flavors; i++) {
    if (!self->world.flavors[i].topology) continue;
    bool *row = ALLOC(self, nodes->count, bool);
    if (!row) return false;
    for (uint32_t node = 0; node < nodes->count; node++)
      row[node] = hr__kueue_flavor_has_pool(self, i, nodes->part[node]);
    rows[i] = row;
  }
  nodes->of_flavor = rows;
  return true;
}

static bool create_world(struct hr__kueue_engine *self, const struct hr_kueue_config *config) {
  const char *const **levels = ALLOC(self, self->world.n_flavors, const char *const *);
  uint32_t *n_levels = ALLOC(self, self->world.n_flavors, uint32_t);
  if (!levels || !n_levels) return false;
  for (uint32_t i = 0; i < self->world.n_flavors; i++) {
    const struct hr_kueue_topology *topology = topology_named(config, self->world.flavors[i].topology);
    if (!topology) continue;
    const char **labels = ALLOC(self, topology->n_levels, const char *);
    if (!labels) return false;
    for (uint32_t k = 0; k < topology->n_levels; k++) labels[k] = topology->levels[k].node_label;
    levels[i] = labels;
    n_levels[i] = topology->n_levels;
  }
  self->topologies->world = hr__tas_world_create(self->arena, &self->world, &self->topologies->nodes, levels, n_levels);
  return self->topologies->world != NULL;
}

/* Sets the nodes of the leaves of all flavors. */
static bool build_leaves(struct hr__kueue_engine *self) {
  struct hr__kueue_topologies *topologies = self->topologies;
  topologies->leaves = ALLOC(self, self->world.n_flavors, struct hr__kueue_leaf *);
  if (!topologies->leaves) return false;
  for (uint32_t i = 0; i < self->world.n_flavors; i++) {
    const struct hr__tas_flavor *flavor = hr__tas_world_flavor(topologies->world, i);
    if (!flavor) continue;
    struct hr__kueue_leaf *leaves = topologies->leaves[i] = ALLOC(self, flavor->tree.n_leaves, struct hr__kueue_leaf);
    if (!leaves) return false;
    for (uint32_t node = 0; node < topologies->nodes.count; node++) {
      uint32_t leaf = flavor->tree.node_leaf[node];
      if (leaf == HR_NONE) continue;
      if (leaves[leaf].n_nodes++ == 0) leaves[leaf].first = node;
    }
  }
  return true;
}

/* Notes for each queue the label of the level of each tier: of the first of its flavors with a topology that has the
 * tier. */
static void note_levels(struct hr__kueue_engine *self, const struct hr_kueue_config *config, uint32_t queue) {
  const struct hr__kueue_queue *from = &self->world.queues[queue];
  const char **level_of = self->topologies->level_of + (size_t)queue * HR_N_TIERS;
  for (uint32_t i = 0; i < from->n_groups; i++)
    for (uint32_t k = 0; k < from->groups[i].n_flavors; k++) {
      const char *name = self->world.flavors[from->groups[i].flavors[k]].topology;
      const struct hr_kueue_topology *topology = topology_named(config, name);
      if (!topology) continue;
      self->topologies->of_queue[queue] = true;
      for (uint32_t m = 0; m < topology->n_levels; m++)
        if (!level_of[topology->levels[m].tier]) level_of[topology->levels[m].tier] = topology->levels[m].node_label;
    }
}

/* Pods in elastic pools are placed when their nodes are provisioned, which the policy requests after the admission. */
static bool set_delays(struct hr__kueue_engine *self) {
  bool *delays = ALLOC(self, self->world.n_flavors, bool), some = false;
  if (!delays) return false;
  for (uint32_t i = 0; i < self->world.n_flavors; i++)
    for (uint32_t p = 0; p < self->n_pools && self->manages && self->world.flavors[i].topology; p++)
      if (hr__kueue_flavor_has_pool(self, i, p) &&
          hr_market_is_elastic(hr_cluster_pool_spec(self->cluster, (hr_pool){p})->market.market))
        delays[i] = some = true;
  for (uint32_t i = 0; i < self->world.tree.n_queues && some; i++) self->world.queues[i].delays = delays;
  return true;
}

static bool allocate_scratch(struct hr__kueue_engine *self) {
  struct hr__kueue_topologies *topologies = self->topologies;
  topologies->level_of = ALLOC(self, (size_t)self->world.tree.n_queues * HR_N_TIERS, const char *);
  topologies->of_queue = ALLOC(self, self->world.tree.n_queues, bool);
  topologies->slices = ALLOC(self, self->world.n_local_queues, struct hr__kueue_slice);
  topologies->found.found = ALLOC(self, 1, const struct hr__kueue_placement *);
  topologies->found.tried = ALLOC(self, 1, bool);
  return topologies->level_of && topologies->of_queue && topologies->slices && topologies->found.found &&
         topologies->found.tried && hr__kueue_assignment_begin(&topologies->assignment, self->arena, &self->world);
}

/* Nodes that are not up yet have no free amounts. */
static void close_nodes(struct hr__kueue_engine *self) {
  struct hr__kueue_topologies *topologies = self->topologies;
  for (uint32_t node = 0; node < topologies->nodes.count; node++) {
    topologies->is_up[node] = hr_cluster_node_state(self->cluster, (hr_node){node}) == HR_NODE_UP;
    if (!topologies->is_up[node]) hr__tas_world_add(topologies->world, node, topologies->nodes.items[node].free, -1);
  }
}

bool hr__kueue_topology_build(struct hr__kueue_engine *self, const struct hr_kueue_config *config) {
  bool some = false;
  for (uint32_t i = 0; i < self->world.n_flavors; i++) some |= self->world.flavors[i].topology != NULL;
  if (!some || !hr__kueue_has_gate(&self->world, HR__KUEUE_BIT_TOPOLOGY)) return true;
  if (!(self->topologies = ALLOC(self, 1, struct hr__kueue_topologies))) return false;
  if (!allocate_scratch(self) || !build_nodes(self, config) || !select_nodes(self) || !create_world(self, config) ||
      !build_leaves(self) || !set_delays(self))
    return false;
  for (uint32_t i = 0; i < self->world.tree.n_queues; i++) note_levels(self, config, i);
  close_nodes(self);
  return true;
}
