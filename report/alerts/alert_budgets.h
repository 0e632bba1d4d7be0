/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_ALERTS_ALERT_BUDGETS_H
#define HR_REPORT_ALERTS_ALERT_BUDGETS_H

#include "headroom/report.h"

/* Where the parts of the alerts leave what they found. */

struct hr__alert_log {
  struct hr_alert *list;
  uint32_t count, capacity;
  bool failed; /* out of memory: something was lost */
};

void hr__alert_log_add(struct hr__alert_log *log, struct hr_alert alert);

/* Alerts on tenants that spend more than their budget, month by month. */

struct hr__alert_budgets;
/* NULL when out of memory; what `config` points to, and the log, must outlive it. */
struct hr__alert_budgets *hr__alert_budgets_create(const struct hr_alerts_config *config, struct hr__alert_log *log);
void hr__alert_budgets_destroy(struct hr__alert_budgets *budgets);
void hr__alert_budgets_note(struct hr__alert_budgets *budgets, const struct hr_event *event);
void hr__alert_budgets_close(struct hr__alert_budgets *budgets, const struct hr_cost_summary *costs, int64_t end_us);

#endif
