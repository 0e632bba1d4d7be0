/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a comparison knows, asked by name or by place. */

#include "plan/comparison.h"

#include "plan/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct hr_estimate unknown = {HR__UNKNOWN, HR__UNKNOWN, HR__UNKNOWN, HR__UNKNOWN, false};

struct hr_estimate hr__estimate(const struct hr_comparison *comparison, uint32_t contender, enum hr__metric metric) {
  return hr__estimate_paired(hr__values_of(comparison, 0, metric), hr__values_of(comparison, contender, metric),
                             comparison->n_replications, comparison->exact);
}

struct hr_estimate hr__group_estimate(const struct hr_comparison *comparison, const struct hr__group_table *table,
                                      uint32_t contender, size_t group, enum hr__group_metric metric) {
  return hr__estimate_paired(hr__group_values_of(comparison, table, 0, group, metric),
                             hr__group_values_of(comparison, table, contender, group, metric),
                             comparison->n_replications, comparison->exact);
}

bool hr__has_metric(const struct hr_comparison *comparison, enum hr__metric metric) {
  for (uint32_t i = 0; i < comparison->config.n_contenders; i++) {
    const double *values = hr__values_of(comparison, i, metric);
    for (uint32_t k = 0; k < comparison->n_replications; k++)
      if (!isnan(values[k])) return true;
  }
  return false;
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

size_t hr__group_find(const struct hr__group_table *table, const char *name) {
  if (table->count == 0) return SIZE_MAX;
  const char **found = bsearch(&name, table->names, table->count, sizeof *table->names, by_text);
  return found ? (size_t)(found - table->names) : SIZE_MAX;
}

struct hr_run_label hr__run_label(const struct hr_comparison *comparison, uint32_t contender,
                                  const struct hr_notes **notes) {
  const struct hr_compare_config *config = &comparison->config;
  const struct hr_trace *trace = config->trace;
  notes[0] = &config->scenario->notes;
  notes[1] = &trace->notes;
  notes[2] = &comparison->first_runs[contender].notes;
  return (struct hr_run_label){.scenario = config->scenario->name,
                               .trace = trace->source,
                               .format = trace->format,
                               .cluster = &config->scenario->cluster,
                               .policy = config->contenders[contender].policy,
                               .seed = config->scenario->seed,
                               .notes = notes,
                               .n_notes = 3,
                               .skipped = trace->skipped,
                               .n_skipped_reasons = trace->n_skipped_reasons,
                               .alerts = comparison->first_runs[contender].alerts,
                               .clock_us = trace->dated ? 0 : trace->origin_us};
}

const char *hr_comparison_metric(uint32_t number) {
  return number < HR__N_METRICS ? hr__metric_name(&hr__metric_infos[number]) : NULL;
}

struct hr_estimate hr_comparison_estimate(const struct hr_comparison *comparison, uint32_t contender,
                                          const char *metric) {
  for (uint32_t i = 0; i < HR__N_METRICS; i++)
    if (strcmp(hr_comparison_metric(i), metric) == 0) return hr__estimate(comparison, contender, (enum hr__metric)i);
  return unknown;
}

uint32_t hr_comparison_replications(const struct hr_comparison *comparison) {
  return comparison->n_replications;
}

const struct hr_summary *hr_comparison_summary(const struct hr_comparison *comparison, uint32_t contender) {
  return comparison->first_runs[contender].summary;
}

const struct hr_notes *hr_comparison_notes(const struct hr_comparison *comparison) {
  return &comparison->notes;
}
