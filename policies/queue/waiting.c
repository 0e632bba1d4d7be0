/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Waiting jobs by shape and lane: see policies/waiting.h. A shape is found through a hash of what it asks for; those
 * with waiting jobs are listed, in no order, each with its first job at hand, so that a pass looks at one job per
 * shape. A shape's lanes are themselves a tree, whose keys are those of the lanes' first jobs and whose values are
 * the least of the lanes': so a bounded search goes straight to the lane, and then to the job.
 *
 * Under an order in which all keys move, at all times or all at once, the lanes race in a kinetic tournament instead,
 * as a list would have to be put in order anew at each pass. That tells the first, and the first within a bound, but
 * not who comes after whom.
 */

#include "policies/queue/waiting.h"

#include "headroom/policy_kit.h"
#include "policies/queue/subqueues.h"

static bool init_warden(struct hr__waiting *waiting, const struct hr__admission *warden) {
  if (!warden) return true;
  uint32_t n_bars = hr__admission_limit_number(warden->n_places, HR__BAR_FULL) + 1;
  waiting->warden = *warden;
  waiting->owned = hr_arena_alloc(waiting->arena, warden->n_owners * sizeof(*waiting->owned));
  waiting->closed = hr_arena_alloc(waiting->arena, n_bars * sizeof *waiting->closed);
  for (uint32_t i = 0; i < n_bars && waiting->closed; i++)
    waiting->closed[i] = (struct hr_job_tree){.store = waiting->store};
  return waiting->owned && waiting->closed;
}

enum hr_status hr__waiting_init(struct hr__waiting *waiting, struct hr_arena *arena, uint32_t n_jobs,
                                hr__full_key *full_key, const struct hr__admission *warden, void *self) {
  *waiting = (struct hr__waiting){.arena = arena, .full_key = full_key, .self = self};
  waiting->store = hr_tree_store_create(arena);
  if (!waiting->store || !init_warden(waiting, warden)) return HR_NO_MEMORY;
  if (!hr__has_subqueues(waiting)) return HR_OK;
  waiting->subqueue_of = hr_arena_alloc_by_job(arena, n_jobs, sizeof *waiting->subqueue_of);
  waiting->key_of = hr_arena_alloc_by_job(arena, n_jobs, sizeof *waiting->key_of);
  return waiting->subqueue_of && waiting->key_of ? HR_OK : HR_NO_MEMORY;
}

static bool key_is_before(void *self, uint32_t a, uint32_t b) {
  const struct hr__waiting *waiting = self;
  struct hr_job_entry first = {.job = {a}}, second = {.job = {b}};
  first.key = waiting->full_key(waiting->self, hr__subqueue_of_job(waiting, a), first);
  second.key = waiting->full_key(waiting->self, hr__subqueue_of_job(waiting, b), second);
  return hr__entry_before(first, second);
}

/* ---- Shapes and lanes ------------------------------------------------------------------------------- */

static struct hr__subqueue *make_subqueue(struct hr__waiting *waiting, struct hr__shape *shape, uint64_t name) {
  struct hr__subqueue *subqueue = hr_arena_alloc(waiting->arena, sizeof *subqueue);
  if (subqueue) *subqueue = (struct hr__subqueue){.name = name, .shape = shape, .jobs.store = waiting->store};
  return subqueue;
}

static struct hr__shape *make_shape(struct hr__waiting *waiting, uint32_t gpus, uint32_t kind) {
  struct hr_arena *arena = waiting->arena;
  waiting->shapes =
      hr__roomy(arena, waiting->shapes, waiting->n_shapes, &waiting->shapes_capacity, sizeof(*waiting->shapes));
  waiting->active =
      hr__roomy(arena, waiting->active, waiting->n_shapes, &waiting->active_capacity, sizeof *waiting->active);
  waiting->aside =
      hr__roomy(arena, waiting->aside, waiting->n_shapes, &waiting->aside_capacity, sizeof *waiting->aside);
  struct hr__shape *shape = hr_arena_alloc(arena, sizeof *shape);
  if (!waiting->shapes || !waiting->active || !waiting->aside || !shape) return NULL;
  *shape = (struct hr__shape){.gpus = gpus,
                              .kind = kind,
                              .number = waiting->n_shapes,
                              .subqueues.store = waiting->store,
                              .preferred.store = waiting->store,
                              .active_at = {HR_NONE, HR_NONE},
                              .race = {.arena = arena, .is_before = key_is_before, .self = waiting}};
  if (!hr__has_subqueues(waiting) && !(shape->only = make_subqueue(waiting, shape, 0))) return NULL;
  if (!hr__pair_map_add(&waiting->shape_numbers, arena, (struct hr__pair){gpus, kind}, waiting->n_shapes)) return NULL;
  return waiting->shapes[waiting->n_shapes++] = shape;
}

