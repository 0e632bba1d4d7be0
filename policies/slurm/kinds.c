/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Kinds of jobs, the nodes on which they may start, and the nodes of running jobs; see engine.h.
 *
 * A job gets whole GPUs on nodes of one pool: as many nodes as it has tasks, with the same number of GPUs on each; a
 * job with one task gets as few nodes as possible. Invariant: while `sets_are_old` is not set, the sets of pools and of
 * kinds have exactly the nodes that are up.
 */

#include "policies/slurm/engine.h"

#include <string.h>

/* ---- Creation --------------------------------------------------------------------------------------- */

static uint32_t first_node(const struct hr__slurm_run *run, uint32_t pool) {
  return hr_cluster_first_node(run->cluster, (hr_pool){pool}).id;
}

static const struct hr_pool_spec *pool_spec(const struct hr__slurm_run *run, uint32_t pool) {
  return hr_cluster_pool_spec(run->cluster, (hr_pool){pool});
}

/* Sets what the empty nodes have. A pool that declares no CPUs or no memory has as much as jobs request. */
static bool limit_nodes(struct hr__slurm_run *run) {
  const int64_t unlimited = INT64_MAX / 4;
  const struct hr_gpu_inventory *inventory = hr_cluster_gpu_inventory(run->cluster);
  if (!hr__slurm_nodes_limit(&run->nodes, run->arena, run->trace->n_jobs)) return false;
  for (uint32_t n = 0; n < run->nodes.n_nodes; n++) {
    uint32_t cpu_milli = inventory->cpu_milli[n];
    uint64_t mem_mib = inventory->mem_mib[n];
    run->nodes.cpu_milli[n] = cpu_milli == HR_NONE ? unlimited : (int64_t)cpu_milli;
    run->nodes.mem_mib[n] = mem_mib == UINT64_MAX ? unlimited : (int64_t)mem_mib;
  }
  return true;
}

/* The share of a GPU that a task takes in a pool: as requested, or an equal part if GPUs of the pool have such; 0: a
   whole GPU. */
static uint32_t share_in(const struct hr_pool_spec *spec, const struct hr_request *request) {
  uint32_t slot_milli = hr_pool_slot_milli(spec), milli = slot_milli ? slot_milli : request->gpu_milli;
  return request->gpus == 0 || milli == HR_WHOLE_GPU_MILLI ? 0 : milli;
}

/* Returns whether a job may take only a share of a GPU. */
static bool shares_gpus(const struct hr__slurm_run *run) {
  for (uint32_t r = 0; run->requests && r < run->requests->count; r++)
    for (uint32_t p = 0; p < run->n_pools; p++)
      if (share_in(pool_spec(run, p), &run->requests->request[r])) return true;
  return false;
}

bool hr__slurm_create_nodes(struct hr__slurm_run *run) {
  uint32_t n_nodes = 0;
  run->n_pools = hr_cluster_pools(run->cluster);
  for (uint32_t p = 0; p < run->n_pools; p++) n_nodes += pool_spec(run, p)->nodes;
  uint32_t *gpus = hr_arena_alloc(run->arena, (n_nodes + 1) * sizeof *gpus), n_words = (n_nodes + 63) / 64;
  if (!gpus) return false;
  for (uint32_t p = 0; p < run->n_pools; p++)
    for (uint32_t n = 0; n < pool_spec(run, p)->nodes; n++)
      gpus[first_node(run, p) + n] = pool_spec(run, p)->gpus_per_node;
  for (uint32_t n = 0; n < n_nodes; n++) run->n_gpus += gpus[n];
  if (!hr__slurm_nodes_create(&run->nodes, run->arena, gpus, n_nodes, run->trace->origin_us)) return false;
  size_t set_bytes = (n_words + 1) * sizeof(uint64_t);
  run->pool_nodes = hr_arena_alloc(run->arena, run->n_pools * set_bytes);
  run->set = hr_arena_alloc(run->arena, set_bytes);
  run->best = hr_arena_alloc(run->arena, set_bytes);
  run->line.set = hr_arena_alloc(run->arena, set_bytes);
  run->open_nodes = hr_arena_alloc(run->arena, set_bytes);
  run->closed_nodes = hr_arena_alloc(run->arena, set_bytes);
  run->requests = hr_cluster_requests(run->cluster);
  if (run->requests && !limit_nodes(run)) return false;
  if (shares_gpus(run) && !hr__slurm_nodes_share(&run->nodes, run->arena)) return false;
  run->line.n_nodes = n_nodes;
  run->line.n_words = n_words;
  run->slices = hr_arena_alloc(run->arena, (n_nodes + 1) * sizeof *run->slices);
  run->spare = hr_arena_alloc(run->arena, (n_nodes + 1) * sizeof(*run->spare));
  run->priorities = hr_arena_alloc_by_job(run->arena, run->trace->n_jobs, sizeof *run->priorities);
  run->jobs = hr_arena_alloc_by_job(run->arena, run->trace->n_jobs, sizeof *run->jobs);
  run->weighed = hr_arena_alloc_by_job(run->arena, run->trace->n_jobs, sizeof *run->weighed);
  run->waiting.arena = run->arena;
  run->sets_are_old = true;
  return run->pool_nodes && run->set && run->best && run->line.set && run->open_nodes && run->closed_nodes &&
         run->slices && run->spare && run->jobs && run->weighed && run->priorities;
}

