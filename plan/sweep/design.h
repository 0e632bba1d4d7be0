/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_SWEEP_DESIGN_H
#define HR_PLAN_SWEEP_DESIGN_H

/* The points of a grid. */

#include "headroom/unstable/experiments.h"
#include "headroom/unstable/sweep.h"

/* By point, then by axis: the level's number, or, on an axis without levels, the value itself. No two points are the
   same. */
struct hr__sweep_design {
  double *at;
  size_t n_points, n_axes;
};

/* HR_BAD_INPUT when there are more than `most`. */
enum hr_status hr__design_make(const struct hr_grid *grid, uint64_t most, struct hr__sweep_design *design,
                               struct hr_error *error);
void hr__design_finish(struct hr__sweep_design *design);

static inline const double *hr__design_point(const struct hr__sweep_design *design, size_t point) {
  return design->at + point * design->n_axes;
}

#endif
