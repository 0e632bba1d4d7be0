/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fits a workload model to a trace. Jobs are assigned to sizes, which are ranges of GPU counts. For each size, the
 * model contains the quantiles of run times, the share of their variance that is due to users, and the frequencies of
 * outcomes and requests. A week begins on Monday at midnight if the trace has dates; otherwise it begins at a
 * multiple of 168 hours on the clock of the trace.
 *
 * Run times are compared by normal scores. A probability p belongs to each run time: the share of jobs of the same
 * size that have a shorter run time, counting equal run times as half. The normal score is the quantile of the
 * standard normal distribution at p.
 *
 * Invariant: after fit_sizes(), size[job] is an index in model->sizes, and every size has a job. After fit_runs(),
 * p[job] is the probability p that belongs to the run time of the job.
 */

#include "base/text.h"
#include "headroom/unstable/trace_tools.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  MIN_JOBS_OF_COUNT = 500, /* a GPU count with at least this number of jobs is a size of its own */
  /* minimum number of jobs in a size; smaller sizes are merged, so that a quantile is not the run time of a single
     job */
  MIN_JOBS_OF_SIZE = 20,
  MIN_JOBS_OF_REQUEST = 3,
  /* minimum number of pairs, each of two consecutive jobs of one submitter; with fewer pairs, the probability of a
     repeated request is not estimated but 0 */
  MIN_REPEATS = 50
};
enum { WEEK_HOURS = 168 };
static const int64_t hour_us = 3600 * HR_SECOND_US, day_us = 86400 * HR_SECOND_US, week_us = 7 * 86400 * HR_SECOND_US;

enum { REQUEST_KEYS = 8 };
struct value {
  double value;
  uint32_t job;
};

struct requested {
  /* size, GPUs, tasks, thousandths of a GPU per task, thousandths of a CPU, memory in MiB, GPU type, class */
  uint64_t key[REQUEST_KEYS];
  uint32_t job;
};

struct request_tally {
  const struct requested *first;
  uint32_t jobs;
};

/* The number of jobs of a submitter in a size, and the sum of their normal scores. */
struct group {
  double jobs, sum;
};

struct fit {
  const struct hr_trace *trace;
  struct hr_workload_model *model;
  /* column of the submitter: users if the trace has users, otherwise tenants; NULL: unknown */
  const uint32_t *submitter;
  uint32_t n_submitters; /* at least 1 */
  uint8_t *size;         /* [n_jobs] index of the size of each job */
  double *p;             /* [n_jobs] probability that belongs to the run time of each job */
  /* Work arrays with n_jobs or n_submitters entries. */
  struct value *values;
  double *numbers;
  struct requested *requests;
  struct request_tally *tallies;
  uint32_t *request, *last;
  struct group *groups;
};

/* Order of values. Equal values are ordered by job, so that the order is the same on all machines. */
static int by_value(const void *a, const void *b) {
  const struct value *first = a, *second = b;
  if (first->value < second->value || first->value > second->value) return first->value < second->value ? -1 : 1;
  return (first->job > second->job) - (first->job < second->job);
}

static uint32_t submitter_of(const struct fit *fit, uint32_t job) {
  return fit->submitter ? fit->submitter[job] : 0;
}

/* ---- Sizes ------------------------------------------------------------------------------------------ */

/* Returns true if two GPU counts are in the same range between powers of two. The last range contains all counts
   above 64. */
static bool same_range(uint32_t first, uint32_t second) {
  for (uint32_t end = 0; end <= 64; end = end ? 2 * end : 1)
    if ((first <= end) != (second <= end)) return false;
  return true;
}

/* Assigns each job to a size. Sizes are ranges of GPU counts between powers of two. A GPU count with many jobs is a
   size of its own, because jobs with, for example, 24 GPUs differ from jobs with 32 GPUs. A size with too few jobs
   is extended by the next GPU counts. If the last size has too few jobs, it is merged with the previous one. */
