/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTER_ACCEPTS_H
#define HR_SIM_CLUSTER_ACCEPTS_H

/* The pools that a job accepts. They depend on GPU type, GPU memory and region, on the job classes that a pool serves,
   on whether the job's model runs in the pool, and on whether the job may use spot capacity. Jobs that accept the same
   pools have the same accept class, a number. Such jobs can share a queue. */

#include "base/arena.h"
#include "headroom/cluster.h"
#include "headroom/policy.h"
#include "headroom/trace.h"
#include "sim/cluster/speeds.h"

/* Distinct sets of pools. Each set is a row of flags, one per pool. */
struct hr__pool_sets {
  uint8_t *row; /* [count][n_pools] */
  uint32_t count, n_pools;
};

struct hr__accepts {
  struct hr__pool_sets by_gpu, by_region, by_class, by_memory; /* in each, set 0 has all pools */
  /* [lists + 1]: entry 0 is for jobs without a list, entry i + 1 for list i of the trace */
  uint32_t *set_of_gpus, *set_of_regions;
  uint32_t set_of_class[HR_N_CLASSES];
  uint32_t *memory_mib; /* distinct GPU memory sizes of pools in MiB, ascending */
  /* [n_memories + 1]: entry k is the set for jobs that need more memory than the k smallest sizes */
  uint32_t *set_of_memory;
  uint32_t n_memories;
  const struct hr_trace *trace;
  const struct hr_class_spec *job_classes; /* may be NULL */
  bool has_spot;
  const struct hr__speed_table *speeds;
  struct hr__pool_sets by_speed; /* set 0 has all pools */
  uint32_t *set_of_rows;         /* [rows + 1]: by row of the table of speeds */
  struct hr__pool_sets classes;  /* the accept classes; class 0 has all pools with nodes */
  /* the number of each accept class:
     [2][by_class.count][by_region.count][by_gpu.count][by_speed.count][by_memory.count]; the second half is for jobs
     that must not use spot capacity */
  uint32_t *class_of;
};

/* Initializes the accept classes, with memory from the arena. `trace`, `job_classes` (may be NULL) and `speeds` must
   outlive them. Returns HR_OK or HR_NO_MEMORY. */
enum hr_status hr__accepts_init(struct hr__accepts *accepts, struct hr_arena *arena,
                                const struct hr_cluster_spec *cluster, const struct hr_trace *trace,
                                const struct hr_class_spec *job_classes, const struct hr__speed_table *speeds);

/* Returns the accept class of a job. In a streamed run, hr__speeds_find_row must have been called for the job. */
uint32_t hr__accepts_class(const struct hr__accepts *accepts, hr_job job);

static inline bool hr__accepts_pool(const struct hr__accepts *accepts, uint32_t class_, uint32_t pool) {
  return accepts->classes.row[(size_t)class_ * accepts->classes.n_pools + pool];
}

/* Returns the reason why a job of accept class `class_` does not accept the pool: the first that applies of GPU type,
   memory, region, job class and spot. Returns HR_REASON_NONE if the job accepts the pool. */
enum hr_reason hr__accepts_refusal(const struct hr__accepts *accepts, hr_job job, uint32_t class_, uint32_t pool);

#endif
