/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Spare nodes, as a component of the engine. A pool needs `target` nodes, which is the number of its nodes minus that
 * of its spares. If fewer nodes are present, spares come up after their activation. If enough nodes are present or
 * being activated, a node that is repaired becomes a spare, so jobs are not moved back. Spares do not fail.
 *
 * If a group fails and is repaired while one of its nodes is being activated, the activation goes on.
 *
 * Invariant: a node that is kept as a spare is off, and not more than `target` nodes are present or being activated.
 *
 * Source: hot spares and standby machines of training clusters (ByteRobust, SOSP 2025).
 */

#include "headroom/unstable/faults.h"
#include "sim/engine/engine.h"

struct pool_spares {
  uint32_t target, n_pending;
  uint32_t n_kept;    /* nodes that wait as spares */
  int64_t touched_us; /* time until which `spare_us` has been counted */
};

struct hr__spares {
  struct pool_spares *pools; /* by pool; target 0: no spares */
  uint8_t *kept;             /* by node */
  uint8_t *comes;            /* by node: it is being activated */
};

bool hr__spares_keep(const struct hr__engine *engine, hr_node node) {
  return engine->spares->kept[node.id];
}

/* Adds the time in which spares have waited. */
static void settle_pool(struct hr__engine *engine, hr_pool pool) {
  struct pool_spares *spares = &engine->spares->pools[pool.id];
  int64_t passed_us = engine->view.now_us - spares->touched_us;
  engine->pool_accounting[pool.id].spare_us += (hr_amount)spares->n_kept * passed_us;
  spares->touched_us = engine->view.now_us;
}

static void settle(struct hr__engine *engine) {
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) settle_pool(engine, (hr_pool){i});
}

static void set_kept(struct hr__engine *engine, hr_pool pool, uint32_t node, bool kept) {
  if (engine->spares->kept[node] == kept) return;
  settle_pool(engine, pool);
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

static enum hr_status advance(struct hr__engine *engine, struct hr__pending pending) {
  hr_node node = {hr__pending_entity(pending)};
  hr_pool pool = hr__cluster_pool_of(&engine->cluster, node);
  engine->spares->comes[node.id] = false;
  engine->spares->pools[pool.id].n_pending--;
  engine->pool_accounting[pool.id].spare_activations++;
  enum hr_status status = hr__market_return(engine, pool, node, HR_REASON_NONE);
  return status == HR_OK ? hr__spares_activate(engine, pool) : status;
}

static enum hr_status allocate(struct hr__engine *engine) {
  engine->spares = hr_arena_alloc(&engine->arena, sizeof *engine->spares);
  if (!engine->spares) return hr__out_of_memory(engine);
  engine->spares->pools = hr_arena_alloc(&engine->arena, engine->cluster.n_pools * sizeof *engine->spares->pools);
  engine->spares->kept = hr_arena_alloc(&engine->arena, engine->cluster.n_nodes * sizeof *engine->spares->kept);
  engine->spares->comes = hr_arena_alloc(&engine->arena, engine->cluster.n_nodes * sizeof *engine->spares->comes);
  return engine->spares->pools && engine->spares->kept && engine->spares->comes ? HR_OK : hr__out_of_memory(engine);
}

static enum hr_status init(struct hr__engine *engine) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < engine->cluster.n_pools && status == HR_OK; i++) {
    const struct hr_pool_spec *spec = engine->cluster.pools[i].spec;
    uint32_t first = engine->cluster.pools[i].first_node.id, spares = spec->faults ? spec->faults->spares : 0;
    if (spares == 0 || spares >= spec->nodes) continue;
    if (!engine->spares) status = allocate(engine);
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
static enum hr_status begin(struct hr__engine *engine) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < engine->cluster.n_pools && status == HR_OK; i++)
    status = hr__spares_activate(engine, (hr_pool){i});
  return status;
}

static bool is_needed(const struct hr__engine *engine) {
  return engine->spares;
}

static enum hr_status check(const struct hr__engine *engine, const struct hr__running *running) {
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
    .init = init,
    .is_needed = is_needed,
    .begin = begin,
    .kinds = 1u << HR__PENDING_SPARE,
    .advance = advance,
    .settle = settle,
    .check = check,
};
