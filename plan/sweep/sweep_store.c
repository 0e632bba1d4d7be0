/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads and writes the SQLite file of a sweep, and merges several files of one sweep.
 *
 * Tables. Table `runs` has one row per run (settings and metrics). Table `groups` has the metrics of classes, tenants
 * and services. Table `infeasible` has the points that are not simulated, if there are any. Table `meta` has the facts
 * that identify the sweep. View `points` has means over replications. The order of columns is fixed, so that equal
 * sweeps give files with equal bytes.
 *
 * Creation. A new file is created under another name in the same folder and then renamed, so that a file is never
 * incomplete.
 *
 * Runs. Each run is added in one transaction with a write-ahead log. If the process is killed, only runs that were not
 * added are lost. If the machine fails, the last few runs may be lost too. The file remains consistent in both cases.
 * The process locks the log exclusively, so a second sweep cannot use the file at the same time.
 *
 * Sealing. Rows are in the order in which runs ended. At the end they are copied in the order of their keys to a new
 * file (VACUUM INTO), which replaces the old file.
 */

#include "plan/sweep/sweep.h"

#include "base/output_file.h"
#include "headroom/unstable/experiments.h"
#include "report/tables/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT "headroom-sweep 1"

enum { APPLICATION = 0x48525357 }; /* "HRSW", SQLite's application id */

/* Key and value pairs of the table `meta`, which identify the sweep. */
enum sweep_fact {
  FACT_FORMAT,
  FACT_VERSION,
  FACT_GRID, /* this fact and the following ones must equal those of the sweep that opens the file */
  FACT_SCENARIO,
  FACT_TRACE,
  FACT_INPUTS,
  FACT_POINTS,
  FACT_RUNS,
  FACT_FINGERPRINT,
  N_FACTS
};

struct sweep_fact_info {
  const char *key;
  /* end of the error message if the fact differs; NULL: the message of this fact is written elsewhere */
  const char *differs;
};

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

/* Returns the names of the traces without their folders, one per line. The caller frees the text with sqlite3_free.
   NULL: out of memory. */
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

/* Free the value with sqlite3_free. NULL: out of memory. */
static char *fact_value(const struct hr__sweep *sweep, enum sweep_fact fact) {
  switch (fact) {
  case FACT_FORMAT:
    return sqlite3_mprintf("%s", FORMAT);
  case FACT_VERSION:
    return sqlite3_mprintf("%s", hr_version());
  case FACT_GRID:
    return sqlite3_mprintf("%s", sweep->grid->text);
  case FACT_SCENARIO:
    return sqlite3_mprintf("%s", sweep->scenario_text);
  case FACT_TRACE:
    return trace_names(sweep);
  case FACT_INPUTS:
    return sqlite3_mprintf("%s", sweep->inputs);
  case FACT_POINTS:
    return sqlite3_mprintf("%llu", (unsigned long long)sweep->design.n_points);
  case FACT_RUNS:
    return sqlite3_mprintf("%llu", (unsigned long long)sweep->n_runs);
  case FACT_FINGERPRINT:
    return sqlite3_mprintf("%016llx", (unsigned long long)sweep->fingerprint);
  case N_FACTS:
    break;
  }
  return NULL;
}

static const struct sweep_fact_info sweep_facts[N_FACTS] = {
    [FACT_FORMAT] = {"format", NULL},
    [FACT_VERSION] = {"headroom", NULL},
    [FACT_GRID] = {"grid", "the grid differs"},
    [FACT_SCENARIO] = {"scenario", "the scenario differs"},
    [FACT_TRACE] = {"trace", "the trace differs"},
    [FACT_INPUTS] = {"inputs", "a file named by the scenario differs"},
    [FACT_POINTS] = {"points", "its points differ"},
    [FACT_RUNS] = {"runs", "its runs differ"},
    [FACT_FINGERPRINT] = {"fingerprint", "its fingerprint differs"}};

/* ---- SQLite ----------------------------------------------------------------------------------------- */

