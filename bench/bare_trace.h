/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BENCH_BARE_TRACE_H
#define HR_BENCH_BARE_TRACE_H

/* A minimal reader of traces for the hand-written loops: three or four columns of a CSV file that is sorted by submit,
   read with libcsv. It shares no code with the library and validates almost nothing. So the loops are independent and
   fast, and the run time of headroom can be compared with theirs. */

#include <stdint.h>

/* The columns of a trace, with one entry per job. Times are in microseconds. */
struct bare_trace {
  uint32_t n, capacity;
  int64_t *submit_us, *work_us, *limit_us; /* limit_us equals work_us if the trace has no limits */
  uint32_t *gpus;
};

/* Reads a trace. Exits the program if the file cannot be read. */
void bare_trace_read(const char *path, struct bare_trace *trace);
void bare_trace_finish(struct bare_trace *trace);

/* Parses a command line argument, an integer from 1 to `max`. Exits the program if it is invalid. */
uint32_t bare_argument(const char *text, uint32_t max);

#endif
