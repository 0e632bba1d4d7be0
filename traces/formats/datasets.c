/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Readers of published data sets that are CSV tables. Each part reads the files of one data set. */

#include "base/containers.h"
#include "traces/core/reader.h"
#include "traces/csv/csv.h"
#include "traces/formats/formats.h"

#include <stdio.h>
#include <string.h>

/* ---- Azure ----------------------------------------------------------------------------------------- */

/* Azure LLM inference traces (Azure/AzurePublicDataset: AzureLLMInferenceTrace_*.csv). The trace has token counts
   but no durations and no GPUs. The run time in seconds is context / prefill + generated / decode, each term rounded
   to a microsecond. `prefill` and `decode`, in tokens per second, and the share of a GPU are parameters of the
   format. */

struct llm_request {
  int64_t timestamp_us;
  uint32_t context, generated; /* token counts */
};

#define REQUEST(member) offsetof(struct llm_request, member)
static const struct hr__csv_column azure_columns[] = {
    {"TIMESTAMP", NULL, HR__INSTANT, true, true, REQUEST(timestamp_us), HR_SECOND_US},
    {"ContextTokens", NULL, HR__TOKENS, true, true, REQUEST(context), 0},
    {"GeneratedTokens", NULL, HR__TOKENS, true, true, REQUEST(generated), 0}};
#undef REQUEST

struct llm {
  struct hr__reader *reader;
  /* parameters: tokens per second in prefill and in decode; share of a GPU in thousandths */
  uint64_t prefill_per_s, decode_per_s, gpu_milli;
};

static int64_t tokens_us(uint32_t tokens, uint64_t per_s) {
  return (int64_t)(((uint64_t)tokens * (uint64_t)HR_SECOND_US + per_s / 2) / per_s);
}

static enum hr_status on_request(void *self, const void *data, uint64_t line) {
  const struct llm *llm = self;
  const struct llm_request *request = data;
  struct hr_job_record job;
  hr_job_record_init(&job);
  job.submit_us = request->timestamp_us;
  job.work_us = tokens_us(request->context, llm->prefill_per_s) + tokens_us(request->generated, llm->decode_per_s);
  job.gpus = 1;
  job.gpu_milli = (uint32_t)llm->gpu_milli;
  job.class_ = HR_CLASS_INFERENCE;
  return hr__reader_add(llm->reader, &job, line);
}

static enum hr_status note_speeds(const struct llm *llm) {
  bool given = llm->reader->params != NULL;
  return hr__reader_noted(
      llm->reader,
      hr_notes_add(llm->reader->notes,
                   "each request runs for its context / %llu + its generated tokens / %llu seconds on %llu thousandths "
                   "of a GPU%s (--format azure-llm:prefill=TOKENS_PER_S,decode=TOKENS_PER_S,gpu_milli=SHARE)",
                   (unsigned long long)llm->prefill_per_s, (unsigned long long)llm->decode_per_s,
                   (unsigned long long)llm->gpu_milli, given ? "" : " (assumed)"));
}

static enum hr_status read_azure_llm(struct hr__reader *reader) {
  /* Assumption: a model of about 70 G parameters on GPUs like H100, with 20 concurrent requests per GPU. See
     docs/reference/formats/azure-llm.md. */
  struct llm llm = {.reader = reader, .prefill_per_s = 10000, .decode_per_s = 50, .gpu_milli = 50};
  const struct hr__reader_param params[] = {{"prefill", 1, 1000000000, &llm.prefill_per_s, NULL},
                                            {"decode", 1, 1000000000, &llm.decode_per_s, NULL},
                                            {"gpu_milli", 1, 1000, &llm.gpu_milli, NULL}};
  static const struct llm_request blank = {0};
  struct llm_request row;
  const struct hr__csv_schema schema = {HR__CSV_ROWS(azure_columns, row, blank, on_request, &llm),
                                        .missing_hint = "an Azure LLM inference trace has all of these columns"};
  enum hr_status status = hr__reader_params(reader, "azure-llm", params, sizeof params / sizeof *params);
  if (status == HR_OK) status = hr__csv_read_rows(reader, &schema);
  return status == HR_OK ? note_speeds(&llm) : status;
}

