/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When Karpenter looks at the cluster, and the nodes that it requests. A job that begins to wait opens a batch, which
 * ends after a time without new jobs; then nodes are requested. Jobs that still wait are looked at again every 10 s.
 * Another loop removes nodes: it makes a pass every 10 s; a command of a pass is checked again 15 s later and then
 * carried out, and the next pass follows at once, or 10 s later if nothing was done. Looks and passes follow the
 * policy's pass of that instant.
 *
 * A look or pass without changes since the last one decides the same unless some time has passed: a pool is tried
 * again, a node may be removed, a price changes. So they are made only after changes and at these times. A look that
 * requests nodes is a change, too: a pool without capacity is left out, and a node counts with its own size. A node
 * that has not booted in time is given up, and one that is too old is removed, at that instant.
 *
 * New nodes: the jobs that no node can take are placed on planned nodes, in the order of their kinds (autoscaler.c);
 * each planned node is then requested from the cheapest pool that it may be in. If that pool has no capacity, it is not
 * tried again for some time, and the next one is tried. Invariant: a node pool stays within its limits.
 *
 * Source: kubernetes-sigs/karpenter, pkg/controllers/provisioning (batcher.go, controller.go), disruption
 * (controller.go, validation.go) and nodeclaim (lifecycle, expiration), at 22664681.
 */

#include "sim/market/autoscaler.h"

#define PERIOD_US (10 * HR_SECOND_US) /* of retries, and of the loop that removes nodes */
#define VALIDATION_US (15 * HR_SECOND_US)

/* Returns the first time from `from_us` on that is `base_us` plus a positive multiple of the period. */
static int64_t next_multiple(int64_t base_us, int64_t from_us) {
  if (from_us <= base_us) return base_us + PERIOD_US;
  return base_us + (from_us - base_us + PERIOD_US - 1) / PERIOD_US * PERIOD_US;
}

/* ---- Times ------------------------------------------------------------------------------------------------ */

/* Whether a job waits since the last look. */
static bool has_seen_jobs(const struct hr__engine *engine) {
  const struct hr__autoscaler *self = engine->autoscaler;
  return self->first && self->waiting[self->first - 1].since_us <= self->karpenter->looked_us;
}

/* Schedules the next look without a new job, if a job waits since the last look. */
static enum hr_status retry_from(struct hr__engine *engine, int64_t from_us) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  if (!has_seen_jobs(engine)) return HR_OK;
  if (loop->looked_us < 0 || from_us > HR_NEVER_US - 2 * PERIOD_US) return HR_OK;
  if (from_us <= loop->acted_us) from_us = loop->acted_us + 1;
  const int64_t at_us = next_multiple(loop->looked_us, from_us);
  if (at_us >= loop->retry_us) return HR_OK;
  loop->retry_us = at_us;
  return hr__schedule(engine, at_us, HR__PENDING_SCAN, HR__KARPENTER_RETRY);
}

/* Schedules the next pass of the loop that removes nodes. */
static enum hr_status pass_from(struct hr__engine *engine, int64_t from_us) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  if (loop->validate_us != HR_NEVER_US || from_us > HR_NEVER_US - 2 * PERIOD_US) return HR_OK;
  if (from_us <= loop->passed_us) from_us = loop->passed_us + 1;
  const int64_t at_us = next_multiple(loop->base_us, from_us);
  if (at_us >= loop->pass_us) return HR_OK;
  loop->pass_us = at_us;
  return hr__schedule(engine, at_us, HR__PENDING_SCAN, HR__KARPENTER_PASS);
}

