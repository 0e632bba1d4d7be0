/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_MONTHS_H
#define HR_CLI_MONTHS_H

#include "headroom/base.h"

/* How far ahead a forecast goes: "3", or "3mo". Errors name the option. */
enum hr_status parse_months(const char *option, const char *text, uint32_t *months, struct hr_error *error);

#endif
