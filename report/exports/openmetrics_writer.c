/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes OpenMetrics text: families, labels and samples. */

#include "report/exports/exports.h"

#include <stdlib.h>
#include <string.h>

static void put_line(struct hr__metrics *metrics, const char *keyword, const char *text) {
  hr__out_text(&metrics->out, keyword);
  hr__out_text(&metrics->out, metrics->family);
  hr__out_byte(&metrics->out, ' ');
  hr__out_text(&metrics->out, text);
  hr__out_byte(&metrics->out, '\n');
}

void hr__metrics_family(struct hr__metrics *metrics, const char *name, const char *type, const char *unit,
                        const char *help) {
  metrics->family = name;
  metrics->suffix = strcmp(type, "counter") == 0 ? "_total" : "";
  put_line(metrics, "# TYPE ", type);
  if (unit) put_line(metrics, "# UNIT ", unit);
  put_line(metrics, "# HELP ", help);
}

/* ---- Labels -------------------------------------------------------------------------------------- */

static void put_label_byte(struct hr__metrics *metrics, char byte) {
  if (metrics->labels_used < HR__METRICS_LABEL_BYTES) metrics->labels[metrics->labels_used++] = byte;
}

static void put_label_text(struct hr__metrics *metrics, const char *text) {
  for (; *text; text++) put_label_byte(metrics, *text);
}

static bool is_ascii(const char *text) {
  while (*text && (unsigned char)*text < 0x80) text++;
  return !*text;
}

/* Appends an escaped label value. Values are truncated to MAX_BYTES at a character boundary, so that the labels of a
   series fit into the buffer. */
static void put_label_value(struct hr__metrics *metrics, const char *value) {
  enum { MAX_BYTES = 400 };
  char *copy = is_ascii(value) ? NULL : hr__utf8_copy(value);
  const char *text = copy ? copy : is_ascii(value) ? value : "";
  if (text != value && !copy) metrics->out.out_of_memory = true;
  size_t length = strlen(text);
  if (length > MAX_BYTES)
    for (length = MAX_BYTES; length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80;) length--;
  for (size_t i = 0; i < length; i++) {
    if (text[i] == '"' || text[i] == '\\' || text[i] == '\n') put_label_byte(metrics, '\\');
    put_label_byte(metrics, (char)(text[i] == '\n' ? 'n' : text[i]));
  }
  free(copy);
}

void hr__metrics_label(struct hr__metrics *metrics, const char *name, const char *value) {
  put_label_byte(metrics, metrics->labels_used ? ',' : '{');
  put_label_text(metrics, name);
  put_label_text(metrics, "=\"");
  put_label_value(metrics, value);
  put_label_byte(metrics, '"');
}

/* ---- Samples ------------------------------------------------------------------------------------- */

void hr__metrics_sample(struct hr__metrics *metrics, uint32_t k, int64_t millionths) {
  hr__out_text(&metrics->out, metrics->family);
  hr__out_text(&metrics->out, metrics->suffix);
  hr__out_bytes(&metrics->out, metrics->labels, metrics->labels_used);
  hr__out_text(&metrics->out, metrics->labels_used ? "} " : " ");
  hr__out_millionths(&metrics->out, millionths);
  hr__out_byte(&metrics->out, ' ');
  hr__out_text(&metrics->out, metrics->stamps + (size_t)k * HR__NUMBER_BYTES);
  hr__out_byte(&metrics->out, '\n');
  metrics->n_written++;
}
