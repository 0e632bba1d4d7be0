/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KIT_KINETIC_TOURNAMENT_H
#define HR_POLICIES_KIT_KINETIC_TOURNAMENT_H

/*
 * A kinetic tournament (Basch, Guibas and Hershberger, "Data structures for mobile data", SODA'97). The values (now -
 * since) / slowness of the contestants grow with time, at different speeds; the contestant with the largest value is
 * first. Each node of a binary tree stores the first contestant of its subtree, and the time until which no comparison
 * below the node can change. When time advances, only expired nodes are visited. Two contestants change their order at
 * most once.
 *
 * If two values are almost equal, the caller's function `is_before` compares the contestants, again at each new time.
 * The order is therefore always that of the caller's keys, even if these keys are rounded.
 */

#include "headroom/policy.h"

/* A value that grows linearly with time: (now_us - since_us) / slowness. */
struct hr__line {
  int64_t since_us;
  double slowness; /* greater than 0 */
};

/* Returns whether contestant a precedes contestant b now. Called if their values are almost equal. a and b are the
   caller's names of the contestants. */
typedef bool hr__is_before(void *self, uint32_t a, uint32_t b);

/* A contestant, stored in a place. */
struct hr__contestant {
  struct hr__line line;
  int64_t value; /* the value with which a search compares its bound; it does not affect the order */
  uint32_t name; /* by which the caller identifies the contestant; HR_NONE: the place is free */
};

/* A node of the tree. */
struct hr__kinetic_node {
  uint32_t first;   /* place of the contestant below the node that is first in order; HR_NONE: none */
  int64_t until_us; /* no comparison below the node changes before this time */
  int64_t min;      /* minimum of the contestants' `value` below the node */
};

/* The tournament. The caller sets arena, is_before and self, and initializes the other members with 0. */
struct hr__kinetic {
  struct hr_arena *arena;
  hr__is_before *is_before;
  void *self;
  int64_t now_us;
  struct hr__contestant *places; /* [capacity], the leaves */
  uint32_t *free_places;
  struct hr__kinetic_node *nodes; /* [capacity]; the root is node 1, the children of node i are 2 i and 2 i + 1 */
  uint32_t capacity, count, n_free;
};

/* Returns the index of a new place. The caller must set its contestant. HR_NONE: out of memory. */
uint32_t hr__kinetic_add(struct hr__kinetic *kinetic);
/* Sets the contestant of a place, and updates the path to the root. */
void hr__kinetic_set(struct hr__kinetic *kinetic, uint32_t place, struct hr__contestant contestant);
/* Repeats all comparisons. The caller must call this function after it has changed contestants in place. */
void hr__kinetic_rebuild(struct hr__kinetic *kinetic);
/* Removes the contestant of a place. The place can be used again. */
void hr__kinetic_remove(struct hr__kinetic *kinetic, uint32_t place);
/* Advances time to `now_us`. The caller must call this function before queries at a new time. Until then, all
   comparisons are made as of the previous time. */
void hr__kinetic_advance(struct hr__kinetic *kinetic, int64_t now_us);

/* Called by a search. If `alone` is false, `first` is the first contestant of a subtree; the function returns whether
   the subtree may contain a contestant that the caller needs. If `alone` is true, `first` is a contestant whose value
   is at most the bound. */
typedef bool hr__kinetic_visit(void *self, const struct hr__contestant *first, bool alone);
/* Visits contestants with a value of at most `bound`. A subtree is skipped if `visit` returns false for its first
   contestant. Subtrees that are more likely to contain the result are visited first. */
void hr__kinetic_search(const struct hr__kinetic *kinetic, int64_t bound, hr__kinetic_visit *visit, void *self);

/* Returns whether contestant a precedes contestant b now. They need not be in the tournament. */
bool hr__kinetic_precedes(const struct hr__kinetic *kinetic, const struct hr__contestant *a,
                          const struct hr__contestant *b);

/* Returns the name of the first contestant; HR_NONE: the tournament is empty. */
static inline uint32_t hr__kinetic_first(const struct hr__kinetic *kinetic) {
  return kinetic->count ? kinetic->places[kinetic->nodes[1].first].name : HR_NONE;
}

#endif
