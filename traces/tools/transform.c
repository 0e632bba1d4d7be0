/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Transformations of traces: selects, scales and shuffles jobs, merges traces, and replaces names by pseudonyms.
 *
 * Cutting selects the jobs of a time window. It can also select the jobs of given tenants, users or GPU types.
 *
 * Thinning and duplication use the same draw. The result consists of layers. Layer 0 consists of the jobs of the trace;
 * each further layer consists of copies of them. `load` is the number of layers. If `load` is not whole, each job of
 * the last layer is kept with a probability equal to the fractional part of `load`, independently of other jobs (Lewis
 * and Shedler 1979). The submit time of a copy differs from that of its job by at most the jitter. A heap sorts the
 * drawn jobs by submit time. It contains only jobs within the jitter before and after the current job, so a trace in
 * files is scaled in bounded memory.
 *
 * Shuffling permutes all jobs, or the jobs of each instant.
 */

#include "base/containers.h"
#include "base/random.h"
#include "base/text.h"
#include "headroom/unstable/trace_tools.h"
#include "traces/core/builder.h"

#include <math.h>
#include <nettle/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hr_cut_spec_init(struct hr_cut_spec *spec) {
  *spec = (struct hr_cut_spec){.from_us = INT64_MIN, .to_us = INT64_MAX};
}

struct window_cut {
  const struct hr_trace *trace;
  const struct hr_cut_spec *spec;
  /* [names.count] true if the name with this index is selected; NULL: all names are selected */
  bool *tenants, *users, *gpu_types;
};

/* ---- Cutting: names -------------------------------------------------------------------------------- */

static bool is_listed(const struct hr_name_list *list, struct hr_text text) {
  for (size_t i = 0; i < list->count; i++)
    if (hr__text_is(text, list->text[i])) return true;
  return false;
}

/* Returns true if at least one of the items is in the list. Items are separated by `|`. */
static bool has_listed(const struct hr_name_list *list, const char *items) {
  for (;;) {
    size_t length = strcspn(items, "|");
    if (is_listed(list, (struct hr_text){items, length})) return true;
    if (items[length] == '\0') return false;
    items += length + 1;
  }
}

static enum hr_status check_names(const struct hr_trace *trace, const char *what, const struct hr_name_list *list,
                                  const struct hr_names *names, bool is_list, struct hr_error *error) {
  for (size_t i = 0; i < list->count; i++) {
    const struct hr_name_list one = {&list->text[i], 1};
    bool found = false;
    for (uint32_t name = 0; !found && name < names->count; name++)
      found = is_list ? has_listed(&one, names->text[name]) : strcmp(list->text[i], names->text[name]) == 0;
    if (!found)
      return hr_fail(error, HR_BAD_INPUT, "%s: no job has the %s '%.60s'", trace->source, what, list->text[i]);
  }
  return HR_OK;
}

static enum hr_status choose(const struct hr_trace *trace, const char *what, const struct hr_name_list *list,
                             const struct hr_names *names, bool **selected, struct hr_error *error) {
  const bool is_list = names == &trace->gpu_type_lists;
  *selected = NULL;
  if (!list->count) return HR_OK;
  enum hr_status status = check_names(trace, what, list, names, is_list, error);
  if (status != HR_OK) return status;
  *selected = calloc((size_t)names->count + 1, sizeof **selected);
  if (!*selected) return hr__rebuild_no_memory(trace, error);
  for (uint32_t i = 0; i < names->count; i++)
    (*selected)[i] = is_list ? has_listed(list, names->text[i]) : is_listed(list, hr__text_make(names->text[i]));
  return HR_OK;
}

/* Returns true if the name of the job is selected. `if_unknown` is the result for a job without a name. */
static bool is_selected(const bool *selected, const uint32_t *column, uint32_t job, bool if_unknown) {
  uint32_t name = column ? column[job] : HR_NONE;
  return !selected || (name == HR_NONE ? if_unknown : selected[name]);
}

/* ---- Cutting: jobs --------------------------------------------------------------------------------- */

/* Returns true if the job was running at the beginning of the window. */
static bool was_running(const struct window_cut *cut, uint32_t job) {
  const struct hr_trace *trace = cut->trace;
  int64_t start_us = trace->recorded_start_us[job], from_us = cut->spec->from_us;
  return start_us != HR_UNKNOWN_US && start_us < from_us && start_us + trace->work_us[job] > from_us;
}

static bool is_in(const struct window_cut *cut, uint32_t job) {
  const struct hr_trace *trace = cut->trace;
  const struct hr_cut_spec *spec = cut->spec;
  int64_t submit_us = trace->submit_us[job];
  if (submit_us >= spec->to_us) return false;
  if (submit_us < spec->from_us && !(spec->keep_running && was_running(cut, job))) return false;
  return is_selected(cut->tenants, trace->tenant, job, false) && is_selected(cut->users, trace->user, job, false) &&
         is_selected(cut->gpu_types, trace->gpu_types, job, true);
}

static int64_t less(int64_t us, int64_t by_us) {
  if (us == HR_UNKNOWN_US) return us;
  return us > by_us ? us - by_us : 0;
}

/* Reduces a job to the part that remains to be done at the beginning of the window. */
static void trim_record(struct hr_job_record *record, int64_t from_us) {
  int64_t ran_us = from_us - record->recorded_start_us;
  record->submit_us = record->recorded_start_us = from_us;
  record->work_us -= ran_us;
  record->limit_us = less(record->limit_us, ran_us);
  record->estimate_us = less(record->estimate_us, ran_us);
  record->fail_at_ppm = HR_NONE;
  if (record->deadline_us != INT64_MIN && record->deadline_us < from_us) record->deadline_us = INT64_MIN;
}