/* ---- Kinds ------------------------------------------------------------------------------------------ */

/* The number of nodes of a job and its GPUs per node, in a pool. */
static struct hr__slurm_shape shape_of(const struct hr__slurm_run *run, const struct hr__slurm_kind *kind,
                                       const struct hr_pool_spec *spec) {
  uint32_t gpus = kind->gpus, tasks = kind->tasks, per_node = spec->gpus_per_node;
  if (kind->request != HR_NONE) {
    const struct hr_request *request = &run->requests->request[kind->request];
    bool fits = request->gpus <= per_node && hr_request_needs_node(request);
    return (struct hr__slurm_shape){fits ? request->tasks : 0,        request->gpus,    request->gpus,
                                    hr_pool_cpu_milli(spec, request), request->mem_mib, share_in(spec, request)};
  }
  if (tasks > 1 && gpus / tasks <= per_node)
    return (struct hr__slurm_shape){.nodes = tasks, .gpus_per_node = gpus / tasks, .last_gpus = gpus / tasks};
  if (gpus <= per_node) return (struct hr__slurm_shape){.nodes = 1, .gpus_per_node = gpus, .last_gpus = gpus};
  if (per_node == 0) return (struct hr__slurm_shape){0};
  uint32_t nodes = (gpus + per_node - 1) / per_node;
  return (struct hr__slurm_shape){
      .nodes = nodes, .gpus_per_node = per_node, .last_gpus = gpus - (nodes - 1) * per_node};
}

static void set_shapes(const struct hr__slurm_run *run, struct hr__slurm_kind *kind) {
  kind->min_nodes = UINT32_MAX;
  for (uint32_t p = 0; p < run->n_pools; p++) {
    uint32_t per_node = pool_spec(run, p)->gpus_per_node;
    if ((per_node == 0 && kind->request == HR_NONE) ||
        !hr_cluster_accepts(run->cluster, kind->accept_class, (hr_pool){p}))
      continue;
    kind->shapes[p] = shape_of(run, kind, pool_spec(run, p));
    if (kind->shapes[p].nodes && kind->shapes[p].nodes < kind->min_nodes) kind->min_nodes = kind->shapes[p].nodes;
  }
}

static uint64_t *nodes_of_pool(const struct hr__slurm_run *run, uint32_t pool) {
  return run->pool_nodes + (size_t)pool * run->nodes.n_words;
}

static void set_usable(const struct hr__slurm_run *run, const struct hr__slurm_kind *kind) {
  memset(kind->usable, 0, run->nodes.n_words * sizeof *kind->usable);
  for (uint32_t p = 0; p < run->n_pools; p++)
    for (uint32_t w = 0; kind->shapes[p].nodes && w < run->nodes.n_words; w++)
      kind->usable[w] |= nodes_of_pool(run, p)[w] & run->parts[kind->partition].nodes[w];
}

static uint32_t add_kind(struct hr__slurm_run *run, struct hr__slurm_kind kind, uint32_t hash) {
  if (run->n_kinds == run->kind_capacity) {
    struct hr__slurm_kind *kinds = hr_arena_grown(run->arena, run->kinds, &run->kind_capacity, sizeof *run->kinds);
    if (!kinds) return HR_NONE;
    run->kinds = kinds;
    run->alive = hr_arena_alloc(run->arena, run->kind_capacity * sizeof *run->alive);
    if (!run->alive) return HR_NONE;
  }
  kind.shapes = hr_arena_alloc(run->arena, (run->n_pools + 1) * sizeof *kind.shapes);
  kind.usable = hr_arena_alloc(run->arena, (run->nodes.n_words + 1) * sizeof *kind.usable);
  if (!kind.shapes || !kind.usable || !hr__hash_add(&run->kind_numbers, run->arena, hash, run->n_kinds)) return HR_NONE;
  set_shapes(run, &kind);
  set_usable(run, &kind);
  run->kinds[run->n_kinds] = kind;
  return run->n_kinds++;
}

