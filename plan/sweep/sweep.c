/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A sweep: loads its points, makes the missing runs, stores them in a file, and reports the file. In an MPI job all
 * ranks load the sweep, and rank 0 owns the file.
 *
 * Before the first run, the scenario of each point is loaded and freed again, so that its errors are reported early.
 * Loading also shows which points are random. A point that is not random has a single run. So the number of runs of
 * each point is known before the first run. Loading takes about a millisecond, and a run usually takes longer. Traces
 * are few and large, and remain in memory.
 *
 * The fingerprint is a digest of the version, the grid, the scenario and all input files. It determines whether a file
 * of results belongs to this sweep, so all its parts have a fixed order.
 *
 * Reports are CSV, a table of the best and worst points for a terminal, and JSON for the HTML report. All reports read
 * the file with SQL.
 */

#include "plan/sweep/sweep.h"

#include "base/containers.h"
#include "base/output_file.h"
#include "base/text.h"
#include "base/threads.h"
#include "headroom/scenario.h"
#include "headroom/unstable/catalog.h"
#include "headroom/unstable/compare.h"
#include "plan/runner/runner.h"
#include "report/tables/tables.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- Traces ----------------------------------------------------------------------------------------- */

static size_t find_trace(const struct hr__sweep *sweep, const char *key) {
  size_t i = 0;
  while (i < sweep->n_traces && strcmp(sweep->traces[i].key, key) != 0) i++;
  return i;
}

/* Finds the trace of a point in the list. If it is missing, reads and adds it. The caller must hold the lock. */
static enum hr_status share_trace(struct hr__sweep *sweep, const struct hr_scenario *scenario, uint32_t *index,
                                  struct hr_error *error) {
  char *key = hr__input_trace_key(scenario, hr__input_trace_file(scenario));
  size_t found = key ? find_trace(sweep, key) : 0;
  *index = (uint32_t)found;
  if (key && found < sweep->n_traces) {
    free(key);
    return HR_OK;
  }
  bool room = key && HR__ARRAY_HAS_ROOM(sweep->traces, sweep->n_traces, sweep->trace_capacity);
  char *file = room ? strdup(hr__input_trace_file(scenario)) : NULL;
  if (!file) {
    free(key);
    return hr_fail(error, HR_NO_MEMORY, "out of memory");
  }
  sweep->traces[sweep->n_traces++] = (struct hr__sweep_trace){.key = key, .file = file};
  return hr__input_trace_read(scenario, file, &sweep->traces[found].trace, error);
}

/* ---- Points ----------------------------------------------------------------------------------------- */

struct points_check {
  struct hr__sweep *sweep;
  pthread_mutex_t lock;
};

static bool add_notes(struct hr_notes *to, const struct hr_notes *from) {
  for (size_t i = 0; i < from->count; i++)
    if (hr_notes_add(to, "%s", from->text[i]) != HR_OK) return false;
  return true;
}

static enum hr_status store_point(struct points_check *check, size_t index, const struct hr_scenario *scenario,
                                  struct hr_error *error) {
  struct hr__sweep *sweep = check->sweep;
  struct hr__sweep_point *point = &sweep->points[index];
  if (!hr__input_trace_file(scenario))
    return hr_fail(error, HR_BAD_INPUT, "%s: names no trace; add one, for example \"set\": [\"trace.file=jobs.csv\"]",
                   scenario->path);
  point->seed = scenario->seed;
  point->random = hr_scenario_is_random(scenario) || hr_policy_choice_draws(&scenario->policy) ||
                  scenario->policy.library || hr__workload_is_redrawn(&scenario->replications.workload);
  const bool is_unfit = scenario->services && scenario->services->unfit;
  if (is_unfit) point->unfit = strdup(scenario->services->unfit);
  if (is_unfit && !point->unfit) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  pthread_mutex_lock(&check->lock);
  enum hr_status status = share_trace(sweep, scenario, &point->trace, error);
  bool complete = add_notes(&sweep->files, &scenario->files);
  if (index == 0) complete = complete && add_notes(&sweep->notes, &scenario->notes);
  if (status == HR_OK && !complete) status = hr_fail(error, HR_NO_MEMORY, "out of memory");
  pthread_mutex_unlock(&check->lock);
  return status;
}

/* Whether an error message of the loader starts with an override that belongs to the level. */
static bool starts_with_level(const struct hr_grid_level *level, const char *text) {
  for (size_t i = 0; i < level->n_set; i++)
    if (strncmp(text, level->set[i], strlen(level->set[i])) == 0) return true;
  return false;
}

/* Adds the cause of an error to its message:
   - an override of an axis: the axis;
   - another override: the path of the grid;
   - otherwise: the point. */
