/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_DISPATCH_H
#define HR_POLICIES_QUEUE_DISPATCH_H

/*
 * The interface between the modules of the `queue` policy: parameters, the shared state, the interfaces of orders,
 * backfills and listeners, and the moves that modules share. A module includes this header and the headers of the
 * modules that it uses. Only queue.c includes all modules. All memory is allocated in the arena of the run. Functions
 * that return enum hr_status return HR_NO_MEMORY if no memory is available.
 */

#include "headroom/policy.h"
#include "headroom/policy_kit.h"
#include "headroom/unstable/capacity.h"
#include "policies/kit/jobs.h"
#include "policies/placement/locality.h"
#include "policies/queue/waiting.h"

#include <string.h>

/* ---- Parameters ------------------------------------------------------------------------------------- */

/* Each list below contains the possible values of a parameter: their names and, in most lists, the objects or constants
   that implement them. Internally, the value of such a parameter is an index into its list. The list of orders is in
   the next section. */

#define HR__BACKFILLS(X)                                                                                               \
  X("strict", &hr__backfill_strict)                                                                                    \
  X("skip", &hr__backfill_skip)                                                                                        \
  X("easy", &hr__backfill_easy)                                                                                        \
  X("conservative", &hr__backfill_conservative)
#define HR__PLACEMENTS(X)                                                                                              \
  X("pool", HR_PLACE_POOL)                                                                                             \
  X("first-fit", HR_PLACE_FIRST_FIT)                                                                                   \
  X("best-fit", HR_PLACE_BEST_FIT)                                                                                     \
  X("worst-fit", HR_PLACE_WORST_FIT)                                                                                   \
  X("data-local", HR_PLACE_BEST_FIT)
/* Packing rules, for per-GPU allocation only. */
#define HR__PACKINGS(X)                                                                                                \
  X("spread")                                                                                                          \
  X("random")                                                                                                          \
  X("weighted-best-fit")                                                                                               \
  X("dot-product")                                                                                                     \
  X("gpu-packing")                                                                                                     \
  X("gpu-clustering")                                                                                                  \
  X("fgd")                                                                                                             \
  X("kube-default")                                                                                                    \
  X("kube-most-allocated")
#define HR__MARKETS(X)                                                                                                 \
  X("static", HR__MARKET_STATIC)                                                                                       \
  X("on-demand-only", HR__MARKET_ON_DEMAND_ONLY)                                                                       \
  X("spot-first", HR__MARKET_SPOT_FIRST)                                                                               \
  X("price-capacity", HR__MARKET_PRICE_CAPACITY)
#define HR__PREEMPTIONS(X)                                                                                             \
  X("auto", PREEMPTS_AUTO)                                                                                             \
  X("none", PREEMPTS_NONE)                                                                                             \
  X("order", PREEMPTS_BY_ORDER)                                                                                        \
  X("priority", PREEMPTS_BY_PRIORITY)                                                                                  \
  X("reclaim", PREEMPTS_BY_QUOTA)
#define HR__STOPPED(X)                                                                                                 \
  X("auto", HR__STOPPED_AUTO)                                                                                          \
  X("checkpoint", HR__STOPPED_KEEPS)                                                                                   \
  X("requeue", HR__STOPPED_REQUEUE)                                                                                    \
  X("kill", HR__STOPPED_KILLED)
#define HR__VICTIM_RULES(X)                                                                                            \
  X("last", HR__VICTIMS_LAST)                                                                                          \
  X("least-lost", HR__VICTIMS_LEAST_LOST)                                                                              \
  X("youngest", HR__VICTIMS_YOUNGEST)                                                                                  \
  X("lowest-priority", HR__VICTIMS_LOWEST_PRIORITY)
#define HR__ELASTIC_LEVELS(X)                                                                                          \
  X("off", HR__ELASTIC_OFF)                                                                                            \
  X("start", HR__ELASTIC_START)                                                                                        \
  X("grow", HR__ELASTIC_GROW)                                                                                          \
  X("shrink", HR__ELASTIC_SHRINK)