static enum hr_status add_jobs(const struct window_cut *cut, struct hr__rebuild *rebuild, struct hr_error *error) {
  const struct hr_trace *trace = cut->trace;
  const uint32_t max = cut->spec->max_jobs ? cut->spec->max_jobs : UINT32_MAX;
  enum hr_status status = HR_OK;
  for (uint32_t job = 0; status == HR_OK && job < trace->n_jobs && rebuild->n_jobs < max; job++) {
    if (!is_in(cut, job)) continue;
    struct hr_job_record record;
    char id[HR_JOB_ID_BUFFER];
    hr_trace_job_record(trace, (hr_job){job}, &record, id);
    if (trace->submit_us[job] < cut->spec->from_us) trim_record(&record, cut->spec->from_us + trace->origin_us);
    status = hr__rebuild_add(rebuild, trace, (hr_job){job}, &record, error);
  }
  return status;
}

static enum hr_status no_job(const struct hr_trace *trace, struct hr_error *error) {
  double last_s = (double)trace->submit_us[trace->n_jobs - 1] / (double)HR_SECOND_US;
  return hr_fail(error, HR_BAD_INPUT,
                 "%s: no job is left: the last one is submitted %.9g s after the first, and none matches",
                 trace->source, last_s);
}

static enum hr_status check_cut(const struct hr_trace *trace, const struct hr_cut_spec *spec, struct hr_error *error) {
  if (spec->from_us >= spec->to_us)
    return hr_fail(error, HR_BAD_INPUT, "%s: empty window: it ends at %.9g s and begins at %.9g s", trace->source,
                   (double)spec->to_us / (double)HR_SECOND_US, (double)spec->from_us / (double)HR_SECOND_US);
  if (spec->keep_running && !trace->recorded_start_us)
    return hr_fail(
        error, HR_BAD_INPUT,
        "%s: has no start times (column start_s), so the jobs that ran at the beginning of the window are unknown",
        trace->source);
  return HR_OK;
}

enum hr_status hr_transform_cut(const struct hr_trace *trace, const struct hr_cut_spec *spec, struct hr_trace **created,
                                struct hr_error *error) {
  struct window_cut cut = {.trace = trace, .spec = spec};
  *created = NULL;
  enum hr_status status = check_cut(trace, spec, error);
  if (status == HR_OK) status = choose(trace, "tenant", &spec->tenants, &trace->tenants, &cut.tenants, error);
  if (status == HR_OK) status = choose(trace, "user", &spec->users, &trace->users, &cut.users, error);
  if (status == HR_OK)
    status = choose(trace, "GPU type", &spec->gpu_types, &trace->gpu_type_lists, &cut.gpu_types, error);
  if (status == HR_OK) {
    struct hr__rebuild rebuild;
    status = hr__rebuild_begin(&rebuild, trace, error);
    if (status == HR_OK) status = add_jobs(&cut, &rebuild, error);
    if (status == HR_OK && !rebuild.n_jobs) status = no_job(trace, error);
    status = hr__rebuild_end(&rebuild, status, trace->dated, created, error);
  }
  free(cut.tenants);
  free(cut.users);
  free(cut.gpu_types);
  return status;
}

/* Builds a trace from the `count` jobs of `list`. In each entry, `row` is the job, and `key` is its new submit time
   in microseconds from the first submit. */
static enum hr_status build_moved(const struct hr_trace *trace, const struct hr__keyed_row *list, size_t count,
                                  struct hr_trace **created, struct hr_error *error) {
  struct hr__rebuild rebuild;
  enum hr_status status = hr__rebuild_begin(&rebuild, trace, error);
  for (size_t i = 0; status == HR_OK && i < count; i++) {
    struct hr_job_record record;
    char id[HR_JOB_ID_BUFFER];
    hr_trace_job_record(trace, (hr_job){list[i].row}, &record, id);
    hr__record_move(&record, (int64_t)list[i].key - trace->submit_us[list[i].row]);
    status = hr__rebuild_add(&rebuild, trace, (hr_job){list[i].row}, &record, error);
  }
  return hr__rebuild_end(&rebuild, status, trace->dated, created, error);
}

/* ---- Scaling --------------------------------------------------------------------------------------- */

HR__NAME_FUNCTION(hr_scaling_name, enum hr_scaling, HR_SCALING_TABLE)

/* A job of a layer, at its new submit time. */
struct scaled_job {
  uint64_t submit_us; /* from the first submit of the trace */
  uint32_t job, layer;
};

struct scale {
  const struct hr_trace *trace;
  const struct hr_scale_spec *spec;
  struct hr__rebuild rebuild;
  size_t marks;      /* number of '+' in the ids of copies */
  char *id;          /* buffer for the id of a copy */
  uint32_t id_bytes; /* its size */
  /* jobs that were drawn but not added yet, because jobs that are drawn later may precede them */
  struct scaled_job *heap;
  uint32_t n_heap, capacity;
};

static bool is_kept(const struct scale *scale, uint32_t job, uint32_t layer) {
  double share = scale->spec->load - (double)layer;
  if (share >= 1 || share <= 0) return share > 0;
  struct hr__stream stream;
  hr__stream_init(&stream, scale->spec->seed, HR__PURPOSE_THINNING, job, layer);
  return hr__stream_uniform(&stream) < share;
}

/* Reflects a time at both ends of the trace until it is within the trace. */
static int64_t within_trace(const struct hr_trace *trace, int64_t us) {
  int64_t last_us = trace->submit_us[trace->n_jobs - 1], period_us = 2 * last_us;
  if (last_us == 0) return 0;
  us %= period_us;
  if (us < 0) us += period_us;
  return us > last_us ? period_us - us : us;
}

