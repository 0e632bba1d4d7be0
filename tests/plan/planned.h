/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_PLAN_PLANNED_H
#define HR_TESTS_PLAN_PLANNED_H

/* Scenarios with a plan and traces of queues whose theory is known, for tests of plans and replications. */

#include "headroom/headroom.h"
#include "plan/search/plan.h"

/* Writes the text to a file of the test's folder and loads it; the program ends if that fails. */
struct hr_scenario *planned_scenario(const char *text);
/* The error that loading it gives; NULL: there is none. Valid until the next call. */
const char *planned_error(const char *text);

/* Jobs of one GPU whose arrivals are Poisson and whose run times are exponential: M/M. `offered` is the mean number of
   GPUs that they want. */
struct hr_trace *planned_queue(uint64_t seed, uint32_t jobs, double offered, double mean_s);

/* A plan that is not asked what would change it; the program ends if it fails. */
struct hr_plan *planned_brief(const struct hr_scenario *scenario, const struct hr_trace *trace,
                              enum hr_plan_search search);

/* The probability that all `servers` are busy and a job is lost, or has to wait. */
double planned_erlang_b(unsigned servers, double offered);
double planned_erlang_c(unsigned servers, double offered);

#endif
