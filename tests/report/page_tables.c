/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables, heat map and histograms of the HTML report for random runs. The tables are compared with the accounting of
   each job, the heat map with a direct evaluation of every attempt. */

#include "harness.h"

#include "page_read.h"
#include "page_scenarios.h"

#include <math.h>
#include <string.h>

enum { RUNS = 30 };

static double *column(const struct read_page *page, const char *table, const char *name, size_t wanted) {
  size_t n;
  double *values = page_column(page, table, name, &n);
  CU_ASSERT_PTR_NOT_NULL_FATAL(values);
  CU_ASSERT_EQUAL_FATAL(n, wanted);
  return values;
}

/* Whether two times are equal to the millisecond, which is the precision of the report. */
static bool at_time(double seconds, int64_t us) {
  return fabs(seconds - (double)us / 1e6) < 0.00051;
}

/* ---- Jobs ------------------------------------------------------------------------------------------- */

/* Checks a column of times. us[job] is the time of a job, or HR_NEVER_US if the job has none. */
static void expect_times(const struct read_page *page, const char *name, const int64_t *us) {
  double *values = column(page, "jobs", name, SCENARIO_JOBS);
  for (uint32_t i = 0; i < SCENARIO_JOBS; i++)
    CU_ASSERT_TRUE(us[i] == HR_NEVER_US ? values[i] < 0 : at_time(values[i], us[i]));
  free(values);
}

typedef const char *text_of(const struct page_scenario *scenario, uint32_t job);

static const char *tenant_text(const struct page_scenario *scenario, uint32_t job) {
  return scenario->tenant[job] == HR_NONE ? "" : scenario->trace.tenants.text[scenario->tenant[job]];
}
static const char *user_text(const struct page_scenario *scenario, uint32_t job) {
  return scenario->trace.users.text[scenario->user[job]];
}
static const char *class_text(const struct page_scenario *scenario, uint32_t job) {
  return hr_job_class_name((enum hr_job_class)scenario->class_[job]);
}
static const char *state_text(const struct page_scenario *scenario, uint32_t job) {
  return hr_result_state_name(scenario->result, (hr_job){job});
}
static const char *pool_text(const struct page_scenario *scenario, uint32_t job) {
  const struct hr_attempt *attempts;
  uint32_t last = hr_history_last(scenario->history, (hr_job){job});
  hr_history_attempts(scenario->history, &attempts);
  return last == HR_NONE ? "" : scenario->pool[attempts[last].pool.id].name;
}

static void expect_texts(const struct page_scenario *scenario, const struct read_page *page, const char *name,
                         text_of *text) {
  char path[80];
  snprintf(path, sizeof path, "jobs.text.%s", name);
  double *values = column(page, "jobs", name, SCENARIO_JOBS);
  for (uint32_t i = 0; i < SCENARIO_JOBS; i++)
    CU_ASSERT_STRING_EQUAL(cJSON_GetArrayItem(page_at(page, path), (int)values[i])->valuestring, text(scenario, i));
  free(values);
}

static void expect_columns(const struct page_scenario *scenario, const struct read_page *page) {
  const struct hr_result *result = scenario->result;
  int64_t end_us[SCENARIO_JOBS], wait_us[SCENARIO_JOBS];
  for (uint32_t i = 0; i < SCENARIO_JOBS; i++) {
    end_us[i] = hr_result_end_us(result, (hr_job){i});
    wait_us[i] = result->start_us[i] == HR_NEVER_US ? HR_NEVER_US : result->start_us[i] - scenario->submit_us[i];
  }
  expect_times(page, "submit_s", scenario->submit_us);
  expect_times(page, "start_s", result->start_us);
  expect_times(page, "wait_s", wait_us);
  expect_times(page, "end_s", end_us);
  double *ids = column(page, "jobs", "id", SCENARIO_JOBS), *gpus = column(page, "jobs", "gpus", SCENARIO_JOBS);
  double *attempts = column(page, "jobs", "attempts", SCENARIO_JOBS),
         *cost = column(page, "jobs", "cost_usd", SCENARIO_JOBS);
  double *lost = column(page, "jobs", "lost_s", SCENARIO_JOBS);
  for (uint32_t i = 0; i < SCENARIO_JOBS; i++) {
    double usd = (double)hr_ledger_job(scenario->ledger, (hr_job){i}) / (double)HR_LEDGER_UNITS_PER_UUSD / 1e6;
    CU_ASSERT_TRUE(ids[i] == (double)scenario->id[i] && gpus[i] == (double)scenario->gpus[i]);
    CU_ASSERT_TRUE(attempts[i] == (double)hr_result_accounting(result, (hr_job){i}).attempts &&
                   at_time(lost[i], hr_result_accounting(result, (hr_job){i}).lost_us));
    CU_ASSERT_DOUBLE_EQUAL(cost[i], usd, 0.00051);
  }
  free(ids);
  free(gpus);
  free(attempts);
  free(cost);
  free(lost);
}

