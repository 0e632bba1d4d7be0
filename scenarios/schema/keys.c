/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of keys. A new key is one line here, one in docs/reference/schemas/scenario.schema.json, and its use where
   its part of the scenario is built. */

#include "scenarios/schema/keys.h"

#include "headroom/cluster.h"
#include "headroom/gpu_inventory.h"
#include "headroom/report.h"
#include "headroom/unstable/experiments.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SECONDS ((double)(HR_MAX_INPUT_US / HR_SECOND_US))
#define MAX_CPUS 4294967.0 /* as milli-CPUs in 32 bits */
#define MAX_RUNS 100000.0  /* of nodes, in an order of them */
#define MAX_USD 1e9        /* as micro-dollars exact in a double */
#define MAX_SPEED 1e9      /* figures, in any unit */
#define MAX_LOG_S 25.0     /* e^25 s are 2,283 years */
#define LEAST_SCALE 1e-6   /* of what must be above zero */

#define WORD(name, text) text,
static const char *const every_market[] = {HR_MARKET_TABLE(WORD) NULL};
static const char *const spot_models[] = {HR_SPOT_MODEL_TABLE(WORD) NULL};
static const char *const sharings[] = {HR_SHARING_TABLE(WORD) NULL};
static const char *const mig_modes[] = {HR_MIG_MODE_TABLE(WORD) NULL};
static const char *const gpu_memories[] = {HR_GPU_MEMORY_TABLE(WORD) NULL};
static const char *const networks[] = {HR_NETWORK_TABLE(WORD) NULL};
static const char *const group_tiers[] = {"island", "numa", "node", "rack", "zone", NULL};
static const char *const terms[] = {"1y", "3y", NULL};
static const char *const upfronts[] = {"none", "partial", "all", NULL};
static const char *const spot_price_models[] = {"fixed", "trace", "ou", NULL};
static const char *const checkpoints[] = {HR_CHECKPOINT_TABLE(WORD) NULL};
static const char *const idle_splits[] = {HR_IDLE_SPLIT_TABLE(WORD) NULL};
static const char *const speed_defaults[] = {"catalogue", "same", NULL};
static const char *const distributions[] = {"fixed", "exponential", "log-normal", "weibull", NULL};

static const char *const blocks[] = {HR_BLOCKS_TABLE(WORD) NULL};

#define CLASS_WORD(name, text) text,
static const char *const job_classes[] = {HR_JOB_CLASS_TABLE(CLASS_WORD) NULL};

/* A length of time that is drawn. */
#define DURATION(path)                                                                                                 \
  {path, HR__KEY_OBJECT, false, 0, MAX_MEMBERS, NULL},                                                                 \
      {path ".distribution", HR__KEY_CHOICE, true, 0, 0, distributions},                                               \
      REAL(path ".mean_s", LEAST_SCALE, MAX_SECONDS), REAL(path ".mu", -MAX_LOG_S, MAX_LOG_S),                         \
      REAL(path ".sigma", 0, 10), REAL(path ".shape", 0.01, 100), REAL(path ".scale_s", LEAST_SCALE, MAX_SECONDS)

/* What a tenant or cohort may use. */
#define QUOTA(path)                                                                                                    \
  REAL(path ".guaranteed_gpus", 0, HR_MAX_GPUS), REAL(path ".guaranteed_share", 0, 1),                                 \
      REAL(path ".max_gpus", 0, HR_MAX_GPUS), REAL(path ".max_share", 0, 1),                                           \
      REAL(path ".borrow_gpus", 0, HR_MAX_GPUS), REAL(path ".lend_gpus", 0, HR_MAX_GPUS),                              \
      REAL(path ".weight", LEAST_SCALE, 1e6)

#define POOL(key) "cluster.pools.*" key