#define HR__RECOVERIES(X)                                                                                              \
  X("requeue", HR__RECOVERY_REQUEUE)                                                                                   \
  X("shrink", HR__RECOVERY_SHRINK)

/* In the order of enum hr__carbon_rule (policies/queue/carbon/carbon.h). */
#define HR__CARBON_RULES(X)                                                                                            \
  X("no-wait")                                                                                                         \
  X("all-wait")                                                                                                        \
  X("lowest-slot")                                                                                                     \
  X("lowest-window")                                                                                                   \
  X("carbon-time")                                                                                                     \
  X("reserved-first")                                                                                                  \
  X("wait-awhile-contiguous")                                                                                          \
  X("wait-awhile")                                                                                                     \
  X("ecovisor")
/* In the order of enum hr__carbon_deadline. */
#define HR__CARBON_DEADLINES(X)                                                                                        \
  X("wait")                                                                                                            \
  X("job")                                                                                                             \
  X("next-workday")                                                                                                    \
  X("next-monday")                                                                                                     \
  X("semi-weekly")

/* All parameters of the policy; the last element has a NULL key. */
extern const struct hr_param hr__queue_params[];
/* The names of HR__PLACEMENTS and HR__PACKINGS; the last element is NULL. */
extern const char *const hr__placement_names[];

/* Returns the value of a parameter. The key must exist. */
static inline const struct hr_param_value *hr__queue_param(const struct hr_policy_env *env, const char *key) {
  size_t i = 0;
  while (strcmp(hr__queue_params[i].key, key) != 0) i++;
  return &env->params[i];
}

/* Returns the value of a parameter in microseconds. The parameter is in seconds. */
static inline int64_t hr__queue_param_us(const struct hr_policy_env *env, const char *key) {
  return (int64_t)(hr__queue_param(env, key)->real * (double)HR_SECOND_US + 0.5);
}

/* ---- Orders ----------------------------------------------------------------------------------------- */

struct hr__queue;
struct hr__listener;

struct hr__order {
  /* Returns the key of a job when it begins to wait. The job with the smallest key is first; if keys are equal, the job
     with the smallest id. */
  int64_t (*key)(struct hr__queue *queue, const struct hr_view *view, hr_job job);

  /* Used by orders with keys that change while jobs wait; NULL in other orders. `subqueue` returns the name (a number)
     of the job's subqueue. The relative order of the jobs of a subqueue never changes, although their keys change. */
  uint64_t (*subqueue)(const struct hr__queue *queue, hr_job job);
  hr__full_key *full_key; /* `self`: the queue */
  /* keys never decrease, so the key of a subqueue needs to be computed again only if the subqueue is the first of its
     list */
  bool keys_only_grow;

  /* Used by orders in which the keys of running jobs differ from those of waiting jobs; NULL in other orders.
     `running_key` returns the key of a running job. `running_bound` returns a bound for a waiting job: the waiting job
     precedes the running jobs with keys above the bound. For such orders, the value `auto` of the parameter
     `preemption` means `order`, unless per-GPU allocation or topology constraints are used. */
  int64_t (*running_key)(struct hr__queue *queue, const struct hr_view *view, hr_job job);
  int64_t (*running_bound)(struct hr__queue *queue, const struct hr_view *view, struct hr_job_entry waiting);

  /* Returns whether only a finite number of later submitted jobs can precede a waiting job. If so, each waiting job
     becomes the first one at some time. NULL: false. */
  bool (*ages)(const struct hr__queue *queue);

  /* Functions of orders with state. Each may be NULL. */
  enum hr_status (*create)(struct hr__queue *queue, const struct hr_policy_env *env, struct hr_error *error);
  const struct hr__listener *listener;
  /* Called before a pass: updates the keys that depend on time. */
  enum hr_status (*begin_pass)(struct hr__queue *queue, const struct hr_view *view);
  /* Called after a job has started or stopped: sorts the subqueues with changed keys again. */
  enum hr_status (*refresh)(struct hr__queue *queue, const struct hr_view *view);
  /* Called after a pass: requests a wake-up for the next time at which the order changes. */
  enum hr_status (*end_pass)(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);
  /* Used by orders in which all keys change (see hr__line_of; `self`: the queue). Not used with quotas, with
     preemption, or with a backfill that `walks`. */
  hr__line_of *line_of;
};

