/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bars in a line of text. A bar is a Unicode block character with a height in eighths, or an ASCII character that is
   darker for larger values. */

#include "report/tables/sparkline.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

enum { STEPS = HR__SPARK_HEIGHTS - 1 };

/* Returns sum / max as a height from 0 to `steps`, rounded to an integer. The height is 0 only if the sum or `max` is
   0. */
static uint8_t height_of(hr__wide sum, hr__wide max, uint8_t steps) {
  if (sum == 0 || max == 0) return 0;
  if (sum >= max) return steps;
  uint8_t height = (uint8_t)((2 * steps * sum + max) / (2 * max));
  return height ? height : 1;
}

/* Returns the height of the mean over the buckets [from, to), relative to `top`. */
static uint8_t mean_height(const struct hr__buckets *closed, uint32_t from, uint32_t to, uint64_t top) {
  hr__wide sum = 0;
  int64_t passed_us = 0;
  for (uint32_t i = from; i < to; i++) {
    sum += closed->bucket[i].sum;
    passed_us += hr__buckets_span_us(closed, i);
  }
  return height_of(sum, (hr__wide)top * (uint64_t)passed_us, STEPS);
}

static uint8_t peak_height(const struct hr__buckets *closed, uint32_t from, uint32_t to, uint64_t top) {
  uint64_t max = 0;
  for (uint32_t i = from; i < to; i++)
    if (closed->bucket[i].max > max) max = closed->bucket[i].max;
  return height_of(max, top, STEPS);
}

void hr__sparkline_of_buckets(struct hr__sparkline *line, enum hr__spark_value value, const struct hr__buckets *closed,
                              uint64_t top) {
  line->n = closed->n < HR__SPARK_CELLS ? closed->n : HR__SPARK_CELLS;
  line->blank_zeros = false;
  for (uint32_t i = 0; i < line->n; i++) {
    uint32_t from = (uint32_t)((uint64_t)i * closed->n / line->n);
    uint32_t to = (uint32_t)((uint64_t)(i + 1) * closed->n / line->n);
    line->height[i] =
        value == HR__SPARK_PEAKS ? peak_height(closed, from, to, top) : mean_height(closed, from, to, top);
  }
}

void hr__sparkline_of_counts(struct hr__sparkline *line, const uint64_t *counts, uint32_t count, uint64_t top) {
  line->n = count < HR__SPARK_CELLS ? count : HR__SPARK_CELLS;
  line->blank_zeros = true;
  for (uint32_t i = 0; i < line->n; i++) line->height[i] = height_of(counts[i], top, HR__SPARK_HEIGHTS);
}

static const char *shape_of(const struct hr__sparkline *line, uint8_t height, const char *const *shapes) {
  if (!line->blank_zeros) return shapes[height];
  return height == 0 ? " " : shapes[height - 1];
}

void hr__put_sparkline(struct hr__console *console, const struct hr__sparkline *line, uint64_t top) {
  static const char *const blocks[HR__SPARK_HEIGHTS] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static const char *const letters[HR__SPARK_HEIGHTS] = {"_", ".", ":", "-", "=", "+", "*", "#"};
  const char *const *shapes = console->unicode ? blocks : letters;
  char text[HR__NUMBER_BYTES];
  size_t room = HR__LINE_WIDTH - HR__LABEL_WIDTH - line->n - 1;
  hr__put_label(console, "");
  for (uint32_t i = 0; i < line->n; i++) fputs(shape_of(line, line->height[i], shapes), console->out);
  hr__count_text(top, text);
  if (strlen(text) <= room) fprintf(console->out, "%s %s%s", hr__dim(console), text, hr__plain(console));
  fputc('\n', console->out);
}
