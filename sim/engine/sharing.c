/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs that share a GPU: their GPU memory and their speeds.
 *
 * Memory: some pools do not reserve the GPU memory that jobs request. In such a pool, a job claims the memory of its
 * tasks when its attempt begins, and releases this memory when it leaves its placement. If some GPU has too little free
 * memory, all tasks of the job are killed. The job remains at its placement but claims no memory, like a container that
 * its node restarts. It tries again after a back-off time, which doubles with each consecutive kill. Claims are not
 * part of the GPU inventory. The inventory also changes while a policy makes and undoes moves, but claims change only
 * when attempts begin and end.
 *
 * Speed: in pools with time-slicing or with a table of speeds, jobs on the same GPU slow each other down, except jobs
 * that back off after a kill. If a job has different speeds on its GPUs, it runs at the lowest of these speeds. When a
 * task is placed on a GPU or leaves it, the speeds of the jobs on this GPU change. No completed work is lost by such a
 * change.
 */

#include "sim/engine/engine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Returns the speed factor of a job with GPUs that are connected by links of the kind `links`, in ppm. */
static inline uint32_t hr__network_ppm(const struct hr__network_speeds *network, const struct hr_trace *trace,
                                       hr_job job, enum hr_network links) {
  if (!network->table || links == HR_NETWORK_NONE || trace->gpus[job.id] < 2) return HR__FULL_SPEED_PPM;
  uint32_t model = trace->model ? trace->model[job.id] : HR_NONE;
  size_t row = model == HR_NONE ? trace->models.count : model;
  return hr_network_span_ppm(network->table, network->spans[row * HR_N_NETWORKS + links], trace->gpus[job.id]);
}

/* Returns whether jobs in the pool claim GPU memory. */
static bool has_claims(const struct hr__engine *engine, hr_pool pool) {
  return engine->claims.of_gpu && hr_pool_kills(engine->cluster.pools[pool.id].spec);
}

static struct hr__claim *claim_at(const struct hr__engine *engine, hr_node node, uint32_t gpu) {
  return &engine->claims.of_gpu[(size_t)node.id * engine->cluster.inventory->max_gpus + gpu];
}

static const struct hr__claim *claim_on(const struct hr__engine *engine, hr_pool pool, hr_node node, uint32_t gpu) {
  return has_claims(engine, pool) ? claim_at(engine, node, gpu) : NULL;
}

/* ---- Claims ---- */

static uint32_t asked_mib(const struct hr__engine *engine, hr_job job) {
  return hr__cluster_request(&engine->cluster, job)->gpu_mem_mib;
}

static bool fits(const struct hr__engine *engine, struct hr_slice slice, uint32_t mib) {
  for (uint64_t rest = slice.gpus; rest; rest &= rest - 1)
    if (claim_at(engine, slice.node, (uint32_t)__builtin_ctzll(rest))->left_mib < mib) return false;
  return true;
}

/* Claims the memory of one task (`sign` 1), or releases it (-1). `claims`: the claims of the engine, or a copy of these
   claims. */
static void change_claims(const struct hr__engine *engine, struct hr__claim *claims, struct hr_slice slice,
                          uint32_t mib, int sign) {
  for (uint64_t rest = slice.gpus; rest; rest &= rest - 1) {
    struct hr__claim *claim =
        &claims[(size_t)slice.node.id * engine->cluster.inventory->max_gpus + (uint32_t)__builtin_ctzll(rest)];
    claim->left_mib += sign > 0 ? -mib : mib;
    claim->tasks = (uint16_t)(claim->tasks + sign);
    claim->milli =
        (uint16_t)(claim->milli + sign * (int)(slice.gpu_milli / (uint32_t)__builtin_popcountll(slice.gpus)));
  }
}

/* The memory is claimed for one task after the other, because several tasks of the job may share a GPU. */
bool hr__claims_take_memory(struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  if (!has_claims(engine, placement->pool)) return true;
  uint32_t mib = asked_mib(engine, job);
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    if (fits(engine, placement->slices[i], mib)) {
      change_claims(engine, engine->claims.of_gpu, placement->slices[i], mib, 1);
      continue;
    }
    while (i-- > 0) change_claims(engine, engine->claims.of_gpu, placement->slices[i], mib, -1);
    return false;
  }
  return true;
}

