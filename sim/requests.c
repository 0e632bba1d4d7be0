/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/requests.h"

#include "sim/digest.h"

#include <stdlib.h>
#include <string.h>

static uint32_t gcd(uint32_t a, uint32_t b) {
  while (b) {
    uint32_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* GPUs of the largest node that the job may go to; 0 where there is none. */
static uint32_t largest_node(const struct hr_cluster *cluster, uint32_t accept_class) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < hr_cluster_pools(cluster); i++) {
    uint32_t gpus = hr_cluster_pool_spec(cluster, (hr_pool){i})->gpus_per_node;
    if (hr_cluster_accepts(cluster, accept_class, (hr_pool){i}) && gpus > most) most = gpus;
  }
  return most;
}

/* A task that no node is large enough for, as where a trace does not tell tasks, is taken as several equal ones that
   fill the largest nodes as evenly as can be. */
static void split(struct hr_request *request, uint32_t largest) {
  if (largest == 0 || request->gpus <= largest) return;
  uint32_t gpus = gcd(request->gpus, largest), parts = request->gpus / gpus;
  request->tasks *= parts;
  request->gpus = gpus;
  request->cpu_milli = (request->cpu_milli + parts - 1) / parts;
  request->mem_mib = (request->mem_mib + parts - 1) / parts;
}

static struct hr_request request_of(const struct hr_cluster *cluster, const struct hr_trace *trace, hr_job job) {
  struct hr_request request = {.accept_class = hr_cluster_accept_class(cluster, job),
                               .tasks = trace->tasks ? trace->tasks[job.id] : 1,
                               .gpu_milli = trace->gpu_milli ? trace->gpu_milli[job.id] : HR_WHOLE_GPU_MILLI,
                               .gpu_mem_mib = trace->gpu_mem_mib ? (uint32_t)trace->gpu_mem_mib[job.id] : 0,
                               .cpu_milli = trace->cpu_milli ? trace->cpu_milli[job.id] : 0,
                               .mem_mib = trace->mem_mib ? trace->mem_mib[job.id] : 0};
  if (request.tasks == 0) request.tasks = 1;
  request.gpus = trace->gpus[job.id] / request.tasks;
  if (request.gpus == 0) request.gpu_milli = request.gpu_mem_mib = 0;
  split(&request, largest_node(cluster, request.accept_class));
  return request;
}

static uint64_t hash_of(const struct hr_request *request) {
  uint64_t hash = hr__digest_add(HR__DIGEST_SEED, (uint64_t)request->accept_class << 32 | request->tasks);
  hash = hr__digest_add(hash, (uint64_t)request->gpus << 32 | request->gpu_milli);
  hash = hr__digest_add(hash, (uint64_t)request->gpu_mem_mib << 32 | request->cpu_milli);
  return hr__digest_add(hash, request->mem_mib);
}

static bool same(const struct hr_request *a, const struct hr_request *b) {
  return a->accept_class == b->accept_class && a->tasks == b->tasks && a->gpus == b->gpus &&
         a->gpu_milli == b->gpu_milli && a->gpu_mem_mib == b->gpu_mem_mib && a->cpu_milli == b->cpu_milli &&
         a->mem_mib == b->mem_mib;
}

/* Open addressing: number + 1 by hash, 0 for empty. */
struct table {
  uint32_t *slot;
  uint32_t mask;
};

static uint32_t number_of(struct hr__requests *requests, struct table table, const struct hr_request *request) {
  uint32_t at = (uint32_t)hash_of(request) & table.mask;
  for (; table.slot[at]; at = (at + 1) & table.mask)
    if (same(&requests->of[table.slot[at] - 1], request)) return table.slot[at] - 1;
  requests->of[requests->count] = *request;
  table.slot[at] = ++requests->count;
  return requests->count - 1;
}

enum hr_status hr__requests_init(struct hr__requests *requests, struct hr_arena *arena,
                                 const struct hr_cluster *cluster, const struct hr_trace *trace) {
  size_t n_jobs = trace->n_jobs, n_slots = 4;
  while (n_slots < 2 * n_jobs) n_slots *= 2;
  struct hr_request *distinct = malloc((n_jobs + 1) * sizeof *distinct);
  struct table table = {calloc(n_slots, sizeof *table.slot), (uint32_t)(n_slots - 1)};
  *requests = (struct hr__requests){.of = distinct, .number = hr_arena_alloc(arena, (n_jobs + 1) * sizeof(uint32_t))};
  for (uint32_t job = 0; distinct && table.slot && requests->number && job < trace->n_jobs; job++) {
    struct hr_request request = request_of(cluster, trace, (hr_job){job});
    requests->number[job] = number_of(requests, table, &request);
  }
  requests->of = hr_arena_alloc(arena, ((size_t)requests->count + 1) * sizeof *requests->of);
  bool made = distinct && table.slot && requests->number && requests->of;
  if (made) memcpy(requests->of, distinct, requests->count * sizeof *distinct);
  free(distinct);
  free(table.slot);
  return made ? HR_OK : HR_NO_MEMORY;
}
