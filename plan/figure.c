/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/figure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Reading ---------------------------------------------------------------------------------------- */

/* A piece of the text, without blanks around it. */
struct piece {
  const char *at;
  size_t length;
};

static struct piece trimmed(const char *at, size_t length) {
  while (length && *at == ' ') at++, length--;
  while (length && at[length - 1] == ' ') length--;
  return (struct piece){at, length};
}

static bool take_word(struct piece *piece, const char *word) {
  size_t length = strlen(word);
  if (piece->length <= length || strncmp(piece->at, word, length) != 0 || piece->at[length] != ' ') return false;
  *piece = trimmed(piece->at + length, piece->length - length);
  return true;
}

static bool is_text(struct piece piece, const char *text) {
  return strlen(text) == piece.length && strncmp(text, piece.at, piece.length) == 0;
}

/* Known to the table of classes; NULL if not. */
static const char *class_named(struct piece piece) {
  for (unsigned i = HR_CLASS_UNKNOWN + 1; i < HR_N_CLASSES; i++)
    if (is_text(piece, hr_job_class_name((enum hr_job_class)i))) return hr_job_class_name((enum hr_job_class)i);
  return NULL;
}

static const char *tenant_named(struct piece piece, const struct hr_trace *trace) {
  for (uint32_t i = 0; trace->tenant && i < trace->tenants.count; i++)
    if (is_text(piece, trace->tenants.text[i])) return trace->tenants.text[i];
  return NULL;
}

/* Names what is near among classes, tenants or both, as the text asks for. */
static enum hr_status unknown_group(struct piece piece, bool class_only, bool tenant_only, const struct hr_trace *trace,
                                    struct hr_error *error) {
  uint32_t n_tenants = trace->tenant && !class_only ? trace->tenants.count : 0, n = 0;
  const char **known = calloc((size_t)n_tenants + HR_N_CLASSES, sizeof *known);
  const char *what = class_only ? "no class" : tenant_only ? "no tenant" : "neither a class nor a tenant";
  char word[100];
  if (!known) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  for (unsigned i = 1; i < HR_N_CLASSES && !tenant_only; i++) known[n++] = hr_job_class_name((enum hr_job_class)i);
  for (uint32_t i = 0; i < n_tenants; i++) known[n++] = trace->tenants.text[i];
  snprintf(word, sizeof word, "%.*s", (int)(piece.length < sizeof word ? piece.length : sizeof word - 1), piece.at);
  const char *nearest = hr_nearest_word(word, known);
  enum hr_status status = hr_fail(error, HR_BAD_INPUT, "'%s' is %s of %.200s%s%.100s%s", word, what, trace->source,
                                  nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
  free(known);
  return status;
}

static enum hr_status parse_group(struct piece piece, const struct hr_trace *trace, struct hr__figure *figure,
                                  struct hr_error *error) {
  bool is_class = take_word(&piece, "class"), is_tenant = !is_class && take_word(&piece, "tenant");
  const char *class_ = is_tenant ? NULL : class_named(piece), *tenant = is_class ? NULL : tenant_named(piece, trace);
  if (!class_ && !tenant) return unknown_group(piece, is_class, is_tenant, trace, error);
  figure->of = class_ ? HR__OF_CLASS : HR__OF_TENANT;
  figure->name = class_ ? class_ : tenant;
  if (class_ && !trace->class_)
    return hr_fail(error, HR_BAD_INPUT, "the jobs of %.200s have no classes, so none is of '%s'", trace->source,
                   class_);
  if (hr__measure_infos[figure->measure].of_groups) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "'%s' is known of all jobs together, not by class or tenant",
                 hr__measure_infos[figure->measure].path);
}

static enum hr_status unknown_measure(struct piece piece, bool of_groups, struct hr_error *error) {
  const char *names[HR__N_MEASURES + 1];
  char word[100];
  snprintf(word, sizeof word, "%.*s", (int)(piece.length < sizeof word ? piece.length : sizeof word - 1), piece.at);
  hr__measure_names(of_groups, names);
  const char *nearest = hr_nearest_word(word, names);
  return hr_fail(error, HR_BAD_INPUT, "unknown figure '%s'; %s%s%s", word, nearest ? "did you mean '" : "",
                 nearest ? nearest
                         : "wait_s.p95, completed, deadline_miss and monthly_usd are some ('headroom help "
                           "plan')",
                 nearest ? "'?" : "");
}

enum hr_status hr__figure_parse(const char *text, size_t length, const struct hr_trace *trace,
                                struct hr__figure *figure, struct hr_error *error) {
  struct piece whole = trimmed(text, length), measure = whole, group = {0};
  *figure = (struct hr__figure){.of = HR__OF_ALL};
  for (size_t i = 0; i + 4 <= whole.length; i++) {
    if (strncmp(whole.at + i, " of ", 4) != 0) continue;
    measure = trimmed(whole.at, i);
    group = trimmed(whole.at + i + 4, whole.length - i - 4);
    break;
  }
  figure->measure = hr__measure_find(measure.at, measure.length);
  if (figure->measure == HR__N_MEASURES) return unknown_measure(measure, group.at != NULL, error);
  return group.at ? parse_group(group, trace, figure, error) : HR_OK;
}

/* ---- Using ------------------------------------------------------------------------------------------ */

static bool same_group(const struct hr__figure *a, const struct hr__figure *b) {
  return a->of == b->of && (a->of == HR__OF_ALL || strcmp(a->name, b->name) == 0);
}

bool hr__figure_same(const struct hr__figure *a, const struct hr__figure *b) {
  return a->measure == b->measure && same_group(a, b);
}

const char *hr__figure_name(const struct hr__figure *figure, char *buffer) {
  const char *path = hr__measure_infos[figure->measure].path;
  /* A tenant that is called like a class is told from it. */
  bool doubtful = figure->of == HR__OF_TENANT && class_named((struct piece){figure->name, strlen(figure->name)});
  if (figure->of == HR__OF_ALL)
    snprintf(buffer, HR__FIGURE_NAME_BYTES, "%s", path);
  else
    snprintf(buffer, HR__FIGURE_NAME_BYTES, "%s of %s%.200s", path, doubtful ? "tenant " : "", figure->name);
  return buffer;
}

static void forget(double *measures) {
  for (size_t i = 0; i < HR__N_MEASURES; i++) measures[i] = HR__UNKNOWN;
}

static void measures_of_group(const struct hr_summary *summary, const struct hr__figure *figure, double *measures) {
  bool is_class = figure->of == HR__OF_CLASS;
  const struct hr_group *groups = is_class ? summary->by_class : summary->by_tenant;
  size_t count = is_class ? summary->n_classes : summary->n_tenants;
  const struct hr_cost_lines *lines = NULL;
  if (summary->costs) lines = is_class ? &summary->costs->by_class : &summary->costs->by_tenant;
  forget(measures);
  for (size_t i = 0; i < count; i++)
    if (strcmp(groups[i].name, figure->name) == 0) hr__measures_of_group(&groups[i], lines, measures);
}

void hr__figures_of_run(const struct hr__one_run *run, const struct hr__figure *figures, size_t count, double *values) {
  double measures[HR__N_MEASURES];
  for (size_t i = 0; i < count; i++) {
    if (i == 0 || !same_group(&figures[i - 1], &figures[i])) {
      if (figures[i].of == HR__OF_ALL)
        hr__measures_of_run(run, measures);
      else
        measures_of_group(run->summary, &figures[i], measures);
    }
    values[i] = measures[figures[i].measure];
  }
}
