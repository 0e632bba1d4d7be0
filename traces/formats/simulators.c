/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Readers of the formats that simulators of clusters use: the Standard Workload Format, Batsim, Gavel and Philly. */

#include "base/containers.h"
#include "headroom/trace_files.h"
#include "traces/core/fields.h"
#include "traces/csv/csv.h"
#include "traces/formats/formats.h"
#include "traces/json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Standard Workload Format ---------------------------------------------------------------------- */

/* The Standard Workload Format (D. Feitelson, Parallel Workloads Archive). A line is a job: 18 numbers separated by
   spaces, -1 if unknown. Comments begin with `;`. Processors become GPUs, the requested time becomes the limit, and the
   group becomes the tenant. */

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
  /* UnixStartTime is valid; UnixStartTime is invalid; the time zone in the header is UTC; a job was read */
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

static uint8_t outcome_of(int64_t status) {
  static const uint8_t outcomes[] = {[0] = HR_OUTCOME_FAILED, [1] = HR_OUTCOME_COMPLETED, [5] = HR_OUTCOME_CANCELLED};
  return (uint64_t)status < sizeof outcomes ? outcomes[status] : HR_OUTCOME_UNKNOWN;
}

/* Returns the text of a field if its number is known; otherwise an empty text. */
static struct hr_text known_text(struct hr_text text) {
  return text.at[0] == '-' ? (struct hr_text){NULL, 0} : text;
}

/* Reads a job from the fields of a line. Returns NULL, or the fault; `*bad` is then the index of the faulty field. */
static const char *read_swf_job(struct swf *swf, struct hr_job_record *job, int *bad) {
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
  static const int needed[] = {JOB, SUBMIT, RUN};
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
    *bad = needed[i];
    if (value[*bad] >= 0) continue;
    return *bad == JOB ? "unknown: the job cannot be named" : "unknown: the job cannot be replayed";
  }
  *bad = ALLOCATED;
  int64_t gpus = value[ALLOCATED] > 0 ? value[ALLOCATED] : value[REQUESTED];
  if (gpus <= 0) return "unknown, and so are the requested processors: the job cannot be replayed";
  job->gpus = (uint32_t)gpus;
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
  if (zone.length) swf->is_utc = hr__text_is(zone, "UTC");
}

/* Converts the times of a job to dates. Does nothing unless the header has the date of second 0 and the log is in
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
  row.fault = read_swf_job(swf, &job, &bad);
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

static enum hr_status note_swf(const struct swf *swf) {
  if (swf->bad_start && swf->is_utc &&
      hr_notes_add(swf->reader->notes, "the header's UnixStartTime is not a whole number of seconds from "
                                       "-100000000000 to 100000000000: times have no dates") != HR_OK)
    return hr__reader_no_memory(swf->reader);
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
  return status == HR_OK ? note_swf(&swf) : status;
}

const struct hr__format_reader hr__swf_reader = {.read = read_swf};

/* ---- Batsim ---------------------------------------------------------------------------------------- */

/*
 * Batsim workloads (oar-team/batsim, docs/input-workload.rst): jobs that refer to profiles. A resource is one GPU. The
 * run time of a delay profile is its delay. The run time of a homogeneous parallel task is its number of operations
 * divided by the speed of a resource, which is a parameter of the format. The communication of parallel tasks is
 * ignored. Profiles may follow the jobs in the file, so jobs are stored until all profiles are read.
 */

enum profile_kind { KIND_NONE, KIND_DELAY, KIND_TASK, KIND_TOTAL, KIND_OTHER };

struct profile {
  enum profile_kind kind;
  int64_t delay_us;
  double operations; /* operations of each resource; KIND_TOTAL: of all resources together */
  uint32_t type;     /* KIND_OTHER: index of the type of the profile in the name table `names` */
  bool fails;        /* a job with this profile fails */
};

struct batsim_job {
  uint64_t line;
  int64_t submit_us, limit_us;
  uint32_t id, profile, resources, index;
};

