/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_ALERTS_ALERT_SERVICES_H
#define HR_REPORT_ALERTS_ALERT_SERVICES_H

#include "headroom/unstable/metrics.h"
#include "report/alerts/alert_budgets.h"

/* Appends the alerts of inference services after their run. `origin_us`: time 0 of the run in the clock of the
   requests. The log borrows the names of the services. */
void hr__alert_services(const struct hr_alert_rules *rules, const struct hr_served *served, uint32_t count,
                        int64_t origin_us, struct hr__alert_log *log);

#endif
