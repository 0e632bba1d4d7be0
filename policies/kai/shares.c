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
