/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Idle nodes that sleep, as a component of the engine. A node that has been idle for some time is suspended. When jobs
 * wait for capacity, nodes are woken, and are up after their boot. The policy still decides which nodes jobs get: for
 * it, a sleeping node is off, and a waking node is booting.
 *
 * After each pass of the policy, the waiting jobs are assigned to idle nodes, nodes that boot, and then to sleeping
 * nodes, which are woken. Jobs that a rule holds (carbon, quota) wake no node. A job that seems to fit but does not
 * start, because of fragmentation or topology, wakes one node at a time.
 *
 * Invariants: a node that falls asleep or sleeps is off, a node that wakes is booting, and a held node is closing
 * without jobs. The list of waiting jobs has all jobs in this state.
 *
 * Sources: Slurm, power saving guide (SuspendTime, ResumeTimeout, SuspendExcNodes); queues with setup times (Gandhi,
 * Harchol-Balter and Adan, 2010).
 */

#include "sim/power/standby.h"
#include "base/containers.h"
#include "base/random.h"
#include "sim/market/market.h"

static hr_pool pool_of(const struct hr__engine *engine, hr_node node) {
  return hr__cluster_pool_of(&engine->cluster, node);
}

void hr__standby_set_mode(struct hr__engine *engine, hr_node node, enum standby_mode mode) {
  struct hr__standby *all = engine->standby;
  struct standby_pool *pool = &all->pools[pool_of(engine, node).id];
  enum standby_mode before = (enum standby_mode)all->nodes[node.id].mode;
  pool->n_in[before]--;
  pool->n_in[mode]++;
  all->n_asleep += (mode == STANDBY_ASLEEP) - (uint32_t)(before == STANDBY_ASLEEP);
  all->n_held += (mode == STANDBY_HELD) - (uint32_t)(before == STANDBY_HELD);
  all->nodes[node.id].mode = (uint8_t)mode;
}

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
  if (engine->standby->nodes[node.id].mode == STANDBY_HELD) hr__standby_set_mode(engine, node, STANDBY_NONE);
}

enum hr_status hr__standby_ask_for_pass(struct hr__engine *engine) {
  return hr__schedule(engine, engine->view.now_us, HR__PENDING_TIMER, 0);
}

/* ---- Waiting jobs ---- */

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

/* The nodes of a job that has left may fall asleep. */
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

/* Whether a rule holds the job, so that more nodes would not help. */
static bool is_held(enum hr_wait_reason_kind reason) {
  return reason == HR_WAIT_REASON_CARBON || reason == HR_WAIT_REASON_QUOTA || reason == HR_WAIT_REASON_NONE;
}

/* ---- Nodes that wake up ---- */

static int64_t boot_us(const struct hr__engine *engine, hr_node node) {
  const struct hr_power_sleep *sleep = engine->standby->pools[pool_of(engine, node).id].sleep;
  struct hr__stream stream;
  hr__stream_init(&stream, engine->config->seed, HR__PURPOSE_BOOT, node.id, 0);
  hr__stream_skip_to_life(&stream, engine->cluster.nodes[node.id].launches);
  return hr__duration_draw(&sleep->boot, &stream);
}

static enum hr_status wake(struct hr__engine *engine, hr_node node) {
  hr__standby_set_mode(engine, node, STANDBY_WAKING);
  hr__market_set_state(engine, node, HR_NODE_BOOTING);
  engine->cluster.nodes[node.id].since_us = engine->view.now_us;
  engine->cluster.nodes[node.id].launches++;
  engine->pool_accounting[pool_of(engine, node).id].wakes++;
  struct hr_event event = hr__node_event(engine, HR_EVENT_ACQUIRE, HR_REASON_AWAKE, pool_of(engine, node), node);
  hr__notify_observers(engine, &event);
  return schedule(engine, node, boot_us(engine, node));
}

