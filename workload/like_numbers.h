/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_WORKLOAD_LIKE_NUMBERS_H
#define HR_WORKLOAD_LIKE_NUMBERS_H

/* Knots of quantile functions and variances, as models of workloads need them. */

#include "headroom/unstable/like.h"

/* Where `p` is among knots: sets `*part`, from 0 to 1, of the way from the returned one to the next. */
uint32_t hr__knot_below(const double *knots, uint32_t n_knots, double p, double *part);

/* Between groups and within them, one way, groups of unlike sizes (Searle, Linear Models, 1971, ch. 10). */
struct hr__variances {
  double sum, squares, weighted_means, counts_squared; /* over the values; groups' sums squared over their counts */
  uint64_t n, n_groups;
};
void hr__variances_add(struct hr__variances *variances, double sum, double squares, uint64_t n);
/* The share of the variance that is between groups, 0 to 0.95; `fallback` where it cannot be told. */
double hr__variances_between(const struct hr__variances *variances, double fallback);
/* That variance itself. */
double hr__variances_component(const struct hr__variances *variances);

/* A generalised Pareto law for values above 0, sorted, by probability-weighted moments (Hosking and Wallis,
   Technometrics 29, 1987). False where there is no spread. */
bool hr__pareto_fit(const double *sorted, uint32_t n, double *scale, double *shape);
/* Its quantile at `p`. */
double hr__pareto_quantile(double scale, double shape, double p);

/* Which of the pauses a time between two submits is. */
uint32_t hr__like_pause(double gap_s);

#endif
