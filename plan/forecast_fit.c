/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The fit of one series: exponential smoothing with drift of the logarithm of weekly demand,
 *
 *   z(w) = log(y(w) / scale + offset) = l(w-1) + b + e(w),   l(w) = l(w-1) + b + alpha e(w),   e ~ N(0, sigma^2).
 *
 * It is the model of the Theta method (Hyndman and Billah, "Unmasking the Theta method", International Journal of
 * Forecasting 19, 2003); alpha 0 is a log-linear trend, 1 a random walk with drift. Given alpha, the errors are linear
 * in what is unknown, e(w) = z(w) - P(w) - A(w) l(0) - B(w) b with
 *
 *   P(1) = 0, A(1) = B(1) = 1;  P(w+1) = (1 - alpha) P(w) + alpha z(w),  A(w+1) = (1 - alpha) A(w),
 *   B(w+1) = (1 - alpha) B(w) + 1,
 *
 * so that alpha's posterior, and that of l, b and sigma under it, are those of a linear regression with conjugate
 * priors: l(0) flat, b ~ N(0, (sigma drift_prior)^2), sigma^2 a scaled inverse chi^2 of one week's worth. alpha has a
 * grid with even weights. No search, no start values: a series always has its fit.
 */

#include "plan/forecasting.h"

#include <math.h>
#include <stdlib.h>

static const double offset = 0.1;       /* of the mean week: a week without demand is bad, not impossible */
static const double drift_prior = 0.02; /* a week's drift: a factor of 2.8 a year, or of 1 / 2.8, is no surprise */
static const double sigma_prior = 0.1, prior_weeks = 1;
static const double longest_half_life = 26;

double hr__alpha(uint32_t place) {
  return (double)place / (HR__ALPHAS - 1);
}

/* ---- The regression under one alpha ----------------------------------------------------------------- */

struct filter {
  double past, level, drift; /* P, A, B */
};

static struct filter filter_next(const struct filter *now, double alpha, double z) {
  return (struct filter){(1 - alpha) * now->past + alpha * z, (1 - alpha) * now->level, (1 - alpha) * now->drift + 1};
}

/* Normal equations of z - P on A and B, of which B's is left out where there is no drift. */
struct equations {
  double aa, ab, bb, az, bz, zz;
  struct filter end;
};

static struct equations gather(const double *z, uint32_t n, double alpha) {
  struct equations sums = {.end = {0, 1, 1}};
  for (uint32_t i = 0; i < n; i++) {
    const struct filter *now = &sums.end;
    double rest = z[i] - now->past;
    sums.aa += now->level * now->level;
    sums.ab += now->level * now->drift;
    sums.bb += now->drift * now->drift;
    sums.az += now->level * rest;
    sums.bz += now->drift * rest;
    sums.zz += rest * rest;
    sums.end = filter_next(now, alpha, z[i]);
  }
  return sums;
}

/* The first level and the drift, with their covariance for a unit variance. */
struct solution {
  double level, drift, var_level, covariance, var_drift, log_determinant, squares;
};

/* `precision` of the drift's prior, in sigmas; 0 where there is no drift. */
static struct solution solve(const struct equations *sums, double precision) {
  struct solution found = {0};
  if (precision <= 0) {
    found.level = sums->az / sums->aa;
    found.var_level = 1 / sums->aa;
    found.log_determinant = log(sums->aa);
    found.squares = sums->zz - found.level * sums->az;
    return found;
  }
  double bb = sums->bb + precision, determinant = sums->aa * bb - sums->ab * sums->ab;
  found.level = (bb * sums->az - sums->ab * sums->bz) / determinant;
  found.drift = (sums->aa * sums->bz - sums->ab * sums->az) / determinant;
  found.var_level = bb / determinant;
  found.covariance = -sums->ab / determinant;
  found.var_drift = sums->aa / determinant;
  found.log_determinant = log(determinant);
  found.squares = sums->zz - found.level * sums->az - found.drift * sums->bz;
  return found;
}

/* What it says of the level after the last week, P + A l(0) + (B - 1) b, and of the drift. */
static void carry(const struct solution *found, const struct filter *end, bool has_drift, struct hr__fit_at *at) {
  double a = end->level, b = has_drift ? end->drift - 1 : 0;
  at->level = end->past + a * found->level + b * found->drift;
  at->drift = found->drift;
  at->var_level = a * a * found->var_level + 2 * a * b * found->covariance + b * b * found->var_drift;
  at->covariance = a * found->covariance + b * found->var_drift;
  at->var_drift = found->var_drift;
}

/* How much more than exp(mean) the mean of exp(mean + residual) is (Duan, "Smearing estimate", JASA 78, 1983): asks for
   no distribution. */
