/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file of a sweep: its content, and the check that it belongs to the sweep. Runs that the file already contains
   must not be repeated. */

#include "plan/sweep/sweep.h"
#include "harness.h"
#include "headroom/unstable/compare.h"
#include "output_files.h"
#include "sweep_setup.h"

#include <inttypes.h>
#include <math.h>
#include <sqlite3.h>
#include <string.h>

static enum hr_status sweep(const struct sweep_paths *paths, uint32_t shard, uint32_t n_shards,
                            struct hr_sweep_counts *counts, struct hr_error *error) {
  struct hr_sweep_config config = {
      .grid = paths->grid, .file = paths->file, .shard = shard, .n_shards = n_shards, .n_threads = 2};
  enum hr_status status = hr_sweep(&config, counts, error);
  if (status != HR_OK && error->status == HR_OK) printf("\n  %s\n", error->text);
  hr_notes_finish(&counts->notes);
  return status;
}

/* The first value that a query returns, as text; "" if the query returns no row. */
static const char *ask(const char *path, const char *sql, char text[200]) {
  sqlite3 *db = NULL;
  sqlite3_stmt *row = NULL;
  text[0] = '\0';
  CU_ASSERT_EQUAL(sqlite3_open(path, &db), SQLITE_OK);
  CU_ASSERT_EQUAL(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
  if (sqlite3_step(row) == SQLITE_ROW && sqlite3_column_text(row, 0))
    snprintf(text, 200, "%s", (const char *)sqlite3_column_text(row, 0));
  sqlite3_finalize(row);
  sqlite3_close(db);
  return text;
}

static void expect(const struct sweep_paths *paths, const char *sql, const char *value) {
  char text[200];
  if (strcmp(ask(paths->file, sql, text), value) != 0) printf("\n  %s: %s, not %s\n", sql, text, value);
  CU_ASSERT_STRING_EQUAL(text, value);
}

/* With one node, the jobs of 100, 50 and 10 s start at 0, 100 and 150 s in submit order, and at 0, 110 and 100 s if the
   shortest is first. The fourth job starts at once, because the node is empty. */
static void rows_of_a_sweep(void) {
  struct sweep_paths paths;
  struct hr_sweep_counts counts;
  struct hr_error error = {0};
  sweep_setup(&paths);
  CU_ASSERT_EQUAL_FATAL(sweep(&paths, 0, 0, &counts, &error), HR_OK);
  CU_ASSERT_EQUAL(counts.points, 4);
  CU_ASSERT_EQUAL(counts.runs, 4);
  CU_ASSERT_EQUAL(counts.now, 4);
  expect(&paths, "SELECT wait_mean_s FROM runs WHERE run = 0", "61.75"); /* (0 + 99 + 148 + 0) / 4 */
  expect(&paths, "SELECT wait_mean_s FROM runs WHERE run = 1", "51.75"); /* (0 + 109 + 98 + 0) / 4 */
  expect(&paths,
         "SELECT \"the \"\"nodes\"\"\" || order_ FROM (SELECT *, \"order\" AS order_ FROM points WHERE point = 3)",
         "2sjf");
  expect(&paths, "SELECT typeof(\"the \"\"nodes\"\"\") FROM runs", "integer");
  expect(&paths, "SELECT cost_total_usd IS NULL FROM runs", "1"); /* the scenario has no prices */
  expect(&paths, "SELECT group_concat(seed) FROM runs", "5,5,5,5");
  expect(&paths, "SELECT scenario FROM runs WHERE run = 1",
         "{\"scenario\":\"s.json\",\"set\":[\"cluster.pools.0.nodes=1\",\"policy.order=sjf\"]}");
  expect(&paths, "SELECT value FROM groups WHERE run = 0 AND kind = 'tenant' AND name = 'b' AND metric = 'wait_mean_s'",
         "123.5"); /* (99 + 148) / 2 */
  expect(&paths, "SELECT count(DISTINCT name) FROM groups", "3");
  expect(&paths, "SELECT value FROM meta WHERE key = 'format'", "headroom-sweep 1");
  expect(&paths, "SELECT value FROM meta WHERE key = 'trace'", "jobs.csv");
  expect(&paths, "PRAGMA integrity_check", "ok");
}

/* If the scenario redraws its workload, each replication of a point has the workload of its seed, and all points have
   the same workloads. */
static void workloads_are_redrawn(void) {
  struct sweep_paths paths;
  struct hr_sweep_counts counts;
  struct hr_error error = {0};
  sweep_setup(&paths);
  sweep_write("g.json", "{\"scenario\":\"s.json\",\"set\":[\"replications.workload.growth=1.5\"],\"replications\":6,"
                        "\"axes\":[{\"name\":\"nodes\",\"path\":\"cluster.pools.0.nodes\",\"values\":[1,2]}]}");
  CU_ASSERT_EQUAL_FATAL(sweep(&paths, 0, 0, &counts, &error), HR_OK);
  CU_ASSERT_EQUAL(counts.runs, 12);
  struct hr_trace *trace = NULL, *drawn = NULL;
  const struct hr_trace_options options = {.format = "csv"};
  CU_ASSERT_EQUAL_FATAL(hr_trace_read(files_path("jobs.csv"), &options, &trace, NULL), HR_OK);
  for (uint32_t r = 0; r < 6; r++) {
    const struct hr_workload_spec spec = {.blocks = HR_BLOCKS_NONE, .growth = 1.5};
    CU_ASSERT_EQUAL_FATAL(hr_trace_redraw(trace, &spec, hr_replication_seed(5, r), &drawn, NULL), HR_OK);
    char sql[100], count[20];
    snprintf(sql, sizeof sql, "SELECT jobs_submitted FROM runs WHERE run = %u", (unsigned)r);
    snprintf(count, sizeof count, "%u.0", (unsigned)drawn->n_jobs);
    expect(&paths, sql, count);
    snprintf(sql, sizeof sql, "SELECT jobs_submitted FROM runs WHERE run = %u", (unsigned)r + 6);
    expect(&paths, sql, count);
    hr_trace_destroy(drawn);
  }
  hr_trace_destroy(trace);
  expect(&paths, "SELECT count(DISTINCT jobs_submitted) > 1 FROM runs", "1");
}

static void existing_runs_are_not_repeated(void) {
  struct sweep_paths paths;
  struct hr_sweep_counts counts;
  struct hr_error error = {0};
  sweep_setup(&paths);
  CU_ASSERT_EQUAL_FATAL(sweep(&paths, 2, 3, &counts, &error), HR_OK);
  CU_ASSERT(counts.before == 0 && counts.now == 1 && counts.missing == 3 && counts.first_missing == 0);
  char text[200];
  ask(paths.file, "UPDATE runs SET wait_mean_s = -7", text); /* a value that no run has */
  CU_ASSERT_EQUAL_FATAL(sweep(&paths, 1, 3, &counts, &error), HR_OK);
  CU_ASSERT(counts.before == 1 && counts.now == 2 && counts.missing == 1 && counts.first_missing == 2);
  CU_ASSERT_EQUAL_FATAL(sweep(&paths, 0, 0, &counts, &error), HR_OK);
  CU_ASSERT(counts.before == 3 && counts.now == 1 && counts.missing == 0);
  expect(&paths, "SELECT run FROM runs WHERE wait_mean_s = -7", "1");
  expect(&paths, "SELECT count(*) FROM runs", "4");
}

static void expect_refused(const struct sweep_paths *paths, const char *what) {
  struct hr_sweep_counts counts;
  struct hr_error error = {0};
  CU_ASSERT_EQUAL(sweep(paths, 0, 0, &counts, &error), HR_BAD_INPUT);
  if (!strstr(error.text, what)) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, what));
}

