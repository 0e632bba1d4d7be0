/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_SERVICES_SERVICE_H
#define HR_SIM_SERVICES_SERVICE_H

/*
 * Inference services: the time of iterations (engines.c), replicas (replica.c, engines.c), replicas of the engines
 * `disaggregated` and `colocated` (disaggregated.c), a running service (service.c, router.c), and how many replicas it
 * wants (scaling.c).
 */

#include "base/random.h"
#include "base/tournament.h"
#include "headroom/market.h"
#include "headroom/unstable/services.h"
#include "sim/services/autoscalers.h"

/* ---- Time of iterations ----------------------------------------------------------------------------- */

/* The time of iterations, in ticks of 2^-16 microseconds. */

enum { HR__TICK_BITS = 16 };
#define HR__TICKS(us) ((int64_t)((uint64_t)(us) << HR__TICK_BITS))

/* The load that determines the time of an iteration: tokens of prompts and the sum of their squares, sequences that
   decode, and tokens that the sequences have processed before. */
struct hr__batch_load {
  uint64_t prompts, squares, decodes, context;
};

/* The times of iterations that differ only in the context: iteration i takes base + unit x floor((first + i x step) /
   divisor). Both numerators are stored as quotient and remainder. */
struct hr__price {
  int64_t base_ticks, unit_ticks;
  uint64_t divisor, first_quotient, first_rest, step_quotient, step_rest;
};

/* The values that all prices of a cost share. */
struct hr__pricing {
  const struct hr_service_cost *cost;
  bool is_linear; /* the cost has the form of terms, so `factor` and `divisor` are the same for all loads */
  bool is_whole;  /* these terms are whole microseconds, so that prices need no floating point */
  int64_t fixed_ticks, prompt_ticks, sequence_ticks; /* is_whole */
  int64_t unit_ticks;
  uint64_t factor, divisor; /* a token of context costs unit x factor / divisor */
};

struct hr__pricing hr__pricing_of(const struct hr_service_cost *cost);
/* Sets the price of iterations with a context that grows by `growth` tokens each time. */
void hr__price_set(struct hr__price *price, const struct hr__pricing *pricing, const struct hr__batch_load *load,
                   uint64_t growth);

/* The time of the first iteration. */
static inline int64_t hr__price_first_ticks(const struct hr__price *price) {
  return price->base_ticks + price->unit_ticks * (int64_t)price->first_quotient;
}

/* Iterations that run one after another. */
struct hr__price_run {
  uint32_t count;
  int64_t sum_ticks;  /* their time */
  int64_t last_ticks; /* the time of the last one */
};

/* Sums at most `most` iterations, at least 1, and stops after the first one that ends at `until_ticks` or later. */
struct hr__price_run hr__price_sum(const struct hr__price *price, uint32_t most, int64_t until_ticks);
/* The time of one iteration in microseconds, not rounded. */
double hr__cost_us(const struct hr_service_cost *cost, const struct hr__batch_load *load);
/* The same in milliseconds for phases: prefill or decode, with the overhead of the first pipeline stage. */
double hr__phases_ms(const struct hr_service_phases *phases, const struct hr__batch_load *load, bool is_prefill,
                     bool is_first);

/* ---- Replicas --------------------------------------------------------------------------------------- */

/*
 * A replica of an inference service: sequences that wait, sequences that have memory, and the batch of the iteration
 * that runs. The engine of the service forms the batches (engines.c).
 *
 * A sequence is a request on its replica. When it loses its memory, the tokens that it has produced become part of its
 * prompt. Most sequences decode one token in every iteration. These are the steady sequences: an iteration does not
 * change their data. A heap has the iteration in which each of them ends, and counts by phase show how many need
 * another block of memory. Other sequences with memory are in the list `running` or in the batch.
 *
 * Invariant: `used` is the sum of the memory of all sequences of the replica, in blocks (`orca-splitwise`: in tokens).
 *
 * Time: ticks of 2^-16 microseconds, which are rounded only in results, so that iterations of fractional
 * microseconds add up exactly.
 */

