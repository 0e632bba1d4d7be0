/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_SEARCH_SEARCH_H
#define HR_PLAN_SEARCH_SEARCH_H

/*
 * The best candidates, with few runs.
 *
 * What is not run: candidates that cost more by their prices alone than one that meets the goals (bounds), and those
 * that have less of every capacity than one that serves jobs too badly (monotony; hr__space_doubt has its exceptions).
 * In each slice the search begins where the newsvendor says, bisects towards more capacity until the goals are met,
 * and, a second time, towards as little elastic capacity as still meets them. From both it goes to better points in a
 * pattern whose steps halve when none is left (Hooke and Jeeves, J. ACM 8, 1961): more or less of one capacity, or of
 * one for another, step for step or GPU for GPU. Slices are compared on the same random events after each halving, and
 * the better half goes on (successive halving: Karnin, Koren and Somekh, ICML 2013), three to the end. Then some points
 * that nothing spoke against are tried, spread over the grid, lest the search has stayed in a valley of its own; and
 * from the best of all ever longer steps along each axis, as neighbours differ by chance alone where more of a capacity
 * is not used, and the same capacity under other choices. At last, where GPUs are not alike and all of them stand, what
 * would be cheaper.
 */

#include "plan/search/bounds.h"

struct hr__search_config {
  struct hr__evaluator *judge;
  const struct hr__bounds *bounds; /* NULL: none are known */
  uint32_t replications;           /* of each candidate */
  uint64_t max_runs;               /* of the lab, in all; the search ends when they are made */
  bool thorough;                   /* tries points spread over the grid, too */
  /* For a search around one that was made, in a world or under goals that are no easier: */
  uint32_t begin;        /* begins with this candidate alone, in small steps; HR_NONE: as above */
  bool one_slice;        /* and stays in its slice */
  const uint32_t *small; /* candidates that served jobs too badly there, and so do here */
  uint32_t n_small;
};

/* Why a candidate was not run. */
struct hr__search_counts {
  uint32_t run, too_dear, too_small, left; /* sum to the candidates */
};

struct hr__search_result {
  uint32_t *ranking; /* all candidates that were run, the best first */
  uint32_t n_ranked;
  uint32_t *small; /* of them, those that serve jobs too badly */
  uint32_t n_small;
  struct hr__search_counts counts;
};

enum hr_status hr__search(const struct hr__search_config *config, struct hr__search_result *result,
                          struct hr_error *error);
/* Every candidate. */
enum hr_status hr__search_exhaustive(const struct hr__search_config *config, struct hr__search_result *result,
                                     struct hr_error *error);
void hr__search_finish(struct hr__search_result *result);

#endif
