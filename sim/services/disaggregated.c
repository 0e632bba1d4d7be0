/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The engines `disaggregated` (prompts and decodes on separate replicas) and `colocated` (both on the same replicas),
 * as in LLMServe/DistServe, simdistserve (base/worker.py, base/scheduler.py).
 *
 * A replica is a chain of workers, one for each pipeline stage. Most replicas have one worker. A worker has a queue of
 * prompts and a queue of decodes, and runs one iteration after another. If a prompt waits and the queued decodes do not
 * have too much context, the iteration processes prompts and, with `chunked`, decodes in the remaining room. Otherwise
 * it processes only decodes. After an iteration, decodes return to the end of the queue. As in simdistserve, a request
 * of n output tokens decodes n times after its prompt.
 *
 * Replicas may be added or removed. A prompt is assigned only to a ready replica. If no decode replica is ready at the
 * end of a prompt, the request waits at the replica of its prompt until a decode replica is ready. The requests of a
 * killed replica lose their memory and start again as prompts, which include the tokens produced so far. Events of
 * workers or transfers that do not exist any more are ignored.
 *
 * Order at one instant: arrivals, then events in the order in which they were scheduled. If an idle worker gets work, a
 * separate event starts its iteration, after all events that are already scheduled for this instant.
 *
 * Invariant: a request is in one queue or batch of a worker, in `held`, or in transfer. It is counted once in
 * `outstanding`; during a transfer, it counts at the replica that it leaves.
 */

#include "sim/services/service.h"

#include "base/containers.h"

#include <math.h>

struct phase_request {
  uint32_t rest;  /* tokens of the prompt that are not in an iteration yet */
  uint32_t chunk; /* tokens of the prompt in the present iteration */
  /* number of the iteration that took its last chunk, in the order of all iterations that take prompts; 0: no chunk was
     taken on this replica, or the prompt is complete */
  uint32_t number;
  uint32_t decoded;  /* number of decode iterations so far */
  uint32_t at;       /* its replica; HR_NONE: none */
  uint64_t transfer; /* number of the event that ends its transfer; 0: none */
  double done_ms;    /* the end of its prompt; valid if is_moving */
  bool is_moving;    /* its prompt is complete, and its memory is not yet at the replica that decodes */
  bool has_first;    /* it has its first token */
};

struct ids {
  uint32_t *at;
  uint32_t count, capacity;
};

struct worker {
  struct hr__sequence_queue prompts, decodes;
  uint64_t context;           /* number of tokens that the requests in `decodes` have processed */
  struct ids prefill, decode; /* the requests in the present iteration */
  uint32_t coming;            /* number of requests with memory in transfer to the worker */
  /* next: the worker of the next stage; for the last stage, the worker of the first stage */
  uint32_t next, replica;
  uint64_t event; /* number of its scheduled event; 0: none */
  bool is_first, is_last, is_waiting;
};

/* An event. If `id` is HR_NONE, the worker ends its iteration and begins the next one. Otherwise, the memory of the
   request `id` has arrived at the worker. */
struct event {
  double at_ms;
  uint64_t number;
  uint32_t worker, id;
};

struct hr__phase_replicas {
  struct hr__phase_owner owner;
  const struct hr_service *service;
  const struct hr_service_requests *requests;
  struct hr_service_result *result;
  struct phase_request *states; /* by request */
  struct worker *workers;
  uint32_t n_workers, n_heads; /* n_heads: number of replicas that take prompts */
  uint32_t stages;
  bool *is_ready; /* by replica */
  uint32_t n_ready_heads, n_ready_decoders;
  struct hr__sequence_queue held; /* requests with a complete prompt that wait for a ready decode replica */
  struct ids lost;                /* scratch */
  struct event *heap;
  uint32_t n_heap, heap_capacity;
  uint64_t n_events;
  uint32_t n_iterations;
  double now_ms;
  bool no_memory;
};

/* ---- Events ----------------------------------------------------------------------------------------- */

static bool is_before(const void *self, struct event a, struct event b) {
  (void)self;
  return a.at_ms < b.at_ms || (a.at_ms <= b.at_ms && a.number < b.number);
}

