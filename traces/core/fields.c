/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fields of jobs: parsers of numbers, dates and other values, and the columns of a trace.
 *
 * Values are numbers, times, words from fixed lists, and texts. Parsers are called for every field of every row, so
 * they allocate no memory and read only the bytes of the field. Errors are constant texts, because bad rows are counted
 * by error text.
 *
 * A trace has one array for each field that some job has; a record has one member for each field. Both are generated
 * from the table in headroom/job_fields.h. In a trace, instants are relative to the first submit. In a record, they are
 * on the clock of the input.
 *
 * Invariant: a value is valid in a column if and only if hr_job_record_fault() accepts it in a record.
 */

#include "traces/core/fields.h"

#include "headroom/unstable/trace_tools.h"

#include <stdio.h>
#include <string.h>

/* ---- Numbers --------------------------------------------------------------------------------------- */

/* Parses a number as digits * 10^exponent. The digits must fit in 64 bits, so 19 or 20 digits are stored; a flag
   records whether later digits other than 0 were dropped. The result is scaled in 128-bit integers, so 0.1 s is exactly
   100,000 us. */

__extension__ typedef unsigned __int128 wide;

struct decimal {
  uint64_t digits;
  int exponent;
  bool dropped; /* some digit that was not stored is not 0 */
};

enum { MAX_EXPONENT = 100000, DIGITS_OF_WIDE = 38 };

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* Appends digits to `number` and returns the end of the digits. `step` is subtracted from the exponent for each
   digit: 0 before the decimal point, 1 after it. */
static const char *parse_digits(struct decimal *number, const char *at, const char *end, int step) {
  const uint64_t full = (UINT64_MAX - 9) / 10;
  for (; at < end && is_digit(*at); at++) {
    unsigned digit = (unsigned)(*at - '0');
    if (number->digits <= full) {
      number->digits = number->digits * 10 + digit;
      number->exponent -= step;
    } else {
      number->dropped = number->dropped || digit;
      number->exponent += 1 - step;
    }
  }
  return at;
}

/* Parses the exponent after `e` and returns the end of its digits. Returns NULL if `e` or its sign ends the text. */
static const char *parse_exponent(struct decimal *number, const char *at, const char *end) {
  bool negative = at < end && *at == '-';
  if (at < end && (*at == '-' || *at == '+')) at++;
  if (at == end) return NULL;
  int exponent = 0;
  for (; at < end && is_digit(*at); at++)
    if (exponent < MAX_EXPONENT) exponent = exponent * 10 + (*at - '0');
  number->exponent += negative ? -exponent : exponent;
  return at;
}

/* Parses a number without a sign. Returns false if the text is not a number. */
static bool read_decimal(struct decimal *number, const char *at, const char *end) {
  const char *whole = at;
  at = parse_digits(number, at, end, 0);
  bool any = at > whole;
  if (at < end && *at == '.') {
    const char *fraction = ++at;
    at = parse_digits(number, at, end, 1);
    any = any || at > fraction;
  }
  if (any && at < end && (*at == 'e' || *at == 'E')) at = parse_exponent(number, at + 1, end);
  return any && at == end;
}

static enum hr__number_fault scale_down(const struct decimal *number, wide product, int exponent,
                                        const struct hr__number_rule *rule, uint64_t *value) {
  wide divisor = 1;
  for (int i = 0; i < -exponent && i < DIGITS_OF_WIDE; i++) divisor *= 10;
  /* A product below 2^128 is below 3.5 x 10^38. Divided by 10^39 or more, it is below 0.5 and is rounded to 0. */
  wide quotient = exponent < -DIGITS_OF_WIDE ? 0 : product / divisor;
  wide rest = exponent < -DIGITS_OF_WIDE ? 1 : product % divisor;
  if (rule->whole && (rest || number->dropped)) return HR__NUMBER_NOT_WHOLE;
  if (exponent >= -DIGITS_OF_WIDE && rest >= divisor - rest) quotient++;
  if (quotient > rule->max) return HR__NUMBER_TOO_LARGE;
  *value = (uint64_t)quotient;
  return HR__NUMBER_FINE;
}

