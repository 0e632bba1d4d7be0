/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The section `services` of a scenario: inference services. The key table stores all values; this file has the rules
   across keys. */

#include "headroom/unstable/services.h"
#include "headroom/unstable/trace_tools.h"

#include "scenarios/build/builder.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct hr__key services_keys[] = {
    {"services", LIST(0, MAX_MEMBERS, EACH(OBJECT(hr__service_keys))), AS_ARRAY(struct hr_services, at, count)}, END};

static bool has_phases(const struct hr_service *service) {
  return service->engine == HR_SERVICE_DISAGGREGATED || service->engine == HR_SERVICE_COLOCATED;
}

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

/* Keys that apply only to drawn requests, or only to traces of requests. */
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

/* ---- Autoscaling ------------------------------------------------------------------------------------- */

/* The version of Kubernetes' behaviour that applies if the scenario names none. */
static enum hr_status complete_rules(struct hr__builder *builder, struct hr_scale_rules *rules, bool is_up) {
  if (rules->n_policies) return HR_OK;
  rules->policies = calloc(2, sizeof *rules->policies);
  if (!rules->policies) return hr__build_no_memory(builder);
  rules->policies[rules->n_policies++] = (struct hr_scale_policy){true, 100, 15 * HR_SECOND_US};
  if (is_up) rules->policies[rules->n_policies++] = (struct hr_scale_policy){false, 4, 15 * HR_SECOND_US};
  return HR_OK;
}

static double default_target(const struct hr_autoscale *scale) {
  if (scale->policy == HR_AUTOSCALE_KNATIVE) return scale->metric == HR_SCALE_RPS ? 140 : 70;
  if (scale->policy == HR_AUTOSCALE_RAY_SERVE) return 2;
  return scale->metric == HR_SCALE_UTILIZATION ? 80 : 5;
}

/* Sets the defaults that depend on the policy. */
static enum hr_status complete_autoscale(struct hr__builder *builder, const cJSON *entry, struct hr_service *service) {
  const cJSON *json = hr__get(entry, "autoscale");
  struct hr_autoscale *scale = &service->autoscale;
  const bool is_hpa = scale->policy == HR_AUTOSCALE_HPA || scale->policy == HR_AUTOSCALE_KEDA;
  if (scale->policy == HR_AUTOSCALE_FIXED) scale->min = scale->max = service->replicas;
  if (scale->policy == HR_AUTOSCALE_HPA && !hr__has(json, "min")) scale->min = 1;
  if (!hr__has(json, "initial")) scale->initial = HR_NONE;
  if (!hr__has(json, "idle")) scale->idle = HR_NONE;
  if (!hr__has(json, "target")) scale->target = default_target(scale);
  if (!hr__has(json, "downscale_to_zero_delay_s")) scale->downscale_to_zero_delay_us = scale->downscale_delay_us;
  if (!hr__has(json, "idle_to_zero_s"))
    scale->idle_to_zero_us = scale->policy == HR_AUTOSCALE_NVCF ? 1800 * HR_SECOND_US : HR_NEVER_US;
  if (!hr__has(hr__get(json, "down"), "stabilization_s")) scale->down.stabilization_us = 300 * HR_SECOND_US;
  if (!hr__has(entry, "drain_s")) service->drain_us = HR_NEVER_US;
  service->replicas = scale->max;
  enum hr_status status = is_hpa ? complete_rules(builder, &scale->up, true) : HR_OK;
  return status == HR_OK && is_hpa ? complete_rules(builder, &scale->down, false) : status;
}

static enum hr_status check_steps(const struct hr__builder *builder, const cJSON *json,
                                  const struct hr_autoscale *scale) {
  for (uint32_t i = 0; i < scale->n_steps; i++) {
    const cJSON *step = cJSON_GetArrayItem(hr__get(json, "steps"), (int)i);
    if (i > 0 && scale->steps[i].at_us <= scale->steps[i - 1].at_us)
      return hr__build_fail_at(builder, step, "at_s", "the steps are not in order of time");
    if (scale->steps[i].at_us >= scale->period_us)
      return hr__build_fail_at(builder, step, "at_s", "the step is not within 'period_s'");
    if (scale->steps[i].replicas > scale->max)
      return hr__build_fail_at(builder, step, "replicas", "more replicas than 'max', which is %" PRIu32, scale->max);
  }
  return HR_OK;
}

