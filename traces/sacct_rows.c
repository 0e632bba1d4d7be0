/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A row of sacct's output to a job. GPUs are those that the job was given (AllocTRES), else those it asked for; types
 * are those that it asked for, and those it was given only where the file has no column of what was asked. CPUs and
 * memory are told for the whole job and shared out over its nodes.
 */

#include "traces/asks.h"
#include "traces/csv_rows.h"
#include "traces/job_states.h"
#include "traces/numbers.h"
#include "traces/sacct.h"
#include "traces/tres.h"

#include <string.h>
#include <strings.h>

#define ROW(member) offsetof(struct hr__sacct_row, member)
static const struct hr__csv_column columns[] = {
    {"JobID", NULL, HR__TEXT, false, true, ROW(id), 0},
    {"JobIDRaw", NULL, HR__TEXT, false, true, ROW(raw_id), 0},
    {"State", NULL, HR__TEXT, true, true, ROW(state), 0},
    {"Submit", NULL, HR__INSTANT_OR_NONE, true, true, ROW(submit_us), HR_SECOND_US},
    {"Eligible", NULL, HR__INSTANT_OR_NONE, false, false, ROW(eligible_us), HR_SECOND_US},
    {"Start", NULL, HR__INSTANT_OR_NONE, true, false, ROW(start_us), HR_SECOND_US},
    {"End", NULL, HR__INSTANT_OR_NONE, true, false, ROW(end_us), HR_SECOND_US},
    {"Timelimit", NULL, HR__TEXT, false, false, ROW(limit), 0},
    {"TimelimitRaw", NULL, HR__TEXT, false, false, ROW(limit_minutes), 0},
    {"AllocTRES", NULL, HR__TEXT, false, false, ROW(alloc_tres), 0},
    {"ReqTRES", NULL, HR__TEXT, false, false, ROW(req_tres), 0},
    {"AllocGRES", NULL, HR__TEXT, false, false, ROW(alloc_gres), 0},
    {"ReqGRES", NULL, HR__TEXT, false, false, ROW(req_gres), 0},
    {"User", NULL, HR__TEXT, false, false, ROW(user), 0},
    {"Account", NULL, HR__TEXT, false, false, ROW(account), 0},
    {"Partition", NULL, HR__TEXT, false, false, ROW(partition), 0},
    {"Priority", NULL, HR__TEXT, false, false, ROW(priority), 0},
    {"Restarts", NULL, HR__TEXT, false, false, ROW(restarts), 0},
    {"AllocNodes", NULL, HR__GPUS, false, false, ROW(alloc_nodes), 0},
    {"NNodes", NULL, HR__GPUS, false, false, ROW(nodes), 0},
    {"AllocCPUS", NULL, HR__CPUS, false, false, ROW(alloc_cpu_milli), 0},
    {"NCPUS", NULL, HR__CPUS, false, false, ROW(cpu_milli), 0},
    {"ReqCPUS", NULL, HR__CPUS, false, false, ROW(req_cpu_milli), 0},
    {"ReqMem", NULL, HR__TEXT, false, false, ROW(req_mem), 0}};
#undef ROW

/* Columns that a job can be understood without: what else sacct may be asked for is no news to a reader. */
static const char *const ignored[] = {"Admin",      "AdminComment", "AllocTRESRaw",    "AssocID",
                                      "AveCPU",     "AveRSS",       "AveVMSize",       "BlockID",
                                      "Cluster",    "Comment",      "Constraints",     "ConsumedEnergy",
                                      "CPUTime",    "CPUTimeRAW",   "DerivedExitCode", "Elapsed",
                                      "ElapsedRaw", "ExitCode",     "Extra",           "FailedNode",
                                      "Flags",      "GID",          "Group",           "JobName",
                                      "Layout",     "MaxRSS",       "MaxVMSize",       "NodeList",
                                      "NTasks",     "Planned",      "PlannedCPU",      "QOS",
                                      "QOSRAW",     "Reason",       "Reserved",        "Reservation",
                                      "SubmitLine", "Suspended",    "SystemCPU",       "TotalCPU",
                                      "UID",        "UserCPU",      "WCKey",           "WorkDir",
                                      NULL};

