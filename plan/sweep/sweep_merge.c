/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Several files of one sweep as one: tables as the first has them, rows of all, and then the same last form as a
   sweep's own file. */

#include "plan/sweep/sweep_store.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- What is put together --------------------------------------------------------------------------- */

static enum hr_status attach(struct hr__store *store, const char *path, struct hr_error *error) {
  enum hr_status status = hr__store_check_head(path, error);
  if (status == HR_OK) status = hr__store_run_with(store, "ATTACH ? AS part", path, error);
  if (status == HR_OK && sqlite3_exec(store->db, "SELECT * FROM part.meta", NULL, NULL, NULL) != SQLITE_OK) {
    int code = sqlite3_errcode(store->db) & 0xff;
    return hr_fail(error, HR_BAD_INPUT, "%s: %s", path,
                   code == SQLITE_BUSY || code == SQLITE_LOCKED ? "is in use by another process"
                                                                : sqlite3_errmsg(store->db));
  }
  return status == HR_OK ? hr__schema_check_version(store, "part", path, error) : status;
}

/* Tables and views of the attached file, in the order in which they were made. */
static enum hr_status copy_tables(struct hr__store *store, struct hr_error *error) {
  sqlite3_stmt *statement = NULL;
  enum hr_status status = HR_OK;
  const char sql[] = "SELECT sql FROM part.sqlite_master WHERE type IN ('table', 'view') ORDER BY rowid";
  int code = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);
  while (status == HR_OK && (code == SQLITE_OK || code == SQLITE_ROW)) {
    code = sqlite3_step(statement);
    char *made = code == SQLITE_ROW ? strdup((const char *)sqlite3_column_text(statement, 0)) : NULL;
    if (code == SQLITE_ROW)
      status = made ? hr__store_run(store, made, error) : hr_fail(error, HR_NO_MEMORY, "out of memory");
    free(made);
  }
  if (status == HR_OK && code != SQLITE_DONE) status = hr__store_fail(store, error);
  sqlite3_finalize(statement);
  if (status == HR_OK) status = hr__store_run(store, "INSERT INTO main.meta SELECT * FROM part.meta", error);
  return status;
}

static enum hr_status check_part(struct hr__store *store, const char *first, const char *path, struct hr_error *error) {
  uint64_t differ =
      hr__store_number(store, "SELECT count(*) FROM (SELECT * FROM main.meta EXCEPT SELECT * FROM part.meta)");
  if (differ)
    return hr_fail(error, HR_BAD_INPUT,
                   "%s: is the file of another sweep than %s: grid, scenario and trace must be the same", path, first);
  static const char changed[] =
      " FROM (SELECT * FROM part.runs EXCEPT SELECT * FROM main.runs) WHERE run IN (SELECT run FROM main.runs)";
  char sql[sizeof changed + 32];
  snprintf(sql, sizeof sql, "SELECT count(*)%s", changed);
  if (hr__store_number(store, sql) == 0) return HR_OK;
  snprintf(sql, sizeof sql, "SELECT min(run)%s", changed);
  return hr_fail(error, HR_BAD_INPUT,
                 "%s: has another result of run %" PRIu64 " than a file before it; one of them was changed, or is of "
                 "another build",
                 path, hr__store_number(store, sql));
}

static enum hr_status add_part(struct hr__store *store, const char *first, const char *path, struct hr_error *error) {
  enum hr_status status = attach(store, path, error);
  if (status == HR_OK && strcmp(first, path) == 0 && hr__store_number(store, "SELECT count(*) FROM sqlite_master") == 0)
    status = copy_tables(store, error);
  if (status == HR_OK) status = check_part(store, first, path, error);
  if (status == HR_OK) status = hr__store_run(store, "BEGIN", error);
  if (status == HR_OK)
    status = hr__store_run(store,
                           "INSERT INTO main.groups SELECT * FROM part.groups WHERE run NOT IN "
                           "(SELECT run FROM main.runs)",
                           error);
  if (status == HR_OK) status = hr__store_run(store, "INSERT OR IGNORE INTO main.runs SELECT * FROM part.runs", error);
  if (status == HR_OK) status = hr__store_run(store, "COMMIT", error);
  return status == HR_OK ? hr__store_run(store, "DETACH part", error) : status;
}

