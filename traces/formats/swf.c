/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The Standard Workload Format (D. Feitelson, Parallel Workloads Archive). A line is a job: 18 numbers separated by
 * spaces, -1 if unknown. Comments begin with `;`. Processors become GPUs, the requested time becomes the limit, and
 * the group becomes the tenant.
 */

#include "traces/core/numbers.h"
#include "traces/formats/formats.h"

#include <stdio.h>
#include <string.h>

/* The fields that are read: index in the line, from 0, and name in messages. */
#define SWF_FIELD_TABLE(X)                                                                                             \
  X(JOB, 0, "1 (job number)")                                                                                          \
  X(SUBMIT, 1, "2 (submit time)")                                                                                      \
  X(WAIT, 2, "3 (wait time)")                                                                                          \
  X(RUN, 3, "4 (run time)")                                                                                            \
  X(ALLOCATED, 4, "5 (allocated processors)")                                                                          \
  X(REQUESTED, 7, "8 (requested processors)")                                                                          \
  X(LIMIT, 8, "9 (requested time)")                                                                                    \
  X(STATUS, 10, "11 (status)")                                                                                         \
  X(USER, 11, "12 (user)")                                                                                             \
  X(GROUP, 12, "13 (group)")

enum {
#define SWF_FIELD(id, number, name) id = number,
  SWF_FIELD_TABLE(SWF_FIELD)
#undef SWF_FIELD
      N_FIELDS = 18
};

static const char *const field_names[N_FIELDS] = {
#define SWF_NAME(id, number, name) [id] = name,
    SWF_FIELD_TABLE(SWF_NAME)
#undef SWF_NAME
};

struct swf {
  struct hr__reader *reader;
  uint64_t n_over_limit;    /* number of jobs that ran longer than their limit */
  uint64_t n_other_request; /* number of jobs with more or fewer allocated processors than requested */
  int64_t requested;        /* processors that the last job requested */
  int64_t start_s;          /* time of second 0, from UnixStartTime in the header */
  bool has_start, bad_start, is_utc, has_jobs;
  struct hr_text field[N_FIELDS];
};

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Splits a line into at most 18 fields. Further fields are ignored. Returns the number of fields. */
static size_t split(struct hr_text line, struct hr_text field[N_FIELDS]) {
  size_t n = 0;
  const char *at = line.at, *end = line.at + line.length;
  while (n < N_FIELDS) {
    while (at < end && is_space(*at)) at++;
    if (at == end) break;
    const char *start = at;
    while (at < end && !is_space(*at)) at++;
    field[n++] = (struct hr_text){start, (size_t)(at - start)};
  }
  return n;
}

/* Parses a number. All negative numbers mean "unknown" and become -1. Returns NULL, or the fault. */
static const char *read_number(struct hr_text text, const struct hr__number_rule *rule, int64_t *value) {
  uint64_t magnitude = 0;
  *value = -1;
  switch (hr__number_parse(text, rule, &magnitude)) {
  case HR__NUMBER_FINE:
    *value = (int64_t)magnitude;
    return NULL;
  case HR__NUMBER_NEGATIVE:
    return NULL;
  case HR__NUMBER_TOO_LARGE:
    return "too large";
  default:
    return rule->whole ? "not a whole number, or -1 for unknown" : "not a number of seconds, or -1 for unknown";
  }
}

static const char *set_gpus(int64_t allocated, int64_t requested, uint32_t *gpus) {
  int64_t count = allocated > 0 ? allocated : requested;
  *gpus = (uint32_t)count;
  return count > 0 ? NULL : "unknown, and so are the requested processors: the job cannot be replayed";
}

static uint8_t outcome_of(int64_t status) {
  switch (status) {
  case 0:
    return HR_OUTCOME_FAILED;
  case 1:
    return HR_OUTCOME_COMPLETED;
  case 5:
    return HR_OUTCOME_CANCELLED;
  default:
    return HR_OUTCOME_UNKNOWN;
  }
}

/* Returns the text of a field if its number is known; otherwise an empty text. */
static struct hr_text known_text(struct hr_text text) {
  return text.at[0] == '-' ? (struct hr_text){NULL, 0} : text;
}

/* Reads a job from the fields of a line. Returns NULL, or the fault; `*bad` is then the index of the faulty field. */
static const char *read_job(struct swf *swf, struct hr_job_record *job, int *bad) {
  static const struct hr__number_rule seconds = {(uint64_t)HR_SECOND_US, (uint64_t)HR_MAX_INPUT_US, false};
  static const struct hr__number_rule count = {1, HR_MAX_GPUS, true};
  static const struct hr__number_rule any = {1, INT64_MAX, true};
  static const struct {
    int field;
    const struct hr__number_rule *rule;
  } fields[] = {{JOB, &any},         {SUBMIT, &seconds}, {WAIT, &seconds}, {RUN, &seconds}, {ALLOCATED, &count},
                {REQUESTED, &count}, {LIMIT, &seconds},  {STATUS, &any},   {USER, &any},    {GROUP, &any}};
  int64_t value[N_FIELDS];
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    *bad = fields[i].field;
    const char *fault = read_number(swf->field[*bad], fields[i].rule, &value[*bad]);
    if (fault) return fault;
  }
  *bad = JOB;
  if (value[JOB] < 0) return "unknown: the job cannot be named";
  *bad = SUBMIT;
  if (value[SUBMIT] < 0) return "unknown: the job cannot be replayed";
  *bad = RUN;
  if (value[RUN] < 0) return "unknown: the job cannot be replayed";
  *bad = ALLOCATED;
  const char *fault = set_gpus(value[ALLOCATED], value[REQUESTED], &job->gpus);
  if (fault) return fault;
  swf->requested = value[REQUESTED];
  job->id = swf->field[JOB];
  job->submit_us = value[SUBMIT];
  job->work_us = value[RUN];
  if (value[WAIT] >= 0) job->recorded_start_us = value[SUBMIT] + value[WAIT];
  job->limit_us = value[LIMIT] > 0 ? value[LIMIT] : HR_UNKNOWN_US;
  job->outcome = outcome_of(value[STATUS]);
  job->user = known_text(swf->field[USER]);
  job->tenant = known_text(swf->field[GROUP]);
  return NULL;
}

