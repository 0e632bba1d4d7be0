/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which pools a job accepts: accept classes. */

#include "sim/cluster/cluster.h"

#include <string.h>
#include <strings.h>

/* ---- Accept classes ------------------------------------------------------------------------------------ */

/*
 * Accept classes are the distinct sets of pools that jobs accept.
 *
 * Each of the following determines a set of pools: a list of GPU types, a list of regions, a job class, a row of the
 * table of speeds, a GPU memory size, and the part of a GPU that a job requests (a MIG profile, or no profile). Many
 * lists of a trace determine the same few sets, so equal sets are stored once. An accept class is the intersection of
 * six sets, one of each of these kinds. For jobs that must not use spot capacity, the spot pools are then removed.
 */

/* ---- Lists ---- */

static char lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_word(const char *a, size_t length, const char *b) {
  for (size_t i = 0; i < length; i++)
    if (!b[i] || lower(a[i]) != lower(b[i])) return false;
  return b[length] == '\0';
}

/* Returns whether `word` is an element of a list separated by '|'. Case is ignored. */
static bool list_has(const char *list, const char *word) {
  for (;;) {
    size_t length = strcspn(list, "|");
    if (same_word(list, length, word)) return true;
    if (!list[length]) return false;
    list += length + 1;
  }
}

/* ---- Sets of pools ---- */

static enum hr_status sets_init(struct hr__pool_sets *sets, struct hr_arena *arena, uint32_t n_pools, size_t max_sets) {
  *sets = (struct hr__pool_sets){.row = hr_arena_alloc(arena, (max_sets + 1) * n_pools), .n_pools = n_pools};
  return sets->row ? HR_OK : HR_NO_MEMORY;
}

/* Returns the memory for the next set. The caller writes the set to this memory and then calls sets_intern. */
static uint8_t *sets_draft(const struct hr__pool_sets *sets) {
  return sets->row + (size_t)sets->count * sets->n_pools;
}

/* Adds the set that the caller wrote to the memory returned by sets_draft, unless an equal set is stored already.
   Returns the index of the stored set. */
static uint32_t sets_intern(struct hr__pool_sets *sets) {
  const uint8_t *draft = sets_draft(sets);
  for (uint32_t i = 0; i < sets->count; i++)
    if (memcmp(sets->row + (size_t)i * sets->n_pools, draft, sets->n_pools) == 0) return i;
  return sets->count++;
}

static bool sets_have(const struct hr__pool_sets *sets, uint32_t set, uint32_t pool) {
  return sets->row[(size_t)set * sets->n_pools + pool];
}

/* Writes the set of pools that a list selects to `set`. */
typedef void select_pools(const struct hr_cluster_spec *cluster, const char *list, uint8_t *set);

static void select_regions(const struct hr_cluster_spec *cluster, const char *list, uint8_t *set) {
  for (uint32_t pool = 0; pool < cluster->n_pools; pool++)
    set[pool] = cluster->pools[pool].region && list_has(list, cluster->pools[pool].region);
}

static enum hr_status sets_of_lists(struct hr__pool_sets *sets, uint32_t **set_of, struct hr_arena *arena,
                                    const struct hr_cluster_spec *cluster, const struct hr_names *lists,
                                    select_pools *select) {
  *set_of = hr_arena_alloc(arena, ((size_t)lists->count + 1) * sizeof **set_of);
  if (!*set_of || sets_init(sets, arena, cluster->n_pools, (size_t)lists->count + 1) != HR_OK) return HR_NO_MEMORY;
  memset(sets_draft(sets), true, cluster->n_pools);
  (*set_of)[0] = sets_intern(sets);
  for (uint32_t list = 0; list < lists->count; list++) {
    select(cluster, lists->text[list], sets_draft(sets));
    (*set_of)[list + 1] = sets_intern(sets);
  }
  return HR_OK;
}

/* Returns whether GPUs of the pool are, or would be, partitioned into instances of the profile. */
static bool has_profile(const struct hr_pool_spec *pool, const char *profile) {
  uint32_t number;
  return pool->mig && hr_mig_profile_parse(&pool->mig->type, profile, &number, NULL) == HR_OK;
}

/* Makes the sets of pools for jobs that request no MIG profile, and for jobs that request a certain one. Without
   mig_fallback, the former accept only pools without MIG, and the latter only pools that have the profile. */
