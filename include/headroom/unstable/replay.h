/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_REPLAY_H
#define HEADROOM_UNSTABLE_REPLAY_H

/* Complete runs of a scenario: one run (a replay), several runs with different random events (replications), and the
   ranks of an MPI job, which share the runs. */

#include "headroom/base.h"
#include "headroom/report.h"
#include "headroom/scenario.h"
#include "headroom/trace.h"
#include "headroom/unstable/experiments.h"
#include "headroom/unstable/metrics.h"

struct hr_ranks;
struct hr_fleet;

#ifdef __cplusplus
extern "C" {
#endif

/* ---- One run ------------------------------------------------------------------------------------------- */

/*
 * A replay is a complete run of a scenario. It creates the observers that a summary needs, adds the observers of the
 * caller, runs the simulation, closes the accounts, and computes the summary.
 *
 *   struct hr_replay replay;
 *   status = hr_replay_init(&replay, &config, &error);
 *   if (status == HR_OK) status = hr_replay_add(&replay, hr_history_observer(history), &error);
 *   if (status == HR_OK) status = hr_replay_run(&replay, &error);
 *   ... replay.summary, replay.result ...
 *   hr_replay_finish(&replay);
 */

enum { HR_REPLAY_MAX_OBSERVERS = 16 };

/* The input of a replay. Everything is borrowed and must outlive the replay. */
struct hr_replay_config {
  const struct hr_scenario *scenario;
  /* the jobs. If the scenario has services, it may be NULL; the run then has no jobs except the replicas of services.
     `config` of struct hr_replay is a copy of this struct. If replicas are jobs of the run, hr_replay_init sets `trace`
     of the copy to a trace that also contains the replicas */
  const struct hr_trace *trace;
  const struct hr_policy_choice *policy; /* the policy of the run; NULL: the policy of the scenario */
  uint64_t seed;                         /* seed of the run; the seed of the scenario is ignored */
  bool check;                            /* checked mode: verify all invariants during the run */
  bool costs_by_job;                     /* the ledger also records the cost of each job */
  bool alerts;                           /* evaluate the alerts of the scenario */
  bool skip_fairness;                    /* do not compute the metrics of fairness; they are then 0 */
  double growth; /* the rates at which requests of services are drawn are multiplied by this factor; 0 means 1 */
  struct hr_progress progress;
};

/* The state and the results of a replay. The replay owns all members except `values` and the borrowed objects of
   `config`. */
struct hr_replay {
  struct hr_replay_config config;
  struct hr_usage *usage;
  struct hr_ledger *ledger; /* `ledger` and `meter` are NULL if the scenario has no prices */
  struct hr_meter *meter;
  /* the caller may set this member after hr_replay_init, to receive values of modelled schedulers */
  const struct hr_values *values;
  struct hr_links *links;   /* NULL unless the scenario has network speeds */
  struct hr_alerts *alerts; /* NULL unless requested in the configuration */
  struct hr_observer observers[HR_REPLAY_MAX_OBSERVERS];
  uint32_t n_observers;
  /* the next four arrays have one entry for each service, [scenario->services->count]; NULL: no services */
  struct hr_service_requests *requests;
  /* if a horizon ends the run: the requests that arrived before the horizon. They use the same columns as `requests` */
  struct hr_service_requests *arrived;
  struct hr_service_result *service_results;
  struct hr_served *served;
  struct hr_fleet *fleet; /* NULL unless the replicas of services are jobs of the run */
  struct hr_result *result;
  struct hr_summary *summary;
  struct hr_notes notes; /* notes on the results */
  double sim_s;          /* wall-clock time of the simulation, in seconds */
  double seconds;        /* wall-clock time of all steps, in seconds */
};

/* Initializes a replay. The caller must call hr_replay_finish in the end, even if the initialization failed. */
HR_API enum hr_status hr_replay_init(struct hr_replay *replay, const struct hr_replay_config *config,
                                     struct hr_error *error);
/* Adds an observer at the end of the list of observers. At each instant the observer is called after `replay->usage`
   was updated. Returns HR_BAD_INPUT if there are already HR_REPLAY_MAX_OBSERVERS observers. */
HR_API enum hr_status hr_replay_add(struct hr_replay *replay, struct hr_observer observer, struct hr_error *error);
/* Makes the checks that hr_replay_run makes before the first event, such as whether the policy supports the cluster.
   Returns the same errors as hr_replay_run. */
HR_API enum hr_status hr_replay_check(const struct hr_replay *replay, struct hr_error *error);
/* Adds the notes on a scenario and a trace that are known before the run. Examples are notes on models without speeds,
   on unknown GPU types, and on settings that have no effect. Notes on tenants are not included. `policy` is the policy
   of the run. */
HR_API enum hr_status hr_replay_input_notes(const struct hr_scenario *scenario, const struct hr_policy_choice *policy,
                                            const struct hr_trace *trace, struct hr_notes *notes,
                                            struct hr_error *error);
/* Runs the simulation and sets the results. Must be called only once. */
HR_API enum hr_status hr_replay_run(struct hr_replay *replay, struct hr_error *error);
/* Frees everything that belongs to the replay. */
HR_API void hr_replay_finish(struct hr_replay *replay);

/* ---- Replications -------------------------------------------------------------------------------------- */

/*
 * Replications are several runs of a scenario with different random events and, if requested, redrawn workloads. The
 * result has statistics of metrics over the replications.
 *
 * Replication r has the seed hr_replication_seed(seed, r), see headroom/unstable/compare.h. If a metric is a mean or a
 * sum, the result is its mean over replications with Student's confidence interval, corrected for skewness. If a metric
 * is a quantile, the result is its median over replications with a confidence interval from order statistics.
 * docs/researcher/replications.md has the details.
 */

struct hr_scenario;

/* The input of replications. Everything is borrowed and must outlive the result. */
struct hr_replicate_config {
  const struct hr_scenario *scenario;
  const char *const *overrides; /* overrides with which the scenario was loaded */
  size_t n_overrides;
  const struct hr_trace *trace;
  const struct hr_replication_spec *spec;
  uint32_t n_threads;
  struct hr_ranks *ranks; /* ranks of an MPI job that share the runs; NULL: none */
  struct hr_progress progress;
};

/* Executes all runs on `n_threads` threads. Results do not depend on the number of threads. If neither the scenario nor
   the policy uses random numbers and the workload is not redrawn, one run is executed. The caller frees `*replicates`
   with hr_replicates_destroy. If ranks share the runs, all ranks make the same call. */
struct hr_replicates;
HR_API enum hr_status hr_replicate(const struct hr_replicate_config *config, struct hr_replicates **replicates,
                                   struct hr_error *error);
HR_API void hr_replicates_destroy(struct hr_replicates *replicates);

/* Statistics of a metric over replications. NAN: unknown. */
struct hr_replicated {
  uint32_t count;          /* number of replications in which the metric is known */
  double mean, median, sd; /* sd: standard deviation */
  double low, high;        /* confidence interval */
  bool of_median;          /* true: low and high are the interval of the median; false: the interval of the mean */
};
/* Computes the statistics of a metric. `name` is written as in goals, such as "wait_s.p95 of inference". Returns
   HR_BAD_INPUT if the name is unknown. */
HR_API enum hr_status hr_replicates_metric(const struct hr_replicates *replicates, const char *name,
                                           struct hr_replicated *figure, struct hr_error *error);
/* Returns notes for the user. */
HR_API const struct hr_notes *hr_replicates_notes(const struct hr_replicates *replicates);

/* Prints the results as a table, 80 columns wide. `perf`: time and memory of the program; may be NULL. `colour`: use
   colours of the terminal. */
HR_API enum hr_status hr_replicates_print(FILE *out, const struct hr_replicates *replicates, const struct hr_perf *perf,
                                          bool colour);
/* Writes the summary of replication 0 as JSON, in the format of `headroom run`. The additional key `replications` has
   the statistics over all replications (docs/reference/schemas/summary.schema.json). `path` "-" is standard output. */
HR_API enum hr_status hr_replicates_write_json(const char *path, const struct hr_replicates *replicates,
                                               const struct hr_perf *perf, struct hr_error *error);

/* ---- Ranks of an MPI job ---------------------------------------------------------------------------- */

/*
 * The ranks of an MPI job. mpirun starts one program as several processes. These processes are the ranks; they are
 * numbered from 0. They share the runs of a sweep, a plan, a comparison or of replications. Every rank makes the same
 * calls with the same input. The functions that execute runs (hr_sweep, hr_plan, hr_compare, hr_replicate) divide the
 * runs among the ranks, including rank 0. Only rank 0 has results. Results do not depend on the number of ranks.
 *
 * MPI is initialized only if environment variables of the launcher show that the job has several ranks. A single
 * process therefore has no overhead and needs no MPI daemon. A build without MPI rejects jobs of several ranks.
 *
 * A program first calls hr_ranks_join. It calls hr_ranks_agree after each step that may fail on only some ranks. Last,
 * it calls hr_ranks_leave. All functions except hr_ranks_lead and hr_ranks_launched must be called by the thread that
 * called hr_ranks_join.
 */

struct hr__ranks_start;
/* This process in its MPI job. A structure with all members 0 is a process without MPI. */
struct hr_ranks {
  int rank, size;                /* number of this rank; number of ranks. A size of 0 also means one rank */
  bool failed;                   /* the ranks have agreed that one of them failed */
  struct hr__ranks_start *start; /* private: MPI is starting; NULL: MPI has started, or is not used */
};

/* Returns whether this process should print results: true for rank 0, and without MPI. May be called before
   hr_ranks_join. */
HR_API bool hr_ranks_lead(void);
/* Returns whether a launcher of MPI jobs has started this process, even as the only rank. May be called before
   hr_ranks_join. */
HR_API bool hr_ranks_launched(void);
/* Begins to initialize MPI if this process is one of several ranks. The caller can read its input meanwhile: only the
   next call of a function below waits until MPI is initialized. `command`: a number that identifies the command. If it
   is not equal on all ranks, the next call of hr_ranks_agree, hr_ranks_same or hr_ranks_leave returns HR_BAD_INPUT. The
   caller must call hr_ranks_leave, even after an error. */
HR_API enum hr_status hr_ranks_join(struct hr_ranks *ranks, uint64_t command, struct hr_error *error);
/* Every rank passes its own `status` and `error`. Returns the same value on all ranks. If all ranks passed HR_OK, this
   is HR_OK. If not, it is the status of the failed rank with the lowest number. On rank 0, `error` is set to the
   message of that rank. After a failure the ranks do not communicate any more: each later call returns the `status`
   that this rank passes to that call. */
HR_API enum hr_status hr_ranks_agree(struct hr_ranks *ranks, enum hr_status status, struct hr_error *error);
/* Returns HR_BAD_INPUT on all ranks if `number` is not equal on all ranks. `what`: the name of the number in the error
   message. */
HR_API enum hr_status hr_ranks_same(struct hr_ranks *ranks, uint64_t number, const char *what, struct hr_error *error);
/* Waits for all ranks and ends MPI; MPI cannot be joined again. On rank 0, returns the same as hr_ranks_agree. On the
   other ranks, returns HR_OK, because they report no errors. */
HR_API enum hr_status hr_ranks_leave(struct hr_ranks *ranks, enum hr_status status, struct hr_error *error);

#ifdef __cplusplus
}
#endif

#endif