static enum hr_status note_change(struct hr__engine *engine, const struct hr__scaling_change *change) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct hr__karpenter_loop *loop = self->karpenter;
  const int64_t now_us = engine->view.now_us;
  enum hr_status status = HR_OK;
  if (change->kind == HR__CHANGE_JOB_WAITS) {
    hr__karpenter_batch_add(&loop->batch, now_us);
    status = hr__schedule(engine, loop->batch.end_us, HR__PENDING_SCAN, HR__KARPENTER_BATCH);
  }
  if (loop->n_awaiting > 0 && (change->kind == HR__CHANGE_NODE_UP || change->kind == HR__CHANGE_NODE_DOWN) &&
      status == HR_OK)
    status = hr__schedule(engine, now_us, HR__PENDING_SCAN, HR__KARPENTER_SETTLE);
  if (change->kind == HR__CHANGE_NODE_JOBS || change->kind == HR__CHANGE_NODE_UP)
    loop->touched_us[change->node] = now_us;
  if (status == HR_OK) status = retry_from(engine, now_us);
  return status == HR_OK ? pass_from(engine, now_us) : status;
}

static void note(struct hr__engine *engine, const struct hr__scaling_change *change) {
  if (note_change(engine, change) != HR_OK) engine->autoscaler->lacks_memory = true;
}

/* ---- Nodes that expire, or do not boot -------------------------------------------------------------------- */

static enum hr_status end_node(struct hr__engine *engine, uint32_t id) {
  const struct hr__node *node = &engine->cluster.nodes[id];
  const hr_pool pool = hr__cluster_pool_of(&engine->cluster, (hr_node){id});
  struct hr__autoscaler *self = engine->autoscaler;
  const struct hr_node_pool *spec = &self->spec->node_pools[self->karpenter->node_pool[pool.id]];
  const int64_t age_us = engine->view.now_us - node->since_us;
  struct hr_pool_accounting *account = &engine->pool_accounting[pool.id];
  if (node->state == HR_NODE_OFF) return HR_OK;
  if (node->state == HR_NODE_BOOTING && age_us == self->spec->provision_us) {
    account->scale_failures++;
    return hr__market_take_down(engine, pool, (hr_node){id}, HR_REASON_NOT_PROVISIONED);
  }
  if (age_us != spec->expire_us) return HR_OK;
  account->removals++;
  return hr__market_take_down(engine, pool, (hr_node){id}, HR_REASON_SCALED_DOWN);
}

static enum hr_status advance(struct hr__engine *engine, uint32_t entity) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  const int64_t now_us = engine->view.now_us;
  if (entity == HR__KARPENTER_SETTLE) return hr__karpenter_settle(engine);
  if (entity >= HR__KARPENTER_NODE) return end_node(engine, entity - HR__KARPENTER_NODE);
  if (entity == HR__KARPENTER_BATCH && loop->batch.is_open && loop->batch.end_us == now_us) {
    loop->is_look_due = true;
    loop->batch.is_open = false;
  }
  if (entity == HR__KARPENTER_RETRY && loop->retry_us == now_us) loop->is_retry_due = true;
  if (entity == HR__KARPENTER_PASS && loop->pass_us == now_us) loop->is_pass_due = true;
  if (entity == HR__KARPENTER_VALIDATE && loop->validate_us == now_us) loop->is_validation_due = true;
  return HR_OK;
}

/* ---- Prices ----------------------------------------------------------------------------------------------- */

double hr__karpenter_price(const struct hr__engine *engine, uint32_t pool) {
  const int64_t uusd_h = hr_cluster_price_uusd_h(&engine->cluster, (hr_pool){pool}, engine->view.now_us);
  return (double)uusd_h * (double)engine->cluster.pools[pool].spec->gpus_per_node * 1e-6;
}

/* ---- Options and limits ----------------------------------------------------------------------------------- */

static int64_t limit_of(int64_t limit, int64_t factor) {
  return limit == INT64_MAX ? limit : limit * factor;
}

