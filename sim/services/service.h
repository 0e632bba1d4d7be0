/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_SERVICES_SERVICE_H
#define HR_SIM_SERVICES_SERVICE_H

/*
 * A running inference service: requests, a router and replicas. The owner opens it, advances it from instant to
 * instant, and changes its replicas in between. Changes take effect at the time to which the service was advanced,
 * before the arrivals and the ends of iterations of that instant.
 *
 * Times are microseconds in the clock of the requests.
 */

#include "base/random.h"
#include "base/tournament.h"
#include "headroom/market.h"
#include "headroom/unstable/services.h"
#include "sim/services/replica.h"

struct hr__service_run;

/* The place of a service in the graph of spill-over. The owner frees the lists. */
struct hr__spill_links {
  uint32_t n_hops; /* maximum number of other services to which its own requests can go, one after another */
  /* the services with requests that can reach this one; and, if this service is part of a circle, all services of the
     circle, including this one, in order of their index */
  struct hr__service_run **upstream, **circle;
  uint32_t n_upstream, n_circle;
};

struct hr__service_config {
  const struct hr_service *spec;
  const struct hr_service_requests *requests;
  uint32_t n_replicas; /* replicas are numbered from 0 to n_replicas - 1 */
  uint32_t n_decoders; /* the last ones, which only decode (`disaggregated`) */
  int64_t origin_us;   /* no change and no arrival is earlier */
  uint64_t seed;
  bool steps; /* run each iteration on its own */
  /* if other services can send it requests: these services, in order of their index; an upper bound for the number of
     all its requests; and the list of these requests, which the owner frees. Without such services: 0 */
  struct hr__feed *feeds;
  uint32_t n_feeds, most;
  struct hr_service_requests *received;
  struct hr__spill_links links;
};

/* A service that sends requests to this one, and the number of them that this one has read. */
struct hr__feed {
  struct hr__service_run *from;
  uint32_t n_taken;
};

/* Data of a replica for routers: its place in the order, its weight, and whether it is used only for spill-over. */
struct hr__replica_role {
  uint32_t rank;
  uint64_t stride, pass; /* a request advances `pass` by `stride`, which is inverse to the weight; 0: weight 0 */
  bool is_over;
};

struct hr__service_run {
  const struct hr_service *spec;
  const struct hr_service_requests *requests; /* with feeds: `received` */
  struct hr_service_result *result;
  uint32_t next; /* the next request that arrives */
  /* With feeds: the requests of the scenario, the next of them, and all requests in the order in which they arrived */
  const struct hr_service_requests *own;
  uint32_t own_next;
  struct hr_service_requests *received;
  struct hr__feed *feeds;
  uint32_t n_feeds;
  struct hr__spill_links links;
  uint16_t *hops;               /* with feeds, by request: to how many more services it can go */
  uint32_t *spilled, n_spilled; /* requests for another service, in order */
  struct hr__sequences *sequences;
  struct hr__phase_replicas *phases; /* engines with phases; otherwise NULL. Their sequences are there */
  uint32_t n_replicas, n_heads;      /* n_heads: the first ones, which get requests from the router */
  struct hr__replica *replicas;      /* [n_replicas] */
  uint32_t *ready, n_ready;          /* replicas that get requests, in rising order */
  uint32_t *outstanding;             /* by replica: requests that are not complete */
  uint64_t *tokens;                  /* by replica: prompts that wait, and one for each decoding sequence */
  struct hr__tournament loads;       /* of the ready replicas, if the router compares all; otherwise 0 */
  struct hr__sequence_queue waiting; /* requests that found no ready replica, in order of arrival */
  struct hr__tournament ends;        /* by replica: end_ticks */
  uint32_t *touched, n_touched;      /* idle replicas that got a request at this instant */
  bool *is_touched;                  /* by replica */
  struct hr__replica_role *roles;    /* by replica; NULL: the router needs none */
  uint32_t *candidates;              /* [n_ready] scratch of routers with roles */
  uint64_t last_pass;                /* of the replica that `weighted` chose last */
  uint32_t n_waiting;                /* requests before their first iteration */
  uint32_t oldest;                   /* all requests with lower ids have begun their first iteration */
  int64_t mean_us;                   /* time from the first iteration to the end: moving mean, 0: unknown */
  bool wants_replica;                /* a request found no ready replica */
  uint64_t n_routed, n_completed, n_refused, n_timed_out;
  uint64_t n_held;             /* requests that had to wait for a ready replica */
  uint64_t lost_tokens;        /* tokens of killed replicas, which are computed again */
  uint32_t n_outstanding;      /* requests that have arrived and are not complete */
  hr_amount outstanding_ticks; /* sum of n_outstanding over time, up to counted_ticks */
  int64_t counted_ticks;
  hr_amount ready_ticks; /* sum of n_marked over time, up to ready_from_ticks */
  int64_t ready_from_ticks;
  uint32_t n_marked;  /* replicas that are ready, of both kinds */
  int64_t idle_ticks; /* when n_outstanding last became 0 */
  /* Time in which no replica is ready and one is starting, up to `cold_from_ticks`; `is_cold`: it continues */
  int64_t cold_ticks, cold_from_ticks;
  uint32_t n_starting;
  bool is_cold;
  struct hr__stream stream;
  int64_t origin_us, now_ticks; /* ticks since origin_us */
  bool steps, no_memory;
};

