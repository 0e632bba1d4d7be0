/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_NEXT_H
#define HR_CLI_NEXT_H

/* The last line of the tables: a command that is useful next. next.c has the table of rules. */

#include "cli/input.h"

/* What is known about the result. A rule applies if all of its facts are true. */
enum {
  NEXT_REJECTS = 1 << 0,  /* more than 1 % of the jobs were rejected */
  NEXT_WAITS = 1 << 1,    /* more than 5 % of the jobs wait for more than 10 minutes */
  NEXT_IDLE = 1 << 2,     /* idle capacity is more than a fifth of the cost */
  NEXT_PLANNED = 1 << 3,  /* the scenario has a plan */
  NEXT_UNPRICED = 1 << 4, /* the scenario has no prices */
  NEXT_FAILED = 1 << 5,   /* no mix meets the goals; a check failed; runs are missing */
  NEXT_BRIEF = 1 << 6,    /* a part of the analysis was skipped */
  NEXT_LONG = 1 << 7,     /* the trace is long enough for a forecast with a trend, six weeks */
  NEXT_EXACT = 1 << 8     /* nothing was random, and the trace has at least five days to draw from */
};

struct next_step {
  const char *verb; /* that has run, such as "trace check" */
  unsigned facts;
  const char *path;               /* scenario, grid or trace, as the user wrote it */
  const struct input_args *input; /* options that the next command repeats; NULL: none */
  const char *trace;              /* path of the trace; NULL: unknown */
  bool apart;                     /* an empty line precedes the line, since the output ends with a table */
  const char *other;              /* a file or a list of names, as the rules of the verb say; may be NULL */
};

/* Prints the line "next": the command of the first rule that applies. */
void next_step_print(FILE *out, const struct next_step *step);

/* Returns the facts about the scenario and the length of the trace of an input. */
unsigned next_facts_of(const struct input *input);

#endif
