/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Admission to the queue of a service, requests that spill over to another service, and routers, which choose the ready
 * replica for a request.
 *
 * `round-robin` and `random` need no loads; `power-of-two` needs the loads of two replicas. `first-available` and
 * `weighted` distinguish replicas by their pools, and so does any router of a service with spill-over to a pool or
 * market. The other routers choose the replica with the least load; of equal loads, the replica with the lowest
 * number.
 *
 * `first-available`: replicas are ordered by their pool, then by number. The first replica with fewer incomplete
 * requests than `room` is chosen. If no replica has room, the replica with the fewest incomplete requests is chosen.
 *
 * `weighted`: stride scheduling. Each request of a replica increases a number, the pass of the replica, by 1 / weight.
 * A request goes to the replica that has the lowest pass after this increase. A new replica starts with the pass that
 * the last chosen replica had before it was chosen. Replicas with weight 0 get requests only if no others are ready.
 *
 * Spill-over to a pool or market: while the predicted wait is above the bound, only replicas in the pools of `spill.to`
 * get requests; otherwise only the other replicas. If no such replica is ready, all ready replicas can get requests.
 *
 * Layout: the loads of ready replicas are a tournament (base/tournament.h). With `steps` or roles (struct
 * hr__replica_role), no tournament exists, and the ready replicas are searched.
 *
 * Invariant: between two events, the key of each ready replica in the tournament is the result of load_of().
 *
 * Source of stride scheduling: Waldspurger and Weihl, MIT/LCS/TM-528, 1995. `first-available` is the policy of the
 * same name of Knative's activator.
 */

#include "base/containers.h"
#include "headroom/cluster.h"
#include "sim/services/service.h"

#include <stdlib.h>
#include <string.h>

/* ---- Admission -------------------------------------------------------------------------------------- */

/*
 * A request waits until its first iteration begins. The predicted wait of a new request follows from Little's law,
 * because requests begin at the same rate at which others end: (number of waiting requests) * (mean time from first
 * iteration to end) / (number of requests in service). The predicted wait is at least the time for which the oldest
 * request has waited. If no replica is ready, the cold start is added.
 *
 * Layout: a service has a list of the requests that it has sent to another service. The service that gets these
 * requests reads this list (struct hr__feed). Before the reading service is advanced to an instant, its feeds are
 * advanced to this instant. Services that can spill over in a circle are advanced together, event by event; if times
 * are equal, the service with the lowest index is first. A service copies its own requests and those of its feeds to
 * one list in the order of arrival: at one instant, its own requests first, then those of feeds by the index of the
 * service. So the ids of its requests increase with time, as in a service without feeds. A request never returns to a
 * service that it has left. If it cannot go to a further service, it stays where it is.
 *
 * Invariant: requests that arrived = completed + refused + timed out + spilled + outstanding.
 */

/* ---- Admission: waiting requests -------------------------------------------------------------------- */

static int64_t now_us(const struct hr__service_run *service) {
  return service->origin_us + (service->now_ticks >> HR__TICK_BITS);
}

/* Returns the oldest request that waits for its first iteration; HR_NONE: none. */
static uint32_t oldest(struct hr__service_run *service) {
  const struct hr_service_result *result = service->result;
  if (!service->n_waiting) return HR_NONE;
  while (result->state[service->oldest] != HR_REQUEST_UNFINISHED ||
         result->scheduled_us[service->oldest] != HR_NEVER_US)
    service->oldest++;
  return service->oldest;
}

int64_t hr__service_timeout_us(struct hr__service_run *service) {
  const int64_t timeout_us = service->spec->queue.timeout_us;
  if (!timeout_us || !service->n_waiting) return HR_NEVER_US;
  return service->requests->arrival_us[oldest(service)] + timeout_us;
}

static int64_t cold_start_us(const struct hr_service *spec) {
  const struct hr_cold_start *cold = &spec->cold_start;
  return cold->node_us + cold->image_us + cold->container_us + cold->weights_us + cold->engine_us;
}

