/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_REPORT_H
#define HEADROOM_REPORT_H

/*
 * What a run comes to in dollars: the ledger's accounts of capacity, and beside them what else a cluster costs
 * (storage, egress, operations, downtime, savings plans), shown by market, pool, tenant, class and GPU type.
 *
 * Money is whole micro-dollars. Capacity is rounded once, as a whole, and its parts are apportioned to that by largest
 * remainder; every other line is rounded by itself. So each breakdown sums to the total to the last digit.
 * docs/planner/costs.md says what every figure means.
 */

#include "headroom/base.h"
#include "headroom/sim.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- What is charged beside capacity ---------------------------------------------------------------- */

/* Data is counted in MB of 10^6 bytes, 1000 to the GB. A month is HR_MONTH_US; parts of it cost parts of the price. */

struct hr_dataset {
  char *tenant; /* NULL: shared */
  uint64_t mb;
};

struct hr_storage_cost {
  int64_t uusd_per_gb_month;
  struct hr_dataset *datasets; /* kept throughout the run */
  size_t n_datasets;
  /* Jobs of classes that checkpoint keep their checkpoint from their first start until this long after their end. */
  int64_t checkpoint_retention_us;
};

struct hr_egress_cost {
  int64_t uusd_per_gb;
  uint64_t mb_per_gpu_hour[HR_N_CLASSES]; /* of GPUs held */
  uint64_t mb_per_job[HR_N_CLASSES];      /* when it completes */
};

struct hr_operations_cost {
  int64_t uusd_per_month;
  int64_t uusd_per_node_month; /* of nodes that are there, booting ones too */
};

struct hr_downtime_cost {
  int64_t uusd_per_gpu_hour; /* of GPUs that jobs wait for and that the spot market withholds */
  int64_t uusd_per_missed_deadline;
};

/* How what no tenant used is shown to tenants: not at all, by what each pays for GPUs in the month, or the same to all
   tenants that used GPUs in the month. Idle and shared lines alike. */
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
HR_API const char *hr_idle_split_name(enum hr_idle_split split);

struct hr_budget {
  char *tenant;
  int64_t uusd_per_month;
};

/* A fixed fee per hour for the whole run. At each instant it covers on-demand nodes, at their price less the discount,
   up to the fee; what no plan covers is paid at its price. Plans with larger discounts cover first. */
struct hr_savings_plan {
  int64_t uusd_per_h;
  uint32_t discount_ppm; /* below 1,000,000 */
  char **pools, **gpus;  /* on-demand pools by name, or by GPU type; neither: all */
  size_t n_pools, n_gpus;
};

/* The scenario's `costs`; all zero charges nothing. Strings and arrays are from malloc. */
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
HR_API void hr_cost_spec_finish(struct hr_cost_spec *spec);

/* ---- What is followed during the run ---------------------------------------------------------------- */

/* What the ledger does not keep: nodes over time, what savings plans cover, what the spot market withholds. `trace`,
   `cluster` and `spec` (NULL: nothing beside capacity is charged) must outlive it. NULL when out of memory. */
struct hr_meter;
HR_API struct hr_meter *hr_meter_create(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                        const struct hr_cost_spec *spec);
HR_API void hr_meter_destroy(struct hr_meter *meter);
HR_API struct hr_observer hr_meter_observer(struct hr_meter *meter);

/* ---- What comes of it ------------------------------------------------------------------------------- */

struct hr_cost_line {
  char *name;
  int64_t uusd;
};
struct hr_cost_lines {
  struct hr_cost_line *line;
  size_t count;
};

/* What a tenant is shown for a month of the run, counted from 0. */
struct hr_statement {
  char *tenant; /* "": jobs without a tenant */
  uint32_t month;
  int64_t training_uusd;  /* training, fine-tune, data-prep */
  int64_t inference_uusd; /* inference, batch-inference */
  int64_t other_uusd;     /* interactive, and jobs without a class */
  int64_t storage_uusd, egress_uusd, downtime_uusd;
  int64_t shared_uusd, idle_uusd; /* its part by hr_idle_split */
  int64_t total_uusd;
};

struct hr_budget_line {
  char *tenant;
  uint32_t month;
  int64_t budget_uusd, spent_uusd; /* spent: the statement's total */
  bool over;
};

/* A row of the table of costs: what a tenant, or idleness, or a shared line comes to. */
struct hr_cost_row {
  char *tenant; /* "": jobs without a tenant */
  char *market, *gpu;
  hr_amount gpu_time; /* milli-GPU x microseconds */
  int64_t uusd;
};

