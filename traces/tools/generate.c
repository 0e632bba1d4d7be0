/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Generates workloads: synthetic workloads from parameters, and workloads that are drawn from the blocks of a trace.
 *
 * Synthetic arrivals are a Poisson process with a rate that depends on the time of day. Candidates arrive at the peak
 * rate, and each is accepted with probability rate / peak rate (thinning; Lewis and Shedler 1979). All other properties
 * of a job have random streams of their own, indexed by the number of the job. A change of one parameter therefore does
 * not change the other draws. Times are whole milliseconds, so a written trace contains exactly the drawn values.
 */

#include "base/containers.h"
#include "base/output_file.h"
#include "base/random.h"
#include "base/text.h"
#include "headroom/trace_files.h"
#include "traces/core/builder.h"

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
  uint32_t number, gpus, user, tenant; /* gpus: number of GPUs; the other members are numbers from 1 */
};

enum { DAY_S = 86400, PEAK_S = 15 * 3600 };

static const double full_turn = 6.283185307179586;

/* Assumption: rounded shares close to those of Philly and Helios, where most jobs use one GPU. */
static const struct hr_gpu_count default_gpu_counts[] = {{1, 0.70}, {2, 0.10},   {4, 0.09},
                                                         {8, 0.09}, {16, 0.015}, {32, 0.005}};

/* ---- Tables ---------------------------------------------------------------------------------------- */

/* Returns the mean of min(X, max), where X has a log-normal distribution. */
static double mean_run_s(const struct hr_generator *g) {
  double mu = log(g->median_s), cut = g->max_s > 0 ? log(g->max_s) : HUGE_VAL;
  if (g->sigma <= 0) return exp(fmin(mu, cut));
  double below = exp(mu + g->sigma * g->sigma / 2) * gsl_cdf_ugaussian_P((cut - mu) / g->sigma - g->sigma);
  double above = g->max_s > 0 ? g->max_s * gsl_cdf_ugaussian_Q((cut - mu) / g->sigma) : 0;
  return below + above;
}

/* Selects the table of GPU counts, and computes its total weight and mean. GPU counts of the default table that are
   larger than the cluster are left out. */
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

/* Initializes the state of a generation. The parameters in `g` must be valid and must outlive `work`. If HR_OK is
   returned, the caller must free `user_cumulated`. Returns HR_BAD_INPUT if the arrivals would take more than 300
   years, or HR_NO_MEMORY. */
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

/* ---- Draws ----------------------------------------------------------------------------------------- */

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

/* ---- Jobs ------------------------------------------------------------------------------------------ */

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

/* ---- Parameters ------------------------------------------------------------------------------------ */

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

/* ---- Writing --------------------------------------------------------------------------------------- */

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
  free(work.user_cumulated);
  return status;
}

/* ---- Resampling ------------------------------------------------------------------------------------ */

/*
 * A block is a day or a week of the trace.
 *
 * Cutting: the borders of blocks are a grid on the clock of the trace. A time of day is therefore the same in the
 * trace, in each block and in the drawn workload.
 *
 * Drawing: a workload consists of layers. A layer has one block in each position of the grid; the blocks are drawn,
 * except in the first layer of a workload without blocks. First, a list of (submit time, job of the trace) is built,
 * layer by layer and position by position. If there is only one layer, its jobs are already in order of submit time;
 * otherwise the list is sorted. Then each column is copied in the order of the list. The workload uses the name tables
 * of the trace.
 */

#define HOUR_US (3600 * HR_SECOND_US)
#define DAY_US (24 * HOUR_US)
#define WEEK_US (7 * DAY_US)

/* A block is whole if at most this much time is missing at its beginning or end. */
#define SLACK_US HOUR_US

HR__NAME_FUNCTION(hr_blocks_name, enum hr_blocks, HR_BLOCKS_TABLE)

void hr_workload_spec_init(struct hr_workload_spec *spec) {
  *spec = (struct hr_workload_spec){.blocks = HR_BLOCKS_NONE, .growth = 1};
}

/* Returns the length of the trace until the last submit, inclusive. */
static int64_t trace_length_us(const struct hr_trace *trace) {
  return trace->submit_us[trace->n_jobs - 1] + 1;
}

/* Returns the time at which the first whole block begins, relative to the first submit. If the trace has dates, it is a
   midnight, and may be up to SLACK_US before the first submit; otherwise it is 0. */
