/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Determines which fields of a record are known, and makes fields unknown. */

#include "traces/write/write.h"

#include <string.h>

const size_t hr__field_bytes[HR__N_FIELDS] = {
#define HR__FIELD(key, column, kind, required, filled, member) sizeof((struct hr_job_record *)0)->member,
    HR__FIELDS
#undef HR__FIELD
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
    return memcmp(member, (const char *)blank + hr__fields[field].offset, hr__field_bytes[field]) != 0;
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
    memcpy(member, (const char *)blank + hr__fields[field].offset, hr__field_bytes[field]);
}

void hr_job_record_forget(struct hr_job_record *record, uint64_t fields) {
  struct hr_job_record blank;
  hr_job_record_init(&blank);
  for (size_t field = 0; field < HR__N_FIELDS; field++)
    if (fields >> field & 1) forget(record, &blank, field);
  if (record->within == HR_TIER_ANY) record->within_wait_us = HR_UNKNOWN_US;
}
