/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Workloads like another: what is fitted comes back, what is drawn has the laws of what it is like; fixed seeds. */
#include "harness.h"

#include "base/random.h"
#include "distance.h"
#include "headroom/base.h"
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

/* ---- Laws ------------------------------------------------------------------------------------------- */

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

static void drawn_jobs_have_the_laws_of_the_trace(void) {
  static const char *const names[] = {"heavy-tailed.csv", "multi-tenant.csv", "gang-heavy.csv", "bursty.csv"};
  static const uint32_t sizes[][2] = {{1, 1}, {2, 2}, {3, 4}, {5, 8}, {9, HR_NONE}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct hr_trace *trace = reference(names[i]);
    struct hr_like_model *model = fitted(trace);
    struct hr_trace *like = drawn(model, 30000, 5 + i);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
      CU_ASSERT(distance_of_run_times(trace, like, sizes[k][0], sizes[k][1], 200) < 0.04);
    CU_ASSERT(distance_between(trace, like, gpus_of) < 0.04);
    CU_ASSERT(distance_between(trace, like, limit_ratio_of) < 0.06);
    if (trace->class_) CU_ASSERT(distance_between(trace, like, class_of) < 0.05);
    for (uint32_t job = 1; job < like->n_jobs; job++) CU_ASSERT_FATAL(like->submit_us[job] >= like->submit_us[job - 1]);
    hr_trace_destroy(like);
    hr_like_destroy(model);
    hr_trace_destroy(trace);
  }
}

/* Jobs a day, hours, outcomes and how alike the jobs of campaigns are, of Helios' one-GPU jobs. */
static void what_was_drawn_is_fitted_again(void) {
  struct hr_like_model *model = shipped("helios");
  struct hr_trace *trace = drawn(model, 120000, 3);
  struct hr_like_model *again = fitted(trace);
  CU_ASSERT(again->n_weeks + 2 >= model->n_weeks && again->n_weeks <= model->n_weeks);
  CU_ASSERT_EQUAL_FATAL(again->n_bands, model->n_bands);
  for (uint32_t i = 0; i < model->n_bands; i++)
    CU_ASSERT_DOUBLE_EQUAL(again->bands[i].jobs_per_day / model->bands[i].jobs_per_day, 1, 0.08);
  struct hr_trace *other = drawn(model, 120000, 4);
  struct hr_like_model *of_other = fitted(other);
  for (uint32_t i = 0; i < 24; i++) /* few campaigns tell of an hour: the mean of two draws */
    CU_ASSERT_DOUBLE_EQUAL((again->hours[i] + of_other->hours[i]) / 2, model->hours[i], 0.2);
  hr_like_destroy(of_other);
  hr_trace_destroy(other);
  const struct hr_like_size *ones = &model->bands[0].sizes[0], *ones_again = &again->bands[0].sizes[0];
  for (uint32_t i = 0; i < HR_LIKE_STRATA; i++)
    CU_ASSERT_DOUBLE_EQUAL(ones_again->outcomes[i].completed, ones->outcomes[i].completed, 0.03);
  CU_ASSERT_EQUAL_FATAL(ones_again->n_cells, ones->n_cells);
  for (uint32_t i = 1; i < ones->n_cells; i++) {
    CU_ASSERT_DOUBLE_EQUAL(ones_again->cells[i].together, ones->cells[i].together, 0.15);
    for (uint32_t k = 1; k + 1 < HR_LIKE_KNOTS; k++)
      CU_ASSERT_DOUBLE_EQUAL(ones_again->cells[i].spreads[k], ones->cells[i].spreads[k], 0.2);
    CU_ASSERT(ones->cells[i].gaps_together > 0.25);
    CU_ASSERT_DOUBLE_EQUAL(ones_again->cells[i].gaps_together, ones->cells[i].gaps_together, 0.15);
    CU_ASSERT_DOUBLE_EQUAL(log(ones_again->cells[i].run_s[21] / ones->cells[i].run_s[21]), 0, 0.25);
  }
  hr_like_destroy(again);
  hr_trace_destroy(trace);
  hr_like_destroy(model);
}

static double mean_gpus_of(const struct hr_trace *trace) {
  double gpu_us = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++) gpu_us += (double)trace->gpus[i] * (double)trace->work_us[i];
  return gpu_us / (double)trace->submit_us[trace->n_jobs - 1];
}

