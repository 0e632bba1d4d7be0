/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_WIDE_H
#define HR_REPORT_WIDE_H

/* Sums of microseconds over millions of jobs, and of GPUs times microseconds, pass 64 bits. */
__extension__ typedef unsigned __int128 hr__wide;

#endif
