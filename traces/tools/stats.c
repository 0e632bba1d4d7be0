/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statistics of a trace: fitted distributions, distributions of values, arrivals, concentration, correlations, groups.
   They are computed in a few passes over the columns and by sorting copies of columns. */

#include "traces/tools/stats.h"
#include "base/text.h"
#include "headroom/unstable/trace_tools.h"
#include "traces/core/builder.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_roots.h>
#include <gsl/gsl_sf_gamma.h>
#include <gsl/gsl_sf_psi.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Fitted distributions -------------------------------------------------------------------------- */

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

/* ---- Fitted distributions: distance ---------------------------------------------------------------- */

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

/* ---- Fitted distributions: families ---------------------------------------------------------------- */

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

/* ---- Fitted distributions: all families ------------------------------------------------------------ */

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

/* ---- Values ---------------------------------------------------------------------------------------- */

static double quantile(const double *sorted, size_t count, double share) {
  return gsl_stats_quantile_from_sorted_data(sorted, 1, count, share);
}

/* Returns the distribution of the values, which are sorted in place. */
static struct hr__spread spread_of(double *values, size_t count) {
  struct hr__spread spread = {.count = count};
  if (count == 0) return spread;
  gsl_sort(values, 1, count);
  double sum = 0, squares = 0;
  for (size_t i = 0; i < count; i++) sum += values[i];
  spread.mean = sum / (double)count;
  for (size_t i = 0; i < count; i++) squares += (values[i] - spread.mean) * (values[i] - spread.mean);
  spread.sd = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
  spread.min = values[0];
  spread.p10 = quantile(values, count, 0.1);
  spread.p25 = quantile(values, count, 0.25);
  spread.p50 = quantile(values, count, 0.5);
  spread.p75 = quantile(values, count, 0.75);
  spread.p90 = quantile(values, count, 0.9);
  spread.p95 = quantile(values, count, 0.95);
  spread.p99 = quantile(values, count, 0.99);
  spread.max = values[count - 1];
  return spread;
}

/* Computes a quantile curve: HR__CURVE_POINTS quantiles at equal distances, from the minimum to the maximum. `sorted`
   must have at least one value. */
static void curve_of(const double *sorted, size_t count, double curve[HR__CURVE_POINTS]) {
  for (int i = 0; i < HR__CURVE_POINTS; i++) curve[i] = quantile(sorted, count, i / (double)(HR__CURVE_POINTS - 1));
}

/* Returns the GPU time of a job in milli-GPU * microseconds. */
static hr_amount gpu_time_of(const struct hr_trace *trace, uint32_t job) {
  return (hr_amount)hr_trace_gpus_milli(trace, (hr_job){job}) * trace->work_us[job];
}

static double gpu_hours_of(hr_amount gpu_time) {
  return (double)gpu_time / (1000.0 * 3600 * (double)HR_SECOND_US);
}

enum hr__family hr__best_family(const struct hr__distribution_fit fits[HR__N_FAMILIES]) {
  enum hr__family best = HR__N_FAMILIES;
  for (unsigned i = 0; i < HR__PARETO_TAIL; i++)
    if (fits[i].known && (best == HR__N_FAMILIES || fits[i].aic < fits[best].aic)) best = (enum hr__family)i;
  return best;
}

/* ---- All jobs -------------------------------------------------------------------------------------- */

static size_t collect_run_times(const struct hr_trace *trace, double *values) {
  for (uint32_t job = 0; job < trace->n_jobs; job++) values[job] = hr__seconds(trace->work_us[job]);
  return trace->n_jobs;
}

static size_t take_gpus(const struct hr_trace *trace, double *values) {
  for (uint32_t job = 0; job < trace->n_jobs; job++)
    values[job] = (double)hr_trace_gpus_milli(trace, (hr_job){job}) / 1000;
  return trace->n_jobs;
}

