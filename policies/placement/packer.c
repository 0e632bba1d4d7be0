/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The packing rules for per-GPU allocation (headroom/unstable/capacity.h), and the packer, which finds a node and GPUs
 * for one task by a rule.
 *
 * Scores are stored, and updated only when needed. The nodes are in a list, in order of their last change. Each request
 * stores when it was last updated, as a count of changes. An update of a request visits the nodes that have changed
 * since then, computes their scores, and sets the scores in the tournament of the request. As a result, a node that
 * changed ten times between two updates is scored once. A node that did not change is not scored again. A request for
 * which searches are rare costs little.
 *
 * If the score depends on the node only, requests are updated in blocks of eight. Each request of a block is a lane of
 * one tournament, so one score and one walk up the tree update all of them. Scores that measure fragmentation are
 * expensive, so the first update of a request computes only one such score for each set of equivalent nodes. The value
 * of a node in the tournament is 0 if the request does not fit on the node, else the score + 1.
 */

#include "headroom/unstable/capacity.h"
#include "policies/kit/tournament.h"
#include "policies/placement/gpu_capacity.h"

#include <math.h>
#include <string.h>

/* Computes all levels above level 0. The caller has set the values of level 0. `tally`: the tree is a tally. */
static inline void tournament_build(const struct hr__tournament_shape *shape, uint32_t *tree, uint32_t lanes,
                                    bool tally) {
  for (uint32_t level = 1; level < shape->n_levels; level++)
    for (uint32_t i = 0; i < shape->n_entries[level]; i++) {
      const uint32_t *group = tree + (shape->first[level - 1] + (size_t)i * HR__GROUP) * lanes;
      uint32_t *above = tree + (shape->first[level] + i) * lanes;
      memcpy(above, group, lanes * sizeof *above);
      hr__tournament_combine(group, lanes, tally, 0, above);
    }
}

/* For a tally only. A place with value v has v units; units are numbered from 0 in order of places. Returns the place
   of unit n of the lane. n must be less than the sum in the root. */
static inline uint32_t tally_place(const struct hr__tournament_shape *shape, const uint32_t *tree, uint32_t lanes,
                                   uint32_t lane, uint32_t n) {
  uint32_t at = 0;
  for (uint32_t level = shape->n_levels - 1; level-- > 0;) {
    const uint32_t *values = tree + shape->first[level] * lanes + lane;
    for (at *= HR__GROUP; n >= values[(size_t)at * lanes]; at++) n -= values[(size_t)at * lanes];
  }
  return at;
}

/* ---- Rules ------------------------------------------------------------------------------------------ */

/* Scores of nodes and choices of GPUs. hr_packing_rules lists the rules. */

/* Returns the free capacity of all GPUs of the node, in thousandths of a GPU. */
static inline uint64_t free_milli(const struct hr_packing *packing, hr_node node) {
  return packing->inventory->left_milli[node.id];
}

/* Returns the GPU capacity that the task uses on the node, in thousandths of a GPU. The task must fit there. On a MIG
   GPU, the result can be less than the request by one thousandth. */
static inline uint64_t requested_milli(const struct hr_packing *packing, const struct hr_request *request,
                                       hr_node node) {
  uint64_t asked_milli = (uint64_t)request->gpus * hr_gpu_inventory_milli(packing->inventory, request, node);
  uint64_t left_milli = free_milli(packing, node);
  return asked_milli < left_milli ? asked_milli : left_milli;
}

/* Returns the free CPUs of the node in thousandths of a CPU; 0 if they are unknown. */
static inline uint64_t left_cpu_milli(const struct hr_packing *packing, hr_node node) {
  uint32_t cpu_milli = packing->inventory->cpu_milli[node.id];
  return cpu_milli == HR_NONE ? 0 : cpu_milli;
}

static inline const struct hr_pool_spec *pool_of(const struct hr_packing *packing, hr_node node) {
  return &packing->cluster->pools[packing->inventory->pool[node.id]];
}

/* Returns whether the task uses a fraction of one GPU of the node. */
static inline bool is_share(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  return request->gpus == 1 && hr_gpu_inventory_milli(packing->inventory, request, node) < HR_WHOLE_GPU_MILLI;
}

/* Selects the fitting GPUs with the most free capacity, whereas hr_gpu_inventory_pick selects those with the least. Of
   equal GPUs, those with the lowest indices are selected. */
static uint64_t pick_widest(const struct hr_packing *packing, const struct hr_request *request, hr_node node);

/* The resources of a node, as in Kubernetes. Resources that the pool does not specify are ignored. */
enum { HR__CPU, HR__MEMORY, HR__GPU, HR__N_RESOURCES };
struct hr__amounts {
  uint64_t capacity, used, asked; /* capacity 0: unspecified */
};
static void kube_amounts(const struct hr_packing *packing, const struct hr_request *request, hr_node node,
                         struct hr__amounts amounts[HR__N_RESOURCES]);

/* Rules with a single criterion: the order of nodes, the free GPU capacity, or the number of tasks of the node. */

static int32_t first(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  (void)packing;
  (void)request;
  (void)node;
  return 0;
}

static int32_t score_most_left(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  (void)request;
  return (int32_t)free_milli(packing, node);
}

static int32_t score_least_left(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  return (int32_t)packing->max_gpu_milli - score_most_left(packing, request, node);
}

static int32_t fewest_tasks(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  (void)request;
  uint32_t tasks = packing->tasks[node.id];
  return INT32_MAX - 1 - (int32_t)(tasks < INT32_MAX ? tasks : INT32_MAX - 1);
}

