/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_RUN_STREAM_H
#define HR_CLI_RUN_STREAM_H

/* `headroom run --stream`: memory for the jobs that wait or run, and for no others. */

#include "cli/input.h"

struct stream_args {
  const char *json;
  bool check, quiet;
};
/* Whether the scenario's policy can do without jobs that are over; an error that says what cannot. */
enum hr_status check_stream(const struct hr_scenario *scenario, struct hr_error *error);
/* Runs and tells. The input's trace was read. */
enum hr_status run_stream(const struct input *input, const struct stream_args *args, struct hr_error *error);

#endif
