/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_CORE_DATES_H
#define HR_TRACES_CORE_DATES_H

/* ISO 8601 dates and times as microseconds. */

#include "headroom/trace_files.h"

/* Parses `YYYY-MM-DD`, alone or followed by `T` or a space, `HH:MM`, `:SS`, a fraction of a second, and a zone (`Z`,
   `+HH:MM`, `+HHMM`, `+HH`). `*us` counts from 1970-01-01 00:00, in UTC if there is a zone (`*zoned`), else on the
   local clock of the writer. Returns false if the text is not such a date or the day does not exist. */
bool hr__date_parse(struct hr_text text, int64_t *us, bool *zoned);

/* Writes a time as `YYYY-MM-DDTHH:MM:SS`, with a fraction if it is not 0 and `Z` if `zoned`. Returns the end of the
   text, at most HR__DATE_BYTES after `at`, or NULL if the year is not from 1 to 9999. */
enum { HR__DATE_BYTES = 32 };
char *hr__date_put(char *at, int64_t us, bool zoned);

/* The note on a trace whose dates have no zone. */
#define HR__LOCAL_DATES_NOTE                                                                                           \
  "dates have no time zone and are used as they are: across changes to or from summer time, times are one hour off"

#endif
