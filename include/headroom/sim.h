/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_SIM_H
#define HEADROOM_SIM_H

/* One run: a trace, a cluster and a policy in, each job's fate out. */

#include "headroom/base.h"
#include "headroom/cluster.h"
#include "headroom/policy.h"
#include "headroom/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Something that follows a run and is never asked by it. Either function may be NULL. */
struct hr_observer {
  void *self;
  /* Each event and each move, in order. */
  void (*on_event)(void *self, const struct hr_view *view, const struct hr_event *event);
  /* After each pass of the policy: the state that holds until the next instant. Once more at a horizon that cuts the
     run. */
  void (*on_instant)(void *self, const struct hr_view *view);
};

/* Called now and then so that a person sees progress: jobs ended or rejected so far, of all. */
struct hr_progress {
  void *self;
  void (*report)(void *self, uint64_t done, uint64_t total, int64_t now_us);
};

struct hr_run_config {
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_policy_ops *policy;
  const struct hr_param_value *params; /* one for each entry of policy->params */
  uint64_t seed;
  int64_t horizon_us;                  /* HR_NEVER_US: until all is done. Events at the horizon itself still happen. */
  bool check;                          /* verify the whole state while it runs */
  const struct hr_class_spec *classes; /* [HR_N_CLASSES]: how jobs stand interruptions; NULL: they begin anew */
  const struct hr_observer *observers;
  uint32_t n_observers;
  struct hr_progress progress;
  const struct hr_quota_spec *quotas;             /* for the policy to keep; NULL: none */
  const struct hr_speeds *speeds;                 /* for these pools; NULL: every job works at speed 1 everywhere */
  const struct hr_network_speeds *network_speeds; /* NULL: no link slows a job down */
  /* Jobs that are over are forgotten, so that memory is bounded by those that wait or run; the result then has no
     columns by job. For a trace that was read with `streamed`; what needs jobs that are over is refused. Policies may
     look at no such job. */
  bool stream;
};

/* Times in thousandths of a GPU, each for a microsecond. */
struct hr_gpu_times {
  hr_amount kept, lost, saving, restarting;
};

/* What a job went through, in runs where one may be interrupted; times are per job, not per GPU. The time that a job
   held GPUs is kept + lost + saving + restarting. At speed 1 the time of its work is the work itself. */
struct hr_job_accounting {
  uint32_t attempts;  /* starts */
  uint32_t oom_kills; /* times that it died for want of GPU memory; until it tries again counts as restarting */
  int64_t end_us;     /* HR_NEVER_US unless it completed */
  int64_t kept_us;    /* time in which it did work that counts: all of it when completed */
  int64_t saved_us;   /* when its first checkpoint was safe; HR_NEVER_US: it has none */
  int64_t lost_us;    /* time in which it did work that was lost */
  int64_t saving_us, restarting_us;
  int64_t held_us;              /* GPUs held, all attempts */
  struct hr_gpu_times milli_us; /* likewise, each attempt by the GPUs that it had */
};

/* What happened to a pool: to its nodes that come and go, and to jobs that found too little memory on its GPUs. */
struct hr_pool_accounting {
  uint64_t launches, notices, reclaims, interruptions; /* nodes; jobs */
  hr_amount up_us;                                     /* nodes x microseconds, booting and closing included */
  hr_amount offered_us;                                /* nodes that could be had or were up x microseconds */
  uint64_t oom_kills;
  hr_amount back_off_milli_us; /* thousandths of GPUs x microseconds, held by jobs that had died and not yet come up */
};

/* Sums over the jobs that were left when a streamed run ended. */
struct hr_unfinished_totals {
  uint64_t missed_deadlines;    /* jobs whose deadline came before the end of the run */
  uint64_t oom_kills, oom_jobs; /* jobs: of which one died for want of GPU memory */
  struct hr_gpu_times milli_us; /* as of their fates */
};

