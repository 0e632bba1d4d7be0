/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_FILL_FILL_H
#define HR_PLAN_FILL_FILL_H

/* What all runs of hr_fill share, one run, and what is kept of each. */

#include "base/arena.h"
#include "headroom/unstable/fill.h"

/* Read by all runs, changed by none. */
struct hr__fill_input {
  const struct hr_scenario *scenario;
  const struct hr_trace *trace;
  struct hr_arena arena; /* of what follows */
  struct hr_requests *requests;
  struct hr_typical_pods *typical;
  struct hr_acceptance acceptance;
  uint64_t capacity_milli, target_milli;
  uint32_t last; /* per cent */
};

/* Checks that there is something to fill, and with what. */
enum hr_status hr__fill_input_make(struct hr__fill_input *input, const struct hr_fill_config *config,
                                   struct hr_error *error);
void hr__fill_input_finish(struct hr__fill_input *input);

/* The requests of the pods in the order in which they come; the caller frees them. NULL when out of memory. */
uint32_t *hr__fill_pods(const struct hr__fill_input *input, uint64_t seed, uint32_t *count);

struct hr_fill {
  struct hr_fill_config config;
  struct hr__fill_input input;
  struct hr_fill_row *rows; /* [n_rules][n_seeds][last] */
  double *seconds;          /* [n_rules], all of its runs */
  uint64_t pods;            /* of all runs of one rule */
};

#endif