static int64_t jittered(const struct scale *scale, uint32_t job, uint32_t layer) {
  int64_t submit_us = scale->trace->submit_us[job], max_us = scale->spec->jitter_us;
  if (layer == 0 || max_us == 0) return submit_us;
  struct hr__stream stream;
  hr__stream_init(&stream, scale->spec->seed, HR__PURPOSE_JITTER, job, layer);
  double share = 2 * hr__stream_uniform(&stream) - 1;
  return within_trace(scale->trace, submit_us + (int64_t)floor(share * (double)max_us));
}

/* Returns one more than the length of the longest sequence of `+` in any id. The id of a copy contains a sequence of
   this length, which makes it unique. */
static size_t count_marks(const struct hr_trace *trace) {
  size_t max = 0;
  for (uint32_t job = 0; trace->id_text && job < trace->n_jobs; job++)
    for (const char *at = strchr(trace->id_text[job], '+'); at; at = strchr(at, '+')) {
      size_t n = strspn(at, "+");
      if (n > max) max = n;
      at += n;
    }
  return max + 1;
}

enum { LAYER_BYTES = 12 };

/* Builds the id of a copy, such as "17+1" from "17". The id is stored in `*buffer`, which is reallocated if it is
   too small. Returns false if out of memory. */
static bool name_copy(struct hr_job_record *record, size_t marks, uint32_t layer, char **buffer, uint32_t *capacity) {
  if (!HR__ARRAY_HAS_ROOM_FOR(*buffer, record->id.length + marks + LAYER_BYTES, *capacity)) return false;
  char *at = *buffer;
  memcpy(at, record->id.at, record->id.length);
  memset(at + record->id.length, '+', marks);
  int digits = snprintf(at + record->id.length + marks, LAYER_BYTES, "%u", layer);
  record->id = (struct hr_text){at, record->id.length + marks + (size_t)digits};
  return true;
}

static enum hr_status add_scaled(struct scale *scale, const struct scaled_job *scaled, struct hr_error *error) {
  const struct hr_trace *trace = scale->trace;
  struct hr_job_record record;
  char id[HR_JOB_ID_BUFFER];
  hr_trace_job_record(trace, (hr_job){scaled->job}, &record, id);
  hr__record_move(&record, (int64_t)scaled->submit_us - trace->submit_us[scaled->job]);
  if (scaled->layer && !name_copy(&record, scale->marks, scaled->layer, &scale->id, &scale->id_bytes))
    return hr__rebuild_no_memory(trace, error);
  return hr__rebuild_add(&scale->rebuild, trace, (hr_job){scaled->job}, &record, error);
}

/* The order of drawn jobs: by submit time, then in the order of the trace, then by layer. */
static inline bool scaled_precedes(const void *self, struct scaled_job a, struct scaled_job b) {
  (void)self;
  if (a.submit_us != b.submit_us) return a.submit_us < b.submit_us;
  return a.job != b.job ? a.job < b.job : a.layer < b.layer;
}

HR__HEAP(scaled, struct scaled_job, scaled_precedes)

/* Adds the drawn jobs whose submit time is at most `until_us`. */
static enum hr_status add_until(struct scale *scale, int64_t until_us, struct hr_error *error) {
  enum hr_status status = HR_OK;
  while (status == HR_OK && scale->n_heap && (int64_t)scale->heap[0].submit_us <= until_us) {
    struct scaled_job first = scale->heap[0];
    scale->n_heap--;
    scaled_sink(scale->heap, scale->n_heap, scale->heap[scale->n_heap], NULL);
    status = add_scaled(scale, &first, error);
  }
  return status;
}

/* Draws the layers of one job. */
static bool draw_job(struct scale *scale, uint32_t job) {
  uint32_t n_layers = (uint32_t)ceil(scale->spec->load);
  for (uint32_t layer = 0; layer < n_layers; layer++) {
    if (!is_kept(scale, job, layer)) continue;
    if (!HR__ARRAY_HAS_ROOM(scale->heap, scale->n_heap, scale->capacity)) return false;
    struct scaled_job scaled = {(uint64_t)jittered(scale, job, layer), job, layer};
    scaled_rise(scale->heap, scale->n_heap++, scaled, NULL);
  }
  return true;
}

/* Draws job by job, in order of submit time. A copy is submitted at most the jitter before its job. Let t be the submit
   time of the next job minus the jitter: no job that is drawn from now on is submitted before t. All drawn jobs up to t
   are therefore added to the trace before the next job is drawn. The other drawn jobs remain in the heap. */
static enum hr_status draw_jobs(struct scale *scale, struct hr_error *error) {
  const struct hr_trace *trace = scale->trace;
  int64_t jitter_us = scale->spec->by == HR_SCALING_DUPLICATE ? scale->spec->jitter_us : 0;
  enum hr_status status = HR_OK;
  for (uint32_t job = 0; status == HR_OK && job < trace->n_jobs; job++) {
    status = add_until(scale, trace->submit_us[job] - jitter_us, error);
    if (status == HR_OK && !draw_job(scale, job)) status = hr__rebuild_no_memory(trace, error);
    hr__trace_row_done(trace, job);
  }
  return status == HR_OK ? add_until(scale, INT64_MAX, error) : status;
}