static void set_limits(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct hr__karpenter_loop *loop = self->karpenter;
  for (uint32_t i = 0; i < self->spec->n_node_pools; i++) {
    const struct hr_node_pool *spec = &self->spec->node_pools[i];
    struct hr__karpenter_node_pool *limit = &loop->limits[i];
    *limit = (struct hr__karpenter_node_pool){
        .weight = spec->weight,
        .left = {{[HR__CPU_M] = spec->max_cpu_milli,
                  [HR__MEMORY_BYTES] = limit_of(spec->max_mem_mib, 1048576),
                  [HR__GPUS] = spec->max_gpus == UINT32_MAX ? INT64_MAX : (int64_t)spec->max_gpus * 1000}},
        .nodes_left = spec->max_nodes == UINT32_MAX ? INT64_MAX : spec->max_nodes};
  }
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    if (loop->node_pool[i] == HR_NONE) continue;
    struct hr__karpenter_node_pool *limit = &loop->limits[loop->node_pool[i]];
    const int64_t size = hr__scaled_size(&engine->cluster.pools[i]);
    if (limit->nodes_left != INT64_MAX) limit->nodes_left -= size;
    for (int k = 0; k < HR__N_AMOUNTS; k++)
      if (limit->left.of[k] != INT64_MAX) limit->left.of[k] -= size * self->pools[i].node.of[k];
  }
}

void hr__karpenter_set_options(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct hr__karpenter_loop *loop = self->karpenter;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    loop->options[i] = (struct hr__karpenter_option){.node_pool = loop->node_pool[i]};
    if (loop->node_pool[i] == HR_NONE) continue;
    loop->options[i] =
        (struct hr__karpenter_option){.size = self->pools[i].node,
                                      .price = hr__karpenter_price(engine, i),
                                      .node_pool = loop->node_pool[i],
                                      .is_spot = engine->cluster.pools[i].spec->market.market == HR_MARKET_SPOT,
                                      .is_available = engine->view.now_us >= loop->unavailable_until_us[i],
                                      .room = hr__nodes_allowed(engine, i)};
  }
  set_limits(engine);
}

/* ---- Requests --------------------------------------------------------------------------------------------- */

enum hr_status hr__karpenter_launch(struct hr__engine *engine, const bool *may, hr_node *node) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct hr__karpenter_loop *loop = self->karpenter;
  const uint32_t n_pools = engine->cluster.n_pools;
  const bool is_spot = hr__karpenter_buys_spot(loop->options, may, n_pools);
  *node = (hr_node){HR_NONE};
  for (;;) {
    const uint32_t pool = hr__karpenter_cheapest(loop->options, may, n_pools, is_spot);
    if (pool == HR_NONE) return HR_OK;
    const enum hr_status status = hr__node_request(engine, pool, node);
    if (status != HR_OK) return status;
    if (node->id == HR_NONE) {
      engine->pool_accounting[pool].scale_failures++;
      loop->unavailable_until_us[pool] = engine->view.now_us + self->spec->unavailable_us;
      loop->options[pool].is_available = false;
      continue;
    }
    self->has_acted = true;
    /* the quotas may concern several pools */
    for (uint32_t i = 0; i < n_pools; i++)
      if (loop->node_pool[i] != HR_NONE) loop->options[i].room = hr__nodes_allowed(engine, i);
    const int64_t expire_us = self->spec->node_pools[loop->node_pool[pool]].expire_us;
    const int64_t now_us = engine->view.now_us;
    enum hr_status timer = HR_OK;
    if (expire_us < HR_NEVER_US - now_us)
      timer = hr__schedule(engine, now_us + expire_us, HR__PENDING_SCAN, HR__KARPENTER_NODE + node->id);
    if (timer != HR_OK || self->spec->provision_us >= HR_NEVER_US - now_us) return timer;
    return hr__schedule(engine, now_us + self->spec->provision_us, HR__PENDING_SCAN, HR__KARPENTER_NODE + node->id);
  }
}

/* ---- Plans ------------------------------------------------------------------------------------------------ */

