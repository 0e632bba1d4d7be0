/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_REPORT_H
#define HEADROOM_REPORT_H

/*
 * Results of runs: costs, alerts, metrics, summaries and their files.
 *
 * Costs have two parts: the cost of capacity, from the ledger (headroom/sim.h), and other costs of a cluster (storage,
 * egress, operations, downtime, savings plans). They are broken down by market, pool, tenant, class and GPU type. Money
 * is in integer micro-dollars. The total cost of capacity is rounded once and divided into its parts by the largest
 * remainder method. Each other cost is rounded separately. Therefore the lines of each breakdown sum exactly to the
 * total. docs/planner/costs.md defines all figures.
 *
 * The observers of this header (meter, alerts, usage, links, placements, timeline, timeline summary) have one life
 * cycle: create the observer; pass it to one run; call its close or finish function, if it has one; read the results;
 * destroy the observer. Each destroy function accepts NULL.
 */

#include "headroom/base.h"
#include "headroom/sim.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Costs beyond capacity ---- */

/* Data is counted in MB of 10^6 bytes; 1000 MB are one GB. A month is HR_MONTH_US. A part of a month costs the
   corresponding part of the price of a month. */

/* Data of a tenant that is stored during the whole run. */
struct hr_dataset {
  char *tenant; /* NULL: data shared by all tenants */
  uint64_t mb;
};

/* Storage of datasets and checkpoints. */
struct hr_storage_cost {
  int64_t uusd_per_gb_month;
  struct hr_dataset *datasets;
  size_t n_datasets;
  /* a job of a class with checkpoints stores one checkpoint, from the time of its first checkpoint until this number of
     microseconds after its end */
  int64_t checkpoint_retention_us;
};

/* Data that leaves the provider's network. */
struct hr_egress_cost {
  int64_t uusd_per_gb;
  uint64_t mb_per_gpu_hour[HR_N_CLASSES]; /* MB per allocated GPU-hour of jobs of a class */
  uint64_t mb_per_job[HR_N_CLASSES];      /* MB per completed job of a class */
};

/* Fixed costs of operating the cluster. */
struct hr_operations_cost {
  int64_t uusd_per_month;
  int64_t uusd_per_node_month; /* for each node that is present or boots */
};

/* The price that the user assigns to waits and to missed deadlines. */
struct hr_downtime_cost {
  /* per GPU-hour that jobs wait for GPUs that the spot market does not offer */
  int64_t uusd_per_gpu_hour;
  int64_t uusd_per_missed_deadline;
};

/* How idle and shared cost is divided among the statements of tenants. HR_IDLE_SPLIT_NONE: it is not in the statements.
   HR_IDLE_SPLIT_PROPORTIONAL: in proportion to what each tenant pays for GPUs in the month. HR_IDLE_SPLIT_EVEN: equally
   among the tenants that used GPUs in the month. The cost of a month is not divided if no tenant used GPUs in the month
   or, with HR_IDLE_SPLIT_PROPORTIONAL, if no tenant paid for GPUs. */
#define HR_IDLE_SPLIT_TABLE(X)                                                                                         \
  X(HR_IDLE_SPLIT_NONE, "none")                                                                                        \
  X(HR_IDLE_SPLIT_PROPORTIONAL, "proportional")                                                                        \
  X(HR_IDLE_SPLIT_EVEN, "even")

enum hr_idle_split {
#define HR_IDLE_SPLIT_NAME(name, text) name,
  HR_IDLE_SPLIT_TABLE(HR_IDLE_SPLIT_NAME)
#undef HR_IDLE_SPLIT_NAME
      HR_N_IDLE_SPLITS
};

/* The maximum cost of a tenant in a month. */
struct hr_budget {
  char *tenant;
  int64_t uusd_per_month;
};

/* A savings plan: a fixed fee per hour for the whole run. At each instant, the plan covers on-demand nodes until the
   sum of their discounted prices equals the fee. Covered nodes cost nothing else. All other nodes are paid at their
   full price. Several plans are applied in the order of descending discount. */
struct hr_savings_plan {
  int64_t uusd_per_h;    /* the fee */
  uint32_t discount_ppm; /* below 1,000,000 */
  /* lists of pool names and of GPU types. The plan applies to each on-demand pool with its name or its GPU type in
     these lists. If both lists are empty, it applies to all on-demand pools */
  char **pools, **gpus;
  size_t n_pools, n_gpus;
};

/* The `costs` of a scenario. With all members 0, only capacity has a cost. Strings and arrays are from malloc. */
struct hr_cost_spec {
  struct hr_storage_cost storage;
  struct hr_egress_cost egress;
  struct hr_operations_cost operations;
  struct hr_downtime_cost downtime;
  enum hr_idle_split idle_split;
  struct hr_budget *budgets;
  size_t n_budgets;
  struct hr_savings_plan *plans;
  size_t n_plans;
};

/* Frees the strings and arrays of `spec`. */
HR_API void hr_cost_spec_finish(struct hr_cost_spec *spec);

/* ---- Meter ---- */

/* The meter: an observer that records data that the ledger does not have. These are the numbers of nodes over time, the
   use that savings plans cover, and the GPUs for which jobs wait because the spot market does not offer them. */
struct hr_meter;
/* Creates a meter. `trace`, `cluster` and `spec` must outlive it. `spec` NULL: only capacity has a cost. Returns NULL
   if memory is exhausted. */
HR_API struct hr_meter *hr_meter_create(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                        const struct hr_cost_spec *spec);
HR_API void hr_meter_destroy(struct hr_meter *meter);
HR_API struct hr_observer hr_meter_observer(struct hr_meter *meter);