/* Returns the predicted wait of a request that arrives now, until its first iteration. */
static int64_t service_predicted_us(struct hr__service_run *service) {
  int64_t wait_us = 0;
  if (service->n_waiting) {
    const uint32_t in_service = service->n_outstanding - service->n_waiting;
    const int64_t age_us = now_us(service) - service->requests->arrival_us[oldest(service)];
    wait_us = (int64_t)((hr_amount)service->n_waiting * service->mean_us / (in_service ? in_service : 1));
    if (wait_us < age_us) wait_us = age_us;
  }
  return service->n_ready ? wait_us : wait_us + cold_start_us(service->spec);
}

bool hr__service_admits(struct hr__service_run *service, uint32_t id) {
  const struct hr_service_queue *queue = &service->spec->queue;
  const bool is_full = queue->limit && service->n_waiting >= queue->limit;
  const uint32_t n_hops = service->hops ? service->hops[id] : service->links.n_hops;
  const bool spills = service->spilled && n_hops > 0 &&
                      ((is_full && queue->when_full == HR_QUEUE_SPILL) ||
                       service_predicted_us(service) > service->spec->routing.spill.predicted_wait_us);
  if (!is_full && !spills) return true;
  struct hr_service_result *result = service->result;
  result->state[id] = spills ? HR_REQUEST_SPILLED : HR_REQUEST_REFUSED;
  result->scheduled_us[id] = result->first_token_us[id] = result->end_us[id] = service->requests->arrival_us[id];
  if (spills) service->spilled[service->n_spilled++] = id;
  if (!spills) service->n_refused++;
  return false;
}

/* ---- Admission: requests from other services -------------------------------------------------------- */

static int64_t own_us(const struct hr__service_run *service) {
  return service->own_next < service->own->count ? service->own->arrival_us[service->own_next] : HR_NEVER_US;
}

static int64_t feed_us(const struct hr__feed *feed) {
  const struct hr__service_run *from = feed->from;
  return feed->n_taken < from->n_spilled ? from->requests->arrival_us[from->spilled[feed->n_taken]] : HR_NEVER_US;
}

int64_t hr__feeds_next_us(const struct hr__service_run *service) {
  int64_t next_us = own_us(service);
  for (uint32_t i = 0; i < service->n_feeds; i++)
    if (feed_us(&service->feeds[i]) < next_us) next_us = feed_us(&service->feeds[i]);
  return next_us;
}

/* Copies a request to the end of the list of received requests. Returns its id in this list. */
static uint32_t receive(struct hr__service_run *service, const struct hr_service_requests *from, uint32_t id,
                        uint32_t n_hops) {
  struct hr_service_requests *to = service->received;
  const uint32_t at = to->count++;
  to->arrival_us[at] = from->arrival_us[id];
  to->prompt_tokens[at] = from->prompt_tokens[id];
  to->output_tokens[at] = from->output_tokens[id];
  to->cached_tokens[at] = from->cached_tokens ? from->cached_tokens[id] : 0;
  service->hops[at] = (uint16_t)n_hops;
  service->result->count = service->next = to->count;
  return at;
}

uint32_t hr__feeds_take(struct hr__service_run *service) {
  const int64_t at_us = hr__feeds_next_us(service);
  if (own_us(service) == at_us) return receive(service, service->own, service->own_next++, service->links.n_hops);
  struct hr__feed *feed = service->feeds;
  while (feed_us(feed) != at_us) feed++;
  service->result->received++;
  const struct hr__service_run *giver = feed->from;
  const uint32_t id = giver->spilled[feed->n_taken++];
  return receive(service, giver->requests, id, (giver->hops ? giver->hops[id] : giver->links.n_hops) - 1);
}

bool hr__service_expects(const struct hr__service_run *service) {
  return hr__service_arrival_us(service) != HR_NEVER_US;
}

int64_t hr__service_arrival_us(const struct hr__service_run *service) {
  int64_t next_us = hr__service_known_us(service);
  for (uint32_t i = 0; i < service->links.n_upstream; i++) {
    const int64_t other_us = hr__service_known_us(service->links.upstream[i]);
    if (other_us < next_us) next_us = other_us;
  }
  return next_us;
}

static int64_t last_own_us(const struct hr__service_run *service) {
  const struct hr_service_requests *own = service->own;
  return own->count ? own->arrival_us[own->count - 1] : service->origin_us;
}

int64_t hr__service_last_us(const struct hr__service_run *service) {
  int64_t last_us = last_own_us(service);
  for (uint32_t i = 0; i < service->links.n_upstream; i++) {
    const int64_t other_us = last_own_us(service->links.upstream[i]);
    if (other_us > last_us) last_us = other_us;
  }
  return last_us;
}

