/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_SERVICES_SERVICE_H
#define HR_SIM_SERVICES_SERVICE_H

/*
 * The internal interface for inference services: the time of iterations (engines.c), replicas (replica.c, engines.c),
 * replicas of the engines `disaggregated` and `colocated` (disaggregated.c), a running service (service.c, router.c),
 * and the number of replicas that a service wants (scaling.c).
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

/* The load that determines the time of an iteration. prompts: number of prompt tokens in the iteration. squares: sum
   over the prompts of the square of their tokens. decodes: number of sequences that decode. context: number of tokens
   that the sequences of the iteration have processed before. */
struct hr__batch_load {
  uint64_t prompts, squares, decodes, context;
};

/* The times of successive iterations that differ only in the context. Iteration i, from 0, takes
   base_ticks + unit_ticks * floor((first + i * step) / divisor). With `factor` of struct hr__pricing, `first` is
   factor * (context of iteration 0), and `step` is factor * (growth of the context from one iteration to the next).
   Both are stored as quotient and remainder of their division by `divisor`. */
struct hr__price {
  int64_t base_ticks, unit_ticks;
  uint64_t divisor, first_quotient, first_rest, step_quotient, step_rest;
};

/* The values that are equal in all prices of a cost. */
struct hr__pricing {
  const struct hr_service_cost *cost;
  bool is_linear; /* the cost has neither knots nor phases, so `factor` and `divisor` are the same for all loads */
  /* the cost is linear, and all its terms except that of the context are whole numbers of microseconds that are not too
     large. Prices are then computed without floating point */
  bool is_whole;
  int64_t fixed_ticks, prompt_ticks, sequence_ticks; /* the terms in ticks; set only if `is_whole` */
  int64_t unit_ticks;
  uint64_t factor, divisor; /* a token of context takes unit_ticks * factor / divisor; set only if `is_linear` */
};

struct hr__pricing hr__pricing_of(const struct hr_service_cost *cost);
/* Sets the times of iterations with this load. From each iteration to the next, the context grows by `growth`
   tokens. */
void hr__price_set(struct hr__price *price, const struct hr__pricing *pricing, const struct hr__batch_load *load,
                   uint64_t growth);

/* Returns the time of the first iteration. */
static inline int64_t hr__price_first_ticks(const struct hr__price *price) {
  return price->base_ticks + price->unit_ticks * (int64_t)price->first_quotient;
}

/* Iterations that run one after another. */
struct hr__price_run {
  uint32_t count;
  int64_t sum_ticks;  /* the sum of their times */
  int64_t last_ticks; /* the time of the last iteration */
};

/* Sums the times of successive iterations, and stops after `most` iterations (at least 1) or after the first iteration
   that ends at `until_ticks` or later. `until_ticks` is relative to the start of the first iteration. */
struct hr__price_run hr__price_sum(const struct hr__price *price, uint32_t most, int64_t until_ticks);
/* Returns the time of one iteration in microseconds, not rounded. */
double hr__cost_us(const struct hr_service_cost *cost, const struct hr__batch_load *load);
/* Returns the time of one iteration in one pipeline stage, in milliseconds, for costs with phases. `is_prefill`: the
   iteration processes prompts; otherwise it only decodes. `is_first`: the stage is the first one, which has an
   overhead. */
double hr__phases_ms(const struct hr_service_phases *phases, const struct hr__batch_load *load, bool is_prefill,
                     bool is_first);

/* ---- Replicas --------------------------------------------------------------------------------------- */

/*
 * A replica of an inference service: sequences that wait, sequences that have memory, and the batch of the present
 * iteration. The engine of the service forms the batches (engines.c).
 *
 * A sequence is a request on its replica. When a sequence loses its memory, the tokens that it has produced become part
 * of its prompt. Most sequences decode one token in every iteration. These sequences are called steady. An iteration
 * does not change their data (struct hr__steady). A heap stores the iteration in which each steady sequence ends.
 * Steady sequences that take their next block of memory in the same iteration are counted together. Other sequences
 * with memory are in the list `running` or in the batch.
 *
 * Invariant: `used` is the memory that is allocated to all sequences of the replica, in blocks (`orca-splitwise`: in
 * tokens).
 *
 * Time: ticks of 2^-16 microseconds, which are rounded only in results, so that iterations of fractional
 * microseconds add up exactly.
 */

