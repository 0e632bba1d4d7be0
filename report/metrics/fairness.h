/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_METRICS_FAIRNESS_H
#define HR_REPORT_METRICS_FAIRNESS_H

/* How evenly a run served those who share the cluster. */

#include "headroom/report.h"

/* HR_NO_MEMORY is the only failure. */
enum hr_status hr__fairness_make(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                 struct hr_fairness *fairness);

#endif