HR__HEAP(events, struct event, is_before)

/* Schedules an event, and returns its number; 0: memory is exhausted. */
static uint64_t schedule(struct hr__phase_replicas *all, double at_ms, uint32_t worker, uint32_t id) {
  if (!HR__ARRAY_HAS_ROOM(all->heap, all->n_heap, all->heap_capacity)) {
    all->no_memory = true;
    return 0;
  }
  const struct event event = {at_ms, ++all->n_events, worker, id};
  events_rise(all->heap, all->n_heap++, event, NULL);
  return event.number;
}

static struct event next_event(struct hr__phase_replicas *all) {
  const struct event first = all->heap[0];
  all->n_heap--;
  events_sink(all->heap, all->n_heap, all->heap[all->n_heap], NULL);
  return first;
}

/* Returns whether the worker or the transfer of an event does not exist any more. */
static bool is_outdated(const struct hr__phase_replicas *all, const struct event *event) {
  const uint64_t number = event->id == HR_NONE ? all->workers[event->worker].event : all->states[event->id].transfer;
  return number != event->number;
}

/* Removes outdated events from the top of the heap. */
static void drop_outdated(struct hr__phase_replicas *all) {
  while (all->n_heap && is_outdated(all, &all->heap[0])) next_event(all);
}

static void wake(struct hr__phase_replicas *all, uint32_t number) {
  struct worker *worker = &all->workers[number];
  if (worker->is_waiting) worker->event = schedule(all, all->now_ms, number, HR_NONE);
  worker->is_waiting = false;
}

/* ---- Requests --------------------------------------------------------------------------------------- */

/* Returns the tokens that a request has processed. All tokens of a prompt count as soon as its first chunk is
   processed. */
static uint64_t context_of(const struct hr__phase_replicas *all, uint32_t id) {
  return (uint64_t)all->requests->prompt_tokens[id] + all->states[id].decoded;
}