static void files_of_other_sweeps(void) {
  struct sweep_paths paths;
  struct hr_sweep_counts counts;
  struct hr_error error = {0};
  char text[200];
  sweep_setup(&paths);
  CU_ASSERT_EQUAL_FATAL(sweep(&paths, 0, 0, &counts, &error), HR_OK);
  ask(paths.file, "UPDATE meta SET value = '0.0.1' WHERE key = 'headroom'", text);
  expect_refused(&paths, "a sweep file from Headroom 0.0.1");
  CU_ASSERT_EQUAL(hr_sweep_write_csv("/dev/null", paths.file, &error), HR_BAD_INPUT);
  ask(paths.file, "UPDATE meta SET value = 'headroom-sweep 2' WHERE key = 'format'", text);
  expect_refused(&paths, "format 'headroom-sweep 2', expected 'headroom-sweep 1'");
  ask(paths.file, "DELETE FROM meta", text);
  expect_refused(&paths, "not the file of a sweep: it has no format");
  ask(paths.file, "PRAGMA application_id = 1", text);
  expect_refused(&paths, "not the file of a sweep; it was not changed");
  sweep_write("g.sqlite", "my notes");
  expect_refused(&paths, "not the file of a sweep; it was not changed");
}

static void merge_of_different_sweeps(void) {
  struct sweep_paths paths;
  struct hr_sweep_counts counts;
  struct hr_error error = {0};
  char text[200], other[300], out[300];
  sweep_setup(&paths);
  snprintf(other, sizeof other, "%s", files_path("other.sqlite"));
  snprintf(out, sizeof out, "%s", files_path("out.sqlite"));
  remove(other);
  remove(out);
  CU_ASSERT_EQUAL_FATAL(sweep(&paths, 0, 0, &counts, &error), HR_OK);
  const char *const parts[] = {paths.file, other};
  CU_ASSERT_EQUAL_FATAL(hr_sweep_merge(other, parts, 1, &counts, &error), HR_OK);
  CU_ASSERT_EQUAL(hr_sweep_merge(out, parts, 2, &counts, &error), HR_OK);
  CU_ASSERT(counts.now == 4 && counts.missing == 0);
  ask(other, "UPDATE runs SET wait_mean_s = 0 WHERE run = 2", text);
  CU_ASSERT_EQUAL(hr_sweep_merge(out, parts, 2, &counts, &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "the result of run 2 differs"));
}

