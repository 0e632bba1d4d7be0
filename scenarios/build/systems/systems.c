/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sections of a scenario that configure a model of a real scheduler: `kueue`, `kai`, `volcano`, `kubernetes` and
 * `slurm`. A section is one struct, filled from its key table. Checks across keys are here or in SYSTEM.c.
 */

#include "headroom/unstable/systems/systems.h"

#include "headroom/unstable/systems/kai.h"
#include "headroom/unstable/systems/kubernetes.h"
#include "headroom/unstable/systems/kueue.h"
#include "headroom/unstable/systems/slurm.h"
#include "headroom/unstable/systems/volcano.h"
#include "scenarios/build/builder.h"

#include <stdlib.h>
#include <string.h>

/* ---- kubernetes: shapes, priority classes, back-off ------------------------------------------------------- */

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

static enum hr_status check_kubernetes(struct hr__builder *builder, const cJSON *section, void *filled) {
  const struct hr_kubernetes_config *config = filled;
  if (config->max_backoff_us < config->initial_backoff_us)
    return hr__build_fail_at(builder, section, "pod_max_backoff_s",
                             "'pod_max_backoff_s' is less than 'pod_initial_backoff_s'");
  enum hr_status status = check_scoring(builder, section, config);
  return status == HR_OK ? check_classes(builder, section, config) : status;
}

/* ---- volcano: arguments of plug-ins, tree and limits of queues -------------------------------------------- */

static enum hr_status check_plugins(struct hr__builder *builder, const cJSON *section,
                                    const struct hr_volcano_config *config) {
  const struct hr__key *keys = hr__table_of(&hr__scenario_keys, "volcano.tiers.plugins");
  const cJSON *tiers = hr__get(section, "tiers"), *tier = tiers ? tiers->child : NULL;
  uint32_t seen = 0;
  for (uint32_t i = 0; i < config->n_tiers && tier; i++, tier = tier->next) {
    const cJSON *entry = hr__get(tier, "plugins")->child;
    for (uint32_t k = 0; k < config->tiers[i].n_plugins && entry; k++, entry = entry->next) {
      unsigned id = config->tiers[i].plugins[k].id;
      if (seen >> id & 1)
        return hr__build_fail_at(builder, entry, "name", "plug-in '%s' is listed twice",
                                 hr__text_of(entry, "name", ""));
      seen |= 1u << id;
      enum hr_status status = hr__check_choice(builder, entry, keys, "plug-in", id, true);
      if (status != HR_OK) return status;
    }
  }
  return HR_OK;
}

static uint32_t find_queue(const struct hr_volcano_config *config, const char *name) {
  for (uint32_t i = 0; i < config->n_queues; i++)
    if (strcmp(config->queues[i].name, name) == 0) return i;
  return HR_NONE;
}

static const struct hr_volcano_amount *find_amount(const struct hr_volcano_amount *list, uint32_t n,
                                                   const char *resource) {
  for (uint32_t i = 0; i < n; i++)
    if (strcmp(list[i].resource, resource) == 0) return &list[i];
  return NULL;
}

/* Checks a list of amounts: no resource twice, and no amount above the capability of the queue. */
static enum hr_status check_amounts(struct hr__builder *builder, const cJSON *entry, const char *key,
                                    const struct hr_volcano_queue *queue, const struct hr_volcano_amount *list,
                                    uint32_t n) {
  const cJSON *object = hr__get(entry, key), *item = object ? object->child : NULL;
  for (uint32_t i = 0; i < n && item; i++, item = item->next) {
    if (find_amount(list, i, list[i].resource))
      return hr__build_fail_at(builder, item, "resource", "resource '%.100s' is listed twice", list[i].resource);
    const struct hr_volcano_amount *limit = find_amount(queue->capability, queue->n_capability, list[i].resource);
    if (limit && list[i].amount > limit->amount)
      return hr__build_fail_at(builder, item, "amount",
                               "%s of queue '%.100s': %.15g %.100s exceed its capability of %.15g", key, queue->name,
                               list[i].amount, list[i].resource, limit->amount);
  }
  return HR_OK;
}

/* Follows the parents of a queue. */
static enum hr_status check_parents(struct hr__builder *builder, const cJSON *entry,
                                    const struct hr_volcano_config *config, uint32_t queue) {
  uint32_t at = queue;
  for (uint32_t steps = 0; config->queues[at].parent; steps++) {
    const char *parent = config->queues[at].parent;
    if (strcmp(parent, "root") == 0 && find_queue(config, parent) == HR_NONE) return HR_OK;
    at = find_queue(config, parent);
    if (at == HR_NONE) return hr__build_fail_at(builder, entry, "parent", "unknown queue '%.100s'", parent);
    if (at == queue || steps > config->n_queues)
      return hr__build_fail_at(builder, entry, "parent", "queue '%.100s' is its own ancestor",
                               config->queues[queue].name);
  }
  return HR_OK;
}

