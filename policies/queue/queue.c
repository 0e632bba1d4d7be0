/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The `queue` policy: combines an order, a backfill, a placement rule, preemption, quotas and a market rule. This file
   creates the modules, reports parameters that cannot be combined, calls the modules in each pass, and explains why a
   job waits. */

#include "headroom/unstable/clusters.h"
#include "policies/queue/carbon/carbon.h"
#include "policies/queue/dispatch.h"
#include "policies/queue/market/market.h"
#include "policies/queue/preemption/preemption.h"
#include "policies/queue/quota/quota.h"

enum choice { PREEMPTS_AUTO, PREEMPTS_NONE, PREEMPTS_BY_ORDER, PREEMPTS_BY_PRIORITY, PREEMPTS_BY_QUOTA };

#define OBJECT(text, object) object,
#define ORDER(text, name, ...) &hr__order_##name,
static const struct hr__order *const orders[] = {HR__ORDERS(ORDER)};
static const struct hr__backfill *const backfills[] = {HR__BACKFILLS(OBJECT)};
static const enum hr_placement_rule rules[] = {HR__PLACEMENTS(OBJECT)};
static const enum hr__market_rule markets[] = {HR__MARKETS(OBJECT)};
static const enum choice preemptions[] = {HR__PREEMPTIONS(OBJECT)};
static const enum hr__preemption_mode stops[] = {HR__STOPPED(OBJECT)};
static const enum hr__victims victims[] = {HR__VICTIM_RULES(OBJECT)};
static const enum hr__elastic_level elastic_levels[] = {HR__ELASTIC_LEVELS(OBJECT)};
static const enum hr__recovery recoveries[] = {HR__RECOVERIES(OBJECT)};

/* Returns whether a market rule can acquire nodes: some pool is elastic, and no autoscaler manages the nodes. */
static bool has_elastic_nodes(const struct hr_cluster *cluster) {
  if (hr_cluster_is_autoscaled(cluster)) return false;
  for (uint32_t i = 0; i < hr_cluster_pools(cluster); i++) {
    const struct hr_pool_spec *pool = hr_cluster_pool_spec(cluster, (hr_pool){i});
    if (pool->nodes > 0 && hr_market_is_elastic(pool->market.market)) return true;
  }
  return false;
}

/* Returns the maximum number of nodes of a spot pool that the policy may use, given the parameter `max_spot_share` and
   the number of nodes of the on-demand pools. */
static uint32_t max_spot_nodes(const struct hr_cluster_spec *cluster, hr_pool pool, double max_share) {
  uint64_t others = 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->pools[i].market.market == HR_MARKET_ON_DEMAND) others += cluster->pools[i].nodes;
  double bound = hr__market_max_spot(max_share, (double)others);
  return bound < cluster->pools[pool.id].nodes ? (uint32_t)bound : cluster->pools[pool.id].nodes;
}

static uint32_t usable_nodes(const struct hr_param_value *params, const struct hr_cluster_spec *cluster, hr_pool pool) {
  const struct hr_policy_env env = {.params = params};
  enum hr__market_rule rule = markets[hr__queue_param(&env, "market")->integer];
  bool is_spot = cluster->pools[pool.id].market.market == HR_MARKET_SPOT;
  if (!is_spot || cluster->autoscaler || rule == HR__MARKET_STATIC) return cluster->pools[pool.id].nodes;
  if (rule == HR__MARKET_ON_DEMAND_ONLY) return 0;
  return max_spot_nodes(cluster, pool, hr__queue_param(&env, "max_spot_share")->real);
}

static enum hr_status create_market(struct hr__queue *queue, const struct hr_policy_env *env) {
  struct hr__market_limits limits = {.rule = markets[hr__queue_param(env, "market")->integer],
                                     .spot_wait_us = hr__queue_param_us(env, "spot_wait_s"),
                                     .spot_hold_us = hr__queue_param_us(env, "spot_hold_s"),
                                     .idle_release_us = hr__queue_param_us(env, "idle_release_s"),
                                     .min_on_demand = (uint32_t)hr__queue_param(env, "min_on_demand")->integer,
                                     .max_spot_share = hr__queue_param(env, "max_spot_share")->real,
                                     .reclaim_hours = hr__queue_param(env, "reclaim_hours")->real};
  limits.returns = limits.rule == HR__MARKET_SPOT_FIRST && hr__queue_param(env, "return_to_spot")->integer != 0;
  if (limits.rule == HR__MARKET_STATIC || !has_elastic_nodes(queue->cluster)) return HR_OK;
  return hr__market_create(queue, &limits) ? HR_OK : HR_NO_MEMORY;
}

