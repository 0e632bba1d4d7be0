/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_TOURNAMENT_H
#define HR_POLICIES_TOURNAMENT_H

/*
 * Values of places 0 .. width - 1, width a power of two, under a binary tree: entry 1 is the root, entries 2 i and
 * 2 i + 1 are below entry i, place p is entry width + p. Above two values stands the greater one (best) or their sum
 * (tally). 2 x width entries, in memory that the caller owns; all zero is a tree of zeros.
 */

#include <stdbool.h>
#include <stdint.h>

static inline uint32_t hr__tournament_width(uint32_t places) {
  uint32_t width = 1;
  while (width < places) width *= 2;
  return width;
}

static inline uint32_t hr__above(uint32_t a, uint32_t b, bool tally) {
  return tally ? a + b : a > b ? a : b;
}

/* Once all places have their values. */
static inline void hr__tournament_build(uint32_t *tree, uint32_t width, bool tally) {
  for (uint32_t i = width - 1; i > 0; i--) tree[i] = hr__above(tree[2 * i], tree[2 * i + 1], tally);
}

static inline void hr__tournament_set(uint32_t *tree, uint32_t width, uint32_t place, uint32_t value, bool tally) {
  uint32_t at = width + place;
  while (tree[at] != value) {
    tree[at] = value;
    if (at == 1) return;
    value = hr__above(tree[at], tree[at ^ 1], tally);
    at /= 2;
  }
}

/* The first place with the greatest value. */
static inline uint32_t hr__tournament_best(const uint32_t *tree, uint32_t width) {
  uint32_t at = 1;
  while (at < width) at = 2 * at + (tree[2 * at] != tree[at]);
  return at - width;
}

/* Of a tally: the place of the n-th unit, n from 0, less than the root. */
static inline uint32_t hr__tally_place(const uint32_t *tree, uint32_t width, uint32_t n) {
  uint32_t at = 1;
  while (at < width) {
    at *= 2;
    if (n < tree[at]) continue;
    n -= tree[at];
    at++;
  }
  return at - width;
}

#endif
