/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The choice of nodes of select/cons_tres; see slurm.h. Invariant: `at_least` agrees with `used`; while `has_releases`
 * is set, `releases` agree with the running jobs.
 */

#include "policies/slurm/slurm.h"

#include "base/containers.h"

#include <string.h>

/* The length of the first batch of running jobs. */
#define FIRST_BATCH_US (30 * HR_SECOND_US)

enum { WHOLE_MILLI = 1000 };

static bool has(const uint64_t *set, uint32_t node) {
  return set[node / 64] >> node % 64 & 1;
}

static uint32_t count_of(const uint64_t *a, const uint64_t *b, uint32_t n_words) {
  uint32_t count = 0;
  for (uint32_t w = 0; w < n_words; w++) count += (uint32_t)__builtin_popcountll(a[w] & b[w]);
  return count;
}

/* The number of free GPUs if `used` are in use. In a recorded state, times are whole seconds, so more GPUs may be in
   use than the node has. */
static uint32_t free_of(const struct hr__slurm_nodes *nodes, uint32_t node, uint32_t used) {
  return used < nodes->gpus[node] ? nodes->gpus[node] - used : 0;
}

static uint64_t *at_least(const struct hr__slurm_nodes *nodes, uint32_t gpus) {
  return nodes->at_least + (size_t)gpus * nodes->n_words;
}

bool hr__slurm_nodes_create(struct hr__slurm_nodes *nodes, struct hr_arena *arena, const uint32_t *gpus,
                            uint32_t n_nodes, int64_t origin_us) {
  *nodes = (struct hr__slurm_nodes){
      .n_nodes = n_nodes, .n_words = (n_nodes + 63) / 64, .gpus = gpus, .origin_us = origin_us};
  uint64_t sum = 0;
  for (uint32_t n = 0; n < n_nodes; n++) {
    sum += gpus[n];
    if (gpus[n] > nodes->max_gpus) nodes->max_gpus = gpus[n];
  }
  size_t n_counts = (size_t)nodes->max_gpus + 1, n_words = nodes->n_words;
  if (!HR__ARENA_ARRAY(arena, nodes->used, n_nodes + 1) || !HR__ARENA_ARRAY(arena, nodes->chosen, n_nodes + 1) ||
      !HR__ARENA_ARRAY(arena, nodes->future, n_nodes + 1) ||
      !HR__ARENA_ARRAY(arena, nodes->at_least, n_counts * n_words + 1) ||
      !HR__ARENA_ARRAY(arena, nodes->releases, n_counts * n_nodes + 1) ||
      !HR__ARENA_ARRAY(arena, nodes->n_releases, n_counts) || !HR__ARENA_ARRAY(arena, nodes->full, n_words + 1) ||
      !HR__ARENA_ARRAY(arena, nodes->last, n_words + 1) || !HR__ARENA_ARRAY(arena, nodes->running, (size_t)(sum + 1)))
    return false;
  for (uint32_t n = 0; n < n_nodes; n++)
    for (uint32_t g = 0; g <= gpus[n]; g++) at_least(nodes, g)[n / 64] |= UINT64_C(1) << n % 64;
  return true;
}

/* ---- CPUs and memory -------------------------------------------------------------------------------- */

bool hr__slurm_nodes_limit(struct hr__slurm_nodes *nodes, struct hr_arena *arena, uint32_t n_jobs) {
  size_t n = (size_t)nodes->n_nodes + 1;
  return HR__ARENA_ARRAY(arena, nodes->cpu_milli, n) && HR__ARENA_ARRAY(arena, nodes->mem_mib, n) &&
         HR__ARENA_ARRAY(arena, nodes->future_cpu, n) && HR__ARENA_ARRAY(arena, nodes->future_mem, n) &&
         HR__ARENA_ARRAY(arena, nodes->running, (size_t)n_jobs + 1);
}

/* Whether numbers of free whole GPUs do not suffice to decide on which nodes a job fits: GPUs are shared, or the job
   requests CPUs or memory. */
