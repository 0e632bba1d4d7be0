/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time series of the HTML report for random runs, compared with a direct evaluation of every pass and with the sums of
   the summary. */

#include "harness.h"

#include "page_read.h"
#include "page_scenarios.h"

#include <math.h>
#include <string.h>

enum { RUNS = 40 };

/* Whether two numbers are equal up to the six significant digits of the report. */
static bool near(double a, double b) {
  return fabs(a - b) <= 1e-5 * (1 + fabs(a) + fabs(b));
}

static double begin_s, step_s, end_s;
static size_t n_buckets;

static void read_grid(const struct read_page *page) {
  begin_s = page_number(page, "series.begin_s");
  step_s = page_number(page, "series.step_s");
  end_s = page_number(page, "spans.end_s");
  n_buckets = (size_t)page_number(page, "series.n");
}

static double span_of(size_t i) {
  return fmin(step_s, end_s - (double)i * step_s);
}

static double *list_at(const struct read_page *page, const char *path) {
  size_t n;
  double *values = page_list(page_at(page, path), &n);
  CU_ASSERT_EQUAL_FATAL(n, n_buckets);
  return values;
}

/* Returns the integral of a series over the run. `means` contains the mean of each bucket. */
static double integral(const double *means) {
  double sum = 0;
  for (size_t i = 0; i < n_buckets; i++) sum += means[i] * span_of(i);
  return sum;
}

static double sum(const double *values) {
  double all = 0;
  for (size_t i = 0; i < n_buckets; i++) all += values[i];
  return all;
}

/* ---- Counts, compared with every pass --------------------------------------------------------------- */

typedef double count_of(const struct page_instant *instant);

static double waiting_of(const struct page_instant *instant) {
  return (double)instant->waiting;
}
static double running_of(const struct page_instant *instant) {
  return (double)instant->running;
}
static double allocated_of(const struct page_instant *instant) {
  return (double)instant->allocated_milli / 1000;
}
static double total_of(const struct page_instant *instant) {
  return (double)instant->total_milli / 1000;
}
static double waiting_gpus_of(const struct page_instant *instant) {
  return (double)instant->waiting_milli / 1000;
}

struct bucket {
  double sum, min, max;
};

/* Adds a value to the buckets between the times of two passes. The value was constant between these passes. */
static void fill(struct bucket *buckets, double value, double from, double to) {
  for (size_t i = 0; i < n_buckets; i++) {
    double begin = (double)i * step_s, end = i + 1 == n_buckets ? end_s : begin + step_s;
    bool touches = from < end ? to >= begin && (to > begin || from == to) : from == end && i + 1 == n_buckets;
    if (!touches) continue;
    buckets[i].sum += value * fmax(0, fmin(to, end) - fmax(from, begin));
    buckets[i].min = fmin(buckets[i].min, value);
    buckets[i].max = fmax(buckets[i].max, value);
  }
}

static void expect_count(const struct page_scenario *scenario, const struct read_page *page, const char *name,
                         count_of *value) {
  char path[80];
  struct bucket *buckets = calloc(n_buckets + 1, sizeof *buckets);
  CU_ASSERT_PTR_NOT_NULL_FATAL(buckets);
  for (size_t i = 0; i < n_buckets; i++) buckets[i] = (struct bucket){0, (double)INFINITY, -(double)INFINITY};
  for (size_t i = 0; i < scenario->n_instants; i++) {
    double from = (double)scenario->instants[i].at_us / 1e6;
    double to = i + 1 < scenario->n_instants ? (double)scenario->instants[i + 1].at_us / 1e6 : end_s;
    fill(buckets, value(&scenario->instants[i]), from, to);
  }
  static const char *const extremes[] = {"mean", "max", "min"};
  for (size_t e = 0; e < 3; e++) {
    snprintf(path, sizeof path, "series.%s.%s", name, extremes[e]);
    if (!page_at(page, path)) continue;
    double *values = list_at(page, path);
    for (size_t i = 0; i < n_buckets; i++) {
      double wanted = e == 0 ? buckets[i].sum / span_of(i) : e == 1 ? buckets[i].max : buckets[i].min;
      bool good = span_of(i) < 1e-9 || near(values[i], wanted);
      if (!good) printf("\n  %s, bucket %zu of %zu: %g, not %g\n", path, i, n_buckets, values[i], wanted);
      CU_ASSERT_TRUE_FATAL(good);
    }
    free(values);
  }
  free(buckets);
}

