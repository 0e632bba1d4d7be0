/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The power budget of a cluster: its nodes, losses and other equipment together never draw more. Policies do not know
 * the budget. Before each pass, the engine closes ("holds") idle nodes until the budget suffices even if each free GPU
 * of the open nodes gets the job that draws the most power. After a job has ended, it opens nodes again. So no policy
 * can start a job that does not fit, and the power of a job is reserved before it starts.
 *
 * Nodes are held as a whole. Nodes of pools that waiting jobs accept are opened first; for them, idle nodes of other
 * pools are closed.
 *
 * If the budget caps (cluster.power_budget_mode), the power at the last level of the power limits is reserved instead,
 * and after each pass GPUs get the first level at which the budget suffices. All pools have the same level. So more
 * nodes are open, and jobs run slower while many of them work.
 *
 * Invariant, in checked mode: the power of all pools is at most the budget.
 *
 * Source: power as a resource of a scheduler, as in the power capping of Slurm (layouts/power) and oversubscription of
 * the provisioned power (Fan, Weber and Barroso, ISCA 2007).
 */

#include "sim/power/standby.h"

/* ---- Rates ---- */

/* The level of the power limits at which power is reserved. */
static uint32_t reserved_level(const struct hr_pool_spec *pool) {
  return pool->power->budget_caps ? HR__CAP_LEVELS : 0;
}

static struct hr__watts rate_of(const struct hr__engine *engine, const struct hr_pool_spec *pool, uint32_t job) {
  uint32_t fraction_ppm = hr__power_fraction(engine->trace, engine->config->classes, (hr_job){job});
  return hr__busy_rate_at(pool->power, pool->gpus_per_node, reserved_level(pool), fraction_ppm);
}

/* Returns the maximum power of a milli-GPU with any job. The jobs of a streamed run are not known yet. */
static int64_t most_nw(const struct hr__engine *engine, const struct hr_pool_spec *pool) {
  enum { FULL_PPM = 1000000 };
  const struct hr_trace *trace = engine->trace;
  const uint32_t level = reserved_level(pool);
  int64_t most = hr__busy_rate_at(pool->power, pool->gpus_per_node, level, HR__NO_FRACTION).it;
  if (engine->config->stream) {
    int64_t full = hr__busy_rate_at(pool->power, pool->gpus_per_node, level, FULL_PPM).it;
    return full > most ? full : most;
  }
  uint32_t known_ppm = HR__NO_FRACTION;
  for (uint32_t job = 0; job < trace->n_jobs - trace->n_added; job++) {
    uint32_t fraction_ppm = hr__power_fraction(trace, engine->config->classes, (hr_job){job});
    if (fraction_ppm == known_ppm) continue;
    known_ppm = fraction_ppm;
    int64_t nw = rate_of(engine, pool, job).it;
    if (nw > most) most = nw;
  }
  return most;
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

enum hr_status hr__budget_init(struct hr__engine *engine) {
  struct hr__standby *all = engine->standby;
  double budget_w = 0;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++)
    if (hr_pool_power_budget_w(engine->cluster.pools[i].spec) > budget_w)
      budget_w = hr_pool_power_budget_w(engine->cluster.pools[i].spec);
  if (!(budget_w > 0) || !engine->power) return HR_OK;
  all->budget_nw = (int64_t)(budget_w * 1e9);
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct hr_pool_spec *spec = engine->cluster.pools[i].spec;
    struct standby_pool *pool = &all->pools[i];
    if (!spec->power || spec->nodes == 0) continue;
    all->caps = all->caps || spec->power->budget_caps;
    int64_t size_milli = (int64_t)spec->gpus_per_node * 1000, idle = hr__idle_rate(spec->power, spec->gpus_per_node).it;
    pool->busy_nw = larger(most_nw(engine, spec) - idle, 0);
    int64_t node_nw = larger((idle + pool->busy_nw) * size_milli, hr__node_rate(spec->power, spec->power->boot_w).it);
    pool->booted_nw =
        larger((idle + pool->busy_nw) * size_milli - hr__node_rate(spec->power, spec->power->boot_w).it, 0);
    pool->repaired_nw = larger(idle * size_milli - hr__node_rate(spec->power, spec->power->down_w).it, 0);
    pool->wake_nw = larger(node_nw - hr__node_rate(spec->power, spec->power->sleep.sleep_w).it, 0);
  }
  engine->peaks.budget_nw = all->budget_nw;
  engine->peaks.budget_caps = all->caps;
  return HR_OK;
}