/* Sets `error` from SQLite's last error. If SQLite reports none, memory was exhausted before SQLite was called. */
enum hr_status hr__store_fail(const struct hr__store *store, struct hr_error *error) {
  int code = sqlite3_errcode(store->db) & 0xff;
  if (code == SQLITE_NOMEM || code == SQLITE_OK) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", store->path);
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
    return hr_fail(error, HR_BAD_INPUT, "%s: in use by another process", store->path);
  enum hr_status status = code == SQLITE_NOTADB || code == SQLITE_CORRUPT || code == SQLITE_ERROR ||
                                  code == SQLITE_CANTOPEN || code == SQLITE_READONLY || code == SQLITE_PERM
                              ? HR_BAD_INPUT
                              : HR_IO_ERROR;
  return hr_fail(error, status, "%s: %s", store->path, sqlite3_errmsg(store->db));
}

static enum hr_status run_sql(struct hr__store *store, const char *sql, struct hr_error *error) {
  return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK ? HR_OK : hr__store_fail(store, error);
}

/* `text` is the value of the parameter of the statement; NULL: it has none. */
static enum hr_status run_sql_with(struct hr__store *store, const char *sql, const char *text, struct hr_error *error) {
  sqlite3_stmt *statement = NULL;
  bool done = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) == SQLITE_OK &&
              (!text || sqlite3_bind_text(statement, 1, text, -1, SQLITE_STATIC) == SQLITE_OK) &&
              sqlite3_step(statement) == SQLITE_DONE;
  enum hr_status status = done ? HR_OK : hr__store_fail(store, error);
  sqlite3_finalize(statement);
  return status;
}

uint64_t hr__store_number(struct hr__store *store, const char *sql) {
  sqlite3_stmt *statement = NULL;
  uint64_t number = 0;
  if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
    number = (uint64_t)sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  return number;
}

bool hr__store_has_infeasible(struct hr__store *store) {
  return hr__store_number(store, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'infeasible'") > 0;
}

static enum hr_status read_fact(struct hr__store *store, const char *schema, const char *key, char **text,
                                struct hr_error *error) {
  sqlite3_stmt *statement = NULL;
  char *sql = sqlite3_mprintf("SELECT value FROM %s.meta WHERE key = %Q", schema, key);
  *text = NULL;
  int code = sql ? sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) : SQLITE_NOMEM;
  if (code == SQLITE_OK) code = sqlite3_step(statement);
  const char *value = code == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
  if (value) *text = strdup(value);
  enum hr_status status = HR_OK;
  if (value && !*text)
    status = hr_fail(error, HR_NO_MEMORY, "out of memory");
  else if (code != SQLITE_ROW && code != SQLITE_DONE)
    status = hr__store_fail(store, error);
  sqlite3_finalize(statement);
  sqlite3_free(sql);
  return status;
}

static enum hr_status connect(struct hr__store *store, const char *path, const char *name, struct hr_error *error) {
  store->path = strdup(name);
  if (!store->path) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  int code = sqlite3_open_v2(path, &store->db, SQLITE_OPEN_READWRITE, NULL);
  return code == SQLITE_OK ? HR_OK : hr__store_fail(store, error);
}

/* ---- Schema ----------------------------------------------------------------------------------------- */

/* Runs a statement with a text, or one without if `text` is NULL, and frees it. `sql` is NULL when out of memory. */
static enum hr_status run_and_free(struct hr__store *store, char *sql, const char *text, struct hr_error *error) {
  enum hr_status status = sql ? run_sql_with(store, sql, text, error) : hr_fail(error, HR_NO_MEMORY, "out of memory");
  sqlite3_free(sql);
  return status;
}

static enum hr_status add_facts(struct hr__store *store, const struct hr__sweep *sweep, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (unsigned i = 0; i < N_FACTS && status == HR_OK; i++) {
    char *text = fact_value(sweep, (enum sweep_fact)i);
    status = run_and_free(store, text ? sqlite3_mprintf("INSERT INTO meta VALUES(%Q, ?)", sweep_facts[i].key) : NULL,
                          text, error);
    sqlite3_free(text);
  }
  return status;
}

/* Creates and fills the table of the points that are not simulated, if there are any. */
static enum hr_status add_infeasible(struct hr__store *store, const struct hr__sweep *sweep, struct hr_error *error) {
  bool created = false;
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < sweep->design.n_points && status == HR_OK; i++) {
    if (!sweep->points[i].unfit) continue;
    if (!created) status = run_sql(store, "CREATE TABLE infeasible(point INTEGER PRIMARY KEY, reason TEXT)", error);
    created = true;
    if (status == HR_OK)
      status = run_and_free(store, sqlite3_mprintf("INSERT INTO infeasible VALUES(%llu, ?)", (unsigned long long)i),
                            sweep->points[i].unfit, error);
  }
  return status;
}