/* Orders that consist of a key that is fixed at submission: name in a scenario, suffix of the name of the object
   (hr__order_...), help text, and the key as an expression of `queue` and `job`. order.c defines their objects. */
#define HR__KEY_ORDERS(X)                                                                                              \
  X("sjf", sjf, "estimated run time", hr_trace_estimate_us(queue->trace, job))                                         \
  X("smallest", smallest, "fewest GPUs", (int64_t)hr__counted_milli(queue, job))                                       \
  X("largest", largest, "most GPUs", -(int64_t)hr__counted_milli(queue, job))

/* All orders: name, suffix and help text. The name of an order can also be used as the name of a policy, which is
   `queue` with this order. A new order needs one line in HR__KEY_ORDERS, or one line here and its object in a file of
   policies/queue/order. */
#define HR__ORDERS(X)                                                                                                  \
  X("fifo", fifo, "submit time")                                                                                       \
  HR__KEY_ORDERS(X)                                                                                                    \
  X("priority", priority, "priority, optionally with aging")                                                           \
  X("srtf", srtf, "remaining run time")                                                                                \
  X("las", las, "attained service")                                                                                    \
  X("gittins", gittins, "Gittins index")                                                                               \
  X("edf", edf, "deadline")                                                                                            \
  X("f1", f1, "the learned function F1")                                                                               \
  X("wfp3", wfp3, "(wait / run time)^3 x GPUs")                                                                        \
  X("qssf", qssf, "predicted GPU time")                                                                                \
  X("fair-share", fair_share, "usage relative to the tenant's share")                                                  \
  X("drf", drf, "dominant share of the tenant")                                                                        \
  X("multifactor", multifactor, "weighted sum of factors, as in Slurm")

#define HR__DECLARE_ORDER(text, name, ...) extern const struct hr__order hr__order_##name;
HR__ORDERS(HR__DECLARE_ORDER)
#undef HR__DECLARE_ORDER

/* ---- Dispatch --------------------------------------------------------------------------------------- */

/* A backfill: the rule that determines which jobs a pass starts, in particular after a job that does not fit. */

struct hr__backfill {
  /* True: jobs with equal requests form a shape (struct hr__shape). False: all jobs are in one shape. */
  bool by_shape;
  /* True: jobs that do not fit are skipped without a reservation, and any later job that fits may start. */
  bool passes_over;
  /* The backfill uses the expected ends of running jobs. */
  bool needs_calendar;
  /* Returns the value of a job (struct hr_job_entry), which bounded searches of the queue compare with their bound.
     NULL: the backfill makes no bounded searches. */
  int64_t (*value)(const struct hr_trace *trace, hr_job job);
  enum hr_status (*create)(struct hr__queue *queue, const struct hr_policy_env *env); /* NULL: no state */
  enum hr_status (*pass)(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);
  bool walks; /* the backfill walks over all jobs of a shape in order (hr__walk_begin), not only over the first one */
};

extern const struct hr__backfill hr__backfill_strict, hr__backfill_skip, hr__backfill_easy, hr__backfill_conservative;