/* Returns the preemption rule that the parameters select; NULL: no preemption. */
static const struct hr__preemption *choose_preemption(const struct hr__queue *queue, const struct hr_policy_env *env) {
  enum choice choice = preemptions[hr__queue_param(env, "preemption")->integer];
  bool by_default = queue->order->running_key && !hr_cluster_gpu_inventory(env->cluster) && !queue->locality;
  if (choice == PREEMPTS_AUTO) choice = by_default ? PREEMPTS_BY_ORDER : PREEMPTS_NONE;
  if (choice == PREEMPTS_BY_PRIORITY) return &hr__preemption_priority;
  if (choice == PREEMPTS_BY_QUOTA) return &hr__preemption_reclaim;
  return choice == PREEMPTS_BY_ORDER ? &hr__preemption_order : NULL;
}

/* ---- Impossible combinations ---------------------------------------------------------------------- */

static bool counts_pools_with_constraints(const struct hr__queue *queue, const struct hr_policy_env *env) {
  return queue->rule == HR_PLACE_POOL && hr_cluster_any_within(env->cluster);
}

static bool preempts_by_unranked_order(const struct hr__queue *queue, const struct hr_policy_env *env) {
  bool by_order = preemptions[hr__queue_param(env, "preemption")->integer] == PREEMPTS_BY_ORDER;
  return by_order && !queue->order->running_key && queue->order->subqueue;
}

static bool requeues_at_changing_place(const struct hr__queue *queue, const struct hr_policy_env *env) {
  const struct hr__order *order = queue->order;
  bool is_fixed = !order->running_key && !order->full_key && !order->subqueue && !order->refresh;
  bool preempts = choose_preemption(queue, env) != NULL || env->quotas;
  return hr__queue_param(env, "requeue")->integer != HR__REQUEUE_ORDER && (!is_fixed || preempts);
}

static bool requeues_behind_ranks(const struct hr__queue *queue, const struct hr_policy_env *env) {
  return hr__queue_param(env, "requeue")->integer == HR__REQUEUE_TAIL && queue->order != &hr__order_fifo;
}

static bool excludes_without_nodes(const struct hr__queue *queue, const struct hr_policy_env *env) {
  bool excludes = hr__queue_param(env, "exclude_nodes")->integer > 0;
  return excludes && (queue->rule == HR_PLACE_POOL || queue->backfill == &hr__backfill_conservative);
}

static bool is_data_local(const struct hr_policy_env *env) {
  return strcmp(hr__placement_names[hr__queue_param(env, "placement")->integer], "data-local") == 0;
}
static bool waits_near_data_with_plans(const struct hr__queue *queue, const struct hr_policy_env *env) {
  return is_data_local(env) && queue->backfill == &hr__backfill_conservative;
}
static bool waits_near_data_with_preemption(const struct hr__queue *queue, const struct hr_policy_env *env) {
  return is_data_local(env) && choose_preemption(queue, env) != NULL;
}

static enum hr__elastic_level elastic_level(const struct hr_policy_env *env) {
  return elastic_levels[hr__queue_param(env, "elastic")->integer];
}
static enum hr__recovery recovery(const struct hr_policy_env *env) {
  return recoveries[hr__queue_param(env, "recovery")->integer];
}

static bool resizes(const struct hr_policy_env *env) {
  return elastic_level(env) != HR__ELASTIC_OFF || recovery(env) != HR__RECOVERY_REQUEUE;
}
static bool resizes_without_nodes(const struct hr__queue *queue, const struct hr_policy_env *env) {
  return resizes(env) && (queue->rule == HR_PLACE_POOL || queue->by_gpu);
}
static bool resizes_with_plans(const struct hr__queue *queue, const struct hr_policy_env *env) {
  return resizes(env) && queue->backfill == &hr__backfill_conservative;
}
static bool resizes_with_usage(const struct hr__queue *queue, const struct hr_policy_env *env) {
  bool preempts = preemptions[hr__queue_param(env, "preemption")->integer] > PREEMPTS_NONE;
  return resizes(env) && (queue->order->running_key || queue->order->listener || env->quotas || preempts);
}
static bool resizes_with_places(const struct hr__queue *queue, const struct hr_policy_env *env) {
  bool rents =
      markets[hr__queue_param(env, "market")->integer] != HR__MARKET_STATIC && has_elastic_nodes(queue->cluster);
  bool waits = hr__queue_param(env, "carbon")->integer != 0;
  return resizes(env) && (rents || waits || hr_cluster_any_within(env->cluster));
}

