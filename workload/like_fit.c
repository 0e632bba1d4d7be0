/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model of a workload from a trace: the steps in their order, and the model's numbers as they are written. */

#include "workload/like_fit.h"
#include "workload/like_numbers.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Limits ----------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b) {
  double first = *(const double *)a, second = *(const double *)b;
  return (first > second) - (first < second);
}

/* Limit over run time of the jobs whose run time is in a stratum. */
static uint32_t gather_ratios(const struct hr__like_fit *fit, uint32_t stratum, double *ratios) {
  const struct hr_trace *trace = fit->trace;
  uint32_t n = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    int64_t limit_us = trace->limit_us[fit->order[i]], work_us = trace->work_us[fit->order[i]];
    if (limit_us >= 0 && hr__like_stratum(fit->score[i]) == stratum)
      ratios[n++] = fmin(1e9, (double)limit_us / (double)(work_us > 1000 ? work_us : 1000));
  }
  return n;
}

static enum hr_status hr__like_fit_limits(struct hr__like_fit *fit) {
  if (!fit->trace->limit_us) return HR_OK;
  uint32_t n_limits = 0;
  double *ratios = malloc(fit->trace->n_jobs * sizeof *ratios);
  if (!ratios) return HR_NO_MEMORY;
  for (uint32_t stratum = 0; stratum < HR_LIKE_STRATA; stratum++) {
    uint32_t n = gather_ratios(fit, stratum, ratios);
    n_limits += n;
    if (n) qsort(ratios, n, sizeof *ratios, by_number);
    for (uint32_t k = 0; k < HR_LIKE_KNOTS; k++)
      fit->model->limit_ratios[stratum][k] = n ? gsl_stats_quantile_from_sorted_data(ratios, 1, n, hr_like_p[k]) : 1;
  }
  fit->model->limit_share = (double)n_limits / fit->trace->n_jobs;
  free(ratios);
  return HR_OK;
}

/* ---- As written ------------------------------------------------------------------------------------- */

/* To six decimals, of large values to three: what is written then reads as the same number. */
static void round_all(double *values, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    values[i] = fabs(values[i]) < 1000 ? round(values[i] * 1e6) / 1e6 : round(values[i] * 1e3) / 1e3;
}

static void round_cell(struct hr_like_cell *cell) {
  round_all(&cell->share, 1);
  round_all(&cell->together, 1);
  round_all(cell->spreads, HR_LIKE_KNOTS);
  round_all(cell->alike, HR_LIKE_PAUSES);
  round_all(&cell->steady, 1);
  round_all(cell->holds, HR_LIKE_PAUSES);
  round_all(&cell->gaps_together, 1);
  round_all(cell->jobs, HR_LIKE_KNOTS);
  round_all(cell->gaps_s, HR_LIKE_KNOTS);
  round_all(cell->run_s, HR_LIKE_RUN_KNOTS);
  round_all(&cell->tail_from, 1);
  round_all(&cell->tail_scale, 1);
  round_all(&cell->tail_shape, 1);
  round_all(&cell->most_s, 1);
  if (cell->tail_from >= 1) cell->tail_from = 1;
}

static void round_size(struct hr_like_size *size) {
  round_all(&size->share, 1);
  round_all(&size->repeats, 1);
  round_all(&size->most_gpu_s, 1);
  for (uint32_t i = 0; i < size->n_asks; i++) round_all(&size->asks[i].share, 1);
  for (uint32_t i = 0; i < size->n_cells; i++) round_cell(&size->cells[i]);
  for (uint32_t i = 0; i < HR_LIKE_STRATA; i++) {
    round_all(&size->outcomes[i].completed, 1);
    round_all(&size->outcomes[i].failed, 1);
    round_all(&size->outcomes[i].cancelled, 1);
  }
}

/* All numbers to the decimals with which they are written. */
static void hr__like_fit_round(struct hr_like_model *model) {
  round_all(model->hours, 24);
  round_all(model->weekdays, 7);
  if (model->trend) round_all(model->trend, model->n_weeks);
  for (uint32_t i = 0; i < HR_LIKE_MEASURES; i++) {
    round_all(model->holding[i].levels, HR_LIKE_LEVELS);
    round_all(model->holding[i].admits, HR_LIKE_LEVELS);
  }
  round_all(model->users, model->n_users);
  round_all(model->tenants, model->n_tenants);
  round_all(&model->user_together, 1);
  round_all(&model->limit_share, 1);
  for (uint32_t i = 0; i < HR_LIKE_STRATA; i++) round_all(model->limit_ratios[i], HR_LIKE_KNOTS);
  for (uint32_t i = 0; i < model->n_bands; i++) {
    struct hr_like_band *band = &model->bands[i];
    round_all(&band->jobs_per_day, 1);
    round_all(&band->day_variance, 1);
    round_all(&band->day_correlation, 1);
    round_all(band->weeks, model->n_weeks);
    round_all(band->shifts, model->n_weeks);
    round_all(band->length_shifts, model->n_weeks);
    for (uint32_t k = 0; k < band->n_sizes; k++) round_size(&band->sizes[k]);
  }
}

/* ---- The whole -------------------------------------------------------------------------------------- */

static enum hr_status fit_all(struct hr__like_fit *fit) {
  static enum hr_status (*const steps[])(struct hr__like_fit *) = {
      hr__like_fit_campaigns, hr__like_fit_size_ends, hr__like_fit_sizes,  hr__like_fit_asks,    hr__like_fit_users,
      hr__like_fit_clock,     hr__like_fit_weeks,     hr__like_fit_limits, hr__like_fit_feedback};
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < sizeof steps / sizeof *steps && status == HR_OK; i++) status = steps[i](fit);
  return status;
}

enum hr_status hr_like_fit(const struct hr_trace *trace, struct hr_like_model **model, struct hr_error *error) {
  struct hr__like_fit fit = {.trace = trace, .model = calloc(1, sizeof *fit.model)};
  *model = NULL;
  enum hr_status status = fit.model ? fit_all(&fit) : HR_NO_MEMORY;
  free(fit.order);
  free(fit.score);
  free(fit.campaigns);
  free(fit.week_days);
  if (status == HR_OK) {
    fit.model->name = strdup("fitted");
    fit.model->source = strdup(trace->source);
    if (!fit.model->name || !fit.model->source) status = HR_NO_MEMORY;
  }
  if (status != HR_OK) {
    hr_like_destroy(fit.model);
    return hr_fail(error, status, "%s: out of memory", trace->source);
  }
  hr__like_fit_round(fit.model);
  *model = fit.model;
  return HR_OK;
}