static bool is_limited(const struct hr__slurm_nodes *nodes, const struct hr__slurm_shape *shape) {
  return nodes->gpu_milli || (nodes->cpu_milli && (shape->cpu_milli || shape->mem_mib));
}

/* ---- Shared GPUs ------------------------------------------------------------------------------------ */

bool hr__slurm_nodes_share(struct hr__slurm_nodes *nodes, struct hr_arena *arena) {
  size_t count = (size_t)nodes->n_nodes * nodes->max_gpus;
  if (!HR__ARENA_ARRAY(arena, nodes->gpu_milli, count + 1) || !HR__ARENA_ARRAY(arena, nodes->future_milli, count + 1) ||
      !HR__ARENA_ARRAY(arena, nodes->chosen_gpus, (size_t)nodes->n_nodes + 1))
    return false;
  for (uint32_t n = 0; n < nodes->n_nodes; n++)
    for (uint32_t g = 0; g < nodes->gpus[n]; g++) nodes->gpu_milli[(size_t)n * nodes->max_gpus + g] = WHOLE_MILLI;
  return true;
}

static uint32_t share_of(const struct hr__slurm_shape *shape) {
  return shape->gpu_milli ? shape->gpu_milli : WHOLE_MILLI;
}

uint64_t hr__slurm_first_gpus(const struct hr__slurm_nodes *nodes, const uint16_t *milli,
                              const struct hr__slurm_shape *shape, uint32_t node, uint32_t gpus) {
  uint64_t set = 0;
  uint32_t share = share_of(shape), count = 0;
  milli += (size_t)node * nodes->max_gpus;
  for (uint32_t g = 0; g < nodes->gpus[node] && count < gpus; g++) {
    if (milli[g] < share) continue;
    set |= UINT64_C(1) << g;
    count++;
  }
  return set;
}

static bool has_gpus(const struct hr__slurm_nodes *nodes, const uint16_t *milli, const struct hr__slurm_shape *shape,
                     uint32_t node, uint32_t gpus) {
  return (uint32_t)__builtin_popcountll(hr__slurm_first_gpus(nodes, milli, shape, node, gpus)) == gpus;
}

/* The memory of a running job. If GPUs are shared, the sets of its GPUs precede the numbers of its nodes. */
static uint32_t *memory_of(const struct hr__slurm_nodes *nodes, const struct hr__slurm_running *running) {
  return running->nodes - (hr__slurm_words(nodes, running->shape.nodes) - running->shape.nodes);
}

uint64_t hr__slurm_gpus_of(const struct hr__slurm_nodes *nodes, const struct hr__slurm_running *running,
                           uint32_t index) {
  uint64_t set = 0;
  if (nodes->gpu_milli) memcpy(&set, memory_of(nodes, running) + 2 * (size_t)index, sizeof set);
  return set;
}

/* Allocates a fraction of each GPU of a set (`sign` 1) or releases it (-1). Returns by how much the number of used GPUs
   increases. */
static int32_t take_share(const struct hr__slurm_nodes *nodes, uint16_t *milli, const struct hr__slurm_shape *shape,
                          uint32_t node, uint64_t set, int32_t sign) {
  int32_t share = (int32_t)share_of(shape) * sign, change = 0;
  for (; set; set &= set - 1) {
    uint16_t *at = &milli[(size_t)node * nodes->max_gpus + (uint32_t)__builtin_ctzll(set)];
    change -= *at < WHOLE_MILLI;
    *at = (uint16_t)(*at - share);
    change += *at < WHOLE_MILLI;
  }
  return change;
}

/* ---- GPUs and shards -------------------------------------------------------------------------------- */

