/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_WORKLOAD_DISTANCE_H
#define HR_TESTS_WORKLOAD_DISTANCE_H

/* How far apart two workloads are: two-sample distances of Kolmogorov and Smirnov, counted here the plain way. */

#include "headroom/trace_files.h"
#include "headroom/unstable/workload_model_files.h"

/* The greatest distance between two empirical distributions; sorts both. */
double distance_of(double *a, uint32_t n_a, double *b, uint32_t n_b);

/* What is compared of a trace's jobs. */
typedef bool distance_value(const struct hr_trace *trace, uint32_t job, double *value);
double distance_between(const struct hr_trace *a, const struct hr_trace *b, distance_value *value);

/* Run times of jobs of so many GPUs; -1 where one of the traces has fewer than `least`. */
double distance_of_run_times(const struct hr_trace *a, const struct hr_trace *b, uint32_t gpus_from, uint32_t gpus_to,
                             uint32_t least);

/* Draws `count` jobs and reads them from a file of the test's own. */
struct hr_trace *drawn(const struct hr_workload_model *model, uint64_t count, uint64_t seed);
struct hr_workload_model *fitted(const struct hr_trace *trace);
struct hr_workload_model *shipped(const char *name);

#endif
