/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Topology-aware scheduling for the flavors of a world: implements hr__kueue_topology_calls for the scheduling cycle.
 *
 * Layout: one topology per flavor, with its own usage. If the lowest level is the host name, several flavors can
 * contain the same host. With the gate TASHandleOverlappingFlavors, pods of one flavor then also count on this host in
 * the other flavors. As in Kueue, trials of preemptions and the reservations of a cycle count only in their own flavor.
 * Invariant: the usage of a flavor is that of the workloads that count in the tree of quotas, plus the reservations of
 * the current cycle.
 *
 * Source: kubernetes-sigs/kueue, pkg/scheduler/flavorassigner (tas_flavorassigner.go, ComputeTASNetUsage),
 * pkg/cache/scheduler (clusterqueue_snapshot.go, tas_flavor.go).
 */

#include "base/containers.h"
#include "policies/kueue/tas.h"

#include <string.h>

struct hr__tas_world {
  struct hr__tas_flavor **flavors; /* by flavor; NULL: without topology */
  uint32_t n_flavors, n_resources, pods;
  struct hr__tas_search search;
  struct hr_arena memory; /* of placements */
  /* Working memory of one workload, by pod set: */
  struct hr__tas_request *requests; /* of the pod sets in one flavor, numbered from 0 */
  struct hr__tas_result *results;
  uint32_t *members;   /* pod set of each request */
  int64_t *amounts;    /* [pod set][resource] per pod */
  uint8_t *excluded;   /* [pod set][leaf] */
  int64_t *affinity;   /* [pod set][leaf] */
  uint32_t *flavor_of; /* flavor in which the pod set is to be placed; HR_NONE: none */
  int64_t **assumed;   /* by flavor: [leaf][resource], of the pod sets that are already placed */
  bool *is_removed;    /* by workload: its usage is removed for a trial */
  struct hr__tas_part *parts;
  uint32_t parts_capacity;
  struct hr__tas_failure failure; /* of the last search */
  uint32_t n_parts;               /* parts of the nodes (hr__tas_nodes); 0: they are not divided */
  bool no_memory;
};

/* ---- Requests ---- */

static bool is_explicit(const struct hr__kueue_pod_set *pod_set) {
  return pod_set->topology.mode != HR__KUEUE_NO_TOPOLOGY || pod_set->topology.n_slices;
}

/* Whether all flavors of the queue have a topology. If so, pods without a topology request are placed by topology,
   too. */
static bool only_topologies(void *self, const struct hr__kueue_world *world, uint32_t queue) {
  struct hr__tas_world *topologies = self;
  for (uint32_t i = 0; i < world->queues[queue].n_groups; i++) {
    const struct hr__kueue_group *group = &world->queues[queue].groups[i];
    for (uint32_t k = 0; k < group->n_flavors; k++)
      if (!topologies->flavors[group->flavors[k]]) return false;
  }
  return true;
}

static bool matches(void *self, const struct hr__kueue_world *world, uint32_t queue,
                    const struct hr__kueue_pod_set *pod_set, uint32_t flavor) {
  const struct hr__tas_flavor *topology = ((struct hr__tas_world *)self)->flavors[flavor];
  if (!is_explicit(pod_set)) return !world->flavors[flavor].topology || only_topologies(self, world, queue);
  if (!world->flavors[flavor].topology || !topology) return false;
  struct hr__tas_request request = {0};
  hr__tas_flavor_request(topology, &pod_set->topology, &request);
  return hr__tas_has_levels(&request, topology->n_levels);
}

/* Writes the request of one pod as a vector [resource]. */
static void spread_amounts(const struct hr__tas_world *self, const struct hr__kueue_pod_set *pod_set, int64_t *out) {
  memset(out, 0, self->n_resources * sizeof *out);
  for (uint32_t i = 0; i < pod_set->requests.count; i++)
    out[pod_set->requests.items[i].resource] = pod_set->requests.items[i].amount;
}

/* The only flavor with a topology among the flavors of a pod set; HR_NONE if not found, or more than one. */
static uint32_t only_flavor(const struct hr__tas_world *self, const struct hr__kueue_pod_set_assignment *row) {
  uint32_t found = HR_NONE;
  for (uint32_t k = 0; k < row->n_choices; k++) {
    uint32_t flavor = row->choices[k].flavor;
    if (flavor == HR_NONE || !self->flavors[flavor] || flavor == found) continue;
    if (found != HR_NONE) return HR_NONE;
    found = flavor;
  }
  return found;
}

