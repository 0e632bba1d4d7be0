/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_KIT_SAME_TRACE_H
#define HR_TESTS_KIT_SAME_TRACE_H

/* Random traces with any of the columns, and a comparison of traces column by column that is written by hand. */

#include "headroom/trace_files.h"

/* The next random number below `bound`, from the stream that random_start() began. */
void random_start(uint64_t seed);
uint32_t random_below(uint32_t bound);

struct random_spec {
  uint32_t max_jobs;
  bool plain;      /* only what SWF can store: whole seconds, numbers for names, sorted, at least one GPU */
  bool all_fields; /* each field is known for at least one job */
};
/* Rows in random order, some at the same instant; names with all characters that CSV must quote. */
struct hr_trace *random_trace(const struct random_spec *spec);

/* Whether two traces are bit for bit equal except for notes, source and format; prints the differences. */
bool same_trace(const struct hr_trace *a, const struct hr_trace *b);
/* Whether job `i` of `a` and `j` of `b` are equal except for their ids, with all times later by `later_us` in `b`,
   measured on the clocks of the inputs; names are compared as texts. */
bool same_job(const struct hr_trace *a, uint32_t i, const struct hr_trace *b, uint32_t j, int64_t later_us);

#endif
