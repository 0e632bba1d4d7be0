/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_COSTS_COSTS_H
#define HR_REPORT_COSTS_COSTS_H

/* Sums over the items of a run's costs, each table in a file of its own. HR_NO_MEMORY is the only failure. */

#include "headroom/report.h"
#include "report/costs/cost_items.h"

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
