/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs that must wait because of planned maintenance, excluded nodes, or the place of their data. A job must not start
 * on a node in these cases:
 *
 * - If the job ran until its limit, it would still run when the next maintenance of the node begins
 *   (hr_maintenance_ahead). Replicas of services have no limit (HR__NO_LIMIT_US), so this rule does not apply to them.
 * - The job excludes the node: it failed within the last `exclude_s` while the job ran on it, and it is one of the last
 *   `exclude_nodes` nodes that did so.
 * - With the placement `data-local`: the node is not near the data of the job, nodes near the data are up, and the job
 *   was submitted less than `data_local_wait_s` ago.
 *
 * If the placement rule selects a node on which the job must not start, the job gets other nodes. If no other nodes
 * have room, the job is held: it leaves the queue, and later jobs may start, as with reservations of Slurm. A held job
 * returns to the queue when it, or a shorter job of its kind (see below), fits on other nodes. When the reason of some
 * held job (maintenance, exclusion or wait for data) has ended, all held jobs return, except those that still wait for
 * data. Preemption and the backfill `easy` change these rules (may_return, hr__holds_release).
 *
 * Jobs with limits longer than the time between two maintenance periods of a node ignore this maintenance
 * (hr_maintenance_ahead). Held jobs form kinds (struct held_kind). The jobs of a kind have equal requests, ignore the
 * same windows of maintenance, and either wait for nodes near the same data set or do not wait for data. When capacity
 * becomes free, only the job of a kind with the shortest limit is tried, because longer jobs have fewer nodes to choose
 * from. Each job with excluded nodes has its own kind. Invariants: a held job waits and is not in the queue; place[job]
 * is the index of a held job in `jobs` plus 1, and 0 for other jobs.
 */

#include "policies/queue/dispatch.h"

#include "headroom/unstable/faults.h"
#include "policies/queue/backfill/backfill.h"

#include <string.h>

struct held_kind {
  uint32_t gpus, kind;
  /* the only job of the kind, which has excluded nodes; HR_NONE: the kind is for jobs without excluded nodes */
  hr_job owner;
  uint32_t set; /* its jobs start only on nodes near this data set; HR_NONE: data does not matter */
  /* number of maintenance windows that its jobs ignore; a longer job ignores these windows and maybe more */
  uint32_t n_ignored;
  int64_t least_us; /* the shortest limit of its held jobs; HR_NEVER_US: it has none */
  /* when holds->gain was `gain`, a job with this limit did not fit on permitted nodes, so no longer job fits either */
  int64_t failed_us;
  uint64_t gain;
  bool returns; /* during hr__holds_release: all held jobs of the kind return to the queue */
};

struct held_job {
  hr_job job;
  uint32_t kind; /* index in `kinds` */
  hr_pool pool;
  struct hr_maintenance_time ahead; /* `begin_us` HR_NEVER_US: no maintenance; `end_us`: until when it is held */
  bool for_data;
};

/* A node that failed while a job ran on it. */
struct excluded_node {
  hr_node node;
  int64_t until_us;
  uint32_t older; /* index of the next older excluded node of the same job, plus 1; 0: none */
};

struct hr__holds {
  struct excluded_node *excluded;
  uint32_t n_excluded, excluded_capacity;
  /* by job: index of its last excluded node, plus 1; 0: none. NULL: nodes are never excluded */
  uint32_t *last_excluded;
  uint32_t exclude_nodes;
  int64_t exclude_us;
  bool near_data;
  int64_t data_wait_us;
  uint64_t data_changes;      /* last value of hr_view_data_changes */
  const struct hr_view *view; /* of the run; NULL before the first job was tried */
  struct hr__place kept;      /* copy of a placement, because a search for another placement may overwrite it */
  struct held_job *jobs;
  uint32_t n_jobs, jobs_capacity;
  struct held_kind *kinds;
  uint32_t n_kinds, kinds_capacity;
  uint32_t *place;         /* by job */
  struct hr_capacity *own; /* the free capacity without the nodes that a job must not use; counted allocation only */
  uint64_t gain;           /* counts the events that may free capacity, and the changes of the places of data */
  uint64_t tried;          /* the gain at which the kinds were last tried */
  int64_t until_us;        /* see hr__holds_until_us */
};