/* Counts a request at another replica; HR_NONE: at no replica. */
static void count_at(struct hr__phase_replicas *all, uint32_t id, uint32_t replica) {
  uint32_t *at = &all->states[id].at;
  if (*at != HR_NONE) all->owner.outstanding[*at]--;
  if (replica != HR_NONE) all->owner.outstanding[replica]++;
  *at = replica;
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

/* Stores a time as microseconds, and the remainder in picoseconds. */
static void note_time(struct hr__phase_replicas *all, uint32_t id, int which, int64_t *us) {
  const double rounded = floor(all->now_ms * 1000 + 0.5);
  us[id] = (int64_t)rounded;
  all->result->rest_ps[id][which] = (int32_t)llround((all->now_ms - rounded / 1000) * 1e9);
}

/* ---- Routing ---------------------------------------------------------------------------------------- */

uint32_t hr__phases_arrive(struct hr__phase_replicas *all, uint32_t id, double now_ms, bool is_new) {
  uint32_t best = HR_NONE, fewest = UINT32_MAX;
  all->now_ms = now_ms;
  for (uint32_t i = 0; i < all->n_heads; i++) {
    const struct worker *head = &all->workers[i * all->stages];
    const uint32_t load = head->prefill.count + head->prompts.count;
    if (all->is_ready[i] && load < fewest) fewest = load, best = i * all->stages;
  }
  struct phase_request *state = &all->states[id];
  if (is_new) *state = (struct phase_request){.at = HR_NONE};
  state->rest = hr_request_new_tokens(all->requests, id) + state->decoded;
  state->number = state->chunk = 0;
  count_at(all, id, all->workers[best].replica);
  all->no_memory |= !hr__queue_insert_back(&all->workers[best].prompts, id);
  wake(all, best);
  return all->workers[best].replica;
}

bool hr__phases_withdraw(struct hr__phase_replicas *all, uint32_t id) {
  const uint32_t replica = all->states[id].at;
  const bool found = hr__queue_remove(&all->workers[replica * all->stages].prompts, id) != HR_NONE;
  if (found) count_at(all, id, HR_NONE);
  return found;
}

static double transfer_ms(const struct hr__phase_replicas *all, uint32_t id) {
  const struct hr_service_link *link = &all->service->phases.link;
  if (link->gb_per_s <= 0) return link->setup_ms;
  return link->setup_ms + link->kv_bytes_per_token * (double)all->requests->prompt_tokens[id] / link->gb_per_s / 1e6;
}

static int64_t us_between(double from_ms, double to_ms) {
  return (int64_t)(floor(to_ms * 1000 + 0.5) - floor(from_ms * 1000 + 0.5));
}

/* Ends the transfer of a request's memory to the replica that decodes. */
static void end_transfer(struct hr__phase_replicas *all, uint32_t number, uint32_t id) {
  struct phase_request *state = &all->states[id];
  all->result->transfer_us[id] += us_between(state->done_ms, all->now_ms);
  state->is_moving = false;
  state->transfer = 0;
  count_at(all, id, all->workers[number].replica);
  push_decode(all, number, id);
}

/* Begins the transfer of a request's memory to the ready decode replica with the shortest queue, including requests in
   transfer to it. If no decode replica is ready, the request waits in `held`. */
static void hand_over(struct hr__phase_replicas *all, uint32_t id) {
  uint32_t best = HR_NONE, fewest = UINT32_MAX;
  for (uint32_t i = all->n_heads * all->stages; i < all->n_workers; i += all->stages) {
    const uint32_t load = all->workers[i].decodes.count + all->workers[i].coming;
    if (all->is_ready[all->workers[i].replica] && load < fewest) fewest = load, best = i;
  }
  if (best == HR_NONE) {
    all->no_memory |= !hr__queue_push(&all->held, id);
    return;
  }
  const double ms = transfer_ms(all, id);
  all->result->decode_replica[id] = all->workers[best].replica;
  if (ms <= 0) {
    end_transfer(all, best, id);
    return;
  }
  all->workers[best].coming++;
  all->states[id].transfer = schedule(all, all->now_ms + ms, best, id);
}

/* ---- Iterations ------------------------------------------------------------------------------------- */

/* Adds whole prompts to an iteration or, with `chunked`, parts of prompts. With `chunked`, each part reduces the room
   for further parts by twice its tokens, as in simdistserve. */
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
    if (all->result->scheduled_us[id] != HR_NEVER_US) continue;
    note_time(all, id, 0, all->result->scheduled_us);
    all->owner.begins(all->owner.self, id);
  }
}

/* Adds the prompts that were in one iteration of the first stage to an iteration of a later stage. */
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

static bool has_events(const struct hr__phase_replicas *all, uint32_t replica) {
  const struct worker *stage = &all->workers[replica * all->stages];
  uint32_t at = 0;
  while (at < all->stages && !stage[at].event) at++;
  return at < all->stages;
}

