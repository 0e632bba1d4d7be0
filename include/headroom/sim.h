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

/* An observer follows a run; it cannot change the run. Each of the two functions may be NULL. `self` is passed to
   both. */
struct hr_observer {
  void *self;
  /* Called for each event and each move, in order. */
  void (*on_event)(void *self, const struct hr_view *view, const struct hr_event *event);
  /* Called after each pass of the policy. The state in `view` does not change until the next instant. If the horizon
     ends the run, it is also called at the horizon. */
  void (*on_instant)(void *self, const struct hr_view *view);
};

/* Reports the progress of a run. `done`: number of jobs that ended or were rejected. `total`: number of all jobs.
   `now_us`: simulated time. `report` may be NULL. `is_stopped` returns whether the caller wants the run to end; the run
   then returns HR_STOPPED. It is called often, and by several threads at a time if there are several runs. NULL: the
   run is not stopped. */
struct hr_progress {
  void *self;
  void (*report)(void *self, uint64_t done, uint64_t total, int64_t now_us);
  bool (*is_stopped)(void *self);
};

/* The input of a run. Everything that it points to is borrowed. */
struct hr_run_config {
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_policy_ops *policy;
  const struct hr_param_value *params; /* one per entry of policy->params */
  uint64_t seed;
  /* the end of the run, inclusive: events at the horizon are processed. HR_NEVER_US: the run ends with its last job */
  int64_t horizon_us;
  bool check; /* checked mode: verify all invariants during the run */
  /* [HR_N_CLASSES]: checkpoint and restart settings by job class; NULL: interrupted jobs start over */
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
  /* Streamed run: the engine discards finished jobs, so memory is bounded by the number of waiting and running jobs.
     The result has no per-job columns. The trace must have been read with `streamed`. Policies must not read the
     columns of finished jobs. hr_sim_run returns HR_BAD_INPUT if another option needs the data of finished jobs. */
  bool stream;
  const struct hr_values *values; /* receives values of modelled schedulers; NULL: none */
  struct hr_fleet *fleet;         /* inference services (unstable), for one run, with its own `trace`. NULL: none */
  /* several clusters (headroom/unstable/clusters.h) with their own quotas and systems; `policy` and `params` are those
     of clusters without their own, and `cluster` has the pools of all of them. NULL: one cluster */
  const struct hr_clusters *clusters;
  /* data with a location (headroom/unstable/data.h); NULL: data is free and available in all locations */
  const struct hr_data_spec *data;
};

/* GPU time by use, in milli-GPU x microseconds. `kept`: for work that was not lost. `lost`: for work that had to be
   repeated. `saving`: for writing checkpoints. `restarting`: for restarts after interruptions. `hanging`: from a
   failure of a node until it is detected. `data`: jobs could work and waited for their data. */
struct hr_gpu_times {
  hr_amount kept, lost, saving, restarting, hanging, data;
};

/* The accounts of a job, in runs in which jobs can be interrupted. kept_us, lost_us, saving_us, restarting_us,
   hanging_us, data_us and held_us are durations of the job, not multiplied by its number of GPUs. held_us is the sum of
   the others. end_us and saved_us are times since the first submit. At speed 1, working time equals work. */
struct hr_job_accounting {
  uint32_t attempts;  /* number of starts */
  uint32_t oom_kills; /* kills because of exhausted GPU memory; the time until the next try counts as restarting */
  int64_t end_us;     /* time of completion; HR_NEVER_US unless the job completed */
  int64_t kept_us;    /* working time with results that were not lost */
  int64_t saved_us;   /* time at which the first checkpoint was complete; HR_NEVER_US: no checkpoint */
  int64_t lost_us;    /* working time that was lost in interruptions */
  /* time spent on checkpoints, on restarts, and with a failed node before the failure was detected */
  int64_t saving_us, restarting_us, hanging_us;
  int64_t data_us; /* time in which the job could work and waited for its data */
  int64_t held_us; /* time for which the job held GPUs, in all attempts */
  /* kept_us, lost_us, saving_us, restarting_us, hanging_us and data_us, multiplied by the milli-GPUs of the attempts */
  struct hr_gpu_times milli_us;
  int64_t resuming_us; /* part of restarting_us: restarts after stops by the policy that kept all work */
  bool resumes;        /* the last stop was of this kind */
  int64_t rejected_us; /* when the job was rejected after it had run; 0: it was not */
};

