/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_QUOTA_ADMISSION_H
#define HR_POLICIES_QUEUE_QUOTA_ADMISSION_H

/*
 * What holds waiting jobs back, whatever is free: bars at places of a tree. Each place has two of them, and a job must
 * get through those of all places on its way to the root. Places are numbered from the root on.
 */

#include "headroom/policy.h"

enum hr__admission_limit_kind { HR__BAR_FULL, HR__BAR_LESS_SPARE, HR__BAR_KINDS };

/* The one that stops a job, and how much room it would have to leave: `milli`, or what of that is not its own to
   `spare`. */
struct hr__admission_limit {
  uint32_t place; /* HR_NONE: it may be any, and `milli` and `spare` are 0 */
  enum hr__admission_limit_kind kind;
  int64_t milli, spare;
};

static inline uint32_t hr__admission_limit_number(uint32_t place, enum hr__admission_limit_kind kind) {
  return HR__BAR_KINDS * place + (uint32_t)kind;
}
static inline int64_t hr__admission_limit_need(const struct hr__admission_limit *bar) {
  return bar->kind == HR__BAR_FULL ? bar->milli : bar->milli - bar->spare;
}

#endif
