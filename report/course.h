/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_COURSE_H
#define HR_REPORT_COURSE_H

/* What the course fold has gathered; drawn by the table. */

#include "headroom/report.h"
#include "report/buckets.h"

struct hr_course {
  struct hr__buckets allocated_milli, total_milli, waiting;
};

/* The most GPUs that were there at once, as whole ones. */
uint64_t hr__course_gpus(const struct hr_course *course);

#endif
