/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When nodes of elastic pools are asked for and given back.
 *
 * After the backfill has started what fits, the jobs that still wait are laid, shape by shape, on the GPUs that are
 * free or booting; for those left over, nodes are asked for in the pool that the rule prefers. A pass costs shapes x
 * pools, whatever the number of waiting jobs: for spot-first, which lets a job wait a while for spot capacity before it
 * pays for on-demand, each shape counts its jobs whose while is over. A node that has been idle for long enough is
 * given back.
 */

#include "policies/market.h"
#include "policies/dispatch.h"
#include "policies/dues.h"
#include "policies/quota.h"

#include <math.h>

/* Waiting jobs that ask for the same. */
struct demand {
  uint32_t gpus, accept_class;
  uint32_t count, impatient; /* of `count`, those that have waited long enough for spot capacity */
  uint32_t held;             /* of `count`, those that quotas hold back, in this pass */
  bool is_single, may_use_spot;
};

struct hr__market_plan {
  struct hr__market_limits limits;
  uint32_t n_pools, *gpus_per_node; /* by pool */
  struct demand *demands;           /* all that were ever seen */
  uint32_t n_demands, demands_capacity;
  uint32_t *demand_of;            /* by job, while it waits */
  int64_t *patience_us;           /* by job: until when it waits for spot capacity; IMPATIENT after that */
  int64_t *calm_us;               /* by pool: since when spot capacity is on offer and nothing was reclaimed */
  int64_t *idle_us;               /* by node: since when it has no job */
  uint32_t **levels;              /* by pool and free GPUs: nodes that waiting jobs may be laid on */
  struct hr__dues idle, patience; /* nodes; jobs */
  int64_t wake_us;                /* the next wake-up that was asked for */
  struct guest *guests;           /* spot-first with return: in no order */
  uint32_t n_guests, guests_capacity;
  uint32_t *guest_at; /* by job: its place + 1, 0 for none */
  hr_job *counted;    /* while it is counted who quotas hold back */
  uint32_t n_counted, counted_capacity;
};

#define IMPATIENT INT64_C(-1)

/* A job on one on-demand node that would rather be on spot capacity. */
struct guest {
  hr_job job;
  uint32_t pool, node;
};

static bool is_elastic(const struct hr__queue *queue, uint32_t i) {
  hr_pool pool = {i};
  return hr_market_is_elastic(hr_cluster_pool_spec(queue->cluster, pool)->market.market);
}

static bool is_spot(const struct hr__queue *queue, uint32_t i) {
  hr_pool pool = {i};
  return hr_cluster_pool_spec(queue->cluster, pool)->market.market == HR_MARKET_SPOT;
}

/* ---- Who waits -------------------------------------------------------------------------------------- */

static bool may_use_spot(const struct hr__queue *queue, uint32_t accept_class) {
  for (uint32_t i = 0; i < queue->market->n_pools; i++)
    if (is_spot(queue, i) && hr_cluster_accepts(queue->cluster, accept_class, (hr_pool){i})) return true;
  return false;
}

static uint32_t find_demand(struct hr__queue *queue, hr_job job) {
  struct hr__market_plan *market = queue->market;
  uint32_t gpus = hr__gpus(queue, job), accept_class = hr_cluster_accept_class(queue->cluster, job);
  for (uint32_t i = 0; i < market->n_demands; i++)
    if (market->demands[i].gpus == gpus && market->demands[i].accept_class == accept_class) return i;
  if (market->n_demands == market->demands_capacity) {
    struct demand *demands = hr_arena_grown(queue->arena, market->demands, &market->demands_capacity, sizeof *demands);
    if (!demands) return HR_NONE;
    market->demands = demands;
  }
  market->demands[market->n_demands] =
      (struct demand){.gpus = gpus,
                      .accept_class = accept_class,
                      .is_single = hr_placer_is_single(queue->placer, gpus, accept_class),
                      .may_use_spot = may_use_spot(queue, accept_class)};
  return market->n_demands++;
}

