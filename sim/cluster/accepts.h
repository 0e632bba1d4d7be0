/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTER_ACCEPTS_H
#define HR_SIM_CLUSTER_ACCEPTS_H

/* Which pools a job accepts: by their GPU type and its memory, their region, the classes of jobs that they are for,
   whether its model runs there at all, and whether they are spot capacity. Jobs that accept the same pools share a
   number, their accept class, so that they share a queue. */

#include "base/arena.h"
#include "headroom/cluster.h"
#include "headroom/policy.h"
#include "headroom/trace.h"
#include "sim/cluster/speeds.h"

/* Distinct rows of flags, one flag for each pool. */
struct hr__pool_sets {
  uint8_t *row; /* [count][n_pools] */
  uint32_t count, n_pools;
};

struct hr__accepts {
  struct hr__pool_sets by_gpu, by_region, by_class, by_memory; /* set 0: every pool */
  uint32_t *set_of_gpus, *set_of_regions; /* [lists + 1]: of no list, and of each list of the trace */
  uint32_t set_of_class[HR_N_CLASSES];
  uint32_t *memory_mib;    /* distinct GPU memories of pools, rising */
  uint32_t *set_of_memory; /* [n_memories + 1]: of jobs that ask for more than so many of them */
  uint32_t n_memories;
  const struct hr__speed_table *speeds;
  struct hr__pool_sets by_speed; /* set 0: every pool */
  uint32_t *set_of_rows;         /* [rows + 1] of the table of speeds */
  struct hr__pool_sets classes;  /* class 0: every pool that has nodes */
  uint32_t *class_of;            /* [2][by_class.count][by_region.count][by_gpu.count][by_speed.count][by_memory.count];
                                    the second time, for jobs that may not go to spot capacity */
};

/* In the arena. HR_NO_MEMORY is the only failure. */
enum hr_status hr__accepts_init(struct hr__accepts *accepts, struct hr_arena *arena,
                                const struct hr_cluster_spec *cluster, const struct hr_trace *trace,
                                const struct hr__speed_table *speeds);

/* The class of a job that may go to spot capacity, or is barred from it. */
uint32_t hr__accepts_class(const struct hr__accepts *accepts, const struct hr_trace *trace, hr_job job, bool barred);

static inline bool hr__accepts_pool(const struct hr__accepts *accepts, uint32_t class_, uint32_t pool) {
  return accepts->classes.row[(size_t)class_ * accepts->classes.n_pools + pool];
}

/* Why a job that is of accept class `class_` does not accept the pool: its GPU type, else its memory, its region, else
   that it is for jobs of other classes, else that it is spot; HR_REASON_NONE when it does. */
enum hr_reason hr__accepts_refusal(const struct hr__accepts *accepts, const struct hr_trace *trace, hr_job job,
                                   uint32_t class_, uint32_t pool);

#endif
