/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a pool's GPU-hour costs. What the scenario states goes before what follows from other prices. */

#include "scenarios/pools.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MILLION INT64_C(1000000)

static bool is_stated(const cJSON *entry) {
  return hr__has(entry, "usd_per_gpu_hour") || hr__has(entry, "usd_per_node_hour");
}

static int64_t stated_price(const struct hr__draft *draft) {
  int64_t gpu = hr__micros_of(draft->entry, "usd_per_gpu_hour", HR_UNKNOWN_US);
  if (gpu != HR_UNKNOWN_US) return gpu;
  return hr__money_scale(hr__micros_of(draft->entry, "usd_per_node_hour", 0), 1, draft->pool.gpus_per_node);
}

/* So much off the on-demand price. */
static enum hr_status discounted_price(struct hr__builder *builder, struct hr__draft *draft) {
  struct hr_market_spec *market = &draft->pool.market;
  int64_t millionths = hr__micros_of(draft->entry, "discount", 0);
  if (market->on_demand_uusd_h == HR_UNKNOWN_US)
    return hr__build_fail_at(builder, draft->entry, "discount",
                             "'discount' is off the on-demand price, which is not known: "
                             "'on_demand_usd_per_gpu_hour', or 'provider' and 'instance', are wanted");
  market->price_uusd_h = hr__money_scale(market->on_demand_uusd_h, MILLION - millionths, MILLION);
  return hr__price_source_set(builder, draft->source, "derived", NULL, "discount off the on-demand price");
}

static enum hr_status missing_price(const struct hr__builder *builder, const struct hr__draft *draft) {
  static const char *const ways[HR_N_MARKETS] = {
      [HR_MARKET_OWNED] = "'owned' (purchase, lifetime, power), 'usd_per_gpu_hour' or 'usd_per_node_hour'",
      [HR_MARKET_RESERVED] = "'provider' and 'term', a 'discount', 'usd_per_gpu_hour' or 'usd_per_node_hour'",
      [HR_MARKET_ON_DEMAND] = "'provider', 'usd_per_gpu_hour' or 'usd_per_node_hour'",
      [HR_MARKET_SPOT] = "'provider', a 'discount', a price ('usd_per_gpu_hour', 'usd_per_node_hour') or 'spot.price'",
  };
  enum hr_market market = draft->pool.market.market;
  return hr__build_fail(builder, false, "the pool has the market %s and no price: %s is wanted", hr_market_name(market),
                        ways[market]);
}

/* What spot capacity like this was said to cost, about. */
static enum hr_status preset_price(struct hr__builder *builder, struct hr__draft *draft) {
  struct hr_market_spec *market = &draft->pool.market;
  int64_t millionths = (int64_t)llround(draft->preset->discount * (double)MILLION);
  market->price_uusd_h = hr__money_scale(market->on_demand_uusd_h, MILLION - millionths, MILLION);
  enum hr_status status = hr__price_source_set(builder, draft->source, "assumed", NULL, "the spot preset's discount");
  if (status != HR_OK) return status;
  return hr__pool_note(builder, draft, "its price is assumed: the spot preset's %.4g %% off the on-demand price",
                       draft->preset->discount * 100);
}

/* A price that the scenario does not state. */
static enum hr_status listed_price(struct hr__builder *builder, struct hr__draft *draft, bool states_on_demand) {
  struct hr_market_spec *market = &draft->pool.market;
  const cJSON *entry = draft->entry;
  bool has_preset_price = draft->preset && draft->preset->discount >= 0 && market->on_demand_uusd_h != HR_UNKNOWN_US;
  if (market->market == HR_MARKET_OWNED) return missing_price(builder, draft);
  if (market->market == HR_MARKET_RESERVED && !hr__has(entry, "term")) return missing_price(builder, draft);
  if (market->market == HR_MARKET_RESERVED && states_on_demand) return hr__list_discount(builder, draft);
  if (hr__has(entry, "provider")) return hr__list_price(builder, draft, market->market);
  return has_preset_price ? preset_price(builder, draft) : missing_price(builder, draft);
}