/* Sets the pods of a job by pool; `part`: those that a job lacks which has some of its nodes. */
static void set_pods(struct hr__engine *engine, const struct hr__pod_kind *kind, bool part) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    struct hr__karpenter_pods *pods = &loop->pods[i];
    *pods = (struct hr__karpenter_pods){0};
    if (loop->node_pool[i] == HR_NONE || !hr__pod_kind_suits(engine, kind, i)) continue;
    if (part && kind->part_pool != i) continue;
    const struct hr__pod_rows rows = hr__pod_kind_rows(engine, kind, i);
    uint32_t n = 0;
    for (uint32_t k = 0; k < rows.n_rows; k++) {
      const uint32_t count = part ? kind->part_left[k] : rows.row[k].count;
      if (count == 0) continue;
      pods->request[n] = rows.row[k].request;
      pods->count[n++] = count;
    }
  }
}

static bool has_one_pod(const struct hr__engine *engine) {
  const struct hr__karpenter_pods *pods = engine->autoscaler->karpenter->pods;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++)
    if (pods[i].count[0] + pods[i].count[1] > 1) return false;
  return true;
}

static void plan_kind(struct hr__engine *engine, struct hr__karpenter_plan *plan, const struct hr__pod_kind *kind) {
  const struct hr__karpenter_pods *pods = engine->autoscaler->karpenter->pods;
  uint32_t left = kind->n_left;
  if (kind->part_pool != HR_NONE) {
    set_pods(engine, kind, true);
    hr__karpenter_place_job(plan, pods);
    left--;
  }
  set_pods(engine, kind, false);
  const bool is_single = has_one_pod(engine);
  while (left > 0 && (is_single ? hr__karpenter_place_pod(plan, pods) : hr__karpenter_place_job(plan, pods))) left--;
}

/* Requests nodes for the jobs that no node can take. */
static enum hr_status grow(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct hr__karpenter_loop *loop = self->karpenter;
  enum hr_status status = HR_OK;
  if (!hr__node_demand_find(engine)) return HR_OK;
  hr__karpenter_set_options(engine);
  struct hr__karpenter_plan plan = {.options = loop->options,
                                    .n_options = engine->cluster.n_pools,
                                    .node_pools = loop->limits,
                                    .n_node_pools = self->spec->n_node_pools};
  for (uint32_t i = self->first_kind; i != HR_NONE; i = self->kinds[i].next)
    if (self->kinds[i].n_left > 0) plan_kind(engine, &plan, &self->kinds[i]);
  for (uint32_t i = 0; i < plan.n_nodes && status == HR_OK && !plan.lacks_memory; i++) {
    hr_node node;
    status = hr__karpenter_launch(engine, &plan.may[(size_t)i * plan.n_options], &node);
  }
  self->lacks_memory = self->lacks_memory || plan.lacks_memory;
  hr__karpenter_plan_finish(&plan);
  return status;
}

/* ---- Looks and passes ------------------------------------------------------------------------------------- */

/* Returns the number of requests for nodes, with those that failed. */
static uint64_t count_requests(const struct hr__engine *engine) {
  uint64_t n = 0;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++)
    n += engine->pool_accounting[i].launches + engine->pool_accounting[i].scale_failures;
  return n;
}

static enum hr_status look(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct hr__karpenter_loop *loop = self->karpenter;
  const int64_t now_us = engine->view.now_us;
  loop->looked_us = now_us;
  loop->retry_us = HR_NEVER_US;
  if (!self->first) return HR_OK;
  const uint64_t n_requests = count_requests(engine);
  enum hr_status status = grow(engine);
  /* a pool that has no capacity, and a node that is smaller than the limit allowed for, change the next plan */
  if (count_requests(engine) != n_requests) {
    if (status == HR_OK) status = retry_from(engine, now_us);
    if (status == HR_OK) status = pass_from(engine, now_us); /* jobs that wait may need other nodes */
  }
  for (uint32_t i = 0; i < engine->cluster.n_pools && status == HR_OK; i++)
    if (loop->unavailable_until_us[i] > now_us) status = retry_from(engine, loop->unavailable_until_us[i]);
  return status;
}

