/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_ALERT_JOBS_H
#define HR_REPORT_ALERT_JOBS_H

/* Alerts on jobs, by class: some wait for too long, or work for too long without a checkpoint. */

#include "report/alert_log.h"

struct hr__alert_jobs;
/* NULL when out of memory; what `config` points to, and the log, must outlive it. */
struct hr__alert_jobs *hr__alert_jobs_create(const struct hr_alerts_config *config, struct hr__alert_log *log);
void hr__alert_jobs_destroy(struct hr__alert_jobs *jobs);
void hr__alert_jobs_note(struct hr__alert_jobs *jobs, const struct hr_event *event);
void hr__alert_jobs_close(struct hr__alert_jobs *jobs, int64_t end_us);

#endif
