/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Waiting jobs by shape and subqueue: see waiting.h. Shapes are found by request in a hash map. The shapes with waiting
 * jobs that are not parked are in an unordered list. Each shape stores its first job, so that a pass needs to read only
 * one job per shape.
 * The subqueues of a shape are in a tree, sorted by the keys of their first jobs, with the minimum value of each
 * subqueue. A bounded search descends in this tree to a subqueue, and then in the tree of that subqueue to a job.
 *
 * Under some orders the keys of all jobs change, continuously or all at the same time, so a sorted list of subqueues
 * would have to be sorted again in each pass. Under these orders the subqueues are in a kinetic tournament instead. A
 * tournament provides the first job, and the first job with a value within a bound, but not the order of the other
 * jobs.
 */

#include "policies/queue/waiting.h"

#include "base/containers.h"

/* A key that precedes the keys of all entries. */
#define HR__BEFORE_ALL INT64_MIN

/* Returns whether the order, quotas or preemption need subqueues. */
static inline bool has_subqueues(const struct hr__waiting *waiting) {
  return waiting->full_key != NULL;
}

/* Changes the line of a contestant. The caller must call hr__kinetic_rebuild after the last change. */
static inline void kinetic_set_line(struct hr__kinetic *kinetic, uint32_t number, struct hr__line line) {
  kinetic->places[kinetic->place_of[number]].line = line;
}

static bool init_admission(struct hr__waiting *waiting, const struct hr__admission *admission) {
  if (!admission) return true;
  uint32_t n_bars = hr__admission_limit_number(admission->n_places, HR__LIMIT_MAXIMUM) + 1;
  waiting->admission = *admission;
  if (!HR__ARENA_ARRAY(waiting->arena, waiting->owned, admission->n_owners) ||
      !HR__ARENA_ARRAY(waiting->arena, waiting->blocked, n_bars))
    return false;
  for (uint32_t i = 0; i < n_bars; i++) waiting->blocked[i] = (struct hr_job_tree){.store = waiting->store};
  return true;
}

enum hr_status hr__waiting_init(struct hr__waiting *waiting, struct hr_arena *arena, uint32_t n_jobs,
                                hr__full_key *full_key, const struct hr__admission *admission, void *self) {
  *waiting = (struct hr__waiting){.arena = arena, .full_key = full_key, .self = self};
  waiting->store = hr_tree_store_create(arena);
  if (!waiting->store || !init_admission(waiting, admission)) return HR_NO_MEMORY;
  if (!has_subqueues(waiting)) return HR_OK;
  return HR__ARENA_ARRAY_BY_JOB(arena, waiting->subqueue_of, n_jobs) &&
                 HR__ARENA_ARRAY_BY_JOB(arena, waiting->key_of, n_jobs)
             ? HR_OK
             : HR_NO_MEMORY;
}

static bool key_is_before(void *self, uint32_t a, uint32_t b) {
  const struct hr__waiting *waiting = self;
  struct hr_job_entry first = {.job = {a}}, second = {.job = {b}};
  first.key = waiting->full_key(waiting->self, hr__subqueue_of_job(waiting, (hr_job){a}), first);
  second.key = waiting->full_key(waiting->self, hr__subqueue_of_job(waiting, (hr_job){b}), second);
  return hr__entry_before(first, second);
}

/* ---- Shapes and subqueues ------------------------------------------------------------------------- */

static struct hr__subqueue *make_subqueue(struct hr__waiting *waiting, struct hr__shape *shape, uint64_t name) {
  struct hr__subqueue *subqueue = hr_arena_alloc(waiting->arena, sizeof *subqueue);
  if (subqueue) *subqueue = (struct hr__subqueue){.name = name, .shape = shape, .jobs.store = waiting->store};
  return subqueue;
}