uint32_t hr__slurm_kind_of(struct hr__slurm_run *run, uint32_t job, uint32_t partition) {
  const struct hr__slurm_kind kind = {.gpus = run->trace->gpus[job],
                                      .tasks = run->trace->tasks ? run->trace->tasks[job] : 1,
                                      .accept_class = hr_cluster_accept_class(run->cluster, (hr_job){job}),
                                      .partition = partition,
                                      .request = run->requests ? run->requests->of_job[job] : HR_NONE,
                                      .denied = hr__slurm_denied(run, job),
                                      .first_rest = HR_NONE};
  uint64_t digest = hr__digest_add(HR__DIGEST_SEED, (uint64_t)kind.gpus << 32 | kind.tasks);
  digest = hr__digest_add(digest, (uint64_t)kind.accept_class << 32 | kind.partition);
  digest = hr__digest_add(digest, kind.request);
  uint32_t hash = hr__hash_u64(hr__digest_add(digest, kind.denied));
  struct hr__hash_cursor at;
  for (uint32_t i = hr__hash_first(&run->kind_numbers, hash, &at); i != HR_NONE;
       i = hr__hash_next(&run->kind_numbers, &at)) {
    const struct hr__slurm_kind *other = &run->kinds[i];
    if (other->gpus == kind.gpus && other->tasks == kind.tasks && other->accept_class == kind.accept_class &&
        other->partition == kind.partition && other->denied == kind.denied && other->request == kind.request)
      return i;
  }
  return add_kind(run, kind, hash);
}

void hr__slurm_update_sets(struct hr__slurm_run *run) {
  if (!run->sets_are_old) return;
  run->sets_are_old = false;
  for (uint32_t p = 0; p < run->n_pools; p++) {
    uint64_t *set = nodes_of_pool(run, p);
    memset(set, 0, run->nodes.n_words * sizeof *set);
    uint32_t first = first_node(run, p);
    for (uint32_t n = first; n < first + pool_spec(run, p)->nodes; n++)
      if (hr_cluster_node_state(run->cluster, (hr_node){n}) == HR_NODE_UP) set[n / 64] |= UINT64_C(1) << n % 64;
  }
  for (uint32_t k = 0; k < run->n_kinds; k++) set_usable(run, &run->kinds[k]);
}

/* ---- Where jobs fit --------------------------------------------------------------------------------- */

/* Writes the nodes of a pool that are in `from` to the scratch set. */
static void restrict_to_pool(const struct hr__slurm_run *run, uint32_t pool, const uint64_t *from) {
  const uint64_t *nodes = nodes_of_pool(run, pool);
  for (uint32_t w = 0; w < run->nodes.n_words; w++) run->set[w] = from[w] & nodes[w];
}

bool hr__slurm_find_now(struct hr__slurm_run *run, const struct hr__slurm_kind *kind, const uint64_t *set) {
  for (uint32_t p = 0; p < run->n_pools; p++) {
    if (!kind->shapes[p].nodes) continue;
    restrict_to_pool(run, p, set);
    run->found = kind->shapes[p];
    if (hr__slurm_select_now(&run->nodes, &run->found, run->set)) return true;
  }
  return false;
}

bool hr__slurm_kind_fits(struct hr__slurm_run *run, const struct hr__slurm_kind *kind, const uint64_t *set) {
  for (uint32_t p = 0; p < run->n_pools; p++) {
    if (!kind->shapes[p].nodes) continue;
    restrict_to_pool(run, p, set);
    if (hr__slurm_fits_now(&run->nodes, &kind->shapes[p], run->set)) return true;
  }
  return false;
}

bool hr__slurm_find_start(struct hr__slurm_run *run, const struct hr__slurm_kind *kind, int64_t now_us, uint64_t *set,
                          int64_t *start_us) {
  *start_us = HR_NEVER_US;
  for (uint32_t p = 0; p<run->n_pools && * start_us> now_us; p++) {
    int64_t at_us;
    if (!kind->shapes[p].nodes) continue;
    restrict_to_pool(run, p, set);
    if (!hr__slurm_select(&run->nodes, &kind->shapes[p], now_us, run->set, &at_us) || at_us >= *start_us) continue;
    *start_us = at_us;
    run->found = kind->shapes[p];
    memcpy(run->best, run->set, run->nodes.n_words * sizeof *set);
  }
  if (*start_us == HR_NEVER_US) return false;
  memcpy(set, run->best, run->nodes.n_words * sizeof *set);
  return true;
}

