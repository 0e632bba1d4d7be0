/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The pods of admitted jobs: models kube-scheduler, which finds nodes in the pools of the flavor, and the cluster
 * autoscaler, which requests nodes for pods without nodes and releases idle nodes.
 *
 * Held jobs are in one list per group, ordered by priority and time. A pass serves the first jobs of all groups in this
 * order; a job that finds no nodes does not prevent jobs of other groups from starting, because kube-scheduler
 * schedules pods one by one. All pods of a job start together.
 */

#include "policies/kueue/engine.h"

#include <string.h>

/* ---- Groups --------------------------------------------------------------------------------------------- */

/* The number of the set of pools that all flavors of a workload have in common. HR_NONE: memory is exhausted. */
static uint32_t pools_of(struct hr__kueue_engine *self, uint32_t slot) {
  const struct hr__kueue_pod_set *pod_set = &self->world.workloads[slot].pod_sets[0];
  uint32_t words = self->pool_words;
  if (self->n_pool_sets == self->pool_sets_capacity) {
    uint64_t *grown = hr_arena_grown(self->arena, self->pool_sets, &self->pool_sets_capacity, words * sizeof *grown);
    if (!grown) return HR_NONE;
    self->pool_sets = grown;
  }
  uint64_t *set = self->pool_sets + (size_t)self->n_pool_sets * words;
  memset(set, 0xff, words * sizeof *set);
  for (uint32_t i = 0; i < pod_set->n_assigned; i++)
    for (uint32_t w = 0; w < words; w++) set[w] &= self->flavor_pools[(size_t)pod_set->assigned[i].flavor * words + w];
  for (uint32_t i = 0; i < self->n_pool_sets; i++)
    if (memcmp(self->pool_sets + (size_t)i * words, set, words * sizeof *set) == 0) return i;
  return self->n_pool_sets++;
}

static bool group_has_pool(const struct hr__kueue_engine *self, const struct hr__kueue_held *group, uint32_t pool) {
  return self->pool_sets[(size_t)group->pools * self->pool_words + pool / 64] >> pool % 64 & 1;
}

/* Returns the group of a held job; HR_NONE: memory is exhausted. */
static uint32_t group_of(struct hr__kueue_engine *self, uint32_t slot) {
  uint32_t pools = pools_of(self, slot), class_ = self->slots[slot].class_;
  if (pools == HR_NONE) return HR_NONE;
  bool placed = hr__kueue_topology_places(self, slot);
  struct hr__pair pair = {class_, (uint64_t)pools << 1 | placed};
  uint32_t found = hr__pair_map_find(&self->group_at, pair);
  if (found != HR_NONE) return found;
  if (!HR__ARENA_HAS_ROOM(self->arena, self->groups, self->n_groups, self->groups_capacity) ||
      !HR__ARENA_HAS_ROOM(self->arena, self->active, self->n_groups, self->active_capacity))
    return HR_NONE;
  self->groups[self->n_groups] = (struct hr__kueue_held){class_, pools, HR_NONE, HR_NONE, 0, 0, placed, false};
  return hr__pair_map_add(&self->group_at, self->arena, pair, self->n_groups) ? self->n_groups++ : HR_NONE;
}

/* Whether the pods of slot `a` are served before those of slot `b`. */
static bool is_served_before(const struct hr__kueue_engine *self, uint32_t a, uint32_t b) {
  const struct hr__kueue_workload *left = &self->world.workloads[a], *right = &self->world.workloads[b];
  if (left->priority != right->priority) return left->priority > right->priority;
  if (self->slots[a].since_us != self->slots[b].since_us) return self->slots[a].since_us < self->slots[b].since_us;
  return self->slots[a].job < self->slots[b].job;
}

/* Puts a slot into the list of its group: at the front (`front`), or behind the slots that are served before it. */
static void insert(struct hr__kueue_engine *self, uint32_t slot, bool front) {
  struct hr__kueue_held *group = &self->groups[self->slots[slot].group];
  uint32_t before = front ? HR_NONE : group->last;
  while (!front && before != HR_NONE && is_served_before(self, slot, before)) before = self->slots[before].previous;
  uint32_t after = before == HR_NONE ? group->first : self->slots[before].next;
  self->slots[slot].previous = before;
  self->slots[slot].next = after;
  if (before == HR_NONE)
    group->first = slot;
  else
    self->slots[before].next = slot;
  if (after == HR_NONE)
    group->last = slot;
  else
    self->slots[after].previous = slot;
}

