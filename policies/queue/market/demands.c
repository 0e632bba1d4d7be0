/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A demand is the set of waiting jobs with equal needs. It has counts of jobs, of jobs without
 * remaining patience, and of jobs that quotas block, so that the supply of a demand does not examine its jobs. Demands
 * are found in a hash table by need.
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

bool hr__demand_add(struct hr__queue *queue, hr_job job, int64_t now_us) {
  struct hr__market *market = queue->market;
  struct hr_need need = need_of(queue, job);
  market->demand_of[job.id] = HR_NONE;
  if (hr_need_is_empty(queue->cluster, &need)) return true;
  uint32_t at = find_demand(queue, &need);
  if (at == HR_NONE) return false;
  market->demand_of[job.id] = at;
  market->demands[at].count++;
  market->patience_us[job.id] = now_us + market->limits.spot_wait_us;
  if (market->limits.rule != HR__MARKET_SPOT_FIRST || !market->demands[at].may_use_spot) return true;
  struct hr__deadline_entry entry = {market->patience_us[job.id], job.id};
  return hr__deadline_fifo_add(&market->patience, queue->arena, entry);
}

void hr__demand_remove(struct hr__queue *queue, hr_job job) {
  struct hr__market *market = queue->market;
  struct hr__market_demand *demand = hr__market_demand_of(queue, job);
  if (!demand) return;
  demand->count--;
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
  market->demands[from].count--;
  market->demands[from].impatient -= is_impatient;
  market->demands[to].count++;
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
