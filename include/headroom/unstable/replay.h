/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_REPLAY_H
#define HEADROOM_UNSTABLE_REPLAY_H

/* Complete runs of a scenario: one run, and several runs with different random events. */

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
 * A complete run of a scenario. A replay creates the observers that a summary needs, adds the observers of the caller,
 * runs the simulation, closes the accounts, and computes the summary.
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
  /* the jobs; NULL: none, only if the scenario has services. After hr_replay_init, the trace of the run: with services
     it also has their replicas */
  const struct hr_trace *trace;
  /* used instead of the policy of the scenario; NULL: the policy of the scenario */
  const struct hr_policy_choice *policy;
  uint64_t seed;      /* seed of the run; the seed of the scenario is ignored */
  bool check;         /* checked mode: verify all invariants during the run */
  bool costs_by_job;  /* the ledger also records the cost of each job */
  bool alerts;        /* evaluate the alerts of the scenario */
  bool skip_fairness; /* the metrics of fairness are not needed; they are 0 */
  double growth;      /* factor of the rates at which requests are drawn; 0: 1 */
  struct hr_progress progress;
};

/* The state and the results of a replay. All members belong to the replay. */
struct hr_replay {
  struct hr_replay_config config;
  struct hr_usage *usage;
  struct hr_ledger *ledger; /* `ledger` and `meter` are NULL if the scenario has no prices */
  struct hr_meter *meter;
  const struct hr_values *values; /* set it after hr_replay_init to receive values of modelled schedulers */
  struct hr_links *links;         /* NULL unless the scenario has network speeds */
  struct hr_alerts *alerts;       /* NULL unless requested in the configuration */
  struct hr_observer observers[HR_REPLAY_MAX_OBSERVERS];
  uint32_t n_observers;
  /* of the services of the scenario, [scenario->services->count]; NULL: none */
  struct hr_service_requests *requests;
  struct hr_service_requests
      *arrived; /* `requests` of `served`: those until the end of the run. The columns are shared */
  struct hr_service_result *service_results;
  struct hr_served *served;
  struct hr_fleet *fleet; /* set if the replicas of services are jobs of the run; otherwise NULL */
  struct hr_result *result;
  struct hr_summary *summary;
  struct hr_notes notes; /* notes on the results */
  double sim_s;          /* wall-clock time of the simulation, in seconds */
  double seconds;        /* wall-clock time of all steps, in seconds */
};

/* Initializes a replay. Call hr_replay_finish afterwards, even if the initialization failed. */
HR_API enum hr_status hr_replay_init(struct hr_replay *replay, const struct hr_replay_config *config,
                                     struct hr_error *error);
/* Adds an observer at the end of the list of observers. At each instant it is called after `replay->usage` was updated.
   Returns HR_BAD_INPUT if there are already HR_REPLAY_MAX_OBSERVERS observers. */
HR_API enum hr_status hr_replay_add(struct hr_replay *replay, struct hr_observer observer, struct hr_error *error);
/* Checks what hr_replay_run checks before the first event, such as whether the policy supports the cluster. The errors
   are those of hr_replay_run. */
HR_API enum hr_status hr_replay_check(const struct hr_replay *replay, struct hr_error *error);
/* Adds the notes on a scenario and a trace that are known before the run and are not about tenants: models without
   speeds, unknown models of pairs, unknown GPU types, and deadlines in pools of other speeds. `policy` is that of the
   run. */
HR_API enum hr_status hr_replay_input_notes(const struct hr_scenario *scenario, const struct hr_policy_choice *policy,
                                            const struct hr_trace *trace, struct hr_notes *notes,
                                            struct hr_error *error);
/* Runs the simulation and sets the results. Call it once. */
HR_API enum hr_status hr_replay_run(struct hr_replay *replay, struct hr_error *error);
/* Frees everything that belongs to the replay. */
HR_API void hr_replay_finish(struct hr_replay *replay);

/* ---- Replications -------------------------------------------------------------------------------------- */

/*
 * Replications of a scenario: several runs with different random events and, if requested, redrawn workloads. Also
 * statistics of metrics over replications.
 *
 * Replication r has the seed hr_replication_seed(seed, r), see headroom/unstable/compare.h. If a metric is a mean or a
 * sum, the result is its mean over replications with Student's confidence interval, corrected for skewness. If a metric
 * is a quantile, the result is its median over replications with a confidence interval from order statistics.
 * docs/researcher/replications.md has the details.
 */

struct hr_scenario;

/* The input. Everything is borrowed and must outlive the result. */
struct hr_replicate_config {
  const struct hr_scenario *scenario;
  const char *const *overrides; /* overrides with which the scenario was loaded */
  size_t n_overrides;
  const struct hr_trace *trace;
  const struct hr_replication_spec *spec;
  uint32_t n_threads;
  struct hr_ranks *ranks; /* ranks of an MPI job that share the runs; NULL: none. All ranks make the same call */
  struct hr_progress progress;
};

/* Executes all runs on `n_threads` threads. Results do not depend on the number of threads. If neither the scenario nor
   the policy uses random numbers and the workload is not redrawn, one run is executed. The caller frees `*replicates`
   with hr_replicates_destroy. */
struct hr_replicates;
HR_API enum hr_status hr_replicate(const struct hr_replicate_config *config, struct hr_replicates **replicates,
                                   struct hr_error *error);
HR_API void hr_replicates_destroy(struct hr_replicates *replicates);

/* Statistics of a metric over replications. NAN: unknown. */
struct hr_replicated {
  uint32_t count;          /* number of replications in which the metric is known */
  double mean, median, sd; /* sd: standard deviation */
  double low, high;        /* confidence interval */
  /* `low` and `high` are the interval of the median; otherwise they are the interval of the mean */
  bool of_median;
};
/* Computes the statistics of the metric `name`, written as users write it. Returns HR_BAD_INPUT for an unknown name. */
HR_API enum hr_status hr_replicates_metric(const struct hr_replicates *replicates, const char *name,
                                           struct hr_replicated *figure, struct hr_error *error);
/* Returns notes for the user. */
HR_API const struct hr_notes *hr_replicates_notes(const struct hr_replicates *replicates);

/* Prints the results as a table, 80 columns wide. */
HR_API enum hr_status hr_replicates_print(FILE *out, const struct hr_replicates *replicates, const struct hr_perf *perf,
                                          bool colour);
/* Writes the summary of replication 0 as JSON, as `headroom run` does. In addition, the key `replications` contains the
   statistics over all replications (docs/reference/schemas/summary.schema.json). `path` "-" is standard output. */
HR_API enum hr_status hr_replicates_write_json(const char *path, const struct hr_replicates *replicates,
                                               const struct hr_perf *perf, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
