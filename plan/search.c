/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A search from its begin to its ranking. */

#include "plan/searching.h"

#include <stdlib.h>

static enum hr_status rank(struct hr__search *search, struct hr__search_result *result) {
  result->ranking = malloc(((size_t)search->n_run + 1) * sizeof *result->ranking);
  if (!result->ranking) return hr_fail(search->error, HR_NO_MEMORY, "out of memory for the search");
  for (uint32_t i = 0; i < search->n_run; i++) {
    uint32_t k = result->n_ranked++;
    for (; k > 0 && hr__search_is_better(search, search->run[i], result->ranking[k - 1]); k--)
      result->ranking[k] = result->ranking[k - 1];
    result->ranking[k] = search->run[i];
  }
  result->small = search->small;
  result->n_small = search->n_small;
  for (uint32_t i = 0; i < search->space->n_candidates; i++) {
    if (search->state[i] == HR__SEARCH_UNKNOWN && hr__search_is_too_small(search, i))
      search->state[i] = HR__SEARCH_TOO_SMALL;
    if (search->state[i] == HR__SEARCH_UNKNOWN && hr__search_is_too_dear(search, i))
      search->state[i] = HR__SEARCH_TOO_DEAR;
    result->counts.run += search->state[i] == HR__SEARCH_RUN;
    result->counts.too_dear += search->state[i] == HR__SEARCH_TOO_DEAR;
    result->counts.too_small += search->state[i] == HR__SEARCH_TOO_SMALL;
    result->counts.left += search->state[i] == HR__SEARCH_UNKNOWN;
  }
  search->small = NULL; /* it is the result's now */
  return HR_OK;
}

static bool make_room(struct hr__search *search) {
  size_t most = (size_t)search->space->n_candidates + 1;
  search->state = calloc(most, sizeof *search->state);
  search->verdicts = calloc(most, sizeof *search->verdicts);
  search->run = calloc(most, sizeof *search->run);
  search->small = calloc(most, sizeof *search->small);
  search->batch = calloc(most, sizeof *search->batch);
  search->tried = calloc(HR__MOST_TRIED, sizeof *search->tried);
  search->climbs = calloc((size_t)search->space->n_slices + HR__LEAN_SLICES, sizeof *search->climbs);
  return search->state && search->verdicts && search->run && search->small && search->batch && search->tried &&
         search->climbs;
}

static void free_room(struct hr__search *search) {
  free(search->state);
  free(search->verdicts);
  free(search->run);
  free(search->small);
  free(search->batch);
  free(search->tried);
  free(search->climbs);
}

static enum hr_status search_by(const struct hr__search_config *config, enum hr_status (*go)(struct hr__search *search),
                                struct hr__search_result *result, struct hr_error *error) {
  struct hr__search search = {
      .config = config, .space = config->judge->space, .judge = config->judge, .best = HR_NONE, .error = error};
  *result = (struct hr__search_result){0};
  enum hr_status status = make_room(&search) ? go(&search) : hr_fail(error, HR_NO_MEMORY, "out of memory");
  if (status == HR_OK) status = rank(&search, result);
  free_room(&search);
  return status;
}

static enum hr_status go_fast(struct hr__search *search) {
  enum hr_status status = hr__search_begin(search);
  hr__search_rank_climbs(search);
  if (status == HR_OK) status = hr__search_begin_lean(search);
  if (status == HR_OK) status = hr__search_climb_all(search);
  if (status != HR_OK || search->config->begin != HR_NONE) return status;
  status = hr__search_stand_alone(search);
  if (status == HR_OK && search->config->thorough) status = hr__search_look_elsewhere(search);
  if (status == HR_OK) status = hr__search_leap(search);
  return status == HR_OK ? hr__search_try_all_cheaper(search) : status;
}

static enum hr_status go_everywhere(struct hr__search *search) {
  for (uint32_t i = 0; i < search->space->n_candidates; i++) search->batch[search->n_batch++] = i;
  return hr__search_run_batch(search);
}

enum hr_status hr__search(const struct hr__search_config *config, struct hr__search_result *result,
                          struct hr_error *error) {
  return search_by(config, go_fast, result, error);
}

enum hr_status hr__search_exhaustive(const struct hr__search_config *config, struct hr__search_result *result,
                                     struct hr_error *error) {
  return search_by(config, go_everywhere, result, error);
}

void hr__search_finish(struct hr__search_result *result) {
  free(result->ranking);
  free(result->small);
  *result = (struct hr__search_result){0};
}
