/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Topology constraints and earliest start times in the queue policy: see locality.h. Parts of this file: the kinds of
 * jobs and their needs; the GPU release calendar; expected ends for the node release calendar; earliest times; expiry
 * of constraints.
 *
 * The base of a job is the number of its acceptance class, that is of the set of pools that it accepts. With per-GPU
 * allocation, the base is the index of its request. A kind is a number that encodes the base, the tier, and whether the
 * tier is only preferred. Constraints that will expire are in a heap by (time, job). Entries of jobs that have started,
 * and duplicate entries, are dropped when they reach the top.
 */

#include "policies/placement/locality.h"

#include "base/containers.h"
#include "headroom/policy_kit.h"
#include "policies/queue/dispatch.h"

/* The time at which the constraint of a job expires. */
struct expiry {
  int64_t until_us;
  hr_job job;
};

struct hr__locality_state {
  uint8_t *is_over; /* by job: 1 if its constraint has expired */
  struct expiry *heap;
  uint32_t n_expiries, capacity;
  /* Earliest time at which the first job of the queue fits anywhere. Computed by the last search for a first job whose
     constraint can expire. */
  int64_t anywhere_us;
};

/* ---- Kinds ---------------------------------------------------------------------------------------- */

struct locality_kind {
  uint32_t base;
  enum hr_tier tier; /* HR_TIER_ANY: no constraint */
  bool preferred;
};

enum { KINDS_OF_BASE = 2 * HR_N_TIERS };

static struct locality_kind kind_of(uint32_t number) {
  uint32_t rest = number % KINDS_OF_BASE;
  return (struct locality_kind){number / KINDS_OF_BASE, (enum hr_tier)(rest / 2), rest % 2};
}

uint32_t hr__locality_kind(const struct hr__queue *queue, hr_job job, uint32_t base) {
  struct hr_locality locality = hr_cluster_locality(queue->cluster, job);
  return base * KINDS_OF_BASE + 2 * (uint32_t)locality.tier + queue->locality->is_over[job.id];
}

struct hr_need hr__locality_need(const struct hr__queue *queue, uint32_t gpus, uint32_t kind) {
  struct locality_kind decoded = kind_of(kind);
  return (struct hr_need){.gpus = gpus,
                          .accept_class = queue->by_gpu ? 0 : decoded.base,
                          .request = queue->by_gpu ? decoded.base : HR_NONE,
                          .tier = decoded.tier,
                          .preferred = decoded.preferred};
}

/* Returns whether a job with this request or, if the calendar has kinds, of this kind fits in a planned state. */
static bool fits_in(struct hr_capacity *state, bool has_kinds, uint32_t number) {
  struct locality_kind kind = has_kinds ? kind_of(number) : (struct locality_kind){.base = number};
  struct hr_need within = {.request = kind.base, .tier = kind.tier}, anywhere = {.request = kind.base};
  struct hr_placement unused;
  bool may_be_anywhere = kind.tier == HR_TIER_ANY || kind.preferred;
  if (may_be_anywhere && hr_capacity_find(state, &anywhere, &unused)) return true;
  return kind.tier != HR_TIER_ANY && hr_capacity_find(state, &within, &unused);
}

/* ---- The GPU release calendar ----------------------------------------------------------------------- */

/* A snapshot of the cluster at a future time, without the jobs that are expected to end by that time. Running jobs are
   on two heaps. The heap `ended` contains the jobs that are expected to end by that time, with the latest end on top.
   The heap `remaining` contains all other running jobs, with the earliest end on top. Jobs are transferred between the
   heaps when the time of the snapshot changes. The time changes little from pass to pass, so few jobs are transferred.
   An entry is stale if its job has ended, is on the other heap, or now has another expected end. A stale entry is
   dropped when it reaches the top. */

struct job_end {
  int64_t at_us;
  hr_job job;
};

struct end_heap {
  struct job_end *end;
  uint32_t count, capacity;
  bool last_first;
};

enum side { NOWHERE, ENDED, REMAINING };
_Static_assert(NOWHERE == 0, "when the memory of ended jobs is reclaimed, `side` becomes 0");

