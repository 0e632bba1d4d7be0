/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_WORKLOAD_PAIRS_H
#define HR_WORKLOAD_PAIRS_H

/* Columns in order: keys, with what they belong to. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hr__pair {
  int64_t key; /* at least 0 */
  int64_t value;
};

/* By key; equal keys stay in their order. At most 2^32 pairs. False when out of memory. */
bool hr__pairs_sort(struct hr__pair *pairs, size_t count);

/* A set of hashes, to be asked whether it has met one. */
struct hr__hash_set {
  uint64_t *slot; /* [mask + 1]; 0: empty */
  uint64_t mask;
};
/* For so many hashes. False when out of memory. */
bool hr__hash_set_init(struct hr__hash_set *set, size_t count);
void hr__hash_set_finish(struct hr__hash_set *set);
bool hr__hash_set_has(const struct hr__hash_set *set, uint64_t hash);
/* Whether it was new. */
bool hr__hash_set_add(struct hr__hash_set *set, uint64_t hash);
uint64_t hr__hash_more(uint64_t hash, uint64_t value);

#endif