static void fit_sizes(struct fit *fit) {
  /* begin: index in fit->values at which the current size begins */
  uint32_t n_jobs = fit->trace->n_jobs, n_sizes = 0, begin = 0;
  bool last_own = false;
  for (uint32_t job = 0; job < n_jobs; job++) fit->values[job] = (struct value){fit->trace->gpus[job], job};
  qsort(fit->values, n_jobs, sizeof *fit->values, by_value);
  for (uint32_t first = 0, end = 0; first < n_jobs; first = end) {
    while (end < n_jobs && fit->values[end].value <= fit->values[first].value) end++;
    bool own = end - first >= MIN_JOBS_OF_COUNT;
    bool other = first && (own || last_own ||
                           !same_range((uint32_t)fit->values[first - 1].value, (uint32_t)fit->values[first].value));
    if (n_sizes == 0 || (other && first - begin >= MIN_JOBS_OF_SIZE && n_sizes < HR_WORKLOAD_MODEL_MAX_SIZES)) {
      n_sizes++;
      begin = first;
    }
    for (uint32_t i = first; i < end; i++) fit->size[fit->values[i].job] = (uint8_t)(n_sizes - 1);
    last_own = own;
  }
  bool joins = n_sizes > 1 && n_jobs - begin < MIN_JOBS_OF_SIZE;
  for (uint32_t i = begin; i < n_jobs && joins; i++) fit->size[fit->values[i].job]--;
  fit->model->n_sizes = n_sizes - joins;
  for (uint32_t job = 0; job < n_jobs; job++) fit->model->sizes[fit->size[job]].share++;
  for (uint32_t i = 0; i < fit->model->n_sizes; i++) fit->model->sizes[i].share /= n_jobs;
}

/* ---- Run times -------------------------------------------------------------------------------------- */

/* Returns the share of the variance of normal scores that is between submitters: a one-way random effects model with
   groups of unequal sizes (Searle, Linear Models, 1971, ch. 10). Returns 0 if there are fewer than three submitters. */
static double share_between(const struct fit *fit, uint32_t n) {
  double sum = 0, squares = 0, weighted = 0, counts = 0, n_known = 0, n_groups = 0;
  struct group *groups = fit->groups;
  memset(groups, 0, fit->n_submitters * sizeof *groups);
  for (uint32_t i = 0; i < n; i++) {
    uint32_t job = fit->values[i].job, submitter = submitter_of(fit, job);
    if (submitter == HR_NONE) continue;
    double z = gsl_cdf_ugaussian_Pinv(fit->p[job]);
    groups[submitter].jobs++;
    groups[submitter].sum += z;
    squares += z * z;
  }
  for (uint32_t i = 0; i < fit->n_submitters; i++) {
    if (!(groups[i].jobs > 0)) continue;
    n_groups++;
    n_known += groups[i].jobs;
    sum += groups[i].sum;
    weighted += groups[i].sum * groups[i].sum / groups[i].jobs;
    counts += groups[i].jobs * groups[i].jobs;
  }
  if (n_groups < 3 || n_known <= n_groups) return 0;
  double within = fmax(0, squares - weighted) / (n_known - n_groups);
  double between = fmax(0, weighted - sum * sum / n_known) / (n_groups - 1);
  double typical = (n_known - counts / n_known) / (n_groups - 1);
  double component = typical > 0 ? fmax(0, (between - within) / typical) : 0;
  return component + within > 0 ? fmin(0.95, component / (component + within)) : 0;
}

