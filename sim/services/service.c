/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Simulates an inference service: requests arrive, the router assigns each request to a ready replica, and replicas run
 * iterations. The owner of the service advances it to an instant, and then adds, drains or kills replicas.
 *
 * Layout: a tournament tree has the ends of the iterations of all replicas; if ends are equal, the replica with the
 * lowest number is first. Order at one instant: changes of replicas, arrivals, then ends of iterations. With
 * `orca-splitwise`, ends precede arrivals, as in splitwise-sim. A replica without work starts an iteration as soon as a
 * request arrives, with all requests of that instant. Several iterations of an unchanged batch are one event, which
 * ends earlier if a request arrives that can join the batch. If no replica is ready, requests wait at the router.
 *
 * Invariant: `n_outstanding` is the sum of `outstanding` of all replicas and of the requests at the router.
 *
 * Layout of results: a column has one entry for each request, in order of arrival. Columns that only some inference
 * engines need are NULL with the other engines. hr_service_run simulates a service alone, without the job engine.
 */

#include "sim/services/service.h"

#include "base/containers.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static inline uint32_t service_first(const struct hr__service_run *service) {
  return hr__tournament_first(&service->ends);
}

/* Rounds ticks to microseconds. */
static inline int64_t rounded_us(int64_t ticks) {
  return (ticks + (INT64_C(1) << (HR__TICK_BITS - 1))) >> HR__TICK_BITS;
}

static inline int64_t service_now_us(const struct hr__service_run *service) {
  return service->origin_us + rounded_us(service->now_ticks);
}

/* Returns whether the router may assign requests to a replica. Replicas that only decode get no requests from the
   router. */
static inline bool service_is_head(const struct hr__service_run *service, uint32_t number) {
  return number < service->n_heads;
}

/* Returns whether the queue of a service is limited, or its requests can go to another service. */
static inline bool is_limited(const struct hr_service *spec) {
  return spec->queue.limit || (spec->routing.spill.to && spec->routing.spill.service != HR_NONE);
}

/* ---- State ------------------------------------------------------------------------------------------ */

/*
 * The state of a service, for its owner and for its accounts: how long requests waited for cold starts, when replicas
 * were idle, which replicas are ready, and when the next event is. Invariant: `idle_from_ticks` is set for each ready
 * replica that runs no iteration.
 */

/* ---- State: cold starts ----------------------------------------------------------------------------- */

/* Returns the time so far in which no replica was ready and at least one was starting. Replicas change at whole
   microseconds. */
static int64_t cold_clock_us(const struct hr__service_run *service) {
  const int64_t open_ticks = service->is_cold ? service->now_ticks - service->cold_from_ticks : 0;
  return (service->cold_ticks + open_ticks) >> HR__TICK_BITS;
}

/* Must be called when the number of ready or starting replicas has changed at an instant. */
static void service_note_cold(struct hr__service_run *service, int64_t at_ticks) {
  if (at_ticks < service->cold_from_ticks) at_ticks = service->cold_from_ticks;
  if (service->is_cold) service->cold_ticks += at_ticks - service->cold_from_ticks;
  service->cold_from_ticks = at_ticks;
  service->is_cold = service->n_ready == 0 && service->n_starting > 0;
}

void hr__service_set_starting(struct hr__service_run *service, uint32_t count, int64_t at_us) {
  service->n_starting = count;
  service_note_cold(service, HR__TICKS(at_us - service->origin_us));
}

/* Must be called when the wait of a request at the router begins (`sign` is -1) or ends (`sign` is 1). Waits after its
   first iteration do not count. */
static void service_count_cold(struct hr__service_run *service, uint32_t id, int sign) {
  if (service->result->scheduled_us[id] == HR_NEVER_US) service->result->cold_us[id] += sign * cold_clock_us(service);
}

/* ---- State: idle replicas --------------------------------------------------------------------------- */