/* Creates the tables, the view and the rows of `meta` and `infeasible` in an open, empty file. */
static enum hr_status create_tables(struct hr__store *store, const struct hr__sweep *sweep, struct hr_error *error) {
  static const char first[] = "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID";
  static const char last[] = "CREATE TABLE groups(run INTEGER, kind TEXT, name TEXT, metric TEXT, value REAL, "
                             "PRIMARY KEY(run, kind, name, metric)) WITHOUT ROWID";
  enum hr_status status = run_sql(store, first, error);
  if (status == HR_OK) status = run_and_free(store, hr__sweep_schema_sql(sweep, HR__SWEEP_CREATE_RUNS), NULL, error);
  if (status == HR_OK) status = run_sql(store, last, error);
  if (status == HR_OK) status = run_and_free(store, hr__sweep_schema_sql(sweep, HR__SWEEP_CREATE_POINTS), NULL, error);
  if (status == HR_OK) status = add_infeasible(store, sweep, error);
  return status == HR_OK ? add_facts(store, sweep, error) : status;
}

static enum hr_status check_format(const char *format, const char *version, const char *path, struct hr_error *error) {
  if (!format || !version) return hr_fail(error, HR_BAD_INPUT, "%s: not the file of a sweep: it has no format", path);
  if (strcmp(format, FORMAT) != 0)
    return hr_fail(error, HR_BAD_INPUT, "%s: the file of a sweep has format '%.60s', expected '%s'", path, format,
                   FORMAT);
  if (strcmp(version, hr_version()) != 0)
    return hr_fail(error, HR_BAD_INPUT,
                   "%s: a sweep file from Headroom %.60s cannot be used with version %s; name another file "
                   "with --db",
                   path, version, hr_version());
  return HR_OK;
}

static enum hr_status check_version(struct hr__store *store, const char *schema, const char *path,
                                    struct hr_error *error) {
  char *format = NULL, *version = NULL;
  enum hr_status status = read_fact(store, schema, sweep_facts[FACT_FORMAT].key, &format, error);
  if (status == HR_OK) status = read_fact(store, schema, sweep_facts[FACT_VERSION].key, &version, error);
  if (status == HR_OK) status = check_format(format, version, path, error);
  free(format);
  free(version);
  return status;
}

static enum hr_status check_fact(struct hr__store *store, const struct hr__sweep *sweep, enum sweep_fact fact,
                                 struct hr_error *error) {
  char *has = NULL, *expected = fact_value(sweep, fact);
  enum hr_status status = expected ? read_fact(store, "main", sweep_facts[fact].key, &has, error)
                                   : hr_fail(error, HR_NO_MEMORY, "out of memory");
  if (status == HR_OK && (!has || strcmp(has, expected) != 0))
    status = hr_fail(error, HR_BAD_INPUT, "%s: the file belongs to another sweep: %s; name another file with --db",
                     store->path, sweep_facts[fact].differs);
  free(has);
  sqlite3_free(expected);
  return status;
}

/* Returns HR_BAD_INPUT if the file belongs to another sweep; the message names the difference. */
static enum hr_status check_facts(struct hr__store *store, const struct hr__sweep *sweep, struct hr_error *error) {
  enum hr_status status = check_version(store, "main", store->path, error);
  for (unsigned i = FACT_GRID; i < N_FACTS && status == HR_OK; i++)
    status = check_fact(store, sweep, (enum sweep_fact)i, error);
  return status;
}

/* ---- Opening ---------------------------------------------------------------------------------------- */

/* Checks the header of a file without SQLite. If the writer of a file was killed, SQLite repairs the file when it is
   opened. Files of other programs must not be changed. */