static const struct hr__key keys[] = {REQUIRED_OBJECT(""),
                                      TEXT("$schema", 0, MAX_TEXT),
                                      TEXT("name", 1, MAX_NAME),
                                      TEXT("description", 0, MAX_TEXT),
                                      OBJECT("trace"),
                                      TEXT("trace.file", 1, MAX_TEXT),
                                      TEXT("trace.format", 1, MAX_TEXT),
                                      OBJECT("trace.columns"),
                                      TEXT("trace.columns.*", 1, MAX_TEXT),
                                      BOOLEAN("trace.lenient"),
                                      OBJECT("catalog"),
                                      TEXT("catalog.gpus_file", 1, MAX_TEXT),
                                      TEXT("catalog.instances_file", 1, MAX_TEXT),
                                      TEXT("catalog.prices_file", 1, MAX_TEXT),
                                      TEXT("catalog.regions_file", 1, MAX_TEXT),
                                      TEXT("catalog.discounts_file", 1, MAX_TEXT),
                                      TEXT("catalog.spot_presets_file", 1, MAX_TEXT),
                                      TEXT("catalog.mig_profiles_file", 1, MAX_TEXT),
                                      TEXT("catalog.network_speeds_file", 1, MAX_TEXT),
                                      REQUIRED_OBJECT("cluster"),
                                      LIST("cluster.pools", 1, HR_MAX_POOLS),
                                      OBJECT(POOL("")),
                                      REQUIRED_TEXT(POOL(".name"), MAX_NAME),
                                      TEXT(POOL(".gpu"), 1, MAX_NAME),
                                      REQUIRED_WHOLE(POOL(".nodes"), 0, HR_MAX_NODES),
                                      WHOLE(POOL(".gpus_per_node"), 1, HR_MAX_GPUS),
                                      REAL(POOL(".cpu_per_node"), 0, MAX_CPUS),
                                      SCALAR(POOL(".cpu_per_gpu")),
                                      REAL(POOL(".mem_gb_per_node"), 0, 1e9),
                                      REAL(POOL(".gpu_mem_gb"), 0, 4e6),
                                      CHOICE(POOL(".sharing"), sharings),
                                      CHOICE(POOL(".memory"), gpu_memories),
                                      WHOLE(POOL(".replicas"), 1, HR_MPS_CLIENTS),
                                      WHOLE(POOL(".clients"), 1, HR_MPS_CLIENTS),
                                      OBJECT(POOL(".mig")),
                                      CHOICE(POOL(".mig.mode"), mig_modes),
                                      TEXT(POOL(".mig.layout"), 1, MAX_NAME),
                                      LIST(POOL(".mig.layout_of_gpus"), 1, HR_MAX_STOCK_GPUS),
                                      TEXT(POOL(".mig.layout_of_gpus.*"), 1, MAX_NAME),
                                      LIST(POOL(".mig.layouts"), 1, 100),
                                      TEXT(POOL(".mig.layouts.*"), 1, MAX_NAME),
                                      REAL(POOL(".mig.repartition_s"), 0, MAX_SECONDS),
                                      REAL(POOL(".mig.create_s"), 0, MAX_SECONDS),
                                      LIST(POOL(".interference"), 1, 100),
                                      OBJECT(POOL(".interference.*")),
                                      REQUIRED_REAL(POOL(".interference.*.up_to"), 0.001, 1),
                                      REQUIRED_REAL(POOL(".interference.*.speed"), 1e-6, 1),
                                      LIST(POOL(".interference_pairs"), 1, 10000),
                                      OBJECT(POOL(".interference_pairs.*")),
                                      REQUIRED_TEXT(POOL(".interference_pairs.*.model"), MAX_NAME),
                                      REQUIRED_TEXT(POOL(".interference_pairs.*.with"), MAX_NAME),
                                      REQUIRED_REAL(POOL(".interference_pairs.*.speed"), 1e-6, 1),
                                      OBJECT(POOL(".topology")),
                                      WHOLE(POOL(".topology.island_gpus"), 1, HR_MAX_STOCK_GPUS),
                                      WHOLE(POOL(".topology.numa_gpus"), 1, HR_MAX_STOCK_GPUS),
                                      WHOLE(POOL(".topology.nodes_per_rack"), 1, HR_MAX_NODES),
                                      WHOLE(POOL(".topology.racks_per_zone"), 1, HR_MAX_NODES),
                                      OBJECT(POOL(".topology.network")),
                                      CHOICE(POOL(".topology.network.island"), networks + 1),
                                      CHOICE(POOL(".topology.network.numa"), networks + 1),
                                      CHOICE(POOL(".topology.network.node"), networks + 1),
                                      CHOICE(POOL(".topology.network.rack"), networks + 1),
                                      CHOICE(POOL(".topology.network.zone"), networks + 1),
                                      CHOICE(POOL(".topology.network.pool"), networks + 1),
                                      REAL(POOL(".storage_gb_s"), 0, 1e9),
                                      LIST(POOL(".classes"), 1, HR_N_CLASSES - 1),
                                      CHOICE(POOL(".classes.*"), job_classes + 1),
                                      CHOICE(POOL(".market"), every_market + 1),
                                      TEXT(POOL(".provider"), 1, MAX_NAME),
                                      TEXT(POOL(".instance"), 1, MAX_NAME),
                                      TEXT(POOL(".region"), 1, MAX_NAME),
                                      TEXT(POOL(".zone"), 1, MAX_NAME),
                                      TEXT(POOL(".as_of"), 1, MAX_NAME),
                                      REAL(POOL(".usd_per_gpu_hour"), 0, HR_MAX_USD_H),
                                      REAL(POOL(".usd_per_node_hour"), 0, HR_MAX_USD_H),
                                      REAL(POOL(".on_demand_usd_per_gpu_hour"), 0, HR_MAX_USD_H),
                                      REAL(POOL(".discount"), 0, 1),
                                      CHOICE(POOL(".term"), terms),
                                      CHOICE(POOL(".upfront"), upfronts),
                                      REAL(POOL(".from_s"), 0, MAX_SECONDS),
                                      REAL(POOL(".to_s"), 0, MAX_SECONDS),
                                      OBJECT(POOL(".billing")),
                                      REAL(POOL(".billing.granularity_s"), 0, MAX_SECONDS),
                                      REAL(POOL(".billing.minimum_s"), 0, MAX_SECONDS),
                                      REAL(POOL(".billing.free_if_reclaimed_s"), 0, MAX_SECONDS),
                                      REAL(POOL(".boot_s"), 0, MAX_SECONDS),
                                      DURATION(POOL(".boot")),
                                      OBJECT(POOL(".owned")),
                                      REQUIRED_REAL(POOL(".owned.capex_usd_per_node"), 0, MAX_USD),
                                      REQUIRED_REAL(POOL(".owned.lifetime_years"), 0.01, 100),
                                      REAL(POOL(".owned.power_kw_per_node"), 0, 1e6),
                                      REAL(POOL(".owned.pue"), 1, 10),
                                      REAL(POOL(".owned.usd_per_kwh"), 0, 1e6),
                                      REAL(POOL(".owned.colocation_usd_per_kw_month"), 0, MAX_USD),
                                      REAL(POOL(".owned.staff_share"), 0, 10),
                                      OBJECT(POOL(".spot")),
                                      TEXT(POOL(".spot.preset"), 1, MAX_NAME),
                                      CHOICE(POOL(".spot.model"), spot_models),
                                      REAL(POOL(".spot.notice_s"), 0, MAX_SECONDS),
                                      TEXT(POOL(".spot.file"), 1, MAX_TEXT),
                                      REAL(POOL(".spot.offset_s"), 0, MAX_SECONDS),
                                      DURATION(POOL(".spot.up")),
                                      DURATION(POOL(".spot.down")),
                                      REAL(POOL(".spot.rate_per_h"), 0, 3600),
                                      REAL(POOL(".spot.batch_mean"), 1, HR_MAX_NODES),
                                      REAL(POOL(".spot.monthly_interruption"), 0, 0.999),
                                      OBJECT(POOL(".spot.bathtub")),
                                      REQUIRED_REAL(POOL(".spot.bathtub.a"), 0, 1),
                                      REQUIRED_REAL(POOL(".spot.bathtub.tau1_h"), LEAST_SCALE, 1e6),
                                      REQUIRED_REAL(POOL(".spot.bathtub.tau2_h"), LEAST_SCALE, 1e6),
                                      REQUIRED_REAL(POOL(".spot.bathtub.b_h"), 0, 1e6),
                                      REQUIRED_REAL(POOL(".spot.bathtub.last_h"), LEAST_SCALE, 1e6),
                                      OBJECT(POOL(".spot.price")),
                                      {POOL(".spot.price.model"), HR__KEY_CHOICE, true, 0, 0, spot_price_models},
                                      TEXT(POOL(".spot.price.file"), 1, MAX_TEXT),
                                      TEXT(POOL(".spot.price.accelerator"), 1, MAX_NAME),
                                      LIST(POOL(".spot.price.zones"), 1, 100),
                                      TEXT(POOL(".spot.price.zones.*"), 1, MAX_NAME),
                                      SCALAR(POOL(".spot.price.from")),
                                      REAL(POOL(".spot.price.volatility"), 0, 10),
                                      REAL(POOL(".spot.price.reversion_h"), LEAST_SCALE, 1e6),
                                      REAL(POOL(".spot.price.interval_s"), 1, MAX_SECONDS),
                                      REAL(POOL(".spot.price.least_usd_per_gpu_hour"), 0, HR_MAX_USD_H),
                                      TEXT("cluster.nodes_file", 1, MAX_TEXT),
                                      LIST("cluster.node_order", 1, MAX_RUNS),
                                      TEXT("cluster.node_order.*", 1, MAX_NAME),
                                      BOOLEAN("cluster.by_gpu"),
                                      OBJECT("classes"),
                                      OBJECT("classes.*"),
                                      BOOLEAN("classes.*.spot"),
                                      OBJECT("classes.*.checkpoint"),
                                      {"classes.*.checkpoint.policy", HR__KEY_CHOICE, true, 0, 0, checkpoints},
                                      REAL("classes.*.checkpoint.interval_s", 1, MAX_SECONDS),
                                      REAL("classes.*.checkpoint.gb", 0, 1e9),
                                      REAL("classes.*.checkpoint.write_s", 0, MAX_SECONDS),
                                      REAL("classes.*.restart_s", 0, MAX_SECONDS),
                                      OBJECT("classes.*.topology"),
                                      CHOICE("classes.*.topology.required", group_tiers),
                                      CHOICE("classes.*.topology.preferred", group_tiers),
                                      REAL("classes.*.topology.wait_s", 0, MAX_SECONDS),
                                      CHOICE("classes.*.within", group_tiers), /* old name, see classes.c */
                                      REAL("classes.*.within_wait_s", 0, MAX_SECONDS),
                                      OBJECT("models"),
                                      REQUIRED_TEXT("models.reference", MAX_NAME),
                                      CHOICE("models.default", speed_defaults),
                                      TEXT("models.file", 1, MAX_TEXT),
                                      OBJECT("models.speeds"),
                                      OBJECT("models.speeds.*"),
                                      REAL("models.speeds.*.*", 0, MAX_SPEED),
                                      LIST("network_speeds", 1, 10000),
                                      OBJECT("network_speeds.*"),
                                      TEXT("network_speeds.*.model", 1, MAX_NAME),
                                      WHOLE("network_speeds.*.gpus", 2, HR_MAX_GPUS),
                                      {"network_speeds.*.network", HR__KEY_CHOICE, true, 0, 0, networks + 1},
                                      REQUIRED_REAL("network_speeds.*.speed", 1e-6, 1),
                                      OBJECT("costs"),
                                      OBJECT("costs.storage"),
                                      REAL("costs.storage.usd_per_gb_month", 0, MAX_USD),
                                      LIST("costs.storage.datasets", 1, MAX_MEMBERS),
                                      OBJECT("costs.storage.datasets.*"),
                                      TEXT("costs.storage.datasets.*.tenant", 1, MAX_NAME),
                                      REQUIRED_REAL("costs.storage.datasets.*.gb", 0, 1e9),
                                      REAL("costs.storage.checkpoint_retention_s", 0, MAX_SECONDS),
                                      OBJECT("costs.egress"),
                                      REAL("costs.egress.usd_per_gb", 0, MAX_USD),
                                      OBJECT("costs.egress.gb_per_gpu_hour"),
                                      REAL("costs.egress.gb_per_gpu_hour.*", 0, 1e9),
                                      OBJECT("costs.egress.gb_per_job"),
                                      REAL("costs.egress.gb_per_job.*", 0, 1e9),
                                      OBJECT("costs.operations"),
                                      REAL("costs.operations.usd_per_month", 0, MAX_USD),
                                      REAL("costs.operations.usd_per_node_month", 0, MAX_USD),
                                      OBJECT("costs.downtime"),
                                      REAL("costs.downtime.usd_per_gpu_hour", 0, MAX_USD),
                                      REAL("costs.downtime.usd_per_missed_deadline", 0, MAX_USD),
                                      CHOICE("costs.idle_split", idle_splits),
                                      LIST("costs.budgets", 1, MAX_MEMBERS),
                                      OBJECT("costs.budgets.*"),
                                      REQUIRED_TEXT("costs.budgets.*.tenant", MAX_NAME),
                                      REQUIRED_REAL("costs.budgets.*.usd_per_month", 0, MAX_USD),
                                      LIST("costs.savings_plans", 1, MAX_MEMBERS),
                                      OBJECT("costs.savings_plans.*"),
                                      REQUIRED_REAL("costs.savings_plans.*.usd_per_hour", 0, MAX_USD),
                                      REQUIRED_REAL("costs.savings_plans.*.discount", 0, 0.999999),
                                      LIST("costs.savings_plans.*.pools", 1, HR_MAX_POOLS),
                                      TEXT("costs.savings_plans.*.pools.*", 1, MAX_NAME),
                                      LIST("costs.savings_plans.*.gpus", 1, HR_MAX_POOLS),
                                      TEXT("costs.savings_plans.*.gpus.*", 1, MAX_NAME),
                                      OBJECT("quotas"),
                                      LIST("quotas.cohorts", 1, MAX_MEMBERS),
                                      OBJECT("quotas.cohorts.*"),
                                      REQUIRED_TEXT("quotas.cohorts.*.name", MAX_NAME),
                                      TEXT("quotas.cohorts.*.parent", 1, MAX_NAME),
                                      QUOTA("quotas.cohorts.*"),
                                      LIST("quotas.tenants", 1, MAX_MEMBERS),
                                      OBJECT("quotas.tenants.*"),
                                      REQUIRED_TEXT("quotas.tenants.*.tenant", MAX_NAME),
                                      TEXT("quotas.tenants.*.cohort", 1, MAX_NAME),
                                      QUOTA("quotas.tenants.*"),
                                      OBJECT("quotas.default"),
                                      TEXT("quotas.default.cohort", 1, MAX_NAME),
                                      QUOTA("quotas.default"),
                                      REQUIRED_OBJECT("policy"),
                                      REQUIRED_TEXT("policy.name", MAX_TEXT),
                                      SCALAR("policy.*"),
                                      OBJECT("alerts"),
                                      OBJECT("alerts.gpus_underused"),
                                      BOOLEAN("alerts.gpus_underused.on"),
                                      REAL("alerts.gpus_underused.below", 0, 1),
                                      REAL("alerts.gpus_underused.for_s", 0, MAX_SECONDS),
                                      OBJECT("alerts.gpus_saturated"),
                                      BOOLEAN("alerts.gpus_saturated.on"),
                                      REAL("alerts.gpus_saturated.above", 0, 1),
                                      REAL("alerts.gpus_saturated.for_s", 0, MAX_SECONDS),
                                      OBJECT("alerts.spot_reclaims"),
                                      BOOLEAN("alerts.spot_reclaims.on"),
                                      REAL("alerts.spot_reclaims.above", 0, 1),
                                      REAL("alerts.spot_reclaims.within_s", 1, MAX_SECONDS),
                                      OBJECT("alerts.no_checkpoint"),
                                      BOOLEAN("alerts.no_checkpoint.on"),
                                      REAL("alerts.no_checkpoint.for_s", 0, MAX_SECONDS),
                                      OBJECT("alerts.queue_time"),
                                      BOOLEAN("alerts.queue_time.on"),
                                      REAL("alerts.queue_time.above_s", 0, MAX_SECONDS),
                                      OBJECT("alerts.queue_time.classes"),
                                      REAL("alerts.queue_time.classes.*", 0, MAX_SECONDS),
                                      OBJECT("alerts.over_budget"),
                                      BOOLEAN("alerts.over_budget.on"),
                                      REAL("alerts.over_budget.above", 0, 1000),
                                      OBJECT("replications"),
                                      WHOLE("replications.count", 1, HR_MAX_REPLICATIONS),
                                      TEXT("replications.metric", 1, MAX_NAME),
                                      REAL("replications.relative", LEAST_SCALE, 1),
                                      REAL("replications.confidence", 0.5, 0.9999),
                                      WHOLE("replications.min", 2, HR_MAX_REPLICATIONS),
                                      WHOLE("replications.max", 2, HR_MAX_REPLICATIONS),
                                      OBJECT("replications.workload"),
                                      CHOICE("replications.workload.resample", blocks),
                                      REAL("replications.workload.growth", 0.001, HR_MAX_GROWTH),
                                      OBJECT("plan"),
                                      {"plan.variables", HR__KEY_LIST, true, 1, HR_MOST_PLAN_VARIABLES, NULL},
                                      OBJECT("plan.variables.*"),
                                      TEXT("plan.variables.*.name", 1, MAX_NAME),
                                      TEXT("plan.variables.*.pool", 1, MAX_NAME),
                                      LIST("plan.variables.*.pools", 1, HR_MAX_POOLS),
                                      TEXT("plan.variables.*.pools.*", 1, MAX_NAME),
                                      AXIS("plan.variables.*"),
                                      LIST("plan.constraints", 0, 100),
                                      TEXT("plan.constraints.*", 1, MAX_NAME),
                                      TEXT("plan.objective", 1, MAX_NAME),
                                      {"plan.weights", HR__KEY_OBJECT, false, 1, 20, NULL},
                                      REAL("plan.weights.*", -1e9, 1e9),
                                      OBJECT("plan.baseline"),
                                      SCALAR("plan.baseline.*"),
                                      REAL("plan.indifference", 0, 1),
                                      WHOLE("plan.max_candidates", 1, 1000000),
                                      WHOLE("plan.max_runs", 1, 1e9),
                                      WHOLE("plan.max_replications", 2, 1000),
                                      {"seed", HR__KEY_SEED, false, 0, MAX_EXACT, NULL},
                                      REAL("horizon_s", 1e-6, MAX_SECONDS),
                                      {NULL, HR__KEY_OBJECT, false, 0, 0, NULL}};

