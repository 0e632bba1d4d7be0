/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom forecast`: the demand that a trace lets expect, and how well such a forecast did where the trace knows. */

#include "headroom/unstable/forecast.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/output.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct forecast_args {
  struct input_args input;
  const char *months, *json, *csv;
  double growth, confidence; /* 0: not given, as below */
  uint64_t holdout;
  bool quiet;
};

#define AT(field) offsetof(struct forecast_args, field)
static const struct option options[] = {
    {.name = "months",
     .kind = OPTION_TEXT,
     .offset = AT(months),
     .value = "N",
     .help = "how far ahead, 1 to 18 months, 3 unless given; 3mo is the same as 3"},
    {.name = "growth",
     .kind = OPTION_REAL,
     .offset = AT(growth),
     .value = "X",
     .help = "demand in a year for 1 today, e.g. 1.5, instead of the trend that the trace tells",
     .min = HR_MIN_FORECAST_GROWTH,
     .max = HR_MAX_FORECAST_GROWTH},
    {.name = "confidence",
     .kind = OPTION_REAL,
     .offset = AT(confidence),
     .value = "X",
     .help = "of the intervals from low to high, 0.95 unless given",
     .min = 0.5,
     .max = 0.999},
    {.name = "holdout",
     .kind = OPTION_WHOLE,
     .offset = AT(holdout),
     .value = "WEEKS",
     .help = "weeks at the trace's end that are held back to test by, a fifth of them unless given, at most 8",
     .min = 1,
     .max = HR_MAX_FORECAST_HOLDOUT},
    {.name = "csv",
     .kind = OPTION_TEXT,
     .offset = AT(csv),
     .value = "FILE",
     .help = "write a CSV row for each series and week ('-': standard output, and no table)"},
    {.name = "json",
     .kind = OPTION_TEXT,
     .offset = AT(json),
     .value = "FILE",
     .help = "write everything as JSON ('-' likewise)"},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_FLAG,
     .offset = AT(quiet),
     .help = "no table, no notes; errors are still told"},
    TRACE_OPTIONS(forecast_args),
    {0}};

static const char details[] = "Demand is GPU hours of work submitted, by week, tenant and class; what is small\n"
                              "is pooled. docs/planner/forecast.md has the model, what it assumes, and how it did on\n"
                              "real traces. At least 2 whole weeks are wanted, and 6 for a trend.\n"
                              "Exit code: 0 fine, 2 bad input or usage, 4 the system failed.\n\n"
                              "Examples:\n"
                              "  headroom forecast traces/reference/agency.csv --months 1\n"
                              "  headroom forecast helios_trace.csv.gz --growth 1.5 --months 12 --json - \\\n"
                              "    --map submit=arrival_s,duration=service_sec,gpus=gpu_count\n";

/* ---- Settings --------------------------------------------------------------------------------------- */

static enum hr_status settle(const struct forecast_args *args, struct hr_forecast_config *config,
                             struct hr_error *error) {
  *config = (struct hr_forecast_config){
      .growth = args->growth, .confidence = args->confidence, .holdout_weeks = (uint32_t)args->holdout};
  return args->months ? parse_months("months", args->months, &config->months, error) : HR_OK;
}

static enum hr_status check_outputs(const struct forecast_args *args, const char *path, struct hr_error *error) {
  const struct output outputs[] = {{"csv", args->csv}, {"json", args->json}};
  const char *const inputs[] = {path};
  const size_t n_outputs = sizeof outputs / sizeof *outputs;
  enum hr_status status = outputs_check(outputs, n_outputs, inputs, 1, error);
  return status == HR_OK ? outputs_spare_params(outputs, n_outputs, args->input.format, error) : status;
}

/* ---- The verb --------------------------------------------------------------------------------------- */

static enum hr_status tell(const struct forecast_args *args, const struct hr_trace *trace,
                           const struct hr_forecast *forecast, struct hr_error *error) {
  const struct hr_notes *notes = hr_forecast_notes(forecast);
  enum hr_status status = args->csv ? hr_forecast_write_csv(args->csv, forecast, error) : HR_OK;
  if (status == HR_OK && args->json) status = hr_forecast_write_json(args->json, forecast, error);
  if (status != HR_OK || args->quiet) return status;
  input_print_trace_notes(stderr, trace);
  for (size_t i = 0; i < notes->count; i++) fprintf(stderr, "note: %s\n", notes->text[i]);
  if (is_stdout(args->json) || is_stdout(args->csv)) return HR_OK;
  status = hr_forecast_print(stdout, forecast, wants_colour());
  return status == HR_OK ? HR_OK : hr_fail(error, status, "the table cannot be printed: %s", hr_status_meaning(status));
}

static enum hr_status run_verb(const void *args_, const struct words *operands, struct hr_error *error) {
  const struct forecast_args *args = args_;
  const char *path = operands->at[0];
  struct hr_forecast_config config;
  struct hr_trace *trace = NULL;
  struct hr_forecast *forecast = NULL;
  enum hr_status status = settle(args, &config, error);
  if (status == HR_OK) status = check_outputs(args, path, error);
  if (status == HR_OK) status = input_read_trace_alone(path, &args->input, &trace, error);
  if (status == HR_OK) status = hr_forecast_make(trace, &config, &forecast, error);
  if (status == HR_OK) status = tell(args, trace, forecast, error);
  hr_forecast_destroy(forecast);
  hr_trace_destroy(trace);
  return status;
}

const struct verb verb_forecast = {.name = "forecast",
                                   .operands = "TRACE",
                                   .min_operands = 1,
                                   .max_operands = 1,
                                   .summary = "say what demand a trace lets expect, and how sure that is",
                                   .details = details,
                                   .options = options,
                                   .args_bytes = sizeof(struct forecast_args),
                                   .run = run_verb};