static bool same(const double *a, const double *b) {
  for (size_t i = 0; i < HR__N_METRICS; i++)
    if (a[i] != b[i] && !(isnan(a[i]) && isnan(b[i]))) return false;
  return true;
}

static void records_round_trip_as_bytes(void) {
  static char tenant[] = "a tenant", empty[] = "";
  const double nan = HR__UNKNOWN;
  struct hr__sweep_group groups[] = {{HR__SWEEP_TENANT, tenant, {1, 2, nan}}, {HR__SWEEP_CLASS, empty, {4}}};
  struct hr__sweep_record record = {
      .run = 3, .seed = UINT64_MAX, .digest = 9, .values = {nan, 0.1}, .groups = groups, .n_groups = 2};
  struct hr__sweep_record copy = {0};
  struct hr__parcel parcel = {0};
  hr__parcel_record(&parcel, &record);
  struct hr__parcel same_bytes = {.bytes = parcel.bytes, .size = parcel.used, .reading = true};
  hr__parcel_record(&same_bytes, &copy);
  CU_ASSERT_TRUE_FATAL(!parcel.failed && !same_bytes.failed && same_bytes.used == same_bytes.size);
  CU_ASSERT(copy.run == 3 && copy.seed == UINT64_MAX && copy.digest == 9 && copy.n_groups == 2);
  CU_ASSERT_TRUE(same(copy.values, record.values));
  for (size_t i = 0; i < 2; i++) {
    CU_ASSERT_EQUAL(copy.groups[i].kind, groups[i].kind);
    CU_ASSERT_STRING_EQUAL(copy.groups[i].name, groups[i].name);
    CU_ASSERT_TRUE(same(copy.groups[i].values, groups[i].values));
  }
  hr__sweep_record_finish(&copy);
  hr__parcel_finish(&parcel);
}

TEST_MAIN("plan: sweeps", TEST(rows_of_a_sweep), TEST(workloads_are_redrawn), TEST(existing_runs_are_not_repeated),
          TEST(files_of_other_sweeps), TEST(merge_of_different_sweeps), TEST(records_round_trip_as_bytes))
