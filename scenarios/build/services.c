/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The section `services` of a scenario: inference services, their requests, clusters, routers and autoscalers.
 * hr__read() stores all values. This file sets defaults that depend on other keys, and checks rules that concern
 * several keys. engines.c does the same for engines, memory and costs. replicas.c checks the capacity for replicas.
 */

#include "headroom/unstable/services.h"
#include "headroom/unstable/scenario_files.h"
#include "headroom/unstable/trace_tools.h"
#include "scenarios/build/builder.h"
#include "sim/services/service.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Autoscalers ------------------------------------------------------------------------------------ */

/* The section `autoscale` of a service: defaults that depend on the autoscaler (`policy`), and rules that concern
   several keys. */

enum { NO_CHANGE = 2 }; /* value of hr_scale_rules.select: scaling in this direction is disabled */

/* If the scenario has no scaling policies, sets them to the defaults of Kubernetes' HorizontalPodAutoscaler. These are
   100 % per 15 s and, for scaling up, also 4 replicas per 15 s. */
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

/* Sets the defaults that depend on the autoscaler. */
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
    if (scale->steps[i].replicas < scale->min)
      return hr__build_fail_at(builder, step, "replicas", "fewer replicas than 'min', which is %" PRIu32, scale->min);
  }
  return HR_OK;
}

/* Checks that the autoscaler nvcf can add and remove replicas, and that it never does both at the same utilization. */
static enum hr_status check_nvcf(const struct hr__builder *builder, const cJSON *json,
                                 const struct hr_autoscale *scale) {
  if (scale->up_required > scale->up_window)
    return hr__build_fail_at(builder, json, "up_required",
                             "%" PRIu32 " samples of 'up_window', which has %" PRIu32
                             ": the number of replicas never grows",
                             scale->up_required, scale->up_window);
  if (scale->down_required > scale->down_window)
    return hr__build_fail_at(builder, json, "down_required",
                             "%" PRIu32 " samples of 'down_window', which has %" PRIu32
                             ": the number of replicas never falls",
                             scale->down_required, scale->down_window);
  if (scale->up_threshold < scale->down_threshold)
    return hr__build_fail_at(builder, json, hr__has(json, "up_threshold") ? "up_threshold" : "down_threshold",
                             "'up_threshold' (%.10g) is below 'down_threshold' (%.10g)", scale->up_threshold,
                             scale->down_threshold);
  if (scale->up_factor <= 1)
    return hr__build_fail_at(builder, json, "up_factor", "expected more than 1: the number of replicas never grows");
  if (scale->down_factor >= 1)
    return hr__build_fail_at(builder, json, "down_factor", "expected less than 1: the number of replicas never falls");
  return HR_OK;
}

/* Refuses values of the autoscaler that contradict each other, or with which the number of replicas never falls. */
static enum hr_status check_rule(const struct hr__builder *builder, const cJSON *json,
                                 const struct hr_autoscale *scale) {
  const bool is_knative = scale->policy == HR_AUTOSCALE_KNATIVE, is_keda = scale->policy == HR_AUTOSCALE_KEDA;
  const bool is_hpa = is_keda || scale->policy == HR_AUTOSCALE_HPA;
  if ((is_knative || is_hpa) && scale->metric == HR_SCALE_UTILIZATION && scale->target > 100)
    return hr__build_fail_at(builder, json, "target", "the utilization is at most 100 percent, found %.10g",
                             scale->target);
  if (is_hpa && scale->tolerance >= 1)
    return hr__build_fail_at(builder, json, "tolerance", "expected less than 1: the number of replicas never falls");
  if (is_knative && scale->activation_scale > scale->max)
    return hr__build_fail_at(builder, json, "activation_scale", "%" PRIu32 " is above 'max', which is %" PRIu32,
                             scale->activation_scale, scale->max);
  if (is_keda && scale->idle != HR_NONE && scale->idle >= (scale->min ? scale->min : 1))
    return hr__build_fail_at(builder, json, "idle", "%" PRIu32 " is not below 'min', which is %" PRIu32, scale->idle,
                             scale->min);
  return scale->policy == HR_AUTOSCALE_NVCF ? check_nvcf(builder, json, scale) : check_steps(builder, json, scale);
}