/* The functions by which a module is notified of events. Each may be NULL. */
struct hr__listener {
  /* A job begins to wait, or waits again. Called before the job is added to the queue. */
  enum hr_status (*job_waits)(struct hr__queue *queue, const struct hr_view *view, hr_job job);
  /* A waiting job was started. */
  enum hr_status (*job_starts)(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                               const struct hr_placement *placement);
  /* A job has ended (HR_EVENT_END), or was interrupted and waits again. */
  enum hr_status (*job_stops)(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event);
  /* A waiting job was rejected. */
  enum hr_status (*job_rejected)(struct hr__queue *queue, const struct hr_view *view, hr_job job);
  /* A job begins to use a placement (`uses`), or no longer uses it. This function is called before job_starts, before
     job_stops, and twice before job_moves. */
  enum hr_status (*job_uses)(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                             const struct hr_placement *placement, bool uses);
  /* A running job was moved to another placement. */
  enum hr_status (*job_moves)(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                              const struct hr_placement *from, const struct hr_placement *to);
  /* The kind of a waiting job changed. */
  enum hr_status (*kind_changes)(struct hr__queue *queue, const struct hr_view *view, hr_job job);
  /* A node came up, received notice, went down, or was released by the policy; or the number of nodes that can be
     requested changed. */
  enum hr_status (*node_changes)(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event);
};

enum { HR__MAX_LISTENERS = 8 };

/* A waiting job that is to be rejected, and the reason: for example, it can never start, or it was withdrawn. */
struct hr__queue_rejection {
  hr_job job;
  enum hr_reason reason;
};

/*
 * Records of when free capacity has grown. A gain is an event that may increase the free capacity of a node: a job
 * leaves the node, or the node comes up. A shape that was found not to fit need not be tried again until a gain leaves
 * a node with enough free GPUs. If a job of the shape fits on one node, enough means all GPUs of the job. Otherwise it
 * means the GPUs that the job needs on the node on which it needs the fewest.
 */
struct hr__gains {
  uint64_t count;  /* number of gains, plus 1 */
  uint64_t *last;  /* by number of free GPUs: `count` after the last gain that left a node with at least that many */
  uint32_t n_last; /* index of the last element, which also covers nodes with more free GPUs than this index */
};

/*
 * The last pass of the backfill `easy`, if it started no job. Let T be the start of the reservation of that pass. A
 * later pass also starts no job under these conditions:
 *
 * - the head is the same, and T is in the future;
 * - no job has started, stopped or been rejected since;
 * - no event has occurred since, except timers and submissions of jobs that do not fit.
 *
 * Reason: T and the shapes that fit are the same, the same shapes would delay the head, and less time is left in which
 * another job could end by T.
 */
struct hr__settled_pass {
  hr_job head;         /* HR_NONE: no such pass exists, or something has changed since */
  int64_t reserved_us; /* T; HR_NEVER_US: no job fits */
};