static struct hr__shape *shape_for(struct hr__waiting *waiting, uint32_t gpus, uint32_t kind) {
  uint32_t number = hr__pair_map_find(&waiting->shape_numbers, (struct hr__pair){gpus, kind});
  return number == HR_NONE ? make_shape(waiting, gpus, kind) : waiting->shapes[number];
}

struct hr__shape *hr__waiting_shape(const struct hr__waiting *waiting, uint32_t gpus, uint32_t kind) {
  return waiting->shapes[hr__pair_map_find(&waiting->shape_numbers, (struct hr__pair){gpus, kind})];
}

/* A new lane goes behind the first of its name. */
static bool link_same_key(struct hr__waiting *waiting, uint32_t number) {
  struct hr__subqueue *subqueue = waiting->subqueues[number];
  struct hr__pair name = {subqueue->name, 0};
  uint32_t first = hr__pair_map_find(&waiting->first_of_name, name);
  if (first == HR_NONE) return hr__pair_map_add(&waiting->first_of_name, waiting->arena, name, number);
  subqueue->next_same_key = waiting->subqueues[first]->next_same_key;
  waiting->subqueues[first]->next_same_key = subqueue;
  return true;
}

/* Parts as small numbers; HR_NONE: out of memory. */
static uint32_t number_of_part(struct hr__waiting *waiting, uint64_t part) {
  struct hr__pair pair = {part, 0};
  uint32_t number = hr__pair_map_find(&waiting->part_numbers, pair);
  if (number != HR_NONE) return number;
  number = waiting->part_numbers.count;
  return hr__pair_map_add(&waiting->part_numbers, waiting->arena, pair, number) ? number : HR_NONE;
}

/* The number of the lane in the shape; HR_NONE: out of memory. */
static uint32_t subqueue_for(struct hr__waiting *waiting, struct hr__shape *shape,
                             const struct hr__queued_job *queued) {
  uint32_t part_number = number_of_part(waiting, queued->part);
  struct hr__pair pair = {queued->subqueue, (uint64_t)shape->number << 32 | part_number};
  if (part_number == HR_NONE) return HR_NONE;
  uint32_t number = hr__pair_map_find(&waiting->subqueue_numbers, pair);
  if (number != HR_NONE) return number;
  waiting->subqueues = hr__roomy(waiting->arena, waiting->subqueues, waiting->n_subqueues, &waiting->subqueues_capacity,
                                 sizeof(*waiting->subqueues));
  waiting->active_subqueues = hr__roomy(waiting->arena, waiting->active_subqueues, waiting->n_subqueues,
                                        &waiting->active_subqueues_capacity, sizeof(*waiting->active_subqueues));
  struct hr__subqueue *subqueue = make_subqueue(waiting, shape, queued->subqueue);
  if (!waiting->subqueues || !waiting->active_subqueues || !subqueue ||
      !hr__pair_map_add(&waiting->subqueue_numbers, waiting->arena, pair, waiting->n_subqueues))
    return HR_NONE;
  subqueue->owner = queued->owner;
  waiting->subqueues[waiting->n_subqueues] = subqueue;
  return link_same_key(waiting, waiting->n_subqueues) ? waiting->n_subqueues++ : HR_NONE;
}

/* ---- Coming and going ------------------------------------------------------------------------------- */

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
  return hr__subqueue_relist(waiting, subqueue, was);
}

static void hr__shape_activate(struct hr__waiting *waiting, struct hr__shape *shape);

enum hr_status hr__waiting_add(struct hr__waiting *waiting, const struct hr__queued_job *queued) {
  struct hr__shape *shape = shape_for(waiting, queued->gpus, queued->kind);
  if (!shape) return HR_NO_MEMORY;
  struct hr_job_entry entry = {queued->key, queued->job, queued->value};
  if (hr__has_subqueues(waiting)) return add_to_subqueue(waiting, shape, queued, entry);
  if (!hr_job_tree_insert(&shape->only->jobs, entry)) return HR_NO_MEMORY;
  if (shape->active_at[0] == HR_NONE || hr__entry_before(entry, shape->head)) shape->head = entry;
  hr__shape_activate(waiting, shape);
  return HR_OK;
}

