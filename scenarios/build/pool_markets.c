/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The market that a pool's nodes come from: which keys belong to which market, and what they come to. */

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
  int markets; /* to which it belongs */
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

/* "reserved or spot" */
static const char *market_words(int markets, char *text, size_t size) {
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
      return hr__build_fail_at(builder, entry, key->key, "'%s' needs the pool's 'market' to be said: %s", key->key,
                               market_words(key->markets, words, sizeof words));
    return hr__build_fail_at(builder, entry, key->key, "'%s' goes with the market %s; this pool's is %s", key->key,
                             market_words(key->markets, words, sizeof words), hr_market_name(market));
  }
  for (size_t i = 0; i < sizeof exclusions / sizeof *exclusions; i++)
    if (hr__has(entry, exclusions[i].one) && hr__has(entry, exclusions[i].other))
      return hr__build_fail_at(builder, entry, exclusions[i].other, "'%s' and '%s' exclude each other; keep one",
                               exclusions[i].one, exclusions[i].other);
  return HR_OK;
}

/* ---- Time ------------------------------------------------------------------------------------------- */

static enum hr_status take_bounds(struct hr__builder *builder, struct hr__pool_draft *draft) {
  struct hr_market_spec *market = &draft->pool.market;
  market->from_us = hr__span_of(draft->entry, "from_s", 0);
  market->to_us = hr__span_of(draft->entry, "to_s", HR_NEVER_US);
  if (market->to_us > market->from_us) return HR_OK;
  return hr__build_fail_at(
      builder, draft->entry, "to_s", "the reservation would end at %.10g s, not after its start at %.10g s",
      (double)market->to_us / (double)HR_SECOND_US, (double)market->from_us / (double)HR_SECOND_US);
}

/* Both of these clouds bill by the second, and a minute at least. */
static bool bills_by_the_second(const char *provider) {
  return provider && (strcasecmp(provider, "aws") == 0 || strcasecmp(provider, "gcp") == 0);
}

static enum hr_status take_billing(struct hr__builder *builder, struct hr__pool_draft *draft) {
  const cJSON *billing = hr__build_enter(builder, draft->entry, "billing");
  bool by_second = bills_by_the_second(draft->source->provider);
  draft->pool.market.billing = (struct hr_billing){
      .granularity_us = hr__span_of(billing, "granularity_s", by_second ? HR_SECOND_US : 0),
      .minimum_us = hr__span_of(billing, "minimum_s", by_second ? 60 * HR_SECOND_US : 0),
      .free_if_reclaimed_us = hr__span_of(billing, "free_if_reclaimed_s", 0),
  };
  if (draft->pool.market.billing.free_if_reclaimed_us && draft->pool.market.market != HR_MARKET_SPOT)
    return hr__build_fail_at(builder, billing, "free_if_reclaimed_s",
                             "'free_if_reclaimed_s' goes with the market spot: other nodes are not reclaimed");
  if (billing) hr__build_leave(builder);
  return HR_OK;
}

static enum hr_status hr__build_duration(struct hr__builder *builder, const cJSON *object, const char *name,
                                         struct hr_duration *duration);

static enum hr_status take_boot(struct hr__builder *builder, struct hr__pool_draft *draft) {
  struct hr_duration *boot = &draft->pool.market.boot;
  *boot = (struct hr_duration){.kind = HR_DURATION_FIXED, .a = hr__number_of(draft->entry, "boot_s", 0)};
  if (!hr__has(draft->entry, "boot_s") && !hr__has(draft->entry, "boot"))
    return hr__pool_note(builder, draft, "assumed to boot in no time, as neither boot_s nor boot is given");
  return hr__build_duration(builder, draft->entry, "boot", boot);
}

/* ---- The market ------------------------------------------------------------------------------------- */

static enum hr_market market_of(const cJSON *entry) {
#define WORD(name, text) text,
  static const char *const markets[] = {HR_MARKET_TABLE(WORD) NULL};
#undef WORD
  return (enum hr_market)hr__choice_of(entry, "market", markets, HR_MARKET_NONE);
}

static enum hr_status hr__build_spot(struct hr__builder *builder, struct hr__pool_draft *draft);

