/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where running jobs sit. Eight bytes a job; the slices of gangs that span nodes stand in one array, in blocks
 * of a power of two that are used again.
 */

#include "base/array.h"
#include "sim/engine/engine.h"

#include <stdlib.h>
#include <string.h>

static unsigned size_class(uint32_t n_slices) {
  return 32u - (unsigned)__builtin_clz(n_slices - 1); /* n_slices > 1 */
}

static enum hr_status take_block(struct hr__slice_store *store, uint32_t n_slices, uint32_t *block) {
  unsigned class_ = size_class(n_slices);
  if (store->free_block[class_]) {
    *block = store->free_block[class_] - 1;
    store->free_block[class_] = store->slices[*block].node.id;
    return HR_OK;
  }
  uint64_t needed = (uint64_t)store->count + (UINT64_C(1) << class_);
  if (needed > store->capacity) {
    uint64_t capacity = needed > 2 * (uint64_t)store->capacity ? needed : 2 * (uint64_t)store->capacity;
    if (capacity > UINT32_MAX) return HR_NO_MEMORY;
    struct hr_slice *slices = realloc(store->slices, capacity * sizeof *slices);
    if (!slices) return HR_NO_MEMORY;
    store->slices = slices;
    store->capacity = (uint32_t)capacity;
  }
  *block = store->count;
  store->count = (uint32_t)needed;
  return HR_OK;
}

/* Policies put jobs that sit on no node into the first pool, which may be one that has none. */
static hr_pool pool_of(const struct hr_cluster *cluster, const struct hr_placement *placement) {
  return cluster->pools[placement->pool.id].spec->nodes > 0 ? placement->pool : cluster->first_pool;
}

enum hr_status hr__allocation_keep(struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  struct hr__allocation_store seat = {pool_of(&engine->cluster, placement).id, placement->n_slices};
  if (seat.n_slices == 1) seat.first = placement->slices[0].node.id;
  if (seat.n_slices == 1 && engine->seat_gpus) {
    engine->seat_gpus[job.id] = placement->slices[0].gpus;
    engine->seat_instance[job.id] = placement->slices[0].instance;
  }
  if (seat.n_slices > 1) {
    if (take_block(&engine->store, seat.n_slices, &seat.first) != HR_OK) return HR_NO_MEMORY;
    memcpy(engine->store.slices + seat.first, placement->slices, seat.n_slices * sizeof *placement->slices);
  }
  engine->seat[job.id] = seat;
  if (engine->gpu_milli) engine->gpu_milli[job.id] = (uint32_t)hr_placement_milli(placement, engine->trace, job);
  return HR_OK;
}

static struct hr_slice one_slice(const struct hr__engine *engine, hr_job job, hr_node node) {
  if (!engine->seat_gpus) return (struct hr_slice){node, (uint32_t)hr__job_gpu_milli(engine->trace, job), 0, {0}};
  return (struct hr_slice){node, engine->gpu_milli[job.id], engine->seat_gpus[job.id], engine->seat_instance[job.id]};
}

struct hr__allocation hr__allocation_get(const struct hr__engine *engine, hr_job job) {
  struct hr__allocation kept = {.seat = engine->seat[job.id]};
  if (!engine->seat_gpus) return kept;
  kept.gpus = engine->seat_gpus[job.id];
  kept.gpu_milli = engine->gpu_milli[job.id];
  kept.instance = engine->seat_instance[job.id];
  return kept;
}

void hr__allocation_set(struct hr__engine *engine, hr_job job, struct hr__allocation seat) {
  engine->seat[job.id] = seat.seat;
  if (!engine->seat_gpus) return;
  engine->seat_gpus[job.id] = seat.gpus;
  engine->gpu_milli[job.id] = seat.gpu_milli;
  engine->seat_instance[job.id] = seat.instance;
}

