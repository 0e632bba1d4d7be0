/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One run of a sweep: the overrides of its point, its record, and runs on threads.
 *
 * A record is sent between processes as bytes: its numbers as they are in memory, then for each group the numbers and
 * the name. All ranks of an MPI job run the same program on machines of the same kind, so this needs no conversion.
 */

#include "plan/sweep/sweep.h"

#include "base/array.h"
#include "base/threads.h"
#include "headroom/scenario.h"
#include "headroom/unstable/compare.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Overrides of a point --------------------------------------------------------------------------- */

static bool add_override(struct hr__sweep_overrides *overrides, const char *text) {
  if (!HR__ARRAY_HAS_ROOM(overrides->at, overrides->count, overrides->capacity)) return false;
  overrides->at[overrides->count++] = text;
  return true;
}

/* Adds the override "path=value" as an allocated text. */
static bool add_formatted(struct hr__sweep_overrides *overrides, const char *path, const char *value) {
  size_t bytes = strlen(path) + strlen(value) + 2;
  bool room = HR__ARRAY_HAS_ROOM(overrides->owned, overrides->n_owned, overrides->owned_capacity);
  char *text = room ? malloc(bytes) : NULL;
  if (!text) return false;
  snprintf(text, bytes, "%s=%s", path, value);
  overrides->owned[overrides->n_owned++] = text;
  return add_override(overrides, text);
}

static bool add_axis(struct hr__sweep_overrides *overrides, const struct hr_grid_axis *axis, double at) {
  char number[32];
  snprintf(number, sizeof number, "%.12g", at); /* the design rounds to the same number of digits */
  if (!axis->levels) return add_formatted(overrides, axis->path, number);
  const struct hr_grid_level *level = &axis->levels[(size_t)at];
  bool complete = true;
  for (size_t i = 0; i < level->n_set && complete; i++) complete = add_override(overrides, level->set[i]);
  return complete;
}

bool hr__sweep_overrides_make(const struct hr__sweep *sweep, size_t point, uint32_t replication,
                              struct hr__sweep_overrides *overrides) {
  const struct hr_grid *grid = sweep->grid;
  const double *at = hr__sweep_design_point(&sweep->design, point);
  bool complete = true;
  *overrides = (struct hr__sweep_overrides){0};
  for (size_t i = 0; i < grid->n_set && complete; i++) complete = add_override(overrides, grid->set[i]);
  for (uint32_t i = 0; i < grid->n_axes && complete; i++) complete = add_axis(overrides, &grid->axes[i], at[i]);
  if (complete && replication) {
    char seed[32];
    snprintf(seed, sizeof seed, "%" PRIu64, hr_replication_seed(sweep->points[point].seed, replication));
    complete = add_formatted(overrides, "seed", seed);
  }
  return complete;
}

char *hr__sweep_point_text(const struct hr__sweep *sweep, size_t point) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  const double *at = hr__sweep_design_point(&sweep->design, point);
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

/* ---- Records ---------------------------------------------------------------------------------------- */

static bool copy_groups(struct hr__sweep_record *record, enum hr__sweep_group_kind kind, const struct hr_group *groups,
                        size_t count, const struct hr_cost_lines *lines) {
  for (size_t i = 0; i < count; i++) {
    struct hr__sweep_group *group = &record->groups[record->n_groups];
    group->kind = kind;
    group->name = strdup(groups[i].name);
    if (!group->name) return false;
    record->n_groups++;
    hr__metrics_of_group(&groups[i], lines, group->values);
  }
  return true;
}

/* Copies the results of a run to a record. Returns false when out of memory. */
static bool copy_record(struct hr__sweep_record *record, const struct hr__one_run *run) {
  const struct hr_summary *summary = run->summary;
  const struct hr_cost_summary *costs = summary->costs;
  record->digest = summary->digest;
  hr__metrics_of_run(run->summary, record->values);
  record->groups = calloc(summary->n_tenants + summary->n_classes + 1, sizeof *record->groups);
  return record->groups &&
         copy_groups(record, HR__SWEEP_TENANT, summary->by_tenant, summary->n_tenants,
                     costs ? &costs->by_tenant : NULL) &&
         copy_groups(record, HR__SWEEP_CLASS, summary->by_class, summary->n_classes, costs ? &costs->by_class : NULL);
}

/* ---- Records as bytes ------------------------------------------------------------------------------- */

/* The numbers at the start of a record, and of each of its groups. */
struct sweep_record_header {
  uint64_t run, seed, digest, n_groups;
  double values[HR__N_METRICS];
};
struct sweep_group_header {
  uint64_t kind, name_bytes; /* name_bytes: length of the name with its NUL */
  double values[HR__N_METRICS];
};

void *hr__sweep_record_pack(const struct hr__sweep_record *record, size_t *size) {
  struct sweep_record_header header = {record->run, record->seed, record->digest, record->n_groups, {0}};
  memcpy(header.values, record->values, sizeof header.values);
  *size = sizeof header;
  for (size_t i = 0; i < record->n_groups; i++)
    *size += sizeof(struct sweep_group_header) + strlen(record->groups[i].name) + 1;
  char *bytes = malloc(*size), *at = bytes;
  if (!bytes) return NULL;
  memcpy(at, &header, sizeof header);
  at += sizeof header;
  for (size_t i = 0; i < record->n_groups; i++) {
    const struct hr__sweep_group *group = &record->groups[i];
    struct sweep_group_header group_header = {group->kind, strlen(group->name) + 1, {0}};
    memcpy(group_header.values, group->values, sizeof group_header.values);
    memcpy(at, &group_header, sizeof group_header);
    memcpy(at + sizeof group_header, group->name, group_header.name_bytes);
    at += sizeof group_header + group_header.name_bytes;
  }
  return bytes;
}