enum hr_status hr__build_market(struct hr__builder *builder, struct hr__pool_draft *draft) {
  struct hr_market_spec *market = &draft->pool.market;
  *market = (struct hr_market_spec){.market = market_of(draft->entry),
                                    .on_demand_uusd_h = HR_UNKNOWN_UUSD_H,
                                    .to_us = HR_NEVER_US,
                                    .spot.zone = draft->zone};
  enum hr_status status = check_keys(builder, draft->entry, market->market);
  if (market->market == HR_MARKET_NONE || status != HR_OK) return status;
  if (market->market == HR_MARKET_RESERVED) status = take_bounds(builder, draft);
  if (status == HR_OK && hr_market_is_elastic(market->market)) {
    status = take_billing(builder, draft);
    if (status == HR_OK) status = take_boot(builder, draft);
  }
  if (status == HR_OK && market->market == HR_MARKET_SPOT) status = hr__build_spot(builder, draft);
  return status == HR_OK ? hr__build_price(builder, draft) : status;
}

/* Lengths of time that are drawn: each distribution has the parameters that its textbook form has, all of them wanted
   and no other. */

enum { MOST_PARAMETERS = 2 };

static const struct pool_markets_shape {
  const char *name;
  enum hr_duration_kind kind;
  const char *parameters[MOST_PARAMETERS + 1];
} shapes[] = {{"fixed", HR_DURATION_FIXED, {"mean_s"}},
              {"exponential", HR_DURATION_EXPONENTIAL, {"mean_s"}},
              {"log-normal", HR_DURATION_LOG_NORMAL, {"mu", "sigma"}},
              {"weibull", HR_DURATION_WEIBULL, {"shape", "scale_s"}}};

static const struct pool_markets_shape *shape_of(const cJSON *object) {
  const char *name = hr__text_of(object, "distribution", "fixed");
  const struct pool_markets_shape *shape = shapes;
  while (strcmp(shape->name, name) != 0) shape++; /* the table of keys knows no other words */
  return shape;
}

static bool has_parameter(const struct pool_markets_shape *shape, const char *name) {
  for (size_t i = 0; shape->parameters[i]; i++)
    if (strcmp(shape->parameters[i], name) == 0) return true;
  return false;
}

static enum hr_status check_parameters(struct hr__builder *builder, const cJSON *object,
                                       const struct pool_markets_shape *shape) {
  const char *second = shape->parameters[1];
  for (size_t i = 0; shape->parameters[i]; i++)
    if (!hr__has(object, shape->parameters[i]))
      return hr__build_fail(builder, false, "a distribution '%s' needs '%s'%s%s%s", shape->name, shape->parameters[0],
                            second ? " and '" : "", second ? second : "", second ? "'" : "");
  for (const cJSON *member = object->child; member; member = member->next)
    if (strcmp(member->string, "distribution") != 0 && !has_parameter(shape, member->string))
      return hr__build_fail_at(builder, object, member->string,
                               "'%s' is no parameter of the distribution '%s'; '%s'%s%s%s wanted", member->string,
                               shape->name, shape->parameters[0], second ? " and '" : "", second ? second : "",
                               second ? "' are" : " is");
  return HR_OK;
}

/* The member `name` as a length of time that is drawn; `duration` stays as it is where there is none. */
static enum hr_status hr__build_duration(struct hr__builder *builder, const cJSON *object, const char *name,
                                         struct hr_duration *duration) {
  const cJSON *member = hr__build_enter(builder, object, name);
  if (!member) return HR_OK;
  const struct pool_markets_shape *shape = shape_of(member);
  enum hr_status status = check_parameters(builder, member, shape);
  if (status != HR_OK) return status;
  *duration = (struct hr_duration){.kind = shape->kind, .a = hr__number_of(member, shape->parameters[0], 0)};
  if (shape->parameters[1]) duration->b = hr__number_of(member, shape->parameters[1], 0);
  hr__build_leave(builder);
  return HR_OK;
}

/* How a pool's spot nodes are taken away: a preset of the catalogue, or a model and its parameters. What the scenario
   states goes before what the preset says. */

#define HOURS_PER_MONTH 730.0

enum {
  TRACE = 1 << HR_SPOT_TRACE,
  ON_OFF = 1 << HR_SPOT_ON_OFF,
  EXPONENTIAL = 1 << HR_SPOT_EXPONENTIAL,
  BATHTUB = 1 << HR_SPOT_BATHTUB,
  ADVISOR = 1 << HR_SPOT_ADVISOR
};

