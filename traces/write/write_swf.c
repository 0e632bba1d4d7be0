/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes the Standard Workload Format, version 2.2 (D. Feitelson, Parallel Workloads Archive). Lines are in order of
 * submit time, as the format requires. Instants are rounded half up to seconds. An interval is the difference of two
 * rounded instants. A limit above 0 is written as at least 1 s, because 0 means no limit.
 */

#include "traces/core/numbers.h"
#include "traces/write/write.h"

#include <stdlib.h>
#include <string.h>

/* The numbers that are written in place of names, such as users. If all names are numbers, these numbers are written.
   Otherwise, the names are numbered from 1. */
struct numbering {
  const struct hr_names *names;
  bool are_numbers;
};

_Static_assert(HR__N_FIELDS + 16 <= HR_MAX_LOSSES,
               "each field has room for a dropped, a rounded and a renumbered loss");

struct swf_file {
  const struct hr_trace *trace;
  struct hr__encoder *out;
  struct hr_trace_written *written;
  struct hr_job_record blank;
  int64_t zero_us; /* time in the input at which the clock of the file is 0 */
  bool ids_are_numbers;
  struct numbering users, tenants;
};

static bool is_count(const char *text) {
  int64_t number;
  return hr__integer_parse((struct hr_text){text, strlen(text)}, &number) && number >= 0;
}

static struct numbering numbering_of(const struct hr_names *names) {
  struct numbering numbering = {names, true};
  for (uint32_t i = 0; i < names->count; i++) numbering.are_numbers = numbering.are_numbers && is_count(names->text[i]);
  return numbering;
}

static bool ids_are_numbers(const struct hr_trace *trace) {
  if (trace->id_text) return false;
  for (uint32_t job = 0; trace->id_number && job < trace->n_jobs; job++)
    if (trace->id_number[job] < 0) return false;
  return true;
}

/* ---- Values ----------------------------------------------------------------------------------------- */

/* Adds a loss of `n_jobs` jobs. Nothing is added if `n_jobs` is 0. */
static void count_loss(struct hr_trace_written *written, enum hr_loss_kind kind, const char *field, uint64_t n_jobs) {
  if (!n_jobs) return;
  uint32_t i = 0;
  while (i < written->n_losses && (written->losses[i].kind != kind || strcmp(written->losses[i].field, field) != 0))
    i++;
  if (i == written->n_losses) written->losses[written->n_losses++] = (struct hr_trace_loss){kind, field, 0};
  written->losses[i].n_jobs += n_jobs;
}

static int64_t round_s(int64_t us) {
  return (us + HR_SECOND_US / 2) / HR_SECOND_US;
}

static void count_partial_losses(struct swf_file *swf, const char *field, int64_t us) {
  count_loss(swf->written, HR_LOSS_ROUNDED, field, us % HR_SECOND_US != 0);
}

static void put(struct swf_file *swf, int64_t value) {
  hr__encode_byte(swf->out, ' ');
  hr__encode_i64(swf->out, value);
}

static void put_unknown(struct swf_file *swf, unsigned count) {
  for (unsigned i = 0; i < count; i++) hr__encode_text(swf->out, " -1");
}

static void put_limit(struct swf_file *swf, int64_t limit_us) {
  if (limit_us <= 0) {
    count_loss(swf->written, HR_LOSS_DROPPED, "limit", limit_us == 0);
    put_unknown(swf, 1);
    return;
  }
  int64_t limit_s = round_s(limit_us);
  count_partial_losses(swf, "limit", limit_us);
  put(swf, limit_s ? limit_s : 1);
}

static void put_status(struct swf_file *swf, uint8_t outcome) {
  static const int64_t status[] = {
      [HR_OUTCOME_UNKNOWN] = -1, [HR_OUTCOME_COMPLETED] = 1, [HR_OUTCOME_FAILED] = 0, [HR_OUTCOME_CANCELLED] = 5};
  put(swf, status[outcome]);
}

