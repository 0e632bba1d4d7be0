/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_TABLES_ALERT_REPORT_H
#define HR_REPORT_TABLES_ALERT_REPORT_H

/* Writes alerts as a table, as Markdown and as sentences. `alerts` is NULL if no alert rules were evaluated; then
   nothing is written. */

#include "base/console.h"
#include "headroom/report.h"

/* Prints a table with one row per rule and subject: number of alerts, total duration, and the longest alert. `clock_us`
   (microseconds, hr_trace_clock_us) is added to the time at which it began. */
void hr__put_alerts(struct hr__console *console, const struct hr_alerts *alerts, int64_t clock_us);
/* Writes the same table as Markdown. */
void hr__markdown_alerts(struct hr__console *page, const struct hr_alerts *alerts, int64_t clock_us);
/* All alerts with the same rule and subject, which are consecutive in the list. */
struct hr__alert_group {
  const struct hr_alert *longest;
  size_t count;
  int64_t sum_us;
};
/* Returns the group that begins at `list`, which points to the remaining `count` >= 1 alerts. */
struct hr__alert_group hr__alert_group_at(const struct hr_alert *list, size_t count);
/* Writes a sentence about an alert, without a full stop. */
void hr__put_alert_words(FILE *out, const struct hr_alert *alert);

#endif
