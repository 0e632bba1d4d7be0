/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parsers of field values: numbers, times, words from fixed lists, and texts. They are called for every field of every
 * row, so they allocate no memory and read only the bytes of the field. Errors are constant texts, because bad rows
 * are counted by error text.
 */

#include "traces/core/values.h"

#include "traces/core/dates.h"
#include "traces/core/numbers.h"

#include <string.h>

struct number_kind {
  struct hr__number_rule rule;
  uint64_t min;
  size_t width;                      /* bytes of the member */
  const char *not_right, *too_large; /* errors, which complete a sentence after "is" */
};

static const struct number_kind number_kinds[] = {
#define NUMBER_KIND(kind, type, factor, min, max, whole, right, max_text)                                              \
  [kind] = {{factor, (uint64_t)(max), whole}, min, sizeof(type), "not " right, "more than " max_text},
    HR__NUMBER_KIND_TABLE(NUMBER_KIND)
#undef NUMBER_KIND
};

static const char with_comma[] = "not a number: write a decimal point instead of a comma, and no thousands separators";

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* Returns true if the text would be a number without its commas: "0,5", "1,000". */
static bool has_comma(struct hr_text text) {
  bool comma = false;
  for (size_t i = 0; i < text.length; i++) {
    bool between = i > 0 && i + 1 < text.length && is_digit(text.at[i - 1]) && is_digit(text.at[i + 1]);
    bool sign = i == 0 && (text.at[i] == '-' || text.at[i] == '+');
    if (!is_digit(text.at[i]) && !sign && !((text.at[i] == ',' || text.at[i] == '.') && between)) return false;
    comma = comma || text.at[i] == ',';
  }
  return comma;
}

static void store(void *member, size_t width, uint64_t value) {
  uint32_t narrow = (uint32_t)value;
  if (width == sizeof narrow)
    memcpy(member, &narrow, sizeof narrow);
  else
    memcpy(member, &value, sizeof value);
}

static const char *read_number(enum hr__kind kind, uint64_t unit_us, struct hr_text text, void *member) {
  const struct number_kind *number = &number_kinds[kind];
  const struct hr__number_rule *rule = &number->rule, in_unit = {unit_us, number->rule.max, false};
  if (kind == HR__DURATION) rule = &in_unit;
  uint64_t value = 0;
  enum hr__number_fault fault = hr__number_parse(text, rule, &value);
  if (fault == HR__NUMBER_TOO_LARGE) return number->too_large;
  if (fault == HR__NUMBER_BAD && has_comma(text)) return with_comma;
  if (fault != HR__NUMBER_FINE || value < number->min) return number->not_right;
  store(member, number->width, value);
  return NULL;
}

static const char *read_instant(struct hr__value_reader *reader, uint64_t unit_us, struct hr_text text, void *member) {
  const struct hr__number_rule rule = {unit_us, (uint64_t)HR_MAX_INPUT_US, false};
  uint64_t seconds_us = 0;
  int64_t us = 0;
  enum hr__clock clock = HR__CLOCK_SECONDS;
  bool zoned;
  enum hr__number_fault fault = hr__number_parse(text, &rule, &seconds_us);
  if (fault == HR__NUMBER_TOO_LARGE) return "more than 100000000000 s; for a column in ms, use --map submit=COLUMN(ms)";
  if (fault == HR__NUMBER_FINE)
    us = (int64_t)seconds_us;
  else if (fault == HR__NUMBER_BAD && hr__date_parse(text, &us, &zoned))
    clock = zoned ? HR__CLOCK_ZONED_DATES : HR__CLOCK_LOCAL_DATES;
  else if (fault == HR__NUMBER_BAD && has_comma(text))
    return with_comma;
  else
    return "not a number of seconds of at least 0, nor an ISO 8601 date like 2026-11-21T08:30:00Z";
  if (reader->clock == HR__CLOCK_UNKNOWN) reader->clock = clock;
  if (reader->clock != clock)
    return "not of the same kind as the previous times: a file must have only seconds, only dates with a zone, or only "
           "dates without one";
  memcpy(member, &us, sizeof us);
  return NULL;
}

