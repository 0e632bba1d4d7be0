/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scaling of load: properties that each method preserves, and properties that it changes. */
#include "harness.h"
#include "headroom/trace_files.h"

#include "headroom/unstable/trace_tools.h"
#include "same_trace.h"
#include "trace_files.h"

#include <math.h>
#include <string.h>

enum { HOURS = 24 };

static struct hr_trace *scaled(const struct hr_trace *trace, enum hr_scaling by, double load, int64_t jitter_us,
                               uint64_t seed) {
  struct hr_trace *made;
  struct hr_error error = {0};
  const struct hr_scale_spec spec = {.by = by, .load = load, .jitter_us = jitter_us, .seed = seed};
  enum hr_status status = hr_transform_scale(trace, &spec, &made, &error);
  if (status != HR_OK) fprintf(stderr, "\n    %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  CU_ASSERT_PTR_NULL(made->row);
  return made;
}

/* Returns a generated trace of 20,000 jobs over about ninety days, with a daily pattern. */
static struct hr_trace *long_trace(void) {
  char path[200];
  struct hr_generator generator;
  hr_generator_init(&generator);
  generator.count = 20000;
  generator.diurnal = 0.8;
  generator.load = 0.3;
  snprintf(path, sizeof path, "%s", file_path("long.csv"));
  CU_ASSERT_EQUAL_FATAL(hr_generate(&generator, path, NULL), HR_OK);
  return trace_at(path, NULL);
}

/* ---- Distributions ---------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static int64_t *sorted(const int64_t *values, uint32_t n) {
  int64_t *copy = malloc(n * sizeof *copy);
  if (!copy) abort();
  memcpy(copy, values, n * sizeof *copy);
  qsort(copy, n, sizeof *copy, by_value);
  return copy;
}

/* The two-sample Kolmogorov-Smirnov distance between run times. */
static double run_time_distance(const struct hr_trace *a, const struct hr_trace *b) {
  int64_t *x = sorted(a->work_us, a->n_jobs), *y = sorted(b->work_us, b->n_jobs);
  double max = 0;
  for (uint32_t i = 0, j = 0; i < a->n_jobs && j < b->n_jobs;) {
    int64_t at = x[i] < y[j] ? x[i] : y[j];
    while (i < a->n_jobs && x[i] == at) i++;
    while (j < b->n_jobs && y[j] == at) j++;
    max = fmax(max, fabs((double)i / a->n_jobs - (double)j / b->n_jobs));
  }
  free(x);
  free(y);
  return max;
}

/* The maximum difference between the shares of jobs per hour of the day. */
static double profile_distance(const struct hr_trace *a, const struct hr_trace *b) {
  double share[HOURS] = {0}, max = 0;
  for (uint32_t i = 0; i < a->n_jobs; i++) share[a->submit_us[i] / (3600 * HR_SECOND_US) % HOURS] += 1.0 / a->n_jobs;
  for (uint32_t i = 0; i < b->n_jobs; i++) share[b->submit_us[i] / (3600 * HR_SECOND_US) % HOURS] -= 1.0 / b->n_jobs;
  for (int hour = 0; hour < HOURS; hour++) max = fmax(max, fabs(share[hour]));
  return max;
}

/* ---- Thinning --------------------------------------------------------------------------------------- */

/* Returns whether the jobs of `fewer` are an unchanged subsequence of the jobs of `more`. */
static bool is_subsequence(const struct hr_trace *fewer, const struct hr_trace *more) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < fewer->n_jobs; i++, at++) {
    char id[HR_JOB_ID_BUFFER], other[HR_JOB_ID_BUFFER];
    while (at < more->n_jobs &&
           strcmp(hr_trace_job_id(fewer, (hr_job){i}, id), hr_trace_job_id(more, (hr_job){at}, other)) != 0)
      at++;
    if (at == more->n_jobs || !same_job(fewer, i, more, at, 0)) return false;
  }
  return true;
}