static enum hr__number_fault scale(const struct decimal *number, const struct hr__number_rule *rule, uint64_t *value) {
  *value = 0;
  if (number->digits == 0) return HR__NUMBER_FINE;
  uint64_t factor = rule->factor;
  int exponent = number->exponent;
  for (; exponent < 0 && factor % 10 == 0; exponent++) factor /= 10;
  wide product = (wide)number->digits * factor;
  if (exponent < 0) return scale_down(number, product, exponent, rule, value);
  for (; exponent > 0 && product <= rule->max; exponent--) product *= 10;
  if (product > rule->max) return HR__NUMBER_TOO_LARGE;
  if (rule->whole && number->dropped) return HR__NUMBER_NOT_WHOLE;
  *value = (uint64_t)product;
  return HR__NUMBER_FINE;
}

enum { PLAIN_DIGITS = 18 }; /* numbers with at most 18 digits fit in 64 bits */

/* Fast path for numbers with at most PLAIN_DIGITS characters, without sign and exponent. If the factor of the unit ends
   with z zeros, the number may have at most z decimals. Returns false for all other texts and for results above the
   maximum. */
static bool parse_plain(struct hr_text text, const struct hr__number_rule *rule, uint64_t *value) {
  const char *at = text.at, *end = text.at + text.length;
  if (text.length > PLAIN_DIGITS) return false;
  uint64_t digits = 0, factor = rule->factor;
  for (; at < end && is_digit(*at); at++) digits = digits * 10 + (uint64_t)(*at - '0');
  if (at == text.at) return false;
  if (at < end && *at == '.')
    for (at++; at < end && is_digit(*at) && factor % 10 == 0; at++) {
      digits = digits * 10 + (uint64_t)(*at - '0');
      factor /= 10;
    }
  return at == end && !__builtin_mul_overflow(digits, factor, value) && *value <= rule->max;
}

enum hr__number_fault hr__number_parse(struct hr_text text, const struct hr__number_rule *rule, uint64_t *value) {
  if (text.length == 0) return HR__NUMBER_BAD; /* `at` may be NULL */
  if (parse_plain(text, rule, value)) return HR__NUMBER_FINE;
  const char *at = text.at, *end = text.at + text.length;
  bool negative = at < end && *at == '-';
  if (at < end && (*at == '-' || *at == '+')) at++;
  struct decimal number = {0};
  if (!read_decimal(&number, at, end)) return HR__NUMBER_BAD;
  if (negative && number.digits) return HR__NUMBER_NEGATIVE;
  return scale(&number, rule, value);
}

bool hr__integer_parse(struct hr_text text, int64_t *value) {
  const char *at = text.at, *end = text.at + text.length;
  bool negative = at < end && *at == '-';
  at += negative;
  if (at == end || end - at > 19) return false;
  if (*at == '0' && (end - at > 1 || negative)) return false;
  uint64_t magnitude = 0; /* 19 digits always fit */
  for (; at < end; at++) {
    if (!is_digit(*at)) return false;
    magnitude = magnitude * 10 + (uint64_t)(*at - '0');
  }
  if (magnitude > (uint64_t)INT64_MAX) return false;
  *value = negative ? -(int64_t)magnitude : (int64_t)magnitude;
  return true;
}

enum { MAX_QUOTED = 60 };

const char *hr__quote(struct hr_text text, char buffer[HR__QUOTE_BYTES]) {
  char *to = buffer;
  for (size_t i = 0; i < text.length && i < MAX_QUOTED; i++) {
    unsigned char c = (unsigned char)text.at[i];
    if (c >= ' ' && c < 0x7F)
      *to++ = (char)c;
    else
      to += sprintf(to, "\\x%02X", c);
  }
  strcpy(to, text.length > MAX_QUOTED ? "..." : "");
  return buffer;
}

/* ---- Dates ----------------------------------------------------------------------------------------- */

/*
 * Parses and formats dates, parses times and durations as users write them in options, and adds the note on dates
 * without a zone.
 *
 * Dates use the proleptic Gregorian calendar in integer arithmetic. The functions of the C library are not used because
 * their results depend on the time zone of the machine. A duration is a list of decimal numbers with units ("1d12h")
 * and is computed in integers.
 */

struct cursor {
  const char *at, *end;
};

struct moment {
  int year, month, day, hour, minute, second;
  int64_t fraction_us;
  int offset_minutes; /* east of UTC */
  bool zoned;
};

static bool accept(struct cursor *cursor, char expected) {
  if (cursor->at == cursor->end || *cursor->at != expected) return false;
  cursor->at++;
  return true;
}

static bool next_is_digit(const struct cursor *cursor) {
  return cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9';
}

static bool parse_number(struct cursor *cursor, int n_digits, int min, int max, int *value) {
  *value = 0;
  for (int i = 0; i < n_digits; i++) {
    if (!next_is_digit(cursor)) return false;
    *value = *value * 10 + (*cursor->at++ - '0');
  }
  return *value >= min && *value <= max;
}

