/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_CLI_H
#define HR_CLI_CLI_H

/*
 * The program: options, the process, verbs, their input, the line that suggests the next command, and the output of
 * runs.
 *
 * A verb is a command of the program, `headroom VERB`. An action is a command of a verb, `headroom VERB ACTION`. main.c
 * lists the verbs, and each verb lists its actions.
 */

#include "headroom/base.h"
#include "headroom/headroom.h"
#include "headroom/scenario.h"
#include "headroom/sim.h"
#include "headroom/unstable/compare.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/metrics.h"
#include "headroom/unstable/planning.h"
#include "headroom/unstable/replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Options ---------------------------------------------------------------------------------------- */

/* The words of the command line, borrowed. */
struct command {
  int count;
  char **words;
};

/* Each verb has a table of options. Parsing, the check of bounds, and help use the same table. */

enum option_kind {
  OPTION_FLAG,  /* bool */
  OPTION_TEXT,  /* const char *, borrowed from the command line */
  OPTION_LIST,  /* struct words; may be repeated */
  OPTION_WHOLE, /* uint64_t */
  OPTION_REAL   /* double */
};

/* The rows of tables list the members in this order. */
struct option {
  const char *name; /* without "--"; NULL ends the table */
  enum option_kind kind;
  size_t offset;     /* of the value in the verb's struct of arguments */
  const char *value; /* name of the value in the help; NULL for a flag */
  const char *help;
  double min, max; /* bounds of numbers, inclusive */
  char letter;     /* short form; 0: the option has none */
};

/* A list of texts borrowed from the command line; at[count] is NULL unless the list is empty. */
struct words {
  const char **at;
  size_t count;
};
/* words_add appends a text; returns HR_OK or HR_NO_MEMORY. words_finish frees the list, not the texts. */
enum hr_status words_add(struct words *words, const char *text, struct hr_error *error);
void words_finish(struct words *words);

static inline enum hr_status no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory");
}

/* Returns `status`, which is that of printing, and sets the error if it is not HR_OK. `what` is what was printed. */
static inline enum hr_status printed(enum hr_status status, const char *what, struct hr_error *error) {
  return status == HR_OK ? HR_OK : hr_fail(error, status, "cannot print the %s: %s", what, hr_status_meaning(status));
}

/* Returns the number of parts of a text that are separated by commas. */
static inline size_t count_parts(const char *text) {
  size_t count = 1;
  for (; *text; text++) count += *text == ',';
  return count;
}

/* Parses the words of a command line after the verb, writes the values of options to `args`, and adds the other words
   to `operands`. `args` must contain the defaults. If an option that is not a list is repeated, the last value applies,
   but a repeated --policies is an error. After the word "--", all words are operands. Returns HR_BAD_INPUT for usage
   errors. The caller must call options_finish and words_finish, even after an error. */
enum hr_status options_parse(const struct option *options, int argc, char **argv, void *args, struct words *operands,
                             struct hr_error *error);
/* Frees the lists in `args`. */
void options_finish(const struct option *options, void *args);

/* Prints the options with their help, 80 columns wide. If `defaults` is not NULL, prints the default of each number;
   `defaults` is a struct of arguments that contains them. */
void options_print(FILE *out, const struct option *options, const void *defaults);
/* Prints text wrapped at 80 columns. The first line starts at `column`, and the cursor must be there. The following
   lines are indented by `indent`. */
void print_wrapped(FILE *out, const char *text, size_t column, size_t indent);
/* Prints the text that a function writes, wrapped at 80 columns. `what` is passed to the function. If memory is
   exhausted, the text is not wrapped. */
typedef void text_writer(FILE *out, const void *what);
void print_wrapped_from(FILE *out, text_writer *write, const void *what, size_t column, size_t indent);

/* Parse all of `text` as a whole number from 0 to 2^64-1, or as a finite real number. Return false if the text is not
   such a number. */