static void job_table_matches_result(void) {
  for (uint64_t seed = 1; seed <= RUNS; seed++) {
    struct page_scenario *scenario = page_scenario_draw(seed);
    page_scenario_run(scenario);
    struct read_page page = page_of(&scenario->run);
    CU_ASSERT_TRUE(page_number(&page, "jobs.count") == SCENARIO_JOBS &&
                   page_number(&page, "jobs.shown") == SCENARIO_JOBS);
    CU_ASSERT_PTR_NULL(page_at(&page, "jobs.why_not_all"));
    if (scenario->result->account) expect_columns(scenario, &page);
    if (scenario->trace.tenant) expect_texts(scenario, &page, "tenant", tenant_text);
    if (scenario->trace.class_) expect_texts(scenario, &page, "class", class_text);
    expect_texts(scenario, &page, "user", user_text);
    expect_texts(scenario, &page, "state", state_text);
    expect_texts(scenario, &page, "pool", pool_text);
    CU_ASSERT_EQUAL(page_at(&page, "jobs.text.tenant") != NULL, scenario->trace.tenant != NULL);
    page_free(&page);
    page_scenario_destroy(scenario);
  }
}

/* ---- Attempts --------------------------------------------------------------------------------------- */

/* Checks that the table contains all attempts of those jobs that have more than one attempt, grouped by job. */
static void expect_attempts(const struct page_scenario *scenario, const struct read_page *page, size_t n) {
  const struct hr_attempt *attempts;
  size_t n_attempts = hr_history_attempts(scenario->history, &attempts), at = 0;
  double *job = column(page, "attempts", "job", n), *begin = column(page, "attempts", "begin_s", n);
  double *end = column(page, "attempts", "end_s", n), *pool = column(page, "attempts", "pool", n);
  double *lost = column(page, "attempts", "lost_s", n), *how = column(page, "attempts", "end", n);
  for (uint32_t i = 0; i < SCENARIO_JOBS; i++) {
    for (size_t k = 0; k < n_attempts && hr_result_accounting(scenario->result, (hr_job){i}).attempts > 1; k++) {
      const struct hr_attempt *attempt = &attempts[k];
      if (attempt->job.id != i) continue;
      CU_ASSERT_TRUE_FATAL(at < n);
      const char *text = cJSON_GetArrayItem(page_at(page, "attempts.text.end"), (int)how[at])->valuestring;
      CU_ASSERT_TRUE(job[at] == i && at_time(begin[at], attempt->begin_us) && at_time(end[at], attempt->end_us));
      CU_ASSERT_TRUE(at_time(lost[at], attempt->lost_us));
      CU_ASSERT_STRING_EQUAL(cJSON_GetArrayItem(page_at(page, "attempts.text.pool"), (int)pool[at])->valuestring,
                             scenario->pool[attempt->pool.id].name);
      CU_ASSERT_EQUAL(strncmp(text, "completed", 9) == 0, attempt->end == HR_ATTEMPT_COMPLETED);
      at++;
    }
  }
  CU_ASSERT_EQUAL(at, n);
  free(job);
  free(begin);
  free(end);
  free(pool);
  free(lost);
  free(how);
}

