/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checked mode: the state is worked out again from what runs (the pending ends) and compared with what the engine
 * keeps: free GPUs per node, per pool and in the index, counts of jobs, the heap's order. The scratch array comes
 * from malloc: this is not the fast path.
 */

#include "sim/engine.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static enum hr_status broken(const struct hr__engine *engine, const char *format, ...) HR_PRINTF(2, 3);
static enum hr_status broken(const struct hr__engine *engine, const char *format, ...) {
  char text[200];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return hr_fail(engine->error, HR_INTERNAL, "invariant broken at %" PRId64 " us: %s", engine->view.now_us, text);
}

struct usage {
  uint64_t *pool_milli; /* allocated, by pool */
  uint32_t *node_milli; /* allocated, by node */
  uint32_t n_running;
  uint64_t all_milli;
};

static void add_job(const struct hr__engine *engine, hr_job job, struct usage *usage) {
  struct hr_slice one;
  struct hr_placement placement = hr__seat_placement(engine, job, &one);
  uint64_t gpu_milli = hr__job_gpu_milli(engine->trace, job);
  usage->n_running++;
  usage->all_milli += gpu_milli;
  if (gpu_milli == 0) return;
  usage->pool_milli[placement.pool.id] += gpu_milli;
  for (uint32_t i = 0; i < placement.n_slices; i++)
    usage->node_milli[placement.slices[i].node.id] += placement.slices[i].gpu_milli;
}

static enum hr_status add_running(const struct hr__engine *engine, struct usage *usage) {
  for (uint32_t i = 0; i < engine->heap.count; i++) {
    struct hr__pending pending = engine->heap.entries[i];
    if (i > 0 && hr__pending_before(pending, engine->heap.entries[(i - 1) / 2]))
      return broken(engine, "the event heap is out of order at %" PRIu32, i);
    if (pending.at_us < engine->view.now_us) return broken(engine, "an event lies in the past");
    if (hr__pending_kind(pending) != HR_EVENT_END) continue;
    hr_job job = {hr__pending_entity(pending)};
    if (engine->state[job.id] != HR_JOB_RUNNING) return broken(engine, "job %" PRIu32 " ends but does not run", job.id);
    if (engine->start_us[job.id] + engine->trace->work_us[job.id] != pending.at_us)
      return broken(engine, "job %" PRIu32 " ends at another time than its work says", job.id);
    add_job(engine, job, usage);
  }
  return HR_OK;
}

static enum hr_status check_nodes(const struct hr__engine *engine, const struct hr__pool *pool,
                                  const struct usage *usage) {
  for (uint32_t node = 0; node < pool->spec->nodes; node++) {
    uint32_t id = pool->first_node.id + node, size_milli = pool->spec->gpus_per_node * 1000;
    uint32_t free_milli = engine->cluster.node_free_milli[id];
    if (usage->node_milli[id] > size_milli) return broken(engine, "node %" PRIu32 " is over its capacity", id);
    if (free_milli != size_milli - usage->node_milli[id])
      return broken(engine, "node %" PRIu32 ": free GPUs differ", id);
    uint32_t gpus = hr_free_index_get(pool->index, node);
    if (gpus != free_milli / 1000 || hr_free_index_node(pool->index, gpus, node) != node)
      return broken(engine, "node %" PRIu32 ": the free index differs", id);
  }
  return HR_OK;
}

static enum hr_status check_capacity(const struct hr__engine *engine, const struct usage *usage) {
  uint64_t free_milli = 0;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct hr__pool *pool = &engine->cluster.pools[i];
    if (usage->pool_milli[i] > pool->total_milli)
      return broken(engine, "pool '%s' is over its capacity", pool->spec->name);
    if (pool->free_milli != pool->total_milli - usage->pool_milli[i])
      return broken(engine, "pool '%s': free GPUs differ", pool->spec->name);
    free_milli += pool->free_milli;
    enum hr_status status = check_nodes(engine, pool, usage);
    if (status != HR_OK) return status;
  }
  if (free_milli != engine->cluster.free_milli) return broken(engine, "the cluster's free GPUs differ");
  if (usage->all_milli != engine->view.allocated_milli) return broken(engine, "the allocated GPUs differ");
  return HR_OK;
}

static enum hr_status check_counts(const struct hr__engine *engine, const struct usage *usage) {
  if (usage->n_running != engine->view.n_running) return broken(engine, "the number of running jobs differs");
  uint64_t known = engine->view.n_waiting + engine->view.n_running + engine->n_completed + engine->n_rejected;
  if (known != engine->n_submitted || engine->n_submitted != engine->cursor)
    return broken(engine, "jobs are lost: %" PRIu64 " submitted, %" PRIu64 " known", engine->n_submitted, known);
  return HR_OK;
}

static enum hr_status check_jobs(const struct hr__engine *engine) {
  uint64_t count[HR_JOB_REJECTED + 1] = {0};
  for (uint32_t i = 0; i < engine->trace->n_jobs; i++) {
    uint8_t state = engine->state[i];
    count[state]++;
    bool started = state == HR_JOB_RUNNING || state == HR_JOB_COMPLETED;
    if (started != (engine->start_us[i] != HR_NEVER_US))
      return broken(engine, "job %" PRIu32 ": state and start differ", i);
    if (started && engine->start_us[i] < engine->trace->submit_us[i])
      return broken(engine, "job %" PRIu32 " starts before its submit", i);
  }
  bool same = count[HR_JOB_WAITING] == engine->view.n_waiting && count[HR_JOB_RUNNING] == engine->view.n_running &&
              count[HR_JOB_COMPLETED] == engine->n_completed && count[HR_JOB_REJECTED] == engine->n_rejected;
  return same ? HR_OK : broken(engine, "the counts of jobs by state differ from the jobs");
}

enum hr_status hr__check_state(const struct hr__engine *engine, bool every_job) {
  struct usage usage = {.pool_milli = calloc(engine->cluster.n_pools, sizeof *usage.pool_milli),
                        .node_milli = calloc(engine->cluster.n_nodes, sizeof *usage.node_milli)};
  enum hr_status status = HR_NO_MEMORY;
  if (usage.pool_milli && usage.node_milli) {
    status = add_running(engine, &usage);
    if (status == HR_OK) status = check_capacity(engine, &usage);
    if (status == HR_OK) status = check_counts(engine, &usage);
    if (status == HR_OK && every_job) status = check_jobs(engine);
  } else {
    hr_fail(engine->error, HR_NO_MEMORY, "out of memory");
  }
  free(usage.pool_milli);
  free(usage.node_milli);
  return status;
}
