/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BENCH_BARE_TRACE_H
#define HR_BENCH_BARE_TRACE_H

/* The least that a replay needs of a trace: three or four columns of a CSV file sorted by submit, read through libcsv.
   Shares nothing with the product and checks next to nothing: it is what the product's speed is measured against. */

#include <stdint.h>

struct bare_trace {
  uint32_t n, capacity;
  int64_t *submit_us, *work_us, *limit_us; /* limit = work where there is no such column */
  uint32_t *gpus;
};

/* Ends the program when the file cannot be read. */
void bare_trace_read(const char *path, struct bare_trace *trace);
void bare_trace_finish(struct bare_trace *trace);

/* A whole number from 1 to `most` on the command line; ends the program when it is none. */
uint32_t bare_argument(const char *text, uint32_t most);

#endif