static int64_t first_cut_us(const struct hr_trace *trace) {
  if (!trace->dated) return 0;
  int64_t since_midnight_us = (trace->origin_us % DAY_US + DAY_US) % DAY_US;
  return since_midnight_us <= SLACK_US ? -since_midnight_us : DAY_US - since_midnight_us;
}

static struct hr_workload_cut cut_by(const struct hr_trace *trace, int64_t block_us, int64_t length_us) {
  int64_t first_us = first_cut_us(trace);
  struct hr_workload_cut cut = {.block_us = block_us, .length_us = length_us, .first_whole = first_us > 0};
  cut.start_us = first_us > 0 ? first_us - block_us : first_us;
  cut.n_positions = (uint32_t)((length_us - cut.start_us + block_us - 1) / block_us);
  uint32_t n_ended = (uint32_t)((trace_length_us(trace) + SLACK_US - cut.start_us) / block_us);
  cut.n_whole = n_ended > cut.first_whole ? n_ended - cut.first_whole : 0;
  cut.keeps_weekdays = block_us == DAY_US && cut.n_whole >= 14;
  return cut;
}

/* Returns the cut for a spec without blocks. The first layer is then the trace as recorded. Further layers are drawn
   from weeks if the trace has two whole weeks, otherwise from days if it has two whole days. A shorter trace is one
   block. */
static struct hr_workload_cut cut_for_layers(const struct hr_trace *trace, int64_t length_us) {
  struct hr_workload_cut cut = cut_by(trace, WEEK_US, length_us);
  if (cut.n_whole < 2) cut = cut_by(trace, DAY_US, length_us);
  if (cut.n_whole >= 2) return cut;
  return (struct hr_workload_cut){
      .block_us = trace_length_us(trace), .length_us = length_us, .n_positions = 1, .n_whole = 1};
}

static double days(int64_t us) {
  return (double)us / (double)DAY_US;
}

static enum hr_status too_short(const struct hr_trace *trace, const struct hr_workload_cut *cut,
                                struct hr_error *error) {
  bool by_week = cut->block_us == WEEK_US;
  bool days_would_do = by_week && cut_by(trace, DAY_US, cut->length_us).n_whole >= 2;
  const char *unit = by_week ? "weeks" : "days";
  return hr_fail(error, HR_BAD_INPUT, "%s: its %.2f days do not contain two whole %s%s, as needed to draw %s: %s",
                 trace->source, days(trace_length_us(trace)), unit, trace->dated ? " from midnight to midnight" : "",
                 unit, days_would_do ? "draw days instead" : "use it without blocks ('none')");
}

static enum hr_status check_length(const struct hr_trace *trace, const struct hr_workload_spec *spec,
                                   struct hr_error *error) {
  if (spec->length_us < 0 || spec->length_us > HR_MAX_INPUT_US)
    return hr_fail(error, HR_BAD_INPUT, "%s: invalid length %.9g s of a drawn workload; expected 0 to %.9g s",
                   trace->source, (double)spec->length_us / (double)HR_SECOND_US,
                   (double)(HR_MAX_INPUT_US / HR_SECOND_US));
  if (spec->blocks != HR_BLOCKS_NONE || spec->length_us <= trace_length_us(trace)) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT,
                 "%s: without blocks, a drawn workload of %.2f days cannot be longer than the trace, which has %.2f; "
                 "draw 'days' or 'weeks'",
                 trace->source, days(spec->length_us), days(trace_length_us(trace)));
}

enum hr_status hr_trace_cut(const struct hr_trace *trace, const struct hr_workload_spec *spec,
                            struct hr_workload_cut *cut, struct hr_error *error) {
  if (!trace->n_jobs) return hr_fail(error, HR_BAD_INPUT, "%s: the trace has no jobs", trace->source);
  if ((unsigned)spec->blocks >= HR_N_BLOCKS)
    return hr_fail(error, HR_BAD_INPUT, "%s: invalid kind of blocks %d", trace->source, (int)spec->blocks);
  enum hr_status status = check_length(trace, spec, error);
  if (status != HR_OK) return status;
  int64_t length_us = spec->length_us ? spec->length_us : trace_length_us(trace);
  if (spec->blocks == HR_BLOCKS_NONE) {
    *cut = cut_for_layers(trace, length_us);
    return HR_OK;
  }
  *cut = cut_by(trace, spec->blocks == HR_BLOCKS_DAYS ? DAY_US : WEEK_US, length_us);
  return cut->n_whole >= 2 ? HR_OK : too_short(trace, cut, error);
}

