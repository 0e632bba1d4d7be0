/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How jobs share the GPUs of a pool: `sharing`, and what belongs to each way. */

#include "headroom/stock.h"
#include "scenarios/pools.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORD(name, text) text,
static enum hr_sharing sharing_of(const cJSON *entry) {
  static const char *const sharings[] = {HR_SHARING_TABLE(WORD) NULL};
  return (enum hr_sharing)hr__choice_of(entry, "sharing", sharings, HR_SHARING_WHOLE);
}

/* Under time-slicing nobody keeps memory for anybody, unless the scenario says so. */
static enum hr_gpu_memory memory_of(const cJSON *entry, enum hr_sharing sharing) {
  static const char *const memories[] = {HR_GPU_MEMORY_TABLE(WORD) NULL};
  enum hr_gpu_memory usual = sharing == HR_SHARING_TIME_SLICE ? HR_GPU_MEMORY_FIRST_COME : HR_GPU_MEMORY_RESERVED;
  return (enum hr_gpu_memory)hr__choice_of(entry, "memory", memories, (size_t)usual);
}
#undef WORD

/* Keys that say nothing for the way of sharing that is chosen are taken for mistakes. */
static enum hr_status check_keys(struct hr__builder *builder, const cJSON *entry, enum hr_sharing sharing) {
  bool parted = sharing == HR_SHARING_MPS || sharing == HR_SHARING_TIME_SLICE;
  if (hr__has(entry, "replicas") && !parted)
    return hr__build_fail_at(builder, entry, "replicas", "only GPUs shared by 'mps' or 'time-slice' have replicas");
  if (hr__has(entry, "clients") && sharing != HR_SHARING_MPS)
    return hr__build_fail_at(builder, entry, "clients", "only GPUs shared by 'mps' have clients");
  static const char *const meetings[] = {"interference", "interference_pairs"};
  for (size_t i = 0; i < sizeof meetings / sizeof *meetings && sharing == HR_SHARING_WHOLE; i++)
    if (hr__has(entry, meetings[i]))
      return hr__build_fail_at(builder, entry, meetings[i], "jobs do not meet on GPUs that are not shared");
  if (sharing != HR_SHARING_TIME_SLICE && memory_of(entry, sharing) == HR_GPU_MEMORY_FIRST_COME)
    return hr__build_fail_at(builder, entry, "memory",
                             "only memory of GPUs shared by 'time-slice' is 'first-come'; with '%s' it is 'reserved'",
                             hr_sharing_name(sharing));
  if (sharing == HR_SHARING_TIME_SLICE && !hr__has(entry, "replicas"))
    return hr__build_fail_at(builder, entry, "sharing", "'time-slice' wants 'replicas', the jobs that take turns");
  return HR_OK;
}

static enum hr_status build_interference(struct hr__builder *builder, struct hr__draft *draft) {
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(draft->entry, "interference");
  if (!list) return HR_OK;
  struct hr_pool_spec *pool = &draft->pool;
  pool->interference = calloc((size_t)cJSON_GetArraySize(list), sizeof *pool->interference);
  if (!pool->interference) return hr__build_no_memory(builder);
  for (const cJSON *step = list->child; step; step = step->next) {
    struct hr_interference_step *taken = &pool->interference[pool->n_interference++];
    *taken = (struct hr_interference_step){(uint32_t)lround(hr__number_of(step, "up_to", 0) * HR_WHOLE_GPU_MILLI),
                                           (uint32_t)lround(hr__number_of(step, "speed", 0) * 1e6)};
    if (pool->n_interference > 1 && taken->up_to_milli <= taken[-1].up_to_milli)
      return hr__build_fail_at(builder, draft->entry, "interference",
                               "'up_to' rises from each to the next, by a thousandth of a GPU at least");
  }
  return HR_OK;
}

static enum hr_status build_pairs(struct hr__builder *builder, struct hr__draft *draft) {
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(draft->entry, "interference_pairs");
  if (!list) return HR_OK;
  struct hr_pool_spec *pool = &draft->pool;
  pool->pairs = calloc((size_t)cJSON_GetArraySize(list), sizeof *pool->pairs);
  if (!pool->pairs) return hr__build_no_memory(builder);
  for (const cJSON *entry = list->child; entry; entry = entry->next) {
    struct hr_pair_speed *pair = &pool->pairs[pool->n_pairs++];
    pair->model = strdup(hr__text_of(entry, "model", ""));
    pair->with = strdup(hr__text_of(entry, "with", ""));
    pair->speed_ppm = (uint32_t)lround(hr__number_of(entry, "speed", 0) * 1e6);
    if (!pair->model || !pair->with) return hr__build_no_memory(builder);
    for (const struct hr_pair_speed *before = pool->pairs; before < pair; before++)
      if (strcmp(before->model, pair->model) == 0 && strcmp(before->with, pair->with) == 0)
        return hr__build_fail_at(builder, draft->entry, "interference_pairs", "'%.60s' with '%.60s' stands twice",
                                 pair->model, pair->with);
  }
  return HR_OK;
}

enum hr_status hr__check_sharing(struct hr__builder *builder) {
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  bool by_gpu = hr_cluster_spec_by_gpu(cluster);
  for (uint32_t i = 0; by_gpu && i < cluster->n_pools; i++)
    if (cluster->pools[i].nodes > 0 && cluster->pools[i].gpus_per_node > HR_MAX_STOCK_GPUS)
      return hr__build_fail(builder, false,
                            "pool '%.60s' has %u GPUs a node; where GPUs are told apart, nodes have at most %u",
                            cluster->pools[i].name, cluster->pools[i].gpus_per_node, HR_MAX_STOCK_GPUS);
  return HR_OK;
}

enum hr_status hr__build_sharing(struct hr__builder *builder, struct hr__draft *draft) {
  struct hr_pool_spec *pool = &draft->pool;
  pool->sharing = sharing_of(draft->entry);
  pool->memory = memory_of(draft->entry, pool->sharing);
  pool->replicas = (uint32_t)hr__number_of(draft->entry, "replicas", 0);
  pool->clients = (uint32_t)hr__number_of(draft->entry, "clients", 0);
  enum hr_status status = check_keys(builder, draft->entry, pool->sharing);
  if (status == HR_OK) status = build_interference(builder, draft);
  if (status == HR_OK) status = build_pairs(builder, draft);
  return status == HR_OK ? hr__build_mig(builder, draft) : status;
}
