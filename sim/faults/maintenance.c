/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Nodes that are not available or not at full speed for reasons other than failures: maintenance, spare nodes and slow
 * nodes. Each of the three is a component of the engine. The rules are in headroom/unstable/faults.h.
 *
 * Maintenance. A window (struct hr_maintenance) is a maintenance of all nodes of a pool. It may be repeated. The nodes
 * are served in groups, one group after another. A window is in one of four states:
 *
 * - waiting: the window waits for its next time.
 * - blocked: the window is due, but another window of the pool is active, or too many nodes are not up.
 * - draining: the nodes of the present group are closed until the work on them begins.
 * - working: the present group is being maintained; its nodes are "in work".
 *
 * A window is active if it is draining or working. At most one window of a pool is active. A pending event of a window
 * is outdated, and ignored, if its time is not due_us.
 *
 * Invariants: `held` of a node is set while its group is draining or in work. A node with `held` is not up, and a node
 * in work is off. `n_planned` of a pool is the number of its nodes in work that have not failed.
 *
 * Source of the drain with a budget: kubectl drain and PodDisruptionBudget. A failure reduces the budget but is never
 * refused. Source of the rule for jobs: a job may start on nodes of a MAINT reservation only if its time limit ends
 * before the reservation begins (doc/html/reservations of SchedMD/slurm).
 */

#include "base/containers.h"
#include "base/random.h"
#include "headroom/cluster.h"
#include "headroom/unstable/faults.h"
#include "sim/engine/engine.h"

#include <stdlib.h>

/* ---- Maintenance: planned times --------------------------------------------------------------------- */

/* According to the plan, the maintenance of group g of a window begins at `start + g * (lead + duration)` and takes
   `duration`. The span of a window is the time for all its groups, each with its lead time. If a window is repeated,
   all its times are repeated after each period. */

int64_t hr_maintenance_span_us(const struct hr_maintenance *window, uint32_t nodes) {
  const uint32_t n_groups = nodes ? (nodes - 1) / window->group_nodes + 1 : 0;
  return n_groups * (window->lead_us + window->duration_us);
}

static struct hr_maintenance_time next_of(const struct hr_maintenance *window, uint32_t node, int64_t after_us) {
  int64_t begin_us = window->start_us + (node / window->group_nodes) * (window->lead_us + window->duration_us);
  int64_t late_us = after_us - (begin_us + window->duration_us);
  if (late_us >= 0 && !window->repeat_us) return (struct hr_maintenance_time){HR_NEVER_US, HR_NEVER_US, 0};
  if (late_us >= 0) begin_us += (late_us / window->repeat_us + 1) * window->repeat_us;
  return (struct hr_maintenance_time){begin_us, begin_us + window->duration_us, 0};
}

struct hr_maintenance_time hr_maintenance_next(const struct hr_pool_spec *pool, uint32_t node, int64_t after_us) {
  struct hr_maintenance_time first = {HR_NEVER_US, HR_NEVER_US, 0};
  for (uint32_t i = 0; i < pool->n_maintenance; i++) {
    struct hr_maintenance_time next = next_of(&pool->maintenance[i], node, after_us);
    if (next.begin_us >= first.begin_us) continue;
    first = next;
    first.window = i;
  }
  return first;
}

struct hr_maintenance_time hr_maintenance_ahead(const struct hr_pool_spec *pool, uint32_t node, int64_t now_us,
                                                int64_t limit_us) {
  struct hr_maintenance_time first = {HR_NEVER_US, HR_NEVER_US, 0};
  for (uint32_t i = 0; i < pool->n_maintenance; i++) {
    const struct hr_maintenance *window = &pool->maintenance[i];
    if (window->repeat_us && limit_us > window->repeat_us - window->duration_us) continue;
    struct hr_maintenance_time next = next_of(window, node, now_us);
    if (next.begin_us >= first.begin_us || next.begin_us - now_us >= limit_us) continue;
    first = next;
    first.window = i;
  }
  return first;
}

/* ---- Maintenance: overlaps -------------------------------------------------------------------------- */

/* Returns whether the interval `once` overlaps the interval `other` or one of its repetitions. `_at`: the start of an
   interval. `_us`: its length. `repeat_us`: the period of the repetitions; 0: none. */
static bool meets(int64_t once_at, int64_t once_us, int64_t other_at, int64_t other_us, int64_t repeat_us) {
  int64_t last = 0; /* the last repetition that begins before the end of `once` */
  if (repeat_us && once_at + once_us > other_at) last = (once_at + once_us - 1 - other_at) / repeat_us;
  other_at += last * repeat_us;
  return other_at < once_at + once_us && once_at < other_at + other_us;
}