static uint64_t pick_widest(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  const uint16_t *left = hr_gpu_inventory_gpus(packing->inventory, node);
  uint64_t fitting = hr_gpu_inventory_fitting_gpus(packing->inventory, request, node), picked = 0;
  for (uint32_t i = 0; i < request->gpus && fitting; i++) {
    uint32_t widest = (uint32_t)__builtin_ctzll(fitting);
    for (uint64_t rest = fitting; rest; rest &= rest - 1) {
      uint32_t gpu = (uint32_t)__builtin_ctzll(rest);
      if (left[gpu] > left[widest]) widest = gpu;
    }
    picked |= UINT64_C(1) << widest;
    fitting &= ~(UINT64_C(1) << widest);
  }
  return picked;
}

static const struct hr_packing_rule pack_first_fit = {
    .name = "first-fit", .summary = "the first node with room", .score = first, .scores_nodes = true};
static const struct hr_packing_rule pack_best_fit = {.name = "best-fit",
                                                     .summary = "the node with the least free GPU capacity",
                                                     .score = score_least_left,
                                                     .scores_nodes = true};
static const struct hr_packing_rule pack_worst_fit = {
    .name = "worst-fit",
    .summary = "the node with the most free GPU capacity; a fraction goes to its GPU with the most left",
    .score = score_most_left,
    .pick = pick_widest,
    .scores_nodes = true};
static const struct hr_packing_rule pack_spread = {
    .name = "spread",
    .summary = "the node with the fewest tasks; a fraction goes to its GPU with the most left",
    .score = fewest_tasks,
    .pick = pick_widest,
    .scores_nodes = true};

/* A random node on which the task fits; all such nodes have equal probability. A fraction uses a random GPU on which it
   fits. The packer draws the node from random stream 0, and this rule draws the GPU from random stream 1. The index
   into both streams is the number of searches before this one. */

static uint64_t pick(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  if (!is_share(packing, request, node)) return hr_gpu_inventory_pick(packing->inventory, request, node);
  uint64_t fitting = hr_gpu_inventory_fitting_gpus(packing->inventory, request, node);
  uint32_t count = (uint32_t)__builtin_popcountll(fitting);
  for (uint32_t skip = hr_random_below(packing->seed, 1, *packing->finds, count); skip > 0; skip--)
    fitting &= fitting - 1;
  return fitting & -fitting;
}

static const struct hr_packing_rule pack_random = {
    .name = "random", .summary = "a random node with room; a fraction goes to a random GPU with room", .pick = pick};

/* Score: 100 x (1 - (free CPU x requested CPU / max CPU^2 + free GPU x requested GPU / max GPU^2) / 2), truncated; max
   CPU and max GPU are the maximum over all nodes. The smaller the dot product of the free resources and the request is,
   the higher is the score. */

static int32_t score(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  double max_cpu = (double)packing->max_cpu_milli, max_gpu = (double)packing->max_gpu_milli;
  double cpu = (double)left_cpu_milli(packing, node) * hr_gpu_inventory_cpu_milli(packing->inventory, request, node) /
               (max_cpu * max_cpu);
  double gpu =
      (double)free_milli(packing, node) * (double)requested_milli(packing, request, node) / (max_gpu * max_gpu);
  return (int32_t)(100 * (1 - (cpu + gpu) / 2));
}

static const struct hr_packing_rule pack_dot_product = {
    .name = "dot-product",
    .summary = "the node with the smallest dot product of its free CPU and GPU and the request",
    .score = score};

/* Score: 100 x (1 - (remaining CPU / max CPU + remaining GPU / max GPU) / 2), truncated. Remaining resources are the
   free resources after the task was placed on the node; max CPU and max GPU are the maximum over all nodes. Weng et al.
   ("Beware of Fragmentation", ATC'23) then scale the scores of the nodes that fit to 0 .. 100. This step is omitted
   because it preserves the order of the nodes: the scores are integers and differ by at most 100, so (score - min) x
   100 / (max - min) multiplies differences by at least 1, and different scores remain different after truncation. */

static int32_t weighted_best_fit_score(const struct hr_packing *packing, const struct hr_request *request,
                                       hr_node node) {
  uint64_t cpu_milli = left_cpu_milli(packing, node), gpu_milli = free_milli(packing, node);
  double cpu = cpu_milli ? (double)(cpu_milli - hr_gpu_inventory_cpu_milli(packing->inventory, request, node)) /
                               (double)packing->max_cpu_milli
                         : 0;
  double gpu = (double)(gpu_milli - requested_milli(packing, request, node)) / (double)packing->max_gpu_milli;
  return (int32_t)(100 * (1 - (0.5 * cpu + 0.5 * gpu)));
}

static const struct hr_packing_rule pack_weighted_best_fit = {
    .name = "weighted-best-fit",
    .summary = "the node with the least free CPU and GPU, relative to the largest node",
    .score = weighted_best_fit_score};

/*
 * Groups tasks of the same kind on nodes. The kind of a task is what it requests: a fraction of a GPU, 1 GPU, 2 GPUs,
 * ... The score depends on the kinds of the node's tasks. Tasks without GPUs are ignored:
 *
 *   75 + u   if the node has tasks, all of the same kind as the new task;
 *   50 + u   if some, but not all, are of this kind;
 *   25 + u   if the node has no tasks;
 *   u        if the node has tasks, but none of this kind,
 *
 * with u = 25 x (GPUs of the largest node - free GPUs of this node) / GPUs of the largest node. The sum is truncated. A
 * task without GPUs is placed on the first node on which it fits.
 */

static int32_t gpu_clustering_score(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  if (request->gpus == 0) return 0;
  const uint32_t *tasks = packing->tasks_of_kind + (size_t)node.id * packing->n_kinds;
  uint32_t same_kind = tasks[hr_request_kind(request)], all = packing->tasks[node.id] - tasks[HR_KIND_NO_GPU];
  int32_t base = all == 0 ? 25 : same_kind == all ? 75 : same_kind ? 50 : 0;
  double max_gpu = (double)packing->max_gpu_milli;
  return (int32_t)(base + 25 * (max_gpu - (double)free_milli(packing, node)) / max_gpu);
}

