/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drawn workloads as they go on: demand counted right, users who hold back, a begin in the middle of things, the load.
 */
#include "harness.h"

#include "base/random.h"
#include "distance.h"
#include "headroom/base.h"
#include "trace_files.h"
#include "workload/like_demand.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t day_us = 86400 * HR_SECOND_US;

/* ---- Demand ----------------------------------------------------------------------------------------- */

enum { JOBS = 60, END_S = 3000 };

struct plain_job {
  int submit_s, run_s, gpus;
};

/* GPUs in use in the second from `at_s` on, counted job by job. */
static int in_use(const struct plain_job *jobs, int at_s) {
  int gpus = 0;
  for (int i = 0; i < JOBS; i++)
    if (jobs[i].submit_s <= at_s && at_s < jobs[i].submit_s + jobs[i].run_s) gpus += jobs[i].gpus;
  return gpus;
}

static void take_demand(const struct plain_job *jobs, int from_s, struct hr__like_demand *demand) {
  hr__like_demand_init(demand, 0, from_s * 1000LL, 64, (struct hr__trend){0});
  for (int i = 0; i < JOBS; i++) {
    hr__like_demand_advance(demand, jobs[i].submit_s * 1000LL);
    CU_ASSERT_EQUAL(hr__like_demand_add(demand, jobs[i].run_s * 1000LL, (uint64_t)jobs[i].gpus * 1000), HR_OK);
    CU_ASSERT_EQUAL(demand->in_use_milli, (uint64_t)in_use(jobs, jobs[i].submit_s) * 1000);
  }
  hr__like_demand_advance(demand, END_S * 1000LL);
}

static int below(struct hr__stream *stream, uint32_t end) {
  return (int)(hr__stream_next(stream) % end);
}

static void demand_is_what_runs(void) {
  struct hr__stream stream;
  hr__stream_init(&stream, 5, HR__PURPOSE_SAMPLE, 0, 0);
  for (int round = 0; round < 50; round++) {
    struct plain_job jobs[JOBS];
    int from_s = below(&stream, 1000), above[40] = {0};
    double gpu_s = 0;
    for (int i = 0, at_s = 0; i < JOBS; i++) {
      at_s += 1 + below(&stream, 40);
      jobs[i] = (struct plain_job){at_s, below(&stream, 300), below(&stream, 4)};
    }
    for (int at_s = from_s; at_s < END_S; at_s++) {
      gpu_s += in_use(jobs, at_s);
      for (int level = 0; level < 40; level++) above[level] += in_use(jobs, at_s) > level;
    }
    struct hr__like_demand demand;
    take_demand(jobs, from_s, &demand);
    CU_ASSERT_DOUBLE_EQUAL(hr__like_demand_mean(&demand), gpu_s / (END_S - from_s), 1e-9);
    for (int level = 0; level < 40; level++) {
      double share = hr__like_demand_share_above(&demand, HR_LIKE_BY_MEAN, level + 1);
      CU_ASSERT_DOUBLE_EQUAL(share, (double)above[level] / (END_S - from_s), 1e-9);
    }
    for (int tenth = 0; tenth < 10; tenth++) {
      double p = tenth / 10.0 + 0.0503;
      int level = 0;
      while (1 - (double)above[level] / (END_S - from_s) < p) level++;
      double quantile = hr__like_demand_quantile(&demand, HR_LIKE_BY_MEAN, p);
      CU_ASSERT(quantile >= level && quantile <= level + 1);
    }
    hr__like_demand_finish(&demand);
  }
}

/* Between the middles of weeks the trend is a straight line; before the first it stays, after the last it goes on to
   the first. */
