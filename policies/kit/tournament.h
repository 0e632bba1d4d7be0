/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KIT_TOURNAMENT_H
#define HR_POLICIES_KIT_TOURNAMENT_H

/* Tournaments: trees that find the maximum of many values, which are constant or grow with time. */

#include "headroom/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- Values that are constant -------------------------------------------------------------------------- */

/*
 * A tree that stores one value for each place and lane. Each lane is a separate tournament over the places; one walk up
 * the tree updates a place in all lanes. Entries are in groups of four. In a tournament, the entry above a group
 * contains the maximum of the group, for each lane. In a tally, which is a tree of counts, it contains the sum. Level 0
 * has one entry per place, and the last level has only the root. All levels except the last are padded with zeros to
 * whole groups. The caller owns the memory of shape.size x lanes values. Memory that is filled with 0 is a valid tree
 * with all values 0. `lanes` must be 1 or a multiple of 4; if it is not 1, values must be less than 2^31. For speed, it
 * should be a compile-time constant.
 */

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

/* The values of four lanes. This code uses explicit vectors because compilers do not vectorize the loops. They are
   signed, because x86-64 processors cannot compare vectors of unsigned numbers in one step. */
__extension__ typedef int32_t hr__lane_vector __attribute__((vector_size(16), aligned(4), may_alias));
enum { HR__VECTOR = 4 };

static inline hr__lane_vector hr__vector_above(hr__lane_vector a, hr__lane_vector b, bool tally) {
  hr__lane_vector greater = (hr__lane_vector)(a > b);
  return tally ? a + b : (a & greater) | (b & ~greater);
}

static inline uint32_t hr__one_above(uint32_t a, uint32_t b, bool tally) {
  return tally ? a + b : a > b ? a : b;
}

/* Combines `values`, the entry at index `own` of a group, with the other three entries, and writes the entry above the
   group to `values`: the sum in a tally, else the maximum. The entry at `own` in the group is not read, because a walk
   up the tree would have to wait until it has been stored. */
static inline void hr__tournament_combine(const uint32_t *group, uint32_t lanes, bool tally, uint32_t own,
                                          uint32_t *values) {
  const uint32_t *a = group + (own ^ 1) * lanes, *b = group + (own ^ 2) * lanes, *c = group + (own ^ 3) * lanes;
  if (lanes == 1) *values = hr__one_above(*values, hr__one_above(*a, hr__one_above(*b, *c, tally), tally), tally);
  for (uint32_t i = 0; lanes > 1 && i < lanes; i += HR__VECTOR) {
    hr__lane_vector *above = (hr__lane_vector *)(values + i);
    hr__lane_vector others =
        hr__vector_above(*(const hr__lane_vector *)(b + i), *(const hr__lane_vector *)(c + i), tally);
    *above = hr__vector_above(*above, hr__vector_above(*(const hr__lane_vector *)(a + i), others, tally), tally);
  }
}

/* Sets the values of a place, and updates the path to the root. `values`: [lanes], overwritten. `tally`: the tree is a
   tally. With one lane, the walk ends where the value does not change. With several lanes, it always ends at the root,
   because a branch that the processor cannot predict takes longer than the rest of the walk. */