static enum hr_status check_queue(struct hr__builder *builder, const cJSON *entry,
                                  const struct hr_volcano_config *config, uint32_t at) {
  const struct hr_volcano_queue *queue = &config->queues[at];
  if (find_queue(config, queue->name) != at)
    return hr__build_fail_at(builder, entry, "name", "queue '%.100s' is listed twice", queue->name);
  enum hr_status status = check_amounts(builder, entry, "capability", queue, queue->capability, queue->n_capability);
  if (status == HR_OK) status = check_amounts(builder, entry, "deserved", queue, queue->deserved, queue->n_deserved);
  if (status == HR_OK) status = check_amounts(builder, entry, "guarantee", queue, queue->guarantee, queue->n_guarantee);
  return status == HR_OK ? check_parents(builder, entry, config, at) : status;
}

static enum hr_status check_volcano(struct hr__builder *builder, const cJSON *section, void *filled) {
  const struct hr_volcano_config *config = filled;
  enum hr_status status = check_plugins(builder, section, config);
  const cJSON *list = hr__get(section, "queues"), *entry = list ? list->child : NULL;
  for (uint32_t i = 0; i < config->n_queues && entry && status == HR_OK; i++, entry = entry->next)
    status = check_queue(builder, entry, config, i);
  if (status == HR_OK && config->n_queues && config->default_queue &&
      find_queue(config, config->default_queue) == HR_NONE)
    return hr__build_fail_at(builder, section, "default_queue", "unknown queue '%.100s'", config->default_queue);
  return status;
}

/* ---- The systems ------------------------------------------------------------------------------------------ */

typedef enum hr_status check_system(struct hr__builder *builder, const cJSON *section, void *config);

static const struct system {
  const char *name;    /* of the section and of the policy */
  size_t bytes;        /* of the struct */
  size_t offset;       /* of its pointer in struct hr_systems */
  check_system *check; /* NULL: no key depends on another */
} systems[] = {
    {"kai", sizeof(struct hr_kai_config), offsetof(struct hr_systems, kai), hr__check_kai},
    {"kueue", sizeof(struct hr_kueue_config), offsetof(struct hr_systems, kueue), hr__check_kueue},
    {"kubernetes", sizeof(struct hr_kubernetes_config), offsetof(struct hr_systems, kubernetes), check_kubernetes},
    {"volcano", sizeof(struct hr_volcano_config), offsetof(struct hr_systems, volcano), check_volcano},
    {"slurm", sizeof(struct hr_slurm_config), offsetof(struct hr_systems, slurm), hr__check_slurm},
    {NULL, 0, 0, NULL},
};

static void **place_of(struct hr_systems *all, const struct system *system) {
  return (void **)(void *)((char *)all + system->offset);
}

static enum hr_status build_system(struct hr__builder *builder, const struct system *system) {
  const cJSON *section = hr__get(builder->source.file.tree, system->name);
  if (!section) return HR_OK;
  struct hr_scenario *scenario = builder->scenario;
  if (!scenario->systems && !(scenario->systems = calloc(1, sizeof *scenario->systems)))
    return hr__build_no_memory(builder);
  void *config = calloc(1, system->bytes);
  if (!config) return hr__build_no_memory(builder);
  *place_of(scenario->systems, system) = config;
  enum hr_status status = hr__read(builder, section, hr__table_of(&hr__scenario_keys, system->name), config);
  if (status == HR_OK && system->check) status = system->check(builder, section, config);
  const char *policy = scenario->policy.ops->name;
  if (status != HR_OK || strcmp(policy, system->name) == 0) return status;
  if (hr_notes_add(&scenario->notes, "'%s' has no effect: the policy is '%s'", system->name, policy) == HR_OK)
    return HR_OK;
  return hr__build_no_memory(builder);
}

enum hr_status hr__build_systems(struct hr__builder *builder) {
  enum hr_status status = HR_OK;
  for (const struct system *system = systems; system->name && status == HR_OK; system++)
    status = build_system(builder, system);
  return status;
}

void hr__systems_destroy(struct hr_systems *all) {
  if (!all) return;
  for (const struct system *system = systems; system->name; system++) {
    void **config = place_of(all, system);
    if (*config) hr__finish_values(hr__table_of(&hr__scenario_keys, system->name), *config);
    free(*config);
  }
  free(all);
}
