/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Elastic nodes of the naive scheduler for GPUs: supply of spot nodes, and the market rules static, on-demand-only and
   spot-first. */

#include "naive_gpus_engine.h"

#include <string.h>

static bool is(const char *value, const char *name) {
  return strcmp(value, name) == 0;
}

static bool is_managed(const struct naive_engine *e) {
  return !is(e->in->rules.market, "static");
}

static bool is_spot(const struct naive_engine *e, int pool) {
  return e->in->pool[pool].market == NAIVE_GPUS_SPOT;
}

/* ---- Nodes ------------------------------------------------------------------------------------------ */

/* Returns the number of nodes of a pool that are available, requested or not. */
static int level_of(const struct naive_engine *e, int pool) {
  const struct naive_gpus_pool *spec = &e->in->pool[pool];
  if (!is_spot(e, pool)) return spec->nodes;
  int level = spec->level[e->step[pool]];
  return level < spec->nodes ? level : spec->nodes;
}

/* Returns the number of nodes among the first `level` nodes of a pool that are off. */
static int n_off(const struct naive_engine *e, int pool, int level) {
  int first = naive_first_node(e->in, pool), count = 0;
  if (e->in->pool[pool].market == NAIVE_GPUS_FIXED) return 0;
  for (int i = first; i < first + level; i++) count += !e->state.node[i].up && !e->node[i].booting;
  return count;
}

static void become_idle(struct naive_engine *e, int node) {
  e->node[node].idle_since = e->now;
  e->node[node].idle_number = e->n_idled++;
}

/* Requests the first nodes of a pool that are off and available. */
static void request(struct naive_engine *e, int pool, int count) {
  int first = naive_first_node(e->in, pool);
  for (int i = first; i < first + level_of(e, pool) && count > 0; i++) {
    if (e->state.node[i].up || e->node[i].booting) continue;
    e->node[i].booting = true;
    e->node[i].boots_at = e->now + e->in->pool[pool].boot;
    e->out->requested++;
    count--;
  }
}

static bool has_slice_on(const struct naive_seat *seat, int node) {
  for (int i = 0; i < seat->n_slices; i++)
    if (seat->slice[i].node == node) return true;
  return false;
}

static void reclaim(struct naive_engine *e, int pool, int node) {
  if (!e->state.node[node].up && !e->node[node].booting) return;
  e->changed = true;
  e->state.node[node].up = e->node[node].booting = false;
  for (int j = 0; j < e->in->n_jobs; j++) {
    if (e->job[j].phase != NAIVE_RUNNING || !has_slice_on(&e->job[j].seat, node)) continue;
    naive_stop(e, j, e->in->continuous);
    e->out->interrupted++;
  }
  if (e->stable[pool] != NAIVE_NEVER) e->stable[pool] = e->now;
}

/* Applies the next step of the level of a spot pool. A pool counts as available from a change that makes nodes
   available until a change after which none can be requested. */
static void change_level(struct naive_engine *e, int pool) {
  int first = naive_first_node(e->in, pool), before = level_of(e, pool);
  do e->step[pool]++;
  while (e->in->pool[pool].level[e->step[pool]] == e->in->pool[pool].level[e->step[pool] - 1]);
  int after = level_of(e, pool);
  for (int i = first + after; i < first + before; i++) reclaim(e, pool, i);
  int offered = n_off(e, pool, after);
  if (offered == n_off(e, pool, before)) return;
  e->changed = true;
  if (offered == 0) e->stable[pool] = NAIVE_NEVER;
  if (offered > 0 && e->stable[pool] == NAIVE_NEVER) e->stable[pool] = e->now;
}

/* Steps that do not change the level do not count as events. */
static int64_t next_level_at(const struct naive_engine *e, int pool) {
  const struct naive_gpus_pool *spec = &e->in->pool[pool];
  int64_t next = NAIVE_NEVER;
  for (int i = spec->n_levels; is_spot(e, pool) && i-- > e->step[pool] + 1;)
    if (spec->level[i] != spec->level[i - 1]) next = spec->level_at[i];
  return next;
}