struct hr__sequence {
  uint32_t prompt; /* tokens that must be processed before the next token is produced */
  uint32_t total;  /* prompt and output */
  /* processed tokens, including the first token after the prompt. Steady sequences: this number minus the clock */
  uint32_t processed;
  /* in blocks or tokens. Of steady sequences with blocks, it is updated only when they stop being steady */
  uint32_t memory;
  uint32_t order;     /* running sequences are handled by ascending order */
  uint32_t unstarted; /* tokens of the prompt to compute; 0 after the prompt has yielded a token on this replica */
  bool is_decoding;   /* the prompt is complete */
};

/* The sequences of a service: a ring, indexed by the id of the request. It has room for all requests from the oldest
   incomplete request on. */
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
  /* a heap: the clock at the last token of the sequence in the upper 32 bits, the id in the lower 32 bits */
  uint64_t *ends;
  uint32_t count; /* of sequences */
  uint32_t clock; /* counts iterations; may overflow */
  uint32_t phase; /* the number of counted iterations modulo block_tokens */
  /* [block_tokens]: number of sequences with each phase, (processed - clock) modulo block_tokens; NULL: memory does not
     grow */
  uint32_t *phases;
  uint32_t growing;    /* the phase of the sequences that take a block in the next iteration */
  uint32_t last_order; /* maximum `order` of the steady sequences */
  uint64_t context;    /* number of tokens that they have processed */
};

/* The engine `single`: an event of a request in service. The request yields its first or its last token at `at`. This
   is a time in ticks or, with processor sharing, an amount of service in ticks (see engines.c). */
struct hr__due {
  double at;
  uint32_t id;
  bool is_first;
};

struct hr__replica {
  const struct hr_service *service;
  const uint32_t *cached;                /* by request: tokens of the prompt that need no computation; NULL: none */
  const int64_t *arrival_us;             /* by request */
  int64_t origin_us;                     /* the time of tick 0 */
  const struct hr__sequences *sequences; /* shared by the replicas of a service */
  struct hr__sequence_queue waiting;
  struct hr__steady steady;
  /* [n_running]: sequences that have memory and are neither steady nor in the batch; room for max_sequences */
  uint32_t *running;
  uint32_t n_running;
  uint32_t n_first;  /* number of running sequences that precede the steady sequences if these become running */
  uint32_t n_orders; /* the last `order` that was given to a sequence */
  struct hr__batch_item *batch; /* [n_batch]: the batch without the steady sequences; room for max_sequences */
  uint32_t n_batch;
  bool with_steady;    /* the steady sequences are in the batch, too */
  struct hr__due *due; /* [n_due] `single`: heap of requests in service */
  uint32_t n_due;
  /* `single` with processor sharing: the service that a request would have received if it had been in service since the
     replica was last empty */
  double done_ticks;
  /* of a replica without a batch: with `single`, the time from begin_ticks to its next event; with `dynamic-batch`, the
     time from begin_ticks for which it waits for more requests. Otherwise 0 */
  int64_t wait_ticks;
  uint32_t *admitted; /* [n_admitted]: sequences that left the queue for this batch; room for max_sequences */
  uint32_t n_admitted;
  struct hr__batch_load load; /* of the first iteration of the batch */
  struct hr__pricing pricing; /* of all batches */
  struct hr__price price;     /* of the iterations */
  uint32_t n_held;            /* sequences with memory */
  uint64_t used;              /* memory */
  uint64_t capacity, watermark;
  int64_t begin_ticks; /* start of the present iterations */
  int64_t end_ticks;   /* end of the last of them; HR_NEVER_US: the replica is idle */
  int64_t last_ticks;  /* the time that the last of them takes */
  uint32_t n_repeats;  /* number of successive iterations with this batch */
  bool steps;          /* each iteration is simulated separately, and no sequence is steady */
  bool is_open;        /* a request that arrives may join the batch after the present iteration */
  bool has_restarted;  /* a sequence lost its memory when the batch was formed */
  int64_t busy_ticks;  /* time in iterations, including the present iterations up to end_ticks */
  uint16_t *restarts;  /* by request: how often the request lost its memory */
  /* by request: sum of the times from each loss of memory after the first token to the next token, as in the result.
     Between a loss and this token, the time of the loss is already subtracted, so the value is negative */
  int64_t *preempted_us;
  uint64_t iterations, recomputed_tokens;
  uint64_t used_sum, used_peak;     /* sum and maximum of `used` over all iterations */
  struct hr_service_result *result; /* gets the losses of memory; the owner sets it */
  bool is_ready;                    /* the router may assign requests to the replica; the owner sets it */
  /* the time since which the replica is ready without an iteration; HR_NEVER_US: not idle */
  int64_t idle_from_ticks;
  bool no_memory;
};

