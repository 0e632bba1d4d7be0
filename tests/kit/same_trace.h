/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_KIT_SAME_TRACE_H
#define HR_TESTS_KIT_SAME_TRACE_H

/* Random traces with any of the columns that there are, and traces compared column by column, listed by hand. */

#include "headroom/trace_files.h"

/* The next random number below `bound`, of the stream that random_start began. */
void random_start(uint64_t seed);
uint32_t random_below(uint32_t bound);

struct random_spec {
  uint32_t max_jobs;
  bool plain;      /* only what SWF can tell: whole seconds, numbers for names, sorted, at least one GPU */
  bool all_fields; /* no field is left out for all jobs */
};
/* Rows in no order, some at one instant; names with all that CSV must quote. */
struct hr_trace *random_trace(const struct random_spec *spec);

/* Whether two traces are the same to the last bit but for notes, source and format; says what differs. */
bool same_trace(const struct hr_trace *a, const struct hr_trace *b);
/* Whether job `i` of `a` and `j` of `b` are the same but for their ids, their times all later by `later_us` in `b`,
   from the clock's zero; names by their texts. */
bool same_job(const struct hr_trace *a, uint32_t i, const struct hr_trace *b, uint32_t j, int64_t later_us);

#endif
