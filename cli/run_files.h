/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_RUN_FILES_H
#define HR_CLI_RUN_FILES_H

/* Output files of a run: the HTML report, OpenMetrics, and the files of `headroom run`. Each part adds the observers
   that it needs to the replay, and writes its file after the run. */

#include "cli/input.h"
#include "cli/options.h"
#include "headroom/headroom.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/planning.h"
#include "headroom/unstable/replay.h"

/* ---- HTML report ------------------------------------------------------------------------------------ */

struct page_args {
  const char *report;   /* path; NULL: no report */
  const char *baseline; /* path of the summary to compare with; NULL: none */
  struct command command;
};

/* Rows of an option table. `place` is the offset of a struct page_args. */
#define REPORT_OPTION(place)                                                                                           \
  {                                                                                                                    \
    .name = "report", .kind = OPTION_TEXT, .offset = (place) + offsetof(struct page_args, report), .value = "FILE",    \
    .help = "write an HTML report: one file that needs no network"                                                     \
  }
#define BASELINE_OPTION(place)                                                                                         \
  {                                                                                                                    \
    .name = "baseline", .kind = OPTION_TEXT, .offset = (place) + offsetof(struct page_args, baseline),                 \
    .value = "FILE", .help = "JSON summary of another run, to compare with in the report"                              \
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

/* Checks before a run that a report can be written, and reads the baseline. */
enum hr_status page_prepare(struct page *page, const struct page_args *args, struct hr_error *error);
/* Writes the report of a finished replay. If `replay` is NULL, the report shows only the subject. A caller that has a
   history must close it before. */
enum hr_status page_write(struct page *page, const struct page_subject *subject, const struct hr_replay *replay,
                          const struct hr_perf *perf, struct hr_error *error);
/* Runs `config` only for the report, and writes the report. */
enum hr_status page_run_and_write(struct page *page, const struct page_subject *subject,
                                  const struct hr_replay_config *config, struct hr_error *error);
void page_finish(struct page *page);

/* ---- OpenMetrics ------------------------------------------------------------------------------------ */

struct metrics_args {
  const char *file, *step, *by; /* NULL: not set */
};

struct metrics {
  struct hr_openmetrics_config config;
  struct hr_openmetrics_size size; /* set when the file is written */
  struct hr_gpu_watts *watts;
};

/* ---- Files of a run --------------------------------------------------------------------------------- */

struct run_file_args {
  const char *priorities, *shares;
  /* NULL: not set; "-": standard output */
  const char *jobs, *timeline, *averages, *json, *costs, *md, *perfetto;
  uint64_t intervals; /* of the averages; 0: not set */
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

/* run_files_wanted: whether any file is written. run_files_to_stdout: whether a file is written to standard output. */
static inline bool run_files_wanted(const struct run_file_args *args) {
  return args->json || args->jobs || args->timeline || args->averages || args->priorities || args->shares ||
         args->costs || args->md || args->perfetto || args->openmetrics.file || args->page.report;
}
static inline bool run_files_to_stdout(const struct run_file_args *args) {
  return is_stdout(args->json) || is_stdout(args->jobs) || is_stdout(args->timeline) || is_stdout(args->averages) ||
         is_stdout(args->costs) || is_stdout(args->priorities) || is_stdout(args->shares) || is_stdout(args->md) ||
         is_stdout(args->perfetto) || is_stdout(args->openmetrics.file) || is_stdout(args->page.report);
}
/* Whether a file contains the cost of each job. */
static inline bool run_files_need_job_costs(const struct run_file_args *args) {
  return args->jobs || args->perfetto || args->page.report;
}
/* Checks the options. The scenario must have been loaded. */
enum hr_status run_files_init(struct run_files *files, const struct run_file_args *args, const struct input *input,
                              struct hr_error *error);
/* Adds the observers that the files need to a replay. */
enum hr_status run_files_follow(struct run_files *files, struct hr_replay *replay, struct hr_error *error);
enum hr_status run_files_write(struct run_files *files, const struct hr_replay *replay,
                               const struct hr_run_label *label, const struct hr_perf *perf, struct hr_error *error);
/* Prints notes on the files. */
void run_files_print_notes(FILE *out, const struct run_files *files);
void run_files_finish(struct run_files *files);

/* ---- Inference services (run_services.c) -------------------------------------------------------- */

/* Whether a scenario has services. */
bool has_services(const struct hr_scenario *scenario);
/* Prints warnings about services, and their tables if `wants_table` is set. */
void print_services(const struct hr_replay *replay, bool wants_table);
/* Returns HR_CHECK_FAILED if there are services, and no request was completed. */
enum hr_status require_served(const struct hr_replay *replay, struct hr_error *error);

/* Makes the requests of all services, and prints a line for each service. */
enum hr_status validate_services(const struct hr_scenario *scenario, struct hr_error *error);

#endif
