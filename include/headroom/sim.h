/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_SIM_H
#define HEADROOM_SIM_H

/*
 * The simulation of a trace, and cost accounting.
 *
 * hr_sim_run simulates a trace on a cluster under a policy and returns the state and times of each job. Observers are
 * notified of all events during the run. Metrics, the ledger and file writers are observers.
 */

#include "headroom/base.h"
#include "headroom/cluster.h"
#include "headroom/policy.h"
#include "headroom/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An observer is notified of the events of a run; it cannot change the run. `self` is passed to both functions. Each of
   them may be NULL. */
struct hr_observer {
  void *self;
  /* Called for each event, including those of moves, in order. */
  void (*on_event)(void *self, const struct hr_view *view, const struct hr_event *event);
  /* Called after each pass of the policy; with several clusters, after the passes of all clusters at this time. Also
     called if the power of nodes changes without a pass, and at the end of a run that ends after its last pass, for
     example at the horizon. Several calls may have the same time. The states of jobs in `view` do not change until the
     next event. */
  void (*on_instant)(void *self, const struct hr_view *view);
};

/* Functions of the caller for the progress of a run. `self` is passed to both. */
struct hr_progress {
  void *self;
  /* Reports the progress. `done`: number of jobs that ended or were rejected. `total`: number of all jobs. `now_us`:
     simulated time. May be NULL. */
  void (*report)(void *self, uint64_t done, uint64_t total, int64_t now_us);
  /* Returns whether the caller wants the run to end; the run then returns HR_STOPPED. Called often. If several runs use
     the function, several threads may call it at the same time. NULL: the run is not stopped. */
  bool (*is_stopped)(void *self);
};

/* The input of a run. Everything to which it points is borrowed. */
struct hr_run_config {
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_policy_ops *policy;
  const struct hr_param_value *params; /* one per entry of policy->params */
  uint64_t seed;
  /* the horizon: the run ends at this time, after the events at this time. HR_NEVER_US: the run ends with its last
     job */
  int64_t horizon_us;
  bool check; /* checked mode: verify all invariants during the run */
  /* [HR_N_CLASSES]: settings of job classes, such as checkpoints; NULL: no settings, interrupted jobs start over */
  const struct hr_class_spec *classes;
  const struct hr_observer *observers;
  uint32_t n_observers;
  struct hr_progress progress;
  const struct hr_quota_spec *quotas; /* quotas that the policy enforces; NULL: none */
  const struct hr_systems *systems;   /* configuration of modelled schedulers (unstable); NULL: none */
  /* speeds by GPU type for the pools of `cluster`; NULL: every job runs at speed 1 in every pool */
  const struct hr_speeds *speeds;
  const struct hr_network_speeds *network_speeds; /* NULL: the network does not affect the speed of jobs */
  const struct hr_scaling_table *scaling;         /* NULL: the speed of elastic jobs is proportional to their GPUs */
  /* streamed run: the engine discards finished jobs, so memory is bounded by the number of waiting and running jobs.
     The result has no per-job columns. The trace must have been read with `streamed` (struct hr_trace_options).
     Policies must not read the columns of finished jobs. hr_sim_run returns HR_BAD_INPUT if another option needs the
     data of finished jobs */
  bool stream;
  const struct hr_values *values; /* receives values of modelled schedulers; NULL: none */
  /* inference services (headroom/unstable/services.h). A fleet is for one run, and needs a trace that has the jobs of
     its replicas. NULL: none */
  struct hr_fleet *fleet;
  /* several clusters (headroom/unstable/clusters.h). `cluster` has the pools of all of them. `policy` and `params`
     apply to clusters without a policy of their own; quotas and systems are those of each cluster. NULL: one cluster */
  const struct hr_clusters *clusters;
  /* data with a location (headroom/unstable/data.h); NULL: data is free and available in all locations */
  const struct hr_data_spec *data;
};

/* GPU time by use, in milli-GPUs * microseconds. `kept`: work that was not lost. `lost`: work that had to be repeated.
   `saving`: checkpoints. `restarting`: restarts after interruptions. `hanging`: the time from the failure of a node
   until it is detected. `data`: the time in which jobs could work, but waited for their data. */
struct hr_gpu_times {
  hr_amount kept, lost, saving, restarting, hanging, data;
};

/* The accounting of a job, in runs in which jobs can be interrupted. kept_us, lost_us, saving_us, restarting_us,
   hanging_us, data_us and held_us are durations, not multiplied by the number of GPUs of the job. held_us is the sum of
   the other six. end_us, saved_us and rejected_us are times. At speed 1, working time equals work. */
