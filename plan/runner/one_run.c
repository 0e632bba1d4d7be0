/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs one scenario from its input files to its summary (hr_replay). It also keeps the few results that comparisons,
 * replications, checks and plans need. Observers of the engine collect usage, costs, network load and alerts. The
 * observer of usage is always attached, other observers only if the scenario needs them. For example, the observers of
 * costs are attached if it has prices.
 */

#include "plan/runner/runner.h"

#include "base/containers.h"
#include "base/random.h"
#include "base/text.h"
#include "headroom/unstable/compare.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/metrics.h"
#include "headroom/unstable/replay.h"
#include "headroom/unstable/scenario_files.h"
#include "headroom/unstable/trace_tools.h"
#include "report/metrics/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Inputs ----------------------------------------------------------------------------------------- */

static void put_entry(FILE *out, const struct hr_column_name *entry) {
  fprintf(out, "\n%s=%s", entry->field, entry->column);
  if (entry->pattern) fprintf(out, "~%s~%s", entry->value, entry->pattern);
}

char *hr__input_trace_key(const struct hr_scenario *scenario, const char *file) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  fprintf(out, "%s\n%s\n%d%d", file, scenario->trace_format, scenario->lenient, scenario->drop_failed);
  for (size_t i = 0; i < scenario->columns.count; i++) put_entry(out, &scenario->columns.entry[i]);
  return hr__stream_text(out, &text);
}

uint64_t hr__input_digest_bytes(uint64_t digest, const void *bytes, size_t count) {
  const char *at = bytes;
  for (uint64_t word; count >= sizeof word; count -= sizeof word, at += sizeof word) {
    memcpy(&word, at, sizeof word);
    digest = hr__digest_add(digest, word);
  }
  uint64_t rest = 0;
  memcpy(&rest, at, count);
  return hr__digest_add(digest, rest);
}

enum hr_status hr__input_digest_file(const char *path, uint64_t *digest, struct hr_error *error) {
  enum { BLOCK_BYTES = 1 << 16 };
  FILE *file = fopen(path, "rb");
  char *block = malloc(BLOCK_BYTES);
  uint64_t bytes = 0;
  *digest = HR__DIGEST_SEED;
  for (size_t count; file && block && (count = fread(block, 1, BLOCK_BYTES, file)) > 0; bytes += count)
    *digest = hr__input_digest_bytes(*digest, block, count);
  bool failed = !file || (ferror(file) && errno != EISDIR);
  *digest = hr__digest_add(*digest, bytes);
  enum hr_status status = HR_OK;
  if (!block)
    status = hr_fail(error, HR_NO_MEMORY, "out of memory");
  else if (failed)
    status = hr_fail(error, HR_BAD_INPUT, "%s: cannot be read: %s", path, strerror(errno));
  if (file) fclose(file);
  free(block);
  return status;
}

enum hr_status hr__input_same(struct hr_ranks *ranks, const struct hr_scenario *scenario, const struct hr_trace *trace,
                              struct hr_error *error) {
  uint64_t digest = HR__DIGEST_SEED;
  if (!ranks || ranks->size <= 1) return HR_OK;
  enum hr_status status = hr__input_digest_file(scenario->path, &digest, error);
  digest = hr__digest_add(digest, trace->n_jobs);
  digest = hr__input_digest_bytes(digest, trace->submit_us, trace->n_jobs * sizeof *trace->submit_us);
  digest = hr__input_digest_bytes(digest, trace->work_us, trace->n_jobs * sizeof *trace->work_us);
  digest = hr__input_digest_bytes(digest, trace->gpus, trace->n_jobs * sizeof *trace->gpus);
  status = hr_ranks_agree(ranks, status, error);
  return status == HR_OK ? hr_ranks_same(ranks, digest, "input files", error) : status;
}

/* ---- One run of many -------------------------------------------------------------------------------- */

