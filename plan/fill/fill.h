/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_FILL_FILL_H
#define HR_PLAN_FILL_FILL_H

/*
 * Fill experiments. Pods are drawn from a trace and placed on an empty cluster, one after the other, until they request
 * a given multiple of the GPUs of the cluster. No pod ends. Each run has one packing rule and one seed.
 */

#include "base/array.h"
#include "headroom/scenario.h"
#include "headroom/unstable/planning.h"

/* Input of all runs. Immutable, so threads share it. */
struct hr__fill_input {
  const struct hr_scenario *scenario;
  const struct hr_trace *trace;
  struct hr_arena arena; /* owns the arrays below */
  struct hr_requests *requests;
  struct hr_typical_pods *typical;
  struct hr_acceptance acceptance;
  uint64_t capacity_milli, target_milli; /* GPUs of the cluster; GPUs that all pods request; in milli-GPUs */
  /* number of rows of a run: one for each per cent of the capacity up to the target */
  uint32_t last;
};

struct hr_fill {
  struct hr_fill_config config;
  struct hr__fill_input input;
  struct hr_fill_row *rows; /* [n_rules][n_seeds][last] */
  double *seconds;          /* [n_rules], wall clock time of all runs of a rule, in seconds */
};

/* The seed of run `index`: the scenario's seed + index. */
static inline uint64_t hr__fill_seed(const struct hr_fill *fill, uint32_t index) {
  return fill->config.scenario->seed + index;
}

#endif
