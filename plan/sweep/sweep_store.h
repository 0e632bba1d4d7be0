/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_SWEEP_SWEEP_STORE_H
#define HR_PLAN_SWEEP_SWEEP_STORE_H

/* The SQLite file of a sweep. While it is open no other process has it. */

#include "plan/sweep/sweep.h"

#include <sqlite3.h>

#define HR__SWEEP_FORMAT "headroom-sweep 1"
enum { HR__SWEEP_APPLICATION = 0x48525357 }; /* "HRSW", in the file's head */

struct hr__store {
  sqlite3 *db;
  char *path;
  const struct hr__sweep *sweep; /* NULL where it is only read */
  sqlite3_stmt *add_run, *add_group;
};

/* Opens the sweep's file, made if it is not there. HR_BAD_INPUT, and the file as it was, where it is none of this
   sweep. */
enum hr_status hr__store_open(struct hr__store *store, const char *path, const struct hr__sweep *sweep,
                              struct hr_error *error);
/* Any sweep's file of this version, to be read. */
enum hr_status hr__store_read(struct hr__store *store, const char *path, struct hr_error *error);
/* Which of the runs it has: `has` is [n_runs]. */
enum hr_status hr__store_runs(struct hr__store *store, bool *has, struct hr_error *error);
/* Adds a run for good. */
enum hr_status hr__store_add(struct hr__store *store, const struct hr__record *record, struct hr_error *error);
/* Puts the file into a form that its content alone determines, and closes it. */
enum hr_status hr__store_seal(struct hr__store *store, struct hr_error *error);
/* Closes it; does nothing after hr__store_seal. */
void hr__store_close(struct hr__store *store);

/* ---- Beneath ---------------------------------------------------------------------------------------- */

/* HR_BAD_INPUT where the file is no sweep's, told by its first bytes alone. */
enum hr_status hr__store_check_head(const char *path, struct hr_error *error);
/* Fails with what SQLite says. */
enum hr_status hr__store_fail(const struct hr__store *store, struct hr_error *error);
enum hr_status hr__store_run(struct hr__store *store, const char *sql, struct hr_error *error);
/* Likewise with a text bound to its only parameter. */
enum hr_status hr__store_run_with(struct hr__store *store, const char *sql, const char *text, struct hr_error *error);
/* The value of a key of `meta` of the schema; NULL: it has none. The caller frees it. */
enum hr_status hr__store_fact(struct hr__store *store, const char *schema, const char *key, char **text,
                              struct hr_error *error);
/* A number that a query gives; 0 for none. */
uint64_t hr__store_number(struct hr__store *store, const char *sql);
/* A new, empty file beside `path`, which goes when the process ends before it is whole. */
struct hr__sweep_draft {
  char *name;
  uint32_t place; /* in the list of unfinished files */
};
enum hr_status hr__draft_begin(struct hr__sweep_draft *draft, const char *path, struct hr_error *error);
/* Gives it its name, or, where `status` is not HR_OK, removes it; what comes of it. */
enum hr_status hr__draft_end(struct hr__sweep_draft *draft, enum hr_status status, const char *path,
                             struct hr_error *error);
/* Writes what the store holds into a draft, in the order of its keys. The number of changes of its tables, which SQLite
   counts on from file to file, is set back. */
enum hr_status hr__store_rewrite(struct hr__store *store, const struct hr__sweep_draft *draft, struct hr_error *error);
void hr__draft_drop(struct hr__sweep_draft *draft);
/* Opens it; errors are told of `path`. */
enum hr_status hr__draft_open(const struct hr__sweep_draft *draft, const char *path, struct hr__store *store,
                              struct hr_error *error);

/* ---- What is in it ---------------------------------------------------------------------------------- */

/* Likewise of the format and the version alone. */
enum hr_status hr__schema_check_version(struct hr__store *store, const char *schema, const char *path,
                                        struct hr_error *error);

#endif