static const struct hr_packing_rule pack_gpu_clustering = {.name = "gpu-clustering",
                                                           .summary =
                                                               "a node with tasks of the same kind, by number of GPUs",
                                                           .score = gpu_clustering_score};

/*
 * Prefers shared GPUs, then idle GPUs of nodes in use, then nodes that are not in use. The score depends on the GPUs
 * that the task would use. The first condition that holds determines it:
 *
 *   max(0, 33 - number of GPUs of the node)                  if all GPUs of the node are idle;
 *   max(33, 50 - number of idle GPUs among the GPUs to use)  if at least one GPU to use is idle;
 *   max(50, 100 - sum of the free percentages of the GPUs to use / 10)  if none of them is idle.
 *
 * The percentage of each GPU is truncated, and so is a tenth of their sum. A task without GPUs is placed on the first
 * node on which it fits.
 */

static int32_t at_least(int32_t minimum, int32_t value) {
  return value > minimum ? value : minimum;
}

static int32_t gpu_packing_score(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  if (request->gpus == 0) return 0;
  const uint16_t *left = hr_gpu_inventory_gpus(packing->inventory, node);
  uint64_t used = hr_gpu_inventory_pick(packing->inventory, request, node);
  int32_t idle = 0, idle_used = 0, n_gpus = packing->inventory->n_gpus[node.id], left_pct = 0;
  for (int32_t gpu = 0; gpu < n_gpus; gpu++) {
    bool is_idle = left[gpu] == HR_WHOLE_GPU_MILLI, is_used = used >> gpu & 1;
    idle += is_idle;
    idle_used += is_idle && is_used;
    if (is_used) left_pct += left[gpu] * 100 / (int32_t)HR_WHOLE_GPU_MILLI;
  }
  if (idle == n_gpus) return at_least(0, 33 - idle);
  if (idle_used > 0) return at_least(33, 50 - idle_used);
  return at_least(50, 100 - left_pct / 10);
}

static const struct hr_packing_rule pack_gpu_packing = {
    .name = "gpu-packing",
    .summary = "GPUs already shared, then idle GPUs of nodes in use, then whole nodes",
    .score = gpu_packing_score};

/* The scores of Kubernetes in its integer arithmetic, after kube-scheduler's plugins NodeResourcesFit and
   NodeResourcesBalancedAllocation. The default plugin configuration scores CPU and memory only; GPUs must fit but are
   not scored. Differences from Kubernetes: other plugins (taints, affinities, topology, images) would score all nodes
   equally here and are omitted; nodes of large clusters are not sampled; of equal nodes, the first is selected instead
   of a random one. Resources that a pool does not specify are omitted from all sums. */

static void kube_amounts(const struct hr_packing *packing, const struct hr_request *request, hr_node node,
                         struct hr__amounts amounts[HR__N_RESOURCES]) {
  const struct hr_pool_spec *pool = pool_of(packing, node);
  uint64_t gpu_milli = (uint64_t)pool->gpus_per_node * HR_WHOLE_GPU_MILLI;
  amounts[HR__CPU] =
      (struct hr__amounts){pool->cpu_milli_per_node, 0, hr_gpu_inventory_cpu_milli(packing->inventory, request, node)};
  amounts[HR__MEMORY] = (struct hr__amounts){pool->mem_mib_per_node, 0, request->mem_mib};
  amounts[HR__GPU] =
      (struct hr__amounts){gpu_milli, gpu_milli - free_milli(packing, node), requested_milli(packing, request, node)};
  if (pool->cpu_milli_per_node)
    amounts[HR__CPU].used = pool->cpu_milli_per_node - packing->inventory->cpu_milli[node.id];
  if (pool->mem_mib_per_node) amounts[HR__MEMORY].used = pool->mem_mib_per_node - packing->inventory->mem_mib[node.id];
}

/* ---- Rules: default --------------------------------------------------------------------------------- */

static int32_t min_allocated(const struct hr__amounts *amounts, size_t count) {
  uint64_t sum = 0, weight = 0;
  for (size_t i = 0; i < count; i++) {
    if (!amounts[i].capacity) continue;
    sum += (amounts[i].capacity - amounts[i].used - amounts[i].asked) * 100 / amounts[i].capacity;
    weight++;
  }
  return weight ? (int32_t)(sum / weight) : 0;
}

/* Returns how similar the used share of the CPU and the used share of the memory are: from 50 (they differ by 1) to 100
   (they are equal). `with_task`: the usage includes the task. */
static int32_t balance(const struct hr__amounts amounts[HR__N_RESOURCES], bool with_task) {
  double share[2];
  for (size_t i = 0; i < 2; i++) {
    uint64_t used = amounts[i].used + (with_task ? amounts[i].asked : 0);
    share[i] = (double)used / (double)amounts[i].capacity;
  }
  return (int32_t)((1 - fabs(share[0] - share[1]) / 2) * 100);
}

static int32_t balanced_allocation(const struct hr__amounts amounts[HR__N_RESOURCES]) {
  if (!amounts[HR__CPU].capacity || !amounts[HR__MEMORY].capacity) return 75;
  return 50 + (50 + balance(amounts, true) - balance(amounts, false)) / 2;
}

static int32_t score_default(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  struct hr__amounts amounts[HR__N_RESOURCES];
  kube_amounts(packing, request, node, amounts);
  return min_allocated(amounts, HR__GPU) + balanced_allocation(amounts);
}

/* ---- Rules: most allocated -------------------------------------------------------------------------- */

