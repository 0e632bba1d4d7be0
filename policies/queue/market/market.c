/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Market rules: when nodes of elastic pools are acquired and released.
 *
 * A demand is the set of waiting jobs with equal needs. It has counts of jobs, of jobs without remaining patience, and
 * of jobs that quotas block, so that the supply of a demand does not examine its jobs. Demands are found in a hash
 * table by need. After the backfill has started jobs, the remaining waiting jobs are packed on capacity that is free or
 * booting, one demand after the other. For jobs that cannot be packed, nodes are acquired in the pool that the rule
 * prefers (supply.c).
 *
 * Under spot-first a job waits for spot capacity for a limited time, its patience, before it uses on-demand. A node
 * that has been idle for a minimum time is released, unless waiting jobs will use it. Under spot-first, running jobs
 * may be moved from on-demand nodes to spot capacity while no job waits; these are the returning jobs. Their list is
 * not sorted, but its order is the same in each run: a job is added at the end, and the last job takes the place of a
 * job that is removed.
 */

#include "policies/queue/market/market.h"

#include "policies/queue/quota/quota.h"

/* ---- Needs ---------------------------------------------------------------------------------------- */

static bool may_use_spot(const struct hr__queue *queue, uint32_t accept_class) {
  for (uint32_t i = 0; i < queue->market->n_pools; i++)
    if (hr__market_is_spot(queue, i) && hr_cluster_accepts(queue->cluster, accept_class, (hr_pool){i})) return true;
  return false;
}

static struct hr_need need_of(const struct hr__queue *queue, hr_job job) {
  struct hr_need need = hr__need_of(queue, job);
  need.accept_class = hr_cluster_accept_class(queue->cluster, job);
  return need;
}

static bool is_equal(const struct hr_need *a, const struct hr_need *b) {
  return a->gpus == b->gpus && a->accept_class == b->accept_class && a->request == b->request && a->tier == b->tier &&
         a->preferred == b->preferred;
}

static uint32_t hash_of(const struct hr_need *need) {
  uint64_t digest = hr__digest_add(HR__DIGEST_SEED, (uint64_t)need->gpus << 32 | need->accept_class);
  digest = hr__digest_add(digest, (uint64_t)need->request << 32 | (uint64_t)need->tier << 1 | need->preferred);
  return hr__hash_u64(digest);
}

static uint32_t add_demand(struct hr__queue *queue, const struct hr_need *need) {
  struct hr__market *market = queue->market;
  if (!HR__ARENA_HAS_ROOM(queue->arena, market->demands, market->n_demands, market->demands_capacity)) return HR_NONE;
  if (!HR__ARENA_HAS_ROOM(queue->arena, market->active_demands, market->n_demands, market->active_demands_capacity))
    return HR_NONE;
  market->demands[market->n_demands] =
      (struct hr__market_demand){.need = *need,
                                 .is_single = hr_placer_is_single(queue->placer, need->gpus, need->accept_class),
                                 .may_use_spot = may_use_spot(queue, need->accept_class)};
  if (!hr__hash_add(&market->demand_at, queue->arena, hash_of(need), market->n_demands)) return HR_NONE;
  return market->n_demands++;
}

/* Returns the index of the demand with this need, created if needed; HR_NONE: out of memory. */
static uint32_t find_demand(struct hr__queue *queue, const struct hr_need *need) {
  const struct hr__market *market = queue->market;
  struct hr__hash_cursor at;
  for (uint32_t i = hr__hash_first(&market->demand_at, hash_of(need), &at); i != HR_NONE;
       i = hr__hash_next(&market->demand_at, &at))
    if (is_equal(&market->demands[i].need, need)) return i;
  return add_demand(queue, need);
}

/* ---- Jobs ----------------------------------------------------------------------------------------- */

/* Adds a waiting job to the demand `at`. The list of active demands has room for all demands. */
static void count_job(struct hr__market *market, uint32_t at) {
  if (market->demands[at].count++ > 0) return;
  market->demands[at].active_at = market->n_active_demands;
  market->active_demands[market->n_active_demands++] = at;
}

/* Removes a waiting job from the demand `at`. The last active demand takes the place of a demand without jobs. */
static void uncount_job(struct hr__market *market, uint32_t at) {
  if (--market->demands[at].count > 0) return;
  uint32_t place = market->demands[at].active_at, last = market->active_demands[--market->n_active_demands];
  market->active_demands[place] = last;
  market->demands[last].active_at = place;
}