bool parse_whole(const char *text, uint64_t *value);
static inline bool parse_real(const char *text, double *value) {
  char *end;
  *value = strtod(text, &end);
  return end != text && *end == '\0' && isfinite(*value);
}

/* Sets the error "unknown LABEL 'word'; did you mean ...?" with the known words. `known` ends with NULL. Returns
   HR_BAD_INPUT. */
enum hr_status unknown_word(const char *label, const char *word, const char *const *known, struct hr_error *error);
/* Sets `*place` to the place of a word in the list `known`, which ends with NULL. If the word is unknown, returns the
   error of unknown_word. */
enum hr_status find_word(const char *label, const char *word, const char *const *known, unsigned *place,
                         struct hr_error *error);
/* Parses the value of an option --seed. */
enum hr_status parse_seed(const char *text, uint64_t *seed, struct hr_error *error);

/* Changes that options make to a scenario: texts "path=value", in the notation of --set. */

struct overrides {
  struct words words;
  struct words owned; /* the words that overrides_finish() frees; the others are borrowed */
};

/* Adds the override "PATH=VALUE". Copies both texts. Returns HR_OK or HR_NO_MEMORY. */
enum hr_status overrides_add(struct overrides *overrides, const char *path, const char *value, struct hr_error *error);
/* Checks a policy in the notation of --policy, NAME[:KEY=VALUE,...], and adds its overrides. Returns HR_BAD_INPUT for
   an invalid policy. Errors name `option`. */
enum hr_status overrides_add_policy(struct overrides *overrides, const char *option, const char *policy,
                                    struct hr_error *error);
void overrides_finish(struct overrides *overrides);

/* Parses the horizon of a forecast in months, "3" or "3mo", from 1 to HR_MAX_FORECAST_MONTHS. Returns HR_BAD_INPUT for
   any other text. Errors name `option`. */
enum hr_status parse_months(const char *option, const char *text, uint32_t *months, struct hr_error *error);

/* ---- The process ------------------------------------------------------------------------------------ */

/* The program as a process: resources, signals, the terminal and its progress bar. */

/* Returns the number of threads to use: `asked` or, if it is 0, the number of processors, at most HR_MAX_THREADS. */
uint32_t count_threads(uint64_t asked);
/* Returns the number of threads to use in a verb that shares its runs among the ranks of an MPI job. An MPI job usually
   has one rank per processor, so the default is 1 if an MPI launcher started this process. */
uint32_t count_rank_threads(uint64_t asked);
/* Joins the ranks of the MPI job of this process, if there is one, and checks that all ranks have the same command. The
   first of the `n_words` words, the name of the program, is ignored. The caller must call hr_ranks_leave, even after an
   error. */
enum hr_status ranks_start(struct hr_ranks *ranks, int n_words, char *const *words, struct hr_error *error);
/* Returns the time of the monotonic clock, in seconds. */
double clock_s(void);
/* Returns the peak resident memory of the process, in MiB; 0 if unknown. */
double peak_rss_mib(void);
/* Returns true if standard output has colours: never if NO_COLOR is set, always if CLICOLOR_FORCE is set, otherwise if
   it is a terminal that is not "dumb". */
bool wants_colour(void);
/* Returns the style of standard output: HR_STYLE_COLOUR if colours are used, combined with HR_STYLE_UNICODE if the
   locale is UTF-8 and the terminal is not "dumb". */
unsigned terminal_style(void);

/* After this call, a signal that ends the program (SIGINT, SIGTERM, ...) also removes unfinished output files. Ignored
   signals remain ignored. A write beyond the limit on the file size fails and no longer ends the program. */
void signals_discard_unfinished(void);
/* After this call, an error names the plug-in policy if it crashes or does not return within a limit of CPU time. The
   limit is HEADROOM_POLICY_LIMIT_S seconds, an environment variable; if it is not set or invalid, 60 s. */
void signals_guard_policies(void);

/* A progress bar on standard error if that is a terminal; otherwise nothing is drawn. It shows the share that is done,
   the numbers of jobs or runs, and the remaining time at the mean speed so far. */

