/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An autoscaler that requests and removes the nodes of elastic pools, as a component of the engine. This file has its
 * state, the demand of waiting jobs, requests for nodes, and quotas. Each kind of autoscaler has rules (struct
 * hr__scaling_rules) that decide when the cluster is examined, and which nodes are requested and removed. These rules
 * are in node_scans.c and karpenter_loop.c.
 *
 * Invariant: a pool never has more nodes than its maximum and the quotas allow.
 */

#include "sim/market/autoscaler.h"
#include "base/containers.h"
#include "base/random.h"

/* ---- Demand of waiting jobs ------------------------------------------------------------------------- */

/*
 * Waiting jobs form a list in the order in which they began to wait. Jobs with equal requests belong to one kind. A job
 * is a group of pods, one for each task or, in counted allocation, one for each node. All pods of a job must be in one
 * pool. A scan computes which jobs would fit on the nodes that are up or booting. A scan places all pods of a job or
 * none, and it places one kind after the other. The rules of the autoscaler determine the order of kinds (`precedes`);
 * among equal kinds, the kind with the oldest job is first. If the nodes of a pool have room for only some pods of the
 * oldest job that does not fit, the job can reserve this room (reserve_part).
 *
 * In counted allocation a pod takes the CPUs and the memory of its node in proportion to its GPUs. If CPUs or memory of
 * nodes are unknown, each GPU counts as one core and one GiB.
 *
 * Invariants: the list has exactly the waiting jobs, and the free amounts of a node are never negative.
 */

#define NOMINAL_CPU_M 1000
#define MIB INT64_C(1048576)
#define NOMINAL_BYTES (1024 * MIB)
#define NO_LIMIT (INT64_MAX / 4)

/* ---- Demand of waiting jobs: kinds ------------------------------------------------------------------ */

/* Makes room for one more kind in all arrays. Returns false if memory is exhausted. */
static bool grow(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  if (self->n_kinds < self->capacity) return true;
  const size_t capacity = self->capacity ? 2 * (size_t)self->capacity : 16, rows = HR__KIND_ROWS * capacity;
  if (capacity == 0 || rows == 0 || rows > UINT32_MAX) return false;
  if (!HR__ARRAY_RESIZE(self->kinds, capacity) || !HR__ARRAY_RESIZE(self->pods, rows) ||
      !HR__ARRAY_RESIZE(self->pods_of, rows) || !HR__ARRAY_RESIZE(self->states, rows) ||
      !HR__ARRAY_RESIZE(self->order, rows + engine->cluster.n_pools))
    return false;
  self->capacity = (uint32_t)capacity;
  return true;
}

/* Sets `cpu_m` and `memory` of the kind. */
static void set_size(struct hr__engine *engine, struct hr__pod_kind *kind) {
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    if (!hr__pod_kind_suits(engine, kind, i)) continue;
    const struct hr__pod_rows rows = hr__pod_kind_rows(engine, kind, i);
    if (rows.row[0].request.of[HR__CPU_M] > kind->cpu_m) kind->cpu_m = rows.row[0].request.of[HR__CPU_M];
    if (rows.row[0].request.of[HR__MEMORY_BYTES] > kind->memory)
      kind->memory = rows.row[0].request.of[HR__MEMORY_BYTES];
  }
}

/* Returns the kind of a job; HR_NONE: out of memory. */
static uint32_t find_kind(struct hr__engine *engine, hr_job job) {
  struct hr__autoscaler *self = engine->autoscaler;
  const struct hr_cluster *cluster = &engine->cluster;
  const uint32_t request = cluster->requests ? cluster->requests->of_job[job.id] : HR_NONE;
  const uint32_t accept_class = hr_cluster_accept_class(cluster, job), gpus = engine->trace->gpus[job.id];
  const uint64_t key = request == HR_NONE ? (uint64_t)accept_class << 32 | gpus : request;
  const uint32_t hash = hr__hash_u64(key);
  struct hr__hash_cursor at;
  for (uint32_t i = hr__hash_first(&self->kind_at, hash, &at); i != HR_NONE; i = hr__hash_next(&self->kind_at, &at)) {
    const struct hr__pod_kind *kind = &self->kinds[i];
    if (kind->request == request && (request != HR_NONE || (kind->accept_class == accept_class && kind->gpus == gpus)))
      return i;
  }
  if (!grow(engine) || !hr__hash_add(&self->kind_at, &engine->arena, hash, self->n_kinds)) return HR_NONE;
  struct hr__pod_kind *kind = &self->kinds[self->n_kinds];
  *kind = (struct hr__pod_kind){.accept_class = accept_class,
                                .gpus = gpus,
                                .request = request,
                                .fits_node = hr__cluster_has_node_for(cluster, accept_class, gpus)};
  set_size(engine, kind);
  return self->n_kinds++;
}