/* Combinations of settings that are refused here. Other functions refuse more: hr_capacity_set_create refuses, for all
   policies, placement rules that the kind of allocation does not support; hr__carbon_create and the `create` functions
   of orders check their own parameters. */
static const struct impossible {
  bool (*applies)(const struct hr__queue *queue, const struct hr_policy_env *env);
  const char *message;
} impossible[] = {
    {resizes_without_nodes,
     "parameters 'elastic' and 'recovery': jobs are resized only where whole GPUs are counted by "
     "node, so not with the placement 'pool' or per-GPU allocation"},
    {resizes_with_plans, "parameters 'elastic' and 'recovery': not supported with the backfill 'conservative', which "
                         "plans with the GPUs that jobs request; use 'easy'"},
    {resizes_with_usage, "parameters 'elastic' and 'recovery': not supported with quotas, preemption, and orders by "
                         "usage, which count the GPUs that jobs request"},
    {resizes_with_places,
     "parameters 'elastic' and 'recovery': not supported with nodes that the policy rents, 'carbon' and "
     "'within'"},
    {counts_pools_with_constraints, "parameter 'placement': 'pool' does not support topology constraints ('within')"},
    {requeues_at_changing_place,
     "parameter 'requeue': head and tail need an order with keys that do not change, such as "
     "fifo, without preemption and quotas"},
    {requeues_behind_ranks, "parameter 'requeue': tail needs order=fifo"},
    {excludes_without_nodes, "parameter 'exclude_nodes': not supported with the placement 'pool', which chooses no "
                             "nodes, and the backfill 'conservative', which has reserved them"},
    {waits_near_data_with_plans, "parameter 'placement': 'data-local' is not supported with the backfill "
                                 "'conservative', which reserves nodes in advance; use 'easy'"},
    {waits_near_data_with_preemption,
     "parameter 'placement': 'data-local' is not supported with preemption: no jobs are "
     "preempted for one that waits for nodes near its data"},
    {preempts_by_unranked_order, "parameter 'preemption': 'order' is not supported by this order, which does not rank "
                                 "running jobs; use 'priority'"}};

static enum hr_status refuse_impossible(const struct hr__queue *queue, const struct hr_policy_env *env,
                                        struct hr_error *error) {
  for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++)
    if (impossible[i].applies(queue, env)) return hr_fail(error, HR_BAD_INPUT, "%s", impossible[i].message);
  return HR_OK;
}

/* ---- Modules -------------------------------------------------------------------------------------- */

static enum hr_status create_preemption(struct hr__queue *queue, const struct hr_policy_env *env) {
  struct hr__preemption_terms terms = {.rule = choose_preemption(queue, env),
                                       .mode = stops[hr__queue_param(env, "preempted")->integer],
                                       .victims = victims[hr__queue_param(env, "victims")->integer],
                                       .grace_us = hr__queue_param_us(env, "grace_s"),
                                       .min_run_us = hr__queue_param_us(env, "min_run_s")};
  if (!terms.rule) return HR_OK;
  queue->stops = true;
  return hr__preemption_create(queue, env, &terms) ? HR_OK : HR_NO_MEMORY;
}

/* Returns whether jobs of different priorities must be in different subqueues. With preemption by priority, a job with
   a higher priority than the first job of its shape can preempt jobs that the first job cannot preempt. If the order is
   not by priority, such a job may be behind other jobs of its shape. Preemption then finds it only if it is the first
   job of its own subqueue. */
static bool keeps_priorities_apart(const struct hr__queue *queue, const struct hr_policy_env *env) {
  bool by_priority = preemptions[hr__queue_param(env, "preemption")->integer] == PREEMPTS_BY_PRIORITY;
  bool in_order = queue->order == &hr__order_priority && hr__queue_param_us(env, "aging_s") == 0;
  return by_priority && queue->backfill->by_shape && !in_order && env->jobs->priority;
}

/* The full key for orders with keys that do not change. It is needed if quotas or preemption divide the jobs into
   subqueues. */
static int64_t same_key(void *self, const struct hr__subqueue *subqueue, struct hr_job_entry entry) {
  (void)self;
  (void)subqueue;
  return entry.key;
}

static enum hr_status create_waiting(struct hr__queue *queue, const struct hr_policy_env *env,
                                     const struct hr__admission *admission) {
  hr__full_key *full_key = queue->order->full_key;
  if ((env->quotas || queue->by_priority) && !full_key) full_key = same_key;
  enum hr_status status = hr__waiting_init(&queue->waiting, env->arena, env->jobs->n_jobs, full_key,
                                           queue->quota ? admission : NULL, queue);
  queue->waiting.keys_grow = queue->order->keys_only_grow;
  return status;
}

