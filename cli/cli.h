/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_CLI_H
#define HR_CLI_CLI_H

/* A verb of the program, `headroom VERB`, or an action of a verb, `headroom VERB ACTION`. main.c has the list of verbs;
   each verb has the list of its actions. */

#include "cli/options.h"

struct verb {
  const char *name;                  /* an action includes its verb: "trace generate" */
  const struct verb *const *actions; /* ends with NULL; a verb with actions uses only name and summary. NULL: none */
  const char *operands;              /* as in the usage line */
  size_t min_operands, max_operands;
  const char *summary;
  const char *details; /* text behind the options; may be NULL */
  const struct option *options;
  size_t args_bytes;                                              /* size of the struct that the options fill */
  void (*set_defaults)(void *args);                               /* NULL: all zero */
  void (*set_command)(void *args, const struct command *command); /* for output that quotes the command; may be NULL */
  enum hr_status (*run)(const void *args, const struct words *operands, struct hr_error *error);
};

extern const struct verb verb_run, verb_report, verb_why, verb_compare, verb_check, verb_plan, verb_advise, verb_sweep,
    verb_merge, verb_fill, verb_forecast, verb_validate, verb_list, verb_trace;
/* Actions. */
extern const struct verb verb_trace_generate, verb_trace_stats, verb_trace_pack, verb_trace_check, verb_trace_convert,
    verb_trace_cut, verb_trace_scale, verb_trace_merge, verb_trace_anonymise, verb_trace_shuffle;

#endif