static enum hr_status job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct hr__market_plan *market = queue->market;
  if (hr__gpus(queue, job) == 0) return HR_OK;
  uint32_t at = find_demand(queue, job);
  if (at == HR_NONE) return HR_NO_MEMORY;
  market->demand_of[job.id] = at;
  market->demands[at].count++;
  market->patience_us[job.id] = view->now_us + market->limits.spot_wait_us;
  if (market->limits.rule != HR__MARKET_SPOT_FIRST || !market->demands[at].may_use_spot) return HR_OK;
  struct hr__due due = {market->patience_us[job.id], job.id};
  return hr__dues_add(&market->patience, queue->arena, due) ? HR_OK : HR_NO_MEMORY;
}

/* Gangs over nodes stay where they are. */
static bool add_guest(struct hr__queue *queue, hr_job job, const struct hr_placement *placement) {
  struct hr__market_plan *market = queue->market;
  if (market->n_guests == market->guests_capacity) {
    struct guest *guests = hr_arena_grown(queue->arena, market->guests, &market->guests_capacity, sizeof *guests);
    if (!guests) return false;
    market->guests = guests;
  }
  market->guests[market->n_guests++] = (struct guest){job, placement->pool.id, placement->slices[0].node.id};
  market->guest_at[job.id] = market->n_guests;
  return true;
}

static void drop_guest(struct hr__queue *queue, hr_job job) {
  struct hr__market_plan *market = queue->market;
  uint32_t at = market->guest_at[job.id];
  if (!at) return;
  market->guest_at[job.id] = 0;
  struct guest last = market->guests[--market->n_guests];
  if (last.job.id == job.id) return;
  market->guests[at - 1] = last;
  market->guest_at[last.job.id] = at;
}

static enum hr_status job_waits_no_more(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  struct hr__market_plan *market = queue->market;
  if (hr__gpus(queue, job) == 0) return HR_OK;
  struct demand *demand = &market->demands[market->demand_of[job.id]];
  demand->count--;
  demand->impatient -= market->patience_us[job.id] == IMPATIENT;
  market->patience_us[job.id] = HR_NEVER_US;
  return HR_OK;
}

static enum hr_status job_starts(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                 const struct hr_placement *placement) {
  struct hr__market_plan *market = queue->market;
  if (hr__gpus(queue, job) == 0) return HR_OK;
  const struct demand *demand = &market->demands[market->demand_of[job.id]];
  job_waits_no_more(queue, view, job);
  bool would_return = market->limits.returns && demand->may_use_spot && placement->n_slices == 1;
  if (!would_return || !is_elastic(queue, placement->pool.id) || is_spot(queue, placement->pool.id)) return HR_OK;
  return add_guest(queue, job, placement) ? HR_OK : HR_NO_MEMORY;
}

/* Counts a job as one that its quota lets run beside those counted before. */
static bool count_in(void *self, struct hr_job_entry entry) {
  struct hr__queue *queue = self;
  struct hr__market_plan *market = queue->market;
  if (hr__gpus(queue, entry.job) == 0) return true;
  if (!hr__quota_allows(queue, entry.job)) return false;
  if (market->n_counted == market->counted_capacity) {
    market->counted = hr_arena_grown(queue->arena, market->counted, &market->counted_capacity, sizeof(hr_job));
    if (!market->counted) return false;
  }
  market->counted[market->n_counted++] = entry.job;
  market->demands[market->demand_of[entry.job.id]].held--;
  hr__quota_put_back(queue, entry.job);
  return true;
}

/* How many of each demand quotas hold back, even if there were nodes for all. False: out of memory. */
static bool count_held(struct hr__queue *queue) {
  struct hr__market_plan *market = queue->market;
  market->n_counted = 0;
  for (uint32_t i = 0; i < market->n_demands; i++) market->demands[i].held = market->demands[i].count;
  for (uint32_t i = 0; i < queue->waiting.n_active_lanes; i++)
    hr_job_tree_each(&queue->waiting.active_lanes[i]->jobs, count_in, queue);
  for (uint32_t i = 0; i < market->n_counted; i++) hr__quota_leave_out(queue, market->counted[i]);
  return market->counted || market->n_counted == 0;
}