/* The shared state of the modules of the policy. */
struct hr__queue {
  struct hr_arena *arena;
  const struct hr_trace *trace;
  const struct hr_cluster *cluster;
  const struct hr__order *order;
  const struct hr__backfill *backfill;
  enum hr_placement_rule rule;
  struct hr_placer *placer;
  struct hr_capacity_set *capacities;
  struct hr_capacity *capacity;         /* the present free capacity */
  struct hr__gains *gains;              /* NULL: shapes that do not fit are tried again in each pass */
  bool by_gpu;                          /* per-GPU allocation */
  struct hr_release_calendar *calendar; /* NULL if the backfill does not use it */
  /* by job: its expected end in `calendar`; NULL: expected ends are not stored, but computed from the start and the
     limit of the job */
  int64_t *expected_us;
  struct hr__waiting waiting;
  const struct hr__listener *listeners[HR__MAX_LISTENERS];
  uint32_t n_listeners;
  bool stops; /* the policy may stop jobs before their end */
  bool freed; /* capacity became free since the flag was last reset */
  /* since the last pass, an event other than a checkpoint or a wake-up has occurred, a job has begun to wait, or the
     kind of a waiting job has changed */
  bool changed;
  bool woken;       /* since the last call, the policy was woken */
  bool is_timeless; /* a pass decides nothing unless something has `changed`, or the market rule is due */
  bool by_priority; /* jobs of different priorities are in different subqueues */
  /* the backfill `conservative` starts the jobs of its plan; until it has finished, keys are not updated */
  bool frozen;
  hr_job blocked; /* with the backfill `strict`: the job at which the last pass stopped; HR_NONE: none */
  /* the first job that did not fit in this pass; HR_NONE: all jobs fit, or the backfill does not determine this job */
  hr_job head;
  int64_t reserved_us; /* start of the head's reservation; HR_NEVER_US: none */
  struct hr__settled_pass settled;
  struct hr__queue_rejection *rejections; /* applied in the next pass */
  uint32_t n_rejections, rejections_capacity;
  int64_t wake_us; /* time of the next requested wake-up */
  void *order_state, *backfill_state;
  struct hr__quota *quota;         /* NULL without quotas */
  struct hr__preemptor *preemptor; /* NULL without preemption */
  struct hr__market *market;       /* NULL if the policy does not acquire nodes */
  struct hr__easy_plan *easy_plan; /* NULL unless the backfill `easy` plans with maintenance (backfill.c) */
  struct hr__carbon *carbon;       /* NULL if jobs do not wait for electricity with less carbon */
  struct hr__elastic *elastic;     /* NULL if jobs are not resized */
  /* used instead of `calendar` with per-GPU allocation; otherwise NULL */
  struct hr__gpu_release_calendar *gpu_calendar;
  /* where a job waits that was interrupted for another reason than preemption: at its place in the order, before all
     jobs that were not interrupted, or behind all jobs that wait already */
  enum hr__requeue { HR__REQUEUE_ORDER, HR__REQUEUE_HEAD, HR__REQUEUE_TAIL } requeue;
  int64_t *requeue_key; /* by job; 0: the key of the order. NULL with HR__REQUEUE_ORDER */
  uint32_t n_requeued;  /* number of interruptions so far with HR__REQUEUE_HEAD */
  /* jobs held by maintenance, excluded nodes or data (holds.c); NULL: no job is ever held */
  struct hr__holds *holds;
  struct hr__locality_state *locality; /* NULL without topology constraints */
  bool locality_expires;               /* the trace has required topology constraints that expire */
};

static inline uint32_t hr__gpus(const struct hr__queue *queue, hr_job job) {
  return queue->trace->gpus[job.id];
}

/* Returns the GPUs of a job as orders and quotas count them, in thousandths of a GPU. With per-GPU allocation, the
   result is the sum over all tasks, which may request fractions of GPUs. Otherwise it is the number of whole GPUs. */
static inline uint64_t hr__counted_milli(const struct hr__queue *queue, hr_job job) {
  return hr_cluster_asked_milli(queue->cluster, job);
}

/* Returns the result of hr__counted_milli in GPUs. The result is exact if it is an integer. */
static inline double hr__counted_gpus(const struct hr__queue *queue, hr_job job) {
  return (double)hr__counted_milli(queue, job) / HR_WHOLE_GPU_MILLI;
}

/* Returns the tenant of a job; HR_NONE for jobs without a tenant. */
static inline uint32_t hr__tenant(const struct hr__queue *queue, hr_job job) {
  return queue->trace->tenant ? queue->trace->tenant[job.id] : HR_NONE;
}

/* Returns the kind of a job. Kind and number of GPUs together identify the request. The kind encodes the topology
   constraint and the index of the acceptance class (the set of pools that the job accepts). With per-GPU allocation, it
   encodes the index of the request in hr_requests instead of the acceptance class. */
static inline uint32_t hr__kind(const struct hr__queue *queue, hr_job job) {
  uint32_t kind = queue->by_gpu ? hr_cluster_requests(queue->cluster)->of_job[job.id]
                                : hr_cluster_accept_class(queue->cluster, job);
  return queue->locality ? hr__locality_kind(queue, job, kind) : kind;
}

/* Returns what a job with this number of GPUs and this kind needs. */
static inline struct hr_need hr__need(const struct hr__queue *queue, uint32_t gpus, uint32_t kind) {
  if (queue->locality) return hr__locality_need(queue, gpus, kind);
  return (struct hr_need){
      .gpus = gpus, .accept_class = queue->by_gpu ? 0 : kind, .request = queue->by_gpu ? kind : HR_NONE};
}