static void counts_match_every_pass(void) {
  for (uint64_t seed = 1; seed <= RUNS; seed++) {
    struct page_scenario *scenario = page_scenario_draw(seed);
    page_scenario_run(scenario);
    struct read_page page = page_of(&scenario->run);
    read_grid(&page);
    CU_ASSERT_TRUE(n_buckets > 500 && n_buckets <= 1200);
    CU_ASSERT_TRUE(begin_s == 0 && near(end_s, (double)scenario->result->end_us / 1e6));
    expect_count(scenario, &page, "waiting", waiting_of);
    expect_count(scenario, &page, "running", running_of);
    expect_count(scenario, &page, "allocated", allocated_of);
    expect_count(scenario, &page, "capacity", total_of);
    expect_count(scenario, &page, "waiting_gpus", waiting_gpus_of);
    page_free(&page);
    page_scenario_destroy(scenario);
  }
}

/* ---- Use of allocated GPU time ---------------------------------------------------------------------- */

static void expect_use(const struct page_scenario *scenario, const struct read_page *page) {
  const struct hr_goodput *goodput = &scenario->summary->goodput;
  double *allocated = list_at(page, "series.allocated.mean"), *busy = list_at(page, "series.busy.mean");
  double *useful = list_at(page, "series.useful.mean");
  CU_ASSERT_TRUE(near(integral(allocated) / 3600, scenario->summary->gpu_hours));
  CU_ASSERT_TRUE(near(integral(busy) / 3600, goodput->useful_gpu_hours + goodput->lost_gpu_hours));
  CU_ASSERT_TRUE(near(integral(useful) / 3600, goodput->useful_gpu_hours));
  for (size_t i = 0; i < n_buckets; i++) {
    CU_ASSERT_TRUE(useful[i] <= busy[i] + 1e-4 && busy[i] <= allocated[i] + 1e-4);
    CU_ASSERT_TRUE(useful[i] >= 0);
  }
  CU_ASSERT_EQUAL(page_at(page, "series.lost_gpu_hours") != NULL, scenario->summary->stoppable);
  if (scenario->summary->stoppable) {
    double *lost = list_at(page, "series.lost_gpu_hours");
    CU_ASSERT_TRUE(near(sum(lost), goodput->lost_gpu_hours));
    free(lost);
  }
  free(allocated);
  free(busy);
  free(useful);
}

static void expect_parts(const struct page_scenario *scenario, const struct read_page *page) {
  static const char *const names[] = {"tenant", "class", "gpu", "market", "pool"};
  const bool there[] = {scenario->trace.tenant != NULL, scenario->trace.class_ != NULL, true, true, true};
  double *allocated = list_at(page, "series.allocated.mean");
  for (size_t d = 0; d < 5; d++) {
    char path[80];
    size_t n;
    snprintf(path, sizeof path, "series.by.%s", names[d]);
    const cJSON *rows = page_at(page, path), *row;
    CU_ASSERT_EQUAL(cJSON_GetArraySize(rows) > 0, there[d] && scenario->summary->gpu_hours > 0);
    double *left = malloc(n_buckets * sizeof *left), before = (double)INFINITY;
    memcpy(left, allocated, n_buckets * sizeof *left);
    cJSON_ArrayForEach(row, rows) {
      double *values = page_list(cJSON_GetObjectItemCaseSensitive(row, "allocated"), &n);
      CU_ASSERT_EQUAL_FATAL(n, n_buckets);
      for (size_t i = 0; i < n_buckets; i++) left[i] -= values[i];
      CU_ASSERT_TRUE(integral(values) <= before * (1 + 1e-5) + 1e-3); /* rows are in descending order */
      before = integral(values);
      free(values);
    }
    for (size_t i = 0; there[d] && i < n_buckets; i++) CU_ASSERT_TRUE(fabs(left[i]) < 1e-3);
    free(left);
  }
  free(allocated);
}

