/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lanes that are held back, and preferred ones: see policies/waiting.h. Who is held back stands aside in groups, so
 * that nobody goes through those that cannot start. Lanes of one shape that the same bar holds back, and that need as
 * much room there, are a group. Once the bar leaves them room the first of them, which then speaks for all, is listed
 * again. If a bar nearer to the root holds that one back, all of them would be, and so it is parked there and goes on
 * to speak for them. Another one speaks when it comes first. So what a bar that moves may let go is, in each group, one
 * lane.
 *
 * A group is about what its lanes needed when they were parked. One that needs more by now is found to be held back
 * when it comes first; one that may need less is to be listed again (hr__waiting_release).
 *
 * Groups of preferred lanes are apart from others, so that a preferred one speaks for them. A group has a speaker only
 * while there are lanes in it, and stands among those that its bar has closed only while it has lanes and no speaker.
 */

#include "base/heap.h"
#include "headroom/policy_kit.h"
#include "policies/queue/subqueues.h"

static bool hr__subqueue_is_held(const struct hr__waiting *waiting, const struct hr__subqueue *subqueue,
                                 struct hr__admission_limit *bar) {
  return waiting->warden.is_held && waiting->warden.is_held(waiting->self, subqueue, bar);
}

/* ---- Groups ----------------------------------------------------------------------------------------- */

static uint32_t bar_index(const struct hr__waiting *waiting, uint32_t place, enum hr__admission_limit_kind kind) {
  return place == HR_NONE ? hr__admission_limit_number(waiting->warden.n_places, HR__BAR_FULL)
                          : hr__admission_limit_number(place, kind);
}

static struct hr__subqueue_group *make_group(struct hr__waiting *waiting, struct hr__pair name) {
  waiting->groups = hr__roomy(waiting->arena, waiting->groups, waiting->n_groups, &waiting->groups_capacity,
                              sizeof(*waiting->groups));
  struct hr__subqueue_group *group = hr_arena_alloc(waiting->arena, sizeof *group);
  if (!waiting->groups || !group || !hr__pair_map_add(&waiting->group_numbers, waiting->arena, name, waiting->n_groups))
    return NULL;
  *group = (struct hr__subqueue_group){.number = waiting->n_groups, .subqueues.store = waiting->store};
  return waiting->groups[waiting->n_groups++] = group;
}

/* What lanes need, as a small number; HR_NONE: out of memory. */
static uint32_t class_of(struct hr__waiting *waiting, const struct hr__admission_limit *bar) {
  struct hr__pair pair = {(uint64_t)bar->milli, (uint64_t)bar->spare};
  uint32_t number = hr__pair_map_find(&waiting->class_numbers, pair);
  if (number != HR_NONE) return number;
  number = waiting->class_numbers.count;
  return hr__pair_map_add(&waiting->class_numbers, waiting->arena, pair, number) ? number : HR_NONE;
}

/* NULL: out of memory. */
static struct hr__subqueue_group *group_for(struct hr__waiting *waiting, struct hr__shape *shape,
                                            const struct hr__admission_limit *bar, bool of_preferred) {
  uint32_t class_number = class_of(waiting, bar);
  if (class_number == HR_NONE) return NULL;
  struct hr__pair name = {(uint64_t)bar_index(waiting, bar->place, bar->kind) << 32 | shape->number,
                          (uint64_t)class_number << 1 | of_preferred};
  uint32_t number = hr__pair_map_find(&waiting->group_numbers, name);
  struct hr__subqueue_group *group = number == HR_NONE ? make_group(waiting, name) : waiting->groups[number];
  if (!group) return NULL;
  group->shape = shape;
  group->bar = *bar;
  group->of_preferred = of_preferred;
  return group;
}

/* Whether a bar leaves the group room now. */
static bool hr__group_has_room(const struct hr__waiting *waiting, const struct hr__subqueue_group *group) {
  const struct hr__admission_limit *bar = &group->bar;
  return bar->place != HR_NONE &&
         waiting->warden.room(waiting->self, bar->place, bar->kind) >= hr__admission_limit_need(bar);
}

static struct hr_job_tree *closed_at(const struct hr__waiting *waiting, const struct hr__admission_limit *bar) {
  return &waiting->closed[bar_index(waiting, bar->place, bar->kind)];
}

