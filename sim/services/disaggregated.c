/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The engines `disaggregated` and `colocated`: prompts and decodes on replicas of their own, or on the same ones, as
 * in LLMServe/DistServe, simdistserve (base/worker.py, base/scheduler.py).
 *
 * A replica is a chain of workers, one for each pipeline stage; most have one. A worker has a queue of prompts and a
 * queue of decodes, and runs one iteration after another: prompts while any waits, unless the decodes hold too much
 * context; otherwise decodes. Decodes take turns: after an iteration they go to the end of the queue. As in that
 * simulator, a request of n output tokens decodes n times after its prompt.
 *
 * Order at one instant: arrivals, then events in the order in which they were scheduled. A worker that waits starts by
 * an event of its own, after all events that are already scheduled for this instant.
 */

#include "sim/services/disaggregated.h"

#include "base/array.h"
#include "sim/services/replica.h"

#include <math.h>

struct phase_request {
  uint32_t rest;    /* tokens of the prompt that are not in an iteration yet */
  uint32_t chunk;   /* tokens of the present iteration */
  uint32_t number;  /* of this iteration, among all with prompts */
  uint32_t decoded; /* iterations of decode */
};

struct ids {
  uint32_t *at;
  uint32_t count, capacity;
};

struct worker {
  struct hr__sequence_queue prompts, decodes;
  uint64_t context;           /* of the queue of decodes */
  struct ids prefill, decode; /* in the present iteration */
  uint32_t coming;            /* requests with memory that is on its way */
  uint32_t next, replica;     /* next: worker of the next stage; after the last one, the first */
  bool is_first, is_last, is_waiting;
};

/* A worker continues, or (`id` is a request) the memory of a request has arrived at it. */
struct event {
  double at_ms;
  uint64_t number;
  uint32_t worker, id;
};

struct hr__phase_replicas {
  const struct hr_service *service;
  const struct hr_service_requests *requests;
  struct hr_service_result *result;
  struct phase_request *states; /* by request */
  struct worker *workers;
  uint32_t n_workers, n_heads; /* heads: first workers of replicas that take prompts */
  uint32_t stages;
  struct event *heap;
  uint32_t n_heap, heap_capacity;
  uint64_t n_events;
  uint32_t n_iterations;
  double now_ms;
  double *busy_ms; /* by replica */
  bool no_memory;
};

/* ---- Events ----------------------------------------------------------------------------------------- */

static bool is_before(const struct event *a, const struct event *b) {
  return a->at_ms < b->at_ms || (a->at_ms <= b->at_ms && a->number < b->number);
}

static void schedule(struct hr__phase_replicas *all, double at_ms, uint32_t worker, uint32_t id) {
  if (!HR__ARRAY_HAS_ROOM(all->heap, all->n_heap, all->heap_capacity)) {
    all->no_memory = true;
    return;
  }
  const struct event event = {at_ms, all->n_events++, worker, id};
  uint32_t at = all->n_heap++;
  for (; at > 0 && is_before(&event, &all->heap[(at - 1) / 2]); at = (at - 1) / 2)
    all->heap[at] = all->heap[(at - 1) / 2];
  all->heap[at] = event;
}

static struct event next_event(struct hr__phase_replicas *all) {
  const struct event top = all->heap[0], last = all->heap[--all->n_heap];
  uint32_t at = 0;
  for (uint32_t child = 1; child < all->n_heap; child = 2 * at + 1) {
    if (child + 1 < all->n_heap && is_before(&all->heap[child + 1], &all->heap[child])) child++;
    if (!is_before(&all->heap[child], &last)) break;
    all->heap[at] = all->heap[child];
    at = child;
  }
  all->heap[at] = last;
  return top;
}

static void wake(struct hr__phase_replicas *all, uint32_t number) {
  struct worker *worker = &all->workers[number];
  if (worker->is_waiting) schedule(all, all->now_ms, number, HR_NONE);
  worker->is_waiting = false;
}

/* ---- Requests --------------------------------------------------------------------------------------- */

/* Tokens that a request has processed; those of a prompt count from its first chunk on. */
static uint64_t context_of(const struct hr__phase_replicas *all, uint32_t id) {
  return (uint64_t)all->requests->prompt_tokens[id] + all->states[id].decoded;
}

