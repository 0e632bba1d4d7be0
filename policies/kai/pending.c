/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why jobs are pending, in the words of KAI's pod groups: a queue is at its limit or quota, or nodes lack resources.
 *
 * Everything is computed from the state of the session between two cycles. Nodes that are not up are not counted.
 *
 * Source: KAI-Scheduler, pkg/scheduler/api/unschedule_info.go and pkg/scheduler/api/common_info/pod_errors.go.
 */

#include "policies/kai/node_usage.h"
#include "policies/kai/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- Queues and nodes ---------------------------------------------------------------------------------- */

/* The pods that a job needs to start. */
static uint32_t needed_pods(const struct hr__kai_world *world, uint32_t slot) {
  return world->sets[slot].min_available;
}

/* What the pods that a job needs request. */
static struct hr__kai_amounts request_of_job(const struct hr__kai_world *world, uint32_t slot) {
  struct hr__kai_amounts sum = {{0}};
  const uint32_t first = world->jobs[slot].first_pod;
  for (uint32_t p = first; p < first + needed_pods(world, slot); p++) hr__kai_add(&sum, &world->pods[p].quota);
  return sum;
}

/* How many pods with this request fit on the idle capacity on a node. */
static int64_t pods_on(const struct hr__kai_world *world, const int64_t *request, const int64_t *idle) {
  int64_t n = INT64_MAX;
  for (uint32_t d = 0; d < world->cluster.n_dims; d++)
    if (request[d] > 0 && idle[d] / request[d] < n) n = idle[d] / request[d];
  return n > 0 ? n : 0;
}

bool hr__kai_fits_somewhere(const struct hr__kai_world *world, uint32_t slot) {
  const struct hr__kai_job *job = &world->jobs[slot];
  const struct hr__kai_kind *kind = &world->kinds[world->kind_of[slot]];
  const uint32_t n_dims = world->cluster.n_dims, n_needed = needed_pods(world, slot);
  int64_t n_fit = 0;
  bool last_fits = false;
  for (uint32_t n = 0; n < world->cluster.n_nodes; n++) {
    const int64_t *idle = world->session->idle + (size_t)n * n_dims;
    if (!kind->allowed_nodes[n] || !hr__kai_fits(world->session, job->first_pod + job->n_pods - 1, n, false)) continue;
    const int64_t on_node = pods_on(world, kind->amounts, idle);
    n_fit += on_node < n_needed ? on_node : n_needed;
    const int64_t left = idle[HR__KAI_DIM_GPUS] - on_node * kind->amounts[HR__KAI_DIM_GPUS];
    last_fits = last_fits || (kind->last_gpus < kind->pod_gpus && left >= (int64_t)kind->last_gpus);
  }
  return n_fit >= n_needed || (last_fits && n_fit + 1 == n_needed);
}

uint32_t hr__kai_full_queue(const struct hr__kai_world *world, uint32_t slot, bool *over_quota) {
  const struct hr__kai_job *job = &world->jobs[slot];
  const struct hr__kai_amounts request = request_of_job(world, slot);
  *over_quota = false;
  for (uint32_t q = job->queue; q != HR__KAI_NONE; q = world->queues[q].parent) {
    *over_quota = !job->preemptible && hr__kai_over_quota(&world->queues[q], &request);
    if (*over_quota || hr__kai_over_limit(&world->queues[q], &request)) return q;
  }
  return HR_NONE;
}

/* ---- Words --------------------------------------------------------------------------------------------- */

/* The resources of queues: word in the limit message, unit, amounts in one unit. */
static const struct resource_word {
  const char *word, *unit, *quota_unit;
  double one;
} resource_words[HR__KAI_RESOURCES] = {
    [HR__KAI_CPU] = {"CPU cores", "cores", "CPU cores", 1000},
    [HR__KAI_MEM] = {"memory", "GB", "GB memory", 1e9},
    [HR__KAI_GPU] = {"GPUs", "GPUs", "GPUs", HR__KAI_GPU_UNIT},
};

/* An amount with at most three decimals, without zeros at the end. */
static const char *amount_text(int64_t amount, double one, char text[32]) {
  snprintf(text, 32, "%.3f", (double)amount / one);
  size_t n = strlen(text);
  while (n > 0 && text[n - 1] == '0') text[--n] = '\0';
  if (n > 0 && text[n - 1] == '.') text[n - 1] = '\0';
  return text;
}