static void lose_patience(struct hr__market_plan *market, int64_t now_us) {
  struct hr__due due;
  while (hr__dues_take(&market->patience, now_us, &due)) {
    if (market->patience_us[due.id] != due.at_us) continue; /* it has started since */
    market->patience_us[due.id] = IMPATIENT;
    market->demands[market->demand_of[due.id]].impatient++;
  }
}

/* ---- Nodes ------------------------------------------------------------------------------------------ */

static bool node_idles(struct hr__queue *queue, hr_node node, int64_t now_us) {
  struct hr__market_plan *market = queue->market;
  market->idle_us[node.id] = now_us;
  return hr__dues_add(&market->idle, queue->arena, (struct hr__due){now_us + market->limits.idle_release_us, node.id});
}

static enum hr_status node_changes(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  (void)view;
  struct hr__market_plan *market = queue->market;
  hr_pool pool = event->pool;
  if (!is_elastic(queue, pool.id)) return HR_OK;
  if (event->kind == HR_EVENT_OFFER) {
    bool offered = hr_cluster_offer(queue->cluster, pool) > 0;
    if (!offered) market->calm_us[pool.id] = HR_NEVER_US;
    if (offered && market->calm_us[pool.id] == HR_NEVER_US) market->calm_us[pool.id] = event->at_us;
    return HR_OK;
  }
  if (event->kind == HR_EVENT_NODE_DOWN) {
    if (market->calm_us[pool.id] != HR_NEVER_US) market->calm_us[pool.id] = event->at_us;
    return HR_OK;
  }
  return event->kind != HR_EVENT_NODE_UP || node_idles(queue, event->node, event->at_us) ? HR_OK : HR_NO_MEMORY;
}

static bool leave_place(struct hr__queue *queue, const struct hr_placement *placement, int64_t now_us) {
  if (!is_elastic(queue, placement->pool.id)) return true;
  uint32_t first = hr_cluster_first_node(queue->cluster, placement->pool).id;
  const struct hr_free_index *index = hr_cluster_free_index(queue->cluster, placement->pool);
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    hr_node node = placement->slices[i].node;
    if (hr_free_index_get(index, node.id - first) != hr_free_index_gpus_per_node(index)) continue;
    if (!node_idles(queue, node, now_us)) return false;
  }
  return true;
}

static enum hr_status job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  drop_guest(queue, event->job);
  return leave_place(queue, event->placement, view->now_us) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status job_moves(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                const struct hr_placement *from, const struct hr_placement *to) {
  (void)to;
  drop_guest(queue, job);
  return leave_place(queue, from, view->now_us) ? HR_OK : HR_NO_MEMORY;
}

static uint32_t n_active(const struct hr__queue *queue, uint32_t pool) {
  const struct hr_pool_spec *spec = hr_cluster_pool_spec(queue->cluster, (hr_pool){pool});
  return spec->nodes - hr_cluster_nodes_in(queue->cluster, (hr_pool){pool}, HR_NODE_OFF);
}

/* The nodes of one market, or of both elastic ones. */
static uint32_t n_active_in(const struct hr__queue *queue, bool spot, bool on_demand) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < queue->market->n_pools; i++)
    if (is_elastic(queue, i) && (is_spot(queue, i) ? spot : on_demand)) sum += n_active(queue, i);
  return sum;
}

static bool is_still_idle(const struct hr__queue *queue, struct hr__due due, hr_pool pool) {
  if (queue->market->idle_us[due.id] + queue->market->limits.idle_release_us != due.at_us) return false;
  if (hr_cluster_node_state(queue->cluster, (hr_node){due.id}) != HR_NODE_UP) return false;
  const struct hr_free_index *index = hr_cluster_free_index(queue->cluster, pool);
  uint32_t number = due.id - hr_cluster_first_node(queue->cluster, pool).id;
  return hr_free_index_get(index, number) == hr_free_index_gpus_per_node(index);
}

static hr_pool pool_of(const struct hr__queue *queue, uint32_t node) {
  uint32_t i = queue->market->n_pools - 1;
  while (hr_cluster_first_node(queue->cluster, (hr_pool){i}).id > node) i--;
  return (hr_pool){i};
}

/* ---- Laying jobs on what is there ------------------------------------------------------------------- */