static enum hr_status check_head(const char *path, struct hr_error *error) {
  static const char magic[16] = "SQLite format 3";
  enum { HEAD_BYTES = 100, AT_APPLICATION = 68 };
  unsigned char head[HEAD_BYTES] = {0};
  FILE *file = fopen(path, "rb");
  if (!file) return hr_fail(error, HR_BAD_INPUT, "%s: cannot be read: %s", path, strerror(errno));
  size_t count = fread(head, 1, sizeof head, file);
  fclose(file);
  const unsigned char *at = head + AT_APPLICATION;
  uint32_t application = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
  if (count == sizeof head && memcmp(head, magic, sizeof magic) == 0 && application == APPLICATION) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: not the file of a sweep; it was not changed; name another file", path);
}

static enum hr_status lock(struct hr__store *store, struct hr_error *error) {
  enum hr_status status = run_sql(store, "PRAGMA locking_mode=EXCLUSIVE", error);
  if (status == HR_OK) status = run_sql(store, "PRAGMA journal_mode=WAL", error);
  if (status == HR_OK) status = run_sql(store, "PRAGMA synchronous=NORMAL", error);
  if (status == HR_OK) status = run_sql(store, "BEGIN IMMEDIATE; COMMIT", error); /* takes the lock */
  return status;
}

enum hr_status hr__store_read(struct hr__store *store, const char *path, struct hr_error *error) {
  *store = (struct hr__store){0};
  enum hr_status status = check_head(path, error);
  if (status == HR_OK) status = connect(store, path, path, error);
  if (status == HR_OK) status = run_sql(store, "SELECT * FROM meta", error);
  return status == HR_OK ? check_version(store, "main", path, error) : status;
}

/* ---- Drafts ----------------------------------------------------------------------------------------- */

/* A new, empty file in the folder of `path`. It is removed if the process ends before the file is complete. */
struct store_draft {
  char *name;
  uint32_t place; /* index in the list of unfinished files (base/output_file.h) */
};

