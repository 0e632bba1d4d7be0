/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table of metrics: values from a run's summary, names, and the parser of figures. Costs are integer micro-dollars
 * in the summary and dollars here; an unknown value is NaN.
 */

#include "plan/runner/measures.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEASURE_INFO(id, path, column, unit, kind, groups) [id] = {path, column, unit, kind, groups},
const struct hr__measure_info hr__measure_infos[HR__N_MEASURES] = {HR__MEASURE_TABLE(MEASURE_INFO)};

/* ---- Values ----------------------------------------------------------------------------------------- */

static double known_if(bool known, double value) {
  return known ? value : HR__UNKNOWN;
}

static double dollars(int64_t uusd) {
  return known_if(uusd != HR_UNKNOWN_UUSD, (double)uusd / 1e6);
}

static double share(uint64_t count, uint64_t all) {
  return known_if(all > 0, all ? (double)count / (double)all : 0);
}

/* Writes the six metrics of a distribution to `first` and the following elements, in the order of
   HR__DISTRIBUTION_TABLE. */
static void put_distribution(const struct hr_distribution *distribution, double *first) {
  const double figures[] = {distribution->mean, distribution->p50, distribution->p90,
                            distribution->p95,  distribution->p99, distribution->max};
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
    first[i] = known_if(distribution->count > 0, figures[i]);
}

static void put_jobs(const struct hr_summary *summary, double *values) {
  values[HR__M_SUBMITTED] = (double)summary->jobs_submitted;
  values[HR__M_COMPLETED] = (double)summary->jobs_completed;
  values[HR__M_REJECTED] = (double)summary->jobs_rejected;
  values[HR__M_UNFINISHED] = (double)summary->jobs_unfinished;
  values[HR__M_BACKFILLED] = (double)summary->jobs_backfilled;
  values[HR__M_COMPLETED_SHARE] = share(summary->jobs_completed, summary->jobs_submitted);
  values[HR__M_DEADLINE_MISS] = share(summary->missed_deadlines, summary->deadlines);
  put_distribution(&summary->wait_s, &values[HR__M_WAIT_MEAN]);
  put_distribution(&summary->jct_s, &values[HR__M_JCT_MEAN]);
  put_distribution(&summary->slowdown, &values[HR__M_SLOWDOWN_MEAN]);
}

static void put_time(const struct hr_summary *summary, double *values) {
  bool spanned = summary->makespan_s > 0, ended = summary->jobs_completed + summary->jobs_unfinished > 0;
  values[HR__M_MAKESPAN] = known_if(ended, summary->makespan_s);
  values[HR__M_SUBMIT_WINDOW] = summary->submit_window_s;
  values[HR__M_UTILIZATION_SUBMIT_WINDOW] = known_if(summary->submit_window_s > 0, summary->utilization_submit_window);
  values[HR__M_UTILIZATION_MAKESPAN] = known_if(spanned, summary->utilization_makespan);
  values[HR__M_QUEUE_MEAN] = known_if(spanned, summary->queue_mean);
  values[HR__M_QUEUE_MAX] = (double)summary->queue_max;
  values[HR__M_GPU_HOURS] = summary->gpu_hours;
}

static void put_goodput(const struct hr_summary *summary, double *values) {
  const struct hr_goodput *goodput = &summary->goodput;
  values[HR__M_USEFUL] = goodput->useful_gpu_hours;
  values[HR__M_LOST] = goodput->lost_gpu_hours;
  values[HR__M_SAVING] = goodput->checkpoint_gpu_hours;
  values[HR__M_RESTARTING] = goodput->restart_gpu_hours;
  values[HR__M_GOODPUT] = known_if(summary->gpu_hours > 0, goodput->fraction);
}

