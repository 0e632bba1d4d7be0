/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A B+-tree of jobs with aggregates: see headroom/policy_kit.h.
 *
 * A leaf has up to 32 entries, and an inner node up to 32 children. Each member of the entries has its own array, so
 * that a search in a node reads few cache lines. A node is identified by its 32-bit index in the store. A node that
 * becomes empty is freed. Nodes that are nearly empty are not merged: jobs leave a queue from its front or at random
 * positions, and both leave few such nodes. If the new entry that splits a leaf comes after all entries of the leaf,
 * the new right leaf contains only this entry. Therefore a queue in arrival order fills its leaves.
 *
 * Some orders make a tree for each kind of job, so that most trees never have more than one entry. A tree with one
 * entry is a single, which takes 24 bytes, until a second entry is inserted. It then has a leaf until it is empty.
 */

#include "base/containers.h"
#include "headroom/policy.h"
#include "headroom/policy_kit.h"

#include <string.h>

enum { FANOUT = 32, MAX_DEPTH = 12, BLOCK_NODES = 64 };

/* The depth of a tree if its root is the index of a single. */
#define SINGLE UINT32_MAX

/* The first entry is at index `begin`. A removal of the first entry only increments `begin`, and moves no other entry.
 */
struct leaf {
  int64_t key[FANOUT];
  int64_t value[FANOUT];
  uint32_t job[FANOUT];
  uint32_t begin, count;
};

/* Child i contains the entries from (key[i], job[i]) on; the key of child 0 is not used. */
struct inner {
  int64_t key[FANOUT];
  int64_t min[FANOUT], sum[FANOUT]; /* by child: minimum and sum of the values below it */
  uint32_t job[FANOUT];
  uint32_t child[FANOUT];
  uint32_t count;
};

/* Items of equal size, in blocks that never move. */
struct pool {
  char **blocks;
  uint32_t count; /* number of items ever allocated; their places begin at 1 */
  uint32_t capacity;
  uint32_t first_free; /* head of the list of free items, each of which begins with the place of the next; 0: none */
};

struct hr_tree_store {
  struct hr_arena *arena;
  struct pool leaves, inners, singles;
};

/* ---- Nodes ---------------------------------------------------------------------------------------- */

struct hr_tree_store *hr_tree_store_create(struct hr_arena *arena) {
  struct hr_tree_store *store = hr_arena_alloc(arena, sizeof *store);
  if (store) store->arena = arena;
  return store;
}

static inline void *item_at(const struct pool *pool, uint32_t place, size_t bytes) {
  return pool->blocks[(place - 1) / BLOCK_NODES] + (place - 1) % BLOCK_NODES * bytes;
}

static struct leaf *leaf_at(const struct hr_tree_store *store, uint32_t place) {
  return item_at(&store->leaves, place, sizeof(struct leaf));
}

static struct inner *inner_at(const struct hr_tree_store *store, uint32_t place) {
  return item_at(&store->inners, place, sizeof(struct inner));
}

static struct hr_job_entry *single_at(const struct hr_tree_store *store, uint32_t place) {
  return item_at(&store->singles, place, sizeof(struct hr_job_entry));
}

/* Returns the place of an item of `bytes` bytes; 0: out of memory. */
static uint32_t make_item(struct hr_arena *arena, struct pool *pool, size_t bytes) {
  uint32_t place = pool->first_free, block = pool->count / BLOCK_NODES;
  if (place) {
    memcpy(&pool->first_free, item_at(pool, place, bytes), sizeof place);
    return place;
  }
  if (pool->count % BLOCK_NODES == 0) {
    if (!HR__ARENA_HAS_ROOM(arena, pool->blocks, block, pool->capacity)) return 0;
    pool->blocks[block] = hr_arena_alloc(arena, BLOCK_NODES * bytes);
    if (!pool->blocks[block]) return 0;
  }
  return ++pool->count;
}

