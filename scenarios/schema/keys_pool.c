/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The key tables of a pool: nodes, sharing, topology, market, prices, spot capacity, cost of ownership (`owned`),
 * `carbon`, `energy_price`, failures, maintenance and power. The tables of `tco` of a scenario and of `autoscaler` of a
 * cluster are here, too.
 *
 * A table precedes the tables that refer to it, so the table of a pool is the last one.
 */

#include "headroom/cluster.h"
#include "headroom/gpu_inventory.h"
#include "headroom/unstable/clusters.h"
#include "headroom/unstable/faults.h"
#include "headroom/unstable/ownership.h"
#include "headroom/unstable/series.h"
#include "scenarios/schema/keys.h"

/* ---- Cost of ownership and energy ------------------------------------------------------------------- */

/*
 * The keys for the nodes in `owned` (price, lifetime, residual value) describe the first purchase. The entries of
 * `capital` describe further purchases.
 */

#define WORD(name, text) text,
static const char *const amortizations[] = {HR_AMORTIZATION_TABLE(WORD) NULL};
static const char *const simulated_years[] = {"each-year", "first-year", NULL};
static const char *const depreciations[] = {"straight-line", "macrs-5", NULL};

#define MAX_YEARLY_FACTOR 10.0
#define YEARS REAL(0.01, 100), .unit = "years"
#define YEARLY_FACTOR REAL(0.1, MAX_YEARLY_FACTOR), DEFAULT("1")
#define RATE REAL(0, 1), .unit = "share"

/* ---- Cost of ownership and energy: owned ------------------------------------------------------------ */

#define CAPITAL struct hr_capital
static const struct hr__key capital_keys[] = {
    {"name", NAME, MUST, AT(TEXT, CAPITAL, name),
     HELP("Name of the purchase, such as network, storage, spares or facility.")},
    {"usd_per_node", USD, AT(DOUBLE, CAPITAL, usd),
     HELP("Price per node. Set exactly one of 'usd_per_node', 'usd_per_gpu' and 'usd_per_kw'.")},
    {"usd_per_gpu", USD, AT(DOUBLE, CAPITAL, usd_per_gpu), HELP("Price per GPU.")},
    {"usd_per_kw", USD, AT(DOUBLE, CAPITAL, usd_per_kw),
     HELP("Price per kW of 'power_kw_per_node', for buildings and cooling.")},
    {"lifetime_years", YEARS, OTHERWISE("that of the nodes"), AT(DOUBLE, CAPITAL, life_years),
     HELP("Time over which the purchase is depreciated.")},
    {"residual_share", SHARE, DEFAULT("0"), AT(DOUBLE, CAPITAL, residual_share),
     HELP("Value at the end of the lifetime, as a share of the price.")},
    {"maintenance_share_per_year", SHARE, OTHERWISE("that of 'owned'"), AT(DOUBLE, CAPITAL, maintenance_share),
     HELP("Maintenance contracts per year, as a share of the price.")},
    {"tax_share_per_year", SHARE, OTHERWISE("that of 'owned'"), AT(DOUBLE, CAPITAL, tax_share),
     HELP("Insurance and property tax per year, as a share of the price.")},
    {"price_per_year", REAL(0.1, MAX_YEARLY_FACTOR), OTHERWISE("'hardware_price_per_year' of 'tco'"),
     AT(DOUBLE, CAPITAL, price_factor_per_year),
     HELP("Price of the purchase in a year, relative to the year before. For 'headroom tco'.")},
    END};

#define OWNERSHIP struct hr_ownership
const struct hr__key hr__owned_keys[] = {
    {"capex_usd_per_node", USD, MUST, HELP("Purchase price of a node.")},
    {"lifetime_years", YEARS, MUST, HELP("Time over which the purchase is depreciated.")},
    {"residual_share", SHARE, DEFAULT("0"),
     HELP("Value of a node at the end of its lifetime, as a share of the purchase price.")},
    {"capital", LIST(0, 100, EACH(OBJECT(capital_keys))),
     HELP("Further purchases: network, storage, spares, building.")},
    {"amortization", CHOICE(amortizations), DEFAULT("straight-line"), AT(INTEGER, OWNERSHIP, amortization),
     HELP("How purchases become costs per year. straight-line: (price - residual value) / lifetime. crf-annual: equal "
          "payments at the end of each year, with 'discount_rate'. pmt-monthly: equal payments at the end of each "
          "month, with a twelfth of 'discount_rate'.")},
    {"discount_rate", RATE, DEFAULT("0"), AT(DOUBLE, OWNERSHIP, discount_rate),
     HELP("Interest rate per year, for the amortizations crf-annual and pmt-monthly.")},
    {"power_kw_per_node", REAL(0, 1e6), .unit = "kW", OTHERWISE("board power of the GPUs plus 30 % for the host"),
     AT(DOUBLE, OWNERSHIP, power_kw), HELP("Provisioned power of a node, whether it is used or not.")},
    {"load", SHARE, DEFAULT("1"), AT(DOUBLE, OWNERSHIP, load),
     HELP("Power that a node in use draws, as a share of 'power_kw_per_node'.")},
    {"idle_load", SHARE, OTHERWISE("'load'"), AT(DOUBLE, OWNERSHIP, idle_load),
     HELP("Power that an idle node draws, as a share of 'power_kw_per_node'. Only for 'headroom tco'; other commands "
          "assume that all nodes are in use.")},
    {"pue", REAL(1, 10), DEFAULT("1.55"), AT(DOUBLE, OWNERSHIP, pue), HELP("Power usage effectiveness of the site.")},
    {"usd_per_kwh", USD_UP_TO(1e6), DEFAULT("0"), AT(DOUBLE, OWNERSHIP, usd_per_kwh), HELP("Price of energy per kWh.")},
    {"colocation_usd_per_kw_month", USD, DEFAULT("0"), AT(DOUBLE, OWNERSHIP, colocation_usd_per_kw_month),
     HELP("Colocation price per kW of provisioned power and month.")},
    {"maintenance_share_per_year", SHARE, DEFAULT("0"),
     HELP("Maintenance contracts per year, as a share of purchase prices.")},
    {"tax_share_per_year", SHARE, DEFAULT("0"),
     HELP("Insurance and property tax per year, as a share of purchase prices.")},
    {"staff_usd_per_node_year", USD, DEFAULT("0"), AT(DOUBLE, OWNERSHIP, staff_usd_per_year),
     HELP("Cost of staff per node and year.")},
    {"staff_share", REAL(0, 10), .unit = "share", DEFAULT("0"), AT(DOUBLE, OWNERSHIP, staff_share),
     HELP("Staff, network and spare parts, as a share added to the other costs. Usual values are 0.2 to 0.35.")},
    END};

/* ---- Cost of ownership and energy: tco -------------------------------------------------------------- */

#define OPTION struct hr_tco_option
static const struct hr__key option_keys[] = {
    {"name", NAME, MUST, AT(TEXT, OPTION, name), HELP("Name in results.")},
    {"pools", LIST(1, 100, EACH(NAME, .store = HR__STORE_TEXT)), MUST, AS_ARRAY(OPTION, pools, n_pools),
     HELP("The pools that have nodes. All other pools are run without nodes.")},
    {"staff_usd_per_year", USD, DEFAULT("0"), AT(DOUBLE, OPTION, staff_usd_per_year),
     HELP("Yearly cost of staff that does not depend on the number of nodes.")},
    {"contract_years", WHOLE(1, HR_MAX_TCO_YEARS), DEFAULT("1"), AT(INTEGER, OPTION, contract_years),
     HELP("Number of years for which reserved nodes keep the price of the year in which they were reserved. Only for "
          "pools without 'term'.")},
    END};

#define TCO struct hr_tco_spec
const struct hr__key hr__tco_keys[] = {
    {"years", WHOLE(1, HR_MAX_TCO_YEARS), DEFAULT("5"), AT(INTEGER, TCO, years),
     HELP("Number of years that are compared.")},
    {"growth_per_year", YEARLY_FACTOR, AT(DOUBLE, TCO, growth),
     HELP("Demand of a year, relative to the year before. The number of nodes grows in proportion.")},
    {"simulate", CHOICE(simulated_years), DEFAULT("each-year"), AT(INTEGER, TCO, first_year_only),
     HELP("Which years are simulated if the demand changes. each-year: all years. Each year has its own number of "
          "nodes, and jobs of the trace are repeated or omitted at random to match its demand. first-year: only the "
          "first year; its results are scaled.")},
    {"cloud_price_per_year", YEARLY_FACTOR, AT(DOUBLE, TCO, cloud_price),
     HELP("Prices of reserved, on-demand and spot nodes in a year, relative to the year before.")},
    {"hardware_price_per_year", YEARLY_FACTOR, AT(DOUBLE, TCO, hardware_price),
     HELP("Purchase prices in a year, relative to the year before.")},
    {"energy_price_per_year", YEARLY_FACTOR, AT(DOUBLE, TCO, energy_price),
     HELP("Prices of energy and colocation in a year, relative to the year before.")},
    {"wages_per_year", YEARLY_FACTOR, AT(DOUBLE, TCO, wages),
     HELP("Cost of staff in a year, relative to the year before.")},
    {"discount_rate", RATE, DEFAULT("0.08"), AT(DOUBLE, TCO, discount_rate),
     HELP("Discount rate per year of net present values.")},
    {"tax_rate", RATE, DEFAULT("0"), AT(DOUBLE, TCO, tax_rate),
     HELP("Rate of income tax. Costs and depreciation reduce the tax. 0: taxes are ignored.")},
    {"tax_depreciation", CHOICE(depreciations), DEFAULT("straight-line"), AT(INTEGER, TCO, macrs),
     HELP("Depreciation for income tax. straight-line: linear. macrs-5: the five-year schedule of MACRS, with 20, 32, "
          "19.2, 11.52, 11.52 and 5.76 % of the price.")},
    {"options", LIST(1, HR_MAX_TCO_OPTIONS, EACH(OBJECT(option_keys))), AS_ARRAY(TCO, options, n_options),
     OTHERWISE("one option for each pool with a market"), HELP("The alternatives to compare.")},
    END};

