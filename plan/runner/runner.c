/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mixes and worlds are arrays that grow; each mix has a cell for every replication that was asked for, each world the
 * workloads that were drawn. What is parsed or drawn is so before threads begin; a run leaves its figures in a cell of
 * its own.
 */

#include "plan/runner/runner.h"

#include "base/threads.h"
#include "headroom/unstable/compare.h"
#include "plan/runner/progress_reporter.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WEEK_US (INT64_C(7) * 86400 * HR_SECOND_US)

/* A run. */
struct cell {
  double *figures; /* NULL: not asked for yet */
  bool made;
  struct hr_scenario *scenario; /* of this replication, where prices are drawn; NULL: the mix' own */
};

struct mix {
  const char **overrides; /* the config's, then copies of its own */
  size_t n_overrides, n_own;
  uint32_t world;
  struct hr_scenario *scenario;
  bool random;
  struct cell *cells;
  uint32_t n_cells;
};

struct world {
  struct hr__environment spec;
  bool redrawn;
  struct hr_workload_cut cut;  /* where it is redrawn */
  struct hr_trace **workloads; /* by replication, NULL where not drawn yet */
  uint32_t n_workloads;
};

struct hr__runner {
  struct hr__runner_config config;
  struct hr__figure *figures;
  struct mix *mixes;
  struct world *worlds;
  uint32_t n_mixes, n_worlds;
  uint64_t n_runs;
  struct hr__progress_sum progress;
};

/* ---- Making and unmaking ---------------------------------------------------------------------------- */

struct hr__runner *hr__runner_create(const struct hr__runner_config *config) {
  struct hr__runner *lab = calloc(1, sizeof *lab);
  struct hr__figure *figures = calloc(config->n_figures + 1, sizeof *figures);
  if (!lab || !figures) {
    free(lab);
    free(figures);
    return NULL;
  }
  memcpy(figures, config->figures, config->n_figures * sizeof *figures);
  lab->config = *config;
  lab->config.figures = lab->figures = figures;
  hr__progress_sum_init(&lab->progress, &config->progress, 0);
  return lab;
}

static void mix_finish(struct mix *mix) {
  for (uint32_t i = 0; i < mix->n_cells; i++) {
    free(mix->cells[i].figures);
    hr_scenario_destroy(mix->cells[i].scenario);
  }
  free(mix->cells);
  hr_scenario_destroy(mix->scenario);
  for (size_t i = 0; mix->overrides && i < mix->n_own; i++)
    free((char *)(uintptr_t)mix->overrides[mix->n_overrides - 1 - i]);
  free(mix->overrides);
}

void hr__runner_destroy(struct hr__runner *lab) {
  if (!lab) return;
  for (uint32_t i = 0; i < lab->n_mixes; i++) mix_finish(&lab->mixes[i]);
  for (uint32_t i = 0; i < lab->n_worlds; i++) {
    for (uint32_t k = 0; k < lab->worlds[i].n_workloads; k++) hr_trace_destroy(lab->worlds[i].workloads[k]);
    free(lab->worlds[i].workloads);
  }
  free(lab->mixes);
  free(lab->worlds);
  free(lab->figures);
  hr__progress_sum_finish(&lab->progress);
  free(lab);
}

static enum hr_status no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory for the runs");
}

/* ---- Worlds and mixes ------------------------------------------------------------------------------- */

/* The weeks of a forecast, filled from weeks of the trace. */
static void foresee(struct hr__environment *world) {
  world->workload.blocks = HR_BLOCKS_WEEKS;
  world->workload.length_us = hr_forecast_span(world->forecast).weeks * WEEK_US;
  world->workload.series = hr_forecast_series(world->forecast, &world->workload.n_series);
}

