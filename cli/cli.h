/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_CLI_H
#define HR_CLI_CLI_H

/* A verb of the program: `headroom VERB`, or an action of one, `headroom VERB ACTION`. One file each; main.c holds the
   list of verbs, a verb that of its actions. */

#include "cli/options.h"

struct verb {
  const char *name; /* of an action: with its verb's, "trace generate" */
  const struct verb *const
      *actions;         /* ended by NULL; then the rest, but for the summary, is theirs. NULL: it has none */
  const char *operands; /* as the usage line shows them */
  size_t min_operands, max_operands;
  const char *summary;
  const char *details; /* more help, NULL for none */
  const struct option *options;
  size_t args_bytes;                /* of the struct that the options' offsets point into */
  void (*set_defaults)(void *args); /* NULL: all zero */
  void (*set_command)(void *args, const struct command *command); /* for who tells it; may be NULL */
  enum hr_status (*run)(const void *args, const struct words *operands, struct hr_error *error);
};

extern const struct verb verb_run, verb_report, verb_why, verb_compare, verb_check, verb_plan, verb_advise, verb_sweep,
    verb_merge, verb_fill, verb_forecast, verb_validate, verb_list, verb_trace;
/* Actions. */
extern const struct verb verb_trace_generate, verb_trace_stats, verb_trace_pack, verb_trace_check, verb_trace_convert,
    verb_trace_cut, verb_trace_scale, verb_trace_merge, verb_trace_anonymise, verb_trace_shuffle;

/* So many threads, or, 0 being asked for, as many as there are processors. */
uint32_t count_threads(uint64_t asked);
/* Seconds of a clock that only goes forward. */
double clock_s(void);
/* The most memory that the process held. */
double peak_rss_mib(void);
/* Whether standard output is a terminal on which colours are wanted. */
bool wants_colour(void);
/* HR_STYLE_COLOUR if so, and HR_STYLE_UNICODE where more than ASCII can be shown. */
unsigned terminal_style(void);

#endif
