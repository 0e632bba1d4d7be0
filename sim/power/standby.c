/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Nodes that accept no jobs because of their power, as a component of the engine: they sleep, or the power budget of
 * the cluster does not permit them to work.
 *
 * A node that has been idle for some time is suspended. When jobs wait for capacity, nodes are woken, and are up after
 * their boot. The policy still decides which nodes jobs get. The policy sees a sleeping node as off, and a waking node
 * as booting.
 *
 * After each pass of the policy, the waiting jobs are assigned to capacity: first to idle nodes and to nodes that boot,
 * and then to sleeping nodes, which are woken. Jobs that wait because of a rule of the policy (carbon, quota) wake no
 * node. A job may have enough free GPUs and still not start, because of fragmentation, topology or other resources of
 * nodes. Such a job wakes one node, if no node that it accepts is booting.
 *
 * Invariants: a node that is being suspended or asleep is off, a node that wakes up is booting, and a held node is
 * closing and has no jobs. `waiting` contains all waiting jobs.
 *
 * Sources: Slurm, power saving guide (SuspendTime, ResumeTimeout, SuspendExcNodes); queues with setup times (Gandhi,
 * Harchol-Balter and Adan, 2010).
 */

#include "base/containers.h"
#include "base/random.h"
#include "sim/engine/engine.h"
#include "sim/market/market.h"
#include "sim/power/power.h"

/* The mode of a node: awake (STANDBY_NONE), being suspended, asleep, waking up, or held by the power budget. A held
   node is closed and has no jobs, so it draws the power of an idle node. */
enum standby_mode { STANDBY_NONE, STANDBY_FALLING, STANDBY_ASLEEP, STANDBY_WAKING, STANDBY_HELD };

struct standby_node {
  int64_t due_us; /* awake: when it is suspended if it is still idle; falling or waking: when its mode ends */
  uint8_t mode;   /* enum standby_mode */
};

struct standby_pool {
  const struct hr_power_sleep *sleep; /* NULL: its nodes do not sleep */
  uint32_t n_in[STANDBY_HELD + 1];    /* number of nodes in each mode */
  /* scratch of a search: GPUs of idle and booting nodes that are not assigned to a waiting job yet */
  uint64_t room_milli;
  bool is_wanted;  /* some waiting job may be placed in the pool and does not wait because of a rule */
  bool is_refused; /* after the last pass, the budget did not permit a node to be woken */
  bool has_demand; /* budget: some waiting job may be placed in the pool */
  int64_t busy_nw; /* budget: the maximum power of a milli-GPU that works, minus the power of a free milli-GPU */
  /* budget: differences between powers of a node. wake_nw: maximum while it boots or works, minus asleep. booted_nw:
     maximum while it works, minus booting. repaired_nw: idle, minus down. A negative difference counts as 0 */
  int64_t wake_nw, booted_nw, repaired_nw;
};

struct hr__standby {
  struct standby_node *nodes; /* by node */
  struct standby_pool *pools; /* by pool */
  hr_job *waiting;            /* [n_waiting] */
  uint32_t *place;            /* by job: index in `waiting` + 1; 0: not waiting */
  uint32_t n_waiting, capacity, n_asleep, n_held;
  bool lacks_memory;
  enum hr_status status; /* first error of a search */
  int64_t budget_nw;     /* 0: none */
  bool caps;             /* the power of GPUs is limited if the cluster would otherwise exceed the budget */
  int64_t touched_us;    /* time until which the accounts of the budget are complete */
  /* the last call of next_turn, and the number of further passes that it has requested at this instant (see next_turn).
     In the first of these passes, pool 0 gets the whole budget, in the next one pool 1, and so on */
  int64_t turn_us;
  uint32_t turns;
  /* number of jobs that have been waiting since touched_us while the budget kept some node from working; 0: the budget
     has had no effect */
  uint32_t bound_jobs;
};

/* ---- Modes of nodes --------------------------------------------------------------------------------- */

static hr_pool pool_of(const struct hr__engine *engine, hr_node node) {
  return hr__cluster_pool_of(&engine->cluster, node);
}

