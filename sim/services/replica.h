/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_SERVICES_REPLICA_H
#define HR_SIM_SERVICES_REPLICA_H

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

#include "headroom/unstable/services.h"
#include "sim/services/cost.h"

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

/* ---- For engines ------------------------------------------------------------------------------------ */

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

#endif
