/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Workload models: fits a model to a trace, draws jobs from a model, and writes them to a file.
 *
 * Jobs are assigned to sizes, which are ranges of GPU counts. For each size, the model contains the quantiles of run
 * times, the share of their variance that is due to users, and the frequencies of outcomes and requests. A week begins
 * on Monday at midnight if the trace has dates; otherwise it begins at a multiple of 168 hours on the clock of the
 * trace.
 *
 * Run times are compared by normal scores. The probability p of a run time is the share of jobs of the same size that
 * have a shorter run time; jobs with an equal run time count as half. The normal score is the quantile of the standard
 * normal distribution at p.
 *
 * Invariant of a fit: after fit_sizes(), size[job] is an index in model->sizes, and every size has a job. After
 * fit_runs(), p[job] is the probability p of the run time of the job.
 */

#include "base/containers.h"
#include "base/random.h"
#include "base/text.h"
#include "headroom/unstable/trace_tools.h"
#include "traces/core/fields.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  MIN_JOBS_OF_COUNT = 500, /* a GPU count with at least this number of jobs is a size of its own */
  /* minimum number of jobs in a size; smaller sizes are merged, so that a quantile is not the run time of a single
     job */
  MIN_JOBS_OF_SIZE = 20,
  /* minimum number of jobs with the same request; rarer requests are left out, except the most frequent of a size */
  MIN_JOBS_OF_REQUEST = 3,
  /* minimum number of pairs, each of two consecutive jobs of one submitter; with fewer pairs, the probability of a
     repeated request cannot be estimated and is 0 */
  MIN_REPEATS = 50
};
enum { WEEK_HOURS = 168 }; /* time 0 is midnight of a Monday if the trace of the model has dates */
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
  double *p;             /* [n_jobs] probability p of the run time of each job */
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

/* ---- Fit: sizes ------------------------------------------------------------------------------------ */

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

/* ---- Fit: run times -------------------------------------------------------------------------------- */

/* Returns the share of the variance of normal scores that is between submitters, at most 0.95: a one-way random effects
   model with groups of unequal sizes (Searle, Linear Models, 1971, ch. 10). Returns 0 if there are fewer than three
   submitters, or if each submitter has only one job. */
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

/* ---- Fit: requests --------------------------------------------------------------------------------- */

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

/* Computes the shares of users or tenants in the jobs with a known user or tenant. The largest share is first. If
   there are more than HR_WORKLOAD_MODEL_MAX_RANKS shares, the smallest ones are left out. */
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

/* ---- Fit: arrivals --------------------------------------------------------------------------------- */

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

/* ---- Drawing --------------------------------------------------------------------------------------- */

/*
 * Arrivals are a Poisson process with a rate that depends on time. First, a Poisson process of rate 1 is drawn. Its
 * times are then read as expected numbers of jobs: an arrival occurs when the rates, summed from time 0, reach that
 * number (time rescaling; Cinlar 1975). Each job has a random stream of its own, so its draws do not depend on those
 * of other jobs.
 *
 * The normal score of a run time is sqrt(s) * user part + sqrt(1 - s) * own part, where s is the share of the
 * variance of scores that is due to users. The user part takes a limited number of values, so the distribution of
 * scores is a mixture of normal distributions. The distribution function of this mixture is tabulated for each size.
 * It converts scores to probabilities, so run times have exactly the fitted quantiles, even if few users submit most
 * of the jobs.
 *
 * A requested load is reached exactly. Run times and requests do not depend on the rate of arrivals, so the jobs are
 * drawn twice. The first pass computes their GPU time. The rate of arrivals is then chosen so that this GPU time
 * results in the requested load.
 */

struct drawn_job {
  int64_t submit_ms, run_ms, limit_ms; /* limit_ms: -1 if the job has no limit */
  uint32_t user, tenant;               /* HR_NONE: unknown */
  const struct hr_workload_model_request *request;
  enum hr_outcome outcome;
};

