/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KIT_KINETIC_TOURNAMENT_H
#define HR_POLICIES_KIT_KINETIC_TOURNAMENT_H

/*
 * A kinetic tournament (Basch, Guibas and Hershberger, "Data structures for mobile data", SODA'97): finds the first of
 * contestants with values (now - since) / slowness that grow with time, at different speeds. A node of the binary tree
 * has the first contestant of its subtree and the time until which no comparison below it can change, so that only
 * expired nodes are visited as time passes. Two contestants pass each other at most once.
 *
 * Values that are almost equal are compared by `is_before`, again at each new time, so that the result is that of
 * comparing the caller's rounded keys.
 */

#include "headroom/policy.h"

struct hr__line {
  int64_t since_us;
  double slowness; /* above 0 */
};

/* Returns whether a comes before b as of now, for values that differ by less than rounding errors. */
typedef bool hr__is_before(void *self, uint32_t a, uint32_t b);

struct hr__contestant {
  struct hr__line line;
  int64_t value; /* by which searches are bounded */
  uint32_t name; /* HR_NONE: the place is free */
};

struct hr__kinetic_node {
  uint32_t first;   /* a place; HR_NONE: none below */
  int64_t until_us; /* before that, no game below changes */
  int64_t min;      /* minimum of the values below */
};

struct hr__kinetic {
  struct hr_arena *arena;
  hr__is_before *is_before;
  void *self;
  int64_t now_us;
  struct hr__contestant *places; /* [capacity], the leaves */
  uint32_t *free_places;
  struct hr__kinetic_node *nodes; /* [capacity], the root at 1; below i are 2 i and 2 i + 1 */
  uint32_t capacity, count, n_free;
};

/* Returns a place for a new contestant, to be set; HR_NONE: out of memory. */
uint32_t hr__kinetic_add(struct hr__kinetic *kinetic);
void hr__kinetic_set(struct hr__kinetic *kinetic, uint32_t place, struct hr__contestant contestant);
/* To be called after contestants were changed in place: replays all games. */
void hr__kinetic_rebuild(struct hr__kinetic *kinetic);
void hr__kinetic_remove(struct hr__kinetic *kinetic, uint32_t place);
/* Advances time. To be called before queries: contestants added meanwhile are compared as of the last time. */
void hr__kinetic_advance(struct hr__kinetic *kinetic, int64_t now_us);

/* Called with the first of several contestants, and with single ones (`alone`) with a value within the bound of a
   search. Returns whether a contestant that comes after it could matter. */
typedef bool hr__kinetic_visit(void *self, uint32_t name, bool alone);
/* Visits the contestants with a value of at most `bound`, except those that `visit` rules out by their predecessors;
   likely ones first. */
void hr__kinetic_search(const struct hr__kinetic *kinetic, int64_t bound, hr__kinetic_visit *visit, void *self);

/* Returns the name of the first of all; HR_NONE: none. */
static inline uint32_t hr__kinetic_first(const struct hr__kinetic *kinetic) {
  return kinetic->count ? kinetic->places[kinetic->nodes[1].first].name : HR_NONE;
}

#endif
