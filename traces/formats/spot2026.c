/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs of Alibaba's cluster-trace-v2026-spot-gpu, `job_info_df.csv` (alibaba/clusterdata; Duan et al., "GFS",
 * ASPLOS'26). Jobs have high priority, or are spot jobs, which use the remaining capacity. `gpu_request` and
 * `cpu_request` are per worker, so a job of 16 workers that each request one GPU requests 16 GPUs.
 */

#include "traces/csv/csv.h"
#include "traces/formats/formats.h"

#include <string.h>

struct spot_row {
  struct hr_job_record job;
  struct hr_text job_type;
  uint32_t gpu_milli, workers;
};

#define ROW(member) offsetof(struct spot_row, member)
static const struct hr__csv_column columns[] = {
    {"job_name", NULL, HR__TEXT, true, true, ROW(job.id), 0},
    {"organization", NULL, HR__TEXT, true, false, ROW(job.tenant), 0},
    {"gpu_model", NULL, HR__LIST, true, false, ROW(job.gpu_types), 0},
    {"cpu_request", NULL, HR__CPUS, true, false, ROW(job.cpu_milli), 0},
    {"gpu_request", NULL, HR__GPU_PARTS, true, true, ROW(gpu_milli), 0},
    {"worker_num", NULL, HR__TASKS, true, true, ROW(workers), 0},
    {"submit_time", NULL, HR__INSTANT, true, true, ROW(job.submit_us), HR_SECOND_US},
    {"duration", NULL, HR__DURATION, true, true, ROW(job.work_us), HR_SECOND_US},
    {"job_type", NULL, HR__TEXT, true, true, ROW(job_type), 0}};
#undef ROW

struct spot2026_spot {
  struct hr__reader *reader;
  uint64_t n_rounded, n_gangs;
};

static bool is_word(struct hr_text text, const char *word) {
  return text.length == strlen(word) && memcmp(text.at, word, text.length) == 0;
}

static enum hr_status on_row(void *self, const void *data, uint64_t line) {
  struct spot2026_spot *spot = self;
  const struct spot_row *row = data;
  struct hr__row_fault fault = {
      .line = line, .column = "job_type", .value = row->job_type, .fault = "neither HP nor Spot"};
  bool high = is_word(row->job_type, "HP"), rounded;
  if (!high && !is_word(row->job_type, "Spot")) return hr__reader_bad_row(spot->reader, &fault);
  struct hr_job_record job = row->job;
  fault = (struct hr__row_fault){.line = line, .fault = "the job requests more than 4000000 GPUs"};
  if (!hr__request_milli(&job, row->gpu_milli, row->workers, &rounded)) return hr__reader_bad_row(spot->reader, &fault);
  spot->n_rounded += rounded;
  spot->n_gangs += row->workers > 1;
  job.priority = high;
  job.flags = high ? HR_JOB_NOT_INTERRUPTIBLE : 0;
  return hr__reader_add(spot->reader, &job, line);
}

static enum hr_status read_spot2026(struct hr__reader *reader) {
  struct spot2026_spot spot = {.reader = reader};
  struct spot_row row, blank = {.workers = 0};
  hr_job_record_init(&blank.job);
  const struct hr__csv_schema schema = {
      HR__CSV_ROWS(columns, row, blank, on_row, &spot),
      .missing_hint = "a job_info_df.csv of cluster-trace-v2026-spot-gpu has all of these columns"};
  enum hr_status status = hr__csv_read_rows(reader, &schema);
  const struct hr__count_note notes[] = {
      {spot.n_gangs, "job has", "jobs have", " several workers: gpu_request and cpu_request are taken per worker"},
      {spot.n_rounded, "job requests", "jobs request", " a fraction above one GPU: the fraction is rounded up"}};
  return status == HR_OK ? hr__reader_note_counts(reader, notes, sizeof notes / sizeof *notes) : status;
}

const struct hr__format_reader hr__spot2026_reader = {
    .read = read_spot2026, .has_columns = true, .missing = "limits, users, waits and outcomes"};
