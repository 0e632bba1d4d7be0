/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_ALERTS_ALERT_BUDGETS_H
#define HR_REPORT_ALERTS_ALERT_BUDGETS_H

#include "base/array.h"
#include "headroom/report.h"

/* Declares the interface of a group of alert rules, the list of alerts to which the rules append, and the budget rule.
   The budget rule reports tenants that spend more than their monthly budget. */

struct hr__alert_log {
  struct hr_alert *list;
  uint32_t count, capacity;
  bool failed; /* memory ran out, so the list of alerts is incomplete */
};

/* Appends an alert; sets log->failed if out of memory. */
static inline void hr__alert_log_add(struct hr__alert_log *log, struct hr_alert alert) {
  if (HR__ARRAY_HAS_ROOM(log->list, log->count, log->capacity))
    log->list[log->count++] = alert;
  else
    log->failed = true;
}

/* A group of rules that observe a run and append alerts to a log. `self` is the object that `create` returned. */
struct hr__alert_watcher {
  /* Returns NULL if out of memory. The log and all objects to which `config` points must outlive the result. A rule
     that the scenario disables appends no alerts. */
  void *(*create)(const struct hr_alerts_config *config, struct hr__alert_log *log);
  void (*destroy)(void *self); /* `self` may be NULL */
  /* Updates the state of the rules. Called for every event in time order. */
  void (*note)(void *self, const struct hr_event *event);
  /* Called after each pass of the policy; may be NULL. */
  void (*instant)(void *self, const struct hr_view *view);
  /* Appends the alerts that last until the end of the run at `end_us`, and the alerts that are derived from `costs`.
     `costs` is NULL for runs without prices. */
  void (*close)(void *self, const struct hr_cost_summary *costs, int64_t end_us);
};

extern const struct hr__alert_watcher hr__alert_budgets;

#endif
