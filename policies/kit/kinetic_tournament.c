/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A kinetic tournament: see tournament.h. The leaves are in an array, which doubles when it is full. The inner
   nodes are stored like a binary heap. If a contestant changes, the comparisons on the path from its leaf to the root
   are repeated. When time advances, only comparisons that have expired are repeated. */

#include "policies/kit/tournament.h"

enum { FIRST_CAPACITY = 4 };

/* If the relative difference of two values is below this bound, they are compared by `is_before`, because rounding
   errors could change the result of a comparison in this file. Half of the bound is still larger than all rounding
   errors. */
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

static bool is_before(const struct hr__kinetic *kinetic, uint32_t a, uint32_t b) {
  return hr__kinetic_precedes(kinetic, &kinetic->places[a], &kinetic->places[b]);
}

/* Returns a time until which a is certainly before b. The lead of a decreases in proportion to the difference in
   slowness. At the returned time it is still at least CLOSE. The returned time may be slightly too early, which costs
   one more comparison, but it is never too late. */
static int64_t before_until(const struct hr__kinetic *kinetic, uint32_t a, uint32_t b) {
  const struct hr__contestant *first = &kinetic->places[a], *second = &kinetic->places[b];
  double left = side(kinetic, first, second), right = side(kinetic, second, first);
  if (are_close(left, right)) return kinetic->now_us + 1;
  double slower = first->line.slowness - second->line.slowness + CLOSER * first->line.slowness;
  if (slower <= 0) return HR_NEVER_US;
  double wait_us = 0.999 * (left - right - CLOSER * right) / slower;
  if (wait_us >= 0x1p61) return HR_NEVER_US;
  return kinetic->now_us + (wait_us > 1 ? (int64_t)wait_us : 1);
}

/* ---- The tree ------------------------------------------------------------------------------------- */

/* Returns node `at` of the tree. Leaves follow the inner nodes. */
static struct hr__kinetic_node node_at(const struct hr__kinetic *kinetic, uint32_t at) {
  if (at < kinetic->capacity) return kinetic->nodes[at];
  uint32_t place = at - kinetic->capacity;
  const struct hr__contestant *contestant = &kinetic->places[place];
  if (contestant->name == HR_NONE) return (struct hr__kinetic_node){HR_NONE, HR_NEVER_US, INT64_MAX};
  return (struct hr__kinetic_node){place, HR_NEVER_US, contestant->value};
}

/* Compares the first contestants of the two children of node `at`, and sets the members of the node. */
static void update_node(struct hr__kinetic *kinetic, uint32_t at) {
  struct hr__kinetic_node left = node_at(kinetic, 2 * at), right = node_at(kinetic, 2 * at + 1), *node;
  node = &kinetic->nodes[at];
  *node = right;
  if (left.first != HR_NONE && (right.first == HR_NONE || is_before(kinetic, left.first, right.first))) *node = left;
  node->until_us = left.until_us < right.until_us ? left.until_us : right.until_us;
  node->min = left.min < right.min ? left.min : right.min;
  if (left.first == HR_NONE || right.first == HR_NONE) return;
  uint32_t second = node->first == left.first ? right.first : left.first;
  int64_t until_us = before_until(kinetic, node->first, second);
  if (until_us < node->until_us) node->until_us = until_us;
}

/* Updates all nodes on the path from a leaf to the root. */
static void update_path(struct hr__kinetic *kinetic, uint32_t place) {
  for (uint32_t at = (kinetic->capacity + place) / 2; at > 0; at /= 2) update_node(kinetic, at);
}

void hr__kinetic_rebuild(struct hr__kinetic *kinetic) {
  for (uint32_t at = kinetic->capacity; at-- > 1;) update_node(kinetic, at);
}

/* Doubles the number of leaves. False: out of memory. */
static bool grow(struct hr__kinetic *kinetic) {
  uint32_t old = kinetic->capacity, capacity = old ? 2 * old : FIRST_CAPACITY;
  struct hr__contestant *places = hr_arena_alloc(kinetic->arena, capacity * sizeof *places);
  struct hr__kinetic_node *nodes = hr_arena_alloc(kinetic->arena, capacity * sizeof *nodes);
  uint32_t *free_places = hr_arena_alloc(kinetic->arena, capacity * sizeof *free_places);
  if (!places || !nodes || !free_places) return false;
  for (uint32_t i = 0; i < old; i++) places[i] = kinetic->places[i];
  for (uint32_t i = old; i < capacity; i++) {
    places[i] = (struct hr__contestant){.name = HR_NONE};
    free_places[kinetic->n_free++] = capacity - 1 - (i - old);
  }
  kinetic->places = places;
  kinetic->nodes = nodes;
  kinetic->free_places = free_places;
  kinetic->capacity = capacity;
  hr__kinetic_rebuild(kinetic);
  return true;
}

uint32_t hr__kinetic_add(struct hr__kinetic *kinetic) {
  if (kinetic->n_free == 0 && !grow(kinetic)) return HR_NONE;
  kinetic->count++;
  return kinetic->free_places[--kinetic->n_free];
}

void hr__kinetic_set(struct hr__kinetic *kinetic, uint32_t place, struct hr__contestant contestant) {
  kinetic->places[place] = contestant;
  update_path(kinetic, place);
}

void hr__kinetic_remove(struct hr__kinetic *kinetic, uint32_t place) {
  kinetic->places[place].name = HR_NONE;
  kinetic->free_places[kinetic->n_free++] = place;
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
  struct hr__kinetic_node node = node_at(kinetic, at);
  if (node.first == HR_NONE || node.min > bound) return;
  bool alone = at >= kinetic->capacity || kinetic->places[node.first].own <= bound;
  if (!visit(self, &kinetic->places[node.first], alone) || alone) return;
  uint32_t likely = node_at(kinetic, 2 * at).first == node.first ? 2 * at : 2 * at + 1;
  search(kinetic, likely, bound, visit, self);
  search(kinetic, likely ^ 1, bound, visit, self);
}

void hr__kinetic_search(const struct hr__kinetic *kinetic, int64_t bound, hr__kinetic_visit *visit, void *self) {
  if (kinetic->count) search(kinetic, 1, bound, visit, self);
}
