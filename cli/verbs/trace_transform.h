/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_VERBS_TRACE_TRANSFORM_H
#define HR_CLI_VERBS_TRACE_TRANSFORM_H

/* Common part of the actions of `trace` that transform traces into one: options, input, output and the report. */

#include "cli/input.h"

struct transform_args {
  struct input_args input;
  const char *output, *json;
  const char *to; /* output format, of actions with this option; NULL: by the name of the output */
  bool quiet;
};

/* Rows of option tables. The struct of the action's arguments must begin with `struct transform_args base`. */
#define TRANSFORM_OPTION(field) offsetof(struct transform_args, field)
#define TRANSFORM_OPTIONS                                                                                              \
  {.name = "output",                                                                                                   \
   .letter = 'o',                                                                                                      \
   .kind = OPTION_TEXT,                                                                                                \
   .offset = TRANSFORM_OPTION(output),                                                                                 \
   .value = "FILE",                                                                                                    \
   .help = "output file: its name ends in .csv, .swf or .hrt (packed); .csv and .swf are compressed if .gz or .zst "   \
           "follows (default: CSV on standard output)"},                                                               \
      {.name = "json",                                                                                                 \
       .kind = OPTION_TEXT,                                                                                            \
       .offset = TRANSFORM_OPTION(json),                                                                               \
       .value = "FILE",                                                                                                \
       .help = "write a report as JSON: jobs, GPU hours, losses ('-': standard output)"},                              \
      {.name = "quiet",                                                                                                \
       .letter = 'q',                                                                                                  \
       .kind = OPTION_FLAG,                                                                                            \
       .offset = TRANSFORM_OPTION(quiet),                                                                              \
       .help = "print no report and no notes; errors are still printed"},                                              \
      TRACE_OPTIONS(transform_args)

/* A transformation. Initialized by the action: args, paths, action, and method, seed and also_read if they apply. */
struct transform {
  const struct transform_args *args;
  const struct words *paths;
  struct hr_trace **traces; /* [paths->count] */
  struct hr_trace *result;  /* result; NULL: the first trace, unchanged */
  const char *action, *method;
  const char *also_read; /* a further input file, which no output may overwrite; NULL: none */
  uint64_t seed;
  bool seeded; /* whether the report has the seed */
};

/* Checks outputs and format, and reads all traces. transform_finish() must be called even after an error. */
enum hr_status transform_open(struct transform *transform, struct hr_error *error);
/* Writes the result, notes and the report. */
enum hr_status transform_write(const struct transform *transform, struct hr_error *error);
void transform_finish(struct transform *transform);

#endif
