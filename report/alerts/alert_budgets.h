/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_ALERTS_ALERT_BUDGETS_H
#define HR_REPORT_ALERTS_ALERT_BUDGETS_H

#include "base/array.h"
#include "headroom/report.h"

/* The interface of alert rules, the list that they fill, and the budget rule: tenants that spend more than their
   monthly budget. */

struct hr__alert_log {
  struct hr_alert *list;
  uint32_t count, capacity;
  bool failed; /* out of memory: an alert or a part of its state was lost */
};

/* Appends an alert; sets log->failed if out of memory. */
static inline void hr__alert_log_add(struct hr__alert_log *log, struct hr_alert alert) {
  if (HR__ARRAY_HAS_ROOM(log->list, log->count, log->capacity))
    log->list[log->count++] = alert;
  else
    log->failed = true;
}

/* Rules that watch a run and log its alerts. `self` is what `create` returned. */
struct hr__alert_watcher {
  /* Returns NULL if out of memory. The log and everything that `config` points to must outlive the result. Rules that
     are turned off log nothing. */
  void *(*create)(const struct hr_alerts_config *config, struct hr__alert_log *log);
  void (*destroy)(void *self); /* `self` may be NULL */
  /* Accounts for an event; called for every event, in order. */
  void (*note)(void *self, const struct hr_event *event);
  /* Called after each pass of the policy; NULL: not needed. */
  void (*instant)(void *self, const struct hr_view *view);
  /* Ends the run at `end_us`: logs alerts that last until then, and those that follow from `costs` (NULL: none). */
  void (*close)(void *self, const struct hr_cost_summary *costs, int64_t end_us);
};

extern const struct hr__alert_watcher hr__alert_budgets;

#endif
