/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The market of a pool: the keys that each market allows, the time bounds of reservations, billing, boot time, and the
 * interruption model of spot capacity. The interruption model is a preset of the catalogue, or a model with
 * parameters. Keys of the scenario have precedence over the preset.
 *
 * Tables list the keys, each with a mask of the markets or of the interruption models that allow it. Bit 1 << M of a
 * mask represents market or model M.
 */

#include "scenarios/build/pools.h"
#include "scenarios/build/spot_records.h"
#include "sim/market/market.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
  OWNED = 1 << HR_MARKET_OWNED,
  RESERVED = 1 << HR_MARKET_RESERVED,
  ON_DEMAND = 1 << HR_MARKET_ON_DEMAND,
  SPOT = 1 << HR_MARKET_SPOT,
  ELASTIC = ON_DEMAND | SPOT,
  EVERY = OWNED | RESERVED | ELASTIC
};

static const struct market_key {
  const char *key;
  int markets; /* mask of the markets that allow the key */
} market_keys[] = {{"usd_per_gpu_hour", EVERY},
                   {"usd_per_node_hour", EVERY},
                   {"on_demand_usd_per_gpu_hour", EVERY},
                   {"discount", RESERVED | SPOT},
                   {"term", RESERVED},
                   {"upfront", RESERVED},
                   {"from_s", RESERVED},
                   {"to_s", RESERVED},
                   {"billing", ELASTIC},
                   {"boot_s", ELASTIC},
                   {"boot", ELASTIC},
                   {"owned", OWNED},
                   {"spot", SPOT}};

static const struct {
  const char *one, *other;
} exclusions[] = {{"usd_per_gpu_hour", "usd_per_node_hour"},
                  {"usd_per_gpu_hour", "discount"},
                  {"usd_per_node_hour", "discount"},
                  {"usd_per_gpu_hour", "owned"},
                  {"usd_per_node_hour", "owned"},
                  {"boot_s", "boot"},
                  {"term", "discount"}};

/* ---- Keys ------------------------------------------------------------------------------------------- */

/* Writes a list such as "reserved or spot". */
static const char *list_markets(int markets, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (int i = HR_MARKET_OWNED; i < HR_N_MARKETS && used < size; i++)
    if (markets & 1 << i)
      used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " or " : "", hr_market_name((enum hr_market)i));
  return text;
}

static enum hr_status check_keys(struct hr__builder *builder, const cJSON *entry, enum hr_market market) {
  char words[100];
  for (size_t i = 0; i < sizeof market_keys / sizeof *market_keys; i++) {
    const struct market_key *key = &market_keys[i];
    if (!hr__has(entry, key->key) || key->markets & 1 << market) continue;
    if (market == HR_MARKET_NONE)
      return hr__build_fail_at(builder, entry, key->key, "'%s' needs the pool's 'market': %s", key->key,
                               list_markets(key->markets, words, sizeof words));
    return hr__build_fail_at(builder, entry, key->key, "'%s' belongs to the market %s; this pool's is %s", key->key,
                             list_markets(key->markets, words, sizeof words), hr_market_name(market));
  }
  for (size_t i = 0; i < sizeof exclusions / sizeof *exclusions; i++)
    if (hr__has(entry, exclusions[i].one) && hr__has(entry, exclusions[i].other))
      return hr__build_fail_at(builder, entry, exclusions[i].other, "'%s' and '%s' exclude each other; keep one",
                               exclusions[i].one, exclusions[i].other);
  return HR_OK;
}

/* ---- Random durations ------------------------------------------------------------------------------- */

/* The parameters of each distribution. All parameters of a distribution are required, and any other parameter is an
   error. */

enum { MAX_PARAMETERS = 2 };

static const struct distribution {
  const char *name;
  enum hr_duration_kind kind;
  const char *parameters[MAX_PARAMETERS + 1];
} distributions[] = {{"fixed", HR_DURATION_FIXED, {"mean_s"}},
                     {"exponential", HR_DURATION_EXPONENTIAL, {"mean_s"}},
                     {"log-normal", HR_DURATION_LOG_NORMAL, {"mu", "sigma"}},
                     {"weibull", HR_DURATION_WEIBULL, {"shape", "scale_s"}}};

