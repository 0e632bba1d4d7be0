/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Nodes that are paid for whether they are used or not. Of reserved and owned pools fewer nodes are tried, with
 * on-demand nodes for what is taken away: first as many as the newsvendor's rule says (a node pays if it is busy for a
 * longer share of the time than its price is of the on-demand price), then, from there, in steps that are halved, as
 * runs are the judge. On-demand nodes that a policy keeps whether they are used or not are tried on request.
 */

#include "plan/advising.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MOST_TRIALS = 6, SCREENING = 3 };
static const double busy_enough = 0.95;

/* A reservation that is made smaller. */
struct search {
  struct hr_advice *advice;
  uint32_t pool;
  uint32_t beside; /* an on-demand pool of the same GPUs that there is; HR_NONE */
  bool add;        /* one is added */
  struct hr__proposal best;
  double best_usd;
  uint32_t best_nodes, trials;
};

/* ---- On-demand nodes beside it ---------------------------------------------------------------------- */

static uint32_t on_demand_like(const struct hr_advice *advice, uint32_t pool) {
  const struct hr_cluster_spec *cluster = &advice->config.scenario->cluster;
  const struct hr_pool_spec *self = &cluster->pools[pool];
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *other = &cluster->pools[i];
    bool same = other->gpu && self->gpu && strcasecmp(other->gpu, self->gpu) == 0 &&
                other->gpus_per_node == self->gpus_per_node && (!other->classes || other->classes == self->classes);
    if (same && other->nodes && other->market.market == HR_MARKET_ON_DEMAND) return i;
  }
  return HR_NONE;
}

/* The longest boot of nodes that come and go, in seconds; 0 where there are none. */
static double boot_s(const struct hr_advice *advice, const char **like) {
  const struct hr_cluster_spec *cluster = &advice->config.scenario->cluster;
  double longest_s = 0;
  *like = NULL;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_market_spec *market = &cluster->pools[i].market;
    if (!hr_market_is_elastic(market->market) || market->boot.kind != HR_DURATION_FIXED) continue;
    if (*like && market->boot.a <= longest_s) continue;
    longest_s = market->boot.a;
    *like = cluster->pools[i].name;
  }
  return longest_s;
}

static cJSON *on_demand_entry(const struct search *search, uint32_t nodes, double boot) {
  static const char *const unwanted[] = {"market",   "term",  "upfront",           "from_s",           "to_s",
                                         "discount", "owned", "usd_per_node_hour", "usd_per_gpu_hour", NULL};
  const struct hr_market_spec *market = &hr__advice_pool(search->advice, search->pool)->market;
  cJSON *entry = hr__pool_entry(search->advice, search->pool, "-on-demand", unwanted);
  if (!entry) return NULL;
  cJSON_DeleteItemFromObjectCaseSensitive(entry, "on_demand_usd_per_gpu_hour");
  if (hr__put_number(entry, "nodes", nodes) && hr__put_text(entry, "market", "on-demand") &&
      hr__put_number(entry, "usd_per_gpu_hour", (double)market->on_demand_uusd_h / 1e6) &&
      hr__put_number(entry, "boot_s", boot))
    return entry;
  cJSON_Delete(entry);
  return NULL;
}

static enum hr_status add_on_demand(const struct search *search, uint32_t nodes, struct hr__proposal *proposal,
                                    struct hr_error *error) {
  char path[60];
  const char *like;
  double boot = boot_s(search->advice, &like);
  const struct hr_market_spec *market = &hr__advice_pool(search->advice, search->pool)->market;
  snprintf(path, sizeof path, "cluster.pools.%u", (unsigned)search->advice->config.scenario->cluster.n_pools);
  enum hr_status status = hr__proposal_set_json(proposal, path, on_demand_entry(search, nodes, boot), error);
  if (status == HR_OK) status = hr__proposal_manage(search->advice, proposal, false, error);
  if (status != HR_OK) return status;
  return hr__proposal_assume(proposal, error, "on-demand nodes cost $%.6g per GPU-hour and are there after %.6g s%s%s",
                             (double)market->on_demand_uusd_h / 1e6, boot,
                             like ? ", as in pool " : ", as no pool says otherwise", like ? like : "");
}

