/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Passes that try waiting jobs one by one, if preemption is by an order that ranks running jobs (las, gittins, srtf),
 * and GPUs are counted by node.
 *
 * Purpose: no job is tried if it would be refused. A job is refused if it would not fit even if all running jobs with
 * keys above its bound were stopped. Jobs that come later in order have the same or larger bounds, so they may preempt
 * the same or fewer jobs. Therefore all later jobs with the same or a larger request are refused, too. This remains
 * true until a running job stops or gets a larger key, or until nodes or victims are added.
 *
 * - If a job with the key k stops, jobs with bounds of at least k may now fit. Jobs with smaller bounds could already
 *   preempt it.
 * - If the key of a job grows from k to m, jobs with bounds in [k, m) may now preempt it.
 * - If a job starts, it takes free capacity. Jobs that may preempt it gain nothing.
 *
 * So each shape stores the smallest bound at which a job was refused, and the ranges of bounds for which there may be
 * more room since then, each with a set of nodes (struct hr__eased). For a job with a bound in such a range, only nodes
 * of the set can have room. A pass makes one walk over the first jobs of the subqueues, in order. Jobs that are
 * preempted in the walk come later in order than the job that was started, so each job is visited once. The walk starts
 * no job that a later job may preempt. This file is not used with a grace period, because jobs then start out of order.
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

/* ---- Running jobs by node --------------------------------------------------------------------------- */

/*
 * Lists of the running jobs of each node. From these lists, a pass determines how many GPUs of a node a waiting job
 * could have, and which jobs of one node it must preempt, without a search among all running jobs.
 *
 * The jobs of a node that may be preempted are an array, sorted in the order in which a search preempts them: the last
 * job in order first. A node has few GPUs, and a job has at least one of them, so the arrays are short. If a node has
 * more than HR__MAX_ON_NODE GPUs, these lists are not used.
 *
 * Sets of nodes are masks of 64 bits. A node is in the set if the bit (id mod 64) is 1, so a set may contain more nodes
 * than were added to it.
 *
 * Jobs that have started at this instant cannot be preempted, but are in the arrays. If the jobs that a waiting job may
 * preempt include such jobs, the lists cannot be used for this waiting job (hr__node_jobs_answer).
 */

enum { SET_BITS = 64 };

/* The part of a running job on one node. */
struct node_job {
  int64_t key, start_us;
  hr_job job;
  uint32_t gpus;
  bool alone; /* the job uses no other node */
};

struct hr__node_jobs {
  uint32_t capacity;     /* of the array of a node */
  uint32_t *count;       /* by node: length of its array */
  struct node_job *jobs; /* by node: its array */
  /* added_us: last time at which a job was added that had started at that instant; added_key: largest key of such
     jobs */
  int64_t added_us, added_key;
};

bool hr__node_jobs_create(struct hr__queue *queue) {
  const struct hr_cluster *cluster = queue->cluster;
  uint32_t most = 0, n_nodes = hr__n_nodes(cluster);
  for (uint32_t i = 0; i < hr_cluster_pools(cluster); i++) {
    uint32_t gpus = hr_free_index_gpus_per_node(hr_cluster_free_index(cluster, (hr_pool){i}));
    if (gpus > most) most = gpus;
  }
  if (!hr__ranked_applies(queue) || most == 0 || most > HR__MAX_ON_NODE) return true;
  struct hr__node_jobs *all = hr_arena_alloc(queue->arena, sizeof *all);
  if (!all) return false;
  *all = (struct hr__node_jobs){.capacity = most, .added_us = INT64_MIN};
  queue->preemptor->node_jobs = all;
  return HR__ARENA_ARRAY(queue->arena, all->count, n_nodes) &&
         HR__ARENA_ARRAY(queue->arena, all->jobs, (size_t)n_nodes * most);
}

/* ---- Running jobs by node: running jobs ------------------------------------------------------------- */

/* Returns whether a search would preempt `a` before `b`. */
static bool goes_first(const struct node_job *a, const struct node_job *b) {
  if (a->key != b->key) return a->key > b->key;
  return a->start_us != b->start_us ? a->start_us > b->start_us : a->job.id > b->job.id;
}