/* Releases the claims of a job, if it has any. */
static void release_claims(const struct hr__engine *engine, struct hr__claim *claims, hr_job job,
                           const struct hr_placement *placement) {
  if (!has_claims(engine, placement->pool) || hr__attempt(engine, job)->phase == HR__PHASE_BACKING_OFF) return;
  uint32_t mib = asked_mib(engine, job);
  for (uint32_t i = 0; i < placement->n_slices; i++) change_claims(engine, claims, placement->slices[i], mib, -1);
}

/* ---- Pairs of models with known speeds ---- */

static uint32_t number_of(const struct hr_names *names, const char *text) {
  for (uint32_t i = 0; i < names->count; i++)
    if (strcmp(names->text[i], text) == 0) return i;
  return HR_NONE;
}

static int by_models(const void *a, const void *b) {
  uint64_t x = ((const struct hr__pair_speed *)a)->models, y = ((const struct hr__pair_speed *)b)->models;
  return (x > y) - (x < y);
}

/* Creates the pair table of a pool. Pairs with a model that is not in the trace are omitted. */
static enum hr_status bind_pairs(struct hr__engine *engine, const struct hr_pool_spec *spec,
                                 struct hr__pair_table *table) {
  if (!HR__ARENA_ARRAY(&engine->arena, table->of, spec->n_pairs)) return hr__out_of_memory(engine);
  for (uint32_t i = 0; i < spec->n_pairs; i++) {
    uint32_t model = number_of(&engine->trace->models, spec->pairs[i].model);
    uint32_t with = number_of(&engine->trace->models, spec->pairs[i].with);
    if (model == HR_NONE || with == HR_NONE) continue;
    table->of[table->count++] = (struct hr__pair_speed){(uint64_t)model << 32 | with, spec->pairs[i].speed_ppm};
  }
  qsort(table->of, table->count, sizeof *table->of, by_models);
  return HR_OK;
}

static enum hr_status bind_all_pairs(struct hr__engine *engine) {
  const struct hr_cluster *cluster = &engine->cluster;
  if (!HR__ARENA_ARRAY(&engine->arena, engine->pairs, cluster->n_pools)) return hr__out_of_memory(engine);
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < cluster->n_pools && status == HR_OK; i++)
    status = bind_pairs(engine, cluster->pools[i].spec, &engine->pairs[i]);
  return status;
}

/* Returns the speed of `job` while it shares a GPU with `other`, in ppm of its speed on an unshared GPU. Returns 0 if
   this speed is unknown. */
static uint32_t pair_ppm(const struct hr__engine *engine, hr_pool pool, hr_job job, hr_job other) {
  const struct hr__pair_table *table = &engine->pairs[pool.id];
  const uint32_t *model = engine->trace->model;
  if (table->count == 0 || !model || model[job.id] == HR_NONE || model[other.id] == HR_NONE) return 0;
  struct hr__pair_speed wanted = {.models = (uint64_t)model[job.id] << 32 | model[other.id]};
  const struct hr__pair_speed *found = bsearch(&wanted, table->of, table->count, sizeof wanted, by_models);
  return found ? found->speed_ppm : 0;
}

/* ---- Speeds ---- */

/* Returns whether jobs on the same GPU of the pool can slow each other down. */
static bool pool_interferes(const struct hr_pool_spec *spec) {
  if (spec->nodes == 0) return false;
  if (spec->sharing == HR_SHARING_TIME_SLICE) return true;
  return spec->sharing != HR_SHARING_WHOLE && (spec->n_interference > 0 || spec->n_pairs > 0);
}

/* Returns whether a placement includes at least one of the GPUs in the set `gpus` of the node. A set has one bit per
   GPU. */
static bool has_gpu(const struct hr_placement *placement, hr_node node, uint64_t gpus) {
  for (uint32_t i = 0; i < placement->n_slices; i++)
    if (placement->slices[i].node.id == node.id && placement->slices[i].gpus & gpus) return true;
  return false;
}

uint32_t hr__speed_at_ppm(const struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  uint32_t speed_ppm = hr__speed_ppm(&engine->speeds, job, placement->pool);
  if (!engine->network.table) return speed_ppm;
  uint32_t network_ppm =
      hr__network_ppm(&engine->network, engine->trace, job, hr_cluster_links(&engine->cluster, placement));
  uint32_t both_ppm = (uint32_t)((uint64_t)speed_ppm * network_ppm / HR__FULL_SPEED_PPM);
  return both_ppm > 0 ? both_ppm : 1;
}

/* Returns the speed factor of a task on a GPU in ppm. `tasks`: the number of tasks on the GPU. `milli`: the milli-GPUs
   that all these tasks use; the pool's table of speeds has a factor for this sum. With time-slicing, each task also
   gets only an equal share of the time. */