struct hr_job_accounting {
  uint32_t attempts;  /* number of starts */
  uint32_t oom_kills; /* kills because of exhausted GPU memory; the time until the next try counts as restarting */
  int64_t end_us;     /* time of completion; HR_NEVER_US unless the job completed */
  int64_t kept_us;    /* working time with results that were not lost */
  int64_t saved_us;   /* time at which the first checkpoint was complete; HR_NEVER_US: no checkpoint */
  int64_t lost_us;    /* working time that was lost in interruptions */
  /* time for checkpoints, for restarts, and with a failed node before the failure was detected */
  int64_t saving_us, restarting_us, hanging_us;
  int64_t data_us; /* time in which the job could work, but waited for its data */
  int64_t held_us; /* time for which the job had GPUs, in all attempts */
  /* kept_us, lost_us, saving_us, restarting_us, hanging_us and data_us, multiplied by the milli-GPUs of the attempts */
  struct hr_gpu_times milli_us;
  int64_t resuming_us; /* part of restarting_us: restarts after stops by the policy that kept all work */
  bool resumes;        /* the policy made the last stop, which kept all work */
  int64_t rejected_us; /* time at which the job was rejected after it had run; 0: this did not happen */
};

/* The accounting of a pool: changes of its nodes, stops of jobs, and energy. Members of type hr_amount with a name that
   ends in `_us` are sums over nodes, in microseconds. */
struct hr_pool_accounting {
  /* launches: number of requested nodes. notices: number of nodes that got a notice. reclaims: number of reclaimed
     nodes. interruptions: number of times that a job was stopped, except by preemptions. */
  uint64_t launches, notices, reclaims, interruptions;
  uint64_t failures, failed_jobs; /* failures of nodes and groups of nodes, and number of jobs that they stopped */
  /* nodes that the policy excluded for a job after a failure, and for how long (headroom/unstable/faults.h,
     hr_view_count_exclusion) */
  uint64_t exclusions;
  hr_amount excluded_us;
  hr_amount down_us; /* time from a failure until the node is repaired */
  /* number of times that a group of nodes was maintained, and number of jobs that were stopped for maintenance */
  uint64_t maintenances, maintained_jobs;
  uint64_t slow_episodes;     /* number of times that a node became slow */
  uint64_t spare_activations; /* number of times that a spare node replaced another node */
  hr_amount spare_us;         /* time in which nodes were spares */
  /* GPU time that jobs lost because a node was slow; the unit is 10^-6 milli-GPUs * microseconds */
  hr_amount slow_lost;
  /* time in which nodes were in maintenance and had not failed; time in which nodes were closed before maintenance */
  hr_amount planned_us, draining_us;
  uint64_t sleeps, wakes; /* numbers of times that an idle node was suspended, and that a node was woken */
  hr_amount up_us;        /* time from the delivery of a node until it is released or reclaimed */
  hr_amount offered_us;   /* up_us plus the time in which nodes could be requested */
  /* With an autoscaler: nodes that booted; nodes that the autoscaler removed; scale-ups that failed. */
  uint64_t provisioned, removals, scale_failures;
  /* With an autoscaler: time from the request for a node until it had booted; time in which nodes were up without a
     job. */
  hr_amount provision_us, empty_us;
  uint64_t oom_kills; /* kills because of exhausted GPU memory */
  /* GPU time from kills because of exhausted GPU memory until the next try, in milli-GPUs * microseconds */
  hr_amount back_off_milli_us;
  struct hr_pool_energy energy; /* 0 if the power of the pool is unknown */
  /* number of preemptions for jobs that start again after a failure has stopped them */
  uint64_t restart_preemptions;
  /* the pool is elastic, and the engine requests each node as soon as it is available, even if no job needs it */
  bool is_kept;
};

/* Totals over the jobs that were not finished at the end of a streamed run. */
struct hr_unfinished_totals {
  uint64_t missed_deadlines;    /* number of jobs with a deadline before the end of the run */
  uint64_t oom_kills, oom_jobs; /* oom_jobs: number of jobs with at least one kill */
  struct hr_gpu_times milli_us; /* sums over the accounting of the jobs */
};

