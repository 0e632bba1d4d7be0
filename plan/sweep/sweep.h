/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_SWEEP_SWEEP_H
#define HR_PLAN_SWEEP_SWEEP_H

/*
 * A sweep: the points of a grid, the runs of each point, and the processes that make the runs.
 *
 * Modules, each of which uses only those before it: sweep_run (points, overrides of a point, one run, its record),
 * sweep_store (the SQLite file), sweep (scenarios, traces, numbers of runs, the sweep as a whole, reports).
 */

#include "headroom/unstable/compare.h"
#include "headroom/unstable/experiments.h"
#include "plan/runner/runner.h"

#include <sqlite3.h>
#include <stdlib.h>

/* ---- Design ----------------------------------------------------------------------------------------- */

/* The points of a grid. All points differ. */
struct hr__sweep_design {
  double *at; /* [n_points][n_axes]: index of the level, or the value itself if the axis has no levels */
  size_t n_points, n_axes;
};

/* Makes the points. HR_BAD_INPUT if there are more than `max_points`. The caller must call hr__sweep_design_finish,
   even after an error. */
enum hr_status hr__sweep_design_make(const struct hr_grid *grid, uint64_t max_points, struct hr__sweep_design *design,
                                     struct hr_error *error);

static inline void hr__sweep_design_finish(struct hr__sweep_design *design) {
  free(design->at);
  *design = (struct hr__sweep_design){0};
}

static inline const double *hr__sweep_design_point(const struct hr__sweep_design *design, size_t point) {
  return design->at + point * design->n_axes;
}

/* ---- Points ----------------------------------------------------------------------------------------- */

struct hr_trace;

struct hr__sweep_point {
  uint64_t seed;      /* seed of the point's scenario */
  uint64_t first_run; /* number of the point's first run; its replications have consecutive numbers */
  uint32_t trace;     /* index in hr__sweep.traces */
  bool random;        /* the replications of the point differ */
  char *unfit;        /* why a service can never run, so that the point is not simulated; NULL: all services can run */
};

/* A trace that several points may replay. */
struct hr__sweep_trace {
  char *key; /* see hr__input_trace_key */
  char *file;
  struct hr_trace *trace;
};

/* Everything that is known before the first run. All threads share it; it is immutable while they run. */
struct hr__sweep {
  struct hr_grid *grid;
  struct hr_catalog *catalog; /* read once for all points; NULL: each scenario reads it, and reports the error */
  struct hr__sweep_design design;
  struct hr__sweep_point *points; /* [design.n_points] */
  uint64_t n_runs;
  struct hr__sweep_trace *traces; /* sorted by key */
  uint32_t n_traces, trace_capacity;
  struct hr_notes files; /* the scenario, and each file that a scenario names, once */
  struct hr_notes notes; /* notes of the first point's scenario and of the traces, and on skipped replications */
  char *scenario_text;
  char *inputs;         /* one line for each of `files`: its name without folder, and its digest */
  uint64_t fingerprint; /* digest of everything on which the runs depend */
};

/* The point of a run. O(log points). */
static inline size_t hr__sweep_point_of(const struct hr__sweep *sweep, uint64_t run) {
  size_t low = 0, high = sweep->design.n_points;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    *(sweep->points[middle].first_run <= run ? &low : &high) = middle;
  }
  return low;
}

/* Returns the settings of a point as text, such as "nodes=4, policy=sjf". The caller frees it. NULL when out of memory.
 */
char *hr__sweep_point_text(const struct hr__sweep *sweep, size_t point);

/* Overrides of one run. */
struct hr__sweep_overrides {
  const char **at;
  /* the texts of `at` that hr__sweep_overrides_finish frees; the other texts are borrowed from the grid */
  char **owned;
  uint32_t count, capacity, n_owned, owned_capacity;
};
/* Makes the overrides of a run. Replication 0 has the seed of the scenario; each other replication has a seed of its
   own. Returns false when out of memory. The caller must call hr__sweep_overrides_finish in either case. */
bool hr__sweep_overrides_make(const struct hr__sweep *sweep, size_t point, uint32_t replication,
                              struct hr__sweep_overrides *overrides);

static inline void hr__sweep_overrides_finish(struct hr__sweep_overrides *overrides) {
  for (size_t i = 0; i < overrides->n_owned; i++) free(overrides->owned[i]);
  free(overrides->owned);
  free(overrides->at);
  *overrides = (struct hr__sweep_overrides){0};
}

/* Loads the scenario of a run. */
enum hr_status hr__sweep_load_run(const struct hr__sweep *sweep, size_t point, uint32_t replication,
                                  struct hr_scenario **scenario, struct hr_error *error);

/* ---- Runs ------------------------------------------------------------------------------------------- */

enum hr__sweep_group_kind { HR__SWEEP_TENANT, HR__SWEEP_CLASS, HR__SWEEP_SERVICE };

struct hr__sweep_group {
  enum hr__sweep_group_kind kind;
  char *name;
  double values[HR__N_METRICS]; /* NaN if unknown */
};

/* The data that a sweep stores for each run. */
struct hr__sweep_record {
  uint64_t run, seed, digest;
  double values[HR__N_METRICS]; /* NaN if unknown */
  struct hr__sweep_group *groups;
  size_t n_groups;
};

static inline void hr__sweep_record_finish(struct hr__sweep_record *record) {
  for (size_t i = 0; i < record->n_groups; i++) free(record->groups[i].name);
  free(record->groups);
  *record = (struct hr__sweep_record){0};
}

/* Copies a record into a parcel or out of it. If reading fails, the record must still be finished. */
void hr__parcel_record(struct hr__parcel *parcel, struct hr__sweep_record *record);

/* Makes one run. An error message names the run and the point. The caller must finish `record`, even after an error. */
enum hr_status hr__sweep_make_run(const struct hr__sweep *sweep, uint64_t run, const struct hr_progress *progress,
                                  struct hr__sweep_record *record, struct hr_error *error);

/* The SQLite file of a sweep. While one process has the file open for writing, no other process can open it. Errors
   of SQLite are HR_BAD_INPUT (locked, not readable, damaged), HR_IO_ERROR or HR_NO_MEMORY. The message contains the
   path of the file. */

/* ---- Schema: the statements and facts that define a sweep's file ------------------------------------ */

enum hr__sweep_statement { HR__SWEEP_CREATE_RUNS, HR__SWEEP_CREATE_POINTS, HR__SWEEP_INSERT_RUN };

/* Returns a statement that depends on the axes. Free it with sqlite3_free. NULL when out of memory. */
char *hr__sweep_schema_sql(const struct hr__sweep *sweep, enum hr__sweep_statement statement);

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
/* Whether the file has the table `infeasible`. */
bool hr__store_has_infeasible(struct hr__store *store);

#endif