#define HR_UNKNOWN_UUSD INT64_MIN /* a sum of money that cannot be told */

struct hr_cost_summary {
  int64_t total_uusd;
  int64_t capacity_uusd; /* of it, what the pools cost at their prices */
  int64_t idle_uusd;     /* of that, what no job used */
  int64_t shared_uusd;   /* of the total, lines of no tenant; what savings plans save is less than 0 */
  int64_t all_on_demand_uusd, per_completed_job_uusd, per_goodput_gpu_hour_uusd, per_month_uusd; /* or unknown */
  int64_t monthly_uusd;       /* what a month of such demand costs in the long run; or unknown */
  double saving_vs_on_demand; /* a share; NAN: unknown */
  /* Each sums to the total. Names in parentheses hold what belongs to none of the others: "(idle)", "(shared)",
     "(services)". */
  struct hr_cost_lines by_market, by_pool, by_tenant, by_class, by_gpu;
  struct hr_statement *statements; /* by tenant and month */
  size_t n_statements;
  struct hr_budget_line *budgets;
  size_t n_budgets;
  struct hr_cost_row *rows; /* likewise sum to the total */
  size_t n_rows;
};

/* What a run's costs are made of; all borrowed. The ledger is closed. */
struct hr_cost_basis {
  const struct hr_ledger *ledger;
  struct hr_meter *meter;
  const struct hr_cost_spec *spec;     /* NULL: capacity alone */
  const struct hr_class_spec *classes; /* [HR_N_CLASSES], as the run had them; NULL: nothing checkpoints */
};

/* One CSV row per tenant, market and GPU type, one per idle market and GPU type, one per shared line: tenant, market,
   gpu, gpu_hours, cost_usd. `path` "-" is standard output. */
HR_API enum hr_status hr_costs_write(const char *path, const struct hr_cost_summary *costs, struct hr_error *error);

/*
 * Rules as an operator's monitoring has them, evaluated in simulated time: when something was amiss, where and for how
 * long. A fold; docs/planner/alerts.md says each rule at length.
 */

/* Names as a person types them, as scenarios have them, and what they say. */
#define HR_ALERT_TABLE(X)                                                                                              \
  X(HR_ALERT_UNDERUSED, "gpus-underused", "gpus_underused")                                                            \
  X(HR_ALERT_SATURATED, "gpus-saturated", "gpus_saturated")                                                            \
  X(HR_ALERT_RECLAIMS, "spot-reclaims", "spot_reclaims")                                                               \
  X(HR_ALERT_UNSAVED, "no-checkpoint", "no_checkpoint")                                                                \
  X(HR_ALERT_WAITING, "queue-time", "queue_time")                                                                      \
  X(HR_ALERT_BUDGET, "over-budget", "over_budget")

enum hr_alert_rule {
#define HR_ALERT_NAME(name, text, key) name,
  HR_ALERT_TABLE(HR_ALERT_NAME)
#undef HR_ALERT_NAME
      HR_N_ALERTS
};
HR_API const char *hr_alert_name(enum hr_alert_rule rule);

/* When each rule fires. Defaults: utilization under 20 % for an hour, over 95 % for 30 minutes; over 20 % of a spot
   pool's nodes reclaimed within 24 hours; work of 2 hours in no checkpoint; waits of 5 minutes (inference), 15
   (interactive) and a day (all others); budgets passed. */
struct hr_alert_rules {
  bool is_off[HR_N_ALERTS];
  double underused_below, saturated_above; /* GPUs allocated / GPUs of a pool, until the last submit */
  int64_t underused_for_us, saturated_for_us;
  double reclaims_above; /* nodes reclaimed / nodes that were up within the window */
  int64_t reclaims_within_us;
  int64_t unsaved_us;
  int64_t waiting_us[HR_N_CLASSES];
  double budget_above; /* spent / budget of a month */
};
HR_API void hr_alert_rules_init(struct hr_alert_rules *rules);

/* Something that was amiss for a while. */
struct hr_alert {
  enum hr_alert_rule rule;
  const char *where;        /* a pool, a class or a tenant; "" is what has no name */
  int64_t begin_us, end_us; /* end: of the condition, or of the run */
  double value;             /* mean utilization; highest share reclaimed; most jobs at once; spent / budget */
  uint64_t count;           /* nodes reclaimed, jobs that were late; else 0 */
};

