/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom trace stats`: what is in a trace, in numbers. */

#include "cli/cli.h"
#include "cli/input.h"
#include "cli/outputs.h"

struct stats_args {
  struct input_args input;
  const char *output, *json;
  bool quiet;
};

#define AT(field) offsetof(struct stats_args, field)
static const struct option options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_TEXT,
     .offset = AT(output),
     .value = "FILE",
     .help = "where to write the tables; standard output unless given"},
    {.name = "json",
     .kind = OPTION_TEXT,
     .offset = AT(json),
     .value = "FILE",
     .help = "write all figures as JSON ('-': standard output, and no tables unless -o names a file)"},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_FLAG,
     .offset = AT(quiet),
     .help = "no tables on standard output, no notes; files are written and errors told"},
    TRACE_OPTIONS(stats_args),
    {0}};

static const char details[] =
    "Sizes, run times and GPU hours by size, class, tenant, user and outcome; when\n"
    "jobs come; how unevenly; which distributions fit. docs/reference/trace-stats.md says how\n"
    "each figure is computed.\n\n"
    "Examples:\n"
    "  headroom trace stats jobs.csv\n"
    "  headroom trace stats philly.csv.gz --json stats.json\n";

static enum hr_status check_outputs(const struct stats_args *args, const char *path, struct hr_error *error) {
  const struct output outputs[] = {{"output", args->output}, {"json", args->json}};
  const size_t n_outputs = sizeof outputs / sizeof *outputs;
  enum hr_status status = outputs_check(outputs, n_outputs, &path, 1, error);
  return status == HR_OK ? outputs_spare_params(outputs, n_outputs, args->input.format, error) : status;
}

static enum hr_status tell(const struct stats_args *args, const struct hr_trace_stats *stats, struct hr_error *error) {
  bool to_file = args->output && !is_stdout(args->output);
  bool table = to_file || (!args->quiet && !is_stdout(args->json));
  enum hr_status status = args->json ? hr_trace_stats_write_json(args->json, stats, error) : HR_OK;
  if (status != HR_OK || !table) return status;
  return hr_trace_stats_write(to_file ? args->output : "-", stats, to_file ? HR_STYLE_UNICODE : terminal_style(),
                              error);
}

static enum hr_status run_action(const void *of, const struct words *operands, struct hr_error *error) {
  const struct stats_args *args = of;
  const char *path = operands->at[0];
  struct hr_trace *trace = NULL;
  struct hr_trace_stats *stats = NULL;
  enum hr_status status = check_outputs(args, path, error);
  if (status == HR_OK) status = input_read_trace_alone(path, &args->input, &trace, error);
  if (status == HR_OK && !args->quiet) input_print_trace_notes(stderr, trace);
  if (status == HR_OK) status = hr_trace_stats_make(trace, &stats, error);
  if (status == HR_OK) status = tell(args, stats, error);
  hr_trace_stats_destroy(stats);
  hr_trace_destroy(trace);
  return status;
}

const struct verb verb_trace_stats = {.name = "trace stats",
                                      .operands = "TRACE",
                                      .least_operands = 1,
                                      .most_operands = 1,
                                      .summary = "what is in a trace: sizes, run times, arrivals, shares, fits",
                                      .details = details,
                                      .options = options,
                                      .args_bytes = sizeof(struct stats_args),
                                      .run = run_action};
