/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers and strings as text. */

#include "base/text.h"
#include "harness.h"

#include <inttypes.h>
#include <string.h>

static void expect_text(const char *got, const char *wanted) {
  if (strcmp(got, wanted) != 0) printf("\n  '%s', wanted '%s'\n", got, wanted);
  CU_ASSERT_STRING_EQUAL(got, wanted);
}

static void expect_millionths(int64_t value, const char *wanted) {
  char buffer[HR__NUMBER_BYTES];
  *hr__put_millionths(buffer, value) = '\0';
  expect_text(buffer, wanted);
}

static void millionths_without_trailing_zeros(void) {
  expect_millionths(0, "0");
  expect_millionths(1, "0.000001");
  expect_millionths(1500000, "1.5");
  expect_millionths(10000000, "10");
  expect_millionths(-250000, "-0.25");
  expect_millionths(INT64_MAX, "9223372036854.775807");
  expect_millionths(INT64_MIN, "-9223372036854.775808");
}

static void thousandths_without_trailing_zeros(void) {
  char buffer[HR__NUMBER_BYTES];
  *hr__put_thousandths(buffer, 8000) = '\0';
  expect_text(buffer, "8");
  *hr__put_thousandths(buffer, 250) = '\0';
  expect_text(buffer, "0.25");
}

static void integers_match_printf(void) {
  static const int64_t values[] = {0, 1, -1, 9, 10, 99, 100, -12345, INT64_MAX, INT64_MIN};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    char buffer[HR__NUMBER_BYTES], wanted[HR__NUMBER_BYTES];
    *hr__put_i64(buffer, values[i]) = '\0';
    snprintf(wanted, sizeof wanted, "%" PRId64, values[i]);
    expect_text(buffer, wanted);
  }
  char buffer[HR__NUMBER_BYTES];
  *hr__put_u64(buffer, UINT64_MAX) = '\0';
  expect_text(buffer, "18446744073709551615");
}

static void decimals_are_shortest(void) {
  char buffer[HR__NUMBER_BYTES];
  expect_text(hr__decimal_text(0.1 + 0.2, buffer), "0.3");
  expect_text(hr__decimal_text(1.4999999999, buffer), "1.5");
  expect_text(hr__decimal_text(-0.5, buffer), "-0.5");
  expect_text(hr__decimal_text(0.0000001, buffer), "0");
  expect_text(hr__decimal_text(-0.0000001, buffer), "0");
  expect_text(hr__exact_text(0.1, buffer), "0.1");
  expect_text(hr__exact_text(0.1 + 0.2, buffer), "0.30000000000000004");
  expect_text(hr__exact_text(-1234.56789012345678, buffer), "-1234.567890123457");
  expect_text(hr__exact_text(1e22, buffer), "1e+22");
  expect_text(hr__exact_text(0, buffer), "0");
  expect_text(hr__decimal_text(5e15, buffer), "5000000000000000");
}

static void counts_with_thousands_separators(void) {
  char buffer[HR__NUMBER_BYTES];
  expect_text(hr__count_text(0, buffer), "0");
  expect_text(hr__count_text(999, buffer), "999");
  expect_text(hr__count_text(1000, buffer), "1,000");
  expect_text(hr__count_text(125303, buffer), "125,303");
  expect_text(hr__count_text(UINT64_MAX, buffer), "18,446,744,073,709,551,615");
  expect_text(hr__fixed_text(1234.5, 2, buffer), "1,234.50");
  expect_text(hr__fixed_text(0.996, 2, buffer), "1.00");
  expect_text(hr__fixed_text(12.4, 0, buffer), "12");
  expect_text(hr__fixed_text(-0.001, 2, buffer), "0.00");
}

static void amounts_are_rounded_once(void) {
  char buffer[HR__NUMBER_BYTES];
  expect_text(hr__usd_text(1234500000, buffer), "$1,234.50");
  expect_text(hr__usd_text(31772495000, buffer), "$31,772");
  expect_text(hr__usd_text(31772500000, buffer), "$31,773");
  expect_text(hr__usd_text(-31772495000, buffer), "-$31,772");
  expect_text(hr__usd_text(-4999, buffer), "$0.00");
}