static enum hr_status locate_error(const struct hr__sweep *sweep, size_t point, enum hr_status status,
                                   const struct hr_error *inner, struct hr_error *error) {
  static const char head[] = "--set ";
  const struct hr_grid *grid = sweep->grid;
  const double *at = hr__sweep_design_point(&sweep->design, point);
  bool overridden = strncmp(inner->text, head, sizeof head - 1) == 0;
  const char *text = inner->text + (overridden ? sizeof head - 1 : 0);
  for (uint32_t i = 0; overridden && i < grid->n_axes; i++) {
    const struct hr_grid_axis *axis = &grid->axes[i];
    size_t length = axis->path ? strlen(axis->path) : 0;
    bool matches = axis->levels ? starts_with_level(&axis->levels[(size_t)at[i]], text)
                                : axis->path && strncmp(text, axis->path, length) == 0 && text[length] == '=';
    if (matches) return hr_fail(error, status, "%s: axis '%.100s': %s", grid->path, axis->name, text);
  }
  if (overridden) return hr_fail(error, status, "%s: %s", grid->path, text);
  char *description = hr__sweep_point_text(sweep, point);
  hr_fail(error, status, "%s: point %zu (%.200s): %s", grid->path, point, description ? description : "", inner->text);
  free(description);
  return status;
}

static enum hr_status check_point(void *self, size_t point, struct hr_error *error) {
  struct points_check *check = self;
  struct hr_scenario *scenario = NULL;
  struct hr_error inner = {0};
  enum hr_status status = hr__sweep_load_run(check->sweep, point, 0, &scenario, &inner);
  if (status == HR_OK) status = store_point(check, point, scenario, &inner);
  hr_scenario_destroy(scenario);
  return status == HR_OK ? HR_OK : locate_error(check->sweep, point, status, &inner, error);
}

static enum hr_status check_points(struct hr__sweep *sweep, uint32_t n_threads, struct hr_error *error) {
  struct points_check check = {.sweep = sweep};
  struct hr__tasks tasks = {.self = &check, .run = check_point, .count = sweep->design.n_points};
  sweep->points = calloc(sweep->design.n_points, sizeof *sweep->points);
  if (!sweep->points) return hr_fail(error, HR_NO_MEMORY, "out of memory for the points");
  pthread_mutex_init(&check.lock, NULL);
  enum hr_status status = hr__pool_run(&tasks, n_threads, error);
  pthread_mutex_destroy(&check.lock);
  return status;
}

/* ---- Order and notes of traces ---------------------------------------------------------------------- */

static int by_key(const void *a, const void *b) {
  const struct hr__sweep_trace *first = a, *second = b;
  return strcmp(first->key, second->key);
}

/* Sorts the traces by key. Threads find them in random order, so sorting makes the order deterministic. */
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

/* Adds the notes of the traces, and the number of skipped rows by reason. */
static enum hr_status note_traces(struct hr__sweep *sweep, struct hr_error *error) {
  bool complete = true;
  for (size_t i = 0; i < sweep->n_traces && complete; i++) {
    const struct hr_trace *trace = sweep->traces[i].trace;
    complete = add_notes(&sweep->notes, &trace->notes);
    for (uint32_t k = 0; k < trace->n_skipped_reasons && complete; k++) {
      const struct hr_skipped_rows *skipped = &trace->skipped[k];
      complete =
          hr_notes_add(&sweep->notes, "%s: %" PRIu64 " row%s skipped, the first in line %" PRIu64 ": %s", trace->source,
                       skipped->count, skipped->count == 1 ? "" : "s", skipped->first_line, skipped->reason) == HR_OK;
    }
  }
  return complete ? HR_OK : hr_fail(error, HR_NO_MEMORY, "out of memory");
}

/* Adds a note for each reason why services of points can never run. */
static enum hr_status note_unfit(struct hr__sweep *sweep, struct hr_error *error) {
  const char **reasons = calloc(sweep->design.n_points + 1, sizeof *reasons);
  size_t count = 0;
  for (size_t i = 0; i < sweep->design.n_points && reasons; i++)
    if (sweep->points[i].unfit) reasons[count++] = sweep->points[i].unfit;
  const enum hr_status status = reasons ? hr__runner_note_unfit(&sweep->notes, "point", reasons, count) : HR_NO_MEMORY;
  free(reasons);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory");
}

/* ---- Numbers of runs -------------------------------------------------------------------------------- */