static struct hr__shape *make_shape(struct hr__waiting *waiting, uint32_t gpus, uint32_t kind) {
  struct hr_arena *arena = waiting->arena;
  struct hr__shape *shape = hr_arena_alloc(arena, sizeof *shape);
  if (!HR__ARENA_HAS_ROOM(arena, waiting->shapes, waiting->n_shapes, waiting->shapes_capacity) ||
      !HR__ARENA_HAS_ROOM(arena, waiting->active, waiting->n_shapes, waiting->active_capacity) ||
      !HR__ARENA_HAS_ROOM(arena, waiting->other, waiting->n_shapes, waiting->other_capacity) || !shape)
    return NULL;
  *shape = (struct hr__shape){.gpus = gpus,
                              .kind = kind,
                              .number = waiting->n_shapes,
                              .subqueues.store = waiting->store,
                              .preferred.store = waiting->store,
                              .active_at = {HR_NONE, HR_NONE},
                              .tournament = {.arena = arena, .is_before = key_is_before, .self = waiting}};
  if (!has_subqueues(waiting) && !(shape->only = make_subqueue(waiting, shape, 0))) return NULL;
  if (!hr__pair_map_add(&waiting->shape_numbers, arena, (struct hr__pair){gpus, kind}, waiting->n_shapes)) return NULL;
  return waiting->shapes[waiting->n_shapes++] = shape;
}

static struct hr__shape *shape_for(struct hr__waiting *waiting, uint32_t gpus, uint32_t kind) {
  uint32_t number = hr__pair_map_find(&waiting->shape_numbers, (struct hr__pair){gpus, kind});
  return number == HR_NONE ? make_shape(waiting, gpus, kind) : waiting->shapes[number];
}

/* Links a new subqueue into the list of subqueues with the same name. */
static bool link_same_key(struct hr__waiting *waiting, uint32_t number) {
  struct hr__subqueue *subqueue = waiting->subqueues[number];
  struct hr__pair name = {subqueue->name, 0};
  uint32_t first = hr__pair_map_find(&waiting->first_of_name, name);
  if (first == HR_NONE) return hr__pair_map_add(&waiting->first_of_name, waiting->arena, name, number);
  subqueue->next_same_key = waiting->subqueues[first]->next_same_key;
  waiting->subqueues[first]->next_same_key = subqueue;
  return true;
}

/* Returns the index in waiting->subqueues of the subqueue for the job in the shape, created if needed; HR_NONE: out of
   memory. */
static uint32_t subqueue_for(struct hr__waiting *waiting, struct hr__shape *shape,
                             const struct hr__queued_job *queued) {
  struct hr_arena *arena = waiting->arena;
  uint32_t part_number = hr__pair_map_intern(&waiting->part_numbers, arena, (struct hr__pair){queued->part, 0});
  struct hr__pair pair = {queued->subqueue, (uint64_t)shape->number << 32 | part_number};
  if (part_number == HR_NONE) return HR_NONE;
  uint32_t number = hr__pair_map_find(&waiting->subqueue_numbers, pair);
  if (number != HR_NONE) return number;
  struct hr__subqueue *subqueue = make_subqueue(waiting, shape, queued->subqueue);
  if (!HR__ARENA_HAS_ROOM(arena, waiting->subqueues, waiting->n_subqueues, waiting->subqueues_capacity) ||
      !HR__ARENA_HAS_ROOM(arena, waiting->active_subqueues, waiting->n_subqueues, waiting->active_subqueues_capacity) ||
      !subqueue || !hr__pair_map_add(&waiting->subqueue_numbers, arena, pair, waiting->n_subqueues))
    return HR_NONE;
  subqueue->owner = queued->owner;
  waiting->subqueues[waiting->n_subqueues] = subqueue;
  return link_same_key(waiting, waiting->n_subqueues) ? waiting->n_subqueues++ : HR_NONE;
}

/* ---- Order of the subqueues ----------------------------------------------------------------------- */

/* Adds a subqueue that was empty to the lists of subqueues with jobs. */
static void activate_subqueue(struct hr__waiting *waiting, struct hr__subqueue *subqueue) {
  subqueue->active_at = waiting->n_active_subqueues;
  waiting->active_subqueues[waiting->n_active_subqueues++] = subqueue;
  if (!waiting->owned) return;
  struct hr__subqueue **first = &waiting->owned[subqueue->owner];
  subqueue->prev_owned = NULL;
  subqueue->next_owned = *first;
  if (*first) (*first)->prev_owned = subqueue;
  *first = subqueue;
}

