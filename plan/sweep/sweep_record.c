/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A record between processes is its numbers as they lie in memory, and then each group's with its name: the processes
   are of one program on machines of one kind, as MPI jobs are. */

#include "plan/sweep/sweep_record.h"

#include <stdlib.h>
#include <string.h>

/* ---- Taking ----------------------------------------------------------------------------------------- */

static bool take_groups(struct hr__record *record, enum hr__group_kind kind, const struct hr_group *groups,
                        size_t count, const struct hr_cost_lines *lines) {
  for (size_t i = 0; i < count; i++) {
    struct hr__group_record *group = &record->groups[record->n_groups];
    group->kind = kind;
    group->name = strdup(groups[i].name);
    if (!group->name) return false;
    record->n_groups++;
    hr__measures_of_group(&groups[i], lines, group->values);
  }
  return true;
}

bool hr__record_take(struct hr__record *record, const struct hr__one_run *run) {
  const struct hr_summary *summary = run->summary;
  const struct hr_cost_summary *costs = summary->costs;
  record->digest = summary->digest;
  hr__measures_of_run(run, record->values);
  record->groups = calloc(summary->n_tenants + summary->n_classes + 1, sizeof *record->groups);
  return record->groups &&
         take_groups(record, HR__SWEEP_TENANT, summary->by_tenant, summary->n_tenants,
                     costs ? &costs->by_tenant : NULL) &&
         take_groups(record, HR__SWEEP_CLASS, summary->by_class, summary->n_classes, costs ? &costs->by_class : NULL);
}

void hr__record_finish(struct hr__record *record) {
  for (size_t i = 0; i < record->n_groups; i++) free(record->groups[i].name);
  free(record->groups);
  *record = (struct hr__record){0};
}

/* ---- Bytes ------------------------------------------------------------------------------------------ */

/* In front of a record, and of each of its groups. */
struct head {
  uint64_t run, seed, digest, n_groups;
  double values[HR__N_MEASURES];
};
struct group_head {
  uint64_t kind, name_bytes; /* with the NUL */
  double values[HR__N_MEASURES];
};

void *hr__record_pack(const struct hr__record *record, size_t *size) {
  struct head head = {record->run, record->seed, record->digest, record->n_groups, {0}};
  memcpy(head.values, record->values, sizeof head.values);
  *size = sizeof head;
  for (size_t i = 0; i < record->n_groups; i++) *size += sizeof(struct group_head) + strlen(record->groups[i].name) + 1;
  char *bytes = malloc(*size), *at = bytes;
  if (!bytes) return NULL;
  memcpy(at, &head, sizeof head);
  at += sizeof head;
  for (size_t i = 0; i < record->n_groups; i++) {
    const struct hr__group_record *group = &record->groups[i];
    struct group_head group_head = {group->kind, strlen(group->name) + 1, {0}};
    memcpy(group_head.values, group->values, sizeof group_head.values);
    memcpy(at, &group_head, sizeof group_head);
    memcpy(at + sizeof group_head, group->name, group_head.name_bytes);
    at += sizeof group_head + group_head.name_bytes;
  }
  return bytes;
}

bool hr__record_unpack(struct hr__record *record, const void *bytes, size_t size) {
  const char *at = bytes, *end = at + size;
  struct head head;
  *record = (struct hr__record){0};
  memcpy(&head, at, sizeof head);
  at += sizeof head;
  *record = (struct hr__record){.run = head.run, .seed = head.seed, .digest = head.digest};
  memcpy(record->values, head.values, sizeof record->values);
  record->groups = calloc(head.n_groups + 1, sizeof *record->groups);
  if (!record->groups) return false;
  while (at < end && record->n_groups < head.n_groups) {
    struct hr__group_record *group = &record->groups[record->n_groups];
    struct group_head group_head;
    memcpy(&group_head, at, sizeof group_head);
    group->kind = (enum hr__group_kind)group_head.kind;
    memcpy(group->values, group_head.values, sizeof group->values);
    group->name = strdup(at + sizeof group_head);
    if (!group->name) return false;
    record->n_groups++;
    at += sizeof group_head + group_head.name_bytes;
  }
  return true;
}