static bool overlap(const struct hr_maintenance *a, const struct hr_maintenance *b, uint32_t nodes) {
  int64_t a_us = hr_maintenance_span_us(a, nodes), b_us = hr_maintenance_span_us(b, nodes);
  int64_t a_at = a->start_us - a->lead_us, b_at = b->start_us - b->lead_us;
  if (!a->repeat_us) return meets(a_at, a_us, b_at, b_us, b->repeat_us);
  if (!b->repeat_us) return meets(b_at, b_us, a_at, a_us, a->repeat_us);
  int64_t period = hr__common_divisor(a->repeat_us, b->repeat_us), ahead = (b_at - a_at) % period;
  if (ahead < 0) ahead += period;
  return ahead < a_us || period - ahead < b_us;
}

uint32_t hr_maintenance_overlap(const struct hr_pool_spec *pool, uint32_t *other) {
  for (uint32_t i = 0; i < pool->n_maintenance; i++) {
    const struct hr_maintenance *window = &pool->maintenance[i];
    *other = i;
    if (window->repeat_us && hr_maintenance_span_us(window, pool->nodes) > window->repeat_us) return i;
    for (*other = 0; *other < i; ++*other)
      if (overlap(window, &pool->maintenance[*other], pool->nodes)) return i;
  }
  return HR_NONE;
}

/* ---- Maintenance: memory and names ------------------------------------------------------------------ */

void hr_maintenance_destroy(struct hr_maintenance *windows, uint32_t n_windows) {
  for (uint32_t i = 0; windows && i < n_windows; i++) free(windows[i].name);
  free(windows);
}

/* ---- Maintenance: state ----------------------------------------------------------------------------- */

enum window_state { WINDOW_WAITS, WINDOW_BLOCKED, WINDOW_DRAINS, WINDOW_WORKS };

struct service_window {
  const struct hr_maintenance *spec;
  hr_pool pool;
  int64_t planned_us; /* when the work on the first group should begin, in the present repetition */
  int64_t due_us;     /* when the present group is closed, or its work begins or ends; HR_NEVER_US: unknown */
  int64_t work_us;    /* when the work on the present group may begin */
  uint32_t group;     /* the present group */
  uint8_t state;      /* enum window_state */
};

struct pool_plan {
  uint32_t first_window, n_windows;
  uint32_t active;                /* the active window; HR_NONE: none */
  uint32_t n_planned, n_draining; /* number of nodes in work that have not failed, and of nodes in a draining group */
  int64_t touched_us;             /* time until which the accounts of the pool are complete */
};

struct hr__maintenance {
  struct service_window *windows;
  uint32_t n_windows;
  struct pool_plan *pools; /* by pool */
  uint8_t *held;           /* by node: its group is closed or in work */
};

bool hr__maintenance_holds(const struct hr__engine *engine, hr_node node) {
  return engine->maintenance->held[node.id];
}

uint32_t hr__maintenance_nodes(const struct hr__engine *engine, hr_pool pool, uint32_t *window) {
  const struct hr__maintenance *all = engine->maintenance;
  const struct pool_plan *plan = &all->pools[pool.id];
  *window = 0;
  if (plan->active == HR_NONE) return 0;
  *window = plan->active - plan->first_window;
  uint32_t count = 0, first = engine->cluster.pools[pool.id].first_node.id;
  for (uint32_t i = first; i < first + engine->cluster.pools[pool.id].spec->nodes; i++) count += all->held[i];
  return count;
}

/* ---- Maintenance: accounts -------------------------------------------------------------------------- */

static void settle_pool(struct hr__engine *engine, hr_pool pool) {
  struct pool_plan *plan = &engine->maintenance->pools[pool.id];
  hr_amount passed_us = engine->view.now_us - plan->touched_us;
  engine->pool_accounting[pool.id].planned_us += plan->n_planned * passed_us;
  engine->pool_accounting[pool.id].draining_us += plan->n_draining * passed_us;
  plan->touched_us = engine->view.now_us;
}

static void settle(struct hr__engine *engine) {
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) settle_pool(engine, (hr_pool){i});
}

static bool is_in_work(const struct hr__engine *engine, hr_node node, hr_pool pool) {
  const struct hr__maintenance *all = engine->maintenance;
  uint32_t active = all->pools[pool.id].active;
  return all->held[node.id] && active != HR_NONE && all->windows[active].state == WINDOW_WORKS;
}