static void table_of_attempts(void) {
  size_t all = 0;
  for (uint64_t seed = 1; seed <= RUNS; seed++) {
    struct page_scenario *scenario = page_scenario_draw(seed);
    page_scenario_run(scenario);
    struct read_page page = page_of(&scenario->run);
    size_t wanted = 0;
    for (uint32_t i = 0; scenario->result->account && i < SCENARIO_JOBS; i++)
      if (hr_result_accounting(scenario->result, (hr_job){i}).attempts > 1)
        wanted += hr_result_accounting(scenario->result, (hr_job){i}).attempts;
    CU_ASSERT_EQUAL(page_at(&page, "attempts") != NULL, wanted > 0);
    if (wanted) {
      CU_ASSERT_TRUE(page_number(&page, "attempts.count") == (double)wanted);
      expect_attempts(scenario, &page, wanted);
    }
    all += wanted;
    page_free(&page);
    page_scenario_destroy(scenario);
  }
  CU_ASSERT_TRUE(all > RUNS);
}

/* ---- Heat map --------------------------------------------------------------------------------------- */

/* Returns the GPU time that was allocated on a node during an interval. */
static double held_on(const struct page_scenario *scenario, uint32_t pool, uint32_t node, double from, double to) {
  const struct hr_attempt *attempts;
  size_t n_attempts = hr_history_attempts(scenario->history, &attempts);
  double held = 0;
  for (size_t i = 0; i < n_attempts; i++) {
    const struct hr_attempt *attempt = &attempts[i];
    double begin = (double)attempt->begin_us / 1e6, end = (double)attempt->end_us / 1e6;
    double both = fmax(0, fmin(end, to) - fmax(begin, from)), gpus = 0;
    const struct hr_slice *slices = hr_history_slices(scenario->history, attempt);
    for (uint32_t k = 0; k < attempt->n_slices; k++)
      if (slices[k].node.id == node) gpus += slices[k].gpu_milli / 1000.0;
    if (attempt->n_slices == 0 && attempt->pool.id == pool)
      gpus += attempt->gpu_milli / 1000.0 / scenario->pool[pool].nodes;
    held += gpus * both;
  }
  return held;
}

static void expect_row(const struct page_scenario *scenario, const unsigned char *pixels, uint32_t pool, uint32_t node,
                       size_t columns, double step_s) {
  double end_s = (double)scenario->result->end_us / 1e6;
  for (size_t i = 0; i < columns; i++) {
    double from = (double)i * step_s, to = fmin(from + step_s, end_s);
    double part = held_on(scenario, pool, node, from, to) / ((to - from) * scenario->pool[pool].gpus_per_node);
    if (to - from < 1e-9) continue;
    CU_ASSERT_TRUE(fabs(pixels[i] / 255.0 - part) < 0.0045);
    CU_ASSERT_TRUE(pixels[i] != 255 || part > 1 - 1e-6);
    CU_ASSERT_TRUE(pixels[i] != 0 || part < 1e-6);
  }
}

static void heat_map_matches_attempts(void) {
  for (uint64_t seed = 1; seed <= RUNS; seed += 3) {
    struct page_scenario *scenario = page_scenario_draw(seed);
    page_scenario_run(scenario);
    struct read_page page = page_of(&scenario->run);
    size_t columns = (size_t)page_number(&page, "occupancy.columns"), size, row = 0;
    double step_s = page_number(&page, "occupancy.step_s");
    CU_ASSERT_TRUE(columns > 100 && columns <= 480);
    const cJSON *rows = page_at(&page, "occupancy.rows");
    unsigned char *pixels = page_block(&page, "occupancy", &size);
    uint32_t node = 0;
    CU_ASSERT_EQUAL_FATAL(size, columns * (size_t)cJSON_GetArraySize(rows));
    for (uint32_t pool = 0; pool < SCENARIO_POOLS; pool++) {
      for (uint32_t i = 0; i < scenario->pool[pool].nodes; i++, row++, node++) {
        const cJSON *at = cJSON_GetArrayItem(rows, (int)row);
        CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(at, "pool")->valuestring, scenario->pool[pool].name);
        CU_ASSERT_TRUE(cJSON_GetObjectItem(at, "first_node")->valuedouble == node);
        CU_ASSERT_TRUE(cJSON_GetObjectItem(at, "nodes")->valuedouble == 1);
        expect_row(scenario, pixels + row * columns, pool, node, columns, step_s);
      }
    }
    CU_ASSERT_EQUAL(row, (size_t)cJSON_GetArraySize(rows));
    free(pixels);
    page_free(&page);
    page_scenario_destroy(scenario);
  }
}