static bool has_goals(const struct hr_service_slo *slo) {
  return slo->ttft_ms > 0 || slo->tpot_ms > 0 || slo->e2e_ms > 0;
}

/* Adds notes on values that have no effect. */
static enum hr_status note_unused(struct hr__builder *builder, const cJSON *json, const struct hr_service *service) {
  const struct hr_autoscale *scale = &service->autoscale;
  enum hr_status status = HR_OK;
  if (service->slo.attainment > 0 && !has_goals(&service->slo))
    status = hr__build_note(builder,
                            "service '%.60s': 'slo.attainment' has no effect without 'ttft_ms', 'tpot_ms' or 'e2e_ms'",
                            service->name);
  if (status == HR_OK && hr__has(json, "idle_to_zero_s") && scale->min)
    status = hr__build_note(builder, "service '%.60s': 'idle_to_zero_s' has no effect, because 'min' is %" PRIu32,
                            service->name, scale->min);
  if (status == HR_OK && scale->up.select == NO_CHANGE && scale->down.select == NO_CHANGE)
    status = hr__build_note(
        builder, "service '%.60s': the number of replicas never changes, because both directions are disabled",
        service->name);
  return status;
}

/* Completes and checks the autoscaler of a service. */
static enum hr_status build_autoscale(struct hr__builder *builder, const cJSON *entry, struct hr_service *service) {
  const cJSON *json = hr__get(entry, "autoscale");
  const struct hr_autoscale *scale = &service->autoscale;
  const struct hr__key *keys = hr__table_of(&hr__scenario_keys, "services.autoscale");
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
  if (scale->policy == HR_AUTOSCALE_SLO && !has_goals(&service->slo))
    return hr__build_fail_at(builder, json, "policy", "slo needs a goal; set 'slo.ttft_ms', 'tpot_ms' or 'e2e_ms'");
  status = check_rule(builder, json, scale);
  return status == HR_OK ? note_unused(builder, json, service) : status;
}

/* ---- Services --------------------------------------------------------------------------------------- */

static const struct hr__key services_keys[] = {
    {"services", LIST(0, MAX_MEMBERS, EACH(OBJECT(hr__service_keys))), AS_ARRAY(struct hr_services, stated, n_stated)},
    END};

static enum hr_status check_name(const struct hr__builder *builder, const cJSON *entry, const struct hr_services *all,
                                 uint32_t index) {
  for (uint32_t i = 0; i < index; i++)
    if (strcmp(all->stated[i].name, all->stated[index].name) == 0)
      return hr__build_fail_at(builder, entry, "name", "duplicate service '%.60s'; keep one", all->stated[index].name);
  return HR_OK;
}

/* ---- Requests --------------------------------------------------------------------------------------- */

/* Checks the mean of a distribution of numbers of tokens. The distribution 'fixed' needs a whole number as its mean.
   Numbers of the distribution 'log-normal' are rounded to whole numbers of at least 1. Adds a note if this changes
   their mean by more than 1 %. */
static enum hr_status check_mean(struct hr__builder *builder, const cJSON *object, const char *name,
                                 const struct hr_token_law *law) {
  if (law->kind == HR_TOKENS_FIXED && floor(law->mean) < law->mean)
    return hr__build_fail_at(builder, object, "mean",
                             "all numbers of the distribution 'fixed' are the mean, so a whole number is expected, "
                             "found %.10g; 'exponential' and 'log-normal' can have this mean",
                             law->mean);
  if (law->kind != HR_TOKENS_LOG_NORMAL || hr__has(object, "min")) return HR_OK;
  struct hr_token_law unlimited = *law;
  unlimited.max = 0;
  const double mean = hr_token_law_mean(&unlimited);
  if (fabs(mean / law->mean - 1) <= 0.01) return HR_OK;
  return hr__build_note(
      builder,
      "'%s': the mean of the drawn numbers is %.4g, not %.10g, because they are whole and at least 1; set "
      "'min' to confirm this",
      name, mean, law->mean);
}