/* The accounts of a pool: changes of its nodes, and kills of jobs because of exhausted GPU memory. */
struct hr_pool_accounting {
  /* launches, notices and reclaims count nodes; interruptions counts jobs */
  uint64_t launches, notices, reclaims, interruptions;
  /* failures of nodes and groups of nodes, and how many jobs they stopped */
  uint64_t failures, failed_jobs;
  /* nodes that the policy excluded for a job after a failure, and how long (hr_view_count_exclusion) */
  uint64_t exclusions;
  hr_amount excluded_us;
  hr_amount down_us; /* sum over nodes of the microseconds from a failure until the node is repaired */
  /* maintenance: number of groups of nodes that were maintained, and number of jobs that were stopped for it; sums over
     nodes: time in maintenance without failures, and time in which the node was closed before it */
  uint64_t maintenances, maintained_jobs;
  uint64_t slow_episodes;     /* how many times a node became slow */
  uint64_t spare_activations; /* how many times a spare node came up */
  hr_amount spare_us;         /* sum over nodes of the microseconds in which they were spares */
  /* GPU time that jobs lost because a node was slow, in milli-GPUs x microseconds x 10^-6 */
  hr_amount slow_lost;
  hr_amount planned_us, draining_us;
  uint64_t sleeps, wakes; /* how many times an idle node was suspended, and how many times one was woken */
  hr_amount up_us;        /* sum over nodes of the microseconds from launch until the node is gone */
  /* sum over nodes of the microseconds in which the node was launched and not yet gone, or could be requested */
  hr_amount offered_us;
  /* with an autoscaler: nodes that booted and the sum of the times this took; nodes that it removed; scale-ups that
     failed; sum over nodes of the microseconds in which they were up without a job */
  uint64_t provisioned, removals, scale_failures;
  hr_amount provision_us, empty_us;
  uint64_t oom_kills; /* kills because of exhausted GPU memory */
  /* GPU time that killed jobs held until they tried again, in milli-GPU x microseconds */
  hr_amount back_off_milli_us;
  struct hr_pool_energy energy; /* 0 if its power is unknown */
  /* jobs that the policy preempted so that a job that a failure had stopped could start again (sim/engine/jobs.c)
   */
  uint64_t restart_preemptions;
  /* the nodes are on-demand or spot nodes, and are launched whenever they can be, whether or not jobs use them */
  bool is_kept;
};

/* Totals over the jobs that were not finished at the end of a streamed run. */
struct hr_unfinished_totals {
  uint64_t missed_deadlines;    /* number of these jobs with a deadline before the end of the run */
  uint64_t oom_kills, oom_jobs; /* oom_jobs: number of jobs with at least one kill */
  struct hr_gpu_times milli_us; /* sums over the accounting of these jobs */
};