static void thinned_traces_are_subsequences(void) {
  uint64_t n_jobs = 0, n_kept = 0, n_none = 0;
  for (uint64_t seed = 0; seed < 300; seed++) {
    random_start(seed);
    struct hr_trace *trace = random_trace(&(struct random_spec){.max_jobs = 60}), *made, *more;
    const struct hr_scale_spec spec = {.by = HR_SCALING_THIN, .load = 0.3, .seed = seed};
    struct hr_error error = {0};
    bool some = hr_transform_scale(trace, &spec, &made, &error) == HR_OK;
    if (some) {
      more = scaled(trace, HR_SCALING_THIN, 0.6, 0, seed);
      CU_ASSERT(is_subsequence(made, more));
      CU_ASSERT(is_subsequence(more, trace));
      hr_trace_destroy(more);
    } else {
      CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "thinned to 0.3"));
    }
    n_jobs += trace->n_jobs;
    n_kept += some ? made->n_jobs : 0;
    n_none += !some;
    hr_trace_destroy(made);
    hr_trace_destroy(trace);
  }
  double sigma = sqrt((double)n_jobs * 0.3 * 0.7);
  CU_ASSERT(n_none > 5 && n_none < 100);
  CU_ASSERT(fabs((double)n_kept - 0.3 * (double)n_jobs) < 4 * sigma);
}

static void thinning_preserves_distributions(void) {
  struct hr_trace *trace = long_trace(), *made = scaled(trace, HR_SCALING_THIN, 0.4, 0, 3);
  struct hr_trace_size in = hr_trace_size_of(trace), out = hr_trace_size_of(made);
  CU_ASSERT(fabs(made->n_jobs / 20000.0 - 0.4) < 4 * sqrt(0.4 * 0.6 / 20000));
  CU_ASSERT(run_time_distance(trace, made) < 0.02);
  CU_ASSERT(profile_distance(trace, made) < 0.01);
  CU_ASSERT(fabs(out.gpu_hours / in.gpu_hours - 0.4) < 0.04);
  CU_ASSERT(out.span_us > in.span_us * 99 / 100);
  hr_trace_destroy(made);
  hr_trace_destroy(trace);
}

static void a_load_of_one_keeps_the_trace(void) {
  random_start(9);
  struct hr_trace *trace = random_trace(&(struct random_spec){.max_jobs = 60, .plain = true});
  static const enum hr_scaling ways[] = {HR_SCALING_THIN, HR_SCALING_DUPLICATE, HR_SCALING_COMPRESS};
  for (size_t i = 0; i < 3; i++) {
    struct hr_trace *made = scaled(trace, ways[i], 1, HR_SECOND_US, 1);
    CU_ASSERT(same_trace(trace, made));
    hr_trace_destroy(made);
  }
  hr_trace_destroy(trace);
}

/* ---- Duplication ------------------------------------------------------------------------------------ */

/* For an id like "17+1", sets `*job` to the job with id 17 and returns 1, the number of the copy. Returns 0 if the id
   is that of an original job, UINT32_MAX if the job does not exist. */
static uint32_t copy_of(const struct hr_trace *trace, const char *id, uint32_t *job) {
  char base[200], own[HR_JOB_ID_BUFFER];
  const char *plus = strrchr(id, '+');
  snprintf(base, sizeof base, "%.*s", plus ? (int)(plus - id) : (int)strlen(id), id);
  for (*job = 0; *job < trace->n_jobs; ++*job)
    if (strcmp(hr_trace_job_id(trace, (hr_job){*job}, own), base) == 0)
      return plus ? (uint32_t)strtoul(plus + 1, NULL, 10) : 0;
  return UINT32_MAX;
}

static void copies_equal_their_jobs_within_the_jitter(void) {
  const int64_t jitter_us = 7 * HR_SECOND_US;
  for (uint64_t seed = 0; seed < 200; seed++) {
    random_start(seed);
    struct hr_trace *trace = random_trace(&(struct random_spec){.max_jobs = 40});
    struct hr_trace *made = scaled(trace, HR_SCALING_DUPLICATE, 3, jitter_us, seed);
    uint32_t n_of[4] = {0};
    CU_ASSERT_EQUAL_FATAL(made->n_jobs, 3 * trace->n_jobs);
    for (uint32_t i = 0; i < made->n_jobs; i++) {
      char id[HR_JOB_ID_BUFFER];
      uint32_t job, copy = copy_of(trace, hr_trace_job_id(made, (hr_job){i}, id), &job);
      CU_ASSERT_FATAL(copy < 3 && job < trace->n_jobs);
      int64_t at_us = made->submit_us[i] + made->origin_us, moved_us = at_us - trace->submit_us[job] - trace->origin_us;
      CU_ASSERT(same_job(trace, job, made, i, moved_us));
      CU_ASSERT(copy == 0 ? moved_us == 0 : llabs(moved_us) <= jitter_us);
      CU_ASSERT(at_us >= trace->origin_us && at_us <= trace->origin_us + trace->submit_us[trace->n_jobs - 1]);
      n_of[copy]++;
    }
    CU_ASSERT(n_of[0] == trace->n_jobs && n_of[1] == trace->n_jobs && n_of[2] == trace->n_jobs);
    hr_trace_destroy(made);
    hr_trace_destroy(trace);
  }
}

