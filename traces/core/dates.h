/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_CORE_DATES_H
#define HR_TRACES_CORE_DATES_H

/* ISO 8601 dates and times to microseconds. */

#include "headroom/trace_files.h"

/* Reads `YYYY-MM-DD`, alone or followed by `T` or a space, `HH:MM`, `:SS`, a fraction of the second, and a zone (`Z`,
   `+HH:MM`, `+HHMM`, `+HH`). The result counts from 1970-01-01 00:00, in UTC when there is a zone (`*zoned`) and on the
   clock that wrote it otherwise. False when the text is no such date or the calendar has no such day. */
bool hr__date_parse(struct hr_text text, int64_t *us, bool *zoned);

/* Writes such a time as `YYYY-MM-DDTHH:MM:SS`, with a fraction where there is one and `Z` where `zoned`, and returns
   where it stopped: at most HR__DATE_BYTES on. NULL where its year is not from 1 to 9999. */
enum { HR__DATE_BYTES = 32 };
char *hr__date_put(char *at, int64_t us, bool zoned);

#endif
