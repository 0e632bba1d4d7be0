/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The points of a grid and one run of a sweep: the overrides of its point, the run, and its record. */

#include "plan/sweep/sweep.h"

#include "base/containers.h"
#include "base/random.h"
#include "headroom/scenario.h"
#include "headroom/unstable/compare.h"
#include "headroom/unstable/experiments.h"

#include <gsl/gsl_qrng.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Points -------------------------------------------------------------------------------------------- */

/*
 * The points of a grid: all combinations of levels, or a sample. A sample is drawn in the unit cube, with one column
 * per axis. It is a Sobol sequence (Sobol 1967, with the direction numbers of Bratley and Fox, from GSL) or a Latin
 * hypercube (McKay, Beckman, Conover 1979). In a Latin hypercube of n points, each axis has n equal strata, and each
 * stratum contains one point. The columns are then mapped to the levels or the range of their axes. If all axes have
 * levels, several points of the cube may map to the same point of the grid; only the first is kept.
 */

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

static int compare_values(const struct sorted_point *a, const struct sorted_point *b) {
  for (size_t i = 0; i < a->n_axes; i++)
    if (a->at[i] != b->at[i]) return a->at[i] < b->at[i] ? -1 : 1;
  return 0;
}

static int compare_points(const void *a, const void *b) {
  const struct sorted_point *first = a, *second = b;
  int order = compare_values(first, second);
  if (order) return order;
  return first->point < second->point ? -1 : first->point > second->point;
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
    for (size_t i = 1; i < n; i++) duplicate[sorted[i].point] = compare_values(&sorted[i - 1], &sorted[i]) == 0;
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

/* ---- Runs ---------------------------------------------------------------------------------------------- */

/* A record is sent between processes as bytes: its numbers as they are in memory, then for each group the numbers
   and the name. All ranks of an MPI job run the same program on machines of the same kind, so this needs no
   conversion. */

/* ---- Overrides of a point --------------------------------------------------------------------------- */

static bool add_override(struct hr__sweep_overrides *overrides, const char *text) {
  if (!HR__ARRAY_HAS_ROOM(overrides->at, overrides->count, overrides->capacity)) return false;
  overrides->at[overrides->count++] = text;
  return true;
}

/* Adds the override "path=value" as an allocated text. Returns false when out of memory. */
static bool add_formatted(struct hr__sweep_overrides *overrides, const char *path, const char *value) {
  size_t bytes = strlen(path) + strlen(value) + 2;
  bool room = HR__ARRAY_HAS_ROOM(overrides->owned, overrides->n_owned, overrides->owned_capacity);
  char *text = room ? malloc(bytes) : NULL;
  if (!text) return false;
  snprintf(text, bytes, "%s=%s", path, value);
  overrides->owned[overrides->n_owned++] = text;
  return add_override(overrides, text);
}

static bool add_axis(struct hr__sweep_overrides *overrides, const struct hr_grid_axis *axis, double at) {
  char number[32];
  snprintf(number, sizeof number, "%.12g", at); /* the design rounds to the same number of digits */
  if (!axis->levels) return add_formatted(overrides, axis->path, number);
  const struct hr_grid_level *level = &axis->levels[(size_t)at];
  for (size_t i = 0; i < level->n_set; i++)
    if (!add_override(overrides, level->set[i])) return false;
  return true;
}

bool hr__sweep_overrides_make(const struct hr__sweep *sweep, size_t point, uint32_t replication,
                              struct hr__sweep_overrides *overrides) {
  const struct hr_grid *grid = sweep->grid;
  const double *at = hr__sweep_design_point(&sweep->design, point);
  bool complete = true;
  *overrides = (struct hr__sweep_overrides){0};
  for (size_t i = 0; i < grid->n_set && complete; i++) complete = add_override(overrides, grid->set[i]);
  for (uint32_t i = 0; i < grid->n_axes && complete; i++) complete = add_axis(overrides, &grid->axes[i], at[i]);
  if (complete && replication) {
    char seed[32];
    snprintf(seed, sizeof seed, "%" PRIu64, hr_replication_seed(sweep->points[point].seed, replication));
    complete = add_formatted(overrides, "seed", seed);
  }
  return complete;
}

enum hr_status hr__sweep_load_run(const struct hr__sweep *sweep, size_t point, uint32_t replication,
                                  struct hr_scenario **scenario, struct hr_error *error) {
  struct hr__sweep_overrides overrides;
  enum hr_status status = hr__sweep_overrides_make(sweep, point, replication, &overrides)
                              ? hr_scenario_load_candidate(sweep->catalog, sweep->grid->scenario_path, overrides.at,
                                                           overrides.count, scenario, error)
                              : hr_fail(error, HR_NO_MEMORY, "out of memory");
  hr__sweep_overrides_finish(&overrides);
  return status;
}

char *hr__sweep_point_text(const struct hr__sweep *sweep, size_t point) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  const double *at = hr__sweep_design_point(&sweep->design, point);
  for (uint32_t i = 0; i < sweep->grid->n_axes; i++) {
    const struct hr_grid_axis *axis = &sweep->grid->axes[i];
    fprintf(out, "%s%s=", i ? ", " : "", axis->name);
    if (axis->levels)
      fputs(axis->levels[(size_t)at[i]].text, out);
    else
      fprintf(out, "%.12g", at[i]);
  }
  return hr__stream_text(out, &text);
}