/* 1,000 nodes are drawn in rows of four. Two jobs of 8 GPUs use two nodes of the first row completely. */
static void several_nodes_per_row(void) {
  struct page_scenario *scenario = page_scenario_plain(2);
  scenario->pool[0].nodes = 1000;
  page_scenario_run(scenario);
  struct read_page page = page_of(&scenario->run);
  size_t size, columns = (size_t)page_number(&page, "occupancy.columns");
  unsigned char *pixels = page_block(&page, "occupancy", &size);
  CU_ASSERT_EQUAL(cJSON_GetArraySize(page_at(&page, "occupancy.rows")), 250);
  CU_ASSERT_EQUAL_FATAL(size, 250 * columns);
  CU_ASSERT_EQUAL(pixels[0], 128);
  CU_ASSERT_EQUAL(pixels[columns], 0);
  free(pixels);
  page_free(&page);
  page_scenario_destroy(scenario);
}

/* ---- Distributions ---------------------------------------------------------------------------------- */

typedef bool is_in(const struct page_scenario *scenario, uint32_t job, const char *name);

static bool in_all(const struct page_scenario *scenario, uint32_t job, const char *name) {
  (void)scenario, (void)job, (void)name;
  return true;
}
static bool in_class(const struct page_scenario *scenario, uint32_t job, const char *name) {
  return strcmp(hr_job_class_name((enum hr_job_class)scenario->class_[job]), name) == 0;
}
static bool in_tenant(const struct page_scenario *scenario, uint32_t job, const char *name) {
  return strcmp(tenant_text(scenario, job), name) == 0;
}
static bool in_size(const struct page_scenario *scenario, uint32_t job, const char *name) {
  uint32_t gpus = scenario->gpus[job];
  return strcmp(gpus == 1 ? "1" : gpus <= 4 ? "2-4" : "5-8", name) == 0;
}

static void expect_counts(const struct page_scenario *scenario, const struct read_page *page, const cJSON *list,
                          is_in *in, const char *name) {
  size_t n_edges, n;
  double *edges = page_list(page_at(page, "distributions.wait_s.edges_s"), &n_edges), *counts = page_list(list, &n);
  CU_ASSERT_EQUAL_FATAL(n + 1, n_edges);
  for (uint32_t i = 0; i < SCENARIO_JOBS; i++) {
    if (scenario->result->start_us[i] == HR_NEVER_US || !in(scenario, i, name)) continue;
    double wait_s = (double)(scenario->result->start_us[i] - scenario->submit_us[i]) / 1e6;
    size_t bin = 0;
    while (wait_s > 0 && bin < n && !(bin > 0 && wait_s <= edges[bin + 1])) bin++;
    CU_ASSERT_TRUE_FATAL(bin < n && (bin == 0 || wait_s > edges[bin]));
    counts[bin]--;
  }
  for (size_t i = 0; i < n; i++) CU_ASSERT_TRUE(counts[i] == 0);
  free(edges);
  free(counts);
}

static void expect_groups(const struct page_scenario *scenario, const struct read_page *page, const char *path,
                          is_in *in, size_t wanted) {
  const cJSON *group;
  CU_ASSERT_EQUAL((size_t)cJSON_GetArraySize(page_at(page, path)), wanted);
  cJSON_ArrayForEach(group, page_at(page, path)) {
    expect_counts(scenario, page, cJSON_GetObjectItem(group, "counts"), in,
                  cJSON_GetObjectItem(group, "name")->valuestring);
  }
}

