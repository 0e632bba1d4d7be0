/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The model of one series, and random paths of future demand.
 *
 * The model applies exponential smoothing with drift to the logarithm of weekly demand,
 *
 *   z(w) = log(y(w) / scale + offset) = l(w-1) + b + e(w),   l(w) = l(w-1) + b + alpha e(w),   e ~ N(0, sigma^2).
 *
 * y is the demand, l the level, b the drift. It is the model of the Theta method (Hyndman and Billah, "Unmasking the
 * Theta method", International Journal of Forecasting 19, 2003). With alpha 0 the model is a log-linear trend, with
 * alpha 1 a random walk with drift. Given alpha, the errors are linear in the unknowns: e(w) = z(w) - P(w) - A(w) l(0)
 * - B(w) b with
 *
 *   P(1) = 0, A(1) = B(1) = 1;  P(w+1) = (1 - alpha) P(w) + alpha z(w),  A(w+1) = (1 - alpha) A(w),
 *   B(w+1) = (1 - alpha) B(w) + 1.
 *
 * Given alpha, the posteriors of l, b and sigma are therefore those of a linear regression with conjugate priors: l(0)
 * has a flat prior, b ~ N(0, (sigma drift_prior)^2), and sigma^2 has a scaled inverse chi^2 prior with the weight of
 * one week of data. The regression also gives the posterior of alpha. The values of alpha are on a grid and have equal
 * prior weights. The fit needs no numerical search and no start values, so it succeeds for every series.
 *
 * Paths are drawn from the full posterior: alpha, then sigma, then the last level and the drift, then the weekly
 * errors. Each path has its own random streams, so it does not depend on which other paths are drawn.
 *
 * Mean of paths. A path is drawn in logarithms. The variance V(h) of a path grows with the horizon h. Without a
 * correction, the mean of its exponential would grow by exp(V / 2) even if no growth is expected. V(h) / 2 is therefore
 * subtracted, as in a martingale. The mean of all paths then equals hr__forecast_fit_mean, while their median
 * decreases.
 *
 * Total. The total has its own fit, because the sum of the forecasts of the series is less accurate: events that are
 * rare in each series are frequent in the sum. Paths of series are drawn in the same way and scaled to the path of the
 * total (top-down by forecast proportions: Athanasopoulos, Ahmed and Hyndman, International Journal of Forecasting 25,
 * 2009). If the user sets a growth, it applies to the total, and the series have no drift.
 */

#include "base/random.h"
#include "plan/forecast/forecasting.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

/* added to each week, as a share of the mean week; without it the logarithm of a week without demand would be infinite
 */
static const double offset = 0.1;
static const double drift_prior =
    0.02; /* standard deviation of the drift per week; a factor of 2.8 or 1 / 2.8 per year is then plausible */
static const double sigma_prior = 0.1, prior_weeks = 1;
static const double longest_half_life = 26;

/* ---- The regression under one alpha ---------------------------------------------------------------- */

struct filter_state {
  double past, level, drift; /* the P, A and B of the recursion */
};

static struct filter_state filter_next(const struct filter_state *now, double alpha, double z) {
  return (struct filter_state){(1 - alpha) * now->past + alpha * z, (1 - alpha) * now->level,
                               (1 - alpha) * now->drift + 1};
}

/* Sums of the normal equations for the regression of z - P on A and B. Without a drift, the sums over B are not used.
 */
struct equations {
  double aa, ab, bb, az, bz, zz;
  struct filter_state end;
};

static struct equations gather(const double *z, uint32_t n, double alpha) {
  struct equations error_sums = {.end = {0, 1, 1}};
  for (uint32_t i = 0; i < n; i++) {
    const struct filter_state *now = &error_sums.end;
    double rest = z[i] - now->past;
    error_sums.aa += now->level * now->level;
    error_sums.ab += now->level * now->drift;
    error_sums.bb += now->drift * now->drift;
    error_sums.az += now->level * rest;
    error_sums.bz += now->drift * rest;
    error_sums.zz += rest * rest;
    error_sums.end = filter_next(now, alpha, z[i]);
  }
  return error_sums;
}

/* The estimated first level and drift, and what their covariance would be if the errors had variance 1. */
struct solution {
  double level, drift, var_level, covariance, var_drift, log_determinant, squares;
};

/* Solves the normal equations. `precision`: precision of the prior of the drift if the errors have variance 1; 0: the
   model has no drift. */
static struct solution solve(const struct equations *error_sums, double precision) {
  struct solution found = {0};
  if (precision <= 0) {
    found.level = error_sums->az / error_sums->aa;
    found.var_level = 1 / error_sums->aa;
    found.log_determinant = log(error_sums->aa);
    found.squares = error_sums->zz - found.level * error_sums->az;
    return found;
  }
  double bb = error_sums->bb + precision, determinant = error_sums->aa * bb - error_sums->ab * error_sums->ab;
  found.level = (bb * error_sums->az - error_sums->ab * error_sums->bz) / determinant;
  found.drift = (error_sums->aa * error_sums->bz - error_sums->ab * error_sums->az) / determinant;
  found.var_level = bb / determinant;
  found.covariance = -error_sums->ab / determinant;
  found.var_drift = error_sums->aa / determinant;
  found.log_determinant = log(determinant);
  found.squares = error_sums->zz - found.level * error_sums->az - found.drift * error_sums->bz;
  return found;
}

/* Computes the posterior of the level after the last week, P + A l(0) + (B - 1) b, and of the drift. */
static void carry(const struct solution *found, const struct filter_state *end, bool has_drift,
                  struct hr__forecast_posterior *at) {
  double a = end->level, b = has_drift ? end->drift - 1 : 0;
  at->level = end->past + a * found->level + b * found->drift;
  at->drift = found->drift;
  at->var_level = a * a * found->var_level + 2 * a * b * found->covariance + b * b * found->var_drift;
  at->covariance = a * found->covariance + b * found->var_drift;
  at->var_drift = found->var_drift;
}

/* The ratio of the mean of exp(mean + residual) to exp(mean) (Duan, "Smearing estimate", JASA 78, 1983). It does not
   assume a distribution of the residuals. */
static double smear_of(const double *z, uint32_t n, double alpha, const struct solution *found) {
  struct filter_state now = {0, 1, 1};
  double sum = 0;
  for (uint32_t i = 0; i < n; i++) {
    sum += exp(z[i] - now.past - now.level * found->level - now.drift * found->drift);
    now = filter_next(&now, alpha, z[i]);
  }
  return sum / n;
}

/* ---- All alphas ------------------------------------------------------------------------------------ */

static void weigh(struct hr__forecast_fit *fit, double *log_weight) {
  double sum = 0;
  for (uint32_t i = 1; i < HR__ALPHAS; i++)
    if (log_weight[i] > log_weight[fit->best]) fit->best = i;
  for (uint32_t i = 0; i < HR__ALPHAS; i++) sum += fit->at[i].weight = exp(log_weight[i] - log_weight[fit->best]);
  for (uint32_t i = 0; i < HR__ALPHAS; i++) fit->at[i].weight /= sum;
}

/* The precision of the drift's prior. A series may have hardly any variation, so sigma is taken to be at least the
   standard deviation of the drift. */
static double precision_of(const double *z, uint32_t n) {
  double squares = 0;
  for (uint32_t i = 1; i < n; i++) squares += (z[i] - z[i - 1]) * (z[i] - z[i - 1]);
  return fmax(squares / (n - 1) / (drift_prior * drift_prior), 1);
}

static void fit_all(struct hr__forecast_fit *fit, const double *z) {
  double log_weight[HR__ALPHAS];
  bool has_drift = fit->damping > 0;
  uint32_t n = fit->n_weeks;
  double precision = has_drift ? precision_of(z, n) : 0;
  fit->freedom = n - 1 + prior_weeks;
  for (uint32_t i = 0; i < HR__ALPHAS; i++) {
    struct equations error_sums = gather(z, n, hr__forecast_alpha(i));
    struct solution found = solve(&error_sums, precision);
    carry(&found, &error_sums.end, has_drift, &fit->at[i]);
    fit->at[i].squares = fmax(found.squares, 0) + prior_weeks * sigma_prior * sigma_prior;
    fit->at[i].smear = smear_of(z, n, hr__forecast_alpha(i), &found);
    log_weight[i] = -0.5 * found.log_determinant - 0.5 * fit->freedom * log(fit->at[i].squares);
  }
  weigh(fit, log_weight);
}

/* The factor of the drift per week. The half-life of the drift is half of the fitted time, up to a limit. */
static double damping_of(uint32_t n_weeks) {
  return n_weeks < HR__TREND_WEEKS ? 0 : exp2(-1 / fmin(n_weeks / 2.0, longest_half_life));
}

enum hr_status hr__forecast_fit_make(const double *week, uint32_t n_weeks, struct hr__forecast_fit *fit) {
  double sum = 0;
  *fit = (struct hr__forecast_fit){.n_weeks = n_weeks, .damping = damping_of(n_weeks)};
  for (uint32_t i = 0; i < n_weeks; i++) sum += week[i];
  fit->scale = sum / n_weeks;
  double *z = calloc(n_weeks + 1, sizeof *z);
  if (!z) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < n_weeks; i++) z[i] = log((sum > 0 ? week[i] / fit->scale : 0) + offset);
  fit_all(fit, z);
  free(z);
  return HR_OK;
}

