/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The price of a GPU-hour of a pool, in micro-dollars, and its source; and cost of ownership: `owned` of a pool, `tco`
 * of a scenario, and the arithmetic of both.
 *
 * The first of these sources that exists determines the price:
 *   1. recorded prices;
 *   2. the cost of ownership;
 *   3. a discount off the on-demand price;
 *   4. the price in the scenario;
 *   5. if the market is on-demand: the on-demand price in the scenario;
 *   6. the catalogue;
 *   7. the discount of the spot preset.
 * A random spot price ('spot.price' with model 'ou') varies around this price.
 *
 * The price of an owned pool is (yearly cost of a node) / (8,760 h * GPUs of the node), with the energy of a node that
 * is always in use. It is an upper bound of the cost of a cluster that is idle at times.
 */

#include "base/text.h"
#include "headroom/trace_files.h"
#include "headroom/unstable/catalog.h"
#include "headroom/unstable/ownership.h"
#include "headroom/unstable/series.h"
#include "scenarios/build/builder.h"
#include "sim/market/market.h"
#include "traces/core/fields.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- Cost of ownership ------------------------------------------------------------------------------ */

/*
 * The nodes are the first purchase of a pool, followed by the entries of `capital`. All amounts are per node. The
 * yearly cost of a node is
 *
 *   (amortized purchases + maintenance + insurance and property tax + energy + colocation + staff) * (1 + staff share)
 *
 * Energy is power * load * PUE * 8,760 h * (price of energy). Colocation is billed for the provisioned power, without
 * the PUE. Sources: for the amortization pmt-monthly, Hamilton's model (Barroso, Hoelzle and Ranganathan, The
 * Datacenter as a Computer, chapter 6; Hennessy and Patterson, Computer Architecture, section 6.4); for crf-annual, the
 * formula of annual annuities.
 */

enum { MONTHS = 12 };

/* ---- Cost of ownership: arithmetic ------------------------------------------------------------------ */

HR__NAME_FUNCTION(hr_amortization_name, enum hr_amortization, HR_AMORTIZATION_TABLE)
HR__NAME_FUNCTION(hr_cost_part_name, enum hr_cost_part, HR_COST_PART_TABLE)

double hr_compound(double rate, double periods) {
  double value = 1;
  if (periods != floor(periods) || periods < 0 || periods > 1e4) return pow(1 + rate, periods);
  for (uint32_t i = 0; i < (uint32_t)periods; i++) value *= 1 + rate;
  return value;
}

double hr_capital_recovery(double rate, double periods) {
  if (rate == 0) return 1 / periods;
  double growth = hr_compound(rate, periods);
  return rate * growth / (growth - 1);
}

double hr_amortized_usd(enum hr_amortization method, double rate, double usd, double residual_usd, double life_years) {
  double periods = method == HR_AMORTIZATION_PMT_MONTHLY ? MONTHS * life_years : life_years;
  double period_rate = method == HR_AMORTIZATION_PMT_MONTHLY ? rate / MONTHS : rate;
  if (method == HR_AMORTIZATION_STRAIGHT_LINE) return (usd - residual_usd) / life_years;
  double spent = usd - residual_usd / hr_compound(period_rate, periods);
  return spent * hr_capital_recovery(period_rate, periods) * (periods / life_years);
}

double hr_node_kw(const struct hr_ownership *owned, double use) {
  return owned->power_kw * (owned->idle_load + (owned->load - owned->idle_load) * use);
}

void hr_ownership_year(const struct hr_ownership *owned, double use, double usd[HR_N_COST_PARTS]) {
  double sum = 0;
  for (unsigned part = 0; part < HR_N_COST_PARTS; part++) usd[part] = 0;
  for (uint32_t i = 0; i < owned->n_capital; i++) {
    const struct hr_capital *capital = &owned->capital[i];
    usd[HR_PART_CAPITAL] += hr_amortized_usd(owned->amortization, owned->discount_rate, capital->usd,
                                             capital->usd * capital->residual_share, capital->life_years);
    usd[HR_PART_MAINTENANCE] += capital->usd * capital->maintenance_share;
    usd[HR_PART_TAX] += capital->usd * capital->tax_share;
  }
  usd[HR_PART_ENERGY] = hr_node_kw(owned, use) * owned->pue * owned->usd_per_kwh * HR_HOURS_PER_YEAR;
  usd[HR_PART_COLOCATION] = owned->power_kw * owned->colocation_usd_per_kw_month * MONTHS;
  usd[HR_PART_STAFF] = owned->staff_usd_per_year;
  for (unsigned part = 0; part < HR_N_COST_PARTS; part++) sum += usd[part];
  usd[HR_PART_STAFF] += sum * owned->staff_share;
}

/* ---- Cost of ownership: purchases ------------------------------------------------------------------- */

static const char *const price_keys[] = {"usd_per_node", "usd_per_gpu", "usd_per_kw", NULL};

static enum hr_status check_price(const struct hr__builder *builder, const cJSON *entry) {
  const char *found = NULL;
  for (const char *const *key = price_keys; *key; key++) {
    if (!hr__has(entry, *key)) continue;
    if (found)
      return hr__build_fail_at(builder, entry, *key, "'%s' and '%s' exclude each other; keep one", found, *key);
    found = *key;
  }
  if (found) return HR_OK;
  return hr__build_fail(builder, entry,
                        "the purchase has no price; it needs 'usd_per_node', 'usd_per_gpu' or "
                        "'usd_per_kw'");
}

