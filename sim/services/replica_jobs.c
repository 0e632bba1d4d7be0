/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The component of the engine for inference services: replicas as jobs. A service submits a job for each additional
 * replica. When the job gets its GPUs, the replica begins its cold start. After the cold start, the replica is ready. A
 * replica that is not needed any more drains, and then its job ends. If the job is interrupted or preempted, its
 * requests return to the router, and the job waits again.
 *
 * Layout: each service has at most one valid entry in the heap of the engine, for the earliest of its next events
 * (next_event_us()). The requests of a service are advanced to the present time only at this entry, at the events of
 * its jobs, and when a service is advanced to which its requests can spill over.
 *
 * fleet.c opens and closes the services of a run, and checks their invariants.
 */

#include "base/containers.h"
#include "sim/data/data.h"
#include "sim/engine/engine.h"
#include "sim/services/fleet.h"

#include <string.h>

/* Advances the requests of a service to the present instant, excluding the requests of this instant. */
static void catch_up_requests(const struct hr__engine *engine, struct hr__fleet_service *service) {
  hr__service_advance(&service->run, engine->view.now_us + hr__fleet_of(engine)->origin_us);
}

/* ---- The entry in the heap -------------------------------------------------------------------------- */

/* Converts a time of the requests to a time of the run. HR_NEVER_US is returned unchanged. */
static int64_t run_us(const struct hr_fleet *fleet, int64_t us) {
  return us == HR_NEVER_US ? HR_NEVER_US : us - fleet->origin_us;
}

static bool scales_to_zero_when_idle(const struct hr_service *spec) {
  return spec->autoscale.policy == HR_AUTOSCALE_SLO && spec->autoscale.idle_to_zero_us != HR_NEVER_US &&
         spec->autoscale.min == 0;
}

/* Returns the time at which a service with idle_to_zero_us will have been idle for this time. If requests are
   outstanding, the time is not known; then returns the time at which this function must be called again. HR_NEVER_US:
   never, as far as is known now. */
static int64_t idle_end_us(const struct hr__engine *engine, struct hr__fleet_service *service) {
  if (!scales_to_zero_when_idle(service->spec) || service->wanted == 0) return HR_NEVER_US;
  const struct hr__service_run *run = &service->run;
  const int64_t tick = INT64_C(1) << HR__TICK_BITS;
  const int64_t time_us = service->spec->autoscale.idle_to_zero_us;
  if (!run->n_outstanding) return ((run->idle_ticks + tick - 1) >> HR__TICK_BITS) + time_us;
  /* the outstanding requests wait for a replica; the next of them may time out */
  if (!hr__service_runs(run)) return run_us(hr__fleet_of(engine), hr__service_timeout_us(&service->run));
  const int64_t next_us = run_us(hr__fleet_of(engine), hr__service_first_us(run));
  return next_us > engine->view.now_us + time_us ? next_us : engine->view.now_us + time_us;
}

static bool wakes_on_arrival(const struct hr__fleet_service *service) {
  return service->wanted == 0 && service->run.n_outstanding == 0 && hr__scaler_activates_at_once(&service->scaler);
}

static int64_t next_event_us(const struct hr__engine *engine, struct hr__fleet_service *service) {
  const struct hr_fleet *fleet = hr__fleet_of(engine);
  if (!service->is_open) return HR_NEVER_US;
  int64_t at_us = hr__smaller(service->tick_us, run_us(fleet, hr__service_next_us(&service->run)));
  at_us = hr__smaller(at_us, idle_end_us(engine, service));
  if (wakes_on_arrival(service)) at_us = hr__smaller(at_us, run_us(fleet, hr__service_arrival_us(&service->run)));
  for (uint32_t i = 0; i < service->n_places; i++) {
    const struct hr__replica_place *place = &service->places[i];
    if (place->state == HR__PLACE_STARTING || place->state == HR__PLACE_DRAINING)
      at_us = hr__smaller(at_us, place->until_us);
    if (place->state == HR__PLACE_DRAINING)
      at_us = hr__smaller(at_us, run_us(fleet, hr__service_wake_us(&service->run, i)));
  }
  return at_us;
}

