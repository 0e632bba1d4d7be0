/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a path to a trace: which format, which reader, and what was assumed. */

#include "traces/formats.h"

#include <string.h>

enum { N_FORMATS = 4 };

static const struct hr_trace_format formats[] = {
    {"auto", "recognised by the file's content"},
    {"csv", "Headroom's own CSV, or any other CSV through a column map"},
    {"swf", "Standard Workload Format of the Parallel Workloads Archive; processors become GPUs"},
    {"philly", "Microsoft Philly jobs: timestamp,duration,num_gpus,gpu_time,cluster"},
    {"openb", "Alibaba openb pods (cluster-trace-gpu-v2023): name,cpu_milli,memory_mib,num_gpu,gpu_milli,..."},
    {NULL, NULL}};

/* In the order of `formats` without "auto". */
static enum hr_status (*const readers[N_FORMATS])(struct hr__reader *) = {hr__read_csv, hr__read_swf, hr__read_philly,
                                                                          hr__read_openb};

const struct hr_trace_format *hr_trace_formats(void) {
  return formats;
}

static enum hr_status unknown_format(const char *name, struct hr_error *error) {
  const char *words[N_FORMATS + 2];
  for (size_t i = 0; i < N_FORMATS + 2; i++) words[i] = formats[i].name;
  const char *nearest = hr_nearest_word(name, words);
  return hr_fail(error, HR_BAD_INPUT,
                 "trace format '%.60s' is not known%s%s%s; formats are auto, csv, swf, philly and openb", name,
                 nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

static bool has_map(const struct hr_trace_options *options) {
  return options->map && options->map->count;
}

/* The format that was asked for, else what a column map says about it; NULL: look at the content. */
static enum hr_status asked_format(const struct hr_trace_options *options, const char **name, struct hr_error *error) {
  *name = NULL;
  const char *asked = options->format ? options->format : "auto";
  for (size_t i = 0; formats[i].name; i++)
    if (strcmp(formats[i].name, asked) == 0) *name = formats[i].name;
  if (!*name) return unknown_format(asked, error);
  if (strcmp(*name, "auto") == 0) *name = has_map(options) ? "csv" : NULL;
  if (*name && has_map(options) && strcmp(*name, "csv") != 0)
    return hr_fail(error, HR_BAD_INPUT, "a column map is for CSV files; format '%s' has fixed columns", *name);
  return HR_OK;
}

static enum hr_status read_rows(struct hr__reader *reader, const char *format) {
  for (size_t i = 0; i < N_FORMATS; i++)
    if (strcmp(formats[i + 1].name, format) == 0) return readers[i](reader);
  return HR_INTERNAL;
}

static enum hr_status note_fractions(struct hr__reader *reader) {
  if (!reader->n_fractions || reader->untimed) return HR_OK;
  enum hr_status status = hr_notes_add(
      reader->notes, "%llu jobs ask for a fraction of a GPU: a pool that shares its GPUs gives it, others a whole one",
      (unsigned long long)reader->n_fractions);
  return status == HR_OK ? HR_OK : hr__reader_no_memory(reader);
}

static enum hr_status build(struct hr__reader *reader, const char *format, struct hr_trace **trace) {
  reader->builder = hr_trace_builder_create(reader->path, format);
  if (!reader->builder) return hr__reader_no_memory(reader);
  reader->notes = hr_trace_builder_notes(reader->builder);
  enum hr_status status = read_rows(reader, format);
  if (status == HR_OK) status = note_fractions(reader);
  if (status == HR_OK)
    status = hr_trace_builder_finish(reader->builder, reader->dated, reader->lenient, trace, reader->error);
  hr_trace_builder_destroy(reader->builder);
  return status;
}

enum hr_status hr_trace_read(const char *path, const struct hr_trace_options *options, struct hr_trace **trace,
                             struct hr_error *error) {
  *trace = NULL;
  const struct hr_trace_options defaults = {0};
  if (!options) options = &defaults;
  const char *format;
  enum hr_status status = asked_format(options, &format, error);
  if (status != HR_OK) return status;
  struct hr__reader reader = {
      .path = path, .map = options->map, .lenient = options->lenient, .error = error, .untimed = options->untimed};
  status = hr__input_open(path, &reader.input, error);
  if (status != HR_OK) return status;
  if (!format) format = hr__detect_format(hr__input_peek(reader.input));
  status = build(&reader, format, trace);
  hr__input_close(reader.input);
  return status;
}
