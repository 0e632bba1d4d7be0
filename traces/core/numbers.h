/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_CORE_NUMBERS_H
#define HR_TRACES_CORE_NUMBERS_H

/* Parses decimal text to integers, and dates to microseconds. Formats dates. Results are exact: no floating point is
   used, and the locale has no effect. */

#include "headroom/trace_files.h"

/* ---- Numbers ------------------------------------------------------------------------------------------- */

/* Results of parsing a number. */
enum hr__number_fault {
  HR__NUMBER_FINE,
  HR__NUMBER_BAD,
  HR__NUMBER_NEGATIVE,
  HR__NUMBER_NOT_WHOLE,
  HR__NUMBER_TOO_LARGE
};

/* Unit and range of a number. */
struct hr__number_rule {
  uint64_t factor; /* units of the result for one unit of the text */
  uint64_t max;    /* maximum of the result, below 2^63 */
  bool whole;      /* true: a result that is not whole is HR__NUMBER_NOT_WHOLE; false: the result is rounded half up */
};

/* Parses a number such as "12", "+0.5", "5." or "1.5e3". Other texts (nan, inf, hexadecimal, empty) are
   HR__NUMBER_BAD. */
enum hr__number_fault hr__number_parse(struct hr_text text, const struct hr__number_rule *rule, uint64_t *value);

/* Parses an integer in canonical form: no plus sign, no leading zeros, within int64_t. */
bool hr__integer_parse(struct hr_text text, int64_t *value);

#define HR__QUOTE_BYTES 256
/* Formats text from a file for a message, on one line. At most 60 bytes of the text are used. Bytes that are not
   printable ASCII are escaped. */
const char *hr__quote(struct hr_text text, char buffer[HR__QUOTE_BYTES]);

/* ---- Dates --------------------------------------------------------------------------------------------- */

/* Parses `YYYY-MM-DD`. The date may be followed by `T` or a space and `HH:MM`, then by `:SS`, a fraction of a
   second, and a zone (`Z`, `+HH:MM`, `+HHMM` or `+HH`). `*us` is in microseconds since 1970-01-01 00:00. `*zoned` is
   true if the text has a zone; `*us` is then in UTC, otherwise it is local time. Returns false if the text has
   another form or if the day does not exist. */
bool hr__date_parse(struct hr_text text, int64_t *us, bool *zoned);

enum { HR__DATE_BYTES = 32 };
/* Writes a time as `YYYY-MM-DDTHH:MM:SS`, with a fraction unless it is 0, and with `Z` if `zoned` is set. `at` must
   have room for HR__DATE_BYTES. Returns the end of the text, or NULL if the year is not in 1 .. 9999. */
char *hr__date_put(char *at, int64_t us, bool zoned);

/* The note on a trace that has dates without a zone. */
#define HR__LOCAL_DATES_NOTE                                                                                           \
  "dates have no time zone and are used as they are: across changes to or from summer time, times are one hour off"

#endif
