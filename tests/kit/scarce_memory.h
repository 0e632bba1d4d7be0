/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_KIT_SCARCE_MEMORY_H
#define HR_TESTS_KIT_SCARCE_MEMORY_H

/*
 * Allocations that fail when a test requests it. In a test program made with headroom_scarce_memory
 * (tests/CMakeLists.txt), the linker option --wrap redirects the allocations of the library to these functions.
 * Allocations of other libraries are not redirected.
 */

#include "headroom/base.h"

/* The next `allocations` allocations succeed. Then one allocation fails or, if `for_good` is true, all fail. */
void memory_ends_after(long allocations, bool for_good);
/* All later allocations succeed. Returns whether an allocation has failed since memory_ends_after. */
bool memory_is_ample(void);

/* Allocates memory, or fails as memory_ends_after demands. For libraries that take an allocation function. */
void *scarce_malloc(size_t bytes);

/* Calls `attempt` repeatedly. In the first call all allocations fail; in each further call one more allocation
   succeeds. Each call must return HR_NO_MEMORY until no allocation fails. Returns the number of successful allocations
   that was permitted in the last call. If the environment variable HEADROOM_SCARCE_STEP is set to N, this number grows
   by N instead of 1 from call to call after the first 100. */
long starve(enum hr_status (*attempt)(void));
/* Like starve, but with fewer calls, for attempts with many similar allocations: beyond 100, the number of successful
   allocations grows by 1 plus a twentieth from call to call. */
long starve_sparsely(enum hr_status (*attempt)(void));

#endif
