/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_BITSET_H
#define HR_BASE_BITSET_H

/*
 * A set of small integers with summary levels. Bit i of level k + 1 is set if word i of level k is not zero. A search
 * for the next member reads at most two words per level, however large the set is. Several sets of the same size may
 * share one shape (the positions of the levels). The words of a set are stored level after level, in memory that the
 * caller owns and has zeroed.
 */

#include <stdbool.h>
#include <stdint.h>

enum { HR__BITSET_LEVELS = 4 }; /* 64^4 = 16.7 million members */

struct hr__bitset_shape {
  uint32_t n_levels, n_words;
  /* for each level: the index of its first word, and how many words it has */
  uint32_t offset[HR__BITSET_LEVELS], length[HR__BITSET_LEVELS];
};

static inline struct hr__bitset_shape hr__bitset_shape(uint32_t n_bits) {
  struct hr__bitset_shape shape = {0};
  do {
    n_bits = n_bits / 64 + (n_bits % 64 != 0 || n_bits == 0);
    shape.offset[shape.n_levels] = shape.n_words;
    shape.length[shape.n_levels++] = n_bits;
    shape.n_words += n_bits;
  } while (n_bits > 1);
  return shape;
}

static inline bool hr__bitset_has(const uint64_t *words, uint32_t bit) {
  return words[bit / 64] >> bit % 64 & 1;
}

static inline void hr__bitset_add(const struct hr__bitset_shape *shape, uint64_t *words, uint32_t bit) {
  for (uint32_t level = 0; level < shape->n_levels; level++, bit /= 64) {
    uint64_t *word = &words[shape->offset[level] + bit / 64];
    bool was_empty = *word == 0;
    *word |= UINT64_C(1) << bit % 64;
    if (!was_empty) return;
  }
}

static inline void hr__bitset_remove(const struct hr__bitset_shape *shape, uint64_t *words, uint32_t bit) {
  for (uint32_t level = 0; level < shape->n_levels; level++, bit /= 64) {
    uint64_t *word = &words[shape->offset[level] + bit / 64];
    *word &= ~(UINT64_C(1) << bit % 64);
    if (*word) return;
  }
}

/* Returns the smallest member >= `from`, or UINT32_MAX if no such member exists. */
static inline uint32_t hr__bitset_next(const struct hr__bitset_shape *shape, const uint64_t *words, uint32_t from) {
  uint32_t level = 0, at = from;
  for (;; level++) { /* ascend to the first level with a set bit at or after `at` in the same word */
    if (level == shape->n_levels || at / 64 >= shape->length[level]) return UINT32_MAX;
    uint64_t word = words[shape->offset[level] + at / 64] & ~UINT64_C(0) << at % 64;
    if (word) {
      at = at / 64 * 64 + (uint32_t)__builtin_ctzll(word);
      break;
    }
    at = at / 64 + 1;
  }
  /* descend to the smallest member below this bit */
  while (level-- > 0) at = at * 64 + (uint32_t)__builtin_ctzll(words[shape->offset[level] + at]);
  return at;
}

/* Returns the largest member, or UINT32_MAX if the set is empty. */
static inline uint32_t hr__bitset_last(const struct hr__bitset_shape *shape, const uint64_t *words) {
  uint32_t at = 0;
  for (uint32_t level = shape->n_levels; level-- > 0;) {
    uint64_t word = words[shape->offset[level] + at];
    if (!word) return UINT32_MAX;
    at = at * 64 + 63 - (uint32_t)__builtin_clzll(word);
  }
  return at;
}

#endif
