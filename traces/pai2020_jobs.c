/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Both tables come without a header row, which is understood if it is there. A job is tagged by its `inst_id`; where
   two rows tell something, the first counts. */

#include "traces/pai2020_jobs.h"

#include "sim/grow.h"
#include "traces/csv_rows.h"

#include <string.h>

struct job_row {
  struct hr_text name, instance, user;
  int64_t submit_us;
};

struct tag_row {
  struct hr_text instance, gpu_type, workload;
};

#define JOB(member) offsetof(struct job_row, member)
static const struct hr__csv_column job_columns[] = {
    {"job_name", NULL, HR__TEXT, true, true, JOB(name), 0},
    {"inst_id", NULL, HR__TEXT, true, false, JOB(instance), 0},
    {"user", NULL, HR__TEXT, true, false, JOB(user), 0},
    {"start_time", NULL, HR__INSTANT_OR_NONE, true, false, JOB(submit_us), HR_SECOND_US}};
#undef JOB

#define TAG(member) offsetof(struct tag_row, member)
static const struct hr__csv_column tag_columns[] = {{"inst_id", NULL, HR__TEXT, true, true, TAG(instance), 0},
                                                    {"gpu_type_spec", NULL, HR__TEXT, true, false, TAG(gpu_type), 0},
                                                    {"workload", NULL, HR__TEXT, true, false, TAG(workload), 0}};
#undef TAG

/* One of the tables while it is read. */
struct table {
  struct hr__pai_jobs *jobs;
  struct hr__reader reader;
};

/* ---- Jobs ------------------------------------------------------------------------------------------- */

/* The number of a text that may be empty, then HR_NONE. */
static enum hr_status intern(struct table *table, struct hr__names *names, struct hr_text text, uint32_t *number) {
  *number = text.length ? hr__names_intern(names, text.at, text.length) : HR_NONE;
  return text.length && *number == HR_NONE ? hr__reader_no_memory(&table->reader) : HR_OK;
}

static enum hr_status on_job(void *self, const void *data, uint64_t line) {
  struct table *table = self;
  struct hr__pai_jobs *jobs = table->jobs;
  const struct job_row *row = data;
  const struct hr__row_fault twice = {.line = line, .fault = "a line above tells of this job, too"};
  uint32_t count = jobs->names.count, number;
  if (count == jobs->capacity) {
    struct hr__pai_job *grown = hr__grown(jobs->at, &jobs->capacity, sizeof *grown);
    if (!grown) return hr__reader_no_memory(&table->reader);
    jobs->at = grown;
  }
  enum hr_status status = intern(table, &jobs->names, row->name, &number);
  if (status != HR_OK) return status;
  if (number < count) return hr__reader_bad_row(&table->reader, &twice);
  struct hr__pai_job *job = &jobs->at[number];
  *job = (struct hr__pai_job){.submit_us = row->submit_us};
  status = intern(table, &jobs->users, row->user, &job->user);
  return status == HR_OK ? intern(table, &jobs->instances, row->instance, &job->instance) : status;
}

/* ---- Tags ------------------------------------------------------------------------------------------- */

static enum hr_status on_tag(void *self, const void *data, uint64_t line) {
  (void)line;
  struct table *table = self;
  struct hr__pai_jobs *jobs = table->jobs;
  const struct tag_row *row = data;
  uint32_t instance = hr__names_find(&jobs->instances, row->instance.at, row->instance.length);
  if (instance == HR_NONE) return HR_OK;
  struct hr__pai_tag *tag = &jobs->tags[instance];
  enum hr_status status = HR_OK;
  if (tag->gpu_type == HR_NONE) status = intern(table, &jobs->words, row->gpu_type, &tag->gpu_type);
  if (status == HR_OK && tag->workload == HR_NONE) status = intern(table, &jobs->words, row->workload, &tag->workload);
  return status;
}

/* ---- Tables ----------------------------------------------------------------------------------------- */

/* Reads the table at `path`, of the columns that `names` lists, NULL-terminated. */
static enum hr_status read_table(struct table *table, const char *path, const char *const *names,
                                 struct hr__csv_schema *schema) {
  struct hr__reader *reader = &table->reader;
  reader->path = path;
  enum hr_status status = hr__input_open(path, &reader->input, reader->error);
  if (status != HR_OK) return status;
  if (!hr__begins_with_names(hr__first_line(hr__input_peek(reader->input)), names[0])) schema->header = names;
  schema->self = table;
  status = hr__csv_read_rows(reader, schema);
  hr__input_close(reader->input);
  return status;
}