static void read_levels(struct hr__queue *queue) {
  struct hr__market_plan *market = queue->market;
  for (uint32_t i = 0; i < market->n_pools; i++) {
    const struct hr_free_index *index = hr_cluster_free_index(queue->cluster, (hr_pool){i});
    for (uint32_t free = 1; free <= market->gpus_per_node[i]; free++)
      market->levels[i][free] = hr_free_index_count(index, free);
    market->levels[i][market->gpus_per_node[i]] += hr_cluster_nodes_in(queue->cluster, (hr_pool){i}, HR_NODE_BOOTING);
  }
}

static uint32_t least(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

/* Nodes that one job of a gang takes. */
static uint32_t nodes_per_job(uint32_t gpus, uint32_t size) {
  return gpus / size + (gpus % size != 0);
}

/* Lays up to `count` jobs on the pool; how many found room. */
static uint32_t lay_in_pool(uint32_t *levels, uint32_t size, const struct demand *demand, uint32_t count) {
  uint32_t gpus = demand->gpus, laid = 0;
  if (gpus == 0) return count;
  if (!demand->is_single) {
    uint32_t nodes = nodes_per_job(gpus, size);
    laid = least(count, levels[size] / nodes);
    levels[size] -= laid * nodes;
    if (gpus % size) levels[size - gpus % size] += laid;
    return laid;
  }
  for (uint32_t free = gpus; free <= size && laid < count; free++) {
    uint32_t per_node = free / gpus, jobs = least(count - laid, levels[free] * per_node);
    uint32_t nodes = (jobs + per_node - 1) / per_node;
    levels[free] -= nodes;
    levels[free - per_node * gpus] += nodes;
    laid += jobs;
  }
  return laid;
}

static uint32_t lay(struct hr__queue *queue, const struct demand *demand, uint32_t count) {
  uint32_t laid = 0;
  for (uint32_t i = 0; i < queue->market->n_pools && laid < count; i++)
    if (hr_cluster_accepts(queue->cluster, demand->accept_class, (hr_pool){i}))
      laid += lay_in_pool(queue->market->levels[i], queue->market->gpus_per_node[i], demand, count - laid);
  return laid;
}

/* Lays one job on spot nodes that are free or booting. */
static bool lay_on_spot(struct hr__queue *queue, const struct demand *demand) {
  for (uint32_t i = 0; i < queue->market->n_pools; i++)
    if (is_spot(queue, i) && hr_cluster_accepts(queue->cluster, demand->accept_class, (hr_pool){i}) &&
        lay_in_pool(queue->market->levels[i], queue->market->gpus_per_node[i], demand, 1))
      return true;
  return false;
}

/* ---- Giving nodes back ------------------------------------------------------------------------------ */

/* Lays all who wait on what is free or booting: what is left over nobody waits for. */
static void lay_all(struct hr__queue *queue) {
  struct hr__market_plan *market = queue->market;
  read_levels(queue);
  for (uint32_t i = 0; i < market->n_demands; i++)
    lay(queue, &market->demands[i], market->demands[i].count - market->demands[i].held);
}

/* A wholly free node of the pool is not one that waiting jobs, a gang perhaps that has not all of its nodes yet, will
   sit on; nor one of the least that are to be kept. */
static bool is_spare(const struct hr__queue *queue, hr_pool pool) {
  const struct hr__market_plan *market = queue->market;
  if (!is_spot(queue, pool.id) && n_active_in(queue, false, true) <= market->limits.min_on_demand) return false;
  return market->levels[pool.id][market->gpus_per_node[pool.id]] > 0;
}

static enum hr_status release_idle(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  struct hr__market_plan *market = queue->market;
  enum hr_status status = HR_OK;
  struct hr__due due;
  if (hr__dues_first_us(&market->idle) <= view->now_us) lay_all(queue);
  while (status == HR_OK && hr__dues_take(&market->idle, view->now_us, &due)) {
    hr_pool pool = pool_of(queue, due.id);
    if (!is_still_idle(queue, due, pool)) continue;
    if (!is_spare(queue, pool)) { /* looked at again in a while */
      if (!node_idles(queue, (hr_node){due.id}, view->now_us)) return HR_NO_MEMORY;
      continue;
    }
    market->levels[pool.id][market->gpus_per_node[pool.id]]--;
    status = hr_plan_release(plan, (hr_node){due.id});
    if (status == HR_OK && queue->releases) hr_releases_set_usable(queue->releases, pool, (hr_node){due.id}, false);
  }
  return status;
}

/* ---- Asking for nodes ------------------------------------------------------------------------------- */

/* What a GPU-hour costs when what is lost to reclaims is counted in; more so where many nodes would be lost together.
 */
static double score(const struct hr__queue *queue, uint32_t pool, int64_t now_us) {
  double price = (double)hr_cluster_price_uusd_h(queue->cluster, (hr_pool){pool}, now_us);
  uint32_t all = n_active_in(queue, true, true);
  double share = all ? (double)n_active(queue, pool) / all : 0;
  double reclaims_per_h = hr_cluster_reclaims_per_h(queue->cluster, (hr_pool){pool});
  return price * (1 + reclaims_per_h * queue->market->limits.reclaim_hours * (1 + share));
}

/* The share of elastic nodes that spot ones would be, with so many more of them and so many fewer of the others. */
static bool keeps_share(const struct hr__queue *queue, uint32_t more_spot, uint32_t fewer_others) {
  double spot = n_active_in(queue, true, false) + more_spot;
  double others = n_active_in(queue, false, true);
  others = others > fewer_others ? others - fewer_others : 0;
  return queue->market->limits.max_spot_share >= 1 ||
         spot <= queue->market->limits.max_spot_share * (spot + others) + 1e-9;
}

/* Whether spot capacity has been on offer for long enough to be used. */
static bool is_calm(const struct hr__market_plan *market, uint32_t pool, int64_t now_us) {
  int64_t calm_us = market->calm_us[pool];
  return calm_us != HR_NEVER_US && now_us - calm_us >= market->limits.spot_hold_us;
}

/* How many nodes of the pool may be asked for now. */
static uint32_t room(const struct hr__queue *queue, uint32_t pool, int64_t now_us) {
  const struct hr__market_plan *market = queue->market;
  uint32_t offer = hr_cluster_offer(queue->cluster, (hr_pool){pool});
  if (!offer || !is_spot(queue, pool)) return offer;
  if (market->limits.rule == HR__MARKET_ON_DEMAND_ONLY) return 0;
  if (market->limits.rule == HR__MARKET_SPOT_FIRST && !is_calm(market, pool, now_us)) return 0;
  if (market->limits.max_spot_share >= 1) return offer;
  double spot = n_active_in(queue, true, false), others = n_active_in(queue, false, true);
  double most = floor(market->limits.max_spot_share * others / (1 - market->limits.max_spot_share) + 1e-9) - spot;
  return most <= 0 ? 0 : most < offer ? (uint32_t)most : offer;
}

/* The pool to ask for nodes for one job of the demand at least; HR_NONE when there is none. */
static uint32_t choose_pool(const struct hr__queue *queue, const struct demand *demand, bool spot_only,
                            int64_t now_us) {
  const struct hr__market_plan *market = queue->market;
  uint32_t best = HR_NONE;
  double best_score = 0;
  for (uint32_t i = 0; i < market->n_pools; i++) {
    uint32_t size = market->gpus_per_node[i];
    if (!is_elastic(queue, i) || (spot_only && !is_spot(queue, i))) continue;
    if (!hr_cluster_accepts(queue->cluster, demand->accept_class, (hr_pool){i})) continue;
    if (demand->is_single && demand->gpus > size) continue;
    uint32_t needed = demand->is_single ? 1 : nodes_per_job(demand->gpus, size);
    uint32_t whole = demand->is_single ? 0 : market->levels[i][size];
    if (room(queue, i, now_us) + whole < needed || room(queue, i, now_us) == 0) continue;
    double value = market->limits.rule == HR__MARKET_PRICE_CAPACITY
                       ? score(queue, i, now_us)
                       : (double)hr_cluster_price_uusd_h(queue->cluster, (hr_pool){i}, now_us);
    if (best != HR_NONE && value >= best_score) continue;
    best = i;
    best_score = value;
  }
  return best;
}

/* Asks for nodes for `count` jobs in pools of the kind; how many jobs found room. */
static enum hr_status ask(struct hr__queue *queue, const struct demand *demand, uint32_t count, bool spot_only,
                          const struct hr_view *view, struct hr_plan *plan, uint32_t *found) {
  struct hr__market_plan *market = queue->market;
  enum hr_status status = HR_OK;
  for (*found = 0; status == HR_OK && *found < count;) {
    uint32_t i = choose_pool(queue, demand, spot_only, view->now_us);
    if (i == HR_NONE) break;
    uint32_t size = market->gpus_per_node[i], left = count - *found, nodes;
    if (demand->is_single)
      nodes = (left + size / demand->gpus - 1) / (size / demand->gpus);
    else
      nodes = nodes_per_job(demand->gpus, size) - least(market->levels[i][size], nodes_per_job(demand->gpus, size) - 1);
    nodes = least(nodes, room(queue, i, view->now_us));
    /* One node at a time, as each changes the shares. */
    if (market->limits.rule == HR__MARKET_PRICE_CAPACITY && demand->is_single) nodes = 1;
    status = hr_plan_acquire(plan, (hr_pool){i}, nodes);
    market->levels[i][size] += nodes;
    *found += lay_in_pool(market->levels[i], size, demand, left);
  }
  return status;
}

static enum hr_status supply(struct hr__queue *queue, const struct demand *demand, const struct hr_view *view,
                             struct hr_plan *plan) {
  uint32_t count = demand->count - demand->held, laid = lay(queue, demand, count), left = count - laid, found = 0;
  if (left == 0) return HR_OK;
  if (queue->market->limits.rule != HR__MARKET_SPOT_FIRST || !demand->may_use_spot)
    return ask(queue, demand, left, false, view, plan, &found);
  enum hr_status status = ask(queue, demand, left, true, view, plan, &found);
  laid += found;
  uint32_t impatient = demand->impatient > laid ? demand->impatient - laid : 0;
  if (status != HR_OK || impatient == 0) return status;
  return ask(queue, demand, impatient, false, view, plan, &found);
}

/* Where the first job holds the others back, nodes are for that one before all others. */
static enum hr_status supply_first(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan,
                                   struct demand **of) {
  const struct hr__shape *shape = hr__waiting_first(&queue->waiting);
  *of = NULL;
  if (queue->backfill->passes_over || !shape || hr__gpus(queue, shape->head.job) == 0) return HR_OK;
  struct hr__market_plan *market = queue->market;
  *of = &market->demands[market->demand_of[shape->head.job.id]];
  struct demand one = **of;
  one.count = 1;
  one.held = 0;
  one.impatient = market->patience_us[shape->head.job.id] == IMPATIENT;
  return supply(queue, &one, view, plan);
}

static enum hr_status supply_all(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  struct hr__market_plan *market = queue->market;
  struct demand *of_first;
  enum hr_status status = supply_first(queue, view, plan, &of_first);
  if (of_first) of_first->held++; /* that one has been seen to */
  for (uint32_t i = 0; i < market->n_demands && status == HR_OK; i++)
    if (market->demands[i].count > market->demands[i].held) status = supply(queue, &market->demands[i], view, plan);
  if (of_first) of_first->held--;
  return status;
}

static enum hr_status keep_minimum(struct hr__queue *queue, struct hr_plan *plan) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < queue->market->n_pools && status == HR_OK; i++) {
    uint32_t there = n_active_in(queue, false, true), minimum = queue->market->limits.min_on_demand;
    if (there >= minimum) break;
    if (!is_elastic(queue, i) || is_spot(queue, i)) continue;
    status =
        hr_plan_acquire(plan, (hr_pool){i}, least(minimum - there, hr_cluster_offer(queue->cluster, (hr_pool){i})));
  }
  return status;
}

