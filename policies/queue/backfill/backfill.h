/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_BACKFILL_BACKFILL_H
#define HR_POLICIES_QUEUE_BACKFILL_BACKFILL_H

/* What happens when a job does not fit. */

#include "headroom/policy.h"

struct hr__queue;

struct hr__backfill {
  /* Jobs of equal request share a queue; otherwise all wait in one. */
  bool by_shape;
  /* A job that does not fit holds nobody back. */
  bool passes_over;
  /* It looks at when running jobs are expected to end. */
  bool needs_calendar;
  /* What a queue's bounded search is about (struct hr_job_entry's value); NULL where none is made. */
  int64_t (*value)(const struct hr_trace *trace, hr_job job);
  enum hr_status (*create)(struct hr__queue *queue, const struct hr_policy_env *env); /* may be NULL */
  enum hr_status (*pass)(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *plan);
  bool walks; /* it looks at jobs beyond the first of each shape, in order */
};

extern const struct hr__backfill hr__backfill_strict, hr__backfill_skip, hr__backfill_easy, hr__backfill_conservative;

#endif
