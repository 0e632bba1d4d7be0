/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A second state of the cluster, as it will be at some time: without the jobs that are expected to end by then. Jobs
 * that run are on two heaps, those that have left it, the last to end on top, and those that have not, the first on
 * top. To ask for another time is to move a few jobs from one to the other, mostly none: it changes little from pass
 * to pass. What a heap says of a job is out of date when the job has ended, or is on the other one; it is then left
 * aside when it comes to the top.
 */

#include "policies/placement/gpu_outlook.h"

#include "base/heap.h"
#include "headroom/policy_kit.h"
#include "policies/queue/dispatch.h"

struct end {
  int64_t at_us;
  hr_job job;
};

struct heap {
  struct end *end;
  uint32_t count, capacity;
  bool last_first;
};

enum side { NOWHERE, LEFT, STAYS };
_Static_assert(NOWHERE == 0, "what is forgotten of a job that is over reads as zero");

struct hr__gpu_release_calendar {
  struct hr_arena *arena;
  struct hr__gpu_allocator *allocator;
  bool has_kinds;             /* jobs are to be within groups */
  const uint32_t *request_of; /* by job */
  struct hr__cluster_snapshot *later;
  struct heap left, stays;
  int64_t until_us; /* who is expected to end by then has left, all others stay */
  int64_t *end_us;  /* by job, while it runs */
  uint8_t *side;    /* by job: enum side */
  struct hr_slice *slices;
  uint32_t slices_capacity;
  bool out_of_memory;
};

/* ---- Heaps ------------------------------------------------------------------------------------------ */

static bool is_before(struct end a, struct end b) {
  return a.at_us != b.at_us ? a.at_us < b.at_us : a.job.id < b.job.id;
}

static bool is_above(const void *self, struct end a, struct end b) {
  const struct heap *heap = self;
  return heap->last_first ? is_before(b, a) : is_before(a, b);
}

HR__HEAP(ends, struct end, is_above)

/* Whether the job is on this heap, with this end. One that is over is NOWHERE, which is zero, as what has been
   forgotten of it. */
static bool holds(const struct hr__gpu_release_calendar *gpu_calendar, const struct heap *heap, struct end end) {
  enum side side = heap == &gpu_calendar->left ? LEFT : STAYS;
  return gpu_calendar->side[end.job.id] == side && gpu_calendar->end_us[end.job.id] == end.at_us;
}

/* Without what is out of date, which need never come to the top. */
static void sweep(const struct hr__gpu_release_calendar *gpu_calendar, struct heap *heap) {
  uint32_t count = heap->count;
  heap->count = 0;
  for (uint32_t i = 0; i < count; i++)
    if (holds(gpu_calendar, heap, heap->end[i])) ends_rise(heap->end, heap->count++, heap->end[i], heap);
}

static bool make_room(struct hr__gpu_release_calendar *gpu_calendar, struct heap *heap) {
  sweep(gpu_calendar, heap);
  if (heap->count < heap->capacity / 2) return true;
  struct end *grown = hr_arena_grown(gpu_calendar->arena, heap->end, &heap->capacity, sizeof *grown);
  gpu_calendar->out_of_memory = gpu_calendar->out_of_memory || !grown;
  if (grown) heap->end = grown;
  return grown;
}

static void push(struct hr__gpu_release_calendar *gpu_calendar, struct heap *heap, struct end end) {
  if (heap->count == heap->capacity && !make_room(gpu_calendar, heap)) return;
  ends_rise(heap->end, heap->count++, end, heap);
}

static void pop(struct heap *heap) {
  struct end last = heap->end[--heap->count];
  ends_sink(heap->end, heap->count, last, heap);
}

/* The first that holds; false: there is none. */
static bool top(struct hr__gpu_release_calendar *gpu_calendar, struct heap *heap, struct end *end) {
  while (heap->count > 0) {
    *end = heap->end[0];
    if (holds(gpu_calendar, heap, *end)) return true;
    pop(heap);
  }
  return false;
}

/* ---- Moving in time --------------------------------------------------------------------------------- */

static struct hr_placement placement_of(const struct hr_view *view, hr_job job, struct hr_slice *one) {
  return hr_view_placement(view, job, one);
}

static void leave(struct hr__gpu_release_calendar *gpu_calendar, const struct hr_view *view, struct end end) {
  struct hr_slice one;
  struct hr_placement placement = placement_of(view, end.job, &one);
  hr__cluster_snapshot_give(gpu_calendar->allocator, gpu_calendar->later, gpu_calendar->request_of[end.job.id],
                            &placement);
  gpu_calendar->side[end.job.id] = LEFT;
  pop(&gpu_calendar->stays);
  push(gpu_calendar, &gpu_calendar->left, end);
}

static void stay(struct hr__gpu_release_calendar *gpu_calendar, const struct hr_view *view, struct end end) {
  struct hr_slice one;
  struct hr_placement placement = placement_of(view, end.job, &one);
  hr__cluster_snapshot_take(gpu_calendar->allocator, gpu_calendar->later, gpu_calendar->request_of[end.job.id],
                            &placement);
  gpu_calendar->side[end.job.id] = STAYS;
  pop(&gpu_calendar->left);
  push(gpu_calendar, &gpu_calendar->stays, end);
}

