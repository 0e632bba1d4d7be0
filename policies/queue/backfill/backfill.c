/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The backfills `strict`, `skip` and `easy`.
 *
 * strict: the first job that does not fit ends the pass. Until capacity becomes free or another job becomes the first
 * in order, no job can start, so passes do nothing.
 */

#include "policies/queue/backfill/backfill.h"

static enum hr_status pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__shape *waiting = hr__active_shape(&queue->waiting, 0);
  if (!queue->freed && queue->blocked.id == waiting->head.job.id) return HR_OK;
  enum hr_status status = hr__queue_start_in_order(queue, view, moves, &waiting);
  queue->blocked = waiting ? waiting->head.job : (hr_job){HR_NONE};
  queue->freed = false;
  return status;
}

const struct hr__backfill hr__backfill_strict = {.pass = pass};

/* skip: jobs that do not fit are skipped. Starts only reduce free capacity, so a shape that does not fit once need not
   be tried again in the pass. The next job to start is, among the first jobs of all shapes that fit, the job that is
   first in order. */

/* Compares the first jobs of the shapes that fit, and returns the shape of the job that is first in order; NULL if no
   shape fits. Writes the placement of that job. */
static struct hr__shape *first_fitting(const struct hr__queue *queue, struct hr_placement *placement) {
  struct hr__shape *first = NULL;
  for (uint32_t i = 0; i < queue->waiting.n_active; i++) {
    struct hr__shape *shape = hr__active_shape(&queue->waiting, i);
    if (first && !hr__entry_before(shape->head, first->head)) continue;
    struct hr_placement unused;
    if (hr__shape_fits(queue, shape, &unused)) first = shape;
  }
  if (first) hr__fits(queue, first->gpus, first->kind, placement);
  return first;
}

static enum hr_status skip_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  enum hr_status status = HR_OK;
  struct hr_placement placement;
  struct hr__shape *shape;
  while (status == HR_OK && (shape = first_fitting(queue, &placement))) {
    bool in_order = hr__waiting_first(&queue->waiting) == shape;
    status = hr__queue_start(queue, view, moves, shape, shape->head, &placement,
                             in_order ? HR_REASON_IN_ORDER : HR_REASON_BACKFILL);
  }
  return status;
}

const struct hr__backfill hr__backfill_skip = {.by_shape = true, .passes_over = true, .pass = skip_pass};

/* ---- The reservation of `easy` with maintenance ---------------------------------------------------------- */

/*
 * The backfill `easy` reserves capacity for the first job that does not fit, the head (see below). In clusters with
 * planned maintenance, its reservation starts at T, the earliest time at which the head fits for its whole limit. T is
 * computed with a capacity profile in which nodes have no capacity during maintenance. Afterwards, `profile.index`
 * contains, for each node, the minimum number of free GPUs in [T, T + limit). Apart from maintenance, nodes only become
 * free in that time, so the minimum is the number at T, or 0 for a node with maintenance. A job that starts now and
 * ends after T reduces the numbers of its nodes by its GPUs.
 */

struct hr__easy_plan {
  struct hr__cluster_profile profile;
  int64_t reserved_us;         /* T; HR_NEVER_US: no job has a reservation now */
  uint32_t gpus, accept_class; /* of the head */
};

/* Subtracts the GPUs of a job from the capacity at T. Stores the previous numbers of free GPUs in profile.per_bin, by
   slice. */
static void subtract(struct hr__easy_plan *plan, const struct hr_placement *placement) {
  struct hr_free_index *index = plan->profile.index[placement->pool.id];
  uint32_t first = hr_cluster_first_node(plan->profile.cluster, placement->pool).id;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    uint32_t node = placement->slices[i].node.id - first, gpus = placement->slices[i].gpu_milli / HR_WHOLE_GPU_MILLI;
    uint32_t free = hr_free_index_get(index, node);
    plan->profile.per_bin[i] = free;
    hr_free_index_set(index, node, free > gpus ? free - gpus : 0);
  }
}

