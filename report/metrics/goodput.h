/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_METRICS_GOODPUT_H
#define HR_REPORT_METRICS_GOODPUT_H

/* What became of the time that jobs held GPUs, and of spot capacity. */

#include "headroom/report.h"

/* What a job's GPUs did in all its attempts. */
struct hr_gpu_times hr__gpu_times_of(const struct hr_result *result, uint32_t job);
void hr__add_gpu_times(struct hr_gpu_times *sum, const struct hr_gpu_times *part);
/* The sum over all jobs. */
struct hr_gpu_times hr__gpu_times_of_all(const struct hr_result *result);
struct hr_goodput hr__goodput_figures(const struct hr_gpu_times *times);
double hr__gpu_hours(hr_amount milli_us);

/* Whether jobs could find too little memory on a GPU. */
bool hr__can_kill(const struct hr_cluster_spec *cluster);
double hr__back_off_gpu_hours(const struct hr_cluster_spec *cluster, const struct hr_result *result);
struct hr_oom_figures hr__oom_figures(const struct hr_cluster_spec *cluster, const struct hr_result *result);

struct hr_spot_figures hr__spot_figures(const struct hr_cluster_spec *cluster, const struct hr_result *result);

#endif
