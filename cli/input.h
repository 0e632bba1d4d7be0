/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_INPUT_H
#define HR_CLI_INPUT_H

/* The input of most verbs: a scenario, the options that change it, and its trace. */

#include "cli/cli.h"
#include "cli/options.h"
#include "headroom/headroom.h"
#include "headroom/unstable/compare.h"
#include "headroom/unstable/metrics.h"

struct input_args {
  const char *trace, *format, *map, *policy, *seed;
  const char *replications; /* only for verbs with the option --replications */
  struct words set;
  struct words classes, tenants; /* rules for classes and tenants: VALUE=COLUMN~PATTERN */
  bool lenient;
};

/* Sets the built-in catalogue that input_open then uses, or NULL: each scenario reads it. It is borrowed. `headroom
   serve` sets it before it forks, so that no worker reads it again. */
void input_share_catalog(const struct hr_catalog *catalog);

/* The offset of the member `field` of struct input_args, for a row of an option table. The verb's struct of arguments,
   `struct args`, must have a member `struct input_args input`. */
#define INPUT_OPTION(args, field) offsetof(struct args, input) + offsetof(struct input_args, field)

/* Options for reading a trace. Verbs without a scenario use them too. */
#define TRACE_OPTIONS(args)                                                                                            \
  {.name = "format",                                                                                                   \
   .kind = OPTION_TEXT,                                                                                                \
   .offset = INPUT_OPTION(args, format),                                                                               \
   .value = "FORMAT",                                                                                                  \
   .help = "format of the trace (see 'headroom list formats'); auto: recognised by content"},                          \
      {.name = "map",                                                                                                  \
       .kind = OPTION_TEXT,                                                                                            \
       .offset = INPUT_OPTION(args, map),                                                                              \
       .value = "FIELD=COLUMN,...",                                                                                    \
       .help =                                                                                                         \
           "columns of the trace, e.g. submit=arrival_s,duration=service_sec,gpus=gpu_count for CSV, or class=QOS"},   \
      {.name = "class",                                                                                                \
       .kind = OPTION_LIST,                                                                                            \
       .offset = INPUT_OPTION(args, classes),                                                                          \
       .value = "CLASS=COLUMN~PATTERN",                                                                                \
       .help = "class of the jobs in which COLUMN matches a regular expression, e.g. 'interactive=JobName~^jupyter'; " \
               "may be repeated"},                                                                                     \
      {.name = "tenant-by",                                                                                            \
       .kind = OPTION_LIST,                                                                                            \
       .offset = INPUT_OPTION(args, tenants),                                                                          \
       .value = "TENANT=COLUMN~PATTERN",                                                                               \
       .help = "tenant of the jobs in which COLUMN matches a regular expression; may be repeated"},                    \
  {                                                                                                                    \
    .name = "lenient", .kind = OPTION_FLAG, .offset = INPUT_OPTION(args, lenient),                                     \
    .help = "skip bad rows of the trace and list them by reason, instead of failing at the first one"                  \
  }

#define INPUT_OPTIONS(args)                                                                                            \
  {.name = "trace",                                                                                                    \
   .kind = OPTION_TEXT,                                                                                                \
   .offset = INPUT_OPTION(args, trace),                                                                                \
   .value = "FILE",                                                                                                    \
   .help = "the trace to replay, instead of the scenario's: plain, gzip or zstd; '-' for standard input"},             \
      TRACE_OPTIONS(args),                                                                                             \
      {.name = "policy",                                                                                               \
       .kind = OPTION_TEXT,                                                                                            \
       .offset = INPUT_OPTION(args, policy),                                                                           \
       .value = "NAME[:KEY=VALUE,...]",                                                                                \
       .help = "the policy and its parameters (see 'headroom list policies'), e.g. queue:order=sjf,backfill=easy"},    \
      {.name = "set",                                                                                                  \
       .kind = OPTION_LIST,                                                                                            \
       .offset = INPUT_OPTION(args, set),                                                                              \
       .value = "PATH=VALUE",                                                                                          \
       .help = "set a key of the scenario, e.g. cluster.pools.0.nodes=56; may be repeated"},                           \
  {                                                                                                                    \
    .name = "seed", .kind = OPTION_TEXT, .offset = INPUT_OPTION(args, seed), .value = "N",                             \
    .help = "random seed, 0 to 2^64-1, instead of the scenario's"                                                      \
  }

/* Options of most verbs. The verb's struct of arguments, `struct args`, must have the members `bool quiet` and
   `uint64_t threads` (0: not set). */
#define QUIET_OPTION(args)                                                                                             \
  {                                                                                                                    \
    .name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .offset = offsetof(struct args, quiet),                       \
    .help = "print no table, notes or progress bar; errors are still printed"                                          \
  }