bool hr__slurm_gres_fit(const struct hr__slurm_gpu *gpus, uint32_t n_gpus, uint32_t whole, uint32_t shards,
                        bool several) {
  uint32_t n_free = 0, most = 0, most_shared = 0;
  uint64_t sum_shared = 0;
  for (uint32_t i = 0; i < n_gpus; i++) {
    uint32_t free_shards = hr__slurm_shards_free(&gpus[i]);
    if (hr__slurm_gpu_is_free(&gpus[i])) {
      n_free++;
      if (free_shards > most) most = free_shards;
    } else {
      sum_shared += free_shards;
      if (free_shards > most_shared) most_shared = free_shards;
    }
  }
  if (whole > n_free) return false;
  if (shards == 0) return true;
  // unused GPUs that are left after `whole` of them are allocated; all unused GPUs of a node have the same number of
  // shards
  uint32_t n_left = n_free - whole;
  if (several) return shards <= sum_shared + (uint64_t)n_left * most;
  return shards <= most_shared || (n_left > 0 && shards <= most);
}

/* ---- Nodes with room -------------------------------------------------------------------------------- */

static bool has_rest(int64_t cpu_milli, int64_t mem_mib, const struct hr__slurm_shape *shape) {
  return cpu_milli >= (int64_t)shape->cpu_milli && mem_mib >= (int64_t)shape->mem_mib;
}

/* Removes the nodes that have too few free CPUs, too little free memory or too few GPUs with room from a set. */
static void remove_full(const struct hr__slurm_nodes *nodes, const struct hr__slurm_shape *shape, uint32_t gpus,
                        uint64_t *set) {
  for (uint32_t w = 0; w < nodes->n_words; w++)
    for (uint64_t rest = set[w]; rest; rest &= rest - 1) {
      uint32_t node = w * 64 + (uint32_t)__builtin_ctzll(rest);
      if (!has_rest(nodes->cpu_milli[node], nodes->mem_mib[node], shape) ||
          (shape->gpu_milli && !has_gpus(nodes, nodes->gpu_milli, shape, node, gpus)))
        set[w] &= ~(rest & ~(rest - 1));
    }
}

/* Writes to `full` the nodes of a set that have room for `gpus_per_node` GPUs of a job now, and to `last` those that
   have room for `last_gpus` GPUs. */
static void list_free(const struct hr__slurm_nodes *nodes, const struct hr__slurm_shape *shape, const uint64_t *set) {
  bool is_shared = shape->gpu_milli > 0;
  const uint64_t *full = at_least(nodes, is_shared ? 0 : shape->gpus_per_node),
                 *last = at_least(nodes, is_shared ? 0 : shape->last_gpus);
  for (uint32_t w = 0; w < nodes->n_words; w++) {
    nodes->full[w] = set[w] & full[w];
    nodes->last[w] = set[w] & last[w];
  }
  if (!is_limited(nodes, shape)) return;
  remove_full(nodes, shape, shape->gpus_per_node, nodes->full);
  remove_full(nodes, shape, shape->last_gpus, nodes->last);
}

/* ---- Choosing nodes --------------------------------------------------------------------------------- */

/* A run of consecutive nodes that can be used. */
struct node_run {
  uint32_t first, count;
};

/* Returns the first node from `from` on that is in the set (`flip` 0) or not in it (`flip` UINT64_MAX). */
static uint32_t next_node(const uint64_t *set, uint32_t n_words, uint32_t from, uint64_t flip) {
  uint64_t mask = UINT64_MAX << from % 64;
  for (uint32_t w = from / 64; w < n_words; w++, mask = UINT64_MAX) {
    uint64_t word = (set[w] ^ flip) & mask;
    if (word) return w * 64 + (uint32_t)__builtin_ctzll(word);
  }
  return n_words * 64;
}

/* Finds the run to use next for a job that still needs `wanted` nodes: the smallest run that suffices, or the largest
   if none suffices. Of equally long runs, the first is chosen. */
static struct node_run best_run(const uint64_t *set, uint32_t n_words, uint32_t wanted) {
  struct node_run best = {0, 0};
  for (uint32_t at = next_node(set, n_words, 0, 0); at < n_words * 64;) {
    uint32_t end = next_node(set, n_words, at, UINT64_MAX);
    const struct node_run run = {at, end - at};
    if (run.count == wanted) return run;
    bool suffices = run.count > wanted, best_suffices = best.count > wanted;
    if (suffices ? !best_suffices || run.count < best.count : !best_suffices && run.count > best.count) best = run;
    at = next_node(set, n_words, end, 0);
  }
  return best;
}