static size_t collect_recorded_waits(const struct hr_trace *trace, double *values) {
  size_t count = 0;
  for (uint32_t job = 0; trace->recorded_start_us && job < trace->n_jobs; job++)
    if (trace->recorded_start_us[job] != HR_UNKNOWN_US)
      values[count++] = hr__seconds(trace->recorded_start_us[job] - trace->submit_us[job]);
  return count;
}

static size_t collect_limits(const struct hr_trace *trace, double *values) {
  size_t count = 0;
  for (uint32_t job = 0; trace->limit_us && job < trace->n_jobs; job++)
    if (trace->limit_us[job] > 0 && trace->work_us[job] > 0)
      values[count++] = (double)trace->limit_us[job] / (double)trace->work_us[job];
  return count;
}

static bool fill_values(struct hr_trace_stats *stats) {
  const struct hr_trace *trace = stats->trace;
  double *values = malloc(((size_t)trace->n_jobs + 1) * sizeof *values);
  if (!values) return false;
  stats->gpus = spread_of(values, take_gpus(trace, values));
  stats->wait_s = spread_of(values, collect_recorded_waits(trace, values));
  stats->limit_ratio = spread_of(values, collect_limits(trace, values));
  stats->run_s = spread_of(values, collect_run_times(trace, values));
  if (trace->n_jobs) curve_of(values, trace->n_jobs, stats->curve_s);
  bool done = hr__fit_all(values, trace->n_jobs, stats->run_fits);
  free(values);
  return done;
}

static void fill_sums(struct hr_trace_stats *stats) {
  struct hr_trace_size size = hr_trace_size_of(stats->trace);
  stats->gpu_hours = size.gpu_hours;
  stats->span_s = hr__seconds(size.span_us);
}

/* ---- Arrivals: by hour of the clock and day of the week, and how uneven they are ------------------- */

#define UNKNOWN ((double)NAN)

enum { HOURS_A_DAY = 24, HOURS_A_WEEK = 168, MAX_HOURS = 1 << 24 };

/* Returns value / unit, rounded down, also for negative values. */
static int64_t quotient(int64_t value, int64_t unit) {
  int64_t whole = value / unit;
  return value % unit < 0 ? whole - 1 : whole;
}

/* Counts submits by hour of the day and by day of the week. 1970-01-01 was a Thursday. */
static void count_by_clock(const struct hr_trace *trace, struct hr__arrivals *arrivals) {
  const int64_t thursday = 3;
  arrivals->has_weekdays = trace->dated;
  for (uint32_t job = 0; job < trace->n_jobs; job++) {
    int64_t at_us = trace->origin_us + trace->submit_us[job], day = quotient(at_us, HR__DAY_US);
    int64_t weekday = (day + (trace->dated ? thursday : 0)) % 7;
    arrivals->by_hour[(at_us - day * HR__DAY_US) / HR__HOUR_US]++;
    arrivals->by_weekday[weekday < 0 ? weekday + 7 : weekday]++;
  }
}

/* ---- Gaps ------------------------------------------------------------------------------------------ */

static bool fill_gaps(struct hr_trace_stats *stats) {
  const struct hr_trace *trace = stats->trace;
  struct hr__arrivals *arrivals = &stats->arrivals;
  double *gaps = malloc(((size_t)trace->n_jobs + 1) * sizeof *gaps);
  if (!gaps) return false;
  for (uint32_t job = 0; job < trace->n_jobs; job++) {
    bool as_before = job > 0 && trace->submit_us[job] == trace->submit_us[job - 1];
    bool as_after = job + 1 < trace->n_jobs && trace->submit_us[job] == trace->submit_us[job + 1];
    arrivals->together += as_before || as_after;
    if (job > 0) gaps[job - 1] = hr__seconds(trace->submit_us[job] - trace->submit_us[job - 1]);
  }
  size_t count = trace->n_jobs ? trace->n_jobs - 1 : 0;
  arrivals->gap_s = spread_of(gaps, count);
  double sum = arrivals->gap_s.sd + arrivals->gap_s.mean;
  arrivals->burstiness = sum > 0 ? (arrivals->gap_s.sd - arrivals->gap_s.mean) / sum : UNKNOWN;
  bool done = hr__fit_all(gaps, count, stats->gap_fits);
  free(gaps);
  return done;
}

