/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Advice on capacity: checkpoint intervals, spot capacity and idle reservations. Advice on reliability and power: spare
 * nodes, bad nodes and power limits. Advice on checkpoints is for spot pools and for pools with failures.
 *
 * Checkpoints. Let d be the time to write a checkpoint and M the mean time between interruptions of a job. By Daly (A
 * higher order estimate of the optimum checkpoint interval for restart dumps, 2006) the best interval is
 *
 *     sqrt(2 d M) (1 + sqrt(d / 2 M) / 3 + d / 18 M) - d    if d < 2 M, else M.
 *
 * The first term is Young's (1974). A proposal tries the checkpoint setting that derives the interval from the pool if
 * the interval of a class differs from the best one by a factor of more than 1.5, or if a class without checkpoints
 * lost work.
 *
 * Spot. A class with jobs on on-demand nodes is moved to a spot pool if it tolerates interruptions. A class tolerates
 * interruptions if the scenario and its jobs permit them, and if it has checkpoints or nearly all its jobs are short.
 * The spot pool has the same number of nodes as the on-demand pool, and serves only that class. The spot model is
 * copied from a spot pool of the same GPU type if the scenario has one. Otherwise the preset of the catalogue that fits
 * best is used. If several presets fit equally well, the one with the most interruptions is used.
 *
 * Idle reservations. Proposals remove nodes of reserved and owned pools. On-demand nodes replace them if the scenario
 * has, or may get, an on-demand pool of the same GPU type. The first number of nodes that is tried is the newsvendor
 * solution: a node pays off if the share of time in which it is busy is larger than its price / the on-demand price. A
 * local search with halved steps then runs other numbers of nodes. If the policy keeps elastic nodes while they are
 * idle, a market rule that releases idle nodes is tried too.
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

#include "base/text.h"
#include "headroom/power.h"
#include "headroom/unstable/faults.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const double tolerated_ratio = 1.5;
static const double assumed_write_s = 60;

/* The use of pools with interruptions: of spot pools, and of pools with failures. */
struct spot_use {
  uint32_t pool; /* the pool with interruptions that the class used most; HR_NONE: the class used no such pool */
  double life_s; /* mean time between interruptions of a job of the class, in seconds */
  double write_s;
  double lost_h; /* GPU hours of lost work in all pools with interruptions */
};

/* The mean time until a job of the class loses a node, in seconds. If nodes fail independently, the time is inversely
   proportional to the number of nodes of a job. With the spot models HR_SPOT_ON_OFF and HR_SPOT_TRACE, the time does
   not depend on this number. */
static double mean_life_s(const struct hr_advice *advice, const struct hr__pool_use *use, uint32_t pool) {
  enum hr_spot_model spot_model = hr__advice_pool(advice, pool)->market.spot.model;
  double nodes = (double)use->allocated_times_nodes / (double)use->allocated_milli_us;
  bool one_fate = spot_model == HR_SPOT_ON_OFF || spot_model == HR_SPOT_TRACE;
  return 3600 / advice->profile.pools[pool].reclaims_per_h / (one_fate ? 1 : nodes);
}

static double write_time_s(const struct hr_advice *advice, const struct hr__pool_use *use, uint32_t class_,
                           uint32_t pool) {
  const struct hr_class_spec *class_spec = &advice->config.scenario->classes[class_];
  double mib = use->sized_checkpoints ? (double)use->checkpoint_mib / (double)use->sized_checkpoints
                                      : (double)class_spec->checkpoint_mib;
  uint64_t mib_s = hr__advice_pool(advice, pool)->storage_mib_s;
  return mib > 0 && mib_s ? mib / (double)mib_s : (double)class_spec->write_us / (double)HR_SECOND_US;
}

static struct spot_use find_spot(const struct hr_advice *advice, uint32_t class_) {
  const struct hr__pool_use *max = NULL;
  struct spot_use spot = {.pool = HR_NONE};
  for (uint32_t i = 0; i < advice->profile.n_pools; i++) {
    const struct hr__pool_use *use = hr__run_profile_use(&advice->profile, class_, i);
    if (!(advice->profile.pools[i].reclaims_per_h > 0) || use->allocated_milli_us == 0) continue;
    spot.lost_h += hr__run_profile_gpu_hours(use->lost_milli_us);
    if (max && use->allocated_milli_us <= max->allocated_milli_us) continue;
    max = use;
    spot.pool = i;
    spot.life_s = mean_life_s(advice, use, i);
    spot.write_s = write_time_s(advice, use, class_, i);
  }
  return spot;
}

static double daly_s(double write_s, double life_s) {
  if (write_s >= 2 * life_s) return life_s;
  double half = write_s / (2 * life_s);
  return sqrt(2 * write_s * life_s) * (1 + sqrt(half) / 3 + half / 9) - write_s;
}

