/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The HTML report: an observer that records time series, and the writer of the report.
 *
 * The observer records the counts after every pass. An instant may have several passes, so a maximum includes values
 * that lasted for no time, as in the summary.
 *
 * The report is a copy of the template in which two placeholders are replaced: the title, and a line that is replaced
 * by the JSON document and the binary blocks. Both are located before the file is opened. If the line for the data is
 * missing, no file is written; if the title is missing, it is not replaced.
 */

#include "report/page/page.h"

#include "headroom/policy.h"
#include "headroom/trace_files.h"
#include "headroom/unstable/exports.h"
#include "report/metrics/catalog.h"
#include "report/metrics/metrics.h"
#include "report/tables/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Observer -------------------------------------------------------------------------------------- */

enum watched_count {
  COUNT_WAITING,
  COUNT_WAITING_MILLI,
  COUNT_RUNNING,
  COUNT_ALLOCATED_MILLI,
  COUNT_TOTAL_MILLI,
  COUNT_FRAGMENTED_MILLI,
  COUNT_STRANDED_MILLI,
  COUNT_IT_MW,
  COUNT_SITE_MW,
  N_COUNTS
};

/* Series are recorded for the first MAX_SPOT_POOLS spot pools only. */
enum { MAX_SPOT_POOLS = 12 };

/* Numbers of nodes of a spot pool over time. up: acquired nodes, which are paid for; nodes: the sum of `up` and the
   nodes that could be acquired. */
struct page_offer {
  hr_pool pool;
  struct hr__buckets nodes, up;
};

struct hr_page_watch {
  const struct hr_trace *trace;
  struct page_offer offers[MAX_SPOT_POOLS];
  uint32_t n_offers;
  const struct hr_usage *usage; /* source of the fragmentation counts; may be NULL */
  uint64_t waiting_milli;
  bool knows_fragments, knows_power;
  struct hr__buckets counts[N_COUNTS];
};

/* A run uses at least half of the buckets, so at least 600 points are drawn. */
enum { MAX_BUCKETS = 1200 };