static void drop_item(struct pool *pool, uint32_t place, size_t bytes) {
  memcpy(item_at(pool, place, bytes), &pool->first_free, sizeof place);
  pool->first_free = place;
}

/* Returns the place of an empty leaf; 0: out of memory. */
static uint32_t make_leaf(struct hr_tree_store *store) {
  uint32_t place = make_item(store->arena, &store->leaves, sizeof(struct leaf));
  if (place) leaf_at(store, place)->begin = leaf_at(store, place)->count = 0;
  return place;
}

/* Returns the only entry of a tree that is a single; NULL: the tree is empty or has nodes. */
static struct hr_job_entry *single_of(const struct hr_job_tree *tree) {
  return tree->root && tree->depth == SINGLE ? single_at(tree->store, tree->root) : NULL;
}

/* Returns whether an entry comes after (key, job). */
static bool comes_after(const struct hr_job_entry *entry, int64_t key, uint32_t job) {
  return entry->key != key ? entry->key > key : entry->job.id > job;
}

/* ---- Search in a node ----------------------------------------------------------------------------- */

/* Returns the number of sorted entries before (key, job). With `inclusive`, an entry equal to (key, job) counts, too.
 */
static uint32_t rank_in(const int64_t *keys, const uint32_t *jobs, uint32_t count, int64_t key, uint32_t job,
                        bool inclusive) {
  uint32_t low = 0, high = count;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    bool before = keys[middle] != key ? keys[middle] < key : jobs[middle] < job || (inclusive && jobs[middle] == job);
    if (before)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static uint32_t child_for(const struct inner *inner, int64_t key, uint32_t job) {
  return rank_in(inner->key + 1, inner->job + 1, inner->count - 1, key, job, true);
}

static int64_t min_of(const int64_t *values, uint32_t count) {
  int64_t min = INT64_MAX;
  for (uint32_t i = 0; i < count; i++) min = values[i] < min ? values[i] : min;
  return min;
}

/* Returns the minimum of the values. No value may be less than `bound`. Therefore, if the first value is equal to
   `bound`, the remaining values are not read. */
static int64_t min_above(const int64_t *values, uint32_t count, int64_t bound) {
  return count > 0 && values[0] == bound ? bound : min_of(values, count);
}

static int64_t sum_of(const int64_t *values, uint32_t count) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < count; i++) sum += values[i];
  return sum;
}

/* ---- Insertion ------------------------------------------------------------------------------------ */

/* The path from the root to a leaf: the inner node of each level, and the index of the child by which the path
   continues. */
struct path {
  struct inner *inner[MAX_DEPTH];
  uint32_t place[MAX_DEPTH], slot[MAX_DEPTH];
  uint32_t leaf;
};

static void descend(const struct hr_job_tree *tree, int64_t key, uint32_t job, struct path *path) {
  uint32_t place = tree->root;
  for (uint32_t level = 0; level < tree->depth; level++) {
    struct inner *inner = inner_at(tree->store, place);
    uint32_t slot = child_for(inner, key, job);
    path->inner[level] = inner;
    path->place[level] = place;
    path->slot[level] = slot;
    place = inner->child[slot];
  }
  path->leaf = place;
}

#define SHIFT_UP(column, at, count) memmove((column) + (at) + 1, (column) + (at), ((count) - (at)) * sizeof *(column))
#define SHIFT_DOWN(column, at, count)                                                                                  \
  memmove((column) + (at), (column) + (at) + 1, ((count) - (at)-1) * sizeof *(column))
#define MOVE_TAIL(to, from, at, count) memcpy((to), (from) + (at), ((count) - (at)) * sizeof *(to))

/* Returns the number of entries of the leaf before (key, job). With `inclusive`, an entry equal to (key, job) counts,
   too. */
static uint32_t leaf_rank(const struct leaf *leaf, int64_t key, uint32_t job, bool inclusive) {
  return rank_in(leaf->key + leaf->begin, leaf->job + leaf->begin, leaf->count, key, job, inclusive);
}