/* Schedules the next event of a service at `at_us`, unless it is already scheduled for this time. */
static enum hr_status reschedule(struct hr__engine *engine, struct hr__fleet_service *service, int64_t at_us) {
  if (at_us < engine->view.now_us) at_us = engine->view.now_us;
  if (at_us == service->event_us) return HR_OK;
  service->event_us = at_us;
  if (at_us == HR_NEVER_US) return HR_OK;
  return hr__schedule(engine, at_us, HR__PENDING_SERVICE, (uint32_t)(service - hr__fleet_of(engine)->of));
}

/* ---- Accounts --------------------------------------------------------------------------------------- */

static enum hr_status note_decision(const struct hr__engine *engine, struct hr__fleet_service *service,
                                    struct hr__scale_choice choice) {
  struct hr_service_result *result = &service->result;
  if (choice.wanted == 1 && service->n_heads < service->n_places) choice.wanted = 2; /* one of each kind */
  if (choice.wanted == service->wanted) return HR_OK;
  if (!HR__ARRAY_HAS_ROOM(result->decisions, result->n_decisions, result->decisions_capacity))
    return hr__out_of_memory(engine);
  const int64_t at_us = engine->view.now_us + hr__fleet_of(engine)->origin_us;
  result->decisions[result->n_decisions++] =
      (struct hr_scale_decision){at_us, service->wanted, choice.wanted, (uint8_t)choice.reason};
  service->wanted = choice.wanted;
  return HR_OK;
}

/* Adds the numbers of wanted, ready and starting replicas to the result, if they have changed. */
static enum hr_status note_replicas(const struct hr__engine *engine, struct hr__fleet_service *service) {
  struct hr_service_result *result = &service->result;
  struct hr_replica_level level = {.at_us = engine->view.now_us + hr__fleet_of(engine)->origin_us,
                                   .wanted = service->is_open ? service->wanted : 0};
  for (uint32_t i = 0; i < service->n_places; i++) {
    const struct hr__replica_place *place = &service->places[i];
    const bool starts = place->state == HR__PLACE_STARTING;
    level.starting += starts;
    level.ready += place->state >= HR__PLACE_STARTING && place->state != HR__PLACE_DRAINING && !starts;
  }
  if (level.starting != service->run.n_starting) hr__service_set_starting(&service->run, level.starting, level.at_us);
  struct hr_replica_level *last = result->n_levels ? &result->levels[result->n_levels - 1] : NULL;
  if (last && last->wanted == level.wanted && last->ready == level.ready && last->starting == level.starting)
    return HR_OK;
  if (last && last->at_us == level.at_us) {
    *last = level;
    return HR_OK;
  }
  bool has_room = HR__ARRAY_HAS_ROOM(result->levels, result->n_levels, result->levels_capacity);
  if (!has_room || !result->levels) return hr__out_of_memory(engine);
  result->levels[result->n_levels++] = level;
  return HR_OK;
}

/* ---- The event of a service ------------------------------------------------------------------------- */

/* Called when a starting replica has reached `until_us`. Returns whether its cold start has ended. A cold start begins
   late if MIG instances had to be created first, or if the GPUs had too little free memory. Then the function moves the
   end of the cold start by this delay and returns false. */
static bool has_gpus(const struct hr__engine *engine, struct hr__replica_place *place) {
  const struct hr__engine_attempt *attempt = hr__attempt(engine, (hr_job){place->job});
  if (attempt->phase != HR__PHASE_BACKING_OFF && place->is_delayed) return true;
  const int64_t cold_us = place->ready_us - place->held_us;
  const int64_t begin_us =
      attempt->phase == HR__PHASE_BACKING_OFF ? attempt->retry_us : attempt->begun_us + attempt->restart_us;
  if (attempt->phase != HR__PHASE_BACKING_OFF) place->is_delayed = true;
  if (begin_us <= place->held_us) return true;
  place->until_us = place->ready_us = begin_us + cold_us;
  return false;
}

/* Returns the time of the stages of a cold start after the weights are loaded. */
static int64_t last_stages_us(const struct hr__fleet_service *service) {
  return service->spec->cold_start.container_us + service->spec->cold_start.engine_us;
}

static void count_cold_start(struct hr__fleet_service *service, struct hr__replica_place *place) {
  service->result.cold_starts += !place->is_counted;
  place->is_counted = true;
}

