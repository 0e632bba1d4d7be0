/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The services of a run, the changes of their replicas, and the trace of the run. The trace has the jobs of the input,
 * followed by rows that are reserved for replicas.
 *
 * Layout: the trace of the run has its own columns, in which the jobs of the input come first. A reserved row gets the
 * values of a service when it is used. Before that, reserved row i has the values of service i modulo the number of
 * services. So code that examines all rows before the run finds the requirements of all services. After the run, the
 * number of jobs is reduced to the rows that were used.
 *
 * Time: the run begins at the first submit of a job or at the first request of a service, whichever is earlier.
 *
 * Invariant: held GPU time of the replicas = starting + busy + idle = GPU time of their jobs. No part is negative.
 */

#include "sim/services/fleet.h"
#include "base/containers.h"
#include "base/text.h"
#include "sim/engine/engine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Fleet ------------------------------------------------------------------------------------------ */

/* If replicas live for less than this time on average, the reserved rows may not suffice. */
#define SHORT_LIFE_US (30 * HR_SECOND_US)
enum { MAX_ROWS = 1 << 18, MAX_OWNED = 64, SPARE_LIVES = 100 };
/* The work of the jobs of replicas. These jobs do not end by themselves. When a job is ended, its work is set to the
   work that it has done. */
#define ENDLESS_US (INT64_C(1000000000) * HR_SECOND_US)
/* The requests must span less than this time, because times in services use 16 of 64 bits for fractions of
   microseconds. */
#define MAX_SPAN_US (INT64_C(1) << 46)

HR__NAME_FUNCTION(hr_autoscaler_name, enum hr_autoscaler, HR_AUTOSCALER_TABLE)
HR__NAME_FUNCTION(hr_scale_reason_words, enum hr_scale_reason, HR_SCALE_REASON_TABLE)

/* ---- Fleet: columns --------------------------------------------------------------------------------- */

/* Allocates zeroed memory that belongs to the fleet. Returns NULL if memory is exhausted. */
static void *own(struct hr_fleet *fleet, size_t count, size_t width) {
  void *memory = fleet->n_owned < MAX_OWNED ? calloc(count + 1, width) : NULL;
  if (memory) fleet->owned[fleet->n_owned++] = memory;
  return memory;
}

/* Returns a column with the values of the input and room for the reserved rows; NULL if memory is exhausted. */
static void *copy_column(struct hr_fleet *fleet, const void *from, size_t width) {
  char *to = own(fleet, fleet->n_rows, width);
  if (to && from && fleet->n_input) memcpy(to, from, fleet->n_input * width);
  return to;
}

static uint32_t find_name(const struct hr_names *names, const char *text) {
  for (uint32_t i = 0; i < names->count; i++)
    if (strcmp(names->text[i], text) == 0) return i;
  return HR_NONE;
}

/* The texts of a service: the member of the service, and the set of names and the column of the trace for it. */
#define TEXT_TABLE(TEXT)                                                                                               \
  TEXT(tenant, tenants, tenant)                                                                                        \
  TEXT(name, users, user)                                                                                              \
  TEXT(model, models, model)                                                                                           \
  TEXT(gpu_types, gpu_type_lists, gpu_types)                                                                           \
  TEXT(regions, region_lists, regions)                                                                                 \
  TEXT(mig_profile, mig_profiles, mig_profile)

/* Adds the texts of the services to a set of names. `member` is the offset of the text in a service. If
   some service has a text and the input has no such column, creates the column. */
static bool add_names(struct hr_fleet *fleet, struct hr_names *names, const uint32_t **column, size_t member) {
  const struct hr_services *services = fleet->config.services;
  const char **text = own(fleet, (size_t)names->count + services->count, sizeof *text);
  bool any = false;
  if (!text) return false;
  for (uint32_t i = 0; i < names->count; i++) text[i] = names->text[i];
  names->text = text;
  for (uint32_t i = 0; i < services->count; i++) {
    const char *name = *(char *const *)((const char *)&services->at[i] + member);
    any = any || name;
    if (name && find_name(names, name) == HR_NONE) text[names->count++] = name;
  }
  if (*column || !any) return true;
  uint32_t *created = own(fleet, fleet->n_rows, sizeof *created);
  for (uint32_t i = 0; created && i < fleet->n_rows; i++) created[i] = HR_NONE;
  *column = created;
  return created != NULL;
}

