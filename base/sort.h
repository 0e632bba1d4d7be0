/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_SORT_H
#define HR_BASE_SORT_H

#include "headroom/base.h"

struct hr__keyed_row {
  uint64_t key;
  uint32_t row;
};

/* Sorts rows by key. The sort is stable. It takes O(count) time and as much additional memory as the rows. Returns
   false if memory is exhausted; the order is then unchanged. */
bool hr__sort_keyed_rows(struct hr__keyed_row *rows, size_t count);

#endif
