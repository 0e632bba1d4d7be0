/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How unevenly jobs and GPU time are shared, and how run times go with sizes and users. */

#include "workload/stats.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>

#define UNKNOWN ((double)NAN)

const char *hr__concentrated_name(enum hr__concentrated what) {
  static const char *const names[HR__N_CONCENTRATED] = {"jobs_by_user", "gpu_hours_by_user", "gpu_hours_by_tenant",
                                                        "gpu_hours_by_job"};
  return names[what];
}

/* ---- Concentration ---------------------------------------------------------------------------------- */

/* Of `count` amounts, which are sorted; those of nothing are no parties. */
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

/* Of jobs that have no such name nobody knows whose they are. */
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
  for (uint32_t job = 0; job < trace->n_jobs; job++) amounts[job] = hr__gpu_hours_of(hr__gpu_time_of(trace, job));
  stats->concentration[HR__GPU_TIME_OF_JOBS] = concentration_of(amounts, trace->n_jobs);
  free(amounts);
  return true;
}

bool hr__stats_concentration(struct hr_trace_stats *stats) {
  return concentrate_by(stats, HR__JOBS_OF_USERS, HR__STATS_BY_USER, true) &&
         concentrate_by(stats, HR__GPU_TIME_OF_USERS, HR__STATS_BY_USER, false) &&
         concentrate_by(stats, HR__GPU_TIME_OF_TENANTS, HR__STATS_BY_TENANT, false) && concentrate_jobs(stats);
}

/* ---- Size and run time ------------------------------------------------------------------------------ */

/* Ranks from 1, equal values having the mean of theirs, in the place of the values. `order`: of as many. */
static void rank(double *values, size_t *order, size_t count) {
  gsl_sort_index(order, values, 1, count);
  for (size_t i = 0, end; i < count; i = end) {
    double value = values[order[i]];
    for (end = i + 1; end < count && values[order[end]] <= value; end++) continue;
    for (size_t k = i; k < end; k++) values[order[k]] = (double)(i + 1 + end) / 2;
  }
}

static double correlation(const double *first, const double *other, size_t count) {
  double mean = ((double)count + 1) / 2, a = 0, b = 0, both = 0; /* of any ranks */
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

/* ---- User and run time ------------------------------------------------------------------------------ */

struct of_user {
  uint64_t jobs;
  double sum;
};

/* 1 - the mean square within users / the mean square of all (Kelley's epsilon squared): about 0 where users do not
   matter, however many they are. */
static double explained(const struct hr_trace *trace, const struct of_user *users, uint64_t jobs, double mean) {
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
  struct of_user *users = calloc((size_t)trace->users.count + 1, sizeof *users);
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

bool hr__stats_correlation(struct hr_trace_stats *stats) {
  return correlate_sizes(stats) && explain_by_user(stats);
}
