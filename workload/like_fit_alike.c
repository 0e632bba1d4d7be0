/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How alike jobs are that follow each other in a campaign, by the pause between their submits: what a script submits at
 * once runs alike, what comes after somebody looked does less so. Two things are told by what two jobs in a row have
 * beyond any two of their campaign: how often they run just as long, and how near the normal scores of their run times
 * are. What of the nearness is not made up by those that run just as long is a level's, which holds on for many jobs or
 * for few: which, the correlations of jobs tell that are 1 to 32 apart.
 */

#include "workload/like_fit.h"
#include "workload/like_numbers.h"

#include <gsl/gsl_pow_int.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

enum { LEAST_ROW = 10, LEAST_PAIRS = 100 }; /* jobs of a campaign that tell something, pairs of a pause */
static const double just_as_long = 1.01, most_alike = 0.95, least_near = 0.02, most_held = 0.999;
enum { LAGS = 6, STEPS = 20 /* of `steady`, from the least that it can be to 1 */ };
static const uint32_t lags[LAGS] = {1, 2, 4, 8, 16, 32};

/* Of pairs of jobs. */
struct pairs {
  uint64_t n;
  double same, same_by_chance;       /* that run just as long; and as many pairs of any two of the same campaigns */
  double squares, squares_by_chance; /* of the distances of scores */
};

static int by_number(const void *a, const void *b) {
  double first = *(const double *)a, second = *(const double *)b;
  return (first > second) - (first < second);
}

static double run_s(const struct hr__like_fit *fit, uint32_t place) {
  return fmax(1e-3, (double)fit->trace->work_us[fit->order[place]] / 1e6);
}

static uint32_t pause_before(const struct hr__like_fit *fit, uint32_t place) {
  const int64_t *submit_us = fit->trace->submit_us;
  return hr__like_pause((double)(submit_us[fit->order[place]] - submit_us[fit->order[place - 1]]) / 1e6);
}

static bool tells(const struct hr__like_fit_campaign *campaign, uint32_t size, uint32_t bin) {
  return hr__like_fit_is_of(campaign, size, bin) && campaign->n_jobs >= LEAST_ROW;
}

static bool is_just_as_long(double a_s, double b_s) {
  return fmax(a_s, b_s) <= just_as_long * fmin(a_s, b_s);
}

/* The share of all pairs of a campaign's jobs that run just as long. */
static double same_of_any(const struct hr__like_fit *fit, const struct hr__like_fit_campaign *campaign, double *room) {
  uint32_t n = campaign->n_jobs;
  for (uint32_t k = 0; k < n; k++) room[k] = run_s(fit, campaign->first + k);
  qsort(room, n, sizeof *room, by_number);
  double same = 0;
  for (uint32_t low = 0, high = 0; high < n; high++) {
    while (!is_just_as_long(room[low], room[high])) low++;
    same += high - low;
  }
  return same / ((double)n * (n - 1) / 2);
}

static void add_campaign(const struct hr__like_fit *fit, const struct hr__like_fit_campaign *campaign,
                         struct pairs pairs[HR_LIKE_PAUSES], double *room) {
  const double *scores = fit->score + campaign->first;
  double same = same_of_any(fit, campaign, room), squares = 2 * gsl_stats_variance(scores, 1, campaign->n_jobs);
  for (uint32_t k = 1; k < campaign->n_jobs; k++) {
    uint32_t place = campaign->first + k;
    struct pairs *to = &pairs[pause_before(fit, place)];
    to->n++;
    to->same += is_just_as_long(run_s(fit, place - 1), run_s(fit, place));
    to->same_by_chance += same;
    to->squares += gsl_pow_2(scores[k] - scores[k - 1]);
    to->squares_by_chance += squares;
  }
}

static void add_pairs(struct pairs *to, const struct pairs *from) {
  to->n += from->n;
  to->same += from->same;
  to->same_by_chance += from->same_by_chance;
  to->squares += from->squares;
  to->squares_by_chance += from->squares_by_chance;
}

/* How often two in a row run just as long; returns how near the scores of those are that do not. */
static double fit_pause(const struct pairs *pairs, double *alike) {
  *alike = 0;
  if (pairs->n < LEAST_PAIRS || !(pairs->squares_by_chance > 0)) return 0;
  double others = (double)pairs->n - pairs->same_by_chance;
  if (others > 0) *alike = fmin(most_alike, fmax(0, (pairs->same - pairs->same_by_chance) / others));
  return fmin(most_alike, fmax(0, 1 - pairs->squares / pairs->squares_by_chance / (1 - *alike)));
}

