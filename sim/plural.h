/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_PLURAL_H
#define HR_SIM_PLURAL_H

/* Counts in sentences: "1 job", "2 jobs". */

#include <stdint.h>

/* The one of two words, or parts of a sentence, that goes with the count. */
static inline const char *hr__counted(uint64_t count, const char *one, const char *many) {
  return count == 1 ? one : many;
}

/* "s" unless there is one. */
static inline const char *hr__plural(uint64_t count) {
  return hr__counted(count, "", "s");
}

#endif
