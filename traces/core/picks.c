/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fields of jobs from any column of a table. The map of columns has two kinds of entries. An entry without a pattern
 * copies a column to a field. An entry with a pattern is a rule: it sets a field to a fixed value if the column matches
 * a POSIX extended regular expression. Rules precede columns, and the first rule that matches applies. A column of
 * classes may have other words, such as the names of Slurm partitions; these are counted, and a note lists some.
 */

#include "traces/core/picks.h"

#include "traces/core/values.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
