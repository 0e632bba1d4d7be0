/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_SERVICES_FLEET_H
#define HR_SIM_SERVICES_FLEET_H

/*
 * The services of one run, and their replicas as jobs. fleet.c adds rows for the jobs to the trace, opens and closes
 * the services, and submits and ends the jobs. replica_jobs.c is the component of the engine. scaling.c computes how
 * many replicas a service wants.
 *
 * A replica has a place and a job. The index of the place is the number of the replica in results. A place can be used
 * again after its replica has ended. Each row for a job is used at most once, in the order of submission.
 */

#include "headroom/unstable/services.h"
#include "sim/engine/engine.h"
#include "sim/services/service.h"

enum hr__replica_place_state {
  HR__PLACE_FREE,
  HR__PLACE_WAITING,   /* the job waits for GPUs, also after an interruption */
  HR__PLACE_WITHDRAWN, /* the job still waits, but the replica is not needed any more: the job ends when it starts */
  HR__PLACE_STARTING,
  HR__PLACE_READY,
  HR__PLACE_LEAVING, /* its job has notice: the replica gets no more requests */
  HR__PLACE_DRAINING /* the replica gets no more requests, and its job ends when the replica is idle */
};

struct hr__replica_place {
  uint8_t state;   /* enum hr__replica_place_state */
  bool is_initial; /* submitted at the start of the run */
  bool is_delayed; /* `until_us` includes the delay of its GPUs (has_gpus in replica_jobs.c) */
  bool must_load;  /* starting: its weights are a data set, which is not loaded yet */
  bool is_counted; /* its cold start is counted in the result */
  uint32_t job;    /* valid unless the place is free */
  /* starting: when the replica is ready, or begins to load its weights if `must_load`. Draining: when it ends at the
     latest. Withdrawn: when it was withdrawn; HR_NEVER_US: the policy is not notified yet */
  int64_t until_us;
  int64_t held_us, ready_us; /* when the job got its GPUs, and when the replica was ready */
  int64_t busy_ticks;        /* busy time of the replica when the job got its GPUs */
  uint64_t gpu_milli;
};

struct hr__fleet_service {
  const struct hr_service *spec;
  struct hr__service_run run;
  struct hr_service_result result;
  struct hr__scaler scaler;
  struct hr__replica_place *places;
  /* the first n_heads places are for replicas that get requests from the router, the others for replicas that only
     decode */
  uint32_t n_places, n_heads;
  uint32_t wanted; /* number of wanted replicas */
  /* time of its entry in the heap of the engine; HR_NEVER_US: none. Entries with other times are outdated */
  int64_t event_us;
  int64_t tick_us;         /* the next sample, at which a decision may be made; HR_NEVER_US: none */
  int64_t wanted_us;       /* the last event at which a replica was wanted or existed, or requests were expected */
  int64_t served_us;       /* the last event at which the service served requests or expected some */
  bool has_begun, is_open; /* is_open: the service has not ended, because it still has or expects requests */
  bool is_rejected;        /* its jobs can never run */
  /* feeds, n_feeds and received are set only if requests can spill over to this service. received: all its requests,
     including those from other services */
  struct hr__feed *feeds;
  uint32_t n_feeds;
  struct hr__spill_links links;
  struct hr_service_requests received;
  struct hr__warm_node {
    uint32_t life; /* launches of the node plus 1; 0: it was never used */
    int64_t at_us; /* when node setup, image and weights are complete on the node */
  } * warm;        /* by node */
};

struct hr_fleet {
  struct hr_fleet_config config;
  struct hr_trace trace;
  int64_t *submit_us, *work_us; /* columns of the trace */
  uint32_t n_input;             /* number of jobs of the input */
  uint32_t n_rows;              /* number of rows of the trace: n_input plus the rows that are reserved for replicas */
  uint32_t n_used;              /* number of rows that were used for replicas */
  int64_t origin_us;            /* time 0 of the run in the clock of the requests */
  struct hr__fleet_row {
    uint32_t service, place;
  } * rows;                     /* [n_rows - n_input] */
  struct hr__fleet_service *of; /* by service */
  void **owned;                 /* the memory of the columns of the trace */
  uint32_t n_owned;
};

static inline struct hr_fleet *hr__fleet_of(const struct hr__engine *engine) {
  return engine->config->fleet;
}
/* Returns the number of services. */
static inline uint32_t hr__fleet_count(const struct hr_fleet *fleet) {
  return fleet->config.services->count;
}
/* Returns whether a replica has GPUs. */
static inline bool hr__place_runs(const struct hr__replica_place *place) {
  return place->state >= HR__PLACE_STARTING;
}
/* Returns whether the replicas of a service run in the cluster of an engine. */
static inline bool hr__fleet_is_here(const struct hr_fleet *fleet, const struct hr__engine *engine, uint32_t service) {
  return !engine->whole || fleet->config.services->at[service].cluster == engine->number;
}

/* ---- Services of a run ------------------------------------------------------------------------------ */

/* Opens a service at the start of a run. HR_NO_MEMORY is the only error. */
enum hr_status hr__fleet_open_service(struct hr__engine *engine, uint32_t index);
/* At the end of the run, closes the accounts of replicas that still run, adds the results of the services to the
   digest, and removes the rows that were not used. */
void hr__fleet_settle(struct hr__engine *engine);
/* Frees the services, also after an error. */
void hr__fleet_close(struct hr__engine *engine);
struct hr__running;
/* Checks, after hr__fleet_settle, that the GPU times of the replicas of each service add up. In a run of several
   clusters, all services are checked. */
enum hr_status hr__fleet_check_settled(const struct hr__engine *engine);
/* Used in checked mode: compares the replicas with their jobs and their requests. */
enum hr_status hr__fleet_check(const struct hr__engine *engine, const struct hr__running *running);

/* ---- Changes of replicas (fleet.c) ------------------------------------------------------------------ */

/* Returns how long a replica has been busy until now, in ticks. The service must have been advanced to the present
   time. */
int64_t hr__replica_busy_ticks(const struct hr__fleet_service *service, uint32_t number);
/* Adds to the result the GPU times of a replica that loses its GPUs now. The service must have been advanced to the
   present time. */
void hr__replica_close_times(struct hr__fleet_service *service, uint32_t number, int64_t now_us);
/* Withdraws the waiting job of a replica that is not needed any more. */
enum hr_status hr__replica_withdraw(struct hr__engine *engine, struct hr__replica_place *place);
/* Ends the job of a replica that has no requests. */
enum hr_status hr__replica_job_end(struct hr__engine *engine, struct hr__fleet_service *service, uint32_t number);
/* Adds or removes replicas until their number is service->wanted. If all places are in use, fewer replicas are
   added. */
enum hr_status hr__replicas_adjust(struct hr__engine *engine, struct hr__fleet_service *service);
/* Returns the number of replicas that wait for GPUs, start, are ready, or have notice. Replicas that drain or were
   withdrawn are not counted. */
uint32_t hr__replicas_present(const struct hr__fleet_service *service);
/* Returns whether fewer replicas are present than are wanted. */
bool hr__replicas_are_missing(const struct hr__fleet_service *service);

/* ---- Rows ------------------------------------------------------------------------------------------- */

/* Returns whether a job is a replica of a service. */
static inline bool hr__fleet_has(const struct hr_fleet *fleet, uint32_t job) {
  return fleet && job >= fleet->n_input;
}

#endif
