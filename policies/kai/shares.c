/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Divides the cluster among the queues of KAI.
 *
 * First each queue gets its quota, within its request. The rest is divided by priority, from high to low. Within a
 * priority, queues that want more get whole units in proportion to their weights, which past usage reduces. This is
 * repeated while a queue took less than its part. What rounding left over goes in single units to the queues with the
 * largest remainders. Amounts are whole numbers; only the parts are computed as doubles, in the order of the queues.
 *
 * Source: KAI-Scheduler, plugins/proportion/resource_division and plugins/proportion/resource_share.
 */

#include "policies/kai/session.h"

#include <math.h>

static const double unit_of[HR__KAI_RESOURCES] = {1, 1, HR__KAI_GPU_UNIT};

/* ---- Shares ---- */

double hr__kai_dominant_share(const struct hr__kai_queue *queue, const struct hr__kai_amounts *allocated,
                              const struct hr__kai_amounts *total) {
  double dominant = 0;
  for (int r = 0; r < HR__KAI_RESOURCES; r++) {
    int64_t allocatable = hr__kai_allocatable(&queue->share[r]);
    if (allocatable == HR__KAI_UNLIMITED) allocatable = total->of[r];
    const double held = (double)allocated->of[r] / unit_of[r];
    const double value = allocatable == 0 ? held * 1000 : held / ((double)allocatable / unit_of[r]);
    if (value > dominant) dominant = value;
  }
  return dominant;
}

/* ---- Division ---- */

int64_t hr__kai_divide_quotas(struct hr__kai_queue *queues, const uint32_t *ids, uint32_t n, int resource,
                              int64_t total) {
  int64_t rest = total;
  for (uint32_t i = 0; i < n; i++) {
    struct hr__kai_share *share = &queues[ids[i]].share[resource];
    int64_t amount = share->deserved == HR__KAI_UNLIMITED ? total : share->deserved;
    const int64_t requestable = hr__kai_requestable(share);
    if (requestable < amount) amount = requestable;
    share->fair += amount;
    rest -= amount;
  }
  return rest;
}

static bool satisfied(const struct hr__kai_share *share) {
  if (share->request <= share->fair) return true;
  return share->limit != HR__KAI_UNLIMITED && share->limit <= share->fair;
}

static int64_t still_requested(const struct hr__kai_share *share) {
  const int64_t requestable = hr__kai_requestable(share);
  return requestable < share->fair ? 0 : requestable - share->fair;
}

/* The queues of one priority that share in one round. */
struct division_level {
  struct hr__kai_queue *queues;
  const uint32_t *ids;
  uint32_t n;
  int resource;
  int32_t priority;
  double k, total_weight;
};

/* The share of a queue in this level, or NULL if the queue is not of this priority. */
static struct hr__kai_share *share_in(const struct division_level *level, uint32_t i) {
  struct hr__kai_queue *queue = &level->queues[level->ids[i]];
  return queue->priority == level->priority ? &queue->share[level->resource] : NULL;
}

static double weight_in_round(const struct division_level *level, const struct hr__kai_share *share) {
  const double part = share->weight / level->total_weight;
  const double weight = part + level->k * (part - share->usage);
  return weight > 0 ? weight : 0;
}

/* The sum of the weights in this round; sets the total weight. */
static double sum_of_weights(struct division_level *level) {
  level->total_weight = 0;
  for (uint32_t i = 0; i < level->n; i++) {
    const struct hr__kai_share *share = share_in(level, i);
    if (share && still_requested(share) > 0) level->total_weight += share->weight;
  }
  if (level->total_weight == 0) return 0;
  double sum = 0;
  for (uint32_t i = 0; i < level->n; i++) {
    const struct hr__kai_share *share = share_in(level, i);
    if (share && !satisfied(share)) sum += weight_in_round(level, share);
  }
  return sum;
}