const struct hr__format_reader hr__azure_llm_reader = {
    .read = read_azure_llm, .has_params = true, .missing = "limits, users and waits"};

/* ---- Helios and Acme ------------------------------------------------------------------------------- */

/* Published logs of Slurm clusters: Helios `cluster_log.csv` (S-Lab-System-Group/HeliosData, SC'21) and Acme
   `trace_seren.csv`, `trace_kalos.csv` (InternLM/AcmeTrace, NSDI'24). Both have the same kinds of columns: the total
   numbers of nodes, GPUs and CPUs of a job, its state, and its submit, start and end times. The run time is end -
   start. The column `duration` is not used, because in Kalos it includes the wait. */

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
    if (hr__text_is(type, classes[i].type)) return classes[i].class_;
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
  if (row->end_us < row->job.recorded_start_us)
    return hr__reader_bad_job(log->reader, line, "the job ends before it starts");
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

/* ---- openb ----------------------------------------------------------------------------------------- */

/* Pods of Alibaba's openb trace (cluster-trace-gpu-v2023). The run time is deletion - scheduled. If a pod was never
   scheduled, its run time is deletion - creation. `qos` is ignored. */

struct pod {
  struct hr_job_record job;
  /* deletion_us: HR_UNKNOWN_US if times are not needed; scheduled_us: HR_UNKNOWN_US if the pod was never scheduled */
  int64_t deletion_us, scheduled_us;
  uint32_t gpu_milli; /* 0: no share */
};