/* ---- Estimates ------------------------------------------------------------------------------------- */

double hr__forecast_fit_mean(const struct hr__forecast_fit *fit, double growth, uint32_t ahead) {
  double drifts = 0, damping = 1, sum = 0;
  for (uint32_t i = 0; i < ahead && growth <= 0; i++) drifts += damping *= fit->damping;
  for (uint32_t i = 0; i < HR__ALPHAS; i++)
    sum += fit->at[i].weight * fit->at[i].smear * exp(fit->at[i].level + fit->at[i].drift * drifts);
  double mean = fmax(sum - offset, 0) * fit->scale;
  return growth > 0 ? mean * pow(growth, ahead / HR__YEAR_WEEKS) : mean;
}

/* GPU hours of a week, from the logarithm of demand; the offset is subtracted. */
static double demand_of_log(const struct hr__forecast_fit *fit, uint32_t place, double log_demand) {
  return fmax(fit->at[place].smear * exp(log_demand) - offset, 0) * fit->scale;
}

static const uint64_t ensemble_seed = 1;

/* ---- One path -------------------------------------------------------------------------------------- */

/* The parameters with which one path is drawn. */
struct path_start {
  uint32_t place; /* index of alpha */
  double sigma, level, drift;
};

static uint32_t draw_place(const struct hr__forecast_fit *fit, struct hr__stream *stream) {
  double left = hr__stream_uniform(stream);
  for (uint32_t i = 0; i + 1 < HR__ALPHAS; i++) {
    left -= fit->at[i].weight;
    if (left < 0) return i;
  }
  return fit->best; /* reached by rounding only: the weights sum to 1 */
}