bool hr__kueue_hold(struct hr__kueue_engine *self, uint32_t slot, bool front) {
  uint32_t id = group_of(self, slot);
  if (id == HR_NONE) return false;
  struct hr__kueue_held *group = &self->groups[id];
  self->slots[slot].group = id;
  self->slots[slot].phase = HR__KUEUE_HELD;
  insert(self, slot, front);
  if (group->count++ == 0) {
    group->at = self->n_active;
    group->failed = false;
    self->active[self->n_active++] = id;
  }
  self->n_held++;
  self->freed = true;
  return true;
}

void hr__kueue_unhold(struct hr__kueue_engine *self, uint32_t slot) {
  struct hr__kueue_held *group = &self->groups[self->slots[slot].group];
  uint32_t before = self->slots[slot].previous, after = self->slots[slot].next;
  if (before == HR_NONE)
    group->first = after;
  else
    self->slots[before].next = after;
  if (after == HR_NONE)
    group->last = before;
  else
    self->slots[after].previous = before;
  if (--group->count == 0) {
    uint32_t moved = self->active[--self->n_active];
    self->active[group->at] = moved;
    self->groups[moved].at = group->at;
  }
  self->slots[slot].group = HR_NONE;
  self->n_held--;
}

/* ---- Nodes ---------------------------------------------------------------------------------------------- */

struct hr_need hr__kueue_need_of(const struct hr__kueue_engine *self, uint32_t slot) {
  struct hr_need need = self->classes[self->slots[slot].class_].need;
  need.preferred = self->world.now_us >= hr_cluster_locality(self->cluster, (hr_job){self->slots[slot].job}).until_us;
  return need;
}

/* Looks for nodes in the pools of the group, in their order. Returns whether a placement was found. */
static bool find_nodes(struct hr__kueue_engine *self, uint32_t slot, const struct hr_need *need,
                       struct hr_placement *placement) {
  const struct hr__kueue_held *group = &self->groups[self->slots[slot].group];
  *placement = (struct hr_placement){0};
  if (self->classes[group->class_].needs_no_node) return true;
  if (self->world.workloads[slot].pod_sets[0].placement) return hr__kueue_topology_nodes(self, slot, need, placement);
  for (uint32_t p = 0; p < self->n_pools; p++) {
    if (!group_has_pool(self, group, p) || !hr_cluster_accepts(self->cluster, need->accept_class, (hr_pool){p}) ||
        !hr_capacity_find_in(self->capacity, (hr_pool){p}, need, placement))
      continue;
    if (hr__tasks_have_memory(self->cluster, self->jobs, (hr_job){self->slots[slot].job}, placement)) return true;
  }
  return false;
}

/* Starts a job, or evicts it if its nodes are lost. Returns false if the job remains held. */
static bool start(struct hr__kueue_engine *self, uint32_t slot) {
  struct hr_placement placement;
  struct hr_need need = hr__kueue_need_of(self, slot);
  hr_job job = {self->slots[slot].job};
  enum hr__kueue_nodes nodes = hr__kueue_topology_prepare(self, slot);
  if (nodes == HR__KUEUE_NODES_LOST) {
    hr__kueue_unhold(self, slot);
    hr__kueue_queue_evicted(self, slot);
    return true;
  }
  if (nodes != HR__KUEUE_NODES_READY || !find_nodes(self, slot, &need, &placement)) return false;
  self->status = hr_moves_start(self->moves, job, &placement, HR_REASON_IN_ORDER);
  if (self->status != HR_OK) return false;
  hr_capacity_take(self->capacity, &need, &placement);
  hr__kueue_topology_count(self, slot, &placement, 1);
  hr__kueue_unhold(self, slot);
  self->slots[slot].phase = HR__KUEUE_STARTED;
  self->slots[slot].since_us = self->world.now_us;
  self->slots[slot].was_ready = true;
  hr__kueue_timer_set(self, slot, HR_NEVER_US);
  return true;
}

