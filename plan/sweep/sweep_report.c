/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reports of a sweep's file: CSV, a table of the best and worst points for a terminal, and JSON for the HTML report.
 * All reports read the file with SQL.
 */

#include "base/output_file.h"
#include "base/text.h"
#include "plan/sweep/sweep.h"
#include "report/tables/tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- CSV -------------------------------------------------------------------------------------------- */

static void put_real(struct hr__csv_out *out, double value) {
  char text[HR__NUMBER_BYTES];
  hr__csv_text(out, hr__exact_text(value, text));
}

static void csv_put_row(struct hr__csv_out *out, sqlite3_stmt *row) {
  for (int i = 0; i < sqlite3_column_count(row); i++) {
    if (sqlite3_column_type(row, i) == SQLITE_FLOAT)
      put_real(out, sqlite3_column_double(row, i));
    else
      hr__csv_text(out, (const char *)sqlite3_column_text(row, i));
  }
  hr__csv_end_row(out);
}

static enum hr_status csv_put_rows(struct hr__store *store, sqlite3_stmt *rows, struct hr__csv_out *out,
                                   struct hr_error *error) {
  for (int i = 0; i < sqlite3_column_count(rows); i++) hr__csv_text(out, sqlite3_column_name(rows, i));
  hr__csv_end_row(out);
  int code;
  while ((code = sqlite3_step(rows)) == SQLITE_ROW) csv_put_row(out, rows);
  return code == SQLITE_DONE ? HR_OK : hr__store_fail(store, error);
}

enum hr_status hr_sweep_write_csv(const char *path, const char *file, struct hr_error *error) {
  struct hr__store store;
  struct hr__csv_out out = {0};
  sqlite3_stmt *rows = NULL;
  enum hr_status status = hr__store_read(&store, file, error);
  const char *sql =
      status == HR_OK && hr__store_has_infeasible(&store)
          ? "SELECT runs.*, infeasible.reason AS infeasible FROM runs LEFT JOIN infeasible USING (point) ORDER BY run"
          : "SELECT * FROM runs ORDER BY run";
  if (status == HR_OK && sqlite3_prepare_v2(store.db, sql, -1, &rows, NULL) != SQLITE_OK)
    status = hr__store_fail(&store, error);
  if (status == HR_OK) status = hr__csv_open(&out, path, NULL, error);
  if (status == HR_OK) {
    status = csv_put_rows(&store, rows, &out, error);
    if (status == HR_OK)
      status = hr__csv_commit(&out, error);
    else
      hr__csv_abandon(&out);
  }
  sqlite3_finalize(rows);
  hr__store_close(&store);
  return status;
}

/* ---- Terminal --------------------------------------------------------------------------------------- */

/* The metrics of the table, whether higher or lower is better, and whether they are those of jobs. */
static const struct {
  enum hr__metric metric;
  const char *title;
  bool higher_is_better, of_jobs;
} shown[] = {{HR__M_WAIT_MEAN, "mean wait", false, true},   {HR__M_WAIT_P95, "p95 wait", false, true},
             {HR__M_JCT_MEAN, "mean jct", false, true},     {HR__M_UTILIZATION_MAKESPAN, "GPUs in use", true, false},
             {HR__M_UNFINISHED, "unfinished", false, true}, {HR__M_ATTAINMENT, "within goals", true, false},
             {HR__M_TTFT_P95, "p95 TTFT", false, false},    {HR__M_COST, "cost", false, false}};

/* Whether any run replays a trace of jobs. Otherwise the metrics of jobs are those of the replicas of services. */
static bool has_jobs(struct hr__store *store) {
  return hr__store_number(store, "SELECT count(*) FROM meta WHERE key = 'trace' AND value <> ''") > 0;
}

/* Returns the settings in a row of the view `points` as text, such as "nodes=4, policy=sjf". The caller frees it. NULL
   when out of memory. */
