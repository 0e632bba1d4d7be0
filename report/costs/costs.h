/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_COSTS_COSTS_H
#define HR_REPORT_COSTS_COSTS_H

#include "headroom/report.h"

/* ---- Cost items ---------------------------------------------------------------------------------- */

/* Costs of a run, in three modules: meter.c integrates over time what the ledger does not record, cost_items.c lists
   the cost items, and costs.c sums them into the tables of the summary. Every dollar is in exactly one item, so every
   table sums to the total. */

enum hr__cost_kind {
  HR__COST_USE, /* GPUs used by jobs */
  HR__COST_IDLE,
  HR__COST_STORAGE,
  HR__COST_EGRESS,
  HR__COST_OPERATIONS,
  HR__COST_DOWNTIME,
  HR__COST_SAVINGS_PLAN, /* fees minus the list price of the usage that they cover */
  HR__COST_KINDS
};

struct hr__cost_item {
  enum hr__cost_kind kind;
  uint32_t tenant; /* HR_NONE: idle or shared */
  uint32_t month;
  uint32_t pool; /* HR__COST_USE and HR__COST_IDLE; otherwise HR_NONE */
  uint8_t class_;
  int64_t uusd;
  hr_amount amount;   /* HR__COST_USE and HR__COST_IDLE: before rounding, in units of the ledger */
  hr_amount gpu_time; /* HR__COST_USE and HR__COST_IDLE: milli-GPUs x microseconds */
};

struct hr__costing {
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_result *result;
  const struct hr_cost_basis *basis;
  /* Tenants of the trace, then "" at index `no_tenant` for jobs without a tenant, then tenants that only the scenario
     names. */
  const char **tenants;
  uint32_t n_tenants, no_tenant;
  uint32_t n_months;      /* months with charges, counted from 0 */
  uint32_t *first_of_gpu; /* by pool: the first pool with the same GPU type */
  struct hr__cost_item *items;
  size_t n_items, capacity;
};

/* Lists all items of a run; the arguments must outlive `costing`. Returns HR_NO_MEMORY, or HR_BAD_INPUT if an amount is
   too large. Call hr__costing_finish() in any case. */
enum hr_status hr__costing_init(struct hr__costing *costing, const struct hr_trace *trace,
                                const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                const struct hr_cost_basis *basis);
void hr__costing_finish(struct hr__costing *costing);
/* Returns the index of a tenant that the trace or the scenario names; HR_NONE if neither does. */
uint32_t hr__costing_tenant(const struct hr__costing *costing, const char *name);

static inline const char *hr__name_or_empty(const char *name) {
  return name ? name : "";
}

static inline bool hr__is_service(enum hr__cost_kind kind) {
  return kind > HR__COST_IDLE;
}

/* ---- Meter --------------------------------------------------------------------------------------- */

/* Integrals over one month of the run. */
struct hr__meter_month {
  hr_amount covered;        /* on-demand usage covered by savings plans, at list price: in units of the ledger */
  hr_amount withheld_milli; /* GPUs that jobs waited for and the spot market did not offer: milli-GPUs x microseconds */
};

/* Integrates up to the end of the run. Returns HR_NO_MEMORY if some data was lost. */
enum hr_status hr__meter_close(struct hr_meter *meter, int64_t end_us);

/* Returns the integrals of a month, zero if the run did not reach it. */
struct hr__meter_month hr__meter_month(const struct hr_meter *meter, uint32_t month);
/* Returns nodes x microseconds of a pool within a month. Nodes of elastic pools count while they are paid for, other
   nodes while they are present, up to `end_us`. */
hr_amount hr__meter_node_us(const struct hr_meter *meter, hr_pool pool, uint32_t month, int64_t end_us);

/* Returns the length of the overlap of two time spans. */
static inline int64_t hr__overlap_us(int64_t from_us, int64_t to_us, int64_t begin_us, int64_t end_us) {
  int64_t first_us = from_us > begin_us ? from_us : begin_us, last_us = to_us < end_us ? to_us : end_us;
  return last_us > first_us ? last_us - first_us : 0;
}

/* Returns how much of the span from 0 to `end_us` lies in a month. */
static inline int64_t hr__month_part_us(uint32_t month, int64_t end_us) {
  return hr__overlap_us(0, end_us, month * HR_MONTH_US, (month + INT64_C(1)) * HR_MONTH_US);
}

/* ---- Summary ------------------------------------------------------------------------------------- */

/* Names of lines that belong to no tenant, pool or class. */
extern const char hr__idle_name[], hr__shared_name[], hr__services_name[];

/* Computes the costs of a run. `useful_milli_us` is its goodput in milli-GPUs x microseconds. Closes the meter of
   `basis`. The caller frees *costs with hr__costs_destroy(), even if the call fails. Returns HR_NO_MEMORY, or
   HR_BAD_INPUT if the sum is too large. */
enum hr_status hr__costs_make(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                              const struct hr_result *result, const struct hr_cost_basis *basis,
                              hr_amount useful_milli_us, struct hr_cost_summary **costs);
void hr__costs_destroy(struct hr_cost_summary *costs);

#endif
