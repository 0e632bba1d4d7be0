/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs an inference service: requests arrive, the router gives each to a replica, and replicas run iterations.
 *
 * Layout: a heap has the replicas that run an iteration, by its end and then by number. Order at one instant: arrivals,
 * then ends of iterations; with `orca-splitwise` the ends are first, as in the simulator that it follows. A replica
 * without work starts an iteration as soon as a request arrives, with all requests of that instant. A replica runs
 * several iterations of an unchanged batch as one event; an arrival that can join ends them earlier.
 */

#include "headroom/unstable/services.h"

#include "base/random.h"
#include "sim/services/replica.h"

#include <stdlib.h>

#define NAME_OF(name, text, ...) [name] = (text),
static const char *const engine_names[] = {HR_SERVICE_ENGINE_TABLE(NAME_OF)};
static const char *const router_names[] = {HR_SERVICE_ROUTER_TABLE(NAME_OF)};
#undef NAME_OF
#define NAME_OF(name, text) [name] = (text),
static const char *const state_names[] = {HR_REQUEST_STATE_TABLE(NAME_OF)};
#undef NAME_OF

const char *hr_service_engine_name(enum hr_service_engine engine) {
  return engine_names[engine];
}

const char *hr_service_router_name(enum hr_service_router router) {
  return router_names[router];
}

const char *hr_request_state_name(enum hr_request_state state) {
  return state_names[state];
}

struct service {
  const struct hr_service *spec;
  const struct hr_service_requests *requests;
  struct hr_service_result *result;
  struct hr__sequence *sequences;
  struct hr__replica *replicas;
  uint32_t *outstanding;  /* by replica: requests that are not complete */
  uint64_t *tokens;       /* by replica: prompts that wait, and one for each decoding sequence */
  uint32_t *heap, n_heap; /* replicas that run an iteration */
  uint32_t *place;        /* by replica: its place in the heap */
  bool steps;
  uint32_t *touched, n_touched; /* replicas that got a request at this instant */
  uint64_t n_routed;
  struct hr__stream stream;
  int64_t now_ticks;
};

/* ---- The heap --------------------------------------------------------------------------------------- */

static bool ends_before(const struct service *service, uint32_t a, uint32_t b) {
  const int64_t end_a = service->replicas[a].end_ticks, end_b = service->replicas[b].end_ticks;
  return end_a != end_b ? end_a < end_b : a < b;
}

static void heap_set(struct service *service, uint32_t at, uint32_t replica) {
  service->heap[at] = replica;
  service->place[replica] = at;
}

/* Moves a replica with an earlier end from its place towards the top. */
static void heap_raise(struct service *service, uint32_t at, uint32_t replica) {
  for (; at > 0 && ends_before(service, replica, service->heap[(at - 1) / 2]); at = (at - 1) / 2)
    heap_set(service, at, service->heap[(at - 1) / 2]);
  heap_set(service, at, replica);
}

static uint32_t heap_pop(struct service *service) {
  const uint32_t top = service->heap[0], last = service->heap[--service->n_heap];
  uint32_t at = 0;
  for (uint32_t child = 1; child < service->n_heap; child = 2 * at + 1) {
    if (child + 1 < service->n_heap && ends_before(service, service->heap[child + 1], service->heap[child])) child++;
    if (!ends_before(service, service->heap[child], last)) break;
    heap_set(service, at, service->heap[child]);
    at = child;
  }
  if (service->n_heap) heap_set(service, at, last);
  return top;
}

/* ---- Routing ---------------------------------------------------------------------------------------- */

static uint32_t draw(struct service *service) {
  return (uint32_t)(hr__stream_uniform(&service->stream) * (double)service->spec->replicas);
}

static uint64_t load_of(const struct service *service, uint32_t replica) {
  switch (service->spec->router) {
  case HR_SERVICE_LEAST_WAITING:
    return service->replicas[replica].waiting.count;
  case HR_SERVICE_TOKEN_JSQ:
    return service->tokens[replica];
  default:
    return service->outstanding[replica];
  }
}

static uint32_t power_of_two(struct service *service) {
  const uint32_t n = service->spec->replicas, first = draw(service);
  if (n == 1) return first;
  uint32_t second = (uint32_t)(hr__stream_uniform(&service->stream) * (double)(n - 1));
  if (second >= first) second++;
  if (service->outstanding[first] != service->outstanding[second])
    return service->outstanding[first] < service->outstanding[second] ? first : second;
  return hr__stream_uniform(&service->stream) < 0.5 ? first : second;
}