static enum hr_status pass(struct hr__engine *engine) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  loop->passed_us = engine->view.now_us;
  loop->pass_us = HR_NEVER_US;
  loop->due_us = HR_NEVER_US;
  bool any = false, has_command = hr__karpenter_find_command(engine);
  while (has_command && loop->reason == HR__KARPENTER_DRIFTED) {
    enum hr_status status = hr__karpenter_carry_out(engine, &any);
    if (status != HR_OK) return status;
    if (!any) return pass_from(engine, loop->passed_us);
    any = false;
    has_command = hr__karpenter_find_command(engine);
  }
  if (!has_command) return loop->due_us == HR_NEVER_US ? HR_OK : pass_from(engine, loop->due_us);
  loop->pass_us = HR_NEVER_US; /* that of the changes which the loop has made */
  loop->validate_us = engine->view.now_us + VALIDATION_US;
  return hr__schedule(engine, loop->validate_us, HR__PENDING_SCAN, HR__KARPENTER_VALIDATE);
}

static enum hr_status validate(struct hr__engine *engine) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  bool any = false;
  loop->validate_us = HR_NEVER_US;
  loop->base_us = engine->view.now_us;
  const enum hr_status status = hr__karpenter_carry_out(engine, &any);
  if (status != HR_OK) return status;
  return any ? pass(engine) : pass_from(engine, engine->view.now_us);
}

static enum hr_status after_pass(struct hr__engine *engine) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  /* the jobs that were seen may have started at this instant */
  const bool looks = loop->is_look_due || (loop->is_retry_due && has_seen_jobs(engine));
  const bool passes = loop->is_pass_due, validates = loop->is_validation_due;
  enum hr_status status = HR_OK;
  loop->acted_us = engine->view.now_us;
  if (loop->is_retry_due) loop->retry_us = HR_NEVER_US;
  loop->is_retry_due = loop->is_look_due = loop->is_pass_due = loop->is_validation_due = false;
  if (!engine->whole && hr__engine_is_over(engine, engine->view.now_us)) return HR_OK;
  if (looks) status = look(engine);
  if (status == HR_OK && validates) status = validate(engine);
  if (status == HR_OK && passes) status = pass(engine);
  return status;
}

/* ---- Start of a run --------------------------------------------------------------------------------------- */

static bool allocate(struct hr__engine *engine, struct hr__karpenter_loop *loop) {
  const struct hr_autoscaler_spec *spec = engine->autoscaler->spec;
  struct hr_arena *arena = &engine->arena;
  const size_t n_pools = engine->cluster.n_pools, n_nodes = engine->cluster.n_nodes, n = spec->n_node_pools + 1;
  size_t n_budgets = 1;
  for (uint32_t i = 0; i < spec->n_node_pools; i++) n_budgets += spec->node_pools[i].n_budgets;
  loop->node_pool = hr_arena_alloc(arena, n_pools * sizeof *loop->node_pool);
  loop->unavailable_until_us = hr_arena_alloc(arena, n_pools * sizeof *loop->unavailable_until_us);
  loop->options = hr_arena_alloc(arena, n_pools * sizeof *loop->options);
  loop->pods = hr_arena_alloc(arena, n_pools * sizeof *loop->pods);
  loop->limits = hr_arena_alloc(arena, n * sizeof *loop->limits);
  loop->budgets = hr_arena_alloc(arena, n_budgets * sizeof *loop->budgets);
  loop->first_budget = hr_arena_alloc(arena, n * sizeof *loop->first_budget);
  loop->budget_left = hr_arena_alloc(arena, n * sizeof *loop->budget_left);
  loop->touched_us = hr_arena_alloc(arena, n_nodes * sizeof *loop->touched_us);
  loop->command = hr_arena_alloc(arena, n_nodes * sizeof *loop->command);
  loop->nodes = hr_arena_alloc(arena, n_nodes * sizeof *loop->nodes);
  loop->node_id = hr_arena_alloc(arena, n_nodes * sizeof *loop->node_id);
  loop->order = hr_arena_alloc(arena, n_nodes * sizeof *loop->order);
  loop->sent = hr_arena_alloc(arena, n_pools * sizeof *loop->sent);
  loop->awaits = hr_arena_alloc(arena, n_nodes * sizeof *loop->awaits);
  loop->leaves = hr_arena_alloc(arena, n_nodes * sizeof *loop->leaves);
  loop->free = hr_arena_alloc(arena, n_nodes * sizeof *loop->free);
  loop->left = hr_arena_alloc(arena, n_pools * sizeof *loop->left);
  loop->types = hr_arena_alloc(arena, n_pools * sizeof *loop->types);
  loop->offerings = hr_arena_alloc(arena, n_pools * sizeof *loop->offerings);
  loop->types_sent = hr_arena_alloc(arena, n_pools * sizeof *loop->types_sent);
  return loop->sent && loop->awaits && loop->leaves && loop->free && loop->left && loop->types && loop->offerings &&
         loop->types_sent && loop->node_pool && loop->unavailable_until_us && loop->options && loop->pods &&
         loop->limits && loop->budgets && loop->first_budget && loop->budget_left && loop->touched_us &&
         loop->command && loop->nodes && loop->node_id && loop->order;
}