/* The result of a run. Each per-job column ("by job") has `n_jobs` entries. Freed by hr_result_destroy. */
struct hr_result {
  const struct hr_trace *trace; /* borrowed */
  /* number of entries of the per-job columns; 0 in a streamed run, in which all these columns are NULL */
  uint32_t n_jobs;
  uint8_t *state;    /* by job: enum hr_job_state at the end */
  int64_t *start_us; /* by job: first start; HR_NEVER_US if it never ran */
  uint8_t *reason;   /* by job: enum hr_reason of the last start, preemption or rejection */
  /* Read these two with hr_result_accounting. `account`, by job: the index of its accounting in `accounts`; 0: it is
     computed from the start and the end. Both are NULL if nothing in the run could stop jobs. */
  struct hr_job_accounting *accounts;
  uint32_t *account;
  struct hr_pool_accounting *pools; /* [n_pools] */
  uint32_t n_pools;
  uint64_t n_submitted, n_completed, n_rejected, n_waiting, n_running; /* numbers of jobs; the last two at the end */
  /* numbers of events, of passes, and of starts with the reason HR_REASON_BACKFILL */
  uint64_t n_events, n_passes, n_backfilled;
  int64_t end_us;     /* the last instant of the run, or the horizon if the horizon ended the run */
  uint32_t abilities; /* HR_POLICY_PREEMPTS and other abilities that the policy declared */
  /* The engine ended the run although jobs were left, because the run made no progress. Progress is a submission, the
     end of a job, or saved work. A run is ended in two cases: a time limit without progress has passed (a year plus the
     maximum run time of a job), or jobs only preempted each other (n_futile). Always false with a horizon. */
  bool stalled;
  /* If jobs only preempted each other at the end of the run: the number of preemptions since the last progress.
     Otherwise 0. Since the last progress, two conditions must be true: at least 10,000 + 10 * (number of waiting and
     running jobs) preemptions were made; and more than the maximum run time of a job plus one day has passed. If later
     events, such as failures or requests of services, can change the capacity or the demand, 30 days are used instead
     of one day. */
  uint64_t n_futile;
  uint64_t digest; /* hash of the event log: time, kind, job and placement of each event, in order */
  /* by job: time of completion; HR_NEVER_US: not completed. NULL: see hr_result_end_us */
  int64_t *ended_us;
  /* by job: milli-GPUs of the last attempt; NULL: each job had the whole GPUs that it requests */
  uint32_t *gpu_milli;
  /* internal, see hr_result_energy; NULL if no pool has a known power. It refers to the cluster and the classes of the
     run */
  struct hr__job_energy *energy;
  struct hr_power_peaks peaks;
  struct hr__resized *resized;      /* internal, see hr_result_resizes; NULL unless jobs were resized */
  struct hr_unfinished_totals left; /* totals of a streamed run; 0 in other runs */
  /* In a run with several clusters; in other runs NULL and 0. `clusters`, [n_clusters]: figures of each cluster
     (headroom/unstable/clusters.h). `cluster_of`, by job: index of its cluster; HR_NONE if it was not submitted. */
  struct hr_cluster_result *clusters;
  uint32_t n_clusters;
  uint32_t *cluster_of;
  struct hr_outage_accounting *outages; /* failures by class (headroom/unstable/faults.h); NULL unless nodes fail */
  struct hr_data_result *data; /* bytes of storage systems and links (headroom/unstable/data.h); NULL without data */
};

/* Runs a simulation to its end. On HR_OK, `*result` is set; free it with hr_result_destroy. Returns HR_BAD_INPUT for
   inconsistent input, HR_BAD_POLICY if the policy or the router breaks a rule, HR_INTERNAL if an invariant is violated,
   and HR_STOPPED if `progress` stopped the run. `error` describes the reason. */
HR_API enum hr_status hr_sim_run(const struct hr_run_config *config, struct hr_result **result, struct hr_error *error);
/* Makes the checks that hr_sim_run makes before the first event: whether the policy supports the cluster, the trace and
   the other settings. Returns the errors of hr_sim_run. Observers are not notified. */
HR_API enum hr_status hr_sim_check(const struct hr_run_config *config, struct hr_error *error);
/* Frees a result. NULL is accepted. */
HR_API void hr_result_destroy(struct hr_result *result);

/* Returns the accounting of a job. `account` of the result must not be NULL. If the job ran once and worked all the
   time, milli_us is 0, and the GPU time of the job is kept_us * (GPUs of the job). Otherwise milli_us is set. */
HR_API struct hr_job_accounting hr_result_accounting(const struct hr_result *result, hr_job job);
/* Returns the energy of a job in all attempts. `energy` of the result must not be NULL. */
HR_API struct hr_energy hr_result_energy(const struct hr_result *result, hr_job job);
/* Returns the time at which a job completed; HR_NEVER_US if the job did not complete. */
static inline int64_t hr_result_end_us(const struct hr_result *result, hr_job job) {
  if (result->ended_us) return result->ended_us[job.id];
  if (result->state[job.id] != HR_JOB_COMPLETED) return HR_NEVER_US;
  return result->start_us[job.id] + result->trace->work_us[job.id];
}
/* Returns how many times the number of GPUs of a running job was changed. Sets `*held` to the GPU time of all attempts
   that have ended, in milli-GPUs * microseconds. Both are 0 if jobs could not be resized. `held` may be NULL. */
