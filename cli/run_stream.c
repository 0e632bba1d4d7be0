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

/* What costs more for each job, by its key; NULL: nothing. */
static const char *cost_by_job(const struct hr_scenario *scenario) {
  const struct hr_cost_spec *costs = &scenario->costs;
  if (costs->storage.uusd_per_gb_month) return "storage.usd_per_gb_month";
  for (unsigned i = 0; costs->egress.uusd_per_gb && i < HR_N_CLASSES; i++)
    if (costs->egress.mb_per_job[i]) return "egress.gb_per_job";
  return costs->downtime.uusd_per_missed_deadline ? "downtime.usd_per_missed_deadline" : NULL;
}

enum hr_status check_stream(const struct hr_scenario *scenario, struct hr_error *error) {
  const struct hr_policy_choice *policy = &scenario->policy;
  if (strcmp(policy->ops->name, "queue") != 0)
    return hr_fail(error, HR_BAD_INPUT, "--stream: policy '%s' may remember every job; 'queue' does not",
                   policy->ops->name);
  const char *by_job = cost_by_job(scenario);
  if (by_job)
    return hr_fail(error, HR_BAD_INPUT,
                   "--stream: 'costs.%s' is summed over all jobs at the end; leave it or --stream out", by_job);
  enum hr_status status = HR_OK;
  for (size_t i = 0; status == HR_OK && i < sizeof parts / sizeof *parts; i++)
    status = check_part(policy, &parts[i], error);
  return status;
}

/* ---- The run ---------------------------------------------------------------------------------------- */

/* All that a run is followed by; of scenarios without prices there are no accounts. */
struct streaming {
  const struct input *input;
  const struct stream_args *args;
  struct hr_streamed *streamed;
  struct hr_ledger *ledger;
  struct hr_meter *meter;
  struct hr_result *result;
  struct hr_streamed_figures figures;
  struct hr_notes notes;
};

static enum hr_status begin(struct streaming *self, struct hr_error *error) {
  const struct hr_scenario *scenario = self->input->scenario;
  bool has_prices = hr_scenario_has_prices(scenario);
  self->streamed = hr_streamed_create(self->input->trace);
  if (has_prices) {
    self->ledger = hr_ledger_create(self->input->trace, &scenario->cluster, false);
    self->meter = hr_meter_create(self->input->trace, &scenario->cluster, &scenario->costs);
  }
  bool made = self->streamed && (!has_prices || (self->ledger && self->meter));
  return made ? HR_OK : hr_fail(error, HR_NO_MEMORY, "out of memory");
}

static enum hr_status simulate(struct streaming *self, struct hr_error *error) {
  const struct hr_scenario *scenario = self->input->scenario;
  struct hr_fold folds[3] = {hr_streamed_fold(self->streamed)};
  struct progress_bar bar;
  struct hr_run_config config = {.trace = self->input->trace,
                                 .cluster = &scenario->cluster,
                                 .policy = scenario->policy.ops,
                                 .params = scenario->policy.params,
                                 .seed = scenario->seed,
                                 .horizon_us = scenario->horizon_us,
                                 .check = self->args->check,
                                 .classes = scenario->classes,
                                 .folds = folds,
                                 .n_folds = 1,
                                 .progress = progress_bar_start(&bar, !self->args->quiet),
                                 .quotas = scenario->quotas,
                                 .speeds = scenario->speeds,
                                 .network_speeds = scenario->network_speeds,
                                 .stream = true};
  if (self->ledger) folds[config.n_folds++] = hr_ledger_fold(self->ledger);
  if (self->meter) folds[config.n_folds++] = hr_meter_fold(self->meter);
  enum hr_status status = hr_sim_run(&config, &self->result, error);
  progress_bar_stop(&bar);
  return status;
}

static enum hr_status sum_up(struct streaming *self, struct hr_error *error) {
  const struct hr_scenario *scenario = self->input->scenario;
  const struct hr_cost_basis basis = {self->ledger, self->meter, &scenario->costs, scenario->classes};
  self->figures = hr_streamed_close(self->streamed, &scenario->cluster, self->result);
  if (!self->ledger) return HR_OK;
  enum hr_status status = hr_ledger_close(self->ledger, self->result);
  if (status != HR_OK) return hr_fail(error, status, "out of memory for the accounts");
  return hr_streamed_cost(self->streamed, &scenario->cluster, self->result, &basis, &self->figures, error);
}

static enum hr_status note(struct streaming *self, struct hr_error *error) {
  const struct hr_scenario *scenario = self->input->scenario;
  const struct hr_trace *trace = self->input->trace;
  struct hr_notes *notes = &self->notes;
  enum hr_status status = hr_run_notes(trace, &scenario->costs, scenario->quotas, self->result, notes, error);
  if (status == HR_OK) status = hr_pair_notes(trace, &scenario->cluster, notes, error);
  if (status != HR_OK || hr_streamed_notes(self->streamed, notes) == HR_OK) return status;
  return hr_fail(error, HR_NO_MEMORY, "out of memory");
}

static void print_notes(const struct streaming *self) {
  input_print_notes(stderr, self->input);
  for (size_t i = 0; i < self->notes.count; i++) fprintf(stderr, "note: %s\n", self->notes.text[i]);
}

static enum hr_status tell(const struct streaming *self, double sim_s, struct hr_error *error) {
  const struct input *input = self->input;
  const struct stream_args *args = self->args;
  const struct hr_notes *notes[] = {&input->scenario->notes, &input->trace->notes, &self->notes};
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
  enum hr_status status = args->json ? hr_streamed_write_json(args->json, &self->figures, &label, &perf, error) : HR_OK;
  if (status != HR_OK || args->quiet) return status;
  print_notes(self);
  if (is_stdout(args->json)) return HR_OK;
  status = hr_streamed_print(stdout, &self->figures, &label, &perf, terminal_style());
  return status == HR_OK ? HR_OK
                         : hr_fail(error, status, "the figures cannot be printed: %s", hr_status_meaning(status));
}

enum hr_status run_stream(const struct input *input, const struct stream_args *args, struct hr_error *error) {
  struct streaming self = {.input = input, .args = args};
  double begin_s = clock_s();
  enum hr_status status = begin(&self, error);
  if (status == HR_OK) status = simulate(&self, error);
  if (status == HR_OK) status = sum_up(&self, error);
  if (status == HR_OK) status = note(&self, error);
  if (status == HR_OK) status = tell(&self, clock_s() - begin_s, error);
  hr_notes_finish(&self.notes);
  hr_streamed_figures_finish(&self.figures);
  hr_result_destroy(self.result);
  hr_meter_destroy(self.meter);
  hr_ledger_destroy(self.ledger);
  hr_streamed_destroy(self.streamed);
  return status;
}