/* Changes the mode of a node, and the counts of its pool. */
static void standby_set_mode(struct hr__engine *engine, hr_node node, enum standby_mode mode) {
  struct hr__standby *all = engine->standby;
  struct standby_pool *pool = &all->pools[pool_of(engine, node).id];
  enum standby_mode before = (enum standby_mode)all->nodes[node.id].mode;
  pool->n_in[before]--;
  pool->n_in[mode]++;
  all->n_asleep += (mode == STANDBY_ASLEEP) - (uint32_t)(before == STANDBY_ASLEEP);
  all->n_held += (mode == STANDBY_HELD) - (uint32_t)(before == STANDBY_HELD);
  all->nodes[node.id].mode = (uint8_t)mode;
}

/* Returns whether the job may be placed in the pool. The job must accept the pool. In addition, it must fit on one node
   of the pool, or there must be no acceptable pool in which it fits on one node. */
static bool standby_suits(const struct hr__engine *engine, hr_job job, hr_pool pool) {
  const struct hr_cluster *cluster = &engine->cluster;
  uint32_t accept_class = hr_cluster_accept_class(cluster, job), gpus = engine->trace->gpus[job.id];
  if (!hr_cluster_accepts(cluster, accept_class, pool)) return false;
  return cluster->pools[pool.id].spec->gpus_per_node >= gpus || !hr__cluster_has_node_for(cluster, accept_class, gpus);
}

/* ---- Power budget ----------------------------------------------------------------------------------- */

/*
 * The power budget of a cluster: its nodes, losses and other equipment together never draw more power than the budget.
 * Policies do not know the budget. Before each pass, the engine closes ("holds") idle nodes until the budget suffices
 * even if each free GPU of the open nodes gets the job that draws the most power. After a job has ended, it opens nodes
 * again. So no policy can start a job that does not fit, and the power of a job is reserved before it starts.
 *
 * Nodes are held as a whole. Nodes of pools that waiting jobs accept are opened first. To open such nodes, idle nodes
 * of other pools are closed.
 *
 * If the budget may limit the power of GPUs (cluster.power_budget_mode), the power at the last level of the power
 * limits is reserved instead (see HR__CAP_LEVELS). After each pass, all pools get the first level at which the budget
 * suffices. As a result, more nodes are open, and jobs run slower while many of them work.
 *
 * Invariant, verified in checked mode: the power of all pools is at most the budget. If the budget may limit the power
 * of GPUs, this is verified for the last level of the power limits.
 *
 * Source: power as a resource of a scheduler, as in the power capping of Slurm (layouts/power) and oversubscription of
 * the provisioned power (Fan, Weber and Barroso, ISCA 2007).
 */

/* ---- Power budget: rates ---------------------------------------------------------------------------- */

/* Returns the level of the power limits at which power is reserved. */
static uint32_t reserved_level(const struct hr_pool_spec *pool) {
  return pool->power->budget_caps ? HR__CAP_LEVELS : 0;
}

static struct hr__watts rate_of(const struct hr__engine *engine, const struct hr_pool_spec *pool, uint32_t job) {
  uint32_t fraction_ppm = hr__power_fraction(engine->trace, engine->config->classes, (hr_job){job});
  return hr__busy_rate_at(pool->power, pool->gpus_per_node, reserved_level(pool), fraction_ppm);
}

/* Returns the maximum power of a milli-GPU over all jobs. In a streamed run, the jobs are not known yet, so full power
   is assumed. */
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

static enum hr_status budget_init(struct hr__engine *engine) {
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
    pool->busy_nw = hr__larger(most_nw(engine, spec) - idle, 0);
    int64_t node_nw =
        hr__larger((idle + pool->busy_nw) * size_milli, hr__node_rate(spec->power, spec->power->boot_w).it);
    pool->booted_nw =
        hr__larger((idle + pool->busy_nw) * size_milli - hr__node_rate(spec->power, spec->power->boot_w).it, 0);
    pool->repaired_nw = hr__larger(idle * size_milli - hr__node_rate(spec->power, spec->power->down_w).it, 0);
    pool->wake_nw = hr__larger(node_nw - hr__node_rate(spec->power, spec->power->sleep.sleep_w).it, 0);
  }
  engine->peaks.budget_nw = all->budget_nw;
  engine->peaks.budget_caps = all->caps;
  return HR_OK;
}

static int64_t node_milli(const struct hr__engine *engine, uint32_t pool) {
  return (int64_t)engine->cluster.pools[pool].spec->gpus_per_node * 1000;
}

/* Returns the additional power that the GPUs in use could draw if the policy assigned them to other jobs; 0 if the
   policy never stops or resizes jobs. */
