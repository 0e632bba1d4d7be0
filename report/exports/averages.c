/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Means of the timeline of a run over intervals of equal length, for charts.
 *
 * The end of a run, and so the length of an interval, is known when the run has ended. Until then the observer stores a
 * point for each instant at which a count changed: 32 bytes, the same instants as the rows of the timeline. Then each
 * point adds number x duration to the intervals that it covers. Sums are doubles, added in the order of the points.
 */

#include "base/containers.h"
#include "base/output_file.h"
#include "headroom/unstable/exports.h"

#include <stdio.h>
#include <stdlib.h>

enum { N_COLUMNS = 4, NUMBER_BYTES = 32 };
static const char *const names[N_COLUMNS] = {"waiting", "running", "gpus_allocated", "gpus_total"};

struct point {
  int64_t at_us;
  uint32_t waiting, running;
  uint64_t allocated_milli, total_milli;
};

struct hr_averages {
  struct hr__out out;
  int64_t clock_us; /* added to every time, so that times match those of the input */
  uint32_t count;
  struct point *points; /* the last one holds the counts of the current instant, which may change */
  uint32_t n_points, capacity;
  bool failed;
};

/* The sums of an interval are at index `interval` of each list. */
struct interval_sums {
  uint32_t count;
  double begin_s, end_s, width_s;
  double *sum;  /* [N_COLUMNS][count]: value x seconds */
  double *most; /* [count]: largest number of waiting jobs */
};

enum hr_status hr_averages_create(const char *path, const struct hr_trace *trace, uint32_t count,
                                  struct hr_averages **averages, struct hr_error *error) {
  struct hr_averages *created = calloc(1, sizeof *created);
  if (!created) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  created->clock_us = hr_trace_clock_us(trace);
  created->count = count;
  if (count < 1) created->count = 1;
  if (count > HR_MAX_AVERAGES) created->count = HR_MAX_AVERAGES;
  enum hr_status status = hr__out_open(&created->out, path, error);
  if (status != HR_OK) {
    free(created);
    return status;
  }
  *averages = created;
  return HR_OK;
}

/* ---- Recording ---------------------------------------------------------------------------------------------- */

static bool same(const struct point *a, const struct point *b) {
  return a->waiting == b->waiting && a->running == b->running && a->allocated_milli == b->allocated_milli &&
         a->total_milli == b->total_milli;
}

/* Removes the last point if it does not differ from the one before it. */
static void drop_repeated(struct hr_averages *averages) {
  uint32_t n = averages->n_points;
  if (n >= 2 && same(&averages->points[n - 1], &averages->points[n - 2])) averages->n_points--;
}

static void on_instant(void *self, const struct hr_view *view) {
  struct hr_averages *averages = self;
  const struct point now = {view->now_us, view->n_waiting, view->n_running, view->allocated_milli, view->total_milli};
  if (averages->n_points > 0 && averages->points[averages->n_points - 1].at_us == now.at_us) {
    averages->points[averages->n_points - 1] = now; /* another pass of the same instant */
    return;
  }
  drop_repeated(averages);
  if (!HR__ARRAY_HAS_ROOM(averages->points, averages->n_points, averages->capacity)) {
    averages->failed = true;
    return;
  }
  averages->points[averages->n_points++] = now;
}

struct hr_observer hr_averages_observer(struct hr_averages *averages) {
  return (struct hr_observer){.self = averages, .on_instant = on_instant};
}

/* ---- Means ---------------------------------------------------------------------------------------------------- */

static double seconds_of(const struct hr_averages *averages, uint32_t point) {
  return (double)(averages->points[point].at_us + averages->clock_us) / 1e6;
}

/* A time, and the interval in which it is. */
struct chart_time {
  double s;
  uint32_t interval;
};

static struct chart_time chart_time_of(const struct interval_sums *sums, double time_s) {
  double at = (time_s - sums->begin_s) / sums->width_s;
  return (struct chart_time){time_s, at >= (double)sums->count ? sums->count - 1 : (uint32_t)at};
}

