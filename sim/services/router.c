/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Routers: which ready replica gets a request. `round-robin` and `random` need no loads; `power-of-two` needs the loads
 * of two replicas. `first-available` and `weighted` distinguish replicas by their pools, and so does any router of a
 * service with spill-over to a pool or market. The other routers choose the replica with the least load; of equal
 * loads, the replica with the lowest number.
 *
 * `first-available`: replicas are ordered by their pool, then by number. The first one with fewer incomplete requests
 * than `room` is chosen; if no replica has room, the one with the fewest incomplete requests is chosen. `weighted`:
 * stride scheduling. Each request advances the pass of its replica by 1 / weight, and the replica with the least pass
 * is next. A new replica starts with the pass of the last chosen replica. Spill-over: replicas in the pools of
 * `spill.to` get requests only while the predicted wait is above the bound, or if no other replica is ready.
 *
 * Layout: the loads of ready replicas are a tournament (base/tournament.h). With `steps` or roles there is none; the
 * replicas are searched.
 *
 * Invariant: between two events, the load of each ready replica in the tournament is that of load_of().
 *
 * Source of stride scheduling: Waldspurger and Weihl, MIT/LCS/TM-528, 1995. `first-available` is the policy of the same
 * name of Knative's activator.
 */

#include "headroom/cluster.h"
#include "sim/services/service.h"

#include <string.h>

/* ---- Roles ------------------------------------------------------------------------------------------ */

/* The stride of weight 1; weights are at most 2^20 and at least 2^-20. */
#define UNIT_STRIDE (UINT64_C(1) << 40)

static bool is_of(const char *name, const struct hr_pool_spec *pool) {
  return strcmp(name, pool->name) == 0 || (pool->gpu && strcmp(name, pool->gpu) == 0);
}

static uint32_t rank_in(const struct hr_service_routing *routing, const struct hr_pool_spec *pool) {
  uint32_t rank = 0;
  while (rank < routing->n_order && !is_of(routing->order[rank], pool)) rank++;
  return rank;
}

static double weight_in(const struct hr_service_routing *routing, const struct hr_pool_spec *pool) {
  for (uint32_t i = 0; i < routing->n_weights; i++) {
    const struct hr_router_weight *weight = &routing->weights[i];
    if ((weight->pool && strcmp(weight->pool, pool->name) == 0) ||
        (weight->gpu_type && pool->gpu && strcmp(weight->gpu_type, pool->gpu) == 0))
      return weight->weight;
  }
  return 0;
}

void hr__service_place(struct hr__service_run *service, uint32_t number, const struct hr_pool_spec *pool) {
  if (!service->roles || !pool) return;
  const struct hr_service_routing *routing = &service->spec->routing;
  const double weight = routing->n_weights ? weight_in(routing, pool) : 1;
  const char *market = hr_market_name(pool->market.market);
  service->roles[number] = (struct hr__replica_role){
      .rank = rank_in(routing, pool),
      .stride = weight > 0 ? (uint64_t)((double)UNIT_STRIDE / weight) : 0,
      .pass = service->last_pass,
      .is_over = routing->spill.to && routing->spill.service == HR_NONE &&
                 (strcmp(routing->spill.to, pool->name) == 0 || strcmp(routing->spill.to, market) == 0)};
}

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

/* The requests that a replica of the engine can serve at once. */
static uint32_t room_of(const struct hr_service *spec) {
  const bool is_single = spec->engine == HR_SERVICE_SINGLE && !spec->single.shares;
  if (spec->routing.room) return spec->routing.room;
  return is_single ? spec->single.servers : spec->limits.max_sequences;
}

/* Lists the ready replicas inside or outside of the pools of spill-over; if this list is empty, all ready replicas.
   Returns their number. */
