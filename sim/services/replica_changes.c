/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * More and fewer replicas of a service. replica_jobs.c decides how many are wanted; here jobs are submitted for the
 * missing ones, and surplus ones are withdrawn or drain.
 *
 * Layout: each service has a fixed number of places, each for one replica and its job (struct hr__replica_place). The
 * places of an engine `disaggregated` are those of replicas that get requests from the router, then those that decode.
 *
 * Invariant: at most as many replicas are present as are wanted; those that drain are not counted.
 */

#include "sim/engine/engine.h"
#include "sim/services/fleet.h"

/* ---- GPU times -------------------------------------------------------------------------------------- */

int64_t hr__replica_busy_ticks(const struct hr__fleet_service *service, uint32_t number) {
  const struct hr__replica *replica = &service->run.replicas[number];
  const bool runs = replica->end_ticks != HR_NEVER_US;
  return replica->busy_ticks - (runs ? replica->end_ticks - service->run.now_ticks : 0);
}

/* GPU times of a replica since its job got its GPUs. The service must be up to date. */
static struct hr_replica_times times_of(const struct hr__fleet_service *service, uint32_t number, int64_t now_us) {
  const struct hr__replica_place *place = &service->places[number];
  const int64_t ready_us = place->ready_us < now_us ? place->ready_us : now_us;
  const int64_t ticks = hr__replica_busy_ticks(service, number) - place->busy_ticks;
  struct hr_replica_times times = {.held = (hr_amount)place->gpu_milli * (now_us - place->held_us),
                                   .starting = (hr_amount)place->gpu_milli * (ready_us - place->held_us),
                                   .busy = ((hr_amount)place->gpu_milli * ticks) >> HR__TICK_BITS};
  times.idle = times.held - times.starting - times.busy;
  /* requests of an instant are handled up to the next microsecond, but the replica can lose its GPUs at this instant */
  if (times.idle < 0 && times.idle >= -(hr_amount)place->gpu_milli) {
    times.busy += times.idle;
    times.idle = 0;
  }
  return times;
}

/* Adds the GPU times of a replica that loses its GPUs now. */
void hr__replica_close_times(struct hr__fleet_service *service, uint32_t number, int64_t now_us) {
  const struct hr_replica_times times = times_of(service, number, now_us);
  struct hr_replica_times *all = &service->result.gpu_time;
  all->held += times.held;
  all->starting += times.starting;
  all->busy += times.busy;
  all->idle += times.idle;
}

/* ---- Changes ---------------------------------------------------------------------------------------- */

/* The places of replicas that get requests from the router, or of those that only decode (engine `disaggregated`). */
struct place_range {
  uint32_t from, to;
};

static struct place_range places_of(const struct hr__fleet_service *service, bool decode) {
  return decode ? (struct place_range){service->n_heads, service->n_places} : (struct place_range){0, service->n_heads};
}

/* Returns the number of replicas that are not ending. */
static uint32_t count_present(const struct hr__fleet_service *service, struct place_range places) {
  uint32_t count = 0;
  for (uint32_t i = places.from; i < places.to; i++) {
    const uint8_t state = service->places[i].state;
    count += state == HR__PLACE_WAITING || state == HR__PLACE_STARTING || state == HR__PLACE_READY ||
             state == HR__PLACE_LEAVING;
  }
  return count;
}

static uint32_t find_place(const struct hr__fleet_service *service, struct place_range places,
                           enum hr__replica_place_state state) {
  uint32_t at = places.from;
  while (at < places.to && service->places[at].state != state) at++;
  return at < places.to ? at : HR_NONE;
}

/* Whether a replica is not needed any more, but the policy still has its job. The policy may reject the job at the end
   of the instant at which it was withdrawn. */
static uint32_t find_withdrawn(const struct hr__fleet_service *service, struct place_range places, int64_t now_us) {
  uint32_t at = places.from;
  while (at < places.to && (service->places[at].state != HR__PLACE_WITHDRAWN || service->places[at].until_us == now_us))
    at++;
  return at < places.to ? at : HR_NONE;
}

/* Withdraws a waiting job that is not needed any more. A policy that cannot reject it keeps it; the job then ends when
   it starts. */