static enum hr_status add_entry(struct hr__builder *builder, const struct hr__pool_draft *draft, const cJSON *entry,
                                struct hr_ownership *owned) {
  const struct hr_capital *nodes = &owned->capital[0];
  struct hr_capital *capital = &owned->capital[owned->n_capital++];
  *capital = (struct hr_capital){
      .life_years = nodes->life_years, .maintenance_share = nodes->maintenance_share, .tax_share = nodes->tax_share};
  enum hr_status status = check_price(builder, entry);
  if (status == HR_OK) status = hr__read_at(builder, entry, "cluster.pools.owned.capital", capital);
  if (hr__has(entry, "usd_per_gpu")) capital->usd = capital->usd_per_gpu * draft->pool.gpus_per_node;
  if (hr__has(entry, "usd_per_kw")) capital->usd = capital->usd_per_kw * owned->power_kw;
  return status;
}

static enum hr_status build_capital(struct hr__builder *builder, const struct hr__pool_draft *draft, const cJSON *json,
                                    struct hr_ownership *owned) {
  const cJSON *list = hr__get(json, "capital");
  owned->capital = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *owned->capital);
  if (!owned->capital) return hr__build_no_memory(builder);
  owned->n_capital = 1;
  owned->capital[0] = (struct hr_capital){.name = strdup("nodes"),
                                          .usd = hr__number_of(json, "capex_usd_per_node", 0),
                                          .life_years = hr__number_of(json, "lifetime_years", 1),
                                          .residual_share = hr__number_of(json, "residual_share", 0),
                                          .maintenance_share = hr__number_of(json, "maintenance_share_per_year", 0),
                                          .tax_share = hr__number_of(json, "tax_share_per_year", 0)};
  enum hr_status status = owned->capital[0].name ? HR_OK : hr__build_no_memory(builder);
  for (const cJSON *entry = list ? list->child : NULL; entry && status == HR_OK; entry = entry->next)
    status = add_entry(builder, draft, entry, owned);
  return status;
}

/* ---- Cost of ownership: operation ------------------------------------------------------------------- */

/* Assumption if the scenario does not set the power of a node. */
#define HOST_SHARE 0.3 /* power of CPUs, memory, fans and network as a share of the power of the GPUs */

static bool needs_power(const cJSON *json) {
  bool is_needed = hr__has(json, "usd_per_kwh") || hr__has(json, "colocation_usd_per_kw_month");
  for (const cJSON *entry = hr__first(json, "capital"); entry; entry = entry->next)
    is_needed = is_needed || hr__has(entry, "usd_per_kw");
  return is_needed;
}

static enum hr_status assume_power(struct hr__builder *builder, const struct hr__pool_draft *draft, const cJSON *json,
                                   struct hr_ownership *owned) {
  const struct hr_gpu_type *gpu;
  struct hr_error inner;
  if (hr__has(json, "power_kw_per_node") || !needs_power(json)) return HR_OK;
  enum hr_status status = hr__open_catalog(builder);
  if (status != HR_OK) return status;
  status = hr_catalog_gpu(builder->catalog, draft->pool.gpu, &gpu, &inner);
  if (status == HR_BAD_INPUT)
    return hr__build_fail(builder, json, "'power_kw_per_node' is missing and cannot be derived: %s", inner.text);
  if (status != HR_OK) return hr__build_wrap(builder, draft->entry, status, &inner);
  owned->power_kw = gpu->tdp_w * draft->pool.gpus_per_node * (1 + HOST_SHARE) / 1000;
  return hr__pool_note(builder, draft->pool.name,
                       "power assumed: %.4g kW per node, %.4g W for each GPU and %.0f %% more for the host",
                       owned->power_kw, gpu->tdp_w, HOST_SHARE * 100);
}

static enum hr_status check_rate(const struct hr__builder *builder, const cJSON *json,
                                 const struct hr_ownership *owned) {
  if (owned->amortization == HR_AMORTIZATION_STRAIGHT_LINE || hr__has(json, "discount_rate")) return HR_OK;
  return hr__build_fail_at(builder, json, "amortization",
                           "the amortization '%s' needs 'discount_rate', the cost of capital per year",
                           hr_amortization_name(owned->amortization));
}

static enum hr_status check_load(const struct hr__builder *builder, const cJSON *json, struct hr_ownership *owned) {
  if (!hr__has(json, "idle_load")) owned->idle_load = owned->load;
  if (owned->idle_load <= owned->load) return HR_OK;
  return hr__build_fail_at(builder, json, "idle_load", "'idle_load' is above 'load' (%.10g)", owned->load);
}

/* Builds 'owned' of a pool: the cost of ownership of its nodes. Must be called after the shape of the pool is set. */
static enum hr_status build_ownership(struct hr__builder *builder, struct hr__pool_draft *draft) {
  const cJSON *json = hr__get(draft->entry, "owned");
  struct hr_ownership *owned = calloc(1, sizeof *owned);
  if (!owned) return hr__build_no_memory(builder);
  draft->source->ownership = owned;
  enum hr_status status = hr__read(builder, json, hr__owned_keys, owned);
  owned->is_colocated = owned->colocation_usd_per_kw_month > 0;
  if (status == HR_OK) status = check_rate(builder, json, owned);
  if (status == HR_OK) status = check_load(builder, json, owned);
  if (status == HR_OK) status = assume_power(builder, draft, json, owned);
  if (status == HR_OK && hr__has(json, "usd_per_kwh") && !hr__has(json, "pue"))
    status = hr__pool_note(builder, draft->pool.name, "PUE assumed: %.4g, about the industry average", owned->pue);
  return status == HR_OK ? build_capital(builder, draft, json, owned) : status;
}

