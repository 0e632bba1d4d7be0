/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_TOOLS_CHECK_H
#define HR_TRACES_TOOLS_CHECK_H

/* Parts of the trace check, and what they share: sorting, adding findings. */

#include "base/text.h"
#include "headroom/unstable/trace_check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct hr__job_value {
  int64_t key; /* at least 0 */
  int64_t value;
};

/* Sorts by key; stable. At most 2^32 pairs. Returns false if out of memory. */
bool hr__pairs_sort(struct hr__job_value *pairs, size_t count);

/* State of a check. Services (jobs of class inference) run for as long as their owners keep them, often many alike,
   so findings about run times exclude them. */
struct hr__check_state {
  struct hr_trace_check *check;
  uint32_t findings_capacity; /* of check->findings */
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster; /* may be NULL */
  bool out_of_memory;                    /* checked at the end */
  uint32_t n;                            /* number of jobs */
  int64_t span_us;                       /* from the first submit to the last */
  struct hr__job_value *work;            /* run times above 0 of jobs other than services, ascending, with their jobs */
  uint32_t n_work;
  int64_t work_grain_us; /* step of which nearly all of these are multiples */
  int64_t clamp_us;      /* run time at which many jobs were cut; 0: none */
  bool constant;         /* nearly all run times are equal */
};

/* Subject of a finding: `count` of `of`, and the first row or job. */
struct hr__check_subject {
  uint64_t count, of, line;
  uint32_t job; /* HR_NONE: no particular job */
  const char *subject;
};
/* Adds a finding unless its code is ignored; `format` makes its text. Out of memory is recorded in `checker`. */
void hr__check_add(struct hr__check_state *checker, enum hr_finding_code code, enum hr_severity severity,
                   const struct hr__check_subject *where, const char *format, ...) HR_PRINTF(5, 6);

/* Formats a share: "1.9 %", "0.0022 %". Returns `buffer`, which has HR__SHARE_BYTES. */
enum { HR__SHARE_BYTES = 32 };
const char *hr__check_share_text(double share, char *buffer);

static inline bool hr__check_is_service(const struct hr_trace *trace, uint32_t job) {
  return trace->class_ && trace->class_[job] == HR_CLASS_INFERENCE;
}

/* The most frequent of ascending values at or after index `from`; sets its number and where it begins. */
uint32_t hr__check_most_frequent(const struct hr__job_value *values, uint32_t count, uint32_t from, uint32_t *begin);
/* The first job of some pairs: the minimum of their values. */
static inline uint32_t hr__check_first_job(const struct hr__job_value *pairs, uint32_t count) {
  int64_t first = count ? pairs[0].value : HR_NONE;
  for (uint32_t i = 1; i < count; i++)
    if (pairs[i].value < first) first = pairs[i].value;
  return (uint32_t)first;
}
/* The largest of several steps (1 us to a day) of which at least 99 % of the values are multiples, offset by
   `origin_us`. */
int64_t hr__check_grain_us(const int64_t *values, uint32_t count, int64_t origin_us);

/* Parts of the check; each adds its findings. They run in this order. */
void hr__check_jobs(struct hr__check_state *checker); /* sets work, work_grain_us, clamp_us, constant */
void hr__check_arrivals(struct hr__check_state *checker);
void hr__check_rows(struct hr__check_state *checker);
void hr__check_cluster(struct hr__check_state *checker);

#endif
