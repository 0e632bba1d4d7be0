/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_OUTPUT_H
#define HR_CLI_OUTPUT_H

#include "headroom/base.h"

#include <string.h>

/* Output files that options name. */

/* An option that names an output file, and its path. NULL: not set; "-": standard output. */
struct output {
  const char *option, *path;
};

static inline bool is_stdout(const char *path) {
  return path && strcmp(path, "-") == 0;
}

/* Checks before a run that each output is writable, that no two outputs are the same file, and that no output is an
   input. */
enum hr_status outputs_check(const struct output *outputs, size_t n_outputs, const char *const *inputs, size_t n_inputs,
                             struct hr_error *error);
/* Checks that no output is an input file that a parameter of the trace format names ("pai2020:jobs=FILE"; NULL: no
   format). */
enum hr_status outputs_spare_params(const struct output *outputs, size_t n_outputs, const char *format,
                                    struct hr_error *error);

#endif