/* One round. Returns whether another one is due. */
static bool divide_round(struct division_level *level, int64_t *total, double *remainders) {
  const double sum = sum_of_weights(level), unit = unit_of[level->resource];
  if (sum == 0) return false;
  const double amount = (double)*total / unit;
  bool took_less = false;
  for (uint32_t i = 0; i < level->n && *total != 0; i++) {
    struct hr__kai_share *share = share_in(level, i);
    if (!share || satisfied(share) || share->weight == 0) continue;
    const int64_t requested = still_requested(share);
    const double part = amount * (weight_in_round(level, share) / sum);
    int64_t given = requested;
    if ((double)requested / unit <= part) {
      remainders[i] = 0;
    } else {
      const double whole = floor(part) > 0 ? floor(part) : 0;
      given = (int64_t)(whole * unit);
      if (part - whole > 0) remainders[i] = part - whole;
    }
    if (given == 0) continue;
    share->fair += given;
    *total -= given;
    took_less = took_less || (double)requested / unit < part;
  }
  return took_less && *total != 0;
}

/* The queue of the level with the largest remainder; ties go to the older queue, then by name. `n`: none. */
static uint32_t largest_remainder(const struct division_level *level, const double *remainders) {
  uint32_t best = level->n;
  for (uint32_t i = 0; i < level->n; i++) {
    if (!share_in(level, i) || !(remainders[i] > 0)) continue;
    if (best < level->n) {
      const struct hr__kai_queue *a = &level->queues[level->ids[i]], *b = &level->queues[level->ids[best]];
      if (remainders[i] < remainders[best]) continue;
      if (remainders[i] == remainders[best] &&
          (a->created > b->created || (a->created == b->created && a->name_rank > b->name_rank)))
        continue;
    }
    best = i;
  }
  return best;
}

/* The highest priority below `limit` among the queues; INT64_MIN: none. */
static int64_t next_priority(const struct hr__kai_queue *queues, const uint32_t *ids, uint32_t n, int64_t limit) {
  int64_t best = INT64_MIN;
  for (uint32_t i = 0; i < n; i++) {
    const int64_t priority = queues[ids[i]].priority;
    if (priority < limit && priority > best) best = priority;
  }
  return best;
}

int64_t hr__kai_divide_rest(struct hr__kai_queue *queues, const uint32_t *ids, uint32_t n, int resource, int64_t total,
                            double k, double *remainders) {
  struct division_level level = {.queues = queues, .ids = ids, .n = n, .resource = resource, .k = k};
  for (uint32_t i = 0; i < n; i++) remainders[i] = 0;
  for (int64_t at = INT64_MAX; (at = next_priority(queues, ids, n, at)) != INT64_MIN;) {
    level.priority = (int32_t)at;
    while (divide_round(&level, &total, remainders)) {
    }
  }
  const int64_t unit = (int64_t)unit_of[resource];
  for (int64_t at = INT64_MAX; total > 0 && (at = next_priority(queues, ids, n, at)) != INT64_MIN;) {
    level.priority = (int32_t)at;
    for (uint32_t i; total != 0 && (i = largest_remainder(&level, remainders)) < n;) {
      const int64_t given = total < unit ? total : unit;
      queues[ids[i]].share[resource].fair += given;
      remainders[i] = 0;
      total -= given;
    }
  }
  return total;
}

/* Puts the children of `parent` into `ids` and returns their number. */
static uint32_t children_of(const struct hr__kai_queue *queues, uint32_t n, uint32_t parent, uint32_t *ids) {
  uint32_t count = 0;
  for (uint32_t q = 0; q < n; q++)
    if (queues[q].parent == parent) ids[count++] = q;
  return count;
}

/* The number of queues above a queue. A cycle counts as a very deep queue. */
static uint32_t depth_of(const struct hr__kai_queue *queues, uint32_t n, uint32_t queue) {
  uint32_t depth = 0;
  for (uint32_t q = queues[queue].parent; q != HR__KAI_NONE && depth <= n; q = queues[q].parent) depth++;
  return depth;
}

