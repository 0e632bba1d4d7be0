/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Slurm accounting as printed by `sacct --parsable2` (sacct(1)): fields separated by `|`, named by a header.
 *
 * A row is one of these:
 *   - a job; the tasks of a job array (123_4) and the components of a heterogeneous job (123+1) are jobs, too
 *   - a step of a job (123.batch), which is skipped
 *   - with --duplicates, an earlier attempt of a job that was requeued
 *
 * All attempts with one id are replayed as one job. Its submit time is that of the first attempt, its run time that of
 * the last attempt. If a job became eligible later than it was submitted, the time at which it became eligible is its
 * submit time. Evictions are not replayed, because they are results of a simulation. Attempts of a job may be anywhere
 * in the file, so all jobs are stored until the end of the file. Equal texts are stored once.
 *
 * The number of GPUs is taken from AllocTRES if possible, otherwise from the request. The GPU types are those of the
 * request or, if the file has no column with the request, those of the allocation. CPUs and memory are totals of the
 * job, which are divided among its nodes. A TRES list has the total number of GPUs and the number of each type
 * (`gres/gpu=4,gres/gpu:a100=4`). If the total is missing, it is the sum of the types. The formats of "AllocTRES",
 * "ReqGRES", "ReqMem" and "Timelimit" are those of sacct(1).
 *
 * Slurm divides GPUs into shards (`gres/shard`), or into shares for MPS (`gres/mps`). sacct does not print how many of
 * them a GPU has, so this is a parameter of the format. If a job has no whole GPUs, all its shards on a node are on one
 * GPU (gres.conf(5)).
 */

#include "base/containers.h"
#include "traces/core/fields.h"
#include "traces/core/reader.h"
#include "traces/csv/csv.h"
#include "traces/formats/formats.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The kinds of shares of GPUs. */
enum { SHARDS, MPS, N_SHARES };
static const char *const share_names[N_SHARES] = {"shard", "mps"};

/* A row of the file. */
struct sacct_row {
  struct hr_text id, raw_id, state, user, account, partition, qos, priority, restarts;
  struct hr_text alloc_tres, req_tres, alloc_gres, req_gres, req_mem, limit, limit_minutes;
  int64_t submit_us, eligible_us, start_us, end_us; /* INT64_MIN if unknown */
  /* numbers of nodes, and CPUs in thousandths; 0: unknown */
  uint32_t alloc_nodes, nodes, alloc_cpu_milli, cpu_milli, req_cpu_milli;
};

enum { N_TEXTS = 6 };

/* Returns a text of a record, by its number. */
static struct hr_text *text_of(struct hr_job_record *record, size_t number) {
  struct hr_text *const texts[N_TEXTS] = {&record->user,  &record->tenant, &record->model,
                                          &record->queue, &record->qos,    &record->gpu_types};
  return texts[number];
}

/* The stored properties of a job. Texts are indices in the name table `texts`. */
struct sacct_job {
  const char *left_out; /* reason why the job is not replayed; NULL: it is replayed */
  uint64_t line, mem_mib;
  int64_t submit_us, start_us, work_us, limit_us;
  int64_t attempt_us, began_us; /* submit and start of the stored attempt, which is the last one so far */
  uint32_t text[N_TEXTS];       /* see text_of */
  uint32_t gpus, gpu_milli, tasks, cpu_milli, priority;
  uint8_t outcome, class_;
};

struct sacct_state {
  struct hr__reader *reader;
  struct hr__name_table ids, texts;
  struct sacct_job *jobs; /* in the order of the job ids in the name table `ids` */
  uint32_t n_jobs, capacity;
  uint32_t priority_excess;         /* subtracted from all priorities, so that the highest fits into the signed field */
  uint64_t shares_of_gpu[N_SHARES]; /* parameters of the format: shares that a GPU is divided into; 0: not given */
  bool has_request_columns;         /* the file has a column with the requested resources */
  /* Counters of rows. note_all() prints each of them in a note that describes what it counts. */
  uint64_t n_steps, n_attempts, n_restarts, n_components, n_eligible_later, n_partition_limits, n_uneven, n_mixed,
      n_per_node, n_priorities, n_early, n_shares, n_instances;
};

/* ---- Notations of Slurm: trackable and generic resources, memory, time limits ---------------------- */

enum { TRES_TYPES_BYTES = 200 };
enum mem_of { MEM_OF_JOB, MEM_OF_NODE, MEM_OF_CPU };

