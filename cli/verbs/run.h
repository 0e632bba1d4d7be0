/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_VERBS_RUN_H
#define HR_CLI_VERBS_RUN_H

/* `headroom run --replications`: the scenario many times over. */

#include "cli/input.h"
#include "cli/run_files.h"

/* Whether the scenario, under its options, is to be run more than once. */
bool wants_many(const struct hr_scenario *scenario);

/* The option's value, a number or a JSON object, as an override. */
enum hr_status add_replications(struct overrides *overrides, const char *value, struct hr_error *error);

struct many_args {
  const char *json;
  uint64_t threads; /* 0: not given */
  bool quiet;
};
/* Runs and tells. The input's trace was read. */
enum hr_status run_many(const struct input *input, const struct many_args *args, struct hr_error *error);

/* What `headroom run` does, for verbs that do the same and call it otherwise. */

struct run_args {
  struct input_args input;
  struct run_file_args files;
  uint64_t threads; /* 0: not given */
  bool check, quiet, stream;
  bool no_table;
};

enum hr_status run_scenario(const struct run_args *args, const char *path, struct hr_error *error);

#endif
