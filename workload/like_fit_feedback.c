/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What can be fitted by drawing only. Demand is the GPUs that would be in use if every job ran at once. Of the trace it
 * is known how much of the time it is above a level, by its mean and by the trend of its weeks, and how high it is in
 * each week, band by band. Of drawn jobs both can only be seen: pilots are drawn with the numbers at hand, which are
 * then moved so that the next ones come nearer, in steps that grow shorter (Robbins and Monro, Ann. Math. Statist. 22,
 * 1951); the means of the later half are kept. So are fitted the probabilities with which campaigns begin above the
 * levels, how much longer jobs run in each week, and the hours and weekdays of beginnings for those of jobs to be the
 * trace's.
 */

#include "workload/like_fit_seen.h"

#include <math.h>
#include <stdlib.h>

enum { LEAST_JOBS = 1000, SEEDS = 10, FIRST_SEED = 1000, MOST_ROUNDS = 30, LEAST_ROUNDS = 5, JOBS_OF_ALL = 4000000 };
static const double least_share = 0.02, least_of_times = 2, least_time = 1e-3;
static const double least_gpus = 0.005; /* of the usual ones: what a week's less is does not count */

struct search {
  struct hr__like_fit *fit;
  struct hr__seen trace, pilot;
  double usual_gpus[SEEDS]; /* of the pilots */
  uint32_t n_rounds, n_kept;
  double logs[HR_LIKE_MEASURES][HR_LIKE_LEVELS]; /* means of what is kept, and so below */
  double *shifts;                                /* [n_bands][n_weeks] */
};

/* ---- Steps ------------------------------------------------------------------------------------------ */

/* A share of the rounds that are kept; 0: this one is not. */
static double weight_of(const struct search *search, uint32_t round) {
  return round >= search->n_rounds - search->n_kept ? 1.0 / search->n_kept : 0;
}

/* No more is held back above a level, the less the more of the time the trace is above it: where drawn demand cannot
   come nearer to the trace's by holding back, as when the trace's is steadier than chance lets it be, nothing else
   would end it. */
static double least_admitted(double times_above) {
  return fmin(1, fmax(least_share, least_of_times * times_above));
}

static void move_admits(struct search *search, enum hr_like_measure measure, double step, double weight) {
  const double *wanted = search->trace.times_above[measure], *had = search->pilot.times_above[measure];
  double *admits = search->fit->model->holding[measure].admits, most = 1;
  for (uint32_t i = 0; i < HR_LIKE_LEVELS; i++) {
    double times = (wanted[i] + least_time) / (had[i] + least_time);
    double share = fmin(1, fmax(least_admitted(wanted[i]), admits[i] * pow(times, step)));
    search->logs[measure][i] += weight * log(share);
    admits[i] = most = fmin(most, share);
  }
}

/* The trace's demand of all weeks over the pilot's: run times over all weeks are what they are, whatever the shifts. */
static double ratio_of_band(const struct search *search, uint32_t band) {
  uint32_t n_weeks = search->fit->model->n_weeks;
  double trace = 0, pilot = 0;
  for (uint32_t week = 0; week < n_weeks; week++) {
    trace += search->trace.weeks[(size_t)band * n_weeks + week];
    pilot += search->pilot.weeks[(size_t)band * n_weeks + week];
  }
  return trace > 0 && pilot > 0 ? trace / pilot : 1;
}

/* A week's jobs run longer where it should have more of its band's demand than it has. */
static void move_shifts(struct search *search, double step, double weight) {
  struct hr_like_model *model = search->fit->model;
  double least = least_gpus * search->trace.usual_gpus;
  for (uint32_t band = 0; band < model->n_bands; band++) {
    double ratio = ratio_of_band(search, band);
    for (uint32_t week = 0; week < model->n_weeks; week++) {
      size_t at = (size_t)band * model->n_weeks + week;
      double *shift = &model->bands[band].shifts[week];
      double longer = log((search->trace.weeks[at] + least) / (ratio * search->pilot.weeks[at] + least));
      *shift = fmin(HR__LIKE_MOST_SHIFT, fmax(-HR__LIKE_MOST_SHIFT, *shift + step * longer));
      search->shifts[at] += weight * *shift;
    }
  }
}