static bool is_unhealthy(const struct hr__kueue_workload *workload, const struct hr__kueue_placement *placement) {
  for (uint32_t i = 0; placement && placement->n_levels && i < placement->n_domains; i++)
    for (uint32_t k = 0; k < workload->n_unhealthy_nodes; k++)
      if (!strcmp(placement->domains[i].values[placement->n_levels - 1], workload->unhealthy_nodes[k])) return true;
  return false;
}

/* Sets the flavor in which each pod set is to be placed. */
static void choose_flavors(struct hr__tas_world *self, const struct hr__kueue_world *world,
                           const struct hr__kueue_workload *workload, const struct hr__kueue_assignment *assignment) {
  bool only = only_topologies(self, world, workload->queue);
  for (uint32_t i = 0; i < workload->n_pod_sets; i++) self->flavor_of[i] = HR_NONE;
  for (uint32_t i = 0; i < assignment->n_pod_sets; i++) {
    const struct hr__kueue_pod_set_assignment *row = &assignment->pod_sets[i];
    if (!is_explicit(&workload->pod_sets[row->pod_set]) && !only) continue;
    if (row->failed || !row->count || (row->placement && !is_unhealthy(workload, row->placement))) continue;
    if (row->placement_pending && !workload->reserved) continue;
    self->flavor_of[row->pod_set] = only_flavor(self, row);
  }
}

static int64_t count_of(const struct hr__kueue_assignment *assignment, uint32_t pod_set) {
  for (uint32_t i = 0; i < assignment->n_pod_sets; i++)
    if (assignment->pod_sets[i].pod_set == pod_set) return assignment->pod_sets[i].count;
  return 0;
}

/* Builds the request of a pod set in a flavor as request number `at`. */
static void build_request(struct hr__tas_world *self, uint32_t flavor, const struct hr__kueue_pod_set *pod_set,
                          int64_t count, uint32_t at) {
  const struct hr__tas_flavor *topology = self->flavors[flavor];
  uint32_t n_leaves = topology->tree.n_leaves;
  struct hr__tas_request *request = &self->requests[at];
  int64_t *pod = self->amounts + (size_t)at * self->n_resources;
  *request = (struct hr__tas_request){.pod = pod,
                                      .count = count,
                                      .implied = !is_explicit(pod_set),
                                      .group = pod_set->group,
                                      .excluded = self->excluded + (size_t)at * n_leaves,
                                      .affinity = self->affinity + (size_t)at * n_leaves};
  spread_amounts(self, pod_set, pod);
  hr__tas_flavor_request(topology, &pod_set->topology, request);
  hr__tas_flavor_match(topology, &pod_set->selector, self->excluded + (size_t)at * n_leaves,
                       self->affinity + (size_t)at * n_leaves);
}

/* The parts of a placement; NULL if memory is exhausted. */
static const struct hr__tas_part *parts_of(struct hr__tas_world *self, const struct hr__tas_flavor *topology,
                                           const struct hr__kueue_placement *placement) {
  if (!HR__ARRAY_HAS_ROOM_FOR(self->parts, placement->n_domains + (size_t)1, self->parts_capacity)) {
    self->no_memory = true;
    return NULL;
  }
  for (uint32_t i = 0; i < placement->n_domains; i++)
    self->parts[i] = (struct hr__tas_part){hr__tas_flavor_leaf(topology, placement, i), placement->domains[i].count};
  return self->parts;
}

/* ---- Parts of the nodes ---- */

/* Excludes the leaves on parts of the nodes that the workload does not accept. If `only` is not HR_NONE, also excludes
   the leaves of all parts except `only`. */
static void exclude_parts(struct hr__tas_world *self, const struct hr__tas_flavor *topology,
                          const struct hr__kueue_workload *workload, uint32_t only, uint32_t at) {
  uint8_t *excluded = self->excluded + (size_t)at * topology->tree.n_leaves;
  for (uint32_t leaf = 0; topology->leaf_part && leaf < topology->tree.n_leaves; leaf++) {
    uint32_t part = topology->leaf_part[leaf];
    if ((only != HR_NONE && part != only) || (workload->suits_part && !workload->suits_part[part]))
      excluded[leaf] = HR__TAS_SELECTOR;
  }
}