/* Adds overrides that make the policy acquire elastic nodes only when they are needed. Adds nothing if the policy
   already does so. `spot`: the policy also acquires spot nodes. */
static void manage_elastic(const struct hr_advice *advice, struct hr__proposal *proposal, bool spot) {
  const struct hr_policy_choice *policy = &advice->config.scenario->policy;
  for (size_t i = 0; i < policy->n_params && advice->has_market_rule; i++) {
    char buffer[32];
    const char *key = policy->ops->params[i].key, *value = hr_policy_choice_text(policy, i, buffer);
    if (strcmp(key, "placement") == 0 && strcmp(value, "pool") == 0)
      hr__proposal_set(proposal, "policy.placement=best-fit");
    else if (strcmp(key, "market") == 0 &&
             (strcmp(value, "static") == 0 || (spot && strcmp(value, "on-demand-only") == 0)))
      hr__proposal_set(proposal, "policy.market=%s", spot ? "spot-first" : "on-demand-only");
  }
}

/* ---- Checkpoints: the change ----------------------------------------------------------------------- */

/* Copies the entry of a class and sets the checkpoints of the copy. If the scenario has no entry for the class, copies
   the default entry. NULL: out of memory. */
static cJSON *class_entry(const struct hr_advice *advice, const char *name, double write_s) {
  const cJSON *own = cJSON_GetObjectItemCaseSensitive(advice->classes, name);
  if (!own) own = cJSON_GetObjectItemCaseSensitive(advice->classes, "default");
  cJSON *entry = own ? cJSON_Duplicate(own, true) : cJSON_CreateObject();
  cJSON *checkpoint = cJSON_GetObjectItemCaseSensitive(entry, "checkpoint");
  if (entry && !checkpoint) checkpoint = cJSON_AddObjectToObject(entry, "checkpoint");
  cJSON_DeleteItemFromObjectCaseSensitive(checkpoint, "interval_s");
  if (checkpoint && hr__put_text(checkpoint, "policy", "young-daly") &&
      (write_s == 0 || hr__put_number(checkpoint, "write_s", write_s)))
    return entry;
  cJSON_Delete(entry);
  return NULL;
}

/* Formats a duration in hours with three digits; from 1,000 hours on, whole hours with thousands separators. */
static const char *hours_text(double seconds, char buffer[HR__NUMBER_BYTES]) {
  double hours = seconds / 3600;
  if (hours >= 999.5) return hr__fixed_text(hours, 0, buffer);
  snprintf(buffer, HR__NUMBER_BYTES, "%.3g", hours);
  return buffer;
}

/* `write_s`: the assumed time to write a checkpoint, in seconds; 0: the time is known, so none is assumed. */
static enum hr_status propose_checkpoints(struct hr_advice *advice, uint32_t class_, const struct spot_use *spot,
                                          const char *from, double write_s, struct hr_error *error) {
  const char *name = class_ == HR_CLASS_UNKNOWN ? "default" : hr_job_class_name((enum hr_job_class)class_);
  struct hr__proposal proposal;
  char path[60], text[HR__NUMBER_BYTES];
  hr__proposal_init(&proposal, HR_ADVICE_CHECKPOINT, class_ == HR_CLASS_UNKNOWN ? HR_N_CLASSES : class_, spot->pool);
  bool is_fixed = !hr_market_is_elastic(hr__advice_pool(advice, spot->pool)->market.market);
  proposal.figure = is_fixed ? HR__A_ETTR : HR__A_MONTHLY; /* the cost of nodes of fixed pools does not change */
  snprintf(proposal.from, sizeof proposal.from, "%s", from);
  snprintf(proposal.to, sizeof proposal.to, "every %s (young-daly)",
           hr__duration_text(daly_s(write_s > 0 ? write_s : spot->write_s, spot->life_s), text));
  snprintf(path, sizeof path, "classes.%s", name);
  hr__proposal_set_json(&proposal, path, class_entry(advice, name, write_s));
  if (write_s > 0)
    hr__proposal_assume(&proposal, "a checkpoint takes %.0f s, since neither its size nor its write time is known",
                        write_s);
  hr__proposal_assume(&proposal, "jobs of the class are interrupted every %s h on average in pool %.100s",
                      hours_text(spot->life_s, text), hr__advice_pool(advice, spot->pool)->name);
  return hr__proposal_keep(advice, &proposal, error);
}

static enum hr_status note(struct hr_advice *advice, struct hr_error *error, const char *what, uint32_t class_,
                           const char *text) {
  bool added = hr_notes_add(&advice->notes, "%s %s: %s", what, hr__advice_class_text(class_), text) == HR_OK;
  return added ? HR_OK : hr__advice_no_memory(error);
}

