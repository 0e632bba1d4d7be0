/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_SWEEP_SWEEP_H
#define HR_PLAN_SWEEP_SWEEP_H

/* Who makes the runs of a sweep: threads of this process, or the ranks of an MPI job, of which the first only deals. */

#include "headroom/unstable/experiments.h"
#include "headroom/unstable/sweep.h"
#include "plan/sweep/design.h"
#include "plan/sweep/sweep_record.h"

struct hr__deal {
  const struct hr__sweep *sweep;
  const uint64_t *runs; /* to be made, in this order */
  size_t n_runs;
  uint32_t n_threads;
  /* What becomes of a run's record; called by one thread at a time, in the order in which runs end. */
  void *self;
  enum hr_status (*keep)(void *self, const struct hr__record *record, struct hr_error *error);
};

/* Of runs that fail, the first by number is told; those before it were kept. */
enum hr_status hr__deal_on_threads(const struct hr__deal *deal, struct hr_error *error);

/* ---- Ranks ------------------------------------------------------------------------------------------ */

/* The job that this process is a rank of; alone, unless it was started as one of several. */
struct hr__ranks {
  int rank, size;
};

/* To be left again whatever comes of it. MPI is begun only where there is a job of several. */
enum hr_status hr__ranks_join(struct hr__ranks *ranks, struct hr_error *error);
void hr__ranks_leave(struct hr__ranks *ranks);
/* Whether this process is its job's first, by what its launcher left in the environment. */
bool hr__ranks_first(void);

/* What the ranks have in common of what they did: the status of the first that failed, whose words the first rank gets;
   of the others only the status is told. All ranks call it, with their own in `status` and `error`. */
enum hr_status hr__ranks_agree(const struct hr__ranks *ranks, enum hr_status status, struct hr_error *error);
/* HR_BAD_INPUT where the ranks' numbers are not all the same. */
enum hr_status hr__ranks_same(const struct hr__ranks *ranks, uint64_t number, struct hr_error *error);

/* By the first rank; the others are in hr__ranks_work until it returns. They get as many runs at a time as they have
   threads. */
enum hr_status hr__deal_on_ranks(const struct hr__ranks *ranks, const struct hr__deal *deal, struct hr_error *error);
enum hr_status hr__ranks_work(const struct hr__ranks *ranks, const struct hr__sweep *sweep, uint32_t n_threads,
                              struct hr_error *error);

/* What a sweep is to make, known before its first run and not changed by any: points, seeds, traces. */

struct hr_trace;

struct hr__sweep_point {
  uint64_t seed;      /* of its scenario */
  uint64_t first_run; /* its replications follow each other */
  uint32_t trace;     /* in the list below */
  bool random;        /* more than one replication is worth while */
};

/* A trace that several points may replay. */
struct hr__sweep_trace {
  char *key; /* all that tells it from others: file, format, columns, leniency */
  char *file;
  struct hr_trace *trace;
};

struct hr__sweep {
  struct hr_grid *grid;
  struct hr__sweep_design design;
  struct hr__sweep_point *points; /* [design.n_points] */
  uint64_t n_runs;
  struct hr__sweep_trace *traces; /* by key */
  size_t n_traces;
  struct hr_notes files; /* that the scenarios name, the scenario itself among them; by name */
  struct hr_notes notes; /* for a person: of the first point's scenario, of traces, of what is not run */
  char *scenario_text;
  char *inputs;         /* a line for each of `files`: name without its folder, and digest */
  uint64_t fingerprint; /* of all that the runs depend on */
};

/* Loads the grid, and each point's scenario once, so that what is wrong with one is told before anything is run; reads
   the traces. `max_runs` 0: the grid's. To be finished whatever comes of it. */
enum hr_status hr__sweep_make(const char *grid, uint64_t max_runs, uint32_t n_threads, struct hr__sweep *sweep,
                              struct hr_error *error);
void hr__sweep_finish(struct hr__sweep *sweep);

/* The point that a run is of. */
size_t hr__sweep_point_of(const struct hr__sweep *sweep, uint64_t run);

/* Overrides of one point; those of `owned` are freed by hr__overrides_finish. */
struct hr__overrides {
  const char **at;
  size_t count, capacity;
  char **owned;
  size_t n_owned;
};
/* `replication` 0 keeps the scenario's seed, others are given theirs. False: out of memory. */
bool hr__overrides_make(const struct hr__sweep *sweep, size_t point, uint32_t replication,
                        struct hr__overrides *overrides);
void hr__overrides_finish(struct hr__overrides *overrides);

/* "nodes=4, policy=sjf". The caller frees it; NULL when out of memory. */
char *hr__sweep_point_words(const struct hr__sweep *sweep, size_t point);

#endif