enum hr_status hr__runner_add_environment(struct hr__runner *lab, const struct hr__environment *world, uint32_t *number,
                                          struct hr_error *error) {
  struct world *grown = realloc(lab->worlds, (lab->n_worlds + 1) * sizeof *grown);
  if (!grown) return no_memory(error);
  lab->worlds = grown;
  bool redrawn = world->workload.blocks != HR_BLOCKS_NONE || world->workload.growth != 1;
  struct world *fresh = &grown[lab->n_worlds];
  *fresh = (struct world){.spec = *world, .redrawn = redrawn || world->forecast};
  if (world->forecast) foresee(&fresh->spec);
  enum hr_status status =
      fresh->redrawn ? hr_trace_cut(lab->config.trace, &fresh->spec.workload, &fresh->cut, error) : HR_OK;
  if (status != HR_OK) return status;
  *number = lab->n_worlds++;
  return HR_OK;
}

/* The scenario of a mix under a seed, in its world. */
static enum hr_status load(const struct hr__runner *lab, const struct mix *mix, const uint64_t *seed,
                           struct hr_scenario **scenario, struct hr_error *error) {
  const char **overrides = calloc(mix->n_overrides + 1, sizeof *overrides);
  char text[32];
  size_t count = mix->n_overrides;
  if (!overrides) return no_memory(error);
  memcpy(overrides, mix->overrides, count * sizeof *overrides);
  if (seed) {
    snprintf(text, sizeof text, "seed=%" PRIu64, *seed);
    overrides[count++] = text;
  }
  enum hr_status status = hr_scenario_load(lab->config.scenario->path, overrides, count, scenario, error);
  free(overrides);
  return status == HR_OK ? hr_scenario_stress(*scenario, &lab->worlds[mix->world].spec.stress, error) : status;
}

static bool copy_overrides(const struct hr__runner *lab, const char *const *own, size_t n_own, struct mix *mix) {
  const struct hr__runner_config *config = &lab->config;
  mix->overrides = calloc(config->n_overrides + n_own + 1, sizeof *mix->overrides);
  if (!mix->overrides) return false;
  for (size_t i = 0; i < config->n_overrides; i++) mix->overrides[mix->n_overrides++] = config->overrides[i];
  for (size_t i = 0; i < n_own; i++) {
    const char *copy = strdup(own[i]);
    if (!copy) return false;
    mix->overrides[mix->n_overrides++] = copy;
    mix->n_own++;
  }
  return true;
}

enum hr_status hr__runner_add_candidate(struct hr__runner *lab, const char *const *overrides, size_t n_overrides,
                                        uint32_t world, uint32_t *number, struct hr_error *error) {
  struct mix mix = {.world = world};
  struct mix *grown = realloc(lab->mixes, (lab->n_mixes + 1) * sizeof *grown);
  if (!grown) return no_memory(error);
  lab->mixes = grown;
  enum hr_status status = copy_overrides(lab, overrides, n_overrides, &mix) ? HR_OK : no_memory(error);
  if (status == HR_OK) status = load(lab, &mix, NULL, &mix.scenario, error);
  if (status != HR_OK) {
    mix_finish(&mix);
    return status;
  }
  mix.random = lab->worlds[world].redrawn || hr_scenario_is_random(mix.scenario) ||
               hr_policy_choice_draws(&mix.scenario->policy) || mix.scenario->policy.library;
  lab->mixes[lab->n_mixes] = mix;
  *number = lab->n_mixes++;
  return HR_OK;
}

const struct hr_scenario *hr__runner_scenario(const struct hr__runner *lab, uint32_t mix) {
  return lab->mixes[mix].scenario;
}

bool hr__runner_is_random(const struct hr__runner *lab, uint32_t mix) {
  return lab->mixes[mix].random;
}

/* ---- What a run needs ------------------------------------------------------------------------------- */

static uint32_t replication_of(const struct mix *mix, uint32_t replication) {
  return mix->random ? replication : 0;
}

