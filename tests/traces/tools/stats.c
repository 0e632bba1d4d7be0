/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statistics of random traces. The values in their JSON files are compared with direct computations from the
   definitions. */

#include "harness.h"
#include "headroom/unstable/exports.h"

#include "headroom/headroom.h"
#include "output_files.h"
#include "schema_check.h"

#include <math.h>
#include <string.h>

enum { MAX_JOBS = 300 };

static struct {
  int n;
  long submit_s[MAX_JOBS], run_s[MAX_JOBS], limit_s[MAX_JOBS], start_s[MAX_JOBS];
  int gpus[MAX_JOBS], user[MAX_JOBS], class_[MAX_JOBS], status[MAX_JOBS];
} jobs;

static const char *const classes[] = {"", "training", "inference"};
static const char *const statuses[] = {"completed", "failed", "cancelled"};

static uint64_t state;

static uint32_t below(uint32_t bound) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((state >> 33) % bound);
}

static bool near(double a, double b) {
  return fabs(a - b) <= 2e-6 + 1e-9 * fabs(b);
}

static void expect(const cJSON *object, const char *key, double expected) {
  const cJSON *value = schema_get(object, key);
  bool same = cJSON_IsNumber(value) ? near(value->valuedouble, expected) : isnan(expected);
  if (!same)
    printf("\n  %s: %.9g, not %.9g\n", key, cJSON_IsNumber(value) ? value->valuedouble : (double)NAN, expected);
  CU_ASSERT_TRUE(same);
}

/* ---- Traces ----------------------------------------------------------------------------------------- */

/* Draws `n` jobs. Submit times are clustered. Some jobs request no GPU, some have no user, limit or recorded start. -1:
   unknown. */
static void draw_jobs(int n) {
  long at_s = (long)below(200000);
  jobs.n = n;
  for (int i = 0; i < n; i++) {
    at_s += below(4) ? (long)below(40000) : 0;
    jobs.submit_s[i] = at_s;
    jobs.run_s[i] = below(8) ? 1 + (long)below(1u << (3 + below(14))) : 0;
    jobs.gpus[i] = below(6) ? 1 << below(9) : 0;
    jobs.user[i] = (int)below(9) - 1;
    jobs.class_[i] = (int)below(3);
    jobs.status[i] = (int)below(3);
    jobs.limit_s[i] = below(3) ? jobs.run_s[i] + 1 + (long)below(5000) : -1;
    jobs.start_s[i] = below(3) ? at_s + (long)below(9000) : -1;
  }
}

static void put_number(FILE *file, long value) {
  if (value >= 0) fprintf(file, "%ld", value);
  fputc(',', file);
}

