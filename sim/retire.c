/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Columns by job are as long as the trace in addresses, but not in memory: a page is there from the first job of it
 * that comes until all jobs of its block are over, and then goes back to the system. Jobs keep their ids, which are the
 * order of submission, so that nothing else of the engine or of a policy is another and ties go as ever; and one job
 * that runs for months keeps its own block, not all that came after it. The engine's pages are lost with what they
 * held. Those of the trace come from its file, and would come back from there.
 */

#include "sim/retire.h"

#include "sim/engine.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Jobs to a block: a page of the narrowest column, of one byte a job, so that a block is a whole number of pages of
   each column. Where pages are larger, so are blocks. */
static uint32_t block_jobs(void) {
  long page_bytes = sysconf(_SC_PAGESIZE);
  return page_bytes > 4096 ? (uint32_t)page_bytes : 4096;
}

#define TRACE_COLUMNS(X)                                                                                               \
  X(submit_us)                                                                                                         \
  X(work_us)                                                                                                           \
  X(gpus)                                                                                                              \
  X(row)                                                                                                               \
  X(limit_us)                                                                                                          \
  X(estimate_us)                                                                                                       \
  X(deadline_us)                                                                                                       \
  X(priority)                                                                                                          \
  X(tasks)                                                                                                             \
  X(cpu_milli)                                                                                                         \
  X(mem_mib)                                                                                                           \
  X(gpu_mem_mib)                                                                                                       \
  X(gpu_milli)                                                                                                         \
  X(tenant)                                                                                                            \
  X(user)                                                                                                              \
  X(model)                                                                                                             \
  X(gpu_types)                                                                                                         \
  X(regions)                                                                                                           \
  X(mig_profile)                                                                                                       \
  X(class_)                                                                                                            \
  X(outcome)                                                                                                           \
  X(flags)                                                                                                             \
  X(fail_at_ppm)                                                                                                       \
  X(checkpoint_interval_us)                                                                                            \
  X(checkpoint_mib)                                                                                                    \
  X(min_gpus)                                                                                                          \
  X(max_gpus)                                                                                                          \
  X(within)                                                                                                            \
  X(within_wait_us)                                                                                                    \
  X(recorded_start_us)                                                                                                 \
  X(id_number)

static void add_trace_columns(struct hr__retire *retire, const struct hr_trace *trace) {
#define ADD(member)                                                                                                    \
  if (trace->member)                                                                                                   \
    retire->columns[retire->n_columns++] =                                                                             \
        (struct hr__retired_column){(char *)(uintptr_t)trace->member, sizeof *trace->member, 0};
  TRACE_COLUMNS(ADD)
#undef ADD
}

/* Small pages, so that a block is a whole number of them. */
static void *add_column(struct hr__retire *retire, uint32_t n_jobs, size_t width) {
  size_t bytes = ((size_t)n_jobs + retire->block_jobs) * width;
  void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return NULL;
  (void)madvise(at, bytes, MADV_NOHUGEPAGE);
  retire->columns[retire->n_columns++] = (struct hr__retired_column){at, width, bytes};
  return at;
}

enum hr_status hr__retire_init(struct hr__engine *engine) {
  struct hr__retire *retire = &engine->retire;
  const struct hr_trace *trace = engine->trace;
  if (!trace->mapped)
    return hr_fail(engine->error, HR_BAD_INPUT, "%s: is not read for streaming, its columns are in memory",
                   trace->source);
  retire->block_jobs = block_jobs();
  uint32_t n_blocks = trace->n_jobs / retire->block_jobs + 1;
  retire->left = malloc(n_blocks * sizeof *retire->left);
  if (!retire->left) return hr__out_of_memory(engine);
  for (uint32_t i = 0; i < n_blocks; i++) retire->left[i] = retire->block_jobs;
  engine->state = add_column(retire, trace->n_jobs, sizeof *engine->state);
  engine->reason = add_column(retire, trace->n_jobs, sizeof *engine->reason);
  engine->start_us = add_column(retire, trace->n_jobs, sizeof *engine->start_us);
  engine->seat = add_column(retire, trace->n_jobs, sizeof *engine->seat);
  add_trace_columns(retire, trace);
  return engine->state && engine->reason && engine->start_us && engine->seat ? HR_OK : hr__out_of_memory(engine);
}

enum hr_status hr__retire_check(const struct hr__engine *engine) {
  const char *why = NULL;
  if (engine->cluster.stock) why = "a pool shares its GPUs, tells them apart or has nodes that jobs may not fit";
  if (engine->speeds.table || engine->network.table) why = "jobs have speeds";
  if (engine->config->quotas) why = "the scenario has quotas";
  if (engine->cluster.tiers_within) why = "jobs are to be near together ('within')";
  if (engine->markets) why = "nodes come and go";
  if (engine->abilities & HR_POLICY_PREEMPTS) why = "the policy preempts jobs";
  if (engine->attempt && !why) why = "jobs may be stopped";
  if (engine->config->check) why = "--check looks at all jobs";
  if (!why) return HR_OK;
  return hr_fail(engine->error, HR_BAD_INPUT,
                 "the run cannot be streamed: %s, which needs jobs that are over; run it without --stream", why);
}

void hr__retire_job(struct hr__retire *retire, hr_job job) {
  if (!retire->left) return;
  uint32_t block = job.id / retire->block_jobs;
  if (--retire->left[block]) return;
  for (uint32_t i = 0; i < retire->n_columns; i++) {
    const struct hr__retired_column *column = &retire->columns[i];
    size_t bytes = retire->block_jobs * column->width;
    char *from = column->at + block * bytes;
    (void)madvise(from - (uintptr_t)from % retire->block_jobs, bytes, MADV_DONTNEED); /* a trace's begin anywhere */
  }
}

void hr__retire_finish(struct hr__engine *engine) {
  struct hr__retire *retire = &engine->retire;
  for (uint32_t i = 0; i < retire->n_columns; i++)
    if (retire->columns[i].bytes) munmap(retire->columns[i].at, retire->columns[i].bytes);
  if (engine->config->stream) {
    engine->state = engine->reason = NULL;
    engine->start_us = NULL;
    engine->seat = NULL;
  }
  free(retire->left);
}