struct draw {
  const struct hr_trace *trace;
  const struct hr_workload_spec *spec;
  struct hr_workload_cut cut;
  uint64_t seed;
  uint32_t n_layers;
  uint32_t max_jobs;          /* maximum number of jobs; further jobs of the workload are dropped */
  struct hr__keyed_row *jobs; /* [count] `key`: submit time; `row`: job of the trace */
  uint32_t count, capacity;
};

/* ---- Resampling: validation ------------------------------------------------------------------------ */

static enum hr_status check_series(const struct draw *draw, struct hr_error *error) {
  const struct hr_workload_spec *spec = draw->spec;
  const char *source = draw->trace->source;
  if (spec->n_positions < draw->cut.n_positions)
    return hr_fail(error, HR_BAD_INPUT, "%s: growth is given for %u blocks, but the workload has %u", source,
                   spec->n_positions, draw->cut.n_positions);
  if (!spec->n_series) return hr_fail(error, HR_BAD_INPUT, "%s: growth is given without series", source);
  for (uint32_t job = 0; spec->series && job < draw->trace->n_jobs; job++) {
    if (spec->series[job] < spec->n_series || spec->series[job] == HR_NONE) continue;
    char buffer[HR_JOB_ID_BUFFER];
    return hr_fail(error, HR_BAD_INPUT, "%s: job %s has series %u; there are %u, counted from 0", source,
                   hr_trace_job_id(draw->trace, (hr_job){job}, buffer), spec->series[job], spec->n_series);
  }
  return HR_OK;
}

static enum hr_status check_growth(struct draw *draw, struct hr_error *error) {
  const struct hr_workload_spec *spec = draw->spec;
  const char *source = draw->trace->source;
  if (!(spec->growth > 0 && spec->growth <= HR_MAX_GROWTH))
    return hr_fail(error, HR_BAD_INPUT, "%s: growth %g must be above 0 and at most %d", source, spec->growth,
                   HR_MAX_GROWTH);
  double max = 1; /* maximum factor; jobs without a series have the factor 1 */
  size_t n_factors = spec->factors ? (size_t)spec->n_series * spec->n_positions : 0;
  for (size_t i = 0; i < n_factors; i++) {
    double factor = spec->factors[i];
    if (!(factor >= 0 && factor * spec->growth <= HR_MAX_GROWTH))
      return hr_fail(error, HR_BAD_INPUT,
                     "%s: growth of series %zu at block %zu: factor %g must be at least 0 and, times %g, at most %d",
                     source, i / spec->n_positions, i % spec->n_positions, factor, spec->growth, HR_MAX_GROWTH);
    if (factor > max) max = factor;
  }
  draw->n_layers = (uint32_t)ceil(spec->growth * max);
  return spec->factors ? check_series(draw, error) : HR_OK;
}

/* ---- Resampling: list of jobs ---------------------------------------------------------------------- */

static double growth_of(const struct hr_workload_spec *spec, uint32_t job, uint32_t position) {
  if (!spec->factors) return spec->growth;
  uint32_t series = spec->series ? spec->series[job] : 0;
  return series == HR_NONE ? spec->growth : spec->growth * spec->factors[(size_t)series * spec->n_positions + position];
}

static bool is_kept(const struct draw *draw, uint32_t job, uint32_t position, uint32_t layer) {
  double share = growth_of(draw->spec, job, position) - (double)layer;
  if (share >= 1 || share <= 0) return share > 0;
  struct hr__stream stream;
  hr__stream_init(&stream, draw->seed, HR__PURPOSE_THINNING, job, layer);
  stream.counter[0] = position;
  return hr__stream_uniform(&stream) < share;
}

static bool add(struct draw *draw, uint32_t job, int64_t submit_us) {
  if (!HR__ARRAY_HAS_ROOM(draw->jobs, draw->count, draw->capacity)) return false;
  draw->jobs[draw->count++] = (struct hr__keyed_row){(uint64_t)submit_us, job};
  return true;
}