const struct hr__pod_kind *hr__node_demand_kind(const struct hr__engine *engine, hr_job job) {
  return &engine->autoscaler->kinds[engine->autoscaler->waiting[job.id].kind];
}

/* ---- Demand of waiting jobs: the list of waiting jobs ----------------------------------------------- */

/* node_demand_add adds a job that begins to wait. node_demand_remove removes a job that no longer waits. */
static void node_demand_add(struct hr__engine *engine, hr_job job) {
  struct hr__autoscaler *self = engine->autoscaler;
  const uint32_t kind = find_kind(engine, job);
  if (kind == HR_NONE) {
    self->lacks_memory = true;
    return;
  }
  self->waiting[job.id] = (struct hr__waiting_job){.since_us = engine->view.now_us, .kind = kind, .before = self->last};
  if (self->last)
    self->waiting[self->last - 1].after = job.id + 1;
  else
    self->first = job.id + 1;
  self->last = job.id + 1;
}

static void node_demand_remove(struct hr__engine *engine, hr_job job) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct hr__waiting_job *at = &self->waiting[job.id];
  if (!at->before && self->first != job.id + 1) return; /* the job is not in the list */
  if (at->before)
    self->waiting[at->before - 1].after = at->after;
  else
    self->first = at->after;
  if (at->after)
    self->waiting[at->after - 1].before = at->before;
  else
    self->last = at->before;
  at->before = at->after = 0;
}

/* ---- Demand of waiting jobs: pods ------------------------------------------------------------------- */

/* Returns the capacity of a node of the pool. */
static struct hr__node_amounts node_capacity(const struct hr__engine *engine, uint32_t pool) {
  const struct hr_pool_spec *spec = engine->cluster.pools[pool].spec;
  const int64_t gpus = spec->gpus_per_node;
  return (struct hr__node_amounts){
      {[HR__CPU_M] = spec->cpu_milli_per_node ? spec->cpu_milli_per_node : gpus * NOMINAL_CPU_M,
       [HR__MEMORY_BYTES] = spec->mem_mib_per_node ? (int64_t)spec->mem_mib_per_node * MIB : gpus * NOMINAL_BYTES,
       [HR__GPUS] = gpus * 1000}};
}

bool hr__pod_kind_suits(const struct hr__engine *engine, const struct hr__pod_kind *kind, uint32_t pool) {
  const struct hr_cluster *cluster = &engine->cluster;
  if (!hr_cluster_accepts(cluster, kind->accept_class, (hr_pool){pool})) return false;
  if (kind->request != HR_NONE)
    return hr_pool_max_tasks(cluster->spec, (hr_pool){pool}, &cluster->requests->request[kind->request]) > 0;
  const uint32_t gpus = cluster->pools[pool].spec->gpus_per_node;
  return kind->gpus > 0 && gpus > 0 && (gpus >= kind->gpus || !kind->fits_node);
}

/* Returns the amounts of `node` that belong to `milli` milli-GPUs, in proportion to the GPUs of the node. If the node
   has no GPUs, the result is 0. */
static struct hr__node_amounts proportional(const struct hr__node_amounts *node, int64_t milli) {
  struct hr__node_amounts pod;
  for (int i = 0; i < HR__N_AMOUNTS; i++) {
    __extension__ typedef __int128 wide;
    pod.of[i] = node->of[HR__GPUS] > 0 ? (int64_t)((wide)node->of[i] * milli / node->of[HR__GPUS]) : 0;
  }
  return pod;
}

static struct hr__node_amounts task_amounts(const struct hr__engine *engine, const struct hr_request *request,
                                            uint32_t pool) {
  const struct hr_pool_spec *spec = engine->cluster.pools[pool].spec;
  const struct hr__node_amounts node = engine->autoscaler->pools[pool].node;
  if (request->dedicated) return node;
  const int64_t milli = (int64_t)request->gpus * request->gpu_milli;
  struct hr__node_amounts task = proportional(&node, milli);
  if (spec->cpu_milli_per_node) task.of[HR__CPU_M] = hr_pool_cpu_milli(spec, request);
  if (spec->mem_mib_per_node) task.of[HR__MEMORY_BYTES] = (int64_t)request->mem_mib * MIB;
  return task;
}