static uint32_t list_candidates(struct hr__service_run *service) {
  const struct hr_service_spill *spill = &service->spec->routing.spill;
  const bool has_sides = spill->to && spill->service == HR_NONE;
  const bool is_over = has_sides && hr__service_predicted_us(service) > spill->predicted_wait_us;
  uint32_t count = 0;
  for (uint32_t i = 0; i < service->n_ready; i++)
    if (service->roles[service->ready[i]].is_over == is_over) service->candidates[count++] = service->ready[i];
  if (count) return count;
  memcpy(service->candidates, service->ready, service->n_ready * sizeof *service->ready);
  return service->n_ready;
}

/* Whether `first-available` prefers replica a, which has the higher number. */
static bool is_more_available(const struct hr__service_run *service, uint32_t a, uint32_t b, uint32_t room) {
  const uint32_t load_a = service->outstanding[a], load_b = service->outstanding[b];
  const bool a_has = load_a < room, b_has = load_b < room;
  if (a_has != b_has) return a_has;
  if (!a_has && load_a != load_b) return load_a < load_b;
  return service->roles[a].rank < service->roles[b].rank;
}

static uint32_t first_available(const struct hr__service_run *service, const uint32_t *candidates, uint32_t count) {
  const uint32_t room = room_of(service->spec);
  uint32_t best = candidates[0];
  for (uint32_t i = 1; i < count; i++)
    if (is_more_available(service, candidates[i], best, room)) best = candidates[i];
  return best;
}

static uint32_t weighted(struct hr__service_run *service, const uint32_t *candidates, uint32_t count) {
  uint32_t best = candidates[0];
  for (uint32_t i = 1; i < count; i++) {
    const struct hr__replica_role *at = &service->roles[candidates[i]], *least = &service->roles[best];
    const bool has_weight = at->stride > 0, least_has = least->stride > 0;
    if (has_weight != least_has ? has_weight : at->pass + at->stride < least->pass + least->stride)
      best = candidates[i];
  }
  struct hr__replica_role *role = &service->roles[best];
  service->last_pass = role->pass;
  role->pass += role->stride ? role->stride : UNIT_STRIDE;
  return best;
}

static uint32_t draw(struct hr__service_run *service, uint32_t count) {
  return (uint32_t)(hr__stream_uniform(&service->stream) * (double)count);
}

static uint32_t power_of_two(struct hr__service_run *service, const uint32_t *candidates, uint32_t count) {
  const uint32_t at = draw(service, count);
  if (count == 1) return candidates[at];
  uint32_t other = draw(service, count - 1);
  if (other >= at) other++;
  const uint32_t first = candidates[at], second = candidates[other];
  if (service->outstanding[first] != service->outstanding[second])
    return service->outstanding[first] < service->outstanding[second] ? first : second;
  return hr__stream_uniform(&service->stream) < 0.5 ? first : second;
}

/* The first candidate with the least load. */
static uint32_t least_loaded(const struct hr__service_run *service, const uint32_t *candidates, uint32_t count) {
  if (service->loads.n_leaves) return hr__tournament_first(&service->loads);
  uint32_t best = candidates[0];
  for (uint32_t i = 1; i < count; i++)
    if (load_of(service, candidates[i]) < load_of(service, best)) best = candidates[i];
  return best;
}

static uint32_t choose(struct hr__service_run *service, const uint32_t *candidates, uint32_t count) {
  switch (service->spec->router) {
  case HR_SERVICE_FIRST_AVAILABLE:
    return first_available(service, candidates, count);
  case HR_SERVICE_WEIGHTED:
    return weighted(service, candidates, count);
  case HR_SERVICE_ROUND_ROBIN:
    return candidates[service->n_routed++ % count];
  case HR_SERVICE_RANDOM:
    return candidates[draw(service, count)];
  case HR_SERVICE_POWER_OF_TWO:
    return power_of_two(service, candidates, count);
  default:
    return least_loaded(service, candidates, count);
  }
}

uint32_t hr__route(struct hr__service_run *service) {
  if (!service->roles) return choose(service, service->ready, service->n_ready);
  const uint32_t count = list_candidates(service);
  if (count == 0) return service->ready[0]; /* impossible: some replica is ready */
  const uint32_t number = choose(service, service->candidates, count);
  service->result->overflowed += service->roles[number].is_over;
  return number;
}
