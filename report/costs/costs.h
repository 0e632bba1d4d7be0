/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_COSTS_COSTS_H
#define HR_REPORT_COSTS_COSTS_H

/* Costs of a run: amounts, the meter, cost items and cost tables. */

#include "headroom/market.h"
#include "headroom/report.h"

#include <stdlib.h>
#include <string.h>

/* ---- Amounts (meter.c) --------------------------------------------------------------------------------- */

/* Rounds and splits integer amounts so that the parts sum to the whole. */

/* Returns part / whole, rounded to the nearest integer; halves are rounded up. `whole` must be > 0. */
static inline hr_amount hr__divided(hr_amount part, hr_amount whole) {
  hr_amount twice = 2 * part + whole, quotient = twice / (2 * whole);
  return twice % (2 * whole) < 0 ? quotient - 1 : quotient;
}

/* Converts each of `amounts` (>= 0) to a whole number of `unit`s. Amounts are rounded down or up so that the parts sum
   to the rounded sum of the amounts. The amounts that are rounded up are those with the largest remainders; if
   remainders are equal, the amount with the smaller index is rounded up first. Returns HR_BAD_INPUT if the sum is
   HR__MAX_UUSD units or more, HR_NO_MEMORY if out of memory. */
enum hr_status hr__apportion(const hr_amount *amounts, size_t count, hr_amount unit, int64_t *parts);

/* Splits an amount (>= 0) in proportion to weights (>= 0). The parts sum to the amount. If all weights are 0, the first
   part is the whole amount. */
void hr__spread(hr_amount amount, const hr_amount *weights, size_t count, hr_amount *parts);

/* All sums of money in micro-dollars must be below this bound, which is about 4.6 trillion dollars. */
#define HR__MAX_UUSD (INT64_C(1) << 62)

/* ---- Costs --------------------------------------------------------------------------------------------- */

/*
 * Costs of a run. The ledger (headroom/market.h) records charges for GPUs during the run. meter.c integrates the rates
 * that the ledger does not record, cost_items.c lists the cost items, and costs.c sums the items into the tables of the
 * summary. Every dollar is in exactly one item, so every table sums to the total.
 *
 * Unless stated otherwise, amounts of type hr_amount are in units of the ledger; a micro-dollar has
 * HR_LEDGER_UNITS_PER_UUSD of them. Months have the constant length HR_MONTH_US and are counted from 0 at the begin of
 * the run.
 */

/* ---- Meter --------------------------------------------------------------------------------------- */

/* Integrals over one month of the run. */
struct hr__meter_month {
  hr_amount covered;        /* list price of the on-demand usage that savings plans cover, in units of the ledger */
  hr_amount withheld_milli; /* spot GPUs that waiting jobs could use but the market did not offer: milli-GPUs x
                               microseconds */
};

/* The integrals of a closed meter. The meter owns the arrays. */
struct hr__meter_sums {
  const struct hr__meter_month *months; /* [n_months] */
  const hr_amount *node_us;             /* [n_months][n_pools]: paid node time of elastic pools; 0 for other pools */
  uint32_t n_months;                    /* number of months for which there are integrals */
};

/* Advances the integrals to the end of the run and returns them in *sums. Returns HR_NO_MEMORY if memory ran out during
   the run; then the integrals are incomplete. */
enum hr_status hr__meter_close(struct hr_meter *meter, int64_t end_us, struct hr__meter_sums *sums);

/* ---- Cost items ---------------------------------------------------------------------------------- */

enum hr__cost_kind {
  HR__COST_USE, /* GPUs used by jobs */
  HR__COST_IDLE,
  HR__COST_STORAGE,
  HR__COST_EGRESS,
  HR__COST_OPERATIONS,
  HR__COST_DOWNTIME,
  HR__COST_SAVINGS_PLAN, /* fees minus the list price of the usage that the plans cover */
  HR__COST_KINDS
};

