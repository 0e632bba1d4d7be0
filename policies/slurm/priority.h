/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_SLURM_PRIORITY_H
#define HR_POLICIES_SLURM_PRIORITY_H

/*
 * Slurm's multifactor priority of jobs, the billing of resources, and the order of jobs and of preemption candidates.
 *
 * Source: src/plugins/priority/multifactor/priority_multifactor.c, src/common/assoc_mgr.c,
 * src/slurmctld/job_scheduler.c, src/plugins/preempt/qos of SchedMD/slurm; doc/html/priority_multifactor.
 */

#include <stdbool.h>
#include <stdint.h>

/* The factors of the priority, in the order in which they are summed. */
enum hr__slurm_factor {
  HR__SLURM_AGE,
  HR__SLURM_ASSOC,
  HR__SLURM_FAIR_SHARE,
  HR__SLURM_JOB_SIZE,
  HR__SLURM_PARTITION,
  HR__SLURM_QOS,
  HR__SLURM_N_FACTORS
};

/* What the priority of a job is computed from. Factors are 0 to 1, except those that are not normalized. */
struct hr__slurm_priority {
  double weights[HR__SLURM_N_FACTORS], factors[HR__SLURM_N_FACTORS];
  const double *tres_weights, *tres_factors; /* [n_tres] shares of the partition's resources */
  uint32_t n_tres;
  double site; /* set by a site's own plug-in */
  int64_t nice;
};

/* The weighted sum, truncated to 1 .. 2^32 - 1. */
uint32_t hr__slurm_priority(const struct hr__slurm_priority *priority);

/* The age factor: the time that the job has waited since it was eligible, as a share of PriorityMaxAge; at most 1. */
double hr__slurm_age_factor(double wait_s, double max_age_s);

/* What the size factor is computed from. */
struct hr__slurm_size {
  double nodes, cpus, limit_min; /* of the job; limit_min: its time limit in minutes */
  double all_nodes, all_cpus;    /* of the cluster */
  bool favors_small;             /* PriorityFavorSmall */
  bool is_relative_to_time;      /* PriorityFlags=SMALL_RELATIVE_TO_TIME */
};
double hr__slurm_size_factor(const struct hr__slurm_size *size);

/* A factor of partition, QOS or association: the value as a share of the highest one. `is_raw`: the value itself
   (NO_NORMAL_PART, NO_NORMAL_QOS, NO_NORMAL_ASSOC). */
double hr__slurm_relative_factor(double value, double highest, bool is_raw);

/* ---- Billing ---- */

enum hr__slurm_billing {
  HR__SLURM_BILL_SUM,     /* the sum over all resources */
  HR__SLURM_BILL_MAX,     /* MAX_TRES: the highest of those of a node, plus the others */
  HR__SLURM_BILL_MAX_GRES /* MAX_TRES_GRES: the highest of CPU, memory and nodes, plus GRES and the others */
};
enum hr__slurm_tres_kind {
  HR__SLURM_TRES_NODE,  /* CPU, memory, nodes */
  HR__SLURM_TRES_GRES,  /* generic resources of a node, such as GPUs */
  HR__SLURM_TRES_GLOBAL /* not bound to a node, such as licenses */
};
/* A resource that a job uses. */
struct hr__slurm_tres {
  double weight, count;
  enum hr__slurm_tres_kind kind;
};
double hr__slurm_billing(const struct hr__slurm_tres *tres, uint32_t n_tres, enum hr__slurm_billing rule);

/* ---- Preemption ---- */

/* A running job that may be preempted. */
struct hr__slurm_victim {
  uint32_t job;
  uint32_t priority; /* of its QOS, or the tier of its partition */
  uint32_t nodes;
  int64_t start_us;
};

/* Returns whether `a` is preempted before `b`: the lower priority first, then fewer nodes; with `youngest_first` the
   job that started last. Equal jobs keep their order. */
bool hr__slurm_victim_before(const struct hr__slurm_victim *a, const struct hr__slurm_victim *b, bool youngest_first);

/* Returns whether a job has run long enough to be preempted. `exempt_us` HR_UNKNOWN_US: no exempt time. */
bool hr__slurm_may_be_preempted(int64_t run_us, int64_t exempt_us);

#endif
