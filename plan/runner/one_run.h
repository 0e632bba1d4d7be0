/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_RUNNER_ONE_RUN_H
#define HR_PLAN_RUNNER_ONE_RUN_H

/* One run of many: what is kept of it. */

#include "headroom/report.h"
#include "headroom/scenario.h"

struct hr__one_run_config {
  const struct hr_scenario *scenario;
  const struct hr_trace *trace;
  const struct hr_policy_choice *policy; /* in the place of the scenario's */
  uint64_t seed;                         /* likewise */
  bool alerts;                           /* the scenario's alerts are looked for */
  struct hr_progress progress;
};

struct hr__one_run {
  struct hr_summary *summary;
  struct hr_notes notes;
  struct hr_alerts *alerts; /* NULL: they were not looked for */
  uint64_t preemptions;     /* jobs stopped by the policy */
  uint64_t restarts;        /* starts of jobs beyond their first */
  double seconds;           /* on the wall clock */
};

enum hr_status hr__one_run_make(const struct hr__one_run_config *config, struct hr__one_run *run,
                                struct hr_error *error);
void hr__one_run_finish(struct hr__one_run *run);

#endif
