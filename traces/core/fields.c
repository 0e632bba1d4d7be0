/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fields of jobs: parsers of values, and the columns of a trace.
 *
 * Values are numbers, times, words from fixed lists, and texts. Parsers are called for every field of every row, so
 * they allocate no memory and read only the bytes of the field. Errors are constant texts, because bad rows are counted
 * by error text.
 *
 * A trace has one array for each field that some job has; a record has one member for each field. Both are generated
 * from the table in headroom/job_fields.h. Instants are relative to the first submit in a trace, and on the clock of
 * the input in a record.
 *
 * Invariant: a value is valid in a column if and only if hr_job_record_fault() accepts it in a record.
 */

#include "traces/core/fields.h"

#include "traces/core/numbers.h"

#include <string.h>

/* ---- Values -------------------------------------------------------------------------------------------- */

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

/* ---- Columns of a trace -------------------------------------------------------------------------------- */

const struct hr__column_type hr__columns[HR__N_COLUMNS] = {
#define VALUE_COLUMN(id, field, type, record_type, value_kind, key, column, must_exist, blank, low, high, ...)         \
  [HR__COLUMN_##id] = {.name = #field,                                                                                 \
                       .kind = HR__##value_kind,                                                                       \
                       .width = sizeof(type),                                                                          \
                       .required = must_exist,                                                                         \
                       .at = offsetof(struct hr_trace, field),                                                         \
                       .unknown = (uint64_t)(blank),                                                                   \
                       .min = (uint64_t)(low),                                                                         \
                       .max = (uint64_t)(high)},
#define NAME_COLUMN(id, field, value_kind, key, column, section, set_id, set, ...)                                     \
  [HR__COLUMN_##id] = {.name = #field,                                                                                 \
                       .kind = HR__##value_kind,                                                                       \
                       .width = sizeof(uint32_t),                                                                      \
                       .has_names = true,                                                                              \
                       .at = offsetof(struct hr_trace, field),                                                         \
                       .names = offsetof(struct hr_trace, set),                                                        \
                       .unknown = HR_NONE},
    HR_JOB_COLUMN_TABLE(VALUE_COLUMN, NAME_COLUMN)
#undef VALUE_COLUMN
#undef NAME_COLUMN
        /* ids that are numbers; a builder stores texts in the same column */
        [HR__COLUMN_ID] = {.name = "id_number",
                           .kind = HR__TEXT,
                           .width = sizeof(int64_t),
                           .at = offsetof(struct hr_trace, id_number),
                           .max = UINT64_MAX}};