static void add_to_node(struct hr__node_jobs *all, uint32_t node, struct node_job added) {
  struct node_job *jobs = all->jobs + (size_t)node * all->capacity;
  uint32_t at = all->count[node]++;
  for (; at > 0 && goes_first(&added, &jobs[at - 1]); at--) jobs[at] = jobs[at - 1];
  jobs[at] = added;
}

static void remove_from_node(struct hr__node_jobs *all, uint32_t node, hr_job job) {
  struct node_job *jobs = all->jobs + (size_t)node * all->capacity;
  uint32_t at = 0, count = all->count[node];
  while (at < count && jobs[at].job.id != job.id) at++;
  if (at == count) return;
  for (all->count[node] = --count; at < count; at++) jobs[at] = jobs[at + 1];
}

void hr__node_jobs_add(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                       const struct hr_placement *placement, int64_t key) {
  struct hr__node_jobs *all = queue->preemptor->node_jobs;
  int64_t start_us = view->attempt_us[job.id];
  if (start_us == view->now_us) {
    if (all->added_us != view->now_us) all->added_key = INT64_MIN;
    all->added_us = view->now_us;
    if (key > all->added_key) all->added_key = key;
  }
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    uint32_t gpus = placement->slices[i].gpu_milli / HR_WHOLE_GPU_MILLI;
    add_to_node(all, placement->slices[i].node.id,
                (struct node_job){key, start_us, job, gpus, placement->n_slices == 1});
  }
}

void hr__node_jobs_remove(struct hr__queue *queue, hr_job job, const struct hr_placement *placement) {
  for (uint32_t i = 0; i < placement->n_slices; i++)
    remove_from_node(queue->preemptor->node_jobs, placement->slices[i].node.id, job);
}

uint64_t hr__node_set_of(const struct hr_placement *placement) {
  uint64_t nodes = 0;
  for (uint32_t i = 0; i < placement->n_slices; i++) nodes |= UINT64_C(1) << (placement->slices[i].node.id % SET_BITS);
  return nodes;
}

/* ---- Running jobs by node: answers ------------------------------------------------------------------ */

bool hr__node_jobs_answer(const struct hr__queue *queue, const struct hr_view *view, int64_t bound) {
  const struct hr__node_jobs *all = queue->preemptor->node_jobs;
  return all && (all->added_us != view->now_us || all->added_key <= bound);
}

/* A walk over the nodes of a pool that are in a set. */
struct node_walk {
  const struct hr_free_index *index;
  uint64_t nodes;             /* the bits that are not visited yet */
  uint32_t first, n, at, bit; /* at: the node, relative to `first` */
};

static struct node_walk begin_walk(const struct hr_cluster *cluster, hr_pool pool, uint64_t nodes) {
  struct node_walk walk = {.index = hr_cluster_free_index(cluster, pool), .nodes = nodes};
  walk.n = hr_free_index_nodes(walk.index);
  walk.first = hr_cluster_first_node(cluster, pool).id;
  walk.at = walk.n;
  return walk;
}

static bool next_node(struct node_walk *walk) {
  walk->at = walk->at < walk->n ? walk->at + SET_BITS : walk->at;
  while (walk->at >= walk->n && walk->nodes) {
    uint32_t bit = (uint32_t)__builtin_ctzll(walk->nodes);
    walk->nodes &= walk->nodes - 1;
    walk->at = (bit - walk->first) % SET_BITS;
  }
  return walk->at < walk->n;
}

/* Returns the array of the node at which the walk is. */
static const struct node_job *jobs_at(const struct hr__node_jobs *all, const struct node_walk *walk, uint32_t *count) {
  uint32_t node = walk->first + walk->at;
  *count = all->count[node];
  return all->jobs + (size_t)node * all->capacity;
}

/* Returns the largest number of free GPUs that a node of the set would have if all running jobs with keys above the
   bound were preempted; UINT32_MAX: unknown. */