/* What a bar counts: jobs, or runs. */
struct progress_unit {
  /* number of jobs per run if the bar counts runs; 0 if it counts jobs. The callback always receives numbers of jobs.
     If there is only one run, the bar counts jobs */
  uint64_t jobs_per_run;
  bool grows; /* the number of runs is not known in advance: it grows while a search requests more */
};

struct progress_bar {
  double begin_s; /* time of clock_s() at the start */
  double next_s;  /* time of clock_s() before which the bar is not updated */
  struct progress_unit unit;
  bool drawn;
};

/* Starts a bar that counts jobs, and returns the callback for the run. If `wanted` is false or standard error is not a
   terminal, nothing is drawn. */
struct hr_progress progress_bar_start(struct progress_bar *bar, bool wanted);
/* Sets what a bar counts. Must be called after its start. */
static inline void progress_bar_count(struct progress_bar *bar, uint64_t jobs_per_run, bool grows) {
  bar->unit = (struct progress_unit){jobs_per_run, grows};
}
/* Erases the bar. */
static inline void progress_bar_stop(struct progress_bar *bar) {
  if (bar->drawn) fputs("\r\033[K", stderr);
}

/* ---- Verbs ------------------------------------------------------------------------------------------ */

struct verb {
  const char *name; /* the name of an action includes its verb: "trace generate" */
  /* list of actions that ends with NULL; if the pointer itself is NULL, the verb has no actions. Of a verb with
     actions, only the members `name`, `summary` and `actions` are used. */
  const struct verb *const *actions;
  const char *operands; /* as printed in the usage line: "[NAME]" may be left out, "NAME..." may be repeated */
  const char *summary;
  const char *details; /* help text that follows the options; may be NULL */
  const struct option *options;
  /* size of the struct to which the options write their values */
  size_t args_bytes;
  void (*set_defaults)(void *args); /* NULL: all values are zero by default */
  size_t command_at; /* offset in that struct of a struct command, which gets the command line; 0: none */
  bool on_ranks;     /* the ranks of an MPI job share the runs of this verb, and only rank 0 has output */
  enum hr_status (*run)(const void *args, const struct words *operands, struct hr_error *error);
};

extern const struct verb verb_run, verb_report, verb_why, verb_compare, verb_check, verb_plan, verb_advise, verb_sweep,
    verb_merge, verb_fill, verb_forecast, verb_validate, verb_init, verb_list, verb_trace, verb_conform, verb_import,
    verb_diff, verb_fit, verb_tco, verb_serve;
/* Actions of `trace`. */
extern const struct verb verb_trace_generate, verb_trace_convert, verb_trace_cut, verb_trace_scale, verb_trace_merge,
    verb_trace_anonymise, verb_trace_shuffle;

/* Runs a command (its first word is the program), reports its error, and returns its exit code. Workers of `headroom
   serve` run several commands in one process. */
int run_command(int argc, char **argv);

/* ---- Output files that options name ----------------------------------------------------------------- */

/* An option that names an output file, and its path. NULL: not set; "-": standard output. */
struct output {
  const char *option, *path;
};

static inline bool is_stdout(const char *path) {
  return path && strcmp(path, "-") == 0;
}

/* Checks before a run that each output is writable, that no two outputs are the same file, and that no output is an
   input, or a file that a parameter of the trace format names ("pai2020:jobs=FILE"; NULL: no format). Returns
   HR_BAD_INPUT if a check fails; the error names the option. */
enum hr_status outputs_check(const struct output *outputs, size_t n_outputs, const char *const *inputs, size_t n_inputs,
                             const char *format, struct hr_error *error);

/* ---- Input ------------------------------------------------------------------------------------------ */

/* The input of most verbs: a scenario, the options that change it, and its trace. */

struct input_args {
  const char *trace, *format, *map, *policy, *seed;
  const char *replications; /* only for verbs with the option --replications */
  struct words set;
  struct words classes, tenants; /* rules for classes and tenants: VALUE=COLUMN~PATTERN */
  bool lenient;
};

