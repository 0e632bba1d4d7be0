/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_TOOLS_CHECK_H
#define HR_TRACES_TOOLS_CHECK_H

/* Columns in order: keys, with what they belong to. */

#include "base/text.h"
#include "headroom/unstable/trace_check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hr__job_value {
  int64_t key; /* at least 0 */
  int64_t value;
};

/* By key; equal keys stay in their order. At most 2^32 pairs. False when out of memory. */
bool hr__pairs_sort(struct hr__job_value *pairs, size_t count);

/* A set of hashes, to be asked whether it has met one. */
struct hr__hash_set {
  uint64_t *slot; /* [mask + 1]; 0: empty */
  uint64_t mask;
};
/* For so many hashes. False when out of memory. */
bool hr__hash_set_init(struct hr__hash_set *set, size_t count);
void hr__hash_set_finish(struct hr__hash_set *set);
bool hr__hash_set_has(const struct hr__hash_set *set, uint64_t hash);
/* Whether it was new. */
bool hr__hash_set_add(struct hr__hash_set *set, uint64_t hash);
uint64_t hr__hash_more(uint64_t hash, uint64_t value);

/* The parts of a check of a trace: each looks at one side of it, and adds what it finds. */

struct hr_trace_check {
  struct hr_trace_check_config config;
  struct hr_finding *findings;
  size_t n_findings, capacity;
  struct hr_offered_load *loads;
  size_t n_loads;
};

/* A check that goes on. Services, which are jobs of class inference, run for as long as somebody keeps them, many
   alike: what is said of run times is not said of them. */
struct hr__checker {
  struct hr_trace_check *check;
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster; /* may be NULL */
  bool out_of_memory;                    /* asked for at the end */
  uint32_t n;                            /* jobs */
  int64_t span_us;                       /* from the first submit to the last one */
  struct hr__job_value *work;            /* run times above 0 of jobs that are no services, rising, with their jobs */
  uint32_t n_work;
  int64_t work_grain_us; /* what nearly all of these are multiples of */
  int64_t clamp_us;      /* the run time at which many were cut; 0: none */
  bool constant;         /* nearly all run times are one */
};

/* What a finding is about: so many of so many, the first. */
struct hr__where {
  uint64_t count, of, line;
  uint32_t job; /* HR_NONE: none in particular */
  const char *subject;
};
void hr__find(struct hr__checker *checker, enum hr_finding_code code, enum hr_severity severity,
              const struct hr__where *where, const char *format, ...) HR_PRINTF(5, 6);

/* Text of a share: "1.9 %", "0.0022 %". Returns `buffer`, of HR__SHARE_BYTES. */
enum { HR__SHARE_BYTES = 32 };
const char *hr__share_text(double share, char *buffer);

bool hr__is_service(const struct hr_trace *trace, uint32_t job);
/* `limit_us`, with HR_UNKNOWN_US where the trace has none. */
int64_t hr__limit_of(const struct hr_trace *trace, uint32_t job);
/* Among rising values the one that stands there most often from place `from` on, and where it begins. */
uint32_t hr__most_frequent(const struct hr__job_value *values, uint32_t count, uint32_t from, uint32_t *begin);
/* The first of some jobs: the least of the pairs' values. */
uint32_t hr__first_job(const struct hr__job_value *pairs, uint32_t count);
/* The largest of some steps (1 us to a day) of which at least 99 of 100 of the values are multiples, offset by
   `origin_us`. */
int64_t hr__grain_us(const int64_t *values, uint32_t count, int64_t origin_us);

/* Each file looks at one side. */
void hr__check_rows(struct hr__checker *checker);
void hr__check_run_times(struct hr__checker *checker); /* sets work, work_grain_us, clamp_us, constant */
void hr__check_units(struct hr__checker *checker);
void hr__check_limits(struct hr__checker *checker);
void hr__check_arrivals(struct hr__checker *checker);
void hr__check_gaps(struct hr__checker *checker);
void hr__check_clock(struct hr__checker *checker);
void hr__check_end(struct hr__checker *checker);
void hr__check_copies(struct hr__checker *checker);
void hr__check_shares(struct hr__checker *checker);
void hr__check_outcomes(struct hr__checker *checker);
void hr__check_sizes(struct hr__checker *checker);
void hr__check_recorded(struct hr__checker *checker);
void hr__check_cluster(struct hr__checker *checker);
void hr__check_missing(struct hr__checker *checker);

#endif
