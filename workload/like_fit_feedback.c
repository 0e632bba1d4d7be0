/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What can be fitted by drawing only. Demand is the GPUs that would be in use if every job ran at once. Of the trace it
 * is known how much of the time it is above a level, by its mean and by the trend of its weeks, and how high it is in
 * each week, band by band. Of drawn jobs both can only be seen: pilots are drawn with the numbers at hand, always of
 * the same seeds, and after each round the numbers are moved by what the means over its pilots are off (sample average
 * approximation: Kleywegt, Shapiro and Homem-de-Mello, SIAM J. Optim. 12, 2002). Rounds have more pilots and more, and
 * the means of the last ones' numbers are kept. One pilot at a time would not do: its weeks stray by far more than what
 * is sought, and the logarithm of what strays is less than that of its mean. So are fitted the probabilities with which
 * campaigns begin above the levels, how much longer jobs run in each week, and the hours and weekdays of beginnings for
 * those of jobs to be the trace's.
 */

#include "workload/like_fit_seen.h"

#include <math.h>
#include <stdlib.h>

enum { LEAST_JOBS = 1000, FIRST_SEED = 1000, LEAST_PILOTS = 6, JOBS_OF_ALL = 10000000 };
enum { ROUNDS = 12, KEPT = 4, MOST_OF_ROUND = 16, MOST_PILOTS = 124 /* the sum of pilots_of_round */ };
static const uint32_t pilots_of_round[ROUNDS] = {2, 2, 4, 4, 8, 8, 16, 16, 16, 16, 16, 16};
static const double least_share = 0.02, least_of_times = 2, least_time = 1e-3;
static const double least_gpus = 0.005; /* of the usual ones: what a week's less is does not count */

struct search {
  struct hr__like_fit *fit;
  struct hr__seen trace, pilots; /* the latter: means over those of a round */
  double usual_gpus[MOST_OF_ROUND];
  uint32_t n_pilots, n_rounds, n_kept;
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

static void move_admits(struct search *search, enum hr_like_measure measure, double weight) {
  const double *wanted = search->trace.times_above[measure], *had = search->pilots.times_above[measure];
  double *admits = search->fit->model->holding[measure].admits, most = 1;
  for (uint32_t i = 0; i < HR_LIKE_LEVELS; i++) {
    double times = (wanted[i] + least_time) / (had[i] + least_time);
    double share = fmin(1, fmax(least_admitted(wanted[i]), admits[i] * times));
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
    pilot += search->pilots.weeks[(size_t)band * n_weeks + week];
  }
  return trace > 0 && pilot > 0 ? trace / pilot : 1;
}

/* A week's jobs run longer where it should have more of its band's demand than it has. */
static void move_shifts(struct search *search, double weight) {
  struct hr_like_model *model = search->fit->model;
  double least = least_gpus * search->trace.usual_gpus;
  for (uint32_t band = 0; band < model->n_bands; band++) {
    double ratio = ratio_of_band(search, band);
    for (uint32_t week = 0; week < model->n_weeks; week++) {
      size_t at = (size_t)band * model->n_weeks + week;
      double *shift = &model->bands[band].shifts[week];
      double longer = log((search->trace.weeks[at] + least) / (ratio * search->pilots.weeks[at] + least));
      *shift = fmin(HR__LIKE_MOST_SHIFT, fmax(-HR__LIKE_MOST_SHIFT, *shift + longer));
      search->shifts[at] += weight * *shift;
    }
  }
}

static void move_factors(double *factors, const double *wanted, const double *had, uint32_t n) {
  double sum = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (wanted[i] > 0.01 && had[i] > 0.01) factors[i] *= wanted[i] / had[i];
    sum += factors[i];
  }
  for (uint32_t i = 0; i < n; i++) factors[i] *= sum > 0 ? n / sum : 0;
}

static void move_all(struct search *search, uint32_t round) {
  struct hr_like_model *model = search->fit->model;
  double weight = weight_of(search, round);
  for (enum hr_like_measure i = 0; i < HR_LIKE_MEASURES; i++) move_admits(search, i, weight);
  move_shifts(search, weight);
  move_factors(model->hours, search->trace.hours, search->pilots.hours, HR__HOURS);
  move_factors(model->weekdays, search->trace.weekdays, search->pilots.weekdays, HR__WEEKDAYS);
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

static void add_weighted(double *sums, const double *values, size_t n, double weight) {
  for (size_t i = 0; i < n; i++) sums[i] += weight * values[i];
}

static enum hr_status add_pilot(struct search *search, uint32_t number, double weight) {
  const struct hr_like_model *model = search->fit->model;
  struct hr__seen *to = &search->pilots, pilot;
  enum hr_status status = hr__seen_init(&pilot, model);
  if (status == HR_OK) status = hr__see_pilot(search->fit, FIRST_SEED + number, search->usual_gpus[number], &pilot);
  if (status == HR_OK) {
    search->usual_gpus[number] = pilot.usual_gpus;
    for (uint32_t i = 0; i < HR_LIKE_MEASURES; i++)
      add_weighted(to->times_above[i], pilot.times_above[i], HR_LIKE_LEVELS, weight);
    add_weighted(to->hours, pilot.hours, HR__HOURS, weight);
    add_weighted(to->weekdays, pilot.weekdays, HR__WEEKDAYS, weight);
    add_weighted(to->weeks, pilot.weeks, (size_t)model->n_bands * model->n_weeks, weight);
  }
  hr__seen_finish(&pilot);
  return status;
}

static enum hr_status see_pilots(struct search *search, uint32_t n) {
  hr__seen_finish(&search->pilots);
  enum hr_status status = hr__seen_init(&search->pilots, search->fit->model);
  for (uint32_t i = 0; i < n && status == HR_OK; i++) status = add_pilot(search, i, 1.0 / n);
  return status;
}

/* As many pilots as there is time for: fewer of a trace of many jobs, which strays less. */
static void plan_rounds(struct search *search) {
  uint32_t n = JOBS_OF_ALL / search->fit->trace->n_jobs;
  search->n_pilots = n < LEAST_PILOTS ? LEAST_PILOTS : n > MOST_PILOTS ? MOST_PILOTS : n;
  search->n_rounds = search->n_pilots < ROUNDS ? search->n_pilots : ROUNDS;
  search->n_kept = search->n_rounds < KEPT ? search->n_rounds : KEPT;
}

static uint32_t pilots_in(const struct search *search, uint32_t round) {
  uint32_t n = pilots_of_round[round] * search->n_pilots / MOST_PILOTS;
  return n ? n : 1;
}

static enum hr_status seek(struct search *search) {
  const struct hr_like_model *model = search->fit->model;
  search->shifts = calloc((size_t)model->n_bands * model->n_weeks, sizeof *search->shifts);
  if (!search->shifts) return HR_NO_MEMORY;
  plan_rounds(search);
  for (uint32_t round = 0; round < search->n_rounds; round++) {
    enum hr_status status = see_pilots(search, pilots_in(search, round));
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
  hr__seen_finish(&search->pilots);
  free(search->shifts);
  free(search);
  return status;
}
