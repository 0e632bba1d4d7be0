/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The choice of a cluster for a job, the prediction of its wait, and the rounds of MultiKueue. See clusters.h. */

#include "sim/clusters/clusters.h"

#include "base/containers.h"
#include "base/text.h"

#include <string.h>

/* ---- Prediction --------------------------------------------------------------------------------------- */

/* Returns the number of releases before `at_us`. */
static uint32_t count_before(const struct hr__expected_releases *releases, int64_t at_us) {
  uint32_t low = 0, high = releases->count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (releases->at[middle].at_us < at_us)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

bool hr__releases_add(struct hr__expected_releases *releases, int64_t at_us, uint64_t milli) {
  if (!HR__ARRAY_HAS_ROOM(releases->at, releases->count, releases->capacity)) return false;
  const uint32_t at = count_before(releases, at_us);
  memmove(releases->at + at + 1, releases->at + at, (releases->count - at) * sizeof *releases->at);
  releases->at[at] = (struct hr__expected_release){at_us, milli};
  releases->count++;
  releases->milli += milli;
  return true;
}

void hr__releases_remove(struct hr__expected_releases *releases, int64_t at_us, uint64_t milli) {
  uint32_t at = count_before(releases, at_us);
  while (at < releases->count && releases->at[at].milli != milli) at++;
  if (at == releases->count) return;
  releases->count--;
  releases->milli -= milli;
  memmove(releases->at + at, releases->at + at + 1, (releases->count - at) * sizeof *releases->at);
}

int64_t hr__predicted_wait_us(const struct hr__cluster_load *load, const struct hr__expected_releases *releases,
                              hr_amount waiting_work, uint64_t milli, int64_t now_us, int64_t limit_us) {
  if (load->used_milli + milli <= load->size_milli) return 0;
  if (load->size_milli == 0) return HR_NEVER_US;
  if (limit_us <= 1) return 1;
  const uint64_t missing = load->used_milli + milli - load->size_milli;
  const bool is_enough = releases->milli >= missing;
  uint64_t released = 0;
  int64_t at_us = now_us;
  if (!is_enough && releases->count) at_us = releases->at[releases->count - 1].at_us;
  if (at_us < now_us) at_us = now_us;
  for (uint32_t i = 0; is_enough && released < missing; i++) {
    released += releases->at[i].milli;
    if (releases->at[i].at_us > now_us) at_us = releases->at[i].at_us;
    if (at_us - now_us >= limit_us) return at_us - now_us;
  }
  if (!is_enough) at_us += (int64_t)(waiting_work / (hr_amount)load->size_milli);
  return at_us > now_us ? at_us - now_us : 1; /* late jobs are assumed to end in a microsecond */
}

/* ---- Choice ------------------------------------------------------------------------------------------- */

/* Returns whether cluster a has a smaller share of its GPUs in use than b. */
static bool is_less_loaded(const struct hr__cluster_load *a, const struct hr__cluster_load *b) {
  if (a->size_milli == b->size_milli && a->size_milli > 0) return a->used_milli < b->used_milli;
  return (hr_amount)a->used_milli * (hr_amount)b->size_milli < (hr_amount)b->used_milli * (hr_amount)a->size_milli;
}

/* Returns whether the rule `kind` prefers cluster a to cluster b. */
static bool is_better(enum hr_job_router_kind kind, const struct hr__cluster_load *a,
                      const struct hr__cluster_load *b) {
  if (kind == HR_JOB_ROUTER_LEAST_LOADED) return is_less_loaded(a, b);
  if (kind == HR_JOB_ROUTER_CHEAPEST && a->price_uusd_h != b->price_uusd_h) return a->price_uusd_h < b->price_uusd_h;
  return a->wait_us < b->wait_us;
}

/* Finds the first eligible cluster with the fewest GPUs in use, if all clusters have the same size. `*found`: this
   cluster; HR_NONE: no cluster is eligible. Returns false if the method is not possible: the sizes differ or are 0, or
   there are too many clusters. For speed, the loop has no branches that depend on the loads: it computes the minimum of
   keys that contain the GPUs in use and the index of a cluster. */
static bool find_least_used(const struct hr__cluster_load *loads, uint32_t n_clusters, uint32_t *found) {
  enum { INDEX_BITS = 16 };
  uint64_t least = UINT64_MAX, other_sizes = 0;
  if (n_clusters >> INDEX_BITS) return false;
  for (uint32_t i = 0; i < n_clusters; i++) {
    const uint64_t key = (loads[i].used_milli << INDEX_BITS | i) | (0 - (uint64_t)!loads[i].eligible);
    other_sizes |= loads[i].size_milli ^ loads[0].size_milli;
    least = key < least ? key : least;
  }
  *found = least == UINT64_MAX ? HR_NONE : (uint32_t)(least & ((UINT64_C(1) << INDEX_BITS) - 1));
  return other_sizes == 0 && loads[0].size_milli > 0;
}

/* Returns the first cluster with the shortest predicted wait among the clusters that best_within considers; HR_NONE: it
   considers none. */
static uint32_t find_least_wait(const struct hr__cluster_load *loads, uint32_t n_clusters, uint32_t without,
                                int64_t max_wait_us) {
  uint64_t least = UINT64_MAX;
  uint32_t at = HR_NONE;
  for (uint32_t i = 0; i < n_clusters; i++) {
    const bool is_out = (i == without) | !loads[i].eligible | (loads[i].wait_us > max_wait_us);
    const uint64_t value = (uint64_t)loads[i].wait_us | (0 - (uint64_t)is_out);
    at = value < least ? i : at;
    least = value < least ? value : least;
  }
  return at;
}

/* Returns the best eligible cluster in which the predicted wait is at most `max_wait_us`, except `without`; HR_NONE if
   no such cluster exists. */
static uint32_t best_within(enum hr_job_router_kind kind, const struct hr__cluster_load *loads, uint32_t n_clusters,
                            uint32_t without, int64_t max_wait_us) {
  const bool is_unbounded = without == HR_NONE && max_wait_us == HR_NEVER_US;
  uint32_t found;
  if (kind != HR_JOB_ROUTER_CHEAPEST && kind != HR_JOB_ROUTER_LEAST_LOADED)
    return find_least_wait(loads, n_clusters, without, max_wait_us);
  if (kind == HR_JOB_ROUTER_LEAST_LOADED && is_unbounded && find_least_used(loads, n_clusters, &found)) return found;
  found = HR_NONE;
  for (uint32_t i = 0; i < n_clusters; i++) {
    if (i == without || !loads[i].eligible || loads[i].wait_us > max_wait_us) continue;
    if (found == HR_NONE || is_better(kind, &loads[i], &loads[found])) found = i;
  }
  return found;
}

/* Returns the best eligible cluster except `without`; `otherwise` if no such cluster exists. A cluster with a wait
   above the bound is returned only if all eligible clusters have such a wait. */
static uint32_t best(const struct hr_job_router_spec *router, enum hr_job_router_kind kind,
                     const struct hr__cluster_load *loads, uint32_t n_clusters, uint32_t without, uint32_t otherwise) {
  uint32_t found = best_within(kind, loads, n_clusters, without, router->max_wait_us);
  if (found == HR_NONE) found = best_within(kind, loads, n_clusters, without, HR_NEVER_US);
  return found == HR_NONE ? otherwise : found;
}

/* Returns whether the job should leave its home cluster: the home cluster could not run it, or its load exceeds a bound
   of the router. If the router has no bounds, any wait exceeds them. */
static bool is_too_full(const struct hr_job_router_spec *router, const struct hr__cluster_load *home,
                        const struct hr__routed_job *job) {
  const int64_t wait_us = home->wait_us;
  const bool is_bounded =
      router->max_waiting != HR_NONE || router->max_wait_us != HR_NEVER_US || router->keep_deadlines;
  if (!home->eligible) return true;
  if (!is_bounded) return wait_us > 0;
  if (router->max_waiting != HR_NONE && wait_us > 0 && home->n_waiting >= router->max_waiting) return true;
  if (wait_us > router->max_wait_us) return true;
  return router->keep_deadlines && job->slack_us != HR_NEVER_US && wait_us > job->slack_us - job->expected_us;
}

static int64_t cost_uusd(const struct hr__cluster_load *load, const struct hr__routed_job *job) {
  const hr_amount units = (hr_amount)load->price_uusd_h * (hr_amount)job->milli * job->expected_us;
  return (int64_t)(units / HR_LEDGER_UNITS_PER_UUSD);
}

uint32_t hr__job_router_choose(const struct hr_job_router_spec *router, const struct hr__cluster_load *loads,
                               uint32_t n_clusters, const struct hr__routed_job *job, int64_t *spent_uusd) {
  const uint32_t home = job->home;
  if (router->kind == HR_JOB_ROUTER_HOME) return home;
  if (router->kind != HR_JOB_ROUTER_LOCAL_FIRST) return best(router, router->kind, loads, n_clusters, HR_NONE, home);
  if (!is_too_full(router, &loads[home], job)) return home;
  const uint32_t other = best(router, router->spill, loads, n_clusters, home, home);
  if (other == home) return home;
  const int64_t cost = cost_uusd(&loads[other], job);
  if (loads[home].eligible && router->budget_uusd != HR_NEVER_US && cost > router->budget_uusd - *spent_uusd)
    return home;
  *spent_uusd += cost;
  return other;
}

uint32_t hr__job_router_prefer(const struct hr_job_router_spec *router, const struct hr_job_router_rule *rule,
                               const struct hr__cluster_load *loads, uint32_t n_clusters) {
  uint32_t first = HR_NONE;
  for (uint32_t i = rule->n_clusters; i-- > 0;)
    if (loads[rule->clusters[i]].eligible) first = rule->clusters[i];
  for (uint32_t i = 0; i < rule->n_clusters; i++) {
    const struct hr__cluster_load *load = &loads[rule->clusters[i]];
    if (load->eligible && load->wait_us <= router->max_wait_us) return rule->clusters[i];
  }
  if (rule->only) return first;
  const uint32_t other = best_within(router->spill, loads, n_clusters, HR_NONE, router->max_wait_us);
  if (other != HR_NONE) return other;
  return first != HR_NONE ? first : best_within(router->spill, loads, n_clusters, HR_NONE, HR_NEVER_US);
}

/* ---- MultiKueue ----------------------------------------------------------------------------------------- */

const struct hr__multikueue_spec hr__multikueue_defaults = {.step = HR__MULTIKUEUE_STEP,
                                                            .round_us = INT64_C(300000000)};

static bool is_nominated(const struct hr__multikueue_offer *offer, uint32_t cluster) {
  for (uint32_t i = 0; i < offer->n_nominated; i++)
    if (offer->nominated[i] == cluster) return true;
  return false;
}

bool hr__multikueue_nominate(const struct hr__multikueue_spec *spec, struct hr__multikueue_offer *offer,
                             const uint32_t *preference, uint32_t n_clusters, int64_t now_us) {
  if (spec->is_incremental && offer->n_nominated > 0 && now_us - offer->round_us <= spec->round_us) return true;
  const uint32_t step = spec->step ? spec->step : HR__MULTIKUEUE_STEP;
  uint32_t n_new = 0;
  for (uint32_t i = 0; i < n_clusters && (!spec->is_incremental || n_new < step); i++) {
    if (is_nominated(offer, preference[i])) continue;
    offer->nominated[offer->n_nominated++] = preference[i];
    n_new++;
  }
  if (n_new == 0) return false;
  offer->round_us = now_us;
  return true;
}

HR__NAME_FUNCTION(hr_job_router_name, enum hr_job_router_kind, HR_JOB_ROUTER_TABLE)
