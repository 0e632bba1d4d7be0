/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_WHY_WHY_TABLE_H
#define HR_REPORT_WHY_WHY_TABLE_H

/* The parts of the answer for a person. */

#include "base/console.h"
#include "report/why/why_sums.h"

/* why_job.c: a job's life. */
void hr__why_print_job(struct hr__console *console, const struct hr_why *why, hr_job job);

#endif