/* Whether the pods of some request are in several parts. */
static bool spans_parts(const struct hr__tas_world *self, const struct hr__tas_flavor *topology, uint32_t count) {
  for (uint32_t i = 0; topology->leaf_part && i < count; i++) {
    if (!self->results[i].placed) continue;
    const struct hr__tas_part *parts = self->search.parts + self->results[i].first;
    for (uint32_t k = 1; self->results[i].placed && k < self->results[i].count; k++)
      if (topology->leaf_part[parts[k].leaf] != topology->leaf_part[parts[0].leaf]) return true;
  }
  return false;
}

/* ---- Finding placements ---- */

/* Counts pods that were placed in a flavor on the same hosts of the later flavors. The pod sets of later flavors are
   placed next. */
static void assume_elsewhere(struct hr__tas_world *self, uint32_t flavor, const struct hr__tas_result *result,
                             const int64_t *pod) {
  const struct hr__tas_flavor *from = self->flavors[flavor];
  for (uint32_t other = flavor + 1; from->tree.by_host && other < self->n_flavors; other++) {
    const struct hr__tas_flavor *to = self->flavors[other];
    if (!to || !to->tree.by_host) continue;
    for (uint32_t i = 0; i < result->count; i++) {
      const struct hr__tas_part *part = &self->search.parts[result->first + i];
      const char *host = from->tree.domains[hr__tas_leaf_domain(&from->tree, part->leaf)].value;
      uint32_t leaf = hr__tas_leaf_find(&to->tree, &host, 1);
      if (leaf != HR_NONE)
        hr__tas_add_pods(&to->snapshot, self->assumed[other] + (size_t)leaf * self->n_resources, pod, part->count);
    }
  }
}

/* Stores the results of the requests of a flavor. Returns false if a pod set of the workload has failed. `overlaps`:
   the results also count on the same hosts of other flavors. */
static bool keep_results(struct hr__tas_world *self, uint32_t flavor, uint32_t count, bool overlaps,
                         struct hr__kueue_placements *out) {
  for (uint32_t i = 0; i < count; i++) {
    const struct hr__tas_result *result = &self->results[i];
    if (result->failure.kind != HR__TAS_FITS) {
      out->tried[self->members[i]] = true;
      if (out->failed == HR_NONE) {
        self->failure = result->failure;
        out->failed = self->members[i];
        out->failed_flavor = flavor;
      }
    } else if (result->placed) {
      out->tried[self->members[i]] = true;
      out->found[self->members[i]] = hr__tas_flavor_placement(self->flavors[flavor], &self->memory,
                                                              self->search.parts + result->first, result->count);
      if (!out->found[self->members[i]]) self->no_memory = true;
      if (overlaps) assume_elsewhere(self, flavor, result, self->requests[i].pod);
    }
  }
  return out->failed == HR_NONE;
}

/* Replaces the pods of the placement on the first failed node of the workload. */
static void replace(struct hr__tas_world *self, uint32_t flavor, const struct hr__kueue_workload *workload,
                    const struct hr__kueue_placement *placement, uint32_t at) {
  const struct hr__tas_flavor *topology = self->flavors[flavor];
  const struct hr__tas_part *parts = parts_of(self, topology, placement);
  uint32_t lost = HR_NONE;
  if (!parts) return;
  for (uint32_t i = 0; i < placement->n_domains; i++)
    if (!strcmp(placement->domains[i].values[placement->n_levels - 1], workload->unhealthy_nodes[0])) lost = i;
  if (!hr__tas_replace(&self->search, &topology->snapshot, &self->requests[at], parts, placement->n_domains, lost,
                       self->assumed[flavor], &self->results[at]))
    self->no_memory = true;
}

/* Replaces failed nodes in all pod sets of a flavor. Returns false after a failure. */
static bool replace_in_flavor(struct hr__tas_world *self, uint32_t flavor, const struct hr__kueue_workload *workload,
                              bool keeps, struct hr__kueue_placements *out) {
  for (uint32_t i = 0; i < workload->n_pod_sets && !self->no_memory; i++) {
    const struct hr__kueue_placement *placement = workload->pod_sets[i].placement;
    if (self->flavor_of[i] != flavor || !placement || !placement->n_levels) continue;
    if (keeps) { /* the pod cannot move, and the workload ends with it */
      out->tried[i] = true;
      out->found[i] = placement;
      continue;
    }
    build_request(self, flavor, &workload->pod_sets[i], 0, 0);
    uint32_t first = placement->n_domains ? hr__tas_flavor_leaf(self->flavors[flavor], placement, 0) : HR_NONE;
    const uint32_t *leaf_part = self->flavors[flavor]->leaf_part;
    exclude_parts(self, self->flavors[flavor], workload, leaf_part && first != HR_NONE ? leaf_part[first] : HR_NONE, 0);
    self->members[0] = i;
    self->results[0] = (struct hr__tas_result){0};
    replace(self, flavor, workload, placement, 0);
    if (!self->no_memory && !keep_results(self, flavor, 1, false, out)) return false;
  }
  return !self->no_memory;
}

