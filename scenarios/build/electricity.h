/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_BUILD_ELECTRICITY_H
#define HR_SCENARIOS_BUILD_ELECTRICITY_H

/* Series of carbon intensities and prices in files. */

#include "headroom/unstable/series.h"

/* Which values of a file are read, and how. All texts are borrowed. */
struct hr__series_query {
  const char *zone;    /* a column, or a value of the column of zones; NULL: the only one of the file */
  const char *column;  /* the column of values; NULL: the only one, or that of the zone */
  uint64_t factor_num; /* value in millionths = number x factor_num / factor_den */
  uint64_t factor_den;
  const char *noun; /* of a value in messages, such as "carbon intensity in g/kWh" */
  bool may_be_negative;
  bool is_utc;     /* stamps without an offset are in UTC, also if the header does not say so */
  bool holds_gaps; /* a missing value equals the value before it; false: a missing value is an error */
  bool repeats;
};

/* Reads a series. Errors: HR_BAD_INPUT with file, line and the expected value; HR_IO_ERROR; HR_NO_MEMORY. */
enum hr_status hr__series_read(const char *path, const struct hr__series_query *query, struct hr_series **series,
                               struct hr_error *error);

#endif
