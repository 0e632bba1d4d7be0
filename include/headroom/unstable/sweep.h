/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_SWEEP_H
#define HEADROOM_UNSTABLE_SWEEP_H

/*
 * Sweeps: runs of a scenario with many settings. The results are stored in a SQLite file.
 *
 * A grid has axes. A point has one level of each axis. The design determines the points: all combinations, or a sample.
 * A point without randomness is run once. A random point has `replications` runs, as many as the grid specifies.
 * Replication r has the seed hr_replication_seed(seed, r), where `seed` is the seed of the point's scenario. Runs are
 * numbered from 0: first all runs of the first point, then all runs of the second point, and so on.
 *
 * At any time, the file contains the runs that have been stored so far. A sweep executes the missing runs and stores
 * each run when it ends. Therefore a sweep can be interrupted at any time and resumed. When all runs are stored, the
 * bytes of the file depend only on the grid, on the files that the grid reads, and on the version of Headroom.
 * docs/researcher/sweep.md has the details.
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
  uint32_t shard, n_shards; /* execute the runs i with i modulo n_shards = shard - 1; both 0: all runs */
  /* number of threads of this process; with MPI, of each rank except the first */
  uint32_t n_threads;
  struct hr_progress progress; /* counts the executed runs; called from one thread at a time */
};

/* The numbers of runs of a sweep. */
struct hr_sweep_counts {
  uint64_t points, runs;  /* of the whole grid */
  uint64_t before, now;   /* before: number of runs that the file already had; now: number of runs that were added */
  uint64_t missing;       /* number of runs that the file still does not have */
  uint64_t first_missing; /* index of the first missing run */
  struct hr_notes notes;  /* notes for the user; free them with hr_notes_finish */
};

/*
 * Executes the runs of the shard that the file does not have. All scenarios and traces are read before the first run.
 * If a run fails, the sweep fails and `error` names the run; completed runs stay in the file. If the file is not a
 * sweep file, or is the file of a different sweep, returns HR_BAD_INPUT and does not change the file.
 *
 * In a build with MPI under mpirun, each rank calls this function once. The first rank distributes the runs and writes
 * the file. All ranks return the same status, but only the first rank sets `*counts` and `error`. A build without MPI
 * refuses to run with several ranks.
 */
HR_API enum hr_status hr_sweep(const struct hr_sweep_config *config, struct hr_sweep_counts *counts,
                               struct hr_error *error);
/* Whether this process should print results. True for the first MPI rank, and if MPI is not used. */
HR_API bool hr_sweep_leads(void);

/* Copies the runs of the files `shards`, which must be of one sweep, into `file`, which must not be among them. If
   `file` already has runs, they stay in the file. Sets `before` of `*counts` to 0 and `now` to the number of runs
   found. Returns HR_BAD_INPUT if the files are of different sweeps or have different results for a run. */
HR_API enum hr_status hr_sweep_merge(const char *file, const char *const *shards, size_t n_shards,
                                     struct hr_sweep_counts *counts, struct hr_error *error);

/* Prints a summary of the sweep, 80 columns wide. For a few metrics, it also prints the best and the worst points. */
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