static enum hr_status check_tokens(struct hr__builder *builder, const cJSON *requests, const char *name,
                                   const struct hr_token_law *law) {
  const cJSON *object = hr__get(requests, name);
  if (!object) return hr__build_fail(builder, requests, "drawn requests need '%s'", name);
  const struct hr__key *keys = hr__table_of(&hr__scenario_keys, "services.requests.prompt_tokens");
  enum hr_status status = hr__check_choice(builder, object, keys, "distribution", (unsigned)law->kind, true);
  if (status == HR_OK && law->max && law->min > law->max)
    return hr__build_fail_at(builder, object, "min", "'min' is above 'max' (%" PRIu32 ")", law->max);
  return status == HR_OK ? check_mean(builder, object, name, law) : status;
}

static enum hr_status check_factors(const struct hr__builder *builder, const cJSON *requests, const char *name,
                                    const double *factors, uint32_t count) {
  double sum = 0;
  for (uint32_t i = 0; i < count; i++) sum += factors[i];
  if (count == 0 || sum > 0) return HR_OK;
  return hr__build_fail_at(builder, requests, name, "all factors are 0; at least one must be above 0");
}

/* Checks that the requests are either drawn or from a trace. Requests from a trace have no other key than 'trace'. */
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

static enum hr_status check_requests(struct hr__builder *builder, const cJSON *entry,
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

/* ---- Clusters --------------------------------------------------------------------------------------- */

/* Returns the service in the file to which an entry of hr_services.at belongs. A service in several clusters has an
   entry for each of them; such an entry is called a part of the service. */
static const struct hr_service *stated_of(const struct hr_services *all, const struct hr_service *service) {
  return &all->stated[service->stated];
}

static bool has_text(char *const *list, uint32_t count, const char *text) {
  for (uint32_t i = 0; i < count; i++)
    if (strcmp(list[i], text) == 0) return true;
  return false;
}

static bool serves(const struct hr_scenario_cluster *cluster, const char *tenant) {
  return !cluster->n_only || (tenant && has_text(cluster->only, cluster->n_only, tenant));
}

/* Returns whether a list such as "a|b" contains a name. The list NULL contains none. */
static bool lists(const char *list, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = list; at; at = strchr(at, '|')) {
    if (*at == '|') at++;
    if (strncmp(at, name, length) == 0 && (at[length] == '|' || !at[length])) return true;
  }
  return false;
}

/* Returns whether a cluster has a pool in a region in which the replicas of a service may run. */
static bool is_in_region(const struct hr_scenario_cluster *cluster, const struct hr_service *service) {
  const struct hr_cluster_spec *spec = &cluster->scenario->cluster;
  if (!service->regions) return true;
  for (uint32_t i = 0; i < spec->n_pools; i++)
    if (spec->pools[i].region && lists(service->regions, spec->pools[i].region)) return true;
  return false;
}

/* Returns the home cluster of a service without `clusters`. It is the home of its tenant. If the tenant has no home, it
   is the first cluster that serves the tenant; HR_NONE: no cluster does. The same rule applies to jobs. */
static uint32_t home_of(const struct hr_scenario_clusters *clusters, const struct hr_service *service) {
  const char *tenant = service->tenant;
  for (uint32_t i = 0; i < clusters->count && tenant; i++)
    if (has_text(clusters->at[i].tenants, clusters->at[i].n_tenants, tenant)) return i;
  for (uint32_t i = 0; i < clusters->count; i++)
    if (serves(&clusters->at[i], tenant)) return i;
  return HR_NONE;
}

/* Checks the keys of an entry of `clusters` of a service. With the autoscaler 'fixed', an entry may have 'replicas',
   but not 'min' or 'max'; with all others, 'min' and 'max', but not 'replicas'. If the requests are from a trace, an
   entry must not have a 'share', because all requests of a trace arrive in the first cluster. */
static enum hr_status check_place_keys(const struct hr__builder *builder, const cJSON *json,
                                       const struct hr_service *service) {
  static const char *const bounds[] = {"min", "max"};
  const bool is_fixed = service->autoscale.policy == HR_AUTOSCALE_FIXED;
  for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
    if (is_fixed && hr__has(json, bounds[i]))
      return hr__build_fail_at(builder, json, bounds[i], "the autoscaler 'fixed' has 'replicas' instead of '%s'",
                               bounds[i]);
  if (!is_fixed && hr__has(json, "replicas"))
    return hr__build_fail_at(builder, json, "replicas",
                             "only the autoscaler 'fixed' has 'replicas'; set 'min' or 'max'");
  if (service->requests && hr__has(json, "share"))
    return hr__build_fail_at(builder, json, "share", "the requests of a trace arrive in the first cluster");
  return HR_OK;
}