uint64_t hr_replication_seed(uint64_t seed, uint32_t replication) {
  if (replication == 0) return seed;
  struct hr__stream stream;
  hr__stream_init(&stream, seed, HR__PURPOSE_REPLICATION, replication, 0);
  uint64_t high = hr__stream_next(&stream) >> 5, low = hr__stream_next(&stream) >> 6;
  return high << 26 | low; /* 53 bits: exact in every JSON reader */
}

/* Moves the results to keep from `replay` to `run`. The caller finishes `replay` afterwards. */
static void take(struct hr_replay *replay, struct hr__one_run *run) {
  *run = (struct hr__one_run){
      .summary = replay->summary, .notes = replay->notes, .alerts = replay->alerts, .seconds = replay->seconds};
  replay->summary = NULL;
  replay->alerts = NULL;
  replay->notes = (struct hr_notes){0};
}

enum hr_status hr__one_run_make(const struct hr__one_run_config *config, struct hr__one_run *run,
                                struct hr_error *error) {
  const struct hr__one_run_details *details = config->details;
  const struct hr_replay_config replay_config = {.scenario = config->scenario,
                                                 .trace = config->trace,
                                                 .policy = config->policy,
                                                 .seed = config->seed,
                                                 .costs_by_job = details && details->costs_by_job,
                                                 .alerts = config->alerts,
                                                 .skip_fairness = config->skip_fairness,
                                                 .growth = config->growth,
                                                 .progress = config->progress};
  struct hr_replay replay;
  enum hr_status status = hr_replay_init(&replay, &replay_config, error);
  if (status == HR_OK && details && details->prepare) status = details->prepare(details->self, &replay, error);
  if (status == HR_OK) status = hr_replay_run(&replay, error);
  if (status == HR_OK && details) status = details->collect(details->self, &replay, error);
  take(&replay, run);
  hr_replay_finish(&replay);
  return status;
}

static void put_notes(struct hr__parcel *parcel, struct hr_notes *notes) {
  size_t count = notes->count;
  hr__parcel_bytes(parcel, &count, sizeof count);
  void *texts = hr__parcel_array(parcel, notes->text, &count, sizeof *notes->text);
  if (parcel->reading) *notes = (struct hr_notes){.text = texts, .count = count, .capacity = count};
  for (size_t i = 0; i < count; i++) hr__parcel_text(parcel, &notes->text[i]);
}

void hr__parcel_one_run(struct hr__parcel *parcel, struct hr__one_run *run) {
  bool has_alerts = run->alerts != NULL;
  hr__parcel_bytes(parcel, &run->seconds, sizeof run->seconds);
  hr__parcel_bytes(parcel, &has_alerts, sizeof has_alerts);
  hr__parcel_summary(parcel, &run->summary);
  put_notes(parcel, &run->notes);
  if (has_alerts) hr__parcel_alerts(parcel, &run->alerts);
}

/* Sets *text as hr__wait_explain does. Returns false when out of memory. */
static bool wait_sentence(const struct hr_waits *waits, hr_job job, int64_t at_us, char **text) {
  const struct hr_wait *wait;
  size_t size = 0, count = hr_waits_of(waits, job, &wait);
  while (count && (wait->begin_us > at_us || wait->end_us <= at_us)) wait++, count--;
  if (count == 0 || wait->n_parts == 0) return true;
  const struct hr_wait_part *parts = hr_waits_parts(waits, wait);
  FILE *out = open_memstream(text, &size);
  if (!out) return false;
  for (uint32_t i = 0; i < wait->n_parts; i++) {
    char duration[HR__NUMBER_BYTES];
    fprintf(out, "%s%s %s", i ? ", " : "It waited ", hr__duration_text((double)parts[i].us / 1e6, duration),
            hr_wait_reason_words((enum hr_wait_reason_kind)parts[i].reason));
  }
  fputc('.', out);
  return fclose(out) == 0;
}