static void boot_nodes(struct naive_engine *e) {
  for (int i = 0; i < e->state.n_nodes; i++) {
    if (!e->node[i].booting || e->node[i].boots_at > e->now) continue;
    e->node[i].booting = false;
    e->changed = true;
    naive_node_init(e->in, &e->state, i);
    become_idle(e, i);
  }
}

void naive_market_init(struct naive_engine *e) {
  for (int i = 0; i < e->state.n_nodes; i++)
    e->state.node[i].up = e->in->pool[e->state.node[i].pool].market == NAIVE_GPUS_FIXED;
  for (int p = 0; p < e->in->n_pools; p++)
    e->stable[p] = n_off(e, p, level_of(e, p)) > 0 ? -e->in->rules.spot_hold : NAIVE_NEVER;
}

void naive_market_advance(struct naive_engine *e) {
  for (int p = 0; p < e->in->n_pools; p++)
    while (next_level_at(e, p) <= e->now) change_level(e, p);
  boot_nodes(e);
  for (int p = 0; p < e->in->n_pools && !is_managed(e); p++) request(e, p, NAIVE_GPUS_NODES);
  boot_nodes(e);
}

/* ---- Jobs ------------------------------------------------------------------------------------------- */

static bool accepts_market(const struct naive_engine *e, int job, enum naive_gpus_market market) {
  for (int p = 0; p < e->in->n_pools; p++)
    if (e->in->job[job].accepts >> p & 1 && e->in->pool[p].market == market) return true;
  return false;
}

static int demand_of(const struct naive_engine *e, int job) {
  int demand = 0;
  while (demand < e->n_demands && !naive_same_request(e, e->demand[demand], job)) demand++;
  return demand;
}

void naive_market_job_waits(struct naive_engine *e, int job) {
  const struct naive_gpus_job *asked = &e->in->job[job];
  if (!is_managed(e)) return;
  naive_require(asked->gpus > 0 && asked->wait <= 0, "market, for jobs without GPUs or with waits,",
                e->in->rules.market);
  if (demand_of(e, job) == e->n_demands) e->demand[e->n_demands++] = job;
}

/* Jobs that may return to spot nodes are kept in a list. A job that leaves is replaced by the last one of the list. */
static void forget_returning(struct naive_engine *e, int job) {
  for (int i = 0; i < e->n_returning; i++)
    if (e->returning[i] == job) e->returning[i] = e->returning[--e->n_returning];
}

void naive_market_job_starts(struct naive_engine *e, int job) {
  const struct naive_seat *seat = &e->job[job].seat;
  if (!is(e->in->rules.market, "spot-first") || !e->in->rules.returns || seat->n_slices != 1) return;
  if (e->in->pool[e->state.node[seat->slice[0].node].pool].market != NAIVE_GPUS_ON_DEMAND) return;
  if (accepts_market(e, job, NAIVE_GPUS_SPOT)) e->returning[e->n_returning++] = job;
}

static bool is_first_on_node(const struct naive_seat *seat, int slice) {
  for (int i = 0; i < slice; i++)
    if (seat->slice[i].node == seat->slice[slice].node) return false;
  return true;
}

/* The nodes of the job become idle in the order of its tasks. */
void naive_market_job_leaves(struct naive_engine *e, int job, const struct naive_seat *seat) {
  forget_returning(e, job);
  for (int i = 0; i < seat->n_slices; i++)
    if (is_first_on_node(seat, i) && e->state.node[seat->slice[i].node].up &&
        naive_is_empty(&e->state.node[seat->slice[i].node]))
      become_idle(e, seat->slice[i].node);
}

/* ---- Supply ----------------------------------------------------------------------------------------- */

/* Returns the present state, with booting nodes as empty nodes that are up. */
static struct naive_state supply_state(const struct naive_engine *e) {
  struct naive_state supply = e->state;
  for (int i = 0; i < supply.n_nodes; i++)
    if (e->node[i].booting) naive_node_init(e->in, &supply, i);
  return supply;
}

