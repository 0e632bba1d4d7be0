/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Routers: which ready replica gets a request. `round-robin` and `random` need no loads; `power-of-two` needs the loads
 * of two replicas. The other routers choose the replica with the least load; of equal loads, the replica with the
 * lowest number.
 *
 * Layout: the loads of ready replicas are a tournament (base/tournament.h).
 *
 * Invariant: between two events, the load of each ready replica in the tournament is that of load_of(). With `steps`
 * there is no tournament; all ready replicas are searched.
 */

#include "sim/services/router.h"

#include "sim/services/service.h"

/* ---- Loads ------------------------------------------------------------------------------------------ */

static bool wants_least(const struct hr_service *spec) {
  return spec->router == HR_SERVICE_LEAST_OUTSTANDING || spec->router == HR_SERVICE_LEAST_WAITING ||
         spec->router == HR_SERVICE_TOKEN_JSQ;
}

static int64_t load_of(const struct hr__service_run *service, uint32_t replica) {
  switch (service->spec->router) {
  case HR_SERVICE_LEAST_WAITING:
    return service->replicas[replica].waiting.count;
  case HR_SERVICE_TOKEN_JSQ:
    return (int64_t)service->tokens[replica];
  default:
    return service->outstanding[replica];
  }
}

bool hr__router_open(struct hr__service_run *service) {
  if (service->steps || service->roles || !wants_least(service->spec)) return true;
  return hr__tournament_open(&service->loads, service->n_replicas);
}

void hr__router_join(struct hr__service_run *service, uint32_t number) {
  uint32_t at = service->n_ready++;
  for (; at > 0 && service->ready[at - 1] > number; at--) service->ready[at] = service->ready[at - 1];
  service->ready[at] = number;
  if (service->loads.n_leaves) hr__tournament_set(&service->loads, number, load_of(service, number));
}

void hr__router_leave(struct hr__service_run *service, uint32_t number) {
  uint32_t at = 0;
  while (at < service->n_ready && service->ready[at] != number) at++;
  if (at == service->n_ready) return;
  for (service->n_ready--; at < service->n_ready; at++) service->ready[at] = service->ready[at + 1];
  if (service->loads.n_leaves) hr__tournament_set(&service->loads, number, HR__NO_KEY);
}

void hr__router_note(struct hr__service_run *service, uint32_t number) {
  struct hr__tournament *loads = &service->loads;
  if (!loads->n_leaves || loads->key[number] == HR__NO_KEY) return;
  hr__tournament_set(loads, number, load_of(service, number));
}

/* ---- Choice ----------------------------------------------------------------------------------------- */

static uint32_t draw(struct hr__service_run *service) {
  return (uint32_t)(hr__stream_uniform(&service->stream) * (double)service->n_ready);
}

static uint32_t power_of_two(struct hr__service_run *service) {
  const uint32_t n = service->n_ready, at = draw(service);
  if (n == 1) return service->ready[at];
  uint32_t other = (uint32_t)(hr__stream_uniform(&service->stream) * (double)(n - 1));
  if (other >= at) other++;
  const uint32_t first = service->ready[at], second = service->ready[other];
  if (service->outstanding[first] != service->outstanding[second])
    return service->outstanding[first] < service->outstanding[second] ? first : second;
  return hr__stream_uniform(&service->stream) < 0.5 ? first : second;
}

/* The first ready replica with the least load. */
static uint32_t least_loaded(const struct hr__service_run *service) {
  const uint32_t *ready = service->ready;
  if (service->loads.n_leaves) return hr__tournament_first(&service->loads);
  uint32_t best = ready[0];
  for (uint32_t i = 1; i < service->n_ready; i++)
    if (load_of(service, ready[i]) < load_of(service, best)) best = ready[i];
  return best;
}

uint32_t hr__route(struct hr__service_run *service) {
  if (service->roles) return hr__route_by_role(service);
  switch (service->spec->router) {
  case HR_SERVICE_ROUND_ROBIN:
    return service->ready[service->n_routed++ % service->n_ready];
  case HR_SERVICE_RANDOM:
    return service->ready[draw(service)];
  case HR_SERVICE_POWER_OF_TWO:
    return power_of_two(service);
  default:
    return least_loaded(service);
  }
}