static void the_trend_joins_the_weeks(void) {
  enum { WEEK_MS = 7 * 86400 * 1000, FROM_MS = -1000 };
  const double weeks[] = {1, 3, 2};
  const struct hr__trend trend = {.weeks = weeks, .n_weeks = 3, .from_ms = FROM_MS}, none = {0};
  const double at[][2] = {{-4, 1},  {0, 1},   {0.5, 1}, {1, 2},      {1.5, 3},  {2, 2.5},
                          {2.5, 2}, {3, 1.5}, {3.5, 1}, {4.25, 2.5}, {30, 1.5}, {31.5, 3}};
  for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
    CU_ASSERT_DOUBLE_EQUAL(hr__trend_at(trend, FROM_MS + (int64_t)(at[i][0] * WEEK_MS)), at[i][1], 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(hr__trend_at(none, (int64_t)(at[i][0] * WEEK_MS)), 1, 0);
  }
}

/* Two GPUs in use all the time, over a trend of 1 and then 2: by the trend they are 2, then 1. */
static void demand_is_measured_by_the_trend(void) {
  enum { WEEK_MS = 7 * 86400 * 1000 };
  const double weeks[] = {1, 2};
  struct hr__like_demand demand;
  hr__like_demand_init(&demand, 0, 0, 2, (struct hr__trend){.weeks = weeks, .n_weeks = 2});
  CU_ASSERT_EQUAL(hr__like_demand_add(&demand, 2LL * WEEK_MS, 2000), HR_OK);
  for (int64_t hour = 1; hour <= 252; hour++) hr__like_demand_advance(&demand, hour * 3600000);
  CU_ASSERT_DOUBLE_EQUAL(hr__like_demand_now(&demand, HR_LIKE_BY_MEAN, 0), 2, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(hr__like_demand_now(&demand, HR_LIKE_BY_TREND, 0), 1, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(hr__like_demand_now(&demand, HR_LIKE_BY_TREND, 1000), 1.5, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(hr__like_demand_share_above(&demand, HR_LIKE_BY_MEAN, 1.9), 1, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(hr__like_demand_share_above(&demand, HR_LIKE_BY_TREND, 1.9), 1.0 / 3, 0.05);
  CU_ASSERT_DOUBLE_EQUAL(hr__like_demand_quantile(&demand, HR_LIKE_BY_TREND, 0.9), 2, 0.05);
  hr__like_demand_finish(&demand);
}

/* ---- Holding back ----------------------------------------------------------------------------------- */

/* The share of the time at which jobs in use by themselves would be above `level` times their mean. */
static double time_above(const struct hr_trace *trace, double level) {
  struct hr__like_demand demand;
  double gpu_us = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++) gpu_us += (double)trace->gpus[i] * (double)trace->work_us[i];
  double mean = gpu_us / (double)trace->submit_us[trace->n_jobs - 1];
  hr__like_demand_init(&demand, 0, 0, mean, (struct hr__trend){0});
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    hr__like_demand_advance(&demand, trace->submit_us[i] / 1000);
    CU_ASSERT_EQUAL(hr__like_demand_add(&demand, trace->work_us[i] / 1000, trace->gpus[i] * 1000ULL), HR_OK);
  }
  double share = hr__like_demand_share_above(&demand, HR_LIKE_BY_MEAN, level * mean);
  hr__like_demand_finish(&demand);
  return share;
}

/* From the level `from` on, of 1.1, 1.2, ... times the mean, few campaigns begin; from HR_LIKE_LEVELS on none is held.
 */
static void hold_back(struct hr_like_model *model, uint32_t from) {
  for (uint32_t i = 0; i < HR_LIKE_LEVELS; i++) {
    model->holding[HR_LIKE_BY_MEAN].levels[i] = from < HR_LIKE_LEVELS ? 1.1 + 0.1 * i : 0;
    model->holding[HR_LIKE_BY_MEAN].admits[i] = i < from ? 1 : 0.05;
    model->holding[HR_LIKE_BY_TREND].levels[i] = 0;
    model->holding[HR_LIKE_BY_TREND].admits[i] = 1;
  }
}

static bool hour_of(const struct hr_trace *trace, uint32_t job, double *value) {
  *value = (double)((trace->submit_us[job] + trace->origin_us) / (3600 * HR_SECOND_US) % 24);
  return true;
}

static bool gpus_of(const struct hr_trace *trace, uint32_t job, double *value) {
  *value = trace->gpus[job];
  return true;
}

static void users_hold_back_when_much_runs(void) {
  struct hr_like_model *model = shipped("helios");
  hold_back(model, HR_LIKE_LEVELS);
  struct hr_trace *open = drawn(model, 60000, 4);
  hold_back(model, 2);
  struct hr_trace *held = drawn(model, 60000, 4);
  CU_ASSERT(time_above(open, 1.5) > 0.08);
  CU_ASSERT(time_above(held, 1.5) < time_above(open, 1.5) / 4);
  CU_ASSERT(distance_between(open, held, gpus_of) < 0.02);
  CU_ASSERT(distance_between(open, held, hour_of) < 0.02);
  CU_ASSERT(distance_of_run_times(open, held, 1, HR_NONE, 1) < 0.02);
  hr_trace_destroy(held);
  hr_trace_destroy(open);
  hr_like_destroy(model);
}

/* What held users back is found again; where nothing did, next to nothing is found. */
static void what_held_back_is_fitted_again(void) {
  struct hr_like_model *model = shipped("helios");
  hold_back(model, 2);
  struct hr_trace *trace = drawn(model, 60000, 6);
  struct hr_like_model *again = fitted(trace);
  printf("\n    begin at the highest levels: %.2f held back", again->holding[HR_LIKE_BY_MEAN].admits[7]);
  CU_ASSERT(again->holding[HR_LIKE_BY_MEAN].admits[7] < 0.25);
  struct hr_trace *like = drawn(again, 60000, 7);
  CU_ASSERT_DOUBLE_EQUAL(time_above(like, again->holding[HR_LIKE_BY_MEAN].levels[4]), 0.05, 0.03);
  hr_trace_destroy(like);
  hr_like_destroy(again);
  hr_trace_destroy(trace);
  hold_back(model, HR_LIKE_LEVELS);
  trace = drawn(model, 60000, 6);
  again = fitted(trace);
  CU_ASSERT(again->holding[HR_LIKE_BY_MEAN].levels[0] > 0.8 && again->holding[HR_LIKE_BY_MEAN].levels[0] < 1.3);
  printf(", %.2f not ", again->holding[HR_LIKE_BY_MEAN].admits[7]);
  CU_ASSERT(again->holding[HR_LIKE_BY_MEAN].admits[7] > 0.5);
  hr_like_destroy(again);
  hr_trace_destroy(trace);
  hr_like_destroy(model);
}

/* ---- The weeks -------------------------------------------------------------------------------------- */

/* GPUs in demand in each of `n` weeks, on average. */
static void sum_weeks(const struct hr_trace *trace, double *weeks, uint32_t n) {
  const double week_us = 7 * 86400e6;
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    double from = (double)(trace->submit_us[i] + trace->origin_us) / week_us;
    double to = from + (double)trace->work_us[i] / week_us;
    for (uint32_t k = (uint32_t)from; k < n && k < to; k++)
      weeks[k] += trace->gpus[i] * (fmin(to, k + 1.0) - fmax(from, (double)k));
  }
}

/* Weeks from `from` to `to` in which the same jobs come, but run five times as long in every third. */
static struct hr_trace *uneven_weeks(double from, double to) {
  struct hr_trace_builder *builder = hr_trace_builder_create("weeks", "memory");
  struct hr_trace *trace = NULL;
  struct hr_error error = {0};
  for (uint32_t i = (uint32_t)(from * 500); i < (uint32_t)(to * 500); i++) {
    struct hr_job_record record;
    hr_job_record_init(&record);
    double week = (i + 0.5) / 500;
    record.submit_us = llround(week * 7 * 86400e6);
    double usual_s = exp(7 + 0.002 * hr_random_below(3, 1, i, 1000));
    record.work_us = llround(usual_s * ((uint32_t)week % 3 == 0 ? 5 : 1) * 1e6);
    record.gpus = 1;
    CU_ASSERT_EQUAL(hr_trace_builder_add(builder, &record, i + 1, &error), HR_OK);
  }
  CU_ASSERT_EQUAL_FATAL(hr_trace_builder_finish(builder, false, false, &trace, &error), HR_OK);
  hr_trace_builder_destroy(builder);
  return trace;
}

/* Twelve uneven weeks: so it is with what is drawn, though their demand is steadier than chance ever has it, and no
 * holding back brings drawn demand that near. */
static void weeks_have_the_demand_that_they_had(void) {
  enum { WEEKS = 12, SEEDS = 4 };
  struct hr_trace *trace = uneven_weeks(0, WEEKS);
  struct hr_like_model *model = fitted(trace);
  CU_ASSERT_EQUAL_FATAL(model->n_weeks, WEEKS);
  double had[WEEKS] = {0}, drew[WEEKS] = {0};
  sum_weeks(trace, had, WEEKS);
  for (uint32_t seed = 1; seed <= SEEDS; seed++) {
    struct hr_trace *like = drawn(model, trace->n_jobs * 2, seed);
    sum_weeks(like, drew, WEEKS);
    hr_trace_destroy(like);
  }
  for (uint32_t i = 0; i < WEEKS; i += 3) {
    CU_ASSERT_DOUBLE_EQUAL(drew[i] / SEEDS / had[i], 1, 0.2);
    CU_ASSERT(drew[i + 1] < drew[i] / 2 && drew[i + 2] < drew[i] / 2);
  }
  CU_ASSERT(model->trend[3] > 2 * model->trend[4]);
  hr_like_destroy(model);
  hr_trace_destroy(trace);
}

/* Where a trace begins and ends within a week, its trend is that of the weeks as they were. */
static void parts_of_weeks_have_their_trend(void) {
  enum { WEEKS = 12 };
  struct hr_trace *whole = uneven_weeks(0, WEEKS), *part = uneven_weeks(0.5, WEEKS - 0.6);
  struct hr_like_model *of_whole = fitted(whole), *of_part = fitted(part);
  CU_ASSERT_EQUAL_FATAL(of_part->n_weeks, WEEKS);
  double ratio = of_part->trend[1] / of_whole->trend[1]; /* of their means */
  for (uint32_t i = 0; i < WEEKS; i++) CU_ASSERT_DOUBLE_EQUAL(of_part->trend[i] / of_whole->trend[i] / ratio, 1, 0.1);
  for (uint32_t i = 0; i < HR_LIKE_LEVELS; i++) {
    double level = of_part->holding[HR_LIKE_BY_TREND].levels[i];
    CU_ASSERT_DOUBLE_EQUAL(level / of_whole->holding[HR_LIKE_BY_TREND].levels[i], 1, 0.1);
  }
  hr_like_destroy(of_part);
  hr_like_destroy(of_whole);
  hr_trace_destroy(part);
  hr_trace_destroy(whole);
}

/* ---- The begin -------------------------------------------------------------------------------------- */

/* Of many seeds together, as many jobs come on the first day as a week later: all weeks are the same. */
static void drawn_workloads_begin_in_the_middle(void) {
  struct hr_like_model *model = shipped("acme-kalos");
  double first = 0, later = 0;
  CU_ASSERT_EQUAL(model->n_weeks, 1);
  for (uint64_t seed = 1; seed <= 60; seed++) {
    struct hr_trace *trace = drawn(model, 3000, seed);
    for (uint32_t i = 0; i < trace->n_jobs; i++) {
      int64_t at_us = trace->submit_us[i] + trace->origin_us;
      first += at_us < day_us;
      later += at_us >= 7 * day_us && at_us < 8 * day_us;
    }
    hr_trace_destroy(trace);
  }
  printf("\n    first day %.0f, a week later %.0f ", first, later);
  CU_ASSERT(later > 1000);
  CU_ASSERT_DOUBLE_EQUAL(first / later, 1, 0.1);
  hr_like_destroy(model);
}

/* ---- The load --------------------------------------------------------------------------------------- */

static double load_of(const struct hr_like_model *model, uint64_t count, uint64_t seed,
                      struct hr_like_figures *figures) {
  struct hr_error error;
  struct hr_like_spec spec = {.count = count, .seed = seed, .load = 0.7, .nodes = 50, .gpus_per_node = 8};
  const char *path = file_path("load.csv");
  CU_ASSERT_EQUAL_FATAL(hr_like_generate(model, &spec, path, figures, &error), HR_OK);
  struct hr_trace *trace = trace_at(path, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  double gpu_us = 0;
  uint64_t too_large = 0;
  uint32_t most = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    double share = trace->gpu_milli ? trace->gpu_milli[i] / 1000.0 : 1;
    gpu_us += trace->gpus[i] * share * (double)trace->work_us[i];
    too_large += trace->gpus[i] > 400;
    most = trace->gpus[i] > most ? trace->gpus[i] : most;
  }
  CU_ASSERT_EQUAL(figures->too_large, too_large);
  CU_ASSERT_EQUAL(figures->most_gpus, most);
  CU_ASSERT_EQUAL(trace->n_jobs, count);
  double gpus = gpu_us / (double)trace->submit_us[trace->n_jobs - 1];
  CU_ASSERT_DOUBLE_EQUAL(figures->mean_gpus / gpus, 1, 1e-6);
  hr_trace_destroy(trace);
  return gpus / 400;
}

/* A job of a thousand GPUs for days is several percent of the load of weeks, and is there or not. */
static void no_giants(struct hr_like_model *model) {
  for (uint32_t i = 0; i < model->n_bands; i++)
    for (uint32_t k = 0; k < model->bands[i].n_sizes; k++)
      for (uint32_t j = 0; j < model->bands[i].sizes[k].n_cells; j++) {
        double *most_s = &model->bands[i].sizes[k].cells[j].most_s;
        *most_s = fmin(*most_s, 36000);
      }
}

static void the_load_is_exact(void) {
  static const uint64_t counts[] = {1000, 20000};
  uint64_t too_large = 0;
  for (const char *const *name = hr_like_names(); *name; name++) {
    struct hr_like_model *model = shipped(*name);
    if (strcmp(*name, "acme-kalos") == 0) no_giants(model);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
      struct hr_like_figures figures = {0};
      double load = load_of(model, counts[i], 3 + i, &figures);
      printf("\n    %s, %d jobs: %.4f ", *name, (int)counts[i], load);
      CU_ASSERT_DOUBLE_EQUAL(load / 0.7, 1, 0.01);
      too_large += figures.too_large;
    }
    hr_like_destroy(model);
  }
  CU_ASSERT(too_large > 0);
}

static void without_a_load_no_job_is_too_large(void) {
  struct hr_like_model *model = shipped("acme-kalos");
  struct hr_like_figures figures;
  struct hr_error error;
  struct hr_like_spec spec;
  hr_like_spec_init(&spec);
  spec.nodes = 1;
  CU_ASSERT_EQUAL(hr_like_generate(model, &spec, file_path("jobs.csv"), &figures, &error), HR_OK);
  CU_ASSERT(figures.most_gpus > 8);
  CU_ASSERT_EQUAL(figures.too_large, 0);
  hr_like_destroy(model);
}

TEST_MAIN("drawn workloads as they go on", TEST(demand_is_what_runs), TEST(the_trend_joins_the_weeks),
          TEST(demand_is_measured_by_the_trend), TEST(weeks_have_the_demand_that_they_had),
          TEST(parts_of_weeks_have_their_trend), TEST(users_hold_back_when_much_runs),
          TEST(what_held_back_is_fitted_again), TEST(drawn_workloads_begin_in_the_middle), TEST(the_load_is_exact),
          TEST(without_a_load_no_job_is_too_large))
