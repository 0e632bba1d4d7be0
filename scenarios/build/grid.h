/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_BUILD_GRID_H
#define HR_SCENARIOS_BUILD_GRID_H

/* One axis of a grid. */

#include "headroom/unstable/experiments.h"
#include "scenarios/build/builder.h"

/* From the object at hand; the axis is zeroed, and to be finished whatever comes of it. */
enum hr_status hr__grid_axis_build(struct hr__builder *builder, const cJSON *json, struct hr_grid_axis *axis);
void hr__grid_axis_finish(struct hr_grid_axis *axis);

/* Copies of a list's texts; none of NULL. */
enum hr_status hr__grid_texts_copy(const struct hr__builder *builder, const cJSON *list, char ***texts, size_t *count);
void hr__grid_texts_free(char **texts, size_t count);

#endif
