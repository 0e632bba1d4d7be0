/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTER_ACCEPTS_H
#define HR_SIM_CLUSTER_ACCEPTS_H

/* The pools that a job accepts. They depend on GPU type, GPU memory, region and MIG profile, on the job classes that a
   pool serves, on whether the job's model runs in the pool, and on whether the job may use spot capacity. Jobs that
   accept the same pools have the same accept class, which is a number. Jobs of the same accept class can share a queue.
 */

#include "base/array.h"
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
  struct hr__pool_sets by_gpu, by_region, by_class, by_memory, by_part; /* in each of these, set 0 contains all pools */
  /* [lists + 1]: the index of a set. Element 0 is for jobs without a list, element i + 1 for list i of the trace */
  uint32_t *set_of_gpus, *set_of_regions;
  uint32_t set_of_class[HR_N_CLASSES];
  /* [profiles + 1]: the index of a set. Element 0 is for jobs that name no MIG profile, element i + 1 for profile i of
     the trace */
  uint32_t *set_of_profile;
  uint32_t *memory_mib; /* [n_memories]: the distinct GPU memory sizes of the pools in MiB, ascending */
  /* [n_memories + 1]: element k is the set for jobs with a requested memory that exceeds exactly k of these sizes */
  uint32_t *set_of_memory;
  uint32_t n_memories;
  const struct hr_trace *trace;
  const struct hr_class_spec *job_classes; /* may be NULL */
  bool has_spot;
  const struct hr__speed_table *speeds;
  struct hr__pool_sets by_speed; /* set 0 contains all pools */
  uint32_t *set_of_rows;         /* [rows + 1]: the index of a set, by row of the table of speeds */
  struct hr__pool_sets classes;  /* the accept classes; class 0 contains all pools that have nodes */
  /* the accept class, by the indices of the six sets:
     [2][by_class.count][by_region.count][by_gpu.count][by_speed.count][by_part.count][by_memory.count]; the second half
     is for jobs that must not use spot capacity */
  uint32_t *class_of;
};

/* Initializes the accept classes, with memory from the arena. `job_classes` may be NULL. `trace`, `job_classes` and
   `speeds` must exist as long as `accepts` is used. Returns HR_OK or HR_NO_MEMORY. */
enum hr_status hr__accepts_init(struct hr__accepts *accepts, struct hr_arena *arena,
                                const struct hr_cluster_spec *cluster, const struct hr_trace *trace,
                                const struct hr_class_spec *job_classes, const struct hr__speed_table *speeds);

/* Returns the accept class of a job. In a streamed run, hr__speeds_find_row must have been called for the job. */
uint32_t hr__accepts_class(const struct hr__accepts *accepts, hr_job job);

static inline bool hr__accepts_pool(const struct hr__accepts *accepts, uint32_t class_, uint32_t pool) {
  return accepts->classes.row[(size_t)class_ * accepts->classes.n_pools + pool];
}

/* Returns the reason why a job of accept class `class_` does not accept the pool. The properties are checked in this
   order: GPU type, memory, region, MIG profile, job class, spot. The first property that does not match is the reason.
   Returns HR_REASON_NONE if the job accepts the pool. */
enum hr_reason hr__accepts_refusal(const struct hr__accepts *accepts, hr_job job, uint32_t class_, uint32_t pool);

#endif