static enum hr_status thin_or_duplicate(struct scale *scale, struct hr_error *error) {
  const struct hr_trace *trace = scale->trace;
  scale->marks = count_marks(trace);
  enum hr_status status = draw_jobs(scale, error);
  if (status == HR_OK && !scale->rebuild.n_jobs)
    status = hr_fail(error, HR_BAD_INPUT, "%s: no job is left of %u thinned to %g", trace->source, trace->n_jobs,
                     scale->spec->load);
  return status;
}

__extension__ typedef __int128 wide;

/* Divides all submit times by the load. The load is converted to millionths, so that the results are exact integers. */
static enum hr_status compress(struct scale *scale, struct hr_error *error) {
  const struct hr_trace *trace = scale->trace;
  const int64_t load_ppm = llround(scale->spec->load * 1e6);
  enum hr_status status = HR_OK;
  for (uint32_t job = 0; status == HR_OK && job < trace->n_jobs; job++) {
    wide us = ((wide)trace->submit_us[job] * 1000000 + load_ppm / 2) / load_ppm;
    if (us > HR_MAX_INPUT_US)
      return hr_fail(error, HR_BAD_INPUT, "%s: with load %g, submit times exceed 100000000000 s", trace->source,
                     scale->spec->load);
    status = add_scaled(scale, &(struct scaled_job){.submit_us = (uint64_t)us, .job = job}, error);
    hr__trace_row_done(trace, job);
  }
  return status;
}

static enum hr_status scale_check(const struct hr_trace *trace, const struct hr_scale_spec *spec,
                                  struct hr_error *error) {
  double min = spec->by == HR_SCALING_DUPLICATE ? 1 : HR_MIN_LOAD_SCALE;
  double max = spec->by == HR_SCALING_THIN ? 1 : HR_MAX_LOAD_SCALE;
  if (!(spec->load >= min && spec->load <= max))
    return hr_fail(error, HR_BAD_INPUT, "scale: load %g is not from %g to %g, the range of '%s'", spec->load, min, max,
                   hr_scaling_name(spec->by));
  if (spec->jitter_us < 0 || spec->jitter_us > HR_MAX_INPUT_US)
    return hr_fail(error, HR_BAD_INPUT, "scale: jitter %.9g s is not from 0 to 100000000000 s",
                   (double)spec->jitter_us / (double)HR_SECOND_US);
  if (spec->by != HR_SCALING_DUPLICATE || ceil(spec->load) * trace->n_jobs < HR_NONE) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: %g times %u jobs exceeds the maximum of %u", trace->source, spec->load,
                 trace->n_jobs, HR_NONE - 1);
}

enum hr_status hr_transform_scale(const struct hr_trace *trace, const struct hr_scale_spec *spec,
                                  struct hr_trace **created, struct hr_error *error) {
  struct scale scale = {.trace = trace, .spec = spec};
  *created = NULL;
  enum hr_status status = scale_check(trace, spec, error);
  if (status != HR_OK) return status;
  status = hr__rebuild_begin_in_order(&scale.rebuild, trace, error);
  if (status == HR_OK)
    status = spec->by == HR_SCALING_COMPRESS ? compress(&scale, error) : thin_or_duplicate(&scale, error);
  status = hr__rebuild_end(&scale.rebuild, status, trace->dated, created, error);
  free(scale.heap);
  free(scale.id);
  return status;
}

/* ---- Shuffling ------------------------------------------------------------------------------------- */

__extension__ typedef unsigned __int128 unsigned_wide;

/* Returns a random number in 0 .. bound - 1. The probabilities differ from a uniform distribution by less than
   2^-32. */
static uint32_t below(struct hr__stream *stream, uint32_t bound) {
  uint64_t high = hr__stream_next(stream), bits = high << 32 | hr__stream_next(stream);
  return (uint32_t)((unsigned_wide)bits * bound >> 64);
}

static void permute(uint32_t *jobs, uint32_t n, struct hr__stream *stream) {
  for (uint32_t i = n; i > 1; i--) {
    uint32_t j = below(stream, i), job = jobs[j];
    jobs[j] = jobs[i - 1];
    jobs[i - 1] = job;
  }
}

/* Draws a permutation. jobs[i] is the job that moves to position i. */
static void draw_permutation(const struct hr_trace *trace, enum hr_shuffling what, uint64_t seed, uint32_t *jobs) {
  struct hr__stream stream;
  hr__stream_init(&stream, seed, HR__PURPOSE_SHUFFLE, 1 + (uint32_t)what, 0);
  for (uint32_t job = 0; job < trace->n_jobs; job++) jobs[job] = job;
  if (what != HR_SHUFFLE_ROWS) {
    permute(jobs, trace->n_jobs, &stream);
    return;
  }
  for (uint32_t begin = 0, end; begin < trace->n_jobs; begin = end) {
    for (end = begin + 1; end < trace->n_jobs && trace->submit_us[end] == trace->submit_us[begin];) end++;
    permute(jobs + begin, end - begin, &stream);
  }
}

static enum hr_status place_jobs(const struct hr_trace *trace, const uint32_t *jobs, struct hr_trace **created,
                                 struct hr_error *error) {
  struct hr__keyed_row *list = malloc(trace->n_jobs * sizeof *list);
  if (!list) return hr__rebuild_no_memory(trace, error);
  for (uint32_t i = 0; i < trace->n_jobs; i++) list[i] = (struct hr__keyed_row){(uint64_t)trace->submit_us[i], jobs[i]};
  enum hr_status status = build_moved(trace, list, trace->n_jobs, created, error);
  free(list);
  return status;
}