/* Removes a subqueue that has become empty from the lists of subqueues with jobs. */
static void deactivate_subqueue(struct hr__waiting *waiting, struct hr__subqueue *subqueue) {
  struct hr__subqueue *last = waiting->active_subqueues[--waiting->n_active_subqueues];
  waiting->active_subqueues[subqueue->active_at] = last;
  last->active_at = subqueue->active_at;
  if (!waiting->owned) return;
  if (subqueue->next_owned) subqueue->next_owned->prev_owned = subqueue->prev_owned;
  if (subqueue->prev_owned)
    subqueue->prev_owned->next_owned = subqueue->next_owned;
  else
    waiting->owned[subqueue->owner] = subqueue->next_owned;
}

/* Returns the entry with which the subqueue should be listed now. */
static struct hr_job_entry listing(const struct hr__waiting *waiting, const struct hr__subqueue *subqueue) {
  int64_t min_value = hr_job_tree_min(&subqueue->jobs);
  return (struct hr_job_entry){waiting->full_key(waiting->self, subqueue, subqueue->head), subqueue->head.job,
                               min_value};
}

/* Returns whether the key of the subqueue's first job has grown since the subqueue was listed. */
static bool has_grown(const struct hr__waiting *waiting, const struct hr__subqueue *subqueue) {
  return waiting->keys_grow && waiting->full_key(waiting->self, subqueue, subqueue->head) != subqueue->listed.key;
}

static struct hr__contestant contestant_of(const struct hr__waiting *waiting, const struct hr__subqueue *subqueue) {
  return (struct hr__contestant){.line = waiting->line_of(waiting->self, subqueue, subqueue->head),
                                 .value = hr_job_tree_min(&subqueue->jobs),
                                 .own = subqueue->head.value,
                                 .name = subqueue->head.job.id};
}

/* Updates a subqueue in the tournament after its first job has changed. An empty subqueue is removed. `was`: the
   subqueue was not empty before the change. */
static enum hr_status update_contestant(struct hr__waiting *waiting, struct hr__subqueue *subqueue, bool was) {
  struct hr__shape *shape = subqueue->shape;
  shape->tournament.now_us = waiting->now_us;
  if (!was) {
    activate_subqueue(waiting, subqueue);
    subqueue->place = hr__kinetic_add(&shape->tournament);
    if (subqueue->place == HR_NONE) return HR_NO_MEMORY;
  }
  if (subqueue->jobs.count) {
    hr__kinetic_set(&shape->tournament, subqueue->place, contestant_of(waiting, subqueue));
  } else {
    deactivate_subqueue(waiting, subqueue);
    hr__kinetic_remove(&shape->tournament, subqueue->place);
  }
  hr__shape_settle(waiting, shape);
  return HR_OK;
}

/* Sets the entry of a subqueue that is in no list, determines whether it is preferred, and lists it. */
static enum hr_status set_listing(struct hr__waiting *waiting, struct hr__subqueue *subqueue, struct hr_job_entry now) {
  subqueue->listed = now;
  subqueue->is_preferred = waiting->admission.is_preferred && waiting->admission.is_preferred(waiting->self, subqueue);
  return hr__subqueue_list(waiting, subqueue);
}

/* Updates the lists after a change of a subqueue that was not empty before the change. */
static enum hr_status relist_in_use(struct hr__waiting *waiting, struct hr__subqueue *subqueue,
                                    struct hr_job_entry now) {
  enum hr_status status;
  if (subqueue->parked_at && subqueue->jobs.count && now.job.id == subqueue->listed.job.id)
    return hr__subqueue_relist_parked(waiting, subqueue, now);
  status = subqueue->parked_at ? hr__subqueue_leave(waiting, subqueue) : hr__subqueue_unlist(subqueue);
  if (status != HR_OK) return status;
  if (subqueue->jobs.count) return set_listing(waiting, subqueue, now);
  deactivate_subqueue(waiting, subqueue);
  hr__shape_settle(waiting, subqueue->shape);
  return HR_OK;
}

