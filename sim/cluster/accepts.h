/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTER_ACCEPTS_H
#define HR_SIM_CLUSTER_ACCEPTS_H

/* The pools that a job accepts: by GPU type and its memory, by region, by the job classes that a pool serves, by
   whether the job's model runs there at all, and by whether the job may use spot capacity. Jobs that accept the same
   pools have the same accept class, a number, so that they can share a queue. */

#include "base/arena.h"
#include "headroom/cluster.h"
#include "headroom/policy.h"
#include "headroom/trace.h"
#include "sim/cluster/speeds.h"

/* Distinct sets of pools, as rows of flags. */
struct hr__pool_sets {
  uint8_t *row; /* [count][n_pools] */
  uint32_t count, n_pools;
};

struct hr__accepts {
  struct hr__pool_sets by_gpu, by_region, by_class, by_memory; /* set 0: all pools */
  uint32_t *set_of_gpus, *set_of_regions; /* [lists + 1]: of jobs without a list, and of each list in the trace */
  uint32_t set_of_class[HR_N_CLASSES];
  uint32_t *memory_mib;    /* distinct GPU memories of pools, ascending */
  uint32_t *set_of_memory; /* [n_memories + 1]: of jobs that need more than the first k memories */
  uint32_t n_memories;
  const struct hr_trace *trace;
  const struct hr_class_spec *job_classes; /* may be NULL */
  bool has_spot;
  const struct hr__speed_table *speeds;
  struct hr__pool_sets by_speed; /* set 0: all pools */
  uint32_t *set_of_rows;         /* [rows + 1] of the table of speeds */
  struct hr__pool_sets classes;  /* class 0: all pools that have nodes */
  /* [2][by_class.count][by_region.count][by_gpu.count][by_speed.count][by_memory.count]; the second half is for jobs
     that must not use spot capacity */
  uint32_t *class_of;
};

/* Initializes the classes in the arena. `trace`, `job_classes` (may be NULL) and `speeds` must outlive them. Fails with
   HR_NO_MEMORY only. */
enum hr_status hr__accepts_init(struct hr__accepts *accepts, struct hr_arena *arena,
                                const struct hr_cluster_spec *cluster, const struct hr_trace *trace,
                                const struct hr_class_spec *job_classes, const struct hr__speed_table *speeds);

/* The accept class of a job. In a streamed run only for jobs whose row of speeds was found (hr__speeds_find_row). */
uint32_t hr__accepts_class(const struct hr__accepts *accepts, hr_job job);

static inline bool hr__accepts_pool(const struct hr__accepts *accepts, uint32_t class_, uint32_t pool) {
  return accepts->classes.row[(size_t)class_ * accepts->classes.n_pools + pool];
}

/* Why a job of accept class `class_` does not accept the pool. The first that applies of: GPU type, memory, region,
   job class, spot. HR_REASON_NONE if it accepts the pool. */
enum hr_reason hr__accepts_refusal(const struct hr__accepts *accepts, hr_job job, uint32_t class_, uint32_t pool);

#endif
