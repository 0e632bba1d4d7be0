/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Transformations that change names: merging traces, and pseudonyms. */

#include "base/containers.h"
#include "headroom/unstable/trace_tools.h"
#include "traces/core/builder.h"

#include <nettle/hmac.h>
#include <stdlib.h>
#include <string.h>

/* ---- Merging ------------------------------------------------------------------------------------------- */

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

/* ---- Pseudonyms ---------------------------------------------------------------------------------------- */

/* Replaces names by keyed hashes, HMAC-SHA-256 (RFC 2104). Each name is hashed once, with its kind. Each id is
   hashed once per job. Collisions are errors: two names with the same pseudonym are found when the pseudonyms are
   interned, and two ids when the new trace is finished, because ids must be unique. */

/* A pseudonym consists of a letter, "-", digits and NUL. */
enum { HR__PSEUDONYM_BYTES = 2 + HR_MAX_PSEUDONYM_DIGITS + 1 };

struct pseudonyms {
  struct hmac_sha256_ctx keyed;
  unsigned digits;
};

/* Initializes the HMAC with the key. The key is hashed only once: each name continues from a copy of this state. */

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

/* ---- Validation -------------------------------------------------------------------------------------- */

static enum hr_status check(const struct hr_trace *trace, const struct hr_anonymise_spec *spec,
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

/* ---- Names ------------------------------------------------------------------------------------------ */

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
  uint32_t name = column ? column[job] : HR_NONE;
  if (name == HR_NONE) return (struct hr_text){NULL, 0};
  return (struct hr_text){hashed->text[name], hashed->length[name]};
}

/* ---- Times ------------------------------------------------------------------------------------------ */

static int64_t shift_of(const struct anonymise *anonymise) {
  const struct hr_trace *trace = anonymise->trace;
  return anonymise->spec->undated ? -(trace->origin_us + trace->submit_us[0]) : anonymise->spec->shift_us;
}

/* ---- Whole trace ------------------------------------------------------------------------------------- */

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
  enum hr_status status = check(trace, spec, error);
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
