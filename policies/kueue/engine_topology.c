/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Topology-aware scheduling in runs: builds the topologies of flavors from the nodes of the cluster, and stores the
 * placements that cycles find.
 *
 * Layout: the nodes of topologies are those of the cluster, with the same numbers. A part of the nodes (`part` of
 * hr__tas_nodes) is a pool, because all pods of a job are in one pool. A node has the labels of the levels; their
 * values contain the pool and a number with leading zeros, so that the order of names is the order of numbers. Nodes
 * that are not up have no free amounts, but remain in the topology.
 *
 * Invariant: the nodes of a leaf are consecutive. A workload has a placement only while it is listed.
 *
 * Source: kubernetes-sigs/kueue, pkg/scheduler (second pass) and pkg/controller/tas (failures of nodes).
 */

#include "policies/kueue/engine.h"

#include <stdio.h>
#include <string.h>

#define MIB INT64_C(1048576)

/* ---- Topologies: labels of nodes -------------------------------------------------------------------- */

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
  if (!HR__ARENA_ARRAY(self->arena, list->items, most)) return false;
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

/* Sets the labels of the nodes of a pool. Consecutive nodes of one group share the text of the label. Returns false if
   memory is exhausted. */
static bool label_pool(struct hr__kueue_engine *self, const struct level_list *list, hr_pool pool) {
  const struct hr_pool_spec *spec = hr_cluster_pool_spec(self->cluster, pool);
  struct hr__tas_node *nodes = self->topologies->nodes.items + hr_cluster_first_node(self->cluster, pool).id;
  struct hr__kueue_label *labels;
  if (!HR__ARENA_ARRAY(self->arena, labels, (size_t)spec->nodes * list->count)) return false;
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

/* ---- Topologies: what nodes have -------------------------------------------------------------------- */

/* The instances of a MIG profile on the GPUs of a node; without a fixed layout, the maximum that is possible. */
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
   over all nodes do not overflow. NULL: memory is exhausted. */
static int64_t *amounts_of_pool(struct hr__kueue_engine *self, const struct hr_pool_spec *spec) {
  const struct hr__tas_nodes *nodes = &self->topologies->nodes;
  int64_t plenty = INT64_MAX / (2 * ((int64_t)nodes->count + 1));
  int64_t *amounts;
  if (!HR__ARENA_ARRAY(self->arena, amounts, nodes->n_resources)) return NULL;
  for (uint32_t i = 0; i < nodes->n_resources; i++) amounts[i] = plenty;
  if (self->gpu != HR_NONE) amounts[self->gpu] = (int64_t)spec->gpus_per_node * HR_WHOLE_GPU_MILLI;
  if (self->cpu != HR_NONE && spec->cpu_milli_per_node) amounts[self->cpu] = spec->cpu_milli_per_node;
  if (self->memory != HR_NONE && spec->mem_mib_per_node)
    amounts[self->memory] = hr__kueue_times((int64_t)spec->mem_mib_per_node, MIB);
  for (uint32_t i = 0; i < self->jobs->mig_profiles.count; i++)
    if (self->mig[i] != HR_NONE) amounts[self->mig[i]] = count_instances(spec, self->jobs->mig_profiles.text[i]);
  return amounts;
}

/* ---- Topologies: construction ----------------------------------------------------------------------- */

static bool pool_is_used(const struct hr__kueue_engine *self, uint32_t pool) {
  for (uint32_t i = 0; i < self->world.n_flavors; i++)
    if (self->world.flavors[i].topology && hr__kueue_flavor_has_pool(self, i, pool)) return true;
  return false;
}

/* Describes the nodes of the cluster. Nodes of pools without topology have no labels. Returns false if memory is
   exhausted. */
static bool build_nodes(struct hr__kueue_engine *self, const struct hr_kueue_config *config) {
  struct hr__tas_nodes *nodes = &self->topologies->nodes;
  struct level_list list = {0};
  nodes->count = hr__kueue_count_nodes(self);
  nodes->pods = hr__tas_pods_resource(&self->world, &nodes->n_resources);
  nodes->n_parts = self->n_pools;
  uint32_t *part;
  if (!HR__ARENA_ARRAY(self->arena, nodes->items, nodes->count) || !HR__ARENA_ARRAY(self->arena, part, nodes->count) ||
      !HR__ARENA_ARRAY(self->arena, self->topologies->is_up, nodes->count) ||
      !HR__ARENA_ARRAY(self->arena, self->topologies->amounts, nodes->n_resources) ||
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

/* Sets which nodes belong to a flavor. Returns false if memory is exhausted. */
static bool select_nodes(struct hr__kueue_engine *self) {
  struct hr__tas_nodes *nodes = &self->topologies->nodes;
  const bool **rows;
  if (!HR__ARENA_ARRAY(self->arena, rows, self->world.n_flavors)) return false;
  for (uint32_t i = 0; i < self->world.n_flavors; i++) {
    if (!self->world.flavors[i].topology) continue;
    bool *row;
    if (!HR__ARENA_ARRAY(self->arena, row, nodes->count)) return false;
    for (uint32_t node = 0; node < nodes->count; node++)
      row[node] = hr__kueue_flavor_has_pool(self, i, nodes->part[node]);
    rows[i] = row;
  }
  nodes->of_flavor = rows;
  return true;
}

static bool create_world(struct hr__kueue_engine *self, const struct hr_kueue_config *config) {
  const char *const **levels;
  uint32_t *n_levels;
  if (!HR__ARENA_ARRAY(self->arena, levels, self->world.n_flavors) ||
      !HR__ARENA_ARRAY(self->arena, n_levels, self->world.n_flavors))
    return false;
  for (uint32_t i = 0; i < self->world.n_flavors; i++) {
    const struct hr_kueue_topology *topology = topology_named(config, self->world.flavors[i].topology);
    if (!topology) continue;
    const char **labels;
    if (!HR__ARENA_ARRAY(self->arena, labels, topology->n_levels)) return false;
    for (uint32_t k = 0; k < topology->n_levels; k++) labels[k] = topology->levels[k].node_label;
    levels[i] = labels;
    n_levels[i] = topology->n_levels;
  }
  self->topologies->world = hr__tas_world_create(self->arena, &self->world, &self->topologies->nodes, levels, n_levels);
  return self->topologies->world != NULL;
}

/* Sets the nodes of the leaves of all flavors. Returns false if memory is exhausted. */
static bool build_leaves(struct hr__kueue_engine *self) {
  struct hr__kueue_topologies *topologies = self->topologies;
  if (!HR__ARENA_ARRAY(self->arena, topologies->leaves, self->world.n_flavors)) return false;
  for (uint32_t i = 0; i < self->world.n_flavors; i++) {
    const struct hr__tas_flavor *flavor = hr__tas_world_flavor(topologies->world, i);
    if (!flavor) continue;
    if (!HR__ARENA_ARRAY(self->arena, topologies->leaves[i], flavor->tree.n_leaves)) return false;
    struct hr__kueue_leaf *leaves = topologies->leaves[i];
    for (uint32_t node = 0; node < topologies->nodes.count; node++) {
      uint32_t leaf = flavor->tree.node_leaf[node];
      if (leaf == HR_NONE) continue;
      if (leaves[leaf].n_nodes++ == 0) leaves[leaf].first = node;
    }
  }
  return true;
}

/* Stores, for each tier, the label of its level in the topologies of a queue. If the topologies of several flavors have
   the tier, the first flavor counts. */
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

/* Marks the flavors that have elastic pools, if the policy requests the nodes of these pools. These nodes are requested
   after the admission, so pods are placed there only after the nodes have been provisioned. Returns false if memory is
   exhausted. */
static bool set_delays(struct hr__kueue_engine *self) {
  bool *delays, some = false;
  if (!HR__ARENA_ARRAY(self->arena, delays, self->world.n_flavors)) return false;
  for (uint32_t i = 0; i < self->world.n_flavors; i++)
    for (uint32_t p = 0; p < self->n_pools && self->manages && self->world.flavors[i].topology; p++)
      if (hr__kueue_flavor_has_pool(self, i, p) && hr__kueue_pool_is_elastic(self, p)) delays[i] = some = true;
  for (uint32_t i = 0; i < self->world.tree.n_queues && some; i++) self->world.queues[i].delays = delays;
  return true;
}

static bool allocate_scratch(struct hr__kueue_engine *self) {
  struct hr__kueue_topologies *topologies = self->topologies;
  size_t n_queues = self->world.tree.n_queues;
  return HR__ARENA_ARRAY(self->arena, topologies->level_of, n_queues * HR_N_TIERS) &&
         HR__ARENA_ARRAY(self->arena, topologies->of_queue, n_queues) &&
         HR__ARENA_ARRAY(self->arena, topologies->slices, self->world.n_local_queues) &&
         HR__ARENA_ARRAY(self->arena, topologies->found.found, 1) &&
         HR__ARENA_ARRAY(self->arena, topologies->found.tried, 1) &&
         hr__kueue_assignment_begin(&topologies->assignment, self->arena, &self->world);
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
  if (!HR__ARENA_ARRAY(self->arena, self->topologies, 1)) return false;
  if (!allocate_scratch(self) || !build_nodes(self, config) || !select_nodes(self) || !create_world(self, config) ||
      !build_leaves(self) || !set_delays(self))
    return false;
  for (uint32_t i = 0; i < self->world.tree.n_queues; i++) note_levels(self, config, i);
  close_nodes(self);
  return true;
}

/* ---- Placements ------------------------------------------------------------------------------------- */

/*
 * Placements of topology-aware scheduling in runs: the topology requests of jobs, the nodes of a placement that a cycle
 * found, and new placements after nodes have failed or have been provisioned.
 *
 * A placement that the cycle found is copied to the slot when the workload gets quota. Pods that no topology places
 * reduce the free amounts of their nodes.
 *
 * Invariant: a workload has a placement only while it is listed. A placement that is chosen only after its nodes have
 * been provisioned (placement_pending) is added then.
 */

/* ---- Placements: requests --------------------------------------------------------------------------- */

/* The settings of the local queue for the pods of its jobs. */
static struct hr__kueue_topology_request request_of_queue(struct hr__kueue_engine *self, uint32_t local_queue) {
  struct hr__kueue_topology_request request = {.mode = HR__KUEUE_NO_TOPOLOGY};
  if (local_queue == HR_NONE) return request;
  const struct hr_kueue_local_queue_config *from = self->local_configs[local_queue];
  if (from->required_topology)
    request = (struct hr__kueue_topology_request){.mode = HR__KUEUE_REQUIRED, .level = from->required_topology};
  else if (from->preferred_topology)
    request = (struct hr__kueue_topology_request){.mode = HR__KUEUE_PREFERRED, .level = from->preferred_topology};
  else if (from->unconstrained_topology)
    request.mode = HR__KUEUE_UNCONSTRAINED;
  if (!from->slice_required_topology) return request;
  if (request.mode == HR__KUEUE_NO_TOPOLOGY) request.mode = HR__KUEUE_SLICES_ONLY;
  self->topologies->slices[local_queue] =
      (struct hr__kueue_slice){.level = from->slice_required_topology, .size = from->slice_size};
  request.slices = &self->topologies->slices[local_queue];
  request.n_slices = 1;
  return request;
}

/* The tier within which a job must be; HR_TIER_ANY: none. If the engine ignores the tier that a job names, it still
   counts here, because Kueue places single pods, too. A tier below the node counts as the node. */
static enum hr_tier tier_of(const struct hr__kueue_engine *self, uint32_t job) {
  enum hr_tier tier = hr_cluster_locality(self->cluster, (hr_job){job}).tier;
  if (tier == HR_TIER_ANY && self->jobs->within) tier = (enum hr_tier)self->jobs->within[job];
  return tier != HR_TIER_ANY && tier < HR_TIER_NODE ? HR_TIER_NODE : tier;
}

bool hr__kueue_topology_request(struct hr__kueue_engine *self, uint32_t slot) {
  struct hr__kueue_workload *workload = &self->world.workloads[slot];
  struct hr__kueue_topology_request *request = &workload->pod_sets[0].topology;
  if (!self->topologies || !self->topologies->of_queue[workload->queue]) return true;
  *request = request_of_queue(self, workload->local_queue);
  workload->suits_part = self->classes[self->slots[slot].class_].accepts;
  enum hr_tier tier = tier_of(self, self->slots[slot].job);
  if (tier == HR_TIER_ANY) return true;
  const char *level = self->topologies->level_of[(size_t)workload->queue * HR_N_TIERS + tier];
  request->mode = self->world.now_us < hr_cluster_locality(self->cluster, (hr_job){self->slots[slot].job}).until_us
                      ? HR__KUEUE_REQUIRED
                      : HR__KUEUE_PREFERRED;
  request->level = level;
  return level != NULL;
}

/* ---- Placements: nodes ------------------------------------------------------------------------------ */

/* Makes room for a placement. The old placement is lost. Returns false if memory is exhausted. */
static bool make_room(struct hr__kueue_engine *self, struct hr__kueue_memory *at, uint32_t n_domains,
                      uint32_t n_levels) {
  uint32_t n_values = n_domains * n_levels; /* cannot overflow: at most 16 levels, and at most one domain per node */
  if (n_domains > at->domains_capacity) {
    at->domains_capacity = n_domains < 4 ? 4 : 2 * n_domains;
    if (!HR__ARENA_ARRAY(self->arena, at->domains, at->domains_capacity)) return false;
  }
  if (n_values > at->values_capacity) {
    at->values_capacity = n_values < 4 ? 4 : 2 * n_values;
    if (!HR__ARENA_ARRAY(self->arena, at->values, at->values_capacity)) return false;
  }
  return at->domains && at->values;
}

/* Copies a placement to a slot; NULL if memory is exhausted. The names are not copied, since the topology outlives the
   slot. */
static const struct hr__kueue_placement *keep(struct hr__kueue_engine *self, uint32_t slot,
                                              const struct hr__kueue_placement *found) {
  struct hr__kueue_memory *at = &self->slots[slot].memory;
  if (!make_room(self, at, found->n_domains, found->n_levels)) return NULL;
  for (uint32_t i = 0; i < found->n_domains; i++) {
    const char **values = at->values + (size_t)i * found->n_levels;
    for (uint32_t k = 0; k < found->n_levels; k++) values[k] = found->domains[i].values[k];
    at->domains[i] = (struct hr__kueue_domain){values, found->domains[i].count};
  }
  at->placement = (struct hr__kueue_placement){found->levels, found->n_levels, found->n_domains, at->domains};
  return &at->placement;
}

bool hr__kueue_topology_keep(struct hr__kueue_engine *self, uint32_t slot, struct hr__kueue_assignment *assignment) {
  struct hr__kueue_pod_set_assignment *row = &assignment->pod_sets[0];
  if (!self->topologies || !assignment->n_pod_sets || !row->placement) return true;
  row->placement = keep(self, slot, row->placement);
  return row->placement != NULL;
}

/* The flavor with a topology that a workload has; HR_NONE: none. */
static uint32_t flavor_of(const struct hr__kueue_engine *self, uint32_t slot) {
  const struct hr__kueue_pod_set *pod_set = &self->world.workloads[slot].pod_sets[0];
  for (uint32_t i = 0; i < pod_set->n_assigned; i++)
    if (hr__tas_world_flavor(self->topologies->world, pod_set->assigned[i].flavor)) return pod_set->assigned[i].flavor;
  return HR_NONE;
}

/* Searches for a placement of a workload with quota. If a node of its placement has failed, only the pods of this node
   are placed again. NULL: not found. */
static const struct hr__kueue_placement *find_again(struct hr__kueue_engine *self, uint32_t slot) {
  struct hr__kueue_topologies *topologies = self->topologies;
  const struct hr__kueue_topology_calls *calls = &self->world.topology;
  const struct hr__kueue_workload *workload = &self->world.workloads[slot];
  const struct hr__kueue_pod_set *pod_set = &workload->pod_sets[0];
  struct hr__kueue_pod_set_assignment *row = &topologies->assignment.pod_sets[0];
  topologies->assignment.n_pod_sets = 1;
  row->pod_set = 0;
  row->count = pod_set->admitted_count;
  row->failed = row->placement_pending = false;
  row->placement = pod_set->placement;
  row->n_choices = pod_set->n_assigned;
  for (uint32_t i = 0; i < pod_set->n_assigned; i++)
    row->choices[i] = (struct hr__kueue_choice){
        .resource = pod_set->assigned[i].resource, .flavor = pod_set->assigned[i].flavor, .mode = HR__KUEUE_FIT};
  calls->find(calls->self, &self->world, workload, &topologies->assignment, false, &topologies->found);
  return topologies->found.failed == HR_NONE ? topologies->found.found[0] : NULL;
}

/* Replaces the placement of a workload with quota. Returns false if memory is exhausted. */
static bool replace(struct hr__kueue_engine *self, uint32_t slot, const struct hr__kueue_placement *found) {
  struct hr__kueue_workload *workload = &self->world.workloads[slot];
  const struct hr__kueue_topology_calls *calls = &self->world.topology;
  workload->listed = false; /* so that this does not count as a trial of a preemption */
  calls->change(calls->self, &self->world, workload, -1);
  workload->pod_sets[0].placement = keep(self, slot, found);
  workload->pod_sets[0].placement_pending = false;
  if (workload->pod_sets[0].placement) calls->change(calls->self, &self->world, workload, 1);
  workload->listed = true;
  return workload->pod_sets[0].placement != NULL;
}

/* Counts the failed nodes of a placement, and sets the name of the last one. */
static uint32_t count_failed(const struct hr__kueue_engine *self, uint32_t slot, const char **name) {
  const struct hr__kueue_placement *placement = self->world.workloads[slot].pod_sets[0].placement;
  uint32_t flavor = flavor_of(self, slot), count = 0;
  const struct hr__tas_flavor *topology = hr__tas_world_flavor(self->topologies->world, flavor);
  for (uint32_t i = 0; topology->tree.by_host && i < placement->n_domains; i++) {
    uint32_t leaf = hr__tas_flavor_leaf(topology, placement, i);
    if (leaf == HR_NONE || self->topologies->is_up[self->topologies->leaves[flavor][leaf].first]) continue;
    *name = placement->domains[i].values[placement->n_levels - 1];
    count++;
  }
  return count;
}

/* Replaces the failed node of a workload. Kueue replaces only one node; workloads with several failed nodes are
   evicted. */
static enum hr__kueue_nodes replace_failed(struct hr__kueue_engine *self, uint32_t slot) {
  struct hr__kueue_workload *workload = &self->world.workloads[slot];
  const char *failed = NULL;
  uint32_t count = count_failed(self, slot, &failed);
  if (count == 0) return HR__KUEUE_NODES_READY;
  if (!hr__kueue_has_gate(&self->world, HR__KUEUE_BIT_TOPOLOGY_NODE_REPLACEMENT)) return HR__KUEUE_NODES_AWAITED;
  if (count > 1) return HR__KUEUE_NODES_LOST;
  workload->unhealthy_nodes = &failed;
  workload->n_unhealthy_nodes = 1;
  const struct hr__kueue_placement *found = find_again(self, slot);
  workload->unhealthy_nodes = NULL;
  workload->n_unhealthy_nodes = 0;
  if (found) {
    if (!replace(self, slot, found)) self->status = HR_NO_MEMORY;
    return HR__KUEUE_NODES_READY;
  }
  return hr__kueue_has_gate(&self->world, HR__KUEUE_BIT_TOPOLOGY_REPLACEMENT_FAIL_FAST) ? HR__KUEUE_NODES_LOST
                                                                                        : HR__KUEUE_NODES_AWAITED;
}

enum hr__kueue_nodes hr__kueue_topology_prepare(struct hr__kueue_engine *self, uint32_t slot) {
  const struct hr__kueue_pod_set *pod_set = &self->world.workloads[slot].pod_sets[0];
  if (!self->topologies) return HR__KUEUE_NODES_READY;
  if (pod_set->placement) return replace_failed(self, slot);
  if (!pod_set->placement_pending) return HR__KUEUE_NODES_READY;
  const struct hr__kueue_placement *found = find_again(self, slot);
  if (!found) return HR__KUEUE_NODES_AWAITED;
  if (!replace(self, slot, found)) self->status = HR_NO_MEMORY;
  return HR__KUEUE_NODES_READY;
}

bool hr__kueue_topology_places(const struct hr__kueue_engine *self, uint32_t slot) {
  const struct hr__kueue_pod_set *pod_set = &self->world.workloads[slot].pod_sets[0];
  return pod_set->placement || pod_set->placement_pending;
}

bool hr__kueue_topology_nodes(struct hr__kueue_engine *self, uint32_t slot, const struct hr_need *need,
                              struct hr_placement *out) {
  struct hr__kueue_topologies *topologies = self->topologies;
  const struct hr__kueue_placement *placement = self->world.workloads[slot].pod_sets[0].placement;
  uint32_t flavor = flavor_of(self, slot), count = 0;
  const struct hr__tas_flavor *topology = hr__tas_world_flavor(topologies->world, flavor);
  hr_pool pool = {HR_NONE};
  if (placement->n_domains > topologies->shares_capacity) {
    topologies->shares_capacity = 2 * placement->n_domains;
    if (!HR__ARENA_ARRAY(self->arena, topologies->shares, topologies->shares_capacity)) {
      self->status = HR_NO_MEMORY;
      return false;
    }
  }
  for (uint32_t i = 0; i < placement->n_domains; i++) {
    uint32_t leaf = hr__tas_flavor_leaf(topology, placement, i);
    if (leaf == HR_NONE) return false;
    const struct hr__kueue_leaf *nodes = &topologies->leaves[flavor][leaf];
    pool.id = topologies->nodes.part[nodes->first];
    topologies->shares[count++] =
        (struct hr_node_share){{nodes->first}, nodes->n_nodes, (uint32_t)placement->domains[i].count};
  }
  if (count == 0 || !hr_cluster_accepts(self->cluster, need->accept_class, pool)) return false;
  return hr_capacity_find_on(self->capacity, pool, need, topologies->shares, count,
                             self->classes[self->slots[slot].class_].task_gpus, out) &&
         hr__tasks_have_memory(self->cluster, self->jobs, (hr_job){self->slots[slot].job}, out);
}

/* ---- Placements: changes ---------------------------------------------------------------------------- */

/* Records that workloads of queues with topologies may fit now. */
static void free_queues(struct hr__kueue_engine *self) {
  for (uint32_t i = 0; i < self->world.tree.n_queues; i++) {
    if (!self->topologies->of_queue[i]) continue;
    hr__kueue_pending_freed(&self->pending, i);
    self->is_freed[self->root[i]] = self->some_freed = true;
  }
  self->changed = true;
}

void hr__kueue_topology_node(struct hr__kueue_engine *self, hr_node node, bool is_up) {
  struct hr__kueue_topologies *topologies = self->topologies;
  if (!topologies || topologies->is_up[node.id] == is_up) return;
  topologies->is_up[node.id] = is_up;
  hr__tas_world_add(topologies->world, node.id, topologies->nodes.items[node.id].free, is_up ? 1 : -1);
  if (is_up && self->pending.world) free_queues(self);
}

void hr__kueue_topology_freed(struct hr__kueue_engine *self) {
  if (self->topologies) free_queues(self);
}

void hr__kueue_topology_count(struct hr__kueue_engine *self, uint32_t slot, const struct hr_placement *placement,
                              int sign) {
  const struct hr__kueue_class *class_ = &self->classes[self->slots[slot].class_];
  struct hr__kueue_topologies *topologies = self->topologies;
  if (!topologies || hr__kueue_topology_places(self, slot)) return;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    const struct hr_slice *slice = &placement->slices[i];
    uint32_t of_task = class_->task_gpus * HR_WHOLE_GPU_MILLI;
    int64_t tasks = slice->gpus || !of_task ? 1 : slice->gpu_milli / of_task;
    memset(topologies->amounts, 0, topologies->nodes.n_resources * sizeof *topologies->amounts);
    for (uint32_t k = 0; k < class_->requests.count; k++)
      topologies->amounts[class_->requests.items[k].resource] = class_->requests.items[k].amount * tasks;
    topologies->amounts[topologies->nodes.pods] += tasks;
    hr__tas_world_add(topologies->world, slice->node.id, topologies->amounts, -sign);
  }
  if (sign < 0) free_queues(self);
}

/* ---- Placements: explanation ------------------------------------------------------------------------ */

/* The first resource whose free amount on a leaf is too small for one pod; HR_NONE: none. */
static uint32_t lacked(const struct hr__tas_snapshot *snapshot, uint32_t leaf, const struct hr__kueue_amounts *pod) {
  uint32_t found = HR_NONE;
  int64_t least = 1;
  for (uint32_t i = 0; i < pod->count; i++) {
    size_t at = (size_t)leaf * snapshot->n_resources + pod->items[i].resource;
    int64_t room = snapshot->free[at] - snapshot->usage[at];
    if (pod->items[i].amount <= 0) continue;
    int64_t count = room > 0 ? room / pod->items[i].amount : 0;
    if (count >= least) continue;
    least = count;
    found = pod->items[i].resource;
  }
  return found;
}

bool hr__kueue_topology_lack(struct hr__kueue_engine *self, uint32_t slot, uint32_t flavor,
                             struct hr__kueue_lack *lack) {
  struct hr__kueue_topologies *topologies = self->topologies;
  const struct hr__kueue_workload *workload = &self->world.workloads[slot];
  const struct hr__tas_flavor *topology = topologies ? hr__tas_world_flavor(topologies->world, flavor) : NULL;
  if (!topology) return false;
  struct hr__kueue_pod_set_assignment *row = &topologies->assignment.pod_sets[0];
  const struct hr__kueue_topology_calls *calls = &self->world.topology;
  topologies->assignment.n_pod_sets = 1;
  *row = (struct hr__kueue_pod_set_assignment){.count = workload->pod_sets[0].count,
                                               .requests = row->requests,
                                               .choices = row->choices,
                                               .attempts = row->attempts,
                                               .n_choices = 1};
  row->choices[0] = (struct hr__kueue_choice){.flavor = flavor, .mode = HR__KUEUE_FIT};
  calls->find(calls->self, &self->world, workload, &topologies->assignment, false, &topologies->found);
  if (topologies->found.failed == HR_NONE) return false;
  struct hr__tas_failure failure = hr__tas_world_failure(topologies->world);
  *lack = (struct hr__kueue_lack){.topology = self->world.flavors[flavor].topology,
                                  .fits = failure.kind == HR__TAS_INSUFFICIENT ? failure.fits : 0,
                                  .of = failure.kind == HR__TAS_INSUFFICIENT ? failure.of : row->count,
                                  .slices = failure.slices,
                                  .leaves = failure.exclusions.leaves,
                                  .selector = failure.exclusions.selector};
  return true;
}

uint32_t hr__kueue_topology_lacking(const struct hr__kueue_engine *self, uint32_t slot, uint32_t flavor,
                                    uint32_t resource) {
  const struct hr__tas_flavor *topology = hr__tas_world_flavor(self->topologies->world, flavor);
  uint32_t count = 0;
  for (uint32_t leaf = 0; leaf < topology->tree.n_leaves; leaf++)
    count += lacked(&topology->snapshot, leaf, &self->world.workloads[slot].pod_sets[0].requests) == resource;
  return count;
}