/* If the workload replaces another slice of the same job, sets the placement of this slice as the previous placement of
   request number `at`. */
static void set_previous(struct hr__tas_world *self, const struct hr__tas_flavor *topology,
                         const struct hr__kueue_workload *workload, uint32_t pod_set, uint32_t at) {
  const struct hr__kueue_workload *slice = workload->replaced;
  for (uint32_t i = 0; slice && i < slice->n_pod_sets; i++) {
    const struct hr__kueue_placement *placement = slice->pod_sets[i].placement;
    if (!placement || strcmp(slice->pod_sets[i].name, workload->pod_sets[pod_set].name) != 0) continue;
    const struct hr__tas_part *parts = parts_of(self, topology, placement);
    struct hr__tas_part *copy = hr_arena_alloc(&self->memory, (placement->n_domains + (size_t)1) * sizeof *copy);
    if (!parts || !copy) {
      self->no_memory = true;
      return;
    }
    memcpy(copy, parts, placement->n_domains * sizeof *copy);
    self->requests[at].previous = copy;
    self->requests[at].n_previous = placement->n_domains;
    self->requests[at].has_previous = true;
  }
}

/* Looks for placements of all pod sets of a flavor in one part of the nodes; HR_NONE: in all. Returns the number of pod
   sets. `empty`: the usage of placed pods is ignored. */
static uint32_t place_in_part(struct hr__tas_world *self, uint32_t flavor, const struct hr__kueue_workload *workload,
                              const struct hr__kueue_assignment *assignment, bool empty, uint32_t part) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < workload->n_pod_sets; i++) {
    if (self->flavor_of[i] != flavor) continue;
    build_request(self, flavor, &workload->pod_sets[i], count_of(assignment, i), count);
    exclude_parts(self, self->flavors[flavor], workload, part, count);
    if (self->search.gates.elastic) set_previous(self, self->flavors[flavor], workload, i, count);
    self->members[count++] = i;
  }
  if (!hr__tas_place(&self->search, &self->flavors[flavor]->snapshot, self->requests, count, empty,
                     self->assumed[flavor], self->results))
    self->no_memory = true;
  return count;
}

static bool all_fit(const struct hr__tas_world *self, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (self->results[i].failure.kind != HR__TAS_FITS) return false;
  return true;
}

/* Places all pod sets of a flavor. If the pods of one pod set would be on several parts of the nodes, all pod sets are
   placed in the first part that has room for them. Returns false after a failure. `empty`: the usage of placed pods is
   ignored. `overlaps`: see keep_results. */
static bool place_in_flavor(struct hr__tas_world *self, uint32_t flavor, const struct hr__kueue_workload *workload,
                            const struct hr__kueue_assignment *assignment, bool empty, bool overlaps,
                            struct hr__kueue_placements *out) {
  const struct hr__tas_flavor *topology = self->flavors[flavor];
  size_t bytes = (size_t)topology->tree.n_leaves * self->n_resources * sizeof(int64_t);
  uint32_t count = place_in_part(self, flavor, workload, assignment, empty, HR_NONE);
  bool spans = !self->no_memory && spans_parts(self, topology, count);
  for (uint32_t part = 0; spans && part < self->n_parts && !self->no_memory; part++) {
    memset(self->assumed[flavor], 0, bytes);
    count = place_in_part(self, flavor, workload, assignment, empty, part);
    if (all_fit(self, count)) break;
  }
  return !self->no_memory && keep_results(self, flavor, count, overlaps, out);
}

/* Whether the workload has a placement in which failed nodes must be replaced. If not, the workload gets its first
   placement. */
