/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_SWEEP_SWEEP_H
#define HR_PLAN_SWEEP_SWEEP_H

/*
 * A sweep: the points of a grid, the runs of each point, and the processes that make them.
 *
 * Modules, each using only those before it: design (points), sweep_run (overrides of a point, one run, its record,
 * threads), sweep_mpi (ranks), sweep_store (the SQLite file), sweep (scenarios, traces and numbers of runs; all of it).
 */

#include "headroom/unstable/experiments.h"
#include "headroom/unstable/sweep.h"
#include "plan/runner/measures.h"

#include <stdlib.h>

/* Set by the build: whether sweeps can run on the ranks of an MPI job. */
#ifndef HEADROOM_WITH_MPI
#define HEADROOM_WITH_MPI 0
#endif

/* ---- Design ----------------------------------------------------------------------------------------- */

/* Distinct points of a grid. */
struct hr__sweep_design {
  double *at; /* [n_points][n_axes]: number of the level, or the value itself on an axis without levels */
  size_t n_points, n_axes;
};

/* Release with hr__sweep_design_finish, also on failure. HR_BAD_INPUT if there are more than `max_points`. */
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
  uint64_t seed;      /* of its scenario */
  uint64_t first_run; /* its replications have consecutive numbers */
  uint32_t trace;     /* index in hr__sweep.traces */
  bool random;        /* replications differ */
};

/* A trace that several points may replay. */
struct hr__sweep_trace {
  char *key; /* hr__input_trace_key */
  char *file;
  struct hr_trace *trace;
};

/* Everything that is known before the first run. Immutable afterwards, and shared by all threads. */
struct hr__sweep {
  struct hr_grid *grid;
  struct hr__sweep_design design;
  struct hr__sweep_point *points; /* [design.n_points] */
  uint64_t n_runs;
  struct hr__sweep_trace *traces; /* sorted by key */
  uint32_t n_traces, trace_capacity;
  struct hr_notes files; /* the scenario and all files that scenarios name, once each */
  struct hr_notes notes; /* of the first point's scenario, of traces, and of skipped replications */
  char *scenario_text;
  char *inputs;         /* one line for each of `files`: name without folder, digest */
  uint64_t fingerprint; /* digest of everything that the runs depend on */
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

/* "nodes=4, policy=sjf". The caller frees it; NULL when out of memory. */
char *hr__sweep_point_text(const struct hr__sweep *sweep, size_t point);

/* Overrides of one run. */
struct hr__sweep_overrides {
  const char **at;
  char **owned; /* those of `at` that hr__sweep_overrides_finish frees; the others are borrowed from the grid */
  uint32_t count, capacity, n_owned, owned_capacity;
};
/* Replication 0 has the scenario's seed, the others get their own. Returns false when out of memory; call
   hr__sweep_overrides_finish in any case. */
bool hr__sweep_overrides_make(const struct hr__sweep *sweep, size_t point, uint32_t replication,
                              struct hr__sweep_overrides *overrides);

static inline void hr__sweep_overrides_finish(struct hr__sweep_overrides *overrides) {
  for (size_t i = 0; i < overrides->n_owned; i++) free(overrides->owned[i]);
  free(overrides->owned);
  free(overrides->at);
  *overrides = (struct hr__sweep_overrides){0};
}

/* ---- Runs ------------------------------------------------------------------------------------------- */

enum hr__sweep_group_kind { HR__SWEEP_TENANT, HR__SWEEP_CLASS };

struct hr__sweep_group {
  enum hr__sweep_group_kind kind;
  char *name;
  double values[HR__N_MEASURES]; /* NaN if unknown */
};

/* What a sweep stores of a run. */
struct hr__sweep_record {
  uint64_t run, seed, digest;
  double values[HR__N_MEASURES]; /* NaN if unknown */
  struct hr__sweep_group *groups;
  size_t n_groups;
};

static inline void hr__sweep_record_finish(struct hr__sweep_record *record) {
  for (size_t i = 0; i < record->n_groups; i++) free(record->groups[i].name);
  free(record->groups);
  *record = (struct hr__sweep_record){0};
}

/* Converts a record to bytes for another process of the same program, and back. The caller frees the bytes. NULL or
   false when out of memory. */
void *hr__sweep_record_pack(const struct hr__sweep_record *record, size_t *size);
bool hr__sweep_record_unpack(struct hr__sweep_record *record, const void *bytes, size_t size);

/* Runs to make, and what to do with their records. */
struct hr__sweep_batch {
  const struct hr__sweep *sweep;
  const uint64_t *runs; /* [n_runs] in order; borrowed */
  size_t n_runs;
  uint32_t n_threads;
  void *self;
  /* Called by one thread at a time, in the order in which runs end. The record is the caller's. */
  enum hr_status (*store)(void *self, const struct hr__sweep_record *record, struct hr_error *error);
};

/* Makes the runs on threads of this process. If runs fail, the error is that of the first in the list; all before it
   have been stored. */
enum hr_status hr__sweep_run_on_threads(const struct hr__sweep_batch *batch, struct hr_error *error);

/* ---- Ranks of an MPI job ---------------------------------------------------------------------------- */

/* This process within its job; rank 0 of 1 without MPI. */
struct hr__sweep_ranks {
  int rank, size;
};

/* Initializes MPI if this process is one of several. Call hr__sweep_ranks_leave in any case. */
enum hr_status hr__sweep_ranks_join(struct hr__sweep_ranks *ranks, struct hr_error *error);

#if HEADROOM_WITH_MPI

void hr__sweep_ranks_leave(struct hr__sweep_ranks *ranks);

/* Called by all ranks, each with its own `status` and `error`. Returns the status of the first rank that failed on all
   of them; rank 0 also gets its message. */
enum hr_status hr__sweep_ranks_agree(const struct hr__sweep_ranks *ranks, enum hr_status status,
                                     struct hr_error *error);
/* HR_BAD_INPUT on ranks with another number than rank 0. */
enum hr_status hr__sweep_ranks_same(const struct hr__sweep_ranks *ranks, uint64_t number, struct hr_error *error);

/* Called by all ranks. Rank 0 distributes the runs of its batch, as many at a time as a rank has threads, or makes them
   itself if it is the only one. The others make runs until rank 0 ends; only `sweep` and `n_threads` of their batch are
   used. */
enum hr_status hr__sweep_ranks_run(const struct hr__sweep_ranks *ranks, const struct hr__sweep_batch *batch,
                                   struct hr_error *error);

#else /* the same for one rank */

static inline void hr__sweep_ranks_leave(struct hr__sweep_ranks *ranks) {
  *ranks = (struct hr__sweep_ranks){.size = 1};
}

static inline enum hr_status hr__sweep_ranks_agree(const struct hr__sweep_ranks *ranks, enum hr_status status,
                                                   struct hr_error *error) {
  (void)ranks;
  (void)error;
  return status;
}

static inline enum hr_status hr__sweep_ranks_same(const struct hr__sweep_ranks *ranks, uint64_t number,
                                                  struct hr_error *error) {
  (void)ranks;
  (void)number;
  (void)error;
  return HR_OK;
}

static inline enum hr_status hr__sweep_ranks_run(const struct hr__sweep_ranks *ranks,
                                                 const struct hr__sweep_batch *batch, struct hr_error *error) {
  (void)ranks;
  return hr__sweep_run_on_threads(batch, error);
}

#endif

#endif