/* ---- Cost of ownership and energy: carbon, energy_price --------------------------------------------- */

static const char *const signals[] = {HR_CARBON_SIGNAL_TABLE(WORD) NULL};
const char *const hr__carbon_units[] = {"g/kWh", "kg/MWh", "lb/MWh", NULL};
const char *const hr__price_units[] = {"USD/kWh", "USD/MWh", NULL};
static const char *const gap_rules[] = {"error", "hold", NULL};
static const char *const end_rules[] = {"hold", "repeat", NULL};

/* The keys of a series of values over time in a file. `units`: the allowed units; `unit_default`: the default unit. */
#define SERIES(units, unit_default)                                                                                    \
  {"file", PATH,                                                                                                       \
   HELP("A CSV file with a column of time stamps and columns of values, relative to the scenario's folder.")},         \
      {"zone", NAME, OTHERWISE("the only zone of the file"),                                                           \
       HELP("The zone of the grid: the name of a column, or a value of the column 'zone'.")},                          \
      {"column", NAME, OTHERWISE("the only column of values, or that of the zone"), HELP("The column of values.")},    \
      {"unit", CHOICE(units), DEFAULT(unit_default), HELP("Unit of the values in the file.")},                         \
      {"utc", BOOLEAN, DEFAULT("false"),                                                                               \
       HELP("Whether time stamps without a UTC offset are in UTC. false: they are an error, unless the name of their " \
            "column contains utc.")},                                                                                  \
      {"gaps", CHOICE(gap_rules), DEFAULT("error"),                                                                    \
       HELP("How a missing time stamp is treated. error: the file is refused. hold: the value before the gap "         \
            "applies.")},                                                                                              \
      {"after", CHOICE(end_rules), DEFAULT("hold"),                                                                    \
       HELP("What applies after the end of the file. hold: the last value. repeat: the series starts again.")},        \
  {                                                                                                                    \
    "start", NAME, OTHERWISE("the dates of the trace; for a trace without dates, the first time stamp of the file"),   \
        HELP("Date in UTC of time 0 of the trace, such as 2022-10-19T16:00Z.")                                         \
  }

const struct hr__key hr__carbon_keys[] = {
    SERIES(hr__carbon_units, "g/kWh"),
    {"g_per_kwh", REAL(0, 1e6), .unit = "g/kWh", HELP("Instead of 'file': the carbon intensity at all times.")},
    {"signal", CHOICE(signals), DEFAULT("average"), AT(INTEGER, struct hr_electricity, signal),
     HELP("Meaning of the values. average: intensity of all electricity that is produced. marginal: intensity of the "
          "power plants that react to a change of demand. All pools must have the same signal.")},
    {"embodied_kg_per_gpu", REAL(0, 5000), .unit = "kg", DEFAULT("0"), SCALED(1e9, struct hr_electricity, embodied_ug),
     HELP("Carbon of the production of a GPU and of its part of the node, spread evenly over 'life_h'.")},
    {"life_h", REAL(1000, 1e7), .unit = "h", DEFAULT("26280"), SCALED(3600e6, struct hr_electricity, life_us),
     HELP("Hours over which embodied carbon is spread. The default is three years.")},
    END};

const struct hr__key hr__energy_price_keys[] = {
    SERIES(hr__price_units, "USD/kWh"),
    {"usd_per_kwh", REAL(-100, 100), .unit = "USD", HELP("Instead of 'file': the price at all times.")},
    END};

/* ---- Pools ------------------------------------------------------------------------------------------ */

static const char *const markets[] = {HR_MARKET_TABLE(WORD) NULL};
static const char *const spot_models[] = {HR_SPOT_MODEL_TABLE(WORD) NULL};
static const char *const sharings[] = {HR_SHARING_TABLE(WORD) NULL};
static const char *const mig_modes[] = {HR_MIG_MODE_TABLE(WORD) NULL};
static const char *const gpu_memories[] = {HR_GPU_MEMORY_TABLE(WORD) NULL};
static const char *const networks[] = {HR_NETWORK_TABLE(WORD) NULL};
static const char *const job_classes[] = {HR_JOB_CLASS_TABLE(WORD) NULL};
static const char *const terms[] = {"1y", "3y", NULL};
static const char *const upfronts[] = {"none", "partial", "all", NULL};
static const char *const price_models[] = {"fixed", "trace", "ou", NULL};
static const char *const fault_clocks[] = {HR_FAULT_CLOCK_TABLE(WORD) NULL};
static const char *const fault_starts[] = {"stationary", "fresh", NULL};
static const char *const drains[] = {HR_DRAIN_TABLE(WORD) NULL};
static const char *const fault_tiers[] = {"island", "numa", "node", "rack", "zone", "pool", NULL};
static const char *const power_models[] = {HR_POWER_MODEL_TABLE(WORD) NULL};
static const char *const expanders[] = {HR_EXPANDER_TABLE(WORD) NULL};
static const char *const autoscalers[] = {HR_NODE_AUTOSCALER_TABLE(WORD) NULL};
static const char *const consolidations[] = {HR_CONSOLIDATION_TABLE(WORD) NULL};
static const char *const disruptions[] = {"empty", "underutilized", "drifted", NULL};
static const char *const distributions[] = {"fixed", "exponential", "log-normal", "weibull", NULL};

#define MAX_CPUS 4294967.0 /* maximum that fits in 32 bits as milli-CPUs */
#define MAX_LOG_S 25.0     /* maximum logarithm of seconds: e^25 s are 2,283 years */

/* ---- Sharing and topology --------------------------------------------------------------------------- */

static const struct hr__key mig_keys[] = {
    {"mode", CHOICE(mig_modes), DEFAULT("static"), .selects = true,
     HELP("When instances are created. static: before the run; each GPU has a permanent layout. dynamic: before the "
          "run, but a GPU without jobs may change to one of 'layouts'. on-demand: an instance is created for each job "
          "when it starts, in free room of a GPU.")},
    {"layout", NAME, WITH(1 << HR_MIG_STATIC | 1 << HR_MIG_DYNAMIC),
     OTHERWISE("in mode dynamic: all-enabled, which has no instance"),
     HELP("Initial layout of all GPUs, such as all-1g.10gb, all-balanced, all-enabled or group1. It may also be a list "
          "of profiles, such as 3g.40gb,2g,2x1g.")},
    {"layout_of_gpus", LIST(1, HR_MAX_INVENTORY_GPUS, EACH(NAME)), WITH(1 << HR_MIG_STATIC | 1 << HR_MIG_DYNAMIC),
     HELP("Instead of 'layout': one layout for each GPU of a node.")},
    {"layouts", LIST(1, 100, EACH(NAME)), WITH(1 << HR_MIG_DYNAMIC), OTHERWISE("Volcano's groups"),
     HELP("Layouts that a GPU without jobs may get.")},
    {"repartition_s", SECONDS, WITH(1 << HR_MIG_DYNAMIC), DEFAULT("0"),
     HELP("Time to change the layout of a GPU. Jobs that start on the GPU during this time begin to work when it is "
          "over.")},
    {"create_s", SECONDS, WITH(1 << HR_MIG_ON_DEMAND), DEFAULT("0"),
     HELP("Time to create an instance, before its job begins to work.")},
    END};

static const struct hr__key interference_keys[] = {
    {"up_to", REAL(0.001, 1), .unit = "share", MUST,
     SCALED(HR_WHOLE_GPU_MILLI, struct hr_interference_step, up_to_milli),
     HELP("Allocated share of the GPU up to which this speed applies. The first entry with a bound that is not "
          "exceeded applies; above all bounds, the last entry.")},
    {"speed", REAL(1e-6, 1), MUST, SCALED(1e6, struct hr_interference_step, speed_ppm),
     HELP("Speed of each job, relative to running alone.")},
    END};

static const struct hr__key pair_keys[] = {
    {"model", NAME, MUST, AT(TEXT, struct hr_pair_speed, model), HELP("Model of the job.")},
    {"with", NAME, MUST, AT(TEXT, struct hr_pair_speed, with), HELP("Model of the other job.")},
    {"speed", REAL(1e-6, 1), MUST, SCALED(1e6, struct hr_pair_speed, speed_ppm),
     HELP("Speed of the job, relative to running alone.")},
    END};

#define NETWORK(tier, words)                                                                                           \
  {                                                                                                                    \
    words, CHOICE_AFTER_FIRST(networks), AT(INTEGER, struct hr_topology, network[tier]),                               \
        HELP("Network that joins the parts of a group of the tier " words ".")                                         \
  }
static const struct hr__key network_keys[] = {NETWORK(HR_TIER_ISLAND, "island"),
                                              NETWORK(HR_TIER_NUMA, "numa"),
                                              NETWORK(HR_TIER_NODE, "node"),
                                              NETWORK(HR_TIER_RACK, "rack"),
                                              NETWORK(HR_TIER_ZONE, "zone"),
                                              NETWORK(HR_TIER_POOL, "pool"),
                                              END};