enum { SCORE_CELLS = 512 }; /* number of cells of each table of a distribution function of scores */

/* State of a draw. The struct is large, so it must be allocated with malloc(). */
struct model_draw {
  const struct hr_workload_model *model; /* borrowed */
  uint64_t seed;
  double tempo; /* factor by which the arrival rates of the model are multiplied */
  double mass;  /* time of the last drawn job in the Poisson process of rate 1, which is an expected number of jobs */
  /* submitters are users if the model has users, otherwise tenants; a model without both has one submitter */
  uint32_t n_drawn, n_submitters;
  /* [168 * n_weeks + 1] expected number of jobs from time 0 to the beginning of each hour, at a tempo of 1 */
  double *by_hour;
  /* cumulative sums of the shares of users, tenants and sizes */
  double *user_sums, *tenant_sums, size_sums[HR_WORKLOAD_MODEL_MAX_SIZES];
  double request_sums[HR_WORKLOAD_MODEL_MAX_SIZES][HR_WORKLOAD_MODEL_MAX_REQUESTS];
  /* tabulated distribution function of the scores of each size */
  double marginal[HR_WORKLOAD_MODEL_MAX_SIZES][SCORE_CELLS + 1];
  double *score;       /* [n_submitters] normal score of each submitter */
  uint32_t *tenant_of; /* [n_users] tenant of each user */
  uint16_t *last;      /* [n_submitters] 1 + index of the previous request of each submitter; 0: no previous request */
};
/* Scores of users are rounded to USER_BINS values, so that a mixture has a limited number of components. */
enum { USER_BINS = 257, MAX_REQUESTS = HR_WORKLOAD_MODEL_MAX_REQUESTS };
static const double max_user_score = 4, max_score = 8;

const double hr_workload_model_run_p[HR_WORKLOAD_MODEL_RUN_KNOTS] = {
    0,     0.01, 0.025, 0.05, 0.075, 0.1, 0.125, 0.15, 0.175, 0.2,  0.225, 0.25,  0.275, 0.3,    0.325, 0.35,
    0.375, 0.4,  0.425, 0.45, 0.475, 0.5, 0.525, 0.55, 0.575, 0.6,  0.625, 0.65,  0.675, 0.7,    0.725, 0.75,
    0.775, 0.8,  0.825, 0.85, 0.875, 0.9, 0.925, 0.95, 0.975, 0.99, 0.995, 0.998, 0.999, 0.9995, 1};
const double hr_workload_model_limit_p[HR_WORKLOAD_MODEL_LIMIT_KNOTS] = {0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 0.99, 1};
const double hr_workload_model_stratum_ends[HR_WORKLOAD_MODEL_STRATA] = {0.2, 0.4, 0.6, 0.8, 0.95, 1};

/* Returns the last index below `last` whose value is at most `at`; 0 if no value is. The values are sorted. */
static uint32_t last_until(const double *values, uint32_t last, double at) {
  uint32_t low = 0, high = last;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    *(values[middle] <= at ? &low : &high) = middle;
  }
  return low;
}

/* Returns the last knot at or below `p`. `*part` is the position of `p` between this knot and the next one, from 0
   to 1. */
static uint32_t knot_below(const double *knots, uint32_t n_knots, double p, double *part) {
  uint32_t low = last_until(knots, n_knots - 1, p);
  *part = fmin(1, fmax(0, (p - knots[low]) / (knots[low + 1] - knots[low])));
  return low;
}

/* Returns the run time in seconds for a probability. Logarithms are interpolated, because run times differ by orders
   of magnitude. */
static double run_s_at(const struct hr_workload_model_size *size, double p) {
  double part;
  uint32_t low = knot_below(hr_workload_model_run_p, HR_WORKLOAD_MODEL_RUN_KNOTS, p, &part);
  double below = log(fmax(1e-3, size->run_s[low])), above = log(fmax(1e-3, size->run_s[low + 1]));
  return exp(below + part * (above - below));
}