static enum hr_status advise_class(struct hr_advice *advice, uint32_t class_, struct hr_error *error) {
  const struct hr_class_spec *spec = &advice->config.scenario->classes[class_];
  struct spot_use spot = find_spot(advice, class_);
  if (spot.pool == HR_NONE) return HR_OK;
  if (hr__run_profile_use(&advice->profile, class_, spot.pool)->own_checkpoints)
    return note(advice, error, "checkpoints of", class_,
                "jobs have intervals in the trace, which override the scenario's");
  if (spec->checkpoint == HR_CHECKPOINT_NONE) {
    if (spot.lost_h <= 0) return HR_OK;
    return propose_checkpoints(advice, class_, &spot, "no checkpoints", spot.write_s > 0 ? 0 : assumed_write_s, error);
  }
  if (spec->checkpoint != HR_CHECKPOINT_INTERVAL) return HR_OK;
  if (spot.write_s <= 0)
    return note(advice, error, "checkpoints of", class_, "writing takes no time, so no interval is too short");
  double interval_s = (double)spec->interval_us / (double)HR_SECOND_US, best_s = daly_s(spot.write_s, spot.life_s);
  char from[100], text[HR__NUMBER_BYTES];
  snprintf(from, sizeof from, "every %s", hr__duration_text(interval_s, text));
  if (interval_s <= tolerated_ratio * best_s && best_s <= tolerated_ratio * interval_s) return HR_OK;
  return propose_checkpoints(advice, class_, &spot, from, 0, error);
}

static enum hr_status advise_checkpoints(struct hr_advice *advice, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < HR_N_CLASSES && status == HR_OK; i++) {
    /* If the trace has classes, the default settings are not examined, since they also apply to all classes that the
       scenario does not name. */
    if (i == HR_CLASS_UNKNOWN && advice->config.trace->class_) continue;
    status = advise_class(advice, i, error);
  }
  return status;
}

/* ---- Spot capacity --------------------------------------------------------------------------------- */

/* A class without checkpoints is moved to spot nodes only if at most this share of its jobs takes more than an hour. */
static const double max_long_share = 0.05;
static const double usual_discount = 0.7; /* spot discount if the catalogue has none */

/* The model of a proposed spot pool: a preset, or a spot pool of the scenario. */
struct spot_model {
  const struct hr_spot_preset *preset; /* NULL: the model is a pool of the scenario */
  const cJSON *spot, *like;            /* like: entry of the spot pool; spot: its key `spot`; NULL with a preset */
  double price_share;                  /* spot price / on-demand price; 0: use the price of the catalogue */
};

/* ---- Spot capacity: models ------------------------------------------------------------------------- */

static bool model_of_pool(const struct hr_advice *advice, uint32_t pool, struct spot_model *spot_model) {
  const struct hr_cluster_spec *cluster = &advice->config.scenario->cluster;
  const struct hr_market_spec *self = &cluster->pools[pool].market;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *other = &cluster->pools[i];
    bool same = other->gpu && cluster->pools[pool].gpu && strcasecmp(other->gpu, cluster->pools[pool].gpu) == 0;
    if (!same || other->market.market != HR_MARKET_SPOT) continue;
    spot_model->like = cJSON_GetArrayItem(advice->pools, (int)i);
    spot_model->spot = cJSON_GetObjectItemCaseSensitive(spot_model->like, "spot");
    spot_model->price_share = self->price_uusd_h ? (double)other->market.price_uusd_h / (double)self->price_uusd_h : 0;
    return true;
  }
  return false;
}

/* Rates how well a preset fits a pool. A matching GPU type weighs most, then a matching region. 0: does not fit. */
static int fit_of(const struct hr_spot_preset *preset, const struct hr_pool_spec *spec, const char *provider) {
  bool any_gpu = strcmp(preset->gpu, "*") == 0, any_region = strcmp(preset->region, "*") == 0;
  bool this_gpu = spec->gpu && strcasecmp(preset->gpu, spec->gpu) == 0;
  bool this_region = spec->region && strcasecmp(preset->region, spec->region) == 0;
  if (provider ? strcasecmp(preset->provider, provider) != 0 : !this_gpu) return 0;
  if (!any_gpu && !this_gpu) return 0;
  return (any_gpu ? 1 : 4) + (this_region ? 2 : any_region ? 1 : 0);
}

