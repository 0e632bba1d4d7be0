/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses a number as digits x 10^exponent with up to 19 significant digits. A flag records that non-zero digits
   after these were dropped. The result is scaled in 128-bit integers, so 0.1 s is exactly 100,000 us. */

#include "traces/core/numbers.h"

#include "headroom/unstable/trace_tools.h"

#include <stdio.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

struct decimal {
  uint64_t digits;
  int exponent;
  bool dropped; /* some digits after the significant ones were not 0 */
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

/* Parses the exponent after `e` and returns its end. Returns NULL if nothing follows `e`. */
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

/* Fast path for plain numbers with few decimals; it needs no division. Returns false for all other texts. */
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

/* ---- Dates --------------------------------------------------------------------------------------------- */

/*
 * Parses dates, times and durations as users write them in options, and adds the note on dates without a zone.
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

/* ---- Writing ---------------------------------------------------------------------------------------- */

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

/* ---- Local dates ------------------------------------------------------------------------------------- */

enum hr_status hr_trace_builder_note_local_dates(struct hr_trace_builder *builder) {
  return hr_notes_add(hr_trace_builder_notes(builder), "%s", HR__LOCAL_DATES_NOTE);
}

bool hr_trace_has_local_dates(const struct hr_trace *trace) {
  for (size_t i = 0; trace->dated && i < trace->notes.count; i++)
    if (strcmp(trace->notes.text[i], HR__LOCAL_DATES_NOTE) == 0) return true;
  return false;
}

/* ---- Instants --------------------------------------------------------------------------------------- */

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
  if (date && !hr__date_parse((struct hr_text){text, strlen(text)}, us, &zoned))
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
