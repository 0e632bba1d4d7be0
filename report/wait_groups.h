/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_WAIT_GROUPS_H
#define HR_REPORT_WAIT_GROUPS_H

/*
 * Waiting jobs that are held back alike, with one set of clocks: how long they were held back for each reason. A job
 * notes the clocks when it joins; what they show more when it leaves are the parts of its wait.
 */

#include "headroom/waits.h"

/* What runs the same clock. */
struct hr__wait_clock {
  uint32_t reason, quota;
  int64_t us; /* as of the group's `since_us` */
};

struct hr__wait_member {
  hr_job job;
  int64_t begin_us;
};

struct hr__wait_group {
  struct hr__wait_clock *clocks;
  struct hr__wait_member *members;
  int64_t *noted; /* [members_capacity][clocks_capacity]: what clocks showed when the member joined */
  uint32_t n_clocks, clocks_capacity, n_members, members_capacity;
  uint32_t running;   /* the clock; HR_NONE */
  uint32_t active_at; /* for whoever lists groups */
  uint32_t next_free; /* likewise */
  uint32_t watched;   /* its one member is watched: which; HR_NONE */
  bool is_lone;       /* for one job at a time */
  int64_t since_us;
};

void hr__wait_group_finish(struct hr__wait_group *group);
/* Nobody is in it and no clock has run: as it was when it was made, but for its memory. */
void hr__wait_group_reset(struct hr__wait_group *group);
/* The member's place; HR_NONE: out of memory. */
uint32_t hr__wait_group_join(struct hr__wait_group *group, hr_job job, int64_t now_us);
/* This clock runs from now on. False: out of memory. */
bool hr__wait_group_run(struct hr__wait_group *group, uint32_t reason, uint32_t quota, int64_t now_us);
/* Up to now, by the clock that runs; none runs when nobody is left. */
void hr__wait_group_come_to(struct hr__wait_group *group, int64_t now_us);
/* What a clock has shown more since the member joined. */
static inline int64_t hr__wait_group_part_us(const struct hr__wait_group *group, uint32_t member, uint32_t clock) {
  return group->clocks[clock].us - group->noted[(size_t)member * group->clocks_capacity + clock];
}
/* The last member takes the place of the one that leaves. */
void hr__wait_group_leave(struct hr__wait_group *group, uint32_t member);

#endif