/* Checks an entry of `clusters` of a service. Sets `*at` to the index of the cluster. */
static enum hr_status check_place(const struct hr__builder *builder, const cJSON *json,
                                  const struct hr_service *service, uint32_t index, uint32_t *at) {
  const struct hr_scenario_clusters *clusters = builder->scenario->clusters;
  const struct hr_service_place *place = &service->places[index];
  *at = clusters ? hr__cluster_named(clusters, place->name) : HR_NONE;
  if (!clusters) return hr__build_fail_at(builder, json, "name", "the scenario has no 'clusters'");
  if (*at == HR_NONE) return hr__build_fail_at(builder, json, "name", "no cluster has the name '%.60s'", place->name);
  for (uint32_t i = 0; i < index; i++)
    if (strcmp(service->places[i].name, place->name) == 0)
      return hr__build_fail_at(builder, json, "name", "duplicate cluster '%.60s'; keep one", place->name);
  if (!serves(&clusters->at[*at], service->tenant))
    return hr__build_fail_at(builder, json, "name", "the cluster '%.60s' serves other tenants only ('only_tenants')",
                             place->name);
  if (!builder->is_candidate && !is_in_region(&clusters->at[*at], service))
    return hr__build_fail_at(builder, json, "name", "the cluster '%.60s' has no pool in the region '%.60s'",
                             place->name, service->regions);
  return check_place_keys(builder, json, service);
}

/* Sets the requests that arrive at a part of a service. `before` is the sum of the shares of all parts before it,
   `after` is this sum plus its own share, and `sum` is the sum of all shares. A part without a share gets only requests
   that spill over from other parts (`only_gets`). */
static void set_share(struct hr_service *part, double before, double after, double sum) {
  struct hr_request_draw *draw = &part->draw;
  const double count = (double)draw->count;
  part->only_gets = after <= before;
  if (part->requests || part->only_gets) return;
  draw->rate_per_s *= (after - before) / sum;
  if (!draw->count) return;
  draw->count = (uint64_t)(floor(count * after / sum + 0.5) - floor(count * before / sum + 0.5));
  part->only_gets = draw->count == 0;
}

/* Adds the part of a service in the cluster number `index` of its list. */
static enum hr_status add_part(struct hr__builder *builder, const cJSON *json, struct hr_services *all,
                               const struct hr_service *service, uint32_t index) {
  struct hr_service *part = &all->at[all->count];
  const struct hr_service_place *place = &service->places[index];
  *part = *service;
  part->stated = (uint32_t)(service - all->stated);
  const enum hr_status status = check_place(builder, json, service, index, &part->cluster);
  if (status != HR_OK) return status;
  part->draw.offset_h = place->offset_h;
  if (hr__has(json, "replicas") || hr__has(json, "max")) part->autoscale.max = place->max;
  if (hr__has(json, "replicas") || hr__has(json, "min"))
    part->autoscale.min = hr__has(json, "min") ? place->min : place->max;
  part->replicas = part->autoscale.max;
  if (part->autoscale.min > part->autoscale.max)
    return hr__build_fail_at(builder, json, hr__has(json, "min") ? "min" : "max",
                             "'min' (%" PRIu32 ") is above 'max' (%" PRIu32 ")", part->autoscale.min,
                             part->autoscale.max);
  if (service->n_places > 1) {
    const size_t bytes = strlen(place->name) + strlen(service->name) + sizeof "/";
    part->name = malloc(bytes);
    if (!part->name) return hr__build_no_memory(builder);
    snprintf(part->name, bytes, "%s/%s", place->name, service->name);
  }
  all->count++;
  return HR_OK;
}

/* Adds the parts of a service: one for each of its clusters. */
static enum hr_status add_parts(struct hr__builder *builder, const cJSON *entry, struct hr_services *all,
                                const struct hr_service *service) {
  const cJSON *list = hr__get(entry, "clusters"), *json;
  double sum = 0, before = 0;
  uint32_t index = 0;
  cJSON_ArrayForEach(json, list) {
    if (!hr__has(json, "share")) service->places[index].share = index == 0;
    sum += service->places[index++].share;
  }
  if (sum <= 0) return hr__build_fail_at(builder, entry, "clusters", "all shares are 0; at least one must be above 0");
  index = 0;
  cJSON_ArrayForEach(json, list) {
    const uint32_t at = all->count;
    const enum hr_status status = add_part(builder, json, all, service, index);
    if (status != HR_OK) return status;
    const double share = service->places[index++].share;
    set_share(&all->at[at], before, before + share, sum);
    before += share;
  }
  return HR_OK;
}