#define THREADS_OPTION(args)                                                                                           \
  {                                                                                                                    \
    .name = "threads", .kind = OPTION_WHOLE, .offset = offsetof(struct args, threads), .value = "N",                   \
    .help = "number of parallel runs (default: number of processors); does not change results", .min = 1,              \
    .max = HR_MAX_THREADS                                                                                              \
  }
/* The same for verbs whose runs are shared by the ranks of an MPI job. */
#define RANK_THREADS_OPTION(args)                                                                                      \
  {                                                                                                                    \
    .name = "threads", .kind = OPTION_WHOLE, .offset = offsetof(struct args, threads), .value = "N",                   \
    .help = "number of parallel runs (default: number of processors; under mpirun per rank, default: 1); does not "    \
            "change results",                                                                                          \
    .min = 1, .max = HR_MAX_THREADS                                                                                    \
  }

/* The input of a run: scenario and trace. */
struct input {
  struct hr_scenario *scenario;
  const char *trace_path; /* borrowed; NULL if no trace is named, neither by the scenario nor by an option */
  const char *format;     /* format of the trace, borrowed; NULL: not named */
  struct hr_trace *trace;
  double load_s;
  struct overrides overrides; /* the scenario was loaded with these */
  bool untimed;               /* the trace may lack times, since only requests are needed; set it after input_open */
  bool streamed;              /* the trace is mapped instead of loaded; set it after input_open */
  bool allows_services;       /* the scenario may have services and no trace; set it after input_open */
  bool no_stdin; /* several ranks read the trace, so it cannot be standard input; set it after input_open */
};

/* Loads the scenario with the overrides that the options make. */
enum hr_status input_open(struct input *input, const char *path, const struct input_args *args, struct hr_error *error);
/* Checks that a trace is named, that all outputs are writable, and that no output is an input file. */
enum hr_status input_check_outputs(const struct input *input, const char *scenario_path, const struct output *outputs,
                                   size_t n_outputs, struct hr_error *error);
/* Reads the trace that an option names or, if no option does, the trace of the scenario. */
enum hr_status input_read_trace(struct input *input, const struct input_args *args, struct hr_error *error);
void input_finish(struct input *input);
/* Reads a trace without a scenario. Uses the options of TRACE_OPTIONS. */
enum hr_status input_read_trace_alone(const char *path, const struct input_args *args, struct hr_trace **trace,
                                      struct hr_error *error);
/* The same, with columns in files if possible (`spooled` of struct hr_trace_options). */
enum hr_status input_read_trace_spooled(const char *path, const struct input_args *args, struct hr_trace **trace,
                                        struct hr_error *error);

/* Warns on standard error if more than 1 % of the jobs are rejected, even with --quiet. `cluster` is that of the run.
 */
void input_warn_rejected(const struct input *input, const struct hr_cluster_spec *cluster,
                         const struct hr_rejections *rejections);
/* Returns HR_CHECK_FAILED, with an error, if all jobs are rejected. */
enum hr_status input_require_accepted(const struct input *input, const struct hr_rejections *rejections,
                                      struct hr_error *error);
/* Counts the jobs that can never run on the cluster of a scenario, as hr_rejections_predict does. */
enum hr_status input_predict_rejected(const struct input *input, const struct hr_scenario *scenario,
                                      struct hr_rejections *rejections, struct hr_error *error);

/* Prints notes, each as a line "note: ..."; a note that begins with "warning: " is printed as it is. */
void notes_print(FILE *out, const struct hr_notes *notes);
/* Prints notes on scenario and trace, and the numbers of skipped rows, as lines "note: ...". */
void input_print_notes(FILE *out, const struct input *input);
void input_print_trace_notes(FILE *out, const struct hr_trace *trace);

/* ---- The next command (next.c) ------------------------------------------------------------------------- */

/* The last line of the tables: a command that is useful next. next.c has the table of rules. */

/* Facts about the result. A rule applies if all of its facts are true. */
enum {
  NEXT_REJECTS = 1 << 0,  /* more than 1 % of the jobs were rejected; of `init`: all jobs */
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
  const char *path;                      /* scenario, grid or trace, as the user wrote it */
  const struct input_args *input;        /* options that the next command repeats; NULL: none */
  const char *trace;                     /* path of the trace; NULL: unknown */
  const struct hr_cluster_spec *cluster; /* the next command has its nodes; NULL: none */
  bool apart;                            /* print an empty line first, since the output ends with a table */
  const char *other;                     /* a file or a list of names, which depends on the verb; may be NULL */
  uint64_t replications;                 /* of the next command; 0: not set */
};

/* Prints the line "next": the command of the first rule that applies. */
void next_step_print(FILE *out, const struct next_step *step);

/* Returns the facts about the scenario and the length of the trace of an input. */
unsigned next_facts_of(const struct input *input);

#endif
