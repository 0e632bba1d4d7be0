/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_WHY_WHY_WORDS_H
#define HR_REPORT_WHY_WHY_WORDS_H

/* What a watched job waited for, in words. */

#include "base/text.h"
#include "headroom/unstable/why.h"

/* One job that it waited behind, and for how long. */
struct hr__why_behind {
  hr_job job;
  int64_t us;
};

enum { HR__MOST_BEHIND = 3 };

/* What held it back in one wait, all such segments together. */
struct hr__why_part {
  hr_job job;
  enum hr_wait_reason_kind reason;
  uint32_t quota;
  int64_t us;
  uint64_t asked_milli, min_free_milli, max_free_milli;
  struct hr__why_behind behind[HR__MOST_BEHIND]; /* the longest first */
  uint32_t n_behind;                             /* of all; HR_NONE among them counts as one */
  int64_t others_us;                             /* behind those that are not told */
};

/* The parts of a wait of a watched job, the longest first; freed by the caller. NULL when out of memory. */
struct hr__why_part *hr__why_parts(const struct hr_why *why, const struct hr_wait *wait, size_t *count);

/* "2 h 40 min behind the reservation of job 17" */
void hr__why_put_part(FILE *out, const struct hr_why *why, const struct hr__why_part *part);
/* "the quota of tenant a" */
void hr__why_put_quota(FILE *out, const struct hr_why *why, uint32_t quota, hr_job job);
/* "0 d 00:07:10", from the first submit, to the nearest second. Room as for numbers. */
const char *hr__why_time(int64_t at_us, char *buffer);
const char *hr__why_duration(int64_t us, char *buffer);
/* "8", "0.5" */
const char *hr__why_gpus(uint64_t milli, char *buffer);

#endif
