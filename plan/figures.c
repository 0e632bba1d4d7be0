/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/figures.h"

#include "report/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *magnitude_text(enum hr__unit unit, double value, char *buffer) {
  switch (unit) {
  case HR__SECONDS:
    return hr__duration_text(value, buffer);
  case HR__FACTOR:
    return hr__factor_text(value, buffer);
  case HR__INDEX:
    return hr__fixed_text(value, 4, buffer);
  case HR__COUNT:
    return hr__fixed_text(value, value == floor(value) ? 0 : 1, buffer);
  case HR__GPU_HOURS:
    return hr__fixed_text(value, value < 1000 ? 1 : 0, buffer);
  case HR__SHARE:
    return hr__fixed_text(100 * value, 1, buffer);
  case HR__DOLLARS:
    return hr__usd_text((int64_t)llround(value * 1e6), buffer);
  }
  return strcpy(buffer, "");
}

const char *hr__figure_text(enum hr__unit unit, double value, char *buffer) {
  if (isnan(value)) return strcpy(buffer, "-");
  magnitude_text(unit, value, buffer);
  return unit == HR__SHARE ? strcat(buffer, " %") : buffer;
}

static const char *with_sign(enum hr__unit unit, const char *sign, double magnitude, char *buffer) {
  magnitude_text(unit, magnitude, stpcpy(buffer, sign));
  return unit == HR__SHARE ? strcat(buffer, " pts") : buffer;
}

const char *hr__difference_text(enum hr__unit unit, double difference, char *buffer) {
  if (isnan(difference)) return strcpy(buffer, "-");
  if (difference == 0) return strcpy(buffer, "=");
  return with_sign(unit, difference < 0 ? "-" : "+", fabs(difference), buffer);
}

const char *hr__margin_text(enum hr__unit unit, const struct hr_estimate *estimate, char *buffer) {
  if (isnan(estimate->low)) return strcpy(buffer, "-");
  return with_sign(unit, "\u00b1", (estimate->high - estimate->low) / 2, buffer);
}