static enum hr_status watch_pools(struct hr_page_watch *watch, const struct hr_cluster_spec *cluster) {
  for (uint32_t i = 0; i < cluster->n_pools && watch->n_offers < MAX_SPOT_POOLS; i++) {
    if (cluster->pools[i].market.market != HR_MARKET_SPOT || cluster->pools[i].nodes == 0) continue;
    struct page_offer *offer = &watch->offers[watch->n_offers++];
    offer->pool = (hr_pool){i};
    if (hr__buckets_init(&offer->nodes, MAX_BUCKETS) != HR_OK) return HR_NO_MEMORY;
    if (hr__buckets_init(&offer->up, MAX_BUCKETS) != HR_OK) return HR_NO_MEMORY;
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
  for (unsigned i = 0; i < N_COUNTS && status == HR_OK; i++) status = hr__buckets_init(&watch->counts[i], MAX_BUCKETS);
  if (status == HR_OK) return watch;
  hr_page_watch_destroy(watch);
  return NULL;
}

void hr_page_watch_destroy(struct hr_page_watch *watch) {
  if (!watch) return;
  for (unsigned i = 0; i < N_COUNTS; i++) hr__buckets_finish(&watch->counts[i]);
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
  uint64_t pods = usage->fragment_pods;
  watch->knows_fragments = true;
  hr__buckets_set(&watch->counts[COUNT_FRAGMENTED_MILLI], now_us,
                  (uint64_t)((usage->counts.fragment + pods / 2) / pods));
  hr__buckets_set(&watch->counts[COUNT_STRANDED_MILLI], now_us, usage->counts.stranded_milli);
}

static void count_nodes(struct page_offer *offer, const struct hr_cluster *cluster, int64_t now_us) {
  hr_pool pool = offer->pool;
  uint32_t up = hr__acquired_nodes(cluster, pool);
  hr__buckets_set(&offer->up, now_us, up);
  hr__buckets_set(&offer->nodes, now_us, up + hr_cluster_offer(cluster, pool));
}

/* Records the current power of the cluster, in milliwatts. */
static void count_power(struct hr_page_watch *watch, const struct hr_view *view) {
  enum { NW_PER_MW = 1000000 };
  struct hr_power_now now;
  if (!hr_view_power(view, &now)) return;
  watch->knows_power = true;
  hr__buckets_set(&watch->counts[COUNT_IT_MW], view->now_us, (uint64_t)now.it_nw / NW_PER_MW);
  hr__buckets_set(&watch->counts[COUNT_SITE_MW], view->now_us, (uint64_t)now.site_nw / NW_PER_MW);
}

static void on_instant(void *self, const struct hr_view *view) {
  struct hr_page_watch *watch = self;
  hr__buckets_set(&watch->counts[COUNT_WAITING], view->now_us, view->n_waiting);
  hr__buckets_set(&watch->counts[COUNT_WAITING_MILLI], view->now_us, watch->waiting_milli);
  hr__buckets_set(&watch->counts[COUNT_RUNNING], view->now_us, view->n_running);
  hr__buckets_set(&watch->counts[COUNT_ALLOCATED_MILLI], view->now_us, view->allocated_milli);
  hr__buckets_set(&watch->counts[COUNT_TOTAL_MILLI], view->now_us, view->total_milli);
  if (watch->usage && watch->usage->fragments) count_fragments(watch, view->now_us);
  if (view->energy) count_power(watch, view);
  for (uint32_t i = 0; i < watch->n_offers && view->cluster; i++)
    count_nodes(&watch->offers[i], view->cluster, view->now_us);
}

struct hr_observer hr_page_watch_observer(struct hr_page_watch *watch) {
  return (struct hr_observer){.self = watch, .on_event = on_event, .on_instant = on_instant};
}

static void watch_close(struct hr_page_watch *watch, int64_t end_us) {
  for (unsigned i = 0; i < N_COUNTS; i++) hr__buckets_close(&watch->counts[i], end_us);
  for (uint32_t i = 0; i < watch->n_offers; i++) {
    hr__buckets_close(&watch->offers[i].nodes, end_us);
    hr__buckets_close(&watch->offers[i].up, end_us);
  }
}

/* ---- Alerts ---------------------------------------------------------------------------------------- */

enum { MAX_ALERTS = 5000, MAX_ALERT_GROUPS = 1000 };

static void put_words(struct hr__page_json *json, const struct hr_alert *alert) {
  char *words = hr__alert_words(alert);
  json->failed |= !words;
  hr__page_text(json, "words", words);
  free(words);
}

static void put_alert(struct hr__page_json *json, const struct hr_alert *alert) {
  hr__page_open(json, NULL, '{');
  hr__page_text(json, "rule", hr_alert_name(alert->rule));
  hr__page_name(json, "subject", alert->where);
  hr__page_seconds(json, "begin_s", alert->begin_us);
  hr__page_seconds(json, "end_s", alert->end_us);
  hr__page_seconds(json, "seconds", alert->end_us - alert->begin_us);
  hr__page_number(json, "value", alert->value);
  hr__page_count(json, "count", alert->count);
  put_words(json, alert);
  hr__page_close(json, '}');
}

/* Writes a group, which consists of all alerts with the same rule and subject. "value" and "words" describe its longest
   alert. */
static void put_group(struct hr__page_json *json, const struct hr__alert_group *group) {
  const struct hr_alert *longest = group->longest;
  hr__page_open(json, NULL, '{');
  hr__page_text(json, "rule", hr_alert_name(longest->rule));
  hr__page_name(json, "subject", longest->where);
  hr__page_count(json, "times", group->count);
  hr__page_seconds(json, "seconds", group->sum_us);
  hr__page_seconds(json, "longest_s", longest->end_us - longest->begin_us);
  hr__page_seconds(json, "from_s", longest->begin_us);
  hr__page_number(json, "value", longest->value);
  put_words(json, longest);
  hr__page_close(json, '}');
}

static void put_alerts(const struct hr_alerts *alerts, struct hr__page_json *json) {
  const struct hr_alert *list = NULL;
  size_t count = alerts ? hr_alerts_list(alerts, &list) : 0;
  hr__page_open(json, "alert_groups", '[');
  for (size_t i = 0, n = 0; i < count && n < MAX_ALERT_GROUPS; n++) {
    struct hr__alert_group group = hr__alert_group_at(list + i, count - i);
    put_group(json, &group);
    i += group.count;
  }
  hr__page_close(json, ']');
  hr__page_open(json, "alerts", '[');
  for (size_t i = 0; i < count && i < MAX_ALERTS; i++) put_alert(json, &list[i]);
  hr__page_close(json, ']');
}

/* ---- Series ---------------------------------------------------------------------------------------- */

enum extremes { MEAN = 0, MIN = 1, MAX = 2 };

/* Writes an array with the mean of each bucket, divided by `unit`. */
static void put_buckets(struct hr__page_json *json, const char *key, const struct hr__buckets *buckets, double unit) {
  hr__page_open(json, key, '[');
  for (uint32_t i = 0; i < buckets->n; i++) {
    int64_t span_us = hr__buckets_span_us(buckets, i);
    hr__page_number(json, NULL, span_us > 0 ? (double)buckets->bucket[i].sum / ((double)span_us * unit) : (double)NAN);
  }
  hr__page_close(json, ']');
}

/* Writes an array with the minimum or maximum of each bucket, divided by `unit`. */
static void put_extremes(struct hr__page_json *json, const char *key, const struct hr__buckets *buckets,
                         enum extremes which, double unit) {
  hr__page_open(json, key, '[');
  for (uint32_t i = 0; i < buckets->n; i++)
    hr__page_number(json, NULL, (double)(which == MIN ? buckets->bucket[i].min : buckets->bucket[i].max) / unit);
  hr__page_close(json, ']');
}

static void put_counts(struct hr__page_json *json, const char *key, const struct hr__buckets *buckets, unsigned which,
                       double unit) {
  hr__page_open(json, key, '{');
  put_buckets(json, "mean", buckets, unit);
  if (which & MIN) put_extremes(json, "min", buckets, MIN, unit);
  if (which & MAX) put_extremes(json, "max", buckets, MAX, unit);
  hr__page_close(json, '}');
}

/* ---- Spot pools over time -------------------------------------------------------------------------- */

static void note_reclaims(struct hr__page_sums *reclaims, const struct hr__page_view *view, uint32_t pool) {
  for (size_t i = 0; i < view->n_changes; i++) {
    const struct hr_node_change *change = &view->changes[i];
    if (change->pool.id == pool && change->kind == HR_EVENT_NODE_DOWN && change->reason == HR_REASON_RECLAIMED)
      hr__page_put(reclaims, &view->grid, change->at_us, 1);
  }
}

static void note_jobs(struct hr__page_sums *interrupted, const struct hr__page_view *view, uint32_t pool) {
  for (size_t i = 0; i < view->n_attempts; i++)
    if (view->attempts[i].pool.id == pool && view->attempts[i].end == HR_ATTEMPT_INTERRUPTED)
      hr__page_put(interrupted, &view->grid, view->attempts[i].end_us, 1);
}

static enum hr_status put_pool(const struct hr__page_view *view, const struct page_offer *offer,
                               struct hr__page_json *json) {
  uint32_t pool = offer->pool.id;
  struct hr__page_sums reclaims = {0}, interrupted = {0};
  enum hr_status status = hr__page_sums_init(&reclaims, &view->grid);
  if (status == HR_OK) status = hr__page_sums_init(&interrupted, &view->grid);
  if (status == HR_OK) {
    note_reclaims(&reclaims, view, pool);
    note_jobs(&interrupted, view, pool);
    hr__page_sums_close(&reclaims, &view->grid);
    hr__page_sums_close(&interrupted, &view->grid);
    hr__page_open(json, NULL, '{');
    hr__page_name(json, "pool", view->run->cluster->pools[pool].name);
    put_buckets(json, "offered", &offer->nodes, 1);
    put_extremes(json, "offered_max", &offer->nodes, MAX, 1);
    put_buckets(json, "up", &offer->up, 1);
    put_extremes(json, "up_max", &offer->up, MAX, 1);
    hr__page_put_sums(json, "reclaims", &reclaims, &view->grid, 1);
    hr__page_put_sums(json, "interrupted", &interrupted, &view->grid, 1);
    hr__page_close(json, '}');
  }
  hr__page_sums_finish(&reclaims);
  hr__page_sums_finish(&interrupted);
  return status;
}

static enum hr_status put_spot(const struct hr__page_view *view, struct hr__page_json *json) {
  const struct hr_page_watch *watch = view->run->watch;
  if (watch->n_offers == 0) return HR_OK;
  enum hr_status status = HR_OK;
  hr__page_open(json, "spot", '[');
  for (uint32_t i = 0; i < watch->n_offers && status == HR_OK; i++) status = put_pool(view, &watch->offers[i], json);
  hr__page_close(json, ']');
  return status;
}

/* ---- All series ------------------------------------------------------------------------------------ */

static enum hr_status put_series(const struct hr__page_view *view, struct hr__page_json *json) {
  const struct hr_page_watch *watch = view->run->watch;
  const struct hr__buckets *counts = watch->counts;
  hr__page_open(json, "series", '{');
  hr__page_count(json, "begin_s", 0);
  hr__page_seconds(json, "step_s", view->grid.width_us);
  hr__page_count(json, "n", view->grid.n);
  put_counts(json, "capacity", &counts[COUNT_TOTAL_MILLI], MAX, 1000);
  put_counts(json, "allocated", &counts[COUNT_ALLOCATED_MILLI], MIN | MAX, 1000);
  put_counts(json, "waiting", &counts[COUNT_WAITING], MAX, 1);
  put_counts(json, "waiting_gpus", &counts[COUNT_WAITING_MILLI], MAX, 1000);
  put_counts(json, "running", &counts[COUNT_RUNNING], MAX, 1);
  if (watch->knows_fragments) {
    put_counts(json, "fragmented", &counts[COUNT_FRAGMENTED_MILLI], MEAN, 1000);
    put_counts(json, "stranded", &counts[COUNT_STRANDED_MILLI], MEAN, 1000);
  }
  if (watch->knows_power) {
    put_counts(json, "power_kw", &counts[COUNT_IT_MW], MIN | MAX, 1e6);
    put_counts(json, "site_kw", &counts[COUNT_SITE_MW], MIN | MAX, 1e6);
  }
  enum hr_status status = hr__page_usage_series(view, json);
  if (status == HR_OK && view->run->summary->costs) status = hr__page_spend(view, json);
  if (status == HR_OK) status = put_spot(view, json);
  hr__page_close(json, '}');
  return status;
}

static bool same_gpu(const struct hr_pool_spec *a, const struct hr_pool_spec *b) {
  return a->gpu && b->gpu ? strcmp(a->gpu, b->gpu) == 0 : a->gpu == b->gpu;
}

static void number_pools(struct hr__page_view *view) {
  const struct hr_cluster_spec *cluster = view->run->cluster;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    view->first_node[i + 1] = view->first_node[i] + cluster->pools[i].nodes;
    uint32_t first = 0;
    while (!same_gpu(&cluster->pools[first], &cluster->pools[i])) first++;
    view->first_of_gpu[i] = first;
  }
}

