/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_TOURNAMENT_H
#define HR_BASE_TOURNAMENT_H

/*
 * A tournament tree: finds the entry with the least key among a fixed number of entries. If several entries have the
 * least key, the one with the lowest number is found. If the key of an entry changes, the comparisons from the entry
 * towards the root are repeated. This ends at the root, or at the first comparison whose winner is another entry and
 * remains the same. The other side of each comparison is an element that did not change, so its key is loaded early and
 * a level takes few cycles. The winner is selected without a branch.
 *
 * Layout: element i of `winner` is the winner of the elements 2i and 2i + 1; element 1 is the winner of all; the last
 * n_leaves elements are the entries.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* The key of entries that are not in the tournament. */
#define HR__NO_KEY INT64_MAX

struct hr__tournament {
  int64_t *key;     /* [n_leaves] by entry */
  uint32_t *winner; /* [2 n_leaves] */
  uint32_t n_leaves;
};

/* Prepares an empty tournament, in which every key is HR__NO_KEY. Returns false if memory is exhausted. The caller
   closes the tournament in both cases. */
static inline bool hr__tournament_open(struct hr__tournament *all, uint32_t count) {
  uint32_t n = 1;
  while (n < count) n *= 2;
  all->n_leaves = n;
  all->key = (int64_t *)calloc(n, sizeof *all->key);
  all->winner = (uint32_t *)calloc((size_t)2 * n, sizeof *all->winner);
  if (!all->key || !all->winner) return false;
  for (uint32_t i = 0; i < n; i++) all->key[i] = HR__NO_KEY;
  for (uint32_t i = 0; i < n; i++) all->winner[n + i] = i;
  for (uint32_t i = n - 1; i > 0; i--) all->winner[i] = all->winner[2 * i];
  return true;
}

static inline void hr__tournament_close(struct hr__tournament *all) {
  free(all->key);
  free(all->winner);
}

/* Returns the entry with the least key. If the key of this entry is HR__NO_KEY, the tournament is empty. */
static inline uint32_t hr__tournament_first(const struct hr__tournament *all) {
  return all->winner[1];
}

static inline int64_t hr__tournament_least(const struct hr__tournament *all) {
  return all->key[all->winner[1]];
}

/* Changes the key of an entry. */
static inline void hr__tournament_set(struct hr__tournament *all, uint32_t number, int64_t key) {
  uint32_t *winner = all->winner, best = number;
  int64_t least = key;
  if (all->key[number] == key) return;
  all->key[number] = key;
  for (uint32_t i = all->n_leaves + number; i > 1; i /= 2) {
    const uint32_t other = winner[i ^ 1];
    const int64_t other_key = all->key[other];
    const bool loses = other_key < least || (other_key == least && other < best);
    best = loses ? other : best;
    least = loses ? other_key : least;
    if (winner[i / 2] == best && best != number) return;
    winner[i / 2] = best;
  }
}

#endif