/* ---- Counts by hour -------------------------------------------------------------------------------- */

static double mean_of(const double *counts, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += counts[i];
  return sum / (double)n;
}

static double squares_about(const double *values, size_t n, double mean) {
  double squares = 0;
  for (size_t i = 0; i < n; i++) squares += (values[i] - mean) * (values[i] - mean);
  return squares;
}

/* The index of dispersion: variance / mean. */
static double dispersion_of(const double *counts, size_t n) {
  double mean = n ? mean_of(counts, n) : 0;
  if (n < 2 || mean <= 0) return UNKNOWN;
  return squares_about(counts, n, mean) / (double)(n - 1) / mean;
}

/* Returns the correlation of counts with the counts `lag` entries later. Returns NaN if there are fewer than 2 * lag
   counts, or if all counts are equal. */
static double autocorrelation(const double *counts, size_t n, size_t lag) {
  if (n < 2 * lag) return UNKNOWN;
  double mean = mean_of(counts, n), squares = squares_about(counts, n, mean), products = 0;
  for (size_t i = 0; i + lag < n; i++) products += (counts[i] - mean) * (counts[i + lag] - mean);
  return squares > 0 ? products / squares : UNKNOWN;
}

static void fill_by_hour(struct hr__arrivals *arrivals, double *counts) {
  size_t hours = arrivals->hours, days = hours / HOURS_A_DAY;
  arrivals->dispersion = dispersion_of(counts, hours);
  arrivals->after_a_day = autocorrelation(counts, hours, HOURS_A_DAY);
  arrivals->after_a_week = autocorrelation(counts, hours, HOURS_A_WEEK);
  arrivals->per_hour = hours ? mean_of(counts, hours) : UNKNOWN;
  for (size_t i = 0; i < hours; i++) arrivals->busiest = fmax(arrivals->busiest, counts[i]);
  for (size_t day = 0; day < days; day++) {
    double sum = 0;
    for (size_t i = 0; i < HOURS_A_DAY; i++) sum += counts[day * HOURS_A_DAY + i];
    counts[day] = sum;
  }
  arrivals->dispersion_by_day = dispersion_of(counts, days);
}

/* Counts submits by whole hours from the first submit, for at most MAX_HOURS hours. The last incomplete hour is
   ignored. Returns false if out of memory. */
static bool count_by_hour(struct hr_trace_stats *stats) {
  const struct hr_trace *trace = stats->trace;
  struct hr__arrivals *arrivals = &stats->arrivals;
  int64_t first_us = trace->n_jobs ? trace->submit_us[0] : 0;
  int64_t hours = trace->n_jobs ? (trace->submit_us[trace->n_jobs - 1] - first_us) / HR__HOUR_US : 0;
  arrivals->hours = (uint64_t)(hours < MAX_HOURS ? hours : MAX_HOURS);
  double *counts = calloc(arrivals->hours + 1, sizeof *counts);
  if (!counts) return false;
  for (uint32_t job = 0; job < trace->n_jobs; job++) {
    uint64_t hour = (uint64_t)((trace->submit_us[job] - first_us) / HR__HOUR_US);
    if (hour < arrivals->hours) counts[hour]++;
  }
  fill_by_hour(arrivals, counts);
  free(counts);
  return true;
}

static bool add_arrivals(struct hr_trace_stats *stats) {
  count_by_clock(stats->trace, &stats->arrivals);
  return fill_gaps(stats) && count_by_hour(stats);
}

/* The next three sections compute the distribution of jobs and GPU time over users and tenants, and the correlation
   of run time with size and user. */

const char *hr__concentrated_name(enum hr__concentrated what) {
  static const char *const names[HR__N_CONCENTRATED] = {"jobs_by_user", "gpu_hours_by_user", "gpu_hours_by_tenant",
                                                        "gpu_hours_by_job"};
  return names[what];
}