/* Moves the entries of a leaf to its start. */
static void leaf_slide_down(struct leaf *leaf) {
  memmove(leaf->key, leaf->key + leaf->begin, leaf->count * sizeof *leaf->key);
  memmove(leaf->value, leaf->value + leaf->begin, leaf->count * sizeof *leaf->value);
  memmove(leaf->job, leaf->job + leaf->begin, leaf->count * sizeof *leaf->job);
  leaf->begin = 0;
}

/* Inserts an entry into a leaf that is not full. */
static void leaf_insert(struct leaf *leaf, const struct hr_job_entry *entry) {
  if (leaf->begin + leaf->count == FANOUT) leaf_slide_down(leaf);
  uint32_t end = leaf->begin + leaf->count;
  uint32_t at = leaf->begin + leaf_rank(leaf, entry->key, entry->job.id, false);
  if (at < end) {
    SHIFT_UP(leaf->key, at, end);
    SHIFT_UP(leaf->value, at, end);
    SHIFT_UP(leaf->job, at, end);
  }
  leaf->key[at] = entry->key;
  leaf->value[at] = entry->value;
  leaf->job[at] = entry->job.id;
  leaf->count++;
}

static void leaf_take(struct leaf *leaf, uint32_t rank) {
  uint32_t end = leaf->begin + leaf->count, at = leaf->begin + rank;
  leaf->count--;
  if (rank == 0) {
    leaf->begin++;
    return;
  }
  SHIFT_DOWN(leaf->key, at, end);
  SHIFT_DOWN(leaf->value, at, end);
  SHIFT_DOWN(leaf->job, at, end);
}

static const int64_t *leaf_values(const struct leaf *leaf) {
  return leaf->value + leaf->begin;
}

/* The result of a split: a new child and its first entry. */
struct job_tree_split {
  uint32_t place; /* index of the new child; 0: no split */
  int64_t key, min, sum;
  uint32_t job;
};

/* Splits a full leaf (which has begin = 0), and inserts the entry into the left or the right leaf. False: out of
   memory. */
static bool leaf_split(struct hr_tree_store *store, struct leaf *leaf, const struct hr_job_entry *entry,
                       struct job_tree_split *split) {
  split->place = make_leaf(store);
  if (!split->place) return false;
  struct leaf *right = leaf_at(store, split->place);
  bool last = leaf_rank(leaf, entry->key, entry->job.id, false) == FANOUT;
  uint32_t at = last ? FANOUT : FANOUT / 2;
  MOVE_TAIL(right->key, leaf->key, at, FANOUT);
  MOVE_TAIL(right->value, leaf->value, at, FANOUT);
  MOVE_TAIL(right->job, leaf->job, at, FANOUT);
  right->count = FANOUT - at;
  leaf->count = at;
  bool goes_right = last || rank_in(right->key, right->job, 1, entry->key, entry->job.id, false) == 1;
  leaf_insert(goes_right ? right : leaf, entry);
  split->key = right->key[0];
  split->job = right->job[0];
  split->min = min_of(leaf_values(right), right->count);
  split->sum = sum_of(leaf_values(right), right->count);
  return true;
}

static void inner_put(struct inner *inner, uint32_t at, const struct job_tree_split *split) {
  SHIFT_UP(inner->key, at, inner->count);
  SHIFT_UP(inner->min, at, inner->count);
  SHIFT_UP(inner->sum, at, inner->count);
  SHIFT_UP(inner->job, at, inner->count);
  SHIFT_UP(inner->child, at, inner->count);
  inner->key[at] = split->key;
  inner->min[at] = split->min;
  inner->sum[at] = split->sum;
  inner->job[at] = split->job;
  inner->child[at] = split->place;
  inner->count++;
}

