/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `clusters` and `router` of a scenario.
 *
 * Each cluster is built as a scenario of its own, from a tree that refers to parts of the file: the entry is its
 * `cluster`, and the sections that the entry lacks are those of the file. The pools of all clusters together are then
 * the pools of the whole scenario. They borrow everything but their names, "CLUSTER/POOL", from the clusters.
 */

#include "headroom/unstable/scenario_clusters.h"
#include "headroom/unstable/systems/systems.h"
#include "scenarios/build/builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sections of the file that apply to clusters, and sections that an entry may have instead. */
static const char *const common[] = {"catalog", "classes", "models", "network_speeds", "scaling"};
static const char *const own[] = {"policy", "quotas", "kai", "kueue", "kubernetes", "volcano", "slurm"};

static bool refer(cJSON *tree, const char *name, const cJSON *value) {
  return !value || cJSON_AddItemReferenceToObject(tree, name, (cJSON *)(uintptr_t)value);
}

/* Returns the tree of a cluster; NULL: out of memory. */
static cJSON *tree_of(const cJSON *file, const cJSON *entry) {
  cJSON *tree = cJSON_CreateObject();
  bool made = tree && refer(tree, "cluster", entry);
  for (size_t i = 0; made && i < sizeof common / sizeof *common; i++)
    made = refer(tree, common[i], hr__get(file, common[i]));
  for (size_t i = 0; made && i < sizeof own / sizeof *own; i++)
    made = refer(tree, own[i], hr__has(entry, own[i]) ? hr__get(entry, own[i]) : hr__get(file, own[i]));
  if (made) return tree;
  cJSON_Delete(tree);
  return NULL;
}

/* Sets the region and the provider of pools without them to those of their cluster. */
static bool inherit(const cJSON *entry) {
  const cJSON *region = hr__get(entry, "region"), *provider = hr__get(entry, "provider"),
              *pools = hr__get(entry, "pools");
  bool made = true;
  for (cJSON *pool = pools ? pools->child : NULL; pool && made; pool = pool->next) {
    if (!hr__has(pool, "region")) made = refer(pool, "region", region);
    if (made && hr__has(pool, "instance") && !hr__has(pool, "provider")) made = refer(pool, "provider", provider);
  }
  return made;
}

/* Adds the notes of a cluster to those of the scenario, and the files that it names. */
static enum hr_status move_notes(struct hr__builder *builder, const char *name, const struct hr_scenario *part) {
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < part->notes.count && status == HR_OK; i++)
    status = hr_notes_add(&builder->scenario->notes, "cluster '%s': %s", name, part->notes.text[i]);
  for (size_t i = 0; i < part->files.count && status == HR_OK; i++)
    status = hr_notes_add(&builder->scenario->files, "%s", part->files.text[i]);
  return status == HR_OK ? HR_OK : hr__build_no_memory(builder);
}

static enum hr_status build_entry(struct hr__builder *builder, const cJSON *entry,
                                  struct hr_scenario_cluster *cluster) {
  cJSON *tree = inherit(entry) ? tree_of(builder->source.file.tree, entry) : NULL;
  cluster->scenario = calloc(1, sizeof *cluster->scenario);
  if (!tree || !cluster->scenario) {
    cJSON_Delete(tree);
    return hr__build_no_memory(builder);
  }
  struct hr__builder part = {.source = builder->source,
                             .scenario = cluster->scenario,
                             .error = builder->error,
                             .shared_catalog = hr__has(builder->source.file.tree, "catalog") ? builder->shared_catalog
                                                                                             : builder->catalog};
  part.source.places = builder->source.file.tree;
  part.source.file.tree = tree;
  enum hr_status status = hr__build_part(&part);
  if (status == HR_OK && cluster->own_policy)
    status = hr_notes_add(&builder->scenario->notes, "cluster '%s' has its own policy, '%s'", cluster->name,
                          cluster->scenario->policy.ops->name);
  if (status == HR_OK) status = move_notes(builder, cluster->name, cluster->scenario);
  builder->scenario->prices_drawn = builder->scenario->prices_drawn || cluster->scenario->prices_drawn;
  hr_catalog_destroy(part.own_catalog);
  cJSON_Delete(tree);
  return status;
}