static void put_spot(const struct hr_summary *summary, double *values) {
  const struct hr_spot_figures *spot = &summary->spot;
  bool any = spot->pools > 0;
  values[HR__M_RECLAIMS] = known_if(any, (double)spot->reclaims);
  values[HR__M_RECLAIM_RATE] = known_if(spot->node_hours > 0, spot->reclaims_per_node_hour);
  values[HR__M_INTERRUPTED] = known_if(any, (double)spot->jobs_interrupted);
  values[HR__M_SPOT_HOURS] = known_if(any, spot->gpu_hours);
  values[HR__M_SPOT_AVAILABILITY] = known_if(any, spot->availability);
  values[HR__M_OOM_KILLS] = known_if(summary->oom.known, (double)summary->oom.kills);
}

static void put_fairness(const struct hr_fairness *fairness, double *values) {
  const struct hr_distribution *rho = &fairness->finish_time;
  values[HR__M_JAIN] = known_if(fairness->parties, fairness->jain);
  values[HR__M_RHO_MEAN] = known_if(rho->count, rho->mean);
  values[HR__M_RHO_P95] = known_if(rho->count, rho->p95);
  values[HR__M_RHO_MAX] = known_if(rho->count, rho->max);
  values[HR__M_RHO_ABOVE_1] = known_if(rho->count, fairness->share_above_1);
}

static void put_fragmentation(const struct hr_summary *summary, double *values) {
  const struct hr_fragmentation_figures *figures = &summary->fragmentation;
  bool spanned = figures->known && summary->makespan_s > 0;
  values[HR__M_FRAGMENTS_SUBMITS] = known_if(figures->known && summary->submit_window_s > 0, figures->submit_window);
  values[HR__M_FRAGMENTS_MAKESPAN] = known_if(spanned, figures->makespan);
  values[HR__M_STRANDED] = known_if(spanned, figures->stranded);
  values[HR__M_GANG_MEAN] = known_if(spanned, figures->largest_gang_mean);
  values[HR__M_GANG_MIN] = known_if(figures->known, (double)figures->largest_gang_min);
}

static void put_costs(const struct hr_cost_summary *costs, double *values) {
  if (!costs) return;
  values[HR__M_COST] = dollars(costs->total_uusd);
  values[HR__M_COST_CAPACITY] = dollars(costs->capacity_uusd);
  values[HR__M_COST_IDLE] = dollars(costs->idle_uusd);
  values[HR__M_ALL_ON_DEMAND] = dollars(costs->all_on_demand_uusd);
  values[HR__M_PER_JOB] = dollars(costs->per_completed_job_uusd);
  values[HR__M_PER_GOODPUT] = dollars(costs->per_goodput_gpu_hour_uusd);
  values[HR__M_PER_MONTH] = dollars(costs->per_month_uusd);
  values[HR__M_MONTHLY] = dollars(costs->monthly_uusd);
}

static void set_unknown(double *values) {
  for (size_t i = 0; i < HR__N_MEASURES; i++) values[i] = HR__UNKNOWN;
}

void hr__measures_of_run(const struct hr__one_run *run, double values[HR__N_MEASURES]) {
  const struct hr_summary *summary = run->summary;
  set_unknown(values);
  put_jobs(summary, values);
  put_time(summary, values);
  put_goodput(summary, values);
  put_spot(summary, values);
  put_fairness(&summary->fairness, values);
  put_fragmentation(summary, values);
  put_costs(summary->costs, values);
  values[HR__M_PREEMPTIONS] = (double)run->preemptions;
  values[HR__M_RESTARTS] = (double)run->restarts;
}

void hr__measures_of_group(const struct hr_group *group, const struct hr_cost_lines *lines,
                           double values[HR__N_MEASURES]) {
  set_unknown(values);
  values[HR__M_SUBMITTED] = (double)group->jobs;
  values[HR__M_COMPLETED] = (double)group->completed;
  values[HR__M_COMPLETED_SHARE] = share(group->completed, group->jobs);
  values[HR__M_DEADLINE_MISS] = share(group->missed_deadlines, group->deadlines);
  values[HR__M_GPU_HOURS] = group->gpu_hours;
  values[HR__M_USEFUL] = group->useful_gpu_hours;
  put_distribution(&group->wait_s, &values[HR__M_WAIT_MEAN]);
  put_distribution(&group->jct_s, &values[HR__M_JCT_MEAN]);
  put_distribution(&group->slowdown, &values[HR__M_SLOWDOWN_MEAN]);
  for (size_t i = 0; lines && i < lines->count; i++)
    if (strcmp(lines->line[i].name, group->name) == 0) values[HR__M_COST] = dollars(lines->line[i].uusd);
}