/* Sets the cluster to which each part of a service spills over. It is that of 'spill_to', by default the next one in
   the list of clusters; after the last one, the first one. */
static enum hr_status find_next(const struct hr__builder *builder, const cJSON *entry, const struct hr_service *service,
                                struct hr_service *parts) {
  for (uint32_t i = 0; i < service->n_places; i++) {
    const cJSON *json = cJSON_GetArrayItem(hr__get(entry, "clusters"), (int)i);
    const char *to = service->places[i].spill_to;
    uint32_t next = (i + 1) % service->n_places;
    for (uint32_t k = 0; k < service->n_places && to; k++)
      if (strcmp(service->places[k].name, to) == 0) next = k;
    if (to && strcmp(service->places[next].name, to) != 0)
      return hr__build_fail_at(builder, json, "spill_to", "the service has no cluster '%.60s'", to);
    if (to && next == i)
      return hr__build_fail_at(builder, json, "spill_to", "the cluster '%.60s' cannot spill over to itself", to);
    parts[i].spill_cluster = parts[next].cluster;
  }
  return HR_OK;
}

/* Fills hr_services.at: the parts of services with `clusters`, and all other services. */
static enum hr_status place_services(struct hr__builder *builder, const cJSON *list, struct hr_services *all) {
  size_t count = 0;
  for (uint32_t i = 0; i < all->n_stated; i++) count += all->stated[i].n_places ? all->stated[i].n_places : 1;
  all->at = calloc(count + 1, sizeof *all->at);
  if (!all->at) return hr__build_no_memory(builder);
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < all->n_stated && status == HR_OK; i++) {
    const struct hr_service *service = &all->stated[i];
    const cJSON *entry = cJSON_GetArrayItem(list, (int)i);
    const uint32_t first = all->count;
    if (service->n_places) {
      status = add_parts(builder, entry, all, service);
      if (status == HR_OK) status = find_next(builder, entry, service, &all->at[first]);
      continue;
    }
    struct hr_service *part = &all->at[all->count++];
    *part = *service;
    part->stated = i;
    part->cluster = builder->scenario->clusters ? home_of(builder->scenario->clusters, service) : 0;
    if (part->cluster == HR_NONE)
      status =
          hr__build_fail_at(builder, entry, "name", "no cluster serves the tenant of the service ('only_tenants')");
  }
  return status;
}

/* ---- Router and queue ------------------------------------------------------------------------------- */

static bool has_pool(const struct hr_cluster_spec *cluster, const char *name) {
  return hr__pool_named(cluster, name, strlen(name)) != HR_NONE;
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

/* Returns the cluster in which an entry of hr_services.at has its replicas. */
static const struct hr_cluster_spec *cluster_of(const struct hr__builder *builder, const struct hr_service *service) {
  const struct hr_scenario_clusters *clusters = builder->scenario->clusters;
  return clusters ? &clusters->at[service->cluster].scenario->cluster : &builder->scenario->cluster;
}

static bool same_text(const char *a, const char *b) {
  return a && b && strcmp(a, b) == 0;
}

static enum hr_status check_weights(const struct hr__builder *builder, const cJSON *router,
                                    const struct hr_service *service) {
  const struct hr_cluster_spec *cluster = cluster_of(builder, service);
  const struct hr_service_routing *routing = &service->routing;
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
    for (const struct hr_router_weight *other = routing->weights; other < weight; other++)
      if (same_text(weight->pool, other->pool) || same_text(weight->gpu_type, other->gpu_type))
        return hr__build_fail_at(builder, entry, weight->pool ? "pool" : "gpu_type",
                                 "duplicate weight of '%.60s'; keep one",
                                 weight->pool ? weight->pool : weight->gpu_type);
    sum += weight->weight;
  }
  if (routing->n_weights == 0 || sum > 0) return HR_OK;
  return hr__build_fail_at(builder, router, "weights", "all weights are 0; at least one must be above 0");
}

