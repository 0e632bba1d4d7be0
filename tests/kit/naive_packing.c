/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "naive_packing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- What fits -------------------------------------------------------------------------------------- */

static bool accepts(const struct naive *naive, const struct naive_node *node, const struct hr_request *request) {
  return naive->acceptance.row[request->accept_class * naive->acceptance.n_pools + node->pool];
}

/* Returns the milli-GPUs that a task uses on each of its GPUs. */
static int requested_milli(const struct naive_node *node, const struct hr_request *request) {
  return node->whole_only && request->gpus > 0 ? 1000 : (int)request->gpu_milli;
}

/* Returns the milli-CPUs that a task uses. If the request states none, each GPU (or share of a GPU) comes with CPUs. */
static long cpu_of(const struct naive_node *node, const struct hr_request *request) {
  if (request->cpu_milli || request->gpus == 0) return (long)request->cpu_milli;
  long milli = (long)request->gpus * (node->whole_only ? 1000 : (long)request->gpu_milli);
  return (milli * node->cpu_per_gpu + 999) / 1000;
}

static bool gpu_fits(const struct naive_node *node, const struct hr_request *request, int gpu) {
  return node->left[gpu] >= requested_milli(node, request) &&
         (node->gpu_mem[gpu] < 0 || node->gpu_mem[gpu] >= (long)request->gpu_mem_mib);
}

static bool fits(const struct naive *naive, const struct naive_node *node, const struct hr_request *request) {
  if (node->closed) return false;
  int count = 0, tasks = node->shares + node->no_gpu;
  if (!accepts(naive, node, request)) return false;
  for (int i = 0; i <= NAIVE_MOST_GPUS; i++) tasks += node->whole[i];
  if (node->alone || (request->dedicated && tasks > 0)) return false;
  if (node->cpu >= 0 && node->cpu < cpu_of(node, request)) return false;
  if (node->mem >= 0 && node->mem < (long)request->mem_mib) return false;
  for (int gpu = 0; gpu < node->n_gpus; gpu++) count += gpu_fits(node, request, gpu);
  return request->gpus == 0 || count >= (int)request->gpus;
}

static int free_on(const struct naive_node *node) {
  int sum = 0;
  for (int gpu = 0; gpu < node->n_gpus; gpu++) sum += node->left[gpu];
  return sum;
}

void naive_change(struct naive_node *node, const struct hr_request *request, uint64_t gpus, int by) {
  if (request->dedicated) node->alone += by;
  if (node->cpu >= 0) node->cpu -= by * cpu_of(node, request);
  if (node->mem >= 0) node->mem -= by * (long)request->mem_mib;
  for (int gpu = 0; gpu < node->n_gpus; gpu++) {
    if (!(gpus >> gpu & 1)) continue;
    node->left[gpu] -= by * requested_milli(node, request);
    if (node->gpu_mem[gpu] >= 0) node->gpu_mem[gpu] -= by * (long)request->gpu_mem_mib;
  }
  if (request->gpus == 0)
    node->no_gpu += by;
  else if (request->gpu_milli < 1000)
    node->shares += by;
  else
    node->whole[request->gpus] += by;
}

/* ---- Fragments -------------------------------------------------------------------------------------- */

static long fragment_for(const struct naive *naive, const struct naive_node *node, const struct hr_request *pod) {
  int n_fitting = 0;
  long unusable = 0;
  for (int gpu = 0; gpu < node->n_gpus; gpu++) {
    if (node->left[gpu] >= requested_milli(node, pod))
      n_fitting++;
    else
      unusable += node->left[gpu];
  }
  bool useless = pod->gpus == 0 || !accepts(naive, node, pod) || n_fitting < (int)pod->gpus ||
                 (node->cpu >= 0 && node->cpu < cpu_of(node, pod));
  return useless ? free_on(node) : unusable;
}

