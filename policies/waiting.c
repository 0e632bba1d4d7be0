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

#include "policies/waiting.h"

/* Before all entries that there are. */
#define BEFORE_ALL INT64_MIN

static bool has_lanes(const struct hr__waiting *waiting) {
  return waiting->full_key != NULL;
}

enum hr_status hr__waiting_init(struct hr__waiting *waiting, struct hr_arena *arena, uint32_t n_jobs,
                                hr__full_key *full_key, hr__is_held *is_held, uint32_t n_stoppers, void *self) {
  *waiting = (struct hr__waiting){.arena = arena, .full_key = full_key, .is_held = is_held, .self = self};
  waiting->store = hr_tree_store_create(arena);
  if (!waiting->store) return HR_NO_MEMORY;
  if (!has_lanes(waiting)) return HR_OK;
  waiting->lane_of = hr_arena_alloc(arena, ((size_t)n_jobs + 1) * sizeof *waiting->lane_of);
  waiting->key_of = hr_arena_alloc(arena, ((size_t)n_jobs + 1) * sizeof *waiting->key_of);
  waiting->n_stoppers = n_stoppers;
  waiting->parked_for = hr_arena_alloc(arena, ((size_t)n_stoppers + 1) * sizeof(*waiting->parked_for));
  return waiting->lane_of && waiting->key_of && waiting->parked_for ? HR_OK : HR_NO_MEMORY;
}

static bool is_race(const struct hr__waiting *waiting) {
  return waiting->line_of != NULL;
}

static struct hr__lane *lane_of_job(const struct hr__waiting *waiting, uint32_t job) {
  return waiting->lanes[waiting->lane_of[job]];
}

static bool key_is_before(void *self, uint32_t a, uint32_t b) {
  const struct hr__waiting *waiting = self;
  struct hr_job_entry first = {.job = {a}}, second = {.job = {b}};
  first.key = waiting->full_key(waiting->self, lane_of_job(waiting, a), first);
  second.key = waiting->full_key(waiting->self, lane_of_job(waiting, b), second);
  return hr__entry_before(first, second);
}

/* ---- Shapes and lanes ------------------------------------------------------------------------------- */

/* The list itself while it has room for one more, else a larger copy; NULL: out of memory. */
static void *roomy(struct hr_arena *arena, void *list, uint32_t count, uint32_t *capacity, size_t bytes) {
  return count < *capacity ? list : hr_arena_grown(arena, list, capacity, bytes);
}

static struct hr__lane *make_lane(struct hr__waiting *waiting, struct hr__shape *shape, uint64_t name) {
  struct hr__lane *lane = hr_arena_alloc(waiting->arena, sizeof *lane);
  if (lane) *lane = (struct hr__lane){.name = name, .shape = shape, .jobs.store = waiting->store};
  return lane;
}

static struct hr__shape *make_shape(struct hr__waiting *waiting, uint32_t gpus, uint32_t accept_class) {
  struct hr_arena *arena = waiting->arena;
  waiting->shapes =
      roomy(arena, waiting->shapes, waiting->n_shapes, &waiting->shapes_capacity, sizeof(*waiting->shapes));
  waiting->active =
      roomy(arena, waiting->active, waiting->n_shapes, &waiting->active_capacity, sizeof *waiting->active);
  struct hr__shape *shape = hr_arena_alloc(arena, sizeof *shape);
  if (!waiting->shapes || !waiting->active || !shape) return NULL;
  *shape = (struct hr__shape){.gpus = gpus,
                              .accept_class = accept_class,
                              .number = waiting->n_shapes,
                              .lanes.store = waiting->store,
                              .active_at = HR_NONE,
                              .race = {.arena = arena, .is_before = key_is_before, .self = waiting}};
  if (!has_lanes(waiting) && !(shape->only = make_lane(waiting, shape, 0))) return NULL;
  if (!hr__pair_map_add(&waiting->shape_numbers, arena, (struct hr__pair){gpus, accept_class}, waiting->n_shapes))
    return NULL;
  return waiting->shapes[waiting->n_shapes++] = shape;
}

static struct hr__shape *shape_for(struct hr__waiting *waiting, uint32_t gpus, uint32_t accept_class) {
  uint32_t number = hr__pair_map_find(&waiting->shape_numbers, (struct hr__pair){gpus, accept_class});
  return number == HR_NONE ? make_shape(waiting, gpus, accept_class) : waiting->shapes[number];
}