static enum hr_status make_cell(const struct hr__runner *lab, struct mix *mix, uint32_t replication, struct cell **cell,
                                struct hr_error *error) {
  if (replication >= mix->n_cells) {
    uint32_t count = replication < 8 ? 8 : 2 * replication;
    struct cell *grown = realloc(mix->cells, count * sizeof *grown);
    if (!grown) return no_memory(error);
    for (uint32_t i = mix->n_cells; i < count; i++) grown[i] = (struct cell){0};
    mix->cells = grown;
    mix->n_cells = count;
  }
  *cell = &mix->cells[replication];
  if (!(*cell)->figures) (*cell)->figures = malloc((lab->config.n_figures + 1) * sizeof *(*cell)->figures);
  return (*cell)->figures ? HR_OK : no_memory(error);
}

static enum hr_status redraw(const struct hr__runner *lab, const struct world *world, uint64_t seed,
                             struct hr_trace **drawn, struct hr_error *error) {
  struct hr_workload_spec spec = world->spec.workload;
  if (!world->spec.forecast) return hr_trace_redraw(lab->config.trace, &spec, seed, drawn, error);
  uint32_t n = world->cut.n_positions < HR_MAX_FORECAST_WEEKS ? world->cut.n_positions : HR_MAX_FORECAST_WEEKS;
  double *factors = malloc(((size_t)spec.n_series * n + 1) * sizeof *factors);
  if (!factors) return no_memory(error);
  enum hr_status status = hr_forecast_factors(world->spec.forecast, seed, false, 0, n, factors, error);
  spec.factors = factors;
  spec.n_positions = n;
  if (status == HR_OK) status = hr_trace_redraw(lab->config.trace, &spec, seed, drawn, error);
  free(factors);
  return status;
}

static enum hr_status draw_workload(struct hr__runner *lab, struct world *world, uint32_t replication, uint64_t seed,
                                    struct hr_error *error) {
  if (!world->redrawn) return HR_OK;
  if (replication >= world->n_workloads) {
    uint32_t count = replication < 8 ? 8 : 2 * replication;
    struct hr_trace **grown = realloc(world->workloads, count * sizeof(*grown));
    if (!grown) return no_memory(error);
    for (uint32_t i = world->n_workloads; i < count; i++) grown[i] = NULL;
    world->workloads = grown;
    world->n_workloads = count;
  }
  if (world->workloads[replication]) return HR_OK;
  return redraw(lab, world, seed, &world->workloads[replication], error);
}

static enum hr_status prepare(struct hr__runner *lab, struct hr__trial trial, struct cell **cell,
                              struct hr_error *error) {
  struct mix *mix = &lab->mixes[trial.mix];
  struct world *world = &lab->worlds[mix->world];
  uint64_t seed = hr_replication_seed(lab->config.scenario->seed, trial.replication);
  enum hr_status status = make_cell(lab, mix, trial.replication, cell, error);
  if (status == HR_OK) status = draw_workload(lab, world, trial.replication, seed, error);
  if (status == HR_OK && mix->scenario->prices_drawn && trial.replication > 0 && !(*cell)->scenario)
    status = load(lab, mix, &seed, &(*cell)->scenario, error);
  return status;
}

/* ---- Runs ------------------------------------------------------------------------------------------- */

static struct hr__one_run_config run_config(const struct hr__runner *lab, struct hr__trial trial) {
  const struct mix *mix = &lab->mixes[trial.mix];
  const struct world *world = &lab->worlds[mix->world];
  const struct cell *cell = &mix->cells[trial.replication];
  const struct hr_scenario *scenario = cell->scenario ? cell->scenario : mix->scenario;
  return (struct hr__one_run_config){.scenario = scenario,
                                     .trace = world->redrawn ? world->workloads[trial.replication] : lab->config.trace,
                                     .policy = &scenario->policy,
                                     .seed = hr_replication_seed(lab->config.scenario->seed, trial.replication)};
}

/* Those trials of a call that are to be made. */
struct batch {
  struct hr__runner *lab;
  struct hr__trial *trials;
  size_t count;
};