/* Updates the lists after the jobs or keys of a subqueue have changed. `was`: the subqueue was not empty before the
   change. */
static enum hr_status relist(struct hr__waiting *waiting, struct hr__subqueue *subqueue, bool was) {
  if (hr__has_tournament(waiting)) return update_contestant(waiting, subqueue, was);
  struct hr_job_entry now = subqueue->jobs.count ? listing(waiting, subqueue) : (struct hr_job_entry){0};
  bool same = was && subqueue->jobs.count && now.key == subqueue->listed.key && now.job.id == subqueue->listed.job.id &&
              now.value == subqueue->listed.value;
  if (same) return HR_OK;
  if (!was) {
    activate_subqueue(waiting, subqueue);
    return set_listing(waiting, subqueue, now);
  }
  enum hr_status status = relist_in_use(waiting, subqueue, now);
  return status == HR_OK && subqueue->represents ? hr__subqueue_check_represented(waiting, subqueue) : status;
}

/* ---- Adding and removing jobs --------------------------------------------------------------------- */

static enum hr_status add_to_subqueue(struct hr__waiting *waiting, struct hr__shape *shape,
                                      const struct hr__queued_job *queued, struct hr_job_entry entry) {
  uint32_t number = subqueue_for(waiting, shape, queued);
  if (number == HR_NONE) return HR_NO_MEMORY;
  struct hr__subqueue *subqueue = waiting->subqueues[number];
  bool was = subqueue->jobs.count > 0;
  if (!hr_job_tree_insert(&subqueue->jobs, entry)) return HR_NO_MEMORY;
  waiting->subqueue_of[entry.job.id] = number;
  waiting->key_of[entry.job.id] = entry.key;
  if (!was || hr__entry_before(entry, subqueue->head)) subqueue->head = entry;
  return relist(waiting, subqueue, was);
}

enum hr_status hr__waiting_add(struct hr__waiting *waiting, const struct hr__queued_job *queued) {
  struct hr__shape *shape = shape_for(waiting, queued->gpus, queued->kind);
  if (!shape) return HR_NO_MEMORY;
  struct hr_job_entry entry = {queued->key, queued->job, queued->value};
  if (has_subqueues(waiting)) return add_to_subqueue(waiting, shape, queued, entry);
  if (!hr_job_tree_insert(&shape->only->jobs, entry)) return HR_NO_MEMORY;
  if (shape->active_at[0] == HR_NONE || hr__entry_before(entry, shape->head)) shape->head = entry;
  hr__shape_enrol(waiting, shape, false, true);
  return HR_OK;
}

static enum hr_status remove_from_subqueue(struct hr__waiting *waiting, hr_job job) {
  struct hr__subqueue *subqueue = hr__subqueue_of_job(waiting, job);
  if (!hr_job_tree_remove(&subqueue->jobs, waiting->key_of[job.id], job)) return HR_INTERNAL;
  if (subqueue->jobs.count) hr_job_tree_first(&subqueue->jobs, &subqueue->head);
  return relist(waiting, subqueue, true);
}

enum hr_status hr__waiting_remove(struct hr__waiting *waiting, struct hr__shape *shape, struct hr_job_entry entry) {
  if (has_subqueues(waiting)) return remove_from_subqueue(waiting, entry.job);
  struct hr_job_tree *jobs = &shape->only->jobs;
  if (!hr_job_tree_remove(jobs, entry.key, entry.job)) return HR_INTERNAL;
  if (jobs->count == 0)
    hr__shape_enrol(waiting, shape, false, false);
  else if (shape->head.job.id == entry.job.id)
    hr_job_tree_first(jobs, &shape->head);
  return HR_OK;
}

enum hr_status hr__waiting_rerank(struct hr__waiting *waiting, uint64_t name) {
  uint32_t first = hr__pair_map_find(&waiting->first_of_name, (struct hr__pair){name, 0});
  enum hr_status status = HR_OK;
  for (struct hr__subqueue *subqueue = first == HR_NONE ? NULL : waiting->subqueues[first]; subqueue && status == HR_OK;
       subqueue = subqueue->next_same_key)
    if (subqueue->jobs.count) status = relist(waiting, subqueue, true);
  return status;
}

