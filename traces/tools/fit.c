/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fits distributions to a sample by maximum likelihood.
 *
 * The exponential and the log-normal distribution have closed forms. The shape k of a Weibull distribution solves
 * sum(x^k ln x) / sum(x^k) - 1/k = mean(ln x). The left side increases with k. The shape k of a gamma distribution
 * solves ln k - psi(k) = ln mean(x) - mean(ln x). Here the left side decreases with k. The exponent of the Pareto tail
 * is Hill's estimator. Several values are tried as the beginning of the tail; the beginning with the smallest distance
 * between the fitted tail and the sample is chosen (Clauset, Shalizi and Newman, SIAM Review 51, 2009). At most
 * MAX_STARTS values are tried, evenly spaced over the upper half of the sample. For this choice, the distance is
 * computed at MAX_POINTS points only.
 */

#include "traces/tools/stats.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_roots.h>
#include <gsl/gsl_sf_gamma.h>
#include <gsl/gsl_sf_psi.h>
#include <math.h>
#include <stdlib.h>

enum { MIN_TAIL = 50, MAX_STARTS = 200, MAX_POINTS = 1000, MAX_STEPS = 200 };

static const double log_2pi = 1.8378770664093453;

struct sample {
  const double *at; /* sorted values, all above 0 */
  double *log;      /* logarithm of each value */
  size_t count;
  double log_mean, log_max;
};

const char *hr__family_name(enum hr__family family) {
  static const char *const names[HR__N_FAMILIES] = {[HR__EXPONENTIAL] = "exponential",
                                                    [HR__LOG_NORMAL] = "log-normal",
                                                    [HR__WEIBULL] = "weibull",
                                                    [HR__PARETO_TAIL] = "pareto-tail"};
  return names[family];
}

/* Returns the value of the cumulative distribution function of a fit. */
static double fit_cdf(enum hr__family family, const struct hr__distribution_fit *fit, double value) {
  switch (family) {
  case HR__EXPONENTIAL:
    return gsl_cdf_exponential_P(value, fit->b);
  case HR__LOG_NORMAL:
    return value > 0 ? gsl_cdf_lognormal_P(value, fit->a, fit->b) : 0;
  case HR__WEIBULL:
    return gsl_cdf_weibull_P(value, fit->b, fit->a);
  case HR__PARETO_TAIL:
    return value > fit->b ? gsl_cdf_pareto_P(value, fit->a, fit->b) : 0;
  case HR__N_FAMILIES:
    break;
  }
  return 0;
}

/* ---- Distance --------------------------------------------------------------------------------------- */

/* Returns the Kolmogorov-Smirnov distance of a fit to the sample. Equal values are one step of the empirical
   distribution. */
static double distance(enum hr__family family, const struct hr__distribution_fit *fit, const double *at, size_t count) {
  double max = 0;
  for (size_t i = 0, end; i < count; i = end) {
    for (end = i + 1; end < count && at[end] <= at[i]; end++) continue;
    double value = fit_cdf(family, fit, at[i]);
    max = fmax(max, fmax(value - (double)i / (double)count, (double)end / (double)count - value));
  }
  return max;
}

/* ---- Families --------------------------------------------------------------------------------------- */

static void fit_exponential(const struct sample *sample, struct hr__distribution_fit *fit) {
  fit->known = true;
  double sum = 0;
  for (size_t i = 0; i < sample->count; i++) sum += sample->at[i];
  fit->b = sum / (double)sample->count;
  fit->log_likelihood = -(double)sample->count * (log(fit->b) + 1);
  fit->aic = 2 - 2 * fit->log_likelihood;
}

static void fit_log_normal(const struct sample *sample, struct hr__distribution_fit *fit) {
  fit->known = true;
  double squares = 0, n = (double)sample->count;
  for (size_t i = 0; i < sample->count; i++)
    squares += (sample->log[i] - sample->log_mean) * (sample->log[i] - sample->log_mean);
  fit->a = sample->log_mean;
  fit->b = sqrt(squares / n);
  fit->log_likelihood = -n * (log(fit->b) + log_2pi / 2 + sample->log_mean + 0.5);
  fit->aic = 4 - 2 * fit->log_likelihood;
}