/* Splits a full inner node, and inserts the new child `below` after child `slot`. False: out of memory. */
static bool inner_split(struct hr_tree_store *store, struct inner *inner, uint32_t slot,
                        const struct job_tree_split *below, struct job_tree_split *split) {
  split->place = make_item(store->arena, &store->inners, sizeof(struct inner));
  if (!split->place) return false;
  struct inner *right = inner_at(store, split->place);
  uint32_t at = slot + 1 == FANOUT ? FANOUT - 1 : FANOUT / 2;
  MOVE_TAIL(right->key, inner->key, at, FANOUT);
  MOVE_TAIL(right->min, inner->min, at, FANOUT);
  MOVE_TAIL(right->sum, inner->sum, at, FANOUT);
  MOVE_TAIL(right->job, inner->job, at, FANOUT);
  MOVE_TAIL(right->child, inner->child, at, FANOUT);
  right->count = FANOUT - at;
  inner->count = at;
  if (slot >= at)
    inner_put(right, slot - at + 1, below);
  else
    inner_put(inner, slot + 1, below);
  split->key = right->key[0];
  split->job = right->job[0];
  split->min = min_of(right->min, right->count);
  split->sum = sum_of(right->sum, right->count);
  return true;
}

/* Adds a new root above the old root and the node that was split off it. False: out of memory. */
static bool grow_root(struct hr_job_tree *tree, const struct job_tree_split *split, int64_t min, int64_t sum) {
  uint32_t place = make_item(tree->store->arena, &tree->store->inners, sizeof(struct inner));
  if (!place || tree->depth + 1 == MAX_DEPTH) return false;
  struct inner *root = inner_at(tree->store, place);
  root->count = 1;
  root->key[0] = INT64_MIN;
  root->job[0] = 0;
  root->child[0] = tree->root;
  root->min[0] = min;
  root->sum[0] = sum;
  inner_put(root, 1, split);
  tree->root = place;
  tree->depth++;
  return true;
}

/* Propagates the split of a leaf up the path. `min` and `sum` are the minimum and the sum of the values that remain in
   the old (left) leaf. False: out of memory. */
static bool propagate_split(struct hr_job_tree *tree, struct path *path, struct job_tree_split split, int64_t min,
                            int64_t sum) {
  for (uint32_t level = tree->depth; level-- > 0;) {
    struct inner *inner = path->inner[level];
    uint32_t slot = path->slot[level];
    inner->min[slot] = min;
    inner->sum[slot] = sum;
    if (inner->count < FANOUT) {
      inner_put(inner, slot + 1, &split);
      return true;
    }
    struct job_tree_split above;
    if (!inner_split(tree->store, inner, slot, &split, &above)) return false;
    split = above;
    min = min_of(inner->min, inner->count);
    sum = sum_of(inner->sum, inner->count);
  }
  return grow_root(tree, &split, min, sum);
}

/* Adds a value to the aggregates of all inner nodes of the path. */
static void add_to_aggregates(const struct hr_job_tree *tree, struct path *path, int64_t value) {
  for (uint32_t level = 0; level < tree->depth; level++) {
    struct inner *inner = path->inner[level];
    uint32_t slot = path->slot[level];
    inner->sum[slot] += value;
    if (value < inner->min[slot]) inner->min[slot] = value;
  }
}

/* Inserts the first entry into an empty tree. False: out of memory. */
static bool insert_first(struct hr_job_tree *tree, const struct hr_job_entry *entry) {
  uint32_t place = make_item(tree->store->arena, &tree->store->singles, sizeof(struct hr_job_entry));
  if (!place) return false;
  *single_at(tree->store, place) = *entry;
  tree->root = place;
  tree->depth = SINGLE;
  tree->count = 1;
  tree->sum = entry->value;
  return true;
}

/* Moves the entry of a single to a leaf. False: out of memory. */
static bool make_root_leaf(struct hr_job_tree *tree) {
  uint32_t place = make_leaf(tree->store);
  if (!place) return false;
  leaf_insert(leaf_at(tree->store, place), single_of(tree));
  drop_item(&tree->store->singles, tree->root, sizeof(struct hr_job_entry));
  tree->root = place;
  tree->depth = 0;
  return true;
}