void hr__maintenance_node_fails(struct hr__engine *engine, hr_node node, bool begins) {
  hr_pool pool = hr__cluster_pool_of(&engine->cluster, node);
  if (!is_in_work(engine, node, pool)) return;
  settle_pool(engine, pool);
  engine->maintenance->pools[pool.id].n_planned += begins ? (uint32_t)-1 : 1;
}

/* ---- Maintenance: groups ---------------------------------------------------------------------------- */

/* The nodes of the present group of a window: from `first` to `end` - 1. */
struct node_group {
  uint32_t first, end;
};

static struct node_group group_of(const struct hr__engine *engine, const struct service_window *window) {
  const struct hr__pool *pool = &engine->cluster.pools[window->pool.id];
  uint32_t nodes = pool->spec->nodes, first = window->group * window->spec->group_nodes;
  uint32_t count = nodes - first < window->spec->group_nodes ? nodes - first : window->spec->group_nodes;
  return (struct node_group){pool->first_node.id + first, pool->first_node.id + first + count};
}

static enum hr_status schedule(struct hr__engine *engine, struct service_window *window, int64_t at_us,
                               enum hr__pending_kind kind) {
  window->due_us = at_us > engine->view.now_us ? at_us : engine->view.now_us;
  return hr__schedule(engine, window->due_us, kind, (uint32_t)(window - engine->maintenance->windows));
}

static bool has_jobs(const struct hr__engine *engine, struct node_group group) {
  for (uint32_t i = group.first; i < group.end; i++)
    if (engine->residents.first[i]) return true;
  return false;
}

/* Returns whether the nodes of the present group may be closed. This is permitted if at most max_unavailable nodes of
   the pool are not up afterwards. */
static bool is_allowed(const struct hr__engine *engine, const struct service_window *window) {
  const struct hr__pool *pool = &engine->cluster.pools[window->pool.id];
  struct node_group group = group_of(engine, window);
  if (window->spec->max_unavailable == HR_NONE) return true;
  uint32_t gone = pool->spec->nodes - pool->n_in[HR_NODE_UP];
  for (uint32_t i = group.first; i < group.end; i++) gone += engine->cluster.nodes[i].state == HR_NODE_UP;
  return gone <= window->spec->max_unavailable;
}

/* ---- Maintenance: draining -------------------------------------------------------------------------- */