/* ---- Cost summary ---- */

/* A line of a breakdown of costs. */
struct hr_cost_line {
  char *name;
  int64_t uusd;
};
/* A breakdown of costs. */
struct hr_cost_lines {
  struct hr_cost_line *line;
  size_t count;
};

/* The costs of a tenant in one month of the run. Months are counted from 0. */
struct hr_statement {
  char *tenant; /* "": jobs without a tenant */
  uint32_t month;
  int64_t training_uusd;  /* classes training, fine-tune, data-prep */
  int64_t inference_uusd; /* classes inference, batch-inference */
  int64_t other_uusd;     /* class interactive, and jobs without a class */
  int64_t storage_uusd, egress_uusd, downtime_uusd;
  int64_t shared_uusd, idle_uusd; /* the tenant's parts of shared and idle cost, by the rule hr_idle_split */
  int64_t total_uusd;
};

/* The comparison of a tenant's budget with its cost, for one month of the run, counted from 0. */
struct hr_budget_line {
  char *tenant;
  uint32_t month;
  int64_t budget_uusd, spent_uusd; /* spent_uusd: the total of the tenant's statement */
  bool over;                       /* spent_uusd is greater than budget_uusd */
};

/* A row of the table of costs: the cost of a tenant, of idle capacity, or a shared cost. */
struct hr_cost_row {
  char *tenant; /* name of the tenant, "(idle)" or "(shared)"; "": jobs without a tenant */
  /* names of the market and of the GPU type. For a cost other than capacity, `market` is the kind of the cost, such as
     "(storage)" or "(savings-plan)", and `gpu` is "" */
  char *market, *gpu;
  hr_amount gpu_time; /* in milli-GPUs * microseconds */
  int64_t uusd;
};

#define HR_UNKNOWN_UUSD INT64_MIN /* an amount that is unknown */

/* The cost of the GPUs of the replicas of an inference service, by market. The amounts are parts of the total. */
struct hr_service_cost_lines {
  int64_t uusd[HR_N_MARKETS];
  bool is_partial; /* the service also used GPUs without a price */
};

/* The costs of a run. Amounts are micro-dollars. Amounts that cannot be computed are HR_UNKNOWN_UUSD. */
struct hr_cost_summary {
  int64_t total_uusd;
  int64_t capacity_uusd; /* part of the total: cost of the pools at their prices */
  int64_t idle_uusd;     /* part of capacity_uusd: cost of capacity that no job used */
  int64_t shared_uusd;   /* part of the total: other costs without a tenant; savings of savings plans are negative */
  /* all_on_demand_uusd: what the total would be without idle capacity and savings plans, and with on-demand prices for
     the used GPU time. per_completed_job_uusd and per_goodput_gpu_hour_uusd: total_uusd per completed job
     and per GPU-hour of useful work. */
  int64_t all_on_demand_uusd, per_completed_job_uusd, per_goodput_gpu_hour_uusd;
  int64_t monthly_uusd; /* cost of a month if the demand of this run continues */
  /* 1 - total_uusd / all_on_demand_uusd; NAN: unknown */
  double saving_vs_on_demand;
  /* Breakdowns. The lines of each breakdown sum to the total. Lines with the names "(idle)", "(shared)" and
     "(services)" are costs that belong to no tenant, pool, class or GPU type. */
  struct hr_cost_lines by_market, by_pool, by_tenant, by_class, by_gpu;
  struct hr_statement *statements; /* sorted by (tenant, month) */
  size_t n_statements;
  struct hr_budget_line *budgets;
  size_t n_budgets;
  struct hr_cost_row *rows; /* the rows sum to the total */
  size_t n_rows;
  /* [n_services]: by index of the service; services after the last one that used GPUs are missing */
  struct hr_service_cost_lines *services;
  size_t n_services;
};

/* The input for the computation of costs. Everything is borrowed. */
struct hr_cost_basis {
  const struct hr_ledger *ledger; /* must be closed */
  struct hr_meter *meter;
  const struct hr_cost_spec *spec; /* NULL: only capacity has a cost */
  /* [HR_N_CLASSES], as in the run; NULL: no checkpoints */
  const struct hr_class_spec *classes;
};

/* Writes the table of costs as CSV: one row for each combination of tenant, market and GPU type; one row for the idle
   capacity of each market and GPU type; and one row for each other cost of a tenant and for each shared cost. The
   columns are tenant, market, gpu, gpu_hours, cost_usd. `path` "-" is standard output. Returns HR_IO_ERROR or
   HR_BAD_INPUT if the file cannot be written. */
HR_API enum hr_status hr_costs_write(const char *path, const struct hr_cost_summary *costs, struct hr_error *error);

/*
 * ---- Alerts ----
 *
 * Alerts are warnings such as the monitoring of a real cluster reports, evaluated in simulated time. An alert states
 * which condition was true, in which pool, class, tenant or service, and when. docs/planner/alerts.md defines the
 * rules.
 */

