/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_PLACEMENTS_H
#define HR_REPORT_PLACEMENTS_H

#include "headroom/report.h"

/* Where a job ran last; `one` is where a single slice is written. False when it never ran. */
bool hr__placements_get(const struct hr_placements *placements, hr_job job, struct hr_slice *one,
                        struct hr_placement *placement);
/* Some placement could not be kept for want of memory. */
bool hr__placements_failed(const struct hr_placements *placements);

#endif
