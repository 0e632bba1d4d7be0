/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Passes that try waiting jobs one by one, if preemption is by an order that ranks running jobs (las, gittins, srtf),
 * and GPUs are counted by node.
 *
 * Purpose: no job is tried if it would be refused. A job is refused if it would not fit even if all running jobs with
 * keys above its bound were stopped. Jobs that come later in order have larger bounds, so they may preempt the same or
 * fewer jobs. Therefore all later jobs with the same or a larger request are refused, too. This remains true until a
 * job stops, or gets a larger key.
 *
 * - If a job with the key k stops, jobs with bounds of at least k may now fit. Jobs with smaller bounds could already
 *   preempt it.
 * - If the key of a job grows from k to m, jobs with bounds in [k, m) may now preempt it.
 * - If a job starts, it takes free capacity. Jobs that may preempt it gain nothing.
 *
 * So each shape stores the smallest bound at which a job was refused, and the ranges of bounds that became easier
 * since, with the nodes on which they did (node_jobs.c). Only these nodes can have room for a job of the shape. A pass
 * makes one walk over the first jobs of the subqueues, in order. Jobs that are preempted in the walk come later than
 * the job that was started, so each job is visited once. The walk starts no job that a later job may preempt. (With a
 * grace period, jobs start out of order.)
 *
 * Jobs that were started at the same instant cannot be preempted. An earlier pass, or a backfill, may have started such
 * jobs. A refusal that depends on them is not stored.
 *
 * Under `strict`, only the first job in order may start, and all jobs have one shape, whatever they request. Then the
 * refused job itself is stored instead of a bound by shape.
 *
 * Invariant: a job that is not tried would be refused.
 */

#include "policies/queue/preemption/preemption.h"

bool hr__ranked_applies(const struct hr__queue *queue) {
  const struct hr__preemption_terms *terms = &queue->preemptor->terms;
  bool is_ranked = terms->rule->by_order && queue->order->running_key && terms->grace_us == 0;
  bool tries_alone = queue->backfill->by_shape || queue->backfill == &hr__backfill_strict;
  return is_ranked && tries_alone && queue->rule != HR_PLACE_POOL && !queue->by_gpu && !queue->quota &&
         !queue->locality;
}

/* ---- Refusals ------------------------------------------------------------------------------------- */

static bool is_in(const struct hr__eased *eased, int64_t bound) {
  return bound >= eased->from && bound < eased->to;
}

static void widen(struct hr__eased *eased, const struct hr__eased *more) {
  if (more->from >= more->to) return;
  if (eased->from >= eased->to) {
    *eased = *more;
    return;
  }
  if (more->from < eased->from) eased->from = more->from;
  if (more->to > eased->to) eased->to = more->to;
  eased->nodes |= more->nodes;
}

void hr__ranked_ease(struct hr__queue *queue, int64_t from, int64_t to, uint64_t nodes) {
  widen(&queue->preemptor->eased, &(struct hr__eased){from, to, nodes});
}

/* Returns the GPUs that a node must have so that jobs of the shape may use it. */
static uint32_t needed_by(const struct hr__queue *queue, struct hr__shape *shape) {
  if (!shape->refusals.needed) shape->refusals.needed = hr__node_jobs_needed(queue, shape->gpus, shape->kind);
  return shape->refusals.needed;
}

/* A node has become easier for a range of bounds if waiting jobs with these bounds may now have more room on it. Adds
   such nodes to the refusals of all shapes with waiting jobs, unless no such node has enough room. The refusals of a
   shape that had no waiting jobs in the last pass are forgotten. `last_pass`: number of the pass in which refusals were
   last updated. */
