/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A demand is the set of waiting jobs with equal needs. It has counts of jobs, of jobs without remaining patience, and
 * of jobs that quotas block, so that the supply of a demand does not examine its jobs. Demands are found in a hash
 * table by need.
 *
 * Return to spot capacity: the list of returning jobs is not sorted, but its order is the same in each run: a job is
 * added at the end, and the last job takes the place of a job that is removed.
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
  struct hr__market_demand *demands =
      hr__ensure_room(queue->arena, market->demands, market->n_demands, &market->demands_capacity, sizeof *demands);
  if (!demands) return HR_NONE;
  market->demands = demands;
  uint32_t *active = hr__ensure_room(queue->arena, market->active_demands, market->n_demands,
                                     &market->active_demands_capacity, sizeof *active);
  if (!active) return HR_NONE;
  market->active_demands = active;
  demands[market->n_demands] =
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

bool hr__demand_add(struct hr__queue *queue, hr_job job, int64_t now_us) {
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

void hr__demand_remove(struct hr__queue *queue, hr_job job) {
  struct hr__market *market = queue->market;
  struct hr__market_demand *demand = hr__market_demand_of(queue, job);
  if (!demand) return;
  uncount_job(market, market->demand_of[job.id]);
  demand->impatient -= market->patience_us[job.id] == HR__IMPATIENT;
  market->patience_us[job.id] = HR_NEVER_US;
}

bool hr__demand_change(struct hr__queue *queue, hr_job job) {
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

/* If the tenant's quota admits the job in addition to the jobs that this function has accepted before, subtracts the
   job from the `held` jobs of its demand, and adds it to the usage of its tenant for the rest of the count. */
static bool count_in(void *self, struct hr_job_entry entry) {
  struct hr__queue *queue = self;
  struct hr__market *market = queue->market;
  if (market->demand_of[entry.job.id] == HR_NONE) return true;
  if (!hr__quota_allows(queue, entry.job)) return false;
  market->counted =
      hr__ensure_room(queue->arena, market->counted, market->n_counted, &market->counted_capacity, sizeof(hr_job));
  if (!market->counted) return false;
  market->counted[market->n_counted++] = entry.job;
  market->demands[market->demand_of[entry.job.id]].held--;
  hr__quota_count(queue, entry.job);
  return true;
}

/* Sets `held` of each demand: the number of its jobs that quotas would block even if there were enough nodes. False:
   out of memory. */
static bool count_held(struct hr__queue *queue) {
  struct hr__market *market = queue->market;
  market->n_counted = 0;
  for (uint32_t i = 0; i < market->n_demands; i++) market->demands[i].held = market->demands[i].count;
  for (uint32_t i = 0; i < queue->waiting.n_active_subqueues; i++)
    hr_job_tree_each(&queue->waiting.active_subqueues[i]->jobs, NULL, count_in, queue);
  for (uint32_t i = 0; i < market->n_counted; i++) hr__quota_uncount(queue, market->counted[i]);
  return market->counted || market->n_counted == 0;
}

bool hr__demands_count(struct hr__queue *queue, int64_t now_us) {
  end_patience(queue->market, now_us);
  return !queue->quota || count_held(queue);
}

/* ---- Jobs that return to spot capacity ----------------------------------------------------------------- */

bool hr__returning_add(struct hr__queue *queue, hr_job job, hr_pool pool) {
  struct hr__market *market = queue->market;
  struct hr__returning_job *returning = hr__ensure_room(queue->arena, market->returning, market->n_returning,
                                                        &market->returning_capacity, sizeof *returning);
  if (!returning) return false;
  market->returning = returning;
  returning[market->n_returning++] = (struct hr__returning_job){job, pool};
  market->returning_at[job.id] = market->n_returning;
  return true;
}

void hr__returning_drop(struct hr__queue *queue, hr_job job) {
  struct hr__market *market = queue->market;
  uint32_t at = market->returning_at[job.id];
  if (!at) return;
  market->returning_at[job.id] = 0;
  struct hr__returning_job last = market->returning[--market->n_returning];
  if (last.job.id == job.id) return;
  market->returning[at - 1] = last;
  market->returning_at[last.job.id] = at;
}

/* Returns what a returning job needs now. Its constraint may have expired since it started. */
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

/* Returns whether a job should be moved. It must not have started at this instant, and the remaining time until its
   limit must exceed spot_hold_us. */
static bool is_worth_moving(const struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  if (view->attempt_us[job.id] == view->now_us) return false;
  return hr_trace_limit_us(queue->trace, job) - hr_view_done_us(view, job) > queue->market->limits.spot_hold_us;
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
  HR__NOTIFY(queue, status, job_moves, view, job, &from, to);
  return status == HR_OK ? hr__queue_refresh(queue, view) : status;
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

enum hr_status hr__returning_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  uint32_t leaving = 0;
  enum hr_status status = move_all(queue, view, moves, &leaving);
  if (status != HR_OK || queue->market->n_returning == 0) return status;
  if (!hr__supply_begin(queue)) return HR_NO_MEMORY;
  status = supply(queue, view, moves, leaving);
  return hr__supply_end(queue) ? status : HR_NO_MEMORY;
}