struct hr__pod_rows hr__pod_kind_rows(const struct hr__engine *engine, const struct hr__pod_kind *kind, uint32_t pool) {
  struct hr__pod_rows rows = {0};
  const struct hr__node_amounts *node = &engine->autoscaler->pools[pool].node;
  if (kind->request != HR_NONE) {
    const struct hr_request *request = &engine->cluster.requests->request[kind->request];
    rows.row[rows.n_rows++] = (struct hr__pod_row){task_amounts(engine, request, pool), request->tasks};
    return rows;
  }
  const uint32_t size = engine->cluster.pools[pool].spec->gpus_per_node;
  const uint32_t whole = kind->gpus / size, rest = kind->gpus % size;
  if (whole) rows.row[rows.n_rows++] = (struct hr__pod_row){*node, whole};
  if (rest) rows.row[rows.n_rows++] = (struct hr__pod_row){proportional(node, (int64_t)rest * 1000), 1};
  return rows;
}

/* ---- Demand of waiting jobs: the room of nodes ------------------------------------------------------ */

static void set_room(struct hr__engine *engine, uint32_t pool, uint32_t node) {
  struct hr__node_room *room = &engine->autoscaler->room[node];
  const struct hr_cluster *cluster = &engine->cluster;
  const struct hr_gpu_inventory *inventory = cluster->inventory;
  const uint8_t state = cluster->nodes[node].state;
  *room = (struct hr__node_room){.free = engine->autoscaler->pools[pool].node, .boots = state == HR_NODE_BOOTING};
  room->is_usable = state == HR_NODE_UP || state == HR_NODE_BOOTING;
  if (state != HR_NODE_UP) return;
  if (!inventory) {
    room->free = proportional(&room->free, cluster->node_free_milli[node]);
    return;
  }
  room->free.of[HR__GPUS] = inventory->left_milli[node];
  room->free.of[HR__CPU_M] = inventory->cpu_milli[node] == HR_NONE ? NO_LIMIT : inventory->cpu_milli[node];
  room->free.of[HR__MEMORY_BYTES] =
      inventory->mem_mib[node] == UINT64_MAX ? NO_LIMIT : (int64_t)inventory->mem_mib[node] * MIB;
  if (inventory->alone[node]) room->is_usable = false;
}

static void set_all_room(struct hr__engine *engine) {
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct hr__pool *pool = &engine->cluster.pools[i];
    for (uint32_t k = 0; k < pool->spec->nodes; k++) set_room(engine, i, pool->first_node.id + k);
  }
}

static bool fits(const struct hr__node_room *room, const struct hr__node_amounts *request, bool only_booting) {
  return room->is_usable && (room->boots || !only_booting) && hr__amounts_fit(request, &room->free);
}

/* The pods of one job that were placed on nodes of a pool. The entries of the log from `from[i]` on are the nodes of
   the pods of row i. */
struct placed_pods {
  struct hr__pod_rows rows;
  uint32_t from[2], left[2]; /* left: number of pods of the row that did not fit */
};

/* Records the room of a node before it changes. False: out of memory. */
static bool record_change(struct hr__autoscaler *self, uint32_t node) {
  if (!HR__ARRAY_HAS_ROOM(self->changes, self->n_changes, self->changes_capacity)) {
    self->lacks_memory = true;
    return false;
  }
  self->changes[self->n_changes++] = (struct hr__room_change){node, self->room[node]};
  return true;
}

/* Places as many pods of one job in a pool as fit, by first fit. `start`: for jobs with one row of pods, the node at
   which the search begins. Returns the number of placed pods. */
static uint32_t place_pods(struct hr__engine *engine, const struct hr__pod_kind *kind, uint32_t pool, uint32_t except,
                           uint32_t start, struct placed_pods *placed) {
  struct hr__autoscaler *self = engine->autoscaler;
  const uint32_t first = engine->cluster.pools[pool].first_node.id;
  const uint32_t end = first + engine->cluster.pools[pool].spec->nodes;
  *placed = (struct placed_pods){.rows = hr__pod_kind_rows(engine, kind, pool)};
  self->n_log = 0;
  for (uint32_t i = 0; i < placed->rows.n_rows; i++) {
    const struct hr__node_amounts *request = &placed->rows.row[i].request;
    uint32_t node = placed->rows.n_rows == 1 ? start : first, left = placed->rows.row[i].count;
    placed->from[i] = self->n_log;
    while (left > 0 && node < end) {
      if (node == except || !fits(&self->room[node], request, kind->is_blocked)) {
        node++;
        continue;
      }
      if (!HR__ARRAY_HAS_ROOM(self->log, self->n_log, self->log_capacity)) {
        self->lacks_memory = true;
        break;
      }
      if (self->records_changes && !record_change(self, node)) break;
      hr__amounts_add(&self->room[node].free, request, -1);
      self->log[self->n_log++] = node;
      left--;
    }
    placed->left[i] = left;
  }
  return self->n_log;
}