static bool is_leap(int year) {
  return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int days_in_month(int year, int month) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return days[month - 1] + (month == 2 && is_leap(year));
}

static bool parse_day(struct cursor *cursor, struct moment *moment) {
  return parse_number(cursor, 4, 1, 9999, &moment->year) && accept(cursor, '-') &&
         parse_number(cursor, 2, 1, 12, &moment->month) && accept(cursor, '-') &&
         parse_number(cursor, 2, 1, days_in_month(moment->year, moment->month), &moment->day);
}

/* Parses the digits after the decimal point as microseconds. The seventh digit is rounded half up. */
static bool parse_fraction(struct cursor *cursor, int64_t *us) {
  if (!next_is_digit(cursor)) return false;
  int64_t unit = HR_SECOND_US;
  for (; next_is_digit(cursor); cursor->at++) {
    int digit = *cursor->at - '0';
    if (unit == 1 && digit >= 5) ++*us;
    unit /= 10;
    *us += digit * unit;
  }
  return true;
}

static bool parse_clock(struct cursor *cursor, struct moment *moment) {
  if (!parse_number(cursor, 2, 0, 23, &moment->hour) || !accept(cursor, ':')) return false;
  if (!parse_number(cursor, 2, 0, 59, &moment->minute)) return false;
  if (!accept(cursor, ':')) return true;
  if (!parse_number(cursor, 2, 0, 59, &moment->second)) return false;
  return !accept(cursor, '.') || parse_fraction(cursor, &moment->fraction_us);
}

static bool parse_zone(struct cursor *cursor, struct moment *moment) {
  moment->zoned = true;
  if (accept(cursor, 'Z') || accept(cursor, 'z')) return true;
  bool west = cursor->at < cursor->end && *cursor->at == '-';
  if (!west && !accept(cursor, '+')) return false;
  if (west) accept(cursor, '-');
  int hours, minutes = 0;
  if (!parse_number(cursor, 2, 0, 23, &hours)) return false;
  bool colon = accept(cursor, ':');
  if ((colon || cursor->at < cursor->end) && !parse_number(cursor, 2, 0, 59, &minutes)) return false;
  moment->offset_minutes = (west ? -1 : 1) * (hours * 60 + minutes);
  return true;
}

static int64_t days_since_1970(const struct moment *moment) {
  int64_t before = moment->year - 1;
  int64_t days = before * 365 + before / 4 - before / 100 + before / 400 - 719162;
  for (int month = 1; month < moment->month; month++) days += days_in_month(moment->year, month);
  return days + moment->day - 1;
}

static int64_t moment_us(const struct moment *moment) {
  int64_t minutes = (days_since_1970(moment) * 24 + moment->hour) * 60 + moment->minute - moment->offset_minutes;
  return (minutes * 60 + moment->second) * HR_SECOND_US + moment->fraction_us;
}

bool hr__date_parse(struct hr_text text, int64_t *us, bool *zoned) {
  struct cursor cursor = {text.at, text.at + text.length};
  struct moment moment = {0};
  if (!parse_day(&cursor, &moment)) return false;
  if (cursor.at < cursor.end) {
    if (!accept(&cursor, 'T') && !accept(&cursor, 't') && !accept(&cursor, ' ')) return false;
    if (!parse_clock(&cursor, &moment)) return false;
    if (cursor.at < cursor.end && !parse_zone(&cursor, &moment)) return false;
  }
  *us = moment_us(&moment);
  *zoned = moment.zoned;
  return cursor.at == cursor.end;
}

/* ---- Dates: writing -------------------------------------------------------------------------------- */

static char *put_digits(char *at, int64_t value, int n_digits) {
  for (int i = n_digits - 1; i >= 0; i--, value /= 10) at[i] = (char)('0' + value % 10);
  return at + n_digits;
}

/* Returns the year of the day that is `days` days after 1970-01-01. The search goes through consecutive years and
   starts at a year that is never too late. */
static int64_t year_of(int64_t days) {
  struct moment moment = {.year = (int)(days / 366) + 1970 - 6, .month = 1, .day = 1};
  for (;; moment.year++) {
    struct moment next = {.year = moment.year + 1, .month = 1, .day = 1};
    if (days_since_1970(&next) > days) return moment.year;
  }
}