static const struct distribution *distribution_of(const cJSON *object) {
  const char *name = hr__text_of(object, "distribution", "fixed");
  const struct distribution *distribution = distributions;
  while (strcmp(distribution->name, name) != 0) distribution++; /* the key table allows no other names */
  return distribution;
}

static bool has_parameter(const struct distribution *distribution, const char *name) {
  for (size_t i = 0; distribution->parameters[i]; i++)
    if (strcmp(distribution->parameters[i], name) == 0) return true;
  return false;
}

static enum hr_status check_parameters(struct hr__builder *builder, const cJSON *object,
                                       const struct distribution *distribution) {
  const char *second = distribution->parameters[1];
  for (size_t i = 0; distribution->parameters[i]; i++)
    if (!hr__has(object, distribution->parameters[i]))
      return hr__build_fail(builder, false, "a distribution '%s' needs '%s'%s%s%s", distribution->name,
                            distribution->parameters[0], second ? " and '" : "", second ? second : "",
                            second ? "'" : "");
  for (const cJSON *member = object->child; member; member = member->next)
    if (strcmp(member->string, "distribution") != 0 && !has_parameter(distribution, member->string))
      return hr__build_fail_at(builder, object, member->string,
                               "'%s' is not a parameter of the distribution '%s'; '%s'%s%s%s expected", member->string,
                               distribution->name, distribution->parameters[0], second ? " and '" : "",
                               second ? second : "", second ? "' are" : " is");
  return HR_OK;
}

/* Reads the member `name` as a random duration. `duration` is not changed if the member does not exist. */
static enum hr_status build_duration(struct hr__builder *builder, const cJSON *object, const char *name,
                                     struct hr_duration *duration) {
  const cJSON *member = hr__build_enter(builder, object, name);
  if (!member) return HR_OK;
  const struct distribution *distribution = distribution_of(member);
  enum hr_status status = check_parameters(builder, member, distribution);
  if (status != HR_OK) return status;
  *duration =
      (struct hr_duration){.kind = distribution->kind, .a = hr__number_of(member, distribution->parameters[0], 0)};
  if (distribution->parameters[1]) duration->b = hr__number_of(member, distribution->parameters[1], 0);
  hr__build_leave(builder);
  return HR_OK;
}

/* ---- Time ------------------------------------------------------------------------------------------- */

static enum hr_status build_bounds(struct hr__builder *builder, struct hr__pool_draft *draft) {
  struct hr_market_spec *market = &draft->pool.market;
  market->from_us = hr__span_of(draft->entry, "from_s", 0);
  market->to_us = hr__span_of(draft->entry, "to_s", HR_NEVER_US);
  if (market->to_us > market->from_us) return HR_OK;
  return hr__build_fail_at(
      builder, draft->entry, "to_s", "the reservation ends at %.10g s, not after its start at %.10g s",
      (double)market->to_us / (double)HR_SECOND_US, (double)market->from_us / (double)HR_SECOND_US);
}

/* Returns true if the provider bills per second. AWS and GCP do so, with a minimum of one minute. */
static bool bills_by_the_second(const char *provider) {
  return provider && (strcasecmp(provider, "aws") == 0 || strcasecmp(provider, "gcp") == 0);
}

static enum hr_status build_billing(struct hr__builder *builder, struct hr__pool_draft *draft) {
  const cJSON *billing = hr__build_enter(builder, draft->entry, "billing");
  bool by_second = bills_by_the_second(draft->source->provider);
  draft->pool.market.billing = (struct hr_billing){
      .granularity_us = hr__span_of(billing, "granularity_s", by_second ? HR_SECOND_US : 0),
      .minimum_us = hr__span_of(billing, "minimum_s", by_second ? 60 * HR_SECOND_US : 0),
      .free_if_reclaimed_us = hr__span_of(billing, "free_if_reclaimed_s", 0),
  };
  if (draft->pool.market.billing.free_if_reclaimed_us && draft->pool.market.market != HR_MARKET_SPOT)
    return hr__build_fail_at(builder, billing, "free_if_reclaimed_s",
                             "'free_if_reclaimed_s' belongs to the market spot: other nodes are not interrupted");
  if (billing) hr__build_leave(builder);
  return HR_OK;
}