/* ---- Events that free capacity ---- */

/* Reports how long a node was excluded for a job (hr_view_count_exclusion). The exclusion ends now, or has expired
   before. `at`: index of the excluded node, plus 1. */
static void end_exclusion(const struct hr__holds *holds, const struct hr_view *view, uint32_t at) {
  const struct excluded_node *excluded = &holds->excluded[at - 1];
  int64_t end_us = excluded->until_us < view->now_us ? excluded->until_us : view->now_us;
  hr_view_count_exclusion(view, excluded->node, false, end_us - (excluded->until_us - holds->exclude_us));
}

static enum hr_status job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  struct hr__holds *holds = queue->holds;
  holds->gain++;
  if (event->kind != HR_EVENT_END || !holds->last_excluded) return HR_OK;
  uint32_t at = holds->last_excluded[event->job.id];
  for (uint32_t i = 0; at && i < holds->exclude_nodes; i++, at = holds->excluded[at - 1].older)
    end_exclusion(holds, view, at);
  return HR_OK;
}

static enum hr_status node_changes(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  return event->kind == HR_EVENT_NODE_UP ? job_stops(queue, view, event) : HR_OK;
}

static const struct hr__listener listener = {.job_stops = job_stops, .node_changes = node_changes};

bool hr__holds_create(struct hr__queue *queue, const struct hr__hold_terms *terms) {
  bool any = terms->exclude_nodes > 0 || terms->near_data;
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster); i++)
    any = any || hr_cluster_pool_spec(queue->cluster, (hr_pool){i})->n_maintenance > 0;
  if (!any) return true;
  struct hr__holds *holds = hr_arena_alloc(queue->arena, sizeof *holds);
  if (!holds) return false;
  *holds = (struct hr__holds){.gain = 1,
                              .until_us = HR_NEVER_US,
                              .exclude_nodes = terms->exclude_nodes,
                              .exclude_us = terms->exclude_us,
                              .near_data = terms->near_data,
                              .data_wait_us = terms->data_wait_us};
  uint32_t n_jobs = queue->trace->n_jobs;
  if (!queue->by_gpu) holds->own = hr_capacity_create(queue->capacities);
  if ((!queue->by_gpu && !holds->own) || !HR__ARENA_ARRAY_BY_JOB(queue->arena, holds->place, n_jobs) ||
      (terms->exclude_nodes && !HR__ARENA_ARRAY_BY_JOB(queue->arena, holds->last_excluded, n_jobs)))
    return false;
  queue->holds = holds;
  hr__queue_add_listener(queue, &listener);
  return true;
}

/* ---- Excluded nodes ---- */

enum hr_status hr__holds_job_failed(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  struct hr__holds *holds = queue->holds;
  if (!holds->last_excluded) return HR_OK;
  for (uint32_t i = 0; i < event->placement->n_slices; i++) {
    hr_node node = event->placement->slices[i].node;
    if (!hr_view_node_failed(view, node)) continue;
    if (!HR__ARENA_HAS_ROOM(queue->arena, holds->excluded, holds->n_excluded, holds->excluded_capacity))
      return HR_NO_MEMORY;
    holds->excluded[holds->n_excluded++] =
        (struct excluded_node){node, view->now_us + holds->exclude_us, holds->last_excluded[event->job.id]};
    holds->last_excluded[event->job.id] = holds->n_excluded;
    hr_view_count_exclusion(view, node, true, 0);
    uint32_t oldest = holds->n_excluded;
    for (uint32_t k = 0; oldest && k < holds->exclude_nodes; k++) oldest = holds->excluded[oldest - 1].older;
    if (oldest) end_exclusion(holds, view, oldest);
  }
  return HR_OK;
}