static void bins_count_all_waits(void) {
  for (uint64_t seed = 1; seed <= RUNS; seed++) {
    struct page_scenario *scenario = page_scenario_draw(seed);
    page_scenario_run(scenario);
    struct read_page page = page_of(&scenario->run);
    expect_counts(scenario, &page, page_at(&page, "distributions.wait_s.all"), in_all, "");
    expect_groups(scenario, &page, "distributions.wait_s.by_class", in_class, scenario->summary->n_classes);
    expect_groups(scenario, &page, "distributions.wait_s.by_tenant", in_tenant, scenario->summary->n_tenants);
    expect_groups(scenario, &page, "distributions.wait_s.by_size", in_size, scenario->summary->n_sizes);
    page_free(&page);
    page_scenario_destroy(scenario);
  }
}

/* A run of two jobs. Only one of them waits, and its wait is shorter than the lowest bound that a histogram can have.
 */
static void bins_of_short_waits(void) {
  struct page_scenario *scenario = page_scenario_plain(2);
  scenario->work_us[0] = 3;
  page_scenario_run(scenario);
  struct read_page page = page_of(&scenario->run);
  size_t n;
  double *counts = page_list(page_at(&page, "distributions.wait_s.all"), &n);
  CU_ASSERT_EQUAL(n, 2);
  CU_ASSERT_TRUE(counts[0] == 1 && counts[1] == 1);
  free(counts);
  page_free(&page);
  page_scenario_destroy(scenario);
}

/* ---- Alerts ----------------------------------------------------------------------------------------- */

static double group_number(const cJSON *group, const char *key) {
  const cJSON *value = cJSON_GetObjectItemCaseSensitive(group, key);
  CU_ASSERT_TRUE_FATAL(cJSON_IsNumber(value));
  return value->valuedouble;
}

static bool is_of(const cJSON *group, const struct hr_alert *alert) {
  const cJSON *rule = cJSON_GetObjectItemCaseSensitive(group, "rule");
  const cJSON *subject = cJSON_GetObjectItemCaseSensitive(group, "subject");
  return strcmp(rule->valuestring, hr_alert_name(alert->rule)) == 0 && strcmp(subject->valuestring, alert->where) == 0;
}

static size_t expect_group(const cJSON *group, const struct hr_alert *list, size_t count) {
  int64_t sum_us = 0, longest_us = 0;
  size_t times = 0;
  bool longest_is_there = false;
  for (size_t i = 0; i < count; i++) {
    if (!is_of(group, &list[i])) continue;
    int64_t length_us = list[i].end_us - list[i].begin_us;
    times++;
    sum_us += length_us;
    if (length_us > longest_us) longest_us = length_us;
  }
  double longest_s = group_number(group, "longest_s"), from_s = group_number(group, "from_s");
  for (size_t i = 0; i < count; i++)
    longest_is_there |= is_of(group, &list[i]) && list[i].end_us - list[i].begin_us == longest_us &&
                        fabs((double)list[i].begin_us / 1e6 - from_s) < 1e-6;
  CU_ASSERT_TRUE(group_number(group, "times") == (double)times && times > 0);
  CU_ASSERT_TRUE(fabs(group_number(group, "seconds") - (double)sum_us / 1e6) < 1e-6);
  CU_ASSERT_TRUE(fabs(longest_s - (double)longest_us / 1e6) < 1e-6);
  CU_ASSERT_TRUE(longest_is_there);
  return times;
}

static void groups_of_alerts(void) {
  bool any_again = false;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    struct page_scenario *scenario = page_scenario_draw(seed);
    page_scenario_run(scenario);
    struct read_page page = page_of(&scenario->run);
    const struct hr_alert *list;
    size_t count = hr_alerts_list(scenario->alerts, &list), n_alerts = 0;
    const cJSON *group;
    cJSON_ArrayForEach(group, page_at(&page, "alert_groups")) {
      size_t times = expect_group(group, list, count);
      any_again |= times > 1;
      n_alerts += times;
    }
    CU_ASSERT_EQUAL(n_alerts, count);
    page_free(&page);
    page_scenario_destroy(scenario);
  }
  CU_ASSERT_TRUE(any_again);
}

TEST_MAIN("report: page tables", TEST(job_table_matches_result), TEST(table_of_attempts),
          TEST(heat_map_matches_attempts), TEST(several_nodes_per_row), TEST(bins_count_all_waits),
          TEST(bins_of_short_waits), TEST(groups_of_alerts))