static enum hr_status check_recorded(struct hr__builder *builder, const cJSON *entry) {
  static const char *const others[] = {"usd_per_gpu_hour", "usd_per_node_hour", "discount"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (hr__has(entry, others[i]))
      return hr__build_fail_at(builder, entry, others[i],
                               "the price is recorded in a file ('spot.price'), so '%s' has "
                               "no meaning; keep one",
                               others[i]);
  return HR_OK;
}

static enum hr_status take_price(struct hr__builder *builder, struct hr__draft *draft, bool states_on_demand) {
  struct hr_market_spec *market = &draft->pool.market;
  const cJSON *entry = draft->entry;
  if (hr__spot_price_model(entry) == HR__SPOT_PRICE_TRACE) {
    enum hr_status status = check_recorded(builder, entry);
    return status == HR_OK ? hr__build_price_trace(builder, draft) : status;
  }
  if (hr__has(entry, "owned")) return hr__build_owned(builder, draft);
  if (hr__has(entry, "discount")) return discounted_price(builder, draft);
  if (is_stated(entry))
    market->price_uusd_h = stated_price(draft);
  else if (market->market == HR_MARKET_ON_DEMAND && market->on_demand_uusd_h != HR_UNKNOWN_US)
    market->price_uusd_h = market->on_demand_uusd_h;
  else
    return listed_price(builder, draft, states_on_demand);
  return hr__price_source_set(builder, draft->source, "stated", NULL, "this scenario");
}

static int64_t highest_price(const struct hr_market_spec *market) {
  int64_t highest = market->price_uusd_h;
  for (uint32_t i = 0; i < market->n_prices; i++)
    if (market->prices[i].uusd_h > highest) highest = market->prices[i].uusd_h;
  return highest;
}

static enum hr_status check_spot_price(const struct hr__builder *builder, const struct hr__draft *draft) {
  const struct hr_market_spec *market = &draft->pool.market;
  if (market->market != HR_MARKET_SPOT || market->on_demand_uusd_h == HR_UNKNOWN_US) return HR_OK;
  int64_t highest = highest_price(market);
  if (highest <= market->on_demand_uusd_h) return HR_OK;
  return hr__pool_note(builder, draft,
                       "warning: the spot price, %s%.10g $ per GPU-hour, is above the on-demand price, "
                       "%.10g $",
                       market->n_prices ? "at its highest " : "", (double)highest / 1e6,
                       (double)market->on_demand_uusd_h / 1e6);
}

/* Whether the catalogue's on-demand price stands beside the pool's own. */
static bool is_compared(const struct hr__draft *draft) {
  enum hr_market market = draft->pool.market.market;
  if (!draft->source->provider || market == HR_MARKET_ON_DEMAND) return false;
  return market != HR_MARKET_OWNED || draft->source->instance;
}

enum hr_status hr__build_price(struct hr__builder *builder, struct hr__draft *draft) {
  struct hr_market_spec *market = &draft->pool.market;
  bool states_on_demand = hr__has(draft->entry, "on_demand_usd_per_gpu_hour");
  market->on_demand_uusd_h = hr__micros_of(draft->entry, "on_demand_usd_per_gpu_hour", HR_UNKNOWN_US);
  enum hr_status status = HR_OK;
  if (!states_on_demand && is_compared(draft)) status = hr__list_on_demand(builder, draft);
  if (status == HR_OK) status = take_price(builder, draft, states_on_demand);
  if (status == HR_OK && hr__spot_price_model(draft->entry) == HR__SPOT_PRICE_OU)
    status = hr__build_price_walk(builder, draft);
  if (market->market == HR_MARKET_ON_DEMAND && market->on_demand_uusd_h == HR_UNKNOWN_US)
    market->on_demand_uusd_h = market->price_uusd_h;
  return status == HR_OK ? check_spot_price(builder, draft) : status;
}
