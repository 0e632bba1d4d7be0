/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "headroom/stock.h"

#include "headroom/policy.h"
#include "sim/stock_mig.h"

const char *hr_sharing_name(enum hr_sharing sharing) {
  static const char *const names[] = {
#define SHARING_TEXT(name, text) text,
      HR_SHARING_TABLE(SHARING_TEXT)
#undef SHARING_TEXT
  };
  return names[sharing];
}

const char *hr_gpu_memory_name(enum hr_gpu_memory memory) {
  static const char *const names[] = {
#define MEMORY_TEXT(name, text) text,
      HR_GPU_MEMORY_TABLE(MEMORY_TEXT)
#undef MEMORY_TEXT
  };
  return names[memory];
}

static enum hr_status make_columns(struct hr_stock *stock, struct hr_arena *arena) {
  size_t n_nodes = stock->n_nodes, n_gpus = n_nodes * stock->most_gpus;
  stock->pool = hr_arena_alloc(arena, (n_nodes + 1) * sizeof *stock->pool);
  stock->n_gpus = hr_arena_alloc(arena, n_nodes + 1);
  stock->cpu_milli = hr_arena_alloc(arena, (n_nodes + 1) * sizeof *stock->cpu_milli);
  stock->mem_mib = hr_arena_alloc(arena, (n_nodes + 1) * sizeof *stock->mem_mib);
  stock->gpu_milli = hr_arena_alloc(arena, (n_gpus + 1) * sizeof *stock->gpu_milli);
  stock->gpu_mem_mib = hr_arena_alloc(arena, (n_gpus + 1) * sizeof *stock->gpu_mem_mib);
  stock->gpu_tasks = hr_arena_alloc(arena, (n_gpus + 1) * sizeof *stock->gpu_tasks);
  stock->left_milli = hr_arena_alloc(arena, (n_nodes + 1) * sizeof *stock->left_milli);
  stock->widest_milli = hr_arena_alloc(arena, (n_nodes + 1) * sizeof *stock->widest_milli);
  stock->slot_milli = hr_arena_alloc(arena, (n_nodes + 1) * sizeof *stock->slot_milli);
  stock->slot_mem_mib = hr_arena_alloc(arena, (n_nodes + 1) * sizeof *stock->slot_mem_mib);
  stock->most_tasks = hr_arena_alloc(arena, (n_nodes + 1) * sizeof *stock->most_tasks);
  stock->closed = hr_arena_alloc(arena, n_nodes + 1);
  stock->alone = hr_arena_alloc(arena, n_nodes + 1);
  stock->tasks = hr_arena_alloc(arena, (n_nodes + 1) * sizeof *stock->tasks);
  if (!stock->alone || !stock->tasks) return HR_NO_MEMORY;
  if (!stock->left_milli || !stock->widest_milli) return HR_NO_MEMORY;
  if (!stock->gpu_tasks || !stock->slot_milli || !stock->slot_mem_mib || !stock->most_tasks || !stock->closed)
    return HR_NO_MEMORY;
  bool made = stock->pool && stock->n_gpus && stock->cpu_milli && stock->mem_mib && stock->gpu_milli;
  return made && stock->gpu_mem_mib ? HR_OK : HR_NO_MEMORY;
}

uint32_t hr_pool_slot_milli(const struct hr_pool_spec *spec) {
  if (spec->sharing == HR_SHARING_WHOLE) return HR_WHOLE_GPU_MILLI;
  bool parted = spec->sharing != HR_SHARING_FRACTION && spec->replicas > 0;
  return parted ? HR_WHOLE_GPU_MILLI / spec->replicas : 0;
}

uint32_t hr_pool_part_mem_mib(const struct hr_pool_spec *spec) {
  bool limited = spec->sharing == HR_SHARING_MPS && spec->replicas > 0 && spec->gpu_mem_mib > 0;
  return limited ? spec->gpu_mem_mib / spec->replicas : HR_NONE;
}