static const struct hr__key topology_keys[] = {
    {"island_gpus", WHOLE(1, HR_MAX_INVENTORY_GPUS), AT(INTEGER, struct hr_topology, island_gpus), .unit = "GPUs",
     HELP("Number of GPUs of an island: GPUs of a node with their own links, such as NVLink.")},
    {"numa_gpus", WHOLE(1, HR_MAX_INVENTORY_GPUS), AT(INTEGER, struct hr_topology, numa_gpus), .unit = "GPUs",
     HELP("Number of GPUs of a NUMA domain.")},
    {"nodes_per_rack", WHOLE(1, HR_MAX_NODES), AT(INTEGER, struct hr_topology, nodes_per_rack), .unit = "nodes",
     HELP("Number of nodes of a rack.")},
    {"racks_per_zone", WHOLE(1, HR_MAX_NODES), AT(INTEGER, struct hr_topology, racks_per_zone), .unit = "racks",
     HELP("Number of racks of a zone.")},
    {"network", OBJECT(network_keys), .store = HR__STORE_PART,
     HELP("Network between the GPUs of a job, by the narrowest tier that contains all of them.")},
    END};

/* ---- Durations, billing, ownership ------------------------------------------------------------------ */

#define EXPECTED (1 << HR_DURATION_FIXED | 1 << HR_DURATION_EXPONENTIAL)
static const struct hr__key duration_keys[] = {
    {"distribution", CHOICE(distributions), MUST, .selects = true, AT(INTEGER, struct hr_duration, kind),
     HELP("Kind of distribution.")},
    {"mean_s", REAL(MIN_SCALE, MAX_SECONDS), .unit = "s", NEEDED_WITH(EXPECTED), AT(DOUBLE, struct hr_duration, a),
     HELP("Mean of the distribution.")},
    {"mu", REAL(-MAX_LOG_S, MAX_LOG_S), NEEDED_WITH(1 << HR_DURATION_LOG_NORMAL), AT(DOUBLE, struct hr_duration, a),
     HELP("Mean of the natural logarithm of seconds. If you know it for hours, add ln 3600 = 8.18869.")},
    {"sigma", REAL(0, 10), NEEDED_WITH(1 << HR_DURATION_LOG_NORMAL), AT(DOUBLE, struct hr_duration, b),
     HELP("Standard deviation of the natural logarithm of seconds.")},
    {"shape", REAL(0.01, 100), NEEDED_WITH(1 << HR_DURATION_WEIBULL), AT(DOUBLE, struct hr_duration, a),
     HELP("Shape parameter of the distribution.")},
    {"scale_s", REAL(MIN_SCALE, MAX_SECONDS), .unit = "s", NEEDED_WITH(1 << HR_DURATION_WEIBULL),
     AT(DOUBLE, struct hr_duration, b), HELP("Scale parameter of the distribution.")},
    END};

static const struct hr__key billing_keys[] = {
    {"granularity_s", SECONDS, OTHERWISE("1 for aws and gcp, else 0"), AS_US(struct hr_billing, granularity_us),
     HELP("Billed time is rounded up to a multiple of this. 0: exact.")},
    {"minimum_s", SECONDS, OTHERWISE("60 for aws and gcp, else 0"), AS_US(struct hr_billing, minimum_us),
     HELP("Minimum time charged for a node.")},
    {"free_if_reclaimed_s", SECONDS, DEFAULT("0"), AS_US(struct hr_billing, free_if_reclaimed_us),
     HELP("With market spot: a node costs nothing if it is interrupted within this time after its request.")},
    END};

/* ---- Autoscalers ------------------------------------------------------------------------------------ */

static const struct hr__key expander_keys[] = {
    {"*", CHOICE(expanders), AT(INTEGER, struct hr_expander, kind), HELP("Name of an expander.")}, END};

static const struct hr__key scaling_quota_keys[] = {
    {"gpus", WHOLE(0, HR_MAX_GPUS), .unit = "GPUs", MUST, AT(INTEGER, struct hr_scaling_quota, max_gpus),
     HELP("Maximum number of GPUs, including GPUs of requested nodes that are not up yet.")},
    {"gpu", NAME, OTHERWISE("all types"), AT(TEXT, struct hr_scaling_quota, gpu),
     HELP("Only pools with this GPU type.")},
    {"region", NAME, OTHERWISE("all regions"), AT(TEXT, struct hr_scaling_quota, region),
     HELP("Only pools in this region.")},
    END};

#define NODE_POOL struct hr_node_pool
static const struct hr__key limit_keys[] = {
    {"nodes", WHOLE(0, HR_MAX_NODES), .unit = "nodes", OTHERWISE("no limit"), AT(INTEGER, NODE_POOL, max_nodes),
     HELP("Maximum number of nodes, including requested nodes that are not up yet.")},
    {"gpus", WHOLE(0, HR_MAX_GPUS), .unit = "GPUs", OTHERWISE("no limit"), AT(INTEGER, NODE_POOL, max_gpus),
     HELP("Maximum number of GPUs of these nodes.")},
    {"cpus", REAL(0, 1e9), OTHERWISE("no limit"), SCALED(1000, NODE_POOL, max_cpu_milli),
     HELP("Maximum number of CPUs of these nodes. A node with an unknown number of CPUs counts with one CPU per GPU.")},
    {"mem_gb", REAL(0, 1e12), .unit = "GiB", OTHERWISE("no limit"), SCALED(1024, NODE_POOL, max_mem_mib),
     HELP("Maximum memory of these nodes. A node with an unknown amount of memory counts with 1 GiB per GPU.")},
    END};

static const struct hr__key disruption_budget_keys[] = {
    {"nodes", WHOLE(0, HR_MAX_NODES), .unit = "nodes", AT(INTEGER, struct hr_disruption_budget, nodes),
     OTHERWISE("'percent'"), HELP("Maximum number of nodes that are being removed at the same time.")},
    {"percent", WHOLE(0, 100), AT(INTEGER, struct hr_disruption_budget, percent), OTHERWISE("'nodes'"),
     HELP("Instead of 'nodes': percentage of the nodes of the node pool, rounded up.")},
    {"reasons", LIST(1, 3, EACH(CHOICE(disruptions))), OTHERWISE("all"), AT(BITS, struct hr_disruption_budget, reasons),
     HELP("The reasons for which the budget applies.")},
    {"schedule", TEXT(1, 200), OTHERWISE("always"), AT(TEXT, struct hr_disruption_budget, schedule),
     HELP("Instants in UTC, in the syntax of cron (minute, hour, day, month, weekday), or @hourly, @daily, @weekly, "
          "@monthly or @yearly. The budget applies for 'duration_s' after each instant. If the trace has no dates, its "
          "clock begins on 1970-01-01, a Thursday.")},
    {"duration_s", SECONDS_FROM(60), OTHERWISE("required with 'schedule'"),
     AS_US(struct hr_disruption_budget, duration_us), HELP("Duration of the budget after each instant of 'schedule'.")},
    END};

const struct hr__key hr__node_pool_keys[] = {
    {"name", NAME, MUST, AT(TEXT, NODE_POOL, name), HELP("Name of the node pool.")},
    {"pools", LIST(1, 1000, EACH(NAME, AT(TEXT, struct hr_named_pool, name))), OTHERWISE("all elastic pools"),
     AS_ARRAY(NODE_POOL, pools, n_pools),
     HELP("Names of the elastic pools in this node pool. Required if there are several node pools.")},
    {"weight", WHOLE(0, 100), DEFAULT("0"), AT(INTEGER, NODE_POOL, weight),
     HELP("New nodes come from the node pool with the highest weight, if its 'limits' permit another node; otherwise "
          "from the next one.")},
    {"limits", OBJECT(limit_keys), .store = HR__STORE_PART,
     HELP("Limits that the nodes of the node pool must not exceed.")},
    {"consolidation", CHOICE(consolidations), DEFAULT("when-empty-or-underutilized"),
     AT(INTEGER, NODE_POOL, consolidation),
     HELP("Which nodes are removed. when-empty: nodes without jobs. when-empty-or-underutilized: also nodes with jobs, "
          "if the jobs fit on other nodes, or if those that do not fit can run on one new node that costs less. The "
          "jobs are interrupted.")},
    {"consolidate_after_s", SECONDS, DEFAULT("0"), AS_US(NODE_POOL, consolidate_after_us),
     HELP("Minimum time from the last start or end of a job on a node to the removal of the node.")},
    {"expire_after_s", SECONDS_FROM(1), DEFAULT("2592000"), AS_US(NODE_POOL, expire_us),
     HELP("A node is removed this time after its request. Jobs that run on it are interrupted.")},
    {"budgets", LIST(0, 100, EACH(OBJECT(disruption_budget_keys))), OTHERWISE("one budget of 10 percent"),
     AS_ARRAY(NODE_POOL, budgets, n_budgets),
     HELP("Limits of the number of nodes that are being removed at the same time. The smallest budget applies. An "
          "empty list: no limit.")},
    {"drift_at_s", LIST(1, 1000, EACH(SECONDS, .store = HR__STORE_INTEGER, .scale = 1e6, .bytes = sizeof(int64_t))),
     OTHERWISE("never"), AS_ARRAY(NODE_POOL, drifts_us, n_drifts),
     HELP("Times at which the template of the nodes changes, such as their image. Nodes that were requested earlier "
          "are replaced.")},
    END};
#undef NODE_POOL

