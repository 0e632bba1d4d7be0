/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_VERBS_TRACE_TRANSFORM_H
#define HR_CLI_VERBS_TRACE_TRANSFORM_H

/* The common part of the `trace` actions that transform traces into one trace: options, input, output and the report.
 */

#include "cli/input.h"

struct transform_args {
  struct input_args input;
  const char *output, *json;
  const char *to; /* output format, if the action has this option; NULL: as the name of the output says */
  bool quiet;
};

/* The offset of the member `field` of struct transform_args, for a row of an option table. The action's struct of
   arguments must begin with the member `struct transform_args base`. */
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

/* A transformation. The action sets args, paths and action and, if they apply, method, seed and also_read. */
struct transform {
  const struct transform_args *args;
  const struct words *paths;
  struct hr_trace **traces; /* [paths->count] */
  struct hr_trace *result;  /* NULL: the result is the first trace, unchanged */
  const char *action, *method;
  const char *also_read; /* a further input file; no output may overwrite it; NULL: none */
  uint64_t seed;
  bool seeded;  /* the report contains the seed */
  bool spooled; /* traces that are in order are read into files, so that they need not fit into memory */
};

/* Checks outputs and format, and reads all traces. The caller must call transform_finish, even after an error. */
enum hr_status transform_open(struct transform *transform, struct hr_error *error);
/* Writes the result, the notes and the report. */
enum hr_status transform_write(const struct transform *transform, struct hr_error *error);
void transform_finish(struct transform *transform);

#endif
