/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs drawn from a workload model. Arrivals are a Poisson process of unit rate, with time mapped through the
 * inverse of the expected number of jobs, a sum over the hours of all weeks (time rescaling; Cinlar 1975). Each job has
 * a random stream of its own, so no draw depends on how many draws other jobs made.
 *
 * The normal score of a run time is sqrt(s) * user part + sqrt(1 - s) * own part. The user part takes few values, so
 * scores are a mixture of normal distributions. Its distribution function, tabulated for each size, maps scores to
 * probabilities: run times then have exactly the fitted quantiles, however unequal the users are.
 */

#include "traces/tools/workload_model_draw.h"
#include "base/random.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Scores of users are rounded to bins, over which mixtures are summed. */
enum { USER_BINS = 257, SCORE_CELLS = HR__SCORE_CELLS, MAX_REQUESTS = HR_WORKLOAD_MODEL_MAX_REQUESTS };
static const double max_user_score = 4, max_score = 8;

const double hr_workload_model_run_p[HR_WORKLOAD_MODEL_RUN_KNOTS] = {
    0,     0.01, 0.025, 0.05, 0.075, 0.1, 0.125, 0.15, 0.175, 0.2,  0.225, 0.25,  0.275, 0.3,    0.325, 0.35,
    0.375, 0.4,  0.425, 0.45, 0.475, 0.5, 0.525, 0.55, 0.575, 0.6,  0.625, 0.65,  0.675, 0.7,    0.725, 0.75,
    0.775, 0.8,  0.825, 0.85, 0.875, 0.9, 0.925, 0.95, 0.975, 0.99, 0.995, 0.998, 0.999, 0.9995, 1};
const double hr_workload_model_limit_p[HR_WORKLOAD_MODEL_LIMIT_KNOTS] = {0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 0.99, 1};
const double hr_workload_model_stratum_ends[HR_WORKLOAD_MODEL_STRATA] = {0.2, 0.4, 0.6, 0.8, 0.95, 1};

uint32_t hr__model_stratum(double p) {
  uint32_t stratum = 0;
  while (stratum + 1 < HR_WORKLOAD_MODEL_STRATA && p > hr_workload_model_stratum_ends[stratum]) stratum++;
  return stratum;
}

/* The knot at or below `p`, and how far `p` is on the way to the next one, 0 to 1. */
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

/* Logarithms are interpolated, as run times differ by orders of magnitude. */
static double run_s_at(const struct hr_workload_model_size *size, double p) {
  double part;
  uint32_t low = knot_below(hr_workload_model_run_p, HR_WORKLOAD_MODEL_RUN_KNOTS, p, &part);
  double below = log(fmax(1e-3, size->run_s[low])), above = log(fmax(1e-3, size->run_s[low + 1]));
  return exp(below + part * (above - below));
}

/* ---- Tables ----------------------------------------------------------------------------------------- */

/* Sums of `n` shares that are `stride` bytes apart. */
static void sum_shares(const double *shares, size_t stride, uint32_t n, double *sums) {
  double sum = 0;
  for (uint32_t i = 0; i < n; i++) {
    double share;
    memcpy(&share, (const char *)shares + i * stride, sizeof share);
    sums[i] = sum += share;
  }
}

static void sum_hours(struct hr__model_draw *draw) {
  const struct hr_workload_model *model = draw->model;
  double sum = 0;
  draw->by_hour[0] = 0;
  for (uint32_t hour = 0; hour < model->n_weeks * HR__WEEK_HOURS; hour++) {
    double factor = model->hours[hour % 24] * model->weekdays[hour / 24 % 7] * model->weeks[hour / HR__WEEK_HOURS];
    draw->by_hour[hour + 1] = sum += model->jobs_per_day / 24 * factor;
  }
}

static double user_bin_score(uint32_t bin) {
  return max_user_score * (2.0 * bin / (USER_BINS - 1) - 1);
}