struct hr__sequence {
  uint32_t prompt;    /* tokens that are processed before the next token is produced */
  uint32_t total;     /* prompt and output */
  uint32_t processed; /* tokens in memory, including the first token after the prompt. Steady: the true value minus the
                         clock */
  uint32_t memory;    /* blocks or tokens. Steady with blocks: computed when it is needed */
  uint32_t order;     /* place among the running sequences */
  uint32_t unstarted; /* tokens of the prompt, until the prompt yields a token on this replica; then 0 */
  bool is_decoding;   /* the prompt is complete */
};

/* The sequences of a service, by request: a ring with room for all requests from the oldest one that is not complete.
 */
struct hr__sequences {
  struct hr__sequence *at;
  uint32_t mask; /* the capacity is a power of two */
  uint32_t oldest;
};

/* A queue of sequences that grows at both ends: a ring. */
struct hr__sequence_queue {
  uint32_t *ids;
  uint32_t capacity, first, count; /* the capacity is a power of two */
};

struct hr__batch_item {
  uint32_t id, tokens;
};

/* The steady sequences of a replica. */
struct hr__steady {
  uint64_t *ends;   /* heap by the clock at the last token: the clock in the upper half, the id in the lower */
  uint32_t count;   /* of sequences */
  uint32_t clock;   /* counts iterations; overflows */
  uint32_t phase;   /* the same modulo block_tokens */
  uint32_t *phases; /* [block_tokens] sequences by (processed - clock) modulo block_tokens; NULL: memory is reserved */
  uint32_t growing; /* the phase of those that take a block in the next iteration */
  uint32_t last_order; /* maximum order of all */
  uint64_t context;    /* tokens that they have processed */
};

/* `single`: a request in service yields its first or last token when `at` is reached. */
struct hr__due {
  double at;
  uint32_t id;
  bool is_first;
};

struct hr__replica {
  const struct hr_service *service;
  const uint32_t *cached;                /* by request: tokens of the prompt that need no computation; NULL: none */
  const int64_t *arrival_us;             /* by request */
  int64_t origin_us;                     /* tick 0 */
  const struct hr__sequences *sequences; /* shared by the replicas of a service */
  struct hr__sequence_queue waiting;
  struct hr__steady steady;
  uint32_t *running; /* [n_running] have memory, are not steady and not in the batch; room for max_sequences */
  uint32_t n_running;
  uint32_t n_first; /* `sarathi`: number of them before the steady ones */
  uint32_t n_orders;
  struct hr__batch_item *batch; /* [n_batch] without the steady ones; room for max_sequences */
  uint32_t n_batch;
  bool with_steady;    /* the iteration decodes the steady sequences */
  struct hr__due *due; /* [n_due] `single`: heap of requests in service */
  uint32_t n_due;
  double done_ticks;  /* `single`: the service that a request would have received if it was always in service */
  int64_t wait_ticks; /* no batch: next event of `single`, or end of the wait of `dynamic-batch`; 0: idle */
  uint32_t *admitted; /* [n_admitted] sequences that left the queue for this batch; room for max_sequences */
  uint32_t n_admitted;
  struct hr__batch_load load; /* of the first iteration of the batch */
  struct hr__pricing pricing; /* of all batches */
  struct hr__price price;     /* of the iterations */
  uint32_t n_held;            /* sequences with memory */
  uint64_t used;              /* memory */
  uint64_t capacity, watermark;
  int64_t begin_ticks; /* of the iterations that run */
  int64_t end_ticks;   /* of the last of them; HR_NEVER_US: the replica is idle */
  int64_t last_ticks;  /* the time that the last of them takes */
  uint32_t n_repeats;  /* number of iterations with this batch before it changes */
  bool steps;          /* each iteration is simulated separately, and no sequence is steady */
  bool is_open;        /* a request that arrives joins after the present iteration */
  bool has_restarted;  /* a sequence lost its memory when the batch was formed */
  int64_t busy_ticks;
  uint16_t *restarts; /* by request: number of times that it lost its memory */
  /* by request: time from losses to the next token, as in the result. After a loss, until the next token: minus the
     time of the loss */
  int64_t *preempted_us;
  uint64_t iterations, recomputed_tokens;
  uint64_t used_sum, used_peak;     /* `used` over all iterations */
  struct hr_service_result *result; /* for losses; the owner sets it */
  bool is_ready;                    /* it gets requests; the owner sets it */
  int64_t idle_from_ticks;          /* time since which it is ready and runs no iteration; HR_NEVER_US: not idle */
  bool no_memory;
};

