/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The state of a service, for its owner and for its accounts: its creation and end, with the memory of its replicas and
 * of its result; how long requests waited for cold starts, when replicas were idle, which replicas are ready, and when
 * the next event is. Names of engines, routers and states. Also simulates a service alone, without the job engine
 * (hr_service_run).
 *
 * Layout: a column of a result has one entry for each request, in order of arrival. Columns that only some inference
 * engines need are NULL with the others. Invariant: a replica that is ready and has no iteration has the begin of its
 * idle time.
 */

#include "sim/services/service.h"

#include "base/containers.h"
#include "sim/services/disaggregated.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Names ------------------------------------------------------------------------------------------ */

#define NAME_OF(name, text, ...) [name] = (text),
static const char *const engine_names[] = {HR_SERVICE_ENGINE_TABLE(NAME_OF)};
static const char *const router_names[] = {HR_SERVICE_ROUTER_TABLE(NAME_OF)};
#undef NAME_OF
#define NAME_OF(name, text) [name] = (text),
static const char *const state_names[] = {HR_REQUEST_STATE_TABLE(NAME_OF)};
#undef NAME_OF

const char *hr_service_engine_name(enum hr_service_engine engine) {
  return engine_names[engine];
}

const char *hr_service_router_name(enum hr_service_router router) {
  return router_names[router];
}

const char *hr_request_state_name(enum hr_request_state state) {
  return state_names[state];
}

/* ---- Cold starts ------------------------------------------------------------------------------------ */

/* The time so far in which no replica was ready and one was starting. Replicas change at whole microseconds. */
static int64_t cold_clock_us(const struct hr__service_run *service) {
  const int64_t open_ticks = service->is_cold ? service->now_ticks - service->cold_from_ticks : 0;
  return (service->cold_ticks + open_ticks) >> HR__TICK_BITS;
}

void hr__service_note_cold(struct hr__service_run *service, int64_t at_ticks) {
  if (at_ticks < service->cold_from_ticks) at_ticks = service->cold_from_ticks;
  if (service->is_cold) service->cold_ticks += at_ticks - service->cold_from_ticks;
  service->cold_from_ticks = at_ticks;
  service->is_cold = service->n_ready == 0 && service->n_starting > 0;
}

void hr__service_set_starting(struct hr__service_run *service, uint32_t count, int64_t at_us) {
  service->n_starting = count;
  hr__service_note_cold(service, HR__TICKS(at_us - service->origin_us));
}

void hr__service_count_cold(struct hr__service_run *service, uint32_t id, int sign) {
  if (service->result->scheduled_us[id] == HR_NEVER_US) service->result->cold_us[id] += sign * cold_clock_us(service);
}

/* ---- Idle replicas ---------------------------------------------------------------------------------- */

void hr__service_end_idle(struct hr__service_run *service, uint32_t number) {
  struct hr__replica *replica = &service->replicas[number];
  struct hr_service_result *result = service->result;
  const int64_t from_ticks = replica->idle_from_ticks;
  replica->idle_from_ticks = HR_NEVER_US;
  if (from_ticks == HR_NEVER_US || service->now_ticks - from_ticks < HR__TICKS(HR_MIN_IDLE_US)) return;
  if (!HR__ARRAY_HAS_ROOM(result->idle, result->n_idle, result->idle_capacity)) {
    service->no_memory = true;
    return;
  }
  result->idle[result->n_idle++] = (struct hr_idle_period){.from_us = service->origin_us + hr__rounded_us(from_ticks),
                                                           .to_us = hr__service_now_us(service),
                                                           .replica = number};
}

void hr__service_set_ready(struct hr__service_run *service, uint32_t number, bool is_ready) {
  struct hr__replica *replica = &service->replicas[number];
  if (!is_ready) hr__service_end_idle(service, number);
  if (is_ready && !replica->is_ready) replica->idle_from_ticks = service->now_ticks;
  if (is_ready != replica->is_ready) {
    service->ready_ticks = hr__service_ready_ticks(service);
    service->ready_from_ticks = service->now_ticks;
    if (is_ready)
      service->n_marked++;
    else
      service->n_marked--;
  }
  replica->is_ready = is_ready;
}

hr_amount hr__service_ready_ticks(const struct hr__service_run *service) {
  return service->ready_ticks + (hr_amount)service->n_marked * (service->now_ticks - service->ready_from_ticks);
}

/* ---- Replicas and events ---------------------------------------------------------------------------- */

bool hr__service_is_idle(const struct hr__service_run *service, uint32_t number) {
  return service->phases ? hr__phases_is_idle(service->phases, number) : service->outstanding[number] == 0;
}

bool hr__service_has_other(const struct hr__service_run *service, uint32_t number) {
  if (hr__service_is_head(service, number)) return service->n_ready > 1;
  return hr__phases_ready(service->phases, false) > 1;
}

uint32_t hr__service_ready(const struct hr__service_run *service) {
  return service->n_ready + (service->phases ? hr__phases_ready(service->phases, false) : 0);
}