#define POD(member) offsetof(struct pod, member)
static const struct hr__csv_column openb_columns[] = {
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
enum { N_COLUMNS = sizeof openb_columns / sizeof *openb_columns };

struct openb {
  struct hr__reader *reader;
  uint64_t n_never_scheduled;
};

static enum hr_status on_pod(void *self, const void *row, uint64_t line) {
  struct openb *openb = self;
  const struct pod *pod = row;
  bool with_times = pod->deletion_us != HR_UNKNOWN_US, scheduled = pod->scheduled_us != HR_UNKNOWN_US;
  int64_t start_us = scheduled ? pod->scheduled_us : pod->job.submit_us;
  if (with_times && pod->deletion_us < start_us)
    return hr__reader_bad_job(openb->reader, line, "the pod is deleted before it is scheduled or created");
  openb->n_never_scheduled += with_times && !scheduled;
  struct hr_job_record job = pod->job;
  if (scheduled && with_times && pod->scheduled_us >= job.submit_us) job.recorded_start_us = pod->scheduled_us;
  job.work_us = with_times ? pod->deletion_us - start_us : 0;
  if (job.gpus && pod->gpu_milli) job.gpu_milli = pod->gpu_milli;
  return hr__reader_add(openb->reader, &job, line);
}

static enum hr_status read_openb(struct hr__reader *reader) {
  static const char *const ignored[] = {"qos", NULL};
  struct openb openb = {.reader = reader};
  struct pod pod, blank = {.scheduled_us = HR_UNKNOWN_US, .deletion_us = HR_UNKNOWN_US};
  hr_job_record_init(&blank.job);
  struct hr__csv_column chosen[N_COLUMNS];
  for (size_t i = 0; i < N_COLUMNS; i++) {
    chosen[i] = openb_columns[i];
    if (reader->without_times && openb_columns[i].kind == HR__INSTANT) chosen[i].must_exist = false;
  }
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

/* ---- Alibaba, spot capacity ------------------------------------------------------------------------ */

/* Jobs of Alibaba's cluster-trace-v2026-spot-gpu, `job_info_df.csv` (alibaba/clusterdata; Duan et al., "GFS",
   ASPLOS'26). Jobs have high priority, or are spot jobs, which use the remaining capacity. `gpu_request` and
   `cpu_request` are per worker, so a job of 16 workers that each request one GPU requests 16 GPUs. */

struct spot_row {
  struct hr_job_record job;
  struct hr_text job_type;
  uint32_t gpu_milli, workers;
};

#define ROW(member) offsetof(struct spot_row, member)
static const struct hr__csv_column spot_columns[] = {
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

static enum hr_status on_spot_row(void *self, const void *data, uint64_t line) {
  struct spot2026_spot *spot = self;
  const struct spot_row *row = data;
  struct hr__row_fault fault = {
      .line = line, .column = "job_type", .value = row->job_type, .fault = "neither HP nor Spot"};
  bool high = hr__text_is(row->job_type, "HP"), rounded;
  if (!high && !hr__text_is(row->job_type, "Spot")) return hr__reader_bad_row(spot->reader, &fault);
  struct hr_job_record job = row->job;
  if (!hr__request_milli(&job, row->gpu_milli, row->workers, &rounded))
    return hr__reader_bad_job(spot->reader, line, "the job requests more than 4000000 GPUs");
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
      HR__CSV_ROWS(spot_columns, row, blank, on_spot_row, &spot),
      .missing_hint = "a job_info_df.csv of cluster-trace-v2026-spot-gpu has all of these columns"};
  enum hr_status status = hr__csv_read_rows(reader, &schema);
  const struct hr__count_note notes[] = {
      {spot.n_gangs, "job has", "jobs have", " several workers: gpu_request and cpu_request are taken per worker"},
      {spot.n_rounded, "job requests", "jobs request", " a fraction above one GPU: the fraction is rounded up"}};
  return status == HR_OK ? hr__reader_note_counts(reader, notes, sizeof notes / sizeof *notes) : status;
}

const struct hr__format_reader hr__spot2026_reader = {
    .read = read_spot2026, .has_columns = true, .missing = "limits, users, waits and outcomes"};

/* ---- Carbon-aware scheduling ----------------------------------------------------------------------- */

/* The jobs of GAIA, `pai_1k.csv` (umassos/GAIA; Hanafy et al., ASPLOS'24): a sample of Alibaba's PAI. GAIA's simulator
   divides all times by 5 and rounds them down to seconds. Its tick is therefore 5 s, and an hour of its carbon series
   has 720 ticks. CPUs become GPUs. Jobs with a run time of up to `short_s` get the class batch-inference, and other
   jobs get training. A pool can then be reserved for short jobs, like GAIA's spot capacity. */

struct gaia {
  struct hr__reader *reader;
  uint64_t tick_s, short_s; /* parameters of the format */
};

#define JOB(member) offsetof(struct hr_job_record, member)
static const struct hr__csv_column gaia_columns[] = {
    {"arrival_time", NULL, HR__INSTANT, true, true, JOB(submit_us), HR_SECOND_US},
    {"length", NULL, HR__DURATION, true, true, JOB(work_us), HR_SECOND_US},
    {"cpus", NULL, HR__GPUS, true, true, JOB(gpus), 0}};
#undef JOB

static enum hr_status on_gaia_job(void *self, const void *data, uint64_t line) {
  const struct gaia *gaia = self;
  struct hr_job_record job = *(const struct hr_job_record *)data;
  int64_t tick_us = (int64_t)gaia->tick_s * HR_SECOND_US;
  bool is_short = job.work_us <= (int64_t)gaia->short_s * HR_SECOND_US;
  job.class_ = is_short ? HR_CLASS_BATCH_INFERENCE : HR_CLASS_TRAINING;
  job.submit_us -= tick_us ? job.submit_us % tick_us : 0;
  job.work_us -= tick_us ? job.work_us % tick_us : 0;
  return hr__reader_add(gaia->reader, &job, line);
}

static enum hr_status read_gaia(struct hr__reader *reader) {
  struct gaia gaia = {.reader = reader, .tick_s = 5, .short_s = 7200};
  const struct hr__reader_param params[] = {{"tick_s", 0, 86400, &gaia.tick_s, NULL},
                                            {"short_s", 0, 1000000000, &gaia.short_s, NULL}};
  struct hr_job_record row, blank;
  hr_job_record_init(&blank);
  const struct hr__csv_schema schema = {HR__CSV_ROWS(gaia_columns, row, blank, on_gaia_job, &gaia),
                                        .missing_hint = "a job list of GAIA has all of these columns"};
  enum hr_status status = hr__reader_params(reader, "gaia", params, sizeof params / sizeof *params);
  return status == HR_OK ? hr__csv_read_rows(reader, &schema) : status;
}

const struct hr__format_reader hr__gaia_reader = {
    .read = read_gaia, .has_params = true, .missing = "limits, users and waits"};

/* The machine learning jobs of Let's Wait Awhile (dos-group/lets-wait-awhile; Wiesner et al., Middleware'21). Times are
   in steps of 30 minutes. Each job runs on one GPU. The columns of slacks are not used, because the policy computes
   slacks. */

struct lwa_row {
  int64_t start, length; /* steps, read as seconds */
};

#define ROW(member) offsetof(struct lwa_row, member)
static const struct hr__csv_column lwa_columns[] = {
    {"start_step", NULL, HR__INSTANT, true, true, ROW(start), HR_SECOND_US},
    {"length_steps", NULL, HR__DURATION, true, true, ROW(length), HR_SECOND_US}};
#undef ROW

static enum hr_status on_lwa_job(void *self, const void *data, uint64_t line) {
  enum { STEP_S = 1800 };
  const struct lwa_row *row = data;
  struct hr__reader *reader = self;
  struct hr_job_record job;
  hr_job_record_init(&job);
  if (row->start > HR_MAX_INPUT_US / STEP_S || row->length > HR_MAX_INPUT_US / STEP_S || row->start < 0)
    return hr__reader_bad_job(reader, line, "the job starts or ends after more than 1,700 years");
  job.submit_us = row->start * STEP_S;
  job.work_us = row->length * STEP_S;
  job.gpus = 1;
  job.class_ = HR_CLASS_TRAINING;
  return hr__reader_add(reader, &job, line);
}

static enum hr_status read_lwa(struct hr__reader *reader) {
  static const char *const ignored[] = {"slack_next_workday_steps", "slack_semi_weekly_steps", NULL};
  static const struct lwa_row blank = {0};
  struct lwa_row row;
  const struct hr__csv_schema schema = {HR__CSV_ROWS(lwa_columns, row, blank, on_lwa_job, reader), .ignored = ignored,
                                        .missing_hint = "a job list of Let's Wait Awhile has all of these columns"};
  return hr__csv_read_rows(reader, &schema);
}

const struct hr__format_reader hr__lwa_reader = {.read = read_lwa, .missing = "limits, users and waits"};

/* ---- Alibaba PAI ----------------------------------------------------------------------------------- */

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

/* ---- Alibaba PAI: jobs ----------------------------------------------------------------------------- */

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
  uint32_t count = jobs->names.count, number;
  if (!HR__ARRAY_HAS_ROOM(jobs->at, count, jobs->capacity)) return hr__reader_no_memory(&table->reader);
  enum hr_status status = intern(table, &jobs->names, row->name, &number);
  if (status != HR_OK) return status;
  if (number < count) return hr__reader_bad_job(&table->reader, line, "a duplicate of the job on an earlier line");
  struct pai_job *job = &jobs->at[number];
  *job = (struct pai_job){.submit_us = row->submit_us};
  status = intern(table, &jobs->users, row->user, &job->user);
  return status == HR_OK ? intern(table, &jobs->instances, row->instance, &job->instance) : status;
}

/* ---- Alibaba PAI: tags ----------------------------------------------------------------------------- */

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

/* ---- Alibaba PAI: tables --------------------------------------------------------------------------- */

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

/* ---- Alibaba PAI: lookup --------------------------------------------------------------------------- */

static struct hr__pai_tag tag_of(const struct pai_jobs *jobs, const struct pai_job *job) {
  if (!jobs->tags || job->instance == HR_NONE) return (struct hr__pai_tag){HR_NONE, HR_NONE};
  return jobs->tags[job->instance];
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

/* ---- Alibaba PAI: tasks ---------------------------------------------------------------------------- */

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
    if (!hr__text_is(text, words[i].word)) continue;
    *outcome = words[i].outcome;
    return NULL;
  }
  return "not one of Terminated, Failed, Running, Waiting";
}