/* Sets the built-in catalogue that later calls of input_open use. It is borrowed. NULL: input_open reads the catalogue
   for each scenario. `headroom serve` sets it before it forks, so that no worker reads it again. */
void input_share_catalog(const struct hr_catalog *catalog);

/* The offset of the member `field` of struct input_args, for a row of an option table. The verb's struct of arguments,
   `struct args`, must have a member `struct input_args input`. */
#define INPUT_OPTION(args, field) offsetof(struct args, input) + offsetof(struct input_args, field)

/* Options for reading a trace. Verbs without a scenario use them too. */
#define TRACE_OPTIONS(args)                                                                                            \
  {"format", OPTION_TEXT, INPUT_OPTION(args, format), "FORMAT",                                                        \
   "format of the trace (see 'headroom list formats'); auto: recognised by content"},                                  \
      {"map", OPTION_TEXT, INPUT_OPTION(args, map), "FIELD=COLUMN,...",                                                \
       "columns of the trace, e.g. submit=arrival_s,duration=service_sec,gpus=gpu_count for CSV, or class=QOS"},       \
      {"class", OPTION_LIST, INPUT_OPTION(args, classes), "CLASS=COLUMN~PATTERN",                                      \
       "class of the jobs in which COLUMN matches a regular expression, e.g. 'interactive=JobName~^jupyter'; may be "  \
       "repeated"},                                                                                                    \
      {"tenant-by", OPTION_LIST, INPUT_OPTION(args, tenants), "TENANT=COLUMN~PATTERN",                                 \
       "tenant of the jobs in which COLUMN matches a regular expression; may be repeated"},                            \
  {                                                                                                                    \
    "lenient", OPTION_FLAG, INPUT_OPTION(args, lenient), NULL,                                                         \
        "skip bad rows of the trace and list them by reason, instead of failing at the first one"                      \
  }

#define INPUT_OPTIONS(args)                                                                                            \
  {"trace", OPTION_TEXT, INPUT_OPTION(args, trace), "FILE",                                                            \
   "the trace to replay, instead of the scenario's: plain, gzip or zstd; '-' for standard input"},                     \
      TRACE_OPTIONS(args),                                                                                             \
      {"policy", OPTION_TEXT, INPUT_OPTION(args, policy), "NAME[:KEY=VALUE,...]",                                      \
       "the policy and its parameters (see 'headroom list policies'), e.g. queue:order=sjf,backfill=easy"},            \
      {"set", OPTION_LIST, INPUT_OPTION(args, set), "PATH=VALUE",                                                      \
       "set a key of the scenario, e.g. cluster.pools.0.nodes=56; may be repeated"},                                   \
  {                                                                                                                    \
    "seed", OPTION_TEXT, INPUT_OPTION(args, seed), "N", "random seed, 0 to 2^64-1, instead of the scenario's"          \
  }

/* Options of most verbs. The verb's struct of arguments, `struct args`, must have the members `bool quiet` and
   `uint64_t threads` (0: not set). */
#define QUIET_OPTION(args)                                                                                             \
  {                                                                                                                    \
    "quiet", OPTION_FLAG, offsetof(struct args, quiet), NULL,                                                          \
        "print no table, notes or progress bar; errors are still printed", .letter = 'q'                               \
  }
#define THREADS_OPTION(args)                                                                                           \
  {                                                                                                                    \
    "threads", OPTION_WHOLE, offsetof(struct args, threads), "N",                                                      \
        "number of parallel runs (default: number of processors); does not change results", 1, HR_MAX_THREADS          \
  }
/* The same for verbs whose runs are shared by the ranks of an MPI job. */
#define RANK_THREADS_OPTION(args)                                                                                      \
  {                                                                                                                    \
    "threads", OPTION_WHOLE, offsetof(struct args, threads), "N",                                                      \
        "number of parallel runs (default: number of processors; under mpirun per rank, default: 1); does not change " \
        "results",                                                                                                     \
        1, HR_MAX_THREADS                                                                                              \
  }