static struct path_start draw_path_start(const struct hr__forecast_fit *fit, struct hr__stream *stream,
                                         const gsl_rng *rng) {
  struct path_start path_start = {.place = draw_place(fit, stream)};
  const struct hr__forecast_posterior *at = &fit->at[path_start.place];
  path_start.sigma = sqrt(at->squares / gsl_ran_chisq(rng, fit->freedom));
  double first = gsl_ran_ugaussian(rng), second = gsl_ran_ugaussian(rng);
  double of_level = sqrt(at->var_level), of_both = of_level > 0 ? at->covariance / of_level : 0;
  double of_drift = sqrt(fmax(at->var_drift - of_both * of_both, 0));
  path_start.level = at->level + path_start.sigma * of_level * first;
  path_start.drift = at->drift + path_start.sigma * (of_both * first + of_drift * second);
  return path_start;
}

/* The variance V of a path in a week (see the head of this file), divided by sigma^2. */
static double variance_of(const struct hr__forecast_posterior *at, double alpha, double drifts, uint32_t week) {
  return at->var_level + 2 * drifts * at->covariance + drifts * drifts * at->var_drift + alpha * alpha * week + 1;
}

/* Draws a path of one fit. `growth`, per year, replaces the drift of the fit; 0: the drift of the fit applies. */
static void draw_alone(const struct hr__forecast_fit *fit, double growth, uint64_t seed, uint32_t entity,
                       uint32_t replication, uint32_t n_weeks, double *path) {
  struct hr__stream stream;
  hr__stream_init(&stream, seed, HR__PURPOSE_FORECAST, entity, replication);
  gsl_rng rng = hr__stream_rng(&stream);
  struct path_start path_start = draw_path_start(fit, &stream, &rng);
  double alpha = hr__forecast_alpha(path_start.place), drifts = 0, damping = 1, walk = 0;
  for (uint32_t week = 0; week < n_weeks; week++) {
    double error = path_start.sigma * gsl_ran_ugaussian(&rng);
    if (growth <= 0) drifts += damping *= fit->damping;
    double variance =
        path_start.sigma * path_start.sigma * variance_of(&fit->at[path_start.place], alpha, drifts, week);
    path[week] = demand_of_log(fit, path_start.place,
                               path_start.level + path_start.drift * drifts + walk + error - variance / 2);
    if (growth > 0) path[week] *= pow(growth, (week + 1) / HR__YEAR_WEEKS);
    walk += alpha * error;
  }
}