/* Takes up to `wanted` nodes of the set `from`, run by run: removes them from the scratch sets `full` and `last`, and
   appends them to the `n_chosen` chosen nodes. `from` must be one of these sets. Returns the new number of chosen
   nodes. */
static uint32_t take_nodes(struct hr__slurm_nodes *nodes, const uint64_t *from, uint32_t wanted, uint32_t n_chosen) {
  while (wanted > 0) {
    struct node_run run = best_run(from, nodes->n_words, wanted);
    if (run.count == 0) break;
    for (uint32_t i = 0; i < run.count && wanted > 0; i++, wanted--) {
      uint32_t node = run.first + i;
      nodes->chosen[n_chosen++] = node;
      nodes->full[node / 64] &= ~(UINT64_C(1) << node % 64);
      nodes->last[node / 64] &= ~(UINT64_C(1) << node % 64);
    }
  }
  return n_chosen;
}

/* The number of nodes of a shape that need `gpus_per_node` GPUs; the last node may need fewer. */
static uint32_t full_nodes(const struct hr__slurm_shape *shape) {
  return shape->last_gpus < shape->gpus_per_node ? shape->nodes - 1 : shape->nodes;
}

/* Chooses nodes: all but the last one from the scratch set `full`, the last one from `last`, which contains `full`.
   Returns false if there are too few nodes. */
static bool choose(struct hr__slurm_nodes *nodes, const struct hr__slurm_shape *shape, uint64_t *set) {
  uint32_t n_full = full_nodes(shape), n_chosen = take_nodes(nodes, nodes->full, n_full, 0);
  if (n_chosen < n_full || take_nodes(nodes, nodes->last, shape->nodes - n_full, n_chosen) < shape->nodes) return false;
  memset(set, 0, nodes->n_words * sizeof *set);
  for (uint32_t i = 0; i < shape->nodes; i++) set[nodes->chosen[i] / 64] |= UINT64_C(1) << nodes->chosen[i] % 64;
  return true;
}

bool hr__slurm_fits_now(const struct hr__slurm_nodes *nodes, const struct hr__slurm_shape *shape, const uint64_t *set) {
  if (shape->gpus_per_node > nodes->max_gpus) return false;
  uint32_t n_full = full_nodes(shape);
  if (is_limited(nodes, shape)) {
    list_free(nodes, shape, set);
    return count_of(nodes->full, nodes->full, nodes->n_words) >= n_full &&
           count_of(nodes->last, nodes->last, nodes->n_words) >= shape->nodes;
  }
  if (count_of(set, at_least(nodes, shape->gpus_per_node), nodes->n_words) < n_full) return false;
  return n_full == shape->nodes || count_of(set, at_least(nodes, shape->last_gpus), nodes->n_words) >= shape->nodes;
}

bool hr__slurm_select_now(struct hr__slurm_nodes *nodes, const struct hr__slurm_shape *shape, uint64_t *set) {
  if (!hr__slurm_fits_now(nodes, shape, set)) return false;
  list_free(nodes, shape, set);
  return choose(nodes, shape, set);
}

/* ---- Expected starts -------------------------------------------------------------------------------- */

static bool overlaps(const struct hr__slurm_running *running, const uint64_t *set) {
  for (uint32_t i = 0; i < running->shape.nodes; i++)
    if (has(set, running->nodes[i])) return true;
  return false;
}

static uint32_t gpus_on(const struct hr__slurm_shape *shape, uint32_t index) {
  return index + 1 == shape->nodes ? shape->last_gpus : shape->gpus_per_node;
}