static int64_t node_milli(const struct hr__engine *engine, uint32_t pool) {
  return (int64_t)engine->cluster.pools[pool].spec->gpus_per_node * 1000;
}

/* Returns the additional power that the GPUs in use could draw if a policy that stops or resizes jobs gave them to
   other jobs. */
static int64_t replaced_nw(const struct hr__engine *engine, uint32_t pool) {
  const struct hr_pool_spec *spec = engine->cluster.pools[pool].spec;
  if (!(engine->abilities & (HR_POLICY_PREEMPTS | HR_POLICY_RESIZES)) || !spec->power || spec->nodes == 0) return 0;
  int64_t taken_nw, milli = hr__power_busy_milli(engine, (hr_pool){pool}, &taken_nw);
  int64_t most = hr__idle_rate(spec->power, spec->gpus_per_node).it + engine->standby->pools[pool].busy_nw;
  return milli * most - taken_nw;
}

/* Returns the rest of the budget if all free GPUs worked, including those of booting nodes and of nodes that are down.
 */
static int64_t headroom_nw(const struct hr__engine *engine) {
  int64_t left = engine->standby->budget_nw -
                 hr__power_at_level(engine, engine->standby->caps ? HR__CAP_LEVELS : engine->speeds.level);
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct standby_pool *pool = &engine->standby->pools[i];
    left -= (int64_t)engine->cluster.pools[i].free_milli * pool->busy_nw + replaced_nw(engine, i);
    left -= pool->n_in[STANDBY_WAKING] * pool->booted_nw;
    uint32_t n_off = engine->cluster.pools[i].n_in[HR_NODE_OFF];
    left -= (n_off - pool->n_in[STANDBY_FALLING] - pool->n_in[STANDBY_ASLEEP]) * pool->repaired_nw;
  }
  return left;
}

bool hr__budget_lets_wake(const struct hr__engine *engine, hr_pool pool) {
  const struct hr__standby *all = engine->standby;
  return all->budget_nw == 0 || headroom_nw(engine) >= all->pools[pool.id].wake_nw;
}

/* ---- Nodes that are held ---- */

static enum hr_status hold(struct hr__engine *engine, uint32_t pool, uint32_t node) {
  struct hr_event event =
      hr__node_event(engine, HR_EVENT_NOTICE, HR_REASON_POWER_BUDGET, (hr_pool){pool}, (hr_node){node});
  hr__standby_set_mode(engine, (hr_node){node}, STANDBY_HELD);
  hr__market_set_state(engine, (hr_node){node}, HR_NODE_CLOSING);
  engine->cluster.nodes[node].down_us = HR_NEVER_US;
  return hr__emit(engine, &event);
}

static enum hr_status open_node(struct hr__engine *engine, uint32_t pool, uint32_t node) {
  struct hr_event event =
      hr__node_event(engine, HR_EVENT_NODE_UP, HR_REASON_POWER_BUDGET, (hr_pool){pool}, (hr_node){node});
  hr__standby_set_mode(engine, (hr_node){node}, STANDBY_NONE);
  hr__market_set_state(engine, (hr_node){node}, HR_NODE_UP);
  return hr__emit(engine, &event);
}

static bool is_idle(const struct hr__engine *engine, uint32_t node) {
  return engine->cluster.nodes[node].state == HR_NODE_UP && !engine->residents.first[node];
}