/* ---- Drawing: tables ------------------------------------------------------------------------------- */

/* Computes the cumulative sums of `n` shares. Consecutive shares are `stride` bytes apart. */
static void sum_shares(const double *shares, size_t stride, uint32_t n, double *sums) {
  double sum = 0;
  for (uint32_t i = 0; i < n; i++) {
    double share;
    memcpy(&share, (const char *)shares + i * stride, sizeof share);
    sums[i] = sum += share;
  }
}

static void sum_hours(struct model_draw *draw) {
  const struct hr_workload_model *model = draw->model;
  double sum = 0;
  draw->by_hour[0] = 0;
  for (uint32_t hour = 0; hour < model->n_weeks * WEEK_HOURS; hour++) {
    double factor = model->hours[hour % 24] * model->weekdays[hour / 24 % 7] * model->weeks[hour / WEEK_HOURS];
    draw->by_hour[hour + 1] = sum += model->jobs_per_day / 24 * factor;
  }
}

static double user_bin_score(uint32_t bin) {
  return max_user_score * (2.0 * bin / (USER_BINS - 1) - 1);
}

/* Draws the scores of all submitters, and the tenants of users. `weights` becomes the share of jobs for each value
   of a score. */
static void draw_submitters(struct model_draw *draw, double weights[USER_BINS]) {
  const struct hr_workload_model *model = draw->model;
  const double *shares = model->n_users ? model->users : model->n_tenants ? model->tenants : NULL;
  for (uint32_t i = 0; i < draw->n_submitters; i++) {
    struct hr__stream stream;
    hr__stream_init(&stream, draw->seed, HR__PURPOSE_MODEL_USER, i, 0);
    double z = gsl_cdf_ugaussian_Pinv(hr__stream_uniform(&stream)) / max_user_score;
    uint32_t bin = (uint32_t)lround((fmin(1, fmax(-1, z)) + 1) / 2 * (USER_BINS - 1));
    draw->score[i] = user_bin_score(bin);
    weights[bin] += shares ? shares[i] : 1;
    if (i < model->n_users && model->n_tenants)
      draw->tenant_of[i] = hr__weighted_place(draw->tenant_sums, model->n_tenants, hr__stream_uniform(&stream));
  }
}

static void tabulate(double user_share, const double weights[USER_BINS], double *marginal) {
  double sum = 0, own = sqrt(1 - user_share);
  for (uint32_t bin = 0; bin < USER_BINS; bin++) sum += weights[bin];
  for (uint32_t i = 0; i <= SCORE_CELLS; i++) marginal[i] = 0;
  for (uint32_t bin = 0; bin < USER_BINS; bin++) {
    double user = sqrt(user_share) * user_bin_score(bin);
    for (uint32_t i = 0; weights[bin] > 0 && i <= SCORE_CELLS; i++) {
      double z = max_score * (2.0 * i / SCORE_CELLS - 1);
      marginal[i] += weights[bin] / sum * gsl_cdf_ugaussian_P((z - user) / own);
    }
  }
}

/* Restarts the draw with the first job. */
static void draw_restart(struct model_draw *draw) {
  draw->mass = 0;
  draw->n_drawn = 0;
  memset(draw->last, 0, draw->n_submitters * sizeof *draw->last);
}

