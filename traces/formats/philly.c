/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs of Microsoft's Philly cluster (msr-fiddle/philly-traces; Jeon et al., ATC'19), in two formats.
 *
 * "philly" is the CSV file that many simulators use. Its rows are not sorted and have no ids, and its dates are local.
 * Virtual clusters become tenants. The column `gpu_time` equals duration x GPUs and is ignored.
 *
 * "philly-log" is `cluster_job_log`, a JSON list of jobs with their attempts. A job is replayed once. Its run time is
 * the total run time of its attempts, without the gaps between them. In a replay, a failed job fails when it has run
 * for as long as its first attempt.
 */

#include "traces/csv/csv.h"
#include "traces/formats/formats.h"
#include "traces/json/json.h"

#include <string.h>

static const struct hr__csv_column columns[] = {
    {"timestamp", NULL, HR__INSTANT, true, true, offsetof(struct hr_job_record, submit_us), HR_SECOND_US},
    {"duration", NULL, HR__DURATION, true, true, offsetof(struct hr_job_record, work_us), HR_SECOND_US},
    {"num_gpus", NULL, HR__GPUS, true, true, offsetof(struct hr_job_record, gpus), 0},
    {"cluster", NULL, HR__TEXT, true, false, offsetof(struct hr_job_record, tenant), 0}};

static enum hr_status on_job(void *self, const void *row, uint64_t line) {
  return hr__reader_add(self, row, line);
}

static enum hr_status read_philly(struct hr__reader *reader) {
  static const char *const ignored[] = {"gpu_time", NULL};
  struct hr_job_record job, blank;
  hr_job_record_init(&blank);
  const struct hr__csv_schema schema = {HR__CSV_ROWS(columns, job, blank, on_job, reader), .ignored = ignored,
                                        .missing_hint = "a Philly trace has all of these columns"};
  return hr__csv_read_rows(reader, &schema);
}

const struct hr__format_reader hr__philly_reader = {.read = read_philly, .has_columns = true};

/* ---- cluster_job_log --------------------------------------------------------------------------------- */

struct philly_log {
  struct hr__json_get get;
  /* Counters of jobs and attempts. note_all() prints each of them in a note that describes what it counts. */
  uint64_t n_retried, n_failed_attempts, n_attempts_without_times, n_early;
};

struct attempts {
  /* first_us: run time of the first attempt; total_us: run time of all attempts */
  int64_t first_start_us, first_us, total_us;
  /* gpus_start_us: start of the attempt from which `gpus` and `servers` were taken; last_start_us: start of the last
     attempt */
  int64_t gpus_start_us, last_start_us;
  /* gpus, servers: of the first attempt that lists GPUs; n_timed: attempts with a start and an end */
  uint64_t n, n_timed, gpus, servers;
  bool open; /* the last attempt has no end */
};

static bool read_gpus(struct hr__json_get *get, const cJSON *attempt, int64_t start_us, struct attempts *attempts) {
  const cJSON *detail = hr__get_member(attempt, "detail"), *server;
  uint64_t gpus = 0, servers = 0;
  if (detail && !cJSON_IsArray(detail)) return hr__get_wrong(get, "attempts.detail", detail, "not a list of servers");
  cJSON_ArrayForEach(server, detail) {
    const cJSON *list = hr__get_member(server, "gpus");
    if (list && !cJSON_IsArray(list)) return hr__get_wrong(get, "attempts.detail.gpus", list, "not a list of GPUs");
    gpus += list ? (uint64_t)cJSON_GetArraySize(list) : 0;
    servers++;
  }
  bool earlier = start_us != INT64_MIN && start_us < attempts->gpus_start_us;
  if (gpus && (!attempts->gpus || earlier)) {
    attempts->gpus_start_us = start_us;
    attempts->gpus = gpus;
    attempts->servers = servers;
  }
  return true;
}

static bool read_attempt(struct hr__json_get *get, const cJSON *attempt, struct attempts *attempts) {
  int64_t start_us = INT64_MIN, end_us = INT64_MIN;
  if (!cJSON_IsObject(attempt)) return hr__get_wrong(get, "attempts", attempt, "not a list of objects {...}");
  if (!hr__get_date(get, attempt, "start_time", &start_us) || !hr__get_date(get, attempt, "end_time", &end_us) ||
      !read_gpus(get, attempt, start_us, attempts))
    return false;
  if (!attempts->n++ || start_us == INT64_MIN || start_us >= attempts->last_start_us) {
    attempts->open = end_us == INT64_MIN;
    attempts->last_start_us = start_us;
  }
  if (start_us == INT64_MIN || end_us == INT64_MIN) return true;
  if (end_us < start_us)
    return hr__get_wrong(get, "attempts", NULL, "a list with an attempt that ends before it starts");
  if (!attempts->n_timed++ || start_us < attempts->first_start_us) {
    attempts->first_start_us = start_us;
    attempts->first_us = end_us - start_us;
  }
  attempts->total_us += end_us - start_us;
  if (attempts->total_us > HR_MAX_INPUT_US)
    return hr__get_wrong(get, "attempts", NULL, "a list of more than 100000000000 s in total");
  return true;
}

