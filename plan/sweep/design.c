/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The points of a grid: all combinations of levels, or a sample. A sample is drawn in the unit cube, with one column
 * per axis. It is a Sobol sequence (Sobol 1967, with the direction numbers of Bratley and Fox, from GSL) or a Latin
 * hypercube (McKay, Beckman, Conover 1979). In a Latin hypercube of n points, each axis has n equal strata, and each
 * stratum contains one point. The columns are then mapped to the levels or the range of their axes. If all axes have
 * levels, several points of the cube may map to the same point of the grid; only the first is kept.
 */

#include "plan/sweep/sweep.h"

#include "base/random.h"
#include "headroom/unstable/experiments.h"

#include <gsl/gsl_qrng.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Full design ------------------------------------------------------------------------------------ */

static enum hr_status allocate(const struct hr_grid *grid, size_t n_points, struct hr__sweep_design *design,
                               struct hr_error *error) {
  design->n_points = n_points;
  design->n_axes = grid->n_axes;
  design->at = calloc(n_points * grid->n_axes + 1, sizeof *design->at);
  return design->at ? HR_OK : hr_fail(error, HR_NO_MEMORY, "out of memory for %zu points", n_points);
}

static enum hr_status too_many(const struct hr_grid *grid, uint64_t max_points, struct hr_error *error) {
  return hr_fail(error, HR_BAD_INPUT,
                 "%s: the grid has more than %" PRIu64 " points, the limit set by 'max_runs' (--max-runs)", grid->path,
                 max_points);
}

/* Makes all combinations of levels. The last axis varies fastest. */
static enum hr_status make_full(const struct hr_grid *grid, uint64_t max_points, struct hr__sweep_design *design,
                                struct hr_error *error) {
  uint64_t count = 1;
  for (uint32_t i = 0; i < grid->n_axes; i++) {
    count *= grid->axes[i].n_levels;
    if (count > max_points) return too_many(grid, max_points, error);
  }
  enum hr_status status = allocate(grid, (size_t)count, design, error);
  for (size_t point = 0; status == HR_OK && point < design->n_points; point++) {
    size_t rest = point;
    for (uint32_t axis = grid->n_axes; axis-- > 0;) {
      design->at[point * grid->n_axes + axis] = (double)(rest % grid->axes[axis].n_levels);
      rest /= grid->axes[axis].n_levels;
    }
  }
  return status;
}

/* ---- Samples of the unit cube ----------------------------------------------------------------------- */

static enum hr_status fill_sobol(const struct hr_grid *grid, struct hr__sweep_design *design, struct hr_error *error) {
  gsl_qrng *sequence = gsl_qrng_alloc(gsl_qrng_sobol, grid->n_axes);
  if (!sequence) return hr_fail(error, HR_NO_MEMORY, "out of memory for the design");
  for (size_t i = 0; i < design->n_points; i++) gsl_qrng_get(sequence, design->at + i * design->n_axes);
  gsl_qrng_free(sequence);
  return HR_OK;
}

/* Fills the column of an axis in a Latin hypercube: a random permutation of the strata, and a random position in each.
 */
static void fill_strata(uint64_t seed, uint32_t axis, struct hr__sweep_design *design, uint32_t *strata) {
  struct hr__stream stream;
  uint32_t n = (uint32_t)design->n_points;
  hr__stream_init(&stream, seed, HR__PURPOSE_DESIGN, axis, 0);
  for (uint32_t i = 0; i < n; i++) strata[i] = i;
  for (uint32_t left = n; left > 1; left--) {
    uint32_t other = (uint32_t)((uint64_t)hr__stream_next(&stream) * left >> 32), stratum = strata[left - 1];
    strata[left - 1] = strata[other];
    strata[other] = stratum;
  }
  for (uint32_t i = 0; i < n; i++)
    design->at[i * design->n_axes + axis] = (strata[i] + hr__stream_uniform(&stream)) / n;
}

