/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs of scenarios that have inference services: reads the requests, runs each service, and writes the results. */

#include "cli/run_services.h"

#include "headroom/unstable/service_report.h"
#include "headroom/unstable/trace_tools.h"

#include <stdlib.h>
#include <string.h>

bool has_services(const struct hr_scenario *scenario) {
  return scenario->services && scenario->services->count > 0;
}

struct served_service {
  struct hr_service_requests requests;
  struct hr_service_result result;
};

/* All services of a run. */
struct service_runs {
  const struct hr_services *services;
  struct served_service *each;
  struct hr_served *served;
  struct hr_service_summary *summaries;
};

static enum hr_status serve(const struct hr_scenario *scenario, bool steps, struct service_runs *run, uint32_t index,
                            struct hr_error *error) {
  const struct hr_service *service = &run->services->at[index];
  struct served_service *each = &run->each[index];
  run->served[index] = (struct hr_served){service, &each->requests, &each->result};
  enum hr_status status = hr_requests_of_service(service, index, scenario->seed, &each->requests, error);
  if (status == HR_OK)
    status = hr_service_run(service, &each->requests, scenario->seed + index, steps, &each->result, error);
  return status == HR_OK ? hr_service_summarize(&run->served[index], &run->summaries[index], error) : status;
}

static void print(const struct service_runs *run, bool quiet) {
  for (uint32_t i = 0; i < run->services->count; i++) {
    const struct hr_service_summary *summary = &run->summaries[i];
    if (100 * summary->refused > summary->offered) {
      fputs("warning: service '", stderr);
      hr_print_safe(stderr, run->services->at[i].name, 60);
      fprintf(stderr,
              "': %.1f %% of the requests were refused, because they need more memory or a larger batch than a replica "
              "has; raise 'kv_blocks' or 'max_batch_tokens'\n",
              100 * (double)summary->refused / (double)summary->offered);
    }
    if (summary->unfinished) {
      fputs("warning: service '", stderr);
      hr_print_safe(stderr, run->services->at[i].name, 60);
      fprintf(
          stderr,
          "': %llu requests never complete: with orca-splitwise, sequences that have their prompt can wait for each "
          "other's memory for ever; raise 'kv_tokens', or use another engine\n",
          (unsigned long long)summary->unfinished);
    }
    if (!quiet) hr_service_print(stdout, &run->served[i], summary);
  }
}

/* Exit code 1 if no request of any service was served. */
static enum hr_status require_served(const struct service_runs *run, struct hr_error *error) {
  uint64_t completed = 0;
  for (uint32_t i = 0; i < run->services->count; i++) completed += run->summaries[i].completed;
  return completed ? HR_OK : hr_fail(error, HR_CHECK_FAILED, "all requests were refused");
}

static enum hr_status run_each(const struct hr_scenario *scenario, const struct run_services_args *args,
                               struct service_runs *run, struct hr_error *error) {
  const uint32_t count = run->services->count;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < count && status == HR_OK; i++) status = serve(scenario, args->steps, run, i, error);
  if (status == HR_OK && args->requests) status = hr_services_write_requests(args->requests, run->served, count, error);
  if (status == HR_OK && args->json)
    status = hr_services_write_json(args->json, run->served, run->summaries, count, error);
  if (status != HR_OK) return status;
  const bool to_stdout =
      (args->requests && strcmp(args->requests, "-") == 0) || (args->json && strcmp(args->json, "-") == 0);
  print(run, args->quiet || to_stdout);
  return require_served(run, error);
}

enum hr_status run_services(const struct hr_scenario *scenario, const struct run_services_args *args,
                            struct hr_error *error) {
  const size_t count = scenario->services->count;
  struct service_runs run = {.services = scenario->services,
                             .each = calloc(count, sizeof *run.each),
                             .served = calloc(count, sizeof *run.served),
                             .summaries = calloc(count, sizeof *run.summaries)};
  enum hr_status status = run.each && run.served && run.summaries ? run_each(scenario, args, &run, error)
                                                                  : hr_fail(error, HR_NO_MEMORY, "out of memory");
  for (size_t i = 0; run.each && i < count; i++) {
    hr_requests_finish(&run.each[i].requests);
    hr_service_result_finish(&run.each[i].result);
  }
  free(run.each);
  free(run.served);
  free(run.summaries);
  return status;
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

enum hr_status validate_services(const struct hr_scenario *scenario, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < scenario->services->count && status == HR_OK; i++) {
    const struct hr_service *service = &scenario->services->at[i];
    struct hr_service_requests requests;
    status = hr_requests_of_service(service, i, scenario->seed, &requests, error);
    if (status == HR_OK) print_requests(service, &requests);
    hr_requests_finish(&requests);
  }
  return status;
}
