/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_DISPATCH_H
#define HR_POLICIES_QUEUE_DISPATCH_H

/*
 * The `queue` policy as its parts see it: an order of jobs, a way to pass over those that do not fit, a placement rule,
 * and whatever else listens to what happens to jobs. A part knows this header and those of its like that it stands on;
 * only queue.c knows them all.
 */

#include "policies/placement/gpu_allocator.h"
#include "policies/placement/locality.h"
#include "policies/queue/order/order.h"

/* What happens when a job does not fit. */

struct hr__backfill {
  /* Jobs of equal request share a queue; otherwise all wait in one. */
  bool by_shape;
  /* A job that does not fit holds nobody back. */
  bool passes_over;
  /* It looks at when running jobs are expected to end. */
  bool needs_calendar;
  /* What a queue's bounded search is about (struct hr_job_entry's value); NULL where none is made. */
  int64_t (*value)(const struct hr_trace *trace, hr_job job);
  enum hr_status (*create)(struct hr__queue *queue, const struct hr_policy_env *env); /* may be NULL */
  enum hr_status (*pass)(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);
  bool walks; /* it looks at jobs beyond the first of each shape, in order */
};

extern const struct hr__backfill hr__backfill_strict, hr__backfill_skip, hr__backfill_easy, hr__backfill_conservative;

/* What a part is told; each function may be NULL. */
struct hr__listener {
  /* A job begins to wait, or waits again; it is not in the queue yet. */
  enum hr_status (*job_waits)(struct hr__queue *queue, const struct hr_view *view, hr_job job);
  /* A waiting job was started. */
  enum hr_status (*job_starts)(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                               const struct hr_placement *placement);
  /* A job has ended (HR_EVENT_END), or was stopped and waits again. */
  enum hr_status (*job_stops)(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event);
  /* A waiting job is given up. */
  enum hr_status (*job_rejected)(struct hr__queue *queue, const struct hr_view *view, hr_job job);
  /* A running job goes on at another place. */
  enum hr_status (*job_moves)(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                              const struct hr_placement *from, const struct hr_placement *to);
  /* More or fewer nodes can be had, or a node came or went. */
  enum hr_status (*node_changes)(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event);
};

enum { HR__MAX_LISTENERS = 8 };

/* A job that waits in vain. */
struct hr__queue_rejection {
  hr_job job;
  enum hr_reason reason;
};

struct hr__queue {
  struct hr_arena *arena;
  const struct hr_trace *trace;
  const struct hr_cluster *cluster;
  const struct hr__order *order;
  const struct hr__backfill *backfill;
  enum hr_placement_rule rule;
  struct hr_placer *placer;
  struct hr_release_calendar *calendar; /* NULL unless the backfill needs it */
  int64_t *expected_us; /* by job: the expected end that `releases` was told; NULL: worked out from start and limit */
  struct hr__waiting waiting;
  const struct hr__listener *listeners[HR__MAX_LISTENERS];
  uint32_t n_listeners;
  bool stops;          /* jobs may be stopped before their end */
  bool freed;          /* capacity came free since this was last set to false */
  bool by_priority;    /* lanes are parted by priority, too */
  bool frozen;         /* keys are not to change until the pass is over */
  hr_job blocked;      /* the job that stopped the last pass, HR_NONE for none */
  hr_job head;         /* the first in order that did not fit in this pass, as far as the backfill told */
  int64_t reserved_us; /* the start promised to it; HR_NEVER_US for none */
  struct hr__queue_rejection *rejections; /* since the last pass */
  uint32_t n_rejections, rejections_capacity;
  int64_t wake_us; /* the next wake-up that hr__queue_wake asked for */
  void *order_state, *backfill_state;
  struct hr__quota *quota;             /* NULL where the scenario has none */
  struct hr__preemptor *preemptor;     /* NULL where no job is stopped for another */
  struct hr__market *market;           /* NULL where no nodes are asked for */
  struct hr__deadlines *deadlines;     /* NULL unless the market rule goes by deadlines */
  struct hr__gpu_allocator *allocator; /* NULL unless GPUs are told apart */
  struct hr__gpu_release_calendar
      *gpu_calendar;                   /* likewise, and unless the backfill looks ahead; instead of `releases` */
  struct hr__locality_state *locality; /* NULL unless a job is to be within a group */
  bool locality_expires;               /* the topology constraint of some job is required for a limited time only */
};

static inline uint32_t hr__gpus(const struct hr__queue *queue, hr_job job) {
  return queue->trace->gpus[job.id];
}