static bool model_of_preset(const struct hr_advice *advice, uint32_t pool, struct spot_model *spot_model) {
  const struct hr_pool_source *sources = advice->config.scenario->pool_sources;
  const char *provider = sources ? sources[pool].provider : NULL;
  int best = 0;
  for (size_t i = 0; i < advice->catalog->n_spot_presets; i++) {
    const struct hr_spot_preset *preset = &advice->catalog->spot_presets[i];
    int fit = fit_of(preset, hr__advice_pool(advice, pool), provider);
    bool worse = fit == best && fit && preset->spec.rate_per_h > spot_model->preset->spec.rate_per_h;
    if (fit <= best && !worse) continue;
    best = fit;
    spot_model->preset = preset;
  }
  return best > 0;
}

/* Uses the catalogue's spot price if it has one and the scenario does not state the on-demand price. Otherwise applies
   the preset's discount or, if it has none, usual_discount. */
static void find_price_share(const struct hr_advice *advice, uint32_t pool, struct spot_model *spot_model) {
  const struct hr_pool_source *source = &advice->config.scenario->pool_sources[pool];
  struct hr_price_quote quote;
  struct hr_price_query query = {.provider = source->provider,
                                 .instance = source->instance,
                                 .gpu = hr__advice_pool(advice, pool)->gpu,
                                 .region = source->region,
                                 .market = HR_MARKET_SPOT};
  bool stated = !source->status || strcmp(source->status, "stated") == 0;
  if (!stated && source->provider && hr_catalog_price(advice->catalog, &query, &quote, NULL) == HR_OK) return;
  spot_model->price_share = 1 - (spot_model->preset->discount >= 0 ? spot_model->preset->discount : usual_discount);
}

/* ---- Spot capacity: the pool ----------------------------------------------------------------------- */

static cJSON *spot_object(const struct spot_model *spot_model) {
  if (!spot_model->preset) return cJSON_Duplicate(spot_model->spot, true);
  cJSON *spot = cJSON_CreateObject();
  if (spot && hr__put_text(spot, "preset", spot_model->preset->name)) return spot;
  cJSON_Delete(spot);
  return NULL;
}

static bool fill_entry(const struct hr_advice *advice, uint32_t class_, uint32_t pool,
                       const struct spot_model *spot_model, cJSON *entry) {
  const struct hr_pool_spec *spec = hr__advice_pool(advice, pool);
  const char *zone = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(spot_model->like, "zone"));
  double on_demand_usd = (double)spec->market.price_uusd_h / 1e6;
  double price_usd = round(spot_model->price_share * (double)spec->market.price_uusd_h) / 1e6;
  if (!hr__put_text(entry, "market", "spot")) return false;
  if (!hr__put_item(entry, "spot", spot_object(spot_model))) return false;
  if (zone && !hr__put_text(entry, "zone", zone)) return false;
  if (spot_model->price_share > 0 && (!hr__put_number(entry, "usd_per_gpu_hour", price_usd) ||
                                      !hr__put_number(entry, "on_demand_usd_per_gpu_hour", on_demand_usd)))
    return false;
  return class_ == HR_CLASS_UNKNOWN || hr__put_class(entry, class_);
}

static cJSON *spot_entry(const struct hr_advice *advice, uint32_t class_, uint32_t pool,
                         const struct spot_model *spot_model) {
  static const char *const unwanted[] = {"usd_per_gpu_hour", "usd_per_node_hour", "discount", "spot", NULL};
  cJSON *entry = hr__pool_entry(advice, pool, "-spot", unwanted);
  if (entry && fill_entry(advice, class_, pool, spot_model, entry)) return entry;
  cJSON_Delete(entry);
  return NULL;
}

/* ---- Spot capacity: the change --------------------------------------------------------------------- */

static void assume_spot(const struct hr_advice *advice, const struct spot_model *spot_model,
                        struct hr__proposal *proposal) {
  if (spot_model->preset)
    hr__proposal_assume(proposal, "nodes are interrupted as in the catalogue's preset %s (%s)",
                        spot_model->preset->name, spot_model->preset->status);
  else
    hr__proposal_assume(proposal, "spot nodes are available and interrupted as in pool %.100s",
                        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(spot_model->like, "name")));
  if (spot_model->price_share > 0)
    hr__proposal_assume(proposal, "a spot GPU-hour costs %.3g of the on-demand price%s", spot_model->price_share,
                        !spot_model->preset                 ? ", as in that pool"
                        : spot_model->preset->discount >= 0 ? ", by the preset"
                                                            : ", a default, since the discount is unknown");
  if (!advice->managed)
    hr__proposal_assume(proposal, "the policy then also acquires on-demand nodes only when needed, which causes "
                                  "part of the difference");
}