struct hr__shape *hr__waiting_shape(const struct hr__waiting *waiting, uint32_t gpus, uint32_t accept_class) {
  return waiting->shapes[hr__pair_map_find(&waiting->shape_numbers, (struct hr__pair){gpus, accept_class})];
}

/* A new lane goes behind the first of its name. */
static bool link_namesake(struct hr__waiting *waiting, uint32_t number) {
  struct hr__lane *lane = waiting->lanes[number];
  struct hr__pair name = {lane->name, 0};
  uint32_t first = hr__pair_map_find(&waiting->first_of_name, name);
  if (first == HR_NONE) return hr__pair_map_add(&waiting->first_of_name, waiting->arena, name, number);
  lane->namesake = waiting->lanes[first]->namesake;
  waiting->lanes[first]->namesake = lane;
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
static uint32_t lane_for(struct hr__waiting *waiting, struct hr__shape *shape, uint64_t name, uint64_t part) {
  uint32_t part_number = number_of_part(waiting, part);
  struct hr__pair pair = {name, (uint64_t)shape->number << 32 | part_number};
  if (part_number == HR_NONE) return HR_NONE;
  uint32_t number = hr__pair_map_find(&waiting->lane_numbers, pair);
  if (number != HR_NONE) return number;
  waiting->lanes =
      roomy(waiting->arena, waiting->lanes, waiting->n_lanes, &waiting->lanes_capacity, sizeof(*waiting->lanes));
  waiting->active_lanes = roomy(waiting->arena, waiting->active_lanes, waiting->n_lanes,
                                &waiting->active_lanes_capacity, sizeof(*waiting->active_lanes));
  struct hr__lane *lane = make_lane(waiting, shape, name);
  if (!waiting->lanes || !waiting->active_lanes || !lane ||
      !hr__pair_map_add(&waiting->lane_numbers, waiting->arena, pair, waiting->n_lanes))
    return HR_NONE;
  waiting->lanes[waiting->n_lanes] = lane;
  return link_namesake(waiting, waiting->n_lanes) ? waiting->n_lanes++ : HR_NONE;
}

/* ---- Who is first ----------------------------------------------------------------------------------- */

static void activate(struct hr__waiting *waiting, struct hr__shape *shape) {
  if (shape->active_at != HR_NONE) return;
  shape->active_at = waiting->n_active;
  waiting->active[waiting->n_active++] = shape->number;
}

static void deactivate(struct hr__waiting *waiting, struct hr__shape *shape) {
  uint32_t last = waiting->active[--waiting->n_active];
  waiting->active[shape->active_at] = last;
  waiting->shapes[last]->active_at = shape->active_at;
  shape->active_at = HR_NONE;
}

static void activate_lane(struct hr__waiting *waiting, struct hr__lane *lane) {
  lane->active_at = waiting->n_active_lanes;
  waiting->active_lanes[waiting->n_active_lanes++] = lane;
}

static void deactivate_lane(struct hr__waiting *waiting, struct hr__lane *lane) {
  struct hr__lane *last = waiting->active_lanes[--waiting->n_active_lanes];
  waiting->active_lanes[lane->active_at] = last;
  last->active_at = lane->active_at;
}

/* The lane as it should be listed now. */
static struct hr_job_entry listing(const struct hr__waiting *waiting, const struct hr__lane *lane) {
  int64_t least = hr_job_tree_least(&lane->jobs);
  return (struct hr_job_entry){waiting->full_key(waiting->self, lane, lane->head), lane->head.job, least};
}

static void find_head(const struct hr__waiting *waiting, struct hr__shape *shape) {
  if (is_race(waiting)) {
    uint32_t first = hr__kinetic_first(&shape->race);
    if (first == HR_NONE) return;
    const struct hr__lane *lane = lane_of_job(waiting, first);
    shape->head = lane->head;
    shape->head.key = waiting->full_key(waiting->self, lane, lane->head);
    return;
  }
  if (!hr_job_tree_first(&shape->lanes, &shape->head)) return;
  shape->head.value = waiting->lanes[waiting->lane_of[shape->head.job.id]]->head.value;
}

static struct hr__lane *lane_listed(const struct hr__waiting *waiting, struct hr_job_entry listed) {
  return waiting->lanes[waiting->lane_of[listed.job.id]];
}

/* Where keys grow by themselves the first lane is listed anew as long as that makes another one the first. */
static enum hr_status look_again(struct hr__waiting *waiting, struct hr__shape *shape) {
  struct hr_job_entry first;
  while (waiting->keys_grow && hr_job_tree_first(&shape->lanes, &first)) {
    struct hr__lane *lane = lane_listed(waiting, first);
    struct hr_job_entry now = listing(waiting, lane);
    if (now.key == first.key) break;
    if (!hr_job_tree_remove(&shape->lanes, first.key, first.job)) return HR_INTERNAL;
    lane->listed = now;
    if (!hr_job_tree_insert(&shape->lanes, now)) return HR_NO_MEMORY;
  }
  return HR_OK;
}

/* The shape's list has changed, or the keys of what is in it. */
static enum hr_status settle(struct hr__waiting *waiting, struct hr__shape *shape) {
  if (is_race(waiting) ? shape->race.count : shape->lanes.count)
    activate(waiting, shape);
  else if (shape->active_at != HR_NONE)
    deactivate(waiting, shape);
  enum hr_status status = look_again(waiting, shape);
  find_head(waiting, shape);
  return status;
}

static struct hr__contestant contestant_of(const struct hr__waiting *waiting, const struct hr__lane *lane) {
  return (struct hr__contestant){.line = waiting->line_of(waiting->self, lane, lane->head),
                                 .value = hr_job_tree_least(&lane->jobs),
                                 .name = lane->head.job.id};
}

/* The lane races with its first job, or not at all once it is empty. */
static enum hr_status race_on(struct hr__waiting *waiting, struct hr__lane *lane, bool was) {
  struct hr__shape *shape = lane->shape;
  shape->race.now_us = waiting->now_us;
  if (!was) {
    activate_lane(waiting, lane);
    lane->place = hr__kinetic_add(&shape->race);
    if (lane->place == HR_NONE) return HR_NO_MEMORY;
  }
  if (lane->jobs.count) {
    hr__kinetic_set(&shape->race, lane->place, contestant_of(waiting, lane));
  } else {
    deactivate_lane(waiting, lane);
    hr__kinetic_remove(&shape->race, lane->place);
  }
  return settle(waiting, shape);
}

/* Lists the lane anew, or not at all once it is empty. `was`: whether it has been in use. */
static enum hr_status relist(struct hr__waiting *waiting, struct hr__lane *lane, bool was) {
  if (is_race(waiting)) return race_on(waiting, lane, was);
  struct hr__shape *shape = lane->shape;
  struct hr_job_entry now = lane->jobs.count ? listing(waiting, lane) : (struct hr_job_entry){0};
  bool same = was && lane->jobs.count && now.key == lane->listed.key && now.job.id == lane->listed.job.id &&
              now.value == lane->listed.value;
  if (same) return HR_OK;
  if (was && !lane->parked_at && !hr_job_tree_remove(&shape->lanes, lane->listed.key, lane->listed.job))
    return HR_INTERNAL;
  lane->listed = now;
  if (!was) activate_lane(waiting, lane);
  if (!lane->jobs.count) deactivate_lane(waiting, lane);
  if (lane->parked_at) return HR_OK;
  if (lane->jobs.count && !hr_job_tree_insert(&shape->lanes, now)) return HR_NO_MEMORY;
  return settle(waiting, shape);
}

/* ---- Held back -------------------------------------------------------------------------------------- */

static bool is_held(const struct hr__waiting *waiting, const struct hr__lane *lane) {
  uint32_t until;
  return waiting->is_held && waiting->is_held(waiting->self, lane, &until);
}

static struct hr__lane **list_for(const struct hr__waiting *waiting, uint32_t stopper) {
  return &waiting->parked_for[stopper == HR_NONE ? waiting->n_stoppers : stopper];
}

/* Takes it out of its shape's list. */
static enum hr_status park(struct hr__waiting *waiting, struct hr__lane *lane, uint32_t until) {
  waiting->parked =
      roomy(waiting->arena, waiting->parked, waiting->n_parked, &waiting->parked_capacity, sizeof(*waiting->parked));
  if (!waiting->parked) return HR_NO_MEMORY;
  if (!hr_job_tree_remove(&lane->shape->lanes, lane->listed.key, lane->listed.job)) return HR_INTERNAL;
  struct hr__lane **first = list_for(waiting, until);
  waiting->parked[waiting->n_parked++] = lane;
  lane->parked_at = waiting->n_parked;
  lane->parked_for = until;
  lane->last_parked = NULL;
  lane->next_parked = *first;
  if (*first) (*first)->last_parked = lane;
  *first = lane;
  return HR_OK;
}

/* Puts it back, unless it has become empty. */
static enum hr_status unpark(struct hr__waiting *waiting, struct hr__lane *lane) {
  struct hr__lane *last = waiting->parked[--waiting->n_parked];
  waiting->parked[lane->parked_at - 1] = last;
  last->parked_at = lane->parked_at;
  lane->parked_at = 0;
  if (lane->next_parked) lane->next_parked->last_parked = lane->last_parked;
  if (lane->last_parked)
    lane->last_parked->next_parked = lane->next_parked;
  else
    *list_for(waiting, lane->parked_for) = lane->next_parked;
  if (lane->jobs.count == 0) return HR_OK;
  if (!hr_job_tree_insert(&lane->shape->lanes, lane->listed)) return HR_NO_MEMORY;
  return settle(waiting, lane->shape);
}

enum hr_status hr__waiting_park(struct hr__waiting *waiting) {
  enum hr_status status = HR_OK;
  for (uint32_t i = waiting->n_active; waiting->is_held && i-- > 0;) {
    struct hr__shape *shape = hr__active_shape(waiting, i);
    struct hr_job_entry first;
    uint32_t until;
    while (status == HR_OK && hr_job_tree_first(&shape->lanes, &first) &&
           waiting->is_held(waiting->self, lane_listed(waiting, first), &until)) {
      status = park(waiting, lane_listed(waiting, first), until);
      if (status == HR_OK) status = look_again(waiting, shape);
    }
    if (status == HR_OK) status = settle(waiting, shape);
  }
  return status;
}

enum hr_status hr__waiting_unpark(struct hr__waiting *waiting) {
  enum hr_status status = HR_OK;
  while (waiting->n_parked > 0 && status == HR_OK) status = unpark(waiting, waiting->parked[waiting->n_parked - 1]);
  return status;
}

enum hr_status hr__waiting_unpark_for(struct hr__waiting *waiting, uint32_t stopper) {
  enum hr_status status = HR_OK;
  struct hr__lane *const *anybody = list_for(waiting, HR_NONE), *const *own = list_for(waiting, stopper);
  while (*anybody && status == HR_OK) status = unpark(waiting, *anybody);
  while (*own && status == HR_OK) status = unpark(waiting, *own);
  return status;
}

/* ---- Coming and going ------------------------------------------------------------------------------- */

static enum hr_status add_to_lane(struct hr__waiting *waiting, struct hr__shape *shape, const struct hr__ticket *ticket,
                                  struct hr_job_entry entry) {
  uint32_t number = lane_for(waiting, shape, ticket->lane, ticket->part);
  if (number == HR_NONE) return HR_NO_MEMORY;
  struct hr__lane *lane = waiting->lanes[number];
  bool was = lane->jobs.count > 0;
  if (!hr_job_tree_insert(&lane->jobs, entry)) return HR_NO_MEMORY;
  waiting->lane_of[entry.job.id] = number;
  waiting->key_of[entry.job.id] = entry.key;
  bool is_first = !was || hr__entry_before(entry, lane->head);
  if (is_first) lane->head = entry;
  enum hr_status status = relist(waiting, lane, was);
  /* Another first job may not be held back. */
  return status == HR_OK && is_first && lane->parked_at ? unpark(waiting, lane) : status;
}

enum hr_status hr__waiting_add(struct hr__waiting *waiting, const struct hr__ticket *ticket) {
  struct hr__shape *shape = shape_for(waiting, ticket->gpus, ticket->accept_class);
  if (!shape) return HR_NO_MEMORY;
  struct hr_job_entry entry = {ticket->key, ticket->job, ticket->value};
  if (has_lanes(waiting)) return add_to_lane(waiting, shape, ticket, entry);
  if (!hr_job_tree_insert(&shape->only->jobs, entry)) return HR_NO_MEMORY;
  if (shape->active_at == HR_NONE || hr__entry_before(entry, shape->head)) shape->head = entry;
  activate(waiting, shape);
  return HR_OK;
}

static enum hr_status remove_from_lane(struct hr__waiting *waiting, hr_job job) {
  struct hr__lane *lane = waiting->lanes[waiting->lane_of[job.id]];
  if (!hr_job_tree_remove(&lane->jobs, waiting->key_of[job.id], job)) return HR_INTERNAL;
  if (lane->jobs.count) hr_job_tree_first(&lane->jobs, &lane->head);
  return relist(waiting, lane, true);
}

enum hr_status hr__waiting_remove(struct hr__waiting *waiting, struct hr__shape *shape, struct hr_job_entry entry) {
  if (has_lanes(waiting)) return remove_from_lane(waiting, entry.job);
  struct hr_job_tree *jobs = &shape->only->jobs;
  if (!hr_job_tree_remove(jobs, entry.key, entry.job)) return HR_INTERNAL;
  if (jobs->count == 0)
    deactivate(waiting, shape);
  else if (shape->head.job.id == entry.job.id)
    hr_job_tree_first(jobs, &shape->head);
  return HR_OK;
}

enum hr_status hr__waiting_rerank(struct hr__waiting *waiting, uint64_t name) {
  uint32_t first = hr__pair_map_find(&waiting->first_of_name, (struct hr__pair){name, 0});
  enum hr_status status = HR_OK;
  for (struct hr__lane *lane = first == HR_NONE ? NULL : waiting->lanes[first]; lane && status == HR_OK;
       lane = lane->namesake)
    if (lane->jobs.count) status = relist(waiting, lane, true);
  return status;
}

static void race_anew(struct hr__waiting *waiting) {
  for (uint32_t i = 0; i < waiting->n_active_lanes; i++) {
    const struct hr__lane *lane = waiting->active_lanes[i];
    lane->shape->race.places[lane->place].line = waiting->line_of(waiting->self, lane, lane->head);
  }
  for (uint32_t i = 0; i < waiting->n_active; i++) {
    struct hr__shape *shape = hr__active_shape(waiting, i);
    hr__kinetic_play_all(&shape->race);
    find_head(waiting, shape);
  }
}

enum hr_status hr__waiting_rerank_all(struct hr__waiting *waiting) {
  enum hr_status status = HR_OK;
  if (is_race(waiting)) {
    race_anew(waiting);
    return HR_OK;
  }
  for (uint32_t i = 0; i < waiting->n_active_lanes && status == HR_OK; i++)
    status = relist(waiting, waiting->active_lanes[i], true);
  return status;
}

enum hr_status hr__waiting_look_again(struct hr__waiting *waiting) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < waiting->n_active && status == HR_OK; i++)
    status = settle(waiting, hr__active_shape(waiting, i));
  return status == HR_OK ? hr__waiting_park(waiting) : status;
}

