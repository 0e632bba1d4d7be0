/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Paths of demand to come, drawn from all that a fit leaves open: alpha by its posterior, then sigma, then the last
 * level and the drift, then the weeks' errors. Every path has streams of its own, so it does not matter which others
 * are drawn.
 *
 * A path is drawn in logarithms, in which its variance V(h) grows with the horizon; exponentials of it would then have
 * a mean that grows by exp(V / 2) where nobody expects growth. V(h) / 2 is taken off, as it is in a martingale: the
 * mean of all paths is the mean that hr__fit_mean tells, while their median sinks.
 *
 * The total has a fit of its own, for the sum of many forecasts of parts is worse: what is rare in each part is common
 * in the sum. Series are drawn likewise, and scaled to make up the total (top-down by forecast proportions:
 * Athanasopoulos, Ahmed and Hyndman, International Journal of Forecasting 25, 2009). A growth that is given is the
 * total's; the series then have no drifts.
 */

#include "plan/forecasting.h"
#include "sim/philox.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

static const uint64_t ensemble_seed = 1;

/* ---- One path --------------------------------------------------------------------------------------- */

/* What a path is drawn under. */
struct start {
  uint32_t place; /* of alpha */
  double sigma, level, drift;
};

static uint32_t draw_place(const struct hr__fit *fit, struct hr__stream *stream) {
  double left = hr__stream_uniform(stream);
  for (uint32_t i = 0; i + 1 < HR__ALPHAS; i++) {
    left -= fit->at[i].weight;
    if (left < 0) return i;
  }
  return fit->best; /* sums of weights are 1 but for rounding */
}

static struct start draw_start(const struct hr__fit *fit, struct hr__stream *stream, const gsl_rng *rng) {
  struct start start = {.place = draw_place(fit, stream)};
  const struct hr__fit_at *at = &fit->at[start.place];
  start.sigma = sqrt(at->squares / gsl_ran_chisq(rng, fit->freedom));
  double first = gsl_ran_ugaussian(rng), second = gsl_ran_ugaussian(rng);
  double of_level = sqrt(at->var_level), of_both = of_level > 0 ? at->covariance / of_level : 0;
  double of_drift = sqrt(fmax(at->var_drift - of_both * of_both, 0));
  start.level = at->level + start.sigma * of_level * first;
  start.drift = at->drift + start.sigma * (of_both * first + of_drift * second);
  return start;
}

/* V of a week under a unit sigma. */
static double variance_of(const struct hr__fit_at *at, double alpha, double drifts, uint32_t week) {
  return at->var_level + 2 * drifts * at->covariance + drifts * drifts * at->var_drift + alpha * alpha * week + 1;
}

/* Of a fit alone. `growth` 0: with the fit's drift. */
static void draw_alone(const struct hr__fit *fit, double growth, uint64_t seed, uint32_t entity, uint32_t replication,
                       uint32_t n_weeks, double *path) {
  struct hr__stream stream;
  hr__stream_init(&stream, seed, HR__PURPOSE_FORECAST, entity, replication);
  gsl_rng rng = hr__stream_rng(&stream);
  struct start start = draw_start(fit, &stream, &rng);
  double alpha = hr__alpha(start.place), drifts = 0, fade = 1, walk = 0;
  for (uint32_t week = 0; week < n_weeks; week++) {
    double error = start.sigma * gsl_ran_ugaussian(&rng);
    if (growth <= 0) drifts += fade *= fit->fade;
    double variance = start.sigma * start.sigma * variance_of(&fit->at[start.place], alpha, drifts, week);
    path[week] = hr__fit_draw(fit, start.place, start.level + start.drift * drifts + walk + error - variance / 2);
    if (growth > 0) path[week] *= pow(growth, (week + 1) / HR__YEAR_WEEKS);
    walk += alpha * error;
  }
}

static void draw_total(const struct hr__model *model, uint64_t seed, uint32_t replication, uint32_t n_weeks,
                       double *path) {
  draw_alone(&model->fits[model->n_series], model->growth, seed, HR_NONE, replication, n_weeks, path);
}

/* Before it is scaled to the total. */
static void draw_part(const struct hr__model *model, uint32_t series, uint64_t seed, uint32_t replication,
                      uint32_t n_weeks, double *path) {
  draw_alone(&model->fits[series], model->growth > 0 ? 1 : 0, seed, series, replication, n_weeks, path);
}

/* Of a sum of no demand at all, each has the same. */
static double part_of(const struct hr__model *model, double part, double sum) {
  return sum > 0 ? part / sum : 1.0 / model->n_series;
}

void hr__draw_path(const struct hr__model *model, uint64_t seed, uint32_t n_weeks, double *series, double *total) {
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

/* ---- Many ------------------------------------------------------------------------------------------- */

struct ensemble {
  const struct hr__model *model;
  uint32_t n_weeks;
  double *total, *sum, *paths; /* [n_weeks][paths]; the second of the parts before they are scaled */
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

/* Draws them again, which is cheaper than to remember all, and scales them. */
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

enum hr_status hr__draw_all(const struct hr__model *model, uint32_t n_weeks, double *share, hr__paths_teller *tell,
                            void *self) {
  size_t cells = (size_t)n_weeks * HR__FORECAST_PATHS;
  double *memory = calloc(3 * cells + n_weeks, sizeof *memory);
  if (!memory) return HR_NO_MEMORY;
  struct ensemble all = {model, n_weeks, memory, memory + cells, memory + 2 * cells, memory + 3 * cells};
  draw_totals(&all);
  tell(self, model->n_series, all.total);
  for (uint32_t i = 0; i < model->n_series; i++) add_parts(&all, i);
  for (uint32_t i = 0; i < model->n_series; i++) {
    scale_parts(&all, i, share + (size_t)i * n_weeks);
    tell(self, i, all.paths);
  }
  free(memory);
  return HR_OK;
}

double hr__model_mean(const struct hr__model *model, const double *share, uint32_t n_weeks, uint32_t series,
                      uint32_t ahead) {
  double total = hr__fit_mean(&model->fits[model->n_series], model->growth, ahead);
  return series < model->n_series ? total * share[(size_t)series * n_weeks + (ahead > 0 ? ahead - 1 : 0)] : total;
}

void hr__band_of(const double *values, uint32_t count, double confidence, double *work, struct hr_forecast_band *band) {
  for (uint32_t i = 0; i < count; i++) work[i] = values[i];
  gsl_sort(work, 1, count);
  band->low = gsl_stats_quantile_from_sorted_data(work, 1, count, (1 - confidence) / 2);
  band->high = gsl_stats_quantile_from_sorted_data(work, 1, count, (1 + confidence) / 2);
}