static void take_back(struct hr__autoscaler *self, const struct placed_pods *placed) {
  for (uint32_t i = placed->rows.n_rows; i-- > 0;)
    while (self->n_log > placed->from[i])
      hr__amounts_add(&self->room[self->log[--self->n_log]].free, &placed->rows.row[i].request, 1);
}

static void keep(struct hr__autoscaler *self) {
  for (uint32_t i = 0; i < self->n_log; i++) self->room[self->log[i]].is_needed = true;
}

/* Places all pods of one job in a pool and returns true, or places none and returns false. `*start`: the node at which
   the search begins if the job has one row of pods. Nodes before it have no room for such a pod. */
static bool place(struct hr__engine *engine, const struct hr__pod_kind *kind, uint32_t pool, uint32_t except,
                  uint32_t *start) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct placed_pods placed;
  place_pods(engine, kind, pool, except, *start, &placed);
  if (placed.left[0] + placed.left[1] > 0) {
    take_back(self, &placed);
    return false;
  }
  keep(self);
  if (self->n_log) *start = self->log[self->n_log - 1];
  return true;
}

void hr__node_demand_begin(struct hr__engine *engine) {
  engine->autoscaler->records_changes = true;
  engine->autoscaler->n_changes = 0;
}

bool hr__node_demand_end(struct hr__engine *engine, bool keeps) {
  struct hr__autoscaler *self = engine->autoscaler;
  while (!keeps && self->n_changes > 0) {
    const struct hr__room_change *change = &self->changes[--self->n_changes];
    self->room[change->node] = change->before;
  }
  self->records_changes = false;
  return keeps;
}

bool hr__node_demand_place(struct hr__engine *engine, const struct hr__pod_kind *kind, uint32_t pool, uint32_t except) {
  uint32_t start = engine->cluster.pools[pool].first_node.id;
  return place(engine, kind, pool, except, &start);
}

/* ---- Demand of waiting jobs: jobs that have some nodes and lack others ------------------------------ */

/* Returns an upper bound of the number of new nodes that the remaining pods need. A row with pods that do not fit on an
   empty node counts as INT32_MAX nodes. */
static int64_t new_nodes_for(const struct hr__engine *engine, const struct placed_pods *placed, uint32_t pool) {
  const struct hr__node_amounts *node = &engine->autoscaler->pools[pool].node;
  int64_t nodes = 0;
  for (uint32_t i = 0; i < placed->rows.n_rows; i++) {
    int64_t per_node = INT64_MAX;
    for (int k = 0; k < HR__N_AMOUNTS; k++) {
      const int64_t each = placed->rows.row[i].request.of[k];
      if (each > 0 && node->of[k] / each < per_node) per_node = node->of[k] / each;
    }
    if (placed->left[i] > 0) nodes += per_node > 0 ? (placed->left[i] + per_node - 1) / per_node : INT32_MAX;
  }
  return nodes;
}

/* Returns the number of nodes by which a pool may grow now; 0 if the pool is not managed or is backed off. */
static int64_t room_to_grow(struct hr__engine *engine, uint32_t pool) {
  if (!engine->autoscaler->pools[pool].is_scaled || engine->autoscaler->rules->backs_off(engine, pool)) return 0;
  return hr__nodes_allowed(engine, pool);
}

/* Considers the oldest job of the kind that could not be placed as a whole. Reserves room in one pool for those of its
   pods that fit there. The pool must be able to grow by the nodes that the other pods of the job need. Of all such
   pools, the pool with room for the most pods is selected. The other pods must then be placed on new nodes of this
   pool. If no such pool has room for a pod of the job, the function reserves nothing. */
static void reserve_part(struct hr__engine *engine, struct hr__pod_kind *kind) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct placed_pods placed;
  uint32_t most = 0;
  for (uint32_t pool = 0; pool < engine->cluster.n_pools; pool++) {
    if (!hr__pod_kind_suits(engine, kind, pool)) continue;
    const uint32_t n = place_pods(engine, kind, pool, HR_NONE, engine->cluster.pools[pool].first_node.id, &placed);
    if (n > most && new_nodes_for(engine, &placed, pool) <= room_to_grow(engine, pool)) {
      most = n;
      kind->part_pool = pool;
    }
    take_back(self, &placed);
  }
  if (kind->part_pool == HR_NONE) return;
  const uint32_t first = engine->cluster.pools[kind->part_pool].first_node.id;
  place_pods(engine, kind, kind->part_pool, HR_NONE, first, &placed);
  keep(self);
  kind->part_left[0] = placed.left[0];
  kind->part_left[1] = placed.left[1];
}

