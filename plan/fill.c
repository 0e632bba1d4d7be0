/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The runs of a fill: every rule under every seed, each run a task of a pool of threads, which leaves its rows at a
   place of its own. */

#include "plan/filling.h"
#include "plan/pool.h"
#include "plan/statistics.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct work {
  struct hr_fill *fill;
  pthread_mutex_t lock;
  size_t done, total;
};

static double clock_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static struct hr_fill_row *rows_of(const struct hr_fill *fill, uint32_t rule, uint32_t seed_index) {
  return fill->rows + ((size_t)rule * fill->config.n_seeds + seed_index) * fill->input.last;
}

static void tell(struct work *work, uint32_t rule, double seconds) {
  const struct hr_progress *to = &work->fill->config.progress;
  uint64_t jobs = work->fill->config.trace->n_jobs;
  pthread_mutex_lock(&work->lock);
  work->fill->seconds[rule] += seconds;
  work->done++;
  if (to->report) to->report(to->self, work->done * jobs, work->total * jobs, 0);
  pthread_mutex_unlock(&work->lock);
}

/* Rule by rule within a seed. */
static enum hr_status run_one(void *self, size_t task, struct hr_error *error) {
  struct work *work = self;
  struct hr_fill *fill = work->fill;
  uint32_t rule = (uint32_t)(task % fill->config.n_rules), index = (uint32_t)(task / fill->config.n_rules);
  double begin_s = clock_s();
  enum hr_status status =
      hr__fill_run(&fill->input, fill->config.rules[rule], hr_fill_seed(fill, index), rows_of(fill, rule, index));
  tell(work, rule, clock_s() - begin_s);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory");
}

static enum hr_status run_all(struct hr_fill *fill, struct hr_error *error) {
  size_t count = (size_t)fill->config.n_rules * fill->config.n_seeds;
  struct work work = {.fill = fill, .total = count};
  struct hr__tasks tasks = {.self = &work, .run = run_one, .count = count};
  fill->rows = calloc(count * fill->input.last, sizeof *fill->rows);
  fill->seconds = calloc(fill->config.n_rules, sizeof *fill->seconds);
  if (!fill->rows || !fill->seconds) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  pthread_mutex_init(&work.lock, NULL);
  enum hr_status status = hr__pool_run(&tasks, fill->config.n_threads, error);
  pthread_mutex_destroy(&work.lock);
  return status;
}

static enum hr_status check(const struct hr_fill_config *config, struct hr_error *error) {
  if (config->n_rules == 0 || config->n_seeds == 0 || config->n_seeds > HR_MAX_FILL_SEEDS || config->n_threads == 0)
    return hr_fail(error, HR_BAD_INPUT, "to fill wants at least one rule, one seed and one thread");
  if (!(config->to >= 0.01 && config->to <= HR_MAX_FILL_TO))
    return hr_fail(error, HR_BAD_INPUT, "to fill up to %g times the cluster: 0.01 to %g are wanted", config->to,
                   HR_MAX_FILL_TO);
  return HR_OK;
}

enum hr_status hr_fill(const struct hr_fill_config *config, struct hr_fill **fill, struct hr_error *error) {
  *fill = NULL;
  enum hr_status status = check(config, error);
  if (status != HR_OK) return status;
  struct hr_fill *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  fresh->config = *config;
  status = hr__fill_input_make(&fresh->input, config, error);
  if (status == HR_OK) status = run_all(fresh, error);
  if (status == HR_OK)
    *fill = fresh;
  else
    hr_fill_destroy(fresh);
  return status;
}

void hr_fill_destroy(struct hr_fill *fill) {
  if (!fill) return;
  hr__fill_input_finish(&fill->input);
  free(fill->rows);
  free(fill->seconds);
  free(fill);
}

/* ---- What came of it -------------------------------------------------------------------------------- */

uint32_t hr_fill_last(const struct hr_fill *fill) {
  return fill->input.last;
}

uint64_t hr_fill_seed(const struct hr_fill *fill, uint32_t index) {
  return fill->config.scenario->seed + index;
}

struct hr_fill_row hr_fill_at(const struct hr_fill *fill, uint32_t rule, uint32_t seed_index, uint32_t pct) {
  return rows_of(fill, rule, seed_index)[pct - 1];
}

struct hr_fill_mean hr_fill_mean_at(const struct hr_fill *fill, uint32_t rule, uint32_t pct) {
  double alloc[HR_MAX_FILL_SEEDS], frag[HR_MAX_FILL_SEEDS], failed[HR_MAX_FILL_SEEDS];
  uint32_t count = fill->config.n_seeds;
  for (uint32_t i = 0; i < count; i++) {
    struct hr_fill_row row = hr_fill_at(fill, rule, i, pct);
    alloc[i] = row.alloc_pct;
    frag[i] = row.frag_pct;
    failed[i] = (double)row.failed;
  }
  struct hr__mean a = hr__mean_of(alloc, count), f = hr__mean_of(frag, count), n = hr__mean_of(failed, count);
  return (struct hr_fill_mean){a.value, a.margin, f.value, f.margin, n.value, n.margin};
}