static void durations_have_two_units(void) {
  static const struct {
    double seconds;
    const char *text;
  } cases[] = {{0, "0 s"},
               {0.004, "< 0.01 s"},
               {0.25, "0.25 s"},
               {1.5, "1.50 s"},
               {9.994, "9.99 s"},
               {9.996, "10.0 s"},
               {59.94, "59.9 s"},
               {59.96, "1 min"},
               {61, "1 min 1 s"},
               {3599.4, "59 min 59 s"},
               {3599.6, "1 h"},
               {11520, "3 h 12 min"},
               {86369, "23 h 59 min"},
               {86371, "1 d"},
               {1047600, "12 d 3 h"},
               {86400000.0 - 3600, "999 d 23 h"},
               {106617600, "1,234 d"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char buffer[HR__NUMBER_BYTES];
    expect_text(hr__duration_text(cases[i].seconds, buffer), cases[i].text);
  }
}

static void expect_utf8(const char *text, const char *wanted) {
  char *copy = hr__utf8_copy(text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
  expect_text(copy, wanted);
  free(copy);
}

static void invalid_utf8_is_read_as_latin_1(void) {
  expect_utf8("", "");
  expect_utf8("plain", "plain");
  expect_utf8("M\xc3\xbcller \xe2\x82\xac \xf0\x9f\x9a\x80", "M\xc3\xbcller \xe2\x82\xac \xf0\x9f\x9a\x80");
  expect_utf8("M\xfcller", "M\xc3\xbcller");
  expect_utf8("\xc3", "\xc3\x83");             /* incomplete sequence */
  expect_utf8("\xc0\xaf", "\xc3\x80\xc2\xaf"); /* overlong encoding */
  expect_utf8("\xe0\x80\xaf", "\xc3\xa0\xc2\x80\xc2\xaf");
  expect_utf8("\xed\xa0\x80", "\xc3\xad\xc2\xa0\xc2\x80");             /* half of a surrogate pair */
  expect_utf8("\xf4\x90\x80\x80", "\xc3\xb4\xc2\x90\xc2\x80\xc2\x80"); /* beyond Unicode */
}

/* The text of every factor has at most nine characters. */
static void factors_have_at_most_nine_characters(void) {
  char buffer[HR__NUMBER_BYTES];
  expect_text(hr__factor_text(1.256, buffer), "1.26");
  expect_text(hr__factor_text(9999.994, buffer), "9,999.99");
  expect_text(hr__factor_text(10000, buffer), "10,000");
  expect_text(hr__factor_text(9999999.4, buffer), "9,999,999");
  expect_text(hr__factor_text(9999999.5, buffer), "1.00e7");
  expect_text(hr__factor_text(12345678, buffer), "1.23e7");
  expect_text(hr__factor_text(9.996e8, buffer), "1.00e9");
  expect_text(hr__factor_text(-2.5e17, buffer), "-2.50e17");
}

static void expect_safe(const char *text, const char *wanted) {
  char copy[60];
  hr__copy_safe(copy, sizeof copy, text, false);
  expect_text(copy, wanted);
  hr__copy_safe(copy, sizeof copy, wanted, false);
  expect_text(copy, wanted);
}

static void control_characters_are_escaped(void) {
  char copy[12];
  expect_safe("", "");
  expect_safe("plain \\ M\xc3\xbcller \xf0\x9f\x9a\x80", "plain \\ M\xc3\xbcller \xf0\x9f\x9a\x80");
  expect_safe("\x1b[31mred\x7f\n", "\\x1B[31mred\\x7F\\x0A");
  expect_safe("a\xff\xc3", "a\\xFF\\xC3"); /* bytes that are not UTF-8 */
  expect_safe("\xc2\x9b", "\\u009B");      /* CSI, a C1 control */
  /* NOLINTNEXTLINE(misc-misleading-bidirectional): direction of text */
  expect_safe("\xe2\x80\xae|\xe2\x81\xa6", "\\u202E|\\u2066");
  hr__copy_safe(copy, sizeof copy, "two\nlines\r", true);
  expect_text(copy, "two\nlines");
  hr__copy_safe(copy, 4, "ab\xc3\xbc", true); /* characters are not divided */
  expect_text(copy, "ab");
}

TEST_MAIN("report: text", TEST(millionths_without_trailing_zeros), TEST(thousandths_without_trailing_zeros),
          TEST(integers_match_printf), TEST(decimals_are_shortest), TEST(counts_with_thousands_separators),
          TEST(factors_have_at_most_nine_characters), TEST(amounts_are_rounded_once), TEST(durations_have_two_units),
          TEST(invalid_utf8_is_read_as_latin_1), TEST(control_characters_are_escaped))