/* Initializes a draw. Returns HR_OK or HR_NO_MEMORY. The caller must finish the draw in both cases. */
static enum hr_status draw_init(struct model_draw *draw, const struct hr_workload_model *model, uint64_t seed) {
  *draw = (struct model_draw){.model = model, .seed = seed, .tempo = 1};
  draw->n_submitters = model->n_users ? model->n_users : model->n_tenants ? model->n_tenants : 1;
  draw->by_hour = malloc(((size_t)model->n_weeks * WEEK_HOURS + 1) * sizeof *draw->by_hour);
  draw->user_sums = malloc((model->n_users + (size_t)1) * sizeof *draw->user_sums);
  draw->tenant_sums = malloc((model->n_tenants + (size_t)1) * sizeof *draw->tenant_sums);
  draw->score = malloc(draw->n_submitters * sizeof *draw->score);
  draw->tenant_of = malloc((model->n_users + (size_t)1) * sizeof *draw->tenant_of);
  draw->last = malloc(draw->n_submitters * sizeof *draw->last);
  if (!draw->by_hour || !draw->user_sums || !draw->tenant_sums || !draw->score || !draw->tenant_of || !draw->last)
    return HR_NO_MEMORY;
  double weights[USER_BINS] = {0};
  sum_hours(draw);
  sum_shares(&model->sizes->share, sizeof *model->sizes, model->n_sizes, draw->size_sums);
  sum_shares(model->users, sizeof *model->users, model->n_users, draw->user_sums);
  sum_shares(model->tenants, sizeof *model->tenants, model->n_tenants, draw->tenant_sums);
  draw_submitters(draw, weights);
  for (uint32_t i = 0; i < model->n_sizes; i++) {
    const struct hr_workload_model_size *size = &model->sizes[i];
    sum_shares(&size->requests->share, sizeof *size->requests, size->n_requests, draw->request_sums[i]);
    tabulate(size->user_share, weights, draw->marginal[i]);
  }
  draw_restart(draw);
  return HR_OK;
}

static void draw_finish(struct model_draw *draw) {
  void *const blocks[] = {draw->by_hour, draw->user_sums, draw->tenant_sums, draw->score, draw->tenant_of, draw->last};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) free(blocks[i]);
}

/* ---- Drawing: jobs --------------------------------------------------------------------------------- */

/* Returns the time in seconds until which `mass` jobs are expected, at a tempo of 1; HUGE_VAL if the model has no
   arrivals or the time is too large. */
static double draw_time_s(const struct model_draw *draw, double mass) {
  uint32_t n_hours = draw->model->n_weeks * WEEK_HOURS;
  double all = draw->by_hour[n_hours], rounds = all > 0 ? floor(mass / all) : HUGE_VAL, left = mass - rounds * all;
  if (!(rounds < 1e12)) return HUGE_VAL;
  uint32_t low = last_until(draw->by_hour, n_hours, left);
  double expected = draw->by_hour[low + 1] - draw->by_hour[low];
  double part = expected > 0 ? fmin(1, fmax(0, (left - draw->by_hour[low]) / expected)) : 0;
  return 3600 * (rounds * n_hours + low + part);
}

/* Draws the size and the request of a job. Returns 1 + size * MAX_REQUESTS + request. */
static uint16_t draw_request(struct model_draw *draw, uint32_t submitter, const double uniform[3]) {
  if (draw->last[submitter] && uniform[0] < draw->model->repeat_probability) return draw->last[submitter];
  uint32_t size = hr__weighted_place(draw->size_sums, draw->model->n_sizes, uniform[1]);
  uint32_t request = hr__weighted_place(draw->request_sums[size], draw->model->sizes[size].n_requests, uniform[2]);
  return draw->last[submitter] = (uint16_t)(1 + size * MAX_REQUESTS + request);
}

/* Draws the probability from which run_s_at() computes the run time of a job. */
static double draw_p(const struct model_draw *draw, uint32_t size, uint32_t submitter, double uniform) {
  double share = draw->model->sizes[size].user_share;
  double z = sqrt(share) * draw->score[submitter] + sqrt(1 - share) * gsl_cdf_ugaussian_Pinv(uniform);
  double at = fmin(1, fmax(0, (z / max_score + 1) / 2)) * SCORE_CELLS;
  uint32_t low = at < SCORE_CELLS ? (uint32_t)at : SCORE_CELLS - 1;
  const double *marginal = draw->marginal[size] + low;
  double p = marginal[0] + (at - low) * (marginal[1] - marginal[0]);
  return fmin(1 - 1e-12, fmax(0, p));
}