/* Asserts that the series of allocated GPUs of each tenant sums to its GPU hours in the summary. */
static void expect_tenants(const struct page_scenario *scenario, const struct read_page *page) {
  const cJSON *row;
  cJSON_ArrayForEach(row, page_at(page, "series.by.tenant")) {
    size_t n, i = 0;
    double *values = page_list(cJSON_GetObjectItemCaseSensitive(row, "allocated"), &n);
    const char *name = cJSON_GetObjectItemCaseSensitive(row, "name")->valuestring;
    while (i < scenario->summary->n_tenants && strcmp(scenario->summary->by_tenant[i].name, name) != 0) i++;
    CU_ASSERT_TRUE_FATAL(i < scenario->summary->n_tenants);
    CU_ASSERT_TRUE(near(integral(values) / 3600, scenario->summary->by_tenant[i].gpu_hours));
    free(values);
  }
}

static void gpu_time_matches_summary(void) {
  double lost = 0;
  for (uint64_t seed = 1; seed <= RUNS; seed++) {
    struct page_scenario *scenario = page_scenario_draw(seed);
    page_scenario_run(scenario);
    struct read_page page = page_of(&scenario->run);
    read_grid(&page);
    expect_use(scenario, &page);
    expect_parts(scenario, &page);
    expect_tenants(scenario, &page);
    lost += scenario->summary->goodput.lost_gpu_hours;
    page_free(&page);
    page_scenario_destroy(scenario);
  }
  CU_ASSERT_TRUE(lost > RUNS); /* at least some of the runs contained lost work */
}

/* ---- Waits ------------------------------------------------------------------------------------------ */

static void waits_of_started_jobs(void) {
  for (uint64_t seed = 1; seed <= RUNS; seed += 7) {
    struct page_scenario *scenario = page_scenario_draw(seed);
    page_scenario_run(scenario);
    struct read_page page = page_of(&scenario->run);
    read_grid(&page);
    double *mean = list_at(&page, "series.wait_s.mean"), *max = list_at(&page, "series.wait_s.max");
    for (size_t i = 0; i < n_buckets; i++) {
      double all = 0, longest = 0, count = 0;
      for (uint32_t job = 0; job < SCENARIO_JOBS; job++) {
        double start_s = (double)scenario->result->start_us[job] / 1e6;
        bool within = start_s >= (double)i * step_s && (start_s < (double)(i + 1) * step_s || i + 1 == n_buckets);
        if (scenario->result->start_us[job] == HR_NEVER_US || !within) continue;
        double wait_s = (double)(scenario->result->start_us[job] - scenario->submit_us[job]) / 1e6;
        all += wait_s;
        longest = fmax(longest, wait_s);
        count++;
      }
      CU_ASSERT_TRUE(count > 0 ? near(mean[i], all / count) && near(max[i], longest) : isnan(mean[i]) && isnan(max[i]));
    }
    free(mean);
    free(max);
    page_free(&page);
    page_scenario_destroy(scenario);
  }
}

/* ---- Costs ------------------------------------------------------------------------------------------ */

static double total_of_rows(const cJSON *rows, double *by_bucket) {
  const cJSON *row;
  double all = 0;
  cJSON_ArrayForEach(row, rows) {
    size_t n;
    double *values = page_list(cJSON_GetObjectItemCaseSensitive(row, "usd"), &n);
    CU_ASSERT_EQUAL_FATAL(n, n_buckets);
    for (size_t i = 0; i < n; i++) by_bucket[i] -= values[i];
    all += sum(values);
    free(values);
  }
  return all;
}

static void expect_zero(const double *left) {
  for (size_t i = 0; i < n_buckets; i++) CU_ASSERT_TRUE(fabs(left[i]) < 1e-4);
}

