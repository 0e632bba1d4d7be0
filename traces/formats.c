/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a path to a trace: which format, which reader, and what was assumed. */

#include "traces/formats.h"
#include "traces/decode.h"
#include "traces/packed.h"

#include <string.h>

/* Name, reader, whether it has parameters, what a trace of it cannot tell (told as a note), and what the format is. */
#define FORMAT_TABLE(X)                                                                                                \
  X("csv", hr__read_csv, false, NULL, "Headroom's own CSV, or any other CSV through a column map")                     \
  X("swf", hr__read_swf, false, NULL,                                                                                  \
    "Standard Workload Format of the Parallel Workloads Archive; processors become GPUs")                              \
  X("philly", hr__read_philly, false, NULL, "Microsoft Philly jobs: timestamp,duration,num_gpus,gpu_time,cluster")     \
  X("openb", hr__read_openb, false, NULL,                                                                              \
    "Alibaba openb pods (cluster-trace-gpu-v2023): name,cpu_milli,memory_mib,num_gpu,gpu_milli,...")                   \
  X("sacct", hr__read_sacct, false, NULL, "Slurm's accounting, as sacct --parsable2 prints it")                        \
  X("kubernetes", hr__read_kubernetes, true, NULL,                                                                     \
    "Kubernetes Jobs and Pods, Kueue Workloads: kubectl get ... -o json")                                              \
  X("philly-log", hr__read_philly_log, false, "limits",                                                                \
    "Microsoft Philly's cluster_job_log: jobs with their attempts")                                                    \
  X("helios", hr__read_helios, false, "limits",                                                                        \
    "SenseTime Helios cluster_log.csv: job_id,user,vc,gpu_num,cpu_num,node_num,...")                                   \
  X("pai2020", hr__read_pai2020, true, "limits",                                                                       \
    "Alibaba PAI pai_task_table.csv (v2020); users from pai2020:jobs=FILE,tags=FILE")                                  \
  X("spot2026", hr__read_spot2026, false, "limits, users, waits and outcomes",                                         \
    "Alibaba job_info_df.csv (cluster-trace-v2026-spot-gpu)")                                                          \
  X("acme", hr__read_acme, false, "limits and tenants", "Shanghai AI Lab Acme trace_seren.csv and trace_kalos.csv")    \
  X("gavel", hr__read_gavel, true, "limits, users and waits",                                                          \
    "Gavel traces; run times from gavel:throughputs=FILE,reference=v100")                                              \
  X("azure-llm", hr__read_azure_llm, true, "limits, users and waits",                                                  \
    "Azure LLM requests; azure-llm:prefill=10000,decode=50,gpu_milli=50")                                              \
  X("batsim", hr__read_batsim, true, "users and waits",                                                                \
    "Batsim workloads with delays or homogeneous parallel tasks; batsim:mflops=1000")

#define FORMAT_ENTRY(name, reader, has_params, untold, summary) {name, summary},
static const struct hr_trace_format formats[] = {{"auto", "recognised by the file's content"},
                                                 FORMAT_TABLE(FORMAT_ENTRY) /* those of text */
                                                 {"packed", "what 'headroom trace pack' writes: columns that are "
                                                            "mapped, not read"},
                                                 {NULL, NULL}};
#undef FORMAT_ENTRY

enum { N_READERS = sizeof formats / sizeof *formats - 3 };

/* In the order of `formats` without "auto" and "packed", which is no text to be read. */
static const struct {
  enum hr_status (*read)(struct hr__reader *);
  bool has_params;
  const char *untold;
} readers[N_READERS] = {
#define FORMAT_READER(name, reader, has_params, untold, summary) {reader, has_params, untold},
    FORMAT_TABLE(FORMAT_READER)
#undef FORMAT_READER
};

const struct hr_trace_format *hr_trace_formats(void) {
  return formats;
}

const struct hr_trace_format *hr_trace_format_find(const char *name) {
  size_t length = strcspn(name, ":");
  for (const struct hr_trace_format *at = formats; at->name; at++)
    if (strlen(at->name) == length && memcmp(at->name, name, length) == 0) return at;
  return NULL;
}

static enum hr_status unknown_format(const char *name, struct hr_error *error) {
  const char *words[sizeof formats / sizeof *formats];
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) words[i] = formats[i].name;
  const char *nearest = hr_nearest_word(name, words);
#define FORMAT_NAME(name, ...) " " name
  return hr_fail(error, HR_BAD_INPUT, "trace format '%.60s' is not known%s%s%s; formats: auto%s packed", name,
                 nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "",
                 FORMAT_TABLE(FORMAT_NAME));
#undef FORMAT_NAME
}

static bool has_map(const struct hr_trace_options *options) {
  return options->map && options->map->count;
}