/* Returns until when a node is excluded for a job; 0: it is not excluded now. `owner` may be HR_NONE. */
static int64_t excluded_until_us(const struct hr__queue *queue, hr_job owner, hr_node node, int64_t now_us) {
  const struct hr__holds *holds = queue->holds;
  if (owner.id == HR_NONE || !holds->last_excluded) return 0;
  uint32_t at = holds->last_excluded[owner.id];
  for (uint32_t i = 0; at && i < holds->exclude_nodes; i++, at = holds->excluded[at - 1].older)
    if (holds->excluded[at - 1].node.id == node.id && holds->excluded[at - 1].until_us > now_us)
      return holds->excluded[at - 1].until_us;
  return 0;
}

/* Returns the first time at which the exclusion of a node of the placement ends; HR_NEVER_US: no node is excluded. */
static int64_t excluded_at_us(const struct hr__queue *queue, hr_job job, const struct hr_placement *placement,
                              int64_t now_us) {
  int64_t first_us = HR_NEVER_US;
  if (!queue->holds->last_excluded || !queue->holds->last_excluded[job.id]) return first_us;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    int64_t until_us = excluded_until_us(queue, job, placement->slices[i].node, now_us);
    if (until_us > 0 && until_us < first_us) first_us = until_us;
  }
  return first_us;
}

/* Returns the job itself if it has nodes that are excluded now, otherwise HR_NONE. The exclusion that began last is
   also the last to expire. */
static hr_job owner_of(const struct hr__queue *queue, hr_job job, int64_t now_us) {
  const struct hr__holds *holds = queue->holds;
  uint32_t at = holds->last_excluded ? holds->last_excluded[job.id] : 0;
  return at && holds->excluded[at - 1].until_us > now_us ? job : (hr_job){HR_NONE};
}

/* ---- Nodes near data ---- */

static bool is_near(const struct hr__queue *queue, uint32_t set, uint32_t gpus, hr_pool pool, uint32_t node) {
  const hr_node id = {hr_cluster_first_node(queue->cluster, pool).id + node};
  return hr_view_has_data(queue->holds->view, set, gpus, pool, id);
}

/* Returns whether all nodes of a placement are near the data set; true if `set` is HR_NONE. */
static bool is_placed_near(const struct hr__queue *queue, uint32_t set, uint32_t gpus,
                           const struct hr_placement *placement) {
  bool near = true;
  for (uint32_t i = 0; i < placement->n_slices && near && set != HR_NONE; i++)
    near = hr_view_has_data(queue->holds->view, set, gpus, placement->pool, placement->slices[i].node);
  return near;
}

/* Returns whether any node near a data set is up; it may be in use. */
static bool has_near_nodes(const struct hr__queue *queue, uint32_t set, uint32_t gpus) {
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster); i++) {
    const uint32_t nodes = hr_cluster_pool_spec(queue->cluster, (hr_pool){i})->nodes;
    const uint32_t first = hr_cluster_first_node(queue->cluster, (hr_pool){i}).id;
    for (uint32_t n = 0; n < nodes; n++)
      if (hr_cluster_node_state(queue->cluster, (hr_node){first + n}) == HR_NODE_UP &&
          is_near(queue, set, gpus, (hr_pool){i}, n))
        return true;
  }
  return false;
}

/* Stores the view. If data has changed its place since the last call, counts this as a gain of capacity. Jobs that wait
   for nodes near their data are then tried again. */
static void note_data(struct hr__holds *holds, const struct hr_view *view) {
  holds->view = view;
  if (!holds->near_data) return;
  const uint64_t changes = hr_view_data_changes(view);
  holds->gain += changes != holds->data_changes;
  holds->data_changes = changes;
}