static void fit_runs(struct fit *fit, uint32_t size) {
  struct hr_workload_model_size *to = &fit->model->sizes[size];
  uint32_t n = 0;
  for (uint32_t job = 0; job < fit->trace->n_jobs; job++)
    if (fit->size[job] == size)
      fit->values[n++] = (struct value){log(fmax(1e-3, (double)fit->trace->work_us[job] / 1e6)), job};
  qsort(fit->values, n, sizeof *fit->values, by_value);
  for (uint32_t first = 0, end = 0; first < n; first = end) {
    while (end < n && fit->values[end].value <= fit->values[first].value) end++;
    for (uint32_t i = first; i < end; i++) fit->p[fit->values[i].job] = ((double)first + end) / 2 / n;
  }
  for (uint32_t i = 0; i < n; i++) fit->numbers[i] = fit->values[i].value;
  /* run times are rounded to microseconds, so that equal run times stay equal */
  for (uint32_t k = 0; k < HR_WORKLOAD_MODEL_RUN_KNOTS; k++) {
    double run_s = exp(gsl_stats_quantile_from_sorted_data(fit->numbers, 1, n, hr_workload_model_run_p[k]));
    to->run_s[k] = fmin((double)HR_MAX_INPUT_US / HR_SECOND_US, round(1e6 * run_s) / 1e6);
  }
  to->user_share = share_between(fit, n);
}

static void fit_outcomes(struct fit *fit) {
  double jobs[HR_WORKLOAD_MODEL_MAX_SIZES][HR_WORKLOAD_MODEL_STRATA] = {{0}};
  for (uint32_t job = 0; job < fit->trace->n_jobs; job++)
    jobs[fit->size[job]][hr_workload_model_stratum(fit->p[job])]++;
  for (uint32_t job = 0; job < fit->trace->n_jobs && fit->trace->outcome; job++) {
    struct hr_workload_model_size *size = &fit->model->sizes[fit->size[job]];
    double *const of[HR_N_OUTCOMES] = {NULL, size->completed, size->failed, size->cancelled};
    uint32_t outcome = fit->trace->outcome[job], stratum = hr_workload_model_stratum(fit->p[job]);
    if (of[outcome]) of[outcome][stratum] += 1 / jobs[fit->size[job]][stratum];
  }
}

static void fit_limits(struct fit *fit) {
  const struct hr_trace *trace = fit->trace;
  for (uint32_t stratum = 0; stratum < HR_WORKLOAD_MODEL_STRATA && trace->limit_us; stratum++) {
    uint32_t n = 0;
    for (uint32_t job = 0; job < trace->n_jobs; job++)
      if (trace->limit_us[job] >= 0 && hr_workload_model_stratum(fit->p[job]) == stratum)
        fit->numbers[n++] = fmin(1e9, (double)trace->limit_us[job] / fmax(1000, (double)trace->work_us[job]));
    gsl_sort(fit->numbers, 1, n);
    for (uint32_t k = 0; k < HR_WORKLOAD_MODEL_LIMIT_KNOTS; k++)
      fit->model->limit_ratios[stratum * HR_WORKLOAD_MODEL_LIMIT_KNOTS + k] =
          n ? gsl_stats_quantile_from_sorted_data(fit->numbers, 1, n, hr_workload_model_limit_p[k]) : 1;
    fit->model->limit_share += (double)n / trace->n_jobs;
  }
}

/* ---- Requests --------------------------------------------------------------------------------------- */

static int by_request(const void *a, const void *b) {
  const struct requested *first = a, *second = b;
  for (uint32_t i = 0; i < REQUEST_KEYS; i++)
    if (first->key[i] != second->key[i]) return first->key[i] < second->key[i] ? -1 : 1;
  return 0;
}

/* Order of requests: by size, then the most frequent request first. */
static int by_frequency(const void *a, const void *b) {
  const struct request_tally *first = a, *second = b;
  if (first->first->key[0] != second->first->key[0]) return by_request(first->first, second->first);
  if (first->jobs != second->jobs) return first->jobs > second->jobs ? -1 : 1;
  return by_request(first->first, second->first);
}