struct hr__gpu_release_calendar {
  struct hr_arena *arena;
  bool has_kinds;             /* some job has a topology constraint */
  const uint32_t *request_of; /* by job */
  struct hr_capacity *later;
  struct end_heap ended, remaining;
  int64_t until_us; /* the time of the snapshot, which contains the running jobs that are expected to end after it */
  int64_t *end_us;  /* by job: expected end while the job runs */
  uint8_t *side;    /* by job: enum side, the heap on which the job is */
  struct hr__place tested; /* copy of a placement, because a search for another placement may overwrite it */
  bool out_of_memory;
};

/* ---- Heaps ---------------------------------------------------------------------------------------- */

static bool ends_before(struct job_end a, struct job_end b) {
  return a.at_us != b.at_us ? a.at_us < b.at_us : a.job.id < b.job.id;
}

static bool end_is_above(const void *self, struct job_end a, struct job_end b) {
  const struct end_heap *heap = self;
  return heap->last_first ? ends_before(b, a) : ends_before(a, b);
}

HR__HEAP(ends, struct job_end, end_is_above)

/* Returns whether the entry is not stale: the job is on this heap, with this end. After a job has ended, its value in
   `side` is 0 (NOWHERE), even if the state of the job has been discarded. */
static bool is_valid(const struct hr__gpu_release_calendar *gpu_calendar, const struct end_heap *heap,
                     struct job_end end) {
  enum side side = heap == &gpu_calendar->ended ? ENDED : REMAINING;
  return gpu_calendar->side[end.job.id] == side && gpu_calendar->end_us[end.job.id] == end.at_us;
}

/* Removes all stale entries. Without this, stale entries that never reach the top would accumulate. */
static void drop_stale_ends(const struct hr__gpu_release_calendar *gpu_calendar, struct end_heap *heap) {
  uint32_t count = heap->count;
  heap->count = 0;
  for (uint32_t i = 0; i < count; i++)
    if (is_valid(gpu_calendar, heap, heap->end[i])) ends_rise(heap->end, heap->count++, heap->end[i], heap);
}

static bool make_room(struct hr__gpu_release_calendar *gpu_calendar, struct end_heap *heap) {
  drop_stale_ends(gpu_calendar, heap);
  if (heap->count < heap->capacity / 2) return true;
  bool grown = HR__ARENA_HAS_ROOM(gpu_calendar->arena, heap->end, heap->capacity, heap->capacity);
  gpu_calendar->out_of_memory = gpu_calendar->out_of_memory || !grown;
  return grown;
}

static void push_end(struct hr__gpu_release_calendar *gpu_calendar, struct end_heap *heap, struct job_end end) {
  if (heap->count == heap->capacity && !make_room(gpu_calendar, heap)) return;
  ends_rise(heap->end, heap->count++, end, heap);
}

static void pop_end(struct end_heap *heap) {
  struct job_end last = heap->end[--heap->count];
  ends_sink(heap->end, heap->count, last, heap);
}

/* Returns the first entry that is not stale. False: none. */
static bool next_end(struct hr__gpu_release_calendar *gpu_calendar, struct end_heap *heap, struct job_end *end) {
  while (heap->count > 0) {
    *end = heap->end[0];
    if (is_valid(gpu_calendar, heap, *end)) return true;
    pop_end(heap);
  }
  return false;
}

/* ---- Time of the snapshot ------------------------------------------------------------------------- */

/* Transfers a job, which is on top of its heap, to the heap of the given side. */
static void transfer(struct hr__gpu_release_calendar *gpu_calendar, const struct hr_view *view, struct job_end end,
                     enum side side) {
  struct hr_slice one;
  struct hr_placement placement = hr_view_placement(view, end.job, &one);
  const struct hr_need need = {.request = gpu_calendar->request_of[end.job.id]};
  if (side == ENDED)
    hr_capacity_give(gpu_calendar->later, &need, &placement);
  else
    hr_capacity_take(gpu_calendar->later, &need, &placement);
  gpu_calendar->side[end.job.id] = (uint8_t)side;
  pop_end(side == ENDED ? &gpu_calendar->remaining : &gpu_calendar->ended);
  push_end(gpu_calendar, side == ENDED ? &gpu_calendar->ended : &gpu_calendar->remaining, end);
}