/* ---- Demand of waiting jobs: the jobs that no node can take ----------------------------------------- */

/* Returns whether the job waits because of a quota or because of carbon, so that more nodes would not help. If the job
   waits although nodes seem to have room, sets kind->is_blocked: pods of the kind are then placed on booting nodes
   only. */
static bool is_held(struct hr__engine *engine, hr_job job, struct hr__pod_kind *kind) {
  struct hr_wait_reason wait = {.behind = {HR_NONE}, .quota = HR_NONE, .until_us = HR_NEVER_US};
  if (engine->cluster.inventory)
    hr_view_wait_reason(&engine->view, job, &wait);
  else if (engine->ops.explain)
    engine->ops.explain(engine->policy, &engine->view, job, &wait);
  else
    return false;
  /* on shared GPUs, the sums over a node do not show whether a task fits */
  const bool has_one_task = kind->request != HR_NONE && engine->cluster.requests->request[kind->request].tasks == 1;
  if (wait.reason == HR_WAIT_REASON_FRAGMENTS || wait.reason == HR_WAIT_REASON_TOPOLOGY ||
      wait.reason == HR_WAIT_REASON_NODE_RESOURCES || (wait.reason == HR_WAIT_REASON_SCALE_UP && has_one_task))
    kind->is_blocked = true;
  return wait.reason == HR_WAIT_REASON_QUOTA || wait.reason == HR_WAIT_REASON_CARBON;
}

/* Inserts a kind into the list of kinds, before the first kind that it precedes. */
static void link_kind(struct hr__autoscaler *self, uint32_t number) {
  uint32_t *link = &self->first_kind;
  while (*link != HR_NONE && !self->rules->precedes(&self->kinds[number], &self->kinds[*link]))
    link = &self->kinds[*link].next;
  self->kinds[number].next = *link;
  *link = number;
}

/* Counts, for each kind, the waiting jobs that are not held back by a quota or by carbon (is_held). Makes the list of
   the kinds with such jobs. Kinds are inserted in the order of their oldest jobs. */
static void count_jobs(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  const int32_t *priority = engine->trace->priority;
  self->first_kind = HR_NONE;
  for (uint32_t i = 0; i < self->n_kinds; i++) {
    struct hr__pod_kind *kind = &self->kinds[i];
    kind->n_jobs = kind->n_left = 0;
    kind->is_blocked = kind->is_linked = false;
    kind->part_pool = HR_NONE;
    kind->priority = INT32_MIN;
  }
  for (uint32_t at = self->first; at; at = self->waiting[at - 1].after) {
    struct hr__pod_kind *kind = &self->kinds[self->waiting[at - 1].kind];
    self->waiting[at - 1].is_held = is_held(engine, (hr_job){at - 1}, kind);
    if (self->waiting[at - 1].is_held) continue;
    kind->n_jobs++;
    if (priority && priority[at - 1] > kind->priority) kind->priority = priority[at - 1];
  }
  for (uint32_t at = self->first; at; at = self->waiting[at - 1].after) {
    const uint32_t number = self->waiting[at - 1].kind;
    if (self->waiting[at - 1].is_held || self->kinds[number].is_linked) continue;
    self->kinds[number].is_linked = true;
    link_kind(self, number);
  }
}

bool hr__node_demand_find(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  bool any = false;
  set_all_room(engine);
  count_jobs(engine);
  for (uint32_t i = self->first_kind; i != HR_NONE; i = self->kinds[i].next) {
    struct hr__pod_kind *kind = &self->kinds[i];
    bool may_run = false;
    kind->n_left = kind->n_jobs;
    for (uint32_t pool = 0; pool < engine->cluster.n_pools && kind->n_left; pool++) {
      if (!hr__pod_kind_suits(engine, kind, pool)) continue;
      may_run = true;
      uint32_t start = engine->cluster.pools[pool].first_node.id;
      while (kind->n_left && place(engine, kind, pool, HR_NONE, &start)) kind->n_left--;
    }
    if (!may_run) kind->n_left = 0; /* no pool suits the kind, so a new node would not help */
    if (kind->n_left) reserve_part(engine, kind);
    any = any || kind->n_left;
  }
  return any;
}

