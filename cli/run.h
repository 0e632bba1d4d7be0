/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_RUN_H
#define HR_CLI_RUN_H

/* What `headroom run` does, for verbs that do the same and call it otherwise. */

#include "cli/input.h"
#include "cli/run_files.h"

struct run_args {
  struct input_args input;
  struct run_file_args files;
  uint64_t threads; /* 0: not given */
  bool check, quiet, stream;
  bool no_table;
};

enum hr_status run_scenario(const struct run_args *args, const char *path, struct hr_error *error);

#endif