/* Adds a point that holds from `begin` to `end`. */
static void add(struct interval_sums *sums, const struct point *point, struct chart_time begin, struct chart_time end) {
  const double waiting = point->waiting;
  const double value[N_COLUMNS] = {waiting, point->running, (double)point->allocated_milli / 1000,
                                   (double)point->total_milli / 1000};
  for (uint32_t i = begin.interval; i <= end.interval; i++) {
    double from = i == begin.interval ? begin.s : sums->begin_s + (double)i * sums->width_s;
    double to = i == end.interval ? end.s : sums->begin_s + (double)(i + 1) * sums->width_s;
    if (!(to > from)) continue;
    for (int k = 0; k < N_COLUMNS; k++) sums->sum[(size_t)k * sums->count + i] += value[k] * (to - from);
    if (waiting > sums->most[i]) sums->most[i] = waiting;
  }
}

/* Adds all points; the last one is the end of the run. */
static void add_points(const struct hr_averages *averages, struct interval_sums *sums) {
  if (sums->count == 0) return;
  struct chart_time begin = chart_time_of(sums, seconds_of(averages, 0));
  for (uint32_t i = 0; i + 1 < averages->n_points; i++) {
    struct chart_time end = chart_time_of(sums, seconds_of(averages, i + 1));
    if (end.s > begin.s) add(sums, &averages->points[i], begin, end);
    begin = end;
  }
}

/* ---- Writing ---------------------------------------------------------------------------------------------------- */

static void put_list(struct hr__out *out, const char *name, const double *values, uint32_t count, double divisor) {
  char text[NUMBER_BYTES];
  hr__out_text(out, ",\"");
  hr__out_text(out, name);
  hr__out_text(out, "\":[");
  for (uint32_t i = 0; i < count; i++) {
    snprintf(text, sizeof text, "%s%.6g", i ? "," : "", values[i] / divisor);
    hr__out_text(out, text);
  }
  hr__out_byte(out, ']');
}

static void put(struct hr__out *out, const struct interval_sums *sums) {
  char text[2 * NUMBER_BYTES + sizeof "{\"begin_s\":,\"end_s\":"];
  snprintf(text, sizeof text, "{\"begin_s\":%.15g,\"end_s\":%.15g", sums->begin_s, sums->end_s);
  hr__out_text(out, text);
  for (int k = 0; k < N_COLUMNS; k++)
    put_list(out, names[k], sums->sum + (size_t)k * sums->count, sums->count, sums->width_s);
  put_list(out, "most_waiting", sums->most, sums->count, 1);
  hr__out_text(out, "}\n");
}

enum hr_status hr_averages_finish(struct hr_averages *averages, struct hr_error *error) {
  drop_repeated(averages);
  const uint32_t n = averages->n_points;
  const double begin_s = n ? seconds_of(averages, 0) : 0, end_s = n ? seconds_of(averages, n - 1) : 0;
  struct interval_sums sums = {.count = end_s > begin_s ? averages->count : 0,
                               .begin_s = begin_s,
                               .end_s = end_s,
                               .width_s = (end_s - begin_s) / averages->count};
  sums.sum = calloc((size_t)N_COLUMNS * averages->count, sizeof *sums.sum);
  sums.most = calloc(averages->count, sizeof *sums.most);
  bool ready = sums.sum && sums.most && !averages->failed;
  if (ready) add_points(averages, &sums);
  if (ready) put(&averages->out, &sums);
  free(sums.sum);
  free(sums.most);
  if (!ready) return hr_fail(error, HR_NO_MEMORY, "out of memory for the averages of the run");
  return hr__out_commit(&averages->out, error);
}

void hr_averages_destroy(struct hr_averages *averages) {
  if (!averages) return;
  hr__out_abandon(&averages->out);
  free(averages->points);
  free(averages);
}