bool hr_job_tree_insert(struct hr_job_tree *tree, struct hr_job_entry entry) {
  if (!tree->root) return insert_first(tree, &entry);
  if (tree->depth == SINGLE && !make_root_leaf(tree)) return false;
  struct path path;
  descend(tree, entry.key, entry.job.id, &path);
  add_to_aggregates(tree, &path, entry.value);
  struct leaf *leaf = leaf_at(tree->store, path.leaf);
  if (leaf->count < FANOUT) {
    leaf_insert(leaf, &entry);
  } else {
    struct job_tree_split split;
    if (!leaf_split(tree->store, leaf, &entry, &split)) return false;
    if (!propagate_split(tree, &path, split, min_of(leaf_values(leaf), leaf->count),
                         sum_of(leaf_values(leaf), leaf->count)))
      return false;
  }
  tree->count++;
  tree->sum += entry.value;
  return true;
}

/* ---- Removal -------------------------------------------------------------------------------------- */

static void inner_remove(struct inner *inner, uint32_t at) {
  SHIFT_DOWN(inner->key, at, inner->count);
  SHIFT_DOWN(inner->min, at, inner->count);
  SHIFT_DOWN(inner->sum, at, inner->count);
  SHIFT_DOWN(inner->job, at, inner->count);
  SHIFT_DOWN(inner->child, at, inner->count);
  inner->count--;
}

/* Removes an empty leaf from its parent. If the parent becomes empty, it is removed in the same way. A root with one
   child is replaced by that child. */
static void prune(struct hr_job_tree *tree, struct path *path) {
  drop_item(&tree->store->leaves, path->leaf, sizeof(struct leaf));
  uint32_t level = tree->depth;
  while (level-- > 0) {
    inner_remove(path->inner[level], path->slot[level]);
    if (path->inner[level]->count > 0) break;
    drop_item(&tree->store->inners, path->place[level], sizeof(struct inner));
    if (level == 0) tree->root = tree->depth = 0;
  }
  if (tree->count == 0) {
    tree->root = tree->depth = 0;
    return;
  }
  while (tree->depth > 0 && inner_at(tree->store, tree->root)->count == 1) {
    uint32_t child = inner_at(tree->store, tree->root)->child[0];
    drop_item(&tree->store->inners, tree->root, sizeof(struct inner));
    tree->root = child;
    tree->depth--;
  }
}

/* Removes a value from the aggregates of the path. The leaf must have been updated before. The minimum of a node is
   computed again only if the removed value was equal to it. */
static void remove_from_aggregates(const struct hr_job_tree *tree, struct path *path, const struct leaf *leaf,
                                   int64_t value) {
  const int64_t *values = leaf_values(leaf);
  uint32_t count = leaf->count;
  bool was_min = true;
  for (uint32_t level = tree->depth; level-- > 0;) {
    struct inner *inner = path->inner[level];
    uint32_t slot = path->slot[level];
    inner->sum[slot] -= value;
    was_min = was_min && value == inner->min[slot];
    if (!was_min) continue;
    inner->min[slot] = min_above(values, count, value);
    values = inner->min;
    count = inner->count;
  }
}

static bool remove_single(struct hr_job_tree *tree, int64_t key, hr_job job) {
  const struct hr_job_entry *single = single_of(tree);
  if (single->key != key || single->job.id != job.id) return false;
  drop_item(&tree->store->singles, tree->root, sizeof(struct hr_job_entry));
  *tree = (struct hr_job_tree){.store = tree->store};
  return true;
}