static bool is_word(struct hr_text text, const char *word) {
  return text.length == strlen(word) && memcmp(text.at, word, text.length) == 0;
}

/* ---- What the job asks for -------------------------------------------------------------------------- */

struct asked {
  struct hr__tres given, wanted;
  struct hr_job_record job; /* GPUs, tasks, CPUs and memory */
};

/* Reads one of the columns of resources if it is told and `tres` has no GPUs yet; true when it is fine. */
static bool read_tres(struct hr__tres *tres, struct hr_text text, const char *column, struct hr__row_fault *fault) {
  if (!text.length || tres->has_gpus || is_word(text, "(null)") || is_word(text, "Unknown")) return true;
  struct hr__tres before = *tres;
  *fault = (struct hr__row_fault){.line = fault->line, .column = column, .value = text};
  fault->fault = hr__tres_parse(text, tres);
  if (before.has_cpus && !tres->has_cpus) {
    tres->cpu_milli = before.cpu_milli;
    tres->has_cpus = true;
  }
  if (before.has_mem && !tres->has_mem) {
    tres->mem_mib = before.mem_mib;
    tres->has_mem = true;
  }
  return fault->fault == NULL;
}

static uint32_t first_told(uint32_t a, uint32_t b, uint32_t c) {
  return a ? a : b ? b : c;
}

static uint64_t mem_of_row(const struct hr__sacct_row *row, uint64_t nodes, uint64_t cpu_milli) {
  uint64_t mib = 0;
  enum hr__mem_of of;
  if (!row->req_mem.length || !hr__slurm_mem_parse(row->req_mem, &mib, &of)) return 0;
  return of == HR__MEM_OF_NODE ? mib * nodes : of == HR__MEM_OF_CPU ? mib * cpu_milli / 1000 : mib;
}

static uint64_t at_most(uint64_t value, uint64_t most) {
  return value < most ? value : most;
}

/* GPUs, CPUs and memory of all nodes; GRES count those of one. */
static bool add_up(struct hr__sacct *sacct, const struct hr__sacct_row *row, struct asked *asked, bool by_node) {
  const struct hr__tres *gpus = asked->given.has_gpus ? &asked->given : &asked->wanted;
  const struct hr__tres *rest = asked->given.has_cpus ? &asked->given : &asked->wanted;
  uint64_t nodes = first_told(row->alloc_nodes, row->nodes, 1), total = gpus->gpus * (by_node ? nodes : 1);
  if (total > HR_MAX_GPUS) return false;
  sacct->n_per_node += by_node && total;
  sacct->n_shares += asked->given.has_shares || asked->wanted.has_shares;
  uint64_t cpu_milli =
      rest->has_cpus ? rest->cpu_milli : first_told(row->alloc_cpu_milli, row->cpu_milli, row->req_cpu_milli);
  asked->job.gpus = (uint32_t)total;
  asked->job.cpu_milli = (uint32_t)at_most(cpu_milli, UINT32_MAX);
  asked->job.mem_mib = rest->has_mem ? rest->mem_mib : mem_of_row(row, nodes, cpu_milli);
  sacct->n_uneven += !hr__ask_nodes(&asked->job, nodes);
  return true;
}

static bool read_asked(struct hr__sacct *sacct, const struct hr__sacct_row *row, struct asked *asked,
                       struct hr__row_fault *fault) {
  hr_job_record_init(&asked->job);
  asked->given = asked->wanted = (struct hr__tres){0};
  bool fine = read_tres(&asked->given, row->alloc_tres, "AllocTRES", fault) &&
              read_tres(&asked->wanted, row->req_tres, "ReqTRES", fault);
  if (!fine) return false;
  bool by_node = !asked->given.has_gpus && !asked->wanted.has_gpus;
  fine = (!by_node || read_tres(&asked->given, row->alloc_gres, "AllocGRES", fault)) &&
         (!by_node || read_tres(&asked->wanted, row->req_gres, "ReqGRES", fault));
  if (!fine) return false;
  enum hr__mem_of of;
  uint64_t mib;
  *fault = (struct hr__row_fault){.line = fault->line, .column = "ReqMem", .value = row->req_mem};
  fault->fault = "not an amount of memory like 64G, 4Gn or 4Gc";
  if (row->req_mem.length && !hr__slurm_mem_parse(row->req_mem, &mib, &of)) return false;
  *fault = (struct hr__row_fault){.line = fault->line, .fault = "the job asks for more than 4000000 GPUs"};
  return add_up(sacct, row, asked, by_node);
}