static void expect_spending(const struct page_scenario *scenario, const struct read_page *page) {
  double total = (double)scenario->summary->costs->total_uusd / 1e6, used_of_ledger = 0;
  double *used = list_at(page, "series.cost.used"), *idle = list_at(page, "series.cost.idle");
  bool other = page_at(page, "series.cost.other") != NULL;
  double *rest = other ? list_at(page, "series.cost.other") : calloc(n_buckets, sizeof *rest);
  double *left = calloc(n_buckets, sizeof *left);
  double after = page_at(page, "series.cost.after_usd") ? page_number(page, "series.cost.after_usd") : 0;
  double whole = sum(used) + sum(idle) + sum(rest) + after;
  if (!near(whole, total)) printf("\n  %g, not %g\n", whole, total);
  CU_ASSERT_TRUE(near(whole, total));
  for (uint32_t i = 0; i < SCENARIO_POOLS; i++)
    used_of_ledger +=
        (double)hr_ledger_pool(scenario->ledger, (hr_pool){i})->used / (double)HR_LEDGER_UNITS_PER_UUSD / 1e6;
  CU_ASSERT_TRUE(near(sum(used), used_of_ledger));
  for (size_t i = 0; i < n_buckets; i++) CU_ASSERT_TRUE(used[i] >= 0 && idle[i] >= -1e-6);
  for (size_t i = 0; i < n_buckets; i++) left[i] = used[i] + idle[i] + rest[i];
  CU_ASSERT_TRUE(near(total_of_rows(page_at(page, "series.cost.by_market"), left), total - after));
  expect_zero(left);
  if (page_at(page, "series.cost.by_tenant")) {
    for (size_t i = 0; i < n_buckets; i++) left[i] = used[i] + idle[i] + rest[i];
    CU_ASSERT_TRUE(near(total_of_rows(page_at(page, "series.cost.by_tenant"), left), total - after));
    expect_zero(left);
  }
  free(used);
  free(idle);
  free(rest);
  free(left);
}

static double sum_of_cells(const cJSON *cells) {
  const cJSON *cell;
  double all = 0;
  cJSON_ArrayForEach(cell, cells) all += cJSON_GetObjectItemCaseSensitive(cell, "usd")->valuedouble;
  return all;
}

static void cost_series_sum_to_total(void) {
  uint64_t waived = 0, after = 0;
  for (uint64_t seed = 1; seed <= RUNS; seed++) {
    struct page_scenario *scenario = page_scenario_draw(seed);
    page_scenario_run(scenario);
    struct read_page page = page_of(&scenario->run);
    read_grid(&page);
    expect_spending(scenario, &page);
    double cells = sum_of_cells(page_at(&page, "costs.cells")), idle = sum_of_cells(page_at(&page, "costs.idle"));
    double total = (double)scenario->summary->costs->total_uusd / 1e6;
    CU_ASSERT_TRUE(fabs(cells + idle + page_number(&page, "costs.shared_usd") - total) < 1e-6);
    CU_ASSERT_TRUE(fabs(idle - (double)scenario->summary->costs->idle_uusd / 1e6) < 1e-6);
    for (uint32_t i = 0; i < SCENARIO_POOLS; i++)
      waived += hr_ledger_pool(scenario->ledger, (hr_pool){i})->waived_time > 0;
    after += page_at(&page, "series.cost.after_usd") != NULL;
    page_free(&page);
    page_scenario_destroy(scenario);
  }
  CU_ASSERT_TRUE(waived > 3 && after > 3);
}

/* ---- Spot ------------------------------------------------------------------------------------------- */

static double *list_of(const cJSON *object, const char *key) {
  size_t n;
  double *values = page_list(cJSON_GetObjectItemCaseSensitive(object, key), &n);
  CU_ASSERT_EQUAL_FATAL(n, n_buckets);
  return values;
}

/* Checks for each bucket the maximum number of acquired nodes if `is_up` is true, otherwise of offered nodes. */
static void expect_peaks(const struct page_scenario *scenario, const cJSON *row, uint32_t pool, bool is_up) {
  double *peaks = list_of(row, is_up ? "up_max" : "offered_max");
  struct bucket *buckets = calloc(n_buckets + 1, sizeof *buckets);
  CU_ASSERT_PTR_NOT_NULL_FATAL(buckets);
  for (size_t i = 0; i < scenario->n_instants; i++) {
    const struct page_instant *instant = &scenario->instants[i];
    double to = i + 1 < scenario->n_instants ? (double)instant[1].at_us / 1e6 : end_s;
    fill(buckets, is_up ? instant->up[pool] : instant->offered[pool], (double)instant->at_us / 1e6, to);
  }
  for (size_t i = 0; i < n_buckets; i++) CU_ASSERT_TRUE(peaks[i] == buckets[i].max);
  free(buckets);
  free(peaks);
}