/* Moves the snapshot back to `at_us`: adds the jobs that are expected to end after that time. */
static void gpu_calendar_retreat(struct hr__gpu_release_calendar *gpu_calendar, const struct hr_view *view,
                                 int64_t at_us) {
  struct job_end end;
  while (!gpu_calendar->out_of_memory && next_end(gpu_calendar, &gpu_calendar->ended, &end) && end.at_us > at_us)
    transfer(gpu_calendar, view, end, REMAINING);
  if (gpu_calendar->until_us > at_us) gpu_calendar->until_us = at_us;
}

/* Moves the snapshot forward to `at_us`: removes the jobs that are expected to end by that time. */
static void gpu_calendar_advance(struct hr__gpu_release_calendar *gpu_calendar, const struct hr_view *view,
                                 int64_t at_us) {
  struct job_end end;
  while (!gpu_calendar->out_of_memory && next_end(gpu_calendar, &gpu_calendar->remaining, &end) && end.at_us <= at_us)
    transfer(gpu_calendar, view, end, ENDED);
  if (gpu_calendar->until_us < at_us) gpu_calendar->until_us = at_us;
}

static bool fits_later(const struct hr__gpu_release_calendar *gpu_calendar, uint32_t kind) {
  return fits_in(gpu_calendar->later, gpu_calendar->has_kinds, kind);
}

/* Returns the earliest time, at most `by_us`, at which a job of the kind fits; HR_NEVER_US: none. Jobs that still run
   after their expected end are expected to end one microsecond from now. On return, the snapshot does not contain the
   jobs that end at or before the returned time. */
static int64_t gpu_calendar_earliest(struct hr__gpu_release_calendar *gpu_calendar, const struct hr_view *view,
                                     uint32_t kind, int64_t by_us) {
  struct job_end end;
  int64_t soon_us = view->now_us + 1;
  gpu_calendar_advance(gpu_calendar, view, soon_us);
  while (!gpu_calendar->out_of_memory && fits_later(gpu_calendar, kind) &&
         next_end(gpu_calendar, &gpu_calendar->ended, &end) && end.at_us > soon_us)
    gpu_calendar_retreat(gpu_calendar, view, end.at_us - 1);
  while (!gpu_calendar->out_of_memory && !fits_later(gpu_calendar, kind)) {
    if (!next_end(gpu_calendar, &gpu_calendar->remaining, &end) || end.at_us > by_us) return HR_NEVER_US;
    gpu_calendar_advance(gpu_calendar, view, end.at_us);
  }
  gpu_calendar->until_us =
      next_end(gpu_calendar, &gpu_calendar->ended, &end) && end.at_us > soon_us ? end.at_us : soon_us;
  return gpu_calendar->until_us;
}

static bool gpu_calendar_allows(struct hr__gpu_release_calendar *gpu_calendar, struct hr_placement *placement,
                                uint32_t other, uint32_t kind) {
  if (!hr__place_set(&gpu_calendar->tested, gpu_calendar->arena, placement)) {
    gpu_calendar->out_of_memory = true;
    return false;
  }
  *placement = gpu_calendar->tested.placement;
  const struct hr_need need = {.request = other};
  hr_capacity_take(gpu_calendar->later, &need, placement);
  bool still_fits = fits_later(gpu_calendar, kind);
  hr_capacity_undo(gpu_calendar->later, &need, placement);
  return still_fits;
}

/* ---- Events --------------------------------------------------------------------------------------- */

