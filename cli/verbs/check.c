/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom check`: runs a suite, or one scenario, and compares the results with a baseline. */

#include "cli/cli.h"
#include "headroom/unstable/compare.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct check_args {
  struct input_args input;
  const char *baseline, *json, *junit, *markdown;
  struct words tolerances, goals;
  uint64_t threads; /* 0: not set */
  bool update, only_worse, github, quiet;
};

#define AT(field) offsetof(struct check_args, field)
static const struct option options[] = {
    {"baseline", OPTION_TEXT, AT(baseline), "FILE", "file with the results to compare with; --update writes it"},
    {"update", OPTION_FLAG, AT(update), NULL, "write the current results as the baseline, and print what changed"},
    {"tolerance", OPTION_LIST, AT(tolerances), "METRIC=BY",
     "allow a metric to change by a share (wait_s.p95=2%) or by an amount in its unit (monthly_usd=100); '*': "
     "any metric; or a profile for all other metrics: slo (default) or exact; may be repeated"},
    {"goal", OPTION_LIST, AT(goals), "GOAL",
     "fail if a run misses this goal, such as 'wait_s.p95 of interactive <= 10 min'; may be repeated"},
    {"only-worse", OPTION_FLAG, AT(only_worse), NULL, "fail on regressions only"},
    {"json", OPTION_TEXT, AT(json), "FILE", "write all differences as JSON ('-': standard output, without the table)"},
    {"junit", OPTION_TEXT, AT(junit), "FILE", "write JUnit XML with one test case per run ('-': standard output)"},
    {"md", OPTION_TEXT, AT(markdown), "FILE", "write Markdown for a comment on a pull request ('-': standard output)"},
    {"github", OPTION_FLAG, AT(github), NULL, "print GitHub annotations; enabled automatically if GITHUB_ACTIONS=true"},
    THREADS_OPTION(check_args),
    INPUT_OPTIONS(check_args),
    QUIET_OPTION(check_args),
    {0}};

static const char details[] = "SUITE is a JSON file that lists runs of scenarios with policies and tolerances\n"
                              "(docs/ci/check.md). A scenario is a suite of one run; options that change a\n"
                              "scenario are accepted only then.\n"
                              "By default (profile slo), regressions of cost, waits, completion times, jobs\n"
                              "completed and deadlines fail. With --tolerance exact, all metrics and the\n"
                              "event digest must be equal to the baseline. Replicated runs are compared by\n"
                              "confidence intervals.\n"
                              "Exit code: 0 all metrics within tolerance, 1 a metric is out of tolerance, a\n"
                              "goal is missed, or suite and baseline have different runs, 2 bad input or\n"
                              "usage, 3 a policy broke its contract, 4 system failure.\n\n"
                              "Examples:\n"
                              "  headroom check scenarios/demo.json --baseline demo.base.json --update\n"
                              "  headroom check scenarios/demo.json --baseline demo.base.json\n"
                              "  headroom check scenarios/demo.json --baseline demo.base.json --tolerance exact\n"
                              "  headroom check suite.json --baseline base.json --junit check.xml --md -\n";

struct check_state {
  const struct check_args *args;
  struct hr_suite *suite;
  struct hr_baseline *baseline;
  struct hr_check *check;
};

/* ---- The suite -------------------------------------------------------------------------------------- */

/* Returns the name of the first option that is set and changes the scenario; NULL: none is set. */
static const char *scenario_option(const struct input_args *args) {
  return args->trace           ? "trace"
         : args->format        ? "format"
         : args->map           ? "map"
         : args->classes.count ? "class"
         : args->tenants.count ? "tenant-by"
         : args->lenient       ? "lenient"
         : args->policy        ? "policy"
         : args->set.count     ? "set"
         : args->seed          ? "seed"
                               : NULL;
}

/* Adds the entries of --map as overrides "trace.columns.FIELD=COLUMN". */
static enum hr_status add_columns(struct overrides *overrides, const char *map, struct hr_error *error) {
  struct hr_column_map columns = {0};
  struct hr_error inner = {0};
  enum hr_status status = hr_column_map_parse(&columns, map, &inner);
  if (status != HR_OK) hr_fail(error, status, "--map %.200s: %s", map, inner.text);
  for (size_t i = 0; i < columns.count && status == HR_OK; i++) {
    char path[100];
    snprintf(path, sizeof path, "trace.columns.%s", columns.entry[i].field);
    status = overrides_add(overrides, path, columns.entry[i].column, error);
  }
  hr_column_map_finish(&columns);
  return status;
}

/* Adds the options for reading the trace as overrides of the scenario. */
static enum hr_status add_trace_options(struct overrides *overrides, const struct input_args *args,
                                        struct hr_error *error) {
  enum hr_status status = args->format ? overrides_add(overrides, "trace.format", args->format, error) : HR_OK;
  if (status == HR_OK && args->lenient) status = overrides_add(overrides, "trace.lenient", "true", error);
  return status == HR_OK && args->map ? add_columns(overrides, args->map, error) : status;
}

static enum hr_status open_scenario(struct check_state *check, const char *path, struct hr_error *error) {
  struct input input;
  const struct input_args *args = &check->args->input;
  enum hr_status status = input_open(&input, path, args, error);
  if (status == HR_OK && !input.trace_path && !has_services(input.scenario))
    status = hr_fail(
        error, HR_BAD_INPUT,
        "%s: names no trace; set one with --trace FILE, or in the file: \"trace\": {\"file\": \"jobs.csv\"}", path);
  if (status == HR_OK) status = add_trace_options(&input.overrides, args, error);
  if (status == HR_OK)
    status = hr_suite_of_scenario(path, args->trace, input.overrides.words.at, input.overrides.words.count,
                                  &check->suite, error);
  input_finish(&input);
  return status;
}

static enum hr_status open_suite(struct check_state *check, const char *path, struct hr_error *error) {
  bool is_suite;
  const char *option = scenario_option(&check->args->input);
  enum hr_status status = hr_suite_recognise(path, &is_suite, error);
  if (status != HR_OK) return status;
  if (is_suite && option)
    return hr_fail(error, HR_BAD_INPUT, "--%s applies to a scenario, but %s is a suite; set it in the suite's runs",
                   option, path);
  status = is_suite ? hr_suite_load(path, &check->suite, error) : open_scenario(check, path, error);
  for (size_t i = 0; i < check->args->tolerances.count && status == HR_OK; i++)
    status = hr_suite_add_tolerance(check->suite, check->args->tolerances.at[i], error);
  for (size_t i = 0; i < check->args->goals.count && status == HR_OK; i++)
    status = hr_suite_add_goal(check->suite, check->args->goals.at[i], error);
  if (status == HR_OK && check->args->only_worse) hr_suite_set_only_worse(check->suite);
  return status;
}

/* ---- The baseline ----------------------------------------------------------------------------------- */

/* Loads the baseline. With --update an unreadable baseline is replaced. A file that is not a baseline is never
   replaced. */
static enum hr_status load_baseline(struct check_state *check, struct hr_error *error) {
  const char *path = check->args->baseline;
  enum hr_status status = hr_baseline_load(path, &check->baseline, error);
  if (status != HR_BAD_INPUT || !check->args->update || !hr_baseline_recognise(path)) return status;
  fprintf(stderr, "note: %s; it is replaced\n", error->text);
  return HR_OK;
}

static enum hr_status open_baseline(struct check_state *check, struct hr_error *error) {
  const char *path = check->args->baseline;
  if (!path) return hr_fail(error, HR_BAD_INPUT, "check: --baseline FILE is missing\nTry 'headroom help check'.");
  if (is_stdout(path)) return hr_fail(error, HR_BAD_INPUT, "--baseline -: expected a file, not standard output");
  if (access(path, F_OK) == 0) return load_baseline(check, error);
  if (check->args->update && errno == ENOENT) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "--baseline %s: %s%s", path, strerror(errno),
                 errno == ENOENT ? "; --update writes it" : "");
}

/* ---- Output ----------------------------------------------------------------------------------------- */

static bool wants_annotations(const struct check_args *args) {
  const char *actions = getenv("GITHUB_ACTIONS");
  return args->github || (actions && strcmp(actions, "true") == 0);
}

static enum hr_status write_files(const struct check_state *check, struct hr_error *error) {
  const struct check_args *args = check->args;
  enum hr_status status = HR_OK;
  if (args->json) status = hr_check_write_json(args->json, check->check, error);
  if (status == HR_OK && args->junit) status = hr_check_write_junit(args->junit, check->check, error);
  if (status == HR_OK && args->markdown) status = hr_check_write_markdown(args->markdown, check->check, error);
  if (status == HR_OK && args->update) status = hr_check_write_baseline(args->baseline, check->check, error);
  return status;
}

/* Prints the results. GitHub reads annotations from both output streams. If a result file is written to standard
   output, annotations are printed on standard error. */
static enum hr_status print_results(const struct check_state *check, const char *path, struct hr_error *error) {
  const struct check_args *args = check->args;
  bool piped = is_stdout(args->json) || is_stdout(args->junit) || is_stdout(args->markdown);
  const struct hr_notes *notes = hr_check_notes(check->check);
  enum hr_status status = write_files(check, error);
  if (status != HR_OK) return status;
  if (!args->quiet) notes_print(stderr, notes);
  if (!piped && !args->quiet) {
    status = hr_check_print(stdout, check->check, wants_colour());
    next_step_print(stdout, &(struct next_step){.verb = "check",
                                                .facts = hr_check_passed(check->check) ? 0 : NEXT_FAILED,
                                                .path = path,
                                                .input = &args->input,
                                                .other = args->baseline});
  }
  if (status == HR_OK && !args->update && wants_annotations(args))
    status = hr_check_annotate(piped ? stderr : stdout, check->check);
  return printed(status, "comparison", error);
}

static enum hr_status fail_if_moved(const struct check_state *check, const char *path, struct hr_error *error) {
  if (check->args->update || hr_check_passed(check->check)) return HR_OK;
  size_t runs = hr_check_runs(check->check), failures = hr_check_failures(check->check);
  char reasons[120];
  hr_check_failure_text(check->check, reasons, sizeof reasons);
  if (hr_check_missed_goals(check->check))
    return hr_fail(error, HR_CHECK_FAILED, "%s: %zu of %zu run%s fail%s against %s: %s", path, failures, runs,
                   runs == 1 ? "" : "s", failures == 1 ? "s" : "", check->args->baseline, reasons);
  return hr_fail(error, HR_CHECK_FAILED, "%s: %zu of %zu run%s differ%s from %s; use --update if this is intended",
                 path, failures, runs, runs == 1 ? "" : "s", failures == 1 ? "s" : "", check->args->baseline);
}

/* ---- The verb --------------------------------------------------------------------------------------- */

static enum hr_status check_outputs(const struct check_state *check, const char *path, struct hr_error *error) {
  const struct check_args *args = check->args;
  const struct output outputs[] = {{"json", args->json},
                                   {"junit", args->junit},
                                   {"md", args->markdown},
                                   {"baseline", args->update ? args->baseline : NULL}};
  size_t count = sizeof outputs / sizeof *outputs;
  const char *const named[] = {path, args->update ? path : args->baseline};
  enum hr_status status = outputs_check(outputs, count, named, sizeof named / sizeof *named, NULL, error);
  for (size_t i = 0; i < check->suite->n_runs && status == HR_OK; i++) {
    const struct hr_suite_run *run = &check->suite->runs[i];
    const char *const read[] = {run->scenario, run->trace ? run->trace : run->scenario};
    status = outputs_check(outputs, count, read, sizeof read / sizeof *read, NULL, error);
  }
  return status;
}

static enum hr_status run_all(struct check_state *check, const char *path, struct hr_error *error) {
  struct progress_bar bar;
  enum hr_status status = open_suite(check, path, error);
  if (status == HR_OK) status = open_baseline(check, error);
  if (status == HR_OK) status = check_outputs(check, path, error);
  if (status != HR_OK) return status;
  const struct hr_check_config config = {.suite = check->suite,
                                         .baseline = check->baseline,
                                         .baseline_path = check->args->baseline,
                                         .updating = check->args->update,
                                         .n_threads = count_threads(check->args->threads),
                                         .progress = progress_bar_start(&bar, !check->args->quiet)};
  status = hr_check(&config, &check->check, error);
  progress_bar_stop(&bar);
  if (status == HR_OK) status = print_results(check, path, error);
  return status == HR_OK ? fail_if_moved(check, path, error) : status;
}

static enum hr_status run_verb(const void *args, const struct words *operands, struct hr_error *error) {
  struct check_state check = {.args = args};
  enum hr_status status = run_all(&check, operands->at[0], error);
  hr_check_destroy(check.check);
  hr_baseline_destroy(check.baseline);
  hr_suite_destroy(check.suite);
  return status;
}

const struct verb verb_check = {.name = "check",
                                .operands = "SCENARIO|SUITE",
                                .summary = "compare runs with a baseline, for CI: exit code 0 or 1",
                                .details = details,
                                .options = options,
                                .args_bytes = sizeof(struct check_args),
                                .run = run_verb};