static void service_end_idle(struct hr__service_run *service, uint32_t number) {
  struct hr__replica *replica = &service->replicas[number];
  struct hr_service_result *result = service->result;
  const int64_t from_ticks = replica->idle_from_ticks;
  replica->idle_from_ticks = HR_NEVER_US;
  if (from_ticks == HR_NEVER_US || service->now_ticks - from_ticks < HR__TICKS(HR_MIN_IDLE_US)) return;
  if (!HR__ARRAY_HAS_ROOM(result->idle, result->n_idle, result->idle_capacity)) {
    service->no_memory = true;
    return;
  }
  result->idle[result->n_idle++] = (struct hr_idle_period){
      .from_us = service->origin_us + rounded_us(from_ticks), .to_us = service_now_us(service), .replica = number};
}

/* Sets whether a replica is ready, and begins or ends its idle time. */
static void service_set_ready(struct hr__service_run *service, uint32_t number, bool is_ready) {
  struct hr__replica *replica = &service->replicas[number];
  if (!is_ready) service_end_idle(service, number);
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

/* ---- State: replicas and events --------------------------------------------------------------------- */

bool hr__service_has_other(const struct hr__service_run *service, uint32_t number) {
  if (service_is_head(service, number)) return service->n_ready > 1;
  return hr__phases_ready(service->phases, false) > 1;
}

bool hr__service_runs(const struct hr__service_run *service) {
  if (service->phases) return hr__phases_next_ms(service->phases) < (double)INFINITY;
  return hr__tournament_least(&service->ends) != HR_NEVER_US;
}

/* Returns the time of the next event of replicas with phases, rounded up; HR_NEVER_US: none. */
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
  return service->phases ? phase_us(service) : hr__service_wake_us(service, service_first(service));
}

int64_t hr__service_next_us(struct hr__service_run *service) {
  if (hr__service_expects(service)) return hr__service_last_us(service);
  const int64_t end_us = hr__service_first_us(service), timeout_us = hr__service_timeout_us(service);
  return timeout_us < end_us ? timeout_us : end_us;
}

/* ---- Events ----------------------------------------------------------------------------------------- */

static int64_t ticks_of(const struct hr__service_run *service, int64_t us) {
  return HR__TICKS(us - service->origin_us);
}

/* Converts a time of replicas with phases (see service.h) to ticks, rounded down. */
static int64_t phase_ticks(const struct hr__service_run *service, double ms) {
  return (int64_t)floor((ms * 1000 - (double)service->origin_us) * (double)(INT64_C(1) << HR__TICK_BITS));
}

/* Adds the time since the last change to the sum of outstanding requests over time. */
static void count_outstanding(struct hr__service_run *service, int change) {
  service->outstanding_ticks += (hr_amount)service->n_outstanding * (service->now_ticks - service->counted_ticks);
  service->counted_ticks = service->now_ticks;
  service->n_outstanding = (uint32_t)((int64_t)service->n_outstanding + change);
  if (service->n_outstanding == 0) service->idle_ticks = service->now_ticks;
}

static bool ends_first(const struct hr__service_run *service) {
  return service->spec->engine == HR_SERVICE_ORCA_SPLITWISE;
}

/* The arrays for sequences and queues grow by a factor of 2, so they can have room for twice the number of requests in
   them. */
_Static_assert(2 * (sizeof(struct hr__sequence) + sizeof(uint32_t)) <= 64, "a live request takes too much memory");

/* ---- Sequences -------------------------------------------------------------------------------------- */

static struct hr__sequence *sequence_of(const struct hr__service_run *service, uint32_t id) {
  return &service->sequences->at[id & service->sequences->mask];
}

/* Changes the capacity of the ring of sequences to `capacity`, which must be a power of two. The sequences from the
   oldest one to `id` - 1 are copied. Returns false if memory is exhausted. */
static bool sequences_resize(struct hr__sequences *ring, uint32_t capacity, uint32_t id) {
  const uint32_t mask = capacity - 1;
  struct hr__sequence *at = calloc(capacity, sizeof *at);
  if (!at) return false;
  for (uint32_t i = ring->oldest; i < id; i++) at[i & mask] = ring->at[i & ring->mask];
  free(ring->at);
  ring->at = at;
  ring->mask = mask;
  return true;
}

