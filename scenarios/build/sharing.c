/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sharing` of a pool: whole GPUs, MPS, time-slicing or MIG, with the interference between jobs on one GPU. `mig`: the
 * partitions of its GPUs.
 *
 * Keys that have no effect with the selected kind of sharing or mode of MIG are errors.
 */

#include "headroom/gpu_inventory.h"
#include "scenarios/build/builder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
  if (sharing != HR_SHARING_TIME_SLICE && strcmp(hr__text_of(entry, "memory", ""), "first-come") == 0)
    return hr__build_fail_at(builder, entry, "memory",
                             "'first-come' memory needs 'sharing' 'time-slice'; with '%s' memory is 'reserved'",
                             hr_sharing_name(sharing));
  if (sharing == HR_SHARING_TIME_SLICE && !hr__has(entry, "replicas"))
    return hr__build_fail_at(builder, entry, "sharing",
                             "'time-slice' needs 'replicas', the number of jobs that share a GPU");
  return HR_OK;
}

static enum hr_status check_interference(struct hr__builder *builder, const struct hr__pool_draft *draft) {
  const struct hr_pool_spec *pool = &draft->pool;
  for (uint32_t i = 1; i < pool->n_interference; i++)
    if (pool->interference[i].up_to_milli <= pool->interference[i - 1].up_to_milli)
      return hr__build_fail_at(builder, draft->entry, "interference",
                               "'up_to' must increase from entry to entry, by at least 0.001 GPU");
  for (uint32_t i = 0; i < pool->n_pairs; i++)
    for (uint32_t k = 0; k < i; k++)
      if (strcmp(pool->pairs[k].model, pool->pairs[i].model) == 0 &&
          strcmp(pool->pairs[k].with, pool->pairs[i].with) == 0)
        return hr__build_fail_at(builder, draft->entry, "interference_pairs",
                                 "duplicate pair '%.60s' with '%.60s'; keep one", pool->pairs[i].model,
                                 pool->pairs[i].with);
  return HR_OK;
}

enum hr_status hr__check_sharing(struct hr__builder *builder) {
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  bool by_gpu = hr_cluster_spec_by_gpu(cluster);
  for (uint32_t i = 0; by_gpu && i < cluster->n_pools; i++)
    if (cluster->pools[i].nodes > 0 && cluster->pools[i].gpus_per_node > HR_MAX_INVENTORY_GPUS)
      return hr__build_fail(builder, hr__nodes_place(builder),
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
  for (const struct hr__key *key = hr__table_of(&hr__scenario_keys, "cluster.pools.mig"); key->name; key++) {
    if (!hr__has(mig, key->name) || !key->only_with || key->only_with >> mode & 1) continue;
    if (key->only_with >> HR_MIG_STATIC & 1)
      return hr__build_fail_at(builder, mig, key->name, "mode 'on-demand' has no layout");
    return hr__build_fail_at(builder, mig, key->name, "'%s' needs mode '%s'", key->name,
                             key->only_with >> HR_MIG_DYNAMIC & 1 ? "dynamic" : "on-demand");
  }
  if (hr__has(mig, "layout") && hr__has(mig, "layout_of_gpus"))
    return hr__build_fail_at(builder, mig, "layout_of_gpus",
                             "'layout' and 'layout_of_gpus' exclude each other; keep one");
  if (mode == HR_MIG_STATIC && !hr__has(mig, "layout") && !hr__has(mig, "layout_of_gpus"))
    return hr__build_fail(builder, mig, "'mig' needs 'layout', e.g. \"all-1g.10gb\", or 'mode' dynamic or on-demand");
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
  const cJSON *list = hr__get(mig, "layouts");
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
  const cJSON *list = hr__get(mig, "layout_of_gpus"), *text = list ? list->child : NULL;
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
static enum hr_status check_type(struct hr__builder *builder, const cJSON *mig, const struct hr_mig_type *type) {
  for (uint32_t i = 0; i < type->n_profiles; i++) {
    const struct hr_mig_profile *profile = &type->profiles[i];
    uint32_t last = 31U - (uint32_t)__builtin_clz(profile->starts | 1U);
    if (profile->compute_slices > profile->memory_slices || last + profile->compute_slices > type->compute_slices)
      return hr__build_fail(builder, mig,
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
    status = hr__build_fail(builder, mig, "%s", inner.text);
  if (status == HR_OK) status = check_type(builder, mig, type);
  if (status != HR_OK) return status;
  struct hr_mig_spec *spec = draft->pool.mig = hr_mig_spec_create(type, mode_of(mig));
  if (!spec) return hr__build_no_memory(builder);
  spec->lead_us = lead_us_of(mig);
  status = add_choices(builder, mig, spec);
  return status == HR_OK ? add_initial(builder, mig, draft->pool.gpus_per_node, spec) : status;
}

static enum hr_status build_mig(struct hr__builder *builder, struct hr__pool_draft *draft) {
  const cJSON *mig = hr__get(draft->entry, "mig");
  if (!mig && draft->pool.sharing != HR_SHARING_MIG) return HR_OK;
  if (!mig)
    return hr__build_fail_at(builder, draft->entry, "sharing",
                             "sharing 'mig' needs the key 'mig', e.g. { \"layout\": \"all-balanced\" }");
  if (draft->pool.sharing != HR_SHARING_MIG) return hr__build_fail(builder, mig, "'mig' needs 'sharing' 'mig'");
  return build_partitions(builder, draft, mig);
}

/* ---- The section ------------------------------------------------------------------------------------ */

enum hr_status hr__build_sharing(struct hr__builder *builder, struct hr__pool_draft *draft) {
  struct hr_pool_spec *pool = &draft->pool;
  if (!hr__has(draft->entry, "memory") && pool->sharing == HR_SHARING_TIME_SLICE)
    pool->memory = HR_GPU_MEMORY_FIRST_COME;
  enum hr_status status = check_keys(builder, draft->entry, pool->sharing);
  if (status == HR_OK) status = check_interference(builder, draft);
  return status == HR_OK ? build_mig(builder, draft) : status;
}