/* Computes the lines of all subqueues again, after all keys have changed. */
static void rebuild_tournaments(struct hr__waiting *waiting) {
  for (uint32_t i = 0; i < waiting->n_active_subqueues; i++) {
    const struct hr__subqueue *subqueue = waiting->active_subqueues[i];
    kinetic_set_line(&subqueue->shape->tournament, subqueue->place,
                     waiting->line_of(waiting->self, subqueue, subqueue->head));
  }
  for (uint32_t i = 0; i < waiting->n_active; i++) {
    struct hr__shape *shape = hr__active_shape(waiting, i);
    hr__kinetic_rebuild(&shape->tournament);
    hr__shape_find_head(waiting, shape);
  }
}

enum hr_status hr__waiting_rerank_all(struct hr__waiting *waiting) {
  enum hr_status status = HR_OK;
  if (hr__has_tournament(waiting)) {
    rebuild_tournaments(waiting);
    return HR_OK;
  }
  for (uint32_t i = 0; i < waiting->n_active_subqueues && status == HR_OK; i++)
    status = relist(waiting, waiting->active_subqueues[i], true);
  return status;
}

void hr__waiting_advance(struct hr__waiting *waiting, int64_t now_us) {
  waiting->now_us = now_us;
  for (uint32_t i = 0; i < waiting->n_active && hr__has_tournament(waiting); i++) {
    struct hr__shape *shape = hr__active_shape(waiting, i);
    hr__kinetic_advance(&shape->tournament, now_us);
    hr__shape_find_head(waiting, shape);
  }
}

/* ---- The first job -------------------------------------------------------------------------------- */

/* Returns whether a subqueue is held back, and writes the limit that blocks it. */
static bool is_held(const struct hr__waiting *waiting, const struct hr__subqueue *subqueue,
                    struct hr__admission_limit *limit) {
  return waiting->admission.is_held && waiting->admission.is_held(waiting->self, subqueue, limit);
}

/* Updates the first subqueue of the shape: lists it again if its key has grown, and parks it if it is held back.
   Repeats this with the new first subqueue until neither is necessary. */
static enum hr_status find_first(struct hr__waiting *waiting, struct hr__shape *shape) {
  enum hr_status status = HR_OK;
  struct hr_job_entry first;
  struct hr__admission_limit limit;
  while (status == HR_OK && hr_job_tree_first(hr__shape_list(waiting, shape), &first)) {
    struct hr__subqueue *subqueue = hr__subqueue_of_job(waiting, first.job);
    if (has_grown(waiting, subqueue)) {
      status = relist(waiting, subqueue, true);
      continue;
    }
    if (!is_held(waiting, subqueue, &limit)) break;
    status = hr__subqueue_park(waiting, subqueue, &limit);
  }
  return status;
}

enum hr_status hr__waiting_find_first(struct hr__waiting *waiting) {
  enum hr_status status = HR_OK;
  if (!waiting->admission.is_held && !waiting->keys_grow) return HR_OK;
  for (uint32_t i = waiting->n_active; i-- > 0 && status == HR_OK;)
    status = find_first(waiting, hr__active_shape(waiting, i));
  return status;
}

enum hr_status hr__waiting_select_preferred(struct hr__waiting *waiting, bool preferred_only) {
  uint32_t *active = waiting->active, n_active = waiting->n_active, capacity = waiting->active_capacity;
  waiting->active = waiting->other;
  waiting->n_active = waiting->n_other;
  waiting->active_capacity = waiting->other_capacity;
  waiting->other = active;
  waiting->n_other = n_active;
  waiting->other_capacity = capacity;
  waiting->preferred_only = preferred_only;
  for (uint32_t i = waiting->n_active; i-- > 0;) hr__shape_settle(waiting, hr__active_shape(waiting, i));
  return hr__waiting_find_first(waiting);
}

/* ---- Searches ------------------------------------------------------------------------------------- */

