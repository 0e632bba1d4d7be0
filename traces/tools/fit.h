/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_TOOLS_FIT_H
#define HR_TRACES_TOOLS_FIT_H

/* Distributions of lengths of time, fitted by maximum likelihood. */

#include <stdbool.h>
#include <stddef.h>

enum hr__family { HR__EXPONENTIAL, HR__LOG_NORMAL, HR__WEIBULL, HR__PARETO_TAIL, HR__N_FAMILIES };

/* Log-normal: `a` is mu, `b` sigma. Weibull: `a` is the shape, `b` the scale. Exponential: `b` is the mean. Pareto's
   tail: `a` is alpha, of the density's power -(alpha + 1), `b` where the tail begins. */
struct hr__distribution_fit {
  bool known;   /* there was enough to fit */
  size_t count; /* values that it is of: all above 0; of a tail, those from `b` on */
  double a, b;
  double log_likelihood;
  double aic; /* Akaike's criterion; of a tail it cannot be held against the others' */
  double ks;  /* the largest distance of the distribution functions (Kolmogorov, Smirnov) */
};

/* `sorted`: rising, none below 0; zeros are left out. At least two values that differ are wanted, of a tail 100, of
   which it is the upper half at most. False when out of memory. */
bool hr__fit_all(const double *sorted, size_t count, struct hr__distribution_fit fits[HR__N_FAMILIES]);
/* The distribution function of a fit. */
double hr__fit_cdf(enum hr__family family, const struct hr__distribution_fit *fit, double value);
const char *hr__family_name(enum hr__family family);

#endif