static enum hr_status count_runs(struct hr__sweep *sweep, uint64_t max_runs, struct hr_error *error) {
  const struct hr_grid *grid = sweep->grid;
  size_t fixed = 0, n_fit = 0;
  for (size_t i = 0; i < sweep->design.n_points; i++) {
    struct hr__sweep_point *point = &sweep->points[i];
    point->first_run = sweep->n_runs;
    sweep->n_runs += point->random && !point->unfit ? grid->replications : 1;
    fixed += !point->random && !point->unfit;
    n_fit += !point->unfit;
  }
  if (sweep->n_runs > max_runs)
    return hr_fail(error, HR_BAD_INPUT,
                   "%s: %" PRIu64 " runs of %zu points exceed the limit 'max_runs' (--max-runs) of %" PRIu64,
                   grid->path, sweep->n_runs, sweep->design.n_points, max_runs);
  enum hr_status status = HR_OK;
  if (grid->replications > 1 && fixed && fixed == n_fit)
    status = hr_notes_add(&sweep->notes,
                          "the sweep is deterministic: one run of each point suffices, and replications are skipped");
  else if (grid->replications > 1 && fixed)
    status = hr_notes_add(&sweep->notes, "%zu of %zu points are deterministic and are run once", fixed, n_fit);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory");
}

/* ---- Fingerprint ------------------------------------------------------------------------------------ */

/* Digests the input files. File names are stored without folders, so that they do not depend on the working directory.
 */
static enum hr_status digest_inputs(struct hr__sweep *sweep, struct hr_error *error) {
  struct hr_notes lines = {0};
  size_t size = 1;
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < sweep->files.count && status == HR_OK; i++) {
    const char *path = sweep->files.text[i], *slash = strrchr(path, '/');
    uint64_t digest;
    status = hr__input_digest_file(path, &digest, error);
    if (status == HR_OK) status = hr_notes_add(&lines, "%s %016" PRIx64, slash ? slash + 1 : path, digest);
  }
  for (size_t i = 0; i < lines.count; i++) size += strlen(lines.text[i]) + 1;
  if (status == HR_OK) sweep->inputs = calloc(size, 1);
  if (sweep->inputs) {
    if (lines.count) qsort(lines.text, lines.count, sizeof *lines.text, hr__by_text);
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
  if (!file) return hr_fail(error, HR_BAD_INPUT, "%s: cannot be read: %s", path, strerror(errno));
  size_t length;
  sweep->scenario_text = hr__file_text(file, SIZE_MAX, &length);
  bool failed = ferror(file) != 0;
  fclose(file);
  if (!sweep->scenario_text) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  return failed ? hr_fail(error, HR_BAD_INPUT, "%s: cannot be read: %s", path, strerror(errno)) : HR_OK;
}

static void compute_fingerprint(struct hr__sweep *sweep) {
  const char *const parts[] = {hr_version(), sweep->grid->text, sweep->scenario_text, sweep->inputs};
  sweep->fingerprint = HR__DIGEST_SEED;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    sweep->fingerprint = hr__digest_add(sweep->fingerprint, strlen(parts[i]));
    sweep->fingerprint = hr__input_digest_bytes(sweep->fingerprint, parts[i], strlen(parts[i]));
  }
}

/* ---- Preparation ------------------------------------------------------------------------------------ */

/* Rejects an axis that has the name of a column. The file has a column for each axis, in addition to its own columns.
 */
static enum hr_status check_names(const struct hr_grid *grid, struct hr_error *error) {
  static const char *const reserved[] = {"run",    "point",    "replication", "seed",
                                         "digest", "scenario", "runs",        "infeasible"};
  for (uint32_t i = 0; i < grid->n_axes; i++) {
    const char *name = grid->axes[i].name;
    bool taken = false;
    for (size_t k = 0; k < sizeof reserved / sizeof *reserved; k++) taken = taken || strcasecmp(name, reserved[k]) == 0;
    for (unsigned k = 0; k < HR__N_METRICS; k++) taken = taken || strcasecmp(name, hr__metric_rows[k].column) == 0;
    if (taken)
      return hr_fail(
          error, HR_BAD_INPUT,
          "%s: axis '%.200s': the name is reserved for a column of the results; give the axis another 'name'",
          grid->path, name);
  }
  return HR_OK;
}

/* Loads the grid and the scenario of each point, so that errors are reported before the first run, and reads the
   traces. `max_runs` 0: the limit of the grid. The caller must call sweep_finish, even after an error. */
static enum hr_status sweep_load(const char *grid, uint64_t max_runs, uint32_t n_threads, struct hr__sweep *sweep,
                                 struct hr_error *error) {
  *sweep = (struct hr__sweep){0};
  enum hr_status status = hr_grid_load(grid, &sweep->grid, error);
  (void)hr_catalog_load(NULL, &sweep->catalog, NULL);
  if (status != HR_OK) return status;
  uint64_t limit = max_runs ? max_runs : sweep->grid->max_runs;
  status = check_names(sweep->grid, error);
  if (status == HR_OK) status = hr__sweep_design_make(sweep->grid, limit, &sweep->design, error);
  if (status == HR_OK) status = check_points(sweep, n_threads, error);
  if (status == HR_OK) status = sort_traces(sweep, error);
  if (status == HR_OK) status = note_traces(sweep, error);
  if (status == HR_OK) status = note_unfit(sweep, error);
  if (status == HR_OK) status = count_runs(sweep, limit, error);
  if (status == HR_OK) status = read_scenario_text(sweep, error);
  if (status == HR_OK) status = digest_inputs(sweep, error);
  if (status == HR_OK) compute_fingerprint(sweep);
  return status;
}