/* ---- Nodes without maintenance ---- */

static struct hr_maintenance_time ahead_on(const struct hr__queue *queue, hr_pool pool, uint32_t node, int64_t now_us,
                                           int64_t limit_us) {
  if (limit_us == HR__NO_LIMIT_US) return (struct hr_maintenance_time){HR_NEVER_US, HR_NEVER_US, 0};
  return hr_maintenance_ahead(hr_cluster_pool_spec(queue->cluster, pool), node, now_us, limit_us);
}

/* Returns the first maintenance that a job with this limit would reach at a placement; `begin_us` HR_NEVER_US: none. */
static struct hr_maintenance_time ahead_at(const struct hr__queue *queue, const struct hr_placement *placement,
                                           int64_t now_us, int64_t limit_us) {
  struct hr_maintenance_time first = {HR_NEVER_US, HR_NEVER_US, 0};
  uint32_t first_node = hr_cluster_first_node(queue->cluster, placement->pool).id;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    struct hr_maintenance_time ahead =
        ahead_on(queue, placement->pool, placement->slices[i].node.id - first_node, now_us, limit_us);
    if (ahead.begin_us < first.begin_us) first = ahead;
  }
  return first;
}

/* Returns whether jobs of a kind with this limit must not start on a node now. */
static bool is_closed(const struct hr__queue *queue, const struct held_kind *kind, hr_pool pool, uint32_t node,
                      int64_t now_us, int64_t limit_us) {
  const hr_node id = {hr_cluster_first_node(queue->cluster, pool).id + node};
  return excluded_until_us(queue, kind->owner, id, now_us) > 0 ||
         ahead_on(queue, pool, node, now_us, limit_us).begin_us != HR_NEVER_US ||
         (kind->set != HR_NONE && !is_near(queue, kind->set, kind->gpus, pool, node));
}

/* With per-GPU allocation: sets whether the free capacity of the nodes that are closed for a kind is usable. */
static void set_usable(struct hr__queue *queue, const struct held_kind *kind, int64_t now_us, int64_t limit_us,
                       bool usable) {
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster); i++) {
    uint32_t nodes = hr_cluster_pool_spec(queue->cluster, (hr_pool){i})->nodes;
    uint32_t first = hr_cluster_first_node(queue->cluster, (hr_pool){i}).id;
    for (uint32_t n = 0; n < nodes; n++)
      if (hr_cluster_node_state(queue->cluster, (hr_node){first + n}) == HR_NODE_UP &&
          is_closed(queue, kind, (hr_pool){i}, n, now_us, limit_us))
        hr_capacity_set_usable(queue->capacity, (hr_pool){i}, (hr_node){first + n}, usable, false);
  }
}

/* With counted allocation: writes the free capacity of the nodes that are not closed for a kind to holds->own. */
static void copy_free(const struct hr__queue *queue, const struct held_kind *kind, int64_t now_us, int64_t limit_us) {
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster); i++) {
    const struct hr_free_index *index = hr_cluster_free_index(queue->cluster, (hr_pool){i});
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(queue->cluster, (hr_pool){i});
    uint32_t first = hr_cluster_first_node(queue->cluster, (hr_pool){i}).id;
    for (uint32_t n = 0; n < spec->nodes; n++) {
      bool closed = is_closed(queue, kind, (hr_pool){i}, n, now_us, limit_us);
      uint64_t used = spec->gpus_per_node - (closed ? 0 : hr_free_index_get(index, n));
      const struct hr_window_use use = {.columns = &used};
      hr_capacity_set_window(queue->holds->own, (hr_pool){i}, (hr_node){first + n}, &use);
    }
  }
}

