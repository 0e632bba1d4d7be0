/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The composed policy: order x backfill x placement. */

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
#define TEXT(text, object) text,
#define OBJECT(text, object) object,

static const char *const order_names[] = {ORDERS(TEXT) NULL};
static const char *const backfill_names[] = {BACKFILLS(TEXT) NULL};
static const char *const placement_names[] = {PLACEMENTS(TEXT) NULL};
static const struct hr__order *const orders[] = {ORDERS(OBJECT)};
static const struct hr__backfill *const backfills[] = {BACKFILLS(OBJECT)};
static const enum hr_placement_rule rules[] = {PLACEMENTS(OBJECT)};

enum { PARAM_ORDER, PARAM_BACKFILL, PARAM_PLACEMENT };

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
    {0}};

static enum hr_status create(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  (void)error;
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
  }
  *self = queue;
  return queue->backfill->create ? queue->backfill->create(queue, env) : HR_OK;
}

static int64_t expected_end_us(const struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  return view->start_us[job.id] + hr_trace_limit_us(queue->trace, job);
}

static enum hr_status observe(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr__queue *queue = self;
  if (event->kind == HR_EVENT_SUBMIT) return hr__waiting_add(queue, event->job);
  if (event->kind != HR_EVENT_END) return HR_OK;
  queue->freed = true;
  if (!queue->releases) return HR_OK;
  int64_t end_us = expected_end_us(queue, view, event->job);
  bool known = hr_releases_remove(queue->releases, event->job, hr__gpus(queue, event->job), event->placement, end_us);
  return known ? HR_OK : HR_INTERNAL;
}

static enum hr_status decide(void *self, const struct hr_view *view, struct hr_plan *plan) {
  struct hr__queue *queue = self;
  return queue->n_active ? queue->backfill->pass(queue, view, plan) : HR_OK;
}

enum hr_status hr__queue_start(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan,
                               struct hr__shape *shape, struct hr_job_entry entry, const struct hr_placement *placement,
                               enum hr_reason reason) {
  enum hr_status status = hr_plan_start(plan, entry.job, placement, reason);
  if (status != HR_OK) return status;
  if (queue->releases && !hr_releases_add(queue->releases, entry.job, hr__gpus(queue, entry.job), placement,
                                          expected_end_us(queue, view, entry.job)))
    return HR_NO_MEMORY;
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

const struct hr_policy_ops hr__policy_queue = {.abi = HR_POLICY_ABI,
                                               .size = sizeof hr__policy_queue,
                                               .name = "queue",
                                               .summary = "a queue in some order, with backfill and a placement rule",
                                               .params = params,
                                               .create = create,
                                               .observe = observe,
                                               .decide = decide};
