/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arithmetic and comparisons of resource vectors; see resources.h for the layout, the invariant and the source. */

#include "policies/volcano/resources.h"

#include <math.h>

enum { ALWAYS = 1 << HR__VOLCANO_CPU | 1 << HR__VOLCANO_MEMORY };

/* ---- Arithmetic ---- */

void hr__volcano_clear(struct hr__volcano_vector *vector) {
  *vector = (struct hr__volcano_vector){.present = ALWAYS, .width = HR__VOLCANO_MEMORY + 1};
}

void hr__volcano_set(struct hr__volcano_vector *vector, uint32_t dimension, double amount) {
  vector->amount[dimension] = amount;
  vector->present |= (uint32_t)1 << dimension;
  if (vector->width <= dimension) vector->width = dimension + 1;
}

bool hr__volcano_is_empty(const struct hr__volcano_vector *vector) {
  for (uint32_t i = 0; i < vector->width; i++)
    if (i != HR__VOLCANO_PODS && hr__volcano_is_positive(vector, i)) return false;
  return true;
}

void hr__volcano_add(struct hr__volcano_vector *to, const struct hr__volcano_vector *what) {
  for (uint32_t i = 0; i < what->width; i++) to->amount[i] += what->amount[i];
  to->present |= what->present;
  if (to->width < what->width) to->width = what->width;
}

void hr__volcano_subtract(struct hr__volcano_vector *from, const struct hr__volcano_vector *what) {
  uint32_t width = from->present == ALWAYS ? HR__VOLCANO_MEMORY + 1 : what->width;
  for (uint32_t i = 0; i < width; i++) from->amount[i] -= what->amount[i];
  if (from->present == ALWAYS) return;
  from->present |= what->present;
  if (from->width < what->width) from->width = what->width;
}

void hr__volcano_multiply(struct hr__volcano_vector *vector, double factor) {
  for (uint32_t i = 0; i < vector->width; i++) vector->amount[i] *= factor;
}

void hr__volcano_limit(struct hr__volcano_vector *vector, const struct hr__volcano_vector *limit,
                       bool absent_is_unlimited) {
  for (uint32_t i = 0; i < vector->width; i++) {
    if (absent_is_unlimited && !hr__volcano_has(limit, i)) continue;
    if (vector->amount[i] > limit->amount[i]) vector->amount[i] = limit->amount[i];
    /* An absent limit is 0, even for negative amounts. */
    if (!hr__volcano_has(limit, i)) vector->amount[i] = 0;
  }
}

void hr__volcano_raise(struct hr__volcano_vector *vector, const struct hr__volcano_vector *floor) {
  for (uint32_t i = 0; i < floor->width; i++)
    if (hr__volcano_has(floor, i) && (!hr__volcano_has(vector, i) || floor->amount[i] > vector->amount[i]))
      hr__volcano_set(vector, i, floor->amount[i]);
}

struct hr__volcano_vector hr__volcano_exceeding(const struct hr__volcano_vector *left,
                                                const struct hr__volcano_vector *right) {
  struct hr__volcano_vector result;
  hr__volcano_clear(&result);
  uint32_t width = left->width > right->width ? left->width : right->width;
  for (uint32_t i = 0; i < width; i++)
    if (left->amount[i] > right->amount[i]) hr__volcano_set(&result, i, left->amount[i] - right->amount[i]);
  return result;
}

bool hr__volcano_same(const struct hr__volcano_vector *left, const struct hr__volcano_vector *right) {
  if (left->present != right->present) return false;
  for (uint32_t i = 0; i < left->width; i++)
    if (left->amount[i] != right->amount[i]) return false;
  return true;
}

/* ---- Comparisons ---- */

static bool at_most(double left, double right) {
  return left < right || fabs(left - right) < HR__VOLCANO_TOLERANCE;
}

bool hr__volcano_less_equal(const struct hr__volcano_vector *left, const struct hr__volcano_vector *right) {
  for (uint32_t i = 0; i < left->width; i++)
    if (hr__volcano_has(left, i) && !at_most(left->amount[i], right->amount[i])) return false;
  return true;
}

bool hr__volcano_within(const struct hr__volcano_vector *used, const struct hr__volcano_vector *limit,
                        const struct hr__volcano_vector *request) {
  for (uint32_t i = 0; i < request->width; i++)
    if (i != HR__VOLCANO_PODS && request->amount[i] > 0 && used->amount[i] > limit->amount[i]) return false;
  return true;
}

bool hr__volcano_within_partly(const struct hr__volcano_vector *used, const struct hr__volcano_vector *limit,
                               const struct hr__volcano_vector *request) {
  for (uint32_t i = 0; i < request->width; i++) {
    if (i == HR__VOLCANO_PODS || request->amount[i] <= 0) continue;
    if (!hr__volcano_is_positive(used, i) && !hr__volcano_is_positive(limit, i)) continue;
    if (at_most(used->amount[i], limit->amount[i])) return true;
  }
  return false;
}

bool hr__volcano_exceeds_partly(const struct hr__volcano_vector *used, const struct hr__volcano_vector *limit,
                                const struct hr__volcano_vector *request) {
  for (uint32_t i = 0; i < request->width; i++) {
    if (i == HR__VOLCANO_PODS || request->amount[i] <= 0) continue;
    bool relevant = i <= HR__VOLCANO_MEMORY ? hr__volcano_is_positive(limit, i) : hr__volcano_has(limit, i);
    if (relevant && used->amount[i] > limit->amount[i]) return true;
  }
  return false;
}

bool hr__volcano_intersects(const struct hr__volcano_vector *a, const struct hr__volcano_vector *b, bool ignore_pods) {
  for (uint32_t i = 0; i < a->width && i < b->width; i++)
    if (!(ignore_pods && i == HR__VOLCANO_PODS) && hr__volcano_is_positive(a, i) && hr__volcano_is_positive(b, i))
      return true;
  return false;
}

double hr__volcano_dominant_share(const struct hr__volcano_vector *used, const struct hr__volcano_vector *of) {
  double result = 0;
  for (uint32_t i = 0; i < of->width; i++) {
    if (!hr__volcano_is_positive(of, i)) continue;
    double share = hr__volcano_share(used->amount[i], of->amount[i]);
    if (share > result) result = share;
  }
  return result;
}
