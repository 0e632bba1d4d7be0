/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom tco`: compares the cost of private, colocated, reserved and on-demand capacity over years. */

#include "cli/cli.h"
#include "headroom/unstable/compare.h"
#include "headroom/unstable/planning.h"

#include <stdlib.h>

struct tco_args {
  struct input_args input;
  struct page_args page;
  const char *json;
  uint64_t replications, threads; /* 0: not set */
  bool quiet;
};

#define AT(field) offsetof(struct tco_args, field)
static const struct option options[] = {
    {"json", OPTION_TEXT, AT(json), "FILE", "write everything as JSON ('-': standard output, without the table)"},
    REPORT_OPTION(AT(page)),
    {"replications", OPTION_WHOLE, AT(replications), "N",
     "runs of each option that has random events (default: the scenario's number, else 10)", 1, HR_MAX_REPLICATIONS},
    THREADS_OPTION(tco_args),
    QUIET_OPTION(tco_args),
    INPUT_OPTIONS(tco_args),
    {0}};

static const char details[] = "Each option is a set of pools of the scenario ('tco.options'; default: each\n"
                              "pool alone) that runs the same jobs. Its cost per useful GPU hour is\n"
                              "cost / (GPU hours x availability x utilization x ETTR). ETTR is here useful GPU\n"
                              "hours / GPU hours held by jobs. 'faults.ettr' of a run also divides by the waits\n"
                              "of stopped jobs in the queue, in which others can use the GPUs. 'owned' of a\n"
                              "pool has its purchases, energy, colocation and staff; 'tco' has years, growth\n"
                              "and prices to come. docs/reference/tco.md has the definitions.\n"
                              "Exit code: 0 success, 2 bad input or usage, 3 a policy broke its contract,\n"
                              "4 system failure.\n\n"
                              "Examples:\n"
                              "  headroom tco scenarios/private-or-cloud.json\n"
                              "  headroom tco scenarios/private-or-cloud.json --report tco.html --json tco.json\n";

struct tco_state {
  const struct tco_args *args;
  struct input input;
  struct hr_tco *tco;
  struct page page;
};

static enum hr_status compare_options(struct tco_state *state, struct hr_error *error) {
  struct progress_bar bar;
  const struct tco_args *args = state->args;
  struct hr_tco_config config = {.scenario = state->input.scenario,
                                 .overrides = state->input.overrides.words.at,
                                 .n_overrides = state->input.overrides.words.count,
                                 .trace = state->input.trace,
                                 .n_replications = (uint32_t)args->replications,
                                 .n_threads = count_threads(args->threads),
                                 .progress = progress_bar_start(&bar, !args->quiet)};
  progress_bar_count(&bar, state->input.trace->n_jobs, true);
  enum hr_status status = hr_tco(&config, &state->tco, error);
  progress_bar_stop(&bar);
  return status;
}

static enum hr_status write_page(struct tco_state *state, struct hr_error *error) {
  char *text = hr_tco_json(state->tco);
  if (!text) return hr_fail(error, HR_NO_MEMORY, "out of memory for the HTML report");
  const struct page_subject subject = {
      .kind = "tco", .title = state->input.scenario->name, .tco = text, .notes = hr_tco_notes(state->tco)};
  enum hr_status status = page_write(&state->page, &subject, NULL, NULL, error);
  free(text);
  return status;
}

static enum hr_status print_results(struct tco_state *state, struct hr_error *error) {
  const struct tco_args *args = state->args;
  enum hr_status status = args->json ? hr_tco_write_json(args->json, state->tco, error) : HR_OK;
  if (status == HR_OK && args->page.report) status = write_page(state, error);
  if (status != HR_OK || args->quiet) return status;
  input_print_notes(stderr, &state->input);
  notes_print(stderr, hr_tco_notes(state->tco));
  if (is_stdout(args->json) || is_stdout(args->page.report)) return HR_OK;
  status = hr_tco_print(stdout, state->tco, wants_colour());
  if (status == HR_OK)
    next_step_print(stdout, &(struct next_step){.verb = "tco",
                                                .apart = true,
                                                .facts = next_facts_of(&state->input),
                                                .path = state->input.scenario->path,
                                                .input = &args->input});
  return printed(status, "table", error);
}

static enum hr_status run_all(struct tco_state *state, const char *path, struct hr_error *error) {
  const struct tco_args *args = state->args;
  const struct output outputs[] = {{"json", args->json}, {"report", args->page.report}};
  enum hr_status status = input_open(&state->input, path, &args->input, error);
  if (status == HR_OK)
    status = input_check_outputs(&state->input, path, outputs, sizeof outputs / sizeof *outputs, error);
  if (status == HR_OK) status = page_prepare(&state->page, &args->page, error);
  if (status == HR_OK) status = input_read_trace(&state->input, &args->input, error);
  if (status == HR_OK) status = compare_options(state, error);
  return status == HR_OK ? print_results(state, error) : status;
}

static enum hr_status run_verb(const void *args, const struct words *operands, struct hr_error *error) {
  struct tco_state state = {.args = args};
  enum hr_status status = run_all(&state, operands->at[0], error);
  hr_tco_destroy(state.tco);
  page_finish(&state.page);
  input_finish(&state.input);
  return status;
}

const struct verb verb_tco = {.name = "tco",
                              .operands = "SCENARIO",
                              .summary = "compare the cost of owned and rented capacity over years",
                              .details = details,
                              .options = options,
                              .args_bytes = sizeof(struct tco_args),
                              .command_at = AT(page.command),
                              .run = run_verb};