static enum hr_status build_boot(struct hr__builder *builder, struct hr__pool_draft *draft) {
  struct hr_duration *boot = &draft->pool.market.boot;
  *boot = (struct hr_duration){.kind = HR_DURATION_FIXED, .a = hr__number_of(draft->entry, "boot_s", 0)};
  if (!hr__has(draft->entry, "boot_s") && !hr__has(draft->entry, "boot"))
    return hr__pool_note(builder, draft->pool.name, "boot time assumed: none, as neither boot_s nor boot is set");
  return build_duration(builder, draft->entry, "boot", boot);
}

/* ---- Spot interruptions ----------------------------------------------------------------------------- */

#define HOURS_PER_MONTH 730.0

enum {
  TRACE = 1 << HR_SPOT_TRACE,
  ON_OFF = 1 << HR_SPOT_ON_OFF,
  EXPONENTIAL = 1 << HR_SPOT_EXPONENTIAL,
  BATHTUB = 1 << HR_SPOT_BATHTUB,
  ADVISOR = 1 << HR_SPOT_ADVISOR
};

static const struct spot_parameter {
  const char *key;
  int models;    /* mask of the models that have the parameter */
  bool required; /* the parameter is required unless there is a preset */
} parameters[] = {{"file", TRACE, true},
                  {"offset_s", TRACE, false},
                  {"up", ON_OFF, true},
                  {"down", ON_OFF, true},
                  {"rate_per_h", EXPONENTIAL, true},
                  {"monthly_interruption", ADVISOR, true},
                  {"batch_mean", EXPONENTIAL | ADVISOR, false},
                  {"bathtub", BATHTUB, true}};

/* Compares the provider of a preset with that of a pool, or the region of a preset with that of a pool. Returns true
   if they differ. Returns false if that of the preset is "*" or that of the pool is unknown (NULL). */
static bool is_elsewhere(const char *presets, const char *pools) {
  return pools && strcmp(presets, "*") != 0 && strcasecmp(presets, pools) != 0;
}

/* Adds a note if the preset is for another GPU type, provider or region, or if it is an assumption. */
static enum hr_status note_preset(struct hr__builder *builder, const struct hr__pool_draft *draft) {
  const struct hr_spot_preset *preset = draft->preset;
  if (strcmp(preset->gpu, "*") != 0 && strcasecmp(preset->gpu, draft->pool.gpu) != 0)
    return hr__pool_note(builder, draft->pool.name, "spot preset '%s' (%s) is for GPU type %s, used here for %s",
                         preset->name, preset->status, preset->gpu, draft->pool.gpu);
  if (is_elsewhere(preset->provider, draft->source->provider) || is_elsewhere(preset->region, draft->source->region))
    return hr__pool_note(builder, draft->pool.name, "spot preset '%s' (%s) is for %s %s, used here for another region",
                         preset->name, preset->status, preset->provider, preset->region);
  if (strcmp(preset->status, "assumed") != 0) return HR_OK;
  return hr__pool_note(builder, draft->pool.name, "spot preset '%s' is assumed: %s", preset->name, preset->source);
}

static enum hr_status build_preset(struct hr__builder *builder, const cJSON *spot, struct hr__pool_draft *draft) {
  const cJSON *name = hr__build_enter(builder, spot, "preset");
  if (!name) return HR_OK;
  struct hr_error inner;
  enum hr_status status = hr__open_catalog(builder);
  if (status != HR_OK) return status;
  status = hr_catalog_spot_preset(builder->catalog, name->valuestring, &draft->preset, &inner);
  if (status != HR_OK) return hr__build_wrap(builder, false, status, &inner);
  hr__build_leave(builder);
  draft->pool.market.spot = draft->preset->spec;
  draft->pool.market.spot.zone = draft->zone;
  draft->source->spot_preset = strdup(draft->preset->name);
  return draft->source->spot_preset ? note_preset(builder, draft) : hr__build_no_memory(builder);
}

static enum hr_status build_model(struct hr__builder *builder, const cJSON *spot, struct hr_spot_spec *spec) {
#define WORD(name, text) text,
  static const char *const models[] = {HR_SPOT_MODEL_TABLE(WORD) NULL};
#undef WORD
  bool has_preset = hr__has(spot, "preset");
  if (!has_preset && !hr__has(spot, "model"))
    return hr__build_fail(
        builder, false,
        "'spot' needs a 'preset' or a 'model'; the model 'none' is for nodes that are never interrupted");
  enum hr_spot_model model = (enum hr_spot_model)hr__choice_of(spot, "model", models, spec->model);
  if (has_preset && model != spec->model)
    return hr__build_fail_at(builder, spot, "model", "the preset '%s' has the model %s, not %s",
                             hr__text_of(spot, "preset", ""), hr_spot_model_name(spec->model),
                             hr_spot_model_name(model));
  spec->model = model;
  return HR_OK;
}

