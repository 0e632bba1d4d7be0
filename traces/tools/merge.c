/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Merges traces. The jobs of all traces are in one list, first by trace and then by position. A stable sort by submit
 * time gives the order of the result. Names with prefixes are built in buffers, one for each kind of name. Each job
 * overwrites the names of the previous job.
 */

#include "base/array.h"
#include "base/hash.h"
#include "headroom/unstable/trace_tools.h"
#include "traces/core/builder.h"

#include <stdlib.h>
#include <string.h>

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

/* ---- Validation -------------------------------------------------------------------------------------- */

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

/* ---- Order ------------------------------------------------------------------------------------------ */

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

/* ---- Names ------------------------------------------------------------------------------------------ */

/* Replaces `*name` by "label/name", which is stored in the buffer. Unknown names are not changed. Returns false if
   out of memory. */
static bool set_before(struct text_buffer *buffer, const char *label, struct hr_text *name) {
  if (!name->length) return true;
  size_t length = strlen(label), expected = length + 1 + name->length;
  if (!HR__ARRAY_HAS_ROOM_FOR(buffer->at, expected, buffer->capacity)) return false;
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
      const char *from = spec->tenants[i].from.text[j];
      if (strlen(from) != tenant->length || memcmp(from, tenant->at, tenant->length) != 0) continue;
      *tenant = (struct hr_text){spec->tenants[i].to, strlen(spec->tenants[i].to)};
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

/* ---- Whole trace ------------------------------------------------------------------------------------- */

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

static enum hr_status add_jobs(struct merge *merge, struct hr__rebuild *rebuild, struct hr_error *error) {
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
  /* The notes of a trace may contain the note on local dates, which would be wrong if the new trace has another
     clock. */
  for (size_t i = 1; status == HR_OK && i < merge->n_traces; i++)
    if (strcmp(clock_of(merge->traces[0]), clock_of(merge->traces[i])) == 0)
      status = hr__rebuild_add_notes(&rebuild, merge->traces[i], error);
  if (status == HR_OK) status = add_jobs(merge, &rebuild, error);
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