static enum hr_status add_request(const struct fit *fit, const struct request_tally *tally) {
  const uint64_t *key = tally->first->key;
  struct hr_workload_model_size *size = &fit->model->sizes[key[0]];
  if (size->n_requests == HR_WORKLOAD_MODEL_MAX_REQUESTS) return HR_OK;
  if (size->n_requests && tally->jobs < MIN_JOBS_OF_REQUEST) return HR_OK;
  const char *type = key[6] == HR_NONE ? NULL : fit->trace->gpu_type_lists.text[key[6]];
  struct hr_workload_model_request *request = &size->requests[size->n_requests++];
  *request = (struct hr_workload_model_request){.share = tally->jobs / (size->share * fit->trace->n_jobs),
                                                .gpus = (uint32_t)key[1],
                                                .tasks = (uint32_t)key[2],
                                                .gpu_milli = (uint32_t)key[3],
                                                .cpu_milli = (uint32_t)key[4],
                                                .mem_mib = key[5],
                                                .gpu_type = type ? hr__utf8_copy(type) : NULL,
                                                .class_ = (uint8_t)key[7]};
  return type && !request->gpu_type ? HR_NO_MEMORY : HR_OK;
}

/* Returns the probability that a submitter repeats the previous request on purpose. Requests are also repeated by
   chance: `chance` is the probability that two independent requests are equal. The result is chosen so that repeats
   on purpose and by chance together are as frequent as in the trace. */
static double repeat_probability(const struct fit *fit, double chance) {
  double pairs = 0, same = 0;
  for (uint32_t job = 0; job < fit->trace->n_jobs; job++) {
    uint32_t submitter = submitter_of(fit, job);
    if (submitter == HR_NONE) continue;
    pairs += fit->last[submitter] > 0;
    same += fit->last[submitter] == fit->request[job];
    fit->last[submitter] = fit->request[job];
  }
  return pairs < MIN_REPEATS || chance > 0.99 ? 0 : fmin(0.99, fmax(0, (same / pairs - chance) / (1 - chance)));
}

static enum hr_status fit_requests(struct fit *fit) {
  const struct hr_trace *trace = fit->trace;
  struct requested *all = fit->requests;
  struct request_tally *tallies = fit->tallies;
  uint32_t n = trace->n_jobs, n_tallies = 0;
  for (uint32_t i = 0; i < n; i++)
    all[i] =
        (struct requested){{fit->size[i], trace->gpus[i], trace->tasks ? trace->tasks[i] : 1,
                            trace->gpu_milli ? trace->gpu_milli[i] : 1000, trace->cpu_milli ? trace->cpu_milli[i] : 0,
                            trace->mem_mib ? trace->mem_mib[i] : 0, trace->gpu_types ? trace->gpu_types[i] : HR_NONE,
                            trace->class_ ? trace->class_[i] : HR_CLASS_UNKNOWN},
                           i};
  qsort(all, n, sizeof *all, by_request);
  for (uint32_t i = 0; i < n; i++) {
    if (i == 0 || by_request(&all[i], &all[i - 1]) != 0) tallies[n_tallies++] = (struct request_tally){&all[i], 0};
    tallies[n_tallies - 1].jobs++;
    fit->request[all[i].job] = n_tallies;
  }
  double chance = 0;
  for (uint32_t i = 0; i < n_tallies; i++) chance += (double)tallies[i].jobs / n * ((double)tallies[i].jobs / n);
  fit->model->repeat_probability = repeat_probability(fit, chance);
  qsort(tallies, n_tallies, sizeof *tallies, by_frequency);
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < n_tallies && status == HR_OK; i++) status = add_request(fit, &tallies[i]);
  return status;
}

/* Computes the share of all jobs that each user or tenant has. The largest share is first. */
static enum hr_status fit_shares(const struct fit *fit, const uint32_t *column, uint32_t n_names, double **shares,
                                 uint32_t *n_shares) {
  double *jobs = column ? calloc(n_names + (size_t)1, sizeof *jobs) : NULL, sum = 0;
  if (!jobs) return column ? HR_NO_MEMORY : HR_OK;
  /* Counts are negative, so that sorting in ascending order puts the largest first. */
  for (uint32_t job = 0; job < fit->trace->n_jobs; job++)
    if (column[job] != HR_NONE) jobs[column[job]]--;
  gsl_sort(jobs, 1, n_names);
  *shares = jobs;
  while (*n_shares < n_names && *n_shares < HR_WORKLOAD_MODEL_MAX_RANKS && jobs[*n_shares] < 0)
    sum += jobs[(*n_shares)++];
  for (uint32_t i = 0; i < *n_shares; i++) jobs[i] /= sum;
  return HR_OK;
}

