/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory of GPUs that is first come, first served. A job claims what its tasks ask for when it comes up, and has it
 * until it leaves. If there is too little it dies, all of its tasks: it stays where it is and claims nothing, as a
 * container that its node restarts, and tries again after a time that doubles with each death in a row. What is free is
 * kept apart from the stock: that changes while a policy plans, and this only when jobs come up and leave.
 */

#include "base/array.h"
#include "sim/engine/engine.h"

#include <stdlib.h>
#include <string.h>

/* Kubernetes' CrashLoopBackOff: 10 s, 20 s, 40 s, ..., at most 5 minutes (kubernetes.io, "Pod Lifecycle", how a Pod
   handles problems with containers). */
#define FIRST_BACK_OFF_US (10 * HR_SECOND_US)
#define LONGEST_BACK_OFF_US (300 * HR_SECOND_US)

static bool has_claims(const struct hr__engine *engine, hr_pool pool) {
  return engine->claims.of_gpu && hr_pool_kills(engine->cluster.pools[pool.id].spec);
}

static struct hr__claim *claim_at(const struct hr__engine *engine, hr_node node, uint32_t gpu) {
  return &engine->claims.of_gpu[(size_t)node.id * engine->cluster.inventory->max_gpus + gpu];
}

const struct hr__claim *hr__claim_on(const struct hr__engine *engine, hr_pool pool, hr_node node, uint32_t gpu) {
  return has_claims(engine, pool) ? claim_at(engine, node, gpu) : NULL;
}

enum hr_status hr__claims_init(struct hr__engine *engine) {
  const struct hr_cluster *cluster = &engine->cluster;
  bool any = false;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *spec = cluster->pools[i].spec;
    any = any || (spec->nodes > 0 && hr_pool_kills(spec));
  }
  if (!any || !cluster->inventory) return HR_OK;
  size_t n_gpus = (size_t)cluster->n_nodes * cluster->inventory->max_gpus;
  engine->claims.of_gpu = hr_arena_alloc(&engine->arena, n_gpus * sizeof *engine->claims.of_gpu);
  if (!engine->claims.of_gpu) return hr__out_of_memory(engine);
  for (size_t i = 0; i < n_gpus; i++) {
    const struct hr_pool_spec *spec = cluster->pools[cluster->inventory->pool[i / cluster->inventory->max_gpus]].spec;
    engine->claims.of_gpu[i].left_mib = spec->gpu_mem_mib;
  }
  return HR_OK;
}

/* ---- Taking and giving ------------------------------------------------------------------------------ */

static uint32_t asked_mib(const struct hr__engine *engine, hr_job job) {
  const struct hr_requests *requests = engine->cluster.requests;
  return requests->request[requests->of_job[job.id]].gpu_mem_mib;
}

static bool fits(const struct hr__engine *engine, struct hr_slice slice, uint32_t mib) {
  for (uint64_t rest = slice.gpus; rest; rest &= rest - 1)
    if (claim_at(engine, slice.node, (uint32_t)__builtin_ctzll(rest))->left_mib < mib) return false;
  return true;
}

static void take(const struct hr__engine *engine, struct hr_slice slice, uint32_t mib) {
  for (uint64_t rest = slice.gpus; rest; rest &= rest - 1) {
    struct hr__claim *claim = claim_at(engine, slice.node, (uint32_t)__builtin_ctzll(rest));
    claim->left_mib -= mib;
    claim->tasks++;
    claim->milli = (uint16_t)(claim->milli + slice.gpu_milli / (uint32_t)__builtin_popcountll(slice.gpus));
  }
}

static void give(const struct hr__engine *engine, struct hr_slice slice, uint32_t mib) {
  for (uint64_t rest = slice.gpus; rest; rest &= rest - 1) {
    struct hr__claim *claim = claim_at(engine, slice.node, (uint32_t)__builtin_ctzll(rest));
    claim->left_mib += mib;
    claim->tasks--;
    claim->milli = (uint16_t)(claim->milli - slice.gpu_milli / (uint32_t)__builtin_popcountll(slice.gpus));
  }
}

/* Tasks of one job may meet on a GPU, so each claims after the one before it. */
bool hr__claims_take(struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  if (!has_claims(engine, placement->pool)) return true;
  uint32_t mib = asked_mib(engine, job);
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    if (fits(engine, placement->slices[i], mib)) {
      take(engine, placement->slices[i], mib);
      continue;
    }
    while (i-- > 0) give(engine, placement->slices[i], mib);
    return false;
  }
  return true;
}

void hr__claims_give(struct hr__engine *engine, hr_job job) {
  struct hr_slice one;
  struct hr_placement placement = hr__allocation_placement(engine, job, &one);
  if (!has_claims(engine, placement.pool) || engine->attempt[job.id].phase == HR__PHASE_BACKING_OFF) return;
  uint32_t mib = asked_mib(engine, job);
  for (uint32_t i = 0; i < placement.n_slices; i++) give(engine, placement.slices[i], mib);
}

/* ---- Dying ------------------------------------------------------------------------------------------ */

