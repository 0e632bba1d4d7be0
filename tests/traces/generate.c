/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statistics of generated workloads. The seed is fixed, and the bounds are several standard errors wide. */
#include "harness.h"
#include "headroom/trace_files.h"

#include "trace_files.h"

#include <math.h>
#include <string.h>

static struct hr_trace *generated(const struct hr_generator *generator) {
  struct hr_error error = {0};
  char path[200];
  snprintf(path, sizeof path, "%s", file_path("generated.csv"));
  if (hr_generate(generator, path, &error) != HR_OK) fprintf(stderr, "\n    %s\n", error.text);
  struct hr_trace *trace = trace_at(path, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(trace->n_jobs, generator->count);
  CU_ASSERT_EQUAL(trace->notes.count, 0);
  CU_ASSERT_PTR_NULL(trace->row);
  return trace;
}

static double span_s(const struct hr_trace *trace) {
  return (double)trace->submit_us[trace->n_jobs - 1] / 1e6;
}

static void the_load_is_the_requested_load(void) {
  struct hr_generator generator;
  hr_generator_init(&generator);
  generator.count = 200000;
  generator.load = 0.9;
  generator.nodes = 32;
  struct hr_trace *trace = generated(&generator);
  double gpu_s = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++) gpu_s += (double)trace->gpus[i] * (double)trace->work_us[i] / 1e6;
  CU_ASSERT_DOUBLE_EQUAL(gpu_s / (span_s(trace) * 32 * 8), 0.9, 0.03);
  hr_trace_destroy(trace);
}

static void run_times_are_log_normal_with_a_maximum(void) {
  struct hr_generator generator;
  hr_generator_init(&generator);
  generator.count = 100000;
  generator.max_s = 20000;
  struct hr_trace *trace = generated(&generator);
  uint32_t below_median = 0, below_sigma = 0, cut = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    double run_s = (double)trace->work_us[i] / 1e6;
    CU_ASSERT_FATAL(run_s > 0 && run_s <= 20000);
    below_median += run_s < 1800;
    below_sigma += run_s < 1800 * exp(-1.6);
    cut += run_s >= 20000;
  }
  double n = trace->n_jobs;
  CU_ASSERT_DOUBLE_EQUAL(below_median / n, 0.5, 0.008);
  CU_ASSERT_DOUBLE_EQUAL(below_sigma / n, 0.158655, 0.006);
  CU_ASSERT_DOUBLE_EQUAL(cut / n, erfc(log(20000.0 / 1800) / 1.6 / sqrt(2)) / 2, 0.004);
  hr_trace_destroy(trace);
}

/* Returns N for a name `start` N, like "user-7" with start "user-"; 0 if the name does not begin with `start`. */
static unsigned long number_after(const char *start, const char *name) {
  size_t length = strlen(start);
  return strncmp(name, start, length) == 0 ? strtoul(name + length, NULL, 10) : 0;
}

static void shares_of_sizes_and_users(void) {
  static const struct hr_gpu_count counts[] = {{1, 3}, {8, 1}};
  struct hr_generator generator;
  hr_generator_init(&generator);
  generator.count = 50000;
  generator.users = 10;
  generator.tenants = 3;
  generator.gpu_counts = counts;
  generator.n_gpu_counts = 2;
  struct hr_trace *trace = generated(&generator);
  uint32_t ones = 0, by_user[10] = {0};
  double harmonic = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    ones += trace->gpus[i] == 1;
    unsigned long user = number_after("user-", trace->users.text[trace->user[i]]);
    unsigned long tenant = number_after("tenant-", trace->tenants.text[trace->tenant[i]]);
    CU_ASSERT_FATAL(user >= 1 && user <= 10 && tenant == (user - 1) % 3 + 1);
    by_user[user - 1]++;
  }
  double n = trace->n_jobs;
  CU_ASSERT_DOUBLE_EQUAL(ones / n, 0.75, 0.01);
  for (int user = 0; user < 10; user++) harmonic += 1.0 / (user + 1);
  for (int user = 0; user < 10; user++) CU_ASSERT_DOUBLE_EQUAL(by_user[user] / n, 1 / harmonic / (user + 1), 0.01);
  hr_trace_destroy(trace);
}