/* ---- Names ------------------------------------------------------------------------------------------ */

static bool is_word(const char *word, const char *name, size_t length) {
  return strlen(word) == length && strncmp(word, name, length) == 0;
}

enum hr__measure hr__measure_find(const char *name, size_t length) {
  static const struct {
    const char *name;
    enum hr__measure measure;
  } aliases[] = {
      {"cost_usd", HR__M_COST}, {"usd_per_job", HR__M_PER_JOB}, {"utilization", HR__M_UTILIZATION_SUBMIT_WINDOW}};
  for (unsigned i = 0; i < HR__N_MEASURES; i++)
    if (is_word(hr__measure_infos[i].path, name, length) || is_word(hr__measure_infos[i].column, name, length))
      return (enum hr__measure)i;
  for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
    if (is_word(aliases[i].name, name, length)) return aliases[i].measure;
  return HR__N_MEASURES;
}

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

static enum hr_status parse_group(struct text_part part, const struct hr_trace *trace, struct hr__figure *figure,
                                  struct hr_error *error) {
  bool is_class = skip_word(&part, "class"), is_tenant = !is_class && skip_word(&part, "tenant");
  const char *class_ = is_tenant ? NULL : class_named(part), *tenant = is_class ? NULL : tenant_named(part, trace);
  if (!class_ && !tenant) return unknown_group(part, is_class, is_tenant, trace, error);
  figure->of = class_ ? HR__OF_CLASS : HR__OF_TENANT;
  figure->name = class_ ? class_ : tenant;
  if (class_ && !trace->class_)
    return hr_fail(error, HR_BAD_INPUT, "the jobs of %.200s have no classes, so there are none of class '%s'",
                   trace->source, class_);
  if (hr__measure_infos[figure->measure].of_groups) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "'%s' is known only for all jobs together, not by class or tenant",
                 hr__measure_infos[figure->measure].path);
}

static enum hr_status unknown_measure(struct text_part part, bool of_groups, struct hr_error *error) {
  const char *names[HR__N_MEASURES + 1];
  char word[100];
  snprintf(word, sizeof word, "%.*s", (int)(part.length < sizeof word ? part.length : sizeof word - 1), part.at);
  hr__measure_names(of_groups, names);
  const char *nearest = hr_nearest_word(word, names);
  return hr_fail(error, HR_BAD_INPUT, "unknown metric '%s'; %s%s%s", word, nearest ? "did you mean '" : "",
                 nearest ? nearest
                         : "examples are wait_s.p95, completed, deadline_miss and monthly_usd (see 'headroom help "
                           "plan')",
                 nearest ? "'?" : "");
}

enum hr_status hr__figure_parse(const char *text, size_t length, const struct hr_trace *trace,
                                struct hr__figure *figure, struct hr_error *error) {
  struct text_part input = trimmed(text, length), measure = input, group = {0};
  *figure = (struct hr__figure){.of = HR__OF_ALL};
  for (size_t i = 0; i + 4 <= input.length; i++) {
    if (strncmp(input.at + i, " of ", 4) != 0) continue;
    measure = trimmed(input.at, i);
    group = trimmed(input.at + i + 4, input.length - i - 4);
    break;
  }
  figure->measure = hr__measure_find(measure.at, measure.length);
  if (figure->measure == HR__N_MEASURES) return unknown_measure(measure, group.at != NULL, error);
  return group.at ? parse_group(group, trace, figure, error) : HR_OK;
}

