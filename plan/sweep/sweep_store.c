/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of a sweep's file, and what says whose file it is. Statements are in one order, so that files of one sweep
   have the same bytes. */

#include "plan/sweep/sweep_store.h"

#include "base/output_file.h"
#include "headroom/unstable/experiments.h"
#include "report/tables/json_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* The statement that adds a run; sqlite3_free. NULL when out of memory. */
static char *hr__schema_insert(const struct hr__sweep *sweep) {
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

enum sweep_store_fact { FORMAT, VERSION, GRID, SCENARIO, TRACE, INPUTS, POINTS, RUNS, FINGERPRINT, N_FACTS };

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

static char *fact_text(const struct hr__sweep *sweep, enum sweep_store_fact fact) {
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
    char *text = fact_text(sweep, (enum sweep_store_fact)i);
    char *sql = text ? sqlite3_mprintf("INSERT INTO meta VALUES(%Q, ?)", facts[i].key) : NULL;
    status = sql ? hr__store_run_with(store, sql, text, error) : hr_fail(error, HR_NO_MEMORY, "out of memory");
    sqlite3_free(sql);
    sqlite3_free(text);
  }
  return status;
}

/* Makes tables, views and `meta` of a sweep in an open and empty file. */
static enum hr_status hr__schema_make(struct hr__store *store, const struct hr__sweep *sweep, struct hr_error *error) {
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

static enum hr_status check_fact(struct hr__store *store, const struct hr__sweep *sweep, enum sweep_store_fact fact,
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

/* HR_BAD_INPUT that says what differs where `meta` is another sweep's. */
static enum hr_status hr__schema_check(struct hr__store *store, const struct hr__sweep *sweep, struct hr_error *error) {
  enum hr_status status = hr__schema_check_version(store, "main", store->path, error);
  for (unsigned i = GRID; i < N_FACTS && status == HR_OK; i++)
    status = check_fact(store, sweep, (enum sweep_store_fact)i, error);
  return status;
}

/*
 * How a sweep's file comes about. It is made beside its place and renamed, so that there is never half of one. Then
 * runs are added one transaction each, through a write-ahead log: a killed process loses what it had not yet added, a
 * machine that fails perhaps the last few, and neither leaves the file broken. The log is the process's own (an
 * exclusive lock), which also keeps a second sweep out. At the end the rows, which stand as they came, are written anew
 * in the order of their keys (VACUUM INTO), and that file takes the other's place.
 */

/* ---- SQLite ----------------------------------------------------------------------------------------- */

/* Where SQLite has nothing to complain of, memory ran out before it was asked. */
enum hr_status hr__store_fail(const struct hr__store *store, struct hr_error *error) {
  int code = sqlite3_errcode(store->db) & 0xff;
  if (code == SQLITE_NOMEM || code == SQLITE_OK) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", store->path);
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
    return hr_fail(error, HR_BAD_INPUT, "%s: is in use by another process", store->path);
  enum hr_status status = code == SQLITE_NOTADB || code == SQLITE_CORRUPT || code == SQLITE_ERROR ||
                                  code == SQLITE_CANTOPEN || code == SQLITE_READONLY || code == SQLITE_PERM
                              ? HR_BAD_INPUT
                              : HR_IO_ERROR;
  return hr_fail(error, status, "%s: %s", store->path, sqlite3_errmsg(store->db));
}

enum hr_status hr__store_run(struct hr__store *store, const char *sql, struct hr_error *error) {
  return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK ? HR_OK : hr__store_fail(store, error);
}

enum hr_status hr__store_run_with(struct hr__store *store, const char *sql, const char *text, struct hr_error *error) {
  sqlite3_stmt *statement = NULL;
  bool done = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) == SQLITE_OK &&
              sqlite3_bind_text(statement, 1, text, -1, SQLITE_STATIC) == SQLITE_OK &&
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

enum hr_status hr__store_fact(struct hr__store *store, const char *schema, const char *key, char **text,
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

void hr__store_close(struct hr__store *store) {
  sqlite3_finalize(store->add_run);
  sqlite3_finalize(store->add_group);
  sqlite3_close(store->db);
  free(store->path);
  *store = (struct hr__store){0};
}

/* ---- Whose it is ------------------------------------------------------------------------------------ */

/* SQLite would begin with repairs of a file whose writer was killed; what is no sweep's is not to be touched. */
enum hr_status hr__store_check_head(const char *path, struct hr_error *error) {
  static const char magic[16] = "SQLite format 3";
  enum { HEAD_BYTES = 100, AT_APPLICATION = 68 };
  unsigned char head[HEAD_BYTES] = {0};
  FILE *file = fopen(path, "rb");
  if (!file) return hr_fail(error, HR_BAD_INPUT, "%s: cannot be read: %s", path, strerror(errno));
  size_t count = fread(head, 1, sizeof head, file);
  fclose(file);
  const unsigned char *at = head + AT_APPLICATION;
  uint32_t application = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
  if (count == sizeof head && memcmp(head, magic, sizeof magic) == 0 && application == HR__SWEEP_APPLICATION)
    return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: is no sweep's file, and is left as it is; name another", path);
}

static enum hr_status lock(struct hr__store *store, struct hr_error *error) {
  enum hr_status status = hr__store_run(store, "PRAGMA locking_mode=EXCLUSIVE", error);
  if (status == HR_OK) status = hr__store_run(store, "PRAGMA journal_mode=WAL", error);
  if (status == HR_OK) status = hr__store_run(store, "PRAGMA synchronous=NORMAL", error);
  if (status == HR_OK) status = hr__store_run(store, "BEGIN IMMEDIATE; COMMIT", error); /* takes the lock */
  return status;
}

enum hr_status hr__store_read(struct hr__store *store, const char *path, struct hr_error *error) {
  *store = (struct hr__store){0};
  enum hr_status status = hr__store_check_head(path, error);
  if (status == HR_OK) status = connect(store, path, path, error);
  if (status == HR_OK) status = hr__store_run(store, "SELECT * FROM meta", error);
  return status == HR_OK ? hr__schema_check_version(store, "main", path, error) : status;
}

/* ---- Making ----------------------------------------------------------------------------------------- */

/* An existing file keeps its mode; a new one gets what the umask leaves of 0666. */
static mode_t mode_for(const char *path) {
  struct stat info;
  if (stat(path, &info) == 0) return info.st_mode & 07777;
  mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

enum hr_status hr__draft_begin(struct hr__sweep_draft *draft, const char *path, struct hr_error *error) {
  static const char suffix[] = ".XXXXXX";
  char *name = malloc(strlen(path) + sizeof suffix);
  *draft = (struct hr__sweep_draft){0};
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
  bool good = descriptor >= 0 && fsync(descriptor) == 0;
  if (descriptor >= 0) close(descriptor);
  return good;
}

enum hr_status hr__draft_end(struct hr__sweep_draft *draft, enum hr_status status, const char *path,
                             struct hr_error *error) {
  if (!draft->name) return status;
  if (status == HR_OK && (!synced(draft->name) || rename(draft->name, path) != 0))
    status = hr_fail(error, HR_IO_ERROR, "%s: cannot be written: %s", path, strerror(errno));
  if (status != HR_OK) unlink(draft->name);
  if (hr__unfinished_remove(draft->place)) free(draft->name);
  *draft = (struct hr__sweep_draft){0};
  return status;
}

void hr__draft_drop(struct hr__sweep_draft *draft) {
  (void)hr__draft_end(draft, HR_INTERNAL, "", NULL);
}

enum hr_status hr__draft_open(const struct hr__sweep_draft *draft, const char *path, struct hr__store *store,
                              struct hr_error *error) {
  char head[64];
  *store = (struct hr__store){0};
  snprintf(head, sizeof head, "PRAGMA application_id=%d", HR__SWEEP_APPLICATION);
  enum hr_status status = connect(store, draft->name, path, error);
  if (status == HR_OK) status = hr__store_run(store, "PRAGMA journal_mode=MEMORY", error);
  return status == HR_OK ? hr__store_run(store, head, error) : status;
}

static enum hr_status make(const char *path, const struct hr__sweep *sweep, struct hr_error *error) {
  struct hr__store store = {0};
  struct hr__sweep_draft draft;
  enum hr_status status = hr__draft_begin(&draft, path, error);
  if (status != HR_OK) return status;
  status = hr__draft_open(&draft, path, &store, error);
  if (status == HR_OK) status = hr__store_run(&store, "BEGIN", error);
  if (status == HR_OK) status = hr__schema_make(&store, sweep, error);
  if (status == HR_OK) status = hr__store_run(&store, "COMMIT", error);
  hr__store_close(&store);
  /* Of two processes that make it at once, the second takes the first one's; some file systems have no links. */
  if (status == HR_OK && synced(draft.name) && (link(draft.name, path) == 0 || errno == EEXIST)) {
    hr__draft_drop(&draft);
    return HR_OK;
  }
  return hr__draft_end(&draft, status, path, error);
}

static enum hr_status prepare(struct hr__store *store, struct hr_error *error) {
  static const char group[] = "INSERT INTO groups VALUES(?,?,?,?,?)";
  char *run = hr__schema_insert(store->sweep);
  if (!run) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  bool good = sqlite3_prepare_v2(store->db, run, -1, &store->add_run, NULL) == SQLITE_OK &&
              sqlite3_prepare_v2(store->db, group, -1, &store->add_group, NULL) == SQLITE_OK;
  sqlite3_free(run);
  return good ? HR_OK : hr__store_fail(store, error);
}

/* A process that sealed the file meanwhile has put another in its place. */
static enum hr_status check_place(const char *path, const struct stat *before, struct hr_error *error) {
  struct stat now;
  if (stat(path, &now) == 0 && now.st_ino == before->st_ino && now.st_dev == before->st_dev) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: is in use by another process", path);
}

enum hr_status hr__store_open(struct hr__store *store, const char *path, const struct hr__sweep *sweep,
                              struct hr_error *error) {
  struct stat before = {0};
  *store = (struct hr__store){0};
  enum hr_status status = access(path, F_OK) == 0 ? HR_OK : make(path, sweep, error);
  if (status == HR_OK) status = hr__store_check_head(path, error);
  if (status == HR_OK && stat(path, &before) != 0)
    status = hr_fail(error, HR_BAD_INPUT, "%s: cannot be read: %s", path, strerror(errno));
  if (status == HR_OK) status = connect(store, path, path, error);
  store->sweep = sweep;
  if (status == HR_OK) status = hr__store_run(store, "SELECT * FROM meta", error);
  if (status == HR_OK) status = hr__schema_check(store, sweep, error);
  if (status == HR_OK) status = lock(store, error);
  if (status == HR_OK) status = check_place(path, &before, error);
  if (status == HR_OK) status = prepare(store, error);
  return status;
}

/* ---- Runs ------------------------------------------------------------------------------------------- */

enum hr_status hr__store_runs(struct hr__store *store, bool *has, struct hr_error *error) {
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

/* The scenario's name in the grid and what was set of it: all that `headroom run` would need. */
static char *scenario_text(const struct hr__sweep *sweep, size_t point, uint32_t replication) {
  struct hr__overrides overrides;
  struct hr__json json = {0};
  cJSON *tree = cJSON_CreateObject();
  hr__json_text(&json, tree, "scenario", sweep->grid->scenario);
  cJSON *set = hr__json_array(&json, tree, "set");
  bool whole = tree && set && hr__overrides_make(sweep, point, replication, &overrides);
  for (size_t i = 0; whole && i < overrides.count; i++)
    hr__json_append(&json, set, cJSON_CreateString(overrides.at[i]));
  if (tree && set) hr__overrides_finish(&overrides);
  char *text = whole && !json.failed ? cJSON_PrintUnformatted(tree) : NULL;
  cJSON_Delete(tree);
  return text;
}

static void bind_number(sqlite3_stmt *statement, int at, double value) {
  if (value == value)
    sqlite3_bind_double(statement, at, value);
  else
    sqlite3_bind_null(statement, at);
}

/* Whole numbers as such: 4, not 4.0. */
static void bind_level(sqlite3_stmt *statement, int at, const struct hr_grid_axis *axis, double place) {
  double number = axis->levels ? axis->levels[(size_t)place].number : place;
  if (number != number)
    sqlite3_bind_text(statement, at, axis->levels[(size_t)place].text, -1, SQLITE_STATIC);
  else if (number == (double)(int64_t)number)
    sqlite3_bind_int64(statement, at, (int64_t)number);
  else
    sqlite3_bind_double(statement, at, number);
}

static bool step(sqlite3_stmt *statement) {
  bool done = sqlite3_step(statement) == SQLITE_DONE;
  return sqlite3_reset(statement) == SQLITE_OK && done;
}

static bool add_run(struct hr__store *store, const struct hr__record *record) {
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
  sqlite3_bind_text(row, 5, digest, -1, SQLITE_STATIC);
  sqlite3_bind_text(row, 6, scenario, -1, SQLITE_STATIC);
  int at = 7;
  const double *places = hr__design_point(&sweep->design, point);
  for (uint32_t i = 0; i < grid->n_axes; i++) bind_level(row, at++, &grid->axes[i], places[i]);
  for (unsigned i = 0; i < HR__N_MEASURES; i++) bind_number(row, at++, record->values[i]);
  bool good = step(row);
  sqlite3_clear_bindings(row); /* they are of this call's own */
  cJSON_free(scenario);
  return good;
}

static bool add_group(struct hr__store *store, uint64_t run, const struct hr__group_record *group) {
  sqlite3_stmt *row = store->add_group;
  bool good = true;
  for (unsigned i = 0; i < HR__N_MEASURES && good; i++) {
    if (group->values[i] != group->values[i]) continue;
    sqlite3_bind_int64(row, 1, (sqlite3_int64)run);
    sqlite3_bind_text(row, 2, group->kind == HR__SWEEP_TENANT ? "tenant" : "class", -1, SQLITE_STATIC);
    sqlite3_bind_text(row, 3, group->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(row, 4, hr__measure_infos[i].column, -1, SQLITE_STATIC);
    sqlite3_bind_double(row, 5, group->values[i]);
    good = step(row);
  }
  sqlite3_clear_bindings(row);
  return good;
}

enum hr_status hr__store_add(struct hr__store *store, const struct hr__record *record, struct hr_error *error) {
  enum hr_status status = hr__store_run(store, "BEGIN", error);
  if (status != HR_OK) return status;
  bool good = add_run(store, record);
  for (size_t i = 0; i < record->n_groups && good; i++) good = add_group(store, record->run, &record->groups[i]);
  return good ? hr__store_run(store, "COMMIT", error) : hr__store_fail(store, error);
}

/* ---- The last form ---------------------------------------------------------------------------------- */

enum hr_status hr__store_rewrite(struct hr__store *store, const struct hr__sweep_draft *draft, struct hr_error *error) {
  enum hr_status status = hr__store_run(store, "PRAGMA schema_version=1", error);
  return status == HR_OK ? hr__store_run_with(store, "VACUUM main INTO ?", draft->name, error) : status;
}

/* The log goes before the file does: none is to be found beside the new one. */
enum hr_status hr__store_seal(struct hr__store *store, struct hr_error *error) {
  struct hr__sweep_draft draft;
  char *path = strdup(store->path);
  if (!path) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  enum hr_status status = hr__draft_begin(&draft, path, error);
  if (status == HR_OK) status = hr__store_run(store, "PRAGMA journal_mode=DELETE", error);
  if (status == HR_OK) status = hr__store_rewrite(store, &draft, error);
  status = hr__draft_end(&draft, status, path, error);
  hr__store_close(store);
  free(path);
  return status;
}
