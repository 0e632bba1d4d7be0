/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_TOOLS_STATS_H
#define HR_TRACES_TOOLS_STATS_H

/* Results of hr_trace_stats_make(), for the code that prints them (report/tables/trace_stats.c). */

#include "headroom/unstable/trace_tools.h"

/* ---- Distributions, fitted by maximum likelihood (fit.c) ---------------------------------------------- */

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
const char *hr__family_name(enum hr__family family);

/* ---- Statistics (stats.c) ----------------------------------------------------------------------------- */

/* Distribution of values. Quantiles as defined in docs/reference/metrics.md. */
struct hr__spread {
  size_t count; /* 0: all other members are undefined */
  double mean, sd, min, p10, p25, p50, p75, p90, p95, p99, max;
};

/* Quantiles of a curve: at 0 %, 1 %, ... 100 %. */
enum { HR__CURVE_POINTS = 101 };

/* A group of jobs. */
struct hr__stats_row {
  char *name; /* "": jobs without a name */
  uint64_t jobs, failed, cancelled;
  double gpu_hours;
  struct hr__spread run_s;
  /* Run times, only for groups by size: */
  struct hr__distribution_fit fits[HR__N_FAMILIES];
  double *curve_s; /* [HR__CURVE_POINTS]; NULL for other groups */
};

enum hr__stats_by {
  HR__STATS_BY_SIZE,
  HR__STATS_BY_CLASS,
  HR__STATS_BY_TENANT,
  HR__STATS_BY_USER,
  HR__STATS_BY_GPU_TYPE,
  HR__STATS_BY_OUTCOME,
  HR__N_STATS_BY
};
const char *hr__stats_by_name(enum hr__stats_by by); /* "size" */

/* Sizes and classes in natural order, others by GPU hours; empty if the trace lacks the field. */
struct hr__stats_rows {
  struct hr__stats_row *at;
  size_t count;
};

struct hr__arrivals {
  bool has_weekdays;        /* the clock is dates; otherwise days count from time 0 */
  uint64_t by_hour[24];     /* hour of the clock */
  uint64_t by_weekday[7];   /* from Monday */
  struct hr__spread gap_s;  /* between consecutive submits */
  uint64_t together;        /* jobs with the same submit time as another job */
  uint64_t hours;           /* whole hours from the first submit to the last */
  double per_hour, busiest; /* jobs per hour: mean, and maximum over these hours */
  double dispersion; /* variance / mean of jobs per hour: 1 for a Poisson process of constant rate; NaN: unknown */
  double dispersion_by_day;         /* variance / mean of jobs per day; NaN: unknown */
  double after_a_day, after_a_week; /* autocorrelation of jobs per hour; NaN: the trace is too short */
  double
      burstiness; /* (s - m) / (s + m) of gaps with mean m and standard deviation s (Goh and Barabasi, EPL 81, 2008) */
};

/* How unevenly an amount is distributed. */
struct hr__concentration {
  size_t parties;      /* with an amount above 0; 0: unknown */
  double gini;         /* 0: all equal; close to 1: one party has everything */
  double first, tenth; /* shares of the largest party, and of the largest tenth (at least one) */
  double for_half;     /* fraction of parties, largest first, that has half of the total */
};
enum hr__concentrated {
  HR__JOBS_OF_USERS,
  HR__GPU_TIME_OF_USERS,
  HR__GPU_TIME_OF_TENANTS,
  HR__GPU_TIME_OF_JOBS,
  HR__N_CONCENTRATED
};
const char *hr__concentrated_name(enum hr__concentrated what); /* "jobs_by_user" */

struct hr_trace_stats {
  const struct hr_trace *trace;
  double span_s, gpu_hours;
  double curve_s[HR__CURVE_POINTS]; /* run times */
  struct hr__spread run_s, gpus, wait_s,
      limit_ratio; /* wait_s: as recorded; limit_ratio: limit / run time; over jobs that have them */
  struct hr__distribution_fit run_fits[HR__N_FAMILIES], gap_fits[HR__N_FAMILIES];
  struct hr__stats_rows by[HR__N_STATS_BY];
  struct hr__arrivals arrivals;
  struct hr__concentration concentration[HR__N_CONCENTRATED];
  double size_and_run_time; /* Spearman's rank correlation of GPUs and run time; NaN: one of them is constant */
  double user_in_run_time;  /* share of the variance of ln(run time) explained by users (adjusted); NaN: unknown */
};

/* ---- Parts ------------------------------------------------------------------------------------------ */

/* The family with the lowest criterion among those fitted to all values; HR__N_FAMILIES: none. */
enum hr__family hr__best_family(const struct hr__distribution_fit fits[HR__N_FAMILIES]);

#endif
