/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts after every pass, also of the passes of one instant: a peak that lasted no time is a peak, as it is in the
   summary. */

#include "report/page/page_watch.h"

#include "report/metrics/usage.h"

#include <stdlib.h>

/* Twice as many as a wide screen shows, as a long run may fill but half of them. */
enum { MOST_BUCKETS = 1200 };

static enum hr_status watch_pools(struct hr_page_watch *watch, const struct hr_cluster_spec *cluster) {
  for (uint32_t i = 0; i < cluster->n_pools && watch->n_offers < HR__PAGE_SPOT_POOLS; i++) {
    if (cluster->pools[i].market.market != HR_MARKET_SPOT || cluster->pools[i].nodes == 0) continue;
    struct hr__page_offer *offer = &watch->offers[watch->n_offers++];
    offer->pool = (hr_pool){i};
    if (hr__buckets_init(&offer->nodes, MOST_BUCKETS) != HR_OK) return HR_NO_MEMORY;
    if (hr__buckets_init(&offer->up, MOST_BUCKETS) != HR_OK) return HR_NO_MEMORY;
  }
  return HR_OK;
}

struct hr_page_watch *hr_page_watch_create(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                           const struct hr_usage *usage) {
  struct hr_page_watch *watch = calloc(1, sizeof *watch);
  if (!watch) return NULL;
  watch->trace = trace;
  watch->usage = usage;
  enum hr_status status = watch_pools(watch, cluster);
  for (unsigned i = 0; i < HR__PAGE_COUNTS && status == HR_OK; i++)
    status = hr__buckets_init(&watch->counts[i], MOST_BUCKETS);
  if (status == HR_OK) return watch;
  hr_page_watch_destroy(watch);
  return NULL;
}

void hr_page_watch_destroy(struct hr_page_watch *watch) {
  if (!watch) return;
  for (unsigned i = 0; i < HR__PAGE_COUNTS; i++) hr__buckets_finish(&watch->counts[i]);
  for (uint32_t i = 0; i < watch->n_offers; i++) {
    hr__buckets_finish(&watch->offers[i].nodes);
    hr__buckets_finish(&watch->offers[i].up);
  }
  free(watch);
}

static uint64_t asked_milli(const struct hr_page_watch *watch, const struct hr_view *view, hr_job job) {
  return view->cluster ? hr_cluster_asked_milli(view->cluster, job) : (uint64_t)watch->trace->gpus[job.id] * 1000;
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr_page_watch *watch = self;
  switch (event->kind) {
  case HR_EVENT_SUBMIT:
  case HR_EVENT_INTERRUPT:
  case HR_EVENT_PREEMPT:
    watch->waiting_milli += asked_milli(watch, view, event->job);
    break;
  case HR_EVENT_START:
  case HR_EVENT_REJECT:
    watch->waiting_milli -= asked_milli(watch, view, event->job);
    break;
  default:
    break;
  }
}

static void count_fragments(struct hr_page_watch *watch, int64_t now_us) {
  const struct hr_usage *usage = watch->usage;
  uint64_t pods = hr__fragments_pods(usage->fragments);
  watch->knows_fragments = true;
  hr__buckets_set(&watch->counts[HR__PAGE_FRAGMENTED_MILLI], now_us,
                  (uint64_t)((usage->counts.fragment + pods / 2) / pods));
  hr__buckets_set(&watch->counts[HR__PAGE_STRANDED_MILLI], now_us, usage->counts.stranded_milli);
}

static void count_nodes(struct hr__page_offer *offer, const struct hr_cluster *cluster, int64_t now_us) {
  hr_pool pool = offer->pool;
  uint32_t up = hr_cluster_nodes_in(cluster, pool, HR_NODE_UP) + hr_cluster_nodes_in(cluster, pool, HR_NODE_BOOTING) +
                hr_cluster_nodes_in(cluster, pool, HR_NODE_CLOSING);
  hr__buckets_set(&offer->up, now_us, up);
  hr__buckets_set(&offer->nodes, now_us, up + hr_cluster_offer(cluster, pool));
}

static void on_instant(void *self, const struct hr_view *view) {
  struct hr_page_watch *watch = self;
  hr__buckets_set(&watch->counts[HR__PAGE_WAITING], view->now_us, view->n_waiting);
  hr__buckets_set(&watch->counts[HR__PAGE_WAITING_MILLI], view->now_us, watch->waiting_milli);
  hr__buckets_set(&watch->counts[HR__PAGE_RUNNING], view->now_us, view->n_running);
  hr__buckets_set(&watch->counts[HR__PAGE_ALLOCATED_MILLI], view->now_us, view->allocated_milli);
  hr__buckets_set(&watch->counts[HR__PAGE_TOTAL_MILLI], view->now_us, view->total_milli);
  if (watch->usage && watch->usage->fragments) count_fragments(watch, view->now_us);
  for (uint32_t i = 0; i < watch->n_offers && view->cluster; i++)
    count_nodes(&watch->offers[i], view->cluster, view->now_us);
}

struct hr_observer hr_page_watch_observer(struct hr_page_watch *watch) {
  return (struct hr_observer){.self = watch, .on_event = on_event, .on_instant = on_instant};
}

void hr__page_watch_close(struct hr_page_watch *watch, int64_t end_us) {
  for (unsigned i = 0; i < HR__PAGE_COUNTS; i++) hr__buckets_close(&watch->counts[i], end_us);
  for (uint32_t i = 0; i < watch->n_offers; i++) {
    hr__buckets_close(&watch->offers[i].nodes, end_us);
    hr__buckets_close(&watch->offers[i].up, end_us);
  }
}
