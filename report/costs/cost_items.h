/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_COSTS_COST_ITEMS_H
#define HR_REPORT_COSTS_COST_ITEMS_H

/* Costs in the making: every dollar is in one item, and every table of costs is a sum over items. */

#include "headroom/report.h"

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

/* Adds what the pools cost: used, by charge, and idle, by pool and month. */
enum hr_status hr__cost_capacity(struct hr__costing *costing);
/* Adds what is charged beside capacity. */
enum hr_status hr__cost_services(struct hr__costing *costing);

#endif