/* The group with the job that is served next; HR_NONE: none is left. */
static uint32_t next_group(const struct hr__kueue_engine *self) {
  uint32_t best = HR_NONE;
  for (uint32_t i = 0; i < self->n_active; i++) {
    const struct hr__kueue_held *group = &self->groups[self->active[i]];
    if (!group->failed && (best == HR_NONE || is_served_before(self, group->first, self->groups[best].first)))
      best = self->active[i];
  }
  return best;
}

/* Starts the first job of a group. If topologies place the group, starts the first job whose nodes are free. Returns
   false if no job was started. */
static bool start_one(struct hr__kueue_engine *self, const struct hr__kueue_held *group) {
  bool is_placed = group->placed;
  for (uint32_t slot = group->first; slot != HR_NONE && self->status == HR_OK; slot = self->slots[slot].next) {
    if (start(self, slot)) return true;
    if (!is_placed) return false;
  }
  return false;
}

void hr__kueue_place_all(struct hr__kueue_engine *self) {
  if (!self->freed) return;
  self->freed = false;
  for (uint32_t i = 0; i < self->n_active; i++) self->groups[self->active[i]].failed = false;
  for (uint32_t group; self->status == HR_OK && (group = next_group(self)) != HR_NONE;)
    if (!start_one(self, &self->groups[group])) self->groups[group].failed = true;
  if (hr_capacity_set_failed(self->capacities)) self->status = HR_NO_MEMORY;
}

/* ---- Idle nodes ----------------------------------------------------------------------------------------- */

static bool is_idle(const struct hr__kueue_engine *self, hr_pool pool, hr_node node) {
  return hr_cluster_node_state(self->cluster, node) == HR_NODE_UP && hr_capacity_is_idle(self->capacity, pool, node);
}

static bool begin_idle(struct hr__kueue_engine *self, hr_node node) {
  self->idle_us[node.id] = self->world.now_us;
  return hr__deadline_fifo_add(&self->idle, self->arena,
                               (struct hr__deadline_entry){self->world.now_us + self->idle_release_us, node.id});
}

bool hr__kueue_pods_left(struct hr__kueue_engine *self, hr_job job, const struct hr_placement *placement) {
  uint32_t slot = hr__kueue_slot_of(self, job);
  hr_capacity_give(self->capacity, &self->classes[self->slots[slot].class_].need, placement);
  hr__kueue_topology_count(self, slot, placement, -1);
  self->freed = true;
  if (!self->manages || !placement->n_slices || !hr__kueue_pool_is_elastic(self, placement->pool.id)) return true;
  for (uint32_t i = 0; i < placement->n_slices; i++)
    if (is_idle(self, placement->pool, placement->slices[i].node) && !begin_idle(self, placement->slices[i].node))
      return false;
  return true;
}

bool hr__kueue_node_changed(struct hr__kueue_engine *self, const struct hr_event *event) {
  if (event->node.id == HR_NONE) return true;
  bool is_up = event->kind == HR_EVENT_NODE_UP;
  hr_capacity_set_usable(self->capacity, event->pool, event->node, is_up, is_up);
  hr__kueue_topology_node(self, event->node, is_up);
  return !is_up || !self->manages || !hr__kueue_pool_is_elastic(self, event->pool.id) || begin_idle(self, event->node);
}

static hr_pool pool_of(const struct hr__kueue_engine *self, uint32_t node) {
  uint32_t p = self->n_pools - 1;
  while (hr_cluster_first_node(self->cluster, (hr_pool){p}).id > node) p--;
  return (hr_pool){p};
}

/* Whether held jobs wait for nodes of the pool. They may need an idle node together with nodes that are booting. */
static bool is_awaited(const struct hr__kueue_engine *self, uint32_t pool) {
  return self->wanted[pool].jobs > 0;
}

static void release_idle(struct hr__kueue_engine *self) {
  struct hr__deadline_entry entry;
  while (self->status == HR_OK && hr__deadline_fifo_take(&self->idle, self->world.now_us, &entry)) {
    hr_pool pool = pool_of(self, entry.id);
    hr_node node = {entry.id};
    if (self->idle_us[entry.id] + self->idle_release_us != entry.at_us || !is_idle(self, pool, node)) continue;
    if (is_awaited(self, pool.id)) {
      if (!begin_idle(self, node)) self->status = HR_NO_MEMORY;
      continue;
    }
    self->status = hr_moves_release(self->moves, node);
    hr_capacity_set_usable(self->capacity, pool, node, false, false);
  }
}