/* ---- Arrivals --------------------------------------------------------------------------------------- */

/* Returns the share of [from_us, from_us + length_us) that is between the first and the last submit. */
static double covered(const struct fit *fit, int64_t from_us, int64_t length_us) {
  int64_t last_us = fit->trace->submit_us[fit->trace->n_jobs - 1], end_us = from_us + length_us;
  if (end_us > last_us) end_us = last_us;
  if (from_us < 0) from_us = 0;
  return end_us > from_us ? (double)(end_us - from_us) / (double)length_us : 0;
}

/* `factors` are counts of jobs by hour or weekday. Divides each by `times`, the number of times that the hour or
   weekday occurred in the trace, and scales the results to a mean of 1. If any of these numbers is below 0.5, all
   results are 1. */
static void normalize(double *factors, const double *times, uint32_t n) {
  double sum = 0;
  bool all = true;
  for (uint32_t i = 0; i < n; i++) {
    all = all && times[i] >= 0.5;
    factors[i] = times[i] > 0 ? factors[i] / times[i] : 0;
    sum += factors[i];
  }
  for (uint32_t i = 0; i < n; i++) factors[i] = all && sum > 0 ? factors[i] * n / sum : 1;
}

/* Fits the arrival rates by hour, weekday and week. The first week that is used has the index `first` and begins at
   `start_us`. If the trace is shorter than two weeks, all weeks have the same rate. */
static void fit_rates(const struct fit *fit, int64_t start_us, uint32_t first, uint32_t n_weeks) {
  struct hr_workload_model *model = fit->model;
  double hours[24] = {0}, days[7] = {0}, n_days = 0, n_jobs = 0, sum = 0;
  for (uint32_t job = 0; job < fit->trace->n_jobs; job++) {
    int64_t at_us = fit->trace->submit_us[job] - start_us;
    if (at_us < 0 || at_us >= n_weeks * week_us) continue;
    model->hours[at_us / hour_us % 24]++;
    model->weekdays[at_us / day_us % 7]++;
    n_jobs++;
  }
  for (int64_t hour = 0; hour < (int64_t)n_weeks * WEEK_HOURS; hour++) {
    double part = covered(fit, start_us + hour * hour_us, hour_us);
    hours[hour % 24] += part;
    days[hour / 24 % 7] += part / 24;
    n_days += part / 24;
  }
  normalize(model->hours, hours, 24);
  normalize(model->weekdays, days, 7);
  for (uint32_t i = 0; i < n_weeks; i++)
    sum += model->weeks[i] = model->weeks[first + i] / fmax(1e-6, covered(fit, start_us + i * week_us, week_us));
  model->n_weeks = fit->trace->submit_us[fit->trace->n_jobs - 1] < 2 * week_us ? 1 : n_weeks;
  if (model->n_weeks == 1) model->weeks[0] = sum = n_jobs / fmax(1.0 / 86400, n_days) * 7;
  for (uint32_t i = 0; i < model->n_weeks; i++) model->weeks[i] *= model->n_weeks / sum;
  model->jobs_per_day = fmin(1e12, sum / 7 / model->n_weeks);
}

/* Fits the arrivals. A week at the beginning or end of the trace with less than a tenth of the mean number of jobs
   is ignored, because recording probably began or ended in that week. */
