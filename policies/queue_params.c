/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parameters of the `queue` policy: what a person may set, and to what. */

#include "policies/queue_params.h"

#include <string.h>

#define TEXT(text, object) text,
static const char *const order_names[] = {HR__ORDERS(TEXT) NULL};
static const char *const backfill_names[] = {HR__BACKFILLS(TEXT) NULL};
static const char *const placement_names[] = {HR__PLACEMENTS(TEXT) NULL};
static const char *const market_names[] = {HR__MARKETS(TEXT) NULL};
static const char *const preemption_names[] = {HR__PREEMPTIONS(TEXT) NULL};
static const char *const stopped_names[] = {HR__STOPPED(TEXT) NULL};
static const char *const victim_names[] = {HR__VICTIM_RULES(TEXT) NULL};

#define MOST_S 1e9

const struct hr_param hr__queue_params[] = {
    {.key = "order",
     .type = HR_PARAM_CHOICE,
     .fallback = "fifo",
     .choices = order_names,
     .help = "which waiting job comes first: by submit, estimated run time, GPUs (few or many first), priority, "
             "remaining time, attained service"},
    {.key = "backfill",
     .type = HR_PARAM_CHOICE,
     .fallback = "strict",
     .choices = backfill_names,
     .help = "when a job does not fit: stop; pass it over; reserve for it (easy); reserve for all (conservative)"},
    {.key = "placement",
     .type = HR_PARAM_CHOICE,
     .fallback = "best-fit",
     .choices = placement_names,
     .help = "where a job goes: pool counts GPUs only, the others choose nodes"},
    {.key = "market",
     .type = HR_PARAM_CHOICE,
     .fallback = "static",
     .choices = market_names,
     .help = "how elastic nodes are asked for: all that can be had; none from spot; spot, else on-demand; cheapest",
     .aside = true},
    {.key = "spot_wait_s",
     .type = HR_PARAM_REAL,
     .fallback = "600",
     .max = MOST_S,
     .help = "spot-first: how long a job waits for spot capacity before it pays for on-demand",
     .aside = true},
    {.key = "spot_hold_s",
     .type = HR_PARAM_REAL,
     .fallback = "600",
     .max = MOST_S,
     .help = "spot-first: how long spot capacity must be on offer, without a reclaim, to be used again",
     .aside = true},
    {.key = "idle_release_s",
     .type = HR_PARAM_REAL,
     .fallback = "300",
     .min = 1e-6,
     .max = MOST_S,
     .help = "how long an elastic node stays without a job before it is given back",
     .aside = true},
    {.key = "min_on_demand",
     .type = HR_PARAM_INTEGER,
     .fallback = "0",
     .max = HR_MAX_NODES,
     .help = "on-demand-only, spot-first, price-capacity: on-demand nodes that are kept, used or not",
     .aside = true},
    {.key = "max_spot_share",
     .type = HR_PARAM_REAL,
     .fallback = "1",
     .max = 1,
     .help = "spot-first, price-capacity: the share of elastic nodes that may be spot",
     .aside = true},
    {.key = "reclaim_hours",
     .type = HR_PARAM_REAL,
     .fallback = "0.5",
     .max = 1000,
     .help = "price-capacity: hours of work that a reclaim is taken to cost",
     .aside = true},
    {.key = "changeover_s",
     .type = HR_PARAM_REAL,
     .fallback = "0",
     .max = MOST_S,
     .help = "by deadline: what a change of nodes costs in time, boot and restart",
     .aside = true},
    {.key = "return_to_spot",
     .type = HR_PARAM_BOOLEAN,
     .fallback = "true",
     .help = "spot-first: running jobs go from on-demand back to spot capacity when nobody waits",
     .aside = true},
    {.key = "preemption",
     .type = HR_PARAM_CHOICE,
     .fallback = "auto",
     .choices = preemption_names,
     .help = "for whom a running job is stopped: for nobody, for who comes before it in order, for a higher priority; "
             "auto: by order under srtf and las, else for nobody",
     .aside = true},
    {.key = "preempted",
     .type = HR_PARAM_CHOICE,
     .fallback = "auto",
     .choices = stopped_names,
     .help =
         "what becomes of a job that is stopped: it keeps its work, loses what a reclaim would take, or is given up; "
         "auto: it keeps its work if it is stopped by order and its class has no checkpoints, else as after a reclaim",
     .aside = true},
    {.key = "victims",
     .type = HR_PARAM_CHOICE,
     .fallback = "last",
     .choices = victim_names,
     .help = "which of those that may be stopped is stopped first: the last in order (by priority: of the lowest), the "
             "one that loses the least work, the youngest, the one of the lowest priority",
     .aside = true},
    {.key = "min_run_s",
     .type = HR_PARAM_REAL,
     .fallback = "0",
     .max = MOST_S,
     .help = "how long a job runs before it may be stopped for another",
     .aside = true},
    {.key = "las_threshold_1_s",
     .type = HR_PARAM_REAL,
     .fallback = "3250",
     .min = 1e-6,
     .max = MOST_S,
     .help = "las: GPU-seconds of service after which a job leaves the first queue",
     .aside = true},
    {.key = "las_threshold_2_s",
     .type = HR_PARAM_REAL,
     .fallback = "7200",
     .min = 1e-6,
     .max = MOST_S,
     .help = "las: likewise the second queue",
     .aside = true},
    {.key = "las_promote",
     .type = HR_PARAM_REAL,
     .fallback = "0",
     .max = 1e6,
     .help = "las: a job that has waited for so many times as long as it ran goes back to the first queue; 0: never",
     .aside = true},
    {0}};

const struct hr_param_value *hr__queue_param(const struct hr_policy_env *env, const char *key) {
  size_t i = 0;
  while (strcmp(hr__queue_params[i].key, key) != 0) i++;
  return &env->params[i];
}

int64_t hr__queue_param_us(const struct hr_policy_env *env, const char *key) {
  return (int64_t)(hr__queue_param(env, key)->real * (double)HR_SECOND_US + 0.5);
}
