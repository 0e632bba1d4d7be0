/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom advise`: finds changes that cut cost without hurting service, and prints the savings of each change. */

#include "cli/cli.h"
#include "headroom/unstable/compare.h"
#include "headroom/unstable/planning.h"

struct advise_args {
  struct input_args input;
  const char *json;
  uint64_t replications, threads; /* 0: not set */
  bool quiet;
};

#define AT(field) offsetof(struct advise_args, field)
static const struct option options[] = {
    {"json", OPTION_TEXT, AT(json), "FILE",
     "write the advice and the rejected changes as JSON ('-': standard output, without the table)"},
    {"replications", OPTION_WHOLE, AT(replications), "N",
     "runs of the scenario and of each change, if the scenario is random (default: the scenario's number, else 10)", 1,
     HR_MAX_REPLICATIONS},
    THREADS_OPTION(advise_args),
    QUIET_OPTION(advise_args),
    INPUT_OPTIONS(advise_args),
    {0}};

static const char details[] = "Examines one run for unsuitable GPU types, idle reservations, classes that could\n"
                              "use spot nodes, and checkpoint intervals that are too long or too short. Each\n"
                              "change is simulated with the same random events as the scenario, and printed\n"
                              "with its savings per month and the --set options that apply it.\n"
                              "docs/planner/advise.md lists the checks and their assumptions.\n"
                              "Exit code: 0 success, 2 bad input or usage, 3 a policy broke its contract,\n"
                              "4 system failure.\n\n"
                              "Examples:\n"
                              "  headroom advise scenarios/agency-before.json\n"
                              "  headroom advise scenarios/reserved-spot-mix.json --json - | jq '.advice[].set'\n";

struct advise {
  const struct advise_args *args;
  struct input input;
  struct hr_advice *advice;
  struct hr_perf perf;
};

static enum hr_status search_changes(struct advise *advise, struct hr_error *error) {
  struct progress_bar bar;
  const struct advise_args *args = advise->args;
  struct hr_advise_config config = {.scenario = advise->input.scenario,
                                    .overrides = advise->input.overrides.words.at,
                                    .n_overrides = advise->input.overrides.words.count,
                                    .trace = advise->input.trace,
                                    .n_replications = (uint32_t)args->replications,
                                    .n_threads = count_threads(args->threads),
                                    .progress = progress_bar_start(&bar, !args->quiet)};
  progress_bar_count(&bar, advise->input.trace->n_jobs, true);
  double begin_s = clock_s();
  enum hr_status status = hr_advise(&config, &advise->advice, error);
  advise->perf = input_perf(&advise->input, begin_s);
  progress_bar_stop(&bar);
  return status;
}

static enum hr_status print_results(const struct advise *advise, struct hr_error *error) {
  const struct advise_args *args = advise->args;
  const struct hr_notes *notes = hr_advice_notes(advise->advice);
  enum hr_status status = HR_OK;
  if (args->json) status = hr_advice_write_json(args->json, advise->advice, &advise->perf, error);
  if (status != HR_OK || args->quiet) return status;
  input_print_notes(stderr, &advise->input);
  notes_print(stderr, notes);
  if (!is_stdout(args->json)) {
    status = hr_advice_print(stdout, advise->advice, &advise->perf, wants_colour());
    if (status == HR_OK)
      next_step_print(stdout, &(struct next_step){.verb = "advise",
                                                  .facts = next_facts_of(&advise->input),
                                                  .path = advise->input.scenario->path,
                                                  .input = &args->input});
  }
  return printed(status, "advice", error);
}

static enum hr_status run_all(struct advise *advise, const char *path, struct hr_error *error) {
  const struct output outputs[] = {{"json", advise->args->json}};
  enum hr_status status = input_open(&advise->input, path, &advise->args->input, error);
  if (status == HR_OK) status = input_check_outputs(&advise->input, path, outputs, 1, error);
  if (status == HR_OK) status = input_read_trace(&advise->input, &advise->args->input, error);
  if (status == HR_OK) status = search_changes(advise, error);
  return status == HR_OK ? print_results(advise, error) : status;
}

static enum hr_status run_verb(const void *args, const struct words *operands, struct hr_error *error) {
  struct advise advise = {.args = args};
  enum hr_status status = run_all(&advise, operands->at[0], error);
  hr_advice_destroy(advise.advice);
  input_finish(&advise.input);
  return status;
}

const struct verb verb_advise = {.name = "advise",
                                 .operands = "SCENARIO",
                                 .summary =
                                     "find changes that cut cost without hurting service, with the savings of each",
                                 .details = details,
                                 .options = options,
                                 .args_bytes = sizeof(struct advise_args),
                                 .run = run_verb};