enum hr_status hr__wait_explain(const struct hr_replay_config *config, hr_job job, int64_t at_us, const char *user,
                                char **text, struct hr_error *error) {
  const struct hr_waits_config watched = {.trace = config->trace, .watched = &job, .n_watched = 1};
  struct hr_replay replay;
  enum hr_status status = hr_replay_init(&replay, config, error);
  struct hr_waits *waits = status == HR_OK ? hr_waits_create(&watched) : NULL;
  bool complete = status != HR_OK || waits;
  if (waits) status = hr_replay_add(&replay, hr_waits_observer(waits), error);
  if (waits && status == HR_OK) status = hr_replay_run(&replay, error);
  if (waits && status == HR_OK)
    complete = hr_waits_close(waits, replay.result) == HR_OK && wait_sentence(waits, job, at_us, text);
  hr_waits_destroy(waits);
  hr_replay_finish(&replay);
  return complete ? status : hr_fail(error, HR_NO_MEMORY, "out of memory for %s", user);
}

/* ---- Replay: observers ------------------------------------------------------------------------------ */

enum hr_status hr_replay_add(struct hr_replay *replay, struct hr_observer observer, struct hr_error *error) {
  if (replay->n_observers == HR_REPLAY_MAX_OBSERVERS)
    return hr_fail(error, HR_BAD_INPUT, "a run can have at most %d observers", HR_REPLAY_MAX_OBSERVERS);
  replay->observers[replay->n_observers++] = observer;
  return HR_OK;
}

static enum hr_status add_accounts(struct hr_replay *replay, struct hr_error *error) {
  const struct hr_replay_config *config = &replay->config;
  const struct hr_cluster_spec *cluster = &config->scenario->cluster;
  replay->ledger = hr_ledger_create(config->trace, cluster, config->costs_by_job);
  replay->meter = hr_meter_create(config->trace, cluster, &config->scenario->costs);
  if (!replay->ledger || !replay->meter) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  hr_ledger_set_fleet(replay->ledger, replay->fleet);
  enum hr_status status = hr_replay_add(replay, hr_ledger_observer(replay->ledger), error);
  return status == HR_OK ? hr_replay_add(replay, hr_meter_observer(replay->meter), error) : status;
}

static enum hr_status add_links(struct hr_replay *replay, struct hr_error *error) {
  replay->links = hr_links_create(replay->config.trace, replay->config.scenario->network_speeds);
  if (!replay->links) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  return hr_replay_add(replay, hr_links_observer(replay->links), error);
}

static enum hr_status add_alerts(struct hr_replay *replay, struct hr_error *error) {
  const struct hr_scenario *scenario = replay->config.scenario;
  const struct hr_alerts_config config = {.trace = replay->config.trace,
                                          .cluster = &scenario->cluster,
                                          .rules = &scenario->alerts,
                                          .costs = &scenario->costs,
                                          .classes = scenario->classes};
  replay->alerts = hr_alerts_create(&config);
  if (!replay->alerts) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  return hr_replay_add(replay, hr_alerts_observer(replay->alerts), error);
}

/* ---- Replay: services ------------------------------------------------------------------------------- */

static uint32_t count_services(const struct hr_scenario *scenario) {
  return scenario->services ? scenario->services->count : 0;
}

/* Sets *needs to whether the replicas must be jobs of the run. They must be if they can change or wait, if the ledger
   charges them, or if the trace has jobs. Otherwise, they have their GPUs all the time, and the services are simulated
   without a cluster, with the same results. */
static enum hr_status needs_fleet(const struct hr_replay *replay, bool *needs, struct hr_error *error) {
  const struct hr_scenario *scenario = replay->config.scenario;
  bool fit = true;
  *needs = (replay->config.trace && replay->config.trace->n_jobs > 0) || hr_scenario_has_prices(scenario);
  for (uint32_t i = 0; i < count_services(scenario); i++) {
    const struct hr_service *service = &scenario->services->at[i];
    const struct hr_service_routing *routing = &service->routing;
    *needs = *needs || service->autoscale.policy != HR_AUTOSCALE_FIXED || routing->spill.to || routing->n_order ||
             routing->n_weights;
  }
  const enum hr_status status = *needs ? HR_OK : hr_replicas_fit(scenario, &fit, error);
  *needs = *needs || !fit;
  return status;
}