int64_t hr__node_demand_oldest_us(struct hr__engine *engine, bool with_gpus) {
  struct hr__autoscaler *self = engine->autoscaler;
  for (uint32_t i = 0; i < self->n_kinds; i++) self->kinds[i].n_seen = 0;
  for (uint32_t at = self->first; at; at = self->waiting[at - 1].after) {
    struct hr__pod_kind *kind = &self->kinds[self->waiting[at - 1].kind];
    if (self->waiting[at - 1].is_held || kind->n_left == 0 || (with_gpus && kind->gpus == 0)) continue;
    /* of the jobs of a kind, the oldest ones were placed */
    if (kind->n_seen++ >= kind->n_jobs - kind->n_left) return self->waiting[at - 1].since_us;
  }
  return HR_NEVER_US;
}

/* ---- Autoscaler ------------------------------------------------------------------------------------- */

static hr_pool pool_of(const struct hr__engine *engine, uint32_t node) {
  return hr__cluster_pool_of(&engine->cluster, (hr_node){node});
}

static void note(struct hr__engine *engine, enum hr__change_kind kind, uint32_t entity) {
  engine->autoscaler->rules->note(engine, kind, entity);
}

static enum hr_status advance(struct hr__engine *engine, struct hr__pending pending) {
  return engine->autoscaler->rules->advance(engine, hr__pending_entity(pending));
}

/* ---- Autoscaler: jobs and nodes --------------------------------------------------------------------- */

static void submit(struct hr__engine *engine, hr_job job) {
  engine->autoscaler->waiting[job.id] = (struct hr__waiting_job){0};
  node_demand_add(engine, job);
  note(engine, HR__CHANGE_JOB_WAITS, job.id);
}

static void forget(struct hr__engine *engine, hr_job job) {
  node_demand_remove(engine, job);
  note(engine, HR__CHANGE_JOB_LEAVES, job.id);
}

static void end_empty(struct hr__engine *engine, uint32_t node) {
  const int64_t passed_us = engine->view.now_us - engine->autoscaler->empty_since_us[node];
  engine->pool_accounting[pool_of(engine, node).id].empty_us += passed_us;
}

static enum hr_status start(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                            int64_t run_us) {
  struct hr__autoscaler *self = engine->autoscaler;
  (void)run_us;
  node_demand_remove(engine, job);
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    const uint32_t node = placement->slices[i].node.id;
    if (self->n_tasks[node]++ == 0 && self->pools[placement->pool.id].is_scaled) end_empty(engine, node);
    note(engine, HR__CHANGE_NODE_JOBS, node);
  }
  return HR_OK;
}

static enum hr_status stop(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                           enum hr__stop how) {
  struct hr__autoscaler *self = engine->autoscaler;
  if (how == HR__STOP_KEEP_ALL || how == HR__STOP_KEEP_SAVED) {
    node_demand_add(engine, job);
    note(engine, HR__CHANGE_JOB_WAITS, job.id);
  }
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    const uint32_t node = placement->slices[i].node.id;
    if (--self->n_tasks[node] == 0 && self->pools[placement->pool.id].is_scaled)
      self->empty_since_us[node] = engine->view.now_us;
    note(engine, HR__CHANGE_NODE_JOBS, node);
  }
  return HR_OK;
}

static enum hr_status node_up(struct hr__engine *engine, hr_pool pool, hr_node node) {
  struct hr__autoscaler *self = engine->autoscaler;
  if (!self->pools[pool.id].is_scaled) return HR_OK;
  engine->pool_accounting[pool.id].provisioned++;
  const struct hr__node *up = &engine->cluster.nodes[node.id];
  engine->pool_accounting[pool.id].provision_us += engine->view.now_us - up->since_us + up->queued_us;
  self->empty_since_us[node.id] = engine->view.now_us;
  note(engine, HR__CHANGE_NODE_UP, node.id);
  return HR_OK;
}

/* Handles a node that has gone down. If the node was never up since it was requested, no empty time is counted. */
static void node_down(struct hr__engine *engine, hr_pool pool, hr_node node) {
  struct hr__autoscaler *self = engine->autoscaler;
  if (!self->pools[pool.id].is_scaled) return;
  if (self->empty_since_us[node.id] >= 0) end_empty(engine, node.id);
  self->empty_since_us[node.id] = -1;
  note(engine, HR__CHANGE_NODE_DOWN, node.id);
}

/* ---- Autoscaler: requests for nodes ----------------------------------------------------------------- */

/* Returns the number of nodes of all pools that are not off. */
static int64_t count_nodes(const struct hr__engine *engine) {
  int64_t nodes = 0;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) nodes += hr__scaled_size(&engine->cluster.pools[i]);
  return nodes;
}