static enum hr_outcome draw_outcome(const struct hr_workload_model_size *size, uint32_t stratum, double uniform) {
  if ((uniform -= size->completed[stratum]) < 0) return HR_OUTCOME_COMPLETED;
  if ((uniform -= size->failed[stratum]) < 0) return HR_OUTCOME_FAILED;
  return uniform < size->cancelled[stratum] ? HR_OUTCOME_CANCELLED : HR_OUTCOME_UNKNOWN;
}

static int64_t draw_limit_ms(const struct hr_workload_model *model, uint32_t stratum, int64_t run_ms,
                             const double uniform[2]) {
  double part;
  if (!(uniform[0] < model->limit_share)) return -1;
  uint32_t low = knot_below(hr_workload_model_limit_p, HR_WORKLOAD_MODEL_LIMIT_KNOTS, uniform[1], &part);
  const double *ratios = model->limit_ratios + stratum * HR_WORKLOAD_MODEL_LIMIT_KNOTS + low;
  return llround(fmax(1, fmin(1e13, (double)run_ms * (ratios[0] + part * (ratios[1] - ratios[0])))));
}

static struct drawn_job draw_next(struct model_draw *draw) {
  const struct hr_workload_model *model = draw->model;
  struct hr__stream stream;
  double uniform[9];
  hr__stream_init(&stream, draw->seed, HR__PURPOSE_MODEL_JOB, draw->n_drawn++, 0);
  for (size_t i = 0; i < sizeof uniform / sizeof *uniform; i++) uniform[i] = hr__stream_uniform(&stream);
  draw->mass -= log(uniform[0]);
  struct drawn_job job = {.user = HR_NONE, .tenant = HR_NONE};
  const double *sums = model->n_users ? draw->user_sums : draw->tenant_sums;
  bool known = model->n_users || model->n_tenants;
  uint32_t submitter = known ? hr__weighted_place(sums, draw->n_submitters, uniform[1]) : 0;
  if (model->n_users) job.user = submitter;
  if (model->n_tenants) job.tenant = model->n_users ? draw->tenant_of[submitter] : submitter;
  uint32_t place = draw_request(draw, submitter, uniform + 2) - 1U, i_size = place / MAX_REQUESTS;
  const struct hr_workload_model_size *size = &model->sizes[i_size];
  double p = draw_p(draw, i_size, submitter, uniform[5]);
  uint32_t stratum = hr_workload_model_stratum(p);
  job.request = &size->requests[place % MAX_REQUESTS];
  job.submit_ms = llround(1000 * fmin(1e11, draw_time_s(draw, draw->mass / draw->tempo)));
  job.run_ms = llround(fmax(1, 1000 * run_s_at(size, p)));
  job.outcome = draw_outcome(size, stratum, uniform[6]);
  job.limit_ms = draw_limit_ms(model, stratum, job.run_ms, uniform + 7);
  return job;
}

/* ---- Drawing: files -------------------------------------------------------------------------------- */

void hr_workload_model_spec_init(struct hr_workload_model_spec *spec) {
  *spec = (struct hr_workload_model_spec){.count = 1000, .seed = 1, .nodes = 16, .gpus_per_node = 8};
}

/* Replaces the shares of users or tenants by shares that are proportional to rank^-exponent. The shares are not
   changed if `n` is 0. Returns false if out of memory. */
static bool replace(double **shares, uint32_t *n_shares, uint32_t n, double exponent) {
  if (n == 0) return true;
  if (!HR__ARRAY_RESIZE(*shares, n)) return false;
  for (uint32_t i = 0; i < n; i++) (*shares)[i] = pow(i + 1.0, -exponent);
  *n_shares = n;
  return true;
}

