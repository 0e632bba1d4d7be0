/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_COURSE_H
#define HR_REPORT_COURSE_H

/* What the course fold has gathered; drawn by the table. */

#include "headroom/report.h"
#include "report/buckets.h"

struct hr_course {
  struct hr__buckets allocated_milli, total_milli, waiting;
};

#endif
