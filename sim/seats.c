/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where running jobs sit. Eight bytes a job; the slices of gangs that span nodes stand in one array, in blocks
 * of a power of two that are used again.
 */

#include "sim/engine.h"

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

enum hr_status hr__seat_keep(struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  struct hr__seat seat = {pool_of(&engine->cluster, placement).id, placement->n_slices};
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

struct hr__kept_seat hr__seat_get(const struct hr__engine *engine, hr_job job) {
  struct hr__kept_seat kept = {.seat = engine->seat[job.id]};
  if (!engine->seat_gpus) return kept;
  kept.gpus = engine->seat_gpus[job.id];
  kept.gpu_milli = engine->gpu_milli[job.id];
  kept.instance = engine->seat_instance[job.id];
  return kept;
}

void hr__seat_set(struct hr__engine *engine, hr_job job, struct hr__kept_seat seat) {
  engine->seat[job.id] = seat.seat;
  if (!engine->seat_gpus) return;
  engine->seat_gpus[job.id] = seat.gpus;
  engine->gpu_milli[job.id] = seat.gpu_milli;
  engine->seat_instance[job.id] = seat.instance;
}

struct hr_placement hr__seat_placement(const struct hr__engine *engine, hr_job job, struct hr_slice *one) {
  struct hr__seat seat = engine->seat[job.id];
  if (seat.n_slices == 0) return (struct hr_placement){.pool = {seat.first}};
  const struct hr_slice *slices = one;
  if (seat.n_slices == 1)
    *one = one_slice(engine, job, (hr_node){seat.first});
  else
    slices = engine->store.slices + seat.first;
  return (struct hr_placement){hr__cluster_pool_of(&engine->cluster, slices[0].node), seat.n_slices, slices};
}

void hr__seat_drop(struct hr__engine *engine, hr_job job) {
  struct hr__seat seat = engine->seat[job.id];
  if (seat.n_slices < 2) return;
  struct hr__slice_store *store = &engine->store;
  unsigned class_ = size_class(seat.n_slices);
  store->slices[seat.first].node.id = store->free_block[class_];
  store->free_block[class_] = seat.first + 1;
}

struct hr_placement hr_view_placement(const struct hr_view *view, hr_job job, struct hr_slice *one) {
  return hr__seat_placement(hr__engine_of(view), job, one);
}