static enum hr_status remove_from_subqueue(struct hr__waiting *waiting, hr_job job) {
  struct hr__subqueue *subqueue = waiting->subqueues[waiting->subqueue_of[job.id]];
  if (!hr_job_tree_remove(&subqueue->jobs, waiting->key_of[job.id], job)) return HR_INTERNAL;
  if (subqueue->jobs.count) hr_job_tree_first(&subqueue->jobs, &subqueue->head);
  return hr__subqueue_relist(waiting, subqueue, true);
}

static void hr__shape_deactivate(struct hr__waiting *waiting, struct hr__shape *shape);

enum hr_status hr__waiting_remove(struct hr__waiting *waiting, struct hr__shape *shape, struct hr_job_entry entry) {
  if (hr__has_subqueues(waiting)) return remove_from_subqueue(waiting, entry.job);
  struct hr_job_tree *jobs = &shape->only->jobs;
  if (!hr_job_tree_remove(jobs, entry.key, entry.job)) return HR_INTERNAL;
  if (jobs->count == 0)
    hr__shape_deactivate(waiting, shape);
  else if (shape->head.job.id == entry.job.id)
    hr_job_tree_first(jobs, &shape->head);
  return HR_OK;
}

/* ---- Who is first of all ---------------------------------------------------------------------------- */

struct hr__subqueue *hr__waiting_first_subqueue(const struct hr__waiting *waiting, const struct hr__shape *shape) {
  return hr__has_subqueues(waiting) ? hr__subqueue_listed(waiting, shape->head) : NULL;
}

struct hr__subqueue *hr__waiting_next_subqueue(const struct hr__waiting *waiting, const struct hr__subqueue *subqueue) {
  struct hr_job_entry listed = subqueue->listed;
  bool found = hr_job_tree_next(&subqueue->shape->subqueues, listed.key, listed.job, INT64_MAX, &listed);
  return found ? hr__subqueue_listed(waiting, listed) : NULL;
}

struct hr__shape *hr__waiting_first(const struct hr__waiting *waiting) {
  struct hr__shape *first = NULL;
  for (uint32_t i = 0; i < waiting->n_active; i++) {
    struct hr__shape *shape = hr__active_shape(waiting, i);
    if (!first || hr__entry_before(shape->head, first->head)) first = shape;
  }
  return first;
}

/*
 * Which lane of a shape comes first, and what changes that: see policies/waiting.h. A lane is listed in its shape under
 * its first job; where lanes race, they are contestants there.
 */

/* Whether the shape is among those with lanes, or with preferred ones (`of_preferred`). */
static void enrol(struct hr__waiting *waiting, struct hr__shape *shape, bool of_preferred, bool is_in) {
  bool counts = of_preferred == waiting->preferred_only;
  uint32_t *list = counts ? waiting->active : waiting->aside, *at = &shape->active_at[of_preferred];
  uint32_t *count = counts ? &waiting->n_active : &waiting->n_aside;
  if (is_in == (*at != HR_NONE)) return;
  if (is_in) {
    *at = *count;
    list[(*count)++] = shape->number;
  } else {
    uint32_t last = list[--*count];
    list[*at] = last;
    waiting->shapes[last]->active_at[of_preferred] = *at;
    *at = HR_NONE;
  }
}

static void hr__shape_activate(struct hr__waiting *waiting, struct hr__shape *shape) {
  enrol(waiting, shape, false, true);
}

/* Where shapes have no lanes: among those with waiting jobs, or no longer. */
static void hr__shape_deactivate(struct hr__waiting *waiting, struct hr__shape *shape) {
  enrol(waiting, shape, false, false);
}

static void activate_subqueue(struct hr__waiting *waiting, struct hr__subqueue *subqueue) {
  subqueue->active_at = waiting->n_active_subqueues;
  waiting->active_subqueues[waiting->n_active_subqueues++] = subqueue;
  if (!waiting->owned) return;
  struct hr__subqueue **first = &waiting->owned[subqueue->owner];
  subqueue->last_owned = NULL;
  subqueue->next_owned = *first;
  if (*first) (*first)->last_owned = subqueue;
  *first = subqueue;
}

