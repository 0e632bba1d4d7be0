/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks the rules of the section `kueue` that concern several keys: names exist and differ, cohorts have no cycles,
 * the flavors of a group have quotas of the same resources, and the version and the feature gates are known. Also
 * converts amounts to Kueue's units, and sets defaults that depend on other keys.
 *
 * Invariant: entry i of a list in the section is entry i of the array in the config. Names are searched linearly,
 * because there are few.
 */

#include "policies/kueue/kueue.h"
#include "headroom/unstable/systems/kueue.h"
#include "scenarios/build/builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST_LABEL "kubernetes.io/hostname"
#define MAX_NAME_LENGTH 100 /* of a name in messages */

/* The section, and the config in which its values are stored. */
struct kueue_walk {
  struct hr__builder *builder;
  const cJSON *section;
  struct hr_kueue_config *config;
};

static const cJSON *list_of(const struct kueue_walk *walk, const char *name) {
  return hr__get(walk->section, name);
}

/* ---- Names ------------------------------------------------------------------------------------------ */

/* Checks that the entries of a list have different names. */
static enum hr_status check_distinct(const struct kueue_walk *walk, const cJSON *list, const char *noun) {
  const cJSON *entry = hr__repeated(list, "name");
  if (!entry) return HR_OK;
  return hr__build_fail_at(walk->builder, entry, "name", "duplicate %s '%.*s'; keep one", noun, MAX_NAME_LENGTH,
                           hr__text_of(entry, "name", ""));
}

/* Returns the entry of a list that has a name; NULL if none has it. */
static const cJSON *find(const cJSON *list, const char *name) {
  for (const cJSON *entry = list ? list->child : NULL; entry; entry = entry->next)
    if (strcmp(hr__text_of(entry, "name", ""), name) == 0) return entry;
  return NULL;
}

/* Reports that no entry of `list` has the name in `value`. `key` is the key of the list in the section. */
static enum hr_status fail_unknown(const struct kueue_walk *walk, const cJSON *value, const cJSON *list,
                                   const char *noun, const char *key) {
  const char **known = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *known);
  if (!known) return hr__build_no_memory(walk->builder);
  size_t count = 0;
  for (const cJSON *entry = list ? list->child : NULL; entry; entry = entry->next)
    known[count++] = hr__text_of(entry, "name", "");
  const char *nearest = hr_nearest_word(value->valuestring, known);
  enum hr_status status = nearest ? hr__build_fail(walk->builder, value, "unknown %s '%.*s'; did you mean '%.*s'?",
                                                   noun, MAX_NAME_LENGTH, value->valuestring, MAX_NAME_LENGTH, nearest)
                                  : hr__build_fail(walk->builder, value, "unknown %s '%.*s'; '%s' lists them", noun,
                                                   MAX_NAME_LENGTH, value->valuestring, key);
  free(known);
  return status;
}

static enum hr_status check_known(const struct kueue_walk *walk, const cJSON *value, const char *noun,
                                  const char *key) {
  const cJSON *list = list_of(walk, key);
  char path[60];
  if (!value || find(list, value->valuestring)) return HR_OK;
  snprintf(path, sizeof path, "kueue.%s", key);
  return fail_unknown(walk, value, list, noun, path);
}

/* ---- Amounts ---------------------------------------------------------------------------------------- */

/* Reads a quantity, which is a text such as "500m" or a number. Sets `*amount` to it, in thousandths if `thousandths`
   is set. Does not change `*amount` if `value` is NULL. A number is first converted to text, so that the same rules
   apply to both forms. */
static enum hr_status read_quantity(const struct kueue_walk *walk, const cJSON *value, bool thousandths,
                                    int64_t *amount) {
  char text[64];
  if (!value) return HR_OK;
  if (cJSON_IsString(value))
    snprintf(text, sizeof text, "%s", value->valuestring);
  else
    snprintf(text, sizeof text, "%.15g", value->valuedouble);
  if (cJSON_IsBool(value) || !hr__kueue_quantity(text, thousandths, amount))
    return hr__build_fail(walk->builder, value, "expected a quantity, such as 8, \"500m\" or \"40Gi\"");
  if (*amount < 0) return hr__build_fail(walk->builder, value, "a quota must not be negative, found %s", text);
  return HR_OK;
}

