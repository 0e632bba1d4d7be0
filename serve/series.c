/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The timeline of a run, averaged over intervals.
 *
 * The file has a row for each change: its time, then the new numbers. A number holds until the next row. The file is
 * read twice: first its last time, then the rows, each of which adds number x duration to the intervals that it covers.
 * Sums are doubles, added in the order of the rows.
 */

#include "serve/series.h"

#include <stdlib.h>
#include <string.h>

enum { N_COLUMNS = 4, LINE_BYTES = 512 };
static const char *const names[N_COLUMNS] = {"waiting", "running", "gpus_allocated", "gpus_total"};

struct row {
  double time_s, value[N_COLUMNS];
};

struct series {
  uint32_t count;
  double end_s, width_s;
  double *sum;  /* [N_COLUMNS][count]: value x seconds */
  double *most; /* [count]: largest number of waiting jobs */
};

static bool read_row(FILE *file, struct row *row) {
  char line[LINE_BYTES];
  if (!fgets(line, sizeof line, file)) return false;
  char *at = line, *end;
  row->time_s = strtod(at, &end);
  for (int i = 0; i < N_COLUMNS; i++) {
    at = *end == ',' ? end + 1 : end;
    row->value[i] = strtod(at, &end);
  }
  return true;
}

static void skip_header(FILE *file) {
  char line[LINE_BYTES];
  rewind(file);
  if (!fgets(line, sizeof line, file)) return;
}

static double last_time(FILE *file) {
  struct row row;
  double time_s = 0;
  for (skip_header(file); read_row(file, &row);) time_s = row.time_s;
  return time_s;
}

static uint32_t interval_of(const struct series *series, double time_s) {
  double at = time_s / series->width_s;
  return at >= (double)series->count ? series->count - 1 : (uint32_t)at;
}

/* Adds a row that holds until `end_s`. */
static void add(struct series *series, const struct row *row, double end_s) {
  if (!(end_s > row->time_s)) return;
  uint32_t first = interval_of(series, row->time_s), last = interval_of(series, end_s);
  for (uint32_t i = first; i <= last; i++) {
    double from = i == first ? row->time_s : (double)i * series->width_s;
    double to = i == last ? end_s : (double)(i + 1) * series->width_s;
    if (!(to > from)) continue;
    for (int k = 0; k < N_COLUMNS; k++) series->sum[(size_t)k * series->count + i] += row->value[k] * (to - from);
    if (row->value[0] > series->most[i]) series->most[i] = row->value[0];
  }
}

static void put_list(FILE *out, const char *name, const double *values, uint32_t count, double divisor) {
  fprintf(out, ",\"%s\":[", name);
  for (uint32_t i = 0; i < count; i++) fprintf(out, "%s%.6g", i ? "," : "", values[i] / divisor);
  fputc(']', out);
}

static void put(FILE *out, const struct series *series) {
  fprintf(out, "{\"end_s\":%.15g", series->end_s);
  for (int k = 0; k < N_COLUMNS; k++)
    put_list(out, names[k], series->sum + (size_t)k * series->count, series->count, series->width_s);
  put_list(out, "most_waiting", series->most, series->count, 1);
  fputc('}', out);
}

bool hr__series_write(FILE *out, const char *path, uint32_t count) {
  FILE *file = fopen(path, "rb");
  if (!file) return false;
  if (count < 1) count = 1;
  if (count > HR__MAX_SERIES) count = HR__MAX_SERIES;
  double end_s = last_time(file);
  struct series series = {.count = end_s > 0 ? count : 0, .end_s = end_s, .width_s = end_s / count};
  series.sum = calloc((size_t)N_COLUMNS * count, sizeof *series.sum);
  series.most = calloc(count, sizeof *series.most);
  bool ready = series.sum && series.most;
  struct row row, next;
  skip_header(file);
  bool more = ready && end_s > 0 && read_row(file, &row);
  while (more && read_row(file, &next)) {
    add(&series, &row, next.time_s);
    row = next;
  }
  fclose(file);
  if (ready) put(out, &series);
  free(series.sum);
  free(series.most);
  return ready;
}
