/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_REPLAY_H
#define HEADROOM_UNSTABLE_REPLAY_H

/*
 * A complete run of a scenario: creates the observers that a summary needs, adds those of the caller, runs, closes the
 * accounts, and summarizes.
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

struct hr_replay_config {
  const struct hr_scenario *scenario;
  const struct hr_trace *trace;
  const struct hr_policy_choice *policy; /* overrides the scenario's; NULL: the scenario's */
  uint64_t seed;                         /* overrides the scenario's; must be set */
  bool check;                            /* checked mode */
  bool costs_by_job;                     /* the ledger also records the cost of each job */
  bool alerts;                           /* evaluate the scenario's alerts */
  struct hr_progress progress;
};

/* The state and the results of a replay; all of it belongs to the replay. */
struct hr_replay {
  struct hr_replay_config config;
  struct hr_usage *usage;
  struct hr_ledger *ledger; /* ledger and meter: NULL if nothing has a price */
  struct hr_meter *meter;
  struct hr_links *links;   /* NULL unless networks have speeds */
  struct hr_alerts *alerts; /* NULL unless requested */
  struct hr_observer observers[HR_REPLAY_MAX_OBSERVERS];
  uint32_t n_observers;
  struct hr_result *result;
  struct hr_summary *summary;
  struct hr_notes notes; /* on the results */
  uint64_t preemptions;  /* jobs stopped by the policy */
  uint64_t restarts;     /* starts of jobs after their first */
  double sim_s;          /* wall-clock time of the run */
  double seconds;        /* wall-clock time of everything */
};

/* Initializes a replay. Call hr_replay_finish whatever it returns. What `config` points to must outlive it. */
HR_API enum hr_status hr_replay_init(struct hr_replay *replay, const struct hr_replay_config *config,
                                     struct hr_error *error);
/* Adds an observer, which is notified after the existing ones and may read `replay->usage` at the same instant.
   HR_BAD_INPUT if there are too many. */
HR_API enum hr_status hr_replay_add(struct hr_replay *replay, struct hr_observer observer, struct hr_error *error);
/* Runs the scenario. Must be called once. */
HR_API enum hr_status hr_replay_run(struct hr_replay *replay, struct hr_error *error);
HR_API void hr_replay_finish(struct hr_replay *replay);

#ifdef __cplusplus
}
#endif
#endif
