/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The composed policy: order x backfill x placement x market. */

#include "policies/queue.h"
#include "policies/deadlines.h"
#include "policies/expectations.h"

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

static enum hr_status create_queue(struct hr__queue *queue, const struct hr_policy_env *env, struct hr_error *error) {
  queue->placer = hr_placer_create(env->arena, env->cluster, queue->rule);
  if (!queue->placer) return HR_NO_MEMORY;
  enum hr_status status =
      hr__waiting_init(&queue->waiting, env->arena, env->jobs->n_jobs, queue->order->full_key, queue);
  if (status == HR_OK && queue->order->create) status = queue->order->create(queue, env, error);
  if (status != HR_OK) return status;
  if (queue->order->listener) hr__queue_listen(queue, queue->order->listener);
  if (queue->backfill->needs_releases && !hr__expectations_create(queue)) return HR_NO_MEMORY;
  return queue->backfill->create ? queue->backfill->create(queue, env) : HR_OK;
}

static enum hr_status create(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  struct hr__queue *queue = hr_arena_alloc(env->arena, sizeof *queue);
  if (!queue) return HR_NO_MEMORY;
  *queue = (struct hr__queue){.arena = env->arena,
                              .trace = env->jobs,
                              .cluster = env->cluster,
                              .order = orders[env->params[PARAM_ORDER].integer],
                              .backfill = backfills[env->params[PARAM_BACKFILL].integer],
                              .rule = rules[env->params[PARAM_PLACEMENT].integer],
                              .stops = hr_cluster_changes(env->cluster),
                              .blocked = {HR_NONE}};
  *self = queue;
  enum hr_status status = create_queue(queue, env, error);
  return status == HR_OK ? create_market(queue, env->params, error) : status;
}

static uint32_t abilities(void *self) {
  const struct hr__queue *queue = self;
  if (queue->deadlines) return HR_POLICY_MANAGES_CAPACITY | HR_POLICY_PREEMPTS;
  return queue->market ? HR_POLICY_MANAGES_CAPACITY | HR_POLICY_PREEMPTS : 0;
}

static enum hr_status observe(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr__queue *queue = self;
  enum hr_status status;
  if (queue->deadlines) return hr__deadlines_observe(queue, view, event);
  switch (event->kind) {
  case HR_EVENT_SUBMIT:
    return hr__queue_job_waits(queue, view, event->job);
  case HR_EVENT_END:
    return hr__queue_job_stops(queue, view, event);
  case HR_EVENT_INTERRUPT:
    status = hr__queue_job_stops(queue, view, event);
    return status == HR_OK ? hr__queue_job_waits(queue, view, event->job) : status;
  case HR_EVENT_NODE_UP:
  case HR_EVENT_NODE_DOWN:
  case HR_EVENT_NOTICE:
  case HR_EVENT_OFFER:
    return hr__queue_node_changes(queue, view, event);
  default:
    return HR_OK;
  }
}

static enum hr_status decide(void *self, const struct hr_view *view, struct hr_plan *plan) {
  struct hr__queue *queue = self;
  if (queue->deadlines) return hr__deadlines_pass(queue, view, plan);
  enum hr_status status = HR_OK;
  if (queue->order->begin_pass) status = queue->order->begin_pass(queue, view);
  if (status == HR_OK && queue->waiting.n_active) status = queue->backfill->pass(queue, view, plan);
  if (status == HR_OK && queue->market) status = hr__market_pass(queue, view, plan);
  return status == HR_OK && queue->order->end_pass ? queue->order->end_pass(queue, view, plan) : status;
}

HR_POLICY(queue) = {
    HR_POLICY_HEAD,   .name = "queue",       .summary = "a queue in some order, with backfill and a placement rule",
    .params = params, .create = create,      .observe = observe,
    .decide = decide, .abilities = abilities};