/* Finds a placement on nodes that are not closed for a kind. */
static bool find_clear(struct hr__queue *queue, const struct held_kind *kind, int64_t now_us, int64_t limit_us,
                       struct hr_placement *placement) {
  struct hr_need need = hr__need(queue, kind->gpus, kind->kind);
  if (!queue->by_gpu) {
    copy_free(queue, kind, now_us, limit_us);
    return hr_capacity_find(queue->holds->own, &need, placement);
  }
  set_usable(queue, kind, now_us, limit_us, false);
  bool found = hr_capacity_find(queue->capacity, &need, placement);
  set_usable(queue, kind, now_us, limit_us, true);
  return found;
}

/* ---- Jobs that are held ---- */

int64_t hr__holds_left_us(const struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  if (hr__is_replica(queue->trace, job)) return HR__NO_LIMIT_US;
  int64_t limit_us = hr_trace_limit_us(queue->trace, job) - (view->kept_us ? view->kept_us[job.id] : 0);
  return limit_us > 0 ? limit_us : 0;
}

/* Returns the number of maintenance windows that jobs with this limit ignore. */
static uint32_t count_ignored(const struct hr__queue *queue, int64_t limit_us) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster); i++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(queue->cluster, (hr_pool){i});
    for (uint32_t w = 0; w < spec->n_maintenance; w++) {
      const struct hr_maintenance *window = &spec->maintenance[w];
      const bool is_longer = window->repeat_us && limit_us > window->repeat_us - window->duration_us;
      count += is_longer || limit_us == HR__NO_LIMIT_US;
    }
  }
  return count;
}

/* Returns the index of the kind of a job; HR_NONE: out of memory. A kind that was made for a job with excluded nodes,
   and has no held job any more, is reused for another job with excluded nodes. */
static uint32_t kind_of(struct hr__queue *queue, hr_job job, hr_job owner, uint32_t set, int64_t limit_us) {
  struct hr__holds *holds = queue->holds;
  uint32_t gpus = hr__gpus(queue, job), kind = hr__kind(queue, job), n_ignored = count_ignored(queue, limit_us);
  for (uint32_t i = 0; i < holds->n_kinds; i++) {
    struct held_kind *old = &holds->kinds[i];
    if (old->gpus == gpus && old->kind == kind && old->owner.id == owner.id && old->set == set &&
        old->n_ignored == n_ignored)
      return i;
    if (owner.id == HR_NONE || old->owner.id == HR_NONE || old->least_us != HR_NEVER_US) continue;
    *old = (struct held_kind){gpus, kind, owner, set, n_ignored, HR_NEVER_US, HR_NEVER_US, 0};
    return i;
  }
  if (!HR__ARENA_HAS_ROOM(queue->arena, holds->kinds, holds->n_kinds, holds->kinds_capacity)) return HR_NONE;
  holds->kinds[holds->n_kinds] = (struct held_kind){gpus, kind, owner, set, n_ignored, HR_NEVER_US, HR_NEVER_US, 0};
  return holds->n_kinds++;
}

/* Finds permitted nodes for a job. Returns false without a search if, since the last gain of capacity, a job of its
   kind with the same or a shorter limit has found none. */
static bool find_other(struct hr__queue *queue, uint32_t number, int64_t now_us, int64_t limit_us,
                       struct hr_placement *placement) {
  struct held_kind *kind = &queue->holds->kinds[number];
  if (kind->gain == queue->holds->gain && limit_us >= kind->failed_us) return false;
  if (find_clear(queue, kind, now_us, limit_us, placement)) return true;
  if (kind->gain != queue->holds->gain || limit_us < kind->failed_us) kind->failed_us = limit_us;
  kind->gain = queue->holds->gain;
  return false;
}

/* Returns the time until which a job waits for nodes near its data; 0: it may start on other nodes. */
static int64_t near_until_us(const struct hr__queue *queue, hr_job job, uint32_t set, int64_t now_us) {
  const int64_t until_us = queue->trace->submit_us[job.id] + queue->holds->data_wait_us;
  return now_us < until_us && has_near_nodes(queue, set, hr__gpus(queue, job)) ? until_us : 0;
}