static inline void hr__tournament_set(const struct hr__tournament_shape *shape, uint32_t *tree, uint32_t lanes,
                                      bool tally, uint32_t place, uint32_t *values) {
  for (uint32_t level = 0;; level++, place /= HR__GROUP) {
    uint32_t *entry = tree + (shape->first[level] + place) * lanes, own = place % HR__GROUP;
    if (lanes == 1 && *entry == *values) return;
    memcpy(entry, values, lanes * sizeof *values);
    if (level + 1 == shape->n_levels) return;
    hr__tournament_combine(entry - (size_t)own * lanes, lanes, tally, own, values);
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

/* ---- Values that grow with time (kinetic_tournament.c) ------------------------------------------------- */

/*
 * A kinetic tournament (Basch, Guibas and Hershberger, "Data structures for mobile data", SODA'97). The values (now -
 * since) / slowness of the contestants grow with time, at different speeds; the contestant with the largest value is
 * first. Each node of a binary tree stores the first contestant of its subtree, and the time until which no comparison
 * below the node can change. When time advances, only expired nodes are visited. Two contestants change their order at
 * most once.
 *
 * If two values are almost equal, the caller's function `is_before` compares the contestants, and is called again at
 * each new time. The order is therefore always that of the caller's keys, even if these keys are rounded.
 */

/* A value that grows linearly with time: (now_us - since_us) / slowness. */
struct hr__line {
  int64_t since_us;
  double slowness; /* greater than 0 */
};

/* Returns whether contestant a precedes contestant b now. Called if their values are almost equal. a and b are the
   caller's names of the contestants. */
typedef bool hr__is_before(void *self, uint32_t a, uint32_t b);

/* A contestant. */
struct hr__contestant {
  struct hr__line line;
  int64_t value; /* the value with which a search compares its bound; it does not affect the order */
  int64_t own; /* at least `value`; if at most the bound, a search skips the contestants after this one in a subtree */
  uint32_t name; /* by which the caller identifies the contestant; HR_NONE: the leaf is free */
};

/* A node of the tree. It has a copy of the contestant, so that walks through a large tree need not read the places,
   which are rarely in a cache. */
struct hr__kinetic_node {
  struct hr__contestant first; /* the contestant below the node that is first in order; name HR_NONE: none */
  int64_t until_us;            /* no comparison below the node changes before this time */
  int64_t min;                 /* minimum of the contestants' `value` below the node */
  uint32_t n_free;             /* free leaves below the node */
};

/* The tournament. The caller sets arena, is_before and self, and initializes the other members with 0. */
struct hr__kinetic {
  struct hr_arena *arena;
  hr__is_before *is_before;
  void *self;
  int64_t now_us;
  struct hr__contestant *places;  /* [capacity], the leaves */
  uint32_t *place_of;             /* [capacity], by number of a contestant: its leaf; HR_NONE: none */
  uint32_t *free_numbers;         /* [n_free] */
  struct hr__kinetic_node *nodes; /* [capacity]; the root is node 1, the children of node i are 2 i and 2 i + 1 */
  uint32_t capacity, count, n_free;
};

/* Returns the number of a new contestant. The caller must set it before it adds another one. HR_NONE: out of memory. */
uint32_t hr__kinetic_add(struct hr__kinetic *kinetic);
/* Sets a contestant, and updates the path from its leaf to the root. */
void hr__kinetic_set(struct hr__kinetic *kinetic, uint32_t number, struct hr__contestant contestant);
/* Repeats all comparisons. */
void hr__kinetic_rebuild(struct hr__kinetic *kinetic);
/* Removes a contestant. Its number can be used again. */
void hr__kinetic_remove(struct hr__kinetic *kinetic, uint32_t number);
/* Advances time to `now_us`. The caller must call this function before queries at a new time. Until then, all
   comparisons are made as of the previous time. */
void hr__kinetic_advance(struct hr__kinetic *kinetic, int64_t now_us);

/* Called by a search. If `alone` is false, `first` is the first contestant of a subtree; the function returns whether
   the subtree may contain a contestant that the caller needs. If `alone` is true, `first` is a contestant whose value
   is at most the bound, and no other contestant of its subtree is needed. */
typedef bool hr__kinetic_visit(void *self, const struct hr__contestant *first, bool alone);
/* Visits contestants with a value of at most `bound`. A subtree is skipped if `visit` returns false for its first
   contestant. Subtrees that are more likely to contain the result are visited first. */
void hr__kinetic_search(const struct hr__kinetic *kinetic, int64_t bound, hr__kinetic_visit *visit, void *self);

/* Returns whether contestant a precedes contestant b now. They need not be in the tournament. */
bool hr__kinetic_precedes(const struct hr__kinetic *kinetic, const struct hr__contestant *a,
                          const struct hr__contestant *b);

/* Returns the name of the first contestant; HR_NONE: the tournament is empty. */
static inline uint32_t hr__kinetic_first(const struct hr__kinetic *kinetic) {
  return kinetic->count ? kinetic->nodes[1].first.name : HR_NONE;
}

#endif