/* Initializes the view and ends the time series of the observer. Returns HR_NO_MEMORY if out of memory; call
   view_finish() even on failure. */
static enum hr_status view_init(struct hr__page_view *view, const struct hr_page_run *run) {
  size_t n_pools = run->cluster->n_pools;
  *view = (struct hr__page_view){.run = run,
                                 .first_node = calloc(n_pools + 1, sizeof *view->first_node),
                                 .first_of_gpu = calloc(n_pools + 1, sizeof *view->first_of_gpu)};
  if (!view->first_node || !view->first_of_gpu) return HR_NO_MEMORY;
  number_pools(view);
  int64_t end_us = hr_history_end_us(run->history);
  watch_close(run->watch, end_us);
  const struct hr__buckets *buckets = &run->watch->counts[0];
  view->grid = (struct hr__page_grid){buckets->width_us, end_us, buckets->n};
  view->n_attempts = hr_history_attempts(run->history, &view->attempts);
  view->n_changes = hr_history_changes(run->history, &view->changes);
  return HR_OK;
}

static void view_finish(struct hr__page_view *view) {
  free(view->first_node);
  free(view->first_of_gpu);
}

/* ---- File layout ----------------------------------------------------------------------------------- */

struct blocks {
  struct hr__page_job_blocks jobs;
  struct hr__page_block occupancy;
};

