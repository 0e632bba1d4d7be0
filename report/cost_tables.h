/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_COST_TABLES_H
#define HR_REPORT_COST_TABLES_H

/* Sums over the items of a run's costs, each table in a file of its own. HR_NO_MEMORY is the only failure. */

#include "report/cost_items.h"

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

#endif