/* Lists a subqueue again if its key has grown. Returns true if it did so; `*from` is then reset, so that the search is
   repeated from the beginning of the list. If memory is exhausted, sets waiting->failed and returns false. */
static bool relist_grown(struct hr__waiting *waiting, struct hr__subqueue *subqueue, struct hr_job_entry *from) {
  if (!has_grown(waiting, subqueue)) return false;
  waiting->failed = waiting->failed || relist(waiting, subqueue, true) != HR_OK;
  *from = (struct hr_job_entry){HR__BEFORE_ALL, {0}, 0};
  return !waiting->failed;
}

/* The parameters of a search, and the first job found so far. */
struct waiting_search {
  const struct hr__waiting *waiting;
  int64_t bound;
  struct hr_job_entry *entry;
  bool found;
};

/* The parameters of a search in a tournament, and the first job found so far. */
struct tournament_search {
  const struct hr__waiting *waiting;
  const struct hr__kinetic *tournament;
  int64_t bound;
  struct hr_job_entry entry;
  struct hr__subqueue *subqueue; /* that of the job; NULL: none found */
  struct hr__contestant found;   /* the job as a contestant: comparisons of lines are faster than those of full keys */
};

/* Called by hr__kinetic_search (see hr__kinetic_visit). Returns false if the job found so far precedes the first job of
   the subqueue `first`. Otherwise returns true and, if `alone` (only this subqueue is to be searched), searches the
   subqueue for its first job with a value within the bound. */
static bool find_in_subqueue(void *self, const struct hr__contestant *first, bool alone) {
  struct tournament_search *search = self;
  const struct hr__waiting *waiting = search->waiting;
  if (search->subqueue && !hr__kinetic_precedes(search->tournament, first, &search->found)) return false;
  if (!alone) return true;
  struct hr__subqueue *subqueue = hr__subqueue_of_job(waiting, (hr_job){first->name});
  struct hr_job_entry entry;
  if (!hr_job_tree_next(&subqueue->jobs, HR__BEFORE_ALL, (hr_job){0}, search->bound, &entry)) return true;
  struct hr__contestant found = {.line = waiting->line_of(waiting->self, subqueue, entry), .name = entry.job.id};
  if (search->subqueue && !hr__kinetic_precedes(search->tournament, &found, &search->found)) return true;
  search->entry = entry;
  search->subqueue = subqueue;
  search->found = found;
  return true;
}

/* Replaces the key of an entry by its full key; see hr__full_key. */
static void make_full(const struct hr__waiting *waiting, const struct hr__subqueue *subqueue,
                      struct hr_job_entry *entry) {
  if (has_subqueues(waiting)) entry->key = waiting->full_key(waiting->self, subqueue, *entry);
}

static bool next_in_tournament(const struct hr__waiting *waiting, const struct hr__shape *shape, int64_t bound,
                               struct hr_job_entry *entry) {
  struct tournament_search search = {.waiting = waiting, .tournament = &shape->tournament, .bound = bound};
  if (bound == INT64_MAX) {
    *entry = shape->head;
    return shape->tournament.count > 0;
  }
  hr__kinetic_search(&shape->tournament, bound, find_in_subqueue, &search);
  if (!search.subqueue) return false;
  *entry = search.entry;
  make_full(waiting, search.subqueue, entry);
  return true;
}

/* Searches a subqueue for its first job with a value within the bound. The job replaces the job found so far if it
   precedes that job. */
static void search_subqueue(const struct hr__waiting *waiting, const struct hr__subqueue *subqueue,
                            struct waiting_search *search) {
  struct hr_job_entry first;
  if (!hr_job_tree_next(&subqueue->jobs, HR__BEFORE_ALL, (hr_job){0}, search->bound, &first)) return;
  make_full(waiting, subqueue, &first);
  if (!search->found || hr__entry_before(first, *search->entry)) *search->entry = first;
  search->found = true;
}

/* Returns the next subqueue after `listed` that may contain a job within the bound that precedes the job found so far;
   NULL: none. */