/* Sets the submit time and the recorded start of a task, and its properties in the tables of jobs and tags. */
static void add_submission(struct pai *pai, const struct pai_row *row, struct hr_job_record *task) {
  uint32_t number = hr__names_find(&pai->jobs.names, row->job_name.at, row->job_name.length);
  const struct pai_job *job = number == HR_NONE ? NULL : &pai->jobs.at[number];
  bool is_known = job && job->submit_us != INT64_MIN, is_late = is_known && job->submit_us > row->start_us;
  pai->n_unknown += !is_known;
  pai->n_late += is_late;
  if (is_known && !is_late) task->submit_us = job->submit_us;
  task->recorded_start_us = row->start_us;
  if (!job) return;
  const struct hr__pai_tag tag = tag_of(&pai->jobs, job);
  task->user = hr__text_stored(&pai->jobs.users, job->user);
  task->model = hr__text_stored(&pai->jobs.words, tag.workload);
  if (pai->jobs.tags && task->gpus) task->gpu_types = hr__text_stored(&pai->jobs.words, tag.gpu_type);
}

static enum hr_status add_task(struct pai *pai, const struct pai_row *row, uint8_t outcome, uint64_t line) {
  enum { MAX_ID = 200 };
  char id[2 * MAX_ID + 2];
  struct hr_job_record job;
  hr_job_record_init(&job);
  if (row->job_name.length > MAX_ID || row->task_name.length > MAX_ID)
    return hr__reader_bad_job(pai->reader, line, "the names of the job and its task are too long");
  job.id.at = id;
  job.id.length = (size_t)snprintf(id, sizeof id, "%.*s/%.*s", (int)row->job_name.length, row->job_name.at,
                                   (int)row->task_name.length, row->task_name.at);
  bool rounded;
  if (!hr__request_milli(&job, row->gpu_percent / 100, row->instances, &rounded))
    return hr__reader_bad_job(pai->reader, line, "the task requests more than 4000000 GPUs");
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

static enum hr_status on_task(void *self, const void *data, uint64_t line) {
  struct pai *pai = self;
  const struct pai_row *row = data;
  uint8_t outcome = HR_OUTCOME_UNKNOWN;
  struct hr__row_fault fault = {.line = line, .column = "status", .value = row->status};
  fault.fault = read_status(row->status, &outcome);
  if (fault.fault) return hr__reader_bad_row(pai->reader, &fault);
  if (row->start_us == INT64_MIN) return hr__reader_leave_out(pai->reader, "the task was never launched", line);
  if (row->end_us == INT64_MIN) return hr__reader_leave_out(pai->reader, "the task had not ended", line);
  if (row->end_us < row->start_us) return hr__reader_bad_job(pai->reader, line, "the task ends before it starts");
  return add_task(pai, row, outcome, line);
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
  const bool has_header = hr__begins_with_names(hr__first_line(hr__input_peek(pai->reader->input)), "job_name,");
  const struct hr__csv_schema schema = {
      HR__CSV_ROWS(columns, row, blank, on_task, pai), .header = has_header ? NULL : header,
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