/* Stops all jobs of a node. The jobs keep their work. */
static enum hr_status migrate(struct hr__engine *engine, hr_node node) {
  while (engine->residents.first[node.id]) {
    hr_job job = engine->residents.links[engine->residents.first[node.id] - 1].job;
    enum hr_status status = hr__job_interrupt(engine, job, HR_REASON_MAINTENANCE, true);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

static enum hr_status close_node(struct hr__engine *engine, const struct service_window *window, hr_node node) {
  struct hr__node *self = &engine->cluster.nodes[node.id];
  const int64_t down_us = window->spec->drain == HR_DRAIN_WAIT ? HR_NEVER_US : window->work_us;
  enum hr_status status = HR_OK;
  if (self->state == HR_NODE_UP) status = hr__market_close(engine, window->pool, node, HR_REASON_MAINTENANCE, down_us);
  if (status != HR_OK || self->state == HR_NODE_OFF) return status;
  if (window->spec->drain == HR_DRAIN_MIGRATE) return migrate(engine, node);
  if (window->spec->drain != HR_DRAIN_CHECKPOINT_KILL) return HR_OK;
  return hr__market_warn_residents(engine, node, window->work_us);
}

/* Closes the nodes of the present group. If this is not allowed now, the window becomes blocked. All nodes are marked
   as held before the first job leaves, so that no job moves from one node of the group to another. */
static enum hr_status close_group(struct hr__engine *engine, struct service_window *window) {
  struct pool_plan *plan = &engine->maintenance->pools[window->pool.id];
  struct node_group group = group_of(engine, window);
  window->state = WINDOW_BLOCKED;
  window->due_us = HR_NEVER_US;
  if (plan->active != HR_NONE || !is_allowed(engine, window)) return HR_OK;
  settle_pool(engine, window->pool);
  plan->active = (uint32_t)(window - engine->maintenance->windows);
  plan->n_draining = group.end - group.first;
  window->state = WINDOW_DRAINS;
  int64_t first_us = window->group == 0 ? window->planned_us : 0, now_us = engine->view.now_us;
  window->work_us = first_us > now_us ? first_us : now_us + (window->group == 0 ? 0 : window->spec->lead_us);
  enum hr_status status = schedule(engine, window, window->work_us, HR__PENDING_DRAIN);
  for (uint32_t i = group.first; i < group.end; i++) engine->maintenance->held[i] = 1;
  for (uint32_t i = group.first; i < group.end && status == HR_OK; i++)
    status = close_node(engine, window, (hr_node){i});
  return status;
}

/* ---- Maintenance: work ------------------------------------------------------------------------------ */

static enum hr_status begin_work(struct hr__engine *engine, struct service_window *window) {
  struct pool_plan *plan = &engine->maintenance->pools[window->pool.id];
  struct node_group group = group_of(engine, window);
  enum hr_status status = HR_OK;
  for (uint32_t i = group.first; i < group.end && status == HR_OK; i++)
    if (engine->cluster.nodes[i].state != HR_NODE_OFF)
      status = hr__market_take_down(engine, window->pool, (hr_node){i}, HR_REASON_MAINTENANCE);
  if (status != HR_OK) return status;
  settle_pool(engine, window->pool);
  window->state = WINDOW_WORKS;
  plan->n_draining = 0;
  for (uint32_t i = group.first; i < group.end; i++)
    plan->n_planned += !engine->faults || hr__faults_repaired(engine, (hr_node){i});
  engine->pool_accounting[window->pool.id].maintenances++;
  return schedule(engine, window, engine->view.now_us + window->spec->duration_us, HR__PENDING_SERVICED);
}

/* Schedules another attempt to close the groups of the blocked windows of a pool, at this instant. */
static enum hr_status retry_blocked(struct hr__engine *engine, hr_pool pool) {
  const struct pool_plan *plan = &engine->maintenance->pools[pool.id];
  enum hr_status status = HR_OK;
  for (uint32_t i = plan->first_window; i < plan->first_window + plan->n_windows && status == HR_OK; i++) {
    struct service_window *window = &engine->maintenance->windows[i];
    if (window->state == WINDOW_BLOCKED && window->due_us == HR_NEVER_US)
      status = schedule(engine, window, engine->view.now_us, HR__PENDING_DRAIN);
  }
  return status;
}

/* Continues with the next group, or with the next time of the window. Times that have passed are skipped. */
static enum hr_status next_group(struct hr__engine *engine, struct service_window *window) {
  uint32_t nodes = engine->cluster.pools[window->pool.id].spec->nodes;
  window->state = WINDOW_WAITS;
  window->due_us = HR_NEVER_US;
  if ((window->group + 1) * (uint64_t)window->spec->group_nodes < nodes) {
    window->group++;
    return close_group(engine, window);
  }
  window->group = 0;
  if (window->spec->repeat_us == 0) return HR_OK;
  do window->planned_us += window->spec->repeat_us;
  while (window->planned_us < engine->view.now_us);
  return schedule(engine, window, window->planned_us - window->spec->lead_us, HR__PENDING_DRAIN);
}

static enum hr_status end_work(struct hr__engine *engine, struct service_window *window) {
  struct pool_plan *plan = &engine->maintenance->pools[window->pool.id];
  struct node_group group = group_of(engine, window);
  settle_pool(engine, window->pool);
  plan->active = HR_NONE;
  plan->n_planned = 0;
  enum hr_status status = HR_OK;
  for (uint32_t i = group.first; i < group.end; i++) engine->maintenance->held[i] = 0;
  for (uint32_t i = group.first; i < group.end && status == HR_OK; i++)
    status = hr__market_return(engine, window->pool, (hr_node){i}, HR_REASON_MAINTENANCE);
  if (status == HR_OK) status = next_group(engine, window);
  return status == HR_OK ? retry_blocked(engine, window->pool) : status;
}

static enum hr_status advance(struct hr__engine *engine, struct hr__pending pending) {
  struct service_window *window = &engine->maintenance->windows[hr__pending_entity(pending)];
  if (window->due_us != engine->view.now_us) return HR_OK;
  if (hr__pending_kind(pending) == HR__PENDING_SERVICED)
    return window->state == WINDOW_WORKS ? end_work(engine, window) : HR_OK;
  if (window->state == WINDOW_WAITS || window->state == WINDOW_BLOCKED) return close_group(engine, window);
  if (window->state != WINDOW_DRAINS || engine->view.now_us < window->work_us) return HR_OK;
  if (window->spec->drain == HR_DRAIN_WAIT && has_jobs(engine, group_of(engine, window))) {
    window->due_us = HR_NEVER_US;
    return HR_OK;
  }
  return begin_work(engine, window);
}

/* ---- Maintenance: nodes and jobs -------------------------------------------------------------------- */

/* After a job has left, the work on a group that waits for its jobs may begin. */
static enum hr_status stop(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                           enum hr__stop how) {
  const struct hr__maintenance *all = engine->maintenance;
  uint32_t active = all->pools[placement->pool.id].active;
  (void)job, (void)how;
  if (active == HR_NONE) return HR_OK;
  struct service_window *window = &all->windows[active];
  if (window->state != WINDOW_DRAINS || window->due_us != HR_NEVER_US) return HR_OK;
  for (uint32_t i = 0; i < placement->n_slices; i++)
    if (all->held[placement->slices[i].node.id])
      return schedule(engine, window, engine->view.now_us, HR__PENDING_DRAIN);
  return HR_OK;
}

static enum hr_status node_up(struct hr__engine *engine, hr_pool pool, hr_node node) {
  (void)node;
  return retry_blocked(engine, pool);
}

/* ---- Maintenance: start and end of a run ------------------------------------------------------------ */

static enum hr_status allocate(struct hr__engine *engine, uint32_t n_windows) {
  struct hr__maintenance *all;
  if (!HR__ARENA_ARRAY(&engine->arena, all, 1) || !HR__ARENA_ARRAY(&engine->arena, all->windows, n_windows) ||
      !HR__ARENA_ARRAY(&engine->arena, all->pools, engine->cluster.n_pools) ||
      !HR__ARENA_ARRAY(&engine->arena, all->held, engine->cluster.n_nodes))
    return hr__out_of_memory(engine);
  engine->maintenance = all;
  return HR_OK;
}

static enum hr_status init(struct hr__engine *engine) {
  const struct hr_cluster *cluster = &engine->cluster;
  uint32_t n_windows = 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    n_windows += cluster->pools[i].spec->nodes ? cluster->pools[i].spec->n_maintenance : 0;
  if (n_windows == 0) return HR_OK;
  enum hr_status status = allocate(engine, n_windows);
  for (uint32_t i = 0; i < cluster->n_pools && status == HR_OK; i++) {
    const struct hr_pool_spec *spec = cluster->pools[i].spec;
    struct hr__maintenance *all = engine->maintenance;
    all->pools[i] = (struct pool_plan){
        .first_window = all->n_windows, .n_windows = spec->nodes ? spec->n_maintenance : 0, .active = HR_NONE};
    for (uint32_t k = 0; k < all->pools[i].n_windows && status == HR_OK; k++) {
      struct service_window *window = &all->windows[all->n_windows++];
      *window = (struct service_window){
          .spec = &spec->maintenance[k], .pool = {i}, .planned_us = spec->maintenance[k].start_us};
      status = schedule(engine, window, window->planned_us - window->spec->lead_us, HR__PENDING_DRAIN);
    }
  }
  return status;
}

/* ---- Maintenance: checked mode ---------------------------------------------------------------------- */

static enum hr_status check(const struct hr__engine *engine, const struct hr__running *running) {
  const struct hr__maintenance *all = engine->maintenance;
  (void)running;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    uint32_t first = engine->cluster.pools[i].first_node.id, n_planned = 0;
    for (uint32_t n = first; n < first + engine->cluster.pools[i].spec->nodes; n++) {
      bool works = is_in_work(engine, (hr_node){n}, (hr_pool){i});
      if (all->held[n] && engine->cluster.nodes[n].state == HR_NODE_UP)
        return hr__broken(engine, "node %" PRIu32 " is up during its maintenance", n);
      if (works && engine->cluster.nodes[n].state != HR_NODE_OFF)
        return hr__broken(engine, "node %" PRIu32 " is present during the work on it", n);
      n_planned += works && (!engine->faults || hr__faults_repaired(engine, (hr_node){n}));
    }
    if (n_planned != all->pools[i].n_planned)
      return hr__broken(engine, "pool %" PRIu32 ": %" PRIu32 " nodes are in planned work, not %" PRIu32, i, n_planned,
                        all->pools[i].n_planned);
  }
  return HR_OK;
}

const struct hr__component hr__component_maintenance = {
    .disturbs_jobs = true,
    .is_endless = true,
    .init = init,
    .part = offsetof(struct hr__engine, maintenance),
    .stop = stop,
    .node_up = node_up,
    .kinds = 1u << HR__PENDING_DRAIN | 1u << HR__PENDING_SERVICED,
    .advance = advance,
    .settle = settle,
    .check = check,
};

/* ---- Spare nodes ------------------------------------------------------------------------------------ */

/*
 * The `target` of a pool is the number of its nodes minus the number of its spares. If fewer nodes than the target are
 * present, spares are activated, and come up after the time of the activation. If enough nodes are present or being
 * activated, a node that is repaired becomes a spare, so jobs are not moved back. Spares do not fail.
 *
 * If a group of nodes fails and is repaired while one of its nodes is being activated, the activation continues.
 *
 * Invariant: a node that is kept as a spare is off, and at most `target` nodes are present or being activated.
 *
 * Source: hot spares and standby machines of training clusters (ByteRobust, SOSP 2025).
 */

struct pool_spares {
  uint32_t target, n_pending; /* n_pending: nodes that are being activated */
  uint32_t n_kept;            /* nodes that wait as spares */
  int64_t touched_us;         /* time until which `spare_us` has been counted */
};

struct hr__spares {
  struct pool_spares *pools; /* by pool; target 0: no spares */
  uint8_t *kept;             /* by node: it waits as a spare */
  uint8_t *comes;            /* by node: it is being activated */
};

bool hr__spares_keep(const struct hr__engine *engine, hr_node node) {
  return engine->spares->kept[node.id];
}

/* Adds the time in which spares have waited. */
static void settle_pool_spares(struct hr__engine *engine, hr_pool pool) {
  struct pool_spares *spares = &engine->spares->pools[pool.id];
  int64_t passed_us = engine->view.now_us - spares->touched_us;
  engine->pool_accounting[pool.id].spare_us += (hr_amount)spares->n_kept * passed_us;
  spares->touched_us = engine->view.now_us;
}

static void settle_spares(struct hr__engine *engine) {
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) settle_pool_spares(engine, (hr_pool){i});
}

