/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes alerts as a table, as Markdown and as sentences. */

#include "report/tables/tables.h"

#include "base/console.h"
#include "base/text.h"
#include "headroom/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { RULE_WIDTH = 15, WHERE_WIDTH = 15, MAX_ROWS = 12 };

static double seconds(int64_t us) {
  return (double)us / (double)HR_SECOND_US;
}

static int64_t length_us(const struct hr_alert *alert) {
  return alert->end_us - alert->begin_us;
}

/* ---- Sentences ----------------------------------------------------------------------------------- */

static const char *subject_of(const struct hr_alert *alert) {
  return alert->where[0] ? alert->where : "no class";
}

void hr__put_alert_words(FILE *out, const struct hr_alert *alert) {
  char lasted[HR__NUMBER_BYTES], percent[HR__NUMBER_BYTES], count[2][HR__NUMBER_BYTES];
  hr__duration_text(seconds(length_us(alert)), lasted);
  hr__fixed_text(100 * alert->value, 1, percent);
  hr__count_text(alert->count, count[0]);
  switch (alert->rule) {
  case HR_ALERT_UNDERUSED:
  case HR_ALERT_SATURATED:
    fprintf(out, "%s %% of the GPUs of pool %s were allocated on average, for %s", percent, alert->where, lasted);
    break;
  case HR_ALERT_RECLAIMS:
    fprintf(out, "up to %s %% of the nodes of pool %s were reclaimed within the window (%s), for %s", percent,
            alert->where, count[0], lasted);
    break;
  case HR_ALERT_UNSAVED:
    fprintf(out, "%s job%s of %s ran too long without a checkpoint, up to %s at once, for %s", count[0],
            alert->count == 1 ? "" : "s", subject_of(alert), hr__count_text((uint64_t)alert->value, count[1]), lasted);
    break;
  case HR_ALERT_WAITING:
    fprintf(out, "%s job%s of %s waited longer than allowed, up to %s at once, for %s", count[0],
            alert->count == 1 ? "" : "s", subject_of(alert), hr__count_text((uint64_t)alert->value, count[1]), lasted);
    break;
  default:
    fprintf(out, "tenant %s spent %s %% of its monthly budget, over budget for %s", alert->where, percent, lasted);
  }
}

static bool counts_jobs(enum hr_alert_rule rule) {
  return rule == HR_ALERT_UNSAVED || rule == HR_ALERT_WAITING;
}

/* ---- Table --------------------------------------------------------------------------------------- */

struct hr__alert_group hr__alert_group_at(const struct hr_alert *list, size_t count) {
  struct hr__alert_group group = {.longest = list};
  for (; group.count < count; group.count++) {
    const struct hr_alert *alert = &list[group.count];
    if (alert->rule != list->rule || strcmp(alert->where, list->where) != 0) break;
    group.sum_us += length_us(alert);
    if (length_us(alert) > length_us(group.longest)) group.longest = alert;
  }
  return group;
}

static void put_value(const struct hr_alert *alert, char buffer[HR__NUMBER_BYTES + 8]) {
  if (counts_jobs(alert->rule)) {
    hr__count_text((uint64_t)alert->value, buffer);
    strcat(buffer, alert->value > 1 ? " jobs" : " job");
    return;
  }
  hr__fixed_text(100 * alert->value, alert->value < 9.9995 ? 1 : 0, buffer);
  strcat(buffer, " %");
}

static void put_row(struct hr__console *console, const struct hr__alert_group *group, int64_t clock_us) {
  char text[4][HR__NUMBER_BYTES], value[HR__NUMBER_BYTES + 8];
  const struct hr_alert *longest = group->longest;
  char *where = hr__fitted(console, longest->where[0] ? longest->where : "-", WHERE_WIDTH - 1, false);
  if (!where) return;
  put_value(longest, value);
  fprintf(console->out, "%-*s%s%*s%5s%12s%12s%12s%8s\n", RULE_WIDTH, hr_alert_name(longest->rule), where,
          (int)(WHERE_WIDTH - hr__width_of(where, strlen(where))), "", hr__count_text(group->count, text[0]),
          hr__duration_text(seconds(group->sum_us), text[1]), hr__duration_text(seconds(length_us(longest)), text[2]),
          hr__duration_text(seconds(longest->begin_us + clock_us), text[3]), value);
  free(where);
}

void hr__put_alerts(struct hr__console *console, const struct hr_alerts *alerts, int64_t clock_us) {
  const struct hr_alert *list;
  size_t count = alerts ? hr_alerts_list(alerts, &list) : 0, n_groups = 0;
  if (count == 0) return;
  fprintf(console->out, "\n%s%-*s%-*s%5s%12s%12s%12s%8s%s\n", hr__bold(console), RULE_WIDTH, "alert", WHERE_WIDTH,
          "subject", "count", "total", "longest", "began", "value", hr__plain(console));
  for (size_t i = 0; i < count; n_groups++) {
    struct hr__alert_group group = hr__alert_group_at(list + i, count - i);
    if (n_groups < MAX_ROWS) put_row(console, &group, clock_us);
    i += group.count;
  }
  char more[HR__NUMBER_BYTES];
  if (n_groups > MAX_ROWS)
    fprintf(console->out, "%sand %s more%s\n", hr__dim(console), hr__count_text(n_groups - MAX_ROWS, more),
            hr__plain(console));
}

/* ---- Markdown ------------------------------------------------------------------------------------ */

static void markdown_row(struct hr__console *page, const struct hr__alert_group *group, int64_t clock_us) {
  char text[4][HR__NUMBER_BYTES], value[HR__NUMBER_BYTES + 8];
  const struct hr_alert *longest = group->longest;
  put_value(longest, value);
  fprintf(page->out, "| %s: ", hr_alert_name(longest->rule));
  hr__markdown_text(page, longest->where[0] ? longest->where : "-");
  fprintf(page->out, " | %s | %s | %s | %s | %s |\n", hr__count_text(group->count, text[0]),
          hr__duration_text(seconds(group->sum_us), text[1]), hr__duration_text(seconds(length_us(longest)), text[2]),
          hr__duration_text(seconds(longest->begin_us + clock_us), text[3]), value);
}

void hr__markdown_alerts(struct hr__console *page, const struct hr_alerts *alerts, int64_t clock_us) {
  const struct hr_alert *list;
  size_t count = alerts ? hr_alerts_list(alerts, &list) : 0;
  if (count == 0) return;
  hr__markdown_head(page, "Alert", " count | total | longest | longest began | value ");
  for (size_t i = 0; i < count;) {
    struct hr__alert_group group = hr__alert_group_at(list + i, count - i);
    markdown_row(page, &group, clock_us);
    i += group.count;
  }
}