struct batsim {
  struct hr__json_get get;
  /* mflops: parameter, 10^6 operations per second of a resource; n_tasks: jobs with parallel tasks; n_stopped: jobs
     that were stopped at their limit */
  uint64_t mflops, n_tasks, n_stopped;
  struct hr__name_table ids, names; /* ids: ids of jobs; names: names and types of profiles */
  struct batsim_job *jobs;
  /* by index of the profile in `names`; profiles with an index from n_profiles on were not read */
  struct profile *profiles;
  uint32_t n_jobs, jobs_capacity, n_profiles, profiles_capacity;
};

/* ---- Batsim: profiles ------------------------------------------------------------------------------ */

static enum profile_kind kind_of(struct hr_text type) {
  static const struct {
    const char *type;
    enum profile_kind kind;
  } kinds[] = {{"delay", KIND_DELAY},
               {"DelayProfile", KIND_DELAY},
               {"parallel_homogeneous", KIND_TASK},
               {"ParallelTaskHomogeneousProfile", KIND_TASK},
               {"parallel_homogeneous_total", KIND_TOTAL},
               /* names until Batsim 1.4 */
               {"msg_par_hg", KIND_TASK},
               {"msg_par_hg_tot", KIND_TOTAL}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (hr__text_is(type, kinds[i].type)) return kinds[i].kind;
  return KIND_OTHER;
}

static bool read_operations(struct hr__json_get *get, const cJSON *value, struct profile *profile) {
  const cJSON *cpu = hr__get_member(value, "cpu"), *strategy = hr__get_member(value, "generation_strategy");
  if (!cpu) return hr__get_wrong(get, "cpu", NULL, "missing");
  if (!cJSON_IsNumber(cpu) || !(cpu->valuedouble >= 0))
    return hr__get_wrong(get, "cpu", cpu, "not a number of operations of at least 0");
  profile->operations = cpu->valuedouble;
  if (cJSON_IsString(strategy) && strcmp(strategy->valuestring, "DefinedAmountsSpreadUniformly") == 0)
    profile->kind = KIND_TOTAL;
  return true;
}

static bool read_profile(struct batsim *batsim, const cJSON *value, struct profile *profile) {
  struct hr__json_get *get = &batsim->get;
  struct hr_text type = {NULL, 0};
  if (!cJSON_IsObject(value)) return hr__get_wrong(get, "type", NULL, "missing: the profile is not an object {...}");
  if (!hr__get_text(get, value, "type", true, &type)) return false;
  const cJSON *code = hr__get_member(value, "ret");
  profile->fails = cJSON_IsNumber(code) && code->valuedouble != 0;
  profile->kind = kind_of(type);
  profile->delay_us = HR_UNKNOWN_US;
  if (profile->kind == KIND_OTHER) {
    profile->type = hr__names_intern(&batsim->names, type.at, type.length);
    return true;
  }
  if (profile->kind != KIND_DELAY) return read_operations(get, value, profile);
  if (!hr__get_seconds(get, value, "delay", &profile->delay_us)) return false;
  return profile->delay_us >= 0 || hr__get_wrong(get, "delay", NULL, "missing");
}

static enum hr_status put_profile(struct batsim *batsim, uint32_t number, struct profile profile) {
  while (batsim->n_profiles <= number) {
    if (!HR__ARRAY_HAS_ROOM(batsim->profiles, batsim->n_profiles, batsim->profiles_capacity))
      return hr__reader_no_memory(batsim->get.reader);
    batsim->profiles[batsim->n_profiles++] = (struct profile){.kind = KIND_NONE};
  }
  batsim->profiles[number] = profile;
  return HR_OK;
}

static enum hr_status on_profile(struct batsim *batsim, const struct hr__json_item *item) {
  struct profile profile = {0};
  const char *name = item->key ? item->key : "";
  uint32_t number = hr__names_intern(&batsim->names, name, strlen(name));
  if (number == HR_NONE) return hr__reader_no_memory(batsim->get.reader);
  bool known = number < batsim->n_profiles && batsim->profiles[number].kind != KIND_NONE;
  bool ok = known ? hr__get_wrong(&batsim->get, "type", NULL, "a duplicate profile")
                  : read_profile(batsim, item->value, &profile);
  enum hr_status status = ok ? HR_OK : hr__reader_bad_row(batsim->get.reader, &batsim->get.fault);
  if (ok && profile.kind == KIND_OTHER && profile.type == HR_NONE) return hr__reader_no_memory(batsim->get.reader);
  if (!ok) profile = (struct profile){.kind = KIND_OTHER, .type = number};
  return status == HR_OK ? put_profile(batsim, number, profile) : status;
}

/* ---- Batsim: jobs ---------------------------------------------------------------------------------- */

/* Reads an id, which is a text or a whole number. `buffer` is for the text of a number. */
static bool read_id(struct hr__json_get *get, const cJSON *value, char *buffer, size_t size, struct hr_text *id) {
  const cJSON *member = hr__get_member(value, "id");
  if (!cJSON_IsNumber(member)) return hr__get_text(get, value, "id", true, id);
  uint64_t number = 0;
  if (!hr__get_whole(get, value, "id", UINT64_C(1) << 53, &number)) return false;
  id->at = buffer;
  id->length = (size_t)snprintf(buffer, size, "%llu", (unsigned long long)number);
  return true;
}

static bool read_batsim_job(struct batsim *batsim, const cJSON *value, struct batsim_job *job, struct hr_text *id,
                            char *buffer, size_t size, struct hr_text *profile) {
  struct hr__json_get *get = &batsim->get;
  uint64_t resources = 0;
  job->submit_us = HR_UNKNOWN_US;
  job->limit_us = HR_UNKNOWN_US;
  if (!cJSON_IsObject(value)) return hr__get_wrong(get, "id", NULL, "missing: the job is not an object {...}");
  const cJSON *walltime = hr__get_member(value, "walltime");
  bool limited = !cJSON_IsNumber(walltime) || walltime->valuedouble >= 0; /* -1 means no limit */
  bool ok = read_id(get, value, buffer, size, id) && hr__get_seconds(get, value, "subtime", &job->submit_us) &&
            (!limited || hr__get_seconds(get, value, "walltime", &job->limit_us)) &&
            hr__get_whole(get, value, "res", HR_MAX_GPUS, &resources) &&
            hr__get_text(get, value, "profile", true, profile);
  if (!ok) return false;
  if (job->submit_us < 0) return hr__get_wrong(get, "subtime", NULL, "missing");
  if (!resources) return hr__get_wrong(get, "res", NULL, "missing or 0; a job has at least one resource");
  job->resources = (uint32_t)resources;
  return true;
}

static enum hr_status on_batsim_job(struct batsim *batsim, const struct hr__json_item *item) {
  struct batsim_job job = {.line = item->line, .index = item->index};
  struct hr_text id = {NULL, 0}, profile = {NULL, 0};
  char buffer[HR_JOB_ID_BUFFER];
  if (!read_batsim_job(batsim, item->value, &job, &id, buffer, sizeof buffer, &profile))
    return hr__reader_bad_row(batsim->get.reader, &batsim->get.fault);
  job.id = hr__names_intern(&batsim->ids, id.at, id.length);
  job.profile = hr__names_intern(&batsim->names, profile.at, profile.length);
  if (job.id == HR_NONE || job.profile == HR_NONE ||
      !HR__ARRAY_HAS_ROOM(batsim->jobs, batsim->n_jobs, batsim->jobs_capacity))
    return hr__reader_no_memory(batsim->get.reader);
  batsim->jobs[batsim->n_jobs++] = job;
  return HR_OK;
}

static enum hr_status on_item(void *self, const struct hr__json_item *item) {
  struct batsim *batsim = self;
  bool is_job = item->member && strcmp(item->member, "jobs") == 0;
  hr__get_begin(&batsim->get, item->member ? item->member : "", item);
  return is_job ? on_batsim_job(batsim, item) : on_profile(batsim, item);
}

/* ---- Batsim: jobs with their profiles -------------------------------------------------------------- */

static double work_us(const struct batsim *batsim, const struct profile *profile, const struct batsim_job *job) {
  if (profile->kind == KIND_DELAY) return (double)profile->delay_us;
  double each = profile->kind == KIND_TOTAL ? profile->operations / job->resources : profile->operations;
  return each / (double)batsim->mflops; /* 10^6 operations per second are one operation per microsecond */
}

static enum hr_status refuse_type(const struct batsim *batsim, const struct profile *profile,
                                  struct hr__row_fault *fault) {
  fault->value = hr__text_stored(&batsim->names, profile->type);
  fault->fault =
      "an unsupported type of profile; delay, parallel_homogeneous and parallel_homogeneous_total are supported";
  return hr__reader_bad_row(batsim->get.reader, fault);
}

static enum hr_status add_job(struct batsim *batsim, const struct batsim_job *job) {
  char item[40];
  snprintf(item, sizeof item, "jobs[%u]", job->index);
  struct hr__row_fault fault = {
      .line = job->line, .item = item, .column = "profile", .value = hr__text_stored(&batsim->names, job->profile)};
  const struct profile *profile = job->profile < batsim->n_profiles ? &batsim->profiles[job->profile] : NULL;
  fault.fault = "not one of the file's profiles";
  if (!profile || profile->kind == KIND_NONE) return hr__reader_bad_row(batsim->get.reader, &fault);
  if (profile->kind == KIND_OTHER) return refuse_type(batsim, profile, &fault);
  double us = work_us(batsim, profile, job);
  bool stopped = job->limit_us >= 0 && us > (double)job->limit_us;
  if (stopped) us = (double)job->limit_us;
  fault.fault = "a profile of more than 100000000000 s";
  if (!(us <= (double)HR_MAX_INPUT_US)) return hr__reader_bad_row(batsim->get.reader, &fault);
  batsim->n_stopped += stopped;
  batsim->n_tasks += profile->kind != KIND_DELAY;
  struct hr_job_record record;
  hr_job_record_init(&record);
  record.id = hr__text_stored(&batsim->ids, job->id);
  record.submit_us = job->submit_us;
  record.work_us = llround(us);
  record.limit_us = job->limit_us;
  record.gpus = record.tasks = job->resources;
  record.outcome = stopped || profile->fails ? HR_OUTCOME_FAILED : HR_OUTCOME_COMPLETED;
  return hr__reader_add(batsim->get.reader, &record, job->line);
}

static enum hr_status note_batsim(const struct batsim *batsim) {
  const struct hr__reader *reader = batsim->get.reader;
  const struct hr__count_note stopped = {
      batsim->n_stopped, "job exceeds its walltime: it is replayed until then and fails",
      "jobs exceed their walltimes: they are replayed until then and fail", ", as in Batsim"};
  enum hr_status status = hr__reader_note_counts(reader, &stopped, 1);
  if (status != HR_OK || !batsim->n_tasks) return status;
  status = hr_notes_add(reader->notes,
                        "%llu %s at %llu million a second%s (--format batsim:mflops=N); communication is ignored",
                        (unsigned long long)batsim->n_tasks,
                        hr__counted(batsim->n_tasks, "job is a parallel task: its run time is its operations",
                                    "jobs are parallel tasks: their run times are their operations"),
                        (unsigned long long)batsim->mflops, reader->params ? "" : " (assumed)");
  return hr__reader_noted(reader, status);
}

static enum hr_status read_batsim(struct hr__reader *reader) {
  static const char *const streamed[] = {"jobs", "profiles", NULL};
  struct batsim batsim = {.get = {.reader = reader}, .mflops = 1000};
  const struct hr__reader_param params[] = {{"mflops", 1, 1000000000000, &batsim.mflops, NULL}};
  const struct hr__json_schema schema = {.streamed = streamed, .on_item = on_item, .self = &batsim};
  enum hr_status status = hr__reader_params(reader, "batsim", params, sizeof params / sizeof *params);
  if (status == HR_OK) status = hr__json_stream_read(reader, &schema);
  for (uint32_t i = 0; status == HR_OK && i < batsim.n_jobs; i++) status = add_job(&batsim, &batsim.jobs[i]);
  if (status == HR_OK) status = note_batsim(&batsim);
  hr__names_finish(&batsim.ids);
  hr__names_finish(&batsim.names);
  free(batsim.jobs);
  free(batsim.profiles);
  return status;
}

const struct hr__format_reader hr__batsim_reader = {
    .read = read_batsim, .has_params = true, .missing = "users and waits"};

/* ---- Gavel ----------------------------------------------------------------------------------------- */

/* Traces of Gavel (stanford-futuredata/gavel; Narayanan et al., OSDI'20): one job per line, fields separated by tabs,
   no header. A line has 6, 7, 9 or 10 fields, depending on the version of Gavel that wrote it. A job has a number of
   steps. Its run time is steps / throughput. The throughput is the number of steps per second of this type of job on
   the requested number of GPUs, if they are of the reference type. Throughputs are in a table that was published with
   Gavel. Parameters of the format specify the file of the table and the reference type. */

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

/* ---- Gavel: jobs ----------------------------------------------------------------------------------- */

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
  if (!(work_us <= (double)HR_MAX_INPUT_US))
    return hr__reader_bad_job(gavel->reader, line, "the job would run for more than 100000000000 s");
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
  if (status != HR_OK) return status;
  status = hr_notes_add(reader->notes, "run times are steps / throughput on %.60s from %.200s", gpu, path);
  return hr__reader_noted(reader, status);
}