static const char *why_none_added(const struct search *search) {
  if (hr__advice_pool(search->advice, search->pool)->market.on_demand_uusd_h <= 0)
    return "their price is not known (on_demand_usd_per_gpu_hour)";
  return search->advice->queue ? "the policy keeps those that there are, used or not"
                               : "the policy would keep them, used or not";
}

/* ---- So many nodes ---------------------------------------------------------------------------------- */

static enum hr_status make(const struct search *search, uint32_t nodes, struct hr__proposal *proposal,
                           struct hr_error *error) {
  const struct hr_pool_spec *spec = hr__advice_pool(search->advice, search->pool);
  hr__proposal_init(proposal, HR_ADVICE_IDLE_RESERVATION, HR_N_CLASSES, search->pool);
  snprintf(proposal->from, sizeof proposal->from, "%u %s node%s", (unsigned)spec->nodes,
           hr_market_name(spec->market.market), spec->nodes == 1 ? "" : "s");
  int used = snprintf(proposal->to, sizeof proposal->to, "%u", (unsigned)nodes);
  if (search->add)
    snprintf(proposal->to + used, sizeof proposal->to - (size_t)used, " and up to %u on-demand",
             (unsigned)(spec->nodes - nodes));
  enum hr_status status =
      hr__proposal_set(proposal, error, "cluster.pools.%u.nodes=%u", (unsigned)search->pool, (unsigned)nodes);
  if (status == HR_OK && search->add) status = add_on_demand(search, spec->nodes - nodes, proposal, error);
  if (status == HR_OK && !search->add && search->beside == HR_NONE)
    status = hr__proposal_assume(proposal, error, "no on-demand nodes are added: %s", why_none_added(search));
  return status;
}

/* Runs it with few replications and keeps it if it is better than all before. */
static enum hr_status try_nodes(struct search *search, uint32_t nodes, struct hr_error *error) {
  struct hr_advice *advice = search->advice;
  struct hr__proposal proposal;
  struct hr__interval interval;
  char reason[300];
  uint32_t count = advice->n_replications < SCREENING ? advice->n_replications : SCREENING;
  enum hr_status status = make(search, nodes, &proposal, error);
  if (status == HR_OK) status = hr__proposal_load(advice, &proposal, error);
  search->trials++;
  if (status == HR_OK && proposal.mix != HR_NONE) status = hr__advice_run(advice, &proposal.mix, 1, count, error);
  if (status == HR_OK && proposal.mix != HR_NONE)
    status = hr__advice_difference(advice, proposal.mix, HR__A_MONTHLY, count, &interval, error);
  if (status != HR_OK || proposal.mix == HR_NONE) {
    hr__proposal_finish(&proposal);
    return status;
  }
  bool serves = hr__advice_serves(advice, proposal.mix, count, reason, sizeof reason);
  double usd = serves ? interval.mean : (double)INFINITY;
  if (search->best.mix != HR_NONE && !(usd < search->best_usd)) {
    hr__proposal_finish(&proposal);
    return HR_OK;
  }
  hr__proposal_finish(&search->best);
  search->best = proposal;
  search->best_usd = usd;
  search->best_nodes = nodes;
  return HR_OK;
}

/* The least number of nodes of which one more would be busy for too small a share of the time. */
static uint32_t newsvendor_nodes(const struct search *search) {
  const struct hr_market_spec *market = &hr__advice_pool(search->advice, search->pool)->market;
  const struct hr__pool_look *look = &search->advice->look.pools[search->pool];
  uint32_t nodes = hr__advice_pool(search->advice, search->pool)->nodes;
  bool elsewhere = search->add || search->beside != HR_NONE;
  double ratio =
      elsewhere && market->on_demand_uusd_h > 0 ? (double)market->price_uusd_h / (double)market->on_demand_uusd_h : 0;
  double busy_us = 0, all_us = (double)search->advice->look.end_us;
  while (nodes > 0 && busy_us + (double)look->at_level[nodes] <= ratio * all_us)
    busy_us += (double)look->at_level[nodes--];
  return nodes;
}