static enum hr_status fill_latin(const struct hr_grid *grid, struct hr__sweep_design *design, struct hr_error *error) {
  uint32_t *strata = calloc(design->n_points, sizeof *strata);
  if (!strata) return hr_fail(error, HR_NO_MEMORY, "out of memory for the design");
  for (uint32_t axis = 0; axis < grid->n_axes; axis++) fill_strata(grid->seed, axis, design, strata);
  free(strata);
  return HR_OK;
}

/* ---- From the cube to the grid ---------------------------------------------------------------------- */

/* The value of an axis at `share` of its range, rounded to the twelve digits with which it is printed. */
static double value_on(const struct hr_grid_axis *axis, double share) {
  char text[32];
  if (axis->levels) return fmin(floor(share * axis->n_levels), axis->n_levels - 1.0);
  double number =
      axis->logarithmic ? axis->from * pow(axis->to / axis->from, share) : axis->from + (axis->to - axis->from) * share;
  snprintf(text, sizeof text, "%.12g", number);
  return strtod(text, NULL);
}

/* A point with its sort key. */
struct sorted_point {
  const double *at;
  size_t n_axes, point;
};

static int compare_points(const void *a, const void *b) {
  const struct sorted_point *first = a, *second = b;
  for (size_t i = 0; i < first->n_axes; i++)
    if (first->at[i] != second->at[i]) return first->at[i] < second->at[i] ? -1 : 1;
  return first->point < second->point ? -1 : first->point > second->point;
}

static bool same_point(const struct sorted_point *a, const struct sorted_point *b) {
  for (size_t i = 0; i < a->n_axes; i++)
    if (a->at[i] != b->at[i]) return false;
  return true;
}

/* Of several equal points, keeps the first one. */
static enum hr_status drop_duplicates(struct hr__sweep_design *design, struct hr_error *error) {
  size_t n = design->n_points, bytes = design->n_axes * sizeof *design->at, n_kept = 0;
  struct sorted_point *sorted = calloc(n + 1, sizeof *sorted);
  bool *duplicate = calloc(n + 1, sizeof *duplicate);
  if (sorted && duplicate) {
    for (size_t i = 0; i < n; i++)
      sorted[i] = (struct sorted_point){hr__sweep_design_point(design, i), design->n_axes, i};
    qsort(sorted, n, sizeof *sorted, compare_points);
    for (size_t i = 1; i < n; i++) duplicate[sorted[i].point] = same_point(&sorted[i - 1], &sorted[i]);
    for (size_t i = 0; i < n; i++)
      if (!duplicate[i]) memmove(design->at + n_kept++ * design->n_axes, hr__sweep_design_point(design, i), bytes);
    design->n_points = n_kept;
  }
  bool complete = sorted && duplicate;
  free(sorted);
  free(duplicate);
  return complete ? HR_OK : hr_fail(error, HR_NO_MEMORY, "out of memory for the design");
}

static enum hr_status make_sample(const struct hr_grid *grid, uint64_t max_points, struct hr__sweep_design *design,
                                  struct hr_error *error) {
  if (grid->n_points > max_points) return too_many(grid, max_points, error);
  enum hr_status status = allocate(grid, grid->n_points, design, error);
  if (status == HR_OK)
    status = grid->design == HR_DESIGN_SOBOL ? fill_sobol(grid, design, error) : fill_latin(grid, design, error);
  if (status != HR_OK) return status;
  for (size_t i = 0; i < design->n_points; i++)
    for (uint32_t axis = 0; axis < grid->n_axes; axis++) {
      double *at = &design->at[i * design->n_axes + axis];
      *at = value_on(&grid->axes[axis], *at);
    }
  return drop_duplicates(design, error);
}

enum hr_status hr__sweep_design_make(const struct hr_grid *grid, uint64_t max_points, struct hr__sweep_design *design,
                                     struct hr_error *error) {
  *design = (struct hr__sweep_design){0};
  return grid->design == HR_DESIGN_FULL ? make_full(grid, max_points, design, error)
                                        : make_sample(grid, max_points, design, error);
}
