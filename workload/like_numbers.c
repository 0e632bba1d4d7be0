/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload/like_numbers.h"

#include <math.h>

const double hr_like_pause_ends_s[HR_LIKE_PAUSES - 1] = {1, 10, 60};

uint32_t hr__like_pause(double gap_s) {
  uint32_t pause = 0;
  while (pause + 1 < HR_LIKE_PAUSES && gap_s >= hr_like_pause_ends_s[pause]) pause++;
  return pause;
}

uint32_t hr__knot_below(const double *knots, uint32_t n_knots, double p, double *part) {
  uint32_t low = 0, high = n_knots - 1;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (knots[middle] <= p)
      low = middle;
    else
      high = middle;
  }
  *part = fmin(1, fmax(0, (p - knots[low]) / (knots[high] - knots[low])));
  return low;
}

/* ---- Variances -------------------------------------------------------------------------------------- */

void hr__variances_add(struct hr__variances *variances, double sum, double squares, uint64_t n) {
  variances->sum += sum;
  variances->squares += squares;
  variances->weighted_means += sum * sum / (double)n;
  variances->counts_squared += (double)n * (double)n;
  variances->n += n;
  variances->n_groups++;
}

/* The mean square within groups. */
static double within(const struct hr__variances *v) {
  return fmax(0, v->squares - v->weighted_means) / (double)(v->n - v->n_groups);
}

double hr__variances_component(const struct hr__variances *v) {
  if (v->n_groups < 3 || v->n <= v->n_groups) return 0;
  double n = (double)v->n, groups = (double)v->n_groups - 1;
  double between = fmax(0, v->weighted_means - v->sum * v->sum / n) / groups;
  double typical = (n - v->counts_squared / n) / groups;
  return typical > 0 ? fmax(0, (between - within(v)) / typical) : 0;
}

double hr__variances_between(const struct hr__variances *v, double fallback) {
  if (v->n_groups < 3 || v->n <= v->n_groups) return fallback;
  double component = hr__variances_component(v), all = component + within(v);
  return all > 0 ? fmin(0.95, component / all) : fallback;
}

/* ---- Tails ------------------------------------------------------------------------------------------ */

bool hr__pareto_fit(const double *sorted, uint32_t n, double *scale, double *shape) {
  double mean = 0, moment = 0; /* the latter of y (1 - F(y)) */
  for (uint32_t i = 0; i < n; i++) {
    mean += sorted[i] / n;
    moment += sorted[i] * (1 - (i + 1 - 0.35) / n) / n;
  }
  double spread = mean - 2 * moment;
  if (n < 5 || !(mean > 1e-6) || !(spread > 1e-9)) return false;
  *shape = fmin(0.2, fmax(-2, 2 - mean / spread));
  *scale = mean * (1 - *shape); /* what gives the mean */
  return true;
}

double hr__pareto_quantile(double scale, double shape, double p) {
  double left = log(1 - p);
  if (fabs(shape) < 1e-9) return -scale * left;
  return scale * (exp(-shape * left) - 1) / shape;
}
