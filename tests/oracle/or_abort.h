/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_ORACLE_OR_ABORT_H
#define HR_TESTS_ORACLE_OR_ABORT_H

/* Functions that abort the test program on errors of the test itself, such as a lack of memory. */

#include "headroom/base.h"

#include <stdio.h>
#include <stdlib.h>

/* Returns zeroed memory, to be freed by the caller. */
static inline void *calloc_or_abort(size_t count, size_t size) {
  void *memory = calloc(count ? count : 1, size);
  if (!memory) abort();
  return memory;
}

/* Aborts with the text of `error` unless `status` is HR_OK. */
static inline void ok_or_abort(enum hr_status status, const struct hr_error *error) {
  if (status == HR_OK) return;
  fprintf(stderr, "the test itself failed: %s\n", error->text);
  abort();
}

#endif
