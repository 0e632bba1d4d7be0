/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The alerts as one fold over their parts; what the parts found is put in order at the end. */

#include "headroom/alerts.h"

#include "report/alert_budgets.h"
#include "report/alert_jobs.h"
#include "report/alert_pools.h"
#include "sim/grow.h"

#include <stdlib.h>
#include <string.h>

struct hr_alerts {
  struct hr__alert_log log;
  struct hr__alert_pools *pools;
  struct hr__alert_jobs *jobs;
  struct hr__alert_budgets *budgets;
};

const char *hr_alert_name(enum hr_alert_rule rule) {
#define ALERT_TEXT(name, text, key) text,
  static const char *const names[] = {HR_ALERT_TABLE(ALERT_TEXT)};
#undef ALERT_TEXT
  return names[rule];
}

void hr_alert_rules_init(struct hr_alert_rules *rules) {
  const int64_t minute_us = 60 * HR_SECOND_US, hour_us = 60 * minute_us;
  *rules = (struct hr_alert_rules){.underused_below = 0.2,
                                   .saturated_above = 0.95,
                                   .underused_for_us = hour_us,
                                   .saturated_for_us = 30 * minute_us,
                                   .reclaims_above = 0.2,
                                   .reclaims_within_us = 24 * hour_us,
                                   .unsaved_us = 2 * hour_us,
                                   .budget_above = 1};
  for (unsigned i = 0; i < HR_N_CLASSES; i++) rules->waiting_us[i] = 24 * hour_us;
  rules->waiting_us[HR_CLASS_INFERENCE] = 5 * minute_us;
  rules->waiting_us[HR_CLASS_INTERACTIVE] = 15 * minute_us;
}

void hr__alert_log_add(struct hr__alert_log *log, struct hr_alert alert) {
  if (log->count == log->capacity) {
    struct hr_alert *grown = hr__grown(log->list, &log->capacity, sizeof *grown);
    if (!grown) {
      log->failed = true;
      return;
    }
    log->list = grown;
  }
  log->list[log->count++] = alert;
}

struct hr_alerts *hr_alerts_create(const struct hr_alerts_config *config) {
  struct hr_alerts *alerts = calloc(1, sizeof *alerts);
  if (!alerts) return NULL;
  alerts->pools = hr__alert_pools_create(config, &alerts->log);
  alerts->jobs = hr__alert_jobs_create(config, &alerts->log);
  alerts->budgets = hr__alert_budgets_create(config, &alerts->log);
  if (alerts->pools && alerts->jobs && alerts->budgets) return alerts;
  hr_alerts_destroy(alerts);
  return NULL;
}

void hr_alerts_destroy(struct hr_alerts *alerts) {
  if (!alerts) return;
  hr__alert_pools_destroy(alerts->pools);
  hr__alert_jobs_destroy(alerts->jobs);
  hr__alert_budgets_destroy(alerts->budgets);
  free(alerts->log.list);
  free(alerts);
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr_alerts *alerts = self;
  (void)view;
  hr__alert_pools_note(alerts->pools, event);
  hr__alert_jobs_note(alerts->jobs, event);
  hr__alert_budgets_note(alerts->budgets, event);
}

static void on_instant(void *self, const struct hr_view *view) {
  struct hr_alerts *alerts = self;
  hr__alert_pools_instant(alerts->pools, view);
}

struct hr_fold hr_alerts_fold(struct hr_alerts *alerts) {
  return (struct hr_fold){.self = alerts, .on_event = on_event, .on_instant = on_instant};
}

static int in_order(const void *a, const void *b) {
  const struct hr_alert *left = a, *right = b;
  if (left->rule != right->rule) return left->rule < right->rule ? -1 : 1;
  int names = strcmp(left->where, right->where);
  if (names) return names;
  if (left->begin_us != right->begin_us) return left->begin_us < right->begin_us ? -1 : 1;
  return (left->end_us > right->end_us) - (left->end_us < right->end_us);
}

enum hr_status hr_alerts_close(struct hr_alerts *alerts, const struct hr_result *result,
                               const struct hr_cost_summary *costs) {
  hr__alert_pools_close(alerts->pools, result->end_us);
  hr__alert_jobs_close(alerts->jobs, result->end_us);
  hr__alert_budgets_close(alerts->budgets, costs, result->end_us);
  if (alerts->log.count > 1) qsort(alerts->log.list, alerts->log.count, sizeof *alerts->log.list, in_order);
  return alerts->log.failed ? HR_NO_MEMORY : HR_OK;
}

size_t hr_alerts_list(const struct hr_alerts *alerts, const struct hr_alert **list) {
  *list = alerts->log.list;
  return alerts->log.count;
}