static void list_releases(struct hr__slurm_nodes *nodes) {
  if (nodes->has_releases) return;
  nodes->has_releases = true;
  memset(nodes->n_releases, 0, ((size_t)nodes->max_gpus + 1) * sizeof *nodes->n_releases);
  memcpy(nodes->future, nodes->used, nodes->n_nodes * sizeof *nodes->future);
  for (uint32_t r = 0; r < nodes->n_running; r++) {
    const struct hr__slurm_running *running = &nodes->running[r];
    for (uint32_t i = 0; i < running->shape.nodes; i++) {
      uint32_t node = running->nodes[i], before = free_of(nodes, node, nodes->future[node]);
      nodes->future[node] -= gpus_on(&running->shape, i);
      for (uint32_t g = before + 1; g <= free_of(nodes, node, nodes->future[node]); g++)
        nodes->releases[(size_t)g * nodes->n_nodes + nodes->n_releases[g]++] = (struct hr__slurm_release){node, r + 1};
    }
  }
}

/* Returns the smallest r such that `wanted` nodes of a set have `gpus` free GPUs after the first r running jobs have
   ended; HR_NONE: no such r exists. */
static uint32_t rank_of(const struct hr__slurm_nodes *nodes, uint32_t gpus, uint32_t wanted, const uint64_t *set) {
  uint32_t count = count_of(set, at_least(nodes, gpus), nodes->n_words);
  if (count >= wanted) return 0;
  const struct hr__slurm_release *list = nodes->releases + (size_t)gpus * nodes->n_nodes;
  for (uint32_t i = 0; i < nodes->n_releases[gpus]; i++)
    if (has(set, list[i].node) && ++count == wanted) return list[i].rank;
  return HR_NONE;
}

/* Writes the nodes of a set that have `gpus` free GPUs after the first `rank` running jobs have ended. */
static void free_nodes_after(const struct hr__slurm_nodes *nodes, uint32_t gpus, uint32_t rank, const uint64_t *set,
                             uint64_t *to) {
  const uint64_t *now = at_least(nodes, gpus);
  for (uint32_t w = 0; w < nodes->n_words; w++) to[w] = set[w] & now[w];
  const struct hr__slurm_release *list = nodes->releases + (size_t)gpus * nodes->n_nodes;
  for (uint32_t i = 0; i < nodes->n_releases[gpus] && list[i].rank <= rank; i++)
    to[list[i].node / 64] |= set[list[i].node / 64] & UINT64_C(1) << list[i].node % 64;
}

/* Initializes the expected state, in which running jobs are released one by one, with the present state. */
static void begin_future(const struct hr__slurm_nodes *nodes) {
  memcpy(nodes->future, nodes->used, nodes->n_nodes * sizeof *nodes->future);
  memcpy(nodes->future_cpu, nodes->cpu_milli, nodes->n_nodes * sizeof *nodes->future_cpu);
  memcpy(nodes->future_mem, nodes->mem_mib, nodes->n_nodes * sizeof *nodes->future_mem);
  if (nodes->gpu_milli)
    memcpy(nodes->future_milli, nodes->gpu_milli,
           (size_t)nodes->n_nodes * nodes->max_gpus * sizeof *nodes->future_milli);
}

static void end_in_future(const struct hr__slurm_nodes *nodes, const struct hr__slurm_running *running) {
  for (uint32_t i = 0; i < running->shape.nodes; i++) {
    uint32_t node = running->nodes[i];
    if (nodes->gpu_milli)
      take_share(nodes, nodes->future_milli, &running->shape, node, hr__slurm_gpus_of(nodes, running, i), -1);
    else
      nodes->future[node] -= gpus_on(&running->shape, i);
    nodes->future_cpu[node] += (int64_t)running->shape.cpu_milli;
    nodes->future_mem[node] += (int64_t)running->shape.mem_mib;
  }
}

/* Writes the nodes of a set on which `gpus` GPUs, and the CPUs and the memory of a job, are free in the expected state.
   Returns their number. */