struct hr_placement hr__allocation_placement(const struct hr__engine *engine, hr_job job, struct hr_slice *one) {
  struct hr__allocation_store seat = engine->seat[job.id];
  if (seat.n_slices == 0) return (struct hr_placement){.pool = {seat.first}};
  const struct hr_slice *slices = one;
  if (seat.n_slices == 1)
    *one = one_slice(engine, job, (hr_node){seat.first});
  else
    slices = engine->store.slices + seat.first;
  return (struct hr_placement){hr__cluster_pool_of(&engine->cluster, slices[0].node), seat.n_slices, slices};
}

void hr__allocation_drop(struct hr__engine *engine, hr_job job) {
  struct hr__allocation_store seat = engine->seat[job.id];
  if (seat.n_slices < 2) return;
  struct hr__slice_store *store = &engine->store;
  unsigned class_ = size_class(seat.n_slices);
  store->slices[seat.first].node.id = store->free_block[class_];
  store->free_block[class_] = seat.first + 1;
}

struct hr_placement hr_view_placement(const struct hr_view *view, hr_job job, struct hr_slice *one) {
  return hr__allocation_placement(hr__engine_of(view), job, one);
}

/* Which jobs sit on a node: short lists, as a node has few GPUs, of links that are used again. */

static enum hr_status take_link(struct hr__residents *residents, uint32_t *link) {
  if (residents->unused) {
    *link = residents->unused - 1;
    residents->unused = residents->links[*link].next;
    return HR_OK;
  }
  if (residents->count == residents->capacity) {
    struct hr__resident *links = hr__grown(residents->links, &residents->capacity, sizeof *links);
    if (!links) return HR_NO_MEMORY;
    residents->links = links;
  }
  *link = residents->count++;
  return HR_OK;
}

enum hr_status hr__residents_add(struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  struct hr__residents *residents = &engine->residents;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    uint32_t link, *first = &residents->first[placement->slices[i].node.id];
    if (*first && residents->links[*first - 1].job.id == job.id) continue; /* another of its tasks is there */
    if (take_link(residents, &link) != HR_OK) return hr__out_of_memory(engine);
    residents->links[link] = (struct hr__resident){job, *first};
    *first = link + 1;
  }
  return HR_OK;
}

void hr__residents_remove(struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  struct hr__residents *residents = &engine->residents;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    uint32_t *at = &residents->first[placement->slices[i].node.id];
    while (*at && residents->links[*at - 1].job.id != job.id) at = &residents->links[*at - 1].next;
    if (!*at) continue; /* it was there with several tasks */
    uint32_t link = *at - 1;
    *at = residents->links[link].next;
    residents->links[link].next = residents->unused;
    residents->unused = link + 1;
  }
}

/*
 * Jobs on one GPU slow each other down, but for those that have died there. A job is as fast as on the GPU where it is
 * slowest, of those that it has. When a task comes to a GPU or leaves it, the jobs there go on at another speed, what
 * they have done so far kept exactly.
 */

/* neighbours.c: jobs that share GPUs. */
static bool hr__pool_interferes(const struct hr_pool_spec *spec) {
  if (spec->nodes == 0) return false;
  if (spec->sharing == HR_SHARING_TIME_SLICE) return true;
  return spec->sharing != HR_SHARING_WHOLE && (spec->n_interference > 0 || spec->n_pairs > 0);
}

/* ---- Pairs that are known --------------------------------------------------------------------------- */

static uint32_t number_of(const struct hr_names *names, const char *text) {
  for (uint32_t i = 0; i < names->count; i++)
    if (strcmp(names->text[i], text) == 0) return i;
  return HR_NONE;
}

static int by_models(const void *a, const void *b) {
  uint64_t x = ((const struct hr__pair_speed *)a)->models, y = ((const struct hr__pair_speed *)b)->models;
  return (x > y) - (x < y);
}

