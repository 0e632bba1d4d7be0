/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_OUTPUT_H
#define HR_CLI_OUTPUT_H

#include "headroom/base.h"

/* A path that an option names; NULL: none, "-": standard output. */
struct output {
  const char *option, *path;
};

bool is_stdout(const char *path);

/* Whether each output can be written, no two are the same, and none is one of the inputs: told before a long run, not
   after it. */
enum hr_status outputs_check(const struct output *outputs, size_t n_outputs, const char *const *inputs, size_t n_inputs,
                             struct hr_error *error);
/* Likewise, whether none is a file that a parameter of the trace's format names ("pai2020:jobs=FILE"; NULL: none). */
enum hr_status outputs_spare_params(const struct output *outputs, size_t n_outputs, const char *format,
                                    struct hr_error *error);

#endif