/* Creates the sequence of a request that arrives. Returns false if memory is exhausted. */
static bool make_sequence(struct hr__service_run *service, uint32_t id, uint32_t prompt, uint32_t output) {
  struct hr__sequences *ring = service->sequences;
  if (id - ring->oldest > ring->mask)
    while (ring->oldest < id && service->result->state[ring->oldest] != HR_REQUEST_UNFINISHED) ring->oldest++;
  while (id - ring->oldest > ring->mask)
    if (!sequences_resize(ring, 2 * (ring->mask + 1), id)) {
      service->no_memory = true;
      return false;
    }
  *sequence_of(service, id) = (struct hr__sequence){.prompt = prompt, .total = prompt + output};
  return true;
}

/* Ends a series of iterations of an unchanged batch after the present iteration, because the batch may change: a
   request has arrived at the replica or has left its queue. `after`: see hr__replica_cut(). */
static void cut(struct hr__service_run *service, uint32_t number, bool after) {
  struct hr__replica *replica = &service->replicas[number];
  hr__replica_cut(replica, service->now_ticks, after);
  replica->is_open = false;
  hr__tournament_set(&service->ends, number, replica->end_ticks);
}

/* Marks an idle replica, which begins an iteration at the end of this instant. */
static void touch(struct hr__service_run *service, uint32_t number) {
  if (service->is_touched[number]) return;
  service->is_touched[number] = true;
  service->touched[service->n_touched++] = number;
}

/* Returns the present time for replicas with phases, in milliseconds. */
static double now_ms(const struct hr__service_run *service) {
  return (double)(service->origin_us + (service->now_ticks >> HR__TICK_BITS)) / 1000;
}

/* Assigns a request to a ready replica. At least one replica must be ready. `is_new`: the request arrives after all
   requests in the queues, so it is appended to the queue of the replica. */
static void assign(struct hr__service_run *service, uint32_t id, bool is_new) {
  if (service->phases) {
    service->result->replica[id] =
        hr__phases_arrive(service->phases, id, now_ms(service), service->result->restarts[id] == 0);
    return;
  }
  const uint32_t number = hr__route(service);
  struct hr__replica *replica = &service->replicas[number];
  struct hr__sequence *sequence = sequence_of(service, id);
  service->result->replica[id] = number;
  sequence->unstarted = hr__new_tokens(replica, id);
  replica->no_memory |= !(is_new ? hr__queue_push : hr__queue_insert)(&replica->waiting, id);
  service->outstanding[number]++;
  service->tokens[number] += sequence->unstarted;
  if (replica->end_ticks != HR_NEVER_US) {
    /* the waiting requests still do not fit into the batch, but the new request may fit if it precedes them */
    const bool may_join = replica->is_open || hr__queue_at(&replica->waiting, 0) == id;
    if (replica->n_repeats > 1 && may_join) cut(service, number, ends_first(service));
  } else {
    touch(service, number);
  }
  hr__router_note(service, number);
}

static void arrive(struct hr__service_run *service, uint32_t id) {
  const uint32_t prompt = service->requests->prompt_tokens[id], output = service->requests->output_tokens[id];
  struct hr_service_result *result = service->result;
  result->scheduled_us[id] = result->first_token_us[id] = result->end_us[id] = service->requests->arrival_us[id];
  result->replica[id] = HR_NONE;
  result->state[id] = HR_REQUEST_REFUSED;
  if (hr_service_refusal(service->spec, prompt, output)) {
    service->n_refused++;
    return;
  }
  if (!service->phases && !make_sequence(service, id, prompt, output)) return;
  result->scheduled_us[id] = result->first_token_us[id] = result->end_us[id] = HR_NEVER_US;
  result->state[id] = HR_REQUEST_UNFINISHED;
  service->wants_replica |= service->n_ready == 0;
  service->idle_ticks = service->now_ticks; /* a request that goes to another service counts, too */
  if (is_limited(service->spec) && !hr__service_admits(service, id)) return;
  if (service->n_ready) {
    assign(service, id, true);
  } else {
    service_count_cold(service, id, -1);
    service->no_memory |= !hr__queue_push(&service->waiting, id);
  }
  service->n_waiting++;
  count_outstanding(service, 1);
  service->n_held += service->n_ready == 0;
}

