/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_ALERTS_ALERTS_H
#define HR_REPORT_ALERTS_ALERTS_H

#include "base/containers.h"
#include "headroom/report.h"
#include "headroom/unstable/metrics.h"

struct hr__parcel;

/* The interface of a group of alert rules, the list of alerts to which the rules append, and the groups. */

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

extern const struct hr__alert_watcher hr__alert_budgets; /* `over-budget` (alert_budgets.c) */
extern const struct hr__alert_watcher hr__alert_heat;    /* `gpus-hot` (alert_heat.c) */
/* Appends the alerts of inference services after their run (alert_services.c). `origin_us`: time 0 of the run in the
   clock of the requests. The log borrows the names of the services. */
void hr__alert_services(const struct hr_alert_rules *rules, const struct hr_served *served, uint32_t count,
                        int64_t origin_us, struct hr__alert_log *log);

/* Copies the closed alerts of a run into the parcel of another process, or out of it, as hr__parcel_summary does. */
void hr__parcel_alerts(struct hr__parcel *parcel, struct hr_alerts **alerts);

#endif
