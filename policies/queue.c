/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The composed policy: order x backfill x placement x market. */

#include "policies/queue.h"

/* What a scenario may choose from: text, object. A value is a place in its table. */
#define ORDERS(X)                                                                                                      \
  X("fifo", &hr__order_fifo)                                                                                           \
  X("sjf", &hr__order_sjf)                                                                                             \
  X("smallest", &hr__order_smallest)                                                                                   \
  X("largest", &hr__order_largest)                                                                                     \
  X("priority", &hr__order_priority)
#define BACKFILLS(X)                                                                                                   \
  X("strict", &hr__backfill_strict)                                                                                    \
  X("skip", &hr__backfill_skip)                                                                                        \
  X("easy", &hr__backfill_easy)                                                                                        \
  X("conservative", &hr__backfill_conservative)
#define PLACEMENTS(X)                                                                                                  \
  X("pool", HR_PLACE_POOL)                                                                                             \
  X("first-fit", HR_PLACE_FIRST_FIT)                                                                                   \
  X("best-fit", HR_PLACE_BEST_FIT)                                                                                     \
  X("worst-fit", HR_PLACE_WORST_FIT)
#define MARKETS(X)                                                                                                     \
  X("static", HR__MARKET_STATIC)                                                                                       \
  X("on-demand-only", HR__MARKET_ON_DEMAND_ONLY)                                                                       \
  X("spot-first", HR__MARKET_SPOT_FIRST)                                                                               \
  X("price-capacity", HR__MARKET_PRICE_CAPACITY)                                                                       \
  X("deadline-greedy", HR__MARKET_DEADLINE_GREEDY)                                                                     \
  X("uniform-progress", HR__MARKET_UNIFORM_PROGRESS)                                                                   \
  X("omniscient", HR__MARKET_OMNISCIENT)
#define TEXT(text, object) text,
#define OBJECT(text, object) object,

static const char *const order_names[] = {ORDERS(TEXT) NULL};
static const char *const backfill_names[] = {BACKFILLS(TEXT) NULL};
static const char *const placement_names[] = {PLACEMENTS(TEXT) NULL};
static const char *const market_names[] = {MARKETS(TEXT) NULL};
static const struct hr__order *const orders[] = {ORDERS(OBJECT)};
static const struct hr__backfill *const backfills[] = {BACKFILLS(OBJECT)};
static const enum hr_placement_rule rules[] = {PLACEMENTS(OBJECT)};

static const enum hr__market_rule markets[] = {MARKETS(OBJECT)};

enum {
  PARAM_ORDER,
  PARAM_BACKFILL,
  PARAM_PLACEMENT,
  PARAM_MARKET,
  PARAM_SPOT_WAIT,
  PARAM_SPOT_HOLD,
  PARAM_IDLE_RELEASE,
  PARAM_MIN_ON_DEMAND,
  PARAM_MAX_SPOT_SHARE,
  PARAM_RECLAIM_HOURS,
  PARAM_CHANGEOVER,
  PARAM_RETURN
};

#define MOST_S 1e9

static const struct hr_param params[] = {
    {.key = "order",
     .type = HR_PARAM_CHOICE,
     .fallback = "fifo",
     .choices = order_names,
     .help = "which waiting job comes first: by submit, estimated run time, GPUs (few or many first), priority"},
    {.key = "backfill",
     .type = HR_PARAM_CHOICE,
     .fallback = "strict",
     .choices = backfill_names,
     .help = "when a job does not fit: stop; pass it over; reserve for it (easy); reserve for all (conservative)"},
    {.key = "placement",
     .type = HR_PARAM_CHOICE,
     .fallback = "best-fit",
     .choices = placement_names,
     .help = "where a job goes: pool counts GPUs only, the others choose nodes"},
    {.key = "market",
     .type = HR_PARAM_CHOICE,
     .fallback = "static",
     .choices = market_names,
     .help = "how elastic nodes are asked for: all that can be had; none from spot; spot, else on-demand; cheapest",
     .aside = true},
    {.key = "spot_wait_s",
     .type = HR_PARAM_REAL,
     .fallback = "600",
     .max = MOST_S,
     .help = "spot-first: how long a job waits for spot capacity before it pays for on-demand",
     .aside = true},
    {.key = "spot_hold_s",
     .type = HR_PARAM_REAL,
     .fallback = "600",
     .max = MOST_S,
     .help = "spot-first: how long spot capacity must be on offer, without a reclaim, to be used again",
     .aside = true},
    {.key = "idle_release_s",
     .type = HR_PARAM_REAL,
     .fallback = "300",
     .min = 1e-6,
     .max = MOST_S,
     .help = "how long an elastic node stays without a job before it is given back",
     .aside = true},
    {.key = "min_on_demand",
     .type = HR_PARAM_INTEGER,
     .fallback = "0",
     .max = HR_MAX_NODES,
     .help = "on-demand-only, spot-first, price-capacity: on-demand nodes that are kept, used or not",
     .aside = true},
    {.key = "max_spot_share",
     .type = HR_PARAM_REAL,
     .fallback = "1",
     .max = 1,
     .help = "spot-first, price-capacity: the share of elastic nodes that may be spot",
     .aside = true},
    {.key = "reclaim_hours",
     .type = HR_PARAM_REAL,
     .fallback = "0.5",
     .max = 1000,
     .help = "price-capacity: hours of work that a reclaim is taken to cost",
     .aside = true},
    {.key = "changeover_s",
     .type = HR_PARAM_REAL,
     .fallback = "0",
     .max = MOST_S,
     .help = "by deadline: what a change of nodes costs in time, boot and restart",
     .aside = true},
    {.key = "return_to_spot",
     .type = HR_PARAM_BOOLEAN,
     .fallback = "true",
     .help = "spot-first: running jobs go from on-demand back to spot capacity when nobody waits",
     .aside = true},
    {0}};

