/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mean numbers of jobs and GPU seconds of redrawn workloads, compared with their expected values in closed form. The
   traces are a small one and Helios Venus. For Helios Venus, the time to draw a workload is printed. */
#include "harness.h"

#include "recorded.h"
#include "trace_files.h"

#include <math.h>
#include <time.h>

#define HELIOS REAL_TRACES_DIR "/helios-venus/helios_trace.csv.gz"

struct demand {
  double jobs, gpu_s;
};

static struct demand demand_of(const struct hr_trace *trace, int64_t from_us, int64_t to_us) {
  struct demand demand = {0};
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    if (trace->submit_us[i] < from_us || trace->submit_us[i] >= to_us) continue;
    demand.jobs++;
    demand.gpu_s += (double)trace->gpus[i] * (double)trace->work_us[i] / (double)HR_SECOND_US;
  }
  return demand;
}

static void add(struct demand *sum, struct demand more, double times) {
  sum->jobs += more.jobs * times;
  sum->gpu_s += more.gpu_s * times;
}

/* Returns the expected demand of one layer of blocks, which is a drawn workload without growth: the sum over positions
   of the mean over the blocks that can be drawn for the position. It ignores midnights and weekdays, so it is exact
   only for traces without dates and fewer than two weeks of days. */
static struct demand mean_of_layer(const struct hr_trace *trace, const struct hr_workload_cut *cut) {
  struct demand sum = {0};
  for (uint32_t position = 0; position < cut->n_positions; position++) {
    int64_t left_us = cut->length_us - position * cut->block_us;
    int64_t part_us = left_us < cut->block_us ? left_us : cut->block_us;
    for (uint32_t block = 0; block < cut->n_whole; block++)
      add(&sum, demand_of(trace, block * cut->block_us, block * cut->block_us + part_us), 1.0 / cut->n_whole);
  }
  return sum;
}

static struct demand expected(const struct hr_trace *trace, const struct hr_workload_spec *spec) {
  struct hr_workload_cut cut;
  CU_ASSERT_EQUAL_FATAL(hr_trace_cut(trace, spec, &cut, NULL), HR_OK);
  struct demand sum = {0}, layer = mean_of_layer(trace, &cut), as_recorded = demand_of(trace, 0, cut.length_us);
  double first = spec->blocks == HR_BLOCKS_NONE ? fmin(spec->growth, 1) : 0;
  add(&sum, as_recorded, first);
  add(&sum, layer, spec->growth - first);
  return sum;
}

struct moments {
  double n, sum, squares;
};

static void add_sample(struct moments *moments, double value, double about) {
  moments->n++;
  moments->sum += value - about;
  moments->squares += (value - about) * (value - about);
}

/* Asserts that the mean is within three standard errors of `about`. The standard error is estimated from the sample and
   must be less than `max_error` x `about`. The samples in `moments` are differences from `about`. */
static void expect_mean(const char *what, const struct moments *moments, double about, double max_error) {
  double mean = moments->sum / moments->n;
  double error = sqrt((moments->squares / moments->n - mean * mean) / (moments->n - 1));
  bool fine = fabs(mean) <= 3 * error && error > 0 && error < max_error * about;
  if (!fine) printf("\n    %s: %.6g, expected %.6g +- %.3g", what, about + mean, about, error);
  CU_ASSERT(fine);
}

static void expect_demand(const struct hr_trace *trace, const struct hr_workload_spec *spec, uint32_t n_seeds,
                          double max_error) {
  struct demand wanted = expected(trace, spec);
  struct moments jobs = {0}, gpu_s = {0};
  for (uint64_t seed = 0; seed < n_seeds; seed++) {
    struct hr_trace *drawn = redraw(trace, spec, seed);
    struct demand seen = demand_of(drawn, 0, INT64_MAX);
    add_sample(&jobs, seen.jobs, wanted.jobs);
    add_sample(&gpu_s, seen.gpu_s, wanted.gpu_s);
    hr_trace_destroy(drawn);
  }
  expect_mean("jobs", &jobs, wanted.jobs, max_error);
  expect_mean("GPU seconds", &gpu_s, wanted.gpu_s, max_error);
}

