/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_WAITS_STATE_H
#define HR_REPORT_WAITS_STATE_H

/* What the files of the waits share. */

#include "report/wait_groups.h"

/* In the place of the group of a job that does not wait, or of one that has just begun to. */
#define HR__NOT_WAITING HR_NONE
#define HR__JUST_WAITING (HR_NONE - 1)

/* Groups by what their jobs ask for. */
struct hr__wait_keys {
  struct hr__wait_key {
    uint64_t asks, of; /* GPUs and what tells requests apart; tenant and tier */
    uint32_t group;    /* + 1; 0: empty */
  } * slots;
  uint32_t n_slots, count;
};

struct hr_waits {
  const struct hr_trace *trace;
  bool each, failed, begun, by_tenant;
  /* By job. */
  uint32_t *group_of, *member_of;
  uint8_t *has_started;
  hr_job *watched;      /* in order of their ids */
  uint32_t *segment_of; /* by watched job: the one that goes on + 1, 0: none */
  uint32_t n_watched;
  hr_job *arrivals; /* that began to wait since the last instant */
  uint32_t n_arrivals, arrivals_capacity;
  struct hr__wait_group *groups;
  uint32_t *active; /* groups with members */
  uint32_t n_groups, n_active, groups_capacity, active_capacity, first_free;
  struct hr__wait_keys keys;
  /* What came of it. */
  struct hr_wait *waits;
  struct hr_wait_part *parts;
  struct hr_wait_segment *segments;
  uint32_t n_waits, waits_capacity, n_parts, parts_capacity, n_segments, segments_capacity;
};

/* waits_groups.c: the number of the group that a job that begins to wait is to join; HR_NONE: out of memory. */
uint32_t hr__waits_group_for(struct hr_waits *waits, const struct hr_view *view, hr_job job);
/* The group has no members any more. */
void hr__waits_group_empty(struct hr_waits *waits, uint32_t number);
/* The place of the job in the list of those that are watched; HR_NONE: it is not. */
uint32_t hr__waits_watched(const struct hr_waits *waits, hr_job job);

#endif
