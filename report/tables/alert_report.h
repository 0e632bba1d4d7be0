/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_TABLES_ALERT_REPORT_H
#define HR_REPORT_TABLES_ALERT_REPORT_H

/* Alerts as people and programs read them. `alerts` may be NULL: they were not looked for. */

#include "base/console.h"
#include "headroom/report.h"
#include "report/tables/json_tree.h"

/* By rule and place: how often, for how long, and when it was longest. */
void hr__put_alerts(struct hr__console *console, const struct hr_alerts *alerts);
/* The same as a table of a page of Markdown. */
void hr__markdown_alerts(struct hr__console *page, const struct hr_alerts *alerts);
/* Alerts of one rule and place, which stand together in the list. */
struct hr__alert_group {
  const struct hr_alert *longest;
  size_t count;
  int64_t sum_us;
};
/* The group that begins at `list`, of which `count` >= 1 are left. */
struct hr__alert_group hr__alert_group_at(const struct hr_alert *list, size_t count);
/* One sentence on one of them, without a stop. */
void hr__put_alert_words(FILE *out, const struct hr_alert *alert);
/* `alerts`: each of them. `clock_us` is added to times to show them. */
void hr__json_alerts(struct hr__json *json, cJSON *root, const struct hr_alerts *alerts, int64_t clock_us);

#endif