/* Returns whether the head could still start at the reserved time if a job ran at the placement beyond that time. */
static bool plan_allows(const struct hr__queue *queue, const struct hr_placement *placement) {
  struct hr__easy_plan *plan = queue->easy_plan;
  struct hr_placement unused;
  subtract(plan, placement);
  bool still_fits = hr_placer_find_in(plan->profile.placer, &plan->profile.capacity, HR_TIER_ANY, plan->gpus,
                                      plan->accept_class, &unused);
  uint32_t first = hr_cluster_first_node(queue->cluster, placement->pool).id;
  for (uint32_t i = 0; i < placement->n_slices; i++)
    hr_free_index_set(plan->profile.index[placement->pool.id], placement->slices[i].node.id - first,
                      (uint32_t)plan->profile.per_bin[i]);
  return still_fits;
}

bool hr__easy_plan_permits(const struct hr__queue *queue, int64_t end_us, const struct hr_placement *placement) {
  return end_us <= queue->easy_plan->reserved_us || plan_allows(queue, placement);
}

static enum hr_status job_starts(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                 const struct hr_placement *placement) {
  struct hr__easy_plan *plan = queue->easy_plan;
  if (hr__expected_end_us(queue, view, job) > plan->reserved_us) subtract(plan, placement);
  return HR_OK;
}

static const struct hr__listener listener = {.job_starts = job_starts};

/* Creates queue->easy_plan if nodes have maintenance, in counted allocation by node without topology constraints. The
   other functions of this section may be called only if it exists. */
static enum hr_status plan_create(struct hr__queue *queue, const struct hr_policy_env *env) {
  bool any = false;
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster); i++)
    any = any || hr_cluster_pool_spec(queue->cluster, (hr_pool){i})->n_maintenance > 0;
  if (!any || queue->by_gpu || queue->locality || queue->rule == HR_PLACE_POOL) return HR_OK;
  struct hr__easy_plan *plan = hr_arena_alloc(env->arena, sizeof *plan);
  if (!plan) return HR_NO_MEMORY;
  /* A placer for this module only, because placements of the queue's placer must remain valid. */
  *plan = (struct hr__easy_plan){.profile = {.arena = env->arena,
                                             .cluster = queue->cluster,
                                             .placer = hr_placer_create(env->arena, queue->cluster, queue->rule),
                                             .calendar = queue->calendar,
                                             .rule = queue->rule},
                                 .reserved_us = HR_NEVER_US};
  if (!plan->profile.placer) return HR_NO_MEMORY;
  queue->easy_plan = plan;
  hr__queue_add_listener(queue, &listener);
  return hr__cluster_profile_init(&plan->profile);
}

/* Determines queue->reserved_us, the earliest time from now on at which the waiting job `head` can start. The
   reservation is valid until plan_end. */
static enum hr_status plan_begin(struct hr__queue *queue, const struct hr_view *view, hr_job head) {
  struct hr__easy_plan *plan = queue->easy_plan;
  int64_t left_us = hr__holds_left_us(queue, view, head);
  struct hr__profile_demand demand = {hr__gpus(queue, head), hr__kind(queue, head), left_us > 0 ? left_us : 1};
  struct hr_placement unused;
  /* the head is the only planned job, so its limit determines which maintenance the plan avoids */
  plan->profile.longest_us = left_us;
  if (hr__cluster_profile_begin(&plan->profile, view->now_us) != HR_OK) return HR_NO_MEMORY;
  plan->gpus = demand.gpus;
  plan->accept_class = demand.accept_class;
  plan->reserved_us = hr__cluster_profile_earliest(&plan->profile, &demand, view->now_us);
  queue->reserved_us = plan->reserved_us;
  if (plan->reserved_us != HR_NEVER_US) hr__cluster_profile_place(&plan->profile, &demand, plan->reserved_us, &unused);
  return HR_OK;
}

static void plan_end(struct hr__queue *queue) {
  queue->easy_plan->reserved_us = HR_NEVER_US;
}

/* ---- easy ------------------------------------------------------------------------------------------------ */

