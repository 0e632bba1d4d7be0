/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KAI_QUEUE_RULES_H
#define HR_POLICIES_KAI_QUEUE_RULES_H

/* The rules of KAI that compare queues: their order, their limits, and what may be reclaimed. */

#include "policies/kai/shares.h"

/* One side of a comparison of two queues: a queue, and what is to be added to it or taken from it. */
struct hr__kai_side {
  const struct hr__kai_queue *queue;
  struct hr__kai_amounts job;     /* the next pods of its first pending job; 0 if victims are ordered */
  struct hr__kai_amounts victims; /* what its victims so far and the next one hold; 0 if pending jobs are ordered */
};

/* Less than 0: the queue `l` comes first, else `r`. Never 0: of two queues of equal age `r` comes first. */
int hr__kai_compare_queues(const struct hr__kai_side *l, const struct hr__kai_side *r,
                           const struct hr__kai_amounts *total);

/* Whether `request` would bring the queue above its limit in a resource that is requested. */
bool hr__kai_over_limit(const struct hr__kai_queue *queue, const struct hr__kai_amounts *request);
/* Whether `request` would bring what cannot be preempted above the quota, in a resource that is requested. */
bool hr__kai_over_quota(const struct hr__kai_queue *queue, const struct hr__kai_amounts *request);
/* Whether the request is allowed at the queue and all queues above it. */
bool hr__kai_within_limits(const struct hr__kai_queue *queues, uint32_t queue, const struct hr__kai_amounts *request);
bool hr__kai_within_quotas(const struct hr__kai_queue *queues, uint32_t queue, const struct hr__kai_amounts *request);

/* A job that wants to reclaim. */
struct hr__kai_reclaimer {
  struct hr__kai_amounts request;
  uint32_t queue;
  unsigned involved; /* bit r: the request counts for resource r (GPUs in MIG instances do not) */
  bool preemptible;
};

/* Pods of one victim job that are taken together. */
struct hr__kai_taken {
  struct hr__kai_amounts amounts;
  uint32_t queue;
  unsigned involved;
};

/* Whether the job stays within the fair share of its queue, and within its quota if it cannot be preempted. */
bool hr__kai_may_reclaim(const struct hr__kai_queue *queues, const struct hr__kai_reclaimer *reclaimer);

/* Whether a queue above its fair share is asked: what remains exceeds what it may hold. */
bool hr__kai_maintains_fair_share(const struct hr__kai_queue *reclaimee, const struct hr__kai_amounts *remaining);
/* Whether the reclaimer stays within its quota and the other queue is above its own. */
bool hr__kai_guarantees_quota(const struct hr__kai_queue *reclaimer, const struct hr__kai_amounts *request,
                              const struct hr__kai_queue *reclaimee, const struct hr__kai_amounts *remaining);

/* Scratch memory of hr__kai_reclaimable for all queues. */
struct hr__kai_remaining {
  struct hr__kai_amounts amounts;
  unsigned involved;
  bool touched;
};

/* Whether all victims may be taken for the reclaimer. Victims of one queue are taken in their order. `saturation` (at
   least 1) multiplies the saturation of the reclaimer. `remaining` has one entry per queue. */
bool hr__kai_reclaimable(const struct hr__kai_queue *queues, uint32_t n_queues,
                         const struct hr__kai_reclaimer *reclaimer, const struct hr__kai_taken *victims,
                         uint32_t n_victims, double saturation, struct hr__kai_remaining *remaining);

/* How the minimum run time for reclaim is found. */
enum hr__kai_min_runtime_method { HR__KAI_LOWEST_COMMON_ANCESTOR, HR__KAI_VICTIM_QUEUE };

/* The time for which a job of the queue `victim` is protected after its start. */
int64_t hr__kai_preempt_min_runtime(const struct hr__kai_queue *queues, uint32_t victim, int64_t fallback_us);
int64_t hr__kai_reclaim_min_runtime(const struct hr__kai_queue *queues, uint32_t reclaimer, uint32_t victim,
                                    enum hr__kai_min_runtime_method method, int64_t fallback_us);

#endif