void hr__waiting_come_to(struct hr__waiting *waiting, int64_t now_us) {
  waiting->now_us = now_us;
  for (uint32_t i = 0; i < waiting->n_active && is_race(waiting); i++) {
    struct hr__shape *shape = hr__active_shape(waiting, i);
    hr__kinetic_come_to(&shape->race, now_us);
    find_head(waiting, shape);
  }
}

/* ---- Asking ----------------------------------------------------------------------------------------- */

struct hr__lane *hr__waiting_first_lane(const struct hr__waiting *waiting, const struct hr__shape *shape) {
  return has_lanes(waiting) ? lane_listed(waiting, shape->head) : NULL;
}

struct hr__lane *hr__waiting_next_lane(const struct hr__waiting *waiting, const struct hr__lane *lane) {
  struct hr_job_entry listed = lane->listed;
  bool found = hr_job_tree_next(&lane->shape->lanes, listed.key, listed.job, INT64_MAX, &listed);
  return found ? lane_listed(waiting, listed) : NULL;
}

struct hr__shape *hr__waiting_first(const struct hr__waiting *waiting) {
  struct hr__shape *first = NULL;
  for (uint32_t i = 0; i < waiting->n_active; i++) {
    struct hr__shape *shape = hr__active_shape(waiting, i);
    if (!first || hr__entry_before(shape->head, first->head)) first = shape;
  }
  return first;
}

