/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KIT_TOURNAMENT_H
#define HR_POLICIES_KIT_TOURNAMENT_H

/*
 * Values of places under a tree, in so many lanes side by side, each a tournament of its own: one walk up the tree
 * changes a place in all of them. Entries stand in groups of four; above a group stand the greatest values of its
 * lanes (best) or their sums (tally). Level 0 has an entry for each place, the last level the root alone; those of
 * other levels are filled up with zeros to whole groups. shape.size x lanes values, in memory that the caller owns; all
 * zero is a tree of zeros. `lanes` is a number that the compiler knows, where it counts.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { HR__GROUP = 4, HR__MOST_LEVELS = 17, HR__MOST_LANES = 8 };

struct hr__tournament_shape {
  uint32_t n_levels;
  uint32_t n_entries[HR__MOST_LEVELS];
  size_t first[HR__MOST_LEVELS]; /* entry of each level */
  size_t size;                   /* in entries */
};

static inline struct hr__tournament_shape hr__tournament_shape(uint32_t places) {
  struct hr__tournament_shape shape = {0};
  for (uint32_t entries = places ? places : 1, groups = 0; groups != 1; entries = groups) {
    groups = (entries - 1) / HR__GROUP + 1;
    shape.first[shape.n_levels] = shape.size;
    shape.n_entries[shape.n_levels++] = entries;
    shape.size += (size_t)groups * HR__GROUP;
  }
  shape.first[shape.n_levels] = shape.size++;
  shape.n_entries[shape.n_levels++] = 1;
  return shape;
}

static inline uint32_t hr__tournament_root(const struct hr__tournament_shape *shape, const uint32_t *tree,
                                           uint32_t subqueues, uint32_t subqueue) {
  return tree[(shape->size - 1) * subqueues + subqueue];
}

/* Four lanes; compilers do not find them in loops. */
__extension__ typedef uint32_t hr__subqueues __attribute__((vector_size(16), aligned(4), may_alias));
enum { HR__VECTOR = 4 };

static inline hr__subqueues hr__subqueues_above(hr__subqueues a, hr__subqueues b, bool tally) {
  hr__subqueues greater = (hr__subqueues)(a > b);
  return tally ? a + b : (a & greater) | (b & ~greater);
}

static inline uint32_t hr__one_above(uint32_t a, uint32_t b, bool tally) {
  return tally ? a + b : a > b ? a : b;
}

/* What stands above a group. */
static inline void hr__tournament_above(const uint32_t *group, uint32_t subqueues, bool tally, uint32_t *above) {
  if (subqueues == 1) {
    *above = hr__one_above(hr__one_above(group[0], group[1], tally), hr__one_above(group[2], group[3], tally), tally);
    return;
  }
  for (uint32_t i = 0; i < subqueues; i += HR__VECTOR, group += HR__VECTOR) {
    const hr__subqueues *a = (const hr__subqueues *)group, *b = (const hr__subqueues *)(group + subqueues),
                        *c = (const hr__subqueues *)(group + 2 * subqueues),
                        *d = (const hr__subqueues *)(group + 3 * subqueues);
    *(hr__subqueues *)(above + i) =
        hr__subqueues_above(hr__subqueues_above(*a, *b, tally), hr__subqueues_above(*c, *d, tally), tally);
  }
}

/* Once all places have their values. */
static inline void hr__tournament_build(const struct hr__tournament_shape *shape, uint32_t *tree, uint32_t subqueues,
                                        bool tally) {
  for (uint32_t level = 1; level < shape->n_levels; level++)
    for (uint32_t i = 0; i < shape->n_entries[level]; i++)
      hr__tournament_above(tree + (shape->first[level - 1] + (size_t)i * HR__GROUP) * subqueues, subqueues, tally,
                           tree + (shape->first[level] + i) * subqueues);
}

/* `values`: [lanes] of the place; they are overwritten. */
static inline void hr__tournament_set(const struct hr__tournament_shape *shape, uint32_t *tree, uint32_t subqueues,
                                      bool tally, uint32_t place, uint32_t *values) {
  for (uint32_t level = 0;; level++, place /= HR__GROUP) {
    uint32_t *entry = tree + (shape->first[level] + place) * subqueues;
    if (memcmp(entry, values, subqueues * sizeof *values) == 0) return;
    memcpy(entry, values, subqueues * sizeof *values);
    if (level + 1 == shape->n_levels) return;
    hr__tournament_above(entry - (size_t)(place % HR__GROUP) * subqueues, subqueues, tally, values);
  }
}

/* The first place with the greatest value in the lane. */
static inline uint32_t hr__tournament_best(const struct hr__tournament_shape *shape, const uint32_t *tree,
                                           uint32_t subqueues, uint32_t subqueue) {
  uint32_t best = hr__tournament_root(shape, tree, subqueues, subqueue), at = 0;
  for (uint32_t level = shape->n_levels - 1; level-- > 0;) {
    const uint32_t *group = tree + (shape->first[level] + (size_t)at * HR__GROUP) * subqueues + subqueue;
    uint32_t not_first = group[0] != best, nor_second = not_first & (group[subqueues] != best);
    at = at * HR__GROUP + not_first + nor_second + (nor_second & (group[(size_t)2 * subqueues] != best));
  }
  return at;
}

/* Of a tally: the place of the n-th unit in the lane, n from 0, less than the root. */
static inline uint32_t hr__tally_place(const struct hr__tournament_shape *shape, const uint32_t *tree,
                                       uint32_t subqueues, uint32_t subqueue, uint32_t n) {
  uint32_t at = 0;
  for (uint32_t level = shape->n_levels - 1; level-- > 0;) {
    const uint32_t *values = tree + shape->first[level] * subqueues + subqueue;
    for (at *= HR__GROUP; n >= values[(size_t)at * subqueues]; at++) n -= values[(size_t)at * subqueues];
  }
  return at;
}

#endif