/* ---- Free capacity in per-GPU allocation ---------------------------------------------------------- */

/* Marks a job for rejection if it would not fit even into the empty cluster. */
static enum hr_status capacity_job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  struct hr_need need = hr_need_of(queue->cluster, queue->trace, job);
  need.preferred = hr_cluster_locality(queue->cluster, job).until_us != HR_NEVER_US;
  enum hr_reason reason = hr_capacity_never_fits(queue->capacities, &need);
  return reason == HR_REASON_NONE || hr__queue_reject_later(queue, job, reason) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status capacity_job_uses(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                        const struct hr_placement *placement, bool uses) {
  (void)view;
  hr__count_in(queue, queue->capacity, job, placement, uses);
  return HR_OK;
}

/* If a node goes down, the jobs on it have been interrupted before this event. */
static enum hr_status capacity_node_changes(struct hr__queue *queue, const struct hr_view *view,
                                            const struct hr_event *event) {
  (void)view;
  hr__queue_node_changes(queue->capacity, event);
  return HR_OK;
}

static const struct hr__listener capacity_listener = {
    .job_waits = capacity_job_waits, .job_uses = capacity_job_uses, .node_changes = capacity_node_changes};

static enum hr_status create_capacity(struct hr__queue *queue, const struct hr_policy_env *env,
                                      struct hr_error *error) {
  struct hr_capacity_config config = {
      .arena = env->arena,
      .cluster = env->cluster,
      .rule = is_data_local(env) ? "best-fit" : hr__placement_names[hr__queue_param(env, "placement")->integer],
      .seed = env->seed};
  enum hr_status status = hr_capacity_set_create(&config, &queue->capacities, error);
  if (status != HR_OK) return status;
  queue->capacity = hr_capacity_present(queue->capacities);
  if (!queue->by_gpu) return HR_OK;
  hr__queue_add_listener(queue, &capacity_listener);
  return HR_OK;
}

/* Creates the modules for jobs with topology constraints. */
static enum hr_status create_locality(struct hr__queue *queue, const struct hr_policy_env *env) {
  if (!hr_cluster_any_within(env->cluster)) return HR_OK;
  queue->locality = hr__locality_create(queue, env);
  return queue->locality ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status create_queue(struct hr__queue *queue, const struct hr_policy_env *env, struct hr_error *error) {
  queue->placer = hr_placer_create(env->arena, env->cluster, queue->rule);
  if (!queue->placer) return HR_NO_MEMORY;
  queue->by_priority = keeps_priorities_apart(queue, env);
  struct hr__admission admission = {0};
  if (env->quotas && !hr__quota_create(queue, env, &admission)) return HR_NO_MEMORY;
  enum hr_status status = create_locality(queue, env);
  if (status == HR_OK) status = create_waiting(queue, env, &admission);
  if (status == HR_OK && queue->order->create) status = queue->order->create(queue, env, error);
  if (status != HR_OK) return status;
  if (queue->order->listener) hr__queue_add_listener(queue, queue->order->listener);
  status = create_preemption(queue, env);
  if (status == HR_OK) status = hr__elastic_create(queue, elastic_level(env), recovery(env));
  if (status == HR_OK) status = create_capacity(queue, env, error);
  if (status != HR_OK) return status;
  if (!env->quotas && !queue->preemptor && !queue->backfill->walks) queue->waiting.line_of = queue->order->line_of;
  if (queue->backfill->needs_calendar && !hr__locality_create_calendar(queue, env)) return HR_NO_MEMORY;
  const struct hr__hold_terms terms = {.exclude_nodes = (uint32_t)hr__queue_param(env, "exclude_nodes")->integer,
                                       .exclude_us = hr__queue_param_us(env, "exclude_s"),
                                       .near_data = is_data_local(env),
                                       .data_wait_us = hr__queue_param_us(env, "data_local_wait_s")};
  if (!hr__gains_create(queue) || !hr__holds_create(queue, &terms)) return HR_NO_MEMORY;
  return queue->backfill->create ? queue->backfill->create(queue, env) : HR_OK;
}

/* Returns the rule for the placer of whole nodes. Packing rules are for the GPU allocator only; for these, the result
   is best-fit. */
static enum hr_placement_rule rule_of(const struct hr_policy_env *env) {
  size_t choice = (size_t)hr__queue_param(env, "placement")->integer;
  return choice < sizeof rules / sizeof *rules ? rules[choice] : HR_PLACE_BEST_FIT;
}

/* Returns whether the engine may request passes without an event: for nodes that sleep or have a power budget, and for
   nodes of an autoscaler. */
static bool run_requests_passes(const struct hr__queue *queue) {
  bool any = hr_cluster_is_autoscaled(queue->cluster);
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster); i++)
    any = any || hr_cluster_pool_spec(queue->cluster, (hr_pool){i})->power != NULL;
  return any;
}