static inline struct hr__sequence *hr__sequence_of(const struct hr__replica *replica, uint32_t id) {
  return &replica->sequences->at[id & replica->sequences->mask];
}

/* A sequence has lost its memory. Times are rounded as in results, without the origin. */
static inline void hr__replica_note_loss(struct hr__replica *replica, uint32_t id, int64_t now_ticks) {
  const int64_t now_us = (now_ticks + (INT64_C(1) << (HR__TICK_BITS - 1))) >> HR__TICK_BITS;
  if (replica->preempted_us && replica->preempted_us[id] >= 0) replica->preempted_us[id] -= now_us;
}

/* Counts a loss of memory at the begin of the present iteration. */
void hr__replica_count_loss(struct hr__replica *replica);

/* Prepares a replica. The owner sets arrival_us and origin_us. Returns false if memory is exhausted; the caller closes
 * it in any case. */
bool hr__replica_open(struct hr__replica *replica, const struct hr_service *service,
                      const struct hr__sequences *sequences, uint16_t *restarts, bool steps);
void hr__replica_close(struct hr__replica *replica);

/* Forms the next batch, and sets when it ends. Unless `steps` is set, it runs as long as the same batch would be formed
   again, or until an iteration ends at `horizon_ticks` or later, because at this time a request is expected that would
   change the batch. Returns false if nothing can run; the replica is then idle. */
bool hr__replica_begin(struct hr__replica *replica, int64_t now_ticks, int64_t horizon_ticks);
/* Lets the iterations end with the first one that ends at `at_ticks` or later (if `after` is set: later than
   `at_ticks`). */
void hr__replica_cut(struct hr__replica *replica, int64_t at_ticks, bool after);
/* Ends the iterations. `event` is called for each sequence that produced its first or its last token. */
typedef void hr__sequence_event(void *context, uint32_t id, bool is_first, bool is_last);
void hr__replica_end(struct hr__replica *replica, hr__sequence_event *event, void *context);
/* Stops the replica at `now_ticks`. Iterations that are complete by then count; `event` is called as above. All
   sequences lose their memory, and are then in the queue in no particular order. The tokens that they have produced
   become part of their prompts, and are computed again. */
void hr__replica_kill(struct hr__replica *replica, int64_t now_ticks, hr__sequence_event *event, void *context);

/* ---- Replicas: for engines -------------------------------------------------------------------------- */

static inline uint32_t hr__queue_at(const struct hr__sequence_queue *queue, uint32_t position) {
  return queue->ids[(queue->first + position) & (queue->capacity - 1)];
}
/* Return false if memory is exhausted. */
bool hr__queue_push(struct hr__sequence_queue *queue, uint32_t id);
bool hr__queue_push_front(struct hr__sequence_queue *queue, uint32_t id);
/* Insert an id into a queue with ascending ids. The search begins at the first or at the last entry. */
bool hr__queue_insert(struct hr__sequence_queue *queue, uint32_t id);
bool hr__queue_insert_back(struct hr__sequence_queue *queue, uint32_t id);
/* Removes an id from any place; the search begins at the first entry. Returns its position; HR_NONE: not found. */
uint32_t hr__queue_remove(struct hr__sequence_queue *queue, uint32_t id);
static inline uint32_t hr__queue_pop(struct hr__sequence_queue *queue) {
  uint32_t id = hr__queue_at(queue, 0);
  queue->first = (queue->first + 1) & (queue->capacity - 1);
  queue->count--;
  return id;
}