static void fit_arrivals(struct fit *fit) {
  const struct hr_trace *trace = fit->trace;
  static const int64_t monday_us = 3 * 86400 * HR_SECOND_US; /* 1970-01-01 was a Thursday */
  int64_t phase_us = ((trace->origin_us % week_us + (trace->dated ? monday_us : 0)) % week_us + week_us) % week_us;
  int64_t last_us = trace->submit_us[trace->n_jobs - 1], n = (last_us + phase_us) / week_us + 1;
  if (n > HR_WORKLOAD_MODEL_MAX_WEEKS) n = HR_WORKLOAD_MODEL_MAX_WEEKS;
  double *jobs = fit->model->weeks;
  for (uint32_t job = 0; job < trace->n_jobs && (trace->submit_us[job] + phase_us) / week_us < n; job++)
    jobs[(trace->submit_us[job] + phase_us) / week_us]++;
  double usual = (double)trace->n_jobs * (double)week_us / ((double)last_us + 1);
  uint32_t first = 0, end = (uint32_t)n;
  while (end - first > 1 && jobs[first] < usual / 10) first++;
  while (end - first > 1 && jobs[end - 1] < usual / 10) end--;
  fit_rates(fit, first * week_us - phase_us, first, end - first);
}

static enum hr_status fit_all(struct fit *fit) {
  const struct hr_trace *trace = fit->trace;
  struct hr_workload_model *model = fit->model;
  fit_sizes(fit);
  for (uint32_t size = 0; size < model->n_sizes; size++) fit_runs(fit, size);
  fit_outcomes(fit);
  fit_limits(fit);
  fit_arrivals(fit);
  enum hr_status status = fit_requests(fit);
  if (status == HR_OK) status = fit_shares(fit, trace->user, trace->users.count, &model->users, &model->n_users);
  if (status == HR_OK)
    status = fit_shares(fit, trace->tenant, trace->tenants.count, &model->tenants, &model->n_tenants);
  model->name = strdup("fitted");
  model->source = hr__utf8_copy(trace->source);
  return status == HR_OK && !(model->name && model->source) ? HR_NO_MEMORY : status;
}

enum hr_status hr_workload_model_fit(const struct hr_trace *trace, struct hr_workload_model **model,
                                     struct hr_error *error) {
  struct fit fit = {.trace = trace,
                    .model = calloc(1, sizeof *fit.model),
                    .submitter = trace->user ? trace->user : trace->tenant,
                    .n_submitters = (trace->user     ? trace->users.count
                                     : trace->tenant ? trace->tenants.count
                                                     : 0) +
                                    1};
  size_t n = trace->n_jobs, m = fit.n_submitters;
  void *const work_arrays[] = {fit.size = malloc(n),
                               fit.p = malloc(n * sizeof *fit.p),
                               fit.values = malloc(n * sizeof *fit.values),
                               fit.numbers = malloc(n * sizeof *fit.numbers),
                               fit.requests = malloc(n * sizeof *fit.requests),
                               fit.tallies = malloc(n * sizeof *fit.tallies),
                               fit.request = malloc(n * sizeof *fit.request),
                               fit.last = calloc(m, sizeof *fit.last),
                               fit.groups = malloc(m * sizeof *fit.groups)};
  enum hr_status status = fit.model ? HR_OK : HR_NO_MEMORY;
  for (size_t i = 0; i < sizeof work_arrays / sizeof *work_arrays; i++)
    if (!work_arrays[i]) status = HR_NO_MEMORY;
  if (status == HR_OK) status = fit_all(&fit);
  for (size_t i = 0; i < sizeof work_arrays / sizeof *work_arrays; i++) free(work_arrays[i]);
  if (status != HR_OK) hr_workload_model_destroy(fit.model);
  *model = status == HR_OK ? fit.model : NULL;
  return status == HR_OK ? HR_OK : hr_fail(error, status, "%s: out of memory", trace->source);
}

void hr_workload_model_destroy(struct hr_workload_model *model) {
  if (!model) return;
  for (uint32_t i = 0; i < model->n_sizes; i++)
    for (uint32_t k = 0; k < model->sizes[i].n_requests; k++) free(model->sizes[i].requests[k].gpu_type);
  free(model->users);
  free(model->tenants);
  free(model->name);
  free(model->source);
  free(model);
}