static uint32_t most_tasks(const struct hr_pool_spec *spec) {
  if (spec->sharing == HR_SHARING_MPS) return spec->clients ? spec->clients : HR_MPS_CLIENTS;
  return HR_WHOLE_GPU_MILLI;
}

static void fill_node(struct hr_stock *stock, uint32_t node, uint32_t pool, const struct hr_pool_spec *spec) {
  stock->pool[node] = pool;
  stock->n_gpus[node] = (uint8_t)spec->gpus_per_node;
  stock->left_milli[node] = spec->gpus_per_node * HR_WHOLE_GPU_MILLI;
  stock->widest_milli[node] = spec->gpus_per_node ? HR_WHOLE_GPU_MILLI : 0;
  stock->slot_milli[node] = (uint16_t)hr_pool_slot_milli(spec);
  stock->slot_mem_mib[node] = hr_pool_part_mem_mib(spec);
  stock->most_tasks[node] = (uint16_t)most_tasks(spec);
  stock->cpu_milli[node] = spec->cpu_milli_per_node ? spec->cpu_milli_per_node : HR_NONE;
  stock->mem_mib[node] = spec->mem_mib_per_node ? spec->mem_mib_per_node : UINT64_MAX;
  for (uint32_t gpu = 0; gpu < spec->gpus_per_node; gpu++) {
    stock->gpu_milli[(size_t)node * stock->most_gpus + gpu] = HR_WHOLE_GPU_MILLI;
    stock->gpu_mem_mib[(size_t)node * stock->most_gpus + gpu] = hr_pool_reserved_mem_mib(spec);
  }
}

uint32_t hr_pool_cpu_milli(const struct hr_pool_spec *spec, const struct hr_request *request) {
  uint32_t slot_milli = hr_pool_slot_milli(spec), milli = slot_milli ? slot_milli : request->gpu_milli;
  if (request->cpu_milli || request->gpus == 0) return request->cpu_milli;
  return hr_cpu_milli_with(spec->cpu_milli_per_gpu, (uint64_t)request->gpus * milli);
}

/* What GPUs come with, if those of some pool do. */
static enum hr_status tell_cpus(struct hr_stock *stock, struct hr_arena *arena, const struct hr_cluster_spec *spec) {
  bool any = false;
  for (uint32_t i = 0; i < spec->n_pools; i++) any = any || spec->pools[i].cpu_milli_per_gpu > 0;
  if (!any) return HR_OK;
  stock->gpu_cpu_milli = hr_arena_alloc(arena, spec->n_pools * sizeof *stock->gpu_cpu_milli);
  if (!stock->gpu_cpu_milli) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < spec->n_pools; i++) stock->gpu_cpu_milli[i] = spec->pools[i].cpu_milli_per_gpu;
  return HR_OK;
}

struct hr_stock *hr_stock_create(struct hr_arena *arena, const struct hr_cluster_spec *spec,
                                 const struct hr_requests *requests) {
  struct hr_stock *stock = hr_arena_alloc(arena, sizeof *stock);
  if (!stock) return NULL;
  for (uint32_t i = 0; i < spec->n_pools; i++) {
    stock->n_nodes += spec->pools[i].nodes;
    if (spec->pools[i].nodes == 0) continue;
    if (spec->pools[i].gpus_per_node > stock->most_gpus) stock->most_gpus = spec->pools[i].gpus_per_node;
  }
  if (stock->most_gpus > HR_MAX_STOCK_GPUS || make_columns(stock, arena) != HR_OK) return NULL;
  for (uint32_t i = 0, node = 0; i < spec->n_pools; i++)
    for (uint32_t end = node + spec->pools[i].nodes; node < end; node++) fill_node(stock, node, i, &spec->pools[i]);
  if (tell_cpus(stock, arena, spec) != HR_OK) return NULL;
  return hr__stock_mig_init(stock, arena, spec, requests) == HR_OK ? stock : NULL;
}

uint32_t hr_stock_idle_gpus(const struct hr_stock *stock, hr_node node) {
  const uint16_t *milli = hr_stock_gpus(stock, node);
  uint32_t idle = 0;
  if (stock->widest_milli[node.id] < HR_WHOLE_GPU_MILLI) return 0;
  for (uint32_t gpu = 0; gpu < stock->n_gpus[node.id]; gpu++) idle += milli[gpu] == HR_WHOLE_GPU_MILLI;
  return idle;
}

