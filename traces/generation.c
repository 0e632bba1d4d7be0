/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Arrivals are a Poisson process whose rate follows the day: candidates come at the peak's rate and are kept with the
 * probability rate / peak rate (thinning; Lewis and Shedler 1979). Everything else about a job is drawn from streams of
 * its own, by the job's number, so that changing one number of the workload leaves the other draws as they were.
 */

#include "traces/generation.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>

enum { DAY_S = 86400, PEAK_S = 15 * 3600 };

static const double full_turn = 6.283185307179586;

/* Assumed: round shares near those of Philly and Helios, where most jobs take one GPU. */
static const struct hr_gpu_count default_gpu_counts[] = {{1, 0.70}, {2, 0.10},   {4, 0.09},
                                                         {8, 0.09}, {16, 0.015}, {32, 0.005}};

/* ---- Tables ----------------------------------------------------------------------------------------- */

/* Mean of min(X, max) for a log-normal X. */
static double mean_run_s(const struct hr_generator *g) {
  double mu = log(g->median_s), cut = g->max_s > 0 ? log(g->max_s) : HUGE_VAL;
  if (g->sigma <= 0) return exp(fmin(mu, cut));
  double below = exp(mu + g->sigma * g->sigma / 2) * gsl_cdf_ugaussian_P((cut - mu) / g->sigma - g->sigma);
  double above = g->max_s > 0 ? g->max_s * gsl_cdf_ugaussian_Q((cut - mu) / g->sigma) : 0;
  return below + above;
}

/* The default table is cut to what the cluster can hold. */
static void choose_gpu_counts(struct hr__generation *work) {
  const struct hr_generator *g = work->g;
  work->gpu_counts = g->gpu_counts ? g->gpu_counts : default_gpu_counts;
  work->n_gpu_counts = g->gpu_counts ? g->n_gpu_counts : sizeof default_gpu_counts / sizeof *default_gpu_counts;
  uint64_t cluster = (uint64_t)g->nodes * g->gpus_per_node;
  while (work->n_gpu_counts > 1 && work->gpu_counts[work->n_gpu_counts - 1].gpus > cluster) work->n_gpu_counts--;
  double gpus = 0;
  for (size_t i = 0; i < work->n_gpu_counts; i++) {
    work->gpu_weights += work->gpu_counts[i].weight;
    gpus += work->gpu_counts[i].weight * work->gpu_counts[i].gpus;
  }
  work->mean_gpus = gpus / work->gpu_weights;
}

enum hr_status hr__generation_begin(struct hr__generation *work, const struct hr_generator *g, struct hr_error *error) {
  *work = (struct hr__generation){.g = g};
  choose_gpu_counts(work);
  work->rate_per_s = g->load * g->nodes * g->gpus_per_node / (work->mean_gpus * mean_run_s(g));
  if ((double)g->count / work->rate_per_s > 1e10)
    return hr_fail(error, HR_BAD_INPUT,
                   "generator: the jobs would arrive over more than 300 years; ask for fewer jobs, "
                   "shorter ones or more load");
  work->user_cumulated = malloc(g->users * sizeof *work->user_cumulated);
  if (!work->user_cumulated) return hr_fail(error, HR_NO_MEMORY, "generator: out of memory");
  double sum = 0;
  for (uint32_t user = 0; user < g->users; user++) work->user_cumulated[user] = sum += 1.0 / (user + 1);
  hr__stream_init(&work->arrivals, g->seed, HR__PURPOSE_ARRIVAL, 0, 0);
  return HR_OK;
}

void hr__generation_finish(struct hr__generation *work) {
  free(work->user_cumulated);
}

/* ---- Draws ------------------------------------------------------------------------------------------ */

/* The next arrival after the last one; time 0 is midnight. */
static double next_arrival(struct hr__generation *work) {
  struct hr__stream *stream = &work->arrivals;
  double peak = 1 + work->g->diurnal, now_s = work->now_s;
  for (;;) {
    now_s -= log(hr__stream_uniform(stream)) / (work->rate_per_s * peak);
    double wave = 1 + work->g->diurnal * cos(full_turn * (now_s - PEAK_S) / DAY_S);
    if (hr__stream_uniform(stream) * peak < wave) return now_s;
  }
}

static double draw_uniform(const struct hr__generation *work, enum hr__purpose purpose, uint32_t job) {
  struct hr__stream stream;
  hr__stream_init(&stream, work->g->seed, purpose, job, 0);
  return hr__stream_uniform(&stream);
}

static int64_t draw_run_ms(const struct hr__generation *work, uint32_t job) {
  const struct hr_generator *g = work->g;
  struct hr__stream stream;
  hr__stream_init(&stream, g->seed, HR__PURPOSE_RUN_TIME, job, 0);
  gsl_rng rng = hr__stream_rng(&stream);
  double run_s = gsl_ran_lognormal(&rng, log(g->median_s), g->sigma);
  double most_s = g->max_s > 0 ? g->max_s : 1e10;
  int64_t run_ms = llround(fmin(run_s, most_s) * 1000);
  return run_ms > 0 ? run_ms : 1;
}

static uint32_t draw_gpus(const struct hr__generation *work, uint32_t job) {
  double left = draw_uniform(work, HR__PURPOSE_GPUS, job) * work->gpu_weights;
  size_t i = 0;
  while (i + 1 < work->n_gpu_counts && left >= work->gpu_counts[i].weight) left -= work->gpu_counts[i++].weight;
  return work->gpu_counts[i].gpus;
}

static uint32_t draw_user(const struct hr__generation *work, uint32_t job) {
  return hr__weighted_place(work->user_cumulated, work->g->users, draw_uniform(work, HR__PURPOSE_USER, job));
}

static int64_t draw_limit_ms(const struct hr__generation *work, uint32_t job, int64_t run_ms) {
  const struct hr_generator *g = work->g;
  double factor = g->limit_min + (g->limit_max - g->limit_min) * draw_uniform(work, HR__PURPOSE_LIMIT, job);
  double limit_ms = fmin((double)run_ms * factor, 1e13);
  return limit_ms < 1 ? 1 : llround(limit_ms);
}

/* ---- Jobs ------------------------------------------------------------------------------------------- */

struct hr__generated_job hr__generation_next(struct hr__generation *work) {
  uint32_t job = work->n_drawn++, user = draw_user(work, job);
  work->now_s = next_arrival(work);
  struct hr__generated_job drawn = {.submit_ms = llround(work->now_s * 1000),
                                    .run_ms = draw_run_ms(work, job),
                                    .limit_ms = -1,
                                    .number = job + 1,
                                    .gpus = draw_gpus(work, job),
                                    .user = user + 1,
                                    .tenant = user % work->g->tenants + 1};
  if (work->g->limit_max > 0) drawn.limit_ms = draw_limit_ms(work, job, drawn.run_ms);
  return drawn;
}