/* The rules of alerts. The columns: enumerator, name as users type it, key in scenarios. */
#define HR_ALERT_TABLE(X)                                                                                              \
  X(HR_ALERT_UNDERUSED, "gpus-underused", "gpus_underused")                                                            \
  X(HR_ALERT_SATURATED, "gpus-saturated", "gpus_saturated")                                                            \
  X(HR_ALERT_RECLAIMS, "spot-reclaims", "spot_reclaims")                                                               \
  X(HR_ALERT_UNSAVED, "no-checkpoint", "no_checkpoint")                                                                \
  X(HR_ALERT_WAITING, "queue-time", "queue_time")                                                                      \
  X(HR_ALERT_BUDGET, "over-budget", "over_budget")                                                                     \
  X(HR_ALERT_LATENCY, "service-latency", "service_latency")                                                            \
  X(HR_ALERT_IDLE_REPLICA, "serving-idle", "serving_idle")                                                             \
  X(HR_ALERT_KV_MEMORY, "out-of-memory", "out_of_memory")                                                              \
  X(HR_ALERT_HOT, "gpus-hot", "gpus_hot")

enum hr_alert_rule {
#define HR_ALERT_NAME(name, text, key) name,
  HR_ALERT_TABLE(HR_ALERT_NAME)
#undef HR_ALERT_NAME
      HR_N_ALERTS
};

/* Returns the name of a rule as users type it. */
HR_API const char *hr_alert_name(enum hr_alert_rule rule);

/* The thresholds of the rules. The defaults are in parentheses. */
struct hr_alert_rules {
  bool is_off[HR_N_ALERTS]; /* [rule]: the rule is disabled (all rules are enabled) */
  /* thresholds of (allocated GPUs of a pool) / (GPUs of the pool) (0.2 and 0.95), and how long the utilization must be
     below or above them (an hour, 30 minutes); evaluated until the last submit */
  double underused_below, saturated_above;
  int64_t underused_for_us, saturated_for_us;
  /* threshold of (nodes of a spot pool reclaimed within reclaims_within_us) / (nodes that were up in this time) (0.2)
   */
  double reclaims_above;
  int64_t reclaims_within_us; /* (24 hours) */
  int64_t unsaved_us;         /* maximum time of a job on spot capacity without a checkpoint (2 hours) */
  /* maximum wait by class (inference: 5 minutes, interactive: 15 minutes, others: a day) */
  int64_t waiting_us[HR_N_CLASSES];
  double budget_above; /* threshold of (cost of a tenant in a month) / budget (1) */
  /* threshold of (p95 in a window of the time to the first token) / (median of this p95 over all windows) (5) */
  double latency_above;
  int64_t latency_within_us; /* length of the windows (5 minutes) */
  int64_t idle_for_us;       /* maximum time of a ready replica without an iteration (30 minutes); at least a minute */
  int64_t memory_within_us;  /* losses of KV memory with a shorter time between them are one alert (5 minutes) */
  double hot_above_c;        /* maximum temperature of GPUs (90) */
};

/* Sets `*rules` to the defaults. */
HR_API void hr_alert_rules_init(struct hr_alert_rules *rules);

/* A period in which the condition of a rule was true for one pool, class, tenant or service. */
struct hr_alert {
  enum hr_alert_rule rule;
  const char *where; /* name of the pool, class, tenant or service; "" if it has no name */
  /* begin and end of the period; end_us is the end of the run if the condition was still true at the end */
  int64_t begin_us, end_us;
  /* value and count, by rule:
       HR_ALERT_UNDERUSED, _SATURATED  mean utilization; count 0
       HR_ALERT_RECLAIMS               maximum share of reclaimed nodes; number of reclaimed nodes
       HR_ALERT_UNSAVED                maximum number of jobs at the same time; number of times that a job ran too long
                                       without a checkpoint
       HR_ALERT_WAITING                maximum number of jobs at the same time; number of times that a job waited too
                                       long
       HR_ALERT_BUDGET                 cost / budget; count 0
       HR_ALERT_LATENCY                maximum p95 / median; number of requests above the bound
       HR_ALERT_IDLE_REPLICA           maximum number of replicas at the same time; number of times that a replica was
                                       idle for too long
       HR_ALERT_KV_MEMORY              maximum number of losses in a minute; number of losses
       HR_ALERT_HOT                    maximum temperature; number of times that a node became too hot */
  double value;
  uint64_t count;
};

/* The input of alerts. Everything is borrowed and must outlive the alerts. */
struct hr_alerts_config {
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_alert_rules *rules;
  const struct hr_cost_spec *costs; /* has the budgets; NULL: no budgets */
  /* [HR_N_CLASSES], as in the run; NULL: no checkpoints */
  const struct hr_class_spec *classes;
};

/* Alerts: an observer that evaluates the rules. */
struct hr_alerts;
/* Returns NULL if memory is exhausted. */
HR_API struct hr_alerts *hr_alerts_create(const struct hr_alerts_config *config);
HR_API void hr_alerts_destroy(struct hr_alerts *alerts);
HR_API struct hr_observer hr_alerts_observer(struct hr_alerts *alerts);
/* Completes the alerts at the end of the run. Call this function once, before hr_alerts_list. `costs` are the costs of
   the same run, for budgets; NULL: budgets are not evaluated. Returns HR_NO_MEMORY if an alert is missing because
   memory was exhausted during the run. */
HR_API enum hr_status hr_alerts_close(struct hr_alerts *alerts, const struct hr_result *result,
                                      const struct hr_cost_summary *costs);
/* Sets `*list` to the alerts, sorted by (rule, where, begin), and returns their number. They belong to `alerts`. */
HR_API size_t hr_alerts_list(const struct hr_alerts *alerts, const struct hr_alert **list);