uint64_t hr_stock_fitting_gpus(const struct hr_stock *stock, const struct hr_request *request, hr_node node) {
  if (hr_stock_mig(stock, node)) return hr__stock_mig_fitting(stock, request, node);
  const uint16_t *milli = hr_stock_gpus(stock, node);
  uint32_t asked_milli = hr_stock_milli(stock, request, node);
  size_t first = (size_t)node.id * stock->most_gpus;
  const uint32_t *mem_mib = stock->gpu_mem_mib + first;
  uint32_t n_gpus = stock->n_gpus[node.id];
  uint64_t fitting = 0;
  for (uint32_t gpu = 0; gpu < n_gpus; gpu++) fitting |= (uint64_t)(milli[gpu] >= asked_milli) << gpu;
  if (stock->most_tasks[node.id] < HR_WHOLE_GPU_MILLI)
    for (uint32_t gpu = 0; gpu < n_gpus; gpu++)
      fitting &= ~((uint64_t)(stock->gpu_tasks[first + gpu] >= stock->most_tasks[node.id]) << gpu);
  if (request->gpu_mem_mib == 0) return fitting;
  if (request->gpu_mem_mib > stock->slot_mem_mib[node.id]) return 0;
  for (uint32_t gpu = 0; gpu < n_gpus; gpu++) fitting &= ~((uint64_t)(mem_mib[gpu] < request->gpu_mem_mib) << gpu);
  return fitting;
}

/* Whether a set has so many members, at least; cheap for the few that are asked for. */
static bool has_as_many(uint64_t set, uint32_t count) {
  for (; count > 1 && set; count--) set &= set - 1;
  return set != 0;
}

/* One GPU of which nothing counts but its thousandths. */
static bool is_by_share(const struct hr_stock *stock, const struct hr_request *request, hr_node node) {
  return request->gpus == 1 && request->gpu_mem_mib == 0 && stock->most_tasks[node.id] == HR_WHOLE_GPU_MILLI;
}

static inline bool fits(const struct hr_stock *stock, const struct hr_request *request, hr_node node) {
  if (stock->closed[node.id] || stock->alone[node.id]) return false;
  if (request->dedicated && stock->tasks[node.id] > 0) return false;
  if (stock->cpu_milli[node.id] < hr_stock_cpu_milli(stock, request, node)) return false;
  if (stock->mem_mib[node.id] < request->mem_mib) return false;
  if (request->gpus == 0) return true;
  if (hr_stock_mig(stock, node)) return request->gpus == 1 && hr__stock_mig_fitting(stock, request, node) != 0;
  if (stock->widest_milli[node.id] < hr_stock_milli(stock, request, node)) return false;
  if (is_by_share(stock, request, node)) return true;
  return has_as_many(hr_stock_fitting_gpus(stock, request, node), request->gpus);
}

bool hr_stock_fits(const struct hr_stock *stock, const struct hr_request *request, hr_node node) {
  return fits(stock, request, node);
}

uint64_t hr_stock_fits_each(const struct hr_stock *stock, const struct hr_request *const *requests, uint32_t count,
                            hr_node node) {
  uint64_t fitting = 0;
  for (uint32_t i = 0; i < count; i++) fitting |= (uint64_t)fits(stock, requests[i], node) << i;
  return fitting;
}

/* The one with the least left, the first among equals. */
static uint32_t least_left(const uint16_t *milli, uint64_t gpus) {
  uint32_t best = (uint32_t)__builtin_ctzll(gpus);
  for (uint64_t rest = gpus; rest; rest &= rest - 1) {
    uint32_t gpu = (uint32_t)__builtin_ctzll(rest);
    if (milli[gpu] < milli[best]) best = gpu;
  }
  return best;
}