/* ---- How long it lasts ------------------------------------------------------------------------------ */

/* Correlations of two jobs `lags` apart: of the trace, and of jobs that are drawn so. */
struct memory {
  double had[LAGS], expected[LAGS], variance[LAGS];
  uint64_t n[LAGS];
};

/* Sums of the logarithms of `factors`, by the pauses before the jobs of a campaign. */
static void sum_logs(const struct hr__like_fit *fit, const struct hr__like_fit_campaign *campaign,
                     const double factors[HR_LIKE_PAUSES], double *sums) {
  static const double least = 1e-6;
  sums[0] = 0;
  for (uint32_t k = 1; k < campaign->n_jobs; k++)
    sums[k] = sums[k - 1] + log(fmax(least, factors[pause_before(fit, campaign->first + k)]));
}

static void remember(const struct hr__like_fit *fit, const struct hr__like_fit_campaign *campaign,
                     const struct hr_like_cell *cell, struct memory *memory, double *room) {
  const double *scores = fit->score + campaign->first;
  uint32_t n = campaign->n_jobs;
  double mean = gsl_stats_mean(scores, 1, n), variance = gsl_stats_variance(scores, 1, n);
  double *holds = room, *alike = room + n;
  sum_logs(fit, campaign, cell->holds, holds);
  sum_logs(fit, campaign, cell->alike, alike);
  for (uint32_t i = 0; i < LAGS; i++)
    for (uint32_t k = lags[i]; k < n; k++) {
      double same = exp(alike[k] - alike[k - lags[i]]), held = exp(holds[k] - holds[k - lags[i]]);
      memory->had[i] += (scores[k] - mean) * (scores[k - lags[i]] - mean);
      memory->expected[i] += variance * (same + (1 - same) * cell->steady * held);
      memory->variance[i] += variance;
      memory->n[i]++;
    }
}

/* How far off jobs that are drawn so are, over all lags. */
static double error_of(const struct hr__like_fit *fit, uint32_t size, uint32_t bin, const struct hr_like_cell *cell,
                       double *room) {
  struct memory memory = {{0}, {0}, {0}, {0}};
  double error = 0;
  for (uint32_t i = 0; i < fit->n_campaigns; i++)
    if (tells(&fit->campaigns[i], size, bin)) remember(fit, &fit->campaigns[i], cell, &memory, room);
  for (uint32_t i = 0; i < LAGS; i++)
    if (memory.n[i] >= LEAST_PAIRS && memory.variance[i] > 0)
      error += gsl_pow_2((memory.had[i] - memory.expected[i]) / memory.variance[i]);
  return error;
}

static void set_level(struct hr_like_cell *cell, double steady, const double near[HR_LIKE_PAUSES]) {
  cell->steady = steady;
  for (uint32_t i = 0; i < HR_LIKE_PAUSES; i++) cell->holds[i] = steady > 0 ? fmin(most_held, near[i] / steady) : 0;
}

/* Two in a row are near by what of the level's part holds on: the larger that part, the sooner it is forgotten. */
static void fit_level(const struct hr__like_fit *fit, uint32_t size, uint32_t bin, const double near[HR_LIKE_PAUSES],
                      struct hr_like_cell *cell, double *room) {
  double most = 0, least_error = HUGE_VAL, best = 0;
  for (uint32_t i = 0; i < HR_LIKE_PAUSES; i++) most = fmax(most, near[i]);
  for (uint32_t step = 0; most > least_near && step < STEPS; step++) {
    set_level(cell, most + (1 - most) * step / STEPS, near);
    double error = error_of(fit, size, bin, cell, room);
    if (error < least_error) best = cell->steady;
    least_error = fmin(least_error, error);
  }
  set_level(cell, best, near);
}

void hr__like_fit_alike(const struct hr__like_fit *fit, uint32_t size, uint32_t bin, struct hr_like_cell *cell,
                        double *room) {
  struct pairs pairs[HR_LIKE_PAUSES] = {{0}}, all = {0};
  double near[HR_LIKE_PAUSES];
  for (uint32_t i = 0; i < fit->n_campaigns; i++)
    if (tells(&fit->campaigns[i], size, bin)) add_campaign(fit, &fit->campaigns[i], pairs, room);
  for (uint32_t i = 0; i < HR_LIKE_PAUSES; i++) add_pairs(&all, &pairs[i]);
  for (uint32_t i = 0; i < HR_LIKE_PAUSES; i++)
    near[i] = fit_pause(pairs[i].n < LEAST_PAIRS ? &all : &pairs[i], &cell->alike[i]);
  fit_level(fit, size, bin, near, cell, room);
}