/* The input of a run: scenario and trace. */
struct input {
  struct hr_scenario *scenario;
  const char *trace_path; /* borrowed; NULL if no trace is named, neither by the scenario nor by an option */
  const char *format;     /* format of the trace, borrowed; NULL: not named */
  struct hr_trace *trace;
  double load_s;              /* time that reading the trace took, in seconds */
  struct overrides overrides; /* the scenario was loaded with these */
  bool untimed;               /* the trace may lack times, since only requests are needed; set it after input_open */
  bool streamed;              /* the trace is mapped instead of loaded; set it after input_open */
  bool allows_services;       /* the scenario may have services and no trace; set it after input_open */
  bool no_stdin; /* several ranks read the trace, so it cannot be standard input; set it after input_open */
};

/* Loads the scenario at `path` with the overrides that the options make. The caller must call input_finish, even after
   an error. */
enum hr_status input_open(struct input *input, const char *path, const struct input_args *args, struct hr_error *error);
/* Checks that a trace is named, that all outputs are writable, and that no output is an input file. With
   `allows_services`, a scenario with services needs no trace. Returns HR_BAD_INPUT if a check fails. */
enum hr_status input_check_outputs(const struct input *input, const char *scenario_path, const struct output *outputs,
                                   size_t n_outputs, struct hr_error *error);
/* Reads the trace that an option names or, if no option does, the trace of the scenario. If neither names a trace,
   input->trace becomes a trace without jobs. */
enum hr_status input_read_trace(struct input *input, const struct input_args *args, struct hr_error *error);
/* Returns the cost of running a verb: the time since `begin_s` (clock_s), and that of reading the input. */
struct hr_perf input_perf(const struct input *input, double begin_s);
void input_finish(struct input *input);
/* Reads a trace without a scenario. Uses the options of TRACE_OPTIONS. `spooled`: with columns in files if possible
   (struct hr_trace_options). The caller destroys `*trace`. */
enum hr_status input_read_trace_alone(const char *path, const struct input_args *args, bool spooled,
                                      struct hr_trace **trace, struct hr_error *error);

/* Warns on standard error, even with --quiet, if more than 1 % of the jobs are rejected. `cluster` is the one of the
   run. */
void input_warn_rejected(const struct input *input, const struct hr_cluster_spec *cluster,
                         const struct hr_rejections *rejections);
/* Returns HR_CHECK_FAILED, with an error, if there are jobs and all of them are rejected; otherwise HR_OK. */
enum hr_status input_require_accepted(const struct input *input, const struct hr_rejections *rejections,
                                      struct hr_error *error);
/* Counts the jobs that can never run on the cluster of a scenario, as hr_rejections_predict does. */
enum hr_status input_predict_rejected(const struct input *input, const struct hr_scenario *scenario,
                                      struct hr_rejections *rejections, struct hr_error *error);

/* Prints notes, each as a line "note: ..."; a note that begins with "warning: " is printed as it is. */
void notes_print(FILE *out, const struct hr_notes *notes);
/* Print notes and the numbers of skipped rows as lines "note: ...": of the scenario and its trace, or of a trace. */
void input_print_notes(FILE *out, const struct input *input);
void input_print_trace_notes(FILE *out, const struct hr_trace *trace);

/* ---- The next command ------------------------------------------------------------------------------- */

/* The last line of the tables: a command that is useful next. A table of rules determines it (input.c). */

/* Facts about the result. A rule applies if all of its facts are true. */
enum {
  NEXT_REJECTS = 1 << 0,  /* more than 1 % of the jobs were rejected; of `init`: all jobs */
  NEXT_WAITS = 1 << 1,    /* more than 5 % of the jobs wait for more than 10 minutes */
  NEXT_IDLE = 1 << 2,     /* idle capacity is more than a fifth of the cost */
  NEXT_PLANNED = 1 << 3,  /* the scenario has a plan */
  NEXT_UNPRICED = 1 << 4, /* the scenario has no prices */
  NEXT_FAILED = 1 << 5,   /* no mix meets the goals; a check failed; runs are missing */
  NEXT_BRIEF = 1 << 6,    /* a part of the analysis was skipped */
  NEXT_LONG = 1 << 7,     /* the trace has at least six weeks, enough for a forecast with a trend */
  NEXT_EXACT = 1 << 8     /* nothing was random, and the trace has at least five days to draw from */
};