const struct hr__format_reader hr__gavel_reader = {
    .read = read_gavel, .has_params = true, .missing = "limits, users and waits"};

/* ---- Philly ---------------------------------------------------------------------------------------- */

/*
 * Jobs of Microsoft's Philly cluster (msr-fiddle/philly-traces; Jeon et al., ATC'19), in two formats.
 *
 * "philly" is the CSV file that many simulators use. Its rows are not sorted and have no ids, and its dates are local.
 * Virtual clusters become tenants. The column `gpu_time` equals duration * GPUs and is ignored.
 *
 * "philly-log" is `cluster_job_log`, a JSON list of jobs with their attempts. A job is replayed once. Its run time is
 * the total run time of its attempts, without the gaps between them. In a replay, a failed job fails after the run time
 * of its first attempt.
 */

static const struct hr__csv_column philly_columns[] = {
    {"timestamp", NULL, HR__INSTANT, true, true, offsetof(struct hr_job_record, submit_us), HR_SECOND_US},
    {"duration", NULL, HR__DURATION, true, true, offsetof(struct hr_job_record, work_us), HR_SECOND_US},
    {"num_gpus", NULL, HR__GPUS, true, true, offsetof(struct hr_job_record, gpus), 0},
    {"cluster", NULL, HR__TEXT, true, false, offsetof(struct hr_job_record, tenant), 0}};

static enum hr_status on_philly_job(void *self, const void *row, uint64_t line) {
  return hr__reader_add(self, row, line);
}

static enum hr_status read_philly(struct hr__reader *reader) {
  static const char *const ignored[] = {"gpu_time", NULL};
  struct hr_job_record job, blank;
  hr_job_record_init(&blank);
  const struct hr__csv_schema schema = {HR__CSV_ROWS(philly_columns, job, blank, on_philly_job, reader),
                                        .ignored = ignored, .missing_hint = "a Philly trace has all of these columns"};
  return hr__csv_read_rows(reader, &schema);
}

const struct hr__format_reader hr__philly_reader = {.read = read_philly, .has_columns = true};

/* ---- Philly: cluster_job_log ----------------------------------------------------------------------- */

struct philly_log {
  struct hr__json_get get;
  /* Counters of jobs and attempts. note_philly() prints each of them in a note that describes what it counts. */
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

static enum hr_status note_philly(const struct philly_log *log) {
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
  if (status == HR_OK) status = hr__reader_note_clock(reader, log.get.values.clock);
  return status == HR_OK ? note_philly(&log) : status;
}

const struct hr__format_reader hr__philly_log_reader = {.read = read_philly_log, .missing = "limits"};