static bool add_block(struct draw *draw, uint32_t block, uint32_t position, uint32_t layer) {
  const struct hr_workload_cut *cut = &draw->cut;
  const struct hr_trace *trace = draw->trace;
  int64_t begin_us = cut->start_us + block * cut->block_us, end_us = begin_us + cut->block_us;
  int64_t shift_us = ((int64_t)position - block) * cut->block_us;
  uint32_t job = hr__count_below(trace->submit_us, sizeof *trace->submit_us, trace->n_jobs, begin_us);
  for (; job < trace->n_jobs && trace->submit_us[job] < end_us; job++) {
    int64_t submit_us = trace->submit_us[job] + shift_us;
    if (submit_us >= cut->length_us) break;
    if (submit_us >= 0 && is_kept(draw, job, position, layer) && !add(draw, job, submit_us)) return false;
  }
  return true;
}

static uint32_t draw_block(const struct draw *draw, uint32_t position, uint32_t layer) {
  const struct hr_workload_cut *cut = &draw->cut;
  uint32_t step = cut->keeps_weekdays ? 7 : 1;
  uint32_t first = cut->first_whole + (position + step - cut->first_whole % step) % step;
  uint32_t n_blocks = (cut->first_whole + cut->n_whole - first + step - 1) / step;
  struct hr__stream stream;
  hr__stream_init(&stream, draw->seed, HR__PURPOSE_BLOCKS, position, layer);
  return first + step * (uint32_t)((uint64_t)hr__stream_next(&stream) * n_blocks >> 32);
}

/* Draws a layer of a trace that is too short for blocks. All submit times are shifted by a random time, modulo the
   length of the trace. */
static bool draw_rotated(struct draw *draw, uint32_t layer) {
  const struct hr_trace *trace = draw->trace;
  int64_t length_us = draw->cut.block_us;
  struct hr__stream stream;
  hr__stream_init(&stream, draw->seed, HR__PURPOSE_BLOCKS, 0, layer);
  int64_t rotation_us = (int64_t)((double)length_us * hr__stream_uniform(&stream));
  for (uint32_t job = 0; job < trace->n_jobs; job++) {
    int64_t submit_us = (trace->submit_us[job] + rotation_us) % length_us;
    if (submit_us < draw->cut.length_us && is_kept(draw, job, 0, layer) && !add(draw, job, submit_us)) return false;
  }
  return true;
}

static bool draw_layer(struct draw *draw, uint32_t layer) {
  bool as_recorded = draw->spec->blocks == HR_BLOCKS_NONE && layer == 0;
  if (draw->cut.n_whole < 2 && !as_recorded) return draw_rotated(draw, layer);
  for (uint32_t position = 0; position < draw->cut.n_positions; position++) {
    uint32_t block = as_recorded ? position : draw_block(draw, position, layer);
    if (!add_block(draw, block, position, layer)) return false;
  }
  return true;
}

static bool draw_all(struct draw *draw) {
  for (uint32_t layer = 0; layer < draw->n_layers; layer++)
    if (!draw_layer(draw, layer)) return false;
  return draw->n_layers == 1 || hr__sort_keyed_rows(draw->jobs, draw->count);
}

/* ---- Resampling: columns --------------------------------------------------------------------------- */

#define GATHER(type)                                                                                                   \
  for (uint32_t i = 0; i < draw->count; i++) ((type *)to)[i] = ((const type *)from)[draw->jobs[i].row]

static bool gather_column(const struct draw *draw, const void *from, uint8_t width, struct hr__column *column) {
  if (!from) return true;
  void *to = malloc((size_t)draw->count * width);
  if (!to) return false;
  if (width == 1)
    GATHER(uint8_t);
  else if (width == 2)
    GATHER(uint16_t);
  else if (width == 4)
    GATHER(uint32_t);
  else
    GATHER(uint64_t);
  *column = (struct hr__column){to, width};
  return true;
}
#undef GATHER

static bool gather_columns(const struct draw *draw, struct hr__owned_trace *owned) {
  for (enum hr__column_id id = 0; id < HR__COLUMN_ID; id++)
    if (!gather_column(draw, hr__trace_column(draw->trace, id), hr__columns[id].width, &owned->column[id]))
      return false;
  return true;
}

/* Shifts optional instants by the change of the submit time of their job. `us` may be NULL. */
static void move_instants(const struct draw *draw, int64_t *us) {
  for (uint32_t i = 0; us && i < draw->count; i++)
    if (us[i] != HR_UNKNOWN_US) us[i] += (int64_t)draw->jobs[i].key - draw->trace->submit_us[draw->jobs[i].row];
}

