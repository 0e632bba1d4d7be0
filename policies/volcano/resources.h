/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_VOLCANO_RESOURCES_H
#define HR_POLICIES_VOLCANO_RESOURCES_H

/*
 * Resource vectors of Volcano. Dimension 0 is the CPU in milli-cores, 1 the memory in bytes, 2 the number of pods; the
 * caller numbers the others, in thousandths of a unit. A dimension other than CPU and memory may be absent, which some
 * comparisons treat differently from 0.
 *
 * Amounts are double because Volcano computes in float64: with the same operations in the same order, divisions by
 * weights round in the same way. Whole amounts are exact up to 2^53.
 *
 * Invariant: amount[i] is 0 for absent dimensions and for i >= width; `present` always includes CPU and memory.
 * Source: volcano-sh/volcano, pkg/scheduler/api/resource_info.go.
 */

#include <stdbool.h>
#include <stdint.h>

enum {
  HR__VOLCANO_CPU,
  HR__VOLCANO_MEMORY,
  HR__VOLCANO_PODS,
  HR__VOLCANO_FIRST_OTHER,
  HR__VOLCANO_MAX_DIMENSIONS = 16
};

/* Amounts below this value count as 0, and comparisons have this tolerance. */
#define HR__VOLCANO_TOLERANCE 0.1
/* The amount of an unlimited dimension. */
#define HR__VOLCANO_UNLIMITED 1.7976931348623157e308

struct hr__volcano_vector {
  double amount[HR__VOLCANO_MAX_DIMENSIONS];
  uint32_t present; /* bit i: dimension i is present */
  uint32_t width;   /* 1 + the highest present dimension */
};

/* A vector of zeros without other dimensions. */
void hr__volcano_clear(struct hr__volcano_vector *vector);
/* Sets one dimension, which is present afterwards. */
void hr__volcano_set(struct hr__volcano_vector *vector, uint32_t dimension, double amount);

static inline bool hr__volcano_has(const struct hr__volcano_vector *vector, uint32_t dimension) {
  return vector->present >> dimension & 1;
}

/* Whether the amount counts as more than 0. */
static inline bool hr__volcano_is_positive(const struct hr__volcano_vector *vector, uint32_t dimension) {
  return vector->amount[dimension] >= HR__VOLCANO_TOLERANCE;
}

/* Whether no dimension counts as more than 0. Pods are ignored. */
bool hr__volcano_is_empty(const struct hr__volcano_vector *vector);

void hr__volcano_add(struct hr__volcano_vector *to, const struct hr__volcano_vector *what);
/* Subtracts. If `from` has no other dimensions than CPU and memory, only these are subtracted. */
void hr__volcano_subtract(struct hr__volcano_vector *from, const struct hr__volcano_vector *what);
void hr__volcano_multiply(struct hr__volcano_vector *vector, double factor);
/* Limits each present dimension. Dimensions that the limit lacks become 0, or are not limited if `absent_is_unlimited`
   is true. */
void hr__volcano_limit(struct hr__volcano_vector *vector, const struct hr__volcano_vector *limit,
                       bool absent_is_unlimited);
/* Raises each dimension to at least the amount in `floor`. */
void hr__volcano_raise(struct hr__volcano_vector *vector, const struct hr__volcano_vector *floor);
/* max(0, left - right); only dimensions above 0 are present. */
struct hr__volcano_vector hr__volcano_exceeding(const struct hr__volcano_vector *left,
                                                const struct hr__volcano_vector *right);
/* Whether both have the same dimensions with the same amounts, without tolerance. */
bool hr__volcano_same(const struct hr__volcano_vector *left, const struct hr__volcano_vector *right);

/* ---- Comparisons; absent dimensions are 0 ---- */

/* Whether left <= right in every dimension of `left`. */
bool hr__volcano_less_equal(const struct hr__volcano_vector *left, const struct hr__volcano_vector *right);
/* Whether used <= limit in the dimensions that `request` asks for (more than 0, pods ignored), without tolerance. */
bool hr__volcano_within(const struct hr__volcano_vector *used, const struct hr__volcano_vector *limit,
                        const struct hr__volcano_vector *request);
/* Whether used <= limit in at least one dimension that `request` asks for. Pods and dimensions in which both are 0 are
   ignored. */
bool hr__volcano_within_partly(const struct hr__volcano_vector *used, const struct hr__volcano_vector *limit,
                               const struct hr__volcano_vector *request);
/* Whether used > limit in at least one dimension that `request` asks for and that the limit has. */
bool hr__volcano_exceeds_partly(const struct hr__volcano_vector *used, const struct hr__volcano_vector *limit,
                                const struct hr__volcano_vector *request);
/* Whether a dimension counts as more than 0 in both. */
bool hr__volcano_intersects(const struct hr__volcano_vector *a, const struct hr__volcano_vector *b, bool ignore_pods);

/* amount / of; 0 / 0 is 0, and x / 0 is 1. */
static inline double hr__volcano_share(double amount, double of) {
  if (of != 0) return amount / of;
  return amount == 0 ? 0 : 1;
}

/* The largest share of `used` in `of`, over the dimensions in which `of` counts as more than 0. */
double hr__volcano_dominant_share(const struct hr__volcano_vector *used, const struct hr__volcano_vector *of);

#endif