/*
 * EASY backfilling (Lifka, "The ANL/IBM SP Scheduling System", JSSPP 1995; Mu'alem and Feitelson, TPDS 2001). The head
 * is the first job that does not fit. It gets a reservation at T, the earliest time at which it fits if running jobs
 * end at their limits. A later job that fits now starts in two cases: its limit ends by T, or the head would fit at T
 * even if the later job still ran.
 *
 * Jobs of one shape differ only in their limits. Therefore two checks per shape are sufficient: whether the shape fits
 * now, and whether a job of the shape may run beyond T. If it may, the next candidate is the first job of the shape;
 * otherwise it is the first job of the shape with a limit that ends by T. Without subqueues (waiting.h), a candidate
 * must come after the previous candidate in order, so each job is considered once, as in a simple walk over the queue.
 * With subqueues, each search begins with the first job, because a start may have changed the keys.
 *
 * With planned maintenance (struct hr__easy_plan), the head is the first job that does not fit or that maintenance
 * holds. T is then the earliest time at which the head fits until its limit on nodes without maintenance in that time.
 * A later job that would reach maintenance gets other nodes if the head would still fit at T; otherwise it is held
 * (holds.c).
 */

struct backfill_candidate {
  struct hr__shape *shape;
  struct hr_job_entry entry;
};

/* Returns whether a job may run at a placement beyond the reserved time. `head`: NULL if maintenance holds the head. */
static bool allows(struct hr__queue *queue, const struct hr__shape *shape, struct hr_placement *placement,
                   const struct hr__shape *head, int64_t reserved_us, int64_t now_us) {
  return queue->easy_plan ? plan_allows(queue, placement)
                          : hr__locality_allows(queue, shape, placement, head, reserved_us, now_us);
}

/* Returns whether the shape has a job after `last` that may start now, and writes the first such job. */
static bool next_in_shape(struct hr__queue *queue, struct hr__shape *shape, const struct hr__shape *head,
                          struct hr_job_entry last, int64_t reserved_us, int64_t now_us, struct hr_job_entry *entry) {
  struct hr_job_entry first;
  struct hr_placement placement;
  int64_t window_us = reserved_us - now_us;
  /* With counted GPUs and without quotas, this check is made first, because it is faster than the search for the next
     job. In other cases the order of these two checks must not change, because the placement rule may draw random
     numbers, and the search may park subqueues. */
  bool counted = !queue->by_gpu && !queue->quota;
  if (counted && !hr__shape_fits(queue, shape, &placement)) return false;
  if (!hr__waiting_next(&queue->waiting, shape, last, INT64_MAX, &first)) return false;
  if (!counted && !hr__shape_fits(queue, shape, &placement)) return false;
  *entry = first;
  if (first.value <= window_us) return true;
  if (allows(queue, shape, &placement, head, reserved_us, now_us)) return true;
  return hr__waiting_next(&queue->waiting, shape, last, window_us, entry);
}

static struct backfill_candidate next_candidate(struct hr__queue *queue, const struct hr__shape *head,
                                                struct hr_job_entry last, int64_t reserved_us, int64_t now_us) {
  struct backfill_candidate best = {0};
  for (uint32_t i = 0; i < queue->waiting.n_active; i++) {
    struct hr__shape *shape = hr__active_shape(&queue->waiting, i);
    struct hr_job_entry entry;
    if (shape == head) continue; /* these jobs have the same request as the head, so they do not fit either */
    if (!next_in_shape(queue, shape, head, last, reserved_us, now_us, &entry)) continue;
    if (!best.shape || hr__entry_before(entry, best.entry)) best = (struct backfill_candidate){shape, entry};
  }
  return best;
}

/* Returns whether the set of jobs that may start depends only on waiting jobs, running jobs, the state of nodes, and
   T. */
static bool may_settle(const struct hr__queue *queue) {
  bool has_other_moves = queue->carbon || queue->elastic || queue->market;
  return !queue->by_gpu && !queue->quota && !queue->locality && !queue->holds && !has_other_moves;
}

/* Returns whether nothing has changed since the last pass, so that this pass has nothing to start. */
static bool is_settled(const struct hr__queue *queue, int64_t now_us) {
  const struct hr__settled_pass *last = &queue->settled;
  if (last->head.id == HR_NONE || last->reserved_us <= now_us) return false;
  return hr__waiting_first(&queue->waiting)->head.job.id == last->head.id;
}

