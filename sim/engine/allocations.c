/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The placements of running jobs, and the list of jobs of each node. A placement takes eight bytes per job. If
 * a placement has several slots (struct hr_slice), they are in one common array, in a block with a size that is a power
 * of two. Freed blocks are reused.
 * The jobs of a node are a linked list. These lists are short, because few jobs fit on a node.
 */

#include "base/containers.h"
#include "sim/engine/engine.h"

#include <inttypes.h>
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
  if (!HR__ARRAY_HAS_ROOM_FOR(store->slices, needed, store->capacity)) return HR_NO_MEMORY;
  *block = store->count;
  store->count = (uint32_t)needed;
  return HR_OK;
}

/* Returns the pool that is recorded for a placement without slots. If a job needs no node, a policy may place it in any
   pool. If that pool has no nodes, the first pool that has nodes is recorded instead. */
static hr_pool pool_of(const struct hr_cluster *cluster, const struct hr_placement *placement) {
  return cluster->pools[placement->pool.id].spec->nodes > 0 ? placement->pool : cluster->first_pool;
}

enum hr_status hr__allocation_store(struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  struct hr__allocation_ref ref = {pool_of(&engine->cluster, placement).id, placement->n_slices};
  if (ref.n_slices == 1) ref.first = placement->slices[0].node.id;
  if (ref.n_slices == 1 && engine->allocation_gpus) {
    engine->allocation_gpus[job.id] = placement->slices[0].gpus;
    engine->allocation_instance[job.id] = placement->slices[0].instance;
  }
  if (ref.n_slices > 1) {
    if (take_block(&engine->store, ref.n_slices, &ref.first) != HR_OK) return HR_NO_MEMORY;
    memcpy(engine->store.slices + ref.first, placement->slices, ref.n_slices * sizeof *placement->slices);
  }
  engine->allocation[job.id] = ref;
  if (engine->gpu_milli) engine->gpu_milli[job.id] = (uint32_t)hr_placement_milli(placement, engine->trace, job);
  return HR_OK;
}

static struct hr_slice one_slice(const struct hr__engine *engine, hr_job job, hr_node node) {
  if (!engine->gpu_milli) return (struct hr_slice){node, (uint32_t)hr__job_gpu_milli(engine->trace, job), 0, {0}};
  if (!engine->allocation_gpus) return (struct hr_slice){node, engine->gpu_milli[job.id], 0, {0}};
  return (struct hr_slice){node, engine->gpu_milli[job.id], engine->allocation_gpus[job.id],
                           engine->allocation_instance[job.id]};
}

struct hr_placement hr__allocation_placement(const struct hr__engine *engine, hr_job job, struct hr_slice *one) {
  struct hr__allocation_ref ref = engine->allocation[job.id];
  if (ref.n_slices == 0) return (struct hr_placement){.pool = {ref.first}};
  const struct hr_slice *slices = one;
  if (ref.n_slices == 1)
    *one = one_slice(engine, job, (hr_node){ref.first});
  else
    slices = engine->store.slices + ref.first;
  return (struct hr_placement){hr__cluster_pool_of(&engine->cluster, slices[0].node), ref.n_slices, slices};
}

void hr__allocation_free(struct hr__engine *engine, hr_job job) {
  struct hr__allocation_ref ref = engine->allocation[job.id];
  if (ref.n_slices < 2) return;
  struct hr__slice_store *store = &engine->store;
  unsigned class_ = size_class(ref.n_slices);
  store->slices[ref.first].node.id = store->free_block[class_];
  store->free_block[class_] = ref.first + 1;
}

struct hr_placement hr_view_placement(const struct hr_view *view, hr_job job, struct hr_slice *one) {
  return hr__allocation_placement(hr__engine_of(view), job, one);
}

/* ---- Component: the jobs of each node ---- */

static enum hr_status take_link(struct hr__residents *residents, uint32_t *link) {
  if (residents->unused) {
    *link = residents->unused - 1;
    residents->unused = residents->links[*link].next;
    return HR_OK;
  }
  if (!HR__ARRAY_HAS_ROOM(residents->links, residents->count, residents->capacity)) return HR_NO_MEMORY;
  *link = residents->count++;
  return HR_OK;
}

static bool is_needed(const struct hr__engine *engine) {
  return engine->residents.first;
}

/* Adds a job to the lists of its nodes. */
static enum hr_status start(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                            int64_t run_us) {
  (void)run_us;
  struct hr__residents *residents = &engine->residents;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    uint32_t link, *first = &residents->first[placement->slices[i].node.id];
    /* the node already has another task of the job */
    if (*first && residents->links[*first - 1].job.id == job.id) continue;
    if (take_link(residents, &link) != HR_OK) return hr__out_of_memory(engine);
    residents->links[link] = (struct hr__resident){job, *first};
    *first = link + 1;
  }
  return HR_OK;
}

/* Removes a job from the lists of its nodes. */
static enum hr_status stop(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                           enum hr__stop how) {
  struct hr__residents *residents = &engine->residents;
  (void)how;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    uint32_t *at = &residents->first[placement->slices[i].node.id];
    while (*at && residents->links[*at - 1].job.id != job.id) at = &residents->links[*at - 1].next;
    if (!*at) continue; /* the job was already removed, because an earlier slot is on the same node */
    uint32_t link = *at - 1;
    *at = residents->links[link].next;
    residents->links[link].next = residents->unused;
    residents->unused = link + 1;
  }
  return HR_OK;
}

static void close(struct hr__engine *engine) {
  free(engine->residents.links);
}

/* ---- Checked mode ---- */

static uint32_t count_listed(const struct hr__residents *residents, hr_node node, hr_job job) {
  uint32_t count = 0;
  for (uint32_t link = residents->first[node.id]; link; link = residents->links[link - 1].next)
    count += residents->links[link - 1].job.id == job.id;
  return count;
}

static bool is_first_on_node(const struct hr_placement *placement, uint32_t slice) {
  for (uint32_t i = 0; i < slice; i++)
    if (placement->slices[i].node.id == placement->slices[slice].node.id) return false;
  return true;
}

/* Checks that each running job is in the list of each of its nodes once, and that the lists have no other jobs. */
static enum hr_status check(const struct hr__engine *engine, const struct hr__running *running) {
  const struct hr__residents *residents = &engine->residents;
  uint64_t n_expected = 0, n_listed = 0;
  for (uint32_t i = 0; i < running->count; i++) {
    struct hr_slice one;
    struct hr_placement placement = hr__allocation_placement(engine, running->jobs[i], &one);
    for (uint32_t k = 0; k < placement.n_slices; k++) {
      n_expected += is_first_on_node(&placement, k);
      if (count_listed(residents, placement.slices[k].node, running->jobs[i]) != 1)
        return hr__broken(engine, "node %" PRIu32 ": the list of its jobs differs", placement.slices[k].node.id);
    }
  }
  for (uint32_t node = 0; node < engine->cluster.n_nodes; node++)
    for (uint32_t link = residents->first[node]; link; link = residents->links[link - 1].next) n_listed++;
  return n_listed == n_expected ? HR_OK : hr__broken(engine, "a node lists a job that does not run there");
}

const struct hr__component hr__component_residents = {
    .is_needed = is_needed, .start = start, .stop = stop, .close = close, .check = check};