static inline struct hr__sequence *hr__sequence_of(const struct hr__replica *replica, uint32_t id) {
  return &replica->sequences->at[id & replica->sequences->mask];
}

/* Subtracts the time of a loss of memory from `preempted_us`. Must be called when a sequence loses its memory. The time
   is rounded as in results, and relative to the origin. */
static inline void hr__replica_note_loss(struct hr__replica *replica, uint32_t id, int64_t now_ticks) {
  const int64_t now_us = (now_ticks + (INT64_C(1) << (HR__TICK_BITS - 1))) >> HR__TICK_BITS;
  if (replica->preempted_us && replica->preempted_us[id] >= 0) replica->preempted_us[id] -= now_us;
}

/* Counts a loss of memory in the minute in which the present iteration began. */
void hr__replica_count_loss(struct hr__replica *replica);

/* Prepares a replica. The owner then sets `cached`, `arrival_us`, `origin_us`, `preempted_us` and `result`. Returns
   false if memory is exhausted. The caller must close the replica in any case. */
bool hr__replica_open(struct hr__replica *replica, const struct hr_service *service,
                      const struct hr__sequences *sequences, uint16_t *restarts, bool steps);
void hr__replica_close(struct hr__replica *replica);

/* Forms the next batch and sets `end_ticks`. Unless `steps` is set, `end_ticks` is the end of all iterations for which
   the same batch would be formed. The iterations end earlier if one of them ends at `horizon_ticks` or later, because
   at this time a request is expected that would change the batch. Returns false if no sequence can run; the replica is
   then idle. */
bool hr__replica_begin(struct hr__replica *replica, int64_t now_ticks, int64_t horizon_ticks);
/* Ends the present series of iterations earlier: with the first iteration that ends at `at_ticks` or later or, if
   `after` is set, with the first iteration that ends later than `at_ticks`. A wait without a batch (`wait_ticks`) ends
   at `at_ticks`. */
void hr__replica_cut(struct hr__replica *replica, int64_t at_ticks, bool after);
/* Ends the present iterations. `event` is called for each sequence that has produced its first or its last token in
   them. */
typedef void hr__sequence_event(void *context, uint32_t id, bool is_first, bool is_last);
void hr__replica_end(struct hr__replica *replica, hr__sequence_event *event, void *context);
/* Stops the replica at `now_ticks`. First ends the iterations that are complete at this time, and calls `event` for
   them as hr__replica_end does. Then all sequences lose their memory. They are in the queue afterwards, in no
   particular order. The tokens that they have produced become part of their prompts, and are computed again. */
void hr__replica_kill(struct hr__replica *replica, int64_t now_ticks, hr__sequence_event *event, void *context);

/* ---- Replicas: for engines -------------------------------------------------------------------------- */

static inline uint32_t hr__queue_at(const struct hr__sequence_queue *queue, uint32_t position) {
  return queue->ids[(queue->first + position) & (queue->capacity - 1)];
}
/* Insert an id after the last entry or before the first entry. Both return false if memory is exhausted. */
bool hr__queue_push(struct hr__sequence_queue *queue, uint32_t id);
bool hr__queue_push_front(struct hr__sequence_queue *queue, uint32_t id);
/* Insert an id into a queue with ascending ids. The search begins at the first entry, or (hr__queue_insert_back) at the
   last entry. Both return false if memory is exhausted. */
bool hr__queue_insert(struct hr__sequence_queue *queue, uint32_t id);
bool hr__queue_insert_back(struct hr__sequence_queue *queue, uint32_t id);
/* Removes an id from any place; the search begins at the first entry. Returns the former position of the id; HR_NONE:
   not found. */
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
/* Returns the number of tokens of a request's prompt that need no computation. These tokens take memory, too. */
static inline uint32_t hr__cached(const struct hr__replica *replica, uint32_t id) {
  return replica->cached ? replica->cached[id] : 0;
}
/* Returns how many tokens of the prompt of a waiting sequence must be computed. */
static inline uint32_t hr__new_tokens(const struct hr__replica *replica, uint32_t id) {
  return hr__sequence_of(replica, id)->prompt - hr__cached(replica, id);
}
/* Adds to `recomputed_tokens` the number of tokens that a sequence must compute again after a loss of memory. Tokens
   that need no computation are not counted. */
