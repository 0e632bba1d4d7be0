/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The section `autoscale` of a service: defaults that depend on the policy, and rules across keys. */

#include "headroom/unstable/services.h"

#include "scenarios/build/builder.h"

#include <inttypes.h>
#include <stdlib.h>

enum { NO_CHANGE = 2 }; /* hr_scale_rules.select */

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
    if (scale->steps[i].replicas < scale->min)
      return hr__build_fail_at(builder, step, "replicas", "fewer replicas than 'min', which is %" PRIu32, scale->min);
  }
  return HR_OK;
}

/* Whether the decisions of nvcf are possible, and at most one of them is at a time. */
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

/* Values that contradict each other, or with which a rule never applies. */
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

/* Notes values that have no effect. */
static enum hr_status note_unused(struct hr__builder *builder, const cJSON *json, const struct hr_service *service) {
  const struct hr_autoscale *scale = &service->autoscale;
  enum hr_status status = HR_OK;
  if (service->slo.attainment > 0 && !has_goals(&service->slo))
    status = hr_notes_add(&builder->scenario->notes,
                          "service '%.60s': 'slo.attainment' has no effect without 'ttft_ms', 'tpot_ms' or 'e2e_ms'",
                          service->name);
  if (status == HR_OK && hr__has(json, "idle_to_zero_s") && scale->min)
    status = hr_notes_add(&builder->scenario->notes,
                          "service '%.60s': 'idle_to_zero_s' has no effect, because 'min' is %" PRIu32, service->name,
                          scale->min);
  if (status == HR_OK && scale->up.select == NO_CHANGE && scale->down.select == NO_CHANGE)
    status = hr_notes_add(&builder->scenario->notes,
                          "service '%.60s': the number of replicas never changes, because both directions are disabled",
                          service->name);
  return status == HR_OK ? HR_OK : hr__build_no_memory(builder);
}

enum hr_status hr__build_autoscale(struct hr__builder *builder, const cJSON *entry, struct hr_service *service) {
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