static const char *read_priority(struct hr_text text, void *member) {
  const struct hr__number_rule rule = {1, INT32_MAX, true};
  bool negative = text.at[0] == '-';
  uint64_t magnitude = 0;
  struct hr_text unsigned_text = {text.at + negative, text.length - negative};
  bool signed_twice = negative && unsigned_text.length && (unsigned_text.at[0] == '-' || unsigned_text.at[0] == '+');
  if (signed_twice || hr__number_parse(unsigned_text, &rule, &magnitude) != HR__NUMBER_FINE)
    return "not a whole number from -2147483647 to 2147483647";
  int32_t value = negative ? -(int32_t)magnitude : (int32_t)magnitude;
  memcpy(member, &value, sizeof value);
  return NULL;
}

/* ---- Words ------------------------------------------------------------------------------------------ */

struct word {
  const char *text; /* in lower case, without `-`, `_` and spaces */
  uint8_t value;
};

static const struct word class_words[] = {
    {"training", HR_CLASS_TRAINING},       {"train", HR_CLASS_TRAINING},
    {"pretraining", HR_CLASS_TRAINING},    {"finetune", HR_CLASS_FINE_TUNE},
    {"finetuning", HR_CLASS_FINE_TUNE},    {"batchinference", HR_CLASS_BATCH_INFERENCE},
    {"inference", HR_CLASS_INFERENCE},     {"serving", HR_CLASS_INFERENCE},
    {"interactive", HR_CLASS_INTERACTIVE}, {"notebook", HR_CLASS_INTERACTIVE},
    {"dataprep", HR_CLASS_DATA_PREP},      {"preprocessing", HR_CLASS_DATA_PREP},
    {"unknown", HR_CLASS_UNKNOWN},         {NULL, 0}};

static const struct word status_words[] = {
    {"completed", HR_OUTCOME_COMPLETED}, {"complete", HR_OUTCOME_COMPLETED},  {"pass", HR_OUTCOME_COMPLETED},
    {"passed", HR_OUTCOME_COMPLETED},    {"succeeded", HR_OUTCOME_COMPLETED}, {"success", HR_OUTCOME_COMPLETED},
    {"failed", HR_OUTCOME_FAILED},       {"failure", HR_OUTCOME_FAILED},      {"nodefail", HR_OUTCOME_FAILED},
    {"timeout", HR_OUTCOME_FAILED},      {"outofmemory", HR_OUTCOME_FAILED},  {"cancelled", HR_OUTCOME_CANCELLED},
    {"canceled", HR_OUTCOME_CANCELLED},  {"killed", HR_OUTCOME_CANCELLED},    {"running", HR_OUTCOME_UNKNOWN},
    {"pending", HR_OUTCOME_UNKNOWN},     {"unknown", HR_OUTCOME_UNKNOWN},     {NULL, 0}};

static const struct word tier_words[] = {{"island", HR_TIER_ISLAND}, {"numa", HR_TIER_NUMA}, {"node", HR_TIER_NODE},
                                         {"rack", HR_TIER_RACK},     {"zone", HR_TIER_ZONE}, {NULL, 0}};

static const struct word boolean_words[] = {{"true", 1}, {"yes", 1}, {"1", 1}, {"false", 0},
                                            {"no", 0},   {"0", 0},   {NULL, 0}};

