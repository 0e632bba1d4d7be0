/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a sweep is to make. Each point's scenario is loaded here and dropped again: what is wrong with any is told
 * before the first run, and which points are random, and so how runs are numbered, is known. A load takes a millisecond
 * or so, a run seldom less, so that it is cheap beside what it spares. Traces are few and large, and are kept.
 */

#include "base/hash.h"
#include "base/threads.h"
#include "headroom/scenario.h"
#include "headroom/unstable/experiments.h"
#include "plan/runner/input_key.h"
#include "plan/sweep/sweep.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- Names of things that points share -------------------------------------------------------------- */

static size_t find_trace(const struct hr__sweep *sweep, const char *key) {
  size_t i = 0;
  while (i < sweep->n_traces && strcmp(sweep->traces[i].key, key) != 0) i++;
  return i;
}

/* The place of the point's trace in the list, which is read where no point before had it. Under the lock. */
static enum hr_status share_trace(struct hr__sweep *sweep, const struct hr_scenario *scenario, uint32_t *place,
                                  struct hr_error *error) {
  char *key = hr__trace_key(scenario, scenario->trace_file);
  size_t found = key ? find_trace(sweep, key) : 0;
  *place = (uint32_t)found;
  if (key && found < sweep->n_traces) {
    free(key);
    return HR_OK;
  }
  struct hr__sweep_trace *grown = key ? realloc(sweep->traces, (found + 1) * sizeof *grown) : NULL;
  if (grown) sweep->traces = grown;
  char *file = grown ? strdup(scenario->trace_file) : NULL;
  if (!file) {
    free(key);
    return hr_fail(error, HR_NO_MEMORY, "out of memory");
  }
  sweep->traces[sweep->n_traces++] = (struct hr__sweep_trace){.key = key, .file = file};
  return hr__trace_read(scenario, file, &sweep->traces[found].trace, error);
}

/* ---- Points ----------------------------------------------------------------------------------------- */

struct sweep_points_check {
  struct hr__sweep *sweep;
  pthread_mutex_t lock;
};

static bool add_notes(struct hr_notes *to, const struct hr_notes *from) {
  for (size_t i = 0; i < from->count; i++)
    if (hr_notes_add(to, "%s", from->text[i]) != HR_OK) return false;
  return true;
}

static enum hr_status keep_point(struct sweep_points_check *check, size_t place, const struct hr_scenario *scenario,
                                 struct hr_error *error) {
  struct hr__sweep *sweep = check->sweep;
  struct hr__sweep_point *point = &sweep->points[place];
  if (!scenario->trace_file)
    return hr_fail(error, HR_BAD_INPUT, "%s: names no trace; one is wanted, as in \"set\": [\"trace.file=jobs.csv\"]",
                   scenario->path);
  point->seed = scenario->seed;
  point->random =
      hr_scenario_is_random(scenario) || hr_policy_choice_draws(&scenario->policy) || scenario->policy.library;
  pthread_mutex_lock(&check->lock);
  enum hr_status status = share_trace(sweep, scenario, &point->trace, error);
  bool whole = add_notes(&sweep->files, &scenario->files);
  if (place == 0) whole = whole && add_notes(&sweep->notes, &scenario->notes);
  if (status == HR_OK && !whole) status = hr_fail(error, HR_NO_MEMORY, "out of memory");
  pthread_mutex_unlock(&check->lock);
  return status;
}

/* Whether an error of the loader begins with an override of the level. */
static bool is_of_level(const struct hr_grid_level *level, const char *text) {
  for (size_t i = 0; i < level->n_set; i++)
    if (strncmp(text, level->set[i], strlen(level->set[i])) == 0) return true;
  return false;
}

/* Names the axis, where the error is about what one set. */
static enum hr_status blame(const struct hr__sweep *sweep, size_t place, enum hr_status status,
                            const struct hr_error *inner, struct hr_error *error) {
  static const char head[] = "--set ";
  const struct hr_grid *grid = sweep->grid;
  const double *at = hr__design_point(&sweep->design, place);
  bool overridden = strncmp(inner->text, head, sizeof head - 1) == 0;
  const char *text = inner->text + (overridden ? sizeof head - 1 : 0);
  for (uint32_t i = 0; overridden && i < grid->n_axes; i++) {
    const struct hr_grid_axis *axis = &grid->axes[i];
    size_t length = axis->path ? strlen(axis->path) : 0;
    bool its = axis->levels ? is_of_level(&axis->levels[(size_t)at[i]], text)
                            : axis->path && strncmp(text, axis->path, length) == 0 && text[length] == '=';
    if (its) return hr_fail(error, status, "%s: axis '%.100s': %s", grid->path, axis->name, text);
  }
  if (overridden) return hr_fail(error, status, "%s: %s", grid->path, text);
  char *words = hr__sweep_point_words(sweep, place);
  hr_fail(error, status, "%s: point %zu (%.200s): %s", grid->path, place, words ? words : "", inner->text);
  free(words);
  return status;
}