/* Adds the replicas to the trace of the run. */
static enum hr_status add_fleet(struct hr_replay *replay, struct hr_error *error) {
  const struct hr_fleet_config config = {.services = replay->config.scenario->services,
                                         .requests = replay->requests,
                                         .trace = replay->config.trace,
                                         .seed = replay->config.seed,
                                         .steps = replay->config.check};
  const enum hr_status status = hr_fleet_create(&config, &replay->fleet, error);
  if (status != HR_OK) return status;
  for (uint32_t i = 0; i < count_services(replay->config.scenario); i++) {
    replay->served[i].requests = hr_fleet_requests(replay->fleet, i);
    replay->served[i].result = hr_fleet_result(replay->fleet, i);
  }
  replay->config.trace = hr_fleet_trace(replay->fleet);
  return HR_OK;
}

/* Reads or draws the requests of all services. */
static enum hr_status add_requests(struct hr_replay *replay, struct hr_error *error) {
  const struct hr_scenario *scenario = replay->config.scenario;
  const uint32_t count = count_services(scenario);
  if (!count) return HR_OK;
  replay->requests = calloc(count, sizeof *replay->requests);
  replay->arrived = calloc(count, sizeof *replay->arrived);
  replay->service_results = calloc(count, sizeof *replay->service_results);
  replay->served = calloc(count, sizeof *replay->served);
  if (!replay->requests || !replay->arrived || !replay->service_results || !replay->served)
    return hr_fail(error, HR_NO_MEMORY, "out of memory for the services");
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < count && status == HR_OK; i++) {
    const struct hr_service *service = &scenario->services->at[i];
    replay->served[i] = (struct hr_served){service, &replay->requests[i], &replay->service_results[i], i};
    struct hr_service grown = *service;
    if (replay->config.growth > 0) grown.draw.rate_per_s *= replay->config.growth;
    status = hr_requests_of_service(&grown, i, replay->config.seed, &replay->requests[i], error);
  }
  bool needs = false;
  if (status == HR_OK) status = needs_fleet(replay, &needs, error);
  return status == HR_OK && needs ? add_fleet(replay, error) : status;
}

static enum hr_status serve(struct hr_replay *replay, struct hr_error *error) {
  const struct hr_scenario *scenario = replay->config.scenario;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < count_services(scenario) && status == HR_OK && !replay->fleet; i++)
    status = hr_service_run(&scenario->services->at[i], &replay->requests[i], replay->config.seed + i,
                            replay->config.check, &replay->service_results[i], error);
  return status;
}

/* Removes the requests that arrive after the horizon from the results, as is done with jobs that are submitted after
   it. The run itself needs these requests, because a service that expects further requests continues to the horizon.
   With a horizon, replicas are always jobs (hr_replicas_fit). */
static void leave_out_later(struct hr_replay *replay) {
  const int64_t horizon_us = replay->config.scenario->horizon_us;
  if (!replay->fleet || horizon_us == HR_NEVER_US) return;
  const int64_t last_us = hr_fleet_origin_us(replay->fleet) + horizon_us;
  for (uint32_t i = 0; i < count_services(replay->config.scenario); i++) {
    struct hr_service_requests *arrived = &replay->arrived[i];
    *arrived = *replay->served[i].requests;
    while (arrived->count && arrived->arrival_us[arrived->count - 1] > last_us) arrived->count--;
    replay->served[i].requests = arrived;
  }
}