enum hr_status hr__replica_withdraw(struct hr__engine *engine, struct hr__replica_place *place) {
  const struct hr_event event = {engine->view.now_us, HR_EVENT_WITHDRAW, HR_REASON_NONE, (hr_job){place->job}, NULL,
                                 {HR_NONE},           {HR_NONE}};
  place->state = HR__PLACE_WITHDRAWN;
  place->until_us = engine->view.now_us;
  if (engine->state[place->job] != HR_JOB_WAITING) return HR_OK;
  engine->n_events++; /* so that the policy decides at this instant */
  return hr__notify_policy(engine, &event);
}

/* The keys that make the number of replicas change less often. */
static const char *delays_of(enum hr_autoscaler policy) {
  switch (policy) {
  case HR_AUTOSCALE_SCHEDULE:
    return "fewer 'steps', or a longer 'period_s'";
  case HR_AUTOSCALE_KNATIVE:
    return "a longer 'scale_down_delay_s' or 'stable_window_s'";
  case HR_AUTOSCALE_HPA:
    return "a longer 'down.stabilization_s' or 'interval_s'";
  case HR_AUTOSCALE_KEDA:
    return "a longer 'cooldown_s' or 'interval_s'";
  case HR_AUTOSCALE_RAY_SERVE:
    return "a longer 'downscale_delay_s' or 'interval_s'";
  case HR_AUTOSCALE_NVCF:
    return "a longer 'interval_s' or 'idle_to_zero_s'";
  case HR_AUTOSCALE_SLO:
    return "a longer 'window_s', 'interval_s' or 'idle_to_zero_s'";
  case HR_AUTOSCALE_FIXED:
  case HR_N_AUTOSCALERS:
    break;
  }
  return "fewer replicas";
}

/* Reports that all rows are used, at the service that used most of them. */
static enum hr_status fail_too_many(const struct hr__engine *engine, const struct hr_fleet *fleet) {
  const struct hr_services *services = fleet->config.services;
  uint32_t worst = 0, most = 0;
  for (uint32_t i = 0; i < services->count; i++) {
    uint32_t count = 0;
    for (uint32_t k = 0; k < fleet->n_used; k++) count += fleet->rows[k].service == i;
    if (count > most) worst = i;
    if (count > most) most = count;
  }
  const struct hr_service *service = &services->at[worst];
  return hr_fail(engine->error, HR_BAD_INPUT,
                 "%sthe services start more than %" PRIu32 " replicas, of which the service '%.60s' starts %" PRIu32
                 ": its autoscaler '%s' changes the number too often; expected %s",
                 service->place ? service->place : "", fleet->n_rows - fleet->n_input, service->name, most,
                 hr_autoscaler_name(service->autoscale.policy), delays_of(service->autoscale.policy));
}

static enum hr_status submit_replica(struct hr__engine *engine, struct hr__fleet_service *service, uint32_t number) {
  struct hr_fleet *fleet = hr__fleet_of(engine);
  const uint32_t index = (uint32_t)(service - fleet->of), job = fleet->n_input + fleet->n_used;
  if (job == fleet->n_rows) return fail_too_many(engine, fleet);
  fleet->rows[fleet->n_used++] = (struct hr__fleet_row){index, number};
  hr__fleet_set_row(fleet, job, index);
  fleet->submit_us[job] = engine->view.now_us;
  engine->n_added = fleet->n_used;
  service->places[number] =
      (struct hr__replica_place){.state = HR__PLACE_WAITING, .job = job, .is_initial = !service->has_begun};
  return engine->whole ? hr__clusters_submit_replica(engine, (hr_job){job}) : hr__job_submit(engine, (hr_job){job});
}

static enum hr_status add_replicas(struct hr__engine *engine, struct hr__fleet_service *service,
                                   struct place_range places, uint32_t count) {
  enum hr_status status = HR_OK;
  for (; count > 0 && status == HR_OK && !service->is_rejected; count--) {
    uint32_t number = find_withdrawn(service, places, engine->view.now_us);
    if (number != HR_NONE) {
      service->places[number].state = HR__PLACE_WAITING;
      continue;
    }
    number = find_place(service, places, HR__PLACE_FREE);
    if (number == HR_NONE) break; /* others still drain */
    status = submit_replica(engine, service, number);
  }
  return status;
}