static void deactivate_subqueue(struct hr__waiting *waiting, struct hr__subqueue *subqueue) {
  struct hr__subqueue *last = waiting->active_subqueues[--waiting->n_active_subqueues];
  waiting->active_subqueues[subqueue->active_at] = last;
  last->active_at = subqueue->active_at;
  if (!waiting->owned) return;
  if (subqueue->next_owned) subqueue->next_owned->last_owned = subqueue->last_owned;
  if (subqueue->last_owned)
    subqueue->last_owned->next_owned = subqueue->next_owned;
  else
    waiting->owned[subqueue->owner] = subqueue->next_owned;
}

/* The lane as it should be listed now. */
static struct hr_job_entry listing(const struct hr__waiting *waiting, const struct hr__subqueue *subqueue) {
  int64_t least = hr_job_tree_least(&subqueue->jobs);
  return (struct hr_job_entry){waiting->full_key(waiting->self, subqueue, subqueue->head), subqueue->head.job, least};
}

bool hr__subqueue_has_grown(const struct hr__waiting *waiting, const struct hr__subqueue *subqueue) {
  return waiting->keys_grow && waiting->full_key(waiting->self, subqueue, subqueue->head) != subqueue->listed.key;
}

static void find_head(const struct hr__waiting *waiting, struct hr__shape *shape) {
  if (hr__is_race(waiting)) {
    uint32_t first = hr__kinetic_first(&shape->race);
    if (first == HR_NONE) return;
    const struct hr__subqueue *subqueue = hr__subqueue_of_job(waiting, first);
    shape->head = subqueue->head;
    shape->head.key = waiting->full_key(waiting->self, subqueue, subqueue->head);
    return;
  }
  if (!hr_job_tree_first(hr__shape_list(waiting, shape), &shape->head)) return;
  shape->head.value = waiting->subqueues[waiting->subqueue_of[shape->head.job.id]]->head.value;
}

/* The shape's lists have changed. */
void hr__shape_settle(struct hr__waiting *waiting, struct hr__shape *shape) {
  enrol(waiting, shape, false, (hr__is_race(waiting) ? shape->race.count : shape->subqueues.count) > 0);
  if (waiting->warden.is_preferred) enrol(waiting, shape, true, shape->preferred.count > 0);
  find_head(waiting, shape);
}

static struct hr__contestant contestant_of(const struct hr__waiting *waiting, const struct hr__subqueue *subqueue) {
  return (struct hr__contestant){.line = waiting->line_of(waiting->self, subqueue, subqueue->head),
                                 .value = hr_job_tree_least(&subqueue->jobs),
                                 .name = subqueue->head.job.id};
}

/* The lane races with its first job, or not at all once it is empty. */
static enum hr_status race_on(struct hr__waiting *waiting, struct hr__subqueue *subqueue, bool was) {
  struct hr__shape *shape = subqueue->shape;
  shape->race.now_us = waiting->now_us;
  if (!was) {
    activate_subqueue(waiting, subqueue);
    subqueue->place = hr__kinetic_add(&shape->race);
    if (subqueue->place == HR_NONE) return HR_NO_MEMORY;
  }
  if (subqueue->jobs.count) {
    hr__kinetic_set(&shape->race, subqueue->place, contestant_of(waiting, subqueue));
  } else {
    deactivate_subqueue(waiting, subqueue);
    hr__kinetic_remove(&shape->race, subqueue->place);
  }
  hr__shape_settle(waiting, shape);
  return HR_OK;
}

enum hr_status hr__subqueue_list(struct hr__waiting *waiting, struct hr__subqueue *subqueue) {
  struct hr__shape *shape = subqueue->shape;
  if (!hr_job_tree_insert(&shape->subqueues, subqueue->listed)) return HR_NO_MEMORY;
  if (subqueue->is_preferred && !hr_job_tree_insert(&shape->preferred, subqueue->listed)) return HR_NO_MEMORY;
  hr__shape_settle(waiting, shape);
  return HR_OK;
}

