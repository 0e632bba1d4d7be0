/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sweep from its grid to its file. In a job of several ranks all know the sweep, and the first has the file. */

#include "plan/sweep_deal.h"
#include "plan/sweep_store.h"

#include <inttypes.h>
#include <stdlib.h>

bool hr_sweep_leads(void) {
  return hr__ranks_first();
}

/* ---- Runs into the file ----------------------------------------------------------------------------- */

struct keeper {
  const struct hr__sweep *sweep;
  struct hr__store store;
  const struct hr_progress *progress;
  uint64_t jobs_done, jobs;
  uint64_t kept;
};

static enum hr_status keep(void *self, const struct hr__record *record, struct hr_error *error) {
  struct keeper *keeper = self;
  enum hr_status status = hr__store_add(&keeper->store, record, error);
  if (status != HR_OK) return status;
  keeper->kept++;
  keeper->jobs_done += hr__sweep_jobs_of(keeper->sweep, record->run);
  if (keeper->progress->report) keeper->progress->report(keeper->progress->self, keeper->jobs_done, keeper->jobs, 0);
  return HR_OK;
}

static bool is_of_shard(const struct hr_sweep_config *config, uint64_t run) {
  return config->n_shards == 0 || run % config->n_shards == config->shard - 1;
}

/* The shard's runs that are not there yet. */
static void find_runs(const struct hr_sweep_config *config, struct keeper *keeper, const bool *has, uint64_t *runs,
                      size_t *count) {
  *count = 0;
  for (uint64_t run = 0; run < keeper->sweep->n_runs; run++) {
    if (has[run] || !is_of_shard(config, run)) continue;
    runs[(*count)++] = run;
    keeper->jobs += hr__sweep_jobs_of(keeper->sweep, run);
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

/* Which runs the file has and which are to be made; the others wait for this before they ask for work. */
static enum hr_status open_file(const struct hr_sweep_config *config, struct keeper *keeper, bool *has, uint64_t *runs,
                                size_t *count, struct hr_error *error) {
  enum hr_status status = hr__store_open(&keeper->store, config->file, keeper->sweep, error);
  if (status == HR_OK) status = hr__store_runs(&keeper->store, has, error);
  if (status == HR_OK) find_runs(config, keeper, has, runs, count);
  return status;
}

static enum hr_status fill_file(const struct hr__ranks *ranks, const struct hr_sweep_config *config,
                                struct keeper *keeper, struct hr_sweep_counts *counts, struct hr_error *error) {
  const struct hr__sweep *sweep = keeper->sweep;
  bool *has = calloc(sweep->n_runs + 1, sizeof *has);
  uint64_t *runs = calloc(sweep->n_runs + 1, sizeof *runs);
  bool roomy = has && runs;
  struct hr__deal deal = {.sweep = sweep, .runs = runs, .n_threads = config->n_threads, .self = keeper, .keep = keep};
  enum hr_status status = roomy ? open_file(config, keeper, has, runs, &deal.n_runs, error)
                                : hr_fail(error, HR_NO_MEMORY, "out of memory for %" PRIu64 " runs", sweep->n_runs);
  status = hr__ranks_agree(ranks, status, error);
  if (status == HR_OK)
    status = ranks->size > 1 ? hr__deal_on_ranks(ranks, &deal, error) : hr__deal_on_threads(&deal, error);
  if (status == HR_OK) status = hr__store_seal(&keeper->store, error);
  if (status == HR_OK && roomy) count_missing(sweep, has, runs, deal.n_runs, counts);
  hr__store_close(&keeper->store);
  free(has);
  free(runs);
  counts->now = keeper->kept;
  return status;
}

/* ---- The whole -------------------------------------------------------------------------------------- */

static enum hr_status check_config(const struct hr_sweep_config *config, struct hr_error *error) {
  if (config->n_threads == 0) return hr_fail(error, HR_BAD_INPUT, "a sweep wants at least one thread");
  if (config->n_shards && (config->shard == 0 || config->shard > config->n_shards))
    return hr_fail(error, HR_BAD_INPUT, "there is no shard %" PRIu32 " of %" PRIu32 "; they are counted from 1",
                   config->shard, config->n_shards);
  return HR_OK;
}

static enum hr_status take_notes(const struct hr__sweep *sweep, struct hr_sweep_counts *counts,
                                 struct hr_error *error) {
  counts->points = sweep->design.n_points;
  counts->runs = sweep->n_runs;
  for (size_t i = 0; i < sweep->notes.count; i++)
    if (hr_notes_add(&counts->notes, "%s", sweep->notes.text[i]) != HR_OK)
      return hr_fail(error, HR_NO_MEMORY, "out of memory");
  return HR_OK;
}

/* Of ranks beyond the first. What each failed at is settled before runs are dealt, so that none waits for another that
   is gone. */
static enum hr_status work(const struct hr__ranks *ranks, const struct hr_sweep_config *config,
                           const struct hr__sweep *sweep, struct hr_error *error) {
  enum hr_status status = hr__ranks_agree(ranks, HR_OK, error);
  return status == HR_OK ? hr__ranks_work(ranks, sweep, config->n_threads, error) : status;
}

static enum hr_status sweep_on(const struct hr__ranks *ranks, const struct hr_sweep_config *config,
                               struct hr_sweep_counts *counts, struct hr_error *error) {
  struct hr__sweep sweep = {0};
  enum hr_status status = check_config(config, error);
  if (status == HR_OK) status = hr__sweep_make(config->grid, config->max_runs, config->n_threads, &sweep, error);
  if (status == HR_OK) status = take_notes(&sweep, counts, error);
  status = hr__ranks_agree(ranks, status, error);
  if (status == HR_OK) status = hr__ranks_agree(ranks, hr__ranks_same(ranks, sweep.fingerprint, error), error);
  if (status == HR_OK) {
    struct keeper keeper = {.sweep = &sweep, .progress = &config->progress};
    status = ranks->rank == 0 ? fill_file(ranks, config, &keeper, counts, error) : work(ranks, config, &sweep, error);
    status = hr__ranks_agree(ranks, status, error);
  }
  hr__sweep_finish(&sweep);
  return status;
}

enum hr_status hr_sweep(const struct hr_sweep_config *config, struct hr_sweep_counts *counts, struct hr_error *error) {
  struct hr__ranks ranks;
  struct hr_error inner = {0};
  *counts = (struct hr_sweep_counts){0};
  enum hr_status status = hr__ranks_join(&ranks, &inner);
  if (status == HR_OK) status = sweep_on(&ranks, config, counts, &inner);
  hr__ranks_leave(&ranks);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "%s", inner.text);
}
