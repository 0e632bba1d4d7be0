/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Beyond the first jobs of shapes: bounded searches, and walks down all jobs in order. See policies/waiting.h. */

#include "policies/heap.h"
#include "policies/waiting_lanes.h"

/* ---- Searches --------------------------------------------------------------------------------------- */

/* Lists a lane anew if its key has grown by itself; the search then begins again. */
static bool moves_back(struct hr__waiting *waiting, struct hr__lane *lane, struct hr_job_entry *from) {
  if (!hr__lane_has_grown(waiting, lane)) return false;
  waiting->failed = waiting->failed || hr__lane_relist(waiting, lane, true) != HR_OK;
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
static bool find_in_lane(void *self, uint32_t name, bool in_it) {
  struct finding *finding = self;
  const struct hr__waiting *waiting = finding->waiting;
  const struct hr__lane *lane = hr__lane_of_job(waiting, name);
  struct hr_job_entry first = lane->head;
  hr__make_full(waiting, lane, &first);
  if (finding->found && !hr__entry_before(first, *finding->entry)) return false;
  if (!in_it || !hr_job_tree_next(&lane->jobs, HR__BEFORE_ALL, (hr_job){0}, finding->bound, &first)) return true;
  hr__make_full(waiting, lane, &first);
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

/* The lane's first job within the bound, if it comes before what was found. */
static void look_in_lane(const struct hr__waiting *waiting, const struct hr__lane *lane, struct finding *finding) {
  struct hr_job_entry first;
  if (!hr_job_tree_next(&lane->jobs, HR__BEFORE_ALL, (hr_job){0}, finding->bound, &first)) return;
  hr__make_full(waiting, lane, &first);
  if (!finding->found || hr__entry_before(first, *finding->entry)) *finding->entry = first;
  finding->found = true;
}

/* The next lane after `listed` in which a job could come before what was found; NULL: none. */
static struct hr__lane *next_to_look_in(const struct hr__waiting *waiting, const struct hr_job_tree *lanes,
                                        const struct finding *finding, struct hr_job_entry *listed) {
  if (!hr_job_tree_next(lanes, listed->key, listed->job, finding->bound, listed)) return NULL;
  if (finding->found && !hr__entry_before(*listed, *finding->entry)) return NULL;
  return hr__lane_listed(waiting, *listed);
}

/* Lanes that another one stands for. */
static void look_in_groups(const struct hr__waiting *waiting, const struct hr__shape *shape, struct finding *finding) {
  for (const struct hr__group *group = shape->spoken_for; group; group = group->next_in_shape) {
    struct hr_job_entry listed = {HR__BEFORE_ALL, {0}, 0};
    const struct hr__lane *lane;
    struct hr__bar bar;
    if (!hr__group_has_room(waiting, group)) continue;
    while ((lane = next_to_look_in(waiting, &group->lanes, finding, &listed))) {
      bool held = hr__lane_is_held(waiting, lane, &bar);
      if (held && hr__group_is_held(group, &bar)) break;
      if (!held) look_in_lane(waiting, lane, finding);
    }
  }
}

/* Lanes that are listed. Those that are found to be held back are taken out of the way. */
static bool look_in_list(struct hr__waiting *waiting, const struct hr__shape *shape, struct finding *finding) {
  struct hr_job_entry listed = {HR__BEFORE_ALL, {0}, 0};
  struct hr__lane *lane;
  struct hr__bar bar;
  while ((lane = next_to_look_in(waiting, &shape->lanes, finding, &listed))) {
    if (moves_back(waiting, lane, &listed)) continue;
    if (!hr__lane_is_held(waiting, lane, &bar))
      look_in_lane(waiting, lane, finding);
    else if (hr__lane_park(waiting, lane, &bar) != HR_OK)
      return false;
  }
  return true;
}

bool hr__waiting_next(struct hr__waiting *waiting, struct hr__shape *shape, struct hr_job_entry last, int64_t bound,
                      struct hr_job_entry *entry) {
  if (!hr__has_lanes(waiting)) return hr_job_tree_next(&shape->only->jobs, last.key, last.job, bound, entry);
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

static struct hr__cursor cursor_at(const struct hr__waiting *waiting, struct hr__lane *lane, struct hr_job_entry at) {
  struct hr__cursor cursor = {lane, at, at};
  hr__make_full(waiting, lane, &cursor.entry);
  return cursor;
}

/* Looks for the next lane that this walk has not been in: removals move lanes backward in the list. */
static void look_for_next(const struct hr__waiting *waiting, struct hr__walk *walk) {
  walk->next = NULL;
  while (hr__has_lanes(waiting) &&
         hr_job_tree_next(&walk->shape->lanes, walk->came.key, walk->came.job, INT64_MAX, &walk->came)) {
    struct hr__lane *lane = hr__lane_listed(waiting, walk->came);
    struct hr__bar bar;
    if (lane->walk == walk->number || hr__lane_is_held(waiting, lane, &bar)) continue;
    walk->next = lane;
    walk->next_entry = cursor_at(waiting, lane, lane->head).entry;
    return;
  }
}

static bool enter(struct hr__waiting *waiting, struct hr__walk *walk, struct hr__lane *lane) {
  struct hr__shape *shape = walk->shape;
  shape->cursors =
      hr__roomy(waiting->arena, shape->cursors, walk->n_cursors, &shape->cursors_capacity, sizeof *shape->cursors);
  if (!shape->cursors) return false;
  lane->walk = walk->number;
  cursors_rise(shape->cursors, walk->n_cursors++,
               cursor_at(waiting, lane, hr__has_lanes(waiting) ? lane->head : walk->next_entry), NULL);
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
  while (waiting->keys_grow && hr_job_tree_next(&shape->lanes, listed.key, listed.job, INT64_MAX, &listed))
    if (hr__lane_relist(waiting, hr__lane_listed(waiting, listed), true) != HR_OK) return false;
  return true;
}

bool hr__walk_begin(struct hr__waiting *waiting, struct hr__shape *shape, struct hr__walk *walk) {
  *walk = (struct hr__walk){.shape = shape, .came = {HR__BEFORE_ALL, {0}, 0}, .number = ++waiting->n_walks};
  if (!hr__has_lanes(waiting)) {
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
  if (hr_job_tree_next(&top.lane->jobs, top.at.key, top.at.job, INT64_MAX, &at)) {
    cursors_sink(heap, walk->n_cursors, cursor_at(waiting, top.lane, at), NULL);
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
        hr_job_tree_next(&cursor->lane->jobs, cursor->at.key, cursor->at.job, bound, &unused))
      return true;
  }
  if (!walk->next) return false;
  return walk->next->listed.value <= bound ||
         hr_job_tree_next(&walk->shape->lanes, walk->came.key, walk->came.job, bound, &unused);
}

bool hr__walk_is_held(const struct hr__waiting *waiting, const struct hr__walk *walk) {
  struct hr__bar bar;
  return hr__lane_is_held(waiting, walk->shape->cursors[0].lane, &bar);
}