/* Places up to `count` jobs with the request of `job`. Returns the number of placed jobs. */
static int pack(const struct naive_engine *e, struct naive_state *supply, int job, int count, unsigned pools) {
  struct naive_seat seat;
  int packed = 0;
  for (; packed < count; packed++) {
    if (!naive_place(e->in, supply, job, naive_is_required(e, job, e->now), pools, &seat)) break;
    naive_take(e->in, supply, job, &seat);
  }
  return packed;
}

static unsigned spot_pools(const struct naive_engine *e) {
  unsigned pools = 0;
  for (int p = 0; p < e->in->n_pools; p++) pools |= (unsigned)is_spot(e, p) << p;
  return pools;
}

static bool is_stable(const struct naive_engine *e, int pool) {
  return e->stable[pool] != NAIVE_NEVER && e->now - e->stable[pool] >= e->in->rules.spot_hold;
}

/* Returns the number of nodes of a pool that may be requested now. */
static int may_request(const struct naive_engine *e, int pool) {
  if (is_spot(e, pool) && (!is(e->in->rules.market, "spot-first") || !is_stable(e, pool))) return 0;
  return n_off(e, pool, level_of(e, pool));
}

/* Adds up to `count` nodes of a pool as empty nodes, in the order in which they would be requested. */
static void add_nodes(const struct naive_engine *e, struct naive_state *supply, int pool, int count) {
  int first = naive_first_node(e->in, pool);
  for (int i = first; i < first + level_of(e, pool) && count > 0; i++) {
    if (supply->node[i].up) continue;
    naive_node_init(e->in, supply, i);
    count--;
  }
}

/* Returns the minimum number of additional nodes of a pool with which one more job can be placed in this pool; 0: no
   number is sufficient. */
static int nodes_needed(const struct naive_engine *e, const struct naive_state *supply, int job, int pool) {
  for (int k = 1; k <= may_request(e, pool); k++) {
    struct naive_state with = *supply;
    add_nodes(e, &with, pool, k);
    if (pack(e, &with, job, 1, 1U << pool) == 1) return k;
  }
  return 0;
}

/* Requests nodes for up to `count` jobs. Returns the number of jobs for which nodes were requested. */
static int acquire(struct naive_engine *e, struct naive_state *supply, int job, int count, unsigned pools) {
  int found = 0;
  while (found < count) {
    int best = -1, best_nodes = 0;
    for (int p = 0; p < e->in->n_pools; p++) {
      if (!((pools & e->in->job[job].accepts) >> p & 1)) continue;
      int nodes = nodes_needed(e, supply, job, p);
      if (nodes == 0 || (best >= 0 && e->in->pool[p].price >= e->in->pool[best].price)) continue;
      best = p;
      best_nodes = nodes;
    }
    if (best < 0) break;
    add_nodes(e, supply, best, best_nodes);
    request(e, best, best_nodes);
    found += pack(e, supply, job, count - found, 1U << best);
  }
  return found;
}

/* Handles the jobs of a demand. `impatient` of these jobs may use on-demand nodes although they accept spot nodes. */
static void supply_jobs(struct naive_engine *e, struct naive_state *supply, int job, int count, int impatient) {
  int served = pack(e, supply, job, count, NAIVE_ALL_POOLS);
  bool waits_for_spot = is(e->in->rules.market, "spot-first") && accepts_market(e, job, NAIVE_GPUS_SPOT);
  if (!waits_for_spot) {
    acquire(e, supply, job, count - served, NAIVE_ALL_POOLS);
    return;
  }
  served += acquire(e, supply, job, count - served, spot_pools(e));
  if (impatient > served) acquire(e, supply, job, impatient - served, NAIVE_ALL_POOLS);
}