static inline void hr__note_lost_tokens(struct hr__replica *replica, uint32_t id) {
  const uint32_t processed = hr__sequence_of(replica, id)->processed, cached = hr__cached(replica, id);
  if (processed > cached) replica->recomputed_tokens += processed - cached;
}

/* Makes a decoding sequence steady. With `steps`, makes it a running sequence instead. */
void hr__steady_add(struct hr__replica *replica, uint32_t id);
/* Moves all steady sequences to the running sequences, in their order. */
void hr__steady_release(struct hr__replica *replica);
/* Returns the number of blocks that the steady sequences need for the next iteration. */
static inline uint64_t hr__steady_need(const struct hr__replica *replica) {
  return replica->steady.phases ? replica->steady.phases[replica->steady.growing] : 0;
}
/* Forms the next batch by the rules of the service's engine. */
void hr__engine_form(struct hr__replica *replica);
/* Engines that do not add requests to a running batch. hr__end_static, hr__end_dynamic and hr__end_single end the
   present iterations. hr__stop_single returns the requests in service to the queue. hr__static_rest returns the number
   of iterations until the longest sequence of the batch ends. */
void hr__end_static(struct hr__replica *replica, hr__sequence_event *event, void *context);
void hr__end_dynamic(struct hr__replica *replica, hr__sequence_event *event, void *context);
void hr__end_single(struct hr__replica *replica, hr__sequence_event *event, void *context);
void hr__stop_single(struct hr__replica *replica);
uint32_t hr__static_rest(const struct hr__replica *replica);
/* Returns the capacity of a replica's memory, in blocks (`orca-splitwise`: in tokens). */
uint64_t hr__replica_capacity(const struct hr_service *service);

/* ---- Replicas with phases --------------------------------------------------------------------------- */

/*
 * Replicas of the engines `disaggregated` and `colocated`. They are simulated together, because a request moves from
 * one replica to another when its prompt is complete. Time is in floating-point milliseconds, as in DistServe's
 * simulator.
 */

struct hr__phase_replicas;

/* The owner of the replicas. The replicas call its functions with `self` as the first argument. `outstanding`:
   [n_replicas], the number of requests at each replica. The replicas update this array. */
struct hr__phase_owner {
  void *self;
  uint32_t *outstanding;
  void (*begins)(void *self, uint32_t id); /* a request begins its first iteration */
  /* a request has produced a token. The time of its first and of its last token is already in the result */
  void (*token)(void *self, uint32_t id, bool is_last);
  /* the first stage of a replica begins an iteration of `ms` milliseconds, which ends at `end_ms` */
  void (*works)(void *self, uint32_t replica, double ms, double end_ms);
  /* the first stage of a replica has nothing to do. `is_idle`: no stage of the replica has anything to do */
  void (*rests)(void *self, uint32_t replica, bool is_idle);
  /* a request has lost its memory and does not belong to a replica any more. `has_begun`: it had begun an iteration.
     `tokens`: number of tokens that must be computed again */
  void (*loses)(void *self, uint32_t id, bool has_begun, uint32_t tokens);
};

struct hr__phase_config {
  const struct hr_service *service;
  const struct hr_service_requests *requests;
  struct hr_service_result *result; /* gets the times of requests, with their remainders in picoseconds */
  uint32_t n_replicas, n_heads;     /* the first `n_heads` replicas take prompts; `disaggregated`: the others decode */
  uint32_t most;                    /* maximum number of requests */
  struct hr__phase_owner owner;
};

/* Creates replicas that are not ready yet. Returns NULL if memory is exhausted. */
struct hr__phase_replicas *hr__phases_open(const struct hr__phase_config *config);
/* Assigns a request to a ready replica; at least one ready replica that takes prompts must exist. `is_new`: the request
   has not lost its memory before. At one instant, all arrivals must be reported before other events are handled.
   Returns the replica. */
uint32_t hr__phases_arrive(struct hr__phase_replicas *all, uint32_t id, double now_ms, bool is_new);
/* Removes a request that has not begun an iteration. Returns false if the request does not wait in a queue of
   prompts. */