static enum hr_status propose_spot(struct hr_advice *advice, uint32_t class_, uint32_t pool,
                                   const struct spot_model *spot_model, struct hr_error *error) {
  const struct hr_pool_spec *spec = hr__advice_pool(advice, pool);
  struct hr__proposal proposal;
  char path[60];
  hr__proposal_init(&proposal, HR_ADVICE_SPOT, class_ == HR_CLASS_UNKNOWN ? HR_N_CLASSES : class_, pool);
  snprintf(proposal.from, sizeof proposal.from, "on-demand %.60s", spec->gpu ? spec->gpu : "GPUs");
  snprintf(proposal.to, sizeof proposal.to, "up to %u spot node%s, else on-demand", (unsigned)spec->nodes,
           spec->nodes == 1 ? "" : "s");
  snprintf(path, sizeof path, "cluster.pools.%u", (unsigned)advice->config.scenario->cluster.n_pools);
  hr__proposal_set_json(&proposal, path, spot_entry(advice, class_, pool, spot_model));
  manage_elastic(advice, &proposal, true);
  assume_spot(advice, spot_model, &proposal);
  return hr__proposal_keep(advice, &proposal, error);
}

/* Returns the reason for not trying spot nodes for a class; NULL: they are tried. */
static const char *why_not_spot(const struct hr_advice *advice, uint32_t class_, uint32_t pool) {
  const struct hr_class_spec *spec = &advice->config.scenario->classes[class_];
  const struct hr__pool_use *use = hr__run_profile_use(&advice->profile, class_, pool);
  bool saves = spec->checkpoint != HR_CHECKPOINT_NONE || use->own_checkpoints > 0;
  if (spec->no_spot) return "the scenario keeps it off spot nodes";
  if (use->uninterruptible_milli_us == use->allocated_milli_us) return "its jobs must not be interrupted";
  if (!saves && (double)use->long_starts > max_long_share * (double)use->starts)
    return "jobs of more than an hour have no checkpoints and start over after an interruption";
  return NULL;
}

static enum hr_status advise_use(struct hr_advice *advice, uint32_t class_, uint32_t pool, struct hr_error *error) {
  struct spot_model spot_model = {0};
  const char *why = why_not_spot(advice, class_, pool);
  if (!why && !advice->has_market_rule)
    why = "the policy keeps elastic nodes at all times and has no other market rule";
  if (!why && !model_of_pool(advice, pool, &spot_model)) {
    if (model_of_preset(advice, pool, &spot_model))
      find_price_share(advice, pool, &spot_model);
    else
      why = "neither a pool nor a catalogue preset describes the spot interruptions of its provider";
  }
  if (!why) return propose_spot(advice, class_, pool, &spot_model, error);
  return note(advice, error, "spot nodes were not tried for", class_, why);
}

static enum hr_status advise_spot(struct hr_advice *advice, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (uint32_t pool = 0; pool < advice->profile.n_pools; pool++) {
    if (hr__advice_pool(advice, pool)->market.market != HR_MARKET_ON_DEMAND) continue;
    for (uint32_t class_ = 0; class_ < HR_N_CLASSES && status == HR_OK; class_++) {
      bool nameless = class_ == HR_CLASS_UNKNOWN && advice->config.trace->class_;
      if (hr__run_profile_use(&advice->profile, class_, pool)->allocated_milli_us == 0 || nameless) continue;
      status = advise_use(advice, class_, pool, error);
    }
  }
  return status;
}

/* ---- Idle reservations ----------------------------------------------------------------------------- */

enum { MAX_TRIALS = 6, SCREENING = 3 };
static const double high_utilization = 0.95;

/* The search for the best number of nodes of a reservation. */
struct node_search {
  struct hr_advice *advice;
  uint32_t pool;
  uint32_t beside; /* an existing on-demand pool of the same GPU type, for the excess demand; HR_NONE: none */
  bool add;        /* a new on-demand pool is added */
  struct hr__proposal best;
  double best_usd;
  uint32_t best_nodes, trials;
};

/* ---- Idle reservations: on-demand nodes ------------------------------------------------------------ */

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

/* The longest fixed boot time of elastic nodes in seconds. Sets *like to the name of the pool that has it. Returns 0
   and sets *like to NULL if no elastic pool has a fixed boot time. */
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

