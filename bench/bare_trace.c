/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader of traces for the hand-written loops, see bare_trace.h. libcsv calls one function for each field and
   another for each complete row, which adds the job. */

#include "bare_trace.h"

#include <csv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUBMIT, WORK, GPUS, LIMIT, IGNORED, MAX_COLUMNS = 64 };

struct reader {
  struct bare_trace *trace;
  unsigned char meaning[MAX_COLUMNS];
  unsigned column;
  int in_body;
  int64_t value[IGNORED];
};

static void give_up(const char *why) {
  fprintf(stderr, "%s\n", why);
  exit(2);
}

/* Converts a decimal number of seconds to microseconds: "12.345" gives 12345000. Digits after the sixth decimal are
   ignored. */
static int64_t microseconds(const char *text, size_t length) {
  int64_t value = 0;
  size_t i = 0;
  for (; i < length && text[i] != '.'; i++) value = 10 * value + (text[i] - '0');
  unsigned decimals = 0;
  for (i++; i < length && decimals < 6; i++, decimals++) value = 10 * value + (text[i] - '0');
  for (; decimals < 6; decimals++) value *= 10;
  return value;
}

static unsigned char meaning_of(const char *name, size_t length) {
  static const char *const names[IGNORED] = {
      [SUBMIT] = "submit_s", [WORK] = "duration_s", [GPUS] = "gpus", [LIMIT] = "limit_s"};
  for (unsigned m = 0; m < IGNORED; m++)
    if (strlen(names[m]) == length && memcmp(name, names[m], length) == 0) return (unsigned char)m;
  return IGNORED;
}

static void on_field(void *field, size_t length, void *self) {
  struct reader *reader = self;
  unsigned column = reader->column++;
  if (column >= MAX_COLUMNS) give_up("too many columns");
  if (!reader->in_body) {
    reader->meaning[column] = meaning_of(field, length);
    return;
  }
  unsigned char meaning = reader->meaning[column];
  if (meaning == GPUS)
    reader->value[GPUS] = microseconds(field, length) / 1000000;
  else if (meaning < IGNORED)
    reader->value[meaning] = microseconds(field, length);
}

static void *grown(void *old, size_t bytes) {
  void *memory = realloc(old, bytes);
  if (!memory) give_up("out of memory");
  return memory;
}

static void on_row(int end, void *self) {
  (void)end;
  struct reader *reader = self;
  struct bare_trace *trace = reader->trace;
  reader->column = 0;
  if (!reader->in_body) {
    reader->in_body = 1;
    return;
  }
  if (trace->n == trace->capacity) {
    trace->capacity = trace->capacity ? 2 * trace->capacity : 1024;
    trace->submit_us = grown(trace->submit_us, trace->capacity * sizeof *trace->submit_us);
    trace->work_us = grown(trace->work_us, trace->capacity * sizeof *trace->work_us);
    trace->limit_us = grown(trace->limit_us, trace->capacity * sizeof *trace->limit_us);
    trace->gpus = grown(trace->gpus, trace->capacity * sizeof *trace->gpus);
  }
  uint32_t job = trace->n++;
  trace->submit_us[job] = reader->value[SUBMIT];
  trace->work_us[job] = reader->value[WORK];
  trace->limit_us[job] = reader->value[LIMIT] ? reader->value[LIMIT] : reader->value[WORK];
  trace->gpus[job] = (uint32_t)reader->value[GPUS];
}

void bare_trace_read(const char *path, struct bare_trace *trace) {
  static char buffer[1 << 16];
  struct reader reader = {.trace = trace};
  struct csv_parser parser;
  FILE *file = fopen(path, "rb");
  *trace = (struct bare_trace){0};
  if (!file || csv_init(&parser, 0) != 0) give_up("cannot open the trace");
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, file)) > 0;)
    if (csv_parse(&parser, buffer, n, on_field, on_row, &reader) != n) give_up("cannot parse the trace");
  csv_fini(&parser, on_field, on_row, &reader);
  csv_free(&parser);
  fclose(file);
}

void bare_trace_finish(struct bare_trace *trace) {
  free(trace->submit_us);
  free(trace->work_us);
  free(trace->limit_us);
  free(trace->gpus);
}

uint32_t bare_argument(const char *text, uint32_t max) {
  unsigned long value = strtoul(text, NULL, 10);
  if (value < 1 || value > max) give_up("a number on the command line is out of range");
  return (uint32_t)value;
}