/* Copies the columns of the input. */
static bool copy_columns(struct hr_fleet *fleet, const struct hr_trace *input) {
  struct hr_trace *trace = &fleet->trace;
#define COPY(id, member, type, ...)                                                                                    \
  if (input && input->member && !(trace->member = copy_column(fleet, input->member, sizeof *trace->member)))           \
    return false;
#define COPY_NAMES(id, member, ...)                                                                                    \
  if (input && input->member) {                                                                                        \
    uint32_t *column = copy_column(fleet, input->member, sizeof *column);                                              \
    for (uint32_t i = fleet->n_input; column && i < fleet->n_rows; i++) column[i] = HR_NONE;                           \
    trace->member = column;                                                                                            \
    if (!column) return false;                                                                                         \
  }
  HR_JOB_COLUMN_TABLE(COPY, COPY_NAMES)
#undef COPY
#undef COPY_NAMES
  return true;
}

/* In the reserved rows, sets all columns of the input to their values for "unknown". */
static void fill_unknown(struct hr_fleet *fleet) {
  struct hr_trace *trace = &fleet->trace;
#define FILL_COLUMN(id, member, type, record_type, kind, key, column, required, unknown, ...)                          \
  if (trace->member) {                                                                                                 \
    type *to = (type *)(uintptr_t)trace->member;                                                                       \
    const record_type nothing = (unknown);                                                                             \
    for (uint32_t i = fleet->n_input; i < fleet->n_rows; i++) to[i] = (type)nothing;                                   \
  }
  HR_JOB_COLUMN_TABLE(FILL_COLUMN, HR_NO_FIELD)
#undef FILL_COLUMN
  const int64_t *const instants[] = {trace->deadline_us, trace->recorded_start_us};
  for (size_t k = 0; k < sizeof instants / sizeof *instants; k++)
    for (uint32_t i = fleet->n_input; instants[k] && i < fleet->n_rows; i++)
      ((int64_t *)(uintptr_t)instants[k])[i] = HR_UNKNOWN_US;
}

/* Creates a column if some service needs it and the input does not have it. */
#define NEED(member, needed)                                                                                           \
  if (!trace->member && (needed) && !(trace->member = own(fleet, fleet->n_rows, sizeof *trace->member))) return false

static bool create_needed(struct hr_fleet *fleet) {
  struct hr_trace *trace = &fleet->trace;
  const struct hr_services *services = fleet->config.services;
  bool priority = false, share = false, memory = false, cpu = false, mem = false, flags = false;
  for (uint32_t i = 0; i < services->count; i++) {
    const struct hr_service *service = &services->at[i];
    priority |= service->priority != 0;
    share |= service->gpu_milli && service->gpu_milli != 1000;
    memory |= service->gpu_mem_mib > 0;
    cpu |= service->cpu_milli > 0;
    mem |= service->mem_mib > 0;
    flags |= service->uninterruptible;
  }
  const bool had_share = trace->gpu_milli != NULL;
  NEED(submit_us, true);
  NEED(work_us, true);
  NEED(gpus, true);
  NEED(class_, true);
  NEED(priority, priority);
  NEED(gpu_milli, share);
  NEED(gpu_mem_mib, memory);
  NEED(cpu_milli, cpu);
  NEED(mem_mib, mem);
  NEED(flags, flags);
  for (uint32_t i = 0; share && !had_share && i < fleet->n_input; i++)
    ((uint16_t *)(uintptr_t)trace->gpu_milli)[i] = 1000;
  return true;
}

static bool create_names(struct hr_fleet *fleet) {
  struct hr_trace *trace = &fleet->trace;
#define ADD(member, names, column)                                                                                     \
  if (!add_names(fleet, &trace->names, &trace->column, offsetof(struct hr_service, member))) return false;
  TEXT_TABLE(ADD)
  return true;
}