static void make_full(const struct hr__waiting *waiting, const struct hr__lane *lane, struct hr_job_entry *entry) {
  if (has_lanes(waiting)) entry->key = waiting->full_key(waiting->self, lane, *entry);
}

/* Lists a lane anew if its key has grown by itself; the search then begins again. */
static bool moves_back(struct hr__waiting *waiting, struct hr__lane *lane, struct hr_job_entry *from) {
  if (!waiting->keys_grow || listing(waiting, lane).key == lane->listed.key) return false;
  waiting->failed = waiting->failed || relist(waiting, lane, true) != HR_OK;
  *from = (struct hr_job_entry){BEFORE_ALL, {0}, 0};
  return !waiting->failed;
}

/* What a search in a race has found. */
struct finding {
  const struct hr__waiting *waiting;
  int64_t bound;
  struct hr_job_entry *entry;
  bool found;
};

/* Whether a lane's first job comes before what was found; its first within the bound is what is found then, if it does.
 */
static bool find_in_lane(void *self, uint32_t name, bool in_it) {
  struct finding *finding = self;
  const struct hr__waiting *waiting = finding->waiting;
  const struct hr__lane *lane = lane_of_job(waiting, name);
  struct hr_job_entry first = lane->head;
  make_full(waiting, lane, &first);
  if (finding->found && !hr__entry_before(first, *finding->entry)) return false;
  if (!in_it || !hr_job_tree_next(&lane->jobs, BEFORE_ALL, (hr_job){0}, finding->bound, &first)) return true;
  make_full(waiting, lane, &first);
  if (!finding->found || hr__entry_before(first, *finding->entry)) *finding->entry = first;
  finding->found = true;
  return true;
}