/* "auto" comes before those with a reader, "packed" after them. */
static bool has_params(const struct hr_trace_format *format) {
  size_t number = (size_t)(format - formats);
  return number >= 1 && number <= N_READERS && readers[number - 1].has_params;
}

/* The format that was asked for, else what a column map says about it; NULL: look at the content. */
static enum hr_status asked_format(const struct hr_trace_options *options, const char **name, struct hr_error *error) {
  const char *asked = options->format ? options->format : "auto", *colon = strchr(asked, ':');
  const struct hr_trace_format *format = hr_trace_format_find(asked);
  *name = format ? format->name : NULL;
  if (!format) return unknown_format(asked, error);
  if (colon && !has_params(format))
    return hr_fail(error, HR_BAD_INPUT, "trace format '%s' has no parameters, and '%.60s' are some", *name, colon + 1);
  if (strcmp(*name, "auto") == 0) *name = has_map(options) ? "csv" : NULL;
  if (*name && has_map(options) && strcmp(*name, "csv") != 0)
    return hr_fail(error, HR_BAD_INPUT, "a column map is for CSV files; format '%s' has fixed columns", *name);
  return HR_OK;
}

static enum hr_status read_rows(struct hr__reader *reader, const char *format) {
  size_t number = (size_t)(hr_trace_format_find(format) - formats) - 1;
  enum hr_status status = readers[number].read(reader);
  const char *untold = readers[number].untold;
  if (status != HR_OK || !untold || reader->untimed) return status;
  bool limits = strncmp(untold, "limits", strlen("limits")) == 0;
  status = hr_notes_add(reader->notes, "format '%s' does not tell %s%s", format, untold,
                        limits ? "; a policy that goes by limits is given run times" : "");
  return status == HR_OK ? HR_OK : hr__reader_no_memory(reader);
}

static enum hr_status note_fractions(struct hr__reader *reader) {
  if (reader->untimed) return HR_OK;
  return hr__reader_note_count(
      reader, reader->n_fractions,
      (struct hr__count_words){"job asks", "jobs ask",
                               " for a fraction of a GPU: a pool that shares its GPUs gives it, others a whole one"});
}

static enum hr_status build(struct hr__reader *reader, const char *format, bool streamed, struct hr_trace **trace) {
  reader->builder = hr_trace_builder_create(reader->path, format);
  if (!reader->builder) return hr__reader_no_memory(reader);
  if (streamed) hr__builder_stream(reader->builder);
  reader->notes = hr_trace_builder_notes(reader->builder);
  enum hr_status status = read_rows(reader, format);
  if (status == HR_OK) status = note_fractions(reader);
  if (status == HR_OK)
    status = hr_trace_builder_finish(reader->builder, reader->dated, reader->lenient, trace, reader->error);
  hr_trace_builder_destroy(reader->builder);
  return status;
}

static enum hr_status unknown_json(const char *path, struct hr_error *error) {
  return hr_fail(
      error, HR_BAD_INPUT,
      "%s: is JSON, but of no known trace: a list of Kubernetes objects has \"items\", Philly's cluster_job_log "
      "\"attempts\", a Batsim workload \"jobs\" and \"profiles\"",
      path);
}

enum hr_status hr_trace_read(const char *path, const struct hr_trace_options *options, struct hr_trace **trace,
                             struct hr_error *error) {
  *trace = NULL;
  const struct hr_trace_options defaults = {0};
  if (!options) options = &defaults;
  const char *format;
  enum hr_status status = asked_format(options, &format, error);
  if (status != HR_OK) return status;
  bool is_stdin = strcmp(path, "-") == 0;
  const char *place = is_stdin ? "/dev/stdin" : path; /* which may be a plain file, too */
  if (hr__is_packed(place))
    return hr__unpack(place, options->streamed, trace, error); /* format and map are about text */
  if (is_stdin) path = hr__standard_input;
  struct hr__reader reader = {
      .path = path, .map = options->map, .lenient = options->lenient, .error = error, .untimed = options->untimed};
  const char *colon = options->format ? strchr(options->format, ':') : NULL;
  if (colon) reader.params = colon + 1;
  status = hr__input_open(path, &reader.input, error);
  if (status == HR_OK && format && strcmp(format, "packed") == 0)
    status = hr_fail(error, HR_BAD_INPUT, "%s: is not a packed trace; 'headroom trace pack' makes one", path);
  if (status != HR_OK) {
    hr__input_close(reader.input);
    return status;
  }
  if (!format) format = hr__detect_format(hr__input_peek(reader.input));
  status = format ? build(&reader, format, options->streamed, trace) : unknown_json(path, error);
  hr__input_close(reader.input);
  return status;
}
