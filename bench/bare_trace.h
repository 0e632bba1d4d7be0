/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BENCH_BARE_TRACE_H
#define HR_BENCH_BARE_TRACE_H

/* The minimum that a replay needs of a trace: three or four columns of a CSV file sorted by submit, read with
   libcsv. Shares no code with the library and validates almost nothing: the speed of the program is compared with
   it. */

#include <stdint.h>

struct bare_trace {
  uint32_t n, capacity;
  int64_t *submit_us, *work_us, *limit_us; /* equals `work` if there is no such column */
  uint32_t *gpus;
};

/* Exits the program if the file cannot be read. */
void bare_trace_read(const char *path, struct bare_trace *trace);
void bare_trace_finish(struct bare_trace *trace);

/* Parses an integer from 1 to `most` on the command line; exits the program if it is invalid. */
uint32_t bare_argument(const char *text, uint32_t most);

#endif
