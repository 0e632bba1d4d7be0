/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The section `services` of a scenario: inference services. The key table stores all values; here are the rules across
   keys. */

#include "headroom/unstable/services.h"
#include "headroom/unstable/trace_tools.h"

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

/* ---- Requests --------------------------------------------------------------------------------------- */

static enum hr_status check_tokens(const struct hr__builder *builder, const cJSON *requests, const char *name,
                                   const struct hr_token_law *law) {
  const cJSON *object = hr__get(requests, name);
  if (!object) return hr__build_fail(builder, requests, "drawn requests need '%s'", name);
  const struct hr__key *keys = hr__table_of(&hr__scenario_keys, "services.requests.prompt_tokens");
  enum hr_status status = hr__check_choice(builder, object, keys, "distribution", (unsigned)law->kind, true);
  if (status == HR_OK && law->max && law->min > law->max)
    return hr__build_fail_at(builder, object, "min", "'min' is above 'max' (%" PRIu32 ")", law->max);
  return status;
}

static enum hr_status check_factors(const struct hr__builder *builder, const cJSON *requests, const char *name,
                                    const double *factors, uint32_t count) {
  double sum = 0;
  for (uint32_t i = 0; i < count; i++) sum += factors[i];
  if (count == 0 || sum > 0) return HR_OK;
  return hr__build_fail_at(builder, requests, name, "all factors are 0; at least one must be above 0");
}

/* The rows that only drawn requests have, or only traces. */
static enum hr_status check_source(const struct hr__builder *builder, const cJSON *requests) {
  const cJSON *trace = hr__get(requests, "trace"), *member;
  if (!trace && !hr__get(requests, "rate_per_s"))
    return hr__build_fail(builder, requests, "requests need 'trace' or 'rate_per_s'");
  cJSON_ArrayForEach(member, requests) {
    if (trace && member != trace)
      return hr__build_fail_key(builder, member, "'trace' and '%s' exclude each other; keep one", member->string);
  }
  return HR_OK;
}

static enum hr_status check_requests(const struct hr__builder *builder, const cJSON *entry,
                                     const struct hr_service *service) {
  const double max_requests = 1e9;
  const cJSON *requests = hr__get(entry, "requests");
  const struct hr_request_draw *draw = &service->draw;
  enum hr_status status = check_source(builder, requests);
  if (status != HR_OK || service->requests) return status;
  if (draw->arrivals == HR_ARRIVALS_POISSON && hr__has(requests, "cv"))
    return hr__build_fail_at(builder, requests, "cv", "'cv' is not a parameter of the arrivals 'poisson'");
  if (!draw->duration_us && !draw->count)
    return hr__build_fail(builder, requests, "drawn requests need 'duration_s' or 'count'");
  status = check_factors(builder, requests, "hourly", draw->hourly, draw->n_hourly);
  if (status == HR_OK) status = check_factors(builder, requests, "weekly", draw->weekly, draw->n_weekly);
  if (status == HR_OK) status = check_tokens(builder, requests, "prompt_tokens", &draw->prompt);
  if (status == HR_OK) status = check_tokens(builder, requests, "output_tokens", &draw->output);
  if (status != HR_OK || draw->count) return status;
  const double expected = hr_request_draw_expected(draw, draw->duration_us);
  if (expected <= max_requests) return HR_OK;
  return hr__build_fail_at(builder, requests, "duration_s",
                           "about %.3g requests would arrive, more than %.3g; use a shorter time or a lower rate",
                           expected, max_requests);
}

/* ---- Replicas --------------------------------------------------------------------------------------- */

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
    if (status == HR_OK) status = check_requests(builder, entry, &all->at[index]);
    if (status == HR_OK) status = hr__build_engine(builder, entry, &all->at[index]);
    index++;
  }
  return status == HR_OK ? check_gpus(builder, list, all) : status;
}

void hr__services_destroy(struct hr_services *all) {
  if (all) hr__finish_values(services_keys, all);
  free(all);
}