static void copies_of_copies_have_unique_ids(void) {
  struct hr_trace *trace = trace_of("job_id,submit_s,duration_s,gpus\na,0,1,1\na+1,1,1,1\nb++,2,1,1\n", NULL);
  struct hr_trace *made = scaled(trace, HR_SCALING_DUPLICATE, 2, 0, 1);
  static const char *const ids[] = {"a", "a+++1", "a+1", "a+1+++1", "b++", "b+++++1"};
  CU_ASSERT_EQUAL_FATAL(made->n_jobs, 6);
  for (uint32_t i = 0; i < 6; i++) CU_ASSERT_STRING_EQUAL(made->id_text[i], ids[i]);
  struct hr_trace *again = scaled(made, HR_SCALING_DUPLICATE, 2, 0, 1);
  CU_ASSERT_EQUAL(again->n_jobs, 12);
  hr_trace_destroy(again);
  hr_trace_destroy(made);
  hr_trace_destroy(trace);
}

static void duplication_preserves_distributions(void) {
  struct hr_trace *trace = long_trace(), *made = scaled(trace, HR_SCALING_DUPLICATE, 2.5, 1800 * HR_SECOND_US, 3);
  struct hr_trace_size in = hr_trace_size_of(trace), out = hr_trace_size_of(made);
  CU_ASSERT(fabs(made->n_jobs / 20000.0 - 2.5) < 4 * sqrt(0.25 / 20000));
  CU_ASSERT(run_time_distance(trace, made) < 0.01);
  CU_ASSERT(profile_distance(trace, made) < 0.005);
  CU_ASSERT(fabs(out.gpu_hours / in.gpu_hours - 2.5) < 0.05);
  CU_ASSERT_EQUAL(out.span_us, in.span_us);
  hr_trace_destroy(made);
  hr_trace_destroy(trace);
}

/* If a job is far from its neighbours, the submit time of its copy is uniform within the jitter. The test checks the
   mean and the second moment. */
static void jitter_is_uniform(void) {
  enum { N = 3000 };
  struct hr_trace *trace = trace_of("submit_s,duration_s,gpus\n0,1,1\n1000,1,2\n2000,1,1\n", NULL);
  double sum = 0, squares = 0;
  for (uint64_t seed = 0; seed < N; seed++) {
    struct hr_trace *made = scaled(trace, HR_SCALING_DUPLICATE, 2, 100 * HR_SECOND_US, seed);
    for (uint32_t i = 0; i < made->n_jobs; i++) {
      double off = ((double)made->submit_us[i] / 1e6 - 1000) / 100;
      if (made->gpus[i] != 2) continue;
      sum += off;
      squares += off * off;
    }
    hr_trace_destroy(made);
  }
  CU_ASSERT(fabs(sum / N) < 4 * sqrt(1.0 / 3 / N));
  CU_ASSERT(fabs(squares / N - 1.0 / 3) < 4 * sqrt(4.0 / 45 / N));
  hr_trace_destroy(trace);
}

/* With a jitter much larger than the trace, submit times of copies are reflected many times at both ends. The result is
   uniform over the trace. */
static void a_large_jitter_is_uniform_over_the_trace(void) {
  enum { N = 2000, TENTHS = 10 };
  struct hr_trace *trace = trace_of("submit_s,duration_s,gpus\n0,1,1\n3,1,2\n10,1,1\n", NULL);
  uint32_t in[TENTHS] = {0};
  for (uint64_t seed = 0; seed < N; seed++) {
    struct hr_trace *made = scaled(trace, HR_SCALING_DUPLICATE, 2, 5000 * HR_SECOND_US, seed);
    for (uint32_t i = 0; i < made->n_jobs; i++)
      if (made->gpus[i] == 2 && made->submit_us[i] % HR_SECOND_US) in[made->submit_us[i] / HR_SECOND_US]++;
    hr_trace_destroy(made);
  }
  for (int i = 0; i < TENTHS; i++) CU_ASSERT(fabs(in[i] - N / 10.0) < 4 * sqrt(N * 0.1 * 0.9));
  hr_trace_destroy(trace);
}