/* Scores of submitters, and how much of the jobs falls on each bin of them. */
static void draw_people(struct hr__model_draw *draw, double weights[USER_BINS]) {
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

enum hr_status hr__model_draw_init(struct hr__model_draw *draw, const struct hr_workload_model *model, uint64_t seed) {
  *draw = (struct hr__model_draw){.model = model, .seed = seed, .tempo = 1};
  draw->n_submitters = model->n_users ? model->n_users : model->n_tenants ? model->n_tenants : 1;
  draw->by_hour = malloc(((size_t)model->n_weeks * HR__WEEK_HOURS + 1) * sizeof *draw->by_hour);
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
  draw_people(draw, weights);
  for (uint32_t i = 0; i < model->n_sizes; i++) {
    const struct hr_workload_model_size *size = &model->sizes[i];
    sum_shares(&size->requests->share, sizeof *size->requests, size->n_requests, draw->request_sums[i]);
    tabulate(size->user_share, weights, draw->marginal[i]);
  }
  hr__model_draw_restart(draw);
  return HR_OK;
}

void hr__model_draw_restart(struct hr__model_draw *draw) {
  draw->mass = 0;
  draw->n_drawn = 0;
  memset(draw->last, 0, draw->n_submitters * sizeof *draw->last);
}

void hr__model_draw_finish(struct hr__model_draw *draw) {
  void *const blocks[] = {draw->by_hour, draw->user_sums, draw->tenant_sums, draw->score, draw->tenant_of, draw->last};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) free(blocks[i]);
}

/* ---- Jobs ------------------------------------------------------------------------------------------- */

double hr__model_draw_time_s(const struct hr__model_draw *draw, double mass) {
  uint32_t n_hours = draw->model->n_weeks * HR__WEEK_HOURS, low = 0, high = n_hours;
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

/* Places of size and request, 1 + size * MAX_REQUESTS + request. */
static uint16_t draw_request(struct hr__model_draw *draw, uint32_t submitter, const double uniform[3]) {
  if (draw->last[submitter] && uniform[0] < draw->model->repeat_probability) return draw->last[submitter];
  uint32_t size = hr__weighted_place(draw->size_sums, draw->model->n_sizes, uniform[1]);
  uint32_t request = hr__weighted_place(draw->request_sums[size], draw->model->sizes[size].n_requests, uniform[2]);
  return draw->last[submitter] = (uint16_t)(1 + size * MAX_REQUESTS + request);
}

/* The probability of the run time within its size. */
static double draw_p(const struct hr__model_draw *draw, uint32_t size, uint32_t submitter, double uniform) {
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

struct hr__drawn_job hr__model_draw_next(struct hr__model_draw *draw) {
  const struct hr_workload_model *model = draw->model;
  struct hr__stream stream;
  double uniform[9];
  hr__stream_init(&stream, draw->seed, HR__PURPOSE_MODEL_JOB, draw->n_drawn++, 0);
  for (size_t i = 0; i < sizeof uniform / sizeof *uniform; i++) uniform[i] = hr__stream_uniform(&stream);
  draw->mass -= log(uniform[0]);
  struct hr__drawn_job job = {.user = HR_NONE, .tenant = HR_NONE};
  const double *sums = model->n_users ? draw->user_sums : draw->tenant_sums;
  bool known = model->n_users || model->n_tenants;
  uint32_t submitter = known ? hr__weighted_place(sums, draw->n_submitters, uniform[1]) : 0;
  if (model->n_users) job.user = submitter;
  if (model->n_tenants) job.tenant = model->n_users ? draw->tenant_of[submitter] : submitter;
  uint32_t place = draw_request(draw, submitter, uniform + 2) - 1U, i_size = place / MAX_REQUESTS;
  const struct hr_workload_model_size *size = &model->sizes[i_size];
  double p = draw_p(draw, i_size, submitter, uniform[5]);
  uint32_t stratum = hr__model_stratum(p);
  job.request = &size->requests[place % MAX_REQUESTS];
  job.submit_ms = llround(1000 * fmin(1e11, hr__model_draw_time_s(draw, draw->mass / draw->tempo)));
  job.run_ms = llround(fmax(1, 1000 * run_s_at(size, p)));
  job.outcome = draw_outcome(size, stratum, uniform[6]);
  job.limit_ms = draw_limit_ms(model, stratum, job.run_ms, uniform + 7);
  return job;
}