/* ---- Back to spot capacity -------------------------------------------------------------------------- */

/* The fullest node of a spot pool that the guest may go to and that costs less, with room for it. */
static bool find_spot_node(const struct hr__queue *queue, const struct guest *guest, int64_t now_us,
                           struct hr_slice *slice, hr_pool *pool) {
  uint32_t gpus = hr__gpus(queue, guest->job), accept_class = hr_cluster_accept_class(queue->cluster, guest->job);
  int64_t price = hr_cluster_price_uusd_h(queue->cluster, (hr_pool){guest->pool}, now_us);
  for (uint32_t i = 0; i < queue->market->n_pools; i++) {
    if (!is_spot(queue, i) || !hr_cluster_accepts(queue->cluster, accept_class, (hr_pool){i})) continue;
    if (!is_calm(queue->market, i, now_us) || hr_cluster_price_uusd_h(queue->cluster, (hr_pool){i}, now_us) >= price)
      continue;
    const struct hr_free_index *index = hr_cluster_free_index(queue->cluster, (hr_pool){i});
    uint32_t free = hr_free_index_lowest(index, gpus);
    if (free == HR_NONE) continue;
    uint32_t number = hr_free_index_node(index, free, 0);
    *slice = (struct hr_slice){{hr_cluster_first_node(queue->cluster, (hr_pool){i}).id + number}, gpus * 1000};
    *pool = (hr_pool){i};
    return true;
  }
  return false;
}

