/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_WORKLOAD_PLANTED_H
#define HR_TESTS_WORKLOAD_PLANTED_H

/* Clean workloads of many shapes, into which tests plant faults, and checks of these workloads. Functions that allocate
   abort the program if memory is exhausted. */

#include "headroom/scenario.h"
#include "headroom/unstable/trace_tools.h"

#define SECOND_US HR_SECOND_US
#define MINUTE_US (60 * SECOND_US)
#define HOUR_US (60 * MINUTE_US)
#define DAY_US (24 * HOUR_US)

struct planted_job {
  /* Unknown: HR_UNKNOWN_US for durations, INT64_MIN for instants. */
  int64_t submit_us, work_us, limit_us, start_us, deadline_us;
  uint32_t gpus, tasks, gpu_milli, user; /* user u belongs to tenant u mod 7 */
  uint8_t class_, outcome;
  const char *types; /* list of acceptable GPU types, separated by '|'; NULL: any */
};

struct planted {
  struct planted_job *jobs;
  uint32_t n, capacity;
  bool dated;
  uint64_t state; /* state of the random number generator */
};

/* Creates a workload of `n` jobs over three to five weeks that begin at midnight of a Monday. It has daily and weekly
   patterns, log-normal run times, users with Zipf frequencies, limits and outcomes. The seed determines the parameters.
   planted_finish frees the workload. */
void planted_grow(struct planted *planted, uint64_t seed, uint32_t n);
void planted_finish(struct planted *planted);
/* Returns a random number in [0, 1). */
double planted_uniform(struct planted *planted);
/* Returns a random number in 0 .. n - 1. */
uint32_t planted_below(struct planted *planted, uint32_t n);
/* Appends a copy of the job. */
void planted_add(struct planted *planted, struct planted_job job);
/* Removes the job at index `job`. The last job moves to this index. */
void planted_drop(struct planted *planted, uint32_t job);

/* Returns the jobs as a trace; ids are j1, j2, ... in the order of the jobs. The caller destroys the trace. */
struct hr_trace *planted_trace(const struct planted *planted);
/* Checks the trace against the cluster of the scenario; NULL: without a cluster. The caller destroys the check. */
struct hr_trace_check *check_of(const struct hr_trace *trace, const struct hr_scenario *scenario);
/* Returns the first finding with this code; NULL if no finding has it. */
const struct hr_finding *finding_of(const struct hr_trace_check *check, enum hr_finding_code code);
/* Returns the number of findings above notes, and prints them. */
size_t alarms_of(const struct hr_trace_check *check);

#endif