static int64_t replaced_nw(const struct hr__engine *engine, uint32_t pool) {
  const struct hr_pool_spec *spec = engine->cluster.pools[pool].spec;
  if (!(engine->abilities & (HR_POLICY_PREEMPTS | HR_POLICY_RESIZES)) || !spec->power || spec->nodes == 0) return 0;
  int64_t taken_nw, milli = hr__power_busy_milli(engine, (hr_pool){pool}, &taken_nw);
  int64_t most = hr__idle_rate(spec->power, spec->gpus_per_node).it + engine->standby->pools[pool].busy_nw;
  return milli * most - taken_nw;
}

/* Returns the part of the budget that would be left in this case: all free GPUs work, including the GPUs of waking
   nodes; the policy gives all GPUs in use to the jobs that draw the most power, if it may do so; and all nodes that are
   down are repaired and idle. A negative result means that the budget does not suffice for this case. */
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

/* Returns whether the budget permits a node of the pool to be woken. */
static bool budget_lets_wake(const struct hr__engine *engine, hr_pool pool) {
  const struct hr__standby *all = engine->standby;
  return all->budget_nw == 0 || headroom_nw(engine) >= all->pools[pool.id].wake_nw;
}

/* ---- Power budget: nodes that are held -------------------------------------------------------------- */

static enum hr_status hold(struct hr__engine *engine, uint32_t pool, uint32_t node) {
  standby_set_mode(engine, (hr_node){node}, STANDBY_HELD);
  return hr__market_close(engine, (hr_pool){pool}, (hr_node){node}, HR_REASON_POWER_BUDGET, HR_NEVER_US);
}