static bool read_attempts(struct hr__json_get *get, const cJSON *job, struct attempts *attempts) {
  const cJSON *list = hr__get_member(job, "attempts"), *attempt;
  if (!list) return true;
  if (!cJSON_IsArray(list)) return hr__get_wrong(get, "attempts", list, "not a list of attempts");
  cJSON_ArrayForEach(attempt, list) {
    if (!read_attempt(get, attempt, attempts)) return false;
  }
  return true;
}

static bool read_status(struct hr__json_get *get, const cJSON *job, uint8_t *outcome) {
  struct hr_text text = {NULL, 0};
  if (!hr__get_text(get, job, "status", true, &text)) return false;
  const char *fault = hr__value_read(&get->values, HR__STATUS, 0, text, outcome);
  return !fault || hr__get_wrong(get, "status", hr__get_member(job, "status"), "not one of Pass, Killed, Failed");
}

/* Returns the reason why the job cannot be replayed; NULL if it can be replayed. */
static const char *skip_reason(const struct attempts *attempts) {
  if (!attempts->n) return "the job has no attempt: it never ran";
  if (attempts->open) return "the last attempt has no end: the job was still running";
  if (!attempts->n_timed) return "no attempt of the job has both a start and an end";
  return attempts->gpus ? NULL : "no attempt of the job has a list of GPUs";
}

static void fill_times(struct philly_log *log, const struct attempts *attempts, struct hr_job_record *job) {
  log->n_retried += attempts->n > 1;
  log->n_failed_attempts += attempts->n - 1;
  log->n_attempts_without_times += attempts->n - attempts->n_timed;
  bool early = attempts->first_start_us < job->submit_us;
  log->n_early += early;
  if (!early) job->recorded_start_us = attempts->first_start_us;
  job->work_us = attempts->total_us;
  if (job->outcome == HR_OUTCOME_FAILED && attempts->total_us)
    job->fail_at_ppm = (uint32_t)((double)attempts->first_us / (double)attempts->total_us * 1e6);
}

static enum hr_status log_on_job(void *self, const struct hr__json_item *item) {
  struct philly_log *log = self;
  struct hr__json_get *get = &log->get;
  struct hr__reader *reader = get->reader;
  hr__get_begin(get, "", item);
  struct hr_job_record job;
  hr_job_record_init(&job);
  job.submit_us = INT64_MIN;
  struct attempts attempts = {0};
  const cJSON *value = item->value;
  bool ok = hr__get_text(get, value, "jobid", true, &job.id) && read_status(get, value, &job.outcome) &&
            hr__get_text(get, value, "vc", false, &job.tenant) && hr__get_text(get, value, "user", false, &job.user) &&
            hr__get_date(get, value, "submitted_time", &job.submit_us) && read_attempts(get, value, &attempts);
  if (ok && job.submit_us == INT64_MIN) ok = hr__get_wrong(get, "submitted_time", NULL, "missing");
  if (ok && attempts.gpus > HR_MAX_GPUS) ok = hr__get_wrong(get, "attempts", NULL, "a list of too many GPUs");
  if (!ok) return hr__reader_bad_row(reader, &get->fault);
  const char *reason = skip_reason(&attempts);
  if (reason) return hr__reader_leave_out(reader, reason, item->line);
  job.gpus = (uint32_t)attempts.gpus;
  job.tasks = attempts.gpus % attempts.servers ? 1 : (uint32_t)attempts.servers;
  fill_times(log, &attempts, &job);
  return hr__reader_add(reader, &job, item->line);
}

static enum hr_status note_all(const struct philly_log *log) {
  const struct hr__count_note notes[] = {
      {log->n_retried, "job was", "jobs were",
       " tried more than once: each runs once, for the total time of its attempts"},
      {log->n_failed_attempts, "attempt at a job", "attempts at jobs", " failed"},
      {log->n_attempts_without_times, "attempt has", "attempts have", " no start or no end: its run time is unknown"},
      {log->n_early, "job has", "jobs have",
       " an attempt that started before the submission: the start is treated as unknown"}};
  return hr__reader_note_counts(log->get.reader, notes, sizeof notes / sizeof *notes);
}

static enum hr_status read_philly_log(struct hr__reader *reader) {
  static const char *const streamed[] = {NULL};
  struct philly_log log = {.get = {.reader = reader}};
  const struct hr__json_schema schema = {.streamed = streamed, .on_item = log_on_job, .self = &log};
  enum hr_status status = hr__json_stream_read(reader, &schema);
  if (status == HR_OK) status = hr__get_note_clock(&log.get);
  return status == HR_OK ? note_all(&log) : status;
}

const struct hr__format_reader hr__philly_log_reader = {.read = read_philly_log, .missing = "limits"};