static void apply_eased(struct hr__queue *queue, uint32_t last_pass) {
  struct hr__preemptor *preemptor = queue->preemptor;
  struct hr__eased *eased = &preemptor->eased;
  bool any = eased->from < eased->to, is_known = any && preemptor->node_jobs && eased->nodes != HR__ALL_NODES;
  uint32_t room = is_known ? hr__node_jobs_room(queue, eased->from, eased->nodes) : UINT32_MAX;
  preemptor->n_eased++;
  for (uint32_t i = 0; i < queue->waiting.n_active; i++) {
    struct hr__shape *shape = hr__active_shape(&queue->waiting, i);
    struct hr__refusals *refusals = &shape->refusals;
    if (refusals->pass != last_pass) *refusals = (struct hr__refusals){.bound = INT64_MAX, .needed = refusals->needed};
    refusals->pass = preemptor->n_passes;
    if (!any || (is_known && needed_by(queue, shape) > room)) continue;
    widen(&refusals->earlier, &refusals->last);
    refusals->last = *eased;
  }
  *eased = (struct hr__eased){0};
}

static bool must_be_refused(const struct hr__refusals *refusals, int64_t bound) {
  return bound >= refusals->bound && !is_in(&refusals->last, bound) && !is_in(&refusals->earlier, bound);
}

static void refuse(struct hr__refusals *refusals, int64_t bound) {
  if (bound < refusals->bound) refusals->bound = bound;
  if (bound < refusals->last.to) refusals->last.to = bound;
  if (bound < refusals->earlier.to) refusals->earlier.to = bound;
}

/* Returns whether the jobs of shape `b` do not fit if the jobs of shape `a` do not fit. A gang of several nodes may fit
   on smaller nodes than those that a job on one node needs. */
static bool needs_as_much(const struct hr__queue *queue, const struct hr__shape *a, const struct hr__shape *b) {
  if (a->kind != b->kind || a->gpus > b->gpus) return false;
  if (a->gpus == b->gpus || hr_cluster_pools(queue->cluster) == 1) return true;
  return hr_placer_is_single(queue->placer, a->gpus, a->kind) == hr_placer_is_single(queue->placer, b->gpus, b->kind);
}

static void note_refusal(const struct hr__queue *queue, const struct hr__shape *refused, int64_t bound) {
  for (uint32_t i = 0; i < queue->waiting.n_active; i++) {
    struct hr__shape *shape = hr__active_shape(&queue->waiting, i);
    if (needs_as_much(queue, refused, shape)) refuse(&shape->refusals, bound);
  }
}

/* ---- The walk ------------------------------------------------------------------------------------- */

/* The next job to try. */
struct ranked_candidate {
  struct hr__shape *shape; /* NULL: no further job */
  struct hr_job_entry entry;
  int64_t bound;
};

/* Moves `entry` to the first job of the next subqueue of the shape. False: there is none. */
static bool next_head(const struct hr__queue *queue, const struct hr__shape *shape, struct hr_job_entry *entry) {
  if (!queue->waiting.full_key) return false;
  return hr_job_tree_next(&shape->subqueues, entry->key, entry->job, INT64_MAX, entry);
}

/* Moves the place of a shape to its next job. */
static void step(const struct hr__queue *queue, struct hr__shape *shape) {
  shape->place.has_bound = false;
  shape->place.ended = !next_head(queue, shape, &shape->place.entry);
}

/* Finds the first job of a subqueue of the shape that comes after `last` and need not be refused, and that precedes the
   candidate found so far. Until a job starts, refusals are only added, so the search continues at the place at which it
   stopped. */
static void consider(struct hr__queue *queue, const struct hr_view *view, struct hr__shape *shape,
                     struct hr_job_entry last, struct ranked_candidate *next) {
  struct hr__ranked_place *place = &shape->place;
  if (place->n_eased != queue->preemptor->n_eased)
    *place = (struct hr__ranked_place){.entry = shape->head, .n_eased = queue->preemptor->n_eased};
  while (!place->ended) {
    if (!hr__entry_before(last, place->entry)) {
      place->entry = last;
      step(queue, shape);
      continue;
    }
    if (next->shape && !hr__entry_before(place->entry, next->entry)) return;
    if (!place->has_bound) place->bound = queue->preemptor->terms.rule->bound(queue, view, place->entry);
    place->has_bound = true;
    if (!must_be_refused(&shape->refusals, place->bound)) {
      *next = (struct ranked_candidate){shape, place->entry, place->bound};
      return;
    }
    if (place->bound >= shape->refusals.last.to && place->bound >= shape->refusals.earlier.to)
      place->ended = true; /* all later jobs must be refused */
    else
      step(queue, shape);
  }
}

