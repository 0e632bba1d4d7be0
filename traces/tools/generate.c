/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Generates workloads.
 *
 * Arrivals are a Poisson process with a rate that depends on the time of day. Candidates arrive at the peak rate, and
 * each is accepted with probability rate / peak rate (thinning; Lewis and Shedler 1979). All other properties of a job
 * have random streams of their own, indexed by the number of the job. A change of one parameter therefore does not
 * change the other draws. Times are whole milliseconds, so a written trace contains exactly the drawn values.
 */

#include "base/output_file.h"
#include "base/random.h"
#include "headroom/trace_files.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct generation {
  const struct hr_generator *g;
  const struct hr_gpu_count *gpu_counts;
  size_t n_gpu_counts;
  double gpu_weights, mean_gpus;
  double *user_cumulated; /* [users] cumulative sums of the weights 1/1, 1/2, ... */
  double rate_per_s;      /* mean arrival rate */
  struct hr__stream arrivals;
  double now_s; /* time of the last arrival */
  uint32_t n_drawn;
};

struct generated_job {
  int64_t submit_ms, run_ms, limit_ms; /* limit_ms -1: no limit */
  uint32_t number, gpus, user, tenant; /* all numbers count from 1 */
};

enum { DAY_S = 86400, PEAK_S = 15 * 3600 };

static const double full_turn = 6.283185307179586;

/* Assumption: rounded shares close to those of Philly and Helios, where most jobs use one GPU. */
static const struct hr_gpu_count default_gpu_counts[] = {{1, 0.70}, {2, 0.10},   {4, 0.09},
                                                         {8, 0.09}, {16, 0.015}, {32, 0.005}};

/* ---- Tables ----------------------------------------------------------------------------------------- */

/* Returns the mean of min(X, max), where X has a log-normal distribution. */
static double mean_run_s(const struct hr_generator *g) {
  double mu = log(g->median_s), cut = g->max_s > 0 ? log(g->max_s) : HUGE_VAL;
  if (g->sigma <= 0) return exp(fmin(mu, cut));
  double below = exp(mu + g->sigma * g->sigma / 2) * gsl_cdf_ugaussian_P((cut - mu) / g->sigma - g->sigma);
  double above = g->max_s > 0 ? g->max_s * gsl_cdf_ugaussian_Q((cut - mu) / g->sigma) : 0;
  return below + above;
}

