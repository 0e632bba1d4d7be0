/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_CLI_H
#define HR_CLI_CLI_H

/* A verb is a command of the program, `headroom VERB`. An action is a command of a verb, `headroom VERB ACTION`. main.c
   lists the verbs, and each verb lists its actions. */

#include "cli/options.h"
#include "cli/process.h"

struct verb {
  const char *name; /* the name of an action includes its verb: "trace generate" */
  /* list of actions that ends with NULL; if the pointer itself is NULL, the verb has no actions. Of a verb with
     actions, only the members `name`, `summary` and `actions` are used. */
  const struct verb *const *actions;
  const char *operands; /* as printed in the usage line */
  size_t min_operands, max_operands;
  const char *summary;
  const char *details; /* help text that follows the options; may be NULL */
  const struct option *options;
  /* size of the struct to which the options write their values */
  size_t args_bytes;
  void (*set_defaults)(void *args); /* NULL: all values are zero by default */
  /* stores the command line, for verbs that show it in their output; may be NULL */
  void (*set_command)(void *args, const struct command *command);
  enum hr_status (*run)(const void *args, const struct words *operands, struct hr_error *error);
};

extern const struct verb verb_run, verb_report, verb_why, verb_compare, verb_check, verb_plan, verb_advise, verb_sweep,
    verb_merge, verb_fill, verb_forecast, verb_validate, verb_init, verb_list, verb_trace;
/* Actions of `trace`. */
extern const struct verb verb_trace_generate, verb_trace_stats, verb_trace_pack, verb_trace_check, verb_trace_convert,
    verb_trace_cut, verb_trace_scale, verb_trace_merge, verb_trace_anonymise, verb_trace_shuffle;

#endif