/* Holds the last idle node of a pool. Returns false if the pool has none. */
static bool hold_one(struct hr__engine *engine, uint32_t pool, enum hr_status *status) {
  const struct hr__pool *self = &engine->cluster.pools[pool];
  for (uint32_t i = self->first_node.id + self->spec->nodes; i-- > self->first_node.id;)
    if (is_idle(engine, i)) {
      *status = hold(engine, pool, i);
      return true;
    }
  return false;
}

/* Returns the first held node of a pool that is not in maintenance; HR_NONE: there is none. */
static uint32_t find_held(const struct hr__engine *engine, uint32_t pool) {
  const struct hr__pool *self = &engine->cluster.pools[pool];
  if (engine->standby->pools[pool].n_in[STANDBY_HELD] == 0) return HR_NONE;
  for (uint32_t i = self->first_node.id; i < self->first_node.id + self->spec->nodes; i++)
    if (engine->standby->nodes[i].mode == STANDBY_HELD &&
        !(engine->maintenance && hr__maintenance_holds(engine, (hr_node){i})))
      return i;
  return HR_NONE;
}

/* ---- Before and after a pass ---- */

/* Marks the pools that waiting jobs accept. */
static void find_demand(struct hr__engine *engine) {
  struct hr__standby *all = engine->standby;
  uint32_t n_pools = engine->cluster.n_pools, n_found = 0;
  for (uint32_t i = 0; i < n_pools; i++) all->pools[i].has_demand = false;
  for (uint32_t k = 0; k < all->n_waiting && n_found < n_pools; k++) {
    for (uint32_t i = 0; i < n_pools; i++) {
      if (all->pools[i].has_demand || !hr__standby_suits(engine, all->waiting[k], (hr_pool){i})) continue;
      all->pools[i].has_demand = true;
      n_found++;
    }
  }
}

/* Closes idle nodes, the last ones first, until the headroom is at least `need_nw`: nodes of pools without demand and,
   with `all_pools`, of all pools. `but`: a pool that keeps its nodes; HR_NONE: none. */
static enum hr_status make_headroom(struct hr__engine *engine, int64_t need_nw, bool all_pools, uint32_t but) {
  enum hr_status status = HR_OK;
  for (int demand = 0; demand <= (int)all_pools; demand++)
    for (uint32_t i = engine->cluster.n_pools; i-- > 0;) {
      const struct standby_pool *pool = &engine->standby->pools[i];
      if (pool->has_demand != (demand == 1) || pool->busy_nw == 0 || i == but) continue;
      while (headroom_nw(engine) < need_nw && status == HR_OK)
        if (!hold_one(engine, i, &status)) break;
    }
  return status;
}

/* Opens nodes of a pool. For this, closes nodes of pools without demand or, if it `leads`, of all other pools. */
static enum hr_status open_pool(struct hr__engine *engine, uint32_t pool, bool demand, bool leads) {
  const struct standby_pool *self = &engine->standby->pools[pool];
  int64_t need_nw = self->busy_nw * node_milli(engine, pool);
  enum hr_status status = HR_OK;
  while (status == HR_OK) {
    const uint32_t node = find_held(engine, pool);
    if (node == HR_NONE) break;
    if (demand && headroom_nw(engine) < need_nw) status = make_headroom(engine, need_nw, leads, pool);
    if (status != HR_OK || headroom_nw(engine) < need_nw) break;
    status = open_node(engine, pool, node);
  }
  return status;
}

enum hr_status hr__budget_apply(struct hr__engine *engine) {
  const struct hr__standby *all = engine->standby;
  if (all->budget_nw == 0) return HR_OK;
  find_demand(engine);
  enum hr_status status = make_headroom(engine, 0, true, HR_NONE);
  if (all->turn_us == engine->view.now_us && all->turns > 0 && status == HR_OK)
    status = open_pool(engine, all->turns - 1, true, true);
  for (int demand = 1; demand >= 0; demand--)
    for (uint32_t i = 0; i < engine->cluster.n_pools && status == HR_OK; i++)
      if (all->pools[i].has_demand == (demand == 1)) status = open_pool(engine, i, demand == 1, false);
  return status;
}

