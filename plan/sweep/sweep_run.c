/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One run of a sweep, its record, and runs on threads.
 *
 * Between processes a record is sent as the bytes of its numbers in memory, followed by those of each group and its
 * name: the ranks of an MPI job are the same program on machines of the same kind.
 */

#include "plan/sweep/sweep.h"

#include "base/threads.h"
#include "headroom/scenario.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- Records ---------------------------------------------------------------------------------------- */

static bool copy_groups(struct hr__sweep_record *record, enum hr__sweep_group_kind kind, const struct hr_group *groups,
                        size_t count, const struct hr_cost_lines *lines) {
  for (size_t i = 0; i < count; i++) {
    struct hr__sweep_group *group = &record->groups[record->n_groups];
    group->kind = kind;
    group->name = strdup(groups[i].name);
    if (!group->name) return false;
    record->n_groups++;
    hr__measures_of_group(&groups[i], lines, group->values);
  }
  return true;
}

/* Returns false when out of memory. */
static bool copy_record(struct hr__sweep_record *record, const struct hr__one_run *run) {
  const struct hr_summary *summary = run->summary;
  const struct hr_cost_summary *costs = summary->costs;
  record->digest = summary->digest;
  hr__measures_of_run(run, record->values);
  record->groups = calloc(summary->n_tenants + summary->n_classes + 1, sizeof *record->groups);
  return record->groups &&
         copy_groups(record, HR__SWEEP_TENANT, summary->by_tenant, summary->n_tenants,
                     costs ? &costs->by_tenant : NULL) &&
         copy_groups(record, HR__SWEEP_CLASS, summary->by_class, summary->n_classes, costs ? &costs->by_class : NULL);
}

/* ---- Records as bytes ------------------------------------------------------------------------------- */

/* Headers of a record and of each of its groups. */
struct head {
  uint64_t run, seed, digest, n_groups;
  double values[HR__N_MEASURES];
};
struct group_head {
  uint64_t kind, name_bytes; /* including the NUL */
  double values[HR__N_MEASURES];
};

void *hr__sweep_record_pack(const struct hr__sweep_record *record, size_t *size) {
  struct head head = {record->run, record->seed, record->digest, record->n_groups, {0}};
  memcpy(head.values, record->values, sizeof head.values);
  *size = sizeof head;
  for (size_t i = 0; i < record->n_groups; i++) *size += sizeof(struct group_head) + strlen(record->groups[i].name) + 1;
  char *bytes = malloc(*size), *at = bytes;
  if (!bytes) return NULL;
  memcpy(at, &head, sizeof head);
  at += sizeof head;
  for (size_t i = 0; i < record->n_groups; i++) {
    const struct hr__sweep_group *group = &record->groups[i];
    struct group_head group_head = {group->kind, strlen(group->name) + 1, {0}};
    memcpy(group_head.values, group->values, sizeof group_head.values);
    memcpy(at, &group_head, sizeof group_head);
    memcpy(at + sizeof group_head, group->name, group_head.name_bytes);
    at += sizeof group_head + group_head.name_bytes;
  }
  return bytes;
}

bool hr__sweep_record_unpack(struct hr__sweep_record *record, const void *bytes, size_t size) {
  const char *at = bytes, *end = at + size;
  struct head head;
  *record = (struct hr__sweep_record){0};
  memcpy(&head, at, sizeof head);
  at += sizeof head;
  *record = (struct hr__sweep_record){.run = head.run, .seed = head.seed, .digest = head.digest};
  memcpy(record->values, head.values, sizeof record->values);
  record->groups = calloc(head.n_groups + 1, sizeof *record->groups);
  if (!record->groups) return false;
  while (at < end && record->n_groups < head.n_groups) {
    struct hr__sweep_group *group = &record->groups[record->n_groups];
    struct group_head group_head;
    memcpy(&group_head, at, sizeof group_head);
    group->kind = (enum hr__sweep_group_kind)group_head.kind;
    memcpy(group->values, group_head.values, sizeof group->values);
    group->name = strdup(at + sizeof group_head);
    if (!group->name) return false;
    record->n_groups++;
    at += sizeof group_head + group_head.name_bytes;
  }
  return true;
}

/* ---- One run ---------------------------------------------------------------------------------------- */

static enum hr_status run_scenario(const struct hr__sweep *sweep, const struct hr__sweep_point *point,
                                   const struct hr_scenario *scenario, struct hr__sweep_record *record,
                                   struct hr_error *error) {
  struct hr__one_run_config config = {.scenario = scenario,
                                      .trace = sweep->traces[point->trace].trace,
                                      .policy = &scenario->policy,
                                      .seed = scenario->seed};
  struct hr__one_run run;
  enum hr_status status = hr__one_run_make(&config, &run, error);
  record->seed = scenario->seed;
  if (status == HR_OK && !copy_record(record, &run)) status = hr_fail(error, HR_NO_MEMORY, "out of memory");
  hr__one_run_finish(&run);
  return status;
}

/* Errors name the run and the point. Finish `record` in any case. */
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