static const struct pool_markets_parameter {
  const char *key;
  int models;    /* that it belongs to */
  bool required; /* unless a preset gives it */
} parameters[] = {{"file", TRACE, true},
                  {"offset_s", TRACE, false},
                  {"up", ON_OFF, true},
                  {"down", ON_OFF, true},
                  {"rate_per_h", EXPONENTIAL, true},
                  {"monthly_interruption", ADVISOR, true},
                  {"batch_mean", EXPONENTIAL | ADVISOR, false},
                  {"bathtub", BATHTUB, true}};

/* ---- Which model ------------------------------------------------------------------------------------ */

/* Where the pool says where it stands. */
static bool is_elsewhere(const char *presets, const char *pools) {
  return pools && strcmp(presets, "*") != 0 && strcasecmp(presets, pools) != 0;
}

/* What was seen elsewhere may not hold here. */
static enum hr_status note_preset(struct hr__builder *builder, const struct hr__pool_draft *draft) {
  const struct hr_spot_preset *preset = draft->preset;
  if (strcmp(preset->gpu, "*") != 0 && strcasecmp(preset->gpu, draft->pool.gpu) != 0)
    return hr__pool_note(builder, draft, "the spot preset '%s' (%s) is of GPU type %s, taken here for %s", preset->name,
                         preset->status, preset->gpu, draft->pool.gpu);
  if (is_elsewhere(preset->provider, draft->source->provider) || is_elsewhere(preset->region, draft->source->region))
    return hr__pool_note(builder, draft, "the spot preset '%s' (%s) is of %s %s, taken here for another place",
                         preset->name, preset->status, preset->provider, preset->region);
  if (strcmp(preset->status, "assumed") != 0) return HR_OK;
  return hr__pool_note(builder, draft, "the spot preset '%s' is assumed: %s", preset->name, preset->source);
}

static enum hr_status take_preset(struct hr__builder *builder, const cJSON *spot, struct hr__pool_draft *draft) {
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

static enum hr_status take_model(struct hr__builder *builder, const cJSON *spot, struct hr_spot_spec *spec) {
#define SPOTS_WORD(name, text) text,
  static const char *const models[] = {HR_SPOT_MODEL_TABLE(SPOTS_WORD) NULL};
#undef SPOTS_WORD
  bool has_preset = hr__has(spot, "preset");
  if (!has_preset && !hr__has(spot, "model"))
    return hr__build_fail(
        builder, false, "'spot' needs a 'preset' or a 'model'; the model 'none' is for nodes that are never reclaimed");
  enum hr_spot_model model = (enum hr_spot_model)hr__choice_of(spot, "model", models, spec->model);
  if (has_preset && model != spec->model)
    return hr__build_fail_at(builder, spot, "model", "the preset '%s' has the model %s, not %s",
                             hr__text_of(spot, "preset", ""), hr_spot_model_name(spec->model),
                             hr_spot_model_name(model));
  spec->model = model;
  return HR_OK;
}

static enum hr_status spots_check_parameters(struct hr__builder *builder, const cJSON *spot, enum hr_spot_model model) {
  for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
    const struct pool_markets_parameter *parameter = &parameters[i];
    bool belongs = parameter->models & 1 << model, stated = hr__has(spot, parameter->key);
    if (stated && !belongs)
      return hr__build_fail_at(builder, spot, parameter->key, "'%s' is no parameter of the spot model '%s'",
                               parameter->key, hr_spot_model_name(model));
    if (belongs && parameter->required && !stated && !hr__has(spot, "preset"))
      return hr__build_fail(builder, false, "the spot model '%s' needs '%s'", hr_spot_model_name(model),
                            parameter->key);
  }
  return HR_OK;
}

/* ---- Parameters ------------------------------------------------------------------------------------- */

/* The record's highest count stands for all nodes of the pool. */
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

static void take_bathtub(const cJSON *spot, struct hr_spot_spec *spec) {
  const cJSON *bathtub = cJSON_GetObjectItemCaseSensitive(spot, "bathtub");
  if (!bathtub) return;
  spec->bathtub = (struct hr_bathtub){.a = hr__number_of(bathtub, "a", 0),
                                      .tau1_h = hr__number_of(bathtub, "tau1_h", 1),
                                      .tau2_h = hr__number_of(bathtub, "tau2_h", 1),
                                      .b_h = hr__number_of(bathtub, "b_h", 0),
                                      .last_h = hr__number_of(bathtub, "last_h", 1)};
}

