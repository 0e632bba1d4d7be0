/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_TRACE_LIKE_H
#define HR_CLI_TRACE_LIKE_H

/* `headroom trace generate --like`: jobs drawn from a model that ships, a file holds, or is fitted to a trace. */

#include "cli/input.h"
#include "cli/options.h"
#include "headroom/unstable/like.h"

struct like_args {
  const char *like, *model_out, *json;
  struct input_args input;
  bool quiet;
};

/* Entries of an option table; the verb's arguments hold `struct like_args like`. */
#define LIKE_OFFSET(args, field) offsetof(struct args, like) + offsetof(struct like_args, field)
#define LIKE_OPTIONS(args)                                                                                             \
  {.name = "like",                                                                                                     \
   .kind = OPTION_TEXT,                                                                                                \
   .offset = LIKE_OFFSET(args, like),                                                                                  \
   .value = "NAME|FILE",                                                                                               \
   .help = "jobs like those of philly, helios, pai, acme-seren or acme-kalos, of a trace, or of a model that "         \
           "--model-out wrote"},                                                                                       \
      {.name = "model-out",                                                                                            \
       .kind = OPTION_TEXT,                                                                                            \
       .offset = LIKE_OFFSET(args, model_out),                                                                         \
       .value = "FILE",                                                                                                \
       .help = "write the model of --like as JSON, too"},                                                              \
      {.name = "json",                                                                                                 \
       .kind = OPTION_TEXT,                                                                                            \
       .offset = LIKE_OFFSET(args, json),                                                                              \
       .value = "FILE",                                                                                                \
       .help = "figures of what --like made, as JSON"},                                                                \
      {.name = "format",                                                                                               \
       .kind = OPTION_TEXT,                                                                                            \
       .offset = LIKE_OFFSET(args, input.format),                                                                      \
       .value = "FORMAT",                                                                                              \
       .help = "the format of the trace of --like ('headroom list formats')"},                                         \
      {.name = "map",                                                                                                  \
       .kind = OPTION_TEXT,                                                                                            \
       .offset = LIKE_OFFSET(args, input.map),                                                                         \
       .value = "FIELD=COLUMN,...",                                                                                    \
       .help = "how that trace, a CSV file, calls its columns"},                                                       \
      {.name = "lenient",                                                                                              \
       .kind = OPTION_FLAG,                                                                                            \
       .offset = LIKE_OFFSET(args, input.lenient),                                                                     \
       .help = "leave bad rows of that trace out, counted and listed by reason"},                                      \
  {                                                                                                                    \
    .name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .offset = LIKE_OFFSET(args, quiet),                           \
    .help = "no notes on the trace of --like, or on what was made"                                                     \
  }

struct like_request {
  const struct like_args *args;
  const char *path;
  struct hr_like_spec spec;
  uint32_t users, tenants; /* 0: as in the model */
};

/* Whether the command line has "--NAME". */
bool like_is_given(const struct command *command, const char *name);
/* Refuses options that say what a model says. */
enum hr_status like_check_words(const struct command *command, struct hr_error *error);
/* Refuses options that say nothing without --like. */
enum hr_status like_refuse_alone(const struct like_args *args, struct hr_error *error);
enum hr_status like_run(const struct like_request *request, struct hr_error *error);

#endif
