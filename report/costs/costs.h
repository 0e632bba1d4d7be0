/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_COSTS_COSTS_H
#define HR_REPORT_COSTS_COSTS_H

#include "headroom/report.h"

#include <stdlib.h>
#include <string.h>

/* Costs of a run, in three modules: meter.c integrates over time what the ledger does not record, cost_items.c lists
   the cost items, and costs.c sums them into the tables of the summary. Every dollar is in exactly one item, so every
   table sums to the total. */

/* ---- Meter --------------------------------------------------------------------------------------- */

/* Integrals over one month of the run. */
struct hr__meter_month {
  hr_amount covered;        /* on-demand usage covered by savings plans, at list price: in units of the ledger */
  hr_amount withheld_milli; /* GPUs that jobs waited for and the spot market did not offer: milli-GPUs x microseconds */
};

/* The integrals of a closed meter, which owns them. */
struct hr__meter_sums {
  const struct hr__meter_month *months; /* [n_months] */
  const hr_amount *node_us; /* [n_months][n_pools]: nodes x microseconds of elastic pools while they are paid for */
  uint32_t n_months;        /* months that the run reached */
};

/* Integrates up to the end of the run. Returns HR_NO_MEMORY if some data was lost. */
enum hr_status hr__meter_close(struct hr_meter *meter, int64_t end_us, struct hr__meter_sums *sums);

/* ---- Cost items ---------------------------------------------------------------------------------- */

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
  struct hr__meter_sums meter;
  struct hr__cost_item *items;
  uint32_t n_items, capacity;
};

/* Lists all items of a run and closes the meter of `basis`; the arguments must outlive `costing`. Returns HR_NO_MEMORY,
   or HR_BAD_INPUT if an amount is too large. Call hr__costing_finish() in any case. */
enum hr_status hr__costing_init(struct hr__costing *costing, const struct hr_trace *trace,
                                const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                const struct hr_cost_basis *basis);
static inline void hr__costing_finish(struct hr__costing *costing) {
  free(costing->tenants);
  free(costing->first_of_gpu);
  free(costing->items);
}
/* Returns the index of a tenant that the trace or the scenario names; HR_NONE if neither does. */
static inline uint32_t hr__costing_tenant(const struct hr__costing *costing, const char *name) {
  for (uint32_t i = 0; i < costing->n_tenants; i++)
    if (i != costing->no_tenant && strcmp(costing->tenants[i], name) == 0) return i;
  return HR_NONE;
}

static inline const char *hr__name_or_empty(const char *name) {
  return name ? name : "";
}

static inline bool hr__is_service(enum hr__cost_kind kind) {
  return kind > HR__COST_IDLE;
}

/* Whether the job was submitted and has a deadline. */
static inline bool hr__has_deadline(const struct hr_result *result, uint32_t job) {
  return result->trace->deadline_us && result->trace->deadline_us[job] >= 0 && result->state[job] != HR_JOB_FUTURE;
}

/* Whether the deadline was missed: the job was rejected, or not complete at a deadline within the run. */
static inline bool hr__missed_deadline(const struct hr_result *result, uint32_t job) {
  if (!hr__has_deadline(result, job)) return false;
  if (result->state[job] == HR_JOB_REJECTED) return true;
  int64_t deadline_us = result->trace->deadline_us[job];
  return deadline_us < result->end_us && hr_result_end_us(result, (hr_job){job}) > deadline_us;
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
