/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom diff`: runs two scenarios on the same trace with the same seed, and prints the effect of the change.
   Options that change a scenario apply to both. */

#include "cli/cli.h"
#include "headroom/unstable/compare.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct diff_args {
  struct input_args input;
  const char *json;
  uint64_t threads; /* 0: not set */
  bool quiet;
};

static const struct option options[] = {{"json", OPTION_TEXT, offsetof(struct diff_args, json), "FILE",
                                         "write all differences as JSON ('-': standard output, without the table)"},
                                        THREADS_OPTION(diff_args),
                                        INPUT_OPTIONS(diff_args),
                                        QUIET_OPTION(diff_args),
                                        {0}};

static const char details[] = "Prints the keys in which the scenarios differ, waits by queue (the field 'queue'\n"
                              "of jobs; if no job has it: the tenant), metrics, and the first decision that\n"
                              "differs. Both runs have the seed of A. Options that change a scenario apply to\n"
                              "both.\n"
                              "Exit code: 0 success, also if results differ, 1 all jobs were rejected, 2 bad\n"
                              "input or usage, 3 a policy broke its contract, 4 system failure.\n\n"
                              "Examples:\n"
                              "  headroom diff today.json raised-quota.json --trace jobs.csv\n"
                              "  headroom diff kueue.json kueue2.json --trace workloads.json --json diff.json\n";

struct diff_state {
  const struct diff_args *args;
  const char *const *paths; /* of A and B */
  struct input inputs[2];
  const struct hr_trace *traces[2];
  struct hr_diff *diff;
  double load_s, sim_s;
};

/* ---- Input ------------------------------------------------------------------------------------------ */

static bool same_text(const char *a, const char *b) {
  return a == b || (a && b && strcmp(a, b) == 0);
}

/* Returns true if both scenarios read a trace in the same way. */
static bool read_alike(const struct hr_scenario *a, const struct hr_scenario *b) {
  if (a->lenient != b->lenient || a->drop_failed != b->drop_failed) return false;
  if (!same_text(a->trace_format, b->trace_format) || a->columns.count != b->columns.count) return false;
  for (size_t i = 0; i < a->columns.count; i++) {
    const struct hr_column_name *x = &a->columns.entry[i], *y = &b->columns.entry[i];
    if (!same_text(x->field, y->field) || !same_text(x->column, y->column) || !same_text(x->value, y->value) ||
        !same_text(x->pattern, y->pattern))
      return false;
  }
  return true;
}

/* Finds the trace: that of --trace, or that of the scenarios. If only one scenario names a trace, both use it. Returns
   HR_BAD_INPUT if the scenarios name different traces. */
static enum hr_status find_trace(struct diff_state *state, struct hr_error *error) {
  struct input *a = &state->inputs[0], *b = &state->inputs[1];
  if (!a->trace_path) a->trace_path = b->trace_path;
  if (!b->trace_path) b->trace_path = a->trace_path;
  if (same_text(a->trace_path, b->trace_path) || hr_output_same(a->trace_path, b->trace_path)) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT,
                 "%.200s and %.200s name different traces, %.200s and %.200s; set one for both with --trace FILE",
                 state->paths[0], state->paths[1], a->trace_path, b->trace_path);
}

/* Reads the trace, once if both scenarios read it in the same way. */
static enum hr_status read_traces(struct diff_state *state, struct hr_error *error) {
  struct input *a = &state->inputs[0], *b = &state->inputs[1];
  enum hr_status status = input_read_trace(a, &state->args->input, error);
  if (status != HR_OK) return status;
  state->traces[0] = state->traces[1] = a->trace;
  state->load_s = a->load_s;
  if (read_alike(a->scenario, b->scenario)) return HR_OK;
  if (strcmp(a->trace_path, "-") == 0)
    return hr_fail(error, HR_BAD_INPUT,
                   "--trace -: %.200s and %.200s read the trace with other columns or formats, so it is read twice; "
                   "name a file",
                   state->paths[0], state->paths[1]);
  status = input_read_trace(b, &state->args->input, error);
  state->traces[1] = b->trace;
  state->load_s += b->load_s;
  return status;
}

static enum hr_status check_outputs(const struct diff_state *state, struct hr_error *error) {
  const struct output output = {"json", state->args->json};
  enum hr_status status = HR_OK;
  for (unsigned i = 0; i < 2 && status == HR_OK; i++)
    status = input_check_outputs(&state->inputs[i], state->paths[i], &output, 1, error);
  return status;
}

static enum hr_status open_inputs(struct diff_state *state, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (unsigned i = 0; i < 2 && status == HR_OK; i++)
    status = input_open(&state->inputs[i], state->paths[i], &state->args->input, error);
  if (status == HR_OK) status = find_trace(state, error);
  if (status == HR_OK) status = check_outputs(state, error);
  return status == HR_OK ? read_traces(state, error) : status;
}

/* ---- Runs ------------------------------------------------------------------------------------------- */

static enum hr_status run_both(struct diff_state *state, struct hr_error *error) {
  struct progress_bar bar;
  struct hr_diff_config config = {.seed = state->inputs[0].scenario->seed,
                                  .n_threads = count_threads(state->args->threads),
                                  .progress = progress_bar_start(&bar, !state->args->quiet)};
  for (unsigned i = 0; i < 2; i++)
    config.sides[i] = (struct hr_diff_side){.label = state->paths[i],
                                            .scenario = state->inputs[i].scenario,
                                            .overrides = state->inputs[i].overrides.words.at,
                                            .n_overrides = state->inputs[i].overrides.words.count,
                                            .trace = state->traces[i]};
  double begin_s = clock_s();
  enum hr_status status = hr_diff(&config, &state->diff, error);
  state->sim_s = clock_s() - begin_s;
  progress_bar_stop(&bar);
  return status;
}

/* ---- Output ----------------------------------------------------------------------------------------- */

/* Prints a note or a warning with the scenario to which it applies; NULL: to both. */
static void print_of_side(const char *text, const char *path) {
  static const char warning[] = "warning: ";
  bool warns = strncmp(text, warning, sizeof warning - 1) == 0;
  fprintf(stderr, "%s%s%s%s\n", warns ? warning : "note: ", path ? path : "", path ? ": " : "",
          text + (warns ? sizeof warning - 1 : 0));
}

static bool has_note(const struct hr_notes *notes, const char *text) {
  for (size_t i = 0; i < notes->count; i++)
    if (strcmp(notes->text[i], text) == 0) return true;
  return false;
}

/* Prints the notes on the scenarios. A note that applies to both is printed once. */
static void print_notes(const struct diff_state *state) {
  const struct hr_notes *a = &state->inputs[0].scenario->notes, *b = &state->inputs[1].scenario->notes;
  const uint64_t seed = state->inputs[0].scenario->seed;
  for (size_t i = 0; i < a->count; i++) print_of_side(a->text[i], has_note(b, a->text[i]) ? NULL : state->paths[0]);
  if (state->inputs[0].trace) input_print_trace_notes(stderr, state->inputs[0].trace);
  for (size_t i = 0; i < b->count; i++)
    if (!has_note(a, b->text[i])) print_of_side(b->text[i], state->paths[1]);
  notes_print(stderr, hr_diff_notes(state->diff));
  if (state->inputs[1].scenario->seed != seed)
    fprintf(stderr, "note: both runs have the seed of %s, %" PRIu64 "\n", state->paths[0], seed);
  if (hr_scenario_is_random(state->inputs[0].scenario) || hr_scenario_is_random(state->inputs[1].scenario))
    fprintf(stderr,
            "note: the scenarios have random events; these are single runs with the seed %" PRIu64
            ". Other seeds (--seed) have other differences\n",
            seed);
}

/* Prints the lines of warnings with the scenario to which they apply. */
static void print_lines(char *text, const char *path) {
  for (char *end; *text; text = end) {
    end = text + strcspn(text, "\n");
    if (*end) *end++ = '\0';
    print_of_side(text, path);
  }
}

/* Returns the warning of rejected jobs; NULL if memory is exhausted. The caller frees it. */
static char *rejection_warning(const struct diff_state *state, unsigned side) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (out)
    hr_rejections_warn(out, hr_diff_rejections(state->diff, side), state->traces[side],
                       &state->inputs[side].scenario->cluster);
  if (out && fclose(out) == 0) return text;
  free(text);
  return NULL;
}

/* Warns of rejected jobs. */
static enum hr_status warn_rejected(const struct diff_state *state, struct hr_error *error) {
  char *before = rejection_warning(state, 0), *after = rejection_warning(state, 1);
  const bool complete = before && after, is_same = complete && strcmp(before, after) == 0;
  if (complete) print_lines(before, is_same ? "both scenarios" : state->paths[0]);
  if (complete && !is_same) print_lines(after, state->paths[1]);
  free(before);
  free(after);
  return complete ? HR_OK : no_memory(error);
}

/* Returns HR_CHECK_FAILED, with an error, if all jobs of both runs are rejected. */
static enum hr_status require_accepted(const struct diff_state *state, struct hr_error *error) {
  const struct input *input = &state->inputs[0];
  struct hr_error other = {0};
  if (input_require_accepted(input, hr_diff_rejections(state->diff, 1), &other) == HR_OK) return HR_OK;
  return input_require_accepted(input, hr_diff_rejections(state->diff, 0), error);
}

static enum hr_status print_results(const struct diff_state *state, struct hr_error *error) {
  const struct diff_args *args = state->args;
  const struct hr_perf perf = {.load_s = state->load_s, .sim_s = state->sim_s, .peak_rss_mib = peak_rss_mib()};
  enum hr_status status = args->json ? hr_diff_write_json(args->json, state->diff, &perf, error) : HR_OK;
  if (status != HR_OK || args->quiet) return status;
  print_notes(state);
  if (is_stdout(args->json)) return HR_OK;
  status = hr_diff_print(stdout, state->diff, wants_colour());
  if (printed(status, "table", error) != HR_OK) return status;
  next_step_print(stdout,
                  &(struct next_step){.verb = "diff", .path = state->paths[1], .input = &args->input, .apart = true});
  return HR_OK;
}

/* ---- The verb --------------------------------------------------------------------------------------- */

static enum hr_status run_verb(const void *args, const struct words *operands, struct hr_error *error) {
  struct diff_state state = {.args = args, .paths = operands->at};
  enum hr_status status = open_inputs(&state, error);
  if (status == HR_OK) status = run_both(&state, error);
  if (status == HR_OK) status = warn_rejected(&state, error);
  if (status == HR_OK) status = print_results(&state, error);
  if (status == HR_OK) status = require_accepted(&state, error);
  hr_diff_destroy(state.diff);
  for (unsigned i = 0; i < 2; i++) input_finish(&state.inputs[i]);
  return status;
}

const struct verb verb_diff = {.name = "diff",
                               .operands = "A.json B.json",
                               .summary = "run two scenarios on the same trace and print the effect of the change",
                               .details = details,
                               .options = options,
                               .args_bytes = sizeof(struct diff_args),
                               .run = run_verb};