void hr_ownership_destroy(struct hr_ownership *owned) {
  if (!owned) return;
  for (uint32_t i = 0; i < owned->n_capital; i++) free(owned->capital[i].name);
  free(owned->capital);
  free(owned);
}

/* ---- Cost of ownership: tco ------------------------------------------------------------------------- */

static enum hr_status check_option_pools(const struct hr__builder *builder, const cJSON *entry) {
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  const cJSON *name;
  cJSON_ArrayForEach(name, hr__get(entry, "pools")) {
    const uint32_t pool = hr__pool_named(cluster, name->valuestring, strlen(name->valuestring));
    if (pool == HR_NONE)
      return hr__build_fail(builder, name, "no pool is named '%.60s'; a name of 'cluster.pools' is expected",
                            name->valuestring);
    if (cluster->pools[pool].market.market == HR_MARKET_NONE)
      return hr__build_fail(builder, name, "pool '%.60s' has no price; it needs a 'market' and its price",
                            name->valuestring);
    for (const cJSON *before = hr__get(entry, "pools")->child; before != name; before = before->next)
      if (strcmp(before->valuestring, name->valuestring) == 0)
        return hr__build_fail(builder, name, "pool '%.60s' is listed twice; keep one", name->valuestring);
  }
  return HR_OK;
}