static int32_t score_most(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  /* GPU: 3, as in the Kubernetes documentation for devices */
  static const uint64_t weights[HR__N_RESOURCES] = {1, 1, 3};
  struct hr__amounts amounts[HR__N_RESOURCES];
  uint64_t sum = 0, weight = 0;
  kube_amounts(packing, request, node, amounts);
  for (size_t i = 0; i < HR__N_RESOURCES; i++) {
    if (!amounts[i].capacity) continue;
    sum += weights[i] * ((amounts[i].used + amounts[i].asked) * 100 / amounts[i].capacity);
    weight += weights[i];
  }
  return weight ? (int32_t)(sum / weight) : 0;
}

static const struct hr_packing_rule pack_kube_default = {
    .name = "kube-default",
    .summary = "Kubernetes' default: spreads by CPU and memory, ignores GPUs",
    .score = score_default};
static const struct hr_packing_rule pack_kube_most_allocated = {
    .name = "kube-most-allocated",
    .summary = "Kubernetes' MostAllocated: the fullest node, GPUs with three times the weight of CPU or memory",
    .score = score_most};

/* Fragmentation gradient descent (Weng et al., "Beware of Fragmentation", ATC'23): selects the node on which the task
   increases the fragmentation F of the node least. Score: 100 x sigmoid((F before - F after) / 1000), truncated. For a
   task with a fraction of a GPU, the score is computed for each GPU on which the fraction fits, and the first GPU with
   the maximum score is selected. Only the first of several GPUs with equal free capacity is evaluated, unless they are
   MIG GPUs. */

static int32_t score_of(const struct hr_packing *packing, uint64_t before, uint64_t after) {
  double less = (double)((int64_t)before - (int64_t)after) / (double)packing->typical->total / HR_WHOLE_GPU_MILLI;
  return (int32_t)(100 / (1 + exp(-less)));
}

static uint64_t pick_share(const struct hr_packing *packing, const struct hr_request *request, hr_node node,
                           int32_t *fgd_score) {
  const uint16_t *left = hr_gpu_inventory_gpus(packing->inventory, node);
  uint64_t before = hr_fragmentation_of(packing->fragmentation, node), picked = 0;
  uint64_t rest = hr_gpu_inventory_fitting_gpus(packing->inventory, request, node);
  *fgd_score = -1;
  while (rest) {
    uint32_t gpu = (uint32_t)__builtin_ctzll(rest);
    uint64_t one = UINT64_C(1) << gpu;
    int32_t found = score_of(packing, before, hr_fragmentation_after(packing->fragmentation, request, node, one));
    if (found > *fgd_score) picked = one;
    if (found > *fgd_score) *fgd_score = found;
    rest &= rest - 1;
    if (hr_gpu_inventory_mig(packing->inventory, node)) continue;
    for (uint64_t others = rest; others; others &= others - 1)
      if (left[__builtin_ctzll(others)] == left[gpu]) rest &= ~(others & -others);
  }
  return picked;
}

static int32_t fgd_score(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  int32_t best;
  if (is_share(packing, request, node)) {
    (void)pick_share(packing, request, node, &best);
    return best;
  }
  uint64_t gpus = hr_gpu_inventory_pick(packing->inventory, request, node);
  return score_of(packing, hr_fragmentation_of(packing->fragmentation, node),
                  hr_fragmentation_after(packing->fragmentation, request, node, gpus));
}

static uint64_t fgd_pick(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  int32_t best;
  if (!is_share(packing, request, node)) return hr_gpu_inventory_pick(packing->inventory, request, node);
  return pick_share(packing, request, node, &best);
}

static const struct hr_packing_rule pack_fgd = {
    .name = "fgd",
    .summary = "the node and GPU where fragmentation for typical pods grows least (fragmentation gradient descent)",
    .score = fgd_score,
    .pick = fgd_pick,
    .wants_fragmentation = true};

static const struct hr_packing_rule *const rules[] = {&pack_fgd,
                                                      &pack_weighted_best_fit,
                                                      &pack_dot_product,
                                                      &pack_gpu_packing,
                                                      &pack_gpu_clustering,
                                                      &pack_best_fit,
                                                      &pack_worst_fit,
                                                      &pack_first_fit,
                                                      &pack_spread,
                                                      &pack_random,
                                                      &pack_kube_default,
                                                      &pack_kube_most_allocated,
                                                      NULL};

const struct hr_packing_rule *const *hr_packing_rules(void) {
  return rules;
}

const struct hr_packing_rule *hr_packing_rule_find(const char *name, struct hr_error *error) {
  const char *names[sizeof rules / sizeof *rules] = {0};
  for (size_t i = 0; rules[i]; i++) {
    if (strcmp(rules[i]->name, name) == 0) return rules[i];
    names[i] = rules[i]->name;
  }
  const char *nearest = hr_nearest_word(name, names);
  if (nearest)
    hr_fail(error, HR_BAD_INPUT, "unknown placement rule '%.60s'; did you mean '%s'?", name, nearest);
  else
    hr_fail(error, HR_BAD_INPUT, "unknown placement rule '%.60s'; 'headroom list placements' shows them", name);
  return NULL;
}

/* ---- Packer ----------------------------------------------------------------------------------------- */

/* The first node of each set of equivalent nodes. The table is cleared and filled again for each series of visits, so
   its size decides the speed of a series. It is therefore smaller than a table of base/containers.h: it stores no
   hashes. Its size is fixed, so it needs no check for growth. */
struct hr__node_equivalence {
  uint32_t *slot; /* [size]: node + 1; 0: empty */
  uint32_t size;  /* a power of two, at least twice the number of nodes */
};

/* Initializes the table in the arena. False: out of memory. */
static bool node_equivalence_init(struct hr__node_equivalence *equivalence, struct hr_arena *arena, uint32_t n_nodes) {
  for (equivalence->size = 2; equivalence->size / 2 < n_nodes;) equivalence->size *= 2;
  return HR__ARENA_ARRAY(arena, equivalence->slot, equivalence->size);
}