struct next_step {
  const char *verb; /* that has run, such as "trace check" */
  unsigned facts;
  const char *path;                      /* scenario, grid or trace, as the user wrote it */
  const struct input_args *input;        /* options that the next command repeats; NULL: none */
  const char *trace;                     /* path of the trace; NULL: unknown */
  const struct hr_cluster_spec *cluster; /* the next command contains its numbers of nodes; NULL: none */
  bool apart;                            /* print an empty line first, since the output ends with a table */
  const char *other;                     /* a file or a list of names, which depends on the verb; may be NULL */
  uint64_t replications;                 /* of the next command; 0: not set */
  const char *forecast;                  /* of the next command: the value of --forecast; NULL: not set */
  double growth;                         /* of the next command: the value of --growth; 0: not set */
};

/* Prints the line "next": the command of the first rule that applies. Prints nothing if none applies. */
void next_step_print(FILE *out, const struct next_step *step);

/* Returns the facts that follow from the scenario and the length of its trace: NEXT_PLANNED, NEXT_UNPRICED, NEXT_EXACT
   and NEXT_LONG. */
unsigned next_facts_of(const struct input *input);

/* ---- Output of a run: the HTML report --------------------------------------------------------------- */

/* Each output file adds the observers that it needs to the replay, and is written after the run. */

struct page_args {
  const char *report;   /* path; NULL: no report */
  const char *baseline; /* path of the summary to compare with; NULL: none */
  struct command command;
};

/* Rows of an option table. `place` is the offset of a struct page_args. */
#define REPORT_OPTION(place)                                                                                           \
  {                                                                                                                    \
    "report", OPTION_TEXT, (place) + offsetof(struct page_args, report), "FILE",                                       \
        "write an HTML report: one file that needs no network"                                                         \
  }
#define BASELINE_OPTION(place)                                                                                         \
  {                                                                                                                    \
    "baseline", OPTION_TEXT, (place) + offsetof(struct page_args, baseline), "FILE",                                   \
        "JSON summary of another run, to compare with in the report"                                                   \
  }

/* The state of a report. Must be initialized to zero. */
struct page {
  const struct page_args *args;
  const struct input *input; /* of the run, to search for savings; NULL: they are not searched */
  const char *const *set;    /* [n_set] if a plan has chosen the run: the settings of the choice */
  size_t n_set;
  char *baseline;
  struct hr_history *own_history; /* NULL if the caller has a history */
  const struct hr_history *history;
  struct hr_page_watch *watch;
  struct hr_waits *waits;
};

/* The subject that a report shows in addition to one run: a comparison, a plan, a sweep or costs of ownership. */
struct page_subject {
  const char *kind;                         /* "run", "compare", "plan", "sweep", "tco" */
  const char *title;                        /* NULL: the scenario's name */
  const char *compare, *plan, *sweep, *tco; /* JSON of the subject; NULL: none */
  const struct hr_notes *notes;             /* notes on the subject; NULL: none */
};

/* Checks before a run that a report can be written, and reads the baseline. The caller must call page_finish, even
   after an error. */
enum hr_status page_prepare(struct page *page, const struct page_args *args, struct hr_error *error);
/* Writes the report of a finished replay. If `replay` is NULL, the report shows only the subject. A caller that has a
   history must close it before. */
enum hr_status page_write(struct page *page, const struct page_subject *subject, const struct hr_replay *replay,
                          const struct hr_perf *perf, struct hr_error *error);
/* Runs `config` only for the report, and writes the report. */
enum hr_status page_run_and_write(struct page *page, const struct page_subject *subject,
                                  const struct hr_replay_config *config, struct hr_error *error);