/* Likewise, of those that have as much; 0: none has. */
static uint64_t pick_one(const uint16_t *milli, uint32_t n_gpus, uint32_t asked_milli) {
  enum { GPU_BITS = 6 };
  uint32_t best = UINT32_MAX;
  for (uint32_t gpu = 0; gpu < n_gpus; gpu++) {
    uint32_t key = (uint32_t)milli[gpu] << GPU_BITS | gpu;
    best = milli[gpu] >= asked_milli && key < best ? key : best;
  }
  return best == UINT32_MAX ? 0 : UINT64_C(1) << (best & ((1u << GPU_BITS) - 1));
}

/* GPUs of a task's own have nothing taken of them, so they all have the same left. */
uint64_t hr_stock_pick_of(const struct hr_stock *stock, const struct hr_request *request, hr_node node, uint64_t gpus) {
  const uint16_t *milli = hr_stock_gpus(stock, node);
  uint64_t fitting = hr_stock_fitting_gpus(stock, request, node) & gpus, picked = 0;
  for (uint32_t i = 0; i < request->gpus && fitting; i++) {
    uint64_t gpu = UINT64_C(1) << least_left(milli, fitting);
    picked |= gpu;
    fitting &= ~gpu;
  }
  return picked;
}

uint64_t hr_stock_pick(const struct hr_stock *stock, const struct hr_request *request, hr_node node) {
  if (request->gpus > 0 && hr_stock_mig(stock, node)) return hr__stock_mig_pick(stock, request, node);
  if (is_by_share(stock, request, node))
    return pick_one(hr_stock_gpus(stock, node), stock->n_gpus[node.id], hr_stock_milli(stock, request, node));
  return hr_stock_pick_of(stock, request, node, UINT64_MAX);
}

static void find_widest(struct hr_stock *stock, hr_node node) {
  const uint16_t *milli = hr_stock_gpus(stock, node);
  uint16_t widest = 0;
  for (uint32_t gpu = 0; gpu < stock->n_gpus[node.id]; gpu++) widest = milli[gpu] > widest ? milli[gpu] : widest;
  stock->widest_milli[node.id] = widest;
}

struct hr_slice hr_stock_slice(const struct hr_stock *stock, const struct hr_request *request, hr_node node,
                               uint64_t gpus) {
  if (gpus && hr_stock_mig(stock, node)) return hr__stock_mig_slice(stock, request, node, gpus);
  return (struct hr_slice){
      .node = node, .gpu_milli = request->gpus * hr_stock_milli(stock, request, node), .gpus = gpus};
}

const char *hr_stock_refuse(const struct hr_stock *stock, const struct hr_request *request,
                            const struct hr_slice *slice) {
  uint32_t n_gpus = (uint32_t)__builtin_popcountll(slice->gpus);
  bool is_split = n_gpus > 0 && hr_stock_mig(stock, slice->node);
  if (n_gpus != request->gpus) return "a slice does not have as many GPUs as a task asks for";
  if (!is_split && slice->gpu_milli != n_gpus * hr_stock_milli(stock, request, slice->node))
    return "a slice does not have as much of its GPUs as a task asks for";
  if (n_gpus > 0 && slice->gpus & ~hr_stock_fitting_gpus(stock, request, slice->node))
    return "a GPU has too little free";
  if (!hr_stock_fits(stock, request, slice->node)) return "a node has too little CPU or memory free";
  return is_split ? hr__stock_mig_refuse(stock, request, slice) : NULL;
}