static enum hr_status sets_of_parts(struct hr__accepts *accepts, struct hr_arena *arena,
                                    const struct hr_cluster_spec *cluster, const struct hr_names *profiles) {
  struct hr__pool_sets *sets = &accepts->by_part;
  accepts->set_of_profile = hr_arena_alloc(arena, ((size_t)profiles->count + 1) * sizeof *accepts->set_of_profile);
  if (!accepts->set_of_profile || sets_init(sets, arena, cluster->n_pools, (size_t)profiles->count + 2) != HR_OK)
    return HR_NO_MEMORY;
  memset(sets_draft(sets), true, cluster->n_pools);
  (void)sets_intern(sets);
  for (uint32_t part = 0; part <= profiles->count; part++) {
    for (uint32_t i = 0; i < cluster->n_pools; i++) {
      const struct hr_pool_spec *pool = &cluster->pools[i];
      bool has = part == 0 ? !pool->mig : has_profile(pool, profiles->text[part - 1]);
      sets_draft(sets)[i] = has || cluster->mig_fallback;
    }
    accepts->set_of_profile[part] = sets_intern(sets);
  }
  return HR_OK;
}

/* Makes, for each job class, the set of pools that serve jobs of this class. */
static enum hr_status sets_of_classes(struct hr__accepts *accepts, struct hr_arena *arena,
                                      const struct hr_cluster_spec *cluster) {
  struct hr__pool_sets *sets = &accepts->by_class;
  if (sets_init(sets, arena, cluster->n_pools, HR_N_CLASSES + 1) != HR_OK) return HR_NO_MEMORY;
  memset(sets_draft(sets), true, cluster->n_pools);
  (void)sets_intern(sets);
  for (uint32_t class_ = 0; class_ < HR_N_CLASSES; class_++) {
    for (uint32_t pool = 0; pool < cluster->n_pools; pool++) {
      uint32_t allowed = cluster->pools[pool].classes;
      sets_draft(sets)[pool] = !allowed || allowed >> class_ & 1;
    }
    accepts->set_of_class[class_] = sets_intern(sets);
  }
  return HR_OK;
}

/* Adds a memory size to accepts->memory_mib, which is ascending, unless the size is in it already. */
static void add_memory(struct hr__accepts *accepts, uint32_t memory_mib) {
  uint32_t at = accepts->n_memories;
  while (at > 0 && accepts->memory_mib[at - 1] >= memory_mib) at--;
  if (at < accepts->n_memories && accepts->memory_mib[at] == memory_mib) return;
  for (uint32_t i = accepts->n_memories++; i > at; i--) accepts->memory_mib[i] = accepts->memory_mib[i - 1];
  accepts->memory_mib[at] = memory_mib;
}

/* For each k, makes the set of pools with a GPU memory larger than the k smallest distinct sizes of all pools. Pools
   with unknown GPU memory are in each of these sets. */
static enum hr_status sets_of_memories(struct hr__accepts *accepts, struct hr_arena *arena,
                                       const struct hr_cluster_spec *cluster) {
  size_t max_sets = (size_t)cluster->n_pools + 1;
  accepts->memory_mib = hr_arena_alloc(arena, max_sets * sizeof *accepts->memory_mib);
  accepts->set_of_memory = hr_arena_alloc(arena, max_sets * sizeof *accepts->set_of_memory);
  if (!accepts->memory_mib || !accepts->set_of_memory ||
      sets_init(&accepts->by_memory, arena, cluster->n_pools, max_sets) != HR_OK)
    return HR_NO_MEMORY;
  for (uint32_t pool = 0; pool < cluster->n_pools; pool++)
    if (cluster->pools[pool].gpu_mem_mib) add_memory(accepts, cluster->pools[pool].gpu_mem_mib);
  for (uint32_t below = 0; below <= accepts->n_memories; below++) {
    for (uint32_t pool = 0; pool < cluster->n_pools; pool++) {
      uint32_t memory_mib = cluster->pools[pool].gpu_mem_mib;
      bool has_more = !memory_mib || below == 0 || memory_mib > accepts->memory_mib[below - 1];
      sets_draft(&accepts->by_memory)[pool] = has_more;
    }
    accepts->set_of_memory[below] = sets_intern(&accepts->by_memory);
  }
  return HR_OK;
}

/* Makes, for each row of the table of speeds, the set of pools in which the model of the row runs. A model does not run
   in a pool if its speed there is 0. */
static enum hr_status sets_of_speeds(struct hr__accepts *accepts, struct hr_arena *arena, uint32_t n_pools) {
  const struct hr_speeds *table = accepts->speeds->table;
  uint32_t n_rows = table ? table->n_rows + 1 : 0;
  struct hr__pool_sets *sets = &accepts->by_speed;
  accepts->set_of_rows = hr_arena_alloc(arena, ((size_t)n_rows + 1) * sizeof *accepts->set_of_rows);
  if (!accepts->set_of_rows || sets_init(sets, arena, n_pools, (size_t)n_rows + 1) != HR_OK) return HR_NO_MEMORY;
  memset(sets_draft(sets), true, n_pools);
  (void)sets_intern(sets);
  for (uint32_t row = 0; row < n_rows; row++) {
    for (uint32_t pool = 0; pool < n_pools; pool++) sets_draft(sets)[pool] = hr__speed_of_row(table, row, pool) > 0;
    accepts->set_of_rows[row] = sets_intern(sets);
  }
  return HR_OK;
}