/* Clears the table. Call this before a series of visits (node_equivalence_first). No node may change during the series.
 */
static void node_equivalence_begin(struct hr__node_equivalence *equivalence) {
  memset(equivalence->slot, 0, equivalence->size * sizeof *equivalence->slot);
}

static uint64_t hash_of(const struct hr_gpu_inventory *inventory, hr_node node) {
  const uint16_t *left_milli = hr_gpu_inventory_gpus(inventory, node);
  uint64_t hash = (uint64_t)inventory->pool[node.id] << 32 | inventory->cpu_milli[node.id];
  hash = (hash ^ inventory->mem_mib[node.id]) * UINT64_C(0x9E3779B97F4A7C15);
  for (uint32_t gpu = 0; gpu < inventory->n_gpus[node.id]; gpu++)
    hash = (hash ^ left_milli[gpu]) * UINT64_C(0x9E3779B97F4A7C15);
  return hash ^ hash >> 32;
}

#define SAME(column, count)                                                                                            \
  (memcmp((column) + (size_t)a * (count), (column) + (size_t)b * (count), (count) * sizeof *(column)) == 0)

static bool same_instances(const struct hr_gpu_inventory *inventory, uint32_t a, uint32_t b) {
  uint32_t n_gpus = inventory->max_gpus;
  if (!hr_gpu_inventory_mig(inventory, (hr_node){a})) return true;
  return SAME(inventory->mig_gpu, n_gpus) && SAME(inventory->mig_taken, n_gpus) && SAME(inventory->mig_layout, n_gpus);
}

/* Returns whether two nodes are equal in everything that decides whether a task fits and what its score is. */
static bool same_state(const struct hr_packing *packing, uint32_t a, uint32_t b) {
  const struct hr_gpu_inventory *inventory = packing->inventory;
  uint32_t n_gpus = inventory->max_gpus;
  if (inventory->pool[a] != inventory->pool[b] || inventory->cpu_milli[a] != inventory->cpu_milli[b]) return false;
  if (inventory->mem_mib[a] != inventory->mem_mib[b] || inventory->tasks[a] != inventory->tasks[b]) return false;
  if (inventory->alone[a] != inventory->alone[b] || inventory->closed[a] != inventory->closed[b]) return false;
  return SAME(inventory->gpu_milli, n_gpus) && SAME(inventory->gpu_mem_mib, n_gpus) &&
         SAME(inventory->gpu_tasks, n_gpus) && SAME(packing->tasks, 1) &&
         SAME(packing->tasks_of_kind, packing->n_kinds) && same_instances(inventory, a, b);
}

/* Visits a node. Returns the first visited node that is equivalent to it (see same_state), or the node itself if none
   is. */
static hr_node node_equivalence_first(struct hr__node_equivalence *equivalence, const struct hr_packing *packing,
                                      hr_node node) {
  uint32_t at = (uint32_t)hash_of(packing->inventory, node) & (equivalence->size - 1);
  while (equivalence->slot[at] && !same_state(packing, equivalence->slot[at] - 1, node.id))
    at = (at + 1) & (equivalence->size - 1);
  if (!equivalence->slot[at]) equivalence->slot[at] = node.id + 1;
  return (hr_node){equivalence->slot[at] - 1};
}

/* Requests that are updated together. Each request has one lane. A request is plain if it requests at most one GPU, no
   GPU memory and no dedicated node, and accepts all pools. On plain nodes (see is_plain_node), it fits if its amounts
   of three resources are free. All plain lanes are compared with a node at once. In other lanes, and in those without a
   request, `gpu_milli` is HR_NONE, so they never fit in this comparison. */
struct packer_block {
  uint32_t *tree;
  uint64_t good_at;       /* packer->changes.count + 1 at the last update of the tournament */
  uint32_t others, plain; /* sets of lanes: those that are not plain, and those that are */
  uint32_t gpu_milli[HR__MAX_LANES], cpu_milli[HR__MAX_LANES], mem_mib[HR__MAX_LANES];
  const struct hr_request *request[HR__MAX_LANES];
  const uint8_t *accepted[HR__MAX_LANES]; /* by lane: [n_pools], whether the request accepts the pool */
};

/* The result of the last search, valid until a node changes. */
struct answer {
  uint64_t asked; /* packer->changes.count + 1 at the search; 0: no search yet */
  uint64_t gpus;
  uint32_t request;
  hr_node node;
  bool found;
};

struct hr_packer {
  struct hr_packing packing;
  const struct hr_packing_rule *rule;
  const struct hr_gpu_inventory *inventory;
  const struct hr_request *requests;
  struct hr_acceptance acceptance;
  uint32_t *tasks, *tasks_of_kind;
  uint32_t n_nodes;
  /* node_at: node by its place in the cluster's order of nodes; place_of: place by node */
  uint32_t *node_at, *place_of;
  struct hr__node_changes changes;
  struct hr__tournament_shape shape;
  struct packer_block *blocks; /* [n_requests / n_lanes, rounded up] */
  uint32_t n_lanes;            /* number of lanes of each block: 1 or HR__MAX_LANES */
  /* [n_requests]: index of the request's lane, counted across all blocks; lanes are assigned at the first search for a
     request; HR_NONE: no lane yet */
  uint32_t *lane_of;
  uint32_t n_asked; /* number of requests with a lane */
  uint64_t finds;   /* number of searches; not used if the configuration provides a counter */
  struct answer last;
  struct hr__node_equivalence equivalence; /* only for rules that score fragmentation */
};

/* ---- Construction ----------------------------------------------------------------------------------- */

