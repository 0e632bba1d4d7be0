/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The rules of KAI that compare queues.
 *
 * The order prefers queues within their fair share, then queues that stay within their quota, then priority, then the
 * smaller dominant share. A victim may be taken if its queue exceeds what it may hold, or if the reclaimer stays within
 * its quota while the victim's queue exceeds its own; both are compared at the level where their paths split.
 * Afterwards no queue on the reclaimer's path may be more saturated than a sibling that lost pods. The scratch array
 * `remaining` has one entry per queue; only the entries of queues that lost pods are used.
 *
 * Source: KAI-Scheduler, plugins/proportion/queue_order, capacity_policy and reclaimable, and plugins/minruntime.
 */

#include "policies/kai/queue_rules.h"

#include <math.h>

/* ---- Order ---- */

static int first_if(bool l, bool r) {
  return l == r ? 0 : l ? -1 : 1;
}

static bool over_utilised(const struct hr__kai_queue *queue) {
  const struct hr__kai_amounts fair = hr__kai_fair_of(queue), allocated = hr__kai_allocated_of(queue);
  return hr__kai_less(&fair, &allocated);
}

static struct hr__kai_amounts with_job(const struct hr__kai_side *side) {
  struct hr__kai_amounts sum = hr__kai_allocated_of(side->queue);
  hr__kai_add(&sum, &side->job);
  return sum;
}

static bool within_quota(const struct hr__kai_side *side) {
  const struct hr__kai_amounts sum = with_job(side), deserved = hr__kai_deserved_of(side->queue);
  return hr__kai_at_most(&sum, &deserved);
}

/* Whether the queue would hold a resource of which it may hold nothing. */
static bool holds_without_share(const struct hr__kai_side *side) {
  const struct hr__kai_amounts sum = with_job(side);
  for (int r = 0; r < HR__KAI_RESOURCES; r++)
    if (hr__kai_allocatable(&side->queue->share[r]) == 0 && sum.of[r] > 0) return true;
  return false;
}

static int by_dominant_share(const struct hr__kai_side *l, const struct hr__kai_side *r,
                             const struct hr__kai_amounts *total) {
  struct hr__kai_amounts of_l = with_job(l), of_r = with_job(r);
  hr__kai_subtract(&of_l, &l->victims);
  hr__kai_subtract(&of_r, &r->victims);
  double a = hr__kai_dominant_share(l->queue, &of_l, total), b = hr__kai_dominant_share(r->queue, &of_r, total);
  if (a != b) return a < b ? -1 : 1;
  of_l = hr__kai_allocated_of(l->queue);
  of_r = hr__kai_allocated_of(r->queue);
  a = hr__kai_dominant_share(l->queue, &of_l, total);
  b = hr__kai_dominant_share(r->queue, &of_r, total);
  return a == b ? 0 : a < b ? -1 : 1;
}

/* The queue that may hold less comes first. */
static int by_allocatable(const struct hr__kai_queue *l, const struct hr__kai_queue *r) {
  const struct hr__kai_amounts a = hr__kai_allocatable_of(l), b = hr__kai_allocatable_of(r);
  return first_if(hr__kai_at_most(&a, &b), hr__kai_at_most(&b, &a));
}

int hr__kai_compare_queues(const struct hr__kai_side *l, const struct hr__kai_side *r,
                           const struct hr__kai_amounts *total) {
  int order = first_if(!over_utilised(l->queue), !over_utilised(r->queue));
  if (!order) order = first_if(within_quota(l), within_quota(r));
  if (!order) order = (l->queue->priority < r->queue->priority) - (l->queue->priority > r->queue->priority);
  if (!order) order = first_if(!holds_without_share(l), !holds_without_share(r));
  if (!order) order = by_dominant_share(l, r, total);
  if (!order) order = by_allocatable(l->queue, r->queue);
  if (!order) order = l->queue->created < r->queue->created ? -1 : 1;
  return order;
}

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

