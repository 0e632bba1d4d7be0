/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Advice on reliability and power: spare nodes, bad nodes and power limits.
 *
 * Spares. If each of n nodes is down with probability p, the number of nodes that are down at the same time has a
 * binomial distribution. If the number of spares is the 99 % quantile of this distribution, the spares suffice at
 * nearly all times. (ByteRobust: 1,024 nodes, p = 0.001, 4 spares.) More spares raise ETTR, because stopped jobs need
 * not wait for repairs; fewer spares leave more nodes for jobs.
 *
 * Bad nodes. If one node stops many more jobs than others, its jobs should not return to it.
 *
 * Power limits. With a power limit, a job takes time_ratio times as long, at power_ratio times the power. So its GPUs
 * use time_ratio x power_ratio times the energy.
 */

#include "plan/advise/advise.h"

#include "headroom/power.h"
#include "headroom/unstable/faults.h"

#include <gsl/gsl_cdf.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const double enough = 0.99;              /* share of the time in which spares suffice */
static const double tolerated_time_ratio = 1.1; /* of jobs at a power limit */
enum { MIN_FAILURES = 3, BAD_FACTOR = 3, EXCLUDED_NODES = 3 };

static bool is_fixed(const struct hr_pool_spec *spec) {
  return spec->nodes > 0 && !hr_market_is_elastic(spec->market.market);
}

/* Writes the path of a key of a pool that the pool may share with others: "cluster.pools.0.faults.spares". */
static void path_of(const struct hr_advice *advice, uint32_t pool, const char *object, const char *key, char *path,
                    size_t size) {
  const cJSON *entry = cJSON_GetArrayItem(advice->pools, (int)pool);
  if (cJSON_GetObjectItemCaseSensitive(entry, object))
    snprintf(path, size, "cluster.pools.%u.%s.%s", (unsigned)pool, object, key);
  else
    snprintf(path, size, "cluster.%s.%s", object, key);
}

/* Keeps the proposal, or discards it after an error. */
static enum hr_status keep(struct hr_advice *advice, struct hr__proposal *proposal, enum hr_status status,
                           struct hr_error *error) {
  if (status == HR_OK) return hr__proposal_keep(advice, proposal, error);
  hr__proposal_finish(proposal);
  return status;
}

/* ---- Spares ---------------------------------------------------------------------------------------- */

static uint32_t spares_for(uint32_t nodes, double down_share) {
  uint32_t spares = 0;
  while (spares + 1 < nodes && gsl_cdf_binomial_P(spares, down_share, nodes) < enough) spares++;
  return spares;
}

static enum hr_status advise_spares(struct hr_advice *advice, uint32_t pool, struct hr_error *error) {
  const struct hr_pool_spec *spec = hr__advice_pool(advice, pool);
  const struct hr__pool_profile *profile = &advice->profile.pools[pool];
  if (!is_fixed(spec) || !spec->faults || profile->down_share <= 0) return HR_OK;
  uint32_t now = spec->faults->spares, best = spares_for(spec->nodes, profile->down_share);
  if (now == best || best >= spec->nodes) return HR_OK;
  struct hr__proposal proposal;
  char path[100];
  hr__proposal_init(&proposal, HR_ADVICE_SPARES, HR_N_CLASSES, pool);
  proposal.figure = best > now ? HR__A_ETTR : HR__A_GROUPS + HR__A_WAIT;
  snprintf(proposal.from, sizeof proposal.from, "%u of %u nodes spare", (unsigned)now, (unsigned)spec->nodes);
  snprintf(proposal.to, sizeof proposal.to, "%u spare", (unsigned)best);
  path_of(advice, pool, "faults", "spares", path, sizeof path);
  enum hr_status status = hr__proposal_set(&proposal, error, "%s=%u", path, (unsigned)best);
  if (status == HR_OK)
    status = hr__proposal_assume(
        &proposal, error, "a node is out of order for %.3g %% of the time, so that %u spares suffice for %.4g %%",
        100 * profile->down_share, (unsigned)best, 100 * enough);
  return keep(advice, &proposal, status, error);
}

/* ---- Bad nodes ------------------------------------------------------------------------------------- */

/* Whether the policy can exclude nodes, and does not. */
static bool may_exclude(const struct hr_advice *advice) {
  const struct hr_policy_choice *policy = &advice->config.scenario->policy;
  bool excludes = true;
  for (size_t i = 0; i < policy->n_params; i++) {
    char buffer[32];
    const char *key = policy->ops->params[i].key, *value = hr_policy_choice_text(policy, i, buffer);
    if (strcmp(key, "exclude_nodes") == 0) excludes = strcmp(value, "0") != 0;
    if (strcmp(key, "placement") == 0 && strcmp(value, "pool") == 0) return false;
    if (strcmp(key, "backfill") == 0 && strcmp(value, "conservative") == 0) return false;
  }
  return !excludes;
}

