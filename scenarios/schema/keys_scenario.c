/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The key tables of a scenario and of other documents: suites of runs, baselines and grids of sweeps. Some tables are
 * in other files: those of a pool in keys_pool.c, those of `services` in keys_services.c, and those of the models of
 * real schedulers in keys_systems.c.
 *
 * A table precedes the tables that refer to it, so the table of the outermost object of a document is its last one.
 */

#include "headroom/cluster.h"
#include "headroom/report.h"
#include "headroom/trace.h"
#include "headroom/unstable/catalog.h"
#include "headroom/unstable/data.h"
#include "headroom/unstable/experiments.h"
#include "headroom/unstable/faults.h"
#include "headroom/unstable/scenario_files.h"
#include "scenarios/schema/keys.h"

/* ---- Data ------------------------------------------------------------------------------------------- */

/* The section `data`: storage systems, data sets, links, caches, and the data that jobs read. 1 GB is 1e9 bytes. */

#define MAX_GB 1e9 /* an exabyte */
#define MIN_GB 1e-9
#define MAX_GB_S 1e6 /* HR__MAX_BYTES_S in GB/s */
#define GB(low) REAL(low, MAX_GB), .unit = "GB"
#define GB_S REAL(MIN_GB, MAX_GB_S), .unit = "GB/s"
#define AS_GB(type, member) SCALED(1e9, type, member)

#define STORAGE struct hr_data_storage
static const struct hr__key storage_keys[] = {
    {"name", NAME, MUST, AT(TEXT, STORAGE, name), HELP("Name, different from those of other storage systems.")},
    {"location", NAME, MUST, AT(TEXT, STORAGE, location),
     HELP("Name of a pool, a cluster or a region. Pools in this place read from it without a link.")},
    {"gb_s", GB_S, MUST, AS_GB(STORAGE, bytes_s),
     HELP("Total bandwidth, in units of 10^9 bytes per second. All transfers share it max-min fairly.")},
    {"client_gb_s", GB_S, OTHERWISE("no limit"), AS_GB(STORAGE, client_bytes_s),
     HELP("Maximum bandwidth of one node.")},
    {"usd_per_gb_month", USD, DEFAULT("0"), AS_UUSD(STORAGE, uusd_per_gb_month),
     HELP("Price of stored data sets, per 10^9 bytes and month of 730 hours.")},
    {"checkpoints", BOOLEAN, DEFAULT("true"), AT(INTEGER, STORAGE, checkpoints),
     HELP("Whether jobs in its location may write checkpoints to it. Checkpoints are written to the first such storage "
          "system, and their size must be known. A pool with 'storage_gb_s' uses that bandwidth instead.")},
    END};

static const struct hr__key tier_keys[] = {
    {"above_gb", GB(MIN_GB), MUST, AS_GB(struct hr_data_tier, above_bytes),
     HELP("Amount per month above which this price applies.")},
    {"usd_per_gb", USD, MUST, AS_UUSD(struct hr_data_tier, uusd_per_gb), HELP("Price per 10^9 bytes.")},
    END};

#define LINK struct hr_data_link
static const struct hr__key link_keys[] = {
    {"from", NAME, MUST, AT(TEXT, LINK, from), HELP("Location of the storage systems that are read.")},
    {"to", NAME, MUST, AT(TEXT, LINK, to),
     HELP("Location of the pools that read, or of the storage systems that receive copies.")},
    {"gb_s", GB_S, OTHERWISE("no limit; then 'client_gb_s' must be known"), AS_GB(LINK, bytes_s),
     HELP("Total bandwidth, which all transfers share max-min fairly. 1 GB/s is 8 Gbit/s.")},
    {"client_gb_s", GB_S, OTHERWISE("the catalogue's, if it has a link between these regions; else no limit"),
     AS_GB(LINK, client_bytes_s), HELP("Maximum bandwidth of one node.")},
    {"latency_s", SECONDS, OTHERWISE("the catalogue's; else 0"), AS_US(LINK, latency_us),
     HELP("Time until the first byte of a copy arrives. Reads of jobs are not delayed.")},
    {"usd_per_gb", USD, OTHERWISE("the catalogue's; else 0"), AS_UUSD(LINK, uusd_per_gb),
     HELP("Price of transferred data, per 10^9 bytes.")},
    {"tiers", LIST(1, 100, EACH(OBJECT(tier_keys))), OTHERWISE("one price"), AS_ARRAY(LINK, tiers, n_tiers),
     HELP("Prices for large amounts. Each entry applies to the bytes above its amount in a month of 730 hours. In "
          "ascending order.")},
    END};

static const char *const copy_times[] = {"start", "on-demand", NULL};

#define SET struct hr_data_set
static const struct hr__key set_keys[] = {
    {"name", NAME, MUST, AT(TEXT, SET, name), HELP("Name of the data set or model artifact.")},
    {"gb", GB(0), MUST, AS_GB(SET, bytes), HELP("Size, in units of 10^9 bytes.")},
    {"storage", LIST(1, MAX_MEMBERS, EACH(NAME, .store = HR__STORE_TEXT)), MUST,
     AS_ARRAY(SET, storage_names, n_storage), HELP("Names of the storage systems that have the data set.")},
    {"copies", LIST(1, MAX_MEMBERS, EACH(NAME, .store = HR__STORE_TEXT)), OTHERWISE("none"),
     AS_ARRAY(SET, copy_names, n_copies),
     HELP("Names of the storage systems to which the data set is copied during the run.")},
    {"copy", CHOICE(copy_times), DEFAULT("start"), AT(INTEGER, SET, when),
     HELP("When the copies are made. start: at the beginning of the run. on-demand: when the first job that reads the "
          "data set starts in the location of the copy. Until the copy is complete, jobs read from another storage "
          "system.")},
    END};

static const char *const cachings[] = {"uniform", "lru", NULL};

#define CACHE struct hr_data_cache
static const struct hr__key cache_keys[] = {
    {"location", NAME, MUST, AT(TEXT, CACHE, location),
     HELP("Pool, cluster or region of the nodes that have the cache.")},
    {"gb_per_node", GB(0), MUST, AS_GB(CACHE, node_bytes),
     HELP("Size on each node. The nodes of a job divide its data set among them.")},
    {"kind", CHOICE(cachings), DEFAULT("uniform"), AT(INTEGER, CACHE, caching),
     HELP("Share of reads that hit the cache in each epoch after the first, if a part x of the data set fits into the "
          "cache. uniform: x, because cached items are not evicted. lru: x + (1 - x) ln(1 - x), because each epoch has "
          "a new random order.")},
    {"prefetch", BOOLEAN, DEFAULT("false"), AT(INTEGER, CACHE, prefetch),
     HELP("Whether a job fills the cache before it works. Then its first epoch has the same share of hits as later "
          "epochs.")},
    END};

#define READ struct hr_data_read
static const struct hr__key read_keys[] = {
    {"set", NAME, OTHERWISE("the job's 'data_set' in the trace"), AT(TEXT, READ, set_name),
     HELP("Name of the data set that matching jobs read. Jobs that name a different data set in the trace do not "
          "match.")},
    {"class", CHOICE(hr__class_keys + 1), OTHERWISE("all"), .first_choice = 1, AT(INTEGER, READ, class_),
     HELP("Only jobs of this class.")},
    {"tenant", NAME, OTHERWISE("all"), AT(TEXT, READ, tenant), HELP("Only jobs of this tenant.")},
    {"model", NAME, OTHERWISE("all"), AT(TEXT, READ, model), HELP("Only jobs of this model.")},
    {"epochs", REAL(MIN_SCALE, 1e9), OTHERWISE("from 'gb_s_per_gpu'"), AT(DOUBLE, READ, epochs),
     HELP("Number of times that a job reads the data set. Set either this key or 'gb_s_per_gpu'.")},
    {"gb_per_epoch", GB(MIN_GB), OTHERWISE("the size of the data set"), AS_GB(READ, epoch_bytes),
     HELP("Amount that a job reads in an epoch.")},
    {"gb_s_per_gpu", GB_S, OTHERWISE("from 'epochs'"), AS_GB(READ, gpu_bytes_s),
     HELP("Rate at which a job reads at full speed, per requested GPU.")},
    END};