static enum hr_status check_order(const struct hr__builder *builder, const cJSON *router,
                                  const struct hr_service *service) {
  const struct hr_cluster_spec *cluster = cluster_of(builder, service);
  const struct hr_service_routing *routing = &service->routing;
  for (uint32_t i = 0; i < routing->n_order; i++) {
    const cJSON *entry = cJSON_GetArrayItem(hr__get(router, "order"), (int)i);
    if (!has_pool(cluster, routing->order[i]) && !has_gpu(cluster, routing->order[i]))
      return hr__build_fail(builder, entry, "the cluster has no pool and no GPU type '%.60s'", routing->order[i]);
    if (has_text(routing->order, i, routing->order[i]))
      return hr__build_fail(builder, entry, "duplicate '%.60s'; keep one", routing->order[i]);
  }
  return HR_OK;
}

/* Returns the index of the service to which requests spill over; HR_NONE: not found. If 'to' is "clusters", it is the
   same service in another cluster. Otherwise it is the service with the name in 'to': its part in the same cluster if
   there is one, or else its first part. */
static uint32_t find_target(const struct hr_services *all, const struct hr_service *service) {
  const char *to = service->routing.spill.to;
  const bool is_self = strcmp(to, "clusters") == 0 && service->n_places > 1;
  uint32_t found = HR_NONE;
  for (uint32_t i = 0; i < all->count; i++) {
    const struct hr_service *other = &all->at[i];
    const char *name = stated_of(all, other)->name;
    if (is_self && other->places == service->places && other->cluster == service->spill_cluster) return i;
    if (is_self || strcmp(name, to) != 0) continue;
    if (found == HR_NONE || other->cluster == service->cluster) found = i;
  }
  return found;
}

/* Sets and checks the target to which requests spill over: a service, a pool or a market. */
static enum hr_status check_spill(const struct hr__builder *builder, const cJSON *router, const struct hr_services *all,
                                  struct hr_service *service) {
  const cJSON *json = hr__get(router, "spill");
  const struct hr_cluster_spec *cluster = cluster_of(builder, service);
  struct hr_service_spill *spill = &service->routing.spill;
  spill->service = HR_NONE;
  if (!hr__has(json, "predicted_wait_s")) spill->predicted_wait_us = HR_NEVER_US;
  if (!spill->to) return HR_OK;
  spill->service = find_target(all, service);
  if (spill->service != HR_NONE && &all->at[spill->service] == service)
    return hr__build_fail_at(builder, json, "to", "the service '%.60s' cannot spill over to itself", spill->to);
  if (spill->service == HR_NONE && strcmp(spill->to, "clusters") == 0 && !has_pool(cluster, spill->to))
    return hr__build_fail_at(
        builder, json, "to",
        "'clusters' needs replicas in several clusters, but 'clusters' of the service has %s; list "
        "at least two",
        service->n_places ? "only one" : "none");
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

/* Refuses router keys that an engine with phases does not use, because it has its own router. */
static enum hr_status check_phases(const struct hr__builder *builder, const cJSON *entry,
                                   const struct hr_service *service) {
  static const char *const members[] = {"name", "order", "room", "weights"};
  const cJSON *router = hr__get(entry, "router");
  const struct hr_service_spill *spill = &service->routing.spill;
  for (size_t i = 0; hr__has_phases(service) && i < sizeof members / sizeof *members; i++)
    if (hr__has(router, members[i]))
      return hr__build_fail_at(builder, router, members[i], "the engine '%s' has a router of its own",
                               hr_service_engine_name(service->engine));
  if (hr__has_phases(service) && spill->to && spill->service == HR_NONE)
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
  if (status == HR_OK) status = check_weights(builder, router, service);
  if (status == HR_OK) status = check_order(builder, router, service);
  if (status == HR_OK) status = check_spill(builder, router, all, service);
  if (status == HR_OK) status = check_queue(builder, entry, service);
  return status == HR_OK ? check_phases(builder, entry, service) : status;
}

static enum hr_status check_routers(struct hr__builder *builder, const cJSON *list, struct hr_services *all) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < all->count && status == HR_OK; i++) {
    const uint32_t stated = (uint32_t)(stated_of(all, &all->at[i]) - all->stated);
    status = check_router(builder, cJSON_GetArrayItem(list, (int)stated), all, &all->at[i]);
  }
  return status;
}