enum hr_status hr__subqueue_unlist(struct hr__subqueue *subqueue) {
  struct hr__shape *shape = subqueue->shape;
  if (!hr_job_tree_remove(&shape->subqueues, subqueue->listed.key, subqueue->listed.job)) return HR_INTERNAL;
  if (!subqueue->is_preferred) return HR_OK;
  return hr_job_tree_remove(&shape->preferred, subqueue->listed.key, subqueue->listed.job) ? HR_OK : HR_INTERNAL;
}

/* With another first job than before. */
static enum hr_status list_anew(struct hr__waiting *waiting, struct hr__subqueue *subqueue, struct hr_job_entry now) {
  subqueue->listed = now;
  subqueue->is_preferred = waiting->warden.is_preferred && waiting->warden.is_preferred(waiting->self, subqueue);
  return hr__subqueue_list(waiting, subqueue);
}

/* A lane that is in use, or was. */
static enum hr_status relist_in_use(struct hr__waiting *waiting, struct hr__subqueue *subqueue,
                                    struct hr_job_entry now) {
  enum hr_status status;
  if (subqueue->parked_at && subqueue->jobs.count && now.job.id == subqueue->listed.job.id)
    return hr__subqueue_relist_parked(waiting, subqueue, now);
  status = subqueue->parked_at ? hr__subqueue_leave(waiting, subqueue) : hr__subqueue_unlist(subqueue);
  if (status != HR_OK) return status;
  if (subqueue->jobs.count) return list_anew(waiting, subqueue, now);
  deactivate_subqueue(waiting, subqueue);
  hr__shape_settle(waiting, subqueue->shape);
  return HR_OK;
}

enum hr_status hr__subqueue_relist(struct hr__waiting *waiting, struct hr__subqueue *subqueue, bool was) {
  if (hr__is_race(waiting)) return race_on(waiting, subqueue, was);
  struct hr_job_entry now = subqueue->jobs.count ? listing(waiting, subqueue) : (struct hr_job_entry){0};
  bool same = was && subqueue->jobs.count && now.key == subqueue->listed.key && now.job.id == subqueue->listed.job.id &&
              now.value == subqueue->listed.value;
  if (same) return HR_OK;
  if (!was) {
    activate_subqueue(waiting, subqueue);
    return list_anew(waiting, subqueue, now);
  }
  enum hr_status status = relist_in_use(waiting, subqueue, now);
  return status == HR_OK && subqueue->speaks_for ? hr__subqueue_still_speaks(waiting, subqueue) : status;
}

enum hr_status hr__waiting_rerank(struct hr__waiting *waiting, uint64_t name) {
  uint32_t first = hr__pair_map_find(&waiting->first_of_name, (struct hr__pair){name, 0});
  enum hr_status status = HR_OK;
  for (struct hr__subqueue *subqueue = first == HR_NONE ? NULL : waiting->subqueues[first]; subqueue && status == HR_OK;
       subqueue = subqueue->next_same_key)
    if (subqueue->jobs.count) status = hr__subqueue_relist(waiting, subqueue, true);
  return status;
}

static void race_anew(struct hr__waiting *waiting) {
  for (uint32_t i = 0; i < waiting->n_active_subqueues; i++) {
    const struct hr__subqueue *subqueue = waiting->active_subqueues[i];
    subqueue->shape->race.places[subqueue->place].line = waiting->line_of(waiting->self, subqueue, subqueue->head);
  }
  for (uint32_t i = 0; i < waiting->n_active; i++) {
    struct hr__shape *shape = hr__active_shape(waiting, i);
    hr__kinetic_play_all(&shape->race);
    find_head(waiting, shape);
  }
}

enum hr_status hr__waiting_rerank_all(struct hr__waiting *waiting) {
  enum hr_status status = HR_OK;
  if (hr__is_race(waiting)) {
    race_anew(waiting);
    return HR_OK;
  }
  for (uint32_t i = 0; i < waiting->n_active_subqueues && status == HR_OK; i++)
    status = hr__subqueue_relist(waiting, waiting->active_subqueues[i], true);
  return status;
}

void hr__waiting_come_to(struct hr__waiting *waiting, int64_t now_us) {
  waiting->now_us = now_us;
  for (uint32_t i = 0; i < waiting->n_active && hr__is_race(waiting); i++) {
    struct hr__shape *shape = hr__active_shape(waiting, i);
    hr__kinetic_come_to(&shape->race, now_us);
    find_head(waiting, shape);
  }
}