/* Of models that the trace has. */
static enum hr_status bind_pairs(struct hr__engine *engine, const struct hr_pool_spec *spec,
                                 struct hr__pair_table *table) {
  table->of = hr_arena_alloc(&engine->arena, ((size_t)spec->n_pairs + 1) * sizeof *table->of);
  if (!table->of) return hr__out_of_memory(engine);
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
  engine->pairs = hr_arena_alloc(&engine->arena, cluster->n_pools * sizeof *engine->pairs);
  if (!engine->pairs) return hr__out_of_memory(engine);
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < cluster->n_pools && status == HR_OK; i++)
    status = bind_pairs(engine, cluster->pools[i].spec, &engine->pairs[i]);
  return status;
}

/* 0: it is not known. */
static uint32_t pair_ppm(const struct hr__engine *engine, hr_pool pool, hr_job job, hr_job other) {
  const struct hr__pair_table *table = &engine->pairs[pool.id];
  const uint32_t *model = engine->trace->model;
  if (table->count == 0 || !model || model[job.id] == HR_NONE || model[other.id] == HR_NONE) return 0;
  struct hr__pair_speed wanted = {.models = (uint64_t)model[job.id] << 32 | model[other.id]};
  const struct hr__pair_speed *found = bsearch(&wanted, table->of, table->count, sizeof wanted, by_models);
  return found ? found->speed_ppm : 0;
}

enum hr_status hr__neighbours_init(struct hr__engine *engine) {
  const struct hr_cluster *cluster = &engine->cluster;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    engine->interferes = engine->interferes || hr__pool_interferes(cluster->pools[i].spec);
  if (!engine->interferes) return HR_OK;
  if (bind_all_pairs(engine) != HR_OK) return HR_NO_MEMORY;
  if (engine->residents.first) return HR_OK;
  engine->residents.first = hr_arena_alloc(&engine->arena, cluster->n_nodes * sizeof *engine->residents.first);
  return engine->residents.first ? HR_OK : hr__out_of_memory(engine);
}

/* ---- Speeds ----------------------------------------------------------------------------------------- */

/* How fast tasks are that have so much of a GPU together. Who takes turns has his share of the time. */
static uint32_t speed_together_ppm(const struct hr_pool_spec *spec, uint32_t milli, uint32_t tasks) {
  uint32_t turn_ppm = spec->sharing == HR_SHARING_TIME_SLICE ? HR__FULL_SPEED_PPM / tasks : HR__FULL_SPEED_PPM;
  uint32_t step = 0;
  if (spec->n_interference == 0) return turn_ppm;
  while (step + 1 < spec->n_interference && spec->interference[step].up_to_milli < milli) step++;
  return (uint32_t)((uint64_t)turn_ppm * spec->interference[step].speed_ppm / HR__FULL_SPEED_PPM);
}

static bool has_gpu(const struct hr_placement *placement, hr_node node, uint64_t gpu) {
  for (uint32_t i = 0; i < placement->n_slices; i++)
    if (placement->slices[i].node.id == node.id && placement->slices[i].gpus & gpu) return true;
  return false;
}

/* The other job of two tasks that are on a GPU of the node; HR_NONE when both are of one job. */
static hr_job other_on(const struct hr__engine *engine, hr_job job, hr_node node, uint64_t gpu) {
  const struct hr__residents *residents = &engine->residents;
  for (uint32_t link = residents->first[node.id]; link; link = residents->links[link - 1].next) {
    hr_job other = residents->links[link - 1].job;
    struct hr_slice one;
    struct hr_placement placement = hr__allocation_placement(engine, other, &one);
    bool is_dead = engine->attempt[other.id].phase == HR__PHASE_BACKING_OFF;
    if (other.id != job.id && !is_dead && has_gpu(&placement, node, gpu)) return other;
  }
  return (hr_job){HR_NONE};
}