/* Wakes up to `count` nodes of the pool, the first ones. Returns their number. */
static uint32_t wake_nodes(struct hr__engine *engine, hr_pool pool, uint32_t count, enum hr_status *status) {
  const struct hr__standby *all = engine->standby;
  uint32_t first = engine->cluster.pools[pool.id].first_node.id, woken = 0;
  uint32_t end = first + engine->cluster.pools[pool.id].spec->nodes;
  for (uint32_t i = first; i < end && woken < count && all->pools[pool.id].n_in[STANDBY_ASLEEP]; i++) {
    if (all->nodes[i].mode != STANDBY_ASLEEP || (engine->faults && !hr__faults_repaired(engine, (hr_node){i})) ||
        (engine->maintenance && hr__maintenance_holds(engine, (hr_node){i})))
      continue;
    if (!hr__budget_lets_wake(engine, pool)) {
      engine->standby->pools[pool.id].is_refused = true;
      break;
    }
    *status = wake(engine, (hr_node){i});
    if (*status != HR_OK) break;
    woken++;
  }
  return woken;
}

/* Finds capacity for a job in a pool. Wakes nodes for it if enough nodes can be woken. */
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

bool hr__standby_suits(const struct hr__engine *engine, hr_job job, hr_pool pool) {
  const struct hr_cluster *cluster = &engine->cluster;
  uint32_t accept_class = hr_cluster_accept_class(cluster, job), gpus = engine->trace->gpus[job.id];
  if (!hr_cluster_accepts(cluster, accept_class, pool)) return false;
  if (cluster->pools[pool.id].spec->gpus_per_node >= gpus) return true;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->pools[i].spec->gpus_per_node >= gpus && hr_cluster_accepts(cluster, accept_class, (hr_pool){i}))
      return false;
  return true;
}

/* Marks the pools that suit a waiting job, and wakes nodes for it. */
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
    if (!hr__standby_suits(engine, job, (hr_pool){i})) continue;
    all->pools[i].is_wanted = true;
    if (!served && all->status == HR_OK) served = make_room(engine, (hr_pool){i}, asked_milli, &all->status);
    boots = boots || engine->cluster.pools[i].n_in[HR_NODE_BOOTING] > 0;
  }
  for (uint32_t i = 0; i < engine->cluster.n_pools && blocked && !boots && all->status == HR_OK; i++)
    if (hr__standby_suits(engine, job, (hr_pool){i})) boots = wake_nodes(engine, (hr_pool){i}, 1, &all->status) > 0;
}

/* Wakes nodes until `min_awake` nodes are awake. */
static void keep_awake(struct hr__engine *engine, hr_pool number) {
  const struct standby_pool *pool = &engine->standby->pools[number.id];
  const struct hr__pool *self = &engine->cluster.pools[number.id];
  uint32_t awake = self->n_in[HR_NODE_UP] + self->n_in[HR_NODE_CLOSING] + self->n_in[HR_NODE_BOOTING];
  if (pool->sleep && awake < pool->sleep->min_awake)
    wake_nodes(engine, number, pool->sleep->min_awake - awake, &engine->standby->status);
}

/* Whether the remaining waiting jobs must be examined: some node sleeps, or for some pool it is not known yet whether a
   job wants it. */
static bool must_search(const struct hr__engine *engine) {
  const struct hr__standby *all = engine->standby;
  if (all->n_asleep) return true;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++)
    if (all->pools[i].sleep && !all->pools[i].is_wanted) return true;
  return false;
}

enum hr_status hr__standby_before_pass(struct hr__engine *engine) {
  return hr__budget_apply(engine);
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
  if (all->status == HR_OK) all->status = hr__budget_after(engine);
  return all->status == HR_OK ? hr__budget_limit(engine) : all->status; /* a node that was woken draws more power */
}

/* ---- Nodes that fall asleep ---- */