static enum hr_status open_node(struct hr__engine *engine, uint32_t pool, uint32_t node) {
  standby_set_mode(engine, (hr_node){node}, STANDBY_NONE);
  hr__market_set_state(engine, (hr_node){node}, HR_NODE_UP);
  return hr__emit(engine,
                  HR__NODE_EVENT(engine, HR_EVENT_NODE_UP, HR_REASON_POWER_BUDGET, (hr_pool){pool}, (hr_node){node}));
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

/* Returns the first held node of a pool that is not in maintenance; HR_NONE: none. */
static uint32_t find_held(const struct hr__engine *engine, uint32_t pool) {
  const struct hr__pool *self = &engine->cluster.pools[pool];
  if (engine->standby->pools[pool].n_in[STANDBY_HELD] == 0) return HR_NONE;
  for (uint32_t i = self->first_node.id; i < self->first_node.id + self->spec->nodes; i++)
    if (engine->standby->nodes[i].mode == STANDBY_HELD &&
        !(engine->maintenance && hr__maintenance_holds(engine, (hr_node){i})))
      return i;
  return HR_NONE;
}

/* ---- Power budget: before and after a pass ---------------------------------------------------------- */

/* Marks the pools that waiting jobs accept. */
static void find_demand(struct hr__engine *engine) {
  struct hr__standby *all = engine->standby;
  uint32_t n_pools = engine->cluster.n_pools, n_found = 0;
  for (uint32_t i = 0; i < n_pools; i++) all->pools[i].has_demand = false;
  for (uint32_t k = 0; k < all->n_waiting && n_found < n_pools; k++) {
    for (uint32_t i = 0; i < n_pools; i++) {
      if (all->pools[i].has_demand || !standby_suits(engine, all->waiting[k], (hr_pool){i})) continue;
      all->pools[i].has_demand = true;
      n_found++;
    }
  }
}

/* Closes idle nodes until headroom_nw is at least `need_nw` or no idle node may be closed. First closes nodes of pools
   without demand, and then, if `all_pools` is true, nodes of the other pools. Begins with the last node of the last
   pool. `but`: a pool of which no node is closed; HR_NONE: none. */
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

/* Opens as many held nodes of a pool as the budget permits. `demand`: whether the pool has demand. If so, idle nodes of
   pools without demand are closed, so that more nodes of this pool can be opened. `leads`: idle nodes of all other
   pools are closed for the same purpose. */
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

/* Closes idle nodes, or opens held ones, so that the budget suffices even if all free GPUs of open nodes get jobs. */
enum hr_status hr__standby_before_pass(struct hr__engine *engine) {
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

static void budget_settle(struct hr__engine *engine) {
  struct hr__standby *all = engine->standby;
  hr_amount passed_us = engine->view.now_us - all->touched_us;
  if (all->bound_jobs > 0) {
    engine->peaks.bound_us += passed_us;
    engine->peaks.bound_job_us += passed_us * all->bound_jobs;
  }
  if (engine->speeds.level > 0) engine->peaks.capped_us += passed_us;
  all->touched_us = engine->view.now_us;
}

/* ---- Power budget: slower GPUs ---------------------------------------------------------------------- */

static enum hr_status set_speeds(struct hr__engine *engine) {
  enum hr_status status = HR_OK;
  for (uint32_t node = 0; node < engine->cluster.n_nodes && status == HR_OK; node++)
    status = hr__sharing_update_node(engine, (hr_node){node}, 0);
  return status;
}

/* Sets the first level of the power limits at which the budget suffices. The budget always suffices at the last level,
   because the power at this level was reserved. */
enum hr_status hr__budget_limit(struct hr__engine *engine) {
  const int64_t budget_nw = engine->standby->budget_nw;
  uint32_t level = 0;
  if (!engine->standby->caps) return HR_OK;
  while (level < HR__CAP_LEVELS && hr__power_at_level(engine, level) > budget_nw) level++;
  if (engine->config->check && hr__power_at_level(engine, level) > budget_nw)
    return hr__broken(engine, "no power limit suffices for the power budget");
  if (level == engine->speeds.level) return HR_OK;
  budget_settle(engine);
  enum hr_status status = hr__power_set_level(engine, level);
  return status == HR_OK ? set_speeds(engine) : status;
}

/* ---- Power budget: after a pass --------------------------------------------------------------------- */

static bool any_refused(const struct hr__engine *engine) {
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++)
    if (engine->standby->pools[i].is_refused) return true;
  return false;
}

/* If jobs wait and no job runs, the open nodes may be unsuitable for the waiting jobs. Then further passes are made at
   the same instant, at most one for each pool. In each of these passes, another pool gets the whole budget. Returns
   whether such a pass must be made now. */
static bool next_turn(struct hr__engine *engine) {
  struct hr__standby *all = engine->standby;
  if (all->turn_us != engine->view.now_us) all->turns = 0;
  all->turn_us = engine->view.now_us;
  if (engine->view.n_running > 0 || all->turns == engine->cluster.n_pools) return false;
  all->turns++;
  return true;
}

/* Called after a pass. Requests another pass at this instant if a held node could be opened for waiting jobs. */
static enum hr_status budget_after(struct hr__engine *engine) {
  struct hr__standby *all = engine->standby;
  if (all->budget_nw == 0) return HR_OK;
  budget_settle(engine);
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

/* ---- Power budget: checked mode --------------------------------------------------------------------- */

static enum hr_status budget_check(const struct hr__engine *engine) {
  if (engine->standby->budget_nw == 0) return HR_OK;
  /* if the budget may limit GPUs, the power may exceed the budget until the end of the pass */
  int64_t now_nw = hr__power_at_level(engine, engine->standby->caps ? HR__CAP_LEVELS : engine->speeds.level);
  if (now_nw <= engine->standby->budget_nw) return HR_OK;
  return hr__broken(engine, "the cluster takes %.6g W, more than its power budget", (double)now_nw * 1e-9);
}

/* ---- Nodes that sleep ------------------------------------------------------------------------------- */

static enum hr_status schedule(struct hr__engine *engine, hr_node node, int64_t after_us) {
  engine->standby->nodes[node.id].due_us = engine->view.now_us + after_us;
  return hr__schedule(engine, engine->view.now_us + after_us, HR__PENDING_STANDBY, node.id);
}

uint32_t hr__standby_count(const struct hr__engine *engine, hr_pool pool, bool asleep) {
  const uint32_t *n_in = engine->standby->pools[pool.id].n_in;
  return asleep ? n_in[STANDBY_ASLEEP] : n_in[STANDBY_FALLING];
}

bool hr__standby_keeps(const struct hr__engine *engine, hr_node node) {
  uint8_t mode = engine->standby->nodes[node.id].mode;
  return mode == STANDBY_FALLING || mode == STANDBY_ASLEEP;
}

uint32_t hr__standby_held(const struct hr__engine *engine, hr_pool pool) {
  const struct standby_pool *self = &engine->standby->pools[pool.id];
  return self->n_in[STANDBY_HELD] + (self->is_refused ? self->n_in[STANDBY_ASLEEP] : 0);
}

void hr__standby_node_fails(struct hr__engine *engine, hr_node node) {
  if (engine->standby->nodes[node.id].mode == STANDBY_HELD) standby_set_mode(engine, node, STANDBY_NONE);
}

enum hr_status hr__standby_ask_for_pass(struct hr__engine *engine) {
  return hr__schedule(engine, engine->view.now_us, HR__PENDING_TIMER, 0);
}

/* ---- Nodes that sleep: waiting jobs ----------------------------------------------------------------- */

static enum hr_status add_waiting(struct hr__engine *engine, hr_job job) {
  struct hr__standby *all = engine->standby;
  if (all->place[job.id]) return HR_OK;
  if (!HR__ARRAY_HAS_ROOM(all->waiting, all->n_waiting, all->capacity)) return hr__out_of_memory(engine);
  all->waiting[all->n_waiting++] = job;
  all->place[job.id] = all->n_waiting;
  return HR_OK;
}

static void remove_waiting(struct hr__standby *all, hr_job job) {
  uint32_t place = all->place[job.id];
  if (!place) return;
  hr_job last = all->waiting[--all->n_waiting];
  all->waiting[place - 1] = last;
  all->place[last.id] = place;
  all->place[job.id] = 0;
}

static void submit(struct hr__engine *engine, hr_job job) {
  engine->standby->place[job.id] = 0;
  if (add_waiting(engine, job) != HR_OK) engine->standby->lacks_memory = true;
}

static void forget(struct hr__engine *engine, hr_job job) {
  remove_waiting(engine->standby, job);
}

static enum hr_status start(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                            int64_t run_us) {
  (void)placement, (void)run_us;
  remove_waiting(engine->standby, job);
  return HR_OK;
}

/* The nodes of a job that has left are suspended after `idle_us` if they are still idle. */
static enum hr_status stop(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                           enum hr__stop how) {
  const struct hr_power_sleep *sleep = engine->standby->pools[placement->pool.id].sleep;
  bool waits = how == HR__STOP_KEEP_ALL || how == HR__STOP_KEEP_SAVED;
  enum hr_status status = waits ? add_waiting(engine, job) : HR_OK;
  for (uint32_t i = 0; sleep && i < placement->n_slices && status == HR_OK; i++) {
    hr_node node = placement->slices[i].node;
    if (engine->standby->nodes[node.id].due_us != engine->view.now_us + sleep->idle_us)
      status = schedule(engine, node, sleep->idle_us);
  }
  return status;
}

/* Returns whether more nodes would not help a job: it waits because of a rule of the policy, or it does not wait. */
static bool is_held(enum hr_wait_reason_kind reason) {
  return reason == HR_WAIT_REASON_CARBON || reason == HR_WAIT_REASON_QUOTA || reason == HR_WAIT_REASON_NONE;
}

/* ---- Nodes that sleep: nodes that wake up ----------------------------------------------------------- */

static int64_t boot_us(const struct hr__engine *engine, hr_node node) {
  const struct hr_power_sleep *sleep = engine->standby->pools[pool_of(engine, node).id].sleep;
  struct hr__stream stream;
  hr__stream_init(&stream, engine->config->seed, HR__PURPOSE_BOOT, node.id, 0);
  hr__stream_skip_to_life(&stream, engine->cluster.nodes[node.id].launches);
  return hr__duration_draw(&sleep->boot, &stream);
}

static enum hr_status wake(struct hr__engine *engine, hr_node node) {
  standby_set_mode(engine, node, STANDBY_WAKING);
  hr__market_set_state(engine, node, HR_NODE_BOOTING);
  engine->cluster.nodes[node.id].since_us = engine->view.now_us;
  engine->cluster.nodes[node.id].launches++;
  engine->pool_accounting[pool_of(engine, node).id].wakes++;
  hr__notify_observers(engine, HR__NODE_EVENT(engine, HR_EVENT_ACQUIRE, HR_REASON_AWAKE, pool_of(engine, node), node));
  return schedule(engine, node, boot_us(engine, node));
}

/* Wakes the first sleeping nodes of the pool, at most `count`. Returns the number of nodes that were woken. */
static uint32_t wake_nodes(struct hr__engine *engine, hr_pool pool, uint32_t count, enum hr_status *status) {
  const struct hr__standby *all = engine->standby;
  uint32_t first = engine->cluster.pools[pool.id].first_node.id, woken = 0;
  uint32_t end = first + engine->cluster.pools[pool.id].spec->nodes;
  for (uint32_t i = first; i < end && woken < count && all->pools[pool.id].n_in[STANDBY_ASLEEP]; i++) {
    if (all->nodes[i].mode != STANDBY_ASLEEP || (engine->faults && !hr__faults_repaired(engine, (hr_node){i})) ||
        (engine->maintenance && hr__maintenance_holds(engine, (hr_node){i})))
      continue;
    if (!budget_lets_wake(engine, pool)) {
      engine->standby->pools[pool.id].is_refused = true;
      break;
    }
    *status = wake(engine, (hr_node){i});
    if (*status != HR_OK) break;
    woken++;
  }
  return woken;
}

/* Assigns capacity of a pool to a waiting job. If the capacity does not suffice but enough nodes sleep, wakes nodes for
   the job. Returns whether the job fits, or at least one node was woken for it. */
static bool make_room(struct hr__engine *engine, hr_pool number, uint64_t asked_milli, enum hr_status *status) {
  struct standby_pool *pool = &engine->standby->pools[number.id];
  uint64_t size_milli = (uint64_t)engine->cluster.pools[number.id].spec->gpus_per_node * 1000;
  if (asked_milli <= pool->room_milli) {
    pool->room_milli -= asked_milli;
    return true;
  }
  uint64_t lacks = size_milli ? (asked_milli - pool->room_milli + size_milli - 1) / size_milli : 1;
  if (lacks > pool->n_in[STANDBY_ASLEEP]) return false;
  uint32_t woken = wake_nodes(engine, number, (uint32_t)lacks, status);
  if (woken < lacks) return woken > 0;
  pool->room_milli += woken * size_milli - asked_milli;
  return true;
}

/* Marks the pools in which a waiting job may be placed, and wakes nodes for it if necessary. */
static void serve_job(struct hr__engine *engine, hr_job job) {
  struct hr__standby *all = engine->standby;
  struct hr_wait_reason wait;
  hr_view_wait_reason(&engine->view, job, &wait);
  if (is_held(wait.reason)) return;
  uint64_t asked_milli = hr_cluster_asked_milli(&engine->cluster, job);
  bool blocked = wait.reason == HR_WAIT_REASON_FRAGMENTS || wait.reason == HR_WAIT_REASON_TOPOLOGY ||
                 wait.reason == HR_WAIT_REASON_NODE_RESOURCES;
  bool served = false, boots = false;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    if (!standby_suits(engine, job, (hr_pool){i})) continue;
    all->pools[i].is_wanted = true;
    if (!served && all->status == HR_OK) served = make_room(engine, (hr_pool){i}, asked_milli, &all->status);
    boots = boots || engine->cluster.pools[i].n_in[HR_NODE_BOOTING] > 0;
  }
  for (uint32_t i = 0; i < engine->cluster.n_pools && blocked && !boots && all->status == HR_OK; i++)
    if (standby_suits(engine, job, (hr_pool){i})) boots = wake_nodes(engine, (hr_pool){i}, 1, &all->status) > 0;
}

/* Wakes nodes until `min_awake` nodes are up, closing or booting. */
static void keep_awake(struct hr__engine *engine, hr_pool number) {
  const struct standby_pool *pool = &engine->standby->pools[number.id];
  const struct hr__pool *self = &engine->cluster.pools[number.id];
  uint32_t awake = self->n_in[HR_NODE_UP] + self->n_in[HR_NODE_CLOSING] + self->n_in[HR_NODE_BOOTING];
  if (pool->sleep && awake < pool->sleep->min_awake)
    wake_nodes(engine, number, pool->sleep->min_awake - awake, &engine->standby->status);
}

/* Returns whether the remaining waiting jobs must be examined. This is necessary in two cases: some node sleeps and may
   be woken, or it is not known yet whether jobs wait for some pool with nodes that can sleep (`is_wanted` is false). */
static bool must_search(const struct hr__engine *engine) {
  const struct hr__standby *all = engine->standby;
  if (all->n_asleep) return true;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++)
    if (all->pools[i].sleep && !all->pools[i].is_wanted) return true;
  return false;
}