/* A trace of 5.4 days. The whole days have 10, 40, 25, 5 and 60 jobs. */
static struct recorded recorded;

static void record_uneven_days(void) {
  static const uint32_t n_jobs[] = {10, 40, 25, 5, 60, 7};
  recorded_begin(&recorded);
  for (uint32_t day = 0; day < 6; day++) {
    for (uint32_t i = 0; i < n_jobs[day]; i++)
      recorded_add(&recorded, day * DAY_US + i * (day < 5 ? DAY_US : DAY_US * 2 / 5) / n_jobs[day]);
  }
  for (uint32_t i = 0; i < recorded.trace.n_jobs; i++) recorded.work_us[i] = (1 + i % 17) * 100 * HR_SECOND_US;
}

static void growth_scales_the_mean_demand(void) {
  static const double growths[] = {0.3, 1.1, 2.6};
  record_uneven_days();
  for (size_t i = 0; i < sizeof growths / sizeof *growths; i++)
    for (int blocks = 0; blocks < HR_BLOCKS_WEEKS; blocks++)
      expect_demand(&recorded.trace, &(struct hr_workload_spec){.blocks = (enum hr_blocks)blocks, .growth = growths[i]},
                    2000, 0.01);
}

/* ---- Helios Venus ----------------------------------------------------------------------------------- */

static struct hr_trace *helios(void) {
  struct hr_column_map map = {0};
  CU_ASSERT_EQUAL_FATAL(hr_column_map_parse(&map, "submit=arrival_s,duration=service_sec,gpus=gpu_count", NULL), HR_OK);
  struct hr_trace *trace = trace_at(HELIOS, &(struct hr_trace_options){.map = &map});
  hr_column_map_finish(&map);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  return trace;
}

static void demand_of_helios(void) {
  if (real_trace_missing(HELIOS)) return;
  struct hr_trace *trace = helios();
  expect_demand(trace, &(struct hr_workload_spec){.blocks = HR_BLOCKS_WEEKS, .growth = 1}, 40, 0.05);
  expect_demand(trace, &(struct hr_workload_spec){.blocks = HR_BLOCKS_WEEKS, .growth = 1.25}, 40, 0.05);
  expect_demand(trace, &(struct hr_workload_spec){.blocks = HR_BLOCKS_NONE, .growth = 1.25}, 40, 0.05);
  hr_trace_destroy(trace);
}

/* Prints the time to draw a workload. It is not checked, because machines differ. */
static void time_of_helios(void) {
  if (real_trace_missing(HELIOS)) return;
  struct hr_trace *trace = helios();
  static const struct hr_workload_spec specs[] = {
      {.growth = 1}, {.blocks = HR_BLOCKS_WEEKS, .growth = 1}, {.blocks = HR_BLOCKS_WEEKS, .growth = 1.25}};
  for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
    enum { N = 10 };
    uint32_t n_jobs = 0;
    clock_t begin = clock();
    for (uint64_t seed = 0; seed < N; seed++) {
      struct hr_trace *drawn = redraw(trace, &specs[i], seed);
      n_jobs += drawn->n_jobs;
      hr_trace_destroy(drawn);
    }
    printf("\n    %s, growth %g: %u jobs in %.2f ms", hr_blocks_name(specs[i].blocks), specs[i].growth, n_jobs / N,
           (double)(clock() - begin) * 1000 / CLOCKS_PER_SEC / N);
  }
  hr_trace_destroy(trace);
}

TEST_MAIN("redraw_demand", TEST(growth_scales_the_mean_demand), TEST(demand_of_helios), TEST(time_of_helios))