static enum hr_status check_quota(const struct kueue_walk *walk, const cJSON *json, struct hr_kueue_quota *quota,
                                  bool in_tree) {
  bool is_cpu = strcmp(quota->name, "cpu") == 0;
  quota->borrowing_limit = quota->lending_limit = HR_KUEUE_NO_LIMIT;
  enum hr_status status = read_quantity(walk, hr__get(json, "nominal_quota"), is_cpu, &quota->nominal);
  if (status == HR_OK) status = read_quantity(walk, hr__get(json, "borrowing_limit"), is_cpu, &quota->borrowing_limit);
  if (status == HR_OK) status = read_quantity(walk, hr__get(json, "lending_limit"), is_cpu, &quota->lending_limit);
  if (status != HR_OK) return status;
  const char *limit = hr__has(json, "borrowing_limit") ? "borrowing_limit" : "lending_limit";
  if (!in_tree && hr__has(json, limit))
    return hr__build_fail_at(walk->builder, json, limit, "'%s' needs a cohort: nobody else can borrow or lend", limit);
  if (hr__has(json, "lending_limit") && quota->lending_limit > quota->nominal)
    return hr__build_fail_at(walk->builder, json, "lending_limit",
                             "the lending limit is larger than the nominal quota");
  return HR_OK;
}

/* ---- Resource groups -------------------------------------------------------------------------------- */

static bool has_text(char *const *texts, uint32_t count, const char *text) {
  for (uint32_t i = 0; i < count; i++)
    if (strcmp(texts[i], text) == 0) return true;
  return false;
}

static bool has_resource(const struct hr_kueue_flavor_quotas *flavor, const char *name) {
  for (uint32_t i = 0; i < flavor->n_resources; i++)
    if (strcmp(flavor->resources[i].name, name) == 0) return true;
  return false;
}

/* Checks that a flavor has quotas of exactly the resources of its group: `covered_resources`, or those of the first
   flavor if this list is missing. */
static enum hr_status check_covered(const struct kueue_walk *walk, const cJSON *json,
                                    const struct hr_kueue_resource_group *group,
                                    const struct hr_kueue_flavor_quotas *flavor) {
  const struct hr_kueue_flavor_quotas *first = &group->flavors[0];
  uint32_t n = group->n_covered_resources ? group->n_covered_resources : first->n_resources;
  for (uint32_t i = 0; i < n; i++) {
    const char *name = group->n_covered_resources ? group->covered_resources[i] : first->resources[i].name;
    if (!has_resource(flavor, name))
      return hr__build_fail_at(walk->builder, json, "resources",
                               "the flavor has no quota of '%.*s', which the group covers", MAX_NAME_LENGTH, name);
  }
  const cJSON *entry = hr__first(json, "resources");
  for (uint32_t i = 0; i < flavor->n_resources; i++, entry = entry->next) {
    const char *name = flavor->resources[i].name;
    bool covered = group->n_covered_resources ? has_text(group->covered_resources, group->n_covered_resources, name)
                                              : has_resource(first, name);
    if (!covered)
      return hr__build_fail_at(walk->builder, entry, "name", "the group does not cover '%.*s'", MAX_NAME_LENGTH, name);
  }
  return HR_OK;
}

static enum hr_status check_flavor_quotas(const struct kueue_walk *walk, const cJSON *json,
                                          const struct hr_kueue_resource_group *group,
                                          struct hr_kueue_flavor_quotas *flavor, bool in_tree) {
  enum hr_status status = check_known(walk, hr__get(json, "name"), "flavor", "flavors");
  if (status == HR_OK) status = check_distinct(walk, hr__get(json, "resources"), "resource");
  const cJSON *entry = hr__first(json, "resources");
  for (uint32_t i = 0; i < flavor->n_resources && status == HR_OK; i++, entry = entry->next)
    status = check_quota(walk, entry, &flavor->resources[i], in_tree);
  return status == HR_OK ? check_covered(walk, json, group, flavor) : status;
}