static void sweep_finish(struct hr__sweep *sweep) {
  hr_catalog_destroy(sweep->catalog);
  for (size_t i = 0; i < sweep->n_traces; i++) {
    free(sweep->traces[i].key);
    free(sweep->traces[i].file);
    hr_trace_destroy(sweep->traces[i].trace);
  }
  free(sweep->traces);
  for (size_t i = 0; i < sweep->design.n_points && sweep->points; i++) free(sweep->points[i].unfit);
  free(sweep->points);
  free(sweep->scenario_text);
  free(sweep->inputs);
  hr__sweep_design_finish(&sweep->design);
  hr_notes_finish(&sweep->files);
  hr_notes_finish(&sweep->notes);
  hr_grid_destroy(sweep->grid);
  *sweep = (struct hr__sweep){0};
}

/* ---- Ranks ------------------------------------------------------------------------------------------ */

static enum hr_status agree(const struct hr_sweep_config *config, enum hr_status status, struct hr_error *error) {
  return config->ranks ? hr_ranks_agree(config->ranks, status, error) : status;
}

/* ---- Storing runs ----------------------------------------------------------------------------------- */

/* The runs that a sweep makes. Only rank 0 has the file. */
struct sweep_writer {
  const struct hr__sweep *sweep;
  const struct hr_progress *progress;
  struct hr__store store;
  bool *has;      /* [sweep->n_runs] rank 0: the file had the run before */
  uint64_t *runs; /* [n_runs] numbers of the runs to make, ascending */
  uint64_t n_runs, stored;
  struct hr__sweep_record **records; /* [n_runs] records that were not stored or sent yet; NULL: none */
};

static void drop_record(struct sweep_writer *writer, size_t item) {
  struct hr__sweep_record *record = writer->records[item];
  if (!record) return;
  hr__sweep_record_finish(record);
  free(record);
  writer->records[item] = NULL;
}

static enum hr_status make_record(void *self, size_t item, struct hr_error *error) {
  struct sweep_writer *writer = self;
  writer->records[item] = calloc(1, sizeof **writer->records);
  if (!writer->records[item]) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  return hr__sweep_make_run(writer->sweep, writer->runs[item], writer->progress, writer->records[item], error);
}

static void exchange_record(void *self, size_t item, struct hr__parcel *parcel) {
  struct sweep_writer *writer = self;
  if (parcel->reading) writer->records[item] = calloc(1, sizeof **writer->records);
  if (!writer->records[item]) {
    parcel->failed = true;
    return;
  }
  hr__parcel_record(parcel, writer->records[item]);
  if (!parcel->reading) drop_record(writer, item);
}

static enum hr_status store_record(void *self, size_t item, struct hr_error *error) {
  struct sweep_writer *writer = self;
  enum hr_status status = hr__store_add(&writer->store, writer->records[item], error);
  drop_record(writer, item);
  if (status != HR_OK) return status;
  writer->stored++;
  if (writer->progress->report) writer->progress->report(writer->progress->self, writer->stored, writer->n_runs, 0);
  return HR_OK;
}

static bool is_of_shard(const struct hr_sweep_config *config, uint64_t run) {
  return config->n_shards == 0 || run % config->n_shards == config->shard - 1;
}

/* Opens the file. Of the runs of the shard, lists those that the file lacks. */
static enum hr_status open_file(const struct hr_sweep_config *config, struct sweep_writer *writer,
                                struct hr_error *error) {
  enum hr_status status = hr__store_open(&writer->store, config->file, writer->sweep, writer->has, error);
  for (uint64_t run = 0; status == HR_OK && run < writer->sweep->n_runs; run++)
    if (!writer->has[run] && is_of_shard(config, run)) writer->runs[writer->n_runs++] = run;
  return status;
}

static void count_runs_made(const struct sweep_writer *writer, struct hr_sweep_counts *counts) {
  size_t next = 0;
  for (uint64_t run = 0; run < writer->sweep->n_runs; run++) {
    bool made = next < writer->n_runs && writer->runs[next] == run;
    next += made;
    counts->before += writer->has[run];
    if (writer->has[run] || made) continue;
    if (counts->missing++ == 0) counts->first_missing = run;
  }
}

/* Makes the runs of the list on all ranks. Only rank 0 knows what the file lacks, so it sends the list to the others.
 */