static uint32_t speed_together_ppm(const struct hr_pool_spec *spec, uint32_t milli, uint32_t tasks) {
  uint32_t turn_ppm = spec->sharing == HR_SHARING_TIME_SLICE ? HR__FULL_SPEED_PPM / tasks : HR__FULL_SPEED_PPM;
  uint32_t step = 0;
  if (spec->n_interference == 0) return turn_ppm;
  while (step + 1 < spec->n_interference && spec->interference[step].up_to_milli < milli) step++;
  return (uint32_t)((uint64_t)turn_ppm * spec->interference[step].speed_ppm / HR__FULL_SPEED_PPM);
}

/* Returns the other job on a GPU with two tasks. Returns HR_NONE if both tasks belong to `job`. */
static hr_job other_on(const struct hr__engine *engine, hr_job job, hr_node node, uint64_t gpu) {
  HR__EACH_RESIDENT(engine, node.id, link) {
    hr_job other = hr__resident(engine, link);
    struct hr_placement placement = HR__PLACEMENT_OF(engine, other);
    bool backs_off = hr__attempt(engine, other)->phase == HR__PHASE_BACKING_OFF;
    if (other.id != job.id && !backs_off && has_gpu(&placement, node, gpu)) return other;
  }
  return (hr_job){HR_NONE};
}

/* Returns the speed of a job on one of its GPUs relative to its speed on an unshared GPU, in ppm. */
static uint32_t speed_on_ppm(const struct hr__engine *engine, hr_job job, hr_pool pool, hr_node node, uint32_t gpu) {
  const struct hr_gpu_inventory *inventory = engine->cluster.inventory;
  size_t at = (size_t)node.id * inventory->max_gpus + gpu;
  /* killed tasks have no process on the GPU, so the claims do not include them */
  const struct hr__claim *claim = claim_on(engine, pool, node, gpu);
  uint32_t tasks = claim ? claim->tasks : inventory->gpu_tasks[at];
  if (tasks < 2) return HR__FULL_SPEED_PPM;
  if (tasks == 2 && engine->pairs[pool.id].count > 0) {
    hr_job other = other_on(engine, job, node, UINT64_C(1) << gpu);
    uint32_t ppm = other.id != HR_NONE ? pair_ppm(engine, pool, job, other) : 0;
    if (ppm > 0) return ppm;
  }
  const struct hr_pool_spec *spec = engine->cluster.pools[pool.id].spec;
  return speed_together_ppm(spec, claim ? claim->milli : HR_WHOLE_GPU_MILLI - inventory->gpu_milli[at], tasks);
}

/* Returns the lowest of the relative speeds of a job on the GPUs of a slice, in ppm. */
static uint32_t slowest_ppm(const struct hr__engine *engine, hr_job job, hr_pool pool, struct hr_slice slice) {
  uint32_t min_ppm = UINT32_MAX;
  for (uint64_t rest = slice.gpus; rest; rest &= rest - 1) {
    uint32_t ppm = speed_on_ppm(engine, job, pool, slice.node, (uint32_t)__builtin_ctzll(rest));
    if (ppm < min_ppm) min_ppm = ppm;
  }
  return min_ppm;
}

uint32_t hr__slowest_node_ppm(const struct hr__engine *engine, const struct hr_placement *placement) {
  uint32_t least_ppm = HR__FULL_SPEED_PPM;
  for (uint32_t i = 0; engine->node_speed_ppm && i < placement->n_slices; i++) {
    uint32_t ppm = engine->node_speed_ppm[placement->slices[i].node.id];
    if (ppm < least_ppm) least_ppm = ppm;
  }
  return least_ppm;
}

uint32_t hr__speed_now_ppm(const struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  uint32_t alone_ppm = hr__speed_at_ppm(engine, job, placement), share_ppm = UINT32_MAX;
  if (engine->node_speed_ppm) {
    alone_ppm = (uint32_t)((uint64_t)alone_ppm * hr__slowest_node_ppm(engine, placement) / HR__FULL_SPEED_PPM);
    if (alone_ppm == 0) alone_ppm = 1;
  }
  const struct hr_pool_spec *spec = engine->interferes ? engine->cluster.pools[placement->pool.id].spec : NULL;
  if (!spec || !pool_interferes(spec)) return alone_ppm;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    uint32_t ppm = slowest_ppm(engine, job, placement->pool, placement->slices[i]);
    if (ppm < share_ppm) share_ppm = ppm;
  }
  if (share_ppm == UINT32_MAX) return alone_ppm; /* the job has no GPU */
  uint32_t both_ppm = (uint32_t)((uint64_t)alone_ppm * share_ppm / HR__FULL_SPEED_PPM);
  return both_ppm > 0 ? both_ppm : 1;
}

