/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * More load, or less. Thinning and duplication are one draw: layer 0 of a trace is its jobs, layer 1 a copy of each,
 * and so on; a layer of which `load` asks for a part keeps each job with that probability by itself (Lewis and Shedler
 * 1979).
 */

#include "headroom/transform.h"
#include "sim/grow.h"
#include "sim/philox.h"
#include "workload/rebuild.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *hr_scaling_name(enum hr_scaling scaling) {
  static const char *const names[] = {
#define SCALING_TEXT(name, text) [name] = text,
      HR_SCALING_TABLE(SCALING_TEXT)
#undef SCALING_TEXT
  };
  return (unsigned)scaling < HR_N_SCALINGS ? names[scaling] : "";
}

struct scale {
  const struct hr_trace *trace;
  const struct hr_scale_spec *spec;
  /* [count] key: when it is submitted, from the first submit; row: job of the trace and layer, layer * n_jobs + job. */
  struct hr__keyed_row *list;
  uint32_t count, capacity;
};

/* ---- Which jobs, and when --------------------------------------------------------------------------- */

static bool is_kept(const struct scale *scale, uint32_t job, uint32_t layer) {
  double share = scale->spec->load - (double)layer;
  if (share >= 1 || share <= 0) return share > 0;
  struct hr__stream stream;
  hr__stream_init(&stream, scale->spec->seed, HR__PURPOSE_THINNING, job, layer);
  return hr__stream_uniform(&stream) < share;
}

/* Turned back at the ends, as often as need be: what left the trace's time comes into it again. */
static int64_t within_trace(const struct hr_trace *trace, int64_t us) {
  int64_t last_us = trace->submit_us[trace->n_jobs - 1], there_and_back_us = 2 * last_us;
  if (last_us == 0) return 0;
  us %= there_and_back_us;
  if (us < 0) us += there_and_back_us;
  return us > last_us ? there_and_back_us - us : us;
}

static int64_t jittered(const struct scale *scale, uint32_t job, uint32_t layer) {
  int64_t submit_us = scale->trace->submit_us[job], most_us = scale->spec->jitter_us;
  if (layer == 0 || most_us == 0) return submit_us;
  struct hr__stream stream;
  hr__stream_init(&stream, scale->spec->seed, HR__PURPOSE_JITTER, job, layer);
  double share = 2 * hr__stream_uniform(&stream) - 1;
  return within_trace(scale->trace, submit_us + (int64_t)floor(share * (double)most_us));
}

static bool add(struct scale *scale, uint32_t job, uint32_t layer) {
  if (scale->count == scale->capacity) {
    struct hr__keyed_row *grown = hr__grown(scale->list, &scale->capacity, sizeof *grown);
    if (!grown) return false;
    scale->list = grown;
  }
  uint32_t row = layer * scale->trace->n_jobs + job;
  scale->list[scale->count++] = (struct hr__keyed_row){(uint64_t)jittered(scale, job, layer), row};
  return true;
}

static bool draw(struct scale *scale) {
  uint32_t n_layers = (uint32_t)ceil(scale->spec->load);
  for (uint32_t job = 0; job < scale->trace->n_jobs; job++)
    for (uint32_t layer = 0; layer < n_layers; layer++)
      if (is_kept(scale, job, layer) && !add(scale, job, layer)) return false;
  return n_layers == 1 || hr__sort_keyed_rows(scale->list, scale->count);
}

/* ---- Ids -------------------------------------------------------------------------------------------- */

/* One more `+` than stand together in any id: no copy can then be called like another job. */
static size_t marks_of(const struct hr_trace *trace) {
  size_t most = 0;
  for (uint32_t job = 0; trace->id_text && job < trace->n_jobs; job++)
    for (const char *at = strchr(trace->id_text[job], '+'); at; at = strchr(at, '+')) {
      size_t n = strspn(at, "+");
      if (n > most) most = n;
      at += n;
    }
  return most + 1;
}

enum { LAYER_BYTES = 12 };

/* "17+1" of "17", in `*buffer`, which grows. */
static bool name_copy(struct hr_job_record *record, size_t marks, uint32_t layer, char **buffer, size_t *size) {
  size_t wanted = record->id.length + marks + LAYER_BYTES;
  if (!*buffer || wanted > *size) {
    char *grown = realloc(*buffer, wanted);
    if (!grown) return false;
    *buffer = grown;
    *size = wanted;
  }
  char *at = *buffer;
  memcpy(at, record->id.at, record->id.length);
  memset(at + record->id.length, '+', marks);
  int digits = snprintf(at + record->id.length + marks, LAYER_BYTES, "%u", layer);
  record->id = (struct hr_text){at, record->id.length + marks + (size_t)digits};
  return true;
}