struct tres {
  uint64_t gpus, cpu_milli, mem_mib; /* totals of the job, or of each node in GRES columns; 0: unknown */
  bool has_gpus, has_cpus, has_mem;
  uint64_t shares[N_SHARES];    /* shares of GPUs; totals or per node, as `gpus` */
  char types[TRES_TYPES_BYTES]; /* GPU types separated by `|`; "" if not given */
  bool mixed;                   /* more than one type */
};

static struct hr_text without(struct hr_text text, size_t count) {
  return (struct hr_text){text.at + count, text.length - count};
}

static bool whole(struct hr_text text, uint64_t max, uint64_t *value) {
  const struct hr__number_rule rule = {1, max, true};
  return hr__number_parse(text, &rule, value) == HR__NUMBER_FINE;
}

/* Parses ReqMem: "64G" per job, "4Gn" per node, "4Gc" per CPU. A number without a unit is in MiB. Returns false if
   the text is invalid. */
static bool parse_mem(struct hr_text text, uint64_t *mib, enum mem_of *of) {
  static const struct {
    char unit;
    uint64_t kib;
  } units[] = {{'K', 1}, {'M', 1 << 10}, {'G', 1 << 20}, {'T', 1 << 30}, {'P', UINT64_C(1) << 40}};
  uint64_t kib = 1 << 10, total_kib = 0;
  *of = MEM_OF_JOB;
  char last = text.length ? text.at[text.length - 1] : '\0';
  if (last == 'n' || last == 'c') {
    *of = last == 'n' ? MEM_OF_NODE : MEM_OF_CPU;
    text.length--;
  }
  for (size_t i = 0; text.length && i < sizeof units / sizeof *units; i++) {
    if (text.at[text.length - 1] != units[i].unit) continue;
    kib = units[i].kib;
    text.length--;
    break;
  }
  const struct hr__number_rule rule = {kib, UINT64_C(1) << 40, false};
  if (hr__number_parse(text, &rule, &total_kib) != HR__NUMBER_FINE) return false;
  *mib = (total_kib + 512) >> 10;
  return true;
}

/* Parses the whole number before the character `end`, as hr__text_take does. */
static bool parse_whole(struct hr_text *rest, char end, uint64_t *value) {
  return whole(hr__text_take(rest, end), 100000000, value);
}

/* Parses "DAYS-HOURS[:MINUTES[:SECONDS]]", "HOURS:MINUTES:SECONDS" or "MINUTES:SECONDS" as microseconds. Returns false
   for any other text. */
static bool parse_span(struct hr_text text, int64_t *us) {
  uint64_t days = 0, part[3] = {0};
  size_t n = 0;
  bool has_days = text.length && memchr(text.at, '-', text.length);
  if (has_days && !parse_whole(&text, '-', &days)) return false;
  while (text.length && n < 3)
    if (!parse_whole(&text, ':', &part[n++])) return false;
  if (text.length || n == 0 || (n == 1 && !has_days)) return false;
  uint64_t hours = n == 3 || has_days ? part[0] : 0, minutes = n == 3 || has_days ? part[1] : part[0];
  uint64_t seconds = n == 3 ? part[2] : has_days ? 0 : part[1];
  uint64_t total_s = ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
  if (total_s > (uint64_t)(HR_MAX_INPUT_US / HR_SECOND_US)) return false;
  *us = (int64_t)total_s * HR_SECOND_US;
  return true;
}

/* ---- Resources ------------------------------------------------------------------------------------- */

/* Appends a GPU type to the list. Sets `mixed` if the list already has a type. Returns false if the list is too full
   for the type. */
static bool add_type(struct tres *tres, struct hr_text type) {
  size_t used = strlen(tres->types);
  if (used + type.length + 2 > sizeof tres->types) return false;
  if (used) {
    tres->mixed = true;
    tres->types[used++] = '|';
  }
  memcpy(tres->types + used, type.at, type.length);
  tres->types[used + type.length] = '\0';
  return true;
}

/* Cuts off a note such as "(2/8)". Returns the length of the text up to the last '=' or ':'. */
static size_t until_count(struct hr_text *rest) {
  const char *note = memchr(rest->at, '(', rest->length);
  if (note) rest->length = (size_t)(note - rest->at);
  size_t at = rest->length;
  while (at > 0 && rest->at[at - 1] != '=' && rest->at[at - 1] != ':') at--;
  return at;
}

/* Parses the text after "gpu": "=4", ":a100=4", ":4" or ":a100:4". An empty text means one GPU. Adds the GPUs of a
   type to `*typed`. Returns NULL, or the fault. */
