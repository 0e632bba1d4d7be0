/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_SIM_H
#define HEADROOM_SIM_H

/*
 * Running a simulation, and cost accounting.
 *
 * hr_sim_run simulates a trace on a cluster under a policy and returns the state and times of each job. Observers are
 * notified of all events during the run; metrics, the ledger and file writers are observers.
 */

#include "headroom/base.h"
#include "headroom/cluster.h"
#include "headroom/policy.h"
#include "headroom/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An observer follows a run; it cannot change it. Either function may be NULL. */
struct hr_observer {
  void *self;
  /* Called for each event and each move, in order. */
  void (*on_event)(void *self, const struct hr_view *view, const struct hr_event *event);
  /* Called after each pass of the policy: the view then holds until the next instant. Also called at a horizon that
     ends the run. */
  void (*on_instant)(void *self, const struct hr_view *view);
};

/* Progress of a run: jobs that ended or were rejected so far, of all jobs; `now_us` is simulated time. */
struct hr_progress {
  void *self;
  void (*report)(void *self, uint64_t done, uint64_t total, int64_t now_us);
};

struct hr_run_config {
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_policy_ops *policy;
  const struct hr_param_value *params; /* one per entry of policy->params */
  uint64_t seed;
  /* HR_NEVER_US: until all jobs are done. Events at the horizon itself are processed. */
  int64_t horizon_us;
  bool check;                          /* checked mode: verifies all invariants during the run */
  const struct hr_class_spec *classes; /* [HR_N_CLASSES]: checkpoints and restarts; NULL: interrupted jobs start over */
  const struct hr_observer *observers;
  uint32_t n_observers;
  struct hr_progress progress;
  const struct hr_quota_spec *quotas;             /* enforced by the policy; NULL: none */
  const struct hr_speeds *speeds;                 /* for these pools; NULL: every job works at speed 1 everywhere */
  const struct hr_network_speeds *network_speeds; /* NULL: no link slows a job down */
  /* Streamed run: forgets finished jobs, so that memory is bounded by waiting and running jobs; the result has no
     per-job columns. Needs a trace that was read with `streamed`. Combinations that need finished jobs are refused,
     and policies must not access them. */
  bool stream;
};

/* GPU time in milli-GPU x microseconds. */
struct hr_gpu_times {
  hr_amount kept, lost, saving, restarting;
};

/* The accounts of a job, in runs where jobs can be interrupted. Times are per job, not per GPU: held_us = kept_us +
   lost_us + saving_us + restarting_us. At speed 1, the time of work equals the work. */
struct hr_job_accounting {
  uint32_t attempts;  /* starts */
  uint32_t oom_kills; /* kills for lack of GPU memory; the time until the next try counts as restarting */
  int64_t end_us;     /* HR_NEVER_US unless it completed */
  int64_t kept_us;    /* time of work that was kept: all of it if the job completed */
  int64_t saved_us;   /* time of its first checkpoint; HR_NEVER_US: none */
  int64_t lost_us;    /* time of work that was lost */
  int64_t saving_us, restarting_us;
  int64_t held_us;              /* time that it held GPUs, in all attempts */
  struct hr_gpu_times milli_us; /* the same times, weighted by the GPUs of each attempt */
};

/* The accounts of a pool: nodes that come and go, and jobs that found too little GPU memory. */
struct hr_pool_accounting {
  uint64_t launches, notices, reclaims, interruptions; /* launches, notices, reclaims: nodes; interruptions: jobs */
  hr_amount up_us;                                     /* nodes x microseconds, including booting and closing */
  hr_amount offered_us;                                /* nodes that were up or available x microseconds */
  uint64_t oom_kills;
  hr_amount back_off_milli_us; /* milli-GPUs x microseconds held by jobs that were killed and had not tried again */
};

/* Totals over the jobs that were not finished at the end of a streamed run. */
struct hr_unfinished_totals {
  uint64_t missed_deadlines;    /* jobs with a deadline before the end of the run */
  uint64_t oom_kills, oom_jobs; /* oom_jobs: jobs with at least one such kill */
  struct hr_gpu_times milli_us; /* sums of their accounts */
};