/* Creates ids for the reserved rows, if the input has ids. They continue the ids of the input. */
static bool create_ids(struct hr_fleet *fleet, const struct hr_trace *input) {
  struct hr_trace *trace = &fleet->trace;
  const uint32_t n_added = fleet->n_rows - fleet->n_input;
  if (input && input->row) {
    uint32_t *row = copy_column(fleet, input->row, sizeof *row);
    for (uint32_t i = fleet->n_input; row && i < fleet->n_rows; i++) row[i] = i;
    trace->row = row;
    if (!row) return false;
  }
  if (input && input->id_number) {
    int64_t *number = copy_column(fleet, input->id_number, sizeof *number), last = 0;
    for (uint32_t i = 0; number && i < fleet->n_input; i++)
      if (number[i] > last) last = number[i];
    for (uint32_t i = fleet->n_input; number && i < fleet->n_rows; i++) number[i] = ++last;
    trace->id_number = number;
    return number != NULL;
  }
  if (!input || !input->id_text) return true;
  enum { ID_BYTES = 20 };
  const char **text = copy_column(fleet, input->id_text, sizeof *text);
  char *ids = own(fleet, n_added, ID_BYTES);
  for (uint32_t i = 0; text && ids && i < n_added; i++) {
    snprintf(&ids[(size_t)i * ID_BYTES], ID_BYTES, "replica-%" PRIu32, i + 1);
    text[fleet->n_input + i] = &ids[(size_t)i * ID_BYTES];
  }
  trace->id_text = text;
  return text && ids;
}

#define SET(member, type, value)                                                                                       \
  if (trace->member) ((type *)(uintptr_t)trace->member)[row] = (type)(value)

/* Sets the columns of an unused row to the values of a service. */
static void fleet_set_row(struct hr_fleet *fleet, uint32_t row, uint32_t service) {
  const struct hr_service *spec = &fleet->config.services->at[service];
  struct hr_trace *trace = &fleet->trace;
  SET(gpus, uint32_t, spec->gpus);
  SET(class_, uint8_t, spec->class_);
  SET(priority, int32_t, spec->priority);
  SET(gpu_milli, uint16_t, spec->gpu_milli ? spec->gpu_milli : 1000);
  SET(gpu_mem_mib, uint64_t, spec->gpu_mem_mib);
  SET(cpu_milli, uint32_t, spec->cpu_milli);
  SET(mem_mib, uint64_t, spec->mem_mib);
  SET(min_gpus, uint32_t, spec->gpus);
  SET(max_gpus, uint32_t, spec->gpus);
  SET(flags, uint8_t, spec->uninterruptible ? HR_JOB_NOT_INTERRUPTIBLE : 0);
#define SET_NAME(member, names, column)                                                                                \
  SET(column, uint32_t, spec->member ? find_name(&trace->names, spec->member) : HR_NONE);
  TEXT_TABLE(SET_NAME)
}

/* ---- Changes of replicas ---------------------------------------------------------------------------- */

/*
 * replica_jobs.c sets the number of wanted replicas of a service. The functions below submit jobs for missing replicas,
 * and withdraw or drain surplus replicas.
 *
 * Layout: each service has a fixed number of places, each for one replica and its job (struct hr__replica_place). With
 * the engine `disaggregated`, the first places are for replicas that get requests from the router, the others for
 * replicas that only decode.
 *
 * Invariant: the number of present replicas is at most the number of wanted replicas. Replicas that drain are not
 * counted.
 */

/* ---- Changes of replicas: GPU times ----------------------------------------------------------------- */

int64_t hr__replica_busy_ticks(const struct hr__fleet_service *service, uint32_t number) {
  const struct hr__replica *replica = &service->run.replicas[number];
  const bool runs = replica->end_ticks != HR_NEVER_US;
  return replica->busy_ticks - (runs ? replica->end_ticks - service->run.now_ticks : 0);
}

/* Returns the GPU times of a replica since its job got its GPUs. The service must have been advanced to the present
   time. */
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

void hr__replica_close_times(struct hr__fleet_service *service, uint32_t number, int64_t now_us) {
  const struct hr_replica_times times = times_of(service, number, now_us);
  struct hr_replica_times *all = &service->result.gpu_time;
  all->held += times.held;
  all->starting += times.starting;
  all->busy += times.busy;
  all->idle += times.idle;
}

/* ---- Changes of replicas: changes ------------------------------------------------------------------- */

/* A range of places, `from` to `to` - 1: those of the replicas that get requests from the router, or those of the
   replicas that only decode (engine `disaggregated`). */
struct place_range {
  uint32_t from, to;
};

static struct place_range places_of(const struct hr__fleet_service *service, bool decode) {
  return decode ? (struct place_range){service->n_heads, service->n_places} : (struct place_range){0, service->n_heads};
}

/* Returns the number of replicas in a range of places that wait for GPUs, start, are ready, or have notice. */
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

/* Returns the first withdrawn replica with a job that still waits; HR_NONE: none. Replicas that were withdrawn at this
   instant are skipped, because the policy may reject their jobs until the end of the instant. */