/* ---- Records ---------------------------------------------------------------------------------------- */

static struct hr__sweep_group *add_group(struct hr__sweep_record *record, enum hr__sweep_group_kind kind,
                                         const char *name) {
  struct hr__sweep_group *group = &record->groups[record->n_groups];
  *group = (struct hr__sweep_group){.kind = kind, .name = strdup(name)};
  if (!group->name) return NULL;
  record->n_groups++;
  return group;
}

static bool copy_groups(struct hr__sweep_record *record, enum hr__sweep_group_kind kind, const struct hr_group *groups,
                        size_t count, const struct hr_cost_lines *lines) {
  for (size_t i = 0; i < count; i++) {
    struct hr__sweep_group *group = add_group(record, kind, groups[i].name);
    if (!group) return false;
    hr__metrics_of_group(&groups[i], lines, group->values);
  }
  return true;
}

static bool copy_services(struct hr__sweep_record *record, const struct hr_summary *summary) {
  for (size_t i = 0; i < summary->n_services; i++) {
    struct hr__sweep_group *group = add_group(record, HR__SWEEP_SERVICE, summary->services[i].name);
    if (!group) return false;
    for (unsigned k = 0; k < HR__N_METRICS; k++)
      group->values[k] = hr__metric_of_service((enum hr__metric)k, &summary->services[i]).value;
  }
  return true;
}

/* Copies the results of a run to a record. Returns false when out of memory. */
static bool copy_record(struct hr__sweep_record *record, const struct hr__one_run *run) {
  const struct hr_summary *summary = run->summary;
  const struct hr_cost_summary *costs = summary->costs;
  record->digest = summary->digest;
  hr__metrics_of_run(run->summary, record->values);
  record->groups = calloc(summary->n_tenants + summary->n_classes + summary->n_services + 1, sizeof *record->groups);
  return record->groups &&
         copy_groups(record, HR__SWEEP_TENANT, summary->by_tenant, summary->n_tenants,
                     costs ? &costs->by_tenant : NULL) &&
         copy_groups(record, HR__SWEEP_CLASS, summary->by_class, summary->n_classes, costs ? &costs->by_class : NULL) &&
         copy_services(record, summary);
}

void hr__parcel_record(struct hr__parcel *parcel, struct hr__sweep_record *record) {
  hr__parcel_bytes(parcel, record, sizeof *record);
  void *groups = hr__parcel_array(parcel, record->groups, &record->n_groups, sizeof *record->groups);
  if (parcel->reading) record->groups = groups;
  for (size_t i = 0; i < record->n_groups; i++) hr__parcel_text(parcel, &record->groups[i].name);
}

/* ---- One run ---------------------------------------------------------------------------------------- */

/* If the scenario redraws its workload, the run has the workload that belongs to its seed, as in a replication of
   `headroom run`. */
static enum hr_status run_scenario(const struct hr__sweep *sweep, const struct hr__sweep_point *point,
                                   const struct hr_scenario *scenario, const struct hr_progress *progress,
                                   struct hr__sweep_record *record, struct hr_error *error) {
  struct hr__one_run_config config = {.scenario = scenario,
                                      .trace = sweep->traces[point->trace].trace,
                                      .policy = &scenario->policy,
                                      .seed = scenario->seed,
                                      .progress = {.self = progress->self, .is_stopped = progress->is_stopped}};
  struct hr_trace *drawn = NULL;
  struct hr__one_run run = {0};
  enum hr_status status = HR_OK;
  if (hr__workload_is_redrawn(&scenario->replications.workload)) {
    status = hr_trace_redraw(config.trace, &scenario->replications.workload, scenario->seed, &drawn, error);
    config.trace = drawn;
  }
  if (status == HR_OK) status = hr__one_run_make(&config, &run, error);
  record->seed = scenario->seed;
  if (status == HR_OK && !copy_record(record, &run)) status = hr_fail(error, HR_NO_MEMORY, "out of memory");
  hr__one_run_finish(&run);
  hr_trace_destroy(drawn);
  return status;
}

enum hr_status hr__sweep_make_run(const struct hr__sweep *sweep, uint64_t run, const struct hr_progress *progress,
                                  struct hr__sweep_record *record, struct hr_error *error) {
  size_t index = hr__sweep_point_of(sweep, run);
  const struct hr__sweep_point *point = &sweep->points[index];
  struct hr_scenario *scenario = NULL;
  struct hr_error inner = {0};
  *record = (struct hr__sweep_record){.run = run, .seed = point->seed};
  if (point->unfit) {
    for (unsigned i = 0; i < HR__N_METRICS; i++) record->values[i] = HR__UNKNOWN;
    return HR_OK;
  }
  enum hr_status status = hr__sweep_load_run(sweep, index, (uint32_t)(run - point->first_run), &scenario, &inner);

  if (status == HR_OK) status = run_scenario(sweep, point, scenario, progress, record, &inner);
  hr_scenario_destroy(scenario);
  if (status == HR_OK) return HR_OK;
  char *text = hr__sweep_point_text(sweep, index);
  hr_fail(error, status, "run %" PRIu64 ", point %zu (%.300s): %s", run, index, text ? text : "", inner.text);
  free(text);
  return status;
}
