/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Batsim workloads (oar-team/batsim, docs/input-workload.rst): jobs that refer to profiles. A resource is one GPU. The
 * run time of a delay profile is its delay. The run time of a homogeneous parallel task is its number of operations
 * divided by the speed of a resource, which is a parameter of the format. The communication of parallel tasks is
 * ignored. Profiles may follow the jobs in the file, so jobs are stored until all profiles are read.
 */

#include "base/containers.h"
#include "traces/formats/formats.h"
#include "traces/json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- Profiles --------------------------------------------------------------------------------------- */

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
    if (strlen(kinds[i].type) == type.length && memcmp(kinds[i].type, type.at, type.length) == 0) return kinds[i].kind;
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

/* Stores the name of a profile type that is not supported. Such a type is an error only if a job uses the profile. */
static bool store_type(struct batsim *batsim, struct hr_text type, struct profile *profile) {
  profile->type = hr__names_intern(&batsim->names, type.at, type.length);
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
  if (profile->kind == KIND_OTHER) return store_type(batsim, type, profile);
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

/* ---- Jobs ------------------------------------------------------------------------------------------- */

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

static bool read_job(struct batsim *batsim, const cJSON *value, struct batsim_job *job, struct hr_text *id,
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

static enum hr_status on_job(struct batsim *batsim, const struct hr__json_item *item) {
  struct batsim_job job = {.line = item->line, .index = item->index};
  struct hr_text id = {NULL, 0}, profile = {NULL, 0};
  char buffer[HR_JOB_ID_BUFFER];
  if (!read_job(batsim, item->value, &job, &id, buffer, sizeof buffer, &profile))
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
  return is_job ? on_job(batsim, item) : on_profile(batsim, item);
}

/* ---- Jobs with their profiles ------------------------------------------------------------------------ */

static double work_us(const struct batsim *batsim, const struct profile *profile, const struct batsim_job *job) {
  if (profile->kind == KIND_DELAY) return (double)profile->delay_us;
  double each = profile->kind == KIND_TOTAL ? profile->operations / job->resources : profile->operations;
  return each / (double)batsim->mflops; /* 10^6 operations per second are one operation per microsecond */
}

static enum hr_status refuse_type(const struct batsim *batsim, const struct profile *profile,
                                  struct hr__row_fault *fault) {
  const char *type = batsim->names.text[profile->type];
  fault->value = (struct hr_text){type, strlen(type)};
  fault->fault =
      "an unsupported type of profile; delay, parallel_homogeneous and parallel_homogeneous_total are supported";
  return hr__reader_bad_row(batsim->get.reader, fault);
}

static enum hr_status add_job(struct batsim *batsim, const struct batsim_job *job) {
  char item[40];
  snprintf(item, sizeof item, "jobs[%u]", job->index);
  const char *name = batsim->names.text[job->profile];
  struct hr__row_fault fault = {.line = job->line, .item = item, .column = "profile", .value = {name, strlen(name)}};
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
  record.id = (struct hr_text){batsim->ids.text[job->id], batsim->ids.length[job->id]};
  record.submit_us = job->submit_us;
  record.work_us = llround(us);
  record.limit_us = job->limit_us;
  record.gpus = record.tasks = job->resources;
  record.outcome = stopped || profile->fails ? HR_OUTCOME_FAILED : HR_OUTCOME_COMPLETED;
  return hr__reader_add(batsim->get.reader, &record, job->line);
}

static enum hr_status note_all(const struct batsim *batsim) {
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
  return status == HR_OK ? HR_OK : hr__reader_no_memory(reader);
}

static enum hr_status read_batsim(struct hr__reader *reader) {
  static const char *const streamed[] = {"jobs", "profiles", NULL};
  struct batsim batsim = {.get = {.reader = reader}, .mflops = 1000};
  const struct hr__reader_param params[] = {{"mflops", 1, 1000000000000, &batsim.mflops, NULL}};
  const struct hr__json_schema schema = {.streamed = streamed, .on_item = on_item, .self = &batsim};
  enum hr_status status = hr__reader_params(reader, "batsim", params, sizeof params / sizeof *params);
  if (status == HR_OK) status = hr__json_stream_read(reader, &schema);
  for (uint32_t i = 0; status == HR_OK && i < batsim.n_jobs; i++) status = add_job(&batsim, &batsim.jobs[i]);
  if (status == HR_OK) status = note_all(&batsim);
  hr__names_finish(&batsim.ids);
  hr__names_finish(&batsim.names);
  free(batsim.jobs);
  free(batsim.profiles);
  return status;
}

const struct hr__format_reader hr__batsim_reader = {
    .read = read_batsim, .has_params = true, .missing = "users and waits"};