/* Finds other nodes, on which the job may start now. */
static bool find_start(struct hr__queue *queue, uint32_t number, int64_t now_us, int64_t limit_us,
                       struct hr_placement *placement) {
  /* With a conservative plan, no other nodes are searched: the plan has reserved the nodes of the placement for this
     job, and other nodes for other jobs. */
  return !queue->frozen && find_other(queue, number, now_us, limit_us, placement) &&
         (!queue->easy_plan || hr__easy_plan_permits(queue, now_us + limit_us, placement));
}

/* Adds a job to those that are held. */
static enum hr__hold hold(struct hr__queue *queue, const struct held_job *held, int64_t limit_us) {
  struct hr__holds *holds = queue->holds;
  if (!HR__ARENA_HAS_ROOM(queue->arena, holds->jobs, holds->n_jobs, holds->jobs_capacity)) return HR__HOLD_NO_MEMORY;
  holds->jobs[holds->n_jobs++] = *held;
  holds->place[held->job.id] = holds->n_jobs;
  if (limit_us < holds->kinds[held->kind].least_us) holds->kinds[held->kind].least_us = limit_us;
  if (held->ahead.end_us < holds->until_us) holds->until_us = held->ahead.end_us;
  return HR__HOLD_HELD;
}

/* Part of hr__holds_try for a placement that is not near the data of the job. `*is_free`: the job may start at this
   placement, as far as data is concerned. */
static enum hr__hold try_near(struct hr__queue *queue, hr_job job, uint32_t set, int64_t now_us, int64_t limit_us,
                              struct hr_placement *placement, bool *is_free) {
  uint32_t number = kind_of(queue, job, owner_of(queue, job, now_us), set, limit_us);
  if (number == HR_NONE) return HR__HOLD_NO_MEMORY;
  const hr_pool pool = placement->pool;
  if (!hr__place_set(&queue->holds->kept, queue->arena, placement)) return HR__HOLD_NO_MEMORY;
  if (find_start(queue, number, now_us, limit_us, placement)) return HR__HOLD_NONE;
  *placement = queue->holds->kept.placement;
  const int64_t until_us = near_until_us(queue, job, set, now_us);
  *is_free = until_us == 0;
  if (*is_free) return HR__HOLD_NONE;
  const struct held_job held = {job, number, pool, {HR_NEVER_US, until_us, 0}, true};
  return hold(queue, &held, limit_us);
}

enum hr__hold hr__holds_try(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                            struct hr_placement *placement) {
  int64_t limit_us = hr__holds_left_us(queue, view, job);
  note_data(queue->holds, view);
  uint32_t set = queue->holds->near_data ? hr_view_data_set(view, job) : HR_NONE;
  if (!is_placed_near(queue, set, hr__gpus(queue, job), placement)) {
    bool is_free = false;
    const enum hr__hold near = try_near(queue, job, set, view->now_us, limit_us, placement, &is_free);
    if (!is_free) return near;
    set = HR_NONE;
  }
  struct hr_maintenance_time ahead = ahead_at(queue, placement, view->now_us, limit_us);
  int64_t excluded_us = excluded_at_us(queue, job, placement, view->now_us);
  if (ahead.begin_us == HR_NEVER_US && excluded_us == HR_NEVER_US) return HR__HOLD_NONE;
  if (excluded_us < ahead.end_us) ahead.end_us = excluded_us;
  const int64_t near_us = set != HR_NONE ? near_until_us(queue, job, set, view->now_us) : 0;
  if (near_us == 0) set = HR_NONE;
  if (near_us > 0 && near_us < ahead.end_us) ahead.end_us = near_us;
  uint32_t number = kind_of(queue, job, owner_of(queue, job, view->now_us), set, limit_us);
  if (number == HR_NONE) return HR__HOLD_NO_MEMORY;
  hr_pool pool = placement->pool;
  if (find_start(queue, number, view->now_us, limit_us, placement)) return HR__HOLD_NONE;
  const struct held_job held = {job, number, pool, ahead, false};
  return hold(queue, &held, limit_us);
}

