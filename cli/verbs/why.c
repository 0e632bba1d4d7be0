/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom why`: replays a trace, records why jobs wait, and explains the waiting time of all jobs, of the jobs of a
   tenant, or of one job. */

#include "cli/cli.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct why_args {
  struct input_args input;
  const char *job, *tenant, *json, *service;
  const char *request_text;
  uint64_t slowest; /* 0: not set */
  bool quiet;
};

enum { SLOWEST_OF_TENANT = 5, MAX_SLOWEST = 100000 };

#define AT(field) offsetof(struct why_args, field)
static const struct option options[] = {
    {"job", OPTION_TEXT, AT(job), "ID",
     "explain one job, by its id in the trace: what it waited for, behind which jobs, where it ran, what "
     "interrupted it; replica-N: the N-th replica of services"},
    {"tenant", OPTION_TEXT, AT(tenant), "NAME",
     "explain only one tenant's jobs, and list those that waited longest ('': jobs without a tenant)"},
    {"service", OPTION_TEXT, AT(service), "NAME",
     "explain the latency of a service: queue, cold start, prompt, batch and so on"},
    {"request", OPTION_TEXT, AT(request_text), "N",
     "with --service: explain one request, by its number in the file of 'run --requests'"},
    {"slowest", OPTION_WHOLE, AT(slowest), "N", "list the N jobs that waited longest, and why", 1, MAX_SLOWEST},
    {"json", OPTION_TEXT, AT(json), "FILE", "write the answer as JSON ('-': standard output, without the table)"},
    INPUT_OPTIONS(why_args),
    QUIET_OPTION(why_args),
    {0}};

static const char details[] = "Without --job, --tenant and --slowest, prints the waiting time of all jobs by\n"
                              "reason, tenant and size of request. The parts of a wait add up to it exactly.\n"
                              "docs/researcher/why.md explains the reasons.\n"
                              "Exit code: 0 success, 2 bad input or usage, 3 a policy broke its contract,\n"
                              "4 system failure.\n\n"
                              "Examples:\n"
                              "  headroom why scenarios/demo.json\n"
                              "  headroom why scenarios/demo.json --job 17\n"
                              "  headroom why scenarios/agency.json --tenant retail --json why.json\n";

struct why_run {
  const struct why_args *args;
  struct input input;
  /* the trace in which jobs are looked up; with --job, it is that of the run, with the replicas of services */
  const struct hr_trace *trace;
  struct hr_replay replay;
  struct hr_waits *waits;
  struct hr_history *history; /* only for the question about one job */
  struct hr_why_question question;
};

/* ---- The question ----------------------------------------------------------------------------------- */

static enum hr_status check_question(const struct why_args *args, struct hr_error *error) {
  if (args->request_text && !args->service) return hr_fail(error, HR_BAD_INPUT, "--request needs --service NAME");
  if (args->service && (args->job || args->tenant || args->slowest))
    return hr_fail(error, HR_BAD_INPUT, "--service explains requests and cannot be combined with --%s",
                   args->job      ? "job"
                   : args->tenant ? "tenant"
                                  : "slowest");
  if (!args->job || (!args->tenant && !args->slowest)) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "--job selects one job and cannot be combined with --%s",
                 args->tenant ? "tenant" : "slowest");
}

/* Writes a phrase with the nearest smaller and larger job ids (only one of them if the other does not exist), for a
   trace with numbers as ids. */
static void find_neighbours(const struct hr_trace *trace, int64_t wanted, char *text, size_t size) {
  int64_t below = INT64_MIN, above = INT64_MAX;
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    int64_t id = trace->id_number ? trace->id_number[i] : (int64_t)i + 1;
    if (id < wanted && id > below) below = id;
    if (id > wanted && id < above) above = id;
  }
  bool has_below = below != INT64_MIN, has_above = above != INT64_MAX;
  if (has_below && has_above)
    snprintf(text, size, "the nearest are %" PRId64 " and %" PRId64, below, above);
  else
    snprintf(text, size, "the nearest is %" PRId64, has_below ? below : above);
}

static enum hr_status unknown_job(const struct hr_trace *trace, const char *id, struct hr_error *error) {
  char text[200] = "", *end;
  int64_t number = strtoll(id, &end, 10);
  if (trace->n_jobs == 0)
    return hr_fail(error, HR_BAD_INPUT,
                   "--job %.80s: the run has no jobs, and the replicas of its services do not wait for GPUs; --service "
                   "NAME explains their requests",
                   *id ? id : "''");
  if (!trace->id_text && end != id && !*end) {
    find_neighbours(trace, number, text, sizeof text);
  } else if (trace->id_text) {
    const char **words = calloc((size_t)trace->n_jobs + 1, sizeof(*words));
    if (!words) return no_memory(error);
    for (uint32_t i = 0; i < trace->n_jobs; i++) words[i] = trace->id_text[i];
    const char *nearest = hr_nearest_word(id, words);
    snprintf(text, sizeof text, nearest ? "did you mean '%.80s'?" : "the first is '%.80s'",
             nearest ? nearest : trace->id_text[0]);
    free(words);
  } else {
    char first[HR_JOB_ID_BUFFER];
    snprintf(text, sizeof text, "ids are numbers; the first is %.80s", hr_trace_job_id(trace, (hr_job){0}, first));
  }
  return hr_fail(error, HR_BAD_INPUT, "--job %.80s: %s has no job with this id; %s", *id ? id : "''", trace->source,
                 text);
}

static hr_job find_id(const struct hr_trace *trace, const char *id) {
  char buffer[HR_JOB_ID_BUFFER];
  for (uint32_t i = 0; i < trace->n_jobs; i++)
    if (strcmp(hr_trace_job_id(trace, (hr_job){i}, buffer), id) == 0) return (hr_job){i};
  return (hr_job){HR_NONE};
}

/* Returns the job of the N-th replica of services for the id "replica-N"; HR_NONE for any other id. The id is needed
   for traces with numbers as ids, in which the id of the job is a number. */
static hr_job find_replica(const struct hr_trace *trace, const char *id) {
  static const char prefix[] = "replica-";
  char *end;
  if (strncmp(id, prefix, sizeof prefix - 1) != 0 || id[sizeof prefix - 1] == '-') return (hr_job){HR_NONE};
  const unsigned long long number = strtoull(id + sizeof prefix - 1, &end, 10);
  if (*end || number < 1 || number > trace->n_added) return (hr_job){HR_NONE};
  return (hr_job){trace->n_jobs - trace->n_added + (uint32_t)number - 1};
}

/* Sets `*job` to the job with an id, or to the replica "replica-N". `trace` is that of the run, with rows for replicas
   that may be submitted. Returns HR_BAD_INPUT if the job does not exist. */
static enum hr_status find_job(const struct hr_trace *trace, const char *id, hr_job *job, struct hr_error *error) {
  *job = find_id(trace, id);
  if (job->id == HR_NONE) *job = find_replica(trace, id);
  return job->id != HR_NONE ? HR_OK : unknown_job(trace, id, error);
}

/* Checks that the trace has jobs without a tenant, if the question is about them. */
static enum hr_status check_tenantless(const struct hr_trace *trace, struct hr_error *error) {
  if (!trace->tenant || trace->n_jobs == 0) return HR_OK;
  for (uint32_t i = 0; i < trace->n_jobs; i++)
    if (trace->tenant[i] == HR_NONE) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "--tenant '': all jobs of %s have a tenant; the first one's is '%.80s'",
                 trace->source, trace->tenants.text[trace->tenant[0]]);
}

static enum hr_status find_tenant(const struct hr_trace *trace, const char *name, uint32_t *tenant,
                                  struct hr_error *error) {
  const struct hr_names *names = &trace->tenants;
  *tenant = HR_NONE;
  if (!name[0]) return check_tenantless(trace, error);
  for (uint32_t i = 0; i < names->count; i++)
    if (strcmp(names->text[i], name) == 0) *tenant = i;
  if (*tenant != HR_NONE) return HR_OK;
  const char **words = calloc((size_t)names->count + 1, sizeof(*words));
  if (!words) return no_memory(error);
  for (uint32_t i = 0; i < names->count; i++) words[i] = names->text[i];
  const char *nearest = hr_nearest_word(name, words);
  enum hr_status status =
      hr_fail(error, HR_BAD_INPUT, "--tenant %.80s: %s has no jobs of this tenant%s%.80s%s", name, trace->source,
              nearest        ? "; did you mean '"
              : names->count ? "; the first is '"
                             : "; its jobs have no tenant",
              nearest        ? nearest
              : names->count ? names->text[0]
                             : "",
              nearest        ? "'?"
              : names->count ? "'"
                             : "");
  free(words);
  return status;
}

static enum hr_status read_question(struct why_run *run, struct hr_error *error) {
  const struct why_args *args = run->args;
  const struct hr_trace *trace = run->input.trace;
  run->question = (struct hr_why_question){.job = {HR_NONE}, .slowest = (uint32_t)args->slowest};
  run->question.only_slowest = args->slowest > 0 && !args->tenant;
  if (!args->tenant) return HR_OK;
  run->question.of_tenant = true;
  if (!args->slowest) run->question.slowest = SLOWEST_OF_TENANT;
  return find_tenant(trace, args->tenant, &run->question.tenant, error);
}

/* ---- Replay ----------------------------------------------------------------------------------------- */

static enum hr_status add_observers(struct why_run *run, struct hr_error *error) {
  const bool of_job = run->args->job != NULL;
  enum hr_status status = of_job ? find_job(run->trace, run->args->job, &run->question.job, error) : HR_OK;
  if (status != HR_OK) return status;
  /* with the rows of replicas of services */
  const struct hr_waits_config config = {run->replay.config.trace, &run->question.job, of_job, false};
  run->waits = hr_waits_create(&config);
  if (of_job) run->history = hr_history_create(run->trace);
  if (!run->waits || (of_job && !run->history)) return no_memory(error);
  status = hr_replay_add(&run->replay, hr_waits_observer(run->waits), error);
  return status == HR_OK && of_job ? hr_replay_add(&run->replay, hr_history_observer(run->history), error) : status;
}

static enum hr_status replay(struct why_run *run, struct hr_error *error) {
  struct progress_bar bar;
  const struct hr_replay_config config = {.scenario = run->input.scenario,
                                          .trace = run->input.trace,
                                          .seed = run->input.scenario->seed,
                                          .costs_by_job = run->args->job != NULL,
                                          .progress = progress_bar_start(&bar, !run->args->quiet)};
  enum hr_status status = hr_replay_init(&run->replay, &config, error);
  run->trace = run->args->job ? run->replay.config.trace : run->input.trace;
  if (status == HR_OK) status = add_observers(run, error);
  if (status == HR_OK) status = hr_replay_run(&run->replay, error);
  progress_bar_stop(&bar);
  if (status != HR_OK) return status;
  /* the rows of replicas that were not submitted are gone */
  if (run->args->job && run->question.job.id >= run->trace->n_jobs)
    return unknown_job(run->trace, run->args->job, error);
  status = hr_waits_close(run->waits, run->replay.result);
  if (status == HR_OK && run->history) status = hr_history_close(run->history, run->replay.result);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory");
}

/* ---- Services --------------------------------------------------------------------------------------- */

static enum hr_status unknown_service(const struct hr_services *services, const char *name, struct hr_error *error) {
  const char **words = calloc((size_t)services->count + 1, sizeof *words);
  if (!words) return no_memory(error);
  for (uint32_t i = 0; i < services->count; i++) words[i] = services->at[i].name;
  const char *nearest = hr_nearest_word(name, words);
  enum hr_status status = hr_fail(error, HR_BAD_INPUT, "--service %.80s: no such service; %s'%.80s'", name,
                                  nearest ? "did you mean " : "the first is ", nearest ? nearest : words[0]);
  free(words);
  return status;
}

static enum hr_status read_request(const char *text, uint32_t *request, struct hr_error *error) {
  char *end;
  *request = HR_NONE;
  if (!text) return HR_OK;
  const unsigned long long number = strtoull(text, &end, 10);
  if (text[0] < '0' || text[0] > '9' || *end || number >= HR_NONE)
    return hr_fail(error, HR_BAD_INPUT, "--request %.80s: the number of a request is expected", text);
  *request = (uint32_t)number;
  return HR_OK;
}

/* Prints the reasons why the replicas of a service waited for GPUs. While replicas wait, requests wait at the router;
   this wait is a part of their time in the queue. `trace` is that of the run. */
static void print_replica_waits(const struct hr_waits *waits, const struct hr_trace *trace, const char *service) {
  int64_t us[HR_N_WAIT_REASONS] = {0}, all_us = 0;
  const struct hr_wait *list;
  const size_t count = hr_waits_all(waits, &list);
  for (size_t i = 0; i < count; i++) {
    const uint32_t job = list[i].job.id, user = trace->user ? trace->user[job] : HR_NONE;
    if (job < trace->n_jobs - trace->n_added || user == HR_NONE || strcmp(trace->users.text[user], service) != 0)
      continue;
    const struct hr_wait_part *parts = hr_waits_parts(waits, &list[i]);
    for (uint32_t k = 0; k < list[i].n_parts; k++) us[parts[k].reason] += parts[k].us;
    all_us += list[i].end_us - list[i].begin_us;
  }
  if (all_us == 0) return;
  printf("  its replicas waited for GPUs: ");
  const char *comma = "";
  for (uint32_t i = 0; i < HR_N_WAIT_REASONS; i++) {
    if (us[i] == 0) continue;
    const double share = 100 * (double)us[i] / (double)all_us;
    printf("%s%s %.1f %%", comma, hr_wait_reason_name((enum hr_wait_reason_kind)i), share);
    comma = ", ";
  }
  putchar('\n');
}

/* Adds the observer of waits, runs the scenario and closes the waits. */
static enum hr_status run_with_waits(struct why_run *run, struct hr_error *error) {
  const struct hr_waits_config config = {.trace = run->replay.config.trace};
  run->waits = hr_waits_create(&config);
  if (!run->waits) return no_memory(error);
  enum hr_status status = hr_replay_add(&run->replay, hr_waits_observer(run->waits), error);
  if (status == HR_OK) status = hr_replay_run(&run->replay, error);
  if (status != HR_OK) return status;
  return hr_waits_close(run->waits, run->replay.result) == HR_OK ? HR_OK : no_memory(error);
}

/* Runs the scenario and explains the requests of a service. */
static enum hr_status explain_service(struct why_run *run, struct hr_error *error) {
  const struct why_args *args = run->args;
  const struct hr_scenario *scenario = run->input.scenario;
  const struct hr_services *services = scenario->services;
  uint32_t index = 0, request;
  if (!has_services(scenario))
    return hr_fail(error, HR_BAD_INPUT, "--service %.80s: the scenario has no services", args->service);
  while (index < services->count && strcmp(services->at[index].name, args->service) != 0) index++;
  if (index == services->count) return unknown_service(services, args->service, error);
  const struct hr_replay_config config = {.scenario = scenario, .trace = run->input.trace, .seed = scenario->seed};
  enum hr_status status = read_request(args->request_text, &request, error);
  if (status == HR_OK) status = hr_replay_init(&run->replay, &config, error);
  if (status == HR_OK) status = run_with_waits(run, error);
  const bool wants_table = !args->quiet && !is_stdout(args->json);
  if (status == HR_OK)
    status = hr_service_why(wants_table ? stdout : NULL, args->json, &run->replay.served[index], request, error);
  if (status == HR_OK && wants_table && request == HR_NONE)
    print_replica_waits(run->waits, run->replay.config.trace, args->service);
  return status;
}

/* ---- Output ----------------------------------------------------------------------------------------- */

/* Warns of rejected jobs, as a run does: they do not wait, so the answer does not contain them. */
static void warn_rejected(const struct why_run *run) {
  struct hr_rejections rejections;
  hr_rejections_of(run->replay.result, &rejections);
  input_warn_rejected(&run->input, &run->input.scenario->cluster, &rejections);
}

static enum hr_status print_results(struct why_run *run, struct hr_error *error) {
  const struct why_args *args = run->args;
  const struct hr_scenario *scenario = run->input.scenario;
  const struct hr_why why = {.scenario = scenario->name,
                             .trace = run->trace,
                             .cluster = &scenario->cluster,
                             .quotas = scenario->quotas,
                             .policy = &scenario->policy,
                             .seed = scenario->seed,
                             .result = run->replay.result,
                             .waits = run->waits,
                             .history = run->history,
                             .ledger = run->replay.ledger};
  enum hr_status status = HR_OK;
  if (args->json) status = hr_why_write_json(args->json, &why, &run->question, error);
  if (status != HR_OK) return status;
  warn_rejected(run);
  if (!args->quiet) input_print_notes(stderr, &run->input);
  if (args->quiet || is_stdout(args->json)) return HR_OK;
  status = hr_why_print(stdout, &why, &run->question, wants_colour());
  if (status == HR_OK)
    next_step_print(stdout, &(struct next_step){.verb = "why",
                                                .apart = true,
                                                .facts = next_facts_of(&run->input),
                                                .path = scenario->path,
                                                .input = &args->input});
  return printed(status, "answer", error);
}

/* ---- The verb --------------------------------------------------------------------------------------- */

static enum hr_status run_all(struct why_run *run, const char *path, struct hr_error *error) {
  const struct why_args *args = run->args;
  const struct output outputs[] = {{"json", args->json}};
  enum hr_status status = check_question(args, error);
  if (status == HR_OK) status = input_open(&run->input, path, &args->input, error);
  run->input.allows_services = true;
  if (status == HR_OK) status = input_check_outputs(&run->input, path, outputs, 1, error);
  if (status == HR_OK) status = input_read_trace(&run->input, &args->input, error);
  if (status == HR_OK && args->service) return explain_service(run, error);
  if (status == HR_OK) status = read_question(run, error);
  if (status == HR_OK) status = replay(run, error);
  return status == HR_OK ? print_results(run, error) : status;
}

static enum hr_status run_verb(const void *args, const struct words *operands, struct hr_error *error) {
  struct why_run run = {.args = args};
  enum hr_status status = run_all(&run, operands->at[0], error);
  hr_waits_destroy(run.waits);
  hr_history_destroy(run.history);
  hr_replay_finish(&run.replay);
  input_finish(&run.input);
  return status;
}

const struct verb verb_why = {.name = "why",
                              .operands = "SCENARIO",
                              .summary = "explain waiting time by reason, or why one job waited",
                              .details = details,
                              .options = options,
                              .args_bytes = sizeof(struct why_args),
                              .run = run_verb};
