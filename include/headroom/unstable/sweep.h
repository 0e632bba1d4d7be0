/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_SWEEP_H
#define HEADROOM_UNSTABLE_SWEEP_H

/*
 * Sweeps: a scenario under many settings, with the results in a SQLite file.
 *
 * A grid has axes; a point has one level of each axis. The design determines the points: all of them, or a sample. Each
 * point is run once or, if anything in it is random, as often as the grid's replications say, replication r with
 * hr_replication_seed(seed, r) of the point's scenario. Runs are numbered from 0, point by point.
 *
 * The file has any subset of the runs. A sweep makes the missing runs and writes each one when it ends, so a sweep can
 * be interrupted at any time and resumed. When it is complete, the bytes of the file depend only on the grid, on the
 * files that the grid reads and on Headroom's version. docs/researcher/sweep.md has the details.
 */

#include "headroom/base.h"
#include "headroom/sim.h"
#include "headroom/unstable/experiments.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Sweeps ---- */

#define HR_MAX_SHARDS 100000

struct hr_sweep_config {
  const char *grid;            /* path */
  const char *file;            /* path of the SQLite file; created if it does not exist */
  uint64_t max_runs;           /* overrides the grid's limit; 0: the grid's */
  uint32_t shard, n_shards;    /* runs with a number equal to shard - 1 modulo n_shards; both 0: all */
  uint32_t n_threads;          /* of this process, or of each MPI rank except the first */
  struct hr_progress progress; /* jobs of the runs that are made; called from one thread at a time */
};

struct hr_sweep_counts {
  uint64_t points, runs;  /* of the grid */
  uint64_t before, now;   /* runs in the file before, and runs added */
  uint64_t missing;       /* runs that are missing */
  uint64_t first_missing; /* the first of them */
  struct hr_notes notes;  /* free it with hr_notes_finish */
};

/* Makes the shard's runs that the file does not have. All scenarios and traces are read before the first run.
   HR_BAD_INPUT, without changing the file, if it is not a sweep's file or another sweep's. A failing run ends the
   sweep with an error that names it; completed runs are kept. Under mpirun, in a build with MPI, every rank calls
   this once; the first rank distributes runs and writes the file, and only it returns counts and the error text; the
   other ranks return the same status. A build without MPI refuses to run with several ranks. */
HR_API enum hr_status hr_sweep(const struct hr_sweep_config *config, struct hr_sweep_counts *counts,
                               struct hr_error *error);
/* Whether this process reports results: it is not an MPI rank other than the first. */
HR_API bool hr_sweep_leads(void);

/* Copies the runs of several files of one sweep into `file`, which is not one of them and keeps its own runs if it
   exists. HR_BAD_INPUT if they are of different sweeps or disagree on a run. In `counts`, `before` is 0 and `now`
   the number of runs found. */
HR_API enum hr_status hr_sweep_merge(const char *file, const char *const *shards, size_t n_shards,
                                     struct hr_sweep_counts *counts, struct hr_error *error);

/* Prints a summary, and the best and worst points by a few metrics, 80 columns wide. */
HR_API enum hr_status hr_sweep_print(FILE *out, const char *file, const struct hr_sweep_counts *counts, bool colour,
                                     struct hr_error *error);
/* Writes the runs of the file as CSV. `path` "-" is standard output. */
HR_API enum hr_status hr_sweep_write_csv(const char *path, const char *file, struct hr_error *error);
/* The runs of the file for a report (docs/reference/report-data.md): settings and metrics, of a selection of points
   if there are very many. The caller frees the text. */
HR_API enum hr_status hr_sweep_json(const char *file, char **text, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