static bool next_in_race(const struct hr__waiting *waiting, const struct hr__shape *shape, int64_t bound,
                         struct hr_job_entry *entry) {
  struct finding finding = {waiting, bound, entry, false};
  hr__kinetic_search(&shape->race, bound, find_in_lane, &finding);
  return finding.found;
}

bool hr__waiting_next(struct hr__waiting *waiting, const struct hr__shape *shape, struct hr_job_entry last,
                      int64_t bound, struct hr_job_entry *entry) {
  if (!has_lanes(waiting)) return hr_job_tree_next(&shape->only->jobs, last.key, last.job, bound, entry);
  if (is_race(waiting)) return next_in_race(waiting, shape, bound, entry);
  bool found = false;
  struct hr_job_entry listed = {BEFORE_ALL, {0}, 0}, first;
  while (hr_job_tree_next(&shape->lanes, listed.key, listed.job, bound, &listed)) {
    if (found && !hr__entry_before(listed, *entry)) break; /* nor then is any of the jobs of this lane or a later one */
    struct hr__lane *lane = lane_listed(waiting, listed);
    if (moves_back(waiting, lane, &listed)) found = false;
    if (listed.key == BEFORE_ALL || is_held(waiting, lane)) continue;
    if (!hr_job_tree_next(&lane->jobs, BEFORE_ALL, (hr_job){0}, bound, &first)) continue;
    make_full(waiting, lane, &first);
    if (!found || hr__entry_before(first, *entry)) *entry = first;
    found = true;
  }
  return found;
}

