/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a pool's spot nodes are taken away: a preset of the catalogue, or a model and its parameters. What the scenario
   states goes before what the preset says. */

#include "scenarios/pools.h"

#include "scenarios/spot_levels.h"
#include "sim/supply.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HOURS_PER_MONTH 730.0

enum {
  TRACE = 1 << HR_SPOT_TRACE,
  ON_OFF = 1 << HR_SPOT_ON_OFF,
  EXPONENTIAL = 1 << HR_SPOT_EXPONENTIAL,
  BATHTUB = 1 << HR_SPOT_BATHTUB,
  ADVISOR = 1 << HR_SPOT_ADVISOR
};

static const struct parameter {
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
static enum hr_status note_preset(struct hr__builder *builder, const struct hr__draft *draft) {
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

static enum hr_status take_preset(struct hr__builder *builder, const cJSON *spot, struct hr__draft *draft) {
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
#define WORD(name, text) text,
  static const char *const models[] = {HR_SPOT_MODEL_TABLE(WORD) NULL};
#undef WORD
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

static enum hr_status check_parameters(struct hr__builder *builder, const cJSON *spot, enum hr_spot_model model) {
  for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
    const struct parameter *parameter = &parameters[i];
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
static enum hr_status read_levels(struct hr__builder *builder, const cJSON *spot, struct hr__draft *draft) {
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

static enum hr_status take_parameters(struct hr__builder *builder, const cJSON *spot, struct hr__draft *draft) {
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
static enum hr_status assume_notice(struct hr__builder *builder, struct hr__draft *draft) {
  const char *provider = draft->source->provider;
  int64_t notice_s = !provider ? 0 : strcasecmp(provider, "aws") == 0 ? 120 : 30;
  draft->pool.market.spot.notice_us = notice_s * HR_SECOND_US;
  return hr__pool_note(builder, draft, "assumed a notice of %d s before a spot node is reclaimed%s%s", (int)notice_s,
                       provider ? ", as for " : "", provider ? provider : "");
}

static enum hr_status take_notice(struct hr__builder *builder, const cJSON *spot, struct hr__draft *draft) {
  struct hr_spot_spec *spec = &draft->pool.market.spot;
  spec->notice_us = hr__span_of(spot, "notice_s", spec->notice_us);
  if (spec->model == HR_SPOT_NONE) return HR_OK;
  return hr__has(spot, "notice_s") || hr__has(spot, "preset") ? HR_OK : assume_notice(builder, draft);
}

static enum hr_status check_notice(const struct hr__builder *builder, const struct hr__draft *draft) {
  const struct hr_spot_spec *spec = &draft->pool.market.spot;
  double life_s = hr__spot_mean_life_s(spec), notice_s = (double)spec->notice_us / (double)HR_SECOND_US;
  if (notice_s <= life_s) return HR_OK;
  return hr__pool_note(builder, draft,
                       "warning: the notice of %.10g s is longer than the mean time until a node is reclaimed, %.3g s",
                       notice_s, life_s);
}

enum hr_status hr__build_spot(struct hr__builder *builder, struct hr__draft *draft) {
  const cJSON *spot = hr__build_enter(builder, draft->entry, "spot");
  if (!spot)
    return hr__build_fail(builder, false,
                          "a spot pool needs 'spot', which says how nodes are reclaimed: a 'preset' or a 'model'");
  struct hr_spot_spec *spec = &draft->pool.market.spot;
  enum hr_status status = take_preset(builder, spot, draft);
  if (status == HR_OK) status = take_model(builder, spot, spec);
  if (status == HR_OK) status = check_parameters(builder, spot, spec->model);
  if (status == HR_OK) status = take_parameters(builder, spot, draft);
  if (status == HR_OK) status = take_notice(builder, spot, draft);
  if (status == HR_OK) status = check_notice(builder, draft);
  if (status == HR_OK) status = hr__check_spot_price(builder, spot);
  if (status == HR_OK) hr__build_leave(builder);
  return status;
}
