/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The distinct requests of a trace, through a hash table that doubles when half full. */

#include "sim/requests.h"

#include "sim/arena.h"
#include "sim/cluster.h"
#include "sim/mig_needs.h"

/* ---- One job ---------------------------------------------------------------------------------------- */

static uint32_t at_most(uint64_t value, uint32_t most) {
  return value > most ? most : (uint32_t)value;
}

static uint32_t gcd(uint32_t a, uint32_t b) {
  while (b) {
    uint32_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* As equal tasks that fill nodes of so many GPUs as evenly as can be. */
static void split(struct hr_request *request, uint32_t most_gpus) {
  if (most_gpus == 0 || request->gpus <= most_gpus) return;
  uint32_t gpus = gcd(request->gpus, most_gpus), parts = request->gpus / gpus;
  request->tasks *= parts;
  request->gpus = gpus;
  request->cpu_milli = (request->cpu_milli + parts - 1) / parts;
  request->mem_mib = (request->mem_mib + parts - 1) / parts;
}

/* What jobs are looked at with; `accept_class`, `most_gpus`: as they were given. */
struct reader {
  const struct hr_trace *trace;
  const struct hr_cluster *cluster; /* NULL: accept classes are as given */
  const uint32_t *accept_class, *most_gpus;
  struct hr__mig_needs mig;
};

static uint32_t class_of(const struct reader *reader, hr_job job) {
  if (reader->cluster) return hr_cluster_accept_class(reader->cluster, job);
  return reader->accept_class ? reader->accept_class[job.id] : 0;
}

static struct hr_request request_of(const struct reader *reader, hr_job job) {
  const struct hr_trace *trace = reader->trace;
  uint32_t i = job.id, tasks = trace->tasks && trace->tasks[i] ? trace->tasks[i] : 1, gpus = trace->gpus[i];
  struct hr_request request = {.accept_class = class_of(reader, job),
                               .tasks = tasks,
                               .gpus = gpus / tasks + (gpus % tasks != 0),
                               .cpu_milli = trace->cpu_milli ? trace->cpu_milli[i] : 0,
                               .mem_mib = trace->mem_mib ? trace->mem_mib[i] : 0,
                               .dedicated = trace->flags && trace->flags[i] & HR_JOB_DEDICATED};
  if (gpus == 0) return request;
  request.gpu_milli = trace->gpu_milli ? trace->gpu_milli[i] : HR_WHOLE_GPU_MILLI;
  request.gpu_mem_mib = trace->gpu_mem_mib ? at_most(trace->gpu_mem_mib[i], HR_NONE - 1) : 0;
  if (reader->most_gpus) split(&request, reader->most_gpus[request.accept_class]);
  return request;
}

/* ---- The table -------------------------------------------------------------------------------------- */

struct table {
  struct hr_arena *arena;
  struct hr_requests *requests;
  uint32_t *slot; /* [size], number of a request + 1, 0: empty */
  uint32_t size, capacity;
};

static uint64_t hash_of(const struct hr_request *request) {
  const uint64_t parts[] = {(uint64_t)request->accept_class << 32 | request->tasks,
                            (uint64_t)request->gpus << 32 | request->gpu_milli,
                            (uint64_t)request->gpu_mem_mib << 32 | request->cpu_milli, request->mem_mib,
                            (uint64_t)request->mig_need << 32 | request->dedicated};
  uint64_t hash = 0;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    hash = (hash ^ parts[i]) * UINT64_C(0x9E3779B97F4A7C15);
    hash ^= hash >> 32;
  }
  return hash;
}

static bool same(const struct hr_request *a, const struct hr_request *b) {
  return a->accept_class == b->accept_class && a->tasks == b->tasks && a->gpus == b->gpus &&
         a->gpu_milli == b->gpu_milli && a->gpu_mem_mib == b->gpu_mem_mib && a->cpu_milli == b->cpu_milli &&
         a->mem_mib == b->mem_mib && a->dedicated == b->dedicated && a->mig_need == b->mig_need;
}

/* The slot that holds the request, or the empty one where it belongs. */
static uint32_t *slot_of(const struct table *table, const struct hr_request *request) {
  uint32_t at = (uint32_t)hash_of(request) & (table->size - 1);
  while (table->slot[at] && !same(&table->requests->request[table->slot[at] - 1], request))
    at = (at + 1) & (table->size - 1);
  return &table->slot[at];
}

static bool grow(struct table *table) {
  struct hr_requests *requests = table->requests;
  uint32_t capacity = table->capacity, same_capacity = table->capacity;
  struct hr_request *request = hr_arena_grown(table->arena, requests->request, &capacity, sizeof *request);
  uint64_t *jobs = hr_arena_grown(table->arena, requests->jobs, &same_capacity, sizeof *jobs);
  uint32_t *slot = hr_arena_alloc(table->arena, (size_t)2 * capacity * sizeof *slot);
  if (!request || !jobs || !slot) return false;
  requests->request = request;
  requests->jobs = jobs;
  *table = (struct table){table->arena, requests, slot, 2 * capacity, capacity};
  for (uint32_t i = 0; i < requests->count; i++) *slot_of(table, &request[i]) = i + 1;
  return true;
}

/* The request's number; HR_NONE when out of memory. */
static uint32_t number_of(struct table *table, const struct hr_request *request) {
  struct hr_requests *requests = table->requests;
  if ((!table->slot || requests->count == table->capacity) && !grow(table)) return HR_NONE;
  uint32_t *slot = slot_of(table, request);
  if (*slot == 0) {
    requests->request[requests->count++] = *request;
    *slot = requests->count;
  }
  return *slot - 1;
}

/* ---- All of a trace --------------------------------------------------------------------------------- */

struct hr__request_reader {
  struct table table;
  struct reader reader;
};

/* The number of what a job asks for; HR_NONE when out of memory. */
static uint32_t find(struct hr__request_reader *self, hr_job job) {
  struct hr_request request = request_of(&self->reader, job);
  if (!hr__mig_needs_add(&self->reader.mig, self->reader.trace, job, &request)) return HR_NONE;
  return number_of(&self->table, &request);
}

static bool count_jobs(struct hr_requests *requests) {
  struct hr__request_reader *self = requests->reader;
  struct hr_arena *arena = self->table.arena;
  const struct hr_cluster *cluster = self->reader.cluster;
  for (uint32_t job = 0; job < self->reader.trace->n_jobs; job++) {
    if (arena->retire && cluster) hr__cluster_meet(cluster, (hr_job){job});
    uint32_t number = find(self, (hr_job){job});
    if (number == HR_NONE) return false;
    requests->jobs[number]++;
    if (!arena->retire) requests->of_job[job] = number;
    hr_arena_passed_job(arena, (hr_job){job});
  }
  requests->mig_needs = self->reader.mig.count;
  return true;
}

/* All that jobs may ask for is in the table. */
void hr__requests_find(const struct hr_requests *requests, hr_job job) {
  requests->of_job[job.id] = find(requests->reader, job);
}

static struct hr_requests *make(struct hr_arena *arena, const struct reader *reader,
                                const struct hr_cluster_spec *cluster) {
  struct hr_requests *requests = hr_arena_alloc(arena, sizeof *requests);
  struct hr__request_reader *self = hr_arena_alloc(arena, sizeof *self);
  if (!requests || !self) return NULL;
  *self = (struct hr__request_reader){{.arena = arena, .requests = requests}, *reader};
  requests->reader = self;
  requests->of_job = hr_arena_alloc_by_job(arena, reader->trace->n_jobs, sizeof *requests->of_job);
  if (!requests->of_job || hr__mig_needs_init(&self->reader.mig, arena, cluster, reader->trace) != HR_OK) return NULL;
  return count_jobs(requests) ? requests : NULL;
}

struct hr_requests *hr_requests_create(struct hr_arena *arena, const struct hr_trace *trace,
                                       const uint32_t *accept_class, const uint32_t *most_gpus,
                                       const struct hr_cluster_spec *cluster) {
  const struct reader reader = {.trace = trace, .accept_class = accept_class, .most_gpus = most_gpus};
  return make(arena, &reader, cluster);
}

struct hr_requests *hr__requests_create(struct hr_arena *arena, const struct hr_cluster *cluster,
                                        const struct hr_trace *trace, const uint32_t *most_gpus) {
  const struct reader reader = {.trace = trace, .cluster = cluster, .most_gpus = most_gpus};
  return make(arena, &reader, hr_cluster_spec_of(cluster));
}
