/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_PARAMS_H
#define HR_POLICIES_QUEUE_PARAMS_H

/* The parameters of the `queue` policy. Each list below contains the possible values of a parameter: their names, and
   the objects that implement them. Internally, the value of such a parameter is an index into its list. Orders are
   listed in policies/queue/order/order.h. */

#include "headroom/policy.h"
#include "headroom/policy_kit.h"

#include <string.h>

#define HR__BACKFILLS(X)                                                                                               \
  X("strict", &hr__backfill_strict)                                                                                    \
  X("skip", &hr__backfill_skip)                                                                                        \
  X("easy", &hr__backfill_easy)                                                                                        \
  X("conservative", &hr__backfill_conservative)
#define HR__PLACEMENTS(X)                                                                                              \
  X("pool", HR_PLACE_POOL)                                                                                             \
  X("first-fit", HR_PLACE_FIRST_FIT)                                                                                   \
  X("best-fit", HR_PLACE_BEST_FIT)                                                                                     \
  X("worst-fit", HR_PLACE_WORST_FIT)                                                                                   \
  X("data-local", HR_PLACE_BEST_FIT)
/* Packing rules, for per-GPU allocation only. */
#define HR__PACKINGS(X)                                                                                                \
  X("spread")                                                                                                          \
  X("random")                                                                                                          \
  X("weighted-best-fit")                                                                                               \
  X("dot-product")                                                                                                     \
  X("gpu-packing")                                                                                                     \
  X("gpu-clustering")                                                                                                  \
  X("fgd")                                                                                                             \
  X("kube-default")                                                                                                    \
  X("kube-most-allocated")
#define HR__MARKETS(X)                                                                                                 \
  X("static", HR__MARKET_STATIC)                                                                                       \
  X("on-demand-only", HR__MARKET_ON_DEMAND_ONLY)                                                                       \
  X("spot-first", HR__MARKET_SPOT_FIRST)                                                                               \
  X("price-capacity", HR__MARKET_PRICE_CAPACITY)
#define HR__PREEMPTIONS(X)                                                                                             \
  X("auto", PREEMPTS_AUTO)                                                                                             \
  X("none", PREEMPTS_NONE)                                                                                             \
  X("order", PREEMPTS_BY_ORDER)                                                                                        \
  X("priority", PREEMPTS_BY_PRIORITY)                                                                                  \
  X("reclaim", PREEMPTS_BY_QUOTA)
#define HR__STOPPED(X)                                                                                                 \
  X("auto", HR__STOPPED_AUTO)                                                                                          \
  X("checkpoint", HR__STOPPED_KEEPS)                                                                                   \
  X("requeue", HR__STOPPED_REQUEUE)                                                                                    \
  X("kill", HR__STOPPED_KILLED)
#define HR__VICTIM_RULES(X)                                                                                            \
  X("last", HR__VICTIMS_LAST)                                                                                          \
  X("least-lost", HR__VICTIMS_LEAST_LOST)                                                                              \
  X("youngest", HR__VICTIMS_YOUNGEST)                                                                                  \
  X("lowest-priority", HR__VICTIMS_LOWEST_PRIORITY)
#define HR__ELASTIC_LEVELS(X)                                                                                          \
  X("off", HR__ELASTIC_OFF)                                                                                            \
  X("start", HR__ELASTIC_START)                                                                                        \
  X("grow", HR__ELASTIC_GROW)                                                                                          \
  X("shrink", HR__ELASTIC_SHRINK)
#define HR__RECOVERIES(X)                                                                                              \
  X("requeue", HR__RECOVERY_REQUEUE)                                                                                   \
  X("shrink", HR__RECOVERY_SHRINK)

/* In the order of enum hr__carbon_rule (policies/queue/carbon/carbon.h). */
#define HR__CARBON_RULES(X)                                                                                            \
  X("no-wait")                                                                                                         \
  X("all-wait")                                                                                                        \
  X("lowest-slot")                                                                                                     \
  X("lowest-window")                                                                                                   \
  X("carbon-time")                                                                                                     \
  X("reserved-first")                                                                                                  \
  X("wait-awhile-contiguous")                                                                                          \
  X("wait-awhile")                                                                                                     \
  X("ecovisor")
/* In the order of enum hr__carbon_deadline. */
#define HR__CARBON_DEADLINES(X)                                                                                        \
  X("wait")                                                                                                            \
  X("job")                                                                                                             \
  X("next-workday")                                                                                                    \
  X("next-monday")                                                                                                     \
  X("semi-weekly")

/* The last element has a NULL key. */
extern const struct hr_param hr__queue_params[];
/* The names of HR__PLACEMENTS and HR__PACKINGS; the last element is NULL. */
extern const char *const hr__placement_names[];

/* Returns the value of a parameter. The key must exist. */
static inline const struct hr_param_value *hr__queue_param(const struct hr_policy_env *env, const char *key) {
  size_t i = 0;
  while (strcmp(hr__queue_params[i].key, key) != 0) i++;
  return &env->params[i];
}

/* Returns the value of a parameter in microseconds. The parameter is in seconds. */
static inline int64_t hr__queue_param_us(const struct hr_policy_env *env, const char *key) {
  return (int64_t)(hr__queue_param(env, key)->real * (double)HR_SECOND_US + 0.5);
}

#endif