/* Returns whether a starting replica is ready. If its weights are a data set that is not loaded yet, begins to load
   them and sets the times of the replica. Then the replica is ready at once only if nothing must be loaded and no
   stages follow. */
static bool are_weights_there(struct hr__engine *engine, struct hr__fleet_service *service,
                              struct hr__replica_place *place, enum hr_status *status) {
  const struct hr_cold_start *cold = &service->spec->cold_start;
  bool loads;
  if (!place->must_load) return true;
  place->must_load = false;
  *status = hr__data_load(engine, (hr_job){place->job}, (struct hr__data_load){cold->weights_set, cold->caches, false},
                          &loads);
  place->until_us = place->ready_us = loads ? HR_NEVER_US : engine->view.now_us + last_stages_us(service);
  if (loads) count_cold_start(service, place);
  return *status == HR_OK && place->until_us == engine->view.now_us;
}

/* Makes replicas ready after their cold start, ends replicas that have drained or have used up the time for draining,
   and ends or withdraws the jobs of withdrawn replicas. */
static enum hr_status change_replicas(struct hr__engine *engine, struct hr__fleet_service *service) {
  const int64_t now_us = engine->view.now_us;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < service->n_places && status == HR_OK; i++) {
    struct hr__replica_place *place = &service->places[i];
    if (place->state == HR__PLACE_WITHDRAWN && engine->state[place->job] == HR_JOB_RUNNING) {
      status = hr__replica_job_end(engine, service, i);
    } else if (place->state == HR__PLACE_WITHDRAWN && place->until_us == HR_NEVER_US) {
      status = hr__replica_withdraw(engine, place);
    } else if (place->state == HR__PLACE_STARTING && place->until_us <= now_us && has_gpus(engine, place) &&
               are_weights_there(engine, service, place, &status)) {
      place->state = HR__PLACE_READY;
      hr__service_add(&service->run, i);
    } else if (place->state == HR__PLACE_DRAINING) {
      if (place->until_us <= now_us && !hr__service_is_idle(&service->run, i)) hr__service_kill(&service->run, i);
      if (hr__service_is_idle(&service->run, i)) status = hr__replica_job_end(engine, service, i);
    }
  }
  return status;
}

/* Returns the index of the service with this run. */
static uint32_t index_of(const struct hr_fleet *fleet, const struct hr__service_run *run) {
  const char *service = (const char *)run - offsetof(struct hr__fleet_service, run);
  return (uint32_t)((size_t)(service - (const char *)fleet->of) / sizeof *fleet->of);
}

/* Sets `*its` to the engine of the cluster of a service; NULL: the service has no event at this instant, and its
   cluster is not being processed. */
static enum hr_status enter_cluster(struct hr__engine *engine, uint32_t service, struct hr__engine **its) {
  const struct hr_fleet *fleet = hr__fleet_of(engine);
  *its = engine;
  if (hr__fleet_is_here(fleet, engine, service)) return HR_OK;
  const uint32_t cluster = fleet->config.services->at[service].cluster;
  *its = hr__clusters_entered(engine->whole, cluster);
  if (*its || fleet->of[service].event_us != engine->view.now_us) return HR_OK;
  return hr__clusters_enter(engine->whole, cluster, engine->view.now_us, its);
}

/* Changes the replicas of the other services of a circle (struct hr__spill_links), because they are advanced together
   with this service. Must precede the requests of this instant. */
static enum hr_status change_circle(struct hr__engine *engine, const struct hr__fleet_service *service) {
  struct hr_fleet *fleet = hr__fleet_of(engine);
  enum hr_status status = HR_OK;
  for (uint32_t k = 0; k < service->links.n_circle && status == HR_OK; k++) {
    const uint32_t at = index_of(fleet, service->links.circle[k]);
    struct hr__fleet_service *other = &fleet->of[at];
    struct hr__engine *its;
    if (other == service || !other->is_open || !other->has_begun) continue;
    status = enter_cluster(engine, at, &its);
    if (status == HR_OK && its) status = change_replicas(its, other);
  }
  return status;
}

/* Ends draining replicas that have no requests any more. */
static enum hr_status end_drained(struct hr__engine *engine, struct hr__fleet_service *service) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < service->n_places && status == HR_OK; i++)
    if (service->places[i].state == HR__PLACE_DRAINING && hr__service_is_idle(&service->run, i))
      status = hr__replica_job_end(engine, service, i);
  return status;
}