/* Finds the next job to try. If the backfill lets no job pass the first one, this can only be the first one. */
static struct ranked_candidate find_next(struct hr__queue *queue, const struct hr_view *view,
                                         struct hr_job_entry last) {
  struct ranked_candidate next = {0};
  for (uint32_t i = 0; i < queue->waiting.n_active && queue->backfill->passes_over; i++)
    consider(queue, view, hr__active_shape(&queue->waiting, i), last, &next);
  if (queue->backfill->passes_over || !(next.shape = hr__waiting_first(&queue->waiting))) return next;
  next.entry = next.shape->head;
  next.bound = queue->preemptor->terms.rule->bound(queue, view, next.entry);
  if (must_be_refused(&next.shape->refusals, next.bound)) next.shape = NULL;
  return next;
}

/* Returns the GPUs that a job with this kind and bound could have in one pool, wherever they are: those that are free,
   and those of all running jobs that it may preempt. */
static uint64_t max_gpus(const struct hr__queue *queue, uint32_t kind, int64_t bound) {
  uint64_t most = 0;
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster); i++) {
    const struct hr_job_tree *running = &queue->preemptor->running[i];
    if (!hr_cluster_accepts(queue->cluster, kind, (hr_pool){i})) continue;
    uint64_t gpus = hr_cluster_free_milli(queue->cluster, (hr_pool){i}) / HR_WHOLE_GPU_MILLI;
    gpus += (uint64_t)(running->sum - hr_job_tree_sum_to(running, bound));
    if (gpus > most) most = gpus;
  }
  return most;
}

/* Refuses the candidate, and all other shapes that need more GPUs than it could have, if there are not enough GPUs.
   `*gpus`: the result of max_gpus for the last candidate of the same kind and bound; UINT64_MAX: unknown. */
static bool lacks_gpus(const struct hr__queue *queue, const struct ranked_candidate *next, uint64_t *gpus) {
  if (*gpus == UINT64_MAX) *gpus = max_gpus(queue, next->shape->kind, next->bound);
  if (next->shape->gpus <= *gpus) return false;
  for (uint32_t i = 0; i < queue->waiting.n_active; i++) {
    struct hr__shape *shape = hr__active_shape(&queue->waiting, i);
    if (shape->kind == next->shape->kind && shape->gpus > *gpus) refuse(&shape->refusals, next->bound);
  }
  return true;
}

/* Returns the nodes that may have more room for a job of the shape than when such jobs were refused. */
static uint64_t nodes_to_search(const struct hr__shape *shape, int64_t bound) {
  const struct hr__refusals *refusals = &shape->refusals;
  if (bound < refusals->bound) return HR__ALL_NODES;
  uint64_t last = is_in(&refusals->last, bound) ? refusals->last.nodes : 0;
  return last | (is_in(&refusals->earlier, bound) ? refusals->earlier.nodes : 0);
}

/* Refuses the candidate, and all other shapes that need more GPUs of a node than it could have on one, if no node that
   has become easier has enough room. */
static bool lacks_nodes(struct hr__queue *queue, const struct ranked_candidate *next) {
  uint64_t nodes = nodes_to_search(next->shape, next->bound);
  queue->preemptor->searched_nodes = nodes;
  uint32_t room = hr__node_jobs_room(queue, next->bound, nodes);
  if (needed_by(queue, next->shape) <= room) return false;
  for (uint32_t i = 0; i < queue->waiting.n_active; i++) {
    struct hr__shape *shape = hr__active_shape(&queue->waiting, i);
    bool is_known = shape->kind == next->shape->kind && !(nodes_to_search(shape, next->bound) & ~nodes);
    if (is_known && needed_by(queue, shape) > room) refuse(&shape->refusals, next->bound);
  }
  return true;
}

