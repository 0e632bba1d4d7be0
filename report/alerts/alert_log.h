/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_ALERTS_ALERT_LOG_H
#define HR_REPORT_ALERTS_ALERT_LOG_H

/* Where the parts of the alerts leave what they found. */

#include "headroom/report.h"

struct hr__alert_log {
  struct hr_alert *list;
  uint32_t count, capacity;
  bool failed; /* out of memory: something was lost */
};

void hr__alert_log_add(struct hr__alert_log *log, struct hr_alert alert);

#endif