static struct hr__subqueue *next_to_search(const struct hr__waiting *waiting, const struct hr_job_tree *subqueues,
                                           const struct waiting_search *search, struct hr_job_entry *listed) {
  if (!hr_job_tree_next(subqueues, listed->key, listed->job, search->bound, listed)) return NULL;
  if (search->found && !hr__entry_before(*listed, *search->entry)) return NULL;
  return hr__subqueue_of_job(waiting, listed->job);
}

/* Searches the groups of the shape that have a representative and enough room. Their subqueues are not in the list of
   the shape, although they may be able to start. */
static void search_groups(const struct hr__waiting *waiting, const struct hr__shape *shape,
                          struct waiting_search *search) {
  for (const struct hr__subqueue_group *group = shape->represented; group; group = group->next_in_shape) {
    struct hr_job_entry listed = {HR__BEFORE_ALL, {0}, 0};
    const struct hr__subqueue *subqueue;
    struct hr__admission_limit limit;
    if (!hr__group_has_room(waiting, group)) continue;
    while ((subqueue = next_to_search(waiting, &group->subqueues, search, &listed))) {
      bool held = is_held(waiting, subqueue, &limit);
      if (held && hr__group_is_held(group, &limit)) break;
      if (!held) search_subqueue(waiting, subqueue, search);
    }
  }
}

/* Searches the listed subqueues, and parks those that are held back. False: out of memory. */
static bool search_list(struct hr__waiting *waiting, const struct hr__shape *shape, struct waiting_search *search) {
  struct hr_job_entry listed = {HR__BEFORE_ALL, {0}, 0};
  struct hr__subqueue *subqueue;
  struct hr__admission_limit limit;
  while ((subqueue = next_to_search(waiting, &shape->subqueues, search, &listed))) {
    if (relist_grown(waiting, subqueue, &listed)) continue;
    if (!is_held(waiting, subqueue, &limit))
      search_subqueue(waiting, subqueue, search);
    else if (hr__subqueue_park(waiting, subqueue, &limit) != HR_OK)
      return false;
  }
  return true;
}

bool hr__waiting_next(struct hr__waiting *waiting, struct hr__shape *shape, struct hr_job_entry last, int64_t bound,
                      struct hr_job_entry *entry) {
  if (!has_subqueues(waiting)) return hr_job_tree_next(&shape->only->jobs, last.key, last.job, bound, entry);
  if (hr__has_tournament(waiting)) return next_in_tournament(waiting, shape, bound, entry);
  struct waiting_search search = {waiting, bound, entry, false};
  bool ok = !waiting->keys_grow || hr__shape_spread(waiting, shape) == HR_OK;
  search_groups(waiting, shape, &search);
  ok = ok && search_list(waiting, shape, &search);
  waiting->failed = waiting->failed || !ok;
  return search.found;
}

/* ---- Walks ---------------------------------------------------------------------------------------- */

static bool is_above(const void *self, struct hr__cursor a, struct hr__cursor b) {
  (void)self;
  return hr__entry_before(a.entry, b.entry);
}

HR__HEAP(cursors, struct hr__cursor, is_above)

static struct hr__cursor cursor_at(const struct hr__waiting *waiting, struct hr__subqueue *subqueue,
                                   struct hr_job_entry at) {
  struct hr__cursor cursor = {subqueue, at, at};
  make_full(waiting, subqueue, &cursor.entry);
  return cursor;
}

/* Finds the next subqueue that the walk has not entered. A removal of jobs can move a subqueue that was entered to a
   later position, where it is skipped. */
static void find_next_subqueue(const struct hr__waiting *waiting, struct hr__walk *walk) {
  walk->next = NULL;
  while (has_subqueues(waiting) && hr_job_tree_next(&walk->shape->subqueues, walk->last_entered.key,
                                                    walk->last_entered.job, INT64_MAX, &walk->last_entered)) {
    struct hr__subqueue *subqueue = hr__subqueue_of_job(waiting, walk->last_entered.job);
    struct hr__admission_limit limit;
    if (subqueue->walk == walk->number || is_held(waiting, subqueue, &limit)) continue;
    walk->next = subqueue;
    walk->next_entry = cursor_at(waiting, subqueue, subqueue->head).entry;
    return;
  }
}

