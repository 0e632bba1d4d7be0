/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_RUN_FILES_H
#define HR_CLI_RUN_FILES_H

/* The files that `headroom run` writes, each as its option asks: what must follow the run for them, and the writing. */

#include "cli/metrics.h"
#include "cli/page.h"

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