static void finish_services(struct hr_replay *replay) {
  const uint32_t count = replay->config.scenario ? count_services(replay->config.scenario) : 0;
  for (uint32_t i = 0; i < count; i++) {
    if (replay->requests) hr_requests_finish(&replay->requests[i]);
    if (replay->service_results) hr_service_result_finish(&replay->service_results[i]);
  }
  hr_fleet_destroy(replay->fleet);
  free(replay->requests);
  free(replay->arrived);
  free(replay->service_results);
  free(replay->served);
}

enum hr_status hr_replay_init(struct hr_replay *replay, const struct hr_replay_config *input, struct hr_error *error) {
  *replay = (struct hr_replay){.config = *input};
  const struct hr_replay_config *config = &replay->config;
  if (!config->policy) replay->config.policy = &config->scenario->policy;
  const enum hr_status added = add_requests(replay, error);
  if (added != HR_OK) return added;
  replay->usage = hr_usage_create(config->trace);
  if (!replay->usage) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  enum hr_status status = hr_replay_add(replay, hr_usage_observer(replay->usage), error);
  if (status == HR_OK && config->scenario->network_speeds) status = add_links(replay, error);
  if (status == HR_OK && hr_scenario_has_prices(config->scenario)) status = add_accounts(replay, error);
  if (status == HR_OK && config->alerts) status = add_alerts(replay, error);
  return status;
}

/* ---- Replay: the run -------------------------------------------------------------------------------- */

/* `clusters` has the clusters of the run, and belongs to the caller. */
static struct hr_run_config run_config_of(const struct hr_replay *replay, struct hr_clusters *clusters) {
  const struct hr_replay_config *config = &replay->config;
  const struct hr_scenario *scenario = config->scenario;
  if (scenario->clusters)
    *clusters = (struct hr_clusters){scenario->clusters->parts, scenario->clusters->count, scenario->clusters->router};
  return (struct hr_run_config){.trace = config->trace,
                                .cluster = &scenario->cluster,
                                .clusters = scenario->clusters ? clusters : NULL,
                                .policy = config->policy->ops,
                                .params = config->policy->params,
                                .seed = config->seed,
                                .horizon_us = scenario->horizon_us,
                                .check = config->check,
                                .classes = scenario->classes,
                                .observers = replay->observers,
                                .n_observers = replay->n_observers,
                                .progress = config->progress,
                                .quotas = scenario->quotas,
                                .systems = scenario->systems,
                                .values = replay->values,
                                .speeds = scenario->speeds,
                                .network_speeds = scenario->network_speeds,
                                .scaling = scenario->scaling,
                                .fleet = replay->fleet,
                                .data = scenario->data};
}

enum hr_status hr_replay_check(const struct hr_replay *replay, struct hr_error *error) {
  struct hr_clusters clusters;
  struct hr_run_config run = run_config_of(replay, &clusters);
  return hr_sim_check(&run, error);
}

static enum hr_status simulate(struct hr_replay *replay, struct hr_error *error) {
  struct hr_clusters clusters;
  struct hr_run_config run = run_config_of(replay, &clusters);
  double begin_s = hr__clock_s();
  enum hr_status status = hr_sim_run(&run, &replay->result, error);
  replay->sim_s = hr__clock_s() - begin_s;
  return status;
}

static enum hr_status summarize(struct hr_replay *replay, struct hr_error *error) {
  const struct hr_scenario *scenario = replay->config.scenario;
  const struct hr_cost_basis basis = {replay->ledger, replay->meter, &scenario->costs, scenario->classes};
  enum hr_status status = replay->ledger ? hr_ledger_close(replay->ledger, replay->result) : HR_OK;
  if (status == HR_BAD_INPUT)
    return hr_fail(error, status, "%s: costs exceed 4 trillion dollars; prices or times are too large",
                   replay->config.trace->source);
  if (status != HR_OK) return hr_fail(error, status, "out of memory for the cost accounts");
  status = (replay->config.skip_fairness ? hr_summarize_without_fairness : hr_summarize)(
      replay->config.trace, &scenario->cluster, replay->result, replay->usage, replay->ledger ? &basis : NULL,
      &replay->summary, error);
  if (status != HR_OK) return status;
  return hr_summary_add_services(replay->summary, replay->served, count_services(scenario), error);
}

