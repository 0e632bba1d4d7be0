/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The key tables of scenarios, suites of runs, baselines and grids of sweeps.
 *
 * A new key of a scenario needs one line here and one in docs/reference/schemas/scenario.schema.json (a test compares
 * both). The section of scenarios/build that uses the key must read it. The schemas of the other documents are
 * check.schema.json (read by suite.c), baseline.schema.json (read by baseline.c, written by plan/check) and
 * sweep.schema.json (read by grid.c).
 */

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
#define MAX_CPUS 4294967.0 /* maximum that fits in 32 bits as milli-CPUs */
#define MAX_RUNS 100000.0  /* maximum number of entries of cluster.node_order */
#define MAX_USD 1e9        /* up to this amount, a double represents each micro-dollar exactly */
#define MAX_SPEED 1e9      /* maximum speed, in any unit */
#define MAX_LOG_S 25.0     /* maximum logarithm of seconds: e^25 s are 2,283 years */
#define MIN_SCALE 1e-6     /* minimum of numbers that must be above 0 */

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

static const char *const job_classes[] = {HR_JOB_CLASS_TABLE(WORD) NULL};

/* The keys of a random duration. */
#define DURATION(path)                                                                                                 \
  {path, HR__KEY_OBJECT, false, 0, MAX_MEMBERS, NULL},                                                                 \
      {path ".distribution", HR__KEY_CHOICE, true, 0, 0, distributions}, REAL(path ".mean_s", MIN_SCALE, MAX_SECONDS), \
      REAL(path ".mu", -MAX_LOG_S, MAX_LOG_S), REAL(path ".sigma", 0, 10), REAL(path ".shape", 0.01, 100),             \
      REAL(path ".scale_s", MIN_SCALE, MAX_SECONDS)

/* The keys of the quota of a tenant or cohort. */
#define QUOTA(path)                                                                                                    \
  REAL(path ".guaranteed_gpus", 0, HR_MAX_GPUS), REAL(path ".guaranteed_share", 0, 1),                                 \
      REAL(path ".max_gpus", 0, HR_MAX_GPUS), REAL(path ".max_share", 0, 1),                                           \
      REAL(path ".borrow_gpus", 0, HR_MAX_GPUS), REAL(path ".lend_gpus", 0, HR_MAX_GPUS),                              \
      REAL(path ".weight", MIN_SCALE, 1e6)

#define POOL(key) "cluster.pools.*" key

