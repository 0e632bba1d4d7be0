/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks of the section `kai` that its key table cannot express: names are unique, parents exist and form no cycle, and
 * the default queue accepts jobs, which only queues without child queues do. Minimum run times that are not set get
 * defaults. Keys that cannot affect the run are noted.
 *
 * The queues of the configuration have the order of the list, so entry i of the list is queue i.
 */

#include "headroom/unstable/systems/kai.h"

#include "scenarios/build/builder.h"

/* The state of the checks. */
struct kai_check {
  struct hr__builder *builder;
  struct hr_kai_config *config;
  const cJSON *queues; /* the list; NULL: none */
};

static const cJSON *entry_of(const struct kai_check *check, uint32_t queue) {
  return cJSON_GetArrayItem(check->queues, (int)queue);
}

static uint32_t find_queue(const struct hr_kai_config *config, const char *name) {
  for (uint32_t i = 0; i < config->n_queues; i++)
    if (strcmp(config->queues[i].name, name) == 0) return i;
  return HR_NONE;
}

static enum hr_status check_names(const struct kai_check *check) {
  for (uint32_t i = 0; i < check->config->n_queues; i++)
    if (find_queue(check->config, check->config->queues[i].name) < i)
      return hr__build_fail_at(check->builder, entry_of(check, i), "name",
                               "duplicate queue '%.60s'; give each queue its own name", check->config->queues[i].name);
  return HR_OK;
}

static enum hr_status find_parents(const struct kai_check *check) {
  for (uint32_t i = 0; i < check->config->n_queues; i++) {
    struct hr_kai_queue *queue = &check->config->queues[i];
    queue->above = queue->parent ? find_queue(check->config, queue->parent) : HR_NONE;
    if (queue->parent && queue->above == HR_NONE)
      return hr__build_fail_at(check->builder, entry_of(check, i), "parent",
                               "no queue '%.60s'; expected the name of an entry of 'kai.queues'", queue->parent);
    if (queue->parent) check->config->queues[queue->above].n_below++;
  }
  return HR_OK;
}

/* Follows the parents of each queue for n_queues steps. Without a cycle, this passes the root; otherwise it ends at a
   queue of the cycle. */
static enum hr_status check_cycles(const struct kai_check *check) {
  const struct hr_kai_config *config = check->config;
  for (uint32_t i = 0; i < config->n_queues; i++) {
    uint32_t at = i;
    for (uint32_t step = 0; step < config->n_queues && at != HR_NONE; step++) at = config->queues[at].above;
    if (at != HR_NONE)
      return hr__build_fail_at(check->builder, entry_of(check, at), "parent",
                               "queue '%.60s' is its own ancestor; use a parent that is not below it",
                               config->queues[at].name);
  }
  return HR_OK;
}

/* An amount is -1 or at least 0. */
static enum hr_status check_amounts(const struct kai_check *check, uint32_t queue, const char *resource) {
  static const char *const names[] = {"quota", "limit"};
  const cJSON *entry = hr__get(entry_of(check, queue), resource);
  for (int i = 0; i < 2; i++) {
    double amount = hr__number_of(entry, names[i], 0);
    if (amount < 0 && amount > -1)
      return hr__build_fail_at(check->builder, entry, names[i],
                               "%.10g is negative; expected -1 for no limit, or at least 0", amount);
  }
  return HR_OK;
}

static enum hr_status note(const struct hr__builder *builder, const char *text) {
  return hr_notes_add(&builder->scenario->notes, "kai: %s", text) == HR_OK ? HR_OK : hr__build_no_memory(builder);
}

/* Whether CPU and memory are counted. Jobs request them only in clusters with per-GPU allocation. */
static bool counts_cpu(const struct hr__builder *builder) {
  return hr_cluster_spec_by_gpu(&builder->scenario->cluster);
}

/* Adds a note for each resource for which a queue has no key `limit`. As in KAI, the limit is then 0, so the queue must
   not use the resource. */
static enum hr_status note_missing_limits(const struct kai_check *check, uint32_t queue) {
  static const char *const resources[][2] = {{"gpu", "GPUs"}, {"cpu", "CPUs"}, {"memory", "memory"}};
  const size_t n = counts_cpu(check->builder) ? 3 : 1;
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < n && status == HR_OK; i++) {
    if (hr__has(hr__get(entry_of(check, queue), resources[i][0]), "limit")) continue;
    status = hr_notes_add(&check->builder->scenario->notes,
                          "kai: queue '%.60s' has no '%s.limit'; as in KAI, it may use no %s (-1: no limit)",
                          check->config->queues[queue].name, resources[i][0], resources[i][1]);
  }
  return status == HR_OK ? HR_OK : hr__build_no_memory(check->builder);
}

static enum hr_status check_queue(const struct kai_check *check, uint32_t index) {
  struct hr_kai_queue *queue = &check->config->queues[index];
  const cJSON *entry = entry_of(check, index);
  if (!hr__has(entry, "preempt_min_runtime_s")) queue->preempt_min_runtime_us = HR_UNKNOWN_US;
  if (!hr__has(entry, "reclaim_min_runtime_s")) queue->reclaim_min_runtime_us = HR_UNKNOWN_US;
  enum hr_status status = check_amounts(check, index, "gpu");
  if (status == HR_OK) status = check_amounts(check, index, "cpu");
  if (status == HR_OK) status = check_amounts(check, index, "memory");
  return status == HR_OK ? note_missing_limits(check, index) : status;
}

