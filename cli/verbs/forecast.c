/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom forecast`: forecasts demand from a trace, and evaluates the forecast on held-back weeks of the trace. */

#include "cli/cli.h"
#include "headroom/unstable/planning.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct forecast_args {
  struct input_args input;
  const char *months, *json, *csv;
  double growth, confidence; /* 0: not set */
  uint64_t holdout;          /* weeks; 0: not set */
  bool quiet;
};

#define AT(field) offsetof(struct forecast_args, field)
static const struct option options[] = {
    {"months", OPTION_TEXT, AT(months), "N",
     "length of the forecast, 1 to 18 months (default: 3); 3mo is the same as 3"},
    {"growth", OPTION_REAL, AT(growth), "X",
     "demand in a year relative to today, e.g. 1.5, instead of the trend fitted to the trace", HR_MIN_FORECAST_GROWTH,
     HR_MAX_FORECAST_GROWTH},
    {"confidence", OPTION_REAL, AT(confidence), "X", "confidence of the intervals from low to high (default: 0.95)",
     0.5, 0.999},
    {"holdout", OPTION_WHOLE, AT(holdout), "WEEKS",
     "weeks at the trace's end that are held back for evaluation (default: a fifth of the trace's weeks, at "
     "most 8)",
     1, HR_MAX_FORECAST_HOLDOUT},
    {"csv", OPTION_TEXT, AT(csv), "FILE",
     "write a CSV row for each series and week ('-': standard output, without the table)"},
    {"json", OPTION_TEXT, AT(json), "FILE", "write everything as JSON ('-': standard output)"},
    {"quiet", OPTION_FLAG, AT(quiet), NULL, "print no table and no notes; errors are still printed", .letter = 'q'},
    TRACE_OPTIONS(forecast_args),
    {0}};

static const char details[] = "Demand is the submitted work in GPU hours, by week, tenant and class; small\n"
                              "series are pooled. docs/planner/forecast.md describes the model, its assumptions\n"
                              "and its accuracy on real traces. The trace needs at least 2 whole weeks, and 6\n"
                              "for a trend.\n"
                              "Exit code: 0 success, 2 bad input or usage, 4 system failure.\n\n"
                              "Examples:\n"
                              "  headroom forecast traces/reference/agency.csv --months 1\n"
                              "  headroom forecast helios_trace.csv.gz --growth 1.5 --months 12 --json - \\\n"
                              "    --map submit=arrival_s,duration=service_sec,gpus=gpu_count\n";

/* ---- Options ---------------------------------------------------------------------------------------- */

static enum hr_status read_options(const struct forecast_args *args, struct hr_forecast_config *config,
                                   struct hr_error *error) {
  *config = (struct hr_forecast_config){
      .growth = args->growth, .confidence = args->confidence, .holdout_weeks = (uint32_t)args->holdout};
  return args->months ? parse_months("months", args->months, &config->months, error) : HR_OK;
}

static enum hr_status check_outputs(const struct forecast_args *args, const char *path, struct hr_error *error) {
  const struct output outputs[] = {{"csv", args->csv}, {"json", args->json}};
  return outputs_check(outputs, sizeof outputs / sizeof *outputs, &path, 1, args->input.format, error);
}

/* ---- The verb --------------------------------------------------------------------------------------- */

static enum hr_status print_results(const struct forecast_args *args, const struct hr_trace *trace,
                                    const struct hr_forecast *forecast, struct hr_error *error) {
  const struct hr_notes *notes = hr_forecast_notes(forecast);
  enum hr_status status = args->csv ? hr_forecast_write_csv(args->csv, forecast, error) : HR_OK;
  if (status == HR_OK && args->json) status = hr_forecast_write_json(args->json, forecast, error);
  if (status != HR_OK || args->quiet) return status;
  input_print_trace_notes(stderr, trace);
  notes_print(stderr, notes);
  if (is_stdout(args->json) || is_stdout(args->csv)) return HR_OK;
  status = hr_forecast_print(stdout, forecast, wants_colour());
  if (status == HR_OK)
    next_step_print(
        stdout, &(struct next_step){.verb = "forecast", .apart = true, .input = &args->input, .trace = trace->source});
  return printed(status, "table", error);
}

static enum hr_status run_verb(const void *args_, const struct words *operands, struct hr_error *error) {
  const struct forecast_args *args = args_;
  const char *path = operands->at[0];
  struct hr_forecast_config config;
  struct hr_trace *trace = NULL;
  struct hr_forecast *forecast = NULL;
  enum hr_status status = read_options(args, &config, error);
  if (status == HR_OK) status = check_outputs(args, path, error);
  if (status == HR_OK) status = input_read_trace_alone(path, &args->input, false, &trace, error);
  if (status == HR_OK) status = hr_forecast_make(trace, &config, &forecast, error);
  if (status == HR_OK) status = print_results(args, trace, forecast, error);
  hr_forecast_destroy(forecast);
  hr_trace_destroy(trace);
  return status;
}

const struct verb verb_forecast = {.name = "forecast",
                                   .operands = "TRACE",
                                   .summary = "forecast demand from a trace, with prediction intervals",
                                   .details = details,
                                   .options = options,
                                   .args_bytes = sizeof(struct forecast_args),
                                   .run = run_verb};