bool hr__kai_within_limits(const struct hr__kai_queue *queues, uint32_t queue, const struct hr__kai_amounts *request) {
  for (uint32_t q = queue; q != HR__KAI_NONE; q = queues[q].parent)
    if (hr__kai_over_limit(&queues[q], request)) return false;
  return true;
}

bool hr__kai_within_quotas(const struct hr__kai_queue *queues, uint32_t queue, const struct hr__kai_amounts *request) {
  for (uint32_t q = queue; q != HR__KAI_NONE; q = queues[q].parent)
    if (hr__kai_over_quota(&queues[q], request)) return false;
  return true;
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

bool hr__kai_maintains_fair_share(const struct hr__kai_queue *reclaimee, const struct hr__kai_amounts *remaining) {
  const struct hr__kai_amounts allocatable = hr__kai_allocatable_of(reclaimee);
  return !hr__kai_at_most(remaining, &allocatable);
}

bool hr__kai_guarantees_quota(const struct hr__kai_queue *reclaimer, const struct hr__kai_amounts *request,
                              const struct hr__kai_queue *reclaimee, const struct hr__kai_amounts *remaining) {
  struct hr__kai_amounts sum = hr__kai_allocated_of(reclaimer);
  const struct hr__kai_amounts mine = hr__kai_deserved_of(reclaimer), others = hr__kai_deserved_of(reclaimee);
  hr__kai_add(&sum, request);
  return hr__kai_at_most(&sum, &mine) && !hr__kai_at_most(remaining, &others);
}

static uint32_t depth_of(const struct hr__kai_queue *queues, uint32_t queue) {
  uint32_t depth = 0;
  while ((queue = queues[queue].parent) != HR__KAI_NONE) depth++;
  return depth;
}

/* Replaces two queues by their ancestors at the level where their paths split; by the lowest common level if one is an
   ancestor of the other. */
static void level_queues(const struct hr__kai_queue *queues, uint32_t *a, uint32_t *b) {
  uint32_t depth_a = depth_of(queues, *a), depth_b = depth_of(queues, *b);
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

/* Takes all victims of one queue. Returns whether that is allowed. */
static bool take_from_queue(const struct hr__kai_queue *queues, const struct hr__kai_reclaimer *reclaimer,
                            const struct hr__kai_taken *victims, uint32_t n_victims, uint32_t queue,
                            struct hr__kai_remaining *remaining) {
  uint32_t mine = reclaimer->queue, other = queue;
  level_queues(queues, &mine, &other);
  unsigned involved = 0;
  for (uint32_t i = 0; i < n_victims; i++)
    if (victims[i].queue == queue) involved |= victims[i].involved;
  for (uint32_t i = 0; i < n_victims; i++) {
    if (victims[i].queue != queue) continue;
    const struct hr__kai_amounts *left = &touch(queues, remaining, other)->amounts;
    if (!hr__kai_maintains_fair_share(&queues[other], left) &&
        !hr__kai_guarantees_quota(&queues[mine], &reclaimer->request, &queues[other], left))
      return false;
    for (uint32_t q = queue; q != HR__KAI_NONE; q = queues[q].parent) {
      struct hr__kai_remaining *entry = touch(queues, remaining, q);
      hr__kai_subtract(&entry->amounts, &victims[i].amounts);
      entry->involved |= involved;
    }
  }
  return true;
}

static double saturation_ratio(int64_t allocated, int64_t fair) {
  if (fair == 0) return allocated > 0 ? INFINITY : 0;
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

int64_t hr__kai_preempt_min_runtime(const struct hr__kai_queue *queues, uint32_t victim, int64_t fallback_us) {
  for (uint32_t q = victim; q != HR__KAI_NONE; q = queues[q].parent)
    if (queues[q].preempt_min_runtime_us >= 0) return queues[q].preempt_min_runtime_us;
  return fallback_us;
}

int64_t hr__kai_reclaim_min_runtime(const struct hr__kai_queue *queues, uint32_t reclaimer, uint32_t victim,
                                    enum hr__kai_min_runtime_method method, int64_t fallback_us) {
  if (method == HR__KAI_VICTIM_QUEUE) return first_reclaim_value(queues, victim, fallback_us);
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