struct hr_result {
  const struct hr_trace *trace;         /* borrowed */
  uint32_t n_jobs;                      /* of the columns by job: 0 of a streamed run, in which they are all NULL */
  uint8_t *state;                       /* enum hr_job_state at the end, by job */
  int64_t *start_us;                    /* of the first attempt; HR_NEVER_US for what never ran */
  uint8_t *reason;                      /* enum hr_reason of the last start or rejection */
  struct hr_job_accounting *accounting; /* by job; NULL where no job could be interrupted */
  struct hr_pool_accounting *pools;     /* [n_pools] */
  uint32_t n_pools;
  uint64_t n_submitted, n_completed, n_rejected, n_waiting, n_running;
  uint64_t n_events, n_passes, n_backfilled;
  int64_t end_us;      /* the last instant of the run; the horizon where that cut it */
  uint32_t abilities;  /* of the policy, as it told them */
  bool stalled;        /* the run was given up: for a year nothing had come of it, and jobs are left */
  uint64_t digest;     /* of the event log: time, kind, job and placement of all that happened, in order */
  int64_t *ended_us;   /* by job, of those that completed, where jobs have speeds and cannot be stopped; else NULL */
  uint32_t *gpu_milli; /* by job that started: of its last attempt; NULL: all that jobs ask for, as whole GPUs */
  struct hr_unfinished_totals left; /* of a streamed run, else 0 */
};

/* Runs to the end. `*result` is set when HR_OK is returned. Exit code 3 errors name time, job, policy and rule. */
HR_API enum hr_status hr_sim_run(const struct hr_run_config *config, struct hr_result **result, struct hr_error *error);
HR_API void hr_result_destroy(struct hr_result *result);

/* When a job completed, HR_NEVER_US otherwise. */
HR_API int64_t hr_result_end_us(const struct hr_result *result, hr_job job);
/* "completed", "rejected", "unfinished" (waiting or running at the horizon) or "unsubmitted" (beyond it). */
HR_API const char *hr_result_state_name(const struct hr_result *result, hr_job job);

/*
 * Who pays for what. A fold that follows a run and books every dollar that a pool costs to a tenant or to idleness:
 * what tenants pay plus what is idle equals what the pools cost, to the last unit.
 *
 * Amounts are micro-dollars per GPU-hour x milli-GPU x microseconds, in 128 bits; HR_LEDGER_UNITS_PER_UUSD of them
 * make a micro-dollar. Nothing is rounded before it is shown.
 */

/* milli-GPUs in a GPU x microseconds in an hour */
#define HR_LEDGER_UNITS_PER_UUSD (INT64_C(1000) * 3600 * 1000000)

/* Months of accounts: a twelfth of 365 days, from time zero. */
#define HR_MONTH_US (INT64_C(730) * 3600 * 1000000)

/* What a charge is for. */
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

/* What a pool came to. */
struct hr_pool_account {
  hr_amount cost;                /* used + idle */
  hr_amount used;                /* charged to jobs */
  hr_amount on_demand;           /* what the GPU time that jobs used would have cost on demand; 0 where unknown */
  hr_amount gpu_time, used_time; /* milli-GPU x microseconds that were paid for, and that jobs used of them */
  hr_amount waived_time;         /* that were not billed, as the node was reclaimed early */
};

struct hr_ledger;
/* `trace` and `cluster` must outlive it. NULL when out of memory. `by_job`: also keep each job's cost. */
HR_API struct hr_ledger *hr_ledger_create(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                          bool by_job);
HR_API void hr_ledger_destroy(struct hr_ledger *ledger);
/* To be given to a run, once. */
HR_API struct hr_observer hr_ledger_observer(struct hr_ledger *ledger);
/* Ends the accounts at the run's end: what still runs is charged up to it. HR_NO_MEMORY if an account was lost. */
HR_API enum hr_status hr_ledger_close(struct hr_ledger *ledger, const struct hr_result *result);

/* After the close. Charges are sorted by (pool, tenant, class, month). */
HR_API size_t hr_ledger_charges(const struct hr_ledger *ledger, const struct hr_charge **charges);
HR_API const struct hr_pool_account *hr_ledger_pool(const struct hr_ledger *ledger, hr_pool pool);
HR_API hr_amount hr_ledger_job(const struct hr_ledger *ledger, hr_job job);

#ifdef __cplusplus
}
#endif
#endif