/*
 * ---- Metrics ----
 *
 * The main metrics:
 *   wait         first start - submit, of jobs that started
 *   jct          completion time: end - submit, of jobs that completed
 *   slowdown     bounded slowdown (Feitelson): max(1, jct / max(run time, 10 s)), of jobs that completed
 *   makespan     last end - first submit; if jobs are unfinished, the time until the end of the run
 *   utilization  (allocated GPU time) / (available GPU time), over the submit window (first to last submit) and over
 *                the makespan
 *   queue        number of waiting jobs after each pass: time-weighted mean over the makespan, and maximum
 *
 * Quantiles interpolate linearly between order statistics, as GSL and numpy do by default. docs/reference/metrics.md
 * has the full definitions.
 */

/* ---- Observers ---- */

/* Usage: an observer that integrates the numbers of waiting jobs, of allocated GPUs and of present GPUs over time. If
   the cluster has several pools, GPUs are also integrated by pool. In per-GPU allocation (hr_cluster_gpu_inventory),
   fragmentation is integrated, too. */
struct hr_usage;
/* Returns NULL if memory is exhausted. The trace need not outlive the usage. */
HR_API struct hr_usage *hr_usage_create(const struct hr_trace *trace);
HR_API void hr_usage_destroy(struct hr_usage *usage);
HR_API struct hr_observer hr_usage_observer(struct hr_usage *usage);

/* Links: an observer that sums the GPU time of jobs with GPUs that are joined by a network (hr_cluster_links). It also
   sums the part of this time that belongs to jobs for which `speeds` has no row. */
struct hr_links;
/* Returns NULL if memory is exhausted. `trace` and `speeds` must outlive the links. */
HR_API struct hr_links *hr_links_create(const struct hr_trace *trace, const struct hr_network_speeds *speeds);
HR_API void hr_links_destroy(struct hr_links *links);
HR_API struct hr_observer hr_links_observer(struct hr_links *links);
/* Adds a note if `speeds` has no row for some jobs. The note states the share of the GPU time that belongs to these
   jobs, and their models. Only attempts that have ended are counted. */
HR_API enum hr_status hr_links_notes(const struct hr_links *links, struct hr_notes *notes, struct hr_error *error);

/* Placements: an observer that records the last placement of each job, for hr_jobs_write. */
struct hr_placements;
/* Returns NULL if memory is exhausted. */
HR_API struct hr_placements *hr_placements_create(const struct hr_trace *trace);
HR_API void hr_placements_destroy(struct hr_placements *placements);
HR_API struct hr_observer hr_placements_observer(struct hr_placements *placements);

/* Timeline: an observer that writes a CSV row for each instant at which a value has changed. The columns are time_s,
   waiting, running, gpus_allocated, gpus_total, fragmented_gpus, stranded_gpus, largest_gang, and the optional columns
   of struct hr_timeline_columns. */
struct hr_timeline;
/* Creates a timeline that writes to `path`. `usage` is for the columns fragmented_gpus, stranded_gpus and largest_gang.
   It must be an observer of the same run and precede the timeline in the list of observers. The columns are empty if
   `usage` is NULL, and in counted allocation. `has_power` and `has_carbon`: see struct hr_timeline_columns. */
HR_API enum hr_status hr_timeline_create(const char *path, const struct hr_trace *trace, const struct hr_usage *usage,
                                         bool has_power, bool has_carbon, struct hr_timeline **timeline,
                                         struct hr_error *error);
/* The optional columns of a timeline, in their order. `power`: power_kw, site_kw (struct hr_power_now). `carbon`:
   carbon_kg_h (struct hr_power_now). `battery`: grid_kw, stored_kwh (struct hr_battery_now). */
struct hr_timeline_columns {
  bool power, carbon, battery;
};
/* As hr_timeline_create, with any optional columns. */
HR_API enum hr_status hr_timeline_create_with(const char *path, const struct hr_trace *trace,
                                              const struct hr_usage *usage, const struct hr_timeline_columns *columns,
                                              struct hr_timeline **timeline, struct hr_error *error);
HR_API struct hr_observer hr_timeline_observer(struct hr_timeline *timeline);
/* Completes the file, which gets its name now. */
HR_API enum hr_status hr_timeline_finish(struct hr_timeline *timeline, struct hr_error *error);
/* Frees the timeline. Discards the file if hr_timeline_finish was not called. */
HR_API void hr_timeline_destroy(struct hr_timeline *timeline);

/* A CSV file with one table of the values that a modelled scheduler computes (struct hr_values). */
struct hr_value_file;
/* Creates a file for the table with the name `table`, which is borrowed. */
HR_API enum hr_status hr_value_file_create(const char *path, const char *table, struct hr_value_file **file,
                                           struct hr_error *error);
/* Writes a row if `table` is the table of the file. No effect if `file` is NULL. */
HR_API void hr_value_file_row(struct hr_value_file *file, const char *table, const char *const *cells, uint32_t count);
/* Completes the file, which gets its name now. Returns HR_BAD_INPUT if no row was written, because the policy does not
   have the table. */
HR_API enum hr_status hr_value_file_finish(struct hr_value_file *file, struct hr_error *error);
/* Frees the object. Discards the file if hr_value_file_finish has not completed it. NULL is accepted. */
HR_API void hr_value_file_destroy(struct hr_value_file *file);

/* Timeline summary: an observer that stores allocated GPUs and waiting jobs over time in constant memory, for the line
   charts in tables. Call hr_timeline_summary_close once after the run. */
struct hr_timeline_summary;
/* Returns NULL if memory is exhausted. */
HR_API struct hr_timeline_summary *hr_timeline_summary_create(void);
HR_API void hr_timeline_summary_destroy(struct hr_timeline_summary *timeline);
HR_API struct hr_observer hr_timeline_summary_observer(struct hr_timeline_summary *timeline);
HR_API void hr_timeline_summary_close(struct hr_timeline_summary *timeline, const struct hr_result *result);