/* ---- Figures ---------------------------------------------------------------------------------------- */

const char *hr__figure_name(const struct hr__figure *figure, char *buffer) {
  const char *path = hr__measure_infos[figure->measure].path;
  /* If a tenant has the name of a class, its name is preceded by "tenant". */
  bool ambiguous = figure->of == HR__OF_TENANT && class_named((struct text_part){figure->name, strlen(figure->name)});
  if (figure->of == HR__OF_ALL)
    snprintf(buffer, HR__FIGURE_NAME_BYTES, "%s", path);
  else
    snprintf(buffer, HR__FIGURE_NAME_BYTES, "%s of %s%.200s", path, ambiguous ? "tenant " : "", figure->name);
  return buffer;
}

static void measures_of_group(const struct hr_summary *summary, const struct hr__figure *figure, double *measures) {
  bool is_class = figure->of == HR__OF_CLASS;
  const struct hr_group *groups = is_class ? summary->by_class : summary->by_tenant;
  size_t count = is_class ? summary->n_classes : summary->n_tenants;
  const struct hr_cost_lines *lines = NULL;
  if (summary->costs) lines = is_class ? &summary->costs->by_class : &summary->costs->by_tenant;
  set_unknown(measures);
  for (size_t i = 0; i < count; i++)
    if (strcmp(groups[i].name, figure->name) == 0) hr__measures_of_group(&groups[i], lines, measures);
}

void hr__figures_of_run(const struct hr__one_run *run, const struct hr__figure *figures, size_t count, double *values) {
  double measures[HR__N_MEASURES];
  for (size_t i = 0; i < count; i++) {
    if (i == 0 || !hr__figure_same_group(&figures[i - 1], &figures[i])) {
      if (figures[i].of == HR__OF_ALL)
        hr__measures_of_run(run, measures);
      else
        measures_of_group(run->summary, &figures[i], measures);
    }
    values[i] = measures[figures[i].measure];
  }
}

/* ---- Text ------------------------------------------------------------------------------------------- */

static const char *magnitude_text(enum hr__unit unit, double value, char *buffer) {
  switch (unit) {
  case HR__SECONDS:
    return hr__duration_text(value, buffer);
  case HR__FACTOR:
    return hr__factor_text(value, buffer);
  case HR__INDEX:
    return hr__fixed_text(value, 4, buffer);
  case HR__COUNT:
    return hr__fixed_text(value, value == floor(value) ? 0 : 1, buffer);
  case HR__GPU_HOURS:
    return hr__fixed_text(value, value < 1000 ? 1 : 0, buffer);
  case HR__SHARE:
    return hr__fixed_text(100 * value, 1, buffer);
  case HR__DOLLARS:
    return hr__usd_text((int64_t)llround(value * 1e6), buffer);
  }
  return strcpy(buffer, "");
}

const char *hr__figure_text(enum hr__unit unit, double value, char *buffer) {
  if (isnan(value)) return strcpy(buffer, "-");
  magnitude_text(unit, value, buffer);
  return unit == HR__SHARE ? strcat(buffer, " %") : buffer;
}

static const char *with_sign(enum hr__unit unit, const char *sign, double magnitude, char *buffer) {
  magnitude_text(unit, magnitude, stpcpy(buffer, sign));
  return unit == HR__SHARE ? strcat(buffer, " pts") : buffer;
}

const char *hr__difference_text(enum hr__unit unit, double difference, char *buffer) {
  if (isnan(difference)) return strcpy(buffer, "-");
  if (difference == 0) return strcpy(buffer, "=");
  return with_sign(unit, difference < 0 ? "-" : "+", fabs(difference), buffer);
}

const char *hr__margin_text(enum hr__unit unit, double low, double high, char *buffer) {
  if (isnan(low)) return strcpy(buffer, "-");
  return with_sign(unit, "\u00b1", (high - low) / 2, buffer);
}