static void push_prompt(struct hr__phase_replicas *all, uint32_t number, uint32_t id) {
  all->no_memory |= !hr__queue_push(&all->workers[number].prompts, id);
  wake(all, number);
}

static void push_decode(struct hr__phase_replicas *all, uint32_t number, uint32_t id) {
  all->no_memory |= !hr__queue_push(&all->workers[number].decodes, id);
  all->workers[number].context += context_of(all, id);
  wake(all, number);
}

static void push_id(struct hr__phase_replicas *all, struct ids *ids, uint32_t id) {
  if (HR__ARRAY_HAS_ROOM(ids->at, ids->count, ids->capacity))
    ids->at[ids->count++] = id;
  else
    all->no_memory = true;
}

/* Stores a time as microseconds, and the rest in picoseconds. */
static void note_time(struct hr__phase_replicas *all, uint32_t id, int which, int64_t *us) {
  const double rounded = floor(all->now_ms * 1000 + 0.5);
  us[id] = (int64_t)rounded;
  all->result->rest_ps[id][which] = (int32_t)llround((all->now_ms - rounded / 1000) * 1e9);
}

/* ---- Routing ---------------------------------------------------------------------------------------- */

bool hr__phases_arrive(struct hr__phase_replicas *all, uint32_t id, double now_ms) {
  uint32_t best = 0, fewest = UINT32_MAX;
  all->now_ms = now_ms;
  for (uint32_t i = 0; i < all->n_heads; i++) {
    const struct worker *head = &all->workers[i * all->stages];
    const uint32_t load = head->prefill.count + head->prompts.count;
    if (load < fewest) fewest = load, best = i * all->stages;
  }
  all->states[id] = (struct phase_request){.rest = all->requests->prompt_tokens[id]};
  all->result->replica[id] = all->workers[best].replica;
  push_prompt(all, best, id);
  return !all->no_memory;
}

static double transfer_ms(const struct hr__phase_replicas *all, uint32_t id) {
  const struct hr_service_link *link = &all->service->phases.link;
  if (link->gb_per_s <= 0) return link->setup_ms;
  return link->setup_ms + link->kv_bytes_per_token * (double)all->requests->prompt_tokens[id] / link->gb_per_s / 1e6;
}

/* The memory of a request moves to the decoding replica with the shortest queue. */
static void hand_over(struct hr__phase_replicas *all, uint32_t id) {
  uint32_t best = 0, fewest = UINT32_MAX;
  for (uint32_t i = all->n_heads * all->stages; i < all->n_workers; i += all->stages) {
    const uint32_t load = all->workers[i].decodes.count + all->workers[i].coming;
    if (load < fewest) fewest = load, best = i;
  }
  const double ms = transfer_ms(all, id);
  all->result->decode_replica[id] = all->workers[best].replica;
  all->result->transfer_us[id] = (int64_t)(floor((all->now_ms + ms) * 1000 + 0.5) - floor(all->now_ms * 1000 + 0.5));
  if (ms <= 0) {
    push_decode(all, best, id);
    return;
  }
  all->workers[best].coming++;
  schedule(all, all->now_ms + ms, best, id);
}

/* ---- Iterations ------------------------------------------------------------------------------------- */

/* Takes whole prompts, or with `chunked` parts of them. As in the original, the room for parts shrinks twice. */
static void take_prompts(struct hr__phase_replicas *all, struct worker *worker) {
  const struct hr_service *service = all->service;
  uint32_t room = service->limits.max_batch_tokens, sum = 0, most = service->limits.max_sequences;
  const uint32_t number = ++all->n_iterations;
  for (; worker->prompts.count && most > 0; most--) {
    const uint32_t id = hr__queue_at(&worker->prompts, 0);
    struct phase_request *state = &all->states[id];
    uint32_t tokens = state->rest;
    if (service->phases.chunked) {
      if (room <= sum) break;
      if (tokens > room - sum) tokens = room - sum;
    } else if (tokens > room) {
      break;
    }
    hr__queue_pop(&worker->prompts);
    state->chunk = tokens;
    state->rest -= tokens;
    state->number = number;
    room -= tokens;
    sum += tokens;
    push_id(all, &worker->prefill, id);
    if (all->result->scheduled_us[id] == HR_NEVER_US) note_time(all, id, 0, all->result->scheduled_us);
  }
}