static const char *parse_gpus(struct tres *tres, struct hr_text rest, uint64_t *typed) {
  const char *not_right = "not a list of resources with a count of GPUs, like gres/gpu:a100=4";
  size_t at = until_count(&rest);
  uint64_t count = 1;
  bool counted = at > 0 && whole(without(rest, at), HR_MAX_GPUS, &count);
  if (at > 0 && !counted && rest.at[at - 1] == '=') return not_right;
  struct hr_text type = {rest.at, counted ? at - 1 : rest.length};
  if (type.length && *type.at != ':') return not_right;
  if (type.length > 1) {
    *typed += count;
    return add_type(tres, without(type, 1)) ? NULL : "a list of too many types of GPUs";
  }
  tres->gpus += count;
  tres->has_gpus = true;
  return NULL;
}

/* Parses the text after "shard" or "mps": "=4", ":a100=4", ":4" or ":a100:4(2/8)". Sets `*shares` to the largest count
   of all items. sacct prints the total and also the count of each type; both count the same shares. */
static const char *parse_shares(uint64_t *shares, struct hr_text rest) {
  size_t at = until_count(&rest);
  uint64_t count = 1;
  if (at > 0 && !whole(without(rest, at), HR_MAX_GPUS, &count))
    return "not a list of resources with a count of shares, like gres/shard=4";
  if (count > *shares) *shares = count;
  return NULL;
}

static const char *next_item(struct tres *tres, struct hr_text item, uint64_t *typed) {
  enum mem_of of;
  bool generic = hr__begins_with(item, "gres/") || hr__begins_with(item, "gres:");
  struct hr_text name = generic ? without(item, 5) : item, rest = name.length >= 3 ? without(name, 3) : name;
  if (hr__begins_with(name, "gpu") && (rest.length == 0 || *rest.at == '=' || *rest.at == ':'))
    return parse_gpus(tres, rest, typed);
  for (size_t i = 0; i < N_SHARES; i++)
    if (hr__begins_with(name, share_names[i]))
      return parse_shares(&tres->shares[i], without(name, strlen(share_names[i])));
  if (hr__begins_with(item, "cpu=")) {
    const struct hr__number_rule rule = {1000, UINT64_C(1) << 40, false};
    tres->has_cpus = hr__number_parse(without(item, 4), &rule, &tres->cpu_milli) == HR__NUMBER_FINE;
    return tres->has_cpus ? NULL : "not a list of resources with a count of CPUs, like cpu=4";
  }
  if (hr__begins_with(item, "mem=")) {
    tres->has_mem = parse_mem(without(item, 4), &tres->mem_mib, &of) && of == MEM_OF_JOB;
    return tres->has_mem ? NULL : "not a list of resources with an amount of memory, like mem=64G";
  }
  return NULL;
}

/* Parses "cpu=32,mem=256G,node=1,gres/gpu=4,gres/gpu:a100=4", or GRES such as "gpu:2" or "gpu:a100:2(IDX:0-1)".
   Resources other than GPUs, shares of GPUs, CPUs and memory are ignored. Returns NULL if the text is valid. Otherwise
   returns the fault, which completes a sentence after "is". */
static const char *parse_tres(struct hr_text text, struct tres *tres) {
  *tres = (struct tres){0};
  uint64_t typed = 0;
  while (text.length) {
    const char *fault = next_item(tres, hr__text_take(&text, ','), &typed);
    if (fault) return fault;
  }
  if (!tres->has_gpus && typed) tres->gpus = typed;
  tres->has_gpus = tres->has_gpus || typed;
  return tres->gpus > HR_MAX_GPUS || typed > HR_MAX_GPUS ? "more than 4000000 GPUs" : NULL;
}

/* ---- Stored jobs ----------------------------------------------------------------------------------- */

static uint32_t store_text(struct hr__name_table *names, struct hr_text text) {
  return hr__names_intern(names, text.length ? text.at : "", text.length);
}

static bool is_later(const struct sacct_job *job, const struct sacct_job *than) {
  return job->attempt_us != than->attempt_us ? job->attempt_us > than->attempt_us : job->began_us >= than->began_us;
}

/* Stores an attempt of a job. If there are several attempts with one id, the last attempt is stored, with the earliest
   submit time of all. Attempts may be in any order in the file. Returns false if out of memory. */
