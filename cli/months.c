/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/months.h"

#include "cli/options.h"
#include "headroom/forecast.h"

#include <string.h>

enum hr_status parse_months(const char *option, const char *text, uint32_t *months, struct hr_error *error) {
  char number[8] = "";
  size_t length = strlen(text);
  if (length > 2 && strcmp(text + length - 2, "mo") == 0) length -= 2;
  uint64_t value = 0;
  bool good = length < sizeof number;
  if (good) memcpy(number, text, length);
  good = good && parse_whole(number, &value) && value >= 1 && value <= HR_MAX_FORECAST_MONTHS;
  *months = (uint32_t)value;
  if (good) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "--%s %.60s: a whole number of months from 1 to %d is wanted, as 3 or 3mo",
                 option, text, HR_MAX_FORECAST_MONTHS);
}