/* Returns what a job needs. */
static inline struct hr_need hr__need_of(const struct hr__queue *queue, hr_job job) {
  return hr__need(queue, hr__gpus(queue, job), hr__kind(queue, job));
}

/* Allocates the GPUs of a job at a placement in a capacity if `runs` is set, else frees them. */
static inline void hr__count_in(const struct hr__queue *queue, struct hr_capacity *capacity, hr_job job,
                                const struct hr_placement *placement, bool runs) {
  struct hr_need need = hr__need_of(queue, job);
  if (runs)
    hr_capacity_take(capacity, &need, placement);
  else
    hr_capacity_give(capacity, &need, placement);
}

/* Finds a placement on the current free capacity for a job with this number of GPUs and this kind. False: the job does
   not fit. Jobs that need no node always fit. */
static inline bool hr__fits(const struct hr__queue *queue, uint32_t gpus, uint32_t kind,
                            struct hr_placement *placement) {
  struct hr_need need = hr__need(queue, gpus, kind);
  return hr_capacity_find(queue->capacity, &need, placement);
}

/* Returns the number of GPUs that a node must have so that a job of a shape may use it: all GPUs of the job or, if the
   job needs several nodes, the number that it needs on the node on which it needs the fewest. */
uint32_t hr__least_gpus(const struct hr__queue *queue, const struct hr__shape *shape);
/* Creates queue->gains. Does not create it with per-GPU allocation, topology constraints, the placement rule `pool`, or
   preemption without ranked passes (hr__ranked_applies). All shapes are then tried in each pass. False: out of
   memory. */
bool hr__gains_create(struct hr__queue *queue);
/* Returns the result of hr__fits for the jobs of a shape. If it is false, stores this in the shape. */
bool hr__shape_try(const struct hr__queue *queue, struct hr__shape *shape, struct hr_placement *placement);

/* Returns the result of hr__fits for the jobs of a shape. Takes constant time if the shape did not fit at the last
   call, and no gain since then can have changed this. */
static inline bool hr__shape_fits(const struct hr__queue *queue, struct hr__shape *shape,
                                  struct hr_placement *placement) {
  if (shape->unfit && queue->gains->last[shape->gain] <= shape->unfit) return false;
  return hr__shape_try(queue, shape, placement);
}

/* Returns the expected end of a job that has just started: the start of the attempt, plus the limit, minus the work
   that the job kept from earlier attempts. For an elastic job, the limit without this work is scaled to its number of
   GPUs. */
static inline int64_t hr__expected_end_us(const struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  int64_t left_us = hr_trace_limit_us(queue->trace, job);
  if (!view->kept_us) return view->attempt_us[job.id] + left_us;
  left_us -= view->kept_us[job.id];
  if (queue->elastic && left_us > 0) left_us = hr_view_time_for_us(view, job, left_us);
  return view->attempt_us[job.id] + (left_us > 0 ? left_us : 0);
}

/* Updates a capacity, with per-GPU allocation, after a node came up, received notice, or went down. */
static inline void hr__queue_node_changes(struct hr_capacity *capacity, const struct hr_event *event) {
  if (event->node.id == HR_NONE) return;
  bool is_up = event->kind == HR_EVENT_NODE_UP;
  hr_capacity_set_usable(capacity, event->pool, event->node, is_up, is_up);
}

/* ---- Events --------------------------------------------------------------------------------------- */

/* Notifies the listeners that a job waits, and adds the job to the queue. */
enum hr_status hr__queue_job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job);
/* Stores the key that the parameter `requeue` requires for a job that was interrupted for another reason than
   preemption. Call this before the job is added to the queue again. Does nothing with HR__REQUEUE_ORDER. */