static enum hr_status check_point(void *self, size_t place, struct hr_error *error) {
  struct sweep_points_check *check = self;
  struct hr__sweep *sweep = check->sweep;
  struct hr__overrides overrides;
  struct hr_scenario *scenario = NULL;
  struct hr_error inner = {0};
  enum hr_status status =
      hr__overrides_make(sweep, place, 0, &overrides) ? HR_OK : hr_fail(&inner, HR_NO_MEMORY, "out of memory");
  if (status == HR_OK)
    status = hr_scenario_load(sweep->grid->scenario_path, overrides.at, overrides.count, &scenario, &inner);
  if (status == HR_OK) status = keep_point(check, place, scenario, &inner);
  hr_scenario_destroy(scenario);
  hr__overrides_finish(&overrides);
  return status == HR_OK ? HR_OK : blame(sweep, place, status, &inner, error);
}

static enum hr_status check_points(struct hr__sweep *sweep, uint32_t n_threads, struct hr_error *error) {
  struct sweep_points_check check = {.sweep = sweep};
  struct hr__tasks tasks = {.self = &check, .run = check_point, .count = sweep->design.n_points};
  sweep->points = calloc(sweep->design.n_points, sizeof *sweep->points);
  if (!sweep->points) return hr_fail(error, HR_NO_MEMORY, "out of memory for the points");
  pthread_mutex_init(&check.lock, NULL);
  enum hr_status status = hr__pool_run(&tasks, n_threads, error);
  pthread_mutex_destroy(&check.lock);
  return status;
}

/* ---- Traces in order -------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b) {
  const struct hr__sweep_trace *first = a, *second = b;
  return strcmp(first->key, second->key);
}

/* Which thread came first to a trace is nothing to go by. */
static enum hr_status sort_traces(struct hr__sweep *sweep, struct hr_error *error) {
  const char **before = calloc(sweep->n_traces + 1, sizeof(*before));
  if (!before) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  for (size_t i = 0; i < sweep->n_traces; i++) before[i] = sweep->traces[i].key;
  qsort(sweep->traces, sweep->n_traces, sizeof *sweep->traces, by_key);
  for (size_t i = 0; i < sweep->design.n_points; i++)
    sweep->points[i].trace = (uint32_t)find_trace(sweep, before[sweep->points[i].trace]);
  free(before);
  return HR_OK;
}

/* What was left out of a trace is never left unsaid. */
static enum hr_status note_traces(struct hr__sweep *sweep, struct hr_error *error) {
  bool whole = true;
  for (size_t i = 0; i < sweep->n_traces && whole; i++) {
    const struct hr_trace *trace = sweep->traces[i].trace;
    whole = add_notes(&sweep->notes, &trace->notes);
    for (uint32_t k = 0; k < trace->n_skipped_reasons && whole; k++) {
      const struct hr_skipped_rows *skipped = &trace->skipped[k];
      whole = hr_notes_add(&sweep->notes, "%s: %" PRIu64 " row%s left out, the first in line %" PRIu64 ": %s",
                           trace->source, skipped->count, skipped->count == 1 ? "" : "s", skipped->first_line,
                           skipped->reason) == HR_OK;
    }
  }
  return whole ? HR_OK : hr_fail(error, HR_NO_MEMORY, "out of memory");
}

/* ---- Runs ------------------------------------------------------------------------------------------- */

static enum hr_status count_runs(struct hr__sweep *sweep, uint64_t most, struct hr_error *error) {
  const struct hr_grid *grid = sweep->grid;
  size_t fixed = 0;
  for (size_t i = 0; i < sweep->design.n_points; i++) {
    struct hr__sweep_point *point = &sweep->points[i];
    point->first_run = sweep->n_runs;
    sweep->n_runs += point->random ? grid->replications : 1;
    fixed += !point->random;
  }
  if (sweep->n_runs > most)
    return hr_fail(error, HR_BAD_INPUT,
                   "%s: makes %" PRIu64 " runs of %zu points, and 'max_runs' (--max-runs) allows %" PRIu64, grid->path,
                   sweep->n_runs, sweep->design.n_points, most);
  enum hr_status status = HR_OK;
  if (grid->replications > 1 && fixed == sweep->design.n_points)
    status =
        hr_notes_add(&sweep->notes, "nothing is random: one run of each point tells all, and replications are not run");
  else if (grid->replications > 1 && fixed)
    status = hr_notes_add(&sweep->notes, "nothing is random in %zu of %zu points, which are run once", fixed,
                          sweep->design.n_points);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory");
}