static void set_kept(struct hr__engine *engine, hr_pool pool, uint32_t node, bool kept) {
  if (engine->spares->kept[node] == kept) return;
  settle_pool_spares(engine, pool);
  engine->spares->kept[node] = kept;
  engine->spares->pools[pool.id].n_kept += kept ? 1 : (uint32_t)-1;
}

/* Returns whether fewer nodes than `target` are present or being activated. */
static bool is_short(const struct hr__engine *engine, hr_pool pool) {
  const struct hr__pool *self = &engine->cluster.pools[pool.id];
  const struct pool_spares *spares = &engine->spares->pools[pool.id];
  return self->n_in[HR_NODE_UP] + self->n_in[HR_NODE_CLOSING] + spares->n_pending < spares->target;
}

bool hr__spares_take(struct hr__engine *engine, hr_pool pool, hr_node node) {
  if (engine->spares->comes[node.id]) return true;
  bool becomes_spare = engine->spares->pools[pool.id].target > 0 && !is_short(engine, pool);
  set_kept(engine, pool, node.id, becomes_spare);
  return becomes_spare;
}

/* Returns the first spare of a pool that could come up; HR_NONE: no such spare exists. */
static uint32_t find_spare(const struct hr__engine *engine, hr_pool pool) {
  uint32_t first = engine->cluster.pools[pool.id].first_node.id;
  for (uint32_t i = first; i < first + engine->cluster.pools[pool.id].spec->nodes; i++)
    if (engine->spares->kept[i] && (!engine->faults || hr__faults_repaired(engine, (hr_node){i})) &&
        (!engine->maintenance || !hr__maintenance_holds(engine, (hr_node){i})))
      return i;
  return HR_NONE;
}

