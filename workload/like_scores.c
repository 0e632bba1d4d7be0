/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload/like_scores.h"

#include "workload/like_numbers.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

enum { LAST_STEPS = 256 };
static const double least_score = -8, score_step = 0.05;

static double sum_of(const double *numbers, uint32_t n) {
  double sum = 0;
  for (uint32_t k = 0; k < n; k++) sum += numbers[k];
  return sum;
}

/* What each law has at each step is told once, whatever the number of maps. */
void hr__score_maps_init(struct hr__score_map *maps, uint32_t n_maps, const double *shifts, const double *weights,
                         uint32_t n) {
  double law[HR__SCORE_STEPS + 1];
  for (uint32_t m = 0; m < n_maps; m++) maps[m] = (struct hr__score_map){0};
  for (uint32_t k = 0; k < n; k++) {
    for (uint32_t i = 0; i <= HR__SCORE_STEPS; i++)
      law[i] = gsl_cdf_ugaussian_P(least_score + i * score_step - shifts[k]);
    for (uint32_t m = 0; m < n_maps; m++) {
      double sum = sum_of(&weights[(size_t)m * n], n);
      double share = sum > 0 ? weights[(size_t)m * n + k] / sum : 1.0 / n;
      for (uint32_t i = 0; i <= HR__SCORE_STEPS; i++) maps[m].p[i] += share * law[i];
    }
  }
}

void hr__score_map_init(struct hr__score_map *map, const double *shifts, const double *weights, uint32_t n) {
  hr__score_maps_init(map, 1, shifts, weights, n);
}

double hr__score_map_p(const struct hr__score_map *map, double score) {
  double at = fmin(HR__SCORE_STEPS - 1e-6, fmax(0, (score - least_score) / score_step));
  uint32_t low = (uint32_t)at;
  double part = at - low;
  return map->p[low] + (map->p[low + 1] - map->p[low]) * part;
}

/* ---- Run times -------------------------------------------------------------------------------------- */

double hr__run_times_quantile(const struct hr__run_times *runs, double p) {
  const struct hr_like_cell *cell = runs->cell;
  double log_s, part;
  if (p > cell->tail_from) {
    double beyond = (p - cell->tail_from) / (1 - cell->tail_from);
    log_s = runs->tail_log_s + hr__pareto_quantile(cell->tail_scale, cell->tail_shape, fmin(beyond, 1 - 1e-12));
  } else {
    uint32_t low = hr__knot_below(hr_like_run_p, HR_LIKE_RUN_KNOTS, p, &part);
    log_s = runs->log_s[low] + (runs->log_s[low + 1] - runs->log_s[low]) * part;
  }
  return exp(fmin(log_s, runs->most_log_s));
}

/* The mean from `p` to `p + width`, by midpoints. */
static double mean_between(const struct hr__run_times *runs, double p, double width, uint32_t n) {
  double mean = 0;
  for (uint32_t i = 0; i < n; i++) mean += hr__run_times_quantile(runs, p + (i + 0.5) / n * width) / n;
  return mean;
}

/* Finer towards 1, where the most time is. */
static void fill_steps(struct hr__run_times *runs) {
  double width = 1.0 / HR__QUANTILE_STEPS;
  for (uint32_t i = 0; i < HR__QUANTILE_STEPS; i++)
    runs->at[i] = mean_between(runs, i * width, width, i + 1 < HR__QUANTILE_STEPS ? 1 : LAST_STEPS);
}

double hr__run_times_mean(const struct hr__run_times *runs) {
  double mean = 0;
  for (uint32_t i = 0; i < HR__QUANTILE_STEPS; i++) mean += runs->at[i] / HR__QUANTILE_STEPS;
  return mean;
}

static void init_run_times(struct hr__run_times *runs, const struct hr_like_cell *cell) {
  runs->cell = cell;
  for (uint32_t k = 0; k < HR_LIKE_RUN_KNOTS; k++) runs->log_s[k] = log(fmax(1e-3, cell->run_s[k]));
  double part;
  uint32_t low = hr__knot_below(hr_like_run_p, HR_LIKE_RUN_KNOTS, cell->tail_from, &part);
  runs->tail_log_s = runs->log_s[low] + (runs->log_s[low + 1] - runs->log_s[low]) * part;
  runs->most_log_s = log(fmax(1e-3, cell->most_s));
  fill_steps(runs);
}

struct hr__run_times *hr__run_times_of(const struct hr_like_band *band) {
  struct hr__run_times *runs = calloc((size_t)band->n_sizes * HR_LIKE_MOST_CELLS, sizeof *runs);
  for (uint32_t i = 0; i < band->n_sizes && runs; i++)
    for (uint32_t k = 0; k < band->sizes[i].n_cells; k++)
      init_run_times(&runs[i * HR_LIKE_MOST_CELLS + k], &band->sizes[i].cells[k]);
  return runs;
}

uint32_t hr__place_in(const double *weights, uint32_t n_weights, double p, double *part) {
  double sum = 0;
  uint32_t place = 0;
  for (uint32_t i = 0; i < n_weights; i++) sum += weights[i];
  double left = p * sum;
  while (place + 1 < n_weights && left >= weights[place]) left -= weights[place++];
  *part = weights[place] > 0 ? fmin(1 - 1e-9, fmax(0, left / weights[place])) : 0;
  return place;
}

double hr__jobs_at(const struct hr_like_cell *cell, double p) {
  double part;
  uint32_t low = hr__knot_below(hr_like_p, HR_LIKE_KNOTS, p, &part);
  return cell->jobs[low] + (cell->jobs[low + 1] - cell->jobs[low]) * part;
}

/* The area under the line through the knots. */
double hr__mean_jobs(const struct hr_like_cell *cell) {
  double mean = 0;
  for (uint32_t k = 0; k + 1 < HR_LIKE_KNOTS; k++)
    mean += (hr_like_p[k + 1] - hr_like_p[k]) * (cell->jobs[k] + cell->jobs[k + 1]) / 2;
  return fmax(1, mean);
}

double hr__mean_gpus(const struct hr_like_size *size) {
  double mean = 0, sum = 0;
  for (uint32_t i = 0; i < size->n_asks; i++) {
    mean += size->asks[i].share * size->asks[i].gpus * size->asks[i].gpu_milli / 1000;
    sum += size->asks[i].share;
  }
  return mean / sum;
}