/* Selects the table of GPU counts. GPU counts of the default table that are larger than the cluster are removed. */
static void choose_gpu_counts(struct generation *work) {
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

/* Initializes the state of a generation. The parameters in `g` must be valid and must outlive it. If HR_OK is
   returned, the caller must call finish_generation(). */
static enum hr_status begin_generation(struct generation *work, const struct hr_generator *g, struct hr_error *error) {
  *work = (struct generation){.g = g};
  choose_gpu_counts(work);
  work->rate_per_s = g->load * g->nodes * g->gpus_per_node / (work->mean_gpus * mean_run_s(g));
  if ((double)g->count / work->rate_per_s > 1e10)
    return hr_fail(
        error, HR_BAD_INPUT,
        "generator: the jobs would arrive over more than 300 years; use fewer or shorter jobs, or more load");
  work->user_cumulated = malloc(g->users * sizeof *work->user_cumulated);
  if (!work->user_cumulated) return hr_fail(error, HR_NO_MEMORY, "generator: out of memory");
  double sum = 0;
  for (uint32_t user = 0; user < g->users; user++) work->user_cumulated[user] = sum += 1.0 / (user + 1);
  hr__stream_init(&work->arrivals, g->seed, HR__PURPOSE_ARRIVAL, 0, 0);
  return HR_OK;
}

static void finish_generation(struct generation *work) {
  free(work->user_cumulated);
}

/* ---- Draws ------------------------------------------------------------------------------------------ */

/* Returns the time of the next arrival in seconds. Time 0 is midnight. */
static double next_arrival(struct generation *work) {
  struct hr__stream *stream = &work->arrivals;
  double peak = 1 + work->g->diurnal, now_s = work->now_s;
  for (;;) {
    now_s -= log(hr__stream_uniform(stream)) / (work->rate_per_s * peak);
    double wave = 1 + work->g->diurnal * cos(full_turn * (now_s - PEAK_S) / DAY_S);
    if (hr__stream_uniform(stream) * peak < wave) return now_s;
  }
}

static double draw_uniform(const struct generation *work, enum hr__purpose purpose, uint32_t job) {
  struct hr__stream stream;
  hr__stream_init(&stream, work->g->seed, purpose, job, 0);
  return hr__stream_uniform(&stream);
}

static int64_t draw_run_ms(const struct generation *work, uint32_t job) {
  const struct hr_generator *g = work->g;
  struct hr__stream stream;
  hr__stream_init(&stream, g->seed, HR__PURPOSE_RUN_TIME, job, 0);
  gsl_rng rng = hr__stream_rng(&stream);
  double run_s = gsl_ran_lognormal(&rng, log(g->median_s), g->sigma);
  double max_s = g->max_s > 0 ? g->max_s : 1e10;
  int64_t run_ms = llround(fmin(run_s, max_s) * 1000);
  return run_ms > 0 ? run_ms : 1;
}

static uint32_t draw_gpus(const struct generation *work, uint32_t job) {
  double left = draw_uniform(work, HR__PURPOSE_GPUS, job) * work->gpu_weights;
  size_t i = 0;
  while (i + 1 < work->n_gpu_counts && left >= work->gpu_counts[i].weight) left -= work->gpu_counts[i++].weight;
  return work->gpu_counts[i].gpus;
}

static uint32_t draw_user(const struct generation *work, uint32_t job) {
  return hr__weighted_place(work->user_cumulated, work->g->users, draw_uniform(work, HR__PURPOSE_USER, job));
}

static int64_t draw_limit_ms(const struct generation *work, uint32_t job, int64_t run_ms) {
  const struct hr_generator *g = work->g;
  double factor = g->limit_min + (g->limit_max - g->limit_min) * draw_uniform(work, HR__PURPOSE_LIMIT, job);
  double limit_ms = fmin((double)run_ms * factor, 1e13);
  return limit_ms < 1 ? 1 : llround(limit_ms);
}

/* ---- Jobs ------------------------------------------------------------------------------------------- */

static struct generated_job next_job(struct generation *work) {
  uint32_t job = work->n_drawn++, user = draw_user(work, job);
  work->now_s = next_arrival(work);
  struct generated_job drawn = {.submit_ms = llround(work->now_s * 1000),
                                .run_ms = draw_run_ms(work, job),
                                .limit_ms = -1,
                                .number = job + 1,
                                .gpus = draw_gpus(work, job),
                                .user = user + 1,
                                .tenant = user % work->g->tenants + 1};
  if (work->g->limit_max > 0) drawn.limit_ms = draw_limit_ms(work, job, drawn.run_ms);
  return drawn;
}

/* ---- Parameters -------------------------------------------------------------------------------------- */

enum { MS_US = 1000 };

void hr_generator_init(struct hr_generator *generator) {
  *generator = (struct hr_generator){.count = 1000,
                                     .seed = 1,
                                     .load = 0.8,
                                     .nodes = 16,
                                     .gpus_per_node = 8,
                                     .median_s = 1800,
                                     .sigma = 1.6,
                                     .max_s = 172800,
                                     .diurnal = 0.4,
                                     .users = 40,
                                     .tenants = 5};
}

static enum hr_status refuse(struct hr_error *error, const char *what, double value, const char *right) {
  return hr_fail(error, HR_BAD_INPUT, "generator: %s: %g is not %s", what, value, right);
}

static bool within(double value, double min, double max) {
  return value >= min && value <= max; /* false if the value is NaN */
}

static enum hr_status check_size(const struct hr_generator *g, struct hr_error *error) {
  if (g->count < 1 || g->count >= HR_NONE)
    return refuse(error, "count", (double)g->count, "a number of jobs from 1 to 4294967294");
  if (g->nodes < 1 || g->nodes > HR_MAX_NODES) return refuse(error, "nodes", g->nodes, "from 1 to 16000000");
  if (g->gpus_per_node < 1 || (uint64_t)g->nodes * g->gpus_per_node > HR_MAX_GPUS)
    return refuse(error, "gpus-per-node", g->gpus_per_node, "at least 1, and at most 4000000 on all nodes");
  if (g->users < 1 || g->users > 10000000) return refuse(error, "users", g->users, "from 1 to 10000000");
  if (g->tenants < 1) return refuse(error, "tenants", g->tenants, "at least 1");
  return HR_OK;
}

static enum hr_status check_limits(const struct hr_generator *g, struct hr_error *error) {
  if (!within(g->limit_min, 0, 1e6)) return refuse(error, "limit-min", g->limit_min, "from 0 to 1e6");
  if (!within(g->limit_max, 0, 1e6)) return refuse(error, "limit-max", g->limit_max, "from 0 to 1e6");
  if (g->limit_max >= g->limit_min) return HR_OK;
  return hr_fail(
      error, HR_BAD_INPUT,
      "generator: limit-max: %g is below limit-min, %g: limits are run time times a number from limit-min to limit-max",
      g->limit_max, g->limit_min);
}

static enum hr_status check_shape(const struct hr_generator *g, struct hr_error *error) {
  if (!within(g->load, 1e-9, 1e9)) return refuse(error, "load", g->load, "above 0");
  if (!within(g->median_s, 1e-3, 1e9)) return refuse(error, "median-s", g->median_s, "from 0.001 to 1e9 seconds");
  if (!within(g->sigma, 0, 10)) return refuse(error, "sigma", g->sigma, "from 0 to 10");
  if (g->max_s != 0 && !within(g->max_s, 1e-3, 1e9))
    return refuse(error, "max-s", g->max_s, "0 (no bound) or from 0.001 to 1e9 seconds");
  if (!within(g->diurnal, 0, 1)) return refuse(error, "diurnal", g->diurnal, "from 0 to 1");
  return check_limits(g, error);
}

static enum hr_status check_gpu_counts(const struct hr_generator *g, struct hr_error *error) {
  uint64_t cluster = (uint64_t)g->nodes * g->gpus_per_node;
  double sum = 0;
  for (size_t i = 0; g->gpu_counts && i < g->n_gpu_counts; i++) {
    if (g->gpu_counts[i].gpus < 1 || g->gpu_counts[i].gpus > cluster)
      return refuse(error, "GPU count", g->gpu_counts[i].gpus, "from 1 to the GPUs of the cluster");
    if (!within(g->gpu_counts[i].weight, 0, 1e9))
      return refuse(error, "GPU count's weight", g->gpu_counts[i].weight, "at least 0");
    sum += g->gpu_counts[i].weight;
  }
  if (g->gpu_counts && !(sum > 0)) return refuse(error, "sum of the GPU counts' weights", sum, "above 0");
  return HR_OK;
}

/* ---- Writing ---------------------------------------------------------------------------------------- */

static void write_job(FILE *out, const struct generated_job *job) {
  fprintf(out, "%" PRIu32 ",%" PRId64 ".%03d,%" PRId64 ".%03d,%" PRIu32 ",user-%" PRIu32 ",tenant-%" PRIu32,
          job->number, job->submit_ms / 1000, (int)(job->submit_ms % 1000), job->run_ms / 1000,
          (int)(job->run_ms % 1000), job->gpus, job->user, job->tenant);
  if (job->limit_ms >= 0) fprintf(out, ",%" PRId64 ".%03d", job->limit_ms / 1000, (int)(job->limit_ms % 1000));
  fputc('\n', out);
}

static enum hr_status write_rows(struct generation *work, const char *path, struct hr_error *error) {
  struct hr__output_file file;
  enum hr_status status = hr__output_open(&file, path, error);
  if (status != HR_OK) return status;
  fprintf(file.stream, "job_id,submit_s,duration_s,gpus,user,tenant%s\n", work->g->limit_max > 0 ? ",limit_s" : "");
  while (work->n_drawn < work->g->count && !ferror(file.stream)) {
    struct generated_job job = next_job(work);
    write_job(file.stream, &job);
  }
  return hr__output_commit(&file, error);
}

static enum hr_status add_job(struct hr_trace_builder *builder, const struct generated_job *job,
                              struct hr_error *error) {
  char id[16], user[32], tenant[32];
  struct hr_job_record record;
  hr_job_record_init(&record);
  record.id = (struct hr_text){id, (size_t)snprintf(id, sizeof id, "%" PRIu32, job->number)};
  record.user = (struct hr_text){user, (size_t)snprintf(user, sizeof user, "user-%" PRIu32, job->user)};
  record.tenant = (struct hr_text){tenant, (size_t)snprintf(tenant, sizeof tenant, "tenant-%" PRIu32, job->tenant)};
  record.submit_us = job->submit_ms * MS_US;
  record.work_us = job->run_ms * MS_US;
  record.gpus = job->gpus;
  if (job->limit_ms >= 0) record.limit_us = job->limit_ms * MS_US;
  /* the line that the job would have in a CSV file with a header */
  return hr_trace_builder_add(builder, &record, (uint64_t)job->number + 1, error);
}

/* Writes a workload in a format that needs the whole trace in memory. */
static enum hr_status write_via_builder(struct generation *work, const char *path, struct hr_error *error) {
  struct hr_trace_builder *builder = hr_trace_builder_create("headroom trace generate", "csv");
  if (!builder) return hr_fail(error, HR_NO_MEMORY, "generator: out of memory");
  enum hr_status status = HR_OK;
  while (status == HR_OK && work->n_drawn < work->g->count) {
    struct generated_job job = next_job(work);
    status = add_job(builder, &job, error);
  }
  struct hr_trace *trace = NULL;
  if (status == HR_OK) status = hr_trace_builder_finish(builder, false, false, &trace, error);
  if (status == HR_OK) status = hr_trace_write(trace, path, NULL, NULL, error);
  hr_trace_destroy(trace);
  hr_trace_builder_destroy(builder);
  return status;
}

enum hr_status hr_generate(const struct hr_generator *generator, const char *path, struct hr_error *error) {
  enum hr_status status = check_size(generator, error);
  if (status == HR_OK) status = check_shape(generator, error);
  if (status == HR_OK) status = check_gpu_counts(generator, error);
  if (status != HR_OK) return status;
  struct generation work;
  bool job_by_job;
  status = hr_generated_file(path, &job_by_job, error);
  if (status != HR_OK) return status;
  status = begin_generation(&work, generator, error);
  if (status != HR_OK) return status;
  status = job_by_job ? write_rows(&work, path, error) : write_via_builder(&work, path, error);
  finish_generation(&work);
  return status;
}