/* Returns a time at which a replica that begins iterations will probably have received another request; HR_NEVER_US: no
   such time is known. If one replica is ready, it gets the next request. If n are ready, it very likely gets one of the
   next 4 * n requests. The time only limits a series of iterations: a series that ends too early is continued, and an
   arrival ends a series that is too long. */
static int64_t horizon_ticks(const struct hr__service_run *service) {
  const uint64_t ahead = service->n_ready > 1 ? (uint64_t)4 * service->n_ready : 0, id = service->next + ahead;
  const struct hr_service_requests *requests = service->requests;
  return id < requests->count ? ticks_of(service, requests->arrival_us[id]) + ends_first(service) : HR_NEVER_US;
}

static void begin(struct hr__service_run *service, uint32_t number) {
  struct hr__replica *replica = &service->replicas[number];
  hr__replica_begin(replica, service->now_ticks, horizon_ticks(service));
  hr__router_note(service, number);
  for (uint32_t i = 0; i < replica->n_admitted; i++) {
    int64_t *scheduled_us = &service->result->scheduled_us[replica->admitted[i]];
    if (*scheduled_us != HR_NEVER_US) continue;
    *scheduled_us = service_now_us(service);
    service->n_waiting--;
  }
  hr__tournament_set(&service->ends, number, replica->end_ticks);
  if (replica->end_ticks != HR_NEVER_US) {
    if (replica->idle_from_ticks != HR_NEVER_US) service_end_idle(service, number);
  } else if (replica->is_ready && replica->idle_from_ticks == HR_NEVER_US) {
    replica->idle_from_ticks = service->now_ticks;
  }
}

/* Starts iterations of idle replicas that got requests at this instant. */
static void begin_touched(struct hr__service_run *service) {
  for (uint32_t i = 0; i < service->n_touched; i++) {
    service->is_touched[service->touched[i]] = false;
    begin(service, service->touched[i]);
  }
  service->n_touched = 0;
}

/* Updates the moving mean of the time that requests take from their first iteration to their end. */
static void learn(struct hr__service_run *service, uint32_t id) {
  enum { WEIGHT = 16 };
  const int64_t us = service->result->end_us[id] - service->result->scheduled_us[id];
  if (service->mean_us == 0) service->mean_us = us;
  service->mean_us += (us - service->mean_us) / WEIGHT;
}

/* Completes a request. Its end must already be in the result. */
static void complete(struct hr__service_run *service, uint32_t id) {
  service->result->state[id] = HR_REQUEST_COMPLETED;
  count_outstanding(service, -1);
  service->n_completed++;
  if (service->spec->routing.spill.to) learn(service, id);
}

static void on_token(void *context, uint32_t id, bool is_first, bool is_last) {
  struct hr__service_run *service = context;
  struct hr_service_result *result = service->result;
  const uint32_t number = result->replica[id];
  /* a prompt that is computed again does not yield another first token */
  if (is_first && result->first_token_us[id] == HR_NEVER_US) {
    result->first_token_us[id] = service_now_us(service);
    result->preempted_us[id] = 0;
  } else if (result->preempted_us[id] < 0) {
    result->preempted_us[id] += rounded_us(service->now_ticks);
  }
  struct hr__sequence *sequence = sequence_of(service, id);
  if (is_first && sequence->unstarted) {
    service->tokens[number] -= sequence->unstarted - 1;
    sequence->unstarted = 0;
  }
  if (!is_last) return;
  result->end_us[id] = service_now_us(service);
  service->outstanding[number]--;
  service->tokens[number]--;
  complete(service, id);
}

static void end(struct hr__service_run *service) {
  const uint32_t number = service_first(service);
  service->now_ticks = service->replicas[number].end_ticks;
  hr__replica_end(&service->replicas[number], on_token, service);
  begin(service, number);
}

