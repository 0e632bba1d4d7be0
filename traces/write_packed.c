/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The packed form, which holds all that a trace has (traces/pack.c). */

#include "traces/writers.h"

enum hr_status hr__write_packed(const struct hr_trace *trace, const char *path, struct hr_trace_written *written,
                                struct hr_error *error) {
  struct hr_packed packed = {0};
  enum hr_status status = hr_trace_pack(trace, path, &packed, error);
  written->n_jobs = trace->n_jobs;
  written->bytes = packed.bytes;
  return status;
}
