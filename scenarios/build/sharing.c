/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sharing` of a pool: whole GPUs, MPS, time-slicing or MIG, with the interference between jobs on one GPU. `mig`: the
 * partitions of its GPUs.
 *
 * Keys that have no effect with the selected kind of sharing or mode of MIG are errors.
 */

#include "headroom/gpu_inventory.h"
#include "scenarios/build/pools.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD(name, text) text,
static enum hr_sharing sharing_of(const cJSON *entry) {
  static const char *const sharings[] = {HR_SHARING_TABLE(WORD) NULL};
  return (enum hr_sharing)hr__choice_of(entry, "sharing", sharings, HR_SHARING_WHOLE);
}

/* Returns how memory is shared. With time-slicing, memory is not reserved unless the scenario says so. */
static enum hr_gpu_memory memory_of(const cJSON *entry, enum hr_sharing sharing) {
  static const char *const memories[] = {HR_GPU_MEMORY_TABLE(WORD) NULL};
  enum hr_gpu_memory usual = sharing == HR_SHARING_TIME_SLICE ? HR_GPU_MEMORY_FIRST_COME : HR_GPU_MEMORY_RESERVED;
  return (enum hr_gpu_memory)hr__choice_of(entry, "memory", memories, (size_t)usual);
}
#undef WORD

static enum hr_status check_keys(struct hr__builder *builder, const cJSON *entry, enum hr_sharing sharing) {
  bool divided = sharing == HR_SHARING_MPS || sharing == HR_SHARING_TIME_SLICE;
  if (hr__has(entry, "replicas") && !divided)
    return hr__build_fail_at(builder, entry, "replicas", "only GPUs shared by 'mps' or 'time-slice' have replicas");
  if (hr__has(entry, "clients") && sharing != HR_SHARING_MPS)
    return hr__build_fail_at(builder, entry, "clients", "only GPUs shared by 'mps' have clients");
  static const char *const pairings[] = {"interference", "interference_pairs"};
  for (size_t i = 0; i < sizeof pairings / sizeof *pairings && sharing == HR_SHARING_WHOLE; i++)
    if (hr__has(entry, pairings[i]))
      return hr__build_fail_at(builder, entry, pairings[i], "'%s' has no effect: the GPUs are not shared", pairings[i]);
  if (sharing != HR_SHARING_TIME_SLICE && memory_of(entry, sharing) == HR_GPU_MEMORY_FIRST_COME)
    return hr__build_fail_at(builder, entry, "memory",
                             "'first-come' memory needs 'sharing' 'time-slice'; with '%s' memory is 'reserved'",
                             hr_sharing_name(sharing));
  if (sharing == HR_SHARING_TIME_SLICE && !hr__has(entry, "replicas"))
    return hr__build_fail_at(builder, entry, "sharing",
                             "'time-slice' needs 'replicas', the number of jobs that share a GPU");
  return HR_OK;
}

static enum hr_status build_interference(struct hr__builder *builder, struct hr__pool_draft *draft) {
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
                               "'up_to' must increase from entry to entry, by at least 0.001 GPU");
  }
  return HR_OK;
}

static enum hr_status build_pairs(struct hr__builder *builder, struct hr__pool_draft *draft) {
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
        return hr__build_fail_at(builder, draft->entry, "interference_pairs",
                                 "duplicate pair '%.60s' with '%.60s'; keep one", pair->model, pair->with);
  }
  return HR_OK;
}

enum hr_status hr__check_sharing(struct hr__builder *builder) {
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  bool by_gpu = hr_cluster_spec_by_gpu(cluster);
  for (uint32_t i = 0; by_gpu && i < cluster->n_pools; i++)
    if (cluster->pools[i].nodes > 0 && cluster->pools[i].gpus_per_node > HR_MAX_INVENTORY_GPUS)
      return hr__build_fail(builder, false,
                            "pool '%.60s' has %u GPUs per node; with per-GPU allocation a node has at most %u",
                            cluster->pools[i].name, cluster->pools[i].gpus_per_node, HR_MAX_INVENTORY_GPUS);
  return HR_OK;
}

/* ---- MIG -------------------------------------------------------------------------------------------- */

static enum hr_mig_mode mode_of(const cJSON *mig) {
#define WORD(name, text) text,
  static const char *const modes[] = {HR_MIG_MODE_TABLE(WORD) NULL};
#undef WORD
  return (enum hr_mig_mode)hr__choice_of(mig, "mode", modes, HR_MIG_STATIC);
}

static enum hr_status check_mig_keys(struct hr__builder *builder, const cJSON *mig, enum hr_mig_mode mode) {
  static const struct {
    const char *key;
    unsigned modes; /* mask of the modes that allow the key: 1 << mode */
    const char *error;
  } keys[] = {
      {"layout", 1U << HR_MIG_STATIC | 1U << HR_MIG_DYNAMIC, "mode 'on-demand' has no layout"},
      {"layout_of_gpus", 1U << HR_MIG_STATIC | 1U << HR_MIG_DYNAMIC, "mode 'on-demand' has no layout"},
      {"layouts", 1U << HR_MIG_DYNAMIC, "'layouts' needs mode 'dynamic'"},
      {"repartition_s", 1U << HR_MIG_DYNAMIC, "'repartition_s' needs mode 'dynamic'"},
      {"create_s", 1U << HR_MIG_ON_DEMAND, "'create_s' needs mode 'on-demand'"},
  };
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (hr__has(mig, keys[i].key) && !(keys[i].modes >> mode & 1))
      return hr__build_fail_at(builder, mig, keys[i].key, "%s", keys[i].error);
  if (hr__has(mig, "layout") && hr__has(mig, "layout_of_gpus"))
    return hr__build_fail_at(builder, mig, "layout_of_gpus",
                             "'layout' and 'layout_of_gpus' exclude each other; keep one");
  if (mode == HR_MIG_STATIC && !hr__has(mig, "layout") && !hr__has(mig, "layout_of_gpus"))
    return hr__build_fail(builder, false, "'mig' needs 'layout', e.g. \"all-1g.10gb\", or 'mode' dynamic or on-demand");
  return HR_OK;
}

/* ---- Layouts ---------------------------------------------------------------------------------------- */

static enum hr_status add_layout(struct hr__builder *builder, const cJSON *mig, const char *key, const char *text,
                                 struct hr_mig_spec *spec, uint32_t *number) {
  struct hr_mig_gpu gpu;
  struct hr_error inner;
  if (hr_mig_layout(&spec->type, text, &gpu, &inner) != HR_OK)
    return hr__build_fail_at(builder, mig, key, "%s", inner.text);
  if (spec->n_layouts > UINT8_MAX) return hr__build_fail_at(builder, mig, key, "more than 256 layouts are too many");
  return hr_mig_spec_add(spec, text, &gpu, number) == HR_OK ? HR_OK : hr__build_no_memory(builder);
}

/* Adds the partition groups of Volcano's MIG support, which are the default set of layouts. */
static enum hr_status add_groups(struct hr__builder *builder, struct hr_mig_spec *spec) {
  struct hr_mig_gpu gpu;
  uint32_t unused;
  for (uint32_t group = 0; hr_mig_group(&spec->type, group, &gpu); group++) {
    char name[24];
    snprintf(name, sizeof name, "group%u", (unsigned)group + 1);
    if (hr_mig_spec_add(spec, name, &gpu, &unused) != HR_OK) return hr__build_no_memory(builder);
  }
  return HR_OK;
}

static enum hr_status add_choices(struct hr__builder *builder, const cJSON *mig, struct hr_mig_spec *spec) {
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(mig, "layouts");
  enum hr_status status = HR_OK;
  uint32_t unused;
  if (spec->mode != HR_MIG_DYNAMIC) return HR_OK;
  if (!list) status = add_groups(builder, spec);
  for (const cJSON *text = list ? list->child : NULL; text && status == HR_OK; text = text->next)
    status = add_layout(builder, mig, "layouts", text->valuestring, spec, &unused);
  return status;
}

/* Sets the initial layout of each GPU of a node. */
static enum hr_status add_initial(struct hr__builder *builder, const cJSON *mig, uint32_t n_gpus,
                                  struct hr_mig_spec *spec) {
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(mig, "layout_of_gpus"), *text = list ? list->child : NULL;
  if (spec->mode == HR_MIG_ON_DEMAND) return HR_OK;
  if (list && (uint32_t)cJSON_GetArraySize(list) != n_gpus)
    return hr__build_fail_at(builder, mig, "layout_of_gpus", "a node has %u GPUs; one layout for each is expected",
                             (unsigned)n_gpus);
  spec->layout_of_gpu = calloc(n_gpus, sizeof *spec->layout_of_gpu);
  if (!spec->layout_of_gpu) return hr__build_no_memory(builder);
  for (uint32_t gpu = 0; gpu < n_gpus; gpu++) {
    const char *layout = list ? text->valuestring : hr__text_of(mig, "layout", "all-enabled");
    uint32_t number = 0;
    enum hr_status status = add_layout(builder, mig, list ? "layout_of_gpus" : "layout", layout, spec, &number);
    if (status != HR_OK) return status;
    spec->layout_of_gpu[gpu] = (uint8_t)number;
    if (list) text = text->next;
  }
  return HR_OK;
}

/* Checks that an instance of each profile has all its compute slices after each of its possible starts. This is
   required because the share of an instance is an interval of adjacent slices. */
static enum hr_status check_type(struct hr__builder *builder, const struct hr_mig_type *type) {
  for (uint32_t i = 0; i < type->n_profiles; i++) {
    const struct hr_mig_profile *profile = &type->profiles[i];
    uint32_t last = 31U - (uint32_t)__builtin_clz(profile->starts | 1U);
    if (profile->compute_slices > profile->memory_slices || last + profile->compute_slices > type->compute_slices)
      return hr__build_fail(builder, false,
                            "profile '%.23s' of %.60s in the catalogue has more compute slices than fit after one of "
                            "its starts",
                            profile->name, type->gpu);
  }
  return HR_OK;
}

static int64_t lead_us_of(const cJSON *mig) {
  double lead_s = hr__number_of(mig, "repartition_s", hr__number_of(mig, "create_s", 0));
  return (int64_t)llround(lead_s * (double)HR_SECOND_US);
}

static enum hr_status build_partitions(struct hr__builder *builder, struct hr__pool_draft *draft, const cJSON *mig) {
  const struct hr_mig_type *type;
  struct hr_error inner;
  enum hr_status status = check_mig_keys(builder, mig, mode_of(mig));
  if (status == HR_OK && hr_catalog_mig(builder->catalog, draft->pool.gpu, &type, &inner) != HR_OK)
    status = hr__build_fail(builder, false, "%s", inner.text);
  if (status == HR_OK) status = check_type(builder, type);
  if (status != HR_OK) return status;
  struct hr_mig_spec *spec = draft->pool.mig = hr_mig_spec_create(type, mode_of(mig));
  if (!spec) return hr__build_no_memory(builder);
  spec->lead_us = lead_us_of(mig);
  status = add_choices(builder, mig, spec);
  return status == HR_OK ? add_initial(builder, mig, draft->pool.gpus_per_node, spec) : status;
}

static enum hr_status build_mig(struct hr__builder *builder, struct hr__pool_draft *draft) {
  const cJSON *mig = hr__has(draft->entry, "mig") ? hr__build_enter(builder, draft->entry, "mig") : NULL;
  if (!mig && draft->pool.sharing != HR_SHARING_MIG) return HR_OK;
  if (!mig)
    return hr__build_fail_at(builder, draft->entry, "sharing",
                             "sharing 'mig' needs the key 'mig', e.g. { \"layout\": \"all-balanced\" }");
  if (draft->pool.sharing != HR_SHARING_MIG) return hr__build_fail(builder, false, "'mig' needs 'sharing' 'mig'");
  enum hr_status status = build_partitions(builder, draft, mig);
  if (status == HR_OK) hr__build_leave(builder);
  return status;
}

/* ---- The section ------------------------------------------------------------------------------------ */

enum hr_status hr__build_sharing(struct hr__builder *builder, struct hr__pool_draft *draft) {
  struct hr_pool_spec *pool = &draft->pool;
  pool->sharing = sharing_of(draft->entry);
  pool->memory = memory_of(draft->entry, pool->sharing);
  pool->replicas = (uint32_t)hr__number_of(draft->entry, "replicas", 0);
  pool->clients = (uint32_t)hr__number_of(draft->entry, "clients", 0);
  enum hr_status status = check_keys(builder, draft->entry, pool->sharing);
  if (status == HR_OK) status = build_interference(builder, draft);
  if (status == HR_OK) status = build_pairs(builder, draft);
  return status == HR_OK ? build_mig(builder, draft) : status;
}
