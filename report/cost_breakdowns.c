/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The total by market, pool, class and GPU type: one walk over the items for each. */

#include "report/cost_tables.h"

#include <stdlib.h>
#include <string.h>

const char hr__idle_name[] = "(idle)", hr__shared_name[] = "(shared)", hr__services_name[] = "(services)";

enum hr_status hr__cost_line_add(struct hr_cost_lines *lines, const char *name, int64_t uusd) {
  char *copy = strdup(name);
  if (!copy) return HR_NO_MEMORY;
  lines->line[lines->count++] = (struct hr_cost_line){copy, uusd};
  return HR_OK;
}

/* A breakdown: each item's key, HR_NONE for what has none, and each key's name. `of_pools`: the key follows from the
   item's pool alone. */
struct breakdown {
  uint32_t n_keys;
  bool of_pools;
  uint32_t (*key_of)(const struct hr__costing *costing, const struct hr__cost_item *item);
  const char *(*name_of)(const struct hr__costing *costing, uint32_t key);
};

static enum hr_status add_rest(const struct hr__costing *costing, const struct breakdown *breakdown,
                               struct hr_cost_lines *lines) {
  int64_t idle = 0, services = 0;
  for (size_t i = 0; i < costing->n_items; i++) {
    const struct hr__cost_item *item = &costing->items[i];
    if (breakdown->key_of(costing, item) != HR_NONE) continue;
    if (hr__is_service(item->kind))
      services += item->uusd;
    else
      idle += item->uusd;
  }
  enum hr_status status = idle ? hr__cost_line_add(lines, hr__idle_name, idle) : HR_OK;
  return status == HR_OK && services ? hr__cost_line_add(lines, hr__services_name, services) : status;
}

/* The keys of all pools that cost something, were it nothing this time: readers find them in every report. */
static void expect_pools(const struct hr__costing *costing, const struct breakdown *breakdown, bool *any) {
  for (uint32_t i = 0; i < costing->cluster->n_pools; i++)
    if (costing->cluster->pools[i].market.market != HR_MARKET_NONE)
      any[breakdown->key_of(costing, &(struct hr__cost_item){.pool = i})] = true;
}

/* Other keys that no item has are left out. */
static enum hr_status break_down(const struct hr__costing *costing, const struct breakdown *breakdown,
                                 struct hr_cost_lines *lines) {
  int64_t *sums = calloc(breakdown->n_keys + 1, sizeof *sums);
  bool *any = calloc(breakdown->n_keys + 1, sizeof *any);
  lines->line = calloc((size_t)breakdown->n_keys + 2, sizeof *lines->line);
  enum hr_status status = sums && any && lines->line ? HR_OK : HR_NO_MEMORY;
  if (status == HR_OK && breakdown->of_pools) expect_pools(costing, breakdown, any);
  for (size_t i = 0; i < costing->n_items && status == HR_OK; i++) {
    uint32_t key = breakdown->key_of(costing, &costing->items[i]);
    if (key == HR_NONE) continue;
    sums[key] += costing->items[i].uusd;
    any[key] = true;
  }
  for (uint32_t key = 0; key < breakdown->n_keys && status == HR_OK; key++)
    if (any[key]) status = hr__cost_line_add(lines, breakdown->name_of(costing, key), sums[key]);
  if (status == HR_OK) status = add_rest(costing, breakdown, lines);
  free(sums);
  free(any);
  return status;
}

static uint32_t pool_of(const struct hr__costing *costing, const struct hr__cost_item *item) {
  (void)costing;
  return item->pool;
}

static uint32_t market_of(const struct hr__costing *costing, const struct hr__cost_item *item) {
  return item->pool == HR_NONE ? HR_NONE : costing->cluster->pools[item->pool].market.market;
}

static uint32_t gpu_of(const struct hr__costing *costing, const struct hr__cost_item *item) {
  return item->pool == HR_NONE ? HR_NONE : costing->first_of_gpu[item->pool];
}

static uint32_t class_of(const struct hr__costing *costing, const struct hr__cost_item *item) {
  (void)costing;
  return item->kind == HR__COST_USE ? item->class_ : HR_NONE;
}

static const char *pool_name(const struct hr__costing *costing, uint32_t pool) {
  return hr__name_or_nothing(costing->cluster->pools[pool].name);
}

static const char *market_name(const struct hr__costing *costing, uint32_t market) {
  (void)costing;
  return hr_market_name((enum hr_market)market);
}

static const char *gpu_name(const struct hr__costing *costing, uint32_t pool) {
  return hr__name_or_nothing(costing->cluster->pools[pool].gpu);
}

static const char *class_name(const struct hr__costing *costing, uint32_t class_) {
  (void)costing;
  return hr_job_class_name((enum hr_job_class)class_);
}

enum hr_status hr__cost_breakdowns(const struct hr__costing *costing, struct hr_cost_summary *costs) {
  uint32_t n_pools = costing->cluster->n_pools;
  const struct breakdown by_market = {HR_N_MARKETS, true, market_of, market_name};
  const struct breakdown by_pool = {n_pools, true, pool_of, pool_name};
  const struct breakdown by_class = {HR_N_CLASSES, false, class_of, class_name};
  const struct breakdown by_gpu = {n_pools, true, gpu_of, gpu_name};
  enum hr_status status = break_down(costing, &by_market, &costs->by_market);
  if (status == HR_OK) status = break_down(costing, &by_pool, &costs->by_pool);
  if (status == HR_OK) status = break_down(costing, &by_class, &costs->by_class);
  return status == HR_OK ? break_down(costing, &by_gpu, &costs->by_gpu) : status;
}