static uint32_t route(struct service *service) {
  if (service->spec->router == HR_SERVICE_ROUND_ROBIN) return (uint32_t)(service->n_routed++ % service->spec->replicas);
  if (service->spec->router == HR_SERVICE_RANDOM) return draw(service);
  if (service->spec->router == HR_SERVICE_POWER_OF_TWO) return power_of_two(service);
  uint32_t best = 0;
  for (uint32_t i = 1; i < service->spec->replicas; i++)
    if (load_of(service, i) < load_of(service, best)) best = i;
  return best;
}

/* ---- Events ----------------------------------------------------------------------------------------- */

static int64_t rounded_us(int64_t ticks) {
  return (ticks + (INT64_C(1) << (HR__TICK_BITS - 1))) >> HR__TICK_BITS;
}

static bool ends_first(const struct service *service) {
  return service->spec->engine == HR_SERVICE_ORCA_SPLITWISE;
}

/* A request has arrived at a replica that repeats its batch: the batch changes at the end of the present iteration. */
static void cut(struct service *service, uint32_t number) {
  struct hr__replica *replica = &service->replicas[number];
  hr__replica_cut(replica, service->now_ticks, ends_first(service));
  replica->is_open = false;
  heap_raise(service, service->place[number], number);
}

static void arrive(struct service *service, uint32_t id) {
  const uint32_t prompt = service->requests->prompt_tokens[id], output = service->requests->output_tokens[id];
  struct hr_service_result *result = service->result;
  result->scheduled_us[id] = result->first_token_us[id] = result->end_us[id] = service->requests->arrival_us[id];
  result->replica[id] = HR_NONE;
  result->state[id] = HR_REQUEST_REFUSED;
  if (hr_service_refusal(service->spec, prompt, output)) return;
  const uint32_t number = route(service);
  struct hr__replica *replica = &service->replicas[number];
  service->sequences[id] = (struct hr__sequence){.prompt = prompt, .total = prompt + output};
  result->replica[id] = number;
  result->scheduled_us[id] = result->first_token_us[id] = result->end_us[id] = HR_NEVER_US;
  result->state[id] = HR_REQUEST_UNFINISHED;
  replica->no_memory |= !hr__queue_push(&replica->waiting, id);
  service->outstanding[number]++;
  service->tokens[number] += prompt;
  if (replica->end_ticks != HR_NEVER_US) {
    if (replica->n_repeats > 1 && replica->is_open) cut(service, number);
    return;
  }
  for (uint32_t i = 0; i < service->n_touched; i++)
    if (service->touched[i] == number) return;
  service->touched[service->n_touched++] = number;
}

static void begin(struct service *service, uint32_t number) {
  struct hr__replica *replica = &service->replicas[number];
  hr__replica_form(replica, service->steps);
  replica->end_ticks = HR_NEVER_US;
  if (!replica->n_batch) return;
  for (uint32_t i = 0; replica->load.prompts && i < replica->n_batch; i++) {
    int64_t *scheduled_us = &service->result->scheduled_us[replica->batch[i].id];
    if (*scheduled_us == HR_NEVER_US) *scheduled_us = rounded_us(service->now_ticks);
  }
  const int64_t ticks = hr__replica_cost(replica, replica->n_repeats);
  replica->busy_ticks += ticks;
  replica->begin_ticks = service->now_ticks;
  replica->end_ticks = service->now_ticks + ticks;
  heap_raise(service, service->n_heap++, number);
}

static void on_token(void *context, uint32_t id, bool is_first, bool is_last) {
  struct service *service = context;
  struct hr_service_result *result = service->result;
  const uint32_t number = result->replica[id];
  /* a prompt that is computed again does not yield another first token */
  if (is_first && result->first_token_us[id] == HR_NEVER_US)
    result->first_token_us[id] = rounded_us(service->now_ticks);
  if (is_first) {
    const uint32_t prompt = service->requests->prompt_tokens[id];
    if (result->restarts[id] == 0) service->tokens[number] -= prompt - 1;
  }
  if (!is_last) return;
  result->end_us[id] = rounded_us(service->now_ticks);
  result->state[id] = HR_REQUEST_COMPLETED;
  service->outstanding[number]--;
  service->tokens[number]--;
}

static void end(struct service *service) {
  const uint32_t number = heap_pop(service);
  service->now_ticks = service->replicas[number].end_ticks;
  hr__replica_end(&service->replicas[number], on_token, service);
  begin(service, number);
}

/* Handles all requests that arrive at one instant. Returns the next request. */
static uint32_t arrivals(struct service *service, uint32_t next) {
  const int64_t at_us = service->requests->arrival_us[next];
  service->now_ticks = HR__TICKS(at_us);
  service->n_touched = 0;
  while (next < service->requests->count && service->requests->arrival_us[next] == at_us) arrive(service, next++);
  for (uint32_t i = 0; i < service->n_touched; i++) begin(service, service->touched[i]);
  return next;
}