void hr__queue_requeue(struct hr__queue *queue, const struct hr_view *view, hr_job job);
/* Notifies the listeners that a job has ended or was interrupted, and calls hr__queue_refresh. */
enum hr_status hr__queue_job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event);
/* Notifies the listeners that a running job was moved, and calls hr__queue_refresh. */
enum hr_status hr__queue_job_moves(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                   const struct hr_placement *from, const struct hr_placement *to);

/* ---- Moves ---------------------------------------------------------------------------------------- */

/* Updates the keys of the order, and the subqueues that quotas block. Call this after the set of running jobs has
   changed. */
enum hr_status hr__queue_refresh(struct hr__queue *queue, const struct hr_view *view);
/* Starts the job `entry` of a shape: removes it from the queue and notifies the listeners. In two cases, the job does
   not start, although the result is HR_OK. If maintenance, excluded nodes or data hold the job (hr__holds_try), it is
   only removed from the queue. If the GPUs of the placement have too little memory for its tasks, it is rejected. */
enum hr_status hr__queue_start(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                               struct hr__shape *shape, struct hr_job_entry entry, const struct hr_placement *placement,
                               enum hr_reason reason);
/* Starts a waiting job at any position in the queue. */
enum hr_status hr__queue_start_job(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                   hr_job job, const struct hr_placement *placement, enum hr_reason reason);
/* Starts jobs in order until a job does not fit. `*blocked`: the shape of that job; NULL if no job waits any more. */
enum hr_status hr__queue_start_in_order(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                        struct hr__shape **blocked);
/* Rejects the jobs that were marked with hr__queue_reject_later, if they still wait. */
enum hr_status hr__queue_reject_marked(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);
/* Moves a waiting job to the position in the order that its current key requires. `old_key`: the key with which the job
   was added to the queue. */
enum hr_status hr__queue_rekey(struct hr__queue *queue, const struct hr_view *view, hr_job job, int64_t old_key);

/* Marks a waiting job for rejection in the next pass. False: out of memory. */
static inline bool hr__queue_reject_later(struct hr__queue *queue, hr_job job, enum hr_reason reason) {
  if (!HR__ARENA_HAS_ROOM(queue->arena, queue->rejections, queue->n_rejections, queue->rejections_capacity))
    return false;
  queue->rejections[queue->n_rejections++] = (struct hr__queue_rejection){job, reason};
  return true;
}

/* Appends a listener. Listeners are notified in the order in which they were added. */
static inline void hr__queue_add_listener(struct hr__queue *queue, const struct hr__listener *listener) {
  queue->listeners[queue->n_listeners++] = listener;
}

/* See hr__wake. */
static inline enum hr_status hr__queue_wake(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                            int64_t at_us) {
  return hr__wake(&queue->wake_us, view, moves, at_us);
}

/* Calls `function` of each listener that has this function, in the order in which the listeners were added. Stops if
   `status` is not HR_OK. */
#define HR__NOTIFY(queue, status, function, ...)                                                                       \
  for (uint32_t i = 0; i < (queue)->n_listeners && (status) == HR_OK; i++)                                             \
    if ((queue)->listeners[i]->function) (status) = (queue)->listeners[i]->function((queue), __VA_ARGS__)

/* ---- Maintenance, excluded nodes and near data (holds.c). Except for hr__holds_create, call these functions only if
   queue->holds is not NULL ---- */

/* The rules by which jobs are held, in addition to planned maintenance. */
struct hr__hold_terms {
  /* A job does not start on the last `exclude_nodes` nodes that failed while it ran on them, for `exclude_us` after
     each failure. */
  uint32_t exclude_nodes;
  int64_t exclude_us;
  /* A job starts on nodes near its data. It may start on other nodes if no node near its data is up, or when
     `data_wait_us` have passed since its submission. */
  bool near_data;
  int64_t data_wait_us;
};
/* Creates queue->holds if nodes have planned maintenance, or if the terms can hold jobs. False: out of memory. */
bool hr__holds_create(struct hr__queue *queue, const struct hr__hold_terms *terms);
/* Excludes, for a job that a failure has stopped, the nodes that failed while the job ran on them. */
enum hr_status hr__holds_job_failed(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event);
/* Checks the placement of a job that is to start. Searches another placement if the job must not start on one of the
   nodes (see holds.c): the job would still run at the next maintenance of the node, it excludes the node, or the node
   is not near its data. HR__HOLD_NONE: the job may start at `*placement`, which may have been replaced. HR__HOLD_HELD:
   no other placement exists, and the job is now held; the caller must remove it from the queue. */
