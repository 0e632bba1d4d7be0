/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An event changes one pool, and only that one's integrals are brought up to date. So they stand at times of their own,
 * and those up to the last end are kept apart from what has happened since: the first change of a pool after a job's
 * end keeps the pool's integrals as they stood at that end, until a change after a later end keeps them anew.
 */

#include "report/metrics/usage.h"

#include <stdlib.h>

struct usage_pool {
  int64_t until_us;
  uint64_t allocated_milli, total_milli; /* what holds since then */
  struct hr__pool_time now, at_last_end; /* the latter if the pool changed since */
};

struct hr__by_pool {
  const struct hr_cluster *cluster;
  int64_t last_end_us;
  struct usage_pool *pools; /* [n_pools] */
  uint32_t *last;           /* [n_jobs]: the pool where it ran last */
};

static void hr__by_pool_destroy(struct hr__by_pool *by_pool);

static struct hr__by_pool *hr__by_pool_create(const struct hr_cluster *cluster, uint32_t n_jobs) {
  struct hr__by_pool *self = calloc(1, sizeof *self);
  uint32_t n_pools = hr_cluster_pools(cluster);
  if (!self) return NULL;
  self->cluster = cluster;
  self->pools = calloc(n_pools, sizeof *self->pools);
  self->last = malloc(((size_t)n_jobs + 1) * sizeof *self->last);
  if (!self->pools || !self->last) {
    hr__by_pool_destroy(self);
    return NULL;
  }
  for (uint32_t pool = 0; pool < n_pools; pool++)
    self->pools[pool].total_milli = hr_cluster_total_milli(cluster, (hr_pool){pool});
  for (uint32_t job = 0; job < n_jobs; job++) self->last[job] = HR_NONE;
  return self;
}

/* NULL when out of memory. */
static void hr__by_pool_destroy(struct hr__by_pool *by_pool) {
  if (!by_pool) return;
  free(by_pool->pools);
  free(by_pool->last);
  free(by_pool);
}

/* With what has held since then. */
static struct hr__pool_time grown(const struct usage_pool *pool, int64_t until_us) {
  uint64_t passed_us = (uint64_t)(until_us - pool->until_us);
  return (struct hr__pool_time){pool->now.allocated_milli + (hr__wide)pool->allocated_milli * passed_us,
                                pool->now.total_milli + (hr__wide)pool->total_milli * passed_us};
}

static void advance(struct usage_pool *pool, int64_t now_us, int64_t last_end_us) {
  if (pool->until_us <= last_end_us) pool->at_last_end = grown(pool, last_end_us);
  pool->now = grown(pool, now_us);
  pool->until_us = now_us;
}

static bool gives_back(enum hr_event_kind kind) {
  return kind == HR_EVENT_END || kind == HR_EVENT_INTERRUPT || kind == HR_EVENT_PREEMPT;
}

static void note_job(struct hr__by_pool *self, const struct hr_trace *trace, const struct hr_event *event) {
  bool starts = event->kind == HR_EVENT_START;
  if (!starts && !gives_back(event->kind)) return;
  struct usage_pool *pool = &self->pools[event->placement->pool.id];
  uint64_t milli = hr_placement_milli(event->placement, trace, event->job);
  advance(pool, event->at_us, self->last_end_us);
  pool->allocated_milli += starts ? milli : -milli;
  if (starts) self->last[event->job.id] = event->placement->pool.id;
  if (event->kind == HR_EVENT_END) self->last_end_us = event->at_us;
}

/* The cluster has changed before its event is told. */
static void note_node(struct hr__by_pool *self, const struct hr_event *event) {
  struct usage_pool *pool = &self->pools[event->pool.id];
  advance(pool, event->at_us, self->last_end_us);
  pool->total_milli = hr_cluster_total_milli(self->cluster, event->pool);
}

/* Takes an event down; from the first on. */
static void hr__by_pool_note(struct hr__by_pool *by_pool, const struct hr_trace *trace, const struct hr_event *event) {
  if (event->placement) note_job(by_pool, trace, event);
  if (event->pool.id != HR_NONE) note_node(by_pool, event);
}