static enum hr_status tick(struct hr__engine *engine, struct hr__fleet_service *service) {
  const int64_t now_us = engine->view.now_us;
  const struct hr__scale_state state = {service->wanted, hr__replicas_present(service)};
  struct hr__scale_choice choice;
  service->tick_us = now_us + service->scaler.sample_us;
  if (!hr__scaler_tick(&service->scaler, &service->run, now_us, state, &choice)) return HR_OK;
  const enum hr_status status = note_decision(engine, service, choice);
  return status == HR_OK ? hr__replicas_adjust(engine, service) : status;
}

static enum hr_status set_wanted(struct hr__engine *engine, struct hr__fleet_service *service,
                                 struct hr__scale_choice choice) {
  const enum hr_status status = note_decision(engine, service, choice);
  return status == HR_OK ? hr__replicas_adjust(engine, service) : status;
}

/* Returns whether the service has ended: no request can arrive, no replica runs iterations, and one of these conditions
   is met:
   - No request is outstanding.
   - Requests are at replicas but can never continue (see is_deadlocked() in fleet.c).
   - The jobs of the service can never run. */
static bool is_done(const struct hr__fleet_service *service) {
  const struct hr__service_run *run = &service->run;
  if (hr__service_expects(run) || hr__service_runs(run)) return false;
  return run->n_outstanding == 0 || run->n_outstanding != hr__service_unplaced(run) || service->is_rejected;
}

/* Ends a service and all its replicas. Waiting jobs are withdrawn. */
static enum hr_status finish_service(struct hr__engine *engine, struct hr__fleet_service *service) {
  enum hr_status status = HR_OK;
  service->is_open = false;
  engine->n_open--;
  service->tick_us = HR_NEVER_US;
  for (uint32_t i = 0; i < service->n_places && status == HR_OK; i++) {
    struct hr__replica_place *place = &service->places[i];
    if (place->state == HR__PLACE_WAITING) status = hr__replica_withdraw(engine, place);
    if (status == HR_OK && hr__place_runs(place)) status = hr__replica_job_end(engine, service, i);
  }
  return status;
}

/* Returns whether decisions have no effect because no request can arrive, no replica has GPUs, and some replicas wait
   for GPUs. */
static bool only_waits(const struct hr__fleet_service *service) {
  bool any_waits = false;
  for (uint32_t i = 0; i < service->n_places; i++) {
    if (hr__place_runs(&service->places[i])) return false;
    any_waits |= service->places[i].state == HR__PLACE_WAITING;
  }
  return any_waits && !hr__service_expects(&service->run);
}

/* Returns whether a schedule now wants the largest number of its period. */
static bool wants_most(const struct hr__fleet_service *service) {
  const struct hr_autoscale *scale = &service->spec->autoscale;
  uint32_t most = 0;
  for (uint32_t i = 0; i < scale->n_steps; i++)
    if (scale->steps[i].replicas > most) most = scale->steps[i].replicas;
  return service->wanted >= (most < scale->max ? most : scale->max);
}

/* Returns whether further decisions have no effect. No requests are served or expected, and no replica starts or
   drains. In addition, one of these conditions is met:
   - The numbers of replicas have not changed for hr__scaler_patience_us().
   - The autoscaler is a schedule, no request was served for this time, and the schedule now wants its largest number.
     Without this condition, a periodic schedule would be evaluated forever.

   If a replica gets GPUs, the decisions resume (resume_decisions). */
static bool is_stuck(struct hr__fleet_service *service, int64_t now_us) {
  const struct hr_service_result *result = &service->result;
  const int64_t patience_us = hr__scaler_patience_us(&service->scaler);
  if (hr__service_next_us(&service->run) != HR_NEVER_US) service->served_us = now_us;
  if (service->served_us == now_us || result->n_levels == 0) return false;
  for (uint32_t i = 0; i < service->n_places; i++)
    if (service->places[i].state == HR__PLACE_STARTING || service->places[i].state == HR__PLACE_DRAINING) return false;
  const int64_t since_us = result->levels[result->n_levels - 1].at_us - service->run.origin_us;
  if (now_us - since_us > patience_us) return true;
  const bool has_period = service->spec->autoscale.policy == HR_AUTOSCALE_SCHEDULE;
  return has_period && wants_most(service) && now_us - service->served_us > patience_us;
}

