/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_PREEMPTION_PREEMPTION_H
#define HR_POLICIES_QUEUE_PREEMPTION_PREEMPTION_H

/* Preemption of running jobs for waiting ones. */

#include "policies/kit/deadline_fifo.h"
#include "policies/queue/dispatch.h"
#include "policies/queue/quota/quota.h"

/* A preemption rule: each running job has a key, and a waiting job may preempt those with a key above its bound. */
struct hr__preemption {
  int64_t (*running_key)(struct hr__queue *queue, const struct hr_view *view, hr_job job);
  int64_t (*bound)(struct hr__queue *queue, const struct hr_view *view, struct hr_job_entry head);
  bool by_quota; /* only if the victim's tenant uses what the other tenant is guaranteed */
  bool by_order; /* the keys rank all jobs, waiting and running */
};

extern const struct hr__preemption hr__preemption_order, hr__preemption_priority, hr__preemption_reclaim;

/* What a preempted job loses. */
enum hr__preemption_mode {
  HR__STOPPED_AUTO,    /* KEEPS under preemption by order for jobs without known checkpoints, else REQUEUE */
  HR__STOPPED_KEEPS,   /* nothing: it waits again with all its work */
  HR__STOPPED_REQUEUE, /* the work since its last checkpoint, as after a reclaim */
  HR__STOPPED_KILLED   /* it is rejected */
};

/* Which eligible job is preempted first. */
enum hr__victims {
  HR__VICTIMS_LAST,            /* the last in order; without an order the lowest priority */
  HR__VICTIMS_LEAST_LOST,      /* the one with the least lost work, in GPU time */
  HR__VICTIMS_YOUNGEST,        /* the one that started last */
  HR__VICTIMS_LOWEST_PRIORITY, /* then the one that started last */
};

struct hr__preemption_terms {
  const struct hr__preemption *rule;
  enum hr__preemption_mode mode;
  enum hr__victims victims;
  int64_t min_run_us; /* minimum run time before a job is preempted */
  int64_t grace_us;   /* between notice and eviction */
};

/* A running job that may be preempted. */
struct hr__victim {
  hr_job job;
  int64_t key, lost_us, start_us; /* lost: GPU-microseconds */
  int32_t priority;
  hr_pool pool;
  uint32_t n_slices;
  uint32_t first_slice; /* index in preemptor->slices */
  bool needed;
};

struct hr__preemptor {
  struct hr__preemption_terms terms;
  const struct hr_class_spec *classes;
  struct hr_job_tree *running;             /* by pool: jobs that may be preempted, by key; value: GPUs */
  int64_t *key_of;                         /* by job: its key in `running`; NOT_LISTED: it is not there */
  struct hr__deadline_fifo protected_jobs; /* jobs that have not yet run for the minimum time */
  uint32_t n_passes;
  bool retries; /* wake up a microsecond from now: a job that has just started, or another pool, may serve a waiting job
                   then */
  bool *leaving;                        /* by job: it runs and has received notice; NULL without a grace period */
  uint32_t n_leaving;                   /* how many of them */
  hr_job beneficiary;                   /* the job that gets their capacity; HR_NONE: none */
  struct hr__preemption_walk *in_order; /* of the walk in preemption.c; NULL until needed */
  /* Buffers of one search. */
  struct hr__victim *victims;
  struct hr_slice *slices;
  uint32_t n_victims, victims_capacity, slices_capacity, n_slices;
  uint32_t *gain; /* by node of a pool: GPUs that would come free */
  hr_job *jobs;   /* buffer for a change of keys */
  uint32_t jobs_capacity;
};

/* Creates queue->preemptor, which listens to the queue. False: out of memory. */
bool hr__preemption_create(struct hr__queue *queue, const struct hr_policy_env *env,
                           const struct hr__preemption_terms *terms);
/* After a pass: requests a wake-up for the end of the next minimum run time. */
enum hr_status hr__preemption_end_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);
/* Changes the key of a running job. */
enum hr_status hr__preemption_rekey(struct hr__queue *queue, const struct hr_view *view, hr_job job, int64_t key);
/* Computes the keys of all running jobs again. */
enum hr_status hr__preemption_rekey_all(struct hr__queue *queue, const struct hr_view *view);

/* Before a pass: ends minimum run times, and starts a job that waited for victims to leave if it fits. */
enum hr_status hr__preemption_begin_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);
/* Starts waiting jobs in order, and preempts running jobs for those that do not fit. */
enum hr_status hr__preemption_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);

/* ---- victims.c ------------------------------------------------------------------------------------ */

/* Returns whether a preempted job keeps all its work. */
bool hr__preemption_keeps(const struct hr__queue *queue, hr_job job);
/* Marks (`needed`) the victims for a waiting job that does not fit: `*found` if there are enough. Moves that are tried
   on the way are rolled back. */
enum hr_status hr__preemption_find_victims(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                           struct hr_job_entry head, bool *found);

/* Returns whether freed capacity is promised to a job that waits for others to leave. No other job starts meanwhile. */
static inline bool hr__preemption_pending(const struct hr__queue *queue) {
  return queue->preemptor->beneficiary.id != HR_NONE;
}

/* Returns whether the job fits now, within its tenant's quota. */
static inline bool hr__preemption_fits(const struct hr__queue *queue, hr_job job, struct hr_placement *placement) {
  return hr__quota_allows(queue, job) && hr__fits(queue, hr__gpus(queue, job), hr__kind(queue, job), placement);
}

#endif
