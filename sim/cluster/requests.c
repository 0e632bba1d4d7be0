/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The distinct requests of a trace. They are numbered in the order of first appearance and found through a hash table.
 * Policies can therefore handle each distinct request once instead of each job.
 *
 * In clusters with MIG, a request also has an array with one set of profiles for each pool. Any profile of the set
 * suffices for the request. Equal arrays are stored once.
 */

#include "sim/cluster/cluster.h"

#include "base/containers.h"
#include "headroom/policy.h"

#include <string.h>

struct mig_needs {
  struct hr_arena *arena;
  const struct hr_cluster_spec *cluster; /* NULL if no GPU is partitioned */
  const uint16_t **need;                 /* [count]: the distinct arrays; each has n_pools sets */
  uint32_t count, capacity;
  uint16_t *scratch;     /* [n_pools]: the array for the present request, before it is stored */
  struct mig_name *name; /* indexed by the number of the profile name in the trace */
};

/* Initializes `needs`. `cluster` may be NULL. Returns HR_OK or HR_NO_MEMORY. */
static enum hr_status mig_needs_init(struct mig_needs *needs, struct hr_arena *arena,
                                     const struct hr_cluster_spec *cluster, const struct hr_trace *trace);
/* Sets the profiles that suffice for a job's request. If the job names a profile, only this profile suffices, and only
   if it has the memory that the job requests. If the job names no profile, all profiles suffice that have no media
   engines and have at least the requested memory and compute slices. A job that names a profile need not state its
   share of a GPU or its GPU memory. A missing share is set to the share of the profile, and a missing memory size to
   the memory of the profile, both in the first pool that has the profile. No profile suffices for a task with several
   GPUs, because instances cannot communicate with each other. Returns false if memory is exhausted. */
static bool mig_needs_add(struct mig_needs *needs, const struct hr_trace *trace, hr_job job,
                          struct hr_request *request);

/* ---- The request of a job ---- */

static uint32_t limit_to(uint64_t value, uint32_t limit) {
  return value > limit ? limit : (uint32_t)value;
}