static int64_t microseconds(struct hr_param_value value) {
  return (int64_t)(value.real * (double)HR_SECOND_US + 0.5);
}

static enum hr_status create_market(struct hr__queue *queue, const struct hr_param_value *values,
                                    struct hr_error *error) {
  struct hr__market_limits limits = {.rule = markets[values[PARAM_MARKET].integer],
                                     .spot_wait_us = microseconds(values[PARAM_SPOT_WAIT]),
                                     .spot_hold_us = microseconds(values[PARAM_SPOT_HOLD]),
                                     .idle_release_us = microseconds(values[PARAM_IDLE_RELEASE]),
                                     .min_on_demand = (uint32_t)values[PARAM_MIN_ON_DEMAND].integer,
                                     .max_spot_share = values[PARAM_MAX_SPOT_SHARE].real,
                                     .reclaim_hours = values[PARAM_RECLAIM_HOURS].real};
  limits.returns = limits.rule == HR__MARKET_SPOT_FIRST && values[PARAM_RETURN].integer != 0;
  if (limits.rule == HR__MARKET_STATIC || !hr_cluster_changes(queue->cluster)) return HR_OK;
  if (limits.rule >= HR__MARKET_DEADLINE_GREEDY)
    return hr__deadlines_create(queue, limits.rule, microseconds(values[PARAM_CHANGEOVER]), error);
  return hr__market_create(queue, &limits) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status create(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  struct hr__queue *queue = hr_arena_alloc(env->arena, sizeof *queue);
  if (!queue) return HR_NO_MEMORY;
  queue->arena = env->arena;
  queue->trace = env->jobs;
  queue->blocked = (hr_job){HR_NONE};
  queue->cluster = env->cluster;
  queue->order = orders[env->params[PARAM_ORDER].integer];
  queue->backfill = backfills[env->params[PARAM_BACKFILL].integer];
  queue->rule = rules[env->params[PARAM_PLACEMENT].integer];
  queue->store = hr_tree_store_create(env->arena);
  queue->placer = hr_placer_create(env->arena, env->cluster, queue->rule);
  if (!queue->store || !queue->placer || hr__waiting_init(queue) != HR_OK) return HR_NO_MEMORY;
  if (queue->backfill->needs_releases) {
    queue->releases = hr_releases_create(env->arena, env->cluster, queue->rule, env->jobs->n_jobs);
    if (!queue->releases) return HR_NO_MEMORY;
    if (hr_cluster_changes(env->cluster) &&
        !(queue->expected_us = hr_arena_alloc(env->arena, env->jobs->n_jobs * sizeof *queue->expected_us)))
      return HR_NO_MEMORY;
  }
  enum hr_status status = create_market(queue, env->params, error);
  if (status != HR_OK) return status;
  *self = queue;
  return queue->backfill->create ? queue->backfill->create(queue, env) : HR_OK;
}

static uint32_t abilities(void *self) {
  const struct hr__queue *queue = self;
  if (queue->deadlines) return HR_POLICY_MANAGES_CAPACITY | HR_POLICY_PREEMPTS;
  return queue->market ? HR_POLICY_MANAGES_CAPACITY | HR_POLICY_PREEMPTS : 0;
}

/* Work that was kept need not be done again. */
static int64_t expected_end_us(const struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  int64_t left_us = hr_trace_limit_us(queue->trace, job);
  if (!view->kept_us) return view->attempt_us[job.id] + left_us;
  left_us -= view->kept_us[job.id];
  return view->attempt_us[job.id] + (left_us > 0 ? left_us : 0);
}

static bool note_start(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                       const struct hr_placement *placement) {
  int64_t end_us = expected_end_us(queue, view, job);
  if (queue->expected_us) queue->expected_us[job.id] = end_us;
  return hr_releases_add(queue->releases, job, hr__gpus(queue, job), placement, end_us);
}

static enum hr_status note_stop(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  queue->freed = true;
  if (queue->market) {
    hr__market_job_stops(queue, event->job);
    if (!hr__market_place_is_left(queue, event->placement, view->now_us)) return HR_NO_MEMORY;
  }
  if (!queue->releases) return HR_OK;
  int64_t end_us = queue->expected_us ? queue->expected_us[event->job.id] : expected_end_us(queue, view, event->job);
  bool known = hr_releases_remove(queue->releases, event->job, hr__gpus(queue, event->job), event->placement, end_us);
  return known ? HR_OK : HR_INTERNAL;
}

enum hr_status hr__queue_note_move(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                   const struct hr_placement *from, const struct hr_placement *to) {
  queue->freed = true;
  if (!queue->releases) return HR_OK;
  if (!hr_releases_remove(queue->releases, job, hr__gpus(queue, job), from, queue->expected_us[job.id]))
    return HR_INTERNAL;
  return note_start(queue, view, job, to) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status note_wait(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  if (queue->market && !hr__market_job_waits(queue, view, job)) return HR_NO_MEMORY;
  return hr__waiting_add(queue, job);
}

static enum hr_status note_node(struct hr__queue *queue, const struct hr_event *event) {
  bool up = event->kind == HR_EVENT_NODE_UP;
  queue->freed = queue->freed || up;
  if (queue->releases && event->kind != HR_EVENT_OFFER)
    hr_releases_set_usable(queue->releases, event->pool, event->node, up);
  return !queue->market || hr__market_node_changes(queue, event) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status observe(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr__queue *queue = self;
  enum hr_status status;
  if (queue->deadlines) return hr__deadlines_observe(queue, view, event);
  switch (event->kind) {
  case HR_EVENT_SUBMIT:
    return note_wait(queue, view, event->job);
  case HR_EVENT_END:
    return note_stop(queue, view, event);
  case HR_EVENT_INTERRUPT:
    status = note_stop(queue, view, event);
    return status == HR_OK ? note_wait(queue, view, event->job) : status;
  case HR_EVENT_NODE_UP:
  case HR_EVENT_NODE_DOWN:
  case HR_EVENT_NOTICE:
  case HR_EVENT_OFFER:
    return note_node(queue, event);
  default:
    return HR_OK;
  }
}

static enum hr_status decide(void *self, const struct hr_view *view, struct hr_plan *plan) {
  struct hr__queue *queue = self;
  if (queue->deadlines) return hr__deadlines_pass(queue, view, plan);
  enum hr_status status = queue->n_active ? queue->backfill->pass(queue, view, plan) : HR_OK;
  return status == HR_OK && queue->market ? hr__market_pass(queue, view, plan) : status;
}

enum hr_status hr__queue_start(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan,
                               struct hr__shape *shape, struct hr_job_entry entry, const struct hr_placement *placement,
                               enum hr_reason reason) {
  enum hr_status status = hr_plan_start(plan, entry.job, placement, reason);
  if (status != HR_OK) return status;
  if (queue->releases && !note_start(queue, view, entry.job, placement)) return HR_NO_MEMORY;
  if (queue->market && !hr__market_job_starts(queue, entry.job, placement)) return HR_NO_MEMORY;
  return hr__waiting_remove(queue, shape, entry);
}

enum hr_status hr__queue_start_in_order(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan,
                                        struct hr__shape **blocked) {
  enum hr_status status = HR_OK;
  while (status == HR_OK && (*blocked = hr__waiting_first(queue))) {
    struct hr_job_entry head = (*blocked)->head;
    struct hr_placement placement;
    uint32_t accept_class = hr_cluster_accept_class(queue->cluster, head.job);
    if (!hr__shape_fits(queue, hr__gpus(queue, head.job), accept_class, &placement)) return HR_OK;
    status = hr__queue_start(queue, view, plan, *blocked, head, &placement, HR_REASON_IN_ORDER);
  }
  return status;
}

HR_POLICY(queue) = {
    HR_POLICY_HEAD,   .name = "queue",       .summary = "a queue in some order, with backfill and a placement rule",
    .params = params, .create = create,      .observe = observe,
    .decide = decide, .abilities = abilities};
