/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The state of a running service for its owner and for its accounts: how long requests waited for cold starts, when
 * replicas were idle, which replicas are ready, and when the next event is. Names of engines, routers and states.
 *
 * Invariant: a replica that is ready and has no iteration has the begin of its idle time.
 */

#include "sim/services/service.h"

#include "base/array.h"
#include "sim/services/disaggregated.h"

#include <math.h>

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
