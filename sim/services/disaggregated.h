/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_SERVICES_DISAGGREGATED_H
#define HR_SIM_SERVICES_DISAGGREGATED_H

/*
 * Replicas of the engines `disaggregated` and `colocated`. They are simulated together, because a request moves from
 * one replica to another when its prompt is complete. Time is in floating-point milliseconds, as in DistServe's
 * simulator.
 */

#include "headroom/unstable/services.h"

struct hr__phase_replicas;

/* The figures that the replicas report to their owner. `outstanding`, by replica: the number of requests at the
   replica, which the replicas update. */
struct hr__phase_owner {
  void *self;
  uint32_t *outstanding;
  void (*begins)(void *self, uint32_t id); /* the first iteration of a request */
  /* a request has produced a token: the first, or another one. Its time is in the result */
  void (*token)(void *self, uint32_t id, bool is_last);
  void (*works)(void *self, uint32_t replica, double ms, double end_ms); /* an iteration of the first stage */
  /* its first stage has nothing to do; is_idle: all its stages have nothing to do */
  void (*rests)(void *self, uint32_t replica, bool is_idle);
  /* a request with this number of tokens has lost its memory, and does not belong to a replica any more */
  void (*loses)(void *self, uint32_t id, bool has_begun, uint32_t tokens);
};

struct hr__phase_config {
  const struct hr_service *service;
  const struct hr_service_requests *requests;
  struct hr_service_result *result; /* gets the times of requests, with the rest in picoseconds */
  uint32_t n_replicas, n_heads;     /* the first `n_heads` replicas take prompts; `disaggregated`: the others decode */
  uint32_t most;                    /* requests */
  struct hr__phase_owner owner;
};

/* Creates replicas that are not ready yet. Returns NULL if memory is exhausted. */
struct hr__phase_replicas *hr__phases_open(const struct hr__phase_config *config);
/* Assigns a request to a ready replica; at least one ready replica that takes prompts must exist. `is_new`: the request
   has not lost its memory before. At one instant, arrivals precede other events. Returns the replica. */
uint32_t hr__phases_arrive(struct hr__phase_replicas *all, uint32_t id, double now_ms, bool is_new);
/* Removes a request that has not begun. Returns whether it was found. */
bool hr__phases_withdraw(struct hr__phase_replicas *all, uint32_t id);
/* The time of the next event; INFINITY: none. */
double hr__phases_next_ms(const struct hr__phase_replicas *all);
/* Handles the next event. Returns false if memory is exhausted. */
bool hr__phases_step(struct hr__phase_replicas *all);
/* A replica becomes ready; gets no further requests; is lost with its requests (returns false if memory is exhausted).
 */
void hr__phases_add(struct hr__phase_replicas *all, uint32_t number, double now_ms);
void hr__phases_drain(struct hr__phase_replicas *all, uint32_t number);
bool hr__phases_kill(struct hr__phase_replicas *all, uint32_t number, double now_ms);
bool hr__phases_is_idle(const struct hr__phase_replicas *all, uint32_t number);
/* The ready replicas that take prompts, or the ready replicas that only decode. */
uint32_t hr__phases_ready(const struct hr__phase_replicas *all, bool heads);
/* Requests that wait for a replica that decodes. */
uint32_t hr__phases_held(const struct hr__phase_replicas *all);
void hr__phases_close(struct hr__phase_replicas *all);

static inline bool hr__has_phases(const struct hr_service *service) {
  return service->engine == HR_SERVICE_DISAGGREGATED || service->engine == HR_SERVICE_COLOCATED;
}

#endif
