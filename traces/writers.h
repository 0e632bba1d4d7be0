/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_WRITERS_H
#define HR_TRACES_WRITERS_H

/* The writers, one file each; write.c lists them and says which one a file is for. */

#include "headroom/trace.h"

struct hr__trace_writer {
  const char *ending; /* of a file's name, before one of compression */
  bool compresses;    /* as the name's ending says */
  /* Writes the trace to `path`; `written` is empty but for its format, and not NULL. */
  enum hr_status (*write)(const struct hr_trace *trace, const char *path, struct hr_trace_written *written,
                          struct hr_error *error);
};

enum hr_status hr__write_csv(const struct hr_trace *trace, const char *path, struct hr_trace_written *written,
                             struct hr_error *error);
enum hr_status hr__write_swf(const struct hr_trace *trace, const char *path, struct hr_trace_written *written,
                             struct hr_error *error);
enum hr_status hr__write_packed(const struct hr_trace *trace, const char *path, struct hr_trace_written *written,
                                struct hr_error *error);

/* Counts `n_jobs` more of that loss; 0 is none. */
void hr__lose(struct hr_trace_written *written, enum hr_loss_kind kind, const char *field, uint64_t n_jobs);

#endif