bool hr__holds_wait(const struct hr__queue *queue, hr_job job, struct hr_wait_reason *wait) {
  const struct hr__holds *holds = queue->holds;
  if (!holds->place[job.id]) return false;
  const struct held_job *held = &holds->jobs[holds->place[job.id] - 1];
  bool by_window = held->ahead.begin_us != HR_NEVER_US;
  wait->reason = by_window        ? HR_WAIT_REASON_MAINTENANCE
                 : held->for_data ? HR_WAIT_REASON_DATA
                                  : HR_WAIT_REASON_EXCLUDED;
  wait->quota = by_window ? held->pool.id * HR_MAINTENANCE_WINDOWS + held->ahead.window : HR_NONE;
  wait->until_us = held->ahead.end_us;
  return true;
}

/* ---- Jobs that return ---- */

static enum hr_status release(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct hr__holds *holds = queue->holds;
  uint32_t at = holds->place[job.id] - 1;
  holds->jobs[at] = holds->jobs[--holds->n_jobs];
  holds->place[holds->jobs[at].job.id] = at + 1;
  holds->place[job.id] = 0;
  return hr__queue_add_again(queue, view, job);
}

enum hr_status hr__holds_drop(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  return queue->holds->place[job.id] ? release(queue, view, job) : HR_OK;
}

/* Returns whether some held job of a kind fits now, or no node near its data is up any more. With preemption, held jobs
   do not return when they fit: in the queue, running jobs would be preempted for such a job, but it could still not
   start on their nodes. */
static bool may_return(struct hr__queue *queue, uint32_t number, int64_t now_us) {
  struct held_kind *kind = &queue->holds->kinds[number];
  struct hr_placement unused;
  if (kind->least_us == HR_NEVER_US) return false;
  if (kind->set != HR_NONE && !has_near_nodes(queue, kind->set, kind->gpus)) return true;
  return !queue->preemptor && find_other(queue, number, now_us, kind->least_us, &unused);
}

enum hr_status hr__holds_release(struct hr__queue *queue, const struct hr_view *view) {
  struct hr__holds *holds = queue->holds;
  note_data(holds, view);
  /* With the backfill `easy` and maintenance, held jobs return in each pass unless they wait for data, so that the
     first job in order gets the reservation even if maintenance holds it. With preemption they do not return, because
     no jobs are preempted for a held job. */
  bool all = holds->until_us <= view->now_us || (queue->easy_plan && !queue->preemptor);
  if (holds->n_jobs == 0) holds->until_us = HR_NEVER_US; /* the last held job was withdrawn */
  if (holds->n_jobs == 0 || (!all && holds->tried == holds->gain)) return HR_OK;
  holds->tried = holds->gain;
  enum hr_status status = HR_OK;
  for (uint32_t k = 0; k < holds->n_kinds; k++) {
    struct held_kind *kind = &holds->kinds[k];
    kind->returns = (all && kind->set == HR_NONE) || may_return(queue, k, view->now_us);
    if (kind->returns) kind->least_us = HR_NEVER_US;
  }
  holds->until_us = HR_NEVER_US;
  for (uint32_t i = holds->n_jobs; i-- > 0 && status == HR_OK;) {
    const struct held_job held = holds->jobs[i];
    const bool is_over = all && (!held.for_data || held.ahead.end_us <= view->now_us);
    if (holds->kinds[held.kind].returns || is_over)
      status = release(queue, view, held.job);
    else if (held.ahead.end_us < holds->until_us)
      holds->until_us = held.ahead.end_us;
  }
  return status == HR_OK ? hr__queue_refresh(queue, view) : status;
}

int64_t hr__holds_until_us(const struct hr__queue *queue) {
  return queue->holds->until_us;
}
