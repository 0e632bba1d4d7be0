/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parses a number as digits x 10^exponent with up to 19 significant digits. A flag records that non-zero digits after
 * these were dropped. The result is scaled in 128-bit integers, so 0.1 s is exactly 100,000 us.
 */

#include "traces/core/numbers.h"

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
