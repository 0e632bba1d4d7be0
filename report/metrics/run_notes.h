/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_METRICS_RUN_NOTES_H
#define HR_REPORT_METRICS_RUN_NOTES_H

/* Rejected jobs by reason: their number, and the ids of the first few. */

#include "headroom/report.h"

enum { HR__MAX_REJECTED_IDS = 5, HR__REJECTED_ID_BYTES = 61 };

/* Zero-initialize before use. */
struct hr__rejections {
  struct hr__rejected {
    uint64_t count;
    hr_job first[HR__MAX_REJECTED_IDS];                   /* the jobs with the smallest indices, ascending */
    char id[HR__MAX_REJECTED_IDS][HR__REJECTED_ID_BYTES]; /* their ids, truncated */
  } of[HR_REASON_NO_GROUP + 1];                           /* by reason */
};

/* Adds a rejected job. Jobs may be added in any order. */
void hr__rejections_add(struct hr__rejections *rejections, const struct hr_trace *trace, hr_job job,
                        enum hr_reason reason);
/* Adds a note for each reason for which jobs were rejected. Returns HR_NO_MEMORY if out of memory. */
enum hr_status hr__rejections_note(const struct hr__rejections *rejections, struct hr_notes *notes);

#endif
