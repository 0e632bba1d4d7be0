/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Most of this is about saying what is wrong: which columns are missing, what the file has instead, and how to
   name it; so the sentences are put together here and the finding is a hash lookup. */

#include "traces/csv_header.h"

#include "traces/quote.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

struct sentence {
  char text[700];
  size_t length;
};

static HR_PRINTF(2, 3) void say(struct sentence *sentence, const char *format, ...) {
  size_t room = sizeof sentence->text - sentence->length;
  va_list args;
  va_start(args, format);
  int length = vsnprintf(sentence->text + sentence->length, room, format, args);
  va_end(args);
  if (length > 0) sentence->length += (size_t)length < room ? (size_t)length : room - 1;
}

static const char *quoted_name(const char *name, char buffer[HR__QUOTE_BYTES]) {
  return hr__quote((struct hr_text){name, strlen(name)}, buffer);
}

enum hr_status hr__csv_header_add(struct hr__csv_header *header, struct hr__reader *reader, struct hr_text name,
                                  uint64_t line) {
  unsigned long long at = line;
  if (header->n == HR__MOST_CSV_COLUMNS)
    return hr_fail(reader->error, HR_BAD_INPUT, "%s:%llu: the header has more than %d columns", reader->path, at,
                   HR__MOST_CSV_COLUMNS);
  uint32_t known = header->names.count;
  uint32_t number = hr__names_intern(&header->names, name.length ? name.at : "", name.length);
  if (number == HR_NONE) return hr__reader_no_memory(reader);
  if (number < known && name.length) {
    char buffer[HR__QUOTE_BYTES];
    return hr_fail(reader->error, HR_BAD_INPUT, "%s:%llu: the header names column '%s' twice", reader->path, at,
                   hr__quote(name, buffer));
  }
  header->column_of[number] = header->n++;
  return HR_OK;
}

/* "submit_time(us)" in a column map also finds "submit_time": the unit is then the map's word, not the file's. */
static size_t length_without_unit(const char *name) {
  size_t length = strlen(name);
  const char *open = strrchr(name, '(');
  if (!open || name[length - 1] != ')') return length;
  while (open > name && open[-1] == ' ') open--;
  return (size_t)(open - name);
}

static bool is_but_for_case(const char *name, const char *wanted, size_t length) {
  return strlen(name) == length && strncasecmp(name, wanted, length) == 0;
}

/* The first name from `from` on that is the wanted one but for upper and lower case. */
static uint32_t find_but_for_case(const struct hr__csv_header *header, const struct hr__csv_column *wanted,
                                  uint32_t from) {
  size_t length = strlen(wanted->name), shorter = wanted->field ? length_without_unit(wanted->name) : length;
  for (uint32_t i = from; i < header->names.count; i++)
    if (is_but_for_case(header->names.text[i], wanted->name, length) ||
        is_but_for_case(header->names.text[i], wanted->name, shorter))
      return i;
  return HR_NONE;
}

static uint32_t find_exactly(const struct hr__csv_header *header, const struct hr__csv_column *wanted) {
  uint32_t number = hr__names_find(&header->names, wanted->name, strlen(wanted->name));
  if (number == HR_NONE && wanted->field)
    number = hr__names_find(&header->names, wanted->name, length_without_unit(wanted->name));
  return number;
}

static uint32_t find_column(const struct hr__csv_header *header, const struct hr__csv_column *wanted) {
  uint32_t number = find_exactly(header, wanted);
  if (number == HR_NONE) number = find_but_for_case(header, wanted, 0);
  return number == HR_NONE ? HR_NONE : header->column_of[number];
}

/* Two names that are the wanted one but for their case: nobody knows which is meant. */
static enum hr_status refuse_clash(const struct hr__csv_header *header, const struct hr__reader *reader,
                                   const struct hr__csv_column *wanted, uint64_t line) {
  uint32_t first = find_exactly(header, wanted) == HR_NONE ? find_but_for_case(header, wanted, 0) : HR_NONE;
  uint32_t second = first == HR_NONE ? HR_NONE : find_but_for_case(header, wanted, first + 1);
  char a[HR__QUOTE_BYTES], b[HR__QUOTE_BYTES];
  if (second == HR_NONE) return HR_OK;
  return hr_fail(reader->error, HR_BAD_INPUT, "%s:%llu: columns '%s' and '%s' may both be '%s'%s%s%s", reader->path,
                 (unsigned long long)line, quoted_name(header->names.text[first], a),
                 quoted_name(header->names.text[second], b), wanted->name,
                 wanted->field ? "; say which with --map " : "", wanted->field ? wanted->field : "",
                 wanted->field ? "=COLUMN" : "");
}

/* ---- What is missing -------------------------------------------------------------------------------- */

/* The file's columns that feed nothing, for "did you mean". */
static const char *nearest_unused(const struct hr__csv_header *header, const char *name) {
  const char *words[HR__MOST_CSV_COLUMNS + 1];
  size_t n = 0;
  for (uint32_t i = 0; i < header->names.count; i++)
    if (!header->first_use[header->column_of[i]]) words[n++] = header->names.text[i];
  words[n] = NULL;
  return hr_nearest_word(name, words);
}

