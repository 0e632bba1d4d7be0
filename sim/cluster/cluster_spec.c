/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The description of a cluster (struct hr_cluster_spec): pools and the objects that belong to them, tiers and networks,
   speeds by network, MIG settings, quotas. */

#include "base/containers.h"
#include "base/text.h"
#include "headroom/cluster.h"
#include "headroom/unstable/autoscaling.h"
#include "headroom/unstable/faults.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum hr_status hr_cluster_spec_add(struct hr_cluster_spec *spec, const struct hr_pool_spec *pool,
                                   struct hr_error *error) {
  if (!HR__ARRAY_RESIZE(spec->pools, spec->n_pools + 1)) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  struct hr_pool_spec copy = *pool;
  copy.name = strdup(pool->name);
  copy.gpu = strdup(pool->gpu);
  copy.gpu_names = pool->gpu_names ? strdup(pool->gpu_names) : NULL;
  copy.region = pool->region ? strdup(pool->region) : NULL;
  if (!copy.name || !copy.gpu || (pool->gpu_names && !copy.gpu_names) || (pool->region && !copy.region)) {
    free(copy.name);
    free(copy.gpu);
    free(copy.gpu_names);
    free(copy.region);
    return hr_fail(error, HR_NO_MEMORY, "out of memory");
  }
  spec->pools[spec->n_pools++] = copy;
  return HR_OK;
}

/* Frees a MIG description. `spec` may be NULL. */
static void destroy_mig(struct hr_mig_spec *spec) {
  if (!spec) return;
  for (uint32_t i = 0; i < spec->n_layouts; i++) free(spec->layouts[i].name);
  free(spec->layouts);
  free(spec->layout_of_gpu);
  free((void *)(uintptr_t)spec->type.gpu);
  free((void *)(uintptr_t)spec->type.profiles);
  free(spec);
}

void hr_pool_sharing_finish(struct hr_pool_spec *pool) {
  for (uint32_t i = 0; i < pool->n_pairs; i++) {
    free(pool->pairs[i].model);
    free(pool->pairs[i].with);
  }
  free(pool->pairs);
  free(pool->interference);
  destroy_mig(pool->mig);
}

void hr_autoscaler_spec_destroy(struct hr_autoscaler_spec *spec) {
  if (!spec) return;
  for (uint32_t i = 0; i < spec->n_quotas; i++) {
    free(spec->quotas[i].gpu);
    free(spec->quotas[i].region);
    free(spec->quotas[i].of_pool);
  }
  for (uint32_t i = 0; i < spec->n_node_pools; i++) {
    struct hr_node_pool *pool = &spec->node_pools[i];
    for (uint32_t k = 0; k < pool->n_pools; k++) free(pool->pools[k].name);
    free(pool->name);
    free(pool->pools);
    free(pool->of_pool);
    for (uint32_t k = 0; k < pool->n_budgets; k++) free(pool->budgets[k].schedule);
    free(pool->budgets);
    free(pool->drifts_us);
  }
  free(spec->node_pools);
  free(spec->quotas);
  free(spec->expanders);
  free(spec->failure_share);
  free(spec);
}

void hr_cluster_spec_finish(struct hr_cluster_spec *spec) {
  for (uint32_t i = 0; i < spec->n_pools; i++) {
    hr_fault_spec_destroy(spec->pools[i].faults);
    hr_maintenance_destroy(spec->pools[i].maintenance, spec->pools[i].n_maintenance);
    hr_power_spec_destroy(spec->pools[i].power);
    free(spec->pools[i].name);
    free(spec->pools[i].gpu);
    free(spec->pools[i].gpu_names);
    free(spec->pools[i].region);
    free(spec->pools[i].market.prices);
    free(spec->pools[i].market.spot.levels);
    hr_pool_sharing_finish(&spec->pools[i]);
  }
  free(spec->pools);
  free(spec->node_order);
  hr_autoscaler_spec_destroy(spec->autoscaler);
  free(spec->gpu_vocabulary);
  *spec = (struct hr_cluster_spec){0};
}

bool hr_cluster_spec_by_gpu(const struct hr_cluster_spec *spec) {
  for (uint32_t i = 0; i < spec->n_pools; i++) {
    const struct hr_pool_spec *pool = &spec->pools[i];
    if (pool->nodes == 0) continue;
    if (pool->sharing != HR_SHARING_WHOLE || hr_topology_parts_nodes(&pool->topology, pool->gpus_per_node)) return true;
  }
  return spec->by_gpu;
}

/* ---- Tiers, networks and speeds by network ---- */

