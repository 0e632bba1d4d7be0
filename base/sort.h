/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_SORT_H
#define HR_BASE_SORT_H

#include "headroom/base.h"

struct hr__keyed_row {
  uint64_t key;
  uint32_t row;
};

/* Sorts by key; the sort is stable. O(count) time, and as much memory again. False if memory is exhausted; the order
   is unchanged then. */
bool hr__sort_keyed_rows(struct hr__keyed_row *rows, size_t count);

#endif
