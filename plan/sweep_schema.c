/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of a sweep's file, and what says whose file it is. Statements are in one order, so that files of one sweep
   have the same bytes. */

#include "plan/sweep_store.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Tables ----------------------------------------------------------------------------------------- */

/* Axes' names are a person's: they are quoted as SQL wants it (%w). */
static char *runs_sql(const struct hr__sweep *sweep) {
  sqlite3_str *sql = sqlite3_str_new(NULL);
  sqlite3_str_appendall(sql,
                        "CREATE TABLE runs(run INTEGER PRIMARY KEY, point INTEGER, replication INTEGER, seed TEXT, "
                        "digest TEXT, scenario TEXT");
  for (uint32_t i = 0; i < sweep->grid->n_axes; i++) sqlite3_str_appendf(sql, ", \"%w\"", sweep->grid->axes[i].name);
  for (unsigned i = 0; i < HR__N_MEASURES; i++) sqlite3_str_appendf(sql, ", %s REAL", hr__measure_infos[i].column);
  sqlite3_str_appendall(sql, ")");
  return sqlite3_str_finish(sql);
}

/* A row for each point: means over its replications. */
static char *points_sql(const struct hr__sweep *sweep) {
  sqlite3_str *sql = sqlite3_str_new(NULL);
  sqlite3_str_appendall(sql, "CREATE VIEW points AS SELECT point, count(*) AS runs");
  for (uint32_t i = 0; i < sweep->grid->n_axes; i++)
    sqlite3_str_appendf(sql, ", min(\"%w\") AS \"%w\"", sweep->grid->axes[i].name, sweep->grid->axes[i].name);
  for (unsigned i = 0; i < HR__N_MEASURES; i++)
    sqlite3_str_appendf(sql, ", avg(%s) AS %s", hr__measure_infos[i].column, hr__measure_infos[i].column);
  sqlite3_str_appendall(sql, " FROM runs GROUP BY point");
  return sqlite3_str_finish(sql);
}

char *hr__schema_insert(const struct hr__sweep *sweep) {
  sqlite3_str *sql = sqlite3_str_new(NULL);
  sqlite3_str_appendall(sql, "INSERT INTO runs VALUES(?,?,?,?,?,?");
  for (size_t i = 0; i < (size_t)sweep->grid->n_axes + HR__N_MEASURES; i++) sqlite3_str_appendall(sql, ",?");
  sqlite3_str_appendall(sql, ")");
  return sqlite3_str_finish(sql);
}

static enum hr_status run_made(struct hr__store *store, char *sql, struct hr_error *error) {
  enum hr_status status = sql ? hr__store_run(store, sql, error) : hr_fail(error, HR_NO_MEMORY, "out of memory");
  sqlite3_free(sql);
  return status;
}

/* ---- Whose file it is ------------------------------------------------------------------------------- */

enum fact { FORMAT, VERSION, GRID, SCENARIO, TRACE, INPUTS, POINTS, RUNS, FINGERPRINT, N_FACTS };

static const struct {
  const char *key;
  const char *differs; /* what is said when it does */
} facts[N_FACTS] = {[FORMAT] = {"format", NULL},
                    [VERSION] = {"headroom", NULL},
                    [GRID] = {"grid", "the grid is another"},
                    [SCENARIO] = {"scenario", "the scenario is another"},
                    [TRACE] = {"trace", "the trace is another"},
                    [INPUTS] = {"inputs", "a file that the scenario names is another"},
                    [POINTS] = {"points", "it has other points"},
                    [RUNS] = {"runs", "it has other runs"},
                    [FINGERPRINT] = {"fingerprint", "its fingerprint is another"}};

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The traces' names without their folders, a line each. */
static char *trace_names(const struct hr__sweep *sweep) {
  const char **names = calloc(sweep->n_traces + 1, sizeof(*names));
  sqlite3_str *text = sqlite3_str_new(NULL);
  for (size_t i = 0; names && i < sweep->n_traces; i++) {
    const char *slash = strrchr(sweep->traces[i].file, '/');
    names[i] = slash ? slash + 1 : sweep->traces[i].file;
  }
  if (names) qsort(names, sweep->n_traces, sizeof(*names), by_text);
  for (size_t i = 0; names && i < sweep->n_traces; i++) sqlite3_str_appendf(text, "%s%s", i ? "\n" : "", names[i]);
  char *whole = sqlite3_str_finish(text);
  if (names && whole) {
    free(names);
    return whole;
  }
  free(names);
  sqlite3_free(whole);
  return NULL;
}