/* Handles all requests that arrive at one instant. */
static void arrivals(struct hr__service_run *service, int64_t at_us) {
  service->now_ticks = ticks_of(service, at_us);
  while (hr__service_known_us(service) == at_us)
    arrive(service, service->n_feeds ? hr__feeds_take(service) : service->next++);
  begin_touched(service);
}

/* Removes a request that has waited for too long from its queue. If the request was the first of the queue, others
   after it may now be admitted, so the batch of its replica may change at the end of the present iteration. */
static void drop(struct hr__service_run *service, uint32_t id) {
  const uint32_t number = service->result->replica[id];
  service->result->state[id] = HR_REQUEST_TIMED_OUT;
  service->result->replica[id] = HR_NONE;
  service->result->end_us[id] = service_now_us(service);
  service->n_timed_out++;
  service->n_waiting--;
  count_outstanding(service, -1);
  if (number == HR_NONE) {
    hr__queue_remove(&service->waiting, id);
    return;
  }
  if (service->phases) {
    hr__phases_withdraw(service->phases, id);
    return;
  }
  struct hr__replica *replica = &service->replicas[number];
  const uint32_t position = hr__queue_remove(&replica->waiting, id);
  service->outstanding[number]--;
  service->tokens[number] -= sequence_of(service, id)->unstarted;
  hr__router_note(service, number);
  const bool blocked = position == 0 && replica->waiting.count > 0;
  if (replica->end_ticks == HR_NEVER_US) {
    if (blocked) touch(service, number);
  } else if (replica->wait_ticks ? service->spec->engine == HR_SERVICE_DYNAMIC_BATCH
                                 : blocked && replica->n_repeats > 1) {
    cut(service, number, true);
  }
}

/* Drops the requests that time out at an instant. */
static void time_out(struct hr__service_run *service, int64_t at_us) {
  service->now_ticks = ticks_of(service, at_us);
  while (hr__service_timeout_us(service) == at_us) drop(service, service->oldest);
  begin_touched(service);
}

/* Returns the time of the next event of a service, in ticks, without events of replicas with phases. */
static int64_t next_ticks(struct hr__service_run *service) {
  const int64_t arrival_us = hr__service_known_us(service), timeout_us = hr__service_timeout_us(service);
  const int64_t fixed_us = arrival_us < timeout_us ? arrival_us : timeout_us;
  const int64_t fixed_ticks = fixed_us == HR_NEVER_US ? HR_NEVER_US : ticks_of(service, fixed_us);
  const int64_t end_ticks = hr__tournament_least(&service->ends);
  return fixed_ticks < end_ticks ? fixed_ticks : end_ticks;
}

/* Handles the arrivals, timeouts and ends of iterations before an instant. */
static void advance_to(struct hr__service_run *service, int64_t until_ticks) {
  const bool is_end_first = ends_first(service);
  for (;;) {
    const int64_t arrival_us = hr__service_known_us(service);
    const bool any = arrival_us != HR_NEVER_US;
    const int64_t end_ticks = hr__tournament_least(&service->ends);
    const int64_t arrival_ticks = any ? ticks_of(service, arrival_us) : HR_NEVER_US;
    const bool is_arrival = any && (is_end_first ? arrival_ticks < end_ticks : arrival_ticks <= end_ticks);
    const int64_t at_ticks = is_arrival ? arrival_ticks : end_ticks;
    const int64_t timeout_us = service->spec->queue.timeout_us ? hr__service_timeout_us(service) : HR_NEVER_US;
    if (timeout_us != HR_NEVER_US && ticks_of(service, timeout_us) < at_ticks) {
      if (ticks_of(service, timeout_us) >= until_ticks) break;
      time_out(service, timeout_us);
      continue;
    }
    if (at_ticks >= until_ticks) break;
    if (is_arrival)
      arrivals(service, arrival_us);
    else
      end(service);
  }
}

