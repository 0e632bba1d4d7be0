/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Capacity is kept three times, each derived from the one before: milli-GPUs free per node, whole GPUs free per
 * node in the pool's free index, and milli-GPUs free per pool. A placement without slices touches the pool's
 * count alone.
 */

#include "sim/cluster.h"

#include <stdlib.h>
#include <string.h>

enum { MILLI = 1000 };

/* ---- Making one ------------------------------------------------------------------------------------- */

static char lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_word(const char *a, size_t length, const char *b) {
  for (size_t i = 0; i < length; i++)
    if (!b[i] || lower(a[i]) != lower(b[i])) return false;
  return b[length] == '\0';
}

/* Whether `gpu` stands in a `|` list; upper and lower case are the same. */
static bool list_has(const char *list, const char *gpu) {
  for (;;) {
    size_t length = strcspn(list, "|");
    if (same_word(list, length, gpu)) return true;
    if (!list[length]) return false;
    list += length + 1;
  }
}

static uint32_t find_class(const struct hr_cluster *cluster, const uint8_t *row) {
  for (uint32_t i = 0; i < cluster->n_classes; i++)
    if (memcmp(cluster->accepts + (size_t)i * cluster->n_pools, row, cluster->n_pools) == 0) return i;
  return HR_NONE;
}

/* Lists that name the same pools share a class, so that their jobs share a queue. */
static enum hr_status classify_lists(struct hr_cluster *cluster, struct hr_arena *arena, const struct hr_names *lists) {
  size_t n_pools = cluster->n_pools, most = (size_t)lists->count + 1;
  cluster->class_of_list = hr_arena_alloc(arena, lists->count * sizeof *cluster->class_of_list);
  cluster->accepts = hr_arena_alloc(arena, most * n_pools);
  if (!cluster->class_of_list || !cluster->accepts) return HR_NO_MEMORY;
  memset(cluster->accepts, 1, n_pools);
  cluster->n_classes = 1;
  for (uint32_t list = 0; list < lists->count; list++) {
    uint8_t *row = cluster->accepts + cluster->n_classes * n_pools;
    for (uint32_t pool = 0; pool < n_pools; pool++)
      row[pool] = list_has(lists->text[list], cluster->pools[pool].spec->gpu);
    uint32_t class_ = find_class(cluster, row);
    cluster->class_of_list[list] = class_ == HR_NONE ? cluster->n_classes++ : class_;
  }
  return HR_OK;
}

static enum hr_status init_pool(struct hr_cluster *cluster, struct hr_arena *arena, const struct hr_pool_spec *spec) {
  struct hr__pool *pool = &cluster->pools[cluster->n_pools++];
  pool->spec = spec;
  pool->first_node = (hr_node){cluster->n_nodes};
  pool->total_milli = pool->free_milli = (uint64_t)spec->nodes * spec->gpus_per_node * MILLI;
  pool->index = hr_free_index_create(arena, spec->nodes, spec->gpus_per_node);
  cluster->n_nodes += spec->nodes;
  cluster->total_milli += pool->total_milli;
  cluster->free_milli += pool->total_milli;
  return pool->index ? HR_OK : HR_NO_MEMORY;
}

static void fill_nodes(struct hr_cluster *cluster) {
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *spec = cluster->pools[i].spec;
    uint32_t *free_milli = cluster->node_free_milli + cluster->pools[i].first_node.id;
    for (uint32_t node = 0; node < spec->nodes; node++) free_milli[node] = spec->gpus_per_node * MILLI;
  }
}

enum hr_status hr__cluster_init(struct hr_cluster *cluster, struct hr_arena *arena, const struct hr_cluster_spec *spec,
                                const struct hr_trace *trace) {
  *cluster = (struct hr_cluster){.trace = trace};
  cluster->pools = hr_arena_alloc(arena, spec->n_pools * sizeof *cluster->pools);
  if (!cluster->pools) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < spec->n_pools; i++)
    if (init_pool(cluster, arena, &spec->pools[i]) != HR_OK) return HR_NO_MEMORY;
  cluster->node_free_milli = hr_arena_alloc(arena, cluster->n_nodes * sizeof *cluster->node_free_milli);
  if (!cluster->node_free_milli) return HR_NO_MEMORY;
  fill_nodes(cluster);
  return classify_lists(cluster, arena, &trace->gpu_type_lists);
}

/* ---- Taking and giving ------------------------------------------------------------------------------ */

hr_pool hr__cluster_pool_of(const struct hr_cluster *cluster, hr_node node) {
  uint32_t low = 0, high = cluster->n_pools - 1;
  while (low < high) {
    uint32_t middle = (low + high + 1) / 2;
    if (cluster->pools[middle].first_node.id <= node.id)
      low = middle;
    else
      high = middle - 1;
  }
  return (hr_pool){low};
}

static void change_node(struct hr_cluster *cluster, struct hr__pool *pool, hr_node node, uint32_t free_milli) {
  cluster->node_free_milli[node.id] = free_milli;
  hr_free_index_set(pool->index, node.id - pool->first_node.id, free_milli / MILLI);
}

static void give_slices(struct hr_cluster *cluster, struct hr__pool *pool, const struct hr_slice *slices,
                        uint32_t n_slices) {
  for (uint32_t i = 0; i < n_slices; i++)
    change_node(cluster, pool, slices[i].node, cluster->node_free_milli[slices[i].node.id] + slices[i].gpu_milli);
}

static const char *take_slice(struct hr_cluster *cluster, struct hr__pool *pool, struct hr_slice slice) {
  if (slice.node.id - pool->first_node.id >= pool->spec->nodes) return "a node is not of the placement's pool";
  if (slice.gpu_milli == 0) return "a slice is empty";
  uint32_t free_milli = cluster->node_free_milli[slice.node.id];
  if (slice.gpu_milli > free_milli) return "a node has too few GPUs free";
  change_node(cluster, pool, slice.node, free_milli - slice.gpu_milli);
  return NULL;
}