static const char *types_of(struct hr__sacct *sacct, const struct asked *asked) {
  const struct hr__tres *tres = sacct->asks_are_told ? &asked->wanted : &asked->given;
  if (!asked->job.gpus) return "";
  sacct->n_mixed += tres->mixed;
  return tres->types;
}

/* ---- When, and for how long ------------------------------------------------------------------------- */

static bool read_limit(struct hr__sacct *sacct, const struct hr__sacct_row *row, int64_t *limit_us,
                       struct hr__row_fault *fault) {
  *limit_us = HR_UNKNOWN_US;
  bool raw = !row->limit.length;
  struct hr_text text = raw ? row->limit_minutes : row->limit;
  *fault = (struct hr__row_fault){.line = fault->line, .column = raw ? "TimelimitRaw" : "Timelimit", .value = text};
  sacct->n_partition_limits += is_word(text, "Partition_Limit");
  if (!text.length || is_word(text, "UNLIMITED") || is_word(text, "Partition_Limit") || is_word(text, "INVALID"))
    return true;
  uint64_t us = 0;
  const struct hr__number_rule minutes = {60 * (uint64_t)HR_SECOND_US, (uint64_t)HR_MAX_INPUT_US, false};
  fault->fault = raw ? "not a number of minutes" : "not a span of time like 1-12:00:00, UNLIMITED or Partition_Limit";
  if (!raw) return hr__slurm_span_parse(text, limit_us);
  if (hr__number_parse(text, &minutes, &us) != HR__NUMBER_FINE) return false;
  *limit_us = (int64_t)us;
  return true;
}

/* Why a job that makes sense is none to replay; NULL when it is one. */
static const char *why_left_out(const struct hr__sacct_row *row, const struct hr__job_state *state) {
  bool started = row->start_us != INT64_MIN;
  if (state->stage == HR__STAGE_WAITING) return "the job had not started";
  if (state->stage == HR__STAGE_RUNNING) return "the job was still running";
  bool at_once = started && row->start_us == row->end_us && state->outcome == HR_OUTCOME_CANCELLED;
  if (!started || (at_once && !row->alloc_tres.length)) return "the job was ended before it was started";
  return row->end_us == INT64_MIN ? "the job has no end" : NULL;
}

static bool read_times(struct hr__sacct *sacct, const struct hr__sacct_row *row, struct hr__sacct_job *job,
                       struct hr__row_fault *fault) {
  struct hr__job_state state;
  *fault = (struct hr__row_fault){
      .line = fault->line, .column = "State", .value = row->state, .fault = "no state of a Slurm job"};
  if (!hr__job_state_parse(row->state, &state)) return false;
  *fault = (struct hr__row_fault){.line = fault->line, .column = "Submit", .fault = "unknown"};
  if (row->submit_us == INT64_MIN) return false;
  job->outcome = state.outcome;
  job->left_out = why_left_out(row, &state);
  job->submit_us = job->attempt_us = row->submit_us;
  job->began_us = row->start_us;
  if (job->left_out) return true;
  bool held = row->eligible_us > row->submit_us && row->eligible_us <= row->start_us;
  sacct->n_held += held;
  if (held) job->submit_us = row->eligible_us;
  *fault = (struct hr__row_fault){.line = fault->line, .fault = "the job ends before it starts"};
  bool early = row->start_us < job->submit_us;
  sacct->n_early += early;
  job->start_us = early ? INT64_MIN : row->start_us;
  job->work_us = row->end_us - row->start_us;
  return job->work_us >= 0;
}

/* ---- Rows ------------------------------------------------------------------------------------------- */

/* A number that is there for its own sake: one that makes no sense is not worth the job. */
static uint64_t number_of(struct hr_text text) {
  const struct hr__number_rule rule = {1, INT64_MAX, true};
  uint64_t value = 0;
  return text.length && hr__number_parse(text, &rule, &value) == HR__NUMBER_FINE ? value : 0;
}

