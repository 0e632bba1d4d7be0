/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KIT_KINETIC_TOURNAMENT_H
#define HR_POLICIES_KIT_KINETIC_TOURNAMENT_H

/*
 * A kinetic tournament (Basch, Guibas and Hershberger, "Data structures for mobile data", SODA'97): who is first among
 * contestants whose values (now - since) / slowness grow with time, at different speeds. A node of the binary tree
 * keeps the first of its subtree and the time until which no comparison below it can come out otherwise, so that, as
 * time goes, only nodes whose time has come are looked at again. Two contestants pass each other once at most.
 *
 * Values that are all but equal are compared by `is_before`, again at each new time, so that the outcome is that of
 * comparing whatever rounded numbers stand for them.
 */

#include "headroom/policy.h"

struct hr__line {
  int64_t since_us;
  double slowness; /* above 0 */
};

/* Whether a comes before b as of now, where values differ by less than rounding may. */
typedef bool hr__is_before(void *self, uint32_t a, uint32_t b);

struct hr__contestant {
  struct hr__line line;
  int64_t value; /* that searches are bounded by */
  uint32_t name; /* HR_NONE: the place is free */
};

struct hr__kinetic_node {
  uint32_t first;   /* a place, HR_NONE while there is none below */
  int64_t until_us; /* no game below comes out otherwise before that */
  int64_t least;    /* of the values below */
};

struct hr__kinetic {
  struct hr_arena *arena;
  hr__is_before *is_before;
  void *self;
  int64_t now_us;
  struct hr__contestant *places; /* `capacity` of them, the leaves */
  uint32_t *free_places;
  struct hr__kinetic_node *nodes; /* `capacity` of them, the root at 1, below i are 2 i and 2 i + 1 */
  uint32_t capacity, count, n_free;
};

/* A place for one more, to be set; HR_NONE: out of memory. */
uint32_t hr__kinetic_add(struct hr__kinetic *kinetic);
void hr__kinetic_set(struct hr__kinetic *kinetic, uint32_t place, struct hr__contestant contestant);
/* All contestants may be changed in place, if then all games are played anew. */
void hr__kinetic_rebuild(struct hr__kinetic *kinetic);
void hr__kinetic_remove(struct hr__kinetic *kinetic, uint32_t place);
/* Time goes on. To be told before asking: what was added meanwhile is compared as of the last time told. */
void hr__kinetic_advance(struct hr__kinetic *kinetic, int64_t now_us);

/* Called with the first of several, and with one alone (`alone`), whose value is at most the bound of a search. Returns
   whether one of those that come after it could matter. */
typedef bool hr__kinetic_visit(void *self, uint32_t name, bool alone);
/* Goes to those with a value of at most `bound` whom `visit` does not rule out by who is before them, the likely ones
   first. */
void hr__kinetic_search(const struct hr__kinetic *kinetic, int64_t bound, hr__kinetic_visit *visit, void *self);

/* The name of the first of all; HR_NONE: nobody races. */
static inline uint32_t hr__kinetic_first(const struct hr__kinetic *kinetic) {
  return kinetic->count ? kinetic->places[kinetic->nodes[1].first].name : HR_NONE;
}

#endif
