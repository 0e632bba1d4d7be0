/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_INPUT_H
#define HR_CLI_INPUT_H

/* What `run` and `validate` share: a scenario, the options that change it, and its trace. */

#include "cli/options.h"
#include "cli/output.h"
#include "headroom/headroom.h"
#include "headroom/unstable/compare.h"

struct input_args {
  const char *trace, *format, *map, *policy, *seed;
  const char *replications; /* of verbs that have such an option */
  struct words set;
  bool lenient;
};

/* Entries of an option table; the verb's arguments hold `struct input_args input`. */
#define INPUT_OPTION(args, field) offsetof(struct args, input) + offsetof(struct input_args, field)

/* How the trace is read: for a verb without a scenario, too. */
#define TRACE_OPTIONS(args)                                                                                            \
  {.name = "format",                                                                                                   \
   .kind = OPTION_TEXT,                                                                                                \
   .offset = INPUT_OPTION(args, format),                                                                               \
   .value = "FORMAT",                                                                                                  \
   .help = "the trace's format ('headroom list formats'); auto: recognised by content"},                               \
      {.name = "map",                                                                                                  \
       .kind = OPTION_TEXT,                                                                                            \
       .offset = INPUT_OPTION(args, map),                                                                              \
       .value = "FIELD=COLUMN,...",                                                                                    \
       .help = "how a CSV trace calls its columns, e.g. submit=arrival_s,duration=service_sec,gpus=gpu_count"},        \
  {                                                                                                                    \
    .name = "lenient", .kind = OPTION_FLAG, .offset = INPUT_OPTION(args, lenient),                                     \
    .help = "leave bad rows of the trace out, counted and listed by reason, instead of failing at the first"           \
  }

#define INPUT_OPTIONS(args)                                                                                            \
  {.name = "trace",                                                                                                    \
   .kind = OPTION_TEXT,                                                                                                \
   .offset = INPUT_OPTION(args, trace),                                                                                \
   .value = "FILE",                                                                                                    \
   .help = "the trace to replay, plain, gzip or zstd, instead of the scenario's; '-': standard input"},                \
      TRACE_OPTIONS(args),                                                                                             \
      {.name = "policy",                                                                                               \
       .kind = OPTION_TEXT,                                                                                            \
       .offset = INPUT_OPTION(args, policy),                                                                           \
       .value = "NAME[:KEY=VALUE,...]",                                                                                \
       .help = "the policy and its parameters ('headroom list policies'), e.g. queue:order=sjf,backfill=easy"},        \
      {.name = "set",                                                                                                  \
       .kind = OPTION_LIST,                                                                                            \
       .offset = INPUT_OPTION(args, set),                                                                              \
       .value = "PATH=VALUE",                                                                                          \
       .help = "change a key of the scenario, e.g. cluster.pools.0.nodes=56; may be given more than once"},            \
  {                                                                                                                    \
    .name = "seed", .kind = OPTION_TEXT, .offset = INPUT_OPTION(args, seed), .value = "N",                             \
    .help = "the seed, 0 to 2^64-1, instead of the scenario's"                                                         \
  }

/* Entries of most verbs; their arguments hold `bool quiet` and `uint64_t threads`, which is 0 where it is not given. */
#define QUIET_OPTION(args)                                                                                             \
  {                                                                                                                    \
    .name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .offset = offsetof(struct args, quiet),                       \
    .help = "no table, no notes, no progress bar; errors are still told"                                               \
  }
#define THREADS_OPTION(args)                                                                                           \
  {                                                                                                                    \
    .name = "threads", .kind = OPTION_WHOLE, .offset = offsetof(struct args, threads), .value = "N",                   \
    .help = "runs at a time, as many as there are processors unless given; results are the same", .min = 1,            \
    .max = HR_MAX_THREADS                                                                                              \
  }

/* What a run reads. */
struct input {
  struct hr_scenario *scenario;
  const char *trace_path; /* borrowed; NULL when neither scenario nor options name a trace */
  const char *format;     /* of the trace, borrowed; NULL: none was named */
  struct hr_trace *trace;
  double load_s;
  struct overrides overrides; /* under which the scenario was loaded */
  bool untimed;               /* what jobs want is all that is asked of the trace; set after input_open */
  bool streamed;              /* the trace is mapped, and not kept in memory; likewise */
};

/* Loads the scenario under the options. */
enum hr_status input_open(struct input *input, const char *path, const struct input_args *args, struct hr_error *error);
/* Whether a trace is named, and all outputs can be written and are none of the files that are read. */
enum hr_status input_check_outputs(const struct input *input, const char *scenario_path, const struct output *outputs,
                                   size_t n_outputs, struct hr_error *error);
/* Reads the trace. */
enum hr_status input_read_trace(struct input *input, const struct input_args *args, struct hr_error *error);
void input_finish(struct input *input);
/* Reads a trace that no scenario names, under the options of TRACE_OPTIONS alone. */
enum hr_status input_read_trace_alone(const char *path, const struct input_args *args, struct hr_trace **trace,
                                      struct hr_error *error);

/* Notes on scenario and trace, and rows left out, each a line "note: ...". */
void input_print_notes(FILE *out, const struct input *input);
void input_print_trace_notes(FILE *out, const struct hr_trace *trace);

#endif
