/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The tables of a sweep's file, and the facts that identify the sweep. Table `runs` has one row per run (settings and
 * metrics). Table `groups` has the metrics of classes, tenants and services. Table `infeasible` has the points that are
 * not simulated, if there are any. Table `meta` has the facts. View `points` has means over replications. The order of
 * columns is fixed, so that equal sweeps give files with equal bytes.
 */

#include "plan/sweep/sweep.h"

#include <stdlib.h>
#include <string.h>

/* ---- Tables ----------------------------------------------------------------------------------------- */

/* Returns the SQL that creates `runs`. Names of axes are free text, so they are quoted (%w). */
static char *runs_sql(const struct hr__sweep *sweep) {
  sqlite3_str *sql = sqlite3_str_new(NULL);
  sqlite3_str_appendall(sql,
                        "CREATE TABLE runs(run INTEGER PRIMARY KEY, point INTEGER, replication INTEGER, seed TEXT, "
                        "digest TEXT, scenario TEXT");
  for (uint32_t i = 0; i < sweep->grid->n_axes; i++) sqlite3_str_appendf(sql, ", \"%w\"", sweep->grid->axes[i].name);
  for (unsigned i = 0; i < HR__N_METRICS; i++) sqlite3_str_appendf(sql, ", %s REAL", hr__metric_rows[i].column);
  sqlite3_str_appendall(sql, ")");
  return sqlite3_str_finish(sql);
}

/* Returns the SQL that creates the view `points`: one row per point, with means over its replications. */
static char *points_sql(const struct hr__sweep *sweep) {
  sqlite3_str *sql = sqlite3_str_new(NULL);
  sqlite3_str_appendall(sql, "CREATE VIEW points AS SELECT point, count(*) AS runs");
  for (uint32_t i = 0; i < sweep->grid->n_axes; i++)
    sqlite3_str_appendf(sql, ", min(\"%w\") AS \"%w\"", sweep->grid->axes[i].name, sweep->grid->axes[i].name);
  for (unsigned i = 0; i < HR__N_METRICS; i++)
    sqlite3_str_appendf(sql, ", avg(%s) AS %s", hr__metric_rows[i].column, hr__metric_rows[i].column);
  sqlite3_str_appendall(sql, " FROM runs GROUP BY point");
  return sqlite3_str_finish(sql);
}

static char *insert_sql(const struct hr__sweep *sweep) {
  sqlite3_str *sql = sqlite3_str_new(NULL);
  sqlite3_str_appendall(sql, "INSERT INTO runs VALUES(?,?,?,?,?,?");
  for (size_t i = 0; i < (size_t)sweep->grid->n_axes + HR__N_METRICS; i++) sqlite3_str_appendall(sql, ",?");
  sqlite3_str_appendall(sql, ")");
  return sqlite3_str_finish(sql);
}

char *hr__sweep_schema_sql(const struct hr__sweep *sweep, enum hr__sweep_statement statement) {
  switch (statement) {
  case HR__SWEEP_CREATE_RUNS:
    return runs_sql(sweep);
  case HR__SWEEP_CREATE_POINTS:
    return points_sql(sweep);
  case HR__SWEEP_INSERT_RUN:
    return insert_sql(sweep);
  }
  return NULL;
}

/* ---- Facts ------------------------------------------------------------------------------------------ */

/* Returns the names of the traces without their folders, one per line. */
static char *trace_names(const struct hr__sweep *sweep) {
  const char **names = calloc(sweep->n_traces + 1, sizeof(*names));
  sqlite3_str *text = sqlite3_str_new(NULL);
  for (size_t i = 0; names && i < sweep->n_traces; i++) {
    const char *slash = strrchr(sweep->traces[i].file, '/');
    names[i] = slash ? slash + 1 : sweep->traces[i].file;
  }
  if (names) qsort(names, sweep->n_traces, sizeof(*names), hr__by_text);
  for (size_t i = 0; names && i < sweep->n_traces; i++) sqlite3_str_appendf(text, "%s%s", i ? "\n" : "", names[i]);
  char *result = sqlite3_str_finish(text);
  if (names && result) {
    free(names);
    return result;
  }
  free(names);
  sqlite3_free(result);
  return NULL;
}

static char *format_of(const struct hr__sweep *sweep) {
  (void)sweep;
  return sqlite3_mprintf("%s", HR__SWEEP_FORMAT);
}

static char *version_of(const struct hr__sweep *sweep) {
  (void)sweep;
  return sqlite3_mprintf("%s", hr_version());
}

static char *grid_of(const struct hr__sweep *sweep) {
  return sqlite3_mprintf("%s", sweep->grid->text);
}

static char *scenario_of(const struct hr__sweep *sweep) {
  return sqlite3_mprintf("%s", sweep->scenario_text);
}

static char *inputs_of(const struct hr__sweep *sweep) {
  return sqlite3_mprintf("%s", sweep->inputs);
}

static char *points_of(const struct hr__sweep *sweep) {
  return sqlite3_mprintf("%llu", (unsigned long long)sweep->design.n_points);
}

static char *runs_of(const struct hr__sweep *sweep) {
  return sqlite3_mprintf("%llu", (unsigned long long)sweep->n_runs);
}

static char *fingerprint_of(const struct hr__sweep *sweep) {
  return sqlite3_mprintf("%016llx", (unsigned long long)sweep->fingerprint);
}

const struct hr__sweep_fact_info hr__sweep_facts[HR__SWEEP_N_FACTS] = {
    [HR__SWEEP_FACT_FORMAT] = {"format", NULL, format_of},
    [HR__SWEEP_FACT_VERSION] = {"headroom", NULL, version_of},
    [HR__SWEEP_FACT_GRID] = {"grid", "the grid differs", grid_of},
    [HR__SWEEP_FACT_SCENARIO] = {"scenario", "the scenario differs", scenario_of},
    [HR__SWEEP_FACT_TRACE] = {"trace", "the trace differs", trace_names},
    [HR__SWEEP_FACT_INPUTS] = {"inputs", "a file named by the scenario differs", inputs_of},
    [HR__SWEEP_FACT_POINTS] = {"points", "its points differ", points_of},
    [HR__SWEEP_FACT_RUNS] = {"runs", "its runs differ", runs_of},
    [HR__SWEEP_FACT_FINGERPRINT] = {"fingerprint", "its fingerprint differs", fingerprint_of}};