static bool put_job(struct sacct_state *sacct, const struct sacct_job *job, struct hr_text id) {
  uint32_t number = store_text(&sacct->ids, id);
  if (number == HR_NONE) return false;
  if (number < sacct->n_jobs) {
    struct sacct_job *known = &sacct->jobs[number], merged = is_later(job, known) ? *job : *known;
    sacct->n_attempts++;
    merged.line = known->line;
    merged.submit_us = known->submit_us < job->submit_us ? known->submit_us : job->submit_us;
    *known = merged;
    return true;
  }
  if (!HR__ARRAY_HAS_ROOM(sacct->jobs, sacct->n_jobs, sacct->capacity)) return false;
  sacct->jobs[sacct->n_jobs++] = *job;
  return true;
}

/* Stores the job and the texts of its row. */
static enum hr_status store_job(struct sacct_state *sacct, struct sacct_job *job, const struct sacct_row *row,
                                const char *types) {
  struct hr_text id = row->id.length ? row->id : row->raw_id;
  struct hr_job_record record;
  hr_job_record_init(&record);
  record.user = row->user;
  record.tenant = row->account.length ? row->account : row->partition;
  record.queue = row->partition;
  record.qos = row->qos;
  record.gpu_types = hr__text_make(types);
  hr__picks_apply(sacct->reader->picks, &record);
  job->class_ = record.class_;
  bool valid = true;
  for (size_t i = 0; i < N_TEXTS; i++) {
    job->text[i] = store_text(&sacct->texts, *text_of(&record, i));
    valid = valid && job->text[i] != HR_NONE;
  }
  return valid && put_job(sacct, job, id) ? HR_OK : hr__reader_no_memory(sacct->reader);
}

/* ---- Rows ------------------------------------------------------------------------------------------ */

#define ROW(member) offsetof(struct sacct_row, member)
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
    {"QOS", NULL, HR__TEXT, false, false, ROW(qos), 0},
    {"Priority", NULL, HR__TEXT, false, false, ROW(priority), 0},
    {"Restarts", NULL, HR__TEXT, false, false, ROW(restarts), 0},
    {"AllocNodes", NULL, HR__GPUS, false, false, ROW(alloc_nodes), 0},
    {"NNodes", NULL, HR__GPUS, false, false, ROW(nodes), 0},
    {"AllocCPUS", NULL, HR__CPUS, false, false, ROW(alloc_cpu_milli), 0},
    {"NCPUS", NULL, HR__CPUS, false, false, ROW(cpu_milli), 0},
    {"ReqCPUS", NULL, HR__CPUS, false, false, ROW(req_cpu_milli), 0},
    {"ReqMem", NULL, HR__TEXT, false, false, ROW(req_mem), 0}};
#undef ROW

/* Columns that are ignored without a note. sacct can print many columns that a replay does not need. */
static const char *const ignored[] = {"Admin",      "AdminComment", "AllocTRESRaw",    "AssocID",
                                      "AveCPU",     "AveRSS",       "AveVMSize",       "BlockID",
                                      "Cluster",    "Comment",      "Constraints",     "ConsumedEnergy",
                                      "CPUTime",    "CPUTimeRAW",   "DerivedExitCode", "Elapsed",
                                      "ElapsedRaw", "ExitCode",     "Extra",           "FailedNode",
                                      "Flags",      "GID",          "Group",           "JobName",
                                      "Layout",     "MaxRSS",       "MaxVMSize",       "NodeList",
                                      "NTasks",     "Planned",      "PlannedCPU",      "QOSRAW",
                                      "Reason",     "Reserved",     "Reservation",     "SubmitLine",
                                      "Suspended",  "SystemCPU",    "TotalCPU",        "UID",
                                      "UserCPU",    "WCKey",        "WorkDir",         NULL};

/* ---- Requests -------------------------------------------------------------------------------------- */

struct request {
  struct tres allocated, requested;
  struct hr_job_record job; /* GPUs, tasks, CPUs and memory */
};

/* Parses the resource column `column` if it has a value and `tres` has no GPUs yet. Returns false and sets the fault
   if the value is invalid. */