/* What orders and quotas count of a job: what it asks for, in thousandths of GPUs. Where GPUs are told apart it is the
   shares of all its tasks, elsewhere whole GPUs. */
static inline uint64_t hr__counted_milli(const struct hr__queue *queue, hr_job job) {
  return hr_cluster_asked_milli(queue->cluster, job);
}

/* Likewise in GPUs; of whole ones the very number. */
static inline double hr__counted_gpus(const struct hr__queue *queue, hr_job job) {
  return (double)hr__counted_milli(queue, job) / HR_WHOLE_GPU_MILLI;
}

/* HR_NONE for jobs without a tenant. */
static inline uint32_t hr__tenant(const struct hr__queue *queue, hr_job job) {
  return queue->trace->tenant ? queue->trace->tenant[job.id] : HR_NONE;
}

/* What tells jobs of so many GPUs apart: the pools that they accept; where GPUs are told apart, all that they ask for;
   and how near together they are to be. */
static inline uint32_t hr__kind(const struct hr__queue *queue, hr_job job) {
  uint32_t kind = queue->allocator ? hr_cluster_requests(queue->cluster)->of_job[job.id]
                                   : hr_cluster_accept_class(queue->cluster, job);
  return queue->locality ? hr__locality_kind(queue, job, kind) : kind;
}

/* Where such a job would go now; false when it does not fit. Jobs without GPUs go anywhere. */
static inline bool hr__fits(const struct hr__queue *queue, uint32_t gpus, uint32_t kind,
                            struct hr_placement *placement) {
  if (queue->locality) return hr__locality_fits(queue, gpus, kind, placement);
  return queue->allocator ? hr__gpu_allocator_find(queue->allocator, kind, HR_TIER_ANY, placement)
                          : hr_placer_find(queue->placer, gpus, kind, placement);
}

/* ---- What happens (dispatch.c) -------------------------------------------------------------------- */

enum hr_status hr__queue_job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job);
enum hr_status hr__queue_job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event);

/* ---- What is done ----------------------------------------------------------------------------------- */

/* After a change, or several, in what runs: ranks and quotas as they are now. */
enum hr_status hr__queue_refresh(struct hr__queue *queue, const struct hr_view *view);
/* Starts a waiting job of `shape`, takes it out of the queue and tells all parts. */
enum hr_status hr__queue_start(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                               struct hr__shape *shape, struct hr_job_entry entry, const struct hr_placement *placement,
                               enum hr_reason reason);
/* Likewise a waiting job wherever it is in the queue. */
enum hr_status hr__queue_start_job(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                   hr_job job, const struct hr_placement *placement, enum hr_reason reason);
/* Starts jobs in order until one does not fit, and returns its shape in `blocked`, NULL when none waits. */
enum hr_status hr__queue_start_in_order(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                        struct hr__shape **blocked);
/* A waiting job is to be given up: it is, at the next pass. False: out of memory. */
bool hr__queue_reject_later(struct hr__queue *queue, hr_job job, enum hr_reason reason);
enum hr_status hr__queue_reject_marked(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);
/* Puts a waiting job where its order has it now. */
enum hr_status hr__queue_rekey(struct hr__queue *queue, const struct hr_view *view, hr_job job, int64_t old_key);

static inline void hr__queue_add_listener(struct hr__queue *queue, const struct hr__listener *listener) {
  queue->listeners[queue->n_listeners++] = listener;
}

/* Asks to be woken at a time, unless that was done already; HR_NEVER_US: not at all. */
static inline enum hr_status hr__queue_wake(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                            int64_t at_us) {
  bool pending = queue->wake_us > view->now_us && queue->wake_us <= at_us;
  if (at_us == HR_NEVER_US || pending) return HR_OK;
  queue->wake_us = at_us;
  return hr_moves_wake_at(moves, at_us);
}

/* Calls a function of each listener that has it, in the order in which they began to listen. */
#define HR__NOTIFY(queue, status, function, ...)                                                                       \
  for (uint32_t i = 0; i < (queue)->n_listeners && (status) == HR_OK; i++)                                             \
    if ((queue)->listeners[i]->function) (status) = (queue)->listeners[i]->function((queue), __VA_ARGS__)

/* Sets a flag on which the kind of a waiting job depends, and moves the job to the shape that it then has. */
enum hr_status hr__queue_change_kind(struct hr__queue *queue, const struct hr_view *view, hr_job job, uint8_t *flag);

#endif
