/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_TRACE_LIKE_H
#define HR_CLI_TRACE_LIKE_H

/* `headroom trace generate --like`: jobs drawn from a workload model, which is shipped, read from a file or fitted to a
   trace; with --resample, whole days or weeks of a trace. */

#include "cli/input.h"
#include "cli/options.h"
#include "headroom/unstable/workload_model.h"

struct like_args {
  const char *like, *model_out, *json, *blocks, *output;
  struct input_args input;
  bool quiet, resample;
};

/* The options of the verb that both understand; `command` tells which ones were given. */
struct like_request {
  const struct like_args *args;
  const struct command *command;
  struct hr_workload_model_spec spec;
  uint32_t users, tenants;
};

/* Whether the command line has "--NAME". */
bool like_is_given(const struct command *command, const char *name);
/* Refuses options that have no effect without --like. */
enum hr_status like_refuse_alone(const struct command *command, struct hr_error *error);
enum hr_status like_run(const struct like_request *request, struct hr_error *error);
/* With --resample; in trace_resample.c. `ships`: --like names a shipped model. */
enum hr_status like_resample(const struct like_request *request, bool ships, struct hr_error *error);
/* Refuses the first option of `names`, ended by NULL, that was given: "--NAME REASON". */
enum hr_status like_refuse(const struct command *command, const char *const *names, const char *reason,
                           struct hr_error *error);

#endif
