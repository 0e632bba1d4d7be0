/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `costs`: storage, egress, operations, downtime, budgets and savings plans.
 *
 * The key table has checked the bounds of numbers. Names of pools and GPU types are checked here. Each array is stored
 * in the scenario, with its count, before its entries are read, so that hr_cost_spec_finish() frees it also after an
 * error.
 */

#include "scenarios/build/builder.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MB_PER_GB = 1000 };

/* Converts a member from decimal gigabytes to megabytes. The result is rounded to a whole number. */
static uint64_t megabytes_of(const cJSON *object, const char *name) {
  return (uint64_t)hr__money_scale(hr__micros_of(object, name, 0), MB_PER_GB, 1000000);
}

/* Copies the text of the member `name`. `copy` is not changed if the member does not exist. */
static enum hr_status copy_text(const struct hr__builder *builder, const cJSON *object, const char *name, char **copy) {
  const char *text = hr__text_of(object, name, NULL);
  if (text) *copy = strdup(text);
  return text && !*copy ? hr__build_no_memory(builder) : HR_OK;
}

static size_t length_of(const cJSON *list) {
  return (size_t)cJSON_GetArraySize(list);
}

/* Enters entry `index` of a list. If `index` is 0, the list must be the current value. Otherwise the previous entry
   must be the current value; it is left first. */
static void enter_entry(struct hr__builder *builder, uint32_t index) {
  if (index) hr__build_leave(builder);
  hr__place_enter(&builder->place, index, NULL);
}

/* ---- Storage and egress ----------------------------------------------------------------------------- */

static enum hr_status build_datasets(struct hr__builder *builder, const cJSON *storage, struct hr_storage_cost *cost) {
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(storage, "datasets");
  if (!list) return HR_OK;
  cost->datasets = calloc(length_of(list), sizeof *cost->datasets);
  if (!cost->datasets) return hr__build_no_memory(builder);
  for (const cJSON *entry = list->child; entry; entry = entry->next) {
    struct hr_dataset *dataset = &cost->datasets[cost->n_datasets++];
    dataset->mb = megabytes_of(entry, "gb");
    if (copy_text(builder, entry, "tenant", &dataset->tenant) != HR_OK) return HR_NO_MEMORY;
  }
  return HR_OK;
}

static enum hr_status build_storage(struct hr__builder *builder, const cJSON *costs, struct hr_storage_cost *cost) {
  const cJSON *storage = cJSON_GetObjectItemCaseSensitive(costs, "storage");
  cost->uusd_per_gb_month = hr__micros_of(storage, "usd_per_gb_month", 0);
  cost->checkpoint_retention_us = hr__span_of(storage, "checkpoint_retention_s", 0);
  return build_datasets(builder, storage, cost);
}

/* Reads a number of gigabytes for each class and stores it as megabytes. "default" applies to classes that are not
   listed. */
static enum hr_status build_by_class(struct hr__builder *builder, const cJSON *egress, const char *name,
                                     uint64_t mb[HR_N_CLASSES]) {
  const cJSON *by_class = hr__build_enter(builder, egress, name);
  if (!by_class) return HR_OK;
  uint64_t fallback = megabytes_of(by_class, hr__default_key);
  for (unsigned i = 0; i < HR_N_CLASSES; i++) mb[i] = fallback;
  uint32_t ordinal = 0;
  for (const cJSON *member = by_class->child; member; member = member->next) {
    hr__place_enter(&builder->place, ordinal++, member->string);
    unsigned class_ = hr__class_of(member->string);
    if (class_ == HR_CLASS_UNKNOWN) return hr__unknown_class(builder, member->string);
    if (class_ < HR_N_CLASSES) mb[class_] = megabytes_of(by_class, member->string);
    hr__build_leave(builder);
  }
  hr__build_leave(builder);
  return HR_OK;
}

static enum hr_status build_egress(struct hr__builder *builder, const cJSON *costs, struct hr_egress_cost *cost) {
  const cJSON *egress = hr__build_enter(builder, costs, "egress");
  if (!egress) return HR_OK;
  cost->uusd_per_gb = hr__micros_of(egress, "usd_per_gb", 0);
  enum hr_status status = build_by_class(builder, egress, "gb_per_gpu_hour", cost->mb_per_gpu_hour);
  if (status == HR_OK) status = build_by_class(builder, egress, "gb_per_job", cost->mb_per_job);
  if (status == HR_OK) hr__build_leave(builder);
  return status;
}

/* ---- Operations and downtime ------------------------------------------------------------------------ */

static void build_fixed(const cJSON *costs, struct hr_cost_spec *spec) {
  const cJSON *operations = cJSON_GetObjectItemCaseSensitive(costs, "operations");
  const cJSON *downtime = cJSON_GetObjectItemCaseSensitive(costs, "downtime");
  spec->operations.uusd_per_month = hr__micros_of(operations, "usd_per_month", 0);
  spec->operations.uusd_per_node_month = hr__micros_of(operations, "usd_per_node_month", 0);
  spec->downtime.uusd_per_gpu_hour = hr__micros_of(downtime, "usd_per_gpu_hour", 0);
  spec->downtime.uusd_per_missed_deadline = hr__micros_of(downtime, "usd_per_missed_deadline", 0);
}