static enum hr_status close_alerts(struct hr_replay *replay, struct hr_error *error) {
  if (!replay->alerts) return HR_OK;
  hr_alerts_add_services(replay->alerts, replay->served, count_services(replay->config.scenario),
                         replay->fleet ? hr_fleet_origin_us(replay->fleet) : 0);
  enum hr_status status = hr_alerts_close(replay->alerts, replay->result, replay->summary->costs);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory for the alerts");
}

/* Whether the speed of some jobs in some pool differs from their speed on the reference type. */
static bool has_other_speeds(const struct hr_speeds *speeds) {
  size_t count = speeds ? (size_t)(speeds->n_rows + 1) * speeds->n_pools : 0;
  for (size_t i = 0; i < count; i++)
    if (speeds->ppm[i] != 1000000) return true;
  return false;
}

static enum hr_status note_deadlines(const struct hr_scenario *scenario, const struct hr_policy_choice *policy,
                                     struct hr_notes *notes) {
  if (strcmp(policy->ops->name, "deadline") != 0 || !has_other_speeds(scenario->speeds)) return HR_OK;
  return hr_notes_add(notes,
                      "the policy 'deadline' decides as if jobs had the same speed in all pools, but 'models' has "
                      "other speeds: in slower pools it changes to on-demand nodes too late for some deadlines");
}

/* Whether a policy that counts pods can give an elastic job fewer than all its GPUs. */
static bool has_several_pods(const struct hr_scenario *scenario, const struct hr_trace *trace, uint32_t job) {
  uint32_t largest = 0;
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++)
    if (scenario->cluster.pools[i].gpus_per_node > largest) largest = scenario->cluster.pools[i].gpus_per_node;
  return (trace->tasks && trace->tasks[job] > 1) || trace->gpus[job] > largest;
}

/* Adds a note on elastic jobs that the model of a scheduler runs with all their GPUs. */
static enum hr_status note_elastic(const struct hr_scenario *scenario, const struct hr_policy_choice *policy,
                                   const struct hr_trace *trace, struct hr_notes *notes) {
  const char *name = policy->ops->name;
  bool is_kai = strcmp(name, "kai") == 0, by_gpu = hr_cluster_spec_by_gpu(&scenario->cluster), rents = false;
  uint32_t n = 0;
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++)
    rents = rents || (is_kai && hr_market_is_elastic(scenario->cluster.pools[i].market.market));
  if (!trace->min_gpus || (!is_kai && strcmp(name, "volcano") != 0 && strcmp(name, "kueue") != 0)) return HR_OK;
  for (uint32_t job = 0; job < trace->n_jobs; job++)
    n += trace->min_gpus[job] != HR_NONE && trace->min_gpus[job] < trace->gpus[job] &&
         (by_gpu || rents || !has_several_pods(scenario, trace, job));
  if (n == 0) return HR_OK;
  return hr_notes_add(notes, "%s: %" PRIu32 " job%s with 'min_gpus' below 'gpus' run%s with all GPUs; %s", name, n,
                      n == 1 ? "" : "s", n == 1 ? "s" : "",
                      by_gpu  ? "jobs are not resized in per-GPU allocation"
                      : rents ? "jobs are not resized if nodes are rented"
                              : "whole pods are added or left out, and a job has one for each of its 'tasks'");
}

/* Adds a note on the data from which a router predicts waits, if the trace has neither limits nor estimates of run
   times. */
static enum hr_status note_router(const struct hr_scenario *scenario, const struct hr_trace *trace,
                                  struct hr_notes *notes) {
  if (!scenario->clusters || !hr_job_router_predicts(&scenario->clusters->router)) return HR_OK;
  if (trace->estimate_us || trace->limit_us) return HR_OK;
  return hr_notes_add(notes,
                      "router '%s': the trace has neither estimates nor limits of run times, so predicted waits are "
                      "computed from the real run times, which a router would not know",
                      hr_job_router_name(scenario->clusters->router.kind));
}