/* A later stage takes one iteration of the first stage as a whole. */
static void take_stage(struct hr__phase_replicas *all, struct worker *worker) {
  const uint32_t number = all->states[hr__queue_at(&worker->prompts, 0)].number;
  for (uint32_t most = all->service->limits.max_sequences; worker->prompts.count && most > 0; most--) {
    if (all->states[hr__queue_at(&worker->prompts, 0)].number != number) break;
    push_id(all, &worker->prefill, hr__queue_pop(&worker->prompts));
  }
}

static void take_decodes(struct hr__phase_replicas *all, struct worker *worker, uint32_t most) {
  uint64_t room = all->service->phases.decode_context_tokens;
  for (; worker->decodes.count && most > 0; most--) {
    const uint32_t id = hr__queue_at(&worker->decodes, 0);
    const uint64_t context = context_of(all, id);
    if (context + 1 > room) break;
    room -= context + 1;
    worker->context -= context;
    push_id(all, &worker->decode, hr__queue_pop(&worker->decodes));
  }
}

static double iteration_ms(const struct hr__phase_replicas *all, const struct worker *worker, bool is_prefill) {
  const struct hr_service_cost *cost = &all->service->cost;
  struct hr__batch_load load = {.decodes = worker->decode.count};
  for (uint32_t i = 0; i < worker->decode.count; i++) load.context += context_of(all, worker->decode.at[i]);
  for (uint32_t i = 0; i < worker->prefill.count; i++) {
    const uint64_t tokens = all->states[worker->prefill.at[i]].chunk;
    load.prompts += tokens;
    load.squares += tokens * tokens;
    if (cost->phases.prefill_ms) load.context += context_of(all, worker->prefill.at[i]);
  }
  if (cost->phases.prefill_ms) return hr__phases_ms(&cost->phases, &load, is_prefill, worker->is_first);
  const double us = hr__cost_us(cost, &load);
  return (cost->integer ? floor(us) : us) / 1000;
}

/* Starts an iteration, or waits if there is nothing to do. */
static void go_on(struct hr__phase_replicas *all, uint32_t number) {
  struct worker *worker = &all->workers[number];
  const struct hr_service_phase_rules *rules = &all->service->phases;
  if (!worker->prompts.count && !worker->decodes.count) {
    worker->is_waiting = true;
    return;
  }
  const uint64_t pressure = (uint64_t)(rules->max_decode_tokens * rules->decode_pressure);
  const bool is_prefill = worker->prompts.count && worker->context <= pressure;
  uint32_t room = rules->max_decode_sequences;
  if (is_prefill) {
    if (worker->is_first)
      take_prompts(all, worker);
    else
      take_stage(all, worker);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < worker->prefill.count; i++) sum += all->states[worker->prefill.at[i]].chunk;
    const uint32_t most = all->service->limits.max_batch_tokens;
    room = rules->chunked && sum < most ? most - (uint32_t)sum : 0;
  }
  take_decodes(all, worker, room);
  const double ms = iteration_ms(all, worker, is_prefill);
  if (worker->is_first) {
    all->busy_ms[worker->replica] += ms;
    all->result->iterations++;
  }
  schedule(all, all->now_ms + (ms > 1e-9 ? ms : 1e-9), number, HR_NONE);
}

/* A stage has processed a prompt, or a part of it. */
static void end_prompt(struct hr__phase_replicas *all, const struct worker *worker, uint32_t id) {
  struct phase_request *state = &all->states[id];
  if (!worker->is_last || state->rest > 0) {
    push_prompt(all, worker->next, id);
    return;
  }
  state->chunk = 0;
  note_time(all, id, 1, all->result->first_token_us);
  if (all->service->engine == HR_SERVICE_DISAGGREGATED) {
    hand_over(all, id);
    return;
  }
  all->result->decode_replica[id] = worker->replica;
  push_decode(all, worker->next, id);
}

/* A stage has decoded a token. Returns whether the request is complete. */
static bool end_decode(struct hr__phase_replicas *all, const struct worker *worker, uint32_t id) {
  struct phase_request *state = &all->states[id];
  if (!worker->is_last || ++state->decoded < all->requests->output_tokens[id]) return false;
  note_time(all, id, 2, all->result->end_us);
  all->result->state[id] = HR_REQUEST_COMPLETED;
  return true;
}

