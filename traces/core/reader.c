/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Common parts of all readers of trace formats: fields from mapped columns (picks), bad rows, and notes.
 *
 * Picks read fields of jobs from any column of a table. The map of columns has two kinds of entries. An entry without a
 * pattern copies a column to a field. An entry with a pattern is a rule: it sets a field to a fixed value if the column
 * matches a POSIX extended regular expression. Rules precede columns, and the first rule that matches applies. A column
 * of classes may have other words, such as the names of Slurm partitions; these are counted, and a note lists some.
 *
 * All readers report bad rows with hr__reader_bad_row(). If the reader is lenient, this function counts the row;
 * otherwise it returns an error, and reading ends.
 */

#include "traces/core/reader.h"

#include "traces/core/fields.h"
#include "traces/core/numbers.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- Picks --------------------------------------------------------------------------------------------- */

enum { MAX_WORDS = 5, WORD_BYTES = 40, MAX_SUBJECT = 4096 };

struct pick {
  const struct hr_column_name *entry;
  regex_t pattern; /* only of rules */
  uint32_t column;
  uint8_t class_; /* of a rule for classes: the class that it sets */
  struct hr_text text;
  uint64_t n_used;
};

struct hr__picks {
  size_t count;
  bool has_row;
  uint64_t n_no_class;              /* jobs with a word that is not a class */
  const char *class_column;         /* the column of these words */
  char word[MAX_WORDS][WORD_BYTES]; /* the first of these words */
  size_t n_words;
  struct pick pick[];
};

static bool is_class(const struct hr_column_name *entry) {
  return strcmp(entry->field, "class") == 0;
}

static bool read_class(struct hr_text text, uint8_t *class_) {
  struct hr__value_reader reader = {0};
  return hr__value_read(&reader, HR__CLASS, 1, text, class_) == NULL;
}

static bool init(struct pick *pick, const struct hr_column_name *entry) {
  *pick = (struct pick){.entry = entry, .column = HR_NONE};
  if (!entry->pattern) return true;
  if (is_class(entry)) (void)read_class((struct hr_text){entry->value, strlen(entry->value)}, &pick->class_);
  return regcomp(&pick->pattern, entry->pattern, REG_EXTENDED | REG_NOSUB) == 0;
}

enum hr_status hr__picks_create(const struct hr_column_map *map, bool rules_only, struct hr__picks **picks) {
  *picks = NULL;
  size_t count = 0;
  for (size_t i = 0; map && i < map->count; i++) count += map->entry[i].pattern || !rules_only;
  if (!count) return HR_OK;
  struct hr__picks *made = calloc(1, sizeof *made + count * sizeof *made->pick);
  if (!made) return HR_NO_MEMORY;
  for (size_t i = 0; i < map->count; i++) {
    if (!map->entry[i].pattern && rules_only) continue;
    if (!init(&made->pick[made->count], &map->entry[i])) { /* the pattern was checked, so memory is exhausted */
      hr__picks_destroy(made);
      return HR_NO_MEMORY;
    }
    made->count++;
  }
  *picks = made;
  return HR_OK;
}

void hr__picks_destroy(struct hr__picks *picks) {
  for (size_t i = 0; picks && i < picks->count; i++)
    if (picks->pick[i].entry->pattern) regfree(&picks->pick[i].pattern);
  free(picks);
}

/* ---- Columns ---------------------------------------------------------------------------------------- */

size_t hr__picks_count(const struct hr__picks *picks) {
  return picks ? picks->count : 0;
}

const char *hr__picks_column(const struct hr__picks *picks, size_t pick) {
  return picks->pick[pick].entry->column;
}

void hr__picks_bind(struct hr__picks *picks, size_t pick, uint32_t column) {
  picks->pick[pick].column = column;
}

uint32_t hr__picks_bound(const struct hr__picks *picks, size_t pick) {
  return picks->pick[pick].column;
}

bool hr__picks_use(const struct hr__picks *picks, uint32_t column) {
  for (size_t i = 0; picks && i < picks->count; i++)
    if (picks->pick[i].column == column) return true;
  return false;
}

/* ---- Rows ------------------------------------------------------------------------------------------- */

void hr__picks_set(struct hr__picks *picks, size_t pick, struct hr_text text) {
  picks->pick[pick].text = text;
  picks->has_row = true;
}

void hr__picks_end_row(struct hr__picks *picks) {
  if (picks) picks->has_row = false;
}

