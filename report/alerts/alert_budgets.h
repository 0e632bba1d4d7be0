/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_ALERTS_ALERT_BUDGETS_H
#define HR_REPORT_ALERTS_ALERT_BUDGETS_H

#include "headroom/report.h"

/* The list that the alert rules fill, and the budget rule: tenants that spend more than their monthly budget. */

struct hr__alert_log {
  struct hr_alert *list;
  uint32_t count, capacity;
  bool failed; /* out of memory: an alert or a part of its state was lost */
};

/* Appends an alert; sets log->failed if out of memory. */
void hr__alert_log_add(struct hr__alert_log *log, struct hr_alert alert);

struct hr__alert_budgets;

/* Returns NULL if out of memory. The log and everything that `config` points to must outlive the result. Without
   budgets, or with the rule turned off, the other functions do nothing. */
struct hr__alert_budgets *hr__alert_budgets_create(const struct hr_alerts_config *config, struct hr__alert_log *log);
void hr__alert_budgets_destroy(struct hr__alert_budgets *budgets);
/* Accounts for an event; call it for every event, in order. */
void hr__alert_budgets_note(struct hr__alert_budgets *budgets, const struct hr_event *event);
/* Ends the run at `end_us` and logs an alert for each budget that a statement of `costs` (NULL: none) exceeds. */
void hr__alert_budgets_close(struct hr__alert_budgets *budgets, const struct hr_cost_summary *costs, int64_t end_us);

#endif
