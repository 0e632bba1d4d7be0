/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_SEARCHING_H
#define HR_PLAN_SEARCHING_H

/* A search, for those parts that make it. */

#include "plan/search.h"

/* What is known of a candidate. */
enum hr__search_state { HR__SEARCH_UNKNOWN, HR__SEARCH_RUN, HR__SEARCH_TOO_DEAR, HR__SEARCH_TOO_SMALL };

/* Neighbours of a point: a step each way on each axis, and of each axis for each other, in steps and in GPUs. */
enum { HR__MOST_TRIED = 2 * HR_MOST_PLAN_VARIABLES * HR_MOST_PLAN_VARIABLES, HR__LEAN_SLICES = 4 };

/* How far the search has come in a slice. */
struct hr__climb {
  uint32_t slice, at;
  uint32_t step[HR_MOST_PLAN_VARIABLES]; /* by capacity axis, levels */
};

struct hr__search {
  const struct hr__search_config *config;
  const struct hr__space *space;
  struct hr__judge *judge;
  uint8_t *state;               /* [n_candidates] enum hr__search_state */
  struct hr__verdict *verdicts; /* [n_candidates] of those that were run */
  uint32_t *run;                /* in the order in which they were run */
  uint32_t n_run;
  uint32_t *small; /* of them, those that serve jobs too badly */
  uint32_t n_small;
  uint32_t best;   /* HR_NONE: none was run yet */
  uint32_t *batch; /* to be run together */
  uint32_t n_batch;
  uint32_t *tried; /* wanted since the last move, run before or not */
  uint32_t n_tried;
  struct hr__climb *climbs; /* by rank */
  uint32_t n_climbs;
  struct hr_error *error;
};

/* ---- Candidates -------------------------------------------------------------------------------------- */

/* Whether the first is better than the other, which may be HR_NONE. Both were run. */
bool hr__search_is_better(const struct hr__search *search, uint32_t a, uint32_t b);
/* Whether something that has no less of anything served jobs too badly. */
bool hr__search_is_too_small(const struct hr__search *search, uint32_t candidate);
/* Whether its prices alone make it dearer than one that meets the goals. */
bool hr__search_is_too_dear(const struct hr__search *search, uint32_t candidate);
/* Puts a candidate into the batch unless it was run or need not be. */
void hr__search_want(struct hr__search *search, uint32_t candidate);
/* No runs are left. */
bool hr__search_is_spent(const struct hr__search *search);
/* Runs the batch, and empties it. */
enum hr_status hr__search_run_batch(struct hr__search *search);

/* ---- The first point of a slice ---------------------------------------------------------------------- */

/* Whether it was run and served jobs as they should be. */
bool hr__search_serves(const struct hr__search *search, uint32_t candidate);
/* From one point towards one with more, to where jobs are served as they should be: bisection, as more capacity serves
   them no worse. */
enum hr_status hr__search_bisect(struct hr__search *search, struct hr__point low, struct hr__point high);
/* The best that was run in the climb's slice; where it stands if none was. */
uint32_t hr__search_best_of_slice(const struct hr__search *search, const struct hr__climb *climb);
/* All slices together; then each where nothing served yet, be it that what would have been first need not be run. */
enum hr_status hr__search_begin(struct hr__search *search);
/* The same with as little elastic capacity as serves, for the best slices; after hr__search_rank_climbs. */
enum hr_status hr__search_begin_lean(struct hr__search *search);

/* ---- Climbing ---------------------------------------------------------------------------------------- */

/* The last level of a capacity. */
int64_t hr__search_last_of(const struct hr__space *space, uint32_t capacity);
/* Along each axis ever farther, to its end: where more of a capacity changes next to nothing, neighbours differ by
   chance alone, and say nothing of which way is better. */
void hr__search_want_far(struct hr__search *search, uint32_t from);
/* As far as the steps lead, and then by exchanges. */
enum hr_status hr__search_climb_level(struct hr__search *search, struct hr__climb *climb);
/* By the best that was run in each slice. */
void hr__search_rank_climbs(struct hr__search *search);
/* The better half of the slices goes on with half the steps; a few go to the end, as coarse steps do not tell them
   apart. */
enum hr_status hr__search_climb_all(struct hr__search *search);

/* ---- Elsewhere --------------------------------------------------------------------------------------- */

/* Capacity that stands, alone: where it pays to have no other at all, the way there may be one on which every step
   costs more. */
enum hr_status hr__search_stand_alone(struct hr__search *search);
/* Leaps from the best, and on from where they lead, as long as they lead to something better. */
enum hr_status hr__search_leap(struct hr__search *search);
/* Points of Sobol's sequence that nothing speaks against, a twenty-fifth of the grid and at most 20; on from there if
   one is better than all. */
enum hr_status hr__search_look_elsewhere(struct hr__search *search);
/* Where what a mix costs is known before it is run, the mixes that are left would all be better if they met the goals;
   and where one kind of GPU does the work of several of another, they lie in valleys of their own. A few at a time, so
   that the best of them spares the others. */
enum hr_status hr__search_try_all_cheaper(struct hr__search *search);

#endif
