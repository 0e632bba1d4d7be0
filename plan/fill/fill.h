/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_FILL_FILL_H
#define HR_PLAN_FILL_FILL_H

/*
 * Fill experiments: pods drawn from a trace are placed on an empty cluster, one after the other, until they request a
 * given multiple of its GPUs. Nothing ends. Each run has one packing rule and one seed.
 */

#include "base/arena.h"
#include "headroom/scenario.h"
#include "headroom/unstable/fill.h"

/* Shared by all runs, and immutable. */
struct hr__fill_input {
  const struct hr_scenario *scenario;
  const struct hr_trace *trace;
  struct hr_arena arena; /* owns the following */
  struct hr_requests *requests;
  struct hr_typical_pods *typical;
  struct hr_acceptance acceptance;
  uint64_t capacity_milli, target_milli; /* GPUs of the cluster, GPUs to request; in thousandths */
  uint32_t last;                         /* rows of a run: one per whole per cent of the capacity that was requested */
};

struct hr_fill {
  struct hr_fill_config config;
  struct hr__fill_input input;
  struct hr_fill_row *rows; /* [n_rules][n_seeds][last] */
  double *seconds;          /* [n_rules], wall clock time of all runs of a rule */
};

/* The seed of a run: that of the scenario and the following. */
static inline uint64_t hr__fill_seed(const struct hr_fill *fill, uint32_t index) {
  return fill->config.scenario->seed + index;
}

#endif
