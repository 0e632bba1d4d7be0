/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_ARRAY_H
#define HR_BASE_ARRAY_H

/* Lists from malloc that grow by doubling. */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* The list with room for twice as many items of `bytes` each, 64 at first, which `*capacity` then says; NULL when there
   is no memory, and the list is as it was. */
static inline void *hr__grown(void *items, uint32_t *capacity, size_t bytes) {
  uint32_t wanted = *capacity ? 2 * *capacity : 64;
  void *grown = wanted > *capacity ? realloc(items, wanted * bytes) : NULL;
  if (grown) *capacity = wanted;
  return grown;
}

#endif
