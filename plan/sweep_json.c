/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sweep's runs for a page: their settings and their figures. Where they are too many, its points; where those are,
   every so-many-th of them. */

#include "plan/sweep_store.h"
#include "report/json_tree.h"

#include <stdlib.h>

enum { MOST_ROWS = 3000 };

struct shape {
  int first_axis, n_axes, first_measure;
};

/* Columns of a table or view: some of its own, the axes, the figures. */
static struct shape shape_of(sqlite3_stmt *rows, int first_axis) {
  int n_axes = sqlite3_column_count(rows) - first_axis - HR__N_MEASURES;
  return (struct shape){first_axis, n_axes, first_axis + n_axes};
}

static void put_value(struct hr__json *json, cJSON *object, sqlite3_stmt *row, int column) {
  const char *name = sqlite3_column_name(row, column);
  int type = sqlite3_column_type(row, column);
  if (type == SQLITE_FLOAT || type == SQLITE_INTEGER)
    hr__json_number(json, object, name, sqlite3_column_double(row, column));
  else
    hr__json_text(json, object, name, (const char *)sqlite3_column_text(row, column));
}

static void put_row(struct hr__json *json, cJSON *runs, sqlite3_stmt *row, const struct shape *shape) {
  cJSON *run = hr__json_append(json, runs, cJSON_CreateObject());
  cJSON *settings = hr__json_object(json, run, "settings");
  for (int i = 0; i < shape->n_axes; i++) put_value(json, settings, row, shape->first_axis + i);
  cJSON *metrics = hr__json_object(json, run, "metrics");
  for (int i = 0; i < HR__N_MEASURES; i++) put_value(json, metrics, row, shape->first_measure + i);
}

static enum hr_status put_rows(struct hr__store *store, struct hr__json *json, cJSON *root, const char *sql,
                               int first_axis, struct hr_error *error) {
  sqlite3_stmt *rows = NULL;
  if (sqlite3_prepare_v2(store->db, sql, -1, &rows, NULL) != SQLITE_OK) {
    sqlite3_finalize(rows);
    return hr__store_fail(store, error);
  }
  struct shape shape = shape_of(rows, first_axis);
  cJSON *axes = hr__json_array(json, root, "axes");
  for (int i = 0; i < shape.n_axes; i++)
    hr__json_append(json, axes, cJSON_CreateString(sqlite3_column_name(rows, first_axis + i)));
  cJSON *runs = hr__json_array(json, root, "runs");
  int code;
  while ((code = sqlite3_step(rows)) == SQLITE_ROW) put_row(json, runs, rows, &shape);
  sqlite3_finalize(rows);
  return code == SQLITE_DONE ? HR_OK : hr__store_fail(store, error);
}

static enum hr_status put_all(struct hr__store *store, struct hr__json *json, cJSON *root, struct hr_error *error) {
  enum { AXES_OF_RUNS = 6, AXES_OF_POINTS = 2 };
  uint64_t runs = hr__store_number(store, "SELECT count(*) FROM runs");
  uint64_t points = hr__store_number(store, "SELECT count(DISTINCT point) FROM runs");
  bool whole = runs <= MOST_ROWS;
  hr__json_count(json, root, "count", whole ? runs : points);
  hr__json_text(json, root, "of", whole ? "runs" : "points");
  if (whole) return put_rows(store, json, root, "SELECT * FROM runs ORDER BY run", AXES_OF_RUNS, error);
  char *sql = sqlite3_mprintf("SELECT * FROM points WHERE point %% %llu = 0 ORDER BY point",
                              (unsigned long long)((points + MOST_ROWS - 1) / MOST_ROWS));
  if (!sql) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  enum hr_status status = put_rows(store, json, root, sql, AXES_OF_POINTS, error);
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
