/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The release calendar: see headroom/policy_kit.h.
 *
 * A bin is a node, or a pool if GPUs are only counted. Each bin has a tree of its running jobs, sorted by expected end.
 * T(bin, g) is the earliest time at which the bin has g free GPUs. It is found by one search in the tree: the first job
 * at which the sum of the GPUs of the jobs up to it is large enough. For each (pool, g) that was ever queried, a
 * tournament over the pool's bins stores T(bin, g) in its leaves. The root contains the smallest time. The k smallest
 * times are found by descending from the root. A change of one bin updates one leaf of each tournament of the pool.
 *
 * When a job starts, its GPUs are subtracted at once, but its end is first only noted in a list; the job is inserted
 * into the trees at the next query. A job that ends before that query is never inserted. While no job waits, no queries
 * are made, so starts cost little.
 *
 * For gangs within one group of a tier, each (pool, nodes per group, GPUs) that was ever queried has a tournament over
 * the groups of the tier. Its values are the times at which the gang fits in each group. Groups with changed bins are
 * updated at the next query.
 */

#include "base/containers.h"
#include "headroom/policy.h"
#include "headroom/policy_kit.h"

/* The value of T(bin, g) if the bin has g free GPUs now. */
#define HR__NOW INT64_MIN

struct hr__release_bin {
  uint32_t size, free; /* number of GPUs */
  bool unusable;       /* no job may start on the node, so its GPUs never become available */
  struct hr_job_tree ends;
};

struct hr__release_tournament {
  uint32_t gpus;
  int64_t *time; /* [2 * leaves]; the root is 1, the leaf of bin i is leaves + i */
  struct hr__release_tournament *next;
};

struct hr__release_group { /* the bins of one pool */
  uint32_t first_bin, n_bins, bin_size;
  uint32_t leaves; /* a power of two */
  struct hr__release_tournament *tournaments;
  struct hr__release_group_tournament *group_tournaments;
};

/* A subtree of a tournament that may contain the next smallest time. */
struct hr__release_contender {
  int64_t time;
  uint32_t at;
};

/* A note: the part of a started job that is in one bin, and that is not in the tree of the bin yet. */
struct hr__release_note {
  int64_t end_us;
  hr_job job;
  uint32_t bin, gpus; /* gpus 0: deleted */
};

struct hr_release_calendar {
  struct hr_arena *arena;
  const struct hr_cluster *cluster;
  struct hr__release_note *notes;
  uint32_t n_notes, n_crossed, notes_capacity;
  uint32_t *noted_at; /* by job: index of its first note + 1; 0: no note. The notes of a job are consecutive. */
  bool by_node;
  uint32_t n_groups, n_bins;
  struct hr__release_group *groups;
  struct hr__release_bin *bins;
  struct hr__release_contender *contenders; /* [number of bins of the largest pool] */
  bool out_of_memory;
};

/* The bins with the indices `from` to `end` - 1 within their pool. */
struct hr__bin_range {
  uint32_t from, end;
};