static char *point_text(sqlite3_stmt *row, int first, int n_axes) {
  sqlite3_str *text = sqlite3_str_new(NULL);
  for (int i = first; i < first + n_axes; i++) {
    const char *value = (const char *)sqlite3_column_text(row, i);
    sqlite3_str_appendf(text, "%s%s=%s", i > first ? ", " : "", sqlite3_column_name(row, i), value ? value : "");
  }
  return sqlite3_str_finish(text);
}

static void put_point(struct hr__console *console, const char *title, const char *end, enum hr_unit unit,
                      sqlite3_stmt *row) {
  enum { COLUMNS_BEFORE = 2, TEXT_AT = 13 + 7 + 14 + 7 + 2 };
  char metric[HR__METRIC_BYTES];
  int n_axes = sqlite3_column_count(row) - COLUMNS_BEFORE;
  char *text = point_text(row, COLUMNS_BEFORE, n_axes);
  char *fitted = text ? hr__fitted(console, text, HR__LINE_WIDTH - TEXT_AT, false) : NULL;
  fprintf(console->out, "%-13s%-7s%14s%7lld  %s\n", title, end,
          hr__metric_text(unit, sqlite3_column_double(row, 0), metric), (long long)sqlite3_column_int64(row, 1),
          fitted ? fitted : "");
  if (!fitted) console->out_of_memory = true;
  sqlite3_free(text);
  free(fitted);
}

/* Returns the columns of the axes for a SELECT, each preceded by a comma. Free it with sqlite3_free. */
static char *axis_columns(struct hr__store *store) {
  sqlite3_str *text = sqlite3_str_new(NULL);
  sqlite3_stmt *all = NULL;
  if (sqlite3_prepare_v2(store->db, "SELECT * FROM points", -1, &all, NULL) == SQLITE_OK)
    for (int i = 2; i < sqlite3_column_count(all) - HR__N_METRICS; i++)
      sqlite3_str_appendf(text, ", \"%w\"", sqlite3_column_name(all, i));
  sqlite3_finalize(all);
  return sqlite3_str_finish(text);
}

/* Finds the best or the worst point by a metric; of several equal points the first. NULL: the metric is unknown. */
static sqlite3_stmt *find_point(struct hr__store *store, const char *axes, size_t which, bool best) {
  const char *column = hr__metric_rows[shown[which].metric].column;
  const char *order = shown[which].higher_is_better == best ? "DESC" : "ASC";
  sqlite3_stmt *row = NULL;
  char *sql = sqlite3_mprintf("SELECT %s, point%s FROM points WHERE %s IS NOT NULL ORDER BY 1 %s, point LIMIT 1",
                              column, axes, column, order);
  if (sql && sqlite3_prepare_v2(store->db, sql, -1, &row, NULL) == SQLITE_OK && sqlite3_step(row) != SQLITE_ROW) {
    sqlite3_finalize(row);
    row = NULL;
  }
  sqlite3_free(sql);
  return row;
}

static void put_metric(struct hr__store *store, struct hr__console *console, const char *axes, size_t which) {
  enum hr_unit unit = hr__metric_rows[shown[which].metric].unit;
  sqlite3_stmt *best = find_point(store, axes, which, true), *worst = find_point(store, axes, which, false);
  if (best && worst) {
    bool equal = sqlite3_column_double(best, 0) == sqlite3_column_double(worst, 0);
    put_point(console, shown[which].title, equal ? "all" : "best", unit, best);
    if (!equal) put_point(console, "", "worst", unit, worst);
  }
  sqlite3_finalize(best);
  sqlite3_finalize(worst);
}