/* ---- Walking ---------------------------------------------------------------------------------------- */

static void sink(struct hr__cursor *heap, uint32_t count, struct hr__cursor cursor) {
  uint32_t hole = 0;
  for (uint32_t child = 1; child < count; child = 2 * hole + 1) {
    if (child + 1 < count && hr__entry_before(heap[child + 1].entry, heap[child].entry)) child++;
    if (hr__entry_before(cursor.entry, heap[child].entry)) break;
    heap[hole] = heap[child];
    hole = child;
  }
  heap[hole] = cursor;
}

static void rise(struct hr__cursor *heap, uint32_t count, struct hr__cursor cursor) {
  uint32_t hole = count;
  for (; hole > 0 && hr__entry_before(cursor.entry, heap[(hole - 1) / 2].entry); hole = (hole - 1) / 2)
    heap[hole] = heap[(hole - 1) / 2];
  heap[hole] = cursor;
}

static struct hr__cursor cursor_at(const struct hr__waiting *waiting, struct hr__lane *lane, struct hr_job_entry at) {
  struct hr__cursor cursor = {lane, at, at};
  make_full(waiting, lane, &cursor.entry);
  return cursor;
}

/* Looks for the next lane that this walk has not been in: removals move lanes backward in the list. */
static void look_for_next(const struct hr__waiting *waiting, struct hr__walk *walk) {
  walk->next = NULL;
  while (has_lanes(waiting) &&
         hr_job_tree_next(&walk->shape->lanes, walk->came.key, walk->came.job, INT64_MAX, &walk->came)) {
    struct hr__lane *lane = lane_listed(waiting, walk->came);
    if (lane->walk == walk->number || is_held(waiting, lane)) continue;
    walk->next = lane;
    walk->next_entry = cursor_at(waiting, lane, lane->head).entry;
    return;
  }
}

