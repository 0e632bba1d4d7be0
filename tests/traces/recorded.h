/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_TRACES_RECORDED_H
#define HR_TESTS_TRACES_RECORDED_H

/* Small traces that a test builds in memory. The work of a job, in us, is its number + 1. Redrawing does not change the
   work, so it identifies the recorded job of a drawn job. */

#include "headroom/unstable/replay.h"

#define HOUR_US (3600 * HR_SECOND_US)
#define DAY_US (24 * HOUR_US)

enum { MAX_RECORDED = 4000 };

struct recorded {
  struct hr_trace trace;
  int64_t submit_us[MAX_RECORDED], work_us[MAX_RECORDED];
  uint32_t gpus[MAX_RECORDED];
};

/* Makes the trace empty. */
static inline void recorded_begin(struct recorded *recorded) {
  *recorded = (struct recorded){.trace = {.source = "test",
                                          .format = "memory",
                                          .submit_us = recorded->submit_us,
                                          .work_us = recorded->work_us,
                                          .gpus = recorded->gpus}};
}

/* Adds a job. Calls must be in order of submit times. */
static inline void recorded_add(struct recorded *recorded, int64_t submit_us) {
  uint32_t job = recorded->trace.n_jobs++;
  recorded->submit_us[job] = submit_us;
  recorded->work_us[job] = job + 1;
  recorded->gpus[job] = 1 + job % 8;
}

/* Replaces the trace by `per_day` jobs on each of `n_days` days, evenly spaced, and one more job at the end of the last
   day. */
static inline void recorded_add_days(struct recorded *recorded, uint32_t n_days, uint32_t per_day) {
  recorded_begin(recorded);
  for (uint32_t i = 0; i <= n_days * per_day; i++) recorded_add(recorded, i * (DAY_US / per_day));
}

/* Returns the number of the recorded job from which the drawn job at index `job` was copied. */
static inline uint32_t recorded_job(const struct hr_trace *drawn, uint32_t job) {
  return (uint32_t)drawn->work_us[job] - 1;
}

/* Redraws the trace; an error fails the test. The caller destroys the result. */
static inline struct hr_trace *redraw(const struct hr_trace *trace, const struct hr_workload_spec *spec,
                                      uint64_t seed) {
  struct hr_trace *drawn;
  struct hr_error error;
  enum hr_status status = hr_trace_redraw(trace, spec, seed, &drawn, &error);
  if (status != HR_OK) fprintf(stderr, "\n    %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  return drawn;
}

#endif
