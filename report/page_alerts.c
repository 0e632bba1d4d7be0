/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was amiss, when, where and for how long. */

#include "report/alert_report.h"
#include "report/page_parts.h"

#include <stdlib.h>

enum { MOST_ALERTS = 5000 };

static enum hr_status put_words(struct hr__page_json *json, const struct hr_alert *alert) {
  char *text = NULL;
  size_t size = 0;
  FILE *words = open_memstream(&text, &size);
  if (words) hr__put_alert_words(words, alert);
  bool told = words && fclose(words) == 0;
  hr__page_text(json, "words", told ? text : "");
  free(text);
  return told ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status put_alert(struct hr__page_json *json, const struct hr_alert *alert) {
  hr__page_open(json, NULL, '{');
  hr__page_text(json, "rule", hr_alert_name(alert->rule));
  hr__page_text(json, "subject", alert->where);
  hr__page_seconds(json, "begin_s", alert->begin_us);
  hr__page_seconds(json, "end_s", alert->end_us);
  hr__page_seconds(json, "seconds", alert->end_us - alert->begin_us);
  hr__page_number(json, "value", alert->value);
  hr__page_count(json, "count", alert->count);
  enum hr_status status = put_words(json, alert);
  hr__page_close(json, '}');
  return status;
}

/* `value` and `words` are those of the longest. */
static enum hr_status put_group(struct hr__page_json *json, const struct hr__alert_group *group) {
  const struct hr_alert *longest = group->longest;
  hr__page_open(json, NULL, '{');
  hr__page_text(json, "rule", hr_alert_name(longest->rule));
  hr__page_text(json, "subject", longest->where);
  hr__page_count(json, "times", group->count);
  hr__page_seconds(json, "seconds", group->sum_us);
  hr__page_seconds(json, "longest_s", longest->end_us - longest->begin_us);
  hr__page_seconds(json, "from_s", longest->begin_us);
  hr__page_number(json, "value", longest->value);
  enum hr_status status = put_words(json, longest);
  hr__page_close(json, '}');
  return status;
}

static enum hr_status put_groups(struct hr__page_json *json, const struct hr_alert *list, size_t count) {
  enum hr_status status = HR_OK;
  hr__page_open(json, "alert_groups", '[');
  for (size_t i = 0; i < count && status == HR_OK;) {
    struct hr__alert_group group = hr__alert_group_at(list + i, count - i);
    status = put_group(json, &group);
    i += group.count;
  }
  hr__page_close(json, ']');
  return status;
}

enum hr_status hr__page_alerts(const struct hr_alerts *alerts, struct hr__page_json *json) {
  const struct hr_alert *list = NULL;
  size_t count = alerts ? hr_alerts_list(alerts, &list) : 0;
  enum hr_status status = put_groups(json, list, count);
  hr__page_open(json, "alerts", '[');
  for (size_t i = 0; i < count && i < MOST_ALERTS && status == HR_OK; i++) status = put_alert(json, &list[i]);
  hr__page_close(json, ']');
  return status;
}
