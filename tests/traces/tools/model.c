/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Workload models: the parameters of planted traces are found, and drawn jobs have the distributions of the model. All
   seeds are fixed. */
#include "harness.h"

#include "distance.h"
#include "trace_files.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <string.h>

#define REFERENCE PROJECT_DIR "/traces/reference/"

static struct hr_trace *reference(const char *name) {
  char path[300];
  snprintf(path, sizeof path, REFERENCE "%s", name);
  struct hr_trace *trace = trace_at(path, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  return trace;
}

/* ---- Distributions ---------------------------------------------------------------------------------- */

static bool gpus_of(const struct hr_trace *trace, uint32_t job, double *value) {
  *value = trace->gpus[job];
  return true;
}

static bool limit_ratio_of(const struct hr_trace *trace, uint32_t job, double *value) {
  *value = (double)trace->limit_us[job] / (double)trace->work_us[job];
  return trace->limit_us[job] >= 0;
}

static bool class_of(const struct hr_trace *trace, uint32_t job, double *value) {
  *value = trace->class_[job];
  return true;
}

static void drawn_jobs_have_the_distributions_of_the_trace(void) {
  static const char *const names[] = {"heavy-tailed.csv", "multi-tenant.csv", "gang-heavy.csv", "bursty.csv"};
  static const uint32_t sizes[][2] = {{1, 1}, {2, 2}, {3, 4}, {5, 8}, {9, HR_NONE}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct hr_trace *trace = reference(names[i]);
    struct hr_workload_model *model = fitted(trace);
    struct hr_trace *like = drawn(model, 30000, 5 + i);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
      CU_ASSERT(distance_of_run_times(trace, like, sizes[k][0], sizes[k][1], 200) < 0.04);
    CU_ASSERT(distance_between(trace, like, gpus_of) < 0.04);
    CU_ASSERT(distance_between(trace, like, limit_ratio_of) < 0.06);
    if (trace->class_) CU_ASSERT(distance_between(trace, like, class_of) < 0.05);
    for (uint32_t job = 1; job < like->n_jobs; job++) CU_ASSERT_FATAL(like->submit_us[job] >= like->submit_us[job - 1]);
    hr_trace_destroy(like);
    hr_workload_model_destroy(model);
    hr_trace_destroy(trace);
  }
}

/* ---- Planted numbers -------------------------------------------------------------------------------- */

enum { USERS = 60, PLANTED_JOBS = 30000 };
static const double planted_share = 0.5, planted_repeat = 0.6, planted_failed = 0.3;

static double normal(uint32_t stream, uint64_t number) {
  return gsl_cdf_ugaussian_Pinv((hr_random_below(1, stream, number, 1000000) + 0.5) / 1e6);
}

/* A trace with known parameters. Half of the variance of the logarithm of run times is between users. With probability
   0.6 a job repeats the request of the previous job of its user; else it requests 4 L4 with probability 1/4, or 1 T4.
   Jobs longer than the median fail with probability 0.3. The arrival rate from 12 to 13 h is three times the rate of
   the other hours. */
static struct hr_trace *planted_trace(void) {
  struct hr_trace_builder *builder = hr_trace_builder_create("planted", "memory");
  struct hr_trace *trace = NULL;
  struct hr_error error = {0};
  bool large[USERS] = {false};
  for (uint32_t i = 0; i < PLANTED_JOBS; i++) {
    struct hr_job_record record;
    char user[16];
    /* The slot is the position in the day of 26 jobs: one job per hour, and three at noon. */
    uint32_t user_number = hr_random_below(1, 1, i, USERS), slot = i % 26;
    if (hr_random_below(1, 2, i, 1000) >= planted_repeat * 1000) large[user_number] = hr_random_below(1, 3, i, 4) == 0;
    hr_job_record_init(&record);
    record.user = (struct hr_text){user, (size_t)snprintf(user, sizeof user, "u%u", user_number)};
    record.submit_us = (i / 26 * 24 + (slot < 24 ? slot : 12)) * 3600LL * HR_SECOND_US + i * 1000;
    double z = sqrt(planted_share) * normal(4, user_number) + sqrt(1 - planted_share) * normal(5, i);
    record.work_us = llround(exp(6 + z) * 1e6);
    record.gpus = large[user_number] ? 4 : 1;
    record.gpu_types = large[user_number] ? (struct hr_text){"L4", 2} : (struct hr_text){"T4", 2};
    record.outcome =
        z > 0 && hr_random_below(1, 6, i, 1000) < planted_failed * 1000 ? HR_OUTCOME_FAILED : HR_OUTCOME_COMPLETED;
    CU_ASSERT_EQUAL_FATAL(hr_trace_builder_add(builder, &record, i + 1, &error), HR_OK);
  }
  CU_ASSERT_EQUAL_FATAL(hr_trace_builder_finish(builder, false, false, &trace, &error), HR_OK);
  hr_trace_builder_destroy(builder);
  return trace;
}

static void expect_planted_parameters(const struct hr_workload_model *model, double slack) {
  CU_ASSERT_EQUAL_FATAL(model->n_sizes, 2);
  CU_ASSERT_EQUAL(model->n_users, USERS);
  CU_ASSERT_DOUBLE_EQUAL(model->jobs_per_day, 26, 0.3 * slack);
  CU_ASSERT_DOUBLE_EQUAL(model->repeat_probability, planted_repeat, 0.02 * slack);
  CU_ASSERT_DOUBLE_EQUAL(model->sizes[0].share, 0.75, 0.02 * slack);
  for (uint32_t hour = 0; hour < 24; hour++)
    CU_ASSERT_DOUBLE_EQUAL(model->hours[hour], hour == 12 ? 24 * 3 / 26.0 : 24 / 26.0, 0.06 * slack);
  for (uint32_t i = 0; i < 2; i++) {
    const struct hr_workload_model_size *size = &model->sizes[i];
    CU_ASSERT_EQUAL(size->n_requests, 1);
    CU_ASSERT_EQUAL(size->requests[0].gpus, i ? 4 : 1);
    CU_ASSERT_STRING_EQUAL(size->requests[0].gpu_type, i ? "L4" : "T4");
    CU_ASSERT_DOUBLE_EQUAL(size->user_share, planted_share, 0.08 * slack);
    CU_ASSERT_DOUBLE_EQUAL(size->failed[0], 0, 0.01 * slack);
    CU_ASSERT_DOUBLE_EQUAL(size->failed[4], planted_failed, 0.03 * slack);
    CU_ASSERT_DOUBLE_EQUAL(size->completed[5], 1 - planted_failed, 0.05 * slack);
  }
}

/* Fits the planted trace, then fits the jobs that are drawn from the fitted model. */
static void planted_parameters_are_fitted(void) {
  struct hr_trace *trace = planted_trace();
  struct hr_workload_model *model = fitted(trace);
  expect_planted_parameters(model, 1);
  struct hr_trace *like = drawn(model, PLANTED_JOBS, 3);
  struct hr_workload_model *again = fitted(like);
  expect_planted_parameters(again, 2);
  CU_ASSERT(distance_of_run_times(trace, like, 1, 1, 1000) < 0.02);
  CU_ASSERT(distance_of_run_times(trace, like, 4, 4, 1000) < 0.025);
  hr_workload_model_destroy(again);
  hr_trace_destroy(like);
  hr_workload_model_destroy(model);
  hr_trace_destroy(trace);
}

/* Run times have the quantiles of the model for any variance between users and any frequencies of users. */
static void run_times_have_the_quantiles_of_the_model(void) {
  enum { JOBS = 40000 };
  struct hr_workload_model *model = shipped("philly");
  model->repeat_probability = 0;
  model->n_sizes = 1;
  for (uint64_t seed = 1; seed <= 3; seed++) {
    model->sizes[0].user_share = 0.3 * (double)seed;
    struct hr_trace *like = drawn(model, JOBS, seed);
    for (uint32_t k = 10; k + 1 < HR_WORKLOAD_MODEL_RUN_KNOTS; k += 5) {
      double p = hr_workload_model_run_p[k], below = 0;
      for (uint32_t i = 0; i < JOBS; i++) below += (double)like->work_us[i] < model->sizes[0].run_s[k] * 1e6;
      CU_ASSERT_DOUBLE_EQUAL(below / JOBS, p, 0.002 + 4 * sqrt(p * (1 - p) / JOBS));
    }
    hr_trace_destroy(like);
  }
  hr_workload_model_destroy(model);
}

/* At a constant rate the number of jobs per hour has a variance equal to its mean. The rate of one weekday is half of
   the rate of the other days, and half as many jobs are drawn on it. */
static void arrivals_are_a_poisson_process(void) {
  enum { JOBS = 48000, HOURS = 24 * 70 };
  struct hr_workload_model *model = shipped("acme-kalos");
  model->jobs_per_day = 480;
  for (uint32_t i = 0; i < 24; i++) model->hours[i] = 1;
  for (uint32_t i = 0; i < 7; i++) model->weekdays[i] = i == 2 ? 0.5 : 1;
  struct hr_trace *like = drawn(model, JOBS, 9);
  static uint32_t jobs[HOURS];
  double other = 0, squares = 0, half = 0, n_other = 0, n_half = 0;
  for (uint32_t i = 0; i < JOBS; i++) {
    int64_t hour = (like->submit_us[i] + like->origin_us) / (3600 * HR_SECOND_US);
    if (hour < HOURS) jobs[hour]++;
  }
  for (uint32_t hour = 0; hour < HOURS; hour++) {
    bool is_half = hour / 24 % 7 == 2;
    *(is_half ? &half : &other) += jobs[hour];
    *(is_half ? &n_half : &n_other) += 1;
    squares += is_half ? 0 : (double)jobs[hour] * jobs[hour];
  }
  CU_ASSERT_DOUBLE_EQUAL(other / n_other, 20, 0.5);
  CU_ASSERT_DOUBLE_EQUAL(half / n_half, 10, 0.8);
  double mean = other / n_other, variance = squares / n_other - mean * mean;
  CU_ASSERT_DOUBLE_EQUAL(variance / mean, 1, 0.15); /* standard deviation: sqrt(2 / 1440) = 0.037 */
  hr_trace_destroy(like);
  hr_workload_model_destroy(model);
}

/* ---- Load and tails --------------------------------------------------------------------------------- */

static double mean_gpus_of(const struct hr_trace *trace) {
  double gpu_us = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++) gpu_us += (double)trace->gpus[i] * (double)trace->work_us[i];
  return gpu_us / (double)trace->submit_us[trace->n_jobs - 1];
}

