/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is filled and with what: the cluster's GPUs, the trace's requests, the pools that each accepts. */

#include "plan/filling.h"
#include "sim/accepts.h"
#include "sim/philox.h"

#include <math.h>
#include <stdlib.h>

static uint64_t asked_milli(const struct hr_request *request) {
  return (uint64_t)request->tasks * request->gpus * request->gpu_milli;
}

/* ---- Checks ----------------------------------------------------------------------------------------- */

static enum hr_status check_nodes(const struct hr_scenario *scenario, struct hr_error *error) {
  if (hr_cluster_spec_gpus(&scenario->cluster) == 0)
    return hr_fail(error, HR_BAD_INPUT, "%s: no pool has a node, so there is nothing to fill; one is needed at least",
                   scenario->path);
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++) {
    const struct hr_pool_spec *pool = &scenario->cluster.pools[i];
    if (pool->nodes > 0 && pool->gpus_per_node > HR_MAX_STOCK_GPUS)
      return hr_fail(error, HR_BAD_INPUT, "%s: pool '%.60s': a node has %u GPUs; fill takes at most %u", scenario->path,
                     pool->name, pool->gpus_per_node, HR_MAX_STOCK_GPUS);
  }
  return HR_OK;
}

enum { MOST_PODS = 200000000 };

/* How many pods a list will have, more or less. */
static enum hr_status check_pods(const struct hr__fill_input *input, struct hr_error *error) {
  double asked = 0, wanted = (double)input->target_milli;
  if (input->trace->within)
    return hr_fail(error, HR_BAD_INPUT, "%s: jobs are to be 'within' a group; to fill looks at one task at a time",
                   input->trace->source);
  for (uint32_t i = 0; i < input->requests->count; i++)
    asked += (double)input->requests->jobs[i] * (double)asked_milli(&input->requests->request[i]);
  if (asked <= 0)
    return hr_fail(error, HR_BAD_INPUT, "%s: no job asks for a GPU; a cluster cannot be filled with them",
                   input->trace->source);
  if (wanted / asked * input->trace->n_jobs > MOST_PODS)
    return hr_fail(error, HR_BAD_INPUT, "%s: more than %d of its jobs would be needed to fill the cluster",
                   input->trace->source, MOST_PODS);
  return HR_OK;
}

/* ---- Requests --------------------------------------------------------------------------------------- */

static bool is_barred_from_spot(const struct hr__fill_input *input, uint32_t job) {
  const struct hr_trace *trace = input->trace;
  if (trace->flags && trace->flags[job] & HR_JOB_NOT_INTERRUPTIBLE) return true;
  return input->scenario->classes[trace->class_ ? trace->class_[job] : HR_CLASS_UNKNOWN].no_spot;
}

/* Accept classes are made as for a run. */
static bool find_requests(struct hr__fill_input *input) {
  const struct hr_scenario *scenario = input->scenario;
  const struct hr_trace *trace = input->trace;
  struct hr_arena *arena = &input->arena;
  struct hr__speeds *speeds = hr_arena_alloc(arena, sizeof *speeds);
  struct hr__accepts *accepts = hr_arena_alloc(arena, sizeof *accepts);
  uint32_t *class_ = hr_arena_alloc(arena, ((size_t)trace->n_jobs + 1) * sizeof *class_);
  if (!speeds || !accepts || !class_ ||
      hr__speeds_init(speeds, arena, scenario->speeds, &scenario->cluster, trace) != HR_OK ||
      hr__accepts_init(accepts, arena, &scenario->cluster, trace, speeds) != HR_OK)
    return false;
  for (uint32_t i = 0; i < trace->n_jobs; i++)
    class_[i] = hr__accepts_class(accepts, trace, (hr_job){i}, is_barred_from_spot(input, i));
  input->acceptance = (struct hr_acceptance){accepts->classes.row, accepts->classes.count, accepts->classes.n_pools};
  input->requests = hr_requests_create(arena, trace, class_, NULL, &scenario->cluster);
  if (input->requests) input->typical = hr_typical_pods_create(arena, input->requests);
  return input->requests && input->typical;
}

enum hr_status hr__fill_input_make(struct hr__fill_input *input, const struct hr_fill_config *config,
                                   struct hr_error *error) {
  *input = (struct hr__fill_input){.scenario = config->scenario, .trace = config->trace};
  input->capacity_milli = hr_cluster_spec_gpus(&config->scenario->cluster) * HR_WHOLE_GPU_MILLI;
  input->target_milli = (uint64_t)ceil(config->to * (double)input->capacity_milli - 1e-6);
  input->last = (uint32_t)(config->to * 100 + 1e-6);
  enum hr_status status = check_nodes(config->scenario, error);
  if (status == HR_OK && !find_requests(input)) status = hr_fail(error, HR_NO_MEMORY, "out of memory");
  return status == HR_OK ? check_pods(input, error) : status;
}

void hr__fill_input_finish(struct hr__fill_input *input) {
  hr__arena_finish(&input->arena);
}

/* ---- Pods ------------------------------------------------------------------------------------------- */

static uint32_t below(struct hr__stream *stream, uint32_t bound) {
  return (uint32_t)((uint64_t)hr__stream_next(stream) * bound >> 32);
}

static void shuffle(uint32_t *pods, uint32_t count, uint64_t seed) {
  struct hr__stream stream;
  hr__stream_init(&stream, seed, HR__PURPOSE_SHUFFLE, 0, 0);
  for (uint32_t left = count; left > 1; left--) {
    uint32_t other = below(&stream, left), pod = pods[left - 1];
    pods[left - 1] = pods[other];
    pods[other] = pod;
  }
}

uint32_t *hr__fill_pods(const struct hr__fill_input *input, uint64_t seed, uint32_t *count) {
  const struct hr_requests *requests = input->requests;
  struct hr__stream stream;
  uint32_t *pods = NULL, capacity = 0;
  uint64_t milli = 0;
  *count = 0;
  hr__stream_init(&stream, seed, HR__PURPOSE_SAMPLE, 0, 0);
  while (milli < input->target_milli) {
    if (*count == capacity) {
      capacity = capacity ? 2 * capacity : 4096;
      uint32_t *grown = realloc(pods, capacity * sizeof *grown);
      if (!grown) {
        free(pods);
        return NULL;
      }
      pods = grown;
    }
    pods[*count] = requests->of_job[below(&stream, input->trace->n_jobs)];
    milli += asked_milli(&requests->request[pods[(*count)++]]);
  }
  shuffle(pods, *count, seed);
  return pods;
}
