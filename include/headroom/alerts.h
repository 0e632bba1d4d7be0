/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_ALERTS_H
#define HEADROOM_ALERTS_H

/*
 * Rules as an operator's monitoring has them, evaluated in simulated time: when something was amiss, where and for how
 * long. A fold; docs/planner/alerts.md says each rule at length.
 */

#include "headroom/costs.h"
#include "headroom/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Names as a person types them, as scenarios have them, and what they say. */
#define HR_ALERT_TABLE(X)                                                                                              \
  X(HR_ALERT_UNDERUSED, "gpus-underused", "gpus_underused")                                                            \
  X(HR_ALERT_SATURATED, "gpus-saturated", "gpus_saturated")                                                            \
  X(HR_ALERT_RECLAIMS, "spot-reclaims", "spot_reclaims")                                                               \
  X(HR_ALERT_UNSAVED, "no-checkpoint", "no_checkpoint")                                                                \
  X(HR_ALERT_WAITING, "queue-time", "queue_time")                                                                      \
  X(HR_ALERT_BUDGET, "over-budget", "over_budget")

enum hr_alert_rule {
#define HR_ALERT_NAME(name, text, key) name,
  HR_ALERT_TABLE(HR_ALERT_NAME)
#undef HR_ALERT_NAME
      HR_N_ALERTS
};
HR_API const char *hr_alert_name(enum hr_alert_rule rule);

/* When each rule fires. Defaults: utilization under 20 % for an hour, over 95 % for 30 minutes; over 20 % of a spot
   pool's nodes reclaimed within 24 hours; work of 2 hours in no checkpoint; waits of 5 minutes (inference), 15
   (interactive) and a day (all others); budgets passed. */
struct hr_alert_rules {
  bool is_off[HR_N_ALERTS];
  double underused_below, saturated_above; /* GPUs allocated / GPUs of a pool, until the last submit */
  int64_t underused_for_us, saturated_for_us;
  double reclaims_above; /* nodes reclaimed / nodes that were up within the window */
  int64_t reclaims_within_us;
  int64_t unsaved_us;
  int64_t waiting_us[HR_N_CLASSES];
  double budget_above; /* spent / budget of a month */
};
HR_API void hr_alert_rules_init(struct hr_alert_rules *rules);

/* Something that was amiss for a while. */
struct hr_alert {
  enum hr_alert_rule rule;
  const char *where;        /* a pool, a class or a tenant; "" is what has no name */
  int64_t begin_us, end_us; /* end: of the condition, or of the run */
  double value;             /* mean utilization; highest share reclaimed; most jobs at once; spent / budget */
  uint64_t count;           /* nodes reclaimed, jobs that were late; else 0 */
};

/* What a run's alerts need to know; all borrowed, and must outlive them. */
struct hr_alerts_config {
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_alert_rules *rules;
  const struct hr_cost_spec *costs;    /* for budgets; may be NULL */
  const struct hr_class_spec *classes; /* [HR_N_CLASSES], as the run has them; may be NULL */
};

struct hr_alerts;
/* NULL when out of memory. */
HR_API struct hr_alerts *hr_alerts_create(const struct hr_alerts_config *config);
HR_API void hr_alerts_destroy(struct hr_alerts *alerts);
/* To be given to a run, once. */
HR_API struct hr_fold hr_alerts_fold(struct hr_alerts *alerts);
/* Ends what is still amiss at the run's end. `costs`: of the same run, for budgets; may be NULL. HR_NO_MEMORY if
   something was lost. To be done once, before they are asked for. */
HR_API enum hr_status hr_alerts_close(struct hr_alerts *alerts, const struct hr_result *result,
                                      const struct hr_cost_summary *costs);
/* After the close, by rule, then by where and time; owned by the alerts. */
HR_API size_t hr_alerts_list(const struct hr_alerts *alerts, const struct hr_alert **list);

#ifdef __cplusplus
}
#endif
#endif
