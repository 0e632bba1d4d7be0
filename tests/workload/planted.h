/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_WORKLOAD_PLANTED_H
#define HR_TESTS_WORKLOAD_PLANTED_H

/* Workloads in which nothing is wrong, of many shapes, into which a test plants a fault; and checks of them. */

#include "headroom/scenario.h"
#include "headroom/unstable/trace_check.h"

#define SECOND_US HR_SECOND_US
#define MINUTE_US (60 * SECOND_US)
#define HOUR_US (60 * MINUTE_US)
#define DAY_US (24 * HOUR_US)

struct planted_job {
  int64_t submit_us, work_us, limit_us, start_us, deadline_us; /* HR_UNKNOWN_US, or INT64_MIN of instants: none */
  uint32_t gpus, tasks, gpu_milli, user;                       /* user u belongs to tenant u mod 7 */
  uint8_t class_, outcome;
  const char *types; /* NULL: any */
};

struct planted {
  struct planted_job *jobs;
  uint32_t n, capacity;
  bool dated;
  uint64_t state; /* of its random numbers */
};

/* About `n` jobs over three to five weeks from a Monday's midnight: days and weekends, log-normal run times, users by
   Zipf's law, limits, outcomes. The seed chooses how much of each. */
void planted_grow(struct planted *planted, uint64_t seed, uint32_t n);
void planted_finish(struct planted *planted);
/* In [0, 1). */
double planted_uniform(struct planted *planted);
/* Likewise below `n`. */
uint32_t planted_below(struct planted *planted, uint32_t n);
void planted_add(struct planted *planted, struct planted_job job);
/* Takes the job out, another takes its place. */
void planted_drop(struct planted *planted, uint32_t job);

/* The jobs as a trace, ids from 1 in their order. The caller destroys it. */
struct hr_trace *planted_trace(const struct planted *planted);
struct hr_trace_check *check_of(const struct hr_trace *trace, const struct hr_scenario *scenario);
/* The first finding of the kind; NULL: none. */
const struct hr_finding *finding_of(const struct hr_trace_check *check, enum hr_finding_code code);
/* Errors and warnings, which are printed. */
size_t alarms_of(const struct hr_trace_check *check);

#endif
