/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KIT_TOURNAMENT_H
#define HR_POLICIES_KIT_TOURNAMENT_H

/*
 * A tree that stores one value for each place and lane. Each lane is a separate tournament over the places; one walk up
 * the tree updates a place in all lanes. Entries are in groups of four. In a tournament, the entry above a group
 * contains the maximum of the group, for each lane. In a tally, which is a tree of counts, it contains the sum. Level 0
 * has one entry per place, and the last level has only the root. All levels except the last are padded with zeros to
 * whole groups. The caller owns the memory of shape.size x lanes values. Memory that is filled with 0 is a valid tree
 * with all values 0. For speed, `lanes` should be a compile-time constant.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { HR__GROUP = 4, HR__MAX_LEVELS = 17, HR__MAX_LANES = 8 };

/* The layout of a tree: the number of levels, and where each level begins. */
struct hr__tournament_shape {
  uint32_t n_levels;
  uint32_t n_entries[HR__MAX_LEVELS];
  size_t first[HR__MAX_LEVELS]; /* by level: index of its first entry */
  size_t size;                  /* number of entries of all levels */
};

/* Returns the shape of a tree over `places` places. */
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

/* Returns the root: the maximum of the lane, or the sum in a tally. */
static inline uint32_t hr__tournament_root(const struct hr__tournament_shape *shape, const uint32_t *tree,
                                           uint32_t lanes, uint32_t lane) {
  return tree[(shape->size - 1) * lanes + lane];
}

/* The values of four lanes. This code uses explicit vectors because compilers do not vectorize the loops. */
__extension__ typedef uint32_t hr__lane_vector __attribute__((vector_size(16), aligned(4), may_alias));
enum { HR__VECTOR = 4 };

static inline hr__lane_vector hr__vector_above(hr__lane_vector a, hr__lane_vector b, bool tally) {
  hr__lane_vector greater = (hr__lane_vector)(a > b);
  return tally ? a + b : (a & greater) | (b & ~greater);
}

static inline uint32_t hr__one_above(uint32_t a, uint32_t b, bool tally) {
  return tally ? a + b : a > b ? a : b;
}

/* Computes the entry above a group: the sum in a tally, else the maximum. */
static inline void hr__tournament_above(const uint32_t *group, uint32_t lanes, bool tally, uint32_t *above) {
  if (lanes == 1) {
    *above = hr__one_above(hr__one_above(group[0], group[1], tally), hr__one_above(group[2], group[3], tally), tally);
    return;
  }
  for (uint32_t i = 0; i < lanes; i += HR__VECTOR, group += HR__VECTOR) {
    const hr__lane_vector *a = (const hr__lane_vector *)group, *b = (const hr__lane_vector *)(group + lanes),
                          *c = (const hr__lane_vector *)(group + 2 * lanes),
                          *d = (const hr__lane_vector *)(group + 3 * lanes);
    *(hr__lane_vector *)(above + i) =
        hr__vector_above(hr__vector_above(*a, *b, tally), hr__vector_above(*c, *d, tally), tally);
  }
}

/* Computes all levels above level 0. The caller has set the values of level 0. */
static inline void hr__tournament_build(const struct hr__tournament_shape *shape, uint32_t *tree, uint32_t lanes,
                                        bool tally) {
  for (uint32_t level = 1; level < shape->n_levels; level++)
    for (uint32_t i = 0; i < shape->n_entries[level]; i++)
      hr__tournament_above(tree + (shape->first[level - 1] + (size_t)i * HR__GROUP) * lanes, lanes, tally,
                           tree + (shape->first[level] + i) * lanes);
}

/* Sets the values of a place, and updates the path to the root. `values`: [lanes], overwritten. */
static inline void hr__tournament_set(const struct hr__tournament_shape *shape, uint32_t *tree, uint32_t lanes,
                                      bool tally, uint32_t place, uint32_t *values) {
  for (uint32_t level = 0;; level++, place /= HR__GROUP) {
    uint32_t *entry = tree + (shape->first[level] + place) * lanes;
    if (memcmp(entry, values, lanes * sizeof *values) == 0) return;
    memcpy(entry, values, lanes * sizeof *values);
    if (level + 1 == shape->n_levels) return;
    hr__tournament_above(entry - (size_t)(place % HR__GROUP) * lanes, lanes, tally, values);
  }
}

/* Returns the first place that has the maximum value of the lane. */
static inline uint32_t hr__tournament_best(const struct hr__tournament_shape *shape, const uint32_t *tree,
                                           uint32_t lanes, uint32_t lane) {
  uint32_t best = hr__tournament_root(shape, tree, lanes, lane), at = 0;
  for (uint32_t level = shape->n_levels - 1; level-- > 0;) {
    const uint32_t *group = tree + (shape->first[level] + (size_t)at * HR__GROUP) * lanes + lane;
    uint32_t not_first = group[0] != best, nor_second = not_first & (group[lanes] != best);
    at = at * HR__GROUP + not_first + nor_second + (nor_second & (group[(size_t)2 * lanes] != best));
  }
  return at;
}

/* For a tally only. A place with value v has v units; units are numbered from 0 in order of places. Returns the place
   of unit n of the lane. n must be less than the sum in the root. */
static inline uint32_t hr__tally_place(const struct hr__tournament_shape *shape, const uint32_t *tree, uint32_t lanes,
                                       uint32_t lane, uint32_t n) {
  uint32_t at = 0;
  for (uint32_t level = shape->n_levels - 1; level-- > 0;) {
    const uint32_t *values = tree + shape->first[level] * lanes + lane;
    for (at *= HR__GROUP; n >= values[(size_t)at * lanes]; at++) n -= values[(size_t)at * lanes];
  }
  return at;
}

#endif
