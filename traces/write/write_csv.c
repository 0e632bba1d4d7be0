/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes Headroom's CSV format. The columns are the fields that are known for some job, in the order of the field
 * table. Unknown values are empty, and all values are exact. Rows are in the order of the input. Reading the file
 * again therefore gives an equal trace. Names have the same indices in their name tables, and rows without ids get
 * the same ids.
 */

#include "traces/core/input.h"
#include "traces/core/numbers.h"
#include "traces/write/write.h"

#include <stdlib.h>
#include <string.h>

struct csv {
  const struct hr_trace *trace;
  struct hr__encoder *out;
  bool known[HR__N_FIELDS]; /* columns to write */
  struct hr_job_record blank;
  bool zoned;
};

/* ---- Values ----------------------------------------------------------------------------------------- */

/* Writes `value` / 10^`decimals` exactly, without trailing zeros. */
static void put_decimal(struct hr__encoder *out, uint64_t value, unsigned decimals) {
  char digits[HR__ENCODER_NUMBER_BYTES], *at = digits;
  uint64_t unit = 1;
  for (unsigned i = 0; i < decimals; i++) unit *= 10;
  hr__encode_i64(out, (int64_t)(value / unit));
  uint64_t rest = value % unit;
  if (rest) *at++ = '.';
  for (; rest; rest %= unit) {
    unit /= 10;
    *at++ = (char)('0' + rest / unit);
  }
  hr__encode_bytes(out, digits, (size_t)(at - digits));
}

/* Returns true if the text must be quoted. White space at the beginning or end of an unquoted field would be lost. */
static bool needs_quotes(struct hr_text text) {
  const char first = text.at[0], last = text.at[text.length - 1];
  if (first == ' ' || first == '\t' || last == ' ' || last == '\t') return true;
  for (size_t i = 0; i < text.length; i++)
    if (strchr(",\"\r\n", text.at[i])) return true;
  return false;
}

static void put_text(struct hr__encoder *out, struct hr_text text) {
  if (!needs_quotes(text)) {
    hr__encode_bytes(out, text.at, text.length);
    return;
  }
  hr__encode_byte(out, '"');
  for (const char *at = text.at, *end = text.at + text.length; at < end; at++) {
    if (*at == '"') hr__encode_byte(out, '"');
    hr__encode_byte(out, *at);
  }
  hr__encode_byte(out, '"');
}

/* Writes a time. Returns false if the time is outside the range that readers accept. */
static bool put_instant(const struct csv *csv, int64_t us) {
  if (!csv->trace->dated) {
    if (us < 0) return false;
    put_decimal(csv->out, (uint64_t)us, 6);
    return true;
  }
  char date[HR__DATE_BYTES], *end = hr__date_put(date, us, csv->zoned);
  if (end) hr__encode_bytes(csv->out, date, (size_t)(end - date));
  return end != NULL;
}

static void put_gib(struct hr__encoder *out, uint64_t mib) {
  /* 1/1024 = 0.0009765625: a MiB in GiB, with 10 digits after the decimal point */
  static const uint64_t ten_digits_of_a_mib = 9765625;
  put_decimal(out, mib * ten_digits_of_a_mib, 10);
}

static void put_word(const struct csv *csv, enum hr__kind kind, uint8_t value) {
  if (kind == HR__CLASS)
    hr__encode_text(csv->out, hr_job_class_name(value));
  else if (kind == HR__STATUS)
    hr__encode_text(csv->out, hr_outcome_name(value));
  else if (kind == HR__TIER)
    hr__encode_text(csv->out, hr_tier_name(value));
  else
    hr__encode_text(csv->out, kind == HR__DEDICATED ? "true" : "false");
}

static bool put_number(const struct csv *csv, enum hr__kind kind, const void *member) {
  uint32_t narrow;
  int64_t wide;
  memcpy(&narrow, member, sizeof narrow);
  switch (kind) {
  case HR__CPUS:
    put_decimal(csv->out, narrow, 3);
    return true;
  case HR__FRACTION:
    put_decimal(csv->out, narrow, 6);
    return true;
  case HR__PRIORITY:
    hr__encode_i64(csv->out, (int32_t)narrow);
    return true;
  case HR__GPUS:
  case HR__GPU_BOUND:
  case HR__TASKS:
  case HR__GPU_SHARE:
    hr__encode_i64(csv->out, narrow);
    return true;
  default:
    break;
  }
  memcpy(&wide, member, sizeof wide);
  if (kind == HR__INSTANT) return put_instant(csv, wide);
  if (kind == HR__DURATION)
    put_decimal(csv->out, (uint64_t)wide, 6);
  else
    put_gib(csv->out, (uint64_t)wide);
  return true;
}