static enum hr_status gpu_calendar_job_uses(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                            const struct hr_placement *placement, bool uses) {
  struct hr__gpu_release_calendar *gpu_calendar = queue->gpu_calendar;
  const struct hr_need need = {.request = gpu_calendar->request_of[job.id]};
  if (!uses) {
    if (gpu_calendar->side[job.id] == REMAINING) hr_capacity_give(gpu_calendar->later, &need, placement);
    gpu_calendar->side[job.id] = NOWHERE;
    return gpu_calendar->out_of_memory ? HR_NO_MEMORY : HR_OK;
  }
  struct job_end end = {hr__expected_end_us(queue, view, job), job};
  bool leaves = end.at_us <= gpu_calendar->until_us;
  gpu_calendar->end_us[job.id] = end.at_us;
  gpu_calendar->side[job.id] = leaves ? ENDED : REMAINING;
  push_end(gpu_calendar, leaves ? &gpu_calendar->ended : &gpu_calendar->remaining, end);
  if (!leaves) hr_capacity_take(gpu_calendar->later, &need, placement);
  return gpu_calendar->out_of_memory ? HR_NO_MEMORY : HR_OK;
}

static enum hr_status gpu_calendar_node_changes(struct hr__queue *queue, const struct hr_view *view,
                                                const struct hr_event *event) {
  (void)view;
  hr__queue_node_changes(queue->gpu_calendar->later, event);
  return HR_OK;
}

static const struct hr__listener gpu_calendar_listener = {.job_uses = gpu_calendar_job_uses,
                                                          .node_changes = gpu_calendar_node_changes};

static bool create_gpu_calendar(struct hr__queue *queue, const struct hr_policy_env *env) {
  struct hr__gpu_release_calendar *gpu_calendar = hr_arena_alloc(env->arena, sizeof *gpu_calendar);
  uint32_t n_jobs = env->jobs->n_jobs;
  queue->gpu_calendar = gpu_calendar;
  if (!gpu_calendar) return false;
  *gpu_calendar = (struct hr__gpu_release_calendar){
      .arena = env->arena,
      .has_kinds = queue->locality != NULL,
      .request_of = hr_cluster_requests(env->cluster)->of_job,
      .later = hr_capacity_create(queue->capacities),
      .ended = {.last_first = true},
      .until_us = INT64_MIN,
      .end_us = hr_arena_alloc_by_job(env->arena, n_jobs, sizeof *gpu_calendar->end_us),
      .side = hr_arena_alloc_by_job(env->arena, n_jobs, sizeof *gpu_calendar->side)};
  if (!gpu_calendar->later || !gpu_calendar->end_us || !gpu_calendar->side) return false;
  hr__queue_add_listener(queue, &gpu_calendar_listener);
  return true;
}

/* Allocates memory for the expected ends of jobs if they must be stored. A job that was never stopped is expected to
   end when its limit has passed since its start, which can be computed again when the job leaves the calendar. This
   does not hold for all jobs in three kinds of runs: runs that account for saved work, policies that stop jobs, and
   runs that add jobs with work that changes, such as replicas of services. False: out of memory. */
static bool stores_expected(struct hr__queue *queue, const struct hr_view *view) {
  const bool is_stored = view->kept_us || queue->stops || queue->trace->n_added > 0;
  if (is_stored && !queue->expected_us)
    queue->expected_us = hr_arena_alloc_by_job(queue->arena, queue->trace->n_jobs, sizeof *queue->expected_us);
  return !is_stored || queue->expected_us;
}

