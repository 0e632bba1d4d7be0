/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_INT128_H
#define HR_BASE_INT128_H

/* Sums of microseconds over millions of jobs, and of GPUs times microseconds, pass 64 bits. */
__extension__ typedef unsigned __int128 hr__wide;

#endif