static cJSON *on_demand_entry(const struct node_search *search, uint32_t nodes, double boot) {
  static const char *const unwanted[] = {
      "market", "term",   "upfront",           "from_s",           "to_s", "discount",
      "owned",  "queued", "usd_per_node_hour", "usd_per_gpu_hour", NULL};
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

static void add_on_demand(const struct node_search *search, uint32_t nodes, struct hr__proposal *proposal) {
  char path[60];
  const char *like;
  double boot = boot_s(search->advice, &like);
  const struct hr_market_spec *market = &hr__advice_pool(search->advice, search->pool)->market;
  snprintf(path, sizeof path, "cluster.pools.%u", (unsigned)search->advice->config.scenario->cluster.n_pools);
  hr__proposal_set_json(proposal, path, on_demand_entry(search, nodes, boot));
  manage_elastic(search->advice, proposal, false);
  hr__proposal_assume(proposal, "on-demand nodes cost $%.6g per GPU-hour and boot in %.6g s%s%s",
                      (double)market->on_demand_uusd_h / 1e6, boot,
                      like ? ", as in pool " : ", since no pool has a boot time", like ? like : "");
}

static const char *why_none_added(const struct node_search *search) {
  if (hr__advice_pool(search->advice, search->pool)->market.on_demand_uusd_h <= 0)
    return "their price is unknown (on_demand_usd_per_gpu_hour)";
  return search->advice->has_market_rule ? "the policy keeps the existing ones while they are idle"
                                         : "the policy would keep them while they are idle";
}

/* ---- Idle reservations: number of nodes ------------------------------------------------------------ */

static void make_proposal(const struct node_search *search, uint32_t nodes, struct hr__proposal *proposal) {
  const struct hr_pool_spec *spec = hr__advice_pool(search->advice, search->pool);
  hr__proposal_init(proposal, HR_ADVICE_IDLE_RESERVATION, HR_N_CLASSES, search->pool);
  snprintf(proposal->from, sizeof proposal->from, "%u %s node%s", (unsigned)spec->nodes,
           hr_market_name(spec->market.market), spec->nodes == 1 ? "" : "s");
  int used = snprintf(proposal->to, sizeof proposal->to, "%u", (unsigned)nodes);
  if (search->add)
    snprintf(proposal->to + used, sizeof proposal->to - (size_t)used, " and up to %u on-demand",
             (unsigned)(spec->nodes - nodes));
  hr__proposal_set(proposal, "cluster.pools.%u.nodes=%u", (unsigned)search->pool, (unsigned)nodes);
  if (search->add)
    add_on_demand(search, spec->nodes - nodes, proposal);
  else if (search->beside == HR_NONE)
    hr__proposal_assume(proposal, "no on-demand nodes are added: %s", why_none_added(search));
}

/* Runs the pool with `nodes` nodes and few replications. The proposal becomes the best one if it is the first one, or
   if it serves jobs as well and saves more than the best one so far. */
static enum hr_status try_nodes(struct node_search *search, uint32_t nodes, struct hr_error *error) {
  struct hr_advice *advice = search->advice;
  struct hr__proposal proposal;
  struct hr__interval interval;
  char reason[300];
  uint32_t count = advice->n_replications < SCREENING ? advice->n_replications : SCREENING;
  make_proposal(search, nodes, &proposal);
  enum hr_status status = hr__proposal_load(advice, &proposal, error);
  search->trials++;
  if (status == HR_OK && proposal.candidate != HR_NONE)
    status = hr__advice_run(advice, &proposal.candidate, 1, count, error);
  if (status == HR_OK && proposal.candidate != HR_NONE)
    status = hr__advice_difference(advice, proposal.candidate, HR__A_MONTHLY, count, &interval, error);
  if (status != HR_OK || proposal.candidate == HR_NONE) {
    hr__proposal_finish(&proposal);
    return status;
  }
  bool serves = hr__advice_serves(advice, proposal.candidate, count, reason, sizeof reason);
  double usd = serves ? interval.mean : (double)INFINITY;
  if (search->best.candidate != HR_NONE && !(usd < search->best_usd)) {
    hr__proposal_finish(&proposal);
    return HR_OK;
  }
  hr__proposal_finish(&search->best);
  search->best = proposal;
  search->best_usd = usd;
  search->best_nodes = nodes;
  return HR_OK;
}

/* The newsvendor solution. Starts with all nodes. Removes the last node while it is busy for at most this share of the
   time: price of the node / on-demand price; 0 if no on-demand nodes can replace it. */
static uint32_t newsvendor_nodes(const struct node_search *search) {
  const struct hr_market_spec *market = &hr__advice_pool(search->advice, search->pool)->market;
  const struct hr__pool_profile *profile = &search->advice->profile.pools[search->pool];
  uint32_t nodes = hr__advice_pool(search->advice, search->pool)->nodes;
  bool elsewhere = search->add || search->beside != HR_NONE;
  double ratio =
      elsewhere && market->on_demand_uusd_h > 0 ? (double)market->price_uusd_h / (double)market->on_demand_uusd_h : 0;
  double busy_us = 0, all_us = (double)search->advice->profile.end_us;
  while (nodes > 0 && busy_us + (double)profile->at_level[nodes] <= ratio * all_us)
    busy_us += (double)profile->at_level[nodes--];
  return nodes;
}

static enum hr_status search_nodes(struct node_search *search, struct hr_error *error) {
  uint32_t all = hr__advice_pool(search->advice, search->pool)->nodes;
  uint32_t begin = newsvendor_nodes(search);
  uint32_t step = all / 8 ? all / 8 : 1;
  enum hr_status status = HR_OK;
  if (begin == all) return HR_OK;
  status = try_nodes(search, begin, error);
  while (status == HR_OK && step > 0 && search->trials < MAX_TRIALS && search->best.candidate != HR_NONE) {
    uint32_t from = search->best_nodes;
    if (from + step < all) status = try_nodes(search, from + step, error);
    if (status == HR_OK && search->best_nodes == from && from >= step && search->trials < MAX_TRIALS)
      status = try_nodes(search, from - step, error);
    if (search->best_nodes == from) step /= 2;
  }
  if (status == HR_OK && search->best.candidate != HR_NONE)
    return hr__proposal_keep(search->advice, &search->best, error);
  hr__proposal_finish(&search->best);
  return status;
}

static enum hr_status advise_smaller_pool(struct hr_advice *advice, uint32_t pool, struct hr_error *error) {
  const struct hr_pool_spec *spec = hr__advice_pool(advice, pool);
  const struct hr_cluster_spec *cluster = &advice->config.scenario->cluster;
  bool is_fixed = spec->market.market == HR_MARKET_RESERVED || spec->market.market == HR_MARKET_OWNED;
  if (!is_fixed || spec->nodes == 0 || spec->market.price_uusd_h == 0) return HR_OK;
  if (hr__run_profile_utilization(&advice->profile, pool) >= high_utilization) return HR_OK;
  struct node_search search = {.advice = advice, .pool = pool, .beside = on_demand_like(advice, pool)};
  hr__proposal_init(&search.best, HR_ADVICE_IDLE_RESERVATION, HR_N_CLASSES, pool);
  /* If the policy keeps all elastic nodes even while they are idle, advise_release() proposes to release them, so no
     pool is added here. */
  bool unmanaged = !advice->managed;
  for (uint32_t i = 0; i < cluster->n_pools && unmanaged; i++)
    unmanaged = !cluster->pools[i].nodes || !hr_market_is_elastic(cluster->pools[i].market.market);
  search.add = search.beside == HR_NONE && spec->market.on_demand_uusd_h > 0 && advice->has_market_rule &&
               (advice->managed || unmanaged);
  return search_nodes(&search, error);
}

/* ---- Idle elastic nodes ---------------------------------------------------------------------------- */

/* The only elastic pool with a utilization below high_utilization. Returns HR_NONE if there are several such pools, and
   the number of pools if none exists. Sets *any_spot if some elastic pool is a spot pool. */
static uint32_t idle_elastic_pool(const struct hr_advice *advice, bool *any_spot) {
  const struct hr_cluster_spec *cluster = &advice->config.scenario->cluster;
  uint32_t found = cluster->n_pools;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    enum hr_market market = cluster->pools[i].market.market;
    if (!cluster->pools[i].nodes || !hr_market_is_elastic(market)) continue;
    *any_spot |= market == HR_MARKET_SPOT;
    if (hr__run_profile_utilization(&advice->profile, i) >= high_utilization) continue;
    found = found == cluster->n_pools ? i : HR_NONE;
  }
  return found;
}

