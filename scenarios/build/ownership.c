/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cost of ownership: `owned` of a pool, `tco` of a scenario, and the arithmetic of both.
 *
 * The nodes are the first purchase of a pool, followed by the entries of `capital`. All amounts are per node. A node
 * costs in a year
 *
 *   (amortized purchases + maintenance + insurance and property tax + energy + colocation + staff) x (1 + staff share)
 *
 * Energy is power x load x PUE x 8,760 h x price of energy. Colocation is billed for the provisioned power, without
 * the PUE. Sources: Hamilton's model (Barroso, Hoelzle and Ranganathan, The Datacenter as a Computer, chapter 6;
 * Hennessy and Patterson, Computer Architecture, section 6.4) for pmt-monthly; annual annuities for crf-annual.
 */

#include "headroom/unstable/ownership.h"

#include "base/text.h"
#include "headroom/trace_files.h"
#include "headroom/unstable/catalog.h"
#include "headroom/unstable/series.h"
#include "scenarios/build/builder.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MONTHS = 12 };

/* ---- Arithmetic -------------------------------------------------------------------------------------- */

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

/* ---- owned: purchases -------------------------------------------------------------------------------- */

static const char *const prices[] = {"usd_per_node", "usd_per_gpu", "usd_per_kw", NULL};

static enum hr_status check_price(const struct hr__builder *builder, const cJSON *entry) {
  const char *found = NULL;
  for (const char *const *key = prices; *key; key++) {
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
  if (status == HR_OK)
    status = hr__read(builder, entry, hr__table_of(&hr__scenario_keys, "cluster.pools.owned.capital"), capital);
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

/* ---- owned: operation -------------------------------------------------------------------------------- */

/* Assumptions for keys that are missing in the scenario. */
#define HOST_SHARE 0.3 /* power of CPUs, memory, fans and network as a share of the power of the GPUs */

static bool needs_power(const cJSON *json) {
  bool is_needed = hr__has(json, "usd_per_kwh") || hr__has(json, "colocation_usd_per_kw_month");
  const cJSON *list = hr__get(json, "capital");
  for (const cJSON *entry = list ? list->child : NULL; entry; entry = entry->next)
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

enum hr_status hr__build_ownership(struct hr__builder *builder, struct hr__pool_draft *draft) {
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

/* ---- tco --------------------------------------------------------------------------------------------- */

static const struct hr_pool_spec *find_pool(const struct hr_cluster_spec *cluster, const char *name) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->pools[i].name && strcmp(cluster->pools[i].name, name) == 0) return &cluster->pools[i];
  return NULL;
}

static enum hr_status check_option_pools(const struct hr__builder *builder, const cJSON *entry) {
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  const cJSON *name;
  cJSON_ArrayForEach(name, hr__get(entry, "pools")) {
    const struct hr_pool_spec *pool = find_pool(cluster, name->valuestring);
    if (!pool)
      return hr__build_fail(builder, name, "no pool is named '%.60s'; a name of 'cluster.pools' is expected",
                            name->valuestring);
    if (pool->market.market == HR_MARKET_NONE)
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
  const cJSON *list = hr__get(json, "options");
  uint32_t index = 0;
  for (const cJSON *entry = list ? list->child : NULL; entry; entry = entry->next, index++) {
    for (uint32_t i = 0; i < index; i++)
      if (strcmp(spec->options[i].name, spec->options[index].name) == 0)
        return hr__build_fail_at(builder, entry, "name", "duplicate option '%.60s'; keep one",
                                 spec->options[index].name);
    enum hr_status status = check_option_pools(builder, entry);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

/* The mean of a series, in dollars. */
static double mean_usd(const struct hr_series *series) {
  int64_t from_us = hr_series_first_us(series), to_us = hr_series_end_us(series);
  if (to_us == HR_NEVER_US || to_us <= from_us) return (double)hr_series_at(series, from_us) / 1e6;
  return (double)hr_series_between(series, from_us, to_us) / (double)(to_us - from_us) / 1e6;
}

/* Owned pools that have no price of energy in `owned` pay the mean of their 'energy_price'. The price of the pool, with
   which runs are billed, does not contain it. */
static enum hr_status use_energy_prices(struct hr__builder *builder) {
  struct hr_scenario *scenario = builder->scenario;
  for (uint32_t i = 0; scenario->pool_sources && i < scenario->cluster.n_pools; i++) {
    const struct hr_pool_spec *pool = &scenario->cluster.pools[i];
    struct hr_ownership *owned = scenario->pool_sources[i].ownership;
    const struct hr_series *price = pool->electricity ? pool->electricity->price : NULL;
    if (!owned || !price || owned->usd_per_kwh > 0 || owned->is_colocated || owned->power_kw <= 0) continue;
    owned->usd_per_kwh = mean_usd(price);
    if (hr_notes_add(&scenario->notes,
                     "pool '%.60s': for 'tco', energy costs %.4g $ per kWh, the mean of 'energy_price'", pool->name,
                     owned->usd_per_kwh) != HR_OK)
      return hr__build_no_memory(builder);
  }
  return HR_OK;
}

bool hr_tco_growth_is_possible(double growth) {
  return growth >= HR_MIN_GROWTH * (1 - 1e-9) && growth <= HR_MAX_GROWTH * (1 + 1e-9);
}

/* The demand of each simulated year must be possible for a trace that is resampled. */
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