static void read_rest(struct hr__sacct *sacct, const struct hr__sacct_row *row, struct hr__sacct_job *job) {
  uint64_t priority = number_of(row->priority);
  sacct->n_priorities += priority > INT32_MAX;
  job->priority = priority > INT32_MAX ? 0 : (int32_t)priority;
  if (job->left_out) return;
  sacct->n_restarts += number_of(row->restarts);
  sacct->n_components += row->id.length && memchr(row->id.at, '+', row->id.length);
}

static enum hr_status on_row(void *self, const void *data, uint64_t line) {
  struct hr__sacct *sacct = self;
  const struct hr__sacct_row *row = data;
  struct hr_text id = row->id.length ? row->id : row->raw_id;
  if (memchr(id.at, '.', id.length)) {
    sacct->n_steps++;
    return HR_OK;
  }
  struct hr__row_fault fault = {.line = line};
  struct hr__sacct_job job = {.line = line, .start_us = INT64_MIN, .limit_us = HR_UNKNOWN_US};
  struct asked asked;
  bool fine = read_times(sacct, row, &job, &fault);
  if (fine)
    fine = job.left_out || (read_asked(sacct, row, &asked, &fault) && read_limit(sacct, row, &job.limit_us, &fault));
  if (!fine) return hr__reader_bad_row(sacct->reader, &fault);
  read_rest(sacct, row, &job);
  if (job.left_out) return hr__sacct_keep(sacct, &job, row, "");
  job.gpus = asked.job.gpus;
  job.tasks = asked.job.tasks;
  job.cpu_milli = asked.job.cpu_milli;
  job.mem_mib = asked.job.mem_mib;
  return hr__sacct_keep(sacct, &job, row, types_of(sacct, &asked));
}

/* ---- The header ------------------------------------------------------------------------------------- */

static bool header_has(struct hr_text header, const char *name) {
  size_t length = strlen(name);
  const char *end = header.at + header.length;
  for (const char *at = header.at; at < end;) {
    const char *bar = memchr(at, '|', (size_t)(end - at));
    if ((size_t)((bar ? bar : end) - at) == length && strncasecmp(at, name, length) == 0) return true;
    at = bar ? bar + 1 : end;
  }
  return false;
}

static enum hr_status check_header(struct hr__sacct *sacct) {
  struct hr_text header = hr__first_line(hr__input_peek(sacct->reader->input));
  const struct hr__reader *reader = sacct->reader;
  sacct->asks_are_told = header_has(header, "ReqTRES") || header_has(header, "ReqGRES");
  if (!header_has(header, "JobID") && !header_has(header, "JobIDRaw"))
    return hr_fail(reader->error, HR_BAD_INPUT, "%s:1: missing column 'JobID'; sacct --parsable2 has it in its header",
                   reader->path);
  if (sacct->asks_are_told || header_has(header, "AllocTRES") || header_has(header, "AllocGRES")) return HR_OK;
  return hr_fail(reader->error, HR_BAD_INPUT,
                 "%s:1: missing column 'AllocTRES' or 'ReqTRES': how many GPUs do jobs have? Ask sacct for --format="
                 "JobID,User,Account,State,Submit,Eligible,Start,End,Timelimit,AllocTRES,ReqTRES,NNodes",
                 reader->path);
}

enum hr_status hr__sacct_read_rows(struct hr__sacct *sacct) {
  static const struct hr__sacct_row blank = {
      .submit_us = INT64_MIN, .eligible_us = INT64_MIN, .start_us = INT64_MIN, .end_us = INT64_MIN};
  struct hr__sacct_row row;
  const struct hr__csv_schema schema = {.columns = columns,
                                        .n_columns = sizeof columns / sizeof *columns,
                                        .ignored = ignored,
                                        .separator = '|',
                                        .unquoted = true,
                                        .missing_hint = "ask sacct for them with --format",
                                        .row = &row,
                                        .blank_row = &blank,
                                        .row_bytes = sizeof row,
                                        .on_row = on_row,
                                        .self = sacct};
  enum hr_status status = check_header(sacct);
  return status == HR_OK ? hr__csv_read_rows(sacct->reader, &schema) : status;
}