static enum hr_status check_names(struct hr__builder *builder, const cJSON *list) {
  for (const cJSON *entry = list->child; entry; entry = entry->next)
    for (const cJSON *other = list->child; other != entry; other = other->next) {
      if (strcmp(hr__text_of(entry, "name", ""), hr__text_of(other, "name", "")) == 0)
        return hr__build_fail_at(builder, entry, "name", "two clusters have the name '%.60s'",
                                 hr__text_of(entry, "name", ""));
      const cJSON *tenant, *taken;
      cJSON_ArrayForEach(tenant, hr__get(entry, "tenants")) cJSON_ArrayForEach(
          taken,
          hr__get(other,
                  "tenants")) if (strcmp(tenant->valuestring, taken->valuestring) ==
                                  0) return hr__build_fail(builder, tenant,
                                                           "tenant '%.60s' already has its home in cluster '%.60s'",
                                                           tenant->valuestring, hr__text_of(other, "name", ""));
    }
  return HR_OK;
}

/* Copies the pools of the clusters, with names "CLUSTER/POOL". */
static enum hr_status join_pools(struct hr__builder *builder, struct hr_scenario_clusters *clusters) {
  struct hr_cluster_spec *whole = &builder->scenario->cluster;
  size_t count = 0;
  for (uint32_t i = 0; i < clusters->count; i++) count += clusters->at[i].scenario->cluster.n_pools;
  whole->pools = calloc(count + 1, sizeof *whole->pools);
  builder->scenario->pool_sources = calloc(count + 1, sizeof *builder->scenario->pool_sources);
  if (!whole->pools || !builder->scenario->pool_sources) return hr__build_no_memory(builder);
  for (uint32_t i = 0; i < clusters->count; i++) {
    const struct hr_cluster_spec *part = &clusters->at[i].scenario->cluster;
    whole->by_gpu = whole->by_gpu || hr_cluster_spec_by_gpu(part);
    whole->mig_fallback = whole->mig_fallback || part->mig_fallback;
    for (uint32_t k = 0; k < part->n_pools; k++) {
      struct hr_pool_spec *pool = &whole->pools[whole->n_pools];
      const size_t bytes = strlen(clusters->at[i].name) + strlen(part->pools[k].name) + sizeof "/";
      char *name = malloc(bytes);
      if (!name) return hr__build_no_memory(builder);
      snprintf(name, bytes, "%s/%s", clusters->at[i].name, part->pools[k].name);
      *pool = part->pools[k];
      pool->name = name;
      if (clusters->at[i].scenario->pool_sources)
        builder->scenario->pool_sources[whole->n_pools] = clusters->at[i].scenario->pool_sources[k];
      whole->n_pools++;
    }
  }
  if (whole->n_pools > HR_MAX_POOLS)
    return hr__build_fail(builder, hr__get(builder->source.file.tree, "clusters"),
                          "the clusters have %u pools; at most %u", whole->n_pools, HR_MAX_POOLS);
  return HR_OK;
}

static enum hr_status make_parts(struct hr__builder *builder, struct hr_scenario_clusters *clusters) {
  clusters->parts = calloc((size_t)clusters->count + 1, sizeof *clusters->parts);
  if (!clusters->parts) return hr__build_no_memory(builder);
  for (uint32_t i = 0; i < clusters->count; i++) {
    const struct hr_scenario_cluster *cluster = &clusters->at[i];
    const struct hr_scenario *part = cluster->scenario;
    clusters->parts[i] = (struct hr_cluster_part){.name = cluster->name,
                                                  .cluster = &part->cluster,
                                                  .policy = cluster->own_policy ? part->policy.ops : NULL,
                                                  .params = cluster->own_policy ? part->policy.params : NULL,
                                                  .classes = part->classes,
                                                  .quotas = part->quotas,
                                                  .systems = part->systems,
                                                  .speeds = part->speeds,
                                                  .network_speeds = part->network_speeds,
                                                  .scaling = part->scaling,
                                                  .tenants = cluster->tenants,
                                                  .n_tenants = cluster->n_tenants,
                                                  .only = cluster->only,
                                                  .n_only = cluster->n_only};
  }
  return HR_OK;
}

/* ---- Router ---- */

static const struct hr__key *router_keys(void) {
  return hr__table_of(&hr__scenario_keys, "router");
}