/* ---- Budgets ---------------------------------------------------------------------------------------- */

static enum hr_status check_budget(struct hr__builder *builder, const cJSON *entry, const struct hr_cost_spec *spec) {
  const char *tenant = hr__text_of(entry, "tenant", "");
  for (size_t i = 0; i < spec->n_budgets; i++)
    if (spec->budgets[i].tenant && strcmp(spec->budgets[i].tenant, tenant) == 0)
      return hr__build_fail_at(builder, entry, "tenant", "duplicate budget for '%.60s'; keep one", tenant);
  return HR_OK;
}

static enum hr_status build_budgets(struct hr__builder *builder, const cJSON *costs, struct hr_cost_spec *spec) {
  const cJSON *list = hr__build_enter(builder, costs, "budgets");
  if (!list) return HR_OK;
  spec->budgets = calloc(length_of(list), sizeof *spec->budgets);
  if (!spec->budgets) return hr__build_no_memory(builder);
  uint32_t index = 0;
  for (const cJSON *entry = list->child; entry; entry = entry->next) {
    struct hr_budget budget = {.uusd_per_month = hr__micros_of(entry, "usd_per_month", 0)};
    enter_entry(builder, index++);
    enum hr_status status = check_budget(builder, entry, spec);
    if (status == HR_OK) status = copy_text(builder, entry, "tenant", &budget.tenant);
    if (status != HR_OK) return status;
    spec->budgets[spec->n_budgets++] = budget;
  }
  hr__build_leave(builder);
  hr__build_leave(builder);
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
static enum hr_status check_covered(const struct hr__builder *builder, const char *name, pool_text *text_of) {
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
    status = hr__build_fail(builder, false, "no on-demand pool has the %s '%.60s'%s%s%s",
                            text_of == name_of ? "name" : "GPU type", name, nearest ? "; did you mean '" : "",
                            nearest ? nearest : "", nearest ? "'?" : "");
  free(known);
  return status;
}

static enum hr_status build_covered(struct hr__builder *builder, const cJSON *entry, const char *key,
                                    pool_text *text_of, char ***names, size_t *count) {
  const cJSON *list = hr__build_enter(builder, entry, key);
  if (!list) return HR_OK;
  *names = calloc(length_of(list), sizeof **names);
  if (!*names) return hr__build_no_memory(builder);
  uint32_t index = 0;
  for (const cJSON *name = list->child; name; name = name->next) {
    enter_entry(builder, index++);
    enum hr_status status = check_covered(builder, name->valuestring, text_of);
    if (status != HR_OK) return status;
    (*names)[*count] = strdup(name->valuestring);
    if (!(*names)[(*count)++]) return hr__build_no_memory(builder);
  }
  hr__build_leave(builder);
  hr__build_leave(builder);
  return HR_OK;
}

static enum hr_status build_plan(struct hr__builder *builder, const cJSON *entry, struct hr_savings_plan *plan) {
  plan->uusd_per_h = hr__micros_of(entry, "usd_per_hour", 0);
  plan->discount_ppm = (uint32_t)hr__micros_of(entry, "discount", 0);
  enum hr_status status = build_covered(builder, entry, "pools", name_of, &plan->pools, &plan->n_pools);
  if (status == HR_OK) status = build_covered(builder, entry, "gpus", gpu_of, &plan->gpus, &plan->n_gpus);
  return status;
}

static enum hr_status build_plans(struct hr__builder *builder, const cJSON *costs, struct hr_cost_spec *spec) {
  const cJSON *list = hr__build_enter(builder, costs, "savings_plans");
  if (!list) return HR_OK;
  spec->plans = calloc(length_of(list), sizeof *spec->plans);
  if (!spec->plans) return hr__build_no_memory(builder);
  uint32_t index = 0;
  for (const cJSON *entry = list->child; entry; entry = entry->next) {
    enter_entry(builder, index++);
    enum hr_status status = build_plan(builder, entry, &spec->plans[spec->n_plans++]);
    if (status != HR_OK) return status;
  }
  hr__build_leave(builder);
  hr__build_leave(builder);
  return HR_OK;
}

enum hr_status hr__build_costs(struct hr__builder *builder) {
#define WORD(name, text) text,
  static const char *const splits[] = {HR_IDLE_SPLIT_TABLE(WORD) NULL};
#undef WORD
  const cJSON *costs = hr__build_enter(builder, builder->source.file.tree, "costs");
  if (!costs) return HR_OK;
  struct hr_cost_spec *spec = &builder->scenario->costs;
  spec->idle_split = (enum hr_idle_split)hr__choice_of(costs, "idle_split", splits, HR_IDLE_SPLIT_NONE);
  build_fixed(costs, spec);
  enum hr_status status = build_storage(builder, costs, &spec->storage);
  if (status == HR_OK) status = build_egress(builder, costs, &spec->egress);
  if (status == HR_OK) status = build_budgets(builder, costs, spec);
  if (status == HR_OK) status = build_plans(builder, costs, spec);
  if (status == HR_OK) hr__build_leave(builder);
  return status;
}