enum hr_status hr__sharing_update_node(struct hr__engine *engine, hr_node node, uint64_t gpus) {
  enum hr_status status = HR_OK;
  HR__EACH_RESIDENT(engine, node.id, link) {
    hr_job job = hr__resident(engine, link);
    struct hr_placement placement = HR__PLACEMENT_OF(engine, job);
    if (gpus && !has_gpu(&placement, node, gpus)) continue;
    HR__CALL_ACTIVE(engine, status, set_speed, job, hr__speed_now_ppm(engine, job, &placement));
  }
  return status;
}

enum hr_status hr__sharing_update_nodes(struct hr__engine *engine, const struct hr_placement *placement) {
  enum hr_status status = HR_OK;
  if (!pool_interferes(engine->cluster.pools[placement->pool.id].spec)) return HR_OK;
  for (uint32_t i = 0; i < placement->n_slices && status == HR_OK; i++)
    if (placement->slices[i].gpus)
      status = hr__sharing_update_node(engine, placement->slices[i].node, placement->slices[i].gpus);
  return status;
}

/* ---- MIG reconfiguration: the time until instances are ready ---- */

static enum hr_status init_reconfiguration(struct hr__engine *engine) {
  const struct hr_cluster *cluster = &engine->cluster;
  int64_t longest_us = 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *spec = cluster->pools[i].spec;
    const struct hr_mig_spec *mig = spec->nodes > 0 ? spec->mig : NULL;
    if (mig && mig->lead_us > longest_us) longest_us = mig->lead_us;
  }
  if (longest_us == 0) return HR_OK;
  engine->longest_lead_us = longest_us;
  size_t n_gpus = (size_t)cluster->n_nodes * cluster->inventory->max_gpus;
  return HR__ARENA_ARRAY(&engine->arena, engine->split_us, n_gpus) ? HR_OK : hr__out_of_memory(engine);
}

/* Returns the time until the instance of a slice is ready. If a GPU with a layout is being reconfigured, the job waits
   for the end of this reconfiguration, even if the layout already has the instance of the job. */
static int64_t lead_us(struct hr__engine *engine, const struct hr_mig_spec *mig, const struct hr_slice *slice) {
  if (mig->mode == HR_MIG_ON_DEMAND) return mig->lead_us;
  size_t gpu = (size_t)slice->node.id * engine->cluster.inventory->max_gpus + (uint32_t)__builtin_ctzll(slice->gpus);
  int64_t now_us = engine->view.now_us;
  if (slice->instance.layout != slice->instance.layout_before) engine->split_us[gpu] = now_us + mig->lead_us;
  return engine->split_us[gpu] > now_us ? engine->split_us[gpu] - now_us : 0;
}

int64_t hr__reconfiguration_us(struct hr__engine *engine, const struct hr_placement *placement) {
  const struct hr_mig_spec *mig = engine->split_us ? engine->cluster.pools[placement->pool.id].spec->mig : NULL;
  int64_t longest_us = 0;
  for (uint32_t i = 0; mig && i < placement->n_slices; i++) {
    if (!placement->slices[i].gpus) continue;
    int64_t one_us = lead_us(engine, mig, &placement->slices[i]);
    if (one_us > longest_us) longest_us = one_us;
  }
  return longest_us;
}

/* A node that has come up has its initial layouts at once. */
static enum hr_status node_up(struct hr__engine *engine, hr_pool pool, hr_node node) {
  const uint32_t n_gpus = engine->split_us ? engine->cluster.inventory->max_gpus : 0;
  (void)pool;
  for (uint32_t gpu = 0; gpu < n_gpus; gpu++) engine->split_us[(size_t)node.id * n_gpus + gpu] = 0;
  return HR_OK;
}

/* ---- Start of a run ---- */

static enum hr_status init_claims(struct hr__engine *engine) {
  const struct hr_cluster *cluster = &engine->cluster;
  bool any = false;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *spec = cluster->pools[i].spec;
    any = any || (spec->nodes > 0 && hr_pool_kills(spec));
  }
  if (!any || !cluster->inventory) return HR_OK;
  size_t n_gpus = (size_t)cluster->n_nodes * cluster->inventory->max_gpus;
  if (!HR__ARENA_ARRAY(&engine->arena, engine->claims.of_gpu, n_gpus)) return hr__out_of_memory(engine);
  for (size_t i = 0; i < n_gpus; i++) {
    const struct hr_pool_spec *spec = cluster->pools[cluster->inventory->pool[i / cluster->inventory->max_gpus]].spec;
    engine->claims.of_gpu[i].left_mib = spec->gpu_mem_mib;
  }
  return HR_OK;
}

