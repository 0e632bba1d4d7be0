/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_ORACLE_SOUND_H
#define HR_TESTS_ORACLE_SOUND_H

/* What cannot fail in a sound test ends the program when it does. */

#include "headroom/base.h"

#include <stdio.h>
#include <stdlib.h>

static inline void *grab(size_t count, size_t size) {
  void *memory = calloc(count ? count : 1, size);
  if (!memory) abort();
  return memory;
}

static inline void must(enum hr_status status, const struct hr_error *error) {
  if (status == HR_OK) return;
  fprintf(stderr, "the test itself failed: %s\n", error->text);
  abort();
}

#endif