bool hr__phases_withdraw(struct hr__phase_replicas *all, uint32_t id);
/* Returns the time of the next event; INFINITY: none. */
double hr__phases_next_ms(const struct hr__phase_replicas *all);
/* Handles the next event. Returns false if memory is exhausted. */
bool hr__phases_step(struct hr__phase_replicas *all);
/* hr__phases_add makes a replica ready. hr__phases_drain stops the assignment of requests to a replica. hr__phases_kill
   ends a replica, whose requests lose their memory; it returns false if memory is exhausted. hr__phases_is_idle returns
   whether a replica has no requests. */
void hr__phases_add(struct hr__phase_replicas *all, uint32_t number, double now_ms);
void hr__phases_drain(struct hr__phase_replicas *all, uint32_t number);
bool hr__phases_kill(struct hr__phase_replicas *all, uint32_t number, double now_ms);
bool hr__phases_is_idle(const struct hr__phase_replicas *all, uint32_t number);
/* Returns the number of ready replicas that take prompts (`heads`), or that only decode. */
uint32_t hr__phases_ready(const struct hr__phase_replicas *all, bool heads);
/* Returns the number of requests that wait for a replica that decodes. */
uint32_t hr__phases_held(const struct hr__phase_replicas *all);
void hr__phases_close(struct hr__phase_replicas *all);

static inline bool hr__has_phases(const struct hr_service *service) {
  return service->engine == HR_SERVICE_DISAGGREGATED || service->engine == HR_SERVICE_COLOCATED;
}

/* ---- Service ---------------------------------------------------------------------------------------- */

/*
 * A running inference service: requests, a router and replicas. The owner opens it, advances it from instant to
 * instant, and changes its replicas at these instants. Changes take effect at the time to which the service was
 * advanced, before the arrivals and the ends of iterations of that instant.
 *
 * Times are microseconds in the clock of the requests.
 */

struct hr__service_run;

/* The place of a service in the graph of spill-over. The owner frees the lists. */
struct hr__spill_links {
  uint32_t n_hops; /* maximum number of other services to which a request of this service can go, one after another */
  /* upstream: the services with requests that can reach this one. circle: if this service is part of a circle, all
     services of the circle, including this one. Both are in order of the index of the service */
  struct hr__service_run **upstream, **circle;
  uint32_t n_upstream, n_circle;
};

struct hr__service_config {
  const struct hr_service *spec;
  const struct hr_service_requests *requests;
  uint32_t n_replicas; /* replicas are numbered from 0 to n_replicas - 1 */
  uint32_t n_decoders; /* the last n_decoders replicas only decode (`disaggregated`) */
  int64_t origin_us;   /* no change and no arrival is earlier */
  uint64_t seed;
  bool steps; /* simulate each iteration separately */
  /* Set only if other services can send requests to this one. feeds: these services, in order of their index. most: an
     upper bound for the number of all requests of this service. received: the list of all these requests, which the
     owner frees */
  struct hr__feed *feeds;
  uint32_t n_feeds, most;
  struct hr_service_requests *received;
  struct hr__spill_links links;
};

/* A service that sends requests to this one. n_taken: the number of these requests that this service has read. */
struct hr__feed {
  struct hr__service_run *from;
  uint32_t n_taken;
};

/* Data of a replica for routers that distinguish pools (see router.c). */
struct hr__replica_role {
  uint32_t rank; /* `first-available`: position of its pool in the configured order */
  /* `weighted`: each request increases `pass` by `stride`, which is 2^40 / weight; stride 0: weight 0 */
  uint64_t stride, pass;
  bool is_over; /* its pool is one to which requests spill over */
};

