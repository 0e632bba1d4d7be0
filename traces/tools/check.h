/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_TOOLS_CHECK_H
#define HR_TRACES_TOOLS_CHECK_H

/* The parts of the trace check, and functions that several parts use: sorting pairs, adding findings. */

#include "base/containers.h"
#include "base/text.h"
#include "headroom/unstable/trace_tools.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* A pair for sorting. `value` is usually a job. */
struct hr__job_value {
  int64_t key; /* at least 0 */
  int64_t value;
};

/* Sorts at most 2^32 pairs by key. The sort is stable. Returns false if out of memory. */
bool hr__pairs_sort(struct hr__job_value *pairs, size_t count);

/* State of a check. Services are jobs of class inference. Their owners decide how long they run, and many of their run
   times are equal. Findings about run times therefore do not include services. */
struct hr__check_state {
  struct hr_trace_check *check;
  uint32_t findings_capacity; /* of check->findings */
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster; /* the cluster on which the trace is to run; may be NULL */
  bool out_of_memory;                    /* memory ran out in some part; reported after the last part */
  uint32_t n;                            /* number of jobs */
  int64_t span_us;                       /* time from the first submit to the last */
  /* all jobs with a run time above 0 that are not services, sorted by run time */
  struct hr__job_value *work;
  uint32_t n_work;
  int64_t work_grain_us; /* the largest step of which nearly all run times in `work` are multiples */
  int64_t clamp_us;      /* run time at which many jobs were cut; 0: no such run time */
  bool constant;         /* nearly all run times in `work` are equal */
};

/* The subject of a finding: `count` jobs, rows or days out of `of`; both are 0 if the finding does not count anything.
   `line` is the line of the first row in the file; 0 if the finding is not about lines. */
struct hr__check_subject {
  uint64_t count, of, line;
  uint32_t job;        /* the first job; HR_NONE: the finding is not about single jobs */
  const char *subject; /* name of the user, tenant, ... that the finding is about, which is copied; NULL: none */
};
/* Adds a finding unless the user ignores its code. `format` and its arguments are the text of the finding. If memory
   runs out, sets checker->out_of_memory. */
void hr__check_add(struct hr__check_state *checker, enum hr_finding_code code, enum hr_severity severity,
                   const struct hr__check_subject *where, const char *format, ...) HR_PRINTF(5, 6);

/* Shares from which a finding about some of several jobs is a warning. */
#define HR__ALWAYS_WARN 0.0
#define HR__NEVER_WARN 2.0
/* Adds a finding about `count` of `of` jobs; `first` is one of them. Its text is "N jobs (P % of_what)" and the
   formatted text. It is a warning if the share of the jobs is at least `warn_from`, otherwise a note. */
void hr__check_add_jobs(struct hr__check_state *checker, enum hr_finding_code code, double warn_from, uint32_t count,
                        uint32_t of, uint32_t first, const char *of_what, const char *format, ...) HR_PRINTF(8, 9);

/* Returns how many pairs have a key below `key`. The pairs are sorted by key. */
static inline uint32_t hr__check_count_below(const struct hr__job_value *pairs, uint32_t count, int64_t key) {
  return hr__count_below(&pairs->key, sizeof *pairs, count, key);
}

enum { HR__SHARE_BYTES = 32 };
/* Formats a share as a percentage: "1.9 %", "0.0022 %". `buffer` must have HR__SHARE_BYTES. Returns `buffer`. */
const char *hr__check_share_text(double share, char *buffer);

/* Returns true if the job is a service. */
static inline bool hr__check_is_service(const struct hr_trace *trace, uint32_t job) {
  return trace->class_ && trace->class_[job] == HR_CLASS_INFERENCE;
}

/* Searches `values`, which are sorted by key, for the most frequent key among those from index `from` on. `from` must
   be below `count`. Returns the number of occurrences of the key, including those before `from`. Sets `*begin` to the
   index of its first occurrence. If several keys are equally frequent, the largest of them is chosen. */
uint32_t hr__check_most_frequent(const struct hr__job_value *values, uint32_t count, uint32_t from, uint32_t *begin);
/* Returns the first of the jobs in `pairs`; HR_NONE if `count` is 0. The value of each pair is the index of a job, so
   the result is the minimum of the values. */
static inline uint32_t hr__check_first_job(const struct hr__job_value *pairs, uint32_t count) {
  int64_t first = count ? pairs[0].value : HR_NONE;
  for (uint32_t i = 1; i < count; i++)
    if (pairs[i].value < first) first = pairs[i].value;
  return (uint32_t)first;
}
/* Tries 11 steps from 1 us to a day, such as 1 ms, 1 s and 5 min. Returns the largest step for which at least 99 % of
   the values are multiples of the step. `origin_us` is added to each value before this test. */
int64_t hr__check_grain_us(const int64_t *values, uint32_t count, int64_t origin_us);

/* The parts of the check that are not in check.c. Each adds its findings. They run in this order; the part about rows
   in check.c runs before hr__check_cluster. */
void hr__check_jobs(struct hr__check_state *checker); /* sets work, work_grain_us, clamp_us, constant */
void hr__check_arrivals(struct hr__check_state *checker);
void hr__check_cluster(struct hr__check_state *checker);

#endif