static inline uint64_t hr__blocks_for(const struct hr_service_limits *limits, uint64_t tokens) {
  return (tokens + limits->block_tokens - 1) / limits->block_tokens;
}
static inline uint64_t hr__free_memory(const struct hr__replica *replica) {
  return replica->capacity - replica->used;
}
static inline void hr__give_back_memory(struct hr__replica *replica, uint32_t id) {
  struct hr__sequence *sequence = hr__sequence_of(replica, id);
  if (sequence->memory) replica->n_held--;
  replica->used -= sequence->memory;
  sequence->memory = 0;
}
/* The tokens of the prompt of a request that need no computation. They take memory. */
static inline uint32_t hr__cached(const struct hr__replica *replica, uint32_t id) {
  return replica->cached ? replica->cached[id] : 0;
}
/* Returns how many tokens of the prompt of a waiting sequence must be computed. */
static inline uint32_t hr__new_tokens(const struct hr__replica *replica, uint32_t id) {
  return hr__sequence_of(replica, id)->prompt - hr__cached(replica, id);
}
/* The sequence loses the tokens that it has processed; tokens that need no computation are not computed again. */
static inline void hr__note_lost_tokens(struct hr__replica *replica, uint32_t id) {
  const uint32_t processed = hr__sequence_of(replica, id)->processed, cached = hr__cached(replica, id);
  if (processed > cached) replica->recomputed_tokens += processed - cached;
}

/* A decoding sequence becomes steady. With `steps`, it remains a running sequence. */
void hr__steady_add(struct hr__replica *replica, uint32_t id);
/* Moves all steady sequences to the running sequences, in their order. */
void hr__steady_release(struct hr__replica *replica);
/* The blocks that the steady sequences need for the next iteration. */
static inline uint64_t hr__steady_need(const struct hr__replica *replica) {
  return replica->steady.phases ? replica->steady.phases[replica->steady.growing] : 0;
}
/* Forms the batch of the engine of the service. */
void hr__engine_form(struct hr__replica *replica);
/* Engines that do not add requests to a running batch: the end of their iterations, and (`single`) the loss of the
   replica. */
void hr__end_static(struct hr__replica *replica, hr__sequence_event *event, void *context);
void hr__end_dynamic(struct hr__replica *replica, hr__sequence_event *event, void *context);
void hr__end_single(struct hr__replica *replica, hr__sequence_event *event, void *context);
void hr__stop_single(struct hr__replica *replica);
uint32_t hr__static_rest(const struct hr__replica *replica);
/* The memory of a replica, in its unit. */
uint64_t hr__replica_capacity(const struct hr_service *service);

/* ---- Replicas with phases --------------------------------------------------------------------------- */

/*
 * Replicas of the engines `disaggregated` and `colocated`. They are simulated together, because a request moves from
 * one replica to another when its prompt is complete. Time is in floating-point milliseconds, as in DistServe's
 * simulator.
 */

struct hr__phase_replicas;

/* The figures that the replicas report to their owner. `outstanding`, by replica: the number of requests at the
   replica, which the replicas update. */
struct hr__phase_owner {
  void *self;
  uint32_t *outstanding;
  void (*begins)(void *self, uint32_t id); /* the first iteration of a request */
  /* a request has produced a token: the first, or another one. Its time is in the result */
  void (*token)(void *self, uint32_t id, bool is_last);
  void (*works)(void *self, uint32_t replica, double ms, double end_ms); /* an iteration of the first stage */
  /* its first stage has nothing to do; is_idle: all its stages have nothing to do */
  void (*rests)(void *self, uint32_t replica, bool is_idle);
  /* a request with this number of tokens has lost its memory, and does not belong to a replica any more */
  void (*loses)(void *self, uint32_t id, bool has_begun, uint32_t tokens);
};

struct hr__phase_config {
  const struct hr_service *service;
  const struct hr_service_requests *requests;
  struct hr_service_result *result; /* gets the times of requests, with the rest in picoseconds */
  uint32_t n_replicas, n_heads;     /* the first `n_heads` replicas take prompts; `disaggregated`: the others decode */
  uint32_t most;                    /* requests */
  struct hr__phase_owner owner;
};