struct hr__service_run {
  const struct hr_service *spec;
  const struct hr_service_requests *requests; /* with feeds: `received` */
  struct hr_service_result *result;
  uint32_t next; /* the next request that arrives */
  /* own: the requests of this service, without those that other services send to it. With feeds, own_next is the index
     of the next own request that arrives, and `received` has all requests in the order in which they arrived */
  const struct hr_service_requests *own;
  uint32_t own_next;
  struct hr_service_requests *received;
  struct hr__feed *feeds;
  uint32_t n_feeds;
  struct hr__spill_links links;
  uint16_t *hops;               /* with feeds, by request: the number of further services to which it can go */
  uint32_t *spilled, n_spilled; /* requests that were sent to another service, in order */
  struct hr__sequences *sequences;
  struct hr__phase_replicas *phases; /* engines with phases, which use no `sequences`; otherwise NULL */
  uint32_t n_replicas, n_heads;      /* the first n_heads replicas get requests from the router */
  struct hr__replica *replicas;      /* [n_replicas] */
  uint32_t *ready, n_ready;          /* [n_ready]: replicas that get requests, in ascending order */
  uint32_t *outstanding;             /* by replica: number of its requests that are not complete */
  /* by replica: tokens to compute of all prompts that have not yielded a token, plus one for each decoding sequence */
  uint64_t *tokens;
  /* loads of the ready replicas, if the router compares all of them; otherwise empty */
  struct hr__tournament loads;
  struct hr__sequence_queue waiting; /* requests that found no ready replica, in order of arrival */
  struct hr__tournament ends;        /* by replica: end_ticks */
  uint32_t *touched, n_touched;      /* [n_touched]: idle replicas that got a request at this instant */
  bool *is_touched;                  /* by replica */
  struct hr__replica_role *roles;    /* by replica; NULL: the router needs none */
  uint32_t *candidates;              /* [n_ready] scratch of routers with roles */
  uint64_t last_pass;                /* pass of the replica that `weighted` chose last, before the choice */
  uint32_t n_waiting;                /* number of requests that wait for their first iteration */
  uint32_t oldest;                   /* no request with a lower id waits for its first iteration */
  /* moving mean of the time from the first iteration of a request to its end; 0: unknown */
  int64_t mean_us;
  bool wants_replica; /* a request found no ready replica */
  uint64_t n_routed, n_completed, n_refused, n_timed_out;
  uint64_t n_held;             /* number of requests that had to wait for a ready replica */
  uint64_t lost_tokens;        /* tokens of killed replicas that must be computed again */
  uint32_t n_outstanding;      /* number of requests that wait or are served */
  hr_amount outstanding_ticks; /* sum of n_outstanding over time, up to counted_ticks */
  int64_t counted_ticks;
  hr_amount ready_ticks; /* sum of n_marked over time, up to ready_from_ticks */
  int64_t ready_from_ticks;
  uint32_t n_marked;  /* number of ready replicas, including those that only decode */
  int64_t idle_ticks; /* the last time at which a request arrived or n_outstanding became 0 */
  /* cold_ticks: the time in which no replica was ready and at least one was starting, up to `cold_from_ticks`. is_cold:
     this is the case now */
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
/* Handles all arrivals, timeouts and ends of iterations before an instant, also those of services that send requests to
   this one. HR_NEVER_US: handles all events. */
void hr__service_advance(struct hr__service_run *service, int64_t until_us);
/* Makes a replica ready: the replica gets requests from now on. Before the call, it must not be ready and must have no
   requests. */
void hr__service_add(struct hr__service_run *service, uint32_t number);
/* Sets the number of replicas that have GPUs but are not ready, from an instant on. The service may already have
   handled the requests of this instant. */
void hr__service_set_starting(struct hr__service_run *service, uint32_t count, int64_t at_us);
/* Stops the assignment of requests to a replica. The replica completes the requests that it has. */
void hr__service_drain(struct hr__service_run *service, uint32_t number);
/* Ends a replica at once. Its requests return to the router, which assigns them again in the order of arrival. */
void hr__service_kill(struct hr__service_run *service, uint32_t number);
/* Sets the pool of a replica that is not ready. Routers that choose by pools treat replicas without a pool alike. */
struct hr_pool_spec;
void hr__service_place(struct hr__service_run *service, uint32_t number, const struct hr_pool_spec *pool);
/* hr__service_runs returns whether any replica runs iterations. hr__service_first_us returns when the first of these
   iterations ends, rounded up; HR_NEVER_US: none runs. */
bool hr__service_runs(const struct hr__service_run *service);
int64_t hr__service_first_us(const struct hr__service_run *service);
/* hr__service_has_other returns whether, besides the ready replica `number`, another replica of the same kind is ready.
   hr__service_ready returns the number of ready replicas. hr__service_unplaced returns the number of requests that wait
   because no suitable replica is ready. */
bool hr__service_has_other(const struct hr__service_run *service, uint32_t number);
static inline uint32_t hr__service_ready(const struct hr__service_run *service) {
  return service->n_ready + (service->phases ? hr__phases_ready(service->phases, false) : 0);
}
static inline uint32_t hr__service_unplaced(const struct hr__service_run *service) {
  return service->waiting.count + (service->phases ? hr__phases_held(service->phases) : 0);
}
/* `disaggregated`: returns how many of `count` replicas only decode. The replicas are divided in the proportion of
   `prefill_replicas` and `decode_replicas`, rounded, with at least one replica of each kind. Returns 0 for other
   engines and for fewer than two replicas. */
static inline uint32_t hr__service_decoders(const struct hr_service *spec, uint32_t count) {
  const uint64_t heads = spec->phases.prefill_replicas, all = heads + spec->phases.decode_replicas;
  if (spec->engine != HR_SERVICE_DISAGGREGATED || count < 2) return 0;
  const uint32_t n_heads = (uint32_t)((2 * count * heads + all) / (2 * all));
  return count - (n_heads < 1 ? 1 : n_heads > count - 1 ? count - 1 : n_heads);
}
/* Returns whether a replica has no requests. */
static inline bool hr__service_is_idle(const struct hr__service_run *service, uint32_t number) {
  return service->phases ? hr__phases_is_idle(service->phases, number) : service->outstanding[number] == 0;
}
/* Returns when the iterations that a replica runs end, rounded up. An arrival can end them earlier. HR_NEVER_US: the
   replica is idle. For replicas with phases that are not idle, returns the time of the next event of any replica. */
int64_t hr__service_wake_us(const struct hr__service_run *service, uint32_t number);
/* While requests can still arrive, returns the last instant at which a request can arrive. After this instant, returns
   the time of the next end of iterations (rounded up) or of the next timeout; HR_NEVER_US: no further events. */
int64_t hr__service_next_us(struct hr__service_run *service);
/* hr__service_expects returns whether requests can still arrive. hr__service_arrival_us returns the earliest time at
   which the next request can arrive; HR_NEVER_US: none can arrive. */
bool hr__service_expects(const struct hr__service_run *service);
int64_t hr__service_arrival_us(const struct hr__service_run *service);
/* Returns when the oldest waiting request times out; HR_NEVER_US: no request waits, or the service has no timeout. */
int64_t hr__service_timeout_us(struct hr__service_run *service);
/* Completes the result and frees the service. Returns HR_NO_MEMORY if memory was exhausted during the run. */
enum hr_status hr__service_close(struct hr__service_run *service, struct hr_error *error);

/* ---- The state of a service ------------------------------------------------------------------------- */

/* Returns the time so far in which replicas were ready, summed over replicas. */
static inline hr_amount hr__service_ready_ticks(const struct hr__service_run *service) {
  return service->ready_ticks + (hr_amount)service->n_marked * (service->now_ticks - service->ready_from_ticks);
}

/* ---- Admission and spill-over (router.c) ------------------------------------------------------------ */

/* Decides whether an arriving request may wait. If not, refuses the request or sends it to another service, sets its
   result, and returns false. */
bool hr__service_admits(struct hr__service_run *service, uint32_t id);
/* Services with feeds: hr__feeds_next_us returns the time of the next arrival; HR_NEVER_US: none is known.
   hr__feeds_take adds the request of this arrival to the requests of this service, and returns its id. */
int64_t hr__feeds_next_us(const struct hr__service_run *service);
uint32_t hr__feeds_take(struct hr__service_run *service);
/* Returns the time of the next arrival that is already known; HR_NEVER_US: none. Requests that other services may still
   send are not included. */
static inline int64_t hr__service_known_us(const struct hr__service_run *service) {
  if (service->n_feeds) return hr__feeds_next_us(service);
  return service->next < service->requests->count ? service->requests->arrival_us[service->next] : HR_NEVER_US;
}
/* Returns the last instant at which a request can arrive. */
int64_t hr__service_last_us(const struct hr__service_run *service);
/* Prepares feeds, the list of requests for another service, and roles. Returns false if memory is exhausted. */
bool hr__admission_open(struct hr__service_run *service, const struct hr__service_config *config);
/* Sets the results of the requests that have not arrived: they are unfinished. */
void hr__admission_end(struct hr__service_run *service);
void hr__admission_close(struct hr__service_run *service);

/* ---- How requests are assigned to ready replicas (router.c) ----------------------------------------- */

/* Prepares the router of a service. Returns false if memory is exhausted. */
bool hr__router_open(struct hr__service_run *service);
/* Chooses one of the ready replicas for a request. At least one replica must be ready. */
uint32_t hr__route(struct hr__service_run *service);
/* Must be called when a replica has become ready. */
void hr__router_join(struct hr__service_run *service, uint32_t number);
/* Must be called when a replica is not ready any more. Has no effect if it was not ready. */
void hr__router_leave(struct hr__service_run *service, uint32_t number);
/* Must be called when the load of a replica has changed. Has no effect if the replica is not ready. */
void hr__router_note(struct hr__service_run *service, uint32_t number);

/* ---- Scaling ---------------------------------------------------------------------------------------- */

/*
 * Computes how many replicas a service wants. A scaler has samples of the load of a service, and the settings and the
 * state of its autoscaler (autoscalers.h). Times are relative to the start of the run.
 */

/* The load of a service, summed since the start of the run. */
struct hr__load_sample {
  double outstanding_s;    /* sum of outstanding requests over time */
  double busy_s;           /* time in which replicas ran iterations, summed over replicas */
  double ready_s;          /* time in which replicas were ready, summed over replicas */
  double prompts, outputs; /* tokens of the requests that arrived, without prompt tokens that need no computation */
  double output_squares;   /* sum of the squares of their output tokens */
  double memory;           /* all prompt and output tokens of the requests that arrived */
  uint64_t arrived;
  uint32_t outstanding, waiting, ready; /* at the time of the sample; waiting: before their first iteration */
};

struct hr__scaler {
  const struct hr_service *spec;
  int64_t sample_us, interval_us;  /* between samples, and between decisions */
  struct hr__load_sample *samples; /* [n_samples]: the last samples, a ring */
  uint32_t n_samples;
  uint64_t count;       /* number of samples so far */
  uint32_t n_summed;    /* number of requests with tokens in `prompts` and `outputs` */
  uint64_t n_seen;      /* number of requests that had arrived at the last sample */
  int64_t active_us;    /* the last sample at which requests were outstanding or had arrived; HR_UNKNOWN_US: never */
  int64_t activated_us; /* the last time at which the wanted number changed from 0 */
  int64_t inactive_us;  /* knative: the time since which no replica is wanted; HR_UNKNOWN_US: replicas are wanted */
  double prompts, outputs, output_squares, memory;
  struct hr__knative knative;
  struct hr__knative_window stable, panic;
  struct hr__hpa_rules up, down;
  struct hr__hpa_history history;
  struct hr__hpa_pod *pods;
  struct hr__ray ray;
  /* slo: fewer_us: the time since which fewer replicas suffice; HR_UNKNOWN_US: fewer do not suffice. fewer_most: the
     maximum number that was needed since then */
  int64_t fewer_us;
  uint32_t fewer_most;
  double *percent; /* [n_samples]: scratch of `nvcf`: utilization in successive samples */
};

/* The replicas of a service at a decision. */
struct hr__scale_state {
  uint32_t wanted;  /* the number that the last decision wanted */
  uint32_t present; /* replicas that are not draining, whether ready or not */
};

struct hr__scale_choice {
  uint32_t wanted;
  enum hr_scale_reason reason;
};

/* Initializes a scaler for a service with at most `n_places` replicas. Returns false if memory is exhausted. */
bool hr__scaler_open(struct hr__scaler *scaler, const struct hr_service *spec, uint32_t n_places);
void hr__scaler_close(struct hr__scaler *scaler);
/* Returns whether the autoscaler can change the number of replicas. */
bool hr__scaler_is_active(const struct hr__scaler *scaler);
/* Returns a time after which the wanted number is assumed not to change any more, if requests wait and nothing else
   happens. It is the sum of all delays, windows and periods of the autoscaler, plus a day. */
int64_t hr__scaler_patience_us(const struct hr__scaler *scaler);
/* Returns the wanted number at the start of the run. */
uint32_t hr__scaler_initial(const struct hr__scaler *scaler);
/* Takes a sample. Must be called at each multiple of `sample_us`. At multiples of `interval_us`, also makes a decision,
   stores it in `*choice` and returns true. Otherwise returns false. */
bool hr__scaler_tick(struct hr__scaler *scaler, const struct hr__service_run *run, int64_t now_us,
                     struct hr__scale_state state, struct hr__scale_choice *choice);
/* hr__scaler_activates_at_once returns whether the service is activated as soon as a request arrives while no replica
   is wanted. hr__scaler_activate records the activation, and returns the number of replicas that are then wanted. */
bool hr__scaler_activates_at_once(const struct hr__scaler *scaler);
struct hr__scale_choice hr__scaler_activate(struct hr__scaler *scaler, int64_t now_us);

#endif
