/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scoped metrics: their parser, their names, and their values in a run. */

#include "plan/runner/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Parsing ---------------------------------------------------------------------------------------- */

/* A part of the input, without the blanks around it. */
struct text_part {
  const char *at;
  size_t length;
};

static struct text_part trimmed(const char *at, size_t length) {
  while (length && *at == ' ') at++, length--;
  while (length && at[length - 1] == ' ') length--;
  return (struct text_part){at, length};
}

static bool skip_word(struct text_part *part, const char *word) {
  size_t length = strlen(word);
  if (part->length <= length || strncmp(part->at, word, length) != 0 || part->at[length] != ' ') return false;
  *part = trimmed(part->at + length, part->length - length);
  return true;
}

static bool is_text(struct text_part part, const char *text) {
  return strlen(text) == part.length && strncmp(text, part.at, part.length) == 0;
}

/* The name of the class, from the table of classes; NULL if the table lacks it. */
static const char *class_named(struct text_part part) {
  for (unsigned i = HR_CLASS_UNKNOWN + 1; i < HR_N_CLASSES; i++)
    if (is_text(part, hr_job_class_name((enum hr_job_class)i))) return hr_job_class_name((enum hr_job_class)i);
  return NULL;
}

static const char *tenant_named(struct text_part part, const struct hr_trace *trace) {
  for (uint32_t i = 0; trace->tenant && i < trace->tenants.count; i++)
    if (is_text(part, trace->tenants.text[i])) return trace->tenants.text[i];
  return NULL;
}

/* Reports an unknown class or tenant, and suggests the nearest name. `class_only`, `tenant_only`: the text said "class"
   or "tenant", so only such names are suggested. */
static enum hr_status unknown_group(struct text_part part, bool class_only, bool tenant_only,
                                    const struct hr_trace *trace, struct hr_error *error) {
  uint32_t n_tenants = trace->tenant && !class_only ? trace->tenants.count : 0, n = 0;
  const char **known = calloc((size_t)n_tenants + HR_N_CLASSES, sizeof *known);
  const char *what = class_only ? "no class" : tenant_only ? "no tenant" : "neither a class nor a tenant";
  char word[100];
  if (!known) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  for (unsigned i = 1; i < HR_N_CLASSES && !tenant_only; i++) known[n++] = hr_job_class_name((enum hr_job_class)i);
  for (uint32_t i = 0; i < n_tenants; i++) known[n++] = trace->tenants.text[i];
  snprintf(word, sizeof word, "%.*s", (int)(part.length < sizeof word ? part.length : sizeof word - 1), part.at);
  const char *nearest = hr_nearest_word(word, known);
  enum hr_status status = hr_fail(error, HR_BAD_INPUT, "'%s' is %s of %.200s%s%.100s%s", word, what, trace->source,
                                  nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
  free(known);
  return status;
}

static enum hr_status parse_group(struct text_part part, const struct hr_trace *trace, struct hr__scoped_metric *metric,
                                  struct hr_error *error) {
  bool is_class = skip_word(&part, "class"), is_tenant = !is_class && skip_word(&part, "tenant");
  const char *class_ = is_tenant ? NULL : class_named(part), *tenant = is_class ? NULL : tenant_named(part, trace);
  if (!class_ && !tenant) return unknown_group(part, is_class, is_tenant, trace, error);
  metric->of = class_ ? HR__OF_CLASS : HR__OF_TENANT;
  metric->name = class_ ? class_ : tenant;
  if (class_ && !trace->class_)
    return hr_fail(error, HR_BAD_INPUT, "the jobs of %.200s have no classes, so there are none of class '%s'",
                   trace->source, class_);
  if (hr__metric_rows[metric->id].flags & HR_METRIC_OF_GROUPS) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "'%s' is known only for all jobs together, not by class or tenant",
                 hr__metric_rows[metric->id].path);
}

static enum hr_status unknown_metric(struct text_part part, bool of_groups, struct hr_error *error) {
  const char *names[HR__N_METRICS + 1];
  char word[100];
  snprintf(word, sizeof word, "%.*s", (int)(part.length < sizeof word ? part.length : sizeof word - 1), part.at);
  hr__metric_names(of_groups, names);
  const char *nearest = hr_nearest_word(word, names);
  return hr_fail(error, HR_BAD_INPUT, "unknown metric '%s'; %s%s%s", word, nearest ? "did you mean '" : "",
                 nearest ? nearest
                         : "examples are wait_s.p95, completed, deadline_miss and monthly_usd (see 'headroom help "
                           "plan')",
                 nearest ? "'?" : "");
}

enum hr_status hr__scoped_metric_parse(const char *text, size_t length, const struct hr_trace *trace,
                                       struct hr__scoped_metric *metric, struct hr_error *error) {
  struct text_part input = trimmed(text, length), name = input, group = {0};
  *metric = (struct hr__scoped_metric){.of = HR__OF_ALL};
  for (size_t i = 0; i + 4 <= input.length; i++) {
    if (strncmp(input.at + i, " of ", 4) != 0) continue;
    name = trimmed(input.at, i);
    group = trimmed(input.at + i + 4, input.length - i - 4);
    break;
  }
  metric->id = hr__metric_find(name.at, name.length);
  if (metric->id == HR__N_METRICS) return unknown_metric(name, group.at != NULL, error);
  return group.at ? parse_group(group, trace, metric, error) : HR_OK;
}

/* ---- Names and values ---------------------------------------------------------------------------------- */

const char *hr__scoped_metric_name(const struct hr__scoped_metric *metric, char *buffer) {
  const char *path = hr__metric_rows[metric->id].path;
  /* If a tenant has the name of a class, its name is preceded by "tenant". */
  bool ambiguous = metric->of == HR__OF_TENANT && class_named((struct text_part){metric->name, strlen(metric->name)});
  if (metric->of == HR__OF_ALL)
    snprintf(buffer, HR__SCOPED_METRIC_BYTES, "%s", path);
  else
    snprintf(buffer, HR__SCOPED_METRIC_BYTES, "%s of %s%.200s", path, ambiguous ? "tenant " : "", metric->name);
  return buffer;
}

static void metrics_of_group(const struct hr_summary *summary, const struct hr__scoped_metric *metric,
                             double *metrics) {
  bool is_class = metric->of == HR__OF_CLASS;
  const struct hr_group *groups = is_class ? summary->by_class : summary->by_tenant;
  size_t count = is_class ? summary->n_classes : summary->n_tenants;
  const struct hr_cost_lines *lines = NULL;
  if (summary->costs) lines = is_class ? &summary->costs->by_class : &summary->costs->by_tenant;
  for (size_t i = 0; i < HR__N_METRICS; i++) metrics[i] = HR__UNKNOWN;
  for (size_t i = 0; i < count; i++)
    if (strcmp(groups[i].name, metric->name) == 0) hr__metrics_of_group(&groups[i], lines, metrics);
}

void hr__scoped_metrics_of_run(const struct hr_summary *summary, const struct hr__scoped_metric *metrics, size_t count,
                               double *values) {
  double all[HR__N_METRICS];
  for (size_t i = 0; i < count; i++) {
    if (i == 0 || !hr__scoped_metric_same_group(&metrics[i - 1], &metrics[i])) {
      if (metrics[i].of == HR__OF_ALL)
        hr__metrics_of_run(summary, all);
      else
        metrics_of_group(summary, &metrics[i], all);
    }
    values[i] = all[metrics[i].id];
  }
}