/* ---- Accept classes ---- */

/* One set of pools of each kind, by index. `barred`: spot pools are removed. */
struct accepts_choice {
  uint32_t gpus, regions, class_, speeds, memory, part;
  bool barred;
};

static uint32_t *class_at(const struct hr__accepts *accepts, struct accepts_choice choice) {
  size_t row = (size_t)choice.barred * accepts->by_class.count + choice.class_;
  row = row * accepts->by_region.count + choice.regions;
  row = row * accepts->by_gpu.count + choice.gpus;
  row = row * accepts->by_speed.count + choice.speeds;
  row = row * accepts->by_part.count + choice.part;
  return &accepts->class_of[row * accepts->by_memory.count + choice.memory];
}

static void make_class(struct hr__accepts *accepts, const struct hr_cluster_spec *cluster,
                       struct accepts_choice choice) {
  uint8_t *draft = sets_draft(&accepts->classes);
  for (uint32_t pool = 0; pool < cluster->n_pools; pool++)
    draft[pool] =
        cluster->pools[pool].nodes > 0 && sets_have(&accepts->by_gpu, choice.gpus, pool) &&
        sets_have(&accepts->by_region, choice.regions, pool) && sets_have(&accepts->by_class, choice.class_, pool) &&
        sets_have(&accepts->by_speed, choice.speeds, pool) && sets_have(&accepts->by_memory, choice.memory, pool) &&
        sets_have(&accepts->by_part, choice.part, pool) &&
        !(choice.barred && cluster->pools[pool].market.market == HR_MARKET_SPOT);
  *class_at(accepts, choice) = sets_intern(&accepts->classes);
}

static void make_classes(struct hr__accepts *accepts, const struct hr_cluster_spec *cluster, bool barred) {
  for (uint32_t class_ = 0; class_ < accepts->by_class.count; class_++)
    for (uint32_t regions = 0; regions < accepts->by_region.count; regions++)
      for (uint32_t gpus = 0; gpus < accepts->by_gpu.count; gpus++)
        for (uint32_t speeds = 0; speeds < accepts->by_speed.count; speeds++)
          for (uint32_t part = 0; part < accepts->by_part.count; part++)
            for (uint32_t memory = 0; memory < accepts->by_memory.count; memory++)
              make_class(accepts, cluster,
                         (struct accepts_choice){gpus, regions, class_, speeds, memory, part, barred});
}

static uint32_t set_of(const uint32_t *set_of_list, const uint32_t *list_of, hr_job job) {
  return list_of && list_of[job.id] != HR_NONE ? set_of_list[list_of[job.id] + 1] : 0;
}

static uint32_t set_of_class(const struct hr__accepts *accepts, const struct hr_trace *trace, hr_job job) {
  return accepts->set_of_class[trace->class_ ? trace->class_[job.id] : HR_CLASS_UNKNOWN];
}

static uint32_t speed_set_of(const struct hr__accepts *accepts, hr_job job) {
  uint32_t row = accepts->speeds->table ? accepts->speeds->row_of[job.id] : HR_NONE;
  return row == HR_NONE ? 0 : accepts->set_of_rows[row];
}

static uint32_t memory_set_of(const struct hr__accepts *accepts, const struct hr_trace *trace, hr_job job) {
  uint64_t asked_mib = trace->gpu_mem_mib && trace->gpus[job.id] ? trace->gpu_mem_mib[job.id] : 0;
  uint32_t below = 0;
  while (below < accepts->n_memories && accepts->memory_mib[below] < asked_mib) below++;
  return accepts->set_of_memory[below];
}

static bool names_profile(const struct hr_trace *trace, hr_job job) {
  return trace->mig_profile && trace->mig_profile[job.id] != HR_NONE;
}

static uint32_t part_set_of(const struct hr__accepts *accepts, const struct hr_trace *trace, hr_job job) {
  if (!trace->gpus[job.id]) return 0;
  return accepts->set_of_profile[names_profile(trace, job) ? trace->mig_profile[job.id] + 1 : 0];
}

/* Returns whether the job must not use spot capacity. The job itself or its class can exclude spot capacity. */
static bool must_not_use_spot(const struct hr__accepts *accepts, hr_job job) {
  const struct hr_trace *trace = accepts->trace;
  const struct hr_class_spec *classes = accepts->job_classes;
  if (trace->flags && trace->flags[job.id] & HR_JOB_NOT_INTERRUPTIBLE) return true;
  return classes && classes[trace->class_ ? trace->class_[job.id] : HR_CLASS_UNKNOWN].no_spot;
}

