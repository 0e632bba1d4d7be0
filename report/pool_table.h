/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_POOL_TABLE_H
#define HR_REPORT_POOL_TABLE_H

#include "headroom/report.h"
#include "report/console.h"

/* A line for each pool, where there are several and GPUs are told apart. */
void hr__put_pools(struct hr__console *console, const struct hr_summary *summary);

#endif