/* Returns whether the waiting requests are never served: no further requests can arrive, and no replica was wanted or
   existed for more than hr__scaler_patience_us(). */
static bool is_given_up(struct hr__fleet_service *service, int64_t now_us) {
  bool any = service->wanted > 0 || hr__service_expects(&service->run);
  for (uint32_t i = 0; i < service->n_places && !any; i++) any = service->places[i].state != HR__PLACE_FREE;
  if (any) service->wanted_us = now_us;
  return now_us - service->wanted_us > hr__scaler_patience_us(&service->scaler);
}

static enum hr_status advance_service(struct hr__engine *engine, struct hr__fleet_service *service) {
  const int64_t now_us = engine->view.now_us;
  const bool was_off = service->wanted == 0;
  if (hr__service_next_us(&service->run) != HR_NEVER_US) (engine->whole ? engine->whole : engine)->served_us = now_us;
  if (!was_off) service->run.wants_replica = false;
  catch_up_requests(engine, service);
  enum hr_status status = change_replicas(engine, service);
  if (status == HR_OK) status = change_circle(engine, service);
  if (status != HR_OK || !service->is_open) return status;
  /* handles the requests of this instant */
  hr__service_advance(&service->run, now_us + hr__fleet_of(engine)->origin_us + 1);
  status = end_drained(engine, service);
  if (status == HR_OK && is_done(service)) return finish_service(engine, service);
  if (status == HR_OK && service->run.n_outstanding == 0 && idle_end_us(engine, service) <= now_us)
    status = set_wanted(engine, service, (struct hr__scale_choice){0, HR_SCALE_IDLE});
  /* a request that was sent to another service also activates this service */
  const bool is_asked = service->run.n_outstanding || (was_off && service->run.wants_replica);
  if (status == HR_OK && service->wanted == 0 && is_asked && hr__scaler_activates_at_once(&service->scaler))
    status = set_wanted(engine, service, hr__scaler_activate(&service->scaler, now_us));
  service->run.wants_replica = false;
  if (status == HR_OK && service->tick_us <= now_us) status = tick(engine, service);
  /* places of drained replicas may be free now */
  if (status == HR_OK && hr__replicas_are_missing(service)) status = hr__replicas_adjust(engine, service);
  if (only_waits(service) || is_given_up(service, now_us) || is_stuck(service, now_us)) service->tick_us = HR_NEVER_US;
  return status;
}

/* Handles the event at time 0: submits the initial replicas. */
static enum hr_status begin_service(struct hr__engine *engine, struct hr__fleet_service *service) {
  const uint32_t initial = hr__scaler_initial(&service->scaler);
  if (hr__scaler_is_active(&service->scaler)) service->tick_us = service->scaler.sample_us;
  const enum hr_status status = set_wanted(engine, service, (struct hr__scale_choice){initial, HR_SCALE_INITIAL});
  service->has_begun = true;
  return status;
}

/* Handles the event of a service. The events of its feeds are handled first. */
static enum hr_status handle(struct hr__engine *engine, uint32_t index) {
  struct hr_fleet *fleet = hr__fleet_of(engine);
  struct hr__fleet_service *service = &fleet->of[index];
  enum hr_status status = HR_OK;
  if (service->event_us != engine->view.now_us) return HR_OK; /* outdated */
  /* before the feeds, because they can include this service itself */
  service->event_us = HR_NEVER_US;
  for (uint32_t i = 0; i < service->n_feeds && status == HR_OK; i++) {
    const uint32_t giver = index_of(fleet, service->feeds[i].from);
    struct hr__engine *its;
    status = enter_cluster(engine, giver, &its);
    if (status == HR_OK && its) status = handle(its, giver);
  }
  if (status != HR_OK) return status;
  status = service->has_begun ? advance_service(engine, service) : begin_service(engine, service);
  if (service->run.no_memory || note_replicas(engine, service) != HR_OK) return hr__out_of_memory(engine);
  return status == HR_OK ? reschedule(engine, service, next_event_us(engine, service)) : status;
}

static enum hr_status advance(struct hr__engine *engine, struct hr__pending pending) {
  return handle(engine, hr__pending_entity(pending));
}