struct hr_result {
  const struct hr_trace *trace; /* borrowed */
  /* entries of per-job columns: 0 in a streamed run, in which all of these are NULL */
  uint32_t n_jobs;
  uint8_t *state;                       /* by job: enum hr_job_state at the end */
  int64_t *start_us;                    /* by job: first start; HR_NEVER_US if it never ran */
  uint8_t *reason;                      /* by job: enum hr_reason of the last start or rejection */
  struct hr_job_accounting *accounting; /* by job; NULL if jobs cannot be interrupted */
  struct hr_pool_accounting *pools;     /* [n_pools] */
  uint32_t n_pools;
  uint64_t n_submitted, n_completed, n_rejected, n_waiting, n_running;
  uint64_t n_events, n_passes, n_backfilled;
  int64_t end_us;     /* the last instant of the run, or the horizon if that ended it */
  uint32_t abilities; /* as declared by the policy */
  bool stalled;       /* the run was ended because nothing had progressed for a year although jobs were left */
  uint64_t digest;    /* hash of the event log: time, kind, job and placement of all events, in order */
  int64_t *ended_us;  /* by job: completion, in runs with speeds in which no job can be stopped; else NULL */
  /* by job: milli-GPUs of its last attempt; NULL: all jobs have the whole GPUs that they request */
  uint32_t *gpu_milli;
  struct hr_unfinished_totals left; /* of a streamed run, else 0 */
};

/* Runs a simulation to its end. `*result` is set if HR_OK is returned; free it with hr_result_destroy. HR_BAD_INPUT
   for inconsistent input, HR_BAD_POLICY if the policy breaks a rule, HR_INTERNAL if checked mode finds a broken
   invariant, HR_NO_MEMORY. `error` describes the reason. */
HR_API enum hr_status hr_sim_run(const struct hr_run_config *config, struct hr_result **result, struct hr_error *error);
/* Frees a result. NULL is accepted. */
HR_API void hr_result_destroy(struct hr_result *result);

/* When a job completed; HR_NEVER_US if it did not. */
static inline int64_t hr_result_end_us(const struct hr_result *result, hr_job job) {
  if (result->accounting) return result->accounting[job.id].end_us;
  if (result->ended_us) return result->ended_us[job.id];
  if (result->state[job.id] != HR_JOB_COMPLETED) return HR_NEVER_US;
  return result->start_us[job.id] + result->trace->work_us[job.id];
}
/* "completed", "rejected", "unfinished" (waiting or running at the end) or "unsubmitted" (after the horizon). */
HR_API const char *hr_result_state_name(const struct hr_result *result, hr_job job);

/*
 * ---- Ledger ----
 *
 * An observer that assigns the cost of each pool to tenants or to idle capacity. The charges of tenants plus idle
 * capacity equal the cost of the pools, to the last unit.
 *
 * Amounts are micro-dollars per GPU-hour x milli-GPU x microseconds in 128 bits; HR_LEDGER_UNITS_PER_UUSD of them are a
 * micro-dollar. Nothing is rounded before output.
 */

/* milli-GPUs of a GPU x microseconds of an hour */
#define HR_LEDGER_UNITS_PER_UUSD (INT64_C(1000) * 3600 * 1000000)

/* A month of the accounts: a twelfth of 365 days, counted from time zero. */
#define HR_MONTH_US (INT64_C(730) * 3600 * 1000000)

/* The key of a charge. */
struct hr_account {
  uint32_t tenant; /* HR_NONE: jobs without a tenant */
  uint8_t class_;  /* enum hr_job_class */
  uint32_t pool;
  uint32_t month;
};

struct hr_charge {
  struct hr_account account;
  hr_amount amount;
  hr_amount gpu_time; /* milli-GPU x microseconds */
};

/* The totals of a pool. */
struct hr_pool_account {
  hr_amount cost;                /* used + idle */
  hr_amount used;                /* charged to jobs */
  hr_amount on_demand;           /* cost of the GPU time used at on-demand prices; 0 if unknown */
  hr_amount gpu_time, used_time; /* milli-GPU x microseconds that were billed, and those of them that jobs used */
  hr_amount waived_time;         /* not billed, since the node was reclaimed early */
};

struct hr_ledger;
/* Creates a ledger for one run. `trace` and `cluster` must outlive it. `by_job`: also record the cost of each job.
   NULL if memory is exhausted. */
HR_API struct hr_ledger *hr_ledger_create(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                          bool by_job);
/* Frees a ledger. NULL is accepted. */
HR_API void hr_ledger_destroy(struct hr_ledger *ledger);
/* The observer of the ledger, to be passed to one run. */
HR_API struct hr_observer hr_ledger_observer(struct hr_ledger *ledger);
/* Closes the accounts at the end of the run: jobs that still run are charged up to it. HR_NO_MEMORY if a charge was
   lost during the run. */
HR_API enum hr_status hr_ledger_close(struct hr_ledger *ledger, const struct hr_result *result);

/* The results, after hr_ledger_close. Charges are sorted by (pool, tenant, class, month) and belong to the ledger.
   hr_ledger_job is 0 unless the ledger records the cost of jobs. */
HR_API size_t hr_ledger_charges(const struct hr_ledger *ledger, const struct hr_charge **charges);
HR_API const struct hr_pool_account *hr_ledger_pool(const struct hr_ledger *ledger, hr_pool pool);
HR_API hr_amount hr_ledger_job(const struct hr_ledger *ledger, hr_job job);

#ifdef __cplusplus
}
#endif
#endif