/* At a constant rate arrivals are a Poisson process, so the variance of the number of jobs per hour equals its mean. */
static void flat_arrivals_are_poisson(void) {
  struct hr_generator generator;
  hr_generator_init(&generator);
  generator.count = 100000;
  generator.diurnal = 0;
  struct hr_trace *trace = generated(&generator);
  uint32_t hours = (uint32_t)(span_s(trace) / 3600);
  double *count = calloc(hours + 1, sizeof *count);
  CU_ASSERT_PTR_NOT_NULL_FATAL(count);
  for (uint32_t i = 0; i < trace->n_jobs; i++) count[trace->submit_us[i] / (3600 * HR_SECOND_US)]++;
  double mean = 0, variance = 0;
  for (uint32_t hour = 0; hour < hours; hour++) mean += count[hour] / hours;
  for (uint32_t hour = 0; hour < hours; hour++) variance += (count[hour] - mean) * (count[hour] - mean) / (hours - 1);
  CU_ASSERT(hours > 500);
  CU_ASSERT_DOUBLE_EQUAL(variance / mean, 1, 5 * sqrt(2.0 / hours));
  free(count);
  hr_trace_destroy(trace);
}

/* If the daily amplitude is a, the six hours around the peak at 15 h have a share of 1/4 + a sin(pi/4)/pi of the
   jobs. */
static void arrivals_follow_the_daily_pattern(void) {
  struct hr_generator generator;
  hr_generator_init(&generator);
  generator.count = 100000;
  generator.diurnal = 0.8;
  generator.nodes = 2;
  struct hr_trace *trace = generated(&generator);
  uint32_t peak = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    int64_t second_of_day = (trace->submit_us[i] + trace->origin_us) / HR_SECOND_US % 86400;
    peak += second_of_day >= 12 * 3600 && second_of_day < 18 * 3600;
  }
  CU_ASSERT(span_s(trace) > 100 * 86400.0);
  CU_ASSERT_DOUBLE_EQUAL((double)peak / trace->n_jobs, 0.25 + 0.8 * sin(0.7853981633974483) / 3.141592653589793, 0.01);
  hr_trace_destroy(trace);
}

static void limits_are_between_their_factors(void) {
  struct hr_generator generator;
  hr_generator_init(&generator);
  generator.count = 20000;
  generator.limit_min = 1;
  generator.limit_max = 3;
  struct hr_trace *trace = generated(&generator);
  double sum = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    CU_ASSERT_FATAL(trace->limit_us[i] >= trace->work_us[i]);
    CU_ASSERT_FATAL(trace->limit_us[i] <= 3 * trace->work_us[i] + 1000);
    sum += (double)trace->limit_us[i] / (double)trace->work_us[i];
  }
  CU_ASSERT_DOUBLE_EQUAL(sum / trace->n_jobs, 2, 0.02);
  hr_trace_destroy(trace);
}

/* Options for limits and users change neither submit times nor run times nor sizes. Another seed changes the run
   times. */
static void options_do_not_change_other_draws(void) {
  struct hr_generator generator;
  hr_generator_init(&generator);
  struct hr_trace *before = generated(&generator);
  generator.limit_min = 1;
  generator.limit_max = 2;
  generator.users = 7;
  struct hr_trace *after = generated(&generator);
  for (uint32_t i = 0; i < before->n_jobs; i++)
    CU_ASSERT_FATAL(before->submit_us[i] == after->submit_us[i] && before->work_us[i] == after->work_us[i] &&
                    before->gpus[i] == after->gpus[i]);
  hr_trace_destroy(after);
  generator.seed = 2;
  after = generated(&generator);
  uint32_t same = 0;
  for (uint32_t i = 0; i < before->n_jobs; i++) same += before->work_us[i] == after->work_us[i];
  CU_ASSERT(same < 5);
  hr_trace_destroy(after);
  hr_trace_destroy(before);
}