static enum hr_status run_one(void *self, size_t task, struct hr_error *error) {
  struct batch *batch = self;
  struct hr__runner *lab = batch->lab;
  struct hr__trial trial = batch->trials[task];
  struct cell *cell = &lab->mixes[trial.mix].cells[trial.replication];
  struct hr__progress_reporter reporter = {.sum = &lab->progress};
  struct hr__one_run_config config = run_config(lab, trial);
  config.progress = hr__progress_reporter_progress(&reporter);
  struct hr__one_run run;
  enum hr_status status = hr__one_run_make(&config, &run, error);
  if (status == HR_OK) hr__figures_of_run(&run, lab->figures, lab->config.n_figures, cell->figures);
  cell->made = status == HR_OK;
  hr__one_run_finish(&run);
  return status;
}

/* A trial that stands twice among those asked for is made once. */
static bool is_listed(const struct batch *batch, struct hr__trial trial) {
  for (size_t i = 0; i < batch->count; i++)
    if (batch->trials[i].mix == trial.mix && batch->trials[i].replication == trial.replication) return true;
  return false;
}

static enum hr_status list_batch(struct batch *batch, const struct hr__trial *trials, size_t count,
                                 struct hr_error *error) {
  struct hr__runner *lab = batch->lab;
  for (size_t i = 0; i < count; i++) {
    struct hr__trial trial = {trials[i].mix, replication_of(&lab->mixes[trials[i].mix], trials[i].replication)};
    struct cell *cell;
    if (hr__runner_values(lab, trial.mix, trial.replication) || is_listed(batch, trial)) continue;
    enum hr_status status = prepare(lab, trial, &cell, error);
    if (status != HR_OK) return status;
    batch->trials[batch->count++] = trial;
    lab->progress.total += run_config(lab, trial).trace->n_jobs;
  }
  return HR_OK;
}

enum hr_status hr__runner_run(struct hr__runner *lab, const struct hr__trial *trials, size_t count,
                              struct hr_error *error) {
  struct batch batch = {.lab = lab, .trials = calloc(count + 1, sizeof *batch.trials)};
  enum hr_status status = batch.trials ? list_batch(&batch, trials, count, error) : no_memory(error);
  struct hr__tasks tasks = {.self = &batch, .run = run_one, .count = batch.count};
  if (status == HR_OK) status = hr__pool_run(&tasks, lab->config.n_threads, error);
  if (status == HR_OK) lab->n_runs += batch.count;
  free(batch.trials);
  return status;
}

enum hr_status hr__runner_case(struct hr__runner *lab, struct hr__trial trial, struct hr__one_run_config *config,
                               struct hr_error *error) {
  struct cell *cell;
  trial.replication = replication_of(&lab->mixes[trial.mix], trial.replication);
  enum hr_status status = prepare(lab, trial, &cell, error);
  if (status == HR_OK) *config = run_config(lab, trial);
  return status;
}

enum hr_status hr__runner_run_one(struct hr__runner *lab, struct hr__trial trial, struct hr__one_run *run,
                                  const struct hr_trace **trace, struct hr_error *error) {
  struct hr__one_run_config config;
  *run = (struct hr__one_run){0};
  enum hr_status status = hr__runner_case(lab, trial, &config, error);
  if (status != HR_OK) return status;
  *trace = config.trace;
  return hr__one_run_make(&config, run, error);
}

/* ---- What came of them ------------------------------------------------------------------------------ */

const double *hr__runner_values(const struct hr__runner *lab, uint32_t mix, uint32_t replication) {
  const struct mix *self = &lab->mixes[mix];
  uint32_t at = replication_of(self, replication);
  return at < self->n_cells && self->cells[at].made ? self->cells[at].figures : NULL;
}

uint64_t hr__runner_runs(const struct hr__runner *lab) {
  return lab->n_runs;
}
