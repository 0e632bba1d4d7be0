/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs whose speed is not in the table: a model may be misspelt, or the trace may have none. */

#include "headroom/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool has_speeds(const struct hr_speeds *speeds, const char *model) {
  for (uint32_t i = 0; i < speeds->n_rows; i++)
    if (strcmp(speeds->rows[i].model, model) == 0) return true;
  return false;
}

static uint32_t count_jobs(const struct hr_trace *trace, uint32_t model) {
  uint32_t count = 0;
  for (uint32_t job = 0; job < trace->n_jobs; job++) count += (trace->model ? trace->model[job] : HR_NONE) == model;
  return count;
}

static bool has_model(const struct hr_trace *trace, const char *name) {
  for (uint32_t i = 0; i < trace->models.count; i++)
    if (strcmp(trace->models.text[i], name) == 0) return true;
  return false;
}

/* The first pair's model that no job is of; NULL. */
static const char *unknown_model(const struct hr_trace *trace, const struct hr_pool_spec *pool) {
  for (uint32_t i = 0; i < pool->n_pairs; i++) {
    if (!has_model(trace, pool->pairs[i].model)) return pool->pairs[i].model;
    if (!has_model(trace, pool->pairs[i].with)) return pool->pairs[i].with;
  }
  return NULL;
}

enum hr_status hr_pair_notes(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                             struct hr_notes *notes, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < cluster->n_pools && status == HR_OK; i++) {
    const char *unknown = unknown_model(trace, &cluster->pools[i]);
    if (unknown)
      status = hr_notes_add(notes, "pool '%.60s': no job is of the model '%.60s', of which interference_pairs speak",
                            cluster->pools[i].name, unknown);
  }
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory");
}

enum hr_status hr_speed_notes(const struct hr_trace *trace, const struct hr_speeds *speeds, struct hr_notes *notes,
                              struct hr_error *error) {
  enum { MOST_NAMES = 5 };
  char names[MOST_NAMES * 64] = "";
  size_t used = 0;
  uint32_t n_models = 0, n_jobs = 0, n_without = speeds ? count_jobs(trace, HR_NONE) : 0;
  for (uint32_t i = 0; speeds && i < trace->models.count; i++) {
    if (has_speeds(speeds, trace->models.text[i])) continue;
    if (n_models++ < MOST_NAMES)
      used += (size_t)snprintf(names + used, sizeof names - used, "%s%.60s", used ? ", " : "", trace->models.text[i]);
    n_jobs += count_jobs(trace, i);
  }
  enum hr_status status = HR_OK;
  if (n_models)
    status = hr_notes_add(notes, "models: %" PRIu32 " job%s by the default for want of speeds of their models: %s%s",
                          n_jobs, n_jobs == 1 ? " goes" : "s go", names, n_models > MOST_NAMES ? ", ..." : "");
  if (status == HR_OK && n_without)
    status = hr_notes_add(notes, "models: %" PRIu32 " job%s by the default for want of a model", n_without,
                          n_without == 1 ? " goes" : "s go");
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory");
}
