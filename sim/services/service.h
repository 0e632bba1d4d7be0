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
#include "headroom/market.h"
#include "headroom/unstable/services.h"
#include "sim/services/replica.h"
#include "sim/services/router.h"

struct hr__service_config {
  const struct hr_service *spec;
  const struct hr_service_requests *requests;
  uint32_t n_replicas; /* replicas are numbered from 0 to n_replicas - 1 */
  int64_t origin_us;   /* no change and no arrival is earlier */
  uint64_t seed;
  bool steps; /* run each iteration on its own */
};

struct hr__service_run {
  const struct hr_service *spec;
  const struct hr_service_requests *requests;
  struct hr_service_result *result;
  uint32_t next; /* the next request that arrives */
  struct hr__sequences *sequences;
  uint32_t n_replicas;
  struct hr__replica *replicas;      /* [n_replicas] */
  uint32_t *ready, n_ready;          /* replicas that get requests, in rising order */
  uint32_t *outstanding;             /* by replica: requests that are not complete */
  uint64_t *tokens;                  /* by replica: prompts that wait, and one for each decoding sequence */
  struct hr__load_index loads;       /* of the ready replicas, if the router compares all */
  struct hr__sequence_queue waiting; /* requests that found no ready replica, in order of arrival */
  uint32_t *heap, n_heap;            /* replicas that run an iteration */
  uint32_t *place;                   /* by replica: its place in the heap */
  uint32_t *touched, n_touched;      /* idle replicas that got a request at this instant */
  bool *is_touched;                  /* by replica */
  uint64_t n_routed, n_completed;
  uint64_t n_held;             /* requests that had to wait for a ready replica */
  uint64_t lost_tokens;        /* tokens of killed replicas, which are computed again */
  uint32_t n_outstanding;      /* requests that have arrived and are not complete */
  hr_amount outstanding_ticks; /* sum of n_outstanding over time, up to counted_ticks */
  int64_t counted_ticks;
  int64_t idle_ticks; /* when n_outstanding last became 0 */
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
/* A replica gets no further requests, and completes those that it has. */
void hr__service_drain(struct hr__service_run *service, uint32_t number);
/* Ends a replica at once. Its requests go back to the router, before later ones. */
void hr__service_kill(struct hr__service_run *service, uint32_t number);
/* Whether a replica has no requests. */
bool hr__service_is_idle(const struct hr__service_run *service, uint32_t number);
/* When the iterations that a replica runs end, rounded up; an arrival can end them earlier. HR_NEVER_US: it is idle. */
int64_t hr__service_wake_us(const struct hr__service_run *service, uint32_t number);
/* The last arrival or, after it, the next end of iterations, rounded up; HR_NEVER_US: nothing will happen any more. */
int64_t hr__service_next_us(const struct hr__service_run *service);
/* Completes the result and frees the service. Returns HR_NO_MEMORY if memory was exhausted during the run. */
enum hr_status hr__service_close(struct hr__service_run *service, struct hr_error *error);

#endif