static enum hr_status advise_release(struct hr_advice *advice, struct hr_error *error) {
  bool any_spot = false;
  uint32_t pool = idle_elastic_pool(advice, &any_spot);
  struct hr__proposal proposal;
  if (!advice->has_market_rule || advice->managed || pool == advice->config.scenario->cluster.n_pools) return HR_OK;
  hr__proposal_init(&proposal, HR_ADVICE_IDLE_RESERVATION, HR_N_CLASSES, pool);
  snprintf(proposal.from, sizeof proposal.from, "elastic nodes kept while idle");
  snprintf(proposal.to, sizeof proposal.to, "acquired on demand, released when idle");
  manage_elastic(advice, &proposal, any_spot);
  return hr__proposal_keep(advice, &proposal, error);
}

static enum hr_status advise_idle(struct hr_advice *advice, struct hr_error *error) {
  enum hr_status status = advise_release(advice, error);
  for (uint32_t i = 0; i < advice->config.scenario->cluster.n_pools && status == HR_OK; i++)
    status = advise_smaller_pool(advice, i, error);
  return status;
}

enum hr_status hr__advise_capacity(struct hr_advice *advice, struct hr_error *error) {
  enum hr_status status = advice->pools ? advise_idle(advice, error) : HR_OK;
  if (status == HR_OK && advice->pools) status = advise_spot(advice, error);
  return status == HR_OK ? advise_checkpoints(advice, error) : status;
}