/* ---- Requests for nodes --------------------------------------------------------------------------------- */

/* The pool in which nodes are requested for a group: the first elastic pool that can run its pods, preferably one in
   which nodes are available. HR_NONE: none. */
static uint32_t choose_pool(const struct hr__kueue_engine *self, const struct hr__kueue_held *group) {
  const struct hr_need *need = &self->classes[group->class_].need;
  uint32_t found = HR_NONE;
  for (uint32_t p = 0; p < self->n_pools; p++) {
    if (!group_has_pool(self, group, p) || !hr__kueue_pool_is_elastic(self, p) ||
        hr_capacity_min_nodes(self->capacities, need, (hr_pool){p}) == HR_NONE)
      continue;
    if (found == HR_NONE) found = p;
    if (hr_cluster_offer(self->cluster, (hr_pool){p}) > 0) return p;
  }
  return found;
}

static uint32_t capped_sum(uint32_t a, uint64_t b) {
  return a + b > HR_MAX_NODES ? HR_MAX_NODES : (uint32_t)(a + b);
}

static void count_wanted(struct hr__kueue_engine *self) {
  memset(self->wanted, 0, self->n_pools * sizeof *self->wanted);
  for (uint32_t i = 0; i < self->n_active; i++) {
    const struct hr__kueue_held *group = &self->groups[self->active[i]];
    const struct hr__kueue_class *class_ = &self->classes[group->class_];
    uint32_t pool = class_->needs_no_node ? HR_NONE : choose_pool(self, group);
    if (pool == HR_NONE) continue;
    uint32_t nodes = hr_capacity_min_nodes(self->capacities, &class_->need, (hr_pool){pool});
    const struct hr__kueue_slot *first = &self->slots[group->first];
    uint64_t milli = hr_cluster_asked_milli(self->cluster, (hr_job){first->job}) * (uint64_t)class_->pods /
                     (uint64_t)self->classes[first->full_class].pods;
    struct hr__kueue_wanted *wanted = &self->wanted[pool];
    wanted->jobs += group->count;
    if (nodes == 1)
      wanted->milli += milli * group->count;
    else
      wanted->nodes = capped_sum(wanted->nodes, (uint64_t)nodes * group->count);
  }
}

static uint32_t count_idle(const struct hr__kueue_engine *self, hr_pool pool) {
  const struct hr_pool_spec *spec = hr_cluster_pool_spec(self->cluster, pool);
  if (!hr_cluster_gpu_inventory(self->cluster))
    return hr_free_index_count(hr_cluster_free_index(self->cluster, pool), spec->gpus_per_node);
  uint32_t first = hr_cluster_first_node(self->cluster, pool).id, count = 0;
  for (uint32_t i = 0; i < spec->nodes; i++) count += is_idle(self, pool, (hr_node){first + i});
  return count;
}

/* Requests the nodes that the held jobs need in addition to idle and booting nodes. If no node is booting, requests at
   least one node, because no held job fits on the present nodes. */
static void request_nodes(struct hr__kueue_engine *self, uint32_t pool) {
  const struct hr__kueue_wanted *wanted = &self->wanted[pool];
  hr_pool id = {pool};
  uint32_t per_node = hr_cluster_pool_spec(self->cluster, id)->gpus_per_node,
           offer = hr_cluster_offer(self->cluster, id);
  if (!wanted->jobs || !offer) return;
  uint64_t node_milli = per_node ? (uint64_t)per_node * 1000 : 1000;
  uint64_t need = capped_sum(wanted->nodes, (wanted->milli + node_milli - 1) / node_milli);
  uint64_t booting = hr_cluster_nodes_in(self->cluster, id, HR_NODE_BOOTING), have = booting + count_idle(self, id);
  uint64_t count = need > have ? need - have : booting == 0;
  if (count > offer) count = offer;
  if (count) self->status = hr_moves_acquire(self->moves, id, (uint32_t)count);
}

void hr__kueue_scale(struct hr__kueue_engine *self) {
  if (!self->manages || self->status != HR_OK) return;
  count_wanted(self);
  for (uint32_t p = 0; p < self->n_pools && self->status == HR_OK; p++)
    if (self->wanted[p].jobs) request_nodes(self, p);
  if (self->status == HR_OK) release_idle(self);
}