static enum hr_status check_autoscale(struct hr__builder *builder, const cJSON *entry, struct hr_service *service) {
  const cJSON *json = hr__get(entry, "autoscale");
  const struct hr_autoscale *scale = &service->autoscale;
  const struct hr_service_slo *slo = &service->slo;
  const struct hr__key *keys = hr__table_of(services_keys, "services.autoscale");
  if (json && !cJSON_IsObject(json)) return HR_OK;
  enum hr_status status = hr__check_choice(builder, json, keys, "policy", scale->policy, true);
  if (status == HR_OK) status = complete_autoscale(builder, entry, service);
  if (status != HR_OK) return status;
  if (scale->min > scale->max)
    return hr__build_fail_at(builder, json, "min", "%" PRIu32 " is above 'max', which is %" PRIu32, scale->min,
                             scale->max);
  if (scale->initial != HR_NONE && (scale->initial > scale->max || scale->initial < scale->min))
    return hr__build_fail_at(builder, json, "initial", "%" PRIu32 " is not from 'min' to 'max'", scale->initial);
  if (service->engine == HR_SERVICE_DISAGGREGATED && scale->max < 2)
    return hr__build_fail_at(
        builder, json, "max",
        "the engine 'disaggregated' needs at least 2 replicas: one for prompts and one that decodes");
  if (scale->policy == HR_AUTOSCALE_HPA && scale->min == 0)
    return hr__build_fail_at(builder, json, "min", "hpa needs at least 1; keda can scale to zero");
  if (scale->policy == HR_AUTOSCALE_KNATIVE && scale->interval_us % HR_SECOND_US != 0)
    return hr__build_fail_at(builder, json, "interval_s", "knative needs whole seconds");
  if (scale->policy == HR_AUTOSCALE_SLO && slo->ttft_ms <= 0 && slo->tpot_ms <= 0 && slo->e2e_ms <= 0)
    return hr__build_fail_at(builder, json, "policy", "slo needs a goal; set 'slo.ttft_ms', 'tpot_ms' or 'e2e_ms'");
  return check_steps(builder, json, scale);
}

/* ---- Router and queue ------------------------------------------------------------------------------- */

static bool has_pool(const struct hr_cluster_spec *cluster, const char *name) {
  for (uint32_t p = 0; p < cluster->n_pools; p++)
    if (strcmp(cluster->pools[p].name, name) == 0) return true;
  return false;
}

static bool has_gpu(const struct hr_cluster_spec *cluster, const char *name) {
  for (uint32_t p = 0; p < cluster->n_pools; p++)
    if (cluster->pools[p].gpu && strcmp(cluster->pools[p].gpu, name) == 0) return true;
  return false;
}

static bool has_market(const struct hr_cluster_spec *cluster, const char *name) {
  for (uint32_t p = 0; p < cluster->n_pools; p++)
    if (name[0] && strcmp(hr_market_name(cluster->pools[p].market.market), name) == 0) return true;
  return false;
}

static enum hr_status check_weights(const struct hr__builder *builder, const cJSON *router,
                                    const struct hr_service_routing *routing) {
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  double sum = 0;
  for (uint32_t i = 0; i < routing->n_weights; i++) {
    const struct hr_router_weight *weight = &routing->weights[i];
    const cJSON *entry = cJSON_GetArrayItem(hr__get(router, "weights"), (int)i);
    if (!weight->pool == !weight->gpu_type)
      return hr__build_fail(builder, entry, "a weight needs either 'pool' or 'gpu_type'");
    if (weight->pool && !has_pool(cluster, weight->pool))
      return hr__build_fail_at(builder, entry, "pool", "the cluster has no pool '%.60s'", weight->pool);
    if (weight->gpu_type && !has_gpu(cluster, weight->gpu_type))
      return hr__build_fail_at(builder, entry, "gpu_type", "the cluster has no pool with GPUs of the type '%.60s'",
                               weight->gpu_type);
    if (weight->weight > 0 && weight->weight < MIN_SCALE)
      return hr__build_fail_at(builder, entry, "weight", "expected 0, or at least %g", MIN_SCALE);
    sum += weight->weight;
  }
  if (routing->n_weights == 0 || sum > 0) return HR_OK;
  return hr__build_fail_at(builder, router, "weights", "all weights are 0; at least one must be above 0");
}

static enum hr_status check_order(const struct hr__builder *builder, const cJSON *router,
                                  const struct hr_service_routing *routing) {
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  for (uint32_t i = 0; i < routing->n_order; i++)
    if (!has_pool(cluster, routing->order[i]) && !has_gpu(cluster, routing->order[i]))
      return hr__build_fail(builder, cJSON_GetArrayItem(hr__get(router, "order"), (int)i),
                            "the cluster has no pool and no GPU type '%.60s'", routing->order[i]);
  return HR_OK;
}

/* Finds the target of the spill-over. */
static enum hr_status check_spill(const struct hr__builder *builder, const cJSON *router, const struct hr_services *all,
                                  struct hr_service *service) {
  const cJSON *json = hr__get(router, "spill");
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  struct hr_service_spill *spill = &service->routing.spill;
  spill->service = HR_NONE;
  if (!hr__has(json, "predicted_wait_s")) spill->predicted_wait_us = HR_NEVER_US;
  if (!spill->to) return HR_OK;
  for (uint32_t i = 0; i < all->count; i++)
    if (strcmp(all->at[i].name, spill->to) == 0) spill->service = i;
  if (spill->service != HR_NONE && &all->at[spill->service] == service)
    return hr__build_fail_at(builder, json, "to", "the service '%.60s' cannot spill over to itself", spill->to);
  if (spill->service == HR_NONE && !has_pool(cluster, spill->to) && !has_market(cluster, spill->to))
    return hr__build_fail_at(builder, json, "to", "'%.60s' is not a service, a pool or a market of a pool", spill->to);
  if (spill->predicted_wait_us == HR_NEVER_US &&
      (service->queue.when_full != HR_QUEUE_SPILL || spill->service == HR_NONE))
    return hr__build_fail(builder, json, "'spill' needs 'predicted_wait_s'%s",
                          spill->service == HR_NONE ? "" : ", or a queue with 'limit' and \"when_full\": \"spill\"");
  return HR_OK;
}