/* Returns the number of GPUs of a quota that are in use. */
static int64_t quota_use(const struct hr__engine *engine, const struct hr_scaling_quota *quota) {
  const struct hr__pool *pools = engine->cluster.pools;
  int64_t used = 0;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++)
    if (quota->of_pool[i]) used += hr__scaled_size(&pools[i]) * pools[i].spec->gpus_per_node;
  return used;
}

int64_t hr__nodes_allowed(const struct hr__engine *engine, uint32_t pool) {
  const struct hr__autoscaler *self = engine->autoscaler;
  const struct hr__pool *pools = engine->cluster.pools;
  int64_t allowed = hr__ca_room(pools[pool].spec->nodes, hr__scaled_size(&pools[pool]));
  const int64_t of_all = self->spec->max_nodes ? hr__ca_room(self->spec->max_nodes, count_nodes(engine)) : allowed;
  if (of_all < allowed) allowed = of_all;
  for (uint32_t k = 0; k < self->spec->n_quotas; k++) {
    const struct hr_scaling_quota *quota = &self->spec->quotas[k];
    if (!quota->of_pool[pool] || pools[pool].spec->gpus_per_node == 0) continue;
    const int64_t room = hr__ca_room(quota->max_gpus, quota_use(engine, quota)) / pools[pool].spec->gpus_per_node;
    if (room < allowed) allowed = room;
  }
  return allowed;
}

/* Draws at random whether the next request for a node of a pool fails. Returns true if the provider has no capacity. */
static bool draw_failure(struct hr__engine *engine, uint32_t pool) {
  struct hr__autoscaler *self = engine->autoscaler;
  const uint32_t number = self->pools[pool].n_requests++;
  if (!self->spec->failure_share || !(self->spec->failure_share[pool] > 0)) return false;
  struct hr__stream stream;
  hr__stream_init(&stream, engine->config->seed, HR__PURPOSE_BOOT, pool, 1);
  hr__stream_skip_to_life(&stream, number);
  const double draw = hr__stream_uniform(&stream);
  return draw < self->spec->failure_share[pool];
}

enum hr_status hr__node_request(struct hr__engine *engine, uint32_t pool, hr_node *node) {
  *node = (hr_node){HR_NONE};
  if (engine->cluster.pools[pool].n_offered == 0 || draw_failure(engine, pool)) return HR_OK;
  *node = hr__market_request(engine, (hr_pool){pool});
  engine->autoscaler->empty_since_us[node->id] = -1;
  return hr__market_launch(engine, *node);
}

enum hr_status hr__autoscaler_after_pass(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  self->has_acted = false;
  const enum hr_status status = self->lacks_memory ? HR_OK : self->rules->after_pass(engine);
  if (status != HR_OK || self->lacks_memory) return status != HR_OK ? status : hr__out_of_memory(engine);
  /* another pass follows, so that observers and the policy are notified of the changes */
  return self->has_acted ? hr__schedule(engine, engine->view.now_us, HR__PENDING_TIMER, 0) : HR_OK;
}

bool hr_cluster_is_autoscaled(const struct hr_cluster *cluster) {
  return cluster->spec->autoscaler != NULL;
}

bool hr__autoscaler_may_grow(const struct hr__engine *engine, hr_job job) {
  const struct hr__autoscaler *self = engine->autoscaler;
  const uint32_t accept_class = hr_cluster_accept_class(&engine->cluster, job);
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct hr__pool *pool = &engine->cluster.pools[i];
    if (self->pools[i].is_scaled && hr_cluster_accepts(&engine->cluster, accept_class, (hr_pool){i}) &&
        pool->n_in[HR_NODE_OFF] > 0 && hr__nodes_allowed(engine, i) > 0)
      return true;
  }
  return false;
}

/* ---- Autoscaler: start and end of a run ------------------------------------------------------------- */

static bool allocate(struct hr__engine *engine, struct hr__autoscaler *self) {
  const uint32_t n_pools = engine->cluster.n_pools, n_nodes = engine->cluster.n_nodes;
  self->waiting = hr_arena_alloc_by_job(&engine->arena, engine->trace->n_jobs, sizeof *self->waiting);
  return self->waiting && HR__ARENA_ARRAY(&engine->arena, self->pools, n_pools) &&
         HR__ARENA_ARRAY(&engine->arena, self->room, n_nodes) &&
         HR__ARENA_ARRAY(&engine->arena, self->n_tasks, n_nodes) &&
         HR__ARENA_ARRAY(&engine->arena, self->empty_since_us, n_nodes);
}