static enum hr_status check_options(const struct hr__builder *builder, const cJSON *json,
                                    const struct hr_tco_spec *spec) {
  uint32_t index = 0;
  for (const cJSON *entry = hr__first(json, "options"); entry; entry = entry->next, index++) {
    for (uint32_t i = 0; i < index; i++)
      if (strcmp(spec->options[i].name, spec->options[index].name) == 0)
        return hr__build_fail_at(builder, entry, "name", "duplicate option '%.60s'; keep one",
                                 spec->options[index].name);
    enum hr_status status = check_option_pools(builder, entry);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

/* Returns the mean of a series over its time, in dollars. */
static double mean_usd(const struct hr_series *series) {
  int64_t from_us = hr_series_first_us(series), to_us = hr_series_end_us(series);
  if (to_us == HR_NEVER_US || to_us <= from_us) return (double)hr_series_at(series, from_us) / 1e6;
  return (double)hr_series_between(series, from_us, to_us) / (double)(to_us - from_us) / 1e6;
}

/* If `owned` of a pool has no price of energy and no colocation, sets the price of energy to the mean of the
   'energy_price' of the pool. `tco` uses this price. The price of a GPU-hour of the pool, which is already computed,
   does not include this energy. */
static enum hr_status use_energy_prices(struct hr__builder *builder) {
  struct hr_scenario *scenario = builder->scenario;
  for (uint32_t i = 0; scenario->pool_sources && i < scenario->cluster.n_pools; i++) {
    const struct hr_pool_spec *pool = &scenario->cluster.pools[i];
    struct hr_ownership *owned = scenario->pool_sources[i].ownership;
    const struct hr_series *price = pool->electricity ? pool->electricity->price : NULL;
    if (!owned || !price || owned->usd_per_kwh > 0 || owned->is_colocated || owned->power_kw <= 0) continue;
    owned->usd_per_kwh = mean_usd(price);
    if (hr__build_note(builder, "pool '%.60s': for 'tco', energy costs %.4g $ per kWh, the mean of 'energy_price'",
                       pool->name, owned->usd_per_kwh) != HR_OK)
      return HR_NO_MEMORY;
  }
  return HR_OK;
}

bool hr_tco_growth_is_possible(double growth) {
  return growth >= HR_MIN_GROWTH * (1 - 1e-9) && growth <= HR_MAX_GROWTH * (1 + 1e-9);
}

/* Checks that workloads with the demand of each simulated year can be drawn from the trace. */
static enum hr_status check_growth(struct hr__builder *builder, const cJSON *json, const struct hr_tco_spec *spec) {
  const double demand = builder->scenario->replications.workload.growth;
  for (uint32_t year = 0; year < spec->years && !spec->first_year_only && spec->growth != 1; year++) {
    double growth = (demand > 0 ? demand : 1) * hr_compound(spec->growth - 1, year);
    if (hr_tco_growth_is_possible(growth)) continue;
    return hr__build_fail_at(builder, json, "growth_per_year",
                             "the demand of year %" PRIu32 " is %.4g times that of the trace; a number from %g to %g "
                             "is expected; change 'tco.growth_per_year' or 'tco.years'",
                             year + 1, growth, HR_MIN_GROWTH, (double)HR_MAX_GROWTH);
  }
  return HR_OK;
}

enum hr_status hr__build_tco(struct hr__builder *builder) {
  const cJSON *json = hr__get(builder->source.file.tree, "tco");
  if (!json) return HR_OK;
  struct hr_tco_spec *spec = calloc(1, sizeof *spec);
  if (!spec) return hr__build_no_memory(builder);
  builder->scenario->tco = spec;
  enum hr_status status = hr__read(builder, json, hr__tco_keys, spec);
  if (status == HR_OK) status = check_options(builder, json, spec);
  if (status == HR_OK) status = check_growth(builder, json, spec);
  return status == HR_OK ? use_energy_prices(builder) : status;
}

void hr_tco_spec_destroy(struct hr_tco_spec *spec) {
  if (!spec) return;
  hr__finish_values(hr__tco_keys, spec);
  free(spec);
}

/* ---- Prices ----------------------------------------------------------------------------------------- */

#define MILLION INT64_C(1000000)

static enum hr_status set_source(const struct hr__builder *builder, struct hr_pool_source *source, const char *status,
                                 const char *as_of, const char *origin) {
  source->status = strdup(status);
  source->as_of = as_of ? strdup(as_of) : NULL;
  source->source = strdup(origin);
  bool done = source->status && source->source && (source->as_of || !as_of);
  return done ? HR_OK : hr__build_no_memory(builder);
}

/* Models of the spot price over time: constant, recorded, and a random walk (Ornstein-Uhlenbeck process). */
enum spot_price_model { SPOT_PRICE_FIXED, SPOT_PRICE_TRACE, SPOT_PRICE_OU };

static const cJSON *price_of(const cJSON *entry) {
  return hr__get(hr__get(entry, "spot"), "price");
}

static enum spot_price_model spot_price_model(const cJSON *entry) {
  static const char *const models[] = {"fixed", "trace", "ou", NULL};
  return (enum spot_price_model)hr__choice_of(price_of(entry), "model", models, SPOT_PRICE_FIXED);
}

/* ---- From the catalogue ----------------------------------------------------------------------------- */

/* Does the same as hr__build_wrap(), but the place of the error is the member `name` of the entry. */
static enum hr_status wrap_at(struct hr__builder *builder, const cJSON *entry, const char *name, enum hr_status status,
                              const struct hr_error *inner) {
  if (status == HR_BAD_INPUT) return hr__build_fail_at(builder, entry, name, "%s", inner->text);
  return hr__build_wrap(builder, entry, status, inner);
}

static enum hr_status find_instance(struct hr__builder *builder, const struct hr__pool_draft *draft,
                                    const struct hr_instance_type **instance) {
  const char *provider = hr__text_of(draft->entry, "provider", NULL),
             *name = hr__text_of(draft->entry, "instance", NULL);
  struct hr_error inner;
  if (!provider)
    return hr__build_fail_at(builder, draft->entry, "instance",
                             "'instance' is an instance type of a provider; the pool needs 'provider'");
  enum hr_status status = hr__open_catalog(builder);
  if (status != HR_OK) return status;
  status = hr_catalog_check_provider(builder->catalog, provider, &inner);
  if (status != HR_OK) return wrap_at(builder, draft->entry, "provider", status, &inner);
  status = hr_catalog_instance(builder->catalog, provider, name, instance, &inner);
  return wrap_at(builder, draft->entry, "instance", status, &inner);
}

/* Checks that the GPU type and the number of GPUs of the pool, if set, are those of the instance type. */
static enum hr_status check_shape(struct hr__builder *builder, const struct hr__pool_draft *draft,
                                  const struct hr_instance_type *instance) {
  const struct hr_pool_spec *pool = &draft->pool;
  if (pool->gpu && strcasecmp(pool->gpu, instance->gpu) != 0)
    return hr__build_fail_at(builder, draft->entry, "gpu", "a '%s' has %.10g x %s, not '%.60s'", instance->name,
                             instance->gpus, instance->gpu, pool->gpu);
  if (pool->gpus_per_node && pool->gpus_per_node != instance->gpus)
    return hr__build_fail_at(builder, draft->entry, "gpus_per_node", "a '%s' has %.10g x %s, not %u", instance->name,
                             instance->gpus, instance->gpu, (unsigned)pool->gpus_per_node);
  return HR_OK;
}

enum hr_status hr__build_shape(struct hr__builder *builder, struct hr__pool_draft *draft) {
  const cJSON *entry = draft->entry;
  struct hr_pool_spec *pool = &draft->pool;
  const struct hr_instance_type *instance = NULL;
  if (!hr__has(entry, "instance")) return HR_OK;
  if (pool->gpu && pool->gpus_per_node) { /* the shape is complete, so the instance type need not be in the catalogue */
    struct hr_error unknown;
    enum hr_status opened = hr__open_catalog(builder);
    if (opened != HR_OK || !hr__has(entry, "provider")) return opened;
    opened = hr_catalog_instance(builder->catalog, hr__text_of(entry, "provider", ""),
                                 hr__text_of(entry, "instance", ""), &instance, &unknown);
    return opened == HR_OK ? check_shape(builder, draft, instance) : HR_OK;
  }
  enum hr_status status = find_instance(builder, draft, &instance);
  if (!instance) return status;
  status = check_shape(builder, draft, instance);
  if (status != HR_OK) return status;
  if (!pool->gpus_per_node && (instance->gpus < 1 || instance->gpus != floor(instance->gpus)))
    return hr__build_fail_at(builder, entry, "instance", "'%s' has %.10g GPUs; a whole number is expected",
                             instance->name, instance->gpus);
  /* the text is not written through this pointer, although the cast removes `const`; it is copied when the pool is
     added */
  if (!pool->gpu) pool->gpu = (char *)instance->gpu;
  if (!pool->gpus_per_node) pool->gpus_per_node = (uint32_t)instance->gpus;
  if (!hr__has(entry, "cpu_per_node") && instance->vcpus > 0)
    pool->cpu_milli_per_node = (uint32_t)llround(instance->vcpus * 1000);
  if (!hr__has(entry, "mem_gb_per_node") && instance->mem_gib > 0)
    pool->mem_mib_per_node = (uint64_t)llround(instance->mem_gib * 1024);
  return HR_OK;
}

static enum hr_status query_price(const struct hr__builder *builder, const struct hr__pool_draft *draft,
                                  enum hr_market market, struct hr_price_quote *quote, struct hr_error *error) {
  const cJSON *entry = draft->entry;
  bool is_reserved = market == HR_MARKET_RESERVED;
  const struct hr_price_query query = {.provider = hr__text_of(entry, "provider", NULL),
                                       .instance = hr__text_of(entry, "instance", NULL),
                                       .gpu = draft->pool.gpu,
                                       .region = hr__text_of(entry, "region", NULL),
                                       .market = market,
                                       .term = is_reserved ? hr__text_of(entry, "term", NULL) : NULL,
                                       .upfront = is_reserved ? hr__text_of(entry, "upfront", NULL) : NULL,
                                       .as_of = hr__text_of(entry, "as_of", NULL)};
  return hr_catalog_price(builder->catalog, &query, quote, error);
}

/* Checks that the catalogue has the provider, the region, and the instance type or GPU type of the entry. The place of
   an error is the unknown name. */
static enum hr_status check_names(struct hr__builder *builder, const struct hr__pool_draft *draft) {
  const cJSON *entry = draft->entry;
  const char *provider = hr__text_of(entry, "provider", ""), *region = hr__text_of(entry, "region", NULL);
  const struct hr_instance_type *instance = NULL;
  const struct hr_gpu_type *gpu;
  struct hr_error inner;
  enum hr_status status = hr_catalog_check_provider(builder->catalog, provider, &inner);
  if (status != HR_OK) return wrap_at(builder, entry, "provider", status, &inner);
  if (region) status = hr_catalog_check_region(builder->catalog, provider, region, &inner);
  if (status != HR_OK) return wrap_at(builder, entry, "region", status, &inner);
  if (hr__has(entry, "instance")) return find_instance(builder, draft, &instance);
  status = hr_catalog_gpu(builder->catalog, draft->pool.gpu, &gpu, &inner);
  return wrap_at(builder, entry, "gpu", status, &inner);
}

/* Uses a price of the catalogue. Adds a note if the scenario does not name the instance type or the region, so that
   they were assumed. Adds a note if the price is not a quote of the provider, but, for example, derived from other
   prices. */
static enum hr_status use_quote(struct hr__builder *builder, struct hr__pool_draft *draft,
                                const struct hr_price_quote *quote) {
  char offer[200], origin[700];
  bool is_everywhere = strcmp(quote->region, "*") == 0;
  snprintf(offer, sizeof offer, "%.80s%s%.80s", quote->instance->name, is_everywhere ? "" : " in ",
           is_everywhere ? "" : quote->region);
  snprintf(origin, sizeof origin, "%s: %s", offer, quote->source);
  draft->pool.market.price_uusd_h = hr_price_quote_gpu_uusd_h(quote);
  enum hr_status status = set_source(builder, draft->source, quote->status, quote->as_of, origin);
  if (status == HR_OK && (!hr__has(draft->entry, "instance") || (!is_everywhere && !hr__has(draft->entry, "region"))))
    status = hr__pool_note(builder, draft->pool.name, "price assumed: that of %s", offer);
  if (status != HR_OK || strcmp(quote->status, "quoted") == 0) return status;
  return hr__pool_note(builder, draft->pool.name, "price %s: %s", quote->status, quote->source);
}

static enum hr_status catalog_price(struct hr__builder *builder, struct hr__pool_draft *draft, enum hr_market market) {
  struct hr_price_quote quote;
  struct hr_error inner;
  enum hr_status status = hr__open_catalog(builder);
  if (status == HR_OK) status = check_names(builder, draft);
  if (status != HR_OK) return status;
  status = query_price(builder, draft, market, &quote, &inner);
  return status == HR_OK ? use_quote(builder, draft, &quote) : hr__build_wrap(builder, draft->entry, status, &inner);
}

/* Sets the on-demand price of the pool to that of the catalogue. Savings are computed from this price. Adds a note if
   it is unknown. */
static enum hr_status catalog_on_demand(struct hr__builder *builder, struct hr__pool_draft *draft) {
  struct hr_price_quote quote;
  struct hr_error inner;
  enum hr_status status = hr__open_catalog(builder);
  if (status != HR_OK) return status;
  status = query_price(builder, draft, HR_MARKET_ON_DEMAND, &quote, &inner);
  if (status == HR_BAD_INPUT)
    return hr__pool_note(builder, draft->pool.name, "on-demand price unknown, so savings are not counted: %s",
                         inner.text);
  if (status != HR_OK) return hr__build_wrap(builder, draft->entry, status, &inner);
  draft->pool.market.on_demand_uusd_h = hr_price_quote_gpu_uusd_h(&quote);
  return HR_OK;
}

/* Sets the price from the on-demand price in the scenario and the discount of the catalogue. */
static enum hr_status catalog_discount(struct hr__builder *builder, struct hr__pool_draft *draft) {
  const cJSON *entry = draft->entry;
  const struct hr_instance_type *instance = NULL;
  const struct hr_discount *discount;
  struct hr_error inner;
  if (!hr__has(entry, "instance"))
    return hr__build_fail_at(builder, entry, "term",
                             "'term' takes its discount from the catalogue, which needs 'provider' and 'instance'");
  enum hr_status status = find_instance(builder, draft, &instance);
  if (!instance) return status;
  const struct hr_discount_query query = {.provider = instance->provider,
                                          .instance = instance->name,
                                          .term = hr__text_of(entry, "term", ""),
                                          .upfront = hr__text_of(entry, "upfront", NULL),
                                          .as_of = hr__text_of(entry, "as_of", NULL)};
  status = hr_catalog_discount(builder->catalog, &query, &discount, &inner);
  if (status != HR_OK) return wrap_at(builder, entry, "term", status, &inner);
  struct hr_market_spec *market = &draft->pool.market;
  market->price_uusd_h = hr__money_scale(market->on_demand_uusd_h, MILLION - discount->off_ppm, MILLION);
  return set_source(builder, draft->source, discount->status, discount->as_of, discount->source);
}

/* ---- Owned pools ------------------------------------------------------------------------------------ */

/* Adds a note on the price of an owned pool if there are several purchases or interest, because it is then not obvious
   from the scenario. */
static enum hr_status note_owned(struct hr__builder *builder, const struct hr__pool_draft *draft, double usd_h) {
  const struct hr_ownership *owned = draft->source->ownership;
  if (owned->n_capital == 1 && owned->amortization == HR_AMORTIZATION_STRAIGHT_LINE) return HR_OK;
  return hr__pool_note(builder, draft->pool.name, "price derived: %.4g $ per GPU-hour from 'owned', %s at %.4g %%",
                       usd_h, hr_amortization_name(owned->amortization), 100 * owned->discount_rate);
}

static enum hr_status build_owned(struct hr__builder *builder, struct hr__pool_draft *draft) {
  enum hr_status status = build_ownership(builder, draft);
  double usd[HR_N_COST_PARTS], sum = 0;
  if (status != HR_OK) return status;
  hr_ownership_year(draft->source->ownership, 1, usd);
  for (unsigned part = 0; part < HR_N_COST_PARTS; part++) sum += usd[part];
  double uusd = sum / HR_HOURS_PER_YEAR * 1e6 / draft->pool.gpus_per_node;
  if (uusd > HR_MAX_USD_H * 1e6)
    return hr__build_fail(builder, hr__get(draft->entry, "owned"),
                          "a GPU-hour would cost %.4g dollars; at most %d is allowed", uusd / 1e6, HR_MAX_USD_H);
  draft->pool.market.price_uusd_h = (int64_t)llround(uusd);
  status = set_source(builder, draft->source, "derived", NULL, "purchase, power, colocation and staff as stated");
  return status == HR_OK ? note_owned(builder, draft, uusd / 1e6) : status;
}

/* ---- Spot prices that change ------------------------------------------------------------------------ */

/* Spot prices that change over time: recorded prices, or a random walk around the price of the pool. The random walk
   never exceeds the on-demand price. */

enum { MAX_STEPS = 1000000 };
static const int64_t year_us = INT64_C(8760) * 3600 * HR_SECOND_US;

enum hr_status hr__check_spot_price(struct hr__builder *builder, const cJSON *entry) {
  const cJSON *price = price_of(entry);
  const struct hr__key *keys = hr__table_of(&hr__scenario_keys, "cluster.pools.spot.price");
  return price ? hr__check_choice(builder, price, keys, "price model", spot_price_model(entry), true) : HR_OK;
}

/* ---- Recorded prices -------------------------------------------------------------------------------- */

/* Sets `*from_s` to the Unix time in `from`, which is a number of seconds or a date. A date without an offset is in
   UTC. HR_UNKNOWN_US: the key is missing. */
static enum hr_status read_start(struct hr__builder *builder, const cJSON *price, int64_t *from_s) {
  const cJSON *from = hr__get(price, "from");
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

/* Sets `*zones` to the zones in `price`. If there are none, sets it to the zone of the pool. If `*count` is 0, the
   prices of all zones of the region are used. The caller frees `*zones`. */
static enum hr_status read_zones(const struct hr__builder *builder, const struct hr__pool_draft *draft,
                                 const cJSON *price, const char ***zones, size_t *count) {
  const cJSON *list = hr__get(price, "zones");
  *zones = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof **zones);
  *count = 0;
  if (!*zones) return hr__build_no_memory(builder);
  for (const cJSON *zone = list ? list->child : NULL; zone; zone = zone->next) (*zones)[(*count)++] = zone->valuestring;
  if (!list && draft->source->zone) (*zones)[(*count)++] = draft->source->zone;
  return HR_OK;
}

static enum hr_status read_prices(struct hr__builder *builder, struct hr__pool_draft *draft, const cJSON *price,
                                  struct hr__spot_price_query *query) {
  struct hr__spot_prices prices = {0};
  char *path = hr__resolve(builder, hr__text_of(price, "file", ""));
  if (!path) return hr__build_no_memory(builder);
  enum hr_status status = hr__spot_prices_read(path, query, &prices, &builder->scenario->notes, builder->error);
  if (status == HR_OK) {
    draft->pool.market.prices = prices.steps;
    draft->pool.market.n_prices = prices.n_steps;
    draft->pool.market.price_uusd_h = prices.steps[0].uusd_h;
    status = set_source(builder, draft->source, "quoted", NULL, path);
  }
  free(path);
  return status;
}

static enum hr_status build_recorded_price(struct hr__builder *builder, struct hr__pool_draft *draft) {
  const cJSON *price = price_of(draft->entry);
  struct hr__spot_price_query query = {.accelerator = hr__text_of(price, "accelerator", NULL),
                                       .region = draft->source->region,
                                       .gpus = draft->pool.gpus_per_node};
  if (!query.accelerator) query.instance = draft->source->instance;
  if (!query.accelerator && !query.instance)
    return hr__build_fail(builder, price,
                          "recorded prices are per instance type or accelerator; the pool needs 'instance', or "
                          "'accelerator' with the name in the record");
  enum hr_status status = read_start(builder, price, &query.from_s);
  if (status != HR_OK) return status;
  const char **zones;
  status = read_zones(builder, draft, price, &zones, &query.n_zones);
  query.zones = zones;
  if (status == HR_OK) status = read_prices(builder, draft, price, &query);
  free(zones);
  return status;
}

/* ---- Drawn prices ----------------------------------------------------------------------------------- */

/* Sets `*n_steps` to the number of steps of a random price until the horizon. Without a horizon, the steps cover one
   year, and a note is added. */
static enum hr_status count_steps(struct hr__builder *builder, struct hr__pool_draft *draft, int64_t interval_us,
                                  uint32_t *n_steps) {
  int64_t horizon_us = builder->scenario->horizon_us, span_us = horizon_us == HR_NEVER_US ? year_us : horizon_us;
  int64_t count = span_us / interval_us + 1;
  if (count > MAX_STEPS)
    return hr__build_fail(builder, price_of(draft->entry),
                          "%" PRId64 " price changes are more than %d; use a longer 'interval_s' or a shorter "
                          "'horizon_s'",
                          count, MAX_STEPS);
  *n_steps = (uint32_t)count;
  if (horizon_us != HR_NEVER_US) return HR_OK;
  return hr__pool_note(builder, draft->pool.name, "price drawn for one year and constant afterwards");
}

/* Draws a random walk (Ornstein-Uhlenbeck process) around the price of the pool. */
static enum hr_status build_price_walk(struct hr__builder *builder, struct hr__pool_draft *draft) {
  struct hr_market_spec *market = &draft->pool.market;
  const cJSON *price = price_of(draft->entry);
  struct hr__price_walk walk = {.mean_uusd_h = market->price_uusd_h,
                                .min_uusd_h = hr__micros_of(price, "least_usd_per_gpu_hour", 0),
                                .max_uusd_h = market->on_demand_uusd_h,
                                .volatility = hr__number_of(price, "volatility", 0),
                                .reversion_h = hr__number_of(price, "reversion_h", 1),
                                .interval_us = hr__span_of(price, "interval_s", 3600 * HR_SECOND_US)};
  if (market->on_demand_uusd_h == HR_UNKNOWN_UUSD_H)
    return hr__build_fail(builder, price,
                          "a drawn price needs the on-demand price as its upper bound, which is unknown; "
                          "set 'on_demand_usd_per_gpu_hour', or 'provider' and 'instance'");
  if (walk.mean_uusd_h <= walk.min_uusd_h || walk.mean_uusd_h >= walk.max_uusd_h)
    return hr__build_fail(builder, price,
                          "the mean price, %.10g $ per GPU-hour, is not between the minimum, %.10g $, and the "
                          "on-demand price, %.10g $",
                          (double)walk.mean_uusd_h / 1e6, (double)walk.min_uusd_h / 1e6, (double)walk.max_uusd_h / 1e6);
  enum hr_status status = count_steps(builder, draft, walk.interval_us, &walk.n_steps);
  if (status == HR_OK)
    status = hr__price_walk_draw(&walk, builder->scenario->seed, market->spot.zone, &market->prices, &market->n_prices,
                                 builder->error);
  if (status != HR_OK) return status;
  market->price_uusd_h = market->prices[0].uusd_h;
  builder->scenario->prices_drawn = true;
  return HR_OK;
}

/* ---- The price -------------------------------------------------------------------------------------- */

static bool is_stated(const cJSON *entry) {
  return hr__has(entry, "usd_per_gpu_hour") || hr__has(entry, "usd_per_node_hour");
}

static int64_t stated_price(const struct hr__pool_draft *draft) {
  int64_t gpu = hr__micros_of(draft->entry, "usd_per_gpu_hour", HR_UNKNOWN_UUSD_H);
  if (gpu != HR_UNKNOWN_UUSD_H) return gpu;
  return hr__money_scale(hr__micros_of(draft->entry, "usd_per_node_hour", 0), 1, draft->pool.gpus_per_node);
}

static enum hr_status discounted_price(struct hr__builder *builder, struct hr__pool_draft *draft) {
  struct hr_market_spec *market = &draft->pool.market;
  int64_t millionths = hr__micros_of(draft->entry, "discount", 0);
  if (market->on_demand_uusd_h == HR_UNKNOWN_UUSD_H)
    return hr__build_fail_at(builder, draft->entry, "discount",
                             "'discount' needs the on-demand price, which is unknown; "
                             "set 'on_demand_usd_per_gpu_hour', or 'provider' and 'instance'");
  market->price_uusd_h = hr__money_scale(market->on_demand_uusd_h, MILLION - millionths, MILLION);
  return set_source(builder, draft->source, "derived", NULL, "discount off the on-demand price");
}

static enum hr_status missing_price(const struct hr__builder *builder, const struct hr__pool_draft *draft) {
  static const char *const ways[HR_N_MARKETS] = {
      [HR_MARKET_OWNED] = "'owned' (purchase, lifetime, power), 'usd_per_gpu_hour' or 'usd_per_node_hour'",
      [HR_MARKET_RESERVED] = "'provider' and 'term', a 'discount', 'usd_per_gpu_hour' or 'usd_per_node_hour'",
      [HR_MARKET_ON_DEMAND] = "'provider', 'usd_per_gpu_hour' or 'usd_per_node_hour'",
      [HR_MARKET_SPOT] = "'provider', a 'discount', a price ('usd_per_gpu_hour', 'usd_per_node_hour') or 'spot.price'",
  };
  enum hr_market market = draft->pool.market.market;
  return hr__build_fail(builder, draft->entry, "the pool has the market %s and no price; it needs %s",
                        hr_market_name(market), ways[market]);
}

static enum hr_status preset_price(struct hr__builder *builder, struct hr__pool_draft *draft) {
  struct hr_market_spec *market = &draft->pool.market;
  int64_t millionths = (int64_t)llround(draft->preset->discount * (double)MILLION);
  market->price_uusd_h = hr__money_scale(market->on_demand_uusd_h, MILLION - millionths, MILLION);
  enum hr_status status = set_source(builder, draft->source, "assumed", NULL, "the spot preset's discount");
  if (status != HR_OK) return status;
  return hr__pool_note(builder, draft->pool.name,
                       "price assumed: %.4g %% off the on-demand price, from the spot preset",
                       draft->preset->discount * 100);
}

static enum hr_status listed_price(struct hr__builder *builder, struct hr__pool_draft *draft, bool states_on_demand) {
  struct hr_market_spec *market = &draft->pool.market;
  const cJSON *entry = draft->entry;
  bool has_preset_price =
      draft->preset && draft->preset->discount >= 0 && market->on_demand_uusd_h != HR_UNKNOWN_UUSD_H;
  if (market->market == HR_MARKET_OWNED) return missing_price(builder, draft);
  if (market->market == HR_MARKET_RESERVED && !hr__has(entry, "term")) return missing_price(builder, draft);
  if (market->market == HR_MARKET_RESERVED && states_on_demand) return catalog_discount(builder, draft);
  if (hr__has(entry, "provider")) return catalog_price(builder, draft, market->market);
  return has_preset_price ? preset_price(builder, draft) : missing_price(builder, draft);
}

static enum hr_status check_recorded(struct hr__builder *builder, const cJSON *entry) {
  static const char *const others[] = {"usd_per_gpu_hour", "usd_per_node_hour", "discount"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (hr__has(entry, others[i]))
      return hr__build_fail_at(builder, entry, others[i],
                               "'%s' contradicts the recorded price of 'spot.price'; keep one", others[i]);
  return HR_OK;
}

static enum hr_status build_price(struct hr__builder *builder, struct hr__pool_draft *draft, bool states_on_demand) {
  struct hr_market_spec *market = &draft->pool.market;
  const cJSON *entry = draft->entry;
  if (spot_price_model(entry) == SPOT_PRICE_TRACE) {
    enum hr_status status = check_recorded(builder, entry);
    return status == HR_OK ? build_recorded_price(builder, draft) : status;
  }
  if (hr__has(entry, "owned")) return build_owned(builder, draft);
  if (hr__has(entry, "discount")) return discounted_price(builder, draft);
  if (is_stated(entry))
    market->price_uusd_h = stated_price(draft);
  else if (market->market == HR_MARKET_ON_DEMAND && market->on_demand_uusd_h != HR_UNKNOWN_UUSD_H)
    market->price_uusd_h = market->on_demand_uusd_h;
  else
    return listed_price(builder, draft, states_on_demand);
  return set_source(builder, draft->source, "stated", NULL, "this scenario");
}

static int64_t highest_price(const struct hr_market_spec *market) {
  int64_t highest = market->price_uusd_h;
  for (uint32_t i = 0; i < market->n_prices; i++)
    if (market->prices[i].uusd_h > highest) highest = market->prices[i].uusd_h;
  return highest;
}

static enum hr_status check_spot_price(const struct hr__builder *builder, const struct hr__pool_draft *draft) {
  const struct hr_market_spec *market = &draft->pool.market;
  if (market->market != HR_MARKET_SPOT || market->on_demand_uusd_h == HR_UNKNOWN_UUSD_H) return HR_OK;
  int64_t highest = highest_price(market);
  if (highest <= market->on_demand_uusd_h) return HR_OK;
  return hr__pool_note(builder, draft->pool.name,
                       "warning: the spot price, %s%.10g $ per GPU-hour, is above the on-demand price, "
                       "%.10g $",
                       market->n_prices ? "at its highest " : "", (double)highest / 1e6,
                       (double)market->on_demand_uusd_h / 1e6);
}

/* Returns true if savings of the pool are computed. The on-demand price of the catalogue is then needed unless the
   scenario sets one. */
static bool is_compared(const struct hr__pool_draft *draft) {
  enum hr_market market = draft->pool.market.market;
  if (!draft->source->provider || market == HR_MARKET_ON_DEMAND) return false;
  return market != HR_MARKET_OWNED || draft->source->instance;
}

/* If the pool has 'paid_until_s', makes its price 0 from this time on. */
static enum hr_status end_price(struct hr__builder *builder, struct hr__pool_draft *draft) {
  struct hr_market_spec *market = &draft->pool.market;
  int64_t until_us = hr__span_of(draft->entry, "paid_until_s", 0);
  if (until_us <= 0 || market->prices) return HR_OK;
  market->prices = calloc(2, sizeof *market->prices);
  if (!market->prices) return hr__build_no_memory(builder);
  market->n_prices = 2;
  market->prices[0] = (struct hr_price_step){0, market->price_uusd_h};
  market->prices[1] = (struct hr_price_step){until_us, 0};
  return HR_OK;
}

enum hr_status hr__build_price(struct hr__builder *builder, struct hr__pool_draft *draft) {
  struct hr_market_spec *market = &draft->pool.market;
  bool states_on_demand = hr__has(draft->entry, "on_demand_usd_per_gpu_hour");
  enum hr_status status = HR_OK;
  if (!states_on_demand && is_compared(draft)) status = catalog_on_demand(builder, draft);
  if (status == HR_OK) status = build_price(builder, draft, states_on_demand);
  if (status == HR_OK && spot_price_model(draft->entry) == SPOT_PRICE_OU) status = build_price_walk(builder, draft);
  if (market->market == HR_MARKET_ON_DEMAND && market->on_demand_uusd_h == HR_UNKNOWN_UUSD_H)
    market->on_demand_uusd_h = market->price_uusd_h;
  if (status == HR_OK) status = end_price(builder, draft);
  return status == HR_OK ? check_spot_price(builder, draft) : status;
}