static void order_nodes(struct hr_packer *packer, const struct hr_cluster_spec *cluster) {
  for (uint32_t node = 0; node < packer->n_nodes; node++) {
    uint32_t place = cluster->node_order ? cluster->node_order[node] : node;
    packer->place_of[node] = place;
    packer->node_at[place] = node;
  }
}

static void measure_nodes(struct hr_packing *packing, const struct hr_cluster_spec *cluster) {
  packing->max_cpu_milli = packing->max_gpu_milli = 1;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *pool = &cluster->pools[i];
    uint64_t gpu_milli = (uint64_t)pool->gpus_per_node * HR_WHOLE_GPU_MILLI;
    if (pool->nodes == 0) continue;
    if (pool->cpu_milli_per_node > packing->max_cpu_milli) packing->max_cpu_milli = pool->cpu_milli_per_node;
    if (gpu_milli > packing->max_gpu_milli) packing->max_gpu_milli = gpu_milli;
  }
}

static bool make_columns(struct hr_packer *packer, struct hr_arena *arena, uint32_t n_requests) {
  size_t n = (size_t)packer->n_nodes + 1;
  return HR__ARENA_ARRAY(arena, packer->tasks, n) &&
         HR__ARENA_ARRAY(arena, packer->tasks_of_kind, n * packer->packing.n_kinds) &&
         HR__ARENA_ARRAY(arena, packer->node_at, n) && HR__ARENA_ARRAY(arena, packer->place_of, n) &&
         HR__ARENA_ARRAY(arena, packer->lane_of, (size_t)n_requests + 1) &&
         hr__node_changes_init(&packer->changes, arena, packer->n_nodes);
}

/* Allocates the blocks and their trees. Trees of large clusters have their own pages in the arena, so a tree uses no
   memory before the first search for one of its requests. */
static bool make_blocks(struct hr_packer *packer, struct hr_arena *arena, uint32_t n_requests) {
  size_t n_blocks = ((size_t)n_requests + packer->n_lanes - 1) / packer->n_lanes;
  if (!HR__ARENA_ARRAY(arena, packer->blocks, n_blocks + 1)) return false;
  for (size_t i = 0; i < n_blocks; i++)
    if (!HR__ARENA_ARRAY(arena, packer->blocks[i].tree, packer->shape.size * packer->n_lanes)) return false;
  for (uint32_t i = 0; i < n_requests; i++) packer->lane_of[i] = HR_NONE;
  return true;
}

static struct hr_packing packing_of(const struct hr_packer_config *config) {
  struct hr_packing packing = {.inventory = config->inventory,
                               .cluster = config->cluster,
                               .n_kinds = hr_packer_kinds(config->inventory->max_gpus),
                               .typical = config->typical,
                               .seed = config->seed,
                               .finds = config->finds};
  measure_nodes(&packing, config->cluster);
  return packing;
}

struct hr_packer *hr_packer_create(struct hr_arena *arena, const struct hr_packer_config *config) {
  struct hr_packer *packer = hr_arena_alloc(arena, sizeof *packer);
  if (!packer) return NULL;
  *packer = (struct hr_packer){.packing = packing_of(config),
                               .rule = config->rule,
                               .inventory = config->inventory,
                               .requests = config->requests,
                               .acceptance = config->acceptance,
                               .n_nodes = config->inventory->n_nodes,
                               .n_lanes = config->rule->scores_nodes || !config->rule->score ? HR__MAX_LANES : 1,
                               .shape = hr__tournament_shape(config->inventory->n_nodes)};
  if (!make_columns(packer, arena, config->n_requests) || !make_blocks(packer, arena, config->n_requests)) return NULL;
  if (!packer->packing.finds) packer->packing.finds = &packer->finds;
  order_nodes(packer, config->cluster);
  packer->packing.tasks = packer->tasks;
  packer->packing.tasks_of_kind = packer->tasks_of_kind;
  if (config->rule->wants_fragmentation) {
    if (!node_equivalence_init(&packer->equivalence, arena, packer->n_nodes)) return NULL;
    packer->packing.fragmentation =
        hr_fragmentation_create(arena, config->typical, &packer->acceptance, config->inventory);
    if (!packer->packing.fragmentation) return NULL;
  }
  return packer;
}

/* ---- Scores ----------------------------------------------------------------------------------------- */

/* Returns whether the rule is `random`. The trees of this rule are tallies, in which each node on which the request
   fits has the value 1. */
static bool is_tally(const struct hr_packer *packer) {
  return packer->rule->score == NULL;
}

static uint32_t value_of(const struct hr_packer *packer, const struct hr_request *request, hr_node node) {
  return is_tally(packer) ? 1 : (uint32_t)packer->rule->score(&packer->packing, request, node) + 1;
}

/* Returns whether plain requests fit on the node if their amounts are free: they take the shares and CPUs that they
   request, and any number of them may be on one GPU. */
static bool is_plain_node(const struct hr_gpu_inventory *inventory, hr_node node) {
  return inventory->slot_milli[node.id] == 0 && inventory->max_tasks[node.id] == HR_WHOLE_GPU_MILLI &&
         !inventory->gpu_cpu_milli && !hr_gpu_inventory_mig(inventory, node);
}