enum hr_status hr__standby_after_pass(struct hr__engine *engine) {
  struct hr__standby *all = engine->standby;
  if (all->lacks_memory) return hr__out_of_memory(engine);
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct hr__pool *pool = &engine->cluster.pools[i];
    uint32_t gpus = pool->spec->gpus_per_node;
    all->pools[i].is_wanted = all->pools[i].is_refused = false;
    uint32_t idle = gpus && pool->index ? hr_free_index_count(pool->index, gpus) : 0;
    all->pools[i].room_milli = (uint64_t)(idle + pool->n_in[HR_NODE_BOOTING]) * gpus * 1000;
    if (all->n_asleep) keep_awake(engine, (hr_pool){i});
  }
  for (uint32_t i = 0; i < all->n_waiting && must_search(engine) && all->status == HR_OK; i++)
    serve_job(engine, all->waiting[i]);
  if (all->status == HR_OK) all->status = budget_after(engine);
  return all->status == HR_OK ? hr__budget_limit(engine) : all->status; /* a node that was woken draws more power */
}

/* ---- Nodes that sleep: nodes that fall asleep ------------------------------------------------------- */

static enum hr_status fall_asleep(struct hr__engine *engine, hr_pool pool, hr_node node) {
  const struct hr_power_sleep *sleep = engine->standby->pools[pool.id].sleep;
  if (engine->cluster.nodes[node.id].state == HR_NODE_UP) hr__market_set_state(engine, node, HR_NODE_CLOSING);
  standby_set_mode(engine, node, STANDBY_FALLING);
  engine->pool_accounting[pool.id].sleeps++;
  enum hr_status status = hr__market_take_down(engine, pool, node, HR_REASON_ASLEEP);
  return status == HR_OK ? schedule(engine, node, sleep->suspend_us) : status;
}

