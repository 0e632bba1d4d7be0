/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_ADVISE_RUN_PROFILE_H
#define HR_PLAN_ADVISE_RUN_PROFILE_H

/*
 * A look at one run: who used which pool, for what, and how much of it stood idle. It says where advice may be found,
 * and decides nothing.
 */

#include "base/text.h"
#include "plan/runner/one_run.h"

/* What jobs of one class did in a pool. */
struct hr__pool_use {
  hr__wide held_milli_us;     /* thousandths of GPUs x microseconds */
  hr__wide held_by_nodes;     /* likewise, each times the nodes that the job was on */
  hr__wide lost_milli_us;     /* of it, work that was done in vain, by jobs that ran here last */
  hr__wide bound_milli_us;    /* of it, by jobs that may not be interrupted */
  uint64_t starts, long_ones; /* long: of more than an hour */
  uint64_t milli, peak_milli; /* GPUs held now, and the most at a time */
  uint64_t max_mem_mib;       /* of a GPU, that a job asked for */
  uint64_t mem_untold;        /* starts of jobs that do not tell */
  uint64_t typed;             /* starts of jobs that name the GPU types they accept */
  uint64_t own_checkpoints;   /* starts of jobs that bring an interval of their own */
  uint64_t checkpoint_mib;    /* sum over starts of jobs that bring a size of their own */
  uint64_t sized_checkpoints; /* starts of these */
  uint32_t max_gpus_per_task; /* of a job */
};

struct hr__pool_look {
  uint64_t allocated_milli; /* now */
  int64_t until_us;         /* the time up to which what follows is summed */
  hr__wide allocated_milli_us, there_milli_us;
  int64_t *at_level; /* [nodes + 1] microseconds at which so many nodes' worth of GPUs were held; NULL: elastic */
  double reclaims_per_h;
};

/* Where a job is, or was last. */
struct hr__allocation_taken {
  int64_t since_us; /* HR_NEVER_US: it is nowhere */
  uint64_t milli;
  uint32_t pool, nodes;
};

struct hr__run_profile {
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  uint32_t n_pools, n_tenants;
  struct hr__pool_use *uses; /* [HR_N_CLASSES][n_pools] */
  hr__wide *by_tenant;       /* [n_tenants][HR_N_CLASSES][n_pools] held */
  struct hr__pool_look *pools;
  struct hr__allocation_taken *seats; /* [n_jobs] */
  bool seen;                          /* any event */
  int64_t end_us;
};

/* Makes replication 0 of the scenario with its trace as it is. */
enum hr_status hr__run_profile_make(const struct hr_scenario *scenario, const struct hr_trace *trace,
                                    struct hr__run_profile *look, struct hr_error *error);
void hr__run_profile_finish(struct hr__run_profile *look);

static inline const struct hr__pool_use *hr__run_profile_use(const struct hr__run_profile *look, uint32_t class_,
                                                             uint32_t pool) {
  return &look->uses[(size_t)class_ * look->n_pools + pool];
}
double hr__run_profile_gpu_hours(const struct hr__run_profile *look, uint32_t class_, uint32_t pool);
/* Allocated / there, over the run; 0 of nothing. */
double hr__run_profile_utilization(const struct hr__run_profile *look, uint32_t pool);
/* How many classes used the pool. */
uint32_t hr__run_profile_classes(const struct hr__run_profile *look, uint32_t pool);
/* The only tenant that used the pool for a class (HR_N_CLASSES: for any; HR_NONE: any pool); HR_NONE: several, none. */
uint32_t hr__run_profile_tenant(const struct hr__run_profile *look, uint32_t class_, uint32_t pool);
/* GPU hours of a tenant there, by the same words. */
double hr__run_profile_tenant_hours(const struct hr__run_profile *look, uint32_t tenant, uint32_t class_,
                                    uint32_t pool);

#endif