static bool is_replaced(const struct hr__kueue_workload *workload) {
  bool has = false;
  for (uint32_t i = 0; i < workload->n_pod_sets; i++) has |= workload->pod_sets[i].placement != NULL;
  return has && workload->n_unhealthy_nodes > 0;
}

static void find(void *data, const struct hr__kueue_world *world, const struct hr__kueue_workload *workload,
                 const struct hr__kueue_assignment *assignment, bool empty, struct hr__kueue_placements *out) {
  struct hr__tas_world *self = data;
  bool overlaps = hr__kueue_has_gate(world, HR__KUEUE_BIT_TOPOLOGY_OVERLAPPING_FLAVORS);
  bool keeps = hr__kueue_has_gate(world, HR__KUEUE_BIT_TOPOLOGY_KEEP_POD_OWNED) && workload->is_one_pod;
  out->failed = out->failed_flavor = HR_NONE;
  for (uint32_t i = 0; i < workload->n_pod_sets; i++) {
    out->found[i] = NULL;
    out->tried[i] = false;
  }
  choose_flavors(self, world, workload, assignment);
  for (uint32_t flavor = 0; flavor < self->n_flavors; flavor++)
    if (self->flavors[flavor])
      memset(self->assumed[flavor], 0,
             (size_t)self->flavors[flavor]->tree.n_leaves * self->n_resources * sizeof *self->assumed[flavor]);
  for (uint32_t flavor = 0; flavor < self->n_flavors; flavor++) {
    bool is_used = false;
    for (uint32_t i = 0; i < workload->n_pod_sets; i++) is_used |= self->flavor_of[i] == flavor;
    if (!is_used) continue;
    bool ok = is_replaced(workload) && !empty
                  ? replace_in_flavor(self, flavor, workload, keeps, out)
                  : place_in_flavor(self, flavor, workload, assignment, empty, overlaps, out);
    if (!ok) return;
  }
}

/* ---- Usage ---- */

/* The number of pods of a pod set that the workload's admission already has on a leaf. */
static int64_t admitted_in(const struct hr__kueue_workload *workload, uint32_t pod_set,
                           const struct hr__tas_flavor *topology, uint32_t leaf) {
  const struct hr__kueue_placement *placement = workload->reserved ? workload->pod_sets[pod_set].placement : NULL;
  int64_t pods = 0;
  for (uint32_t i = 0; placement && i < placement->n_domains; i++)
    if (hr__tas_flavor_leaf(topology, placement, i) == leaf) pods += placement->domains[i].count;
  return pods;
}

/* Returns whether `count` pods fit in addition to the usage. As in Kueue, the number of pods per node is not checked.
 */
static bool leaf_has_room(const struct hr__tas_world *self, const struct hr__tas_snapshot *snapshot, uint32_t leaf,
                          const int64_t *pod, int64_t count) {
  size_t row = (size_t)leaf * self->n_resources;
  for (uint32_t r = 0; r < self->n_resources; r++) {
    int64_t room = snapshot->free[row + r] - snapshot->usage[row + r];
    if (pod[r] && (room < 0 || room / pod[r] < count)) return false;
  }
  return true;
}

/* Considers the pods of an assignment that the workload's admission does not already have on the same leaves. Adds them
   to the usage (sign 1), removes them (sign -1), or returns whether they fit (sign 0). Each pod set is checked as if
   the others of the assignment did not run. */
static bool change_by_assignment(struct hr__tas_world *self, const struct hr__kueue_workload *workload,
                                 const struct hr__kueue_assignment *assignment, int sign) {
  for (uint32_t i = 0; i < assignment->n_pod_sets; i++) {
    const struct hr__kueue_pod_set_assignment *row = &assignment->pod_sets[i];
    uint32_t flavor = row->placement ? only_flavor(self, row) : HR_NONE;
    if (flavor == HR_NONE) continue;
    const struct hr__tas_flavor *topology = self->flavors[flavor];
    spread_amounts(self, &workload->pod_sets[row->pod_set], self->amounts);
    for (uint32_t k = 0; k < row->placement->n_domains; k++) {
      uint32_t leaf = hr__tas_flavor_leaf(topology, row->placement, k);
      int64_t count = row->placement->domains[k].count;
      if (leaf != HR_NONE) count -= admitted_in(workload, row->pod_set, topology, leaf);
      if (count <= 0) continue;
      if (leaf == HR_NONE && !sign) return false;
      if (leaf == HR_NONE) continue;
      if (sign)
        hr__tas_add_pods(&topology->snapshot, topology->snapshot.usage + (size_t)leaf * self->n_resources,
                         self->amounts, sign * count);
      else if (!leaf_has_room(self, &topology->snapshot, leaf, self->amounts, count))
        return false;
    }
  }
  return true;
}

