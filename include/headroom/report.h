/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_REPORT_H
#define HEADROOM_REPORT_H

/*
 * Results of runs: costs, alerts, metrics, summaries and their files.
 *
 * Costs: the ledger's accounts of capacity, and what else a cluster costs (storage, egress, operations, downtime,
 * savings plans), by market, pool, tenant, class and GPU type. Money is integer micro-dollars. Capacity is rounded
 * once, as a whole, and its parts are apportioned by largest remainder; every other line is rounded by itself. So each
 * breakdown sums to the total to the last digit. docs/planner/costs.md defines all figures.
 *
 * Observers (meter, alerts, usage, links, placements, timeline) have the same life cycle: create one, pass its observer
 * to one run, call its close function if it has one, read the results, destroy it.
 */

#include "headroom/base.h"
#include "headroom/sim.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Costs beyond capacity ---- */

/* Data is counted in MB of 10^6 bytes, 1000 per GB. A month is HR_MONTH_US; parts of it cost parts of the price. */

struct hr_dataset {
  char *tenant; /* NULL: shared */
  uint64_t mb;
};

struct hr_storage_cost {
  int64_t uusd_per_gb_month;
  struct hr_dataset *datasets; /* stored throughout the run */
  size_t n_datasets;
  /* Jobs of classes with checkpoints store one from their first start until this long after their end. */
  int64_t checkpoint_retention_us;
};

struct hr_egress_cost {
  int64_t uusd_per_gb;
  uint64_t mb_per_gpu_hour[HR_N_CLASSES]; /* of GPU time held */
  uint64_t mb_per_job[HR_N_CLASSES];      /* at completion */
};

struct hr_operations_cost {
  int64_t uusd_per_month;
  int64_t uusd_per_node_month; /* of nodes that are present, including booting ones */
};

struct hr_downtime_cost {
  int64_t uusd_per_gpu_hour; /* of GPUs that jobs wait for and that the spot market withholds */
  int64_t uusd_per_missed_deadline;
};

/* How idle and shared cost is shown to tenants: not at all, in proportion to what each pays for GPUs in the month,
   or equally among tenants that used GPUs in the month. */
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

struct hr_budget {
  char *tenant;
  int64_t uusd_per_month;
};

/* A fixed fee per hour for the whole run. At each instant it covers on-demand nodes, at their price less the
   discount, up to the fee; the rest is paid at its price. Plans with larger discounts cover first. */
struct hr_savings_plan {
  int64_t uusd_per_h;
  uint32_t discount_ppm; /* below 1,000,000 */
  char **pools, **gpus;  /* on-demand pools by name or by GPU type; neither: all */
  size_t n_pools, n_gpus;
};

/* The `costs` of a scenario; all zero has no costs beyond capacity. Strings and arrays are from malloc. */
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

/* Frees the strings and arrays. */
HR_API void hr_cost_spec_finish(struct hr_cost_spec *spec);

/* ---- Meter ---- */

/* An observer of what the ledger does not record: nodes over time, what savings plans cover, what the spot market
   withholds. `trace`, `cluster` and `spec` (NULL: no costs beyond capacity) must outlive it. NULL if memory is
   exhausted. */
struct hr_meter;
HR_API struct hr_meter *hr_meter_create(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                        const struct hr_cost_spec *spec);
HR_API void hr_meter_destroy(struct hr_meter *meter);
HR_API struct hr_observer hr_meter_observer(struct hr_meter *meter);

/* ---- Cost summary ---- */

struct hr_cost_line {
  char *name;
  int64_t uusd;
};
struct hr_cost_lines {
  struct hr_cost_line *line;
  size_t count;
};

/* The costs of a tenant in a month of the run, counted from 0. */
struct hr_statement {
  char *tenant; /* "": jobs without a tenant */
  uint32_t month;
  int64_t training_uusd;  /* classes training, fine-tune, data-prep */
  int64_t inference_uusd; /* classes inference, batch-inference */
  int64_t other_uusd;     /* class interactive, and jobs without a class */
  int64_t storage_uusd, egress_uusd, downtime_uusd;
  int64_t shared_uusd, idle_uusd; /* its part, by hr_idle_split */
  int64_t total_uusd;
};

struct hr_budget_line {
  char *tenant;
  uint32_t month;
  int64_t budget_uusd, spent_uusd; /* spent: the total of the statement */
  bool over;
};