static uint32_t node_jobs_room(const struct hr__queue *queue, int64_t bound, uint64_t nodes) {
  const struct hr__node_jobs *all = queue->preemptor->node_jobs;
  uint32_t most = 0, count;
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster); i++) {
    struct node_walk walk = begin_walk(queue->cluster, (hr_pool){i}, nodes);
    if (walk.n > SET_BITS && nodes == HR__ALL_NODES) return UINT32_MAX; /* a search is faster than these lists */
    while (next_node(&walk)) {
      const struct node_job *jobs = jobs_at(all, &walk, &count);
      uint32_t room = hr_free_index_get(walk.index, walk.at);
      for (uint32_t k = 0; k < count && jobs[k].key > bound; k++) room += jobs[k].gpus;
      if (room > most) most = room;
    }
  }
  return most;
}

/* Returns the smallest k such that at least `gpus` GPUs of the node are free if the first k jobs of its list are
   stopped; `*free`: the number of GPUs that are then free. UINT32_MAX: fewer GPUs are free even if all jobs with keys
   above the bound are stopped. */
static uint32_t jobs_to_stop(const struct hr__node_jobs *all, const struct node_walk *walk, int64_t bound,
                             uint32_t gpus, uint32_t *free) {
  uint32_t count, k = 0;
  const struct node_job *jobs = jobs_at(all, walk, &count);
  *free = hr_free_index_get(walk->index, walk->at);
  while (*free < gpus && k < count && jobs[k].key > bound) *free += jobs[k++].gpus;
  return *free >= gpus ? k : UINT32_MAX;
}

/* Writes the jobs, among the first `count`, that must be stopped. `spare`: number of GPUs that would be free beyond
   those needed if all `count` jobs were stopped. The last job is checked first: it need not be stopped if it has at
   most `spare` GPUs. */
static void write_needed(const struct node_job *jobs, uint32_t count, uint32_t spare,
                         struct hr__node_victims *victims) {
  uint32_t needed = 0;
  for (uint32_t k = count; k-- > 0;) {
    bool is_needed = jobs[k].gpus > spare;
    if (is_needed)
      needed |= UINT32_C(1) << k;
    else
      spare -= jobs[k].gpus;
  }
  victims->count = 0;
  for (uint32_t k = 0; k < count; k++)
    if (needed >> k & 1) victims->jobs[victims->count++] = jobs[k].job;
}

/*
 * A search among all running jobs would stop jobs in a fixed order until a node has enough free GPUs. For each node,
 * let the final job be the last job that must be stopped before the node has enough free GPUs. The search ends at the
 * node with the final job that is first in that order. Jobs of other nodes are not needed. If the final job uses
 * several nodes, more than one node may then have enough free GPUs, and only a search finds the victims.
 */
bool hr__node_jobs_select(const struct hr__queue *queue, uint32_t pool, uint32_t gpus, int64_t bound, uint64_t nodes,
                          struct hr__node_victims *victims) {
  const struct hr__node_jobs *all = queue->preemptor->node_jobs;
  struct node_walk walk = begin_walk(queue->cluster, (hr_pool){pool}, nodes);
  const struct node_job *best = NULL, *best_jobs = NULL;
  uint32_t best_free = 0, best_count = 0, free;
  victims->count = 0;
  if (walk.n > SET_BITS && nodes == HR__ALL_NODES) return false;
  if (hr_free_index_gpus_per_node(walk.index) < gpus) return true;
  while (next_node(&walk)) {
    uint32_t count = jobs_to_stop(all, &walk, bound, gpus, &free);
    if (count == UINT32_MAX) continue;
    if (count == 0) return false;
    uint32_t unused;
    const struct node_job *jobs = jobs_at(all, &walk, &unused), *last = &jobs[count - 1];
    if (best && !goes_first(last, best)) continue;
    best = last;
    best_jobs = jobs;
    best_count = count;
    best_free = free;
  }
  if (!best) return true;
  if (!best->alone) return false;
  write_needed(best_jobs, best_count, best_free - gpus, victims);
  return true;
}

/* ---- Ranked passes ---------------------------------------------------------------------------------- */

