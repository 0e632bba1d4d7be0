/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was amiss, when, where and for how long. */

#include "report/alert_report.h"
#include "report/page_parts.h"

#include <stdlib.h>

enum { MOST_ALERTS = 5000 };

static enum hr_status put_alert(struct hr__page_json *json, const struct hr_alert *alert) {
  char *text = NULL;
  size_t size = 0;
  FILE *words = open_memstream(&text, &size);
  if (words) hr__put_alert_words(words, alert);
  bool told = words && fclose(words) == 0;
  hr__page_open(json, NULL, '{');
  hr__page_text(json, "rule", hr_alert_name(alert->rule));
  hr__page_text(json, "subject", alert->where);
  hr__page_seconds(json, "begin_s", alert->begin_us);
  hr__page_seconds(json, "end_s", alert->end_us);
  hr__page_seconds(json, "seconds", alert->end_us - alert->begin_us);
  hr__page_number(json, "value", alert->value);
  hr__page_count(json, "count", alert->count);
  hr__page_text(json, "words", told ? text : "");
  hr__page_close(json, '}');
  free(text);
  return told ? HR_OK : HR_NO_MEMORY;
}

enum hr_status hr__page_alerts(const struct hr_alerts *alerts, struct hr__page_json *json) {
  const struct hr_alert *list;
  size_t count = alerts ? hr_alerts_list(alerts, &list) : 0;
  enum hr_status status = HR_OK;
  hr__page_open(json, "alerts", '[');
  for (size_t i = 0; i < count && i < MOST_ALERTS && status == HR_OK; i++) status = put_alert(json, &list[i]);
  hr__page_close(json, ']');
  return status;
}