/* Returns whether the text of a rule matches its pattern. Of a longer text, the first MAX_SUBJECT bytes count. */
static bool matches(const struct pick *pick) {
  char subject[MAX_SUBJECT + 1];
  size_t length = pick->text.length < MAX_SUBJECT ? pick->text.length : MAX_SUBJECT;
  if (length) memcpy(subject, pick->text.at, length);
  subject[length] = '\0';
  return regexec(&pick->pattern, subject, 0, NULL, 0) == 0;
}

/* Counts a word that is not a class, and keeps it if it is one of the first. */
static void count_word(struct hr__picks *picks, const struct pick *pick) {
  char word[WORD_BYTES];
  picks->n_no_class++;
  picks->class_column = pick->entry->column;
  if (picks->n_words == MAX_WORDS) return;
  snprintf(word, sizeof word, "%.*s", (int)(pick->text.length < WORD_BYTES ? pick->text.length : WORD_BYTES - 1),
           pick->text.at);
  for (size_t i = 0; i < picks->n_words; i++)
    if (strcmp(picks->word[i], word) == 0) return;
  memcpy(picks->word[picks->n_words++], word, sizeof word);
}

/* Returns the first rule for the field that matches; NULL if none does. */
static struct pick *find_rule(struct hr__picks *picks, const char *field) {
  for (size_t i = 0; i < picks->count; i++) {
    struct pick *pick = &picks->pick[i];
    if (!pick->entry->pattern || strcmp(pick->entry->field, field) != 0 || !matches(pick)) continue;
    pick->n_used++;
    return pick;
  }
  return NULL;
}

static const struct pick *find_column(const struct hr__picks *picks, const char *field) {
  for (size_t i = 0; i < picks->count; i++) {
    const struct pick *pick = &picks->pick[i];
    if (!pick->entry->pattern && strcmp(pick->entry->field, field) == 0 && pick->text.length) return pick;
  }
  return NULL;
}

static void apply_text(const struct hr__picks *picks, const char *field, struct hr_text *member) {
  const struct pick *pick = find_column(picks, field);
  if (pick) *member = pick->text;
}

void hr__picks_apply(struct hr__picks *picks, struct hr_job_record *job) {
  if (!picks || !picks->has_row) return;
  apply_text(picks, "user", &job->user);
  apply_text(picks, "model", &job->model);
  apply_text(picks, "tenant", &job->tenant);
  apply_text(picks, "queue", &job->queue);
  const struct pick *rule = find_rule(picks, "tenant");
  if (rule) job->tenant = (struct hr_text){rule->entry->value, strlen(rule->entry->value)};
  rule = find_rule(picks, "class");
  const struct pick *column = rule ? NULL : find_column(picks, "class");
  if (rule) job->class_ = rule->class_;
  if (column && !read_class(column->text, &job->class_)) count_word(picks, column);
}

/* ---- Notes ------------------------------------------------------------------------------------------ */

static enum hr_status note_words(const struct hr__picks *picks, struct hr_notes *notes) {
  char words[MAX_WORDS * (WORD_BYTES + 4)] = "";
  size_t used = 0;
  for (size_t i = 0; i < picks->n_words; i++)
    used += (size_t)snprintf(words + used, sizeof words - used, "%s'%s'", i ? ", " : "", picks->word[i]);
  return hr_notes_add(notes,
                      "%llu job%s a '%.60s' that is not a class and get%s no class from it: %s%s; name the class with "
                      "--class, e.g. --class 'training=%.60s~^%s$'",
                      (unsigned long long)picks->n_no_class, picks->n_no_class == 1 ? " has" : "s have",
                      picks->class_column, picks->n_no_class == 1 ? "s" : "", words,
                      picks->n_words == MAX_WORDS ? ", ..." : "", picks->class_column, picks->word[0]);
}

enum hr_status hr__picks_notes(const struct hr__picks *picks, struct hr_notes *notes) {
  if (!picks) return HR_OK;
  enum hr_status status = picks->n_no_class ? note_words(picks, notes) : HR_OK;
  for (size_t i = 0; i < picks->count && status == HR_OK; i++) {
    const struct hr_column_name *rule = picks->pick[i].entry;
    if (!rule->pattern || picks->pick[i].n_used) continue;
    status =
        hr_notes_add(notes, "%s '%.60s=%.60s~%.100s': no job matches, or an earlier pattern applies to all that do",
                     rule->field, rule->value, rule->column, rule->pattern);
  }
  return status;
}

/* ---- Readers ------------------------------------------------------------------------------------------- */

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
  if (reader->drop_failed && job->outcome == HR_OUTCOME_FAILED)
    return hr__reader_leave_out(reader, HR__HAD_FAILED, line);
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
