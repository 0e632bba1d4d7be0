/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Spot prices that change: read from a record of price changes, or drawn about the price that the pool otherwise has,
   below the on-demand price. */

#include "scenarios/pools.h"

#include "scenarios/spot_prices.h"
#include "sim/price_walk.h"
#include "traces/dates.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 1000000 };
static const int64_t year_us = INT64_C(8760) * 3600 * HR_SECOND_US;

enum hr__spot_price_model hr__spot_price_model(const cJSON *entry) {
  static const char *const models[] = {"fixed", "trace", "ou", NULL};
  const cJSON *spot = cJSON_GetObjectItemCaseSensitive(entry, "spot");
  const cJSON *price = cJSON_GetObjectItemCaseSensitive(spot, "price");
  return (enum hr__spot_price_model)hr__choice_of(price, "model", models, HR__SPOT_PRICE_FIXED);
}

/* ---- Keys ------------------------------------------------------------------------------------------- */

enum { TRACE = 1 << HR__SPOT_PRICE_TRACE, OU = 1 << HR__SPOT_PRICE_OU };

static const struct parameter {
  const char *key;
  int model;
  bool required;
} parameters[] = {{"file", TRACE, true},         {"zones", TRACE, false},
                  {"accelerator", TRACE, false}, {"from", TRACE, false},
                  {"volatility", OU, true},      {"reversion_h", OU, true},
                  {"interval_s", OU, false},     {"least_usd_per_gpu_hour", OU, false}};

enum hr_status hr__check_spot_price(struct hr__builder *builder, const cJSON *spot) {
  const cJSON *price = hr__build_enter(builder, spot, "price");
  if (!price) return HR_OK;
  const char *model = hr__text_of(price, "model", "");
  for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
    const struct parameter *parameter = &parameters[i];
    bool belongs = strcmp(model, parameter->model == OU ? "ou" : "trace") == 0;
    if (hr__has(price, parameter->key) && !belongs)
      return hr__build_fail_at(builder, price, parameter->key, "'%s' is no parameter of the price model '%s'",
                               parameter->key, model);
    if (belongs && parameter->required && !hr__has(price, parameter->key))
      return hr__build_fail(builder, false, "the price model '%s' needs '%s'", model, parameter->key);
  }
  hr__build_leave(builder);
  return HR_OK;
}

static const cJSON *enter_price(struct hr__builder *builder, const struct hr__draft *draft) {
  return hr__build_enter(builder, hr__build_enter(builder, draft->entry, "spot"), "price");
}

static void leave_price(struct hr__builder *builder) {
  hr__build_leave(builder);
  hr__build_leave(builder);
}

/* ---- Recorded prices -------------------------------------------------------------------------------- */

/* `from` as a Unix time: a number, or a date, which is taken to be UTC unless it has a zone. */
static enum hr_status take_from(struct hr__builder *builder, const cJSON *price, int64_t *from_s) {
  const cJSON *from = cJSON_GetObjectItemCaseSensitive(price, "from");
  *from_s = HR_UNKNOWN_US;
  if (!from) return HR_OK;
  int64_t us;
  bool zoned;
  if (cJSON_IsNumber(from) && from->valuedouble >= 0 && from->valuedouble < 1e11) {
    *from_s = (int64_t)from->valuedouble;
    return HR_OK;
  }
  if (cJSON_IsString(from) &&
      hr__date_parse((struct hr_text){from->valuestring, strlen(from->valuestring)}, &us, &zoned) && us >= 0) {
    *from_s = us / HR_SECOND_US;
    return HR_OK;
  }
  return hr__build_fail_at(builder, price, "from",
                           "'from' is neither a date like 2023-02-15 or 2023-02-15T08:00Z nor a Unix time");
}

/* The zones that are named with the price, or else the pool's own; none: all of the region. */
static enum hr_status take_zones(const struct hr__builder *builder, const struct hr__draft *draft, const cJSON *price,
                                 const char ***zones, size_t *count) {
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(price, "zones");
  *zones = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof **zones);
  *count = 0;
  if (!*zones) return hr__build_no_memory(builder);
  for (const cJSON *zone = list ? list->child : NULL; zone; zone = zone->next) (*zones)[(*count)++] = zone->valuestring;
  if (!list && draft->source->zone) (*zones)[(*count)++] = draft->source->zone;
  return HR_OK;
}

