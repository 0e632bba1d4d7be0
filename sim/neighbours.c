/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs on one GPU slow each other down, but for those that have died there. A job is as fast as on the GPU where it is
 * slowest, of those that it has. When a task comes to a GPU or leaves it, the jobs there go on at another speed, what
 * they have done so far kept exactly.
 */

#include "sim/engine.h"

#include <stdlib.h>
#include <string.h>

bool hr__pool_interferes(const struct hr_pool_spec *spec) {
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
    struct hr_placement placement = hr__seat_placement(engine, other, &one);
    bool is_dead = engine->attempt[other.id].phase == HR__PHASE_BACKING_OFF;
    if (other.id != job.id && !is_dead && has_gpu(&placement, node, gpu)) return other;
  }
  return (hr_job){HR_NONE};
}

/* Of a job on one GPU of a slice. */
static uint32_t speed_on_ppm(const struct hr__engine *engine, hr_job job, hr_pool pool, hr_node node, uint32_t gpu) {
  const struct hr_stock *stock = engine->cluster.stock;
  size_t at = (size_t)node.id * stock->most_gpus + gpu;
  const struct hr__claim *claim = hr__claim_on(engine, pool, node, gpu); /* who has died is no process there */
  uint32_t tasks = claim ? claim->tasks : stock->gpu_tasks[at];
  if (tasks < 2) return HR__FULL_SPEED_PPM;
  if (tasks == 2 && engine->pairs[pool.id].count > 0) {
    hr_job other = other_on(engine, job, node, UINT64_C(1) << gpu);
    uint32_t ppm = other.id != HR_NONE ? pair_ppm(engine, pool, job, other) : 0;
    if (ppm > 0) return ppm;
  }
  const struct hr_pool_spec *spec = engine->cluster.pools[pool.id].spec;
  return speed_together_ppm(spec, claim ? claim->milli : HR_WHOLE_GPU_MILLI - stock->gpu_milli[at], tasks);
}

static uint32_t slowest_ppm(const struct hr__engine *engine, hr_job job, hr_pool pool, struct hr_slice slice) {
  uint32_t least_ppm = UINT32_MAX;
  for (uint64_t rest = slice.gpus; rest; rest &= rest - 1) {
    uint32_t ppm = speed_on_ppm(engine, job, pool, slice.node, (uint32_t)__builtin_ctzll(rest));
    if (ppm < least_ppm) least_ppm = ppm;
  }
  return least_ppm;
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
    struct hr_placement placement = hr__seat_placement(engine, job, &one);
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
  uint32_t least_ppm = HR__FULL_SPEED_PPM;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct hr_pool_spec *spec = engine->cluster.pools[i].spec;
    if (!hr__pool_interferes(spec)) continue;
    for (uint32_t k = 0; k < spec->n_pairs; k++)
      if (spec->pairs[k].speed_ppm < least_ppm) least_ppm = spec->pairs[k].speed_ppm;
    uint32_t tasks = spec->replicas ? spec->replicas : 1, milli = 0;
    for (uint32_t step = 0; step == 0 || step < spec->n_interference; step++) {
      if (spec->n_interference) milli = spec->interference[step].up_to_milli;
      uint32_t ppm = speed_together_ppm(spec, milli, tasks);
      if (ppm < least_ppm) least_ppm = ppm;
    }
  }
  return least_ppm > 0 ? least_ppm : 1;
}