/* Suspends a node that has been idle for `idle_us`. While jobs wait for its pool, the node remains awake, unless the
   power budget holds it. At least `min_awake` nodes of the pool remain up or closing. */
static enum hr_status end_idle(struct hr__engine *engine, hr_pool pool, hr_node node) {
  enum { RETRY_US = 1000000 };
  const struct standby_pool *self = &engine->standby->pools[pool.id];
  const struct hr__pool *nodes = &engine->cluster.pools[pool.id];
  bool is_held_node = engine->standby->nodes[node.id].mode == STANDBY_HELD;
  if (engine->residents.first[node.id] || (nodes->n_in[HR_NODE_UP] + nodes->n_in[HR_NODE_CLOSING] == 0)) return HR_OK;
  if (engine->cluster.nodes[node.id].state != HR_NODE_UP && !is_held_node) return HR_OK;
  if (self->is_wanted && !is_held_node)
    return schedule(engine, node, self->sleep->idle_us > RETRY_US ? self->sleep->idle_us : RETRY_US);
  if (nodes->n_in[HR_NODE_UP] + nodes->n_in[HR_NODE_CLOSING] <= self->sleep->min_awake) return HR_OK;
  return fall_asleep(engine, pool, node);
}

static enum hr_status end_fall(struct hr__engine *engine, hr_pool pool, hr_node node) {
  if (engine->power) hr__power_before_node(engine, pool);
  standby_set_mode(engine, node, STANDBY_ASLEEP);
  if (engine->power) hr__power_after_node(engine, pool);
  return engine->standby->pools[pool.id].is_wanted ? hr__standby_ask_for_pass(engine) : HR_OK;
}