/* ---- Concentration --------------------------------------------------------------------------------- */

/* Returns the concentration of `count` amounts, which are sorted in place. Parties with an amount of 0 are ignored. */
static struct hr__concentration concentration_of(double *amounts, size_t count) {
  gsl_sort(amounts, 1, count);
  while (count && amounts[0] <= 0) {
    amounts++;
    count--;
  }
  struct hr__concentration result = {.parties = count};
  double sum = 0, weighted = 0, from_top = 0;
  for (size_t i = 0; i < count; i++) {
    sum += amounts[i];
    weighted += (double)(i + 1) * amounts[i];
  }
  if (count == 0) return result;
  double n = (double)count;
  size_t tenth = count >= 10 ? count / 10 : 1;
  result.gini = fmax(0, 2 * weighted / (n * sum) - (n + 1) / n);
  result.first = amounts[count - 1] / sum;
  for (size_t i = 0; i < count; i++) {
    bool had_half = from_top >= sum / 2;
    from_top += amounts[count - 1 - i];
    if (i + 1 == tenth) result.tenth = from_top / sum;
    if (!had_half) result.for_half = (double)(i + 1) / n;
  }
  return result;
}

/* Computes the concentration of jobs or GPU time over users or tenants. Jobs with an unknown user or tenant are
   ignored. Returns false if out of memory. */
static bool concentrate_by(struct hr_trace_stats *stats, enum hr__concentrated what, enum hr__stats_by by, bool jobs) {
  const struct hr__stats_rows *rows = &stats->by[by];
  double *amounts = malloc((rows->count + 1) * sizeof *amounts);
  size_t count = 0;
  if (!amounts) return false;
  for (size_t i = 0; i < rows->count; i++)
    if (rows->at[i].name[0]) amounts[count++] = jobs ? (double)rows->at[i].jobs : rows->at[i].gpu_hours;
  stats->concentration[what] = concentration_of(amounts, count);
  free(amounts);
  return true;
}

static bool concentrate_jobs(struct hr_trace_stats *stats) {
  const struct hr_trace *trace = stats->trace;
  double *amounts = malloc(((size_t)trace->n_jobs + 1) * sizeof *amounts);
  if (!amounts) return false;
  for (uint32_t job = 0; job < trace->n_jobs; job++) amounts[job] = gpu_hours_of(gpu_time_of(trace, job));
  stats->concentration[HR__GPU_TIME_OF_JOBS] = concentration_of(amounts, trace->n_jobs);
  free(amounts);
  return true;
}

static bool add_concentration(struct hr_trace_stats *stats) {
  return concentrate_by(stats, HR__JOBS_OF_USERS, HR__STATS_BY_USER, true) &&
         concentrate_by(stats, HR__GPU_TIME_OF_USERS, HR__STATS_BY_USER, false) &&
         concentrate_by(stats, HR__GPU_TIME_OF_TENANTS, HR__STATS_BY_TENANT, false) && concentrate_jobs(stats);
}

/* ---- Size and run time ----------------------------------------------------------------------------- */

/* Replaces values by their ranks, from 1. Equal values get the mean of their ranks. `order` must have room for
   `count` entries. */
static void rank(double *values, size_t *order, size_t count) {
  gsl_sort_index(order, values, 1, count);
  for (size_t i = 0, end; i < count; i = end) {
    double value = values[order[i]];
    for (end = i + 1; end < count && values[order[end]] <= value; end++) continue;
    for (size_t k = i; k < end; k++) values[order[k]] = (double)(i + 1 + end) / 2;
  }
}

static double correlation(const double *first, const double *other, size_t count) {
  /* The mean of the ranks 1 .. count. Equal values do not change it. */
  double mean = ((double)count + 1) / 2, a = 0, b = 0, both = 0;
  for (size_t i = 0; i < count; i++) {
    a += (first[i] - mean) * (first[i] - mean);
    b += (other[i] - mean) * (other[i] - mean);
    both += (first[i] - mean) * (other[i] - mean);
  }
  return a > 0 && b > 0 ? both / sqrt(a * b) : UNKNOWN;
}