static inline int64_t earlier(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Sets the time of a leaf, and updates its ancestors up to the first one that does not change. */
static inline void times_replay(int64_t *times, uint32_t leaf, int64_t time) {
  times[leaf] = time;
  for (uint32_t at = leaf / 2; at > 0; at /= 2) {
    int64_t winner = earlier(times[2 * at], times[2 * at + 1]);
    if (times[at] == winner) return;
    times[at] = winner;
  }
}

/* Returns the tournament of the pool for `gpus` GPUs, created if needed; NULL: out of memory. */
static const struct hr__release_tournament *
hr__release_calendar_tournament(struct hr_release_calendar *calendar, struct hr__release_group *group, uint32_t gpus);

static void group_tournaments_mark(struct hr__release_group_tournament *group_tournaments, uint32_t number);

enum { MILLI = 1000 };

/* ---- Construction --------------------------------------------------------------------------------- */

static bool is_up(const struct hr_cluster *cluster, hr_pool pool, uint32_t number) {
  hr_node node = {hr_cluster_first_node(cluster, pool).id + number};
  return hr_cluster_node_state(cluster, node) == HR_NODE_UP;
}

static void init_group(struct hr_release_calendar *calendar, struct hr_tree_store *store, hr_pool pool) {
  struct hr__release_group *group = &calendar->groups[pool.id];
  const struct hr_pool_spec *spec = hr_cluster_pool_spec(calendar->cluster, pool);
  group->first_bin = calendar->n_bins;
  group->n_bins = calendar->by_node ? spec->nodes : 1;
  group->bin_size = calendar->by_node ? spec->gpus_per_node : spec->nodes * spec->gpus_per_node;
  for (group->leaves = 1; group->leaves < group->n_bins;) group->leaves *= 2;
  for (uint32_t i = 0; i < group->n_bins; i++) {
    struct hr__release_bin *bin = &calendar->bins[calendar->n_bins++];
    bin->size = bin->free = group->bin_size;
    bin->ends.store = store;
    bin->unusable = calendar->by_node && !is_up(calendar->cluster, pool, i);
  }
}

struct hr_release_calendar *hr_release_calendar_create(struct hr_arena *arena, const struct hr_cluster *cluster,
                                                       enum hr_placement_rule rule, uint32_t n_jobs) {
  struct hr_release_calendar *calendar = hr_arena_alloc(arena, sizeof *calendar);
  struct hr_tree_store *store = hr_tree_store_create(arena);
  if (!calendar || !store) return NULL;
  uint32_t n_bins = 0, max_bins = 1;
  *calendar = (struct hr_release_calendar){.arena = arena, .cluster = cluster, .by_node = rule != HR_PLACE_POOL};
  calendar->n_groups = hr_cluster_pools(cluster);
  for (uint32_t i = 0; i < calendar->n_groups; i++) {
    uint32_t bins = calendar->by_node ? hr_cluster_pool_spec(cluster, (hr_pool){i})->nodes : 1;
    n_bins += bins;
    if (bins > max_bins) max_bins = bins;
  }
  if (!HR__ARENA_ARRAY(arena, calendar->groups, calendar->n_groups) ||
      !HR__ARENA_ARRAY(arena, calendar->bins, n_bins) || !HR__ARENA_ARRAY(arena, calendar->contenders, max_bins + 1) ||
      !HR__ARENA_ARRAY_BY_JOB(arena, calendar->noted_at, n_jobs))
    return NULL;
  for (uint32_t i = 0; i < calendar->n_groups; i++) init_group(calendar, store, (hr_pool){i});
  return calendar;
}

/* ---- Tournaments ---------------------------------------------------------------------------------- */

/* Returns T(bin, gpus); HR__NOW if that many GPUs are free now; HR_NEVER_US if the bin never has that many free GPUs.
 */
static int64_t bin_time(const struct hr__release_bin *bin, uint32_t gpus) {
  struct hr_job_entry last;
  if (bin->unusable) return HR_NEVER_US;
  if (bin->free >= gpus) return HR__NOW;
  return hr_job_tree_reach(&bin->ends, (int64_t)(gpus - bin->free), &last) ? last.key : HR_NEVER_US;
}

/* Updates the bin in all tournaments of its pool. */
static void replay_all(struct hr_release_calendar *calendar, const struct hr__release_group *group, uint32_t bin) {
  for (struct hr__release_tournament *each = group->tournaments; each; each = each->next)
    times_replay(each->time, group->leaves + bin - group->first_bin, bin_time(&calendar->bins[bin], each->gpus));
  if (group->group_tournaments) group_tournaments_mark(group->group_tournaments, bin - group->first_bin);
}

static struct hr__release_tournament *make_tournament(struct hr_release_calendar *calendar,
                                                      struct hr__release_group *group, uint32_t gpus) {
  struct hr__release_tournament *made = hr_arena_alloc(calendar->arena, sizeof *made);
  int64_t *times = hr_arena_alloc(calendar->arena, 2 * (size_t)group->leaves * sizeof *times);
  if (!made || !times) {
    calendar->out_of_memory = true;
    return NULL;
  }
  for (uint32_t i = 0; i < group->leaves; i++)
    times[group->leaves + i] = i < group->n_bins ? bin_time(&calendar->bins[group->first_bin + i], gpus) : HR_NEVER_US;
  for (uint32_t at = group->leaves - 1; at > 0; at--) times[at] = earlier(times[2 * at], times[2 * at + 1]);
  *made = (struct hr__release_tournament){gpus, times, group->tournaments};
  group->tournaments = made;
  return made;
}

static const struct hr__release_tournament *
hr__release_calendar_tournament(struct hr_release_calendar *calendar, struct hr__release_group *group, uint32_t gpus) {
  for (struct hr__release_tournament *each = group->tournaments; each; each = each->next)
    if (each->gpus == gpus) return each;
  return make_tournament(calendar, group, gpus);
}

static bool is_earlier(const void *self, struct hr__release_contender a, struct hr__release_contender b) {
  (void)self;
  return a.time < b.time;
}

HR__HEAP(contenders, struct hr__release_contender, is_earlier)

static void push(struct hr__release_contender *heap, uint32_t count, struct hr__release_contender contender) {
  contenders_rise(heap, count, contender, NULL);
}

static struct hr__release_contender pop(struct hr__release_contender *heap, uint32_t count) {
  struct hr__release_contender top = heap[0];
  contenders_sink(heap, count - 1, heap[count - 1], NULL);
  return top;
}

/* Pushes the largest subtrees that together cover exactly the range of leaves onto the heap. Returns the number of
   these subtrees. */
static uint32_t push_range(struct hr__release_contender *heap, const struct hr__release_tournament *tournament,
                           uint32_t from, uint32_t end) {
  uint32_t count = 0;
  for (; from < end; from /= 2, end /= 2) {
    if (from & 1) {
      push(heap, count++, (struct hr__release_contender){tournament->time[from], from});
      from++;
    }
    if (end & 1) {
      end--;
      push(heap, count++, (struct hr__release_contender){tournament->time[end], end});
    }
  }
  return count;
}

/* Returns the k-th smallest time of a range of bins; HR_NEVER_US: the range has fewer bins. The heap contains subtrees.
   The subtree with the earliest time is replaced by its two halves until a single bin is on top. This bin is removed,
   and the procedure is repeated for the next one. */
static int64_t release_calendar_kth_time(struct hr_release_calendar *calendar, const struct hr__release_group *group,
                                         const struct hr__release_tournament *tournament, struct hr__bin_range range,
                                         uint32_t k) {
  struct hr__release_contender *heap = calendar->contenders;
  if (k > range.end - range.from) return HR_NEVER_US;
  uint32_t count = push_range(heap, tournament, group->leaves + range.from, group->leaves + range.end);
  while (count > 0) {
    struct hr__release_contender best = pop(heap, count--);
    /* descend to the bin with the earliest time; the other child of each node remains on the heap */
    while (best.at < group->leaves) {
      uint32_t left = 2 * best.at, right = left + 1;
      bool left_wins = tournament->time[left] <= tournament->time[right];
      uint32_t loser = left_wins ? right : left;
      best = (struct hr__release_contender){best.time, left_wins ? left : right};
      if (tournament->time[loser] != HR_NEVER_US)
        push(heap, count++, (struct hr__release_contender){tournament->time[loser], loser});
    }
    if (--k == 0) return best.time;
  }
  return HR_NEVER_US;
}

/* ---- Notes ---------------------------------------------------------------------------------------- */

/* Moves a note within the list, and updates the index of its job. */
static void move_note(struct hr_release_calendar *calendar, uint32_t from, uint32_t to) {
  struct hr__release_note note = calendar->notes[from];
  calendar->notes[to] = note;
  if (calendar->noted_at[note.job.id] == from + 1) calendar->noted_at[note.job.id] = to + 1;
}

/* Reserves memory for one more note: removes deleted notes if they are more than half of the list, else doubles the
   list. */
static bool make_room(struct hr_release_calendar *calendar) {
  if (2 * calendar->n_crossed > calendar->n_notes) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < calendar->n_notes; i++)
      if (calendar->notes[i].gpus) move_note(calendar, i, kept++);
    calendar->n_notes = kept;
    calendar->n_crossed = 0;
    return true;
  }
  return HR__ARENA_HAS_ROOM(calendar->arena, calendar->notes, calendar->n_notes, calendar->notes_capacity);
}