int64_t hr__slurm_earliest_of(struct hr__slurm_run *run, const struct hr__slurm_kind *kind, const uint64_t *set) {
  int64_t earliest_us = HR_NEVER_US;
  for (uint32_t p = 0; p < run->n_pools; p++) {
    if (!kind->shapes[p].nodes) continue;
    restrict_to_pool(run, p, set);
    int64_t at_us = hr__slurm_earliest(&run->nodes, &kind->shapes[p], run->set);
    if (at_us < earliest_us) earliest_us = at_us;
  }
  return earliest_us;
}

/* ---- Nodes of running jobs -------------------------------------------------------------------------- */

/* Memory for the nodes of a job that starts. The first bytes of spare memory link to the next spare. */
static uint32_t *take_memory(struct hr__slurm_run *run, uint32_t n_nodes) {
  uint32_t *memory = run->spare[n_nodes];
  if (memory) {
    memcpy(&run->spare[n_nodes], memory, sizeof(uint32_t *)); // NOLINT(bugprone-sizeof-expression)
    return memory;
  }
  size_t bytes = hr__slurm_words(&run->nodes, n_nodes) * sizeof *memory;
  return hr_arena_alloc(run->arena, bytes < sizeof memory ? sizeof memory : bytes);
}

void hr__slurm_leave(struct hr__slurm_run *run, uint32_t job, int64_t now_us) {
  uint32_t n_nodes, *memory = hr__slurm_nodes_remove(&run->nodes, job, &n_nodes);
  if (!memory) return;
  hr__slurm_end_usage(run, job, now_us);
  hr__slurm_count(run, job, -1, true);                      // its counters exist
  memcpy(memory, &run->spare[n_nodes], sizeof(uint32_t *)); // NOLINT(bugprone-sizeof-expression)
  run->spare[n_nodes] = memory;
}

hr_pool hr__slurm_pool_of(const struct hr__slurm_run *run, uint32_t node) {
  uint32_t pool = run->n_pools - 1;
  while (pool > 0 && first_node(run, pool) > node) pool--;
  return (hr_pool){pool};
}

struct hr_slice hr__slurm_slice(const struct hr__slurm_run *run, uint32_t job, uint32_t node, uint64_t set) {
  const struct hr_gpu_inventory *inventory = hr_cluster_gpu_inventory(run->cluster);
  const struct hr_request *request = &run->requests->request[run->requests->of_job[job]];
  if (!run->nodes.gpu_milli) set = hr_gpu_inventory_pick(inventory, request, (hr_node){node});
  return hr_gpu_inventory_slice(inventory, request, (hr_node){node}, set);
}

bool hr__slurm_start(struct hr__slurm_run *run, uint32_t job, enum hr_reason reason) {
  const struct hr__slurm_shape shape = run->found;
  for (uint32_t i = 0; i < shape.nodes; i++) {
    uint32_t gpus = i + 1 == shape.nodes ? shape.last_gpus : shape.gpus_per_node;
    const hr_node node = {run->nodes.chosen[i]};
    run->slices[i] = (struct hr_slice){.node = node, .gpu_milli = gpus * 1000};
    if (!run->requests) continue;
    if (run->nodes.gpu_milli) run->nodes.chosen_gpus[i] = hr__slurm_gpus_on(&run->nodes, &shape, node.id, gpus);
    run->slices[i] = hr__slurm_slice(run, job, node.id, run->nodes.gpu_milli ? run->nodes.chosen_gpus[i] : 0);
  }
  const struct hr_placement placement = {hr__slurm_pool_of(run, run->nodes.chosen[0]), shape.nodes, run->slices};
  uint32_t *memory = take_memory(run, shape.nodes);
  run->status = memory ? hr_moves_start(run->moves, (hr_job){job}, &placement, reason) : HR_NO_MEMORY;
  if (run->status != HR_OK) return false;
  int64_t end_us = run->view->now_us + run->jobs[job].limit_us;
  struct hr__slurm_running *running = hr__slurm_nodes_add(&run->nodes, job, &shape, end_us, memory);
  hr__slurm_set_over_time(run, running);
  run->jobs[job].start_us = run->view->now_us;
  hr__slurm_begin_usage(run, job, run->view->now_us);
  if (!hr__slurm_count(run, job, 1, true)) run->status = HR_NO_MEMORY;
  return true;
}