static bool same_word(struct hr_text text, const char *word) {
  for (size_t i = 0; i < text.length; i++) {
    char c = text.at[i];
    if (c == '-' || c == '_' || c == ' ') continue;
    if (c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
    if (c != *word++) return false;
  }
  return *word == '\0';
}

static const struct word *find_word(const struct word *words, struct hr_text text) {
  for (; words->text; words++)
    if (same_word(text, words->text)) return words;
  return NULL;
}

static const char *read_word(const struct word *words, struct hr_text text, void *member, const char *not_right) {
  const struct word *word = find_word(words, text);
  if (!word) return not_right;
  *(uint8_t *)member = word->value;
  return NULL;
}

static bool is_no_instant(struct hr_text text) {
  static const struct word words[] = {{"unknown", 0}, {"none", 0}, {"null", 0}, {"n/a", 0},
                                      {"nan", 0},     {"nat", 0},  {NULL, 0}};
  return find_word(words, text) != NULL;
}

/* Parses a boolean. Sets the bit `flag` of the member if the boolean equals `when`; otherwise clears the bit. Returns
   NULL, or the fault. */
static const char *read_flag(struct hr_text text, bool when, uint8_t flag, void *member) {
  const struct word *word = find_word(boolean_words, text);
  if (!word) return "not one of true, false, yes, no, 1, 0";
  uint8_t *flags = member;
  *flags = (uint8_t)(word->value == when ? *flags | flag : *flags & ~flag);
  return NULL;
}

/* ---- Texts ------------------------------------------------------------------------------------------ */

static const char *read_text(struct hr__text_store *texts, struct hr_text text, void *member) {
  struct hr_text kept = {texts->at + texts->used, text.length};
  memcpy(texts->at + texts->used, text.at, text.length);
  texts->used += text.length;
  memcpy(member, &kept, sizeof kept);
  return NULL;
}

static struct hr_text trim(struct hr_text text) {
  while (text.length && (*text.at == ' ' || *text.at == '\t')) {
    text.at++;
    text.length--;
  }
  while (text.length && (text.at[text.length - 1] == ' ' || text.at[text.length - 1] == '\t')) text.length--;
  return text;
}

/* Converts " A100 | H100" to "A100|H100", so that equal lists have equal texts. */
static const char *read_list(struct hr__text_store *texts, struct hr_text text, void *member) {
  char *start = texts->at + texts->used, *to = start;
  const char *end = text.at + text.length;
  for (const char *at = text.at; at <= end;) {
    const char *bar = memchr(at, '|', (size_t)(end - at));
    const char *stop = bar ? bar : end;
    struct hr_text item = trim((struct hr_text){at, (size_t)(stop - at)});
    if (!item.length) return "not a list of names separated by '|'";
    if (to > start) *to++ = '|';
    memcpy(to, item.at, item.length);
    to += item.length;
    at = stop + 1;
  }
  struct hr_text kept = {start, (size_t)(to - start)};
  texts->used += kept.length;
  memcpy(member, &kept, sizeof kept);
  return NULL;
}

const char *hr__value_read(struct hr__value_reader *reader, enum hr__kind kind, uint64_t unit_us, struct hr_text text,
                           void *member) {
  switch (kind) {
  case HR__INSTANT:
    return read_instant(reader, unit_us, text, member);
  case HR__INSTANT_OR_NONE:
    return is_no_instant(text) ? NULL : read_instant(reader, unit_us, text, member);
  case HR__PRIORITY:
    return read_priority(text, member);
  case HR__TEXT:
    return read_text(&reader->texts, text, member);
  case HR__LIST:
    return read_list(&reader->texts, text, member);
  case HR__CLASS:
    return read_word(class_words, text, member,
                     "not one of training, fine-tune, batch-inference, inference, interactive, data-prep, unknown");
  case HR__STATUS:
    return read_word(status_words, text, member, "not one of completed, failed, cancelled, running, pending, unknown");
  case HR__DEDICATED:
    return read_flag(text, true, HR_JOB_DEDICATED, member);
  case HR__INTERRUPTIBLE:
    return read_flag(text, false, HR_JOB_NOT_INTERRUPTIBLE, member);
  case HR__TIER:
    return read_word(tier_words, text, member, "not one of island, numa, node, rack, zone");
  default:
    return read_number(kind, unit_us, text, member);
  }
}