/* Ends the job of a replica that has no requests any more. The work of the job is set to the work done. */
enum hr_status hr__replica_job_end(struct hr__engine *engine, struct hr__fleet_service *service, uint32_t number) {
  struct hr__replica_place *place = &service->places[number];
  const hr_job job = {place->job};
  hr__replica_close_times(service, number, engine->view.now_us);
  place->state = HR__PLACE_FREE;
  hr__fleet_of(engine)->work_us[job.id] = hr_view_done_us(&engine->view, job);
  return hr__job_end(engine, job);
}

static enum hr_status drain_replica(struct hr__engine *engine, struct hr__fleet_service *service, uint32_t number) {
  struct hr__replica_place *place = &service->places[number];
  const int64_t limit_us = service->spec->drain_us;
  if (place->state == HR__PLACE_WAITING) return hr__replica_withdraw(engine, place);
  hr__service_drain(&service->run, number);
  if (place->state == HR__PLACE_STARTING || hr__service_is_idle(&service->run, number))
    return hr__replica_job_end(engine, service, number);
  place->state = HR__PLACE_DRAINING;
  place->until_us = limit_us == HR_NEVER_US ? HR_NEVER_US : engine->view.now_us + limit_us;
  return HR_OK;
}

/* Returns the replica to remove first: one that waits, then one that starts, then the ready one with the fewest
   requests; among equal ones, that with the highest number. HR_NONE: not found. */
static uint32_t first_to_go(const struct hr__fleet_service *service, struct place_range places) {
  static const uint8_t order[] = {HR__PLACE_WAITING, HR__PLACE_LEAVING, HR__PLACE_STARTING, HR__PLACE_READY};
  uint32_t best = HR_NONE;
  for (size_t k = 0; k < sizeof order && best == HR_NONE; k++)
    for (uint32_t i = places.from; i < places.to; i++)
      if (service->places[i].state == order[k] &&
          (best == HR_NONE || service->run.outstanding[i] <= service->run.outstanding[best]))
        best = i;
  return best;
}

/* Drains the surplus replicas of a range of places. */
static enum hr_status shrink(struct hr__engine *engine, struct hr__fleet_service *service, struct place_range places,
                             uint32_t wanted) {
  enum hr_status status = HR_OK;
  for (uint32_t present = count_present(service, places); present > wanted && status == HR_OK; present--)
    status = drain_replica(engine, service, first_to_go(service, places));
  return status;
}

/* Adjusts the number of replicas to the last decision. Replicas of both kinds are added alternately, in their
   proportion, because the GPUs may not suffice for all replicas. */
enum hr_status hr__replicas_adjust(struct hr__engine *engine, struct hr__fleet_service *service) {
  const struct place_range takers = places_of(service, false), decoders = places_of(service, true);
  const uint32_t n_decode = hr__service_decoders(service->spec, service->wanted), n_take = service->wanted - n_decode;
  enum hr_status status = shrink(engine, service, takers, n_take);
  if (status == HR_OK) status = shrink(engine, service, decoders, n_decode);
  uint32_t takes = count_present(service, takers), decodes = count_present(service, decoders);
  while (status == HR_OK && (takes < n_take || decodes < n_decode)) {
    const bool is_taker =
        takes < n_take && (decodes >= n_decode || (uint64_t)takes * n_decode <= (uint64_t)decodes * n_take);
    status = add_replicas(engine, service, is_taker ? takers : decoders, 1);
    takes += is_taker;
    decodes += !is_taker;
  }
  return status;
}

uint32_t hr__replicas_present(const struct hr__fleet_service *service) {
  return count_present(service, (struct place_range){0, service->n_places});
}

bool hr__replicas_are_missing(const struct hr__fleet_service *service) {
  const uint32_t n_decode = hr__service_decoders(service->spec, service->wanted);
  return count_present(service, places_of(service, false)) < service->wanted - n_decode ||
         count_present(service, places_of(service, true)) < n_decode;
}