/* A row of the table of costs: a tenant, idle capacity or a shared line. */
struct hr_cost_row {
  char *tenant; /* "": jobs without a tenant */
  char *market, *gpu;
  hr_amount gpu_time; /* milli-GPU x microseconds */
  int64_t uusd;
};

#define HR_UNKNOWN_UUSD INT64_MIN /* an unknown amount */

struct hr_cost_summary {
  int64_t total_uusd;
  int64_t capacity_uusd; /* part of the total: cost of the pools at their prices */
  int64_t idle_uusd;     /* part of capacity: not used by any job */
  int64_t shared_uusd;   /* part of the total: lines without a tenant; savings of savings plans are negative */
  /* HR_UNKNOWN_UUSD if unknown */
  int64_t all_on_demand_uusd, per_completed_job_uusd, per_goodput_gpu_hour_uusd, per_month_uusd;
  int64_t monthly_uusd;       /* long-run cost of a month with this demand; HR_UNKNOWN_UUSD if unknown */
  double saving_vs_on_demand; /* a share; NAN: unknown */
  /* Breakdowns; each sums to the total. Names in parentheses are for what belongs to no other line: "(idle)",
     "(shared)", "(services)". */
  struct hr_cost_lines by_market, by_pool, by_tenant, by_class, by_gpu;
  struct hr_statement *statements; /* by tenant and month */
  size_t n_statements;
  struct hr_budget_line *budgets;
  size_t n_budgets;
  struct hr_cost_row *rows; /* sum to the total */
  size_t n_rows;
};

/* What the costs of a run are computed from; borrowed. The ledger must be closed. */
struct hr_cost_basis {
  const struct hr_ledger *ledger;
  struct hr_meter *meter;
  const struct hr_cost_spec *spec;     /* NULL: capacity only */
  const struct hr_class_spec *classes; /* [HR_N_CLASSES], as in the run; NULL: no checkpoints */
};

/* Writes a CSV row per tenant, market and GPU type, one per idle market and GPU type, and one per shared line:
   tenant, market, gpu, gpu_hours, cost_usd. `path` "-" is standard output. HR_IO_ERROR, HR_BAD_INPUT. */
HR_API enum hr_status hr_costs_write(const char *path, const struct hr_cost_summary *costs, struct hr_error *error);

/*
 * ---- Alerts ----
 *
 * Rules as in an operator's monitoring, evaluated in simulated time: which condition held, where, and for how long.
 * docs/planner/alerts.md defines the rules.
 */

/* Rule, name as users type it, key in scenarios. */
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

/* The name of a rule as users type it. */
HR_API const char *hr_alert_name(enum hr_alert_rule rule);

/* The thresholds of the rules. Defaults: utilization below 20 % for an hour, above 95 % for 30 minutes; more than 20
   % of a spot pool's nodes reclaimed within 24 hours; 2 hours of work without a checkpoint; waits of 5 minutes
   (inference), 15 minutes (interactive) and a day (others); budgets exceeded. */
struct hr_alert_rules {
  bool is_off[HR_N_ALERTS];
  double underused_below, saturated_above; /* GPUs allocated / GPUs of a pool, until the last submit */
  int64_t underused_for_us, saturated_for_us;
  double reclaims_above; /* nodes reclaimed / nodes that were up, within the window */
  int64_t reclaims_within_us;
  int64_t unsaved_us;
  int64_t waiting_us[HR_N_CLASSES];
  double budget_above; /* spent / budget of a month */
};

/* Sets the defaults. */
HR_API void hr_alert_rules_init(struct hr_alert_rules *rules);

/* An occurrence of a condition. */
struct hr_alert {
  enum hr_alert_rule rule;
  const char *where;        /* a pool, a class or a tenant; "": without a name */
  int64_t begin_us, end_us; /* end of the condition, or of the run */
  double value;             /* mean utilization; highest share reclaimed; maximum number of jobs; spent / budget */
  uint64_t count;           /* nodes reclaimed, or jobs that waited too long; else 0 */
};

/* Input of the alerts; borrowed, and must outlive them. */
struct hr_alerts_config {
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_alert_rules *rules;
  const struct hr_cost_spec *costs;    /* for budgets; may be NULL */
  const struct hr_class_spec *classes; /* [HR_N_CLASSES], as in the run; may be NULL */
};