#define SCALER struct hr_autoscaler_spec
#define CLUSTER (1u << HR_NODE_AUTOSCALER_CLUSTER)
#define KARPENTER (1u << HR_NODE_AUTOSCALER_KARPENTER)
const struct hr__key hr__autoscaler_keys[] = {
    {"name", CHOICE(autoscalers), MUST, .selects = true, AT(INTEGER, SCALER, kind),
     HELP("Which autoscaler is modelled. cluster-autoscaler: the cluster autoscaler of Kubernetes. karpenter: "
          "Karpenter.")},
    {"scan_interval_s", SECONDS_FROM(0.001), WITH(CLUSTER), DEFAULT("10"), AS_US(SCALER, scan_us),
     HELP("The autoscaler examines the cluster at multiples of this time.")},
    {"expanders", LIST(1, HR_N_EXPANDERS, expander_keys), WITH(CLUSTER), OTHERWISE("least-waste"),
     AS_ARRAY(SCALER, expanders, n_expanders),
     HELP("Rules that choose the pool that gets new nodes, in order. Each rule keeps only the pools that are best for "
          "it. If several pools are left at the end, one of them is drawn at random.")},
    {"balance_similar", BOOLEAN, WITH(CLUSTER), DEFAULT("false"), AT(INTEGER, SCALER, balances),
     HELP("Whether similar pools grow together, the smallest first. Pools are similar if they have equal nodes for the "
          "same jobs.")},
    {"max_nodes", WHOLE(1, HR_MAX_NODES), .unit = "nodes", WITH(CLUSTER), OTHERWISE("no limit"),
     AT(INTEGER, SCALER, max_nodes),
     HELP("Maximum number of nodes of the cluster, including nodes that the autoscaler does not manage.")},
    {"quotas", LIST(1, 1000, EACH(OBJECT(scaling_quota_keys))), OTHERWISE("none"), AS_ARRAY(SCALER, quotas, n_quotas),
     HELP("Quotas of the provider for elastic pools, by GPU type and region.")},
    {"new_job_s", SECONDS, WITH(CLUSTER), DEFAULT("2"), AS_US(SCALER, new_job_us),
     HELP("No node is requested while all jobs that need new nodes have waited for less than this time.")},
    {"new_gpu_job_s", SECONDS, WITH(CLUSTER), DEFAULT("30"), AS_US(SCALER, new_gpu_job_us),
     HELP("If jobs with GPUs need new nodes, no node is requested while all of these jobs have waited for less than "
          "this time.")},
    {"max_provision_s", SECONDS, DEFAULT("900"), AS_US(SCALER, provision_us),
     HELP("If a node has not booted after this time, its request is cancelled. With cluster-autoscaler, its pool then "
          "backs off.")},
    {"backoff_s", SECONDS, WITH(CLUSTER), DEFAULT("300"), AS_US(SCALER, backoff_us),
     HELP("Back-off: time after a failed request in which no nodes of the pool are requested. Each further failure "
          "doubles it.")},
    {"backoff_max_s", SECONDS, WITH(CLUSTER), DEFAULT("1800"), AS_US(SCALER, max_backoff_us),
     HELP("Maximum of the back-off.")},
    {"backoff_reset_s", SECONDS, WITH(CLUSTER), DEFAULT("10800"), AS_US(SCALER, backoff_reset_us),
     HELP("Time after the last failure of a pool at which its back-off is reset to 'backoff_s'.")},
    {"unneeded_s", SECONDS, WITH(CLUSTER), DEFAULT("600"), AS_US(SCALER, unneeded_us),
     HELP("A node is removed if it was unneeded in all scans for longer than this. A node is unneeded if it has no job "
          "and no waiting job would use it.")},
    {"drain", BOOLEAN, WITH(CLUSTER), DEFAULT("false"), AT(INTEGER, SCALER, drains),
     HELP("Whether nodes with jobs are also removed if all their jobs fit on other nodes. The jobs are interrupted. "
          "false: a node with a job is never removed.")},
    {"utilization_threshold", SHARE, WITH(CLUSTER), DEFAULT("0.5"), AT(DOUBLE, SCALER, utilization_threshold),
     HELP("With 'drain': a node is not removed while more than this share of its GPUs is allocated.")},
    {"delay_after_add_s", SECONDS, WITH(CLUSTER), DEFAULT("600"), AS_US(SCALER, after_add_us),
     HELP("No nodes are removed for this time after nodes were added.")},
    {"delay_after_delete_s", SECONDS, WITH(CLUSTER), DEFAULT("0"), AS_US(SCALER, after_delete_us),
     HELP("No nodes are removed for this time after nodes were removed.")},
    {"delay_after_failure_s", SECONDS, WITH(CLUSTER), DEFAULT("180"), AS_US(SCALER, after_failure_us),
     HELP("No nodes are removed for this time after a failed request for nodes.")},
    {"max_deletions", WHOLE(1, HR_MAX_NODES), .unit = "nodes", WITH(CLUSTER), DEFAULT("10"),
     AT(INTEGER, SCALER, max_deletions), HELP("Maximum number of nodes that a scan removes.")},
    {"max_drains", WHOLE(1, HR_MAX_NODES), .unit = "nodes", WITH(CLUSTER), DEFAULT("1"),
     AT(INTEGER, SCALER, max_drains), HELP("Maximum number of nodes with jobs that a scan removes.")},
    {"node_pools", LIST(1, 100, EACH(OBJECT(hr__node_pool_keys))), WITH(KARPENTER),
     OTHERWISE("one node pool that contains all elastic pools and has the defaults"),
     AS_ARRAY(SCALER, node_pools, n_node_pools),
     HELP("Node pools: elastic pools with common rules. Each elastic pool is in one of them.")},
    {"batch_idle_s", SECONDS, WITH(KARPENTER), DEFAULT("1"), AS_US(SCALER, batch_idle_us),
     HELP("Jobs that begin to wait form a batch. The batch ends, and its nodes are requested, when no further job has "
          "begun to wait for this time.")},
    {"batch_max_s", SECONDS, WITH(KARPENTER), DEFAULT("10"), AS_US(SCALER, batch_max_us),
     HELP("Maximum length of a batch.")},
    {"unavailable_s", SECONDS, WITH(KARPENTER), DEFAULT("180"), AS_US(SCALER, unavailable_us),
     HELP("A pool for which the provider had no capacity is not tried again for this time.")},
    {"spot_to_spot", BOOLEAN, WITH(KARPENTER), DEFAULT("false"), AT(INTEGER, SCALER, spot_to_spot),
     HELP("Whether spot nodes are replaced by cheaper spot nodes. A single node is replaced only if its jobs fit into "
          "at least 15 pools that cost less. Several nodes are replaced by one node without this minimum.")},
    END};
#undef CLUSTER
#undef KARPENTER
#undef SCALER

static const struct hr__key autoscale_keys[] = {
    {"min_nodes", WHOLE(0, HR_MAX_NODES), .unit = "nodes", DEFAULT("0"), AT(INTEGER, struct hr_pool_spec, min_nodes),
     HELP("The pool has at least this number of nodes.")},
    {"priority", WHOLE(1, 1e9), OTHERWISE("none; such a pool grows only if no pool with a priority can"),
     AT(INTEGER, struct hr_pool_spec, scale_priority),
     HELP("With the expander 'priority': pools with the highest number grow first.")},
    {"no_capacity", SHARE, DEFAULT("0"),
     HELP("Probability that the provider has no capacity for a requested node. Then the rest of the request is "
          "cancelled, and no nodes of the pool are requested for some time.")},
    END};

static const struct hr__key queued_keys[] = {
    {"wait_s", SECONDS, DEFAULT("0"), AT(DOUBLE, struct hr_pool_spec, market.queue.a),
     HELP("Time from a request until the provider provides its nodes. Then they boot.")},
    {"wait", OBJECT(duration_keys), AT(PART, struct hr_pool_spec, market.queue),
     HELP("Instead of 'wait_s': a random duration, drawn for each request. Nodes that are requested at the same time "
          "are one request, and are provided together.")},
    {"max_run_s", SECONDS_FROM(1), OTHERWISE("no limit"), AS_US(struct hr_pool_spec, market.max_run_us),
     HELP("The provider stops the nodes and their jobs this time after it has provided them. GCP's flex-start: "
          "604800.")},
    END};

/* ---- Failures --------------------------------------------------------------------------------------- */

/* The keys for the times until a failure is detected and repaired. They are stored in the member `part` of a struct. */
#define FAULT_DELAYS(type, part)                                                                                       \
  {"detect_s", SECONDS, DEFAULT("0"), AT(DOUBLE, type, part detect.a),                                                 \
   HELP("Time from a failure until it is detected. Until then, jobs hold their GPUs without progress.")},              \
      {"detect", OBJECT(duration_keys), AT(PART, type, part detect),                                                   \
       HELP("Instead of 'detect_s': a random duration.")},                                                             \
      {"repair_s", SECONDS, AT(DOUBLE, type, part repair.a), OTHERWISE("required, unless there are 'classes'"),        \
       HELP("Time to repair the nodes. A repair begins when the failure is detected or, if all of 'crew' is busy, "    \
            "later.")},                                                                                                \
  {                                                                                                                    \
    "repair", OBJECT(duration_keys), AT(PART, type, part repair), HELP("Instead of 'repair_s': a random duration.")    \
  }