const struct hr__key hr__scenario_keys[] = {REQUIRED_OBJECT(""),
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
                                            LIST(POOL(".mig.layout_of_gpus"), 1, HR_MAX_INVENTORY_GPUS),
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
                                            WHOLE(POOL(".topology.island_gpus"), 1, HR_MAX_INVENTORY_GPUS),
                                            WHOLE(POOL(".topology.numa_gpus"), 1, HR_MAX_INVENTORY_GPUS),
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
                                            REQUIRED_REAL(POOL(".spot.bathtub.tau1_h"), MIN_SCALE, 1e6),
                                            REQUIRED_REAL(POOL(".spot.bathtub.tau2_h"), MIN_SCALE, 1e6),
                                            REQUIRED_REAL(POOL(".spot.bathtub.b_h"), 0, 1e6),
                                            REQUIRED_REAL(POOL(".spot.bathtub.last_h"), MIN_SCALE, 1e6),
                                            OBJECT(POOL(".spot.price")),
                                            {POOL(".spot.price.model"), HR__KEY_CHOICE, true, 0, 0, spot_price_models},
                                            TEXT(POOL(".spot.price.file"), 1, MAX_TEXT),
                                            TEXT(POOL(".spot.price.accelerator"), 1, MAX_NAME),
                                            LIST(POOL(".spot.price.zones"), 1, 100),
                                            TEXT(POOL(".spot.price.zones.*"), 1, MAX_NAME),
                                            SCALAR(POOL(".spot.price.from")),
                                            REAL(POOL(".spot.price.volatility"), 0, 10),
                                            REAL(POOL(".spot.price.reversion_h"), MIN_SCALE, 1e6),
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
                                            REAL("replications.relative", MIN_SCALE, 1),
                                            REAL("replications.confidence", 0.5, 0.9999),
                                            WHOLE("replications.min", 2, HR_MAX_REPLICATIONS),
                                            WHOLE("replications.max", 2, HR_MAX_REPLICATIONS),
                                            OBJECT("replications.workload"),
                                            CHOICE("replications.workload.resample", blocks),
                                            REAL("replications.workload.growth", 0.001, HR_MAX_GROWTH),
                                            OBJECT("plan"),
                                            {"plan.variables", HR__KEY_LIST, true, 1, HR_MAX_PLAN_VARIABLES, NULL},
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

/* ---- Suites, baselines and grids ---- */

#define MAX_SUITE_RUNS 10000.0
#define MAX_GROUPS 1e6 /* maximum number of tenants of a trace */
#define MAX_LINES 1e6  /* maximum number of lines of an encoded list */
#define MAX_FIGURE 1e18

static const char *const worse[] = {HR_WORSE_TABLE(WORD) NULL};
static const char *const digests[] = {"exact", "any", NULL};

#define TOLERANCES(path)                                                                                               \
  OBJECT(path), BOOLEAN(path ".only_worse"), CHOICE(path ".digest", digests), OBJECT(path ".*"),                       \
      REAL(path ".*.relative", 0, 1e6), REAL(path ".*.absolute", 0, MAX_FIGURE), CHOICE(path ".*.worse", worse)

const struct hr__key hr__suite_keys[] = {OBJECT(""),
                                         TEXT("$schema", 0, MAX_TEXT),
                                         TEXT("description", 0, MAX_TEXT),
                                         {"runs", HR__KEY_LIST, true, 1, MAX_SUITE_RUNS, NULL},
                                         OBJECT("runs.*"),
                                         REQUIRED_TEXT("runs.*.name", MAX_NAME),
                                         REQUIRED_TEXT("runs.*.scenario", MAX_TEXT),
                                         TEXT("runs.*.trace", 1, MAX_TEXT),
                                         LIST("runs.*.policies", 1, MAX_MEMBERS),
                                         TEXT("runs.*.policies.*", 1, MAX_TEXT),
                                         OBJECT("runs.*.set"),
                                         SCALAR("runs.*.set.*"),
                                         TOLERANCES("runs.*.tolerances"),
                                         TOLERANCES("tolerances"),
                                         {NULL, HR__KEY_OBJECT, false, 0, 0, NULL}};

#define GROUPS(path)                                                                                                   \
  {path, HR__KEY_OBJECT, false, 0, MAX_GROUPS, NULL}, OBJECT(path ".*"), REAL(path ".*.*", -MAX_FIGURE, MAX_FIGURE)

const struct hr__key hr__baseline_keys[] = {OBJECT(""),
                                            REQUIRED_WHOLE("format", HR_BASELINE_FORMAT, HR_BASELINE_FORMAT),
                                            REQUIRED_TEXT("version", MAX_NAME),
                                            {"runs", HR__KEY_LIST, true, 0, MAX_SUITE_RUNS, NULL},
                                            OBJECT("runs.*"),
                                            REQUIRED_TEXT("runs.*.name", MAX_TEXT),
                                            REQUIRED_TEXT("runs.*.policy", MAX_TEXT),
                                            {"runs.*.seed", HR__KEY_SEED, true, 0, MAX_EXACT, NULL},
                                            REQUIRED_TEXT("runs.*.trace", MAX_TEXT),
                                            REQUIRED_TEXT("runs.*.trace_digest", MAX_NAME),
                                            REQUIRED_OBJECT("runs.*.inputs"),
                                            TEXT("runs.*.inputs.*", 1, MAX_NAME),
                                            WHOLE("runs.*.replications", 1, 1e6),
                                            REQUIRED_TEXT("runs.*.digest", MAX_NAME),
                                            REQUIRED_OBJECT("runs.*.metrics"),
                                            REAL("runs.*.metrics.*", -MAX_FIGURE, MAX_FIGURE),
                                            GROUPS("runs.*.by_class"),
                                            GROUPS("runs.*.by_tenant"),
                                            GROUPS("runs.*.by_pool"),
                                            {"runs.*.samples", HR__KEY_OBJECT, false, 0, MAX_GROUPS, NULL},
                                            LIST("runs.*.samples.*", 1, HR_MAX_REPLICATIONS),
                                            REAL("runs.*.samples.*.*", -MAX_FIGURE, MAX_FIGURE),
                                            WHOLE("runs.*.jobs", 0, HR_NONE),
                                            WHOLE("runs.*.decisions", 0, MAX_EXACT),
                                            WHOLE("runs.*.spacing", 1, MAX_EXACT),
                                            LIST("runs.*.chain", 0, MAX_LINES),
                                            TEXT("runs.*.chain.*", 0, MAX_NAME),
                                            LIST("runs.*.starts", 0, MAX_LINES),
                                            TEXT("runs.*.starts.*", 0, MAX_NAME),
                                            {NULL, HR__KEY_OBJECT, false, 0, 0, NULL}};

static const char *const designs[] = {HR_DESIGN_TABLE(WORD) NULL};

const struct hr__key hr__grid_keys[] = {OBJECT(""),
                                        TEXT("$schema", 0, MAX_TEXT),
                                        TEXT("description", 0, MAX_TEXT),
                                        REQUIRED_TEXT("scenario", MAX_TEXT),
                                        LIST("set", 0, MAX_MEMBERS),
                                        TEXT("set.*", 1, MAX_TEXT),
                                        {"axes", HR__KEY_LIST, true, 1, HR__MAX_AXES, NULL},
                                        OBJECT("axes.*"),
                                        TEXT("axes.*.name", 1, MAX_NAME),
                                        AXIS("axes.*"),
                                        OBJECT("design"),
                                        {"design.kind", HR__KEY_CHOICE, true, 0, 0, designs},
                                        WHOLE("design.points", 1, 1e6),
                                        WHOLE("replications", 1, HR_MAX_REPLICATIONS),
                                        {"seed", HR__KEY_SEED, false, 0, MAX_EXACT, NULL},
                                        WHOLE("max_runs", 1, 1e9),
                                        {NULL, HR__KEY_OBJECT, false, 0, 0, NULL}};