void page_finish(struct page *page);

/* Returns the label of the output of a run, without alerts and timeline. */
struct hr_run_label run_label(const struct hr_replay_config *config, const struct hr_notes *const *notes,
                              size_t n_notes);

/* ---- Output of a run: OpenMetrics ------------------------------------------------------------------- */

struct metrics_args {
  const char *file, *step, *by; /* NULL: not set */
};

struct metrics {
  struct hr_openmetrics_config config;
  struct hr_openmetrics_size size; /* set when the file is written */
  struct hr_gpu_watts *watts;
};

/* ---- Output of a run: files of a run ---------------------------------------------------------------- */

struct run_file_args {
  const char *priorities, *shares;
  /* NULL: not set; "-": standard output */
  const char *jobs, *timeline, *averages, *json, *costs, *md, *perfetto;
  uint64_t intervals; /* number of intervals of the averages; 0: the default */
  struct metrics_args openmetrics;
  struct page_args page;
};

/* The state of the output files. Must be initialized to zero. */
struct run_files {
  const struct run_file_args *args;
  struct hr_placements *placements;          /* only for --jobs */
  struct hr_timeline *timeline;              /* only for --timeline */
  struct hr_averages *averages;              /* only for --averages */
  struct hr_value_file *priorities, *shares; /* only for the options of these names */
  struct hr_values values;
  struct hr_history *history; /* history, counts: only for --perfetto and --openmetrics */
  struct hr_counts *counts;
  struct metrics metrics;
  struct page page;
};

/* run_files_wanted returns true if some file is written, run_files_to_stdout if one is written to standard output. */
static inline bool run_files_wanted(const struct run_file_args *args) {
  return args->json || args->jobs || args->timeline || args->averages || args->priorities || args->shares ||
         args->costs || args->md || args->perfetto || args->openmetrics.file || args->page.report;
}
static inline bool run_files_to_stdout(const struct run_file_args *args) {
  return is_stdout(args->json) || is_stdout(args->jobs) || is_stdout(args->timeline) || is_stdout(args->averages) ||
         is_stdout(args->costs) || is_stdout(args->priorities) || is_stdout(args->shares) || is_stdout(args->md) ||
         is_stdout(args->perfetto) || is_stdout(args->openmetrics.file) || is_stdout(args->page.report);
}
/* Returns true if some file contains the cost of each job. */
static inline bool run_files_need_job_costs(const struct run_file_args *args) {
  return args->jobs || args->perfetto || args->page.report;
}
/* Checks the options. The scenario of `input` must be loaded. The caller must call run_files_finish, even after an
   error. */
enum hr_status run_files_init(struct run_files *files, const struct run_file_args *args, const struct input *input,
                              struct hr_error *error);
/* Adds the observers that the files need to a replay. */
enum hr_status run_files_follow(struct run_files *files, struct hr_replay *replay, struct hr_error *error);
/* Writes all files after the run, and publishes them under their names. */
enum hr_status run_files_write(struct run_files *files, const struct hr_replay *replay,
                               const struct hr_run_label *label, const struct hr_perf *perf, struct hr_error *error);
/* Prints notes on the files. */
void run_files_print_notes(FILE *out, const struct run_files *files);
void run_files_finish(struct run_files *files);

/* ---- Output of a run: inference services ------------------------------------------------------------ */

/* Returns true if a scenario has services. */
bool has_services(const struct hr_scenario *scenario);
/* Prints warnings about services, and their tables if `wants_table` is set. */
void print_services(const struct hr_replay *replay, bool wants_table);
/* Returns HR_CHECK_FAILED, with an error, if there are services and no request was completed; otherwise HR_OK. */
enum hr_status require_served(const struct hr_replay *replay, struct hr_error *error);

/* Reads or draws the requests of all services, and prints a line for each service. Prints warnings about replicas that
   fit in no pool, and notes on goals. */
enum hr_status validate_services(const struct hr_scenario *scenario, struct hr_error *error);

#endif
