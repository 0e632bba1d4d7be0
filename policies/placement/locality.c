/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A kind is (what tells jobs apart otherwise, tier, whether the tier is only preferred). Waits that will be over stand
 * in a heap by (time, job); what it holds of jobs that run by then, or stand in it twice, is dropped when it comes up.
 */

#include "policies/placement/locality.h"

#include "base/heap.h"
#include "headroom/policy_kit.h"
#include "policies/queue/dispatch.h"

struct wait {
  int64_t until_us;
  hr_job job;
};

struct hr__locality_state {
  uint8_t *is_over; /* by job: its wait */
  struct wait *heap;
  uint32_t n_waits, capacity;
  int64_t anywhere_us; /* when a head was last found to fit anywhere */
  bool lapses;         /* some wait will be over */
};

/* ---- Kinds ------------------------------------------------------------------------------------------ */

struct locality_kind {
  uint32_t base;
  enum hr_tier tier; /* HR_TIER_ANY: none */
  bool preferred;
};

enum { KINDS_OF_BASE = 2 * HR_N_TIERS };

static struct locality_kind kind_of(uint32_t number) {
  uint32_t rest = number % KINDS_OF_BASE;
  return (struct locality_kind){number / KINDS_OF_BASE, (enum hr_tier)(rest / 2), rest % 2};
}

uint32_t hr__locality_kind(const struct hr__queue *queue, hr_job job, uint32_t base) {
  struct hr_locality within = hr_cluster_locality(queue->cluster, job);
  return base * KINDS_OF_BASE + 2 * (uint32_t)within.tier + queue->within->is_over[job.id];
}

/* ---- Places ----------------------------------------------------------------------------------------- */

static bool fits_anywhere(const struct hr__queue *queue, uint32_t gpus, uint32_t base, struct hr_placement *placement) {
  return queue->allocator ? hr__gpu_allocator_find(queue->allocator, base, placement)
                          : hr_placer_find(queue->placer, gpus, base, placement);
}

bool hr__locality_fits(const struct hr__queue *queue, uint32_t gpus, uint32_t number, struct hr_placement *placement) {
  struct locality_kind kind = kind_of(number);
  if (kind.tier == HR_TIER_ANY) return fits_anywhere(queue, gpus, kind.base, placement);
  bool found = queue->allocator ? hr__gpu_allocator_find_within(queue->allocator, kind.base, kind.tier, placement)
                                : hr_placer_find_within(queue->placer, kind.tier, gpus, kind.base, placement);
  return found || (kind.preferred && fits_anywhere(queue, gpus, kind.base, placement));
}

bool hr__locality_keeps_out(const struct hr__queue *queue, uint32_t gpus, uint32_t number) {
  struct locality_kind kind = kind_of(number);
  struct hr_placement unused;
  return kind.tier != HR_TIER_ANY && !kind.preferred && fits_anywhere(queue, gpus, kind.base, &unused);
}

bool hr__locality_snapshot_fits(struct hr__gpu_allocator *allocator, const struct hr__cluster_snapshot *snapshot,
                                uint32_t number, struct hr_placement *placement) {
  struct locality_kind kind = kind_of(number);
  bool may_be_anywhere = kind.tier == HR_TIER_ANY || kind.preferred;
  if (may_be_anywhere && hr__cluster_snapshot_find(allocator, snapshot, kind.base, placement)) return true;
  return kind.tier != HR_TIER_ANY &&
         hr__cluster_snapshot_find_within(allocator, snapshot, kind.base, kind.tier, placement);
}

/* ---- Times ------------------------------------------------------------------------------------------ */

/* When the shape's first job may go anywhere; what has come already: INT64_MIN. */
static int64_t until_us(const struct hr__queue *queue, const struct hr__shape *shape) {
  if (!queue->within) return INT64_MIN;
  struct locality_kind kind = kind_of(shape->kind);
  if (kind.tier == HR_TIER_ANY || kind.preferred) return INT64_MIN;
  return hr_cluster_locality(queue->cluster, shape->head.job).until_us;
}

static uint32_t base_of(const struct hr__queue *queue, uint32_t kind) {
  return queue->within ? kind_of(kind).base : kind;
}

