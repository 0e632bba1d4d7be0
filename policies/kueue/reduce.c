/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Partial admission: a binary search for the largest numbers of pods that fit. Candidate k of 0 .. sum of (full -
   minimum) takes away the k-th part of each pod set's difference. Source:
   pkg/scheduler/flavorassigner/podset_reducer.go of kubernetes-sigs/kueue. */

#include "policies/kueue/flavor.h"

static int64_t least(int64_t full, int64_t minimum) {
  return minimum < 0 ? full : minimum;
}

static void fill(const int64_t *full, const int64_t *minimum, uint32_t n, int64_t step, int64_t total,
                 int64_t *counts) {
  for (uint32_t i = 0; i < n; i++) {
    int64_t delta = full[i] - least(full[i], minimum[i]);
    counts[i] = full[i] - delta * step / total;
  }
}

bool hr__kueue_reduce(const int64_t *full, const int64_t *minimum, uint32_t n, int64_t *counts,
                      hr__kueue_try_counts *fits, void *self) {
  int64_t total = 0;
  for (uint32_t i = 0; i < n; i++) total += full[i] - least(full[i], minimum[i]);
  if (total <= 0) return false;
  int64_t low = 0, high = total + 1; /* the first candidate that fits is in low .. high; high: none */
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    fill(full, minimum, n, middle, total, counts);
    if (middle <= total && fits(self, counts))
      high = middle;
    else
      low = middle + 1;
  }
  if (low > total) return false;
  fill(full, minimum, n, low, total, counts);
  return fits(self, counts);
}