const struct hr__key *hr__scenario_keys(void) {
  return keys;
}

/* ---- The tree of keys ------------------------------------------------------------------------------- */

const char *hr__key_name(const struct hr__key *key) {
  const char *dot = strrchr(key->path, '.');
  return dot ? dot + 1 : key->path;
}

bool hr__key_is_child(const struct hr__key *key, const struct hr__key *parent) {
  size_t length = strlen(parent->path);
  if (key == parent || strncmp(key->path, parent->path, length) != 0) return false;
  if (length && key->path[length] != '.') return false;
  return !strchr(key->path + length + (length > 0), '.');
}

const struct hr__key *hr__key_child(const struct hr__key *parent, const char *name) {
  const struct hr__key *any = NULL;
  for (const struct hr__key *key = parent + 1; key->path; key++) {
    if (!hr__key_is_child(key, parent)) continue;
    if (strcmp(hr__key_name(key), name) == 0) return key;
    if (strcmp(hr__key_name(key), "*") == 0) any = key;
  }
  return any;
}

void hr__key_children(const struct hr__key *parent, const char *names[HR__MOST_CHILDREN + 1]) {
  size_t count = 0;
  for (const struct hr__key *key = parent + 1; key->path && count < HR__MOST_CHILDREN; key++)
    if (hr__key_is_child(key, parent) && strcmp(hr__key_name(key), "*") != 0) names[count++] = hr__key_name(key);
  names[count] = NULL;
}