/* Does the same as advance_to() for replicas with phases. Their times are floating-point numbers. */
static void advance_phases(struct hr__service_run *service, double until_us) {
  for (;;) {
    const int64_t arrival_us = hr__service_known_us(service), timeout_us = hr__service_timeout_us(service);
    const double arrival_ms = arrival_us == HR_NEVER_US ? (double)INFINITY : (double)arrival_us / 1000;
    const double event_ms = hr__phases_next_ms(service->phases);
    const bool is_arrival = arrival_us != HR_NEVER_US && arrival_ms <= event_ms;
    const double at_us = is_arrival ? (double)arrival_us : event_ms * 1000;
    if (timeout_us != HR_NEVER_US && (double)timeout_us < until_us && (double)timeout_us < at_us) {
      time_out(service, timeout_us);
      continue;
    }
    if (!(at_us < until_us)) break;
    if (is_arrival) {
      arrivals(service, arrival_us);
      continue;
    }
    const int64_t ticks = phase_ticks(service, event_ms);
    if (ticks > service->now_ticks) service->now_ticks = ticks;
    service->no_memory |= !hr__phases_step(service->phases);
  }
}

/* Returns the time of the next event of a service, in microseconds; INFINITY: none. */
static double next_event_us(struct hr__service_run *service) {
  const int64_t ticks = next_ticks(service);
  double event_us = (double)INFINITY;
  if (ticks != HR_NEVER_US)
    event_us = (double)service->origin_us + (double)ticks / (double)(INT64_C(1) << HR__TICK_BITS);
  return service->phases ? fmin(event_us, hr__phases_next_ms(service->phases) * 1000) : event_us;
}

/* Handles the events of all services of a circle in the order of time. Services form a circle if the spill-over links
   from each of them lead back to it. */
static void advance_circle(const struct hr__spill_links *links, int64_t until_us) {
  for (;;) {
    struct hr__service_run *first = NULL;
    double first_us = until_us == HR_NEVER_US ? (double)INFINITY : (double)until_us;
    for (uint32_t i = 0; i < links->n_circle; i++) {
      const double event_us = next_event_us(links->circle[i]);
      if (event_us < first_us) first_us = event_us, first = links->circle[i];
    }
    if (!first) return;
    if (first->phases)
      advance_phases(first, nextafter(first_us, (double)INFINITY));
    else
      advance_to(first, next_ticks(first) + 1);
  }
}

static void advance_one(struct hr__service_run *service, int64_t until_us) {
  if (service->phases)
    advance_phases(service, until_us == HR_NEVER_US ? (double)INFINITY : (double)until_us);
  else
    advance_to(service, until_us == HR_NEVER_US ? HR_NEVER_US : ticks_of(service, until_us));
}

static void set_now(struct hr__service_run *service, int64_t until_us) {
  if (until_us != HR_NEVER_US && ticks_of(service, until_us) > service->now_ticks)
    service->now_ticks = ticks_of(service, until_us);
}

void hr__service_advance(struct hr__service_run *service, int64_t until_us) {
  const struct hr__spill_links *links = &service->links;
  for (uint32_t k = 0; k < links->n_circle; k++) {
    const struct hr__service_run *member = links->circle[k];
    for (uint32_t i = 0; i < member->n_feeds; i++)
      if (!member->feeds[i].from->links.n_circle) hr__service_advance(member->feeds[i].from, until_us);
  }
  for (uint32_t i = 0; i < service->n_feeds && !links->n_circle; i++)
    hr__service_advance(service->feeds[i].from, until_us);
  if (links->n_circle)
    advance_circle(links, until_us);
  else
    advance_one(service, until_us);
  for (uint32_t k = 0; k < links->n_circle; k++) set_now(links->circle[k], until_us);
  set_now(service, until_us);
}

/* ---- Replicas with phases ---------------------------------------------------------------------------- */

/* Called when a request begins its first iteration. The time is already in the result. */
static void on_phase_begins(void *context, uint32_t id) {
  struct hr__service_run *service = context;
  (void)id;
  service->n_waiting--;
}

static void on_phase_token(void *context, uint32_t id, bool is_last) {
  struct hr__service_run *service = context;
  int64_t *preempted_us = &service->result->preempted_us[id];
  if (*preempted_us < 0) *preempted_us += rounded_us(service->now_ticks);
  if (is_last) complete(service, id);
}

