/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_JOB_STARTS_H
#define HR_PLAN_JOB_STARTS_H

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
unsigned hr__bits_of(char letter);

#endif
