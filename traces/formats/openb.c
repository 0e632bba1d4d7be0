/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pods of Alibaba's openb trace (cluster-trace-gpu-v2023). The run time is deletion - scheduled. If a pod was never
 * scheduled, its run time is deletion - creation. `qos` is ignored.
 */

#include "traces/csv/csv.h"
#include "traces/formats/formats.h"

struct pod {
  struct hr_job_record job;
  int64_t deletion_us, scheduled_us; /* scheduled_us: HR_UNKNOWN_US if the pod was never scheduled */
  uint32_t gpu_milli;                /* 0: no share */
};

#define POD(member) offsetof(struct pod, member)
static const struct hr__csv_column columns[] = {
    {"name", NULL, HR__TEXT, true, true, POD(job.id), 0},
    {"cpu_milli", NULL, HR__CPU_MILLI, true, true, POD(job.cpu_milli), 0},
    {"memory_mib", NULL, HR__MIB, true, true, POD(job.mem_mib), 0},
    {"num_gpu", NULL, HR__GPUS, true, true, POD(job.gpus), 0},
    {"gpu_milli", NULL, HR__GPU_SHARE_OR_NONE, true, true, POD(gpu_milli), 0},
    {"gpu_spec", NULL, HR__LIST, false, false, POD(job.gpu_types), 0},
    {"pod_phase", NULL, HR__STATUS, false, false, POD(job.outcome), 0},
    {"creation_time", NULL, HR__INSTANT, true, true, POD(job.submit_us), HR_SECOND_US},
    {"deletion_time", NULL, HR__INSTANT, true, true, POD(deletion_us), HR_SECOND_US},
    {"scheduled_time", NULL, HR__INSTANT, true, false, POD(scheduled_us), HR_SECOND_US}};
#undef POD
enum { N_COLUMNS = sizeof columns / sizeof *columns };

struct openb {
  struct hr__reader *reader;
  uint64_t n_never_scheduled;
};

static enum hr_status on_pod(void *self, const void *row, uint64_t line) {
  struct openb *openb = self;
  const struct pod *pod = row;
  bool with_times = pod->deletion_us != HR_UNKNOWN_US, scheduled = pod->scheduled_us != HR_UNKNOWN_US;
  int64_t start_us = scheduled ? pod->scheduled_us : pod->job.submit_us;
  if (with_times && pod->deletion_us < start_us) {
    struct hr__row_fault fault = {.line = line, .fault = "the pod is deleted before it is scheduled or created"};
    return hr__reader_bad_row(openb->reader, &fault);
  }
  openb->n_never_scheduled += with_times && !scheduled;
  struct hr_job_record job = pod->job;
  if (scheduled && with_times && pod->scheduled_us >= job.submit_us) job.recorded_start_us = pod->scheduled_us;
  job.work_us = with_times ? pod->deletion_us - start_us : 0;
  if (job.gpus && pod->gpu_milli) job.gpu_milli = pod->gpu_milli;
  return hr__reader_add(openb->reader, &job, line);
}

/* Selects the columns. If only the requests of pods are needed, times are not required. */
static void choose_columns(struct hr__csv_column chosen[N_COLUMNS], bool without_times) {
  for (size_t i = 0; i < N_COLUMNS; i++) {
    chosen[i] = columns[i];
    if (without_times && columns[i].kind == HR__INSTANT) chosen[i].must_exist = false;
  }
}

static enum hr_status read_openb(struct hr__reader *reader) {
  static const char *const ignored[] = {"qos", NULL};
  struct openb openb = {.reader = reader};
  struct pod pod, blank = {.scheduled_us = HR_UNKNOWN_US, .deletion_us = HR_UNKNOWN_US};
  hr_job_record_init(&blank.job);
  struct hr__csv_column chosen[N_COLUMNS];
  choose_columns(chosen, reader->without_times);
  const struct hr__csv_schema schema = {
      HR__CSV_ROWS(chosen, pod, blank, on_pod, &openb), .ignored = ignored,
      .missing_hint = "a pod list without creation, deletion and scheduled times cannot be replayed"};
  enum hr_status status = hr__csv_read_rows(reader, &schema);
  if (status != HR_OK || reader->without_times) return status;
  const struct hr__count_note note = {
      openb.n_never_scheduled, "pod was never scheduled: it runs for the time from its creation to its deletion",
      "pods were never scheduled: they run for the time from their creation to their deletion", NULL};
  return hr__reader_note_counts(reader, &note, 1);
}

const struct hr__format_reader hr__openb_reader = {.read = read_openb, .has_columns = true};