/* `taken`: 1 to take, -1 to give back; in arithmetic without a sign. */
static void change(struct hr_stock *stock, const struct hr_request *request, const struct hr_slice *slice,
                   uint32_t taken) {
  uint32_t node = slice->node.id;
  if (stock->cpu_milli[node] != HR_NONE)
    stock->cpu_milli[node] -= taken * hr_stock_cpu_milli(stock, request, slice->node);
  if (stock->mem_mib[node] != UINT64_MAX) stock->mem_mib[node] -= (uint64_t)(int32_t)taken * request->mem_mib;
  stock->tasks[node] += taken;
  stock->alone[node] = request->dedicated && taken == 1;
  if (!slice->gpus) return;
  bool is_split = hr_stock_mig(stock, slice->node) != NULL;
  if (is_split) hr__stock_mig_change(stock, slice, taken == 1);
  size_t first = (size_t)node * stock->most_gpus;
  uint32_t milli = is_split ? slice->gpu_milli : hr_stock_milli(stock, request, slice->node);
  for (uint64_t gpus = slice->gpus; gpus; gpus &= gpus - 1) {
    size_t gpu = first + (uint32_t)__builtin_ctzll(gpus);
    stock->gpu_milli[gpu] = (uint16_t)(stock->gpu_milli[gpu] - taken * milli);
    if (stock->gpu_milli[gpu] > stock->widest_milli[node]) stock->widest_milli[node] = stock->gpu_milli[gpu];
    stock->left_milli[node] -= taken * milli;
    stock->gpu_tasks[gpu] = (uint16_t)(stock->gpu_tasks[gpu] + taken);
    if (stock->gpu_mem_mib[gpu] != HR_NONE) stock->gpu_mem_mib[gpu] -= taken * request->gpu_mem_mib;
  }
  if (taken == 1) find_widest(stock, slice->node);
}

void hr_stock_take(struct hr_stock *stock, const struct hr_request *request, const struct hr_slice *slice) {
  change(stock, request, slice, 1);
}

void hr_stock_give(struct hr_stock *stock, const struct hr_request *request, const struct hr_slice *slice) {
  change(stock, request, slice, UINT32_MAX);
}

void hr_stock_undo(struct hr_stock *stock, const struct hr_request *request, const struct hr_slice *slice) {
  hr_stock_give(stock, request, slice);
  if (slice->gpus && hr_stock_mig(stock, slice->node)) hr__stock_mig_undo(stock, slice);
}

void hr_stock_renew(struct hr_stock *stock, hr_node node) {
  if (hr_stock_mig(stock, node)) hr__stock_mig_renew(stock, node);
}

/* ---- An empty node ---------------------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

/* Tasks that the node's instances of MIG have room for, of those that will do. */
static uint64_t most_on_instances(const struct hr_pool_spec *spec, const struct hr_request *request, uint32_t wanted) {
  uint64_t most = 0;
  for (uint32_t gpu = 0; request->gpus == 1 && gpu < spec->gpus_per_node; gpu++)
    most += hr__mig_most_tasks(spec->mig, wanted, gpu);
  return most;
}

/* Tasks that the node's GPUs have room for. */
static uint64_t most_on_gpus(const struct hr_pool_spec *spec, const struct hr_request *request) {
  uint32_t slot_milli = hr_pool_slot_milli(spec), milli = slot_milli ? slot_milli : request->gpu_milli;
  uint64_t on_each = least(HR_WHOLE_GPU_MILLI / milli, most_tasks(spec));
  if (request->gpu_mem_mib) on_each = least(on_each, hr_pool_reserved_mem_mib(spec) / request->gpu_mem_mib);
  if (request->gpu_mem_mib > hr_pool_part_mem_mib(spec)) on_each = 0;
  return spec->gpus_per_node < request->gpus ? 0 : spec->gpus_per_node * on_each / request->gpus;
}

uint32_t hr_pool_most_tasks(const struct hr_cluster_spec *cluster, hr_pool pool, const struct hr_request *request) {
  const struct hr_pool_spec *spec = &cluster->pools[pool.id];
  uint32_t wanted = request->mig_profiles ? request->mig_profiles[pool.id] : 0;
  uint64_t most = HR_NONE;
  if (request->dedicated) most = 1;
  if (request->gpus > 0)
    most = least(most, spec->mig ? most_on_instances(spec, request, wanted) : most_on_gpus(spec, request));
  uint32_t cpu_milli = hr_pool_cpu_milli(spec, request);
  if (spec->cpu_milli_per_node && cpu_milli) most = least(most, spec->cpu_milli_per_node / cpu_milli);
  if (spec->mem_mib_per_node && request->mem_mib) most = least(most, spec->mem_mib_per_node / request->mem_mib);
  return (uint32_t)most;
}
