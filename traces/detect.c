/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Formats are told apart by the first line that is neither blank nor a `#` comment. */

#include "traces/formats.h"

#include <string.h>

enum { SWF_FIELDS = 18 };

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

static struct hr_text next_line(struct hr_text *rest) {
  const char *newline = memchr(rest->at, '\n', rest->length);
  size_t length = newline ? (size_t)(newline - rest->at) : rest->length;
  struct hr_text line = {rest->at, length};
  size_t taken = newline ? length + 1 : length;
  *rest = (struct hr_text){rest->at + taken, rest->length - taken};
  while (line.length && is_space(*line.at)) {
    line.at++;
    line.length--;
  }
  while (line.length && is_space(line.at[line.length - 1])) line.length--;
  return line;
}

static struct hr_text first_line(struct hr_text beginning) {
  struct hr_text line = {beginning.at, 0};
  while (beginning.length && (!line.length || line.at[0] == '#')) line = next_line(&beginning);
  return line;
}

static bool is_number_character(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/* 18 numbers between spaces, and whatever follows them. */
static bool is_swf_row(struct hr_text line) {
  size_t n_fields = 0;
  for (size_t i = 0; i < line.length; i++) {
    if (is_space(line.at[i])) continue;
    if (i == 0 || is_space(line.at[i - 1])) n_fields++;
    if (n_fields > SWF_FIELDS) return true;
    if (!is_number_character(line.at[i])) return false;
  }
  return n_fields == SWF_FIELDS;
}

static bool begins_with(struct hr_text line, const char *start) {
  size_t length = strlen(start);
  return line.length >= length && memcmp(line.at, start, length) == 0;
}

const char *hr__detect_format(struct hr_text beginning) {
  struct hr_text line = first_line(beginning);
  if (begins_with(line, ";") || is_swf_row(line)) return "swf";
  if (begins_with(line, "timestamp,duration,num_gpus,gpu_time,cluster")) return "philly";
  if (begins_with(line, "name,cpu_milli,memory_mib,num_gpu,gpu_milli")) return "openb";
  return "csv";
}