#define DATA struct hr_data_spec
static const struct hr__key data_keys[] = {
    {"storage", LIST(1, MAX_MEMBERS, EACH(OBJECT(storage_keys))), MUST, AS_ARRAY(DATA, storage, n_storage),
     HELP("Storage systems.")},
    {"sets", LIST(0, MAX_MEMBERS, EACH(OBJECT(set_keys))), AS_ARRAY(DATA, sets, n_sets),
     HELP("Data sets and model artifacts.")},
    {"links", LIST(0, MAX_MEMBERS, EACH(OBJECT(link_keys))), AS_ARRAY(DATA, links, n_links),
     HELP("Links between locations, in one direction each.")},
    {"caches", LIST(0, MAX_MEMBERS, EACH(OBJECT(cache_keys))), AS_ARRAY(DATA, caches, n_caches),
     HELP("Caches of nodes. If several match a pool, the first one applies.")},
    {"reads", LIST(0, MAX_MEMBERS, EACH(OBJECT(read_keys))), AS_ARRAY(DATA, reads, n_reads),
     HELP("Rules that define what jobs read. If several rules match a job, the first one applies. Jobs without a "
          "matching rule read nothing.")},
    END};

/* ---- Scenarios -------------------------------------------------------------------------------------- */

#define MAX_RUNS 100000.0 /* maximum number of entries of cluster.node_order */
#define MAX_SPEED 1e9     /* maximum speed, in any unit */

#define WORD(name, text) text,
static const char *const networks[] = {HR_NETWORK_TABLE(WORD) NULL};
static const char *const group_tiers[] = {"island", "numa", "node", "rack", "zone", NULL};
static const char *const checkpoints[] = {HR_CHECKPOINT_TABLE(WORD) NULL};
static const char *const idle_splits[] = {HR_IDLE_SPLIT_TABLE(WORD) NULL};
static const char *const speed_defaults[] = {"catalogue", "same", NULL};
static const char *const blocks[] = {HR_BLOCKS_TABLE(WORD) NULL};
static const char *const scales[] = {"linear", "log", NULL};

/* ---- Trace, catalogue, cluster ---------------------------------------------------------------------- */

static const char *const budget_modes[] = {"wait", "cap", NULL};
static const char *const failed_jobs[] = {"keep", "drop", NULL};

static const struct hr__key trace_keys[] = {
    {"file", PATH, AT(FILE, struct hr_scenario, trace_file), OTHERWISE("--trace on the command line"),
     HELP("Path, relative to the scenario's folder. Plain, gzip or zstd.")},
    {"format", PATH, DEFAULT("auto"), AT(TEXT, struct hr_scenario, trace_format),
     HELP("Format of the trace. 'headroom list formats' prints all formats. auto: the format is recognized by the "
          "content. Parameters of a format follow a colon: azure-llm:decode=50.")},
    {"columns", OBJECT(EACH(PATH, HELP("Name of the column with this field."))),
     HELP("Column names of a CSV trace, by field (submit, duration, gpus, ...). In other tables with named columns, "
          "such as sacct's, only the fields class, tenant, queue, user and model can be mapped.")},
    {"classes",
     OBJECT(EACH(PATH, HELP("COLUMN~PATTERN: if the column matches this POSIX extended regular "
                            "expression, the job is of this class."))),
     HELP("Classes of jobs by patterns: {\"interactive\": \"JobName~^(jupyter|vscode)\"}. The first pattern that "
          "matches applies. For all tables with named columns, such as CSV or sacct's.")},
    {"tenants", OBJECT(EACH(PATH, HELP("COLUMN~PATTERN, as in 'classes'."))),
     HELP("Tenants of jobs by patterns: {\"vision\": \"JobName~^vis\"}.")},
    {"lenient", BOOLEAN, DEFAULT("false"), AT(INTEGER, struct hr_scenario, lenient),
     HELP("Whether bad rows are skipped. They are counted and listed by reason. Otherwise the first bad row is an "
          "error.")},
    {"failed", CHOICE(failed_jobs), DEFAULT("keep"), AT(INTEGER, struct hr_scenario, drop_failed),
     HELP("How jobs that failed when the trace was recorded are treated. keep: they run for their recorded time. drop: "
          "they are not simulated, so that a run with 'faults' does not count failures of nodes twice.")},
    END};

