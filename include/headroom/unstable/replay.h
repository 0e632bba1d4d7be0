/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_REPLAY_H
#define HEADROOM_UNSTABLE_REPLAY_H

/*
 * A scenario's run from end to end: the folds that every summary needs, those that a caller adds, the run, the accounts
 * closed, the summary and the notes on it.
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

enum { HR_REPLAY_MOST_FOLDS = 16 };

struct hr_replay_config {
  const struct hr_scenario *scenario;
  const struct hr_trace *trace;
  const struct hr_policy_choice *policy; /* in the place of the scenario's; NULL: the scenario's */
  uint64_t seed;                         /* likewise, and always given */
  bool check;                            /* verify the engine's whole state while it runs */
  bool costs_by_job;                     /* the ledger keeps each job's cost, too */
  bool alerts;                           /* the scenario's alerts are looked for */
  struct hr_progress progress;
};

/* What the run leaves behind; all of it belongs to the replay. */
struct hr_replay {
  struct hr_replay_config config;
  struct hr_usage *usage;
  struct hr_ledger *ledger; /* both only where something has a price, else NULL */
  struct hr_meter *meter;
  struct hr_links *links;   /* only where networks have speeds, else NULL */
  struct hr_alerts *alerts; /* only if asked for, else NULL */
  struct hr_observer observers[HR_REPLAY_MOST_FOLDS];
  uint32_t n_observers;
  struct hr_result *result;
  struct hr_summary *summary;
  struct hr_notes notes; /* on what came of it */
  uint64_t preemptions;  /* jobs stopped by the policy */
  uint64_t restarts;     /* starts of jobs beyond their first */
  double sim_s;          /* of the run alone, on the wall clock */
  double seconds;        /* of all */
};

/* Whatever it returns, `replay` is to be finished. What `config` points to must outlive it. */
HR_API enum hr_status hr_replay_init(struct hr_replay *replay, const struct hr_replay_config *config,
                                     struct hr_error *error);
/* One more fold, told after those that are there: it may look at `replay->usage` as of the same instant. */
HR_API enum hr_status hr_replay_add(struct hr_replay *replay, struct hr_observer observer, struct hr_error *error);
/* Once. */
HR_API enum hr_status hr_replay_run(struct hr_replay *replay, struct hr_error *error);
HR_API void hr_replay_finish(struct hr_replay *replay);

#ifdef __cplusplus
}
#endif
#endif