/* Creates replicas that are not ready yet. Returns NULL if memory is exhausted. */
struct hr__phase_replicas *hr__phases_open(const struct hr__phase_config *config);
/* Assigns a request to a ready replica; at least one ready replica that takes prompts must exist. `is_new`: the request
   has not lost its memory before. At one instant, arrivals precede other events. Returns the replica. */
uint32_t hr__phases_arrive(struct hr__phase_replicas *all, uint32_t id, double now_ms, bool is_new);
/* Removes a request that has not begun. Returns whether it was found. */
bool hr__phases_withdraw(struct hr__phase_replicas *all, uint32_t id);
/* The time of the next event; INFINITY: none. */
double hr__phases_next_ms(const struct hr__phase_replicas *all);
/* Handles the next event. Returns false if memory is exhausted. */
bool hr__phases_step(struct hr__phase_replicas *all);
/* A replica becomes ready; gets no further requests; is lost with its requests (returns false if memory is exhausted).
 */
void hr__phases_add(struct hr__phase_replicas *all, uint32_t number, double now_ms);
void hr__phases_drain(struct hr__phase_replicas *all, uint32_t number);
bool hr__phases_kill(struct hr__phase_replicas *all, uint32_t number, double now_ms);
bool hr__phases_is_idle(const struct hr__phase_replicas *all, uint32_t number);
/* The ready replicas that take prompts, or the ready replicas that only decode. */
uint32_t hr__phases_ready(const struct hr__phase_replicas *all, bool heads);
/* Requests that wait for a replica that decodes. */
uint32_t hr__phases_held(const struct hr__phase_replicas *all);
void hr__phases_close(struct hr__phase_replicas *all);

static inline bool hr__has_phases(const struct hr_service *service) {
  return service->engine == HR_SERVICE_DISAGGREGATED || service->engine == HR_SERVICE_COLOCATED;
}

/* ---- Service ---------------------------------------------------------------------------------------- */

/*
 * A running inference service: requests, a router and replicas. The owner opens it, advances it from instant to
 * instant, and changes its replicas in between. Changes take effect at the time to which the service was advanced,
 * before the arrivals and the ends of iterations of that instant.
 *
 * Times are microseconds in the clock of the requests.
 */

struct hr__service_run;

/* The place of a service in the graph of spill-over. The owner frees the lists. */
struct hr__spill_links {
  uint32_t n_hops; /* maximum number of other services to which its own requests can go, one after another */
  /* the services with requests that can reach this one; and, if this service is part of a circle, all services of the
     circle, including this one, in order of their index */
  struct hr__service_run **upstream, **circle;
  uint32_t n_upstream, n_circle;
};

struct hr__service_config {
  const struct hr_service *spec;
  const struct hr_service_requests *requests;
  uint32_t n_replicas; /* replicas are numbered from 0 to n_replicas - 1 */
  uint32_t n_decoders; /* the last ones, which only decode (`disaggregated`) */
  int64_t origin_us;   /* no change and no arrival is earlier */
  uint64_t seed;
  bool steps; /* run each iteration on its own */
  /* if other services can send it requests: these services, in order of their index; an upper bound for the number of
     all its requests; and the list of these requests, which the owner frees. Without such services: 0 */
  struct hr__feed *feeds;
  uint32_t n_feeds, most;
  struct hr_service_requests *received;
  struct hr__spill_links links;
};

/* A service that sends requests to this one, and the number of them that this one has read. */
struct hr__feed {
  struct hr__service_run *from;
  uint32_t n_taken;
};

/* Data of a replica for routers: its place in the order, its weight, and whether it is used only for spill-over. */
struct hr__replica_role {
  uint32_t rank;
  uint64_t stride, pass; /* a request advances `pass` by `stride`, which is inverse to the weight; 0: weight 0 */
  bool is_over;
};

