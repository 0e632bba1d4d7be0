/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom trace` and three of its actions: check (lists wrong or suspicious jobs), stats (prints statistics) and pack
   (writes the packed format). The other actions are in trace_generate.c, trace_merge.c and
   trace_transform.c. */

#include "cli/cli.h"
#include "cli/input.h"
#include "cli/process.h"
#include "headroom/unstable/exports.h"

#include <stdio.h>

/* ---- trace check ------------------------------------------------------------------------------------ */

struct trace_check_args {
  struct input_args input;
  const char *cluster, *allow, *output, *json;
  bool quiet;
};

#define AT(field) offsetof(struct trace_check_args, field)
static const struct option check_options[] = {
    {.name = "cluster",
     .kind = OPTION_TEXT,
     .offset = AT(cluster),
     .value = "SCENARIO",
     .help =
         "also compare the jobs with this scenario's cluster; the trace is read with the settings of this scenario"},
    {.name = "allow",
     .kind = OPTION_TEXT,
     .offset = AT(allow),
     .value = "CODE,...",
     .help = "skip these kinds of findings, e.g. burst,gap (see 'headroom list findings')"},
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_TEXT,
     .offset = AT(output),
     .value = "FILE",
     .help = "write the table to a file (default: standard output)"},
    {.name = "json",
     .kind = OPTION_TEXT,
     .offset = AT(json),
     .value = "FILE",
     .help = "write the findings as JSON ('-': standard output; the table is then only written to the file of -o)"},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_FLAG,
     .offset = AT(quiet),
     .help = "print no table on standard output; files and errors are still written, the exit code is the same"},
    TRACE_OPTIONS(trace_check_args),
    {0}};

static const char check_details[] = "The trace is read with --lenient: bad rows are findings too. A finding is an\n"
                                    "error (rows are lost, jobs never run, queues never drain), a warning\n"
                                    "(suspicious) or a note (for information). docs/reference/trace-check.md lists\n"
                                    "each kind, when it is reported, what it means and what to do.\n"
                                    "Exit code: 0 no errors or warnings, 1 errors or warnings, 2 the trace cannot be\n"
                                    "read, or bad usage, 4 system failure.\n\n"
                                    "Examples:\n"
                                    "  headroom trace check jobs.csv --cluster scenarios/demo.json\n"
                                    "  headroom trace check philly.csv.gz --allow burst,gap --json findings.json\n";

struct trace_check_state {
  const struct trace_check_args *args;
  struct input input;
  struct hr_trace_check_config config;
  struct hr_trace_check *check;
};

static enum hr_status parse_allowed(struct trace_check_state *check, struct hr_error *error) {
  const char *text = check->args->allow;
  struct hr_error inner = {0};
  enum hr_status status = text ? hr_findings_parse(text, check->config.allowed, &inner) : HR_OK;
  return status == HR_OK ? HR_OK : hr_fail(error, status, "--allow %.200s: %s", text, inner.text);
}

static enum hr_status check_outputs(const struct trace_check_state *check, const char *path, struct hr_error *error) {
  const struct trace_check_args *args = check->args;
  const struct output outputs[] = {{"output", args->output}, {"json", args->json}};
  const char *const inputs[] = {path, args->cluster ? args->cluster : path};
  const size_t n_outputs = sizeof outputs / sizeof *outputs;
  enum hr_status status = outputs_check(outputs, n_outputs, inputs, sizeof inputs / sizeof *inputs, error);
  return status == HR_OK ? outputs_spare_params(outputs, n_outputs, args->input.format, error) : status;
}

/* Reads the trace. With --cluster it is read as by `run SCENARIO --trace FILE`. */
static enum hr_status read_all(struct trace_check_state *check, const char *path, struct hr_error *error) {
  struct input_args args = check->args->input;
  args.lenient = true;
  args.trace = path;
  if (!check->args->cluster) return input_read_trace_alone(path, &args, &check->input.trace, error);
  enum hr_status status = input_open(&check->input, check->args->cluster, &args, error);
  return status == HR_OK ? input_read_trace(&check->input, &args, error) : status;
}

static enum hr_status check_print(const struct trace_check_state *check, struct hr_error *error) {
  const struct trace_check_args *args = check->args;
  bool to_file = args->output && !is_stdout(args->output);
  bool table = to_file || (!args->quiet && !is_stdout(args->json));
  enum hr_status status = args->json ? hr_trace_check_write_json(args->json, check->check, error) : HR_OK;
  if (status != HR_OK || !table) return status;
  status = hr_trace_check_write(to_file ? args->output : "-", check->check, !to_file && wants_colour(), error);
  if (status == HR_OK && !to_file && !check->input.scenario)
    next_step_print(
        stdout, &(struct next_step){
                    .verb = "trace check", .apart = true, .input = &args->input, .trace = check->input.trace->source});
  return status;
}

static enum hr_status fail_on_findings(const struct trace_check_state *check, const char *path,
                                       struct hr_error *error) {
  size_t errors = hr_trace_check_count(check->check, HR_SEVERITY_ERROR);
  size_t warnings = hr_trace_check_count(check->check, HR_SEVERITY_WARNING);
  if (errors + warnings == 0) return HR_OK;
  return hr_fail(error, HR_CHECK_FAILED,
                 "%s: %zu error%s and %zu warning%s; use --allow CODE,... to ignore expected findings", path, errors,
                 errors == 1 ? "" : "s", warnings, warnings == 1 ? "" : "s");
}

static enum hr_status run_all(struct trace_check_state *check, const char *path, struct hr_error *error) {
  enum hr_status status = parse_allowed(check, error);
  if (status == HR_OK) status = check_outputs(check, path, error);
  if (status == HR_OK) status = read_all(check, path, error);
  if (status != HR_OK) return status;
  check->config.trace = check->input.trace;
  const struct hr_scenario *scenario = check->input.scenario;
  if (scenario) {
    check->config.cluster = &scenario->cluster;
    check->config.cluster_name = scenario->name;
    check->config.classes = scenario->classes;
    check->config.speeds = scenario->speeds;
  }
  status = hr_trace_check_make(&check->config, &check->check, error);
  if (status == HR_OK) status = check_print(check, error);
  return status == HR_OK ? fail_on_findings(check, path, error) : status;
}

static enum hr_status run_action(const void *args, const struct words *operands, struct hr_error *error) {
  struct trace_check_state check = {.args = args};
  enum hr_status status = run_all(&check, operands->at[0], error);
  hr_trace_check_destroy(check.check);
  input_finish(&check.input);
  return status;
}

static const struct verb verb_trace_check = {.name = "trace check",
                                             .operands = "TRACE",
                                             .min_operands = 1,
                                             .max_operands = 1,
                                             .summary = "list wrong and suspicious data of a trace: exit code 0 or 1",
                                             .details = check_details,
                                             .options = check_options,
                                             .args_bytes = sizeof(struct trace_check_args),
                                             .run = run_action};

/* ---- trace stats ------------------------------------------------------------------------------------ */

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
     .help = "write the tables to a file (default: standard output)"},
    {.name = "json",
     .kind = OPTION_TEXT,
     .offset = STATS_AT(json),
     .value = "FILE",
     .help = "write all figures as JSON ('-': standard output; the tables are then only written to the file of -o)"},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_FLAG,
     .offset = STATS_AT(quiet),
     .help = "print no tables on standard output and no notes; files are still written"},
    TRACE_OPTIONS(stats_args),
    {0}};

static const char stats_details[] = "Prints sizes, run times and GPU hours by size, class, tenant, user and outcome;\n"
                                    "arrivals by hour and weekday; burstiness; fitted distributions.\n"
                                    "docs/reference/trace-stats.md defines each figure.\n"
                                    "Exit code: 0 success, 2 bad input or usage, 4 system failure.\n\n"
                                    "Examples:\n"
                                    "  headroom trace stats jobs.csv\n"
                                    "  headroom trace stats philly.csv.gz --json stats.json\n";

static enum hr_status stats_check_outputs(const struct stats_args *args, const char *path, struct hr_error *error) {
  const struct output outputs[] = {{"output", args->output}, {"json", args->json}};
  const size_t n_outputs = sizeof outputs / sizeof *outputs;
  enum hr_status status = outputs_check(outputs, n_outputs, &path, 1, error);
  return status == HR_OK ? outputs_spare_params(outputs, n_outputs, args->input.format, error) : status;
}

static enum hr_status stats_print(const struct stats_args *args, const char *path, const struct hr_trace_stats *stats,
                                  struct hr_error *error) {
  bool to_file = args->output && !is_stdout(args->output);
  bool table = to_file || (!args->quiet && !is_stdout(args->json));
  enum hr_status status = args->json ? hr_trace_stats_write_json(args->json, stats, error) : HR_OK;
  if (status != HR_OK || !table) return status;
  status =
      hr_trace_stats_write(to_file ? args->output : "-", stats, to_file ? HR_STYLE_UNICODE : terminal_style(), error);
  if (status == HR_OK && !to_file)
    next_step_print(stdout,
                    &(struct next_step){.verb = "trace stats", .apart = true, .input = &args->input, .trace = path});
  return status;
}

static enum hr_status stats_run_action(const void *untyped, const struct words *operands, struct hr_error *error) {
  const struct stats_args *args = untyped;
  const char *path = operands->at[0];
  struct hr_trace *trace = NULL;
  struct hr_trace_stats *stats = NULL;
  enum hr_status status = stats_check_outputs(args, path, error);
  if (status == HR_OK) status = input_read_trace_alone(path, &args->input, &trace, error);
  if (status == HR_OK && !args->quiet) input_print_trace_notes(stderr, trace);
  if (status == HR_OK) status = hr_trace_stats_make(trace, &stats, error);
  if (status == HR_OK) status = stats_print(args, path, stats, error);
  hr_trace_stats_destroy(stats);
  hr_trace_destroy(trace);
  return status;
}

static const struct verb verb_trace_stats = {
    .name = "trace stats",
    .operands = "TRACE",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "print statistics of a trace: sizes, run times, arrivals, shares, fits",
    .details = stats_details,
    .options = stats_options,
    .args_bytes = sizeof(struct stats_args),
    .run = stats_run_action};

/* ---- trace pack ------------------------------------------------------------------------------------- */

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
                                              .help = "the packed trace to write, e.g. jobs.hrt"},
                                             {.name = "json",
                                              .kind = OPTION_TEXT,
                                              .offset = offsetof(struct pack_args, json),
                                              .value = "FILE",
                                              .help = "write jobs, bytes and sections as JSON ('-': standard output)"},
                                             {.name = "quiet",
                                              .letter = 'q',
                                              .kind = OPTION_FLAG,
                                              .offset = offsetof(struct pack_args, quiet),
                                              .help = "print no notes; errors are still printed"},
                                             TRACE_OPTIONS(pack_args),
                                             {0}};

static const char pack_details[] = "A packed trace is memory-mapped, so it opens without parsing. It is recognised\n"
                                   "without --format, and contains all fields that were read from the input.\n"
                                   "docs/reference/formats/packed.md describes its layout.\n"
                                   "Exit code: 0 success, 2 bad input or usage, 4 system failure.\n\n"
                                   "Examples:\n"
                                   "  headroom trace pack jobs.csv.gz -o jobs.hrt\n"
                                   "  headroom run scenarios/demo.json --trace jobs.hrt\n";

static enum hr_status pack_check_outputs(const char *path, const struct pack_args *args, struct hr_error *error) {
  if (!args->output)
    return hr_fail(error, HR_BAD_INPUT, "trace pack: -o FILE is missing\nTry 'headroom help trace pack'.");
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
  enum hr_status status = pack_check_outputs(operands->at[0], args, error);
  if (status == HR_OK) status = input_read_trace_spooled(operands->at[0], &args->input, &trace, error);
  if (status == HR_OK) status = hr_trace_pack(trace, args->output, &packed, error);
  if (status == HR_OK && args->json) status = hr_packed_write_json(&packed, args->json, error);
  if (status == HR_OK && !args->quiet) input_print_trace_notes(stderr, trace);
  hr_trace_destroy(trace);
  return status;
}

static const struct verb verb_trace_pack = {.name = "trace pack",
                                            .operands = "TRACE",
                                            .min_operands = 1,
                                            .max_operands = 1,
                                            .summary =
                                                "write a trace in the packed format, which opens without parsing",
                                            .details = pack_details,
                                            .options = pack_options,
                                            .args_bytes = sizeof(struct pack_args),
                                            .run = pack};

/* ---- trace ------------------------------------------------------------------------------------------ */

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
    .name = "trace", .summary = "generate, check, describe and transform traces", .actions = actions};