static void set_budgets(const struct hr_autoscaler_spec *spec, struct hr__karpenter_loop *loop) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < spec->n_node_pools; i++) {
    loop->first_budget[i] = n;
    for (uint32_t k = 0; k < spec->node_pools[i].n_budgets; k++) {
      const struct hr_disruption_budget *from = &spec->node_pools[i].budgets[k];
      const bool is_percent = from->percent != UINT32_MAX;
      struct hr__karpenter_budget *budget = &loop->budgets[n++];
      *budget = (struct hr__karpenter_budget){.nodes = is_percent ? from->percent : from->nodes,
                                              .is_percent = is_percent,
                                              .is_always = !from->schedule,
                                              .duration_s = from->duration_us / HR_SECOND_US,
                                              .reasons = from->reasons};
      if (from->schedule) budget->is_wrong = !hr__cron_read(from->schedule, &budget->schedule);
    }
  }
  loop->first_budget[spec->n_node_pools] = n;
}

static bool create(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  const struct hr_autoscaler_spec *spec = self->spec;
  struct hr__karpenter_loop *loop = hr_arena_alloc(&engine->arena, sizeof *loop);
  if (!loop || !allocate(engine, loop)) return false;
  loop->batch = (struct hr__karpenter_batch){.idle_us = spec->batch_idle_us, .max_us = spec->batch_max_us};
  loop->looked_us = loop->passed_us = loop->acted_us = -1;
  loop->retry_us = loop->pass_us = loop->validate_us = HR_NEVER_US;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    loop->node_pool[i] = HR_NONE;
    for (uint32_t k = 0; k < spec->n_node_pools && self->pools[i].is_scaled; k++)
      if (spec->node_pools[k].of_pool[i]) loop->node_pool[i] = k;
    self->pools[i].is_scaled = loop->node_pool[i] != HR_NONE;
  }
  set_budgets(spec, loop);
  self->karpenter = loop;
  return true;
}

static enum hr_status begin(struct hr__engine *engine) {
  (void)engine;
  return HR_OK; /* it begins with the first job */
}

static bool backs_off(struct hr__engine *engine, uint32_t pool) {
  return engine->view.now_us < engine->autoscaler->karpenter->unavailable_until_us[pool];
}

/* Large pods come first: by CPU, then by memory. */
static bool precedes(const struct hr__pod_kind *kind, const struct hr__pod_kind *other) {
  return kind->cpu_m != other->cpu_m ? kind->cpu_m > other->cpu_m : kind->memory > other->memory;
}

static void finish(struct hr__engine *engine) {
  if (engine->autoscaler->karpenter) free(engine->autoscaler->karpenter->by_type);
}

const struct hr__scaling_rules hr__karpenter_rules = {.create = create,
                                                      .begin = begin,
                                                      .note = note,
                                                      .advance = advance,
                                                      .after_pass = after_pass,
                                                      .backs_off = backs_off,
                                                      .precedes = precedes,
                                                      .close = finish};
