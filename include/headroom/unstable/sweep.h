/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_SWEEP_H
#define HEADROOM_UNSTABLE_SWEEP_H

/*
 * A scenario under many settings: a grid says which, each setting is run, and what came of it is a row in a SQLite
 * file.
 *
 * A grid has axes; a point has one level of each. Which points there are is the design's: all of them, or a sample.
 * Each point is run once, or, where anything in it is random, as often as the grid's replications say, replication r
 * under hr_replication_seed(seed, r) of the point's scenario. Runs are numbered from 0, point by point.
 *
 * The file holds any part of the runs. A sweep makes those that are missing and writes each as it ends, so that it may
 * be stopped at any time and begun again. When it has made all that it was to make, the file's bytes depend on nothing
 * but the grid, what the grid reads and Headroom's version. docs/researcher/sweep.md says it at length.
 */

#include "headroom/base.h"
#include "headroom/sim.h"
#include "headroom/unstable/experiments.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Sweeps ----------------------------------------------------------------------------------------- */

#define HR_MAX_SHARDS 100000

struct hr_sweep_config {
  const char *grid;            /* path */
  const char *file;            /* path of the SQLite file, made if it is not there */
  uint64_t max_runs;           /* instead of the grid's; 0: the grid's */
  uint32_t shard, n_shards;    /* runs whose number leaves shard - 1 when divided by n_shards; 0 of 0: all */
  uint32_t n_threads;          /* of this process, or of each rank but the first where MPI runs several */
  struct hr_progress progress; /* jobs of the runs that are made; told by one thread at a time */
};

struct hr_sweep_counts {
  uint64_t points, runs;  /* of the grid */
  uint64_t before, now;   /* runs that the file held before, and that were added */
  uint64_t missing;       /* runs that it has not */
  uint64_t first_missing; /* the first of them */
  struct hr_notes notes;  /* to be freed by hr_notes_finish */
};

/* Makes the runs that are the shard's and that the file lacks. All scenarios are loaded and all traces read before the
   first run. A file that is no sweep's, or another sweep's, is HR_BAD_INPUT and stays as it is. A run that fails ends
   the sweep with an error that names it; those before it are kept.

   Under mpirun, in a Headroom built with MPI, every rank of the job calls this once; the first deals runs out to the
   others and writes the file, and it alone returns counts and errors. What it returns holds for all: the others return
   the same status, with no text. Where Headroom is built without MPI, a job of several ranks is refused. */
HR_API enum hr_status hr_sweep(const struct hr_sweep_config *config, struct hr_sweep_counts *counts,
                               struct hr_error *error);
/* Whether this process is the one that has something to say: it is not a later rank of an MPI job. */
HR_API bool hr_sweep_leads(void);

/* Puts the runs of several files of the same sweep into one, which is none of them, and which keeps the runs that it
   has if it is there. HR_BAD_INPUT where they are of different sweeps, or disagree on a run. `before` is 0, `now` what
   was found. */
HR_API enum hr_status hr_sweep_merge(const char *file, const char *const *shards, size_t n_shards,
                                     struct hr_sweep_counts *counts, struct hr_error *error);

/* The table for a person, 80 columns wide: what was done, and the best and the worst points by a few figures. */
HR_API enum hr_status hr_sweep_print(FILE *out, const char *file, const struct hr_sweep_counts *counts, bool colour,
                                     struct hr_error *error);
/* The file's runs as CSV. `path` "-" is standard output. */
HR_API enum hr_status hr_sweep_write_csv(const char *path, const char *file, struct hr_error *error);
/* The file's runs for a page (docs/reference/report-data.md): their settings and figures, or, of very many, some of
   their points. The caller frees the text. */
HR_API enum hr_status hr_sweep_json(const char *file, char **text, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
