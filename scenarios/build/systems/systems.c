/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sections of a scenario that configure a model of a real scheduler: `kueue`, `kai`, `volcano`, `kubernetes` and
 * `slurm`. hr__read() stores each section in one struct. This file checks rules that concern several keys; kueue.c does
 * this for `kueue`.
 *
 * Invariant: entry i of a list in a section is entry i of the array in the struct.
 */

#include "headroom/unstable/systems/systems.h"

#include "base/containers.h"
#include "headroom/unstable/systems/kueue.h"
#include "headroom/unstable/systems/slurm.h"
#include "scenarios/build/builder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- KAI-Scheduler ---------------------------------------------------------------------------------- */

/*
 * Checks that names are unique, parents exist and form no cycle, and the default queue accepts jobs. Only queues
 * without child queues accept jobs. Minimum run times that are not set become HR_UNKNOWN_US. Adds notes on keys that
 * cannot affect the run.
 */

/* The state of the checks. */
struct kai_check {
  struct hr__builder *builder;
  struct hr_kai_config *config;
  const cJSON *queues; /* the list; NULL: none */
};

static const cJSON *entry_of(const struct kai_check *check, uint32_t queue) {
  return cJSON_GetArrayItem(check->queues, (int)queue);
}

static uint32_t find_kai_queue(const struct hr_kai_config *config, const char *name) {
  for (uint32_t i = 0; i < config->n_queues; i++)
    if (strcmp(config->queues[i].name, name) == 0) return i;
  return HR_NONE;
}

static enum hr_status check_names(const struct kai_check *check) {
  for (uint32_t i = 0; i < check->config->n_queues; i++)
    if (find_kai_queue(check->config, check->config->queues[i].name) < i)
      return hr__build_fail_at(check->builder, entry_of(check, i), "name",
                               "duplicate queue '%.60s'; give each queue its own name", check->config->queues[i].name);
  return HR_OK;
}

static enum hr_status find_parents(const struct kai_check *check) {
  for (uint32_t i = 0; i < check->config->n_queues; i++) {
    struct hr_kai_queue *queue = &check->config->queues[i];
    queue->above = queue->parent ? find_kai_queue(check->config, queue->parent) : HR_NONE;
    if (queue->parent && queue->above == HR_NONE)
      return hr__build_fail_at(check->builder, entry_of(check, i), "parent",
                               "no queue '%.60s'; expected the name of an entry of 'kai.queues'", queue->parent);
    if (queue->parent) check->config->queues[queue->above].n_below++;
  }
  return HR_OK;
}

/* Follows the parents of each queue for n_queues steps. Without a cycle, these steps go beyond the root, to HR_NONE.
   With a cycle, they end at a queue of the cycle. */
static enum hr_status check_kai_cycles(const struct kai_check *check) {
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

/* Checks that amounts are -1 or at least 0. */
static enum hr_status check_kai_amounts(const struct kai_check *check, uint32_t queue, const char *resource) {
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
  return hr__build_note(builder, "kai: %s", text);
}

/* Returns whether jobs request CPUs and memory. They do so only in clusters with per-GPU allocation. */
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
    status = hr__build_note(check->builder,
                            "kai: queue '%.60s' has no '%s.limit'; as in KAI, it may use no %s (-1: no limit)",
                            check->config->queues[queue].name, resources[i][0], resources[i][1]);
  }
  return status;
}

static enum hr_status check_kai_queue(const struct kai_check *check, uint32_t index) {
  struct hr_kai_queue *queue = &check->config->queues[index];
  const cJSON *entry = entry_of(check, index);
  if (!hr__has(entry, "preempt_min_runtime_s")) queue->preempt_min_runtime_us = HR_UNKNOWN_US;
  if (!hr__has(entry, "reclaim_min_runtime_s")) queue->reclaim_min_runtime_us = HR_UNKNOWN_US;
  enum hr_status status = check_kai_amounts(check, index, "gpu");
  if (status == HR_OK) status = check_kai_amounts(check, index, "cpu");
  if (status == HR_OK) status = check_kai_amounts(check, index, "memory");
  return status == HR_OK ? note_missing_limits(check, index) : status;
}

