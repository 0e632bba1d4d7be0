/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_ALERT_POOLS_H
#define HR_REPORT_ALERT_POOLS_H

/* Alerts on pools: too little or too much of it in use, too much of it taken away. */

#include "report/alert_log.h"

struct hr__alert_pools;
/* NULL when out of memory; what `config` points to, and the log, must outlive it. */
struct hr__alert_pools *hr__alert_pools_create(const struct hr_alerts_config *config, struct hr__alert_log *log);
void hr__alert_pools_destroy(struct hr__alert_pools *pools);
void hr__alert_pools_note(struct hr__alert_pools *pools, const struct hr_event *event);
void hr__alert_pools_instant(struct hr__alert_pools *pools, const struct hr_view *view);
void hr__alert_pools_close(struct hr__alert_pools *pools, int64_t end_us);

#endif