/* Capacity that comes and goes a million times a second is a slip, and would take for ever. */
static enum hr_status check_pace(struct hr__builder *builder, const struct hr_spot_spec *spec) {
  if (spec->model != HR_SPOT_ON_OFF) return HR_OK;
  double round_s = hr__duration_mean_s(&spec->up) + hr__duration_mean_s(&spec->down);
  if (!(round_s < 1)) return HR_OK;
  return hr__build_fail(builder, false, "'up' and 'down' together last %.4g s on average; a second is the least",
                        round_s);
}

static enum hr_status take_parameters(struct hr__builder *builder, const cJSON *spot, struct hr__pool_draft *draft) {
  struct hr_spot_spec *spec = &draft->pool.market.spot;
  spec->rate_per_h = hr__number_of(spot, "rate_per_h", spec->rate_per_h);
  if (hr__has(spot, "monthly_interruption"))
    spec->rate_per_h = -log1p(-hr__number_of(spot, "monthly_interruption", 0)) / HOURS_PER_MONTH;
  spec->batch_mean = hr__number_of(spot, "batch_mean", fmax(spec->batch_mean, 1));
  take_bathtub(spot, spec);
  enum hr_status status = hr__build_duration(builder, spot, "up", &spec->up);
  if (status == HR_OK) status = hr__build_duration(builder, spot, "down", &spec->down);
  if (status == HR_OK) status = check_pace(builder, spec);
  if (status == HR_OK) status = read_levels(builder, spot, draft);
  return status;
}

/* ---- Notice ----------------------------------------------------------------------------------------- */

/* What providers promise: two minutes on AWS, half a minute on Google's and Microsoft's clouds. */
static enum hr_status assume_notice(struct hr__builder *builder, struct hr__pool_draft *draft) {
  const char *provider = draft->source->provider;
  int64_t notice_s = !provider ? 0 : strcasecmp(provider, "aws") == 0 ? 120 : 30;
  draft->pool.market.spot.notice_us = notice_s * HR_SECOND_US;
  return hr__pool_note(builder, draft, "assumed a notice of %d s before a spot node is reclaimed%s%s", (int)notice_s,
                       provider ? ", as for " : "", provider ? provider : "");
}

static enum hr_status take_notice(struct hr__builder *builder, const cJSON *spot, struct hr__pool_draft *draft) {
  struct hr_spot_spec *spec = &draft->pool.market.spot;
  spec->notice_us = hr__span_of(spot, "notice_s", spec->notice_us);
  if (spec->model == HR_SPOT_NONE) return HR_OK;
  return hr__has(spot, "notice_s") || hr__has(spot, "preset") ? HR_OK : assume_notice(builder, draft);
}

static enum hr_status check_notice(const struct hr__builder *builder, const struct hr__pool_draft *draft) {
  const struct hr_spot_spec *spec = &draft->pool.market.spot;
  double life_s = hr__spot_mean_life_s(spec), notice_s = (double)spec->notice_us / (double)HR_SECOND_US;
  if (notice_s <= life_s) return HR_OK;
  return hr__pool_note(builder, draft,
                       "warning: the notice of %.10g s is longer than the mean time until a node is reclaimed, %.3g s",
                       notice_s, life_s);
}

static enum hr_status hr__build_spot(struct hr__builder *builder, struct hr__pool_draft *draft) {
  const cJSON *spot = hr__build_enter(builder, draft->entry, "spot");
  if (!spot)
    return hr__build_fail(builder, false,
                          "a spot pool needs 'spot', which says how nodes are reclaimed: a 'preset' or a 'model'");
  struct hr_spot_spec *spec = &draft->pool.market.spot;
  enum hr_status status = take_preset(builder, spot, draft);
  if (status == HR_OK) status = take_model(builder, spot, spec);
  if (status == HR_OK) status = spots_check_parameters(builder, spot, spec->model);
  if (status == HR_OK) status = take_parameters(builder, spot, draft);
  if (status == HR_OK) status = take_notice(builder, spot, draft);
  if (status == HR_OK) status = check_notice(builder, draft);
  if (status == HR_OK) status = hr__check_spot_price(builder, spot);
  if (status == HR_OK) hr__build_leave(builder);
  return status;
}