static void put_counts(struct hr__console *console, const char *file, const struct hr_sweep_counts *counts) {
  char a[HR__NUMBER_BYTES], b[HR__NUMBER_BYTES], c[HR__NUMBER_BYTES];
  fprintf(console->out, "%sHeadroom %s: sweep%s\n\n", hr__bold(console), hr_version(), hr__plain(console));
  hr__put_field(console, "file", "%s", file);
  hr__put_field(console, "points", "%s", hr__count_text(counts->points, a));
  hr__put_field(console, "runs", "%s: %s found, %s new%s", hr__count_text(counts->runs, a),
                hr__count_text(counts->before, b), hr__count_text(counts->now, c),
                counts->missing ? "" : ", none missing");
  if (counts->missing)
    hr__put_field(console, "missing", "%s, the first is run %" PRIu64, hr__count_text(counts->missing, a),
                  counts->first_missing);
}

/* Prints the first points that were not simulated, with their settings and the reasons. */
static enum hr_status put_infeasible(struct hr__store *store, struct hr__console *console, const char *axes,
                                     struct hr_error *error) {
  enum { COLUMNS_BEFORE = 2, MAX_POINTS = 5 };
  if (!hr__store_has_infeasible(store)) return HR_OK;
  sqlite3_stmt *row = NULL;
  char *sql = sqlite3_mprintf("SELECT point, (SELECT i.reason FROM infeasible AS i WHERE i.point = points.point)%s "
                              "FROM points WHERE point IN (SELECT point FROM infeasible) ORDER BY point",
                              axes);
  int code = sql ? sqlite3_prepare_v2(store->db, sql, -1, &row, NULL) : SQLITE_NOMEM;
  uint64_t count = 0;
  while ((code == SQLITE_OK || code == SQLITE_ROW) && (code = sqlite3_step(row)) == SQLITE_ROW) {
    if (++count > MAX_POINTS) continue;
    char *text = point_text(row, COLUMNS_BEFORE, sqlite3_column_count(row) - COLUMNS_BEFORE);
    if (!text) console->out_of_memory = true;
    hr__put_field(console, count == 1 ? "infeasible" : "", "point %lld (%s): %s",
                  (long long)sqlite3_column_int64(row, 0), text ? text : "", (const char *)sqlite3_column_text(row, 1));
    sqlite3_free(text);
  }
  if (count > MAX_POINTS) hr__put_field(console, "", "and %" PRIu64 " other points", count - MAX_POINTS);
  sqlite3_finalize(row);
  sqlite3_free(sql);
  return code == SQLITE_DONE ? HR_OK : hr__store_fail(store, error);
}

enum hr_status hr_sweep_print(FILE *out, const char *file, const struct hr_sweep_counts *counts, bool colour,
                              struct hr_error *error) {
  struct hr__console console = {.out = out, .colour = colour};
  struct hr__store store;
  enum hr_status status = hr__store_read(&store, file, error);
  if (status == HR_OK) {
    char *axes = axis_columns(&store);
    put_counts(&console, file, counts);
    if (axes) status = put_infeasible(&store, &console, axes, error);
    fprintf(out, "\n%s%-13s%-7s%14s%7s  %s%s\n", hr__bold(&console), "by point", "", "mean", "point", "where",
            hr__plain(&console));
    const bool with_jobs = has_jobs(&store);
    for (size_t i = 0; axes && i < sizeof shown / sizeof *shown; i++)
      if (with_jobs || !shown[i].of_jobs) put_metric(&store, &console, axes, i);
    sqlite3_free(axes);
    if (status == HR_OK && (console.out_of_memory || !axes)) status = hr_fail(error, HR_NO_MEMORY, "out of memory");
  }
  hr__store_close(&store);
  return status;
}

/* ---- JSON for the HTML report ----------------------------------------------------------------------- */

/* Writes settings and metrics of all runs. If there are more than MAX_ROWS runs, writes the settings and mean metrics
   of all points instead. If there are also more than MAX_ROWS points, writes every n-th point. */

enum { MAX_ROWS = 3000 };

struct sweep_row_shape {
  int first_axis, n_axes, first_metric;
};

/* The columns of a table or view: first its own columns, then the axes, then the metrics. */
static struct sweep_row_shape shape_of(sqlite3_stmt *rows, int first_axis) {
  int n_axes = sqlite3_column_count(rows) - first_axis - HR__N_METRICS;
  return (struct sweep_row_shape){first_axis, n_axes, first_axis + n_axes};
}