static void end_iteration(struct hr__phase_replicas *all, uint32_t number) {
  struct worker *worker = &all->workers[number];
  const uint32_t n_prompts = worker->prefill.count;
  worker->prefill.count = 0; /* for the router, the prompts are not in progress any more */
  for (uint32_t i = 0; i < n_prompts; i++) end_prompt(all, worker, worker->prefill.at[i]);
  const uint32_t n_decodes = worker->decode.count;
  for (uint32_t i = 0; i < n_decodes; i++)
    if (!end_decode(all, worker, worker->decode.at[i])) push_decode(all, worker->next, worker->decode.at[i]);
  worker->decode.count = 0;
}

double hr__phases_next_ms(const struct hr__phase_replicas *all) {
  return all->n_heap ? all->heap[0].at_ms : (double)INFINITY;
}

bool hr__phases_step(struct hr__phase_replicas *all) {
  const struct event event = next_event(all);
  all->now_ms = event.at_ms;
  if (event.id != HR_NONE) {
    all->workers[event.worker].coming--;
    push_decode(all, event.worker, event.id);
    return !all->no_memory;
  }
  end_iteration(all, event.worker);
  go_on(all, event.worker);
  return !all->no_memory;
}

/* ---- Replicas --------------------------------------------------------------------------------------- */

struct hr__phase_replicas *hr__phases_open(const struct hr_service *service, const struct hr_service_requests *requests,
                                           struct hr_service_result *result) {
  struct hr__phase_replicas *all = calloc(1, sizeof *all);
  if (!all) return NULL;
  const bool is_apart = service->engine == HR_SERVICE_DISAGGREGATED;
  const uint32_t stages = service->cost.phases.stages ? service->cost.phases.stages : 1;
  *all = (struct hr__phase_replicas){.service = service,
                                     .requests = requests,
                                     .result = result,
                                     .stages = stages,
                                     .n_heads = is_apart ? service->phases.prefill_replicas : service->replicas,
                                     .n_workers = service->replicas * stages,
                                     .workers = calloc((size_t)service->replicas * stages, sizeof *all->workers),
                                     .busy_ms = calloc(service->replicas, sizeof *all->busy_ms),
                                     .heap_capacity = service->replicas * stages + 1,
                                     .heap = calloc((size_t)service->replicas * stages + 1, sizeof *all->heap),
                                     .states = calloc((size_t)requests->count + 1, sizeof *all->states)};
  if (!all->workers || !all->busy_ms || !all->heap || !all->states) {
    hr__phases_close(all);
    return NULL;
  }
  for (uint32_t i = 0; i < all->n_workers; i++)
    all->workers[i] = (struct worker){.next = i % stages + 1 < stages ? i + 1 : i - i % stages,
                                      .replica = i / stages,
                                      .is_first = i % stages == 0,
                                      .is_last = i % stages + 1 == stages,
                                      .is_waiting = true};
  return all;
}

void hr__phases_close(struct hr__phase_replicas *all) {
  if (!all) return;
  for (uint32_t i = 0; all->workers && all->busy_ms && i < all->n_workers; i++) {
    struct worker *worker = &all->workers[i];
    all->result->busy_us[worker->replica] = llround(all->busy_ms[worker->replica] * 1000);
    free(worker->prompts.ids);
    free(worker->decodes.ids);
    free(worker->prefill.at);
    free(worker->decode.at);
  }
  free(all->workers);
  free(all->states);
  free(all->busy_ms);
  free(all->heap);
  free(all);
}

bool hr__phases_run(const struct hr_service *service, const struct hr_service_requests *requests,
                    struct hr_service_result *result) {
  struct hr__phase_replicas *all = hr__phases_open(service, requests, result);
  bool is_complete = all != NULL;
  for (uint32_t next = 0; is_complete && (next < requests->count || all->n_heap);) {
    const double arrival_ms = next < requests->count ? (double)requests->arrival_us[next] / 1000 : (double)INFINITY;
    if (next == requests->count || arrival_ms > hr__phases_next_ms(all)) {
      is_complete = hr__phases_step(all);
      continue;
    }
    if (result->state[next] != HR_REQUEST_REFUSED) is_complete = hr__phases_arrive(all, next, arrival_ms);
    next++;
  }
  hr__phases_close(all);
  return is_complete;
}
