/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Three kinds of records become steps of one kind. JSON is read as scenarios are; the others line by line. */

#include "scenarios/spot_levels.h"

#include "sim/grow.h"
#include "traces/dates.h"
#include "traces/input.h"
#include "traces/json_file.h"
#include "traces/numbers.h"
#include "traces/quote.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HIGHEST_COUNT = 16000000 };

struct record {
  const char *path;
  struct hr_error *error;
  struct hr_level_step *steps;
  uint32_t count, capacity;
  int64_t end_us; /* so far */
};

static enum hr_status no_memory(const struct record *record) {
  return hr_fail(record->error, HR_NO_MEMORY, "%s: out of memory", record->path);
}

/* Steps of one time are one, the last; a step to the level that stands is none. */
static enum hr_status add_step(struct record *record, int64_t at_us, uint32_t level) {
  record->end_us = at_us;
  if (record->count && record->steps[record->count - 1].at_us == at_us) record->count--;
  if (record->count && record->steps[record->count - 1].level == level) return HR_OK;
  if (record->count == record->capacity) {
    struct hr_level_step *steps = hr__grown(record->steps, &record->capacity, sizeof *steps);
    if (!steps) return no_memory(record);
    record->steps = steps;
  }
  record->steps[record->count++] = (struct hr_level_step){at_us, level};
  return HR_OK;
}

/* ---- JSON ------------------------------------------------------------------------------------------- */

static enum hr_status read_counts(struct record *record, const cJSON *data, double gap_s) {
  int64_t gap_us = llround(gap_s * (double)HR_SECOND_US), at_us = 0;
  size_t place = 0;
  for (const cJSON *each = data->child; each; each = each->next, place++, at_us += gap_us) {
    if (at_us > HR_MAX_INPUT_US - gap_us)
      return hr_fail(record->error, HR_BAD_INPUT,
                     "%s: entry %zu of 'data' is 3,000 years on at %.10g s an entry; 'metadata.gap_seconds' is the "
                     "time from one entry to the next",
                     record->path, place, gap_s);
    double value = each->valuedouble;
    if (!cJSON_IsNumber(each) || value != floor(value) || value < 0 || value > HIGHEST_COUNT)
      return hr_fail(record->error, HR_BAD_INPUT,
                     "%s: entry %zu of 'data' is no whole number from 0 to %d; each is how many nodes there were",
                     record->path, place, HIGHEST_COUNT);
    enum hr_status status = add_step(record, at_us, (uint32_t)value);
    if (status != HR_OK) return status;
  }
  record->end_us = at_us;
  return HR_OK;
}

static enum hr_status read_json_tree(struct record *record, const cJSON *tree) {
  const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(tree, "metadata");
  const cJSON *gap = cJSON_GetObjectItemCaseSensitive(metadata, "gap_seconds");
  const cJSON *data = cJSON_GetObjectItemCaseSensitive(tree, "data");
  if (!cJSON_IsNumber(gap) || !(gap->valuedouble >= 1e-6 && gap->valuedouble <= 1e9))
    return hr_fail(record->error, HR_BAD_INPUT,
                   "%s: 'metadata.gap_seconds' is missing or no number of seconds above 0; a record is "
                   "{\"metadata\": {\"gap_seconds\": 300}, \"data\": [1, 0, ...]}",
                   record->path);
  if (!cJSON_IsArray(data) || !data->child)
    return hr_fail(record->error, HR_BAD_INPUT,
                   "%s: 'data' is missing, no list, or empty; it lists how many nodes "
                   "there were, gap by gap",
                   record->path);
  return read_counts(record, data, gap->valuedouble);
}

static enum hr_status read_json(struct record *record) {
  struct hr__json_file file;
  enum hr_status status = hr__json_file_read(record->path, &file, record->error);
  if (status != HR_OK) return status;
  status = read_json_tree(record, file.tree);
  hr__json_file_finish(&file);
  return status;
}

/* ---- Lines ------------------------------------------------------------------------------------------ */

struct lines {
  struct record *record;
  struct hr__input *input;
  bool dated;       /* the first line is a count; else it is a change of a fleet */
  int64_t first_us; /* of dated counts */
  uint64_t n_late;  /* lines that are earlier than the one before */
  uint32_t alive;   /* of a fleet */
};

static enum hr_status bad_line(const struct lines *lines, struct hr_text line, const char *right) {
  char quoted[HR__QUOTE_BYTES];
  return hr_fail(lines->record->error, HR_BAD_INPUT, "%s:%llu: '%s' is not %s", lines->record->path,
                 (unsigned long long)hr__input_line_number(lines->input), hr__quote(line, quoted), right);
}

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct hr_text trim(struct hr_text text) {
  while (text.length && is_space(text.at[text.length - 1])) text.length--;
  while (text.length && is_space(*text.at)) text.at++, text.length--;
  return text;
}

/* Splits a line at its commas; false unless there are three fields. */
static bool three_fields(struct hr_text line, struct hr_text field[3]) {
  for (int i = 0; i < 3; i++) {
    const char *comma = memchr(line.at, ',', line.length);
    size_t length = comma ? (size_t)(comma - line.at) : line.length;
    if ((i < 2) != (comma != NULL)) return false;
    field[i] = trim((struct hr_text){line.at, length});
    if (comma) line = (struct hr_text){comma + 1, line.length - length - 1};
  }
  return true;
}

static bool is_word(struct hr_text text, const char *word) {
  return text.length == strlen(word) && memcmp(text.at, word, text.length) == 0;
}

