/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes the cost of ownership as JSON (docs/reference/schemas/tco.schema.json). Amounts are exact micro-dollars. If
   there are several replications, amounts are means, rounded once, so that parts, years and totals add up. */

#include "plan/tco/tco.h"
#include "report/tables/json_tree.h"

static void put_interval(struct hr__json *json, cJSON *object, const char *key, const struct hr__interval *interval) {
  hr__json_interval(json, hr__json_object(json, object, key), interval);
}

static void put_spec(struct hr__json *json, cJSON *root, const struct hr_tco_spec *spec) {
  hr__json_count(json, root, "years", spec->years);
  hr__json_number(json, root, "growth_per_year", spec->growth);
  hr__json_number(json, root, "cloud_price_per_year", spec->cloud_price);
  hr__json_number(json, root, "hardware_price_per_year", spec->hardware_price);
  hr__json_number(json, root, "energy_price_per_year", spec->energy_price);
  hr__json_number(json, root, "wages_per_year", spec->wages);
  hr__json_number(json, root, "discount_rate", spec->discount_rate);
  hr__json_number(json, root, "tax_rate", spec->tax_rate);
  hr__json_text(json, root, "tax_depreciation", spec->macrs ? "macrs-5" : "straight-line");
}

/* ---- Purchases --------------------------------------------------------------------------------------- */

/* Writes the purchases of a pool, as they are in the first year: price and amortized cost of all its nodes. */
static void put_capital(struct hr__json *json, cJSON *array, const struct hr_pool_spec *pool,
                        const struct hr_ownership *owned) {
  for (uint32_t i = 0; i < owned->n_capital; i++) {
    const struct hr_capital *capital = &owned->capital[i];
    double usd = capital->usd * pool->nodes;
    double yearly = hr_amortized_usd(owned->amortization, owned->discount_rate, usd, usd * capital->residual_share,
                                     capital->life_years);
    cJSON *item = hr__json_append(json, array, cJSON_CreateObject());
    hr__json_text(json, item, "pool", pool->name);
    hr__json_text(json, item, "name", capital->name);
    hr__json_usd(json, item, "usd", llround(usd * 1e6));
    hr__json_number(json, item, "lifetime_years", capital->life_years);
    hr__json_number(json, item, "residual_share", capital->residual_share);
    hr__json_text(json, item, "amortization", hr_amortization_name(owned->amortization));
    hr__json_number(json, item, "discount_rate", owned->discount_rate);
    hr__json_usd(json, item, "monthly_usd", llround(yearly / 12 * 1e6));
  }
}

/* ---- Options ----------------------------------------------------------------------------------------- */

static void put_parts(struct hr__json *json, cJSON *object, const int64_t *uusd) {
  for (unsigned part = 0; part < HR_N_COST_PARTS; part++)
    hr__json_usd(json, object, hr_cost_part_name((enum hr_cost_part)part), uusd[part]);
}

static void put_year(struct hr__json *json, cJSON *array, const struct hr__tco_path *path, uint32_t year) {
  cJSON *object = hr__json_append(json, array, cJSON_CreateObject());
  hr__json_count(json, object, "year", year + 1);
  hr__json_number(json, object, "gpus", path->gpus[year]);
  hr__json_number(json, object, "gpu_hours", path->capacity_gpu_hours[year]);
  hr__json_number(json, object, "available_gpu_hours", path->available_gpu_hours[year]);
  hr__json_number(json, object, "held_gpu_hours", path->held_gpu_hours[year]);
  hr__json_number(json, object, "useful_gpu_hours", path->useful_gpu_hours[year]);
  hr__json_usd(json, object, "usd", hr__tco_year_uusd(path, year));
  put_parts(json, hr__json_object(json, object, "parts"), path->uusd[year]);
  hr__json_usd(json, object, "bought_usd", path->bought_uusd[year]);
  hr__json_usd(json, object, "sold_usd", path->sold_uusd[year]);
  hr__json_usd(json, object, "paid_usd", hr__tco_paid_uusd(path, year));
}

static void put_totals(struct hr__json *json, cJSON *object, const struct hr__tco_path *path) {
  int64_t uusd = 0, paid_uusd = 0, parts[HR_N_COST_PARTS] = {0};
  for (uint32_t year = 0; year < path->years; year++) {
    uusd += hr__tco_year_uusd(path, year);
    paid_uusd += hr__tco_paid_uusd(path, year);
    for (unsigned part = 0; part < HR_N_COST_PARTS; part++) parts[part] += path->uusd[year][part];
  }
  hr__json_usd(json, object, "usd", uusd);
  put_parts(json, hr__json_object(json, object, "parts"), parts);
  hr__json_usd(json, object, "paid_usd", paid_uusd);
}