/* What a run's alerts need to know; all borrowed, and must outlive them. */
struct hr_alerts_config {
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_alert_rules *rules;
  const struct hr_cost_spec *costs;    /* for budgets; may be NULL */
  const struct hr_class_spec *classes; /* [HR_N_CLASSES], as the run has them; may be NULL */
};

struct hr_alerts;
/* NULL when out of memory. */
HR_API struct hr_alerts *hr_alerts_create(const struct hr_alerts_config *config);
HR_API void hr_alerts_destroy(struct hr_alerts *alerts);
/* To be given to a run, once. */
HR_API struct hr_observer hr_alerts_observer(struct hr_alerts *alerts);
/* Ends what is still amiss at the run's end. `costs`: of the same run, for budgets; may be NULL. HR_NO_MEMORY if
   something was lost. To be done once, before they are asked for. */
HR_API enum hr_status hr_alerts_close(struct hr_alerts *alerts, const struct hr_result *result,
                                      const struct hr_cost_summary *costs);
/* After the close, by rule, then by where and time; owned by the alerts. */
HR_API size_t hr_alerts_list(const struct hr_alerts *alerts, const struct hr_alert **list);

/*
 * Numbers folded from a run, and what is written from them.
 *
 * Definitions. wait = first start - submit, over jobs that started. jct (completion time) = end - submit, over jobs
 * that completed. slowdown = max(1, jct / max(run time, 10 s)), the bounded slowdown (Feitelson), over jobs that
 * completed. Quantiles interpolate linearly between order statistics (GSL's, numpy's default). makespan = last end
 * - first submit, or the run's last instant where a horizon left jobs over. Utilization = GPU time allocated / GPU
 * time there is, over the submit window (first to last submit) and over the makespan. queue = waiting jobs after each
 * pass: its time-weighted mean over the makespan, and its maximum. docs/reference/metrics.md says it at length.
 */

/* ---- Folds ------------------------------------------------------------------------------------------ */

/* Integrals over time of waiting jobs, allocated GPUs and GPUs that are there, of these two also by pool where there
   are several; in runs that tell GPUs apart (hr_cluster_gpu_inventory), of fragments, too. For one run. */
struct hr_usage;
HR_API struct hr_usage *hr_usage_create(const struct hr_trace *trace);
HR_API void hr_usage_destroy(struct hr_usage *usage);
HR_API struct hr_observer hr_usage_observer(struct hr_usage *usage);

/* Counts the GPU time of jobs on several GPUs that a network joins, and what of it `speeds` has no figure for. NULL
   when out of memory; all that is given must outlive it. */
struct hr_links;
HR_API struct hr_links *hr_links_create(const struct hr_trace *trace, const struct hr_network_speeds *speeds);
HR_API void hr_links_destroy(struct hr_links *links);
HR_API struct hr_observer hr_links_observer(struct hr_links *links);
/* Says which share has none, and whose; nothing where all has. Jobs that have ended, or were stopped, count. */
HR_API enum hr_status hr_links_notes(const struct hr_links *links, struct hr_notes *notes, struct hr_error *error);

/* Remembers every job's last placement, for hr_jobs_write. NULL when out of memory. */
struct hr_placements;
HR_API struct hr_placements *hr_placements_create(const struct hr_trace *trace);
HR_API void hr_placements_destroy(struct hr_placements *placements);
HR_API struct hr_observer hr_placements_observer(struct hr_placements *placements);

/* Writes a row whenever a count changed: time_s, waiting, running, gpus_allocated, gpus_total; fragmented_gpus,
   stranded_gpus, largest_gang, which are empty unless `usage`, which may be NULL, is told of the same run before it and
   GPUs are told apart. The file appears under its name when hr_timeline_finish succeeds, and not before. */
struct hr_timeline;
HR_API enum hr_status hr_timeline_create(const char *path, const struct hr_trace *trace, const struct hr_usage *usage,
                                         struct hr_timeline **timeline, struct hr_error *error);
HR_API struct hr_observer hr_timeline_observer(struct hr_timeline *timeline);
HR_API enum hr_status hr_timeline_finish(struct hr_timeline *timeline, struct hr_error *error);
HR_API void hr_timeline_destroy(struct hr_timeline *timeline);

/* How many GPUs were allocated and how many jobs waited over the time of the run, for a line each of the table; takes
   little memory, however long the run is. For one run; NULL when out of memory. To be closed when it is over. */
