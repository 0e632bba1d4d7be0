/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_TOOLS_STATS_H
#define HR_TRACES_TOOLS_STATS_H

/* Results of hr_trace_stats_make(), which report/tables/trace_report.c prints, and the fits of distributions. */

#include "headroom/unstable/trace_tools.h"

/* ---- Distributions, fitted by maximum likelihood --------------------------------------------------- */

enum hr__family { HR__EXPONENTIAL, HR__LOG_NORMAL, HR__WEIBULL, HR__PARETO_TAIL, HR__N_FAMILIES };

/* Parameters of a fit. Log-normal: `a` is mu, `b` is sigma. Weibull: `a` is the shape, `b` is the scale.
   Exponential: `b` is the mean. Pareto tail: `a` is alpha, `b` is the minimum, and the density falls with the
   exponent -(alpha + 1). */
struct hr__distribution_fit {
  bool known; /* false: the family was not fitted, for example because of too few values; other members are undefined */
  size_t count; /* number of fitted values: all values above 0; for a tail, the values from `b` on */
  double a, b;
  double log_likelihood;
  /* Akaike information criterion; the criterion of a tail must not be compared with that of other families */
  double aic;
  double ks; /* Kolmogorov-Smirnov distance */
};

/* Fits all families to `sorted`, which must be ascending and without negative values. Zeros are ignored. If fewer than
   two distinct values remain, no fit is known. A tail needs 100 values. It begins in the upper half of the sample and
   has at least 50 values; all values that equal its first value belong to it, even if they are in the lower half.
   Returns false if out of memory. */
bool hr__fit_all(const double *sorted, size_t count, struct hr__distribution_fit fits[HR__N_FAMILIES]);
/* Fits a gamma distribution to ascending values above 0: `a` is the shape, `b` is the scale. The fit is unknown if
   there are fewer than two distinct values. */
void hr__fit_gamma(const double *at, size_t count, struct hr__distribution_fit *fit);
const char *hr__family_name(enum hr__family family);

/* ---- Statistics ------------------------------------------------------------------------------------ */

/* The distribution of values. docs/reference/metrics.md defines the quantiles. */
struct hr__spread {
  size_t count; /* number of values; 0: all other members are undefined */
  double mean, sd, min, p10, p25, p50, p75, p90, p95, p99, max; /* sd: of the sample; 0 for one value */
};

/* A curve consists of the quantiles at 0 %, 1 %, ... 100 %. */
enum { HR__CURVE_POINTS = 101 };

/* The jobs of a group. */
struct hr__stats_row {
  char *name; /* "": jobs without a name */
  uint64_t jobs, failed, cancelled;
  double gpu_hours;
  struct hr__spread run_s;
  /* The fits and the curve of run times are computed only for groups by size. */
  struct hr__distribution_fit fits[HR__N_FAMILIES];
  double *curve_s; /* [HR__CURVE_POINTS]; NULL unless the groups are by size */
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
const char *hr__stats_by_name(enum hr__stats_by by); /* returns a name such as "size" */

/* The groups of jobs by a field, without empty groups. Sizes and classes are in their natural order. Other groups are
   in descending order of GPU hours. The list is empty if the trace does not have the field. */
struct hr__stats_rows {
  struct hr__stats_row *at;
  size_t count;
};

/* Statistics of submit times. */
struct hr__arrivals {
  bool has_weekdays;        /* true: the trace has dates; false: days count from time 0 */
  uint64_t by_hour[24];     /* submits in each hour of the day */
  uint64_t by_weekday[7];   /* submits on each day of the week, from Monday */
  struct hr__spread gap_s;  /* time between consecutive submits */
  uint64_t together;        /* jobs with the same submit time as another job */
  uint64_t hours;           /* whole hours from the first submit to the last, at most 2^24 */
  double per_hour, busiest; /* jobs per hour: mean and maximum of these hours; if `hours` is 0, NaN and 0 */
  double dispersion; /* variance / mean of jobs per hour; 1 for a Poisson process with a constant rate; NaN: unknown */
  double dispersion_by_day; /* variance / mean of jobs per day; NaN: unknown */
  /* autocorrelation of jobs per hour after 24 and after 168 hours; NaN: the trace is too short, or all hours have the
     same number of jobs */
  double after_a_day, after_a_week;
  /* (s - m) / (s + m), where m is the mean and s the standard deviation of gaps (Goh and Barabasi, EPL 81, 2008); NaN:
     all gaps are 0, or the trace has no gap */
  double burstiness;
};

/* The distribution of an amount over parties (users, tenants or jobs). */
struct hr__concentration {
  size_t parties; /* number of parties with an amount above 0; 0: the other members are undefined */
  double gini;    /* Gini coefficient, from 0 (all parties have the same amount) to 1 (one party has everything) */
  /* share of the largest party, and share of the largest tenth of the parties (at least one party) */
  double first, tenth;
  double for_half; /* smallest fraction of the parties that together has at least half of the total */
};
enum hr__concentrated {
  HR__JOBS_OF_USERS,
  HR__GPU_TIME_OF_USERS,
  HR__GPU_TIME_OF_TENANTS,
  HR__GPU_TIME_OF_JOBS,
  HR__N_CONCENTRATED
};
const char *hr__concentrated_name(enum hr__concentrated what); /* returns a name such as "jobs_by_user" */

/* All statistics of a trace. */
struct hr_trace_stats {
  const struct hr_trace *trace;
  double span_s, gpu_hours;
  double curve_s[HR__CURVE_POINTS]; /* quantiles of run times */
  /* wait_s: recorded waits of the jobs with a recorded start. limit_ratio: limit / run time of the jobs for which both
     are known and above 0 */
  struct hr__spread run_s, gpus, wait_s, limit_ratio;
  struct hr__distribution_fit run_fits[HR__N_FAMILIES], gap_fits[HR__N_FAMILIES];
  struct hr__stats_rows by[HR__N_STATS_BY];
  struct hr__arrivals arrivals;
  struct hr__concentration concentration[HR__N_CONCENTRATED];
  /* Spearman's rank correlation of GPUs and run time; NaN: all jobs have equal GPUs or equal run times */
  double size_and_run_time;
  /* share of the variance of ln(run time) that users explain, adjusted for their number; NaN: unknown */
  double user_in_run_time;
};

/* ---- Parts ----------------------------------------------------------------------------------------- */

/* Returns the family with the lowest Akaike information criterion. The Pareto tail is not considered, because it is not
   fitted to all values. Returns HR__N_FAMILIES if no fit is known. */
enum hr__family hr__best_family(const struct hr__distribution_fit fits[HR__N_FAMILIES]);

#endif