static enum hr_status place_users(const struct hr_trace *trace, const uint32_t *jobs, struct hr_trace **created,
                                  struct hr_error *error) {
  struct hr__rebuild rebuild;
  enum hr_status status = hr__rebuild_begin(&rebuild, trace, error);
  for (uint32_t i = 0; status == HR_OK && i < trace->n_jobs; i++) {
    struct hr_job_record record, other;
    char id[HR_JOB_ID_BUFFER], unused[HR_JOB_ID_BUFFER];
    hr_trace_job_record(trace, (hr_job){i}, &record, id);
    hr_trace_job_record(trace, (hr_job){jobs[i]}, &other, unused);
    record.user = other.user;
    record.tenant = other.tenant;
    status = hr__rebuild_add(&rebuild, trace, (hr_job){i}, &record, error);
  }
  return hr__rebuild_end(&rebuild, status, trace->dated, created, error);
}

enum hr_status hr_transform_shuffle(const struct hr_trace *trace, enum hr_shuffling what, uint64_t seed,
                                    struct hr_trace **created, struct hr_error *error) {
  *created = NULL;
  uint32_t *jobs = malloc(trace->n_jobs * sizeof *jobs);
  if (!jobs) return hr__rebuild_no_memory(trace, error);
  draw_permutation(trace, what, seed, jobs);
  enum hr_status status =
      what == HR_SHUFFLE_USERS ? place_users(trace, jobs, created, error) : place_jobs(trace, jobs, created, error);
  free(jobs);
  return status;
}

/* ---- Merging --------------------------------------------------------------------------------------- */

/* Merges traces. The jobs of all traces are in one list, first by trace and then by position. A stable sort by
   submit time gives the order of the result. Names with prefixes are built in buffers, one for each kind of name.
   Each job overwrites the names of the previous job. */

struct text_buffer {
  char *at;
  uint32_t capacity;
};

struct merge {
  const struct hr_trace *const *traces;
  size_t n_traces;
  const struct hr_merge_spec *spec;
  int64_t origin_us;          /* earliest submit time of all traces, on the clock of the result */
  struct hr__keyed_row *list; /* `row`: index of the job in the list of all jobs */
  uint64_t n_jobs;
  uint32_t *first; /* [n_traces + 1] index of the first job of each trace */
  struct text_buffer id, user, tenant;
};

/* ---- Merging: validation --------------------------------------------------------------------------- */

static const char *clock_of(const struct hr_trace *trace) {
  if (!trace->dated) return "are seconds without dates";
  return hr_trace_has_local_dates(trace) ? "are dates without a zone" : "are dates with a zone";
}

static enum hr_status check_clocks(const struct merge *merge, struct hr_error *error) {
  const struct hr_trace *first = merge->traces[0];
  for (size_t i = 1; i < merge->n_traces; i++) {
    const struct hr_trace *trace = merge->traces[i];
    if (merge->spec->align == HR_ALIGN_START || strcmp(clock_of(first), clock_of(trace)) == 0) continue;
    return hr_fail(error, HR_BAD_INPUT,
                   "%s: its times %s, those of %s %s; different clocks cannot be merged; align the starts instead",
                   trace->source, clock_of(trace), first->source, clock_of(first));
  }
  return HR_OK;
}

static enum hr_status check_labels(const struct merge *merge, struct hr_error *error) {
  const char *const *labels = merge->spec->labels;
  for (size_t i = 0; labels && i < merge->n_traces; i++)
    if (strchr(labels[i], '/'))
      return hr_fail(error, HR_BAD_INPUT, "%s: label '%.60s' contains '/', which separates labels from names",
                     merge->traces[i]->source, labels[i]);
  for (size_t i = 0; labels && i < merge->n_traces; i++)
    for (size_t j = 0; j < i; j++)
      if (strcmp(labels[i], labels[j]) == 0)
        return hr_fail(error, HR_BAD_INPUT, "%s: label '%.60s' is also the label of %s; labels must be unique",
                       merge->traces[i]->source, labels[i], merge->traces[j]->source);
  return HR_OK;
}

static bool is_tenant_of(const struct merge *merge, size_t number, const char *name) {
  const struct hr_names *tenants = &merge->traces[number]->tenants;
  const char *label = merge->spec->labels && merge->spec->renames_tenants ? merge->spec->labels[number] : NULL;
  size_t length = label ? strlen(label) : 0;
  if (label && (strncmp(name, label, length) != 0 || name[length++] != '/')) return false;
  for (uint32_t i = 0; i < tenants->count; i++)
    if (strcmp(tenants->text[i], name + length) == 0) return true;
  return false;
}

static enum hr_status check_tenant(const struct merge *merge, const char *name, struct hr_error *error) {
  for (size_t i = 0; i < merge->n_traces; i++)
    if (is_tenant_of(merge, i, name)) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s%s: no job has the tenant '%.60s', which is to be merged",
                 merge->traces[0]->source, merge->n_traces > 1 ? " and others" : "", name);
}

static enum hr_status check_tenants(const struct merge *merge, struct hr_error *error) {
  const struct hr_merge_spec *spec = merge->spec;
  enum hr_status status = HR_OK;
  for (size_t i = 0; status == HR_OK && i < spec->n_tenants; i++)
    for (size_t j = 0; status == HR_OK && j < spec->tenants[i].from.count; j++)
      status = check_tenant(merge, spec->tenants[i].from.text[j], error);
  return status;
}

static enum hr_status count_jobs(struct merge *merge, struct hr_error *error) {
  for (size_t i = 0; i < merge->n_traces; i++) merge->n_jobs += merge->traces[i]->n_jobs;
  if (merge->n_jobs < HR_NONE) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: the traces have %llu jobs in total; the maximum is %u",
                 merge->traces[0]->source, (unsigned long long)merge->n_jobs, HR_NONE - 1);
}

/* ---- Merging: order -------------------------------------------------------------------------------- */