/* Checks that no flavor and no resource of the group `at` is in an earlier group. */
static enum hr_status check_repeated(const struct kueue_walk *walk, const cJSON *json,
                                     const struct hr_kueue_resource_group *groups, uint32_t at) {
  const struct hr_kueue_resource_group *group = &groups[at];
  for (uint32_t k = 0; k < at; k++) {
    const cJSON *entry = hr__first(json, "flavors");
    for (uint32_t i = 0; i < group->n_flavors; i++, entry = entry->next)
      for (uint32_t m = 0; m < groups[k].n_flavors; m++)
        if (strcmp(group->flavors[i].name, groups[k].flavors[m].name) == 0)
          return hr__build_fail_at(walk->builder, entry, "name", "flavor '%.*s' is in two groups; keep one",
                                   MAX_NAME_LENGTH, group->flavors[i].name);
    for (uint32_t i = 0; group->n_flavors && groups[k].n_flavors && i < group->flavors[0].n_resources; i++)
      if (has_resource(&groups[k].flavors[0], group->flavors[0].resources[i].name))
        return hr__build_fail(walk->builder, json, "resource '%.*s' is in two groups; keep one", MAX_NAME_LENGTH,
                              group->flavors[0].resources[i].name);
  }
  return HR_OK;
}

static enum hr_status check_groups(const struct kueue_walk *walk, const cJSON *owner,
                                   struct hr_kueue_resource_group *groups, uint32_t n_groups, bool in_tree) {
  const cJSON *json = hr__first(owner, "resource_groups");
  for (uint32_t i = 0; i < n_groups; i++, json = json->next) {
    enum hr_status status = check_distinct(walk, hr__get(json, "flavors"), "flavor");
    const cJSON *entry = hr__first(json, "flavors");
    for (uint32_t k = 0; k < groups[i].n_flavors && status == HR_OK; k++, entry = entry->next)
      status = check_flavor_quotas(walk, entry, &groups[i], &groups[i].flavors[k], in_tree);
    if (status == HR_OK) status = check_repeated(walk, json, groups, i);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

/* ---- Flavors and topologies ------------------------------------------------------------------------- */

static enum hr_status check_pools(const struct kueue_walk *walk, const cJSON *flavor) {
  const struct hr_cluster_spec *cluster = &walk->builder->scenario->cluster;
  for (const cJSON *pool = hr__first(flavor, "pools"); pool; pool = pool->next) {
    const char *nearest;
    if (hr__pool_named(cluster, pool->valuestring, strlen(pool->valuestring)) != HR_NONE) continue;
    if (!hr__nearest_pool(cluster, pool->valuestring, &nearest)) return hr__build_no_memory(walk->builder);
    return hr__build_fail(walk->builder, pool, "unknown pool '%.*s'%s%.*s%s", MAX_NAME_LENGTH, pool->valuestring,
                          nearest ? "; did you mean '" : "; 'cluster.pools' lists them", MAX_NAME_LENGTH,
                          nearest ? nearest : "", nearest ? "'?" : "");
  }
  return HR_OK;
}

static enum hr_status check_flavors(const struct kueue_walk *walk) {
  enum hr_status status = check_distinct(walk, list_of(walk, "flavors"), "flavor");
  for (const cJSON *json = hr__first(walk->section, "flavors"); json && status == HR_OK; json = json->next) {
    status = check_pools(walk, json);
    if (status == HR_OK) status = check_known(walk, hr__get(json, "topology"), "topology", "topologies");
  }
  return status;
}

/* Sets the tiers of the levels of a topology: node, rack, zone or pool. The last level is the narrowest. If it has no
   'tier', its tier is node if its label is that of hosts, and rack if not. Any other level without 'tier' gets the tier
   above that of the next level in the list. Each level must be wider than the next level in the list. */
static enum hr_status check_levels(const struct kueue_walk *walk, const cJSON *json,
                                   struct hr_kueue_topology *topology) {
  static const char *const words[] = {"node", "rack", "zone", "pool", NULL};
  const cJSON *levels = hr__get(json, "levels");
  uint32_t below = HR_TIER_NODE;
  for (uint32_t i = topology->n_levels; i-- > 0;) {
    const cJSON *level = cJSON_GetArrayItem(levels, (int)i);
    bool is_host = strcmp(topology->levels[i].node_label, HOST_LABEL) == 0, is_last = i + 1 == topology->n_levels;
    size_t word = hr__choice_of(level, "tier", words, HR_NONE);
    uint32_t tier = is_host && is_last ? HR_TIER_NODE : below + 1;
    if (word != HR_NONE) tier = HR_TIER_NODE + (uint32_t)word;
    if (tier > HR_TIER_POOL || (!is_last && tier <= below))
      return hr__build_fail(walk->builder, level,
                            "a level must be wider than the next one: state 'tier' as node, rack, zone or pool");
    topology->levels[i].tier = (uint8_t)tier;
    below = tier;
  }
  return HR_OK;
}

static enum hr_status check_topologies(const struct kueue_walk *walk) {
  enum hr_status status = check_distinct(walk, list_of(walk, "topologies"), "topology");
  const cJSON *json = hr__first(walk->section, "topologies");
  for (uint32_t i = 0; i < walk->config->n_topologies && status == HR_OK; i++, json = json->next)
    status = check_levels(walk, json, &walk->config->topologies[i]);
  return status;
}

/* ---- Queues ----------------------------------------------------------------------------------------- */

static enum hr_status check_checks(const struct kueue_walk *walk, const cJSON *queue) {
  enum hr_status status = check_distinct(walk, hr__get(queue, "admission_checks"), "admission check");
  for (const cJSON *json = hr__first(queue, "admission_checks"); json && status == HR_OK; json = json->next) {
    status = check_known(walk, hr__get(json, "name"), "admission check", "admission_checks");
    for (const cJSON *flavor = hr__first(json, "on_flavors"); flavor && status == HR_OK; flavor = flavor->next)
      status = check_known(walk, flavor, "flavor", "flavors");
  }
  return status;
}

static enum hr_status check_preemption(const struct kueue_walk *walk, const cJSON *json,
                                       struct hr_kueue_preemption_config *preemption) {
  const cJSON *rules = hr__get(json, "preemption"), *borrow = hr__get(rules, "borrow_within_cohort");
  const cJSON *threshold = hr__get(borrow, "max_priority_threshold");
  preemption->borrow_within_cohort.max_priority_threshold =
      threshold ? (int64_t)threshold->valuedouble : HR_KUEUE_NO_LIMIT;
  if (preemption->reclaim_within_cohort == HR_KUEUE_NEVER && preemption->borrow_within_cohort.policy != HR_KUEUE_NEVER)
    return hr__build_fail_at(walk->builder, borrow, "policy",
                             "'borrow_within_cohort' needs 'reclaim_within_cohort' other than Never");
  if (threshold && preemption->borrow_within_cohort.policy == HR_KUEUE_NEVER)
    return hr__build_fail(walk->builder, threshold, "'max_priority_threshold' needs the policy LowerPriority");
  return HR_OK;
}

static enum hr_status check_cluster_queues(const struct kueue_walk *walk) {
  enum hr_status status = check_distinct(walk, list_of(walk, "cluster_queues"), "ClusterQueue");
  const cJSON *json = hr__first(walk->section, "cluster_queues");
  for (uint32_t i = 0; i < walk->config->n_cluster_queues && status == HR_OK; i++, json = json->next) {
    struct hr_kueue_cluster_queue *queue = &walk->config->cluster_queues[i];
    status = check_groups(walk, json, queue->resource_groups, queue->n_resource_groups, queue->cohort != NULL);
    if (status == HR_OK) status = check_preemption(walk, json, &queue->preemption);
    if (status == HR_OK) status = check_checks(walk, json);
  }
  return status;
}

/* Checks that a cohort is not its own ancestor. A parent need not be in the list of cohorts. */
static enum hr_status check_acyclic(const struct kueue_walk *walk, const cJSON *cohort) {
  const cJSON *list = list_of(walk, "cohorts");
  const cJSON *at = cohort;
  for (int steps = cJSON_GetArraySize(list); at && steps >= 0; steps--) {
    const char *parent = hr__text_of(at, "parent", NULL);
    if (parent && strcmp(parent, hr__text_of(cohort, "name", "")) == 0)
      return hr__build_fail_at(walk->builder, cohort, "parent", "the parents of cohort '%.*s' form a cycle",
                               MAX_NAME_LENGTH, parent);
    at = parent ? find(list, parent) : NULL;
  }
  return HR_OK;
}

static enum hr_status check_cohorts(const struct kueue_walk *walk) {
  enum hr_status status = check_distinct(walk, list_of(walk, "cohorts"), "cohort");
  const cJSON *json = hr__first(walk->section, "cohorts");
  for (uint32_t i = 0; i < walk->config->n_cohorts && status == HR_OK; i++, json = json->next) {
    struct hr_kueue_cohort *cohort = &walk->config->cohorts[i];
    status = check_groups(walk, json, cohort->resource_groups, cohort->n_resource_groups, true);
    if (status == HR_OK) status = check_acyclic(walk, json);
  }
  return status;
}

/* Returns whether some topology has a level with the label. */
static bool has_level(const struct kueue_walk *walk, const char *label) {
  for (uint32_t i = 0; i < walk->config->n_topologies; i++)
    for (uint32_t k = 0; k < walk->config->topologies[i].n_levels; k++)
      if (strcmp(walk->config->topologies[i].levels[k].node_label, label) == 0) return true;
  return false;
}

/* Checks the topology requests of the pods of a LocalQueue. */
static enum hr_status check_topology_request(const struct kueue_walk *walk, const cJSON *json) {
  static const char *const keys[] = {"required_topology", "preferred_topology", "slice_required_topology"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    const cJSON *value = hr__get(json, keys[i]);
    if (value && !has_level(walk, value->valuestring))
      return hr__build_fail(walk->builder, value, "no topology has the level '%.*s'; 'kueue.topologies' lists them",
                            MAX_NAME_LENGTH, value->valuestring);
  }
  int n = (hr__get(json, "required_topology") != NULL) + (hr__get(json, "preferred_topology") != NULL) +
          cJSON_IsTrue(hr__get(json, "unconstrained_topology"));
  if (n > 1)
    return hr__build_fail(walk->builder, json,
                          "state one of 'required_topology', 'preferred_topology' and 'unconstrained_topology'");
  if (hr__get(json, "slice_size") && !hr__get(json, "slice_required_topology"))
    return hr__build_fail_at(walk->builder, json, "slice_size", "'slice_required_topology' is missing");
  return HR_OK;
}

static enum hr_status check_local_queues(const struct kueue_walk *walk) {
  const struct hr_kueue_local_queue_config *queues = walk->config->local_queues;
  const cJSON *json = hr__first(walk->section, "local_queues");
  for (uint32_t i = 0; i < walk->config->n_local_queues; i++, json = json->next) {
    enum hr_status status = check_known(walk, hr__get(json, "cluster_queue"), "ClusterQueue", "cluster_queues");
    if (status == HR_OK) status = check_topology_request(walk, json);
    if (status != HR_OK) return status;
    for (uint32_t k = 0; k < i; k++)
      if (strcmp(queues[i].name, queues[k].name) == 0 && strcmp(queues[i].name_space, queues[k].name_space) == 0)
        return hr__build_fail_at(walk->builder, json, "name", "duplicate LocalQueue '%.*s/%.*s'; keep one",
                                 MAX_NAME_LENGTH, queues[i].name_space, MAX_NAME_LENGTH, queues[i].name);
  }
  return HR_OK;
}

/* Checks that the default queue is the name of a ClusterQueue, or of a LocalQueue with or without its namespace. */
static enum hr_status check_default(const struct kueue_walk *walk) {
  const cJSON *value = hr__get(walk->section, "default_queue");
  if (!value || find(list_of(walk, "cluster_queues"), value->valuestring)) return HR_OK;
  for (uint32_t i = 0; i < walk->config->n_local_queues; i++) {
    const struct hr_kueue_local_queue_config *queue = &walk->config->local_queues[i];
    size_t length = strlen(queue->name_space);
    if (strcmp(queue->name, value->valuestring) == 0) return HR_OK;
    if (strncmp(queue->name_space, value->valuestring, length) == 0 && value->valuestring[length] == '/' &&
        strcmp(queue->name, value->valuestring + length + 1) == 0)
      return HR_OK;
  }
  return fail_unknown(walk, value, list_of(walk, walk->config->n_local_queues ? "local_queues" : "cluster_queues"),
                      "queue", walk->config->n_local_queues ? "kueue.local_queues" : "kueue.cluster_queues");
}

/* ---- Settings --------------------------------------------------------------------------------------- */

/* Returns the minor version in a text such as "0.16", "v0.16" or "0.16.2"; -1 for other texts. */
static int minor_of(const char *version) {
  if (*version == 'v') version++;
  if (version[0] != '0' || version[1] != '.' || version[2] < '0' || version[2] > '9') return -1;
  char *end;
  long minor = strtol(version + 2, &end, 10);
  if (*end == '.' && end[1] >= '0' && end[1] <= '9') (void)strtol(end + 1, &end, 10);
  return *end || minor > 1000 ? -1 : (int)minor;
}

static enum hr_status check_version(const struct kueue_walk *walk) {
  struct hr_kueue_config *config = walk->config;
  int minor = config->version ? minor_of(config->version) : HR__KUEUE_NEWEST_VERSION;
  if (minor < HR__KUEUE_OLDEST_VERSION || minor > HR__KUEUE_NEWEST_VERSION)
    return hr__build_fail_at(walk->builder, walk->section, "version",
                             "unknown version '%.*s'; the model knows 0.%d to 0.%d", MAX_NAME_LENGTH, config->version,
                             HR__KUEUE_OLDEST_VERSION, HR__KUEUE_NEWEST_VERSION);
  hr__kueue_gates gates = hr__kueue_gates_of_version(minor);
  for (const cJSON *gate = hr__first(walk->section, "feature_gates"); gate; gate = gate->next)
    if (!hr__kueue_gates_set(&gates, gate->string, cJSON_IsTrue(gate)))
      return hr__build_fail_key(walk->builder, gate,
                                "unknown feature gate '%.*s'; the model has those that change decisions",
                                MAX_NAME_LENGTH, gate->string);
  config->gates = gates;
  return HR_OK;
}

/* Enables each setting that has an object in the section without 'enable', and sets limits that are missing to
   HR_KUEUE_NO_LIMIT. */
static enum hr_status check_settings(const struct kueue_walk *walk) {
  struct hr_kueue_config *config = walk->config;
  const cJSON *shares = hr__get(walk->section, "fair_sharing"),
              *usage = hr__get(walk->section, "admission_fair_sharing"),
              *ready = hr__get(walk->section, "wait_for_pods_ready"), *requeuing = hr__get(ready, "requeuing_strategy"),
              *limit = hr__get(requeuing, "backoff_limit_count");
  if (shares && !hr__has(shares, "enable")) config->fair_sharing.enable = true;
  if (usage && !hr__has(usage, "enable")) config->admission_fair_sharing.enable = true;
  struct hr_kueue_wait_for_pods_ready *pods = &config->wait_for_pods_ready;
  if (ready && !hr__has(ready, "enable")) pods->enable = true;
  pods->recovery_timeout_us = hr__span_of(ready, "recovery_timeout_s", HR_KUEUE_NO_LIMIT);
  pods->requeuing_strategy.backoff_limit_count = limit ? (int64_t)limit->valuedouble : HR_KUEUE_NO_LIMIT;
  const enum hr_kueue_share_strategy *strategies = config->fair_sharing.preemption_strategies;
  if (config->fair_sharing.n_preemption_strategies == 2 && strategies[0] == strategies[1])
    return hr__build_fail_at(walk->builder, shares, "preemption_strategies", "both strategies are the same; keep one");
  return check_distinct(walk, hr__get(usage, "resource_weights"), "resource");
}

static enum hr_status check_classes(const struct kueue_walk *walk) {
  enum hr_status status = check_distinct(walk, list_of(walk, "priority_classes"), "priority class");
  const cJSON *json = hr__first(walk->section, "priority_classes");
  for (uint32_t i = 0; i < walk->config->n_priority_classes; i++, json = json->next)
    walk->config->priority_classes[i].value = (int64_t)hr__number_of(json, "value", 0);
  return status;
}

enum hr_status hr__check_kueue(struct hr__builder *builder, const cJSON *section, void *config) {
  static enum hr_status (*const checks[])(const struct kueue_walk *walk) = {
      check_version,      check_topologies, check_flavors,  check_cohorts, check_cluster_queues,
      check_local_queues, check_default,    check_settings, check_classes};
  const struct kueue_walk walk = {builder, section, config};
  enum hr_status status = check_distinct(&walk, hr__get(section, "admission_checks"), "admission check");
  for (size_t i = 0; i < sizeof checks / sizeof *checks && status == HR_OK; i++) status = checks[i](&walk);
  return status;
}