static void on_phase_works(void *context, uint32_t number, double ms, double end_ms) {
  struct hr__service_run *service = context;
  struct hr__replica *replica = &service->replicas[number];
  replica->busy_ticks += llround(ms * 1000 * (double)(INT64_C(1) << HR__TICK_BITS));
  replica->end_ticks = phase_ticks(service, end_ms);
  if (replica->idle_from_ticks != HR_NEVER_US) service_end_idle(service, number);
}

static void on_phase_rests(void *context, uint32_t number, bool is_idle) {
  struct hr__service_run *service = context;
  struct hr__replica *replica = &service->replicas[number];
  replica->end_ticks = HR_NEVER_US;
  if (is_idle && replica->is_ready && replica->idle_from_ticks == HR_NEVER_US)
    replica->idle_from_ticks = service->now_ticks;
}

static void on_phase_loses(void *context, uint32_t id, bool has_begun, uint32_t tokens) {
  struct hr__service_run *service = context;
  struct hr_service_result *result = service->result;
  struct hr__replica *replica = &service->replicas[result->replica[id]];
  if (has_begun && result->restarts[id] < UINT16_MAX) result->restarts[id]++;
  replica->recomputed_tokens += tokens;
  service->lost_tokens += tokens;
  if (has_begun && result->first_token_us[id] != HR_NEVER_US && result->preempted_us[id] >= 0)
    result->preempted_us[id] -= rounded_us(service->now_ticks);
  result->replica[id] = HR_NONE;
  service_count_cold(service, id, -1);
  service->no_memory |= !hr__queue_insert_back(&service->waiting, id);
}

static bool service_open_phases(struct hr__service_run *service, uint32_t n_heads, uint32_t most) {
  const struct hr__phase_config config = {.service = service->spec,
                                          .requests = service->requests,
                                          .result = service->result,
                                          .n_replicas = service->n_replicas,
                                          .n_heads = n_heads,
                                          .most = most,
                                          .owner = {.self = service,
                                                    .outstanding = service->outstanding,
                                                    .begins = on_phase_begins,
                                                    .token = on_phase_token,
                                                    .works = on_phase_works,
                                                    .rests = on_phase_rests,
                                                    .loses = on_phase_loses}};
  return (service->phases = hr__phases_open(&config)) != NULL;
}

/* ---- Replicas --------------------------------------------------------------------------------------- */

/* Assigns the requests at the router to ready replicas. */
static void assign_waiting(struct hr__service_run *service, bool is_new) {
  while (service->n_ready && service->waiting.count) {
    const uint32_t id = hr__queue_pop(&service->waiting);
    service_count_cold(service, id, 1);
    assign(service, id, is_new);
  }
  begin_touched(service);
}

void hr__service_add(struct hr__service_run *service, uint32_t number) {
  if (service_is_head(service, number)) hr__router_join(service, number);
  service_set_ready(service, number, true);
  if (service->phases) hr__phases_add(service->phases, number, now_ms(service));
  service_note_cold(service, service->now_ticks);
  assign_waiting(service, true);
}

void hr__service_drain(struct hr__service_run *service, uint32_t number) {
  hr__router_leave(service, number);
  service_set_ready(service, number, false);
  if (service->phases) hr__phases_drain(service->phases, number);
  service_note_cold(service, service->now_ticks);
}

/* Kills a replica without phases, and returns its requests to the router. */
static void empty(struct hr__service_run *service, uint32_t number) {
  struct hr__replica *replica = &service->replicas[number];
  const uint64_t before = replica->recomputed_tokens;
  hr__replica_kill(replica, service->now_ticks, on_token, service);
  hr__tournament_set(&service->ends, number, HR_NEVER_US);
  service->lost_tokens += replica->recomputed_tokens - before;
  service->outstanding[number] = 0;
  service->tokens[number] = 0;
  while (replica->waiting.count) {
    const uint32_t id = hr__queue_pop(&replica->waiting);
    service->result->replica[id] = HR_NONE;
    service_count_cold(service, id, -1);
    service->no_memory |= !hr__queue_insert_back(&service->waiting, id);
  }
}