static enum hr_status check_queue(const struct hr__builder *builder, const cJSON *entry,
                                  const struct hr_service *service) {
  const cJSON *json = hr__get(entry, "queue");
  const struct hr_service_spill *spill = &service->routing.spill;
  if (hr__has(json, "when_full") && !service->queue.limit)
    return hr__build_fail_at(builder, json, "when_full", "'when_full' needs 'limit'");
  if (service->queue.when_full == HR_QUEUE_SPILL && (!spill->to || spill->service == HR_NONE))
    return hr__build_fail_at(builder, json, "when_full", "'spill' needs 'router.spill.to' with another service");
  return HR_OK;
}

/* The engines with phases have a router of their own. */
static enum hr_status check_phases(const struct hr__builder *builder, const cJSON *entry,
                                   const struct hr_service *service) {
  static const char *const members[] = {"name", "order", "room", "weights"};
  const cJSON *router = hr__get(entry, "router");
  const struct hr_service_spill *spill = &service->routing.spill;
  for (size_t i = 0; has_phases(service) && i < sizeof members / sizeof *members; i++)
    if (hr__has(router, members[i]))
      return hr__build_fail_at(builder, router, members[i], "the engine '%s' has a router of its own",
                               hr_service_engine_name(service->engine));
  if (has_phases(service) && spill->to && spill->service == HR_NONE)
    return hr__build_fail_at(builder, hr__get(router, "spill"), "to",
                             "the engine '%s' can spill over to other services only",
                             hr_service_engine_name(service->engine));
  return HR_OK;
}

static enum hr_status check_router(const struct hr__builder *builder, const cJSON *entry, const struct hr_services *all,
                                   struct hr_service *service) {
  const cJSON *router = hr__get(entry, "router");
  const struct hr__key *keys = hr__table_of(services_keys, "services.router");
  enum hr_status status = hr__check_choice(builder, router, keys, "router", (unsigned)service->router, true);
  if (status == HR_OK) status = check_weights(builder, router, &service->routing);
  if (status == HR_OK) status = check_order(builder, router, &service->routing);
  if (status == HR_OK) status = check_spill(builder, router, all, service);
  if (status == HR_OK) status = check_queue(builder, entry, service);
  return status == HR_OK ? check_phases(builder, entry, service) : status;
}

static enum hr_status check_routers(struct hr__builder *builder, const cJSON *list, struct hr_services *all) {
  enum hr_status status = HR_OK;
  uint32_t index = 0;
  const cJSON *entry;
  cJSON_ArrayForEach(entry, list) if (status == HR_OK) status = check_router(builder, entry, all, &all->at[index++]);
  return status;
}

/* ---- GPUs ------------------------------------------------------------------------------------------- */

/* Replicas that never end must fit together with those of the other services. */
static enum hr_status check_gpus(const struct hr__builder *builder, const cJSON *list, const struct hr_services *all) {
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  uint64_t needed_milli = 0, present = 0;
  for (uint32_t i = 0; i < all->count; i++)
    if (!all->at[i].mig_profile)
      needed_milli += (uint64_t)all->at[i].autoscale.min * all->at[i].gpus * all->at[i].gpu_milli;
  for (uint32_t p = 0; p < cluster->n_pools; p++)
    present += (uint64_t)cluster->pools[p].nodes * cluster->pools[p].gpus_per_node;
  if (needed_milli <= present * 1000) return HR_OK;
  return hr__build_fail(builder, list, "the replicas need %.15g GPUs, but the cluster has %" PRIu64,
                        (double)needed_milli / 1000, present);
}

enum hr_status hr__build_services(struct hr__builder *builder) {
  const cJSON *list = hr__get(builder->source.file.tree, "services"), *entry;
  if (!list) return HR_OK;
  struct hr_services *all = calloc(1, sizeof *all);
  if (!all) return hr__build_no_memory(builder);
  builder->scenario->services = all;
  enum hr_status status = hr__read(builder, builder->source.file.tree, services_keys, all);
  uint32_t index = 0;
  cJSON_ArrayForEach(entry, list) {
    if (status == HR_OK) status = check_name(builder, entry, all, index);
    if (status == HR_OK) status = check_requests(builder, entry, &all->at[index]);
    all->at[index].replicas = all->at[index].autoscale.max;
    if (status == HR_OK) status = hr__build_engine(builder, entry, &all->at[index]);
    if (status == HR_OK) status = check_autoscale(builder, entry, &all->at[index]);
    index++;
  }
  if (status == HR_OK) status = check_routers(builder, list, all);
  return status == HR_OK ? check_gpus(builder, list, all) : status;
}

void hr__services_destroy(struct hr_services *all) {
  if (all) hr__finish_values(services_keys, all);
  free(all);
}
