/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_KIT_SCARCE_MEMORY_H
#define HR_TESTS_KIT_SCARCE_MEMORY_H

/*
 * Memory that runs out on command. A test made with headroom_scarce_test has the linker send the library's own
 * allocations here (--wrap); those of other libraries are not touched.
 */

#include "headroom/base.h"

/* The next `allocations` succeed; then one fails, or, with `for_good`, all do. */
void memory_ends_after(long allocations, bool for_good);
/* Memory is ample again; whether an allocation had failed. */
bool memory_is_ample(void);

/* For libraries that take an allocator. */
void *scarce_malloc(size_t bytes);

/* Calls `attempt` with no memory at all, then with one allocation more each time, until it succeeds: before that it
   must say HR_NO_MEMORY. Returns how many allocations it took. */
long starve(enum hr_status (*attempt)(void));
/* As `starve`, for what takes long and allocates the same over and over again: each of the first 100 allocations, then
   one in so many that each step is a twentieth of what went before. Returns the first number tried that was enough. */
long starve_sparsely(enum hr_status (*attempt)(void));

#endif