/* Returns left side - right side of the equation for the shape k of a Weibull distribution, which is 0 for the
   solution. Values are divided by the maximum, so that their powers do not overflow. */
static double weibull_slope(double shape, void *of) {
  const struct sample *sample = of;
  double sum = 0, weighted = 0;
  for (size_t i = 0; i < sample->count; i++) {
    double relative = sample->log[i] - sample->log_max, power = exp(shape * relative);
    sum += power;
    weighted += power * relative;
  }
  return weighted / sum - 1 / shape - (sample->log_mean - sample->log_max);
}

static bool weibull_shape(struct sample *sample, double *shape) {
  gsl_function slope = {.function = weibull_slope, .params = sample};
  double low = 1e-3, high = 1;
  while (weibull_slope(high, sample) < 0 && high < 1e6) high *= 2;
  gsl_root_fsolver *solver = gsl_root_fsolver_alloc(gsl_root_fsolver_brent);
  bool found = solver && gsl_root_fsolver_set(solver, &slope, low, high) == GSL_SUCCESS;
  for (int step = 0; found && step < MAX_STEPS; step++) {
    found = gsl_root_fsolver_iterate(solver) == GSL_SUCCESS;
    low = gsl_root_fsolver_x_lower(solver);
    high = gsl_root_fsolver_x_upper(solver);
    if (gsl_root_test_interval(low, high, 0, 1e-10) == GSL_SUCCESS) break;
  }
  if (found) *shape = gsl_root_fsolver_root(solver);
  if (solver) gsl_root_fsolver_free(solver);
  return found;
}

static void fit_weibull(struct sample *sample, struct hr__distribution_fit *fit) {
  double powers = 0, n = (double)sample->count;
  fit->known = weibull_shape(sample, &fit->a);
  if (!fit->known) return;
  for (size_t i = 0; i < sample->count; i++) powers += exp(fit->a * (sample->log[i] - sample->log_max));
  double log_scale = sample->log_max + log(powers / n) / fit->a;
  fit->b = exp(log_scale);
  fit->log_likelihood = n * (log(fit->a) - fit->a * log_scale + (fit->a - 1) * sample->log_mean - 1);
  fit->aic = 4 - 2 * fit->log_likelihood;
}

void hr__fit_gamma(const double *at, size_t count, struct hr__distribution_fit *fit) {
  double n = (double)count, mean = 0, log_mean = 0, low = 1e-6, high = 1e6;
  *fit = (struct hr__distribution_fit){.count = count};
  for (size_t i = 0; i < count; i++) {
    mean += at[i] / n;
    log_mean += log(at[i]) / n;
  }
  double gap = log(mean) - log_mean;
  fit->known = count >= 2 && at[0] < at[count - 1] && gap > 0;
  if (!fit->known) return;
  while (high / low > 1 + 1e-12) {
    double middle = sqrt(low * high);
    *(log(middle) - gsl_sf_psi(middle) > gap ? &low : &high) = middle;
  }
  fit->a = low;
  fit->b = mean / low;
  fit->log_likelihood = n * ((fit->a - 1) * log_mean - fit->a - fit->a * log(fit->b) - gsl_sf_lngamma(fit->a));
  fit->aic = 4 - 2 * fit->log_likelihood;
  for (size_t i = 0; i < count; i++) {
    double value = gsl_cdf_gamma_P(at[i], fit->a, fit->b);
    fit->ks = fmax(fit->ks, fmax(value - (double)i / n, (double)(i + 1) / n - value));
  }
}

/* Returns the distance of a Pareto tail to the sample, computed at some of its points. */
static double distance_of_tail(const struct sample *sample, size_t from, double alpha) {
  size_t count = sample->count - from, step = count / MAX_POINTS + 1;
  double max = 0;
  for (size_t i = 0; i < count; i += step) {
    double value = 1 - exp(-alpha * (sample->log[from + i] - sample->log[from]));
    max = fmax(max, fabs(value - ((double)i + 0.5) / (double)count));
  }
  return max;
}