/* Keys that have an effect with some routers only. */
static const struct router_key {
  const char *name, *needs;
  uint32_t kinds; /* a set of bits 1 << enum hr_job_router_kind */
} router_key_table[] = {
    {"spill", "local-first or affinity", 1u << HR_JOB_ROUTER_LOCAL_FIRST | 1u << HR_JOB_ROUTER_AFFINITY},
    {"max_waiting", "local-first", 1u << HR_JOB_ROUTER_LOCAL_FIRST},
    {"keep_deadlines", "local-first", 1u << HR_JOB_ROUTER_LOCAL_FIRST},
    {"budget_usd", "local-first", 1u << HR_JOB_ROUTER_LOCAL_FIRST},
    {"rules", "affinity", 1u << HR_JOB_ROUTER_AFFINITY},
    {"dispatch", "multikueue", 1u << HR_JOB_ROUTER_MULTIKUEUE},
    {"step", "multikueue", 1u << HR_JOB_ROUTER_MULTIKUEUE},
    {"round_s", "multikueue", 1u << HR_JOB_ROUTER_MULTIKUEUE},
    {"timeout_s", "skypilot", 1u << HR_JOB_ROUTER_SKYPILOT},
    {"file", "plugin", 1u << HR_JOB_ROUTER_PLUGIN},
    {"settings", "plugin", 1u << HR_JOB_ROUTER_PLUGIN},
};

/* Routers that use the load when a job is sent, and may check the load again later. */
enum {
  BY_LOAD = 1 << HR_JOB_ROUTER_LOCAL_FIRST | 1 << HR_JOB_ROUTER_CHEAPEST | 1 << HR_JOB_ROUTER_SHORTEST_WAIT |
            1 << HR_JOB_ROUTER_LEAST_LOADED | 1 << HR_JOB_ROUTER_AFFINITY | 1 << HR_JOB_ROUTER_PLUGIN
};

/* Returns whether a cluster serves some tenant of the rule. */
static bool serves_any(const struct hr_scenario_cluster *cluster, const struct hr_job_router_rule *rule) {
  if (!cluster->n_only || !rule->n_tenants) return true;
  for (uint32_t i = 0; i < rule->n_tenants; i++)
    for (uint32_t k = 0; k < cluster->n_only; k++)
      if (strcmp(rule->tenants[i], cluster->only[k]) == 0) return true;
  return false;
}

static enum hr_status build_rule(struct hr__builder *builder, const cJSON *json, struct hr_scenario_clusters *clusters,
                                 struct hr_job_router_rule *rule) {
  static const char *const lists[] = {"tenants", "classes", "clusters"};
  bool any = false;
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    if (hr__build_check_distinct(builder, hr__get(json, lists[i])) != HR_OK) return HR_BAD_INPUT;
  rule->clusters = calloc(rule->n_clusters, sizeof *rule->clusters);
  if (!rule->clusters) return hr__build_no_memory(builder);
  const cJSON *name = hr__get(json, "clusters")->child;
  for (uint32_t i = 0; i < rule->n_clusters; i++, name = name->next) {
    rule->clusters[i] = hr__cluster_named(clusters, rule->names[i]);
    if (rule->clusters[i] == HR_NONE)
      return hr__build_fail(builder, name, "no cluster has the name '%.60s'", rule->names[i]);
    any = any || serves_any(&clusters->at[rule->clusters[i]], rule);
  }
  if (any || !rule->only) return HR_OK;
  return hr__build_fail(builder, json, "the rule leaves no cluster: its clusters serve other tenants ('only_tenants')");
}

static enum hr_status build_rules(struct hr__builder *builder, const cJSON *json,
                                  struct hr_scenario_clusters *clusters) {
  const cJSON *list = hr__get(json, "rules"), *entry = list ? list->child : NULL;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; entry && i < clusters->router.n_rules && status == HR_OK; i++, entry = entry->next)
    status = build_rule(builder, entry, clusters, &clusters->router.rules[i]);
  return status;
}

/* A tenant must not have its home in a cluster that serves only other tenants. */
static enum hr_status check_homes(struct hr__builder *builder, const cJSON *list,
                                  const struct hr_scenario_clusters *clusters) {
  const cJSON *entry = list->child;
  for (uint32_t i = 0; i < clusters->count; i++, entry = entry->next) {
    const struct hr_scenario_cluster *cluster = &clusters->at[i];
    for (uint32_t k = 0; k < cluster->n_tenants; k++) {
      struct hr_job_router_rule rule = {.tenants = &cluster->tenants[k], .n_tenants = 1};
      if (!serves_any(cluster, &rule))
        return hr__build_fail_at(builder, entry, "tenants",
                                 "tenant '%.60s' has its home here, but 'only_tenants' lacks it", cluster->tenants[k]);
    }
  }
  return HR_OK;
}