enum hr_status hr__spares_activate(struct hr__engine *engine, hr_pool pool) {
  struct pool_spares *spares = &engine->spares->pools[pool.id];
  enum hr_status status = HR_OK;
  while (status == HR_OK && spares->target > 0 && is_short(engine, pool)) {
    uint32_t node = find_spare(engine, pool);
    if (node == HR_NONE) return HR_OK;
    set_kept(engine, pool, node, false);
    engine->spares->comes[node] = true;
    spares->n_pending++;
    int64_t delay_us = engine->view.now_us > 0 ? engine->cluster.pools[pool.id].spec->faults->activation_us : 0;
    status = hr__schedule(engine, engine->view.now_us + delay_us, HR__PENDING_SPARE, node);
  }
  return status;
}

static enum hr_status advance_spares(struct hr__engine *engine, struct hr__pending pending) {
  hr_node node = {hr__pending_entity(pending)};
  hr_pool pool = hr__cluster_pool_of(&engine->cluster, node);
  engine->spares->comes[node.id] = false;
  engine->spares->pools[pool.id].n_pending--;
  engine->pool_accounting[pool.id].spare_activations++;
  enum hr_status status = hr__market_return(engine, pool, node, HR_REASON_NONE);
  return status == HR_OK ? hr__spares_activate(engine, pool) : status;
}

