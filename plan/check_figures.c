/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figures that a baseline keeps: all of the run, a few of each class and tenant, what each pool cost. Their order
   is the tables' and the trace's, never that of the results. */

#include "plan/checking.h"
#include "plan/figure.h"
#include "plan/replicating.h"
#include "report/text.h"

#include <stdlib.h>
#include <string.h>

static const enum hr__measure group_measures[] = {HR__M_COMPLETED, HR__M_WAIT_MEAN, HR__M_WAIT_P95,     HR__M_JCT_MEAN,
                                                  HR__M_GPU_HOURS, HR__M_COST,      HR__M_DEADLINE_MISS};
enum { N_GROUP_MEASURES = sizeof group_measures / sizeof *group_measures };

static size_t count_groups(const struct hr_trace *trace) {
  return (trace->class_ ? HR_N_CLASSES - 1 : 0) + (trace->tenant ? trace->tenants.count : 0);
}

static void put_group(struct hr__figure **at, enum hr__figure_of of, const char *name) {
  for (size_t i = 0; i < N_GROUP_MEASURES; i++) *(*at)++ = (struct hr__figure){group_measures[i], of, name};
}

/* NULL when out of memory. */
static struct hr__figure *list_figures(const struct hr_trace *trace, size_t *count) {
  *count = HR__N_MEASURES + count_groups(trace) * N_GROUP_MEASURES;
  struct hr__figure *figures = calloc(*count, sizeof *figures), *at = figures;
  if (!figures) return NULL;
  for (unsigned i = 0; i < HR__N_MEASURES; i++) *at++ = (struct hr__figure){.measure = (enum hr__measure)i};
  for (unsigned i = 1; trace->class_ && i < HR_N_CLASSES; i++)
    put_group(&at, HR__OF_CLASS, hr_job_class_name((enum hr_job_class)i));
  for (uint32_t i = 0; trace->tenant && i < trace->tenants.count; i++)
    put_group(&at, HR__OF_TENANT, trace->tenants.text[i]);
  return figures;
}

/* As it is printed. */
static double rounded(double value) {
  char buffer[HR__NUMBER_BYTES];
  return strtod(hr__decimal_text(value, buffer), NULL);
}

/* What is not known is left out. */
static bool add(struct hr_baseline_run *now, enum hr__measure measure, enum hr_figure_of of, const char *group,
                double value) {
  if (!isfinite(value)) return true;
  struct hr_baseline_figure *figure = &now->figures[now->n_figures++];
  *figure = (struct hr_baseline_figure){.path = strdup(hr__measure_infos[measure].path),
                                        .of = of,
                                        .value = rounded(value),
                                        .low = (double)NAN,
                                        .high = (double)NAN};
  if (of == HR_FIGURE_OF_RUN) return figure->path != NULL;
  figure->group = hr__utf8_copy(group);
  return figure->path && figure->group;
}

static enum hr_figure_of part_of(const struct hr__figure *figure) {
  static const enum hr_figure_of parts[] = {
      [HR__OF_ALL] = HR_FIGURE_OF_RUN, [HR__OF_CLASS] = HR_FIGURE_OF_CLASS, [HR__OF_TENANT] = HR_FIGURE_OF_TENANT};
  return parts[figure->of];
}

static bool add_all(const struct hr__figure *figures, const double *values, size_t count, struct hr_baseline_run *now) {
  bool whole = true;
  for (size_t i = 0; i < count && whole; i++)
    whole = add(now, figures[i].measure, part_of(&figures[i]), figures[i].name, values[i]);
  return whole;
}

static bool add_pools(const struct hr_cost_summary *costs, struct hr_baseline_run *now) {
  bool whole = true;
  for (size_t i = 0; costs && i < costs->by_pool.count && whole; i++)
    whole =
        add(now, HR__M_COST, HR_FIGURE_OF_POOL, costs->by_pool.line[i].name, (double)costs->by_pool.line[i].uusd / 1e6);
  return whole;
}

enum hr_status hr__check_figures(const struct hr__one_run *run, const struct hr_trace *trace,
                                 struct hr_baseline_run *now) {
  size_t count, n_pools = run->summary->costs ? run->summary->costs->by_pool.count : 0;
  struct hr__figure *figures = list_figures(trace, &count);
  double *values = figures ? calloc(count, sizeof *values) : NULL;
  now->figures = values ? calloc(count + n_pools, sizeof *now->figures) : NULL;
  bool whole = now->figures != NULL;
  if (whole) hr__figures_of_run(run, figures, count, values);
  whole = whole && add_all(figures, values, count, now) && add_pools(run->summary->costs, now);
  free(values);
  free(figures);
  return whole ? HR_OK : HR_NO_MEMORY;
}

/* ---- Of replications -------------------------------------------------------------------------------- */

static size_t place_of(const struct hr_replicates *replicates, const struct hr__figure *figure) {
  size_t i = 0;
  while (!hr__figure_same(&replicates->figures[i], figure)) i++;
  return i;
}

/* Rounded as they are kept; none where a replication does not know the figure. */
static bool add_samples(const struct hr_replicates *replicates, size_t place, struct hr_baseline_figure *figure) {
  figure->samples = calloc((size_t)replicates->count + 1, sizeof *figure->samples);
  if (!figure->samples) return false;
  for (uint32_t r = 0; r < replicates->count; r++) {
    double value = hr__lab_values(replicates->lab, replicates->mix, r)[place];
    if (isfinite(value)) figure->samples[figure->n_samples++] = rounded(value);
  }
  if (figure->n_samples == replicates->count) return true;
  free(figure->samples);
  figure->samples = NULL;
  figure->n_samples = 0;
  return true;
}

static enum hr_status add_replicated(const struct hr_replicates *replicates, const struct hr__figure *figure,
                                     struct hr_baseline_run *now) {
  struct hr__interval interval;
  size_t place = place_of(replicates, figure);
  if (hr__replicates_interval(replicates, place, &interval) != HR_OK) return HR_NO_MEMORY;
  if (interval.count == 0) return HR_OK;
  struct hr_baseline_figure *added = &now->figures[now->n_figures];
  if (!add(now, figure->measure, part_of(figure), figure->name, hr__interval_centre(&interval))) return HR_NO_MEMORY;
  added->low = interval.low;
  added->high = interval.high;
  return add_samples(replicates, place, added) ? HR_OK : HR_NO_MEMORY;
}

enum hr_status hr__check_replicated_figures(const struct hr_replicates *replicates, const struct hr_trace *trace,
                                            struct hr_baseline_run *now) {
  size_t count;
  struct hr__figure *figures = list_figures(trace, &count);
  now->figures = figures ? calloc(count, sizeof *now->figures) : NULL;
  enum hr_status status = now->figures ? HR_OK : HR_NO_MEMORY;
  for (size_t i = 0; i < count && status == HR_OK; i++) status = add_replicated(replicates, &figures[i], now);
  free(figures);
  return status;
}