/* Starts jobs that come after the job `last`, which has the reservation. `head`: the shape of the job `last`, of which
   no job fits; NULL if maintenance holds the job `last`. */
static enum hr_status backfill_jobs(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                    const struct hr__shape *head, struct hr_job_entry last) {
  enum hr_status status = HR_OK;
  int64_t reserved_us = queue->reserved_us;
  queue->head = last.job;
  bool started = false;
  while (status == HR_OK) {
    struct backfill_candidate candidate = next_candidate(queue, head, last, reserved_us, view->now_us);
    if (!candidate.shape) break;
    struct hr_placement placement;
    hr__fits(queue, candidate.shape->gpus, candidate.shape->kind, &placement);
    last = candidate.entry;
    bool is_short = last.value <= reserved_us - view->now_us;
    if (queue->gpu_calendar && !is_short &&
        !hr__locality_allows(queue, candidate.shape, &placement, head, reserved_us, view->now_us))
      /* this placement would delay the head; next_in_shape allowed the job because a random placement rule found
         another placement there */
      continue;
    started = true;
    status = hr__queue_start(queue, view, moves, candidate.shape, last, &placement, HR_REASON_BACKFILL);
  }
  if (!started && may_settle(queue)) queue->settled = (struct hr__settled_pass){queue->head, reserved_us};
  return status;
}

/* A pass with queue->easy_plan. Starts jobs in order up to the first one that does not fit, or that cannot start now
   because of maintenance. Makes a reservation for this job, and starts later jobs that do not delay it. */
static enum hr_status pass_with_plan(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  enum hr_status status = HR_OK;
  struct hr__shape *first;
  while (status == HR_OK && (first = hr__waiting_first(&queue->waiting))) {
    struct hr_job_entry head = first->head;
    struct hr_placement placement;
    struct hr_wait_reason unused;
    bool fits = hr__shape_fits(queue, first, &placement);
    if (!fits && queue->waiting.n_active == 1) return HR_OK;
    if (fits) status = hr__queue_start(queue, view, moves, first, head, &placement, HR_REASON_IN_ORDER);
    if (status != HR_OK || (fits && (queue->preemptor || !hr__holds_wait(queue, head.job, &unused)))) continue;
    status = plan_begin(queue, view, head.job);
    if (status == HR_OK && (!fits || queue->reserved_us > view->now_us)) {
      status = backfill_jobs(queue, view, moves, fits ? NULL : first, head);
      plan_end(queue);
      return status;
    }
    plan_end(queue); /* the job could start now, but excluded nodes hold it: it gets no reservation */
    queue->reserved_us = HR_NEVER_US;
  }
  return status;
}

/* Returns whether jobs of another shape than that of the head fit. */
static bool others_fit(const struct hr__queue *queue, const struct hr__shape *head) {
  struct hr_placement unused;
  for (uint32_t i = 0; i < queue->waiting.n_active; i++) {
    struct hr__shape *shape = hr__active_shape(&queue->waiting, i);
    if (shape != head && hr__shape_fits(queue, shape, &unused)) return true;
  }
  return false;
}

static enum hr_status easy_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  if (queue->easy_plan) return pass_with_plan(queue, view, moves);
  if (is_settled(queue, view->now_us)) {
    queue->head = queue->settled.head;
    queue->reserved_us = queue->settled.reserved_us;
    return HR_OK;
  }
  struct hr__shape *head;
  enum hr_status status = hr__queue_start_in_order(queue, view, moves, &head);
  if (status != HR_OK || !head || queue->waiting.n_active == 1) return status;
  if (may_settle(queue) && !others_fit(queue, head)) {
    /* no job fits, so no job can start for any T */
    queue->head = head->head.job;
    queue->settled = (struct hr__settled_pass){queue->head, HR_NEVER_US};
    return HR_OK;
  }
  queue->reserved_us = hr__locality_earliest(queue, view, head);
  return backfill_jobs(queue, view, moves, head, head->head);
}

const struct hr__backfill hr__backfill_easy = {
    .by_shape = true, .needs_calendar = true, .value = hr_trace_limit_us, .create = plan_create, .pass = easy_pass};
