/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_VERBS_TRACE_TRANSFORM_H
#define HR_CLI_VERBS_TRACE_TRANSFORM_H

/* What the actions of `trace` share that make one trace of others: options, reading, writing, telling what was done. */

#include "cli/input.h"

struct transform_args {
  struct input_args input;
  const char *output, *json;
  const char *to; /* of who has such an option: the format; NULL: by the name of the output */
  bool quiet;
};

/* Entries of an option table; the action's arguments begin with a `struct transform_args base`. */
#define TRANSFORM_OPTION(field) offsetof(struct transform_args, field)
#define TRANSFORM_OPTIONS                                                                                              \
  {.name = "output",                                                                                                   \
   .letter = 'o',                                                                                                      \
   .kind = OPTION_TEXT,                                                                                                \
   .offset = TRANSFORM_OPTION(output),                                                                                 \
   .value = "FILE",                                                                                                    \
   .help = "where to write: the name ends in .csv, .swf or .hrt (packed); .csv and .swf are compressed behind .gz "    \
           "and .zst. '-', or none: standard output, as CSV"},                                                         \
      {.name = "json",                                                                                                 \
       .kind = OPTION_TEXT,                                                                                            \
       .offset = TRANSFORM_OPTION(json),                                                                               \
       .value = "FILE",                                                                                                \
       .help = "write what was done, with jobs, GPU hours and what was lost, as JSON ('-': standard output)"},         \
      {.name = "quiet",                                                                                                \
       .letter = 'q',                                                                                                  \
       .kind = OPTION_FLAG,                                                                                            \
       .offset = TRANSFORM_OPTION(quiet),                                                                              \
       .help = "no figures, no notes; errors are still told"},                                                         \
      TRACE_OPTIONS(transform_args)

/* What an action is given, and what became of it. */
struct transform {
  const struct transform_args *args;
  const struct words *paths;
  struct hr_trace **traces; /* [paths->count] */
  struct hr_trace *made;    /* NULL: the first of the traces is written as it is */
  const char *action, *method;
  const char *also_read; /* a file beside the traces, which nothing may be written over; NULL: none */
  uint64_t seed;
  bool seeded;
};

/* Checks outputs and format, reads all traces. `transform_finish` is to be called in any case. */
enum hr_status transform_open(struct transform *transform, struct hr_error *error);
/* Writes the trace and tells about it. */
enum hr_status transform_tell(const struct transform *transform, struct hr_error *error);
void transform_finish(struct transform *transform);

#endif
