/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fragmentation F of a node is the mean, over the typical pods, of the node's free GPU capacity that a pod cannot
   use. A pod is one task of a job. The typical pods of a trace are the most frequent distinct requests that together
   cover 95 % of all tasks. */

#include "headroom/unstable/fragmentation.h"
#include "base/containers.h"
#include "headroom/policy.h"
#include "sim/cluster/cluster.h"

#include <stdlib.h>
#include <string.h>

/*
 * Fragmentation F of nodes, after Weng et al. ("Beware of Fragmentation", ATC'23). The free milli-GPUs of a GPU are its
 * remainder. F * (number of typical pods) is a sum over the GPUs of a node: the remainder of each GPU times the number
 * of typical pods that cannot use it. Only this sum is computed; its unit is pods * milli-GPUs. It is an integer, so
 * the order of summation does not affect comparisons. A pod cannot use a remainder in two cases:
 * 1. The pod requests more milli-GPUs of each GPU than the remainder, or it does not fit on the node for reasons other
 *    than GPUs. This depends only on the remainder and on the free CPU of the node.
 * 2. The remainder suffices for the pod, but the pod requests several GPUs, and too few GPUs of the node have a
 *    sufficient remainder. This depends on the number of GPUs of the node with a sufficient remainder.
 *
 * The free CPU of a node affects F only through its level. The level is the number of distinct CPU requests of typical
 * pods that are at most the free CPU. For each level, a table row has the numbers of pods in case 1 and in case 2. A
 * row is computed when it is first needed.
 */

/* The typical pods that request `gpus` GPUs with `milli` milli-GPUs each, and `cpu_milli` of CPU. */
struct need {
  uint32_t milli, gpus, cpu_milli;
  /* number of pods with this need. After group_needs: number of pods with this need or an earlier need of its group */
  uint64_t pods;
};

/* A group of needs: needs first .. end - 1. They request the same number of GPUs, and the same milli-GPUs of each
   GPU. */
struct same_gpus {
  uint32_t first, end;
};

/*
 * The needs of typical pods in a set of pools. All pools of the set accept the same pods. A pod takes the same CPU and
 * the same share of a GPU in each of these pools.
 *
 * A step is a number of milli-GPUs that some pod requests of each of its GPUs. A step is wide if some pod with several
 * GPUs requests it. A remainder reaches a step if it is at least as large as the step. A row belongs to one CPU level
 * and has two parts. Element k of the first part states how many pods are in case 1 for a remainder that reaches
 * exactly k steps. The second part states how many pods are in case 2, for each wide step and each number of GPUs that
 * reach this step.
 */
struct needs {
  struct need *need; /* the needs of pods that request GPUs and accept the pools; sorted by (milli, gpus, cpu) */
  uint32_t count;
  struct same_gpus *group; /* the groups of needs, in order */
  uint32_t n_groups;
  uint64_t useless; /* how many pods cannot use any GPU of these pools: those that request no GPU or do not accept the
                       pools */
  uint64_t pods;    /* number of all pods */
  /* [HR_WHOLE_GPU_MILLI + 1]: element i states how many distinct steps a remainder of i milli-GPUs reaches */
  uint16_t *reached;
  uint16_t *wide; /* [n_wide]: the wide steps, ascending */
  uint32_t n_steps, n_wide;
  uint32_t *row_level; /* [n_rows]: the level of the row + 1; 0 if the row is not computed */
  uint64_t *rows;      /* [n_rows][row_size] */
  uint32_t n_rows, row_size;
};

/* The maximum number of rows. If there are more levels than this, several levels share the memory of a row. The row is
   recomputed when it is needed for another level. */
enum { MAX_ROWS = 256 };

enum { CACHE_BITS = 12 };

/* A state, and how many pods cannot use a GPU in this state. */
struct cached {
  uint32_t pool_above; /* pool + 1; 0 if the entry is empty */
  uint32_t cpu_milli;
  uint32_t profiles;
  uint64_t pods;
};