bool hr_job_tree_remove(struct hr_job_tree *tree, int64_t key, hr_job job) {
  if (!tree->root) return false;
  if (tree->depth == SINGLE) return remove_single(tree, key, job);
  struct path path;
  descend(tree, key, job.id, &path);
  struct leaf *leaf = leaf_at(tree->store, path.leaf);
  uint32_t rank = leaf_rank(leaf, key, job.id, false), at = leaf->begin + rank;
  if (rank == leaf->count || leaf->key[at] != key || leaf->job[at] != job.id) return false;
  int64_t value = leaf->value[at];
  leaf_take(leaf, rank);
  tree->count--;
  tree->sum -= value;
  remove_from_aggregates(tree, &path, leaf, value);
  if (leaf->count == 0) prune(tree, &path);
  return true;
}

/* ---- Queries -------------------------------------------------------------------------------------- */

static struct hr_job_entry entry_at(const struct leaf *leaf, uint32_t rank) {
  uint32_t at = leaf->begin + rank;
  return (struct hr_job_entry){leaf->key[at], {leaf->job[at]}, leaf->value[at]};
}

bool hr_job_tree_first(const struct hr_job_tree *tree, struct hr_job_entry *entry) {
  if (!tree->root) return false;
  uint32_t place = tree->root;
  if (tree->depth == SINGLE) {
    *entry = *single_at(tree->store, place);
    return true;
  }
  for (uint32_t level = 0; level < tree->depth; level++) place = inner_at(tree->store, place)->child[0];
  *entry = entry_at(leaf_at(tree->store, place), 0);
  return true;
}

int64_t hr_job_tree_min(const struct hr_job_tree *tree) {
  if (!tree->root) return INT64_MAX;
  if (tree->depth == SINGLE) return single_at(tree->store, tree->root)->value;
  if (tree->depth == 0) {
    const struct leaf *leaf = leaf_at(tree->store, tree->root);
    return min_of(leaf_values(leaf), leaf->count);
  }
  const struct inner *root = inner_at(tree->store, tree->root);
  return min_of(root->min, root->count);
}

static bool leaf_next(const struct leaf *leaf, uint32_t from, int64_t bound, struct hr_job_entry *entry) {
  const int64_t *values = leaf_values(leaf);
  for (uint32_t rank = from; rank < leaf->count; rank++) {
    if (values[rank] > bound) continue;
    *entry = entry_at(leaf, rank);
    return true;
  }
  return false;
}

/* Finds the first entry with a value of at most `bound` below the node `place`, which is `height` levels above the
   leaves. Such an entry must exist. */
static void descend_to(const struct hr_tree_store *store, uint32_t place, uint32_t height, int64_t bound,
                       struct hr_job_entry *entry) {
  while (height-- > 0) {
    const struct inner *inner = inner_at(store, place);
    uint32_t slot = 0;
    while (inner->min[slot] > bound) slot++;
    place = inner->child[slot];
  }
  leaf_next(leaf_at(store, place), 0, bound, entry);
}

bool hr_job_tree_next(const struct hr_job_tree *tree, int64_t key, hr_job job, int64_t bound,
                      struct hr_job_entry *entry) {
  const struct hr_job_entry *single = single_of(tree);
  if (single) {
    if (single->value > bound || !comes_after(single, key, job.id)) return false;
    *entry = *single;
    return true;
  }
  if (!tree->root) return false;
  struct path path;
  descend(tree, key, job.id, &path);
  const struct leaf *leaf = leaf_at(tree->store, path.leaf);
  uint32_t from = leaf_rank(leaf, key, job.id, true);
  if (leaf_next(leaf, from, bound, entry)) return true;
  for (uint32_t level = tree->depth; level-- > 0;) {
    const struct inner *inner = path.inner[level];
    for (uint32_t slot = path.slot[level] + 1; slot < inner->count; slot++) {
      if (inner->min[slot] > bound) continue;
      descend_to(tree->store, inner->child[slot], tree->depth - 1 - level, bound, entry);
      return true;
    }
  }
  return false;
}

