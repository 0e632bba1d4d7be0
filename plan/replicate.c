/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Replications of one scenario. Of a fixed number all are run at once; until a precision is reached they are run in
 * rounds, each as large as the rounds before say will be needed, but never more than twice as many in all: the rounds
 * depend on the figures alone, not on threads.
 */

#include "plan/replicating.h"

#include "headroom/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Figures ---------------------------------------------------------------------------------------- */

/* All of the run, then those of each class and each tenant, a group's side by side. */
static bool list_figures(struct hr_replicates *replicates) {
  const struct hr_trace *trace = replicates->config.trace;
  size_t n_tenants = trace->tenant ? trace->tenants.count : 0, n_classes = trace->class_ ? HR_N_CLASSES - 1 : 0;
  replicates->figures = calloc((1 + n_tenants + n_classes) * HR__N_MEASURES, sizeof *replicates->figures);
  if (!replicates->figures) return false;
  for (size_t group = 0; group < 1 + n_classes + n_tenants; group++)
    for (unsigned i = 0; i < HR__N_MEASURES; i++) {
      struct hr__figure figure = {.measure = (enum hr__measure)i};
      if (group > 0 && !hr__measure_infos[i].of_groups) continue;
      if (group > 0) figure.of = group <= n_classes ? HR__OF_CLASS : HR__OF_TENANT;
      if (figure.of == HR__OF_CLASS) figure.name = hr_job_class_name((enum hr_job_class)group);
      if (figure.of == HR__OF_TENANT) figure.name = trace->tenants.text[group - n_classes - 1];
      replicates->figures[replicates->n_figures++] = figure;
    }
  return true;
}

static size_t find(const struct hr_replicates *replicates, const struct hr__figure *figure) {
  for (size_t i = 0; i < replicates->n_figures; i++)
    if (hr__figure_same(&replicates->figures[i], figure)) return i;
  return SIZE_MAX;
}

enum hr_status hr__replicates_interval(const struct hr_replicates *replicates, size_t figure,
                                       struct hr__interval *interval) {
  double *values = malloc(((size_t)replicates->count + 1) * sizeof *values);
  if (!values) return HR_NO_MEMORY;
  for (uint32_t r = 0; r < replicates->count; r++)
    values[r] = hr__lab_values(replicates->lab, replicates->mix, r)[figure];
  enum hr_status status =
      hr__interval_of(values, replicates->count, hr__measure_infos[replicates->figures[figure].measure].kind,
                      replicates->config.spec->confidence, replicates->exact, interval);
  free(values);
  return status;
}

/* ---- Running ---------------------------------------------------------------------------------------- */

static enum hr_status no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory for the replications");
}

static enum hr_status run_to(struct hr_replicates *replicates, uint32_t count, struct hr_error *error) {
  struct hr__trial *trials = calloc((size_t)count + 1, sizeof *trials);
  if (!trials) return no_memory(error);
  for (uint32_t r = 0; r < count; r++) trials[r] = (struct hr__trial){replicates->mix, r};
  enum hr_status status = hr__lab_run(replicates->lab, trials, count, error);
  free(trials);
  replicates->count = count;
  return status;
}

/* Half the width shrinks as one over the root of their number. */
static uint32_t next_count(uint32_t count, double reached, double wanted, uint32_t most) {
  double needed = count * (reached / wanted) * (reached / wanted);
  uint32_t next = needed < 2.0 * count ? (uint32_t)ceil(needed) : 2 * count;
  if (next < count + 2) next = count + 2;
  return next < most ? next : most;
}

static enum hr_status run_until(struct hr_replicates *replicates, struct hr_error *error) {
  const struct hr_replication_spec *spec = replicates->config.spec;
  struct hr_error inner = {0};
  struct hr__figure figure;
  enum hr_status status =
      hr__figure_parse(spec->metric.text, strlen(spec->metric.text), replicates->config.trace, &figure, &inner);
  if (status != HR_OK) return hr_fail(error, status, "%s%s", spec->metric.place, inner.text);
  replicates->metric = find(replicates, &figure);
  uint32_t next = spec->least;
  for (;;) {
    struct hr__interval interval;
    status = run_to(replicates, next, error);
    if (status != HR_OK) return status;
    if (hr__replicates_interval(replicates, replicates->metric, &interval) != HR_OK) return no_memory(error);
    if (interval.count == 0)
      return hr_fail(error, HR_BAD_INPUT, "%s'%s' is known in no replication", spec->metric.place, spec->metric.text);
    replicates->relative = hr__interval_relative(&interval);
    if (replicates->relative <= spec->relative || next == spec->most) return HR_OK;
    next = next_count(next, replicates->relative, spec->relative, spec->most);
  }
}

