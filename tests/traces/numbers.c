/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parsing decimal numbers into integers of a smaller unit. */
#include "harness.h"

#include "traces/core/fields.h"

#include <string.h>

static const struct hr__number_rule seconds = {1000000, (uint64_t)HR_MAX_INPUT_US, false};
static const struct hr__number_rule whole = {1, 4000000, true};
static const struct hr__number_rule gib = {1024, 1 << 30, false};

static enum hr__number_fault parse(const char *text, const struct hr__number_rule *rule, uint64_t *value) {
  *value = 12345;
  return hr__number_parse((struct hr_text){text, strlen(text)}, rule, value);
}

static bool parses_to(const char *text, const struct hr__number_rule *rule, uint64_t wanted) {
  uint64_t value;
  enum hr__number_fault fault = parse(text, rule, &value);
  if (fault == HR__NUMBER_FINE && value == wanted) return true;
  fprintf(stderr, "\n    '%s' gives fault %d, value %llu\n", text, (int)fault, (unsigned long long)value);
  return false;
}

static bool fails_with(const char *text, const struct hr__number_rule *rule, enum hr__number_fault wanted) {
  uint64_t value;
  return parse(text, rule, &value) == wanted;
}

static void seconds_become_microseconds(void) {
  CU_ASSERT(parses_to("0", &seconds, 0));
  CU_ASSERT(parses_to("12", &seconds, 12000000));
  CU_ASSERT(parses_to("0.1", &seconds, 100000));
  CU_ASSERT(parses_to("651507.0", &seconds, 651507000000));
  CU_ASSERT(parses_to(".5", &seconds, 500000));
  CU_ASSERT(parses_to("5.", &seconds, 5000000));
  CU_ASSERT(parses_to("+7", &seconds, 7000000));
  CU_ASSERT(parses_to("007", &seconds, 7000000));
  CU_ASSERT(parses_to("-0.0", &seconds, 0));
  CU_ASSERT(parses_to("100000000000", &seconds, (uint64_t)HR_MAX_INPUT_US));
}

static void the_seventh_digit_rounds_half_up(void) {
  CU_ASSERT(parses_to("1.0000004", &seconds, 1000000));
  CU_ASSERT(parses_to("1.0000005", &seconds, 1000001));
  CU_ASSERT(parses_to("1.00000049999999999999999999999999", &seconds, 1000000));
  CU_ASSERT(parses_to("0.9999999", &seconds, 1000000));
  CU_ASSERT(parses_to("0.00000000000000000000000000000000000000000000000001", &seconds, 0));
}

static void exponents_scale(void) {
  CU_ASSERT(parses_to("1.5e3", &seconds, 1500000000));
  CU_ASSERT(parses_to("1E-3", &seconds, 1000));
  CU_ASSERT(parses_to("25e-1", &seconds, 2500000));
  CU_ASSERT(parses_to("0e999999999", &seconds, 0));
  CU_ASSERT(parses_to("1e-999999999", &seconds, 0));
  CU_ASSERT(fails_with("1e999999999", &seconds, HR__NUMBER_TOO_LARGE));
}

static void whole_numbers_may_be_written_with_a_point(void) {
  CU_ASSERT(parses_to("8", &whole, 8));
  CU_ASSERT(parses_to("8.0", &whole, 8));
  CU_ASSERT(parses_to("80e-1", &whole, 8));
  CU_ASSERT(fails_with("8.5", &whole, HR__NUMBER_NOT_WHOLE));
  CU_ASSERT(fails_with("8.00000000000000000000000000001", &whole, HR__NUMBER_NOT_WHOLE));
  CU_ASSERT(fails_with("1e-50", &whole, HR__NUMBER_NOT_WHOLE));
}

static void gib_become_mib(void) {
  CU_ASSERT(parses_to("16.5", &gib, 16896));
  CU_ASSERT(parses_to("0.3", &gib, 307));
  CU_ASSERT(parses_to("0.00048828125", &gib, 1));
  CU_ASSERT(parses_to("0.00048828124", &gib, 0));
}

static void out_of_range_values_are_reported(void) {
  CU_ASSERT(fails_with("100000000000.000001", &seconds, HR__NUMBER_TOO_LARGE));
  CU_ASSERT(fails_with("99999999999999999999999999999999999999", &seconds, HR__NUMBER_TOO_LARGE));
  CU_ASSERT(fails_with("18446744073709551616", &whole, HR__NUMBER_TOO_LARGE));
  CU_ASSERT(fails_with("4000001", &whole, HR__NUMBER_TOO_LARGE));
  CU_ASSERT(fails_with("-1", &whole, HR__NUMBER_NEGATIVE));
  CU_ASSERT(fails_with("-1e-30", &seconds, HR__NUMBER_NEGATIVE));
}

static void non_numeric_texts_are_rejected(void) {
  static const char *const bad[] = {"",      " ",     "nan", "NaN", "inf",   "-inf", "infinity", "0x10",
                                    "1,5",   "1_000", "1e",  "e5",  ".",     "+",    "-",        "--1",
                                    "1.2.3", "12s",   "1 2", " 1",  "1e+-2", "1e1.5"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CU_ASSERT(fails_with(bad[i], &seconds, HR__NUMBER_BAD));
}

static bool integer_is(const char *text, int64_t wanted) {
  int64_t value;
  return hr__integer_parse((struct hr_text){text, strlen(text)}, &value) && value == wanted;
}

static bool is_not_integer(const char *text) {
  int64_t value;
  return !hr__integer_parse((struct hr_text){text, strlen(text)}, &value);
}

static void only_canonical_integers_are_parsed(void) {
  CU_ASSERT(integer_is("0", 0));
  CU_ASSERT(integer_is("-17", -17));
  CU_ASSERT(integer_is("9223372036854775807", INT64_MAX));
  static const char *const other[] = {
      "", "-", "-0", "+1", "01", "1.0", "1e3", " 1", "9223372036854775808", "10000000000000000000", "abc"};
  for (size_t i = 0; i < sizeof other / sizeof *other; i++) CU_ASSERT(is_not_integer(other[i]));
}

TEST_MAIN("numbers", TEST(seconds_become_microseconds), TEST(the_seventh_digit_rounds_half_up), TEST(exponents_scale),
          TEST(whole_numbers_may_be_written_with_a_point), TEST(gib_become_mib), TEST(out_of_range_values_are_reported),
          TEST(non_numeric_texts_are_rejected), TEST(only_canonical_integers_are_parsed))