static enum hr_status check_default_queue(const struct kai_check *check, const cJSON *section) {
  const struct hr_kai_config *config = check->config;
  if (!config->default_queue || config->n_queues == 0) return HR_OK;
  uint32_t queue = find_kai_queue(config, config->default_queue);
  if (queue != HR_NONE && config->queues[queue].n_below == 0) return HR_OK;
  return hr__build_fail_at(check->builder, section, "default_queue",
                           queue == HR_NONE ? "no queue '%.60s'; expected the name of an entry of 'kai.queues'"
                                            : "queue '%.60s' has queues below it; expected a queue that takes jobs",
                           config->default_queue);
}

static enum hr_status check_kai_classes(const struct kai_check *check, const cJSON *section) {
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

/* ---- KAI-Scheduler: keys without effect ------------------------------------------------------------- */

/* Returns whether some queue has a quota or a limit of CPU or memory. */
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

/* Adds notes on keys that are valid in KAI, but have no effect in this scenario. */
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

static enum hr_status check_kai(struct hr__builder *builder, const cJSON *section, void *config) {
  struct kai_check check = {builder, config, hr__get(section, "queues")};
  struct hr_kai_scheduler *scheduler = &check.config->scheduler;
  const cJSON *settings = hr__get(section, "scheduler");
  scheduler->usage.enabled = hr__has(settings, "usage");
  if (!hr__has(settings, "shared_gpu_placement")) scheduler->gpu_spread = scheduler->gpu_placement == HR_KAI_SPREAD;
  enum hr_status status = check_names(&check);
  if (status == HR_OK) status = find_parents(&check);
  if (status == HR_OK) status = check_kai_cycles(&check);
  for (uint32_t i = 0; i < check.config->n_queues && status == HR_OK; i++) status = check_kai_queue(&check, i);
  if (status == HR_OK) status = check_default_queue(&check, section);
  if (status == HR_OK) status = check_kai_classes(&check, section);
  const bool is_used = strcmp(builder->scenario->policy.ops->name, "kai") == 0;
  return status == HR_OK && is_used ? note_no_effect(&check, section) : status;
}

/* ---- Slurm ------------------------------------------------------------------------------------------ */

/*
 * Checks that names are unique, references to other objects are valid, nodes belong to pools, and accounts form a tree.
 * Times that are not set become HR_UNKNOWN_US. Names are interned in a table for each list. The names of a list differ,
 * so the number of a name in the table is the index of the entry in the list.
 */

/* The state of the checks. */
struct slurm_check {
  struct hr__builder *builder;
  struct hr_slurm_config *config;
  struct hr__name_table qos, accounts, users; /* a user is "ACCOUNT\nUSER" */
  uint32_t *account_entries;                  /* [accounts.count] index of the association of each account */
};

/* ---- Slurm: names ----------------------------------------------------------------------------------- */

/* Adds a name to a table of names. A name that is already in the table is an error. `key` is the key of the name in
   `entry`, and `what` the kind of object in messages. */
static enum hr_status add_name(const struct slurm_check *check, struct hr__name_table *names, const char *name,
                               const cJSON *entry, const char *key, const char *what) {
  uint32_t expected = names->count, number = hr__names_intern(names, name, strlen(name));
  if (number == HR_NONE) return hr__build_no_memory(check->builder);
  if (number == expected) return HR_OK;
  return hr__build_fail_at(check->builder, entry, key, "duplicate %s '%.80s'; give each its own name", what,
                           hr__text_of(entry, key, ""));
}

/* Sets `*index` to the index of the QOS with a name; HR_NONE if the name is NULL. If no QOS has the name, this is an
   error at `place`. */
static enum hr_status find_qos(const struct slurm_check *check, const char *name, const cJSON *place, uint32_t *index) {
  *index = name ? hr__names_find(&check->qos, name, strlen(name)) : HR_NONE;
  if (!name || *index != HR_NONE) return HR_OK;
  return hr__build_fail(check->builder, place, "no QOS '%.80s'; expected the name of an entry of 'slurm.qos'", name);
}

/* Checks that all QOS of a list exist. */
static enum hr_status check_qos_list(const struct slurm_check *check, const cJSON *list) {
  uint32_t index;
  for (const cJSON *item = list ? list->child : NULL; item; item = item->next) {
    enum hr_status status = find_qos(check, item->valuestring, item, &index);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

/* ---- Slurm: nodes ----------------------------------------------------------------------------------- */

/* Reads "FIRST-LAST". Returns false if the text is something else. */
static bool read_range(const char *text, uint32_t *first, uint32_t *last) {
  char *end;
  errno = 0;
  unsigned long low = strtoul(text, &end, 10);
  if (end == text || *end != '-' || errno || *text == '-') return false;
  const char *second = end + 1;
  unsigned long high = strtoul(second, &end, 10);
  if (end == second || *end || errno || *second == '-' || high < low || high >= UINT32_MAX) return false;
  *first = (uint32_t)low;
  *last = (uint32_t)high;
  return true;
}

static enum hr_status find_nodes(const struct slurm_check *check, const cJSON *place,
                                 struct hr_slurm_node_range *range) {
  const struct hr_cluster_spec *cluster = &check->builder->scenario->cluster;
  uint32_t last = 0;
  range->pool = hr__pool_named(cluster, range->text, strlen(range->text));
  if (range->pool != HR_NONE) {
    range->count = cluster->pools[range->pool].nodes;
    return HR_OK;
  }
  const char *colon = strrchr(range->text, ':');
  if (colon && read_range(colon + 1, &range->first, &last))
    range->pool = hr__pool_named(cluster, range->text, (size_t)(colon - range->text));
  if (range->pool == HR_NONE)
    return hr__build_fail(check->builder, place, "no pool '%.80s'; expected the name of a pool, or POOL:FIRST-LAST",
                          range->text);
  if (last >= cluster->pools[range->pool].nodes)
    return hr__build_fail(check->builder, place, "node %u is not in the pool, which has nodes 0 to %u", last,
                          cluster->pools[range->pool].nodes - 1);
  range->count = last - range->first + 1;
  return HR_OK;
}

static enum hr_status find_all_nodes(const struct slurm_check *check, const cJSON *entry,
                                     struct hr_slurm_node_range *ranges, uint32_t n_ranges) {
  const cJSON *item = hr__first(entry, "nodes");
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < n_ranges && item && status == HR_OK; i++, item = item->next)
    status = find_nodes(check, item, &ranges[i]);
  return status;
}

/* ---- Slurm: QOS ------------------------------------------------------------------------------------- */

static enum hr_status check_all_qos(struct slurm_check *check, const cJSON *first) {
  struct hr_slurm_qos *qos = check->config->qos;
  enum hr_status status = HR_OK;
  for (const cJSON *entry = first; entry && status == HR_OK; entry = entry->next, qos++) {
    status = add_name(check, &check->qos, qos->name, entry, "name", "QOS");
    if (!hr__has(entry, "preempt_exempt_time_s")) qos->exempt_us = HR_UNKNOWN_US;
    if (!hr__has(hr__get(entry, "limits"), "max_wall_s")) qos->limits.max_wall_us = HR_UNKNOWN_US;
  }
  for (const cJSON *entry = first; entry && status == HR_OK; entry = entry->next)
    status = check_qos_list(check, hr__get(entry, "preempt"));
  return status;
}

/* ---- Slurm: partitions ------------------------------------------------------------------------------ */

static enum hr_status check_partition(const struct slurm_check *check, const cJSON *entry,
                                      struct hr_slurm_partition *partition) {
  if (!hr__has(entry, "max_time_s")) partition->max_time_us = HR_UNKNOWN_US;
  if (!hr__has(entry, "default_time_s")) partition->default_time_us = HR_UNKNOWN_US;
  if (!hr__has(entry, "over_time_limit_s")) partition->over_time_limit_us = HR_UNKNOWN_US;
  partition->has_billing = hr__has(entry, "tres_billing_weights");
  enum hr_status status = find_all_nodes(check, entry, partition->nodes, partition->n_nodes);
  if (status == HR_OK) status = find_qos(check, partition->qos, hr__get(entry, "qos"), &partition->qos_index);
  if (status == HR_OK) status = check_qos_list(check, hr__get(entry, "allow_qos"));
  if (status == HR_OK) status = check_qos_list(check, hr__get(entry, "deny_qos"));
  return status;
}

static enum hr_status check_partitions(struct slurm_check *check, const cJSON *entry) {
  struct hr_slurm_partition *partition = check->config->partitions;
  struct hr__name_table names = {0};
  const struct hr_slurm_partition *first = NULL;
  enum hr_status status = HR_OK;
  for (; entry && status == HR_OK; entry = entry->next, partition++) {
    status = add_name(check, &names, partition->name, entry, "name", "partition");
    if (status == HR_OK) status = check_partition(check, entry, partition);
    if (status == HR_OK && partition->is_default && first)
      status =
          hr__build_fail_at(check->builder, entry, "default", "'%.80s' is the default partition already", first->name);
    if (partition->is_default) first = partition;
  }
  hr__names_finish(&names);
  return status;
}

/* ---- Slurm: associations ---------------------------------------------------------------------------- */

/* Stores the name of the account or user of an association. Limits that only QOS have are set to unlimited. */
static enum hr_status add_association(struct slurm_check *check, const cJSON *entry, uint32_t index) {
  static const struct hr_slurm_tres none = {-1, -1, -1, -1};
  struct hr_slurm_assoc *assoc = &check->config->associations[index];
  struct hr_slurm_limits *limits = &assoc->limits;
  limits->min_tres_per_job = limits->max_tres_per_user = limits->max_tres_per_account = none;
  limits->max_jobs_per_account = limits->max_submit_jobs_per_account = -1;
  if (!hr__has(hr__get(entry, "limits"), "max_wall_s")) limits->max_wall_us = HR_UNKNOWN_US;
  assoc->above = HR_NONE;
  if (!assoc->user) {
    check->account_entries[check->accounts.count] = index;
    return add_name(check, &check->accounts, assoc->account, entry, "account", "account");
  }
  if (assoc->parent)
    return hr__build_fail_at(check->builder, entry, "parent", "a user has no parent; expected only its 'account'");
  char text[2 * (int)MAX_NAME + 2];
  snprintf(text, sizeof text, "%s\n%s", assoc->account, assoc->user);
  return add_name(check, &check->users, text, entry, "user", "user of this account:");
}

static enum hr_status find_above(const struct slurm_check *check, const cJSON *entry, struct hr_slurm_assoc *assoc) {
  const char *name = assoc->user ? assoc->account : assoc->parent;
  if (!name || (!assoc->user && strcmp(name, "root") == 0)) return HR_OK;
  uint32_t account = hr__names_find(&check->accounts, name, strlen(name));
  if (account == HR_NONE)
    return hr__build_fail_at(check->builder, entry, assoc->user ? "account" : "parent",
                             "no account '%.80s'; expected an entry of 'slurm.associations' without 'user'", name);
  assoc->above = check->account_entries[account];
  return HR_OK;
}

/* For account number i, follows the parents until the root or an account that is already marked. Marks each account on
   this path with i + 1. If the path ends at an account with the mark i + 1, the path contains a cycle. `seen`:
   [n_associations] marks, all 0 before. */
static enum hr_status check_slurm_cycles(const struct slurm_check *check, const cJSON *entry, uint32_t *seen) {
  const struct hr_slurm_assoc *assocs = check->config->associations;
  for (uint32_t i = 0; entry; i++, entry = entry->next) {
    uint32_t at = assocs[i].user ? HR_NONE : i;
    for (; at != HR_NONE && !seen[at]; at = assocs[at].above) seen[at] = i + 1;
    if (at != HR_NONE && seen[at] == i + 1)
      return hr__build_fail_at(check->builder, entry, "parent",
                               "account '%.80s' is its own ancestor; use a parent that is not below it",
                               assocs[i].account);
  }
  return HR_OK;
}

static enum hr_status check_associations(struct slurm_check *check, const cJSON *first) {
  struct hr_slurm_config *config = check->config;
  uint32_t *seen = calloc((size_t)config->n_associations + 1, sizeof *seen), i = 0;
  check->account_entries = calloc((size_t)config->n_associations + 1, sizeof *check->account_entries);
  enum hr_status status = seen && check->account_entries ? HR_OK : hr__build_no_memory(check->builder);
  for (const cJSON *entry = first; entry && status == HR_OK; entry = entry->next)
    status = add_association(check, entry, i++);
  i = 0;
  for (const cJSON *entry = first; entry && status == HR_OK; entry = entry->next) {
    struct hr_slurm_assoc *assoc = &config->associations[i++];
    status = find_above(check, entry, assoc);
    if (status == HR_OK)
      status = find_qos(check, assoc->default_qos, hr__get(entry, "default_qos"), &assoc->default_qos_index);
  }
  if (status == HR_OK) status = check_slurm_cycles(check, first, seen);
  free(seen);
  free(check->account_entries);
  return status;
}

/* ---- Slurm: reservations ---------------------------------------------------------------------------- */

static enum hr_status check_reservations(struct slurm_check *check, const cJSON *entry) {
  struct hr_slurm_reservation *reservation = check->config->reservations;
  struct hr__name_table names = {0};
  enum hr_status status = HR_OK;
  for (; entry && status == HR_OK; entry = entry->next, reservation++) {
    status = add_name(check, &names, reservation->name, entry, "name", "reservation");
    if (status == HR_OK) status = find_all_nodes(check, entry, reservation->nodes, reservation->n_nodes);
    if (status == HR_OK && reservation->repeat_us && reservation->repeat_us < reservation->duration_us)
      status = hr__build_fail_at(check->builder, entry, "repeat_s",
                                 "the reservation begins again before it ends; expected at least 'duration_s'");
  }
  hr__names_finish(&names);
  return status;
}

static enum hr_status check_slurm(struct hr__builder *builder, const cJSON *section, void *config) {
  struct slurm_check check = {.builder = builder, .config = config};
  if (!hr__has(section, "preempt_exempt_time_s")) check.config->preempt_exempt_us = HR_UNKNOWN_US;
  if (!hr__has(hr__get(section, "priority"), "calc_start_s")) check.config->priority.calc_start_us = HR_UNKNOWN_US;
  if (!hr__has(section, "over_time_limit_s")) check.config->over_time_limit_us = HR_UNKNOWN_US;
  enum hr_status status = check_all_qos(&check, hr__first(section, "qos"));
  if (status == HR_OK) status = check_partitions(&check, hr__first(section, "partitions"));
  if (status == HR_OK) status = check_associations(&check, hr__first(section, "associations"));
  if (status == HR_OK) status = check_reservations(&check, hr__first(section, "reservations"));
  if (status == HR_OK && check.config->preempt_mode == HR_SLURM_PREEMPT_DEFAULT)
    status = hr__build_fail_at(builder, section, "preempt_mode",
                               "'default' is for partitions and QOS; expected off, requeue, cancel or suspend");
  hr__names_finish(&check.qos);
  hr__names_finish(&check.accounts);
  hr__names_finish(&check.users);
  return status;
}

/* ---- kube-scheduler: shapes, priority classes, back-off --------------------------------------------- */

static enum hr_status check_resources(struct hr__builder *builder, const cJSON *list) {
  const cJSON *one = hr__repeated(list, "name");
  if (!one) return HR_OK;
  return hr__build_fail_at(builder, one, "name", "resource '%.100s' is listed twice", hr__text_of(one, "name", ""));
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

static enum hr_status check_kubernetes_classes(struct hr__builder *builder, const cJSON *section,
                                               const struct hr_kubernetes_config *config) {
  const cJSON *entry = hr__first(section, "priority_classes");
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
  return status == HR_OK ? check_kubernetes_classes(builder, section, config) : status;
}

/* ---- Volcano: arguments of plug-ins, tree and limits of queues -------------------------------------- */

static enum hr_status check_plugins(struct hr__builder *builder, const cJSON *section,
                                    const struct hr_volcano_config *config) {
  const struct hr__key *keys = hr__table_of(&hr__scenario_keys, "volcano.tiers.plugins");
  const cJSON *tier = hr__first(section, "tiers");
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

static uint32_t find_volcano_queue(const struct hr_volcano_config *config, const char *name) {
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

/* Checks a list of amounts: no resource is repeated, and no amount exceeds the capability of the queue. */
static enum hr_status check_volcano_amounts(struct hr__builder *builder, const cJSON *entry, const char *key,
                                            const struct hr_volcano_queue *queue, const struct hr_volcano_amount *list,
                                            uint32_t n) {
  const cJSON *item = hr__first(entry, key);
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

/* Checks that the ancestors of a queue exist and that it is not its own ancestor. */
static enum hr_status check_parents(struct hr__builder *builder, const cJSON *entry,
                                    const struct hr_volcano_config *config, uint32_t queue) {
  uint32_t at = queue;
  for (uint32_t steps = 0; config->queues[at].parent; steps++) {
    const char *parent = config->queues[at].parent;
    if (strcmp(parent, "root") == 0 && find_volcano_queue(config, parent) == HR_NONE) return HR_OK;
    at = find_volcano_queue(config, parent);
    if (at == HR_NONE) return hr__build_fail_at(builder, entry, "parent", "unknown queue '%.100s'", parent);
    if (at == queue || steps > config->n_queues)
      return hr__build_fail_at(builder, entry, "parent", "queue '%.100s' is its own ancestor",
                               config->queues[queue].name);
  }
  return HR_OK;
}

static enum hr_status check_volcano_queue(struct hr__builder *builder, const cJSON *entry,
                                          const struct hr_volcano_config *config, uint32_t at) {
  const struct hr_volcano_queue *queue = &config->queues[at];
  if (find_volcano_queue(config, queue->name) != at)
    return hr__build_fail_at(builder, entry, "name", "queue '%.100s' is listed twice", queue->name);
  enum hr_status status =
      check_volcano_amounts(builder, entry, "capability", queue, queue->capability, queue->n_capability);
  if (status == HR_OK)
    status = check_volcano_amounts(builder, entry, "deserved", queue, queue->deserved, queue->n_deserved);
  if (status == HR_OK)
    status = check_volcano_amounts(builder, entry, "guarantee", queue, queue->guarantee, queue->n_guarantee);
  return status == HR_OK ? check_parents(builder, entry, config, at) : status;
}

static enum hr_status check_volcano(struct hr__builder *builder, const cJSON *section, void *filled) {
  const struct hr_volcano_config *config = filled;
  enum hr_status status = check_plugins(builder, section, config);
  const cJSON *entry = hr__first(section, "queues");
  for (uint32_t i = 0; i < config->n_queues && entry && status == HR_OK; i++, entry = entry->next)
    status = check_volcano_queue(builder, entry, config, i);
  if (status == HR_OK && config->n_queues && config->default_queue &&
      find_volcano_queue(config, config->default_queue) == HR_NONE)
    return hr__build_fail_at(builder, section, "default_queue", "unknown queue '%.100s'", config->default_queue);
  return status;
}

/* ---- The systems ------------------------------------------------------------------------------------ */

typedef enum hr_status check_system(struct hr__builder *builder, const cJSON *section, void *config);

static const struct system {
  const char *name;    /* of the section and of the policy */
  size_t bytes;        /* size of the struct of the section */
  size_t offset;       /* offset of its pointer in struct hr_systems */
  check_system *check; /* NULL: no rule concerns several keys */
} systems[] = {
    {"kai", sizeof(struct hr_kai_config), offsetof(struct hr_systems, kai), check_kai},
    {"kueue", sizeof(struct hr_kueue_config), offsetof(struct hr_systems, kueue), hr__check_kueue},
    {"kubernetes", sizeof(struct hr_kubernetes_config), offsetof(struct hr_systems, kubernetes), check_kubernetes},
    {"volcano", sizeof(struct hr_volcano_config), offsetof(struct hr_systems, volcano), check_volcano},
    {"slurm", sizeof(struct hr_slurm_config), offsetof(struct hr_systems, slurm), check_slurm},
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
  enum hr_status status = hr__read_at(builder, section, system->name, config);
  if (status == HR_OK && system->check) status = system->check(builder, section, config);
  const char *policy = scenario->policy.ops->name;
  if (status != HR_OK || strcmp(policy, system->name) == 0) return status;
  return hr__build_note(builder, "'%s' has no effect: the policy is '%s'", system->name, policy);
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
