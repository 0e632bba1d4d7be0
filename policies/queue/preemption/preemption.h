/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_PREEMPTION_PREEMPTION_H
#define HR_POLICIES_QUEUE_PREEMPTION_PREEMPTION_H

/* Preemption of running jobs for waiting ones. */

#include "policies/kit/deadline_fifo.h"
#include "policies/queue/dispatch.h"
#include "policies/queue/quota/quota.h"

/* A preemption rule. Each running job has a key, and each waiting job has a bound. The waiting job may preempt running
   jobs whose keys are larger than its bound. */
struct hr__preemption {
  int64_t (*running_key)(struct hr__queue *queue, const struct hr_view *view, hr_job job);
  int64_t (*bound)(struct hr__queue *queue, const struct hr_view *view, struct hr_job_entry head);
  /* a victim must also belong to a tenant that uses capacity guaranteed to the tenant of the waiting job */
  bool by_quota;
  bool by_order; /* keys rank waiting and running jobs in one order */
};

extern const struct hr__preemption hr__preemption_order, hr__preemption_priority, hr__preemption_reclaim;

/* The work that a preempted job loses. */
enum hr__preemption_mode {
  HR__STOPPED_AUTO,    /* KEEPS for preemption by order of jobs without known checkpoints, else REQUEUE */
  HR__STOPPED_KEEPS,   /* no work; the job waits again */
  HR__STOPPED_REQUEUE, /* the work since its last checkpoint, as after a reclaim; the job waits again */
  HR__STOPPED_KILLED   /* all work; the job is rejected */
};

/* The order in which eligible jobs are preempted. */
enum hr__victims {
  HR__VICTIMS_LAST,            /* last in order first; without keys of an order, lowest priority first */
  HR__VICTIMS_LEAST_LOST,      /* least lost work first, in GPU time */
  HR__VICTIMS_YOUNGEST,        /* last started first */
  HR__VICTIMS_LOWEST_PRIORITY, /* lowest priority first, then last started */
};

/* The parameters of preemption. */
struct hr__preemption_terms {
  const struct hr__preemption *rule;
  enum hr__preemption_mode mode;
  enum hr__victims victims;
  int64_t min_run_us; /* minimum run time before a job may be preempted */
  int64_t grace_us;   /* time between notice and eviction */
};

/* A running job that may be preempted. */
struct hr__victim {
  hr_job job;
  int64_t key, lost_us, start_us; /* lost_us: GPU-microseconds */
  int32_t priority;
  hr_pool pool;
  uint32_t n_slices;
  uint32_t first_slice; /* index of its first slice in preemptor->slices */
  bool needed;
};

/* The state of preemption. */
struct hr__preemptor {
  struct hr__preemption_terms terms;
  const struct hr_class_spec *classes;
  struct hr_job_tree *running;             /* by pool: running jobs that may be preempted, sorted by key; value: GPUs */
  int64_t *key_of;                         /* by job: its key in `running`; NOT_LISTED: not in `running` */
  struct hr__deadline_fifo protected_jobs; /* running jobs before the end of their minimum run time */
  uint32_t n_passes;
  /* request a wake-up in a microsecond, when a job that has just started may be preempted, or another pool may be
     used */
  bool retries;
  bool *leaving;                        /* by job: it runs and has received notice; NULL without a grace period */
  uint32_t n_leaving;                   /* number of jobs in `leaving` */
  hr_job beneficiary;                   /* the job for which these jobs leave; HR_NONE: none */
  struct hr__preemption_walk *in_order; /* state of the walk in preemption.c; NULL until needed */
  /* Buffers of one search for victims. */
  struct hr__victim *victims;
  struct hr_slice *slices;
  uint32_t n_victims, victims_capacity, slices_capacity, n_slices;
  uint32_t *gain; /* by node of a pool: GPUs that preemption would free */
  hr_job *jobs;   /* buffer of jobs whose keys change */
  uint32_t jobs_capacity;
};

/* Creates queue->preemptor, and adds it to the listeners of the queue. False: out of memory. */
bool hr__preemption_create(struct hr__queue *queue, const struct hr_policy_env *env,
                           const struct hr__preemption_terms *terms);
/* After a pass: requests a wake-up for the next end of a minimum run time. */
enum hr_status hr__preemption_end_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);
/* Changes the key of a running job. */
enum hr_status hr__preemption_rekey(struct hr__queue *queue, const struct hr_view *view, hr_job job, int64_t key);
/* Computes the keys of all running jobs. */
enum hr_status hr__preemption_rekey_all(struct hr__queue *queue, const struct hr_view *view);

/* Before a pass: makes jobs eligible whose minimum run time has ended. Starts the beneficiary of a preemption if it
   fits. */
enum hr_status hr__preemption_begin_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);
/* Starts waiting jobs in order, and preempts running jobs for those that do not fit. */
enum hr_status hr__preemption_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);

/* ---- victims.c ------------------------------------------------------------------------------------ */

/* Returns whether a job keeps all its work when it is preempted. */
bool hr__preemption_keeps(const struct hr__queue *queue, hr_job job);
/* Marks (`needed`) the victims for a waiting job that does not fit. `*found`: the job fits without these victims.
   Tentative moves are rolled back. */
enum hr_status hr__preemption_find_victims(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                           struct hr_job_entry head, bool *found);

/* Returns whether freed capacity is promised to a job that waits for victims to leave. Other jobs may not start in the
   meantime. */
static inline bool hr__preemption_pending(const struct hr__queue *queue) {
  return queue->preemptor->beneficiary.id != HR_NONE;
}

/* Returns whether the job fits now and its tenant's quota admits it; if so, with a placement. */
static inline bool hr__preemption_fits(const struct hr__queue *queue, hr_job job, struct hr_placement *placement) {
  return hr__quota_allows(queue, job) && hr__fits(queue, hr__gpus(queue, job), hr__kind(queue, job), placement);
}

#endif