static enum hr_status init(struct hr__engine *engine) {
  const struct hr_autoscaler_spec *spec = engine->config->cluster->autoscaler;
  if (!spec || !engine->cluster.nodes) return HR_OK;
  struct hr__autoscaler *self = hr_arena_alloc(&engine->arena, sizeof *self);
  if (!self || !allocate(engine, self)) return hr__out_of_memory(engine);
  self->spec = spec;
  self->rules = spec->kind == HR_NODE_AUTOSCALER_KARPENTER ? &hr__karpenter_rules : &hr__cluster_autoscaler_rules;
  self->first_kind = HR_NONE;
  engine->autoscaler = self;
  for (uint32_t i = 0; i < engine->cluster.n_nodes; i++) self->empty_since_us[i] = -1;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct hr_pool_spec *pool = engine->cluster.pools[i].spec;
    self->pools[i].is_scaled = pool->nodes > 0 && hr_market_is_elastic(pool->market.market);
    self->pools[i].node = node_capacity(engine, i);
  }
  return self->rules->create(engine) ? HR_OK : hr__out_of_memory(engine);
}

static enum hr_status begin(struct hr__engine *engine) {
  if (engine->abilities & HR_POLICY_MANAGES_CAPACITY)
    return hr_fail(
        engine->error, HR_BAD_INPUT,
        "the policy '%s' requests and releases nodes itself, as does 'autoscaler' of the cluster; keep one of "
        "them",
        engine->config->policy->name);
  return engine->autoscaler->rules->begin ? engine->autoscaler->rules->begin(engine) : HR_OK;
}

static void settle(struct hr__engine *engine) {
  const struct hr__autoscaler *self = engine->autoscaler;
  for (uint32_t i = 0; i < engine->cluster.n_nodes; i++) {
    const enum hr_node_state state = (enum hr_node_state)engine->cluster.nodes[i].state;
    if (self->n_tasks[i] == 0 && self->empty_since_us[i] >= 0 && state != HR_NODE_OFF && state != HR_NODE_BOOTING &&
        self->pools[pool_of(engine, i).id].is_scaled)
      end_empty(engine, i);
  }
}

static void close(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  if (!self) return;
  if (self->rules->close) self->rules->close(engine);
  free(self->kinds);
  free(self->pods);
  free(self->pods_of);
  free(self->states);
  free(self->order);
  free(self->log);
  free(self->changes);
}

/* ---- Autoscaler: checked mode ----------------------------------------------------------------------- */

static enum hr_status check(const struct hr__engine *engine, const struct hr__running *running) {
  const struct hr__autoscaler *self = engine->autoscaler;
  uint32_t n_waiting = 0;
  for (uint32_t at = self->first; at && running->every_job && !engine->whole;
       at = self->waiting[at - 1].after, n_waiting++)
    if (engine->state[at - 1] != HR_JOB_WAITING)
      return hr__broken(engine, "the autoscaler counts job %" PRIu32 " as waiting", at - 1);
  if (running->every_job && !engine->whole && n_waiting != engine->view.n_waiting)
    return hr__broken(engine, "the autoscaler counts %" PRIu32 " waiting jobs", n_waiting);
  const int64_t nodes = count_nodes(engine);
  int64_t n_scaled = 0;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct hr__pool *pool = &engine->cluster.pools[i];
    const struct hr_pool_accounting *account = &engine->pool_accounting[i];
    if (!self->pools[i].is_scaled) continue;
    n_scaled += hr__scaled_size(pool);
    if (account->provisioned + pool->n_in[HR_NODE_BOOTING] > account->launches)
      return hr__broken(engine, "pool '%s': more nodes have booted than were requested", pool->spec->name);
  }
  if (self->spec->max_nodes && n_scaled > 0 && nodes > self->spec->max_nodes)
    return hr__broken(engine, "%" PRId64 " nodes are there, more than the autoscaler may have", nodes);
  for (uint32_t k = 0; k < self->spec->n_quotas; k++) {
    const int64_t used = quota_use(engine, &self->spec->quotas[k]);
    if (used > self->spec->quotas[k].max_gpus)
      return hr__broken(engine, "%" PRId64 " GPUs are there, more than the quota of %" PRIu32, used,
                        self->spec->quotas[k].max_gpus);
  }
  return HR_OK;
}

const struct hr__component hr__component_autoscaler = {
    .disturbs_jobs = true,
    .is_endless = true,
    .init = init,
    .part = offsetof(struct hr__engine, autoscaler),
    .begin = begin,
    .submit = submit,
    .start = start,
    .stop = stop,
    .forget = forget,
    .leave = forget,
    .node_up = node_up,
    .node_down = node_down,
    .kinds = 1u << HR__PENDING_SCAN,
    .advance = advance,
    .settle = settle,
    .close = close,
    .check = check,
};