static struct hr_trace *write_and_read(void) {
  FILE *file = fopen(files_path("t.csv"), "w");
  struct hr_trace *trace = NULL;
  struct hr_error error = {0};
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs("limit_s,start_s,submit_s,duration_s,gpus,user,class,status\n", file);
  for (int i = 0; i < jobs.n; i++) {
    put_number(file, jobs.limit_s[i]);
    put_number(file, jobs.start_s[i]);
    fprintf(file, "%ld,%ld,%d,", jobs.submit_s[i], jobs.run_s[i], jobs.gpus[i]);
    if (jobs.user[i] >= 0) fprintf(file, "u%d", jobs.user[i]);
    fprintf(file, ",%s,%s\n", classes[jobs.class_[i]], statuses[jobs.status[i]]);
  }
  CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
  if (hr_trace_read(files_path("t.csv"), NULL, &trace, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  return trace;
}

static cJSON *stats_of(const struct hr_trace *trace) {
  struct hr_trace_stats *stats = NULL;
  CU_ASSERT_EQUAL_FATAL(hr_trace_stats_make(trace, &stats, NULL), HR_OK);
  char *text = hr_trace_stats_json(stats, 0);
  cJSON *tree = cJSON_Parse(text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
  CU_ASSERT_EQUAL(hr_trace_stats_write_json(files_path("stats.json"), stats, NULL), HR_OK);
  CU_ASSERT_EQUAL(hr_trace_stats_write(files_path("stats.txt"), stats, 0, NULL), HR_OK);
  free(text);
  hr_trace_stats_destroy(stats);
  return tree;
}

/* ---- Naive computations ----------------------------------------------------------------------------- */

static int compare(const void *a, const void *b) {
  double first = *(const double *)a, other = *(const double *)b;
  return (first > other) - (first < other);
}

static void expect_spread(const cJSON *spread, double *values, int n) {
  double sum = 0, squares = 0;
  if (n == 0) {
    CU_ASSERT_TRUE(cJSON_IsNull(spread));
    return;
  }
  qsort(values, (size_t)n, sizeof *values, compare);
  for (int i = 0; i < n; i++) sum += values[i];
  for (int i = 0; i < n; i++) squares += pow(values[i] - sum / n, 2);
  expect(spread, "count", n);
  expect(spread, "mean", sum / n);
  expect(spread, "sd", n > 1 ? sqrt(squares / (n - 1)) : 0);
  expect(spread, "min", values[0]);
  expect(spread, "max", values[n - 1]);
  expect(spread, "p50", n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2);
}

static double gpu_hours(int job) {
  return (double)jobs.gpus[job] * (double)jobs.run_s[job] / 3600;
}

static void expect_values(const cJSON *tree) {
  double run[MAX_JOBS], gpus[MAX_JOBS], wait[MAX_JOBS], limit[MAX_JOBS], gap[MAX_JOBS], hours = 0;
  int waits = 0, limits = 0;
  for (int i = 0; i < jobs.n; i++) {
    run[i] = (double)jobs.run_s[i];
    gpus[i] = jobs.gpus[i];
    hours += gpu_hours(i);
    if (jobs.start_s[i] >= 0) wait[waits++] = (double)(jobs.start_s[i] - jobs.submit_s[i]);
    if (jobs.limit_s[i] > 0 && jobs.run_s[i] > 0) limit[limits++] = (double)jobs.limit_s[i] / (double)jobs.run_s[i];
    if (i) gap[i - 1] = (double)(jobs.submit_s[i] - jobs.submit_s[i - 1]);
  }
  expect_spread(schema_get(tree, "run_s"), run, jobs.n);
  expect_spread(schema_get(tree, "gpus"), gpus, jobs.n);
  expect_spread(schema_get(tree, "recorded_wait_s"), wait, waits);
  expect_spread(schema_get(tree, "limit_ratio"), limit, limits);
  expect_spread(schema_get(schema_get(tree, "arrivals"), "gap_s"), gap, jobs.n - 1);
  expect(schema_get(tree, "trace"), "gpu_hours", hours);
  expect(schema_get(tree, "trace"), "span_s", (double)(jobs.submit_s[jobs.n - 1] - jobs.submit_s[0]));
}

static void expect_users(const cJSON *rows) {
  double before = HUGE_VAL;
  int all = 0;
  for (const cJSON *row = rows->child; row; row = row->next) {
    const char *name = schema_get(row, "name")->valuestring;
    int user = name[0] ? name[1] - '0' : -1, count = 0, failed = 0;
    double hours = 0, run[MAX_JOBS];
    for (int i = 0; i < jobs.n; i++) {
      if (jobs.user[i] != user) continue;
      run[count++] = (double)jobs.run_s[i];
      hours += gpu_hours(i);
      failed += jobs.status[i] == 1;
    }
    expect(row, "jobs", count);
    expect(row, "gpu_hours", hours);
    expect(row, "failed", failed);
    expect_spread(schema_get(row, "run_s"), run, count);
    CU_ASSERT(schema_get(row, "gpu_hours")->valuedouble <= before);
    before = schema_get(row, "gpu_hours")->valuedouble;
    all += count;
  }
  CU_ASSERT_EQUAL(all, jobs.n);
}

static void expect_sizes(const cJSON *rows) {
  int all = 0;
  for (const cJSON *row = rows->child; row; row = row->next) {
    char *end;
    const char *name = schema_get(row, "name")->valuestring;
    long low = strtol(name, &end, 10), high = *end == '-' ? strtol(end + 1, NULL, 10) : *end == '+' ? 1000000 : low;
    int count = 0;
    for (int i = 0; i < jobs.n; i++) count += jobs.gpus[i] >= low && jobs.gpus[i] <= high;
    expect(row, "jobs", count);
    all += count;
  }
  CU_ASSERT_EQUAL(all, jobs.n);
}

/* Gini coefficient: the mean absolute difference of all pairs, divided by twice the mean. */
static double naive_gini(const double *amounts, int n) {
  double sum = 0, differences = 0;
  for (int i = 0; i < n; i++) {
    sum += amounts[i];
    for (int k = 0; k < n; k++) differences += fabs(amounts[i] - amounts[k]);
  }
  return differences / (2 * n * sum);
}

static void expect_concentration(const cJSON *all) {
  double hours[MAX_JOBS], of_users[8] = {0}, largest = 0, sum = 0;
  int n = 0, users = 0;
  for (int i = 0; i < jobs.n; i++) {
    if (gpu_hours(i) > 0) hours[n++] = gpu_hours(i);
    if (jobs.user[i] >= 0) of_users[jobs.user[i]] += 1;
  }
  for (int i = 0; i < 8; i++)
    if (of_users[i] > 0) of_users[users++] = of_users[i];
  for (int i = 0; i < users; i++) {
    sum += of_users[i];
    largest = fmax(largest, of_users[i]);
  }
  const cJSON *by_job = schema_get(all, "gpu_hours_by_job"), *by_user = schema_get(all, "jobs_by_user");
  CU_ASSERT_EQUAL(cJSON_IsNull(by_job), n == 0);
  if (n) expect(by_job, "gini", naive_gini(hours, n));
  CU_ASSERT_EQUAL(cJSON_IsNull(by_user), users == 0);
  CU_ASSERT_TRUE(cJSON_IsNull(schema_get(all, "gpu_hours_by_tenant")));
  if (!users) return;
  expect(by_user, "parties", users);
  expect(by_user, "gini", naive_gini(of_users, users));
  expect(by_user, "first_share", largest / sum);
}

/* Rank of values[at]: one plus the number of smaller values, plus half the number of other equal values. */
static double naive_rank(const double *values, int n, int at) {
  double rank = 1;
  for (int i = 0; i < n; i++) rank += i == at ? 0 : values[i] < values[at] ? 1 : values[i] > values[at] ? 0 : 0.5;
  return rank;
}

static double naive_spearman(void) {
  double gpus[MAX_JOBS], run[MAX_JOBS], a = 0, b = 0, both = 0;
  for (int i = 0; i < jobs.n; i++) {
    gpus[i] = jobs.gpus[i];
    run[i] = (double)jobs.run_s[i];
  }
  for (int i = 0; i < jobs.n; i++) {
    double x = naive_rank(gpus, jobs.n, i) - (jobs.n + 1) / 2.0, y = naive_rank(run, jobs.n, i) - (jobs.n + 1) / 2.0;
    a += x * x;
    b += y * y;
    both += x * y;
  }
  return a > 0 && b > 0 ? both / sqrt(a * b) : (double)NAN;
}

static void expect_arrivals(const cJSON *arrivals) {
  long hours = (jobs.submit_s[jobs.n - 1] - jobs.submit_s[0]) / 3600;
  int together = 0;
  double sum = 0, squares = 0;
  for (int i = 0; i < jobs.n; i++) {
    bool again = false;
    for (int k = 0; k < jobs.n; k++) again |= k != i && jobs.submit_s[k] == jobs.submit_s[i];
    together += again;
  }
  expect(arrivals, "together", together);
  expect(arrivals, "hours", (double)hours);
  for (int h = 0; h < 24; h++) {
    int count = 0;
    for (int i = 0; i < jobs.n; i++) count += jobs.submit_s[i] / 3600 % 24 == h;
    CU_ASSERT_EQUAL(cJSON_GetArrayItem(schema_get(arrivals, "by_hour"), h)->valueint, count);
  }
  if (hours < 2) return;
  for (int pass = 0; pass < 2; pass++)
    for (long h = 0; h < hours; h++) {
      double count = 0;
      for (int i = 0; i < jobs.n; i++) count += (jobs.submit_s[i] - jobs.submit_s[0]) / 3600 == h;
      if (pass)
        squares += pow(count - sum / (double)hours, 2);
      else
        sum += count;
    }
  expect(arrivals, "per_hour", sum / (double)hours);
  expect(arrivals, "dispersion_by_hour", squares / (double)(hours - 1) / (sum / (double)hours));
}

/* ---- Tests ------------------------------------------------------------------------------------------ */

static void expect_lines_of_80_columns(void) {
  char *text = files_read(files_path("stats.txt"));
  for (const char *line = text; *line; line += strcspn(line, "\n") + 1) CU_ASSERT(strcspn(line, "\n") <= 80);
  free(text);
}

static void random_traces(void) {
  char *text = files_read(PROJECT_DIR "/docs/reference/schemas/trace-stats.schema.json");
  cJSON *schema = cJSON_Parse(text);
  for (int number = 0; number < 25; number++) {
    state = (uint64_t)number;
    draw_jobs(number < 3 ? number + 1 : 2 + (int)below(MAX_JOBS - 2));
    struct hr_trace *trace = write_and_read();
    cJSON *tree = stats_of(trace);
    CU_ASSERT_TRUE(schema_fits(schema, tree, "stats"));
    expect_values(tree);
    expect_users(schema_get(schema_get(tree, "by"), "user"));
    expect_sizes(schema_get(schema_get(tree, "by"), "size"));
    expect_concentration(schema_get(tree, "concentration"));
    expect_arrivals(schema_get(tree, "arrivals"));
    expect(schema_get(tree, "correlation"), "gpus_and_run_time", naive_spearman());
    expect_lines_of_80_columns();
    cJSON_Delete(tree);
    hr_trace_destroy(trace);
  }
  cJSON_Delete(schema);
  free(text);
}

static cJSON *stats_of_text(const char *csv) {
  FILE *file = fopen(files_path("t.csv"), "w");
  struct hr_trace *trace = NULL;
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs(csv, file);
  CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
  CU_ASSERT_EQUAL_FATAL(hr_trace_read(files_path("t.csv"), NULL, &trace, NULL), HR_OK);
  cJSON *tree = stats_of(trace);
  hr_trace_destroy(trace);
  return tree;
}

/* 2026-11-22 is a Sunday, 2026-11-23 a Monday. 1969-12-24, a Wednesday, has a negative time. */
static void weekdays_follow_the_calendar(void) {
  cJSON *tree = stats_of_text("submit_s,duration_s,gpus\n2026-11-22T23:59:59Z,5,1\n2026-11-23T00:00:00Z,5,1\n"
                              "1969-12-24T13:00:00Z,5,1\n");
  const cJSON *arrivals = schema_get(tree, "arrivals"), *days = schema_get(arrivals, "by_weekday");
  CU_ASSERT_TRUE(cJSON_IsTrue(schema_get(arrivals, "dated")));
  for (int day = 0; day < 7; day++)
    CU_ASSERT_EQUAL(cJSON_GetArrayItem(days, day)->valueint, day == 6 || day == 0 || day == 2);
  CU_ASSERT_EQUAL(cJSON_GetArrayItem(schema_get(arrivals, "by_hour"), 23)->valueint, 1);
  CU_ASSERT_EQUAL(cJSON_GetArrayItem(schema_get(arrivals, "by_hour"), 13)->valueint, 1);
  cJSON_Delete(tree);
}

/* If all jobs of a user run for the same time, the user explains the whole variance of run times. If run times are
   random, the user explains almost none. */
static void users_explain_run_times(void) {
  char csv[20000];
  for (int random = 0; random < 2; random++) {
    int used = sprintf(csv, "submit_s,duration_s,gpus,user\n");
    state = 5;
    for (int i = 0; i < 400; i++) {
      static const int run_s[] = {1, 10, 100};
      used += sprintf(csv + used, "%d,%d,1,u%d\n", i, run_s[random ? below(3) : (uint32_t)i % 3], i % 3);
    }
    cJSON *tree = stats_of_text(csv);
    double explained = schema_get(schema_get(tree, "correlation"), "run_time_explained_by_user")->valuedouble;
    CU_ASSERT(random ? fabs(explained) < 0.03 : explained > 0.999999);
    cJSON_Delete(tree);
  }
}

TEST_MAIN("workload: statistics", TEST(random_traces), TEST(weekdays_follow_the_calendar),
          TEST(users_explain_run_times))
