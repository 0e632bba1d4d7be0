/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_COSTS_COSTS_H
#define HR_REPORT_COSTS_COSTS_H

/* Sums over the items of a run's costs, each table in a file of its own. HR_NO_MEMORY is the only failure. */

#include "headroom/report.h"
#include "report/costs/cost_items.h"

/* by_market, by_pool, by_class, by_gpu; the sums that the summary begins with are there already. */
enum hr_status hr__cost_breakdowns(const struct hr__costing *costing, struct hr_cost_summary *costs);
/* statements, by_tenant, budgets. Reorders the items. */
enum hr_status hr__cost_statements(struct hr__costing *costing, struct hr_cost_summary *costs);
/* rows */
enum hr_status hr__cost_rows(const struct hr__costing *costing, struct hr_cost_summary *costs);

/* Adds a line of which there is room. */
enum hr_status hr__cost_line_add(struct hr_cost_lines *lines, const char *name, int64_t uusd);

/* Names of what belongs to none. */
extern const char hr__idle_name[], hr__shared_name[], hr__services_name[];

/* What a run costs; `useful_milli_us` is its goodput, thousandths of GPUs x microseconds. The caller destroys it.
   HR_NO_MEMORY, or HR_BAD_INPUT when it passes what dollars may come to. */
enum hr_status hr__costs_make(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                              const struct hr_result *result, const struct hr_cost_basis *basis,
                              hr_amount useful_milli_us, struct hr_cost_summary **costs);
/* Says in the error why there are none. */
enum hr_status hr__cannot_sum(const struct hr_trace *trace, enum hr_status status, struct hr_error *error);
void hr__costs_destroy(struct hr_cost_summary *costs);

#endif
