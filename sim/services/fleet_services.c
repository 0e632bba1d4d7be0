/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The services of a fleet at the begin and at the end of a run: their memory, their place in the graph of spill-over,
 * and their results. And the checks of checked mode.
 *
 * Invariant: GPU time that the replicas held = starting + busy + idle = GPU time of their jobs; no part is negative.
 */

#include "base/hash.h"
#include "sim/engine/engine.h"
#include "sim/services/fleet.h"

#include <stdlib.h>

/* ---- Begin ------------------------------------------------------------------------------------------ */

/* The services with requests that can go to this one. */
static bool find_feeds(struct hr_fleet *fleet, uint32_t index) {
  struct hr__fleet_service *service = &fleet->of[index];
  for (uint32_t i = 0; i < hr__fleet_count(fleet); i++) {
    if (!hr__spills_to(&fleet->config.services->at[i], index)) continue;
    if (!service->feeds && !(service->feeds = calloc(hr__fleet_count(fleet), sizeof *service->feeds))) return false;
    service->feeds[service->n_feeds++].from = &fleet->of[i].run;
  }
  return true;
}

static bool push_link(struct hr__service_run ***list, uint32_t *n, uint32_t most, struct hr__service_run *run) {
  if (!*list && !(*list = calloc(most, sizeof **list))) return false;
  (*list)[(*n)++] = run;
  return true;
}

/* The place of a service in the graph of spill-over. */
static bool find_links(struct hr_fleet *fleet, uint32_t index) {
  const struct hr_services *services = fleet->config.services;
  struct hr__spill_links *links = &fleet->of[index].links;
  const bool in_circle = hr__fleet_hops(services, index, index) > 0;
  links->n_hops = hr__fleet_way(services, index);
  bool is_complete = true;
  for (uint32_t i = 0; i < hr__fleet_count(fleet) && is_complete; i++) {
    struct hr__service_run *run = &fleet->of[i].run;
    const bool comes = hr__fleet_hops(services, i, index) > 0, goes = hr__fleet_hops(services, index, i) > 0;
    if (comes && i != index) is_complete = push_link(&links->upstream, &links->n_upstream, services->count, run);
    if (is_complete && in_circle && comes && goes)
      is_complete = push_link(&links->circle, &links->n_circle, services->count, run);
  }
  return is_complete;
}

enum hr_status hr__fleet_open_service(struct hr__engine *engine, uint32_t index) {
  struct hr_fleet *fleet = hr__fleet_of(engine);
  struct hr__fleet_service *service = &fleet->of[index];
  if (!find_feeds(fleet, index) || !find_links(fleet, index)) return hr__out_of_memory(engine);
  const struct hr_service *spec = &fleet->config.services->at[index];
  service->spec = spec;
  const uint32_t times = spec->autoscale.policy == HR_AUTOSCALE_FIXED ? 1 : 2;
  const uint32_t n_decoders = times * hr__service_decoders(spec, spec->autoscale.max);
  service->n_places = times * spec->autoscale.max;
  service->n_heads = service->n_places - n_decoders;
  service->event_us = service->tick_us = HR_NEVER_US;
  const struct hr__service_config config = {.spec = spec,
                                            .requests = &fleet->config.requests[index],
                                            .n_replicas = service->n_places,
                                            .n_decoders = n_decoders,
                                            .origin_us = fleet->origin_us,
                                            .seed = fleet->config.seed + index,
                                            .steps = fleet->config.steps || engine->config->check,
                                            .feeds = service->feeds,
                                            .n_feeds = service->n_feeds,
                                            .most = hr__fleet_most_requests(fleet, index),
                                            .received = &service->received,
                                            .links = service->links};
  service->places = calloc((size_t)service->n_places + 1, sizeof *service->places);
  service->warm = calloc((size_t)engine->cluster.n_nodes + 1, sizeof *service->warm);
  const enum hr_status status = hr__service_open(&service->run, &config, &service->result, engine->error);
  if (status != HR_OK) return status;
  const bool is_complete = hr__scaler_open(&service->scaler, spec, service->n_places);
  return is_complete && service->places && service->warm ? HR_OK : hr__out_of_memory(engine);
}

/* ---- End -------------------------------------------------------------------------------------------- */

static uint64_t digest_result(uint64_t digest, const struct hr_service_result *result) {
  for (uint32_t i = 0; i < result->count; i++) {
    digest = hr__digest_add(digest, (uint64_t)result->state[i] << 32 | result->replica[i]);
    digest = hr__digest_add(digest, (uint64_t)result->first_token_us[i]);
    digest = hr__digest_add(digest, (uint64_t)result->end_us[i]);
  }
  return digest;
}

void hr__fleet_settle(struct hr__engine *engine) {
  struct hr_fleet *fleet = hr__fleet_of(engine);
  for (uint32_t i = 0; i < hr__fleet_count(fleet); i++) {
    struct hr__fleet_service *service = &fleet->of[i];
    if (!hr__fleet_is_here(fleet, engine, i)) continue;
    if (service->is_open) hr__service_advance(&service->run, engine->view.now_us + fleet->origin_us + 1);
    for (uint32_t k = 0; k < service->n_places; k++)
      if (hr__place_runs(&service->places[k])) hr__replica_close_times(service, k, engine->view.now_us);
    engine->digest = digest_result(engine->digest, &service->result);
    if (engine->whole) engine->whole->digest = digest_result(engine->whole->digest, &service->result);
  }
  fleet->trace.n_jobs = fleet->n_input + fleet->n_used;
  fleet->trace.n_added = fleet->n_used;
}