/* Of a job on one GPU of a slice. */
static uint32_t speed_on_ppm(const struct hr__engine *engine, hr_job job, hr_pool pool, hr_node node, uint32_t gpu) {
  const struct hr_gpu_inventory *inventory = engine->cluster.inventory;
  size_t at = (size_t)node.id * inventory->max_gpus + gpu;
  const struct hr__claim *claim = hr__claim_on(engine, pool, node, gpu); /* who has died is no process there */
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

static uint32_t slowest_ppm(const struct hr__engine *engine, hr_job job, hr_pool pool, struct hr_slice slice) {
  uint32_t min_ppm = UINT32_MAX;
  for (uint64_t rest = slice.gpus; rest; rest &= rest - 1) {
    uint32_t ppm = speed_on_ppm(engine, job, pool, slice.node, (uint32_t)__builtin_ctzll(rest));
    if (ppm < min_ppm) min_ppm = ppm;
  }
  return min_ppm;
}

uint32_t hr__speed_now_ppm(const struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  uint32_t alone_ppm = hr__speed_at_ppm(engine, job, placement), share_ppm = UINT32_MAX;
  const struct hr_pool_spec *spec = engine->interferes ? engine->cluster.pools[placement->pool.id].spec : NULL;
  if (!spec || !hr__pool_interferes(spec)) return alone_ppm;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    uint32_t ppm = slowest_ppm(engine, job, placement->pool, placement->slices[i]);
    if (ppm < share_ppm) share_ppm = ppm;
  }
  if (share_ppm == UINT32_MAX) return alone_ppm; /* it has no GPU */
  uint32_t both_ppm = (uint32_t)((uint64_t)alone_ppm * share_ppm / HR__FULL_SPEED_PPM);
  return both_ppm > 0 ? both_ppm : 1;
}

static enum hr_status pace_node(struct hr__engine *engine, struct hr_slice slice) {
  const struct hr__residents *residents = &engine->residents;
  enum hr_status status = HR_OK;
  for (uint32_t link = residents->first[slice.node.id]; link && status == HR_OK;
       link = residents->links[link - 1].next) {
    hr_job job = residents->links[link - 1].job;
    struct hr_slice one;
    struct hr_placement placement = hr__allocation_placement(engine, job, &one);
    if (!has_gpu(&placement, slice.node, slice.gpus)) continue;
    status = hr__attempt_pace(engine, job, hr__speed_now_ppm(engine, job, &placement));
  }
  return status;
}

enum hr_status hr__neighbours_change(struct hr__engine *engine, const struct hr_placement *placement) {
  enum hr_status status = HR_OK;
  if (!engine->interferes || !hr__pool_interferes(engine->cluster.pools[placement->pool.id].spec)) return HR_OK;
  for (uint32_t i = 0; i < placement->n_slices && status == HR_OK; i++)
    if (placement->slices[i].gpus) status = pace_node(engine, placement->slices[i]);
  return status;
}