void hr__gpu_release_calendar_retreat(struct hr__gpu_release_calendar *gpu_calendar, const struct hr_view *view,
                                      int64_t at_us) {
  struct end end;
  while (!gpu_calendar->out_of_memory && top(gpu_calendar, &gpu_calendar->left, &end) && end.at_us > at_us)
    stay(gpu_calendar, view, end);
  if (gpu_calendar->until_us > at_us) gpu_calendar->until_us = at_us;
}

void hr__gpu_release_calendar_advance(struct hr__gpu_release_calendar *gpu_calendar, const struct hr_view *view,
                                      int64_t at_us) {
  struct end end;
  while (!gpu_calendar->out_of_memory && top(gpu_calendar, &gpu_calendar->stays, &end) && end.at_us <= at_us)
    leave(gpu_calendar, view, end);
  if (gpu_calendar->until_us < at_us) gpu_calendar->until_us = at_us;
}

static bool fits(const struct hr__gpu_release_calendar *gpu_calendar, uint32_t kind) {
  struct hr_placement unused;
  return gpu_calendar->has_kinds
             ? hr__locality_snapshot_fits(gpu_calendar->allocator, gpu_calendar->later, kind, &unused)
             : hr__cluster_snapshot_find(gpu_calendar->allocator, gpu_calendar->later, kind, &unused);
}

int64_t hr__gpu_release_calendar_earliest(struct hr__gpu_release_calendar *gpu_calendar, const struct hr_view *view,
                                          uint32_t kind) {
  return hr__gpu_release_calendar_earliest_by(gpu_calendar, view, kind, HR_NEVER_US);
}

/* Whoever is overdue is expected to end at once, and who ends at the time that is told has left. */
int64_t hr__gpu_release_calendar_earliest_by(struct hr__gpu_release_calendar *gpu_calendar, const struct hr_view *view,
                                             uint32_t kind, int64_t by_us) {
  struct end end;
  int64_t soon_us = view->now_us + 1;
  hr__gpu_release_calendar_advance(gpu_calendar, view, soon_us);
  while (!gpu_calendar->out_of_memory && fits(gpu_calendar, kind) && top(gpu_calendar, &gpu_calendar->left, &end) &&
         end.at_us > soon_us)
    hr__gpu_release_calendar_retreat(gpu_calendar, view, end.at_us - 1);
  while (!gpu_calendar->out_of_memory && !fits(gpu_calendar, kind)) {
    if (!top(gpu_calendar, &gpu_calendar->stays, &end) || end.at_us > by_us) return HR_NEVER_US;
    hr__gpu_release_calendar_advance(gpu_calendar, view, end.at_us);
  }
  gpu_calendar->until_us = top(gpu_calendar, &gpu_calendar->left, &end) && end.at_us > soon_us ? end.at_us : soon_us;
  return gpu_calendar->until_us;
}

/* Its slices in memory of the outlook's own. */
static bool copy(struct hr__gpu_release_calendar *gpu_calendar, struct hr_placement *placement) {
  while (placement->n_slices > gpu_calendar->slices_capacity) {
    gpu_calendar->slices = hr_arena_grown(gpu_calendar->arena, gpu_calendar->slices, &gpu_calendar->slices_capacity,
                                          sizeof *gpu_calendar->slices);
    if (!gpu_calendar->slices) return false;
  }
  for (uint32_t i = 0; i < placement->n_slices; i++) gpu_calendar->slices[i] = placement->slices[i];
  placement->slices = gpu_calendar->slices;
  return true;
}

bool hr__gpu_release_calendar_allows(struct hr__gpu_release_calendar *gpu_calendar, struct hr_placement *placement,
                                     uint32_t other, uint32_t kind) {
  if (!copy(gpu_calendar, placement)) {
    gpu_calendar->out_of_memory = true;
    return false;
  }
  hr__cluster_snapshot_take(gpu_calendar->allocator, gpu_calendar->later, other, placement);
  bool still_fits = fits(gpu_calendar, kind);
  hr__cluster_snapshot_undo(gpu_calendar->allocator, gpu_calendar->later, other, placement);
  return still_fits;
}

/* ---- What happens ----------------------------------------------------------------------------------- */

static int64_t hr__expected_end_us(const struct hr__queue *queue, const struct hr_view *view, hr_job job);

static enum hr_status job_starts(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                 const struct hr_placement *placement) {
  struct hr__gpu_release_calendar *gpu_calendar = queue->gpu_calendar;
  struct end end = {hr__expected_end_us(queue, view, job), job};
  bool leaves = end.at_us <= gpu_calendar->until_us;
  gpu_calendar->end_us[job.id] = end.at_us;
  gpu_calendar->side[job.id] = leaves ? LEFT : STAYS;
  push(gpu_calendar, leaves ? &gpu_calendar->left : &gpu_calendar->stays, end);
  if (!leaves)
    hr__cluster_snapshot_take(gpu_calendar->allocator, gpu_calendar->later, gpu_calendar->request_of[job.id],
                              placement);
  return gpu_calendar->out_of_memory ? HR_NO_MEMORY : HR_OK;
}

