/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_SEARCH_SEARCH_STATE_H
#define HR_PLAN_SEARCH_SEARCH_STATE_H

/*
 * Searches a plan's grid for the best candidates, with few runs. A slice of the grid consists of all candidates that
 * differ only in their capacity (search.h).
 *
 * Two kinds of candidates are not run. A candidate is too expensive if the lower bound of its cost exceeds the
 * objective of a candidate that meets the goals (bounds.c). A candidate is too small if another candidate, which covers
 * it (hr__space_covers), serves jobs too badly.
 *
 * 1. In each slice the search begins at the newsvendor solution for fixed capacity (hr__demand_newsvendor). If this
 *    candidate misses the goals, the search looks for the smallest capacity that meets them, between this candidate and
 *    the maximum capacity (hr__search_trisect). In the best slices, it also begins at the minimum of elastic capacity
 *    that meets the goals.
 * 2. From each start a pattern search changes one capacity, or exchanges two capacities: a step on one axis for a step
 *    on another axis, or some GPUs of one axis for the same number of GPUs of another axis. Its steps are halved when
 *    no neighbour is better (Hooke and Jeeves, J. ACM 8, 1961).
 * 3. Slices are compared over the same random events after each halving, and the better half continues (successive
 *    halving: Karnin, Koren and Somekh, ICML 2013). Three slices continue to the end.
 * 4. To leave local optima, the search tries each fixed capacity alone, points of a Sobol sequence, long steps from the
 *    best candidate, and other settings. Then it tries candidates with a good predicted objective; the prediction uses
 *    the nearest candidate that was run. If GPU types differ and all capacity is fixed, it also tries the candidates
 *    that would be cheaper.
 *
 * If the search is a race (hr__search_config.races), steps 1 to 4 make only one replication of each candidate. Then the
 * candidates that are not clearly worse than the best one get the other replications. If another candidate is the best
 * one after this, the search continues from there.
 *
 * Invariant: each candidate is unknown, run, too expensive or too small. No run of it is made twice. `best` is the
 * best candidate that was run.
 */

#include "plan/search/search.h"

/* State of a candidate. */
enum hr__search_state { HR__SEARCH_UNKNOWN, HR__SEARCH_RUN, HR__SEARCH_TOO_EXPENSIVE, HR__SEARCH_TOO_SMALL };

/* HR__MAX_PROPOSED: maximum number of neighbours of a point, by steps on each axis and by exchanges of two axes. */
enum { HR__MAX_PROPOSED = 4 * HR_MAX_PLAN_VARIABLES * HR_MAX_PLAN_VARIABLES, HR__MAX_LEAN_SLICES = 4 };

/* A climb: the progress of the search in one slice. */
struct hr__climb {
  uint32_t slice, at;
  uint32_t step[HR_MAX_PLAN_VARIABLES]; /* [n_capacity] current step on each capacity axis, in levels */
};

struct hr__search {
  const struct hr__search_config *config;
  const struct hr__space *space;
  struct hr__evaluator *evaluator;
  uint8_t *state;                     /* [n_candidates] enum hr__search_state */
  struct hr__evaluation *evaluations; /* [n_candidates] valid for candidates that were run */
  uint32_t *run;                      /* [n_run] candidates in the order of their runs */
  uint32_t n_run;
  uint32_t *too_small; /* [n_too_small] candidates that were run and serve jobs too badly */
  uint32_t n_too_small;
  uint32_t best;   /* HR_NONE: no candidate was run */
  uint32_t *batch; /* [n_batch] candidates that will be run together */
  uint32_t n_batch;
  uint32_t *proposed; /* [n_proposed] candidates enqueued since the last move, including those that were run before */
  uint32_t n_proposed;
  struct hr__climb *climbs; /* sorted by hr__search_rank_climbs: the best climb is first */
  uint32_t n_climbs;
  struct hr_error *error;
};

/* ---- Running candidates (search.c) ----------------------------------------------------------------------- */

/* Whether `a` is better than `b`, by their evaluations. Everything is better than HR_NONE. */
bool hr__search_is_better(const struct hr__search *search, uint32_t a, uint32_t b);
/* Whether a candidate that covers this one served jobs too badly. O(number of candidates that are too small). */
bool hr__search_is_too_small(const struct hr__search *search, uint32_t candidate);
/* Whether the best candidate meets the goals, and its objective is below the lower bound of this candidate. */
bool hr__search_is_too_expensive(const struct hr__search *search, uint32_t candidate);
/* Adds a candidate to the batch unless it was run or can be excluded. */
void hr__search_enqueue(struct hr__search *search, uint32_t candidate);
/* Whether the number of runs has reached its limit. */
bool hr__search_is_budget_used(const struct hr__search *search);
/* Runs and empties the batch. Runs nothing if the budget is used up. */
enum hr_status hr__search_run_batch(struct hr__search *search);

/* ---- Climbs (climbs.c) ----------------------------------------------------------------------------------- */

/* Finds the smallest point between `low`, which does not serve the jobs, and `high` that serves them. Assumes that more
   capacity serves jobs better. Each batch has two points that divide the interval by three, so that two threads have
   work. The first batch has `high`, too. */
enum hr_status hr__search_trisect(struct hr__search *search, struct hr__point low, struct hr__point high);
/* The best candidate that was run in the slice of the climb; if none was run, the current candidate of the climb. */
uint32_t hr__search_best_of_slice(const struct hr__search *search, const struct hr__climb *climb);
/* Runs the starting points of all slices together. Then finds the capacity that serves the jobs in each slice in
   which no starting point does. */
enum hr_status hr__search_begin_slices(struct hr__search *search);
/* Begins second climbs in the best slices. hr__search_rank_climbs() must have been called before. */
enum hr_status hr__search_begin_lean_slices(struct hr__search *search);
/* Enqueues steps of increasing length on each capacity axis, because neighbours may differ only by random effects. */
void hr__search_enqueue_long_steps(struct hr__search *search, uint32_t from);
/* Sorts the climbs by their current candidates. There are few climbs, so insertion sort is fast enough. */
void hr__search_rank_climbs(struct hr__search *search);
/* Climbs in all slices. After each halving of the steps only the better half continues. The last FINAL_CLIMBS continue
   to the end, since coarse steps cannot distinguish them. */
enum hr_status hr__search_climb_all(struct hr__search *search);
/* Climbs from a candidate with the finest steps. */
enum hr_status hr__search_climb_finely(struct hr__search *search, uint32_t from);
/* Climbs from the best candidate with the finest steps. Does nothing if the best candidate is still `before`. */
enum hr_status hr__search_climb_from_best(struct hr__search *search, uint32_t before);

#endif
