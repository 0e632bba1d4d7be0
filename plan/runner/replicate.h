/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_RUNNER_REPLICATE_H
#define HR_PLAN_RUNNER_REPLICATE_H

/* Replications, for those parts that make them and for those that write them. */

#include "headroom/unstable/replications.h"
#include "plan/runner/intervals.h"
#include "plan/runner/runner.h"

struct hr_replicates {
  struct hr_replicate_config config;
  struct hr__figure *figures; /* of the run, then by class, then by tenant */
  size_t n_figures;
  struct hr__runner *lab;
  uint32_t mix, count;
  bool exact;      /* nothing is random */
  size_t metric;   /* the figure whose precision was asked for */
  double relative; /* the precision that was reached */
  struct hr__one_run first;
  const struct hr_trace *first_trace; /* its workload */
  struct hr_notes notes;
};

enum hr_status hr__replicates_interval(const struct hr_replicates *replicates, size_t figure,
                                       struct hr__interval *interval);

#endif
