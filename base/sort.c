/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Least-significant-digit radix sort by bytes. It is stable. A byte position with the same value in all keys is
   skipped. */

#include "base/sort.h"

#include <stdlib.h>
#include <string.h>

enum { N_BYTES = 8, N_VALUES = 256 };

static void count_bytes(const struct hr__keyed_row *rows, size_t count, size_t counts[N_BYTES][N_VALUES]) {
  memset(counts, 0, N_BYTES * sizeof *counts);
  for (size_t i = 0; i < count; i++)
    for (int byte = 0; byte < N_BYTES; byte++) counts[byte][rows[i].key >> (8 * byte) & 0xFF]++;
}

static void scatter(const struct hr__keyed_row *from, struct hr__keyed_row *to, size_t count, int byte,
                    const size_t counts[N_VALUES]) {
  size_t place[N_VALUES], sum = 0;
  for (int value = 0; value < N_VALUES; value++) {
    place[value] = sum;
    sum += counts[value];
  }
  for (size_t i = 0; i < count; i++) to[place[from[i].key >> (8 * byte) & 0xFF]++] = from[i];
}

bool hr__sort_keyed_rows(struct hr__keyed_row *rows, size_t count) {
  if (count < 2) return true;
  struct hr__keyed_row *other = malloc(count * sizeof *other);
  if (!other) return false;
  struct hr__keyed_row *from = rows, *to = other;
  size_t counts[N_BYTES][N_VALUES];
  count_bytes(rows, count, counts);
  for (int byte = 0; byte < N_BYTES; byte++) {
    if (counts[byte][rows[0].key >> (8 * byte) & 0xFF] == count) continue;
    scatter(from, to, count, byte, counts[byte]);
    struct hr__keyed_row *swapped = from;
    from = to;
    to = swapped;
  }
  if (from != rows) memcpy(rows, from, count * sizeof *rows);
  free(other);
  return true;
}