static bool is_missing(const struct hr__csv_header *header, const struct hr__csv_column *wanted) {
  return wanted->must_exist && find_column(header, wanted) == HR_NONE;
}

static void say_missing(struct sentence *sentence, const struct hr__csv_header *header,
                        const struct hr__csv_schema *schema, size_t n_missing) {
  say(sentence, n_missing > 1 ? "missing columns" : "missing column");
  const char *separator = "";
  for (size_t i = 0; i < schema->n_columns; i++) {
    if (!is_missing(header, &schema->columns[i])) continue;
    say(sentence, "%s '%s'", separator, schema->columns[i].name);
    char buffer[HR__QUOTE_BYTES];
    const char *nearest = nearest_unused(header, schema->columns[i].name);
    if (nearest) say(sentence, " (did you mean '%s'?)", quoted_name(nearest, buffer));
    separator = ",";
  }
}

static void say_columns(struct sentence *sentence, const struct hr__csv_header *header) {
  const size_t enough = 400;
  say(sentence, "; the file has: ");
  for (uint32_t i = 0; i < header->names.count; i++) {
    char buffer[HR__QUOTE_BYTES];
    say(sentence, "%s%s", i ? ", " : "", quoted_name(header->names.text[i], buffer));
    if (sentence->length < enough) continue;
    say(sentence, ", ...");
    break;
  }
}

static void say_remedy(struct sentence *sentence, const struct hr__csv_header *header,
                       const struct hr__csv_schema *schema) {
  if (!schema->separator && header->n == 1 && strpbrk(header->names.text[0], ";\t")) {
    say(sentence, "; columns are separated by commas, not by ';' or tabs");
    return;
  }
  if (schema->missing_hint) {
    say(sentence, "; %s", schema->missing_hint);
    return;
  }
  const char *before = "; name what is meant with --map ";
  for (size_t i = 0; i < schema->n_columns; i++) {
    if (!is_missing(header, &schema->columns[i])) continue;
    say(sentence, "%s%s=COLUMN", before, schema->columns[i].field);
    before = ",";
  }
}

static enum hr_status missing_columns(const struct hr__csv_header *header, const struct hr__reader *reader,
                                      const struct hr__csv_schema *schema, size_t n_missing, uint64_t line) {
  struct sentence sentence = {.length = 0};
  say_missing(&sentence, header, schema, n_missing);
  say_columns(&sentence, header);
  say_remedy(&sentence, header, schema);
  return hr_fail(reader->error, HR_BAD_INPUT, "%s:%llu: %s", reader->path, (unsigned long long)line, sentence.text);
}

/* ---- What is too much ------------------------------------------------------------------------------- */

static bool is_ignored(const struct hr__csv_schema *schema, const char *name) {
  for (const char *const *ignored = schema->ignored; ignored && *ignored; ignored++)
    if (strcasecmp(*ignored, name) == 0) return true;
  return false;
}

static const char *nearest_unfed(const struct hr__csv_header *header, const struct hr__csv_schema *schema,
                                 const char *name) {
  const char *words[HR__MOST_SCHEMA_COLUMNS + 1];
  size_t n = 0;
  for (size_t i = 0; i < schema->n_columns; i++)
    if (find_column(header, &schema->columns[i]) == HR_NONE) words[n++] = schema->columns[i].name;
  words[n] = NULL;
  return hr_nearest_word(name, words);
}

static enum hr_status note_unknown(const struct hr__csv_header *header, struct hr__reader *reader,
                                   const struct hr__csv_schema *schema) {
  for (uint32_t i = 0; i < header->names.count; i++) {
    const char *name = header->names.text[i];
    if (!*name || header->first_use[header->column_of[i]] || is_ignored(schema, name)) continue;
    char buffer[HR__QUOTE_BYTES];
    const char *nearest = nearest_unfed(header, schema, name);
    enum hr_status status =
        hr_notes_add(reader->notes, "column '%s' is not known and is ignored%s%s%s", quoted_name(name, buffer),
                     nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    if (status != HR_OK) return hr__reader_no_memory(reader);
  }
  return HR_OK;
}

enum hr_status hr__csv_header_bind(struct hr__csv_header *header, struct hr__reader *reader,
                                   const struct hr__csv_schema *schema, uint64_t line) {
  size_t n_missing = 0;
  for (size_t i = 0; i < schema->n_columns; i++) {
    uint32_t column = find_column(header, &schema->columns[i]);
    enum hr_status status = refuse_clash(header, reader, &schema->columns[i], line);
    if (status != HR_OK) return status;
    n_missing += is_missing(header, &schema->columns[i]);
    if (column == HR_NONE) continue;
    header->next_use[i] = header->first_use[column];
    header->first_use[column] = (uint8_t)(i + 1);
  }
  if (n_missing) return missing_columns(header, reader, schema, n_missing, line);
  return note_unknown(header, reader, schema);
}

void hr__csv_header_finish(struct hr__csv_header *header) {
  hr__names_finish(&header->names);
}