/* Opens a service without replicas, and creates its result. The caller closes the service and finishes the result, also
   after an error. HR_NO_MEMORY is the only error. */
enum hr_status hr__service_open(struct hr__service_run *service, const struct hr__service_config *config,
                                struct hr_service_result *result, struct hr_error *error);
/* Handles all arrivals and ends of iterations before an instant; HR_NEVER_US: all. */
void hr__service_advance(struct hr__service_run *service, int64_t until_us);
/* Makes a replica ready: it gets requests from now on. It must not be ready, and must have no requests. */
void hr__service_add(struct hr__service_run *service, uint32_t number);
/* Sets the number of replicas that have GPUs but are not ready, from an instant on. The service may already have
   handled the requests of this instant. */
void hr__service_set_starting(struct hr__service_run *service, uint32_t count, int64_t at_us);
/* A replica gets no further requests, and completes those that it has. */
void hr__service_drain(struct hr__service_run *service, uint32_t number);
/* Ends a replica at once. Its requests return to the router, before later ones. */
void hr__service_kill(struct hr__service_run *service, uint32_t number);
/* The pool of a replica that is not ready. Without this, routers that choose by pools treat all replicas alike. */
struct hr_pool_spec;
void hr__service_place(struct hr__service_run *service, uint32_t number, const struct hr_pool_spec *pool);
/* Whether any replica runs iterations, when the first of them end, and (without phases) its replica. */
bool hr__service_runs(const struct hr__service_run *service);
int64_t hr__service_first_us(const struct hr__service_run *service);
static inline uint32_t hr__service_first(const struct hr__service_run *service) {
  return hr__tournament_first(&service->ends);
}
/* Whether another replica of the same kind is ready; how many replicas are ready; and how many requests wait because no
   replica is. */
bool hr__service_has_other(const struct hr__service_run *service, uint32_t number);
uint32_t hr__service_ready(const struct hr__service_run *service);
uint32_t hr__service_unplaced(const struct hr__service_run *service);
/* Returns how many of this number of replicas only decode: in the proportion of the engine, with at least one of each
   kind. */
static inline uint32_t hr__service_decoders(const struct hr_service *spec, uint32_t count) {
  const uint64_t heads = spec->phases.prefill_replicas, all = heads + spec->phases.decode_replicas;
  if (spec->engine != HR_SERVICE_DISAGGREGATED || count < 2) return 0;
  const uint32_t n_heads = (uint32_t)((2 * count * heads + all) / (2 * all));
  return count - (n_heads < 1 ? 1 : n_heads > count - 1 ? count - 1 : n_heads);
}
/* Whether a replica has no requests. */
bool hr__service_is_idle(const struct hr__service_run *service, uint32_t number);
/* When the iterations that a replica runs end, rounded up; an arrival can end them earlier. HR_NEVER_US: it is idle. */
int64_t hr__service_wake_us(const struct hr__service_run *service, uint32_t number);
/* Before the last arrival: its time. After it: the time of the next end of iterations (rounded up) or timeout.
   HR_NEVER_US: no further events. */