/* The result of a run. Each per-job column has `n_jobs` entries. Freed by hr_result_destroy. */
struct hr_result {
  const struct hr_trace *trace; /* borrowed */
  /* number of entries of the per-job columns; 0 in a streamed run, in which all these columns are NULL */
  uint32_t n_jobs;
  uint8_t *state;    /* by job: enum hr_job_state at the end */
  int64_t *start_us; /* by job: first start; HR_NEVER_US if it never ran */
  uint8_t *reason;   /* by job: enum hr_reason of the last start or rejection */
  /* the accounts of jobs, see hr_result_accounting; by job: the index of its account. NULL if no job could be
     interrupted */
  struct hr_job_accounting *accounts;
  uint32_t *account;
  struct hr_pool_accounting *pools; /* [n_pools] */
  uint32_t n_pools;
  uint64_t n_submitted, n_completed, n_rejected, n_waiting, n_running;
  uint64_t n_events, n_passes, n_backfilled;
  int64_t end_us;     /* the last instant of the run, or the horizon if the horizon ended the run */
  uint32_t abilities; /* HR_POLICY_PREEMPTS and other abilities that the policy declared */
  /* the engine ended the run although jobs were left, because the run made no progress for at least a year, or because
     jobs only preempted each other (n_futile): no job was submitted, no job ended, and no work was saved */
  bool stalled;
  /* if jobs only preempted each other until the end: the number of preemptions since the last progress; otherwise 0.
     This is assumed if there was no progress for a day longer than the longest job runs, and more than ten preemptions
     for each job that is left */
  uint64_t n_futile;
  uint64_t digest; /* hash of the event log: time, kind, job and placement of each event, in order */
  /* by job: time of completion; HR_NEVER_US: not completed. NULL if it can be computed from the start and the work */
  int64_t *ended_us;
  /* by job: milli-GPUs held in the last attempt; NULL: each job held the whole GPUs that it requests */
  uint32_t *gpu_milli;
  /* internal, see hr_result_energy; NULL if no pool has a known power. It refers to the cluster and the classes of the
     run */
  struct hr__job_energy *energy;
  struct hr_power_peaks peaks;
  struct hr__resized *resized;      /* internal, see hr_result_resizes; NULL unless jobs were resized */
  struct hr_unfinished_totals left; /* totals of a streamed run; 0 in other runs */
  /* in a run with several clusters: [n_clusters] figures by cluster (headroom/unstable/clusters.h), and by job its
     cluster, HR_NONE if it was not submitted. Otherwise NULL and 0 */
  struct hr_cluster_result *clusters;
  uint32_t n_clusters;
  uint32_t *cluster_of;
  struct hr_outage_accounting *outages; /* failures by class (headroom/unstable/faults.h); NULL unless nodes fail */
  struct hr_data_result *data; /* bytes of storage systems and links (headroom/unstable/data.h); NULL without data */
};

/* Runs a simulation to its end. On HR_OK, `*result` is set; free it with hr_result_destroy. Returns HR_BAD_INPUT for
   inconsistent input, HR_BAD_POLICY if the policy breaks a rule, HR_INTERNAL if checked mode finds a violated
   invariant, and HR_NO_MEMORY. `error` describes the reason. */
HR_API enum hr_status hr_sim_run(const struct hr_run_config *config, struct hr_result **result, struct hr_error *error);
/* Checks what hr_sim_run checks before the first event: whether the policy supports the cluster, the trace and the
   other settings. The errors are those of hr_sim_run. Observers are not notified. */
HR_API enum hr_status hr_sim_check(const struct hr_run_config *config, struct hr_error *error);
/* Frees a result. NULL is accepted. */
HR_API void hr_result_destroy(struct hr_result *result);

/* Returns what a job has used. The column `account` of the result must not be NULL; it is NULL if no job could be
   interrupted. If a job ran once and worked all the time, its milli_us is 0, because its GPU time is kept_us x the GPUs
   of the job. Otherwise milli_us is set. */
HR_API struct hr_job_accounting hr_result_accounting(const struct hr_result *result, hr_job job);
/* Returns the energy of a job in all attempts. `energy` must not be NULL. */
HR_API struct hr_energy hr_result_energy(const struct hr_result *result, hr_job job);
/* Returns the time at which a job completed; HR_NEVER_US if the job did not complete. */
static inline int64_t hr_result_end_us(const struct hr_result *result, hr_job job) {
  if (result->ended_us) return result->ended_us[job.id];
  if (result->state[job.id] != HR_JOB_COMPLETED) return HR_NEVER_US;
  return result->start_us[job.id] + result->trace->work_us[job.id];
}
/* Returns how many times the number of GPUs of a running job was changed, and sets `*held` to the GPU time of all
   attempts that have ended, in milli-GPU x microseconds. `held` may be NULL. */
