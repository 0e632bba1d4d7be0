/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_COSTS_H
#define HEADROOM_COSTS_H

/*
 * What a run comes to in dollars: the ledger's accounts of capacity, and beside them what else a cluster costs
 * (storage, egress, operations, downtime, savings plans), shown by market, pool, tenant, class and GPU type.
 *
 * Money is whole micro-dollars. Capacity is rounded once, as a whole, and its parts are apportioned to that by largest
 * remainder; every other line is rounded by itself. So each breakdown sums to the total to the last digit.
 * docs/planner/costs.md says what every figure means.
 */

#include "headroom/ledger.h"

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
HR_API struct hr_fold hr_meter_fold(struct hr_meter *meter);

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

#ifdef __cplusplus
}
#endif
#endif