static void draw_total(const struct hr__forecast_model *model, uint64_t seed, uint32_t replication, uint32_t n_weeks,
                       double *path) {
  draw_alone(&model->fits[model->n_series], model->growth, seed, HR_NONE, replication, n_weeks, path);
}

/* Draws a path of a series, not yet scaled to the total. */
static void draw_part(const struct hr__forecast_model *model, uint32_t series, uint64_t seed, uint32_t replication,
                      uint32_t n_weeks, double *path) {
  draw_alone(&model->fits[series], model->growth > 0 ? 1 : 0, seed, series, replication, n_weeks, path);
}

/* The share of `part` in `sum`; if the sum is 0, every series has the same share. */
static double part_of(const struct hr__forecast_model *model, double part, double sum) {
  return sum > 0 ? part / sum : 1.0 / model->n_series;
}

void hr__forecast_draw_path(const struct hr__forecast_model *model, uint64_t seed, uint32_t n_weeks, double *series,
                            double *total) {
  draw_total(model, seed, 0, n_weeks, total);
  for (uint32_t i = 0; i < model->n_series; i++) draw_part(model, i, seed, 0, n_weeks, series + (size_t)i * n_weeks);
  for (uint32_t week = 0; week < n_weeks; week++) {
    double sum = 0;
    for (uint32_t i = 0; i < model->n_series; i++) sum += series[(size_t)i * n_weeks + week];
    for (uint32_t i = 0; i < model->n_series; i++) {
      double *part = &series[(size_t)i * n_weeks + week];
      *part = total[week] * part_of(model, *part, sum);
    }
  }
}

/* ---- All paths ------------------------------------------------------------------------------------- */

struct ensemble {
  const struct hr__forecast_model *model;
  uint32_t n_weeks;
  double *total, *sum, *paths; /* [n_weeks][paths]; sum: of all series before scaling */
  double *path;                /* [n_weeks] */
};

static void draw_totals(const struct ensemble *all) {
  for (uint32_t i = 0; i < HR__FORECAST_PATHS; i++) {
    draw_total(all->model, ensemble_seed, i, all->n_weeks, all->path);
    for (uint32_t week = 0; week < all->n_weeks; week++)
      all->total[(size_t)week * HR__FORECAST_PATHS + i] = all->path[week];
  }
}

static void add_parts(const struct ensemble *all, uint32_t series) {
  for (uint32_t i = 0; i < HR__FORECAST_PATHS; i++) {
    draw_part(all->model, series, ensemble_seed, i, all->n_weeks, all->path);
    for (uint32_t week = 0; week < all->n_weeks; week++)
      all->sum[(size_t)week * HR__FORECAST_PATHS + i] += all->path[week];
  }
}

/* Draws the paths of a series a second time and scales them to the total. Drawing is cheaper than storing them. */
static void scale_parts(const struct ensemble *all, uint32_t series, double *share) {
  for (uint32_t week = 0; week < all->n_weeks; week++) share[week] = 0;
  for (uint32_t i = 0; i < HR__FORECAST_PATHS; i++) {
    draw_part(all->model, series, ensemble_seed, i, all->n_weeks, all->path);
    for (uint32_t week = 0; week < all->n_weeks; week++) {
      size_t cell = (size_t)week * HR__FORECAST_PATHS + i;
      double part = part_of(all->model, all->path[week], all->sum[cell]);
      share[week] += part;
      all->paths[cell] = all->total[cell] * part;
    }
  }
  for (uint32_t week = 0; week < all->n_weeks; week++) share[week] /= HR__FORECAST_PATHS;
}

enum hr_status hr__forecast_draw_paths(const struct hr__forecast_model *model, uint32_t n_weeks, double *share,
                                       hr__forecast_paths_receiver *receive, void *self) {
  size_t cells = (size_t)n_weeks * HR__FORECAST_PATHS;
  double *memory = calloc(3 * cells + n_weeks, sizeof *memory);
  if (!memory) return HR_NO_MEMORY;
  struct ensemble all = {model, n_weeks, memory, memory + cells, memory + 2 * cells, memory + 3 * cells};
  draw_totals(&all);
  receive(self, model->n_series, all.total);
  for (uint32_t i = 0; i < model->n_series; i++) add_parts(&all, i);
  for (uint32_t i = 0; i < model->n_series; i++) {
    scale_parts(&all, i, share + (size_t)i * n_weeks);
    receive(self, i, all.paths);
  }
  free(memory);
  return HR_OK;
}
