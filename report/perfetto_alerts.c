/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/alert_report.h"
#include "report/lanes.h"
#include "report/perfetto.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void put_alert(struct hr__perfetto *perfetto, const struct hr_alert *alert, uint32_t thread) {
  char name[200], *words = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&words, &size);
  if (out) hr__put_alert_words(out, alert);
  if (!out || fclose(out) != 0) perfetto->out.out_of_memory = true;
  snprintf(name, sizeof name, "%s: %.100s", hr_alert_name(alert->rule), alert->where);
  hr__perfetto_begin(perfetto, "X");
  hr__perfetto_place(perfetto, HR__PERFETTO_CLUSTER, thread);
  hr__perfetto_time(perfetto, alert->begin_us);
  HR__PUT(perfetto, ",\"dur\":");
  hr__out_i64(&perfetto->out, alert->end_us - alert->begin_us);
  HR__PUT(perfetto, ",\"cat\":\"alert\",\"name\":");
  hr__out_json_text(&perfetto->out, name);
  HR__PUT(perfetto, ",\"args\":{\"text\":");
  hr__out_json_text(&perfetto->out, words ? words : "");
  HR__PUT(perfetto, "}}");
  free(words);
}

static int by_begin(const void *left, const void *right) {
  const struct hr_alert *a = *(const struct hr_alert *const *)left, *b = *(const struct hr_alert *const *)right;
  if (a->begin_us != b->begin_us) return a->begin_us < b->begin_us ? -1 : 1;
  return (a > b) - (a < b); /* of one list */
}

void hr__perfetto_alerts(struct hr__perfetto *perfetto) {
  const struct hr_alert *list = NULL;
  const struct hr_alerts *alerts = perfetto->run->label->alerts;
  size_t count = alerts ? hr_alerts_list(alerts, &list) : 0;
  uint32_t first_thread = hr__perfetto_thread(perfetto, perfetto->tracks.n_owners, 0);
  struct hr__lanes lanes = {0};
  const struct hr_alert **sorted = calloc(count + 1, sizeof *sorted);
  for (size_t i = 0; sorted && i < count; i++) sorted[i] = &list[i];
  if (sorted) qsort(sorted, count, sizeof *sorted, by_begin);
  perfetto->out.out_of_memory |= !sorted;
  for (size_t i = 0; sorted && i < count; i++) {
    uint32_t lane = hr__lanes_take(&lanes, sorted[i]->begin_us, sorted[i]->end_us);
    perfetto->out.out_of_memory |= lane == HR_NONE;
    put_alert(perfetto, sorted[i], first_thread + lane);
  }
  for (uint32_t i = 0; i < lanes.n; i++) {
    char name[60] = "alerts";
    if (i) snprintf(name, sizeof name, "alerts \xc2\xb7%" PRIu32, i + 1);
    hr__perfetto_name(perfetto, "thread_name", HR__PERFETTO_CLUSTER, first_thread + i, name);
  }
  hr__lanes_finish(&lanes);
  free(sorted);
}