enum hr__hold { HR__HOLD_NONE, HR__HOLD_HELD, HR__HOLD_NO_MEMORY };
enum hr__hold hr__holds_try(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                            struct hr_placement *placement);
/* If the job is held, writes the reason to `*wait` and returns true. */
bool hr__holds_wait(const struct hr__queue *queue, hr_job job, struct hr_wait_reason *wait);
/* Adds held jobs that may fit now to the queue. */
enum hr_status hr__holds_release(struct hr__queue *queue, const struct hr_view *view);
/* If the job is held, ends the hold and adds the job to the queue. */
enum hr_status hr__holds_drop(struct hr__queue *queue, const struct hr_view *view, hr_job job);
/* The limit of a replica of a service. A replica runs until it is not needed any more, so no maintenance holds it. The
   value is greater than any limit in a trace, and the sum of a few such values does not overflow. */
#define HR__NO_LIMIT_US (INT64_MAX / 8)
/* Returns the limit of a job without the work that it kept from earlier attempts; HR__NO_LIMIT_US: a replica. */
int64_t hr__holds_left_us(const struct hr__queue *queue, const struct hr_view *view, hr_job job);
/* Returns the first time at which the maintenance, the exclusion or the wait for data of a held job ends; HR_NEVER_US:
   no job is held. */
int64_t hr__holds_until_us(const struct hr__queue *queue);
/* Adds a job that was held to the queue. The listeners are not notified, as the job has waited all the time. */
enum hr_status hr__queue_add_again(struct hr__queue *queue, const struct hr_view *view, hr_job job);

/* Sets `*flag`, on which the kind of a waiting job depends, and moves the job to the shape of its new kind. A held job
   returns to the queue. */
enum hr_status hr__queue_change_kind(struct hr__queue *queue, const struct hr_view *view, hr_job job, uint8_t *flag);

/* ---- Elastic jobs: parameters `elastic` and `recovery` (elastic.c) ---------------------------------- */

/* How the policy resizes elastic jobs. Each value includes the values before it. */
enum hr__elastic_level { HR__ELASTIC_OFF, HR__ELASTIC_START, HR__ELASTIC_GROW, HR__ELASTIC_SHRINK };
/* What happens to a running elastic job if one of its nodes fails. */
enum hr__recovery { HR__RECOVERY_REQUEUE, HR__RECOVERY_SHRINK };

struct hr__elastic;
/* Creates the module (queue->elastic) if the parameters resize jobs, and the trace contains elastic jobs. */
enum hr_status hr__elastic_create(struct hr__queue *queue, enum hr__elastic_level level, enum hr__recovery recovery);
/* Returns the abilities that the module needs. */
uint32_t hr__elastic_abilities(const struct hr__queue *queue);
/* Must be called when the engine has removed failed nodes from a running job. `from`: the previous placement of the
   job. */
enum hr_status hr__elastic_job_shrank(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                      const struct hr_placement *from);
/* Assigns free GPUs to jobs that lost nodes, up to the number that they request. Called before jobs start. */
enum hr_status hr__elastic_restore(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);
/* Starts the first job in order with as many GPUs as fit, at most the number that it requests. Does so only if the
   parameters permit fewer GPUs, and at least the minimum number of the job fits. With HR__ELASTIC_SHRINK, first takes
   GPUs from running jobs if necessary. `*started`: whether the job was started. Called after a pass of the backfill. */
enum hr_status hr__elastic_start_first(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                       bool *started);
/* If no job waits, running jobs grow. Called at the end of a pass. */
enum hr_status hr__elastic_grow(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);

#endif