/* Starts the next iteration of a worker. If the worker has nothing to do, it waits. */
static void go_on(struct hr__phase_replicas *all, uint32_t number) {
  struct worker *worker = &all->workers[number];
  const struct hr_service_phase_rules *rules = &all->service->phases;
  if (!worker->prompts.count && !worker->decodes.count) {
    worker->is_waiting = true;
    worker->event = 0;
    const bool is_idle = !has_events(all, worker->replica);
    if (worker->is_first || is_idle) all->owner.rests(all->owner.self, worker->replica, is_idle);
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
  const double end_ms = all->now_ms + (ms > 1e-9 ? ms : 1e-9);
  if (worker->is_first) {
    all->owner.works(all->owner.self, worker->replica, ms, end_ms);
    all->result->iterations++;
  }
  worker->event = schedule(all, end_ms, number, HR_NONE);
}

/* Counts a token of a request after the first one. Returns whether the request is complete. */
static bool produce(struct hr__phase_replicas *all, uint32_t id) {
  const bool is_last = ++all->states[id].decoded >= all->requests->output_tokens[id];
  if (is_last) {
    note_time(all, id, 2, all->result->end_us);
    count_at(all, id, HR_NONE);
  }
  all->owner.token(all->owner.self, id, is_last);
  return is_last;
}

/* Called when a stage has processed a prompt or a part of a prompt. */
static void end_prompt(struct hr__phase_replicas *all, const struct worker *worker, uint32_t id) {
  struct phase_request *state = &all->states[id];
  if (worker->is_last && state->rest > 0) state->chunk = 0;
  if (!worker->is_last || state->rest > 0) {
    push_prompt(all, worker->next, id);
    return;
  }
  state->chunk = 0;
  state->number = 0;
  if (!state->has_first) {
    state->has_first = true;
    note_time(all, id, 1, all->result->first_token_us);
    all->owner.token(all->owner.self, id, false);
  } else if (produce(all, id)) {
    return;
  }
  if (all->service->engine == HR_SERVICE_DISAGGREGATED) {
    state->done_ms = all->now_ms;
    state->is_moving = true;
    hand_over(all, id);
    return;
  }
  all->result->decode_replica[id] = worker->replica;
  push_decode(all, worker->next, id);
}

static void end_iteration(struct hr__phase_replicas *all, uint32_t number) {
  struct worker *worker = &all->workers[number];
  const uint32_t n_prompts = worker->prefill.count;
  worker->prefill.count = 0; /* hr__phases_arrive must not count these prompts any more */
  for (uint32_t i = 0; i < n_prompts; i++) end_prompt(all, worker, worker->prefill.at[i]);
  const uint32_t n_decodes = worker->decode.count;
  for (uint32_t i = 0; i < n_decodes; i++)
    if (!worker->is_last || !produce(all, worker->decode.at[i])) push_decode(all, worker->next, worker->decode.at[i]);
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
    end_transfer(all, event.worker, event.id);
  } else {
    end_iteration(all, event.worker);
    go_on(all, event.worker);
  }
  drop_outdated(all);
  return !all->no_memory;
}

/* ---- Losses ----------------------------------------------------------------------------------------- */

/* Frees the memory of a request and returns the request to the owner. */
static void lose(struct hr__phase_replicas *all, uint32_t id) {
  struct phase_request *state = &all->states[id];
  const uint32_t all_tokens = hr_request_new_tokens(all->requests, id) + state->decoded;
  const bool has_prompt = state->has_first && state->rest == 0 && state->chunk == 0;
  /* the tokens of complete iterations: a part of the prompt, or the whole prompt and the decoded tokens */
  const uint32_t lost = has_prompt ? all_tokens : all_tokens - state->rest - state->chunk;
  if (state->is_moving) all->result->transfer_us[id] += us_between(state->done_ms, all->now_ms);
  const bool has_begun = state->number > 0 || has_prompt || lost > 0;
  state->is_moving = false;
  state->transfer = 0;
  state->at = HR_NONE;
  all->result->decode_replica[id] = HR_NONE;
  all->owner.loses(all->owner.self, id, has_begun, lost);
}

static void take_queue(struct hr__phase_replicas *all, struct hr__sequence_queue *queue) {
  while (queue->count) push_id(all, &all->lost, hr__queue_pop(queue));
}

static void take_ids(struct hr__phase_replicas *all, struct ids *ids) {
  for (uint32_t i = 0; i < ids->count; i++) push_id(all, &all->lost, ids->at[i]);
  ids->count = 0;
}

static void stop_worker(struct hr__phase_replicas *all, struct worker *worker) {
  take_queue(all, &worker->prompts);
  take_queue(all, &worker->decodes);
  take_ids(all, &worker->prefill);
  take_ids(all, &worker->decode);
  worker->context = 0;
  worker->event = 0;
  worker->is_waiting = true;
}

/* Adds to `lost` the requests of a replica that wait in `held` or are in transfer to another replica. */
static void take_moving(struct hr__phase_replicas *all, uint32_t number) {
  for (uint32_t n = all->held.count; n > 0; n--) {
    const uint32_t id = hr__queue_pop(&all->held);
    if (all->states[id].at == number)
      push_id(all, &all->lost, id);
    else
      all->no_memory |= !hr__queue_push(&all->held, id);
  }
  for (uint32_t i = 0; i < all->n_heap; i++) {
    const struct event *event = &all->heap[i];
    if (event->id == HR_NONE || is_outdated(all, event) || all->states[event->id].at != number) continue;
    all->workers[event->worker].coming--;
    push_id(all, &all->lost, event->id);
  }
}