struct hr__cost_item {
  enum hr__cost_kind kind;
  uint32_t tenant; /* HR_NONE: idle capacity or a shared cost */
  uint32_t month;
  uint32_t pool;    /* HR_NONE unless the kind is HR__COST_USE or HR__COST_IDLE */
  uint32_t service; /* only HR__COST_USE: index of the inference service; HR_NONE: a job of the trace */
  uint8_t class_;
  int64_t uusd;
  hr_amount amount;   /* only HR__COST_USE and HR__COST_IDLE: the cost before rounding, in units of the ledger */
  hr_amount gpu_time; /* only HR__COST_USE and HR__COST_IDLE: milli-GPUs x microseconds */
};

struct hr__costing {
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_result *result;
  const struct hr_cost_basis *basis;
  /* Names of tenants. First the tenants of the trace; then, at index `no_tenant`, the name "" for jobs without a
     tenant; then tenants that occur only in the scenario. */
  const char **tenants;
  uint32_t n_tenants, no_tenant;
  uint32_t n_months;      /* number of months with charges */
  uint32_t *first_of_gpu; /* by pool: index of the first pool with the same GPU type */
  struct hr__meter_sums meter;
  struct hr__cost_item *items;
  uint32_t n_items, capacity;
};

/* Lists all items of a run and closes the meter of `basis`. All arguments must outlive `costing`. Returns HR_BAD_INPUT
   if an amount is too large, HR_NO_MEMORY if out of memory. Call hr__costing_finish() even on failure. */
enum hr_status hr__costing_init(struct hr__costing *costing, const struct hr_trace *trace,
                                const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                const struct hr_cost_basis *basis);
static inline void hr__costing_finish(struct hr__costing *costing) {
  free(costing->tenants);
  free(costing->first_of_gpu);
  free(costing->items);
}
/* Returns the index of a tenant; HR_NONE if the name occurs in neither the trace nor the scenario. */
static inline uint32_t hr__costing_tenant(const struct hr__costing *costing, const char *name) {
  for (uint32_t i = 0; i < costing->n_tenants; i++)
    if (i != costing->no_tenant && strcmp(costing->tenants[i], name) == 0) return i;
  return HR_NONE;
}

static inline const char *hr__name_or_empty(const char *name) {
  return name ? name : "";
}

/* Whether the job was submitted and has a deadline. */
static inline bool hr__has_deadline(const struct hr_result *result, uint32_t job) {
  return result->trace->deadline_us && result->trace->deadline_us[job] >= 0 && result->state[job] != HR_JOB_FUTURE;
}

/* Whether the job missed its deadline. A rejected job missed it; any other job missed it if the deadline is before the
   end of the run and the job was not complete at the deadline. */
static inline bool hr__missed_deadline(const struct hr_result *result, uint32_t job) {
  if (!hr__has_deadline(result, job)) return false;
  if (result->state[job] == HR_JOB_REJECTED) return true;
  int64_t deadline_us = result->trace->deadline_us[job];
  return deadline_us < result->end_us && hr_result_end_us(result, (hr_job){job}) > deadline_us;
}

/* ---- Summary ------------------------------------------------------------------------------------- */

/* Names of lines that belong to no tenant, pool or class. */
extern const char hr__idle_name[], hr__shared_name[], hr__services_name[];

/* Computes the costs of a run and closes the meter of `basis`. `useful_milli_us` is the useful GPU time of the run in
   milli-GPUs x microseconds. The caller frees *costs with hr__costs_destroy(), even on failure. Returns HR_BAD_INPUT if
   a sum is too large, HR_NO_MEMORY if out of memory. */
enum hr_status hr__costs_make(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                              const struct hr_result *result, const struct hr_cost_basis *basis,
                              hr_amount useful_milli_us, struct hr_cost_summary **costs);
void hr__costs_destroy(struct hr_cost_summary *costs);

#endif
