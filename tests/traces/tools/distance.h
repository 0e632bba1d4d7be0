/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_WORKLOAD_DISTANCE_H
#define HR_TESTS_WORKLOAD_DISTANCE_H

/* Two-sample distances of Kolmogorov and Smirnov between the jobs of two traces, computed from the definition, and
   helpers that fit models and draw jobs. All functions abort the program on an error. */

#include "headroom/trace_files.h"
#include "headroom/unstable/scenario_files.h"

/* Returns the maximum difference between two empirical distributions, from 0 to 1. Sorts both arrays. */
double distance_of(double *a, uint32_t n_a, double *b, uint32_t n_b);

/* Sets `*value` to the compared property of a job. Returns false if the job has no such property; then the job is
   skipped. */
typedef bool distance_value(const struct hr_trace *trace, uint32_t job, double *value);
/* Returns the distance between the values of two traces. */
double distance_between(const struct hr_trace *a, const struct hr_trace *b, distance_value *value);

/* Returns the distance between the run times of jobs that request from `gpus_from` to `gpus_to` GPUs; -1 if one of the
   traces has fewer than `least` such jobs. */
double distance_of_run_times(const struct hr_trace *a, const struct hr_trace *b, uint32_t gpus_from, uint32_t gpus_to,
                             uint32_t least);

/* Draws `count` jobs from the model, writes them to "drawn.csv" in the test's temporary folder, and reads the file. The
   caller destroys the trace. */
struct hr_trace *drawn(const struct hr_workload_model *model, uint64_t count, uint64_t seed);
/* Returns a model that is fitted to the trace. The caller destroys the model. */
struct hr_workload_model *fitted(const struct hr_trace *trace);
/* Returns the model of this name that is part of the program. The caller destroys the model. */
struct hr_workload_model *shipped(const char *name);

#endif
