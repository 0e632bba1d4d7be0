/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_SEARCH_ROBUSTNESS_H
#define HR_PLAN_SEARCH_ROBUSTNESS_H

/*
 * Whether the choice of a plan and a few other mixes still meet the goals under conditions outside the control of the
 * planner: the spot market, the demand, prices, and the supply of GPU types. Also how much of the commitments is at
 * risk if demand or prices fall.
 */

#include "plan/search/evaluator.h"

struct hr_plan;

enum hr__condition_kind {
  HR__CONDITION_SPOT_MODEL,        /* spot capacity as in a preset of the catalogue */
  HR__CONDITION_SPOT_AVAILABILITY, /* `factor`: the share of time in which spot capacity is available */
  HR__CONDITION_DEMAND,            /* `factor`: on the demand */
  HR__CONDITION_PRICES,            /* `factor`: on the prices of on-demand and spot capacity */
  HR__CONDITION_GPU_SUPPLY         /* no more GPUs of a type can be bought */
};

struct hr__condition {
  char name[80];
  enum hr__condition_kind kind;
  double factor;            /* 0: the condition is not a factor */
  struct hr_spot_spec spot; /* of HR__CONDITION_SPOT_MODEL */
  struct hr__environment environment;
  struct hr__evaluator *within; /* in this environment; owned by the plan (hr__plan_world) */
};

/* The evaluation of a mix under one condition. */
struct hr__held {
  double objective, cost; /* cost: dollars a month; 0 if the scenario has no prices */
  double violation;       /* 0: the mix meets all goals */
  bool serves;            /* the mix meets all goals that are not in dollars */
};

struct hr__tested_mix {
  uint32_t candidate;
  struct hr__held planned; /* in the environment of the scenario */
  struct hr__held *held;   /* [n_conditions] */
  uint32_t n_held;         /* number of conditions under which all goals are met */
  uint32_t n_served;       /* number of conditions under which all goals that are not in dollars are met */
};

/* A pool or a group of pools that is paid for whether it is used or not, and what it costs too much if less is needed.
   The comparison is with the same mix with less of this capacity. */
struct hr__commitment {
  uint32_t axis;
  double gpus, monthly_usd;
  uint32_t months; /* of the commitment; 0: unknown */
  struct hr__regret {
    bool known;
    double gpus; /* the capacity that would be best */
    double usd;  /* dollars a month that the mix costs more than with this capacity */
  } demand_falls, prices_fall;
};

enum { HR__MAX_CONDITIONS = 32, HR__MAX_TESTED = 8, HR__MAX_PRINTED_MIXES = 4 };

struct hr__robustness {
  struct hr__condition conditions[HR__MAX_CONDITIONS];
  uint32_t n_conditions;                       /* 0: nothing was tested */
  struct hr__tested_mix mixes[HR__MAX_TESTED]; /* the first one is the choice; the others are sorted by objective */
  uint32_t n_mixes;
  uint32_t replications; /* of each mix under each condition */
  uint64_t until_runs;   /* no further mix is tested if the runner has made this number of runs */
  bool *keeps_nodes;     /* [number of pools] the nodes are there already, so they stay if their type is sold out */
  struct hr__commitment commitments[HR_MAX_PLAN_VARIABLES];
  uint32_t n_commitments;
};

/* Tests the choice and other mixes. The plan must have a choice that meets the goals. */
enum hr_status hr__plan_robustness(struct hr_plan *plan, struct hr_error *error);
void hr__robustness_finish(struct hr__robustness *robustness); /* accepts a zeroed structure */

/* Lists the mixes that are printed: the choice, and those that serve their jobs under more conditions than every better
   one. Returns their number. */
uint32_t hr__robustness_shown(const struct hr__robustness *robustness, uint32_t shown[HR__MAX_PRINTED_MIXES]);

/* Whether the condition is one of the spot market. */
static inline bool hr__condition_is_of_spot(const struct hr__condition *condition) {
  return condition->kind == HR__CONDITION_SPOT_MODEL || condition->kind == HR__CONDITION_SPOT_AVAILABILITY;
}

#endif