/* ---- Summary ---- */

/* Statistics of a metric over jobs. */
struct hr_distribution {
  uint64_t count;
  double mean, p50, p90, p95, p99, max; /* all 0 if `count` is 0 */
};

/* The metrics of a group of jobs: the jobs of a tenant, of a class, of a range of GPU counts, or of a cluster. */
struct hr_group {
  char *name; /* "": jobs without a tenant or class */
  uint64_t jobs, completed;
  uint64_t deadlines, missed_deadlines; /* number of jobs with a deadline, and number of jobs that missed it */
  double gpu_hours;                     /* allocated GPU time */
  double useful_gpu_hours;              /* the part of gpu_hours in which jobs did work that was not lost */
  struct hr_distribution wait_s, jct_s, slowdown;
  double ettr; /* effective training time ratio, see struct hr_fault_metrics; -1: unknown */
};

/* The allocated GPU time by use: work that was not lost, work that had to be repeated, checkpoints, and restarts. These
   four parts, hanging_gpu_hours (struct hr_fault_metrics) and waiting_gpu_hours (struct hr_data_metrics) sum to the
   allocated GPU time. */
struct hr_goodput {
  double useful_gpu_hours, lost_gpu_hours, checkpoint_gpu_hours, restart_gpu_hours;
  double fraction; /* useful GPU time / allocated GPU time; 0 if no GPU time was allocated */
};

/* Figures of the spot pools. */
struct hr_spot_metrics {
  uint32_t pools; /* number of spot pools with nodes */
  /* reclaims: number of reclaimed nodes; jobs_interrupted: number of interruptions of jobs */
  uint64_t reclaims, jobs_interrupted;
  double node_hours, gpu_hours; /* time from the delivery of nodes until they are released or reclaimed */
  double reclaims_per_node_hour;
  /* (nodes that were up or could be requested) / (all nodes of the spot pools), as a mean over the run */
  double availability;
};

/* Kills of jobs because of exhausted GPU memory, in pools with HR_GPU_MEMORY_FIRST_COME. */
struct hr_oom_metrics {
  bool known;           /* false: no such pool exists; the other members are then 0 */
  uint64_t kills, jobs; /* jobs: number of jobs with at least one kill */
  /* allocated GPU time from kills until the next try; a part of restart_gpu_hours */
  double back_off_gpu_hours;
};

/* Resizes of elastic jobs. */
struct hr_elastic_metrics {
  bool known;              /* false: no job may be resized; the other members are then 0 */
  uint64_t grows, shrinks; /* resizes after which a job had more GPUs, and fewer */
};

/* The failures of one class, in all pools together. For nodes or groups of nodes without classes, a line has all their
   failures. */
struct hr_outage_line {
  char *name; /* name of the class, of the group, or "GROUP: CLASS" */
  uint64_t failures, jobs_stopped;
  double lost_gpu_hours; /* work that the stopped jobs lost */
  /* sum over failures of duration * nodes; a node that is down because of two failures counts for both */
  double down_node_hours;
};

/* Failures of nodes (headroom/unstable/faults.h). */
struct hr_fault_metrics {
  bool known; /* false: no pool has failures; the other members are then 0 */
  uint64_t failures, jobs_stopped;
  double availability; /* share of time in which the nodes of owned and reserved pools work; -1: no such pool */
  /* mtbf_s: mean time of a node between failures, in owned and reserved pools; 0: unknown.
     mtti_s: mean time of a job between interruptions by failures; mtti_low_s and mtti_high_s are its 95 % confidence
     interval. 0: unknown. */
  double mtbf_s, mtti_s, mtti_low_s, mtti_high_s;
  /* useful GPU time / (allocated GPU time + requested GPUs * waits after interruptions); -1: unknown */
  double ettr;
  double hanging_gpu_hours;  /* allocated GPU time from failures until they were detected */
  bool has_spares, has_slow; /* a pool has spare nodes, or nodes that are slow at times */
  uint64_t spare_swaps, slow_episodes;
  /* GPU time in which spares were idle; GPU time in which they replaced a node; GPU time that jobs lost because of slow
     nodes */
  double spare_gpu_hours, spare_used_gpu_hours, slow_gpu_hours;
  uint64_t exclusions;                     /* nodes that were excluded for jobs after failures */
  uint64_t restart_preemptions;            /* preemptions for jobs that failures had stopped */
  double excluded_s;                       /* sum of the times of all exclusions */
  struct hr_outage_line *by_failure_class; /* in the order of the pools; empty in streamed runs */
  size_t n_failure_classes;
};

/* Planned work on nodes (headroom/unstable/faults.h). */
struct hr_maintenance_metrics {
  bool known;      /* false: no pool has maintenance; the other members are then 0 */
  uint64_t groups; /* number of times that the work on a group of nodes began */
  uint64_t jobs_stopped;
  /* GPU time of nodes that were down because of maintenance; of nodes that were down because of failures; of nodes that
     were closed before maintenance */
  double planned_gpu_hours, unplanned_gpu_hours, draining_gpu_hours;
  double availability; /* 1 - (planned and unplanned downtime) / (time of all nodes) */
};

