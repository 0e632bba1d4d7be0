/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_TABLES_ALERT_REPORT_H
#define HR_REPORT_TABLES_ALERT_REPORT_H

/* Writes alerts as a table, as Markdown and as a sentence. `alerts` may be NULL if no alert rules were evaluated;
   nothing is written then. */

#include "base/console.h"
#include "headroom/report.h"

/* Prints a table of the alerts grouped by rule and subject: count, total duration, and the longest one. */
void hr__put_alerts(struct hr__console *console, const struct hr_alerts *alerts);
/* Writes the same table as Markdown. */
void hr__markdown_alerts(struct hr__console *page, const struct hr_alerts *alerts);
/* Consecutive alerts of the list with the same rule and subject. */
struct hr__alert_group {
  const struct hr_alert *longest;
  size_t count;
  int64_t sum_us;
};
/* Returns the group that begins at `list`, which has `count` >= 1 alerts left. */
struct hr__alert_group hr__alert_group_at(const struct hr_alert *list, size_t count);
/* Writes one sentence about an alert, without a full stop. */
void hr__put_alert_words(FILE *out, const struct hr_alert *alert);

#endif
