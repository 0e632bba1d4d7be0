/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the section `kubernetes` across keys: shapes, priority classes, back-off; and notes what a run simplifies. */

#include "headroom/unstable/systems/kubernetes.h"

#include "scenarios/build/builder.h"

#include <string.h>

static enum hr_status check_resources(struct hr__builder *builder, const cJSON *list) {
  for (const cJSON *one = list ? list->child : NULL; one; one = one->next)
    for (const cJSON *other = list->child; other != one; other = other->next)
      if (strcmp(hr__text_of(one, "name", ""), hr__text_of(other, "name", "")) == 0)
        return hr__build_fail_at(builder, one, "name", "resource '%.100s' is listed twice",
                                 hr__text_of(one, "name", ""));
  return HR_OK;
}

static enum hr_status check_scoring(struct hr__builder *builder, const cJSON *section,
                                    const struct hr_kubernetes_config *config) {
  const cJSON *scoring = hr__get(section, "scoring"), *shape = hr__get(scoring, "shape");
  if (shape && config->scoring != HR_KUBERNETES_REQUESTED_TO_CAPACITY_RATIO)
    return hr__build_fail_at(builder, scoring, "shape", "'shape' needs the type requested_to_capacity_ratio");
  const cJSON *point = shape ? shape->child : NULL;
  for (uint32_t i = 1; i < config->n_points && point; i++) {
    point = point->next;
    if (config->shape[i].utilization <= config->shape[i - 1].utilization)
      return hr__build_fail_at(builder, point, "utilization", "utilizations must increase: %u follows %u",
                               config->shape[i].utilization, config->shape[i - 1].utilization);
  }
  enum hr_status status = check_resources(builder, hr__get(scoring, "resources"));
  return status == HR_OK ? check_resources(builder, hr__get(section, "balanced_resources")) : status;
}

static enum hr_status check_classes(struct hr__builder *builder, const cJSON *section,
                                    const struct hr_kubernetes_config *config) {
  const cJSON *list = hr__get(section, "priority_classes"), *entry = list ? list->child : NULL;
  for (uint32_t i = 0; i < config->n_classes && entry; i++, entry = entry->next)
    for (uint32_t k = 0; k < i; k++) {
      const struct hr_kubernetes_class *one = &config->classes[i], *other = &config->classes[k];
      if (strcmp(one->name, other->name) == 0)
        return hr__build_fail_at(builder, entry, "name", "priority class '%.100s' is listed twice", one->name);
      if (one->value == other->value && one->preemption != other->preemption)
        return hr__build_fail_at(builder, entry, "value",
                                 "priority classes '%.100s' and '%.100s' have the same value, and jobs name only a "
                                 "priority; give them the same preemption_policy",
                                 other->name, one->name);
    }
  return HR_OK;
}

enum hr_status hr__check_kubernetes(struct hr__builder *builder, const cJSON *section, void *filled) {
  const struct hr_kubernetes_config *config = filled;
  if (config->max_backoff_us < config->initial_backoff_us)
    return hr__build_fail_at(builder, section, "pod_max_backoff_s",
                             "'pod_max_backoff_s' is less than 'pod_initial_backoff_s'");
  enum hr_status status = check_scoring(builder, section, config);
  return status == HR_OK ? check_classes(builder, section, config) : status;
}