static void put_note_texts(struct hr__page_json *json, const struct hr_notes *notes) {
  for (size_t i = 0; i < notes->count; i++) hr__page_text(json, NULL, notes->text[i]);
}

/* ---- Document -------------------------------------------------------------------------------------- */

static void put_baseline(const struct hr_page *page, struct hr__page_json *json) {
  if (!page->baseline) {
    hr__page_null(json, "baseline");
    return;
  }
  hr__page_open(json, "baseline", '{');
  hr__page_text(json, "name", page->baseline_name);
  hr__page_json_text(json, "run", page->baseline);
  hr__page_close(json, '}');
}

static void put_bool(struct hr__page_json *json, const char *key, bool value) {
  hr__page_begin_value(json, key);
  hr__out_text(json->out, value ? "true" : "false");
}

/* Writes "clock" and "spans". All times in the document are relative to the begin of the run; "clock" contains the time
   of the begin. */
static void put_clock(const struct hr__page_view *view, struct hr__page_json *json) {
  const struct hr_trace *trace = view->run->trace;
  hr__page_open(json, "clock", '{');
  put_bool(json, "dated", trace->dated);
  put_bool(json, "zoned", trace->dated && !hr_trace_has_local_dates(trace));
  hr__page_seconds(json, "origin_s", trace->origin_us);
  hr__page_close(json, '}');
  hr__page_open(json, "spans", '{');
  hr__page_count(json, "begin_s", 0);
  hr__page_seconds(json, "end_s", view->grid.end_us);
  hr__page_close(json, '}');
}