static bool correlate_sizes(struct hr_trace_stats *stats) {
  const struct hr_trace *trace = stats->trace;
  size_t count = trace->n_jobs;
  double *gpus = malloc((count + 1) * sizeof *gpus), *run = malloc((count + 1) * sizeof *run);
  size_t *order = malloc((count + 1) * sizeof *order);
  bool done = gpus && run && order;
  for (uint32_t job = 0; done && job < count; job++) {
    gpus[job] = (double)hr_trace_gpus_milli(trace, (hr_job){job});
    run[job] = (double)trace->work_us[job];
  }
  if (done) {
    rank(gpus, order, count);
    rank(run, order, count);
    stats->size_and_run_time = correlation(gpus, run, count);
  }
  free(gpus);
  free(run);
  free(order);
  return done;
}

/* ---- User and run time ----------------------------------------------------------------------------- */

struct user_run_times {
  uint64_t jobs;
  double sum;
};

/* Returns 1 - mean square within users / total mean square (Kelley's epsilon squared). If run times do not depend on
   users, the result is about 0, no matter how many users there are. */
static double explained(const struct hr_trace *trace, const struct user_run_times *users, uint64_t jobs, double mean) {
  double all = 0, within = 0;
  uint64_t parties = 0;
  for (uint32_t user = 0; user < trace->users.count; user++) parties += users[user].jobs > 0;
  for (uint32_t job = 0; job < trace->n_jobs; job++) {
    uint32_t user = trace->user[job];
    if (user == HR_NONE || trace->work_us[job] <= 0) continue;
    double value = log((double)trace->work_us[job]), own = users[user].sum / (double)users[user].jobs;
    all += (value - mean) * (value - mean);
    within += (value - own) * (value - own);
  }
  if (parties < 2 || jobs <= parties || all <= 0) return UNKNOWN;
  return 1 - within / (double)(jobs - parties) / (all / (double)(jobs - 1));
}

static bool explain_by_user(struct hr_trace_stats *stats) {
  const struct hr_trace *trace = stats->trace;
  stats->user_in_run_time = UNKNOWN;
  if (!trace->user) return true;
  struct user_run_times *users = calloc((size_t)trace->users.count + 1, sizeof *users);
  uint64_t jobs = 0;
  double sum = 0;
  if (!users) return false;
  for (uint32_t job = 0; job < trace->n_jobs; job++) {
    if (trace->user[job] == HR_NONE || trace->work_us[job] <= 0) continue;
    double value = log((double)trace->work_us[job]);
    users[trace->user[job]].jobs++;
    users[trace->user[job]].sum += value;
    sum += value;
    jobs++;
  }
  if (jobs) stats->user_in_run_time = explained(trace, users, jobs, sum / (double)jobs);
  free(users);
  return true;
}

/* ---- Groups ---------------------------------------------------------------------------------------- */

/* Groups of jobs. A counting sort places the run times of each group next to each other, so that the distribution of
   each group is computed in place. */
struct grouping {
  const struct hr_trace *trace;
  enum hr__stats_by by;
  uint32_t n_groups;
};

const char *hr__stats_by_name(enum hr__stats_by by) {
  static const char *const names[HR__N_STATS_BY] = {"size", "class", "tenant", "user", "gpu_type", "outcome"};
  return names[by];
}

static const uint32_t *names_column(const struct hr_trace *trace, enum hr__stats_by by) {
  return by == HR__STATS_BY_TENANT ? trace->tenant : by == HR__STATS_BY_USER ? trace->user : trace->gpu_types;
}

static const struct hr_names *names_of(const struct hr_trace *trace, enum hr__stats_by by) {
  return by == HR__STATS_BY_TENANT ? &trace->tenants : by == HR__STATS_BY_USER ? &trace->users : &trace->gpu_type_lists;
}

