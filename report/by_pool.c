/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An event changes one pool, and only that one's integrals are brought up to date. So they stand at times of their own,
 * and those up to the last end are kept apart from what has happened since: the first change of a pool after a job's
 * end keeps the pool's integrals as they stood at that end, until a change after a later end keeps them anew.
 */

#include "report/by_pool.h"

#include <stdlib.h>

struct pool {
  int64_t until_us;
  uint64_t allocated_milli, total_milli; /* what holds since then */
  struct hr__pool_time now, at_last_end; /* the latter if the pool changed since */
};

struct hr__by_pool {
  const struct hr_cluster *cluster;
  int64_t last_end_us;
  struct pool *pools; /* [n_pools] */
  uint32_t *last;     /* [n_jobs]: the pool where it ran last */
};

struct hr__by_pool *hr__by_pool_create(const struct hr_cluster *cluster, uint32_t n_jobs) {
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

void hr__by_pool_destroy(struct hr__by_pool *by_pool) {
  if (!by_pool) return;
  free(by_pool->pools);
  free(by_pool->last);
  free(by_pool);
}

/* With what has held since then. */
static struct hr__pool_time grown(const struct pool *pool, int64_t until_us) {
  uint64_t passed_us = (uint64_t)(until_us - pool->until_us);
  return (struct hr__pool_time){pool->now.allocated_milli + (hr__wide)pool->allocated_milli * passed_us,
                                pool->now.total_milli + (hr__wide)pool->total_milli * passed_us};
}

static void advance(struct pool *pool, int64_t now_us, int64_t last_end_us) {
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
  struct pool *pool = &self->pools[event->placement->pool.id];
  uint64_t milli = hr_placement_milli(event->placement, trace, event->job);
  advance(pool, event->at_us, self->last_end_us);
  pool->allocated_milli += starts ? milli : -milli;
  if (starts) self->last[event->job.id] = event->placement->pool.id;
  if (event->kind == HR_EVENT_END) self->last_end_us = event->at_us;
}

/* The cluster has changed before its event is told. */
static void note_node(struct hr__by_pool *self, const struct hr_event *event) {
  struct pool *pool = &self->pools[event->pool.id];
  advance(pool, event->at_us, self->last_end_us);
  pool->total_milli = hr_cluster_total_milli(self->cluster, event->pool);
}

void hr__by_pool_note(struct hr__by_pool *by_pool, const struct hr_trace *trace, const struct hr_event *event) {
  if (event->placement) note_job(by_pool, trace, event);
  if (event->pool.id != HR_NONE) note_node(by_pool, event);
}

struct hr__pool_time hr__by_pool_until(const struct hr__by_pool *by_pool, hr_pool pool, int64_t until_us) {
  const struct pool *self = &by_pool->pools[pool.id];
  return self->until_us <= until_us ? grown(self, until_us) : self->at_last_end;
}

uint32_t hr__by_pool_of(const struct hr__by_pool *by_pool, hr_job job) {
  return by_pool->last[job.id];
}