static const struct hr__key fault_class_keys[] = {
    {"name", NAME, MUST, AT(TEXT, struct hr_fault_class, name), HELP("Name of the class, such as reboot.")},
    {"share", REAL(0, 1e9), .unit = "share", MUST, AT(DOUBLE, struct hr_fault_class, share),
     HELP("Share of the failures, relative to the other classes.")},
    {"corrupts", BOOLEAN, DEFAULT("false"), AT(INTEGER, struct hr_fault_class, corrupts),
     HELP("Whether jobs continue until the failure is detected, with corrupted results. Then they return to their last "
          "checkpoint before the failure.")},
    FAULT_DELAYS(struct hr_fault_class, ),
    END};

static const struct hr__key bad_node_keys[] = {
    {"share", SHARE, MUST, AT(DOUBLE, struct hr_fault_process, bad_share), HELP("Share of the nodes.")},
    {"factor", REAL(1e-3, 1e6), MUST, AT(DOUBLE, struct hr_fault_process, bad_factor),
     HELP("Failure rate of these nodes, relative to the other nodes.")},
    END};

/* The keys of a process of failures, for single nodes or for groups of nodes. The minimum of 'mtbf_h' is one second. */
#define FAULT_PROCESS                                                                                                  \
  {"mtbf_h", REAL(0.000278, 1e9), .unit = "h",                                                                         \
   HELP("Mean time between the repair of a node (or group) and its next failure, exponentially distributed.")},        \
      {"between", OBJECT(duration_keys), AT(PART, struct hr_fault_process, between),                                   \
       HELP("Instead of 'mtbf_h': time between a repair and the next failure, as a random duration.")},                \
      {"clock", CHOICE(fault_clocks), DEFAULT("up"), AT(INTEGER, struct hr_fault_process, clock),                      \
       HELP("Which time counts until the next failure. up: time in operation. wall: all time; a failure of a node "    \
            "that is already down has no effect. busy: time in which jobs run on the node (or group).")},              \
      {"start", CHOICE(fault_starts), DEFAULT("stationary"), AT(INTEGER, struct hr_fault_process, fresh),              \
       HELP("State of the nodes at the beginning of the run. stationary: as at a random time of a long operation, so " \
            "some nodes may be down. fresh: all nodes have just been repaired.")},                                     \
      FAULT_DELAYS(struct hr_fault_process, only.),                                                                    \
      {"classes", LIST(1, 100, EACH(OBJECT(fault_class_keys))), AS_ARRAY(struct hr_fault_process, classes, n_classes), \
       HELP("Instead of one repair time: classes of failures. Each class has its own share, detection time and "       \
            "repair time.")},                                                                                          \
  {                                                                                                                    \
    "bad_nodes", OBJECT(bad_node_keys), .store = HR__STORE_PART, HELP("Nodes (or groups) that fail more often.")       \
  }

static const struct hr__key fault_log_keys[] = {
    {"file", PATH, MUST,
     HELP("A log of failures, in a format of 'headroom fit failures', relative to the scenario's folder.")},
    {"system", NAME, OTHERWISE("all systems of the log"), HELP("Only failures of this system.")},
    END};

static const struct hr__key slow_keys[] = {
    {"between_h", REAL(MIN_SCALE, 1e9), .unit = "h", MUST,
     HELP("Mean time from the end of an episode of a node to its next one, exponentially distributed.")},
    {"length_s", REAL(MIN_SCALE, MAX_SECONDS), .unit = "s", MUST,
     HELP("Mean length of an episode, exponentially distributed.")},
    {"speed", REAL(1e-6, 1), MUST, SCALED(1e6, struct hr_slow_spec, speed_ppm),
     HELP("Speed of the node during an episode. A job has the speed of its slowest node.")},
    END};

#define HOURS_LIST(member)                                                                                             \
  LIST(1, 1000000, EACH(REAL(0, 1e9), .unit = "h", AT(DOUBLE, struct hr_hours, h), HELP("An interval."))),             \
      AS_ARRAY(struct hr_fault_process, member.values, member.n_values)

static const struct hr__key fault_group_keys[] = {
    {"name", NAME, AT(TEXT, struct hr_fault_process, name), OTHERWISE("that of the tier"),
     HELP("Name of the groups in results, such as power.")},
    {"tier", CHOICE(fault_tiers), AT(INTEGER, struct hr_fault_process, unit), .first_choice = HR_TIER_ISLAND,
     HELP("Each group of this tier of the topology fails as a whole. If the group is a part of a node, the whole node "
          "is down. Required unless 'nodes' or 'racks' is set.")},
    {"nodes", WHOLE(1, HR_MAX_NODES), .unit = "nodes", AT(INTEGER, struct hr_fault_process, group_nodes),
     HELP("Instead of 'tier': each group has this number of consecutive nodes, such as those of an NVLink domain or a "
          "power supply.")},
    {"racks", WHOLE(1, HR_MAX_NODES), .unit = "racks",
     HELP("Instead of 'tier': each group has this number of consecutive racks, such as those of a power domain or a "
          "switch.")},
    FAULT_PROCESS,
    END};

const struct hr__key hr__fault_keys[] = {
    {"per_1000_node_days", REAL(0, 1e9), .unit = "failures",
     HELP("Instead of 'mtbf_h': number of failures of 1,000 nodes in a day of operation, as published for fleets. 0: "
          "no failures.")},
    FAULT_PROCESS,
    {"log", OBJECT(fault_log_keys),
     HELP("Instead of random failures: the failures of a log, with the same intervals and repairs. The nodes of the "
          "log are assigned to the nodes of the pool in the order of their first failures. The first failure of the "
          "log occurs at the beginning of the run.")},
    {"recorded", OBJECT(fault_log_keys),
     HELP("Instead of a distribution: times between failures of a node, and repair times, are drawn from the intervals "
          "of a log.")},
    {"between_h", HOURS_LIST(recorded_between),
     HELP(
         "Instead of 'mtbf_h': recorded times between a repair and the next failure. Times are drawn from this list.")},
    {"repair_h", HOURS_LIST(recorded_repair),
     HELP("Instead of 'repair_s': recorded repair times. Times are drawn from this list.")},
    {"spares", WHOLE(0, HR_MAX_NODES), .unit = "nodes", DEFAULT("0"),
     HELP("Number of nodes of the pool that are spares. When a node goes down, a spare replaces it. A repaired node "
          "becomes a spare if enough nodes are up.")},
    {"activation_s", SECONDS, DEFAULT("0"),
     HELP("Time from the failure of a node until a spare is up. It is short for warm spares; for cold spares, it is "
          "the time to boot or to deliver a node.")},
    {"slow", OBJECT(slow_keys), HELP("Episodes in which nodes are slow.")},
    {"crew", WHOLE(1, HR_MAX_NODES), OTHERWISE("no limit"), .unit = "repairs",
     HELP("Maximum number of nodes or groups of the pool that are repaired at the same time. Repairs begin in the "
          "order of detection.")},
    {"groups", LIST(1, HR_FAULT_PROCESSES - 1, EACH(OBJECT(fault_group_keys))),
     HELP("Failures of groups, which fail as a whole: nodes that share a switch, a power supply or cooling, or the "
          "GPUs of an island.")},
    END};

const struct hr__key hr__maintenance_keys[] = {
    {"name", NAME, AT(TEXT, struct hr_maintenance, name), OTHERWISE("maintenance and its number"),
     HELP("Name of the window, for 'headroom why'.")},
    {"start_s", SECONDS, MUST, AS_US(struct hr_maintenance, start_us),
     HELP("Time from the first submit at which the work on the first nodes begins.")},
    {"every_days", REAL(MIN_SCALE, 36500), .unit = "days", OTHERWISE("once"),
     HELP("Time from one maintenance to the next. Not with 'every_weeks'.")},
    {"every_weeks", REAL(MIN_SCALE, 5200), .unit = "weeks", OTHERWISE("once"), HELP("Instead of 'every_days'.")},
    {"duration_s", SECONDS_FROM(1), MUST, AS_US(struct hr_maintenance, duration_us),
     HELP("Duration of the work on a group of nodes.")},
    {"lead_s", SECONDS, DEFAULT("0"), AS_US(struct hr_maintenance, lead_us),
     HELP("Lead time: no job starts on a node for this time before the work on it.")},
    {"nodes_per_group", WHOLE(1, HR_MAX_NODES), .unit = "nodes", OTHERWISE("all nodes of the pool"),
     AT(INTEGER, struct hr_maintenance, group_nodes),
     HELP("Number of nodes of a group, which are in maintenance together. The lead time of the next group begins when "
          "the work on a group has ended.")},
    {"drain", CHOICE(drains), DEFAULT("wait"), AT(INTEGER, struct hr_maintenance, drain),
     HELP("What happens to jobs on the nodes. wait: the work begins when they have ended. deadline-kill: they are "
          "stopped when the work begins. checkpoint-kill: jobs that would be stopped save their work in the lead time, "
          "if they can, and leave. migrate: all jobs leave when the lead time begins, and lose no work.")},
    {"max_unavailable", SCALAR, OTHERWISE("no limit"),
     HELP("Disruption budget: maximum number of nodes of the pool that are down or in maintenance, including the group "
          "that begins its maintenance. The maintenance is delayed until the budget permits it. A number of nodes, or "
          "a share such as \"25%\", which is rounded up.")},
    END};

/* ---- Power ------------------------------------------------------------------------------------------ */

#define WATTS REAL(0, MAX_WATTS), .unit = "W"
#define MAX_WATTS 1e6 /* maximum power of a GPU, a host or a node */

