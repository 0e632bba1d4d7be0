/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/space.h"

#include <inttypes.h>
#include <stdlib.h>

uint32_t hr__space_levels(const struct hr__space *space, uint32_t axis) {
  return space->spec->variables[axis].axis.n_levels;
}

static bool is_capacity(const struct hr__space *space, uint32_t axis) {
  return space->spec->variables[axis].pools != NULL;
}

enum hr_status hr__space_make(const struct hr_plan_spec *spec, struct hr__space *space, struct hr_error *error) {
  *space = (struct hr__space){.spec = spec, .n_axes = spec->n_variables, .n_slices = 1};
  double count = 1;
  for (uint32_t i = 0; i < spec->n_variables; i++) count *= spec->variables[i].axis.n_levels;
  if (count > (double)spec->most_candidates)
    return hr_fail(error, HR_BAD_INPUT,
                   "%sthe variables make %.0f candidates, more than 'max_candidates', which is %" PRIu64
                   "; wider steps make fewer",
                   spec->self.place, count, spec->most_candidates);
  space->n_candidates = (uint32_t)count;
  for (uint32_t i = 0; i < space->n_axes; i++) {
    if (is_capacity(space, i))
      space->capacity[space->n_capacity++] = i;
    else
      space->n_slices *= hr__space_levels(space, i);
  }
  return HR_OK;
}

static bool draws_away(const struct hr_scenario *scenario, const struct hr_plan_variable *variable) {
  const struct hr_cluster_spec *cluster = &scenario->cluster;
  for (uint32_t i = 0; i < variable->n_pools; i++)
    if (cluster->pools[variable->pools[i]].market.market == HR_MARKET_SPOT && cluster->n_pools > 1) return true;
  return scenario->speeds && cluster->n_pools > variable->n_pools;
}

void hr__space_doubt(struct hr__space *space, const struct hr_scenario *scenario) {
  for (uint32_t i = 0; i < space->n_capacity; i++) {
    uint32_t axis = space->capacity[i];
    space->doubtful[axis] = draws_away(scenario, &space->spec->variables[axis]);
  }
}

struct hr__point hr__space_point(const struct hr__space *space, uint32_t candidate) {
  struct hr__point point = {{0}};
  for (uint32_t i = space->n_axes; i-- > 0;) {
    point.level[i] = candidate % hr__space_levels(space, i);
    candidate /= hr__space_levels(space, i);
  }
  return point;
}

uint32_t hr__space_candidate(const struct hr__space *space, const struct hr__point *point) {
  uint32_t candidate = 0;
  for (uint32_t i = 0; i < space->n_axes; i++) candidate = candidate * hr__space_levels(space, i) + point->level[i];
  return candidate;
}

struct hr__point hr__space_corner(const struct hr__space *space, uint32_t slice, bool most) {
  struct hr__point point = {{0}};
  for (uint32_t i = space->n_axes; i-- > 0;) {
    uint32_t levels = hr__space_levels(space, i);
    if (is_capacity(space, i)) {
      point.level[i] = most ? levels - 1 : 0;
      continue;
    }
    point.level[i] = slice % levels;
    slice /= levels;
  }
  return point;
}

uint32_t hr__space_slice(const struct hr__space *space, uint32_t candidate) {
  struct hr__point point = hr__space_point(space, candidate);
  uint32_t slice = 0;
  for (uint32_t i = 0; i < space->n_axes; i++)
    if (!is_capacity(space, i)) slice = slice * hr__space_levels(space, i) + point.level[i];
  return slice;
}

bool hr__space_covers(const struct hr__space *space, uint32_t a, uint32_t b) {
  struct hr__point first = hr__space_point(space, a), second = hr__space_point(space, b);
  for (uint32_t i = 0; i < space->n_axes; i++) {
    bool more_will_do = is_capacity(space, i) && !space->doubtful[i];
    if (more_will_do ? first.level[i] < second.level[i] : first.level[i] != second.level[i]) return false;
  }
  return true;
}

double hr__space_gpus(const struct hr__space *space, uint32_t candidate) {
  struct hr__point point = hr__space_point(space, candidate);
  double gpus = 0;
  for (uint32_t i = 0; i < space->n_capacity; i++) {
    uint32_t axis = space->capacity[i];
    gpus += space->spec->variables[axis].axis.levels[point.level[axis]].number;
  }
  return gpus;
}

const char **hr__space_overrides(const struct hr__space *space, uint32_t candidate, size_t *count) {
  struct hr__point point = hr__space_point(space, candidate);
  size_t most = 0;
  *count = 0;
  for (uint32_t i = 0; i < space->n_axes; i++) most += space->spec->variables[i].axis.levels[point.level[i]].n_set;
  const char **overrides = calloc(most + 1, sizeof *overrides);
  for (uint32_t i = 0; overrides && i < space->n_axes; i++) {
    const struct hr_grid_level *level = &space->spec->variables[i].axis.levels[point.level[i]];
    for (size_t k = 0; k < level->n_set; k++) overrides[(*count)++] = level->set[k];
  }
  return overrides;
}