int64_t hr__service_next_us(struct hr__service_run *service);
/* Whether requests can still arrive, and when the next one arrives at the earliest; HR_NEVER_US: none. */
bool hr__service_expects(const struct hr__service_run *service);
int64_t hr__service_arrival_us(const struct hr__service_run *service);
/* When the oldest request that waits leaves; HR_NEVER_US: none does. */
int64_t hr__service_timeout_us(struct hr__service_run *service);
/* Completes the result and frees the service. Returns HR_NO_MEMORY if memory was exhausted during the run. */
enum hr_status hr__service_close(struct hr__service_run *service, struct hr_error *error);

/* ---- The state of a service (service_state.c) ------------------------------------------------------- */

/* Rounds ticks to microseconds. */
static inline int64_t hr__rounded_us(int64_t ticks) {
  return (ticks + (INT64_C(1) << (HR__TICK_BITS - 1))) >> HR__TICK_BITS;
}
static inline int64_t hr__service_now_us(const struct hr__service_run *service) {
  return service->origin_us + hr__rounded_us(service->now_ticks);
}
/* Whether the router may assign requests to a replica; a replica that only decodes gets none. */
static inline bool hr__service_is_head(const struct hr__service_run *service, uint32_t number) {
  return number < service->n_heads;
}
/* The number of ready or starting replicas has changed at an instant. */
void hr__service_note_cold(struct hr__service_run *service, int64_t at_ticks);
/* A request begins (sign -1) or ends (1) to wait at the router. Time after its first iteration does not count. */
void hr__service_count_cold(struct hr__service_run *service, uint32_t id, int sign);
/* Sets whether a replica is ready, and begins or ends its idle time. */
void hr__service_set_ready(struct hr__service_run *service, uint32_t number, bool is_ready);
/* The time so far in which replicas were ready, summed over replicas. */
hr_amount hr__service_ready_ticks(const struct hr__service_run *service);

/* Room for `capacity` sequences, a power of two; replicas with phases; and the end of the time
   without iterations of a replica, because it runs one, gets no more requests, or the run ends. */
bool hr__sequences_resize(struct hr__sequences *ring, uint32_t capacity, uint32_t id);
bool hr__service_open_phases(struct hr__service_run *service, uint32_t n_heads, uint32_t most);
void hr__service_end_idle(struct hr__service_run *service, uint32_t number);

/* ---- Admission and spill-over (admission.c) --------------------------------------------------------- */

/* Whether the requests of a service are limited, or can go to another service. */
static inline bool hr__is_limited(const struct hr_service *spec) {
  return spec->queue.limit || (spec->routing.spill.to && spec->routing.spill.service != HR_NONE);
}
/* Decides whether an arriving request may wait. If not, sets its state and returns false. */
bool hr__service_admits(struct hr__service_run *service, uint32_t id);
/* Returns the predicted wait of a request that arrives now, until its first iteration. */
int64_t hr__service_predicted_us(struct hr__service_run *service);
/* With feeds: the next arrival, and its transfer to the requests of this service. Returns its id. */
int64_t hr__feeds_next_us(const struct hr__service_run *service);
uint32_t hr__feeds_take(struct hr__service_run *service);
/* The last instant at which a request can arrive. */
int64_t hr__service_last_us(const struct hr__service_run *service);
/* Prepares feeds, the list of requests for another service, and roles. Returns false if memory is exhausted. */
bool hr__admission_open(struct hr__service_run *service, const struct hr__service_config *config);
/* Requests that have not arrived are unfinished. */
void hr__admission_end(struct hr__service_run *service);
void hr__admission_close(struct hr__service_run *service);

/* ---- How requests are assigned to ready replicas (router.c) ----------------------------------------- */

/* Prepares the router of a service. Returns false if memory is exhausted. */
bool hr__router_open(struct hr__service_run *service);
/* Chooses one of the ready replicas; there must be one. */
uint32_t hr__route(struct hr__service_run *service);
/* A replica has become ready. */
void hr__router_join(struct hr__service_run *service, uint32_t number);
/* A replica has stopped being ready. */
void hr__router_leave(struct hr__service_run *service, uint32_t number);
/* The load of a replica has changed, whether it is ready or not. */
void hr__router_note(struct hr__service_run *service, uint32_t number);

#endif