static uint32_t find_withdrawn(const struct hr__fleet_service *service, struct place_range places, int64_t now_us) {
  uint32_t at = places.from;
  while (at < places.to && (service->places[at].state != HR__PLACE_WITHDRAWN || service->places[at].until_us == now_us))
    at++;
  return at < places.to ? at : HR_NONE;
}

/* Withdraws a waiting job that is not needed any more. If the policy does not reject the job, the job ends when it
   starts. */
enum hr_status hr__replica_withdraw(struct hr__engine *engine, struct hr__replica_place *place) {
  place->state = HR__PLACE_WITHDRAWN;
  place->until_us = engine->view.now_us;
  if (engine->state[place->job] != HR_JOB_WAITING) return HR_OK;
  engine->n_events++; /* so that the policy decides at this instant */
  return hr__notify_policy(engine,
                           HR__JOB_EVENT(engine, HR_EVENT_WITHDRAW, HR_REASON_NONE, (hr_job){place->job}, NULL));
}

/* Text for an error message: the keys of each autoscaler that make the number of replicas change less often. */
static const char *const delays[HR_N_AUTOSCALERS] = {
    [HR_AUTOSCALE_FIXED] = "fewer replicas",
    [HR_AUTOSCALE_SCHEDULE] = "fewer 'steps', or a longer 'period_s'",
    [HR_AUTOSCALE_KNATIVE] = "a longer 'scale_down_delay_s' or 'stable_window_s'",
    [HR_AUTOSCALE_HPA] = "a longer 'down.stabilization_s' or 'interval_s'",
    [HR_AUTOSCALE_KEDA] = "a longer 'cooldown_s' or 'interval_s'",
    [HR_AUTOSCALE_RAY_SERVE] = "a longer 'downscale_delay_s' or 'interval_s'",
    [HR_AUTOSCALE_NVCF] = "a longer 'interval_s' or 'idle_to_zero_s'",
    [HR_AUTOSCALE_SLO] = "a longer 'window_s', 'interval_s' or 'idle_to_zero_s'",
};

/* Fails because all rows are used. The error names the service that used the most rows. */
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
                 hr_autoscaler_name(service->autoscale.policy), delays[service->autoscale.policy]);
}

static enum hr_status submit_replica(struct hr__engine *engine, struct hr__fleet_service *service, uint32_t number) {
  struct hr_fleet *fleet = hr__fleet_of(engine);
  const uint32_t index = (uint32_t)(service - fleet->of), job = fleet->n_input + fleet->n_used;
  if (job == fleet->n_rows) return fail_too_many(engine, fleet);
  fleet->rows[fleet->n_used++] = (struct hr__fleet_row){index, number};
  fleet_set_row(fleet, job, index);
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
    if (number == HR_NONE) break; /* some places have replicas that drain or were withdrawn at this instant */
    status = submit_replica(engine, service, number);
  }
  return status;
}

/* Ends the job of a replica that has no requests. The work of the job is set to the work that it has done. */
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

/* Returns the replica to remove first; HR_NONE: none. Replicas that wait for GPUs are first, then replicas with notice,
   then starting replicas, then ready replicas. Among replicas in the same state, the one with the fewest requests is
   first; among those with equal numbers of requests, the one with the highest number. */
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

/* Drains or withdraws the surplus replicas of a range of places. */
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

/* ---- Fleet: time ------------------------------------------------------------------------------------ */

/* Shifts the times of the input, so that the run can begin before the first submit. */
static void shift(struct hr_fleet *fleet, int64_t by_us) {
  struct hr_trace *trace = &fleet->trace;
  const int64_t *const columns[] = {trace->submit_us, trace->deadline_us, trace->recorded_start_us};
  for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
    for (uint32_t i = 0; columns[k] && i < fleet->n_input; i++)
      if (columns[k][i] != HR_UNKNOWN_US) ((int64_t *)(uintptr_t)columns[k])[i] += by_us;
  trace->origin_us -= by_us;
}