/* Returns whether a pass decides nothing if jobs have only written checkpoints since the last pass, and the market rule
   is not due. This requires the backfill `skip`, an order with keys that do not depend on time, and no module that acts
   at certain times. Jobs that did not fit in the last pass then still do not fit. */
static bool is_timeless(const struct hr__queue *queue) {
  const struct hr__order *order = queue->order;
  bool uses_time = queue->preemptor || queue->carbon || queue->elastic || queue->holds || queue->locality;
  bool keys_change = order->begin_pass || order->end_pass || order->line_of;
  bool market_uses_time = queue->market && queue->market->uses_time;
  return queue->backfill == &hr__backfill_skip && !uses_time && !keys_change && !market_uses_time &&
         !run_requests_passes(queue);
}

static enum hr_status create(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  struct hr__queue *queue = hr_arena_alloc(env->arena, sizeof *queue);
  if (!queue) return HR_NO_MEMORY;
  *queue = (struct hr__queue){.arena = env->arena,
                              .trace = env->jobs,
                              .cluster = env->cluster,
                              .order = orders[hr__queue_param(env, "order")->integer],
                              .backfill = backfills[hr__queue_param(env, "backfill")->integer],
                              .rule = rule_of(env),
                              .by_gpu = hr_cluster_gpu_inventory(env->cluster) != NULL,
                              .stops = hr_cluster_changes(env->cluster) || hr__carbon_stops_jobs(env),
                              .blocked = {HR_NONE},
                              .settled = {{HR_NONE}, 0}};
  *self = queue;
  enum hr_status status = refuse_impossible(queue, env, error);
  queue->requeue = (enum hr__requeue)hr__queue_param(env, "requeue")->integer;
  if (queue->requeue != HR__REQUEUE_ORDER && !HR__ARENA_ARRAY_BY_JOB(env->arena, queue->requeue_key, env->jobs->n_jobs))
    return HR_NO_MEMORY;
  if (status == HR_OK) status = create_queue(queue, env, error);
  if (status == HR_OK) status = create_market(queue, env);
  if (status == HR_OK) status = hr__carbon_create(queue, env, error);
  if (status != HR_OK) hr__carbon_destroy(queue);
  queue->is_timeless = is_timeless(queue);
  return status;
}

/* ---- Wait reasons --------------------------------------------------------------------------------- */

/* explain_job checks the reasons in this order:

   - The job waits for electricity with less carbon.
   - Maintenance, excluded nodes or data hold the job.
   - Running jobs are being preempted for the job.
   - A quota blocks the job, whatever capacity is free. The limit of the whole cluster (HR_QUOTA_ROOT) is not checked
     here, because it also blocks jobs when all GPUs are in use.
   - The job has no placement.
   - The job has a placement, but the limit of the whole cluster blocks it.
   - The job has a placement, but it may not start before another job, or it would delay the reservation of another
     job. */

/* Returns the job at which the last pass stopped; if that job is not known, the first job in order; HR_NONE if no job
   is in the queue. With some orders each start changes keys, so the job at which the pass stopped may no longer be the
   first in order. */
static hr_job find_head(struct hr__queue *queue, const struct hr_view *view) {
  hr_job blocked = queue->blocked;
  bool stopped_pass = blocked.id != HR_NONE && view->state[blocked.id] == HR_JOB_WAITING;
  if (!queue->backfill->by_shape && stopped_pass) return blocked;
  if (queue->head.id != HR_NONE) return queue->head;
  const struct hr__shape *shape = hr__waiting_first(&queue->waiting);
  if (shape) queue->head = shape->head.job;
  return queue->head;
}

/* If the job's subqueue is parked (waiting.h) and the job is not the first job of the subqueue, returns that first job;
   else HR_NONE. */
static hr_job held_predecessor(const struct hr__queue *queue, hr_job job) {
  const struct hr__waiting *waiting = &queue->waiting;
  const struct hr__subqueue *subqueue = waiting->subqueue_of ? hr__subqueue_of_job(waiting, job) : NULL;
  bool is_held = subqueue && subqueue->parked_at && subqueue->head.job.id != job.id;
  return is_held ? subqueue->head.job : (hr_job){HR_NONE};
}

