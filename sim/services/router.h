/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_SERVICES_ROUTER_H
#define HR_SIM_SERVICES_ROUTER_H

/* How a service gives requests to its ready replicas. */

#include <stdbool.h>
#include <stdint.h>

struct hr__service_run;

/* The loads of replicas, for routers that look for the least of all. `winner` is a tournament: entry 1 has the least
   load of all; entry i has the better one of entries 2i and 2i + 1, which is the first of equals; the last n_leaves
   entries are the replicas. Without an index, all members are 0. */
struct hr__load_index {
  uint64_t *load;   /* [n_leaves] by replica; UINT64_MAX: it is not ready, or does not exist */
  uint32_t *winner; /* [2 n_leaves] */
  uint32_t n_leaves;
};

/* Returns false if memory is exhausted. */
bool hr__load_index_open(struct hr__load_index *index, uint32_t n_replicas);
void hr__load_index_close(struct hr__load_index *index);
/* Sets the load of a replica. */
void hr__load_index_set(struct hr__load_index *index, uint32_t number, uint64_t load);

/* Prepares the router of a service. Returns false if memory is exhausted. */
bool hr__router_open(struct hr__service_run *service);
/* Chooses one of the ready replicas; there must be one. */
uint32_t hr__route(struct hr__service_run *service);
/* A replica has become ready. */
void hr__router_join(struct hr__service_run *service, uint32_t number);
/* A replica is not ready any more. */
void hr__router_leave(struct hr__service_run *service, uint32_t number);
/* The load of a replica has changed, whether it is ready or not. */
void hr__router_note(struct hr__service_run *service, uint32_t number);

#endif