static char *put_day(char *at, int64_t days) {
  struct moment moment = {.year = (int)year_of(days), .month = 1, .day = 1};
  int64_t left = days - days_since_1970(&moment);
  while (left >= days_in_month(moment.year, moment.month)) left -= days_in_month(moment.year, moment.month++);
  at = put_digits(at, moment.year, 4);
  *at++ = '-';
  at = put_digits(at, moment.month, 2);
  *at++ = '-';
  return put_digits(at, left + 1, 2);
}

static char *put_clock(char *at, int64_t us) {
  int64_t second = us / HR_SECOND_US, fraction = us % HR_SECOND_US;
  at = put_digits(at, second / 3600, 2);
  *at++ = ':';
  at = put_digits(at, second / 60 % 60, 2);
  *at++ = ':';
  at = put_digits(at, second % 60, 2);
  if (!fraction) return at;
  *at++ = '.';
  at = put_digits(at, fraction, 6);
  while (at[-1] == '0') at--;
  return at;
}

char *hr__date_put(char *at, int64_t us, bool zoned) {
  static const int64_t day_us = INT64_C(86400) * HR_SECOND_US;
  const struct moment first = {.year = 1, .month = 1, .day = 1}, beyond = {.year = 10000, .month = 1, .day = 1};
  int64_t days = us / day_us - (us % day_us < 0);
  if (days < days_since_1970(&first) || days >= days_since_1970(&beyond)) return NULL;
  at = put_day(at, days);
  *at++ = 'T';
  at = put_clock(at, us - days * day_us);
  if (zoned) *at++ = 'Z';
  return at;
}

/* Returns the length of the unit at `*at` in microseconds and moves `*at` past the unit. Returns 0 if no
   unit begins at `*at`. If `alone` is set, the end of the text also counts as a unit, and it means seconds. */
static int64_t parse_unit(const char **at, bool alone) {
  static const struct {
    char letter;
    int64_t us;
  } units[] = {{'w', 7 * 86400 * HR_SECOND_US},
               {'d', 86400 * HR_SECOND_US},
               {'h', 3600 * HR_SECOND_US},
               {'m', 60 * HR_SECOND_US},
               {'s', HR_SECOND_US}};
  if (**at == '\0') return alone ? HR_SECOND_US : 0;
  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    if (**at != units[i].letter) continue;
    ++*at;
    return units[i].us;
  }
  return 0;
}

/* Parses a number with up to six decimals. `*value` is in millionths. */
static bool parse_millionths(const char **at, int64_t *value) {
  int64_t unit = HR_SECOND_US;
  const char *begin = *at;
  *value = 0;
  for (; **at >= '0' && **at <= '9'; ++*at) {
    if (*value > HR_MAX_INPUT_US / 10) return false;
    *value = *value * 10 + (**at - '0') * HR_SECOND_US;
  }
  if (*at == begin || **at != '.') return *at > begin;
  for (++*at; **at >= '0' && **at <= '9' && unit > 1; ++*at) {
    unit /= 10;
    *value += (**at - '0') * unit;
  }
  return unit < HR_SECOND_US;
}

/* Parses "1d12h", "90" or "1.5h" as microseconds. Returns false if the text is not a duration. */
static bool parse_span(const char *text, int64_t *us) {
  const char *begin = text;
  *us = 0;
  do {
    bool alone = text == begin;
    int64_t millionths, unit_us, part_us;
    if (!parse_millionths(&text, &millionths)) return false;
    unit_us = parse_unit(&text, alone);
    if (!unit_us || __builtin_mul_overflow(millionths, unit_us / HR_SECOND_US, &part_us)) return false;
    if (part_us > HR_MAX_INPUT_US - *us) return false;
    *us += part_us;
  } while (*text);
  return true;
}

enum hr_status hr_span_parse(const char *option, const char *text, bool may_be_negative, int64_t *us,
                             struct hr_error *error) {
  bool negative = may_be_negative && *text == '-';
  if (!parse_span(text + negative, us))
    return hr_fail(
        error, HR_BAD_INPUT,
        "--%s %.60s: expected a duration like 90 (seconds), 45m, 36h, 2d, 1w or 1d12h, of at most 100000000000 s",
        option, text);
  if (negative) *us = -*us;
  return HR_OK;
}

/* ---- Dates: local dates ---------------------------------------------------------------------------- */

enum hr_status hr_trace_builder_note_local_dates(struct hr_trace_builder *builder) {
  return hr_notes_add(hr_trace_builder_notes(builder), "%s", HR__LOCAL_DATES_NOTE);
}