static uint32_t gcd(uint32_t a, uint32_t b) {
  while (b) {
    uint32_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* If a task requests more GPUs than the largest node has, splits it into equal tasks. Each of these gets as many GPUs
   as possible, but a divisor both of the requested number and of `max_gpus`, so that the tasks fill nodes evenly. */
static void split(struct hr_request *request, uint32_t max_gpus) {
  if (max_gpus == 0 || request->gpus <= max_gpus) return;
  uint32_t gpus = gcd(request->gpus, max_gpus), parts = request->gpus / gpus;
  request->tasks *= parts;
  request->gpus = gpus;
  request->cpu_milli = (request->cpu_milli + parts - 1) / parts;
  request->mem_mib = (request->mem_mib + parts - 1) / parts;
}

/* The data from which the request of a job is derived. */
struct requests_reader {
  const struct hr_trace *trace;
  const struct hr__accepts *accepts; /* if NULL, the accept classes are in `accept_class` */
  const uint32_t *accept_class, *max_gpus;
  struct mig_needs mig;
};

static uint32_t class_of(const struct requests_reader *reader, hr_job job) {
  if (reader->accepts) return hr__accepts_class(reader->accepts, job);
  return reader->accept_class ? reader->accept_class[job.id] : 0;
}

static struct hr_request request_of(const struct requests_reader *reader, hr_job job) {
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
  request.gpu_mem_mib = trace->gpu_mem_mib ? limit_to(trace->gpu_mem_mib[i], HR_NONE - 1) : 0;
  if (reader->max_gpus) split(&request, reader->max_gpus[request.accept_class]);
  return request;
}

/* ---- Table of requests ---- */

struct requests_table {
  struct hr_arena *arena;
  struct hr_requests *requests;
  uint32_t capacity;
  struct hr__hash numbers; /* maps a request to its index */
};

static uint32_t hash_of(const struct hr_request *request) {
  uint64_t digest = hr__digest_add(0, (uint64_t)request->accept_class << 32 | request->tasks);
  digest = hr__digest_add(digest, (uint64_t)request->gpus << 32 | request->gpu_milli);
  digest = hr__digest_add(digest, (uint64_t)request->gpu_mem_mib << 32 | request->cpu_milli);
  digest = hr__digest_add(digest, request->mem_mib);
  return (uint32_t)hr__digest_add(digest, (uint64_t)request->mig_need << 32 | request->dedicated);
}

static bool same(const struct hr_request *a, const struct hr_request *b) {
  return a->accept_class == b->accept_class && a->tasks == b->tasks && a->gpus == b->gpus &&
         a->gpu_milli == b->gpu_milli && a->gpu_mem_mib == b->gpu_mem_mib && a->cpu_milli == b->cpu_milli &&
         a->mem_mib == b->mem_mib && a->dedicated == b->dedicated && a->mig_need == b->mig_need &&
         a->prefers_mig == b->prefers_mig;
}

static bool grow(struct requests_table *table) {
  struct hr_requests *requests = table->requests;
  uint32_t capacity = table->capacity, same_capacity = table->capacity;
  struct hr_request *request = hr_arena_grown(table->arena, requests->request, &capacity, sizeof *request);
  uint64_t *jobs = hr_arena_grown(table->arena, requests->jobs, &same_capacity, sizeof *jobs);
  if (!request || !jobs) return false;
  requests->request = request;
  requests->jobs = jobs;
  table->capacity = capacity;
  return true;
}

/* Returns the index of the request in the table. If the table has no equal request, the function adds it. Returns
   HR_NONE if memory is exhausted. */
static uint32_t number_of(struct requests_table *table, const struct hr_request *request) {
  struct hr_requests *requests = table->requests;
  struct hr__hash_cursor at;
  uint32_t hash = hash_of(request), number = hr__hash_first(&table->numbers, hash, &at);
  while (number != HR_NONE && !same(&requests->request[number], request)) number = hr__hash_next(&table->numbers, &at);
  if (number != HR_NONE) return number;
  if (requests->count == table->capacity && !grow(table)) return HR_NONE;
  if (!hr__hash_add(&table->numbers, table->arena, hash, requests->count)) return HR_NONE;
  requests->request[requests->count] = *request;
  return requests->count++;
}

/* ---- All jobs of a trace ---- */

struct hr__request_reader {
  struct requests_table table;
  struct requests_reader reader;
};

/* Returns the index of a job's request in the table, or HR_NONE if memory is exhausted. */
static uint32_t find(struct hr__request_reader *self, hr_job job) {
  struct hr_request request = request_of(&self->reader, job);
  if (!mig_needs_add(&self->reader.mig, self->reader.trace, job, &request)) return HR_NONE;
  return number_of(&self->table, &request);
}

static bool count_jobs(struct hr_requests *requests) {
  struct hr__request_reader *self = requests->reader;
  struct hr_arena *arena = self->table.arena;
  const struct hr__accepts *accepts = self->reader.accepts;
  for (uint32_t job = 0; job < self->reader.trace->n_jobs; job++) {
    if (hr__arena_is_streamed(arena) && accepts) hr__speeds_find_row(accepts->speeds, accepts->trace, (hr_job){job});
    uint32_t number = find(self, (hr_job){job});
    if (number == HR_NONE) return false;
    requests->jobs[number]++;
    if (!hr__arena_is_streamed(arena)) requests->of_job[job] = number;
    hr_arena_passed_job(arena, (hr_job){job});
  }
  requests->mig_needs = self->reader.mig.count;
  return true;
}

/* The look-up always succeeds, because in a streamed run all requests are added to the table before the run begins. */
void hr__requests_submit(const struct hr_requests *requests, hr_job job) {
  requests->of_job[job.id] = find(requests->reader, job);
}

static struct hr_requests *make(struct hr_arena *arena, const struct requests_reader *reader,
                                const struct hr_cluster_spec *cluster) {
  struct hr_requests *requests = hr_arena_alloc(arena, sizeof *requests);
  struct hr__request_reader *self = hr_arena_alloc(arena, sizeof *self);
  if (!requests || !self) return NULL;
  *self = (struct hr__request_reader){{.arena = arena, .requests = requests}, *reader};
  requests->reader = self;
  requests->of_job = hr_arena_alloc_by_job(arena, reader->trace->n_jobs, sizeof *requests->of_job);
  if (!requests->of_job || mig_needs_init(&self->reader.mig, arena, cluster, reader->trace) != HR_OK) return NULL;
  return count_jobs(requests) ? requests : NULL;
}

struct hr_requests *hr_requests_create(struct hr_arena *arena, const struct hr_trace *trace,
                                       const uint32_t *accept_class, const uint32_t *max_gpus,
                                       const struct hr_cluster_spec *cluster) {
  const struct requests_reader reader = {.trace = trace, .accept_class = accept_class, .max_gpus = max_gpus};
  return make(arena, &reader, cluster);
}

struct hr_requests *hr__requests_create(struct hr_arena *arena, const struct hr__accepts *accepts,
                                        const uint32_t *max_gpus, const struct hr_cluster_spec *cluster) {
  const struct requests_reader reader = {.trace = accepts->trace, .accepts = accepts, .max_gpus = max_gpus};
  return make(arena, &reader, cluster);
}

/* The meaning of a profile name in each pool. */
struct mig_name {
  uint16_t *profile; /* [n_pools]: the set that contains only the named profile, or the empty set if the pool does not
                        have the profile */
  uint32_t gpu_milli, mem_mib; /* share and memory of the profile in the first pool that has it; 0 if no pool has it */
};

/* Returns the MIG settings of a pool, or NULL if the pool has no partitioned GPUs. */
static const struct hr_mig_spec *split_of(const struct hr_cluster_spec *cluster, uint32_t pool) {
  return cluster->pools[pool].nodes > 0 ? cluster->pools[pool].mig : NULL;
}

/* ---- Profile names ---- */

static uint32_t compute_milli(const struct hr_mig_type *type, uint32_t profile) {
  uint32_t slices = type->compute_slices;
  return (type->profiles[profile].compute_slices * HR_WHOLE_GPU_MILLI + slices - 1) / slices;
}

static bool read_name(const struct mig_needs *needs, const char *text, struct mig_name *name) {
  const struct hr_cluster_spec *cluster = needs->cluster;
  name->profile = hr_arena_alloc(needs->arena, cluster->n_pools * sizeof *name->profile);
  if (!name->profile) return false;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_mig_spec *mig = split_of(cluster, i);
    uint32_t profile;
    if (!mig || hr_mig_profile_parse(&mig->type, text, &profile, NULL) != HR_OK) continue;
    name->profile[i] = (uint16_t)(1U << profile);
    if (name->gpu_milli) continue;
    name->gpu_milli = compute_milli(&mig->type, profile);
    name->mem_mib = mig->type.profiles[profile].mem_mib;
  }
  return true;
}

static enum hr_status mig_needs_init(struct mig_needs *needs, struct hr_arena *arena,
                                     const struct hr_cluster_spec *cluster, const struct hr_trace *trace) {
  bool any = false;
  for (uint32_t i = 0; cluster && i < cluster->n_pools; i++) any = any || split_of(cluster, i);
  *needs = (struct mig_needs){.arena = arena, .cluster = any ? cluster : NULL};
  if (!any) return HR_OK;
  needs->scratch = hr_arena_alloc(arena, cluster->n_pools * sizeof *needs->scratch);
  needs->name = hr_arena_alloc(arena, ((size_t)trace->mig_profiles.count + 1) * sizeof *needs->name);
  if (!needs->scratch || !needs->name) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < trace->mig_profiles.count; i++)
    if (!read_name(needs, trace->mig_profiles.text[i], &needs->name[i])) return HR_NO_MEMORY;
  return HR_OK;
}