static bool visit_below(const struct hr_tree_store *store, uint32_t place, uint32_t height, hr_job_visit *visit,
                        void *self) {
  if (height == 0) {
    const struct leaf *leaf = leaf_at(store, place);
    for (uint32_t rank = 0; rank < leaf->count; rank++)
      if (!visit(self, entry_at(leaf, rank))) return false;
    return true;
  }
  const struct inner *inner = inner_at(store, place);
  for (uint32_t slot = 0; slot < inner->count; slot++)
    if (!visit_below(store, inner->child[slot], height - 1, visit, self)) return false;
  return true;
}

bool hr_job_tree_each(const struct hr_job_tree *tree, const struct hr_job_entry *after, hr_job_visit *visit,
                      void *self) {
  const struct hr_job_entry *single = single_of(tree);
  if (single) return (after && !comes_after(single, after->key, after->job.id)) || visit(self, *single);
  if (!tree->root) return true;
  if (!after) return visit_below(tree->store, tree->root, tree->depth, visit, self);
  struct path path;
  descend(tree, after->key, after->job.id, &path);
  const struct leaf *leaf = leaf_at(tree->store, path.leaf);
  for (uint32_t rank = leaf_rank(leaf, after->key, after->job.id, true); rank < leaf->count; rank++)
    if (!visit(self, entry_at(leaf, rank))) return false;
  for (uint32_t level = tree->depth; level-- > 0;) {
    const struct inner *inner = path.inner[level];
    for (uint32_t slot = path.slot[level] + 1; slot < inner->count; slot++)
      if (!visit_below(tree->store, inner->child[slot], tree->depth - 1 - level, visit, self)) return false;
  }
  return true;
}

static bool visit_below_back(const struct hr_tree_store *store, uint32_t place, uint32_t height, hr_job_visit *visit,
                             void *self) {
  if (height == 0) {
    const struct leaf *leaf = leaf_at(store, place);
    for (uint32_t rank = leaf->count; rank-- > 0;)
      if (!visit(self, entry_at(leaf, rank))) return false;
    return true;
  }
  const struct inner *inner = inner_at(store, place);
  for (uint32_t slot = inner->count; slot-- > 0;)
    if (!visit_below_back(store, inner->child[slot], height - 1, visit, self)) return false;
  return true;
}

bool hr_job_tree_each_back(const struct hr_job_tree *tree, hr_job_visit *visit, void *self) {
  const struct hr_job_entry *single = single_of(tree);
  if (single) return visit(self, *single);
  return !tree->root || visit_below_back(tree->store, tree->root, tree->depth, visit, self);
}

bool hr_job_tree_reach(const struct hr_job_tree *tree, int64_t sum, struct hr_job_entry *entry) {
  if (!tree->root || tree->sum < sum) return false;
  uint32_t place = tree->root;
  if (tree->depth == SINGLE) {
    *entry = *single_at(tree->store, place);
    return true;
  }
  for (uint32_t level = 0; level < tree->depth; level++) {
    const struct inner *inner = inner_at(tree->store, place);
    uint32_t slot = 0;
    while (inner->sum[slot] < sum && slot + 1 < inner->count) sum -= inner->sum[slot++];
    place = inner->child[slot];
  }
  const struct leaf *leaf = leaf_at(tree->store, place);
  const int64_t *values = leaf_values(leaf);
  uint32_t rank = 0;
  while (values[rank] < sum && rank + 1 < leaf->count) sum -= values[rank++];
  *entry = entry_at(leaf, rank);
  return true;
}

int64_t hr_job_tree_sum_to(const struct hr_job_tree *tree, int64_t key) {
  const struct hr_job_entry *single = single_of(tree);
  if (single) return single->key <= key ? single->value : 0;
  if (!tree->root) return 0;
  struct path path;
  descend(tree, key, UINT32_MAX, &path);
  int64_t sum = 0;
  for (uint32_t level = 0; level < tree->depth; level++) sum += sum_of(path.inner[level]->sum, path.slot[level]);
  const struct leaf *leaf = leaf_at(tree->store, path.leaf);
  return sum + sum_of(leaf_values(leaf), leaf_rank(leaf, key, UINT32_MAX, true));
}