static enum hr_status close_group(struct hr__waiting *waiting, struct hr__subqueue_group *group) {
  if (group->is_closed) return HR_OK;
  struct hr_job_entry entry = {hr__admission_limit_need(&group->bar), {group->number}, 0};
  group->is_closed = true;
  return hr_job_tree_insert(closed_at(waiting, &group->bar), entry) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status open_group(struct hr__waiting *waiting, struct hr__subqueue_group *group) {
  if (!group->is_closed) return HR_OK;
  group->is_closed = false;
  struct hr_job_tree *closed = closed_at(waiting, &group->bar);
  return hr_job_tree_remove(closed, hr__admission_limit_need(&group->bar), (hr_job){group->number}) ? HR_OK
                                                                                                    : HR_INTERNAL;
}

/* ---- Speakers --------------------------------------------------------------------------------------- */

static void let_speak(struct hr__subqueue_group *group, struct hr__subqueue *subqueue) {
  struct hr__shape *shape = group->shape;
  group->speaker = subqueue;
  group->next_spoken = subqueue->speaks_for;
  subqueue->speaks_for = group;
  group->last_in_shape = NULL;
  group->next_in_shape = shape->spoken_for;
  if (shape->spoken_for) shape->spoken_for->last_in_shape = group;
  shape->spoken_for = group;
}

static void silence(struct hr__subqueue_group *group) {
  struct hr__subqueue_group **at = &group->speaker->speaks_for;
  while (*at != group) at = &(*at)->next_spoken;
  *at = group->next_spoken;
  group->speaker = NULL;
  if (group->next_in_shape) group->next_in_shape->last_in_shape = group->last_in_shape;
  if (group->last_in_shape)
    group->last_in_shape->next_in_shape = group->next_in_shape;
  else
    group->shape->spoken_for = group->next_in_shape;
}

enum hr_status hr__subqueue_leave(struct hr__waiting *waiting, struct hr__subqueue *subqueue) {
  struct hr__subqueue_group *group = subqueue->group;
  struct hr__subqueue *last = waiting->parked[--waiting->n_parked];
  waiting->parked[subqueue->parked_at - 1] = last;
  last->parked_at = subqueue->parked_at;
  subqueue->parked_at = 0;
  subqueue->group = NULL;
  if (!hr_job_tree_remove(&group->subqueues, subqueue->listed.key, subqueue->listed.job)) return HR_INTERNAL;
  if (group->subqueues.count > 0) return HR_OK;
  if (group->speaker) silence(group);
  return open_group(waiting, group);
}

/* Nobody speaks for the group: the first does if it may, else the bar has closed it. */
static enum hr_status find_speaker(struct hr__waiting *waiting, struct hr__subqueue_group *group) {
  struct hr_job_entry first;
  if (!hr_job_tree_first(&group->subqueues, &first)) return open_group(waiting, group);
  if (!hr__group_has_room(waiting, group)) return close_group(waiting, group);
  struct hr__subqueue *subqueue = hr__subqueue_listed(waiting, first);
  enum hr_status status = open_group(waiting, group);
  if (status == HR_OK) status = hr__subqueue_leave(waiting, subqueue);
  if (group->subqueues.count > 0) let_speak(group, subqueue);
  return status == HR_OK ? hr__subqueue_list(waiting, subqueue) : status;
}

static enum hr_status join(struct hr__waiting *waiting, struct hr__subqueue *subqueue,
                           struct hr__subqueue_group *group) {
  waiting->parked = hr__roomy(waiting->arena, waiting->parked, waiting->n_parked, &waiting->parked_capacity,
                              sizeof(*waiting->parked));
  if (!waiting->parked || !hr_job_tree_insert(&group->subqueues, subqueue->listed)) return HR_NO_MEMORY;
  waiting->parked[waiting->n_parked++] = subqueue;
  subqueue->parked_at = waiting->n_parked;
  subqueue->group = group;
  if (group->speaker && hr__entry_before(subqueue->listed, group->speaker->listed)) silence(group);
  return group->speaker ? HR_OK : find_speaker(waiting, group);
}

static bool hr__group_is_held(const struct hr__subqueue_group *group, const struct hr__admission_limit *bar);

/* Whether the bar of `above` holds back all of the group if it does its speaker. */
static bool goes_on_below(const struct hr__subqueue_group *group, const struct hr__subqueue_group *above) {
  return group != above && group->of_preferred == above->of_preferred && hr__group_is_held(group, &above->bar);
}

/* Stands no longer for groups that may pass where it is parked now. */
static enum hr_status step_down(struct hr__waiting *waiting, struct hr__subqueue *subqueue,
                                const struct hr__subqueue_group *parked_in) {
  enum hr_status status = HR_OK;
  for (struct hr__subqueue_group *group = subqueue->speaks_for, *next; group && status == HR_OK; group = next) {
    next = group->next_spoken;
    if (goes_on_below(group, parked_in)) continue;
    silence(group);
    if (group != parked_in) status = find_speaker(waiting, group);
  }
  return status;
}

/* Whether the bar, which holds back one lane of the group, does so with all of them: as far as they need as much room.
 */
static bool hr__group_is_held(const struct hr__subqueue_group *group, const struct hr__admission_limit *bar) {
  return bar->place != HR_NONE && bar->place <= group->bar.place && bar->milli == group->bar.milli &&
         bar->spare == group->bar.spare;
}

enum hr_status hr__subqueue_still_speaks(struct hr__waiting *waiting, struct hr__subqueue *subqueue) {
  enum hr_status status = HR_OK;
  for (struct hr__subqueue_group *group = subqueue->speaks_for, *next; group && status == HR_OK; group = next) {
    struct hr_job_entry first;
    next = group->next_spoken;
    hr_job_tree_first(&group->subqueues, &first);
    bool is_first = subqueue->jobs.count > 0 && hr__entry_before(subqueue->listed, first);
    if (is_first && group->of_preferred == subqueue->is_preferred) continue;
    silence(group);
    status = find_speaker(waiting, group);
  }
  return status;
}

/* ---- Lanes ------------------------------------------------------------------------------------------ */

static enum hr_status hr__subqueue_park(struct hr__waiting *waiting, struct hr__subqueue *subqueue,
                                        const struct hr__admission_limit *bar) {
  struct hr__subqueue_group *group = group_for(waiting, subqueue->shape, bar, subqueue->is_preferred);
  if (!group) return HR_NO_MEMORY;
  enum hr_status status = hr__subqueue_unlist(subqueue);
  if (status == HR_OK) status = step_down(waiting, subqueue, group);
  if (status == HR_OK) status = join(waiting, subqueue, group);
  hr__shape_settle(waiting, subqueue->shape);
  return status;
}

/* Into its shape's lists again. */
static enum hr_status unpark(struct hr__waiting *waiting, struct hr__subqueue *subqueue) {
  enum hr_status status = hr__subqueue_leave(waiting, subqueue);
  return status == HR_OK ? hr__subqueue_list(waiting, subqueue) : status;
}

enum hr_status hr__subqueue_relist_parked(struct hr__waiting *waiting, struct hr__subqueue *subqueue,
                                          struct hr_job_entry now) {
  struct hr__subqueue_group *group = subqueue->group;
  if (!hr_job_tree_remove(&group->subqueues, subqueue->listed.key, subqueue->listed.job)) return HR_INTERNAL;
  subqueue->listed = now;
  if (!hr_job_tree_insert(&group->subqueues, now)) return HR_NO_MEMORY;
  if (!group->speaker || !hr__entry_before(now, group->speaker->listed)) return HR_OK;
  silence(group);
  return find_speaker(waiting, group);
}

/* It is preferred no longer, or again. */
static enum hr_status change_side(struct hr__waiting *waiting, struct hr__subqueue *subqueue) {
  enum hr_status status = HR_OK;
  if (subqueue->parked_at) {
    struct hr__admission_limit bar = subqueue->group->bar;
    status = hr__subqueue_leave(waiting, subqueue);
    subqueue->is_preferred = !subqueue->is_preferred;
    struct hr__subqueue_group *group = group_for(waiting, subqueue->shape, &bar, subqueue->is_preferred);
    if (!group) return HR_NO_MEMORY;
    if (status == HR_OK) status = step_down(waiting, subqueue, group);
    return status == HR_OK ? join(waiting, subqueue, group) : status;
  }
  status = hr__subqueue_unlist(subqueue);
  subqueue->is_preferred = !subqueue->is_preferred;
  if (status == HR_OK) status = hr__subqueue_list(waiting, subqueue);
  return status == HR_OK ? hr__subqueue_still_speaks(waiting, subqueue) : status;
}

/* ---- What is told ----------------------------------------------------------------------------------- */

static enum hr_status let_all_go(struct hr__waiting *waiting, struct hr__subqueue_group *group) {
  struct hr_job_entry first;
  enum hr_status status = HR_OK;
  while (status == HR_OK && hr_job_tree_first(&group->subqueues, &first))
    status = unpark(waiting, hr__subqueue_listed(waiting, first));
  return status;
}

enum hr_status hr__waiting_loosen(struct hr__waiting *waiting, uint32_t place, enum hr__admission_limit_kind kind) {
  const struct hr_job_tree *closed = &waiting->closed[bar_index(waiting, place, kind)];
  enum hr_status status = HR_OK;
  struct hr_job_entry least;
  if (closed->count == 0) return HR_OK;
  int64_t room = place == HR_NONE ? INT64_MAX : waiting->warden.room(waiting->self, place, kind);
  while (status == HR_OK && hr_job_tree_first(closed, &least) && least.key <= room) {
    struct hr__subqueue_group *group = waiting->groups[least.job.id];
    status = place == HR_NONE ? let_all_go(waiting, group) : find_speaker(waiting, group);
  }
  return status;
}

enum hr_status hr__waiting_release(struct hr__waiting *waiting, uint32_t owner) {
  enum hr_status status = HR_OK;
  for (struct hr__subqueue *subqueue = waiting->owned[owner]; subqueue && status == HR_OK;
       subqueue = subqueue->next_owned)
    if (subqueue->parked_at) status = unpark(waiting, subqueue);
  return status;
}

enum hr_status hr__waiting_prefer_anew(struct hr__waiting *waiting, uint32_t owner) {
  enum hr_status status = HR_OK;
  for (struct hr__subqueue *subqueue = waiting->owned[owner]; subqueue && status == HR_OK;
       subqueue = subqueue->next_owned)
    if (subqueue->is_preferred != waiting->warden.is_preferred(waiting->self, subqueue))
      status = change_side(waiting, subqueue);
  return status;
}

/* ---- Who is first ----------------------------------------------------------------------------------- */

/* Lists the first lane anew as long as its key has grown, and takes it out of the way as long as it is held back. */
static enum hr_status find_first(struct hr__waiting *waiting, struct hr__shape *shape) {
  enum hr_status status = HR_OK;
  struct hr_job_entry first;
  struct hr__admission_limit bar;
  while (status == HR_OK && hr_job_tree_first(hr__shape_list(waiting, shape), &first)) {
    struct hr__subqueue *subqueue = hr__subqueue_listed(waiting, first);
    if (hr__subqueue_has_grown(waiting, subqueue)) {
      status = hr__subqueue_relist(waiting, subqueue, true);
      continue;
    }
    if (!hr__subqueue_is_held(waiting, subqueue, &bar)) break;
    status = hr__subqueue_park(waiting, subqueue, &bar);
  }
  return status;
}

enum hr_status hr__waiting_find_first(struct hr__waiting *waiting) {
  enum hr_status status = HR_OK;
  if (!waiting->warden.is_held && !waiting->keys_grow) return HR_OK;
  for (uint32_t i = waiting->n_active; i-- > 0 && status == HR_OK;)
    status = find_first(waiting, hr__active_shape(waiting, i));
  return status;
}

enum hr_status hr__waiting_prefer(struct hr__waiting *waiting, bool preferred_only) {
  uint32_t *active = waiting->active, n_active = waiting->n_active, capacity = waiting->active_capacity;
  waiting->active = waiting->aside;
  waiting->n_active = waiting->n_aside;
  waiting->active_capacity = waiting->aside_capacity;
  waiting->aside = active;
  waiting->n_aside = n_active;
  waiting->aside_capacity = capacity;
  waiting->preferred_only = preferred_only;
  for (uint32_t i = waiting->n_active; i-- > 0;) hr__shape_settle(waiting, hr__active_shape(waiting, i));
  return hr__waiting_find_first(waiting);
}

/* All lanes of groups that another one stands for are listed. */
static enum hr_status hr__shape_spread(struct hr__waiting *waiting, struct hr__shape *shape) {
  enum hr_status status = HR_OK;
  for (struct hr__subqueue_group *group = shape->spoken_for, *next; group && status == HR_OK; group = next) {
    next = group->next_in_shape;
    if (hr__group_has_room(waiting, group)) status = let_all_go(waiting, group);
  }
  return status;
}

/* Beyond the first jobs of shapes: bounded searches, and walks down all jobs in order. See policies/waiting.h. */

/* ---- Searches --------------------------------------------------------------------------------------- */

/* Lists a lane anew if its key has grown by itself; the search then begins again. */
static bool moves_back(struct hr__waiting *waiting, struct hr__subqueue *subqueue, struct hr_job_entry *from) {
  if (!hr__subqueue_has_grown(waiting, subqueue)) return false;
  waiting->failed = waiting->failed || hr__subqueue_relist(waiting, subqueue, true) != HR_OK;
  *from = (struct hr_job_entry){HR__BEFORE_ALL, {0}, 0};
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
static bool find_in_subqueue(void *self, uint32_t name, bool in_it) {
  struct finding *finding = self;
  const struct hr__waiting *waiting = finding->waiting;
  const struct hr__subqueue *subqueue = hr__subqueue_of_job(waiting, name);
  struct hr_job_entry first = subqueue->head;
  hr__make_full(waiting, subqueue, &first);
  if (finding->found && !hr__entry_before(first, *finding->entry)) return false;
  if (!in_it || !hr_job_tree_next(&subqueue->jobs, HR__BEFORE_ALL, (hr_job){0}, finding->bound, &first)) return true;
  hr__make_full(waiting, subqueue, &first);
  if (!finding->found || hr__entry_before(first, *finding->entry)) *finding->entry = first;
  finding->found = true;
  return true;
}

static bool next_in_race(const struct hr__waiting *waiting, const struct hr__shape *shape, int64_t bound,
                         struct hr_job_entry *entry) {
  struct finding finding = {waiting, bound, entry, false};
  hr__kinetic_search(&shape->race, bound, find_in_subqueue, &finding);
  return finding.found;
}

/* The lane's first job within the bound, if it comes before what was found. */
static void look_in_subqueue(const struct hr__waiting *waiting, const struct hr__subqueue *subqueue,
                             struct finding *finding) {
  struct hr_job_entry first;
  if (!hr_job_tree_next(&subqueue->jobs, HR__BEFORE_ALL, (hr_job){0}, finding->bound, &first)) return;
  hr__make_full(waiting, subqueue, &first);
  if (!finding->found || hr__entry_before(first, *finding->entry)) *finding->entry = first;
  finding->found = true;
}

/* The next lane after `listed` in which a job could come before what was found; NULL: none. */
static struct hr__subqueue *next_to_look_in(const struct hr__waiting *waiting, const struct hr_job_tree *subqueues,
                                            const struct finding *finding, struct hr_job_entry *listed) {
  if (!hr_job_tree_next(subqueues, listed->key, listed->job, finding->bound, listed)) return NULL;
  if (finding->found && !hr__entry_before(*listed, *finding->entry)) return NULL;
  return hr__subqueue_listed(waiting, *listed);
}

/* Lanes that another one stands for. */
static void look_in_groups(const struct hr__waiting *waiting, const struct hr__shape *shape, struct finding *finding) {
  for (const struct hr__subqueue_group *group = shape->spoken_for; group; group = group->next_in_shape) {
    struct hr_job_entry listed = {HR__BEFORE_ALL, {0}, 0};
    const struct hr__subqueue *subqueue;
    struct hr__admission_limit bar;
    if (!hr__group_has_room(waiting, group)) continue;
    while ((subqueue = next_to_look_in(waiting, &group->subqueues, finding, &listed))) {
      bool held = hr__subqueue_is_held(waiting, subqueue, &bar);
      if (held && hr__group_is_held(group, &bar)) break;
      if (!held) look_in_subqueue(waiting, subqueue, finding);
    }
  }
}

/* Lanes that are listed. Those that are found to be held back are taken out of the way. */
static bool look_in_list(struct hr__waiting *waiting, const struct hr__shape *shape, struct finding *finding) {
  struct hr_job_entry listed = {HR__BEFORE_ALL, {0}, 0};
  struct hr__subqueue *subqueue;
  struct hr__admission_limit bar;
  while ((subqueue = next_to_look_in(waiting, &shape->subqueues, finding, &listed))) {
    if (moves_back(waiting, subqueue, &listed)) continue;
    if (!hr__subqueue_is_held(waiting, subqueue, &bar))
      look_in_subqueue(waiting, subqueue, finding);
    else if (hr__subqueue_park(waiting, subqueue, &bar) != HR_OK)
      return false;
  }
  return true;
}

bool hr__waiting_next(struct hr__waiting *waiting, struct hr__shape *shape, struct hr_job_entry last, int64_t bound,
                      struct hr_job_entry *entry) {
  if (!hr__has_subqueues(waiting)) return hr_job_tree_next(&shape->only->jobs, last.key, last.job, bound, entry);
  if (hr__is_race(waiting)) return next_in_race(waiting, shape, bound, entry);
  struct finding finding = {waiting, bound, entry, false};
  bool ok = !waiting->keys_grow || hr__shape_spread(waiting, shape) == HR_OK;
  look_in_groups(waiting, shape, &finding);
  ok = ok && look_in_list(waiting, shape, &finding);
  waiting->failed = waiting->failed || !ok;
  return finding.found;
}

/* ---- Walks ------------------------------------------------------------------------------------------ */

static bool is_above(const void *self, struct hr__cursor a, struct hr__cursor b) {
  (void)self;
  return hr__entry_before(a.entry, b.entry);
}

HR__HEAP(cursors, struct hr__cursor, is_above)

static struct hr__cursor cursor_at(const struct hr__waiting *waiting, struct hr__subqueue *subqueue,
                                   struct hr_job_entry at) {
  struct hr__cursor cursor = {subqueue, at, at};
  hr__make_full(waiting, subqueue, &cursor.entry);
  return cursor;
}

/* Looks for the next lane that this walk has not been in: removals move lanes backward in the list. */
static void look_for_next(const struct hr__waiting *waiting, struct hr__walk *walk) {
  walk->next = NULL;
  while (hr__has_subqueues(waiting) &&
         hr_job_tree_next(&walk->shape->subqueues, walk->came.key, walk->came.job, INT64_MAX, &walk->came)) {
    struct hr__subqueue *subqueue = hr__subqueue_listed(waiting, walk->came);
    struct hr__admission_limit bar;
    if (subqueue->walk == walk->number || hr__subqueue_is_held(waiting, subqueue, &bar)) continue;
    walk->next = subqueue;
    walk->next_entry = cursor_at(waiting, subqueue, subqueue->head).entry;
    return;
  }
}

static bool enter(struct hr__waiting *waiting, struct hr__walk *walk, struct hr__subqueue *subqueue) {
  struct hr__shape *shape = walk->shape;
  shape->cursors =
      hr__roomy(waiting->arena, shape->cursors, walk->n_cursors, &shape->cursors_capacity, sizeof *shape->cursors);
  if (!shape->cursors) return false;
  subqueue->walk = walk->number;
  cursors_rise(shape->cursors, walk->n_cursors++,
               cursor_at(waiting, subqueue, hr__has_subqueues(waiting) ? subqueue->head : walk->next_entry), NULL);
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

/* All lanes that may be walked are listed, as they stand now. Where keys grow by themselves a lane may have been listed
   before others that come before it by now; those that move back are come by twice. */
static bool list_all(struct hr__waiting *waiting, struct hr__shape *shape) {
  struct hr_job_entry listed = {HR__BEFORE_ALL, {0}, 0};
  if (hr__shape_spread(waiting, shape) != HR_OK) return false;
  while (waiting->keys_grow && hr_job_tree_next(&shape->subqueues, listed.key, listed.job, INT64_MAX, &listed))
    if (hr__subqueue_relist(waiting, hr__subqueue_listed(waiting, listed), true) != HR_OK) return false;
  return true;
}

bool hr__walk_begin(struct hr__waiting *waiting, struct hr__shape *shape, struct hr__walk *walk) {
  *walk = (struct hr__walk){.shape = shape, .came = {HR__BEFORE_ALL, {0}, 0}, .number = ++waiting->n_walks};
  if (!hr__has_subqueues(waiting)) {
    walk->next = shape->only;
    walk->next_entry = shape->head;
    return stand(waiting, walk);
  }
  if (!list_all(waiting, shape)) {
    walk->shape = NULL;
    return false;
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
  if (hr_job_tree_next(&top.subqueue->jobs, top.at.key, top.at.job, INT64_MAX, &at)) {
    cursors_sink(heap, walk->n_cursors, cursor_at(waiting, top.subqueue, at), NULL);
  } else {
    last = heap[--walk->n_cursors];
    if (walk->n_cursors > 0) cursors_sink(heap, walk->n_cursors, last, NULL);
  }
  return stand(waiting, walk);
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
         hr_job_tree_next(&walk->shape->subqueues, walk->came.key, walk->came.job, bound, &unused);
}

bool hr__walk_is_held(const struct hr__waiting *waiting, const struct hr__walk *walk) {
  struct hr__admission_limit bar;
  return hr__subqueue_is_held(waiting, walk->shape->cursors[0].subqueue, &bar);
}
