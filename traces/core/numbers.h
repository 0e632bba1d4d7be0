/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_CORE_NUMBERS_H
#define HR_TRACES_CORE_NUMBERS_H

/* Decimal text to integers, exactly: no double in between, no locale. */

#include "headroom/trace_files.h"

enum hr__number_fault {
  HR__NUMBER_FINE,
  HR__NUMBER_BAD,
  HR__NUMBER_NEGATIVE,
  HR__NUMBER_NOT_WHOLE,
  HR__NUMBER_TOO_LARGE
};

struct hr__number_rule {
  uint64_t factor; /* units of the result in one of the text */
  uint64_t most;   /* largest result, below 2^63 */
  bool whole;      /* the result must come out whole (HR__NUMBER_NOT_WHOLE otherwise); else it is rounded half up */
};

/* Reads "12", "+0.5", "5.", "1.5e3": anything else (nan, inf, hexadecimal, empty) is HR__NUMBER_BAD. */
enum hr__number_fault hr__number_parse(struct hr_text text, const struct hr__number_rule *rule, uint64_t *value);

/* Whether a text would be a number if it had no commas: "0,5", "1,000". */
bool hr__number_has_comma(struct hr_text text);

/* Reads an integer written in the one way that integers are printed: no plus, no leading zero, fits. */
bool hr__integer_parse(struct hr_text text, int64_t *value);

/* Text from a file as a message may show it: on one line, at most 60 bytes, all else than printable ASCII escaped. */
#define HR__QUOTE_BYTES 256
const char *hr__quote(struct hr_text text, char buffer[HR__QUOTE_BYTES]);

#endif
