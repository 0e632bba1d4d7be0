/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_METRICS_H
#define HR_CLI_METRICS_H

/* What --openmetrics and the options beside it ask for. */

#include "cli/input.h"
#include "headroom/exports.h"

struct metrics_args {
  const char *file, *step, *by; /* NULL: not given */
};

struct metrics {
  struct hr_openmetrics_config config;
  struct hr_openmetrics_size size; /* once they are written */
  struct hr_gpu_watts *watts;
};

/* Reads the options, and what the scenario's GPUs draw from its catalogue; does nothing without a file. To be finished
   whatever is returned. */
enum hr_status metrics_init(struct metrics *metrics, const struct metrics_args *args, const struct input *input,
                            struct hr_error *error);
void metrics_finish(struct metrics *metrics);
/* Says how long a step is, if nobody asked for it, and how much was written. */
void metrics_print_note(FILE *out, const struct metrics *metrics, const struct metrics_args *args);

#endif