/* ---- GPUs ------------------------------------------------------------------------------------------- */

static bool shares_gpus(const struct hr_cluster_spec *cluster) {
  for (uint32_t p = 0; p < cluster->n_pools; p++)
    if (cluster->pools[p].nodes && cluster->pools[p].sharing != HR_SHARING_WHOLE) return true;
  return false;
}

/* Compares the minimum numbers of replicas of all services in cluster `number` with the GPUs of this cluster. If the
   replicas need GPUs and the cluster has none, this is an error. Adds a note if all services together need more GPUs
   than the cluster has. If one service alone needs more, hr__check_replica() has added the note. */
static enum hr_status check_gpus_of(struct hr__builder *builder, const cJSON *list, const struct hr_services *all,
                                    uint32_t number) {
  const struct hr_scenario_clusters *clusters = builder->scenario->clusters;
  const struct hr_cluster_spec *cluster =
      clusters ? &clusters->at[number].scenario->cluster : &builder->scenario->cluster;
  const char *name = clusters ? clusters->at[number].name : NULL;
  uint64_t needed = 0, largest = 0, present = 0;
  for (uint32_t i = 0; i < all->count; i++) {
    const uint64_t own = (uint64_t)all->at[i].autoscale.min * all->at[i].gpus;
    if (all->at[i].cluster != number) continue;
    needed += own;
    if (own > largest) largest = own;
  }
  for (uint32_t p = 0; p < cluster->n_pools; p++)
    present += (uint64_t)cluster->pools[p].nodes * cluster->pools[p].gpus_per_node;
  if (needed && !present)
    return hr__build_unfit(
        builder, hr__build_fail(builder, list, "the replicas need GPUs, but the cluster%s%.60s%s has none; add nodes",
                                name ? " '" : "", name ? name : "", name ? "'" : ""));
  if (needed <= present || largest > present || shares_gpus(cluster)) return HR_OK;
  return hr__build_note(builder,
                        "the replicas of all services need %" PRIu64
                        " GPUs at once, but the cluster%s%.60s%s has %" PRIu64 ": some wait until others end",
                        needed, name ? " '" : "", name ? name : "", name ? "'" : "", present);
}

static enum hr_status check_gpus(struct hr__builder *builder, const cJSON *list, const struct hr_services *all) {
  const uint32_t n = builder->scenario->clusters ? builder->scenario->clusters->count : 1;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < n && status == HR_OK; i++) status = check_gpus_of(builder, list, all, i);
  return status;
}

static enum hr_status set_place(struct hr__builder *builder, const cJSON *entry, struct hr_service *service) {
  const cJSON *autoscale = hr__get(entry, "autoscale");
  struct hr_error here;
  hr__source_fail(&builder->source, autoscale ? autoscale : entry, false, &here, "%s", "");
  service->place = strdup(here.text);
  return service->place ? HR_OK : hr__build_no_memory(builder);
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
    if (status == HR_OK) status = check_requests(builder, entry, &all->stated[index]);
    if (status == HR_OK) all->stated[index].replicas = all->stated[index].autoscale.max;
    if (status == HR_OK) status = hr__build_engine(builder, entry, &all->stated[index]);
    if (status == HR_OK) status = build_autoscale(builder, entry, &all->stated[index]);
    if (status == HR_OK) status = set_place(builder, entry, &all->stated[index]);
    index++;
  }
  if (status == HR_OK) status = place_services(builder, list, all);
  if (status == HR_OK) status = check_routers(builder, list, all);
  for (uint32_t i = 0; i < all->count && status == HR_OK; i++)
    status = hr__check_replica(builder, cJSON_GetArrayItem(list, (int)all->at[i].stated), &all->at[i]);
  return status == HR_OK ? check_gpus(builder, list, all) : status;
}

void hr__services_destroy(struct hr_services *all) {
  for (uint32_t i = 0; all && i < all->count; i++)
    if (all->at[i].name != stated_of(all, &all->at[i])->name) free(all->at[i].name);
  for (uint32_t i = 0; all && all->stated && i < all->n_stated; i++) free(all->stated[i].place);
  if (all) hr__finish_values(services_keys, all);
  if (all) free(all->at);
  if (all) free(all->unfit);
  free(all);
}