static bool put_field(const struct csv *csv, const struct hr_job_record *record, size_t field) {
  const enum hr__kind kind = hr__fields[field].kind;
  const char *member = (const char *)record + hr__fields[field].offset;
  switch (kind) {
  case HR__TEXT:
  case HR__LIST: {
    struct hr_text text;
    memcpy(&text, member, sizeof text);
    put_text(csv->out, text);
    return true;
  }
  case HR__CLASS:
  case HR__STATUS:
  case HR__TIER:
  case HR__DEDICATED:
  case HR__INTERRUPTIBLE:
    put_word(csv, kind, *(const uint8_t *)member);
    return true;
  default:
    return put_number(csv, kind, member);
  }
}

/* ---- Rows ------------------------------------------------------------------------------------------- */

static void put_header(const struct csv *csv) {
  const char *comma = "";
  for (size_t field = 0; field < HR__N_FIELDS; field++) {
    if (!csv->known[field]) continue;
    hr__encode_text(csv->out, comma);
    hr__encode_text(csv->out, hr__fields[field].name);
    comma = ",";
  }
  hr__encode_byte(csv->out, '\n');
}

static enum hr_status cannot_write(const struct csv *csv, const char *id, size_t field, struct hr_error *error) {
  return hr_fail(error, HR_BAD_INPUT, "%s: job %.60s: cannot write its '%s' as CSV: %s", csv->trace->source, id,
                 hr__fields[field].field, csv->trace->dated ? "the year is not from 1 to 9999" : "it is before 0 s");
}

static enum hr_status put_row(const struct csv *csv, uint32_t job, struct hr_error *error) {
  struct hr_job_record record;
  char id[HR_JOB_ID_BUFFER];
  uint64_t begin = hr__encoder_count(csv->out);
  bool first = true;
  hr_trace_job_record(csv->trace, (hr_job){job}, &record, id);
  for (size_t field = 0; field < HR__N_FIELDS; field++) {
    if (!csv->known[field]) continue;
    if (!first) hr__encode_byte(csv->out, ',');
    first = false;
    bool known = hr__fields[field].must_exist || hr__field_is_known(&record, &csv->blank, field);
    if (known && !put_field(csv, &record, field)) return cannot_write(csv, record.id.at, field, error);
  }
  hr__encode_byte(csv->out, '\n');
  if (hr__encoder_count(csv->out) - begin <= HR__LONGEST_LINE) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: job %.60s: its row would be longer than 1 MiB, the limit for reading",
                 csv->trace->source, record.id.at);
}

/* Returns the jobs in the order of the rows of the input. Returns NULL if the trace is in that order, or if out of
   memory. The caller frees the list. */
static uint32_t *jobs_by_row(const struct hr_trace *trace) {
  uint32_t *jobs = trace->row ? malloc(trace->n_jobs * sizeof *jobs) : NULL;
  for (uint32_t job = 0; jobs && job < trace->n_jobs; job++) jobs[trace->row[job]] = job;
  return jobs;
}

static enum hr_status put_rows(const struct csv *csv, struct hr_error *error) {
  uint32_t *jobs = jobs_by_row(csv->trace);
  if (csv->trace->row && !jobs) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", csv->trace->source);
  enum hr_status status = HR_OK;
  put_header(csv);
  for (uint32_t i = 0; status == HR_OK && i < csv->trace->n_jobs; i++) {
    status = put_row(csv, jobs ? jobs[i] : i, error);
    hr__trace_row_done(csv->trace, i);
  }
  free(jobs);
  return status;
}

static enum hr_status write_csv(const struct hr_trace *trace, const char *path, struct hr_trace_written *written,
                                struct hr_error *error) {
  struct csv csv = {.trace = trace, .zoned = !hr_trace_has_local_dates(trace)};
  hr_job_record_init(&csv.blank);
  hr__known_fields(trace, csv.known);
  enum hr_status status = hr__encoder_open(path, &csv.out, error);
  if (status != HR_OK) return status;
  status = put_rows(&csv, error);
  written->n_jobs = trace->n_jobs;
  written->bytes = hr__encoder_count(csv.out);
  if (status == HR_OK) return hr__encoder_commit(csv.out, error);
  hr__encoder_abandon(csv.out);
  return status;
}

const struct hr__trace_writer hr__csv_writer = {.compresses = true, .write = write_csv};
