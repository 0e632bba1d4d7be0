/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_SERVICES_REPLICA_H
#define HR_SIM_SERVICES_REPLICA_H

/*
 * A replica of an inference service: sequences that wait, sequences that have memory, and the batch of the iteration
 * that runs. The engine of the service forms the batches.
 *
 * A sequence is a request on its replica. When it loses its memory, what it has produced becomes part of its prompt.
 * Invariant: `used` is the sum of the memory of all sequences of the replica, in blocks (`orca-splitwise`: in tokens).
 *
 * Time: ticks of 2^-16 microseconds, which are rounded only in results, so that iterations of fractional
 * microseconds add up exactly.
 */

#include "headroom/unstable/services.h"

enum { HR__TICK_BITS = 16 };
#define HR__TICKS(us) ((int64_t)((uint64_t)(us) << HR__TICK_BITS))

struct hr__sequence {
  uint32_t prompt;    /* tokens that are processed before the next token is produced */
  uint32_t total;     /* prompt and output */
  uint32_t processed; /* tokens in memory, and the first token after the prompt */
  uint32_t memory;    /* blocks or tokens */
  uint32_t unstarted; /* tokens of the prompt, until it yields a token on this replica; then 0 */
  bool is_decoding;   /* the prompt is complete */
};

/* A queue of sequences that grows at both ends: a ring. */
struct hr__sequence_queue {
  uint32_t *ids;
  uint32_t capacity, first, count; /* the capacity is a power of two */
};

struct hr__batch_item {
  uint32_t id, tokens;
};

/* What the time of an iteration depends on: tokens of prompts, sequences that decode, and tokens that the sequences
   have processed before. */
struct hr__batch_load {
  uint64_t prompts, decodes, context;
};

struct hr__replica {
  const struct hr_service *service;
  struct hr__sequence *sequences; /* by request, shared by the replicas of a service */
  struct hr__sequence_queue waiting;
  uint32_t *running; /* [n_running] have memory and are not in the batch; room for max_sequences */
  uint32_t n_running;
  struct hr__batch_item *batch; /* [n_batch] room for max_sequences */
  uint32_t n_batch;
  struct hr__batch_load load; /* of the first iteration of the batch */
  uint32_t n_held;            /* sequences with memory */
  uint64_t used;              /* memory */
  int64_t begin_ticks;        /* of the iterations that run */
  int64_t end_ticks;          /* of the last of them; HR_NEVER_US: the replica is idle */
  uint32_t n_repeats;         /* how often the batch runs before it changes */
  bool is_open;               /* a request that arrives joins after the present iteration */
  bool has_restarted;         /* a sequence lost its memory when the batch was formed */
  int64_t busy_ticks;
  uint16_t *restarts; /* by request: how often it lost its memory */
  uint64_t iterations, recomputed_tokens;
  bool no_memory;
};

static inline uint32_t hr__queue_at(const struct hr__sequence_queue *queue, uint32_t position) {
  return queue->ids[(queue->first + position) & (queue->capacity - 1)];
}
/* Return false if memory is exhausted. */
bool hr__queue_push(struct hr__sequence_queue *queue, uint32_t id);
bool hr__queue_push_front(struct hr__sequence_queue *queue, uint32_t id);
/* Insert an id into a queue of rising ids. The search begins at the first, or at the last entry. */
bool hr__queue_insert(struct hr__sequence_queue *queue, uint32_t id);
bool hr__queue_insert_back(struct hr__sequence_queue *queue, uint32_t id);
static inline uint32_t hr__queue_pop(struct hr__sequence_queue *queue) {
  uint32_t id = hr__queue_at(queue, 0);
  queue->first = (queue->first + 1) & (queue->capacity - 1);
  queue->count--;
  return id;
}

/* Forms the next batch; it is empty if nothing can run. Sets how often it runs: as long as it would be formed again,
   if `steps` is not set. */
void hr__replica_form(struct hr__replica *replica, bool steps);
/* The time of the first `count` iterations of the batch. */
int64_t hr__replica_cost(const struct hr__replica *replica, uint32_t count);
/* Ends the run of iterations with the first one that ends at `at_ticks` or later; if `after` is set, later. */
void hr__replica_cut(struct hr__replica *replica, int64_t at_ticks, bool after);
/* Ends the iterations. `event` is called for each sequence that produced its first or its last token. */
typedef void hr__sequence_event(void *context, uint32_t id, bool is_first, bool is_last);
void hr__replica_end(struct hr__replica *replica, hr__sequence_event *event, void *context);
/* Stops the replica at `now_ticks`. Iterations that are complete by then count; `event` is called as above. All
   sequences lose their memory, and are then in the queue in no particular order. What they have produced becomes part
   of their prompts, and is computed again. */
void hr__replica_kill(struct hr__replica *replica, int64_t now_ticks, hr__sequence_event *event, void *context);

#endif