bool hr__sweep_record_unpack(struct hr__sweep_record *record, const void *bytes, size_t size) {
  const char *at = bytes, *end = at + size;
  struct sweep_record_header header;
  *record = (struct hr__sweep_record){0};
  memcpy(&header, at, sizeof header);
  at += sizeof header;
  *record = (struct hr__sweep_record){.run = header.run, .seed = header.seed, .digest = header.digest};
  memcpy(record->values, header.values, sizeof record->values);
  record->groups = calloc(header.n_groups + 1, sizeof *record->groups);
  if (!record->groups) return false;
  while (at < end && record->n_groups < header.n_groups) {
    struct hr__sweep_group *group = &record->groups[record->n_groups];
    struct sweep_group_header group_header;
    memcpy(&group_header, at, sizeof group_header);
    group->kind = (enum hr__sweep_group_kind)group_header.kind;
    memcpy(group->values, group_header.values, sizeof group->values);
    group->name = strdup(at + sizeof group_header);
    if (!group->name) return false;
    record->n_groups++;
    at += sizeof group_header + group_header.name_bytes;
  }
  return true;
}

/* ---- One run ---------------------------------------------------------------------------------------- */

/* If the scenario redraws its workload, the run has the workload that belongs to its seed, as in a replication of
   `headroom run`. */
static enum hr_status run_scenario(const struct hr__sweep *sweep, const struct hr__sweep_point *point,
                                   const struct hr_scenario *scenario, struct hr__sweep_record *record,
                                   struct hr_error *error) {
  struct hr__one_run_config config = {.scenario = scenario,
                                      .trace = sweep->traces[point->trace].trace,
                                      .policy = &scenario->policy,
                                      .seed = scenario->seed};
  struct hr_trace *drawn = NULL;
  struct hr__one_run run = {0};
  enum hr_status status = HR_OK;
  if (hr__workload_is_redrawn(&scenario->replications.workload)) {
    status = hr_trace_redraw(config.trace, &scenario->replications.workload, scenario->seed, &drawn, error);
    config.trace = drawn;
  }
  if (status == HR_OK) status = hr__one_run_make(&config, &run, error);
  record->seed = scenario->seed;
  if (status == HR_OK && !copy_record(record, &run)) status = hr_fail(error, HR_NO_MEMORY, "out of memory");
  hr__one_run_finish(&run);
  hr_trace_destroy(drawn);
  return status;
}

/* Makes one run. An error message names the run and the point. The caller must finish `record`, even after an error. */
static enum hr_status make_run(const struct hr__sweep *sweep, uint64_t run, struct hr__sweep_record *record,
                               struct hr_error *error) {
  size_t index = hr__sweep_point_of(sweep, run);
  const struct hr__sweep_point *point = &sweep->points[index];
  struct hr__sweep_overrides overrides;
  struct hr_scenario *scenario = NULL;
  struct hr_error inner = {0};
  *record = (struct hr__sweep_record){.run = run};
  enum hr_status status = hr__sweep_overrides_make(sweep, index, (uint32_t)(run - point->first_run), &overrides)
                              ? HR_OK
                              : hr_fail(&inner, HR_NO_MEMORY, "out of memory");
  if (status == HR_OK)
    status = hr_scenario_load(sweep->grid->scenario_path, overrides.at, overrides.count, &scenario, &inner);
  if (status == HR_OK) status = run_scenario(sweep, point, scenario, record, &inner);
  hr_scenario_destroy(scenario);
  hr__sweep_overrides_finish(&overrides);
  if (status == HR_OK) return HR_OK;
  char *text = hr__sweep_point_text(sweep, index);
  hr_fail(error, status, "run %" PRIu64 ", point %zu (%.300s): %s", run, index, text ? text : "", inner.text);
  free(text);
  return status;
}

/* ---- Threads ---------------------------------------------------------------------------------------- */

struct thread_batch {
  const struct hr__sweep_batch *batch;
  pthread_mutex_t lock;
};

static enum hr_status run_task(void *self, size_t task, struct hr_error *error) {
  struct thread_batch *shared = self;
  const struct hr__sweep_batch *batch = shared->batch;
  struct hr__sweep_record record;
  enum hr_status status = make_run(batch->sweep, batch->runs[task], &record, error);
  if (status == HR_OK) {
    pthread_mutex_lock(&shared->lock);
    status = batch->store(batch->self, &record, error);
    pthread_mutex_unlock(&shared->lock);
  }
  hr__sweep_record_finish(&record);
  return status;
}

enum hr_status hr__sweep_run_on_threads(const struct hr__sweep_batch *batch, struct hr_error *error) {
  struct thread_batch shared = {.batch = batch};
  struct hr__tasks tasks = {.self = &shared, .run = run_task, .count = batch->n_runs};
  pthread_mutex_init(&shared.lock, NULL);
  enum hr_status status = hr__pool_run(&tasks, batch->n_threads, error);
  pthread_mutex_destroy(&shared.lock);
  return status;
}