enum hr_status hr_workload_model_set_people(struct hr_workload_model *model, uint32_t n_users, uint32_t n_tenants,
                                            struct hr_error *error) {
  bool fine =
      replace(&model->users, &model->n_users, n_users, 1) && replace(&model->tenants, &model->n_tenants, n_tenants, 0);
  return fine ? HR_OK : hr_fail(error, HR_NO_MEMORY, "generator: out of memory");
}

enum { NAME_BYTES = 32, MS_US = 1000 };

/* Returns a name with a number from 1, such as "user-3" for rank 2. Returns an empty text if the rank is HR_NONE. */
static struct hr_text name_text(char buffer[NAME_BYTES], const char *name, uint32_t rank) {
  if (rank == HR_NONE) return (struct hr_text){0};
  return (struct hr_text){buffer, (size_t)snprintf(buffer, NAME_BYTES, "%s%llu", name, (unsigned long long)rank + 1)};
}

static enum hr_status add_job(struct hr_trace_builder *builder, uint32_t number, const struct drawn_job *job,
                              struct hr_error *error) {
  char id[NAME_BYTES], user[NAME_BYTES], tenant[NAME_BYTES];
  const struct hr_workload_model_request *request = job->request;
  struct hr_job_record record;
  hr_job_record_init(&record);
  record.id = name_text(id, "", number);
  record.user = name_text(user, "user-", job->user);
  record.tenant = name_text(tenant, "tenant-", job->tenant);
  record.submit_us = job->submit_ms * MS_US;
  record.work_us = job->run_ms * MS_US;
  if (job->limit_ms >= 0) record.limit_us = job->limit_ms * MS_US;
  record.gpus = request->gpus;
  record.tasks = request->tasks;
  record.cpu_milli = request->cpu_milli;
  record.mem_mib = request->mem_mib;
  record.gpu_milli = request->gpu_milli;
  if (request->gpu_type) record.gpu_types = hr__text_make(request->gpu_type);
  record.class_ = request->class_;
  record.outcome = (uint8_t)job->outcome;
  /* the line that the job would have in a CSV file with a header */
  return hr_trace_builder_add(builder, &record, number + 2ULL, error);
}

static enum hr_status draw_trace(struct model_draw *draw, uint64_t count, struct hr_trace **trace,
                                 struct hr_error *error) {
  struct hr_trace_builder *builder = hr_trace_builder_create("headroom trace generate", "csv");
  if (!builder) return hr_fail(error, HR_NO_MEMORY, "generator: out of memory");
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < count && status == HR_OK; i++) {
    struct drawn_job job = draw_next(draw);
    status = add_job(builder, i, &job, error);
  }
  if (status == HR_OK) status = hr_trace_builder_finish(builder, false, false, trace, error);
  hr_trace_builder_destroy(builder);
  return status;
}

static struct hr_workload_model_figures figures_of(const struct hr_trace *trace,
                                                   const struct hr_workload_model_spec *spec) {
  struct hr_workload_model_figures figures = {
      .jobs = trace->n_jobs, .users = trace->users.count, .tenants = trace->tenants.count};
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    double gpus = (double)hr_trace_gpus_milli(trace, (hr_job){i}) / 1000;
    figures.gpu_hours += gpus * (double)trace->work_us[i] / (3600.0 * HR_SECOND_US);
    figures.too_large += spec->load > 0 && trace->gpus[i] > (uint64_t)spec->nodes * spec->gpus_per_node;
    if (trace->gpus[i] > figures.max_gpus) figures.max_gpus = trace->gpus[i];
  }
  figures.span_s = (double)(trace->submit_us[trace->n_jobs - 1] - trace->submit_us[0]) / HR_SECOND_US;
  figures.mean_gpus = figures.span_s > 0 ? figures.gpu_hours * 3600 / figures.span_s : 0;
  return figures;
}