HR_API uint32_t hr_result_resizes(const struct hr_result *result, hr_job job, hr_amount *held);
/* Returns the final state of a job: "completed", "rejected", "unfinished" (waiting or running at the end) or
   "unsubmitted" (the run ended before its submit). */
HR_API const char *hr_result_state_name(const struct hr_result *result, hr_job job);

/*
 * ---- Ledger ----
 *
 * The ledger is an observer that divides the cost of each pool into charges for tenants and the cost of idle capacity.
 * The sum of both is exactly the cost of the pool.
 *
 * Amounts are 128-bit integers in ledger units: (price in micro-dollars per GPU-hour) * milli-GPUs * microseconds.
 * HR_LEDGER_UNITS_PER_UUSD ledger units are one micro-dollar. Amounts are rounded in output only.
 */

/* (1000 milli-GPUs per GPU) * (microseconds per hour) */
#define HR_LEDGER_UNITS_PER_UUSD (INT64_C(1000) * 3600 * 1000000)

/* A month in accounts: one twelfth of 365 days. Months are counted from time 0. */
#define HR_MONTH_US (INT64_C(730) * 3600 * 1000000)

/* An account. Each use of GPUs is charged to one account. */
struct hr_account {
  uint32_t tenant;  /* HR_NONE: jobs without a tenant */
  uint8_t class_;   /* enum hr_job_class */
  uint32_t pool;    /* index of the pool */
  uint32_t month;   /* number of the month, from 0 */
  uint32_t service; /* for a replica, the index of its inference service; HR_NONE: a job of the trace */
};

/* The charge to one account: the sum over all uses. */
struct hr_charge {
  struct hr_account account;
  hr_amount amount;   /* cost in ledger units */
  hr_amount gpu_time; /* in milli-GPUs * microseconds */
};

/* The totals of a pool. The first three members are in ledger units, the others in milli-GPUs * microseconds. */
struct hr_pool_account {
  hr_amount cost;      /* cost of the pool, used and idle */
  hr_amount used;      /* the sum of all charges */
  hr_amount on_demand; /* what the used GPU time would have cost at the on-demand price; 0 if this price is unknown */
  /* GPU time that was billed, and the part of this GPU time that jobs used */
  hr_amount gpu_time, used_time;
  hr_amount waived_time; /* GPU time that was not billed, because the provider reclaimed nodes early */
};

struct hr_ledger;
/* Creates a ledger for one run. `trace` and `cluster` must outlive it. If `by_job` is true, the ledger also records the
   cost of each job. Returns NULL if memory is exhausted. */
HR_API struct hr_ledger *hr_ledger_create(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                          bool by_job);
/* Sets the inference services of the run, so that replicas are charged to accounts of their services. `fleet` must
   outlive the run; NULL: no services. Call this function before the run. */
HR_API void hr_ledger_set_fleet(struct hr_ledger *ledger, const struct hr_fleet *fleet);
/* Frees a ledger. NULL is accepted. */
HR_API void hr_ledger_destroy(struct hr_ledger *ledger);
/* Returns the observer of the ledger. Pass it to one run. */
HR_API struct hr_observer hr_ledger_observer(struct hr_ledger *ledger);
/* Closes the accounts at the end of the run. Jobs that still run are charged up to that time. Returns HR_NO_MEMORY if
   memory was exhausted during the run, and HR_BAD_INPUT if an amount is above 4.6 trillion dollars. The accounts are
   then incomplete. */
HR_API enum hr_status hr_ledger_close(struct hr_ledger *ledger, const struct hr_result *result);

/* The following functions return results; call them after hr_ledger_close. */

/* Sets `*charges` to the charges, sorted by (pool, tenant, class, service, month), and returns their number. The array
   belongs to the ledger. */
HR_API size_t hr_ledger_charges(const struct hr_ledger *ledger, const struct hr_charge **charges);
/* Returns the totals of a pool, which belong to the ledger. */
HR_API const struct hr_pool_account *hr_ledger_pool(const struct hr_ledger *ledger, hr_pool pool);
/* Returns the cost of a job in ledger units; 0 if the ledger was created without `by_job`. */
HR_API hr_amount hr_ledger_job(const struct hr_ledger *ledger, hr_job job);

#ifdef __cplusplus
}
#endif
#endif
