/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom trace check`: what is wrong or suspicious in a trace, before anyone simulates it. */

#include "cli/cli.h"
#include "cli/input.h"
#include "cli/output.h"
#include "headroom/unstable/trace_report.h"

#include <stdio.h>

struct trace_check_args {
  struct input_args input;
  const char *cluster, *allow, *output, *json;
  bool quiet;
};

#define AT(field) offsetof(struct trace_check_args, field)
static const struct option options[] = {
    {.name = "cluster",
     .kind = OPTION_TEXT,
     .offset = AT(cluster),
     .value = "SCENARIO",
     .help = "hold the jobs against this scenario's cluster, too; the trace is read as the scenario reads its own"},
    {.name = "allow",
     .kind = OPTION_TEXT,
     .offset = AT(allow),
     .value = "CODE,...",
     .help = "do not look for these, e.g. burst,gap"},
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_TEXT,
     .offset = AT(output),
     .value = "FILE",
     .help = "where to write the table; standard output unless given"},
    {.name = "json",
     .kind = OPTION_TEXT,
     .offset = AT(json),
     .value = "FILE",
     .help = "write the findings as JSON ('-': standard output, and no table unless -o names a file)"},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_FLAG,
     .offset = AT(quiet),
     .help = "no table on standard output; files are written, errors told, and the exit code is the same"},
    TRACE_OPTIONS(trace_check_args),
    {0}};

static const char details[] =
    "The trace is read leniently: bad rows are findings like others. Findings are\n"
    "errors (rows are lost, jobs never run, queues never drain), warnings\n"
    "(suspicious) or notes (to know). docs/reference/trace-check.md has each kind, when it is\n"
    "told, what it means and what to do.\n"
    "Exit code: 0 nothing but notes, 1 errors or warnings, 2 the trace cannot be\n"
    "read, or bad usage, 4 the system failed.\n\n"
    "Examples:\n"
    "  headroom trace check jobs.csv --cluster scenarios/demo.json\n"
    "  headroom trace check philly.csv.gz --allow burst,gap --json findings.json\n";

struct checked {
  const struct trace_check_args *args;
  struct input input;
  struct hr_trace_check_config config;
  struct hr_trace_check *check;
};

/* ---- Reading ---------------------------------------------------------------------------------------- */

static enum hr_status parse_allowed(struct checked *checked, struct hr_error *error) {
  const char *text = checked->args->allow;
  struct hr_error inner = {0};
  enum hr_status status = text ? hr_findings_parse(text, checked->config.allowed, &inner) : HR_OK;
  return status == HR_OK ? HR_OK : hr_fail(error, status, "--allow %.200s: %s", text, inner.text);
}

static enum hr_status check_outputs(const struct checked *checked, const char *path, struct hr_error *error) {
  const struct trace_check_args *args = checked->args;
  const struct output outputs[] = {{"output", args->output}, {"json", args->json}};
  const char *const inputs[] = {path, args->cluster ? args->cluster : path};
  const size_t n_outputs = sizeof outputs / sizeof *outputs;
  enum hr_status status = outputs_check(outputs, n_outputs, inputs, sizeof inputs / sizeof *inputs, error);
  return status == HR_OK ? outputs_spare_params(outputs, n_outputs, args->input.format, error) : status;
}

/* As `run SCENARIO --trace FILE` would read it, where a scenario is given. */
static enum hr_status read_all(struct checked *checked, const char *path, struct hr_error *error) {
  struct input_args args = checked->args->input;
  args.lenient = true;
  args.trace = path;
  if (!checked->args->cluster) return input_read_trace_alone(path, &args, &checked->input.trace, error);
  enum hr_status status = input_open(&checked->input, checked->args->cluster, &args, error);
  return status == HR_OK ? input_read_trace(&checked->input, &args, error) : status;
}

/* ---- Telling ---------------------------------------------------------------------------------------- */

static enum hr_status tell(const struct checked *checked, struct hr_error *error) {
  const struct trace_check_args *args = checked->args;
  bool to_file = args->output && !is_stdout(args->output);
  bool table = to_file || (!args->quiet && !is_stdout(args->json));
  enum hr_status status = args->json ? hr_trace_check_write_json(args->json, checked->check, error) : HR_OK;
  if (status != HR_OK || !table) return status;
  return hr_trace_check_write(to_file ? args->output : "-", checked->check, !to_file && wants_colour(), error);
}

static enum hr_status judge(const struct checked *checked, const char *path, struct hr_error *error) {
  size_t errors = hr_trace_check_count(checked->check, HR_SEVERITY_ERROR);
  size_t warnings = hr_trace_check_count(checked->check, HR_SEVERITY_WARNING);
  if (errors + warnings == 0) return HR_OK;
  return hr_fail(error, HR_CHECK_FAILED, "%s: %zu error%s and %zu warning%s; --allow CODE,... is for what is known",
                 path, errors, errors == 1 ? "" : "s", warnings, warnings == 1 ? "" : "s");
}

/* ---- The action ------------------------------------------------------------------------------------- */

static enum hr_status run_all(struct checked *checked, const char *path, struct hr_error *error) {
  enum hr_status status = parse_allowed(checked, error);
  if (status == HR_OK) status = check_outputs(checked, path, error);
  if (status == HR_OK) status = read_all(checked, path, error);
  if (status != HR_OK) return status;
  checked->config.trace = checked->input.trace;
  const struct hr_scenario *scenario = checked->input.scenario;
  if (scenario) {
    checked->config.cluster = &scenario->cluster;
    checked->config.cluster_name = scenario->name;
    checked->config.classes = scenario->classes;
    checked->config.speeds = scenario->speeds;
  }
  status = hr_trace_check_make(&checked->config, &checked->check, error);
  if (status == HR_OK) status = tell(checked, error);
  return status == HR_OK ? judge(checked, path, error) : status;
}

static enum hr_status run_action(const void *args, const struct words *operands, struct hr_error *error) {
  struct checked checked = {.args = args};
  enum hr_status status = run_all(&checked, operands->at[0], error);
  hr_trace_check_destroy(checked.check);
  input_finish(&checked.input);
  return status;
}

const struct verb verb_trace_check = {.name = "trace check",
                                      .operands = "TRACE",
                                      .min_operands = 1,
                                      .max_operands = 1,
                                      .summary = "say what is wrong or suspicious in a trace: exit code 0 or 1",
                                      .details = details,
                                      .options = options,
                                      .args_bytes = sizeof(struct trace_check_args),
                                      .run = run_action};

/* `headroom trace stats`: what is in a trace, in numbers. */

struct stats_args {
  struct input_args input;
  const char *output, *json;
  bool quiet;
};

#define STATS_AT(field) offsetof(struct stats_args, field)
static const struct option stats_options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_TEXT,
     .offset = STATS_AT(output),
     .value = "FILE",
     .help = "where to write the tables; standard output unless given"},
    {.name = "json",
     .kind = OPTION_TEXT,
     .offset = STATS_AT(json),
     .value = "FILE",
     .help = "write all figures as JSON ('-': standard output, and no tables unless -o names a file)"},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_FLAG,
     .offset = STATS_AT(quiet),
     .help = "no tables on standard output, no notes; files are written and errors told"},
    TRACE_OPTIONS(stats_args),
    {0}};

static const char stats_details[] =
    "Sizes, run times and GPU hours by size, class, tenant, user and outcome; when\n"
    "jobs come; how unevenly; which distributions fit. docs/reference/trace-stats.md says how\n"
    "each figure is computed.\n\n"
    "Examples:\n"
    "  headroom trace stats jobs.csv\n"
    "  headroom trace stats philly.csv.gz --json stats.json\n";

static enum hr_status stats_check_outputs(const struct stats_args *args, const char *path, struct hr_error *error) {
  const struct output outputs[] = {{"output", args->output}, {"json", args->json}};
  const size_t n_outputs = sizeof outputs / sizeof *outputs;
  enum hr_status status = outputs_check(outputs, n_outputs, &path, 1, error);
  return status == HR_OK ? outputs_spare_params(outputs, n_outputs, args->input.format, error) : status;
}

static enum hr_status stats_tell(const struct stats_args *args, const struct hr_trace_stats *stats,
                                 struct hr_error *error) {
  bool to_file = args->output && !is_stdout(args->output);
  bool table = to_file || (!args->quiet && !is_stdout(args->json));
  enum hr_status status = args->json ? hr_trace_stats_write_json(args->json, stats, error) : HR_OK;
  if (status != HR_OK || !table) return status;
  return hr_trace_stats_write(to_file ? args->output : "-", stats, to_file ? HR_STYLE_UNICODE : terminal_style(),
                              error);
}

static enum hr_status stats_run_action(const void *of, const struct words *operands, struct hr_error *error) {
  const struct stats_args *args = of;
  const char *path = operands->at[0];
  struct hr_trace *trace = NULL;
  struct hr_trace_stats *stats = NULL;
  enum hr_status status = stats_check_outputs(args, path, error);
  if (status == HR_OK) status = input_read_trace_alone(path, &args->input, &trace, error);
  if (status == HR_OK && !args->quiet) input_print_trace_notes(stderr, trace);
  if (status == HR_OK) status = hr_trace_stats_make(trace, &stats, error);
  if (status == HR_OK) status = stats_tell(args, stats, error);
  hr_trace_stats_destroy(stats);
  hr_trace_destroy(trace);
  return status;
}

const struct verb verb_trace_stats = {.name = "trace stats",
                                      .operands = "TRACE",
                                      .min_operands = 1,
                                      .max_operands = 1,
                                      .summary = "what is in a trace: sizes, run times, arrivals, shares, fits",
                                      .details = stats_details,
                                      .options = stats_options,
                                      .args_bytes = sizeof(struct stats_args),
                                      .run = stats_run_action};

/* `headroom trace pack`: a trace of any format as a file that is mapped instead of read. */

struct pack_args {
  struct input_args input;
  const char *output, *json;
  bool quiet;
};

static const struct option pack_options[] = {{.name = "output",
                                              .letter = 'o',
                                              .kind = OPTION_TEXT,
                                              .offset = offsetof(struct pack_args, output),
                                              .value = "FILE",
                                              .help = "where to write the packed trace, as in jobs.hrt"},
                                             {.name = "json",
                                              .kind = OPTION_TEXT,
                                              .offset = offsetof(struct pack_args, json),
                                              .value = "FILE",
                                              .help = "write jobs, bytes and sections as JSON ('-': standard output)"},
                                             {.name = "quiet",
                                              .letter = 'q',
                                              .kind = OPTION_FLAG,
                                              .offset = offsetof(struct pack_args, quiet),
                                              .help = "no notes; errors are still told"},
                                             TRACE_OPTIONS(pack_args),
                                             {0}};

static const char pack_details[] = "A packed trace is read like any other, without --format, and at once. It holds\n"
                                   "all that was understood of the input; docs/reference/formats.md has its layout.\n\n"
                                   "Example:\n"
                                   "  headroom trace pack jobs.csv.gz -o jobs.hrt\n"
                                   "  headroom run scenarios/demo.json --trace jobs.hrt\n";

static enum hr_status check_output(const char *path, const struct pack_args *args, struct hr_error *error) {
  if (!args->output)
    return hr_fail(error, HR_BAD_INPUT,
                   "trace pack: -o FILE is missing: where to write the packed trace\nTry 'headroom help trace pack'.");
  if (!hr_trace_writer_find("packed", args->output, error)) return HR_BAD_INPUT;
  const struct output outputs[] = {{"output", args->output}, {"json", args->json}};
  const char *const inputs[] = {path};
  const size_t n_outputs = sizeof outputs / sizeof *outputs;
  enum hr_status status = outputs_check(outputs, n_outputs, inputs, 1, error);
  return status == HR_OK ? outputs_spare_params(outputs, n_outputs, args->input.format, error) : status;
}

static enum hr_status pack(const void *untyped, const struct words *operands, struct hr_error *error) {
  const struct pack_args *args = untyped;
  struct hr_trace *trace = NULL;
  struct hr_packed packed;
  enum hr_status status = check_output(operands->at[0], args, error);
  if (status == HR_OK) status = input_read_trace_alone(operands->at[0], &args->input, &trace, error);
  if (status == HR_OK) status = hr_trace_pack(trace, args->output, &packed, error);
  if (status == HR_OK && args->json) status = hr_packed_write_json(&packed, args->json, error);
  if (status == HR_OK && !args->quiet) input_print_trace_notes(stderr, trace);
  hr_trace_destroy(trace);
  return status;
}

const struct verb verb_trace_pack = {.name = "trace pack",
                                     .operands = "TRACE",
                                     .min_operands = 1,
                                     .max_operands = 1,
                                     .summary = "write a trace in the packed form, which loads at once",
                                     .details = pack_details,
                                     .options = pack_options,
                                     .args_bytes = sizeof(struct pack_args),
                                     .run = pack};

/* `headroom trace`: what can be done with traces alone. An action is a file `cli/trace_ACTION.c`, and a line here. */

static const struct verb *const actions[] = {&verb_trace_generate,
                                             &verb_trace_check,
                                             &verb_trace_stats,
                                             &verb_trace_convert,
                                             &verb_trace_pack,
                                             &verb_trace_cut,
                                             &verb_trace_scale,
                                             &verb_trace_merge,
                                             &verb_trace_anonymise,
                                             &verb_trace_shuffle,
                                             NULL};

const struct verb verb_trace = {
    .name = "trace", .summary = "make traces, look into them, change them", .actions = actions};