static enum hr_status job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  struct hr__gpu_release_calendar *gpu_calendar = queue->gpu_calendar;
  uint32_t job = event->job.id;
  (void)view;
  if (gpu_calendar->side[job] == STAYS)
    hr__cluster_snapshot_give(gpu_calendar->allocator, gpu_calendar->later, gpu_calendar->request_of[job],
                              event->placement);
  gpu_calendar->side[job] = NOWHERE;
  return gpu_calendar->out_of_memory ? HR_NO_MEMORY : HR_OK;
}

static enum hr_status node_changes(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  hr__cluster_snapshot_node_changes(queue->gpu_calendar->later, view, event);
  return HR_OK;
}

static const struct hr__listener listener = {
    .job_starts = job_starts, .job_stops = job_stops, .node_changes = node_changes};

struct hr__gpu_release_calendar *hr__gpu_release_calendar_create(struct hr__queue *queue,
                                                                 const struct hr_policy_env *env,
                                                                 const struct hr_packing_rule *rule) {
  struct hr__gpu_release_calendar *gpu_calendar = hr_arena_alloc(env->arena, sizeof *gpu_calendar);
  uint32_t n_jobs = env->jobs->n_jobs;
  if (!gpu_calendar) return NULL;
  *gpu_calendar = (struct hr__gpu_release_calendar){
      .arena = env->arena,
      .allocator = queue->allocator,
      .has_kinds = queue->within != NULL,
      .request_of = hr_cluster_requests(env->cluster)->of_job,
      .later = hr__cluster_snapshot_create(queue->allocator, env, rule),
      .left = {.last_first = true},
      .until_us = INT64_MIN,
      .end_us = hr_arena_alloc_by_job(env->arena, n_jobs, sizeof *gpu_calendar->end_us),
      .side = hr_arena_alloc_by_job(env->arena, n_jobs, sizeof *gpu_calendar->side)};
  if (!gpu_calendar->later || !gpu_calendar->end_us || !gpu_calendar->side) return NULL;
  hr__queue_listen(queue, &listener);
  return gpu_calendar;
}

/* The expected ends of what runs. A job that was never stopped ends a limit after its start; where jobs may be stopped,
   the end that was expected is kept, since what it follows from has changed when it is asked for again. */

/* When a job that has started is expected to end: by its limit. Work that was kept need not be done again. */
static int64_t hr__expected_end_us(const struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  int64_t left_us = hr_trace_limit_us(queue->trace, job);
  if (!view->kept_us) return view->attempt_us[job.id] + left_us;
  left_us -= view->kept_us[job.id];
  return view->attempt_us[job.id] + (left_us > 0 ? left_us : 0);
}

static enum hr_status expectations_job_starts(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                              const struct hr_placement *placement) {
  int64_t end_us = hr__expected_end_us(queue, view, job);
  if (queue->expected_us) queue->expected_us[job.id] = end_us;
  return hr_release_calendar_add(queue->calendar, job, hr__gpus(queue, job), placement, end_us) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status job_leaves(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                 const struct hr_placement *placement) {
  int64_t end_us = queue->expected_us ? queue->expected_us[job.id] : hr__expected_end_us(queue, view, job);
  return hr_release_calendar_remove(queue->calendar, job, hr__gpus(queue, job), placement, end_us) ? HR_OK
                                                                                                   : HR_INTERNAL;
}

static enum hr_status expectations_job_stops(struct hr__queue *queue, const struct hr_view *view,
                                             const struct hr_event *event) {
  return job_leaves(queue, view, event->job, event->placement);
}

static enum hr_status job_moves(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                const struct hr_placement *from, const struct hr_placement *to) {
  enum hr_status status = job_leaves(queue, view, job, from);
  return status == HR_OK ? expectations_job_starts(queue, view, job, to) : status;
}

static enum hr_status expectations_node_changes(struct hr__queue *queue, const struct hr_view *view,
                                                const struct hr_event *event) {
  (void)view;
  if (event->kind != HR_EVENT_OFFER)
    hr_release_calendar_set_usable(queue->calendar, event->pool, event->node, event->kind == HR_EVENT_NODE_UP);
  return HR_OK;
}

static const struct hr__listener expectations_listener = {.job_starts = expectations_job_starts,
                                                          .job_stops = expectations_job_stops,
                                                          .job_moves = job_moves,
                                                          .node_changes = expectations_node_changes};

bool hr__expectations_create(struct hr__queue *queue) {
  uint32_t n_jobs = queue->trace->n_jobs;
  queue->calendar = hr_release_calendar_create(queue->arena, queue->cluster, queue->rule, n_jobs);
  if (!queue->calendar) return false;
  if (queue->stops) queue->expected_us = hr_arena_alloc_by_job(queue->arena, n_jobs, sizeof *queue->expected_us);
  if (queue->stops && !queue->expected_us) return false;
  hr__queue_listen(queue, &expectations_listener);
  return true;
}