/* Computes the values of a plain node in the plain lanes. The values of all other lanes become 0. */
static void find_plain_values(const struct hr_packer *packer, const struct packer_block *block, hr_node node,
                              uint32_t values[HR__MAX_LANES]) {
  const struct hr_gpu_inventory *inventory = packer->inventory;
  bool open = !inventory->closed[node.id] && !inventory->alone[node.id];
  uint32_t milli = inventory->widest_milli[node.id], cpu_milli = inventory->cpu_milli[node.id];
  uint32_t mem_mib = inventory->mem_mib[node.id] < UINT32_MAX ? (uint32_t)inventory->mem_mib[node.id] : UINT32_MAX;
  uint32_t fits[HR__MAX_LANES], any = 0;
  for (uint32_t lane = 0; lane < HR__MAX_LANES; lane++)
    fits[lane] = (milli >= block->gpu_milli[lane]) & (cpu_milli >= block->cpu_milli[lane]) &
                 (mem_mib >= block->mem_mib[lane]) & open;
  for (uint32_t lane = 0; lane < HR__MAX_LANES; lane++) any |= fits[lane] << lane;
  uint32_t value = any ? value_of(packer, block->request[__builtin_ctz(any)], node) : 0;
  for (uint32_t lane = 0; lane < HR__MAX_LANES; lane++) values[lane] = fits[lane] ? value : 0;
}

/* Computes the values of a node in all lanes of a block. The score is the same in all lanes, so it is computed once. */
static void find_values(const struct hr_packer *packer, const struct packer_block *block, hr_node node,
                        uint32_t values[HR__MAX_LANES]) {
  uint32_t pool = packer->inventory->pool[node.id], value = 0, lanes = block->others;
  if (block->plain && is_plain_node(packer->inventory, node)) {
    find_plain_values(packer, block, node, values);
  } else {
    for (uint32_t lane = 0; lane < HR__MAX_LANES; lane++) values[lane] = 0;
    lanes |= block->plain;
  }
  for (; lanes; lanes &= lanes - 1) {
    uint32_t lane = (uint32_t)__builtin_ctz(lanes);
    const struct hr_request *request = block->request[lane];
    if (!block->accepted[lane][pool] || !hr_gpu_inventory_fits(packer->inventory, request, node)) continue;
    if (value == 0) value = value_of(packer, request, node);
    values[lane] = value;
  }
}

/* Updates all lanes of a block: computes the values of the nodes that have changed since the last update. */
static void score_changed(struct hr_packer *packer, struct packer_block *block) {
  const struct hr__node_changes *changes = &packer->changes;
  uint32_t values[HR__MAX_LANES];
  for (uint32_t node = changes->before[changes->head]; node != changes->head; node = changes->before[node]) {
    if (changes->changed[node] < block->good_at) break;
    find_values(packer, block, (hr_node){node}, values);
    if (packer->n_lanes == 1)
      hr__tournament_set(&packer->shape, block->tree, 1, false, packer->place_of[node], values);
    else if (is_tally(packer))
      hr__tournament_set(&packer->shape, block->tree, HR__MAX_LANES, true, packer->place_of[node], values);
    else
      hr__tournament_set(&packer->shape, block->tree, HR__MAX_LANES, false, packer->place_of[node], values);
  }
  block->good_at = changes->count + 1;
}

/* ---- Search ----------------------------------------------------------------------------------------- */

/* Scores all nodes for a new lane. The other lanes of the block must be up to date. */
static void score_all(struct hr_packer *packer, struct packer_block *block, uint32_t lane) {
  const struct hr_request *request = block->request[lane];
  bool shares = packer->equivalence.size > 0;
  if (shares) node_equivalence_begin(&packer->equivalence);
  for (uint32_t i = 0; i < packer->n_nodes; i++) {
    hr_node node = {i}, first = shares ? node_equivalence_first(&packer->equivalence, &packer->packing, node) : node;
    uint32_t *value = &block->tree[(size_t)packer->place_of[i] * packer->n_lanes + lane];
    bool accepted = block->accepted[lane][packer->inventory->pool[i]];
    if (first.id != i)
      *value = block->tree[(size_t)packer->place_of[first.id] * packer->n_lanes + lane];
    else
      *value =
          accepted && hr_gpu_inventory_fits(packer->inventory, request, node) ? value_of(packer, request, node) : 0;
  }
  tournament_build(&packer->shape, block->tree, packer->n_lanes, is_tally(packer));
}

/* Returns whether the request is plain: see struct packer_block. */
static bool is_plain(const struct hr_request *request, const uint8_t *accepted, uint32_t n_pools) {
  bool plain = request->gpus <= 1 && request->gpu_mem_mib == 0 && !request->dedicated && request->mem_mib < UINT32_MAX;
  for (uint32_t pool = 0; plain && pool < n_pools; pool++) plain = accepted[pool];
  return plain;
}

/* Adds a lane with the request to the block. */
static void add_lane(const struct hr_packer *packer, struct packer_block *block, uint32_t lane,
                     const struct hr_request *request) {
  uint32_t n_pools = packer->acceptance.n_pools;
  block->request[lane] = request;
  block->accepted[lane] = packer->acceptance.row + (size_t)request->accept_class * n_pools;
  if (!(block->others | block->plain)) memset(block->gpu_milli, UINT8_MAX, sizeof block->gpu_milli);
  if (packer->n_lanes == 1 || !is_plain(request, block->accepted[lane], n_pools)) {
    block->others |= 1U << lane;
    return;
  }
  block->plain |= 1U << lane;
  block->gpu_milli[lane] = request->gpus ? request->gpu_milli : 0;
  block->cpu_milli[lane] = request->cpu_milli;
  block->mem_mib[lane] = (uint32_t)request->mem_mib;
}

/* Updates the block of the request, and returns it. */
static const struct packer_block *refresh(struct hr_packer *packer, uint32_t request) {
  bool is_new = packer->lane_of[request] == HR_NONE;
  if (is_new) packer->lane_of[request] = packer->n_asked++;
  uint32_t lane = packer->lane_of[request] % packer->n_lanes;
  struct packer_block *block = &packer->blocks[packer->lane_of[request] / packer->n_lanes];
  score_changed(packer, block);
  if (!is_new) return block;
  add_lane(packer, block, lane, &packer->requests[request]);
  score_all(packer, block, lane);
  return block;
}

