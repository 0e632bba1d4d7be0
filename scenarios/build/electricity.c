/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `carbon`, `energy_price` and `wue_l_per_kwh` of a pool or of the cluster: the known properties of the electricity of
 * pools.
 *
 * Each of the three keys of a pool replaces that of the cluster. A series is read once for each object that describes
 * it. Series, and the structs to which pools refer, belong to a set, which belongs to the scenario.
 */

#include "scenarios/build/builder.h"

#include "base/array.h"
#include "traces/core/numbers.h"

#include <stdlib.h>

/* A series and the object that describes it. */
struct described_series {
  const cJSON *from;
  struct hr_series *series;
};

struct hr_electricity_set {
  struct described_series *series;
  uint32_t n_series, series_capacity;
  struct hr_electricity *pools; /* by pool */
};

void hr__electricity_destroy(struct hr_electricity_set *set) {
  if (!set) return;
  for (uint32_t i = 0; i < set->n_series; i++) hr_series_destroy(set->series[i].series);
  free(set->series);
  free(set->pools);
  free(set);
}

/* ---- Series ------------------------------------------------------------------------------------------- */

/* The differences between series of carbon and series of prices. */
struct series_kind {
  const char *constant; /* key of a constant value */
  const char *const *units;
  struct {
    uint64_t num, den;
  } factors[3]; /* by unit */
  const char *noun;
  bool may_be_negative;
};

/* A pound is 453.59237 g. */
static const struct series_kind carbon_kind = {
    "g_per_kwh", hr__carbon_units, {{1, 1}, {1, 1}, {45359237, 100000000}}, "carbon intensity", false};
static const struct series_kind price_kind = {
    "usd_per_kwh", hr__price_units, {{1, 1}, {1, 1000}, {0, 1}}, "price of energy", true};

static enum hr_status read_series(struct hr__builder *builder, const cJSON *object, const struct series_kind *kind,
                                  struct hr_series **series) {
  size_t unit = hr__choice_of(object, "unit", kind->units, 0);
  struct hr__series_query query = {.zone = hr__text_of(object, "zone", NULL),
                                   .column = hr__text_of(object, "column", NULL),
                                   .factor_num = kind->factors[unit].num,
                                   .factor_den = kind->factors[unit].den,
                                   .noun = kind->noun,
                                   .may_be_negative = kind->may_be_negative,
                                   .is_utc = cJSON_IsTrue(hr__get(object, "utc")),
                                   .holds_gaps = strcmp(hr__text_of(object, "gaps", "error"), "hold") == 0,
                                   .repeats = strcmp(hr__text_of(object, "after", "hold"), "repeat") == 0};
  const cJSON *file = hr__get(object, "file");
  char *path = hr__resolve(builder, file->valuestring);
  struct hr_error inner;
  if (!path) return hr__build_no_memory(builder);
  enum hr_status status = hr__series_read(path, &query, series, &inner);
  free(path);
  if (status == HR_OK) return HR_OK;
  return status == HR_BAD_INPUT ? hr_fail(builder->error, status, "%s", inner.text)
                                : hr__build_wrap(builder, file, status, &inner);
}

/* Returns the series that an object describes; NULL if it describes none. */
static enum hr_status build_series(struct hr__builder *builder, const cJSON *object, const struct series_kind *kind,
                                   const struct hr_series **found) {
  struct hr_electricity_set *set = builder->scenario->electricity;
  const cJSON *file = hr__get(object, "file"), *constant = hr__get(object, kind->constant);
  struct hr_series *series = NULL;
  *found = NULL;
  for (uint32_t i = 0; i < set->n_series; i++)
    if (set->series[i].from == object) *found = set->series[i].series;
  if (*found || (!file && !constant)) return HR_OK;
  if (file && constant)
    return hr__build_fail_at(builder, object, kind->constant, "'file' and '%s' exclude each other; keep one",
                             kind->constant);
  const struct hr__idle_key idle[] = {{"unit", kind->constant, true},
                                      {"zone", kind->constant, true},
                                      {"column", kind->constant, true},
                                      {"gaps", kind->constant, true},
                                      {"after", kind->constant, true},
                                      {"utc", kind->constant, true},
                                      {NULL, NULL, false}};
  enum hr_status idle_status = hr__build_check_idle(builder, object, idle);
  if (idle_status != HR_OK) return idle_status;
  if (!HR__ARRAY_HAS_ROOM(set->series, set->n_series, set->series_capacity)) return hr__build_no_memory(builder);
  if (file) {
    enum hr_status status = read_series(builder, object, kind, &series);
    if (status != HR_OK) return status;
  } else {
    int64_t at_us = 0, micros = hr__micros(constant);
    series = hr_series_create(&at_us, &micros, 1, false);
    if (!series) return hr__build_no_memory(builder);
  }
  set->series[set->n_series++] = (struct described_series){object, series};
  *found = series;
  return HR_OK;
}

/* Reads the key `start`; HR_NEVER_US without it. */
static enum hr_status read_start(struct hr__builder *builder, const cJSON *object, int64_t *start_us) {
  const char *text = hr__text_of(object, "start", NULL);
  bool zoned;
  *start_us = HR_NEVER_US;
  if (!text) return HR_OK;
  if (hr__date_parse((struct hr_text){text, strlen(text)}, start_us, &zoned) && zoned) return HR_OK;
  return hr__build_fail_at(builder, object, "start",
                           "'%.60s' is not an instant in UTC; expected is a date with an offset, like "
                           "2022-10-19T16:00Z",
                           text);
}

/* ---- Pools -------------------------------------------------------------------------------------------- */

