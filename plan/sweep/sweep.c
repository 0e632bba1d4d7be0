/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "plan/sweep/sweep.h"

#include "base/threads.h"
#include "headroom/scenario.h"
#include "headroom/unstable/compare.h"
#include "headroom/unstable/experiments.h"
#include "plan/sweep/sweep_store.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sweep_table {
  const struct hr__deal *deal;
  pthread_mutex_t lock;
};

static enum hr_status hr__sweep_run(const struct hr__sweep *sweep, uint64_t run, struct hr__record *record,
                                    struct hr_error *error);

static enum hr_status make(void *self, size_t task, struct hr_error *error) {
  struct sweep_table *table = self;
  const struct hr__deal *deal = table->deal;
  struct hr__record record;
  enum hr_status status = hr__sweep_run(deal->sweep, deal->runs[task], &record, error);
  if (status == HR_OK) {
    pthread_mutex_lock(&table->lock);
    status = deal->keep(deal->self, &record, error);
    pthread_mutex_unlock(&table->lock);
  }
  hr__record_finish(&record);
  return status;
}

enum hr_status hr__deal_on_threads(const struct hr__deal *deal, struct hr_error *error) {
  struct sweep_table table = {.deal = deal};
  struct hr__tasks tasks = {.self = &table, .run = make, .count = deal->n_runs};
  pthread_mutex_init(&table.lock, NULL);
  enum hr_status status = hr__pool_run(&tasks, deal->n_threads, error);
  pthread_mutex_destroy(&table.lock);
  return status;
}

/* A sweep from its grid to its file. In a job of several ranks all know the sweep, and the first has the file. */

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

static uint64_t hr__sweep_jobs_of(const struct hr__sweep *sweep, uint64_t run);

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

/* A point's scenario and its runs. */

/* ---- Overrides -------------------------------------------------------------------------------------- */

static bool add(struct hr__overrides *overrides, const char *text) {
  if (overrides->count == overrides->capacity) {
    size_t capacity = overrides->capacity ? 2 * overrides->capacity : 16;
    const char **grown = realloc(overrides->at, capacity * sizeof(*grown));
    if (!grown) return false;
    overrides->at = grown;
    overrides->capacity = capacity;
  }
  overrides->at[overrides->count++] = text;
  return true;
}

/* "path=value" of its own. */
static bool add_made(struct hr__overrides *overrides, const char *path, const char *value) {
  char **grown = realloc(overrides->owned, (overrides->n_owned + 1) * sizeof *grown);
  if (grown) overrides->owned = grown;
  size_t bytes = strlen(path) + strlen(value) + 2;
  char *text = grown ? malloc(bytes) : NULL;
  if (!text) return false;
  snprintf(text, bytes, "%s=%s", path, value);
  grown[overrides->n_owned++] = text;
  return add(overrides, text);
}

static bool add_axis(struct hr__overrides *overrides, const struct hr_grid_axis *axis, double at) {
  char number[32];
  snprintf(number, sizeof number, "%.12g", at); /* what the design rounded to */
  if (!axis->levels) return add_made(overrides, axis->path, number);
  const struct hr_grid_level *level = &axis->levels[(size_t)at];
  bool whole = true;
  for (size_t i = 0; i < level->n_set && whole; i++) whole = add(overrides, level->set[i]);
  return whole;
}

bool hr__overrides_make(const struct hr__sweep *sweep, size_t point, uint32_t replication,
                        struct hr__overrides *overrides) {
  const struct hr_grid *grid = sweep->grid;
  const double *at = hr__design_point(&sweep->design, point);
  bool whole = true;
  *overrides = (struct hr__overrides){0};
  for (size_t i = 0; i < grid->n_set && whole; i++) whole = add(overrides, grid->set[i]);
  for (uint32_t i = 0; i < grid->n_axes && whole; i++) whole = add_axis(overrides, &grid->axes[i], at[i]);
  if (whole && replication) {
    char seed[32];
    snprintf(seed, sizeof seed, "%" PRIu64, hr_replication_seed(sweep->points[point].seed, replication));
    whole = add_made(overrides, "seed", seed);
  }
  return whole;
}

void hr__overrides_finish(struct hr__overrides *overrides) {
  for (size_t i = 0; i < overrides->n_owned; i++) free(overrides->owned[i]);
  free(overrides->owned);
  free(overrides->at);
  *overrides = (struct hr__overrides){0};
}

/* ---- Where a run belongs ---------------------------------------------------------------------------- */

size_t hr__sweep_point_of(const struct hr__sweep *sweep, uint64_t run) {
  size_t low = 0, high = sweep->design.n_points;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (sweep->points[middle].first_run <= run)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static uint64_t hr__sweep_jobs_of(const struct hr__sweep *sweep, uint64_t run) {
  return sweep->traces[sweep->points[hr__sweep_point_of(sweep, run)].trace].trace->n_jobs;
}

char *hr__sweep_point_words(const struct hr__sweep *sweep, size_t point) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  const double *at = hr__design_point(&sweep->design, point);
  for (uint32_t i = 0; i < sweep->grid->n_axes; i++) {
    const struct hr_grid_axis *axis = &sweep->grid->axes[i];
    fprintf(out, "%s%s=", i ? ", " : "", axis->name);
    if (axis->levels)
      fputs(axis->levels[(size_t)at[i]].text, out);
    else
      fprintf(out, "%.12g", at[i]);
  }
  if (fclose(out) == 0) return text;
  free(text);
  return NULL;
}

/* ---- A run ------------------------------------------------------------------------------------------ */

static enum hr_status run_scenario(const struct hr__sweep *sweep, const struct hr__sweep_point *point,
                                   const struct hr_scenario *scenario, struct hr__record *record,
                                   struct hr_error *error) {
  struct hr__one_run_config config = {.scenario = scenario,
                                      .trace = sweep->traces[point->trace].trace,
                                      .policy = &scenario->policy,
                                      .seed = scenario->seed};
  struct hr__one_run run;
  enum hr_status status = hr__one_run_make(&config, &run, error);
  record->seed = scenario->seed;
  if (status == HR_OK && !hr__record_take(record, &run)) status = hr_fail(error, HR_NO_MEMORY, "out of memory");
  hr__one_run_finish(&run);
  return status;
}

/* Makes a run; the record is to be finished whatever comes of it. Errors name run and point. */
static enum hr_status hr__sweep_run(const struct hr__sweep *sweep, uint64_t run, struct hr__record *record,
                                    struct hr_error *error) {
  size_t place = hr__sweep_point_of(sweep, run);
  const struct hr__sweep_point *point = &sweep->points[place];
  struct hr__overrides overrides;
  struct hr_scenario *scenario = NULL;
  struct hr_error inner = {0};
  *record = (struct hr__record){.run = run};
  enum hr_status status = hr__overrides_make(sweep, place, (uint32_t)(run - point->first_run), &overrides)
                              ? HR_OK
                              : hr_fail(&inner, HR_NO_MEMORY, "out of memory");
  if (status == HR_OK)
    status = hr_scenario_load(sweep->grid->scenario_path, overrides.at, overrides.count, &scenario, &inner);
  if (status == HR_OK) status = run_scenario(sweep, point, scenario, record, &inner);
  hr_scenario_destroy(scenario);
  hr__overrides_finish(&overrides);
  if (status == HR_OK) return HR_OK;
  char *words = hr__sweep_point_words(sweep, place);
  hr_fail(error, status, "run %" PRIu64 ", point %zu (%.300s): %s", run, place, words ? words : "", inner.text);
  free(words);
  return status;
}
