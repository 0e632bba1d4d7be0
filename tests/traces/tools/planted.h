/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_WORKLOAD_PLANTED_H
#define HR_TESTS_WORKLOAD_PLANTED_H

/* Clean workloads of many shapes, into which a test plants a fault, and checks of them. */

#include "headroom/scenario.h"
#include "headroom/unstable/trace_check.h"

#define SECOND_US HR_SECOND_US
#define MINUTE_US (60 * SECOND_US)
#define HOUR_US (60 * MINUTE_US)
#define DAY_US (24 * HOUR_US)

struct planted_job {
  int64_t submit_us, work_us, limit_us, start_us, deadline_us; /* HR_UNKNOWN_US if unknown; instants INT64_MIN */
  uint32_t gpus, tasks, gpu_milli, user;                       /* user u belongs to tenant u mod 7 */
  uint8_t class_, outcome;
  const char *types; /* NULL: any */
};

struct planted {
  struct planted_job *jobs;
  uint32_t n, capacity;
  bool dated;
  uint64_t state; /* state of its random number generator */
};

/* About `n` jobs over three to five weeks from midnight of a Monday: days and weekends, log-normal run times, users
   with Zipf frequencies, limits, outcomes. The seed chooses the parameters. */
void planted_grow(struct planted *planted, uint64_t seed, uint32_t n);
void planted_finish(struct planted *planted);
/* In [0, 1). */
double planted_uniform(struct planted *planted);
/* In 0 .. n - 1. */
uint32_t planted_below(struct planted *planted, uint32_t n);
void planted_add(struct planted *planted, struct planted_job job);
/* Removes a job; another one takes its place. */
void planted_drop(struct planted *planted, uint32_t job);

/* The jobs as a trace, ids from 1 in their order. The caller destroys it. */
struct hr_trace *planted_trace(const struct planted *planted);
struct hr_trace_check *check_of(const struct hr_trace *trace, const struct hr_scenario *scenario);
/* The first finding of that kind; NULL if there is none. */
const struct hr_finding *finding_of(const struct hr_trace_check *check, enum hr_finding_code code);
/* Number of errors and warnings, which are printed. */
size_t alarms_of(const struct hr_trace_check *check);

#endif