/* Does what hr__preemption_try does. `*final`: the job was not refused only because of running jobs that started at
   this instant and cannot be preempted before the next one. */
static enum hr_status try_entry(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                struct hr__shape *shape, struct hr_job_entry entry, enum hr_reason reason,
                                bool *started, bool *final) {
  struct hr__preemptor *preemptor = queue->preemptor;
  bool retries = preemptor->retries;
  preemptor->retries = false;
  enum hr_status status = hr__preemption_try(queue, view, moves, shape, entry, reason, true, started);
  *final = *started || !preemptor->retries;
  preemptor->retries = preemptor->retries || retries;
  return status;
}

/* Tries a job. `*preempted`: set if jobs were preempted for it. */
static enum hr_status try_job(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                              const struct ranked_candidate *next, bool *started, bool *preempted) {
  uint32_t n_running = view->n_running;
  bool final, is_first = hr__waiting_first(&queue->waiting)->head.job.id == next->entry.job.id;
  enum hr_reason reason = is_first ? HR_REASON_IN_ORDER : HR_REASON_BACKFILL;
  enum hr_status status = try_entry(queue, view, moves, next->shape, next->entry, reason, started, &final);
  if (status != HR_OK) return status;
  *preempted = *preempted || (*started && view->n_running <= n_running);
  if (*started)
    apply_eased(queue, queue->preemptor->n_passes);
  else if (final)
    note_refusal(queue, next->shape, next->bound);
  return HR_OK;
}

/* Starts jobs in order until one is refused. The job that was refused last is only tried again if its bound has become
   easier. */
static enum hr_status pass_strictly(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__preemptor *preemptor = queue->preemptor;
  struct hr__refused_head *refused = &preemptor->refused_head;
  struct hr__shape *shape;
  bool started = true;
  while (started && (shape = hr__waiting_first(&queue->waiting))) {
    struct hr_job_entry head = shape->head;
    int64_t bound = preemptor->terms.rule->bound(queue, view, head);
    bool final, is_known = refused->job.id == head.job.id && refused->bound == bound;
    if (is_known && !is_in(&preemptor->eased, bound)) return HR_OK;
    enum hr_status status = try_entry(queue, view, moves, shape, head, HR_REASON_IN_ORDER, &started, &final);
    if (status != HR_OK || hr__preemption_pending(queue)) return status;
    *refused = (struct hr__refused_head){started || !final ? (hr_job){HR_NONE} : head.job, bound};
    if (!started) preemptor->eased = (struct hr__eased){0};
  }
  return HR_OK;
}

enum hr_status hr__ranked_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__preemptor *preemptor = queue->preemptor;
  struct hr_job_entry last = {INT64_MIN, {0}, 0};
  struct ranked_candidate next, before = {0};
  uint64_t gpus = UINT64_MAX;
  bool preempted = false, started = true;
  if (!queue->backfill->by_shape) return pass_strictly(queue, view, moves);
  preemptor->n_passes++;
  apply_eased(queue, preemptor->n_passes - 1);
  while ((started || queue->backfill->passes_over) && (next = find_next(queue, view, last)).shape) {
    bool same = !started && before.bound == next.bound && before.shape->kind == next.shape->kind;
    if (!same) gpus = UINT64_MAX;
    before = next;
    last = next.entry;
    started = false;
    if (hr__node_jobs_answer(queue, view, next.bound)) {
      if (lacks_nodes(queue, &next)) continue;
    } else if (lacks_gpus(queue, &next, &gpus))
      continue;
    enum hr_status status = try_job(queue, view, moves, &next, &started, &preempted);
    preemptor->searched_nodes = HR__ALL_NODES;
    if (status != HR_OK || hr__preemption_pending(queue)) return status;
  }
  preemptor->nothing_fits = queue->backfill->passes_over && !preempted;
  return HR_OK;
}
