/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the section `volcano` across keys: the arguments of plug-ins, and the tree and limits of queues. */

#include "headroom/unstable/systems/volcano.h"

#include "scenarios/build/builder.h"

#include <string.h>

/* ---- Plug-ins ---- */

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

/* ---- Queues ---- */

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

enum hr_status hr__check_volcano(struct hr__builder *builder, const cJSON *section, void *filled) {
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