/* Nodes that an autoscaler requests and removes (headroom/unstable/clusters.h). */
struct hr_scaling_metrics {
  bool known;              /* false: no cluster has an autoscaler; the other members are then 0 */
  uint64_t added, removed; /* numbers of nodes that were requested, and that were removed */
  uint64_t failures;  /* scale-ups that failed because the provider had too few nodes, or nodes did not boot in time */
  uint64_t booted;    /* number of nodes that booted */
  double provision_s; /* mean time from the request for a node until it is up; 0 if no node has booted */
  double gpu_hours;   /* GPU time from the delivery of nodes until they are removed or reclaimed */
  double empty_gpu_hours; /* GPU time in which nodes were up without a job */
};

/* The energy of a pool, or of the jobs of a tenant. */
struct hr_energy_line {
  char *name;
  double it_kwh;   /* without the facility */
  double site_kwh; /* with the facility */
  /* Of a pool: the part of it_kwh that its jobs used, and the maximum power without the facility. Of a tenant: 0. */
  double jobs_kwh, peak_kw;
};

/* Energy (headroom/power.h). */
struct hr_energy_metrics {
  bool known;                        /* false: no pool has a known power; the other members are then 0 */
  double it_kwh, site_kwh, loss_kwh; /* without the facility, with the facility, and losses of the conversion */
  double use_kwh[HR_N_ENERGY_USES];  /* it_kwh by use */
  /* mean_kw: mean power, without the facility; kwh_per_gpu_hour: site_kwh per allocated GPU-hour; 0: unknown */
  double pue, mean_kw, kwh_per_gpu_hour;
  double peak_kw, site_peak_kw; /* maximum power, without and with the facility */
  bool sleep_known;             /* nodes of a pool can sleep */
  uint64_t sleeps, wakes;
  /* struct hr_power_peaks: budget, bound_us and bound_job_us; 0 without a budget */
  double budget_kw, budget_s, budget_job_s;
  bool budget_caps;                 /* GPUs become slower if the budget does not suffice */
  double capped_s;                  /* time in which GPUs were slower because of the budget */
  struct hr_energy_line *by_pool;   /* pools with a known power, in the order of the cluster */
  struct hr_energy_line *by_tenant; /* in the order of the trace; empty in streamed runs */
  size_t n_pools, n_tenants;
};

/* Batteries of pools (headroom/power.h). */
struct hr_battery_metrics {
  bool known; /* false: no pool has a battery; the other members are then 0 */
  /* grid_kwh: energy that all pools with a known power take from the grid.
     charged_kwh, discharged_kwh: energy into and out of batteries.
     loss_kwh: the part of charged_kwh that was not stored.
     stored_kwh: energy in the batteries at the end of the run. */
  double grid_kwh, charged_kwh, discharged_kwh, loss_kwh, stored_kwh;
  bool price_known;
  double carbon_kg, energy_usd; /* change of carbon and price by the batteries; negative: they save */
};

/* Carbon, price of energy, and water of all pools, of all jobs, of a pool, or of the jobs of a tenant. */
struct hr_carbon_line {
  char *name;
  bool known, price_known, water_known, embodied_known; /* unknown figures are 0; `known`: operational_kg is known */
  double operational_kg;                                /* carbon of electricity, including the facility */
  /* carbon of the production of the hardware. Of pools: for the time in which nodes existed. Of jobs: for the time in
     which they used GPUs */
  double embodied_kg;
  double energy_usd, water_l;
};

/* Carbon (headroom/unstable/series.h) of pools with a known power. */
struct hr_carbon_metrics {
  bool known, price_known, water_known, embodied_known; /* known for at least one pool; unknown figures are 0 */
  bool any_energy;                                      /* the energy from the grid is above 0 */
  struct hr_carbon_line all, jobs;                      /* of all pools, and of all jobs */
  double g_per_kwh, usd_per_kwh;                        /* means over the energy from the grid; 0: unknown */
  double of_no_wait;                /* carbon of completed jobs / carbon of the same jobs without waits; 0: unknown */
  struct hr_carbon_line *by_pool;   /* in the order of the cluster */
  struct hr_carbon_line *by_tenant; /* in the order of the trace; empty in streamed runs */
  size_t n_pools, n_tenants;
};

/* A storage system, or a link in one direction. GB are 10^9 bytes. */
struct hr_data_line {
  char *name;         /* of a link: "FROM to TO" */
  double sent_gb;     /* data that was read from the storage system, or that the link transferred */
  double received_gb; /* copies and checkpoints that were written to the storage system; of a link: equal to sent_gb */
  double utilization; /* bytes / (bytes that the bandwidth permits during the run); 0: the bandwidth has no limit */
  int64_t uusd;       /* price of stored or transferred data */
};

/* Data with a location (headroom/unstable/data.h). GB are 10^9 bytes. */
struct hr_data_metrics {
  bool known; /* the scenario has `data`; otherwise the other members are 0 */
  /* allocated GPU time of jobs that could work, but waited for data; and its share of the allocated GPU time */
  double waiting_gpu_hours, waiting_share;
  double read_gb, cached_share;              /* data that jobs read, and the share of it that came from caches */
  double moved_gb, copied_gb, saved_gb;      /* data that links transferred; copies of data sets; checkpoints */
  int64_t storage_uusd, egress_uusd;         /* price of stored data, and of data that links transferred */
  struct hr_data_line *by_storage, *by_link; /* in the order of the scenario */
  size_t n_storage, n_links;
};

/* Fairness among the parties that share the cluster, over completed jobs. */
struct hr_fairness {
  const char *over; /* kind of the parties: "tenants"; "users" if the trace has no tenants; "jobs" if it has neither */
  uint64_t parties; /* number of parties with a completed job */
  /* Jain's index of the rates of the parties; 0 without parties. The rate of a party is the mean of
     (run time / completion time) over its jobs */
  double jain;
  /* finish-time fairness: completion time / completion time on an equal share of the cluster */
  struct hr_distribution finish_time;
  /* share of the jobs with a finish-time fairness above 1, which would have completed earlier on an equal share; 0
     without jobs */
  double share_above_1;
};