/* Enters a subqueue: adds a cursor at its first job. */
static bool enter(struct hr__waiting *waiting, struct hr__walk *walk, struct hr__subqueue *subqueue) {
  struct hr__shape *shape = walk->shape;
  if (!HR__ARENA_HAS_ROOM(waiting->arena, shape->cursors, walk->n_cursors, shape->cursors_capacity)) return false;
  subqueue->walk = walk->number;
  cursors_rise(shape->cursors, walk->n_cursors++,
               cursor_at(waiting, subqueue, has_subqueues(waiting) ? subqueue->head : walk->next_entry), NULL);
  find_next_subqueue(waiting, walk);
  return true;
}

/* Determines the current job of the walk, which is the job of the first cursor. Before that, enters each subqueue with
   a first job that precedes that job. False: no further job, or out of memory. */
static bool find_entry(struct hr__waiting *waiting, struct hr__walk *walk) {
  while (walk->next && (walk->n_cursors == 0 || hr__entry_before(walk->next_entry, walk->shape->cursors[0].entry))) {
    if (enter(waiting, walk, walk->next)) continue;
    walk->shape = NULL;
    return false;
  }
  if (walk->n_cursors > 0) walk->entry = walk->shape->cursors[0].entry;
  return walk->n_cursors > 0;
}

/* Lists all subqueues that a walk may visit, with their current keys. If keys grow with time, the list may be out of
   order, so all its subqueues are updated; a subqueue that moves to a later position is visited again there. False: out
   of memory. */
static bool list_all(struct hr__waiting *waiting, struct hr__shape *shape) {
  struct hr_job_entry listed = {HR__BEFORE_ALL, {0}, 0};
  if (hr__shape_spread(waiting, shape) != HR_OK) return false;
  while (waiting->keys_grow && hr_job_tree_next(&shape->subqueues, listed.key, listed.job, INT64_MAX, &listed))
    if (relist(waiting, hr__subqueue_of_job(waiting, listed.job), true) != HR_OK) return false;
  return true;
}

bool hr__walk_begin(struct hr__waiting *waiting, struct hr__shape *shape, const struct hr_job_entry *after,
                    struct hr__walk *walk) {
  *walk = (struct hr__walk){.shape = shape, .last_entered = {HR__BEFORE_ALL, {0}, 0}, .number = ++waiting->n_walks};
  if (!has_subqueues(waiting)) {
    walk->next = shape->only;
    walk->next_entry = shape->head;
    if (after && !hr_job_tree_next(&shape->only->jobs, after->key, after->job, INT64_MAX, &walk->next_entry))
      return false;
    return find_entry(waiting, walk);
  }
  if (!list_all(waiting, shape)) {
    walk->shape = NULL;
    return false;
  }
  find_next_subqueue(waiting, walk);
  return find_entry(waiting, walk);
}

bool hr__walk_next(struct hr__waiting *waiting, struct hr__walk *walk) {
  struct hr__cursor *heap = walk->shape->cursors, last, top = heap[0];
  struct hr_job_entry at;
  if (hr_job_tree_next(&top.subqueue->jobs, top.at.key, top.at.job, INT64_MAX, &at)) {
    cursors_sink(heap, walk->n_cursors, cursor_at(waiting, top.subqueue, at), NULL);
  } else {
    last = heap[--walk->n_cursors];
    if (walk->n_cursors > 0) cursors_sink(heap, walk->n_cursors, last, NULL);
  }
  return find_entry(waiting, walk);
}

bool hr__walk_has(const struct hr__walk *walk, int64_t bound) {
  struct hr_job_entry unused;
  for (uint32_t i = 0; i < walk->n_cursors; i++) {
    const struct hr__cursor *cursor = &walk->shape->cursors[i];
    if (cursor->at.value <= bound ||
        hr_job_tree_next(&cursor->subqueue->jobs, cursor->at.key, cursor->at.job, bound, &unused))
      return true;
  }
  if (!walk->next) return false;
  return walk->next->listed.value <= bound ||
         hr_job_tree_next(&walk->shape->subqueues, walk->last_entered.key, walk->last_entered.job, bound, &unused);
}
