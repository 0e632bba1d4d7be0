/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A kinetic tournament: see tournament.h. The leaves are in an array, which doubles when it is full. The inner
   nodes are stored like a binary heap. If a contestant changes, the comparisons on the path from its leaf to the root
   are repeated. When time advances, only comparisons that have expired are repeated.

   The leaves are nearly sorted by the value of the contestants, so that the contestants within a bound are in few whole
   subtrees, and a search visits few nodes. A new contestant gets a free leaf near those with similar values. When the
   leaves double, they are sorted, and every second one remains free. */

#include "policies/kit/tournament.h"

#include "base/containers.h"

enum { FIRST_CAPACITY = 4 };

/* If the relative difference of two values is at most CLOSE, they are compared by `is_before`, because rounding errors
   could change the result of a comparison in this file. CLOSER, which is half of CLOSE, is still larger than all
   rounding errors. */
#define CLOSE 0x1p-48
#define CLOSER 0x1p-49

/* ---- Comparisons ------------------------------------------------------------------------------------- */

/* Returns (now - since of a) x (slowness of b). The value of a exceeds that of b if side(a, b) > side(b, a). */
static double side(const struct hr__kinetic *kinetic, const struct hr__contestant *a, const struct hr__contestant *b) {
  return (double)(kinetic->now_us - a->line.since_us) * b->line.slowness;
}

static bool are_close(double left, double right) {
  double lead = left > right ? left - right : right - left;
  return lead <= CLOSE * (left > right ? left : right);
}

bool hr__kinetic_precedes(const struct hr__kinetic *kinetic, const struct hr__contestant *a,
                          const struct hr__contestant *b) {
  double left = side(kinetic, a, b), right = side(kinetic, b, a);
  if (are_close(left, right)) return kinetic->is_before(kinetic->self, a->name, b->name);
  return left > right;
}

/* Returns a time until which `first` is certainly before `second`. The lead of `first` decreases in proportion to the
   difference in slowness. Until the returned time, the relative lead is at least CLOSER, so that rounding errors do not
   change the order. The returned time may be slightly too early, which costs one more comparison, but it is never too
   late. */
static int64_t before_until(const struct hr__kinetic *kinetic, const struct hr__contestant *first,
                            const struct hr__contestant *second) {
  double left = side(kinetic, first, second), right = side(kinetic, second, first);
  if (are_close(left, right)) return kinetic->now_us + 1;
  double slower = first->line.slowness - second->line.slowness + CLOSER * first->line.slowness;
  if (slower <= 0) return HR_NEVER_US;
  double wait_us = 0.999 * (left - right - CLOSER * right) / slower;
  if (wait_us >= 0x1p61) return HR_NEVER_US;
  return kinetic->now_us + (wait_us > 1 ? (int64_t)wait_us : 1);
}

/* ---- The tree ------------------------------------------------------------------------------------- */

/* The members of node `at`. Leaves follow the inner nodes. */
static const struct hr__contestant *first_at(const struct hr__kinetic *kinetic, uint32_t at) {
  return at < kinetic->capacity ? &kinetic->nodes[at].first : &kinetic->places[at - kinetic->capacity];
}

static int64_t until_at(const struct hr__kinetic *kinetic, uint32_t at) {
  return at < kinetic->capacity ? kinetic->nodes[at].until_us : HR_NEVER_US;
}

static int64_t min_at(const struct hr__kinetic *kinetic, uint32_t at) {
  if (at < kinetic->capacity) return kinetic->nodes[at].min;
  const struct hr__contestant *contestant = &kinetic->places[at - kinetic->capacity];
  return contestant->name == HR_NONE ? INT64_MAX : contestant->value;
}

static uint32_t n_free_at(const struct hr__kinetic *kinetic, uint32_t at) {
  if (at < kinetic->capacity) return kinetic->nodes[at].n_free;
  return kinetic->places[at - kinetic->capacity].name == HR_NONE;
}

/* Compares the first contestants of the two children of node `at`, and sets the members of the node. */
static void update_node(struct hr__kinetic *kinetic, uint32_t at) {
  const struct hr__contestant *left = first_at(kinetic, 2 * at), *right = first_at(kinetic, 2 * at + 1);
  int64_t left_until_us = until_at(kinetic, 2 * at), until_us = until_at(kinetic, 2 * at + 1);
  int64_t left_min = min_at(kinetic, 2 * at), min = min_at(kinetic, 2 * at + 1);
  bool both = left->name != HR_NONE && right->name != HR_NONE;
  bool from_left = both ? hr__kinetic_precedes(kinetic, left, right) : left->name != HR_NONE;
  if (left_until_us < until_us) until_us = left_until_us;
  if (both) {
    int64_t certain_us = before_until(kinetic, from_left ? left : right, from_left ? right : left);
    if (certain_us < until_us) until_us = certain_us;
  }
  kinetic->nodes[at] = (struct hr__kinetic_node){*(from_left ? left : right), until_us, left_min < min ? left_min : min,
                                                 n_free_at(kinetic, 2 * at) + n_free_at(kinetic, 2 * at + 1)};
}

/* Updates all nodes on the path from a leaf to the root. */
static void update_path(struct hr__kinetic *kinetic, uint32_t place) {
  for (uint32_t at = (kinetic->capacity + place) / 2; at > 0; at /= 2) update_node(kinetic, at);
}