/* Adds a job that begins to wait, and starts its patience. False: out of memory. */
static bool add_to_demand(struct hr__queue *queue, hr_job job, int64_t now_us) {
  struct hr__market *market = queue->market;
  struct hr_need need = need_of(queue, job);
  market->demand_of[job.id] = HR_NONE;
  if (hr_need_is_empty(queue->cluster, &need)) return true;
  uint32_t at = find_demand(queue, &need);
  if (at == HR_NONE) return false;
  market->demand_of[job.id] = at;
  count_job(market, at);
  market->patience_us[job.id] = now_us + market->limits.spot_wait_us;
  if (market->limits.rule != HR__MARKET_SPOT_FIRST || !market->demands[at].may_use_spot) return true;
  struct hr__deadline_entry entry = {market->patience_us[job.id], job.id};
  return hr__deadline_fifo_add(&market->patience, queue->arena, entry);
}

/* Removes a job that no longer waits. */
static void remove_from_demand(struct hr__queue *queue, hr_job job) {
  struct hr__market *market = queue->market;
  struct hr__market_demand *demand = hr__market_demand_of(queue, job);
  if (!demand) return;
  uncount_job(market, market->demand_of[job.id]);
  demand->impatient -= market->patience_us[job.id] == HR__IMPATIENT;
  market->patience_us[job.id] = HR_NEVER_US;
}

/* Moves a waiting job to the demand of its new need after its kind has changed. False: out of memory. */
static bool change_demand(struct hr__queue *queue, hr_job job) {
  struct hr__market *market = queue->market;
  if (market->demand_of[job.id] == HR_NONE) return true;
  struct hr_need need = need_of(queue, job);
  uint32_t from = market->demand_of[job.id], to = find_demand(queue, &need);
  if (to == HR_NONE) return false;
  bool is_impatient = market->patience_us[job.id] == HR__IMPATIENT;
  uncount_job(market, from);
  market->demands[from].impatient -= is_impatient;
  count_job(market, to);
  market->demands[to].impatient += is_impatient;
  market->demand_of[job.id] = to;
  return true;
}

/* ---- Counts --------------------------------------------------------------------------------------- */

/* Counts jobs without remaining patience. An entry of a job that has started or ended meanwhile is skipped. It is
   recognized because patience_us then differs from the time of the entry: after a start it is HR_NEVER_US, and after
   the state of an ended job was discarded it reads as 0. No entry with time 0 is left by then, because such entries are
   removed in the first pass, before any job that waited can have ended. */
static void end_patience(struct hr__market *market, int64_t now_us) {
  struct hr__deadline_entry entry;
  while (hr__deadline_fifo_take(&market->patience, now_us, &entry)) {
    if (market->patience_us[entry.id] != entry.at_us) continue; /* the job has started or ended meanwhile */
    market->patience_us[entry.id] = HR__IMPATIENT;
    market->demands[market->demand_of[entry.id]].impatient++;
  }
}

/* Checks whether the tenant's quota admits the job in addition to the jobs that were accepted before in this count. If
   so, subtracts the job from the jobs of its demand that are held, and adds it to the usage of its tenant for the rest
   of the count. Otherwise returns false, so that the later jobs of the subqueue are not visited. */
static bool count_in(void *self, struct hr_job_entry entry) {
  struct hr__queue *queue = self;
  struct hr__market *market = queue->market;
  if (market->demand_of[entry.job.id] == HR_NONE) return true;
  if (!hr__quota_allows(queue, entry.job)) return false;
  market->failed = !HR__ARENA_HAS_ROOM(queue->arena, market->counted, market->n_counted, market->counted_capacity);
  if (market->failed) return false;
  market->counted[market->n_counted++] = entry.job;
  struct hr__market_demand *demand = &market->demands[market->demand_of[entry.job.id]];
  demand->held--;
  demand->held_impatient -= market->patience_us[entry.job.id] == HR__IMPATIENT;
  hr__quota_count(queue, entry.job);
  return true;
}

/* Sets `held` and `held_impatient` of each demand: the numbers of its jobs that quotas would block even if there were
   enough nodes. False: out of memory. */