struct hr_alerts;
/* Creates alerts for one run. NULL if memory is exhausted. */
HR_API struct hr_alerts *hr_alerts_create(const struct hr_alerts_config *config);
HR_API void hr_alerts_destroy(struct hr_alerts *alerts);
/* The observer of the alerts, to be passed to one run. */
HR_API struct hr_observer hr_alerts_observer(struct hr_alerts *alerts);
/* Ends the conditions that still hold at the end of the run. Must be called once, before hr_alerts_list. `costs`: of
   the same run, for budgets; may be NULL. HR_NO_MEMORY if an occurrence was lost. */
HR_API enum hr_status hr_alerts_close(struct hr_alerts *alerts, const struct hr_result *result,
                                      const struct hr_cost_summary *costs);
/* The occurrences, by rule, place and time. They belong to the alerts. */
HR_API size_t hr_alerts_list(const struct hr_alerts *alerts, const struct hr_alert **list);

/*
 * ---- Metrics ----
 *
 * wait = first start - submit, of jobs that started. jct (completion time) = end - submit, of jobs that completed.
 * slowdown = max(1, jct / max(run time, 10 s)), the bounded slowdown (Feitelson), of jobs that completed. Quantiles
 * interpolate linearly between order statistics (the default of GSL and numpy). makespan = last end - first submit, or
 * the last instant of the run if a horizon left jobs unfinished. Utilization = GPU time allocated / GPU time available,
 * over the submit window (first to last submit) and over the makespan. queue = waiting jobs after each pass:
 * time-weighted mean over the makespan, and maximum. docs/reference/metrics.md has the full definitions.
 */

/* ---- Observers ---- */

/* Integrals over time of waiting jobs, allocated GPUs and present GPUs, the latter two also by pool if there are
   several; in per-GPU allocation (hr_cluster_gpu_inventory), also of fragmentation. */
struct hr_usage;
HR_API struct hr_usage *hr_usage_create(const struct hr_trace *trace);
HR_API void hr_usage_destroy(struct hr_usage *usage);
HR_API struct hr_observer hr_usage_observer(struct hr_usage *usage);

/* GPU time of jobs with GPUs joined by a network, and the part of it for which `speeds` has no figure. The
   arguments must outlive it. NULL if memory is exhausted. */
struct hr_links;
HR_API struct hr_links *hr_links_create(const struct hr_trace *trace, const struct hr_network_speeds *speeds);
HR_API void hr_links_destroy(struct hr_links *links);
HR_API struct hr_observer hr_links_observer(struct hr_links *links);
/* Adds a note on the share without a figure and its models, unless it is 0. Counts jobs that have ended or were
   stopped. */
HR_API enum hr_status hr_links_notes(const struct hr_links *links, struct hr_notes *notes, struct hr_error *error);

/* Records the last placement of each job, for hr_jobs_write. NULL if memory is exhausted. */
struct hr_placements;
HR_API struct hr_placements *hr_placements_create(const struct hr_trace *trace);
HR_API void hr_placements_destroy(struct hr_placements *placements);
HR_API struct hr_observer hr_placements_observer(struct hr_placements *placements);

/* Writes a CSV row whenever a count changes: time_s, waiting, running, gpus_allocated, gpus_total, fragmented_gpus,
   stranded_gpus, largest_gang. The last three are empty unless `usage` (may be NULL) observes the same run before
   it, in per-GPU allocation. The file appears under its name when hr_timeline_finish succeeds. */
struct hr_timeline;
HR_API enum hr_status hr_timeline_create(const char *path, const struct hr_trace *trace, const struct hr_usage *usage,
                                         struct hr_timeline **timeline, struct hr_error *error);
HR_API struct hr_observer hr_timeline_observer(struct hr_timeline *timeline);
HR_API enum hr_status hr_timeline_finish(struct hr_timeline *timeline, struct hr_error *error);
HR_API void hr_timeline_destroy(struct hr_timeline *timeline);

/* GPUs allocated and jobs waiting over the time of a run, for the lines in tables. Uses constant memory. NULL if
   memory is exhausted. Close it at the end of the run. */
struct hr_timeline_summary;
HR_API struct hr_timeline_summary *hr_timeline_summary_create(void);
HR_API void hr_timeline_summary_destroy(struct hr_timeline_summary *timeline);
HR_API struct hr_observer hr_timeline_summary_observer(struct hr_timeline_summary *timeline);
HR_API void hr_timeline_summary_close(struct hr_timeline_summary *timeline, const struct hr_result *result);