/* Whether jobs differ only in whether they have GPUs. */
static bool is_plain(const struct hr__accepts *accepts) {
  const struct hr_trace *trace = accepts->trace;
  return !trace->gpu_types && !trace->regions && !trace->class_ && !trace->gpu_mem_mib && !trace->mig_profile &&
         !trace->flags && !accepts->speeds->table;
}

/* Sets the classes of jobs in a plain trace. */
static void make_plain(struct hr__accepts *accepts) {
  const struct hr_class_spec *classes = accepts->job_classes;
  struct accepts_choice choice = {.class_ = accepts->set_of_class[HR_CLASS_UNKNOWN],
                                  .memory = accepts->set_of_memory[0],
                                  .barred = accepts->has_spot && classes && classes[HR_CLASS_UNKNOWN].no_spot};
  accepts->plain[false] = *class_at(accepts, choice);
  choice.part = accepts->set_of_profile[0];
  accepts->plain[true] = *class_at(accepts, choice);
}

enum hr_status hr__accepts_init(struct hr__accepts *accepts, struct hr_arena *arena,
                                const struct hr_cluster_spec *cluster, const struct hr_trace *trace,
                                const struct hr_class_spec *job_classes, const struct hr__speed_table *speeds) {
  accepts->trace = trace;
  accepts->job_classes = job_classes;
  accepts->speeds = speeds;
  accepts->has_spot = false;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    accepts->has_spot = accepts->has_spot || cluster->pools[i].market.market == HR_MARKET_SPOT;
  if (sets_of_lists(&accepts->by_gpu, &accepts->set_of_gpus, arena, cluster, &trace->gpu_type_lists,
                    hr__gpu_names_select) != HR_OK ||
      sets_of_lists(&accepts->by_region, &accepts->set_of_regions, arena, cluster, &trace->region_lists,
                    select_regions) != HR_OK ||
      sets_of_classes(accepts, arena, cluster) != HR_OK || sets_of_speeds(accepts, arena, cluster->n_pools) != HR_OK ||
      sets_of_memories(accepts, arena, cluster) != HR_OK ||
      sets_of_parts(accepts, arena, cluster, &trace->mig_profiles) != HR_OK)
    return HR_NO_MEMORY;
  size_t n_classes = (size_t)2 * accepts->by_class.count * accepts->by_region.count * accepts->by_gpu.count *
                     accepts->by_speed.count * accepts->by_part.count * accepts->by_memory.count;
  accepts->class_of = hr_arena_alloc(arena, n_classes * sizeof *accepts->class_of);
  if (!accepts->class_of || sets_init(&accepts->classes, arena, cluster->n_pools, n_classes) != HR_OK)
    return HR_NO_MEMORY;
  make_classes(accepts, cluster, false);
  make_classes(accepts, cluster, true);
  make_plain(accepts);
  return HR_OK;
}

uint32_t hr__accepts_class(const struct hr__accepts *accepts, hr_job job) {
  const struct hr_trace *trace = accepts->trace;
  if (is_plain(accepts)) return accepts->plain[trace->gpus[job.id] > 0];
  return *class_at(accepts, (struct accepts_choice){.gpus = set_of(accepts->set_of_gpus, trace->gpu_types, job),
                                                    .regions = set_of(accepts->set_of_regions, trace->regions, job),
                                                    .class_ = set_of_class(accepts, trace, job),
                                                    .speeds = speed_set_of(accepts, job),
                                                    .memory = memory_set_of(accepts, trace, job),
                                                    .part = part_set_of(accepts, trace, job),
                                                    .barred = accepts->has_spot && must_not_use_spot(accepts, job)});
}

enum hr_reason hr__accepts_refusal(const struct hr__accepts *accepts, hr_job job, uint32_t class_, uint32_t pool) {
  const struct hr_trace *trace = accepts->trace;
  if (hr__accepts_pool(accepts, class_, pool)) return HR_REASON_NONE; /* all sets have the pool */
  if (!sets_have(&accepts->by_gpu, set_of(accepts->set_of_gpus, trace->gpu_types, job), pool) ||
      !sets_have(&accepts->by_speed, speed_set_of(accepts, job), pool))
    return HR_REASON_NO_GPU_TYPE;
  if (!sets_have(&accepts->by_memory, memory_set_of(accepts, trace, job), pool)) return HR_REASON_GPU_MEMORY;
  if (!sets_have(&accepts->by_region, set_of(accepts->set_of_regions, trace->regions, job), pool))
    return HR_REASON_NO_REGION;
  if (!sets_have(&accepts->by_part, part_set_of(accepts, trace, job), pool))
    return names_profile(trace, job) ? HR_REASON_MIG_PROFILE : HR_REASON_ONLY_MIG;
  if (!sets_have(&accepts->by_class, set_of_class(accepts, trace, job), pool)) return HR_REASON_NO_CLASS_POOL;
  return HR_REASON_SPOT_ONLY;
}