static uint32_t list_future(const struct hr__slurm_nodes *nodes, const struct hr__slurm_shape *shape, uint32_t gpus,
                            const uint64_t *set, uint64_t *to) {
  memset(to, 0, nodes->n_words * sizeof *to);
  uint32_t count = 0;
  for (uint32_t w = 0; w < nodes->n_words; w++)
    for (uint64_t rest = set[w]; rest; rest &= rest - 1) {
      uint32_t node = w * 64 + (uint32_t)__builtin_ctzll(rest);
      bool has_room = nodes->gpu_milli ? has_gpus(nodes, nodes->future_milli, shape, node, gpus)
                                       : free_of(nodes, node, nodes->future[node]) >= gpus;
      if (!has_room || !has_rest(nodes->future_cpu[node], nodes->future_mem[node], shape)) continue;
      to[w] |= rest & ~(rest - 1);
      count++;
    }
  return count;
}

/* Like needed_ends(), but for the case is_limited: releases the running jobs one by one. */
static uint32_t needed_for_all(const struct hr__slurm_nodes *nodes, const struct hr__slurm_shape *shape,
                               const uint64_t *set) {
  begin_future(nodes);
  for (uint32_t r = 0; r <= nodes->n_running; r++) {
    if (r > 0 && !overlaps(&nodes->running[r - 1], set)) continue;
    if (r > 0) end_in_future(nodes, &nodes->running[r - 1]);
    if (list_future(nodes, shape, shape->gpus_per_node, set, nodes->full) >= full_nodes(shape) &&
        list_future(nodes, shape, shape->last_gpus, set, nodes->last) >= shape->nodes)
      return r;
  }
  return HR_NONE;
}

/* The time from which the batches are counted: the first multiple of FIRST_BATCH_US on the clock after `end_us`, the
   end of the first running job that uses the set. */
static int64_t batch_base(const struct hr__slurm_nodes *nodes, int64_t end_us) {
  int64_t into_us = (end_us + nodes->origin_us) % FIRST_BATCH_US;
  return end_us + FIRST_BATCH_US - (into_us < 0 ? into_us + FIRST_BATCH_US : into_us);
}