uint32_t hr__least_interference_ppm(const struct hr__engine *engine) {
  uint32_t min_ppm = HR__FULL_SPEED_PPM;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct hr_pool_spec *spec = engine->cluster.pools[i].spec;
    if (!hr__pool_interferes(spec)) continue;
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

/* How near together jobs are to be: what a job asks for, and whether a placement, or the empty cluster, keeps to it. */

/* A job on one GPU is in one group of everything; tasks without GPUs sit on nodes where GPUs are told apart. */
static bool may_spread(const struct hr_cluster *cluster, hr_job job) {
  const struct hr_trace *trace = cluster->trace;
  return trace->gpus[job.id] > 1 || (cluster->inventory && trace->tasks && trace->tasks[job.id] > 1);
}

/* What the trace says of the job goes before what is said of its class. */
struct hr_locality hr_cluster_locality(const struct hr_cluster *cluster, hr_job job) {
  const struct hr_trace *trace = cluster->trace;
  enum hr_tier tier = trace->within ? (enum hr_tier)trace->within[job.id] : HR_TIER_ANY;
  int64_t wait_us = trace->within_wait_us ? trace->within_wait_us[job.id] : HR_UNKNOWN_US;
  if (tier == HR_TIER_ANY && cluster->classes) {
    const struct hr_class_spec *class_ = &cluster->classes[trace->class_ ? trace->class_[job.id] : HR_CLASS_UNKNOWN];
    tier = (enum hr_tier)class_->within;
    wait_us = class_->within_wait_us;
  }
  if (tier == HR_TIER_ANY || !may_spread(cluster, job)) return (struct hr_locality){HR_TIER_ANY, HR_NEVER_US};
  return (struct hr_locality){tier, wait_us == HR_UNKNOWN_US ? HR_NEVER_US : trace->submit_us[job.id] + wait_us};
}

bool hr_cluster_any_within(const struct hr_cluster *cluster) {
  return cluster->tiers_within != 0;
}

void hr__locality_look(struct hr_cluster *cluster, struct hr_arena *arena) {
  bool any_class = false;
  for (unsigned i = 0; cluster->classes && i < HR_N_CLASSES; i++)
    any_class = any_class || cluster->classes[i].within != HR_TIER_ANY;
  if (!cluster->trace->within && !any_class) return;
  for (uint32_t job = 0; job < cluster->trace->n_jobs; job++) {
    cluster->tiers_within |= 1u << hr_cluster_locality(cluster, (hr_job){job}).tier;
    hr_arena_passed_job(arena, (hr_job){job});
  }
  cluster->tiers_within &= ~(1u << HR_TIER_ANY);
}

/* Where GPUs are told apart, a policy looks at groups by itself. */
enum hr_status hr__locality_group(struct hr_cluster *cluster, struct hr_arena *arena) {
  for (uint32_t i = 0; i < cluster->n_pools && !cluster->inventory; i++) {
    const struct hr_pool_spec *spec = cluster->pools[i].spec;
    for (enum hr_tier tier = HR_TIER_RACK; tier <= HR_TIER_ZONE; tier++) {
      uint32_t n_nodes = hr_topology_nodes(&spec->topology, tier, spec->nodes);
      if (!(cluster->tiers_within >> tier & 1) || n_nodes >= spec->nodes) continue;
      if (!hr__free_index_group(arena, cluster->pools[i].index, n_nodes)) return HR_NO_MEMORY;
    }
  }
  return HR_OK;
}

const char *hr__locality_refuses(const struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  const struct hr_cluster *cluster = &engine->cluster;
  bool sits_nowhere = placement->n_slices == 0 && engine->trace->gpus[job.id] == 0;
  if (!cluster->tiers_within || sits_nowhere || placement->pool.id >= cluster->n_pools) return NULL;
  struct hr_locality within = hr_cluster_locality(cluster, job);
  if (within.tier == HR_TIER_ANY || engine->view.now_us >= within.until_us) return NULL;
  return hr_cluster_span(cluster, placement) > within.tier ? "the job is to be within a narrower tier" : NULL;
}

/* ---- The empty cluster ------------------------------------------------------------------------------ */

/* Tasks that one group of the empty pool has room for. */
static uint64_t room_of_group(const struct hr_pool_spec *spec, const struct hr_request *request, enum hr_tier tier) {
  struct hr_pool_spec part = *spec; /* a node with no more GPUs than the group has of one */
  struct hr_cluster_spec alone = {.pools = &part, .n_pools = 1};
  part.gpus_per_node = hr_topology_gpus(&spec->topology, tier, spec->gpus_per_node);
  return (uint64_t)hr_pool_most_tasks(&alone, (hr_pool){0}, request) *
         hr_topology_nodes(&spec->topology, tier, spec->nodes);
}

bool hr__locality_never_fits(const struct hr_cluster *cluster, hr_pool pool, hr_job job,
                             const struct hr_request *request) {
  const struct hr_pool_spec *spec = cluster->pools[pool.id].spec;
  if (!cluster->tiers_within) return false;
  struct hr_locality within = hr_cluster_locality(cluster, job);
  if (within.tier == HR_TIER_ANY || within.until_us != HR_NEVER_US) return false;
  if (request && spec->mig) return false; /* a policy refuses that */
  if (request) return room_of_group(spec, request, within.tier) < request->tasks;
  uint64_t n_nodes = hr_topology_nodes(&spec->topology, within.tier, spec->nodes);
  return n_nodes * spec->gpus_per_node < cluster->trace->gpus[job.id];
}