struct hr_timeline_summary;
HR_API struct hr_timeline_summary *hr_timeline_summary_create(void);
HR_API void hr_timeline_summary_destroy(struct hr_timeline_summary *course);
HR_API struct hr_observer hr_timeline_summary_observer(struct hr_timeline_summary *course);
HR_API void hr_timeline_summary_close(struct hr_timeline_summary *course, const struct hr_result *result);

/* ---- Summary ---------------------------------------------------------------------------------------- */

struct hr_distribution {
  uint64_t count;
  double mean, p50, p90, p95, p99, max; /* 0 when count is 0 */
};

struct hr_group {
  char *name;
  uint64_t jobs, completed;
  uint64_t deadlines, missed_deadlines; /* jobs that have one, and of them those not done by it */
  double gpu_hours;                     /* GPUs x the time that jobs held them */
  double useful_gpu_hours;              /* of that, work that was kept */
  struct hr_distribution wait_s, jct_s, slowdown;
};

/* What became of the GPU time that jobs held. */
struct hr_goodput {
  double useful_gpu_hours, lost_gpu_hours, checkpoint_gpu_hours, restart_gpu_hours; /* sum to what was held */
  double fraction;                                                                  /* useful / held; 0 of nothing */
};

/* What spot pools did. */
struct hr_spot_figures {
  uint32_t pools; /* that have nodes */
  uint64_t reclaims, jobs_interrupted;
  double node_hours, gpu_hours; /* that nodes were paid for */
  double reclaims_per_node_hour;
  double availability; /* nodes that were there or could be had / nodes of the pools, over the run */
};

/* Jobs that died for want of GPU memory, where that is first come, first served. */
struct hr_oom_figures {
  bool known;                /* false: there is no such pool, and all of this is 0 */
  uint64_t kills, jobs;      /* jobs: that died at least once */
  double back_off_gpu_hours; /* of those to restart: held by jobs that had died and not yet come up */
};

/* How evenly those who share the cluster were served, over jobs that completed. */
struct hr_fairness {
  const char *over; /* who they are: "tenants", or "users" where the trace has no tenants, else "jobs" */
  uint64_t parties; /* of them, those with a completed job */
  double jain;      /* Jain's index of their mean run time / completion time; 0 of nothing */
  struct hr_distribution finish_time; /* completion time / that on an equal share of the cluster */
  double share_above_1;               /* jobs that would have done better on their share; 0 of nothing */
};

/* What was idle and of little use, in runs that tell GPUs apart. F, the expected part of the idle GPUs that a task
   drawn from the typical ones could not use, and what is stranded are shares of the GPUs that were there. */
struct hr_fragmentation_figures {
  bool known;                          /* false: GPUs are not told apart, and all of this is 0 */
  double submit_window, makespan, max; /* F: means over time, and the most after any pass */
  double stranded;                     /* over the makespan: idle where CPU or memory keeps all typical tasks out */
  double largest_gang_mean;            /* over the makespan: tasks of a whole GPU each that one pool had room for */
  uint64_t largest_gang_min;           /* after any pass */
};

/* A pool, where there are several. A job counts where it ran last; GPU time where it was held. */
struct hr_pool_figures {
  char *name, *gpu; /* NULL where the pool has none */
  enum hr_sharing sharing;
  uint64_t completed;
  double gpu_hours;                      /* GPUs x the time that jobs held them */
  double utilization;                    /* over the makespan; NAN where it was never there */
  struct hr_distribution latency_factor; /* of completed jobs: time that it held GPUs / recorded run time */
  int64_t cost_uusd;                     /* HR_UNKNOWN_UUSD: it has no price */
  int64_t per_completed_job_uusd;        /* likewise, and of no job */
};

struct hr_summary {
  uint64_t jobs_submitted, jobs_completed, jobs_rejected, jobs_unfinished;
  uint64_t jobs_backfilled;
  uint64_t deadlines, missed_deadlines;       /* jobs that have one, and of them those not done by it */
  uint64_t outcome_failed, outcome_cancelled; /* of the completed: how the trace says that they ended */
  struct hr_distribution wait_s, jct_s, slowdown;
  double makespan_s, submit_window_s;
  double utilization_submit_window, utilization_makespan;
  double queue_mean;
  uint64_t queue_max;
  double gpu_hours;
  uint64_t gpus, nodes;
  uint64_t digest, n_events, n_passes;
  struct hr_group *by_tenant;      /* by GPU hours, most first */
  struct hr_group *by_class;       /* none where the trace has no classes */
  struct hr_group *by_size;        /* from small to large */
  struct hr_pool_figures *by_pool; /* as the cluster has them; none where that has one pool */
  size_t n_tenants, n_classes, n_sizes, n_pools;
  bool stoppable; /* jobs could be stopped before their end: the two below tell something */
  struct hr_goodput goodput;
  struct hr_spot_figures spot;
  struct hr_cost_summary *costs; /* NULL: nothing has a price */
  struct hr_fairness fairness;
  struct hr_fragmentation_figures fragmentation;
  struct hr_oom_figures oom;
};

