/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Published logs of Slurm clusters: Helios `cluster_log.csv` (S-Lab-System-Group/HeliosData, SC'21) and Acme
 * `trace_seren.csv`, `trace_kalos.csv` (InternLM/AcmeTrace, NSDI'24). Both have the same kinds of columns: the total
 * numbers of nodes, GPUs and CPUs of a job, its state, and its submit, start and end times. The run time is end -
 * start. The column `duration` is not used, because in Kalos it includes the wait.
 */

#include "traces/csv/csv.h"
#include "traces/formats/formats.h"

#include <string.h>

struct log_row {
  struct hr_job_record job; /* until all columns are read, memory is per node */
  struct hr_text type, state;
  int64_t end_us, duration_us;
  uint32_t nodes;
};

#define ROW(member) offsetof(struct log_row, member)
#define COMMON_COLUMNS                                                                                                 \
  {"job_id", NULL, HR__TEXT, true, true, ROW(job.id), 0}, {"user", NULL, HR__TEXT, true, false, ROW(job.user), 0},     \
      {"gpu_num", NULL, HR__GPUS, true, true, ROW(job.gpus), 0},                                                       \
      {"cpu_num", NULL, HR__CPUS, true, false, ROW(job.cpu_milli), 0},                                                 \
      {"node_num", NULL, HR__GPUS, true, true, ROW(nodes), 0}, {"state", NULL, HR__TEXT, true, true, ROW(state), 0},   \
      {"submit_time", NULL, HR__INSTANT, true, true, ROW(job.submit_us), HR_SECOND_US},                                \
      {"start_time", NULL, HR__INSTANT_OR_NONE, true, false, ROW(job.recorded_start_us), HR_SECOND_US},                \
      {"end_time", NULL, HR__INSTANT_OR_NONE, true, false, ROW(end_us), HR_SECOND_US},                                 \
      {"duration", NULL, HR__DURATION, false, false, ROW(duration_us), HR_SECOND_US},

static const struct hr__csv_column helios_columns[] = {
    COMMON_COLUMNS{"vc", NULL, HR__TEXT, true, false, ROW(job.tenant), 0}};
static const struct hr__csv_column acme_columns[] = {
    COMMON_COLUMNS{"type", NULL, HR__TEXT, true, false, ROW(type), 0},
    {"mem_per_pod_GB", NULL, HR__GIB, false, false, ROW(job.mem_mib), 0}};
#undef COMMON_COLUMNS
#undef ROW

struct cluster_log {
  struct hr__reader *reader;
  /* n_uneven: jobs with GPUs that cannot be divided evenly among their nodes; n_other_duration: jobs with a value in
     column `duration` that differs from end - start */
  uint64_t n_uneven, n_other_duration;
};

/* Returns the class of a job type of Acme. Other job types have no class. */
static uint8_t class_of(struct hr_text type) {
  static const struct {
    const char *type;
    uint8_t class_;
  } classes[] = {{"Pretrain", HR_CLASS_TRAINING},
                 {"MLLM", HR_CLASS_TRAINING},
                 {"SFT", HR_CLASS_FINE_TUNE},
                 {"Evaluation", HR_CLASS_BATCH_INFERENCE},
                 {"Debug", HR_CLASS_INTERACTIVE}};
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
    if (strlen(classes[i].type) == type.length && memcmp(classes[i].type, type.at, type.length) == 0)
      return classes[i].class_;
  return HR_CLASS_UNKNOWN;
}

static enum hr_status add_job(struct cluster_log *log, const struct log_row *row, uint8_t outcome, uint64_t line) {
  struct hr_job_record job = row->job;
  job.work_us = row->end_us - job.recorded_start_us;
  job.mem_mib *= row->nodes;
  job.outcome = outcome;
  job.class_ = class_of(row->type);
  log->n_uneven += !hr__request_nodes(&job, row->nodes);
  log->n_other_duration += row->duration_us >= 0 && row->duration_us != job.work_us;
  return hr__reader_add(log->reader, &job, line);
}

static enum hr_status on_row(void *self, const void *data, uint64_t line) {
  struct cluster_log *log = self;
  const struct log_row *row = data;
  struct hr__row_fault fault = {.line = line, .column = "state", .value = row->state, .fault = "not a job state"};
  struct hr__slurm_state state;
  if (!hr__job_state_parse(row->state, &state)) return hr__reader_bad_row(log->reader, &fault);
  if (row->job.recorded_start_us == INT64_MIN)
    return hr__reader_leave_out(log->reader, "the job was never started", line);
  if (row->end_us == INT64_MIN) return hr__reader_leave_out(log->reader, "the job had not ended", line);
  fault = (struct hr__row_fault){.line = line, .fault = "the job ends before it starts"};
  if (row->end_us < row->job.recorded_start_us) return hr__reader_bad_row(log->reader, &fault);
  return add_job(log, row, state.outcome, line);
}

static enum hr_status read_log(struct hr__reader *reader, const struct hr__csv_column *columns, size_t n_columns,
                               const char *const *ignored, const char *hint) {
  struct cluster_log log = {.reader = reader};
  struct log_row row, blank = {.end_us = INT64_MIN, .duration_us = -1};
  hr_job_record_init(&blank.job);
  const struct hr__csv_schema schema = {.columns = columns,
                                        .n_columns = n_columns,
                                        .ignored = ignored,
                                        .missing_hint = hint,
                                        .row = &row,
                                        .blank_row = &blank,
                                        .row_bytes = sizeof row,
                                        .on_row = on_row,
                                        .self = &log};
  enum hr_status status = hr__csv_read_rows(reader, &schema);
  const struct hr__count_note notes[] = {
      {log.n_uneven, "job has", "jobs have", " GPUs that cannot be divided evenly among the nodes: each is one task"},
      {log.n_other_duration, "job has", "jobs have",
       " a 'duration' other than end_time - start_time; the latter is replayed"}};
  return status == HR_OK ? hr__reader_note_counts(reader, notes, sizeof notes / sizeof *notes) : status;
}

static enum hr_status read_helios(struct hr__reader *reader) {
  static const char *const ignored[] = {"queue", NULL};
  return read_log(reader, helios_columns, sizeof helios_columns / sizeof *helios_columns, ignored,
                  "a Helios cluster_log.csv has all of these columns");
}

const struct hr__format_reader hr__helios_reader = {.read = read_helios, .has_columns = true, .missing = "limits"};

static enum hr_status read_acme(struct hr__reader *reader) {
  static const char *const ignored[] = {"queue", "gpu_time", "shared_mem_per_pod", "fail_time", "stop_time", NULL};
  return read_log(reader, acme_columns, sizeof acme_columns / sizeof *acme_columns, ignored,
                  "an Acme trace_seren.csv or trace_kalos.csv has all of these columns");
}

const struct hr__format_reader hr__acme_reader = {
    .read = read_acme, .has_columns = true, .missing = "limits and tenants"};