static bool count_held(struct hr__queue *queue) {
  struct hr__market *market = queue->market;
  market->n_counted = 0;
  for (uint32_t i = 0; i < market->n_demands; i++) {
    market->demands[i].held = market->demands[i].count;
    market->demands[i].held_impatient = market->demands[i].impatient;
  }
  for (uint32_t i = 0; i < queue->waiting.n_active_subqueues; i++)
    hr_job_tree_each(&queue->waiting.active_subqueues[i]->jobs, NULL, count_in, queue);
  for (uint32_t i = 0; i < market->n_counted; i++) hr__quota_uncount(queue, market->counted[i]);
  return !market->failed;
}

/* Updates the numbers of impatient and of held jobs of each demand. False: out of memory. */
static bool count_demands(struct hr__queue *queue, int64_t now_us) {
  end_patience(queue->market, now_us);
  return !queue->quota || count_held(queue);
}

/* ---- Jobs that return to spot capacity ----------------------------------------------------------------- */

/* Adds a job to the list of returning jobs. The job has just started on one on-demand node, and may use spot capacity.
   Gangs with several slices are never moved, so they are not added. The next pass may move the job. False: out of
   memory. */
static bool returning_add(struct hr__queue *queue, hr_job job, hr_pool pool) {
  struct hr__market *market = queue->market;
  if (!HR__ARENA_HAS_ROOM(queue->arena, market->returning, market->n_returning, market->returning_capacity))
    return false;
  market->returning[market->n_returning++] = (struct hr__returning_job){job, pool};
  market->returning_at[job.id] = market->n_returning;
  return true;
}

/* Removes a job from the list of returning jobs, if it is in the list. */
static void returning_drop(struct hr__queue *queue, hr_job job) {
  struct hr__market *market = queue->market;
  uint32_t at = market->returning_at[job.id];
  if (!at) return;
  market->returning_at[job.id] = 0;
  struct hr__returning_job last = market->returning[--market->n_returning];
  if (last.job.id == job.id) return;
  market->returning[at - 1] = last;
  market->returning_at[last.job.id] = at;
}

/* Returns what a returning job needs now. Its topology constraint may have expired since it started. */
static struct hr_need returning_need(const struct hr__queue *queue, hr_job job, int64_t now_us) {
  struct hr_need need = hr__need_of(queue, job);
  need.accept_class = hr_cluster_accept_class(queue->cluster, job);
  need.preferred = need.preferred || (queue->locality && hr_cluster_locality(queue->cluster, job).until_us <= now_us);
  return need;
}

/* Finds the fullest node of a spot pool with room for a job. `slice`: memory for the placement. */
static bool find_node(const struct hr__queue *queue, hr_pool pool, uint32_t gpus, struct hr_placement *to,
                      struct hr_slice *slice) {
  const struct hr_free_index *index = hr_cluster_free_index(queue->cluster, pool);
  uint32_t free = hr_free_index_lowest(index, gpus);
  if (free == HR_NONE) return false;
  uint32_t number = hr_free_index_node(index, free, 0);
  *slice = (struct hr_slice){{hr_cluster_first_node(queue->cluster, pool).id + number}, gpus * 1000, 0};
  *to = (struct hr_placement){pool, 1, slice};
  return true;
}

/* Finds a placement on spot capacity for a job, in the first pool that has one: by the placement rule or, in counted
   allocation without topology constraints, on the fullest node with room. The job must accept the pool, and the pool
   must be stable and cheaper than the job's pool. */
static bool find_place(const struct hr__queue *queue, const struct hr__returning_job *job, int64_t now_us,
                       struct hr_placement *to, struct hr_slice *slice) {
  const struct hr__market *market = queue->market;
  struct hr_need need = returning_need(queue, job->job, now_us);
  int64_t price = hr_cluster_price_uusd_h(queue->cluster, job->pool, now_us);
  for (uint32_t i = 0; i < market->n_pools; i++) {
    hr_pool pool = {i};
    if (!hr__market_is_spot(queue, i) || !hr_cluster_accepts(queue->cluster, need.accept_class, pool)) continue;
    if (!hr__market_is_stable(market, i, now_us) || hr_cluster_price_uusd_h(queue->cluster, pool, now_us) >= price)
      continue;
    if (market->placed ? hr_capacity_find_in(queue->capacity, pool, &need, to)
                       : find_node(queue, pool, need.gpus, to, slice))
      return true;
  }
  return false;
}

/* Returns whether a job should be moved: the remaining time until its limit must exceed spot_hold_us. A job that has
   started at this instant cannot be moved. It is considered again after spot_hold_us (after 1 us if spot_hold_us is 0),
   or in an earlier pass. */
