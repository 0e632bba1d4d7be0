/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_GOODPUT_H
#define HR_REPORT_GOODPUT_H

/* What became of the time that jobs held GPUs, and of spot capacity. */

#include "headroom/report.h"

/* GPUs x microseconds. */
struct hr__goodput {
  hr_amount useful_us, lost_us, saving_us, restarting_us;
};
struct hr__goodput hr__goodput_make(const struct hr_result *result);
struct hr_goodput hr__goodput_figures(const struct hr__goodput *goodput);

struct hr_spot_figures hr__spot_figures(const struct hr_cluster_spec *cluster, const struct hr_result *result);

#endif