/* The command is in traces/reference/README.md. */
static void the_reference_trace_can_be_generated_again(void) {
  struct hr_generator generator;
  hr_generator_init(&generator);
  generator.count = 2000;
  generator.seed = 7;
  generator.load = 0.9;
  generator.nodes = 8;
  generator.limit_min = 1;
  generator.limit_max = 3;
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_generate(&generator, file_path("demo.csv"), &error), HR_OK);
  FILE *generated_file = fopen(file_path("demo.csv"), "rb"),
       *reference_file = fopen(PROJECT_DIR "/traces/reference/demo.csv", "rb");
  CU_ASSERT_FATAL(generated_file != NULL && reference_file != NULL);
  int a, b;
  do {
    a = fgetc(generated_file);
    b = fgetc(reference_file);
  } while (a == b && a != EOF);
  CU_ASSERT_EQUAL(a, b);
  fclose(generated_file);
  fclose(reference_file);
}

static bool generator_rejected(struct hr_generator generator, const char *part) {
  struct hr_error error = {0};
  enum hr_status status = hr_generate(&generator, file_path("never.csv"), &error);
  FILE *file = fopen(file_path("never.csv"), "rb");
  if (file) fclose(file);
  bool right = status == HR_BAD_INPUT && strstr(error.text, part) && !file;
  if (!right) fprintf(stderr, "\n    got: %s\n", error.text);
  return right;
}

static void invalid_options_are_rejected(void) {
  static const struct hr_gpu_count large[] = {{200, 1}}, nothing[] = {{1, 0}};
  struct hr_generator good;
  hr_generator_init(&good);
#define REFUSED(part, ...)                                                                                             \
  do {                                                                                                                 \
    struct hr_generator bad = good;                                                                                    \
    __VA_ARGS__;                                                                                                       \
    CU_ASSERT(generator_rejected(bad, part));                                                                          \
  } while (0)
  REFUSED("count: 0", bad.count = 0);
  REFUSED("load: -1", bad.load = -1);
  REFUSED("load: nan", bad.load = (double)NAN);
  REFUSED("nodes: 0", bad.nodes = 0);
  REFUSED("gpus-per-node: 0", bad.gpus_per_node = 0);
  REFUSED("gpus-per-node", bad.gpus_per_node = UINT32_MAX);
  REFUSED("median-s", bad.median_s = 0);
  REFUSED("sigma", bad.sigma = -1);
  REFUSED("max-s", bad.max_s = -1);
  REFUSED("diurnal: 1.5", bad.diurnal = 1.5);
  REFUSED("limit-max", bad.limit_min = 2, bad.limit_max = 1);
  REFUSED("users: 0", bad.users = 0);
  REFUSED("tenants: 0", bad.tenants = 0);
  REFUSED("GPU count: 200", bad.gpu_counts = large, bad.n_gpu_counts = 1);
  REFUSED("weights: 0", bad.gpu_counts = nothing, bad.n_gpu_counts = 1);
  REFUSED("300 years", bad.load = 1e-9);
#undef REFUSED
}

TEST_MAIN("generate", TEST(the_load_is_the_requested_load), TEST(run_times_are_log_normal_with_a_maximum),
          TEST(shares_of_sizes_and_users), TEST(flat_arrivals_are_poisson), TEST(arrivals_follow_the_daily_pattern),
          TEST(limits_are_between_their_factors), TEST(options_do_not_change_other_draws),
          TEST(the_reference_trace_can_be_generated_again), TEST(invalid_options_are_rejected))
