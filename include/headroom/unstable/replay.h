/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_REPLAY_H
#define HEADROOM_UNSTABLE_REPLAY_H

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

#include "headroom/report.h"
#include "headroom/scenario.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HR_REPLAY_MAX_OBSERVERS = 16 };

/* The input of a replay. Everything is borrowed and must outlive the replay. */
struct hr_replay_config {
  const struct hr_scenario *scenario;
  const struct hr_trace *trace;
  /* used instead of the policy of the scenario; NULL: the policy of the scenario */
  const struct hr_policy_choice *policy;
  uint64_t seed;     /* seed of the run; the seed of the scenario is ignored */
  bool check;        /* checked mode: verify all invariants during the run */
  bool costs_by_job; /* the ledger also records the cost of each job */
  bool alerts;       /* evaluate the alerts of the scenario */
  struct hr_progress progress;
};

/* The state and the results of a replay. All members belong to the replay. */
struct hr_replay {
  struct hr_replay_config config;
  struct hr_usage *usage;
  struct hr_ledger *ledger; /* `ledger` and `meter` are NULL if the scenario has no prices */
  struct hr_meter *meter;
  struct hr_links *links;   /* NULL unless the scenario has network speeds */
  struct hr_alerts *alerts; /* NULL unless requested in the configuration */
  struct hr_observer observers[HR_REPLAY_MAX_OBSERVERS];
  uint32_t n_observers;
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
/* Runs the simulation and sets the results. Call it once. */
HR_API enum hr_status hr_replay_run(struct hr_replay *replay, struct hr_error *error);
/* Frees everything that belongs to the replay. */
HR_API void hr_replay_finish(struct hr_replay *replay);

#ifdef __cplusplus
}
#endif
#endif
