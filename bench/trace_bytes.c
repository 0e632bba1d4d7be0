/* SPDX-License-Identifier: GPL-3.0-or-later */
/* trace_bytes TRACE: prints how many bytes of memory the columns of a trace need per job. */

#include "headroom/trace_files.h"

#include <stdio.h>

int main(int argc, char **argv) {
  struct hr_trace *trace = NULL;
  struct hr_error error;
  if (argc != 2) return 2;
  if (hr_trace_read(argv[1], NULL, &trace, &error) != HR_OK) {
    fprintf(stderr, "%s\n", error.text);
    return hr_status_exit_code(error.status);
  }
  printf("%.1f\n", (double)trace->column_bytes / trace->n_jobs);
  hr_trace_destroy(trace);
  return 0;
}