static void move_factors(double *factors, const double *wanted, const double *had, uint32_t n, double step) {
  double sum = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (wanted[i] > 0.01 && had[i] > 0.01) factors[i] *= pow(wanted[i] / had[i], step);
    sum += factors[i];
  }
  for (uint32_t i = 0; i < n; i++) factors[i] *= sum > 0 ? n / sum : 0;
}

static void move_all(struct search *search, uint32_t round) {
  struct hr_like_model *model = search->fit->model;
  double step = 0.35 / (1 + round / 5.0), weight = weight_of(search, round);
  for (enum hr_like_measure i = 0; i < HR_LIKE_MEASURES; i++) move_admits(search, i, 4 * step, weight);
  move_shifts(search, step, weight);
  move_factors(model->hours, search->trace.hours, search->pilot.hours, HR__HOURS, step);
  move_factors(model->weekdays, search->trace.weekdays, search->pilot.weekdays, HR__WEEKDAYS, step);
}

/* ---- The search ------------------------------------------------------------------------------------- */

static void keep_means(struct search *search) {
  struct hr_like_model *model = search->fit->model;
  for (uint32_t measure = 0; measure < HR_LIKE_MEASURES; measure++) {
    double *admits = model->holding[measure].admits, most = 1;
    for (uint32_t i = 0; i < HR_LIKE_LEVELS; i++) admits[i] = most = fmin(most, exp(search->logs[measure][i]));
  }
  for (uint32_t band = 0; band < model->n_bands; band++)
    for (uint32_t week = 0; week < model->n_weeks; week++)
      model->bands[band].shifts[week] = search->shifts[(size_t)band * model->n_weeks + week];
}

static enum hr_status see_pilot(struct search *search, uint32_t round) {
  double *usual_gpus = &search->usual_gpus[round % SEEDS];
  hr__seen_finish(&search->pilot);
  enum hr_status status = hr__seen_init(&search->pilot, search->fit->model);
  if (status == HR_OK) status = hr__see_pilot(search->fit, FIRST_SEED + round % SEEDS, *usual_gpus, &search->pilot);
  *usual_gpus = search->pilot.usual_gpus;
  return status;
}

static enum hr_status seek(struct search *search) {
  const struct hr_like_model *model = search->fit->model;
  search->shifts = calloc((size_t)model->n_bands * model->n_weeks, sizeof *search->shifts);
  if (!search->shifts) return HR_NO_MEMORY;
  uint32_t rounds = JOBS_OF_ALL / search->fit->trace->n_jobs;
  search->n_rounds = rounds < LEAST_ROUNDS ? LEAST_ROUNDS : rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds;
  search->n_kept = (search->n_rounds + 1) / 2;
  for (uint32_t round = 0; round < search->n_rounds; round++) {
    enum hr_status status = see_pilot(search, round);
    if (status != HR_OK) return status;
    move_all(search, round);
  }
  keep_means(search);
  return HR_OK;
}

static void admit_all(struct hr_like_model *model) {
  for (uint32_t measure = 0; measure < HR_LIKE_MEASURES; measure++)
    for (uint32_t i = 0; i < HR_LIKE_LEVELS; i++) model->holding[measure].admits[i] = 1;
}

/* A short trace, or one of less than two weeks, tells too little. */
enum hr_status hr__like_fit_feedback(struct hr__like_fit *fit) {
  admit_all(fit->model);
  if (fit->trace->n_jobs < LEAST_JOBS || fit->model->n_weeks < 2) return HR_OK;
  struct search *search = calloc(1, sizeof *search);
  if (!search) return HR_NO_MEMORY;
  search->fit = fit;
  enum hr_status status = hr__seen_init(&search->trace, fit->model);
  if (status == HR_OK) status = hr__see_trace(fit, &search->trace);
  if (status == HR_OK && search->trace.usual_gpus > 0) status = seek(search);
  hr__seen_finish(&search->trace);
  hr__seen_finish(&search->pilot);
  free(search->shifts);
  free(search);
  return status;
}