struct hr__service_run {
  const struct hr_service *spec;
  const struct hr_service_requests *requests; /* with feeds: `received` */
  struct hr_service_result *result;
  uint32_t next; /* the next request that arrives */
  /* With feeds: the requests of the scenario, the next of them, and all requests in the order in which they arrived */
  const struct hr_service_requests *own;
  uint32_t own_next;
  struct hr_service_requests *received;
  struct hr__feed *feeds;
  uint32_t n_feeds;
  struct hr__spill_links links;
  uint16_t *hops;               /* with feeds, by request: to how many more services it can go */
  uint32_t *spilled, n_spilled; /* requests for another service, in order */
  struct hr__sequences *sequences;
  struct hr__phase_replicas *phases; /* engines with phases; otherwise NULL. Their sequences are there */
  uint32_t n_replicas, n_heads;      /* n_heads: the first ones, which get requests from the router */
  struct hr__replica *replicas;      /* [n_replicas] */
  uint32_t *ready, n_ready;          /* replicas that get requests, in rising order */
  uint32_t *outstanding;             /* by replica: requests that are not complete */
  uint64_t *tokens;                  /* by replica: prompts that wait, and one for each decoding sequence */
  struct hr__tournament loads;       /* of the ready replicas, if the router compares all; otherwise 0 */
  struct hr__sequence_queue waiting; /* requests that found no ready replica, in order of arrival */
  struct hr__tournament ends;        /* by replica: end_ticks */
  uint32_t *touched, n_touched;      /* idle replicas that got a request at this instant */
  bool *is_touched;                  /* by replica */
  struct hr__replica_role *roles;    /* by replica; NULL: the router needs none */
  uint32_t *candidates;              /* [n_ready] scratch of routers with roles */
  uint64_t last_pass;                /* of the replica that `weighted` chose last */
  uint32_t n_waiting;                /* requests before their first iteration */
  uint32_t oldest;                   /* all requests with lower ids have begun their first iteration */
  int64_t mean_us;                   /* time from the first iteration to the end: moving mean, 0: unknown */
  bool wants_replica;                /* a request found no ready replica */
  uint64_t n_routed, n_completed, n_refused, n_timed_out;
  uint64_t n_held;             /* requests that had to wait for a ready replica */
  uint64_t lost_tokens;        /* tokens of killed replicas, which are computed again */
  uint32_t n_outstanding;      /* requests that have arrived and are not complete */
  hr_amount outstanding_ticks; /* sum of n_outstanding over time, up to counted_ticks */
  int64_t counted_ticks;
  hr_amount ready_ticks; /* sum of n_marked over time, up to ready_from_ticks */
  int64_t ready_from_ticks;
  uint32_t n_marked;  /* replicas that are ready, of both kinds */
  int64_t idle_ticks; /* when n_outstanding last became 0 */
  /* Time in which no replica is ready and one is starting, up to `cold_from_ticks`; `is_cold`: it continues */
  int64_t cold_ticks, cold_from_ticks;
  uint32_t n_starting;
  bool is_cold;
  struct hr__stream stream;
  int64_t origin_us, now_ticks; /* ticks since origin_us */
  bool steps, no_memory;
};

/* Opens a service without replicas, and creates its result. The caller closes the service and finishes the result, also
   after an error. HR_NO_MEMORY is the only error. */
enum hr_status hr__service_open(struct hr__service_run *service, const struct hr__service_config *config,
                                struct hr_service_result *result, struct hr_error *error);
/* Handles all arrivals and ends of iterations before an instant; HR_NEVER_US: all. */
void hr__service_advance(struct hr__service_run *service, int64_t until_us);
/* Makes a replica ready: it gets requests from now on. It must not be ready, and must have no requests. */
void hr__service_add(struct hr__service_run *service, uint32_t number);
/* Sets the number of replicas that have GPUs but are not ready, from an instant on. The service may already have
   handled the requests of this instant. */