static enum hr_status read_jobs(struct table *table, const char *path) {
  static const char *const names[] = {"job_name", "inst_id", "user", "status", "start_time", "end_time", NULL};
  static const char *const ignored[] = {"status", "end_time", NULL};
  static const struct job_row blank = {.submit_us = INT64_MIN};
  struct job_row row;
  struct hr__csv_schema schema = {.columns = job_columns,
                                  .n_columns = sizeof job_columns / sizeof *job_columns,
                                  .ignored = ignored,
                                  .missing_hint = "a pai_job_table.csv has job_name,inst_id,user,status,start_time,"
                                                  "end_time",
                                  .row = &row,
                                  .blank_row = &blank,
                                  .row_bytes = sizeof row,
                                  .on_row = on_job};
  return read_table(table, path, names, &schema);
}

static bool make_tags(struct hr__pai_jobs *jobs) {
  uint32_t count = jobs->instances.count;
  jobs->tags = malloc(((size_t)count + 1) * sizeof *jobs->tags);
  for (uint32_t i = 0; jobs->tags && i < count; i++) jobs->tags[i] = (struct hr__pai_tag){HR_NONE, HR_NONE};
  return jobs->tags != NULL;
}

static enum hr_status read_tags(struct table *table, const char *path) {
  static const char *const names[] = {"inst_id", "user", "gpu_type_spec", "group", "workload", NULL};
  static const char *const ignored[] = {"user", "group", NULL};
  static const struct tag_row blank;
  struct tag_row row;
  if (!make_tags(table->jobs)) return hr__reader_no_memory(&table->reader);
  struct hr__csv_schema schema = {.columns = tag_columns,
                                  .n_columns = sizeof tag_columns / sizeof *tag_columns,
                                  .ignored = ignored,
                                  .missing_hint = "a pai_group_tag_table.csv has inst_id,user,gpu_type_spec,group,"
                                                  "workload",
                                  .row = &row,
                                  .blank_row = &blank,
                                  .row_bytes = sizeof row,
                                  .on_row = on_tag};
  return read_table(table, path, names, &schema);
}

enum hr_status hr__pai_jobs_read(const struct hr__reader *reader, const char *jobs_path, const char *tags_path,
                                 struct hr__pai_jobs *jobs) {
  *jobs = (struct hr__pai_jobs){0};
  struct table table = {.jobs = jobs, .reader = {.notes = reader->notes, .error = reader->error}};
  enum hr_status status = read_jobs(&table, jobs_path);
  if (status == HR_OK && tags_path) status = read_tags(&table, tags_path);
  hr__names_finish(&jobs->instances);
  return status;
}

/* ---- Jobs that were read ---------------------------------------------------------------------------- */

const struct hr__pai_job *hr__pai_jobs_find(const struct hr__pai_jobs *jobs, struct hr_text name) {
  uint32_t job = hr__names_find(&jobs->names, name.at, name.length);
  return job == HR_NONE ? NULL : &jobs->at[job];
}

static struct hr_text text_of(const struct hr__names *names, uint32_t number) {
  if (number == HR_NONE) return (struct hr_text){NULL, 0};
  return (struct hr_text){names->text[number], names->length[number]};
}

struct hr_text hr__pai_job_user(const struct hr__pai_jobs *jobs, const struct hr__pai_job *job) {
  return text_of(&jobs->users, job->user);
}

static struct hr__pai_tag tag_of(const struct hr__pai_jobs *jobs, const struct hr__pai_job *job) {
  if (!jobs->tags || job->instance == HR_NONE) return (struct hr__pai_tag){HR_NONE, HR_NONE};
  return jobs->tags[job->instance];
}

struct hr_text hr__pai_job_gpu_type(const struct hr__pai_jobs *jobs, const struct hr__pai_job *job) {
  return text_of(&jobs->words, tag_of(jobs, job).gpu_type);
}

struct hr_text hr__pai_job_workload(const struct hr__pai_jobs *jobs, const struct hr__pai_job *job) {
  return text_of(&jobs->words, tag_of(jobs, job).workload);
}

void hr__pai_jobs_finish(struct hr__pai_jobs *jobs) {
  hr__names_finish(&jobs->names);
  hr__names_finish(&jobs->users);
  hr__names_finish(&jobs->instances);
  hr__names_finish(&jobs->words);
  free(jobs->at);
  free(jobs->tags);
  *jobs = (struct hr__pai_jobs){0};
}