/* ---- Admission: start and end ----------------------------------------------------------------------- */

static bool open_feeds(struct hr__service_run *service, const struct hr__service_config *config) {
  struct hr_service_requests *received = config->received;
  service->requests = service->received = received;
  if (!HR__ARRAY_MAKE(received->arrival_us, config->most) || !HR__ARRAY_MAKE(received->prompt_tokens, config->most) ||
      !HR__ARRAY_MAKE(received->output_tokens, config->most) ||
      !HR__ARRAY_MAKE(received->cached_tokens, config->most) || !HR__ARRAY_MAKE(service->hops, config->most))
    return false;
  service->feeds = config->feeds;
  service->n_feeds = config->n_feeds;
  return true;
}

bool hr__admission_open(struct hr__service_run *service, const struct hr__service_config *config) {
  const struct hr_service *spec = config->spec;
  const struct hr_service_routing *routing = &spec->routing;
  const uint32_t most = config->n_feeds ? config->most : config->requests->count;
  service->own = config->requests;
  service->links = config->links;
  if (config->n_feeds && !open_feeds(service, config)) return false;
  if (routing->spill.to && routing->spill.service != HR_NONE) {
    if (!HR__ARRAY_MAKE(service->spilled, most)) return false;
  }
  const bool needs_roles = spec->router == HR_SERVICE_FIRST_AVAILABLE || spec->router == HR_SERVICE_WEIGHTED ||
                           (routing->spill.to && routing->spill.service == HR_NONE);
  if (!needs_roles) return true;
  if (!HR__ARRAY_MAKE(service->roles, config->n_replicas) || !HR__ARRAY_MAKE(service->candidates, config->n_replicas))
    return false;
  for (uint32_t i = 0; i < config->n_replicas; i++) service->roles[i].stride = 1;
  return true;
}

void hr__admission_end(struct hr__service_run *service) {
  struct hr_service_result *result = service->result;
  if (!result->replica || !result->state || !result->scheduled_us || !result->first_token_us || !result->end_us) return;
  const uint32_t arrived = service->next;
  while (service->n_feeds && service->own_next < service->own->count)
    receive(service, service->own, service->own_next++, service->links.n_hops);
  for (uint32_t id = arrived; id < result->count; id++) {
    result->replica[id] = HR_NONE;
    result->state[id] = HR_REQUEST_UNFINISHED;
    result->scheduled_us[id] = result->first_token_us[id] = result->end_us[id] = HR_NEVER_US;
  }
}

void hr__admission_close(struct hr__service_run *service) {
  free(service->spilled);
  free(service->hops);
  free(service->roles);
  free(service->candidates);
}

/* ---- Routers: roles --------------------------------------------------------------------------------- */

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

/* ---- Routers: loads --------------------------------------------------------------------------------- */

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

/* ---- Routers: choice -------------------------------------------------------------------------------- */

/* Returns the limit for `first-available`: a replica has room if its number of incomplete requests is below this
   limit. */
static uint32_t room_of(const struct hr_service *spec) {
  const bool is_single = spec->engine == HR_SERVICE_SINGLE && !spec->single.shares;
  if (spec->routing.room) return spec->routing.room;
  return is_single ? spec->single.servers : spec->limits.max_sequences;
}

/* Lists the ready replicas in the pools of spill-over if the predicted wait is above the bound, otherwise the other
   ready replicas. If this list is empty, lists all ready replicas. Returns the length of the list. */
static uint32_t list_candidates(struct hr__service_run *service) {
  const struct hr_service_spill *spill = &service->spec->routing.spill;
  const bool has_sides = spill->to && spill->service == HR_NONE;
  const bool is_over = has_sides && service_predicted_us(service) > spill->predicted_wait_us;
  uint32_t count = 0;
  for (uint32_t i = 0; i < service->n_ready; i++)
    if (service->roles[service->ready[i]].is_over == is_over) service->candidates[count++] = service->ready[i];
  if (count) return count;
  memcpy(service->candidates, service->ready, service->n_ready * sizeof *service->ready);
  return service->n_ready;
}

/* Returns whether `first-available` prefers replica `a` to replica `b`, which has a lower number. */
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

/* Returns the first candidate with the least load. */
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