static enum hr_status make_runs(const struct hr_sweep_config *config, struct sweep_writer *writer,
                                struct hr_error *error) {
  if (hr__ranks_several(config->ranks)) {
    hr__ranks_share(&writer->n_runs, sizeof writer->n_runs);
    hr__ranks_share(writer->runs, (size_t)writer->n_runs * sizeof *writer->runs);
  }
  const struct hr__run_batch batch = {.self = writer,
                                      .count = (size_t)writer->n_runs,
                                      .run = make_record,
                                      .exchange = exchange_record,
                                      .store = store_record};
  return hr__batch_run(&batch, config->ranks, config->n_threads, error);
}

/* All ranks first agree that rank 0 has opened the file. Without this agreement, a rank could wait forever after rank 0
   has failed. */
static enum hr_status fill_file(const struct hr_sweep_config *config, const struct hr__sweep *sweep,
                                struct hr_sweep_counts *counts, struct hr_error *error) {
  struct sweep_writer writer = {.sweep = sweep, .progress = &config->progress};
  bool first = hr__ranks_first(config->ranks);
  writer.has = calloc(sweep->n_runs + 1, sizeof *writer.has);
  writer.runs = calloc(sweep->n_runs + 1, sizeof *writer.runs);
  writer.records = calloc(sweep->n_runs + 1, sizeof *writer.records);
  enum hr_status status = writer.has && writer.runs && writer.records
                              ? HR_OK
                              : hr_fail(error, HR_NO_MEMORY, "out of memory for %" PRIu64 " runs", sweep->n_runs);
  if (status == HR_OK && first) status = open_file(config, &writer, error);
  status = agree(config, status, error);
  if (status == HR_OK) status = make_runs(config, &writer, error);
  if (status == HR_OK && first) status = hr__store_seal(&writer.store, error);
  if (status == HR_OK && first) count_runs_made(&writer, counts);
  hr__store_close(&writer.store);
  for (uint64_t i = 0; writer.records && i < writer.n_runs; i++) drop_record(&writer, (size_t)i);
  free(writer.records);
  free(writer.has);
  free(writer.runs);
  counts->now = writer.stored;
  return status;
}

/* ---- Sweep ------------------------------------------------------------------------------------------ */

static enum hr_status check_config(const struct hr_sweep_config *config, struct hr_error *error) {
  if (config->n_threads == 0) return hr_fail(error, HR_BAD_INPUT, "a sweep needs at least one thread");
  if (config->n_shards && (config->shard == 0 || config->shard > config->n_shards))
    return hr_fail(error, HR_BAD_INPUT, "there is no shard %" PRIu32 " of %" PRIu32 "; shards are numbered from 1",
                   config->shard, config->n_shards);
  return HR_OK;
}

static enum hr_status copy_notes(const struct hr__sweep *sweep, struct hr_sweep_counts *counts,
                                 struct hr_error *error) {
  counts->points = sweep->design.n_points;
  counts->runs = sweep->n_runs;
  return add_notes(&counts->notes, &sweep->notes) ? HR_OK : hr_fail(error, HR_NO_MEMORY, "out of memory");
}

static enum hr_status run_sweep(const struct hr_sweep_config *config, struct hr_sweep_counts *counts,
                                struct hr_error *error) {
  struct hr__sweep sweep = {0};
  enum hr_status status = check_config(config, error);
  if (status == HR_OK) status = sweep_load(config->grid, config->max_runs, config->n_threads, &sweep, error);
  if (status == HR_OK) status = copy_notes(&sweep, counts, error);
  status = agree(config, status, error);
  if (status == HR_OK && config->ranks) status = hr_ranks_same(config->ranks, sweep.fingerprint, "input files", error);
  if (status == HR_OK) status = fill_file(config, &sweep, counts, error);
  sweep_finish(&sweep);
  return status;
}

enum hr_status hr_sweep(const struct hr_sweep_config *config, struct hr_sweep_counts *counts, struct hr_error *error) {
  struct hr_error inner = {0};
  *counts = (struct hr_sweep_counts){0};
  enum hr_status status = run_sweep(config, counts, &inner);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "%s", inner.text);
}

/* ---- Reports: CSV ----------------------------------------------------------------------------------- */

static void put_real(struct hr__csv_out *out, double value) {
  char text[HR__NUMBER_BYTES];
  hr__csv_text(out, hr__exact_text(value, text));
}

static void csv_put_row(struct hr__csv_out *out, sqlite3_stmt *row) {
  for (int i = 0; i < sqlite3_column_count(row); i++) {
    if (sqlite3_column_type(row, i) == SQLITE_FLOAT)
      put_real(out, sqlite3_column_double(row, i));
    else
      hr__csv_text(out, (const char *)sqlite3_column_text(row, i));
  }
  hr__csv_end_row(out);
}

