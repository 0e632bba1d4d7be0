/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_PREEMPTION_PREEMPTION_H
#define HR_POLICIES_QUEUE_PREEMPTION_PREEMPTION_H

/* Preemption of running jobs for waiting ones. */

#include "policies/kit/jobs.h"
#include "policies/queue/dispatch.h"
#include "policies/queue/quota/quota.h"

/* A preemption rule. Each running job has a key, and each waiting job has a bound. The waiting job may preempt running
   jobs with keys larger than its bound. */
struct hr__preemption {
  int64_t (*running_key)(struct hr__queue *queue, const struct hr_view *view, hr_job job);
  int64_t (*bound)(struct hr__queue *queue, const struct hr_view *view, struct hr_job_entry head);
  /* a victim must also belong to a tenant that uses capacity that is guaranteed to the tenant of the waiting job */
  bool by_quota;
  bool by_order; /* keys and bounds rank waiting and running jobs in one order */
};

extern const struct hr__preemption hr__preemption_order, hr__preemption_priority, hr__preemption_reclaim;

/* What happens to a preempted job, and which work it loses. */
enum hr__preemption_mode {
  /* KEEPS if preemption is by order, and neither the job nor its class has checkpoints; else REQUEUE */
  HR__STOPPED_AUTO,
  HR__STOPPED_KEEPS,   /* loses no work; waits again */
  HR__STOPPED_REQUEUE, /* loses the work since its last checkpoint, as after a spot interruption; waits again */
  HR__STOPPED_KILLED   /* loses all work and is rejected: it does not run again */
};

/* The order in which eligible jobs are preempted. */
enum hr__victims {
  /* by decreasing key: the last job in order first (preemption by order), or the lowest priority first (preemption by
     priority). If keys are equal, as always in preemption by quota: the job that started last first */
  HR__VICTIMS_LAST,
  HR__VICTIMS_LEAST_LOST,      /* the job that loses the least requested GPU time first */
  HR__VICTIMS_YOUNGEST,        /* the job that started last first */
  HR__VICTIMS_LOWEST_PRIORITY, /* the lowest priority first; if priorities are equal, the job that started last first */
};

/* The parameters of preemption. */
struct hr__preemption_terms {
  const struct hr__preemption *rule;
  enum hr__preemption_mode mode;
  enum hr__victims victims;
  int64_t min_run_us; /* minimum run time before a job may be preempted */
  int64_t grace_us;   /* time between notice and eviction; 0: no notice */
};

/* Lost work in milli-GPU-microseconds, which may exceed 64 bits. */
__extension__ typedef __int128 hr__lost_work;

/* A running job that may be preempted for a certain waiting job. */
struct hr__victim {
  hr_job job;
  int64_t key, start_us;
  hr__lost_work lost;
  int32_t priority;
  hr_pool pool;
  uint32_t n_slices;
  uint32_t first_slice; /* index of its first slice in preemptor->slices */
  bool needed;          /* the search has found that it must be preempted */
};

/* Under `strict`, the first waiting job when it was last refused, and its bound. */
struct hr__refused_head {
  hr_job job; /* HR_NONE: none */
  int64_t bound;
};

/* The state of preemption. */
struct hr__preemptor {
  struct hr__preemption_terms terms;
  const struct hr_class_spec *classes;
  /* by pool: the running jobs that may be preempted, sorted by their keys in the rule; their values are their GPUs or,
     with per-GPU allocation, 1 */
  struct hr_job_tree *running;
  int64_t *key_of;                         /* by job: its key in `running`; HR__NOT_LISTED: not in `running` */
  struct hr__deadline_fifo protected_jobs; /* running jobs before the end of their minimum run time */
  uint32_t n_passes;
  bool nothing_fits; /* the last ranked pass has found that no waiting job fits */
  /* bounds for which there may be more room than in the last pass, and the nodes with this room: see ranked.c */
  struct hr__eased eased;
  uint64_t n_eased; /* number of calls of apply_eased: at the beginning of each ranked pass, and after each start */
  struct hr__refused_head refused_head;
  /* request a wake-up one microsecond from now, because the next pass can do more: it may preempt jobs that have
     started at this instant, or start jobs in other pools */
  bool retries;
  bool *leaving;                        /* by job: it runs and has received notice; NULL without a grace period */
  uint32_t n_leaving;                   /* number of jobs in `leaving` */
  hr_job beneficiary;                   /* the waiting job for which the jobs in `leaving` leave; HR_NONE: none */
  struct hr__preemption_walk *in_order; /* state of the walk in preemption.c; NULL until needed */
  struct hr__residual *residual;        /* residual capacity (victims.c); NULL without per-GPU allocation */
  struct hr__node_jobs *node_jobs;      /* running jobs by node (ranked.c); NULL: not used */
  /* set of nodes (hr__node_set_of): the current search for victims needs to consider only these */
  uint64_t searched_nodes;
  /* Buffers of one search for victims. */
  struct hr__victim *victims;
  struct hr_slice *slices;
  uint32_t n_victims, victims_capacity, slices_capacity, n_slices;
  uint32_t *gain; /* by node of a pool: GPUs of its eligible jobs, which preemption would free */
  hr_job *jobs;   /* buffer of jobs with changing keys */
  uint32_t jobs_capacity;
};

/* Creates queue->preemptor, and adds it to the listeners of the queue. False: out of memory. */
bool hr__preemption_create(struct hr__queue *queue, const struct hr_policy_env *env,
                           const struct hr__preemption_terms *terms);