static bool enter(struct hr__waiting *waiting, struct hr__walk *walk, struct hr__lane *lane) {
  struct hr__shape *shape = walk->shape;
  shape->cursors =
      roomy(waiting->arena, shape->cursors, walk->n_cursors, &shape->cursors_capacity, sizeof *shape->cursors);
  if (!shape->cursors) return false;
  lane->walk = walk->number;
  rise(shape->cursors, walk->n_cursors++, cursor_at(waiting, lane, has_lanes(waiting) ? lane->head : walk->next_entry));
  look_for_next(waiting, walk);
  return true;
}

/* The first job of all is that of the first cursor, once all lanes have been entered that begin before it. */
static bool stand(struct hr__waiting *waiting, struct hr__walk *walk) {
  while (walk->next && (walk->n_cursors == 0 || hr__entry_before(walk->next_entry, walk->shape->cursors[0].entry))) {
    if (enter(waiting, walk, walk->next)) continue;
    walk->shape = NULL;
    return false;
  }
  if (walk->n_cursors > 0) walk->entry = walk->shape->cursors[0].entry;
  return walk->n_cursors > 0;
}

/* Where keys grow by themselves a lane may be listed before others that now come before it: all are listed anew, and
   those that move back are come by twice. */
static bool list_all_anew(struct hr__waiting *waiting, struct hr__shape *shape) {
  struct hr_job_entry listed = {BEFORE_ALL, {0}, 0};
  while (waiting->keys_grow && hr_job_tree_next(&shape->lanes, listed.key, listed.job, INT64_MAX, &listed))
    if (relist(waiting, lane_listed(waiting, listed), true) != HR_OK) return false;
  return true;
}

bool hr__walk_begin(struct hr__waiting *waiting, struct hr__shape *shape, struct hr__walk *walk) {
  waiting->failed = waiting->failed || !list_all_anew(waiting, shape);
  *walk = (struct hr__walk){.shape = shape, .came = {BEFORE_ALL, {0}, 0}, .number = ++waiting->n_walks};
  if (!has_lanes(waiting)) {
    walk->next = shape->only;
    walk->next_entry = shape->head;
    return stand(waiting, walk);
  }
  look_for_next(waiting, walk);
  return stand(waiting, walk);
}

bool hr__walk_begin_after(struct hr__waiting *waiting, struct hr__shape *shape, struct hr_job_entry last,
                          struct hr__walk *walk) {
  *walk = (struct hr__walk){.shape = shape, .next = shape->only, .number = ++waiting->n_walks};
  if (!hr_job_tree_next(&shape->only->jobs, last.key, last.job, INT64_MAX, &walk->next_entry)) return false;
  return stand(waiting, walk);
}

bool hr__walk_on(struct hr__waiting *waiting, struct hr__walk *walk) {
  struct hr__cursor *heap = walk->shape->cursors, last, top = heap[0];
  struct hr_job_entry at;
  if (hr_job_tree_next(&top.lane->jobs, top.at.key, top.at.job, INT64_MAX, &at)) {
    sink(heap, walk->n_cursors, cursor_at(waiting, top.lane, at));
  } else {
    last = heap[--walk->n_cursors];
    if (walk->n_cursors > 0) sink(heap, walk->n_cursors, last);
  }
  return stand(waiting, walk);
}

bool hr__walk_has(const struct hr__walk *walk, int64_t bound) {
  struct hr_job_entry unused;
  for (uint32_t i = 0; i < walk->n_cursors; i++) {
    const struct hr__cursor *cursor = &walk->shape->cursors[i];
    if (cursor->at.value <= bound ||
        hr_job_tree_next(&cursor->lane->jobs, cursor->at.key, cursor->at.job, bound, &unused))
      return true;
  }
  if (!walk->next) return false;
  return walk->next->listed.value <= bound ||
         hr_job_tree_next(&walk->shape->lanes, walk->came.key, walk->came.job, bound, &unused);
}

bool hr__walk_is_held(const struct hr__waiting *waiting, const struct hr__walk *walk) {
  return is_held(waiting, walk->shape->cursors[0].lane);
}
