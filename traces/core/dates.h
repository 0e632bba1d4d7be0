/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_CORE_DATES_H
#define HR_TRACES_CORE_DATES_H

/* ISO 8601 dates and times as microseconds. */

#include "headroom/trace_files.h"

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