/* Returns the first running job from `from` on that ends after a time; n_running if none does. */
static uint32_t first_after(const struct hr__slurm_nodes *nodes, uint32_t from, int64_t time_us) {
  uint32_t low = from, high = nodes->n_running;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (nodes->running[middle].end_us > time_us)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* Returns the last job of a batch that begins with job `at`. Only jobs that use the set count. Let `from` be the last
   running job that ends until `batch_end_us`, but at least `at`. The batch ends with the first job from `from` on that
   uses the set. If no such job exists, it ends with the last job before `from` that uses the set. Job `needed` - 1 must
   use the set, and must not precede `at`. */
static uint32_t last_of_batch(const struct hr__slurm_nodes *nodes, uint32_t at, int64_t batch_end_us, uint32_t needed,
                              const uint64_t *set) {
  uint32_t after = first_after(nodes, at, batch_end_us), from = after > at + 1 ? after - 1 : at;
  for (uint32_t i = from; i < nodes->n_running; i++)
    if (overlaps(&nodes->running[i], set)) return i;
  while (from > needed && !overlaps(&nodes->running[from - 1], set)) from--;
  return from - 1;
}

/* Finds the first batch such that the job fits on the set after the batch has ended. The job fits once the first
   `needed` running jobs have ended. Returns the last running job of the batch. */
static uint32_t last_to_wait_for(const struct hr__slurm_nodes *nodes, uint32_t needed, const uint64_t *set) {
  uint32_t at = 0;
  while (!overlaps(&nodes->running[at], set)) at++;
  int64_t base_us = batch_base(nodes, nodes->running[at].end_us), batch_us = FIRST_BATCH_US;
  for (;;) {
    uint32_t last = last_of_batch(nodes, at, base_us + batch_us, needed, set);
    if (last + 1 >= needed) return last;
    at = last + 1;
    do batch_us *= 2;
    while (nodes->running[at].end_us > base_us + batch_us);
  }
}

/* The time at which a running job is expected to end. If the job has exceeded its time limit, see `over_us`; the result
   is then at least one second from now. */
static int64_t expected_end(const struct hr__slurm_running *running, int64_t now_us) {
  if (running->end_us > now_us) return running->end_us;
  int64_t end_us = running->over_us == HR_NEVER_US ? now_us + running->limit_us : running->end_us + running->over_us;
  return end_us > now_us ? end_us : now_us + HR_SECOND_US;
}

/* Returns the smallest r such that a job fits on a set after the first r running jobs have ended; HR_NONE: no
   such r exists. */
static uint32_t needed_ends(struct hr__slurm_nodes *nodes, const struct hr__slurm_shape *shape, const uint64_t *set) {
  if (shape->gpus_per_node > nodes->max_gpus) return HR_NONE;
  if (is_limited(nodes, shape)) return needed_for_all(nodes, shape, set);
  list_releases(nodes);
  uint32_t needed = rank_of(nodes, shape->gpus_per_node, full_nodes(shape), set);
  if (needed == HR_NONE || full_nodes(shape) == shape->nodes) return needed;
  uint32_t also = rank_of(nodes, shape->last_gpus, shape->nodes, set);
  return also > needed ? also : needed;
}

int64_t hr__slurm_earliest(struct hr__slurm_nodes *nodes, const struct hr__slurm_shape *shape, const uint64_t *set) {
  uint32_t needed = needed_ends(nodes, shape, set);
  if (needed == HR_NONE) return HR_NEVER_US;
  return needed ? nodes->running[needed - 1].end_us : INT64_MIN;
}

bool hr__slurm_select(struct hr__slurm_nodes *nodes, const struct hr__slurm_shape *shape, int64_t now_us, uint64_t *set,
                      int64_t *start_us) {
  *start_us = now_us;
  if (hr__slurm_select_now(nodes, shape, set)) return true;
  uint32_t needed = needed_ends(nodes, shape, set);
  if (needed == HR_NONE) return false;
  uint32_t last = last_to_wait_for(nodes, needed, set);
  if (is_limited(nodes, shape)) {
    begin_future(nodes);
    for (uint32_t r = 0; r <= last; r++) end_in_future(nodes, &nodes->running[r]);
    list_future(nodes, shape, shape->gpus_per_node, set, nodes->full);
    list_future(nodes, shape, shape->last_gpus, set, nodes->last);
  } else {
    free_nodes_after(nodes, shape->gpus_per_node, last + 1, set, nodes->full);
    free_nodes_after(nodes, shape->last_gpus, last + 1, set, nodes->last);
  }
  *start_us = expected_end(&nodes->running[last], now_us);
  return choose(nodes, shape, set);
}

/* ---- Running jobs ----------------------------------------------------------------------------------- */

static void set_used(struct hr__slurm_nodes *nodes, uint32_t node, uint32_t used) {
  uint32_t before = free_of(nodes, node, nodes->used[node]), after = free_of(nodes, node, used);
  uint64_t bit = UINT64_C(1) << node % 64;
  for (uint32_t g = after + 1; g <= before; g++) at_least(nodes, g)[node / 64] &= ~bit;
  for (uint32_t g = before + 1; g <= after; g++) at_least(nodes, g)[node / 64] |= bit;
  nodes->used[node] = used;
}

/* Allocates the resources of a running job on its nodes (`sign` 1), or releases them (-1). */
static void take(struct hr__slurm_nodes *nodes, const struct hr__slurm_running *running, int32_t sign) {
  for (uint32_t i = 0; i < running->shape.nodes; i++) {
    uint32_t node = running->nodes[i];
    int32_t change = (int32_t)gpus_on(&running->shape, i) * sign;
    if (nodes->gpu_milli)
      change = take_share(nodes, nodes->gpu_milli, &running->shape, node, hr__slurm_gpus_of(nodes, running, i), sign);
    set_used(nodes, node, nodes->used[node] + (uint32_t)change);
    if (!nodes->cpu_milli) continue;
    nodes->cpu_milli[node] -= sign * (int64_t)running->shape.cpu_milli;
    nodes->mem_mib[node] -= sign * (int64_t)running->shape.mem_mib;
  }
}

void hr__slurm_nodes_lend(struct hr__slurm_nodes *nodes, uint32_t index, bool free) {
  take(nodes, &nodes->running[index], free ? -1 : 1);
}

struct hr__slurm_running *hr__slurm_nodes_add(struct hr__slurm_nodes *nodes, uint32_t job,
                                              const struct hr__slurm_shape *shape, int64_t end_us, uint32_t *at) {
  uint32_t place = first_after(nodes, 0, end_us);
  while (place > 0 && nodes->running[place - 1].end_us == end_us && nodes->running[place - 1].job > job) place--;
  memmove(&nodes->running[place + 1], &nodes->running[place], (nodes->n_running - place) * sizeof *nodes->running);
  nodes->n_running++;
  if (nodes->gpu_milli) {
    memcpy(at, nodes->chosen_gpus, shape->nodes * sizeof *nodes->chosen_gpus);
    at += 2 * (size_t)shape->nodes;
  }
  nodes->running[place] = (struct hr__slurm_running){
      .job = job, .end_us = end_us, .over_us = HR__SLURM_KILL_WAIT_US, .shape = *shape, .nodes = at};
  memcpy(at, nodes->chosen, shape->nodes * sizeof *at);
  take(nodes, &nodes->running[place], 1);
  nodes->has_releases = false;
  return &nodes->running[place];
}

void hr__slurm_nodes_hide(struct hr__slurm_nodes *nodes, const uint32_t *hidden, uint32_t n,
                          struct hr__slurm_running *copy) {
  uint32_t kept = 0, next = 0;
  memcpy(copy, nodes->running, nodes->n_running * sizeof *copy);
  for (uint32_t i = 0; i < n; i++) hr__slurm_nodes_lend(nodes, hidden[i], true);
  for (uint32_t r = 0; r < nodes->n_running; r++) {
    if (next < n && hidden[next] == r)
      next++;
    else
      nodes->running[kept++] = copy[r];
  }
  nodes->n_running = kept;
  nodes->has_releases = false;
}

void hr__slurm_nodes_show(struct hr__slurm_nodes *nodes, const uint32_t *hidden, uint32_t n,
                          const struct hr__slurm_running *copy) {
  nodes->n_running += n;
  memcpy(nodes->running, copy, nodes->n_running * sizeof *copy);
  for (uint32_t i = 0; i < n; i++) hr__slurm_nodes_lend(nodes, hidden[i], false);
  nodes->has_releases = false;
}

uint32_t *hr__slurm_nodes_remove(struct hr__slurm_nodes *nodes, uint32_t job, uint32_t *n_nodes) {
  uint32_t place = 0;
  while (place < nodes->n_running && nodes->running[place].job != job) place++;
  if (place == nodes->n_running) return NULL;
  const struct hr__slurm_running removed = nodes->running[place];
  take(nodes, &removed, -1);
  nodes->n_running--;
  memmove(&nodes->running[place], &nodes->running[place + 1], (nodes->n_running - place) * sizeof *nodes->running);
  nodes->has_releases = false;
  *n_nodes = removed.shape.nodes;
  return memory_of(nodes, &removed);
}

void hr__slurm_nodes_postpone(struct hr__slurm_nodes *nodes, uint32_t job, int64_t by_us) {
  uint32_t place = 0;
  while (place < nodes->n_running && nodes->running[place].job != job) place++;
  if (place == nodes->n_running) return;
  struct hr__slurm_running moved = nodes->running[place];
  moved.end_us += by_us;
  for (; place + 1 < nodes->n_running; place++) {
    const struct hr__slurm_running *next = &nodes->running[place + 1];
    if (next->end_us > moved.end_us || (next->end_us == moved.end_us && next->job > job)) break;
    nodes->running[place] = *next;
  }
  nodes->running[place] = moved;
  nodes->has_releases = false;
}
