/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_SEARCH_SELECTION_H
#define HR_PLAN_SEARCH_SELECTION_H

/*
 * The best of a few finalists, by as many replications as that takes.
 *
 * Kim and Nelson's procedure (ACM TOMACS 11, 2001) on common random numbers: all finalists are run side by side, and
 * one is dropped as soon as another that meets the goals has so much less of the objective, over the replications that
 * both have, that it can hardly be the best; what differs by no more than the indifference zone need not be told apart.
 * Its guarantee, that the choice is best or within the zone with the probability asked for, supposes normal figures;
 * the probability that is told in the end is not Kim and Nelson's but counted: replications are drawn again with
 * replacement, the same for all, and it is the share of draws in which no other finalist that met the goals beat the
 * choice by more than the zone, while the choice met them itself (a paired bootstrap).
 */

#include "plan/search/evaluator.h"

struct hr__selection_config {
  struct hr__evaluator *judge;
  uint32_t first; /* replications before anything is dropped */
  uint32_t most;  /* at most so many */
  double confidence;
  double indifference; /* as a share of the objective of the best */
  uint64_t max_runs;   /* of the lab */
  uint64_t seed;       /* of the bootstrap */
};

struct hr__selection {
  uint32_t choice;       /* HR_NONE: no finalist meets the goals */
  uint32_t nearest;      /* the one that misses them least; the choice where there is one */
  uint32_t replications; /* of the choice, or the nearest */
  double probability;    /* that the choice is the best of the finalists, or within the zone */
  double zone;           /* in units of the objective */
};

/* `finalists`: borrowed; the best first by what is known so far. */
enum hr_status hr__select(const struct hr__selection_config *config, const uint32_t *finalists, uint32_t count,
                          struct hr__selection *selection, struct hr_error *error);

#endif