void hr__kinetic_rebuild(struct hr__kinetic *kinetic) {
  for (uint32_t at = kinetic->capacity; at-- > 1;) update_node(kinetic, at);
}

/* Moves the contestants to every second one of the new leaves, sorted by value. All old leaves are in use. False: out
   of memory. */
static bool spread(struct hr__kinetic *kinetic, struct hr__contestant *places, uint32_t *place_of) {
  uint32_t count = kinetic->capacity;
  struct hr__keyed_row *rows = hr_arena_alloc(kinetic->arena, (count + 1) * sizeof *rows);
  if (!rows) return false;
  for (uint32_t i = 0; i < count; i++)
    rows[i] = (struct hr__keyed_row){(uint64_t)kinetic->places[kinetic->place_of[i]].value ^ (UINT64_C(1) << 63), i};
  if (!hr__sort_keyed_rows(rows, count)) return false;
  for (uint32_t i = 0; i < count; i++) {
    places[2 * i] = kinetic->places[kinetic->place_of[rows[i].row]];
    place_of[rows[i].row] = 2 * i;
  }
  return true;
}

/* Doubles the number of leaves. False: out of memory. */
static bool grow(struct hr__kinetic *kinetic) {
  uint32_t old = kinetic->capacity, capacity = old ? 2 * old : FIRST_CAPACITY;
  struct hr__contestant *places = hr_arena_alloc(kinetic->arena, capacity * sizeof *places);
  struct hr__kinetic_node *nodes = hr_arena_alloc(kinetic->arena, capacity * sizeof *nodes);
  uint32_t *place_of = hr_arena_alloc(kinetic->arena, capacity * sizeof *place_of);
  uint32_t *free_numbers = hr_arena_alloc(kinetic->arena, capacity * sizeof *free_numbers);
  if (!places || !nodes || !place_of || !free_numbers) return false;
  for (uint32_t i = 0; i < capacity; i++) places[i] = (struct hr__contestant){.name = HR_NONE};
  if (!spread(kinetic, places, place_of)) return false;
  for (uint32_t i = old; i < capacity; i++) {
    place_of[i] = HR_NONE;
    free_numbers[kinetic->n_free++] = capacity - 1 - (i - old);
  }
  kinetic->places = places;
  kinetic->nodes = nodes;
  kinetic->place_of = place_of;
  kinetic->free_numbers = free_numbers;
  kinetic->capacity = capacity;
  hr__kinetic_rebuild(kinetic);
  return true;
}

uint32_t hr__kinetic_add(struct hr__kinetic *kinetic) {
  if (kinetic->n_free == 0 && !grow(kinetic)) return HR_NONE;
  kinetic->count++;
  return kinetic->free_numbers[--kinetic->n_free];
}

/* A free leaf near those with similar values. */
static uint32_t free_place(const struct hr__kinetic *kinetic, int64_t value) {
  uint32_t at = 1;
  while (at < kinetic->capacity) {
    uint32_t near = min_at(kinetic, 2 * at + 1) <= value ? 2 * at + 1 : 2 * at;
    at = n_free_at(kinetic, near) ? near : near ^ 1;
  }
  return at - kinetic->capacity;
}

void hr__kinetic_set(struct hr__kinetic *kinetic, uint32_t number, struct hr__contestant contestant) {
  uint32_t *place = &kinetic->place_of[number];
  if (*place == HR_NONE) *place = free_place(kinetic, contestant.value);
  kinetic->places[*place] = contestant;
  update_path(kinetic, *place);
}

void hr__kinetic_remove(struct hr__kinetic *kinetic, uint32_t number) {
  uint32_t place = kinetic->place_of[number];
  kinetic->places[place].name = HR_NONE;
  kinetic->place_of[number] = HR_NONE;
  kinetic->free_numbers[kinetic->n_free++] = number;
  kinetic->count--;
  update_path(kinetic, place);
}

/* ---- Time ----------------------------------------------------------------------------------------- */

/* Repeats the comparisons of all expired nodes below `at`, from the leaves up. */
static void update_expired(struct hr__kinetic *kinetic, uint32_t at) {
  if (at >= kinetic->capacity || kinetic->nodes[at].until_us > kinetic->now_us) return;
  update_expired(kinetic, 2 * at);
  update_expired(kinetic, 2 * at + 1);
  update_node(kinetic, at);
}

void hr__kinetic_advance(struct hr__kinetic *kinetic, int64_t now_us) {
  kinetic->now_us = now_us;
  if (kinetic->capacity) update_expired(kinetic, 1);
}

/* ---- Queries -------------------------------------------------------------------------------------- */

static void search(const struct hr__kinetic *kinetic, uint32_t at, int64_t bound, hr__kinetic_visit *visit,
                   void *self) {
  const struct hr__contestant *first = first_at(kinetic, at);
  if (first->name == HR_NONE || min_at(kinetic, at) > bound) return;
  bool alone = at >= kinetic->capacity || first->own <= bound;
  if (!visit(self, first, alone) || alone) return;
  uint32_t likely = first_at(kinetic, 2 * at)->name == first->name ? 2 * at : 2 * at + 1;
  search(kinetic, likely, bound, visit, self);
  search(kinetic, likely ^ 1, bound, visit, self);
}

void hr__kinetic_search(const struct hr__kinetic *kinetic, int64_t bound, hr__kinetic_visit *visit, void *self) {
  if (kinetic->count) search(kinetic, 1, bound, visit, self);
}