/* Sets the submit times of the workload to those of the list. Shifts all other instants accordingly.
   Before the call, all of these columns contain the times of the trace. */
static void move_times(const struct draw *draw, struct hr__owned_trace *owned) {
  int64_t *submit_us = owned->column[HR__COLUMN_SUBMIT].at;
  for (enum hr__column_id id = 0; id < HR__COLUMN_ID; id++)
    if (hr__columns[id].kind == HR__INSTANT && id != HR__COLUMN_SUBMIT) move_instants(draw, owned->column[id].at);
  for (uint32_t i = 0; submit_us && i < draw->count; i++) submit_us[i] = (int64_t)draw->jobs[i].key;
}

static struct hr_trace *make_trace(const struct draw *draw) {
  struct hr__owned_trace *owned = calloc(1, sizeof *owned);
  if (!owned) return NULL;
  if (!gather_columns(draw, owned)) {
    hr_trace_destroy(&owned->trace);
    return NULL;
  }
  move_times(draw, owned);
  const struct hr_trace *trace = draw->trace;
  owned->trace.source = trace->source;
  owned->trace.format = trace->format;
  owned->trace.n_jobs = draw->count;
  owned->trace.origin_us = trace->origin_us;
  owned->trace.dated = trace->dated;
  for (enum hr__names_id id = 0; id < HR__N_NAMES; id++)
    *hr__trace_names(&owned->trace, id) = *hr__trace_names(trace, id);
  hr__owned_trace_show_columns(owned);
  return &owned->trace;
}

static enum hr_status draw_jobs(struct draw *draw, struct hr_trace **drawn, struct hr_error *error) {
  const struct hr_trace *trace = draw->trace;
  *drawn = NULL;
  enum hr_status status = hr_trace_cut(trace, draw->spec, &draw->cut, error);
  if (status == HR_OK) status = check_growth(draw, error);
  if (status != HR_OK) return status;
  bool fine = draw_all(draw);
  if (draw->count > draw->max_jobs) draw->count = draw->max_jobs;
  if (fine && !draw->count)
    status = hr_fail(error, HR_BAD_INPUT, "%s: no job is left in a drawn workload of %.9g s with growth %g",
                     trace->source, (double)draw->cut.length_us / (double)HR_SECOND_US, draw->spec->growth);
  else if (fine)
    *drawn = make_trace(draw);
  free(draw->jobs);
  if (status == HR_OK && !*drawn) status = hr_fail(error, HR_NO_MEMORY, "%s: out of memory", trace->source);
  return status;
}

enum hr_status hr_trace_redraw(const struct hr_trace *trace, const struct hr_workload_spec *spec, uint64_t seed,
                               struct hr_trace **drawn, struct hr_error *error) {
  struct draw draw = {.trace = trace, .spec = spec, .seed = seed, .max_jobs = HR_NONE};
  return draw_jobs(&draw, drawn, error);
}

enum hr_status hr_trace_redraw_count(const struct hr_trace *trace, const struct hr_workload_spec *spec, uint64_t seed,
                                     uint32_t count, struct hr_trace **drawn, struct hr_error *error) {
  struct hr_workload_spec longer = *spec;
  double span_us = trace->n_jobs ? (double)trace->submit_us[trace->n_jobs - 1] + 1 : 1;
  double share = trace->n_jobs ? (double)count / trace->n_jobs / spec->growth : 1;
  for (int doublings = 0;; doublings++) { /* if a draw has too few jobs, the next one is twice as long */
    struct draw draw = {.trace = trace, .spec = &longer, .seed = seed, .max_jobs = count};
    double length_us = ldexp(1.2 * share * span_us, doublings);
    bool is_longest = length_us >= (double)HR_MAX_INPUT_US;
    longer.length_us = is_longest ? HR_MAX_INPUT_US : (int64_t)length_us + 1;
    enum hr_status status = draw_jobs(&draw, drawn, error);
    bool too_few = status == HR_OK ? (*drawn)->n_jobs < count : status == HR_BAD_INPUT && draw.cut.n_whole >= 2;
    if (!too_few || (is_longest && status != HR_OK)) return status;
    hr_trace_destroy(*drawn);
    *drawn = NULL;
    if (is_longest)
      return hr_fail(error, HR_BAD_INPUT, "%s: a workload of %u jobs would be longer than %.9g s", trace->source, count,
                     (double)(HR_MAX_INPUT_US / HR_SECOND_US));
  }
}