void hr__service_kill(struct hr__service_run *service, uint32_t number) {
  struct hr__replica *replica = &service->replicas[number];
  hr__router_leave(service, number);
  service_set_ready(service, number, false);
  service_note_cold(service, service->now_ticks);
  if (!service->phases) {
    empty(service, number);
  } else {
    if (replica->end_ticks != HR_NEVER_US) replica->busy_ticks -= replica->end_ticks - service->now_ticks;
    replica->end_ticks = HR_NEVER_US;
    service->no_memory |= !hr__phases_kill(service->phases, number, now_ms(service));
  }
  assign_waiting(service, false);
}

/* ---- Names ------------------------------------------------------------------------------------------ */

HR__NAME_FUNCTION(hr_service_engine_name, enum hr_service_engine, HR_SERVICE_ENGINE_TABLE)
HR__NAME_FUNCTION(hr_service_router_name, enum hr_service_router, HR_SERVICE_ROUTER_TABLE)
HR__NAME_FUNCTION(hr_request_state_name, enum hr_request_state, HR_REQUEST_STATE_TABLE)

/* ---- Creation and end ------------------------------------------------------------------------------- */

/* The initial capacity for sequences. */
enum { FIRST_SEQUENCES = 8 };

static bool create_replicas(struct hr__service_run *service) {
  const uint32_t n = service->n_replicas;
  if (!HR__ARRAY_MAKE(service->replicas, n) || !HR__ARRAY_MAKE(service->outstanding, n) ||
      !HR__ARRAY_MAKE(service->tokens, n) || !HR__ARRAY_MAKE(service->touched, n) ||
      !HR__ARRAY_MAKE(service->is_touched, n) || !HR__ARRAY_MAKE(service->ready, n) ||
      !HR__ARRAY_MAKE(service->sequences, 1) || !hr__tournament_open(&service->ends, n) ||
      !sequences_resize(service->sequences, FIRST_SEQUENCES, 0))
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
  return HR__ARRAY_MAKE(result->replica, count) && HR__ARRAY_MAKE(result->scheduled_us, count) &&
         HR__ARRAY_MAKE(result->first_token_us, count) && HR__ARRAY_MAKE(result->end_us, count) &&
         HR__ARRAY_MAKE(result->state, count) && HR__ARRAY_MAKE(result->restarts, count) &&
         HR__ARRAY_MAKE(result->preempted_us, count) && HR__ARRAY_MAKE(result->cold_us, count) &&
         HR__ARRAY_MAKE(result->busy_us, replicas);
}

/* Creates the replicas of engines that treat prompts and decodes as separate phases (`disaggregated`, `colocated`), and
   the columns that only these engines need. Does nothing for other engines. Returns false if memory is exhausted. */
static bool create_phases(struct hr__service_run *service, uint32_t count) {
  struct hr_service_result *result = service->result;
  if (!hr__has_phases(service->spec)) return true;
  if (!HR__ARRAY_MAKE(result->transfer_us, count) || !HR__ARRAY_MAKE(result->decode_replica, count) ||
      !HR__ARRAY_MAKE(result->rest_ps, count))
    return false;
  for (size_t id = 0; id < count; id++) result->decode_replica[id] = HR_NONE;
  for (uint32_t i = 0; i < service->n_replicas; i++) service->replicas[i].result = result;
  return service_open_phases(service, service->n_heads, count);
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

/* Returns whether the replicas of a service have a memory for sequences with a fixed capacity. */
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
    service_end_idle(service, i);
    is_complete = is_complete && !replica->no_memory && !service->no_memory;
    service->result->iterations += replica->iterations;
    service->result->recomputed_tokens += replica->recomputed_tokens;
    service->result->memory_sum += replica->used_sum;
    if (replica->used_peak > service->result->memory_peak) service->result->memory_peak = replica->used_peak;
    if (has_memory(service->spec)) service->result->memory_capacity = replica->capacity;
    if (service->result->busy_us) service->result->busy_us[i] = rounded_us(replica->busy_ticks);
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