/* Idle GPUs that typical tasks cannot use, in per-GPU allocation. F, the fragmentation, is the expected part of the
   idle GPUs that a typical task cannot use. F and `stranded` are shares of the present GPUs. */
struct hr_fragmentation_metrics {
  bool known; /* false: counted allocation; the other members are then 0 */
  /* F: time-weighted mean over the submit window, time-weighted mean over the makespan, and maximum over all passes */
  double submit_window, makespan, max;
  /* idle GPUs of nodes on which no typical task fits because of CPU or memory; mean over the makespan */
  double stranded;
  /* size of the largest gang of one-GPU tasks that fits into a pool; mean over the makespan */
  double largest_gang_mean;
  uint64_t largest_gang_min; /* minimum of this size over all passes */
};

/* The metrics of a pool. They are computed only if the cluster has several pools. A job is counted in the pool of its
   last attempt. GPU time is counted in the pool in which it was allocated. */
struct hr_pool_metrics {
  char *name, *gpu; /* NULL if the pool has none */
  enum hr_sharing sharing;
  uint64_t completed; /* number of completed jobs */
  double gpu_hours;   /* allocated GPU time */
  double utilization; /* over the makespan; NAN if the pool never had a node */
  /* (time for which the job had GPUs) / (recorded run time), of completed jobs */
  struct hr_distribution latency_factor;
  int64_t cost_uusd;              /* HR_UNKNOWN_UUSD: the pool has no price */
  int64_t per_completed_job_uusd; /* HR_UNKNOWN_UUSD: the pool has no price or no completed job */
};

/* The jobs that the router sent to one of several clusters. */
struct hr_cluster_routing {
  char *name;              /* name of the cluster */
  uint64_t jobs, rejected; /* number of jobs that were sent to the cluster, and that it rejected */
  /* spilled_in: jobs of this cluster that have another cluster as home.
     spilled_out: jobs that have this cluster as home and were sent to another cluster. */
  uint64_t spilled_in, spilled_out;
  uint64_t *from;  /* [n_routing]: jobs of this cluster by home cluster; jobs without a home are not counted */
  uint64_t digest; /* digest of the events of the cluster, as if it were alone */
};

/* The metrics of a run. Durations are in seconds (`_s`). */
struct hr_summary {
  uint64_t jobs_submitted, jobs_completed, jobs_rejected, jobs_unfinished;
  uint64_t jobs_backfilled;
  uint64_t preemptions; /* number of times that the policy stopped a job without notice (HR_EVENT_PREEMPT) */
  uint64_t restarts;    /* number of starts that are not the first start of a job */
  uint64_t deadlines, missed_deadlines;       /* number of jobs with a deadline, and number of jobs that missed it */
  uint64_t outcome_failed, outcome_cancelled; /* number of completed jobs with this recorded outcome */
  struct hr_distribution wait_s, jct_s, slowdown;
  double makespan_s, submit_window_s;
  double utilization_submit_window, utilization_makespan;
  double queue_mean; /* mean number of waiting jobs */
  uint64_t queue_max;
  double gpu_hours;     /* allocated GPU time */
  uint64_t gpus, nodes; /* size of the cluster */
  uint64_t digest, n_events, n_passes;
  struct hr_group *by_tenant;      /* sorted by GPU hours, descending; empty if the trace has no tenants */
  struct hr_group *by_class;       /* empty if the trace has no classes */
  struct hr_group *by_size;        /* sorted by size, ascending */
  struct hr_pool_metrics *by_pool; /* in the order of the cluster; empty if the cluster has one pool */
  size_t n_tenants, n_classes, n_sizes, n_pools;
  bool stoppable; /* jobs could be stopped before their end; otherwise `goodput` and `spot` are not reported */
  struct hr_goodput goodput;
  struct hr_spot_metrics spot;
  struct hr_cost_summary *costs; /* NULL: the cluster has no prices */
  struct hr_fairness fairness;
  struct hr_fragmentation_metrics fragmentation;
  struct hr_oom_metrics oom;
  struct hr_elastic_metrics elastic;
  struct hr_fault_metrics faults;
  struct hr_maintenance_metrics maintenance;
  struct hr_scaling_metrics scaling;
  struct hr_energy_metrics energy;
  struct hr_battery_metrics battery;
  struct hr_carbon_metrics carbon;
  struct hr_data_metrics data;
  /* inference services in the order of the scenario (headroom/unstable/exports.h), and the figures of the requests of
     all services together; NULL: the scenario has no services */
  struct hr_service_summary *services, *all_services;
  size_t n_services;
  /* In a run with several clusters, both in the order of the scenario; otherwise empty. `by_cluster`: metrics of the
     jobs of each cluster that has jobs. `routing`: how many jobs the router sent to each cluster. */
  struct hr_group *by_cluster;
  struct hr_cluster_routing *routing;
  size_t n_clusters, n_routing;
};

/* Wall-clock durations in seconds and peak memory of the process in MiB, measured by the caller. */
struct hr_perf {
  double load_s, sim_s, peak_rss_mib;
};

