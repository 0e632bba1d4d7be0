/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clocks are few: reasons, and quotas on the way from a tenant to the root. They are looked for one by one. */

#include "report/wait_groups.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_MEMBERS = 4, FIRST_CLOCKS = 4 };

void hr__wait_group_finish(struct hr__wait_group *group) {
  free(group->clocks);
  free(group->members);
  free(group->noted);
}

void hr__wait_group_reset(struct hr__wait_group *group) {
  group->n_clocks = group->n_members = 0;
  group->running = HR_NONE;
}

/* Notes for so many members and clocks, as they stand. */
static bool make_room(struct hr__wait_group *group, uint32_t members, uint32_t clocks) {
  struct hr__wait_member *all = realloc(group->members, members * sizeof *all);
  if (all) group->members = all;
  struct hr__wait_clock *more = realloc(group->clocks, clocks * sizeof *more);
  if (more) group->clocks = more;
  int64_t *noted = calloc((size_t)members * clocks, sizeof *noted);
  if (!all || !more || !noted) {
    free(noted);
    return false;
  }
  for (uint32_t i = 0; i < group->n_members; i++)
    memcpy(noted + (size_t)i * clocks, group->noted + (size_t)i * group->clocks_capacity,
           group->n_clocks * sizeof *noted);
  free(group->noted);
  group->noted = noted;
  group->members_capacity = members;
  group->clocks_capacity = clocks;
  return true;
}

void hr__wait_group_come_to(struct hr__wait_group *group, int64_t now_us) {
  if (group->clocks && group->running != HR_NONE) group->clocks[group->running].us += now_us - group->since_us;
  group->since_us = now_us;
}

uint32_t hr__wait_group_join(struct hr__wait_group *group, hr_job job, int64_t now_us) {
  bool full = group->n_members == group->members_capacity;
  uint32_t clocks = group->clocks_capacity ? group->clocks_capacity : FIRST_CLOCKS;
  if (full && !make_room(group, group->n_members ? 2 * group->n_members : FIRST_MEMBERS, clocks)) return HR_NONE;
  hr__wait_group_come_to(group, now_us);
  uint32_t member = group->n_members++;
  int64_t *noted = group->noted + (size_t)member * group->clocks_capacity;
  group->members[member] = (struct hr__wait_member){job, now_us};
  for (uint32_t i = 0; i < group->clocks_capacity; i++) noted[i] = i < group->n_clocks ? group->clocks[i].us : 0;
  return member;
}

static uint32_t find_clock(const struct hr__wait_group *group, uint32_t reason, uint32_t quota) {
  for (uint32_t i = 0; group->clocks && i < group->n_clocks; i++)
    if (group->clocks[i].reason == reason && group->clocks[i].quota == quota) return i;
  return HR_NONE;
}

bool hr__wait_group_run(struct hr__wait_group *group, uint32_t reason, uint32_t quota, int64_t now_us) {
  uint32_t found = find_clock(group, reason, quota);
  if (found != HR_NONE && found == group->running) return true;
  hr__wait_group_come_to(group, now_us);
  group->running = found;
  if (found != HR_NONE) return true;
  bool full = !group->clocks || group->n_clocks == group->clocks_capacity;
  uint32_t clocks = group->clocks_capacity ? 2 * group->clocks_capacity : FIRST_CLOCKS;
  if (full && !make_room(group, group->members_capacity, clocks)) return false;
  group->running = group->n_clocks;
  group->clocks[group->n_clocks++] = (struct hr__wait_clock){reason, quota, 0};
  return true;
}

void hr__wait_group_leave(struct hr__wait_group *group, uint32_t member) {
  uint32_t last = --group->n_members;
  if (member != last) {
    group->members[member] = group->members[last];
    memcpy(group->noted + (size_t)member * group->clocks_capacity, group->noted + (size_t)last * group->clocks_capacity,
           group->clocks_capacity * sizeof *group->noted);
  }
  if (last == 0) group->running = HR_NONE;
}
