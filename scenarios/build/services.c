/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The section `services` of a scenario: inference services. The key table stores all values; here are the rules across
   keys. */

#include "headroom/unstable/services.h"

#include "scenarios/build/builder.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct hr__key services_keys[] = {
    {"services", LIST(0, MAX_MEMBERS, EACH(OBJECT(hr__service_keys))), AS_ARRAY(struct hr_services, at, count)}, END};

static enum hr_status check_name(const struct hr__builder *builder, const cJSON *entry, const struct hr_services *all,
                                 uint32_t index) {
  for (uint32_t i = 0; i < index; i++)
    if (strcmp(all->at[i].name, all->at[index].name) == 0)
      return hr__build_fail_at(builder, entry, "name", "duplicate service '%.60s'; keep one", all->at[index].name);
  return HR_OK;
}

static enum hr_status check_memory(const struct hr__builder *builder, const cJSON *entry,
                                   const struct hr_service *service) {
  const cJSON *engine = hr__get(hr__get(entry, "replica"), "engine");
  const struct hr_service_limits *limits = &service->limits;
  if (limits->kv_blocks && limits->kv_tokens > 0)
    return hr__build_fail_at(builder, engine, "kv_tokens", "'kv_blocks' and 'kv_tokens' exclude each other; keep one");
  if (!limits->kv_blocks && limits->kv_tokens <= 0)
    return hr__build_fail(builder, engine, "a replica needs memory; add 'kv_blocks' or 'kv_tokens'");
  return HR_OK;
}

static enum hr_status check_cost(const struct hr__builder *builder, const cJSON *entry,
                                 const struct hr_service *service) {
  const struct hr_service_cost *cost = &service->cost;
  const double once_us = cost->fixed_us + cost->per_prompt_token_us, next_us = cost->fixed_us + cost->per_sequence_us;
  if (once_us >= 1e-3 && next_us >= 1e-3) return HR_OK;
  return hr__build_fail_at(builder, hr__get(entry, "replica"), "cost",
                           "an iteration takes no time; set 'fixed_us', or the times per token and per sequence");
}

/* Replicas hold their GPUs all the time, so the cluster must have enough of them. */
static enum hr_status check_gpus(const struct hr__builder *builder, const cJSON *list, const struct hr_services *all) {
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  uint64_t needed = 0, present = 0;
  for (uint32_t i = 0; i < all->count; i++) needed += (uint64_t)all->at[i].replicas * all->at[i].gpus;
  for (uint32_t p = 0; p < cluster->n_pools; p++)
    present += (uint64_t)cluster->pools[p].nodes * cluster->pools[p].gpus_per_node;
  if (needed <= present) return HR_OK;
  return hr__build_fail(builder, list, "the replicas need %" PRIu64 " GPUs, but the cluster has %" PRIu64, needed,
                        present);
}

enum hr_status hr__build_services(struct hr__builder *builder) {
  const cJSON *list = hr__get(builder->source.file.tree, "services"), *entry;
  if (!list) return HR_OK;
  struct hr_services *all = calloc(1, sizeof *all);
  if (!all) return hr__build_no_memory(builder);
  builder->scenario->services = all;
  enum hr_status status = hr__read(builder, builder->source.file.tree, services_keys, all);
  uint32_t index = 0;
  if (status == HR_OK && all->count && builder->scenario->trace_file)
    status = hr__build_fail(builder, hr__get(builder->source.file.tree, "trace"),
                            "a scenario with services has no job trace; remove 'trace' or 'services'");
  cJSON_ArrayForEach(entry, list) {
    if (status == HR_OK) status = check_name(builder, entry, all, index);
    if (status == HR_OK) status = check_memory(builder, entry, &all->at[index]);
    if (status == HR_OK) status = check_cost(builder, entry, &all->at[index]);
    index++;
  }
  return status == HR_OK ? check_gpus(builder, list, all) : status;
}

void hr__services_destroy(struct hr_services *all) {
  if (all) hr__finish_values(services_keys, all);
  free(all);
}