/* ---- Events of jobs --------------------------------------------------------------------------------- */

static struct hr__fleet_service *service_of(const struct hr__engine *engine, hr_job job, uint32_t *number) {
  struct hr_fleet *fleet = hr__fleet_of(engine);
  if (!hr__fleet_has(fleet, job.id)) return NULL;
  const struct hr__fleet_row row = fleet->rows[job.id - fleet->n_input];
  *number = row.place;
  return &fleet->of[row.service];
}

/* Returns the time until node setup, image and weights are complete on all nodes of a placement. With `caches`, nodes
   on which the service is already cached take less time. */
static int64_t fetch_us(const struct hr__engine *engine, struct hr__fleet_service *service,
                        const struct hr_placement *placement) {
  const struct hr_cold_start *cold = &service->spec->cold_start;
  const int64_t weights_us = cold->weights ? 0 : cold->weights_us; /* a data set is loaded after these stages */
  const int64_t now_us = engine->view.now_us, all_us = cold->node_us + cold->image_us + weights_us;
  int64_t longest_us = cold->caches && placement->n_slices > 0 ? 0 : all_us;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    const uint32_t node = placement->slices[i].node.id;
    const uint32_t life = 1 + (engine->cluster.nodes ? engine->cluster.nodes[node].launches : 0);
    struct hr__warm_node *warm = &service->warm[node];
    if (warm->life != life) *warm = (struct hr__warm_node){life, now_us + all_us};
    if (warm->at_us - now_us > longest_us) longest_us = warm->at_us - now_us;
  }
  return longest_us;
}

/* Returns the time until a replica is ready. If its weights are a data set, returns the time until it begins to load
   them. */
static int64_t first_stages_us(const struct hr__engine *engine, struct hr__fleet_service *service,
                               const struct hr_placement *placement) {
  const int64_t before_us = fetch_us(engine, service, placement);
  return service->spec->cold_start.weights ? before_us : before_us + last_stages_us(service);
}

/* Schedules decisions again, because they may have an effect again. */
static void resume_decisions(const struct hr__engine *engine, struct hr__fleet_service *service) {
  if (service->tick_us != HR_NEVER_US || !service->is_open || !hr__scaler_is_active(&service->scaler)) return;
  service->tick_us = (engine->view.now_us / service->scaler.sample_us + 1) * service->scaler.sample_us;
}

/* Called when the job of a replica gets its GPUs. Initial replicas that get GPUs at time 0 are ready at once, because
   the service is assumed to exist before the run. */
static enum hr_status start(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                            int64_t run_time_us) {
  uint32_t number;
  struct hr__fleet_service *service = service_of(engine, job, &number);
  (void)run_time_us;
  if (!service) return HR_OK;
  const int64_t now_us = engine->view.now_us;
  struct hr__replica_place *place = &service->places[number];
  catch_up_requests(engine, service);
  const struct hr_cold_start *cold = &service->spec->cold_start;
  const int64_t cold_us = first_stages_us(engine, service, placement);
  enum hr_status status = HR_OK;
  place->held_us = now_us;
  place->gpu_milli = hr_placement_milli(placement, engine->trace, job);
  hr__service_place(&service->run, number, &engine->config->cluster->pools[placement->pool.id]);
  place->busy_ticks = hr__replica_busy_ticks(service, number);
  place->is_delayed = false;
  const bool is_there = place->is_initial && now_us == 0;
  if (is_there)
    for (uint32_t i = 0; i < placement->n_slices; i++) service->warm[placement->slices[i].node.id].at_us = 0;
  place->until_us = place->ready_us = is_there ? now_us : now_us + cold_us;
  place->must_load = cold->weights && !is_there;
  place->is_counted = false;
  if (place->state == HR__PLACE_WITHDRAWN) return reschedule(engine, service, now_us);
  if (cold->weights && is_there) {
    bool loads;
    status = hr__data_load(engine, job, (struct hr__data_load){cold->weights_set, cold->caches, true}, &loads);
    if (status != HR_OK) return status;
  }
  if (place->ready_us > now_us || (place->must_load && last_stages_us(service) > 0)) count_cold_start(service, place);
  place->state = HR__PLACE_STARTING;
  resume_decisions(engine, service);
  if (note_replicas(engine, service) != HR_OK) return hr__out_of_memory(engine);
  return reschedule(engine, service, hr__smaller(place->until_us, next_event_us(engine, service)));
}