/* ---- Suitable profiles ---- */

static uint16_t enough(const struct hr_mig_spec *mig, const struct hr_request *request) {
  uint32_t profiles = 0;
  for (uint32_t i = 0; mig && i < mig->type.n_profiles; i++) {
    const struct hr_mig_profile *profile = &mig->type.profiles[i];
    bool has = profile->mem_mib >= request->gpu_mem_mib && compute_milli(&mig->type, i) >= request->gpu_milli;
    profiles |= (uint32_t)(has && !profile->media) << i;
  }
  return (uint16_t)profiles;
}

/* Returns the stored array that equals the scratch array. If none exists, the function stores a copy of the scratch
   array. Returns NULL if memory is exhausted. */
static const uint16_t *intern_needs(struct mig_needs *needs, uint32_t *number) {
  size_t bytes = needs->cluster->n_pools * sizeof *needs->scratch;
  for (*number = 0; *number < needs->count; ++*number)
    if (memcmp(needs->need[*number], needs->scratch, bytes) == 0) return needs->need[*number];
  if (needs->count == needs->capacity)
    needs->need = hr_arena_grown(needs->arena, needs->need, &needs->capacity, sizeof *needs->need);
  uint16_t *copy = needs->need ? hr_arena_alloc(needs->arena, bytes) : NULL;
  if (!copy) return NULL;
  memcpy(copy, needs->scratch, bytes);
  return needs->need[needs->count++] = copy;
}

static const struct mig_name *name_of(const struct mig_needs *needs, const struct hr_trace *trace, hr_job job) {
  uint32_t number = trace->mig_profile ? trace->mig_profile[job.id] : HR_NONE;
  return number == HR_NONE ? NULL : &needs->name[number];
}

/* Returns the set that contains only the named profile, or the empty set if the profile has less memory than the job
   requests. */
static uint16_t named_in(const struct mig_needs *needs, const struct mig_name *name, uint32_t pool,
                         uint64_t requested_mib) {
  const struct hr_mig_spec *mig = split_of(needs->cluster, pool);
  uint32_t profiles = name->profile[pool];
  return profiles && mig->type.profiles[__builtin_ctz(profiles)].mem_mib >= requested_mib ? (uint16_t)profiles : 0;
}

static bool mig_needs_add(struct mig_needs *needs, const struct hr_trace *trace, hr_job job,
                          struct hr_request *request) {
  if (!needs->cluster) return true;
  uint64_t requested_mib = request->gpu_mem_mib;
  const struct mig_name *name = request->gpus ? name_of(needs, trace, job) : NULL;
  if (name && name->gpu_milli && request->gpu_milli == HR_WHOLE_GPU_MILLI) request->gpu_milli = name->gpu_milli;
  if (name && name->mem_mib && request->gpu_mem_mib == 0) request->gpu_mem_mib = name->mem_mib;
  for (uint32_t i = 0; i < needs->cluster->n_pools; i++) {
    if (name)
      needs->scratch[i] = named_in(needs, name, i, requested_mib);
    else
      needs->scratch[i] = needs->cluster->mig_fallback ? enough(split_of(needs->cluster, i), request) : 0;
    if (request->gpus != 1) needs->scratch[i] = 0;
  }
  request->prefers_mig = name != NULL && needs->cluster->mig_fallback;
  request->mig_profiles = intern_needs(needs, &request->mig_need);
  return request->mig_profiles != NULL;
}