/* ---- Summary ---- */

struct hr_distribution {
  uint64_t count;
  double mean, p50, p90, p95, p99, max; /* 0 if count is 0 */
};

struct hr_group {
  char *name;
  uint64_t jobs, completed;
  uint64_t deadlines, missed_deadlines; /* jobs with a deadline, and those of them that missed it */
  double gpu_hours;                     /* GPUs x time held */
  double useful_gpu_hours;              /* the part of it that was work that was kept */
  struct hr_distribution wait_s, jct_s, slowdown;
};

/* The GPU time that jobs held, by use. */
struct hr_goodput {
  double useful_gpu_hours, lost_gpu_hours, checkpoint_gpu_hours, restart_gpu_hours; /* sum to the time held */
  /* useful / held; 0 if nothing was held */
  double fraction;
};

/* Spot pools. */
struct hr_spot_figures {
  uint32_t pools; /* that have nodes */
  uint64_t reclaims, jobs_interrupted;
  double node_hours, gpu_hours; /* that were billed */
  double reclaims_per_node_hour;
  double availability; /* nodes that were up or available / nodes of the pools, over the run */
};

/* Jobs killed for lack of GPU memory that is first come, first served. */
struct hr_oom_figures {
  bool known;                /* false: no such pool exists, and the other members are 0 */
  uint64_t kills, jobs;      /* jobs: with at least one kill */
  double back_off_gpu_hours; /* part of the restart time: held by jobs that were killed and had not tried again */
};

/* Fairness among the tenants that share the cluster, over completed jobs. */
struct hr_fairness {
  const char *over; /* the parties: "tenants"; "users" if the trace has no tenants; else "jobs" */
  uint64_t parties; /* parties with a completed job */
  double jain;      /* Jain's index of their mean run time / completion time; 0 without any */
  /* finish-time fairness: completion time / completion time on an equal share of the cluster */
  struct hr_distribution finish_time;
  /* share of jobs that would have completed earlier on their equal share; 0 without any */
  double share_above_1;
};

/* Idle GPUs that are of little use, in per-GPU allocation. F is the expected part of the idle GPUs that a typical
   task cannot use; F and `stranded` are shares of the GPUs present. */
struct hr_fragmentation_figures {
  bool known;                          /* false: counted allocation, and the other members are 0 */
  double submit_window, makespan, max; /* F: means over time, and the maximum after any pass */
  double stranded;                     /* over the makespan: idle where no typical task fits because of CPU or memory */
  /* over the makespan: the largest gang of one-GPU tasks for which a pool had room */
  double largest_gang_mean;
  uint64_t largest_gang_min; /* minimum after any pass */
};

/* A pool, if there are several. A job counts in the pool of its last attempt; GPU time where it was held. */
struct hr_pool_figures {
  char *name, *gpu; /* NULL if the pool has none */
  enum hr_sharing sharing;
  uint64_t completed;
  double gpu_hours;                      /* GPUs x time held by jobs */
  double utilization;                    /* over the makespan; NAN if the pool was never present */
  struct hr_distribution latency_factor; /* of completed jobs: time that it held GPUs / recorded run time */
  int64_t cost_uusd;                     /* HR_UNKNOWN_UUSD: without a price */
  int64_t per_completed_job_uusd;        /* HR_UNKNOWN_UUSD: without a price, or no job */
};

struct hr_summary {
  uint64_t jobs_submitted, jobs_completed, jobs_rejected, jobs_unfinished;
  uint64_t jobs_backfilled;
  uint64_t deadlines, missed_deadlines;       /* jobs with a deadline, and those of them that missed it */
  uint64_t outcome_failed, outcome_cancelled; /* completed jobs with this recorded outcome */
  struct hr_distribution wait_s, jct_s, slowdown;
  double makespan_s, submit_window_s;
  double utilization_submit_window, utilization_makespan;
  double queue_mean;
  uint64_t queue_max;
  double gpu_hours;
  uint64_t gpus, nodes;
  uint64_t digest, n_events, n_passes;
  struct hr_group *by_tenant;      /* by GPU hours, descending */
  struct hr_group *by_class;       /* none if the trace has no classes */
  struct hr_group *by_size;        /* ascending */
  struct hr_pool_figures *by_pool; /* in the order of the cluster; none if it has one pool */
  size_t n_tenants, n_classes, n_sizes, n_pools;
  bool stoppable; /* jobs could be stopped before their end, so the following two have a meaning */
  struct hr_goodput goodput;
  struct hr_spot_figures spot;
  struct hr_cost_summary *costs; /* NULL: nothing has a price */
  struct hr_fairness fairness;
  struct hr_fragmentation_figures fragmentation;
  struct hr_oom_figures oom;
};

