/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_H
#define HR_POLICIES_QUEUE_H

/* The parts of the `queue` policy: an order of jobs, a way to pass over those that do not fit, a placement rule. */

#include "headroom/policy.h"

struct hr__queue;

/* Which waiting job comes first: the least key, ties by (submit, row), which is the job's id. */
struct hr__order {
  int64_t (*key)(const struct hr_trace *trace, hr_job job);
};

/* What happens when a job does not fit. */
struct hr__backfill {
  /* Jobs of equal request share a queue; otherwise all wait in one. */
  bool by_shape;
  /* It looks at when running jobs are expected to end. */
  bool needs_releases;
  /* What a queue's bounded search is about (struct hr_job_entry's value); NULL where none is made. */
  int64_t (*value)(const struct hr_trace *trace, hr_job job);
  enum hr_status (*create)(struct hr__queue *queue, const struct hr_policy_env *env); /* may be NULL */
  enum hr_status (*pass)(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan);
};

extern const struct hr__order hr__order_fifo, hr__order_sjf, hr__order_smallest, hr__order_largest, hr__order_priority;
extern const struct hr__backfill hr__backfill_strict, hr__backfill_skip, hr__backfill_easy, hr__backfill_conservative;

/* How nodes of elastic pools are asked for. */
enum hr__market_rule {
  HR__MARKET_STATIC, /* all that can be had, by the engine */
  HR__MARKET_ON_DEMAND_ONLY,
  HR__MARKET_SPOT_FIRST,
  HR__MARKET_PRICE_CAPACITY,
  /* Each job on nodes of its own, by its deadline. */
  HR__MARKET_DEADLINE_GREEDY,
  HR__MARKET_UNIFORM_PROGRESS,
  HR__MARKET_OMNISCIENT
};

/* Waiting jobs that ask for the same, in order. If the first does not fit, none does. */
struct hr__shape {
  uint32_t gpus, accept_class;
  struct hr_job_tree jobs;
  struct hr_job_entry head; /* the first of `jobs`, when there is one */
  uint32_t active_at;       /* its place in queue->active, HR_NONE while empty */
};

struct hr__queue {
  struct hr_arena *arena;
  const struct hr_trace *trace;
  const struct hr_cluster *cluster;
  const struct hr__order *order;
  const struct hr__backfill *backfill;
  enum hr_placement_rule rule;
  struct hr_placer *placer;
  struct hr_releases *releases; /* NULL unless the backfill needs it */
  struct hr_tree_store *store;
  struct hr__shape **shapes; /* every shape seen */
  uint32_t *active;          /* those with waiting jobs, in no order */
  uint32_t *slot;            /* hash of shapes: number + 1, 0 for empty */
  uint32_t n_shapes, n_active, n_slots;
  bool freed;           /* capacity came free since this was last set to false */
  hr_job blocked;       /* the job that stopped the last pass, HR_NONE for none */
  int64_t *expected_us; /* by job: the expected end that `releases` was told; NULL: worked out from start and limit */
  void *backfill_state;
  struct hr__market_plan *market;  /* NULL under HR__MARKET_STATIC, and where no pool is elastic */
  struct hr__deadlines *deadlines; /* NULL unless the market rule goes by deadlines */
};

static inline uint32_t hr__gpus(const struct hr__queue *queue, hr_job job) {
  return queue->trace->gpus[job.id];
}

/* market.c: asking for nodes and giving them back. False: out of memory. */
struct hr__market_limits {
  enum hr__market_rule rule;
  int64_t spot_wait_us;    /* a job waits so long for spot capacity before it pays for on-demand */
  int64_t spot_hold_us;    /* spot capacity must have been on offer, without a reclaim, for so long */
  int64_t idle_release_us; /* a node without jobs is given back after so long */
  uint32_t min_on_demand;  /* nodes that are kept */
  double max_spot_share;   /* of all elastic nodes */
  double reclaim_hours;    /* of work that a reclaim is taken to cost */
  bool returns;            /* spot-first: running jobs go back from on-demand to spot capacity */
};
bool hr__market_create(struct hr__queue *queue, const struct hr__market_limits *limits);
bool hr__market_job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job);
bool hr__market_job_starts(struct hr__queue *queue, hr_job job, const struct hr_placement *placement);
/* To be told of each job that ends or is stopped. */
void hr__market_job_stops(struct hr__queue *queue, hr_job job);
bool hr__market_place_is_left(struct hr__queue *queue, const struct hr_placement *placement, int64_t now_us);
bool hr__market_node_changes(struct hr__queue *queue, const struct hr_event *event);
/* After the backfill's pass. */
enum hr_status hr__market_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan);

/* deadlines.c: each job on nodes of its own, asked for and left by its deadline. */
enum hr_status hr__deadlines_create(struct hr__queue *queue, enum hr__market_rule rule, int64_t changeover_us,
                                    struct hr_error *error);
enum hr_status hr__deadlines_observe(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event);
enum hr_status hr__deadlines_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan);

/* omniscient.c: the cheapest plan for one job that knows what spot capacity will be there. */
struct hr__itinerary_step {
  int64_t at_us;
  uint32_t pool; /* to be on from then on; HR_NONE: on none */
};
struct hr__itinerary {
  struct hr__itinerary_step *steps;
  uint32_t n_steps;
};
/* In the arena; n_steps 0 when the deadline cannot be met. HR_BAD_INPUT where the future of a pool is not a record, or
   its times have no common measure that is coarse enough. */
enum hr_status hr__itinerary_make(struct hr__queue *queue, hr_job job, int64_t from_us, int64_t changeover_us,
                                  struct hr__itinerary *itinerary, struct hr_error *error);

/* waiting.c: the waiting jobs by shape. */
enum hr_status hr__waiting_init(struct hr__queue *queue);
enum hr_status hr__waiting_add(struct hr__queue *queue, hr_job job);
enum hr_status hr__waiting_remove(struct hr__queue *queue, struct hr__shape *shape, struct hr_job_entry entry);

static inline struct hr__shape *hr__active_shape(const struct hr__queue *queue, uint32_t i) {
  return queue->shapes[queue->active[i]];
}
static inline bool hr__entry_before(struct hr_job_entry a, struct hr_job_entry b) {
  return a.key != b.key ? a.key < b.key : a.job.id < b.job.id;
}
/* The first waiting job of all and its shape; NULL when none waits. */
struct hr__shape *hr__waiting_first(const struct hr__queue *queue);

/* Where a job of this shape would go now; false when it does not fit. Jobs without GPUs go anywhere. */
static inline bool hr__shape_fits(const struct hr__queue *queue, uint32_t gpus, uint32_t accept_class,
                                  struct hr_placement *placement) {
  return hr_placer_find(queue->placer, gpus, accept_class, placement);
}

/* Starts a waiting job of `shape`, takes it out of the queue and, where kept, notes its expected end. */
enum hr_status hr__queue_start(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan,
                               struct hr__shape *shape, struct hr_job_entry entry, const struct hr_placement *placement,
                               enum hr_reason reason);
/* A running job was moved: its expected end is noted anew, where that is kept. */
enum hr_status hr__queue_note_move(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                   const struct hr_placement *from, const struct hr_placement *to);
/* Starts jobs in order until one does not fit, and returns its shape in `blocked`, NULL when none waits. */
enum hr_status hr__queue_start_in_order(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan,
                                        struct hr__shape **blocked);

#endif
