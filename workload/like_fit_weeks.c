/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The course of the weeks, band by band: how many campaigns begin, how many jobs one of them has, and how much GPU-time
 * it takes. The latter two become shifts of normal scores, sought by bisection so that the model's mean is the week's;
 * as all shifts together say how scores become lengths or run times, that is done a few times over.
 */

#include "workload/like_fit.h"
#include "workload/like_scores.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 200, ROUNDS = 4, HALVINGS = 20, LEAST_CAMPAIGNS = 10 };
static const double most_shift = 2, least_days = 1.0 / 24;

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

/* What a quantity is at the quantiles (i + 1/2) / STEPS, and the scores of these. */
struct course {
  double at[STEPS], scores[STEPS], mean;
};

static void begin_course(struct course *course) {
  memset(course, 0, sizeof *course);
  for (uint32_t i = 0; i < STEPS; i++) course->scores[i] = gsl_cdf_ugaussian_Pinv((i + 0.5) / STEPS);
}

static uint32_t step_at(const struct hr__score_map *map, double score) {
  uint32_t at = (uint32_t)(hr__score_map_p(map, score) * STEPS);
  return at < STEPS ? at : STEPS - 1;
}

static double mean_under(const struct hr__score_map *map, const struct course *course, double shift) {
  double sum = 0;
  for (uint32_t i = 0; i < STEPS; i++) sum += course->at[step_at(map, course->scores[i] + shift)];
  return sum / STEPS;
}

static double seek_shift(const struct hr__score_map *map, const struct course *course, double wanted) {
  double low = -most_shift, high = most_shift;
  for (uint32_t i = 0; i < HALVINGS; i++) {
    double middle = (low + high) / 2;
    if (mean_under(map, course, middle) < wanted)
      low = middle;
    else
      high = middle;
  }
  return (low + high) / 2;
}

/* ---- How long campaigns are ------------------------------------------------------------------------- */

/* Of campaigns of a size, by cell. */
static void weigh_cells(const struct hr_like_size *size, double weights[HR_LIKE_MOST_CELLS]) {
  for (uint32_t k = 0; k < size->n_cells; k++) weights[k] = size->cells[k].share / hr__mean_jobs(&size->cells[k]);
}

static void take_lengths(const struct hr_like_band *band, struct course *course) {
  double sum = 0;
  begin_course(course);
  for (uint32_t i = 0; i < band->n_sizes; i++) {
    const struct hr_like_size *size = &band->sizes[i];
    double weights[HR_LIKE_MOST_CELLS], campaigns = 0;
    weigh_cells(size, weights);
    for (uint32_t k = 0; k < size->n_cells; k++) campaigns += size->share * weights[k];
    for (uint32_t at = 0; at < STEPS; at++) {
      double part;
      uint32_t cell = hr__place_in(weights, size->n_cells, (at + 0.5) / STEPS, &part);
      course->at[at] += campaigns * hr__jobs_at(&size->cells[cell], part);
    }
    sum += campaigns;
  }
  for (uint32_t at = 0; at < STEPS; at++) course->mean += (course->at[at] /= sum) / STEPS;
}

static void fit_length_shifts(const struct hr__like_fit *fit, struct hr_like_band *band, const struct week *weeks) {
  struct course course;
  double jobs = 0, campaigns = 0;
  take_lengths(band, &course);
  for (uint32_t i = 0; i < fit->model->n_weeks; i++) {
    jobs += weeks[i].jobs;
    campaigns += weeks[i].campaigns;
  }
  for (uint32_t round = 0; round < ROUNDS && jobs > 0; round++) {
    struct hr__score_map map;
    hr__score_map_init(&map, band->length_shifts, band->weeks, fit->model->n_weeks);
    for (uint32_t i = 0; i < fit->model->n_weeks; i++) {
      if (weeks[i].campaigns < LEAST_CAMPAIGNS) continue;
      double wanted = weeks[i].jobs / weeks[i].campaigns / (jobs / campaigns) * course.mean;
      band->length_shifts[i] = seek_shift(&map, &course, wanted);
    }
  }
}

/* ---- How long jobs are ------------------------------------------------------------------------------ */

/* GPU-seconds of a campaign of the band whose jobs' run times are at that quantile of their cell, in a week whose
   campaigns' lengths are shifted. */
static void take_work(const struct hr_like_band *band, const struct hr__score_map *lengths, double shift,
                      struct course *course) {
  double sum = 0;
  begin_course(course);
  for (uint32_t i = 0; i < band->n_sizes; i++) {
    const struct hr_like_size *size = &band->sizes[i];
    double weights[HR_LIKE_MOST_CELLS], jobs[HR_LIKE_MOST_CELLS] = {0}, campaigns = 0, part;
    weigh_cells(size, weights);
    for (uint32_t k = 0; k < size->n_cells; k++) campaigns += size->share * weights[k];
    for (uint32_t at = 0; at < STEPS; at++) {
      double p = hr__score_map_p(lengths, course->scores[at] + shift);
      uint32_t cell = hr__place_in(weights, size->n_cells, p, &part);
      jobs[cell] += campaigns * hr__jobs_at(&size->cells[cell], part) / STEPS;
    }
    for (uint32_t k = 0; k < size->n_cells; k++) {
      struct hr__run_times runs;
      hr__run_times_init(&runs, &size->cells[k]);
      for (uint32_t at = 0; at < STEPS; at++)
        course->at[at] += jobs[k] * hr__mean_gpus(size) * hr__run_times_quantile(&runs, (at + 0.5) / STEPS);
    }
    sum += campaigns;
  }
  for (uint32_t at = 0; at < STEPS; at++) course->mean += (course->at[at] /= sum) / STEPS;
}

static void fit_shifts(const struct hr__like_fit *fit, struct hr_like_band *band, const struct week *weeks) {
  struct course usual, course;
  struct hr__score_map lengths, map;
  double gpu_s = 0, campaigns = 0, none = 0, one = 1;
  hr__score_map_init(&lengths, &none, &one, 1);
  take_work(band, &lengths, 0, &usual);
  for (uint32_t i = 0; i < fit->model->n_weeks; i++) {
    gpu_s += weeks[i].gpu_s;
    campaigns += weeks[i].campaigns;
  }
  if (!(gpu_s > 0) || !(usual.mean > 0)) return;
  hr__score_map_init(&lengths, band->length_shifts, band->weeks, fit->model->n_weeks);
  for (uint32_t round = 0; round < ROUNDS; round++) {
    hr__score_map_init(&map, band->shifts, band->weeks, fit->model->n_weeks);
    for (uint32_t i = 0; i < fit->model->n_weeks; i++) {
      if (weeks[i].campaigns < LEAST_CAMPAIGNS) continue;
      take_work(band, &lengths, band->length_shifts[i], &course);
      double wanted = weeks[i].gpu_s / weeks[i].campaigns / (gpu_s / campaigns) * usual.mean;
      band->shifts[i] = seek_shift(&map, &course, wanted);
    }
  }
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
    fit_shifts(fit, band, weeks);
  }
  free(weeks);
  return status;
}