static enum hr_status check_spot_parameters(struct hr__builder *builder, const cJSON *spot, enum hr_spot_model model) {
  for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
    const struct spot_parameter *parameter = &parameters[i];
    bool belongs = parameter->models & 1 << model, stated = hr__has(spot, parameter->key);
    if (stated && !belongs)
      return hr__build_fail_at(builder, spot, parameter->key, "'%s' is not a parameter of the spot model '%s'",
                               parameter->key, hr_spot_model_name(model));
    if (belongs && parameter->required && !stated && !hr__has(spot, "preset"))
      return hr__build_fail(builder, false, "the spot model '%s' needs '%s'", hr_spot_model_name(model),
                            parameter->key);
  }
  return HR_OK;
}

/* ---- Parameters ------------------------------------------------------------------------------------- */

/* Reads the recorded spot capacity. The maximum of the record corresponds to all nodes of the pool. */
static enum hr_status read_levels(struct hr__builder *builder, const cJSON *spot, struct hr__pool_draft *draft) {
  const char *file = hr__text_of(spot, "file", NULL);
  if (!file) return HR_OK;
  struct hr_spot_spec *spec = &draft->pool.market.spot;
  struct hr__spot_levels levels = {0};
  char *path = hr__resolve(builder, file);
  if (!path) return hr__build_no_memory(builder);
  enum hr_status status =
      hr__spot_levels_read(path, draft->pool.nodes, &levels, &builder->scenario->notes, builder->error);
  free(path);
  if (status != HR_OK) return status;
  spec->levels = levels.steps;
  spec->n_levels = levels.n_steps;
  spec->period_us = levels.period_us;
  spec->offset_us = hr__span_of(spot, "offset_s", 0);
  return HR_OK;
}

static void build_bathtub(const cJSON *spot, struct hr_spot_spec *spec) {
  const cJSON *bathtub = cJSON_GetObjectItemCaseSensitive(spot, "bathtub");
  if (!bathtub) return;
  spec->bathtub = (struct hr_bathtub){.a = hr__number_of(bathtub, "a", 0),
                                      .tau1_h = hr__number_of(bathtub, "tau1_h", 1),
                                      .tau2_h = hr__number_of(bathtub, "tau2_h", 1),
                                      .b_h = hr__number_of(bathtub, "b_h", 0),
                                      .last_h = hr__number_of(bathtub, "last_h", 1)};
}

/* With the model HR_SPOT_ON_OFF, spot capacity alternates between available and not available. `up` and `down` are
   the durations of these two states. Checks that their means add up to at least a second; otherwise a simulation
   would practically not end. */
static enum hr_status check_cycle(struct hr__builder *builder, const struct hr_spot_spec *spec) {
  if (spec->model != HR_SPOT_ON_OFF) return HR_OK;
  double cycle_s = hr__duration_mean_s(&spec->up) + hr__duration_mean_s(&spec->down);
  if (!(cycle_s < 1)) return HR_OK;
  return hr__build_fail(builder, false, "the means of 'up' and 'down' add up to %.4g s; the minimum is one second",
                        cycle_s);
}

static enum hr_status build_parameters(struct hr__builder *builder, const cJSON *spot, struct hr__pool_draft *draft) {
  struct hr_spot_spec *spec = &draft->pool.market.spot;
  spec->rate_per_h = hr__number_of(spot, "rate_per_h", spec->rate_per_h);
  if (hr__has(spot, "monthly_interruption"))
    spec->rate_per_h = -log1p(-hr__number_of(spot, "monthly_interruption", 0)) / HOURS_PER_MONTH;
  spec->batch_mean = hr__number_of(spot, "batch_mean", fmax(spec->batch_mean, 1));
  build_bathtub(spot, spec);
  enum hr_status status = build_duration(builder, spot, "up", &spec->up);
  if (status == HR_OK) status = build_duration(builder, spot, "down", &spec->down);
  if (status == HR_OK) status = check_cycle(builder, spec);
  if (status == HR_OK) status = read_levels(builder, spot, draft);
  return status;
}