static enum hr_status csv_put_rows(struct hr__store *store, sqlite3_stmt *rows, struct hr__csv_out *out,
                                   struct hr_error *error) {
  for (int i = 0; i < sqlite3_column_count(rows); i++) hr__csv_text(out, sqlite3_column_name(rows, i));
  hr__csv_end_row(out);
  int code;
  while ((code = sqlite3_step(rows)) == SQLITE_ROW) csv_put_row(out, rows);
  return code == SQLITE_DONE ? HR_OK : hr__store_fail(store, error);
}

enum hr_status hr_sweep_write_csv(const char *path, const char *file, struct hr_error *error) {
  struct hr__store store;
  struct hr__csv_out out = {0};
  sqlite3_stmt *rows = NULL;
  enum hr_status status = hr__store_read(&store, file, error);
  const char *sql =
      status == HR_OK && hr__store_has_infeasible(&store)
          ? "SELECT runs.*, infeasible.reason AS infeasible FROM runs LEFT JOIN infeasible USING (point) ORDER BY run"
          : "SELECT * FROM runs ORDER BY run";
  if (status == HR_OK && sqlite3_prepare_v2(store.db, sql, -1, &rows, NULL) != SQLITE_OK)
    status = hr__store_fail(&store, error);
  if (status == HR_OK) status = hr__csv_open(&out, path, NULL, error);
  if (status == HR_OK) {
    status = csv_put_rows(&store, rows, &out, error);
    if (status == HR_OK)
      status = hr__csv_commit(&out, error);
    else
      hr__csv_abandon(&out);
  }
  sqlite3_finalize(rows);
  hr__store_close(&store);
  return status;
}

/* ---- Reports: terminal ------------------------------------------------------------------------------ */

/* The metrics of the table, whether higher or lower is better, and whether they are those of jobs. */
static const struct {
  enum hr__metric metric;
  const char *title;
  bool higher_is_better, of_jobs;
} shown[] = {{HR__M_WAIT_MEAN, "mean wait", false, true},   {HR__M_WAIT_P95, "p95 wait", false, true},
             {HR__M_JCT_MEAN, "mean jct", false, true},     {HR__M_UTILIZATION_MAKESPAN, "GPUs in use", true, false},
             {HR__M_UNFINISHED, "unfinished", false, true}, {HR__M_ATTAINMENT, "within goals", true, false},
             {HR__M_TTFT_P95, "p95 TTFT", false, false},    {HR__M_COST, "cost", false, false}};

/* Returns the settings in a row of the view `points` as text, such as "nodes=4, policy=sjf". The caller frees it. NULL
   when out of memory. */
static char *point_text(sqlite3_stmt *row, int first, int n_axes) {
  sqlite3_str *text = sqlite3_str_new(NULL);
  for (int i = first; i < first + n_axes; i++) {
    const char *value = (const char *)sqlite3_column_text(row, i);
    sqlite3_str_appendf(text, "%s%s=%s", i > first ? ", " : "", sqlite3_column_name(row, i), value ? value : "");
  }
  return sqlite3_str_finish(text);
}

static void put_point(struct hr__console *console, const char *title, const char *end, enum hr_unit unit,
                      sqlite3_stmt *row) {
  enum { COLUMNS_BEFORE = 2, TEXT_AT = 13 + 7 + 14 + 7 + 2 };
  char metric[HR__METRIC_BYTES];
  int n_axes = sqlite3_column_count(row) - COLUMNS_BEFORE;
  char *text = point_text(row, COLUMNS_BEFORE, n_axes);
  char *fitted = text ? hr__fitted(console, text, HR__LINE_WIDTH - TEXT_AT, false) : NULL;
  fprintf(console->out, "%-13s%-7s%14s%7lld  %s\n", title, end,
          hr__metric_text(unit, sqlite3_column_double(row, 0), metric), (long long)sqlite3_column_int64(row, 1),
          fitted ? fitted : "");
  if (!fitted) console->out_of_memory = true;
  sqlite3_free(text);
  free(fitted);
}

/* Returns the columns of the axes for a SELECT, each preceded by a comma. Free it with sqlite3_free. */
static char *axis_columns(struct hr__store *store) {
  sqlite3_str *text = sqlite3_str_new(NULL);
  sqlite3_stmt *all = NULL;
  if (sqlite3_prepare_v2(store->db, "SELECT * FROM points", -1, &all, NULL) == SQLITE_OK)
    for (int i = 2; i < sqlite3_column_count(all) - HR__N_METRICS; i++)
      sqlite3_str_appendf(text, ", \"%w\"", sqlite3_column_name(all, i));
  sqlite3_finalize(all);
  return sqlite3_str_finish(text);
}