struct hr_fragmentation {
  const struct hr_typical_pods *typical;
  const struct hr_acceptance *acceptance;
  const struct hr_gpu_inventory *inventory;
  uint32_t *cpu_milli; /* [n_levels]: the distinct CPU requests of typical pods, ascending */
  uint32_t n_levels;
  struct needs *needs;   /* [n_pools]; only the elements of pools in `first_pool` are used */
  uint16_t *slot_milli;  /* [n_pools]: `slot_milli` of the pool's nodes, as in struct hr_gpu_inventory */
  uint32_t *first_pool;  /* [n_pools]: the first pool of the set (struct needs) to which the pool belongs */
  struct cached *cached; /* [1 << CACHE_BITS]: see mig_fragment; NULL if no GPU is partitioned */
};

/* ---- Needs of pods ---- */

static bool accepts(const struct hr_fragmentation *f, uint32_t pod, uint32_t pool) {
  uint32_t class_ = f->typical->request[pod].accept_class;
  return f->acceptance->row[(size_t)class_ * f->acceptance->n_pools + pool];
}

/* Returns how much CPU a pod uses in a pool. */
static uint32_t cpu_milli_of(const struct hr_fragmentation *f, const struct hr_request *pod, uint32_t pool) {
  const uint32_t *gpu_cpu_milli = f->inventory->gpu_cpu_milli;
  uint32_t milli = f->slot_milli[pool] ? f->slot_milli[pool] : pod->gpu_milli;
  if (!gpu_cpu_milli || pod->cpu_milli || pod->gpus == 0) return pod->cpu_milli;
  return hr_cpu_milli_with(gpu_cpu_milli[pool], (uint64_t)pod->gpus * milli);
}

static bool same_pods(const struct hr_fragmentation *f, uint32_t a, uint32_t b) {
  const uint32_t *gpu_cpu_milli = f->inventory->gpu_cpu_milli;
  if (f->slot_milli[a] != f->slot_milli[b]) return false;
  if (gpu_cpu_milli && gpu_cpu_milli[a] != gpu_cpu_milli[b]) return false;
  for (uint32_t pod = 0; pod < f->typical->count; pod++)
    if (accepts(f, pod, a) != accepts(f, pod, b)) return false;
  return true;
}