/* Not one that has just started, nor one that will soon be done, as far as is known. */
static bool is_worth_moving(const struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  if (view->attempt_us[job.id] == view->now_us) return false;
  return hr_trace_limit_us(queue->trace, job) - hr_view_done_us(view, job) > queue->market->limits.spot_hold_us;
}

static enum hr_status move_guest(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan,
                                 struct guest guest, const struct hr_placement *to) {
  struct hr_slice slice = {{guest.node}, hr__gpus(queue, guest.job) * 1000};
  struct hr_placement from = {{guest.pool}, 1, &slice};
  return hr__queue_move(queue, view, plan, guest.job, &from, to);
}

/* Guests go to spot nodes that have room; `*leaving`: how many. Who goes is taken from the list, and the last one takes
   its place. */
static enum hr_status move_guests(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan,
                                  uint32_t *leaving) {
  struct hr__market_plan *market = queue->market;
  enum hr_status status = HR_OK;
  for (uint32_t i = market->n_guests; i-- > 0 && status == HR_OK && keeps_share(queue, 0, *leaving + 1);) {
    struct hr_slice slice;
    if (!is_worth_moving(queue, view, market->guests[i].job)) continue;
    struct hr_placement to = {.n_slices = 1, .slices = &slice};
    if (!find_spot_node(queue, &market->guests[i], view->now_us, &slice, &to.pool)) continue;
    status = move_guest(queue, view, plan, market->guests[i], &to);
    ++*leaving;
  }
  return status;
}

