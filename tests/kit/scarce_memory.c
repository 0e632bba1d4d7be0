/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scarce_memory.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>

static struct {
  bool scarce, for_good, failed;
  long left;
} memory;

void memory_ends_after(long allocations, bool for_good) {
  memory.scarce = true;
  memory.for_good = for_good;
  memory.failed = false;
  memory.left = allocations;
}

bool memory_is_ample(void) {
  memory.scarce = false;
  return memory.failed;
}

static bool fails_now(void) {
  if (!memory.scarce || (memory.failed && !memory.for_good)) return false;
  if (memory.left-- > 0) return false;
  memory.failed = true;
  return true;
}

#define WRAPPED(type, name, parameters, arguments)                                                                     \
  type __real_##name parameters;                                                                                       \
  type __wrap_##name parameters;                                                                                       \
  type __wrap_##name parameters {                                                                                      \
    return fails_now() ? NULL : __real_##name arguments;                                                               \
  }
WRAPPED(void *, malloc, (size_t bytes), (bytes))
WRAPPED(void *, calloc, (size_t count, size_t bytes), (count, bytes))
WRAPPED(void *, realloc, (void *old, size_t bytes), (old, bytes))
WRAPPED(char *, strdup, (const char *text), (text))
WRAPPED(char *, strndup, (const char *text, size_t length), (text, length))

void *scarce_malloc(size_t bytes) {
  return __wrap_malloc(bytes);
}

/* Returns the step of HEADROOM_SCARCE_STEP, see starve; 1 if it is not set. */
static long step_of_environment(void) {
  const char *text = getenv("HEADROOM_SCARCE_STEP");
  long step = text ? strtol(text, NULL, 10) : 1;
  return step > 1 ? step : 1;
}

/* Calls `attempt` with 0, 1, 2, ... successful allocations. From 100 on, this number n grows per call by `step` or, if
   `sparsely` is true, by 1 + n / 20. */
static long starve_after(bool sparsely, enum hr_status (*attempt)(void)) {
  enum { MAX_ALLOCATIONS = 10000000, STEP_FRACTION = 20, ALL = 100 };
  long step = step_of_environment();
  for (long allowed = 0; allowed < MAX_ALLOCATIONS;
       allowed += allowed < ALL ? 1 : (sparsely ? 1 + allowed / STEP_FRACTION : step)) {
    memory_ends_after(allowed, true);
    enum hr_status status = attempt();
    if (!memory_is_ample()) {
      CU_ASSERT_EQUAL(status, HR_OK);
      return allowed;
    }
    CU_ASSERT_EQUAL(status, HR_NO_MEMORY);
  }
  CU_FAIL("the attempt always ran out of memory");
  return MAX_ALLOCATIONS;
}

long starve(enum hr_status (*attempt)(void)) {
  return starve_after(false, attempt);
}

long starve_sparsely(enum hr_status (*attempt)(void)) {
  return starve_after(true, attempt);
}
