/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_TOOLS_FIT_H
#define HR_TRACES_TOOLS_FIT_H

/* Distributions of durations, fitted by maximum likelihood. */

#include <stdbool.h>
#include <stddef.h>

enum hr__family { HR__EXPONENTIAL, HR__LOG_NORMAL, HR__WEIBULL, HR__PARETO_TAIL, HR__N_FAMILIES };

/* Parameters. Log-normal: `a` is mu, `b` is sigma. Weibull: `a` is the shape, `b` the scale. Exponential: `b` is the
   mean. Pareto tail: `a` is alpha, the density's exponent being -(alpha + 1), `b` the minimum. */
struct hr__distribution_fit {
  bool known;   /* there were enough values */
  size_t count; /* number of values fitted: all above 0; for a tail, those from `b` on */
  double a, b;
  double log_likelihood;
  double aic; /* Akaike information criterion; that of a tail is not comparable with the others */
  double ks;  /* Kolmogorov-Smirnov distance */
};

/* Fits all families to `sorted` (ascending, none below 0; zeros are ignored). Needs at least two distinct values; a
   tail needs 100 values and is at most their upper half. Returns false if out of memory. */
bool hr__fit_all(const double *sorted, size_t count, struct hr__distribution_fit fits[HR__N_FAMILIES]);
/* Cumulative distribution function of a fit. */
double hr__fit_cdf(enum hr__family family, const struct hr__distribution_fit *fit, double value);
const char *hr__family_name(enum hr__family family);

#endif