/* The description of a run for the head of tables and JSON. Everything is borrowed. */
struct hr_run_label {
  const char *scenario, *trace, *format;
  const struct hr_cluster_spec *cluster;
  const struct hr_policy_choice *policy;
  uint64_t seed;
  const struct hr_notes *const *notes; /* [n_notes] lists of notes */
  size_t n_notes;
  const struct hr_skipped_rows *skipped; /* [n_skipped_reasons] */
  size_t n_skipped_reasons;
  const struct hr_alerts *alerts; /* NULL: alerts were not evaluated */
  int64_t clock_us; /* microseconds that output adds to times since the first submit (hr_trace_clock_us) */
  const struct hr_timeline_summary *timeline; /* shown in the table; NULL: not shown */
};

/* Computes the metrics of a run. `usage` must have observed the run. `basis` is the input for costs; NULL: no costs.
   The caller frees `*summary` with hr_summary_destroy. Returns HR_BAD_INPUT if costs exceed 4.6 trillion dollars. */
HR_API enum hr_status hr_summarize(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                   const struct hr_result *result, const struct hr_usage *usage,
                                   const struct hr_cost_basis *basis, struct hr_summary **summary,
                                   struct hr_error *error);
/* Computes the same summary as hr_summarize, except that the fairness metrics are 0. For callers with many runs, such
   as a plan: the fairness metrics take a large part of the time of a summary. */
HR_API enum hr_status hr_summarize_without_fairness(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                                    const struct hr_result *result, const struct hr_usage *usage,
                                                    const struct hr_cost_basis *basis, struct hr_summary **summary,
                                                    struct hr_error *error);
/* Frees a summary. NULL is accepted. */
HR_API void hr_summary_destroy(struct hr_summary *summary);

/* Adds a note for each of these problems of a run:
     - the run stalled, or jobs only preempted each other at its end (`stalled` and `n_futile` of struct hr_result);
     - the run stalled while jobs ran that had been killed because of exhausted GPU memory;
     - a budget or a quota is for a tenant that the trace does not have;
     - jobs were rejected: one note for each reason, except HR_REASON_WITHDRAWN and HR_REASON_KILLED;
     - nodes failed, and the trace has jobs that had failed when it was recorded.
   `quotas` may be NULL. */
HR_API enum hr_status hr_run_notes(const struct hr_trace *trace, const struct hr_cost_spec *costs,
                                   const struct hr_quota_spec *quotas, const struct hr_result *result,
                                   struct hr_notes *notes, struct hr_error *error);
/* Adds a note if a budget or a quota is for a tenant that the trace does not have. This is the only note of
   hr_run_notes that needs no run. `quotas` may be NULL. */
HR_API enum hr_status hr_tenant_notes(const struct hr_trace *trace, const struct hr_cost_spec *costs,
                                      const struct hr_quota_spec *quotas, struct hr_notes *notes,
                                      struct hr_error *error);
/* Adds a note if nodes of the cluster can fail and the trace has jobs that had failed when it was recorded. */
HR_API enum hr_status hr_recorded_failure_notes(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                                struct hr_notes *notes, struct hr_error *error);
/* Adds a note if the `pairs` of a pool contain models that no job of the trace has. */
HR_API enum hr_status hr_pair_notes(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                    struct hr_notes *notes, struct hr_error *error);
/* Adds a note if `speeds` has no row for the model of some jobs, and a note if some jobs have no model. These jobs use
   the default speed. `speeds` NULL: adds nothing. */
HR_API enum hr_status hr_speed_notes(const struct hr_trace *trace, const struct hr_speeds *speeds,
                                     struct hr_notes *notes, struct hr_error *error);

/* The capabilities of a terminal, as a set. */
enum { HR_STYLE_COLOUR = 1, HR_STYLE_UNICODE = 2 };

/* Prints the summary as tables, at most 80 columns wide. `style`: a set of HR_STYLE_COLOUR and HR_STYLE_UNICODE. */
HR_API enum hr_status hr_summary_print(FILE *out, const struct hr_summary *summary, const struct hr_run_label *label,
                                       const struct hr_perf *perf, unsigned style);
/* Writes the summary as JSON (docs/reference/schemas/summary.schema.json). `path` "-" is standard output. */
HR_API enum hr_status hr_summary_write_json(const char *path, const struct hr_summary *summary,
                                            const struct hr_run_label *label, const struct hr_perf *perf,
                                            struct hr_error *error);
/* Returns the summary as JSON text, which the caller frees with free(); NULL if memory is exhausted. */
HR_API char *hr_summary_json(const struct hr_summary *summary, const struct hr_run_label *label,
                             const struct hr_perf *perf);
/* Reads a JSON file that hr_summary_write_json has written. Sets `*json` to its text without white space between
   tokens, which the caller frees with free(). Returns HR_BAD_INPUT if the file is not a summary. */
HR_API enum hr_status hr_summary_read_json(const char *path, char **json, struct hr_error *error);

/* Writes the summary as Markdown, without wall-clock durations. `path` "-" is standard output. */
HR_API enum hr_status hr_summary_write_markdown(const char *path, const struct hr_summary *summary,
                                                const struct hr_run_label *label, struct hr_error *error);

/* Writes a CSV row for each job, in the order of the trace file. `path` "-" is standard output. `ledger` must have been
   created with `by_job`; it may be NULL. The columns depend on the run: columns for attempts and costs are present if
   `ledger` is not NULL or jobs could be interrupted. Other columns are present if jobs could be killed because of
   exhausted GPU memory, in per-GPU allocation, with several clusters, if power or carbon is known, and if jobs could be
   resized. */
HR_API enum hr_status hr_jobs_write(const char *path, const struct hr_trace *trace,
                                    const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                    const struct hr_placements *placements, const struct hr_ledger *ledger,
                                    struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
