/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom plan`: searches for the cheapest mix of capacity that meets the scenario's goals. */

#include "cli/cli.h"
#include "headroom/unstable/planning.h"
#include "headroom/unstable/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct plan_args {
  struct input_args input;
  const char *json, *forecast, *events;
  struct page_args page;
  double growth;    /* 0: not set */
  uint64_t threads; /* 0: not set */
  bool exhaustive, brief, quiet;
};

#define AT(field) offsetof(struct plan_args, field)
static const struct option options[] = {
    {"json", OPTION_TEXT, AT(json), "FILE", "write the whole answer as JSON ('-': standard output, without the table)"},
    {"forecast", OPTION_TEXT, AT(forecast), "N",
     "plan for the demand of the next N months, 1 to 18, as forecast by 'headroom forecast', instead of the "
     "trace; 3mo "
     "is the same as 3"},
    {"growth", OPTION_REAL, AT(growth), "X",
     "with --forecast: demand in a year relative to today, instead of the trend fitted to the trace",
     HR_MIN_FORECAST_GROWTH, HR_MAX_FORECAST_GROWTH},
    {"exhaustive", OPTION_FLAG, AT(exhaustive), NULL,
     "run every candidate as often as a finalist, to verify the search (slow)"},
    {"brief", OPTION_FLAG, AT(brief), NULL,
     "print only the choice and the comparison with the baseline; skip the tests under other conditions"},
    {"events", OPTION_TEXT, AT(events), "FILE",
     "while the search runs, write its progress and each mix that it ran as lines of JSON, e.g. to a pipe"},
    REPORT_OPTION(AT(page)),
    RANK_THREADS_OPTION(plan_args),
    QUIET_OPTION(plan_args),
    INPUT_OPTIONS(plan_args),
    {0}};

static const char details[] = "The scenario's key 'plan' lists the capacity that may be bought (variables), the\n"
                              "goals (constraints) and the objective, which is minimized: docs/planner/plan.md.\n"
                              "A constraint is METRIC <= NUMBER or METRIC >= NUMBER. METRIC is any metric of\n"
                              "the JSON summary: wait_s.p95, wait_s.p95 of inference, completed,\n"
                              "deadline_miss of tenant retail, monthly_usd, utilization.submit_window, ...\n"
                              "Under mpirun, the ranks share the runs.\n"
                              "Exit code: 0 success, 1 no mix meets the goals or all jobs were rejected, 2 bad\n"
                              "input or usage, 3 a policy broke its contract, 4 system failure.\n\n"
                              "Examples:\n"
                              "  headroom plan scenarios/plan-reserved-share.json\n"
                              "  headroom plan scenarios/plan-l4-or-t4.json --json - | jq .recommendation\n"
                              "  mpirun -n 16 headroom plan scenarios/plan-spot-share.json\n";

struct plan_state {
  const struct plan_args *args;
  struct hr_ranks ranks;
  struct input input;
  struct hr_plan *plan;
  struct page page;
  struct hr_perf perf;
};

/* ---- Events: the search while it runs --------------------------------------------------------------- */

/* Writes a line of JSON for each mix that was run, and at most ten lines per second about the progress. The lines are
   written during the search, because a program reads them; other output files appear at its end. */
struct events {
  FILE *file;
  double next_s;
};

static const double event_interval_s = 0.1;

static void report_progress(void *self, uint64_t done, uint64_t total, int64_t now_us) {
  struct events *events = self;
  (void)now_us;
  if (clock_s() < events->next_s) return;
  events->next_s = clock_s() + event_interval_s;
  fprintf(events->file, "{\"event\":\"progress\",\"done\":%" PRIu64 ",\"total\":%" PRIu64 "}\n", done, total);
  fflush(events->file);
}

static void report_candidate(void *self, const char *json) {
  struct events *events = self;
  fprintf(events->file, "%s\n", json);
  fflush(events->file);
}

static enum hr_status events_open(struct events *events, const char *path, struct hr_error *error) {
  *events = (struct events){0};
  if (!path) return HR_OK;
  events->file = fopen(path, "w");
  return events->file ? HR_OK
                      : hr_fail(error, HR_BAD_INPUT, "--events %s: cannot be written: %s", path, strerror(errno));
}

static enum hr_status search(struct plan_state *plan, struct hr_error *error) {
  struct progress_bar bar;
  struct events events;
  const struct plan_args *args = plan->args;
  struct hr_plan_config config = {.scenario = plan->input.scenario,
                                  .overrides = plan->input.overrides.words.at,
                                  .n_overrides = plan->input.overrides.words.count,
                                  .trace = plan->input.trace,
                                  .search = args->exhaustive ? HR_PLAN_SEARCH_EXHAUSTIVE : HR_PLAN_SEARCH_AUTO,
                                  .no_sensitivity = args->brief,
                                  .forecast_growth = args->growth,
                                  .n_threads = count_rank_threads(args->threads),
                                  .ranks = &plan->ranks};
  if (args->growth > 0 && !args->forecast)
    return hr_fail(error, HR_BAD_INPUT, "--growth needs --forecast, e.g. --forecast 3mo");
  enum hr_status status =
      args->forecast ? parse_months("forecast", args->forecast, &config.forecast_months, error) : HR_OK;
  if (status != HR_OK) return status;
  status = events_open(&events, plan->ranks.rank == 0 ? args->events : NULL, error);
  if (status != HR_OK) return status;
  config.progress = progress_bar_start(&bar, !args->quiet && plan->ranks.rank == 0);
  if (events.file) config.progress = (struct hr_progress){.self = &events, .report = report_progress};
  if (events.file) config.listener = (struct hr_plan_listener){&events, report_candidate};
  progress_bar_count(&bar, plan->input.trace->n_jobs, true);
  double begin_s = clock_s();
  status = hr_plan(&config, &plan->plan, error);
  plan->perf = input_perf(&plan->input, begin_s);
  progress_bar_stop(&bar);
  if (events.file) fclose(events.file);
  return status;
}

/* Writes the report. It shows a run of the choice in detail or, if no candidate meets the goals, a run of the nearest
   candidate. This requires observers, so the run is repeated. */
static enum hr_status write_page(struct plan_state *plan, struct hr_error *error) {
  struct hr_plan_case choice;
  enum hr_status status = hr_plan_choice_case(plan->plan, &choice, error);
  if (status != HR_OK) return status;
  const struct hr_replay_config config = {.scenario = choice.scenario, .trace = choice.trace, .seed = choice.seed};
  char *text = hr_plan_json(plan->plan, &plan->perf);
  if (!text) return hr_fail(error, HR_NO_MEMORY, "out of memory for the HTML report");
  const struct page_subject subject = {.kind = "plan", .plan = text, .notes = hr_plan_notes(plan->plan)};
  plan->page.input = &plan->input;
  plan->page.set = choice.set;
  plan->page.n_set = choice.n_set;
  status = page_run_and_write(&plan->page, &subject, &config, error);
  free(text);
  return status;
}

/* Warns of jobs that can never run on the recommended mix or, if no candidate meets the goals, on the nearest one. */
static enum hr_status warn_rejected(const struct plan_state *plan, struct hr_rejections *rejections,
                                    struct hr_error *error) {
  struct hr_plan_case choice;
  enum hr_status status = hr_plan_choice_case(plan->plan, &choice, error);
  if (status == HR_OK) status = input_predict_rejected(&plan->input, choice.scenario, rejections, error);
  if (status == HR_OK) input_warn_rejected(&plan->input, &choice.scenario->cluster, rejections);
  return status;
}

static void print_next(const struct plan_state *plan) {
  const struct plan_args *args = plan->args;
  unsigned facts = next_facts_of(&plan->input);
  if (!hr_plan_feasible(plan->plan)) facts |= NEXT_FAILED;
  if (args->brief) facts |= NEXT_BRIEF;
  if (args->forecast) facts &= ~(unsigned)NEXT_LONG;
  next_step_print(stdout, &(struct next_step){.verb = "plan",
                                              .facts = facts,
                                              .path = plan->input.scenario->path,
                                              .input = &args->input,
                                              .trace = plan->input.trace_path,
                                              .forecast = args->forecast,
                                              .growth = args->growth});
}

static enum hr_status print_results(struct plan_state *plan, struct hr_error *error) {
  const struct plan_args *args = plan->args;
  const struct hr_notes *notes = hr_plan_notes(plan->plan);
  enum hr_status status = HR_OK;
  if (args->json) status = hr_plan_write_json(args->json, plan->plan, &plan->perf, error);
  if (status == HR_OK && args->page.report) status = write_page(plan, error);
  struct hr_rejections rejections = {0};
  if (status == HR_OK) status = warn_rejected(plan, &rejections, error);
  if (status == HR_OK && !args->quiet) {
    /* A plan has many notes about prices. They follow the table, so that the answer is on the first screen. */
    bool wants_table = !is_stdout(args->json) && !is_stdout(args->page.report);
    if (wants_table) status = hr_plan_print(stdout, plan->plan, &plan->perf, wants_colour());
    fflush(stdout);
    input_print_notes(stderr, &plan->input);
    notes_print(stderr, notes);
    if (wants_table && status == HR_OK) print_next(plan);
    printed(status, "plan", error);
  }
  if (status == HR_OK) status = input_require_accepted(&plan->input, &rejections, error);
  if (status != HR_OK || hr_plan_feasible(plan->plan)) return status;
  return hr_fail(error, HR_CHECK_FAILED, "%s: no mix that was evaluated meets the goals", plan->input.scenario->path);
}

static enum hr_status run_all(struct plan_state *plan, const char *path, struct hr_error *error) {
  const struct output outputs[] = {
      {"json", plan->args->json}, {"report", plan->args->page.report}, {"events", plan->args->events}};
  bool leads = plan->ranks.rank == 0;
  size_t n_outputs = leads ? sizeof outputs / sizeof *outputs : 0;
  enum hr_status status = input_open(&plan->input, path, &plan->args->input, error);
  plan->input.allows_services = true;
  if (status == HR_OK) status = input_check_outputs(&plan->input, path, outputs, n_outputs, error);
  if (status == HR_OK && leads) status = page_prepare(&plan->page, &plan->args->page, error);
  plan->input.no_stdin = plan->ranks.size > 1;
  if (status == HR_OK) status = input_read_trace(&plan->input, &plan->args->input, error);
  if (status == HR_OK) status = search(plan, error);
  return status == HR_OK && leads ? print_results(plan, error) : status;
}

static enum hr_status run_verb(const void *args, const struct words *operands, struct hr_error *error) {
  struct plan_state plan = {.args = args};
  const struct command *command = &plan.args->page.command;
  enum hr_status status = ranks_start(&plan.ranks, command->count, command->words, error);
  if (status == HR_OK) status = run_all(&plan, operands->at[0], error);
  page_finish(&plan.page);
  hr_plan_destroy(plan.plan);
  input_finish(&plan.input);
  return hr_ranks_leave(&plan.ranks, status, error);
}

const struct verb verb_plan = {
    .name = "plan",
    .operands = "SCENARIO",
    .summary = "find what to buy: the cheapest mix of capacity that meets the goals, with confidence intervals",
    .details = details,
    .options = options,
    .args_bytes = sizeof(struct plan_args),
    .command_at = AT(page.command),
    .on_ranks = true,
    .run = run_verb};