/* Returns the number of microseconds that is added to the times of a trace to convert them to the clock of the
   result. */
static int64_t later_us(const struct merge *merge, size_t number) {
  const struct hr_trace *first = merge->traces[0], *trace = merge->traces[number];
  if (merge->spec->align == HR_ALIGN_CLOCK) return 0;
  return first->origin_us + first->submit_us[0] - (trace->origin_us + trace->submit_us[0]);
}

static bool list_jobs(struct merge *merge) {
  merge->list = calloc((size_t)merge->n_jobs + 1, sizeof *merge->list);
  merge->first = malloc((merge->n_traces + 1) * sizeof *merge->first);
  if (!merge->list || !merge->first) return false;
  merge->origin_us = INT64_MAX;
  for (size_t i = 0; i < merge->n_traces; i++) {
    int64_t us = merge->traces[i]->origin_us + merge->traces[i]->submit_us[0] + later_us(merge, i);
    if (us < merge->origin_us) merge->origin_us = us;
  }
  uint32_t row = 0;
  for (size_t i = 0; i < merge->n_traces; i++) {
    const struct hr_trace *trace = merge->traces[i];
    int64_t zero_us = trace->origin_us + later_us(merge, i) - merge->origin_us;
    merge->first[i] = row;
    for (uint32_t job = 0; job < trace->n_jobs; job++, row++)
      merge->list[row] = (struct hr__keyed_row){(uint64_t)(trace->submit_us[job] + zero_us), row};
  }
  merge->first[merge->n_traces] = row;
  return hr__sort_keyed_rows(merge->list, row);
}

/* ---- Merging: names -------------------------------------------------------------------------------- */

/* Replaces `*name` by "label/name", which is stored in the buffer. Unknown names are not changed. Returns false if
   out of memory. */
static bool set_before(struct text_buffer *buffer, const char *label, struct hr_text *name) {
  if (!name->length) return true;
  size_t length = strlen(label), expected = length + 1 + name->length;
  if (!HR__ARRAY_HAS_ROOM_FOR(buffer->at, expected, buffer->capacity) || !buffer->at) return false;
  memcpy(buffer->at, label, length);
  buffer->at[length] = '/';
  memcpy(buffer->at + length + 1, name->at, name->length);
  *name = (struct hr_text){buffer->at, expected};
  return true;
}

/* Renames the tenant if the spec has a new name for it. The new name belongs to the spec, which outlives the
   record. */
static void merge_tenant(const struct hr_merge_spec *spec, struct hr_text *tenant) {
  for (size_t i = 0; i < spec->n_tenants; i++)
    for (size_t j = 0; j < spec->tenants[i].from.count; j++) {
      if (!hr__text_is(*tenant, spec->tenants[i].from.text[j])) continue;
      *tenant = hr__text_make(spec->tenants[i].to);
      return;
    }
}

static bool rename_all(struct merge *merge, size_t number, struct hr_job_record *record) {
  const struct hr_merge_spec *spec = merge->spec;
  if (spec->labels && !set_before(&merge->id, spec->labels[number], &record->id)) return false;
  if (spec->labels && spec->renames_tenants &&
      (!set_before(&merge->tenant, spec->labels[number], &record->tenant) ||
       !set_before(&merge->user, spec->labels[number], &record->user)))
    return false;
  if (record->tenant.length) merge_tenant(spec, &record->tenant);
  return true;
}

/* ---- Merging: whole trace -------------------------------------------------------------------------- */

