/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_SWEEP_SWEEP_STORE_H
#define HR_PLAN_SWEEP_SWEEP_STORE_H

/*
 * The SQLite file of a sweep. While one process has the file open for writing, no other process can open it. Errors of
 * SQLite are HR_BAD_INPUT (locked, not readable, damaged), HR_IO_ERROR or HR_NO_MEMORY. The message contains the path
 * of the file.
 */

#include "plan/sweep/sweep.h"

#include <sqlite3.h>
#include <stdlib.h>

/* ---- Schema: the statements and facts that define a sweep's file ------------------------------------ */

#define HR__SWEEP_FORMAT "headroom-sweep 1"
enum { HR__SWEEP_APPLICATION = 0x48525357 }; /* "HRSW", SQLite's application id */

enum hr__sweep_statement { HR__SWEEP_CREATE_RUNS, HR__SWEEP_CREATE_POINTS, HR__SWEEP_INSERT_RUN };

/* Returns a statement that depends on the axes. Free it with sqlite3_free. NULL when out of memory. */
char *hr__sweep_schema_sql(const struct hr__sweep *sweep, enum hr__sweep_statement statement);

/* Key and value pairs of the table `meta`, which identify the sweep. */
enum hr__sweep_fact {
  HR__SWEEP_FACT_FORMAT,
  HR__SWEEP_FACT_VERSION,
  HR__SWEEP_FACT_GRID, /* this fact and the following ones must equal those of the sweep that opens the file */
  HR__SWEEP_FACT_SCENARIO,
  HR__SWEEP_FACT_TRACE,
  HR__SWEEP_FACT_INPUTS,
  HR__SWEEP_FACT_POINTS,
  HR__SWEEP_FACT_RUNS,
  HR__SWEEP_FACT_FINGERPRINT,
  HR__SWEEP_N_FACTS
};

struct hr__sweep_fact_info {
  const char *key;
  const char *differs; /* end of the error message if the fact differs; NULL: the fact has its own message */
  char *(*value)(const struct hr__sweep *sweep); /* free it with sqlite3_free; NULL when out of memory */
};
extern const struct hr__sweep_fact_info hr__sweep_facts[HR__SWEEP_N_FACTS];

/* ---- Store ------------------------------------------------------------------------------------------ */

struct hr__store {
  sqlite3 *db;
  char *path;
  const struct hr__sweep *sweep; /* NULL if hr__store_read opened the store */
  sqlite3_stmt *add_run, *add_group;
};

/* Opens the file for writing; creates it if it does not exist. Sets has[run] for each run in the file; `has` has
   sweep->n_runs elements. If the file belongs to another sweep, returns HR_BAD_INPUT and does not change the file. The
   caller must call hr__store_close, even after an error. */
enum hr_status hr__store_open(struct hr__store *store, const char *path, const struct hr__sweep *sweep, bool *has,
                              struct hr_error *error);
/* Opens the file of any sweep of this version for reading. The caller must call hr__store_close, even after an error.
 */
enum hr_status hr__store_read(struct hr__store *store, const char *path, struct hr_error *error);
/* Adds a run in one transaction. */
enum hr_status hr__store_add(struct hr__store *store, const struct hr__sweep_record *record, struct hr_error *error);
/* Rewrites the file so that its bytes depend only on its content, and closes the store. */
enum hr_status hr__store_seal(struct hr__store *store, struct hr_error *error);
/* Closes the store. Does nothing after hr__store_seal. */
static inline void hr__store_close(struct hr__store *store) {
  sqlite3_finalize(store->add_run);
  sqlite3_finalize(store->add_group);
  sqlite3_close(store->db);
  free(store->path);
  *store = (struct hr__store){0};
}

/* Sets `error` from SQLite's last error. */
enum hr_status hr__store_fail(const struct hr__store *store, struct hr_error *error);
/* Returns the integer that a query returns; 0 if the query returns no row. */
uint64_t hr__store_number(struct hr__store *store, const char *sql);

#endif
