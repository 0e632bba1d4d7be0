/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A trace whose times are dates began at so many seconds after 1970, as Prometheus counts; any other keeps its clock.
 */
static void write_stamps(struct hr__metrics *metrics) {
  for (uint32_t k = 0; k < metrics->n_samples; k++) {
    char *stamp = metrics->stamps + (size_t)k * HR__NUMBER_BYTES;
    *hr__put_millionths(stamp, metrics->run->trace->origin_us + k * metrics->step_us) = '\0';
  }
}

enum hr_status hr__metrics_init(struct hr__metrics *metrics, const struct hr_export *run,
                                const struct hr_openmetrics_config *config, int64_t step_us) {
  int64_t end_us = hr_history_end_us(run->history);
  uint32_t n_samples = (uint32_t)((end_us + step_us - 1) / step_us + 1);
  metrics->run = run;
  metrics->config = config;
  metrics->step_us = step_us;
  metrics->end_us = end_us;
  metrics->n_samples = n_samples;
  metrics->stamps = calloc(n_samples, HR__NUMBER_BYTES);
  if (!metrics->stamps) return HR_NO_MEMORY;
  write_stamps(metrics);
  return HR_OK;
}

void hr__metrics_finish(struct hr__metrics *metrics) {
  free(metrics->stamps);
  metrics->stamps = NULL;
}

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

/* ---- Labels ----------------------------------------------------------------------------------------- */

void hr__metrics_no_labels(struct hr__metrics *metrics) {
  metrics->labels_used = 0;
}

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

/* A label is to end with its quote: what is left for values is what the names of labels leave. */
static void put_label_value(struct hr__metrics *metrics, const char *value) {
  enum { MOST = 400 };
  char *copy = is_ascii(value) ? NULL : hr__utf8_copy(value);
  const char *text = copy ? copy : is_ascii(value) ? value : "";
  if (text != value && !copy) metrics->out.out_of_memory = true;
  size_t length = strlen(text);
  if (length > MOST)
    for (length = MOST; length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80;) length--;
  for (size_t i = 0; i < length; i++) {
    if (text[i] == '"' || text[i] == '\\' || text[i] == '\n') put_label_byte(metrics, '\\');
    put_label_byte(metrics, (char)(text[i] == '\n' ? 'n' : text[i]));
  }
  free(copy);
}

/* Its names are few, so that all labels have room. */
void hr__metrics_label(struct hr__metrics *metrics, const char *name, const char *value) {
  put_label_byte(metrics, metrics->labels_used ? ',' : '{');
  put_label_text(metrics, name);
  put_label_text(metrics, "=\"");
  put_label_value(metrics, value);
  put_label_byte(metrics, '"');
}

void hr__metrics_number_label(struct hr__metrics *metrics, const char *name, const char *prefix, uint32_t number) {
  char text[80];
  snprintf(text, sizeof text, "%.40s%u", prefix, (unsigned)number);
  hr__metrics_label(metrics, name, text);
}

/* ---- Samples ---------------------------------------------------------------------------------------- */

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