static int by_number(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

static int by_need(const void *a, const void *b) {
  const struct need *x = a, *y = b;
  if (x->milli != y->milli) return x->milli < y->milli ? -1 : 1;
  if (x->gpus != y->gpus) return x->gpus < y->gpus ? -1 : 1;
  return x->cpu_milli < y->cpu_milli ? -1 : x->cpu_milli > y->cpu_milli;
}

static void find_levels(struct hr_fragmentation *f) {
  uint32_t n_pools = f->inventory->gpu_cpu_milli ? f->acceptance->n_pools : 1, count = 0;
  for (uint32_t pool = 0; pool < n_pools; pool++)
    for (uint32_t i = 0; i < f->typical->count; i++)
      f->cpu_milli[count++] = cpu_milli_of(f, &f->typical->request[i], pool);
  if (count) qsort(f->cpu_milli, count, sizeof *f->cpu_milli, by_number);
  for (uint32_t i = 0; i < count; i++)
    if (f->n_levels == 0 || f->cpu_milli[f->n_levels - 1] != f->cpu_milli[i])
      f->cpu_milli[f->n_levels++] = f->cpu_milli[i];
}

/* Replaces the number of pods of each need by the cumulative sum of these numbers within its group. */
static void group_needs(struct needs *needs) {
  for (uint32_t i = 0; i < needs->count; i++) {
    struct need *need = &needs->need[i];
    if (i > 0 && need->milli == need[-1].milli && need->gpus == need[-1].gpus)
      need->pods += need[-1].pods;
    else
      needs->group[needs->n_groups++].first = i;
    needs->group[needs->n_groups - 1].end = i + 1;
  }
}

static void find_needs(struct hr_fragmentation *f, struct needs *needs, uint32_t pool) {
  uint32_t slot_milli = f->slot_milli[pool];
  for (uint32_t i = 0; i < f->typical->count; i++) {
    const struct hr_request *pod = &f->typical->request[i];
    if (pod->gpus && accepts(f, i, pool))
      needs->need[needs->count++] = (struct need){.milli = slot_milli ? slot_milli : pod->gpu_milli,
                                                  .gpus = pod->gpus,
                                                  .cpu_milli = cpu_milli_of(f, pod, pool),
                                                  .pods = f->typical->pods[i]};
    else
      needs->useless += f->typical->pods[i];
    needs->pods += f->typical->pods[i];
  }
  if (needs->count) qsort(needs->need, needs->count, sizeof *needs->need, by_need);
  group_needs(needs);
}

static uint32_t milli_of(const struct needs *needs, uint32_t group) {
  return needs->need[needs->group[group].first].milli;
}

static void find_steps(struct needs *needs) {
  uint32_t milli = 0;
  for (uint32_t i = 0; i < needs->n_groups; i++) {
    uint32_t step = milli_of(needs, i), gpus = needs->need[needs->group[i].first].gpus;
    if (gpus > 1 && (needs->n_wide == 0 || needs->wide[needs->n_wide - 1] != step))
      needs->wide[needs->n_wide++] = (uint16_t)step;
    if (i > 0 && milli_of(needs, i - 1) == step) continue;
    for (; milli < step; milli++) needs->reached[milli] = (uint16_t)needs->n_steps;
    needs->n_steps++;
  }
  for (; milli <= HR_WHOLE_GPU_MILLI; milli++) needs->reached[milli] = (uint16_t)needs->n_steps;
}

static bool make_needs(struct hr_fragmentation *f, struct hr_arena *arena, uint32_t pool) {
  struct needs *needs = &f->needs[pool];
  uint32_t count = f->typical->count;
  if (!HR__ARENA_ARRAY(arena, needs->need, count) || !HR__ARENA_ARRAY(arena, needs->group, count) ||
      !HR__ARENA_ARRAY(arena, needs->wide, count) || !HR__ARENA_ARRAY(arena, needs->reached, HR_WHOLE_GPU_MILLI + 1))
    return false;
  find_needs(f, needs, pool);
  find_steps(needs);
  needs->n_rows = f->n_levels < MAX_ROWS ? f->n_levels + 1 : MAX_ROWS;
  needs->row_size = needs->n_steps + 1 + needs->n_wide * (f->inventory->max_gpus + 1);
  return HR__ARENA_ARRAY(arena, needs->row_level, needs->n_rows) &&
         HR__ARENA_ARRAY(arena, needs->rows, (size_t)needs->n_rows * needs->row_size);
}

static bool make_all_needs(struct hr_fragmentation *f, struct hr_arena *arena) {
  for (uint32_t pool = 0; pool < f->acceptance->n_pools; pool++) {
    uint32_t first = 0;
    while (first < pool && (f->first_pool[first] != first || !same_pods(f, first, pool))) first++;
    f->first_pool[pool] = first;
    if (first == pool && !make_needs(f, arena, pool)) return false;
  }
  return true;
}

struct hr_fragmentation *hr_fragmentation_create(struct hr_arena *arena, const struct hr_typical_pods *typical,
                                                 const struct hr_acceptance *acceptance,
                                                 const struct hr_gpu_inventory *inventory) {
  struct hr_fragmentation *f = hr_arena_alloc(arena, sizeof *f);
  if (!f) return NULL;
  const size_t n_pools = acceptance->n_pools;
  const size_t n_levels = (size_t)typical->count * (inventory->gpu_cpu_milli ? n_pools + 1 : 1);
  *f = (struct hr_fragmentation){.typical = typical, .acceptance = acceptance, .inventory = inventory};
  if (!HR__ARENA_ARRAY(arena, f->cpu_milli, n_levels) || !HR__ARENA_ARRAY(arena, f->needs, n_pools) ||
      !HR__ARENA_ARRAY(arena, f->slot_milli, n_pools) || !HR__ARENA_ARRAY(arena, f->first_pool, n_pools) ||
      (inventory->mig && !HR__ARENA_ARRAY(arena, f->cached, (size_t)1 << CACHE_BITS)))
    return NULL;
  for (uint32_t node = 0; node < inventory->n_nodes; node++)
    f->slot_milli[inventory->pool[node]] = inventory->slot_milli[node];
  find_levels(f);
  return make_all_needs(f, arena) ? f : NULL;
}

/* ---- Rows ---- */

/* Returns the level of an amount of free CPU: how many of the distinct CPU requests are at most `cpu_milli`. */
static uint32_t level_of(const struct hr_fragmentation *f, uint32_t cpu_milli) {
  uint32_t low = 0, high = f->n_levels;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (f->cpu_milli[middle] <= cpu_milli)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Returns how many pods of a group request at most `cpu_milli` of CPU. */
static uint64_t pods_within(const struct need *need, struct same_gpus group, uint32_t cpu_milli) {
  uint32_t low = group.first, high = group.end;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (need[middle].cpu_milli <= cpu_milli)
      low = middle + 1;
    else
      high = middle;
  }
  return low > group.first ? need[low - 1].pods : 0;
}

static void fill_row(const struct hr_fragmentation *f, const struct needs *needs, uint32_t level, uint64_t *row) {
  uint32_t cpu_milli = level ? f->cpu_milli[level - 1] : 0, max_gpus = f->inventory->max_gpus, step = 0, wide = 0;
  uint64_t *too_few = row + needs->n_steps + 1;
  memset(row, 0, needs->row_size * sizeof *row);
  row[0] = needs->pods;
  for (uint32_t i = 0; i < needs->n_groups; i++) {
    uint32_t milli = milli_of(needs, i), gpus = needs->need[needs->group[i].first].gpus;
    uint64_t fitting = level ? pods_within(needs->need, needs->group[i], cpu_milli) : 0;
    if (i == 0 || milli != milli_of(needs, i - 1)) {
      row[step + 1] = row[step];
      step++;
    }
    row[step] -= fitting;
    while (wide < needs->n_wide && needs->wide[wide] < milli) wide++;
    for (uint32_t have = 0; gpus > 1 && have <= max_gpus && have < gpus; have++)
      too_few[wide * (max_gpus + 1) + have] += fitting;
  }
}

static const uint64_t *row_of(const struct hr_fragmentation *f, struct needs *needs, uint32_t level) {
  uint32_t slot = level < needs->n_rows ? level : level % needs->n_rows;
  uint64_t *row = needs->rows + (size_t)slot * needs->row_size;
  if (needs->row_level[slot] != level + 1) fill_row(f, needs, level, row);
  needs->row_level[slot] = level + 1;
  return row;
}

/* ---- Fragmentation of a node with MIG ---- */

/*
 * Nodes with GPUs that are partitioned by MIG. On such a node, a pod can use the free part of a GPU if the pod requests
 * one GPU, the GPU has or can create a suitable instance, and the node has enough free CPU. The number of free
 * milli-GPUs of the GPU has no influence on this. F * (number of typical pods) is a sum over the GPUs of the node: the
 * remainder of each GPU times the number of pods that cannot use it. This number depends on three values: the pool, the
 * free CPU of the node, and the profiles of which the GPU could provide an instance. Only few combinations of these
 * values (states) occur, so the numbers of pods are cached in a direct-mapped table.
 */

static bool can_use(const struct hr_fragmentation *f, uint32_t number, hr_node node, const struct cached *state) {
  const struct hr_request *pod = &f->typical->request[number];
  uint32_t pool = state->pool_above - 1;
  if (!accepts(f, number, pool) || pod->gpus != 1 || !pod->mig_profiles) return false;
  if (state->cpu_milli < hr_gpu_inventory_cpu_milli(f->inventory, pod, node)) return false;
  return pod->mig_profiles[pool] & state->profiles;
}

static uint64_t count_useless(const struct hr_fragmentation *f, hr_node node, const struct cached *state) {
  uint64_t pods = 0;
  for (uint32_t i = 0; i < f->typical->count; i++)
    if (!can_use(f, i, node, state)) pods += f->typical->pods[i];
  return pods;
}

static bool is_same(const struct cached *a, const struct cached *b) {
  return a->pool_above == b->pool_above && a->cpu_milli == b->cpu_milli && a->profiles == b->profiles;
}

static uint64_t useless_pods(struct hr_fragmentation *f, hr_node node, struct cached state) {
  uint64_t hash = ((uint64_t)state.pool_above << 48 ^ (uint64_t)state.profiles << 32 ^ state.cpu_milli) *
                  UINT64_C(0x9E3779B97F4A7C15);
  struct cached *cached = &f->cached[hash >> (64 - CACHE_BITS)];
  if (is_same(cached, &state)) return cached->pods;
  *cached = state;
  return cached->pods = count_useless(f, node, &state);
}

/* Returns F(node) * typical->total for a node with partitioned GPUs. If `slice` is not NULL, the result is for the
   state of the node after `slice` is allocated to a task that uses `cpu_milli` of CPU. */
static uint64_t mig_fragment(struct hr_fragmentation *f, hr_node node, const struct hr_slice *slice,
                             uint32_t cpu_milli) {
  const struct hr_gpu_inventory *inventory = f->inventory;
  const uint16_t *profiles = inventory->mig_profiles + (size_t)node.id * inventory->max_gpus;
  const uint16_t *left_milli = hr_gpu_inventory_gpus(inventory, node);
  struct cached state = {.pool_above = inventory->pool[node.id] + 1, .cpu_milli = inventory->cpu_milli[node.id]};
  uint64_t sum = 0;
  if (state.cpu_milli != HR_NONE) state.cpu_milli -= cpu_milli;
  for (uint32_t gpu = 0; gpu < inventory->n_gpus[node.id]; gpu++) {
    bool is_taken = slice && slice->gpus >> gpu & 1;
    uint32_t left = is_taken ? left_milli[gpu] - slice->gpu_milli : left_milli[gpu];
    if (left == 0) continue;
    state.profiles = is_taken ? hr__gpu_inventory_mig_profiles_after(inventory, slice) : profiles[gpu];
    sum += left * useless_pods(f, node, state);
  }
  return sum;
}

/* ---- Fragmentation of a node ---- */

static uint64_t fragment(struct hr_fragmentation *f, hr_node node, uint32_t cpu_milli, const uint16_t *left) {
  struct needs *needs = &f->needs[f->first_pool[f->inventory->pool[node.id]]];
  const uint64_t *row = row_of(f, needs, level_of(f, cpu_milli)), *too_few = row + needs->n_steps + 1;
  uint32_t n_gpus = f->inventory->n_gpus[node.id];
  uint64_t sum = 0;
  for (uint32_t gpu = 0; gpu < n_gpus; gpu++) sum += left[gpu] * row[needs->reached[left[gpu]]];
  for (uint32_t i = 0; i < needs->n_wide; i++, too_few += f->inventory->max_gpus + 1) {
    uint32_t have = 0, have_milli = 0;
    for (uint32_t gpu = 0; gpu < n_gpus; gpu++) {
      bool reaches = left[gpu] >= needs->wide[i];
      have += reaches;
      have_milli += reaches ? left[gpu] : 0;
    }
    sum += have_milli * too_few[have];
  }
  return sum;
}

uint64_t hr_fragmentation_of(struct hr_fragmentation *fragmentation, hr_node node) {
  const struct hr_gpu_inventory *inventory = fragmentation->inventory;
  if (hr_gpu_inventory_mig(inventory, node)) return mig_fragment(fragmentation, node, NULL, 0);
  return fragment(fragmentation, node, inventory->cpu_milli[node.id], hr_gpu_inventory_gpus(inventory, node));
}

uint64_t hr_fragmentation_after(struct hr_fragmentation *fragmentation, const struct hr_request *request, hr_node node,
                                uint64_t gpus) {
  const struct hr_gpu_inventory *inventory = fragmentation->inventory;
  if (hr_gpu_inventory_mig(inventory, node)) {
    struct hr_slice slice = hr_gpu_inventory_slice(inventory, request, node, gpus);
    return mig_fragment(fragmentation, node, &slice, hr_gpu_inventory_cpu_milli(inventory, request, node));
  }
  uint32_t cpu_milli = inventory->cpu_milli[node.id], gpu_milli = hr_gpu_inventory_milli(inventory, request, node);
  uint16_t left[HR_MAX_INVENTORY_GPUS];
  if (cpu_milli != HR_NONE) cpu_milli -= hr_gpu_inventory_cpu_milli(inventory, request, node);
  memcpy(left, hr_gpu_inventory_gpus(inventory, node), inventory->n_gpus[node.id] * sizeof *left);
  for (; gpus; gpus &= gpus - 1) {
    uint16_t *one = &left[__builtin_ctzll(gpus)];
    *one = (uint16_t)(*one - gpu_milli);
  }
  return fragment(fragmentation, node, cpu_milli, left);
}

/* ---- Typical pods of a trace ---- */

/* Returns a copy of the request in which properties that do not affect F are reset: memory, the number of tasks, and
   whether the job needs nodes exclusively. */
static struct hr_request pod_of(const struct hr_request *request) {
  struct hr_request pod = *request;
  pod.tasks = 1;
  pod.dedicated = false;
  pod.gpu_mem_mib = 0;
  pod.mem_mib = 0;
  return pod;
}

struct fragmentation_group {
  struct hr_request pod;
  uint64_t pods;
  uint32_t number; /* the index of the first request of the group */
};

#define BY(x, y, member)                                                                                               \
  if ((x)->member != (y)->member) return (x)->member < (y)->member ? -1 : 1

static int by_pod(const void *a, const void *b) {
  const struct fragmentation_group *x = a, *y = b;
  BY(x, y, pod.accept_class);
  BY(x, y, pod.gpus);
  BY(x, y, pod.gpu_milli);
  BY(x, y, pod.cpu_milli);
  BY(x, y, pod.mig_need);
  BY(x, y, number);
  return 0;
}

static bool are_same(const struct hr_request *a, const struct hr_request *b) {
  return a->accept_class == b->accept_class && a->gpus == b->gpus && a->gpu_milli == b->gpu_milli &&
         a->cpu_milli == b->cpu_milli && a->mig_need == b->mig_need;
}

static int by_frequency(const void *a, const void *b) {
  const struct fragmentation_group *x = a, *y = b;
  BY(y, x, pods);
  BY(x, y, number);
  return 0;
}

/* Makes one group of requests for each distinct pod, in no particular order. Returns how many groups there are. */
static uint32_t group_pods(const struct hr_requests *requests, struct fragmentation_group *groups) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < requests->count; i++)
    groups[i] =
        (struct fragmentation_group){pod_of(&requests->request[i]), requests->jobs[i] * requests->request[i].tasks, i};
  qsort(groups, requests->count, sizeof *groups, by_pod);
  for (uint32_t i = 0; i < requests->count; i++) {
    if (count > 0 && are_same(&groups[count - 1].pod, &groups[i].pod))
      groups[count - 1].pods += groups[i].pods;
    else
      groups[count++] = groups[i];
  }
  return count;
}

static void choose(struct hr_typical_pods *typical, const struct fragmentation_group *groups, uint32_t count) {
  uint64_t all = 0;
  for (uint32_t i = 0; i < count; i++) all += groups[i].pods;
  for (uint32_t i = 0; i < count && typical->total < all - all / 20; i++) {
    typical->request[i] = groups[i].pod;
    typical->pods[i] = groups[i].pods;
    typical->total += groups[i].pods;
    typical->count++;
  }
}

struct hr_typical_pods *hr_typical_pods_create(struct hr_arena *arena, const struct hr_requests *requests) {
  struct hr_typical_pods *typical = hr_arena_alloc(arena, sizeof *typical);
  struct fragmentation_group *groups = hr_arena_alloc(arena, ((size_t)requests->count + 1) * sizeof *groups);
  if (!typical || !groups) return NULL;
  uint32_t count = group_pods(requests, groups);
  if (!HR__ARENA_ARRAY(arena, typical->request, count) || !HR__ARENA_ARRAY(arena, typical->pods, count)) return NULL;
  qsort(groups, count, sizeof *groups, by_frequency);
  choose(typical, groups, count);
  return typical;
}
