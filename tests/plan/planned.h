/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_PLAN_PLANNED_H
#define HR_TESTS_PLAN_PLANNED_H

/* Scenarios with a plan, and traces of queues with known theory, for tests of plans and replications. */

#include "headroom/headroom.h"
#include "plan/search/plan.h"

/* Writes the text to a file in the test's folder and loads it; exits on failure. */
struct hr_scenario *planned_scenario(const char *text);
/* The error message of loading the text; NULL: no error. Valid until the next call. */
const char *planned_error(const char *text);

/* Draws a trace of one-GPU jobs with Poisson arrivals and exponential run times (M/M). `offered`: the offered load,
   which is the mean number of GPUs in use if no job waits. `mean_s`: the mean run time in seconds. */
struct hr_trace *planned_queue(uint64_t seed, uint32_t jobs, double offered, double mean_s);

/* Computes a plan without sensitivity analysis; exits on failure. */
struct hr_plan *planned_brief(const struct hr_scenario *scenario, const struct hr_trace *trace,
                              enum hr_plan_search search);

/* Erlang's formulas: the probability that all `servers` are busy when a job arrives, if the job is then lost (B) or
   waits (C). */
double planned_erlang_b(unsigned servers, double offered);
double planned_erlang_c(unsigned servers, double offered);

#endif
