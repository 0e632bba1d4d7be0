/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Alibaba PAI, cluster-trace-gpu-v2020 (alibaba/clusterdata; Weng et al., "MLaaS in the Wild", NSDI'22).
 *
 * A row of `pai_task_table.csv` is a job: `inst_num` instances that each request `plan_gpu` hundredths of a GPU.
 * Parameters of the format may specify two further tables. `pai_job_table` has the submit time and the user of each
 * job. `pai_group_tag_table` has the requested GPU type and the workload, by the `inst_id` of the job. Without the
 * job table, the submit time of a task is its start time. The tables have no header row, but a header row is
 * accepted. If several rows of the tag table have a GPU type, or a workload, for one `inst_id`, the first of them is
 * used.
 */

#include "base/containers.h"
#include "traces/core/reader.h"
#include "traces/csv/csv.h"
#include "traces/formats/formats.h"

#include <stdio.h>
#include <string.h>

struct pai_job {
  int64_t submit_us; /* INT64_MIN: unknown */
  /* name numbers (indices in a name table) of the user and of the instance; HR_NONE: unknown */
  uint32_t user, instance;
};

struct pai_jobs {
  struct hr__name_table names; /* names of jobs; `at` has the same order */
  struct hr__name_table users, instances;
  struct hr__name_table words; /* names of GPU types and workloads */
  struct pai_job *at;          /* [names.count] */
  uint32_t capacity;
  struct hr__pai_tag {
    uint32_t gpu_type, workload; /* name numbers in `words`; HR_NONE: unknown */
  } * tags;                      /* [instances.count]; NULL: the table of tags was not read */
};

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

/* State while one of the tables of jobs and tags is read. */
struct pai_table {
  struct pai_jobs *jobs;
  struct hr__reader reader;
};

/* ---- Jobs ------------------------------------------------------------------------------------------- */

/* Sets `*number` to the name number of a text; HR_NONE if the text is empty. */
static enum hr_status intern(struct pai_table *table, struct hr__name_table *names, struct hr_text text,
                             uint32_t *number) {
  *number = text.length ? hr__names_intern(names, text.at, text.length) : HR_NONE;
  return text.length && *number == HR_NONE ? hr__reader_no_memory(&table->reader) : HR_OK;
}

static enum hr_status on_job(void *self, const void *data, uint64_t line) {
  struct pai_table *table = self;
  struct pai_jobs *jobs = table->jobs;
  const struct job_row *row = data;
  const struct hr__row_fault twice = {.line = line, .fault = "a duplicate of the job on an earlier line"};
  uint32_t count = jobs->names.count, number;
  if (!HR__ARRAY_HAS_ROOM(jobs->at, count, jobs->capacity)) return hr__reader_no_memory(&table->reader);
  enum hr_status status = intern(table, &jobs->names, row->name, &number);
  if (status != HR_OK) return status;
  if (number < count) return hr__reader_bad_row(&table->reader, &twice);
  struct pai_job *job = &jobs->at[number];
  *job = (struct pai_job){.submit_us = row->submit_us};
  status = intern(table, &jobs->users, row->user, &job->user);
  return status == HR_OK ? intern(table, &jobs->instances, row->instance, &job->instance) : status;
}

/* ---- Tags ------------------------------------------------------------------------------------------- */

static enum hr_status on_tag(void *self, const void *data, uint64_t line) {
  (void)line;
  struct pai_table *table = self;
  struct pai_jobs *jobs = table->jobs;
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

/* Reads the table at `path`. `names` are the columns of the table, NULL-terminated. */
static enum hr_status read_table(struct pai_table *table, const char *path, const char *const *names,
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

static enum hr_status read_jobs(struct pai_table *table, const char *path) {
  static const char *const names[] = {"job_name", "inst_id", "user", "status", "start_time", "end_time", NULL};
  static const char *const ignored[] = {"status", "end_time", NULL};
  static const struct job_row blank = {.submit_us = INT64_MIN};
  struct job_row row;
  struct hr__csv_schema schema = {HR__CSV_ROWS(job_columns, row, blank, on_job, NULL), .ignored = ignored,
                                  .missing_hint = "a pai_job_table.csv has job_name,inst_id,user,status,start_time,"
                                                  "end_time"};
  return read_table(table, path, names, &schema);
}

static bool make_tags(struct pai_jobs *jobs) {
  uint32_t count = jobs->instances.count;
  jobs->tags = malloc(((size_t)count + 1) * sizeof *jobs->tags);
  for (uint32_t i = 0; jobs->tags && i < count; i++) jobs->tags[i] = (struct hr__pai_tag){HR_NONE, HR_NONE};
  return jobs->tags != NULL;
}

static enum hr_status read_tags(struct pai_table *table, const char *path) {
  static const char *const names[] = {"inst_id", "user", "gpu_type_spec", "group", "workload", NULL};
  static const char *const ignored[] = {"user", "group", NULL};
  static const struct tag_row blank;
  struct tag_row row;
  if (!make_tags(table->jobs)) return hr__reader_no_memory(&table->reader);
  struct hr__csv_schema schema = {HR__CSV_ROWS(tag_columns, row, blank, on_tag, NULL), .ignored = ignored,
                                  .missing_hint = "a pai_group_tag_table.csv has inst_id,user,gpu_type_spec,group,"
                                                  "workload"};
  return read_table(table, path, names, &schema);
}

/* Reads the table of jobs and, unless `tags_path` is NULL, the table of tags. Errors are written to `reader`. Bad
   rows are errors even if the reader is lenient. The caller frees the jobs, also after an error. */
static enum hr_status read_pai_jobs(const struct hr__reader *reader, const char *jobs_path, const char *tags_path,
                                    struct pai_jobs *jobs) {
  *jobs = (struct pai_jobs){0};
  struct pai_table table = {.jobs = jobs, .reader = {.notes = reader->notes, .error = reader->error}};
  enum hr_status status = read_jobs(&table, jobs_path);
  if (status == HR_OK && tags_path) status = read_tags(&table, tags_path);
  hr__names_finish(&jobs->instances);
  return status;
}

/* ---- Lookup ------------------------------------------------------------------------------------------ */

/* Returns the job with a name; NULL if it does not exist. */
static const struct pai_job *find_pai_job(const struct pai_jobs *jobs, struct hr_text name) {
  uint32_t job = hr__names_find(&jobs->names, name.at, name.length);
  return job == HR_NONE ? NULL : &jobs->at[job];
}

static struct hr_text text_of(const struct hr__name_table *names, uint32_t number) {
  if (number == HR_NONE) return (struct hr_text){NULL, 0};
  return (struct hr_text){names->text[number], names->length[number]};
}

/* Returns the user of a job; an empty text if the user is unknown. */
static struct hr_text pai_job_user(const struct pai_jobs *jobs, const struct pai_job *job) {
  return text_of(&jobs->users, job->user);
}

static struct hr__pai_tag tag_of(const struct pai_jobs *jobs, const struct pai_job *job) {
  if (!jobs->tags || job->instance == HR_NONE) return (struct hr__pai_tag){HR_NONE, HR_NONE};
  return jobs->tags[job->instance];
}

static struct hr_text pai_job_gpu_type(const struct pai_jobs *jobs, const struct pai_job *job) {
  return text_of(&jobs->words, tag_of(jobs, job).gpu_type);
}

static struct hr_text pai_job_workload(const struct pai_jobs *jobs, const struct pai_job *job) {
  return text_of(&jobs->words, tag_of(jobs, job).workload);
}

static void finish_pai_jobs(struct pai_jobs *jobs) {
  hr__names_finish(&jobs->names);
  hr__names_finish(&jobs->users);
  hr__names_finish(&jobs->instances);
  hr__names_finish(&jobs->words);
  free(jobs->at);
  free(jobs->tags);
  *jobs = (struct pai_jobs){0};
}

/* ---- Tasks ------------------------------------------------------------------------------------------- */

struct pai_row {
  struct hr_text job_name, task_name, status, gpu_type;
  int64_t start_us, end_us;
  uint64_t mem_mib;
  uint32_t instances;                /* number of instances */
  uint32_t cpu_percent, gpu_percent; /* request of an instance, in thousandths of a percent of a CPU or a GPU */
};

#define ROW(member) offsetof(struct pai_row, member)
static const struct hr__csv_column columns[] = {
    {"job_name", NULL, HR__TEXT, true, true, ROW(job_name), 0},
    {"task_name", NULL, HR__TEXT, true, true, ROW(task_name), 0},
    {"inst_num", NULL, HR__TASKS, true, true, ROW(instances), 0},
    {"status", NULL, HR__TEXT, true, true, ROW(status), 0},
    {"start_time", NULL, HR__INSTANT_OR_NONE, true, false, ROW(start_us), HR_SECOND_US},
    {"end_time", NULL, HR__INSTANT_OR_NONE, true, false, ROW(end_us), HR_SECOND_US},
    {"plan_cpu", NULL, HR__CPUS, true, false, ROW(cpu_percent), 0},
    {"plan_mem", NULL, HR__GIB, true, false, ROW(mem_mib), 0},
    {"plan_gpu", NULL, HR__GPU_PARTS, true, false, ROW(gpu_percent), 0},
    {"gpu_type", NULL, HR__TEXT, true, false, ROW(gpu_type), 0}};
#undef ROW

struct pai {
  struct hr__reader *reader;
  struct pai_jobs jobs; /* empty unless have_jobs is set */
  bool have_jobs;
  /* Counters of tasks. note_what_is_assumed() prints each of them in a note that describes what it counts. */
  uint64_t n_tasks, n_rounded, n_unknown, n_late;
};

/* Parses the status of a task. Returns NULL, or the fault. */
static const char *read_status(struct hr_text text, uint8_t *outcome) {
  static const struct {
    const char *word;
    uint8_t outcome;
  } words[] = {{"Terminated", HR_OUTCOME_COMPLETED},
               {"Failed", HR_OUTCOME_FAILED},
               {"Running", HR_OUTCOME_UNKNOWN},
               {"Waiting", HR_OUTCOME_UNKNOWN}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (strlen(words[i].word) != text.length || memcmp(words[i].word, text.at, text.length) != 0) continue;
    *outcome = words[i].outcome;
    return NULL;
  }
  return "not one of Terminated, Failed, Running, Waiting";
}

/* Sets the submit time of a task, and those of its properties that are in the job table. */
static void add_submission(struct pai *pai, const struct pai_row *row, struct hr_job_record *task) {
  const struct pai_job *job = find_pai_job(&pai->jobs, row->job_name);
  bool is_known = job && job->submit_us != INT64_MIN, is_late = is_known && job->submit_us > row->start_us;
  pai->n_unknown += !is_known;
  pai->n_late += is_late;
  if (is_known && !is_late) task->submit_us = job->submit_us;
  task->recorded_start_us = row->start_us;
  if (!job) return;
  task->user = pai_job_user(&pai->jobs, job);
  task->model = pai_job_workload(&pai->jobs, job);
  if (pai->jobs.tags && task->gpus) task->gpu_types = pai_job_gpu_type(&pai->jobs, job);
}

static enum hr_status add_task(struct pai *pai, const struct pai_row *row, uint8_t outcome, uint64_t line) {
  enum { MAX_ID = 200 };
  char id[2 * MAX_ID + 2];
  struct hr_job_record job;
  hr_job_record_init(&job);
  struct hr__row_fault fault = {.line = line, .fault = "the names of the job and its task are too long"};
  if (row->job_name.length > MAX_ID || row->task_name.length > MAX_ID) return hr__reader_bad_row(pai->reader, &fault);
  job.id.at = id;
  job.id.length = (size_t)snprintf(id, sizeof id, "%.*s/%.*s", (int)row->job_name.length, row->job_name.at,
                                   (int)row->task_name.length, row->task_name.at);
  bool rounded;
  fault.fault = "the task requests more than 4000000 GPUs";
  if (!hr__request_milli(&job, row->gpu_percent / 100, row->instances, &rounded))
    return hr__reader_bad_row(pai->reader, &fault);
  pai->n_rounded += rounded;
  pai->n_tasks++;
  job.submit_us = row->start_us;
  job.work_us = row->end_us - row->start_us;
  job.cpu_milli = row->cpu_percent / 100;
  job.mem_mib = row->mem_mib;
  if (job.gpus) job.gpu_types = row->gpu_type;
  job.outcome = outcome;
  if (pai->have_jobs) add_submission(pai, row, &job);
  return hr__reader_add(pai->reader, &job, line);
}

static enum hr_status on_row(void *self, const void *data, uint64_t line) {
  struct pai *pai = self;
  const struct pai_row *row = data;
  uint8_t outcome = HR_OUTCOME_UNKNOWN;
  struct hr__row_fault fault = {.line = line, .column = "status", .value = row->status};
  fault.fault = read_status(row->status, &outcome);
  if (fault.fault) return hr__reader_bad_row(pai->reader, &fault);
  if (row->start_us == INT64_MIN) return hr__reader_leave_out(pai->reader, "the task was never launched", line);
  if (row->end_us == INT64_MIN) return hr__reader_leave_out(pai->reader, "the task had not ended", line);
  fault = (struct hr__row_fault){.line = line, .fault = "the task ends before it starts"};
  if (row->end_us < row->start_us) return hr__reader_bad_row(pai->reader, &fault);
  return add_task(pai, row, outcome, line);
}

static bool has_header(const struct hr__reader *reader) {
  return hr__begins_with_names(hr__first_line(hr__input_peek(reader->input)), "job_name,");
}

/* Returns the name of the table to which the first line of the file belongs. Returns NULL if it is the task table or
   an unknown file. */
static const char *other_table(const struct hr__reader *reader) {
  struct hr_text line = hr__first_line(hr__input_peek(reader->input));
  size_t n_commas = 0;
  for (size_t i = 0; i < line.length; i++) n_commas += line.at[i] == ',';
  return n_commas == 5 ? "pai_job_table" : n_commas == 8 ? "pai_instance_table" : NULL;
}

static enum hr_status refuse_other_table(const struct hr__reader *reader, const char *table) {
  bool is_jobs = strcmp(table, "pai_job_table") == 0;
  return hr_fail(reader->error, HR_BAD_INPUT,
                 "%s: looks like PAI's %s, which lacks the tasks' requests; expected pai_task_table%s", reader->path,
                 table, is_jobs ? ", with --format pai2020:jobs=FILE for this table" : "");
}

static enum hr_status read_rows(struct pai *pai) {
  static const char *const header[] = {"job_name", "task_name", "inst_num", "status",   "start_time", "end_time",
                                       "plan_cpu", "plan_mem",  "plan_gpu", "gpu_type", NULL};
  static const struct pai_row blank = {.start_us = INT64_MIN, .end_us = INT64_MIN};
  struct pai_row row;
  const struct hr__csv_schema schema = {
      HR__CSV_ROWS(columns, row, blank, on_row, pai), .header = has_header(pai->reader) ? NULL : header,
      .missing_hint =
          "a pai_task_table.csv has all of these columns; the other tables of the trace lack the tasks' requests"};
  return hr__csv_read_rows(pai->reader, &schema);
}

static enum hr_status note_what_is_assumed(const struct pai *pai) {
  const struct hr__reader *reader = pai->reader;
  const struct hr__count_note notes[] = {
      {pai->n_tasks, "task is a job of its own", "tasks are jobs of their own",
       pai->have_jobs ? ", each submitted when its job was"
                      : ", submitted when launched: users and submit times are in pai_job_table (--format "
                        "pai2020:jobs=FILE)"},
      {pai->n_unknown, "task of a job", "tasks of jobs",
       " without a submit time in pai_job_table: submitted when launched"},
      {pai->n_late, "task was launched before its job was", "tasks were launched before their jobs were",
       " submitted: submitted when launched"},
      {pai->n_rounded, "task requests", "tasks request", " a fraction above one GPU: the fraction is rounded up"}};
  return hr__reader_note_counts(reader, notes, sizeof notes / sizeof *notes);
}

/* Reads the tables that the parameters of the format specify. */
static enum hr_status read_job_tables(struct pai *pai) {
  struct hr_text jobs = {NULL, 0}, tags = {NULL, 0};
  const struct hr__reader_param params[] = {{"jobs", 0, 0, NULL, &jobs}, {"tags", 0, 0, NULL, &tags}};
  const struct hr__reader *reader = pai->reader;
  enum hr_status status = hr__reader_params(reader, "pai2020", params, sizeof params / sizeof *params);
  if (status != HR_OK || (!jobs.length && !tags.length)) return status;
  if (!jobs.length)
    return hr_fail(reader->error, HR_BAD_INPUT,
                   "trace format 'pai2020': 'tags' needs the job table, too: pai2020:jobs=FILE,tags=FILE");
  char jobs_path[4096], tags_path[4096];
  snprintf(jobs_path, sizeof jobs_path, "%.*s", (int)jobs.length, jobs.at);
  snprintf(tags_path, sizeof tags_path, "%.*s", (int)tags.length, tags.length ? tags.at : "");
  pai->have_jobs = true;
  return read_pai_jobs(reader, jobs_path, tags.length ? tags_path : NULL, &pai->jobs);
}

static enum hr_status read_pai2020(struct hr__reader *reader) {
  const char *other = other_table(reader);
  if (other) return refuse_other_table(reader, other);
  struct pai pai = {.reader = reader};
  enum hr_status status = read_job_tables(&pai);
  if (status == HR_OK) status = read_rows(&pai);
  if (status == HR_OK) status = note_what_is_assumed(&pai);
  finish_pai_jobs(&pai.jobs);
  return status;
}

const struct hr__format_reader hr__pai2020_reader = {.read = read_pai2020, .has_params = true, .missing = "limits"};