const struct hr__names_type hr__name_sets[HR__N_NAMES] = {
#define NAME_SET(id, member, kind, key, column, section, set_id, set, ...)                                             \
  [HR__##set_id] = {#set, offsetof(struct hr_trace, set)},
    HR_JOB_COLUMN_TABLE(HR_NO_FIELD, NAME_SET)
#undef NAME_SET
};

struct hr__value_range hr__column_range(const struct hr_trace *trace, enum hr__column_id id) {
  const struct hr__column_type *column = &hr__columns[id];
  if (column->has_names) {
    const struct hr_names *names = (const void *)((const char *)trace + column->names);
    return (struct hr__value_range){HR_NONE, names->count};
  }
  /* Instants are relative to the first submit: it may be at the minimum, and another instant at the maximum. */
  const uint64_t min = column->kind == HR__INSTANT ? 0 : column->min, span = column->max - column->min;
  bool may_be_unknown = !column->required && column->kind != HR__GPU_BOUND && column->unknown - column->min > span;
  /* unknown values that are out of bounds are min - 1, so the range is contiguous */
  return may_be_unknown ? (struct hr__value_range){min - 1, span + 1} : (struct hr__value_range){min, span};
}

/* ---- Records ---------------------------------------------------------------------------------------- */

void hr_job_record_init(struct hr_job_record *record) {
  /* clears the padding of the struct, too, because records are compared with memcmp() */
  memset(record, 0, sizeof *record);
#define SET_UNKNOWN(id, member, type, record_type, kind, key, column, required, unknown, ...) record->member = unknown;
  HR_JOB_COLUMN_TABLE(SET_UNKNOWN, HR_NO_FIELD)
#undef SET_UNKNOWN
}

static struct hr_text name_text(const struct hr_names *names, uint32_t number) {
  if (number == HR_NONE) return (struct hr_text){NULL, 0};
  return (struct hr_text){names->text[number], strlen(names->text[number])};
}

/* Converts an instant from the clock of the trace to the clock of the input; INT64_MIN if it is unknown. */
static int64_t instant_us(const struct hr_trace *trace, int64_t us) {
  return us == HR_UNKNOWN_US ? INT64_MIN : us + trace->origin_us;
}

void hr_trace_job_record(const struct hr_trace *trace, hr_job job, struct hr_job_record *record, char *id_buffer) {
  const uint32_t at = job.id;
  hr_job_record_init(record);
#define TAKE(id, member, type, record_type, kind, ...)                                                                 \
  if (trace->member)                                                                                                   \
    record->member = HR__##kind == HR__INSTANT ? (record_type)instant_us(trace, (int64_t)trace->member[at])            \
                                               : (record_type)trace->member[at];
#define TAKE_NAME(id, member, kind, key, column, section, set_id, set, ...)                                            \
  if (trace->member) record->member = name_text(&trace->set, trace->member[at]);
  HR_JOB_COLUMN_TABLE(TAKE, TAKE_NAME)
#undef TAKE
#undef TAKE_NAME
  const char *id = hr_trace_job_id(trace, job, id_buffer);
  record->id = (struct hr_text){id, strlen(id)};
}

/* ---- Validation ------------------------------------------------------------------------------------- */

/* Returns the fault of the first value that is out of bounds; NULL if all values are within bounds. */
static const char *bounds_fault(const struct hr_job_record *record) {
#define CHECK(id, member, type, record_type, kind, key, column, required, unknown, min, max, section, fault, ...)      \
  if ((uint64_t)record->member - (uint64_t)(min) > (uint64_t)(max) - (uint64_t)(min) &&                                \
      (required || (uint64_t)record->member != (uint64_t)(unknown)))                                                   \
    return fault;
  HR_JOB_COLUMN_TABLE(CHECK, HR_NO_FIELD)
#undef CHECK
  return NULL;
}

/* Returns true if the name is reserved: reports use it for cost lines that belong to no tenant. */
static bool is_reserved_name(struct hr_text name) {
  static const char *const lines[] = {"(idle)", "(shared)", "(services)"};
  for (size_t i = 0; name.length && name.at[0] == '(' && i < sizeof lines / sizeof *lines; i++)
    if (name.length == strlen(lines[i]) && memcmp(name.at, lines[i], name.length) == 0) return true;
  return false;
}

const char *hr_job_record_fault(const struct hr_job_record *record) {
  if (is_reserved_name(record->tenant)) return "the tenant's name is reserved for cost lines without a tenant";
  const char *fault = bounds_fault(record);
  if (fault) return fault;
  if (record->gpus % record->tasks) return "'gpus', which counts all tasks together, is not a multiple of 'tasks'";
  if (record->min_gpus != HR_NONE && record->min_gpus > record->gpus) return "'min_gpus' is more than 'gpus'";
  if (record->max_gpus < record->gpus) return "'max_gpus' is less than 'gpus'";
  if (record->within == HR_TIER_ANY && record->within_wait_us != HR_UNKNOWN_US)
    return "'within_wait_s' has no effect without 'within'";
  if (record->recorded_start_us != INT64_MIN && record->recorded_start_us < record->submit_us)
    return "the recorded start is before the submit time";
  if (record->deadline_us != INT64_MIN && record->deadline_us < record->submit_us)
    return "the deadline is before the submit time";
  return NULL;
}
