/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_TABLES_RUN_NOTES_H
#define HR_REPORT_TABLES_RUN_NOTES_H

/* Jobs that can never run: how many for each reason, and the first few. */

#include "headroom/report.h"

enum { HR__MOST_REJECTED_IDS = 5, HR__REJECTED_ID_BYTES = 61 };

/* All zero at the beginning. */
struct hr__rejections {
  struct hr__rejected {
    uint64_t count;
    hr_job first[HR__MOST_REJECTED_IDS];                   /* of the jobs, rising */
    char id[HR__MOST_REJECTED_IDS][HR__REJECTED_ID_BYTES]; /* theirs, cut off */
  } of[HR_REASON_NO_GROUP + 1];                            /* by reason */
};

/* In any order of jobs. */
void hr__rejections_add(struct hr__rejections *rejections, const struct hr_trace *trace, hr_job job,
                        enum hr_reason reason);
/* A note for each reason. HR_NO_MEMORY. */
enum hr_status hr__rejections_note(const struct hr__rejections *rejections, struct hr_notes *notes);

#endif