static size_t at_most(size_t count, size_t max) {
  return count < max ? count : max;
}

/* Returns the summary as JSON text, with the largest tenants only. The caller frees it. NULL: out of memory. */
static char *thin_summary(const struct hr_page_run *run) {
  struct hr_summary summary = *run->summary;
  struct hr_cost_summary costs;
  summary.n_tenants = at_most(summary.n_tenants, HR_PAGE_MAX_TENANTS);
  if (summary.costs) {
    costs = *summary.costs;
    costs.by_tenant.count = at_most(costs.by_tenant.count, HR_PAGE_MAX_TENANTS);
    costs.n_statements = at_most(costs.n_statements, HR_PAGE_MAX_TENANTS);
    costs.n_budgets = at_most(costs.n_budgets, HR_PAGE_MAX_TENANTS);
    summary.costs = &costs;
  }
  return hr_summary_json(&summary, run->label, run->perf);
}

static enum hr_status put_run(const struct hr_page_run *run, struct hr__page_json *json, struct blocks *blocks) {
  char *summary = thin_summary(run);
  struct hr__page_view view;
  enum hr_status status = view_init(&view, run);
  if (!summary) status = HR_NO_MEMORY;
  if (status == HR_OK) {
    hr__page_json_text(json, "run", summary);
    put_clock(&view, json);
    status = put_series(&view, json);
  }
  if (status == HR_OK) status = hr__page_distributions(&view, json);
  if (status == HR_OK) put_alerts(run->label->alerts, json);
  if (status == HR_OK && run->summary->costs) status = hr__page_cells(&view, json);
  if (status == HR_OK) status = hr__page_occupancy(&view, json, &blocks->occupancy);
  if (status == HR_OK) status = hr__page_jobs(&view, json, &blocks->jobs);
  view_finish(&view);
  free(summary);
  return status;
}

/* Adds a note if the page does not list all tenants. */
static enum hr_status note_omitted(const struct hr_page_run *run, struct hr_notes *notes) {
  char shown[HR__NUMBER_BYTES], all[HR__NUMBER_BYTES];
  if (run->summary->n_tenants <= HR_PAGE_MAX_TENANTS) return HR_OK;
  return hr_notes_add(notes, "this page lists the %s largest of %s tenants; the option --json writes all",
                      hr__count_text(HR_PAGE_MAX_TENANTS, shown), hr__count_text(run->summary->n_tenants, all));
}

/* Writes the notes and assumptions. A note that occurs in several lists is written once. */
static void put_notes(const struct hr_page *page, struct hr__page_json *json) {
  struct hr_notes all = {0};
  for (size_t i = 0; i < page->n_notes; i++)
    for (size_t k = 0; k < page->notes[i]->count; k++)
      if (hr_notes_add(&all, "%s", page->notes[i]->text[k]) != HR_OK) json->failed = true;
  if (page->run && note_omitted(page->run, &all) != HR_OK) json->failed = true;
  hr__page_open(json, "notes", '[');
  put_note_texts(json, &all);
  hr__page_close(json, ']');
  hr_notes_finish(&all);
  hr__page_open(json, "assumptions", '[');
  if (page->assumptions) put_note_texts(json, page->assumptions);
  hr__page_close(json, ']');
}