/* Called after a pass: if a job waits, requests a wake-up for the time at which the next minimum run time ends; if
   preemptor->retries, for one microsecond from now. */
enum hr_status hr__preemption_end_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);
/* Changes the key of a running job. Does nothing without preemption, or if the job may not be preempted. */
enum hr_status hr__preemption_rekey(struct hr__queue *queue, const struct hr_view *view, hr_job job, int64_t key);
/* Computes the keys of all running jobs that may be preempted again, and sorts the trees by them. */
enum hr_status hr__preemption_rekey_all(struct hr__queue *queue, const struct hr_view *view);

/* Called before a pass: makes running jobs eligible for preemption if their minimum run time has passed, and starts the
   beneficiary (see struct hr__preemptor) if it fits. */
enum hr_status hr__preemption_begin_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);
/* Starts waiting jobs in order, and preempts running jobs for those that do not fit. */
enum hr_status hr__preemption_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);

/* ---- ranked.c ------------------------------------------------------------------------------------- */

/* Returns whether passes are made by hr__ranked_pass. */
bool hr__ranked_applies(const struct hr__queue *queue);
/* Called when waiting jobs with bounds in [from, to) may preempt, or use, more than before on a set of nodes. */
void hr__ranked_ease(struct hr__queue *queue, int64_t from, int64_t to, uint64_t nodes);
/* Tries waiting jobs one by one in order. A job that does not fit may preempt other jobs. */
enum hr_status hr__ranked_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);

/* Defined in preemption.c. Starts a waiting job if it fits; otherwise preempts running jobs for it if possible, and
   then starts it. With a grace period, only gives notice to the running jobs. `allowed`: the quota of the job's tenant
   admits the job. `*started`: the job was started. */
enum hr_status hr__preemption_try(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                  struct hr__shape *shape, struct hr_job_entry entry, enum hr_reason reason,
                                  bool allowed, bool *started);

/* ---- Running jobs by node (ranked.c) -------------------------------------------------------------------- */

#define HR__ALL_NODES UINT64_MAX /* the set of all nodes */

enum { HR__MAX_ON_NODE = 16 };

/* The jobs of one node that are preempted for a waiting job, in this order. */
struct hr__node_victims {
  hr_job jobs[HR__MAX_ON_NODE];
  uint32_t count;
};

/* Creates preemptor->node_jobs if passes are made by hr__ranked_pass and all nodes are small enough. False: out of
   memory. */
bool hr__node_jobs_create(struct hr__queue *queue);
/* hr__node_jobs_add is called when a running job may be preempted from now on. hr__node_jobs_remove is called when its
   key changes (hr__node_jobs_add follows), and when it stops. */
void hr__node_jobs_add(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                       const struct hr_placement *placement, int64_t key);
void hr__node_jobs_remove(struct hr__queue *queue, hr_job job, const struct hr_placement *placement);
/* Returns the set of the nodes of a placement, as a mask (see ranked.c). */
uint64_t hr__node_set_of(const struct hr_placement *placement);
/* Returns whether preemptor->node_jobs is valid for a waiting job with this bound, so that hr__node_jobs_select may be
   called. */
bool hr__node_jobs_answer(const struct hr__queue *queue, const struct hr_view *view, int64_t bound);
/* Selects victims in a pool for a job that needs one node and does not fit. The victims are those that
   hr__preemption_find_victims finds if the last job in order is preempted first. `nodes`: only nodes of this set can
   have room. If the job cannot fit, victims->count is 0. False: preemptor->node_jobs does not suffice, so a search is
   necessary. */
bool hr__node_jobs_select(const struct hr__queue *queue, uint32_t pool, uint32_t gpus, int64_t bound, uint64_t nodes,
                          struct hr__node_victims *victims);

/* ---- Residual capacity (victims.c) ---------------------------------------------------------------------- */

#define HR__NOT_LISTED INT64_MIN /* the key of a running job that may not be preempted */

/* Creates preemptor->residual. False: out of memory. */
bool hr__residual_create(struct hr__queue *queue, const struct hr_policy_env *env);
/* Called when a job starts (`starts`) or stops. Its key must be HR__NOT_LISTED at this time. */
void hr__residual_change(struct hr__queue *queue, hr_job job, const struct hr_placement *placement, bool starts);
/* Called when the key of a running job changes. */
void hr__residual_rekey(struct hr__queue *queue, hr_job job, const struct hr_placement *placement, int64_t old_key,
                        int64_t new_key);
/* Called when a node comes up, receives notice, or goes down. */
void hr__residual_node_changes(struct hr__queue *queue, const struct hr_event *event);
/* Returns whether memory was exhausted. */
bool hr__residual_failed(const struct hr__queue *queue);

/* ---- victims.c ------------------------------------------------------------------------------------ */

/* Returns whether a job keeps all its work when it is preempted. */
bool hr__preemption_keeps(const struct hr__queue *queue, hr_job job);
/* Finds victims for a waiting job that does not fit or that its quota blocks. The victims are the elements of
   preemptor->victims with `needed`. `*found`: the job could start if these victims were preempted. Moves that the
   search makes are rolled back. */
enum hr_status hr__preemption_find_victims(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                           struct hr_job_entry head, bool *found);

/* Returns whether a waiting job (the beneficiary) waits until its victims have left. No other job may start in this
   time, because the capacity of the victims is promised to the beneficiary. */
static inline bool hr__preemption_pending(const struct hr__queue *queue) {
  return queue->preemptor->beneficiary.id != HR_NONE;
}

#endif