/* Returns a key of a pool, or else of the cluster. */
static const cJSON *inherited(const struct hr__builder *builder, const cJSON *entry, const char *name) {
  const cJSON *own = hr__get(entry, name);
  return own ? own : hr__get(hr__get(builder->source.file.tree, "cluster"), name);
}

static enum hr_status build_carbon(struct hr__builder *builder, const cJSON *entry, struct hr_electricity *built) {
  const cJSON *carbon = inherited(builder, entry, "carbon");
  if (!carbon) return HR_OK;
  enum hr_status status = hr__read(builder, carbon, hr__carbon_keys, built);
  if (status == HR_OK) status = build_series(builder, carbon, &carbon_kind, &built->carbon);
  if (status == HR_OK) status = read_start(builder, carbon, &built->carbon_start_us);
  if (status != HR_OK || built->carbon || built->embodied_ug > 0) return status;
  return hr__build_fail(builder, carbon, "'carbon' has no carbon intensity; set 'file' or 'g_per_kwh'");
}

static enum hr_status build_price(struct hr__builder *builder, const cJSON *entry, struct hr_electricity *built) {
  const cJSON *price = inherited(builder, entry, "energy_price");
  if (!price) return HR_OK;
  enum hr_status status = build_series(builder, price, &price_kind, &built->price);
  if (status == HR_OK) status = read_start(builder, price, &built->price_start_us);
  if (status != HR_OK || built->price) return status;
  return hr__build_fail(builder, price, "'energy_price' has no price; set 'file' or 'usd_per_kwh'");
}

static enum hr_status build_pool(struct hr__builder *builder, const cJSON *entry, struct hr_pool_spec *pool,
                                 struct hr_electricity *built) {
  const cJSON *water = inherited(builder, entry, "wue_l_per_kwh");
  *built = (struct hr_electricity){.carbon_start_us = HR_NEVER_US, .price_start_us = HR_NEVER_US};
  enum hr_status status = build_carbon(builder, entry, built);
  if (status == HR_OK) status = build_price(builder, entry, built);
  if (water) built->water_ul_kwh = hr__micros(water);
  if (built->carbon || built->price || built->water_ul_kwh || built->embodied_ug) pool->electricity = built;
  return status;
}

/* Average and marginal intensities must not be added or compared. */
static enum hr_status check_signals(struct hr__builder *builder) {
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  const struct hr_pool_spec *first = NULL;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *pool = &cluster->pools[i];
    if (!pool->electricity || !pool->electricity->carbon) continue;
    if (!first) first = pool;
    if (first->electricity->signal == pool->electricity->signal) continue;
    return hr__build_fail(builder, hr__nodes_place(builder),
                          "pool '%.60s' has the carbon signal %s and pool '%.60s' %s; they cannot be compared, so all "
                          "pools must have the same",
                          first->name, hr_carbon_signal_name(first->electricity->signal), pool->name,
                          hr_carbon_signal_name(pool->electricity->signal));
  }
  return HR_OK;
}

/* Energy, carbon, costs and water are known only if the power is known. */
static enum hr_status note_without_power(struct hr__builder *builder) {
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  const struct hr_pool_spec *first = NULL;
  uint32_t count = 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *pool = &cluster->pools[i];
    if (!pool->electricity || pool->power || pool->nodes == 0) continue;
    if (!pool->electricity->carbon && !pool->electricity->price && !pool->electricity->water_ul_kwh) continue;
    if (count++ == 0) first = pool;
  }
  if (!first) return HR_OK;
  enum hr_status status =
      hr_notes_add(&builder->scenario->notes,
                   "pool '%.60s'%s: carbon, cost and water of electricity are not computed without 'power'",
                   first->name, count > 1 ? " and others" : "");
  return status == HR_OK ? HR_OK : hr__build_no_memory(builder);
}

/* Jobs cannot wait for electricity with less carbon if no carbon intensity is known. */
static enum hr_status check_policy(struct hr__builder *builder) {
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  const cJSON *policy = hr__get(builder->source.file.tree, "policy");
  const char *rule = hr__text_of(policy, "carbon", "no-wait");
  bool any = strcmp(rule, "no-wait") == 0 || strcmp(rule, "all-wait") == 0 || cluster->n_pools == 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    any = any || (cluster->pools[i].electricity && cluster->pools[i].electricity->carbon);
  if (any) return HR_OK;
  return hr__build_fail_at(builder, policy, "carbon",
                           "with 'carbon' %.40s, jobs wait for electricity with less carbon, but no pool has a carbon "
                           "intensity; set 'cluster.carbon'",
                           rule);
}

enum hr_status hr__build_electricity(struct hr__builder *builder) {
  static const char *const keys[] = {"carbon", "energy_price", "wue_l_per_kwh"};
  struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  const cJSON *root = hr__get(builder->source.file.tree, "cluster"), *pools = hr__get(root, "pools");
  const cJSON *entry = pools ? pools->child : NULL;
  bool any = false;
  for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
    any = any || hr__has(root, keys[k]);
    for (const cJSON *each = entry; each && !any; each = each->next) any = hr__has(each, keys[k]);
  }
  if (!any || cluster->n_pools == 0) return check_policy(builder);
  struct hr_electricity_set *set = calloc(1, sizeof *set);
  if (!set) return hr__build_no_memory(builder);
  builder->scenario->electricity = set;
  set->pools = calloc(cluster->n_pools, sizeof *set->pools);
  if (!set->pools) return hr__build_no_memory(builder);
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < cluster->n_pools && status == HR_OK; i++) {
    status = build_pool(builder, entry, &cluster->pools[i], &set->pools[i]);
    if (entry) entry = entry->next;
  }
  if (status == HR_OK) status = check_signals(builder);
  if (status == HR_OK) status = note_without_power(builder);
  return status == HR_OK ? check_policy(builder) : status;
}
