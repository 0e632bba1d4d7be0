/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_COSTS_H
#define HR_REPORT_COSTS_H

#include "headroom/costs.h"

/* What a run costs; `useful_milli_us` is its goodput, thousandths of GPUs x microseconds. The caller destroys it.
   HR_NO_MEMORY, or HR_BAD_INPUT when it passes what dollars may come to. */
enum hr_status hr__costs_make(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                              const struct hr_result *result, const struct hr_cost_basis *basis,
                              hr_amount useful_milli_us, struct hr_cost_summary **costs);
/* Says in the error why there are none. */
enum hr_status hr__cannot_sum(const struct hr_trace *trace, enum hr_status status, struct hr_error *error);
void hr__costs_destroy(struct hr_cost_summary *costs);

#endif
