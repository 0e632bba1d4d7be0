/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_CHECK_DECISIONS_H
#define HR_PLAN_CHECK_DECISIONS_H

/*
 * Compact records of a run for baselines: the start of every job, and a chain of marks, one for each block of
 * scheduling decisions. Both are text. A character is one of A-Z a-z 0-9 + / and encodes six bits.
 */

#include "headroom/sim.h"

#include <stdlib.h>

/* ---- Starts of jobs --------------------------------------------------------------------------------- */

struct hr__job_start {
  int64_t wait_s; /* from submission to first start, rounded to seconds; HR_NEVER_US if it never started */
  bool backfilled;
};

static inline struct hr__job_start hr__job_start_of(const struct hr_result *result, uint32_t job) {
  if (result->start_us[job] == HR_NEVER_US) return (struct hr__job_start){.wait_s = HR_NEVER_US};
  int64_t wait_us = result->start_us[job] - result->trace->submit_us[job];
  return (struct hr__job_start){(wait_us + HR_SECOND_US / 2) / HR_SECOND_US, result->reason[job] == HR_REASON_BACKFILL};
}

/* Encodes the starts of the first jobs of the trace, as many as fit into 4,096 characters. The caller frees the text.
   NULL when out of memory. */
char *hr__job_starts_encode(const struct hr_result *result);
/* Decodes a text of hr__job_starts_encode that contains at most `n_jobs` jobs. Returns HR_BAD_INPUT if the text is
   damaged, and HR_NO_MEMORY when out of memory. The caller frees *starts. */
enum hr_status hr__job_starts_decode(const char *text, uint32_t n_jobs, struct hr__job_start **starts, uint32_t *count);

/* ---- Decisions -------------------------------------------------------------------------------------- */

/*
 * Decisions are grouped into blocks of equal size. The mark of a block is 12 bits of a digest of all events up to its
 * end. If two runs first differ in block k, their marks of all blocks before k are equal. From block k on the marks
 * differ, except with probability 1/4096 per block.
 */

/* The first decision of a block, and its mark. */
struct hr__decision_block {
  int64_t at_us;
  hr_job job; /* HR_NONE: the decision is about a node */
  uint16_t mark;
  uint8_t kind; /* enum hr_event_kind */
};

struct hr__decisions {
  uint64_t digest, count;
  uint64_t spacing; /* decisions per block */
  struct hr__decision_block *blocks;
  size_t n_blocks;
};

/* Sets `*observer` to an observer that records the events of a run in `decisions`. Returns false when out of memory.
   hr__decisions_finish may be called in either case. */
bool hr__decisions_init(struct hr__decisions *decisions, struct hr_observer *observer);
static inline void hr__decisions_finish(struct hr__decisions *decisions) {
  free(decisions->blocks);
  *decisions = (struct hr__decisions){0};
}

/* Returns the marks as text, two characters for each block. The caller frees the text. NULL when out of memory. */
char *hr__decisions_chain(const struct hr__decisions *decisions);

/* Compares the marks with the chain of another run with `spacing` decisions per block. If they differ, returns true
   and sets *from to the index of a decision. The first decision that differs is then one of the n decisions from *from
   on, where n is the larger block size. */
bool hr__decisions_first(const struct hr__decisions *decisions, const char *chain, uint64_t spacing, uint64_t *from);

/* The block of the decision with this index; NULL if the run has fewer decisions. */
static inline const struct hr__decision_block *hr__decisions_block(const struct hr__decisions *decisions,
                                                                   uint64_t decision) {
  size_t block = (size_t)(decision / decisions->spacing);
  return block < decisions->n_blocks ? &decisions->blocks[block] : NULL;
}

#endif