/* Appends a note. False: out of memory. */
static bool write_note(struct hr_release_calendar *calendar, struct hr__release_note note) {
  if (calendar->n_notes == calendar->notes_capacity && !make_room(calendar)) return false;
  calendar->notes[calendar->n_notes++] = note;
  if (!calendar->noted_at[note.job.id]) calendar->noted_at[note.job.id] = calendar->n_notes;
  return true;
}

/* Deletes all notes of a job. */
static void cross_out(struct hr_release_calendar *calendar, hr_job job) {
  for (uint32_t i = calendar->noted_at[job.id] - 1; i < calendar->n_notes && calendar->notes[i].job.id == job.id; i++) {
    calendar->notes[i].gpus = 0;
    calendar->n_crossed++;
  }
  calendar->noted_at[job.id] = 0;
}

static struct hr__release_group *group_of_bin(struct hr_release_calendar *calendar, uint32_t bin) {
  uint32_t low = 0, high = calendar->n_groups - 1;
  while (low < high) {
    uint32_t middle = (low + high + 1) / 2;
    if (calendar->groups[middle].first_bin <= bin)
      low = middle;
    else
      high = middle - 1;
  }
  return &calendar->groups[low];
}

/* Inserts all notes into the trees, and updates the tournaments. */
static void release_calendar_settle(struct hr_release_calendar *calendar) {
  for (uint32_t i = 0; i < calendar->n_notes; i++) {
    struct hr__release_note note = calendar->notes[i];
    if (!note.gpus) continue;
    struct hr_job_entry entry = {note.end_us, note.job, note.gpus};
    if (!hr_job_tree_insert(&calendar->bins[note.bin].ends, entry)) calendar->out_of_memory = true;
    replay_all(calendar, group_of_bin(calendar, note.bin), note.bin);
    calendar->noted_at[note.job.id] = 0;
  }
  calendar->n_notes = calendar->n_crossed = 0;
}