/* ---- Values ----------------------------------------------------------------------------------------- */

static bool is_whole(const cJSON *value) {
  return cJSON_IsNumber(value) && isfinite(value->valuedouble) && value->valuedouble == floor(value->valuedouble);
}

static bool is_digits(const cJSON *value) {
  if (!cJSON_IsString(value) || !value->valuestring[0]) return false;
  if (value->valuestring[strspn(value->valuestring, "0123456789")]) return false;
  errno = 0;
  (void)strtoumax(value->valuestring, NULL, 10);
  return errno == 0;
}

static bool within(const struct hr__key *key, double number) {
  return number >= key->min && number <= key->max;
}

static bool is_one_of(const char *const *choices, const cJSON *value) {
  for (size_t i = 0; cJSON_IsString(value) && choices[i]; i++)
    if (strcmp(choices[i], value->valuestring) == 0) return true;
  return false;
}

bool hr__key_fits(const struct hr__key *key, const cJSON *value) {
  switch (key->type) {
  case HR__KEY_OBJECT:
    return cJSON_IsObject(value) && within(key, cJSON_GetArraySize(value));
  case HR__KEY_LIST:
    return cJSON_IsArray(value) && within(key, cJSON_GetArraySize(value));
  case HR__KEY_TEXT:
    return cJSON_IsString(value) && within(key, (double)strlen(value->valuestring));
  case HR__KEY_WHOLE:
    return is_whole(value) && within(key, value->valuedouble);
  case HR__KEY_REAL:
    return cJSON_IsNumber(value) && within(key, value->valuedouble);
  case HR__KEY_BOOLEAN:
    return cJSON_IsBool(value);
  case HR__KEY_CHOICE:
    return is_one_of(key->choices, value);
  case HR__KEY_SEED:
    return (is_whole(value) && within(key, value->valuedouble)) || is_digits(value);
  case HR__KEY_SCALAR:
    return cJSON_IsString(value) || cJSON_IsBool(value) || (cJSON_IsNumber(value) && isfinite(value->valuedouble));
  }
  return false;
}