HR_API uint32_t hr_result_resizes(const struct hr_result *result, hr_job job, hr_amount *held);
/* Returns the final state of a job: "completed", "rejected", "unfinished" (waiting or running at the end) or
   "unsubmitted" (its submit is after the horizon). */
HR_API const char *hr_result_state_name(const struct hr_result *result, hr_job job);

/*
 * ---- Ledger ----
 *
 * The ledger is an observer that assigns the cost of each pool to tenants or to idle capacity. The charges of all
 * tenants plus the cost of idle capacity equal the cost of the pools exactly.
 *
 * Amounts are 128-bit integers: (price in micro-dollars per GPU-hour) x milli-GPUs x microseconds.
 * HR_LEDGER_UNITS_PER_UUSD such units are one micro-dollar. Amounts are rounded in output only.
 */

/* 1000 milli-GPUs per GPU x microseconds per hour */
#define HR_LEDGER_UNITS_PER_UUSD (INT64_C(1000) * 3600 * 1000000)

/* A month in accounts: one twelfth of 365 days. Months are counted from time zero. */
#define HR_MONTH_US (INT64_C(730) * 3600 * 1000000)

/* An account. Each use of GPUs is charged to one account. */
struct hr_account {
  uint32_t tenant;  /* HR_NONE: jobs without a tenant */
  uint8_t class_;   /* enum hr_job_class */
  uint32_t pool;    /* index of the pool */
  uint32_t month;   /* number of the month, from 0 */
  uint32_t service; /* index of the inference service of the replica that used them; HR_NONE: a job of the trace */
};

/* The sum of all charges to one account. */
struct hr_charge {
  struct hr_account account;
  hr_amount amount;   /* cost of the use */
  hr_amount gpu_time; /* milli-GPU x microseconds */
};

/* The totals of a pool. Members without a unit are in ledger units. */
struct hr_pool_account {
  hr_amount cost;      /* used + idle */
  hr_amount used;      /* cost of the time that jobs used */
  hr_amount on_demand; /* what the used GPU time would have cost at the on-demand price; 0 if this price is unknown */
  /* in milli-GPU x microseconds: gpu_time was billed; used_time is the part of gpu_time that jobs used */
  hr_amount gpu_time, used_time;
  /* milli-GPU x microseconds that were not billed, because the nodes were reclaimed early */
  hr_amount waived_time;
};

struct hr_ledger;
/* Creates a ledger for one run. `trace` and `cluster` must outlive it. If `by_job` is true, the ledger also records the
   cost of each job. Returns NULL if memory is exhausted. */
HR_API struct hr_ledger *hr_ledger_create(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                          bool by_job);
/* Makes the ledger charge the replicas of inference services to separate accounts. `fleet`, which must outlive the run,
   has the services of the run; NULL: none. Call it before the run. */
HR_API void hr_ledger_set_fleet(struct hr_ledger *ledger, const struct hr_fleet *fleet);
/* Frees a ledger. NULL is accepted. */
HR_API void hr_ledger_destroy(struct hr_ledger *ledger);
/* Returns the observer of the ledger. Pass it to one run. */
HR_API struct hr_observer hr_ledger_observer(struct hr_ledger *ledger);
/* Closes the accounts at the end of the run. Jobs that still run are charged up to that time. Returns HR_NO_MEMORY if a
   charge was lost during the run. */
HR_API enum hr_status hr_ledger_close(struct hr_ledger *ledger, const struct hr_result *result);

/* The results; call these functions after hr_ledger_close. Charges are sorted by (pool, tenant, class, service,
   month) and belong to the ledger; hr_ledger_charges sets `*charges` and returns the number of charges. hr_ledger_job
   returns the cost of a job in ledger units; it returns 0 if the ledger was created without `by_job`. */
HR_API size_t hr_ledger_charges(const struct hr_ledger *ledger, const struct hr_charge **charges);
HR_API const struct hr_pool_account *hr_ledger_pool(const struct hr_ledger *ledger, hr_pool pool);
HR_API hr_amount hr_ledger_job(const struct hr_ledger *ledger, hr_job job);

#ifdef __cplusplus
}
#endif
#endif
