/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Apportionment by the method of the largest remainder (Hamilton's method). */

#include "report/costs/apportion.h"

#include <stdlib.h>

struct remainder {
  hr_amount rest;
  size_t at;
};

static int largest_first(const void *a, const void *b) {
  const struct remainder *x = a, *y = b;
  if (x->rest != y->rest) return x->rest > y->rest ? -1 : 1;
  return (x->at > y->at) - (x->at < y->at);
}

enum hr_status hr__apportion(const hr_amount *amounts, size_t count, hr_amount unit, int64_t *parts) {
  hr_amount sum = 0, left = 0;
  for (size_t i = 0; i < count; i++) sum += amounts[i];
  left = hr__divided(sum, unit);
  if (left >= HR__MAX_UUSD) return HR_BAD_INPUT;
  struct remainder *remainders = malloc((count + 1) * sizeof *remainders);
  if (!remainders) return HR_NO_MEMORY;
  for (size_t i = 0; i < count; i++) {
    parts[i] = (int64_t)(amounts[i] / unit);
    remainders[i] = (struct remainder){amounts[i] % unit, i};
    left -= parts[i];
  }
  if (left > 0) qsort(remainders, count, sizeof *remainders, largest_first);
  for (size_t i = 0; (hr_amount)i < left; i++) parts[remainders[i].at]++;
  free(remainders);
  return HR_OK;
}

/* Shifts all weights right until their sum is below 2^60. Then `amount % sum` and each weight are below 2^60, so their
   product fits into 128 bits. */
void hr__spread(hr_amount amount, const hr_amount *weights, size_t count, hr_amount *parts) {
  hr_amount sum = 0, left = amount;
  size_t last = 0;
  unsigned shift = 0;
  for (size_t i = 0; i < count; i++) {
    parts[i] = 0;
    sum += weights[i];
  }
  while (sum >> shift >= (hr_amount)1 << 60) shift++;
  sum = 0;
  for (size_t i = 0; i < count; i++) {
    if (weights[i] >> shift) last = i;
    sum += weights[i] >> shift;
  }
  for (size_t i = 0; i < last; i++) {
    hr_amount weight = weights[i] >> shift;
    parts[i] = amount / sum * weight + amount % sum * weight / sum;
    left -= parts[i];
  }
  parts[last] += left;
}