/* ---- Notice ----------------------------------------------------------------------------------------- */

/* Sets the notice of a spot interruption as documented by the provider: 120 s on AWS, 30 s on Google Cloud and
   Azure. */
static enum hr_status assume_notice(struct hr__builder *builder, struct hr__pool_draft *draft) {
  const char *provider = draft->source->provider;
  int64_t notice_s = !provider ? 0 : strcasecmp(provider, "aws") == 0 ? 120 : 30;
  draft->pool.market.spot.notice_us = notice_s * HR_SECOND_US;
  return hr__pool_note(builder, draft->pool.name, "interruption notice assumed: %d s%s%s", (int)notice_s,
                       provider ? ", as for " : "", provider ? provider : "");
}

static enum hr_status build_notice(struct hr__builder *builder, const cJSON *spot, struct hr__pool_draft *draft) {
  struct hr_spot_spec *spec = &draft->pool.market.spot;
  spec->notice_us = hr__span_of(spot, "notice_s", spec->notice_us);
  if (spec->model == HR_SPOT_NONE) return HR_OK;
  return hr__has(spot, "notice_s") || hr__has(spot, "preset") ? HR_OK : assume_notice(builder, draft);
}

static enum hr_status check_notice(const struct hr__builder *builder, const struct hr__pool_draft *draft) {
  const struct hr_spot_spec *spec = &draft->pool.market.spot;
  double life_s = hr__spot_mean_life_s(spec), notice_s = (double)spec->notice_us / (double)HR_SECOND_US;
  if (notice_s <= life_s) return HR_OK;
  return hr__pool_note(builder, draft->pool.name,
                       "warning: the notice, %.10g s, is longer than the mean time between interruptions, %.3g s",
                       notice_s, life_s);
}

static enum hr_status build_spot(struct hr__builder *builder, struct hr__pool_draft *draft) {
  const cJSON *spot = hr__build_enter(builder, draft->entry, "spot");
  if (!spot)
    return hr__build_fail(builder, false, "a spot pool needs 'spot' with a 'preset' or a 'model' of interruptions");
  struct hr_spot_spec *spec = &draft->pool.market.spot;
  enum hr_status status = build_preset(builder, spot, draft);
  if (status == HR_OK) status = build_model(builder, spot, spec);
  if (status == HR_OK) status = check_spot_parameters(builder, spot, spec->model);
  if (status == HR_OK) status = build_parameters(builder, spot, draft);
  if (status == HR_OK) status = build_notice(builder, spot, draft);
  if (status == HR_OK) status = check_notice(builder, draft);
  if (status == HR_OK) status = hr__check_spot_price(builder, spot);
  if (status == HR_OK) hr__build_leave(builder);
  return status;
}

/* ---- The market ------------------------------------------------------------------------------------- */

static enum hr_market market_of(const cJSON *entry) {
#define WORD(name, text) text,
  static const char *const markets[] = {HR_MARKET_TABLE(WORD) NULL};
#undef WORD
  return (enum hr_market)hr__choice_of(entry, "market", markets, HR_MARKET_NONE);
}

enum hr_status hr__build_market(struct hr__builder *builder, struct hr__pool_draft *draft) {
  struct hr_market_spec *market = &draft->pool.market;
  *market = (struct hr_market_spec){.market = market_of(draft->entry),
                                    .on_demand_uusd_h = HR_UNKNOWN_UUSD_H,
                                    .to_us = HR_NEVER_US,
                                    .spot.zone = draft->zone};
  enum hr_status status = check_keys(builder, draft->entry, market->market);
  if (market->market == HR_MARKET_NONE || status != HR_OK) return status;
  if (market->market == HR_MARKET_RESERVED) status = build_bounds(builder, draft);
  if (status == HR_OK && hr_market_is_elastic(market->market)) {
    status = build_billing(builder, draft);
    if (status == HR_OK) status = build_boot(builder, draft);
  }
  if (status == HR_OK && market->market == HR_MARKET_SPOT) status = build_spot(builder, draft);
  return status == HR_OK ? hr__build_price(builder, draft) : status;
}