static void put_name(struct swf_file *swf, const struct numbering *numbering, const uint32_t *column, uint32_t job,
                     const char *field) {
  uint32_t name = column ? column[job] : HR_NONE;
  if (name == HR_NONE) {
    put_unknown(swf, 1);
  } else if (numbering->are_numbers) {
    hr__encode_byte(swf->out, ' ');
    hr__encode_text(swf->out, numbering->names->text[name]);
  } else {
    count_loss(swf->written, HR_LOSS_RENUMBERED, field, 1);
    put(swf, (int64_t)name + 1);
  }
}

/* Writes the id of a job. If some ids are not numbers, the jobs that are written are numbered from 1; skipped jobs
   are not counted. */
static void put_id(struct swf_file *swf, struct hr_text id) {
  if (swf->ids_are_numbers) {
    hr__encode_bytes(swf->out, id.at, id.length);
    return;
  }
  count_loss(swf->written, HR_LOSS_RENUMBERED, "job_id", 1);
  hr__encode_i64(swf->out, (int64_t)swf->written->n_jobs + 1);
}

/* ---- Jobs ------------------------------------------------------------------------------------------- */

/* Returns true if a line of SWF has a place for the field. */
static bool is_stored(size_t field) {
  static const char *const stored[] = {"job_id", "submit", "duration", "gpus", "user",
                                       "tenant", "limit",  "status",   "start"};
  for (size_t i = 0; i < sizeof stored / sizeof *stored; i++)
    if (strcmp(hr__fields[field].field, stored[i]) == 0) return true;
  return false;
}

/* Returns true if `field` is a bound of an elastic job that equals its request. The trace stores such bounds also
   for jobs that are not elastic, so they are not a loss. */
static bool is_no_bound(const struct hr_job_record *record, size_t field) {
  return hr__fields[field].kind == HR__GPU_BOUND &&
         memcmp((const char *)record + hr__fields[field].offset, &record->gpus, sizeof record->gpus) == 0;
}

static void count_other_losses(struct swf_file *swf, const struct hr_job_record *record,
                               const bool others[HR__N_FIELDS]) {
  for (size_t field = 0; field < HR__N_FIELDS; field++)
    if (others[field] && hr__field_is_known(record, &swf->blank, field) && !is_no_bound(record, field))
      count_loss(swf->written, HR_LOSS_DROPPED, hr__fields[field].field, 1);
}

static void put_job(struct swf_file *swf, uint32_t job, const struct hr_job_record *record) {
  const struct hr_trace *trace = swf->trace;
  const bool started = record->recorded_start_us != INT64_MIN;
  int64_t submit_us = record->submit_us - swf->zero_us;
  int64_t start_us = started ? record->recorded_start_us - swf->zero_us : 0;
  put_id(swf, record->id);
  put(swf, round_s(submit_us));
  count_partial_losses(swf, "submit", submit_us);
  put(swf, started ? round_s(start_us) - round_s(submit_us) : -1);
  if (started) count_partial_losses(swf, "start", start_us);
  put(swf, round_s(record->work_us));
  count_partial_losses(swf, "duration", record->work_us);
  put(swf, record->gpus); /* field 5: allocated processors */
  put_unknown(swf, 2);    /* fields 6 and 7: processor time used, memory used */
  put(swf, record->gpus); /* field 8: requested processors */
  put_limit(swf, record->limit_us);
  put_unknown(swf, 1); /* field 10: requested memory */
  put_status(swf, record->outcome);
  put_name(swf, &swf->users, trace->user, job, "user");
  put_name(swf, &swf->tenants, trace->tenant, job, "tenant");
  put_unknown(swf, 5); /* fields 14 to 18: program, queue, partition, preceding job, think time */
  hr__encode_byte(swf->out, '\n');
}