/* Returns the number of groups; 0 if the trace does not have the field. For tenants, users and GPU types, the last
   group contains the jobs in which the field is unknown. */
static uint32_t count_groups(const struct hr_trace *trace, enum hr__stats_by by) {
  switch (by) {
  case HR__STATS_BY_SIZE:
    return HR__SIZES;
  case HR__STATS_BY_CLASS:
    return trace->class_ ? HR_N_CLASSES : 0;
  case HR__STATS_BY_OUTCOME:
    return trace->outcome ? HR_N_OUTCOMES : 0;
  default:
    return names_column(trace, by) ? names_of(trace, by)->count + 1 : 0;
  }
}

static uint32_t group_of(const struct grouping *grouping, uint32_t job) {
  const struct hr_trace *trace = grouping->trace;
  switch (grouping->by) {
  case HR__STATS_BY_SIZE:
    return hr__size_of(trace->gpus[job]);
  case HR__STATS_BY_CLASS:
    return trace->class_[job];
  case HR__STATS_BY_OUTCOME:
    return trace->outcome[job];
  default: {
    uint32_t name = names_column(trace, grouping->by)[job];
    return name == HR_NONE ? grouping->n_groups - 1 : name;
  }
  }
}

static const char *group_name(const struct grouping *grouping, uint32_t group) {
  switch (grouping->by) {
  case HR__STATS_BY_SIZE:
    return hr__size_name(group);
  case HR__STATS_BY_CLASS:
    return hr_job_class_name((enum hr_job_class)group);
  case HR__STATS_BY_OUTCOME:
    return hr_outcome_name((enum hr_outcome)group);
  default:
    return group < grouping->n_groups - 1 ? names_of(grouping->trace, grouping->by)->text[group] : "";
  }
}

/* ---- Two passes ------------------------------------------------------------------------------------ */

struct tally {
  uint64_t jobs, failed, cancelled;
  hr_amount gpu_time;
  size_t next; /* index of the next run time of this group in the list of all run times, which is ordered by group */
};

static void count_jobs(const struct grouping *grouping, struct tally *tallies) {
  const struct hr_trace *trace = grouping->trace;
  for (uint32_t job = 0; job < trace->n_jobs; job++) {
    struct tally *tally = &tallies[group_of(grouping, job)];
    tally->jobs++;
    tally->gpu_time += gpu_time_of(trace, job);
    if (!trace->outcome) continue;
    tally->failed += trace->outcome[job] == HR_OUTCOME_FAILED;
    tally->cancelled += trace->outcome[job] == HR_OUTCOME_CANCELLED;
  }
  size_t next = 0;
  for (uint32_t group = 0; group < grouping->n_groups; group++) {
    tallies[group].next = next;
    next += tallies[group].jobs;
  }
}

static void place_run_times(const struct grouping *grouping, struct tally *tallies, double *run_s) {
  const struct hr_trace *trace = grouping->trace;
  for (uint32_t job = 0; job < trace->n_jobs; job++)
    run_s[tallies[group_of(grouping, job)].next++] = hr__seconds(trace->work_us[job]);
}

/* ---- Rows ------------------------------------------------------------------------------------------ */

static bool fill_row(struct hr__stats_row *row, const struct grouping *grouping, uint32_t group,
                     const struct tally *tally, double *run_s) {
  *row = (struct hr__stats_row){.name = strdup(group_name(grouping, group)),
                                .jobs = tally->jobs,
                                .failed = tally->failed,
                                .cancelled = tally->cancelled,
                                .gpu_hours = gpu_hours_of(tally->gpu_time)};
  row->run_s = spread_of(run_s, tally->jobs);
  if (!row->name) return false;
  if (grouping->by != HR__STATS_BY_SIZE) return true;
  row->curve_s = malloc(HR__CURVE_POINTS * sizeof *row->curve_s);
  if (!row->curve_s) return false;
  curve_of(run_s, tally->jobs, row->curve_s);
  return hr__fit_all(run_s, tally->jobs, row->fits);
}