/* The mode of a draft. An existing file keeps its mode; a new file has mode 0666 without the bits of the umask. */
static mode_t mode_for(const char *path) {
  struct stat info;
  if (stat(path, &info) == 0) return info.st_mode & 07777;
  mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

static enum hr_status draft_begin(struct store_draft *draft, const char *path, struct hr_error *error) {
  static const char suffix[] = ".XXXXXX";
  char *name = malloc(strlen(path) + sizeof suffix);
  *draft = (struct store_draft){0};
  if (!name) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  strcat(strcpy(name, path), suffix);
  int descriptor = hr__unfinished_make(name, &draft->place);
  if (descriptor < 0) {
    int number = errno;
    free(name);
    return hr_fail(error, HR_BAD_INPUT, "%s: cannot be written: %s", path, strerror(number));
  }
  (void)fchmod(descriptor, mode_for(path));
  close(descriptor);
  draft->name = name;
  return HR_OK;
}

static bool synced(const char *path) {
  int descriptor = open(path, O_RDONLY);
  bool ok = descriptor >= 0 && fsync(descriptor) == 0;
  if (descriptor >= 0) close(descriptor);
  return ok;
}

static enum hr_status draft_end(struct store_draft *draft, enum hr_status status, const char *path,
                                struct hr_error *error) {
  if (!draft->name) return status;
  if (status == HR_OK && (!synced(draft->name) || rename(draft->name, path) != 0))
    status = hr_fail(error, HR_IO_ERROR, "%s: cannot be written: %s", path, strerror(errno));
  if (status != HR_OK) unlink(draft->name);
  if (hr__unfinished_remove(draft->place)) free(draft->name);
  *draft = (struct store_draft){0};
  return status;
}

static void draft_drop(struct store_draft *draft) {
  (void)draft_end(draft, HR_INTERNAL, "", NULL);
}

static enum hr_status draft_open(const struct store_draft *draft, const char *path, struct hr__store *store,
                                 struct hr_error *error) {
  char head[64];
  *store = (struct hr__store){0};
  snprintf(head, sizeof head, "PRAGMA application_id=%d", APPLICATION);
  enum hr_status status = connect(store, draft->name, path, error);
  if (status == HR_OK) status = run_sql(store, "PRAGMA journal_mode=MEMORY", error);
  return status == HR_OK ? run_sql(store, head, error) : status;
}

/* ---- Creation --------------------------------------------------------------------------------------- */

static enum hr_status create(const char *path, const struct hr__sweep *sweep, struct hr_error *error) {
  struct hr__store store = {0};
  struct store_draft draft;
  enum hr_status status = draft_begin(&draft, path, error);
  if (status != HR_OK) return status;
  status = draft_open(&draft, path, &store, error);
  if (status == HR_OK) status = run_sql(&store, "BEGIN", error);
  if (status == HR_OK) status = create_tables(&store, sweep, error);
  if (status == HR_OK) status = run_sql(&store, "COMMIT", error);
  hr__store_close(&store);
  /* A link fails if another process has created the file at the same time; the file of that process is then used. Some
     file systems have no links; the draft is then renamed. */
  if (status == HR_OK && synced(draft.name) && (link(draft.name, path) == 0 || errno == EEXIST)) {
    draft_drop(&draft);
    return HR_OK;
  }
  return draft_end(&draft, status, path, error);
}

static enum hr_status prepare_statements(struct hr__store *store, struct hr_error *error) {
  static const char group[] = "INSERT INTO groups VALUES(?,?,?,?,?)";
  char *run = hr__sweep_schema_sql(store->sweep, HR__SWEEP_INSERT_RUN);
  if (!run) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  bool ok = sqlite3_prepare_v2(store->db, run, -1, &store->add_run, NULL) == SQLITE_OK &&
            sqlite3_prepare_v2(store->db, group, -1, &store->add_group, NULL) == SQLITE_OK;
  sqlite3_free(run);
  return ok ? HR_OK : hr__store_fail(store, error);
}

/* Checks that the file was not replaced since `before`. Another process may have sealed it, which replaces it. */
static enum hr_status check_same_file(const char *path, const struct stat *before, struct hr_error *error) {
  struct stat now;
  if (stat(path, &now) == 0 && now.st_ino == before->st_ino && now.st_dev == before->st_dev) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: in use by another process", path);
}

static enum hr_status find_runs(struct hr__store *store, bool *has, struct hr_error *error) {
  sqlite3_stmt *statement = NULL;
  int code = sqlite3_prepare_v2(store->db, "SELECT run FROM runs ORDER BY run", -1, &statement, NULL);
  while (code == SQLITE_OK || code == SQLITE_ROW) {
    code = sqlite3_step(statement);
    uint64_t run = code == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(statement, 0) : 0;
    if (code == SQLITE_ROW && run < store->sweep->n_runs) has[run] = true;
  }
  enum hr_status status = code == SQLITE_DONE ? HR_OK : hr__store_fail(store, error);
  sqlite3_finalize(statement);
  return status;
}

enum hr_status hr__store_open(struct hr__store *store, const char *path, const struct hr__sweep *sweep, bool *has,
                              struct hr_error *error) {
  struct stat before = {0};
  *store = (struct hr__store){0};
  enum hr_status status = access(path, F_OK) == 0 ? HR_OK : create(path, sweep, error);
  if (status == HR_OK) status = check_head(path, error);
  if (status == HR_OK && stat(path, &before) != 0)
    status = hr_fail(error, HR_BAD_INPUT, "%s: cannot be read: %s", path, strerror(errno));
  if (status == HR_OK) status = connect(store, path, path, error);
  store->sweep = sweep;
  if (status == HR_OK) status = run_sql(store, "SELECT * FROM meta", error);
  if (status == HR_OK) status = check_facts(store, sweep, error);
  if (status == HR_OK) status = lock(store, error);
  if (status == HR_OK) status = check_same_file(path, &before, error);
  if (status == HR_OK) status = prepare_statements(store, error);
  return status == HR_OK ? find_runs(store, has, error) : status;
}

/* ---- Runs ------------------------------------------------------------------------------------------- */

/* Returns the scenario and its overrides as JSON. `headroom run` needs nothing else to repeat the run. */
static char *scenario_text(const struct hr__sweep *sweep, size_t point, uint32_t replication) {
  struct hr__sweep_overrides overrides;
  struct hr__json json = {0};
  cJSON *tree = cJSON_CreateObject();
  hr__json_text(&json, tree, "scenario", sweep->grid->scenario);
  cJSON *set = hr__json_array(&json, tree, "set");
  bool complete = tree && set && hr__sweep_overrides_make(sweep, point, replication, &overrides);
  for (size_t i = 0; complete && i < overrides.count; i++)
    hr__json_append(&json, set, cJSON_CreateString(overrides.at[i]));
  if (tree && set) hr__sweep_overrides_finish(&overrides);
  char *text = complete && !json.failed ? cJSON_PrintUnformatted(tree) : NULL;
  cJSON_Delete(tree);
  return text;
}

static void bind_number(sqlite3_stmt *statement, int at, double value) {
  if (value == value)
    sqlite3_bind_double(statement, at, value);
  else
    sqlite3_bind_null(statement, at);
}

/* Binds the value of an axis. Whole numbers are stored as integers: 4, not 4.0. */
static void bind_level(sqlite3_stmt *statement, int at, const struct hr_grid_axis *axis, double level) {
  double number = axis->levels ? axis->levels[(size_t)level].number : level;
  if (number != number)
    sqlite3_bind_text(statement, at, axis->levels[(size_t)level].text, -1, SQLITE_STATIC);
  else if (number == (double)(int64_t)number)
    sqlite3_bind_int64(statement, at, (int64_t)number);
  else
    sqlite3_bind_double(statement, at, number);
}

static bool step(sqlite3_stmt *statement) {
  bool done = sqlite3_step(statement) == SQLITE_DONE;
  return sqlite3_reset(statement) == SQLITE_OK && done;
}

static bool add_run(struct hr__store *store, const struct hr__sweep_record *record) {
  const struct hr__sweep *sweep = store->sweep;
  const struct hr_grid *grid = sweep->grid;
  sqlite3_stmt *row = store->add_run;
  size_t point = hr__sweep_point_of(sweep, record->run);
  uint32_t replication = (uint32_t)(record->run - sweep->points[point].first_run);
  char seed[32], digest[32], *scenario = scenario_text(sweep, point, replication);
  if (!scenario) return false;
  snprintf(seed, sizeof seed, "%" PRIu64, record->seed);
  snprintf(digest, sizeof digest, "%016" PRIx64, record->digest);
  sqlite3_bind_int64(row, 1, (sqlite3_int64)record->run);
  sqlite3_bind_int64(row, 2, (sqlite3_int64)point);
  sqlite3_bind_int64(row, 3, replication);
  sqlite3_bind_text(row, 4, seed, -1, SQLITE_STATIC);
  if (!sweep->points[point].unfit) sqlite3_bind_text(row, 5, digest, -1, SQLITE_STATIC);
  sqlite3_bind_text(row, 6, scenario, -1, SQLITE_STATIC);
  int at = 7;
  const double *levels = hr__sweep_design_point(&sweep->design, point);
  for (uint32_t i = 0; i < grid->n_axes; i++) bind_level(row, at++, &grid->axes[i], levels[i]);
  for (unsigned i = 0; i < HR__N_METRICS; i++) bind_number(row, at++, record->values[i]);
  bool ok = step(row);
  sqlite3_clear_bindings(row); /* the bindings point to local variables */
  cJSON_free(scenario);
  return ok;
}

static bool add_group(struct hr__store *store, uint64_t run, const struct hr__sweep_group *group) {
  static const char *const kinds[] = {
      [HR__SWEEP_TENANT] = "tenant", [HR__SWEEP_CLASS] = "class", [HR__SWEEP_SERVICE] = "service"};
  sqlite3_stmt *row = store->add_group;
  bool ok = true;
  for (unsigned i = 0; i < HR__N_METRICS && ok; i++) {
    if (group->values[i] != group->values[i]) continue;
    sqlite3_bind_int64(row, 1, (sqlite3_int64)run);
    sqlite3_bind_text(row, 2, kinds[group->kind], -1, SQLITE_STATIC);
    sqlite3_bind_text(row, 3, group->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(row, 4, hr__metric_rows[i].column, -1, SQLITE_STATIC);
    sqlite3_bind_double(row, 5, group->values[i]);
    ok = step(row);
  }
  sqlite3_clear_bindings(row);
  return ok;
}

enum hr_status hr__store_add(struct hr__store *store, const struct hr__sweep_record *record, struct hr_error *error) {
  enum hr_status status = run_sql(store, "BEGIN", error);
  if (status != HR_OK) return status;
  bool ok = add_run(store, record);
  for (size_t i = 0; i < record->n_groups && ok; i++) ok = add_group(store, record->run, &record->groups[i]);
  return ok ? run_sql(store, "COMMIT", error) : hr__store_fail(store, error);
}

/* ---- Sealing ---------------------------------------------------------------------------------------- */

/* Copies the rows to a draft in the order of their keys. SQLite increments its counter of schema changes when it copies
   a file, so the counter is set to a constant first. */
static enum hr_status rewrite(struct hr__store *store, const struct store_draft *draft, struct hr_error *error) {
  enum hr_status status = run_sql(store, "PRAGMA schema_version=1", error);
  return status == HR_OK ? run_sql_with(store, "VACUUM main INTO ?", draft->name, error) : status;
}

/* Removes the log first, so that no log of the old file remains beside the new file. */
enum hr_status hr__store_seal(struct hr__store *store, struct hr_error *error) {
  struct store_draft draft;
  char *path = strdup(store->path);
  if (!path) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  enum hr_status status = draft_begin(&draft, path, error);
  if (status == HR_OK) status = run_sql(store, "PRAGMA journal_mode=DELETE", error);
  if (status == HR_OK) status = rewrite(store, &draft, error);
  status = draft_end(&draft, status, path, error);
  hr__store_close(store);
  free(path);
  return status;
}

/* ---- Merging ---------------------------------------------------------------------------------------- */

static enum hr_status attach(struct hr__store *store, const char *path, struct hr_error *error) {
  enum hr_status status = check_head(path, error);
  if (status == HR_OK) status = run_sql_with(store, "ATTACH ? AS part", path, error);
  if (status == HR_OK && sqlite3_exec(store->db, "SELECT * FROM part.meta", NULL, NULL, NULL) != SQLITE_OK) {
    int code = sqlite3_errcode(store->db) & 0xff;
    return hr_fail(error, HR_BAD_INPUT, "%s: %s", path,
                   code == SQLITE_BUSY || code == SQLITE_LOCKED ? "in use by another process"
                                                                : sqlite3_errmsg(store->db));
  }
  return status == HR_OK ? check_version(store, "part", path, error) : status;
}

/* Copies the tables and views of the attached file, in the order in which they were created. */
static enum hr_status copy_tables(struct hr__store *store, struct hr_error *error) {
  sqlite3_stmt *statement = NULL;
  enum hr_status status = HR_OK;
  const char sql[] = "SELECT sql FROM part.sqlite_master WHERE type IN ('table', 'view') ORDER BY rowid";
  int code = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);
  while (status == HR_OK && (code == SQLITE_OK || code == SQLITE_ROW)) {
    code = sqlite3_step(statement);
    char *create = code == SQLITE_ROW ? strdup((const char *)sqlite3_column_text(statement, 0)) : NULL;
    if (code == SQLITE_ROW)
      status = create ? run_sql(store, create, error) : hr_fail(error, HR_NO_MEMORY, "out of memory");
    free(create);
  }
  if (status == HR_OK && code != SQLITE_DONE) status = hr__store_fail(store, error);
  sqlite3_finalize(statement);
  if (status == HR_OK) status = run_sql(store, "INSERT INTO main.meta SELECT * FROM part.meta", error);
  if (status == HR_OK && hr__store_has_infeasible(store))
    status = run_sql(store, "INSERT INTO main.infeasible SELECT * FROM part.infeasible", error);
  return status;
}

static enum hr_status check_part(struct hr__store *store, const char *first, const char *path, struct hr_error *error) {
  uint64_t differ =
      hr__store_number(store, "SELECT count(*) FROM (SELECT * FROM main.meta EXCEPT SELECT * FROM part.meta)");
  if (differ)
    return hr_fail(error, HR_BAD_INPUT, "%s: not of the same sweep as %s: grid, scenario and trace must be equal", path,
                   first);
  static const char changed[] =
      " FROM (SELECT * FROM part.runs EXCEPT SELECT * FROM main.runs) WHERE run IN (SELECT run FROM main.runs)";
  char sql[sizeof changed + 32];
  snprintf(sql, sizeof sql, "SELECT count(*)%s", changed);
  if (hr__store_number(store, sql) == 0) return HR_OK;
  snprintf(sql, sizeof sql, "SELECT min(run)%s", changed);
  return hr_fail(error, HR_BAD_INPUT,
                 "%s: the result of run %" PRIu64 " differs from that in an earlier file; one of them was modified or "
                 "comes from another build",
                 path, hr__store_number(store, sql));
}

static enum hr_status add_part(struct hr__store *store, const char *first, const char *path, struct hr_error *error) {
  enum hr_status status = attach(store, path, error);
  if (status == HR_OK && strcmp(first, path) == 0 && hr__store_number(store, "SELECT count(*) FROM sqlite_master") == 0)
    status = copy_tables(store, error);
  if (status == HR_OK) status = check_part(store, first, path, error);
  if (status == HR_OK) status = run_sql(store, "BEGIN", error);
  if (status == HR_OK)
    status = run_sql(store,
                     "INSERT INTO main.groups SELECT * FROM part.groups WHERE run NOT IN "
                     "(SELECT run FROM main.runs)",
                     error);
  if (status == HR_OK) status = run_sql(store, "INSERT OR IGNORE INTO main.runs SELECT * FROM part.runs", error);
  if (status == HR_OK) status = run_sql(store, "COMMIT", error);
  return status == HR_OK ? run_sql(store, "DETACH part", error) : status;
}

static enum hr_status fact_number(struct hr__store *store, const char *key, uint64_t *number, struct hr_error *error) {
  char *text = NULL;
  enum hr_status status = read_fact(store, "main", key, &text, error);
  *number = text ? strtoull(text, NULL, 10) : 0;
  free(text);
  return status;
}

static enum hr_status count_runs(struct hr__store *store, struct hr_sweep_counts *counts, struct hr_error *error) {
  enum hr_status status = fact_number(store, "points", &counts->points, error);
  if (status == HR_OK) status = fact_number(store, "runs", &counts->runs, error);
  if (status != HR_OK) return status;
  counts->now = hr__store_number(store, "SELECT count(*) FROM runs");
  counts->missing = counts->runs > counts->now ? counts->runs - counts->now : 0;
  /* The smallest missing number is 0, or follows the number of an existing run. */
  if (counts->missing)
    counts->first_missing =
        hr__store_number(store, "SELECT min(n) FROM (SELECT 0 AS n UNION ALL SELECT run + 1 FROM runs) "
                                "WHERE n NOT IN (SELECT run FROM runs)");
  return HR_OK;
}

static enum hr_status check_target(const char *file, const char *const *shards, size_t n_shards,
                                   struct hr_error *error) {
  struct stat target, shard;
  if (n_shards == 0) return hr_fail(error, HR_BAD_INPUT, "merge: no input files");
  if (stat(file, &target) != 0) return HR_OK;
  for (size_t i = 0; i < n_shards; i++)
    if (stat(shards[i], &shard) == 0 && shard.st_dev == target.st_dev && shard.st_ino == target.st_ino)
      return hr_fail(error, HR_BAD_INPUT, "%s: is also an input file; the first argument is the output file", file);
  return check_head(file, error); /* never replaces a file of another kind */
}

/* Collects the rows of all shards in a draft. If the output file exists, it must be of the same sweep, and its runs are
   kept. */
static enum hr_status gather(struct hr__store *store, const char *file, const char *const *shards, size_t n_shards,
                             struct hr_error *error) {
  struct stat target;
  bool exists = stat(file, &target) == 0;
  const char *first = exists ? file : shards[0];
  enum hr_status status = exists ? add_part(store, first, file, error) : HR_OK;
  for (size_t i = 0; i < n_shards && status == HR_OK; i++) status = add_part(store, first, shards[i], error);
  return status;
}

enum hr_status hr_sweep_merge(const char *file, const char *const *shards, size_t n_shards,
                              struct hr_sweep_counts *counts, struct hr_error *error) {
  struct hr__store store = {0};
  struct store_draft draft = {0}, sorted = {0};
  *counts = (struct hr_sweep_counts){0};
  enum hr_status status = check_target(file, shards, n_shards, error);
  if (status == HR_OK) status = draft_begin(&draft, file, error);
  if (status == HR_OK) status = draft_begin(&sorted, file, error);
  if (status == HR_OK) status = draft_open(&draft, file, &store, error);
  if (status == HR_OK) status = gather(&store, file, shards, n_shards, error);
  if (status == HR_OK) status = count_runs(&store, counts, error);
  if (status == HR_OK) status = rewrite(&store, &sorted, error);
  hr__store_close(&store);
  status = draft_end(&sorted, status, file, error);
  draft_drop(&draft);
  return status;
}