static void run(struct service *service) {
  const bool is_end_first = ends_first(service);
  uint32_t next = 0;
  while (next < service->requests->count || service->n_heap) {
    const bool any = next < service->requests->count;
    const int64_t end_ticks = service->n_heap ? service->replicas[service->heap[0]].end_ticks : HR_NEVER_US;
    const int64_t arrival_ticks = any ? HR__TICKS(service->requests->arrival_us[next]) : HR_NEVER_US;
    if (any && (is_end_first ? arrival_ticks < end_ticks : arrival_ticks <= end_ticks))
      next = arrivals(service, next);
    else
      end(service);
  }
}

/* ---- Memory ----------------------------------------------------------------------------------------- */

static bool create_replicas(struct service *service) {
  const uint32_t n = service->spec->replicas, room = service->spec->limits.max_sequences;
  service->replicas = calloc(n, sizeof *service->replicas);
  service->outstanding = calloc(n, sizeof *service->outstanding);
  service->tokens = calloc(n, sizeof *service->tokens);
  service->heap = calloc(n, sizeof *service->heap);
  service->place = calloc(n, sizeof *service->place);
  service->touched = calloc(n, sizeof *service->touched);
  service->sequences = calloc((size_t)service->requests->count + 1, sizeof *service->sequences);
  if (!service->replicas || !service->outstanding || !service->tokens || !service->heap || !service->place ||
      !service->touched || !service->sequences)
    return false;
  for (uint32_t i = 0; i < n; i++) {
    struct hr__replica *replica = &service->replicas[i];
    *replica = (struct hr__replica){.service = service->spec,
                                    .sequences = service->sequences,
                                    .end_ticks = HR_NEVER_US,
                                    .restarts = service->result->restarts};
    replica->running = calloc((size_t)room + 1, sizeof *replica->running);
    replica->batch = calloc((size_t)room + 1, sizeof *replica->batch);
    if (!replica->running || !replica->batch) return false;
  }
  return true;
}

static bool create_result(struct hr_service_result *result, uint32_t count, uint32_t replicas) {
  *result = (struct hr_service_result){.count = count};
  const size_t room = (size_t)count + 1;
  result->replica = calloc(room, sizeof *result->replica);
  result->scheduled_us = calloc(room, sizeof *result->scheduled_us);
  result->first_token_us = calloc(room, sizeof *result->first_token_us);
  result->end_us = calloc(room, sizeof *result->end_us);
  result->state = calloc(room, sizeof *result->state);
  result->restarts = calloc(room, sizeof *result->restarts);
  result->busy_us = calloc(replicas, sizeof *result->busy_us);
  return result->replica && result->scheduled_us && result->first_token_us && result->end_us && result->state &&
         result->restarts && result->busy_us;
}

static bool close_replicas(struct service *service) {
  bool is_complete = true;
  for (uint32_t i = 0; service->replicas && i < service->spec->replicas; i++) {
    struct hr__replica *replica = &service->replicas[i];
    is_complete = is_complete && !replica->no_memory;
    service->result->iterations += replica->iterations;
    service->result->recomputed_tokens += replica->recomputed_tokens;
    service->result->busy_us[i] = rounded_us(replica->busy_ticks);
    free(replica->waiting.ids);
    free(replica->running);
    free(replica->batch);
  }
  free(service->replicas);
  free(service->outstanding);
  free(service->tokens);
  free(service->heap);
  free(service->place);
  free(service->touched);
  free(service->sequences);
  return is_complete;
}

enum hr_status hr_service_run(const struct hr_service *spec, const struct hr_service_requests *requests, uint64_t seed,
                              bool steps, struct hr_service_result *result, struct hr_error *error) {
  struct service service = {.spec = spec, .requests = requests, .result = result, .steps = steps};
  bool is_complete = create_result(result, requests->count, spec->replicas) && create_replicas(&service);
  hr__stream_init(&service.stream, seed, HR__PURPOSE_ROUTER, 0, 0);
  if (is_complete) run(&service);
  is_complete = close_replicas(&service) && is_complete;
  return is_complete ? HR_OK : hr_fail(error, HR_NO_MEMORY, "service '%.100s': out of memory", spec->name);
}

void hr_service_result_finish(struct hr_service_result *result) {
  free(result->replica);
  free(result->scheduled_us);
  free(result->first_token_us);
  free(result->end_us);
  free(result->state);
  free(result->restarts);
  free(result->busy_us);
  *result = (struct hr_service_result){0};
}