/* Cancels all transfers of memory to a lost replica, and begins transfers to other replicas instead, in the order of
   the cancelled events. */
static void turn_round(struct hr__phase_replicas *all, uint32_t number) {
  for (;;) {
    const struct event *first = NULL;
    for (uint32_t i = 0; i < all->n_heap; i++) {
      const struct event *event = &all->heap[i];
      if (event->id == HR_NONE || is_outdated(all, event) || all->workers[event->worker].replica != number) continue;
      if (!first || event->number < first->number) first = event;
    }
    if (!first) return;
    const uint32_t id = first->id;
    all->workers[first->worker].coming--;
    all->states[id].transfer = 0;
    all->result->decode_replica[id] = HR_NONE;
    hand_over(all, id);
  }
}

/* ---- Replicas --------------------------------------------------------------------------------------- */

static bool is_head(const struct hr__phase_replicas *all, uint32_t number) {
  return number < all->n_heads;
}

void hr__phases_add(struct hr__phase_replicas *all, uint32_t number, double now_ms) {
  if (now_ms > all->now_ms) all->now_ms = now_ms;
  all->is_ready[number] = true;
  ++*(is_head(all, number) ? &all->n_ready_heads : &all->n_ready_decoders);
  for (uint32_t n = all->held.count; n > 0 && !is_head(all, number); n--) hand_over(all, hr__queue_pop(&all->held));
}

void hr__phases_drain(struct hr__phase_replicas *all, uint32_t number) {
  if (all->is_ready[number]) --*(is_head(all, number) ? &all->n_ready_heads : &all->n_ready_decoders);
  all->is_ready[number] = false;
}

bool hr__phases_kill(struct hr__phase_replicas *all, uint32_t number, double now_ms) {
  if (now_ms > all->now_ms) all->now_ms = now_ms;
  hr__phases_drain(all, number);
  all->lost.count = 0;
  for (uint32_t i = 0; i < all->stages; i++) stop_worker(all, &all->workers[number * all->stages + i]);
  take_moving(all, number);
  for (uint32_t i = 0; i < all->lost.count; i++) lose(all, all->lost.at[i]);
  all->owner.outstanding[number] = 0;
  turn_round(all, number);
  drop_outdated(all);
  return !all->no_memory;
}

bool hr__phases_is_idle(const struct hr__phase_replicas *all, uint32_t number) {
  return all->owner.outstanding[number] == 0 && all->workers[number * all->stages].coming == 0;
}

uint32_t hr__phases_ready(const struct hr__phase_replicas *all, bool heads) {
  return heads ? all->n_ready_heads : all->n_ready_decoders;
}

uint32_t hr__phases_held(const struct hr__phase_replicas *all) {
  return all->held.count;
}

struct hr__phase_replicas *hr__phases_open(const struct hr__phase_config *config) {
  struct hr__phase_replicas *all = calloc(1, sizeof *all);
  if (!all) return NULL;
  const struct hr_service *service = config->service;
  const uint32_t stages = service->cost.phases.stages ? service->cost.phases.stages : 1;
  const size_t n_workers = (size_t)config->n_replicas * stages;
  *all = (struct hr__phase_replicas){.owner = config->owner,
                                     .service = service,
                                     .requests = config->requests,
                                     .result = config->result,
                                     .stages = stages,
                                     .n_heads = config->n_heads,
                                     .n_workers = (uint32_t)n_workers};
  if (!HR__ARRAY_MAKE(all->workers, n_workers) || !HR__ARRAY_MAKE(all->is_ready, config->n_replicas) ||
      !HR__ARRAY_MAKE(all->states, config->most)) {
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
  for (uint32_t i = 0; all->workers && i < all->n_workers; i++) {
    struct worker *worker = &all->workers[i];
    free(worker->prompts.ids);
    free(worker->decodes.ids);
    free(worker->prefill.at);
    free(worker->decode.at);
  }
  free(all->workers);
  free(all->is_ready);
  free(all->states);
  free(all->held.ids);
  free(all->lost.at);
  free(all->heap);
  free(all);
}