static void put_goals(const struct hr_page *page, struct hr__page_json *json) {
  hr__page_open(json, "goals", '[');
  for (size_t i = 0; i < page->n_goals; i++) {
    hr__page_open(json, NULL, '{');
    hr__page_text(json, "constraint", page->goals[i].text);
    hr__page_number(json, "value", page->goals[i].value);
    put_bool(json, "met", page->goals[i].met);
    put_bool(json, "assumed", page->goals[i].assumed);
    hr__page_close(json, '}');
  }
  hr__page_close(json, ']');
}

static void put_prices(const struct hr_page *page, struct hr__page_json *json) {
  hr__page_open(json, "prices", '[');
  for (size_t i = 0; i < page->n_prices; i++) {
    const struct hr_page_price *price = &page->prices[i];
    hr__page_open(json, NULL, '{');
    hr__page_text(json, "pool", price->pool);
    hr__page_text(json, "market", price->market);
    hr__page_usd(json, "usd_per_gpu_hour", price->uusd_per_gpu_hour);
    hr__page_text(json, "status", price->status);
    hr__page_text(json, "as_of", price->as_of);
    hr__page_text(json, "source", price->source);
    hr__page_close(json, '}');
  }
  hr__page_close(json, ']');
}

static void put_saving(const struct hr_page_saving *saving, struct hr__page_json *json) {
  if (!saving) {
    hr__page_null(json, "saving");
    return;
  }
  hr__page_open(json, "saving", '{');
  hr__page_text(json, "advise_command", saving->advise_command);
  put_bool(json, "searched", saving->is_searched);
  hr__page_count(json, "examined", saving->n_examined);
  hr__page_text(json, "command", saving->command);
  hr__page_number(json, "usd_per_month", saving->command ? saving->usd_per_month : (double)NAN);
  hr__page_text(json, "pool", saving->pool);
  hr__page_text(json, "class", saving->class_);
  hr__page_text(json, "from", saving->from);
  hr__page_text(json, "to", saving->to);
  hr__page_close(json, '}');
}

/* Writes "wait_reasons": the name of each wait reason and its description. */
static void put_wait_reasons(struct hr__page_json *json) {
  hr__page_open(json, "wait_reasons", '{');
  for (unsigned i = HR_WAIT_REASON_NONE + 1; i < HR_N_WAIT_REASONS; i++) {
    enum hr_wait_reason_kind reason = (enum hr_wait_reason_kind)i;
    hr__page_text(json, hr_wait_reason_name(reason), hr_wait_reason_words(reason));
  }
  hr__page_close(json, '}');
}

/* Writes "metrics": for each metric of the catalogue by path its column, title, unit, and which values are better. */
static void put_catalog(struct hr__page_json *json) {
  hr__page_open(json, "metrics", '{');
  for (unsigned i = 0; i < HR__N_METRICS; i++) {
    const struct hr_metric *metric = &hr__metric_rows[i];
    hr__page_open(json, metric->path, '{');
    hr__page_text(json, "column", metric->column);
    hr__page_text(json, "title", metric->title);
    hr__page_text(json, "unit", hr_unit_name(metric->unit));
    hr__page_text(json, "better", hr_direction_name(metric->direction));
    hr__page_close(json, '}');
  }
  hr__page_close(json, '}');
}

static enum hr_status put_document(const struct hr_page *page, struct hr__page_json *json, struct blocks *blocks) {
  hr__page_open(json, NULL, '{');
  hr__page_count(json, "format", 1);
  hr__page_text(json, "kind", page->kind);
  hr__page_text(json, "version", hr_version());
  hr__page_text(json, "title", page->title);
  hr__page_text(json, "description", page->description ? page->description : "");
  hr__page_text(json, "command", page->command);
  put_goals(page, json);
  put_prices(page, json);
  put_saving(page->saving, json);
  put_catalog(json);
  if (page->compare) hr__page_json_text(json, "compare", page->compare);
  if (page->plan) hr__page_json_text(json, "plan", page->plan);
  if (page->sweep) hr__page_json_text(json, "sweep", page->sweep);
  if (page->tco) hr__page_json_text(json, "tco", page->tco);
  if (page->why) hr__page_json_text(json, "why", page->why);
  if (page->why) put_wait_reasons(json);
  if (page->workload) hr__page_json_text(json, "workload", page->workload);
  put_baseline(page, json);
  put_notes(page, json);
  enum hr_status status = HR_OK;
  if (page->run) {
    status = put_run(page->run, json, blocks);
  } else {
    hr__page_null(json, "run");
    put_alerts(NULL, json);
  }
  hr__page_close(json, '}');
  return status == HR_OK && json->failed ? HR_NO_MEMORY : status;
}

