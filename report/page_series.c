/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts over time, as the watch kept them. */

#include "report/page_parts.h"
#include "report/page_watch.h"

enum extremes { MEAN = 0, LEAST = 1, MOST = 2 };

static void put_counts(struct hr__page_json *json, const char *key, const struct hr__buckets *buckets, unsigned which,
                       double unit) {
  hr__page_open(json, key, '{');
  hr__page_put_buckets(json, "mean", buckets, unit);
  if (which & LEAST) {
    hr__page_open(json, "min", '[');
    for (uint32_t i = 0; i < buckets->n; i++) hr__page_number(json, NULL, (double)buckets->bucket[i].least / unit);
    hr__page_close(json, ']');
  }
  if (which & MOST) hr__page_put_most(json, "max", buckets, unit);
  hr__page_close(json, '}');
}

enum hr_status hr__page_series(const struct hr__page_view *view, struct hr__page_json *json) {
  const struct hr_page_watch *watch = view->run->watch;
  const struct hr__buckets *counts = watch->counts;
  hr__page_open(json, "series", '{');
  hr__page_count(json, "begin_s", 0);
  hr__page_seconds(json, "step_s", view->grid.width_us);
  hr__page_count(json, "n", view->grid.n);
  put_counts(json, "capacity", &counts[HR__PAGE_TOTAL_MILLI], MOST, 1000);
  put_counts(json, "allocated", &counts[HR__PAGE_ALLOCATED_MILLI], LEAST | MOST, 1000);
  put_counts(json, "waiting", &counts[HR__PAGE_WAITING], MOST, 1);
  put_counts(json, "waiting_gpus", &counts[HR__PAGE_WAITING_MILLI], MOST, 1000);
  put_counts(json, "running", &counts[HR__PAGE_RUNNING], MOST, 1);
  if (watch->knows_fragments) {
    put_counts(json, "fragmented", &counts[HR__PAGE_FRAGMENTED_MILLI], MEAN, 1000);
    put_counts(json, "stranded", &counts[HR__PAGE_STRANDED_MILLI], MEAN, 1000);
  }
  enum hr_status status = hr__page_use(view, json);
  if (status == HR_OK) status = hr__page_waits(view, json);
  if (status == HR_OK) status = hr__page_by(view, json);
  if (status == HR_OK && view->run->summary->costs) status = hr__page_spend(view, json);
  if (status == HR_OK) status = hr__page_spot(view, json);
  hr__page_close(json, '}');
  return status;
}