static enum hr_status add_jobs(const struct scale *scale, struct hr__rebuild *rebuild, struct hr_error *error) {
  const struct hr_trace *trace = scale->trace;
  const size_t marks = marks_of(trace);
  char *buffer = NULL;
  size_t size = 0;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; status == HR_OK && i < scale->count; i++) {
    struct hr_job_record record;
    char id[HR_JOB_ID_BUFFER];
    uint32_t job = scale->list[i].row % trace->n_jobs, layer = scale->list[i].row / trace->n_jobs;
    hr_trace_job_record(trace, (hr_job){job}, &record, id);
    hr__record_move(&record, (int64_t)scale->list[i].key - trace->submit_us[job]);
    bool named = layer == 0 || name_copy(&record, marks, layer, &buffer, &size);
    status = named ? hr__rebuild_add(rebuild, trace, (hr_job){job}, &record, error) : hr__no_memory_for(trace, error);
  }
  free(buffer);
  return status;
}

/* ---- All of it -------------------------------------------------------------------------------------- */

static enum hr_status thin_or_duplicate(struct scale *scale, struct hr_trace **made, struct hr_error *error) {
  const struct hr_trace *trace = scale->trace;
  if (!draw(scale)) return hr__no_memory_for(trace, error);
  if (!scale->count)
    return hr_fail(error, HR_BAD_INPUT, "%s: of %u jobs thinned to %g none is left", trace->source, trace->n_jobs,
                   scale->spec->load);
  struct hr__rebuild rebuild;
  enum hr_status status = hr__rebuild_begin(&rebuild, trace, error);
  if (status == HR_OK) status = add_jobs(scale, &rebuild, error);
  return hr__rebuild_end(&rebuild, status, trace->dated, made, error);
}

__extension__ typedef __int128 wide;

/* The load in millionths, so that no sum runs over doubles. */
static enum hr_status compress(struct scale *scale, struct hr_trace **made, struct hr_error *error) {
  const struct hr_trace *trace = scale->trace;
  const int64_t load_ppm = llround(scale->spec->load * 1e6);
  scale->list = malloc(trace->n_jobs * sizeof *scale->list);
  if (!scale->list) return hr__no_memory_for(trace, error);
  for (uint32_t job = 0; job < trace->n_jobs; job++) {
    wide us = ((wide)trace->submit_us[job] * 1000000 + load_ppm / 2) / load_ppm;
    if (us > HR_MAX_INPUT_US)
      return hr_fail(error, HR_BAD_INPUT, "%s: at a load of %g, submits would come after 100000000000 s", trace->source,
                     scale->spec->load);
    scale->list[job] = (struct hr__keyed_row){(uint64_t)us, job};
  }
  return hr__rebuild_moved(trace, scale->list, trace->n_jobs, made, error);
}

static enum hr_status check(const struct hr_trace *trace, const struct hr_scale_spec *spec, struct hr_error *error) {
  double least = spec->by == HR_SCALING_DUPLICATE ? 1 : HR_MIN_LOAD_SCALE;
  double most = spec->by == HR_SCALING_THIN ? 1 : HR_MAX_LOAD_SCALE;
  if (!(spec->load >= least && spec->load <= most))
    return hr_fail(error, HR_BAD_INPUT, "scale: a load of %g is not from %g to %g, which '%s' can give", spec->load,
                   least, most, hr_scaling_name(spec->by));
  if (spec->jitter_us < 0 || spec->jitter_us > HR_MAX_INPUT_US)
    return hr_fail(error, HR_BAD_INPUT, "scale: a jitter of %.9g s is not from 0 to 100000000000 s",
                   (double)spec->jitter_us / (double)HR_SECOND_US);
  if (spec->by != HR_SCALING_DUPLICATE || ceil(spec->load) * trace->n_jobs < HR_NONE) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: %g times %u jobs are more than %u", trace->source, spec->load, trace->n_jobs,
                 HR_NONE - 1);
}

enum hr_status hr_transform_scale(const struct hr_trace *trace, const struct hr_scale_spec *spec,
                                  struct hr_trace **made, struct hr_error *error) {
  struct scale scale = {.trace = trace, .spec = spec};
  *made = NULL;
  enum hr_status status = check(trace, spec, error);
  if (status == HR_OK)
    status = spec->by == HR_SCALING_COMPRESS ? compress(&scale, made, error) : thin_or_duplicate(&scale, made, error);
  free(scale.list);
  return status;
}
