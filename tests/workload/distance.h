/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_WORKLOAD_DISTANCE_H
#define HR_TESTS_WORKLOAD_DISTANCE_H

/* Distances between workloads: two-sample Kolmogorov-Smirnov distances, computed directly. */

#include "headroom/trace_files.h"
#include "headroom/unstable/like.h"

/* The maximum distance between two empirical distributions; sorts both. */
double distance_of(double *a, uint32_t n_a, double *b, uint32_t n_b);

/* The value of a job that is compared; false if it has none. */
typedef bool distance_value(const struct hr_trace *trace, uint32_t job, double *value);
double distance_between(const struct hr_trace *a, const struct hr_trace *b, distance_value *value);

/* Run times of jobs with a number of GPUs in a range; -1 if one of the traces has fewer than `least` such jobs. */
double distance_of_run_times(const struct hr_trace *a, const struct hr_trace *b, uint32_t gpus_from, uint32_t gpus_to,
                             uint32_t least);

/* Draws `count` jobs and reads them from a temporary file. */
struct hr_trace *drawn(const struct hr_like_model *model, uint64_t count, uint64_t seed);
struct hr_like_model *fitted(const struct hr_trace *trace);
struct hr_like_model *shipped(const char *name);

#endif