/* Sets `origin_us`, the start of the run in the clock of the requests, and the time from there to the last request. */
static enum hr_status find_origin(struct hr_fleet *fleet, const struct hr_trace *input, int64_t *span_us,
                                  struct hr_error *error) {
  const struct hr_fleet_config *config = &fleet->config;
  const bool has_jobs = input && fleet->n_input > 0;
  int64_t first_us = has_jobs ? hr_trace_clock_us(input) : HR_NEVER_US, last_us = INT64_MIN;
  for (uint32_t i = 0; i < config->services->count; i++) {
    const struct hr_service_requests *requests = &config->requests[i];
    if (!requests->count) continue;
    if (requests->arrival_us[0] < first_us) first_us = requests->arrival_us[0];
    if (requests->arrival_us[requests->count - 1] > last_us) last_us = requests->arrival_us[requests->count - 1];
  }
  if (first_us == HR_NEVER_US) first_us = 0;
  *span_us = last_us > first_us ? last_us - first_us : 0;
  if (*span_us >= MAX_SPAN_US)
    return hr_fail(error, HR_BAD_INPUT, "the requests of the services, and the jobs, span more than two years");
  if (has_jobs && input->dated && first_us < 0)
    return hr_fail(error, HR_BAD_INPUT, "requests arrive before the first submit of the job trace, which has dates");
  fleet->origin_us = first_us;
  return HR_OK;
}

/* Returns the number of rows to reserve. */
static uint32_t rows_needed(const struct hr_fleet *fleet, int64_t span_us) {
  double rows = 0;
  const double lives = (double)span_us / (double)SHORT_LIFE_US + SPARE_LIVES;
  for (uint32_t i = 0; i < fleet->config.services->count; i++) {
    const struct hr_autoscale *scale = &fleet->config.services->at[i].autoscale;
    rows += scale->policy == HR_AUTOSCALE_FIXED ? scale->max : scale->max * lives;
  }
  return rows < MAX_ROWS ? (uint32_t)rows : MAX_ROWS;
}

/* ---- Fleet: creation -------------------------------------------------------------------------------- */

static bool create_trace(struct hr_fleet *fleet, const struct hr_trace *input) {
  struct hr_trace *trace = &fleet->trace;
  static const char source[] = "services", format[] = "memory";
  if (input) *trace = *input;
  if (!input) *trace = (struct hr_trace){.source = source, .format = format, .origin_us = fleet->origin_us};
  trace->n_jobs = fleet->n_rows;
  trace->n_added = fleet->n_rows - fleet->n_input;
  trace->mapped = false;
  if (!copy_columns(fleet, input)) return false;
  fill_unknown(fleet);
  if (!create_needed(fleet) || !create_names(fleet) || !create_ids(fleet, input)) return false;
  fleet->submit_us = (int64_t *)(uintptr_t)trace->submit_us;
  fleet->work_us = (int64_t *)(uintptr_t)trace->work_us;
  if (input && fleet->n_input) shift(fleet, hr_trace_clock_us(input) - fleet->origin_us);
  for (uint32_t i = fleet->n_input; i < fleet->n_rows; i++) {
    fleet_set_row(fleet, i, (i - fleet->n_input) % fleet->config.services->count);
    fleet->submit_us[i] = HR_MAX_INPUT_US;
    fleet->work_us[i] = ENDLESS_US;
  }
  return true;
}

enum hr_status hr_fleet_create(const struct hr_fleet_config *config, struct hr_fleet **created,
                               struct hr_error *error) {
  struct hr_fleet *fleet = calloc(1, sizeof *fleet);
  *created = fleet;
  if (!fleet) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  fleet->config = *config;
  fleet->n_input = config->trace ? config->trace->n_jobs : 0;
  int64_t span_us;
  const enum hr_status status = find_origin(fleet, config->trace, &span_us, error);
  if (status != HR_OK) return status;
  fleet->n_rows = fleet->n_input + rows_needed(fleet, span_us);
  const bool is_complete =
      HR__ARRAY_MAKE(fleet->owned, MAX_OWNED) && HR__ARRAY_MAKE(fleet->of, config->services->count) &&
      HR__ARRAY_MAKE(fleet->rows, fleet->n_rows - fleet->n_input) && create_trace(fleet, config->trace);
  return is_complete ? HR_OK : hr_fail(error, HR_NO_MEMORY, "out of memory for the replicas of the services");
}

/* Returns the service to which requests of a service can spill over directly; HR_NONE: none. */
static uint32_t target_of(const struct hr_services *services, uint32_t service) {
  const struct hr_service_spill *spill = &services->at[service].routing.spill;
  return spill->to ? spill->service : HR_NONE;
}

/* Returns the number of steps of spill-over from a service to another one, or back to itself; 0: not reachable. */
static uint32_t count_hops(const struct hr_services *services, uint32_t from, uint32_t to) {
  uint32_t at = target_of(services, from), n = 1;
  while (at != HR_NONE && at != to && n <= services->count) at = target_of(services, at), n++;
  return at == to && at != HR_NONE ? n : 0;
}