/* Notes how many jobs are submitted after the horizon, so that they are not part of the run. With services, the run may
   begin before the first job, so nothing is noted. */
static enum hr_status note_horizon(const struct hr_scenario *scenario, const struct hr_trace *trace,
                                   struct hr_notes *notes) {
  uint64_t n_later = 0;
  if (scenario->horizon_us == HR_NEVER_US || scenario->services) return HR_OK;
  for (uint32_t job = 0; job < trace->n_jobs; job++) n_later += trace->submit_us[job] > scenario->horizon_us;
  if (n_later == 0) return HR_OK;
  return hr_notes_add(notes,
                      "horizon_s: %" PRIu64 " of %" PRIu32 " jobs are submitted after the horizon and are left out",
                      n_later, trace->n_jobs);
}

/* With `mig_fallback`, notes how many jobs may run on other GPUs than they request. */
static enum hr_status note_mig_fallback(const struct hr_scenario *scenario, const struct hr_trace *trace,
                                        struct hr_notes *notes) {
  if (!scenario->cluster.mig_fallback) return HR_OK;
  uint64_t n_named = 0, n_others = 0;
  for (uint32_t job = 0; job < trace->n_jobs; job++)
    if (trace->mig_profile && trace->mig_profile[job] != HR_NONE)
      n_named++;
    else if (trace->gpus[job] > 0)
      n_others++;
  if (n_named + n_others == 0) return HR_OK;
  return hr_notes_add(
      notes,
      "mig_fallback: jobs that name a MIG profile (%" PRIu64 ") may run on whole GPUs or shares, and other "
      "jobs (%" PRIu64 ") may run on MIG instances; a device plugin with the strategy 'mixed' allows neither",
      n_named, n_others);
}

enum hr_status hr_replay_input_notes(const struct hr_scenario *scenario, const struct hr_policy_choice *policy,
                                     const struct hr_trace *trace, struct hr_notes *notes, struct hr_error *error) {
  enum hr_status status = hr_speed_notes(trace, scenario->speeds, notes, error);
  if (status == HR_OK) status = note_deadlines(scenario, policy, notes);
  if (status == HR_OK) status = note_router(scenario, trace, notes);
  if (status == HR_OK) status = note_elastic(scenario, policy, trace, notes);
  if (status == HR_OK) status = note_horizon(scenario, trace, notes);
  if (status == HR_OK) status = note_mig_fallback(scenario, trace, notes);
  if (status != HR_OK) return hr_fail(error, status, "out of memory");
  status = hr_pair_notes(trace, &scenario->cluster, notes, error);
  if (status == HR_OK && !scenario->clusters && hr__power_budget_note(trace, &scenario->cluster, notes) != HR_OK)
    status = hr_fail(error, HR_NO_MEMORY, "out of memory");
  return status == HR_OK ? hr_gpu_type_notes(trace, &scenario->cluster, notes, error) : status;
}

/* If the policy may have resized elastic jobs, adds a note that states how their speed was computed. Otherwise warns if
   'scaling' is set without effect. */
static enum hr_status note_resizes(const struct hr_scenario *scenario, const struct hr_result *result,
                                   struct hr_notes *notes) {
  uint64_t n = 0;
  if (!result->resized && !scenario->scaling) return HR_OK;
  if (!result->resized) return hr_notes_add(notes, "warning: 'scaling' has no effect: no job may be resized");
  for (uint32_t job = 0; job < result->n_jobs; job++) n += hr_result_resizes(result, (hr_job){job}, NULL);
  return hr_notes_add(notes, "elastic jobs: %" PRIu64 " resize%s; the speed of a job %s", n, n == 1 ? "" : "s",
                      scenario->scaling ? "follows from 'scaling'" : "is proportional to its number of GPUs");
}

