/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The course of the weeks, band by band: how many campaigns begin, how many jobs one of them has, and how much GPU-time
 * it takes. The latter two become shifts of normal scores, sought by bisection so that the model's mean is the week's;
 * as all shifts together say how scores become lengths or run times, that is done a few times over.
 */

#include "workload/like_course.h"
#include "workload/like_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 4, HALVINGS = 20 };
static const double most_shift = HR__LIKE_MOST_SHIFT, least_days = 1.0 / 24;

struct week {
  double campaigns, jobs, gpu_s, days;
};

/* ---- What came in each week ------------------------------------------------------------------------- */

static void sum_weeks(const struct hr__like_fit *fit, uint32_t band, struct week *weeks) {
  const struct hr_trace *trace = fit->trace;
  uint32_t n = fit->model->n_weeks;
  memset(weeks, 0, n * sizeof *weeks);
  for (uint32_t i = 0; i < fit->n_weeks; i++) weeks[i < n ? i : 0].days += fit->week_days[i];
  for (uint32_t i = 0; i < fit->n_campaigns; i++) {
    const struct hr__like_fit_campaign *campaign = &fit->campaigns[i];
    uint32_t at = hr__like_fit_week(fit, campaign->start_us);
    if (at == HR_NONE || hr__like_fit_band(fit, campaign) != band) continue;
    struct week *week = &weeks[at < n ? at : 0];
    week->campaigns++;
    week->jobs += campaign->n_jobs;
    for (uint32_t k = campaign->first; k < campaign->first + campaign->n_jobs; k++) {
      uint32_t job = fit->order[k];
      double gpus = (double)hr_trace_gpus_milli(trace, (hr_job){job}) / 1000;
      week->gpu_s += gpus * (double)trace->work_us[job] / 1e6;
    }
  }
}

static void fit_rates(const struct hr__like_fit *fit, struct hr_like_band *band, const struct week *weeks) {
  uint32_t n = fit->model->n_weeks;
  double sum = 0;
  for (uint32_t i = 0; i < n; i++) {
    double days = fmax(least_days, weeks[i].days);
    band->jobs_per_day += weeks[i].jobs / days / n;
    band->weeks[i] = weeks[i].campaigns / days;
    sum += band->weeks[i];
  }
  for (uint32_t i = 0; i < n; i++) band->weeks[i] = sum > 0 ? band->weeks[i] * n / sum : 1;
}

/* ---- Shifts ----------------------------------------------------------------------------------------- */

static double seek_shift(const struct hr__score_map *map, const struct hr__course *course, double wanted) {
  double low = -most_shift, high = most_shift;
  for (uint32_t i = 0; i < HALVINGS; i++) {
    double middle = (low + high) / 2;
    if (hr__course_mean(course, map, middle) < wanted)
      low = middle;
    else
      high = middle;
  }
  return (low + high) / 2;
}

/* ---- How long campaigns are ------------------------------------------------------------------------- */

static void fit_length_shifts(const struct hr__like_fit *fit, struct hr_like_band *band, const struct week *weeks) {
  struct hr__course course;
  double jobs = 0, campaigns = 0;
  hr__course_of_lengths(&course, band);
  for (uint32_t i = 0; i < fit->model->n_weeks; i++) {
    jobs += weeks[i].jobs;
    campaigns += weeks[i].campaigns;
  }
  for (uint32_t round = 0; round < ROUNDS && jobs > 0; round++) {
    struct hr__score_map map;
    hr__score_map_init(&map, band->length_shifts, band->weeks, fit->model->n_weeks);
    for (uint32_t i = 0; i < fit->model->n_weeks; i++) {
      if (!(weeks[i].campaigns > 0)) continue;
      double wanted = weeks[i].jobs / weeks[i].campaigns / (jobs / campaigns) * course.mean;
      band->length_shifts[i] = seek_shift(&map, &course, wanted);
    }
  }
}

/* ---- How long jobs are ------------------------------------------------------------------------------ */

static void seek_shifts(const struct hr__like_fit *fit, struct hr_like_band *band, const struct week *weeks,
                        const struct hr__run_times *runs) {
  struct hr__course usual, course;
  struct hr__score_map lengths, map;
  double gpu_s = 0, campaigns = 0, none = 0, one = 1;
  hr__score_map_init(&lengths, &none, &one, 1);
  hr__course_of_work(&usual, band, runs, &lengths, 0);
  for (uint32_t i = 0; i < fit->model->n_weeks; i++) {
    gpu_s += weeks[i].gpu_s;
    campaigns += weeks[i].campaigns;
  }
  if (!(gpu_s > 0) || !(usual.mean > 0)) return;
  hr__score_map_init(&lengths, band->length_shifts, band->weeks, fit->model->n_weeks);
  for (uint32_t round = 0; round < ROUNDS; round++) {
    hr__score_map_init(&map, band->shifts, band->weeks, fit->model->n_weeks);
    for (uint32_t i = 0; i < fit->model->n_weeks; i++) {
      if (!(weeks[i].campaigns > 0)) continue;
      hr__course_of_work(&course, band, runs, &lengths, band->length_shifts[i]);
      double wanted = weeks[i].gpu_s / weeks[i].campaigns / (gpu_s / campaigns) * usual.mean;
      band->shifts[i] = seek_shift(&map, &course, wanted);
    }
  }
}

static enum hr_status fit_shifts(const struct hr__like_fit *fit, struct hr_like_band *band, const struct week *weeks) {
  struct hr__run_times *runs = hr__run_times_of(band);
  if (runs) seek_shifts(fit, band, weeks, runs);
  free(runs);
  return runs ? HR_OK : HR_NO_MEMORY;
}

enum hr_status hr__like_fit_weeks(struct hr__like_fit *fit) {
  struct hr_like_model *model = fit->model;
  struct week *weeks = malloc(model->n_weeks * sizeof *weeks);
  if (!weeks) return HR_NO_MEMORY;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < model->n_bands && status == HR_OK; i++) {
    struct hr_like_band *band = &model->bands[i];
    band->weeks = calloc(model->n_weeks, sizeof *band->weeks);
    band->shifts = calloc(model->n_weeks, sizeof *band->shifts);
    band->length_shifts = calloc(model->n_weeks, sizeof *band->length_shifts);
    if (!band->weeks || !band->shifts || !band->length_shifts) {
      status = HR_NO_MEMORY;
      continue;
    }
    sum_weeks(fit, i, weeks);
    fit_rates(fit, band, weeks);
    if (model->n_weeks == 1) continue;
    fit_length_shifts(fit, band, weeks);
    status = fit_shifts(fit, band, weeks);
  }
  free(weeks);
  return status;
}