struct hr__pool_time hr__by_pool_until(const struct hr__by_pool *by_pool, hr_pool pool, int64_t until_us) {
  const struct usage_pool *self = &by_pool->pools[pool.id];
  return self->until_us <= until_us ? grown(self, until_us) : self->at_last_end;
}

uint32_t hr__by_pool_of(const struct hr__by_pool *by_pool, hr_job job) {
  return by_pool->last[job.id];
}

/*
 * Integrals over time of waiting jobs, allocated GPUs and GPUs that are there, and of what is idle and of little use
 * where GPUs are told apart. Between two passes nothing changes, so each pass adds one rectangle. The sums are kept as
 * they stood at the last submit and at the last end, the two moments up to which utilization is asked for.
 */

struct hr_usage *hr_usage_create(const struct hr_trace *trace) {
  struct hr_usage *usage = calloc(1, sizeof *usage);
  if (usage && trace->n_jobs) usage->last_submit_us = trace->submit_us[trace->n_jobs - 1];
  return usage;
}

void hr_usage_destroy(struct hr_usage *usage) {
  if (!usage) return;
  hr__fragments_destroy(usage->fragments);
  hr__by_pool_destroy(usage->by_pool);
  free(usage);
}

/* The first pass finds all nodes as they are, later ones what events changed. */
static void begin(struct hr_usage *usage, const struct hr_view *view) {
  usage->begun = true;
  if (!view->cluster) return;
  if (hr_cluster_pools(view->cluster) > 1) {
    usage->by_pool = hr__by_pool_create(view->cluster, view->jobs->n_jobs);
    usage->out_of_memory = !usage->by_pool;
  }
  if (!hr_cluster_gpu_inventory(view->cluster)) return;
  usage->fragments = hr__fragments_create(view->cluster);
  usage->out_of_memory |= !usage->fragments;
  usage->min_gang = UINT64_MAX;
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr_usage *usage = self;
  if (!usage->begun) begin(usage, view);
  if (event->kind == HR_EVENT_END) usage->ended = true;
  if (usage->by_pool) hr__by_pool_note(usage->by_pool, view->jobs, event);
  if (usage->fragments) hr__fragments_note(usage->fragments, event);
}

static void usage_advance(struct hr_usage *usage, int64_t now_us) {
  uint64_t passed_us = (uint64_t)(now_us - usage->now.until_us);
  usage->now.waiting += (hr__wide)usage->waiting * passed_us;
  usage->now.allocated_milli += (hr__wide)usage->allocated_milli * passed_us;
  usage->now.total_milli += (hr__wide)usage->total_milli * passed_us;
  usage->now.fragment += usage->counts.fragment * passed_us;
  usage->now.stranded_milli += (hr__wide)usage->counts.stranded_milli * passed_us;
  usage->now.largest_gang += (hr__wide)usage->counts.largest_gang * passed_us;
  usage->now.until_us = now_us;
}

/* Shares are compared as products, whole numbers both. */
static void count_fragments(struct hr_usage *usage) {
  usage->counts = hr__fragments_count(usage->fragments);
  struct hr__fragment_share *most = &usage->most, now = {usage->counts.fragment, usage->total_milli};
  if (now.total_milli > 0 &&
      (most->total_milli == 0 || now.fragment * most->total_milli > most->fragment * now.total_milli))
    *most = now;
  if (usage->min_gang > usage->counts.largest_gang) usage->min_gang = usage->counts.largest_gang;
}

static void on_instant(void *self, const struct hr_view *view) {
  struct hr_usage *usage = self;
  usage_advance(usage, view->now_us);
  if (!usage->submits_over && view->now_us >= usage->last_submit_us) {
    usage->at_last_submit = usage->now;
    usage->submits_over = true;
  }
  if (usage->ended) usage->at_last_end = usage->now;
  usage->ended = false;
  usage->waiting = view->n_waiting;
  usage->allocated_milli = view->allocated_milli;
  usage->total_milli = view->total_milli;
  if (usage->max_waiting < view->n_waiting) usage->max_waiting = view->n_waiting;
  if (!usage->begun) begin(usage, view);
  if (usage->fragments) count_fragments(usage);
}

struct hr_observer hr_usage_observer(struct hr_usage *usage) {
  return (struct hr_observer){.self = usage, .on_event = on_event, .on_instant = on_instant};
}
