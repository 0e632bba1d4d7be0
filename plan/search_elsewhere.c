/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What climbing alone would not find: other choices, long steps, a spread over the grid, all that would be cheaper. */

#include "plan/searching.h"

#include <gsl/gsl_qrng.h>

/* From the best of all on, with the finest steps, unless it is the same as `before`. */
static enum hr_status climb_from_best(struct hr__search *search, uint32_t before) {
  if (search->best == HR_NONE || search->best == before) return HR_OK;
  struct hr__climb climb = {.slice = hr__space_slice(search->space, search->best), .at = search->best};
  for (uint32_t i = 0; i < search->space->n_capacity; i++) climb.step[i] = 1;
  return hr__search_climb_level(search, &climb);
}

/* The same capacity with one choice of another kind made otherwise. */
static void want_other_choices(struct hr__search *search) {
  const struct hr__space *space = search->space;
  for (uint32_t i = 0; i < space->n_axes; i++) {
    if (space->spec->variables[i].pools) continue;
    struct hr__point point = hr__space_point(space, search->best);
    for (point.level[i] = 0; point.level[i] < hr__space_levels(space, i); point.level[i]++)
      hr__search_want(search, hr__space_candidate(space, &point));
  }
}

/* Whether a climb in the slice came to the end, or there are so few slices that all are gone into. */
static bool is_kept(const struct hr__search *search, uint32_t slice) {
  enum { FEW = 4 };
  bool kept = search->space->n_slices <= FEW;
  for (uint32_t i = 0; i < search->n_climbs; i++) kept = kept || search->climbs[i].slice == slice;
  return kept;
}

/* As much of one capacity as serves alone, and on from there if nothing in the slice is better. */
static enum hr_status stand_on(struct hr__search *search, uint32_t slice, uint32_t capacity) {
  const struct hr__space *space = search->space;
  struct hr__point low = hr__space_corner(space, slice, false), high = low;
  struct hr__climb climb = {.slice = slice, .at = hr__space_candidate(space, &low)};
  uint32_t before = hr__search_best_of_slice(search, &climb);
  high.level[space->capacity[capacity]] = (uint32_t)hr__search_last_of(space, capacity);
  enum hr_status status = hr__search_bisect(search, low, high);
  climb.at = hr__search_best_of_slice(search, &climb);
  if (status != HR_OK || climb.at == before) return status;
  for (uint32_t i = 0; i < space->n_capacity; i++) climb.step[i] = 1;
  return hr__search_climb_level(search, &climb);
}

enum hr_status hr__search_stand_alone(struct hr__search *search) {
  const struct hr__bounds *bounds = search->config->bounds;
  enum hr_status status = HR_OK;
  for (uint32_t slice = 0; bounds && slice < search->space->n_slices; slice++)
    for (uint32_t k = 0; k < search->space->n_capacity && status == HR_OK && is_kept(search, slice); k++)
      if (bounds->slices[slice].standing[k] > 0) status = stand_on(search, slice, k);
  return status;
}

enum hr_status hr__search_leap(struct hr__search *search) {
  uint32_t before = HR_NONE;
  enum hr_status status = HR_OK;
  while (status == HR_OK && search->best != before && !hr__search_is_spent(search)) {
    before = search->best;
    hr__search_want_far(search, search->best);
    want_other_choices(search);
    status = hr__search_run_batch(search);
    if (status == HR_OK) status = climb_from_best(search, before);
  }
  return status;
}

enum hr_status hr__search_look_elsewhere(struct hr__search *search) {
  enum { MOST = 20 };
  const struct hr__space *space = search->space;
  uint32_t wanted = space->n_candidates / 25 < MOST ? space->n_candidates / 25 : MOST, before = search->best;
  gsl_qrng *sobol = gsl_qrng_alloc(gsl_qrng_sobol, space->n_axes);
  if (!sobol) return hr_fail(search->error, HR_NO_MEMORY, "out of memory for the search");
  for (uint32_t tries = 0; search->n_batch < wanted && tries < 16 * wanted; tries++) {
    double at[HR_MOST_PLAN_VARIABLES];
    struct hr__point point;
    gsl_qrng_get(sobol, at);
    for (uint32_t i = 0; i < space->n_axes; i++) point.level[i] = (uint32_t)(at[i] * hr__space_levels(space, i));
    hr__search_want(search, hr__space_candidate(space, &point));
  }
  gsl_qrng_free(sobol);
  enum hr_status status = hr__search_run_batch(search);
  return status == HR_OK ? climb_from_best(search, before) : status;
}

enum hr_status hr__search_try_all_cheaper(struct hr__search *search) {
  enum { AT_A_TIME = 16, MOST = 200 };
  const struct hr__space *space = search->space;
  bool alike = true;
  for (uint32_t i = 0; i < space->n_capacity; i++) alike = alike && !space->doubtful[space->capacity[i]];
  enum hr_status status = HR_OK;
  if (alike || !search->config->bounds) return status;
  uint32_t most = search->n_run + MOST;
  for (uint32_t i = space->n_candidates; i-- > 0 && status == HR_OK && search->n_run < most;) {
    if (hr__bounds_exact(search->config->bounds, hr__space_slice(space, i))) hr__search_want(search, i);
    if (search->n_batch == AT_A_TIME || i == 0) status = hr__search_run_batch(search);
  }
  return status == HR_OK && search->n_batch ? hr__search_run_batch(search) : status;
}
