/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_COSTS_COSTS_H
#define HR_REPORT_COSTS_COSTS_H

#include "headroom/report.h"

/* Costs in the making: every dollar is in one item, and every table of costs is a sum over items. */

enum hr__cost_kind {
  HR__COST_USE, /* of GPUs, by jobs */
  HR__COST_IDLE,
  HR__COST_STORAGE,
  HR__COST_EGRESS,
  HR__COST_OPERATIONS,
  HR__COST_DOWNTIME,
  HR__COST_SAVINGS_PLAN, /* fees less what they cover */
  HR__COST_KINDS
};

struct hr__cost_item {
  enum hr__cost_kind kind;
  uint32_t tenant; /* HR_NONE: none */
  uint32_t month;
  uint32_t pool; /* of use and idleness, else HR_NONE */
  uint8_t class_;
  int64_t uusd;
  hr_amount amount;   /* of use and idleness: before it is rounded, in units of the ledger */
  hr_amount gpu_time; /* likewise, milli-GPU x microseconds */
};

struct hr__costing {
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_result *result;
  const struct hr_cost_basis *basis;
  /* The trace's tenants, then "" for jobs without one, then tenants that only the scenario names. */
  const char **tenants;
  uint32_t n_tenants, nobody;
  uint32_t n_months;      /* that anything is charged in */
  uint32_t *first_of_gpu; /* by pool: the first pool of the same GPU type */
  struct hr__cost_item *items;
  size_t n_items, capacity;
};

enum hr_status hr__costing_init(struct hr__costing *costing, const struct hr_trace *trace,
                                const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                const struct hr_cost_basis *basis);
void hr__costing_finish(struct hr__costing *costing);
/* The number of a tenant that the trace or the scenario names. */
uint32_t hr__costing_tenant(const struct hr__costing *costing, const char *name);

static inline const char *hr__name_or_nothing(const char *name) {
  return name ? name : "";
}

static inline bool hr__is_service(enum hr__cost_kind kind) {
  return kind > HR__COST_IDLE;
}

/* What the meter has gathered; read by the costs. */

/* What went by in a month. */
struct hr__meter_month {
  hr_amount covered;        /* what savings plans cover, at its price: in units of the ledger */
  hr_amount withheld_milli; /* milli-GPUs that jobs waited for and the spot market withheld x microseconds */
};

/* Accounts for the time up to the run's end. HR_NO_MEMORY if some of it was lost. */
enum hr_status hr__meter_close(struct hr_meter *meter, int64_t end_us);

/* Zero for a month that the run did not reach. */
struct hr__meter_month hr__meter_month(const struct hr_meter *meter, uint32_t month);
/* Nodes of a pool x microseconds within a month: nodes that come and go, while they were paid for; others, while they
   were there, up to `end_us`. */
hr_amount hr__meter_node_us(const struct hr_meter *meter, hr_pool pool, uint32_t month, int64_t end_us);

/* How long two spans of time have in common. */
static inline int64_t hr__overlap_us(int64_t from_us, int64_t to_us, int64_t begin_us, int64_t end_us) {
  int64_t first_us = from_us > begin_us ? from_us : begin_us, last_us = to_us < end_us ? to_us : end_us;
  return last_us > first_us ? last_us - first_us : 0;
}

/* How much of the span from zero to `end_us` lies in a month. */
static inline int64_t hr__month_part_us(uint32_t month, int64_t end_us) {
  return hr__overlap_us(0, end_us, month * HR_MONTH_US, (month + INT64_C(1)) * HR_MONTH_US);
}

/* Sums over the items of a run's costs, each table in a file of its own. HR_NO_MEMORY is the only failure. */

/* Names of what belongs to none. */
extern const char hr__idle_name[], hr__shared_name[], hr__services_name[];

/* What a run costs; `useful_milli_us` is its goodput, thousandths of GPUs x microseconds. The caller destroys it.
   HR_NO_MEMORY, or HR_BAD_INPUT when it passes what dollars may come to. */
enum hr_status hr__costs_make(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                              const struct hr_result *result, const struct hr_cost_basis *basis,
                              hr_amount useful_milli_us, struct hr_cost_summary **costs);
void hr__costs_destroy(struct hr_cost_summary *costs);

#endif
