/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs on one GPU slow each other down. A job is as fast as on the GPU where it is slowest, of those that it has. When
 * a task comes to a GPU or leaves it, the jobs there go on at another speed, what they have done so far kept exactly.
 */

#include "sim/engine.h"

bool hr__pool_interferes(const struct hr_pool_spec *spec) {
  if (spec->sharing == HR_SHARING_TIME_SLICE) return true;
  return spec->sharing != HR_SHARING_WHOLE && spec->n_interference > 0;
}

enum hr_status hr__neighbours_init(struct hr__engine *engine) {
  const struct hr_cluster *cluster = &engine->cluster;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    engine->interferes = engine->interferes || hr__pool_interferes(cluster->pools[i].spec);
  if (!engine->interferes || engine->residents.first) return HR_OK;
  engine->residents.first = hr_arena_alloc(&engine->arena, cluster->n_nodes * sizeof *engine->residents.first);
  return engine->residents.first ? HR_OK : hr__out_of_memory(engine);
}

/* How fast tasks are that have so much of a GPU together. Who takes turns has his share of the time. */
static uint32_t speed_together_ppm(const struct hr_pool_spec *spec, uint32_t milli, uint32_t tasks) {
  uint32_t turn_ppm = spec->sharing == HR_SHARING_TIME_SLICE ? HR__FULL_SPEED_PPM / tasks : HR__FULL_SPEED_PPM;
  uint32_t step = 0;
  if (spec->n_interference == 0) return turn_ppm;
  while (step + 1 < spec->n_interference && spec->interference[step].up_to_milli < milli) step++;
  return (uint32_t)((uint64_t)turn_ppm * spec->interference[step].speed_ppm / HR__FULL_SPEED_PPM);
}

static uint32_t slowest_ppm(const struct hr_stock *stock, const struct hr_pool_spec *spec, struct hr_slice slice) {
  uint32_t least_ppm = HR__FULL_SPEED_PPM;
  size_t first = (size_t)slice.node.id * stock->most_gpus;
  for (uint64_t rest = slice.gpus; rest; rest &= rest - 1) {
    size_t gpu = first + (uint32_t)__builtin_ctzll(rest);
    if (stock->gpu_tasks[gpu] < 2) continue;
    uint32_t ppm = speed_together_ppm(spec, HR_WHOLE_GPU_MILLI - stock->gpu_milli[gpu], stock->gpu_tasks[gpu]);
    if (ppm < least_ppm) least_ppm = ppm;
  }
  return least_ppm;
}

uint32_t hr__speed_now_ppm(const struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  uint32_t alone_ppm = hr__speed_ppm(&engine->speeds, job, placement->pool), share_ppm = HR__FULL_SPEED_PPM;
  const struct hr_pool_spec *spec = engine->interferes ? engine->cluster.pools[placement->pool.id].spec : NULL;
  if (!spec || !hr__pool_interferes(spec)) return alone_ppm;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    uint32_t ppm = slowest_ppm(engine->cluster.stock, spec, placement->slices[i]);
    if (ppm < share_ppm) share_ppm = ppm;
  }
  uint32_t both_ppm = (uint32_t)((uint64_t)alone_ppm * share_ppm / HR__FULL_SPEED_PPM);
  return both_ppm > 0 ? both_ppm : 1;
}

static bool touches(const struct hr_placement *placement, struct hr_slice slice) {
  for (uint32_t i = 0; i < placement->n_slices; i++)
    if (placement->slices[i].node.id == slice.node.id && placement->slices[i].gpus & slice.gpus) return true;
  return false;
}

static enum hr_status pace_node(struct hr__engine *engine, struct hr_slice slice) {
  const struct hr__residents *residents = &engine->residents;
  enum hr_status status = HR_OK;
  for (uint32_t link = residents->first[slice.node.id]; link && status == HR_OK;
       link = residents->links[link - 1].next) {
    hr_job job = residents->links[link - 1].job;
    struct hr_slice one;
    struct hr_placement placement = hr__seat_placement(engine, job, &one);
    if (!touches(&placement, slice)) continue;
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
    uint32_t tasks = spec->replicas ? spec->replicas : 1, milli = 0;
    for (uint32_t step = 0; step == 0 || step < spec->n_interference; step++) {
      if (spec->n_interference) milli = spec->interference[step].up_to_milli;
      uint32_t ppm = speed_together_ppm(spec, milli, tasks);
      if (ppm < least_ppm) least_ppm = ppm;
    }
  }
  return least_ppm > 0 ? least_ppm : 1;
}