static enum hr_status note(struct hr_replicates *replicates, bool many, struct hr_error *error) {
  const struct hr_replication_spec *spec = replicates->config.spec;
  enum hr_status status = HR_OK;
  if (replicates->exact && many)
    status = hr_notes_add(&replicates->notes,
                          "nothing is random: one run tells all, and the other replications were not run");
  else if (spec->metric.text && replicates->relative > spec->relative)
    status = hr_notes_add(&replicates->notes,
                          "after %" PRIu32 " replications, as many as are allowed, %s is known to %.3g of itself, not "
                          "to %.3g as was wanted",
                          replicates->count, spec->metric.text, replicates->relative, spec->relative);
  return status == HR_OK ? HR_OK : no_memory(error);
}

static enum hr_status run_all(struct hr_replicates *replicates, struct hr_error *error) {
  const struct hr_replicate_config *config = &replicates->config;
  struct hr__lab_config lab = {.scenario = config->scenario,
                               .overrides = config->overrides,
                               .n_overrides = config->n_overrides,
                               .trace = config->trace,
                               .figures = replicates->figures,
                               .n_figures = replicates->n_figures,
                               .n_threads = config->n_threads,
                               .progress = config->progress};
  struct hr__world world = {.workload = config->spec->workload};
  uint32_t number;
  hr_stress_init(&world.stress);
  replicates->lab = hr__lab_create(&lab);
  if (!replicates->lab) return no_memory(error);
  enum hr_status status = hr__lab_add_world(replicates->lab, &world, &number, error);
  if (status == HR_OK) status = hr__lab_add_mix(replicates->lab, NULL, 0, number, &replicates->mix, error);
  if (status != HR_OK) return status;
  replicates->exact = !hr__lab_is_random(replicates->lab, replicates->mix);
  uint32_t count = config->spec->count ? config->spec->count : HR_LEAST_REPLICATIONS;
  bool many = config->spec->metric.text || count > 1;
  if (replicates->exact || !config->spec->metric.text)
    status = run_to(replicates, replicates->exact ? 1 : count, error);
  else
    status = run_until(replicates, error);
  if (status == HR_OK)
    status = hr__lab_run_one(replicates->lab, (struct hr__trial){replicates->mix, 0}, &replicates->first,
                             &replicates->first_trace, error);
  return status == HR_OK ? note(replicates, many, error) : status;
}

enum hr_status hr_replicate(const struct hr_replicate_config *config, struct hr_replicates **replicates,
                            struct hr_error *error) {
  *replicates = NULL;
  struct hr_replicates *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return no_memory(error);
  fresh->config = *config;
  enum hr_status status = list_figures(fresh) ? run_all(fresh, error) : no_memory(error);
  if (status == HR_OK)
    *replicates = fresh;
  else
    hr_replicates_destroy(fresh);
  return status;
}

void hr_replicates_destroy(struct hr_replicates *replicates) {
  if (!replicates) return;
  hr__one_run_finish(&replicates->first);
  hr__lab_destroy(replicates->lab);
  free(replicates->figures);
  hr_notes_finish(&replicates->notes);
  free(replicates);
}

/* ---- What came of them ------------------------------------------------------------------------------ */

uint32_t hr_replicates_count(const struct hr_replicates *replicates) {
  return replicates->count;
}

const struct hr_notes *hr_replicates_notes(const struct hr_replicates *replicates) {
  return &replicates->notes;
}

enum hr_status hr_replicates_figure(const struct hr_replicates *replicates, const char *name,
                                    struct hr_replicated *figure, struct hr_error *error) {
  struct hr__figure wanted;
  struct hr__interval interval;
  enum hr_status status = hr__figure_parse(name, strlen(name), replicates->config.trace, &wanted, error);
  if (status != HR_OK) return status;
  status = hr__replicates_interval(replicates, find(replicates, &wanted), &interval);
  if (status != HR_OK) return no_memory(error);
  *figure = (struct hr_replicated){.count = interval.count,
                                   .mean = interval.mean,
                                   .median = interval.median,
                                   .sd = interval.sd,
                                   .low = interval.low,
                                   .high = interval.high,
                                   .of_median = interval.of_median};
  return HR_OK;
}