/* Fits a Pareto tail to the values from index `from` on. `log_sum` is the sum of their logarithms. */
static struct hr__distribution_fit tail_from(const struct sample *sample, size_t from, double log_sum) {
  size_t count = sample->count - from;
  double n = (double)count, log_begin = sample->log[from], excess = log_sum - n * log_begin;
  struct hr__distribution_fit fit = {.known = excess > 0, .count = count, .b = sample->at[from]};
  if (!fit.known) return fit;
  fit.a = n / excess;
  fit.log_likelihood = n * (log(fit.a) + fit.a * log_begin) - (fit.a + 1) * log_sum;
  fit.aic = 4 - 2 * fit.log_likelihood;
  fit.ks = distance_of_tail(sample, from, fit.a);
  return fit;
}

/* Tries several beginnings of the tail, from the last to the first, so that the sum of logarithms is updated and not
   computed again. If the beginning is one of several equal values, all of them are in the tail. */
static struct hr__distribution_fit fit_tail(const struct sample *sample) {
  struct hr__distribution_fit best = {0};
  if (sample->count < 2 * (size_t)MIN_TAIL) return best;
  size_t first = sample->count / 2, last = sample->count - MIN_TAIL, step = (last - first) / MAX_STARTS + 1;
  double log_sum = 0;
  for (size_t place = last, at = sample->count; place >= first; place -= step) {
    size_t from = place;
    while (from > 0 && sample->at[from - 1] >= sample->at[from]) from--;
    bool done = at <= from;
    while (at > from) log_sum += sample->log[--at];
    struct hr__distribution_fit fit = done ? (struct hr__distribution_fit){0} : tail_from(sample, from, log_sum);
    if (fit.known && (!best.known || fit.ks < best.ks)) best = fit;
    if (place < first + step) break;
  }
  if (best.known) best.ks = distance(HR__PARETO_TAIL, &best, sample->at + (sample->count - best.count), best.count);
  return best;
}

/* ---- All families ------------------------------------------------------------------------------------ */

/* Stores the values above 0 and their logarithms. Returns false if out of memory. */
static bool take(struct sample *sample, const double *sorted, size_t count) {
  size_t zeros = 0;
  while (zeros < count && sorted[zeros] <= 0) zeros++;
  *sample = (struct sample){.at = sorted + zeros, .count = count - zeros};
  sample->log = malloc((sample->count + 1) * sizeof *sample->log);
  if (!sample->log) return false;
  double sum = 0;
  for (size_t i = 0; i < sample->count; i++) sum += sample->log[i] = log(sample->at[i]);
  sample->log_mean = sum / (double)sample->count;
  if (sample->count) sample->log_max = sample->log[sample->count - 1];
  return true;
}

bool hr__fit_all(const double *sorted, size_t count, struct hr__distribution_fit fits[HR__N_FAMILIES]) {
  struct sample sample;
  for (unsigned i = 0; i < HR__N_FAMILIES; i++) fits[i] = (struct hr__distribution_fit){0};
  if (!take(&sample, sorted, count)) return false;
  if (sample.count >= 2 && sample.at[0] < sample.at[sample.count - 1]) {
    fit_exponential(&sample, &fits[HR__EXPONENTIAL]);
    fit_log_normal(&sample, &fits[HR__LOG_NORMAL]);
    fit_weibull(&sample, &fits[HR__WEIBULL]);
    for (unsigned i = 0; i < HR__PARETO_TAIL; i++) {
      fits[i].count = sample.count;
      if (fits[i].known) fits[i].ks = distance((enum hr__family)i, &fits[i], sample.at, sample.count);
    }
    fits[HR__PARETO_TAIL] = fit_tail(&sample);
  }
  free(sample.log);
  return true;
}