uint32_t hr__service_unplaced(const struct hr__service_run *service) {
  return service->waiting.count + (service->phases ? hr__phases_held(service->phases) : 0);
}

bool hr__service_runs(const struct hr__service_run *service) {
  if (service->phases) return hr__phases_next_ms(service->phases) < (double)INFINITY;
  return hr__tournament_least(&service->ends) != HR_NEVER_US;
}

/* The next event of replicas with phases, rounded up. */
static int64_t phase_us(const struct hr__service_run *service) {
  const double us = ceil(hr__phases_next_ms(service->phases) * 1000);
  return us < (double)INFINITY ? (int64_t)us : HR_NEVER_US;
}

int64_t hr__service_wake_us(const struct hr__service_run *service, uint32_t number) {
  if (service->phases) return hr__service_is_idle(service, number) ? HR_NEVER_US : phase_us(service);
  const int64_t end_ticks = service->replicas[number].end_ticks;
  if (end_ticks == HR_NEVER_US) return HR_NEVER_US;
  return service->origin_us + ((end_ticks + (INT64_C(1) << HR__TICK_BITS) - 1) >> HR__TICK_BITS);
}

int64_t hr__service_first_us(const struct hr__service_run *service) {
  if (service->n_replicas == 0) return HR_NEVER_US;
  return service->phases ? phase_us(service) : hr__service_wake_us(service, hr__service_first(service));
}

int64_t hr__service_next_us(struct hr__service_run *service) {
  if (hr__service_expects(service)) return hr__service_last_us(service);
  const int64_t end_us = hr__service_first_us(service), timeout_us = hr__service_timeout_us(service);
  return timeout_us < end_us ? timeout_us : end_us;
}

/* ---- Creation and end --------------------------------------------------------------------------------- */

/* The initial capacity for sequences. */
enum { FIRST_SEQUENCES = 8 };
/* Half a microsecond. */
enum { HALF_TICKS = 1 << (HR__TICK_BITS - 1) };

static bool create_replicas(struct hr__service_run *service) {
  const uint32_t n = service->n_replicas;
  service->replicas = calloc((size_t)n + 1, sizeof *service->replicas);
  service->outstanding = calloc((size_t)n + 1, sizeof *service->outstanding);
  service->tokens = calloc((size_t)n + 1, sizeof *service->tokens);
  service->touched = calloc((size_t)n + 1, sizeof *service->touched);
  service->is_touched = calloc((size_t)n + 1, sizeof *service->is_touched);
  service->ready = calloc((size_t)n + 1, sizeof *service->ready);
  service->sequences = calloc(1, sizeof *service->sequences);
  if (!service->replicas || !service->outstanding || !service->tokens || !hr__tournament_open(&service->ends, n) ||
      !service->touched || !service->is_touched || !service->ready || !service->sequences ||
      !hr__sequences_resize(service->sequences, FIRST_SEQUENCES, 0))
    return false;
  for (uint32_t i = 0; i < n; i++) service->replicas[i].end_ticks = service->replicas[i].idle_from_ticks = HR_NEVER_US;
  bool is_complete = true;
  for (uint32_t i = 0; i < n && is_complete && !hr__has_phases(service->spec); i++) {
    is_complete = hr__replica_open(&service->replicas[i], service->spec, service->sequences, service->result->restarts,
                                   service->steps);
    service->replicas[i].arrival_us = service->requests->arrival_us;
    service->replicas[i].cached = service->requests->cached_tokens;
    service->replicas[i].origin_us = service->origin_us;
    service->replicas[i].preempted_us = service->result->preempted_us;
    service->replicas[i].result = service->result;
  }
  return is_complete;
}

static bool create_result(struct hr_service_result *result, uint32_t count, uint32_t replicas) {
  *result = (struct hr_service_result){.count = count, .n_replicas = replicas};
  const size_t room = (size_t)count + 1;
  result->replica = calloc(room, sizeof *result->replica);
  result->scheduled_us = calloc(room, sizeof *result->scheduled_us);
  result->first_token_us = calloc(room, sizeof *result->first_token_us);
  result->end_us = calloc(room, sizeof *result->end_us);
  result->state = calloc(room, sizeof *result->state);
  result->restarts = calloc(room, sizeof *result->restarts);
  result->preempted_us = calloc(room, sizeof *result->preempted_us);
  result->cold_us = calloc(room, sizeof *result->cold_us);
  result->busy_us = calloc((size_t)replicas + 1, sizeof *result->busy_us);
  return result->replica && result->scheduled_us && result->first_token_us && result->end_us && result->state &&
         result->restarts && result->preempted_us && result->cold_us && result->busy_us;
}

/* Creates the replicas of engines that treat prompts and decodes as separate phases (`disaggregated`, `colocated`), and
   the columns that only these engines need. Does nothing for other engines. */