/* Finds the best or the worst point by a metric; of several equal points the first. NULL: the metric is unknown. */
static sqlite3_stmt *find_point(struct hr__store *store, const char *axes, size_t which, bool best) {
  const char *column = hr__metric_rows[shown[which].metric].column;
  const char *order = shown[which].higher_is_better == best ? "DESC" : "ASC";
  sqlite3_stmt *row = NULL;
  char *sql = sqlite3_mprintf("SELECT %s, point%s FROM points WHERE %s IS NOT NULL ORDER BY 1 %s, point LIMIT 1",
                              column, axes, column, order);
  if (sql && sqlite3_prepare_v2(store->db, sql, -1, &row, NULL) == SQLITE_OK && sqlite3_step(row) != SQLITE_ROW) {
    sqlite3_finalize(row);
    row = NULL;
  }
  sqlite3_free(sql);
  return row;
}

static void put_metric(struct hr__store *store, struct hr__console *console, const char *axes, size_t which) {
  enum hr_unit unit = hr__metric_rows[shown[which].metric].unit;
  sqlite3_stmt *best = find_point(store, axes, which, true), *worst = find_point(store, axes, which, false);
  if (best && worst) {
    bool equal = sqlite3_column_double(best, 0) == sqlite3_column_double(worst, 0);
    put_point(console, shown[which].title, equal ? "all" : "best", unit, best);
    if (!equal) put_point(console, "", "worst", unit, worst);
  }
  sqlite3_finalize(best);
  sqlite3_finalize(worst);
}

static void put_counts(struct hr__console *console, const char *file, const struct hr_sweep_counts *counts) {
  char a[HR__NUMBER_BYTES], b[HR__NUMBER_BYTES], c[HR__NUMBER_BYTES];
  fprintf(console->out, "%sHeadroom %s: sweep%s\n\n", hr__bold(console), hr_version(), hr__plain(console));
  hr__put_field(console, "file", "%s", file);
  hr__put_field(console, "points", "%s", hr__count_text(counts->points, a));
  hr__put_field(console, "runs", "%s: %s found, %s new%s", hr__count_text(counts->runs, a),
                hr__count_text(counts->before, b), hr__count_text(counts->now, c),
                counts->missing ? "" : ", none missing");
  if (counts->missing)
    hr__put_field(console, "missing", "%s, the first is run %" PRIu64, hr__count_text(counts->missing, a),
                  counts->first_missing);
}

/* Prints the first points that were not simulated, with their settings and the reasons. */
static enum hr_status put_infeasible(struct hr__store *store, struct hr__console *console, const char *axes,
                                     struct hr_error *error) {
  enum { COLUMNS_BEFORE = 2, MAX_POINTS = 5 };
  if (!hr__store_has_infeasible(store)) return HR_OK;
  sqlite3_stmt *row = NULL;
  char *sql = sqlite3_mprintf("SELECT point, (SELECT i.reason FROM infeasible AS i WHERE i.point = points.point)%s "
                              "FROM points WHERE point IN (SELECT point FROM infeasible) ORDER BY point",
                              axes);
  int code = sql ? sqlite3_prepare_v2(store->db, sql, -1, &row, NULL) : SQLITE_NOMEM;
  uint64_t count = 0;
  while ((code == SQLITE_OK || code == SQLITE_ROW) && (code = sqlite3_step(row)) == SQLITE_ROW) {
    if (++count > MAX_POINTS) continue;
    char *text = point_text(row, COLUMNS_BEFORE, sqlite3_column_count(row) - COLUMNS_BEFORE);
    if (!text) console->out_of_memory = true;
    hr__put_field(console, count == 1 ? "infeasible" : "", "point %lld (%s): %s",
                  (long long)sqlite3_column_int64(row, 0), text ? text : "", (const char *)sqlite3_column_text(row, 1));
    sqlite3_free(text);
  }
  if (count > MAX_POINTS) hr__put_field(console, "", "and %" PRIu64 " other points", count - MAX_POINTS);
  sqlite3_finalize(row);
  sqlite3_free(sql);
  return code == SQLITE_DONE ? HR_OK : hr__store_fail(store, error);
}

enum hr_status hr_sweep_print(FILE *out, const char *file, const struct hr_sweep_counts *counts, bool colour,
                              struct hr_error *error) {
  struct hr__console console = {.out = out, .colour = colour};
  struct hr__store store;
  enum hr_status status = hr__store_read(&store, file, error);
  if (status == HR_OK) {
    char *axes = axis_columns(&store);
    put_counts(&console, file, counts);
    if (axes) status = put_infeasible(&store, &console, axes, error);
    fprintf(out, "\n%s%-13s%-7s%14s%7s  %s%s\n", hr__bold(&console), "by point", "", "mean", "point", "where",
            hr__plain(&console));
    /* Whether any run replays a trace of jobs. Otherwise the metrics of jobs are those of the replicas of services. */
    const bool with_jobs =
        hr__store_number(&store, "SELECT count(*) FROM meta WHERE key = 'trace' AND value <> ''") > 0;
    for (size_t i = 0; axes && i < sizeof shown / sizeof *shown; i++)
      if (with_jobs || !shown[i].of_jobs) put_metric(&store, &console, axes, i);
    sqlite3_free(axes);
    if (status == HR_OK && (console.out_of_memory || !axes)) status = hr_fail(error, HR_NO_MEMORY, "out of memory");
  }
  hr__store_close(&store);
  return status;
}