/* Bounds that have no effect with the router are an error, because the user expects an effect. */
static enum hr_status check_router(struct hr__builder *builder, const cJSON *json,
                                   const struct hr_scenario_clusters *clusters) {
  const struct hr_job_router_spec *router = &clusters->router;
  const char *name = hr_job_router_name(router->kind);
  const bool by_load = BY_LOAD >> router->kind & 1;
  for (size_t i = 0; i < sizeof router_key_table / sizeof *router_key_table; i++) {
    const struct router_key *key = &router_key_table[i];
    if (!(key->kinds >> router->kind & 1) && hr__has(json, key->name))
      return hr__build_fail_at(builder, json, key->name, "'%s' has no effect with the router '%s'; it needs %s",
                               key->name, name, key->needs);
  }
  if (!by_load && hr__has(json, "max_wait_s"))
    return hr__build_fail_at(builder, json, "max_wait_s", "'max_wait_s' has no effect with the router '%s'", name);
  if (!by_load && hr__has(json, "reroute_s"))
    return hr__build_fail_at(builder, json, "reroute_s", "'reroute_s' has no effect with the router '%s'", name);
  if (router->kind == HR_JOB_ROUTER_MULTIKUEUE && clusters->count > HR_MULTIKUEUE_CLUSTERS)
    return hr__build_fail_at(builder, json, "name", "the router '%s' can have at most %d clusters; there are %u", name,
                             HR_MULTIKUEUE_CLUSTERS, (unsigned)clusters->count);
  if (router->kind == HR_JOB_ROUTER_AFFINITY && !router->n_rules)
    return hr__build_fail_at(builder, json, "name", "the router 'affinity' needs 'rules'");
  if (router->kind == HR_JOB_ROUTER_PLUGIN && !router->file)
    return hr__build_fail_at(builder, json, "name", "the router 'plugin' needs 'file', the path of a shared object");
  if (hr__has(json, "data_local_wait_s") && !hr__has(builder->source.file.tree, "data"))
    return hr__build_fail_at(builder, json, "data_local_wait_s", "'data_local_wait_s' has no effect without 'data'");
  if (!by_load && hr__has(json, "data_local_wait_s"))
    return hr__build_fail_at(builder, json, "data_local_wait_s",
                             "'data_local_wait_s' has no effect with the router '%s'", name);
  return HR_OK;
}

/* Loads a router from a shared object and sets its parameters. */
static enum hr_status load_router(struct hr__builder *builder, const cJSON *json,
                                  struct hr_scenario_clusters *clusters) {
  struct hr_router_choice *choice = &clusters->router_plugin;
  const cJSON *settings = hr__get(json, "settings");
  struct hr_error inner;
  char buffer[32];
  enum hr_status status = hr_router_choice_init(choice, clusters->router.file, &inner);
  if (status != HR_OK) return hr__build_wrap(builder, hr__get(json, "file"), status, &inner);
  for (const cJSON *member = settings ? settings->child : NULL; member; member = member->next) {
    status = hr_router_choice_set(choice, member->string, hr__scalar_text(member, buffer), &inner);
    if (status != HR_OK) return hr__build_wrap(builder, member, status, &inner);
  }
  clusters->router.ops = choice->ops;
  clusters->router.params = choice->params;
  return HR_OK;
}

static enum hr_status build_router(struct hr__builder *builder, struct hr_scenario_clusters *clusters) {
  const cJSON *json = hr__get(builder->source.file.tree, "router");
  clusters->router = (struct hr_job_router_spec){.kind = HR_JOB_ROUTER_HOME,
                                                 .spill = HR_JOB_ROUTER_CHEAPEST,
                                                 .max_waiting = HR_NONE,
                                                 .max_wait_us = HR_NEVER_US,
                                                 .budget_uusd = HR_NEVER_US};
  if (!json) return HR_OK;
  const enum hr_status status = hr__read(builder, json, router_keys(), &clusters->router);
  clusters->router.prefers_local_data = hr__has(json, "data_local_wait_s");
  if (status != HR_OK || check_router(builder, json, clusters) != HR_OK) return HR_BAD_INPUT;
  if (clusters->router.kind == HR_JOB_ROUTER_PLUGIN) return load_router(builder, json, clusters);
  return build_rules(builder, json, clusters);
}