/* ---- Queries -------------------------------------------------------------------------------------- */

/* Returns whether some acceptable pool has nodes that are large enough for the job. */
static bool release_calendar_single(const struct hr_release_calendar *calendar, uint32_t gpus, uint32_t accept_class) {
  for (uint32_t i = 0; i < calendar->n_groups; i++)
    if (calendar->groups[i].bin_size >= gpus && hr_cluster_accepts(calendar->cluster, accept_class, (hr_pool){i}))
      return true;
  return false;
}

/* Returns the earliest time at which k bins of the pool have `gpus` free GPUs each; HR_NEVER_US: never. */
static int64_t bins_time(struct hr_release_calendar *calendar, struct hr__release_group *group, uint32_t gpus,
                         uint32_t k) {
  if (group->n_bins == 1) return k == 1 ? bin_time(&calendar->bins[group->first_bin], gpus) : HR_NEVER_US;
  const struct hr__release_tournament *tournament = hr__release_calendar_tournament(calendar, group, gpus);
  if (!tournament) return HR_NEVER_US;
  struct hr__bin_range all = {0, group->n_bins};
  return k == 1 ? tournament->time[1] : release_calendar_kth_time(calendar, group, tournament, all, k);
}

/* Returns the earliest time at which a gang fits in a pool. The gang uses all GPUs of `whole` nodes, and r GPUs of one
   more node. It therefore needs `whole` wholly free nodes, and `whole` + 1 nodes with at least r free GPUs. Wholly free
   nodes count for both conditions, so the two times can be computed independently, and the later time is the result.
   HR_NEVER_US: the gang never fits. */
