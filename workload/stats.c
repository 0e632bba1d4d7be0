/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The statistics of a trace, put together from their parts. */

#include "workload/stats.h"
#include "headroom/transform.h"
#include "workload/units.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

/* ---- Values ----------------------------------------------------------------------------------------- */

static double quantile(const double *sorted, size_t count, double share) {
  return gsl_stats_quantile_from_sorted_data(sorted, 1, count, share);
}

struct hr__spread hr__spread_of(double *values, size_t count) {
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

void hr__curve_of(const double *sorted, size_t count, double curve[HR__CURVE_POINTS]) {
  for (int i = 0; i < HR__CURVE_POINTS; i++) curve[i] = quantile(sorted, count, i / (double)(HR__CURVE_POINTS - 1));
}

hr_amount hr__gpu_time_of(const struct hr_trace *trace, uint32_t job) {
  return (hr_amount)hr_trace_gpus_milli(trace, (hr_job){job}) * trace->work_us[job];
}

double hr__gpu_hours_of(hr_amount gpu_time) {
  return (double)gpu_time / (1000.0 * 3600 * (double)HR_SECOND_US);
}

enum hr__family hr__best_family(const struct hr__fit fits[HR__N_FAMILIES]) {
  enum hr__family best = HR__N_FAMILIES;
  for (unsigned i = 0; i < HR__PARETO_TAIL; i++)
    if (fits[i].known && (best == HR__N_FAMILIES || fits[i].aic < fits[best].aic)) best = (enum hr__family)i;
  return best;
}

/* ---- Of all jobs ------------------------------------------------------------------------------------ */

static size_t take_run_times(const struct hr_trace *trace, double *values) {
  for (uint32_t job = 0; job < trace->n_jobs; job++) values[job] = hr__seconds(trace->work_us[job]);
  return trace->n_jobs;
}

static size_t take_gpus(const struct hr_trace *trace, double *values) {
  for (uint32_t job = 0; job < trace->n_jobs; job++)
    values[job] = (double)hr_trace_gpus_milli(trace, (hr_job){job}) / 1000;
  return trace->n_jobs;
}

static size_t take_recorded_waits(const struct hr_trace *trace, double *values) {
  size_t count = 0;
  for (uint32_t job = 0; trace->recorded_start_us && job < trace->n_jobs; job++)
    if (trace->recorded_start_us[job] != HR_UNKNOWN_US)
      values[count++] = hr__seconds(trace->recorded_start_us[job] - trace->submit_us[job]);
  return count;
}

static size_t take_limits(const struct hr_trace *trace, double *values) {
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
  stats->gpus = hr__spread_of(values, take_gpus(trace, values));
  stats->wait_s = hr__spread_of(values, take_recorded_waits(trace, values));
  stats->limit_ratio = hr__spread_of(values, take_limits(trace, values));
  stats->run_s = hr__spread_of(values, take_run_times(trace, values));
  if (trace->n_jobs) hr__curve_of(values, trace->n_jobs, stats->curve_s);
  bool done = hr__fit_all(values, trace->n_jobs, stats->run_fits);
  free(values);
  return done;
}

static void fill_sums(struct hr_trace_stats *stats) {
  struct hr_trace_size size = hr_trace_size_of(stats->trace);
  stats->gpu_hours = size.gpu_hours;
  stats->span_s = hr__seconds(size.span_us);
}

/* ---- The whole -------------------------------------------------------------------------------------- */

enum hr_status hr_trace_stats_make(const struct hr_trace *trace, struct hr_trace_stats **stats,
                                   struct hr_error *error) {
  struct hr_trace_stats *made = calloc(1, sizeof *made);
  *stats = made;
  if (made) made->trace = trace;
  if (made && fill_values(made) && hr__stats_group(made) && hr__stats_arrivals(made) && hr__stats_concentration(made) &&
      hr__stats_correlation(made)) {
    fill_sums(made);
    return HR_OK;
  }
  hr_trace_stats_destroy(made);
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