static enum hr_status calendar_job_uses(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                        const struct hr_placement *placement, bool uses) {
  bool is_stored = !uses && queue->expected_us;
  int64_t end_us = is_stored ? queue->expected_us[job.id] : hr__expected_end_us(queue, view, job);
  if (!uses) {
    bool removed = hr_release_calendar_remove(queue->calendar, job, hr__gpus(queue, job), placement, end_us);
    return removed ? HR_OK : HR_INTERNAL;
  }
  if (!stores_expected(queue, view)) return HR_NO_MEMORY;
  if (queue->expected_us) queue->expected_us[job.id] = end_us;
  return hr_release_calendar_add(queue->calendar, job, hr__gpus(queue, job), placement, end_us) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status calendar_node_changes(struct hr__queue *queue, const struct hr_view *view,
                                            const struct hr_event *event) {
  (void)view;
  if (event->kind != HR_EVENT_OFFER)
    hr_release_calendar_set_usable(queue->calendar, event->pool, event->node, event->kind == HR_EVENT_NODE_UP);
  return HR_OK;
}

static const struct hr__listener calendar_listener = {.job_uses = calendar_job_uses,
                                                      .node_changes = calendar_node_changes};

static bool create_node_calendar(struct hr__queue *queue) {
  queue->calendar = hr_release_calendar_create(queue->arena, queue->cluster, queue->rule, queue->trace->n_jobs);
  if (!queue->calendar) return false;
  hr__queue_add_listener(queue, &calendar_listener);
  return true;
}

bool hr__locality_create_calendar(struct hr__queue *queue, const struct hr_policy_env *env) {
  return queue->by_gpu ? create_gpu_calendar(queue, env) : create_node_calendar(queue);
}

/* ---- Earliest times ------------------------------------------------------------------------------- */

/* Returns the time at which the constraint of the shape's first job expires, so that the job may be placed anywhere;
   INT64_MIN: it may be placed anywhere now; HR_NEVER_US: the constraint does not expire. */
static int64_t until_us(const struct hr__queue *queue, const struct hr__shape *shape) {
  if (!queue->locality) return INT64_MIN;
  struct locality_kind kind = kind_of(shape->kind);
  if (kind.tier == HR_TIER_ANY || kind.preferred) return INT64_MIN;
  return hr_cluster_locality(queue->cluster, shape->head.job).until_us;
}

static uint32_t base_of(const struct hr__queue *queue, uint32_t kind) {
  return queue->locality ? kind_of(kind).base : kind;
}

static int64_t later(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int64_t earlier(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Returns the earliest time if GPUs are allocated by node. */
static int64_t earliest_release_us(struct hr__queue *queue, const struct hr_view *view, const struct hr__shape *head) {
  struct hr_release_calendar *calendar = queue->calendar;
  uint32_t gpus = head->gpus, base = base_of(queue, head->kind);
  int64_t until = until_us(queue, head);
  enum hr_tier tier = until == INT64_MIN ? HR_TIER_ANY : kind_of(head->kind).tier;
  int64_t within_us = hr_release_calendar_earliest(calendar, tier, gpus, base, view->now_us);
  if (tier == HR_TIER_ANY || until == HR_NEVER_US || within_us <= until) return within_us;
  return earlier(within_us,
                 later(until, hr_release_calendar_earliest(calendar, HR_TIER_ANY, gpus, base, view->now_us)));
}

/* Returns the earliest time with per-GPU allocation. Afterwards, the snapshot of the calendar is at the returned time.
   The search must not move the snapshot beyond this time, because the next pass would have to move it back. */
static int64_t earliest_per_gpu_us(struct hr__queue *queue, const struct hr_view *view, const struct hr__shape *head) {
  struct hr__gpu_release_calendar *gpu_calendar = queue->gpu_calendar;
  int64_t until = until_us(queue, head);
  bool expires = until != INT64_MIN && until != HR_NEVER_US;
  if (expires) gpu_calendar_retreat(gpu_calendar, view, queue->locality->anywhere_us);
  int64_t at_us = gpu_calendar_earliest(gpu_calendar, view, head->kind + expires, HR_NEVER_US);
  if (expires) {
    queue->locality->anywhere_us = at_us;
    at_us = later(until, at_us);
    at_us = earlier(at_us, gpu_calendar_earliest(gpu_calendar, view, head->kind, at_us));
  }
  if (at_us != HR_NEVER_US) gpu_calendar_advance(gpu_calendar, view, at_us);
  return at_us;
}

int64_t hr__locality_earliest(struct hr__queue *queue, const struct hr_view *view, const struct hr__shape *head) {
  return queue->gpu_calendar ? earliest_per_gpu_us(queue, view, head) : earliest_release_us(queue, view, head);
}

bool hr__locality_allows(struct hr__queue *queue, const struct hr__shape *shape, struct hr_placement *placement,
                         const struct hr__shape *head, int64_t at_us, int64_t now_us) {
  struct hr_release_calendar *calendar = queue->calendar;
  int64_t until = until_us(queue, head);
  bool is_over = until != INT64_MIN && until <= at_us;
  uint32_t base = base_of(queue, head->kind);
  if (queue->gpu_calendar)
    return gpu_calendar_allows(queue->gpu_calendar, placement, base_of(queue, shape->kind), head->kind + is_over);
  if (until <= at_us &&
      hr_release_calendar_allow(calendar, placement, shape->gpus, HR_TIER_ANY, head->gpus, base, at_us, now_us))
    return true;
  return until != INT64_MIN && hr_release_calendar_allow(calendar, placement, shape->gpus, kind_of(head->kind).tier,
                                                         head->gpus, base, at_us, now_us);
}

/* ---- Expiring constraints ------------------------------------------------------------------------- */

static bool expires_before(const void *self, struct expiry a, struct expiry b) {
  (void)self;
  return a.until_us != b.until_us ? a.until_us < b.until_us : a.job.id < b.job.id;
}

HR__HEAP(expiries, struct expiry, expires_before)

static bool push_expiry(struct hr__queue *queue, struct expiry expiry) {
  struct hr__locality_state *locality = queue->locality;
  if (!HR__ARENA_HAS_ROOM(queue->arena, locality->heap, locality->n_expiries, locality->capacity)) return false;
  expiries_rise(locality->heap, locality->n_expiries++, expiry, NULL);
  return true;
}

static void pop_expiry(struct hr__locality_state *locality) {
  struct expiry last = locality->heap[--locality->n_expiries];
  expiries_sink(locality->heap, locality->n_expiries, last, NULL);
}

/* Returns the first constraint in the heap that belongs to a waiting job and has not been marked as expired; NULL:
   none. A job that has ended does not count as waiting, even if its state has been discarded and reads as 0. */
static const struct expiry *first_expiry(struct hr__locality_state *locality, const struct hr_view *view) {
  while (locality->n_expiries > 0) {
    hr_job job = locality->heap[0].job;
    if (view->state[job.id] == HR_JOB_WAITING && !locality->is_over[job.id]) return locality->heap;
    pop_expiry(locality);
  }
  return NULL;
}

static enum hr_status job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct hr_locality locality = hr_cluster_locality(queue->cluster, job);
  if (locality.tier == HR_TIER_ANY || locality.until_us == HR_NEVER_US) return HR_OK;
  queue->locality->is_over[job.id] = locality.until_us <= view->now_us;
  if (queue->locality->is_over[job.id]) return HR_OK;
  return push_expiry(queue, (struct expiry){locality.until_us, job}) ? HR_OK : HR_NO_MEMORY;
}

static const struct hr__listener listener = {.job_waits = job_waits};

uint8_t *hr__locality_next_expired(struct hr__queue *queue, const struct hr_view *view, hr_job *job) {
  const struct expiry *first = first_expiry(queue->locality, view);
  if (!first || first->until_us > view->now_us) return NULL;
  *job = first->job;
  return &queue->locality->is_over[job->id];
}

enum hr_status hr__locality_end_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  if (hr_capacity_set_failed(queue->capacities)) return HR_NO_MEMORY;
  const struct expiry *first = first_expiry(queue->locality, view);
  return first ? hr__queue_wake(queue, view, moves, first->until_us) : HR_OK;
}

struct hr__locality_state *hr__locality_create(struct hr__queue *queue, const struct hr_policy_env *env) {
  struct hr__locality_state *locality = hr_arena_alloc(env->arena, sizeof *locality);
  if (!locality) return NULL;
  if (!HR__ARENA_ARRAY_BY_JOB(env->arena, locality->is_over, env->jobs->n_jobs)) return NULL;
  for (uint32_t i = 0; i < env->jobs->n_jobs && !queue->locality_expires; i++) {
    struct hr_locality of_job = hr_cluster_locality(env->cluster, (hr_job){i});
    queue->locality_expires = of_job.tier != HR_TIER_ANY && of_job.until_us != HR_NEVER_US;
    hr_arena_passed_job(env->arena, (hr_job){i});
  }
  hr__queue_add_listener(queue, &listener);
  return locality;
}
