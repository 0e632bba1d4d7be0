/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The placement rules for per-GPU allocation: scores of nodes and choices of GPUs. hr_packing_rules lists them. */

#include "headroom/unstable/capacity.h"

#include <math.h>
#include <string.h>

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

/* Returns the free CPU of the node in thousandths; 0 if it is unknown. */
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

/* Selects GPUs as hr_gpu_inventory_pick does, except that a fraction is placed on the GPU with the most free capacity;
   of equal GPUs, on the one with the lowest index. */
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
 * that the task would use:
 *
 *   max(0, 33 - number of GPUs of the node)                  if all GPUs of the node are idle;
 *   max(33, 50 - number of idle GPUs among the GPUs to use)  if one of the GPUs to use is idle;
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

/* ---- Default -------------------------------------------------------------------------------------- */

static int32_t min_allocated(const struct hr__amounts *amounts, size_t count) {
  uint64_t sum = 0, weight = 0;
  for (size_t i = 0; i < count; i++) {
    if (!amounts[i].capacity) continue;
    sum += (amounts[i].capacity - amounts[i].used - amounts[i].asked) * 100 / amounts[i].capacity;
    weight++;
  }
  return weight ? (int32_t)(sum / weight) : 0;
}

/* Returns how similar the used share of the CPU and the used share of the memory are: 0 to 100 (equal). */
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

/* ---- Most allocated ------------------------------------------------------------------------------- */

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

/* Fragmentation gradient descent (Weng et al., "Beware of Fragmentation", ATC'23): selects the node for which the task
   increases the fragmentation F least. Score: 100 x sigmoid((F before - F after) / 1000), truncated. For a task with a
   fraction of a GPU, the score is computed for each GPU on which the fraction fits, and the first GPU with the maximum
   score is selected. Only the first of several GPUs with equal free capacity is evaluated, unless they are MIG GPUs. */

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