void hr__key_found(const cJSON *value, char *text, size_t size) {
  if (cJSON_IsString(value) && strlen(value->valuestring) > 60)
    snprintf(text, size, "a text of %zu bytes", strlen(value->valuestring));
  else if (cJSON_IsString(value))
    snprintf(text, size, "the text \"%s\"", value->valuestring);
  else if (cJSON_IsNumber(value) && !isfinite(value->valuedouble))
    snprintf(text, size, "a number beyond all bounds");
  else if (cJSON_IsNumber(value))
    snprintf(text, size, "the number %.15g", value->valuedouble);
  else if (cJSON_IsArray(value))
    snprintf(text, size, value->child ? "a list" : "an empty list");
  else if (cJSON_IsObject(value))
    snprintf(text, size, "an object");
  else
    snprintf(text, size, "%s", cJSON_IsTrue(value) ? "true" : cJSON_IsFalse(value) ? "false" : "null");
}

static void choices_wanted(const struct hr__key *key, char *text, size_t size) {
  size_t used = (size_t)snprintf(text, size, "one of");
  for (size_t i = 0; key->choices[i] && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s %s", i ? "," : "", key->choices[i]);
}

void hr__key_wanted(const struct hr__key *key, char *text, size_t size) {
  switch (key->type) {
  case HR__KEY_OBJECT:
    snprintf(text, size, "an object {...} of at most %.15g keys", key->max);
    return;
  case HR__KEY_LIST:
    snprintf(text, size, "a list of %.15g to %.15g entries", key->min, key->max);
    return;
  case HR__KEY_TEXT:
    snprintf(text, size, "a text \"...\" of %s%.15g bytes", key->min > 0 ? "1 to " : "at most ", key->max);
    return;
  case HR__KEY_WHOLE:
    snprintf(text, size, "a whole number from %.15g to %.15g", key->min, key->max);
    return;
  case HR__KEY_REAL:
    snprintf(text, size, "a number from %.15g to %.15g", key->min, key->max);
    return;
  case HR__KEY_BOOLEAN:
    snprintf(text, size, "true or false");
    return;
  case HR__KEY_CHOICE:
    choices_wanted(key, text, size);
    return;
  case HR__KEY_SEED:
    snprintf(text, size, "a whole number from 0 to %.0f, or the digits of one up to %" PRIu64 " as text,", key->max,
             UINT64_MAX);
    return;
  case HR__KEY_SCALAR:
    snprintf(text, size, "a text, a number, true or false");
    return;
  }
}

void hr__key_unknown(const char *path, const char *name, const char *const *known, char *text, size_t size) {
  const char *nearest = hr_nearest_word(name, known), *dot = path[0] ? "." : "";
  int used = snprintf(text, size, "unknown key '%s%s%.60s'%s", path, dot, name, nearest ? "; " : " ");
  if (nearest) used += snprintf(text + used, size - (size_t)used, "did you mean '%s%s%s'? ", path, dot, nearest);
  used += snprintf(text + used, size - (size_t)used, "(known keys");
  for (size_t i = 0; known[i] && (size_t)used + strlen(known[i]) + 4 < size; i++)
    used += snprintf(text + used, size - (size_t)used, "%s%s", i ? ", " : ": ", known[i]);
  snprintf(text + used, size - (size_t)used, ")");
}
