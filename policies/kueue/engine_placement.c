/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Placements of topology-aware scheduling in runs: the topology requests of jobs, the nodes of a placement that a cycle
 * found, and another placement when nodes fail or are provisioned.
 *
 * A placement that the cycle found is copied to the slot when the workload gets quota. Pods that no topology places
 * reduce the free amounts of their nodes.
 *
 * Invariant: a workload has a placement only while it is listed. A placement that is chosen when its nodes are
 * provisioned (placement_pending) is added later.
 *
 * Source: kubernetes-sigs/kueue, pkg/scheduler (second pass) and pkg/controller/tas (failures of nodes).
 */

#include "policies/kueue/engine.h"

#include <string.h>

#define ALLOC(self, count, type) ((type *)hr_arena_alloc((self)->arena, ((size_t)(count) + 1) * sizeof(type)))

/* ---- Requests ------------------------------------------------------------------------------------------- */

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

/* The tier within which a job must be; HR_TIER_ANY: none. Kueue places single pods, too. */
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

/* ---- Placements ----------------------------------------------------------------------------------------- */

/* Makes room for a placement. The old one is lost. */
static bool make_room(struct hr__kueue_engine *self, struct hr__kueue_memory *at, uint32_t n_domains,
                      uint32_t n_levels) {
  uint32_t n_values = n_domains * n_levels; /* the levels of a placement are few, and its domains are at most nodes */
  if (n_domains > at->domains_capacity) {
    at->domains_capacity = n_domains < 4 ? 4 : 2 * n_domains;
    at->domains = ALLOC(self, at->domains_capacity, struct hr__kueue_domain);
  }
  if (n_values > at->values_capacity) {
    at->values_capacity = n_values < 4 ? 4 : 2 * n_values;
    at->values = ALLOC(self, at->values_capacity, const char *);
  }
  return at->domains && at->values;
}

/* Copies a placement to a slot; NULL if memory is exhausted. Names are those of the topology, which remain. */
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

/* Looks for a placement of a workload with quota: the first one, or one without its failed node. */
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

/* Gives a workload with quota another placement. */
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

/* Replaces the failed node of a workload. Kueue replaces one node; workloads with several are evicted. */
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
    topologies->shares = ALLOC(self, topologies->shares_capacity, struct hr_node_share);
    if (!topologies->shares) {
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

/* ---- Changes -------------------------------------------------------------------------------------------- */

/* Workloads of queues with topologies may fit now. */
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

/* ---- Explanation ---------------------------------------------------------------------------------------- */

/* Which resource a leaf lacks for one pod: the first of those of which it can have fewest; HR_NONE: it has room. */
static uint32_t lacked(const struct hr__tas_snapshot *snapshot, uint32_t leaf, const struct hr__kueue_amounts *pod) {
  uint32_t found = HR_NONE;
  int64_t least = 1;
  for (uint32_t i = 0; i < pod->count; i++) {
    size_t at = (size_t)leaf * snapshot->n_resources + pod->items[i].resource;
    int64_t room = snapshot->free[at] - snapshot->usage[at];
    int64_t count = room > 0 && pod->items[i].amount > 0 ? room / pod->items[i].amount : 0;
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
