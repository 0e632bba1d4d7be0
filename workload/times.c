/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times and lengths of time as a person writes them. A part of a length is a whole number and its unit, larger units
   first or not: integers from end to end. */

#include "headroom/transform.h"

#include <string.h>

/* The unit that begins at `*at`, which moves behind it; 0: none. A number `alone` is seconds. */
static int64_t take_unit(const char **at, bool alone) {
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

/* A number with up to six decimals, in millionths. */
static bool take_millionths(const char **at, int64_t *value) {
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

/* "1d12h", "90", "1.5h". */
static bool parse_span(const char *text, int64_t *us) {
  const char *begin = text;
  *us = 0;
  do {
    bool alone = text == begin;
    int64_t millionths, unit_us, part_us;
    if (!take_millionths(&text, &millionths)) return false;
    unit_us = take_unit(&text, alone);
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
    return hr_fail(error, HR_BAD_INPUT,
                   "--%s %.60s: a length of time is wanted, like 90 (seconds), 45m, 36h, 2d, 1w or 1d12h, of at most "
                   "100000000000 s",
                   option, text);
  if (negative) *us = -*us;
  return HR_OK;
}

/* ---- Instants --------------------------------------------------------------------------------------- */

static enum hr_status wrong_clock(const struct hr_trace *trace, const char *option, const char *text,
                                  struct hr_error *error) {
  return hr_fail(error, HR_BAD_INPUT,
                 "--%s %.60s: the times of %s are %s; write %s, or how long after the first submit, as 2d", option,
                 text, trace->source, trace->dated ? "dates" : "seconds without dates",
                 trace->dated ? "a date, like 2026-11-21T08:30" : "@SECONDS on its clock");
}

static bool is_date(const char *text) {
  return strlen(text) >= 10 && text[4] == '-' && text[7] == '-';
}

enum hr_status hr_trace_time_parse(const struct hr_trace *trace, const char *option, const char *text, int64_t *us,
                                   struct hr_error *error) {
  bool date = is_date(text), clock = *text == '@', zoned = false;
  if (!date && !clock) return hr_span_parse(option, text, false, us, error);
  if (date != trace->dated) return wrong_clock(trace, option, text, error);
  if (date && !hr_date_parse(text, us, &zoned))
    return hr_fail(error, HR_BAD_INPUT, "--%s %.60s: is no date of the calendar; write it like 2026-11-21T08:30",
                   option, text);
  if (date && zoned && hr_trace_has_local_dates(trace))
    return hr_fail(error, HR_BAD_INPUT, "--%s %.60s: has a zone, and the dates of %s have none; leave it out", option,
                   text, trace->source);
  if (clock && !parse_span(text + 1, us))
    return hr_fail(error, HR_BAD_INPUT, "--%s %.60s: behind the @ a number of seconds is wanted", option, text);
  *us -= trace->origin_us;
  return HR_OK;
}
