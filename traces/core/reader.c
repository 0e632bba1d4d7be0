/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Error handling of all readers. All readers report bad rows with hr__reader_bad_row(). If the reader is lenient,
   this function counts the row; otherwise it returns an error, and reading ends. */

#include "traces/core/reader.h"

#include "traces/core/numbers.h"

#include <stdio.h>
#include <string.h>

static enum hr_status skip_row(struct hr__reader *reader, const struct hr__row_fault *row) {
  char reason[2 * HR__QUOTE_BYTES];
  if (!row->column)
    snprintf(reason, sizeof reason, "%s", row->fault);
  else
    snprintf(reason, sizeof reason, "%s '%s': %s", row->item ? "member" : "column", row->column, row->fault);
  enum hr_status status = hr_trace_builder_skip(reader->builder, reason, row->line);
  return status == HR_OK ? HR_OK : hr__reader_no_memory(reader);
}

enum hr_status hr__reader_bad_row(struct hr__reader *reader, const struct hr__row_fault *row) {
  if (reader->lenient) return skip_row(reader, row);
  unsigned long long line = row->line;
  const char *item = row->item ? row->item : "", *after = row->item ? ": " : "";
  if (!row->column)
    return hr_fail(reader->error, HR_BAD_INPUT, "%s:%llu: %s%s%s%s%s", reader->path, line, item, after, row->fault,
                   row->detail ? ": " : "", row->detail ? row->detail : "");
  const char *before = row->item ? "." : "column '", *closing = row->item ? "" : "'";
  char quoted[HR__QUOTE_BYTES];
  if (!row->value.length)
    return hr_fail(reader->error, HR_BAD_INPUT, "%s:%llu: %s%s%s%s is %s", reader->path, line, item, before,
                   row->column, closing, row->fault);
  return hr_fail(reader->error, HR_BAD_INPUT, "%s:%llu: %s%s%s%s: '%s' is %s", reader->path, line, item, before,
                 row->column, closing, hr__quote(row->value, quoted), row->fault);
}

enum hr_status hr__reader_note_counts(const struct hr__reader *reader, const struct hr__count_note *notes,
                                      size_t n_notes) {
  for (const struct hr__count_note *note = notes; note < notes + n_notes; note++) {
    if (!note->count) continue;
    enum hr_status status = hr_notes_add(reader->notes, "%llu %s%s", (unsigned long long)note->count,
                                         hr__counted(note->count, note->one, note->many), note->rest ? note->rest : "");
    if (status != HR_OK) return hr__reader_no_memory(reader);
  }
  return HR_OK;
}

enum hr_status hr__reader_add(struct hr__reader *reader, const struct hr_job_record *job, uint64_t line) {
  const char *fault = hr_job_record_fault(job);
  if (fault) return hr__reader_bad_row(reader, &(struct hr__row_fault){.line = line, .fault = fault});
  reader->n_fractions += job->gpu_milli < 1000 && job->gpus > 0;
  return hr__builder_append(reader->builder, job, line, reader->error);
}

/* ---- Parameters of formats --------------------------------------------------------------------------- */

enum { MAX_PARAMS = 8 };

static struct hr_text split_at(struct hr_text *rest, char end) {
  const char *stop = memchr(rest->at, end, rest->length);
  struct hr_text taken = {rest->at, stop ? (size_t)(stop - rest->at) : rest->length};
  size_t used = stop ? taken.length + 1 : taken.length;
  *rest = (struct hr_text){rest->at + used, rest->length - used};
  return taken;
}

static enum hr_status unknown_key(const struct hr__reader *reader, const char *format, struct hr_text key,
                                  const struct hr__reader_param *params, size_t n_params) {
  const char *words[MAX_PARAMS + 1];
  char quoted[HR__QUOTE_BYTES];
  for (size_t i = 0; i < n_params; i++) words[i] = params[i].key;
  words[n_params] = NULL;
  const char *nearest = hr_nearest_word(hr__quote(key, quoted), words);
  return hr_fail(reader->error, HR_BAD_INPUT, "trace format '%s' has no parameter '%s'; did you mean '%s'?", format,
                 quoted, nearest ? nearest : params[0].key);
}

static enum hr_status set(const struct hr__reader *reader, const char *format, const struct hr__reader_param *param,
                          struct hr_text value) {
  uint64_t number = 0;
  const struct hr__number_rule rule = {1, INT64_MAX, true};
  if (!param->number && value.length) {
    *param->text = value;
    return HR_OK;
  }
  if (param->number && hr__number_parse(value, &rule, &number) == HR__NUMBER_FINE && number >= param->min &&
      number <= param->max) {
    *param->number = number;
    return HR_OK;
  }
  char quoted[HR__QUOTE_BYTES];
  if (!param->number)
    return hr_fail(reader->error, HR_BAD_INPUT, "trace format '%s': '%s' is empty", format, param->key);
  return hr_fail(reader->error, HR_BAD_INPUT, "trace format '%s': '%s' is '%s', not a whole number from %llu to %llu",
                 format, param->key, hr__quote(value, quoted), (unsigned long long)param->min,
                 (unsigned long long)param->max);
}

enum hr_status hr__reader_params(const struct hr__reader *reader, const char *format,
                                 const struct hr__reader_param *params, size_t n_params) {
  struct hr_text rest = {reader->params, reader->params ? strlen(reader->params) : 0};
  bool seen[MAX_PARAMS] = {false};
  while (rest.length) {
    struct hr_text value = split_at(&rest, ','), key = split_at(&value, '=');
    size_t i = 0;
    while (i < n_params && (strlen(params[i].key) != key.length || memcmp(params[i].key, key.at, key.length) != 0)) i++;
    if (i == n_params) return unknown_key(reader, format, key, params, n_params);
    if (seen[i])
      return hr_fail(reader->error, HR_BAD_INPUT, "trace format '%s': '%s' is set twice", format, params[i].key);
    seen[i] = true;
    enum hr_status status = set(reader, format, &params[i], value);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}