void hr__service_set_starting(struct hr__service_run *service, uint32_t count, int64_t at_us);
/* A replica gets no further requests, and completes those that it has. */
void hr__service_drain(struct hr__service_run *service, uint32_t number);
/* Ends a replica at once. Its requests return to the router, before later ones. */
void hr__service_kill(struct hr__service_run *service, uint32_t number);
/* The pool of a replica that is not ready. Without this, routers that choose by pools treat all replicas alike. */
struct hr_pool_spec;
void hr__service_place(struct hr__service_run *service, uint32_t number, const struct hr_pool_spec *pool);
/* Whether any replica runs iterations, when the first of them end, and (without phases) its replica. */
bool hr__service_runs(const struct hr__service_run *service);
int64_t hr__service_first_us(const struct hr__service_run *service);
/* Whether another replica of the same kind is ready; how many replicas are ready; and how many requests wait because no
   replica is. */
bool hr__service_has_other(const struct hr__service_run *service, uint32_t number);
static inline uint32_t hr__service_ready(const struct hr__service_run *service) {
  return service->n_ready + (service->phases ? hr__phases_ready(service->phases, false) : 0);
}
static inline uint32_t hr__service_unplaced(const struct hr__service_run *service) {
  return service->waiting.count + (service->phases ? hr__phases_held(service->phases) : 0);
}
/* Returns how many of this number of replicas only decode: in the proportion of the engine, with at least one of each
   kind. */
static inline uint32_t hr__service_decoders(const struct hr_service *spec, uint32_t count) {
  const uint64_t heads = spec->phases.prefill_replicas, all = heads + spec->phases.decode_replicas;
  if (spec->engine != HR_SERVICE_DISAGGREGATED || count < 2) return 0;
  const uint32_t n_heads = (uint32_t)((2 * count * heads + all) / (2 * all));
  return count - (n_heads < 1 ? 1 : n_heads > count - 1 ? count - 1 : n_heads);
}
/* Whether a replica has no requests. */
static inline bool hr__service_is_idle(const struct hr__service_run *service, uint32_t number) {
  return service->phases ? hr__phases_is_idle(service->phases, number) : service->outstanding[number] == 0;
}
/* When the iterations that a replica runs end, rounded up; an arrival can end them earlier. HR_NEVER_US: it is idle. */
int64_t hr__service_wake_us(const struct hr__service_run *service, uint32_t number);
/* Before the last arrival: its time. After it: the time of the next end of iterations (rounded up) or timeout.
   HR_NEVER_US: no further events. */
int64_t hr__service_next_us(struct hr__service_run *service);
/* Whether requests can still arrive, and when the next one arrives at the earliest; HR_NEVER_US: none. */
bool hr__service_expects(const struct hr__service_run *service);
int64_t hr__service_arrival_us(const struct hr__service_run *service);
/* When the oldest request that waits leaves; HR_NEVER_US: none does. */
int64_t hr__service_timeout_us(struct hr__service_run *service);
/* Completes the result and frees the service. Returns HR_NO_MEMORY if memory was exhausted during the run. */
enum hr_status hr__service_close(struct hr__service_run *service, struct hr_error *error);

/* ---- The state of a service ------------------------------------------------------------------------- */

/* The time so far in which replicas were ready, summed over replicas. */
static inline hr_amount hr__service_ready_ticks(const struct hr__service_run *service) {
  return service->ready_ticks + (hr_amount)service->n_marked * (service->now_ticks - service->ready_from_ticks);
}

/* ---- Admission and spill-over (router.c) ------------------------------------------------------------ */

/* Decides whether an arriving request may wait. If not, sets its state and returns false. */
bool hr__service_admits(struct hr__service_run *service, uint32_t id);
/* With feeds: the next arrival, and its transfer to the requests of this service. Returns its id. */
int64_t hr__feeds_next_us(const struct hr__service_run *service);
uint32_t hr__feeds_take(struct hr__service_run *service);
/* The last instant at which a request can arrive. */
int64_t hr__service_last_us(const struct hr__service_run *service);
/* Prepares feeds, the list of requests for another service, and roles. Returns false if memory is exhausted. */
bool hr__admission_open(struct hr__service_run *service, const struct hr__service_config *config);
/* Requests that have not arrived are unfinished. */
void hr__admission_end(struct hr__service_run *service);
void hr__admission_close(struct hr__service_run *service);

