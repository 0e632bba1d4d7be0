/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The timeline of a run, averaged over intervals.
 *
 * The file has a row for each change: its time, then the new numbers. A number holds until the next row. The last
 * row is read first, then all rows, each of which adds number x duration to the intervals that it covers.
 * Sums are doubles, added in the order of the rows.
 */

#include "serve/series.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { N_COLUMNS = 4 };
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

/* Parses a decimal number with at most 15 digits, as the file has them, several times faster than strtod. */
static double parse_number(const char **at) {
  static const double scale[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
  enum { MAX_DECIMALS = 9 };
  const char *c = *at;
  double value = 0;
  int decimals = 0;
  for (; *c >= '0' && *c <= '9'; c++) value = value * 10 + (*c - '0');
  if (*c == '.')
    for (c++; *c >= '0' && *c <= '9'; c++)
      if (decimals < MAX_DECIMALS) {
        value = value * 10 + (*c - '0');
        decimals++;
      }
  *at = c;
  return value / scale[decimals];
}

/* Reads the row at `*at` and moves to the next one. Missing numbers are 0. Returns false at the end. */
static bool read_row(const char **at, struct row *row) {
  const char *c = *at;
  if (!*c) return false;
  row->time_s = parse_number(&c);
  for (int i = 0; i < N_COLUMNS; i++) {
    if (*c == ',') c++;
    row->value[i] = parse_number(&c);
  }
  const char *end = strchr(c, '\n');
  *at = end ? end + 1 : c + strlen(c);
  return true;
}

/* The rows behind the header. */
static const char *first_row(const char *text) {
  const char *end = strchr(text, '\n');
  return end ? end + 1 : text + strlen(text);
}

static double last_time(const char *text, size_t length) {
  const char *rows = first_row(text), *at = text + length;
  if (at > rows && at[-1] == '\n') at--;
  while (at > rows && at[-1] != '\n') at--;
  return *at ? parse_number(&at) : 0;
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

static void add_rows(struct series *series, const char *at) {
  struct row row, next;
  if (!read_row(&at, &row)) return;
  for (; read_row(&at, &next); row = next) add(series, &row, next.time_s);
}

bool hr__series_write(FILE *out, const char *path, uint32_t count) {
  size_t length = 0;
  FILE *file = fopen(path, "rb");
  char *text = file ? hr__file_text(file, SIZE_MAX, &length) : NULL;
  if (file) fclose(file);
  if (!text) return false;
  if (count < 1) count = 1;
  if (count > HR__MAX_SERIES) count = HR__MAX_SERIES;
  double end_s = last_time(text, length);
  struct series series = {.count = end_s > 0 ? count : 0, .end_s = end_s, .width_s = end_s / count};
  series.sum = calloc((size_t)N_COLUMNS * count, sizeof *series.sum);
  series.most = calloc(count, sizeof *series.most);
  bool ready = series.sum && series.most;
  if (ready && end_s > 0) add_rows(&series, first_row(text));
  if (ready) put(out, &series);
  free(series.sum);
  free(series.most);
  free(text);
  return ready;
}