/* Order of groups: by GPU hours, highest first; then by number of jobs, highest first; then by name. */
static int compare_rows(const void *a, const void *b) {
  const struct hr__stats_row *first = a, *other = b;
  if (first->gpu_hours > other->gpu_hours) return -1;
  if (first->gpu_hours < other->gpu_hours) return 1;
  if (first->jobs != other->jobs) return first->jobs > other->jobs ? -1 : 1;
  return strcmp(first->name, other->name);
}

static bool fill_rows(const struct grouping *grouping, struct tally *tallies, double *run_s,
                      struct hr__stats_rows *rows) {
  rows->at = calloc((size_t)grouping->n_groups + 1, sizeof *rows->at);
  if (!rows->at) return false;
  count_jobs(grouping, tallies);
  place_run_times(grouping, tallies, run_s);
  for (uint32_t group = 0; group < grouping->n_groups; group++) {
    const struct tally *tally = &tallies[group];
    if (tally->jobs && !fill_row(&rows->at[rows->count++], grouping, group, tally, run_s + tally->next - tally->jobs))
      return false;
  }
  bool in_order = grouping->by == HR__STATS_BY_SIZE || grouping->by == HR__STATS_BY_CLASS;
  if (!in_order) qsort(rows->at, rows->count, sizeof *rows->at, compare_rows);
  return true;
}

/* Computes the statistics of all groups. Returns false if out of memory. */
static bool group_jobs(struct hr_trace_stats *stats) {
  double *run_s = malloc(((size_t)stats->trace->n_jobs + 1) * sizeof *run_s);
  bool done = run_s != NULL;
  for (unsigned by = 0; by < HR__N_STATS_BY && done; by++) {
    struct grouping grouping = {stats->trace, (enum hr__stats_by)by, count_groups(stats->trace, (enum hr__stats_by)by)};
    if (grouping.n_groups == 0) continue;
    struct tally *tallies = calloc(grouping.n_groups, sizeof *tallies);
    done = tallies && fill_rows(&grouping, tallies, run_s, &stats->by[by]);
    free(tallies);
  }
  free(run_s);
  return done;
}

/* ---- Size ------------------------------------------------------------------------------------------ */

struct hr_trace_size hr_trace_size_of(const struct hr_trace *trace) {
  hr__wide gpu_milli_us = 0;
  for (uint32_t job = 0; job < trace->n_jobs; job++) {
    gpu_milli_us += (hr__wide)hr_trace_gpus_milli(trace, (hr_job){job}) * (uint64_t)trace->work_us[job];
    hr__trace_row_done(trace, job);
  }
  return (struct hr_trace_size){.n_jobs = trace->n_jobs,
                                .gpu_hours = (double)gpu_milli_us / 1000 / 3600e6,
                                .span_us =
                                    trace->n_jobs ? trace->submit_us[trace->n_jobs - 1] - trace->submit_us[0] : 0};
}

/* ---- All statistics -------------------------------------------------------------------------------- */

enum hr_status hr_trace_stats_make(const struct hr_trace *trace, struct hr_trace_stats **stats,
                                   struct hr_error *error) {
  struct hr_trace_stats *created = calloc(1, sizeof *created);
  *stats = created;
  if (created) created->trace = trace;
  if (created && fill_values(created) && group_jobs(created) && add_arrivals(created) && add_concentration(created) &&
      correlate_sizes(created) && explain_by_user(created)) {
    fill_sums(created);
    return HR_OK;
  }
  hr_trace_stats_destroy(created);
  *stats = NULL;
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory for its statistics", trace->source);
}

void hr_trace_stats_destroy(struct hr_trace_stats *stats) {
  if (!stats) return;
  for (unsigned by = 0; by < HR__N_STATS_BY; by++) {
    for (size_t i = 0; i < stats->by[by].count; i++) {
      free(stats->by[by].at[i].name);
      free(stats->by[by].at[i].curve_s);
    }
    free(stats->by[by].at);
  }
  free(stats);
}