void hr__fleet_close(struct hr__engine *engine) {
  struct hr_fleet *fleet = hr__fleet_of(engine);
  for (uint32_t i = 0; fleet && i < hr__fleet_count(fleet); i++) {
    struct hr__fleet_service *service = &fleet->of[i];
    if (!hr__fleet_is_here(fleet, engine, i)) continue;
    if (service->run.spec) hr__service_close(&service->run, NULL);
    if (service->scaler.spec) hr__scaler_close(&service->scaler);
    free(service->places);
    free(service->warm);
    service->run = (struct hr__service_run){0};
    service->places = NULL;
    service->warm = NULL;
  }
}

/* ---- Checked mode ----------------------------------------------------------------------------------- */

/* Whether requests stay at a replica that has ended: with `orca-splitwise`, a service also ends if its last requests
   wait for each other's memory forever, so that no replica runs iterations. */
static bool is_deadlocked(const struct hr__fleet_service *service, uint32_t number) {
  return service->spec->engine == HR_SERVICE_ORCA_SPLITWISE && !service->is_open &&
         hr__service_wake_us(&service->run, number) == HR_NEVER_US;
}

static enum hr_status check_place(const struct hr__engine *engine, const struct hr__fleet_service *service,
                                  uint32_t number) {
  const struct hr__replica_place *place = &service->places[number];
  const bool has_work = service->run.outstanding[number] > 0;
  if (has_work && place->state < HR__PLACE_READY && !is_deadlocked(service, number))
    return hr__broken(engine, "service '%.60s': replica %" PRIu32 " has requests and is not ready", service->spec->name,
                      number);
  if (place->state == HR__PLACE_FREE) return HR_OK;
  const enum hr_job_state state = (enum hr_job_state)engine->state[place->job];
  const bool may_run = hr__place_runs(place) || place->state == HR__PLACE_WITHDRAWN;
  if ((state == HR_JOB_RUNNING && !may_run &&
       hr__attempt(engine, (hr_job){place->job})->begun_us != engine->view.now_us) ||
      (hr__place_runs(place) && state != HR_JOB_RUNNING))
    return hr__broken(engine, "service '%.60s': the state of replica %" PRIu32 " and of its job differ",
                      service->spec->name, number);
  return HR_OK;
}

/* The parts of a service's GPU time. */
static enum hr_status check_parts(const struct hr__engine *engine, const struct hr__fleet_service *service) {
  const struct hr_replica_times *times = &service->result.gpu_time;
  const bool add_up = times->held == times->starting + times->busy + times->idle;
  if (add_up && times->starting >= 0 && times->busy >= 0 && times->idle >= 0) return HR_OK;
  return hr__broken(engine, "service '%.60s': the GPU times of its replicas do not add up", service->spec->name);
}

/* The GPU time of all replicas, and of their jobs. */
static enum hr_status check_times(const struct hr__engine *engine) {
  const struct hr_fleet *fleet = hr__fleet_of(engine);
  hr_amount held = 0, of_jobs = 0;
  for (uint32_t i = 0; i < hr__fleet_count(fleet); i++) {
    const struct hr__fleet_service *service = &fleet->of[i];
    const struct hr_replica_times *times = &service->result.gpu_time;
    if (!hr__fleet_is_here(fleet, engine, i)) continue;
    const enum hr_status status = check_parts(engine, service);
    if (status != HR_OK) return status;
    held += times->held;
    for (uint32_t k = 0; k < service->n_places; k++)
      if (hr__place_runs(&service->places[k]))
        held += (hr_amount)service->places[k].gpu_milli * (engine->view.now_us - service->places[k].held_us);
  }
  for (uint32_t i = 0; i < fleet->n_used; i++) {
    const uint32_t job = fleet->n_input + i;
    if (!hr__fleet_is_here(fleet, engine, fleet->rows[i].service)) continue;
    const struct hr_job_accounting account = hr_view_accounting(&engine->view, (hr_job){job});
    const struct hr_gpu_times *times = &account.milli_us;
    of_jobs += times->kept + times->lost + times->saving + times->restarting + times->hanging + times->data;
    const struct hr__engine_attempt *attempt = hr__attempt(engine, (hr_job){job});
    if (engine->state[job] == HR_JOB_RUNNING)
      of_jobs += (hr_amount)attempt->gpu_milli * (engine->view.now_us - attempt->phase_us + attempt->unkept_us);
  }
  return held == of_jobs ? HR_OK : hr__broken(engine, "the GPU times of replicas and of their jobs differ");
}

enum hr_status hr__fleet_check_settled(const struct hr__engine *engine) {
  const struct hr_fleet *fleet = hr__fleet_of(engine);
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < hr__fleet_count(fleet) && status == HR_OK; i++) status = check_parts(engine, &fleet->of[i]);
  return status;
}

enum hr_status hr__fleet_check(const struct hr__engine *engine, const struct hr__running *running) {
  const struct hr_fleet *fleet = hr__fleet_of(engine);
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < hr__fleet_count(fleet) && status == HR_OK; i++) {
    const struct hr__fleet_service *service = &fleet->of[i];
    if (!hr__fleet_is_here(fleet, engine, i)) continue;
    uint64_t sum = service->run.waiting.count;
    for (uint32_t k = 0; k < service->n_places && status == HR_OK; k++) {
      sum += service->run.outstanding[k];
      status = check_place(engine, service, k);
    }
    const struct hr__service_run *run = &service->run;
    const uint64_t gone = run->n_completed + run->n_refused + run->n_timed_out + run->n_spilled;
    if (status == HR_OK && (sum != run->n_outstanding || (run->spec && run->next != gone + sum)))
      status = hr__broken(engine, "service '%.60s': requests are lost", service->spec->name);
  }
  return status == HR_OK && running->every_job ? check_times(engine) : status;
}
