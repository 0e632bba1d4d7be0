/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Streamed runs. Per-job columns (arrays indexed by job) have addresses for all jobs of the trace. The jobs are divided
 * into blocks, and only blocks in use have memory. The pages of a block get memory when the first job of the block is
 * submitted. They are returned to the system when all jobs of the block are finished. While a job runs for months, only
 * its own block keeps its memory; later blocks can be returned. Job ids are the same as in runs that are not streamed.
 * Other code of the engine and of policies therefore does not depend on streaming, and ties are broken in the same way.
 *
 * Pages of the engine's columns lose their contents when they are returned. Pages of the trace are mapped from the
 * trace's file, so they do not lose their contents: a later access reads them from the file again.
 */

#include "base/containers.h"
#include "sim/cluster/cluster.h"
#include "sim/engine/engine.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Some code reads the state of a job after the job has finished. It reads the last state or, if the memory was
   reclaimed, zero. Neither value may mean that the job waits or runs. */
_Static_assert(HR_JOB_FUTURE == 0, "the state of a finished job must not read as waiting or running");

/* Returns how many jobs a block has: as many as a page has bytes. Each column has a whole number of bytes per job, so a
   block takes a whole number of pages in each column. */
static uint32_t block_jobs(void) {
  long page_bytes = sysconf(_SC_PAGESIZE);
  return page_bytes > 4096 ? (uint32_t)page_bytes : 4096;
}

static bool list_column(struct hr__column_reclaim *reclaim, struct hr__reclaimed_column column) {
  if (!HR__ARRAY_HAS_ROOM(reclaim->columns, reclaim->n_columns, reclaim->capacity)) return false;
  reclaim->columns[reclaim->n_columns++] = column;
  return true;
}

static bool list_trace_columns(struct hr__column_reclaim *reclaim, const struct hr_trace *trace) {
  bool listed = true;
#define LIST(id, member, ...)                                                                                          \
  if (trace->member)                                                                                                   \
    listed = listed &&                                                                                                 \
             list_column(reclaim, (struct hr__reclaimed_column){.at = (char *)(uintptr_t)trace->member,                \
                                                                .width = sizeof *trace->member,                        \
                                                                .length = trace->n_jobs * sizeof *trace->member});
  HR_JOB_COLUMN_TABLE(LIST, LIST)
  LIST(ROW, row, uint32_t)
  LIST(ID, id_number, int64_t)
#undef LIST
  return listed;
}

static void release_block(const struct hr__column_reclaim *reclaim, uint32_t block);

/* Allocates a column. Huge pages are disabled, because otherwise a block could not be returned to the system
   separately. */
static void *column_of(void *self, uint32_t n_jobs, size_t width) {
  struct hr__column_reclaim *reclaim = self;
  size_t bytes = ((size_t)n_jobs + reclaim->block_jobs) * width;
  void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return NULL;
  (void)madvise(at, bytes, MADV_NOHUGEPAGE);
  if (list_column(reclaim, (struct hr__reclaimed_column){.at = at, .width = width, .bytes = bytes})) return at;
  munmap(at, bytes);
  return NULL;
}

static void passed_job(void *self, hr_job job) {
  const struct hr__column_reclaim *reclaim = self;
  if ((job.id + 1) % reclaim->block_jobs == 0) release_block(reclaim, job.id / reclaim->block_jobs);
}

/* Registers the columns of the trace. Afterwards, the engine's arena allocates per-job columns in such a way that their
   memory can be reclaimed. */
static enum hr_status open_columns(struct hr__engine *engine) {
  struct hr__column_reclaim *reclaim = &engine->reclaim;
  const struct hr_trace *trace = engine->trace;
  if (!engine->config->stream) return HR_OK;
  if (!trace->mapped)
    return hr_fail(engine->error, HR_BAD_INPUT, "%s: cannot be streamed: the trace was read into memory",
                   trace->source);
  reclaim->block_jobs = block_jobs();
  reclaim->n_blocks = trace->n_jobs / reclaim->block_jobs + 1;
  reclaim->unfinished = malloc(reclaim->n_blocks * sizeof *reclaim->unfinished);
  if (!reclaim->unfinished || !list_trace_columns(reclaim, trace)) return hr__out_of_memory(engine);
  for (uint32_t i = 0; i < reclaim->n_blocks; i++) reclaim->unfinished[i] = reclaim->block_jobs;
  engine->arena.job_columns = (struct hr__arena_job_columns){column_of, passed_job, reclaim};
  return HR_OK;
}

/* When a page of a mapped file is accessed for the first time, Linux also maps the pages around it that are already in
   its page cache. By default these are the pages of an area of 64 KiB (fault_around_bytes). */
enum { FAULT_AROUND_BYTES = 1 << 16 };

/* Releases all pages of a trace column that an access to the block may have mapped. These may include pages of
   neighbouring blocks that are still in use; the next access maps such pages from the file again. The column may begin
   at any address within a page, because the bytes around it belong to the same file. */
static void release_trace_block(const struct hr__column_reclaim *reclaim, const struct hr__reclaimed_column *column,
                                uint32_t block) {
  uintptr_t page = reclaim->block_jobs, first = (uintptr_t)column->at, last = first + column->length;
  uintptr_t from = first + (size_t)block * page * column->width, to = from + page * column->width;
  from -= from % FAULT_AROUND_BYTES;
  to += FAULT_AROUND_BYTES - to % FAULT_AROUND_BYTES;
  if (from < first - first % page) from = first - first % page;
  if (to > last - last % page) to = last - last % page;
  if (from < to) (void)madvise((char *)from, to - from, MADV_DONTNEED);
}

static void release_block(const struct hr__column_reclaim *reclaim, uint32_t block) {
  for (uint32_t i = 0; i < reclaim->n_columns; i++) {
    const struct hr__reclaimed_column *column = &reclaim->columns[i];
    size_t bytes = reclaim->block_jobs * column->width;
    if (!column->bytes)
      release_trace_block(reclaim, column, block);
    else
      (void)madvise(column->at + block * bytes, bytes, MADV_DONTNEED);
  }
}

static bool is_needed(const struct hr__engine *engine) {
  return engine->config->stream;
}

static void forget(struct hr__engine *engine, hr_job job) {
  struct hr__column_reclaim *reclaim = &engine->reclaim;
  uint32_t block = job.id / reclaim->block_jobs;
  if (--reclaim->unfinished[block] == 0) release_block(reclaim, block);
}

uint32_t hr__column_reclaim_skip(const struct hr__column_reclaim *reclaim, uint32_t from) {
  if (!reclaim->unfinished) return from;
  uint32_t block = from / reclaim->block_jobs, n_blocks = reclaim->n_blocks;
  if (reclaim->unfinished[block]) return from;
  while (block < n_blocks && reclaim->unfinished[block] == 0) block++;
  return block * reclaim->block_jobs;
}

static void close_columns(struct hr__engine *engine) {
  struct hr__column_reclaim *reclaim = &engine->reclaim;
  for (uint32_t i = 0; i < reclaim->n_columns; i++)
    if (reclaim->columns[i].bytes) munmap(reclaim->columns[i].at, reclaim->columns[i].bytes);
  free(reclaim->columns);
  free(reclaim->unfinished);
}

const struct hr__component hr__component_column_reclaim = {
    .open = open_columns, .is_needed = is_needed, .forget = forget, .close = close_columns};