static enum hr_status allocate_spares(struct hr__engine *engine) {
  return HR__ARENA_ARRAY(&engine->arena, engine->spares, 1) &&
                 HR__ARENA_ARRAY(&engine->arena, engine->spares->pools, engine->cluster.n_pools) &&
                 HR__ARENA_ARRAY(&engine->arena, engine->spares->kept, engine->cluster.n_nodes) &&
                 HR__ARENA_ARRAY(&engine->arena, engine->spares->comes, engine->cluster.n_nodes)
             ? HR_OK
             : hr__out_of_memory(engine);
}

static enum hr_status init_spares(struct hr__engine *engine) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < engine->cluster.n_pools && status == HR_OK; i++) {
    const struct hr_pool_spec *spec = engine->cluster.pools[i].spec;
    uint32_t first = engine->cluster.pools[i].first_node.id, spares = spec->faults ? spec->faults->spares : 0;
    if (spares == 0 || spares >= spec->nodes) continue;
    if (!engine->spares) status = allocate_spares(engine);
    if (status != HR_OK) return status;
    engine->spares->pools[i].target = spec->nodes - spares;
    for (uint32_t n = first + spec->nodes - spares; n < first + spec->nodes; n++) {
      set_kept(engine, (hr_pool){i}, n, true);
      hr__market_set_state(engine, (hr_node){n}, HR_NODE_OFF);
    }
  }
  return status;
}

/* Nodes that are down at the start of the run are replaced at once. */
static enum hr_status begin_spares(struct hr__engine *engine) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < engine->cluster.n_pools && status == HR_OK; i++)
    status = hr__spares_activate(engine, (hr_pool){i});
  return status;
}

static enum hr_status check_spares(const struct hr__engine *engine, const struct hr__running *running) {
  (void)running;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct hr__pool *pool = &engine->cluster.pools[i];
    const struct pool_spares *spares = &engine->spares->pools[i];
    if (spares->target == 0) continue;
    if (pool->n_in[HR_NODE_UP] + pool->n_in[HR_NODE_CLOSING] > spares->target)
      return hr__broken(engine, "pool %" PRIu32 ": more nodes are present than without its spares", i);
    uint32_t n_kept = 0;
    for (uint32_t n = pool->first_node.id; n < pool->first_node.id + pool->spec->nodes; n++) {
      n_kept += engine->spares->kept[n];
      if ((engine->spares->kept[n] || engine->spares->comes[n]) && engine->cluster.nodes[n].state != HR_NODE_OFF)
        return hr__broken(engine, "node %" PRIu32 " is present although it is a spare", n);
    }
    if (n_kept != spares->n_kept)
      return hr__broken(engine, "pool %" PRIu32 ": %" PRIu32 " spares are counted, %" PRIu32 " wait", i, spares->n_kept,
                        n_kept);
  }
  return HR_OK;
}

const struct hr__component hr__component_spares = {
    .disturbs_jobs = true,
    .is_endless = true,
    .init = init_spares,
    .part = offsetof(struct hr__engine, spares),
    .begin = begin_spares,
    .kinds = 1u << HR__PENDING_SPARE,
    .advance = advance_spares,
    .settle = settle_spares,
    .check = check_spares,
};

/* ---- Slow nodes ------------------------------------------------------------------------------------- */

/*
 * Each node of a pool alternates between the usual speed and episodes in which it is slow. The episodes do not depend
 * on jobs, failures or the policy. The run begins at a random time of this alternation, so a node is slow at the start
 * with probability length / (length + time between episodes).
 *
 * Invariant: node_speed_ppm of a node is the speed of its present episode, and the speed of a running job is that of
 * its slowest node (checked in attempts.c).
 *
 * Source: synchronous training waits for its slowest worker (MegaScale, NSDI 2024; GREYHOUND, ATC 2025).
 */

static const struct hr_slow_spec *slow_of(const struct hr_pool_spec *pool) {
  const struct hr_slow_spec *slow = pool->faults ? &pool->faults->slow : NULL;
  return slow && pool->nodes > 0 && slow->speed_ppm > 0 ? slow : NULL;
}

