/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_TOOLS_STATS_H
#define HR_TRACES_TOOLS_STATS_H

/* The statistics of a trace, for those parts that compute them and for those that tell of them. */

#include "headroom/unstable/trace_tools.h"
#include "traces/tools/fit.h"

/* How values are spread. Quantiles are those of docs/reference/metrics.md. */
struct hr__spread {
  size_t count; /* 0: nothing else is known */
  double mean, sd, min, p10, p25, p50, p75, p90, p95, p99, max;
};

/* Quantiles for a curve: at 0 %, 1 %, ... 100 %. */
enum { HR__CURVE_POINTS = 101 };

/* Jobs that have something in common. */
struct hr__stats_row {
  char *name; /* "": jobs that have none */
  uint64_t jobs, failed, cancelled;
  double gpu_hours;
  struct hr__spread run_s;
  /* Of run times, by size alone: */
  struct hr__distribution_fit fits[HR__N_FAMILIES];
  double *curve_s; /* [HR__CURVE_POINTS], NULL elsewhere */
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

/* Sizes and classes in their order, others by GPU hours; none where the trace does not tell. */
struct hr__stats_rows {
  struct hr__stats_row *at;
  size_t count;
};

struct hr__arrivals {
  bool has_weekdays;        /* the clock is dates; else days are counted from the clock's zero */
  uint64_t by_hour[24];     /* of the clock */
  uint64_t by_weekday[7];   /* from Monday */
  struct hr__spread gap_s;  /* between one submit and the next */
  uint64_t together;        /* jobs of which another has the same instant */
  uint64_t hours;           /* whole hours from the first submit to the last */
  double per_hour, busiest; /* jobs: on average, and in the busiest of these hours */
  double dispersion;        /* variance / mean of jobs by hour: 1 of a Poisson process of one rate. NaN: unknown */
  double dispersion_by_day; /* likewise by day */
  double after_a_day, after_a_week; /* autocorrelation of jobs by hour; NaN: the trace is too short */
  double burstiness; /* (s - m) / (s + m) of gaps of mean m and deviation s (Goh and Barabasi, EPL 81, 2008) */
};

/* How unevenly something is shared. */
struct hr__concentration {
  size_t parties;      /* that have any; 0: not known */
  double gini;         /* 0: all alike; towards 1: one has all */
  double first, tenth; /* shares of the largest one, and of the largest tenth (at least one) */
  double for_half;     /* the share of the parties, largest first, that has half of all */
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
  double curve_s[HR__CURVE_POINTS];                   /* of run times */
  struct hr__spread run_s, gpus, wait_s, limit_ratio; /* wait: as recorded; limit / run time; of those that tell */
  struct hr__distribution_fit run_fits[HR__N_FAMILIES], gap_fits[HR__N_FAMILIES];
  struct hr__stats_rows by[HR__N_STATS_BY];
  struct hr__arrivals arrivals;
  struct hr__concentration concentration[HR__N_CONCENTRATED];
  double size_and_run_time; /* Spearman's rank correlation of GPUs and run time; NaN: one of them does not vary */
  double user_in_run_time;  /* the share of the variance of ln(run time) that users explain (adjusted); NaN: unknown */
};

/* ---- Parts ------------------------------------------------------------------------------------------ */

/* The family whose criterion is least, of those that are of all values; HR__N_FAMILIES: none is known. */
enum hr__family hr__best_family(const struct hr__distribution_fit fits[HR__N_FAMILIES]);

#endif
