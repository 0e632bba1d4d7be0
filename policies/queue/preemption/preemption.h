/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_PREEMPTION_PREEMPTION_H
#define HR_POLICIES_QUEUE_PREEMPTION_PREEMPTION_H

/* Stopping running jobs for waiting ones. */

#include "policies/kit/deadline_fifo.h"
#include "policies/queue/dispatch.h"
#include "policies/queue/quota/quota.h"

/* Who may be stopped for whom: each running job has a key, and a waiting one may stop those whose key is above a bound
   of its own. */
struct hr__preemption {
  int64_t (*running_key)(struct hr__queue *queue, const struct hr_view *view, hr_job job);
  int64_t (*bound)(struct hr__queue *queue, const struct hr_view *view, struct hr_job_entry head);
  bool by_quota; /* likewise, only if its tenant uses what the other's is guaranteed */
  bool by_order; /* the keys say who comes first of all jobs, waiting and running */
};

extern const struct hr__preemption hr__preemption_order, hr__preemption_priority, hr__preemption_reclaim;

/* What becomes of a job that is stopped. */
enum hr__preemption_mode {
  HR__STOPPED_AUTO,    /* checkpoint under preemption by order for jobs of which no checkpoint is known, else requeue */
  HR__STOPPED_KEEPS,   /* it waits again with all its work */
  HR__STOPPED_REQUEUE, /* it waits again as after a reclaim */
  HR__STOPPED_KILLED   /* it is given up */
};

/* Which of those that may be stopped are stopped first. */
enum hr__victims {
  HR__VICTIMS_LAST,            /* the last in order first; where order does not rule, the least priority */
  HR__VICTIMS_LEAST_LOST,      /* the least work lost, in GPU-time */
  HR__VICTIMS_YOUNGEST,        /* the latest start */
  HR__VICTIMS_LOWEST_PRIORITY, /* then the latest start */
};

struct hr__preemption_terms {
  const struct hr__preemption *rule;
  enum hr__preemption_mode mode;
  enum hr__victims victims;
  int64_t min_run_us; /* a job is not stopped sooner after its start */
  int64_t grace_us;   /* between being told and being stopped */
};

/* A running job that may be stopped. */
struct hr__victim {
  hr_job job;
  int64_t key, lost_us, start_us; /* lost: GPUs x microseconds */
  int32_t priority;
  hr_pool pool;
  uint32_t n_slices;
  uint32_t first_slice; /* in the preemptor's list */
  bool needed;
};

struct hr__preemptor {
  struct hr__preemption_terms terms;
  const struct hr_class_spec *classes;
  struct hr_job_tree *running;             /* by pool: jobs that may be stopped, by their key; value: GPUs */
  int64_t *key_of;                         /* by job: its key there, while it runs; NOT_LISTED for one that is not */
  struct hr__deadline_fifo protected_jobs; /* jobs that have not run for long enough yet */
  uint32_t n_passes;
  bool retries;  /* one that has just started, or another pool, may be for a job that waits: a microsecond from now */
  bool *leaving; /* by job: it runs, and has been told to leave; NULL where there is no grace */
  uint32_t n_leaving;                   /* of those that leave for `promised` */
  hr_job beneficiary;                   /* what they leave is for this job */
  struct hr__preemption_walk *in_order; /* of preempt_count.c */
  /* Room for one search. */
  struct hr__victim *victims;
  struct hr_slice *slices;
  uint32_t n_victims, victims_capacity, slices_capacity, n_slices;
  uint32_t *gain; /* by node of a pool: GPUs that would come free */
  hr_job *jobs;   /* likewise for a change of keys */
  uint32_t jobs_capacity;
};

/* Makes queue->preemptor, which listens. False: out of memory. */
bool hr__preemption_create(struct hr__queue *queue, const struct hr_policy_env *env,
                           const struct hr__preemption_terms *terms);
/* After the pass: asks to be woken when a job that was spared need not be any more. */
enum hr_status hr__preemption_end_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);
/* A running job has another key now. */
enum hr_status hr__preemption_rekey(struct hr__queue *queue, const struct hr_view *view, hr_job job, int64_t key);
/* All running jobs have other keys now: by the rule. */
enum hr_status hr__preemption_rekey_all(struct hr__queue *queue, const struct hr_view *view);

/* Before a pass: jobs whose minimum run time is over may be preempted from now on; a job that waited for others to
   leave starts if it fits. */
enum hr_status hr__preemption_begin_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);
/* Starts waiting jobs in order, and preempts running jobs for those that do not fit. */
enum hr_status hr__preemption_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);

/* ---- victims.c ---- */

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