static void describe_queue(const struct hr__kai_world *world, uint32_t slot, uint32_t queue, bool over_quota,
                           char *text, size_t size) {
  const struct hr__kai_amounts request = request_of_job(world, slot);
  char bound[32], used[32], asked[32];
  for (int r = 0; r < HR__KAI_RESOURCES; r++) {
    const struct hr__kai_share *share = &world->queues[queue].share[r];
    const struct resource_word *word = &resource_words[r];
    const int64_t most = over_quota ? share->deserved : share->limit;
    const int64_t held = over_quota ? share->allocated_non_preemptible : share->allocated;
    if (most == HR__KAI_UNLIMITED || request.of[r] == 0 || held + request.of[r] <= most) continue;
    amount_text(most, word->one, bound);
    amount_text(held, word->one, used);
    amount_text(request.of[r], word->one, asked);
    if (over_quota)
      snprintf(
          text, size,
          "Non-preemptible workload is over quota. Workload requested %s %s, but %.60s quota is %s %s, while %s %s "
          "are already allocated for non-preemptible pods. Use a preemptible workload to go over quota.",
          asked, word->quota_unit, world->queue_names[queue], bound, word->unit, used, word->unit);
    else
      snprintf(text, size,
               "%.60s quota has reached the allowable limit of %s. Limit is %s %s, currently %s %s allocated and "
               "workload requested %s %s",
               world->queue_names[queue], word->word, bound, word->unit, used, word->unit, asked, word->unit);
    return;
  }
}

/* The nodes on which one more pod of a job does not fit, by what they lack. */
struct lacks {
  uint32_t other, cpu, gpus, mem, n_fit;
};

/* Counts what nodes lack after they took as many pods of the job as fit. */
static struct lacks count_lacks(const struct hr__kai_world *world, uint32_t slot) {
  const struct hr__kai_job *job = &world->jobs[slot];
  const struct hr__kai_kind *kind = &world->kinds[world->kind_of[slot]];
  const uint32_t n_needed = needed_pods(world, slot);
  struct lacks lacks = {0};
  for (uint32_t n = 0; n < world->cluster.n_nodes; n++) {
    const int64_t *idle = world->session->idle + (size_t)n * world->cluster.n_dims;
    if (!world->is_up[n]) continue;
    if (!kind->allowed_nodes[n]) {
      lacks.other++;
      continue;
    }
    const bool fits = hr__kai_fits(world->session, job->first_pod, n, false);
    const int64_t on_node = fits ? pods_on(world, kind->amounts, idle) : 0;
    if (on_node >= n_needed - lacks.n_fit) lacks.n_fit = n_needed;
    if (lacks.n_fit < n_needed) lacks.n_fit += (uint32_t)on_node;
    bool some = false;
    for (uint32_t d = 0; d < world->cluster.n_dims; d++) {
      if (d == HR__KAI_DIM_PODS || idle[d] - on_node * kind->amounts[d] >= kind->amounts[d]) continue;
      some = true;
      lacks.cpu += d == HR__KAI_DIM_CPU;
      lacks.mem += d == HR__KAI_DIM_MEM;
      lacks.gpus += d >= HR__KAI_DIM_GPUS;
    }
    lacks.gpus += !some;
  }
  return lacks;
}

/* Appends "N node(s) WORDS". */
static void append(char *text, size_t size, uint32_t n, const char *words, const char *name) {
  const size_t used = strlen(text);
  if (n == 0 || used >= size) return;
  snprintf(text + used, size - used, "%s %" PRIu32 " node(s) %s%s", text[used - 1] == ':' ? "" : ".", n, words, name);
}

static void describe_nodes(const struct hr__kai_world *world, uint32_t slot, char *text, size_t size) {
  const struct hr__kai_kind *kind = &world->kinds[world->kind_of[slot]];
  const struct lacks lacks = count_lacks(world, slot);
  const char *profile = NULL;
  for (uint32_t d = HR__KAI_DIM_MIG; d < world->cluster.n_dims; d++)
    if (kind->amounts[d] > 0) profile = world->profiles[d - HR__KAI_DIM_MIG];
  const uint32_t n_needed = needed_pods(world, slot);
  if (n_needed > 1)
    snprintf(text, size,
             "Resources were found for %" PRIu32 " pods while %" PRIu32 " are required for gang scheduling. Additional "
             "pods cannot be scheduled due to: no nodes with enough resources were found:",
             lacks.n_fit < n_needed ? lacks.n_fit : n_needed - 1, n_needed);
  else
    snprintf(text, size, "Resources were not found for the pod due to: no nodes with enough resources were found:");
  append(text, size, lacks.cpu, "didn't have enough resources: CPU cores", "");
  append(text, size, lacks.gpus,
         profile ? "didn't have enough of mig profile: nvidia.com/mig-" : "didn't have enough resources: GPUs",
         profile ? profile : "");
  append(text, size, lacks.mem, "didn't have enough resources: memory", "");
  append(text, size, lacks.other, "didn't match Pod's node affinity/selector", "");
  const size_t used = strlen(text);
  if (used > 0 && used + 1 < size) memcpy(text + used - (text[used - 1] == ':'), ".", 2);
}

void hr__kai_describe(const struct hr__kai_world *world, uint32_t slot, char *text, size_t size) {
  bool over_quota;
  const uint32_t queue = hr__kai_full_queue(world, slot, &over_quota);
  if (queue != HR_NONE)
    describe_queue(world, slot, queue, over_quota, text, size);
  else if (!hr__kai_fits_somewhere(world, slot))
    describe_nodes(world, slot, text, size);
}