/* While nobody waits: guests go to spot nodes, and nodes are asked for those that find none. */
static enum hr_status bring_back(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  struct hr__market_plan *market = queue->market;
  uint32_t leaving = 0;
  enum hr_status status = move_guests(queue, view, plan, &leaving);
  if (status != HR_OK || market->n_guests == 0) return status;
  read_levels(queue);
  for (uint32_t i = 0; i < market->n_guests && status == HR_OK; i++) {
    if (!is_worth_moving(queue, view, market->guests[i].job)) continue;
    uint32_t found, gpus = hr__gpus(queue, market->guests[i].job);
    struct demand demand = {.gpus = gpus,
                            .accept_class = hr_cluster_accept_class(queue->cluster, market->guests[i].job),
                            .is_single = true};
    leaving++;
    if (lay_on_spot(queue, &demand)) continue;
    if (!keeps_share(queue, 1, leaving)) break;
    status = ask(queue, &demand, 1, true, view, plan, &found);
    if (!found) break; /* there is none to be had */
  }
  return status;
}

/* ---- The pass --------------------------------------------------------------------------------------- */

/* When spot capacity that is on offer will have been so for long enough. */
static int64_t next_calm_us(const struct hr__market_plan *market, int64_t now_us) {
  int64_t next_us = HR_NEVER_US;
  for (uint32_t i = 0; i < market->n_pools; i++) {
    if (market->calm_us[i] == HR_NEVER_US) continue;
    int64_t held_us = market->calm_us[i] + market->limits.spot_hold_us;
    if (held_us > now_us && held_us < next_us) next_us = held_us;
  }
  return next_us;
}

