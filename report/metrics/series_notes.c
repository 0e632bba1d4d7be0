/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Notes on series of carbon intensities and prices: the run is outside a series, or series begin at different times. */

#include "headroom/unstable/metrics.h"
#include "headroom/unstable/series.h"

#include <inttypes.h>
#include <stdio.h>

enum { DATE_BYTES = 64 };

/* A series of a pool. */
struct series_use {
  const struct hr_series *series;
  const char *pool, *key; /* the name of the pool, and the key in the scenario */
  const char *what;
  int64_t start_us;
};

/* Returns whether the pool has the series; `price`: that of prices. Values that never change are not series. */
static bool find_use(const struct hr_pool_spec *pool, bool price, struct series_use *use) {
  const struct hr_electricity *known = pool->nodes > 0 ? pool->electricity : NULL;
  if (!known) return false;
  *use = (struct series_use){.series = price ? known->price : known->carbon,
                             .pool = pool->name ? pool->name : "",
                             .key = price ? "energy_price" : "carbon",
                             .what = price ? "energy price" : "carbon intensity",
                             .start_us = price ? known->price_start_us : known->carbon_start_us};
  return use->series && hr_series_end_us(use->series) != HR_NEVER_US;
}

/* Returns whether an earlier pool has the same series, for which the note was made. */
static bool is_repeated(const struct hr_cluster_spec *cluster, uint32_t pool, bool price,
                        const struct series_use *use) {
  struct series_use other;
  for (uint32_t i = 0; i < pool; i++)
    if (find_use(&cluster->pools[i], price, &other) && other.series == use->series && other.start_us == use->start_us)
      return true;
  return false;
}

/* Writes a time in UTC to the second. The day follows from the days since 0000-03-01: with years that begin in March,
   a leap day is the last one of its year (Hinnant, "chrono-compatible low-level date algorithms"). */
static const char *date_text(int64_t at_us, char text[DATE_BYTES]) {
  const int64_t day_us = INT64_C(86400) * HR_SECOND_US, days = at_us / day_us - (at_us % day_us < 0);
  const int64_t second = (at_us - days * day_us) / HR_SECOND_US, from_march = days + 719468;
  const int64_t era = (from_march >= 0 ? from_march : from_march - 146096) / 146097, day = from_march - era * 146097;
  const int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
  const int64_t of_year = day - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;
  snprintf(text, DATE_BYTES, "%04" PRId64 "-%02" PRId64 "-%02" PRId64 "T%02" PRId64 ":%02" PRId64 ":%02" PRId64 "Z",
           year + era * 400 + (month >= 10), month < 10 ? month + 3 : month - 9, of_year - (153 * month + 2) / 5 + 1,
           second / 3600, second / 60 % 60, second % 60);
  return text;
}

static int64_t overlap_us(int64_t from_us, int64_t to_us, int64_t begin_us, int64_t end_us) {
  if (from_us < begin_us) from_us = begin_us;
  if (to_us > end_us) to_us = end_us;
  return to_us > from_us ? to_us - from_us : 0;
}

/* Adds a note if the run begins before the series, or ends after it. */
static enum hr_status note_outside(const struct hr_trace *trace, const struct series_use *use, int64_t run_us,
                                   struct hr_notes *notes) {
  char from[DATE_BYTES], to[DATE_BYTES], first[DATE_BYTES], last[DATE_BYTES];
  const int64_t begin_us = hr_series_begin_us(use->series, use->start_us, trace), end_us = begin_us + run_us;
  const int64_t first_us = hr_series_first_us(use->series), last_us = hr_series_end_us(use->series);
  const bool repeats = hr_series_repeats(use->series);
  const int64_t known_us = overlap_us(begin_us, end_us, first_us, repeats ? HR_NEVER_US : last_us);
  if (known_us >= run_us) return HR_OK;
  return hr_notes_add(
      notes,
      "%.3g %% of the run is outside the series of the %s of pool '%.60s': the run is from %s to %s, the "
      "series from %s to %s; %s applies there; set '%s.start'%s",
      100 * (double)(run_us - known_us) / (double)run_us, use->what, use->pool, date_text(begin_us, from),
      date_text(end_us, to), date_text(first_us, first), date_text(last_us, last),
      begin_us >= first_us           ? "its last value"
      : repeats || end_us <= last_us ? "its first value"
                                     : "its first or last value",
      use->key, repeats ? "" : ", or 'after' to 'repeat'");
}

/* Adds a note if two series, whose first stamps are both taken as time zero, begin at different times. */
static enum hr_status note_start(const struct series_use *use, const struct series_use *first, struct hr_notes *notes) {
  char text[DATE_BYTES], other[DATE_BYTES];
  return hr_notes_add(
      notes,
      "time zero of the trace is %s in the series of the %s of pool '%.60s', but %s in that of the %s of "
      "pool '%.60s', because it is the first stamp of each; set 'start' to use both at the same time",
      date_text(hr_series_first_us(first->series), text), first->what, first->pool,
      date_text(hr_series_first_us(use->series), other), use->what, use->pool);
}

enum hr_status hr_series_notes(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                               const struct hr_result *result, struct hr_notes *notes, struct hr_error *error) {
  enum hr_status status = HR_OK;
  struct series_use first = {0}, use;
  for (uint32_t i = 0; i < 2 * cluster->n_pools && status == HR_OK; i++) {
    const uint32_t pool = i / 2;
    const bool price = i % 2;
    if (!find_use(&cluster->pools[pool], price, &use) || is_repeated(cluster, pool, price, &use)) continue;
    if (result->end_us > 0) status = note_outside(trace, &use, result->end_us, notes);
    if (trace->dated || use.start_us != HR_NEVER_US) continue;
    if (first.series && hr_series_first_us(first.series) != hr_series_first_us(use.series) && status == HR_OK)
      status = note_start(&use, &first, notes);
    if (!first.series) first = use;
  }
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory");
}