/* Called when the weights of a replica, a data set, are loaded. */
static enum hr_status loaded(struct hr__engine *engine, hr_job job) {
  uint32_t number;
  struct hr__fleet_service *service = service_of(engine, job, &number);
  struct hr__replica_place *place = &service->places[number];
  catch_up_requests(engine, service);
  place->until_us = place->ready_us = engine->view.now_us + last_stages_us(service);
  return reschedule(engine, service, hr__smaller(place->until_us, next_event_us(engine, service)));
}

static enum hr_status stop(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                           enum hr__stop how) {
  uint32_t number;
  struct hr__fleet_service *service = service_of(engine, job, &number);
  (void)placement;
  if (!service || how == HR__STOP_END) return HR_OK;
  struct hr__replica_place *place = &service->places[number];
  catch_up_requests(engine, service);
  if (!hr__service_is_idle(&service->run, number) || place->state == HR__PLACE_READY)
    hr__service_kill(&service->run, number);
  hr__replica_close_times(service, number, engine->view.now_us);
  service->result.interruptions++;
  const bool goes = place->state == HR__PLACE_DRAINING || place->state == HR__PLACE_WITHDRAWN;
  place->state = goes ? HR__PLACE_WITHDRAWN : HR__PLACE_WAITING;
  if (note_replicas(engine, service) != HR_OK) return hr__out_of_memory(engine);
  if (goes) place->until_us = HR_NEVER_US;
  resume_decisions(engine, service);
  return reschedule(engine, service, goes ? engine->view.now_us : next_event_us(engine, service));
}

/* Called when the job of a replica gets notice. If another replica is ready, this replica gets no more requests. */
static enum hr_status notice(struct hr__engine *engine, hr_job job, struct hr__job_notice job_notice) {
  uint32_t number;
  struct hr__fleet_service *service = service_of(engine, job, &number);
  (void)job_notice;
  if (!service || service->places[number].state != HR__PLACE_READY || !hr__service_has_other(&service->run, number))
    return HR_OK;
  catch_up_requests(engine, service);
  hr__service_drain(&service->run, number);
  service->places[number].state = HR__PLACE_LEAVING;
  return HR_OK;
}

/* Called when a job has ended or was rejected. If a job was rejected for another reason than its withdrawal, its
   service can never get replicas. */
static void forget(struct hr__engine *engine, hr_job job) {
  uint32_t number;
  struct hr__fleet_service *service = service_of(engine, job, &number);
  if (!service || engine->state[job.id] != HR_JOB_REJECTED) return;
  service->places[number].state = HR__PLACE_FREE;
  service->is_rejected |= engine->reason[job.id] != HR_REASON_WITHDRAWN;
}

/* ---- Start of a run ------------------------------------------------------------------------------- */

static bool is_needed(const struct hr__engine *engine) {
  return engine->config->fleet != NULL;
}

static enum hr_status begin(struct hr__engine *engine) {
  struct hr_fleet *fleet = hr__fleet_of(engine);
  enum hr_status status = HR_OK;
  if (engine->config->stream)
    return hr_fail(engine->error, HR_BAD_INPUT, "a streamed run forgets finished jobs; services need them");
  for (uint32_t i = 0; i < hr__fleet_count(fleet) && status == HR_OK; i++)
    if (hr__fleet_is_here(fleet, engine, i)) status = hr__fleet_open_service(engine, i);
  for (uint32_t i = 0; i < hr__fleet_count(fleet) && status == HR_OK; i++) {
    if (!hr__fleet_is_here(fleet, engine, i)) continue;
    struct hr__fleet_service *service = &fleet->of[i];
    service->is_open = true;
    engine->n_open++;
    status = reschedule(engine, service, 0);
  }
  return status;
}

const struct hr__component hr__component_replica_jobs = {
    .disturbs_jobs = true,
    .is_needed = is_needed,
    .begin = begin,
    .start = start,
    .stop = stop,
    .notice = notice,
    .loaded = loaded,
    .forget = forget,
    .kinds = 1u << HR__PENDING_SERVICE,
    .advance = advance,
    .settle = hr__fleet_settle,
    .close = hr__fleet_close,
    .check = hr__fleet_check,
};