static enum hr_status fall_asleep(struct hr__engine *engine, hr_pool pool, hr_node node) {
  const struct hr_power_sleep *sleep = engine->standby->pools[pool.id].sleep;
  if (engine->cluster.nodes[node.id].state == HR_NODE_UP) hr__market_set_state(engine, node, HR_NODE_CLOSING);
  hr__standby_set_mode(engine, node, STANDBY_FALLING);
  engine->pool_accounting[pool.id].sleeps++;
  enum hr_status status = hr__market_take_down(engine, pool, node, HR_REASON_ASLEEP);
  return status == HR_OK ? schedule(engine, node, sleep->suspend_us) : status;
}

/* A node has been idle for `idle_us`. While jobs wait for its pool, it remains awake. */
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
  hr__standby_set_mode(engine, node, STANDBY_ASLEEP);
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
    hr__standby_set_mode(engine, node, STANDBY_NONE);
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

/* A node that failed while it booted or was held comes up after its repair. */
static void node_down(struct hr__engine *engine, hr_pool pool, hr_node node) {
  (void)pool;
  uint8_t mode = engine->standby->nodes[node.id].mode;
  if (mode == STANDBY_WAKING || mode == STANDBY_HELD) hr__standby_set_mode(engine, node, STANDBY_NONE);
}

/* ---- Start and end of a run ---- */

static const struct hr_power_sleep *sleep_of(const struct hr_pool_spec *pool) {
  return pool->nodes > 0 && pool->power && pool->power->sleep.idle_us > 0 ? &pool->power->sleep : NULL;
}

static bool is_wanted_by(const struct hr_cluster_spec *cluster) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (sleep_of(&cluster->pools[i]) || hr_pool_power_budget_w(&cluster->pools[i]) > 0) return true;
  return false;
}

/* Runs before the components that change the power of nodes. */
static enum hr_status init(struct hr__engine *engine) {
  const struct hr_cluster *cluster = &engine->cluster;
  if (!cluster->nodes || !is_wanted_by(engine->config->cluster)) return HR_OK;
  struct hr__standby *all = hr_arena_alloc(&engine->arena, sizeof *all);
  if (!all) return hr__out_of_memory(engine);
  all->nodes = hr_arena_alloc(&engine->arena, cluster->n_nodes * sizeof *all->nodes);
  all->pools = hr_arena_alloc(&engine->arena, cluster->n_pools * sizeof *all->pools);
  all->place = hr_arena_alloc_by_job(&engine->arena, engine->trace->n_jobs, sizeof *all->place);
  if (!all->nodes || !all->pools || !all->place) return hr__out_of_memory(engine);
  for (uint32_t i = 0; i < cluster->n_nodes; i++) all->nodes[i].due_us = HR_NEVER_US;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    all->pools[i].sleep = sleep_of(cluster->pools[i].spec);
    all->pools[i].n_in[STANDBY_NONE] = cluster->pools[i].spec->nodes;
  }
  engine->standby = all;
  return HR_OK;
}

static bool is_needed(const struct hr__engine *engine) {
  return engine->standby;
}

static enum hr_status begin(struct hr__engine *engine) {
  enum hr_status status = hr__budget_init(engine);
  for (uint32_t i = 0; i < engine->cluster.n_nodes && status == HR_OK; i++) {
    hr_pool pool = pool_of(engine, (hr_node){i});
    if (engine->cluster.nodes[i].state == HR_NODE_UP) status = node_up(engine, pool, (hr_node){i});
  }
  return status;
}

static void settle(struct hr__engine *engine) {
  hr__budget_settle(engine);
}

static void close(struct hr__engine *engine) {
  if (engine->standby) free(engine->standby->waiting);
}

/* ---- Checked mode ---- */

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
  return hr__budget_check(engine);
}

const struct hr__component hr__component_standby = {
    .disturbs_jobs = true,
    .is_endless = true,
    .init = init,
    .is_needed = is_needed,
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