static enum hr_status check(const struct hr_workload_model_spec *spec, struct hr_error *error) {
  if (spec->count < 1 || spec->count >= HR_NONE)
    return hr_fail(error, HR_BAD_INPUT, "generator: count: %llu is not a number of jobs from 1 to 4294967294",
                   (unsigned long long)spec->count);
  if (!(spec->load >= 0 && spec->load <= 1e9))
    return hr_fail(error, HR_BAD_INPUT, "generator: load: %g is not at least 0", spec->load);
  if (spec->nodes < 1 || spec->gpus_per_node < 1 || (uint64_t)spec->nodes * spec->gpus_per_node > HR_MAX_GPUS)
    return hr_fail(error, HR_BAD_INPUT, "generator: %u nodes of %u GPUs are not from 1 to 4000000 GPUs", spec->nodes,
                   spec->gpus_per_node);
  return HR_OK;
}

/* Computes the tempo that results in the requested load, by bisection: the time between the first and the last job
   decreases as the tempo increases. */
static enum hr_status choose_tempo(struct model_draw *draw, const struct hr_workload_model_spec *spec,
                                   struct hr_error *error) {
  double gpu_s = 0, first = 0, low = 1e-15, high = 1e15;
  for (uint64_t i = 0; i < spec->count; i++) {
    struct drawn_job job = draw_next(draw);
    gpu_s += job.request->gpus * (double)job.request->gpu_milli / 1000 * (double)job.run_ms / 1000;
    if (i == 0) first = draw->mass;
  }
  if (!(gpu_s > 0))
    return hr_fail(error, HR_BAD_INPUT,
                   "generator: load: none of the drawn jobs requests GPUs; omit --load or draw more");
  double span_s = gpu_s / (spec->load * spec->nodes * spec->gpus_per_node);
  for (uint32_t i = 0; i < 200 && spec->count > 1; i++) {
    double tempo = draw->tempo = sqrt(low * high);
    bool too_long = draw_time_s(draw, draw->mass / tempo) - draw_time_s(draw, first / tempo) > span_s;
    *(too_long ? &low : &high) = tempo;
  }
  return HR_OK;
}

static enum hr_status prepare(struct model_draw *draw, const struct hr_workload_model *model,
                              const struct hr_workload_model_spec *spec, struct hr_error *error) {
  enum hr_status status = check(spec, error);
  if (status != HR_OK) return status;
  status = draw_init(draw, model, spec->seed);
  if (status != HR_OK) return hr_fail(error, status, "generator: out of memory");
  if (spec->load > 0) status = choose_tempo(draw, spec, error);
  draw_restart(draw);
  if (status != HR_OK || draw_time_s(draw, (double)spec->count / draw->tempo) <= 1e5 * 86400) return status;
  return hr_fail(error, HR_BAD_INPUT,
                 "generator: the jobs would arrive over more than 270 years; ask for fewer jobs or more load");
}

enum hr_status hr_workload_model_generate(const struct hr_workload_model *model,
                                          const struct hr_workload_model_spec *spec, const char *path,
                                          struct hr_workload_model_figures *figures, struct hr_error *error) {
  struct model_draw *draw = calloc(1, sizeof *draw);
  struct hr_trace *trace = NULL;
  bool row_by_row;
  if (!draw) return hr_fail(error, HR_NO_MEMORY, "generator: out of memory");
  enum hr_status status = hr_generated_file(path, &row_by_row, error);
  if (status == HR_OK) status = prepare(draw, model, spec, error);
  if (status == HR_OK) status = draw_trace(draw, spec->count, &trace, error);
  if (status == HR_OK) status = hr_trace_write(trace, path, NULL, NULL, error);
  if (status == HR_OK && figures) *figures = figures_of(trace, spec);
  hr_trace_destroy(trace);
  draw_finish(draw);
  free(draw);
  return status;
}