/* Checks that times are in the range of SWF. Dates in a trace may be further apart. */
static enum hr_status check_times(const struct swf_file *swf, const struct hr_job_record *record,
                                  struct hr_error *error) {
  const char *wrong = NULL;
  if (record->submit_us < swf->zero_us) wrong = "it is before 0 s";
  if (record->submit_us - swf->zero_us > HR_MAX_INPUT_US) wrong = "it is more than 100000000000 s after the first one";
  if (record->recorded_start_us > record->submit_us + HR_MAX_INPUT_US)
    wrong = "the start is more than 100000000000 s later";
  if (!wrong) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: job %.60s: cannot write its 'submit' as SWF: %s", swf->trace->source,
                 record->id.at, wrong);
}

static enum hr_status put_jobs(struct swf_file *swf, struct hr_error *error) {
  bool others[HR__N_FIELDS];
  hr__known_fields(swf->trace, others);
  for (size_t field = 0; field < HR__N_FIELDS; field++) others[field] = others[field] && !is_stored(field);
  for (uint32_t job = 0; job < swf->trace->n_jobs; job++) {
    struct hr_job_record record;
    char id[HR_JOB_ID_BUFFER];
    hr_trace_job_record(swf->trace, (hr_job){job}, &record, id);
    enum hr_status status = check_times(swf, &record, error);
    if (status != HR_OK) return status;
    if (record.gpus == 0) {
      count_loss(swf->written, HR_LOSS_LEFT_OUT, "gpus", 1);
      continue;
    }
    count_other_losses(swf, &record, others);
    put_job(swf, job, &record);
    swf->written->n_jobs++;
  }
  if (swf->written->n_jobs) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: no job requests a GPU; SWF jobs need at least one processor",
                 swf->trace->source);
}

/* ---- The file --------------------------------------------------------------------------------------- */

static void put_header(const struct swf_file *swf) {
  const struct hr_trace *trace = swf->trace;
  uint32_t n_jobs = 0;
  for (uint32_t job = 0; job < trace->n_jobs; job++) n_jobs += trace->gpus[job] > 0;
  hr__encode_text(swf->out, "; Version: 2.2\n; MaxJobs: ");
  hr__encode_i64(swf->out, n_jobs);
  hr__encode_text(swf->out, "\n; MaxRecords: ");
  hr__encode_i64(swf->out, n_jobs);
  if (trace->dated) {
    hr__encode_text(swf->out, "\n; UnixStartTime: ");
    hr__encode_i64(swf->out, swf->zero_us / HR_SECOND_US);
    if (!hr_trace_has_local_dates(trace)) hr__encode_text(swf->out, "\n; TimeZoneString: UTC");
  }
  hr__encode_text(swf->out, "\n; Note: written by Headroom; processors are GPUs\n");
}

/* Returns the first submit time of a dated trace, rounded down to a second. */
static int64_t first_second_us(const struct hr_trace *trace) {
  int64_t us = trace->origin_us + trace->submit_us[0], part_us = us % HR_SECOND_US;
  return us - (part_us < 0 ? part_us + HR_SECOND_US : part_us);
}

static enum hr_status write_swf(const struct hr_trace *trace, const char *path, struct hr_trace_written *written,
                                struct hr_error *error) {
  struct swf_file swf = {.trace = trace,
                         .written = written,
                         .zero_us = trace->dated ? first_second_us(trace) : 0,
                         .ids_are_numbers = ids_are_numbers(trace),
                         .users = numbering_of(&trace->users),
                         .tenants = numbering_of(&trace->tenants)};
  hr_job_record_init(&swf.blank);
  if (hr_trace_has_local_dates(trace)) count_loss(written, HR_LOSS_DROPPED, "dates", trace->n_jobs);
  enum hr_status status = hr__encoder_open(path, &swf.out, error);
  if (status != HR_OK) return status;
  put_header(&swf);
  status = put_jobs(&swf, error);
  written->bytes = hr__encoder_count(swf.out);
  if (status == HR_OK) return hr__encoder_commit(swf.out, error);
  hr__encoder_abandon(swf.out);
  return status;
}

const struct hr__trace_writer hr__swf_writer = {.compresses = true, .write = write_swf};