static const struct hr__key power_point_keys[] = {
    {"utilization", SHARE, MUST, AT(DOUBLE, struct hr_power_point, utilization), HELP("Utilization of the GPU.")},
    {"gpu_w", WATTS, MUST, AT(DOUBLE, struct hr_power_point, gpu_w), HELP("Power of the GPU at this utilization.")},
    END};

static const struct hr__key power_loss_keys[] = {
    {"efficiency", REAL(0.01, 1), MUST, AT(DOUBLE, struct hr_power_loss, efficiency),
     HELP("Efficiency of the stage: output / input, without the constant loss.")},
    {"constant_w", WATTS, DEFAULT("0"), AT(DOUBLE, struct hr_power_loss, constant_w),
     HELP("Constant loss: the input is (output + constant_w) / efficiency.")},
    {"nodes", WHOLE(1, HR_MAX_NODES), DEFAULT("1"), AT(INTEGER, struct hr_power_loss, nodes),
     HELP("Number of nodes that share one device of this stage.")},
    END};

static const struct hr__key power_cap_keys[] = {
    {"limit_w", WATTS, MUST, AT(DOUBLE, struct hr_power_cap, limit_w), HELP("Power limit of a GPU.")},
    {"time_ratio", REAL(1, 1000), MUST, AT(DOUBLE, struct hr_power_cap, time_ratio),
     HELP("Time to do the same work at this limit / time at the highest limit.")},
    {"power_ratio", REAL(1e-3, 1), MUST, AT(DOUBLE, struct hr_power_cap, power_ratio),
     HELP("Mean power of a GPU at this limit / mean power at the highest limit.")},
    END};

static const struct hr__key sleep_keys[] = {
    {"idle_s", SECONDS_FROM(1e-6), MUST, AS_US(struct hr_power_sleep, idle_us),
     HELP("Time without a job after which a node is suspended.")},
    {"sleep_w", WATTS, DEFAULT("0"), AT(DOUBLE, struct hr_power_sleep, sleep_w), HELP("Power of a node that sleeps.")},
    {"suspend_s", SECONDS, DEFAULT("0"), AS_US(struct hr_power_sleep, suspend_us),
     HELP("Time to suspend a node. During this time, it cannot be woken.")},
    {"suspend_w", WATTS, OTHERWISE("that of an idle node"), AT(DOUBLE, struct hr_power_sleep, suspend_w),
     HELP("Power of a node while it is being suspended.")},
    {"boot_s", SECONDS, DEFAULT("0"), AT(DOUBLE, struct hr_power_sleep, boot.a),
     HELP("Time from the request for a sleeping node until jobs may start on it. During this time, the node draws "
          "'boot_w'.")},
    {"boot", OBJECT(duration_keys), AT(PART, struct hr_power_sleep, boot),
     HELP("Instead of 'boot_s': a random duration.")},
    {"min_awake", WHOLE(0, HR_MAX_NODES), .unit = "nodes", DEFAULT("0"), AT(INTEGER, struct hr_power_sleep, min_awake),
     HELP("A node is suspended only while more than this number of nodes of the pool are awake.")},
    END};

static const struct hr__key heat_keys[] = {
    {"ambient_c", REAL(-50, 100), .unit = "degrees C", DEFAULT("25"), AT(DOUBLE, struct hr_power_heat, ambient_c),
     HELP("Temperature of the air, or of the liquid, at the inlet.")},
    {"c_per_w", REAL(1e-6, 100), .unit = "degrees C per W", MUST, AT(DOUBLE, struct hr_power_heat, c_per_w),
     HELP("Thermal resistance: rise of the temperature of a GPU per watt that it draws.")},
    {"time_constant_s", REAL(1e-3, MAX_SECONDS), .unit = "s", DEFAULT("60"),
     AT(DOUBLE, struct hr_power_heat, time_constant_s),
     HELP("Time constant of temperature changes: after this time, 63 % of a change has taken place.")},
    END};

static const struct hr__key battery_keys[] = {
    {"capacity_kwh", REAL(1e-6, 1e9), .unit = "kWh", MUST, AT(DOUBLE, struct hr_power_battery, capacity_kwh),
     HELP("Energy that the battery can store.")},
    {"charge_w", REAL(1e-3, HR_POWER_MAX_W), .unit = "W", MUST, AT(DOUBLE, struct hr_power_battery, charge_w),
     HELP("Power that the battery takes from the grid while it charges.")},
    {"threshold_g_per_kwh", REAL(0, 1e6), .unit = "g/kWh", MUST, AT(DOUBLE, struct hr_power_battery, lower_g_per_kwh),
     HELP("The battery charges while the carbon intensity is below this value.")},
    {"discharge_g_per_kwh", REAL(0, 1e6), .unit = "g/kWh", OTHERWISE("'threshold_g_per_kwh'"),
     AT(DOUBLE, struct hr_power_battery, upper_g_per_kwh),
     HELP("The battery serves the load while the carbon intensity is at or above this value.")},
    {"discharge_w", REAL(1e-3, HR_POWER_MAX_W), .unit = "W", OTHERWISE("the whole load"),
     AT(DOUBLE, struct hr_power_battery, discharge_w),
     HELP("Maximum power with which the battery serves the load. The grid serves the rest.")},
    {"efficiency", REAL(0.01, 1), DEFAULT("1"), AT(DOUBLE, struct hr_power_battery, efficiency),
     HELP("Stored energy / energy that is taken from the grid.")},
    {"initial_kwh", REAL(0, 1e9), .unit = "kWh", DEFAULT("0"), AT(DOUBLE, struct hr_power_battery, initial_kwh),
     HELP("Stored energy at the beginning of the run.")},
    END};

const struct hr__key hr__power_keys[] = {
    {"model", CHOICE(power_models), .selects = true, DEFAULT("linear"), AT(INTEGER, struct hr_power_spec, model),
     HELP("How power depends on the utilization u, between idle and maximum: u (linear), u^(1/2) (sqrt), u^2 (square), "
          "u^3 (cubic), (1 + u - exp(-u / asymptote)) / 2 (asymptotic), or as in 'table'.")},
    {"utilization", SHARE, DEFAULT("1"), AT(DOUBLE, struct hr_power_spec, utilization),
     HELP("Utilization of GPUs in use, for jobs without 'gpu_power_fraction'. With 1, the computed power is an upper "
          "bound.")},
    {"gpu_idle_w", WATTS, AT(DOUBLE, struct hr_power_spec, gpu_idle_w),
     OTHERWISE("that of its type in the catalogue, else 0.12 of 'gpu_max_w'"), HELP("Power of an idle GPU.")},
    {"gpu_max_w", WATTS, AT(DOUBLE, struct hr_power_spec, gpu_max_w), OTHERWISE("that of its type in the catalogue"),
     HELP("Maximum power of a GPU.")},
    {"host_idle_w", WATTS, AT(DOUBLE, struct hr_power_spec, host_idle_w),
     OTHERWISE("0.29 of the maximum power of its GPUs, as measured on nodes with 8 A100"),
     HELP("Power of the host of an idle node, which is the node without its GPUs.")},
    {"host_max_w", WATTS, AT(DOUBLE, struct hr_power_spec, host_max_w),
     OTHERWISE("0.43 of the maximum power of its GPUs, as measured on nodes with 8 A100, or 'host_idle_w' if larger"),
     HELP("Maximum power of the host.")},
    {"asymptote", REAL(0.01, 10), WITH(1 << HR_POWER_ASYMPTOTIC), DEFAULT("0.3"),
     AT(DOUBLE, struct hr_power_spec, asymptote), HELP("The parameter of the model asymptotic; usually 0.2 to 0.5.")},
    {"table", LIST(2, HR_POWER_MAX_POINTS, EACH(OBJECT(power_point_keys))), NEEDED_WITH(1 << HR_POWER_TABLE),
     AS_ARRAY(struct hr_power_spec, table, n_table),
     HELP("Power of a GPU by utilization, in ascending order. Between two points, it is interpolated linearly. Its "
          "first and last point replace 'gpu_idle_w' and 'gpu_max_w'.")},
    {"down_w", WATTS, DEFAULT("0"), AT(DOUBLE, struct hr_power_spec, down_w),
     HELP("Power of a node that is off or in repair. Nodes of elastic pools that are off draw no power.")},
    {"boot_w", WATTS, AT(DOUBLE, struct hr_power_spec, boot_w), OTHERWISE("that of an idle node"),
     HELP("Power of a node that boots.")},
    {"other_w", REAL(0, HR_POWER_MAX_W), .unit = "W", DEFAULT("0"), AT(DOUBLE, struct hr_power_spec, other_w),
     HELP("Constant power of other equipment of the pool, such as switches and pumps.")},
    {"losses", LIST(1, HR_POWER_MAX_LOSSES, EACH(OBJECT(power_loss_keys))),
     AS_ARRAY(struct hr_power_spec, losses, n_losses),
     HELP("Stages of power conversion between the nodes and the meter, such as power supplies and rectifiers. The "
          "first stage is nearest to the nodes. The power that other keys state does not include these losses.")},
    {"pue", REAL(1, 10), DEFAULT("1"), AT(DOUBLE, struct hr_power_spec, pue),
     HELP("Power usage effectiveness: power of the site / power of its IT equipment.")},
    {"cooling_w", REAL(0, HR_POWER_MAX_W), .unit = "W", DEFAULT("0"), AT(DOUBLE, struct hr_power_spec, cooling_w),
     HELP("Constant power of the cooling, in addition to the power that 'pue' adds in proportion to the load.")},
    {"gpu_cap_w", WATTS, AT(DOUBLE, struct hr_power_spec, gpu_cap_w), OTHERWISE("no limit"),
     HELP("Power limit of each GPU. Jobs that would draw more run at a lower speed, which 'caps' states.")},
    {"caps", LIST(1, HR_POWER_MAX_POINTS, EACH(OBJECT(power_cap_keys))), AS_ARRAY(struct hr_power_spec, caps, n_caps),
     OTHERWISE("those of the GPU type in the catalogue; without them, required if 'gpu_cap_w' is below 'gpu_max_w'"),
     HELP("Effects of power limits on jobs, from the highest limit to the lowest. Between two limits, they are "
          "interpolated linearly.")},
    {"sleep", OBJECT(sleep_keys), OTHERWISE("nodes do not sleep"),
     HELP("Idle nodes are suspended, and are woken when jobs wait for them. Not in elastic pools.")},
    {"temperature", OBJECT(heat_keys), OTHERWISE("temperatures are unknown"),
     HELP("Temperature of the GPUs, for alerts and for OpenMetrics output.")},
    {"battery", OBJECT(battery_keys), OTHERWISE("none"),
     HELP(
         "A battery of the pool, which charges while the carbon intensity is low and serves the load while it is high. "
         "It has no effect on jobs. With 'cluster.power', each pool has its own battery.")},
    END};