/* Adds a note if periodic checkpoints were not written, because nothing could stop a job. */
static enum hr_status note_checkpoints(const struct hr_scenario *scenario, const struct hr_result *result,
                                       struct hr_notes *notes) {
  bool any = false;
  for (unsigned i = 0; i < HR_N_CLASSES; i++) {
    const struct hr_class_spec *class_ = &scenario->classes[i];
    any = any || class_->checkpoint == HR_CHECKPOINT_INTERVAL || class_->checkpoint == HR_CHECKPOINT_YOUNG_DALY;
  }
  if (!any || result->account) return HR_OK;
  return hr_notes_add(notes, "checkpoints have no effect and take no time, as nothing in this scenario can stop a job");
}

/* Adds a note on replicas that are wanted from the start of the run, but need a cold start. The reason is that Volcano
   admits a job in one session and binds its pods in the next session. */
static enum hr_status note_sessions(struct hr_replay *replay) {
  enum hr_status status = HR_OK;
  if (!replay->fleet || strcmp(replay->config.policy->ops->name, "volcano") != 0) return HR_OK;
  for (uint32_t i = 0; i < count_services(replay->config.scenario) && status == HR_OK; i++) {
    const struct hr_service_result *result = replay->served[i].result;
    if (!result->cold_starts || !result->n_decisions || result->decisions[0].reason != HR_SCALE_INITIAL) continue;
    status = hr_notes_add(&replay->notes,
                          "service '%.60s': its initial replicas need a cold start, because volcano binds pods in the "
                          "session after the one that admits them, so none has its GPUs at the beginning of the run",
                          replay->config.scenario->services->at[i].name);
  }
  return status;
}

static enum hr_status note(struct hr_replay *replay, struct hr_error *error) {
  const struct hr_scenario *scenario = replay->config.scenario;
  const struct hr_trace *trace = replay->config.trace;
  struct hr_notes *notes = &replay->notes;
  enum hr_status status = hr_run_notes(trace, &scenario->costs, scenario->quotas, replay->result, notes, error);
  if (status == HR_OK) status = hr_replay_input_notes(scenario, replay->config.policy, trace, notes, error);
  if (status != HR_OK) return status;
  status = note_checkpoints(scenario, replay->result, notes);
  if (status == HR_OK) status = note_resizes(scenario, replay->result, notes);
  if (status != HR_OK) return hr_fail(error, status, "out of memory");
  status = hr_series_notes(trace, &scenario->cluster, replay->result, notes, error);
  if (status != HR_OK) return status;
  for (uint32_t i = 0; i < count_services(scenario) && status == HR_OK; i++)
    status = hr_service_goal_notes(&scenario->services->at[i], &replay->requests[i], notes);
  if (status == HR_OK) status = note_sessions(replay);
  if (status != HR_OK) return hr_fail(error, status, "out of memory");
  return replay->links ? hr_links_notes(replay->links, notes, error) : HR_OK;
}

enum hr_status hr_replay_run(struct hr_replay *replay, struct hr_error *error) {
  double begin_s = hr__clock_s();
  enum hr_status status = simulate(replay, error);
  if (status == HR_OK) status = serve(replay, error);
  if (status == HR_OK) leave_out_later(replay);
  if (status == HR_OK) status = summarize(replay, error);
  if (status == HR_OK) status = close_alerts(replay, error);
  if (status == HR_OK) status = note(replay, error);
  replay->seconds = hr__clock_s() - begin_s;
  return status;
}

void hr_replay_finish(struct hr_replay *replay) {
  finish_services(replay);
  hr_summary_destroy(replay->summary);
  hr_result_destroy(replay->result);
  hr_alerts_destroy(replay->alerts);
  hr_links_destroy(replay->links);
  hr_meter_destroy(replay->meter);
  hr_ledger_destroy(replay->ledger);
  hr_usage_destroy(replay->usage);
  hr_notes_finish(&replay->notes);
  *replay = (struct hr_replay){0};
}