/* Returns the maximum number of other services to which a request of a service can go, one after another. */
static uint32_t longest_way(const struct hr_services *services, uint32_t from) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < services->count; i++) n += i != from && count_hops(services, from, i) > 0;
  return n;
}

/* Returns an upper bound for the number of requests of a service, including those from other services. */
static uint32_t most_requests(const struct hr_fleet *fleet, uint32_t service) {
  const struct hr_services *services = fleet->config.services;
  uint64_t most = fleet->config.requests[service].count;
  for (uint32_t i = 0; i < services->count; i++)
    if (i != service && count_hops(services, i, service)) most += fleet->config.requests[i].count;
  return most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

static void finish_service(struct hr__fleet_service *service) {
  hr_service_result_finish(&service->result);
  free(service->feeds);
  free(service->links.upstream);
  free(service->links.circle);
  free(service->received.arrival_us);
  free(service->received.prompt_tokens);
  free(service->received.output_tokens);
  free(service->received.cached_tokens);
}

void hr_fleet_destroy(struct hr_fleet *fleet) {
  if (!fleet) return;
  for (uint32_t i = 0; i < fleet->n_owned; i++) free(fleet->owned[i]);
  for (uint32_t i = 0; fleet->of && i < fleet->config.services->count; i++) finish_service(&fleet->of[i]);
  free(fleet->owned);
  free(fleet->of);
  free(fleet->rows);
  free(fleet);
}

const struct hr_trace *hr_fleet_trace(const struct hr_fleet *fleet) {
  return &fleet->trace;
}

int64_t hr_fleet_origin_us(const struct hr_fleet *fleet) {
  return fleet->origin_us;
}

const struct hr_service_requests *hr_fleet_requests(const struct hr_fleet *fleet, uint32_t service) {
  bool gets_more = false;
  for (uint32_t i = 0; i < fleet->config.services->count; i++)
    gets_more = gets_more || target_of(fleet->config.services, i) == service;
  return gets_more ? &fleet->of[service].received : &fleet->config.requests[service];
}

uint32_t hr_fleet_service_of(const struct hr_fleet *fleet, hr_job job) {
  return hr__fleet_has(fleet, job.id) ? fleet->rows[job.id - fleet->n_input].service : HR_NONE;
}

const struct hr_service_result *hr_fleet_result(const struct hr_fleet *fleet, uint32_t service) {
  return &fleet->of[service].result;
}

/* ---- Fleet: start of a run -------------------------------------------------------------------------- */

/* Sets the feeds of a service: the services with requests that can spill over directly to this one. */
static bool find_feeds(struct hr_fleet *fleet, uint32_t index) {
  struct hr__fleet_service *service = &fleet->of[index];
  for (uint32_t i = 0; i < hr__fleet_count(fleet); i++) {
    if (target_of(fleet->config.services, i) != index) continue;
    if (!service->feeds && !(service->feeds = calloc(hr__fleet_count(fleet), sizeof *service->feeds))) return false;
    service->feeds[service->n_feeds++].from = &fleet->of[i].run;
  }
  return true;
}

static bool push_link(struct hr__service_run ***list, uint32_t *n, uint32_t most, struct hr__service_run *run) {
  if (!*list && !(*list = calloc(most, sizeof **list))) return false;
  (*list)[(*n)++] = run;
  return true;
}

/* Sets the place of a service in the graph of spill-over. */
static bool find_links(struct hr_fleet *fleet, uint32_t index) {
  const struct hr_services *services = fleet->config.services;
  struct hr__spill_links *links = &fleet->of[index].links;
  const bool in_circle = count_hops(services, index, index) > 0;
  links->n_hops = longest_way(services, index);
  bool is_complete = true;
  for (uint32_t i = 0; i < hr__fleet_count(fleet) && is_complete; i++) {
    struct hr__service_run *run = &fleet->of[i].run;
    const bool comes = count_hops(services, i, index) > 0, goes = count_hops(services, index, i) > 0;
    if (comes && i != index) is_complete = push_link(&links->upstream, &links->n_upstream, services->count, run);
    if (is_complete && in_circle && comes && goes)
      is_complete = push_link(&links->circle, &links->n_circle, services->count, run);
  }
  return is_complete;
}

enum hr_status hr__fleet_open_service(struct hr__engine *engine, uint32_t index) {
  struct hr_fleet *fleet = hr__fleet_of(engine);
  struct hr__fleet_service *service = &fleet->of[index];
  if (!find_feeds(fleet, index) || !find_links(fleet, index)) return hr__out_of_memory(engine);
  const struct hr_service *spec = &fleet->config.services->at[index];
  service->spec = spec;
  const uint32_t times = spec->autoscale.policy == HR_AUTOSCALE_FIXED ? 1 : 2;
  const uint32_t n_decoders = times * hr__service_decoders(spec, spec->autoscale.max);
  service->n_places = times * spec->autoscale.max;
  service->n_heads = service->n_places - n_decoders;
  service->event_us = service->tick_us = HR_NEVER_US;
  const struct hr__service_config config = {.spec = spec,
                                            .requests = &fleet->config.requests[index],
                                            .n_replicas = service->n_places,
                                            .n_decoders = n_decoders,
                                            .origin_us = fleet->origin_us,
                                            .seed = fleet->config.seed + index,
                                            .steps = fleet->config.steps || engine->config->check,
                                            .feeds = service->feeds,
                                            .n_feeds = service->n_feeds,
                                            .most = most_requests(fleet, index),
                                            .received = &service->received,
                                            .links = service->links};
  if (!HR__ARRAY_MAKE(service->places, service->n_places) || !HR__ARRAY_MAKE(service->warm, engine->cluster.n_nodes))
    return hr__out_of_memory(engine);
  const enum hr_status status = hr__service_open(&service->run, &config, &service->result, engine->error);
  if (status != HR_OK) return status;
  return hr__scaler_open(&service->scaler, spec, service->n_places) ? HR_OK : hr__out_of_memory(engine);
}

/* ---- Fleet: end ------------------------------------------------------------------------------------- */

static uint64_t digest_result(uint64_t digest, const struct hr_service_result *result) {
  for (uint32_t i = 0; i < result->count; i++) {
    digest = hr__digest_add(digest, (uint64_t)result->state[i] << 32 | result->replica[i]);
    digest = hr__digest_add(digest, (uint64_t)result->first_token_us[i]);
    digest = hr__digest_add(digest, (uint64_t)result->end_us[i]);
  }
  return digest;
}

void hr__fleet_settle(struct hr__engine *engine) {
  struct hr_fleet *fleet = hr__fleet_of(engine);
  for (uint32_t i = 0; i < hr__fleet_count(fleet); i++) {
    struct hr__fleet_service *service = &fleet->of[i];
    if (!hr__fleet_is_here(fleet, engine, i)) continue;
    if (service->is_open) hr__service_advance(&service->run, engine->view.now_us + fleet->origin_us + 1);
    for (uint32_t k = 0; k < service->n_places; k++)
      if (hr__place_runs(&service->places[k])) hr__replica_close_times(service, k, engine->view.now_us);
    engine->digest = digest_result(engine->digest, &service->result);
    if (engine->whole) engine->whole->digest = digest_result(engine->whole->digest, &service->result);
  }
  fleet->trace.n_jobs = fleet->n_input + fleet->n_used;
  fleet->trace.n_added = fleet->n_used;
}

void hr__fleet_close(struct hr__engine *engine) {
  struct hr_fleet *fleet = hr__fleet_of(engine);
  for (uint32_t i = 0; fleet && i < hr__fleet_count(fleet); i++) {
    struct hr__fleet_service *service = &fleet->of[i];
    if (!hr__fleet_is_here(fleet, engine, i)) continue;
    if (service->run.spec) hr__service_close(&service->run, NULL);
    if (service->scaler.spec) hr__scaler_close(&service->scaler);
    free(service->places);
    free(service->warm);
    service->run = (struct hr__service_run){0};
    service->places = NULL;
    service->warm = NULL;
  }
}

/* ---- Fleet: checked mode ---------------------------------------------------------------------------- */

/* Returns whether a replica that has ended may still have requests. This is the case with `orca-splitwise`: the last
   requests of a service can wait for each other's memory forever. Then no replica runs iterations, and the service
   ends. */
static bool is_deadlocked(const struct hr__fleet_service *service, uint32_t number) {
  return service->spec->engine == HR_SERVICE_ORCA_SPLITWISE && !service->is_open &&
         hr__service_wake_us(&service->run, number) == HR_NEVER_US;
}

static enum hr_status check_place(const struct hr__engine *engine, const struct hr__fleet_service *service,
                                  uint32_t number) {
  const struct hr__replica_place *place = &service->places[number];
  const bool has_work = service->run.outstanding[number] > 0;
  if (has_work && place->state < HR__PLACE_READY && !is_deadlocked(service, number))
    return hr__broken(engine, "service '%.60s': replica %" PRIu32 " has requests and is not ready", service->spec->name,
                      number);
  if (place->state == HR__PLACE_FREE) return HR_OK;
  const enum hr_job_state state = (enum hr_job_state)engine->state[place->job];
  const bool may_run = hr__place_runs(place) || place->state == HR__PLACE_WITHDRAWN;
  if ((state == HR_JOB_RUNNING && !may_run &&
       hr__attempt(engine, (hr_job){place->job})->begun_us != engine->view.now_us) ||
      (hr__place_runs(place) && state != HR_JOB_RUNNING))
    return hr__broken(engine, "service '%.60s': the state of replica %" PRIu32 " and of its job differ",
                      service->spec->name, number);
  return HR_OK;
}

/* Checks that the parts of a service's GPU time add up. */
static enum hr_status check_parts(const struct hr__engine *engine, const struct hr__fleet_service *service) {
  const struct hr_replica_times *times = &service->result.gpu_time;
  const bool add_up = times->held == times->starting + times->busy + times->idle;
  if (add_up && times->starting >= 0 && times->busy >= 0 && times->idle >= 0) return HR_OK;
  return hr__broken(engine, "service '%.60s': the GPU times of its replicas do not add up", service->spec->name);
}

/* Checks that the GPU time of all replicas equals the GPU time of their jobs. */
static enum hr_status check_times(const struct hr__engine *engine) {
  const struct hr_fleet *fleet = hr__fleet_of(engine);
  hr_amount held = 0, of_jobs = 0;
  for (uint32_t i = 0; i < hr__fleet_count(fleet); i++) {
    const struct hr__fleet_service *service = &fleet->of[i];
    const struct hr_replica_times *times = &service->result.gpu_time;
    if (!hr__fleet_is_here(fleet, engine, i)) continue;
    const enum hr_status status = check_parts(engine, service);
    if (status != HR_OK) return status;
    held += times->held;
    for (uint32_t k = 0; k < service->n_places; k++)
      if (hr__place_runs(&service->places[k]))
        held += (hr_amount)service->places[k].gpu_milli * (engine->view.now_us - service->places[k].held_us);
  }
  for (uint32_t i = 0; i < fleet->n_used; i++) {
    const uint32_t job = fleet->n_input + i;
    if (!hr__fleet_is_here(fleet, engine, fleet->rows[i].service)) continue;
    const struct hr_job_accounting account = hr_view_accounting(&engine->view, (hr_job){job});
    const struct hr_gpu_times *times = &account.milli_us;
    of_jobs += times->kept + times->lost + times->saving + times->restarting + times->hanging + times->data;
    const struct hr__engine_attempt *attempt = hr__attempt(engine, (hr_job){job});
    if (engine->state[job] == HR_JOB_RUNNING)
      of_jobs += (hr_amount)attempt->gpu_milli * (engine->view.now_us - attempt->phase_us + attempt->unkept_us);
  }
  return held == of_jobs ? HR_OK : hr__broken(engine, "the GPU times of replicas and of their jobs differ");
}

enum hr_status hr__fleet_check_settled(const struct hr__engine *engine) {
  const struct hr_fleet *fleet = hr__fleet_of(engine);
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < hr__fleet_count(fleet) && status == HR_OK; i++) status = check_parts(engine, &fleet->of[i]);
  return status;
}

enum hr_status hr__fleet_check(const struct hr__engine *engine, const struct hr__running *running) {
  const struct hr_fleet *fleet = hr__fleet_of(engine);
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < hr__fleet_count(fleet) && status == HR_OK; i++) {
    const struct hr__fleet_service *service = &fleet->of[i];
    if (!hr__fleet_is_here(fleet, engine, i)) continue;
    uint64_t sum = service->run.waiting.count;
    for (uint32_t k = 0; k < service->n_places && status == HR_OK; k++) {
      sum += service->run.outstanding[k];
      status = check_place(engine, service, k);
    }
    const struct hr__service_run *run = &service->run;
    const uint64_t gone = run->n_completed + run->n_refused + run->n_timed_out + run->n_spilled;
    if (status == HR_OK && (sum != run->n_outstanding || (run->spec && run->next != gone + sum)))
      status = hr__broken(engine, "service '%.60s': requests are lost", service->spec->name);
  }
  return status == HR_OK && running->every_job ? check_times(engine) : status;
}
