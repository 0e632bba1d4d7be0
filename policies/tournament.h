/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_TOURNAMENT_H
#define HR_POLICIES_TOURNAMENT_H

/*
 * Values of places under a tree whose entries stand in groups of 16: above a group stands its greatest value (best) or
 * its sum (tally). Level 0 has an entry for each place, the last level the root alone; those of other levels are filled
 * up with zeros to whole groups. A place whose value changes, but neither was nor becomes the best of its group, costs
 * one comparison; a group is one or two cache lines. All trees of one shape are of shape.size entries, in memory that
 * the caller owns; all zero is a tree of zeros. Values are at most INT32_MAX.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HR__GROUP = 16, HR__MOST_LEVELS = 9 };

struct hr__tournament_shape {
  uint32_t n_levels;
  uint32_t first[HR__MOST_LEVELS]; /* entry of each level */
  uint32_t n_entries[HR__MOST_LEVELS];
  uint32_t size;
};

static inline struct hr__tournament_shape hr__tournament_shape(uint32_t places) {
  struct hr__tournament_shape shape = {0};
  for (uint32_t entries = places ? places : 1, above = 0; above != 1; entries = above) {
    above = (entries + HR__GROUP - 1) / HR__GROUP;
    shape.first[shape.n_levels] = shape.size;
    shape.n_entries[shape.n_levels++] = entries;
    shape.size += above * HR__GROUP;
  }
  shape.first[shape.n_levels] = shape.size++;
  shape.n_entries[shape.n_levels++] = 1;
  return shape;
}

static inline uint32_t hr__tournament_root(const struct hr__tournament_shape *shape, const uint32_t *tree) {
  return tree[shape->first[shape->n_levels - 1]];
}

static inline uint32_t hr__group_best(const uint32_t *group) {
  int32_t best = 0;
  for (uint32_t i = 0; i < HR__GROUP; i++) best = (int32_t)group[i] > best ? (int32_t)group[i] : best;
  return (uint32_t)best;
}

static inline uint32_t hr__group_sum(const uint32_t *group) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < HR__GROUP; i++) sum += group[i];
  return sum;
}

/* Once all places, entries 0 .. places - 1, have their values. */
static inline void hr__tournament_build(const struct hr__tournament_shape *shape, uint32_t *tree, bool tally) {
  for (uint32_t level = 1; level < shape->n_levels; level++) {
    const uint32_t *below = tree + shape->first[level - 1];
    uint32_t *above = tree + shape->first[level];
    for (uint32_t i = 0; i < shape->n_entries[level]; i++)
      above[i] = tally ? hr__group_sum(below + (size_t)i * HR__GROUP) : hr__group_best(below + (size_t)i * HR__GROUP);
  }
}

static inline void hr__tournament_set(const struct hr__tournament_shape *shape, uint32_t *tree, uint32_t place,
                                      uint32_t value) {
  for (uint32_t level = 0;; level++) {
    uint32_t *entry = tree + shape->first[level] + place, before = *entry;
    *entry = value;
    if (value == before || level + 1 == shape->n_levels) return;
    uint32_t group = place / HR__GROUP, best = tree[shape->first[level + 1] + group];
    if (value < best && before < best) return;
    if (value < best) value = hr__group_best(entry - place % HR__GROUP);
    place = group;
  }
}

/* Likewise of a tally. */
static inline void hr__tally_set(const struct hr__tournament_shape *shape, uint32_t *tree, uint32_t place,
                                 uint32_t value) {
  uint32_t more = value - tree[place];
  for (uint32_t level = 0; level < shape->n_levels; level++, place /= HR__GROUP)
    tree[shape->first[level] + place] += more;
}

/* The first place with the greatest value. */
static inline uint32_t hr__tournament_best(const struct hr__tournament_shape *shape, const uint32_t *tree) {
  uint32_t best = hr__tournament_root(shape, tree), at = 0;
  for (uint32_t level = shape->n_levels - 1; level-- > 0;) {
    at *= HR__GROUP;
    while (tree[shape->first[level] + at] != best) at++;
  }
  return at;
}

/* Of a tally: the place of the n-th unit, n from 0, less than the root. */
static inline uint32_t hr__tally_place(const struct hr__tournament_shape *shape, const uint32_t *tree, uint32_t n) {
  uint32_t at = 0;
  for (uint32_t level = shape->n_levels - 1; level-- > 0;) {
    at *= HR__GROUP;
    for (; n >= tree[shape->first[level] + at]; at++) n -= tree[shape->first[level] + at];
  }
  return at;
}

#endif
