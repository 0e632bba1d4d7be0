/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KIT_KINETIC_TOURNAMENT_H
#define HR_POLICIES_KIT_KINETIC_TOURNAMENT_H

/*
 * A kinetic tournament (Basch, Guibas and Hershberger, "Data structures for mobile data", SODA'97). It finds the first
 * of contestants whose values (now - since) / slowness grow with time, at different speeds. Each node of a binary tree
 * stores the first contestant of its subtree, and the time until which no comparison below the node can change. When
 * time advances, only expired nodes are visited. Two contestants change their order at most once.
 *
 * Values that are almost equal are compared by `is_before`, at each new time. The result is therefore the same as that
 * of comparing the rounded keys of the caller.
 */

#include "headroom/policy.h"

/* A value that grows linearly with time: (now_us - since_us) / slowness. */
struct hr__line {
  int64_t since_us;
  double slowness; /* greater than 0 */
};

/* Returns whether a precedes b now. Called for values whose difference is below the rounding errors. */
typedef bool hr__is_before(void *self, uint32_t a, uint32_t b);

/* A contestant, stored in a place. */
struct hr__contestant {
  struct hr__line line;
  int64_t value; /* value that searches compare with their bound */
  uint32_t name; /* caller's number of the contestant; HR_NONE: the place is free */
};

/* A node of the tree. */
struct hr__kinetic_node {
  uint32_t first;   /* place of the first contestant below the node; HR_NONE: none */
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

/* Returns the index of a new place, which the caller sets; HR_NONE: out of memory. */
uint32_t hr__kinetic_add(struct hr__kinetic *kinetic);
/* Sets the contestant of a place, and updates the path to the root. */
void hr__kinetic_set(struct hr__kinetic *kinetic, uint32_t place, struct hr__contestant contestant);
/* Repeats all comparisons. The caller must call this function after it has changed contestants in place. */
void hr__kinetic_rebuild(struct hr__kinetic *kinetic);
/* Removes the contestant of a place. The place can be used again. */
void hr__kinetic_remove(struct hr__kinetic *kinetic, uint32_t place);
/* Advances time to `now_us`. The caller must call this function before queries, because contestants that were added
   since are compared as of the previous time. */
void hr__kinetic_advance(struct hr__kinetic *kinetic, int64_t now_us);

/* Called by a search for a subtree with its first contestant, or for a single contestant (`alone`) whose value is
   within the bound. Returns whether contestants that come after this one in the order may still be of interest. */
typedef bool hr__kinetic_visit(void *self, uint32_t name, bool alone);
/* Visits contestants with a value of at most `bound`. A subtree is skipped if `visit` returns false for its first
   contestant. Subtrees that are more likely to contain the result are visited first. */
void hr__kinetic_search(const struct hr__kinetic *kinetic, int64_t bound, hr__kinetic_visit *visit, void *self);

/* Returns the name of the first contestant; HR_NONE: the tournament is empty. */
static inline uint32_t hr__kinetic_first(const struct hr__kinetic *kinetic) {
  return kinetic->count ? kinetic->places[kinetic->nodes[1].first].name : HR_NONE;
}

#endif