/* ---- Reports: JSON for the HTML report -------------------------------------------------------------- */

/* Writes settings and metrics of all runs. If there are more than MAX_ROWS runs, writes the settings and mean metrics
   of all points instead. If there are also more than MAX_ROWS points, writes every n-th point. */

enum { MAX_ROWS = 3000 };

struct sweep_row_shape {
  int first_axis, n_axes, first_metric;
};

/* The columns of a table or view: first its own columns, then the axes, then the metrics. */
static struct sweep_row_shape shape_of(sqlite3_stmt *rows, int first_axis) {
  int n_axes = sqlite3_column_count(rows) - first_axis - HR__N_METRICS;
  return (struct sweep_row_shape){first_axis, n_axes, first_axis + n_axes};
}

static void put_value(struct hr__json *json, cJSON *object, sqlite3_stmt *row, int column) {
  const char *name = sqlite3_column_name(row, column);
  int type = sqlite3_column_type(row, column);
  if (type == SQLITE_FLOAT || type == SQLITE_INTEGER)
    hr__json_number(json, object, name, sqlite3_column_double(row, column));
  else
    hr__json_text(json, object, name, (const char *)sqlite3_column_text(row, column));
}

static void json_put_row(struct hr__json *json, cJSON *runs, sqlite3_stmt *row, const struct sweep_row_shape *shape) {
  cJSON *run = hr__json_append(json, runs, cJSON_CreateObject());
  cJSON *settings = hr__json_object(json, run, "settings");
  for (int i = 0; i < shape->n_axes; i++) put_value(json, settings, row, shape->first_axis + i);
  cJSON *metrics = hr__json_object(json, run, "metrics");
  for (int i = 0; i < HR__N_METRICS; i++) put_value(json, metrics, row, shape->first_metric + i);
}

static enum hr_status json_put_rows(struct hr__store *store, struct hr__json *json, cJSON *root, const char *sql,
                                    int first_axis, struct hr_error *error) {
  sqlite3_stmt *rows = NULL;
  if (sqlite3_prepare_v2(store->db, sql, -1, &rows, NULL) != SQLITE_OK) {
    sqlite3_finalize(rows);
    return hr__store_fail(store, error);
  }
  struct sweep_row_shape shape = shape_of(rows, first_axis);
  cJSON *axes = hr__json_array(json, root, "axes");
  for (int i = 0; i < shape.n_axes; i++)
    hr__json_append(json, axes, cJSON_CreateString(sqlite3_column_name(rows, first_axis + i)));
  cJSON *runs = hr__json_array(json, root, "runs");
  int code;
  while ((code = sqlite3_step(rows)) == SQLITE_ROW) json_put_row(json, runs, rows, &shape);
  sqlite3_finalize(rows);
  return code == SQLITE_DONE ? HR_OK : hr__store_fail(store, error);
}

static enum hr_status put_all(struct hr__store *store, struct hr__json *json, cJSON *root, struct hr_error *error) {
  enum { AXES_OF_RUNS = 6, AXES_OF_POINTS = 2 };
  uint64_t runs = hr__store_number(store, "SELECT count(*) FROM runs");
  uint64_t points = hr__store_number(store, "SELECT count(DISTINCT point) FROM runs");
  bool all = runs <= MAX_ROWS;
  hr__json_count(json, root, "count", all ? runs : points);
  hr__json_text(json, root, "of", all ? "runs" : "points");
  if (all) return json_put_rows(store, json, root, "SELECT * FROM runs ORDER BY run", AXES_OF_RUNS, error);
  char *sql = sqlite3_mprintf("SELECT * FROM points WHERE point %% %llu = 0 ORDER BY point",
                              (unsigned long long)((points + MAX_ROWS - 1) / MAX_ROWS));
  if (!sql) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  enum hr_status status = json_put_rows(store, json, root, sql, AXES_OF_POINTS, error);
  sqlite3_free(sql);
  return status;
}

enum hr_status hr_sweep_json(const char *file, char **text, struct hr_error *error) {
  struct hr__store store;
  struct hr__json json = {false};
  enum hr_status status = hr__store_read(&store, file, error);
  if (status == HR_OK) {
    cJSON *root = cJSON_CreateObject();
    status = put_all(&store, &json, root, error);
    *text = hr__json_print(&json, root);
    if (status == HR_OK && !*text) status = hr_fail(error, HR_NO_MEMORY, "%s: out of memory for its runs", file);
    if (status != HR_OK) free(*text);
  }
  hr__store_close(&store);
  return status;
}