/* Returns the time at which a job stops waiting for spot nodes only; NAIVE_NEVER: it does not wait for them. */
static int64_t patience_of(const struct naive_engine *e, int job) {
  bool waits = e->job[job].phase == NAIVE_WAITING && is(e->in->rules.market, "spot-first");
  if (!waits || !accepts_market(e, job, NAIVE_GPUS_SPOT)) return NAIVE_NEVER;
  return e->job[job].waiting_since + e->in->rules.spot_wait;
}

static bool is_impatient(const struct naive_engine *e, int job) {
  return e->now >= e->job[job].waiting_since + e->in->rules.spot_wait;
}

/* Unless the backfill is skip, requests nodes for the first waiting job. Then requests nodes for all others, one demand
   after the other. */
static void supply_all(struct naive_engine *e) {
  int jobs[NAIVE_GPUS_JOBS], count = naive_in_order(e, jobs), from = 0;
  struct naive_state supply = supply_state(e);
  if (!is(e->in->rules.backfill, "skip")) {
    supply_jobs(e, &supply, jobs[0], 1, is_impatient(e, jobs[0]));
    from = 1;
  }
  for (int d = 0; d < e->n_demands; d++) {
    int n = 0, impatient = 0;
    for (int i = from; i < count; i++) {
      if (demand_of(e, jobs[i]) != d) continue;
      n++;
      impatient += is_impatient(e, jobs[i]);
    }
    if (n > 0) supply_jobs(e, &supply, e->demand[d], n, impatient);
  }
}

/* ---- Idle nodes ------------------------------------------------------------------------------------- */

/* Returns the end of the idle time of an elastic node; NAIVE_NEVER: it is not idle. */
static int64_t idle_until(const struct naive_engine *e, int node) {
  if (e->in->pool[e->state.node[node].pool].market == NAIVE_GPUS_FIXED || !e->state.node[node].up) return NAIVE_NEVER;
  return naive_is_empty(&e->state.node[node]) ? e->node[node].idle_since + e->in->rules.idle_release : NAIVE_NEVER;
}

/* Returns the node that has been idle for the longest time, if its idle time is over; -1: none. */
static int next_idle(const struct naive_engine *e) {
  int best = -1;
  for (int i = 0; i < e->state.n_nodes; i++) {
    const struct naive_elastic *node = &e->node[i];
    if (idle_until(e, i) > e->now) continue;
    if (best < 0 || node->idle_number < e->node[best].idle_number) best = i;
  }
  return best;
}

/* Releases nodes after their idle time, as long as empty nodes remain after all waiting jobs have been placed: the
   first job unless the backfill is skip, and then one demand after the other. The idle time of the others begins again.
 */
static void release_idle(struct naive_engine *e) {
  int spare[NAIVE_GPUS_POOLS] = {0}, jobs[NAIVE_GPUS_JOBS], count = naive_in_order(e, jobs), from = 0;
  struct naive_state supply = supply_state(e);
  if (count > 0 && !is(e->in->rules.backfill, "skip")) pack(e, &supply, jobs[from++], 1, NAIVE_ALL_POOLS);
  for (int d = 0; d < e->n_demands; d++)
    for (int i = from; i < count; i++)
      if (demand_of(e, jobs[i]) == d) pack(e, &supply, jobs[i], 1, NAIVE_ALL_POOLS);
  for (int i = 0; i < supply.n_nodes; i++)
    spare[supply.node[i].pool] += supply.node[i].up && naive_is_empty(&supply.node[i]);
  for (int node; (node = next_idle(e)) >= 0;) {
    if (spare[e->state.node[node].pool]-- > 0) {
      e->state.node[node].up = false;
      e->out->released++;
    } else {
      become_idle(e, node);
    }
  }
}

/* ---- Return to spot nodes --------------------------------------------------------------------------- */

/* Returns whether a job should be moved: the remaining time until its limit must exceed spot_hold. A job that has just
   started cannot be moved. It is considered again after spot_hold (after 1 us if spot_hold is 0). */