static enum hr_status advise_bad_nodes(struct hr_advice *advice, uint32_t pool, struct hr_error *error) {
  const struct hr_pool_spec *spec = hr__advice_pool(advice, pool);
  const struct hr__pool_profile *profile = &advice->profile.pools[pool];
  double mean = spec->nodes ? (double)profile->failed_jobs / spec->nodes : 0;
  if (!is_fixed(spec) || profile->most_failures < MIN_FAILURES || profile->most_failures < BAD_FACTOR * mean ||
      !may_exclude(advice))
    return HR_OK;
  struct hr__proposal proposal;
  hr__proposal_init(&proposal, HR_ADVICE_BAD_NODES, HR_N_CLASSES, pool);
  proposal.figure = HR__A_ETTR;
  snprintf(proposal.from, sizeof proposal.from, "jobs return to nodes that have failed under them");
  snprintf(proposal.to, sizeof proposal.to, "the last %d such nodes are excluded for a job", EXCLUDED_NODES);
  enum hr_status status = hr__proposal_set(&proposal, error, "policy.exclude_nodes=%d", EXCLUDED_NODES);
  if (status == HR_OK)
    status = hr__proposal_assume(&proposal, error,
                                 "a node of the pool has stopped %u jobs in the first replication, the mean node %.3g",
                                 (unsigned)profile->most_failures, mean);
  return keep(advice, &proposal, status, error);
}

/* ---- Power limits ---------------------------------------------------------------------------------- */

/* Takes a limit if it needs less energy than the best one so far. */
static void consider(const struct hr_power_cap *cap, const struct hr_power_spec *power, struct hr_power_cap *best) {
  if (cap->time_ratio > tolerated_time_ratio || cap->limit_w < power->gpu_idle_w) return;
  if (cap->limit_w >= power->gpu_max_w) return;
  if (cap->time_ratio * cap->power_ratio < best->time_ratio * best->power_ratio) *best = *cap;
}

static struct hr_power_cap best_cap(const struct hr_advice *advice, const struct hr_pool_spec *spec) {
  struct hr_power_cap best = {.time_ratio = 1, .power_ratio = 1};
  for (uint32_t i = 0; i < spec->power->n_caps; i++) consider(&spec->power->caps[i], spec->power, &best);
  for (size_t i = 0; spec->power->n_caps == 0 && i < advice->catalog->n_power_caps; i++) {
    const struct hr_power_cap_entry *entry = &advice->catalog->power_caps[i];
    const struct hr_power_cap cap = {entry->limit_w, entry->time_ratio, entry->power_ratio};
    if (spec->gpu && strcasecmp(entry->gpu, spec->gpu) == 0) consider(&cap, spec->power, &best);
  }
  return best;
}

static enum hr_status advise_power_cap(struct hr_advice *advice, uint32_t pool, struct hr_error *error) {
  const struct hr_pool_spec *spec = hr__advice_pool(advice, pool);
  if (spec->nodes == 0 || !spec->power || spec->power->gpu_cap_w > 0 || spec->power->budget_caps) return HR_OK;
  struct hr_power_cap best = best_cap(advice, spec);
  if (best.limit_w <= 0) return HR_OK;
  struct hr__proposal proposal;
  char path[100];
  hr__proposal_init(&proposal, HR_ADVICE_POWER_CAP, HR_N_CLASSES, pool);
  proposal.figure = HR__A_ENERGY;
  snprintf(proposal.from, sizeof proposal.from, "GPUs of up to %.5g W", spec->power->gpu_max_w);
  snprintf(proposal.to, sizeof proposal.to, "a limit of %.5g W", best.limit_w);
  path_of(advice, pool, "power", "gpu_cap_w", path, sizeof path);
  enum hr_status status = hr__proposal_set(&proposal, error, "%s=%.10g", path, best.limit_w);
  if (status == HR_OK)
    status = hr__proposal_assume(
        &proposal, error, "at this limit, work takes %.4g times as long with at most %.4g of the power of the GPUs",
        best.time_ratio, best.power_ratio);
  return keep(advice, &proposal, status, error);
}

enum hr_status hr__advise_reliability(struct hr_advice *advice, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < advice->profile.n_pools && status == HR_OK; i++) {
    status = advise_spares(advice, i, error);
    if (status == HR_OK) status = advise_power_cap(advice, i, error);
  }
  for (uint32_t i = 0; i < advice->profile.n_pools && status == HR_OK; i++) {
    size_t before = advice->n_proposals;
    status = advise_bad_nodes(advice, i, error);
    if (advice->n_proposals > before) break; /* the policy is that of all pools */
  }
  return status;
}