/* ---- Compression ------------------------------------------------------------------------------------ */

static void compression_divides_only_submit_times(void) {
  static const double loads[] = {2, 0.5, 3, 1.25, 0.001, 1000};
  static const int64_t over[] = {1, 2, 1, 4, 1000, 1}, under[] = {2, 1, 3, 5, 1, 1000}; /* over / under is 1 / load */
  for (uint64_t seed = 0; seed < 60; seed++) {
    random_start(seed);
    struct hr_trace *trace = random_trace(&(struct random_spec){.max_jobs = 40});
    size_t k = seed % 6;
    struct hr_trace *made = scaled(trace, HR_SCALING_COMPRESS, loads[k], 0, 0);
    CU_ASSERT_EQUAL_FATAL(made->n_jobs, trace->n_jobs);
    for (uint32_t i = 0; i < made->n_jobs; i++) {
      int64_t expected_us = (2 * trace->submit_us[i] * over[k] + under[k]) / (2 * under[k]); /* rounded half up */
      CU_ASSERT_EQUAL(made->submit_us[i], expected_us);
      CU_ASSERT(same_job(trace, i, made, i, expected_us - trace->submit_us[i]));
    }
    CU_ASSERT_EQUAL(made->origin_us, trace->origin_us);
    hr_trace_destroy(made);
    hr_trace_destroy(trace);
  }
}

static void compression_changes_the_daily_pattern(void) {
  struct hr_trace *trace = long_trace(), *made = scaled(trace, HR_SCALING_COMPRESS, 2, 0, 0);
  CU_ASSERT(run_time_distance(trace, made) <= 0);
  CU_ASSERT(profile_distance(trace, made) > 0.02);
  hr_trace_destroy(made);
  hr_trace_destroy(trace);
}

/* ---- Errors ----------------------------------------------------------------------------------------- */

static bool is_rejected(const struct hr_trace *trace, struct hr_scale_spec spec, const char *part) {
  struct hr_error error = {0};
  struct hr_trace *made;
  enum hr_status status = hr_transform_scale(trace, &spec, &made, &error);
  if (status == HR_BAD_INPUT && !made && strstr(error.text, part)) return true;
  fprintf(stderr, "\n    %d: %s\n", status, error.text);
  return false;
}

static void loads_out_of_range_are_rejected(void) {
  struct hr_trace *trace = trace_of("submit_s,duration_s,gpus\n0,1,1\n99999999999,1,1\n", NULL);
  CU_ASSERT(
      is_rejected(trace, (struct hr_scale_spec){.load = 1.5}, "load 1.5 is not from 0.001 to 1, the range of 'thin'"));
  CU_ASSERT(is_rejected(trace, (struct hr_scale_spec){.load = (double)NAN}, "load"));
  CU_ASSERT(is_rejected(trace, (struct hr_scale_spec){.load = 0}, "load 0 is not"));
  CU_ASSERT(is_rejected(trace, (struct hr_scale_spec){.by = HR_SCALING_DUPLICATE, .load = 0.5}, "from 1 to 1000"));
  CU_ASSERT(
      is_rejected(trace, (struct hr_scale_spec){.by = HR_SCALING_DUPLICATE, .load = 2, .jitter_us = -1}, "jitter"));
  CU_ASSERT(is_rejected(trace, (struct hr_scale_spec){.by = HR_SCALING_COMPRESS, .load = 0.5},
                        "submit times exceed 100000000000 s"));
  hr_trace_destroy(trace);
}

TEST_MAIN("scaled traces", TEST(thinned_traces_are_subsequences), TEST(thinning_preserves_distributions),
          TEST(a_load_of_one_keeps_the_trace), TEST(copies_equal_their_jobs_within_the_jitter),
          TEST(copies_of_copies_have_unique_ids), TEST(duplication_preserves_distributions), TEST(jitter_is_uniform),
          TEST(a_large_jitter_is_uniform_over_the_trace), TEST(compression_divides_only_submit_times),
          TEST(compression_changes_the_daily_pattern), TEST(loads_out_of_range_are_rejected))
