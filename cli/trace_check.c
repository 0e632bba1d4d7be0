/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom trace check`: what is wrong or suspicious in a trace, before anyone simulates it. */

#include "cli/cli.h"
#include "cli/input.h"
#include "cli/outputs.h"

#include <stdio.h>

struct check_args {
  struct input_args input;
  const char *cluster, *allow, *output, *json;
  bool quiet;
};

#define AT(field) offsetof(struct check_args, field)
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
    TRACE_OPTIONS(check_args),
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
  const struct check_args *args;
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
  const struct check_args *args = checked->args;
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
  const struct check_args *args = checked->args;
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
  checked->config.scenario = checked->input.scenario;
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
                                      .least_operands = 1,
                                      .most_operands = 1,
                                      .summary = "say what is wrong or suspicious in a trace: exit code 0 or 1",
                                      .details = details,
                                      .options = options,
                                      .args_bytes = sizeof(struct check_args),
                                      .run = run_action};