static double smear_of(const double *z, uint32_t n, double alpha, const struct solution *found) {
  struct filter now = {0, 1, 1};
  double sum = 0;
  for (uint32_t i = 0; i < n; i++) {
    sum += exp(z[i] - now.past - now.level * found->level - now.drift * found->drift);
    now = filter_next(&now, alpha, z[i]);
  }
  return sum / n;
}

/* ---- All alphas ------------------------------------------------------------------------------------- */

static void weigh(struct hr__fit *fit, double *log_weight) {
  double sum = 0;
  for (uint32_t i = 1; i < HR__ALPHAS; i++)
    if (log_weight[i] > log_weight[fit->best]) fit->best = i;
  for (uint32_t i = 0; i < HR__ALPHAS; i++) sum += fit->at[i].weight = exp(log_weight[i] - log_weight[fit->best]);
  for (uint32_t i = 0; i < HR__ALPHAS; i++) fit->at[i].weight /= sum;
}

/* Of the drift's prior. A series that hardly changes is taken to change by as much as a drift may. */
static double precision_of(const double *z, uint32_t n) {
  double squares = 0;
  for (uint32_t i = 1; i < n; i++) squares += (z[i] - z[i - 1]) * (z[i] - z[i - 1]);
  return fmax(squares / (n - 1) / (drift_prior * drift_prior), 1);
}

static void fit_all(struct hr__fit *fit, const double *z) {
  double log_weight[HR__ALPHAS];
  bool has_drift = fit->fade > 0;
  uint32_t n = fit->n_weeks;
  double precision = has_drift ? precision_of(z, n) : 0;
  fit->freedom = n - 1 + prior_weeks;
  for (uint32_t i = 0; i < HR__ALPHAS; i++) {
    struct equations sums = gather(z, n, hr__alpha(i));
    struct solution found = solve(&sums, precision);
    carry(&found, &sums.end, has_drift, &fit->at[i]);
    fit->at[i].squares = fmax(found.squares, 0) + prior_weeks * sigma_prior * sigma_prior;
    fit->at[i].smear = smear_of(z, n, hr__alpha(i), &found);
    log_weight[i] = -0.5 * found.log_determinant - 0.5 * fit->freedom * log(fit->at[i].squares);
  }
  weigh(fit, log_weight);
}

/* The half-life of the drift is half of the time that it was seen in. */
static double fade_of(uint32_t n_weeks) {
  return n_weeks < HR__TREND_WEEKS ? 0 : exp2(-1 / fmin(n_weeks / 2.0, longest_half_life));
}

enum hr_status hr__fit_make(const double *week, uint32_t n_weeks, struct hr__fit *fit) {
  double sum = 0;
  *fit = (struct hr__fit){.n_weeks = n_weeks, .fade = fade_of(n_weeks)};
  for (uint32_t i = 0; i < n_weeks; i++) sum += week[i];
  fit->scale = sum / n_weeks;
  double *z = calloc(n_weeks + 1, sizeof *z);
  if (!z) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < n_weeks; i++) z[i] = log((sum > 0 ? week[i] / fit->scale : 0) + offset);
  fit_all(fit, z);
  free(z);
  return HR_OK;
}

/* ---- What is known then ----------------------------------------------------------------------------- */

double hr__fit_alpha(const struct hr__fit *fit) {
  double sum = 0;
  for (uint32_t i = 0; i < HR__ALPHAS; i++) sum += fit->at[i].weight * hr__alpha(i);
  return sum;
}

double hr__fit_drift(const struct hr__fit *fit) {
  double sum = 0;
  for (uint32_t i = 0; i < HR__ALPHAS; i++) sum += fit->at[i].weight * fit->at[i].drift;
  return sum;
}

double hr__fit_sigma(const struct hr__fit *fit) {
  double sum = 0;
  for (uint32_t i = 0; i < HR__ALPHAS; i++) sum += fit->at[i].weight * sqrt(fit->at[i].squares / fit->freedom);
  return sum;
}

double hr__fit_mean(const struct hr__fit *fit, double growth, uint32_t ahead) {
  double drifts = 0, fade = 1, sum = 0;
  for (uint32_t i = 0; i < ahead && growth <= 0; i++) drifts += fade *= fit->fade;
  for (uint32_t i = 0; i < HR__ALPHAS; i++)
    sum += fit->at[i].weight * fit->at[i].smear * exp(fit->at[i].level + fit->at[i].drift * drifts);
  double mean = fmax(sum - offset, 0) * fit->scale;
  return growth > 0 ? mean * pow(growth, ahead / HR__YEAR_WEEKS) : mean;
}

double hr__fit_draw(const struct hr__fit *fit, uint32_t place, double log_demand) {
  return fmax(fit->at[place].smear * exp(log_demand) - offset, 0) * fit->scale;
}
