/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_SERVICES_ROUTER_H
#define HR_SIM_SERVICES_ROUTER_H

/* How a service assigns requests to its ready replicas. */

#include <stdbool.h>
#include <stdint.h>

struct hr__service_run;

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