/* ---- Spot ------------------------------------------------------------------------------------------- */

static const struct hr__key bathtub_keys[] = {
    {"a", REAL(0, 1), MUST, AT(DOUBLE, struct hr_bathtub, a), HELP("Factor a of the distribution.")},
    {"tau1_h", REAL(MIN_SCALE, 1e6), .unit = "h", MUST, AT(DOUBLE, struct hr_bathtub, tau1_h),
     HELP("Time scale tau1 of early interruptions.")},
    {"tau2_h", REAL(MIN_SCALE, 1e6), .unit = "h", MUST, AT(DOUBLE, struct hr_bathtub, tau2_h),
     HELP("Time scale tau2 of late interruptions.")},
    {"b_h", REAL(0, 1e6), .unit = "h", MUST, AT(DOUBLE, struct hr_bathtub, b_h),
     HELP("Age b at which late interruptions begin.")},
    {"last_h", REAL(MIN_SCALE, 1e6), .unit = "h", MUST, AT(DOUBLE, struct hr_bathtub, last_h),
     HELP("Maximum lifetime of a node.")},
    END};

/* Sets of values of `price_models`, for WITH and NEEDED_WITH. */
enum { PRICE_TRACE = 1 << 1, PRICE_OU = 1 << 2 };
static const struct hr__key spot_price_keys[] = {
    {"model", CHOICE(price_models), MUST, .selects = true,
     HELP("How the price varies. fixed: it is constant. trace: as recorded. ou: it varies around the pool's price (an "
          "Ornstein-Uhlenbeck process of the logarithm), up to the on-demand price.")},
    {"file", PATH, NEEDED_WITH(PRICE_TRACE), HELP("A list of price changes, relative to the scenario's folder.")},
    {"accelerator", NAME, WITH(PRICE_TRACE), OTHERWISE("prices of the pool's 'instance'"),
     HELP("Name of the accelerator in the file, if the file has no instance types.")},
    {"zones", LIST(1, 100, EACH(NAME)), WITH(PRICE_TRACE), OTHERWISE("the pool's zone, else all of the region"),
     HELP("Zones. The lowest price of these zones is used.")},
    {"from", SCALAR, WITH(PRICE_TRACE), OTHERWISE("the first price"),
     HELP("Time in the file at which the run begins: a date or a Unix time.")},
    {"volatility", REAL(0, 10), NEEDED_WITH(PRICE_OU),
     HELP("Long-run standard deviation of the logarithm of the price.")},
    {"reversion_h", REAL(MIN_SCALE, 1e6), .unit = "h", NEEDED_WITH(PRICE_OU),
     HELP("Time in which a deviation decreases to 1/e.")},
    {"interval_s", SECONDS_FROM(1), WITH(PRICE_OU), DEFAULT("3600"), HELP("Time between two price changes.")},
    {"least_usd_per_gpu_hour", USD_UP_TO(HR_MAX_USD_H), WITH(PRICE_OU), DEFAULT("0"), HELP("Minimum price.")},
    END};

#define SPOT(model) 1 << HR_SPOT_##model
static const struct hr__key spot_keys[] = {
    {"preset", NAME,
     HELP("Name of a preset: a model with the parameters, the notice and the approximate price that were observed in "
          "one place. 'headroom list spot-presets' prints them. Other keys have precedence over the preset.")},
    {"model", CHOICE(spot_models), .selects = true, OTHERWISE("that of the preset"),
     HELP("Model of interruptions. none: no interruptions. trace: as recorded. on-off: all nodes of a zone are "
          "interrupted together. exponential: each node is interrupted at a constant rate. bathtub: the rate depends "
          "on the age of the node. advisor: as exponential, with the rate that follows from 'monthly_interruption'.")},
    {"notice_s", SECONDS, OTHERWISE("the preset's, else 120 for aws, 30 for other providers, 0 without a provider"),
     AS_US(struct hr_spot_spec, notice_us), HELP("Warning time before a node is interrupted.")},
    {"file", PATH, NEEDED_WITH(SPOT(TRACE)),
     HELP("A record of the number of available nodes over time, relative to the scenario's folder. At its end, the "
          "record is repeated. Its highest count corresponds to all nodes.")},
    {"offset_s", SECONDS, WITH(SPOT(TRACE)), DEFAULT("0"), AS_US(struct hr_spot_spec, offset_us),
     HELP("Position in the record at which the run begins.")},
    {"up", OBJECT(duration_keys), NEEDED_WITH(SPOT(ON_OFF)), AT(PART, struct hr_spot_spec, up),
     HELP("Duration of periods with capacity.")},
    {"down", OBJECT(duration_keys), NEEDED_WITH(SPOT(ON_OFF)), AT(PART, struct hr_spot_spec, down),
     HELP("Duration of periods without capacity.")},
    {"rate_per_h", REAL(0, 3600), .unit = "1/h", NEEDED_WITH(SPOT(EXPONENTIAL)),
     AT(DOUBLE, struct hr_spot_spec, rate_per_h), HELP("Interruptions per node and hour.")},
    {"monthly_interruption", REAL(0, 0.999), .unit = "share", NEEDED_WITH(SPOT(ADVISOR)),
     HELP("Share of nodes that is interrupted within 730 hours.")},
    {"batch_mean", REAL(1, HR_MAX_NODES), .unit = "nodes", WITH(SPOT(EXPONENTIAL) | SPOT(ADVISOR)), DEFAULT("1"),
     HELP("Mean number of nodes that are interrupted together.")},
    {"bathtub", OBJECT(bathtub_keys), NEEDED_WITH(SPOT(BATHTUB)), AT(PART, struct hr_spot_spec, bathtub),
     HELP("Distribution of lifetimes: F(t) = a (1 - exp(-t / tau1) + exp((t - b) / tau2)) for t below last_h, and F(t) "
          "= 1 from last_h on.")},
    {"price", OBJECT(spot_price_keys), OTHERWISE("the price is constant"), HELP("How the price varies.")},
    END};
#undef SPOT

/* ---- The pool --------------------------------------------------------------------------------------- */

#define RESERVED (1 << HR_MARKET_RESERVED)
#define SPOT (1 << HR_MARKET_SPOT)
#define ELASTIC (1 << HR_MARKET_ON_DEMAND | SPOT)
#define EVERY (1 << HR_MARKET_OWNED | RESERVED | ELASTIC)

