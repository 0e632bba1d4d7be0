/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Verifies a run from its events. The state is one entry per job, node and pool. The first violation is stored as text.
 */

#include "tracker.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MILLI = 1000 };

HR_PRINTF(2, 3) static void report_fault(struct tracker *tracker, const char *format, ...) {
  if (tracker->fault[0]) return;
  va_list args;
  va_start(args, format);
  vsnprintf(tracker->fault, sizeof tracker->fault, format, args);
  va_end(args);
}

bool tracker_init(struct tracker *tracker, const struct hr_trace *trace, const struct hr_cluster_spec *cluster) {
  *tracker = (struct tracker){.cluster = cluster, .trace = trace};
  for (uint32_t i = 0; i < cluster->n_pools; i++) tracker->n_nodes += cluster->pools[i].nodes;
  tracker->state = calloc(trace->n_jobs + 1, sizeof *tracker->state);
  tracker->node_used = calloc(tracker->n_nodes + 1, sizeof *tracker->node_used);
  tracker->pool_used = calloc(cluster->n_pools + 1, sizeof *tracker->pool_used);
  return tracker->state && tracker->node_used && tracker->pool_used;
}

void tracker_finish(struct tracker *tracker) {
  free(tracker->state);
  free(tracker->node_used);
  free(tracker->pool_used);
}

/* Returns the index of the first node of a pool. */
static uint32_t first_node(const struct tracker *tracker, uint32_t pool) {
  uint32_t first = 0;
  for (uint32_t i = 0; i < pool; i++) first += tracker->cluster->pools[i].nodes;
  return first;
}

/* Returns the GPUs that a job requests, in thousandths. Jobs request fractions only if the pools share their GPUs. */
static uint64_t job_milli(const struct tracker *tracker, uint32_t job) {
  bool shared = tracker->cluster->pools[0].sharing != HR_SHARING_WHOLE && tracker->trace->gpu_milli;
  return (uint64_t)tracker->trace->gpus[job] * (shared ? tracker->trace->gpu_milli[job] : MILLI);
}

/* Records the start of a job. Verifies that its nodes belong to one pool, that the placement has all requested GPUs,
   and that no node and no pool exceeds its capacity. */
static void allocate(struct tracker *tracker, uint32_t job, const struct hr_placement *placement) {
  uint64_t requested = job_milli(tracker, job), found = 0;
  if (requested == 0) return;
  const struct hr_pool_spec *pool = &tracker->cluster->pools[placement->pool.id];
  uint32_t first = first_node(tracker, placement->pool.id);
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    struct hr_slice slice = placement->slices[i];
    if (slice.node.id < first || slice.node.id - first >= pool->nodes) {
      report_fault(tracker, "job %" PRIu32 " has a node outside its pool", job);
      return;
    }
    found += slice.gpu_milli;
    tracker->node_used[slice.node.id] += slice.gpu_milli;
    if (tracker->node_used[slice.node.id] > pool->gpus_per_node * MILLI)
      report_fault(tracker, "node %" PRIu32 " is over its capacity", slice.node.id);
  }
  if (placement->n_slices && found != requested)
    report_fault(tracker, "job %" PRIu32 " does not have all its GPUs", job);
  tracker->pool_used[placement->pool.id] += requested;
  if (tracker->pool_used[placement->pool.id] > (uint64_t)pool->nodes * pool->gpus_per_node * MILLI)
    report_fault(tracker, "pool %" PRIu32 " is over its capacity", placement->pool.id);
}

/* Subtracts the GPUs of a job that ended or was stopped. */
static void release(struct tracker *tracker, uint32_t job, const struct hr_placement *placement) {
  uint64_t milli = job_milli(tracker, job);
  if (milli == 0) return;
  for (uint32_t i = 0; i < placement->n_slices; i++)
    tracker->node_used[placement->slices[i].node.id] -= placement->slices[i].gpu_milli;
  tracker->pool_used[placement->pool.id] -= milli;
}

/* Changes the state of a job and verifies the previous state. `what`: the event, for the message. */
static void change_state(struct tracker *tracker, uint32_t job, enum hr_job_state from, enum hr_job_state to,
                         const char *what) {
  if (tracker->state[job] != from) report_fault(tracker, "job %" PRIu32 ": %s in a wrong state", job, what);
  tracker->state[job] = (uint8_t)to;
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct tracker *tracker = self;
  uint32_t job = event->job.id;
  (void)view;
  switch (event->kind) {
  case HR_EVENT_SUBMIT:
    tracker->n_submitted++;
    change_state(tracker, job, HR_JOB_FUTURE, HR_JOB_WAITING, "submitted");
    return;
  case HR_EVENT_START:
    change_state(tracker, job, HR_JOB_WAITING, HR_JOB_RUNNING, "started");
    allocate(tracker, job, event->placement);
    return;
  case HR_EVENT_END:
    tracker->n_ended++;
    change_state(tracker, job, HR_JOB_RUNNING, HR_JOB_COMPLETED, "ended");
    release(tracker, job, event->placement);
    return;
  case HR_EVENT_INTERRUPT:
  case HR_EVENT_PREEMPT:
    change_state(tracker, job, HR_JOB_RUNNING, HR_JOB_WAITING, "stopped");
    release(tracker, job, event->placement);
    return;
  case HR_EVENT_REJECT:
    change_state(tracker, job, tracker->state[job] == HR_JOB_FUTURE ? HR_JOB_FUTURE : HR_JOB_WAITING, HR_JOB_REJECTED,
                 "rejected");
    return;
  default:
    return;
  }
}

struct hr_observer tracker_observer(struct tracker *tracker) {
  return (struct hr_observer){.self = tracker, .on_event = on_event};
}

/* Returns whether an empty pool has enough GPUs for the job. */
static bool fits_somewhere(const struct tracker *tracker, uint32_t job) {
  for (uint32_t i = 0; i < tracker->cluster->n_pools; i++) {
    const struct hr_pool_spec *pool = &tracker->cluster->pools[i];
    if ((uint64_t)pool->nodes * pool->gpus_per_node >= tracker->trace->gpus[job]) return true;
  }
  return tracker->trace->gpus[job] == 0;
}

void tracker_check_end(struct tracker *tracker, const struct hr_result *result) {
  for (uint32_t job = 0; job < tracker->trace->n_jobs; job++) {
    uint8_t reason = result->reason[job];
    bool allowed = reason == HR_REASON_POLICY || reason == HR_REASON_KILLED || reason == HR_REASON_OVER_QUOTA;
    if (tracker->state[job] == HR_JOB_REJECTED && fits_somewhere(tracker, job) && !allowed)
      report_fault(tracker, "job %" PRIu32 " was rejected, but fits", job);
    if (tracker->state[job] != HR_JOB_REJECTED && tracker->state[job] != HR_JOB_COMPLETED)
      report_fault(tracker, "job %" PRIu32 " never ended", job);
    if (tracker->state[job] != result->state[job])
      report_fault(tracker, "job %" PRIu32 ": the result has another state", job);
  }
}