static bool is_worth_moving(const struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct hr__market *market = queue->market;
  if (hr_trace_limit_us(queue->trace, job) - hr_view_done_us(view, job) <= market->limits.spot_hold_us) return false;
  if (view->attempt_us[job.id] < view->now_us) return true;
  market->retry_us = view->now_us + (market->limits.spot_hold_us ? market->limits.spot_hold_us : 1);
  return false;
}

/* Moves a running job to another placement. The job loses no work. */
static enum hr_status move_job(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves, hr_job job,
                               const struct hr_placement *to) {
  struct hr_slice one, slice;
  struct hr_placement from = hr_view_placement(view, job, &one);
  slice = from.slices[0];
  from.slices = &slice;
  enum hr_status status = hr_moves_preempt(moves, job, HR_REASON_POLICY);
  if (status == HR_OK) status = hr_moves_start(moves, job, to, HR_REASON_IN_ORDER);
  queue->freed = true;
  return status == HR_OK ? hr__queue_job_moves(queue, view, job, &from, to) : status;
}

/* Returns whether the share of spot nodes remains within its maximum if `more_spot` spot nodes are added and
   `fewer_others` on-demand nodes are removed. */
static bool keeps_share(const struct hr__queue *queue, uint32_t more_spot, uint32_t fewer_others) {
  double spot = hr__market_n_active_in(queue, true, false) + more_spot;
  double others = hr__market_n_active_in(queue, false, true);
  others = others > fewer_others ? others - fewer_others : 0;
  return queue->market->limits.max_spot_share >= 1 ||
         spot <= queue->market->limits.max_spot_share * (spot + others) + 1e-9;
}

/* Moves returning jobs to spot nodes with room. `*leaving`: incremented for each moved job. The loop runs backwards
   because a moved job is removed from the list, and the last job of the list takes its place. */
static enum hr_status move_all(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                               uint32_t *leaving) {
  struct hr__market *market = queue->market;
  enum hr_status status = HR_OK;
  for (uint32_t i = market->n_returning; i-- > 0 && status == HR_OK && keeps_share(queue, 0, *leaving + 1);) {
    struct hr_placement to;
    struct hr_slice slice;
    if (!is_worth_moving(queue, view, market->returning[i].job)) continue;
    if (!find_place(queue, &market->returning[i], view->now_us, &to, &slice)) continue;
    status = move_job(queue, view, moves, market->returning[i].job, &to);
    ++*leaving;
  }
  return status;
}

/* Acquires spot nodes for the returning jobs that could not be moved. */
static enum hr_status supply(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                             uint32_t leaving) {
  const struct hr__market *market = queue->market;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < market->n_returning && status == HR_OK; i++) {
    uint32_t found;
    if (!is_worth_moving(queue, view, market->returning[i].job)) continue;
    struct hr__market_demand demand = {.need = returning_need(queue, market->returning[i].job, view->now_us),
                                       .is_single = true};
    leaving++;
    if (hr__supply_pack(queue, &demand, 1, true)) continue;
    if (!keeps_share(queue, 1, leaving)) break;
    status = hr__supply_acquire(queue, &demand, 1, true, view, moves, &found);
    if (!found) break; /* no spot node is available */
  }
  return status;
}

/* Called while no job waits: moves returning jobs to spot nodes that have room, and acquires spot nodes for the other
   returning jobs, which a later pass can move. */
static enum hr_status returning_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  uint32_t leaving = 0;
  queue->market->retry_us = HR_NEVER_US;
  enum hr_status status = move_all(queue, view, moves, &leaving);
  if (status != HR_OK || queue->market->n_returning == 0) return status;
  if (!hr__supply_begin(queue)) return HR_NO_MEMORY;
  status = supply(queue, view, moves, leaving);
  return hr__supply_end(queue) ? status : HR_NO_MEMORY;
}

/* ---- Idle nodes -------------------------------------------------------------------------------- */

/* Begins the idle time of a node. False: out of memory. */
static bool idle_begin(struct hr__queue *queue, hr_node node, int64_t now_us) {
  struct hr__market *market = queue->market;
  market->idle_us[node.id] = now_us;
  return hr__deadline_fifo_add(&market->idle, queue->arena,
                               (struct hr__deadline_entry){now_us + market->limits.idle_release_us, node.id});
}