static int64_t group_time(struct hr_release_calendar *calendar, struct hr__release_group *group, uint32_t gpus,
                          bool is_single) {
  if (is_single) return group->bin_size >= gpus ? bins_time(calendar, group, gpus, 1) : HR_NEVER_US;
  uint32_t whole = gpus / group->bin_size, rest = gpus % group->bin_size;
  int64_t whole_time = bins_time(calendar, group, group->bin_size, whole);
  if (rest == 0 || whole_time == HR_NEVER_US) return whole_time;
  int64_t rest_time = bins_time(calendar, group, rest, whole + 1);
  return rest_time > whole_time ? rest_time : whole_time;
}

/* ---- Changes -------------------------------------------------------------------------------------- */

/* Returns the bin of a slice. The index of a bin is that of its node or, if GPUs are only counted, that of its pool. */
static uint32_t bin_of(const struct hr_placement *placement, uint32_t slice) {
  return placement->n_slices ? placement->slices[slice].node.id : placement->pool.id;
}

static uint32_t n_parts(const struct hr_placement *placement) {
  return placement->n_slices ? placement->n_slices : 1;
}

static uint32_t part_gpus(const struct hr_placement *placement, uint32_t slice, uint32_t gpus) {
  return placement->n_slices ? placement->slices[slice].gpu_milli / MILLI : gpus;
}

bool hr_release_calendar_add(struct hr_release_calendar *calendar, hr_job job, uint32_t gpus,
                             const struct hr_placement *placement, int64_t end_us) {
  if (gpus == 0) return true;
  for (uint32_t i = 0; i < n_parts(placement); i++) {
    uint32_t bin = bin_of(placement, i), part = part_gpus(placement, i, gpus);
    calendar->bins[bin].free -= part;
    if (!write_note(calendar, (struct hr__release_note){end_us, job, bin, part})) return false;
    replay_all(calendar, &calendar->groups[placement->pool.id], bin);
  }
  return !calendar->out_of_memory;
}

bool hr_release_calendar_remove(struct hr_release_calendar *calendar, hr_job job, uint32_t gpus,
                                const struct hr_placement *placement, int64_t end_us) {
  if (gpus == 0) return true;
  bool found = true, noted = calendar->noted_at[job.id] != 0;
  if (noted) cross_out(calendar, job);
  for (uint32_t i = 0; i < n_parts(placement); i++) {
    uint32_t bin = bin_of(placement, i);
    calendar->bins[bin].free += part_gpus(placement, i, gpus);
    if (!noted) found &= hr_job_tree_remove(&calendar->bins[bin].ends, end_us, job);
    replay_all(calendar, &calendar->groups[placement->pool.id], bin);
  }
  return found;
}

void hr_release_calendar_set_usable(struct hr_release_calendar *calendar, hr_pool pool, hr_node node, bool usable) {
  if (!calendar->by_node) return;
  if (calendar->bins[node.id].unusable == !usable) return;
  calendar->bins[node.id].unusable = !usable;
  replay_all(calendar, &calendar->groups[pool.id], node.id);
}

uint32_t hr_release_calendar_bin_free(const struct hr_release_calendar *calendar, uint32_t bin) {
  return calendar->bins[bin].unusable ? 0 : calendar->bins[bin].free;
}

const struct hr_job_tree *hr_release_calendar_bin_ends(struct hr_release_calendar *calendar, uint32_t bin) {
  static const struct hr_job_tree none = {0};
  if (calendar->n_notes) release_calendar_settle(calendar);
  return calendar->bins[bin].unusable ? &none : &calendar->bins[bin].ends;
}