/* ---- What the runs depend on ------------------------------------------------------------------------ */

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names without their folders: the same files give the same lines, from wherever they are named. */
static enum hr_status digest_inputs(struct hr__sweep *sweep, struct hr_error *error) {
  struct hr_notes lines = {0};
  size_t size = 1;
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < sweep->files.count && status == HR_OK; i++) {
    const char *path = sweep->files.text[i], *slash = strrchr(path, '/');
    uint64_t digest;
    status = hr__digest_file(path, &digest, error);
    if (status == HR_OK) status = hr_notes_add(&lines, "%s %016" PRIx64, slash ? slash + 1 : path, digest);
  }
  for (size_t i = 0; i < lines.count; i++) size += strlen(lines.text[i]) + 1;
  if (status == HR_OK) sweep->inputs = calloc(size, 1);
  if (sweep->inputs) {
    if (lines.count) qsort(lines.text, lines.count, sizeof *lines.text, by_text);
    char *at = sweep->inputs;
    for (size_t i = 0; i < lines.count; i++) at += sprintf(at, "%s%s", i ? "\n" : "", lines.text[i]);
  } else if (status == HR_OK) {
    status = hr_fail(error, HR_NO_MEMORY, "out of memory");
  }
  hr_notes_finish(&lines);
  return status;
}

static enum hr_status read_scenario_text(struct hr__sweep *sweep, struct hr_error *error) {
  const char *path = sweep->grid->scenario_path;
  FILE *file = fopen(path, "rb");
  size_t used = 0, capacity = 4096;
  char *text = malloc(capacity);
  while (file && text) {
    used += fread(text + used, 1, capacity - used - 1, file);
    if (used < capacity - 1) break;
    capacity *= 2;
    char *grown = realloc(text, capacity);
    if (!grown) free(text);
    text = grown;
  }
  bool failed = !file || ferror(file);
  if (text) text[used] = '\0';
  sweep->scenario_text = text;
  if (file) fclose(file);
  if (!text) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  return failed ? hr_fail(error, HR_BAD_INPUT, "%s: cannot be read: %s", path, strerror(errno)) : HR_OK;
}

static void take_fingerprint(struct hr__sweep *sweep) {
  const char *const parts[] = {hr_version(), sweep->grid->text, sweep->scenario_text, sweep->inputs};
  sweep->fingerprint = HR__DIGEST_SEED;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    sweep->fingerprint = hr__digest_add(sweep->fingerprint, strlen(parts[i]));
    sweep->fingerprint = hr__digest_bytes(sweep->fingerprint, parts[i], strlen(parts[i]));
  }
}

/* ---- The whole -------------------------------------------------------------------------------------- */

/* Columns of the file's own. */
static enum hr_status check_names(const struct hr_grid *grid, struct hr_error *error) {
  static const char *const own[] = {"run", "point", "replication", "seed", "digest", "scenario", "runs"};
  for (uint32_t i = 0; i < grid->n_axes; i++) {
    const char *name = grid->axes[i].name;
    bool taken = false;
    for (size_t k = 0; k < sizeof own / sizeof *own; k++) taken = taken || strcasecmp(name, own[k]) == 0;
    for (unsigned k = 0; k < HR__N_MEASURES; k++) taken = taken || strcasecmp(name, hr__measure_infos[k].column) == 0;
    if (taken)
      return hr_fail(error, HR_BAD_INPUT,
                     "%s: axis '%.200s': a column of every sweep is called so; give the axis another 'name'",
                     grid->path, name);
  }
  return HR_OK;
}

enum hr_status hr__sweep_make(const char *grid, uint64_t max_runs, uint32_t n_threads, struct hr__sweep *sweep,
                              struct hr_error *error) {
  *sweep = (struct hr__sweep){0};
  enum hr_status status = hr_grid_load(grid, &sweep->grid, error);
  if (status != HR_OK) return status;
  uint64_t most = max_runs ? max_runs : sweep->grid->max_runs;
  status = check_names(sweep->grid, error);
  if (status == HR_OK) status = hr__design_make(sweep->grid, most, &sweep->design, error);
  if (status == HR_OK) status = check_points(sweep, n_threads, error);
  if (status == HR_OK) status = sort_traces(sweep, error);
  if (status == HR_OK) status = note_traces(sweep, error);
  if (status == HR_OK) status = count_runs(sweep, most, error);
  if (status == HR_OK) status = read_scenario_text(sweep, error);
  if (status == HR_OK) status = digest_inputs(sweep, error);
  if (status == HR_OK) take_fingerprint(sweep);
  return status;
}

void hr__sweep_finish(struct hr__sweep *sweep) {
  for (size_t i = 0; i < sweep->n_traces; i++) {
    free(sweep->traces[i].key);
    free(sweep->traces[i].file);
    hr_trace_destroy(sweep->traces[i].trace);
  }
  free(sweep->traces);
  free(sweep->points);
  free(sweep->scenario_text);
  free(sweep->inputs);
  hr__design_finish(&sweep->design);
  hr_notes_finish(&sweep->files);
  hr_notes_finish(&sweep->notes);
  hr_grid_destroy(sweep->grid);
  *sweep = (struct hr__sweep){0};
}
