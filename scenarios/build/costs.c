/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `costs`: storage, egress, operations, downtime, budgets and savings plans.
 *
 * The key table stores all values. Only names are checked here: those of tenants, pools and GPU types.
 */

#include "scenarios/build/builder.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static enum hr_status check_budgets(struct hr__builder *builder, const cJSON *list, const struct hr_cost_spec *spec) {
  size_t i = 0;
  for (const cJSON *entry = list ? list->child : NULL; entry; entry = entry->next, i++)
    for (size_t k = 0; k < i; k++)
      if (strcmp(spec->budgets[i].tenant, spec->budgets[k].tenant) == 0)
        return hr__build_fail_at(builder, entry, "tenant", "duplicate budget for '%.60s'; keep one",
                                 spec->budgets[i].tenant);
  return HR_OK;
}

/* ---- Savings plans ---------------------------------------------------------------------------------- */

/* A function that returns the text by which a savings plan selects pools. There are two such functions: one returns
   the name of a pool, the other returns its GPU type. */
typedef const char *pool_text(const struct hr_pool_spec *pool);

static const char *name_of(const struct hr_pool_spec *pool) {
  return pool->name;
}

static const char *gpu_of(const struct hr_pool_spec *pool) {
  return pool->gpu;
}

/* Checks that an on-demand pool has `name` as its name or GPU type. Savings plans apply to on-demand capacity only. */
static enum hr_status check_covered(const struct hr__builder *builder, const cJSON *value, pool_text *text_of) {
  const char *name = value->valuestring;
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  const char **known = calloc((size_t)cluster->n_pools + 1, sizeof *known);
  if (!known) return hr__build_no_memory(builder);
  size_t count = 0;
  bool found = false;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    if (cluster->pools[i].market.market != HR_MARKET_ON_DEMAND) continue;
    known[count++] = text_of(&cluster->pools[i]);
    found = found || strcasecmp(known[count - 1], name) == 0;
  }
  const char *nearest = hr_nearest_word(name, known);
  enum hr_status status = HR_OK;
  if (!found)
    status = hr__build_fail(builder, value, "no on-demand pool has the %s '%.60s'%s%s%s",
                            text_of == name_of ? "name" : "GPU type", name, nearest ? "; did you mean '" : "",
                            nearest ? nearest : "", nearest ? "'?" : "");
  free(known);
  return status;
}

static enum hr_status check_plans(struct hr__builder *builder, const cJSON *list) {
  for (const cJSON *plan = list ? list->child : NULL; plan; plan = plan->next) {
    const cJSON *name;
    enum hr_status status = HR_OK;
    cJSON_ArrayForEach(name, hr__get(plan, "pools")) if (status == HR_OK) status =
        check_covered(builder, name, name_of);
    cJSON_ArrayForEach(name, hr__get(plan, "gpus")) if (status == HR_OK) status = check_covered(builder, name, gpu_of);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

enum hr_status hr__build_costs(struct hr__builder *builder) {
  const cJSON *costs = hr__get(builder->source.file.tree, "costs");
  struct hr_cost_spec *spec = &builder->scenario->costs;
  enum hr_status status = hr__read(builder, costs, hr__table_of(&hr__scenario_keys, "costs"), spec);
  if (status == HR_OK) status = check_budgets(builder, hr__get(costs, "budgets"), spec);
  return status == HR_OK ? check_plans(builder, hr__get(costs, "savings_plans")) : status;
}
