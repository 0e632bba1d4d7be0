/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes the missing runs of a sweep and stores them in its file. In an MPI job all ranks load the sweep, and rank 0
 * owns the file.
 */

#include "plan/sweep/sweep.h"

#include "plan/sweep/sweep_store.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- Storing runs ----------------------------------------------------------------------------------- */

struct sweep_writer {
  const struct hr__sweep *sweep;
  struct hr__store store;
  const struct hr_progress *progress;
  uint64_t jobs_done, jobs; /* of the runs to make */
  uint64_t stored;
};

static uint64_t jobs_of(const struct hr__sweep *sweep, uint64_t run) {
  return sweep->traces[sweep->points[hr__sweep_point_of(sweep, run)].trace].trace->n_jobs;
}

static enum hr_status store_record(void *self, const struct hr__sweep_record *record, struct hr_error *error) {
  struct sweep_writer *writer = self;
  enum hr_status status = hr__store_add(&writer->store, record, error);
  if (status != HR_OK) return status;
  writer->stored++;
  writer->jobs_done += jobs_of(writer->sweep, record->run);
  if (writer->progress->report) writer->progress->report(writer->progress->self, writer->jobs_done, writer->jobs, 0);
  return HR_OK;
}

static bool is_of_shard(const struct hr_sweep_config *config, uint64_t run) {
  return config->n_shards == 0 || run % config->n_shards == config->shard - 1;
}

/* The runs of the shard that the file lacks. */
static void find_runs(const struct hr_sweep_config *config, struct sweep_writer *writer, const bool *has,
                      uint64_t *runs, size_t *count) {
  *count = 0;
  for (uint64_t run = 0; run < writer->sweep->n_runs; run++) {
    if (has[run] || !is_of_shard(config, run)) continue;
    runs[(*count)++] = run;
    writer->jobs += jobs_of(writer->sweep, run);
  }
}

static void count_missing(const struct hr__sweep *sweep, const bool *has, const uint64_t *runs, size_t n_runs,
                          struct hr_sweep_counts *counts) {
  size_t next = 0;
  for (uint64_t run = 0; run < sweep->n_runs; run++) {
    bool made = next < n_runs && runs[next] == run;
    next += made;
    counts->before += has[run];
    if (has[run] || made) continue;
    if (counts->missing++ == 0) counts->first_missing = run;
  }
}

/* Finds the runs in the file and those to make. Other ranks wait for this before they ask for work. */
static enum hr_status open_file(const struct hr_sweep_config *config, struct sweep_writer *writer, bool *has,
                                uint64_t *runs, size_t *count, struct hr_error *error) {
  enum hr_status status = hr__store_open(&writer->store, config->file, writer->sweep, has, error);
  if (status == HR_OK) find_runs(config, writer, has, runs, count);
  return status;
}

static enum hr_status fill_file(const struct hr__sweep_ranks *ranks, const struct hr_sweep_config *config,
                                struct sweep_writer *writer, struct hr_sweep_counts *counts, struct hr_error *error) {
  const struct hr__sweep *sweep = writer->sweep;
  bool *has = calloc(sweep->n_runs + 1, sizeof *has);
  uint64_t *runs = calloc(sweep->n_runs + 1, sizeof *runs);
  bool allocated = has && runs;
  struct hr__sweep_batch batch = {
      .sweep = sweep, .runs = runs, .n_threads = config->n_threads, .self = writer, .store = store_record};
  enum hr_status status = allocated ? open_file(config, writer, has, runs, &batch.n_runs, error)
                                    : hr_fail(error, HR_NO_MEMORY, "out of memory for %" PRIu64 " runs", sweep->n_runs);
  status = hr__sweep_ranks_agree(ranks, status, error);
  if (status == HR_OK) status = hr__sweep_ranks_run(ranks, &batch, error);
  if (status == HR_OK) status = hr__store_seal(&writer->store, error);
  if (status == HR_OK && allocated) count_missing(sweep, has, runs, batch.n_runs, counts);
  hr__store_close(&writer->store);
  free(has);
  free(runs);
  counts->now = writer->stored;
  return status;
}

/* ---- Sweep ------------------------------------------------------------------------------------------ */

static enum hr_status check_config(const struct hr_sweep_config *config, struct hr_error *error) {
  if (config->n_threads == 0) return hr_fail(error, HR_BAD_INPUT, "a sweep needs at least one thread");
  if (config->n_shards && (config->shard == 0 || config->shard > config->n_shards))
    return hr_fail(error, HR_BAD_INPUT, "there is no shard %" PRIu32 " of %" PRIu32 "; shards are numbered from 1",
                   config->shard, config->n_shards);
  return HR_OK;
}

static enum hr_status copy_notes(const struct hr__sweep *sweep, struct hr_sweep_counts *counts,
                                 struct hr_error *error) {
  counts->points = sweep->design.n_points;
  counts->runs = sweep->n_runs;
  for (size_t i = 0; i < sweep->notes.count; i++)
    if (hr_notes_add(&counts->notes, "%s", sweep->notes.text[i]) != HR_OK)
      return hr_fail(error, HR_NO_MEMORY, "out of memory");
  return HR_OK;
}

/* Ranks beyond the first. All ranks agree that rank 0 has opened the file, so that none waits for a failed one. */
static enum hr_status work(const struct hr__sweep_ranks *ranks, const struct hr_sweep_config *config,
                           const struct hr__sweep *sweep, struct hr_error *error) {
  enum hr_status status = hr__sweep_ranks_agree(ranks, HR_OK, error);
  const struct hr__sweep_batch batch = {.sweep = sweep, .n_threads = config->n_threads};
  return status == HR_OK ? hr__sweep_ranks_run(ranks, &batch, error) : status;
}

static enum hr_status sweep_on_ranks(const struct hr__sweep_ranks *ranks, const struct hr_sweep_config *config,
                                     struct hr_sweep_counts *counts, struct hr_error *error) {
  struct hr__sweep sweep = {0};
  enum hr_status status = check_config(config, error);
  if (status == HR_OK) status = hr__sweep_make(config->grid, config->max_runs, config->n_threads, &sweep, error);
  if (status == HR_OK) status = copy_notes(&sweep, counts, error);
  status = hr__sweep_ranks_agree(ranks, status, error);
  if (status == HR_OK)
    status = hr__sweep_ranks_agree(ranks, hr__sweep_ranks_same(ranks, sweep.fingerprint, error), error);
  if (status == HR_OK) {
    struct sweep_writer writer = {.sweep = &sweep, .progress = &config->progress};
    status = ranks->rank == 0 ? fill_file(ranks, config, &writer, counts, error) : work(ranks, config, &sweep, error);
    status = hr__sweep_ranks_agree(ranks, status, error);
  }
  hr__sweep_finish(&sweep);
  return status;
}

enum hr_status hr_sweep(const struct hr_sweep_config *config, struct hr_sweep_counts *counts, struct hr_error *error) {
  struct hr__sweep_ranks ranks;
  struct hr_error inner = {0};
  *counts = (struct hr_sweep_counts){0};
  enum hr_status status = hr__sweep_ranks_join(&ranks, &inner);
  if (status == HR_OK) status = sweep_on_ranks(&ranks, config, counts, &inner);
  hr__sweep_ranks_leave(&ranks);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "%s", inner.text);
}