/* Returns whether a node is up and no job is on it. */
static bool is_idle(const struct hr__queue *queue, hr_pool pool, hr_node node) {
  return hr_cluster_node_state(queue->cluster, node) == HR_NODE_UP && hr_capacity_is_idle(queue->capacity, pool, node);
}

/* Begins the idle time of the nodes of a placement that became empty when its job left. False: out of memory. */
static bool idle_after(struct hr__queue *queue, const struct hr_placement *placement, int64_t now_us) {
  if (!hr__market_is_elastic(queue, placement->pool.id)) return true;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    hr_node node = placement->slices[i].node;
    if (is_idle(queue, placement->pool, node) && !idle_begin(queue, node, now_us)) return false;
  }
  return true;
}

/* Returns whether the node of the entry has been idle without interruption since the entry was added. */
static bool is_still_idle(const struct hr__queue *queue, struct hr__deadline_entry entry, hr_pool pool) {
  return queue->market->idle_us[entry.id] + queue->market->limits.idle_release_us == entry.at_us &&
         is_idle(queue, pool, (hr_node){entry.id});
}

static hr_pool pool_of(const struct hr__queue *queue, uint32_t node) {
  uint32_t i = queue->market->n_pools - 1;
  while (hr_cluster_first_node(queue->cluster, (hr_pool){i}).id > node) i--;
  return (hr_pool){i};
}

/* Sets `spare` to the number of empty nodes by pool after all waiting jobs that quotas admit were packed on the
   capacity that is free or booting. A node that a waiting gang will use together with other nodes is not spare. False:
   out of memory. */
static bool count_spare(struct hr__queue *queue) {
  struct hr__market *market = queue->market;
  if (!hr__supply_begin(queue) || hr__supply_pack_all(queue) != HR_OK) return false;
  for (uint32_t i = 0; i < market->n_pools; i++)
    market->spare[i] = hr__market_is_elastic(queue, i) ? hr__supply_empty_nodes(queue, i) : 0;
  return hr__supply_end(queue);
}

/* Returns whether an idle node of the pool may be released: a spare node remains and, in an on-demand pool, the number
   of on-demand nodes exceeds their minimum. */
static bool is_spare(const struct hr__queue *queue, hr_pool pool) {
  const struct hr__market *market = queue->market;
  if (!hr__market_is_spot(queue, pool.id) && hr__market_n_active_in(queue, false, true) <= market->limits.min_on_demand)
    return false;
  return market->spare[pool.id] > 0;
}

/* Releases a node, and notifies the listeners. */
static enum hr_status release(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves, hr_pool pool,
                              hr_node node) {
  struct hr_event event = {
      .at_us = view->now_us, .kind = HR_EVENT_RELEASE, .job = {HR_NONE}, .pool = pool, .node = node};
  enum hr_status status = hr_moves_release(moves, node);
  queue->market->spare[pool.id]--;
  HR__NOTIFY(queue, status, node_changes, view, &event);
  return status;
}

/* Releases spare nodes that have been idle for the minimum time. */
static enum hr_status release_idle(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__market *market = queue->market;
  enum hr_status status = HR_OK;
  struct hr__deadline_entry entry;
  bool is_counted = false;
  while (status == HR_OK && hr__deadline_fifo_take(&market->idle, view->now_us, &entry)) {
    hr_pool pool = pool_of(queue, entry.id);
    if (!is_still_idle(queue, entry, pool)) continue;
    if (!is_counted && !count_spare(queue)) return HR_NO_MEMORY;
    is_counted = true;
    if (is_spare(queue, pool))
      status = release(queue, view, moves, pool, (hr_node){entry.id});
    else if (!idle_begin(queue, (hr_node){entry.id}, view->now_us)) /* check again after another idle time */
      return HR_NO_MEMORY;
  }
  return status;
}

/* ---- Events --------------------------------------------------------------------------------------- */

static enum hr_status job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  queue->changed = true;
  return add_to_demand(queue, job, view->now_us) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status job_rejected(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  remove_from_demand(queue, job);
  return HR_OK;
}