/* ---- How requests are assigned to ready replicas (router.c) ----------------------------------------- */

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

/* ---- Scaling ---------------------------------------------------------------------------------------- */

/*
 * How many replicas a service wants: samples of its load, and the rules of its autoscaler (autoscalers.h) with their
 * memory. Times are those of the requests, relative to the begin of the run.
 */

/* The load since the begin of the run. */
struct hr__load_sample {
  double outstanding_s;    /* sum of outstanding requests over time */
  double busy_s;           /* time in which replicas ran iterations, summed over replicas */
  double ready_s;          /* time in which replicas were ready, summed over replicas */
  double prompts, outputs; /* tokens of the requests that arrived */
  double output_squares;   /* sum of the squares of their output tokens */
  double memory;           /* as prompts + outputs, with tokens in the prefix cache */
  uint64_t arrived;
  uint32_t outstanding, waiting, ready; /* at the time of the sample; waiting: before their first iteration */
};

struct hr__scaler {
  const struct hr_service *spec;
  int64_t sample_us, interval_us;  /* between samples, and between decisions */
  struct hr__load_sample *samples; /* [n_samples] the last ones: a ring */
  uint32_t n_samples;
  uint64_t count;       /* samples that were taken */
  uint32_t n_summed;    /* requests with tokens in `prompts` and `outputs` */
  uint64_t n_seen;      /* requests that had arrived at the last sample */
  int64_t active_us;    /* the last sample at which requests were outstanding or had arrived; HR_UNKNOWN_US: never */
  int64_t activated_us; /* when the service last changed from no replica */
  int64_t inactive_us;  /* knative: when no replica was wanted any more; HR_UNKNOWN_US: some are */
  double prompts, outputs, output_squares, memory;
  struct hr__knative knative;
  struct hr__knative_window stable, panic;
  struct hr__hpa_rules up, down;
  struct hr__hpa_history history;
  struct hr__hpa_pod *pods;
  struct hr__ray ray;
  /* slo: time since which fewer replicas suffice (HR_UNKNOWN_US: they do not), and the maximum number needed since then
   */
  int64_t fewer_us;
  uint32_t fewer_most;
  double *percent; /* [n_samples] utilization of successive samples */
};

/* The replicas of a service at a decision. */
struct hr__scale_state {
  uint32_t wanted;  /* the last decision */
  uint32_t present; /* replicas that are not draining, whether ready or not */
};

struct hr__scale_choice {
  uint32_t wanted;
  enum hr_scale_reason reason;
};

/* Initializes a scaler for a service with at most `n_places` replicas. Returns false if memory is exhausted. */
bool hr__scaler_open(struct hr__scaler *scaler, const struct hr_service *spec, uint32_t n_places);
void hr__scaler_close(struct hr__scaler *scaler);
/* Whether the number ever changes by time or load. */
bool hr__scaler_is_active(const struct hr__scaler *scaler);
/* An upper bound of the time for which it can want no replica, and then want one, while requests wait and nothing else
   happens: the sum of all its times, and a day. */
int64_t hr__scaler_patience_us(const struct hr__scaler *scaler);
/* The number at the begin of the run. */
uint32_t hr__scaler_initial(const struct hr__scaler *scaler);
/* Takes a sample at a multiple of `sample_us`, and decides if it is time to. Returns whether a decision was made. */
bool hr__scaler_tick(struct hr__scaler *scaler, const struct hr__service_run *run, int64_t now_us,
                     struct hr__scale_state state, struct hr__scale_choice *choice);
/* Whether the service is activated as soon as a request arrives while no replica is wanted. */
bool hr__scaler_activates_at_once(const struct hr__scaler *scaler);
struct hr__scale_choice hr__scaler_activate(struct hr__scaler *scaler, int64_t now_us);

#endif
