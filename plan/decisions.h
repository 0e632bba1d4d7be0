/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_DECISIONS_H
#define HR_PLAN_DECISIONS_H

/*
 * The decisions of a run in blocks of some number each. A block has a mark that depends on all that happened up to its
 * end, so that two runs that first differ in a block have the same marks before it and, but for one chance in 4,096
 * each, others from it on.
 */

#include "headroom/sim.h"

/* What a block begins with, and its mark of 12 bits. */
struct hr__decision_block {
  int64_t at_us;
  hr_job job; /* HR_NONE: of a node */
  uint16_t mark;
  uint8_t kind; /* enum hr_event_kind */
};

struct hr__decisions {
  uint64_t digest, count;
  uint64_t spacing; /* decisions of a block */
  struct hr__decision_block *blocks;
  size_t n_blocks;
};

/* False when out of memory. */
bool hr__decisions_init(struct hr__decisions *decisions);
void hr__decisions_finish(struct hr__decisions *decisions);
struct hr_fold hr__decisions_fold(struct hr__decisions *decisions);

/* The marks, two letters each; the caller frees it. NULL when out of memory. */
char *hr__decisions_chain(const struct hr__decisions *decisions);

/* Where decisions first differ from those of a chain: those from `*from` on, so many as the larger spacing, one of
   which is other. False where all marks are the same. */
bool hr__decisions_first(const struct hr__decisions *decisions, const char *chain, uint64_t spacing, uint64_t *from);
/* The block of the decision, which is one that was made. */
const struct hr__decision_block *hr__decisions_block(const struct hr__decisions *decisions, uint64_t decision);

#endif
