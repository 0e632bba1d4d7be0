/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_POOL_FIGURES_H
#define HR_REPORT_POOL_FIGURES_H

#include "report/groups.h"
#include "report/usage.h"

/* A run's figures by pool, `usage` with pools told apart; `makespan_us` is the end of the makespan. Overwrites samples.
   Sets n_pools and by_pool, which hr__pool_figures_free frees, of the summary. HR_NO_MEMORY is the only failure. */
enum hr_status hr__pool_figures_make(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                     const struct hr_usage *usage, int64_t makespan_us, struct hr__samples *samples,
                                     struct hr_summary *summary);
/* What the pools cost, when that is known. */
void hr__pool_figures_price(const struct hr_cluster_spec *cluster, struct hr_summary *summary);
void hr__pool_figures_free(struct hr_pool_figures *figures, size_t count);

#endif