uint32_t hr__slowest_ppm(const struct hr__engine *engine) {
  uint32_t least_ppm = HR__FULL_SPEED_PPM;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct hr_slow_spec *slow = slow_of(engine->cluster.pools[i].spec);
    if (slow && slow->speed_ppm < least_ppm) least_ppm = slow->speed_ppm;
  }
  return least_ppm;
}

/* Returns the stream of a node for the change with number `change` (0: start of the run); each change has separate
   draws. */
static struct hr__stream stream_of(struct hr__engine *engine, uint32_t node, uint32_t change) {
  struct hr__stream stream;
  hr__stream_init(&stream, engine->config->seed, HR__PURPOSE_SLOW, node, 0);
  hr__stream_skip_to_life(&stream, change);
  return stream;
}

/* Sets the speed of a node, and that of its jobs. */
static enum hr_status set_node(struct hr__engine *engine, uint32_t node, uint32_t speed_ppm) {
  engine->node_speed_ppm[node] = speed_ppm;
  return hr__sharing_update_node(engine, (hr_node){node}, 0);
}

static enum hr_status advance_slow(struct hr__engine *engine, struct hr__pending pending) {
  uint32_t node = hr__pending_entity(pending);
  const struct hr__slow *all = engine->slow;
  hr_pool pool = hr__cluster_pool_of(&engine->cluster, (hr_node){node});
  const struct hr_slow_spec *slow = slow_of(engine->cluster.pools[pool.id].spec);
  bool begins = engine->node_speed_ppm[node] == HR__FULL_SPEED_PPM;
  struct hr__stream stream = stream_of(engine, node, ++all->changes[node]);
  int64_t next_us = hr__duration_draw(begins ? &slow->length : &slow->between, &stream);
  engine->pool_accounting[pool.id].slow_episodes += begins;
  enum hr_status status = set_node(engine, node, begins ? slow->speed_ppm : HR__FULL_SPEED_PPM);
  return status == HR_OK ? hr__schedule(engine, engine->view.now_us + next_us, HR__PENDING_SLOW, node) : status;
}

static enum hr_status begin_node(struct hr__engine *engine, const struct hr_slow_spec *slow, uint32_t node) {
  struct hr__stream stream = stream_of(engine, node, 0);
  double length_s = hr__duration_mean_s(&slow->length), between_s = hr__duration_mean_s(&slow->between);
  bool is_slow = hr__stream_uniform(&stream) * (length_s + between_s) < length_s;
  if (is_slow) engine->node_speed_ppm[node] = slow->speed_ppm;
  int64_t rest_us = hr__duration_draw_rest(is_slow ? &slow->length : &slow->between, &stream);
  return hr__schedule(engine, rest_us, HR__PENDING_SLOW, node);
}

static enum hr_status allocate_slow(struct hr__engine *engine) {
  uint32_t n_nodes = engine->cluster.n_nodes;
  if (!HR__ARENA_ARRAY(&engine->arena, engine->slow, 1) ||
      !HR__ARENA_ARRAY(&engine->arena, engine->node_speed_ppm, n_nodes) ||
      !HR__ARENA_ARRAY(&engine->arena, engine->slow->changes, n_nodes))
    return hr__out_of_memory(engine);
  for (uint32_t i = 0; i < n_nodes; i++) engine->node_speed_ppm[i] = HR__FULL_SPEED_PPM;
  if (engine->residents.first) return HR_OK;
  return HR__ARENA_ARRAY(&engine->arena, engine->residents.first, n_nodes) ? HR_OK : hr__out_of_memory(engine);
}

static enum hr_status init_slow(struct hr__engine *engine) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < engine->cluster.n_pools && status == HR_OK; i++) {
    const struct hr_pool_spec *spec = engine->cluster.pools[i].spec;
    const struct hr_slow_spec *slow = slow_of(spec);
    if (slow && !engine->slow) status = allocate_slow(engine);
    for (uint32_t n = 0; slow && status == HR_OK && n < spec->nodes; n++)
      status = begin_node(engine, slow, engine->cluster.pools[i].first_node.id + n);
  }
  return status;
}

const struct hr__component hr__component_slow = {
    .disturbs_jobs = true,
    .is_endless = true,
    .init = init_slow,
    .part = offsetof(struct hr__engine, slow),
    .kinds = 1u << HR__PENDING_SLOW,
    .advance = advance_slow,
};