static void put_figures(struct hr__json *json, cJSON *object, const struct hr__tco_option *option) {
  static const char *const names[HR__TCO_N_FIGURES] = {
      "availability", "ettr",    "utilization",       "usd_per_gpu_hour", "usd_per_useful_gpu_hour",
      "total_usd",    "npv_usd", "after_tax_npv_usd", "wait_p95_s"};
  for (unsigned f = 0; f < HR__TCO_N_FIGURES; f++) put_interval(json, object, names[f], &option->figures[f]);
}

static void put_option(struct hr__json *json, cJSON *array, const struct hr_tco *tco,
                       const struct hr__tco_option *option) {
  cJSON *object = hr__json_append(json, array, cJSON_CreateObject());
  hr__json_text(json, object, "name", option->name);
  hr__json_text(json, object, "kind", hr__tco_kind_name(option->kind));
  cJSON *pools = hr__json_array(json, object, "pools");
  for (uint32_t i = 0; i < option->n_pools; i++)
    hr__json_append(json, pools, cJSON_CreateString(hr__tco_pool(tco, option, i)->name));
  hr__json_bool(json, object, "random", option->random);
  hr__json_bool(json, object, "knows_failures", option->knows_failures);
  hr__json_bool(json, object, "serves", hr__tco_serves(tco, option));
  put_figures(json, object, option);
  cJSON *capital = hr__json_array(json, object, "capital");
  for (uint32_t i = 0; i < option->n_pools; i++) {
    const struct hr_ownership *owned = hr__tco_source(tco, option, i)->ownership;
    if (owned) put_capital(json, capital, hr__tco_pool(tco, option, i), owned);
  }
  put_totals(json, hr__json_object(json, object, "total"), &option->mean);
  cJSON *years = hr__json_array(json, object, "by_year");
  for (uint32_t year = 0; year < option->mean.years; year++) put_year(json, years, &option->mean, year);
}

static void put_pair(struct hr__json *json, cJSON *array, const struct hr_tco *tco, const struct hr__tco_pair *pair) {
  cJSON *object = hr__json_append(json, array, cJSON_CreateObject());
  hr__json_text(json, object, "option", tco->options[pair->option].name);
  hr__json_text(json, object, "other", tco->options[pair->other].name);
  put_interval(json, object, "utilization", &pair->utilization);
  put_interval(json, object, "hours", &pair->hours);
}

static cJSON *make_tree(struct hr__json *json, const struct hr_tco *tco) {
  cJSON *root = cJSON_CreateObject();
  hr__json_text(json, root, "headroom", hr_version());
  hr__json_text(json, root, "scenario", tco->scenario->name);
  cJSON *trace = hr__json_object(json, root, "trace");
  hr__json_text(json, trace, "file", tco->config.trace->source);
  hr__json_text(json, trace, "format", tco->config.trace->format);
  hr__json_seed(json, root, "seed", tco->scenario->seed);
  hr__json_count(json, root, "replications", tco->n_replications);
  hr__json_number(json, root, "confidence", tco->confidence);
  put_spec(json, hr__json_object(json, root, "tco"), &tco->spec);
  cJSON *options = hr__json_array(json, root, "options");
  for (uint32_t k = 0; k < tco->n_options; k++) put_option(json, options, tco, &tco->options[k]);
  cJSON *pairs = hr__json_array(json, root, "break_even");
  for (uint32_t p = 0; p < tco->n_pairs; p++) put_pair(json, pairs, tco, &tco->pairs[p]);
  cJSON *notes = hr__json_array(json, root, "notes");
  hr__json_notes(json, notes, &tco->scenario->notes);
  hr__json_notes(json, notes, &tco->config.trace->notes);
  hr__json_notes(json, notes, &tco->notes);
  return root;
}

char *hr_tco_json(const struct hr_tco *tco) {
  struct hr__json json = {false};
  cJSON *root = make_tree(&json, tco);
  return hr__json_print(&json, root);
}

enum hr_status hr_tco_write_json(const char *path, const struct hr_tco *tco, struct hr_error *error) {
  struct hr__json json = {false};
  cJSON *root = make_tree(&json, tco);
  return hr__json_write(&json, root, path, error);
}