/* Returns the minimum speed factor that sharing can cause, in ppm. The result is at least 1. */
static uint32_t min_interference_ppm(const struct hr__engine *engine) {
  uint32_t min_ppm = HR__FULL_SPEED_PPM;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct hr_pool_spec *spec = engine->cluster.pools[i].spec;
    if (!pool_interferes(spec)) continue;
    for (uint32_t k = 0; k < spec->n_pairs; k++)
      if (spec->pairs[k].speed_ppm < min_ppm) min_ppm = spec->pairs[k].speed_ppm;
    uint32_t tasks = spec->replicas ? spec->replicas : 1, milli = 0;
    for (uint32_t step = 0; step == 0 || step < spec->n_interference; step++) {
      if (spec->n_interference) milli = spec->interference[step].up_to_milli;
      uint32_t ppm = speed_together_ppm(spec, milli, tasks);
      if (ppm < min_ppm) min_ppm = ppm;
    }
  }
  return min_ppm > 0 ? min_ppm : 1;
}

static enum hr_status init_speeds(struct hr__engine *engine) {
  const struct hr_cluster *cluster = &engine->cluster;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    engine->interferes = engine->interferes || pool_interferes(cluster->pools[i].spec);
  if (!engine->interferes) return HR_OK;
  if (bind_all_pairs(engine) != HR_OK) return HR_NO_MEMORY;
  if (engine->residents.first) return HR_OK;
  return HR__ARENA_ARRAY(&engine->arena, engine->residents.first, cluster->n_nodes) ? HR_OK : hr__out_of_memory(engine);
}

/* Must be called after the initialization of markets, which may already have allocated the lists of residents. */
static enum hr_status init(struct hr__engine *engine) {
  engine->interference_ppm = min_interference_ppm(engine);
  enum hr_status status = init_speeds(engine);
  if (status == HR_OK) status = init_claims(engine);
  return status == HR_OK ? init_reconfiguration(engine) : status;
}

static bool is_needed(const struct hr__engine *engine) {
  return engine->interferes || engine->split_us || engine->claims.of_gpu;
}

static enum hr_status stop(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                           enum hr__stop how) {
  (void)how;
  release_claims(engine, engine->claims.of_gpu, job, placement);
  return hr__sharing_update_speeds(engine, placement);
}

/* ---- Checked mode ---- */

/* Checks that only running jobs have claims. The function releases the claims of all running jobs in a copy. Then the
   memory of each GPU must be free. */
static enum hr_status check(const struct hr__engine *engine, const struct hr__running *running) {
  if (!engine->claims.of_gpu) return HR_OK;
  const struct hr_cluster *cluster = &engine->cluster;
  size_t n_gpus = (size_t)cluster->n_nodes * cluster->inventory->max_gpus;
  struct hr__claim *claims = malloc((n_gpus + 1) * sizeof *claims);
  if (!claims) return hr__out_of_memory(engine);
  memcpy(claims, engine->claims.of_gpu, n_gpus * sizeof *claims);
  for (uint32_t i = 0; i < running->count; i++) {
    struct hr_placement placement = HR__PLACEMENT_OF(engine, running->jobs[i]);
    release_claims(engine, claims, running->jobs[i], &placement);
  }
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < n_gpus && status == HR_OK; i++) {
    uint32_t node = (uint32_t)(i / cluster->inventory->max_gpus);
    uint32_t mem_mib = cluster->pools[cluster->inventory->pool[node]].spec->gpu_mem_mib;
    if (engine->claims.of_gpu[i].left_mib > mem_mib)
      status = hr__broken(engine, "node %" PRIu32 ": tasks claim more memory than a GPU has", node);
    else if (claims[i].left_mib != mem_mib)
      status = hr__broken(engine, "node %" PRIu32 ": the free memory of a GPU differs", node);
    else if (claims[i].tasks || claims[i].milli)
      status = hr__broken(engine, "node %" PRIu32 ": the tasks that run on a GPU differ", node);
  }
  free(claims);
  return status;
}

const struct hr__component hr__component_sharing = {
    .disturbs_jobs = true, .init = init, .is_needed = is_needed, .stop = stop, .node_up = node_up, .check = check};