static enum hr_status advance(struct hr__engine *engine, struct hr__pending pending) {
  hr_node node = {hr__pending_entity(pending)};
  hr_pool pool = pool_of(engine, node);
  const struct standby_node *self = &engine->standby->nodes[node.id];
  if (self->due_us != engine->view.now_us) return HR_OK;
  switch ((enum standby_mode)self->mode) {
  case STANDBY_NONE:
  case STANDBY_HELD:
    return end_idle(engine, pool, node);
  case STANDBY_FALLING:
    return end_fall(engine, pool, node);
  case STANDBY_WAKING:
    standby_set_mode(engine, node, STANDBY_NONE);
    return hr__market_return(engine, pool, node, HR_REASON_AWAKE);
  case STANDBY_ASLEEP:
    break;
  }
  return HR_OK;
}

static enum hr_status node_up(struct hr__engine *engine, hr_pool pool, hr_node node) {
  const struct hr_power_sleep *sleep = engine->standby->pools[pool.id].sleep;
  return sleep ? schedule(engine, node, sleep->idle_us) : HR_OK;
}

/* A node that goes down while it is waking up or held leaves this mode. It comes up after its repair. */
static void node_down(struct hr__engine *engine, hr_pool pool, hr_node node) {
  (void)pool;
  uint8_t mode = engine->standby->nodes[node.id].mode;
  if (mode == STANDBY_WAKING || mode == STANDBY_HELD) standby_set_mode(engine, node, STANDBY_NONE);
}

