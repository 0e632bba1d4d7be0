/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The queue of a job in a configuration of Kueue.
 *
 * A job names a queue in its field `queue`, else by its tenant. The text is "namespace/name" or the name of a
 * LocalQueue, for tenants also a namespace; else the name of a ClusterQueue; else the default queue is used.
 */

#include "policies/kueue/engine.h"

#include <string.h>

/* Returns whether a text is "namespace/name" of a local queue. */
static bool is_path_of(const struct hr_kueue_local_queue_config *queue, const char *text) {
  size_t length = strlen(queue->name_space);
  return strncmp(text, queue->name_space, length) == 0 && text[length] == '/' &&
         strcmp(text + length + 1, queue->name) == 0;
}

/* Finds a local queue by "namespace/name", or by its name; of several with the name, the one in the namespace
   `name_space`, else the first. HR_NONE: not found. */
static uint32_t find_local_queue(const struct hr_kueue_config *config, const char *text, const char *name_space) {
  uint32_t found = HR_NONE;
  for (uint32_t i = 0; i < config->n_local_queues; i++) {
    const struct hr_kueue_local_queue_config *queue = &config->local_queues[i];
    if (is_path_of(queue, text)) return i;
    if (strcmp(queue->name, text) != 0) continue;
    if (found == HR_NONE || (name_space && strcmp(queue->name_space, name_space) == 0)) found = i;
  }
  return found;
}

/* The first local queue of a namespace; HR_NONE: none. */
static uint32_t find_namespace(const struct hr_kueue_config *config, const char *name_space) {
  for (uint32_t i = 0; i < config->n_local_queues; i++)
    if (strcmp(config->local_queues[i].name_space, name_space) == 0) return i;
  return HR_NONE;
}

static uint32_t find_cluster_queue(const struct hr_kueue_config *config, const char *name) {
  for (uint32_t i = 0; name && i < config->n_cluster_queues; i++)
    if (strcmp(config->cluster_queues[i].name, name) == 0) return i;
  return HR_NONE;
}

static struct hr__kueue_destination find(const struct hr_kueue_config *config, const char *text, const char *tenant) {
  uint32_t local = text ? find_local_queue(config, text, tenant) : HR_NONE;
  if (!text && tenant) {
    local = find_local_queue(config, tenant, NULL);
    if (local == HR_NONE) local = find_namespace(config, tenant);
  }
  const char *name = local != HR_NONE ? config->local_queues[local].cluster_queue : text ? text : tenant;
  return (struct hr__kueue_destination){local, find_cluster_queue(config, name)};
}

static const char *name_at(const struct hr_names *names, const uint32_t *column, uint32_t job) {
  uint32_t index = column ? column[job] : HR_NONE;
  return index == HR_NONE || index >= names->count ? NULL : names->text[index];
}

struct hr__kueue_destination hr__kueue_find_destination(const struct hr_kueue_config *config,
                                                        const struct hr_trace *jobs, uint32_t job) {
  const char *text = name_at(&jobs->queues, jobs->queue, job);
  const char *tenant = name_at(&jobs->tenants, jobs->tenant, job);
  struct hr__kueue_destination found = find(config, text && *text ? text : NULL, tenant);
  return found.queue == HR_NONE && config->default_queue ? find(config, config->default_queue, NULL) : found;
}

bool hr__kueue_is_open(const struct hr_kueue_config *config, struct hr__kueue_destination destination) {
  if (destination.queue == HR_NONE) return false;
  const struct hr_kueue_cluster_queue *queue = &config->cluster_queues[destination.queue];
  if (queue->stop_policy != HR_KUEUE_STOP_NONE) return false;
  if (destination.local_queue == HR_NONE) return true;
  const struct hr_kueue_local_queue_config *local = &config->local_queues[destination.local_queue];
  bool selected = queue->n_namespaces == 0;
  for (uint32_t i = 0; i < queue->n_namespaces; i++) selected |= strcmp(queue->namespaces[i], local->name_space) == 0;
  return selected && local->stop_policy == HR_KUEUE_STOP_NONE;
}

bool hr__kueue_takes(const struct hr_kueue_config *config, const struct hr_trace *jobs, hr_job job) {
  return hr__kueue_is_open(config, hr__kueue_find_destination(config, jobs, job.id));
}