bool hr_trace_has_local_dates(const struct hr_trace *trace) {
  for (size_t i = 0; trace->dated && i < trace->notes.count; i++)
    if (strcmp(trace->notes.text[i], HR__LOCAL_DATES_NOTE) == 0) return true;
  return false;
}

/* ---- Dates: instants ------------------------------------------------------------------------------- */

static enum hr_status wrong_clock(const struct hr_trace *trace, const char *option, const char *text,
                                  struct hr_error *error) {
  return hr_fail(error, HR_BAD_INPUT,
                 "--%s %.60s: the times of %s are %s; expected %s, or a time after the first submit, like 2d", option,
                 text, trace->source, trace->dated ? "dates" : "seconds without dates",
                 trace->dated ? "a date, like 2026-11-21T08:30" : "@SECONDS on the clock of the trace");
}

static bool is_date(const char *text) {
  return strlen(text) >= 10 && text[4] == '-' && text[7] == '-';
}

enum hr_status hr_trace_time_parse(const struct hr_trace *trace, const char *option, const char *text, int64_t *us,
                                   struct hr_error *error) {
  bool date = is_date(text), clock = *text == '@', zoned = false;
  if (!date && !clock) return hr_span_parse(option, text, false, us, error);
  if (date != trace->dated) return wrong_clock(trace, option, text, error);
  if (date && !hr__date_parse(hr__text_make(text), us, &zoned))
    return hr_fail(error, HR_BAD_INPUT, "--%s %.60s: not a valid date; expected a date like 2026-11-21T08:30", option,
                   text);
  if (date && zoned && hr_trace_has_local_dates(trace))
    return hr_fail(error, HR_BAD_INPUT, "--%s %.60s: the dates of %s have no time zone; remove the zone", option, text,
                   trace->source);
  if (clock && !parse_span(text + 1, us))
    return hr_fail(error, HR_BAD_INPUT, "--%s %.60s: expected a number of seconds after '@'", option, text);
  *us -= trace->origin_us;
  return HR_OK;
}

/* ---- Values ---------------------------------------------------------------------------------------- */

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

/* ---- Words ----------------------------------------------------------------------------------------- */

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

/* ---- Texts ----------------------------------------------------------------------------------------- */

static const char *read_text(struct hr__text_store *texts, struct hr_text text, void *member) {
  struct hr_text kept = {texts->at + texts->used, text.length};
  memcpy(texts->at + texts->used, text.at, text.length);
  texts->used += text.length;
  memcpy(member, &kept, sizeof kept);
  return NULL;
}

/* Converts " A100 | H100" to "A100|H100", so that equal lists have equal texts. */
static const char *read_list(struct hr__text_store *texts, struct hr_text text, void *member) {
  char *start = texts->at + texts->used, *to = start;
  const char *end = text.at + text.length;
  for (const char *at = text.at; at <= end;) {
    const char *bar = memchr(at, '|', (size_t)(end - at));
    const char *stop = bar ? bar : end;
    struct hr_text item = hr__text_trim((struct hr_text){at, (size_t)(stop - at)}, " \t");
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

/* ---- Columns of a trace ---------------------------------------------------------------------------- */

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
  /* Instants are relative to the first submit, so they range from 0 to max - min. The first submit of the input may be
     at `min`, and another instant at `max`. */
  const uint64_t min = column->kind == HR__INSTANT ? 0 : column->min, span = column->max - column->min;
  bool may_be_unknown = !column->required && column->kind != HR__GPU_BOUND && column->unknown - column->min > span;
  /* an unknown value that is out of bounds equals min - 1, so the range is contiguous */
  return may_be_unknown ? (struct hr__value_range){min - 1, span + 1} : (struct hr__value_range){min, span};
}

/* ---- Records --------------------------------------------------------------------------------------- */

void hr_job_record_init(struct hr_job_record *record) {
  /* clears the padding of the struct, too, because records are compared with memcmp() */
  memset(record, 0, sizeof *record);
#define SET_UNKNOWN(id, member, type, record_type, kind, key, column, required, unknown, ...) record->member = unknown;
  HR_JOB_COLUMN_TABLE(SET_UNKNOWN, HR_NO_FIELD)
#undef SET_UNKNOWN
}

static struct hr_text name_text(const struct hr_names *names, uint32_t number) {
  if (number == HR_NONE) return (struct hr_text){NULL, 0};
  return hr__text_make(names->text[number]);
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
  record->id = hr__text_make(id);
}

/* ---- Validation ------------------------------------------------------------------------------------ */

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
    if (hr__text_is(name, lines[i])) return true;
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