enum hr_status hr__check_cluster_sections(struct hr__builder *builder) {
  const cJSON *tree = builder->source.file.tree;
  if (hr__has(tree, "clusters") && hr__has(tree, "cluster"))
    return hr__build_fail_at(builder, tree, "clusters", "'cluster' and 'clusters' exclude each other; keep one");
  if (hr__has(tree, "router") && !hr__has(tree, "clusters"))
    return hr__build_fail_at(builder, tree, "router", "'router' has no effect without 'clusters'");
  if (hr__has(tree, "cluster") || hr__has(tree, "clusters")) return HR_OK;
  char expected[200];
  hr__key_expected(hr__key_member(&hr__scenario_keys, "cluster"), expected, sizeof expected);
  return hr__build_fail(builder, tree, "the scenario lacks the key 'cluster'; %s is expected", expected);
}

enum hr_status hr__build_clusters(struct hr__builder *builder) {
  const cJSON *list = hr__get(builder->source.file.tree, "clusters");
  if (!list) return HR_OK;
  enum hr_status status = check_names(builder, list);
  if (status != HR_OK) return status;
  struct hr_scenario_clusters *clusters = calloc(1, sizeof *clusters);
  if (!clusters) return hr__build_no_memory(builder);
  builder->scenario->clusters = clusters;
  clusters->at = calloc((size_t)cJSON_GetArraySize(list), sizeof *clusters->at);
  if (!clusters->at) return hr__build_no_memory(builder);
  const struct hr__key *keys = hr__table_of(&hr__scenario_keys, "clusters");
  status = hr__open_catalog(builder); /* once for all clusters */
  for (const cJSON *entry = list->child; entry && status == HR_OK; entry = entry->next) {
    struct hr_scenario_cluster *cluster = &clusters->at[clusters->count++];
    status = hr__read(builder, entry, keys, cluster);
    if (status == HR_OK) status = hr__build_check_distinct(builder, hr__get(entry, "tenants"));
    if (status == HR_OK) status = hr__build_check_distinct(builder, hr__get(entry, "only_tenants"));
    cluster->own_policy = hr__has(entry, "policy");
    if (status == HR_OK) status = build_entry(builder, entry, cluster);
  }
  if (status == HR_OK) status = check_homes(builder, list, clusters);
  if (status == HR_OK) status = build_router(builder, clusters);
  if (status == HR_OK) status = join_pools(builder, clusters);
  return status == HR_OK ? make_parts(builder, clusters) : status;
}

const char *hr_scenario_pool_path(const struct hr_scenario *scenario, uint32_t pool, char text[HR_POOL_PATH_BYTES]) {
  const struct hr_scenario_clusters *clusters = scenario->clusters;
  uint32_t at = 0;
  while (clusters && pool >= clusters->at[at].scenario->cluster.n_pools)
    pool -= clusters->at[at++].scenario->cluster.n_pools;
  if (clusters)
    snprintf(text, HR_POOL_PATH_BYTES, "clusters.%u.pools.%u", (unsigned)at, (unsigned)pool);
  else
    snprintf(text, HR_POOL_PATH_BYTES, "cluster.pools.%u", (unsigned)pool);
  return text;
}

void hr_scenario_clusters_update(struct hr_scenario *scenario) {
  struct hr_scenario_clusters *clusters = scenario->clusters;
  uint32_t at = 0;
  for (uint32_t i = 0; clusters && i < clusters->count; i++) {
    struct hr_cluster_spec *part = &clusters->at[i].scenario->cluster;
    part->by_gpu = part->by_gpu || hr_cluster_spec_by_gpu(part);
    for (uint32_t k = 0; k < part->n_pools; k++) {
      char *name = part->pools[k].name;
      part->pools[k] = scenario->cluster.pools[at++];
      part->pools[k].name = name;
    }
  }
}

void hr__clusters_destroy(struct hr_scenario *scenario) {
  struct hr_scenario_clusters *clusters = scenario->clusters;
  if (!clusters) return;
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++) free(scenario->cluster.pools[i].name);
  free(scenario->cluster.pools);
  free(scenario->pool_sources);
  scenario->pool_sources = NULL;
  scenario->cluster = (struct hr_cluster_spec){0};
  for (uint32_t i = 0; i < clusters->count; i++) {
    hr_scenario_destroy(clusters->at[i].scenario);
    hr__grid_texts_free(clusters->at[i].tenants, clusters->at[i].n_tenants);
    hr__grid_texts_free(clusters->at[i].only, clusters->at[i].n_only);
    free(clusters->at[i].name);
  }
  for (uint32_t i = 0; i < clusters->router.n_rules; i++) free(clusters->router.rules[i].clusters);
  hr__finish_values(router_keys(), &clusters->router);
  hr_router_choice_finish(&clusters->router_plugin);
  free(clusters->at);
  free(clusters->parts);
  free(clusters);
  scenario->clusters = NULL;
}