bool hr__ranked_applies(const struct hr__queue *queue) {
  const struct hr__preemption_terms *terms = &queue->preemptor->terms;
  bool is_ranked = terms->rule->by_order && queue->order->running_key && terms->grace_us == 0;
  bool tries_alone = queue->backfill->by_shape || queue->backfill == &hr__backfill_strict;
  return is_ranked && tries_alone && queue->rule != HR_PLACE_POOL && !queue->by_gpu && !queue->quota &&
         !queue->locality;
}

/* ---- Ranked passes: refusals ------------------------------------------------------------------------ */

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
  if (!shape->refusals.needed) shape->refusals.needed = hr__least_gpus(queue, shape);
  return shape->refusals.needed;
}

/* Adds preemptor->eased to the refusals of all shapes with waiting jobs that are not parked, and resets it. It is not
   added to the refusals of a shape if none of its nodes has enough room for the shape. The refusals of a shape that was
   not updated in the pass `last_pass` are reset. `last_pass`: number of the pass in which refusals were last
   updated. */
static void apply_eased(struct hr__queue *queue, uint32_t last_pass) {
  struct hr__preemptor *preemptor = queue->preemptor;
  struct hr__eased *eased = &preemptor->eased;
  bool any = eased->from < eased->to, is_known = any && preemptor->node_jobs && eased->nodes != HR__ALL_NODES;
  uint32_t room = is_known ? node_jobs_room(queue, eased->from, eased->nodes) : UINT32_MAX;
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

/* ---- Ranked passes: the walk ------------------------------------------------------------------------ */

/* The next job to try. */
struct ranked_candidate {
  struct hr__shape *shape; /* NULL: no further job */
  struct hr_job_entry entry;
  int64_t bound;
};

/* Moves `entry` to the first job of the next subqueue of the shape. Returns false if no such job exists. */
static bool next_head(const struct hr__queue *queue, const struct hr__shape *shape, struct hr_job_entry *entry) {
  if (!queue->waiting.full_key) return false;
  return hr_job_tree_next(&shape->subqueues, entry->key, entry->job, INT64_MAX, entry);
}

/* Moves the position of a shape to the first job of its next subqueue. */
static void step(const struct hr__queue *queue, struct hr__shape *shape) {
  shape->place.has_bound = false;
  shape->place.ended = !next_head(queue, shape, &shape->place.entry);
}

/* Considers the first jobs of the subqueues of the shape that come after `last`. The first of these jobs that need not
   be refused replaces `*next` if it precedes that candidate. Until a job starts, refusals are only added, so the search
   continues at the position at which it stopped (shape->place). */
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

/* Finds the next job to try. Unless the backfill `passes_over`, this can only be the first job in order. */
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

/* Returns whether the candidate needs more GPUs than it could have. If so, refuses it, and all other shapes of its kind
   that need more than `*gpus` GPUs. `*gpus`: the result of max_gpus for the previous candidate, if it had the same kind
   and bound; UINT64_MAX: unknown. */
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

/* Returns whether no node that the candidate must consider has enough room for it. If so, refuses it, and all other
   shapes of its kind for which no such node has enough room. */
static bool lacks_nodes(struct hr__queue *queue, const struct ranked_candidate *next) {
  uint64_t nodes = nodes_to_search(next->shape, next->bound);
  queue->preemptor->searched_nodes = nodes;
  uint32_t room = node_jobs_room(queue, next->bound, nodes);
  if (needed_by(queue, next->shape) <= room) return false;
  for (uint32_t i = 0; i < queue->waiting.n_active; i++) {
    struct hr__shape *shape = hr__active_shape(&queue->waiting, i);
    bool is_known = shape->kind == next->shape->kind && !(nodes_to_search(shape, next->bound) & ~nodes);
    if (is_known && needed_by(queue, shape) > room) refuse(&shape->refusals, next->bound);
  }
  return true;
}

/* Calls hr__preemption_try. `*final`: the result may be stored. It may not be stored if the job was refused, and
   running jobs were excluded because they have started at this instant; they may be preempted from the next microsecond
   on. */
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

/* The pass with the backfill `strict`: starts jobs in order until one is refused. A job that was refused in the last
   pass is tried again only if its bound has changed, or if there may be more room for its bound. */
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