static uint64_t pick_gpus(const struct hr_packer *packer, uint32_t request, hr_node node) {
  const struct hr_request *asked = &packer->requests[request];
  return packer->rule->pick ? packer->rule->pick(&packer->packing, asked, node)
                            : hr_gpu_inventory_pick(packer->inventory, asked, node);
}

/* Searches for a node and GPUs for the request. */
static struct answer find(struct hr_packer *packer, uint32_t request) {
  const struct hr_packing *packing = &packer->packing;
  const struct packer_block *block = refresh(packer, request);
  const struct hr__tournament_shape *shape = &packer->shape;
  uint32_t lanes = packer->n_lanes, lane = packer->lane_of[request] % lanes;
  uint32_t root = hr__tournament_root(shape, block->tree, lanes, lane);
  struct answer answer = {.asked = block->good_at, .request = request, .found = root != 0};
  if (!answer.found) return answer;
  uint32_t drawn = is_tally(packer) ? hr_random_below(packing->seed, 0, *packing->finds, root) : 0;
  uint32_t place = is_tally(packer) ? tally_place(shape, block->tree, lanes, lane, drawn)
                                    : hr__tournament_best(shape, block->tree, lanes, lane);
  answer.node = (hr_node){packer->node_at[place]};
  answer.gpus = pick_gpus(packer, request, answer.node);
  return answer;
}

/* If no node has changed since the last search, and the request is the same, the stored result is returned. This is
   frequent, because a check whether a job fits is often followed by the search for its placement. The rule `random`
   always searches again. */
bool hr_packer_find(struct hr_packer *packer, uint32_t request, hr_node *node, uint64_t *gpus) {
  struct answer *last = &packer->last;
  bool is_known = last->request == request && last->asked == packer->changes.count + 1 && !is_tally(packer);
  if (!is_known) *last = find(packer, request);
  ++*packer->packing.finds;
  *node = last->node;
  *gpus = last->gpus;
  return last->found;
}

/* A range of consecutive nodes, and their values for one request. */
struct among {
  const uint32_t *values; /* value of place 0; values of successive places are `lanes` entries apart */
  uint32_t lanes, first, end;
};

static uint32_t value_at(const struct hr_packer *packer, const struct among *among, uint32_t node) {
  return among->values[(size_t)packer->place_of[node] * among->lanes];
}

/* Returns the node of the range with the maximum value; of equal nodes, the one with the first place. HR_NONE: the task
   fits on no node of the range. */
static uint32_t best_among(const struct hr_packer *packer, const struct among *among) {
  uint32_t best = HR_NONE, max_value = 0;
  for (uint32_t node = among->first; node < among->end; node++) {
    uint32_t value = value_at(packer, among, node);
    bool is_before = best != HR_NONE && packer->place_of[node] < packer->place_of[best];
    if (value < max_value || value == 0 || (value == max_value && !is_before)) continue;
    max_value = value;
    best = node;
  }
  return best;
}

/* Returns a random node of the range on which the task fits; HR_NONE: the task fits on no node of the range. */
static uint32_t drawn_among(const struct hr_packer *packer, const struct among *among) {
  uint32_t n_fitting = 0;
  for (uint32_t node = among->first; node < among->end; node++) n_fitting += value_at(packer, among, node);
  if (n_fitting == 0) return HR_NONE;
  uint32_t rest = hr_random_below(packer->packing.seed, 0, *packer->packing.finds, n_fitting), node = among->first;
  while (rest >= value_at(packer, among, node)) rest -= value_at(packer, among, node++);
  return node;
}

bool hr_packer_find_among(struct hr_packer *packer, uint32_t request, hr_node first, uint32_t n_nodes, hr_node *node,
                          uint64_t *gpus) {
  const struct packer_block *block = refresh(packer, request);
  uint32_t lane = packer->lane_of[request] % packer->n_lanes;
  const struct among among = {block->tree + lane, packer->n_lanes, first.id, first.id + n_nodes};
  uint32_t found = is_tally(packer) ? drawn_among(packer, &among) : best_among(packer, &among);
  ++*packer->packing.finds;
  if (found == HR_NONE) return false;
  *node = (hr_node){found};
  *gpus = pick_gpus(packer, request, *node);
  return true;
}

void hr_packer_changed(struct hr_packer *packer, hr_node node) {
  hr__node_changes_note(&packer->changes, node);
}

static void count(struct hr_packer *packer, uint32_t request, hr_node node, uint32_t by) {
  packer->tasks[node.id] += by;
  packer->tasks_of_kind[(size_t)node.id * packer->packing.n_kinds + hr_request_kind(&packer->requests[request])] += by;
  hr_packer_changed(packer, node);
}

void hr_packer_taken(struct hr_packer *packer, uint32_t request, hr_node node) {
  count(packer, request, node, 1);
}

void hr_packer_given(struct hr_packer *packer, uint32_t request, hr_node node) {
  count(packer, request, node, UINT32_MAX);
}

void hr_packer_cleared(struct hr_packer *packer, hr_node node) {
  uint32_t n_kinds = packer->packing.n_kinds;
  packer->tasks[node.id] = 0;
  memset(packer->tasks_of_kind + (size_t)node.id * n_kinds, 0, n_kinds * sizeof *packer->tasks_of_kind);
  hr_packer_changed(packer, node);
}

void hr_packer_set_tasks(struct hr_packer *packer, hr_node node, uint32_t tasks, const uint64_t *tasks_of_kind) {
  uint32_t n_kinds = packer->packing.n_kinds;
  packer->tasks[node.id] = tasks;
  for (uint32_t i = 0; i < n_kinds; i++)
    packer->tasks_of_kind[(size_t)node.id * n_kinds + i] = (uint32_t)tasks_of_kind[i];
  hr_packer_changed(packer, node);
}