/* Durations on the wall clock, measured by the caller. */
struct hr_perf {
  double load_s, sim_s, peak_rss_mib;
};

/* Description of the run, for the head of tables and of JSON. Borrowed. */
struct hr_run_label {
  const char *scenario, *trace, *format;
  const struct hr_cluster_spec *cluster;
  const struct hr_policy_choice *policy;
  uint64_t seed;
  const struct hr_notes *const *notes; /* n_notes lists */
  size_t n_notes;
  const struct hr_skipped_rows *skipped;
  size_t n_skipped_reasons;
  const struct hr_alerts *alerts;             /* NULL: alerts were not evaluated */
  int64_t clock_us;                           /* added to times since the first submit in files */
  const struct hr_timeline_summary *timeline; /* for the table; NULL: not shown */
};

/* Summarizes a run. `basis`: what costs are computed from; NULL: no costs. The caller destroys `*summary`.
   HR_BAD_INPUT if costs exceed the range of micro-dollars. */
HR_API enum hr_status hr_summarize(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                   const struct hr_result *result, const struct hr_usage *usage,
                                   const struct hr_cost_basis *basis, struct hr_summary **summary,
                                   struct hr_error *error);
/* Frees a summary. NULL is accepted. */
HR_API void hr_summary_destroy(struct hr_summary *summary);

/* Adds notes on the run: that it stalled, that a budget or quota matches no tenant, that jobs can never run.
   `quotas` may be NULL. */
HR_API enum hr_status hr_run_notes(const struct hr_trace *trace, const struct hr_cost_spec *costs,
                                   const struct hr_quota_spec *quotas, const struct hr_result *result,
                                   struct hr_notes *notes, struct hr_error *error);
/* Adds a note on models in a pool's pairs that no job has. */
HR_API enum hr_status hr_pair_notes(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                    struct hr_notes *notes, struct hr_error *error);
/* Adds a note on jobs that use the default speeds although models have speeds. `speeds` may be NULL. */
HR_API enum hr_status hr_speed_notes(const struct hr_trace *trace, const struct hr_speeds *speeds,
                                     struct hr_notes *notes, struct hr_error *error);

/* Capabilities of a terminal. */
enum { HR_STYLE_COLOUR = 1, HR_STYLE_UNICODE = 2 };

/* Prints the summary as tables, at most 80 columns wide. `style`: HR_STYLE flags. */
HR_API enum hr_status hr_summary_print(FILE *out, const struct hr_summary *summary, const struct hr_run_label *label,
                                       const struct hr_perf *perf, unsigned style);
/* Writes the summary as JSON (docs/reference/schemas/summary.schema.json). `path` "-" is standard output. */
HR_API enum hr_status hr_summary_write_json(const char *path, const struct hr_summary *summary,
                                            const struct hr_run_label *label, const struct hr_perf *perf,
                                            struct hr_error *error);
/* The summary as JSON text, which the caller frees; NULL if memory is exhausted. */
HR_API char *hr_summary_json(const struct hr_summary *summary, const struct hr_run_label *label,
                             const struct hr_perf *perf);
/* Reads a summary's JSON file into `*json`, which the caller frees. HR_BAD_INPUT if it is not such a file. */
HR_API enum hr_status hr_summary_read_json(const char *path, char **json, struct hr_error *error);

/* Writes the summary as Markdown, without wall-clock times. `path` "-" is standard output. */
HR_API enum hr_status hr_summary_write_markdown(const char *path, const struct hr_summary *summary,
                                                const struct hr_run_label *label, struct hr_error *error);

/* Writes one CSV row per trace row, in the order of the file. `path` "-" is standard output. `ledger` (may be NULL)
   has the cost of jobs. Rows have further columns if it is given or jobs could be interrupted, and if jobs could be
   killed for lack of GPU memory. */
HR_API enum hr_status hr_jobs_write(const char *path, const struct hr_trace *trace,
                                    const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                    const struct hr_placements *placements, const struct hr_ledger *ledger,
                                    struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
