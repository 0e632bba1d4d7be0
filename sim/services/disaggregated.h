/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_SERVICES_DISAGGREGATED_H
#define HR_SIM_SERVICES_DISAGGREGATED_H

/*
 * Replicas of the engines `disaggregated` and `colocated`. They are run together, because a prompt that is complete
 * moves from one replica to another. Time is in milliseconds, in floating point, as in the simulator that they follow.
 */

#include "headroom/unstable/services.h"

struct hr__phase_replicas;

/* Prepares the replicas of a service. The caller closes them, also if NULL is returned: memory is exhausted. The
   results of requests are written to `result`. */
struct hr__phase_replicas *hr__phases_open(const struct hr_service *service, const struct hr_service_requests *requests,
                                           struct hr_service_result *result);
/* A request arrives that is not refused. Arrivals at one instant come before other events. */
bool hr__phases_arrive(struct hr__phase_replicas *all, uint32_t id, double now_ms);
/* The time of the next event; INFINITY: none. */
double hr__phases_next_ms(const struct hr__phase_replicas *all);
/* Handles the next event. Returns false if memory is exhausted. */
bool hr__phases_step(struct hr__phase_replicas *all);
void hr__phases_close(struct hr__phase_replicas *all);

/* Serves all requests. Returns false if memory is exhausted. */
bool hr__phases_run(const struct hr_service *service, const struct hr_service_requests *requests,
                    struct hr_service_result *result);

static inline bool hr__has_phases(const struct hr_service *service) {
  return service->engine == HR_SERVICE_DISAGGREGATED || service->engine == HR_SERVICE_COLOCATED;
}

#endif