void hr__kai_divide_tree(struct hr__kai_queue *queues, uint32_t n, const struct hr__kai_amounts *total, double k,
                         uint32_t *ids, double *remainders) {
  const uint32_t n_top = children_of(queues, n, HR__KAI_NONE, ids);
  for (int r = 0; r < HR__KAI_RESOURCES; r++) hr__kai_divide(queues, ids, n_top, r, total->of[r], k, remainders);
  bool deeper = n_top > 0;
  for (uint32_t depth = 0; deeper; depth++) {
    deeper = false;
    for (uint32_t q = 0; q < n; q++) {
      if (depth_of(queues, n, q) != depth) continue;
      const uint32_t n_children = children_of(queues, n, q, ids);
      for (int r = 0; r < HR__KAI_RESOURCES; r++)
        hr__kai_divide(queues, ids, n_children, r, queues[q].share[r].fair, k, remainders);
      deeper = deeper || n_children > 0;
    }
  }
}

/* ---- Rules of queues ----------------------------------------------------------------------------------- */

/*
 * Limits, and what may be reclaimed.
 *
 * A victim may be taken if its queue exceeds what it may hold, or if the reclaimer stays within its quota while the
 * victim's queue exceeds its own; both are compared at the level where their paths split. Afterwards no queue on the
 * reclaimer's path may be more saturated than a sibling that lost pods. The scratch array `remaining` has one entry per
 * queue; only the entries of queues that lost pods are used.
 *
 * Source: KAI-Scheduler, plugins/proportion/capacity_policy and reclaimable, and plugins/minruntime.
 */

/* ---- Limits ---- */

bool hr__kai_over_limit(const struct hr__kai_queue *queue, const struct hr__kai_amounts *request) {
  for (int r = 0; r < HR__KAI_RESOURCES; r++) {
    const struct hr__kai_share *share = &queue->share[r];
    if (share->limit != HR__KAI_UNLIMITED && request->of[r] != 0 && share->limit < share->allocated + request->of[r])
      return true;
  }
  return false;
}

bool hr__kai_over_quota(const struct hr__kai_queue *queue, const struct hr__kai_amounts *request) {
  for (int r = 0; r < HR__KAI_RESOURCES; r++) {
    const struct hr__kai_share *share = &queue->share[r];
    if (share->deserved != HR__KAI_UNLIMITED && request->of[r] != 0 &&
        share->deserved < share->allocated_non_preemptible + request->of[r])
      return true;
  }
  return false;
}

/* ---- Reclaim ---- */

/* Whether what cannot be preempted stays within the quota of the queue. */
static bool fits_quota(const struct hr__kai_queue *queue, const struct hr__kai_reclaimer *reclaimer) {
  if (reclaimer->preemptible) return true;
  struct hr__kai_amounts sum = hr__kai_non_preemptible_of(queue);
  const struct hr__kai_amounts deserved = hr__kai_deserved_of(queue);
  hr__kai_add(&sum, &reclaimer->request);
  return hr__kai_at_most(&sum, &deserved);
}

bool hr__kai_may_reclaim(const struct hr__kai_queue *queues, const struct hr__kai_reclaimer *reclaimer) {
  const struct hr__kai_queue *queue = &queues[reclaimer->queue];
  struct hr__kai_amounts sum = hr__kai_allocated_of(queue);
  const struct hr__kai_amounts fair = hr__kai_fair_of(queue);
  hr__kai_add(&sum, &reclaimer->request);
  return hr__kai_at_most(&sum, &fair) && fits_quota(queue, reclaimer);
}

bool hr__kai_guarantees_quota(const struct hr__kai_queue *reclaimer, const struct hr__kai_amounts *request,
                              const struct hr__kai_queue *reclaimee, const struct hr__kai_amounts *remaining) {
  struct hr__kai_amounts sum = hr__kai_allocated_of(reclaimer);
  const struct hr__kai_amounts mine = hr__kai_deserved_of(reclaimer), others = hr__kai_deserved_of(reclaimee);
  hr__kai_add(&sum, request);
  return hr__kai_at_most(&sum, &mine) && !hr__kai_at_most(remaining, &others);
}