static enum hr_status wake_for_next(struct hr__market_plan *market, const struct hr_view *view, struct hr_plan *plan) {
  int64_t next_us = hr__dues_first_us(&market->idle), patience_us = hr__dues_first_us(&market->patience);
  int64_t calm_us = market->limits.rule == HR__MARKET_SPOT_FIRST ? next_calm_us(market, view->now_us) : HR_NEVER_US;
  if (patience_us < next_us) next_us = patience_us;
  if (calm_us < next_us) next_us = calm_us;
  bool pending = market->wake_us > view->now_us && market->wake_us <= next_us;
  if (next_us == HR_NEVER_US || pending) return HR_OK;
  market->wake_us = next_us;
  return hr_plan_wake_at(plan, next_us);
}

enum hr_status hr__market_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  struct hr__market_plan *market = queue->market;
  lose_patience(market, view->now_us);
  if (queue->quota && !count_held(queue)) return HR_NO_MEMORY;
  enum hr_status status = release_idle(queue, view, plan);
  if (status == HR_OK) status = keep_minimum(queue, plan);
  if (status == HR_OK && view->n_waiting) {
    read_levels(queue);
    status = supply_all(queue, view, plan);
  } else if (status == HR_OK && market->n_guests) {
    status = bring_back(queue, view, plan);
  }
  return status == HR_OK ? wake_for_next(market, view, plan) : status;
}

/* ---- Making one ------------------------------------------------------------------------------------- */

static bool make_levels(struct hr__queue *queue) {
  struct hr__market_plan *market = queue->market;
  for (uint32_t i = 0; i < market->n_pools; i++) {
    market->gpus_per_node[i] = hr_cluster_pool_spec(queue->cluster, (hr_pool){i})->gpus_per_node;
    market->levels[i] = hr_arena_alloc(queue->arena, (market->gpus_per_node[i] + 1) * sizeof **market->levels);
    if (!market->levels[i]) return false;
  }
  return true;
}

static uint32_t n_nodes(const struct hr_cluster *cluster) {
  hr_pool last = {hr_cluster_pools(cluster) - 1};
  return hr_cluster_first_node(cluster, last).id + hr_cluster_pool_spec(cluster, last)->nodes;
}

static const struct hr__listener listener = {.job_waits = job_waits,
                                             .job_starts = job_starts,
                                             .job_rejected = job_waits_no_more,
                                             .job_stops = job_stops,
                                             .job_moves = job_moves,
                                             .node_changes = node_changes};

bool hr__market_create(struct hr__queue *queue, const struct hr__market_limits *limits) {
  struct hr__market_plan *market = hr_arena_alloc(queue->arena, sizeof *market);
  if (!market) return false;
  size_t n_jobs = queue->trace->n_jobs, n_pools = hr_cluster_pools(queue->cluster);
  *market = (struct hr__market_plan){.limits = *limits, .n_pools = (uint32_t)n_pools};
  market->gpus_per_node = hr_arena_alloc(queue->arena, n_pools * sizeof *market->gpus_per_node);
  market->demand_of = hr_arena_alloc(queue->arena, n_jobs * sizeof *market->demand_of);
  market->patience_us = hr_arena_alloc(queue->arena, n_jobs * sizeof *market->patience_us);
  market->calm_us = hr_arena_alloc(queue->arena, n_pools * sizeof *market->calm_us);
  market->idle_us = hr_arena_alloc(queue->arena, n_nodes(queue->cluster) * sizeof *market->idle_us);
  market->levels = hr_arena_alloc(queue->arena, n_pools * sizeof(*market->levels));
  market->guest_at = hr_arena_alloc(queue->arena, n_jobs * sizeof *market->guest_at);
  bool all = market->guest_at && market->gpus_per_node && market->demand_of && market->patience_us && market->calm_us &&
             market->idle_us && market->levels;
  if (!all) return false;
  /* What is on offer at the beginning is taken to have been so for long. */
  for (uint32_t i = 0; i < n_pools; i++)
    market->calm_us[i] = hr_cluster_offer(queue->cluster, (hr_pool){i}) ? -limits->spot_hold_us : HR_NEVER_US;
  queue->market = market;
  hr__queue_listen(queue, &listener);
  return make_levels(queue);
}