void hr__budget_settle(struct hr__engine *engine) {
  struct hr__standby *all = engine->standby;
  hr_amount passed_us = engine->view.now_us - all->touched_us;
  if (all->bound_jobs > 0) {
    engine->peaks.bound_us += passed_us;
    engine->peaks.bound_job_us += passed_us * all->bound_jobs;
  }
  if (engine->speeds.level > 0) engine->peaks.capped_us += passed_us;
  all->touched_us = engine->view.now_us;
}

/* ---- Slower GPUs ---- */

static enum hr_status set_speeds(struct hr__engine *engine) {
  enum hr_status status = HR_OK;
  for (uint32_t node = 0; node < engine->cluster.n_nodes; node++)
    for (uint32_t link = engine->residents.first[node]; link && status == HR_OK;
         link = engine->residents.links[link - 1].next) {
      hr_job job = engine->residents.links[link - 1].job;
      struct hr_slice one;
      struct hr_placement placement = hr__allocation_placement(engine, job, &one);
      uint32_t speed_ppm = hr__speed_now_ppm(engine, job, &placement);
      HR__CALL_ACTIVE(engine, status, set_speed, job, speed_ppm);
    }
  return status;
}

/* Gives GPUs the first level of the power limits at which the budget suffices. At the last one it always does, because
   that power was reserved. */
enum hr_status hr__budget_limit(struct hr__engine *engine) {
  const int64_t budget_nw = engine->standby->budget_nw;
  uint32_t level = 0;
  if (!engine->standby->caps) return HR_OK;
  while (level < HR__CAP_LEVELS && hr__power_at_level(engine, level) > budget_nw) level++;
  if (engine->config->check && hr__power_at_level(engine, level) > budget_nw)
    return hr__broken(engine, "no power limit suffices for the power budget");
  if (level == engine->speeds.level) return HR_OK;
  hr__budget_settle(engine);
  enum hr_status status = hr__power_set_level(engine, level);
  return status == HR_OK ? set_speeds(engine) : status;
}

/* ---- After a pass ---- */

static bool any_refused(const struct hr__engine *engine) {
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++)
    if (engine->standby->pools[i].is_refused) return true;
  return false;
}

/* If jobs wait and no job runs, the open nodes may be unsuitable for them. Then each pool in turn gets the whole
   budget. Returns whether a pool has its turn now. */
static bool next_turn(struct hr__engine *engine) {
  struct hr__standby *all = engine->standby;
  if (all->turn_us != engine->view.now_us) all->turns = 0;
  all->turn_us = engine->view.now_us;
  if (engine->view.n_running > 0 || all->turns == engine->cluster.n_pools) return false;
  all->turns++;
  return true;
}

enum hr_status hr__budget_after(struct hr__engine *engine) {
  struct hr__standby *all = engine->standby;
  if (all->budget_nw == 0) return HR_OK;
  hr__budget_settle(engine);
  all->bound_jobs = all->n_held > 0 || any_refused(engine) ? engine->view.n_waiting : 0;
  if (all->bound_jobs == 0 || all->n_held == 0) return HR_OK;
  if (next_turn(engine)) return hr__standby_ask_for_pass(engine);
  find_demand(engine);
  int64_t left_nw = headroom_nw(engine);
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct standby_pool *pool = &all->pools[i];
    if (pool->has_demand && left_nw >= pool->busy_nw * node_milli(engine, i) && find_held(engine, i) != HR_NONE)
      return hr__standby_ask_for_pass(engine);
  }
  return HR_OK;
}

/* ---- Checked mode ---- */

enum hr_status hr__budget_check(const struct hr__engine *engine) {
  if (engine->standby->budget_nw == 0) return HR_OK;
  /* with limits, the power is above the budget until the end of the pass */
  int64_t now_nw = hr__power_at_level(engine, engine->standby->caps ? HR__CAP_LEVELS : engine->speeds.level);
  if (now_nw <= engine->standby->budget_nw) return HR_OK;
  return hr__broken(engine, "the cluster takes %.6g W, more than its power budget", (double)now_nw * 1e-9);
}