HR__NAME_FUNCTION(hr_tier_name, enum hr_tier, HR_TIER_TABLE)
HR__NAME_FUNCTION(hr_network_name, enum hr_network, HR_NETWORK_TABLE)

void hr_network_speeds_destroy(struct hr_network_speeds *speeds) {
  if (!speeds) return;
  for (uint32_t i = 0; speeds->rows && i < speeds->n_rows; i++) free(speeds->rows[i].model);
  free(speeds->rows);
  free(speeds);
}

static bool is_of_family(const char *model, const char *family) {
  if (strcmp(family, "*") == 0) return true;
  return model && strncasecmp(model, family, strlen(family)) == 0;
}

/* Returns the rank of a model family that matches a model. If several families match, the one with the highest rank is
   used. A longer family has a higher rank, and "*" has the lowest. */
static size_t length_of(const char *family) {
  return strcmp(family, "*") == 0 ? 0 : strlen(family);
}

struct hr_network_span hr_network_span_of(const struct hr_network_speeds *speeds, const char *model,
                                          enum hr_network network) {
  struct hr_network_span best = {0};
  for (uint32_t i = 0; i < speeds->n_rows; i++) {
    const struct hr_network_speed *row = &speeds->rows[i], *first = &speeds->rows[best.first];
    if (row->network != network || !is_of_family(model, row->model)) continue;
    if (best.count && strcasecmp(row->model, first->model) == 0)
      best.count++;
    else if (!best.count || length_of(row->model) > length_of(first->model))
      best = (struct hr_network_span){i, 1};
  }
  return best;
}

/* ---- Sharing ---- */

HR__NAME_FUNCTION(hr_sharing_name, enum hr_sharing, HR_SHARING_TABLE)
HR__NAME_FUNCTION(hr_gpu_memory_name, enum hr_gpu_memory, HR_GPU_MEMORY_TABLE)

/* ---- MIG settings of a pool ---- */

HR__NAME_FUNCTION(hr_mig_mode_name, enum hr_mig_mode, HR_MIG_MODE_TABLE)

/* Copies profiles and their names into one block of memory. Returns NULL if memory is exhausted. */
static struct hr_mig_profile *copy_profiles(const struct hr_mig_type *type) {
  struct hr_mig_profile *copy = malloc(type->n_profiles * (sizeof *copy + HR_MIG_NAME_BYTES));
  if (!copy) return NULL;
  char *names = (char *)(copy + type->n_profiles);
  for (uint32_t i = 0; i < type->n_profiles; i++) {
    copy[i] = type->profiles[i];
    copy[i].name = strcpy(names + (size_t)i * HR_MIG_NAME_BYTES, type->profiles[i].name);
  }
  return copy;
}

struct hr_mig_spec *hr_mig_spec_create(const struct hr_mig_type *type, enum hr_mig_mode mode) {
  struct hr_mig_spec *spec = calloc(1, sizeof *spec);
  if (!spec) return NULL;
  spec->mode = mode;
  spec->type = *type;
  spec->type.gpu = strdup(type->gpu);
  spec->type.profiles = copy_profiles(type);
  if (spec->type.gpu && spec->type.profiles) return spec;
  destroy_mig(spec);
  return NULL;
}

static bool same_layout(const struct hr_mig_gpu *a, const struct hr_mig_gpu *b) {
  return memcmp(a->at, b->at, sizeof a->at) == 0;
}

enum hr_status hr_mig_spec_add(struct hr_mig_spec *spec, const char *name, const struct hr_mig_gpu *gpu,
                               uint32_t *number) {
  for (*number = 0; *number < spec->n_layouts; ++*number)
    if (same_layout(&spec->layouts[*number].gpu, gpu)) return HR_OK;
  if (!HR__ARRAY_RESIZE(spec->layouts, spec->n_layouts + 1)) return HR_NO_MEMORY;
  struct hr_mig_layout layout = {.name = strdup(name), .gpu = *gpu};
  if (!layout.name) return HR_NO_MEMORY;
  for (uint32_t start = 0; start < HR_MIG_SLICES; start++)
    if (gpu->at[start]) layout.starts[gpu->at[start] - 1] = (uint8_t)(layout.starts[gpu->at[start] - 1] | 1U << start);
  spec->layouts[spec->n_layouts++] = layout;
  return HR_OK;
}

void hr_quota_spec_destroy(struct hr_quota_spec *spec) {
  if (!spec) return;
  for (uint32_t i = 0; i < spec->n_nodes; i++) free(spec->nodes[i].name);
  free(spec->nodes);
  free(spec);
}