static bool is_worth_moving(struct naive_engine *e, int job) {
  const struct naive_live *live = &e->job[job];
  if (naive_limit(e, job) - (live->done + e->now - live->start) <= e->in->rules.spot_hold) return false;
  if (live->start == e->now) e->returns_at = e->now + (e->in->rules.spot_hold > 0 ? e->in->rules.spot_hold : 1);
  return live->start < e->now;
}

/* Finds a placement in the first stable spot pool that is cheaper than the job's pool. Returns false if the job fits in
   no such pool. */
static bool find_on_spot(const struct naive_engine *e, int job, struct naive_seat *seat) {
  long price = e->in->pool[e->state.node[e->job[job].seat.slice[0].node].pool].price;
  for (int p = 0; p < e->in->n_pools; p++) {
    if (!is_spot(e, p) || !is_stable(e, p) || e->in->pool[p].price >= price) continue;
    if (naive_place(e->in, &e->state, job, naive_is_required(e, job, e->now), 1U << p, seat)) return true;
  }
  return false;
}

/* Moves jobs, the last of the list first. For the others, requests spot nodes until none can be requested. */
static void return_to_spot(struct naive_engine *e) {
  struct naive_seat seat;
  e->returns_at = NAIVE_NEVER;
  for (int i = e->n_returning; i-- > 0;) {
    int job = e->returning[i];
    if (!is_worth_moving(e, job) || !find_on_spot(e, job, &seat)) continue;
    naive_move(e, job, &seat);
  }
  struct naive_state supply = supply_state(e);
  for (int i = 0; i < e->n_returning; i++) {
    int job = e->returning[i];
    if (!is_worth_moving(e, job) || pack(e, &supply, job, 1, spot_pools(e))) continue;
    if (!acquire(e, &supply, job, 1, spot_pools(e))) break;
  }
}

/* ---- Pass ------------------------------------------------------------------------------------------- */

static void earlier(int64_t *next, int64_t at, int64_t from) {
  if (at >= from && at < *next) *next = at;
}

/* Returns the next time, not before `from`, at which the rule may act although no job and no node changes. */
static int64_t next_action(const struct naive_engine *e, int64_t from) {
  int64_t next = NAIVE_NEVER;
  for (int i = 0; i < e->state.n_nodes; i++) earlier(&next, idle_until(e, i), from);
  for (int j = 0; j < e->in->n_jobs; j++) earlier(&next, patience_of(e, j), from);
  for (int p = 0; p < e->in->n_pools && is(e->in->rules.market, "spot-first"); p++)
    if (e->stable[p] != NAIVE_NEVER) earlier(&next, e->stable[p] + e->in->rules.spot_hold, from);
  earlier(&next, e->returns_at, from);
  return next;
}

/* Schedules the next pass. */
static void arrange_pass(struct naive_engine *e) {
  struct naive_timers *timers = e->timers;
  int64_t next = next_action(e, e->now + 1);
  if (next == NAIVE_NEVER || (timers->wake > e->now && timers->wake <= next)) return;
  timers->wake = next;
  naive_add_time(e, timers->timer, &timers->n_timers, next);
}

void naive_market_pass(struct naive_engine *e) {
  bool any_waits = false;
  if (!is_managed(e)) return;
  bool acts = e->changed || next_action(e, e->now) == e->now;
  for (int j = 0; j < e->in->n_jobs; j++) any_waits = any_waits || e->job[j].phase == NAIVE_WAITING;
  if (acts) release_idle(e);
  if (acts && any_waits) supply_all(e);
  if (acts && !any_waits) return_to_spot(e);
  arrange_pass(e);
}

int64_t naive_market_next(const struct naive_engine *e) {
  int64_t next = NAIVE_NEVER;
  for (int p = 0; p < e->in->n_pools; p++) earlier(&next, next_level_at(e, p), e->now);
  for (int i = 0; i < e->state.n_nodes; i++)
    if (e->node[i].booting) earlier(&next, e->node[i].boots_at, e->now);
  for (int i = 0; i < e->timers->n_timers; i++) earlier(&next, e->timers->timer[i], e->now + 1);
  return next;
}