/* All slices or none. */
static const char *take_slices(struct hr_cluster *cluster, struct hr__pool *pool, const struct hr_placement *placement,
                               uint64_t gpu_milli) {
  uint64_t sum_milli = 0;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    const char *refusal = take_slice(cluster, pool, placement->slices[i]);
    if (refusal) {
      give_slices(cluster, pool, placement->slices, i);
      return refusal;
    }
    sum_milli += placement->slices[i].gpu_milli;
  }
  if (placement->n_slices == 0 || sum_milli == gpu_milli) return NULL;
  give_slices(cluster, pool, placement->slices, placement->n_slices);
  return "the slices do not add up to what the job asks for";
}

const char *hr__cluster_take(struct hr_cluster *cluster, const struct hr_placement *placement, uint64_t gpu_milli,
                             uint32_t accept_class) {
  if (gpu_milli == 0) return placement->n_slices ? "a job without GPUs takes no slice of a node" : NULL;
  if (placement->pool.id >= cluster->n_pools) return "there is no such pool";
  struct hr__pool *pool = &cluster->pools[placement->pool.id];
  if (!hr_cluster_accepts(cluster, accept_class, placement->pool)) return "the job does not accept the pool's GPU type";
  if (pool->free_milli < gpu_milli) return "the pool has too few GPUs free";
  const char *refusal = take_slices(cluster, pool, placement, gpu_milli);
  if (refusal) return refusal;
  pool->free_milli -= gpu_milli;
  cluster->free_milli -= gpu_milli;
  return NULL;
}

void hr__cluster_give(struct hr_cluster *cluster, const struct hr_placement *placement, uint64_t gpu_milli) {
  if (gpu_milli == 0) return;
  struct hr__pool *pool = &cluster->pools[placement->pool.id];
  pool->free_milli += gpu_milli;
  cluster->free_milli += gpu_milli;
  give_slices(cluster, pool, placement->slices, placement->n_slices);
}

enum hr_reason hr__cluster_never_fits(const struct hr_cluster *cluster, hr_job job) {
  uint32_t gpus = cluster->trace->gpus[job.id];
  if (gpus == 0) return HR_REASON_NONE;
  uint32_t accept_class = hr_cluster_accept_class(cluster, job);
  enum hr_reason reason = HR_REASON_NO_GPU_TYPE;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    if (!hr_cluster_accepts(cluster, accept_class, (hr_pool){i})) continue;
    if (cluster->pools[i].total_milli >= (uint64_t)gpus * MILLI) return HR_REASON_NONE;
    reason = HR_REASON_TOO_LARGE;
  }
  return reason;
}

/* ---- Asking, for policies --------------------------------------------------------------------------- */

uint32_t hr_cluster_pools(const struct hr_cluster *cluster) {
  return cluster->n_pools;
}

const struct hr_pool_spec *hr_cluster_pool_spec(const struct hr_cluster *cluster, hr_pool pool) {
  return cluster->pools[pool.id].spec;
}

hr_node hr_cluster_first_node(const struct hr_cluster *cluster, hr_pool pool) {
  return cluster->pools[pool.id].first_node;
}

uint64_t hr_cluster_total_milli(const struct hr_cluster *cluster, hr_pool pool) {
  return cluster->pools[pool.id].total_milli;
}

uint64_t hr_cluster_free_milli(const struct hr_cluster *cluster, hr_pool pool) {
  return cluster->pools[pool.id].free_milli;
}

const struct hr_free_index *hr_cluster_free_index(const struct hr_cluster *cluster, hr_pool pool) {
  return cluster->pools[pool.id].index;
}

uint32_t hr_cluster_accept_class(const struct hr_cluster *cluster, hr_job job) {
  const uint32_t *lists = cluster->trace->gpu_types;
  return lists && lists[job.id] != HR_NONE ? cluster->class_of_list[lists[job.id]] : 0;
}

bool hr_cluster_accepts(const struct hr_cluster *cluster, uint32_t accept_class, hr_pool pool) {
  return cluster->accepts[(size_t)accept_class * cluster->n_pools + pool.id];
}

/* ---- The specification ------------------------------------------------------------------------------ */

enum hr_status hr_cluster_spec_add(struct hr_cluster_spec *spec, const struct hr_pool_spec *pool,
                                   struct hr_error *error) {
  struct hr_pool_spec *pools = realloc(spec->pools, (spec->n_pools + 1) * sizeof *pools);
  if (!pools) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  spec->pools = pools;
  struct hr_pool_spec copy = *pool;
  copy.name = strdup(pool->name);
  copy.gpu = strdup(pool->gpu);
  if (!copy.name || !copy.gpu) {
    free(copy.name);
    free(copy.gpu);
    return hr_fail(error, HR_NO_MEMORY, "out of memory");
  }
  pools[spec->n_pools++] = copy;
  return HR_OK;
}

void hr_cluster_spec_finish(struct hr_cluster_spec *spec) {
  for (uint32_t i = 0; i < spec->n_pools; i++) {
    free(spec->pools[i].name);
    free(spec->pools[i].gpu);
  }
  free(spec->pools);
  *spec = (struct hr_cluster_spec){0};
}

uint64_t hr_cluster_spec_gpus(const struct hr_cluster_spec *spec) {
  uint64_t gpus = 0;
  for (uint32_t i = 0; i < spec->n_pools; i++) gpus += (uint64_t)spec->pools[i].nodes * spec->pools[i].gpus_per_node;
  return gpus;
}