long naive_fragment(const struct naive *naive, const struct naive_node *node) {
  long sum = 0;
  for (uint32_t i = 0; i < naive->typical->count; i++)
    sum += (long)naive->typical->pods[i] * fragment_for(naive, node, &naive->typical->request[i]);
  return sum;
}

static int fgd_score(const struct naive *naive, const struct naive_node *node, const struct hr_request *request,
                     uint64_t gpus) {
  struct naive_node after = *node;
  naive_change(&after, request, gpus, 1);
  double reduction = (double)(naive_fragment(naive, node) - naive_fragment(naive, &after));
  return (int)(100 / (1 + exp(-(reduction / (double)naive->typical->total / 1000))));
}

/* ---- GPUs of a node --------------------------------------------------------------------------------- */

/* Selects request->gpus GPUs that have room for the task: those with the fewest free milli-GPUs or, if `widest` is
   true, with the most. */
static uint64_t pick(const struct naive_node *node, const struct hr_request *request, bool widest) {
  uint64_t picked = 0;
  for (uint32_t i = 0; i < request->gpus; i++) {
    int best = -1;
    for (int gpu = 0; gpu < node->n_gpus; gpu++) {
      if (picked >> gpu & 1 || !gpu_fits(node, request, gpu)) continue;
      if (best < 0 || (widest ? node->left[gpu] > node->left[best] : node->left[gpu] < node->left[best])) best = gpu;
    }
    if (best >= 0) picked |= UINT64_C(1) << best;
  }
  return picked;
}

static bool is_share(const struct naive_node *node, const struct hr_request *request) {
  return request->gpus == 1 && requested_milli(node, request) < 1000;
}

static uint64_t pick_fgd(const struct naive *naive, const struct naive_node *node, const struct hr_request *request) {
  int best = -1, best_gpu = 0;
  if (!is_share(node, request)) return pick(node, request, false);
  for (int gpu = 0; gpu < node->n_gpus; gpu++) {
    if (!gpu_fits(node, request, gpu)) continue;
    int score = fgd_score(naive, node, request, UINT64_C(1) << gpu);
    if (score > best) best_gpu = gpu;
    if (score > best) best = score;
  }
  return UINT64_C(1) << best_gpu;
}

static uint64_t pick_random(const struct naive *naive, const struct naive_node *node,
                            const struct hr_request *request) {
  uint32_t count = 0;
  if (!is_share(node, request)) return pick(node, request, false);
  for (int gpu = 0; gpu < node->n_gpus; gpu++) count += gpu_fits(node, request, gpu);
  uint32_t chosen = hr_random_below(naive->seed, 1, naive->finds, count);
  for (int gpu = 0; gpu < node->n_gpus; gpu++)
    if (gpu_fits(node, request, gpu) && chosen-- == 0) return UINT64_C(1) << gpu;
  return 0;
}

static uint64_t pick_by(const struct naive *naive, const char *rule, const struct naive_node *node,
                        const struct hr_request *request) {
  if (strcmp(rule, "fgd") == 0) return pick_fgd(naive, node, request);
  if (strcmp(rule, "random") == 0) return pick_random(naive, node, request);
  return pick(node, request, strcmp(rule, "worst-fit") == 0 || strcmp(rule, "spread") == 0);
}

/* ---- Scores ----------------------------------------------------------------------------------------- */

static double max_cpu(const struct naive *naive) {
  double max = 1;
  for (int i = 0; i < naive->n_nodes; i++)
    if ((double)naive->node[i].cpu_capacity > max) max = (double)naive->node[i].cpu_capacity;
  return max;
}

static double max_gpu(const struct naive *naive) {
  double max = 1;
  for (int i = 0; i < naive->n_nodes; i++)
    if (naive->node[i].n_gpus * 1000.0 > max) max = naive->node[i].n_gpus * 1000.0;
  return max;
}

