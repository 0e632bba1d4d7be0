/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_RUN_FILES_H
#define HR_CLI_RUN_FILES_H

/* The page of `headroom report` and of --report: what must follow a run for it, and the writing. */

#include "cli/input.h"
#include "cli/options.h"
#include "headroom/headroom.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/replay.h"

struct page_args {
  const char *report;   /* path; NULL: no page is asked for */
  const char *baseline; /* path of a summary to compare with; NULL: none */
  struct command command;
};

/* Entry of an option table; `place`: the offset of a struct page_args. */
#define REPORT_OPTION(place)                                                                                           \
  {                                                                                                                    \
    .name = "report", .kind = OPTION_TEXT, .offset = (place) + offsetof(struct page_args, report), .value = "FILE",    \
    .help = "write a page to be looked at in a browser: one HTML file that needs no network"                           \
  }
#define BASELINE_OPTION(place)                                                                                         \
  {                                                                                                                    \
    .name = "baseline", .kind = OPTION_TEXT, .offset = (place) + offsetof(struct page_args, baseline),                 \
    .value = "FILE", .help = "the JSON summary of another run, which the page sets beside this one"                    \
  }

/* All zero at first. */
struct page {
  const struct page_args *args;
  char *baseline;
  struct hr_history *history; /* its own; NULL where it has another's */
  const struct hr_history *told;
  struct hr_page_watch *watch;
  struct hr_waits *waits;
};

/* What a page is of, beside the run that it shows. */
struct page_subject {
  const char *kind;                   /* "run", "compare", "plan", "sweep" */
  const char *title;                  /* NULL: the scenario's name */
  const char *compare, *plan, *sweep; /* JSON; NULL: it is of none */
  const struct hr_notes *notes;       /* on those; NULL: none */
};

/* Whether a page can be written, told before a long run; reads the baseline. */
enum hr_status page_prepare(struct page *page, const struct page_args *args, struct hr_error *error);
/* Adds to a replay, whose ledger keeps each job's cost, what must follow it. `history`: one that is told of the run
   anyway; NULL: the page has its own. */
enum hr_status page_follow(struct page *page, struct hr_replay *replay, const struct hr_history *history,
                           struct hr_error *error);
/* Writes the page of a replay that was run, or, it being NULL, of the subject alone. A history that is not the page's
   own is closed. */
enum hr_status page_write(struct page *page, const struct page_subject *subject, const struct hr_replay *replay,
                          const struct hr_perf *perf, struct hr_error *error);
/* Runs what `config` says for the page alone, and writes it. */
enum hr_status page_run_and_write(struct page *page, const struct page_subject *subject,
                                  const struct hr_replay_config *config, struct hr_error *error);
void page_finish(struct page *page);

/* What --openmetrics and the options beside it ask for. */

struct metrics_args {
  const char *file, *step, *by; /* NULL: not given */
};

struct metrics {
  struct hr_openmetrics_config config;
  struct hr_openmetrics_size size; /* once they are written */
  struct hr_gpu_watts *watts;
};

/* Reads the options, and what the scenario's GPUs draw from its catalogue; does nothing without a file. To be finished
   whatever is returned. */
enum hr_status metrics_init(struct metrics *metrics, const struct metrics_args *args, const struct input *input,
                            struct hr_error *error);
void metrics_finish(struct metrics *metrics);
/* Says how long a step is, if nobody asked for it, and how much was written. */
void metrics_print_note(FILE *out, const struct metrics *metrics, const struct metrics_args *args);

/* The files that `headroom run` writes, each as its option asks: what must follow the run for them, and the writing. */

struct run_file_args {
  const char *jobs, *timeline, *json, *costs, *md, *perfetto; /* NULL: not asked for; "-": standard output */
  struct metrics_args openmetrics;
  struct page_args page;
};

/* All zero at first. */
struct run_files {
  const struct run_file_args *args;
  struct hr_placements *placements; /* only for --jobs */
  struct hr_timeline *timeline;     /* only for --timeline */
  struct hr_history *history;       /* these two only for --perfetto and --openmetrics */
  struct hr_counts *counts;
  struct metrics metrics;
  struct page page;
};

/* Whether any is asked for. */
bool run_files_wanted(const struct run_file_args *args);
bool run_files_to_stdout(const struct run_file_args *args);
/* Whether each job's cost is told by one of them. */
bool run_files_tell_job_costs(const struct run_file_args *args);
/* Once the scenario is known: whether the options make sense, and a page can be made. */
enum hr_status run_files_init(struct run_files *files, const struct run_file_args *args, const struct input *input,
                              struct hr_error *error);
/* Adds to a replay what must follow it. */
enum hr_status run_files_follow(struct run_files *files, struct hr_replay *replay, struct hr_error *error);
enum hr_status run_files_write(struct run_files *files, const struct hr_replay *replay,
                               const struct hr_run_label *label, const struct hr_perf *perf, struct hr_error *error);
/* What is to be said of what was written. */
void run_files_print_notes(FILE *out, const struct run_files *files);
void run_files_finish(struct run_files *files);

#endif
