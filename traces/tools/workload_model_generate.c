/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Draws jobs from a workload model and writes them to a file.
 *
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
 * A requested load is met exactly. Run times and requests do not depend on the rate of arrivals, so the jobs are drawn
 * twice. The first pass computes their GPU time. The rate of arrivals is then chosen so that this GPU time gives the
 * load.
 */

#include "headroom/unstable/trace_tools.h"

#include "base/containers.h"
#include "base/random.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct drawn_job {
  int64_t submit_ms, run_ms, limit_ms; /* limit_ms: -1 if the job has no limit */
  uint32_t user, tenant;               /* HR_NONE: unknown */
  const struct hr_workload_model_request *request;
  enum hr_outcome outcome;
};

/* WEEK_HOURS: hours of a week; time 0 is midnight of a Monday if the trace of the model has dates. SCORE_CELLS:
   number of cells of each table of a distribution function of scores. */
enum { WEEK_HOURS = 168, SCORE_CELLS = 512 };

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

/* Returns the last knot at or below `p`. `*part` is the position of `p` between this knot and the next one, from 0
   to 1. */
static uint32_t knot_below(const double *knots, uint32_t n_knots, double p, double *part) {
  uint32_t low = 0, high = n_knots - 1;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (knots[middle] <= p)
      low = middle;
    else
      high = middle;
  }
  *part = fmin(1, fmax(0, (p - knots[low]) / (knots[high] - knots[low])));
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

/* ---- Tables ----------------------------------------------------------------------------------------- */

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

/* ---- Jobs ------------------------------------------------------------------------------------------- */

/* Returns the time in seconds until which `mass` jobs are expected, at a tempo of 1; HUGE_VAL if the model has no
   arrivals. */
static double draw_time_s(const struct model_draw *draw, double mass) {
  uint32_t n_hours = draw->model->n_weeks * WEEK_HOURS, low = 0, high = n_hours;
  double all = draw->by_hour[n_hours], rounds = all > 0 ? floor(mass / all) : HUGE_VAL, left = mass - rounds * all;
  if (!(rounds < 1e12)) return HUGE_VAL;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (draw->by_hour[middle] <= left)
      low = middle;
    else
      high = middle;
  }
  double expected = draw->by_hour[high] - draw->by_hour[low];
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

/* ---- Files ------------------------------------------------------------------------------------------ */

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
  if (request->gpu_type) record.gpu_types = (struct hr_text){request->gpu_type, strlen(request->gpu_type)};
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

/* Computes the tempo that gives the requested load, by bisection: the time between the first and the last job
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
