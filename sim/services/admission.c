/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Admission to the queue of a service, and requests that spill over to another service.
 *
 * A request waits until its first iteration begins. The predicted wait of a new request is, by Little's law, (number of
 * requests that wait) x (mean time from first iteration to end) / (number of requests in service), because requests
 * begin at the same rate at which others end. It is at least the time for which the oldest request has waited. If no
 * replica is ready, the cold start is added.
 *
 * Layout: a service has a list of the requests that it has sent to another service. The service that gets them reads
 * this list (struct hr__feed). A reader advances its feeds to an instant before it advances itself. Services that can
 * spill over in a circle are advanced together, event by event; if times are equal, the service with the lowest index
 * is first. A service copies its own requests and those of its feeds to one list in the order of arrival: at one
 * instant, its own requests first, then those of feeds by the index of the service. So the ids of its requests increase
 * with time, as in a service without feeds. A request never returns to a service that it has left: it stays at the last
 * service that it can reach.
 *
 * Invariant: requests that arrived = completed + refused + timed out + spilled + outstanding.
 */

#include "sim/services/service.h"

#include <stdlib.h>

/* ---- Waiting requests ------------------------------------------------------------------------------- */

static int64_t now_us(const struct hr__service_run *service) {
  return service->origin_us + (service->now_ticks >> HR__TICK_BITS);
}

/* The first request that waits for its first iteration; HR_NONE: none. */
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

int64_t hr__service_predicted_us(struct hr__service_run *service) {
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
                       hr__service_predicted_us(service) > service->spec->routing.spill.predicted_wait_us);
  if (!is_full && !spills) return true;
  struct hr_service_result *result = service->result;
  result->state[id] = spills ? HR_REQUEST_SPILLED : HR_REQUEST_REFUSED;
  result->scheduled_us[id] = result->first_token_us[id] = result->end_us[id] = service->requests->arrival_us[id];
  if (spills) service->spilled[service->n_spilled++] = id;
  if (!spills) service->n_refused++;
  return false;
}

/* ---- Requests from other services ------------------------------------------------------------------- */

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

/* Copies a request to the end of the list. */
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

/* The next request that is known to arrive, except those that other services may still send. */
static int64_t pending_us(const struct hr__service_run *service) {
  if (service->n_feeds) return hr__feeds_next_us(service);
  return service->next < service->requests->count ? service->requests->arrival_us[service->next] : HR_NEVER_US;
}

bool hr__service_expects(const struct hr__service_run *service) {
  return hr__service_arrival_us(service) != HR_NEVER_US;
}

int64_t hr__service_arrival_us(const struct hr__service_run *service) {
  int64_t next_us = pending_us(service);
  for (uint32_t i = 0; i < service->links.n_upstream; i++) {
    const int64_t other_us = pending_us(service->links.upstream[i]);
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

/* ---- Begin and end ---------------------------------------------------------------------------------- */

static bool open_feeds(struct hr__service_run *service, const struct hr__service_config *config) {
  struct hr_service_requests *received = config->received;
  const size_t room = (size_t)config->most + 1;
  service->requests = service->received = received;
  received->arrival_us = calloc(room, sizeof *received->arrival_us);
  received->prompt_tokens = calloc(room, sizeof *received->prompt_tokens);
  received->output_tokens = calloc(room, sizeof *received->output_tokens);
  received->cached_tokens = calloc(room, sizeof *received->cached_tokens);
  service->hops = calloc(room, sizeof *service->hops);
  if (!received->arrival_us || !received->prompt_tokens || !received->output_tokens || !received->cached_tokens ||
      !service->hops)
    return false;
  service->feeds = config->feeds;
  service->n_feeds = config->n_feeds;
  return true;
}

bool hr__admission_open(struct hr__service_run *service, const struct hr__service_config *config) {
  const struct hr_service *spec = config->spec;
  const struct hr_service_routing *routing = &spec->routing;
  const size_t most = (size_t)(config->n_feeds ? config->most : config->requests->count) + 1;
  service->own = config->requests;
  service->links = config->links;
  if (config->n_feeds && !open_feeds(service, config)) return false;
  if (routing->spill.to && routing->spill.service != HR_NONE) {
    service->spilled = calloc(most, sizeof *service->spilled);
    if (!service->spilled) return false;
  }
  const bool needs_roles = spec->router == HR_SERVICE_FIRST_AVAILABLE || spec->router == HR_SERVICE_WEIGHTED ||
                           (routing->spill.to && routing->spill.service == HR_NONE);
  if (!needs_roles) return true;
  service->roles = calloc((size_t)config->n_replicas + 1, sizeof *service->roles);
  service->candidates = calloc((size_t)config->n_replicas + 1, sizeof *service->candidates);
  for (uint32_t i = 0; service->roles && i < config->n_replicas; i++) service->roles[i].stride = 1;
  return service->roles && service->candidates;
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