static int gpu_packing(const struct naive_node *node, const struct hr_request *request) {
  uint64_t gpus = pick(node, request, false);
  int idle = 0, idle_taken = 0, percent = 0;
  if (request->gpus == 0) return 0;
  for (int gpu = 0; gpu < node->n_gpus; gpu++) {
    if (node->left[gpu] == 1000) idle++;
    if (!(gpus >> gpu & 1)) continue;
    if (node->left[gpu] == 1000) idle_taken++;
    percent += node->left[gpu] / 10;
  }
  if (idle == node->n_gpus) return 33 - idle > 0 ? 33 - idle : 0;
  if (idle_taken) return 50 - idle_taken > 33 ? 50 - idle_taken : 33;
  return 100 - percent / 10 > 50 ? 100 - percent / 10 : 50;
}

static int gpu_clustering(const struct naive *naive, const struct naive_node *node, const struct hr_request *request) {
  int of_same_kind = request->gpu_milli < 1000 ? node->shares : node->whole[request->gpus], all = node->shares;
  double max = max_gpu(naive), used = 25 * (max - free_on(node)) / max;
  if (request->gpus == 0) return 0;
  for (int i = 0; i <= NAIVE_MOST_GPUS; i++) all += node->whole[i];
  if (all == 0) return (int)(25 + used);
  if (of_same_kind == all) return (int)(75 + used);
  return of_same_kind ? (int)(50 + used) : (int)used;
}

/* Returns the score for balanced use of CPU and memory, 0 to 100. If `included` is 1, the score is for the node with
   the task; if it is 0, for the present use. */
static int balance(const struct naive_node *node, const struct hr_request *request, int included) {
  double cpu = (double)(node->cpu_capacity - node->cpu + included * cpu_of(node, request)) / (double)node->cpu_capacity;
  double mem =
      (double)(node->mem_capacity - node->mem + included * (long)request->mem_mib) / (double)node->mem_capacity;
  return (int)((1 - fabs(cpu - mem) / 2) * 100);
}

static int kube_default(const struct naive_node *node, const struct hr_request *request) {
  long sum = 0, known = 0;
  if (node->cpu >= 0) sum += (node->cpu - cpu_of(node, request)) * 100 / node->cpu_capacity;
  if (node->mem >= 0) sum += (node->mem - (long)request->mem_mib) * 100 / node->mem_capacity;
  known = (node->cpu >= 0) + (node->mem >= 0);
  int min = known ? (int)(sum / known) : 0;
  if (known < 2) return min + 75;
  return min + 50 + (50 + balance(node, request, 1) - balance(node, request, 0)) / 2;
}

static int kube_most(const struct naive_node *node, const struct hr_request *request) {
  long gpu_capacity = node->n_gpus * 1000L, taken = (long)request->gpus * requested_milli(node, request);
  long sum = 3 * ((gpu_capacity - free_on(node) + taken) * 100 / gpu_capacity), weight = 3;
  if (node->cpu >= 0) {
    sum += (node->cpu_capacity - node->cpu + cpu_of(node, request)) * 100 / node->cpu_capacity;
    weight++;
  }
  if (node->mem >= 0) {
    sum += (node->mem_capacity - node->mem + (long)request->mem_mib) * 100 / node->mem_capacity;
    weight++;
  }
  return (int)(sum / weight);
}

static int weighted_best_fit(const struct naive *naive, const struct naive_node *node,
                             const struct hr_request *request) {
  double cpu = node->cpu < 0 ? 0 : (double)(node->cpu - cpu_of(node, request)) / max_cpu(naive);
  double gpu = (free_on(node) - (double)request->gpus * requested_milli(node, request)) / max_gpu(naive);
  return (int)(100 * (1 - (0.5 * cpu + 0.5 * gpu)));
}