static enum hr_status put_blocks(const struct blocks *blocks, struct hr__out *out) {
  const struct {
    const char *name;
    const struct hr__page_block *block;
  } all[] = {{"occupancy", &blocks->occupancy},
             {"jobs", &blocks->jobs.jobs},
             {"job_ids", &blocks->jobs.ids},
             {"attempts", &blocks->jobs.attempts}};
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < sizeof all / sizeof *all && status == HR_OK; i++)
    if (all[i].block->size || all[i].block->failed) status = hr__page_block_write(all[i].block, out, all[i].name);
  return status;
}

static void finish_blocks(struct blocks *blocks) {
  hr__page_block_finish(&blocks->occupancy);
  hr__page_block_finish(&blocks->jobs.jobs);
  hr__page_block_finish(&blocks->jobs.ids);
  hr__page_block_finish(&blocks->jobs.attempts);
}

/* ---- File ------------------------------------------------------------------------------------------ */

static const char title_place[] = "<title>Headroom</title>", data_place[] = "<!--headroom:data-->";

struct places {
  const char *text, *title, *data;
};

static enum hr_status find_places(const struct hr_page *page, struct places *places, struct hr_error *error) {
  const char *text = page->template_html ? page->template_html : hr__page_template;
  if (!text)
    return hr_fail(error, HR_BAD_INPUT,
                   "this build has no HTML report; install node and npm, configure and build again");
  *places = (struct places){text, strstr(text, title_place), strstr(text, data_place)};
  if (!places->data)
    return hr_fail(error, HR_BAD_INPUT, "the report template has no line '%s' for the data of the run", data_place);
  if (places->title && places->title > places->data) places->title = NULL;
  return HR_OK;
}

static enum hr_status put_title(struct hr__out *out, const char *title) {
  char *utf8 = hr__utf8_copy(title);
  if (!utf8) return HR_NO_MEMORY;
  hr__out_text(out, "<title>");
  for (const char *at = utf8; *at; at++) {
    if (*at == '<')
      hr__out_text(out, "&lt;");
    else if (*at == '&')
      hr__out_text(out, "&amp;");
    else
      hr__out_byte(out, *at);
  }
  hr__out_text(out, "</title>");
  free(utf8);
  return HR_OK;
}

static enum hr_status put_data(const struct hr_page *page, struct hr__out *out) {
  struct blocks blocks = {0};
  struct hr__page_json json = {.out = out};
  hr__out_text(out, "<script type=\"application/json\" id=\"headroom-data\">");
  enum hr_status status = put_document(page, &json, &blocks);
  hr__out_text(out, "</script>\n");
  if (status == HR_OK) status = put_blocks(&blocks, out);
  finish_blocks(&blocks);
  return status;
}

static enum hr_status put_page(const struct hr_page *page, const struct places *places, struct hr__out *out) {
  const char *at = places->text;
  enum hr_status status = HR_OK;
  if (places->title) {
    hr__out_bytes(out, at, (size_t)(places->title - at));
    status = put_title(out, page->title);
    at = places->title + strlen(title_place);
  }
  hr__out_bytes(out, at, (size_t)(places->data - at));
  if (status == HR_OK) status = put_data(page, out);
  hr__out_text(out, places->data + strlen(data_place));
  return status;
}

bool hr_page_is_built(void) {
  return hr__page_template != NULL;
}

enum hr_status hr_page_write(const char *path, const struct hr_page *page, struct hr_error *error) {
  struct places places = {0};
  struct hr__out out;
  enum hr_status status = find_places(page, &places, error);
  if (status == HR_OK) status = hr__out_open(&out, path, error);
  if (status != HR_OK) return status;
  status = put_page(page, &places, &out);
  if (status == HR_OK) return hr__out_commit(&out, error);
  hr__out_abandon(&out);
  return hr_fail(error, status, "%s: out of memory for the HTML report", path);
}
