/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_CORE_NUMBERS_H
#define HR_TRACES_CORE_NUMBERS_H

/* Decimal text to integers, exactly: without floating point and independent of the locale. */

#include "headroom/trace_files.h"

enum hr__number_fault {
  HR__NUMBER_FINE,
  HR__NUMBER_BAD,
  HR__NUMBER_NEGATIVE,
  HR__NUMBER_NOT_WHOLE,
  HR__NUMBER_TOO_LARGE
};

struct hr__number_rule {
  uint64_t factor; /* units of the result per unit of the text */
  uint64_t max;    /* maximum result, below 2^63 */
  bool whole;      /* the result must be a whole number, else HR__NUMBER_NOT_WHOLE; if unset it is rounded half up */
};

/* Parses "12", "+0.5", "5.", "1.5e3"; anything else (nan, inf, hexadecimal, empty) is HR__NUMBER_BAD. */
enum hr__number_fault hr__number_parse(struct hr_text text, const struct hr__number_rule *rule, uint64_t *value);

/* Parses an integer in canonical form: no plus sign, no leading zeros, within int64_t. */
bool hr__integer_parse(struct hr_text text, int64_t *value);

/* Formats text from a file for a message: one line, at max 60 bytes, everything except printable ASCII escaped. */
#define HR__QUOTE_BYTES 256
const char *hr__quote(struct hr_text text, char buffer[HR__QUOTE_BYTES]);

#endif
