/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/run_files.h"

#include "cli/outputs.h"

bool run_files_wanted(const struct run_file_args *args) {
  return args->json || args->jobs || args->timeline || args->costs || args->md || args->perfetto ||
         args->openmetrics.file || args->page.report;
}

bool run_files_to_stdout(const struct run_file_args *args) {
  return is_stdout(args->json) || is_stdout(args->jobs) || is_stdout(args->timeline) || is_stdout(args->costs) ||
         is_stdout(args->md) || is_stdout(args->perfetto) || is_stdout(args->openmetrics.file) ||
         is_stdout(args->page.report);
}

bool run_files_tell_job_costs(const struct run_file_args *args) {
  return args->jobs || args->perfetto || args->page.report;
}

/* ---- Following -------------------------------------------------------------------------------------- */

static enum hr_status follow_placements(struct run_files *files, struct hr_replay *replay, struct hr_error *error) {
  files->placements = hr_placements_create(replay->config.trace);
  if (!files->placements) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  return hr_replay_add(replay, hr_placements_fold(files->placements), error);
}

static enum hr_status follow_timeline(struct run_files *files, struct hr_replay *replay, struct hr_error *error) {
  enum hr_status status =
      hr_timeline_create(files->args->timeline, replay->config.trace, replay->usage, &files->timeline, error);
  return status == HR_OK ? hr_replay_add(replay, hr_timeline_fold(files->timeline), error) : status;
}

static enum hr_status follow_all(struct run_files *files, struct hr_replay *replay, struct hr_error *error) {
  files->history = hr_history_create(replay->config.trace);
  files->counts = hr_counts_create();
  if (!files->history || !files->counts) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  enum hr_status status = hr_replay_add(replay, hr_history_fold(files->history), error);
  return status == HR_OK ? hr_replay_add(replay, hr_counts_fold(files->counts), error) : status;
}

enum hr_status run_files_init(struct run_files *files, const struct run_file_args *args, const struct input *input,
                              struct hr_error *error) {
  files->args = args;
  enum hr_status status = metrics_init(&files->metrics, &args->openmetrics, input, error);
  return status == HR_OK ? page_prepare(&files->page, &args->page, error) : status;
}

enum hr_status run_files_follow(struct run_files *files, struct hr_replay *replay, struct hr_error *error) {
  const struct run_file_args *args = files->args;
  enum hr_status status = HR_OK;
  if (args->jobs) status = follow_placements(files, replay, error);
  if (status == HR_OK && args->timeline) status = follow_timeline(files, replay, error);
  if (status == HR_OK && (args->perfetto || args->openmetrics.file)) status = follow_all(files, replay, error);
  if (status == HR_OK && args->page.report) status = page_follow(&files->page, replay, files->history, error);
  return status;
}

/* ---- Writing ---------------------------------------------------------------------------------------- */

static enum hr_status write_exports(struct run_files *files, const struct hr_replay *replay,
                                    const struct hr_run_label *label, struct hr_error *error) {
  const struct run_file_args *args = files->args;
  const struct hr_export run = {.trace = replay->config.trace,
                                .cluster = &replay->config.scenario->cluster,
                                .result = replay->result,
                                .history = files->history,
                                .counts = files->counts,
                                .ledger = replay->ledger,
                                .label = label};
  enum hr_status status = hr_history_close(files->history, replay->result);
  if (status != HR_OK) return hr_fail(error, status, "out of memory for what happened to each job");
  if (args->perfetto) status = hr_perfetto_write(args->perfetto, &run, error);
  if (status == HR_OK && args->openmetrics.file)
    status = hr_openmetrics_write(args->openmetrics.file, &run, &files->metrics.config, &files->metrics.size, error);
  return status;
}

enum hr_status run_files_write(struct run_files *files, const struct hr_replay *replay,
                               const struct hr_run_label *label, const struct hr_perf *perf, struct hr_error *error) {
  const struct run_file_args *args = files->args;
  const struct hr_summary *summary = replay->summary;
  enum hr_status status = HR_OK;
  if (args->jobs)
    status = hr_jobs_write(args->jobs, replay->config.trace, &replay->config.scenario->cluster, replay->result,
                           files->placements, replay->ledger, error);
  if (status == HR_OK && args->timeline) status = hr_timeline_finish(files->timeline, error);
  if (status == HR_OK && args->costs) status = hr_costs_write(args->costs, summary->costs, error);
  if (status == HR_OK && files->history) status = write_exports(files, replay, label, error);
  if (status == HR_OK && args->json) status = hr_summary_write_json(args->json, summary, label, perf, error);
  if (status == HR_OK && args->md) status = hr_summary_write_markdown(args->md, summary, label, error);
  const struct page_subject subject = {.kind = "run"};
  if (status == HR_OK && args->page.report) status = page_write(&files->page, &subject, replay, perf, error);
  return status;
}

void run_files_print_notes(FILE *out, const struct run_files *files) {
  metrics_print_note(out, &files->metrics, &files->args->openmetrics);
}

void run_files_finish(struct run_files *files) {
  metrics_finish(&files->metrics);
  page_finish(&files->page);
  hr_timeline_destroy(files->timeline);
  hr_placements_destroy(files->placements);
  hr_history_destroy(files->history);
  hr_counts_destroy(files->counts);
}