/* Replaces two queues by their ancestors at the level where their paths split; by the lowest common level if one is an
   ancestor of the other. */
static void level_queues(const struct hr__kai_queue *queues, uint32_t *a, uint32_t *b) {
  uint32_t depth_a = hr__kai_depth_of(queues, *a), depth_b = hr__kai_depth_of(queues, *b);
  for (; depth_a > depth_b; depth_a--) *a = queues[*a].parent;
  for (; depth_b > depth_a; depth_b--) *b = queues[*b].parent;
  while (*a != *b && queues[*a].parent != queues[*b].parent) {
    *a = queues[*a].parent;
    *b = queues[*b].parent;
  }
}

static struct hr__kai_remaining *touch(const struct hr__kai_queue *queues, struct hr__kai_remaining *remaining,
                                       uint32_t queue) {
  if (!remaining[queue].touched)
    remaining[queue] =
        (struct hr__kai_remaining){.amounts = hr__kai_allocated_of(&queues[queue]), .involved = 0, .touched = true};
  return &remaining[queue];
}

/* Whether the queue `other` may lose a victim while it and the queues below hold `left`; `mine` is the side of the
   reclaimer. */
static bool may_take(const struct hr__kai_queue *queues, const struct hr__kai_reclaimer *reclaimer, uint32_t mine,
                     uint32_t other, const struct hr__kai_amounts *left) {
  return hr__kai_maintains_fair_share(&queues[other], left) ||
         hr__kai_guarantees_quota(&queues[mine], &reclaimer->request, &queues[other], left);
}

bool hr__kai_may_lose(const struct hr__kai_queue *queues, const struct hr__kai_reclaimer *reclaimer, uint32_t queue) {
  if (reclaimer->queue == HR__KAI_NONE || queue == HR__KAI_NONE) return false;
  uint32_t mine = reclaimer->queue, other = queue;
  level_queues(queues, &mine, &other);
  const struct hr__kai_amounts held = hr__kai_allocated_of(&queues[other]);
  return may_take(queues, reclaimer, mine, other, &held);
}

/* Takes all victims of one queue. Returns whether that is allowed. */
static bool take_from_queue(const struct hr__kai_queue *queues, const struct hr__kai_reclaimer *reclaimer,
                            const struct hr__kai_taken *victims, uint32_t n_victims, uint32_t queue,
                            struct hr__kai_remaining *remaining) {
  if (reclaimer->queue == HR__KAI_NONE || queue == HR__KAI_NONE) return false;
  uint32_t mine = reclaimer->queue, other = queue;
  level_queues(queues, &mine, &other);
  unsigned involved = 0;
  for (uint32_t i = 0; i < n_victims; i++)
    if (victims[i].queue == queue) involved |= victims[i].involved;
  for (uint32_t i = 0; i < n_victims; i++) {
    if (victims[i].queue != queue) continue;
    const struct hr__kai_amounts *left = &touch(queues, remaining, other)->amounts;
    if (!may_take(queues, reclaimer, mine, other, left)) return false;
    for (uint32_t q = queue; q != HR__KAI_NONE; q = queues[q].parent) {
      struct hr__kai_remaining *entry = touch(queues, remaining, q);
      hr__kai_subtract(&entry->amounts, &victims[i].amounts);
      entry->involved |= involved;
    }
  }
  return true;
}

static double saturation_ratio(int64_t allocated, int64_t fair) {
  if (fair == 0) return allocated > 0 ? (double)INFINITY : 0;
  return fair == HR__KAI_UNLIMITED ? 0 : (double)allocated / (double)fair;
}

