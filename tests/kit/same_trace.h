/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_KIT_SAME_TRACE_H
#define HR_TESTS_KIT_SAME_TRACE_H

/* Random traces with any subset of the columns, and comparisons of traces. The comparisons are generated from the table
   of columns, so they cover new columns, too. */

#include "headroom/trace_files.h"

/* random_start begins a stream of random numbers. random_below returns the next random number less than `bound`. */
void random_start(uint64_t seed);
uint32_t random_below(uint32_t bound);

struct random_spec {
  uint32_t max_jobs;
  /* only what the format SWF can represent: whole seconds, numbers as names, sorted rows, at least one GPU */
  bool plain;
  bool all_fields; /* jobs may have every field, not only a random subset of the fields */
};
/* Returns a random trace, which the caller destroys. Some jobs have equal submit times. Unless `plain` is true, the
   rows are in random order, and names may contain the characters for which CSV needs quotes. */
struct hr_trace *random_trace(const struct random_spec *spec);

/* Returns whether two traces are exactly equal, except for notes, source and format. Prints the differences. */
bool same_trace(const struct hr_trace *a, const struct hr_trace *b);
/* Returns whether job `i` of `a` and job `j` of `b` are equal except for their ids. All times must be later by
   `later_us` in `b`; they are compared as absolute times, not relative to the first submit. Names are compared as
   texts. */
bool same_job(const struct hr_trace *a, uint32_t i, const struct hr_trace *b, uint32_t j, int64_t later_us);

#endif
