/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of items, and who is in it. */

#include "report/cost_items.h"

#include <stdlib.h>
#include <string.h>

uint32_t hr__costing_tenant(const struct hr__costing *costing, const char *name) {
  for (uint32_t i = 0; i < costing->n_tenants; i++)
    if (i != costing->nobody && strcmp(costing->tenants[i], name) == 0) return i;
  return HR_NONE;
}

static void add_tenant(struct hr__costing *costing, const char *name) {
  if (name && hr__costing_tenant(costing, name) == HR_NONE) costing->tenants[costing->n_tenants++] = name;
}

static enum hr_status list_tenants(struct hr__costing *costing) {
  static const struct hr_cost_spec nothing;
  const struct hr_cost_spec *spec = costing->basis->spec ? costing->basis->spec : &nothing;
  const struct hr_names *names = &costing->trace->tenants;
  costing->tenants = calloc(names->count + spec->storage.n_datasets + spec->n_budgets + 1, sizeof *costing->tenants);
  if (!costing->tenants) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < names->count; i++) costing->tenants[i] = names->text[i];
  costing->nobody = names->count;
  costing->tenants[names->count] = "";
  costing->n_tenants = names->count + 1;
  for (size_t i = 0; i < spec->storage.n_datasets; i++) add_tenant(costing, spec->storage.datasets[i].tenant);
  for (size_t i = 0; i < spec->n_budgets; i++) add_tenant(costing, spec->budgets[i].tenant);
  return HR_OK;
}

static bool has_gpu(const struct hr_pool_spec *pool, const char *gpu) {
  return strcmp(hr__name_or_nothing(pool->gpu), gpu) == 0;
}

/* Of those with nodes, so that types stand in the same order whatever pools there are without nodes. */
static uint32_t first_of(const struct hr_cluster_spec *cluster, const char *gpu) {
  uint32_t first = 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->pools[i].nodes > 0 && has_gpu(&cluster->pools[i], gpu)) return i;
  while (!has_gpu(&cluster->pools[first], gpu)) first++;
  return first;
}

static enum hr_status list_gpus(struct hr__costing *costing) {
  const struct hr_cluster_spec *cluster = costing->cluster;
  costing->first_of_gpu = calloc((size_t)cluster->n_pools + 1, sizeof *costing->first_of_gpu);
  if (!costing->first_of_gpu) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    costing->first_of_gpu[i] = first_of(cluster, hr__name_or_nothing(cluster->pools[i].gpu));
  return HR_OK;
}

static uint32_t months_until(int64_t at_us) {
  return (uint32_t)((at_us + HR_MONTH_US - 1) / HR_MONTH_US);
}

/* A reserved window is paid for to its end, even beyond that of the run. */
static uint32_t count_months(const struct hr__costing *costing) {
  const struct hr_cluster_spec *cluster = costing->cluster;
  const struct hr_charge *charges = NULL;
  size_t n_charges = hr_ledger_charges(costing->basis->ledger, &charges);
  uint32_t months = months_until(costing->result->end_us);
  for (size_t i = 0; i < n_charges; i++)
    if (months <= charges[i].account.month) months = charges[i].account.month + 1;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_market_spec *market = &cluster->pools[i].market;
    if (market->market != HR_MARKET_RESERVED || market->to_us == HR_NEVER_US) continue;
    if (cluster->pools[i].nodes == 0) continue;
    if (months < months_until(market->to_us)) months = months_until(market->to_us);
  }
  return months ? months : 1;
}

enum hr_status hr__costing_init(struct hr__costing *costing, const struct hr_trace *trace,
                                const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                const struct hr_cost_basis *basis) {
  *costing = (struct hr__costing){.trace = trace, .cluster = cluster, .result = result, .basis = basis};
  costing->n_months = count_months(costing);
  enum hr_status status = list_tenants(costing);
  return status == HR_OK ? list_gpus(costing) : status;
}

void hr__costing_finish(struct hr__costing *costing) {
  free(costing->tenants);
  free(costing->first_of_gpu);
  free(costing->items);
}

enum hr_status hr__costing_add(struct hr__costing *costing, struct hr__cost_item item) {
  if (costing->n_items == costing->capacity) {
    size_t capacity = costing->capacity ? 2 * costing->capacity : 64;
    struct hr__cost_item *items = realloc(costing->items, capacity * sizeof *items);
    if (!items) return HR_NO_MEMORY;
    costing->items = items;
    costing->capacity = capacity;
  }
  costing->items[costing->n_items++] = item;
  return HR_OK;
}