/* Explains why a job waits although it fits. */
static void explain_turn(struct hr__queue *queue, const struct hr_view *view, hr_job job, struct hr_wait_reason *wait) {
  hr_job held = held_predecessor(queue, job), first = held.id != HR_NONE ? held : find_head(queue, view);
  if (queue->preemptor && hr__preemption_pending(queue)) {
    wait->reason = HR_WAIT_REASON_PREEMPTION;
    wait->behind = queue->preemptor->beneficiary;
    return;
  }
  if (queue->backfill->passes_over || first.id == HR_NONE || first.id == job.id) return;
  bool is_order = held.id != HR_NONE || !queue->backfill->by_shape;
  wait->reason = is_order ? HR_WAIT_REASON_ORDER : HR_WAIT_REASON_RESERVATION;
  wait->behind = first;
  if (!is_order) wait->until_us = queue->reserved_us;
}

/* Returns whether a job that does not fit would fit without its topology constraint. */
static bool fits_elsewhere(const struct hr__queue *queue, struct hr_need need) {
  if (need.tier == HR_TIER_ANY || need.preferred) return false;
  need.tier = HR_TIER_ANY;
  return hr_capacity_fits(queue->capacity, &need);
}

static void explain_room(struct hr__queue *queue, const struct hr_view *view, hr_job job, const struct hr_need *need,
                         struct hr_wait_reason *wait) {
  hr_view_lack(view, job, wait);
  if (wait->reason == HR_WAIT_REASON_BOOTING || wait->reason == HR_WAIT_REASON_PROVIDER) return;
  if (fits_elsewhere(queue, *need))
    wait->reason = HR_WAIT_REASON_TOPOLOGY;
  else if (queue->market && hr__market_could_ask(queue, job)) {
    wait->reason = HR_WAIT_REASON_MARKET;
    wait->until_us = hr__market_patience_us(queue, job);
  } else if (wait->reason == HR_WAIT_REASON_FRAGMENTS && hr_capacity_lacks_node_resources(queue->capacity, need))
    wait->reason = HR_WAIT_REASON_NODE_RESOURCES;
}

static void explain(void *self, const struct hr_view *view, hr_job job, struct hr_wait_reason *wait) {
  struct hr__queue *queue = self;
  if (hr__carbon_explains(queue, job, wait)) return;
  struct hr_need need = hr__need_of(queue, job);
  if (queue->holds && hr__holds_wait(queue, job, wait)) return;
  if (queue->preemptor && queue->preemptor->beneficiary.id == job.id)
    wait->reason = HR_WAIT_REASON_PREEMPTION;
  else if (hr__quota_holds(queue, job, &wait->quota) && wait->quota != HR_QUOTA_ROOT)
    wait->reason = HR_WAIT_REASON_QUOTA;
  else if (!hr_capacity_fits(queue->capacity, &need))
    explain_room(queue, view, job, &need, wait);
  else if (wait->quota == HR_QUOTA_ROOT)
    wait->reason = HR_WAIT_REASON_QUOTA;
  else
    explain_turn(queue, view, job, wait);
  bool has_index = wait->reason == HR_WAIT_REASON_QUOTA || wait->reason == HR_WAIT_REASON_MAINTENANCE;
  if (!has_index) wait->quota = HR_NONE;
}

static uint32_t explains_by(const struct hr__queue *queue) {
  bool by_promise = queue->preemptor && queue->preemptor->terms.grace_us > 0;
  bool by_wait = queue->locality_expires;
  if (by_promise || by_wait || queue->holds || queue->carbon) return HR_POLICY_REASONS_BY_JOB;
  return queue->quota ? HR_POLICY_REASONS_BY_TENANT : 0;
}

/* Returns whether no job can wait for ever because of other jobs: each waiting job becomes the first in order at some
   time, and afterwards other jobs cannot delay it. */
static bool is_starvation_free(const struct hr__queue *queue) {
  if (queue->quota || queue->preemptor || queue->backfill->passes_over) return false;
  return queue->order->ages && queue->order->ages(queue);
}

static uint32_t abilities(void *self) {
  const struct hr__queue *queue = self;
  uint32_t promises = explains_by(queue);
  promises |= hr__elastic_abilities(queue);
  promises |= HR_POLICY_KEEPS_WITHIN | (is_starvation_free(queue) ? (uint32_t)HR_POLICY_STARVES_NOBODY : 0);
  if (queue->market) return promises | HR_POLICY_MANAGES_CAPACITY | HR_POLICY_PREEMPTS;
  if (queue->preemptor) return promises | HR_POLICY_PREEMPTS;
  return promises | (hr__carbon_stops(queue) ? HR_POLICY_PREEMPTS | HR_POLICY_KEEPS_WORK : 0);
}

