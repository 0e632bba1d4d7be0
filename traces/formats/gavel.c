/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Traces of Gavel (stanford-futuredata/gavel; Narayanan et al., OSDI'20): one job per line, fields separated by tabs,
   no header. A line has 6, 7, 9 or 10 fields, depending on the version of Gavel that wrote it. A job has a number of
   steps. Its run time is steps / throughput. The throughput is the number of steps per second that this type of job
   reaches on as many GPUs of the reference type as the job requests. Throughputs are in a table that was published
   with Gavel. Parameters of the format specify the file of the table and the reference type. */

#include "headroom/trace_files.h"
#include "traces/csv/csv.h"
#include "traces/formats/formats.h"
#include "traces/json/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct throughputs {
  struct hr__json_file file;
  const cJSON *gpu; /* the part of the table for the requested GPU type */
};

static enum hr_status no_such_gpu(const char *path, const char *gpu, const cJSON *tree, struct hr_error *error) {
  enum { MAX_TYPES = 16 };
  const char *types[MAX_TYPES + 1];
  size_t n = 0;
  for (const cJSON *type = tree->child; type && n < MAX_TYPES; type = type->next)
    if (type->string) types[n++] = type->string;
  types[n] = NULL;
  const char *nearest = hr_nearest_word(gpu, types);
  return hr_fail(error, HR_BAD_INPUT, "%s: no throughputs for GPU type '%.60s'%s%.60s%s", path, gpu,
                 nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

static void finish_throughputs(struct throughputs *throughputs) {
  hr__json_file_finish(&throughputs->file);
  throughputs->gpu = NULL;
}

/* Reads `simulation_throughputs.json`. The file has nested objects with three levels of keys: a GPU type, then "('JOB
   TYPE', GPUS)", then the co-located job. The third key "null" means that the job runs alone. */
static enum hr_status read_throughputs(const char *path, const char *gpu, struct throughputs *throughputs,
                                       struct hr_error *error) {
  enum hr_status status = hr__json_file_read(path, &throughputs->file, error);
  if (status != HR_OK) return status;
  const cJSON *tree = throughputs->file.tree;
  throughputs->gpu = cJSON_IsObject(tree) ? cJSON_GetObjectItemCaseSensitive(tree, gpu) : NULL;
  if (cJSON_IsObject(throughputs->gpu)) return HR_OK;
  status = no_such_gpu(path, gpu, tree, error);
  finish_throughputs(throughputs);
  return status;
}

/* Returns the steps per second of a job that runs alone on `gpus` GPUs; 0 if the table has no such entry. */
static double throughput_of(const struct throughputs *throughputs, struct hr_text job_type, uint32_t gpus) {
  enum { MAX_KEY = 300 };
  char key[MAX_KEY];
  int length = snprintf(key, sizeof key, "('%.*s', %u)", (int)(job_type.length < MAX_KEY ? job_type.length : MAX_KEY),
                        job_type.at, gpus);
  if (length < 0 || length >= MAX_KEY) return 0;
  const cJSON *measured = cJSON_GetObjectItemCaseSensitive(throughputs->gpu, key);
  const cJSON *alone = cJSON_GetObjectItemCaseSensitive(measured, "null");
  return cJSON_IsNumber(alone) && alone->valuedouble > 0 ? alone->valuedouble : 0;
}

/* ---- Jobs -------------------------------------------------------------------------------------------- */

struct gavel_row {
  struct hr_text job_type;
  int64_t arrival_us;
  uint64_t steps;
  uint32_t scale_factor;
};

#define ROW(member) offsetof(struct gavel_row, member)
static const struct hr__csv_column columns[] = {
    {"job_type", NULL, HR__TEXT, true, true, ROW(job_type), 0},
    {"total_steps", NULL, HR__STEPS, true, true, ROW(steps), 0},
    {"scale_factor", NULL, HR__TASKS, true, true, ROW(scale_factor), 0},
    {"arrival_time", NULL, HR__INSTANT, true, true, ROW(arrival_us), HR_SECOND_US}};
#undef ROW

struct gavel {
  struct hr__reader *reader;
  struct throughputs throughputs;
};

static enum hr_status on_row(void *self, const void *data, uint64_t line) {
  struct gavel *gavel = self;
  const struct gavel_row *row = data;
  struct hr__row_fault fault = {.line = line, .column = "job_type", .value = row->job_type};
  fault.fault = "not in the table of throughputs with that many GPUs";
  double per_s = throughput_of(&gavel->throughputs, row->job_type, row->scale_factor);
  if (per_s <= 0) return hr__reader_bad_row(gavel->reader, &fault);
  double work_us = (double)row->steps / per_s * (double)HR_SECOND_US;
  fault = (struct hr__row_fault){.line = line, .fault = "the job would run for more than 100000000000 s"};
  if (!(work_us <= (double)HR_MAX_INPUT_US)) return hr__reader_bad_row(gavel->reader, &fault);
  struct hr_job_record job;
  hr_job_record_init(&job);
  job.submit_us = row->arrival_us;
  job.work_us = llround(work_us);
  job.gpus = job.tasks = row->scale_factor;
  job.model = row->job_type;
  job.class_ = HR_CLASS_TRAINING;
  return hr__reader_add(gavel->reader, &job, line);
}

static size_t count_fields(struct hr_text line) {
  size_t n = 1;
  for (size_t i = 0; i < line.length; i++) n += line.at[i] == '\t';
  return n;
}

/* Returns the columns of the version with `n_fields` fields; NULL if no such version exists. */
static const char *const *header_of(size_t n_fields) {
  static const char *const six[] = {"job_type",     "command", "num_steps_arg", "total_steps", "arrival_time",
                                    "scale_factor", NULL};
  static const char *const seven[] = {"job_type",    "command",      "num_steps_arg", "needs_data_dir",
                                      "total_steps", "arrival_time", "scale_factor",  NULL};
  static const char *const nine[] = {
      "job_type",     "command",         "num_steps_arg", "needs_data_dir", "total_steps",
      "scale_factor", "priority_weight", "SLO",           "arrival_time",   NULL};
  static const char *const ten[] = {
      "job_type",    "command",      "working_directory", "num_steps_arg", "needs_data_dir",
      "total_steps", "scale_factor", "priority_weight",   "SLO",           "arrival_time",
      NULL};
  return n_fields == 6 ? six : n_fields == 7 ? seven : n_fields == 9 ? nine : n_fields == 10 ? ten : NULL;
}

static enum hr_status read_rows(struct gavel *gavel, const char *const *header) {
  static const char *const ignored[] = {
      "command", "working_directory", "num_steps_arg", "needs_data_dir", "priority_weight", "SLO", NULL};
  static const struct gavel_row blank = {.steps = 0};
  struct gavel_row row;
  const struct hr__csv_schema schema = {HR__CSV_ROWS(columns, row, blank, on_row, gavel), .ignored = ignored,
                                        .header = header, .separator = '\t', .unquoted = true};
  return hr__csv_read_rows(gavel->reader, &schema);
}

static enum hr_status note_reference(const struct gavel *gavel, const char *gpu, const char *path) {
  enum hr_status status =
      hr_notes_add(gavel->reader->notes, "run times are steps / throughput on %.60s from %.200s", gpu, path);
  return status == HR_OK ? HR_OK : hr__reader_no_memory(gavel->reader);
}

static enum hr_status read_gavel(struct hr__reader *reader) {
  struct hr_text file = {NULL, 0}, reference = {"v100", strlen("v100")};
  const struct hr__reader_param params[] = {{"throughputs", 0, 0, NULL, &file}, {"reference", 0, 0, NULL, &reference}};
  enum hr_status status = hr__reader_params(reader, "gavel", params, sizeof params / sizeof *params);
  if (status != HR_OK) return status;
  if (!file.length)
    return hr_fail(reader->error, HR_BAD_INPUT,
                   "%s: Gavel traces have steps, not run times; give the throughput table and its GPU type: --format "
                   "gavel:throughputs=FILE,reference=v100",
                   reader->path);
  size_t n_fields = count_fields(hr__first_line(hr__input_peek(reader->input)));
  const char *const *header = header_of(n_fields);
  if (!header)
    return hr_fail(reader->error, HR_BAD_INPUT,
                   "%s:1: found %zu field%s separated by tabs; a Gavel trace has 6, 7, 9 or 10", reader->path, n_fields,
                   hr__plural(n_fields));
  char path[4096], gpu[64];
  snprintf(path, sizeof path, "%.*s", (int)file.length, file.at);
  snprintf(gpu, sizeof gpu, "%.*s", (int)reference.length, reference.at);
  struct gavel gavel = {.reader = reader};
  status = read_throughputs(path, gpu, &gavel.throughputs, reader->error);
  if (status != HR_OK) return status;
  status = read_rows(&gavel, header);
  finish_throughputs(&gavel.throughputs);
  return status == HR_OK ? note_reference(&gavel, gpu, path) : status;
}

const struct hr__format_reader hr__gavel_reader = {
    .read = read_gavel, .has_params = true, .missing = "limits, users and waits"};