static void the_load_is_what_was_asked_for(void) {
  struct hr_trace *steady = reference("steady.csv");
  struct hr_like_model *model = fitted(steady);
  struct hr_error error;
  hr_trace_destroy(steady);
  struct hr_like_spec spec;
  hr_like_spec_init(&spec);
  spec.count = 150000;
  spec.load = 0.7;
  spec.nodes = 50;
  struct hr_like_figures figures;
  const char *path = file_path("load.csv");
  CU_ASSERT_EQUAL_FATAL(hr_like_generate(model, &spec, path, &figures, &error), HR_OK);
  struct hr_trace *trace = trace_at(path, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_DOUBLE_EQUAL(mean_gpus_of(trace) / (0.7 * 50 * 8), 1, 0.005);
  CU_ASSERT_DOUBLE_EQUAL(figures.mean_gpus / mean_gpus_of(trace), 1, 1e-6);
  CU_ASSERT_EQUAL(figures.jobs, 150000);
  CU_ASSERT_EQUAL(figures.users, trace->users.count);
  hr_trace_destroy(trace);
  hr_like_destroy(model);
}

/* Ten of its jobs ran for exactly seven days, and none for longer: they were cut. */
static void nothing_goes_beyond_a_cut(void) {
  struct hr_trace *trace = reference("heavy-tailed.csv");
  struct hr_like_model *model = fitted(trace);
  struct hr_trace *like = drawn(model, 100000, 1);
  int64_t longest_us = 0;
  for (uint32_t i = 0; i < like->n_jobs; i++)
    if (like->work_us[i] > longest_us) longest_us = like->work_us[i];
  CU_ASSERT_EQUAL(longest_us, 7 * 86400 * HR_SECOND_US);
  hr_trace_destroy(like);
  hr_like_destroy(model);
  hr_trace_destroy(trace);
}

static void tails_go_beyond_the_sample(void) {
  struct hr_trace *trace = reference("gang-heavy.csv");
  struct hr_like_model *model = fitted(trace);
  struct hr_trace *like = drawn(model, 200000, 1);
  int64_t most_us = 0, most_like_us = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++) most_us = most_us > trace->work_us[i] ? most_us : trace->work_us[i];
  for (uint32_t i = 0; i < like->n_jobs; i++)
    most_like_us = most_like_us > like->work_us[i] ? most_like_us : like->work_us[i];
  CU_ASSERT(most_like_us > most_us);
  CU_ASSERT(most_like_us <= 4 * most_us + HR_SECOND_US);
  hr_trace_destroy(like);
  hr_like_destroy(model);
  hr_trace_destroy(trace);
}

/* ---- Users ------------------------------------------------------------------------------------------ */

enum { USERS = 12, JOBS_OF_USER = 150 };