static int dot_product(const struct naive *naive, const struct naive_node *node, const struct hr_request *request) {
  double cpu =
      node->cpu < 0 ? 0 : (double)node->cpu * (double)cpu_of(node, request) / (max_cpu(naive) * max_cpu(naive));
  double gpu =
      free_on(node) * ((double)request->gpus * requested_milli(node, request)) / (max_gpu(naive) * max_gpu(naive));
  return (int)(100 * (1 - (cpu + gpu) / 2));
}

static int tasks_on(const struct naive_node *node) {
  int count = node->shares + node->no_gpu;
  for (int i = 0; i <= NAIVE_MOST_GPUS; i++) count += node->whole[i];
  return count;
}

static int score(const struct naive *naive, const char *rule, const struct naive_node *node,
                 const struct hr_request *request) {
  if (strcmp(rule, "first-fit") == 0) return 0;
  if (strcmp(rule, "best-fit") == 0) return -free_on(node);
  if (strcmp(rule, "worst-fit") == 0) return free_on(node);
  if (strcmp(rule, "spread") == 0) return -tasks_on(node);
  if (strcmp(rule, "fgd") == 0) return fgd_score(naive, node, request, pick_fgd(naive, node, request));
  if (strcmp(rule, "gpu-packing") == 0) return gpu_packing(node, request);
  if (strcmp(rule, "gpu-clustering") == 0) return gpu_clustering(naive, node, request);
  if (strcmp(rule, "kube-default") == 0) return kube_default(node, request);
  if (strcmp(rule, "kube-most-allocated") == 0) return kube_most(node, request);
  if (strcmp(rule, "weighted-best-fit") == 0) return weighted_best_fit(naive, node, request);
  if (strcmp(rule, "dot-product") == 0) return dot_product(naive, node, request);
  abort(); /* this file does not implement the rule */
}

/* Scales the scores of the nodes on which the task fits to 0 .. 100, as in "Beware of Fragmentation" (ATC'23). */
static void normalise(const struct naive *naive, const struct hr_request *request, int *scores) {
  int min = INT32_MAX, max = INT32_MIN;
  for (int i = 0; i < naive->n_nodes; i++) {
    if (!fits(naive, &naive->node[i], request)) continue;
    if (scores[i] < min) min = scores[i];
    if (scores[i] > max) max = scores[i];
  }
  for (int i = 0; i < naive->n_nodes; i++) scores[i] = max > min ? (scores[i] - min) * 100 / (max - min) : 0;
}

/* ---- All nodes -------------------------------------------------------------------------------------- */

static int find_random(const struct naive *naive, const struct hr_request *request) {
  uint32_t count = 0;
  for (int i = 0; i < naive->n_nodes; i++) count += fits(naive, &naive->node[i], request);
  if (count == 0) return -1;
  uint32_t chosen = hr_random_below(naive->seed, 0, naive->finds, count);
  for (int i = 0; i < naive->n_nodes; i++)
    if (fits(naive, &naive->node[i], request) && chosen-- == 0) return i;
  return -1;
}

static int find_best(const struct naive *naive, const char *rule, const struct hr_request *request) {
  int scores[NAIVE_MOST_NODES] = {0}, best = -1;
  for (int i = 0; i < naive->n_nodes; i++)
    if (fits(naive, &naive->node[i], request)) scores[i] = score(naive, rule, &naive->node[i], request);
  if (strcmp(rule, "weighted-best-fit") == 0) normalise(naive, request, scores);
  for (int i = 0; i < naive->n_nodes; i++)
    if (fits(naive, &naive->node[i], request) && (best < 0 || scores[i] > scores[best])) best = i;
  return best;
}

int naive_find(struct naive *naive, const char *rule, const struct hr_request *request, uint64_t *gpus) {
  bool random = strcmp(rule, "random") == 0;
  int best = random ? find_random(naive, request) : find_best(naive, rule, request);
  *gpus = best < 0 ? 0 : pick_by(naive, rule, &naive->node[best], request);
  naive->finds++;
  return best;
}