static enum hr_status node_changes(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  enum hr_status status = HR_OK;
  queue->freed = queue->freed || event->kind == HR_EVENT_NODE_UP;
  HR__NOTIFY(queue, status, node_changes, view, event);
  return status;
}

/* Marks a job that is not wanted any more for rejection. Exception: a job for which running jobs are being preempted
   stays in the queue, unless the reason is HR_REASON_WITHDRAWN (the job runs in another cluster). */
static enum hr_status withdraw(struct hr__queue *queue, hr_job job, enum hr_reason reason) {
  const bool has_turn = queue->preemptor && queue->preemptor->beneficiary.id == job.id;
  if (has_turn && reason != HR_REASON_WITHDRAWN) return HR_OK;
  if (has_turn) queue->preemptor->beneficiary = (hr_job){HR_NONE};
  return hr__queue_reject_later(queue, job, HR_REASON_WITHDRAWN) ? HR_OK : HR_NO_MEMORY;
}

/* A job is submitted. If it does not fit, the last pass of the backfill `easy` remains valid (struct
   hr__settled_pass). */
static enum hr_status submit(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  hr_job settled = queue->settled.head;
  struct hr_placement unused;
  enum hr_status status = hr__carbon_job_waits(queue, view, job);
  if (status != HR_OK || settled.id == HR_NONE) return status;
  struct hr__shape *shape = hr__waiting_shape(&queue->waiting, hr__gpus(queue, job), hr__kind(queue, job));
  queue->settled.head = hr__shape_fits(queue, shape, &unused) ? (hr_job){HR_NONE} : settled;
  return HR_OK;
}

static enum hr_status observe(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr__queue *queue = self;
  enum hr_status status;
  queue->changed = queue->changed || (event->kind != HR_EVENT_SAVED && event->kind != HR_EVENT_TIMER);
  queue->woken = queue->woken || event->kind == HR_EVENT_TIMER;
  if (event->kind != HR_EVENT_TIMER && event->kind != HR_EVENT_SUBMIT) queue->settled.head = (hr_job){HR_NONE};
  switch (event->kind) {
  case HR_EVENT_SUBMIT:
    return submit(queue, view, event->job);
  case HR_EVENT_END:
    return hr__queue_job_stops(queue, view, event);
  case HR_EVENT_INTERRUPT:
    status = hr__queue_job_stops(queue, view, event);
    if (event->reason != HR_REASON_PREEMPTED) hr__queue_requeue(queue, view, event->job);
    if (status == HR_OK && queue->holds && event->reason == HR_REASON_FAILED)
      status = hr__holds_job_failed(queue, view, event);
    return status == HR_OK ? hr__carbon_job_waits(queue, view, event->job) : status;
  case HR_EVENT_RESIZE:
    return hr__elastic_job_shrank(queue, view, event->job, event->placement);
  case HR_EVENT_WITHDRAW:
    status = hr__carbon_release(queue, view, event->job);
    return status == HR_OK ? withdraw(queue, event->job, event->reason) : status;
  case HR_EVENT_NODE_UP:
  case HR_EVENT_NODE_DOWN:
  case HR_EVENT_NOTICE:
  case HR_EVENT_OFFER:
    return node_changes(queue, view, event);
  default:
    return HR_OK;
  }
}

/* Starts jobs: first by preemption, if the policy preempts, then by the backfill. The backfill is omitted while
   preempted jobs have not left yet, and if no waiting job fits. */
static enum hr_status pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                           const struct hr__backfill *backfill) {
  enum hr_status status = queue->preemptor ? hr__preemption_pass(queue, view, moves) : HR_OK;
  if (queue->preemptor && (hr__preemption_pending(queue) || queue->preemptor->nothing_fits)) return status;
  return status == HR_OK && queue->waiting.n_active ? backfill->pass(queue, view, moves) : status;
}

/* Starts jobs within the guarantees of their tenants. `*blocked`: such jobs remain, and the backfill `strict` does not
   allow other jobs to start before them. */
static enum hr_status pass_guaranteed(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                      bool *blocked) {
  bool strict = !queue->backfill->by_shape;
  enum hr_status status = hr__waiting_select_preferred(&queue->waiting, true);
  if (status == HR_OK) status = pass(queue, view, moves, strict ? queue->backfill : &hr__backfill_skip);
  *blocked = strict && queue->waiting.n_active > 0;
  return status == HR_OK ? hr__waiting_select_preferred(&queue->waiting, false) : status;
}