/* Users whose jobs are, each in a different way, long: e^(u / 2) minutes for user u, spread by a factor of 2. */
static struct hr_trace *trace_of_users(void) {
  static char text[USERS * JOBS_OF_USER * 60];
  size_t used = (size_t)sprintf(text, "submit_s,duration_s,gpus,user,tenant\n");
  for (int i = 0; i < JOBS_OF_USER * USERS; i++) {
    int user = i * 7 % USERS, turn = i * 37 % 101;
    used += (size_t)sprintf(text + used, "%d,%.3f,1,u%d,t%d\n", i * 900, 60 * exp(user / 2.0 + (turn - 50) / 70.0),
                            user, user % 2);
  }
  struct hr_trace *trace = trace_of(text, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  return trace;
}

static void users_differ_as_they_did(void) {
  struct hr_trace *trace = trace_of_users();
  struct hr_like_model *model = fitted(trace);
  CU_ASSERT_EQUAL(model->n_users, USERS);
  CU_ASSERT_EQUAL(model->n_tenants, 2);
  CU_ASSERT(model->user_together > 0.7);
  struct hr_trace *like = drawn(model, 4000, 2);
  struct hr_like_model *again = fitted(like);
  CU_ASSERT_EQUAL(again->n_users, USERS);
  CU_ASSERT_DOUBLE_EQUAL(again->user_together, model->user_together, 0.25);
  hr_like_destroy(again);
  hr_trace_destroy(like);
  struct hr_error error;
  CU_ASSERT_EQUAL(hr_like_set_people(model, 300, 7, &error), HR_OK);
  like = drawn(model, 20000, 2);
  CU_ASSERT(like->users.count > 200);
  CU_ASSERT_EQUAL(like->tenants.count, 7);
  hr_trace_destroy(like);
  hr_like_destroy(model);
  hr_trace_destroy(trace);
}

/* ---- The same again --------------------------------------------------------------------------------- */

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

static char *drawn_bytes(const struct hr_like_model *model, uint64_t seed) {
  hr_trace_destroy(drawn(model, 3000, seed));
  return bytes_of(file_path("drawn.csv"));
}

static void a_written_model_draws_the_same(void) {
  struct hr_trace *trace = reference("multi-tenant.csv");
  struct hr_like_model *model = fitted(trace), *read = NULL;
  struct hr_error error = {0};
  char path[200];
  snprintf(path, sizeof path, "%s", file_path("model.json"));
  CU_ASSERT_EQUAL_FATAL(hr_like_write(model, path, &error), HR_OK);
  CU_ASSERT(hr_like_is_model(path));
  CU_ASSERT_FALSE(hr_like_is_model(REFERENCE "multi-tenant.csv"));
  CU_ASSERT_FALSE(hr_like_is_model(PROJECT_DIR "/scenarios/demo.json"));
  if (hr_like_load(path, &read, &error) != HR_OK) fprintf(stderr, "\n    %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(read);
  char *first = drawn_bytes(model, 1), *second = drawn_bytes(read, 1), *other = drawn_bytes(read, 2);
  CU_ASSERT_STRING_EQUAL(first, second);
  CU_ASSERT_STRING_NOT_EQUAL(first, other);
  free(first);
  free(second);
  free(other);
  hr_like_destroy(read);
  hr_like_destroy(model);
  hr_trace_destroy(trace);
}

/* What is written of a model is read again as just that model, and draws the same. */
static void reads_back(const struct hr_like_model *model) {
  struct hr_like_model *read = NULL;
  struct hr_error error = {0};
  char path[200], again_path[200];
  snprintf(path, sizeof path, "%s", file_path("back.json"));
  snprintf(again_path, sizeof again_path, "%s", file_path("again.json"));
  CU_ASSERT_EQUAL_FATAL(hr_like_write(model, path, &error), HR_OK);
  CU_ASSERT(hr_like_is_model(path));
  if (hr_like_load(path, &read, &error) != HR_OK) fprintf(stderr, "\n    %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(read);
  CU_ASSERT_EQUAL_FATAL(hr_like_write(read, again_path, &error), HR_OK);
  char *written = bytes_of(path), *again = bytes_of(again_path);
  CU_ASSERT_STRING_EQUAL(written, again);
  free(written);
  free(again);
  char *first = drawn_bytes(model, 1), *second = drawn_bytes(read, 1);
  CU_ASSERT_STRING_EQUAL(first, second);
  free(first);
  free(second);
  hr_like_destroy(read);
}

static void every_shipped_model_reads_back(void) {
  for (const char *const *name = hr_like_names(); *name; name++) {
    struct hr_like_model *model = shipped(*name);
    reads_back(model);
    hr_like_destroy(model);
  }
}

/* More users than are fitted, run times of thousands of years, numbers of many digits, long lists of types. */
static void uncommon_models_read_back(void) {
  struct hr_like_model *model = shipped("acme-kalos");
  struct hr_error error = {0};
  CU_ASSERT_EQUAL_FATAL(hr_like_set_people(model, 5000, 300, &error), HR_OK);
  model->bands[0].jobs_per_day = 1234.56789012345678;
  reads_back(model);
  hr_like_destroy(model);
  struct hr_trace *trace = trace_of("submit_s,duration_s,gpus\n0,100000000000,1\n100,1e10,1\n", NULL);
  model = fitted(trace);
  reads_back(model);
  hr_like_destroy(model);
  hr_trace_destroy(trace);
  static char types[3000], text[sizeof types + 100];
  for (int i = 0; i < 100; i++) sprintf(types + strlen(types), "%sType-of-a-long-name-%d", i ? "|" : "", i);
  snprintf(text, sizeof text, "submit_s,duration_s,gpus,gpu_type\n0,10,1,%s\n", types);
  trace = trace_of(text, NULL);
  model = fitted(trace);
  reads_back(model);
  hr_like_destroy(model);
  hr_trace_destroy(trace);
}

static bool text_is_model(const char *text) {
  char path[200];
  snprintf(path, sizeof path, "%s", file_path("some.json"));
  FILE *file = fopen(path, "wb");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs(text, file);
  fclose(file);
  return hr_like_is_model(path);
}

static void models_are_recognised(void) {
  CU_ASSERT(text_is_model("{\"headroom_workload\":1}"));
  CU_ASSERT(text_is_model("\xef\xbb\xbf {\"name\": \"a \\\"}{ b\", \"hours\": [1, {}], \"headroom_workload\": 1}"));
  CU_ASSERT_FALSE(text_is_model(""));
  CU_ASSERT_FALSE(text_is_model("{"));
  CU_ASSERT_FALSE(text_is_model("{\"name\": \"headroom_workload\"}"));
  CU_ASSERT_FALSE(text_is_model("{\"a\": {\"headroom_workload\": 1}}"));
  CU_ASSERT_FALSE(text_is_model("[\"headroom_workload\"]"));
  CU_ASSERT_FALSE(text_is_model("{\"a\": \"\\"));
}

/* A band of one job in a thousand million years neither hangs nor comes. */
static void rare_bands_do_not_hang(void) {
  struct hr_like_model *model = shipped("acme-kalos");
  model->bands[0].jobs_per_day = 1e-12;
  hr_trace_destroy(drawn(model, 100, 1));
  for (uint32_t i = 1; i < model->n_bands; i++) model->bands[i].jobs_per_day = 0;
  struct hr_like_spec spec;
  struct hr_error error = {0};
  hr_like_spec_init(&spec);
  CU_ASSERT_EQUAL(hr_like_generate(model, &spec, file_path("rare.csv"), NULL, &error), HR_BAD_INPUT);
  model->bands[0].jobs_per_day = 1; /* but no campaign in the time that there is */
  for (uint32_t i = 0; i < model->n_weeks; i++) model->bands[0].weeks[i] = 1e-9;
  CU_ASSERT_EQUAL(hr_like_generate(model, &spec, file_path("rare.csv"), NULL, &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "ask for fewer jobs or more load"));
  hr_like_destroy(model);
}

/* More jobs are the same jobs and others after them. */
static void more_jobs_begin_with_the_same(void) {
  struct hr_like_model *model = shipped("philly");
  hr_trace_destroy(drawn(model, 1000, 4));
  char *few = bytes_of(file_path("drawn.csv"));
  hr_trace_destroy(drawn(model, 3000, 4));
  char *many = bytes_of(file_path("drawn.csv"));
  CU_ASSERT_EQUAL(strncmp(few, many, strlen(few)), 0);
  free(few);
  free(many);
  hr_like_destroy(model);
}

/* ---- Edges ------------------------------------------------------------------------------------------ */

static void every_shipped_model_draws(void) {
  for (const char *const *name = hr_like_names(); *name; name++) {
    struct hr_like_model *model = shipped(*name);
    CU_ASSERT_STRING_EQUAL(model->name, *name);
    hr_trace_destroy(drawn(model, 1, 1));
    hr_trace_destroy(drawn(model, 2000, 1));
    hr_like_destroy(model);
  }
  struct hr_error error;
  struct hr_like_model *model;
  CU_ASSERT_EQUAL(hr_like_shipped("phily", &model, &error), HR_BAD_INPUT);
}

static void draws_like(const char *text) {
  struct hr_trace *trace = trace_of(text, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  struct hr_like_model *model = fitted(trace);
  hr_trace_destroy(drawn(model, 1000, 1));
  hr_like_destroy(model);
  hr_trace_destroy(trace);
}

/* Jobs of 24 GPUs are short, those of 17, 18, ... 32 long: 24 is told apart, the others are one size. */
static void frequent_numbers_of_gpus_are_sizes(void) {
  enum { JOBS = 1600 };
  static char text[JOBS * 60];
  size_t used = (size_t)sprintf(text, "submit_s,duration_s,gpus,user\n");
  for (int i = 0; i < JOBS; i++) {
    int gpus = i % 2 ? 24 : 17 + i / 2 % 16, run_s = gpus == 24 ? 20 + i * 7919 % 100 : 20000 + i * 7919 % 9000;
    used += (size_t)sprintf(text + used, "%d,%d,%d,u%d\n", i * 600, run_s, gpus, i % 7);
  }
  struct hr_trace *trace = trace_of(text, NULL);
  struct hr_like_model *model = fitted(trace);
  CU_ASSERT_EQUAL_FATAL(model->n_bands, 1);
  CU_ASSERT_EQUAL(model->bands[0].n_sizes, 3);
  CU_ASSERT_EQUAL(model->bands[0].sizes[1].n_asks, 1);
  CU_ASSERT_EQUAL(model->bands[0].sizes[1].asks[0].gpus, 24);
  struct hr_trace *like = drawn(model, 20000, 5);
  double distance = distance_of_run_times(trace, like, 24, 24, JOBS / 4);
  CU_ASSERT(distance >= 0 && distance < 0.1);
  hr_trace_destroy(like);
  hr_trace_destroy(trace);
  hr_like_destroy(model);
}

/* Jobs ten minutes apart, and once 120 at a time: of traces of that length it is in most, and once. */
static void a_campaign_that_comes_once_does_so(void) {
  enum { JOBS = 1700, LONG = 120, SEEDS = 40 };
  static char text[(JOBS + LONG) * 40];
  size_t used = (size_t)sprintf(text, "submit_s,duration_s,gpus\n");
  for (int i = 0; i < JOBS; i++) {
    used += (size_t)sprintf(text + used, "%d,%d,2\n", i * 600, 20 + i * 7919 % 100);
    for (int k = 0; i == JOBS / 2 && k < LONG; k++)
      used += (size_t)sprintf(text + used, "%d,%d,2\n", i * 600 + 5 + k * 4, 9000 + k * 31 % 1000);
  }
  struct hr_trace *trace = trace_of(text, NULL);
  struct hr_like_model *model = fitted(trace);
  int once = 0;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    struct hr_trace *like = drawn(model, JOBS + LONG, seed);
    int n_long = 0;
    for (uint32_t i = 0; i < like->n_jobs; i++) n_long += like->work_us[i] > 5000 * HR_SECOND_US;
    once += n_long > LONG / 2 && n_long < 3 * LONG / 2;
    hr_trace_destroy(like);
  }
  CU_ASSERT(once >= SEEDS * 8 / 10);
  hr_trace_destroy(trace);
  hr_like_destroy(model);
}

/* Of ten campaigns five have jobs as long as each other, and five jobs of all lengths. */
static void some_campaigns_are_more_alike_than_others(void) {
  enum { CAMPAIGNS = 60, JOBS = 20 };
  static char text[CAMPAIGNS * JOBS * 40];
  size_t used = (size_t)sprintf(text, "submit_s,duration_s,gpus\n");
  for (int i = 0; i < CAMPAIGNS; i++)
    for (int k = 0; k < JOBS; k++) {
      int run_s = i % 2 ? 50 + (i * JOBS + k) * 7919 % 1000 : 50 + i * 613 % 1000;
      used += (size_t)sprintf(text + used, "%d,%d,1\n", i * 20000 + k * 10, run_s);
    }
  struct hr_trace *trace = trace_of(text, NULL);
  struct hr_like_model *model = fitted(trace);
  struct hr_trace *like = drawn(model, 20000, 7);
  struct hr_like_model *again = fitted(like);
  for (int i = 0; i < 2; i++) {
    const struct hr_like_size *size = &(i ? again : model)->bands[0].sizes[0];
    const double *spreads = size->cells[size->n_cells - 1].spreads;
    CU_ASSERT(spreads[2] < 0.1 && spreads[4] > 0.7);
  }
  hr_like_destroy(again);
  hr_trace_destroy(like);
  hr_like_destroy(model);
  hr_trace_destroy(trace);
}

/* 60 campaigns of 60 jobs, at all hours; each job runs just as long as the one before it with that probability. */
static struct hr_trace *campaigns_that_repeat(double alike) {
  enum { CAMPAIGNS = 60, JOBS = 60 };
  struct hr_trace_builder *builder = hr_trace_builder_create("repeats", "memory");
  struct hr_trace *trace = NULL;
  struct hr_error error = {0};
  double run_s = 0;
  for (uint32_t i = 0; i < CAMPAIGNS * JOBS; i++) {
    struct hr_job_record record;
    hr_job_record_init(&record);
    if (i % JOBS == 0 || hr_random_below(1, 1, i, 1000) >= alike * 1000)
      run_s = exp(5 + 0.003 * hr_random_below(1, 2, i, 1000));
    record.submit_us = (i / JOBS * 100000LL + i % JOBS * 10) * HR_SECOND_US;
    record.work_us = llround(run_s * 1000) * 1000;
    record.gpus = 1;
    CU_ASSERT_EQUAL(hr_trace_builder_add(builder, &record, i + 1, &error), HR_OK);
  }
  CU_ASSERT_EQUAL_FATAL(hr_trace_builder_finish(builder, false, false, &trace, &error), HR_OK);
  hr_trace_builder_destroy(builder);
  return trace;
}

/* The share of the jobs that run to the millisecond as long as the one submitted before them. */
static double share_that_repeats(const struct hr_trace *trace) {
  uint32_t n = 0;
  for (uint32_t i = 1; i < trace->n_jobs; i++) n += trace->work_us[i] == trace->work_us[i - 1];
  return (double)n / (trace->n_jobs - 1);
}

static void jobs_in_a_row_run_alike(void) {
  const double often[] = {0, 0.3, 0.7};
  for (uint32_t i = 0; i < 3; i++) {
    struct hr_trace *trace = campaigns_that_repeat(often[i]);
    struct hr_like_model *model = fitted(trace);
    struct hr_trace *like = drawn(model, 20000, 5);
    CU_ASSERT_EQUAL_FATAL(model->bands[0].sizes[0].n_cells, 1);
    for (uint32_t pause = 0; pause < HR_LIKE_PAUSES; pause++)
      CU_ASSERT_DOUBLE_EQUAL(model->bands[0].sizes[0].cells[0].alike[pause], often[i], 0.06);
    CU_ASSERT_DOUBLE_EQUAL(share_that_repeats(like), share_that_repeats(trace), 0.06);
    hr_trace_destroy(like);
    hr_like_destroy(model);
    hr_trace_destroy(trace);
  }
}

/* Campaigns of 100 jobs each, 2 s apart, whose run times are a level's, which keeps 0.97 of itself from job to job, as
   to six tenths of their variance, and their own as to the rest. */
static struct hr_trace *campaigns_that_hold_on(void) {
  enum { CAMPAIGNS = 100, JOBS = 100 };
  static char text[CAMPAIGNS * JOBS * 40];
  size_t used = (size_t)sprintf(text, "submit_s,duration_s,gpus\n");
  struct hr__stream stream;
  hr__stream_init(&stream, 1, HR__PURPOSE_LIKE_JOBS, 0, 0);
  double level = 0;
  for (int i = 0; i < CAMPAIGNS * JOBS; i++) {
    double held = i % JOBS ? 0.97 : 0;
    level = held * level + sqrt(1 - held * held) * gsl_cdf_ugaussian_Pinv(hr__stream_uniform(&stream));
    double own = gsl_cdf_ugaussian_Pinv(hr__stream_uniform(&stream));
    used += (size_t)sprintf(text + used, "%d,%.3f,1\n", i / JOBS * 30000 + i % JOBS * 2,
                            exp(7 + sqrt(0.6) * level + sqrt(0.4) * own));
  }
  struct hr_trace *trace = trace_of(text, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  return trace;
}

/* Of the logarithms of run times, within runs of 100 jobs. */
static double correlation_at(const struct hr_trace *trace, uint32_t lag) {
  enum { JOBS = 100 };
  double product = 0, square = 0;
  for (uint32_t first = 0; first + JOBS <= trace->n_jobs; first += JOBS) {
    double logs[JOBS], mean = 0;
    for (uint32_t k = 0; k < JOBS; k++) mean += (logs[k] = log((double)trace->work_us[first + k])) / JOBS;
    for (uint32_t k = lag; k < JOBS; k++) product += (logs[k] - mean) * (logs[k - lag] - mean) / (JOBS - lag);
    for (uint32_t k = 0; k < JOBS; k++) square += (logs[k] - mean) * (logs[k] - mean) / JOBS;
  }
  return product / square;
}

static void levels_hold_on_as_they_did(void) {
  struct hr_trace *trace = campaigns_that_hold_on();
  struct hr_like_model *model = fitted(trace);
  CU_ASSERT_EQUAL_FATAL(model->bands[0].sizes[0].n_cells, 1);
  const struct hr_like_cell *cell = &model->bands[0].sizes[0].cells[0];
  CU_ASSERT_DOUBLE_EQUAL(cell->steady, 0.6, 0.15);
  CU_ASSERT(cell->holds[1] > 0.85 && cell->alike[1] < 0.05);
  struct hr_trace *like = drawn(model, trace->n_jobs, 3);
  for (uint32_t lag = 1; lag <= 16; lag *= 4)
    CU_ASSERT_DOUBLE_EQUAL(correlation_at(like, lag), correlation_at(trace, lag), 0.15);
  CU_ASSERT(correlation_at(like, 4) > 0.2); /* far more than that of two in a row to the fourth power */
  hr_trace_destroy(like);
  hr_like_destroy(model);
  hr_trace_destroy(trace);
}

/* Jobs of one submitter with ten minutes between them are a sitting's; of nobody knows whom they are apart. */
static void sittings_are_campaigns(void) {
  enum { SITTINGS = 40, JOBS = 12 };
  static char text[2][SITTINGS * JOBS * 40];
  double longest[2];
  for (int told = 0; told < 2; told++) {
    size_t used = (size_t)sprintf(text[told], "submit_s,duration_s,gpus%s\n", told ? ",user" : "");
    for (int i = 0; i < SITTINGS * JOBS; i++)
      used += (size_t)sprintf(text[told] + used, "%d,%d,1%s\n", i / JOBS * 20000 + i % JOBS * 600, 60 + i * 7 % 50,
                              told ? ",u" : "");
    struct hr_trace *trace = trace_of(text[told], NULL);
    struct hr_like_model *model = fitted(trace);
    const struct hr_like_size *size = &model->bands[0].sizes[0];
    longest[told] = size->cells[size->n_cells - 1].jobs[HR_LIKE_KNOTS - 1];
    hr_like_destroy(model);
    hr_trace_destroy(trace);
  }
  CU_ASSERT_EQUAL(longest[0], 1);
  CU_ASSERT_EQUAL(longest[1], JOBS);
}

static void poor_traces_will_do(void) {
  draws_like("submit_s,duration_s,gpus\n5,10,1\n");
  draws_like("submit_s,duration_s,gpus\n5,0,1\n");
  draws_like("submit_s,duration_s,gpus\n0,10,0\n100,20,0\n");
  draws_like("submit_s,duration_s,gpus\n7,10,3\n7,10,3\n7,10,3\n7,10,3\n7,10,3\n7,10,3\n");
  draws_like("submit_s,duration_s,gpus\n0,100000000000,4000000\n100000000000,1,1\n");
  draws_like("submit_s,duration_s,gpus,user,limit_s,gpu_type\n2026-11-21,10,1,a,,T4\n2026-11-22,10,1,,20,T4|L4\n");
  draws_like("submit_s,duration_s,gpus,gpu_type\n0,10,1,\"a, \"\"b\"\"\"\n9,10,1,\"a, \"\"b\"\"\"\n");
}

static bool spec_refused(const struct hr_like_model *model, const struct hr_like_spec *spec, const char *part) {
  struct hr_error error = {0};
  enum hr_status status = hr_like_generate(model, spec, file_path("refused.csv"), NULL, &error);
  if (status != HR_BAD_INPUT || !strstr(error.text, part)) fprintf(stderr, "\n    %d %s\n", status, error.text);
  return status == HR_BAD_INPUT && strstr(error.text, part);
}

static void what_cannot_be_is_refused(void) {
  struct hr_trace *trace = trace_of("submit_s,duration_s,gpus\n0,10,0\n100,20,0\n", NULL);
  struct hr_like_model *model = fitted(trace);
  struct hr_like_spec good, spec;
  hr_like_spec_init(&good);
  spec = good;
  spec.count = 0;
  CU_ASSERT(spec_refused(model, &spec, "count: 0 is not"));
  spec.count = HR_NONE;
  CU_ASSERT(spec_refused(model, &spec, "from 1 to 4294967294"));
  spec = good;
  spec.load = (double)NAN;
  CU_ASSERT(spec_refused(model, &spec, "load: nan"));
  spec.load = 0.5;
  CU_ASSERT(spec_refused(model, &spec, "asks for GPUs"));
  spec = good;
  spec.nodes = 0;
  CU_ASSERT(spec_refused(model, &spec, "0 nodes"));
  hr_like_destroy(model);
  hr_trace_destroy(trace);
  model = shipped("acme-kalos");
  spec = good;
  spec.load = 1e-9;
  CU_ASSERT(spec_refused(model, &spec, "270 years"));
  hr_like_destroy(model);
}

/* ---- Model files ------------------------------------------------------------------------------------ */

/* A shipped model with `from` of its text changed to `to`; what reading it says. */
static bool model_refused(const char *from, const char *to, const char *part) {
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
  struct hr_like_model *model = NULL;
  enum hr_status status = hr_like_load(path, &model, &error);
  if (status != HR_BAD_INPUT || !strstr(error.text, part)) fprintf(stderr, "\n    %d %s\n", status, error.text);
  hr_like_destroy(model);
  return status == HR_BAD_INPUT && strstr(error.text, part);
}

static void wrong_models_are_refused(void) {
  CU_ASSERT(model_refused("\"headroom_workload\": 1", "\"headroom_workload\": 2", "headroom_workload"));
  CU_ASSERT(model_refused("\"hours\"", "\"hurs\"", "did you mean 'hours'"));
  CU_ASSERT(model_refused("\"weekdays\": [", "\"weekdays\": [1, ", "weekdays"));
  CU_ASSERT(model_refused("\"hours\": [", "\"hours\": [9", "the mean of these factors is "));
  CU_ASSERT(model_refused("\"weekdays\": [", "\"weekdays\": [9", "the mean of these factors is "));
  CU_ASSERT(model_refused("\"weeks\": [", "\"weeks\": [99", "the mean of these factors is "));
  CU_ASSERT(model_refused("\"jobs\": [1, ", "\"jobs\": [2, ", "quantiles rise"));
  CU_ASSERT(model_refused("\"spreads\": [", "\"spreads\": [1, ", "spreads"));
  CU_ASSERT(model_refused("\"spreads\": [0.", "\"spreads\": [1.", "spreads"));
  CU_ASSERT(model_refused("\"levels\": [", "\"levels\": [9, ", "levels"));
  CU_ASSERT(model_refused("\"levels\": [1.", "\"levels\": [9.", "2. number is less than the one before it"));
  CU_ASSERT(model_refused("\"admits\": [0.", "\"admits\": [0.0", "above higher levels less begins"));
  CU_ASSERT(model_refused("\"admits\": [0.", "\"admits\": [0, 0.", "admits"));
  CU_ASSERT(model_refused("\"admits\": [0.", "\"admits\": [1.", "admits"));
  CU_ASSERT(model_refused("\"trend_admits\": [0.", "\"trend_admits\": [0.0", "above higher levels less begins"));
  CU_ASSERT(
      model_refused("\"trend_levels\": [1.", "\"trend_levels\": [9.", "2. number is less than the one before it"));
  CU_ASSERT(model_refused("\"trend\": [", "\"trend\": [1, ", "as many numbers as weeks"));
  CU_ASSERT(model_refused("\"trend\": [0.", "\"trend\": [-1.", "trend"));
  CU_ASSERT(model_refused("\"alike\": [0.", "\"alike\": [1.", "alike"));
  CU_ASSERT(model_refused("\"alike\": [", "\"alike\": [0, ", "alike"));
  CU_ASSERT(model_refused("\"holds\": [", "\"holds\": [-1, ", "holds"));
  CU_ASSERT(model_refused("\"steady\": 0.", "\"steady\": 2.", "steady"));
  CU_ASSERT(model_refused("\"weeks\": [", "\"weeks\": [1, ", "as many numbers as weeks"));
  CU_ASSERT(model_refused("{\"share\": 1, \"gpus\": 1}", "{\"share\": 0, \"gpus\": 1}", "all shares are 0"));
  CU_ASSERT(model_refused("{\"share\": 1, \"gpus\": 1}", "{\"share\": 1, \"gpus\": 1, \"tasks\": 2}", "divisor"));
  CU_ASSERT(model_refused("{\"completed\": 0.", "{\"completed\": 1, \"failed\": 1, \"cancelled\": 0.", "second time"));
}

TEST_MAIN("workloads like another", TEST(drawn_jobs_have_the_laws_of_the_trace), TEST(what_was_drawn_is_fitted_again),
          TEST(the_load_is_what_was_asked_for), TEST(nothing_goes_beyond_a_cut), TEST(tails_go_beyond_the_sample),
          TEST(users_differ_as_they_did), TEST(a_written_model_draws_the_same), TEST(every_shipped_model_reads_back),
          TEST(uncommon_models_read_back), TEST(models_are_recognised), TEST(rare_bands_do_not_hang),
          TEST(more_jobs_begin_with_the_same), TEST(every_shipped_model_draws),
          TEST(frequent_numbers_of_gpus_are_sizes), TEST(a_campaign_that_comes_once_does_so),
          TEST(some_campaigns_are_more_alike_than_others), TEST(jobs_in_a_row_run_alike),
          TEST(levels_hold_on_as_they_did), TEST(sittings_are_campaigns), TEST(poor_traces_will_do),
          TEST(what_cannot_be_is_refused), TEST(wrong_models_are_refused))
