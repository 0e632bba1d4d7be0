/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks of the section `slurm` that its key table cannot express: names are different; objects that are named exist;
 * nodes are those of pools; accounts form a tree. Times that are not set become HR_UNKNOWN_US.
 *
 * Entry i of a list of the configuration is entry i of the list in the file. Names are interned, so that entry i of a
 * list with different names is number i.
 */

#include "headroom/unstable/systems/slurm.h"

#include "base/containers.h"
#include "scenarios/build/builder.h"

#include <errno.h>

/* The state of the checks. */
struct slurm_check {
  struct hr__builder *builder;
  struct hr_slurm_config *config;
  struct hr__name_table qos, accounts, users; /* a user is "ACCOUNT\nUSER" */
  uint32_t *account_entries;                  /* [accounts.count] */
};

/* ---- Names ------------------------------------------------------------------------------------------ */

/* Adds the name of entry number `index` of a list. The name must be new. */
static enum hr_status add_name(const struct slurm_check *check, struct hr__name_table *names, const char *name,
                               const cJSON *entry, const char *key, const char *what) {
  uint32_t expected = names->count, number = hr__names_intern(names, name, strlen(name));
  if (number == HR_NONE) return hr__build_no_memory(check->builder);
  if (number == expected) return HR_OK;
  return hr__build_fail_at(check->builder, entry, key, "duplicate %s '%.80s'; give each its own name", what,
                           hr__text_of(entry, key, ""));
}

/* Finds a QOS by its name. NULL: none, which is HR_NONE. */
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

/* ---- Nodes ------------------------------------------------------------------------------------------ */

static uint32_t find_pool(const struct slurm_check *check, const char *name, size_t length) {
  const struct hr_cluster_spec *cluster = &check->builder->scenario->cluster;
  for (uint32_t p = 0; p < cluster->n_pools; p++)
    if (strlen(cluster->pools[p].name) == length && memcmp(cluster->pools[p].name, name, length) == 0) return p;
  return HR_NONE;
}

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
  range->pool = find_pool(check, range->text, strlen(range->text));
  if (range->pool != HR_NONE) {
    range->count = cluster->pools[range->pool].nodes;
    return HR_OK;
  }
  const char *colon = strrchr(range->text, ':');
  if (colon && read_range(colon + 1, &range->first, &last))
    range->pool = find_pool(check, range->text, (size_t)(colon - range->text));
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
  const cJSON *list = hr__get(entry, "nodes"), *item = list ? list->child : NULL;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < n_ranges && item && status == HR_OK; i++, item = item->next)
    status = find_nodes(check, item, &ranges[i]);
  return status;
}

/* ---- QOS -------------------------------------------------------------------------------------------- */

static enum hr_status check_all_qos(struct slurm_check *check, const cJSON *list) {
  struct hr_slurm_qos *qos = check->config->qos;
  enum hr_status status = HR_OK;
  for (const cJSON *entry = list ? list->child : NULL; entry && status == HR_OK; entry = entry->next, qos++) {
    status = add_name(check, &check->qos, qos->name, entry, "name", "QOS");
    if (!hr__has(entry, "preempt_exempt_time_s")) qos->exempt_us = HR_UNKNOWN_US;
    if (!hr__has(hr__get(entry, "limits"), "max_wall_s")) qos->limits.max_wall_us = HR_UNKNOWN_US;
  }
  for (const cJSON *entry = list ? list->child : NULL; entry && status == HR_OK; entry = entry->next)
    status = check_qos_list(check, hr__get(entry, "preempt"));
  return status;
}

/* ---- Partitions ------------------------------------------------------------------------------------- */

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

