/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_SWEEP_H
#define HEADROOM_UNSTABLE_SWEEP_H

/*
 * Sweeps: runs of a scenario with many settings. The results are stored in a SQLite file.
 *
 * A grid has axes. A point has one level of each axis. The design determines the points: all combinations, or a sample.
 * Each point is run once. If the point is random, it is run as often as the grid's number of replications; replication
 * r has the seed hr_replication_seed(seed, r) with the seed of the point's scenario. Runs are numbered from 0, point by
 * point.
 *
 * The file contains any subset of the runs. A sweep executes the missing runs and stores each run when it ends.
 * Therefore a sweep can be interrupted at any time and resumed. When all runs are stored, the bytes of the file depend
 * only on the grid, on the files that the grid reads, and on the version of Headroom. docs/researcher/sweep.md has the
 * details.
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

/* The input. Everything is borrowed. */
struct hr_sweep_config {
  const char *grid;         /* path of the grid file */
  const char *file;         /* path of the SQLite file, which is created if it does not exist */
  uint64_t max_runs;        /* replaces the limit of the grid; 0: the limit of the grid */
  uint32_t shard, n_shards; /* execute runs with number modulo n_shards = shard - 1; both 0: all runs */
  /* number of threads of this process; with MPI, of each rank except the first */
  uint32_t n_threads;
  struct hr_progress progress; /* counts jobs of the executed runs; called from one thread at a time */
};

/* The numbers of runs of a sweep. */
struct hr_sweep_counts {
  uint64_t points, runs;  /* of the whole grid */
  uint64_t before, now;   /* before: runs that the file had before; now: runs that were added */
  uint64_t missing;       /* runs that the file does not have */
  uint64_t first_missing; /* number of the first missing run */
  struct hr_notes notes;  /* notes for the user; free them with hr_notes_finish */
};

/*
 * Executes the runs of the shard that the file does not have. All scenarios and traces are read before the first run.
 * If a run fails, the sweep fails and `error` names the run; completed runs stay in the file. Returns HR_BAD_INPUT,
 * without changing the file, if the file is not a sweep file or is of another sweep.
 *
 * In a build with MPI under mpirun, each rank calls this function once. The first rank distributes the runs and writes
 * the file. All ranks return the same status, but only the first rank sets `*counts` and `error`. A build without MPI
 * refuses to run with several ranks.
 */
HR_API enum hr_status hr_sweep(const struct hr_sweep_config *config, struct hr_sweep_counts *counts,
                               struct hr_error *error);
/* Whether this process reports results: it is the first MPI rank, or MPI is not used. */
HR_API bool hr_sweep_leads(void);

/* Copies the runs of several files of one sweep into `file`, which must not be among `shards`. If `file` exists, it
   keeps its runs. Sets `before` of `*counts` to 0 and `now` to the number of runs found. Returns HR_BAD_INPUT if the
   files are of different sweeps or have different results for a run. */
HR_API enum hr_status hr_sweep_merge(const char *file, const char *const *shards, size_t n_shards,
                                     struct hr_sweep_counts *counts, struct hr_error *error);

/* Prints a summary of the sweep, and the best and the worst points by a few metrics, 80 columns wide. */
HR_API enum hr_status hr_sweep_print(FILE *out, const char *file, const struct hr_sweep_counts *counts, bool colour,
                                     struct hr_error *error);
/* Writes the runs of the file as CSV. `path` "-" is standard output. */
HR_API enum hr_status hr_sweep_write_csv(const char *path, const char *file, struct hr_error *error);
/* Sets `*text` to the runs of the file as JSON for an HTML report (docs/reference/report-data.md): settings and
   metrics. If there are very many points, only a selection is included. The caller frees `*text` with free(). */
HR_API enum hr_status hr_sweep_json(const char *file, char **text, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
