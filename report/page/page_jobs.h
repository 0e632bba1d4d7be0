/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_PAGE_PAGE_JOBS_H
#define HR_REPORT_PAGE_PAGE_JOBS_H

/* Which jobs stand in the page's table: all, or, where they are too many, those that a person would look for, and a
   sample of the rest. */

#include "headroom/sim.h"

enum { HR__PAGE_MOST_JOBS = 200000 };

/* Numbers of the jobs, ascending, which the caller frees; NULL when out of memory. `most`: no more than these, at
   least 3. */
uint32_t *hr__page_shown(const struct hr_result *result, uint32_t most, uint32_t *n_shown);

#endif