static void the_load_is_the_requested_load(void) {
  struct hr_trace *steady = reference("steady.csv");
  struct hr_workload_model *model = fitted(steady);
  struct hr_error error;
  hr_trace_destroy(steady);
  struct hr_workload_model_spec spec;
  hr_workload_model_spec_init(&spec);
  spec.count = 150000;
  spec.load = 0.7;
  spec.nodes = 50;
  struct hr_workload_model_figures figures;
  const char *path = file_path("load.csv");
  CU_ASSERT_EQUAL_FATAL(hr_workload_model_generate(model, &spec, path, &figures, &error), HR_OK);
  struct hr_trace *trace = trace_at(path, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_DOUBLE_EQUAL(figures.mean_gpus / (0.7 * 50 * 8), 1, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL(mean_gpus_of(trace) / figures.mean_gpus, 1, 1e-6);
  CU_ASSERT_EQUAL(figures.jobs, 150000);
  CU_ASSERT_EQUAL(figures.users, trace->users.count);
  hr_trace_destroy(trace);
  hr_workload_model_destroy(model);
}

/* In the trace ten jobs ran for exactly seven days and none ran longer, so seven days are a maximum. No drawn job
   exceeds it. */
static void drawn_run_times_keep_the_maximum(void) {
  struct hr_trace *trace = reference("heavy-tailed.csv");
  struct hr_workload_model *model = fitted(trace);
  struct hr_trace *like = drawn(model, 100000, 1);
  int64_t longest_us = 0;
  for (uint32_t i = 0; i < like->n_jobs; i++)
    if (like->work_us[i] > longest_us) longest_us = like->work_us[i];
  CU_ASSERT_EQUAL(longest_us, 7 * 86400 * HR_SECOND_US);
  hr_trace_destroy(like);
  hr_workload_model_destroy(model);
  hr_trace_destroy(trace);
}

/* Run times have a Pareto distribution, whose mean depends on its tail. The mean of the drawn jobs is close to the mean
   of the sample, and no drawn job is longer than the longest of the sample. */
static void drawn_run_times_have_the_tail_of_the_sample(void) {
  enum { JOBS = 20000 };
  static char text[JOBS * 40];
  double mean = 0, drawn_mean = 0, longest = 0;
  size_t used = (size_t)sprintf(text, "submit_s,duration_s,gpus\n");
  for (int i = 0; i < JOBS; i++) {
    double run_s = 100 * exp(-log((i * 12347.0 - JOBS * floor(i * 12347.0 / JOBS) + 0.5) / JOBS) / 2);
    used += (size_t)sprintf(text + used, "%d,%.3f,1\n", i * 60, run_s);
    mean += run_s / JOBS;
    longest = fmax(longest, run_s);
  }
  struct hr_trace *trace = trace_of(text, NULL);
  struct hr_workload_model *model = fitted(trace);
  struct hr_trace *like = drawn(model, 200000, 1);
  for (uint32_t i = 0; i < like->n_jobs; i++) {
    drawn_mean += (double)like->work_us[i] / 1e6 / like->n_jobs;
    CU_ASSERT_FATAL((double)like->work_us[i] / 1e6 <= longest + 0.001);
  }
  CU_ASSERT_DOUBLE_EQUAL(drawn_mean / mean, 1, 0.04); /* standard error of the drawn mean: 0.01 */
  hr_trace_destroy(like);
  hr_workload_model_destroy(model);
  hr_trace_destroy(trace);
}

/* ---- Users ------------------------------------------------------------------------------------------ */

static void users_and_tenants_can_be_replaced(void) {
  struct hr_trace *trace = reference("multi-tenant.csv");
  struct hr_workload_model *model = fitted(trace);
  struct hr_error error;
  CU_ASSERT_EQUAL(hr_workload_model_set_people(model, 300, 7, &error), HR_OK);
  struct hr_trace *like = drawn(model, 20000, 2);
  uint32_t of_first = 0;
  CU_ASSERT(like->users.count > 250);
  CU_ASSERT_EQUAL(like->tenants.count, 7);
  for (uint32_t i = 0; i < like->n_jobs; i++) of_first += strcmp(like->users.text[like->user[i]], "user-1") == 0;
  double harmonic = 0;
  for (uint32_t i = 1; i <= 300; i++) harmonic += 1.0 / i;
  CU_ASSERT_DOUBLE_EQUAL(of_first / 20000.0, 1 / harmonic, 0.01); /* Zipf's law */
  uint32_t tenant_of[300];
  for (uint32_t i = 0; i < 300; i++) tenant_of[i] = HR_NONE;
  for (uint32_t i = 0; i < like->n_jobs; i++) {
    uint32_t *tenant = &tenant_of[like->user[i]];
    CU_ASSERT_FATAL(*tenant == HR_NONE || *tenant == like->tenant[i]); /* all jobs of a user have one tenant */
    *tenant = like->tenant[i];
  }
  hr_trace_destroy(like);
  hr_workload_model_destroy(model);
  hr_trace_destroy(trace);
}

/* ---- Reproducibility -------------------------------------------------------------------------------- */

static char *bytes_of(const char *path) {
  FILE *file = fopen(path, "rb");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  enum { ROOM = 1 << 24 };
  char *bytes = calloc(1, ROOM);
  CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
  CU_ASSERT(fread(bytes, 1, ROOM - 1, file) < ROOM - 1);
  fclose(file);
  return bytes;
}

static char *drawn_bytes(const struct hr_workload_model *model, uint64_t seed) {
  hr_trace_destroy(drawn(model, 3000, seed));
  return bytes_of(file_path("drawn.csv"));
}

static void a_written_model_draws_the_same_jobs(void) {
  struct hr_trace *trace = reference("multi-tenant.csv");
  struct hr_workload_model *model = fitted(trace), *read = NULL;
  struct hr_error error = {0};
  char path[200];
  snprintf(path, sizeof path, "%s", file_path("model.json"));
  CU_ASSERT_EQUAL_FATAL(hr_workload_model_write(model, path, &error), HR_OK);
  CU_ASSERT(hr_workload_model_is_file(path));
  CU_ASSERT_FALSE(hr_workload_model_is_file(REFERENCE "multi-tenant.csv"));
  CU_ASSERT_FALSE(hr_workload_model_is_file(PROJECT_DIR "/scenarios/demo.json"));
  if (hr_workload_model_load(path, &read, &error) != HR_OK) fprintf(stderr, "\n    %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(read);
  char *first = drawn_bytes(model, 1), *second = drawn_bytes(read, 1), *other = drawn_bytes(read, 2);
  CU_ASSERT_STRING_EQUAL(first, second);
  CU_ASSERT_STRING_NOT_EQUAL(first, other);
  free(first);
  free(second);
  free(other);
  hr_workload_model_destroy(read);
  hr_workload_model_destroy(model);
  hr_trace_destroy(trace);
}

/* Asserts that a model that is written, read and written again has the same file and draws the same jobs. */
static void expect_round_trip(const struct hr_workload_model *model) {
  struct hr_workload_model *read = NULL;
  struct hr_error error = {0};
  char path[200], again_path[200];
  snprintf(path, sizeof path, "%s", file_path("back.json"));
  snprintf(again_path, sizeof again_path, "%s", file_path("again.json"));
  CU_ASSERT_EQUAL_FATAL(hr_workload_model_write(model, path, &error), HR_OK);
  CU_ASSERT(hr_workload_model_is_file(path));
  if (hr_workload_model_load(path, &read, &error) != HR_OK) fprintf(stderr, "\n    %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(read);
  CU_ASSERT_EQUAL_FATAL(hr_workload_model_write(read, again_path, &error), HR_OK);
  char *written = bytes_of(path), *again = bytes_of(again_path);
  CU_ASSERT_STRING_EQUAL(written, again);
  free(written);
  free(again);
  char *first = drawn_bytes(model, 1), *second = drawn_bytes(read, 1);
  CU_ASSERT_STRING_EQUAL(first, second);
  free(first);
  free(second);
  hr_workload_model_destroy(read);
}

static void round_trips_of_shipped_models(void) {
  for (const char *const *name = hr_workload_model_names(); *name; name++) {
    struct hr_workload_model *model = shipped(*name);
    expect_round_trip(model);
    hr_workload_model_destroy(model);
  }
}

/* More users than a fit keeps, run times of thousands of years, numbers of many digits, long lists of GPU types. */
static void round_trips_of_uncommon_models(void) {
  struct hr_workload_model *model = shipped("acme-kalos");
  struct hr_error error = {0};
  CU_ASSERT_EQUAL_FATAL(hr_workload_model_set_people(model, 5000, 300, &error), HR_OK);
  model->jobs_per_day = 1234.56789012345678;
  expect_round_trip(model);
  hr_workload_model_destroy(model);
  struct hr_trace *trace = trace_of("submit_s,duration_s,gpus\n0,100000000000,1\n100,1e10,1\n", NULL);
  model = fitted(trace);
  expect_round_trip(model);
  hr_workload_model_destroy(model);
  hr_trace_destroy(trace);
  static char types[3000], text[sizeof types + 100];
  for (int i = 0; i < 100; i++) sprintf(types + strlen(types), "%sType-of-a-long-name-%d", i ? "|" : "", i);
  snprintf(text, sizeof text, "submit_s,duration_s,gpus,gpu_type\n0,10,1,%s\n", types);
  trace = trace_of(text, NULL);
  model = fitted(trace);
  expect_round_trip(model);
  hr_workload_model_destroy(model);
  hr_trace_destroy(trace);
}

static bool text_is_model(const char *text) {
  char path[200];
  snprintf(path, sizeof path, "%s", file_path("some.json"));
  FILE *file = fopen(path, "wb");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs(text, file);
  fclose(file);
  return hr_workload_model_is_file(path);
}

static void model_files_are_detected(void) {
  CU_ASSERT(text_is_model("{\"headroom_workload\":1}"));
  CU_ASSERT(text_is_model("{\"name\": \"a \\\"}{ b\", \"hours\": [1, {}], \"headroom_workload\": 2}"));
  CU_ASSERT_FALSE(text_is_model(""));
  CU_ASSERT_FALSE(text_is_model("{"));
  CU_ASSERT_FALSE(text_is_model("{\"name\": \"headroom_workload\"}"));
  CU_ASSERT_FALSE(text_is_model("{\"a\": {\"headroom_workload\": 1}}"));
  CU_ASSERT_FALSE(text_is_model("[\"headroom_workload\"]"));
  CU_ASSERT_FALSE(text_is_model("{\"a\": \"\\"));
}

/* Drawing ends if most weeks have no jobs. At a rate of one job in 10^12 days it ends with an error. */
static void low_rates_do_not_hang(void) {
  struct hr_workload_model *model = shipped("helios");
  struct hr_workload_model_spec spec;
  struct hr_error error = {0};
  hr_workload_model_spec_init(&spec);
  for (uint32_t i = 1; i < model->n_weeks; i++) model->weeks[i] = 0;
  struct hr_trace *like = drawn(model, 10000, 1);
  for (uint32_t i = 0; i < like->n_jobs; i++)
    CU_ASSERT_FATAL((like->submit_us[i] + like->origin_us) / (7 * 86400 * HR_SECOND_US) % model->n_weeks == 0);
  hr_trace_destroy(like);
  model->jobs_per_day = 1e-12;
  CU_ASSERT_EQUAL(hr_workload_model_generate(model, &spec, file_path("rare.csv"), NULL, &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "ask for fewer jobs or more load"));
  hr_workload_model_destroy(model);
}

/* A larger number of jobs with the same seed begins with the same jobs. */
static void larger_counts_begin_with_the_same_jobs(void) {
  struct hr_workload_model *model = shipped("philly");
  hr_trace_destroy(drawn(model, 1000, 4));
  char *few = bytes_of(file_path("drawn.csv"));
  hr_trace_destroy(drawn(model, 3000, 4));
  char *many = bytes_of(file_path("drawn.csv"));
  CU_ASSERT_EQUAL(strncmp(few, many, strlen(few)), 0);
  free(few);
  free(many);
  hr_workload_model_destroy(model);
}

/* ---- Edges ------------------------------------------------------------------------------------------ */

static void every_shipped_model_can_be_drawn(void) {
  for (const char *const *name = hr_workload_model_names(); *name; name++) {
    struct hr_workload_model *model = shipped(*name);
    CU_ASSERT_STRING_EQUAL(model->name, *name);
    hr_trace_destroy(drawn(model, 1, 1));
    hr_trace_destroy(drawn(model, 2000, 1));
    hr_workload_model_destroy(model);
  }
  struct hr_error error;
  struct hr_workload_model *model;
  CU_ASSERT_EQUAL(hr_workload_model_shipped("phily", &model, &error), HR_BAD_INPUT);
}

static void fit_and_draw(const char *text) {
  struct hr_trace *trace = trace_of(text, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  struct hr_workload_model *model = fitted(trace);
  hr_trace_destroy(drawn(model, 1000, 1));
  hr_workload_model_destroy(model);
  hr_trace_destroy(trace);
}

/* Jobs of 24 GPUs are short. All other jobs of 17 to 32 GPUs are long. The model has 24 GPUs as a separate size. */
static void frequent_numbers_of_gpus_are_separate_sizes(void) {
  enum { JOBS = 1600 };
  static char text[JOBS * 60];
  size_t used = (size_t)sprintf(text, "submit_s,duration_s,gpus,user\n");
  for (int i = 0; i < JOBS; i++) {
    int gpus = i % 2 ? 24 : 17 + i / 2 % 16, run_s = gpus == 24 ? 20 + i * 7919 % 100 : 20000 + i * 7919 % 9000;
    used += (size_t)sprintf(text + used, "%d,%d,%d,u%d\n", i * 600, run_s, gpus, i % 7);
  }
  struct hr_trace *trace = trace_of(text, NULL);
  struct hr_workload_model *model = fitted(trace);
  CU_ASSERT_EQUAL_FATAL(model->n_sizes, 3);
  CU_ASSERT_EQUAL(model->sizes[1].n_requests, 1);
  CU_ASSERT_EQUAL(model->sizes[1].requests[0].gpus, 24);
  struct hr_trace *like = drawn(model, 20000, 5);
  double distance = distance_of_run_times(trace, like, 24, 24, JOBS / 4);
  CU_ASSERT(distance >= 0 && distance < 0.1);
  hr_trace_destroy(like);
  hr_trace_destroy(trace);
  hr_workload_model_destroy(model);
}

static void small_traces_can_be_fitted(void) {
  fit_and_draw("submit_s,duration_s,gpus\n5,10,1\n");
  fit_and_draw("submit_s,duration_s,gpus\n5,0,1\n");
  fit_and_draw("submit_s,duration_s,gpus\n0,10,0\n100,20,0\n");
  fit_and_draw("submit_s,duration_s,gpus\n7,10,3\n7,10,3\n7,10,3\n7,10,3\n7,10,3\n7,10,3\n");
  fit_and_draw("submit_s,duration_s,gpus\n0,100000000000,4000000\n100000000000,1,1\n");
  fit_and_draw("submit_s,duration_s,gpus,user,limit_s,gpu_type\n2026-11-21,10,1,a,,T4\n2026-11-22,10,1,,20,T4|L4\n");
  fit_and_draw("submit_s,duration_s,gpus,gpu_type\n0,10,1,\"a, \"\"b\"\"\"\n9,10,1,\"a, \"\"b\"\"\"\n");
}

static bool spec_rejected(const struct hr_workload_model *model, const struct hr_workload_model_spec *spec,
                          const char *part) {
  struct hr_error error = {0};
  enum hr_status status = hr_workload_model_generate(model, spec, file_path("refused.csv"), NULL, &error);
  if (status != HR_BAD_INPUT || !strstr(error.text, part)) fprintf(stderr, "\n    %d %s\n", status, error.text);
  return status == HR_BAD_INPUT && strstr(error.text, part);
}

static void invalid_options_are_rejected(void) {
  struct hr_trace *trace = trace_of("submit_s,duration_s,gpus\n0,10,0\n100,20,0\n", NULL);
  struct hr_workload_model *model = fitted(trace);
  struct hr_workload_model_spec good, spec;
  hr_workload_model_spec_init(&good);
  spec = good;
  spec.count = 0;
  CU_ASSERT(spec_rejected(model, &spec, "count: 0 is not"));
  spec.count = HR_NONE;
  CU_ASSERT(spec_rejected(model, &spec, "from 1 to 4294967294"));
  spec = good;
  spec.load = (double)NAN;
  CU_ASSERT(spec_rejected(model, &spec, "load: nan"));
  spec.load = 0.5;
  CU_ASSERT(spec_rejected(model, &spec, "none of the drawn jobs requests GPUs"));
  spec = good;
  spec.nodes = 0;
  CU_ASSERT(spec_rejected(model, &spec, "0 nodes"));
  hr_workload_model_destroy(model);
  hr_trace_destroy(trace);
  model = shipped("acme-kalos");
  spec = good;
  spec.load = 1e-9;
  CU_ASSERT(spec_rejected(model, &spec, "270 years"));
  hr_workload_model_destroy(model);
}

/* ---- Model files ------------------------------------------------------------------------------------ */

/* Replaces the text `from` of a shipped model by `to`. Returns whether the model is rejected with an error that
   contains `part`. */
static bool model_rejected(const char *from, const char *to, const char *part) {
  char *text = bytes_of(PROJECT_DIR "/scenarios/workloads/helios.json"), *at = strstr(text, from);
  CU_ASSERT_PTR_NOT_NULL_FATAL(at);
  char path[200];
  snprintf(path, sizeof path, "%s", file_path("wrong.json"));
  FILE *file = fopen(path, "wb");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fprintf(file, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  fclose(file);
  free(text);
  struct hr_error error = {0};
  struct hr_workload_model *model = NULL;
  enum hr_status status = hr_workload_model_load(path, &model, &error);
  if (status != HR_BAD_INPUT || !strstr(error.text, part)) fprintf(stderr, "\n    %d %s\n", status, error.text);
  hr_workload_model_destroy(model);
  return status == HR_BAD_INPUT && strstr(error.text, part);
}

static void invalid_models_are_rejected(void) {
  CU_ASSERT(model_rejected("\"headroom_workload\": 2", "\"headroom_workload\": 1", "version 1 are no longer read"));
  CU_ASSERT(model_rejected("\"headroom_workload\": 2", "\"headroom_workload\": 3", "headroom_workload"));
  CU_ASSERT(model_rejected("\"hours\"", "\"hurs\"", "did you mean 'hours'"));
  CU_ASSERT(model_rejected("\"weekdays\": [", "\"weekdays\": [1, ", "weekdays"));
  CU_ASSERT(model_rejected("\"hours\": [", "\"hours\": [9", "the mean of these factors is "));
  CU_ASSERT(model_rejected("\"weekdays\": [", "\"weekdays\": [9", "the mean of these factors is "));
  CU_ASSERT(model_rejected("\"weeks\": [", "\"weeks\": [99", "the mean of these factors is "));
  CU_ASSERT(model_rejected("\"run_s\": [", "\"run_s\": [9", "quantiles never decrease"));
  CU_ASSERT(model_rejected("\"run_s\": [", "\"run_s\": [1, ", "run_s"));
  CU_ASSERT(model_rejected("\"run_s\": [", "\"user_share\": 1, \"run_s\": [", "user_share"));
  CU_ASSERT(model_rejected("\"repeat_probability\": 0", "\"repeat_probability\": 1", "repeat_probability"));
  CU_ASSERT(model_rejected("\"weeks\": [", "\"limit_share\": 0.5, \"weeks\": [", "needs 'limit_ratios'"));
  CU_ASSERT(model_rejected("\"completed\": [0.", "\"completed\": [1, 0.", "completed"));
  CU_ASSERT(model_rejected("\"cancelled\": [0.", "\"cancelled\": [0.9", "is above 1"));
  CU_ASSERT(model_rejected("{\"share\": 1, \"gpus\": 1}", "{\"share\": 0, \"gpus\": 1}", "all shares are 0"));
  CU_ASSERT(model_rejected("{\"share\": 1, \"gpus\": 1}", "{\"share\": 1, \"gpus\": 1, \"tasks\": 2}", "divided"));
}

TEST_MAIN("workload models", TEST(drawn_jobs_have_the_distributions_of_the_trace), TEST(planted_parameters_are_fitted),
          TEST(run_times_have_the_quantiles_of_the_model), TEST(arrivals_are_a_poisson_process),
          TEST(the_load_is_the_requested_load), TEST(drawn_run_times_keep_the_maximum),
          TEST(drawn_run_times_have_the_tail_of_the_sample), TEST(users_and_tenants_can_be_replaced),
          TEST(a_written_model_draws_the_same_jobs), TEST(round_trips_of_shipped_models),
          TEST(round_trips_of_uncommon_models), TEST(model_files_are_detected), TEST(low_rates_do_not_hang),
          TEST(larger_counts_begin_with_the_same_jobs), TEST(every_shipped_model_can_be_drawn),
          TEST(frequent_numbers_of_gpus_are_separate_sizes), TEST(small_traces_can_be_fitted),
          TEST(invalid_options_are_rejected), TEST(invalid_models_are_rejected))