/* ---- Reliability ------------------------------------------------------------------------------------ */

static const double enough = 0.99;              /* share of the time in which spares suffice */
static const double tolerated_time_ratio = 1.1; /* of jobs at a power limit */
enum { MIN_FAILURES = 3, BAD_FACTOR = 3, EXCLUDED_NODES = 3 };

static bool has_fixed_nodes(const struct hr_pool_spec *spec) {
  return spec->nodes > 0 && !hr_market_is_elastic(spec->market.market);
}

/* Writes the path of a key of a pool, such as "cluster.pools.0.faults.spares". If the pool has no such object of its
   own, the path is that of the key in the object of all pools, such as "cluster.faults.spares". */
static void path_of(const struct hr_advice *advice, uint32_t pool, const char *object, const char *key, char *path,
                    size_t size) {
  const cJSON *entry = cJSON_GetArrayItem(advice->pools, (int)pool);
  if (cJSON_GetObjectItemCaseSensitive(entry, object))
    snprintf(path, size, "cluster.pools.%u.%s.%s", (unsigned)pool, object, key);
  else
    snprintf(path, size, "cluster.%s.%s", object, key);
}

/* ---- Reliability: spares ---------------------------------------------------------------------------- */

static uint32_t spares_for(uint32_t nodes, double down_share) {
  uint32_t spares = 0;
  while (spares + 1 < nodes && gsl_cdf_binomial_P(spares, down_share, nodes) < enough) spares++;
  return spares;
}

static enum hr_status advise_spares(struct hr_advice *advice, uint32_t pool, struct hr_error *error) {
  const struct hr_pool_spec *spec = hr__advice_pool(advice, pool);
  const struct hr__pool_profile *profile = &advice->profile.pools[pool];
  if (!has_fixed_nodes(spec) || !spec->faults || profile->down_share <= 0) return HR_OK;
  uint32_t now = spec->faults->spares, best = spares_for(spec->nodes, profile->down_share);
  if (now == best || best >= spec->nodes) return HR_OK;
  struct hr__proposal proposal;
  char path[100];
  hr__proposal_init(&proposal, HR_ADVICE_SPARES, HR_N_CLASSES, pool);
  proposal.figure = best > now ? HR__A_ETTR : HR__A_GROUPS + HR__A_WAIT;
  snprintf(proposal.from, sizeof proposal.from, "%u of %u nodes spare", (unsigned)now, (unsigned)spec->nodes);
  snprintf(proposal.to, sizeof proposal.to, "%u spare", (unsigned)best);
  path_of(advice, pool, "faults", "spares", path, sizeof path);
  hr__proposal_set(&proposal, "%s=%u", path, (unsigned)best);
  hr__proposal_assume(&proposal,
                      "a node is out of order for %.3g %% of the time, so that %u spares suffice for %.4g %%",
                      100 * profile->down_share, (unsigned)best, 100 * enough);
  return hr__proposal_keep(advice, &proposal, error);
}

/* ---- Reliability: bad nodes ------------------------------------------------------------------------- */

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
  if (!has_fixed_nodes(spec) || profile->most_failures < MIN_FAILURES || profile->most_failures < BAD_FACTOR * mean ||
      !may_exclude(advice))
    return HR_OK;
  struct hr__proposal proposal;
  hr__proposal_init(&proposal, HR_ADVICE_BAD_NODES, HR_N_CLASSES, pool);
  proposal.figure = HR__A_ETTR;
  snprintf(proposal.from, sizeof proposal.from, "jobs return to nodes that have failed under them");
  snprintf(proposal.to, sizeof proposal.to, "the last %d such nodes are excluded for a job", EXCLUDED_NODES);
  hr__proposal_set(&proposal, "policy.exclude_nodes=%d", EXCLUDED_NODES);
  hr__proposal_assume(&proposal, "a node of the pool has stopped %u jobs in the first replication, the mean node %.3g",
                      (unsigned)profile->most_failures, mean);
  return hr__proposal_keep(advice, &proposal, error);
}

/* ---- Reliability: power limits ---------------------------------------------------------------------- */

/* Takes a limit if it needs less energy than the best one so far, and jobs take at most tolerated_time_ratio times as
   long. */
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
  hr__proposal_set(&proposal, "%s=%.10g", path, best.limit_w);
  hr__proposal_assume(&proposal,
                      "at this limit, work takes %.4g times as long with at most %.4g of the power of the GPUs",
                      best.time_ratio, best.power_ratio);
  return hr__proposal_keep(advice, &proposal, error);
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
    if (advice->n_proposals > before) break; /* all pools have the same policy, so one proposal is enough */
  }
  return status;
}