static int64_t later(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int64_t earlier(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* By node. */
static int64_t earliest_release_us(struct hr__queue *queue, const struct hr_view *view, const struct hr__shape *head) {
  struct hr_release_calendar *calendar = queue->calendar;
  uint32_t gpus = head->gpus, base = base_of(queue, head->kind);
  int64_t until = until_us(queue, head);
  if (until == INT64_MIN) return hr_release_calendar_earliest(calendar, gpus, base, view->now_us);
  int64_t within_us = hr_release_calendar_earliest_within(calendar, kind_of(head->kind).tier, gpus, base, view->now_us);
  if (until == HR_NEVER_US || within_us <= until) return within_us;
  return earlier(within_us, later(until, hr_release_calendar_earliest(calendar, gpus, base, view->now_us)));
}

/* Where GPUs are told apart. The outlook is left at the time that is told, all who end by then gone: it is not to go
   beyond that, as it would be brought back at each pass. */
static int64_t earliest_in_outlook_us(struct hr__queue *queue, const struct hr_view *view,
                                      const struct hr__shape *head) {
  struct hr__gpu_release_calendar *gpu_calendar = queue->gpu_calendar;
  int64_t until = until_us(queue, head);
  bool lapses = until != INT64_MIN && until != HR_NEVER_US;
  if (lapses) hr__gpu_release_calendar_retreat(gpu_calendar, view, queue->within->anywhere_us);
  int64_t at_us = hr__gpu_release_calendar_earliest(gpu_calendar, view, head->kind + lapses);
  if (lapses) {
    queue->within->anywhere_us = at_us;
    at_us = later(until, at_us);
    at_us = earlier(at_us, hr__gpu_release_calendar_earliest_by(gpu_calendar, view, head->kind, at_us));
  }
  if (at_us != HR_NEVER_US) hr__gpu_release_calendar_advance(gpu_calendar, view, at_us);
  return at_us;
}

int64_t hr__locality_earliest(struct hr__queue *queue, const struct hr_view *view, const struct hr__shape *head) {
  return queue->gpu_calendar ? earliest_in_outlook_us(queue, view, head) : earliest_release_us(queue, view, head);
}

bool hr__locality_allows(struct hr__queue *queue, const struct hr__shape *shape, struct hr_placement *placement,
                         const struct hr__shape *head, int64_t at_us, int64_t now_us) {
  struct hr_release_calendar *calendar = queue->calendar;
  int64_t until = until_us(queue, head);
  bool is_over = until != INT64_MIN && until <= at_us;
  uint32_t base = base_of(queue, head->kind);
  if (queue->gpu_calendar)
    return hr__gpu_release_calendar_allows(queue->gpu_calendar, placement, base_of(queue, shape->kind),
                                           head->kind + is_over);
  if (until <= at_us && hr_release_calendar_allow(calendar, placement, shape->gpus, head->gpus, base, at_us, now_us))
    return true;
  return until != INT64_MIN &&
         hr_release_calendar_allow_within(calendar, placement, shape->gpus, kind_of(head->kind).tier, head->gpus, base,
                                          at_us, now_us);
}

/* ---- Waits ------------------------------------------------------------------------------------------ */

static bool is_before(const void *self, struct wait a, struct wait b) {
  (void)self;
  return a.until_us != b.until_us ? a.until_us < b.until_us : a.job.id < b.job.id;
}

HR__HEAP(waits, struct wait, is_before)

static bool push(struct hr__queue *queue, struct wait wait) {
  struct hr__locality_state *within = queue->within;
  if (within->n_waits == within->capacity) {
    struct wait *heap = hr_arena_grown(queue->arena, within->heap, &within->capacity, sizeof *heap);
    if (!heap) return false;
    within->heap = heap;
  }
  waits_rise(within->heap, within->n_waits++, wait, NULL);
  return true;
}

static void pop(struct hr__locality_state *within) {
  struct wait last = within->heap[--within->n_waits];
  waits_sink(within->heap, within->n_waits, last, NULL);
}

/* The first that is not over of a job that waits; NULL: there is none. A job that is over does not wait, also where its
   state has been forgotten and is zero. */
static const struct wait *first_wait(struct hr__locality_state *within, const struct hr_view *view) {
  while (within->n_waits > 0) {
    hr_job job = within->heap[0].job;
    if (view->state[job.id] == HR_JOB_WAITING && !within->is_over[job.id]) return within->heap;
    pop(within);
  }
  return NULL;
}

static enum hr_status job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct hr_locality within = hr_cluster_locality(queue->cluster, job);
  if (within.tier == HR_TIER_ANY || within.until_us == HR_NEVER_US) return HR_OK;
  queue->within->is_over[job.id] = within.until_us <= view->now_us;
  if (queue->within->is_over[job.id]) return HR_OK;
  return push(queue, (struct wait){within.until_us, job}) ? HR_OK : HR_NO_MEMORY;
}

static const struct hr__listener listener = {.job_waits = job_waits};

enum hr_status hr__locality_begin_pass(struct hr__queue *queue, const struct hr_view *view) {
  struct hr__locality_state *within = queue->within;
  const struct wait *first;
  enum hr_status status = HR_OK;
  bool any = false;
  while (status == HR_OK && (first = first_wait(within, view)) && first->until_us <= view->now_us) {
    hr_job job = first->job;
    status = hr__queue_take_out(queue, view, job);
    within->is_over[job.id] = true;
    if (status == HR_OK) status = hr__queue_put_in(queue, view, job);
    queue->freed = any = true;
  }
  return status == HR_OK && any ? hr__queue_refresh(queue, view) : status;
}

enum hr_status hr__locality_end_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *plan) {
  if (queue->allocator && hr__gpu_allocator_failed(queue->allocator)) return HR_NO_MEMORY;
  const struct wait *first = first_wait(queue->within, view);
  return first ? hr__queue_wake(queue, view, plan, first->until_us) : HR_OK;
}

bool hr__locality_lapses(const struct hr__queue *queue) {
  return queue->within->lapses;
}

struct hr__locality_state *hr__locality_create(struct hr__queue *queue, const struct hr_policy_env *env) {
  struct hr__locality_state *within = hr_arena_alloc(env->arena, sizeof *within);
  if (!within) return NULL;
  within->is_over = hr_arena_alloc_by_job(env->arena, env->jobs->n_jobs, sizeof *within->is_over);
  if (!within->is_over) return NULL;
  for (uint32_t i = 0; i < env->jobs->n_jobs && !within->lapses; i++) {
    struct hr_locality of_job = hr_cluster_locality(env->cluster, (hr_job){i});
    within->lapses = of_job.tier != HR_TIER_ANY && of_job.until_us != HR_NEVER_US;
    hr_arena_passed_job(env->arena, (hr_job){i});
  }
  hr__queue_listen(queue, &listener);
  return within;
}