/* ---- What came of it -------------------------------------------------------------------------------- */

static enum hr_status fact_number(struct hr__store *store, const char *key, uint64_t *number, struct hr_error *error) {
  char *text = NULL;
  enum hr_status status = hr__store_fact(store, "main", key, &text, error);
  *number = text ? strtoull(text, NULL, 10) : 0;
  free(text);
  return status;
}

static enum hr_status count(struct hr__store *store, struct hr_sweep_counts *counts, struct hr_error *error) {
  enum hr_status status = fact_number(store, "points", &counts->points, error);
  if (status == HR_OK) status = fact_number(store, "runs", &counts->runs, error);
  if (status != HR_OK) return status;
  counts->now = hr__store_number(store, "SELECT count(*) FROM runs");
  counts->missing = counts->runs > counts->now ? counts->runs - counts->now : 0;
  /* The first number that no row has: its predecessor, or nothing, is there. */
  if (counts->missing)
    counts->first_missing =
        hr__store_number(store, "SELECT min(n) FROM (SELECT 0 AS n UNION ALL SELECT run + 1 FROM runs) "
                                "WHERE n NOT IN (SELECT run FROM runs)");
  return HR_OK;
}

/* ---- The whole -------------------------------------------------------------------------------------- */

static enum hr_status check_target(const char *file, const char *const *shards, size_t n_shards,
                                   struct hr_error *error) {
  struct stat target, shard;
  if (n_shards == 0) return hr_fail(error, HR_BAD_INPUT, "merge: no file to be merged is named");
  if (stat(file, &target) != 0) return HR_OK;
  for (size_t i = 0; i < n_shards; i++)
    if (stat(shards[i], &shard) == 0 && shard.st_dev == target.st_dev && shard.st_ino == target.st_ino)
      return hr_fail(error, HR_BAD_INPUT, "%s: is one of the files that are merged; the first name is the new file's",
                     file);
  return hr__store_check_head(file, error); /* what is no sweep's is not replaced */
}

/* Rows are gathered in a draft, and written anew in order into a second one. A file that is there already is the first
   part: it must be of the same sweep, and loses nothing. */
static enum hr_status gather(struct hr__store *store, const char *file, const char *const *shards, size_t n_shards,
                             struct hr_error *error) {
  struct stat target;
  bool is_there = stat(file, &target) == 0;
  const char *first = is_there ? file : shards[0];
  enum hr_status status = is_there ? add_part(store, first, file, error) : HR_OK;
  for (size_t i = 0; i < n_shards && status == HR_OK; i++) status = add_part(store, first, shards[i], error);
  return status;
}

enum hr_status hr_sweep_merge(const char *file, const char *const *shards, size_t n_shards,
                              struct hr_sweep_counts *counts, struct hr_error *error) {
  struct hr__store store = {0};
  struct hr__sweep_draft draft = {0}, last = {0};
  *counts = (struct hr_sweep_counts){0};
  enum hr_status status = check_target(file, shards, n_shards, error);
  if (status == HR_OK) status = hr__draft_begin(&draft, file, error);
  if (status == HR_OK) status = hr__draft_begin(&last, file, error);
  if (status == HR_OK) status = hr__draft_open(&draft, file, &store, error);
  if (status == HR_OK) status = gather(&store, file, shards, n_shards, error);
  if (status == HR_OK) status = count(&store, counts, error);
  if (status == HR_OK) status = hr__store_rewrite(&store, &last, error);
  hr__store_close(&store);
  status = hr__draft_end(&last, status, file, error);
  hr__draft_drop(&draft);
  return status;
}