static enum hr_status search_nodes(struct search *search, struct hr_error *error) {
  uint32_t all = hr__advice_pool(search->advice, search->pool)->nodes;
  uint32_t begin = newsvendor_nodes(search);
  uint32_t step = all / 8 ? all / 8 : 1;
  enum hr_status status = HR_OK;
  if (begin == all) return HR_OK;
  status = try_nodes(search, begin, error);
  while (status == HR_OK && step > 0 && search->trials < MOST_TRIALS && search->best.mix != HR_NONE) {
    uint32_t from = search->best_nodes;
    if (from + step < all) status = try_nodes(search, from + step, error);
    if (status == HR_OK && search->best_nodes == from && from >= step && search->trials < MOST_TRIALS)
      status = try_nodes(search, from - step, error);
    if (search->best_nodes == from) step /= 2;
  }
  if (status == HR_OK && search->best.mix != HR_NONE) return hr__proposal_keep(search->advice, &search->best, error);
  hr__proposal_finish(&search->best);
  return status;
}

static enum hr_status shrink(struct hr_advice *advice, uint32_t pool, struct hr_error *error) {
  const struct hr_pool_spec *spec = hr__advice_pool(advice, pool);
  const struct hr_cluster_spec *cluster = &advice->config.scenario->cluster;
  bool stands = spec->market.market == HR_MARKET_RESERVED || spec->market.market == HR_MARKET_OWNED;
  if (!stands || spec->nodes == 0 || spec->market.price_uusd_h == 0) return HR_OK;
  if (hr__look_utilization(&advice->look, pool) >= busy_enough) return HR_OK;
  struct search search = {.advice = advice, .pool = pool, .beside = on_demand_like(advice, pool)};
  hr__proposal_init(&search.best, HR_ADVICE_IDLE_RESERVATION, HR_N_CLASSES, pool);
  /* Where all elastic nodes are kept, used or not, to change that is advice of its own. */
  bool unmanaged = !advice->managed;
  for (uint32_t i = 0; i < cluster->n_pools && unmanaged; i++)
    unmanaged = !cluster->pools[i].nodes || !hr_market_is_elastic(cluster->pools[i].market.market);
  search.add =
      search.beside == HR_NONE && spec->market.on_demand_uusd_h > 0 && advice->queue && (advice->managed || unmanaged);
  return search_nodes(&search, error);
}

/* ---- Nodes that are kept though they could be given back ---------------------------------------------- */

/* The only on-demand pool of which much is idle; HR_NONE: several; `n_pools`: none. */
static uint32_t idle_on_demand(const struct hr_advice *advice, bool *any_spot) {
  const struct hr_cluster_spec *cluster = &advice->config.scenario->cluster;
  uint32_t found = cluster->n_pools;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    enum hr_market market = cluster->pools[i].market.market;
    if (!cluster->pools[i].nodes || !hr_market_is_elastic(market)) continue;
    *any_spot |= market == HR_MARKET_SPOT;
    if (hr__look_utilization(&advice->look, i) >= busy_enough) continue;
    found = found == cluster->n_pools ? i : HR_NONE;
  }
  return found;
}

static enum hr_status release(struct hr_advice *advice, struct hr_error *error) {
  bool any_spot = false;
  uint32_t pool = idle_on_demand(advice, &any_spot);
  struct hr__proposal proposal;
  if (!advice->queue || advice->managed || pool == advice->config.scenario->cluster.n_pools) return HR_OK;
  hr__proposal_init(&proposal, HR_ADVICE_IDLE_RESERVATION, HR_N_CLASSES, pool);
  snprintf(proposal.from, sizeof proposal.from, "elastic nodes kept, used or not");
  snprintf(proposal.to, sizeof proposal.to, "asked for when wanted, given back when idle");
  enum hr_status status = hr__proposal_manage(advice, &proposal, any_spot, error);
  if (status == HR_OK) return hr__proposal_keep(advice, &proposal, error);
  hr__proposal_finish(&proposal);
  return status;
}

enum hr_status hr__advise_idle(struct hr_advice *advice, struct hr_error *error) {
  enum hr_status status = release(advice, error);
  for (uint32_t i = 0; i < advice->config.scenario->cluster.n_pools && status == HR_OK; i++)
    status = shrink(advice, i, error);
  return status;
}
