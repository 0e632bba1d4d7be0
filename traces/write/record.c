/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Converts a job of a trace back to a record, with the table of columns of the builder, and determines which fields
   are known. */

#include "traces/write/write.h"

#include "traces/core/builder.h"

#include <string.h>

/* ---- From columns to a record ----------------------------------------------------------------------- */

static struct hr_text name_text(const struct hr_names *names, uint32_t number) {
  if (number == HR_NONE) return (struct hr_text){NULL, 0};
  return (struct hr_text){names->text[number], strlen(names->text[number])};
}

/* Converts an instant from the clock of the trace to the clock of the input; INT64_MIN if it is unknown. */
static int64_t instant_us(const struct hr_trace *trace, int64_t us) {
  return us == HR_UNKNOWN_US || us == INT64_MIN ? INT64_MIN : us + trace->origin_us;
}

void hr_trace_job_record(const struct hr_trace *trace, hr_job job, struct hr_job_record *record, char *id_buffer) {
  uint32_t name[HR__N_NAMES];
  hr_job_record_init(record);
#define TAKE(column, member, width, unknown, value)                                                                    \
  if (trace->member) value = trace->member[job.id];
#define TAKE_NAME(set, member, field)                                                                                  \
  if (name[HR__##set] != HR_NONE) record->field = name_text(&trace->member, name[HR__##set]);
  for (int id = 0; id < HR__N_NAMES; id++) name[id] = HR_NONE;
  HR__COLUMN_TABLE(TAKE)
  HR__NAMES_TABLE(TAKE_NAME)
#undef TAKE
#undef TAKE_NAME
  record->submit_us += trace->origin_us;
  record->deadline_us = instant_us(trace, record->deadline_us);
  record->recorded_start_us = instant_us(trace, record->recorded_start_us);
  const char *id = hr_trace_job_id(trace, job, id_buffer);
  record->id = (struct hr_text){id, strlen(id)};
}

/* ---- Fields ----------------------------------------------------------------------------------------- */

static const size_t field_bytes[HR__N_FIELDS] = {
#define FIELD_BYTES(key, column, kind, must_exist, must_fill, member) sizeof((struct hr_job_record *)0)->member,
    HR__FIELD_TABLE(FIELD_BYTES)
#undef FIELD_BYTES
};

static uint8_t flag_of(size_t field) {
  return hr__fields[field].kind == HR__DEDICATED ? HR_JOB_DEDICATED : HR_JOB_NOT_INTERRUPTIBLE;
}

bool hr__field_is_known(const struct hr_job_record *record, const struct hr_job_record *blank, size_t field) {
  const char *member = (const char *)record + hr__fields[field].offset;
  switch (hr__fields[field].kind) {
  case HR__TEXT:
  case HR__LIST:
    return ((const struct hr_text *)(const void *)member)->length > 0;
  case HR__DEDICATED:
  case HR__INTERRUPTIBLE:
    return *(const uint8_t *)member & flag_of(field);
  default:
    return memcmp(member, (const char *)blank + hr__fields[field].offset, field_bytes[field]) != 0;
  }
}

/* Returns true if ids are row numbers because the input contained no ids. */
static bool ids_number_rows(const struct hr_trace *trace) {
  if (trace->has_ids || trace->id_text) return false;
  for (uint32_t job = 0; trace->id_number && job < trace->n_jobs; job++)
    if (trace->id_number[job] != (int64_t)(trace->row ? trace->row[job] : job) + 1) return false;
  return true;
}

void hr__known_fields(const struct hr_trace *trace, bool known[HR__N_FIELDS]) {
  struct hr_job_record blank, record;
  char id[HR_JOB_ID_BUFFER];
  hr_job_record_init(&blank);
  for (size_t field = 0; field < HR__N_FIELDS; field++) known[field] = hr__fields[field].must_exist;
  for (uint32_t job = 0; job < trace->n_jobs; job++) {
    hr_trace_job_record(trace, (hr_job){job}, &record, id);
    for (size_t field = 1; field < HR__N_FIELDS; field++)
      known[field] = known[field] || hr__field_is_known(&record, &blank, field);
  }
  known[0] = !ids_number_rows(trace);
}

static void forget(struct hr_job_record *record, const struct hr_job_record *blank, size_t field) {
  char *member = (char *)record + hr__fields[field].offset;
  if (hr__fields[field].kind == HR__DEDICATED || hr__fields[field].kind == HR__INTERRUPTIBLE)
    *(uint8_t *)member = (uint8_t)(*(uint8_t *)member & ~flag_of(field));
  else
    memcpy(member, (const char *)blank + hr__fields[field].offset, field_bytes[field]);
}

void hr_job_record_forget(struct hr_job_record *record, uint64_t fields) {
  struct hr_job_record blank;
  hr_job_record_init(&blank);
  for (size_t field = 0; field < HR__N_FIELDS; field++)
    if (fields >> field & 1) forget(record, &blank, field);
  if (record->within == HR_TIER_ANY) record->within_wait_us = HR_UNKNOWN_US;
}