/* ---- Nodes that sleep: start and end of a run ------------------------------------------------------- */

static const struct hr_power_sleep *sleep_of(const struct hr_pool_spec *pool) {
  return pool->nodes > 0 && pool->power && pool->power->sleep.idle_us > 0 ? &pool->power->sleep : NULL;
}

static bool is_wanted_by(const struct hr_cluster_spec *cluster) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (sleep_of(&cluster->pools[i]) || hr_pool_power_budget_w(&cluster->pools[i]) > 0) return true;
  return false;
}

/* Called before the `init` functions of the components that change the power of nodes. */
static enum hr_status init(struct hr__engine *engine) {
  const struct hr_cluster *cluster = &engine->cluster;
  if (!cluster->nodes || !is_wanted_by(engine->config->cluster)) return HR_OK;
  struct hr__standby *all;
  if (!HR__ARENA_ARRAY(&engine->arena, all, 1) || !HR__ARENA_ARRAY(&engine->arena, all->nodes, cluster->n_nodes) ||
      !HR__ARENA_ARRAY(&engine->arena, all->pools, cluster->n_pools))
    return hr__out_of_memory(engine);
  all->place = hr_arena_alloc_by_job(&engine->arena, engine->trace->n_jobs, sizeof *all->place);
  if (!all->place) return hr__out_of_memory(engine);
  for (uint32_t i = 0; i < cluster->n_nodes; i++) all->nodes[i].due_us = HR_NEVER_US;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    all->pools[i].sleep = sleep_of(cluster->pools[i].spec);
    all->pools[i].n_in[STANDBY_NONE] = cluster->pools[i].spec->nodes;
  }
  engine->standby = all;
  return HR_OK;
}

static enum hr_status begin(struct hr__engine *engine) {
  enum hr_status status = budget_init(engine);
  for (uint32_t i = 0; i < engine->cluster.n_nodes && status == HR_OK; i++) {
    hr_pool pool = pool_of(engine, (hr_node){i});
    if (engine->cluster.nodes[i].state == HR_NODE_UP) status = node_up(engine, pool, (hr_node){i});
  }
  return status;
}

static void settle(struct hr__engine *engine) {
  budget_settle(engine);
}

static void close(struct hr__engine *engine) {
  if (engine->standby) free(engine->standby->waiting);
}

/* ---- Nodes that sleep: checked mode ----------------------------------------------------------------- */

static enum hr_status check(const struct hr__engine *engine, const struct hr__running *running) {
  const struct hr__standby *all = engine->standby;
  static const enum hr_node_state states[] = {[STANDBY_FALLING] = HR_NODE_OFF,
                                              [STANDBY_ASLEEP] = HR_NODE_OFF,
                                              [STANDBY_WAKING] = HR_NODE_BOOTING,
                                              [STANDBY_HELD] = HR_NODE_CLOSING};
  for (uint32_t i = 0; i < engine->cluster.n_nodes; i++) {
    uint8_t mode = all->nodes[i].mode;
    if (mode != STANDBY_NONE && engine->cluster.nodes[i].state != states[mode])
      return hr__broken(engine, "node %" PRIu32 ": its state is not that of its sleep", i);
    if (mode == STANDBY_HELD && engine->residents.first[i])
      return hr__broken(engine, "node %" PRIu32 " has a job although the power budget holds it", i);
  }
  for (uint32_t i = 0; i < all->n_waiting && running->every_job; i++)
    if (engine->state[all->waiting[i].id] != HR_JOB_WAITING)
      return hr__broken(engine, "job %" PRIu32 " does not wait", all->waiting[i].id);
  return budget_check(engine);
}

const struct hr__component hr__component_standby = {
    .disturbs_jobs = true,
    .is_endless = true,
    .init = init,
    .part = offsetof(struct hr__engine, standby),
    .begin = begin,
    .submit = submit,
    .start = start,
    .stop = stop,
    .forget = forget,
    .leave = forget,
    .node_up = node_up,
    .node_down = node_down,
    .kinds = 1u << HR__PENDING_STANDBY,
    .advance = advance,
    .settle = settle,
    .close = close,
    .check = check,
};