static enum hr_status check_default_queue(const struct kai_check *check, const cJSON *section) {
  const struct hr_kai_config *config = check->config;
  if (!config->default_queue || config->n_queues == 0) return HR_OK;
  uint32_t queue = find_queue(config, config->default_queue);
  if (queue != HR_NONE && config->queues[queue].n_below == 0) return HR_OK;
  return hr__build_fail_at(check->builder, section, "default_queue",
                           queue == HR_NONE ? "no queue '%.60s'; expected the name of an entry of 'kai.queues'"
                                            : "queue '%.60s' has queues below it; expected a queue that takes jobs",
                           config->default_queue);
}

static enum hr_status check_classes(const struct kai_check *check, const cJSON *section) {
  const struct hr_kai_config *config = check->config;
  const cJSON *list = hr__get(section, "priority_classes");
  for (uint32_t i = 0; i < config->n_classes; i++) {
    const cJSON *entry = cJSON_GetArrayItem(list, (int)i);
    struct hr_kai_priority_class *class_ = &config->classes[i];
    if (!hr__has(entry, "preemptible")) class_->preemptible = class_->value < 100;
    for (uint32_t j = 0; j < i; j++) {
      if (strcmp(config->classes[j].name, class_->name) == 0)
        return hr__build_fail_at(check->builder, entry, "name",
                                 "duplicate priority class '%.60s'; give each class its own name", class_->name);
      if (config->classes[j].value == class_->value && config->classes[j].preemptible != class_->preemptible)
        return hr__build_fail_at(check->builder, entry, "value",
                                 "the classes '%.60s' and '%.60s' have the same value; expected the same 'preemptible'",
                                 config->classes[j].name, class_->name);
    }
  }
  return HR_OK;
}

/* ---- Keys without effect ---- */

/* Whether a queue has a quota or a limit of CPU or memory. */
static bool limits_cpu(const struct hr_kai_config *config) {
  for (uint32_t i = 0; i < config->n_queues; i++) {
    const struct hr_kai_queue *queue = &config->queues[i];
    if (queue->cpu.quota > 0 || queue->cpu.limit > 0 || queue->memory.quota > 0 || queue->memory.limit > 0) return true;
  }
  return false;
}

static bool has_levels(const struct hr_cluster_spec *cluster) {
  for (uint32_t p = 0; p < cluster->n_pools; p++)
    if (cluster->pools[p].topology.nodes_per_rack > 0) return true;
  return false;
}

/* Notes the keys that KAI has and that cannot affect a run. */
static enum hr_status note_no_effect(const struct kai_check *check, const cJSON *section) {
  const struct hr__builder *builder = check->builder;
  const cJSON *settings = hr__get(section, "scheduler");
  enum hr_status status = HR_OK;
  if (hr__has(settings, "stale_gang_grace_s"))
    status = note(builder, "'stale_gang_grace_s' has no effect: all pods of a job start and end together, so no gang "
                           "runs with fewer pods than its minimum");
  if (status == HR_OK && hr__has(settings, "k_value") && !check->config->scheduler.usage.enabled)
    status = note(builder, "'k_value' has no effect without 'usage'");
  if (status == HR_OK && limits_cpu(check->config) && !counts_cpu(builder))
    status = note(builder, "quotas and limits of CPU and memory have no effect: jobs request CPU and memory only in "
                           "clusters with per-GPU allocation (key 'cluster.by_gpu')");
  if (status == HR_OK && check->config->topology && !has_levels(&builder->scenario->cluster))
    status =
        note(builder, "'topology' has no effect: its levels are the racks and zones of pools, and no pool has racks "
                      "(key 'topology' of a pool)");
  return status;
}

enum hr_status hr__check_kai(struct hr__builder *builder, const cJSON *section, void *config) {
  struct kai_check check = {builder, config, hr__get(section, "queues")};
  struct hr_kai_scheduler *scheduler = &check.config->scheduler;
  const cJSON *settings = hr__get(section, "scheduler");
  scheduler->usage.enabled = hr__has(settings, "usage");
  if (!hr__has(settings, "shared_gpu_placement")) scheduler->gpu_spread = scheduler->gpu_placement == HR_KAI_SPREAD;
  enum hr_status status = check_names(&check);
  if (status == HR_OK) status = find_parents(&check);
  if (status == HR_OK) status = check_cycles(&check);
  for (uint32_t i = 0; i < check.config->n_queues && status == HR_OK; i++) status = check_queue(&check, i);
  if (status == HR_OK) status = check_default_queue(&check, section);
  if (status == HR_OK) status = check_classes(&check, section);
  const bool is_used = strcmp(builder->scenario->policy.ops->name, "kai") == 0;
  return status == HR_OK && is_used ? note_no_effect(&check, section) : status;
}
