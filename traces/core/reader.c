/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Error handling of all readers. All readers report bad rows with hr__reader_bad_row(). If the reader is lenient,
   this function counts the row; otherwise it returns an error, and reading ends. */

#include "traces/core/reader.h"

#include "traces/core/numbers.h"
#include "traces/core/picks.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

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

/* ---- MIG profiles as GPU types ----------------------------------------------------------------------- */

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static size_t digits_from(struct hr_text text, size_t at) {
  size_t end = at;
  while (end < text.length && is_digit(text.at[end])) end++;
  return end;
}

static bool has_at(struct hr_text text, size_t at, const char *word) {
  size_t length = strlen(word);
  return at + length <= text.length && strncasecmp(text.at + at, word, length) == 0;
}

/* Returns whether the text from `at` on is a profile such as "1g.10gb" or "1g.10gb+me". */
static bool is_profile(struct hr_text text, size_t at) {
  size_t slices = digits_from(text, at);
  if (slices == at || !has_at(text, slices, "g.")) return false;
  size_t memory = digits_from(text, slices + 2);
  if (memory == slices + 2 || !has_at(text, memory, "gb")) return false;
  size_t end = memory + 2;
  return end == text.length || (text.at[end] == '+' && end + 1 < text.length) || has_at(text, end, ".me");
}

static void cut_end(struct hr_text *text, const char *word) {
  size_t length = strlen(word);
  if (text->length >= length && has_at(*text, text->length - length, word)) text->length -= length;
}

bool hr__split_mig_type(struct hr_text name, struct hr_text *type, struct hr_text *profile) {
  size_t at = name.length;
  if (!name.length || !memchr(name.at, '.', name.length) || memchr(name.at, '|', name.length)) return false;
  for (size_t i = 0; i < name.length && at == name.length; i++) {
    bool begins = i == 0 || strchr("_-:/", name.at[i - 1]);
    if (begins && is_digit(name.at[i]) && is_profile(name, i)) at = i;
  }
  if (at == name.length) return false;
  *profile = (struct hr_text){name.at + at, name.length - at};
  *type = (struct hr_text){name.at, at};
  if (type->length) type->length--;
  cut_end(type, "mig");
  cut_end(type, "nvidia.com/");
  if (type->length && strchr("_-:/", type->at[type->length - 1])) type->length--;
  return true;
}

enum hr_status hr__reader_add(struct hr__reader *reader, const struct hr_job_record *job, uint64_t line) {
  const char *fault = hr_job_record_fault(job);
  struct hr_job_record copy;
  struct hr_text type, profile;
  if (reader->picks) {
    copy = *job;
    hr__picks_apply(reader->picks, &copy);
    job = &copy;
  }
  if (job->gpu_types.length && hr__split_mig_type(job->gpu_types, &type, &profile)) {
    copy = *job;
    copy.gpu_types = type;
    if (!copy.mig_profile.length) copy.mig_profile = profile;
    job = &copy;
    reader->n_mig_types++;
  }
  if (fault) return hr__reader_bad_row(reader, &(struct hr__row_fault){.line = line, .fault = fault});
  reader->n_elastic += (job->min_gpus != HR_NONE && job->min_gpus < job->gpus) ||
                       (job->max_gpus != HR_NONE && job->max_gpus > job->gpus);
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
