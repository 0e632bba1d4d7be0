/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which candidates are run next, and what their runs say of others. */

#include "plan/searching.h"

/* A candidate that misses its goals by no more than this share says nothing of those that it covers. */
static const double clear_miss = 0.1;

bool hr__search_is_better(const struct hr__search *search, uint32_t a, uint32_t b) {
  return b == HR_NONE || hr__verdict_better(search->space, a, &search->verdicts[a], b, &search->verdicts[b]);
}

bool hr__search_is_too_small(const struct hr__search *search, uint32_t candidate) {
  const struct hr__search_config *config = search->config;
  for (uint32_t i = 0; i < search->n_small; i++)
    if (hr__space_covers(search->space, search->small[i], candidate)) return true;
  for (uint32_t i = 0; i < config->n_small; i++)
    if (hr__space_covers(search->space, config->small[i], candidate)) return true;
  return false;
}

bool hr__search_is_too_dear(const struct hr__search *search, uint32_t candidate) {
  if (!search->config->bounds || search->best == HR_NONE) return false;
  const struct hr__verdict *best = &search->verdicts[search->best];
  return best->violation == 0 && hr__bounds_least(search->config->bounds, candidate) > best->objective;
}

void hr__search_want(struct hr__search *search, uint32_t candidate) {
  if (search->n_tried < HR__MOST_TRIED) search->tried[search->n_tried++] = candidate;
  if (search->state[candidate] != HR__SEARCH_UNKNOWN) return;
  for (uint32_t i = 0; i < search->n_batch; i++)
    if (search->batch[i] == candidate) return;
  if (hr__search_is_too_small(search, candidate))
    search->state[candidate] = HR__SEARCH_TOO_SMALL;
  else if (hr__search_is_too_dear(search, candidate))
    search->state[candidate] = HR__SEARCH_TOO_DEAR;
  else
    search->batch[search->n_batch++] = candidate;
}

static void keep(struct hr__search *search, uint32_t candidate) {
  search->state[candidate] = HR__SEARCH_RUN;
  search->verdicts[candidate] = hr__judge_verdict(search->judge, candidate, search->config->replications);
  search->run[search->n_run++] = candidate;
  /* Less may serve a little better than more, where spot nodes are taken away or gangs come in the way of each other.
   */
  if (search->verdicts[candidate].violation > clear_miss &&
      hr__judge_is_short(search->judge, candidate, search->config->replications))
    search->small[search->n_small++] = candidate;
  if (hr__search_is_better(search, candidate, search->best)) search->best = candidate;
}

bool hr__search_is_spent(const struct hr__search *search) {
  return hr__lab_runs(search->judge->lab) >= search->config->most_runs;
}

enum hr_status hr__search_run_batch(struct hr__search *search) {
  uint32_t count = hr__search_is_spent(search) ? 0 : search->n_batch;
  search->n_batch = 0;
  enum hr_status status =
      hr__judge_run(search->judge, search->batch, count, search->config->replications, search->error);
  for (uint32_t i = 0; i < count && status == HR_OK; i++) keep(search, search->batch[i]);
  return status;
}