static enum hr_status kind_changes(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  queue->changed = true;
  return change_demand(queue, job) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status job_starts(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                 const struct hr_placement *placement) {
  const struct hr__market *market = queue->market;
  const struct hr__market_demand *demand = hr__market_demand_of(queue, job);
  (void)view;
  if (!demand) return HR_OK;
  if (market->placed) hr__placed_supply_job_changes(queue, job, placement, true);
  bool would_return = market->limits.returns && demand->may_use_spot && placement->n_slices == 1;
  remove_from_demand(queue, job);
  if (!would_return || !hr__market_is_elastic(queue, placement->pool.id) ||
      hr__market_is_spot(queue, placement->pool.id))
    return HR_OK;
  return returning_add(queue, job, placement->pool) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  returning_drop(queue, event->job);
  if (queue->market->placed) hr__placed_supply_job_changes(queue, event->job, event->placement, false);
  return idle_after(queue, event->placement, view->now_us) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status job_moves(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                const struct hr_placement *from, const struct hr_placement *to) {
  returning_drop(queue, job);
  if (queue->market->placed) {
    hr__placed_supply_job_changes(queue, job, from, false);
    hr__placed_supply_job_changes(queue, job, to, true);
  }
  return idle_after(queue, from, view->now_us) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status node_changes(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  (void)view;
  struct hr__market *market = queue->market;
  hr_pool pool = event->pool;
  if (market->placed) hr__placed_supply_node_changes(queue, event);
  if (!hr__market_is_elastic(queue, pool.id)) return HR_OK;
  if (event->kind == HR_EVENT_OFFER) {
    bool offered = hr_cluster_offer(queue->cluster, pool) > 0;
    if (!offered) market->stable_us[pool.id] = HR_NEVER_US;
    if (offered && market->stable_us[pool.id] == HR_NEVER_US) market->stable_us[pool.id] = event->at_us;
    return HR_OK;
  }
  if (event->kind == HR_EVENT_NODE_DOWN) {
    if (market->stable_us[pool.id] != HR_NEVER_US) market->stable_us[pool.id] = event->at_us;
    return HR_OK;
  }
  return event->kind != HR_EVENT_NODE_UP || idle_begin(queue, event->node, event->at_us) ? HR_OK : HR_NO_MEMORY;
}

/* ---- Pass ----------------------------------------------------------------------------------------- */

/* Returns the next time after now at which the available capacity of some pool becomes stable; HR_NEVER_US: none. */
static int64_t next_stable_us(const struct hr__market *market, int64_t now_us) {
  int64_t next_us = HR_NEVER_US;
  for (uint32_t i = 0; i < market->n_pools; i++) {
    if (market->stable_us[i] == HR_NEVER_US) continue;
    int64_t held_us = market->stable_us[i] + market->limits.spot_hold_us;
    if (held_us > now_us && held_us < next_us) next_us = held_us;
  }
  return next_us;
}

/* Returns the next end of a patience or of an idle time; HR_NEVER_US: none. Drops entries before it: those for jobs
   that have started and for nodes that have been used. */
static int64_t next_entry_us(struct hr__queue *queue) {
  struct hr__market *market = queue->market;
  struct hr__deadline_entry entry;
  while (hr__deadline_fifo_first(&market->patience, HR_NEVER_US, &entry) &&
         market->patience_us[entry.id] != entry.at_us)
    hr__deadline_fifo_take(&market->patience, HR_NEVER_US, &entry);
  while (hr__deadline_fifo_first(&market->idle, HR_NEVER_US, &entry) &&
         !is_still_idle(queue, entry, pool_of(queue, entry.id)))
    hr__deadline_fifo_take(&market->idle, HR_NEVER_US, &entry);
  int64_t idle_us = hr__deadline_fifo_first_us(&market->idle),
          patience_us = hr__deadline_fifo_first_us(&market->patience);
  return idle_us < patience_us ? idle_us : patience_us;
}

/* Requests a wake-up for the next time at which a pass may decide something without an event. */
static enum hr_status request_wake(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__market *market = queue->market;
  int64_t next_us = next_entry_us(queue);
  market->due_us = market->limits.rule == HR__MARKET_SPOT_FIRST ? next_stable_us(market, view->now_us) : HR_NEVER_US;
  if (market->retry_us <= view->now_us) market->retry_us = HR_NEVER_US;
  if (market->retry_us < market->due_us) market->due_us = market->retry_us;
  if (market->due_us < next_us) next_us = market->due_us;
  return hr__wake(&market->wake_us, view, moves, next_us);
}

/* Returns whether nodes may have to be acquired or released now although no event has occurred since the last pass. */
static bool is_due(struct hr__queue *queue, int64_t now_us) {
  const struct hr__market *market = queue->market;
  return market->uses_time || market->due_us <= now_us || next_entry_us(queue) <= now_us;
}

enum hr_status hr__market_wake(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves, bool *due) {
  *due = is_due(queue, view->now_us);
  return *due ? HR_OK : request_wake(queue, view, moves);
}

/* Acquires nodes until the minimum number of on-demand nodes is reached. */
static enum hr_status keep_minimum(struct hr__queue *queue, struct hr_moves *moves) {
  enum hr_status status = HR_OK;
  uint32_t minimum = queue->market->limits.min_on_demand;
  for (uint32_t i = 0; minimum && i < queue->market->n_pools && status == HR_OK; i++) {
    uint32_t there = hr__market_n_active_in(queue, false, true);
    if (there >= minimum) break;
    if (!hr__market_is_elastic(queue, i) || hr__market_is_spot(queue, i)) continue;
    uint32_t offer = hr_cluster_offer(queue->cluster, (hr_pool){i});
    status = hr__supply_request(queue, moves, i, offer < minimum - there ? offer : minimum - there);
  }
  return status;
}

/* Acquires and releases nodes. */
static enum hr_status act(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  const struct hr__market *market = queue->market;
  if (!count_demands(queue, view->now_us)) return HR_NO_MEMORY;
  enum hr_status status = release_idle(queue, view, moves);
  if (status == HR_OK) status = keep_minimum(queue, moves);
  if (status == HR_OK && view->n_waiting)
    status = hr__supply_all(queue, view, moves);
  else if (status == HR_OK && market->n_returning)
    status = returning_pass(queue, view, moves);
  return status;
}

enum hr_status hr__market_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  bool acts = queue->changed || is_due(queue, view->now_us);
  enum hr_status status = acts ? act(queue, view, moves) : HR_OK;
  return status == HR_OK ? request_wake(queue, view, moves) : status;
}

/* ---- Construction --------------------------------------------------------------------------------- */

static const struct hr__listener listener = {.job_waits = job_waits,
                                             .job_starts = job_starts,
                                             .job_rejected = job_rejected,
                                             .job_stops = job_stops,
                                             .job_moves = job_moves,
                                             .kind_changes = kind_changes,
                                             .node_changes = node_changes};

/* Returns whether prices change during the run. */
static bool has_price_series(const struct hr__queue *queue) {
  for (uint32_t i = 0; i < queue->market->n_pools; i++)
    if (hr_cluster_pool_spec(queue->cluster, (hr_pool){i})->market.n_prices > 0) return true;
  return false;
}

bool hr__market_create(struct hr__queue *queue, const struct hr__market_limits *limits) {
  struct hr__market *market = hr_arena_alloc(queue->arena, sizeof *market);
  if (!market) return false;
  size_t n_pools = hr_cluster_pools(queue->cluster);
  uint32_t n_jobs = queue->trace->n_jobs;
  *market = (struct hr__market){
      .limits = *limits, .n_pools = (uint32_t)n_pools, .due_us = HR_NEVER_US, .retry_us = HR_NEVER_US};
  if (!HR__ARENA_ARRAY_BY_JOB(queue->arena, market->demand_of, n_jobs) ||
      !HR__ARENA_ARRAY_BY_JOB(queue->arena, market->patience_us, n_jobs) ||
      !HR__ARENA_ARRAY_BY_JOB(queue->arena, market->returning_at, n_jobs) ||
      !HR__ARENA_ARRAY(queue->arena, market->idle_us, hr__n_nodes(queue->cluster)) ||
      !HR__ARENA_ARRAY(queue->arena, market->stable_us, n_pools) ||
      !HR__ARENA_ARRAY(queue->arena, market->spare, n_pools) || !HR__ARENA_ARRAY(queue->arena, market->room, n_pools) ||
      !HR__ARENA_ARRAY(queue->arena, market->kind, n_pools))
    return false;
  for (uint32_t i = 0; i < n_pools; i++)
    market->kind[i] = hr_cluster_pool_spec(queue->cluster, (hr_pool){i})->market.market;
  /* Capacity that is available at the start of the run counts as stable. */
  for (uint32_t i = 0; i < n_pools; i++)
    market->stable_us[i] = hr_cluster_offer(queue->cluster, (hr_pool){i}) ? -limits->spot_hold_us : HR_NEVER_US;
  queue->market = market;
  market->uses_time = has_price_series(queue);
  hr__queue_add_listener(queue, &listener);
  return queue->by_gpu || queue->locality ? hr__placed_supply_create(queue) : hr__counted_supply_create(queue);
}