static bool fits(void *self, const struct hr__kueue_world *world, const struct hr__kueue_workload *workload,
                 const struct hr__kueue_assignment *assignment) {
  (void)world;
  return change_by_assignment(self, workload, assignment, 0);
}

static void reserve(void *self, const struct hr__kueue_world *world, const struct hr__kueue_workload *workload,
                    const struct hr__kueue_assignment *assignment, int sign) {
  (void)world;
  change_by_assignment(self, workload, assignment, sign);
}

/* Adds a placement to the usage of one flavor. */
static void change_flavor(struct hr__tas_world *self, uint32_t flavor, const struct hr__kueue_placement *placement,
                          int sign) {
  const struct hr__tas_flavor *topology = self->flavors[flavor];
  for (uint32_t i = 0; i < placement->n_domains; i++) {
    uint32_t leaf = hr__tas_flavor_leaf(topology, placement, i);
    if (leaf != HR_NONE)
      hr__tas_add_pods(&topology->snapshot, topology->snapshot.usage + (size_t)leaf * self->n_resources, self->amounts,
                       sign * placement->domains[i].count);
  }
}

static bool uses_flavor(const struct hr__kueue_pod_set *pod_set, uint32_t flavor) {
  for (uint32_t i = 0; i < pod_set->n_assigned; i++)
    if (pod_set->assigned[i].flavor == flavor) return true;
  return false;
}

/* Returns whether the change is a trial, or the end of one: the workload remains in the list of its queue. */
static bool is_trial(struct hr__tas_world *self, const struct hr__kueue_world *world,
                     const struct hr__kueue_workload *workload, int sign) {
  if (workload < world->workloads || workload >= world->workloads + world->n_workloads) return false;
  bool *is_removed = &self->is_removed[workload - world->workloads];
  bool was_removed = *is_removed;
  *is_removed = sign < 0 && workload->listed;
  return *is_removed || was_removed;
}

static void change(void *data, const struct hr__kueue_world *world, const struct hr__kueue_workload *workload,
                   int sign) {
  struct hr__tas_world *self = data;
  bool joins =
      hr__kueue_has_gate(world, HR__KUEUE_BIT_TOPOLOGY_OVERLAPPING_FLAVORS) && !is_trial(self, world, workload, sign);
  for (uint32_t i = 0; i < workload->n_pod_sets; i++) {
    const struct hr__kueue_pod_set *pod_set = &workload->pod_sets[i];
    bool on_hosts = false;
    if (!pod_set->placement) continue;
    spread_amounts(self, pod_set, self->amounts);
    for (uint32_t flavor = 0; flavor < self->n_flavors; flavor++)
      if (self->flavors[flavor] && uses_flavor(pod_set, flavor)) on_hosts |= self->flavors[flavor]->tree.by_host;
    for (uint32_t flavor = 0; flavor < self->n_flavors; flavor++) {
      if (!self->flavors[flavor]) continue;
      bool is_shared = joins && on_hosts && self->flavors[flavor]->tree.by_host;
      if (is_shared || uses_flavor(pod_set, flavor)) change_flavor(self, flavor, pod_set->placement, sign);
    }
  }
}

static bool has_failed_node(void *self, const struct hr__kueue_workload *workload) {
  (void)self;
  for (uint32_t i = 0; i < workload->n_pod_sets; i++)
    if (is_unhealthy(workload, workload->pod_sets[i].placement)) return true;
  return false;
}

/* ---- Life ---- */

static bool allocate(struct hr__tas_world *self, struct hr_arena *arena, const struct hr__kueue_world *world,
                     uint32_t most_leaves) {
  size_t pod_sets = (size_t)world->max_pod_sets + 1, leaves = pod_sets * (most_leaves + (size_t)1);
  return HR__ARENA_ARRAY(arena, self->requests, pod_sets) && HR__ARENA_ARRAY(arena, self->results, pod_sets) &&
         HR__ARENA_ARRAY(arena, self->members, pod_sets) && HR__ARENA_ARRAY(arena, self->flavor_of, pod_sets) &&
         HR__ARENA_ARRAY(arena, self->amounts, pod_sets * self->n_resources) &&
         HR__ARENA_ARRAY(arena, self->excluded, leaves) && HR__ARENA_ARRAY(arena, self->affinity, leaves) &&
         hr__tas_world_grow(self, arena, world);
}

