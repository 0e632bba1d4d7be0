/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/run_stream.h"

#include "cli/cli.h"
#include "cli/progress.h"

#include <string.h>

/* ---- What can be streamed --------------------------------------------------------------------------- */

/* Of `queue`: what remembers more with each job that comes. */
static const struct part {
  const char *key;
  const char *values[4]; /* ended by NULL */
  const char *why;
} parts[] = {
    {"order", {"wfp3", NULL}, "keeps a lane for each run time that it has seen"},
    {"market",
     {"deadline-greedy", "uniform-progress", "omniscient", NULL},
     "keeps what each job had been given, or looks ahead"},
};

static bool is_among(const char *word, const char *const *words) {
  while (*words && strcmp(*words, word) != 0) words++;
  return *words != NULL;
}

static enum hr_status check_part(const struct hr_policy_choice *policy, const struct part *part,
                                 struct hr_error *error) {
  for (size_t i = 0; i < policy->n_params; i++) {
    if (strcmp(policy->ops->params[i].key, part->key) != 0) continue;
    char buffer[32];
    const char *value = hr_policy_choice_text(policy, i, buffer);
    if (!is_among(value, part->values)) continue;
    return hr_fail(error, HR_BAD_INPUT, "--stream: %s '%s' %s; choose another, or leave --stream out", part->key, value,
                   part->why);
  }
  return HR_OK;
}

enum hr_status check_stream(const struct hr_scenario *scenario, struct hr_error *error) {
  const struct hr_policy_choice *policy = &scenario->policy;
  if (strcmp(policy->ops->name, "queue") != 0)
    return hr_fail(error, HR_BAD_INPUT, "--stream: policy '%s' may remember every job; 'queue' does not",
                   policy->ops->name);
  if (hr_scenario_has_prices(scenario))
    return hr_fail(error, HR_BAD_INPUT,
                   "--stream: the scenario has prices, and costs are told of all jobs at the end; "
                   "leave prices out, or --stream");
  enum hr_status status = HR_OK;
  for (size_t i = 0; status == HR_OK && i < sizeof parts / sizeof *parts; i++)
    status = check_part(policy, &parts[i], error);
  return status;
}

/* ---- The run ---------------------------------------------------------------------------------------- */

static enum hr_status simulate(const struct input *input, const struct stream_args *args, struct hr_streamed *streamed,
                               struct hr_result **result, struct hr_error *error) {
  const struct hr_scenario *scenario = input->scenario;
  const struct hr_fold fold = hr_streamed_fold(streamed);
  struct progress_bar bar;
  struct hr_run_config config = {.trace = input->trace,
                                 .cluster = &scenario->cluster,
                                 .policy = scenario->policy.ops,
                                 .params = scenario->policy.params,
                                 .seed = scenario->seed,
                                 .horizon_us = scenario->horizon_us,
                                 .check = args->check,
                                 .classes = scenario->classes,
                                 .folds = &fold,
                                 .n_folds = 1,
                                 .progress = progress_bar_start(&bar, !args->quiet),
                                 .quotas = scenario->quotas,
                                 .speeds = scenario->speeds,
                                 .network_speeds = scenario->network_speeds,
                                 .stream = true};
  enum hr_status status = hr_sim_run(&config, result, error);
  progress_bar_stop(&bar);
  return status;
}

static enum hr_status note(const struct input *input, const struct hr_streamed *streamed,
                           const struct hr_result *result, struct hr_notes *notes, struct hr_error *error) {
  const struct hr_scenario *scenario = input->scenario;
  enum hr_status status = hr_run_notes(input->trace, &scenario->costs, scenario->quotas, result, notes, error);
  if (status == HR_OK) status = hr_pair_notes(input->trace, &scenario->cluster, notes, error);
  if (status != HR_OK || hr_streamed_notes(streamed, notes) == HR_OK) return status;
  return hr_fail(error, HR_NO_MEMORY, "out of memory");
}

static enum hr_status tell(const struct input *input, const struct stream_args *args,
                           const struct hr_streamed_figures *figures, const struct hr_notes *of_run, double sim_s,
                           struct hr_error *error) {
  const struct hr_notes *notes[] = {&input->scenario->notes, &input->trace->notes, of_run};
  const struct hr_run_label label = {.scenario = input->scenario->name,
                                     .trace = input->trace->source,
                                     .format = input->trace->format,
                                     .cluster = &input->scenario->cluster,
                                     .policy = &input->scenario->policy,
                                     .seed = input->scenario->seed,
                                     .notes = notes,
                                     .n_notes = sizeof notes / sizeof *notes,
                                     .skipped = input->trace->skipped,
                                     .n_skipped_reasons = input->trace->n_skipped_reasons};
  const struct hr_perf perf = {.load_s = input->load_s, .sim_s = sim_s, .peak_rss_mib = peak_rss_mib()};
  enum hr_status status = args->json ? hr_streamed_write_json(args->json, figures, &label, &perf, error) : HR_OK;
  if (status != HR_OK || args->quiet) return status;
  input_print_notes(stderr, input);
  for (size_t i = 0; i < of_run->count; i++) fprintf(stderr, "note: %s\n", of_run->text[i]);
  if (is_stdout(args->json)) return HR_OK;
  status = hr_streamed_print(stdout, figures, &label, &perf, terminal_style());
  return status == HR_OK ? HR_OK
                         : hr_fail(error, status, "the figures cannot be printed: %s", hr_status_meaning(status));
}

enum hr_status run_stream(const struct input *input, const struct stream_args *args, struct hr_error *error) {
  struct hr_result *result = NULL;
  struct hr_notes notes = {0};
  struct hr_streamed *streamed = hr_streamed_create(input->trace);
  if (!streamed) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  double begin_s = clock_s();
  enum hr_status status = simulate(input, args, streamed, &result, error);
  if (status == HR_OK) {
    const struct hr_streamed_figures figures = hr_streamed_close(streamed, &input->scenario->cluster, result);
    status = note(input, streamed, result, &notes, error);
    if (status == HR_OK) status = tell(input, args, &figures, &notes, clock_s() - begin_s, error);
  }
  hr_notes_finish(&notes);
  hr_result_destroy(result);
  hr_streamed_destroy(streamed);
  return status;
}