static enum hr_status take_change(struct lines *lines, struct hr_text line, const struct hr_text field[3]) {
  static const struct hr__number_rule milliseconds = {1000, (uint64_t)HR_MAX_INPUT_US, false};
  uint64_t at_us;
  bool add = is_word(field[1], "add"), remove = is_word(field[1], "remove");
  if (hr__number_parse(field[0], &milliseconds, &at_us) != HR__NUMBER_FINE || (!add && !remove))
    return bad_line(lines, line, "MILLISECONDS,add|remove,NODE");
  if ((int64_t)at_us < lines->record->end_us)
    return bad_line(lines, line, "in order: its time is before that of the line above");
  if (remove && lines->alive == 0) return bad_line(lines, line, "possible: no node is there to be removed");
  lines->alive += add ? 1 : (uint32_t)-1;
  return add_step(lines->record, (int64_t)at_us, lines->alive);
}

/* A line that is earlier than the one before it is left out, and counted. */
static enum hr_status take_count(struct lines *lines, struct hr_text line, const struct hr_text field[3]) {
  static const struct hr__number_rule count_rule = {1, HIGHEST_COUNT, true};
  char date[64];
  int64_t at_us;
  bool zoned;
  uint64_t count;
  if (field[0].length + field[1].length + 2 > sizeof date) return bad_line(lines, line, "DATE, TIME, COUNT");
  memcpy(date, field[0].at, field[0].length);
  date[field[0].length] = ' ';
  memcpy(date + field[0].length + 1, field[1].at, field[1].length);
  struct hr_text when = {date, field[0].length + 1 + field[1].length};
  if (!hr__date_parse(when, &at_us, &zoned) || hr__number_parse(field[2], &count_rule, &count) != HR__NUMBER_FINE)
    return bad_line(lines, line, "MILLISECONDS,add|remove,NODE nor YYYY-MM-DD, HH:MM:SS, COUNT");
  if (!lines->record->count) lines->first_us = at_us;
  at_us -= lines->first_us;
  if (at_us > HR_MAX_INPUT_US) return bad_line(lines, line, "within 100000000000 s of the first one");
  if (at_us >= lines->record->end_us) return add_step(lines->record, at_us, (uint32_t)count);
  lines->n_late++;
  return HR_OK;
}

static enum hr_status take_line(struct lines *lines, struct hr_text line) {
  struct hr_text field[3], text = trim(line);
  if (!text.length) return HR_OK;
  if (!three_fields(text, field)) return bad_line(lines, text, "MILLISECONDS,add|remove,NODE nor DATE, TIME, COUNT");
  if (!lines->record->count) {
    lines->dated = memchr(field[0].at, '-', field[0].length) != NULL;
    enum hr_status status = lines->dated ? HR_OK : add_step(lines->record, 0, 0); /* no node is there at first */
    if (status != HR_OK) return status;
  }
  return lines->dated ? take_count(lines, text, field) : take_change(lines, text, field);
}

static enum hr_status read_lines(struct record *record, struct hr__input *input, struct hr_notes *notes) {
  struct lines lines = {.record = record, .input = input};
  struct hr_text line;
  enum hr_status status;
  while ((status = hr__input_line(input, &line, record->error)) == HR_OK && line.at) {
    status = take_line(&lines, line);
    if (status != HR_OK) return status;
  }
  if (status != HR_OK || !lines.n_late) return status;
  status = hr_notes_add(notes, "%s: %llu lines are earlier than the line before them and are left out", record->path,
                        (unsigned long long)lines.n_late);
  return status == HR_OK ? HR_OK : no_memory(record);
}

/* ---- All -------------------------------------------------------------------------------------------- */

static bool begins_with_brace(const struct hr__input *input) {
  struct hr_text text = hr__input_peek(input);
  while (text.length && is_space(*text.at)) text.at++, text.length--;
  return text.length && *text.at == '{';
}

static enum hr_status read_record(struct record *record, struct hr_notes *notes) {
  struct hr__input *input;
  enum hr_status status = hr__input_open(record->path, &input, record->error);
  if (status != HR_OK) return status;
  bool json = begins_with_brace(input);
  if (!json) status = read_lines(record, input, notes);
  hr__input_close(input);
  return json ? read_json(record) : status;
}

/* To levels of a pool: the highest count is all its nodes. */
static void scale(struct record *record, uint32_t n_nodes, uint32_t highest) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < record->count; i++) {
    struct hr_level_step step = record->steps[i];
    step.level = (uint32_t)((2 * (uint64_t)step.level * n_nodes + highest) / (2 * (uint64_t)highest));
    if (!kept || record->steps[kept - 1].level != step.level) record->steps[kept++] = step;
  }
  record->count = kept;
}

static enum hr_status settle(struct record *record, uint32_t n_nodes) {
  uint32_t highest = 0;
  if (record->count && record->steps[record->count - 1].at_us == record->end_us && record->count > 1) record->count--;
  for (uint32_t i = 0; i < record->count; i++)
    if (record->steps[i].level > highest) highest = record->steps[i].level;
  if (record->end_us <= 0)
    return hr_fail(record->error, HR_BAD_INPUT, "%s: the record covers no time; two lines at least are wanted",
                   record->path);
  if (highest == 0) return hr_fail(record->error, HR_BAD_INPUT, "%s: the record has no node at any time", record->path);
  scale(record, n_nodes, highest);
  return HR_OK;
}

enum hr_status hr__spot_levels_read(const char *path, uint32_t n_nodes, struct hr__spot_levels *levels,
                                    struct hr_notes *notes, struct hr_error *error) {
  struct record record = {.path = path, .error = error};
  enum hr_status status = read_record(&record, notes);
  if (status == HR_OK) status = settle(&record, n_nodes);
  if (status != HR_OK) {
    free(record.steps);
    return status;
  }
  *levels = (struct hr__spot_levels){record.steps, record.count, record.end_us};
  return HR_OK;
}
