/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Beyond the first jobs of shapes: bounded searches, and walks down all jobs in order. See policies/waiting.h. */

#include "policies/waiting_lanes.h"

/* ---- Searches --------------------------------------------------------------------------------------- */

/* Lists a lane anew if its key has grown by itself; the search then begins again. */
static bool moves_back(struct hr__waiting *waiting, struct hr__lane *lane, struct hr_job_entry *from) {
  if (!waiting->keys_grow || hr__lane_listing(waiting, lane).key == lane->listed.key) return false;
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

bool hr__waiting_next(struct hr__waiting *waiting, const struct hr__shape *shape, struct hr_job_entry last,
                      int64_t bound, struct hr_job_entry *entry) {
  if (!hr__has_lanes(waiting)) return hr_job_tree_next(&shape->only->jobs, last.key, last.job, bound, entry);
  if (hr__is_race(waiting)) return next_in_race(waiting, shape, bound, entry);
  bool found = false;
  struct hr_job_entry listed = {HR__BEFORE_ALL, {0}, 0}, first;
  while (hr_job_tree_next(&shape->lanes, listed.key, listed.job, bound, &listed)) {
    if (found && !hr__entry_before(listed, *entry)) break; /* nor then is any of the jobs of this lane or a later one */
    struct hr__lane *lane = hr__lane_listed(waiting, listed);
    if (moves_back(waiting, lane, &listed)) found = false;
    if (listed.key == HR__BEFORE_ALL || hr__lane_is_held(waiting, lane)) continue;
    if (!hr_job_tree_next(&lane->jobs, HR__BEFORE_ALL, (hr_job){0}, bound, &first)) continue;
    hr__make_full(waiting, lane, &first);
    if (!found || hr__entry_before(first, *entry)) *entry = first;
    found = true;
  }
  return found;
}

/* ---- Walks ------------------------------------------------------------------------------------------ */

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
  hr__make_full(waiting, lane, &cursor.entry);
  return cursor;
}

/* Looks for the next lane that this walk has not been in: removals move lanes backward in the list. */
static void look_for_next(const struct hr__waiting *waiting, struct hr__walk *walk) {
  walk->next = NULL;
  while (hr__has_lanes(waiting) &&
         hr_job_tree_next(&walk->shape->lanes, walk->came.key, walk->came.job, INT64_MAX, &walk->came)) {
    struct hr__lane *lane = hr__lane_listed(waiting, walk->came);
    if (lane->walk == walk->number || hr__lane_is_held(waiting, lane)) continue;
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
  rise(shape->cursors, walk->n_cursors++,
       cursor_at(waiting, lane, hr__has_lanes(waiting) ? lane->head : walk->next_entry));
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
  struct hr_job_entry listed = {HR__BEFORE_ALL, {0}, 0};
  while (waiting->keys_grow && hr_job_tree_next(&shape->lanes, listed.key, listed.job, INT64_MAX, &listed))
    if (hr__lane_relist(waiting, hr__lane_listed(waiting, listed), true) != HR_OK) return false;
  return true;
}

bool hr__walk_begin(struct hr__waiting *waiting, struct hr__shape *shape, struct hr__walk *walk) {
  waiting->failed = waiting->failed || !list_all_anew(waiting, shape);
  *walk = (struct hr__walk){.shape = shape, .came = {HR__BEFORE_ALL, {0}, 0}, .number = ++waiting->n_walks};
  if (!hr__has_lanes(waiting)) {
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
  return hr__lane_is_held(waiting, walk->shape->cursors[0].lane);
}
