/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parsing and writing ISO 8601 dates. The expected values were computed with `date -u -d ... +%s`. */
#include "harness.h"

#include "traces/core/fields.h"

#include <string.h>

static bool parses_to(const char *text, int64_t wanted_us, bool wanted_zoned) {
  int64_t us = 0;
  bool zoned = false;
  bool fine = hr__date_parse((struct hr_text){text, strlen(text)}, &us, &zoned);
  if (fine && us == wanted_us && zoned == wanted_zoned) return true;
  fprintf(stderr, "\n    '%s' gives %d, %lld us, zone %d\n", text, fine, (long long)us, zoned);
  return false;
}

static void dates_are_microseconds_since_1970(void) {
  CU_ASSERT(parses_to("1970-01-01", 0, false));
  CU_ASSERT(parses_to("2017-10-09 07:01:55", INT64_C(1507532515000000), false));
  CU_ASSERT(parses_to("2017-10-09T07:01:55", INT64_C(1507532515000000), false));
  CU_ASSERT(parses_to("2026-11-21T02:40", INT64_C(1795228800000000), false));
  CU_ASSERT(parses_to("2000-02-29", INT64_C(951782400000000), false));
  CU_ASSERT(parses_to("2100-03-01", INT64_C(4107542400000000), false));
  CU_ASSERT(parses_to("1969-12-31T23:59:59Z", INT64_C(-1000000), true));
  CU_ASSERT(parses_to("0001-01-01", INT64_C(-62135596800000000), false));
  CU_ASSERT(parses_to("9999-12-31", INT64_C(253402214400000000), false));
}

/* Dates from the whole calendar, including its first and last instant, are written and parsed again. Instants outside
   the calendar cannot be written. */
static void written_dates_are_parsed_again(void) {
  static const int64_t first_us = INT64_C(-62135596800000000), last_us = INT64_C(253402300799999999);
  const int64_t step_us = INT64_C(7) * 86399 * 1000003;
  char text[HR__DATE_BYTES];
  uint32_t n_wrong = 0, n = 0;
  for (int64_t us = first_us; us <= last_us; us += step_us, n++) {
    bool zoned;
    int64_t again_us;
    char *end = hr__date_put(text, us, n % 2);
    bool fine = end && hr__date_parse((struct hr_text){text, (size_t)(end - text)}, &again_us, &zoned);
    n_wrong += !fine || again_us != us || zoned != n % 2;
  }
  CU_ASSERT(n > 400000);
  CU_ASSERT_EQUAL(n_wrong, 0);
  char *end = hr__date_put(text, last_us, true);
  CU_ASSERT_PTR_NOT_NULL_FATAL(end);
  CU_ASSERT_NSTRING_EQUAL(text, "9999-12-31T23:59:59.999999Z", end - text);
  CU_ASSERT_PTR_NULL(hr__date_put(text, last_us + 1, true));
  CU_ASSERT_PTR_NULL(hr__date_put(text, first_us - 1, true));
}

static void time_zones_are_converted_to_utc(void) {
  CU_ASSERT(parses_to("1970-01-01T00:00:00Z", 0, true));
  CU_ASSERT(parses_to("1970-01-01T02:00:00+02:00", 0, true));
  CU_ASSERT(parses_to("1970-01-01T02:00+0200", 0, true));
  CU_ASSERT(parses_to("1970-01-01T02:00+02", 0, true));
  CU_ASSERT(parses_to("1969-12-31 18:30:00-05:30", 0, true));
}

static void fractions_are_rounded_to_microseconds(void) {
  CU_ASSERT(parses_to("1970-01-01T00:00:00.5", 500000, false));
  CU_ASSERT(parses_to("1970-01-01T00:00:00.123456Z", 123456, true));
  CU_ASSERT(parses_to("1970-01-01T00:00:00.1234564", 123456, false));
  CU_ASSERT(parses_to("1970-01-01T00:00:00.12345650", 123457, false));
  CU_ASSERT(parses_to("1970-01-01T00:00:00.9999999", 1000000, false));
}

static void invalid_dates_are_rejected(void) {
  static const char *const bad[] = {"",
                                    "2026",
                                    "2026-11",
                                    "2026-13-01",
                                    "2026-00-01",
                                    "2026-11-31",
                                    "2026-02-29",
                                    "1900-02-29",
                                    "2026-11-00",
                                    "0000-01-01",
                                    "2026-11-21T",
                                    "2026-11-21T24:00",
                                    "2026-11-21T12",
                                    "2026-11-21T12:60",
                                    "2026-11-21T12:00:60",
                                    "2026-11-21T12:00:00.",
                                    "2026-11-21T12:00:00,5",
                                    "2026-11-21T12:00:00+",
                                    "2026-11-21T12:00:00+24:00",
                                    "2026-11-21T12:00:00+01:",
                                    "2026-11-21T12:00:00Zx",
                                    "2026-11-21 12:00:00 UTC",
                                    "2026/11/21",
                                    "21.11.2026",
                                    "2026-1-2"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    int64_t us;
    bool zoned;
    CU_ASSERT_FALSE(hr__date_parse((struct hr_text){bad[i], strlen(bad[i])}, &us, &zoned));
  }
}

static void consecutive_days_differ_by_86400_s(void) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  int64_t expected = INT64_C(-2208988800); /* seconds from 1970-01-01 to 1900-01-01 */
  for (int year = 1900; year <= 2400; year++)
    for (int month = 1; month <= 12; month++)
      for (int day = 1; day <= days[month - 1] + (month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
           day++, expected += 86400) {
        char text[40];
        snprintf(text, sizeof text, "%04d-%02d-%02d", year, month, day);
        CU_ASSERT_FATAL(parses_to(text, expected * 1000000, false));
      }
}

TEST_MAIN("dates", TEST(dates_are_microseconds_since_1970), TEST(written_dates_are_parsed_again),
          TEST(time_zones_are_converted_to_utc), TEST(fractions_are_rounded_to_microseconds),
          TEST(invalid_dates_are_rejected), TEST(consecutive_days_differ_by_86400_s))