static void put_value(struct hr__json *json, cJSON *object, sqlite3_stmt *row, int column) {
  const char *name = sqlite3_column_name(row, column);
  int type = sqlite3_column_type(row, column);
  if (type == SQLITE_FLOAT || type == SQLITE_INTEGER)
    hr__json_number(json, object, name, sqlite3_column_double(row, column));
  else
    hr__json_text(json, object, name, (const char *)sqlite3_column_text(row, column));
}

static void json_put_row(struct hr__json *json, cJSON *runs, sqlite3_stmt *row, const struct sweep_row_shape *shape) {
  cJSON *run = hr__json_append(json, runs, cJSON_CreateObject());
  cJSON *settings = hr__json_object(json, run, "settings");
  for (int i = 0; i < shape->n_axes; i++) put_value(json, settings, row, shape->first_axis + i);
  cJSON *metrics = hr__json_object(json, run, "metrics");
  for (int i = 0; i < HR__N_METRICS; i++) put_value(json, metrics, row, shape->first_metric + i);
}

static enum hr_status json_put_rows(struct hr__store *store, struct hr__json *json, cJSON *root, const char *sql,
                                    int first_axis, struct hr_error *error) {
  sqlite3_stmt *rows = NULL;
  if (sqlite3_prepare_v2(store->db, sql, -1, &rows, NULL) != SQLITE_OK) {
    sqlite3_finalize(rows);
    return hr__store_fail(store, error);
  }
  struct sweep_row_shape shape = shape_of(rows, first_axis);
  cJSON *axes = hr__json_array(json, root, "axes");
  for (int i = 0; i < shape.n_axes; i++)
    hr__json_append(json, axes, cJSON_CreateString(sqlite3_column_name(rows, first_axis + i)));
  cJSON *runs = hr__json_array(json, root, "runs");
  int code;
  while ((code = sqlite3_step(rows)) == SQLITE_ROW) json_put_row(json, runs, rows, &shape);
  sqlite3_finalize(rows);
  return code == SQLITE_DONE ? HR_OK : hr__store_fail(store, error);
}

static enum hr_status put_all(struct hr__store *store, struct hr__json *json, cJSON *root, struct hr_error *error) {
  enum { AXES_OF_RUNS = 6, AXES_OF_POINTS = 2 };
  uint64_t runs = hr__store_number(store, "SELECT count(*) FROM runs");
  uint64_t points = hr__store_number(store, "SELECT count(DISTINCT point) FROM runs");
  bool all = runs <= MAX_ROWS;
  hr__json_count(json, root, "count", all ? runs : points);
  hr__json_text(json, root, "of", all ? "runs" : "points");
  if (all) return json_put_rows(store, json, root, "SELECT * FROM runs ORDER BY run", AXES_OF_RUNS, error);
  char *sql = sqlite3_mprintf("SELECT * FROM points WHERE point %% %llu = 0 ORDER BY point",
                              (unsigned long long)((points + MAX_ROWS - 1) / MAX_ROWS));
  if (!sql) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  enum hr_status status = json_put_rows(store, json, root, sql, AXES_OF_POINTS, error);
  sqlite3_free(sql);
  return status;
}

enum hr_status hr_sweep_json(const char *file, char **text, struct hr_error *error) {
  struct hr__store store;
  struct hr__json json = {false};
  enum hr_status status = hr__store_read(&store, file, error);
  if (status == HR_OK) {
    cJSON *root = cJSON_CreateObject();
    status = put_all(&store, &json, root, error);
    *text = hr__json_print(&json, root);
    if (status == HR_OK && !*text) status = hr_fail(error, HR_NO_MEMORY, "%s: out of memory for its runs", file);
    if (status != HR_OK) free(*text);
  }
  hr__store_close(&store);
  return status;
}
