/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/typical_tasks.h"

#include <stdlib.h>

/* ---- Which tasks are typical ------------------------------------------------------------------------ */

#define BY(x, y, member)                                                                                               \
  if ((x)->member != (y)->member) return (x)->member < (y)->member ? -1 : 1

static int by_pod(const void *a, const void *b) {
  const struct hr_request *x = a, *y = b;
  BY(x, y, accept_class);
  BY(x, y, gpus);
  BY(x, y, gpu_milli);
  BY(x, y, cpu_milli);
  BY(x, y, mig_need);
  return 0;
}

static int by_demand(const void *a, const void *b) {
  const struct hr_request *x = a, *y = b;
  BY(x, y, gpu_milli);
  BY(x, y, gpus);
  BY(x, y, cpu_milli);
  BY(x, y, mem_mib);
  BY(x, y, mig_need);
  return 0;
}

/* Requests that typical pods are made of, and that ask for GPUs. */
struct tasks {
  struct hr_request *task;
  uint32_t count;
};

static bool find_tasks(struct tasks *tasks, struct hr_arena *arena, const struct hr_requests *requests,
                       const struct hr_typical_pods *typical, struct hr_request *gang) {
  struct hr_request *pod = hr_arena_alloc(arena, ((size_t)typical->count + 1) * sizeof *pod);
  tasks->task = hr_arena_alloc(arena, ((size_t)requests->count + 1) * sizeof *tasks->task);
  if (!pod || !tasks->task) return false;
  for (uint32_t i = 0; i < typical->count; i++) pod[i] = typical->request[i];
  if (typical->count) qsort(pod, typical->count, sizeof *pod, by_pod);
  uint64_t most = 0;
  for (uint32_t i = 0; i < requests->count; i++) {
    const struct hr_request *request = &requests->request[i];
    if (request->gpus == 0 || !bsearch(request, pod, typical->count, sizeof *pod, by_pod)) continue;
    tasks->task[tasks->count++] = *request;
    uint64_t times = requests->jobs[i] * request->tasks;
    if (request->gpus > 1 || request->gpu_milli < HR_WHOLE_GPU_MILLI || times <= most) continue;
    most = times;
    *gang = *request;
  }
  return true;
}

/* ---- By pool ---------------------------------------------------------------------------------------- */

/* On a pool that is split, whoever does with whatever the task does with asks for no more. */
static bool asks_no_less(const struct hr_request *task, const struct hr_request *than, hr_pool pool, bool is_split) {
  bool less_of_node = task->cpu_milli < than->cpu_milli || task->mem_mib < than->mem_mib;
  if (is_split) return !less_of_node && !(task->mig_profiles[pool.id] & ~than->mig_profiles[pool.id]);
  return task->gpu_milli >= than->gpu_milli && task->gpus >= than->gpus && task->cpu_milli >= than->cpu_milli &&
         task->mem_mib >= than->mem_mib;
}

/* What comes later in order can be left out, but nothing before it because of it. */
static void keep_least(struct hr__needs *needs, hr_pool pool, bool is_split) {
  uint32_t kept = 0;
  if (needs->count) qsort(needs->task, needs->count, sizeof *needs->task, by_demand);
  for (uint32_t i = 0; i < needs->count; i++) {
    uint32_t k = 0;
    while (k < kept && !asks_no_less(&needs->task[i], &needs->task[k], pool, is_split)) k++;
    if (k == kept) needs->task[kept++] = needs->task[i];
  }
  needs->count = kept;
}

/* `scratch`: room for all tasks. */
static bool make_needs(struct hr__needs *needs, struct hr_arena *arena, const struct hr_cluster *cluster, hr_pool pool,
                       const struct tasks *tasks, struct hr_request *scratch) {
  *needs = (struct hr__needs){scratch, 0};
  for (uint32_t i = 0; i < tasks->count; i++) {
    if (!hr_cluster_accepts(cluster, tasks->task[i].accept_class, pool)) continue;
    struct hr_request *task = &needs->task[needs->count++];
    *task = tasks->task[i];
    task->gpu_mem_mib = 0;
    task->cpu_milli = hr_pool_cpu_milli(hr_cluster_pool_spec(cluster, pool), task);
  }
  keep_least(needs, pool, hr_cluster_pool_spec(cluster, pool)->mig != NULL);
  needs->task = hr_arena_alloc(arena, ((size_t)needs->count + 1) * sizeof *needs->task);
  for (uint32_t i = 0; needs->task && i < needs->count; i++) needs->task[i] = scratch[i];
  return needs->task != NULL;
}

