/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_ALERTS_ALERT_HEAT_H
#define HR_REPORT_ALERTS_ALERT_HEAT_H

#include "report/alerts/alert_budgets.h"

/* The rule of temperatures (`gpus-hot`). */
extern const struct hr__alert_watcher hr__alert_heat;

#endif