/* ---- Gangs within groups of a tier ---------------------------------------------------------------- */

struct hr__release_group_tournament {
  uint32_t gpus, nodes_per_group, n_groups, leaves;
  int64_t *time;      /* [2 * leaves]; the root is 1, the leaf of group i is leaves + i */
  uint32_t *marked;   /* [n_groups]: the first n_marked elements are the groups to be updated */
  uint8_t *is_marked; /* [n_groups] */
  uint32_t n_marked;
  struct hr__release_group_tournament *next;
};

static void mark(struct hr__release_group_tournament *group_tournament, uint32_t group) {
  if (group_tournament->is_marked[group]) return;
  group_tournament->is_marked[group] = true;
  group_tournament->marked[group_tournament->n_marked++] = group;
}

/* Marks the group of a changed bin, in each tournament over groups, for an update at the next query. */
static void group_tournaments_mark(struct hr__release_group_tournament *group_tournaments, uint32_t number) {
  for (; group_tournaments; group_tournaments = group_tournaments->next)
    mark(group_tournaments, number / group_tournaments->nodes_per_group);
}

static struct hr__release_group_tournament *make_race(struct hr_release_calendar *calendar,
                                                      struct hr__release_group *pool, uint32_t nodes_per_group,
                                                      uint32_t gpus) {
  struct hr_arena *arena = calendar->arena;
  struct hr__release_group_tournament *group_tournament = hr_arena_alloc(arena, sizeof *group_tournament);
  if (!group_tournament) return NULL;
  *group_tournament = (struct hr__release_group_tournament){
      .gpus = gpus, .nodes_per_group = nodes_per_group, .leaves = 1, .next = pool->group_tournaments};
  group_tournament->n_groups = (pool->n_bins + nodes_per_group - 1) / nodes_per_group;
  while (group_tournament->leaves < group_tournament->n_groups) group_tournament->leaves *= 2;
  if (!HR__ARENA_ARRAY(arena, group_tournament->time, 2 * (size_t)group_tournament->leaves) ||
      !HR__ARENA_ARRAY(arena, group_tournament->marked, group_tournament->n_groups) ||
      !HR__ARENA_ARRAY(arena, group_tournament->is_marked, group_tournament->n_groups))
    return NULL;
  for (uint32_t i = 0; i < 2 * group_tournament->leaves; i++) group_tournament->time[i] = HR_NEVER_US;
  for (uint32_t group = 0; group < group_tournament->n_groups; group++) mark(group_tournament, group);
  pool->group_tournaments = group_tournament;
  return group_tournament;
}

static struct hr__release_group_tournament *race_for(struct hr_release_calendar *calendar,
                                                     struct hr__release_group *pool, uint32_t nodes_per_group,
                                                     uint32_t gpus) {
  for (struct hr__release_group_tournament *each = pool->group_tournaments; each; each = each->next)
    if (each->gpus == gpus && each->nodes_per_group == nodes_per_group) return each;
  struct hr__release_group_tournament *made = make_race(calendar, pool, nodes_per_group, gpus);
  if (!made) calendar->out_of_memory = true;
  return made;
}

/* Returns the earliest time at which the gang fits in a range of bins, by the conditions of group_time. HR_NEVER_US:
   never, or out of memory. */
static int64_t range_time(struct hr_release_calendar *calendar, struct hr__release_group *pool,
                          struct hr__bin_range range, uint32_t gpus) {
  uint32_t whole = gpus / pool->bin_size, rest = gpus % pool->bin_size;
  const struct hr__release_tournament *wholly = hr__release_calendar_tournament(calendar, pool, pool->bin_size);
  const struct hr__release_tournament *partly = rest ? hr__release_calendar_tournament(calendar, pool, rest) : wholly;
  if (!wholly || !partly) return HR_NEVER_US;
  int64_t whole_time = release_calendar_kth_time(calendar, pool, wholly, range, whole);
  if (rest == 0 || whole_time == HR_NEVER_US) return whole_time;
  int64_t rest_time = release_calendar_kth_time(calendar, pool, partly, range, whole + 1);
  return rest_time > whole_time ? rest_time : whole_time;
}