static enum hr_status read_prices(struct hr__builder *builder, struct hr__draft *draft, const cJSON *price,
                                  struct hr__spot_price_query *query) {
  struct hr__spot_prices prices = {0};
  char *path = hr__resolve(builder, hr__text_of(price, "file", ""));
  if (!path) return hr__build_no_memory(builder);
  enum hr_status status = hr__spot_prices_read(path, query, &prices, &builder->scenario->notes, builder->error);
  if (status == HR_OK) {
    draft->pool.market.prices = prices.steps;
    draft->pool.market.n_prices = prices.n_steps;
    draft->pool.market.price_uusd_h = prices.steps[0].uusd_h;
    status = hr__price_source_set(builder, draft->source, "quoted", NULL, path);
  }
  free(path);
  return status;
}

enum hr_status hr__build_price_trace(struct hr__builder *builder, struct hr__draft *draft) {
  const cJSON *price = enter_price(builder, draft);
  struct hr__spot_price_query query = {.accelerator = hr__text_of(price, "accelerator", NULL),
                                       .region = draft->source->region,
                                       .gpus = draft->pool.gpus_per_node};
  if (!query.accelerator) query.instance = draft->source->instance;
  if (!query.accelerator && !query.instance)
    return hr__build_fail(builder, false,
                          "a record of prices is of instances or of accelerators: the pool's 'instance', or the "
                          "'accelerator' as the record calls it, is wanted");
  enum hr_status status = take_from(builder, price, &query.from_s);
  if (status != HR_OK) return status;
  const char **zones;
  status = take_zones(builder, draft, price, &zones, &query.n_zones);
  query.zones = zones;
  if (status == HR_OK) status = read_prices(builder, draft, price, &query);
  free(zones);
  leave_price(builder);
  return status;
}

/* ---- Drawn prices ----------------------------------------------------------------------------------- */

/* As many steps as the horizon has, or a year. */
static enum hr_status count_steps(struct hr__builder *builder, struct hr__draft *draft, int64_t interval_us,
                                  uint32_t *n_steps) {
  int64_t horizon_us = builder->scenario->horizon_us, span_us = horizon_us == HR_NEVER_US ? year_us : horizon_us;
  int64_t count = span_us / interval_us + 1;
  if (count > MOST_STEPS)
    return hr__build_fail(builder, false,
                          "%" PRId64 " changes of the price are more than %d; a longer 'interval_s' or a nearer "
                          "'horizon_s' is wanted",
                          count, MOST_STEPS);
  *n_steps = (uint32_t)count;
  if (horizon_us != HR_NEVER_US) return HR_OK;
  return hr__pool_note(builder, draft, "its price is drawn for a year, and stands after that");
}

enum hr_status hr__build_price_walk(struct hr__builder *builder, struct hr__draft *draft) {
  struct hr_market_spec *market = &draft->pool.market;
  const cJSON *price = enter_price(builder, draft);
  struct hr__price_walk walk = {.mean_uusd_h = market->price_uusd_h,
                                .least_uusd_h = hr__micros_of(price, "least_usd_per_gpu_hour", 0),
                                .most_uusd_h = market->on_demand_uusd_h,
                                .volatility = hr__number_of(price, "volatility", 0),
                                .reversion_h = hr__number_of(price, "reversion_h", 1),
                                .interval_us = hr__span_of(price, "interval_s", 3600 * HR_SECOND_US)};
  if (market->on_demand_uusd_h == HR_UNKNOWN_US)
    return hr__build_fail(builder, false,
                          "a price that is drawn stays below the on-demand price, which is not known: "
                          "'on_demand_usd_per_gpu_hour', or 'provider' and 'instance', are wanted");
  if (walk.mean_uusd_h <= walk.least_uusd_h || walk.mean_uusd_h >= walk.most_uusd_h)
    return hr__build_fail(builder, false,
                          "the pool's price, %.10g $ per GPU-hour, about which it moves, is not between the least, "
                          "%.10g $, and the on-demand price, %.10g $",
                          (double)walk.mean_uusd_h / 1e6, (double)walk.least_uusd_h / 1e6,
                          (double)walk.most_uusd_h / 1e6);
  enum hr_status status = count_steps(builder, draft, walk.interval_us, &walk.n_steps);
  if (status == HR_OK)
    status = hr__price_walk_draw(&walk, builder->scenario->seed, market->spot.zone, &market->prices, &market->n_prices,
                                 builder->error);
  if (status != HR_OK) return status;
  market->price_uusd_h = market->prices[0].uusd_h;
  builder->scenario->prices_drawn = true;
  leave_price(builder);
  return HR_OK;
}