const struct hr__key hr__pool_keys[] = {
    {"name", NAME, MUST, AT(BORROWED, struct hr_pool_spec, name), HELP("Name, different from those of other pools.")},
    {"gpu", NAME, OTHERWISE("that of 'instance'"), AT(BORROWED, struct hr_pool_spec, gpu),
     HELP("GPU type, such as A100-80. It is compared with the types that a job accepts, without regard to case.")},
    {"nodes", WHOLE(0, HR_MAX_NODES), .unit = "nodes", MUST, AT(INTEGER, struct hr_pool_spec, nodes),
     HELP("Number of nodes. At most 16,000,000 in all pools. 0: the pool is not used.")},
    {"gpus_per_node", WHOLE(1, HR_MAX_GPUS), .unit = "GPUs", OTHERWISE("that of 'instance'"),
     AT(INTEGER, struct hr_pool_spec, gpus_per_node), HELP("GPUs of a node. At most 4,000,000 GPUs in all pools.")},
    {"cpu_per_node", REAL(0, MAX_CPUS), .unit = "CPUs", OTHERWISE("that of 'instance', else unknown"),
     SCALED(1000, struct hr_pool_spec, cpu_milli_per_node), HELP("CPUs of a node. 0: unknown.")},
    {"cpu_per_gpu", SCALAR, .unit = "CPUs",
     HELP("CPUs per GPU for tasks that request no CPUs. Only with per-GPU allocation. A number, or \"proportional\": "
          "the CPUs of the node divided by its GPUs.")},
    {"mem_gb_per_node", REAL(0, 1e9), .unit = "GiB", OTHERWISE("that of 'instance', else unknown"),
     SCALED(1024, struct hr_pool_spec, mem_mib_per_node), HELP("Memory of a node, in units of 1,024 MiB. 0: unknown.")},
    {"gpu_mem_gb", REAL(0, 4e6), .unit = "GiB", OTHERWISE("that of its type in the catalogue"),
     SCALED(1024, struct hr_pool_spec, gpu_mem_mib),
     HELP("Memory of each GPU, in units of 1,024 MiB. 0: unknown. A job that requests more is never placed here.")},
    {"sharing", CHOICE(sharings), DEFAULT("whole"), AT(INTEGER, struct hr_pool_spec, sharing),
     HELP("How jobs share a GPU. whole: not at all. fraction: a job that requests gpu_milli gets these thousandths, "
          "and other jobs may use the rest. mps: as fraction; with 'replicas', each job gets one of equal parts. "
          "time-slice: each job gets one of equal parts, and jobs take turns. mig: each job has a MIG instance.")},
    {"mig", OBJECT(mig_keys), HELP("With 'sharing' mig: how GPUs are split.")},
    {"memory", CHOICE(gpu_memories), OTHERWISE("first-come with time-slice, else reserved"),
     AT(INTEGER, struct hr_pool_spec, memory),
     HELP("How memory of shared GPUs is allocated. reserved: each task gets the memory that it requests. first-come: "
          "only with time-slice; a job that finds too little free memory is killed and tries again.")},
    {"replicas", WHOLE(1, HR_MPS_CLIENTS), AT(INTEGER, struct hr_pool_spec, replicas),
     HELP("Number of equal parts of each GPU. Required with time-slice, optional with mps.")},
    {"clients", WHOLE(1, HR_MPS_CLIENTS), .unit = "jobs", OTHERWISE("48"), AT(INTEGER, struct hr_pool_spec, clients),
     HELP("Maximum number of jobs on one GPU. Only with mps.")},
    {"interference", LIST(1, 100, EACH(OBJECT(interference_keys))), OTHERWISE("the same as alone"),
     AS_ARRAY(struct hr_pool_spec, interference, n_interference),
     HELP("Speed of jobs that share a GPU, by the allocated share of the GPU.")},
    {"interference_pairs", LIST(1, 10000, EACH(OBJECT(pair_keys))), AS_ARRAY(struct hr_pool_spec, pairs, n_pairs),
     HELP("Speed of a job of one model beside a job of another model, if exactly these two jobs are on a GPU.")},
    {"classes", LIST(1, HR_N_CLASSES - 1, EACH(CHOICE_AFTER_FIRST(job_classes))),
     AT(BITS, struct hr_pool_spec, classes), OTHERWISE("all jobs"),
     HELP("Only jobs of these classes may use the pool. Jobs without a class run only in pools without this key.")},
    {"topology", OBJECT(topology_keys), AT(PART, struct hr_pool_spec, topology),
     HELP("Islands, NUMA domains, racks and zones. A tier without a size equals the next wider one.")},
    {"faults", OBJECT(hr__fault_keys), OTHERWISE("'cluster.faults'; without it, nodes never fail"),
     HELP(
         "How nodes of the pool fail, and how they are repaired. Elastic pools get another node instead of a repair.")},
    {"carbon", OBJECT(hr__carbon_keys), OTHERWISE("'cluster.carbon'; without it, carbon is unknown"),
     HELP("Carbon intensity of the electricity, and carbon of the production of the hardware.")},
    {"energy_price", OBJECT(hr__energy_price_keys),
     OTHERWISE("'cluster.energy_price'; without it, the price is unknown"),
     HELP("Price of the electricity over time.")},
    {"wue_l_per_kwh", REAL(0, 1000), .unit = "l/kWh",
     OTHERWISE("'cluster.wue_l_per_kwh'; without it, the water is unknown"),
     HELP("Water per kWh of the machines: the water usage effectiveness of the site.")},
    {"maintenance", LIST(0, HR_MAINTENANCE_WINDOWS, EACH(OBJECT(hr__maintenance_keys))),
     OTHERWISE("'cluster.maintenance', or none"),
     HELP("Planned work on the nodes of the pool. The times of its entries must not overlap.")},
    {"power", OBJECT(hr__power_keys), OTHERWISE("'cluster.power'; without it, no energy is computed"),
     HELP("Power of the nodes, from which energy is computed.")},
    {"storage_gb_s", REAL(0, 1e9), .unit = "GiB/s", OTHERWISE("unknown"),
     SCALED(1024, struct hr_pool_spec, storage_mib_s),
     HELP("Bandwidth for checkpoints, in units of 1,024 MiB/s. All jobs that write checkpoints in this pool share it. "
          "0: unknown.")},
    {"market", CHOICE_AFTER_FIRST(markets), .selects = true, AT(INTEGER, struct hr_pool_spec, market.market),
     OTHERWISE("always available and free"), HELP("How the nodes are paid for.")},
    {"provider", NAME, HELP("Provider of the nodes, such as aws, gcp or azure.")},
    {"instance", NAME,
     HELP("The provider's name for this type of node. If 'gpu' or 'gpus_per_node' is missing, the catalogue supplies "
          "it, and also the CPUs and memory that are not set.")},
    {"region", NAME, AT(BORROWED, struct hr_pool_spec, region), OTHERWISE("prices of the provider's base region"),
     HELP("Region of the nodes. Jobs that name 'regions' run only in pools in one of these regions.")},
    {"zone", NAME,
     HELP("Zone of the nodes. Spot pools of the same GPU type, provider, region and zone are interrupted by the same "
          "events.")},
    {"as_of", NAME, OTHERWISE("the newest prices"),
     HELP("Use the prices of the catalogue on this date, such as 2026-07-20.")},
    {"usd_per_gpu_hour", USD_UP_TO(HR_MAX_USD_H), WITH(EVERY),
     HELP("Price of a GPU-hour. This key, 'usd_per_node_hour', 'discount' and 'owned' exclude each other.")},
    {"usd_per_node_hour", USD_UP_TO(HR_MAX_USD_H), WITH(EVERY),
     HELP("Price of a node-hour, which is divided by the GPUs of the node.")},
    {"on_demand_usd_per_gpu_hour", USD_UP_TO(HR_MAX_USD_H), WITH(EVERY),
     AS_UUSD(struct hr_pool_spec, market.on_demand_uusd_h),
     OTHERWISE("an on-demand pool's own price, or the catalogue's"),
     HELP("On-demand price of the same GPU, the reference for savings.")},
    {"discount", SHARE, WITH(RESERVED | SPOT), HELP("Discount from 'on_demand_usd_per_gpu_hour'.")},
    {"term", CHOICE(terms), WITH(RESERVED),
     HELP("Use the catalogue's price for a commitment of this length, or its discount from the on-demand price. Needs "
          "'provider' and 'instance'.")},
    {"upfront", CHOICE(upfronts), WITH(RESERVED),
     OTHERWISE("any; the row of the catalogue that matches the instance best"),
     HELP("How much is paid in advance. Discounts: if a row of the catalogue for another 'upfront' is more specific to "
          "the instance and has a smaller discount, the smaller discount is used.")},
    {"from_s", SECONDS, WITH(1 << HR_MARKET_OWNED | RESERVED), DEFAULT("0"), AS_US(struct hr_pool_spec, market.from_us),
     HELP("Time from the first submit at which the nodes become available: the beginning of a reservation, or the lead "
          "time of a purchase. The nodes are paid for from this time on.")},
    {"to_s", SECONDS, WITH(RESERVED), OTHERWISE("never"), AS_US(struct hr_pool_spec, market.to_us),
     HELP("Time from the first submit at which the nodes are withdrawn.")},
    {"stop_before_s", SECONDS, WITH(RESERVED), DEFAULT("0"), AS_US(struct hr_pool_spec, market.stop_before_us),
     HELP("Time before 'to_s' at which the provider stops the nodes. They are paid for until 'to_s'. Capacity Blocks "
          "of AWS: 1800.")},
    {"stop_notice_s", SECONDS, WITH(RESERVED), DEFAULT("0"), AS_US(struct hr_pool_spec, market.stop_notice_us),
     HELP("Length of the notice before the nodes are stopped. In this time no job starts on them, and their jobs can "
          "write checkpoints.")},
    {"paid_until_s", SECONDS_FROM(1e-6), WITH(RESERVED), OTHERWISE("the end of the run"),
     HELP("Time from the first submit after which the nodes cost nothing, although they remain available.")},
    {"billing", OBJECT(billing_keys), WITH(ELASTIC), AT(PART, struct hr_pool_spec, market.billing),
     HELP("How time is charged.")},
    {"boot_s", SECONDS, WITH(ELASTIC), DEFAULT("0"), AT(DOUBLE, struct hr_pool_spec, market.boot.a),
     HELP("Time from the request for a node until jobs may start on it.")},
    {"boot", OBJECT(duration_keys), WITH(ELASTIC), AT(PART, struct hr_pool_spec, market.boot),
     HELP("Instead of 'boot_s': a random duration.")},
    {"queued", OBJECT(queued_keys), WITH(1 << HR_MARKET_ON_DEMAND), .store = HR__STORE_PART,
     HELP("Queued provisioning, such as GCP's flex-start: a request of the autoscaler 'cluster-autoscaler' waits until "
          "the provider provides all its nodes at once. Nodes are billed from that time.")},
    {"autoscale", OBJECT(autoscale_keys), WITH(ELASTIC), .store = HR__STORE_PART,
     HELP("With 'autoscaler' of the cluster: settings of the pool. The key 'nodes' is its maximum number of nodes.")},
    {"owned", OBJECT(hr__owned_keys), WITH(1 << HR_MARKET_OWNED),
     HELP("Cost of owned nodes, amortized to a price per GPU-hour.")},
    {"spot", OBJECT(spot_keys), WITH(SPOT), HELP("Spot interruptions and prices. Required with market spot.")},
    END};