/* Builds the topology of a flavor. NULL: memory is exhausted. */
static struct hr__tas_flavor *build(struct hr__tas_world *self, struct hr_arena *arena,
                                    const struct hr__kueue_world *world, uint32_t number,
                                    const struct hr__tas_nodes *nodes, const char *const *levels, uint32_t n_levels) {
  struct hr__tas_flavor *flavor = hr_arena_alloc(arena, sizeof *flavor);
  if (!flavor || !hr__tas_flavor_build(flavor, arena, nodes, levels, n_levels, &world->flavors[number], number))
    return NULL;
  size_t amounts = (size_t)flavor->tree.n_leaves * self->n_resources;
  return HR__ARENA_ARRAY(arena, self->assumed[number], amounts) ? flavor : NULL;
}

struct hr__tas_world *hr__tas_world_create(struct hr_arena *arena, struct hr__kueue_world *world,
                                           const struct hr__tas_nodes *nodes, const char *const *const *levels,
                                           const uint32_t *n_levels) {
  struct hr__tas_world *self = hr_arena_alloc(arena, sizeof *self);
  if (!self) return NULL;
  uint32_t most_leaves = 0;
  self->n_flavors = world->n_flavors;
  self->n_resources = nodes->n_resources;
  self->pods = nodes->pods;
  self->n_parts = nodes->part ? nodes->n_parts : 0;
  self->search.gates = hr__tas_gates_of(world->gates);
  if (!HR__ARENA_ARRAY(arena, self->flavors, world->n_flavors) ||
      !HR__ARENA_ARRAY(arena, self->assumed, world->n_flavors))
    return NULL;
  for (uint32_t i = 0; i < world->n_flavors; i++) {
    if (!n_levels[i]) continue;
    self->flavors[i] = build(self, arena, world, i, nodes, levels[i], n_levels[i]);
    if (!self->flavors[i]) return NULL;
    if (self->flavors[i]->tree.n_leaves > most_leaves) most_leaves = self->flavors[i]->tree.n_leaves;
  }
  if (!allocate(self, arena, world, most_leaves)) return NULL;
  world->topology = (struct hr__kueue_topology_calls){.self = self,
                                                      .matches = matches,
                                                      .find = find,
                                                      .fits = fits,
                                                      .reserve = reserve,
                                                      .change = change,
                                                      .has_failed_node = has_failed_node,
                                                      .only = only_topologies};
  return self;
}

/* ---- Worlds that change ---- */

bool hr__tas_world_grow(struct hr__tas_world *self, struct hr_arena *arena, const struct hr__kueue_world *world) {
  return HR__ARENA_ARRAY(arena, self->is_removed, world->n_workloads); /* no trial is under way: all are false */
}

void hr__tas_world_forget(struct hr__tas_world *self) {
  hr__arena_finish(&self->memory);
}

void hr__tas_world_add(struct hr__tas_world *self, uint32_t node, const int64_t *amounts, int64_t sign) {
  for (uint32_t flavor = 0; flavor < self->n_flavors; flavor++) {
    const struct hr__tas_flavor *topology = self->flavors[flavor];
    uint32_t leaf = topology ? topology->tree.node_leaf[node] : HR_NONE;
    if (leaf == HR_NONE) continue;
    int64_t *free = topology->snapshot.free + (size_t)leaf * self->n_resources;
    for (uint32_t r = 0; r < self->n_resources; r++) free[r] += sign * amounts[r];
  }
}

bool hr__tas_world_failed(const struct hr__tas_world *self) {
  return self->no_memory;
}

const struct hr__tas_flavor *hr__tas_world_flavor(const struct hr__tas_world *self, uint32_t flavor) {
  return self->flavors[flavor];
}

struct hr__tas_failure hr__tas_world_failure(const struct hr__tas_world *self) {
  return self->failure;
}

bool hr__tas_world_finish(struct hr__tas_world *self) {
  if (!self) return true;
  bool ok = !self->no_memory;
  hr__tas_search_finish(&self->search);
  hr__arena_finish(&self->memory);
  free(self->parts);
  self->parts = NULL;
  return ok;
}