enum hr_status hr__claims_back_off(struct hr__engine *engine, hr_job job) {
  struct hr_slice one;
  struct hr__engine_attempt *attempt = &engine->attempt[job.id];
  int64_t back_off_us = FIRST_BACK_OFF_US;
  for (uint32_t i = 0; i < attempt->kills && back_off_us < LONGEST_BACK_OFF_US; i++) back_off_us *= 2;
  if (back_off_us > LONGEST_BACK_OFF_US) back_off_us = LONGEST_BACK_OFF_US;
  attempt->kills++;
  attempt->retry_us = engine->view.now_us + back_off_us;
  engine->claims.killed_us = engine->view.now_us;
  engine->accounting[job.id].oom_kills++;
  engine->pool_accounting[hr__allocation_placement(engine, job, &one).pool.id].oom_kills++;
  return hr__schedule(engine, attempt->retry_us, HR__PENDING_PHASE, job.id);
}

/*
 * Checkpoints that are written at the same time share their pool's bandwidth evenly. All writers advance alike, so one
 * clock of service given to each will do: a writer is done when the clock reaches its mark, its own size after it
 * joined. Service is counted in 2^-10 of a mebibyte x microsecond/second, so that a division by the number of writers
 * loses next to nothing, and the same on every machine.
 */

__extension__ typedef unsigned __int128 wide;

#define SERVICE_PER_MIB (UINT64_C(1000000) << 10)

struct memory_claims_writer {
  wide mark;
  hr_job job;
};

struct hr__storage {
  uint64_t mib_s;
  wide clock;
  int64_t clock_us;                     /* when the clock was read */
  int64_t next_us;                      /* when the first writer is done */
  struct memory_claims_writer *writers; /* by (mark, job) */
  uint32_t count, capacity;
};

enum hr_status hr__storage_init(struct hr__engine *engine) {
  engine->storage = hr_arena_alloc(&engine->arena, engine->cluster.n_pools * sizeof *engine->storage);
  if (!engine->storage) return hr__out_of_memory(engine);
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++)
    engine->storage[i].mib_s = engine->cluster.pools[i].spec->storage_mib_s;
  return HR_OK;
}

void hr__storage_finish(struct hr__engine *engine) {
  for (uint32_t i = 0; engine->storage && i < engine->cluster.n_pools; i++) free(engine->storage[i].writers);
}

static void read_clock(struct hr__storage *storage, int64_t now_us) {
  if (storage->count)
    storage->clock += ((wide)storage->mib_s << 10) * (uint64_t)(now_us - storage->clock_us) / storage->count;
  storage->clock_us = now_us;
}

/* How long until the clock has gone on by `service`, with `count` writers. */
static int64_t time_for(const struct hr__storage *storage, wide service, uint32_t count) {
  wide rate = (wide)storage->mib_s << 10;
  wide us = (service * count + rate - 1) / rate;
  return us > (wide)HR_MAX_INPUT_US ? HR_MAX_INPUT_US : (int64_t)us;
}

static enum hr_status schedule_first(struct hr__engine *engine, hr_pool pool) {
  struct hr__storage *storage = &engine->storage[pool.id];
  storage->next_us = HR_NEVER_US;
  if (!storage->count) return HR_OK;
  wide mark = storage->writers[0].mark;
  wide service = mark > storage->clock ? mark - storage->clock : 0;
  storage->next_us = engine->view.now_us + time_for(storage, service, storage->count);
  return hr__schedule(engine, storage->next_us, HR__PENDING_STORAGE, pool.id);
}

int64_t hr__storage_forecast_us(const struct hr__engine *engine, hr_pool pool, uint64_t mib) {
  const struct hr__storage *storage = &engine->storage[pool.id];
  return time_for(storage, (wide)mib * SERVICE_PER_MIB, storage->count + 1);
}

enum hr_status hr__storage_write(struct hr__engine *engine, hr_pool pool, hr_job job, uint64_t mib) {
  struct hr__storage *storage = &engine->storage[pool.id];
  read_clock(storage, engine->view.now_us);
  if (storage->count == storage->capacity) {
    struct memory_claims_writer *writers = hr__grown(storage->writers, &storage->capacity, sizeof *writers);
    if (!writers) return hr__out_of_memory(engine);
    storage->writers = writers;
  }
  struct memory_claims_writer writer = {storage->clock + (wide)mib * SERVICE_PER_MIB, job};
  uint32_t at = storage->count++;
  for (; at > 0 && writer.mark < storage->writers[at - 1].mark; at--) storage->writers[at] = storage->writers[at - 1];
  storage->writers[at] = writer;
  return schedule_first(engine, pool);
}

static void take_out(struct hr__storage *storage, uint32_t at) {
  storage->count--;
  memmove(&storage->writers[at], &storage->writers[at + 1], (storage->count - at) * sizeof *storage->writers);
}

enum hr_status hr__storage_drop(struct hr__engine *engine, hr_pool pool, hr_job job) {
  struct hr__storage *storage = &engine->storage[pool.id];
  uint32_t at = 0;
  read_clock(storage, engine->view.now_us);
  while (storage->writers[at].job.id != job.id) at++;
  take_out(storage, at);
  return schedule_first(engine, pool);
}

enum hr_status hr__storage_turn(struct hr__engine *engine, hr_pool pool, hr_job *done) {
  struct hr__storage *storage = &engine->storage[pool.id];
  *done = (hr_job){HR_NONE};
  if (!storage->count || storage->next_us != engine->view.now_us) return HR_OK;
  read_clock(storage, engine->view.now_us);
  *done = storage->writers[0].job;
  take_out(storage, 0);
  return schedule_first(engine, pool);
}

void hr__storage_each(const struct hr__engine *engine, hr_pool pool, void (*visit)(void *self, hr_job job),
                      void *self) {
  const struct hr__storage *storage = &engine->storage[pool.id];
  for (uint32_t i = 0; i < storage->count; i++) visit(self, storage->writers[i].job);
}