static enum hr_status check_partitions(struct slurm_check *check, const cJSON *list) {
  struct hr_slurm_partition *partition = check->config->partitions;
  struct hr__name_table names = {0};
  const struct hr_slurm_partition *first = NULL;
  enum hr_status status = HR_OK;
  for (const cJSON *entry = list ? list->child : NULL; entry && status == HR_OK; entry = entry->next, partition++) {
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

/* ---- Associations ----------------------------------------------------------------------------------- */

/* Stores the names of accounts and users. An association has no limits that only QOS have. */
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

/* Marks the accounts on the way to the root. An account that is met twice on one way is its own ancestor. */
static enum hr_status check_cycles(const struct slurm_check *check, const cJSON *list, uint32_t *seen) {
  const struct hr_slurm_assoc *assocs = check->config->associations;
  const cJSON *entry = list ? list->child : NULL;
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

static enum hr_status check_associations(struct slurm_check *check, const cJSON *list) {
  struct hr_slurm_config *config = check->config;
  uint32_t *seen = calloc((size_t)config->n_associations + 1, sizeof *seen), i = 0;
  check->account_entries = calloc((size_t)config->n_associations + 1, sizeof *check->account_entries);
  enum hr_status status = seen && check->account_entries ? HR_OK : hr__build_no_memory(check->builder);
  const cJSON *first = list ? list->child : NULL;
  for (const cJSON *entry = first; entry && status == HR_OK; entry = entry->next)
    status = add_association(check, entry, i++);
  i = 0;
  for (const cJSON *entry = first; entry && status == HR_OK; entry = entry->next) {
    struct hr_slurm_assoc *assoc = &config->associations[i++];
    status = find_above(check, entry, assoc);
    if (status == HR_OK)
      status = find_qos(check, assoc->default_qos, hr__get(entry, "default_qos"), &assoc->default_qos_index);
  }
  if (status == HR_OK) status = check_cycles(check, list, seen);
  free(seen);
  free(check->account_entries);
  return status;
}

/* ---- Reservations ----------------------------------------------------------------------------------- */

static enum hr_status check_reservations(struct slurm_check *check, const cJSON *list) {
  struct hr_slurm_reservation *reservation = check->config->reservations;
  struct hr__name_table names = {0};
  enum hr_status status = HR_OK;
  for (const cJSON *entry = list ? list->child : NULL; entry && status == HR_OK; entry = entry->next, reservation++) {
    status = add_name(check, &names, reservation->name, entry, "name", "reservation");
    if (status == HR_OK) status = find_all_nodes(check, entry, reservation->nodes, reservation->n_nodes);
    if (status == HR_OK && reservation->repeat_us && reservation->repeat_us < reservation->duration_us)
      status = hr__build_fail_at(check->builder, entry, "repeat_s",
                                 "the reservation begins again before it ends; expected at least 'duration_s'");
  }
  hr__names_finish(&names);
  return status;
}

enum hr_status hr__check_slurm(struct hr__builder *builder, const cJSON *section, void *config) {
  struct slurm_check check = {.builder = builder, .config = config};
  if (!hr__has(section, "preempt_exempt_time_s")) check.config->preempt_exempt_us = HR_UNKNOWN_US;
  if (!hr__has(hr__get(section, "priority"), "calc_start_s")) check.config->priority.calc_start_us = HR_UNKNOWN_US;
  if (!hr__has(section, "over_time_limit_s")) check.config->over_time_limit_us = HR_UNKNOWN_US;
  enum hr_status status = check_all_qos(&check, hr__get(section, "qos"));
  if (status == HR_OK) status = check_partitions(&check, hr__get(section, "partitions"));
  if (status == HR_OK) status = check_associations(&check, hr__get(section, "associations"));
  if (status == HR_OK) status = check_reservations(&check, hr__get(section, "reservations"));
  if (status == HR_OK && check.config->preempt_mode == HR_SLURM_PREEMPT_DEFAULT)
    status = hr__build_fail_at(builder, section, "preempt_mode",
                               "'default' is for partitions and QOS; expected off, requeue, cancel or suspend");
  hr__names_finish(&check.qos);
  hr__names_finish(&check.accounts);
  hr__names_finish(&check.users);
  return status;
}