static size_t trace_of(const struct merge *merge, uint32_t row) {
  size_t low = 0, high = merge->n_traces - 1;
  while (low < high) {
    size_t middle = (low + high + 1) / 2;
    if (merge->first[middle] <= row)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

static enum hr_status add_merged_jobs(struct merge *merge, struct hr__rebuild *rebuild, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; status == HR_OK && i < merge->n_jobs; i++) {
    struct hr_job_record record;
    char id[HR_JOB_ID_BUFFER];
    size_t number = trace_of(merge, merge->list[i].row);
    const struct hr_trace *trace = merge->traces[number];
    const hr_job job = {merge->list[i].row - merge->first[number]};
    hr_trace_job_record(trace, job, &record, id);
    hr__record_move(&record, later_us(merge, number));
    bool valid = rename_all(merge, number, &record);
    status = valid ? hr__rebuild_add(rebuild, trace, job, &record, error) : hr__rebuild_no_memory(trace, error);
  }
  return status;
}

/* Reports the first duplicate id. Duplicates can occur only if ids have no prefixes. */
static enum hr_status id_twice(const struct merge *merge, struct hr_error *error) {
  struct hr__name_table ids = {0};
  enum hr_status status = HR_OK;
  for (uint32_t row = 0; status == HR_OK && row < merge->n_jobs; row++) {
    char buffer[HR_JOB_ID_BUFFER];
    size_t number = trace_of(merge, row);
    const char *id = hr_trace_job_id(merge->traces[number], (hr_job){row - merge->first[number]}, buffer);
    uint32_t name = hr__names_intern(&ids, id, strlen(id));
    if (name == HR_NONE) status = hr__rebuild_no_memory(merge->traces[number], error);
    if (name < row)
      status = hr_fail(error, HR_BAD_INPUT, "%s: job id '%.60s' is also in an earlier trace; use labels for ids",
                       merge->traces[number]->source, id);
  }
  hr__names_finish(&ids);
  return status;
}

static enum hr_status put_together(struct merge *merge, struct hr_trace **created, struct hr_error *error) {
  struct hr__rebuild rebuild;
  enum hr_status status = hr__rebuild_begin(&rebuild, merge->traces[0], error);
  /* Notes are added only from traces with the same clock: they may contain the note on local dates, which would be
     wrong for a new trace with another clock. */
  for (size_t i = 1; status == HR_OK && i < merge->n_traces; i++)
    if (strcmp(clock_of(merge->traces[0]), clock_of(merge->traces[i])) == 0)
      status = hr__rebuild_add_notes(&rebuild, merge->traces[i], error);
  if (status == HR_OK) status = add_merged_jobs(merge, &rebuild, error);
  bool added = status == HR_OK;
  status = hr__rebuild_end(&rebuild, status, merge->traces[0]->dated, created, error);
  enum hr_status twice = added && status == HR_BAD_INPUT && !merge->spec->labels ? id_twice(merge, error) : HR_OK;
  return twice == HR_OK ? status : twice;
}

enum hr_status hr_transform_merge(const struct hr_trace *const *traces, size_t n_traces,
                                  const struct hr_merge_spec *spec, struct hr_trace **created, struct hr_error *error) {
  struct merge merge = {.traces = traces, .n_traces = n_traces, .spec = spec};
  *created = NULL;
  enum hr_status status = check_clocks(&merge, error);
  if (status == HR_OK) status = check_labels(&merge, error);
  if (status == HR_OK) status = check_tenants(&merge, error);
  if (status == HR_OK) status = count_jobs(&merge, error);
  if (status == HR_OK && !list_jobs(&merge)) status = hr__rebuild_no_memory(traces[0], error);
  if (status == HR_OK) status = put_together(&merge, created, error);
  free(merge.list);
  free(merge.first);
  free(merge.id.at);
  free(merge.user.at);
  free(merge.tenant.at);
  return status;
}

/* ---- Pseudonyms ------------------------------------------------------------------------------------ */

/* Replaces names and job ids by keyed hashes, HMAC-SHA-256 (RFC 2104). Each name is hashed once, with its kind ("user",
   "tenant" or "model"). Two names of one kind, or two ids, with the same pseudonym are an error. Equal pseudonyms of
   names are detected when the pseudonyms are interned. Equal pseudonyms of ids are detected when the new trace is
   finished, because ids must be unique. */

/* A pseudonym consists of a letter, "-", digits and NUL. */
enum { HR__PSEUDONYM_BYTES = 2 + HR_MAX_PSEUDONYM_DIGITS + 1 };

struct pseudonyms {
  struct hmac_sha256_ctx keyed;
  unsigned digits;
};

/* Initializes the HMAC with the key. The key is hashed only once: the HMAC returns to this state after each name. */

static void start_pseudonyms(struct pseudonyms *pseudonyms, const void *key, size_t key_bytes, unsigned digits) {
  hmac_sha256_set_key(&pseudonyms->keyed, key_bytes, key);
  pseudonyms->digits = digits;
}

/* Writes the pseudonym of a name. `kind` ("user", ...) is hashed with the name, and its first letter begins the
   pseudonym. Returns the length of the pseudonym. */
static size_t put_pseudonym(struct pseudonyms *pseudonyms, const char *kind, struct hr_text name,
                            char text[HR__PSEUDONYM_BYTES]) {
  static const char hexadecimal[] = "0123456789abcdef";
  uint8_t digest[SHA256_DIGEST_SIZE];
  hmac_sha256_update(&pseudonyms->keyed, strlen(kind) + 1, (const uint8_t *)kind);
  hmac_sha256_update(&pseudonyms->keyed, name.length, (const uint8_t *)name.at);
  hmac_sha256_digest(&pseudonyms->keyed, sizeof digest, digest); /* also resets the HMAC to the state after the key */
  char *at = text;
  *at++ = kind[0];
  *at++ = '-';
  for (unsigned i = 0; i < pseudonyms->digits; i++)
    *at++ = hexadecimal[i % 2 ? digest[i / 2] & 15 : digest[i / 2] >> 4];
  *at = '\0';
  return (size_t)(at - text);
}

/* Overwrites the key in memory. */
static void erase_key(struct pseudonyms *pseudonyms) {
  volatile unsigned char *at =
      (volatile unsigned char *)&pseudonyms->keyed; /* volatile, so that the compiler does not remove the writes */
  for (size_t i = 0; i < sizeof pseudonyms->keyed; i++) at[i] = 0;
}

void hr_anonymise_spec_init(struct hr_anonymise_spec *spec) {
  *spec = (struct hr_anonymise_spec){.digits = HR_PSEUDONYM_DIGITS};
}

struct anonymise {
  const struct hr_trace *trace;
  const struct hr_anonymise_spec *spec;
  struct pseudonyms pseudonyms;
  /* pseudonyms, in the order of the original names in the name tables of the trace */
  struct hr__name_table users, tenants, models;
};

/* ---- Pseudonyms: validation ------------------------------------------------------------------------ */

static enum hr_status check_pseudonyms(const struct hr_trace *trace, const struct hr_anonymise_spec *spec,
                                       struct hr_error *error) {
  if (!spec->key_bytes)
    return hr_fail(error, HR_BAD_INPUT,
                   "%s: the key is empty, so names could be found by trial; use a key of at least 16 bytes",
                   trace->source);
  if (spec->digits < HR_MIN_PSEUDONYM_DIGITS || spec->digits > HR_MAX_PSEUDONYM_DIGITS)
    return hr_fail(error, HR_BAD_INPUT, "%s: pseudonyms of %u digits; expected %d to %d", trace->source, spec->digits,
                   HR_MIN_PSEUDONYM_DIGITS, HR_MAX_PSEUDONYM_DIGITS);
  if (!trace->dated && !spec->undated && trace->origin_us + trace->submit_us[0] + spec->shift_us < 0)
    return hr_fail(error, HR_BAD_INPUT, "%s: a time shift of %.15g s gives times before 0 s", trace->source,
                   (double)spec->shift_us / (double)HR_SECOND_US);
  return HR_OK;
}

/* ---- Pseudonyms: names ----------------------------------------------------------------------------- */

static enum hr_status collided(const struct anonymise *anonymise, const char *kind, struct hr_error *error) {
  return hr_fail(error, HR_BAD_INPUT,
                 "%s: two %ss have the same pseudonym of %u digits; use more digits or another key",
                 anonymise->trace->source, kind, anonymise->spec->digits);
}

static enum hr_status hash_names(struct anonymise *anonymise, const char *kind, const struct hr_names *names,
                                 struct hr__name_table *hashed, struct hr_error *error) {
  for (uint32_t i = 0; i < names->count; i++) {
    char text[HR__PSEUDONYM_BYTES];
    struct hr_text name = {names->text[i], strlen(names->text[i])};
    size_t length = put_pseudonym(&anonymise->pseudonyms, kind, name, text);
    uint32_t number = hr__names_intern(hashed, text, length);
    if (number == HR_NONE) return hr__rebuild_no_memory(anonymise->trace, error);
    if (number != i) return collided(anonymise, kind, error);
  }
  return HR_OK;
}

static struct hr_text hashed_name(const struct hr__name_table *hashed, const uint32_t *column, uint32_t job) {
  return hr__text_stored(hashed, column ? column[job] : HR_NONE);
}

/* ---- Pseudonyms: times ----------------------------------------------------------------------------- */

static int64_t shift_of(const struct anonymise *anonymise) {
  const struct hr_trace *trace = anonymise->trace;
  return anonymise->spec->undated ? -(trace->origin_us + trace->submit_us[0]) : anonymise->spec->shift_us;
}

/* ---- Pseudonyms: whole trace ----------------------------------------------------------------------- */

static enum hr_status add_renamed_jobs(struct anonymise *anonymise, struct hr__rebuild *rebuild,
                                       struct hr_error *error) {
  const struct hr_trace *trace = anonymise->trace;
  const int64_t later_us = shift_of(anonymise);
  enum hr_status status = HR_OK;
  for (uint32_t job = 0; status == HR_OK && job < trace->n_jobs; job++) {
    struct hr_job_record record;
    char id[HR_JOB_ID_BUFFER], text[HR__PSEUDONYM_BYTES];
    hr_trace_job_record(trace, (hr_job){job}, &record, id);
    hr__record_move(&record, later_us);
    record.id = (struct hr_text){text, put_pseudonym(&anonymise->pseudonyms, "job", record.id, text)};
    record.user = hashed_name(&anonymise->users, trace->user, job);
    record.tenant = hashed_name(&anonymise->tenants, trace->tenant, job);
    record.model = hashed_name(&anonymise->models, trace->model, job);
    hr_job_record_forget(&record, anonymise->spec->forget);
    status = hr__rebuild_add(rebuild, trace, (hr_job){job}, &record, error);
  }
  return status;
}

/* Begins a new trace without the source and the notes of `trace`, which may contain names. Only the note on local
   dates is kept. */
static enum hr_status begin_unnamed(struct hr__rebuild *rebuild, const struct hr_trace *trace, bool dated,
                                    struct hr_error *error) {
  *rebuild = (struct hr__rebuild){.builder = hr_trace_builder_create("anonymised", trace->format),
                                  .source = trace->source,
                                  .has_ids = trace->has_ids};
  bool ok = rebuild->builder != NULL;
  if (ok && dated && hr_trace_has_local_dates(trace)) ok = hr_trace_builder_note_local_dates(rebuild->builder) == HR_OK;
  return ok ? HR_OK : hr__rebuild_no_memory(trace, error);
}

static enum hr_status rebuild_all(struct anonymise *anonymise, struct hr_trace **created, struct hr_error *error) {
  const struct hr_trace *trace = anonymise->trace;
  struct hr__rebuild rebuild;
  bool dated = trace->dated && !anonymise->spec->undated;
  enum hr_status status = begin_unnamed(&rebuild, trace, dated, error);
  if (status == HR_OK) status = add_renamed_jobs(anonymise, &rebuild, error);
  bool added = status == HR_OK;
  status = hr__rebuild_end(&rebuild, status, dated, created, error);
  return added && status == HR_BAD_INPUT ? collided(anonymise, "job", error) : status;
}

enum hr_status hr_transform_anonymise(const struct hr_trace *trace, const struct hr_anonymise_spec *spec,
                                      struct hr_trace **created, struct hr_error *error) {
  struct anonymise anonymise = {.trace = trace, .spec = spec};
  *created = NULL;
  enum hr_status status = check_pseudonyms(trace, spec, error);
  if (status != HR_OK) return status;
  start_pseudonyms(&anonymise.pseudonyms, spec->key, spec->key_bytes, spec->digits);
  status = hash_names(&anonymise, "user", &trace->users, &anonymise.users, error);
  if (status == HR_OK) status = hash_names(&anonymise, "tenant", &trace->tenants, &anonymise.tenants, error);
  if (status == HR_OK) status = hash_names(&anonymise, "model", &trace->models, &anonymise.models, error);
  if (status == HR_OK) status = rebuild_all(&anonymise, created, error);
  hr__names_finish(&anonymise.users);
  hr__names_finish(&anonymise.tenants);
  hr__names_finish(&anonymise.models);
  erase_key(&anonymise.pseudonyms);
  return status;
}