/* How long things took on the wall clock; measured by the caller. */
struct hr_perf {
  double load_s, sim_s, peak_rss_mib;
};

/* What was run, for the head of the table and of the JSON. All borrowed. */
struct hr_run_label {
  const char *scenario, *trace, *format;
  const struct hr_cluster_spec *cluster;
  const struct hr_policy_choice *policy;
  uint64_t seed;
  const struct hr_notes *const *notes; /* n_notes lists */
  size_t n_notes;
  const struct hr_skipped_rows *skipped;
  size_t n_skipped_reasons;
  const struct hr_alerts *alerts;           /* NULL: they were not looked for */
  int64_t clock_us;                         /* added to times since the first submit to show them in files */
  const struct hr_timeline_summary *course; /* for the table; NULL: it does not draw it */
};

/* `basis`: what costs are made of; NULL: none are told. HR_BAD_INPUT when they pass what dollars may come to. */
HR_API enum hr_status hr_summarize(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                   const struct hr_result *result, const struct hr_usage *usage,
                                   const struct hr_cost_basis *basis, struct hr_summary **summary,
                                   struct hr_error *error);
HR_API void hr_summary_destroy(struct hr_summary *summary);

/* Adds what a person should know of how the run went: that it was given up, that a budget or quota is nobody's, that
   jobs can never run. `quotas` may be NULL. */
HR_API enum hr_status hr_run_notes(const struct hr_trace *trace, const struct hr_cost_spec *costs,
                                   const struct hr_quota_spec *quotas, const struct hr_result *result,
                                   struct hr_notes *notes, struct hr_error *error);
/* Models that pairs of a pool's neighbours speak of, and no job is of. */
HR_API enum hr_status hr_pair_notes(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                    struct hr_notes *notes, struct hr_error *error);
/* Jobs that go by the default speeds, where models have speeds; `speeds` may be NULL. */
HR_API enum hr_status hr_speed_notes(const struct hr_trace *trace, const struct hr_speeds *speeds,
                                     struct hr_notes *notes, struct hr_error *error);

/* What a terminal can show. */
enum { HR_STYLE_COLOUR = 1, HR_STYLE_UNICODE = 2 };

/* The table for a person, at most 80 columns wide. `style`: of the above, what to make use of. */
HR_API enum hr_status hr_summary_print(FILE *out, const struct hr_summary *summary, const struct hr_run_label *label,
                                       const struct hr_perf *perf, unsigned style);
/* The summary as JSON (docs/reference/schemas/summary.schema.json). `path` "-" is standard output. */
HR_API enum hr_status hr_summary_write_json(const char *path, const struct hr_summary *summary,
                                            const struct hr_run_label *label, const struct hr_perf *perf,
                                            struct hr_error *error);
/* Likewise as text, which the caller frees; NULL when out of memory. */
HR_API char *hr_summary_json(const struct hr_summary *summary, const struct hr_run_label *label,
                             const struct hr_perf *perf);
/* The text of such a file, which the caller frees, looked at: HR_BAD_INPUT where it is another file. */
HR_API enum hr_status hr_summary_read_json(const char *path, char **json, struct hr_error *error);

/* The summary as a page of Markdown, without what the wall clock says. `path` "-" is standard output. */
HR_API enum hr_status hr_summary_write_markdown(const char *path, const struct hr_summary *summary,
                                                const struct hr_run_label *label, struct hr_error *error);

/* One row per trace row in the file's order. `path` "-" is standard output. `ledger`, which knows each job's cost, may
   be NULL; where it is given or jobs could be interrupted, rows have columns for that, and one more where jobs could
   find too little GPU memory. */
HR_API enum hr_status hr_jobs_write(const char *path, const struct hr_trace *trace,
                                    const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                    const struct hr_placements *placements, const struct hr_ledger *ledger,
                                    struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