static void expect_spot(const struct page_scenario *scenario, const cJSON *row, uint32_t pool) {
  const struct hr_pool_accounting *accounting = &scenario->result->pools[pool];
  double *offered = list_of(row, "offered"), *up = list_of(row, "up");
  double *reclaims = list_of(row, "reclaims"), *interrupted = list_of(row, "interrupted");
  CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItemCaseSensitive(row, "pool")->valuestring, scenario->pool[pool].name);
  if (!near(integral(offered), (double)accounting->offered_us / 1e6))
    printf("\n  offered %g, not %g\n", integral(offered), (double)accounting->offered_us / 1e6);
  CU_ASSERT_TRUE(near(integral(offered), (double)accounting->offered_us / 1e6));
  CU_ASSERT_TRUE(near(integral(up), (double)accounting->up_us / 1e6));
  CU_ASSERT_TRUE(sum(reclaims) == (double)accounting->reclaims);
  CU_ASSERT_TRUE(sum(interrupted) == (double)accounting->interruptions);
  expect_peaks(scenario, row, pool, true);
  expect_peaks(scenario, row, pool, false);
  free(offered);
  free(up);
  free(reclaims);
  free(interrupted);
}

static void spot_series_match_accounting(void) {
  uint64_t reclaims = 0;
  for (uint64_t seed = 1; seed <= RUNS; seed++) {
    struct page_scenario *scenario = page_scenario_draw(seed);
    page_scenario_run(scenario);
    struct read_page page = page_of(&scenario->run);
    read_grid(&page);
    const cJSON *row = page_at(&page, "series.spot");
    row = row ? row->child : NULL;
    for (uint32_t i = 0; i < SCENARIO_POOLS; i++) {
      if (scenario->pool[i].market.market != HR_MARKET_SPOT || scenario->pool[i].nodes == 0) continue;
      CU_ASSERT_PTR_NOT_NULL_FATAL(row);
      expect_spot(scenario, row, i);
      row = row->next;
      reclaims += scenario->result->pools[i].reclaims;
    }
    CU_ASSERT_PTR_NULL(row);
    page_free(&page);
    page_scenario_destroy(scenario);
  }
  CU_ASSERT_TRUE(reclaims > RUNS);
}

/* ---- Fragments -------------------------------------------------------------------------------------- */

/* The integrals of the series of fragmentation agree with the shares in the summary. The summary covers the time up to
   the last end of a job, so only runs that end with a job are compared. */
static void fragments_match_summary(void) {
  uint32_t known = 0;
  for (uint64_t seed = 1; seed <= RUNS; seed++) {
    struct page_scenario *scenario = page_scenario_draw(seed);
    scenario->cluster.by_gpu = seed % 4 > 0;
    page_scenario_run(scenario);
    const struct hr_fragmentation_metrics *figures = &scenario->summary->fragmentation;
    struct read_page page = page_of(&scenario->run);
    read_grid(&page);
    CU_ASSERT_EQUAL(page_at(&page, "series.fragmented") != NULL, figures->known);
    CU_ASSERT_EQUAL(page_at(&page, "series.stranded") != NULL, figures->known);
    if (figures->known && near(scenario->summary->makespan_s, end_s)) {
      double *fragmented = list_at(&page, "series.fragmented.mean"), *capacity = list_at(&page, "series.capacity.mean");
      CU_ASSERT_DOUBLE_EQUAL(integral(fragmented) / integral(capacity), figures->makespan, 1e-4);
      free(fragmented);
      free(capacity);
      known++;
    }
    page_free(&page);
    page_scenario_destroy(scenario);
  }
  CU_ASSERT_TRUE(known > RUNS / 4);
}

TEST_MAIN("report: page series", TEST(counts_match_every_pass), TEST(gpu_time_matches_summary),
          TEST(waits_of_started_jobs), TEST(cost_series_sum_to_total), TEST(spot_series_match_accounting),
          TEST(fragments_match_summary))