#define TABLE_FILE(id, name, row, words)                                                                               \
  {#name "_file", PATH, AT(FILE, struct hr_catalog_files, name), HELP("CSV file with " words ".")},
static const struct hr__key catalog_keys[] = {HR_CATALOG_TABLES(TABLE_FILE) END};

/* The keys of a cluster, which is `cluster` or an entry of `clusters`. `with_instance`: a JSON list with the keys that
   a pool needs if it lacks 'gpu' or 'gpus_per_node'. In an entry of `clusters`, a pool needs no 'provider', because the
   cluster may have one. */
#define CLUSTER_KEYS(with_instance)                                                                                    \
  {"pools",                                                                                                            \
   LIST(1, HR_MAX_POOLS,                                                                                               \
        EACH(OBJECT(hr__pool_keys), .schema = "{\"anyOf\": [{\"required\": [\"gpu\", \"gpus_per_node\"]}, "            \
                                              "{\"required\": " with_instance "}]}")),                                 \
   HELP("Pools of identical nodes. Required unless 'nodes_file' is set.")},                                            \
      {"nodes_file", PATH,                                                                                             \
       HELP("Instead of 'pools': a CSV node list, relative to the scenario's folder. Its columns are sn, cpu_milli, "  \
            "memory_mib, gpu, model, or Alibaba PAI's machine, gpu_type, cap_cpu, cap_mem, cap_gpu. Each distinct "    \
            "kind of "                                                                                                 \
            "node becomes a pool.")},                                                                                  \
      {"faults", OBJECT(hr__fault_keys), OTHERWISE("nodes never fail"),                                                \
       HELP("How nodes fail and how they are repaired. For all pools without their own 'faults'.")},                   \
      {"carbon", OBJECT(hr__carbon_keys), OTHERWISE("carbon is unknown"),                                              \
       HELP("Carbon intensity of the electricity, and carbon of the production of the hardware. For all pools "        \
            "without their own 'carbon'.")},                                                                           \
      {"energy_price", OBJECT(hr__energy_price_keys), OTHERWISE("the price is unknown"),                               \
       HELP("Price of the electricity over time. For all pools without their own 'energy_price'.")},                   \
      {"wue_l_per_kwh", REAL(0, 1000), .unit = "l/kWh", OTHERWISE("unknown"),                                          \
       HELP("Water usage effectiveness: water per kWh of the machines. For all pools without their own "               \
            "'wue_l_per_kwh'.")},                                                                                      \
      {"maintenance", LIST(0, HR_MAINTENANCE_WINDOWS, EACH(OBJECT(hr__maintenance_keys))), OTHERWISE("none"),          \
       HELP("Planned work on nodes. For all pools without their own 'maintenance', except elastic pools.")},           \
      {"power", OBJECT(hr__power_keys), OTHERWISE("no energy is computed"),                                            \
       HELP("Power of the nodes, from which energy is computed. For all pools without their own 'power'.")},           \
      {"power_budget_w", REAL(0, HR_POWER_MAX_W), .unit = "W", OTHERWISE("no limit"),                                  \
       HELP("Maximum power of all pools together, without cooling. A job starts only if its power fits into this "     \
            "budget.")},                                                                                               \
      {"power_budget_mode", CHOICE(budget_modes), DEFAULT("wait"),                                                     \
       HELP("What happens if jobs would exceed the power budget. wait: they wait. cap: GPUs in use get a lower power " \
            "limit, and their jobs run at the speed that 'caps' of 'power' states for it. Jobs wait only if the "      \
            "lowest limit does not suffice.")},                                                                        \
      {"autoscaler", OBJECT(hr__autoscaler_keys),                                                                      \
       OTHERWISE("the policy requests nodes; if it does not, all available nodes are requested"),                      \
       HELP("The autoscaler, which requests and releases the nodes of elastic pools.")},                               \
      {"by_gpu", BOOLEAN, DEFAULT("false"),                                                                            \
       HELP("Whether all pools use per-GPU allocation, even if no pool shares its GPUs. Per-GPU allocation also "      \
            "respects requests for CPUs and memory, and for nodes without other jobs ('dedicated').")},                \
      {"mig_fallback", BOOLEAN, DEFAULT("false"),                                                                      \
       HELP("Whether MIG instances, shares of GPUs and whole GPUs may replace each other. true: a job that names a "   \
            "MIG profile may get a share or a whole GPU of a pool without MIG, and a job without a profile may get "   \
            "an instance that is large enough. false: jobs with a profile get only MIG instances, and other jobs get " \
            "none.")},                                                                                                 \
  {                                                                                                                    \
    "node_order", LIST(1, MAX_RUNS, EACH(NAME)),                                                                       \
        HELP("Order of the nodes. If several nodes are equally good for a placement, the first one is used. The "      \
             "entry POOL is the next node of this pool; POOL*COUNT is its next COUNT nodes. Nodes that are not "       \
             "listed follow at the end. Only with 'pools'.")                                                           \
  }

static const struct hr__key cluster_keys[] = {CLUSTER_KEYS("[\"provider\", \"instance\"]"), END};

/* ---- Classes of jobs -------------------------------------------------------------------------------- */

static const struct hr__key checkpoint_keys[] = {
    {"policy", CHOICE(checkpoints), MUST, .selects = true, AT(INTEGER, struct hr_class_spec, checkpoint),
     HELP("When work is saved. none: never; an interrupted job starts from the beginning. interval: after each "
          "'interval_s' of work, and on notice if there is enough time. young-daly: as interval, but the interval is "
          "derived from the pool's interruption rate. on-notice: only on notice, if there is enough time. continuous: "
          "all work is saved at all times, at no cost.")},
    {"interval_s", SECONDS_FROM(1), NEEDED_WITH(1 << HR_CHECKPOINT_INTERVAL), AS_US(struct hr_class_spec, interval_us),
     HELP("Work between two checkpoints.")},
    {"gb", REAL(0, 1e9), .unit = "GiB", SCALED(1024, struct hr_class_spec, checkpoint_mib),
     HELP("Size of a checkpoint, in units of 1,024 MiB. It is written at the pool's storage_gb_s.")},
    {"write_s", SECONDS, AS_US(struct hr_class_spec, write_us),
     HELP("Time to write a checkpoint if the pool's storage_gb_s is unknown.")},
    {"async", BOOLEAN, DEFAULT("false"), AT(INTEGER, struct hr_class_spec, async),
     HELP("Whether a job continues to work while a periodic checkpoint is written, which takes 'write_s'. If a node "
          "fails, an incomplete checkpoint is lost.")},
    {"stall_s", SECONDS, DEFAULT("0"), AS_US(struct hr_class_spec, stall_us),
     HELP("With 'async': time for which the job stops at the beginning of a checkpoint. Less than 'write_s'.")},
    END};

static const struct hr__key locality_keys[] = {
    {"required", CHOICE(group_tiers), HELP("All GPUs of a job must be in one group of this tier.")},
    {"preferred", CHOICE(group_tiers),
     HELP("All GPUs of a job should be in one group of this tier. The job waits up to 'wait_s' for such a place; after "
          "that, it may start anywhere. Not with 'required'.")},
    {"wait_s", SECONDS, DEFAULT("0"),
     HELP("Time from submission for which a job waits for a place in one group of the tier 'preferred'. 0: the job "
          "does not wait, but a place in one group is tried first.")},
    END};

static const struct hr__key class_keys[] = {
    {"spot", BOOLEAN, DEFAULT("true"), AT(NOT, struct hr_class_spec, no_spot),
     HELP("Whether jobs may be placed on spot nodes.")},
    {"checkpoint", OBJECT(checkpoint_keys), .store = HR__STORE_PART,
     HELP("How work is saved. A job's own interval and size in the trace have precedence.")},
    {"restart_s", SECONDS, DEFAULT("0"), AS_US(struct hr_class_spec, restart_us),
     HELP("Restart overhead after an interruption: time to load the image and the checkpoint.")},
    {"requeue", BOOLEAN, DEFAULT("true"), AT(NOT, struct hr_class_spec, no_requeue),
     HELP("Whether a job runs again after a failure of a node has stopped it. false: it is rejected.")},
    {"max_requeues", WHOLE(1, 1000000), .unit = "restarts", OTHERWISE("no limit"),
     AT(INTEGER, struct hr_class_spec, max_requeues),
     HELP("Maximum number of restarts. A job that has reached this number is rejected if a failure of a node stops "
          "it.")},
    {"gpu_power_fraction", REAL(MIN_SCALE, 1), OTHERWISE("derived from 'power.utilization' of the pool"),
     .unit = "share", AS_PPM(struct hr_class_spec, gpu_power_ppm),
     HELP("Power of the GPUs of a job, relative to their maximum. A job's own value in the trace has precedence.")},
    {"topology", OBJECT(locality_keys),
     HELP("Tier of the topology, such as rack: all GPUs of a job must, or should, be in one group of this tier. A "
          "job's own value in the trace has precedence.")},
    {"within", CHOICE(group_tiers), .replaced_by = "topology.required",
     HELP("Old name of 'topology.required'. If 'within_wait_s' is set, old name of 'topology.preferred'.")},
    {"within_wait_s", SECONDS, .replaced_by = "topology.wait_s", HELP("Old name of 'topology.wait_s'.")},
    END};

/* ---- Speeds ----------------------------------------------------------------------------------------- */

static const struct hr__key model_keys[] = {
    {"reference", NAME, MUST, HELP("The GPU type on which a job takes its recorded run time.")},
    {"default", CHOICE(speed_defaults), DEFAULT("catalogue"),
     HELP("Speed of models that neither 'speeds' nor 'file' contains. catalogue: the dense FP16 TFLOPS of the GPU "
          "type, divided by those of the reference type. same: as on the reference type.")},
    {"file", PATH,
     HELP("File with a table of speeds, relative to the scenario's folder. CSV with the columns model, gpu, either "
          "speed or throughput, and optionally gpus; or JSON as published with Gavel. Not used for models that "
          "'speeds' lists.")},
    {"speeds",
     OBJECT(EACH(
         OBJECT(EACH(REAL(0, MAX_SPEED), HELP("Speed on this GPU type or pool. 0: the model does not run there."))),
         HELP("Speeds of this model."))),
     HELP("Speed by model, then by GPU type or name of a pool. A pool has precedence over its type. Any unit may be "
          "used.")},
    END};

static const struct hr__key scaling_keys[] = {
    {"model", NAME, DEFAULT("*"), AT(TEXT, struct hr_scaling_row, model),
     HELP("Name of the model, as in the trace. *: all models without their own entries.")},
    {"gpus", WHOLE(1, HR_MAX_GPUS), .unit = "GPUs", MUST, AT(INTEGER, struct hr_scaling_row, gpus),
     HELP("Number of GPUs of a job.")},
    {"speed", REAL(1e-3, 4000000), MUST, AT(MICROS, struct hr_scaling_row, speed_milli), .scale = 1e-3,
     HELP("Speed of a job on this number of GPUs, in any unit.")},
    END};

static const struct hr__key network_speed_keys[] = {
    {"model", NAME, DEFAULT("*"), AT(TEXT, struct hr_network_speed, model),
     HELP("Prefix of the names of models. *: all models without a matching row.")},
    {"gpus", WHOLE(2, HR_MAX_GPUS), .unit = "GPUs", DEFAULT("2"), AT(INTEGER, struct hr_network_speed, gpus),
     HELP("Number of GPUs of the job. A job uses the row with the largest number that is not above its own number of "
          "GPUs.")},
    {"network", CHOICE_AFTER_FIRST(networks), MUST, AT(INTEGER, struct hr_network_speed, network),
     HELP("Network between the GPUs of the job.")},
    {"speed", REAL(1e-6, 1), MUST, AS_PPM(struct hr_network_speed, speed_ppm),
     HELP("Speed, relative to GPUs in one node.")},
    END};

/* ---- Costs ------------------------------------------------------------------------------------------ */

static const struct hr__key dataset_keys[] = {
    {"tenant", NAME, AT(TEXT, struct hr_dataset, tenant), OTHERWISE("the cost is shared"), HELP("Owner.")},
    {"gb", REAL(0, 1e9), .unit = "GB", MUST, AS_MB(struct hr_dataset, mb), HELP("Size, in units of 10^9 bytes.")},
    END};

static const struct hr__key storage_cost_keys[] = {
    {"usd_per_gb_month", USD, DEFAULT("0"), AS_UUSD(struct hr_storage_cost, uusd_per_gb_month),
     HELP("Price of data sets and checkpoints, per 10^9 bytes and month.")},
    {"datasets", LIST(1, MAX_MEMBERS, EACH(OBJECT(dataset_keys))),
     AS_ARRAY(struct hr_storage_cost, datasets, n_datasets), HELP("Data that is stored during the whole run.")},
    {"checkpoint_retention_s", SECONDS, DEFAULT("0"), AS_US(struct hr_storage_cost, checkpoint_retention_us),
     HELP("Time for which a checkpoint is stored after the end of its job.")},
    END};

#define GB_BY_CLASS(member, words)                                                                                     \
  OBJECT(EACH(REAL(0, 1e9), .unit = "GB", .store = HR__STORE_MICROS, .scale = 1e-3,                                    \
              .bytes = sizeof(((struct hr_egress_cost *)NULL)->member[0]), HELP("Amount for jobs of this class."))),   \
      .choices = hr__class_keys, BY_CLASS(struct hr_egress_cost, member),                                              \
      HELP(words " By class of job. The entry 'default' applies to classes that are not listed.")
static const struct hr__key egress_keys[] = {
    {"usd_per_gb", USD, DEFAULT("0"), AS_UUSD(struct hr_egress_cost, uusd_per_gb),
     HELP("Price of outgoing data, per 10^9 bytes.")},
    {"gb_per_gpu_hour", GB_BY_CLASS(mb_per_gpu_hour, "Outgoing data per allocated GPU-hour.")},
    {"gb_per_job", GB_BY_CLASS(mb_per_job, "Outgoing data of each completed job.")},
    END};

static const struct hr__key operations_keys[] = {
    {"usd_per_month", USD, DEFAULT("0"), AS_UUSD(struct hr_operations_cost, uusd_per_month),
     HELP("Fixed amount per month of 730 hours.")},
    {"usd_per_node_month", USD, DEFAULT("0"), AS_UUSD(struct hr_operations_cost, uusd_per_node_month),
     HELP("Amount per node and month.")},
    END};

static const struct hr__key downtime_keys[] = {
    {"usd_per_gpu_hour", USD, DEFAULT("0"), AS_UUSD(struct hr_downtime_cost, uusd_per_gpu_hour),
     HELP("Price of each GPU-hour of waiting that is caused by missing spot capacity.")},
    {"usd_per_missed_deadline", USD, DEFAULT("0"), AS_UUSD(struct hr_downtime_cost, uusd_per_missed_deadline),
     HELP("Price of each missed deadline.")},
    END};

static const struct hr__key budget_keys[] = {
    {"tenant", NAME, MUST, AT(TEXT, struct hr_budget, tenant), HELP("Name as in the trace.")},
    {"usd_per_month", USD, MUST, AS_UUSD(struct hr_budget, uusd_per_month),
     HELP("Budget per month of 730 hours. Months in which the tenant spends more are reported.")},
    END};

static const struct hr__key savings_plan_keys[] = {
    {"usd_per_hour", USD, MUST, AS_UUSD(struct hr_savings_plan, uusd_per_h), HELP("Fixed fee per hour.")},
    {"discount", REAL(0, 0.999999), .unit = "share", MUST, AS_PPM(struct hr_savings_plan, discount_ppm),
     HELP("Discount on covered on-demand use.")},
    {"pools", LIST(1, HR_MAX_POOLS, EACH(NAME, .store = HR__STORE_TEXT)),
     AS_ARRAY(struct hr_savings_plan, pools, n_pools), HELP("Names of the pools that the plan covers.")},
    {"gpus", LIST(1, HR_MAX_POOLS, EACH(NAME, .store = HR__STORE_TEXT)), AS_ARRAY(struct hr_savings_plan, gpus, n_gpus),
     HELP("GPU types that the plan covers.")},
    END};

static const struct hr__key cost_keys[] = {
    {"storage", OBJECT(storage_cost_keys), AT(PART, struct hr_cost_spec, storage),
     HELP("Cost of stored data sets and checkpoints.")},
    {"egress", OBJECT(egress_keys), AT(PART, struct hr_cost_spec, egress), HELP("Cost of outgoing data.")},
    {"operations", OBJECT(operations_keys), AT(PART, struct hr_cost_spec, operations),
     HELP("Cost of staff and orchestration.")},
    {"downtime", OBJECT(downtime_keys), AT(PART, struct hr_cost_spec, downtime),
     HELP("Cost of waiting and of missed deadlines.")},
    {"idle_split", CHOICE(idle_splits), DEFAULT("none"), AT(INTEGER, struct hr_cost_spec, idle_split),
     HELP("How the statements of tenants split the cost of unused capacity. none: no tenant pays for it. proportional: "
          "in proportion to use. even: equally.")},
    {"budgets", LIST(1, MAX_MEMBERS, EACH(OBJECT(budget_keys))), AS_ARRAY(struct hr_cost_spec, budgets, n_budgets),
     HELP("Monthly budgets of tenants.")},
    {"savings_plans", LIST(1, MAX_MEMBERS, EACH(OBJECT(savings_plan_keys))),
     AS_ARRAY(struct hr_cost_spec, plans, n_plans),
     HELP("Fixed fees per hour that cover on-demand use at a discount. Without 'pools' and 'gpus', a plan covers all "
          "on-demand use.")},
    END};

/* ---- Quotas ----------------------------------------------------------------------------------------- */

#define QUOTA_GPUS REAL(0, HR_MAX_GPUS), .unit = "GPUs"
#define QUOTA_ROWS                                                                                                     \
  {"guaranteed_gpus", QUOTA_GPUS, DEFAULT("0"), SCALED(1000, struct hr_quota_node, guaranteed_milli),                  \
   HELP(                                                                                                               \
       "Number of GPUs that are always available to the tenant or cohort: immediately, or after lent GPUs have been "  \
       "reclaimed. Thousandths are possible. A cohort's guarantee is in addition to the guarantees of its members.")}, \
      {"guaranteed_share", SHARE,                                                                                      \
       HELP("Instead of 'guaranteed_gpus': a share of the GPUs of the cluster with all its nodes.")},                  \
      {"max_gpus", QUOTA_GPUS, OTHERWISE("no limit"), SCALED(1000, struct hr_quota_node, max_milli),                   \
       HELP("Maximum number of GPUs in use by this tenant, or by this cohort and its members.")},                      \
      {"max_share", SHARE, HELP("Instead of 'max_gpus': a share of the GPUs of the cluster with all its nodes.")},     \
      {"borrow_gpus", QUOTA_GPUS, OTHERWISE("all that its cohort has available"),                                      \
       SCALED(1000, struct hr_quota_node, borrow_milli),                                                               \
       HELP("Maximum number of GPUs that the tenant, or the cohort and its members, may use in addition to their "     \
            "guarantees.")},                                                                                           \
      {"lend_gpus", QUOTA_GPUS, OTHERWISE("all"), SCALED(1000, struct hr_quota_node, lend_milli),                      \
       HELP("Maximum number of unused guaranteed GPUs that others may use. 0: unused guaranteed GPUs stay idle.")},    \
  {                                                                                                                    \
    "weight", REAL(MIN_SCALE, 1e6), DEFAULT("1"), AT(DOUBLE, struct hr_quota_node, weight),                            \
        HELP("Weight in borrowing: a member with twice the weight may borrow twice as much before other members have " \
             "precedence.")                                                                                            \
  }

static const struct hr__key cohort_keys[] = {
    {"name", NAME, MUST, HELP("Name, different from those of other cohorts.")},
    {"parent", NAME, OTHERWISE("the root"), HELP("The cohort to which this cohort belongs.")},
    QUOTA_ROWS,
    END};

#define TENANT_COHORT                                                                                                  \
  { "cohort", NAME, OTHERWISE("the root"), HELP("The cohort to which the tenant belongs.") }
static const struct hr__key tenant_keys[] = {
    {"tenant", NAME, MUST, HELP("Name as in the trace.")}, TENANT_COHORT, QUOTA_ROWS, END};

static const struct hr__key default_quota_keys[] = {TENANT_COHORT, QUOTA_ROWS, END};

static const struct hr__key quota_keys[] = {
    {"cohorts", LIST(1, MAX_MEMBERS, EACH(OBJECT(cohort_keys))), HELP("Groups of tenants and cohorts, in any order.")},
    {"tenants", LIST(1, MAX_MEMBERS, EACH(OBJECT(tenant_keys))), HELP("Quotas of tenants.")},
    {"default", OBJECT(default_quota_keys), OTHERWISE("no guarantee and no maximum"),
     HELP("Quota of each tenant that is not listed, and of all jobs without a tenant together.")},
    END};

/* ---- Policy ----------------------------------------------------------------------------------------- */

const struct hr__key hr__policy_keys[] = {
    {"name", PATH, MUST,
     HELP("A policy, or an alias for a policy with certain parameters. 'headroom list policies' prints them. A name "
          "with a slash is the path of a shared object.")},
    {"*", SCALAR, HELP("A parameter of the policy. It overrides the value that an alias sets.")},
    END};

/* ---- Alerts ----------------------------------------------------------------------------------------- */

#define ON(rule)                                                                                                       \
  {                                                                                                                    \
    "on", BOOLEAN, DEFAULT("true"), AT(NOT, struct hr_alert_rules, is_off[rule]),                                      \
        HELP("Whether the alert is reported.")                                                                         \
  }
#define RULES struct hr_alert_rules

static const struct hr__key underused_keys[] = {
    ON(HR_ALERT_UNDERUSED),
    {"below", SHARE, DEFAULT("0.2"), AT(DOUBLE, RULES, underused_below),
     HELP("The alert is raised while less than this share of the GPUs of a pool is allocated.")},
    {"for_s", SECONDS, DEFAULT("3600"), AS_US(RULES, underused_for_us), HELP("Minimum duration.")},
    END};
static const struct hr__key saturated_keys[] = {
    ON(HR_ALERT_SATURATED),
    {"above", SHARE, DEFAULT("0.95"), AT(DOUBLE, RULES, saturated_above),
     HELP("The alert is raised while more than this share of the GPUs of a pool is allocated.")},
    {"for_s", SECONDS, DEFAULT("1800"), AS_US(RULES, saturated_for_us), HELP("Minimum duration.")},
    END};
static const struct hr__key reclaims_keys[] = {
    ON(HR_ALERT_RECLAIMS),
    {"above", SHARE, DEFAULT("0.2"), AT(DOUBLE, RULES, reclaims_above),
     HELP("The alert is raised while more than this share of the nodes of a spot pool was interrupted in the window.")},
    {"within_s", SECONDS_FROM(1), DEFAULT("86400"), AS_US(RULES, reclaims_within_us),
     HELP("Window in which interruptions are counted.")},
    END};
static const struct hr__key unsaved_keys[] = {
    ON(HR_ALERT_UNSAVED),
    {"for_s", SECONDS, DEFAULT("7200"), AS_US(RULES, unsaved_us), HELP("Maximum run time without a checkpoint.")},
    END};
static const struct hr__key waiting_keys[] = {
    ON(HR_ALERT_WAITING),
    {"above_s", SECONDS, OTHERWISE("300 for inference, 900 for interactive, 86400 for all others"),
     HELP("Maximum wait of jobs of all classes.")},
    {"classes",
     OBJECT(EACH(SECONDS, .store = HR__STORE_INTEGER, .scale = 1e6, .bytes = sizeof(int64_t),
                 HELP("Maximum wait of jobs of this class."))),
     .choices = hr__class_keys, BY_CLASS(RULES, waiting_us),
     HELP("Maximum wait by class. The entry 'default' applies to classes that are not listed.")},
    END};
static const struct hr__key over_budget_keys[] = {
    ON(HR_ALERT_BUDGET),
    {"above", REAL(0, 1000), DEFAULT("1"), AT(DOUBLE, RULES, budget_above),
     HELP("Spending above which the alert is raised, as a multiple of the budget.")},
    END};

static const struct hr__key latency_keys[] = {
    ON(HR_ALERT_LATENCY),
    {"above", REAL(1, 1000), DEFAULT("5"), AT(DOUBLE, RULES, latency_above),
     HELP("P95 time to the first token above which the alert is raised, as a multiple of the baseline. The baseline is "
          "the median over all windows.")},
    {"within_s", SECONDS_FROM(1), DEFAULT("300"), AS_US(RULES, latency_within_us),
     HELP("Length of the windows of the p95.")},
    END};
static const struct hr__key idle_replica_keys[] = {
    ON(HR_ALERT_IDLE_REPLICA),
    {"for_s", SECONDS_FROM(60), DEFAULT("1800"), AS_US(RULES, idle_for_us), HELP("Minimum duration.")},
    END};
static const struct hr__key kv_memory_keys[] = {ON(HR_ALERT_KV_MEMORY),
                                                {"within_s", SECONDS, DEFAULT("300"), AS_US(RULES, memory_within_us),
                                                 HELP("Losses that follow each other within this time are one alert.")},
                                                END};

static const struct hr__key hot_keys[] = {ON(HR_ALERT_HOT),
                                          {"above_c", REAL(-50, 200), .unit = "degrees C", DEFAULT("90"),
                                           AT(DOUBLE, RULES, hot_above_c),
                                           HELP("Temperature of the GPUs of a node above which the alert is raised.")},
                                          END};

static const struct hr__key alert_keys[] = {
    {"gpus_underused", OBJECT(underused_keys), .store = HR__STORE_PART,
     HELP("Alert: only a small share of a pool's GPUs is allocated.")},
    {"gpus_saturated", OBJECT(saturated_keys), .store = HR__STORE_PART,
     HELP("Alert: nearly all GPUs that a pool has, or could still request, are allocated.")},
    {"spot_reclaims", OBJECT(reclaims_keys), .store = HR__STORE_PART,
     HELP("Alert: many of a spot pool's nodes are interrupted.")},
    {"no_checkpoint", OBJECT(unsaved_keys), .store = HR__STORE_PART,
     HELP("Alert: jobs on spot nodes run for a long time without a checkpoint.")},
    {"queue_time", OBJECT(waiting_keys), .store = HR__STORE_PART, HELP("Alert: jobs wait for a long time.")},
    {"over_budget", OBJECT(over_budget_keys), .store = HR__STORE_PART,
     HELP("Alert: a tenant spends more than its budget.")},
    {"service_latency", OBJECT(latency_keys), .store = HR__STORE_PART,
     HELP("Alert: the latency of a service is far above its baseline.")},
    {"serving_idle", OBJECT(idle_replica_keys), .store = HR__STORE_PART,
     HELP("Alert: a ready replica serves no request for a long time.")},
    {"out_of_memory", OBJECT(kv_memory_keys), .store = HR__STORE_PART,
     HELP("Alert: sequences of a service lose their KV memory.")},
    {"gpus_hot", OBJECT(hot_keys), .store = HR__STORE_PART,
     HELP("Alert: the GPUs of a node are too hot. Needs 'temperature' of 'power'.")},
    END};

/* ---- Replications and plan -------------------------------------------------------------------------- */

static const struct hr__key workload_keys[] = {
    {"resample", CHOICE(blocks), DEFAULT("none"), AT(INTEGER, struct hr_workload_spec, blocks),
     HELP("Whether whole days or weeks of the trace are drawn with replacement.")},
    {"growth", REAL(HR_MIN_GROWTH, HR_MAX_GROWTH), DEFAULT("1"), AT(DOUBLE, struct hr_workload_spec, growth),
     HELP("Number of jobs relative to the trace.")},
    END};

#define REPLICATIONS struct hr_replication_spec
static const struct hr__key replication_keys[] = {
    {"count", WHOLE(1, HR_MAX_REPLICATIONS), AT(INTEGER, REPLICATIONS, count),
     HELP("Number of replications. Not with 'metric'.")},
    {"metric", NAME, AT(PLACED, REPLICATIONS, metric),
     HELP("Name of a metric, such as wait_s.p95 of inference. The scenario is replicated until this metric has the "
          "precision 'relative'.")},
    {"relative", REAL(MIN_SCALE, 1), .unit = "share", AT(DOUBLE, REPLICATIONS, relative),
     HELP("Precision: half the width of the metric's interval, as a share of the metric. Required with 'metric'.")},
    {"confidence", REAL(0.5, 0.9999), .unit = "share", DEFAULT("0.95"), AT(DOUBLE, REPLICATIONS, confidence),
     HELP("Confidence of all intervals.")},
    {"min", WHOLE(2, HR_MAX_REPLICATIONS), OTHERWISE("10, or 'max' if that is less"),
     HELP("Minimum number of replications with 'metric'.")},
    {"max", WHOLE(2, HR_MAX_REPLICATIONS), OTHERWISE("200"), HELP("Maximum number of replications with 'metric'.")},
    {"workload", OBJECT(workload_keys), AT(PART, REPLICATIONS, workload),
     HELP("A different workload for each replication, drawn from the trace.")},
    END};

static const struct hr__key setting_keys[] = {
    {"label", NAME, MUST, AT(TEXT, struct hr_grid_level, text), HELP("Name of the level in results.")},
    {"set", LIST(0, MAX_MEMBERS, EACH(PATH, .store = HR__STORE_TEXT)), MUST, AS_ARRAY(struct hr_grid_level, set, n_set),
     HELP("Overrides PATH=VALUE, as for --set.")},
    END};

#define AXIS_ROWS                                                                                                      \
  {"path", NAME, AT(TEXT, struct hr_grid_axis, path), HELP("Path of a key of the scenario, as for --set.")},           \
      {"values", LIST(1, HR__MAX_LEVELS, EACH(SCALAR)), HELP("Values of the key.")},                                   \
      {"from", REAL(-MAX_NUMBER, MAX_NUMBER), AT(DOUBLE, struct hr_grid_axis, from),                                   \
       HELP("Instead of 'values': the "                                                                                \
            "first number of a range.")},                                                                              \
      {"to", REAL(-MAX_NUMBER, MAX_NUMBER), AT(DOUBLE, struct hr_grid_axis, to), HELP("Last number of the range.")},   \
      {"step", REAL(MIN_STEP, MAX_NUMBER), HELP("Difference between two numbers of the range.")},                      \
      {"points", WHOLE(2, HR__MAX_LEVELS), HELP("Instead of 'step': the number of values, including both ends.")},     \
      {"scale", CHOICE(scales), DEFAULT("linear"), AT(INTEGER, struct hr_grid_axis, logarithmic),                      \
       HELP("linear: consecutive numbers have equal differences. log: they have equal ratios.")},                      \
  {                                                                                                                    \
    "settings", LIST(1, HR__MAX_LEVELS, EACH(OBJECT(setting_keys))),                                                   \
        HELP("Instead of 'values': levels, each of which sets several keys at once.")                                  \
  }

const struct hr__key hr__axis_keys[] = {
    {"name", NAME, AT(TEXT, struct hr_grid_axis, name), OTHERWISE("the path"), HELP("Name of the column in results.")},
    AXIS_ROWS,
    END};

static const struct hr__key variable_keys[] = {
    {"name", NAME, AT(TEXT, struct hr_grid_axis, name), OTHERWISE("the pool, or the path"),
     HELP("Name of the variable in results.")},
    {"pool", NAME, HELP("The variable is the number of GPUs of this pool, in whole nodes.")},
    {"pools", LIST(1, HR_MAX_POOLS, EACH(NAME)),
     HELP("The variable is the total number of GPUs of these pools, which have equal numbers of nodes.")},
    AXIS_ROWS,
    END};

#define PLAN struct hr_plan_spec
static const struct hr__key plan_keys[] = {
    {"variables", LIST(1, HR_MAX_PLAN_VARIABLES, EACH(OBJECT(variable_keys))), MUST,
     HELP("Decision variables. Each has 'pool', 'pools', 'path' or 'settings'.")},
    {"constraints", LIST(0, 100, EACH(NAME, .store = HR__STORE_PLACED)), AS_ARRAY(PLAN, constraints, n_constraints),
     HELP("Goals: METRIC <= NUMBER or METRIC >= NUMBER, such as wait_s.p95 of inference <= 60.")},
    {"objective", NAME, DEFAULT("monthly_usd"), HELP("The metric that is minimized.")},
    {"weights", .type = HR__KEY_OBJECT, .min = 1, .max = 20,
     .keys = EACH(REAL(-1e9, 1e9), HELP("Weight of this metric.")),
     HELP("Instead of 'objective': metrics and their weights. The weighted sum is minimized.")},
    {"baseline", OBJECT(EACH(SCALAR, HELP("Today's value of this variable."))),
     HELP("Today's values of the variables, by name. The recommended mix is compared with this mix.")},
    {"indifference", SHARE, DEFAULT("0.01"), AT(DOUBLE, PLAN, indifference),
     HELP("Relative difference of the objective that does not matter: the choice may be worse than the best mix by "
          "this share.")},
    {"max_candidates", WHOLE(1, 1000000), DEFAULT("10000"), AT(INTEGER, PLAN, max_candidates),
     HELP("A plan with more candidates is refused.")},
    {"max_runs", WHOLE(1, 1e9), DEFAULT("100000"), AT(INTEGER, PLAN, max_runs),
     HELP("Maximum number of runs. If it is reached, the search stops with a note.")},
    {"max_replications", WHOLE(2, 1000), DEFAULT("20"), AT(INTEGER, PLAN, max_replications),
     HELP("Maximum number of replications of each finalist.")},
    END};

/* ---- The scenario ----------------------------------------------------------------------------------- */

/* ---- Several clusters ------------------------------------------------------------------------------- */

static const char *const routers[] = {HR_JOB_ROUTER_TABLE(WORD) NULL};
static const char *const rule_classes[] = {HR_JOB_CLASS_TABLE(WORD) NULL};
static const char *const spills[] = {"cheapest", "shortest-predicted-wait", "least-loaded", NULL};

static const char *const dispatches[] = {"all", "incremental", NULL};

#define RULE struct hr_job_router_rule
static const struct hr__key rule_keys[] = {
    {"tenants", LIST(1, MAX_MEMBERS, EACH(NAME, .store = HR__STORE_TEXT)), AS_ARRAY(RULE, tenants, n_tenants),
     OTHERWISE("all"), HELP("The rule applies to jobs of these tenants.")},
    {"classes", LIST(1, HR_N_CLASSES - 1, EACH(CHOICE_AFTER_FIRST(rule_classes))), AT(BITS, RULE, classes),
     OTHERWISE("all"), HELP("The rule applies to jobs of these classes.")},
    {"clusters", LIST(1, 1000, EACH(NAME, .store = HR__STORE_TEXT)), MUST, AS_ARRAY(RULE, names, n_clusters),
     HELP("Names of the preferred clusters, the most preferred first.")},
    {"only", BOOLEAN, DEFAULT("false"), AT(INTEGER, RULE, only),
     HELP("Whether these jobs may run only in these clusters. If none of the clusters could run a job, the job is "
          "rejected.")},
    END};

#define ROUTER struct hr_job_router_spec
static const struct hr__key router_keys[] = {
    {"name", CHOICE(routers), MUST, AT(INTEGER, ROUTER, kind),
     HELP("How jobs are sent to clusters. home: to the cluster that lists their tenant, or to the first cluster that "
          "may serve them. local-first: home, unless a bound is exceeded there. cheapest: to the cluster with the "
          "lowest price of a GPU-hour; owned and reserved nodes count as 0. shortest-predicted-wait: as named. "
          "least-loaded: to the cluster with the lowest share of GPUs that are allocated or requested by waiting jobs. "
          "affinity: by 'rules'. multikueue (at most 20 clusters) and slurm-federation: copies of a job wait in "
          "several clusters, and only the first copy that can start runs. skypilot: to the cheapest cluster; if the "
          "job does not start in time, to the next one. plugin: to the cluster that the router in the shared object "
          "'file' chooses.")},
    {"file", PATH, AT(FILE, ROUTER, file),
     HELP("With plugin: the shared object, relative to the folder of the scenario. Its interface is "
          "headroom/router.h.")},
    {"settings", OBJECT(EACH(SCALAR, HELP("Value of this parameter."))),
     HELP("With plugin: parameters of the router. Parameters that are not set have the defaults that the router "
          "defines.")},
    {"spill", CHOICE(spills), DEFAULT("cheapest"), .first_choice = HR_JOB_ROUTER_CHEAPEST, AT(INTEGER, ROUTER, spill),
     HELP("With local-first and affinity: how the other clusters are compared.")},
    {"max_waiting", WHOLE(0, UINT32_MAX - 1.0), .unit = "jobs", OTHERWISE("no bound"), AT(INTEGER, ROUTER, max_waiting),
     HELP("With local-first: a job is sent to another cluster if this number of jobs waits at home.")},
    {"max_wait_s", SECONDS, OTHERWISE("no bound"), AS_US(ROUTER, max_wait_us),
     HELP("With local-first: a job is sent to another cluster if its predicted wait at home is longer than this. In "
          "all routers: clusters with a longer predicted wait are used only if no better cluster exists.")},
    {"keep_deadlines", BOOLEAN, DEFAULT("false"), AT(INTEGER, ROUTER, keep_deadlines),
     HELP(
         "With local-first: whether a job is sent to another cluster if it would probably miss its deadline at home.")},
    {"data_local_wait_s", SECONDS, OTHERWISE("the place of data has no effect"), AS_US(ROUTER, local_wait_us),
     HELP("A job is sent to a cluster that reads its data set without a link, if its predicted wait there is at most "
          "this. The router chooses among such clusters. Needs 'data'. Not with home.")},
    {"budget_usd", USD, OTHERWISE("unlimited"), AS_UUSD(ROUTER, budget_uusd),
     HELP("With local-first: maximum of the predicted cost of all jobs that are sent to other clusters.")},
    {"rules", LIST(1, 1000, EACH(OBJECT(rule_keys))), AS_ARRAY(ROUTER, rules, n_rules),
     HELP(
         "With affinity: preferred clusters by tenant and class. The first rule that applies to a job is used; jobs "
         "without a rule prefer their home. A preferred cluster with a predicted wait above 'max_wait_s' is skipped.")},
    {"dispatch", CHOICE(dispatches), DEFAULT("all"), AT(INTEGER, ROUTER, incremental),
     HELP("With multikueue. all: copies are sent to all clusters at once. incremental: they are sent to 'step' more "
          "clusters in each round.")},
    {"step", WHOLE(1, 64), DEFAULT("3"), .unit = "clusters", AT(INTEGER, ROUTER, step),
     HELP("With multikueue: clusters that incremental dispatch adds in a round.")},
    {"round_s", SECONDS_FROM(1), DEFAULT("300"), AS_US(ROUTER, round_us),
     HELP("With multikueue: length of a round of incremental dispatch.")},
    {"timeout_s", SECONDS_FROM(1), DEFAULT("600"), AS_US(ROUTER, timeout_us),
     HELP("With skypilot: a job that has not started after this time is sent to the next cluster.")},
    {"reroute_s", SECONDS_FROM(1), OTHERWISE("jobs are not routed again"), AS_US(ROUTER, reroute_us),
     HELP("Interval at which waiting jobs that have never started are routed again. Not with home, multikueue, "
          "slurm-federation or skypilot.")},
    {"max_reroutes", WHOLE(1, 1e6), DEFAULT("1000"), AT(INTEGER, ROUTER, max_reroutes),
     HELP("With 'reroute_s' or skypilot: maximum number of times that a job is sent to another cluster.")},
    END};

#define CLUSTER struct hr_scenario_cluster
static const struct hr__key entry_keys[] = {
    {"name", NAME, MUST, AT(TEXT, CLUSTER, name), HELP("Name, different from those of other clusters.")},
    {"tenants", LIST(1, MAX_MEMBERS, EACH(NAME, .store = HR__STORE_TEXT)), AS_ARRAY(CLUSTER, tenants, n_tenants),
     OTHERWISE("none"),
     HELP("Tenants with this cluster as their home. The home of tenants that no cluster lists is the first cluster "
          "that may serve them.")},
    {"only_tenants", LIST(1, MAX_MEMBERS, EACH(NAME, .store = HR__STORE_TEXT)), AS_ARRAY(CLUSTER, only, n_only),
     OTHERWISE("all"), HELP("For a dedicated cluster: routers send it only jobs of these tenants.")},
    {"region", NAME, HELP("Region of all pools without their own 'region'.")},
    {"provider", NAME, HELP("Provider of all pools with an 'instance' and without their own 'provider'.")},
    CLUSTER_KEYS("[\"instance\"]"),
    {"policy", OBJECT(hr__policy_keys), OTHERWISE("that of the scenario"), HELP("The policy of this cluster.")},
    {"quotas", OBJECT(quota_keys), OTHERWISE("those of the scenario"), HELP("Quotas in this cluster.")},
    {"kai", OBJECT(hr__kai_keys), OTHERWISE("that of the scenario"),
     HELP("Settings of KAI-Scheduler in this cluster, as in 'kai' of the scenario.")},
    {"kueue", OBJECT(hr__kueue_keys), OTHERWISE("that of the scenario"),
     HELP("Settings of Kueue in this cluster, as in 'kueue' of the scenario.")},
    {"kubernetes", OBJECT(hr__kubernetes_keys), OTHERWISE("that of the scenario"),
     HELP("Settings of kube-scheduler in this cluster, as in 'kubernetes' of the scenario.")},
    {"volcano", OBJECT(hr__volcano_keys), OTHERWISE("that of the scenario"),
     HELP("Settings of Volcano in this cluster, as in 'volcano' of the scenario.")},
    {"slurm", OBJECT(hr__slurm_keys), OTHERWISE("that of the scenario"),
     HELP("Settings of Slurm in this cluster, as in 'slurm' of the scenario.")},
    END};

#define SCENARIO struct hr_scenario
static const struct hr__key scenario_keys[] = {
    {"$schema", TEXT(0, MAX_TEXT), HELP("The schema of this file, for editors. Ignored.")},
    {"name", NAME, AT(TEXT, SCENARIO, name), OTHERWISE("the file name without its extension"),
     HELP("Shown in results.")},
    {"description", TEXT(0, MAX_TEXT), AT(TEXT, SCENARIO, description), HELP("Purpose and sources, for people.")},
    {"trace", OBJECT(trace_keys), .store = HR__STORE_PART,
     HELP("The jobs. Without a file, use --trace on the command line.")},
    {"catalog", OBJECT(catalog_keys),
     HELP("CSV files with rows that are added to the catalogue, or that replace rows with the same key. Paths are "
          "relative to the scenario's folder.")},
    {"cluster", OBJECT(cluster_keys), OTHERWISE("required, unless there are 'clusters'"), AT(PART, SCENARIO, cluster),
     .schema = "{\"oneOf\": [{\"required\": [\"pools\"]}, {\"required\": [\"nodes_file\"]}]}",
     HELP("The machines: either 'pools' or 'nodes_file'. At most 4,000,000 GPUs in all.")},
    {"clusters", LIST(1, 1000, EACH(OBJECT(entry_keys), .brief = true)),
     HELP("Instead of 'cluster': several clusters, each with its own pools and policy. 'policy', 'quotas' and the "
          "sections of modelled schedulers of the scenario apply to clusters that do not set these keys.")},
    {"router", OBJECT(router_keys), OTHERWISE("every job runs at home"),
     HELP("With 'clusters': how submitted jobs are sent to clusters.")},
    {"classes", OBJECT(EACH(OBJECT(class_keys), HELP("Jobs of this class."))), .choices = hr__class_keys,
     BY_CLASS(SCENARIO, classes),
     HELP("Checkpoints, restarts and topology by class of job. The entry 'default' applies to classes that are not "
          "listed.")},
    {"models", OBJECT(model_keys), OR_TEXT("catalogue"), OTHERWISE("the same speed everywhere"),
     .schema = "{\"pattern\": \"^catalogue$\"}",
     HELP("Speed of jobs on the pools' GPUs, by the model in the trace. catalogue: the speed of all models is the "
          "ratio of the dense FP16 TFLOPS to those of the first pool's GPU type.")},
    {"network_speeds", LIST(1, 10000, EACH(OBJECT(network_speed_keys))),
     HELP("Speed of jobs on GPUs that are joined by a network, relative to one node. These rows have precedence over "
          "the "
          "catalogue's.")},
    {"scaling", LIST(1, 10000, EACH(OBJECT(scaling_keys))),
     OTHERWISE("the speed is proportional to the number of GPUs"),
     HELP("Speed of elastic jobs by their number of GPUs, under policies that resize jobs.")},
    {"costs", OBJECT(cost_keys), AT(PART, SCENARIO, costs),
     HELP("Costs other than those of pools, and their attribution to tenants.")},
    {"quotas", OBJECT(quota_keys),
     HELP(
         "Guarantees and limits of tenants, for policies that enforce quotas. Unused guarantees may be borrowed within "
         "a cohort, and by other cohorts.")},
    {"policy", OBJECT(hr__policy_keys), OTHERWISE("required, unless there are 'services'"),
     HELP("The scheduling policy and its parameters.")},
    {"kai", OBJECT(hr__kai_keys), HELP("Queues and settings of KAI-Scheduler, for the policy kai.")},
    {"kueue", OBJECT(hr__kueue_keys), HELP("Objects and settings of Kueue, for the policy kueue.")},
    {"kubernetes", OBJECT(hr__kubernetes_keys), HELP("Configuration of kube-scheduler, for the policy kubernetes.")},
    {"volcano", OBJECT(hr__volcano_keys), HELP("Configuration of Volcano, for the policy volcano.")},
    {"slurm", OBJECT(hr__slurm_keys), HELP("Priorities, partitions, QOS and accounts of Slurm, for the policy slurm.")},
    {"services", LIST(0, MAX_MEMBERS, EACH(OBJECT(hr__service_keys))),
     HELP("Inference services. Their replicas are jobs that compete with the jobs of the trace. With services, the "
          "trace is optional.")},
    {"data", OBJECT(data_keys), OTHERWISE("data is free and everywhere"),
     HELP("Data with a location: storage systems, data sets, links, caches, and what jobs read.")},
    {"alerts", OBJECT(alert_keys), AT(PART, SCENARIO, alerts), HELP("Thresholds of alerts.")},
    {"replications", OBJECT(replication_keys), AT(PART, SCENARIO, replications),
     HELP("Number of runs of the scenario, each with different random events.")},
    {"plan", OBJECT(plan_keys), HELP("Variables, goals and objective for 'headroom plan'.")},
    {"tco", OBJECT(hr__tco_keys), HELP("Years, growth, prices and alternatives for 'headroom tco'.")},
    {"seed", SEED, DEFAULT("1"), AT(INTEGER, SCENARIO, seed),
     HELP("Seed of all random draws: a whole number up to 2^64-1. A number above 2^53 must be written as text.")},
    {"horizon_s", REAL(1e-6, MAX_SECONDS), .unit = "s", OTHERWISE("the run ends when all jobs are complete"),
     AS_US(SCENARIO, horizon_us), HELP("Time from the first submit at which the run ends.")},
    END};

const struct hr__key hr__scenario_keys = {
    "", OBJECT(scenario_keys), MUST,
    .schema =
        "{\"anyOf\": [{\"required\": [\"policy\"]}, {\"required\": [\"services\"]}, {\"required\": [\"clusters\"]}], "
        "\"oneOf\": [{\"required\": [\"cluster\"]}, {\"required\": [\"clusters\"]}]}"};

/* ---- Documents beside scenarios --------------------------------------------------------------------- */

/* The key tables of suites of runs, baselines and grids of sweeps. */

#define MAX_SUITE_RUNS 10000.0
#define MAX_GOALS 100.0
#define MAX_GROUPS 1e6 /* maximum number of tenants of a trace */
#define MAX_LINES 1e6  /* maximum number of lines of a long text, which is stored as a list of lines */
#define MAX_FIGURE 1e18

#define WORD(name, text) text,
static const char *const worse[] = {HR_WORSE_TABLE(WORD) NULL};
static const char *const digests[] = {"exact", "any", NULL};
static const char *const profiles[] = {HR_TOLERANCE_PROFILE_TABLE(WORD) NULL};
static const char *const designs[] = {HR_DESIGN_TABLE(WORD) NULL};

#define SCHEMA_KEY                                                                                                     \
  { "$schema", TEXT(0, MAX_TEXT), HELP("The schema of this file, for editors. Ignored.") }
#define DESCRIPTION_KEY                                                                                                \
  { "description", TEXT(0, MAX_TEXT), HELP("Purpose, for people.") }

/* ---- Suites ----------------------------------------------------------------------------------------- */

static const struct hr__key tolerance_keys[] = {
    {"relative", REAL(0, 1e6), DEFAULT("0"), AT(DOUBLE, struct hr_tolerance, relative),
     HELP("Allowed change, as a share of the value in the baseline.")},
    {"absolute", REAL(0, MAX_FIGURE), DEFAULT("0"), AT(DOUBLE, struct hr_tolerance, absolute),
     HELP("Allowed change, in the unit of the metric.")},
    {"worse", CHOICE(worse), AT(INTEGER, struct hr_tolerance, worse),
     HELP("The direction in which the metric becomes worse.")},
    END};

static const struct hr__key tolerances_keys[] = {
    {"profile", CHOICE(profiles), OTHERWISE("slo"),
     HELP("Tolerance of metrics that are not listed. slo: only regressions of service and cost metrics are failures. "
          "exact: every metric must be equal. If the value is a text instead of an object, it is the name of a "
          "profile.")},
    {"only_worse", BOOLEAN, HELP("A metric that improved is never a failure.")},
    {"digest", CHOICE(digests), HELP("exact: digests must be equal. any: they may differ.")},
    {"*", OBJECT(tolerance_keys), HELP("Tolerance of this metric. *: all metrics without their own tolerance.")},
    END};

#define RUN struct hr_suite_run
static const struct hr__key suite_run_keys[] = {
    {"name", NAME, MUST, AT(TEXT, RUN, name), HELP("Name, different from those of other runs.")},
    {"scenario", PATH, MUST, AT(FILE, RUN, scenario), HELP("Scenario, relative to the folder of the suite.")},
    {"trace", PATH, AT(FILE, RUN, trace), OTHERWISE("that of the scenario"),
     HELP("Trace, relative to the folder of the suite.")},
    {"policies", LIST(1, MAX_MEMBERS, EACH(PATH, .store = HR__STORE_TEXT)), AS_ARRAY(RUN, policies, n_policies),
     HELP("One run with each of these policies.")},
    {"set", OBJECT(EACH(SCALAR)), HELP("Overrides: values by path.")},
    {"tolerances", OBJECT(tolerances_keys), HELP("Tolerances of this run.")},
    {"goals", LIST(0, MAX_GOALS, EACH(NAME, .store = HR__STORE_PLACED)), AS_ARRAY(RUN, goals, n_goals),
     HELP("Goals that this run must meet, such as wait_s.p95 of interactive <= 10 min.")},
    END};

static const struct hr__key suite_keys[] = {
    SCHEMA_KEY,
    DESCRIPTION_KEY,
    {"runs", LIST(1, MAX_SUITE_RUNS, EACH(OBJECT(suite_run_keys))), MUST, HELP("The runs.")},
    {"tolerances", OBJECT(tolerances_keys), HELP("Tolerances of all runs.")},
    {"goals", LIST(0, MAX_GOALS, EACH(NAME, .store = HR__STORE_PLACED)), AS_ARRAY(struct hr_suite, goals, n_goals),
     HELP("Goals that every run must meet.")},
    END};
const struct hr__key hr__suite_keys = {"", OBJECT(suite_keys)};

/* ---- Baselines -------------------------------------------------------------------------------------- */

#define FIGURE EACH(REAL(-MAX_FIGURE, MAX_FIGURE))
#define GROUPS .type = HR__KEY_OBJECT, .max = MAX_GROUPS, .keys = EACH(OBJECT(FIGURE))
#define LINES LIST(0, MAX_LINES, EACH(TEXT(0, MAX_NAME)))
#define BASELINE struct hr_baseline_run

static const struct hr__key baseline_run_keys[] = {
    {"name", PATH, MUST, AT(TEXT, BASELINE, name)},
    {"policy", PATH, MUST, AT(TEXT, BASELINE, policy)},
    {"seed", SEED, MUST, AT(INTEGER, BASELINE, seed)},
    {"trace", TEXT(0, MAX_TEXT), MUST, AT(TEXT, BASELINE, trace)}, /* empty: the run has services, but no trace */
    {"trace_digest", NAME, MUST},
    {"inputs", OBJECT(EACH(NAME)), MUST},
    {"scenario", TEXT(0, HR_MAX_BASELINE_SCENARIO_BYTES), AT(TEXT, BASELINE, scenario)},
    {"replications", WHOLE(1, 1e6), AT(INTEGER, BASELINE, replications)},
    {"digest", NAME, MUST},
    {"metrics", OBJECT(FIGURE), MUST},
    {"by_class", GROUPS},
    {"by_tenant", GROUPS},
    {"by_pool", GROUPS},
    {"by_service", GROUPS},
    {"samples", .type = HR__KEY_OBJECT, .max = MAX_GROUPS, .keys = EACH(LIST(1, HR_MAX_REPLICATIONS, FIGURE))},
    {"jobs", WHOLE(0, HR_NONE), AT(INTEGER, BASELINE, n_jobs)},
    {"decisions", WHOLE(0, MAX_EXACT), AT(INTEGER, BASELINE, decisions)},
    {"spacing", WHOLE(1, MAX_EXACT), DEFAULT("1"), AT(INTEGER, BASELINE, spacing)},
    {"chain", LINES},
    {"starts", LINES},
    END};

static const struct hr__key baseline_keys[] = {{"format", WHOLE(HR_BASELINE_FORMAT, HR_BASELINE_FORMAT), MUST},
                                               {"version", NAME, MUST, AT(TEXT, struct hr_baseline, version)},
                                               {"runs", LIST(0, MAX_SUITE_RUNS, EACH(OBJECT(baseline_run_keys))), MUST},
                                               END};
const struct hr__key hr__baseline_keys = {"", OBJECT(baseline_keys)};

/* ---- Grids of sweeps -------------------------------------------------------------------------------- */

static const struct hr__key design_keys[] = {
    {"kind", CHOICE(designs), MUST, AT(INTEGER, struct hr_grid, design), HELP("How points are chosen.")},
    {"points", WHOLE(1, 1e6), AT(INTEGER, struct hr_grid, n_points), HELP("Number of points of a sample.")},
    END};

static const struct hr__key grid_keys[] = {
    SCHEMA_KEY,
    DESCRIPTION_KEY,
    {"scenario", PATH, MUST, AT(TEXT, struct hr_grid, scenario), HELP("Scenario, relative to the folder of the grid.")},
    {"set", LIST(0, MAX_MEMBERS, EACH(PATH, .store = HR__STORE_TEXT)), AS_ARRAY(struct hr_grid, set, n_set),
     HELP("Overrides PATH=VALUE of all points.")},
    {"axes", LIST(1, HR__MAX_AXES, EACH(OBJECT(hr__axis_keys))), MUST, HELP("The parameters that vary.")},
    {"design", OBJECT(design_keys), .store = HR__STORE_PART, HELP("Which points are evaluated.")},
    {"replications", WHOLE(1, HR_MAX_REPLICATIONS), DEFAULT("1"), AT(INTEGER, struct hr_grid, replications),
     HELP("Maximum number of replications of each point.")},
    {"seed", SEED, DEFAULT("1"), AT(INTEGER, struct hr_grid, seed), HELP("Seed of the design.")},
    {"max_runs", WHOLE(1, 1e9), DEFAULT("100000"), AT(INTEGER, struct hr_grid, max_runs),
     HELP("A grid with more runs is refused.")},
    END};
const struct hr__key hr__grid_keys = {"", OBJECT(grid_keys)};
