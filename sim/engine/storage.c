/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The storage of a pool. Checkpoints that are written at the same time share its bandwidth equally, so all writers make
 * the same progress, and one clock suffices: the service that each writer has received so far. A writer is done when
 * the clock reaches its mark, the size of its checkpoint after the value at which it began. Service is counted in units
 * of 2^-10 MiB x microseconds per second, so that the division by the number of writers loses almost nothing, equally
 * on every machine.
 */

#include "base/array.h"
#include "sim/engine/engine.h"

#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

#define SERVICE_PER_MIB (UINT64_C(1000000) << 10)

struct storage_writer {
  wide mark;
  hr_job job;
};

struct hr__storage {
  uint64_t mib_s;
  wide clock;
  int64_t clock_us;               /* when the clock was last updated */
  int64_t next_us;                /* when the first writer is done */
  struct storage_writer *writers; /* sorted by (mark, job) */
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

/* The time until the clock has advanced by `service` with `count` writers. */
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
  if (!HR__ARRAY_HAS_ROOM(storage->writers, storage->count, storage->capacity)) return hr__out_of_memory(engine);
  struct storage_writer writer = {storage->clock + (wide)mib * SERVICE_PER_MIB, job};
  uint32_t at = storage->count++;
  for (; at > 0 && writer.mark < storage->writers[at - 1].mark; at--) storage->writers[at] = storage->writers[at - 1];
  storage->writers[at] = writer;
  return schedule_first(engine, pool);
}

static void take_out(struct hr__storage *storage, uint32_t at) {
  storage->count--;
  memmove(&storage->writers[at], &storage->writers[at + 1], (storage->count - at) * sizeof *storage->writers);
}

enum hr_status hr__storage_cancel(struct hr__engine *engine, hr_pool pool, hr_job job) {
  struct hr__storage *storage = &engine->storage[pool.id];
  uint32_t at = 0;
  read_clock(storage, engine->view.now_us);
  while (storage->writers[at].job.id != job.id) at++;
  take_out(storage, at);
  return schedule_first(engine, pool);
}

enum hr_status hr__storage_advance(struct hr__engine *engine, hr_pool pool, hr_job *done) {
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