static bool create_phases(struct hr__service_run *service, uint32_t count) {
  struct hr_service_result *result = service->result;
  const size_t room = (size_t)count + 1;
  if (!hr__has_phases(service->spec)) return true;
  result->transfer_us = calloc(room, sizeof *result->transfer_us);
  result->decode_replica = malloc(room * sizeof *result->decode_replica);
  result->rest_ps = calloc(room, sizeof *result->rest_ps);
  if (!result->decode_replica || !result->rest_ps || !result->transfer_us) return false;
  for (size_t id = 0; id < room; id++) result->decode_replica[id] = HR_NONE;
  for (uint32_t i = 0; i < service->n_replicas; i++) service->replicas[i].result = result;
  return hr__service_open_phases(service, service->n_heads, count);
}

static enum hr_status out_of_memory(const struct hr__service_run *service, struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "service '%.100s': out of memory", service->spec->name);
}

enum hr_status hr__service_open(struct hr__service_run *service, const struct hr__service_config *config,
                                struct hr_service_result *result, struct hr_error *error) {
  *service = (struct hr__service_run){.spec = config->spec,
                                      .requests = config->requests,
                                      .result = result,
                                      .n_replicas = config->n_replicas,
                                      .n_heads = config->n_replicas - config->n_decoders,
                                      .origin_us = config->origin_us,
                                      .steps = config->steps};
  hr__stream_init(&service->stream, config->seed, HR__PURPOSE_ROUTER, 0, 0);
  const uint32_t count = config->n_feeds ? config->most : config->requests->count;
  const bool is_complete = create_result(result, count, config->n_replicas) && hr__admission_open(service, config) &&
                           create_replicas(service) && create_phases(service, count) && hr__router_open(service);
  if (config->n_feeds) result->count = 0;
  return is_complete ? HR_OK : out_of_memory(service, error);
}

/* Whether the replicas of an engine have a memory for sequences with a fixed capacity. */
static bool has_memory(const struct hr_service *spec) {
  return spec->engine <= HR_SERVICE_ORCA_SPLITWISE || spec->engine == HR_SERVICE_STATIC;
}

enum hr_status hr__service_close(struct hr__service_run *service, struct hr_error *error) {
  bool is_complete = !service->no_memory;
  hr__admission_end(service);
  service->result->met_cold_start = service->n_held;
  service->result->lost_tokens = service->lost_tokens;
  hr__phases_close(service->phases);
  for (uint32_t i = 0; service->replicas && i < service->n_replicas; i++) {
    struct hr__replica *replica = &service->replicas[i];
    hr__service_end_idle(service, i);
    is_complete = is_complete && !replica->no_memory && !service->no_memory;
    service->result->iterations += replica->iterations;
    service->result->recomputed_tokens += replica->recomputed_tokens;
    service->result->memory_sum += replica->used_sum;
    if (replica->used_peak > service->result->memory_peak) service->result->memory_peak = replica->used_peak;
    if (has_memory(service->spec)) service->result->memory_capacity = replica->capacity;
    if (service->result->busy_us) service->result->busy_us[i] = (replica->busy_ticks + HALF_TICKS) >> HR__TICK_BITS;
    hr__replica_close(replica);
  }
  hr__tournament_close(&service->loads);
  free(service->replicas);
  free(service->outstanding);
  free(service->tokens);
  hr__tournament_close(&service->ends);
  free(service->touched);
  free(service->is_touched);
  free(service->ready);
  if (service->sequences) free(service->sequences->at);
  free(service->sequences);
  free(service->waiting.ids);
  hr__admission_close(service);
  return is_complete ? HR_OK : out_of_memory(service, error);
}

enum hr_status hr_service_run(const struct hr_service *spec, const struct hr_service_requests *requests, uint64_t seed,
                              bool steps, struct hr_service_result *result, struct hr_error *error) {
  const struct hr__service_config config = {.spec = spec,
                                            .requests = requests,
                                            .n_replicas = spec->replicas,
                                            .n_decoders = hr__service_decoders(spec, spec->replicas),
                                            .origin_us = requests->count ? requests->arrival_us[0] : 0,
                                            .seed = seed,
                                            .steps = steps};
  struct hr__service_run service = {.spec = spec};
  enum hr_status status = hr__service_open(&service, &config, result, error);
  for (uint32_t i = 0; i < spec->replicas && status == HR_OK; i++) hr__service_add(&service, i);
  if (status == HR_OK) hr__service_advance(&service, HR_NEVER_US);
  const enum hr_status closed = hr__service_close(&service, error);
  return status == HR_OK ? closed : status;
}

void hr_service_result_finish(struct hr_service_result *result) {
  free(result->replica);
  free(result->scheduled_us);
  free(result->first_token_us);
  free(result->end_us);
  free(result->state);
  free(result->restarts);
  free(result->preempted_us);
  free(result->cold_us);
  free(result->transfer_us);
  free(result->levels);
  free(result->idle);
  free(result->losses);
  free(result->busy_us);
  free(result->decode_replica);
  free(result->rest_ps);
  free(result->decisions);
  *result = (struct hr_service_result){0};
}
