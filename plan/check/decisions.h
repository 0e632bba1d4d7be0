/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_CHECK_DECISIONS_H
#define HR_PLAN_CHECK_DECISIONS_H

/* When every job of a run began, in few bytes: whole seconds of waiting, and whether it went ahead of others. */

#include "headroom/sim.h"

struct hr__job_start {
  int64_t wait_s; /* from its submission to its first start, rounded; HR_NEVER_US: it never started */
  bool backfilled;
};

struct hr__job_start hr__job_start_of(const struct hr_result *result, uint32_t job);

/* Text of letters, digits, '+' and '/', of the first jobs of the trace: of so many as 4,096 letters hold. The caller
   frees it; NULL when out of memory. */
char *hr__job_starts_code(const struct hr_result *result);
/* Reads what the function above wrote of at most so many jobs. HR_BAD_INPUT: it is damaged; HR_NO_MEMORY. The caller
   frees. */
enum hr_status hr__job_starts_decode(const char *text, uint32_t n_jobs, struct hr__job_start **starts, uint32_t *count);

/* Six bits as a letter, and back; 64 for what is none. */
char hr__letter_of(unsigned bits);

/*
 * The decisions of a run in blocks of some number each. A block has a mark that depends on all that happened up to its
 * end, so that two runs that first differ in a block have the same marks before it and, but for one chance in 4,096
 * each, others from it on.
 */

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
struct hr_observer hr__decisions_observer(struct hr__decisions *decisions);

/* The marks, two letters each; the caller frees it. NULL when out of memory. */
char *hr__decisions_chain(const struct hr__decisions *decisions);

/* Where decisions first differ from those of a chain: those from `*from` on, so many as the larger spacing, one of
   which is other. False where all marks are the same. */
bool hr__decisions_first(const struct hr__decisions *decisions, const char *chain, uint64_t spacing, uint64_t *from);
/* The block of the decision, which is one that was made. */
const struct hr__decision_block *hr__decisions_block(const struct hr__decisions *decisions, uint64_t decision);

#endif