/* Whether the queue, after it got the request, is less saturated than a sibling that lost pods. */
static bool less_saturated(const struct hr__kai_queue *queue, const struct hr__kai_amounts *mine,
                           const struct hr__kai_queue *sibling, const struct hr__kai_amounts *others, unsigned involved,
                           double multiplier) {
  for (int r = 0; r < HR__KAI_RESOURCES; r++) {
    const int64_t fair = queue->share[r].fair, fair_of_sibling = sibling->share[r].fair;
    if (!(involved >> r & 1) || (fair == HR__KAI_UNLIMITED && fair_of_sibling == HR__KAI_UNLIMITED)) continue;
    const double ratio = saturation_ratio(mine->of[r], fair);
    if (ratio > 1 && fair_of_sibling > 0 && ratio * multiplier >= saturation_ratio(others->of[r], fair_of_sibling))
      return false;
  }
  return true;
}

/* Whether all queues on the path of the reclaimer stay within their bounds. */
static bool stays_within_bounds(const struct hr__kai_queue *queues, uint32_t n_queues,
                                const struct hr__kai_reclaimer *reclaimer, double saturation,
                                struct hr__kai_remaining *remaining) {
  for (uint32_t q = reclaimer->queue; q != HR__KAI_NONE; q = queues[q].parent) {
    struct hr__kai_amounts mine = remaining[q].touched ? remaining[q].amounts : hr__kai_allocated_of(&queues[q]);
    hr__kai_add(&mine, &reclaimer->request);
    for (uint32_t s = 0; s < n_queues; s++) {
      if (!remaining[s].touched || s == q || queues[s].parent != queues[q].parent) continue;
      if (!less_saturated(&queues[q], &mine, &queues[s], &remaining[s].amounts,
                          remaining[s].involved | reclaimer->involved, saturation))
        return false;
    }
    if (!fits_quota(&queues[q], reclaimer)) return false;
  }
  return true;
}

bool hr__kai_reclaimable(const struct hr__kai_queue *queues, uint32_t n_queues,
                         const struct hr__kai_reclaimer *reclaimer, const struct hr__kai_taken *victims,
                         uint32_t n_victims, double saturation, struct hr__kai_remaining *remaining) {
  for (uint32_t q = 0; q < n_queues; q++) remaining[q].touched = false;
  for (uint32_t i = 0; i < n_victims; i++) {
    bool first = true;
    for (uint32_t j = 0; j < i && first; j++) first = victims[j].queue != victims[i].queue;
    if (first && !take_from_queue(queues, reclaimer, victims, n_victims, victims[i].queue, remaining)) return false;
  }
  return stays_within_bounds(queues, n_queues, reclaimer, saturation, remaining);
}

/* ---- Minimum run time ---- */

/* The value of the first queue, from `queue` upwards, that has one. */
static int64_t first_reclaim_value(const struct hr__kai_queue *queues, uint32_t queue, int64_t fallback_us) {
  for (uint32_t q = queue; q != HR__KAI_NONE; q = queues[q].parent)
    if (queues[q].reclaim_min_runtime_us >= 0) return queues[q].reclaim_min_runtime_us;
  return fallback_us;
}

int64_t hr__kai_reclaim_min_runtime(const struct hr__kai_queue *queues, uint32_t reclaimer, uint32_t victim,
                                    enum hr_kai_reclaim_method method, int64_t fallback_us) {
  if (method == HR_KAI_RECLAIM_QUEUE) return first_reclaim_value(queues, victim, fallback_us);
  if (reclaimer == HR__KAI_NONE || victim == HR__KAI_NONE) return fallback_us; // a job without an existing queue
  uint32_t mine = reclaimer, other = victim;
  level_queues(queues, &mine, &other);
  if (mine == other) {
    /* One queue is an ancestor of the other: the queue one step below the ancestor, towards the victim. */
    for (uint32_t q = victim; q != other; q = queues[q].parent)
      if (queues[q].parent == other) return first_reclaim_value(queues, q, fallback_us);
    return first_reclaim_value(queues, other, fallback_us);
  }
  if (queues[other].parent == HR__KAI_NONE)
    return queues[other].reclaim_min_runtime_us >= 0 ? queues[other].reclaim_min_runtime_us : fallback_us;
  return first_reclaim_value(queues, other, fallback_us);
}