struct hr__typical_tasks *hr__typical_tasks_create(struct hr_arena *arena, const struct hr_cluster *cluster,
                                                   const struct hr_typical_pods *typical) {
  uint32_t n_pools = hr_cluster_pools(cluster);
  struct hr__typical_tasks *self = hr_arena_alloc(arena, sizeof *self);
  if (!self) return NULL;
  self->gang = (struct hr_request){.tasks = 1, .gpus = 1, .gpu_milli = HR_WHOLE_GPU_MILLI};
  self->needs = hr_arena_alloc(arena, ((size_t)n_pools + 1) * sizeof *self->needs);
  struct tasks tasks = {0};
  if (!self->needs || !find_tasks(&tasks, arena, hr_cluster_requests(cluster), typical, &self->gang)) return NULL;
  struct hr_request *scratch = hr_arena_alloc(arena, ((size_t)tasks.count + 1) * sizeof *scratch);
  if (!scratch) return NULL;
  for (uint32_t i = 0; i < n_pools; i++)
    if (!make_needs(&self->needs[i], arena, cluster, (hr_pool){i}, &tasks, scratch)) return NULL;
  return self;
}

/* ---- A node ----------------------------------------------------------------------------------------- */

static uint32_t stranded_instances_milli(const struct hr__needs *needs, const struct hr_stock *stock, hr_node node) {
  bool any = false;
  for (uint32_t i = 0; i < needs->count; i++) {
    const struct hr_request *task = &needs->task[i];
    if (task->gpus != 1 || !hr_stock_fitting_gpus(stock, task, node)) continue;
    if (stock->cpu_milli[node.id] >= task->cpu_milli && stock->mem_mib[node.id] >= task->mem_mib) return 0;
    any = true;
  }
  return any ? stock->left_milli[node.id] : 0;
}

uint32_t hr__stranded_milli(const struct hr__typical_tasks *tasks, const struct hr_stock *stock, hr_node node) {
  const struct hr__needs *needs = &tasks->needs[stock->pool[node.id]];
  uint32_t n_fitting = 0, for_milli = 0;
  bool any = false;
  if (hr_stock_mig(stock, node)) return stranded_instances_milli(needs, stock, node);
  if (needs->count == 0 || hr_stock_fits(stock, &needs->task[0], node)) return 0;
  for (uint32_t i = 0; i < needs->count; i++) {
    const struct hr_request *task = &needs->task[i];
    if (task->gpu_milli != for_milli)
      n_fitting = (uint32_t)__builtin_popcountll(hr_stock_fitting_gpus(stock, task, node));
    for_milli = task->gpu_milli;
    if (n_fitting == 0) break; /* the rest takes more of each GPU */
    if (n_fitting < task->gpus) continue;
    if (stock->cpu_milli[node.id] >= task->cpu_milli && stock->mem_mib[node.id] >= task->mem_mib) return 0;
    any = true;
  }
  return any ? stock->left_milli[node.id] : 0;
}

uint32_t hr__gang_on(const struct hr__typical_tasks *tasks, const struct hr_stock *stock, hr_node node) {
  const struct hr_request *gang = &tasks->gang;
  bool is_split = hr_stock_mig(stock, node) != NULL;
  uint64_t most = is_split ? (uint64_t)__builtin_popcountll(hr_stock_fitting_gpus(stock, gang, node))
                           : hr_stock_idle_gpus(stock, node);
  uint64_t cpu_milli = stock->cpu_milli[node.id], mem_mib = stock->mem_mib[node.id];
  uint32_t asked_milli = hr_stock_cpu_milli(stock, gang, node);
  if (cpu_milli != HR_NONE && most * asked_milli > cpu_milli) most = cpu_milli / asked_milli;
  if (mem_mib != UINT64_MAX && gang->mem_mib && most > mem_mib / gang->mem_mib) most = mem_mib / gang->mem_mib;
  return (uint32_t)most;
}
