/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output of runs of scenarios with inference services: tables, warnings, and a file of requests. */

#include "cli/run_files.h"

#include "cli/input.h"
#include "headroom/unstable/scenario_clusters.h"
#include "headroom/unstable/service_report.h"
#include "headroom/unstable/trace_tools.h"

#include <stdlib.h>

bool has_services(const struct hr_scenario *scenario) {
  return scenario->services && scenario->services->count > 0;
}

/* Returns the number of requests that no replica can serve. */
static uint32_t count_too_large(const struct hr_served *served) {
  const struct hr_service_requests *requests = served->requests;
  uint32_t count = 0;
  for (uint32_t i = 0; i < requests->count; i++)
    count += served->result->state[i] == HR_REQUEST_REFUSED &&
             hr_service_refusal(served->service, requests->prompt_tokens[i], requests->output_tokens[i]) != NULL;
  return count;
}

/* Whether a replica was ready at some time. Without the engine of jobs, all are ready from the begin. */
static bool was_ready(const struct hr_service_result *result) {
  for (uint32_t i = 0; i < result->n_levels; i++)
    if (result->levels[i].ready) return true;
  return result->n_levels == 0;
}

static const char *why_unfinished(const struct hr_served *served) {
  const enum hr_service_engine engine = served->service->engine;
  if (engine == HR_SERVICE_ORCA_SPLITWISE)
    return "with orca-splitwise, sequences that have their prompt can wait for each other's memory for ever; raise "
           "'kv_tokens', or use another engine";
  if (!was_ready(served->result))
    return "no replica was ready for them; the file of --jobs has the states of the replicas, and 'headroom why "
           "SCENARIO --job replica-N' explains how the N-th of them waited";
  return engine == HR_SERVICE_DISAGGREGATED ? "the run ended before; each needs a replica "
                                              "for its prompt and one that decodes"
                                            : "the run ended before";
}

/* Why no request arrived at a service, as the end of a warning. */
static const char *why_none(const struct hr_served *served) {
  if (served->result->count > served->requests->count)
    return "': no request arrived before the end of the run; raise 'horizon_s'\n";
  return served->service->only_gets ? "': no request came from other services\n"
                                    : "': no request arrived; raise 'rate_per_s' or 'duration_s'\n";
}

static void warn(const struct hr_service_summary *summary, const struct hr_served *served) {
  if (!summary->offered) {
    fputs("warning: service '", stderr);
    hr_print_safe(stderr, summary->name, 60);
    fputs(why_none(served), stderr);
  }
  const uint64_t too_large = 100 * summary->refused > summary->offered ? count_too_large(served) : 0;
  if (100 * too_large > summary->offered) {
    fputs("warning: service '", stderr);
    hr_print_safe(stderr, summary->name, 60);
    fprintf(stderr,
            "': %.1f %% of the requests were refused, because they need more memory or a larger batch than a replica "
            "has; raise 'kv_blocks' or 'max_batch_tokens'\n",
            100 * (double)too_large / (double)summary->offered);
  }
  if (summary->unfinished) {
    fputs("warning: service '", stderr);
    hr_print_safe(stderr, summary->name, 60);
    fprintf(stderr, "': %llu request%s did not complete: %s\n", (unsigned long long)summary->unfinished,
            summary->unfinished == 1 ? "" : "s", why_unfinished(served));
  }
}

void print_services(const struct hr_replay *replay, bool wants_table) {
  const struct hr_summary *summary = replay->summary;
  for (size_t i = 0; i < summary->n_services; i++) {
    warn(&summary->services[i], &replay->served[i]);
    if (wants_table) hr_service_print(stdout, &replay->served[i], &summary->services[i]);
  }
}

enum hr_status require_served(const struct hr_replay *replay, struct hr_error *error) {
  const struct hr_service_summary *all = replay->summary->all_services;
  return !all || all->completed ? HR_OK : hr_fail(error, HR_CHECK_FAILED, "no request of a service was completed");
}

/* ---- Validation ------------------------------------------------------------------------------------- */

static void print_requests(const struct hr_service *service, const struct hr_service_requests *requests) {
  uint32_t refused = 0;
  const char *reason = NULL;
  for (uint32_t i = 0; i < requests->count; i++) {
    const char *why = hr_service_refusal(service, requests->prompt_tokens[i], requests->output_tokens[i]);
    refused += why != NULL;
    if (!reason) reason = why;
  }
  fputs("service   ", stdout);
  hr_print_safe(stdout, service->name, 60);
  printf(": %u requests, %u replica%s, engine %s\n", (unsigned)requests->count, (unsigned)service->replicas,
         service->replicas == 1 ? "" : "s", hr_service_engine_name(service->engine));
  if (refused) printf("          %u will be refused: %s\n", (unsigned)refused, reason);
}

/* Warns of replicas that no pool with nodes can hold. A run begins all the same, as nodes may be variables of a sweep.
 */
static enum hr_status warn_never(const struct hr_scenario *scenario, const struct hr_service *service,
                                 struct hr_error *error) {
  enum hr_reason reason;
  const enum hr_status status = hr_replica_refusal(scenario, service, &reason, error);
  if (status != HR_OK || reason == HR_REASON_NONE) return status;
  fputs("warning: service '", stderr);
  hr_print_safe(stderr, service->name, 60);
  fprintf(stderr, "': its replicas can never run and will be rejected (%s: %s)\n", hr_reason_name(reason),
          hr_rejection_words(reason));
  return HR_OK;
}

enum hr_status validate_services(const struct hr_scenario *scenario, struct hr_error *error) {
  struct hr_notes notes = {0};
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < scenario->services->count && status == HR_OK; i++) {
    const struct hr_service *service = &scenario->services->at[i];
    struct hr_service_requests requests;
    status = hr_requests_of_service(service, i, scenario->seed, &requests, error);
    if (status == HR_OK) print_requests(service, &requests);
    if (status == HR_OK && hr_service_goal_notes(service, &requests, &notes) != HR_OK)
      status = hr_fail(error, HR_NO_MEMORY, "out of memory");
    hr_requests_finish(&requests);
    if (status == HR_OK) status = warn_never(scenario, service, error);
  }
  if (status == HR_OK) notes_print(stderr, &notes);
  hr_notes_finish(&notes);
  return status;
}