/* Starts jobs within guarantees in a first part, and then any jobs. With the backfill `strict`, the second part is
   omitted if jobs within guarantees still wait. */
static enum hr_status pass_by_quota(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  bool any_guaranteed = queue->waiting.n_other > 0 || queue->preemptor, blocked = false;
  enum hr_status status = HR_OK;
  if (queue->quota->guarantees && any_guaranteed)
    status = pass_guaranteed(queue, view, moves, &blocked);
  else
    status = hr__waiting_find_first(&queue->waiting);
  if (status != HR_OK || blocked || (queue->preemptor && hr__preemption_pending(queue))) return status;
  return pass(queue, view, moves, queue->backfill);
}

/* Starts jobs. Starts none while a job waits for its victims to leave (hr__preemption_pending). */
static enum hr_status start_jobs(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  enum hr_status status = queue->preemptor ? hr__preemption_begin_pass(queue, view, moves) : HR_OK;
  if (status != HR_OK || (queue->preemptor && hr__preemption_pending(queue))) return status;
  return queue->quota ? pass_by_quota(queue, view, moves) : pass(queue, view, moves, queue->backfill);
}

/* Starts jobs if the policy resizes jobs (queue->elastic). First restores the GPUs that running jobs have lost. At the
   end, running jobs may grow. */
static enum hr_status start_elastic(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  enum hr_status status = hr__elastic_restore(queue, view, moves);
  for (bool started = true; started && status == HR_OK;) {
    status = start_jobs(queue, view, moves);
    if (status == HR_OK) status = hr__elastic_start_first(queue, view, moves, &started);
    queue->freed = queue->freed || started;
  }
  return status == HR_OK ? hr__elastic_grow(queue, view, moves) : status;
}

/* Changes the kind of each waiting job with an expired topology constraint. */
static enum hr_status expire_localities(struct hr__queue *queue, const struct hr_view *view) {
  enum hr_status status = HR_OK;
  uint8_t *flag;
  hr_job job;
  bool any = false;
  while (status == HR_OK && (flag = hr__locality_next_expired(queue, view, &job))) {
    status = hr__queue_change_kind(queue, view, job, flag);
    queue->freed = any = true;
  }
  return status == HR_OK && any ? hr__queue_refresh(queue, view) : status;
}

static enum hr_status make_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  enum hr_status status = HR_OK;
  queue->head = (hr_job){HR_NONE};
  queue->reserved_us = HR_NEVER_US;
  if (queue->carbon) status = hr__carbon_begin_pass(queue, view, moves);
  if (status == HR_OK && queue->n_rejections) status = hr__queue_reject_marked(queue, view, moves);
  if (status == HR_OK && queue->locality) status = expire_localities(queue, view);
  if (status == HR_OK && queue->holds) status = hr__holds_release(queue, view);
  if (status == HR_OK && queue->order->begin_pass) status = queue->order->begin_pass(queue, view);
  if (status == HR_OK) status = queue->elastic ? start_elastic(queue, view, moves) : start_jobs(queue, view, moves);
  if (status == HR_OK && queue->carbon) status = hr__carbon_start_early(queue, view, moves);
  if (status == HR_OK && queue->market) status = hr__market_pass(queue, view, moves);
  if (status == HR_OK && queue->preemptor) status = hr__preemption_end_pass(queue, view, moves);
  if (status == HR_OK && queue->locality) status = hr__locality_end_pass(queue, view, moves);
  if (status == HR_OK && queue->holds) status = hr__queue_wake(queue, view, moves, hr__holds_until_us(queue));
  if (status == HR_OK && queue->carbon) status = hr__carbon_end_pass(queue, view, moves);
  return status == HR_OK && queue->order->end_pass ? queue->order->end_pass(queue, view, moves) : status;
}

static enum hr_status decide(void *self, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__queue *queue = self;
  bool due = queue->changed || queue->n_rejections || !queue->is_timeless;
  if (!due && queue->woken && queue->market) {
    enum hr_status status = hr__market_wake(queue, view, moves, &due);
    if (status != HR_OK) return status;
  }
  queue->woken = false;
  if (!due) return HR_OK;
  enum hr_status status = make_pass(queue, view, moves);
  queue->changed = false;
  return status;
}

HR_POLICY(queue) = {HR_POLICY_HEAD,
                    .name = "queue",
                    .summary = "a queue with an order, a backfill and a placement rule",
                    .params = hr__queue_params,
                    .create = create,
                    .destroy = hr__carbon_destroy,
                    .observe = observe,
                    .decide = decide,
                    .abilities = abilities,
                    .explain = explain,
                    .usable_nodes = usable_nodes};