static int64_t pool_time(struct hr_release_calendar *calendar, struct hr__release_group *pool, uint32_t nodes_per_group,
                         uint32_t gpus) {
  struct hr__release_group_tournament *group_tournament = race_for(calendar, pool, nodes_per_group, gpus);
  if (!group_tournament) return HR_NEVER_US;
  while (group_tournament->n_marked > 0) {
    uint32_t group = group_tournament->marked[--group_tournament->n_marked], from = group * nodes_per_group,
             end = from + nodes_per_group;
    struct hr__bin_range range = {from, end < pool->n_bins ? end : pool->n_bins};
    group_tournament->is_marked[group] = false;
    times_replay(group_tournament->time, group_tournament->leaves + group, range_time(calendar, pool, range, gpus));
  }
  return group_tournament->time[1];
}

/* ---- Earliest times ------------------------------------------------------------------------------- */

/* For gangs that do not fit on one node: returns the earliest time at which a gang fits in one group of the tier, in
   the given pool; HR_NEVER_US: never, or out of memory. */
static int64_t tier_time(struct hr_release_calendar *calendar, hr_pool pool, enum hr_tier tier, uint32_t gpus) {
  const struct hr_pool_spec *spec = hr_cluster_pool_spec(calendar->cluster, pool);
  if (tier <= HR_TIER_NODE) return HR_NEVER_US;
  return pool_time(calendar, &calendar->groups[pool.id], hr_topology_nodes(&spec->topology, tier, spec->nodes), gpus);
}

int64_t hr_release_calendar_earliest(struct hr_release_calendar *calendar, enum hr_tier tier, uint32_t gpus,
                                     uint32_t accept_class, int64_t now_us) {
  release_calendar_settle(calendar);
  bool is_single = release_calendar_single(calendar, gpus, accept_class);
  int64_t earliest_us = HR_NEVER_US;
  for (uint32_t i = 0; i < calendar->n_groups; i++) {
    if (!hr_cluster_accepts(calendar->cluster, accept_class, (hr_pool){i})) continue;
    earliest_us = earlier(earliest_us, tier == HR_TIER_ANY || is_single
                                           ? group_time(calendar, &calendar->groups[i], gpus, is_single)
                                           : tier_time(calendar, (hr_pool){i}, tier, gpus));
  }
  return earliest_us > now_us ? earliest_us : now_us + 1;
}

/* Subtracts the GPUs of a placement from the free GPUs of its bins, for a job that runs beyond the time for which the
   caller checks the free capacity. With fewer free GPUs, the times T are those that hold if these GPUs are never
   released. `back`: reverts such a call. */
static void release_calendar_shrink(struct hr_release_calendar *calendar, const struct hr_placement *placement,
                                    uint32_t gpus, bool back) {
  for (uint32_t i = 0; i < n_parts(placement); i++) {
    uint32_t at = bin_of(placement, i), part = part_gpus(placement, i, gpus);
    calendar->bins[at].free += back ? part : (uint32_t)-part;
    replay_all(calendar, &calendar->groups[placement->pool.id], at);
  }
}

bool hr_release_calendar_allow(struct hr_release_calendar *calendar, const struct hr_placement *placement,
                               uint32_t taken, enum hr_tier tier, uint32_t gpus, uint32_t accept_class, int64_t at_us,
                               int64_t now_us) {
  if (taken == 0) return true;
  release_calendar_shrink(calendar, placement, taken, false);
  int64_t earliest_us = hr_release_calendar_earliest(calendar, tier, gpus, accept_class, now_us);
  release_calendar_shrink(calendar, placement, taken, true);
  return earliest_us <= at_us;
}