/* Returns the value after `name` in a comment; an empty text if the comment does not begin with `name`. */
static struct hr_text header_value(struct hr_text line, const char *name) {
  const char *at = line.at, *end = line.at + line.length;
  while (at < end && (*at == ';' || is_space(*at))) at++;
  size_t length = strlen(name);
  if ((size_t)(end - at) < length || memcmp(at, name, length) != 0) return (struct hr_text){NULL, 0};
  for (at += length; at < end && is_space(*at);) at++;
  while (end > at && is_space(end[-1])) end--;
  return (struct hr_text){at, (size_t)(end - at)};
}

static void read_comment(struct swf *swf, struct hr_text line) {
  struct hr_text start = header_value(line, "UnixStartTime:"), zone = header_value(line, "TimeZoneString:");
  const int64_t max_s = HR_MAX_INPUT_US / HR_SECOND_US;
  if (start.length) {
    swf->has_start = hr__integer_parse(start, &swf->start_s) && swf->start_s <= max_s && swf->start_s >= -max_s;
    swf->bad_start = !swf->has_start;
  }
  if (zone.length) swf->is_utc = zone.length == 3 && memcmp(zone.at, "UTC", 3) == 0;
}

/* Converts the times of a job to dates. Requires that the header has the date of second 0 and that the log is in
   UTC. */
static void set_dates(const struct swf *swf, struct hr_job_record *job) {
  if (!swf->has_start || !swf->is_utc) return;
  const int64_t start_us = swf->start_s * HR_SECOND_US;
  swf->reader->dated = true;
  job->submit_us += start_us;
  if (job->recorded_start_us != INT64_MIN) job->recorded_start_us += start_us;
}

static enum hr_status add_line(struct swf *swf, struct hr_text line) {
  struct hr__row_fault row = {.line = hr__input_line_number(swf->reader->input)};
  size_t n = split(line, swf->field);
  if (n && swf->field[0].at[0] == ';' && !swf->has_jobs) read_comment(swf, line);
  if (n == 0 || swf->field[0].at[0] == ';') return HR_OK;
  if (n < N_FIELDS) {
    char detail[60];
    snprintf(detail, sizeof detail, "found %zu number%s, expected %d", n, hr__plural(n), N_FIELDS);
    row.fault = "too few fields";
    row.detail = detail;
    return hr__reader_bad_row(swf->reader, &row);
  }
  struct hr_job_record job;
  hr_job_record_init(&job);
  int bad;
  row.fault = read_job(swf, &job, &bad);
  if (row.fault) {
    row.column = field_names[bad];
    row.value = swf->field[bad];
    return hr__reader_bad_row(swf->reader, &row);
  }
  swf->has_jobs = true;
  set_dates(swf, &job);
  swf->n_other_request += swf->requested > 0 && swf->requested != job.gpus;
  swf->n_over_limit += job.limit_us >= 0 && job.work_us > job.limit_us;
  return hr__reader_add(swf->reader, &job, row.line);
}

static enum hr_status note_all(const struct swf *swf) {
  enum hr_status status =
      swf->bad_start && swf->is_utc
          ? hr_notes_add(swf->reader->notes, "the header's UnixStartTime is not a whole number of seconds from "
                                             "-100000000000 to 100000000000: times have no dates")
          : HR_OK;
  if (status != HR_OK) return hr__reader_no_memory(swf->reader);
  const struct hr__count_note notes[] = {
      {swf->n_over_limit, "job ran longer than its requested time; it is replayed as it ran",
       "jobs ran longer than their requested times; they are replayed as they ran", NULL},
      {swf->n_other_request, "job has", "jobs have",
       " a different number of processors than requested (field 8), which is ignored"}};
  return hr__reader_note_counts(swf->reader, notes, sizeof notes / sizeof *notes);
}

static enum hr_status read_swf(struct hr__reader *reader) {
  struct swf swf = {.reader = reader};
  struct hr_text line;
  enum hr_status status;
  while ((status = hr__input_line(reader->input, &line, reader->error)) == HR_OK && line.at) {
    status = add_line(&swf, line);
    if (status != HR_OK) return status;
  }
  return status == HR_OK ? note_all(&swf) : status;
}

const struct hr__format_reader hr__swf_reader = {.read = read_swf};
