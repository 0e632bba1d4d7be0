/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of trace formats, the detection of a format by the beginning of a file, hr_trace_read(), and requests and
   states of jobs in notations that several formats use. JSON formats are detected by their keys. All other text formats
   are detected by the first line that is neither blank nor a `#` comment. */

#include "traces/formats/formats.h"

#include "base/process.h"
#include "traces/core/fields.h"
#include "traces/core/reader.h"
#include "traces/csv/csv.h"

#include <string.h>
#include <strings.h>

/* ---- Detection ------------------------------------------------------------------------------------- */

enum { SWF_FIELDS = 18 };

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

static bool is_number_character(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/* Returns true if the line has at least 18 numbers separated by spaces. */
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

/* Splits a line at `separator`. Quotes have no meaning. Returns the number of fields, at most `max`. */
static size_t split(struct hr_text line, char separator, struct hr_text *field, size_t max) {
  size_t n = 0;
  for (const char *end = line.at + line.length; n < max;) {
    field[n++] = hr__text_take(&line, separator);
    if (field[n - 1].at + field[n - 1].length == end) break;
  }
  return n;
}

static bool is_name(struct hr_text text, const char *required) {
  return text.length == strlen(required) && strncasecmp(text.at, required, text.length) == 0;
}

static bool is_number(struct hr_text text) {
  const struct hr__number_rule rule = {1, INT64_MAX, false};
  uint64_t value;
  enum hr__number_fault fault = hr__number_parse(text, &rule, &value);
  return fault == HR__NUMBER_FINE || fault == HR__NUMBER_NEGATIVE;
}

enum { MAX_COLUMNS = 200 };

/* Returns true if the header has all required columns, in any order and ignoring case. `required` is
   NULL-terminated. */
static bool has_columns(struct hr_text line, char separator, const char *const *required) {
  struct hr_text field[MAX_COLUMNS];
  size_t n = split(line, separator, field, MAX_COLUMNS);
  for (; *required; required++) {
    size_t i = 0;
    while (i < n && !is_name(field[i], *required)) i++;
    if (i == n) return false;
  }
  return true;
}

static bool is_sacct(struct hr_text line) {
  static const char *const by_name[] = {"JobID", NULL}, *const by_number[] = {"JobIDRaw", NULL};
  bool bars = line.length && memchr(line.at, '|', line.length);
  return bars && (has_columns(line, '|', by_name) || has_columns(line, '|', by_number));
}

/* Returns true if the line is from a table of PAI. These tables have no header; they are detected by their number of
   fields and by the word in the status field. Only the task table can be read. The job and instance tables are
   detected, too, so that the error can name them. */
static bool is_pai(struct hr_text line) {
  static const char *const words[] = {"Terminated", "Failed", "Running", "Waiting"};
  static const struct { size_t n_fields, status; } tables[] = {{10, 3}, {6, 3}, {9, 5}};
  enum { MAX_FIELDS = 10 };
  struct hr_text field[MAX_FIELDS + 1];
  if (hr__begins_with_names(line, "job_name,task_name,inst_num,status")) return true;
  size_t n = split(line, ',', field, MAX_FIELDS + 1);
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    for (size_t k = 0; n == tables[i].n_fields && k < sizeof words / sizeof *words; k++)
      if (hr__text_is(field[tables[i].status], words[k])) return true;
  return false;
}

/* Returns true if the line is from a trace of Gavel, which has no header. In all versions of the format, the last
   two fields of a line are numbers and the first field is not. */
static bool is_gavel(struct hr_text line) {
  enum { MAX_FIELDS = 10 };
  struct hr_text field[MAX_FIELDS + 1];
  size_t n = split(line, '\t', field, MAX_FIELDS + 1);
  bool counted = n == 6 || n == 7 || n == 9 || n == 10;
  return counted && is_number(field[n - 1]) && is_number(field[n - 2]) && !is_number(field[0]);
}

static const char *table_format(struct hr_text line) {
  static const struct {
    const char *format, *columns[6];
  } tables[] = {{"helios", {"job_id", "vc", "gpu_num", "node_num", "submit_time"}},
                {"acme", {"job_id", "node_num", "gpu_num", "type", "submit_time"}},
                {"spot2026", {"job_name", "gpu_model", "gpu_request", "worker_num", "job_type"}},
                {"azure-llm", {"TIMESTAMP", "ContextTokens", "GeneratedTokens"}},
                {"gaia", {"arrival_time", "length", "cpus"}},
                {"lwa", {"start_step", "length_steps"}}};
  if (is_sacct(line)) return "sacct";
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    if (has_columns(line, ',', tables[i].columns)) return tables[i].format;
  if (is_pai(line)) return "pai2020";
  return is_gavel(line) ? "gavel" : "csv";
}

static bool matches(struct hr_text text, const char *required) {
  size_t length = strlen(required);
  const char *end = text.at + text.length;
  for (const char *at = text.at; (size_t)(end - at) >= length; at++) {
    at = memchr(at, *required, (size_t)(end - at));
    if (!at || (size_t)(end - at) < length) return false;
    if (memcmp(at, required, length) == 0) return true;
  }
  return false;
}

/* Returns the first JSON format of the table with a key that occurs in the text; NULL if none exists. */
static const char *json_format(struct hr_text beginning) {
  static const struct {
    const char *key, *format;
  } known[] = {{"\"apiVersion\"", "kubernetes"}, {"\"attempts\"", "philly-log"}, {"\"subtime\"", "batsim"},
               {"\"profiles\"", "batsim"},       {"\"jobid\"", "philly-log"},    {"\"items\"", "kubernetes"}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (matches(beginning, known[i].key)) return known[i].format;
  return NULL;
}

/* Returns the name of the format of a file with this beginning. The default is "csv". For JSON of an unknown format,
   returns NULL. */
static const char *detect_format(struct hr_text beginning) {
  struct hr_text line = hr__first_line(beginning);
  if (hr__begins_with(line, "{") || hr__begins_with(line, "[")) return json_format(beginning);
  if (hr__begins_with(line, ";") || is_swf_row(line)) return "swf";
  if (hr__begins_with_names(line, "timestamp,duration,num_gpus,gpu_time,cluster")) return "philly";
  if (hr__begins_with_names(line, "name,cpu_milli,memory_mib,num_gpu,gpu_milli")) return "openb";
  return table_format(line);
}

/* ---- Formats --------------------------------------------------------------------------------------- */

/* The text formats: name, reader, summary. */
#define FORMAT_TABLE(X)                                                                                                \
  X("csv", hr__csv_reader, "Headroom's own CSV, or any other CSV with a column map")                                   \
  X("swf", hr__swf_reader, "Standard Workload Format of the Parallel Workloads Archive; processors become GPUs")       \
  X("philly", hr__philly_reader, "Microsoft Philly jobs: timestamp,duration,num_gpus,gpu_time,cluster")                \
  X("openb", hr__openb_reader,                                                                                         \
    "Alibaba openb pods (cluster-trace-gpu-v2023): name,cpu_milli,memory_mib,num_gpu,gpu_milli,...")                   \
  X("sacct", hr__sacct_reader, "Slurm accounting from sacct --parsable2")                                              \
  X("kubernetes", hr__kubernetes_reader, "Kubernetes Jobs and Pods, Kueue Workloads: kubectl get ... -o json")         \
  X("philly-log", hr__philly_log_reader, "Microsoft Philly's cluster_job_log: jobs with their attempts")               \
  X("helios", hr__helios_reader, "SenseTime Helios cluster_log.csv: job_id,user,vc,gpu_num,cpu_num,node_num,...")      \
  X("pai2020", hr__pai2020_reader, "Alibaba PAI pai_task_table.csv (v2020); users from pai2020:jobs=FILE,tags=FILE")   \
  X("spot2026", hr__spot2026_reader, "Alibaba job_info_df.csv (cluster-trace-v2026-spot-gpu)")                         \
  X("acme", hr__acme_reader, "Shanghai AI Lab Acme trace_seren.csv and trace_kalos.csv")                               \
  X("gavel", hr__gavel_reader, "Gavel traces; run times from gavel:throughputs=FILE,reference=v100")                   \
  X("azure-llm", hr__azure_llm_reader, "Azure LLM requests; azure-llm:prefill=10000,decode=50,gpu_milli=50")           \
  X("batsim", hr__batsim_reader, "Batsim workloads with delays or homogeneous parallel tasks; batsim:mflops=1000")     \
  X("gaia", hr__gaia_reader, "Jobs of GAIA: arrival_time,length,cpus; gaia:tick_s=5,short_s=7200")                     \
  X("lwa", hr__lwa_reader, "Jobs of Let's Wait Awhile in steps of 30 min: start_step,length_steps")

#define FORMAT_ENTRY(name, reader, summary) {name, summary},
static const struct hr_trace_format formats[] = {{"auto", "detected from the file's content"},
                                                 FORMAT_TABLE(FORMAT_ENTRY) /* text formats */
                                                 {"packed", "memory-mapped columns from 'headroom trace pack'"},
                                                 {NULL, NULL}};
#undef FORMAT_ENTRY

enum { N_READERS = sizeof formats / sizeof *formats - 3 };

/* Readers, in the order of `formats`. "auto" and "packed" are not text formats and have no reader. */
static const struct hr__format_reader *const readers[N_READERS] = {
#define FORMAT_READER(name, reader, summary) &reader,
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
  return hr_fail(error, HR_BAD_INPUT, "unknown trace format '%.60s'%s%s%s; formats: auto%s packed", name,
                 nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "",
                 FORMAT_TABLE(FORMAT_NAME));
#undef FORMAT_NAME
}

static bool has_map(const struct hr_trace_options *options) {
  return options->map && options->map->count;
}

static bool has_rules(const struct hr_trace_options *options) {
  for (size_t i = 0; has_map(options) && i < options->map->count; i++)
    if (options->map->entry[i].pattern) return true;
  return false;
}

/* Returns the first field of the map that only CSV files can map; NULL if none exists. In other tables, only texts and
   the class can be mapped, because the reader of the format computes the other fields from several columns. */
static const char *csv_field(const struct hr_trace_options *options) {
  static const char *const any[] = {"class", "tenant", "queue", "user", "model"};
  for (size_t i = 0; has_map(options) && i < options->map->count; i++) {
    const char *field = options->map->entry[i].field;
    size_t k = 0;
    while (k < sizeof any / sizeof *any && strcmp(field, any[k]) != 0) k++;
    if (k == sizeof any / sizeof *any) return field;
  }
  return NULL;
}

static bool maps(const struct hr_trace_options *options, const char *field) {
  for (size_t i = 0; has_map(options) && i < options->map->count; i++)
    if (!options->map->entry[i].pattern && strcmp(options->map->entry[i].field, field) == 0) return true;
  return false;
}

/* Returns true if a file that was detected as `format` is read as CSV because of the map. These conditions must be
   true:
   - The map has a field that only CSV files can map.
   - The format is a table that is separated by commas.
   - The map has at least one mandatory field, or the header has all of them. */
static bool is_mapped_csv(const struct hr_trace_options *options, const char *format, struct hr_text header) {
  static const char *const others[] = {"sacct", "swf", "gavel", "kubernetes", "philly-log", "batsim", NULL};
  if (!csv_field(options)) return false;
  for (size_t i = 0; others[i]; i++)
    if (strcmp(format, others[i]) == 0) return false;
  bool is_complete = true;
  for (size_t i = 0; i < HR__N_FIELDS; i++) {
    const char *const column[] = {hr__fields[i].name, NULL};
    if (!hr__fields[i].must_exist) continue;
    if (maps(options, hr__fields[i].field)) return true;
    is_complete = is_complete && has_columns(header, ',', column);
  }
  return is_complete;
}

/* Returns the reader of a format; NULL for "auto", "packed" and unknown formats. */
static const struct hr__format_reader *reader_of(const char *format) {
  const struct hr_trace_format *found = hr_trace_format_find(format);
  size_t number = found ? (size_t)(found - formats) : 0;
  return number >= 1 && number <= N_READERS ? readers[number - 1] : NULL;
}

/* Returns an error if the columns of the format have no names, or if the map has a field that it cannot map. */
static enum hr_status check_map(const struct hr_trace_options *options, const char *path, const char *format,
                                struct hr_error *error) {
  const struct hr__format_reader *reader = reader_of(format);
  const char *field = csv_field(options);
  if (!has_map(options) || strcmp(format, "csv") == 0) return HR_OK;
  if (!reader || !reader->has_columns)
    return hr_fail(error, HR_BAD_INPUT,
                   "%s: column maps and patterns need named columns, which format '%s' does not have", path, format);
  if (!field) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT,
                 "%s: '%s' cannot be mapped in format '%s': %s accepts class, tenant, queue, user and model", path,
                 field, format, hr__phrase("--map"));
}

/* Sets `*name` to the requested format. `*name` is NULL if the format must be detected from the content. */
static enum hr_status requested_format(const struct hr_trace_options *options, const char *path, const char **name,
                                       struct hr_error *error) {
  const char *requested = options->format ? options->format : "auto", *colon = strchr(requested, ':');
  const struct hr_trace_format *format = hr_trace_format_find(requested);
  *name = format ? format->name : NULL;
  if (!format) return unknown_format(requested, error);
  const struct hr__format_reader *reader = reader_of(requested);
  if (colon && !(reader && reader->has_params))
    return hr_fail(error, HR_BAD_INPUT, "trace format '%s' has no parameters, but '%.60s' was given", *name, colon + 1);
  if (strcmp(*name, "auto") == 0) *name = NULL;
  return *name ? check_map(options, path, *name, error) : HR_OK;
}

static enum hr_status read_rows(struct hr__reader *reader, const char *format) {
  const struct hr__format_reader *rows = reader_of(format);
  if (!rows) return unknown_format(format, reader->error); /* "auto" and "packed" were handled before */
  enum hr_status status = rows->read(reader);
  const char *missing = rows->missing;
  if (status != HR_OK || !missing || reader->without_times) return status;
  bool limits = strncmp(missing, "limits", strlen("limits")) == 0;
  return hr__reader_noted(reader, hr_notes_add(reader->notes, "format '%s' has no %s%s", format, missing,
                                               limits ? "; policies that use limits get the run times instead" : ""));
}

/* Adds notes on requests that are not for a fixed number of whole GPUs. */
static enum hr_status note_parts(struct hr__reader *reader) {
  if (reader->without_times) return HR_OK;
  const struct hr__count_note notes[] = {
      {reader->n_fractions, "job requests", "jobs request",
       " a fraction of a GPU: pools that share GPUs allocate the fraction, others a whole GPU"},
      {reader->n_elastic, "job is", "jobs are",
       " elastic ('min_gpus', 'max_gpus'): they have 'gpus' GPUs unless a policy resizes jobs (parameters 'elastic' "
       "and 'recovery' of 'queue', and models of schedulers)"},
      {reader->n_mig_types, "job has", "jobs have",
       " a MIG profile as GPU type, which is used as the profile of the job ('mig_profile')"}};
  return hr__reader_note_counts(reader, notes, sizeof notes / sizeof *notes);
}

static enum hr_status build(struct hr__reader *reader, const char *format, const struct hr_trace_options *options,
                            struct hr_trace **trace) {
  reader->builder = hr_trace_builder_create(reader->path, format);
  if (!reader->builder) return hr__reader_no_memory(reader);
  if (options->streamed)
    hr__builder_stream(reader->builder);
  else if (options->spooled)
    hr__builder_spool(reader->builder);
  reader->notes = hr_trace_builder_notes(reader->builder);
  enum hr_status status =
      hr__reader_noted(reader, hr__picks_create(reader->map, strcmp(format, "csv") == 0, &reader->picks));
  if (status == HR_OK) status = read_rows(reader, format);
  if (status == HR_OK) status = note_parts(reader);
  if (status == HR_OK) status = hr__reader_noted(reader, hr__picks_notes(reader->picks, reader->notes));
  if (status == HR_OK)
    status = hr_trace_builder_finish(reader->builder, reader->dated, reader->lenient, trace, reader->error);
  hr_trace_builder_destroy(reader->builder);
  hr__picks_destroy(reader->picks);
  return status;
}

/* Copies the jobs of a packed trace that had not failed. */
static enum hr_status copy_unfailed(const struct hr_trace *trace, struct hr_trace **copy, struct hr_error *error) {
  struct hr__rebuild rebuild;
  struct hr_job_record record;
  char id[HR_JOB_ID_BUFFER];
  enum hr_status status = hr__rebuild_begin(&rebuild, trace, error);
  for (uint32_t i = 0; i < trace->n_jobs && status == HR_OK; i++) {
    hr_trace_job_record(trace, (hr_job){i}, &record, id);
    if (trace->outcome[i] != HR_OUTCOME_FAILED)
      status = hr__rebuild_add(&rebuild, trace, (hr_job){i}, &record, error);
    else if (hr_trace_builder_leave_out(rebuild.builder, HR__HAD_FAILED, i + 1) != HR_OK)
      status = hr__rebuild_no_memory(trace, error);
  }
  return hr__rebuild_end(&rebuild, status, trace->dated, copy, error);
}

/* Replaces a packed trace by a copy without the jobs that had failed. A trace without failed jobs does not change.
   After an error, `*trace` is NULL. */
static enum hr_status drop_failed(struct hr_trace **trace, bool streamed, struct hr_error *error) {
  struct hr_trace *all = *trace;
  uint32_t job = 0;
  while (all->outcome && job < all->n_jobs && all->outcome[job] != HR_OUTCOME_FAILED) job++;
  if (!all->outcome || job == all->n_jobs) return HR_OK;
  *trace = NULL;
  enum hr_status status =
      streamed ? hr_fail(error, HR_BAD_INPUT,
                         "%s: the failed jobs of a packed trace cannot be left out in a streamed run; run without "
                         "--stream",
                         all->source)
               : copy_unfailed(all, trace, error);
  hr_trace_destroy(all);
  return status;
}

static enum hr_status unknown_json(const char *path, struct hr_text beginning, struct hr_error *error) {
  if (matches(beginning, "\"cluster\"") && matches(beginning, "\"pools\""))
    return hr_fail(error, HR_BAD_INPUT,
                   "%s: this is a scenario; expected a trace, such as the file that its \"trace\" names", path);
  return hr_fail(error, HR_BAD_INPUT,
                 "%s: JSON of an unknown trace format: a list of Kubernetes objects has \"items\", Philly's "
                 "cluster_job_log \"attempts\", a Batsim workload \"jobs\" and \"profiles\"",
                 path);
}

enum hr_status hr_trace_read(const char *path, const struct hr_trace_options *options, struct hr_trace **trace,
                             struct hr_error *error) {
  *trace = NULL;
  const struct hr_trace_options defaults = {0};
  if (!options) options = &defaults;
  const char *format;
  bool is_stdin = strcmp(path, "-") == 0;
  enum hr_status status = requested_format(options, is_stdin ? hr__standard_input : path, &format, error);
  if (status != HR_OK) return status;
  const char *place = is_stdin ? "/dev/stdin" : path; /* standard input may be a plain file */
  status = hr__packed_read(place, options, trace, error);
  if (*trace && has_rules(options)) {
    hr_trace_destroy(*trace);
    *trace = NULL;
    return hr_fail(error, HR_BAD_INPUT, "%s: a packed trace has no columns for the patterns of classes and tenants",
                   path);
  }
  if (*trace && options->drop_failed) return drop_failed(trace, options->streamed, error);
  if (status != HR_OK || *trace) return status; /* a packed trace needs no format and no column map */
  if (is_stdin) path = hr__standard_input;
  struct hr__reader reader = {.path = path,
                              .map = options->map,
                              .lenient = options->lenient,
                              .drop_failed = options->drop_failed,
                              .error = error,
                              .without_times = options->untimed};
  const char *colon = options->format ? strchr(options->format, ':') : NULL;
  if (colon) reader.params = colon + 1;
  status = hr__input_open(path, &reader.input, error);
  if (status == HR_OK && format && strcmp(format, "packed") == 0)
    status = hr_fail(error, HR_BAD_INPUT, "%s: not a packed trace; 'headroom trace pack' creates one", path);
  if (status != HR_OK) {
    hr__input_close(reader.input);
    return status;
  }
  struct hr_text beginning = hr__input_peek(reader.input);
  if (!format) {
    format = detect_format(beginning);
    if (format && is_mapped_csv(options, format, hr__first_line(beginning))) format = "csv";
  }
  status = format ? check_map(options, path, format, error) : unknown_json(path, beginning, error);
  if (status == HR_OK) status = build(&reader, format, options, trace);
  hr__input_close(reader.input);
  return status;
}

/* ---- Requests and states of jobs, in notations that several formats use ---------------------------- */

enum { WHOLE_MILLI = 1000 };

bool hr__request_milli(struct hr_job_record *job, uint64_t milli_per_task, uint64_t tasks, bool *rounded) {
  bool shared = milli_per_task > 0 && milli_per_task < WHOLE_MILLI;
  uint64_t whole = milli_per_task / WHOLE_MILLI + (milli_per_task % WHOLE_MILLI != 0);
  *rounded = !shared && milli_per_task % WHOLE_MILLI != 0;
  if (tasks == 0 || tasks > HR_MAX_GPUS || whole > HR_MAX_GPUS || whole * tasks > HR_MAX_GPUS) return false;
  job->tasks = (uint32_t)tasks;
  job->gpus = (uint32_t)(whole * tasks);
  job->gpu_milli = shared ? (uint32_t)milli_per_task : WHOLE_MILLI;
  return true;
}

bool hr__request_nodes(struct hr_job_record *job, uint64_t nodes) {
  if (nodes == 0 || nodes > HR_MAX_GPUS || job->gpus % nodes) return false;
  job->tasks = (uint32_t)nodes;
  job->cpu_milli /= job->tasks;
  job->mem_mib /= job->tasks;
  return true;
}

/* Job states are those of sacct(1). If the system ended a job (PREEMPTED, REQUEUED), its outcome is unknown: the job
   did not fail, and its user did not cancel it. */
#define ENDED(word, outcome)                                                                                           \
  {                                                                                                                    \
    word, {                                                                                                            \
      HR__STAGE_ENDED, outcome                                                                                         \
    }                                                                                                                  \
  }
#define LIVE(word, stage)                                                                                              \
  {                                                                                                                    \
    word, {                                                                                                            \
      stage, HR_OUTCOME_UNKNOWN                                                                                        \
    }                                                                                                                  \
  }
static const struct {
  const char *word;
  struct hr__slurm_state state;
} states[] = {ENDED("COMPLETED", HR_OUTCOME_COMPLETED),  ENDED("FAILED", HR_OUTCOME_FAILED),
              ENDED("CANCELLED", HR_OUTCOME_CANCELLED),  ENDED("TIMEOUT", HR_OUTCOME_FAILED),
              ENDED("NODE_FAIL", HR_OUTCOME_FAILED),     ENDED("OUT_OF_MEMORY", HR_OUTCOME_FAILED),
              ENDED("BOOT_FAIL", HR_OUTCOME_FAILED),     ENDED("DEADLINE", HR_OUTCOME_FAILED),
              ENDED("LAUNCH_FAILED", HR_OUTCOME_FAILED), ENDED("RECONFIG_FAIL", HR_OUTCOME_FAILED),
              ENDED("SPECIAL_EXIT", HR_OUTCOME_FAILED),  ENDED("REVOKED", HR_OUTCOME_CANCELLED),
              ENDED("PREEMPTED", HR_OUTCOME_UNKNOWN),    ENDED("REQUEUED", HR_OUTCOME_UNKNOWN),
              LIVE("PENDING", HR__STAGE_WAITING),        LIVE("REQUEUE_FED", HR__STAGE_WAITING),
              LIVE("REQUEUE_HOLD", HR__STAGE_WAITING),   LIVE("RESV_DEL_HOLD", HR__STAGE_WAITING),
              LIVE("CONFIGURING", HR__STAGE_RUNNING),    LIVE("RUNNING", HR__STAGE_RUNNING),
              LIVE("COMPLETING", HR__STAGE_RUNNING),     LIVE("RESIZING", HR__STAGE_RUNNING),
              LIVE("SIGNALING", HR__STAGE_RUNNING),      LIVE("STAGE_OUT", HR__STAGE_RUNNING),
              LIVE("STOPPED", HR__STAGE_RUNNING),        LIVE("SUSPENDED", HR__STAGE_RUNNING)};

bool hr__job_state_parse(struct hr_text text, struct hr__slurm_state *state) {
  struct hr_text word = hr__text_take(&text, ' ');
  if (word.length && word.at[word.length - 1] == '+') word.length--;
  for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
    if (!hr__text_is(word, states[i].word)) continue;
    *state = states[i].state;
    return true;
  }
  return false;
}