static char *fact_text(const struct hr__sweep *sweep, enum fact fact) {
  switch (fact) {
  case FORMAT:
    return sqlite3_mprintf("%s", HR__SWEEP_FORMAT);
  case VERSION:
    return sqlite3_mprintf("%s", hr_version());
  case GRID:
    return sqlite3_mprintf("%s", sweep->grid->text);
  case SCENARIO:
    return sqlite3_mprintf("%s", sweep->scenario_text);
  case TRACE:
    return trace_names(sweep);
  case INPUTS:
    return sqlite3_mprintf("%s", sweep->inputs);
  case POINTS:
    return sqlite3_mprintf("%llu", (unsigned long long)sweep->design.n_points);
  case RUNS:
    return sqlite3_mprintf("%llu", (unsigned long long)sweep->n_runs);
  case FINGERPRINT:
    return sqlite3_mprintf("%016llx", (unsigned long long)sweep->fingerprint);
  case N_FACTS:
    break;
  }
  return NULL;
}

static enum hr_status add_facts(struct hr__store *store, const struct hr__sweep *sweep, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (unsigned i = 0; i < N_FACTS && status == HR_OK; i++) {
    char *text = fact_text(sweep, (enum fact)i);
    char *sql = text ? sqlite3_mprintf("INSERT INTO meta VALUES(%Q, ?)", facts[i].key) : NULL;
    status = sql ? hr__store_run_with(store, sql, text, error) : hr_fail(error, HR_NO_MEMORY, "out of memory");
    sqlite3_free(sql);
    sqlite3_free(text);
  }
  return status;
}

enum hr_status hr__schema_make(struct hr__store *store, const struct hr__sweep *sweep, struct hr_error *error) {
  static const char first[] = "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID";
  static const char last[] = "CREATE TABLE groups(run INTEGER, kind TEXT, name TEXT, metric TEXT, value REAL, "
                             "PRIMARY KEY(run, kind, name, metric)) WITHOUT ROWID";
  enum hr_status status = hr__store_run(store, first, error);
  if (status == HR_OK) status = run_made(store, runs_sql(sweep), error);
  if (status == HR_OK) status = hr__store_run(store, last, error);
  if (status == HR_OK) status = run_made(store, points_sql(sweep), error);
  return status == HR_OK ? add_facts(store, sweep, error) : status;
}

/* ---- Checking --------------------------------------------------------------------------------------- */

static enum hr_status check_format(const char *format, const char *version, const char *path, struct hr_error *error) {
  if (!format || !version)
    return hr_fail(error, HR_BAD_INPUT, "%s: is no sweep's file: it does not say of which format it is", path);
  if (strcmp(format, HR__SWEEP_FORMAT) != 0)
    return hr_fail(error, HR_BAD_INPUT, "%s: is a sweep's file of the format '%.60s'; '%s' is wanted", path, format,
                   HR__SWEEP_FORMAT);
  if (strcmp(version, hr_version()) != 0)
    return hr_fail(error, HR_BAD_INPUT,
                   "%s: is a sweep file from another version of Headroom, %.60s, and this is %s; name another file "
                   "with --db",
                   path, version, hr_version());
  return HR_OK;
}

enum hr_status hr__schema_check_version(struct hr__store *store, const char *schema, const char *path,
                                        struct hr_error *error) {
  char *format = NULL, *version = NULL;
  enum hr_status status = hr__store_fact(store, schema, facts[FORMAT].key, &format, error);
  if (status == HR_OK) status = hr__store_fact(store, schema, facts[VERSION].key, &version, error);
  if (status == HR_OK) status = check_format(format, version, path, error);
  free(format);
  free(version);
  return status;
}

static enum hr_status check_fact(struct hr__store *store, const struct hr__sweep *sweep, enum fact fact,
                                 struct hr_error *error) {
  char *has = NULL, *wanted = fact_text(sweep, fact);
  enum hr_status status = wanted ? hr__store_fact(store, "main", facts[fact].key, &has, error)
                                 : hr_fail(error, HR_NO_MEMORY, "out of memory");
  if (status == HR_OK && (!has || strcmp(has, wanted) != 0))
    status = hr_fail(error, HR_BAD_INPUT, "%s: is the file of another sweep: %s; name another file with --db",
                     store->path, facts[fact].differs);
  free(has);
  sqlite3_free(wanted);
  return status;
}

enum hr_status hr__schema_check(struct hr__store *store, const struct hr__sweep *sweep, struct hr_error *error) {
  enum hr_status status = hr__schema_check_version(store, "main", store->path, error);
  for (unsigned i = GRID; i < N_FACTS && status == HR_OK; i++) status = check_fact(store, sweep, (enum fact)i, error);
  return status;
}