static bool read_tres(struct tres *tres, struct hr_text text, const char *column, struct hr__row_fault *fault) {
  if (!text.length || tres->has_gpus || hr__text_is(text, "(null)") || hr__text_is(text, "Unknown")) return true;
  struct tres before = *tres;
  *fault = (struct hr__row_fault){.line = fault->line, .column = column, .value = text};
  fault->fault = parse_tres(text, tres);
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

static uint32_t first_known(uint32_t a, uint32_t b, uint32_t c) {
  return a ? a : b ? b : c;
}

static uint64_t mem_of_row(const struct sacct_row *row, uint64_t nodes, uint64_t cpu_milli) {
  uint64_t mib = 0;
  enum mem_of of;
  if (!row->req_mem.length || !parse_mem(row->req_mem, &mib, &of)) return 0;
  return of == MEM_OF_NODE ? mib * nodes : of == MEM_OF_CPU ? mib * cpu_milli / 1000 : mib;
}

static uint64_t at_most(uint64_t value, uint64_t max) {
  return value < max ? value : max;
}

static bool has_shares(const struct tres *tres) {
  return tres->shares[SHARDS] || tres->shares[MPS];
}

/* Sets the GPUs of a job that has only shares of GPUs: one GPU of each node. Nothing is set if the number of shares of
   a GPU is unknown. Returns false, and sets the text of the fault, if one GPU has too few shares. */
static bool share_gpus(const struct sacct_state *sacct, const struct tres *tres, uint64_t nodes, bool by_node,
                       struct hr_job_record *job, struct hr__row_fault *fault) {
  const size_t kind = tres->shares[SHARDS] ? SHARDS : MPS;
  const uint64_t of_gpu = sacct->shares_of_gpu[kind];
  const uint64_t on_node = by_node ? tres->shares[kind] : (tres->shares[kind] + nodes - 1) / nodes;
  if (of_gpu == 0) return true;
  fault->fault = kind == SHARDS
                     ? "the job requests more shards on a node than one GPU has (--format sacct:shards=COUNT)"
                     : "the job requests more shares for MPS on a node than one GPU has (--format sacct:mps=COUNT)";
  if (on_node > of_gpu) return false;
  job->gpus = (uint32_t)nodes;
  job->gpu_milli = (uint32_t)(on_node * 1000 / of_gpu);
  return true;
}

/* Computes the totals of GPUs, CPUs and memory over all nodes, and divides them among the nodes. If `by_node` is set,
   the number of GPUs is from GRES columns, which count GPUs per node. Returns false if there are more than HR_MAX_GPUS
   GPUs, or if one GPU has too few shares. */
static bool add_up(struct sacct_state *sacct, const struct sacct_row *row, struct request *request, bool by_node,
                   struct hr__row_fault *fault) {
  const struct tres *gpus = request->allocated.has_gpus ? &request->allocated : &request->requested;
  const struct tres *rest = request->allocated.has_cpus ? &request->allocated : &request->requested;
  uint64_t nodes = first_known(row->alloc_nodes, row->nodes, 1), total = gpus->gpus * (by_node ? nodes : 1);
  if (total > HR_MAX_GPUS) return false;
  sacct->n_per_node += by_node && total;
  uint64_t cpu_milli =
      rest->has_cpus ? rest->cpu_milli : first_known(row->alloc_cpu_milli, row->cpu_milli, row->req_cpu_milli);
  request->job.gpus = (uint32_t)total;
  const struct tres *shared = has_shares(&request->allocated) ? &request->allocated : &request->requested;
  if (total == 0 && has_shares(shared) && !share_gpus(sacct, shared, nodes, by_node, &request->job, fault))
    return false;
  sacct->n_shares += has_shares(shared) && request->job.gpus == total;
  request->job.cpu_milli = (uint32_t)at_most(cpu_milli, UINT32_MAX);
  request->job.mem_mib = rest->has_mem ? rest->mem_mib : mem_of_row(row, nodes, cpu_milli);
  sacct->n_uneven += !hr__request_nodes(&request->job, nodes);
  return true;
}

static bool read_request(struct sacct_state *sacct, const struct sacct_row *row, struct request *request,
                         struct hr__row_fault *fault) {
  hr_job_record_init(&request->job);
  request->allocated = request->requested = (struct tres){0};
  bool valid = read_tres(&request->allocated, row->alloc_tres, "AllocTRES", fault) &&
               read_tres(&request->requested, row->req_tres, "ReqTRES", fault);
  if (!valid) return false;
  bool by_node = !request->allocated.has_gpus && !request->requested.has_gpus && !has_shares(&request->allocated) &&
                 !has_shares(&request->requested);
  valid = (!by_node || read_tres(&request->allocated, row->alloc_gres, "AllocGRES", fault)) &&
          (!by_node || read_tres(&request->requested, row->req_gres, "ReqGRES", fault));
  if (!valid) return false;
  enum mem_of of;
  uint64_t mib;
  *fault = (struct hr__row_fault){.line = fault->line, .column = "ReqMem", .value = row->req_mem};
  fault->fault = "not an amount of memory like 64G, 4Gn or 4Gc";
  if (row->req_mem.length && !parse_mem(row->req_mem, &mib, &of)) return false;
  *fault = (struct hr__row_fault){.line = fault->line, .fault = "the job requests more than 4000000 GPUs"};
  return add_up(sacct, row, request, by_node, fault);
}

/* Makes each MIG instance of a job a task of its own, because instances cannot communicate with each other. */
static void split_instances(struct sacct_state *sacct, struct hr_job_record *job) {
  uint32_t parts = job->gpus / job->tasks;
  if (parts < 2) return;
  job->tasks *= parts;
  job->cpu_milli /= parts;
  job->mem_mib /= parts;
  sacct->n_instances++;
}

static const char *types_of(struct sacct_state *sacct, struct request *request) {
  const struct tres *tres = sacct->has_request_columns ? &request->requested : &request->allocated;
  struct hr_text type, profile;
  if (!request->job.gpus) return "";
  sacct->n_mixed += tres->mixed;
  if (hr__split_mig_type(hr__text_make(tres->types), &type, &profile)) split_instances(sacct, &request->job);
  return tres->types;
}

/* ---- Times ----------------------------------------------------------------------------------------- */

static bool read_limit(struct sacct_state *sacct, const struct sacct_row *row, int64_t *limit_us,
                       struct hr__row_fault *fault) {
  *limit_us = HR_UNKNOWN_US;
  bool raw = !row->limit.length;
  struct hr_text text = raw ? row->limit_minutes : row->limit;
  *fault = (struct hr__row_fault){.line = fault->line, .column = raw ? "TimelimitRaw" : "Timelimit", .value = text};
  sacct->n_partition_limits += hr__text_is(text, "Partition_Limit");
  if (!text.length || hr__text_is(text, "UNLIMITED") || hr__text_is(text, "Partition_Limit") ||
      hr__text_is(text, "INVALID"))
    return true;
  uint64_t us = 0;
  const struct hr__number_rule minutes = {60 * (uint64_t)HR_SECOND_US, (uint64_t)HR_MAX_INPUT_US, false};
  fault->fault = raw ? "not a number of minutes" : "not a duration like 1-12:00:00, UNLIMITED or Partition_Limit";
  if (!raw) return parse_span(text, limit_us);
  if (hr__number_parse(text, &minutes, &us) != HR__NUMBER_FINE) return false;
  *limit_us = (int64_t)us;
  return true;
}

/* Returns the reason why a valid job is not replayed; NULL if it is replayed. */
static const char *skip_reason(const struct sacct_row *row, const struct hr__slurm_state *state) {
  bool started = row->start_us != INT64_MIN;
  if (state->stage == HR__STAGE_WAITING) return "the job had not started";
  if (state->stage == HR__STAGE_RUNNING) return "the job was still running";
  bool at_once = started && row->start_us == row->end_us && state->outcome == HR_OUTCOME_CANCELLED;
  if (!started || (at_once && !row->alloc_tres.length)) return "the job was ended before it was started";
  return row->end_us == INT64_MIN ? "the job has no end" : NULL;
}

static bool read_times(struct sacct_state *sacct, const struct sacct_row *row, struct sacct_job *job,
                       struct hr__row_fault *fault) {
  struct hr__slurm_state state;
  *fault = (struct hr__row_fault){
      .line = fault->line, .column = "State", .value = row->state, .fault = "not a Slurm job state"};
  if (!hr__job_state_parse(row->state, &state)) return false;
  *fault = (struct hr__row_fault){.line = fault->line, .column = "Submit", .fault = "unknown"};
  if (row->submit_us == INT64_MIN) return false;
  job->outcome = state.outcome;
  job->left_out = skip_reason(row, &state);
  job->submit_us = job->attempt_us = row->submit_us;
  job->began_us = row->start_us;
  if (job->left_out) return true;
  bool held = row->eligible_us > row->submit_us && row->eligible_us <= row->start_us;
  sacct->n_eligible_later += held;
  if (held) job->submit_us = row->eligible_us;
  *fault = (struct hr__row_fault){.line = fault->line, .fault = "the job ends before it starts"};
  bool early = row->start_us < job->submit_us;
  sacct->n_early += early;
  job->start_us = early ? INT64_MIN : row->start_us;
  job->work_us = row->end_us - row->start_us;
  return job->work_us >= 0;
}

/* ---- Rows to jobs ---------------------------------------------------------------------------------- */

/* Parses a priority or a number of restarts. An invalid number is treated as 0, and the job is not skipped. */
static uint64_t number_of(struct hr_text text) {
  const struct hr__number_rule rule = {1, INT64_MAX, true};
  uint64_t value = 0;
  return text.length && hr__number_parse(text, &rule, &value) == HR__NUMBER_FINE ? value : 0;
}

static void read_rest(struct sacct_state *sacct, const struct sacct_row *row, struct sacct_job *job) {
  uint64_t priority = number_of(row->priority);
  sacct->n_priorities += priority > UINT32_MAX;
  job->priority = priority > UINT32_MAX ? 0 : (uint32_t)priority;
  if (job->left_out) return;
  sacct->n_restarts += number_of(row->restarts);
  sacct->n_components += row->id.length && memchr(row->id.at, '+', row->id.length);
}

static enum hr_status on_row(void *self, const void *data, uint64_t line) {
  struct sacct_state *sacct = self;
  const struct sacct_row *row = data;
  struct hr_text id = row->id.length ? row->id : row->raw_id;
  if (memchr(id.at, '.', id.length)) {
    sacct->n_steps++;
    return HR_OK;
  }
  struct hr__row_fault fault = {.line = line};
  struct sacct_job job = {.line = line, .start_us = INT64_MIN, .limit_us = HR_UNKNOWN_US};
  struct request request;
  bool valid = read_times(sacct, row, &job, &fault);
  if (valid)
    valid =
        job.left_out || (read_request(sacct, row, &request, &fault) && read_limit(sacct, row, &job.limit_us, &fault));
  if (!valid) return hr__reader_bad_row(sacct->reader, &fault);
  read_rest(sacct, row, &job);
  if (job.left_out) return store_job(sacct, &job, row, "");
  const char *types = types_of(sacct, &request);
  job.gpus = request.job.gpus;
  job.gpu_milli = request.job.gpu_milli;
  job.tasks = request.job.tasks;
  job.cpu_milli = request.job.cpu_milli;
  job.mem_mib = request.job.mem_mib;
  return store_job(sacct, &job, row, types);
}

/* ---- The header ------------------------------------------------------------------------------------ */

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

static enum hr_status check_header(struct sacct_state *sacct) {
  struct hr_text header = hr__first_line(hr__input_peek(sacct->reader->input));
  const struct hr__reader *reader = sacct->reader;
  sacct->has_request_columns = header_has(header, "ReqTRES") || header_has(header, "ReqGRES");
  if (!header_has(header, "JobID") && !header_has(header, "JobIDRaw"))
    return hr_fail(reader->error, HR_BAD_INPUT,
                   "%s:1: missing column 'JobID', which sacct --parsable2 has in its header", reader->path);
  if (sacct->has_request_columns || header_has(header, "AllocTRES") || header_has(header, "AllocGRES")) return HR_OK;
  return hr_fail(reader->error, HR_BAD_INPUT,
                 "%s:1: missing column 'AllocTRES' or 'ReqTRES', needed for the number of GPUs; use sacct "
                 "--format=JobID,User,Account,State,Submit,Eligible,Start,End,Timelimit,AllocTRES,ReqTRES,NNodes",
                 reader->path);
}

static enum hr_status read_rows(struct sacct_state *sacct) {
  static const struct sacct_row blank = {
      .submit_us = INT64_MIN, .eligible_us = INT64_MIN, .start_us = INT64_MIN, .end_us = INT64_MIN};
  struct sacct_row row;
  const struct hr__csv_schema schema = {HR__CSV_ROWS(columns, row, blank, on_row, sacct), .ignored = ignored,
                                        .separator = '|', .unquoted = true,
                                        .missing_hint = "add them with sacct --format"};
  enum hr_status status = check_header(sacct);
  return status == HR_OK ? hr__csv_read_rows(sacct->reader, &schema) : status;
}

/* ---- Conversion to jobs ---------------------------------------------------------------------------- */

static enum hr_status add_job(const struct sacct_state *sacct, uint32_t number) {
  const struct sacct_job *job = &sacct->jobs[number];
  if (job->left_out) return hr__reader_leave_out(sacct->reader, job->left_out, job->line);
  struct hr_job_record record;
  hr_job_record_init(&record);
  record.id = hr__text_stored(&sacct->ids, number);
  for (size_t i = 0; i < N_TEXTS; i++) *text_of(&record, i) = hr__text_stored(&sacct->texts, job->text[i]);
  record.class_ = job->class_;
  record.submit_us = job->submit_us;
  record.recorded_start_us = job->start_us;
  record.work_us = job->work_us;
  record.limit_us = job->limit_us;
  record.gpus = job->gpus;
  record.gpu_milli = job->gpu_milli;
  record.tasks = job->tasks;
  record.cpu_milli = job->cpu_milli;
  record.mem_mib = job->mem_mib;
  record.priority = (int32_t)((int64_t)job->priority - sacct->priority_excess);
  record.outcome = job->outcome;
  return hr__reader_add(sacct->reader, &record, job->line);
}

/* Slurm's priorities are 32-bit unsigned numbers. If the highest does not fit into a signed one, all are reduced by the
   same number, which keeps their differences. */
static enum hr_status fit_priorities(struct sacct_state *sacct) {
  uint32_t highest = 0;
  for (uint32_t i = 0; i < sacct->n_jobs; i++)
    if (!sacct->jobs[i].left_out && sacct->jobs[i].priority > highest) highest = sacct->jobs[i].priority;
  if (highest <= INT32_MAX) return HR_OK;
  sacct->priority_excess = highest - INT32_MAX;
  return hr__reader_noted(
      sacct->reader, hr_notes_add(sacct->reader->notes,
                                  "the highest priority is %u: all priorities are reduced by %u, which keeps their "
                                  "differences",
                                  (unsigned)highest, (unsigned)sacct->priority_excess));
}

static enum hr_status add_jobs(struct sacct_state *sacct) {
  enum hr_status status = fit_priorities(sacct);
  for (uint32_t i = 0; status == HR_OK && i < sacct->n_jobs; i++) status = add_job(sacct, i);
  return status;
}

static enum hr_status note_all(const struct sacct_state *sacct) {
  const struct hr__count_note notes[] = {
      {sacct->n_steps, "row is a step of a job, which is part of that job",
       "rows are steps of jobs, which are part of their jobs", ""},
      {sacct->n_attempts, "row is a further attempt at a job that was", "rows are further attempts at jobs that were",
       " requeued: each job is replayed once, submitted with the first and run as the last attempt"},
      {sacct->n_restarts, "restart of a job is", "restarts of jobs are",
       " in column 'Restarts'; earlier attempts are not replayed"},
      {sacct->n_components, "row is a component of a heterogeneous job, whose components",
       "rows are components of heterogeneous jobs, which", " started together; each is replayed as a job of its own"},
      {sacct->n_eligible_later, "row became eligible after it was submitted",
       "rows became eligible after they were submitted",
       " (dependencies, holds, begin times): that time is used as submit time"},
      {sacct->n_partition_limits, "row has its partition's limit", "rows have their partition's limit",
       ", which is not in the file"},
      {sacct->n_uneven, "row has", "rows have",
       " GPUs that cannot be divided evenly among the nodes: each is one task"},
      {sacct->n_mixed, "row has", "rows have", " GPUs of several types, any of which are accepted in a replay"},
      {sacct->n_per_node, "row has its", "rows have their", " GPUs in GRES only, taken as a number per node"},
      {sacct->n_early, "row started before it was", "rows started before they were",
       " submitted: the start is treated as unknown"},
      {sacct->n_shares, "row has", "rows have",
       " shares of GPUs (gres/shard, gres/mps), which are ignored: rows without whole GPUs have no GPUs, unless you "
       "state how many shares a GPU has, as in --format sacct:shards=4,mps=100"},
      {sacct->n_instances, "row has", "rows have", " several MIG instances on a node: each instance is one task"},
      {sacct->n_priorities, "row has", "rows have", " a priority above 4294967295, which is ignored"},
  };
  return hr__reader_note_counts(sacct->reader, notes, sizeof notes / sizeof *notes);
}

static enum hr_status read_sacct(struct hr__reader *reader) {
  struct sacct_state sacct = {.reader = reader};
  const struct hr__reader_param params[N_SHARES] = {{"shards", 1, 1000, &sacct.shares_of_gpu[SHARDS], NULL},
                                                    {"mps", 1, 1000, &sacct.shares_of_gpu[MPS], NULL}};
  enum hr_status status = hr__reader_params(reader, "sacct", params, N_SHARES);
  if (status == HR_OK) status = read_rows(&sacct);
  if (status == HR_OK) status = add_jobs(&sacct);
  if (status == HR_OK) status = note_all(&sacct);
  hr__names_finish(&sacct.ids);
  hr__names_finish(&sacct.texts);
  free(sacct.jobs);
  return status;
}

const struct hr__format_reader hr__sacct_reader = {.read = read_sacct, .has_params = true, .has_columns = true};
